"""graphopt batch: which models, what is written, and what is refused."""

import fcntl
import itertools
import json
import os
import shutil
import signal
import subprocess

import onnx

from _tool import INPUT, LIMIT, OUTPUT, USAGE, expect, long_model, main, model
from _zoo import FAILING, LFS, difference, lines_of, plan, times, tree, with_data, zoo_of

MODELS = 9


def test_a_zoo(tool, folder):
    zoo, rules = zoo_of(folder)
    out = folder / "out"
    words = ("batch", zoo, "-o", out, "--options", rules)
    done = tool(*words, "--json", "-q")
    expect(done.returncode == INPUT, done.returncode, done.stderr)
    models, whole = lines_of(done)
    expect(len(models) == MODELS == whole["models"] and whole["failed"] == len(FAILING), whole)
    for name, line in models.items():
        expect(line["status"] == FAILING.get(name, 0), line)
        expect((out / name).exists() == (name not in FAILING), name)
        if name in FAILING:
            expect(line["errors"] and f"zoo/{name}" in done.stderr, name, done.stderr)
        else:
            expect(line["after"]["nodes"] <= line["before"]["nodes"] and line["peak_memory"] > 0, line)
            onnx.checker.check_model(str(out / name))
            # As one run does it.
            single = folder / "single.onnx"
            more = ["--dim", "batch=4", "--exact"] if name.startswith("sized/") else []
            if name != "data/weights.onnx":  # the name of its data file holds that of OUT
                expect(tool(zoo / name, "-o", single, *more, "-q").returncode == 0)
                expect(single.read_bytes() == (out / name).read_bytes(), name, "is not what a run writes")
    expect(models["data/weights.onnx"]["data_files"] == [str(zoo / "data" / "weights.onnx.data")])
    expect(not (out / "notes.txt").exists())
    # Once more: nothing is written, and the status is that of what fails again.
    before, at = tree(out), times(out)
    done = tool(*words, "--json", "-q")
    models, whole = lines_of(done)
    expect(done.returncode == INPUT and whole["up_to_date"] == MODELS - len(FAILING), whole)
    expect(tree(out) == before and times(out) == at, "the second run wrote something")
    # Another folder gets the same, records included; with one job, and without the word.
    other = folder / "other"
    done = tool(zoo, "-o", other, "--options", rules, "-j", "1")
    expect(done.returncode == INPUT, done.stderr)
    expect(difference(tree(other), before) == [], difference(tree(other), before))


def test_what_people_see(tool, folder):
    zoo, rules = zoo_of(folder)
    done = tool("batch", zoo, "-o", folder / "out", "--options", rules, "-j", "1")
    expect(done.stdout == b"", done.stdout)
    lines = done.stderr.splitlines()
    (line,) = [line for line in lines if line.strip().startswith("vision/net.onnx")][:1]
    expect("4 -> 2 nodes (-50.0 %)" in line and " s" in line, line)
    text = done.stderr
    expect("9 models: 7 optimized, 2 failed" in text and "Largest gains" in text, text)
    expect("pointer.onnx" in text.split("\nFailed\n")[1] and "Git LFS" in text, text)
    done = tool("batch", zoo, "-o", folder / "out", "--options", rules)
    expect(done.stderr.count("up to date") == 8, done.stderr)  # 7 lines, and the sum
    done = tool("batch", zoo, "-o", folder / "out", "--options", rules, "-q")
    expect("up to date" not in done.stderr and "pointer.onnx" in done.stderr, done.stderr)
    report = folder / "report.jsonl"
    done = tool("batch", zoo, "-o", folder / "out", "--report", report, "--force-all", "-q")
    written = [json.loads(line) for line in report.read_text().splitlines()]
    expect(len(written) == MODELS + 1 and written[-1]["batch"]["optimized"] == 7, written[-1])
    expect(all("passes" in line for line in written[:-1] if line["status"] == 0))


