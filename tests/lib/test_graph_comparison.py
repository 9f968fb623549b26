#!/usr/bin/env python3
"""The comparison of graphs (lib/graph_comparison.py) itself: which graphs it must accept and reject.

  test_graph_comparison.py GRAPHOPT      the tool is not run

SAME and OTHER are pairs of graphs with the verdict. Then every after graph of the rewrite vectors is compared
with copies in another order and with other names, which must be the same, and with every mutant that
mutants() makes of it, each of which must be different. The same for pairs that ONNX Runtime runs
(lib/runs.py): equal ones must be equal, and a mutant that computes something else must be seen.
"""

import collections
import pathlib
import random
import sys

import numpy as np
import onnx
import onnx.parser
from onnx import numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import reordering, runs, vectors  # noqa: E402
from lib.graph_comparison import difference  # noqa: E402

HEAD = '<ir_version: 8, opset_import: ["" : 18]>\n'

# What differs, the two graphs: the same unless nothing is normalized.
SAME = {
    "names and order": (
        "g (float[3] x) => (float[3] y) { a = Neg(x) b = Abs(x) y = Sub(a, b) }",
        "g (float[3] x) => (float[3] y) { q = Abs(x) p = Neg(x) y = Sub(p, q) }",
    ),
    "Unsqueeze or Reshape": (
        "g (float[N,4] x) => (float[N,1,4] y) <int64[1] a = {1}> { y = Unsqueeze(x, a) }",
        "g (float[N,4] x) => (float[N,1,4] y) <int64[3] s = {0,1,-1}> { y = Reshape(x, s) }",
    ),
    "Flatten or Reshape": (
        "g (float[N,3,4] x) => (float[M,12] y) { y = Flatten(x) }",
        "g (float[N,3,4] x) => (float[M,12] y) <int64[2] s = {-1,12}> { y = Reshape(x, s) }",
    ),
    "Squeeze inside a body": (
        """g (bool c, float[1,4] x) => (float[4] y) { y = If (c) <
        then_branch = t () => (float[4] p) <int64[1] a = {0}> { p = Squeeze(x, a) },
        else_branch = e () => (float[4] q) <int64[1] s = {-1}> { q = Reshape(x, s) }> }""",
        """g (bool c, float[1,4] x) => (float[4] y) { y = If (c) <
        then_branch = t () => (float[4] p) <int64[1] s = {4}> { p = Reshape(x, s) },
        else_branch = e () => (float[4] q) <int64[1] s = {4}> { q = Reshape(x, s) }> }""",
    ),
    "Constant node or initializer": (
        "g (float[3] x) => (float[3] y) { k = Constant <value_float = 2.0> () y = Mul(x, k) }",
        "g (float[3] x) => (float[3] y) <float k = {2}> { y = Mul(x, k) }",
    ),
    "Constant strings": (
        """g (int64 i) => (string y) <int64 a = {0}>
        { k = Constant <value_strings = ["a", "b"]> () y = Gather(k, i) }""",
        """g (int64 i) => (string y) <int64 a = {0}>
        { k = Constant <value = string[2] {"a", "b"}> () y = Gather(k, i) }""",
    ),
    "default of an attribute": (
        "g (float[3] x) => (float[3] y) { y = LeakyRelu(x) }",
        "g (float[3] x) => (float[3] y) { y = LeakyRelu <alpha = 0.01> (x) }",
    ),
    "default of perm": (
        "g (float[3,N] x) => (float[N,3] y) { y = Transpose(x) }",
        "g (float[3,N] x) => (float[N,3] y) { y = Transpose <perm = [1,0]> (x) }",
    ),
    "negative axis": (
        "g (float[3,N] x) => (float[3,N] y) { y = Softmax <axis = -1> (x) }",
        "g (float[3,N] x) => (float[3,N] y) { y = Softmax <axis = 1> (x) }",
    ),
    "lengths of a Split": (
        "g (float[6,N] x) => (float[3,N] y, float[3,N] z) { y, z = Split <num_outputs = 2> (x) }",
        "g (float[6,N] x) => (float[3,N] y, float[3,N] z) <int64[2] l = {3,3}> { y, z = Split(x, l) }",
    ),
    "commuted operands": (
        "g (float[3] x) => (float[3] y) { a = Neg(x) b = Abs(x) y = Add(a, b) }",
        "g (float[3] x) => (float[3] y) { a = Neg(x) b = Abs(x) y = Add(b, a) }",
    ),
    "commuted operands that differ in their consumers alone": (
        "g (float[3] x) => (float[3] y, float[3] z) { a = Neg(x) b = Neg(x) y = Add(a, b) z = Abs(a) }",
        "g (float[3] x) => (float[3] y, float[3] z) { a = Neg(x) b = Neg(x) y = Add(a, b) z = Abs(b) }",
    ),
    "leading ones of a constant": (
        "g (float[N,3] x) => (float[N,3] y) <float[1,3] k = {1,2,3}> { y = Sub(x, k) }",
        "g (float[N,3] x) => (float[N,3] y) <float[3] k = {1,2,3}> { y = Sub(x, k) }",
    ),
}

