#!/usr/bin/env python3
"""--parts-dir: all files of a set but OUT and the manifest in a folder, which comes and goes with them."""

import json
import os
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime as ort
from _tool import INPUT, OUTPUT, USAGE, expect, main, refused
from onnx import numpy_helper, parser

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests"))

from lib import manifests  # noqa: E402
from lib.profiles import profile  # noqa: E402

TEXT = """<ir_version: 10, opset_import: ["" : 17]>
g (float[N,32] x) => (float[N,32] y) <float[32,32] w, float[32,32] v> {
  a = MatMul (x, w)  b = Erf (a)  c = MatMul (b, v)  d = Add (c, a)  e = Erf (d)  y = MatMul (e, w)
}"""


def model_of(folder, seed=1, name="in.onnx"):
    """Weights of 4 KiB, which parts share."""
    m = parser.parse_model(TEXT)
    g = np.random.default_rng(seed)
    tensors = {n: g.standard_normal((32, 32)).astype(np.float32) / 6 for n in ("w", "v")}
    del m.graph.initializer[:]
    m.graph.initializer.extend(numpy_helper.from_array(t, n) for n, t in tensors.items())
    path = folder / name
    path.write_bytes(m.SerializeToString())
    return path


def words(folder, source, out="out.onnx"):
    if not (folder / "npu.json").exists():
        profile(folder, "MatMul", "Add")
    return [source, "-O0", "-q", "--devices", "./npu.json", "-o", out]


def names(folder):
    """Of all files and folders, but for the inputs."""
    every = {str(p.relative_to(folder)) for p in folder.rglob("*")}
    return {n for n in every if n not in ("in.onnx", "npu.json")}


def whole(folder, where, out="out.onnx", manifest="out.manifest.json"):
    """The manifest, after its files were looked at and run; all but OUT are in the folder `where`."""
    path = folder / manifest
    for problem in manifests.problems(path):
        expect(False, problem)
    said = json.loads(path.read_text())
    files = [f["path"] for f in said["files"]]
    expect(files[0] == out and len(files) > 3, files)
    expect(all(f.rpartition("/")[0] == where for f in files[1:]), where, files)
    for f in said["files"]:
        if f["role"] != "external_data":
            onnx.checker.check_model(str(path.parent / f["path"]))
    feeds = {"x": np.random.default_rng(2).standard_normal((3, 32)).astype(np.float32)}
    session = ort.InferenceSession(path.parent / out, providers=["CPUExecutionProvider"])
    got = manifests.runner().Deployed(path).run(feeds)["y"]
    expect(np.allclose(session.run(None, feeds)[0], got, atol=1e-4), "other results")
    return said


def test_all_but_out_and_manifest(tool, folder):
    source = model_of(folder)
    done = tool(*words(folder, source), "--parts-dir", "parts", "--check", cwd=folder)
    expect(done.returncode == 0, done.stderr)
    said = whole(folder, "parts")
    expect({n for n in names(folder) if "/" not in n} == {"out.onnx", "out.manifest.json", "parts"})
    expect(len([f for f in said["files"] if f["role"] == "external_data"]) == 1, "weights are not shared")
    expect(said["tool"]["options"]["parts_dir"] == "parts", said["tool"])
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    done = tool(*words(folder, source), "--parts-dir", "parts", cwd=folder)
    expect(done.returncode == 0, done.stderr)
    expect(before == {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}, "a second run differs")


def test_ways_to_say_it(tool, folder):
    source = model_of(folder)
    (folder / "real").mkdir()
    (folder / "link").symlink_to("real")
    texts = {}
    for given in ("real", "./real/", "link", str(folder / "real"), "new/../real", str(folder / "link/.")):
        done = tool(*words(folder, source), "--parts-dir", given, cwd=folder)
        expect(done.returncode == 0, given, done.stderr)
        whole(folder, "real")
        texts[given] = (folder / "out.manifest.json").read_text()
    expect(len(set(texts.values())) == 1, "the same folder, and other manifests")
    done = tool(*words(folder, source), "--parts-dir", ".", cwd=folder)
    expect(done.returncode == 0, done.stderr)
    whole(folder, "")
    expect(list((folder / "real").iterdir()) == [], "old parts are left")
    # A relative one begins at the manifest's folder.
    (folder / "sub").mkdir()
    done = tool(*words(folder, source, "sub/out.onnx"), "--parts-dir", "a/b", cwd=folder)
    expect(done.returncode == 0, done.stderr)
    whole(folder / "sub", "a/b")


