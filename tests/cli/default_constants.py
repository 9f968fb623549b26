"""--constant-defaults: inputs with a default leave the interface, and what they alone decide is folded."""

import sys

import numpy as np
import onnx
from onnx import ModelProto, helper, numpy_helper

from _models import F, finish, info
from _tool import expect, kept, main, saved
from check_runs import library


def weights_as_inputs(ir=3, opset=8, weights=4, plain=0):
    """y = x + (-w0) + (-w1) ..., where `plain` further weights are no inputs."""
    names = [f"w{i}" for i in range(weights + plain)]
    nodes, last = [], "x"
    for i, w in enumerate(names):
        nodes += [
            helper.make_node("Neg", [w], [f"n{i}"]),
            helper.make_node("Add", [last, f"n{i}"], [f"s{i}"]),
        ]
        last = f"s{i}"
    nodes.append(helper.make_node("Relu", [last], ["y"]))
    tensors = [numpy_helper.from_array(np.full(3, i + 1, np.float32), w) for i, w in enumerate(names)]
    inputs = [info("w0", (3,)), info("x"), *(info(w, (3,)) for w in names[1:weights])]
    return finish(nodes, inputs, [info("y")], tensors, ir=ir, opset=opset)


def names(values):
    return [v.name for v in values]


def test_old_model(tool, folder):
    path, out = saved(folder, weights_as_inputs()), folder / "out.onnx"
    done = tool(path, "-o", out)
    expect(done.returncode == 0, done.stderr)
    expect(done.stderr.count("--constant-defaults") == 1, done.stderr)
    expect("4 initializers are also inputs" in done.stderr, done.stderr)
    expect(sum(n.op_type == "Neg" for n in onnx.load(out).graph.node) == 4, "folded what may be fed")

    done = tool(path, "-o", out, "--constant-defaults", "--check", "--ort", library())
    expect(done.returncode == 0, done.stderr)
    expect("IR version from 3 to 4" in done.stderr and "also inputs" not in done.stderr, done.stderr)
    m = onnx.load(out)
    onnx.checker.check_model(m, full_check=True)
    expect(m.ir_version == 4 and names(m.graph.input) == ["x"], m.ir_version, m.graph.input)
    expect(all(n.op_type != "Neg" for n in m.graph.node), m.graph.node)
    again = folder / "again.onnx"
    done = tool(out, "-o", again, "--constant-defaults")
    expect(done.returncode == 0 and done.stderr.count("warning") == 0, done.stderr)
    expect(again.read_bytes() == out.read_bytes(), "the second run differs")


def test_nothing_else_changes(tool, folder):
    """-O0: inputs and the version alone."""
    m = weights_as_inputs()
    data = kept(tool, saved(folder, m), folder / "out.onnx", "--constant-defaults")
    wanted = ModelProto.FromString(m.SerializeToString())
    wanted.ir_version = 4
    del wanted.graph.input[:]
    wanted.graph.input.append(info("x"))
    expect(ModelProto.FromString(data) == wanted, ModelProto.FromString(data))


def test_newer_model(tool, folder):
    out = folder / "out.onnx"
    m = weights_as_inputs(ir=8, opset=15)
    done = tool(saved(folder, m), "-o", out, "--constant-defaults", "--check", "--ort", library())
    expect(done.returncode == 0 and "IR version" not in done.stderr, done.stderr)
    expect(onnx.load(out).ir_version == 8 and names(onnx.load(out).graph.input) == ["x"], "inputs")


def test_hint(tool, folder):
    """It is for models in which it matters: many defaults, not one that is meant."""
    for more, told in [
        ({"weights": 4}, True),
        ({"weights": 4, "plain": 5}, False),
        ({"weights": 3}, False),
        ({"weights": 0, "plain": 4}, False),
    ]:
        path = saved(folder, weights_as_inputs(ir=8, opset=15, **more))
        done = tool(path)
        expect(done.returncode == 0 and ("--constant-defaults" in done.stderr) == told, more, done.stderr)
        expect("--constant-defaults" not in tool(path, "-O0").stderr, "nothing is folded at -O0")


def test_only_the_main_graph_and_unused_ones(tool, folder):
    """A default that nothing reads, one that is an output, a body with an initializer of its own."""
    one = numpy_helper.from_array(np.ones(3, np.float32), "one")
    body = helper.make_graph([helper.make_node("Add", ["x", "one"], ["t"])], "b", [], [info("t")], [one])
    w, k = (numpy_helper.from_array(np.ones(3, np.float32), n) for n in ("w", "k"))
    m = finish(
        [helper.make_node("If", ["c"], ["y"], then_branch=body, else_branch=body)],
        [info("c", (), onnx.TensorProto.BOOL), info("x"), info("w", (3,)), info("k", (3,), F)],
        [info("y"), info("k", (3,))],
        [w, k],
    )
    data = kept(tool, saved(folder, m), folder / "out.onnx", "--constant-defaults")
    now = ModelProto.FromString(data)
    expect(names(now.graph.input) == ["c", "x"] and names(now.graph.initializer) == ["w", "k"], now)
    expect(now.graph.node == m.graph.node and now.graph.output == m.graph.output, "more has changed")


if __name__ == "__main__":
    sys.exit(main(globals()))
