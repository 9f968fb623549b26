"""--inputs and --outputs: the model that is left computes what those values were in the whole one."""

import sys

import numpy as np
import onnx
from onnx import ModelProto, TensorProto, helper, numpy_helper

from _models import entry, finish, info
from _tool import OUTPUT, USAGE, dims, expect, kept, main, refused, saved
from check_runs import library

INT = TensorProto.INT64


def chain():
    """x, z -> a = x + w, b = Relu(a), c = b * z, (p, q) = Split(c), y = p - q; r = Neg(z)."""
    w = numpy_helper.from_array(np.arange(4, dtype=np.float32), "w")
    halves = numpy_helper.from_array(np.array([2, 2]), "halves")
    m = finish(
        [
            helper.make_node("Add", ["x", "w"], ["a"], "add"),
            helper.make_node("Relu", ["a"], ["b"], "relu"),
            helper.make_node("Mul", ["b", "z"], ["c"], "mul"),
            helper.make_node("Split", ["c", "halves"], ["p", "q"], "split", axis=-1),
            helper.make_node("Sub", ["p", "q"], ["y"], "sub"),
            helper.make_node("Neg", ["z"], ["r"], "neg"),
        ],
        [info("x", ("n", 4)), info("z", ("n", 4))],
        [info("y", ("n", 2)), info("r", ("n", 4))],
        [w, halves],
        domains=["unused"],
    )
    m.graph.value_info.append(info("b", ("n", 4)))
    return m


def names(values):
    return [v.name for v in values]


def cut(tool, folder, m, *words, ok=True):
    done = tool("-q", "-O0", saved(folder, m), "-o", folder / "out.onnx", *words)
    if not ok:
        expect(not (folder / "out.onnx").exists(), "wrote something")
        return done
    expect(done.returncode == 0, words, done.stderr)
    now = onnx.load(folder / "out.onnx")
    onnx.checker.check_model(now, full_check=True)
    (folder / "out.onnx").unlink()
    return now


def run(m, feed):
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(m.SerializeToString(), options).run(None, feed)


def test_outputs(tool, folder):
    m = chain()
    now = cut(tool, folder, m, "--outputs", "b,a")
    expect(names(now.graph.output) == ["b", "a"] and names(now.graph.input) == ["x"], now)
    expect(names(now.graph.node) == ["add", "relu"] and names(now.graph.initializer) == ["w"], now)
    expect([dims(v) for v in now.graph.output] == [["n", 4], ["n", 4]], now.graph.output)
    expect(now.opset_import == m.opset_import and now.ir_version == m.ir_version, "imports")
    x = np.random.default_rng(1).standard_normal((3, 4)).astype(np.float32)
    b, a = run(now, {"x": x})
    expect((a == x + np.arange(4, dtype=np.float32)).all() and (b == np.maximum(a, 0)).all(), a, b)
    now = cut(tool, folder, m, "--outputs", "r")
    expect(names(now.graph.input) == ["z"] and not now.graph.initializer and not now.graph.value_info, now)


def test_inputs(tool, folder):
    m = chain()
    now = cut(tool, folder, m, "--inputs", "z, b", "--outputs", "y")
    expect(names(now.graph.input) == ["z", "b"] and names(now.graph.node) == ["mul", "split", "sub"], now)
    expect([dims(v) for v in now.graph.input] == [["n", 4], ["n", 4]], now.graph.input)
    expect(names(now.graph.initializer) == ["halves"] and not now.graph.value_info, now)
    z, b = np.random.default_rng(2).standard_normal((2, 3, 4)).astype(np.float32)
    (y,) = run(now, {"z": z, "b": b})
    expect((y == (b * z)[:, :2] - (b * z)[:, 2:]).all(), y)
    now = cut(tool, folder, m, "--inputs", "b,z")  # all outputs
    expect(names(now.graph.input) == ["b", "z"] and names(now.graph.output) == ["y", "r"], now)


def test_the_node_that_makes_an_input_stays_for_others(tool, folder):
    now = cut(tool, folder, chain(), "--inputs", "p,c", "--outputs", "y")
    expect(names(now.graph.input) == ["p", "c"] and names(now.graph.node) == ["split", "sub"], now)
    expect(now.graph.node[0].output[0] not in ("", "p") and now.graph.node[0].output[1] == "q", now)
    c = np.arange(8, dtype=np.float32).reshape(2, 4)
    (y,) = run(now, {"p": np.zeros((2, 2), np.float32), "c": c})
    expect((y == -c[:, 2:]).all(), y)


