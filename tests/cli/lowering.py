#!/usr/bin/env python3
"""--devices: no rewrite writes what devices refuse, and what they refuse is lowered (docs/lowering.md)."""

import json
import pathlib
import sys

import onnx
from _tool import USAGE, expect, main, refused

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests"))

from lib import manifests  # noqa: E402
from lib.profiles import kept, profile  # noqa: E402

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
# What raise-activations and raise-norms would make one node of.
PARTS = """g (float[1,2,6,6] x) => (float[1,2,6,6] y) <float[2,2,1,1] w = {1, 2, 3, 4}> {
  a = Conv <kernel_shape = [1, 1]> (x, w)
  s = HardSigmoid <alpha = 0.16666667, beta = 0.5> (a)
  b = Mul (a, s)
  y = Conv <kernel_shape = [1, 1]> (b, w)
}"""
SWISH = """g (float[N,2,6,6] x) => (float[N,2,6,6] y) <float[2,2,1,1] w = {1, 2, 3, 4}> {
  a = Conv <kernel_shape = [1, 1]> (x, w)
  b = HardSwish (a)
  y = Conv <kernel_shape = [1, 1]> (b, w)
}"""
NORM = """g (float[N,3,8] x) => (float[N,3,8] y)
  <float[8] s = {1, 2, 3, 4, 5, 6, 7, 8}, float[8] b = {1, 0, 1, 0, 1, 0, 1, 0}> {
  a = Relu (x)
  n = LayerNormalization <axis = -1> (a, s, b)
  y = Relu (n)
}"""
NORM_PARTS = ("Relu", "ReduceMean", "Sub", "Mul", "Add", "Sqrt", "Div")


def run(tool, folder, text, *words, out="out.onnx"):
    """The report, the operators of OUT and what the tool said."""
    (folder / "m.onnxtxt").write_text(HEAD + text)
    done = tool(folder / "m.onnxtxt", "-o", folder / out, "--report", folder / "r.json", *words)
    expect(done.returncode == 0, done.stderr)
    report = json.loads((folder / "r.json").read_text())
    return report, [n.op_type for n in onnx.load(folder / out).graph.node], done.stdout.decode() + done.stderr


def subgraphs(report):
    return [s["device"] for s in report["partition"]["subgraphs"]]


def test_passes_write_nothing_that_the_device_refuses(tool, folder):
    _, plain, _ = run(tool, folder, PARTS)
    expect("HardSwish" in plain, plain)
    words = ["--devices", kept("coreml"), "--explain", "raise-activations"]
    report, kinds, _ = run(tool, folder, PARTS, *words)
    expect(kinds == ["Conv", "HardSigmoid", "Mul", "Conv"], kinds)
    expect(subgraphs(report) == ["coreml"], report["partition"])
    reasons = {e["reason"] for e in report["explain"] if e["value"] == "b"}
    expect("no device that supports the old nodes supports all new ones" in reasons, reasons)


def test_a_device_that_takes_the_short_form_gets_it(tool, folder):
    npu = profile(folder, "Conv", "HardSwish", "HardSigmoid", "Mul")
    _, kinds, _ = run(tool, folder, PARTS, "--devices", npu)
    expect(kinds == ["Conv", "HardSwish", "Conv"], kinds)


def test_what_the_device_refuses_is_lowered(tool, folder):
    report, kinds, said = run(tool, folder, SWISH, "--devices", kept("coreml"), "--exact")
    expect(kinds == ["Conv", "HardSigmoid", "Mul", "Conv"], kinds)
    expect(subgraphs(report) == ["coreml"], report["partition"])
    wanted = {
        "device": "coreml",
        "operator": "HardSwish",
        "expansion": "hard-swish",
        "nodes": 1,
        "written": 2,
    }
    expect(report["lowered"] == [wanted], report["lowered"])
    expect("coreml: HardSwish" in said, said)
    wrong = list(manifests.problems(folder / "out.manifest.json"))
    expect(not wrong, wrong)
    _, again, _ = run(tool, folder, SWISH, "--devices", kept("coreml"), "--exact", out="again.onnx")
    expect((folder / "out.onnx").read_bytes() == (folder / "again.onnx").read_bytes(), again)