def test_another_folder(tool, folder):
    """Old parts go, and with them the folders that a run made."""
    source = model_of(folder)
    (folder / "mine").mkdir()
    for given in ("a/b/c", "a/d", "mine", "mine/deep", None, "a"):
        more = ["--parts-dir", given] if given else []
        done = tool(*words(folder, source), *more, cwd=folder)
        expect(done.returncode == 0, given, done.stderr)
        said = whole(folder, given or "")
        folders = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_dir()}
        parents = {str(p) for p in pathlib.Path(given or ".").parents} | {given or "."}
        expect(folders == (parents | {"mine"}) - {"."}, given, folders)
        files = {n for n in names(folder) if (folder / n).is_file() and ".graphopt-set" not in n}
        expect(files == {"out.manifest.json", *(f["path"] for f in said["files"])}, given, files)
    (folder / "a/note.txt").write_text("mine")
    source = model_of(folder, seed=5)  # other parts
    done = tool(*words(folder, source), "--parts-dir", "parts", cwd=folder)
    expect(done.returncode == 0, done.stderr)
    expect({n for n in names(folder) if n.startswith("a/") and "graphopt-set" not in n} == {"a/note.txt"})


def test_hidden_folders_that_are_there(tool, folder):
    """What somebody else has put into the folders in which a run makes its files stays there."""
    source = model_of(folder)
    notes = [folder / f".out.{name}.graphopt" / "note.txt" for name in ("manifest.json", "ort-package")]
    for note in notes:
        note.parent.mkdir()
        note.write_text("mine")
    left = folder / ".out.manifest.json.graphopt" / ".graphopt-1-1.tmp"
    left.write_text("what a run left")
    for more in (["--emit", "ort-package"], []):
        done = tool(*words(folder, source), "--parts-dir", "parts", *more, cwd=folder)
        expect(done.returncode == 0, done.stderr)
        whole(folder, "parts")
        expect(all(n.read_text() == "mine" for n in notes), "something is gone")
        for note in notes:
            expect([p.name for p in note.parent.iterdir()] == ["note.txt"], list(note.parent.iterdir()))


def test_out_of_an_earlier_name(tool, folder):
    """Weights stay as long as an OUT of their name refers to them."""
    source = model_of(folder)
    manifest = ["--manifest", "m.json"]
    expect(tool(*words(folder, source), *manifest, "--parts-dir", "p", cwd=folder).returncode == 0)
    old = whole(folder, "p", manifest="m.json")
    done = tool(*words(folder, source, "new.onnx"), *manifest, "--parts-dir", "q", cwd=folder)
    expect(done.returncode == 0, done.stderr)
    whole(folder, "q", "new.onnx", "m.json")
    ort.InferenceSession(folder / "out.onnx", providers=["CPUExecutionProvider"])
    data = [f["path"] for f in old["files"] if f["role"] == "external_data"]
    kept = {n for n in names(folder) if n.startswith("p/") and "graphopt-set" not in n}
    expect(kept == set(data), kept)


def test_out_is_in(tool, folder):
    """The input is the OUT of a set, with its weights in the folder."""
    source = model_of(folder)
    expect(tool(*words(folder, source), "--parts-dir", "p", cwd=folder).returncode == 0)
    first = whole(folder, "p")
    for given in ("p", "q"):
        done = tool(*words(folder, "out.onnx"), "--parts-dir", given, cwd=folder)
        expect(done.returncode == 0, done.stderr)
        said = whole(folder, given)
        expect(said["network"]["id"] == first["network"]["id"], "another network")
    done = tool("out.onnx", "-o", "alone.onnx", "-O0", cwd=folder)
    expect(done.returncode == 0, done.stderr)
    ort.InferenceSession(folder / "alone.onnx", providers=["CPUExecutionProvider"])


def test_refused(tool, folder):
    source = model_of(folder)
    work = folder / "work"
    work.mkdir()
    (folder / "other").mkdir()
    (work / "away").symlink_to("../other")
    (work / "dangling").symlink_to("../absent")
    (work / "file").write_text("mine")
    before = {n: None for n in names(folder)} | {"npu.json": None}
    base = words(folder, source, "work/out.onnx")
    for given, *texts in [
        ("..", "outside", "--manifest"),
        (str(folder), "outside"),
        (str(folder / "other"), "outside"),
        ("/", "outside"),
        ("a/../..", "outside"),
        ("away", "outside"),
        ("away/deep", "outside"),
        ("work/parts", "repeats"),
        ("file", "is not a folder"),
        ("", "is not a folder"),
        ("dangling", "is not a folder"),
        ("n" * 300, "cannot be the path"),
        (os.fsdecode(b"w\xff/parts"), "is not UTF-8"),
    ]:
        refused(tool(*base, "--parts-dir", given, cwd=folder), USAGE, "--parts-dir", "help: ", *texts)
    refused(tool(*base, "--parts-dir", "dangling/deep", cwd=folder), OUTPUT, "dangling: it is in the way")
    for given in ("file/deep", "back\\slash", "line\nbreak"):
        done = tool(*base, "--parts-dir", given, cwd=folder)
        expect(done.returncode != 0 and "help: " in done.stderr, given, done.returncode, done.stderr)
    refused(
        tool(*base, "--manifest", "m.json", "--parts-dir", "parts", cwd=folder),
        USAGE,
        "not below OUT's folder",
    )
    plain = [source, "-o", "work/out.onnx", "--parts-dir", "p"]
    refused(tool(*plain, cwd=folder), USAGE, "--parts-dir", "--devices")
    refused(tool(*plain, "--bucket", "N=4", "--bucket-single", cwd=folder), USAGE, "--bucket-single")
    refused(tool(*base, "--parts-dir", "p", "--parts", "never", cwd=folder), USAGE, "--parts never")
    refused(tool(source, "--devices", "./npu.json", "--parts-dir", "p", cwd=folder), USAGE, "-o")
    done = tool("absent.onnx", *base[1:], "--parts-dir", "p", cwd=folder)
    expect(done.returncode == INPUT, done.stderr)
    expect(names(folder) == set(before) - {"npu.json"}, names(folder) ^ set(before))
    expect(list((folder / "other").iterdir()) == [], "something was written outside")