OTHER = {
    "the sharing of a node": (
        "g (float[3] x) => (float[3] y, float[3] z) { a = Neg(x) y = Abs(a) z = Exp(a) }",
        "g (float[3] x) => (float[3] y, float[3] z) { a = Neg(x) b = Neg(x) y = Abs(a) z = Exp(b) }",
    ),
    "which duplicate is read twice": (
        "g (float[3] x) => (float[3] y, float[3] z) { a = Neg(x) b = Neg(x) y = Sub(a, b) z = Abs(a) }",
        "g (float[3] x) => (float[3] y, float[3] z) { a = Neg(x) b = Neg(x) y = Sub(a, b) z = Abs(b) }",
    ),
    "a dead node": (
        "g (float[3] x) => (float[3] y) { y = Neg(x) }",
        "g (float[3] x) => (float[3] y) { y = Neg(x) a = Abs(x) }",
    ),
    "the target of a Reshape": (
        "g (float[N,4] x) => (float[P,Q] y) <int64[2] s = {-1,2}> { y = Reshape(x, s) }",
        "g (float[N,4] x) => (float[P,Q] y) <int64[2] s = {2,-1}> { y = Reshape(x, s) }",
    ),
    "swapped bodies": (
        """g (bool c, float[4] x) => (float[4] y) { y = If (c) <
        then_branch = t () => (float[4] p) { p = Neg(x) },
        else_branch = e () => (float[4] q) { q = Abs(x) }> }""",
        """g (bool c, float[4] x) => (float[4] y) { y = If (c) <
        then_branch = t () => (float[4] p) { p = Abs(x) },
        else_branch = e () => (float[4] q) { q = Neg(x) }> }""",
    ),
    "a node inside or outside of a body": (
        """g (bool c, float[4] x) => (float[4] y) { a = Neg(x) y = If (c) <
        then_branch = t () => (float[4] p) { p = Abs(a) },
        else_branch = e () => (float[4] q) { q = Exp(x) }> }""",
        """g (bool c, float[4] x) => (float[4] y) { y = If (c) <
        then_branch = t () => (float[4] p) { a = Neg(x) p = Abs(a) },
        else_branch = e () => (float[4] q) { q = Exp(x) }> }""",
    ),
    "leading ones that make the rank": (
        "g (float[3] x) => (float y) <float[1,3] k = {1,2,3}> { a = Sub(x, k) y = ReduceSum(a) }",
        "g (float[3] x) => (float y) <float[3] k = {1,2,3}> { a = Sub(x, k) y = ReduceSum(a) }",
    ),
    "the sign of a zero": (
        "g (float[3] x) => (float[3] y) <float k = {0}> { y = Sub(x, k) }",
        "g (float[3] x) => (float[3] y) <float k = {-0.0}> { y = Sub(x, k) }",
    ),
    "the type of a constant": (
        "g (float[3] x) => (int64[3] y) <int64 k = {1}> { y = Cast <to = 7> (k) }",
        "g (float[3] x) => (int64[3] y) <int32 k = {1}> { y = Cast <to = 7> (k) }",
    ),
    "a symbol of the interface": (
        "g (float[N] x) => (float[N] y) { y = Neg(x) }",
        "g (float[M] x) => (float[N] y) { y = Neg(x) }",
    ),
    "the default value of an input": (
        "g (float[3] x, float k) => (float[3] y) <float k = {1}> { y = Mul(x, k) }",
        "g (float[3] x, float k) => (float[3] y) <float k = {2}> { y = Mul(x, k) }",
    ),
}


