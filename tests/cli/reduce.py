"""graphopt reduce: planted defects in models of hundreds of nodes, and what may go wrong on the way."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
import onnx.inliner
from _failing import DEFECTS, attribute, count_nodes, graphs_of
from _tool import CHECK, INPUT, LIMIT, OUTPUT, USAGE, expect, long_model, main, model, refused, saved
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.reduction import Judge  # noqa: E402

MOST_NODES, MOST_RUNS = 10, 300


def reduced(tool, folder, made, judge, *words):
    """(the small model, the run, the number of tests) of a defect; the small model must show it, too."""
    source, out = saved(folder, made), folder / "out.onnx"
    with Judge(judge) as test:
        done = tool("reduce", source, "--test", test.command, "-o", out, *words)
    expect(done.returncode == 0, done.returncode, done.stderr)
    expect(done.stdout == b"", "something went to stdout")
    small = onnx.load(out)
    expect(judge(out) == judge(source), "the small model does not fail as the large one")
    onnx.checker.check_model(small, full_check=True)
    return small, done, test.runs


def check_defect(tool, folder, name):
    make, judge = DEFECTS[name]
    made = make()
    expect(count_nodes(made) >= 500, count_nodes(made), "nodes are too few")
    small, done, runs = reduced(tool, folder, made, judge)
    expect(count_nodes(small) <= MOST_NODES, onnx.printer.to_text(small))
    expect(runs <= MOST_RUNS, runs, "tests")
    expect(f"{count_nodes(made)} -> {count_nodes(small)}" in done.stderr, done.stderr)
    return small


def test_attribute(tool, folder):
    small = check_defect(tool, folder, "attribute")
    expect([n.op_type for n in small.graph.node] == ["MatMul", "Softmax"], small)
    expect(not small.graph.value_info and not small.doc_string, "texts are left")


def test_branch(tool, folder):
    small = check_defect(tool, folder, "branch")
    expect(sorted(n.op_type for n in small.graph.node) == ["If"], small)


def test_value(tool, folder):
    small = check_defect(tool, folder, "value")
    values = np.concatenate([numpy_helper.to_array(t).ravel() for t in small.graph.initializer])
    expect(list(values) == [65504], values)


def test_apart(tool, folder):
    small = check_defect(tool, folder, "apart")
    expect([n.op_type for n in small.graph.node] == ["CumSum", "Tan"], small)


def test_extent(tool, folder):
    small = check_defect(tool, folder, "extent")
    expect([list(t.dims) for t in small.graph.initializer] == [[65, 2]], small.graph.initializer)


def test_functions(tool, folder):
    """What fails inside a function comes out of it; what fails only as a call stays one."""
    body = [
        helper.make_node("Exp", ["a"], ["b"]),
        helper.make_node("Elu", ["b"], ["c"], alpha=2.0),
        helper.make_node("Abs", ["c"], ["d"]),
    ]
    body[1].attribute[0].ref_attr_name = "slope"
    body[1].attribute[0].ClearField("f")
    imports = [helper.make_opsetid("", 21)]
    f = helper.make_function("own", "f", ["a"], ["d"], body, imports, attributes=["slope"])
    nodes = [helper.make_node("f", [f"v{i}"], [f"v{i + 1}"], domain="own", slope=0.25 * i) for i in range(5)]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [2]) for n in ("v0", "v5"))
    graph = helper.make_graph(nodes, "g", [x], [y])
    made = helper.make_model(
        graph, ir_version=10, opset_imports=[*imports, helper.make_opsetid("own", 1)], functions=[f]
    )

    def fails_inlined(path):
        nodes = onnx.inliner.inline_local_functions(onnx.load(path)).graph.node
        return 3 if any(n.op_type == "Elu" and attribute(n, "alpha", 1.0) == 0.75 for n in nodes) else 0

    small, _, _ = reduced(tool, folder, made, fails_inlined)
    expect(not small.functions and [n.op_type for n in small.graph.node] == ["Elu"], small)

    def fails_as_call(path):
        m = onnx.load(path)
        calls = any(n.domain == "own" for n in m.graph.node)
        return 3 if calls and any(n.op_type == "Elu" for g in m.functions for n in g.node) else 0

    small, _, _ = reduced(tool, folder, made, fails_as_call)
    expect(len(small.graph.node) == 1 and len(small.functions[0].node) == 1, small)


def test_loops(tool, folder):
    """A node of a Loop's body, alone or in its loop."""
    body = helper.make_graph(
        [
            helper.make_node("Mul", ["s", "w"], ["t"]),
            helper.make_node("Tan", ["t"], ["u"]),
            helper.make_node("Sub", ["u", "w"], ["v"]),
            helper.make_node("Identity", ["c"], ["c_out"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("s", TensorProto.FLOAT, [3]),
        ],
        [
            helper.make_tensor_value_info("c_out", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, [3]),
        ],
    )
    loop = helper.make_node("Loop", ["trips", "", "r"], ["l"], body=body)
    made = model([loop, helper.make_node("Neg", ["l"], ["z"])], batch=1)
    made.graph.initializer.append(numpy_helper.from_array(np.int64(3), "trips"))
    made.graph.output.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, None))
    del made.graph.output[0]
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("z", TensorProto.FLOAT, ["n"]))
    made.graph.node[0].input[0] = "w"  # all of rank 1

    def has_tan(path):
        return 3 if any(n.op_type == "Tan" for g in graphs_of(onnx.load(path).graph) for n in g.node) else 0

    small, _, _ = reduced(tool, folder, made, has_tan)
    expect([n.op_type for n in small.graph.node] == ["Tan"], small)

    def has_tan_in_loop(path):
        bodies = list(graphs_of(onnx.load(path).graph))[1:]
        return 3 if any(n.op_type == "Tan" for g in bodies for n in g.node) else 0

    small, _, _ = reduced(tool, folder, made, has_tan_in_loop)
    expect(count_nodes(small) <= 4 and small.graph.node[0].op_type == "Loop", small)


