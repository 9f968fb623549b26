#!/usr/bin/env python3
"""--devices: what a device without int64 refuses becomes int32 (docs/lowering.md, "Integers")."""

import json
import pathlib
import sys

import numpy as np
import onnx
from _tool import expect, main
from onnx import TensorProto, numpy_helper

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests"))

from lib import manifests  # noqa: E402
from lib.profiles import int32_profile, profile  # noqa: E402
from lib.runs import session  # noqa: E402

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
# The positions of N rows, and their rows in a table.
POSITIONS = """g (float[N,2] x) => (float[N,2] y, int64[N] p)
  <float[4,2] t = {1, 2, 3, 4, 5, 6, 7, 8}, int64 zero = {0}, int64 one = {1}, int64 last = {3}> {
  s = Shape (x)
  n = Gather <axis = 0> (s, zero)
  p = Range (zero, n, one)
  q = Min (p, last)
  r = Gather <axis = 0> (t, q)
  y = Add (x, r)
}"""


def run(tool, folder, text, device, *words, out="out.onnx", source=None):
    """The report, the graph of OUT and what the tool said."""
    if source is None:
        source = folder / "m.onnxtxt"
        source.write_text(HEAD + text)
    done = tool(source, "-o", folder / out, "--report", folder / "r.json", "--devices", device, *words)
    expect(done.returncode == 0, done.stderr)
    report = json.loads((folder / "r.json").read_text())
    return report, onnx.load(folder / out).graph, done.stdout.decode() + done.stderr


def casts(graph):
    """(from int64 to int32, from int32 to int64), as far as the target tells."""
    to = [n.attribute[0].i for n in graph.node if n.op_type == "Cast"]
    return to.count(TensorProto.INT32), to.count(TensorProto.INT64)


def subgraphs(report):
    return [s["device"] for s in report["partition"]["subgraphs"]]


def test_integers_become_int32(tool, folder):
    device = int32_profile(folder)
    before, _, _ = run(tool, folder, POSITIONS, device, "--lower", "never")
    report, graph, said = run(tool, folder, POSITIONS, device, "--exact", "--check=1", "--verify-each")
    expect("cpu" in subgraphs(before), before["partition"])
    expect(subgraphs(report) == ["int32"], report["partition"])
    expect(casts(graph) == (1, 1), graph.node)
    types = {o.name: o.type.tensor_type.elem_type for o in graph.output}
    expect(types == {"y": TensorProto.FLOAT, "p": TensorProto.INT64}, types)
    wanted = [{"device": "int32", "nodes": 4, "values": 3, "casts": 2}]
    expect(report["narrowed"] == wanted, report["narrowed"])
    expect("int32 in place of int64" in said, said)
    wrong = list(manifests.problems(folder / "out.manifest.json"))
    expect(not wrong, wrong)


def test_a_second_run_changes_nothing(tool, folder):
    device = int32_profile(folder)
    run(tool, folder, POSITIONS, device)
    source = folder / "out.onnx"
    report, _, _ = run(tool, folder, "", device, out="again.onnx", source=source)
    expect(report["narrowed"] == [], report["narrowed"])
    first, second = (
        [n.op_type for n in onnx.load(folder / f).graph.node] for f in ("out.onnx", "again.onnx")
    )
    expect(first == second, (first, second))


def test_where_nothing_becomes_int32(tool, folder):
    device = int32_profile(folder)
    for words in (["-O0"], ["--lower", "never"]):
        report, graph, _ = run(tool, folder, POSITIONS, device, *words)
        expect(casts(graph) == (0, 0) and not report["narrowed"], (words, report["narrowed"]))
    # A device that takes int64 has nothing to win.
    wide = profile(folder, "Shape", "Gather", "Range", "Min", "Add", "Cast")
    report, graph, _ = run(tool, folder, POSITIONS, wide)
    expect(casts(graph) == (0, 0) and report["narrowed"] == [], report["narrowed"])
    # No Cast: its two would be two more subgraphs on the host.
    rules = [r for r in json.loads(int32_profile(folder).read_text())["rules"] if r["op"] != "Cast"]
    report, graph, _ = run(tool, folder, POSITIONS, profile(folder, rules=rules))
    expect(casts(graph) == (0, 0) and report["narrowed"] == [], report["narrowed"])


def test_what_may_overflow_stays(tool, folder):
    # N * N may be 2^62, and an int64 of the caller anything; a sum of two int32 may be 2^32.
    text = """g (float[N,2] x, int64[K] i, int32[K] a) => (bool[K] u, bool[K] v, bool[1] w)
      <int64[1] zero = {0}, int64[1] seven = {7}> {
      s = Shape <end = 1> (x)  t = Mul (s, s)  w = Less (t, seven)
      j = Add (i, seven)  u = Less (j, seven)
      b = Cast <to = 7> (a)  c = Add (b, b)  v = Less (c, seven)
    }"""
    report, graph, _ = run(tool, folder, text, int32_profile(folder))
    expect(report["narrowed"] == [] and casts(graph)[0] == 0, report["narrowed"])