def test_inputs_that_are_missing(tool, folder):
    done = cut(tool, folder, chain(), "--inputs", "b", "--outputs", "y", ok=False)
    refused(done, USAGE, "still needs input 'z'", "node 'mul' (Mul)", "name it too")
    done = cut(tool, folder, chain(), "--inputs", "b", "--outputs", "x", ok=False)
    refused(done, USAGE, "still needs input 'x'", "it is an output")


def test_names_that_do_not_fit(tool, folder):
    m = chain()
    body = helper.make_graph([helper.make_node("Neg", ["b"], ["inner"])], "body", [], [info("inner", None)])
    m.graph.input.append(info("cond", (), TensorProto.BOOL))
    m.graph.node.append(helper.make_node("If", ["cond"], ["i"], "branch", then_branch=body, else_branch=body))
    for words, parts in [
        (["--outputs", "relu_out"], ["the model has no value 'relu_out'", "values: "]),
        (["--inputs", "halve,x"], ["no value 'halve'", "did you mean 'halves'?"]),
        (["--outputs", "a,y,a"], ["--outputs names 'a' twice"]),
        (["--inputs", "x", "--inputs", "x"], ["--inputs names 'x' twice"]),
        (["--outputs", "inner"], ["'inner' is a value inside of 'main/branch.else_branch'", "main graph"]),
        (["--outputs", "a,,b"], ["has an empty name"]),
        (["--inputs", ""], ["has an empty name"]),
    ]:
        refused(cut(tool, folder, m, *words, ok=False), USAGE, *parts)