def test_shards(tool, folder):
    """Two of them, at one time and into one folder, are one run; a model that comes moves no other."""
    zoo, rules = zoo_of(folder)
    whole, parts = folder / "whole", folder / "parts"
    expect(tool("batch", zoo, "-o", whole, "--options", rules, "-q").returncode == INPUT)
    running = [
        subprocess.Popen(
            [tool.binary, "batch", zoo, "-o", parts, "--options", rules, "-q", "--shard", f"{i}/2"],
            stderr=subprocess.DEVNULL,
        )
        for i in (1, 2)
    ]
    expect({p.wait() for p in running} <= {0, INPUT})
    expect(difference(tree(whole), tree(parts)) == [], difference(tree(whole), tree(parts)))

    def shard_of(count):
        return {
            name: i
            for i in range(1, count + 1)
            for name in plan(tool, zoo, "-o", folder / "none", "--shard", f"{i}/{count}")
        }

    for count in (1, 2, 3, 7):
        before = shard_of(count)
        expect(len(before) == MODELS, count, before)
        (zoo / "another.onnx").write_bytes(model().SerializeToString())
        after = shard_of(count)
        expect(len(after) == MODELS + 1 and before.items() <= after.items(), count)
        (zoo / "another.onnx").unlink()


def test_links_lists_and_patterns(tool, folder):
    zoo, _ = zoo_of(folder)
    for name in FAILING:
        (zoo / name).unlink()
    (zoo / "circle").symlink_to("..")
    (zoo / "latest").symlink_to("text")
    (zoo / "blob").write_bytes(model().SerializeToString())
    (zoo / "linked.onnx").symlink_to("blob")
    (zoo / ".hidden").mkdir()
    (zoo / ".hidden" / "x.onnx").write_bytes(b"")
    done = tool("batch", zoo, "-o", folder / "out", "--dry-run")
    names = {line.split()[0] for line in done.stdout.decode().splitlines()[:-1]}
    expect("linked.onnx" in names and "text/net.onnx" in names, names)
    expect(not any(n.startswith(("latest", ".hidden")) or "zoo/" in n for n in names), names)
    expect("'" + str(zoo / "latest") + "' is a link to" in done.stderr, done.stderr)
    outer = folder / "outer"
    outer.mkdir()
    (outer / "loop").symlink_to(outer)
    (outer / "m.onnx").symlink_to(zoo / "a.onnx")
    expect(set(plan(tool, outer, "-o", folder / "out")) == {"m.onnx"})

    # Options are for the paths of models, and for those of outputs.
    (zoo / "a.pb").write_bytes(model().SerializeToString())
    rules = folder / "pb.json"
    rules.write_text(json.dumps([{"match": p, "options": {"level": 3}} for p in ("*.pb", "a.onnx")]))
    words = ["batch", zoo, "-o", folder / "pb", "--include", "*.pb", "--options", rules]
    done = tool(*words)
    expect(done.returncode == 0 and "matches no model" not in done.stderr, done.stderr)
    (zoo / "a.pb").unlink()
    # Folders of any name; a pipe is no model.
    for name in ("lock", "unfinished", "d.onnx"):
        (outer / name).mkdir()
        (outer / name / "m.onnx").write_bytes(model().SerializeToString())
    os.mkfifo(outer / "pipe.onnx")
    done = tool("batch", outer, "-o", folder / "names", "--json", "-q")
    expect(done.returncode == 0 and lines_of(done)[1]["optimized"] == 4, done.stderr)
    done = tool("batch", outer / "pipe.onnx", "-o", folder / "names", timeout=20)
    expect(done.returncode == INPUT and "it is a pipe" in done.stderr, done.stderr)

    some = plan(tool, zoo, "-o", folder / "out", "--include", "text/**", "--exclude", "deep")
    expect(set(some) == {"text/net.onnx", "text/long.onnx"}, some)
    some = plan(tool, zoo, "-o", folder / "out", "--include", "blob", "--include", "*one*")
    expect(set(some) == {"blob.onnx", "sized/one.onnx"}, some)

    # A list: the tree below the folder that its lines have in common.
    listed = folder / "list.txt"
    listed.write_text(f"# two\n{zoo}/text/net.onnx\r\n\n{zoo}/vision/net.onnx\n")
    expect(set(plan(tool, f"@{listed}", "-o", folder / "out")) == {"text/net.onnx", "vision/net.onnx"})
    done = tool(
        "batch", "@-", "-o", folder / "out", "--dry-run", "--json", stdin=listed.read_bytes(), cwd=folder
    )
    expect(done.stdout.count(b'"to do"') == 2, done.stderr)
    # A path that is too long for the system is no empty folder.
    here = os.getcwd()
    deep = folder / ".deep"
    deep.mkdir()
    os.chdir(deep)
    for _ in range(25):
        os.mkdir("d" * 200)
        os.chdir("d" * 200)
    os.chdir(here)
    done = tool("batch", deep, "-o", folder / "out", "--dry-run")
    expect(done.returncode == INPUT and "the folder cannot be read" in done.stderr, done.stderr[-500:])
    # Files by their names, and one folder inside of another that is read as well.
    expect(
        set(plan(tool, zoo / "a.onnx", zoo / "text" / "net.onnx", "-o", folder / "out"))
        == {"a.onnx", "net.onnx"}
    )
    # The folder of the results may be in that of the models.
    expect(tool("batch", zoo, "-o", zoo / "out", "-q").returncode == 0)
    expect(plan(tool, zoo, "-o", zoo / "out") == {}, plan(tool, zoo, "-o", zoo / "out"))