def test_external_data(tool, folder):
    """Weights in another file come along; the candidates need no other file."""
    make, judge = DEFECTS["value"]
    path = folder / "m.onnx"
    onnx.save(make(), path, save_as_external_data=True, location="weights", size_threshold=0)
    out = folder / "out.onnx"
    with Judge(judge) as test:
        done = tool("reduce", path, "--test", test.command, "-o", out)
    expect(done.returncode == 0 and count_nodes(onnx.load(out)) == 1, done.stderr)
    expect(sorted(os.listdir(folder)) == ["m.onnx", "out.onnx", "weights"], os.listdir(folder))


def test_command(tool, folder):
    """The path stands where {} is, quoted, or at the end; models of a shell command, and the temporary folder
    goes."""
    place = folder / "it's a folder"
    place.mkdir()
    path, out = saved(folder), folder / "out.onnx"
    for test in ("grep -q Relu", "grep -q Relu {}", "test -s {} && grep -q Relu {}"):
        done = tool("reduce", path, "--test", test, "-o", out, env={"TMPDIR": str(place)})
        expect(done.returncode == 0, done.stderr)
        expect([n.op_type for n in onnx.load(out).graph.node] == ["Relu"], test)
        expect(os.listdir(place) == [], "left behind:", os.listdir(place))
    done = tool("reduce", "-", "--test", "grep -q Relu", "-o", "-", stdin=path.read_bytes())
    expect(done.returncode == 0 and onnx.load_from_string(done.stdout).graph.node[0].op_type == "Relu")
    expect(tool("reduce", path, "--test", "grep -q Relu", "-o", path, "-q").stderr == "", "not quiet")
    expect(len(onnx.load(path).graph.node) == 1, "OUT may be IN")


def files_in(folder):
    return {
        str(p.relative_to(folder)): (p.read_bytes(), p.stat().st_mode)
        for p in folder.rglob("*")
        if p.is_file()
    }


def with_data(folder, location, name="in.onnx"):
    """The path of a model with its weights in a file of this place."""
    made = model()
    (folder / location).parent.mkdir(parents=True, exist_ok=True)
    onnx.external_data_helper.convert_model_to_external_data(made, location=str(location), size_threshold=0)
    onnx.save(made, folder / name)
    return folder / name


