"""The command line: wrong words are answered with near ones, and what goes wrong ends in the documented
status."""

import fcntl
import json
import os
import pathlib
import pty
import resource
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _tool import expect, long_model, main, model

USAGE, INPUT, CHECK, OUTPUT, LIMIT = 1, 2, 3, 4, 5


def saved(folder, m=None, name="m.onnx"):
    path = folder / name
    onnx.save(m or model(), path)
    return path


def refused(done, status, *parts):
    expect(done.returncode == status, "status", done.returncode, "not", status, done.stderr)
    expect(done.stderr.startswith("graphopt: error: "), done.stderr)
    expect("\n  help: " in done.stderr, "no remedy:", done.stderr)
    for part in parts:
        expect(part in done.stderr, f"'{part}' is not in:", done.stderr)
    expect(done.stdout == b"", "something went to stdout")


def test_wrong_words(tool, folder):
    path = saved(folder)
    out = folder / "o.onnx"
    for words, parts in [
        (["--fold-limt", "3"], ["unknown option '--fold-limt'", "did you mean '--fold-limit'?"]),
        (["--outptu=x"], ["'--outptu'", "'--output'"]),
        (["--passes", "constant-foldin"], ["'constant-foldin' is not a pass", "did you mean '"]),
        (["--passes", "zzzzzz"], ["passes: "]),
        (["--passes", ""], ["--passes"]),
        (["--disable-pass", "nonsense"], ["'nonsense' is not a pass"]),
        (["--print-after", "nonsense"], ["'nonsense' is not a pass"]),
        (["-O4"], ["'4'", "0, 1, 2"]),
        (["-O"], ["-O"]),
        (["--stop-after", "loda"], ["'loda'", "'load'"]),
        (["--external-data", "allways"], ["'always'"]),
        (["--color", "sometimes"], ["auto, always, never"]),
        (["--fold-limit", "3Q"], ["'3Q' is not a size"]),
        (["--fold-limit", "-1"], ["'-1' is not a size"]),
        (["--fold-limit", "99999999999G"], ["is not a size"]),
        (["--timeout", "0"], ["'0' is not a time"]),
        (["--timeout", "nan"], ["'nan' is not a time"]),
        (["--check=0"], ["'0'"]),
        (["--check=x"], ["'x'"]),
        (["--check-tolerance", "-1"], ["'-1'"]),
        (["--exact=perhaps"], ["--exact"]),
        (["--shape", "x"], ["NAME=N"]),
        (["--shape", "x=1,,3"], ["NAME=N"]),
        (["--shape", "x=1,-2"], ["NAME=N"]),
        (["--dim", "batch"], ["SYMBOL=N"]),
        (["--dim", "batch=5..2"], ["SYMBOL=N"]),
        (["--dim", "batch=-1"], ["SYMBOL=N"]),
        (["--dim", "batch=99999999999999999999"], ["SYMBOL=N"]),
        (["second.onnx"], ["'second.onnx' is a second model"]),
        (["--report", "-", "-o", "-"], ["stdout"]),
        (["--dot", "-", "-o", "-"], ["stdout"]),
        (["--dot", "d", "--report", "d"], ["same file"]),
        (["--dot", path], ["--dot", "same file"]),
        (["--regions", "function"], ["'function'", "'functions'"]),
    ]:
        refused(tool(path, *words, *([] if "-o" in words else ["-o", out])), USAGE, *parts)
        expect(not out.exists(), words, "wrote something")
    for word in ("--fold-limit", "-o", "-O", "--passes", "--shape", "--report"):
        refused(tool(path, word), USAGE, "its value is missing")
    refused(tool(), USAGE, "no model is named")
    refused(tool("inspct", "m"), USAGE, "unknown subcommand 'inspct'", "did you mean 'inspect'?")
    refused(tool("inspect"), USAGE, "no model is named")
    refused(tool("inspect", path, "--jsn"), USAGE, "'--json'")