def test_indices_of_the_caller(tool, folder):
    # An index outside of the table fails in int64, so every index of a run fits; the Less reads any number.
    text = """g (int64[K] i) => (float[1,K] y, bool[K] u)
      <float[4] t = {1, 2, 3, 4}, int64[1] zero = {0}, int64[1] big = {4294967296}> {
      j = Unsqueeze (i, zero)  y = Gather <axis = 0> (t, j)  u = Less (i, big)
    }"""
    report, graph, _ = run(tool, folder, text, int32_profile(folder), "--exact")
    (less,) = (n for n in graph.node if n.op_type == "Less")
    expect(list(less.input)[0] == "i", less)
    (cast,) = (n for n in graph.node if n.op_type == "Cast")
    expect(cast.input[0] == "i" and cast.attribute[0].i == TensorProto.INT32, cast)


def test_constants_beyond_int32(tool, folder):
    """As data they wrap like the Cast that reads them; as a bound they are cut to the ends of int32."""
    text = """g (int64[K] i, float[N] x) => (int32[K] y, float[M] z)
      <int64[4] t = {1099511627776, -2147483649, 7, -1}, int64[1] big = {4294967298}, int64[1] one = {1}> {
      r = Gather <axis = 0> (t, i)  s = Max (i, one)  b = Equal (s, i)  w = Where (b, r, big)
      y = Cast <to = 6> (w)  z = Slice (x, one, big)
    }"""
    report, graph, _ = run(tool, folder, text, int32_profile(folder), "--exact", "--check=1", "--verify-each")
    expect(len(report["narrowed"]) == 1, report["narrowed"])
    data = sorted(numpy_helper.to_array(t).tolist() for t in graph.initializer)
    expect([0, 0x7FFFFFFF, 7, -1] in data, data)
    feeds = {"i": np.array([0, 1, 2, 3]), "x": np.arange(5, dtype=np.float32)}
    y, z = session(str(folder / "out.onnx")).run(None, feeds)
    expect(y.tolist() == [2, 0x7FFFFFFF, 7, -1] and z.tolist() == [1, 2, 3, 4], y, z)


def test_bodies_and_targets_read_int64(tool, folder):
    text = """g (float[N,2] x, bool c) => (float[1,M] y, int64[N] z)
      <float[4] t = {1, 2, 3, 4}, int64 zero = {0}, int64 one = {1}, int64 last = {3}, int64[1] front = {1}> {
      s = Shape (x)  n = Gather <axis = 0> (s, zero)  p = Range (zero, n, one)  q = Min (p, last)
      r = Gather <axis = 0> (t, q)
      m = Neg (n)  k = Abs (m)  l = Unsqueeze (k, zero_axis)  target = Concat <axis = 0> (front, l)
      y = Reshape (r, target)
      z = If (c) <
        then_branch = a () => (int64[N] u) { u = Add (q, one) },
        else_branch = b () => (int64[N] v) { v = Identity (q) } >
    }""".replace("int64[1] front", "int64[1] zero_axis = {0}, int64[1] front")
    words = ["--exact", "--check=1", "--verify-each", "--disable-pass", "compose"]
    report, graph, _ = run(tool, folder, text, int32_profile(folder), *words)
    expect(report["narrowed"] and casts(graph)[1] >= 1, graph.node)


def test_explained(tool, folder):
    """A node is found by the name of its int64 result, which is gone where the result became int32."""
    device = int32_profile(folder)
    report, graph, said = run(tool, folder, POSITIONS, device, "--explain", "all:q,all:n", "--parts", "never")
    explained = report["partition"]["explained"]
    expect([e["op"] for e in explained] == ["Min", "Gather"], explained)
    expect(all(e["device"] == "int32" and e["subgraph"] == "s0" for e in explained), explained)
    expect(all(e["expansion"] == "narrow-integers" for e in explained), explained)
    expect({e["node"] for e in explained} <= {n.name for n in graph.node}, explained)
    expect("lowered for int32 by narrow-integers" in said, said)


def test_each_bucket_becomes_int32(tool, folder):
    text = """g (int64[N,2] i) => (float[N,2] y) <float[4] t = {1, 2, 3, 4}> {
      y = Gather <axis = 0> (t, i)
    }"""
    device = int32_profile(folder, shapes="static")
    report, graph, _ = run(tool, folder, text, device, "--bucket", "N=2..4:pow2")
    expect(casts(graph) == (0, 0), graph.node)
    for model in report["specialize"]["models"]:
        inner = onnx.load(folder / model["file"]).graph
        expect(casts(inner) == (1, 0), inner.node)


def test_costs_and_denied_nodes(tool, folder):
    report, graph, _ = run(tool, folder, POSITIONS, int32_profile(folder, min_nodes=50))
    expect(report["narrowed"] == [] and casts(graph) == (0, 0), report["narrowed"])
    text = POSITIONS.replace("p = Range", "[head_range] p = Range").replace("q = Min", "[head_min] q = Min")
    run(tool, folder, text, int32_profile(folder, deny_nodes=["head_*"]), "--check=1")


if __name__ == "__main__":
    sys.exit(main(globals()))