# What a command may do to its model and to what stands beside it; the status is that of a model with a Relu.
HARM = {
    "removes it": "grep -q Relu {}; s=$?; rm {}; exit $s",
    "empties it": "grep -q Relu {}; s=$?; : > {}; exit $s",
    "writes into it": "grep -q Relu {}; s=$?; printf overwritten | dd of={} conv=notrunc; exit $s",
    "appends to it": "grep -q Relu {}; s=$?; echo more >> {}; exit $s",
    "takes its rights": "grep -q Relu {}; s=$?; chmod 0 {}; exit $s",
    "makes a folder of it": "grep -q Relu {}; s=$?; rm {}; mkdir {}; touch {}/x; exit $s",
    "removes its folder's files": 'grep -q Relu {}; s=$?; d=$(dirname {}); rm -r "$d"/*; exit $s',
    "writes into its neighbours": "grep -q Relu {}; s=$?; "
    'for f in "$(dirname {})"/*; do echo x > "$f"; done; exit $s',
}


def test_command_gets_copies(tool, folder):
    """Whatever the command does, the user's files stay, and the result is that of a harmless command."""
    place, own = folder / "tmp", folder / "own"
    place.mkdir()
    own.mkdir()
    (own / "beside").write_bytes(b"of the user")
    plain, data, deep = saved(own), with_data(own, "weights", "a.onnx"), with_data(own, "d/e/w.bin", "b.onnx")
    text = own / "c.onnxtxt"
    text.write_text(onnx.printer.to_text(model()))
    for path in (plain, data, deep, text):
        path.chmod(0o444)
    before = files_in(own)
    for what, command in HARM.items():
        for path in (plain, data, deep, text):
            out = folder / "out.onnx"
            done = tool("reduce", path, "--test", command, "-o", out, env={"TMPDIR": str(place)})
            expect(done.returncode == 0, what, path, done.stderr)
            expect([n.op_type for n in onnx.load(out).graph.node] == ["Relu"], what, path)
            expect(files_in(own) == before, what, path, "changed a file of the user")
            expect(os.listdir(place) == [], what, path, "left behind:", os.listdir(place))
            out.unlink()
    done = tool("reduce", "-", "--test", HARM["removes it"], "-o", "-", stdin=plain.read_bytes())
    expect(done.returncode == 0 and len(onnx.load_from_string(done.stdout).graph.node) == 1, done.stderr)


def test_copies_are_whole(tool, folder):
    """The command sees the bytes of the file under its name, and runs it with its weights, wherever they
    are."""
    own, far = folder / "own", folder / "far"
    for f in (own, far):
        f.mkdir()
    run = f'{sys.executable} -c "import onnx, sys; onnx.load(sys.argv[1])"'
    cases = [
        (saved(own, name="it's.onnx"), []),
        (with_data(own, "weights"), []),
        (with_data(own, "d/e/w.bin", "deep.onnx"), []),
        (with_data(own, "x.bin", "root.onnx"), ["--external-root", far]),
        (moved(with_data(own, "abs.bin", "absolute.onnx"), far / "abs.bin"), ["--external-root", far]),
        (moved(with_data(own, "up.bin", "up.onnx"), "../far/up.bin"), ["--external-root", far]),
    ]
    for name in ("x.bin", "abs.bin", "up.bin"):
        (own / name).rename(far / name)
    for number, (path, words) in enumerate(cases):
        seen = folder / f"seen{number}"
        test = f"test -e {seen} || {{ cp {{}} {seen} && {run} {{}} || exit 9; }}; grep -q Relu {{}}"
        done = tool("reduce", path, "--test", test, "-o", folder / "out.onnx", *words)
        expect(done.returncode == 0, path, done.stderr)
        expect([n.op_type for n in onnx.load(folder / "out.onnx").graph.node] == ["Relu"], path)
        if number < 4:
            expect(seen.read_bytes() == path.read_bytes(), path, "other bytes")


def moved(path, location):
    """The model, which looks for its weights at another place."""
    made = onnx.load(path, load_external_data=False)
    for t in made.graph.initializer:
        for e in t.external_data:
            e.value = str(location) if e.key == "location" else e.value
    path.write_bytes(made.SerializeToString())
    return path


def test_nothing_is_needed(tool, folder):
    done = tool("reduce", saved(folder), "--test", "true", "-o", folder / "out.onnx")
    expect(done.returncode == 0 and "-> 0" in done.stderr, done.stderr)


