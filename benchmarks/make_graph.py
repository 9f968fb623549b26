#!/usr/bin/env python3
"""Writes large regular ONNX graphs, quickly: the wire format by hand, since building 10^6 NodeProtos in
Python takes minutes.

  make_graph.py KIND NODES OUT.onnx

Kinds (about NODES nodes each, subgraph bodies included):
  chain       Relu, Neg, Add(., w), Identity, Sqrt, Reshape to the same shape ... one after the other
  fan         one input read by NODES/2 unary nodes, all joined by one Sum per 1,000 and a Concat of these
  ladder      two chains with a rung (Add) at every step
  ifs         Ifs in a row, each nested 30 deep
  loop        one Loop whose body is a chain
  shapes      Shape, Gather, Unsqueeze, Concat, Reshape again and again, as exporters write it
Kinds of one operator, in which a rule meets its pattern's first node everywhere and the rest nowhere:
  muls        one value times NODES scalar constants, all products joined by one Sum
  adds, subs, divs, pows, maxes, wheres, clips, matmuls
              the same with another operator and constants of its kind
  slices      NODES Slices of one value, all joined by one Concat
  turns       Mul and Add of scalar constants in turns, one after the other
  powers      a chain in which each node is the square of the one before
  training    a fan of Muls below a BatchNormalization whose kernel overwrites two operands
Kinds for the search over moves:
  reshapes    an elementwise node and a Reshape to another shape, in turns
  concat      one Concat of NODES/10 branches of nine nodes, the Reshape of each at another place
  alike       the same with the Reshape at one place: all branches become one
  splits      Split, the same two operators on both results, Concat back, again and again
  nested      a Concat of a Concat of ..., NODES/100 deep, with a chain on each new branch
  joins       a ladder with a Reshape on one rail of each rung
  readers     a Reshape of a Reshape that something else reads, with NODES - 3 readers, each an output
"""

import struct
import sys


def varint(n):
    out = bytearray()
    while True:
        b = n & 0x7F
        n >>= 7
        out.append(b | (0x80 if n else 0))
        if not n:
            return bytes(out)


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def text(number, s):
    return field(number, s.encode())


def number(field_number, v):
    return varint(field_number << 3) + varint(v & (1 << 64) - 1)


def node(op, inputs, outputs, *attributes):
    return field(
        1,
        b"".join(
            [text(1, i) for i in inputs] + [text(2, o) for o in outputs] + [text(4, op)] + list(attributes)
        ),
    )


def attr_int(name, v):
    return field(5, text(1, name) + number(3, v) + number(20, 2))


def attr_graph(name, g):
    return field(5, text(1, name) + field(6, g) + number(20, 5))


def value(number_, name, dtype, dims):
    shape = b"".join(field(1, number(1, d) if isinstance(d, int) else text(2, d)) for d in dims)
    return field(number_, text(1, name) + field(2, field(1, number(1, dtype) + field(2, shape))))


def int64s(name, values, scalar=False):
    dims = b"" if scalar else number(1, len(values))
    return field(5, dims + number(2, 7) + text(8, name) + field(9, struct.pack(f"<{len(values)}q", *values)))


def floats(name, values):
    return field(
        5,
        number(1, len(values))
        + number(2, 1)
        + text(8, name)
        + field(9, struct.pack(f"<{len(values)}f", *values)),
    )


def chain_nodes(n, start, end, tag):
    """n nodes from value `start` to value `end`."""
    out, last = [], start
    for i in range(n):
        name = end if i == n - 1 else f"{tag}{i}"
        k = i % 6
        if k == 2:
            out.append(node("Add", [last, "w"], [name]))
        elif k == 5 and i != n - 1:
            out.append(node("Reshape", [last, "same"], [name]))
        else:
            out.append(node(("Relu", "Neg", "", "Identity", "Sqrt", "Abs")[k], [last], [name]))
        last = name
    return out