def test_shapes_must_fit(tool, folder):
    two = helper.make_graph(
        [helper.make_node("Add", ["a", "b"], ["y"])],
        "g",
        [
            helper.make_tensor_value_info("a", TensorProto.FLOAT, ["batch", 3]),
            helper.make_tensor_value_info("b", TensorProto.FLOAT, ["batch", 3]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])],
    )
    path = saved(folder, helper.make_model(two, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]))
    for words, parts in [
        (["--shape", "aa=1,3"], ["no input 'aa'", "inputs: a, b"]),
        (["--shape", "a=1,3,4"], ["rank 3", "float[batch,3]"]),
        (["--shape", "a=1,4"], ["contradicts the model", "dim 1"]),
        (["--dim", "btach=2"], ["no symbol 'btach'", "'batch'"]),
        (["--dim", "batch=2", "--dim", "batch=3"], ["'batch'", "2", "3"]),
        (["--dim", "batch=2", "--shape", "a=3,3"], ["'batch'"]),
        (["--dim", "batch=1..4", "--shape", "a=8,3"], ["'batch'", "1..4"]),
        (["--shape", "a=2,3", "--shape", "b=3,3"], ["'batch'"]),
        (["--shape", "a=2,3", "--shape", "a=3,3"], ["contradicts"]),
    ]:
        refused(tool(path, *words, "-o", folder / "o.onnx"), USAGE, str(path), *parts)
        expect(not (folder / "o.onnx").exists(), words)


def dims(value):
    return [d.dim_value if d.HasField("dim_value") else d.dim_param for d in value.type.tensor_type.shape.dim]


def test_shapes_are_written(tool, folder):
    path = saved(folder)
    out = folder / "o.onnx"
    for words, expected in [
        (["--dim", "batch=4"], [4, 3]),
        (["--shape", "x=5,3"], [5, 3]),
        (["--shape", "x=-1,3"], ["batch", 3]),
        (["--dim", "batch=0"], [0, 3]),
        (["--dim", "batch=2..8"], ["batch", 3]),
        ([], ["batch", 3]),
    ]:
        done = tool(path, *words, "-o", out)
        expect(done.returncode == 0, done.stderr)
        m = onnx.load(out)
        onnx.checker.check_model(m, full_check=True)
        expect(dims(m.graph.input[0]) == expected, words, dims(m.graph.input[0]))
        expect(dims(m.graph.output[0]) == expected, words, dims(m.graph.output[0]))


def test_infer_writes_types(tool, folder):
    path = saved(folder)
    out = folder / "o.onnx"
    expect(tool(path, "-O0", "-o", out).returncode == 0)
    expect(len(onnx.load(out).graph.value_info) == 0, "-O0 wrote value_info without --infer")
    expect(tool(path, "-O0", "--infer", "-o", out).returncode == 0)
    found = {v.name: dims(v) for v in onnx.load(out).graph.value_info}
    expect(found == {"i": ["batch", 3], "r": ["batch", 3], "c": [3]}, found)