def test_expansions_of_expansions(tool, folder):
    # No HardSigmoid: that is written with Clip, which this device has only as Max and Min.
    npu = profile(folder, "Conv", "Mul", "Add", "Max", "Min")
    report, kinds, _ = run(tool, folder, SWISH, "--devices", npu)
    expect(sorted(set(kinds)) == ["Add", "Conv", "Max", "Min", "Mul"], kinds)
    expect(subgraphs(report) == ["npu"], report["partition"])


def test_nothing_is_lowered_in_part(tool, folder):
    npu = profile(folder, *[op for op in NORM_PARTS if op != "Sqrt"])
    report, kinds, _ = run(tool, folder, NORM, "--devices", npu)
    expect(kinds == ["Relu", "LayerNormalization", "Relu"], kinds)
    expect(report["lowered"] == [], report["lowered"])


def test_where_nothing_is_lowered(tool, folder):
    npu = profile(folder, *NORM_PARTS)
    lowered, kinds, _ = run(tool, folder, NORM, "--devices", npu)
    expect("LayerNormalization" not in kinds and subgraphs(lowered) == ["npu"], kinds)
    for words in (["--exact"], ["-O1"], ["-O0"], ["--lower", "never"]):
        report, kinds, _ = run(tool, folder, NORM, "--devices", npu, *words)
        expect(kinds == ["Relu", "LayerNormalization", "Relu"], (words, kinds))
        expect(not report["lowered"], (words, report["lowered"]))
    expect(run(tool, folder, NORM)[0]["lowered"] is None, "without devices")


def test_what_would_be_given_back_stays(tool, folder):
    npu = profile(folder, *NORM_PARTS, min_nodes=20)
    report, kinds, _ = run(tool, folder, NORM, "--devices", npu)
    expect(kinds == ["Relu", "LayerNormalization", "Relu"], kinds)
    expect(subgraphs(report) == ["cpu"] and report["lowered"] == [], report["partition"])


def test_what_is_given_back_after_the_passes_stays(tool, folder):
    """Slice and Squeeze in the place of Gather go away with Unsqueeze, and two nodes are too few."""
    text = """g (float[N,4] x) => (float[N,4] y) <int64[1] axes = {2}, int64 first = {0}> {
      a = Abs (x)  b = Neg (a)  u = Unsqueeze (b, axes)  s = Gather <axis = 2> (u, first)  y = Elu (s) }"""
    npu = profile(folder, "Abs", "Neg", "Unsqueeze", "Slice", "Squeeze", min_nodes=3)
    report, kinds, _ = run(tool, folder, text, "--devices", npu)
    expect(sorted(kinds) == ["Abs", "Elu", "Gather", "Neg", "Unsqueeze"], kinds)
    expect(subgraphs(report) == ["npu", "cpu"] and report["lowered"] == [], report["partition"])


def test_each_bucket_is_lowered_with_its_sizes(tool, folder):
    npu = profile(folder, *NORM_PARTS, shapes="static")
    report, kinds, _ = run(tool, folder, NORM, "--devices", npu, "--bucket", "N=2..4:pow2")
    expect(kinds == ["Relu", "LayerNormalization", "Relu"], kinds)
    for model in report["specialize"]["models"]:
        expect(model["subgraphs"] == 1 and model["accelerator_subgraphs"] == 1, model)
        expect([(x["operator"], x["nodes"]) for x in model["lowered"]] == [("LayerNormalization", 1)], model)
        inner = onnx.load(folder / model["file"]).graph
        expect("LayerNormalization" not in [n.op_type for n in inner.node], model)


