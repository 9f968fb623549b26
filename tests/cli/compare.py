"""graphopt compare A B: figures of two files, and whether their results agree."""

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _tool import CHECK, INPUT, NOT_CHECKED, USAGE, expect, main, model, refused, saved
from check_runs import library, normalized

NOWHERE = {"GRAPHOPT_ORT": "/nonexistent"}


def changed(m, name, value):
    out = type(m)()
    out.CopyFrom(m)
    (w,) = [w for w in out.graph.initializer if w.name == name]
    w.CopyFrom(numpy_helper.from_array(value, name))
    return out


def test_a_model_and_its_optimized_form(tool, folder):
    path = saved(folder, normalized(), "a.onnx")
    expect(tool(path, "-q", "-o", folder / "b.onnx").returncode == 0)
    done = tool("compare", path, folder / "b.onnx", "--ort", library())
    expect(done.returncode == 0, done.stderr)
    text = done.stdout.decode()
    expect("check: same" in text and "BatchNormalization" in text, text)
    rows = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line.startswith("  ")}
    expect(rows["nodes"] == ["2", "1", "-1"], rows)
    done = tool("compare", path, folder / "b.onnx", "--ort", library(), "--check-tolerance", "0")
    expect(done.returncode == CHECK and "check: different" in done.stdout.decode(), done)


def test_models_that_differ(tool, folder):
    a = saved(folder, model(), "a.onnx")
    b = saved(folder, changed(model(), "w", np.array([0, 1, 2.1], np.float32)), "b.onnx")
    done = tool("compare", a, b, "--ort", library(), "--check=2")
    expect(done.returncode == CHECK, done.stderr)
    expect("check: different, " in done.stdout.decode(), done.stdout)
    expect("graphopt: output 'y' differs by" in done.stdout.decode(), done.stdout)
    # It computes the same where it runs, which is not on every size that the first one takes.
    one = saved(folder, model(batch=1), "one.onnx")
    done = tool("compare", a, one, "--ort", library())
    expect(done.returncode == CHECK and b"the second model fails to run (batch=" in done.stdout, done)
    # A second model that does not load has no line in the table: it is said.
    c = saved(folder, changed(model(), "w", np.zeros((2, 7), np.float32)), "c.onnx")
    done = tool("compare", a, c, "--ort", library())
    expect(done.returncode == CHECK and "c.onnx: " in done.stderr, done.returncode, done.stderr)
    expect("the second model fails to run" in done.stderr or "but not the second" in done.stderr, done.stderr)
    # What ONNX Runtime says of an input that is not fed names a function in its sources, with a template.
    other = helper.make_tensor_value_info("other", TensorProto.FLOAT, ["n"])
    shown = helper.make_tensor_value_info("y", TensorProto.INT64, [1])
    graph = helper.make_graph([helper.make_node("Shape", ["other"], ["y"])], "g", [other], [shown])
    m = helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 20)])
    done = tool("compare", a, saved(folder, m, "d.onnx"), "--ort", library())
    expect(done.returncode == CHECK and "Missing Input: other" in done.stderr, done.stderr)
    text = done.stdout.decode()
    expect(f"the input 'other' is only in {folder / 'd.onnx'}" in text, text)
    expect(f"the input 'x' is only in {folder / 'a.onnx'}" in text, text)
    expect("onnxruntime::" not in done.stderr, done.stderr)


def test_without_a_runtime(tool, folder):
    a = saved(folder, model(), "a.onnx")
    b = saved(folder, changed(model(), "w", np.ones(3, np.float32)), "b.onnx")
    for words, env in [(["--ort", "/nonexistent"], {})]:
        refused(tool("compare", a, b, *words, env=env), NOT_CHECKED, "ONNX Runtime cannot be opened")
    done = tool("compare", a, b, env=NOWHERE)
    expect(done.returncode == 0 and b"results are not compared" in done.stdout, done)
    done = tool("compare", a, b, "--figures-only", env=NOWHERE)
    expect(done.returncode == 0 and b"not compared" not in done.stdout, done)
    strange = helper.make_node("Mystery", ["x"], ["y"], domain="custom")
    value = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n"]) for n in "xy"]
    m = helper.make_model(
        helper.make_graph([strange], "g", value[:1], value[1:]),
        ir_version=9,
        opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("custom", 1)],
    )
    refused(tool("compare", saved(folder, m, "m.onnx"), a, "--ort", library()), NOT_CHECKED, "Mystery")


def test_wrong_words(tool, folder):
    a = saved(folder, model(), "a.onnx")
    refused(tool("compare"), USAGE, "two models are wanted", "graphopt compare A B")
    refused(tool("compare", a), USAGE, "two models are wanted")
    refused(tool("compare", a, a, a), USAGE)
    refused(tool("compare", "-", "-"), USAGE, "both models are stdin")
    refused(tool("compare", a, a, "--check=0"), USAGE, "'0'")
    refused(tool("compare", a, folder / "none.onnx"), INPUT, "none.onnx", "no such file")
    text = tool("compare", "--help").stdout.decode()
    expect(text.startswith("Usage: graphopt compare A B") and "--figures-only" in text, text)


def test_standard_input(tool, folder):
    m = model()
    a = saved(folder, m, "a.onnx")
    done = tool("compare", "-", a, "--ort", library(), stdin=m.SerializeToString())
    expect(done.returncode == 0 and b"check: same" in done.stdout, done)
    expect(onnx.load(a) == m, "a file was changed")


if __name__ == "__main__":
    sys.exit(main(globals()))