def test_in_and_out(tool, folder):
    path = saved(folder)
    original = path.read_bytes()
    out = folder / "o.onnx"
    done = tool(path)
    expect(done.returncode == 0 and done.stdout == b"", "dry run:", done.stderr)
    expect("nothing is written" in done.stderr and "Identity" in done.stderr, done.stderr)
    expect(
        path.read_bytes() == original and sorted(p.name for p in folder.iterdir()) == ["m.onnx"],
        "a dry run wrote",
    )
    expect(tool(path, "-o", out).returncode == 0)
    result = out.read_bytes()
    onnx.checker.check_model(onnx.load(out), full_check=True)
    expect([n.op_type for n in onnx.load(out).graph.node] == ["Relu", "Add"], "nodes")
    for words, stdin in [
        ((path, "-o", "-"), None),
        (("-", "-o", "-"), original),
        (("-o", "-", path), None),
        (("--output=-", "--", path), None),
    ]:
        done = tool(*words, stdin=stdin)
        expect(done.returncode == 0 and done.stdout == result, words, done.stderr)
    expect(tool(path, "-q", "-o", path).stderr == "", "-q is not quiet")
    expect(path.read_bytes() == result, "in place")
    expect(
        tool(path, "-o", path).returncode == 0 and path.read_bytes() == result,
        "a second run changed something",
    )
    named = folder / "inspect"
    named.write_bytes(original)
    expect(tool("./inspect", "-o", "-", cwd=folder).stdout == result)
    dashed = folder / "-m.onnx"
    dashed.write_bytes(original)
    expect(tool("-o", "-", "--", "-m.onnx", cwd=folder).stdout == result)
    refused(tool(folder / "none.onnx"), INPUT, "none.onnx")
    refused(tool(path, "-o", folder / "no" / "o.onnx"), OUTPUT, "o.onnx")
    refused(tool(path, "-o", folder), OUTPUT)
    refused(tool(folder), INPUT)


def test_levels_and_stages(tool, folder):
    path = saved(folder)
    out = folder / "o.onnx"
    kinds = lambda: [n.op_type for n in onnx.load(out).graph.node]
    for words, expected in [
        (["-O0"], 4),
        (["-O1"], 2),
        (["-O2"], 2),
        (["-O0", "-O2"], 2),
        (["--exact"], 2),
        (["--stop-after", "load"], 4),
        (["--stop-after", "infer"], 4),
        (["--stop-after", "clean-up"], 2),
        (["--passes", "drop-identity"], 3),
        (["-O0", "--passes=drop-identity"], 3),
        (["--disable-pass", "drop-identity"], 3),
    ]:
        expect(tool(path, *words, "-o", out).returncode == 0)
        expect(len(kinds()) == expected, words, kinds())


def test_fold_limit(tool, folder):
    shape = helper.make_tensor("s", TensorProto.INT64, [1], [4096])
    graph = helper.make_graph(
        [helper.make_node("ConstantOfShape", ["s"], ["c"]), helper.make_node("Add", ["x", "c"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4096])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4096])],
        [shape],
    )
    path = saved(folder, helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]))
    for limit, nodes in [("16K", 1), ("15K", 2), ("0", 2), ("1M", 1)]:
        done = tool(path, "--fold-limit", limit, "-o", "-")
        m = onnx.load_from_string(done.stdout)
        expect(len(m.graph.node) == nodes, limit, [n.op_type for n in m.graph.node])


def test_print_only(tool, folder):
    expect(tool("--version").stdout.startswith(b"graphopt "))
    done = tool("--list-passes")
    expect(done.returncode == 0 and b"drop-identity" in done.stdout and done.stderr == "", done.stderr)
    for line in done.stdout.decode().splitlines():
        expect(len(line) <= 110, "too long:", line)


def test_report(tool, folder):
    path = saved(folder)
    report = folder / "r.json"
    expect(tool(path, "-o", folder / "o.onnx", "--report", report, "-q").returncode == 0)
    r = json.loads(report.read_text())
    expect((r["before"]["nodes"], r["after"]["nodes"]) == (4, 2), r["before"], r["after"])
    expect(r["before"]["operators"] == {"Add": 2, "Identity": 1, "Relu": 1}, r["before"])
    expect((r["before"]["initializers"], r["after"]["initializers"]) == (2, 1), r["after"])
    expect(
        r["before"]["bytes"] == path.stat().st_size
        and r["after"]["bytes"] == (folder / "o.onnx").stat().st_size
    )
    expect([p["name"] for p in r["phases"]] == ["load", "infer", "clean-up", "save"], r["phases"])
    expect(r["stopped"] == "fixed point" and r["rewrites"] >= 2, r["rewrites"])
    expect(sum(p["rewrites"] for p in r["passes"]) == r["rewrites"], r["passes"])
    expect(r["inference"]["inferred"] >= 4 and r["inference"]["again"] >= 0, r["inference"])
    expect([f["path"] for f in r["files"]] == [str(folder / "o.onnx")], r["files"])
    fields = (pathlib.Path(__file__).parents[2] / "docs" / "report.md").read_text()
    for field in [*r, *r["before"], *r["passes"][0], *r["inference"]]:
        expect(f"`{field}`" in fields, field, "is not in docs/report.md")
    expect(r["check"] is None and r["false_claims"] == [] and r["warnings"] == [])
    done = tool(path, "--report", "-")
    expect(json.loads(done.stdout)["files"] == [] and json.loads(done.stdout)["after"]["bytes"] == 0)
    refused(tool(path, "-q", "--report", folder / "no" / "r.json"), OUTPUT, "r.json")