def graph(nodes, inputs, outputs, initializers=(), name="g"):
    return b"".join(nodes) + text(2, name) + b"".join(initializers) + b"".join(inputs) + b"".join(outputs)


def model(g):
    return number(1, 8) + field(7, g) + field(8, text(1, "") + number(2, 17))


def scalar(name, v):
    return field(5, number(2, 1) + text(8, name) + field(9, struct.pack("<f", v)))


def square(name, v):
    return field(
        5, number(1, 4) + number(1, 4) + number(2, 1) + text(8, name) + field(9, struct.pack("<f", v) * 16)
    )


# The operator of each fan, its operands besides the constant, and the constant.
FANS = {
    **{
        kind: (operator, lambda k: ["x", k], scalar)
        for kind, operator in {
            "muls": "Mul",
            "adds": "Add",
            "subs": "Sub",
            "divs": "Div",
            "pows": "Pow",
            "maxes": "Max",
        }.items()
    },
    "wheres": ("Where", lambda k: ["c", "x", k], scalar),
    "clips": ("Clip", lambda k: ["x", "", k], scalar),
    "matmuls": ("MatMul", lambda k: ["x", k], square),
}
CONSTANTS = [floats("w", [0.5, -1.0, 2.0, 0.0]), int64s("same", [0, 4])]