def copy(model):
    m = onnx.ModelProto()
    m.CopyFrom(model)
    return m


def all_graphs(graph):
    yield graph
    for body in reordering.subgraphs(graph):
        yield from all_graphs(body)


def mutants(model):
    """(what was done, model): every single change of each kind that the graph allows, bodies included."""
    places = [(g, n) for g, graph in enumerate(all_graphs(model.graph)) for n in range(len(graph.node))]
    for g, k in places:
        m = copy(model)
        graph = list(all_graphs(m.graph))[g]
        node = graph.node[k]
        yield from of_node(model, m, g, k, graph, node)
    for g, graph in enumerate(all_graphs(model.graph)):
        for k, t in enumerate(graph.initializer):
            array = numpy_helper.to_array(t).copy()
            if array.dtype.kind == "f" and array.size:
                m = copy(model)
                array.reshape(-1).view(f"u{array.itemsize}")[-1] ^= 1
                changed = numpy_helper.from_array(array, t.name)
                list(all_graphs(m.graph))[g].initializer[k].CopyFrom(changed)
                yield "bit of a constant", m


def of_node(model, m, g, k, graph, node):
    def again():
        c = copy(model)
        inner = list(all_graphs(c.graph))[g]
        return c, inner, inner.node[k]

    swaps = {
        "Sub": "Div",
        "Sqrt": "Neg",
        "Relu": "Neg",
        "Add": "Sub",
        "Mul": "Sub",
        "Neg": "Abs",
        "Exp": "Neg",
    }
    if node.op_type in ("Sub", "Div", "MatMul", "Pow", "Concat") and node.input[0] != node.input[1]:
        node.input[0], node.input[1] = node.input[1], node.input[0]
        yield "swapped operands", m
    m, graph, node = again()
    if node.op_type in swaps:
        node.op_type = swaps[node.op_type]
        yield "other operator", m
    m, graph, node = again()
    for a in node.attribute:
        if a.type == onnx.AttributeProto.INT and a.name == "axis":
            a.i = {0: 1, -1: -2}.get(a.i, a.i - 1 if a.i > 0 else -1)
            yield "other axis", m
        elif a.name == "perm":
            a.ints[:] = [*a.ints[1:], a.ints[0]]
            yield "other perm", m
        elif a.type == onnx.AttributeProto.FLOAT:
            a.f += 0.5
            yield "other attribute", m
    m, graph, node = again()
    outputs = {v.name for v in graph.output}
    if len(node.output) == 1 and node.input and node.output[0] not in outputs:
        dropped = node.output[0]
        for n in graph.node:
            n.input[:] = [node.input[0] if i == dropped else i for i in n.input]
        reordering.replace(graph.node, [n for j, n in enumerate(graph.node) if j != k])
        yield "dropped node", m
    m, graph, node = again()
    readers = [(n, i) for n in graph.node for i, v in enumerate(n.input) if v in node.output]
    if len(node.output) == 1 and (len(readers) > 1 or readers and node.output[0] in outputs):
        duplicate = onnx.NodeProto()
        duplicate.CopyFrom(node)
        duplicate.output[0] = "copied"
        readers[-1][0].input[readers[-1][1]] = "copied"
        reordering.replace(graph.node, [*graph.node[:k], duplicate, *graph.node[k:]])
        yield "duplicated node", m
    m, graph, node = again()
    if g == 0 and len(graph.input) > 1 and node.input and node.input[0] == graph.input[0].name:
        node.input[0] = graph.input[1].name
        yield "other operand", m
    m, graph, node = again()
    graph.node.append(onnx.helper.make_node("Identity", [node.output[0]], ["nobody_reads_it"]))
    yield "dead node", m


