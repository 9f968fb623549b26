#!/usr/bin/env python3
"""--emit triton: the model repository, by Triton's own schema, and what an ensemble cannot say."""

import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime as ort
from _exports import FIG8, HEAD, emit, model_of, profile, sha256
from _tool import INPUT, OUTPUT, USAGE, expect, main, refused
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.triton import PB, Repository  # noqa: E402

FEEDS = {"x": np.array([[1, -2, 3, 4]], np.float32), "z": np.ones((1, 4), np.float32)}


def deployed(folder, feeds):
    """The repository, in which nothing is wrong; its ensemble gives what OUT gives."""
    repository = Repository(folder / "m.triton")
    expect(not repository.problems and not repository.open_dims, repository.problems, repository.open_dims)
    session = ort.InferenceSession(folder / "m.onnx", providers=["CPUExecutionProvider"])
    names = [p.name for p in repository.ensemble.output]
    expect(names == [v.name for v in session.get_outputs()], names)
    got = repository.run(feeds)
    for name, wanted in zip(names, session.run(None, feeds), strict=True):
        wanted = np.asarray(wanted)
        expect(np.array_equal(got[name].reshape(wanted.shape), wanted), name, got[name], wanted)
    return repository


def kinds(repository):
    name = PB.ModelInstanceGroup.Kind.Name
    return {n: name(c.instance_group[0].kind) for n, c in repository.configs.items() if c.instance_group}


def test_repository(tool, folder):
    gpu = profile(folder, "Relu", "Add", "Mul", "Sigmoid", name="gpu", kind="gpu")
    done = emit(tool, folder, "triton", devices=gpu)
    expect("warning" not in done.stderr, done.stderr)
    repository = deployed(folder, FEEDS)
    manifest = json.loads((folder / "m.manifest.json").read_text())
    of = {s["id"]: s["device"] for s in manifest["subgraphs"]}
    wanted = {s: "KIND_GPU" if d == "gpu" else "KIND_CPU" for s, d in of.items()}
    expect(kinds(repository) == wanted and set(wanted.values()) == {"KIND_GPU", "KIND_CPU"}, wanted)
    steps = [s.model_name for s in repository.ensemble.ensemble_scheduling.step]
    expect(steps == manifest["partition"]["order"], steps)
    expect([list(p.dims) for p in repository.ensemble.input] == [[-1, 4]] * 2, repository.ensemble)
    marker = json.loads((folder / "m.triton/graphopt.json").read_text())
    told = {"path": "../m.manifest.json", "sha256": sha256(folder / "m.manifest.json")}
    expect(marker["manifest"] == told and marker["form"] == "triton", marker)
    for path in folder.glob("m.triton/*/1/model.onnx"):
        onnx.checker.check_model(path, full_check=True)
    files = lambda: {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    before = files()
    emit(tool, folder, "triton", devices=gpu)
    expect(before == files(), "a second run differs")


def test_other_kinds(tool, folder):
    done = emit(tool, folder, "triton")
    expect("kind 'npu' are given to CPUs" in done.stderr, done.stderr)
    expect(set(kinds(deployed(folder, FEEDS)).values()) == {"KIND_CPU"}, "another kind")


def test_weights(tool, folder):
    """Each part has its own, in its file or beside it: the folder can be moved, and needs no parts."""
    w = numpy_helper.from_array(np.arange(4096, dtype=np.float32), "w")
    nodes = [("Mul", ["x", "w"], "a"), ("Erf", ["a"], "b"), ("Mul", ["b", "w"], "y")]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [4096]) for n in "xy"]
    graph = helper.make_graph(
        [helper.make_node(op, i, [o]) for op, i, o in nodes], "g", ports[:1], ports[1:], [w]
    )
    m = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])
    for words, where in (((), ""), (("--external-data", "always"), "data"), (("--parts", "never"), "")):
        emit(tool, folder, "triton", m, *words)
        sizes = [p.stat().st_size > 4 * 4096 for p in sorted(folder.glob("m.triton/s?/1/model.onnx"))]
        data = len(list(folder.glob("m.triton/s?/1/model.onnx.*.data")))
        expect(sizes == [where == "", False, where == ""] and data == (2 if where else 0), sizes, data)
        deployed(folder, {"x": np.ones(4096, np.float32)})
    expect(not list(folder.glob("m.s0.*")), "parts were written")


