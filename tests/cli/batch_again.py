"""graphopt batch, run again: what is done, what is skipped, and what is removed."""

import json
import os
import pathlib
import shutil
import subprocess
import time

import onnx

from _tool import INPUT, USAGE, expect, long_model, main, model
from _zoo import FAILING, lines_of, plan, times, tree, with_data, zoo_of


def test_just_what_changed(tool, folder):
    """One input, one data file, one profile, one option changed: what depends on it is done again."""
    zoo, rules = zoo_of(folder)
    for name in FAILING:
        (zoo / name).unlink()
    out = folder / "out"
    words = [zoo, "-o", out, "--options", rules]
    expect(tool("batch", *words, "-q").returncode == 0)
    expect(plan(tool, *words) == {})

    path = zoo / "vision" / "net.onnx"
    path.write_bytes(long_model(9).SerializeToString())
    expect(plan(tool, *words) == {"vision/net.onnx": "input changed"})
    expect(tool("batch", *words, "-q").returncode == 0 and plan(tool, *words) == {})
    path.write_bytes(path.read_bytes())  # another time, the same content
    os.utime(path, ns=(1, 1))
    at = times(out)
    expect(plan(tool, *words) == {} and times(out) == at)
    expect(tool("batch", *words, "-q").returncode == 0)
    changed = [p for p, t in times(out).items() if at[p] != t]
    expect([pathlib.Path(p).name for p in changed] == ["net.onnx.json"], changed)

    # Content alone, behind a time that says nothing.
    data = zoo / "data" / "weights.onnx.data"
    state = os.stat(data)
    whole = data.read_bytes()
    data.write_bytes(whole[:-1] + b"\x40")
    os.utime(data, ns=(state.st_atime_ns, state.st_mtime_ns))
    expect(plan(tool, *words) == {}, "the time was not believed")
    expect(plan(tool, *words, "--by-content") == {"data/weights.onnx": "'weights.onnx.data' changed"})
    os.utime(data)
    expect(plan(tool, *words) == {"data/weights.onnx": "'weights.onnx.data' changed"})
    expect(tool("batch", *words, "-q").returncode == 0)
    names = [p.name for p in (out / "data").iterdir()]
    expect(len(names) == 2, "the data file of before is still there", names)

    everything = {p[:-5] for p in tree(out / ".graphopt") if p.endswith(".json")}
    done = plan(tool, *words, "-O1")
    expect(set(done) == everything and set(done.values()) == {"--level was 2"}, done)
    changed = json.loads(rules.read_text())
    changed[0]["options"]["exact"] = False
    rules.write_text(json.dumps(changed))
    expect(plan(tool, *words) == {"sized/one.onnx": "--exact was true"})
    changed[0]["options"] = {"dim": ["batch=5"], "exact": True}
    rules.write_text(json.dumps(changed))
    expect(plan(tool, *words) == {"sized/one.onnx": '--dim was ["batch=4"]'}, plan(tool, *words))

    # Of an output: gone, or cut.
    rules.write_text(json.dumps([{"match": "sized/**", "options": {"dim": "batch=4", "exact": True}}]))
    (out / "a.onnx").write_bytes(b"")
    (out / "text" / "long.onnx").unlink()
    done = plan(tool, *words)
    expect(set(done) == {"a.onnx", "text/long.onnx"}, done)
    # A record of another version is not believed, nor one that is damaged.
    expect(tool("batch", *words, "-q").returncode == 0)
    record = out / ".graphopt" / "a.onnx.json"
    text = record.read_text()
    record.write_text(text.replace('"version": "', '"version": "9.'))
    expect(plan(tool, *words)["a.onnx"].startswith("made by graphopt 9."))
    for damaged in (text[: len(text) // 2], "[]", text.replace('"bytes"', '"bites"'), '{"input": 3}', ""):
        record.write_text(damaged)
        expect(plan(tool, *words) == {"a.onnx": "new"}, damaged, plan(tool, *words))


def test_links_and_places(tool, folder):
    """What is read through links, or is somewhere else now, is seen."""
    zoo, blobs, out = folder / "zoo", folder / "blobs", folder / "out"
    for place in (zoo / "sub", blobs):
        place.mkdir(parents=True)
    with_data(zoo / "w.onnx")
    data = zoo / "w.onnx.data"
    data.rename(blobs / "one")
    (blobs / "two").write_bytes((blobs / "one").read_bytes()[:-1] + b"\x40")
    data.symlink_to(blobs / "one")
    (zoo / "w.onnx").rename(blobs / "w")
    (zoo / "w.onnx").symlink_to("../blobs/w")
    (zoo / "sub" / "a.onnx").write_bytes(model().SerializeToString())
    words = [zoo, "-o", out, "--external-root", blobs]
    done = tool("batch", *words, "-q")
    expect(done.returncode == 0 and plan(tool, *words) == {}, done.stderr)
    data.unlink()
    data.symlink_to(blobs / "two")
    expect(plan(tool, *words) == {"w.onnx": "'w.onnx.data' changed"}, plan(tool, *words))
    # Data below --external-root, of another such folder, and then in the folder of the model, which is first.
    data.unlink()
    (folder / "other").mkdir()
    shutil.copy(blobs / "one", blobs / "w.onnx.data")
    shutil.copy(blobs / "two", folder / "other" / "w.onnx.data")
    expect(tool("batch", *words, "-q").returncode == 0 and plan(tool, *words) == {})
    expect("w.onnx" in plan(tool, zoo, "-o", out, "--external-root", folder / "other"))
    shutil.copy(blobs / "two", data)
    expect(plan(tool, *words) == {"w.onnx": "'w.onnx.data' changed"}, plan(tool, *words))
    expect(tool("batch", *words, "-q").returncode == 0 and plan(tool, *words) == {})
    # The zoo is moved: all is up to date, and what is left out then is not stale.
    moved = folder / "moved"
    zoo.rename(moved)
    words = ["batch", moved, "-o", out, "--external-root", blobs, "--json", "-q"]
    expect(lines_of(tool(*words))[1]["up_to_date"] == 2)
    at = times(out)
    whole = lines_of(tool(*words, "--exclude", "sub", "--delete-stale"))[1]
    expect(whole["deleted"] == 0 and times(out) == at, whole)


def test_data_that_changes_while_it_is_read(tool, folder):
    """Whatever is read of it: the batch after it ends with what is there."""
    zoo, out = folder / "zoo", folder / "out"
    zoo.mkdir()
    data = zoo / "w.onnx.data"
    with_data(zoo / "w.onnx")
    whole = data.read_bytes()
    m, slow = onnx.load(zoo / "w.onnx", load_external_data=False), long_model(40_000)
    m.graph.node.extend(slow.graph.node)
    m.graph.input.extend(slow.graph.input)
    m.graph.output.extend(slow.graph.output)
    (zoo / "w.onnx").write_bytes(m.SerializeToString())
    for i in range(4):
        words = [tool.binary, "batch", zoo, "-o", out, "-q", "--force-all"]
        running = subprocess.Popen(list(map(str, words)), stderr=subprocess.DEVNULL)
        time.sleep(0.05 * (i + 1))
        data.write_bytes(whole[:-1] + bytes([i]))
        running.wait()
        expect(tool("batch", zoo, "-o", out, "-q").returncode == 0)
        (written,) = out.glob("*.data")
        expect(data.read_bytes() in written.read_bytes(), i)


def test_files_that_options_name(tool, folder):
    zoo = folder / "zoo"
    zoo.mkdir()
    (zoo / "a.onnx").write_bytes(model().SerializeToString())
    profile = folder / "npu.json"
    shared = pathlib.Path(tool.binary).resolve().parent / "share" / "graphopt" / "devices"
    shared = (
        shared if shared.is_dir() else pathlib.Path(__file__).parents[2] / "share" / "graphopt" / "devices"
    )
    shutil.copy(next(p for p in sorted(shared.glob("*.json")) if p.stem != "cpu"), profile)
    buckets = folder / "buckets.json"
    buckets.write_text(json.dumps({"symbols": {"batch": {"boundaries": [1, 4]}}}))
    words = [zoo, "-o", folder / "out", "--devices", profile]
    done = tool("batch", *words, "-q")
    expect(done.returncode == 0, done.stderr)
    written = tree(folder / "out")
    expect(any(p.endswith("a.manifest.json") for p in written), list(written))
    expect(plan(tool, *words) == {})
    text = json.loads(profile.read_text())
    text["profile"]["version"] += ".1"
    profile.write_text(json.dumps(text))
    expect(plan(tool, *words) == {"a.onnx": "'npu.json' changed"}, plan(tool, *words))
    # Without devices its files go with the next run.
    expect(tool("batch", zoo, "-o", folder / "out", "-q").returncode == 0)
    left = [p for p in tree(folder / "out") if "manifest" in p]
    expect(left == [], left)
    # What a check read does not matter when none is wanted.
    record = folder / "out" / ".graphopt" / "a.onnx.json"
    text = json.loads(record.read_text())
    text["check"] = {"check": 1}
    text["option_files"] = [dict(text["input"], path="/nowhere/x.npy")]
    record.write_text(json.dumps(text))
    expect(plan(tool, zoo, "-o", folder / "out") == {}, plan(tool, zoo, "-o", folder / "out"))


def test_stale_outputs(tool, folder):
    zoo, rules = zoo_of(folder)
    out = folder / "out"
    words = ["batch", zoo, "-o", out, "--options", rules]
    tool(*words, "-q")
    mine = out / "mine.onnx"
    mine.write_bytes(b"of somebody else")
    (zoo / "data" / "weights.onnx").unlink()
    (zoo / "text" / "deep" / "er.onnx").unlink()
    done = tool(*words)
    expect("2 outputs of inputs that are not there any more (--delete-stale" in done.stderr, done.stderr)
    # What is only left out is not stale, nor what nobody can look at.
    shutil.copytree(zoo / "sized", folder / "circle")
    done = tool("batch", folder / "circle", "-o", folder / "circles", "-q")
    shutil.rmtree(folder / "circle")
    (folder / "circle").symlink_to("circle")
    done = tool("batch", zoo / "sized", "-o", folder / "circles", "--exclude", "*", "--delete-stale", "-q")
    expect((folder / "circles" / "one.onnx").exists(), done.stderr)
    done = tool(*words, "--exclude", "vision", "--delete-stale", "--dry-run")
    expect(done.stdout.count(b": deleted") == 2 and (out / "data" / "weights.onnx").exists(), done.stdout)
    tool(*words, "--exclude", "vision", "--delete-stale", "-q")
    left = {p for p in tree(out) if p.endswith((".onnx", ".data", "er.onnx.json"))}
    expect(
        left
        == {"mine.onnx", "a.onnx", "vision/net.onnx", "text/net.onnx", "text/long.onnx", "sized/one.onnx"},
        left,
    )
    expect(not (out / "data").exists() and not (out / ".graphopt" / "data").exists())


def test_what_is_left_of_other_options(tool, folder):
    """Files of an earlier run are removed also when a run in between failed or was killed."""
    zoo, out = folder / "zoo", folder / "out"
    zoo.mkdir()
    (zoo / "a.onnx").write_bytes(model().SerializeToString())
    words = ["batch", zoo, "-o", out, "-q"]
    expect(tool(*words, "--devices", "cpu").returncode == 0 and (out / "a.manifest.json").exists())
    (zoo / "a.onnx").write_bytes(b"\x08\x0a\x12\xff no model")
    expect(tool(*words).returncode == INPUT)
    expect(plan(tool, zoo, "-o", out) == {"a.onnx": "not finished"}, plan(tool, zoo, "-o", out))
    (zoo / "a.onnx").write_bytes(model().SerializeToString())
    expect(tool(*words).returncode == 0)
    expect([p.name for p in out.iterdir() if p.is_file()] == ["a.onnx"], tree(out).keys())
    # Its output is stale as any other when the model that failed is gone.
    (zoo / "a.onnx").write_bytes(b"\x08\x0a\x12\xff no model")
    expect(tool(*words).returncode == INPUT)
    (zoo / "a.onnx").unlink()
    tool(*words, "--delete-stale")
    expect(not (out / "a.onnx").exists(), tree(out).keys())


def test_what_a_killed_run_left(tool, folder):
    """A run for devices that ends after its files were written, and before its record was: the next one,
    without devices, removes them, and nothing that only has such a name."""
    zoo, out = folder / "zoo", folder / "out"
    zoo.mkdir()
    for name in ("a", "b"):
        (zoo / f"{name}.onnx").write_bytes(model().SerializeToString())
    words = ["batch", zoo, "-o", out, "-q"]
    out.mkdir()
    (out / "b.manifest.json").write_text("mine")
    (out / "b.triton").mkdir()
    (out / "b.triton" / "note.txt").write_text("mine")
    devices = ["--devices", "cpu", "--emit", "triton"]
    # It fails after its record was marked; a run of its own then makes what a killed one leaves.
    done = tool(*words, *devices, "--check", "--ort", "/nowhere")
    expect(done.returncode == 6, done.stderr)
    record = json.loads((out / ".graphopt" / "a.onnx.json").read_text())
    expect(record["version"] == "" and record["begun"] == ["a.manifest.json", "a.triton"], record)
    expect(tool(zoo / "a.onnx", "-o", out / "a.onnx", *devices, "-q").returncode == 0)
    expect((out / "a.manifest.json").exists() and (out / "a.triton").is_dir(), tree(out).keys())
    expect(tool(*words).returncode == 0)
    left = sorted(p.name for p in out.iterdir())
    expect(left == [".graphopt", "a.onnx", "b.manifest.json", "b.onnx", "b.triton"], left)
    expect((out / "b.triton" / "note.txt").read_text() == "mine")
    expect((out / "b.manifest.json").read_text() == "mine" and plan(tool, zoo, "-o", out) == {})


def test_copies_that_share_a_data_file(tool, folder):
    zoo, out = folder / "zoo", folder / "out"
    zoo.mkdir()
    with_data(zoo / "a.onnx")
    for name in ("b.onnx", "c.onnx"):
        shutil.copy(zoo / "a.onnx", zoo / name)
    words = ["batch", zoo, "-o", out, "--on-error", "copy", "-q"]
    failing = folder / "rules.json"
    failing.write_text(json.dumps([{"match": "*.onnx", "options": {"dim": "nobody=3"}}]))
    expect(tool(*words, "--options", failing).returncode == USAGE)
    shared = out / "a.onnx.data"
    # One of them is gone, another one is optimized now: what they had in common stays for the third.
    (zoo / "a.onnx").unlink()
    failing.write_text(json.dumps([{"match": "c.onnx", "options": {"dim": "nobody=3"}}]))
    tool(*words, "--options", failing, "--delete-stale")
    expect(not (out / "a.onnx").exists() and shared.exists(), tree(out).keys())
    (zoo / "c.onnx").unlink()
    tool(*words, "--delete-stale")
    expect(not (out / "c.onnx").exists() and not shared.exists(), tree(out).keys())
    # Records that were edited lead nowhere else.
    mine = folder / "mine.txt"
    mine.write_text("of somebody else")
    (out / "link").symlink_to(folder)
    record = out / ".graphopt" / "b.onnx.json"
    text = json.loads(record.read_text())
    text["files"] += [
        dict(text["files"][0], path=p) for p in ("", ".", "../mine.txt", str(mine), "link/mine.txt")
    ]
    record.write_text(json.dumps(text))
    (zoo / "b.onnx").unlink()
    done = tool(*words, "--delete-stale")
    expect(done.returncode == 0 and mine.exists() and not (out / "b.onnx").exists(), done.stderr)


main(globals())
