"""--check on models that need legal inputs, and its message where it cannot run: nothing is written then,
status 6; what is left of a model that differs: status 3.

That it sees a wrong weight, operand, branch or size is tested in tests/unit/runtime_check_test.cpp, where two
models can be compared; here both sides come from the tool itself, which is right."""

import json
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _tool import CHECK, NOT_CHECKED, USAGE, expect, main, model, refused


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
        expect(done.returncode == NOT_CHECKED, words, env, done.returncode, done.stderr)
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


def test_the_runtime_of_a_python_environment(tool, folder):
    """The package's folder may be named; else active environments are searched, and that of python3."""
    path = folder / "m.onnx"
    onnx.save(model(), path)
    package = library().parents[1]
    packages = folder / "env" / "lib" / "python3.99" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "onnxruntime").symlink_to(package)
    (folder / "env" / "bin").mkdir()
    (folder / "env" / "bin" / "python3").touch()
    nowhere = {"GRAPHOPT_CACHE": str(folder), "HOME": str(folder), "PATH": "/nonexistent", "GRAPHOPT_ORT": ""}
    nowhere |= {"VIRTUAL_ENV": "", "CONDA_PREFIX": "", "LD_LIBRARY_PATH": ""}
    done = tool(path, "--check", env=nowhere)
    if done.returncode == 0:
        print("the system has a runtime of its own: the search is not tested")
        return
    expect(done.returncode == NOT_CHECKED and "ONNX Runtime was not found" in done.stderr, done.stderr)
    env = str(folder / "env")
    for words, more in [
        (["--ort", package], {}),
        ([], {"VIRTUAL_ENV": env}),
        ([], {"CONDA_PREFIX": env}),
        ([], {"PATH": f"relative::/nonexistent:{env}/bin"}),
    ]:
        done = tool(path, "--check", *words, env=nowhere | more)
        expect(done.returncode == 0, words, more, done.stderr)


def normalized():
    """A Conv and a BatchNormalization, which folding rounds."""
    rng = np.random.default_rng(7)
    names = ("scale", "bias", "mean", "var")
    weights = [numpy_helper.from_array(rng.uniform(0.5, 2, 4).astype(np.float32), n) for n in names]
    weights.append(numpy_helper.from_array(rng.standard_normal((4, 3, 3, 3)).astype(np.float32), "w"))
    return make(
        [
            helper.make_node("Conv", ["x", "w"], ["c"]),
            helper.make_node("BatchNormalization", ["c", *names], ["y"]),
        ],
        [info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [info("y", TensorProto.FLOAT, [1, 4, 6, 6])],
        weights,
    )


def test_what_a_failed_check_leaves(tool, folder):
    """The report with the differences, and with --keep-bad the model itself; OUT is not written."""
    report, bad = folder / "report.json", folder / "bad.onnx"
    words = ("--check", "--check-tolerance", "0", "--report", report)
    done, out = run(tool, folder, normalized(), *words)
    expect(done.returncode == CHECK and not out.exists() and not bad.exists(), done.stderr)
    said = json.loads(report.read_text())
    expect(said["check"]["verdict"] == "different" and said["check"]["runs"] > 0, said["check"])
    expect([o["ok"] for o in said["check"]["outputs"]] == [False], said["check"])
    expect(said["errors"][0]["status"] == CHECK and "differs by" in said["errors"][0]["what"], said["errors"])
    done, out = run(tool, folder, normalized(), *words, "--keep-bad", bad)
    expect(done.returncode == CHECK and not out.exists(), done.stderr)
    expect(str(bad) in done.stderr, done.stderr)
    expect([n.op_type for n in onnx.load(bad).graph.node] == ["Conv"], "not the optimized model")
    # Of a right model nothing is kept, and its report has no errors.
    bad.unlink()
    done, out = run(tool, folder, normalized(), "--check", "--report", report, "--keep-bad", bad)
    expect(done.returncode == 0 and out.exists() and not bad.exists(), done.stderr)
    expect(json.loads(report.read_text())["errors"] == [], report.read_text())


def test_options_of_a_check_want_one(tool, folder):
    onnx.save(model(), folder / "m.onnx")
    for words in (["--check-tolerance", "0.1"], ["--keep-bad", folder / "bad.onnx"]):
        refused(tool(folder / "m.onnx", *words), USAGE, words[0], "no check was asked for", "add --check")


def test_the_report_of_a_check_that_could_not_run(tool, folder):
    report = folder / "report.json"
    done, _ = run(tool, folder, model(), "--check", "--report", report, "--ort", "/nonexistent")
    expect(done.returncode == NOT_CHECKED, done.stderr)
    said = json.loads(report.read_text())
    expect(said["check"]["verdict"] == "not checked", said["check"])
    expect(said["errors"][0]["status"] == NOT_CHECKED and said["errors"][0]["remedy"], said["errors"])


def test_messages_of_the_runtime_name_no_place_in_its_sources(tool, folder):
    m = make(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        [info("x", TensorProto.FLOAT, ["n", "k"])],
        [info("y", TensorProto.FLOAT, ["n", 2])],
        [numpy_helper.from_array(np.zeros((5, 2), np.float32), "w")],
    )
    m.opset_import[0].version = 99
    done, _ = run(tool, folder, m, "--check")
    expect(done.returncode == NOT_CHECKED, done.stderr)
    expect("onnxruntime_src" not in done.stderr and ".cc:" not in done.stderr, done.stderr)
    expect("opset" in done.stderr, done.stderr)


def test_an_operator_that_the_runtime_lacks(tool, folder):
    m = make(
        [helper.make_node("Mystery", ["x"], ["y"], domain="custom")],
        [info("x", TensorProto.FLOAT, ["n"])],
        [info("y", TensorProto.FLOAT, ["n"])],
    )
    done, out = run(tool, folder, m, "--check")
    expect(done.returncode == NOT_CHECKED, done.returncode, done.stderr)
    expect("Mystery" in done.stderr, done.stderr)
    expect(len(done.stderr.splitlines()) <= 4, "the runtime's own log came through:", done.stderr)
    expect(not out.exists(), "something was written")


def test_bisect_of_a_sound_model(tool, folder):
    done, out = run(tool, folder, model(), "--bisect")
    expect(done.returncode == 0, done.stderr)
    expect(out.exists(), "nothing was written")


if __name__ == "__main__":
    sys.exit(main(globals()))