def test_names(tool, folder):
    """Any text that is UTF-8 comes back; what an ensemble is called has plain characters."""
    odd = 'a "b"\\\n\x01\u00e9\u20ac7'
    m = onnx.parser.parse_model(HEAD + FIG8)
    for n in m.graph.node:
        for field in (n.input, n.output):
            for i, v in enumerate(field):
                field[i] = {"va": odd, "x": odd + "x"}.get(v, v)
    m.graph.input[0].name = odd + "x"
    source = model_of(folder, m)
    words = ("--devices", profile(folder, "Relu", "Add"), "--emit", "triton", "-O0")
    done = tool(source, *words, "-o", folder / "m \u00e9.onnx")
    expect(done.returncode == 0, done.stderr)
    repository = Repository(folder / "m \u00e9.triton")
    expect(not repository.problems and repository.ensemble.name == "m___", repository.problems)
    expect(repository.ensemble.input[0].name == odd + "x", repository.ensemble.input[0].name)
    done = tool(source, *words, "-o", folder / "s1.onnx")
    refused(done, INPUT, "'s1'", "-o")
    expect(not (folder / "s1.onnx").exists(), "OUT was written")


def test_scalars_strings_and_types(tool, folder):
    """A scalar has the dims [1]; strings may have any rank; open dims are -1."""
    text = """g (float x, string[N,2] t, float16[M] h, bool[1] b, int64[K,3] k)
      => (float y, bool[N,2] e, float16[M] g, bool[1] n, int64[K,3] l, string[N,2] u) <float one = {1}> {
      a = Relu (x)  c = Erf (a)  y = Add (c, one)
      u = Identity (t)  e = Equal (t, u)
      f = Relu (h)  g = Erf (f)  n = Not (b)  l = Neg (k)
    }"""
    head = HEAD.replace("17", "19")
    npu = profile(folder, "Relu", "Identity", "Not")
    emit(tool, folder, "triton", text, devices=npu, head=head)
    feeds = {
        "x": np.array([2], np.float32),
        "t": np.array([["a", "b"], ["", "\u00e9"]], dtype=object),
        "h": np.array([-1, 2], np.float16),
        "b": np.array([True]),
        "k": np.ones((0, 3), np.int64),
    }
    repository = Repository(folder / "m.triton")
    expect(not repository.problems, repository.problems)
    got = repository.run(feeds)
    whole = ort.InferenceSession(folder / "m.onnx", providers=["CPUExecutionProvider"])
    feeds["x"] = feeds["x"].reshape(())
    for v, wanted in zip(whole.get_outputs(), whole.run(None, feeds), strict=True):
        expect(np.array_equal(got[v.name].reshape(np.shape(wanted)), wanted), v.name, got[v.name], wanted)
    dims = {p.name: list(p.dims) for p in repository.ensemble.input}
    expect(dims == {"x": [1], "t": [-1, 2], "h": [-1], "b": [1], "k": [-1, 3]}, dims)


def test_defaults_and_unread_inputs(tool, folder):
    text = """g (float[N] x, float[1] k, float[N] unread) => (float[N] y) <float[1] k = {3}> {
      a = Mul (x, k)  b = Erf (a)  y = Mul (b, k)
    }"""
    done = emit(tool, folder, "triton", text)
    expect("'k' has its default" in done.stderr and "input 'unread'" in done.stderr, done.stderr)
    repository = Repository(folder / "m.triton")
    expect(not repository.problems, repository.problems)
    expect([p.name for p in repository.ensemble.input] == ["x"], repository.ensemble.input)
    (port,) = (p for p in repository.configs["s0"].input if p.name == "k")
    expect(port.optional, port)
    feeds = {"x": np.array([1, -1], np.float32)}
    whole = ort.InferenceSession(folder / "m.onnx", providers=["CPUExecutionProvider"])
    wanted = whole.run(None, feeds | {"unread": feeds["x"]})[0]
    expect(np.array_equal(repository.run(feeds)["y"], wanted), "another result")


def test_dead_nodes(tool, folder):
    """What no output needs is in no step, nor is what only that needs."""
    text = "g (float[N] x) => (float[N] y) { a = Relu (x)  y = Erf (a)  b = Erf (a)  c = Relu (b) }"
    emit(tool, folder, "triton", text)
    repository = deployed(folder, {"x": np.array([1, -1], np.float32)})
    outputs = {n: [p.name for p in c.output] for n, c in repository.configs.items()}
    expect(outputs == {"s0": ["a"], "s1": ["y"], "m": ["y"]}, outputs)


def test_dims_that_are_not_known(tool, folder):
    """ONNX Runtime may know them, and Triton compares: the run says so."""
    text = (
        "g (float[N] x) => (float[K] y, float[N] z) { i = NonZero (x)  y = Cast <to = 1> (i)  z = Relu (x) }"
    )
    m = onnx.parser.parse_model(HEAD + text.replace("float[K] y", "float[1,K] y"))
    m.graph.output[0].type.tensor_type.shape.dim[1].Clear()
    done = emit(tool, folder, "triton", m, devices=profile(folder, "Cast", "Relu"))
    expect("dims of 2 values" in done.stderr and "'i' of subgraph" in done.stderr, done.stderr)
    deployed(folder, {"x": np.array([1, 0, 2], np.float32)})