def test_odd_names(tool, folder):
    """Whatever bytes a name has: its record is found again, and nothing of it is stale."""
    zoo, out = folder / "zoo", folder / "out"
    zoo.mkdir()
    for name in (b"caf\xe9", b"a b", b"new\nline", b"quo\"te'", b"-x", b"@y", b"\x1b[31m", "\u540d".encode()):
        with open(os.fsencode(zoo) + b"/" + name + b".onnx", "wb") as f:
            f.write(model().SerializeToString())
    expect(tool("batch", zoo, "-o", out, "-q").returncode == 0)
    expect(plan(tool, zoo, "-o", out) == {}, plan(tool, zoo, "-o", out))
    done = tool("batch", zoo, "-o", out, "--exclude", "caf*", "--delete-stale", "--json", "-q")
    whole = lines_of(done)[1]
    expect(whole["deleted"] == 0 and whole["up_to_date"] == 7, whole)
    expect(len(tree(out)) == 2 + 2 * 8)


def test_errors_are_told_and_the_rest_goes_on(tool, folder):
    zoo, rules = zoo_of(folder)
    out = folder / "out"
    done = tool("batch", zoo, "-o", out, "--options", rules, "--on-error", "copy", "--json", "-q")
    models, whole = lines_of(done)
    expect(done.returncode == INPUT and whole["copied"] == len(FAILING), whole)
    for name in FAILING:
        expect((out / name).read_bytes() == (zoo / name).read_bytes(), name)
        record = json.loads((out / ".graphopt" / f"{name}.json").read_text())
        expect(record["status"] == INPUT and record["error"], record)
    # It is not tried again, and the status stays; without copies it is.
    done = tool("batch", zoo, "-o", out, "--options", rules, "--on-error", "copy", "--json", "-q")
    expect(done.returncode == INPUT and lines_of(done)[1]["up_to_date"] == MODELS, lines_of(done)[1])
    expect(set(plan(tool, zoo, "-o", out, "--options", rules)) == set(FAILING))
    # A model that only the check refuses is copied with its data.
    only = folder / "only"
    only.mkdir()
    with_data(only / "w.onnx")
    done = tool(
        "batch", only, "-o", folder / "copies", "--on-error", "copy", "--check", "--ort", "/nowhere", "-q"
    )
    expect(done.returncode == 6, done.returncode, done.stderr)
    expect((folder / "copies" / "w.onnx.data").read_bytes() == (only / "w.onnx.data").read_bytes())
    # It is tried again, since nothing says whether there is an ONNX Runtime now.
    words = [only, "-o", folder / "copies", "--on-error", "copy", "--check"]
    expect(plan(tool, *words) == {"w.onnx": "copied after an error of this machine"}, plan(tool, *words))
    # Data outside of the folder: a copy would not find it.
    inner = only / "inner"
    inner.mkdir()
    m = onnx.load(only / "w.onnx", load_external_data=False)
    for t in m.graph.initializer:
        for entry in t.external_data:
            if entry.key == "location":
                entry.value = "../" + entry.value
    (inner / "x.onnx").write_bytes(m.SerializeToString())
    words = [
        inner,
        "-o",
        folder / "inner",
        "--on-error",
        "copy",
        "--dim",
        "nobody=3",
        "--external-root",
        only,
    ]
    done = tool("batch", *words)
    expect(done.returncode == USAGE and "is outside of its folder" in done.stderr, done.stderr)
    (line,) = lines_of(tool("batch", *words, "--json", "-q"))[0].values()
    expect([e["status"] for e in line["errors"]] == [USAGE, INPUT], line["errors"])
    expect(not (folder / "inner" / "x.onnx").exists())
    # stop: what comes after the first error is not done. The largest model comes first.
    (zoo / "broken.onnx").write_bytes(b"\x08\x0a\x12\xff" + bytes(100_000))
    done = tool("batch", zoo, "-o", folder / "stopped", "--on-error", "stop", "-j", "1", "--json", "-q")
    models, whole = lines_of(done)
    expect(
        done.returncode == INPUT and whole["not_done"] == MODELS - 1 and list(models) == ["broken.onnx"],
        whole,
    )
    # One option that a model has no use for: the others are done.
    done = tool(
        "batch", zoo / "a.onnx", zoo / "data", "-o", folder / "dims", "--dim", "nobody=3", "--json", "-q"
    )
    expect(done.returncode == USAGE and lines_of(done)[1]["failed"] == 2, done.stderr)


