#!/usr/bin/env python3
"""graphopt.map of the module: the same as the tool's JSON for paths, bytes and ModelProtos; what fails.

  map_models.py GRAPHOPT

The module is that of the source tree. Every test gets the binary and an empty folder.
"""

import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import numpy_helper, parser

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "python"), str(TOP / "tests")]

import graphopt  # noqa: E402
from _expect import expect, raised, run_with_binary  # noqa: E402

# One model twice: Gemm is MatMul and Add in B, which has other names.
A = """<ir_version: 8, opset_import: ["" : 17]>
a (float[N,2] x) => (float[N,4] y) <float[2,4] w = {W}, float[4] c = {0.5, -0.5, 0, 1}> {
  g = Gemm (x, w, c)  s = Softmax <axis = -1> (g)  y = Exp (s)
}"""
B = """<ir_version: 8, opset_import: ["" : 17]>
b (float[N,2] x) => (float[N,4] y) <float[2,4] k = {W}, float[4] k1 = {0.5, -0.5, 0, 1}> {
  t0 = MatMul (x, k)  t1 = Add (t0, k1)  t2 = Softmax <axis = -1> (t1)  y = Exp (t2)
}"""
A, B = (text.replace("{W}", "{1, -2, 3.5, 0.25, 7, -0.5, 2, 1.5}") for text in (A, B))
WRONG = B.replace("axis = -1", "axis = 0")
OTHER = """<ir_version: 8, opset_import: ["" : 17]>
c (string[N] x) => (string[1,N] y) <int64[1] s = {0}> { y = Unsqueeze (x, s) }"""


def files(folder, *texts):
    out = []
    for number, text in enumerate(texts):
        out.append(folder / f"{number}.onnxtxt")
        out[-1].write_text(text)
    return out


def by_tool(binary, *words):
    done = subprocess.run([binary, "map", *map(str, words), "--json"], capture_output=True, timeout=120)
    expect(done.returncode in (0, 3), done.stderr)
    return json.loads(done.stdout)


def test_paths(binary, folder):
    a, b = files(folder, A, B)
    found = graphopt.map(a, str(b))
    expect(found.raw == by_tool(binary, a, b), found.raw)
    expect(found.one_model and found.verdict == "one model" and found.method == "sparse", found)
    expect(found.a.file == str(a) and found.b.operators == 4 and found.a.constants == 2, found.a, found.b)
    expect([one.op for one in found.a.nodes] == ["Gemm", "Softmax", "Exp"], found.a.nodes)
    expect({(p.a, p.b) for p in found.pairs} >= {("s", "t2"), ("y", "y")}, found.pairs)
    expect(all(0 < p.confidence <= 1 and p.why for p in found.pairs), found.pairs)
    pair = next(p for p in found.pairs if p.a == "s")
    expect(pair.values == [graphopt.MapValue("s", "t2", None)], pair)
    (group,) = found.groups
    expect(group.kind == "decomposed" and group.values == ("g", "t1"), group)
    expect(group.a == ["g"] and sorted(group.b) == ["t0", "t1"], group)
    expect(found.numeric is None and found.log == "", found)


def test_what_is_in_memory(binary, folder):
    """Bytes and ModelProtos give the same, but for the names of the files."""
    a, b = files(folder, A, B)
    wanted = graphopt.map(a, b)
    proto_a, proto_b = parser.parse_model(A), parser.parse_model(B)
    forms = [
        (a, B.encode(), str(a), "b"),
        (A.encode(), b, "a", str(b)),
        (A.encode(), proto_b, "a", "b"),
        (bytearray(A.encode()), memoryview(proto_b.SerializeToString()), "a", "b"),
        (proto_a, proto_b, "a", "b"),
        (proto_a, proto_a, "a", "b"),
    ]
    for x, y, name_x, name_y in forms:
        found = graphopt.map(x, y)
        expect((found.a.file, found.b.file) == (name_x, name_y), found.a.file, found.b.file)
        expect(found.raw["a"]["file"] == name_x, found.raw["a"]["file"])
        if y is not proto_a:
            expect((found.pairs, found.groups) == (wanted.pairs, wanted.groups), found.pairs, found.groups)
    expect(proto_a == parser.parse_model(A), "the model of the caller changed")


def test_external_data_of_what_is_in_memory(binary, folder):
    """It is looked for below the current folder, as everywhere, or where external_root says."""
    here = os.getcwd()
    proto = parser.parse_model(A)
    for tensor in proto.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))
    onnx.save_model(
        proto,
        str(folder / "e.onnx"),
        save_as_external_data=True,
        location="e.data",
        size_threshold=0,
        convert_attribute=False,
    )
    data = (folder / "e.onnx").read_bytes()
    found = graphopt.map(data, A.encode(), external_root=folder)
    expect({p.confidence for p in found.pairs} == {1.0}, found.pairs)
    raised(graphopt.InputError, lambda: graphopt.map(data, data), "a: ", "e.data")
    os.chdir(folder)
    try:
        expect(graphopt.map(data, data, numeric=True).numeric.diverging == 0, "it differs from itself")
    finally:
        os.chdir(here)