def test_names_with_commas(tool, folder):
    """A name of the model is taken whole, though commas separate names."""
    m = helper.make_model(
        helper.make_graph(
            [
                helper.make_node("Relu", ["x"], ["p,q"]),
                helper.make_node("Neg", ["p,q"], ["q"]),
                helper.make_node("Add", ["p,q", "q"], ["y"]),
            ],
            "g",
            [info("x", ("n", 4))],
            [info("y", ("n", 4))],
        ),
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    now = cut(tool, folder, m, "--inputs", "p,q,q", "--outputs", "y")
    expect(names(now.graph.input) == ["p,q", "q"] and names(now.graph.output) == ["y"], now)
    now = cut(tool, folder, m, "--outputs", "q,p,q,y")
    expect(names(now.graph.output) == ["q", "p,q", "y"], now)
    refused(cut(tool, folder, m, "--outputs", "p,x", ok=False), USAGE, "no value 'p'")


def test_captures_are_needed(tool, folder):
    """A body reads b, so what makes b stays, and no more."""
    m = chain()
    body = helper.make_graph(
        [helper.make_node("Neg", ["b"], ["inner"])], "body", [], [info("inner", ("n", 4))]
    )
    back = helper.make_graph(
        [helper.make_node("Identity", ["z"], ["same"])], "k", [], [info("same", ("n", 4))]
    )
    m.graph.input.append(info("cond", (), TensorProto.BOOL))
    m.graph.node.append(helper.make_node("If", ["cond"], ["i"], "branch", then_branch=body, else_branch=back))
    now = cut(tool, folder, m, "--outputs", "i")
    expect(names(now.graph.node) == ["add", "relu", "branch"], now)
    expect(names(now.graph.input) == ["x", "z", "cond"], now.graph.input)
    now = cut(tool, folder, m, "--outputs", "i", "--inputs", "cond,b,z")
    expect(names(now.graph.node) == ["branch"] and names(now.graph.input) == ["cond", "b", "z"], now)


def test_types_of_new_inputs(tool, folder):
    """What inference proves is stated; of an operator that it does not know, what the file says."""
    m = finish(
        [
            helper.make_node("Zap", ["x"], ["t"], domain="my"),
            helper.make_node("Shape", ["x"], ["s"]),
            helper.make_node("Reshape", ["t", "s"], ["u"]),
            helper.make_node("Neg", ["u"], ["y"]),
        ],
        [info("x", ("n", 4))],
        [info("y", ("n", 4))],
        domains=["my"],
    )
    done = cut(tool, folder, m, "--inputs", "t,s", "--outputs", "y", ok=False)
    refused(done, USAGE, "the type of 't' is known neither", "add a value_info")
    m.graph.value_info.append(info("t", (None, 4), TensorProto.FLOAT))
    now = cut(tool, folder, m, "--inputs", "t,s", "--outputs", "y")
    expect([dims(v) for v in now.graph.input] == [["", 4], [2]], now.graph.input)
    expect([v.type.tensor_type.elem_type for v in now.graph.input] == [TensorProto.FLOAT, INT], "types")
    m = chain()
    m.graph.value_info.append(info("c", ("z", 4)))  # not believed, since another name is known
    now = cut(tool, folder, m, "--inputs", "c", "--outputs", "y")
    expect(dims(now.graph.input[0]) == ["n", 4], now.graph.input)


def test_initializers(tool, folder):
    """One that is named must be fed; a default stays one, but before IR version 4 nobody can feed it."""
    m = chain()
    now = cut(tool, folder, m, "--inputs", "x,w", "--outputs", "a")
    expect(names(now.graph.input) == ["x", "w"] and not now.graph.initializer, now)
    expect(dims(now.graph.input[1]) == [4], now.graph.input)
    now = cut(tool, folder, m, "--outputs", "w")
    expect(names(now.graph.initializer) == ["w"] and not now.graph.node and not now.graph.input, now)
    m.graph.input.append(info("w", (4,)))
    for words, inputs, tensors in [
        (["--inputs", "x,w"], ["x", "w"], ["w"]),
        (["--inputs", "x"], ["x", "w"], ["w"]),
        (["--inputs", "x", "--constant-defaults"], ["x"], ["w"]),
        ([], ["x", "w"], ["w"]),
    ]:
        now = cut(tool, folder, m, *words, "--outputs", "a")
        expect((names(now.graph.input), names(now.graph.initializer)) == (inputs, tensors), words, now)
    old = finish(
        [helper.make_node("Add", ["x", "w"], ["a"])],
        [info("x"), info("w", (3,))],
        [info("a")],
        [numpy_helper.from_array(np.ones(3, np.float32), "w")],
        ir=3,
        opset=8,
    )
    now = cut(tool, folder, old, "--inputs", "w,x")
    expect(names(now.graph.input) == ["w", "x"] and not now.graph.initializer, now)
    now = cut(tool, folder, old, "--inputs", "x")
    expect(names(now.graph.input) == ["x", "w"] and names(now.graph.initializer) == ["w"], now)


def test_functions_annotations_and_unread_inputs(tool, folder):
    m = chain()
    f = helper.make_function(
        "f",
        "twice",
        ["i"],
        ["o"],
        [helper.make_node("Add", ["i", "i"], ["o"])],
        [helper.make_opsetid("", 21)],
    )
    other = helper.make_function(
        "f", "other", ["i"], ["o"], [helper.make_node("Neg", ["i"], ["o"])], [helper.make_opsetid("", 21)]
    )
    m.functions.extend([f, other])
    m.opset_import.append(helper.make_opsetid("f", 1))
    m.graph.node.append(helper.make_node("twice", ["b"], ["d"], domain="f"))
    scale = numpy_helper.from_array(np.ones(1, np.float32), "scale")
    m.graph.initializer.append(scale)
    for tensor in ("b", "c"):
        m.graph.quantization_annotation.append(
            onnx.TensorAnnotation(
                tensor_name=tensor, quant_parameter_tensor_names=[entry("SCALE_TENSOR", "scale")]
            )
        )
    now = cut(tool, folder, m, "--outputs", "d")
    expect([x.name for x in now.functions] == ["twice"], now.functions)
    expect([q.tensor_name for q in now.graph.quantization_annotation] == ["b"], now.graph)
    expect("scale" in names(now.graph.initializer), now.graph.initializer)
    done = tool("-O0", saved(folder, m), "-o", folder / "o.onnx", "--inputs", "b,z", "--outputs", "d")
    expect(done.returncode == 0 and "nothing that is left reads 'z'" in done.stderr, done.stderr)
    expect(names(onnx.load(folder / "o.onnx").graph.input) == ["b", "z"], "the named inputs")


def test_a_function_whose_call_went_later(tool, folder):
    """The branch that calls it goes in a pass, after the cut: a second run, which cuts nothing, keeps it."""
    for domain in ("com.ms.foo", "com.microsoft", "ai.onnx.foo", "foo"):
        m = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 13, "{domain}" : 1]>
            g (float[N,2] x) => (float[N,2] y) <bool c = {{1}}> {{
              y = If (c) <then_branch = t () => (float[] a) {{ a = Abs (x) }},
                          else_branch = e () => (float[] b) {{ b = {domain}.F (x) }}>
            }}
            <domain: "{domain}", opset_import: ["" : 13]> F (i) => (o) {{ o = Relu (i) }}""")
        for words in (["--inputs", "x"], ["--outputs", "y"]):
            for a, b in ((saved(folder, m), folder / "a.onnx"), (folder / "a.onnx", folder / "b.onnx")):
                done = tool("-q", a, "-o", b, *words)
                expect(done.returncode == 0, done.stderr)
            expect((folder / "a.onnx").read_bytes() == (folder / "b.onnx").read_bytes(), (domain, words))


def test_check_compares_the_cut_model(tool, folder):
    for words in (["--inputs", "b,z"], ["--outputs", "b,q"], ["--inputs", "c", "--outputs", "y,c"]):
        path, out = saved(folder, chain()), folder / "out.onnx"
        for source in (path, "-"):
            done = tool(
                source,
                "-o",
                out,
                "--check=2",
                "--bisect",
                "--ort",
                library(),
                *words,
                stdin=path.read_bytes(),
            )
            expect(done.returncode == 0, words, done.stderr)
            onnx.checker.check_model(onnx.load(out), full_check=True)
    done = tool(path, "--check", "--ort", library(), "--outputs", "b", "--shape", "x=5,4")
    expect(done.returncode == 0, done.stderr)
    refused(tool(path, "--outputs", "b", "--shape", "z=5,4"), USAGE, "no input 'z'")


def test_external_data(tool, folder):
    m = chain()
    (folder / "data").mkdir()
    path = folder / "data" / "m.onnx"
    onnx.save_model(m, path, save_as_external_data=True, location="w.bin", size_threshold=0)
    plain = ModelProto.FromString(cut(tool, folder, chain(), "--outputs", "a").SerializeToString())
    kept(tool, path, folder / "data" / "out.onnx", "--outputs", "a")
    raw = ModelProto.FromString((folder / "data" / "out.onnx").read_bytes())
    expect(raw.graph.initializer[0].data_location == TensorProto.EXTERNAL, "stays where it is")
    expect(
        onnx.load(folder / "data" / "out.onnx").graph.initializer[0].raw_data
        == plain.graph.initializer[0].raw_data,
        "weights",
    )
    (folder / "m.onnx").write_bytes(path.read_bytes())
    kept(tool, folder / "m.onnx", folder / "o.onnx", "--outputs", "a", "--external-root", folder / "data")
    expect(
        onnx.load(folder / "o.onnx").graph.initializer[0].raw_data == plain.graph.initializer[0].raw_data,
        "weights from another folder",
    )


def test_files_of_what_is_cut_off(tool, folder):
    """Data files of the whole model are written to by no one: it is still there."""
    m = chain()
    m.graph.initializer.append(numpy_helper.from_array(np.ones((9, 4), np.float32), "late"))
    m.graph.node.append(helper.make_node("MatMul", ["late", "turned"], ["s"], "late"))
    m.graph.node.append(helper.make_node("Transpose", ["z"], ["turned"], "turn", perm=[1, 0]))
    m.graph.node.sort(key=lambda n: n.name == "late")
    m.graph.output.append(info("s", (9, "n")))
    path = folder / "m.onnx"
    onnx.save_model(m, path, save_as_external_data=True, location="late.bin", size_threshold=100)
    data = (folder / "late.bin").read_bytes()
    for words in (["-o", folder / "late.bin"], ["-o", folder / "o.onnx", "--external-file", "late.bin"]):
        for more in ([], ["--check", "--ort", library()]):
            done = tool(path, "--outputs", "y", *words, *more)
            refused(done, OUTPUT, "late.bin")
            expect((folder / "late.bin").read_bytes() == data, words)


if __name__ == "__main__":
    sys.exit(main(globals()))