def test_a_process_that_is_killed_or_too_slow(tool, folder):
    """A worker that is ended loses its model alone; so does one that takes too long, or too much memory."""
    zoo, rules = zoo_of(folder)
    for name in FAILING:
        (zoo / name).unlink()
    (zoo / "slow.onnx").write_bytes(long_model(60_000).SerializeToString())
    words = ["batch", zoo, "-o", folder / "out", "--options", rules, "--json", "-q"]
    done = tool(*words, "--timeout", "0.02")
    models, whole = lines_of(done)
    expect(done.returncode == LIMIT and models["slow.onnx"]["status"] == LIMIT, whole, done.stderr)
    expect(models["a.onnx"]["status"] == 0 or tool.sanitized, models["a.onnx"])
    if tool.sanitized:
        return
    done = tool(*words, "--max-memory", "24M", "--force-all")
    models, whole = lines_of(done)
    expect(done.returncode == LIMIT and models["slow.onnx"]["status"] == LIMIT, whole, done.stderr)
    expect(models["a.onnx"]["status"] == 0, models["a.onnx"])
    # Killed from outside, as by a system without memory.
    running = subprocess.Popen(
        [tool.binary, *map(str, words), "-j", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    for _ in itertools.count():
        found = subprocess.run(
            ["pgrep", "-P", str(running.pid)], capture_output=True, text=True
        ).stdout.split()
        if found:
            os.kill(int(found[0]), 9)
            break
    stdout, stderr = running.communicate()
    lines = [json.loads(line) for line in stdout.decode().splitlines()]
    expect(running.returncode == LIMIT and "signal 9" in stderr.decode(), running.returncode, stderr)
    expect(sum(line.get("status") == LIMIT for line in lines[:-1]) == 1, lines[-1])
    done = tool("batch", zoo, "-o", folder / "out", "--options", rules, "-q")
    expect(done.returncode == 0, done.stderr)
    # One that does not end by itself does not keep the others.
    running = subprocess.Popen(
        [tool.binary, *map(str, words), "-j", "1", "--force-all"], stdout=subprocess.DEVNULL
    )
    found = []
    while not found:
        found = subprocess.run(
            ["pgrep", "-P", str(running.pid)], capture_output=True, text=True
        ).stdout.split()
    os.kill(int(found[0]), signal.SIGSTOP)
    running.send_signal(signal.SIGTERM)
    expect(running.wait(timeout=30) == -signal.SIGTERM)
    done = tool("batch", zoo, "-o", folder / "out", "--options", rules, "-q")
    expect(done.returncode == 0 and not list(folder.rglob("*.tmp")), done.stderr)


def test_few_processes(tool, folder):
    """Where the system allows fewer processes or files than there are jobs, models wait for one."""
    zoo, _ = zoo_of(folder)
    for name in FAILING:
        (zoo / name).unlink()
    limited = ["bash", "-c", 'ulimit -n 20; exec "$@"', "bash"]
    words = [tool.binary, "batch", zoo, "-o", folder / "out", "-j", "64", "-q"]
    done = subprocess.run([*limited, *map(str, words)], capture_output=True, text=True, timeout=60)
    expect(done.returncode == 0, done.returncode, done.stderr)


def test_one_process_at_a_time(tool, folder):
    zoo, rules = zoo_of(folder)
    (zoo / "slow.onnx").write_bytes(long_model(60_000).SerializeToString())
    words = [tool.binary, "batch", zoo, "-o", folder / "out", "--options", rules]
    both = [subprocess.Popen(words, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [p.communicate()[1] for p in both]
    waited = [text for text in said if "another graphopt batch writes to" in text]
    expect(len(waited) == 1 and waited[0].count("up to date") == MODELS - 1 + 1, *said)
    # While it waits, the first signal ends it.
    with open(folder / "out" / ".graphopt" / ".lock", "r+b") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        waiting = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        expect("another graphopt batch" in waiting.stderr.readline())
        waiting.send_signal(signal.SIGTERM)
        expect(waiting.wait(timeout=20) == -signal.SIGTERM)


def test_the_budget_of_memory(tool, folder):
    zoo, rules = zoo_of(folder)
    done = tool(
        "batch",
        zoo,
        "-o",
        folder / "out",
        "--options",
        rules,
        "--memory-budget",
        "100M",
        "-j",
        "4",
        "--json",
        "-q",
    )
    models, whole = lines_of(done)
    expect(whole["optimized"] == MODELS - len(FAILING), whole)
    for name, line in models.items():
        expect(line["estimated_memory"] > 0, line)
        if name not in FAILING and not tool.sanitized:
            expect(line["peak_memory"] <= line["estimated_memory"], line)


def test_wrong_uses(tool, folder):
    """The right thing or a clear error, and nothing is half done."""
    zoo, rules = zoo_of(folder)
    file = zoo / "a.onnx"
    out = folder / "out"
    binary = folder / "junk.txt"
    binary.write_bytes(bytes(range(256)) * 9)
    words = folder / "words.txt"
    words.write_text("these are no paths\n")
    cases = [
        ([zoo], "no folder is named", USAGE),
        ([], "no models are named", USAGE),
        ([zoo, "-o", "-"], "no folder is named", USAGE),
        ([zoo, "-o", zoo], "in one folder", USAGE),
        ([zoo / "text", "-o", zoo], "inside the folder of the outputs", USAGE),
        ([file, "-o", zoo], "its output would replace it", USAGE),
        ([zoo, "-o", file], "it is a file", USAGE),
        ([zoo / "text", zoo / "vision", "-o", out], "would both be 'net.onnx'", USAGE),
        ([folder / "nowhere", "-o", out], "no such file or folder", INPUT),
        ([f"@{binary}", "-o", out], "is no file", INPUT),
        ([f"@{words}", "-o", out], "line 1 is no file: 'these are no paths'", INPUT),
        ([f"@{folder}", "-o", out], "cannot be read", INPUT),
        ([zoo, "-o", out, "--options", binary], "it is no JSON", USAGE),
        ([zoo, "-o", out, "--shard", "3/2"], "is not a part", USAGE),
        ([zoo, "-o", out, "--shard", "0/2"], "is not a part", USAGE),
        ([zoo, "-o", out, "--jobs", "0"], "is not a number of jobs", USAGE),
        ([zoo, "-o", out, "--jobs", "many"], "is not a number of jobs", USAGE),
        ([zoo, "-o", out, "--manifest", "m.json"], "--manifest names one file", USAGE),
        ([zoo, "-o", out, "--keep-bad", "bad.onnx"], "--keep-bad names one file", USAGE),
        ([zoo, "-o", out, "--plan", "--devices", "cpu"], "prints no subgraphs", USAGE),
        ([zoo, "-o", out, "--external-file", "w.bin"], "would both write", USAGE),
        ([zoo, "-o", out, "--on-error", "ignore"], "skip", USAGE),
        ([zoo, "-o", out, "--devices", "nope"], "no device profile 'nope'", USAGE),
        ([zoo, "-o", out, "--buckets", folder / "none.json"], "which is not there", USAGE),
        ([zoo, "-o", out, "--check", "--check-input", "x=none.npy"], "which is not there", USAGE),
        ([zoo, "-o", out, "--memory-budget", "much"], "is not a size", USAGE),
        ([zoo, "-o", out, "--report", file], "no report", USAGE),
        ([zoo, "-o", out, "--josb", "3"], "--jobs", USAGE),
        ([zoo, "-o", out, "--report", folder / "no" / "r.json"], "report could not be written", OUTPUT),
        ([zoo, "-o", "/proc/out"], "", OUTPUT),
    ]
    before = tree(zoo)
    for given, text, status in cases:
        done = tool("batch", *given)
        expect(done.returncode == status, given, done.returncode, done.stderr)
        expect(text in done.stderr and "help:" in done.stderr, given, done.stderr)
        expect(tree(zoo) == before and not out.exists(), given, "wrote something")
    done = tool("batch", zoo, "-o", out, "--include", "*.tflite")
    expect(done.returncode == INPUT and "no model was found" in done.stderr and not out.exists(), done.stderr)


def test_wrong_rules(tool, folder):
    zoo, rules = zoo_of(folder)
    for text, said in (
        ([{"match": "**"}], "options"),
        ([{"match": "**", "options": {"levle": 3}}], "level"),
        ([{"match": "**", "options": {"level": 17}}], "-O"),
        ([{"match": "**", "options": {"output": "x"}}], "output"),
        ([{"match": 3, "options": {}}], "match"),
        ([{"match": "**", "options": {"exact": {}}}], "exact"),
        ({"match": "**", "options": {}}, "list"),
        ([{"match": "**", "options": {"parts": "never"}}], "--devices"),
    ):
        rules.write_text(json.dumps(text))
        done = tool("batch", zoo, "-o", folder / "out", "--options", rules)
        expect(done.returncode == USAGE and said in done.stderr, text, done.stderr)
        expect(not (folder / "out").exists())
    rules.write_text(json.dumps([{"match": "bert/**", "options": {"level": 3}}]))
    done = tool(
        "batch", zoo, "-o", folder / "out", "--options", rules, "-q", "--log-level", "warning", "--dry-run"
    )
    done = tool("batch", zoo, "-o", folder / "out", "--options", rules, "--dry-run")
    expect("'bert/**' matches no model" in done.stderr, done.stderr)


def test_folders_that_cannot_be_used(tool, folder):
    if os.geteuid() == 0:
        folder.chmod(0o755)
        prefix = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
        if not shutil.which("setpriv"):
            return
    else:
        prefix = []
    zoo, rules = zoo_of(folder)
    closed = zoo / "closed"
    closed.mkdir()
    (closed / "x.onnx").write_bytes(LFS)
    closed.chmod(0)
    out = folder / "out"
    out.mkdir()
    out.chmod(0o555)

    def run(*words):
        return subprocess.run(
            [*prefix, tool.binary, "batch", *map(str, words)], capture_output=True, text=True
        )

    try:
        done = run(zoo, "-o", folder / "elsewhere")
        expect(
            done.returncode == INPUT and "closed" in done.stderr and "--exclude" in done.stderr, done.stderr
        )
        done = run(zoo, "-o", out, "--exclude", "closed")
        expect(done.returncode == OUTPUT and "graphopt: error:" in done.stderr, done.returncode, done.stderr)
        expect(tree(out) == {})
    finally:
        closed.chmod(0o755)
        out.chmod(0o755)


main(globals())