def test_names_that_are_not_utf8(tool, folder):
    """A manifest, which is JSON, names no file in such a folder, but may be in one itself."""
    source = model_of(folder)
    os.mkdir(os.fsencode(folder) + b"/w\xff")
    (folder / "link").symlink_to(os.fsdecode(b"w\xff"))
    out = words(folder, source, "link/out.onnx")
    refused(tool(*out, "--manifest", "m.json", cwd=folder), USAGE, "--manifest", "is not UTF-8")
    expect(not list((folder / "link").iterdir()), "something was written")
    done = tool(*out, "--parts-dir", "parts", cwd=folder)
    expect(done.returncode == 0, done.stderr)
    whole(folder / "link", "parts")


def test_manifest_above(tool, folder):
    source = model_of(folder)
    (folder / "sub").mkdir()
    more = ["--manifest", "m.json", "--parts-dir", "sub/parts"]
    done = tool(*words(folder, source, "sub/out.onnx"), *more, cwd=folder)
    expect(done.returncode == 0, done.stderr)
    whole(folder, "sub/parts", "sub/out.onnx", "m.json")
    location = onnx.load(folder / "sub/out.onnx", load_external_data=False).graph.initializer[0].external_data
    expect(any(e.value.startswith("parts/") for e in location), location)


def test_exports(tool, folder):
    source = model_of(folder)
    more = ["--parts-dir", "p", "--emit", "triton,ort-annotations"]
    done = tool(*words(folder, source), *more, cwd=folder)
    expect(done.returncode == 0, done.stderr)
    whole(folder, "p")
    onnx.checker.check_model(str(folder / "out.triton/s0/1/model.onnx"))
    layers = json.loads((folder / "out.layers.json").read_text())
    expect(layers["model"]["path"] == "out.onnx", layers["model"])


def test_buckets(tool, folder):
    source = model_of(folder)
    for given in ("p", "q", None):
        more = ["--parts-dir", given] if given else []
        for devices in (["--devices", "./npu.json"], []):
            profile(folder, "MatMul", "Add")
            base = [source, "-q", *devices, "-o", "out.onnx", "--bucket", "N=4,8"]
            done = tool(*base, *more, cwd=folder)
            expect(done.returncode == 0, done.stderr)
            said = json.loads((folder / "out.manifest.json").read_text())
            for problem in manifests.problems(folder / "out.manifest.json"):
                expect(False, problem)
            paths = [f["path"] for f in said["files"]][1:] + [said["buckets"]["data"]]
            expect(all(p.rpartition("/")[0] == (given or "") for p in paths), paths)
            feeds = {"x": np.random.default_rng(2).standard_normal((3, 32)).astype(np.float32)}
            session = ort.InferenceSession(folder / "out.onnx", providers=["CPUExecutionProvider"])
            got = manifests.runner().Deployed(folder / "out.manifest.json").run(feeds)["y"]
            expect(np.allclose(session.run(None, feeds)[0], got, atol=1e-4), "other results")
    expect({n for n in names(folder) if (folder / n).is_dir()} == set(), names(folder))


def test_batch(tool, folder):
    """A folder of parts for each folder of models."""
    (folder / "zoo/deep").mkdir(parents=True)
    for i, name in enumerate(("a.onnx", "b.onnx", "deep/c.onnx")):
        model_of(folder / "zoo", i, name)
    profile(folder, "MatMul", "Add")
    base = ["batch", "zoo", "-o", "done", "-O0", "--devices", "./npu.json"]
    for given in ("p", "q"):
        done = tool(*base, "--parts-dir", given, cwd=folder)
        expect(done.returncode == 0, done.stderr)
        for place, name in (("done", "a"), ("done", "b"), ("done/deep", "c")):
            whole(folder / place, given, f"{name}.onnx", f"{name}.manifest.json")
        parts = {str(p.relative_to(folder)) for p in (folder / "done").rglob("*.s0.*")}
        expect({p.split("/")[-2] for p in parts} == {given} and len(parts) == 3, parts)
        before = {p: p.stat().st_mtime_ns for p in (folder / "done").rglob("*") if p.is_file()}
        done = tool(*base, "--parts-dir", given, cwd=folder)
        expect(done.returncode == 0, done.stderr)
        after = {p: p.stat().st_mtime_ns for p in (folder / "done").rglob("*") if p.suffix == ".onnx"}
        expect(all(before[p] == t for p, t in after.items()), "done again")


if __name__ == "__main__":
    sys.exit(main(globals()))
