"""--check on models that need legal inputs, and its message where it cannot run: nothing is written then,
status 3.

That it sees a wrong weight, operand, branch or size is tested in tests/unit/runtime_check_test.cpp, where two
models can be compared; here both sides come from the tool itself, which is right."""

import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _tool import CHECK, expect, main, model


def info(name, kind, dims):
    return helper.make_tensor_value_info(name, kind, dims)


def make(nodes, inputs, outputs, initializers=(), **more):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    return helper.make_model(
        graph,
        ir_version=9,
        opset_imports=[helper.make_opsetid("", 20), helper.make_opsetid("custom", 1)],
        **more,
    )


def library():
    import onnxruntime

    found = sorted((pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so*"))
    expect(found, "no libonnxruntime in the tests' Python")
    return found[-1]


def embedding():
    """Ids shifted by 2 into a table of 6 rows, a mask, a length: random numbers would be refused."""
    table = numpy_helper.from_array(np.arange(12, dtype=np.float32).reshape(6, 2), "table")
    two = numpy_helper.from_array(np.array(2, np.int64), "two")
    return make(
        [
            helper.make_node("Add", ["ids", "two"], ["shifted"]),
            helper.make_node("Gather", ["table", "shifted"], ["rows"]),
            helper.make_node("Identity", ["rows"], ["y"]),
        ],
        [info("ids", TensorProto.INT64, ["batch", "seq"])],
        [info("y", TensorProto.FLOAT, ["batch", "seq", 2])],
        [table, two],
    )


def branches():
    def body(op, out):
        return helper.make_graph(
            [helper.make_node("Identity", ["x"], [out + "_in"]), helper.make_node(op, [out + "_in"], [out])],
            out,
            [],
            [info(out, TensorProto.FLOAT, ["n"])],
        )

    return make(
        [helper.make_node("If", ["c"], ["y"], then_branch=body("Neg", "t"), else_branch=body("Abs", "e"))],
        [info("c", TensorProto.BOOL, []), info("x", TensorProto.FLOAT, ["n"])],
        [info("y", TensorProto.FLOAT, ["n"])],
    )


def overridable():
    w = numpy_helper.from_array(np.array([1, -2], np.float32), "w")
    return make(
        [helper.make_node("Neg", ["w"], ["v"]), helper.make_node("Mul", ["x", "v"], ["y"])],
        [info("x", TensorProto.FLOAT, ["n", 2]), info("w", TensorProto.FLOAT, [2])],
        [info("y", TensorProto.FLOAT, ["n", 2])],
        [w],
    )


def run(tool, folder, m, *words, name="m.onnx", **more):
    path, out = folder / name, folder / ("out_" + name)
    onnx.save(m, path)
    done = tool(path, "-o", out, "--force", "--ort", library(), *words, **more)
    return done, out


def test_models_that_need_legal_inputs(tool, folder):
    for number, m in enumerate([model(), embedding(), branches(), overridable()]):
        done, out = run(tool, folder, m, "--check", name=f"m{number}.onnx")
        expect(done.returncode == 0, number, done.stderr)
        expect(out.exists(), "nothing was written")


def test_several_seeds_and_a_tolerance(tool, folder):
    done, _ = run(tool, folder, model(), "--check=3", "--check-tolerance", "1e-6")
    expect(done.returncode == 0, done.stderr)


def test_external_data_is_found(tool, folder):
    m = make(
        [helper.make_node("Identity", ["x"], ["i"]), helper.make_node("MatMul", ["i", "w"], ["y"])],
        [info("x", TensorProto.FLOAT, ["n", 64])],
        [info("y", TensorProto.FLOAT, ["n", 64])],
        [numpy_helper.from_array(np.random.default_rng(1).standard_normal((64, 64)).astype(np.float32), "w")],
    )
    path = folder / "m.onnx"
    onnx.save(m, path, save_as_external_data=True, location="m.data", size_threshold=0)
    for more in ([], ["--external-data", "always"]):
        done = tool(path, "-o", folder / "out.onnx", "--force", "--check", "--ort", library(), *more)
        expect(done.returncode == 0, more, done.stderr)


def test_text_and_standard_input(tool, folder):
    text = """<ir_version: 9, opset_import: ["": 20]>
        g (float[n] x) => (float[n] y) { i = Identity(x) y = Neg(i) }"""
    done = tool("-", "-o", folder / "out.onnx", "--check", "--ort", library(), stdin=text.encode())
    expect(done.returncode == 0, done.stderr)
    done = tool(
        "-", "-o", folder / "out2.onnx", "--check", "--ort", library(), stdin=embedding().SerializeToString()
    )
    expect(done.returncode == 0, done.stderr)


def test_without_a_runtime(tool, folder):
    path, out = folder / "m.onnx", folder / "out.onnx"
    onnx.save(model(), path)
    out.write_bytes(b"as it was")
    for words, env in [
        (["--ort", "/nonexistent"], {}),
        ([], {"GRAPHOPT_ORT": "/nonexistent"}),
        (["--ort", folder], {}),
        (["--ort", path], {}),
    ]:
        done = tool(path, "-o", out, "--force", "--check", *words, env=env)
        expect(done.returncode == CHECK, words, env, done.returncode, done.stderr)
        expect("ONNX Runtime" in done.stderr and "\n  help: " in done.stderr, done.stderr)
        expect("--ort" in done.stderr and "GRAPHOPT_ORT" in done.stderr, "no way out is named:", done.stderr)
        expect(out.read_bytes() == b"as it was", "something was written")
        expect(
            sorted(p.name for p in folder.iterdir()) == ["m.onnx", "out.onnx"], "something was left behind"
        )
    # --ort goes before the environment, a folder with the library is enough, and without --check nothing is
    # needed.
    for words in (["--check", "--ort", library()], ["--check", "--ort", library().parent], []):
        done = tool(path, "-o", out, "--force", *words, env={"GRAPHOPT_ORT": "/nonexistent"})
        expect(done.returncode == 0, words, done.stderr)


def test_the_environment_names_the_runtime(tool, folder):
    path = folder / "m.onnx"
    onnx.save(model(), path)
    done = tool(path, "-o", folder / "out.onnx", "--check", env={"GRAPHOPT_ORT": str(library())})
    expect(done.returncode == 0, done.stderr)


def test_an_operator_that_the_runtime_lacks(tool, folder):
    m = make(
        [helper.make_node("Mystery", ["x"], ["y"], domain="custom")],
        [info("x", TensorProto.FLOAT, ["n"])],
        [info("y", TensorProto.FLOAT, ["n"])],
    )
    done, out = run(tool, folder, m, "--check")
    expect(done.returncode == CHECK, done.returncode, done.stderr)
    expect("Mystery" in done.stderr, done.stderr)
    expect(len(done.stderr.splitlines()) <= 4, "the runtime's own log came through:", done.stderr)
    expect(not out.exists(), "something was written")


def test_bisect_of_a_sound_model(tool, folder):
    done, out = run(tool, folder, model(), "--bisect")
    expect(done.returncode == 0, done.stderr)
    expect(out.exists(), "nothing was written")


if __name__ == "__main__":
    sys.exit(main(globals()))