def test_nodes_around_keep_their_device(tool, folder):
    text = """g (uint8[1,1,4,4] x) => (uint8[1,1,4,4] y)
      <float s = {0.1}, uint8 z = {128}, int8[1,1,1,1] w = {3}, int8 wz = {0}> {
      f = DequantizeLinear (x, s, z)  k = DequantizeLinear (w, s, wz)
      c = Conv (f, k)  h = HardSwish (c)  y = QuantizeLinear (h, s, z) }"""
    inside = [{"op": op, "qdq": True} for op in ("QuantizeLinear", "DequantizeLinear", "Conv")]
    npu = profile(folder, rules=[{"op": "Mul"}, {"op": "HardSigmoid"}, *inside])
    nodes = []
    for when in ("auto", "never"):
        report, _, _ = run(tool, folder, text, "--devices", npu, "--lower", when)
        nodes.append([d["nodes"] for d in report["partition"]["devices"] if not d["host"]])
    expect(nodes[0] >= nodes[1], nodes)


def test_denied_nodes_are_not_lowered(tool, folder):
    text = "g (float[4] x) => (float[4] y) { [head_neg] h = Neg (x)  y = Abs (h) }"
    npu = profile(folder, "Neg", "Mul", "Abs", deny_nodes=["head_*"])
    report, kinds, _ = run(tool, folder, text, "--devices", npu)
    expect(kinds == ["Neg", "Abs"] and report["lowered"] == [], kinds)


def test_what_the_runtime_cannot_pool_is_left(tool, folder):
    text = (
        "g (float[1,3,2,2,2,2] x) => (float[1,3] y) { y = ReduceMean <axes = [2,3,4,5], keepdims = 0> (x) }"
    )
    npu = profile(folder, "GlobalAveragePool", "Squeeze", "Reshape")
    report, kinds, _ = run(tool, folder, text, "--devices", npu)
    expect(kinds == ["ReduceMean"], kinds)


def test_many_nodes_that_cannot_be_lowered(tool, folder):
    # Each has a table of its own, of more elements than are compared.
    values = " ,".join(["1"] * 200)
    tables = ", ".join(f"float[50,4] w{i} = {{{values}}}" for i in range(400))
    nodes = "\n".join(f"g{i} = Gather <axis = 0> (w{i}, i)  x{i + 1} = Add (x{i}, g{i})" for i in range(400))
    text = f"g (float[2,4] x0, int64[2] i) => (float[2,4] x400) <{tables}> {{ {nodes} }}"
    words = ["--disable-pass", "merge-initializers", "--max-memory", "150M"]
    report, _, _ = run(tool, folder, text, "--devices", profile(folder, "Add", "Abs"), *words)
    expect(report["lowered"] == [], report["lowered"])


def test_functions_that_nothing_calls_any_more_are_removed(tool, folder):
    (folder / "m.onnxtxt").write_text("""<ir_version: 8, opset_import: ["" : 17, "local" : 1]>
g (float[N,4] x) => (float[N,4] y) { a = Relu (x)  b = local.Two (a)  c = local.Two (b)  y = Relu (c) }
<domain: "local", opset_import: ["" : 17, "local" : 1]> Two (p) => (q) { r = local.One (p)  q = Sigmoid (r) }
<domain: "local", opset_import: ["" : 17]> One (p) => (q) { r = Tanh (p)  q = Mul (r, p) }
<domain: "local", opset_import: ["" : 17]> Unused (p) => (q) { r = Tanh (p)  q = Mul (r, r) }
""")
    for operators, left in ((("Relu", "Sigmoid", "Tanh", "Mul"), {"Unused"}), (("Relu",), {"Two", "Unused"})):
        npu = profile(folder, *operators)
        done = tool(folder / "m.onnxtxt", "-o", folder / "out.onnx", "--devices", npu, "--verify-each")
        expect(done.returncode == 0, done.stderr)
        functions = {f.name for f in onnx.load(folder / "out.onnx").functions}
        expect(functions & {"Two", "Unused"} == left, functions)


def test_lower_needs_devices(tool, folder):
    (folder / "m.onnxtxt").write_text(HEAD + NORM)
    refused(tool(folder / "m.onnxtxt", "-o", folder / "o.onnx", "--lower", "never"), USAGE, "--devices")


if __name__ == "__main__":
    sys.exit(main(globals()))