def build(kind, n):
    x, y = value(11, "x", 1, ["N", 4]), value(12, "y", 1, ["N", 4])
    if kind == "chain":
        return graph(chain_nodes(n, "x", "y", "c"), [x], [y], CONSTANTS)
    if kind == "fan":
        ops, nodes, sums, group = ("Relu", "Neg", "Abs", "Exp", "Sqrt", "Identity"), [], [], []
        for i in range(n // 2):
            nodes.append(node("Add", ["x", f"k{i % 50}"], [f"a{i}"]))
            nodes.append(node(ops[i % 6], [f"a{i}"], [f"b{i}"]))
            group.append(f"b{i}")
            if len(group) == 1000 or i == n // 2 - 1:
                sums.append(f"s{i}")
                nodes.append(node("Sum", group, [f"s{i}"]))
                group = []
        nodes.append(node("Concat", sums, ["y"], attr_int("axis", 0)))
        constants = [floats(f"k{i}", [float(i), 1.0, 2.0, 3.0]) for i in range(50)]
        return graph(nodes, [x], [value(12, "y", 1, ["M", 4])], constants)
    if kind == "ladder":
        nodes, p, q = [], "x", "x"
        for i in range(n // 3):
            nodes += [node("Relu", [p], [f"p{i}"]), node("Neg", [q], [f"q{i}"])]
            last = i == n // 3 - 1
            nodes.append(node("Add", [f"p{i}", f"q{i}"], ["y" if last else f"r{i}"]))
            p, q = f"r{i}", f"q{i}"
        return graph(nodes, [x], [y])
    if kind == "ifs":
        deep, nodes, last = 30, [], "x"
        count = max(1, n // (2 * deep + 1))
        for k in range(count):
            out = "y" if k == count - 1 else f"o{k}"
            inner = None
            for d in range(deep):
                t, e = f"t{k}_{d}", f"e{k}_{d}"
                body = [node("Relu", [last], [t])] if inner is None else [node("If", ["c"], [t], *inner)]
                then = graph(body, [], [value(12, t, 1, ["N", 4])], name="t")
                other = graph([node("Neg", [last], [e])], [], [value(12, e, 1, ["N", 4])], name="e")
                inner = [attr_graph("then_branch", then), attr_graph("else_branch", other)]
            nodes.append(node("If", ["c"], [out], *inner))
            last = out
        return graph(nodes, [x, value(11, "c", 9, [])], [y])
    if kind == "loop":
        body = graph(
            [node("Identity", ["ci"], ["co"])] + chain_nodes(n - 2, "a", "b", "c"),
            [value(11, "i", 7, []), value(11, "ci", 9, []), value(11, "a", 1, ["N", 4])],
            [value(12, "co", 9, []), value(12, "b", 1, ["N", 4])],
            name="body",
        )
        return graph(
            [node("Loop", ["trip", "", "x"], ["y"], attr_graph("body", body))],
            [x],
            [y],
            CONSTANTS + [int64s("trip", [3], scalar=True)],
        )
    if kind == "shapes":
        nodes, last = [], "x"
        for i in range(n // 6):
            out = "y" if i == n // 6 - 1 else f"z{i}"
            nodes += [
                node("Shape", [last], [f"s{i}"]),
                node("Gather", [f"s{i}", "zero"], [f"g{i}"]),
                node("Unsqueeze", [f"g{i}", "axes"], [f"u{i}"]),
                node("Concat", [f"u{i}", "rest"], [f"t{i}"], attr_int("axis", 0)),
                node("Reshape", [last, f"t{i}"], [f"r{i}"]),
                node("Abs" if i % 2 else "Neg", [f"r{i}"], [out]),
            ]
            last = out
        return graph(
            nodes, [x], [y], [int64s("zero", [0], scalar=True), int64s("axes", [0]), int64s("rest", [4])]
        )
    if kind in FANS:
        operator, operands, constant = FANS[kind]
        nodes = [node(operator, operands(f"k{i}"), [f"b{i}"]) for i in range(n)]
        nodes.append(node("Sum", [f"b{i}" for i in range(n)], ["y"]))
        constants = [constant(f"k{i}", 1 + i / 7) for i in range(n)]
        return graph(nodes, [x, value(11, "c", 9, ["N", 4])], [y], constants)
    if kind == "training":
        four, operands = [1.0, 2.0, 3.0, 4.0], ("scale", "bias", "mean", "variance")
        nodes = [node("BatchNormalization", ["x", *operands], ["p", "m", "v"], attr_int("training_mode", 1))]
        nodes += [node("Mul", ["p", "scale"], [f"b{i}"]) for i in range(n // 2)]
        nodes += [node("Mul", ["p", f"k{i}"], [f"b{i}"]) for i in range(n // 2, n)]
        nodes.append(node("Sum", [f"b{i}" for i in range(n)], ["y"]))
        constants = [scalar(f"k{i}", 1 + i / 7) for i in range(n // 2, n)]
        return graph(nodes, [x], [y], [floats(o, four) for o in operands] + constants)
    if kind == "slices":
        nodes = [node("Slice", ["x", f"k{i % 4}", f"k{i % 4 + 1}", "axis"], [f"b{i}"]) for i in range(n)]
        nodes.append(node("Concat", [f"b{i}" for i in range(n)], ["y"], attr_int("axis", 1)))
        constants = [int64s(f"k{i}", [i]) for i in range(5)] + [int64s("axis", [1])]
        return graph(nodes, [x], [value(12, "y", 1, ["N", n])], constants)
    if kind == "turns":
        names = ["x", *(f"b{i}" for i in range(n - 1)), "y"]
        nodes = [node(("Mul", "Add")[i % 2], [names[i], f"k{i}"], [names[i + 1]]) for i in range(n)]
        return graph(nodes, [x], [y], [scalar(f"k{i}", 1 + i / 7) for i in range(n)])
    if kind == "powers":
        names = ["x", *(f"b{i}" for i in range(n - 1)), "y"]
        return graph([node("Mul", [names[i], names[i]], [names[i + 1]]) for i in range(n)], [x], [y])
    x4, y4 = value(11, "x", 1, [24, 4]), value(12, "y", 1, [24, 4])
    constants = [
        int64s("a", [24, 4]),
        int64s("b", [12, 8]),
        int64s("c", [2, 12, 4]),
        int64s("half", [2, 2]),
        int64s("row", [96]),
    ]
    unary = ("Relu", "Neg", "Abs", "Sqrt", "Exp", "Sigmoid", "Tanh")
    if kind == "reshapes":
        nodes, last = [], "x"
        for i in range(n // 2):
            nodes += [
                node(unary[i % 7], [last], [f"e{i}"]),
                node(
                    "Reshape",
                    [f"e{i}", "bca"[i % 3] if i < n // 2 - 1 else "a"],
                    ["y" if i == n // 2 - 1 else f"r{i}"],
                ),
            ]
            last = f"r{i}"
        return graph(nodes, [x4], [y4], constants)
    if kind in ("concat", "alike"):
        nodes, branches = [], max(2, n // 10)
        for i in range(branches):
            last = f"x{i}"
            for k in range(9):
                nodes.append(
                    node("Reshape", [last, "row"], [f"b{i}_{k}"])
                    if k == (i % 9 if kind == "concat" else 4)
                    else node(unary[k % 7], [last], [f"b{i}_{k}"])
                )
                last = f"b{i}_{k}"
        nodes.append(node("Concat", [f"b{i}_8" for i in range(branches)], ["y"], attr_int("axis", 0)))
        inputs = [value(11, f"x{i}", 1, [24, 4]) for i in range(branches)]
        return graph(nodes, inputs, [value(12, "y", 1, [96 * branches])], constants)
    if kind == "splits":
        nodes, last = [], "x"
        for i in range(n // 6):
            out = "y" if i == n // 6 - 1 else f"z{i}"
            nodes += [
                node("Split", [last, "half"], [f"s{i}", f"t{i}"], attr_int("axis", 1)),
                node("Relu", [f"s{i}"], [f"p{i}"]),
                node("Relu", [f"t{i}"], [f"q{i}"]),
                node("Neg", [f"p{i}"], [f"u{i}"]),
                node("Neg", [f"q{i}"], [f"v{i}"]),
                node("Concat", [f"u{i}", f"v{i}"], [out], attr_int("axis", 1)),
            ]
            last = out
        return graph(nodes, [x4], [y4], constants)
    if kind == "nested":
        nodes, last, deep = [], "x0", max(2, n // 100)
        for i in range(deep):
            branch = f"x{i}"
            for k in range(99):
                nodes.append(node(unary[(i + k) % 7], [branch], [f"b{i}_{k}"]))
                branch = f"b{i}_{k}"
            nodes.append(
                node("Concat", [last, branch], ["y" if i == deep - 1 else f"c{i}"], attr_int("axis", 0))
            )
            last = f"c{i}"
        inputs = [value(11, f"x{i}", 1, [24, 4]) for i in range(deep)]
        return graph(nodes, inputs, [value(12, "y", 1, [24 * (deep + 1), 4])], constants)
    if kind == "joins":
        nodes, p, q = [], "x", "x"
        for i in range(n // 4):
            last = i == n // 4 - 1
            nodes += [
                node(unary[i % 7], [p], [f"p{i}"]),
                node("Reshape", [f"p{i}", "c"], [f"r{i}"]),
                node("Reshape", [f"r{i}", "a"], [f"t{i}"]),
                node("Add", [f"t{i}", q], ["y" if last else f"j{i}"]),
            ]
            p, q = f"j{i}", f"p{i}"
        return graph(nodes, [x4], [y4], constants)
    if kind == "readers":
        nodes = [node("Reshape", ["x", "b"], ["r"]), node("Neg", ["r"], ["y0"])]
        nodes.append(node("Reshape", ["r", "c"], ["q"]))
        nodes += [node(unary[i % 7], ["q"], [f"y{i}"]) for i in range(1, n - 2)]
        outputs = [value(12, f"y{i}", 1, [2, 12, 4]) for i in range(1, n - 2)]
        return graph(nodes, [x4], [value(12, "y0", 1, [12, 8]), *outputs], constants)
    sys.exit(f"make_graph: no kind {kind}; the kinds are listed in this file's head")


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    with open(sys.argv[3], "wb") as f:
        f.write(model(build(sys.argv[1], int(sys.argv[2]))))


if __name__ == "__main__":
    main()