def test_invalid_original(tool, folder):
    """A model that onnx's checker refuses is reduced all the same."""
    made = model()
    made.graph.node[-1].attribute.append(helper.make_attribute("never_heard_of", 1))
    path, out = saved(folder, made), folder / "out.onnx"
    done = tool("reduce", path, "--test", "grep -q never_heard_of", "-o", out)
    small = onnx.load(out)
    expect(done.returncode == 0 and len(small.graph.node) == 1, done.stderr, small)


def test_hang(tool, folder):
    """A hang is a status of its own; what the test started ends with it."""
    path, out = saved(folder), folder / "out.onnx"
    done = tool("reduce", path, "--test", "! grep -q Relu {} || sleep 1000", "--timeout", "0.3", "-o", out)
    expect(done.returncode == 0 and "a hang" in done.stderr, done.stderr)
    expect([n.op_type for n in onnx.load(out).graph.node] == ["Relu"], done.stderr)


def test_limit(tool, folder):
    """The smallest model so far is written when the time is over, and after an interrupt."""
    path, out, runs = saved(folder, long_model(400)), folder / "out.onnx", folder / "runs"
    test = f"echo >> {runs}; sleep 0.3; grep -q Tanh {{}} && test $(wc -c < {{}}) -gt 3000"
    done = tool("reduce", path, "--test", test, "-o", out, "--seconds", "4")
    expect(done.returncode == 0 and "stopped early" in done.stderr, done.stderr)
    onnx.checker.check_model(onnx.load(out), full_check=True)
    out.unlink()
    runs.write_bytes(b"")
    place = folder / "tmp"
    place.mkdir()
    run = subprocess.Popen(
        [tool.binary, "reduce", path, "--test", test, "-o", out],
        stderr=subprocess.PIPE,
        env={**os.environ, "TMPDIR": str(place)},
    )
    while runs.stat().st_size < 8:  # two on the whole model, and by then something is gone
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    expect(run.returncode == -signal.SIGINT, run.returncode)
    expect(len(onnx.load(out).graph.node) < 400 and os.listdir(place) == [], "nothing was written")


def test_errors(tool, folder):
    path, out = saved(folder), folder / "out.onnx"
    run = ["reduce", path, "-o", out, "--test"]
    refused(tool("reduce"), USAGE, "no model is named")
    refused(tool("reduce", path, "-o", out), USAGE, "no test is given")
    refused(tool(*run, " "), USAGE, "no test is given")
    refused(tool("reduce", path, "--test", "true"), USAGE, "no output is named")
    refused(tool(*run, "no_such_command_anywhere"), USAGE, "status 127", "run it by hand")
    refused(tool(*run, "true", "--timeout", "soon"), USAGE, "'soon' is not a time")
    refused(tool(*run, "true", "--sekonds", "1"), USAGE, "did you mean '--seconds'")
    refused(tool("redcue", path, "--test", "true"), USAGE)
    refused(tool("reduce", folder / "none.onnx", "-o", out, "--test", "true"), INPUT, "none.onnx")
    refused(
        tool("reduce", saved(folder, b"\x08", "bad.onnx"), "-o", out, "--test", "true"), INPUT, "bad.onnx"
    )
    refused(tool("reduce", path, "-o", folder / "no" / "out.onnx", "--test", "true"), OUTPUT, "no/out.onnx")
    refused(tool(*run, "true", env={"TMPDIR": "/proc"}), OUTPUT, "TMPDIR")
    refused(tool(*run, "sleep 1; true", "--seconds", "0.2"), LIMIT, "--seconds")
    # A test that is never the same twice, and one that the bytes of the file decide.
    count = folder / "count"
    refused(tool(*run, f"echo >> {count}; exit $(wc -l < {count})"), CHECK, "status 1, then status 2")
    text = saved(folder, onnx.printer.to_text(model()).encode(), "m.onnxtxt")
    run[1] = text
    refused(tool(*run, "grep -q ir_version"), CHECK, "status 0 on the file, but status 1")
    expect(not out.exists(), "something was written")


def test_help(tool, folder):
    text = tool("reduce", "--help").stdout.decode()
    expect(text.startswith("Usage: graphopt reduce IN --test CMD -o OUT"), text)
    for line in text.splitlines():
        expect(len(line) <= 100, "too long:", line)
    for name in ("--test", "--timeout", "--seconds", "--output"):
        expect(name in text, name)


if __name__ == "__main__":
    sys.exit(main(globals()))