REFUSED = {
    "an output that is an input": (
        "g (float[N] x) => (float[N] x, float[N] y) { y = Relu (x) }",
        "'x'",
        "an input",
    ),
    "an output that is constant": (
        "g (float[N] x) => (float[1] c, float[N] y) <float[1] c = {2}> { y = Relu (x) }",
        "'c'",
        "a constant",
    ),
    "no inputs": (
        "g (float[N] x) => (float[N] y, float[2] r) { y = Relu (x)  r = RandomUniform <shape = [2]> () }",
        "has no inputs",
    ),
    "a type": ("g (bfloat16[N] x) => (bfloat16[N] y) { y = Relu (x) }", "BFLOAT16"),
    "a sequence": ("g (float[N] x) => (seq(float[N]) q) { q = SequenceConstruct (x, x) }", "a sequence"),
    "an unknown rank": ("g (float[N] x, int64[K] s) => (float y) { y = Reshape (x, s) }", "rank of 'y'"),
    "a dim of 0": ("g (float[0] x) => (float[0] y) { y = Relu (x) }", "dim 0"),
    "a scalar string": (
        "g (string x) => (bool y) { a = Identity (x)  y = Equal (a, x) }",
        "scalar of type STRING",
    ),
    "nothing": ("g (float[N] x) => (float[N] x) { }", "'x'"),
}


def test_refused(tool, folder):
    """Before anything is written, with what can be done about it."""
    npu = profile(folder, "Relu", "Identity")
    for name, (text, *parts) in REFUSED.items():
        m = onnx.parser.parse_model(HEAD.replace("17", "19") + text)
        if name == "an unknown rank":
            m.graph.output[0].type.tensor_type.ClearField("shape")
        source = model_of(folder, m)
        done = tool(source, "-O0", "--devices", npu, "-o", folder / "m.onnx", "--emit", "triton")
        errors = "".join(line for line in done.stderr.splitlines(True) if "warning: " not in line)
        done.stderr = errors
        refused(done, INPUT, "--emit triton", *parts)
        expect({p.name for p in folder.iterdir()} == {"in.onnx", "npu.json"}, name, list(folder.iterdir()))


def test_what_stands_there(tool, folder):
    source, npu = model_of(folder), profile(folder, "Relu")
    words = ("--devices", npu, "-o", folder / "m.onnx")
    mine = folder / "m.triton"
    mine.mkdir()
    (mine / "notes").write_text("mine")
    refused(tool(source, *words, "--emit", "triton"), OUTPUT, "m.triton", "--force")
    expect(not (folder / "m.onnx").exists(), "OUT was written")
    done = tool(source, *words)
    expect(done.returncode == 0 and (mine / "notes").exists(), done.stderr)
    for make in (lambda: None, lambda: mine.write_text("a file"), lambda: mine.symlink_to("elsewhere")):
        done = tool(source, *words, "--emit", "triton", "--force")
        expect(done.returncode == 0 and not (mine / "notes").exists(), done.stderr)
        expect(not Repository(mine).problems, "another repository")
        done = tool(source, *words)
        expect(done.returncode == 0 and not mine.exists(), "it is still there", done.stderr)
        make()
    expect({p.name[0] for p in folder.iterdir()} == {"i", "m", "n"}, "left behind", list(folder.iterdir()))


def test_the_model_that_is_read_is_in_it(tool, folder):
    emit(tool, folder, "triton")
    inside = folder / "m.triton/s0/1/model.onnx"
    words = ("--devices", folder / "npu.json", "-o", folder / "m.onnx")
    refused(tool(inside, *words, "--emit", "triton"), OUTPUT, "m.triton", "-o")
    done = tool(inside, *words)
    expect(done.returncode == 0 and inside.exists(), done.stderr)


def test_many_subgraphs(tool, folder):
    steps = "".join(f"a{i} = Relu (b{i - 1})  b{i} = Erf (a{i}) " for i in range(1, 502))
    source = model_of(folder, f"g (float[N] b0) => (float[N] b501) {{ {steps} }}")
    words = ("-O0", "--devices", profile(folder, "Relu"), "-o", folder / "m.onnx", "--parts", "never")
    refused(tool(source, *words, "--emit", "triton"), USAGE, "1002 subgraphs")


if __name__ == "__main__":
    sys.exit(main(globals()))