def test_report_of_moves(tool, folder):
    """MatMul, Reshape, Relu: the Relu moves to the MatMul, which absorbs it. C' falls by the Relu, F + D
    stay."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Reshape", ["m", "s"], ["r"]),
        helper.make_node("Relu", ["r"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "main",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2, 5])],
        [
            numpy_helper.from_array(np.ones((3, 5), np.float32), "w"),
            numpy_helper.from_array(np.array([2, 2, 5]), "s"),
        ],
    )
    path = saved(folder, helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]))
    report = folder / "moves.json"
    expect(tool(path, "-o", folder / "o.onnx", "--report", report, "-q").returncode == 0)
    r = json.loads(report.read_text())
    before, after = {"compute": 2, "free": 1, "deform": 1}, {"compute": 1, "free": 0, "deform": 1}
    expect(r["costs"] == [{"graph": "main", "before": before, "after": after}], r["costs"])
    expect(
        [(m["kind"], m["before"], m["after"]) for m in r["moves"]] == [("serial-backward", before, after)],
        r["moves"],
    )


def test_false_claims(tool, folder):
    m = model()
    m.graph.value_info.append(helper.make_tensor_value_info("r", TensorProto.FLOAT, ["batch", 7]))
    path = saved(folder, m)
    done = tool(path, "--report", "-", "-o", folder / "o.onnx")
    claims = json.loads(done.stdout)["false_claims"]
    expect([c["value"] for c in claims] == ["r"], claims)
    expect("warning" in done.stderr and "'r'" in done.stderr, done.stderr)
    found = {v.name: dims(v) for v in onnx.load(folder / "o.onnx").graph.value_info}
    expect(found["r"] == ["batch", 3], found)
    expect(tool(path, "-q", "-o", folder / "o.onnx").stderr == "", "-q is not quiet")


def test_messages(tool, folder):
    path = saved(folder)
    done = tool(path, "--time-passes")
    expect("clean-up" in done.stderr and "drop-identity" in done.stderr, done.stderr)
    done = tool(path, "--print-after", "drop-identity")
    expect("# after drop-identity" in done.stderr and "Relu" in done.stderr, done.stderr)
    expect("debug:" in tool(path, "-vv").stderr and "debug:" not in tool(path, "-v").stderr)
    expect("debug:" in tool(path, "--log-level", "debug").stderr)
    hostile = model()
    hostile.graph.node[1].name = "a\x1b[31m\nb"
    hostile.graph.node[1].op_type = "No\x1b[0mSuch"
    done = tool("inspect", saved(folder, hostile, "h.onnx"))
    expect(
        b"\x1b" not in done.stdout and "\x1b" not in done.stderr,
        "control characters of a file reached the terminal",
    )


def test_color(tool, folder):
    expect("\x1b" not in tool(folder / "none.onnx").stderr, "color without a terminal")
    expect("\x1b[" in tool(folder / "none.onnx", "--color", "always").stderr)
    for env, words, color in [
        ({}, [], True),
        ({"NO_COLOR": "1"}, [], False),
        ({"NO_COLOR": ""}, [], True),
        ({"TERM": "dumb"}, [], False),
        ({}, ["--color=never"], False),
        ({"NO_COLOR": "1"}, ["--color=always"], True),
    ]:
        master, slave = pty.openpty()
        e = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"} | env
        subprocess.run([tool.binary, str(folder / "none.onnx"), *words], stderr=slave, env=e)
        os.close(slave)
        text = os.read(master, 65536)
        os.close(master)
        expect((b"\x1b[1;31m" in text) == color, env, words, text)


def test_progress(tool, folder):
    """A phase that takes longer than a second (here: waiting for its input) draws a bar and takes it away
    again."""
    for words, shown in [([], True), (["--progress", "never"], False), (["-q"], False)]:
        master, slave = pty.openpty()
        child = subprocess.Popen([tool.binary, "-", *words], stdin=subprocess.PIPE, stderr=slave)
        os.close(slave)
        time.sleep(1.6)
        child.stdin.write(model().SerializeToString())
        child.stdin.close()
        expect(child.wait(20) == 0)
        text = b""
        try:
            while piece := os.read(master, 65536):
                text += piece
        except OSError:  # how a terminal says that its other side is closed
            pass
        os.close(master)
        expect((b"\r\x1b[Kload     [" in text) == shown, words, text)
        if shown:
            bar, _, rest = text.rpartition(b"\r\x1b[K")
            expect(b"[" not in rest and b"graphopt: - -> " in rest, "the bar was left on the screen:", text)


def test_terminal_output(tool, folder):
    path = saved(folder)
    master, slave = pty.openpty()
    done = subprocess.run(
        [tool.binary, str(path), "-o", "-"], stdout=slave, stderr=subprocess.PIPE, text=True
    )
    os.close(slave)
    os.close(master)
    expect(done.returncode in (USAGE, OUTPUT) and "--force" in done.stderr, done.returncode, done.stderr)


def test_closed_pipe(tool, folder):
    path = saved(folder)
    for words in [
        [path, "-o", "-"],
        ["inspect", path],
        ["--help"],
        ["--list-passes"],
        [path, "--report", "-"],
    ]:
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(
            [tool.binary, *map(str, words)], stdout=writer, stderr=subprocess.PIPE, text=True
        )
        os.close(writer)
        expect(done.returncode == OUTPUT, words, done.returncode, done.stderr)
        expect(done.stderr.count("graphopt: error: ") == 1, done.stderr)


def test_full_disk(tool, folder):
    path = saved(folder, long_model(20000))
    disk = folder / "disk"
    disk.mkdir()
    if (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True
        ).returncode
        != 0
    ):
        print("full disk: skipped, a tmpfs cannot be mounted here")
        limited = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))  # the nearest thing
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        done = subprocess.run(
            [tool.binary, path, "-o", disk / "o.onnx"], preexec_fn=limited, capture_output=True, text=True
        )
        expect(done.returncode == OUTPUT and list(disk.iterdir()) == [], done.returncode, done.stderr)
        return
    try:
        old = disk / "o.onnx"
        old.write_bytes(b"old")
        refused(tool(path, "-o", old), OUTPUT, "o.onnx")
        expect(
            [p.name for p in disk.iterdir()] == ["o.onnx"] and old.read_bytes() == b"old",
            "something was left behind",
        )
    finally:
        subprocess.run(["umount", disk], check=True)


def test_interrupts(tool, folder):
    """The run is held in the middle by a pipe that nobody writes to, or stopped while it writes to one nobody
    reads."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        child = subprocess.Popen(
            [tool.binary, "-", "-o", folder / "o.onnx"], stdin=subprocess.PIPE, stderr=subprocess.PIPE
        )
        child.stdin.write(model().SerializeToString()[:100])
        child.stdin.flush()
        time.sleep(0.2)
        child.send_signal(number)
        child.stdin.close()
        child.wait(20)
        expect(child.returncode == -number, number, child.returncode, child.stderr.read())
        expect(list(folder.iterdir()) == [], "left behind:", list(folder.iterdir()))
    path = saved(folder, long_model(30000))
    for delay in (0.02, 0.05, 0.1, 0.15, 0.2, 0.3):
        out = folder / "out"
        out.mkdir(exist_ok=True)
        child = subprocess.Popen([tool.binary, "-q", path, "-o", out / "o.onnx"], stderr=subprocess.PIPE)
        time.sleep(delay)
        child.send_signal(signal.SIGINT)
        child.wait(20)
        names = [p.name for p in out.iterdir()]
        expect(child.returncode in (0, -signal.SIGINT), child.returncode, child.stderr.read())
        expect(names in ([], ["o.onnx"]), names)
        if names:
            onnx.load(out / "o.onnx")
            (out / "o.onnx").unlink()
    child = subprocess.Popen(
        [tool.binary, "-q", path, "-o", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    fcntl.fcntl(child.stdout, fcntl.F_SETPIPE_SZ, 4096)
    time.sleep(1)
    child.send_signal(signal.SIGTERM)
    child.wait(20)
    expect(child.returncode == -signal.SIGTERM, child.returncode)


def test_ignored_signals_stay_ignored(tool, folder):
    child = subprocess.Popen(
        ["nohup", tool.binary, "-", "-o", folder / "o.onnx"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(0.3)
    child.send_signal(signal.SIGHUP)
    child.stdin.write(model().SerializeToString())
    child.stdin.close()
    expect(child.wait(20) == 0, child.returncode)


def test_limits(tool, folder):
    path = saved(folder, long_model(60000))
    refused(
        tool(path, "--timeout", "0.001", "-o", folder / "o.onnx"), LIMIT, "--timeout", "nothing was written"
    )
    expect([p.name for p in folder.iterdir()] == ["m.onnx"], "something was written")
    expect(tool(path, "--timeout", "60", "-q", "-o", folder / "o.onnx").returncode == 0)
    if not tool.sanitized:  # whose shadow is larger than any limit
        refused(tool(path, "--max-memory", "8M", "-o", folder / "p.onnx"), LIMIT, "--max-memory")
        expect(not (folder / "p.onnx").exists(), "something was written")
        expect(tool(path, "--max-memory", "1G", "-q", "-o", folder / "p.onnx").returncode == 0)
    # Blocked in a read, where the library cannot look at the clock.
    child = subprocess.Popen(
        [tool.binary, "-", "--timeout", "0.2"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    expect(child.wait(20) == LIMIT and "--timeout" in child.stderr.read(), child.returncode)
    child.stdin.close()


def test_shrinking_file(tool, folder):
    """A mapped model that is cut short ends in status 2 (or, when it was read in time, in 0), not in a
    crash."""
    source = saved(folder, long_model(60000)).read_bytes()
    path = folder / "s.onnx"
    for delay in (0.0, 0.01, 0.02, 0.03, 0.05, 0.1):
        path.write_bytes(source)
        child = subprocess.Popen(
            [tool.binary, "-q", path, "-o", folder / "o.onnx"], stderr=subprocess.PIPE, text=True
        )
        time.sleep(delay)
        os.truncate(path, 4096)
        text = child.stderr.read()
        expect(child.wait(20) in (0, INPUT), delay, child.returncode, text)
        expect(child.returncode == 0 or "s.onnx" in text, text)


def test_inspect(tool, folder):
    path = saved(folder)
    done = tool("inspect", path, "--json")
    expect(done.returncode == 0 and done.stderr == "", done.stderr)
    i = json.loads(done.stdout)
    expect(i["inputs"] == [{"name": "x", "type": "float[batch,3]", "has_default": False}], i["inputs"])
    expect(i["outputs"] == [{"name": "y", "type": "float[batch,3]", "has_default": False}], i["outputs"])
    expect(i["symbols"] == [{"name": "batch", "inputs": ["x"]}], i["symbols"])
    expect(i["opsets"] == {"ai.onnx": 21} and i["ir_version"] == 10 and i["format"] == "protobuf", i)
    expect(i["figures"]["nodes"] == 4 and i["figures"]["initializers"] == 2, i["figures"])
    expect(
        i["model_bytes"] == path.stat().st_size and i["external_bytes"] == 0 and i["weight_bytes"] == 24, i
    )
    expect(i["shapes"] == {"values": 4, "ranked": 4, "linked": 4}, i["shapes"])
    expect(i["problems"] == [] and i["unknown_operators"] == [] and i["functions"] == [], i)
    text = tool("inspect", path).stdout.decode()
    for part in ("float[batch,3]", "ai.onnx 21", "Identity", "symbols (1)", "problems: none"):
        expect(part in text, part, text)
    expect(
        json.loads(tool("inspect", "-", "--json", stdin=path.read_bytes()).stdout)["figures"]["nodes"] == 4
    )
    opaque = model([helper.make_node("Mystery", ["y"], ["z"], domain="com.example")])
    opaque.opset_import.append(helper.make_opsetid("com.example", 1))
    i = json.loads(tool("inspect", saved(folder, opaque, "o.onnx"), "--json").stdout)
    expect(i["unknown_operators"] == [{"name": "com.example::Mystery", "nodes": 1}], i["unknown_operators"])
    refused(tool("inspect", folder / "none.onnx"), INPUT, "none.onnx")


def test_counting(tool, folder):
    """Subgraphs count, bodies of functions count once per call, Constant nodes apart."""
    body = lambda name, op: helper.make_graph(
        [
            helper.make_node("Constant", [], [name + "c"], value_float=1.0),
            helper.make_node(op, ["x", name + "c"], [name]),
        ],
        name,
        [],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)],
    )
    f = helper.make_function(
        "d",
        "F",
        ["a"],
        ["b"],
        [helper.make_node("Abs", ["a"], ["t"]), helper.make_node("G", ["t"], ["b"], domain="d")],
        [helper.make_opsetid("", 21), helper.make_opsetid("d", 1)],
    )
    g = helper.make_function(
        "d", "G", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], [helper.make_opsetid("", 21)]
    )
    graph = helper.make_graph(
        [
            helper.make_node("If", ["c"], ["i"], then_branch=body("t", "Add"), else_branch=body("e", "Mul")),
            helper.make_node("F", ["i"], ["p"], domain="d"),
            helper.make_node("F", ["p"], ["q"], domain="d"),
            helper.make_node("G", ["q"], ["y"], domain="d"),
        ],
        "g",
        [
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    m = helper.make_model(
        graph,
        functions=[f, g],
        ir_version=10,
        opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("d", 1)],
    )
    figures = json.loads(tool("inspect", saved(folder, m), "--json").stdout)["figures"]
    figures.pop("bytes")
    # Calls of F: 2, of G: 1 and 2 out of F. If, Add, Mul; 2 x Abs; 3 x Neg.
    expect(
        figures
        == {
            "nodes": 8,
            "constants": 2,
            "initializers": 0,
            "subgraphs": 2,
            "calls": 4,
            "operators": {"Abs": 2, "Add": 1, "If": 1, "Mul": 1, "Neg": 3},
        },
        figures,
    )


def test_start_up(tool, folder):
    """Generous: the figure that counts is in benchmarks/. Sanitizers and busy machines pass, a second of
    set-up does not."""

    def seconds():
        start = time.perf_counter()
        tool("--version")
        return time.perf_counter() - start

    expect(min(seconds() for _ in range(5)) < 0.5)


if __name__ == "__main__":
    sys.exit(main(globals()))