def test_options(binary, folder):
    a, b = files(folder, A, B)
    found = graphopt.map(
        a, b, pair={"s": "t2", "y": "y"}, no_names=True, no_weights=True, top_k=0, timeout=60, max_memory="4G"
    )
    words = ["--pair", "s=t2", "--pair", "y=y", "--no-names", "--no-weights", "--top-k", "0"]
    expect(found.raw == by_tool(binary, a, b, *words), found.raw)
    expect([p.confidence for p in found.pairs if p.a == "s"] == [1.0], found.pairs)
    found = graphopt.map(a, b, method="literal", rounds=3, report=folder / "r.json")
    expect(found.method == "literal" and not found.groups, found)
    expect(json.loads((folder / "r.json").read_bytes()) == found.raw, "the file has something else")


def test_numbers(binary, folder):
    a, b, wrong = files(folder, A, B, WRONG)
    same = graphopt.map(a, b, numeric=True, seeds=2).numeric
    expect(same.compared == 3 and same.diverging == 0 and same.first == [], same)
    for how in ({"numeric": True}, {"bisect": True}):
        found = graphopt.map(a, wrong, **how)
        expect(found.one_model and found.numeric.diverging == 2, found.numeric)
        (first,) = found.numeric.first
        expect((first.a, first.b) == ("s", "t2") and first.problem is None, first)
        expect(first.attributes == {"axis": ("-1", "0")} and first.max_abs > 0, first)
        expect(first.region_a == ["s"] and first.region_b == ["t2"], first)
    np.save(folder / "x.npy", np.zeros((1, 2), np.float32))
    np.savez(folder / "all.npz", x=np.zeros((1, 2), np.float32))
    for given in ({"x": folder / "x.npy"}, folder / "all.npz"):
        found = graphopt.map(a, wrong, numeric=True, input=given, tolerance=10)
        expect(found.numeric.diverging == 0, found.numeric)


def test_not_one_model(binary, folder):
    """An answer like any other; numbers are not compared then."""
    found = graphopt.map(*files(folder, A, OTHER), numeric=True)
    expect(not found.one_model and found.verdict == "not one model", found.verdict)
    expect(found.groups == [] and found.numeric is None, found)


def test_bodies(binary, folder):
    text = """<ir_version: 8, opset_import: ["" : 17]>
    g (bool c, float[N] x) => (float[N] y) {
      y = If (c) <then_branch = t () => (float[N] p) { p = Exp (x) },
                  else_branch = e () => (float[N] q) { q = Neg (x) }>
    }"""
    found = graphopt.map(
        text.encode(), text.replace("float[N] p", "float[N] z").replace("p =", "z =").encode()
    )
    expect(("y/then_branch/p", "y/then_branch/z") in {(p.a, p.b) for p in found.pairs}, found.pairs)


def test_mistakes(binary, folder):
    a, b = files(folder, A, B)
    error = raised(graphopt.UsageError, lambda: graphopt.map(a, b, pair={"s": "nix"}), "pair: 's=nix'")
    expect(error.status == 1 and error.remedy, error)
    raised(graphopt.UsageError, lambda: graphopt.map(a, b, pair={"g": "y"}), "pair")
    raised(graphopt.UsageError, lambda: graphopt.map(a, b, tolerance=1), "numeric=True")
    np.save(folder / "k.npy", np.zeros(1))
    inputs = {"k": folder / "k.npy"}
    raised(graphopt.UsageError, lambda: graphopt.map(a, b, numeric=True, input=inputs), "an input 'k'")
    raised(graphopt.UsageError, lambda: graphopt.map(a, b, method="other"), "sparse")
    error = raised(graphopt.InputError, lambda: graphopt.map(a, folder / "none.onnx"), "no such file")
    expect(error.file == str(folder / "none.onnx"), error.file)
    for models, name in (((b"nothing", b), "a"), ((a, b"nothing"), "b"), ((A.encode(), b"nothing"), "b")):
        error = raised(graphopt.InputError, lambda models=models: graphopt.map(*models), f"{name}: ")
        expect(error.file == name and "/dev/fd" not in str(error), error)
    raised(graphopt.OutputError, lambda: graphopt.map(a, b, report=folder / "no" / "r.json"))
    raised(graphopt.NotChecked, lambda: graphopt.map(a, b, numeric=True, ort=folder / "none"))
    raised(TypeError, lambda: graphopt.map(a, b, pairs={"s": "t2"}), "'pair'")
    raised(TypeError, lambda: graphopt.map(a, b, pair=["s=t2"]), "mapping")
    raised(TypeError, lambda: graphopt.map(a, 3), "a model is a path")


if __name__ == "__main__":
    sys.exit(run_with_binary(globals(), sys.argv[1]))