UNNEEDED = [
    """<ir_version: 10, opset_import: ["" : 17]>
    g (float[1,D] x) => (float[] y) <int64[1] a = {0}, int64[1] b = {0}, int64[1] c = {0}, int64[1] d = {0}> {
      y = Squeeze (x, a) p = Unsqueeze (y, b) q = Squeeze (x, c) r = Unsqueeze (q, d)
    }""",
    """<ir_version: 10, opset_import: ["" : 17]>
    g (bool c, float[2,2] x) => (float[2,2] y) {
      unread = MatMul (x, x)
      y = If (c) <then_branch = t () => (float[2,2] a) { inner = MatMul (x, x) a = Neg (x) },
                  else_branch = e () => (float[2,2] b) { b = Relu (x) }>
    }""",
]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    wrong, counts = [], collections.Counter()

    def expect(name, found, same):
        counts["same" if same else "different"] += 1
        if (found is None) != same:
            wrong.append(f"{name}: {found or 'no difference is found'}")

    parse = onnx.parser.parse_model
    for name, pair in SAME.items():
        a, b = (parse(HEAD + text) for text in pair)
        expect(name, difference(a, b), True)
        expect(f"{name}, back", difference(b, a), True)
        free = name.startswith("names")  # names and order are free in every comparison
        expect(f"{name}, as they stand", difference(a, b, normalize=False), free)
    for name, pair in OTHER.items():
        a, b = (parse(HEAD + text) for text in pair)
        expect(name, difference(a, b), False)
        expect(f"{name}, back", difference(b, a), False)
        expect(f"{name}, as they stand", difference(a, b, normalize=False), False)
        expect(f"{name}, with itself", difference(a, a), True)
    # Nodes that no output needs, which are made as others are that one needs, or that a body holds.
    for text in UNNEEDED:
        model = onnx.parser.parse_model(text)
        for seed in range(10):
            expect(
                f"unneeded, shuffled {seed}",
                difference(model, reordering.shuffled(model, random.Random(seed))),
                True,
            )
    kinds, seen = collections.Counter(), collections.Counter()
    for v in vectors.rewrites():
        for seed in range(3):
            copied = reordering.shuffled(v.after, random.Random(seed))
            for normalize in (True, False):
                expect(f"{v.name}, shuffled {seed}", difference(v.after, copied, normalize), True)
        for kind, mutant in mutants(v.after):
            kinds[kind] += 1
            expect(f"{v.name}, {kind}", difference(v.after, mutant), False)
            expect(f"{v.name}, {kind}, as they stand", difference(v.after, mutant, normalize=False), False)
            if kind in ("bit of a constant", "other operator"):
                seen[kind] += runs.pair_difference(v.after, mutant, 6, v.feeds, v.extents) is not None
    for kind, least in (("bit of a constant", 0.8), ("other operator", 0.95)):
        if seen[kind] < least * kinds[kind]:
            wrong.append(f"{kind}: only {seen[kind]} of {kinds[kind]} mutants give other results in a run")
    a, b = (np.array([1.0, x], np.float32) for x in (-0.0, 0.0))
    if runs.bit_difference(a, b) is None or runs.bit_difference(a * np.nan, b * np.nan) is not None:
        wrong.append("bit_difference: a zero has a sign, and NaN equals NaN")
    print("\n".join(wrong), end="\n" if wrong else "")
    print(", ".join(f"{n} {k}" for k, n in kinds.most_common()))
    print(f"mutants seen in runs: {dict(seen)}")
    print(f"{counts['same']} the same, {counts['different']} different, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
