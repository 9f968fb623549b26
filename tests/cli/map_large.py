"""graphopt map on large graphs that are hard for one reason each: 10^4 inputs, branches or operands, 10^5
readers of one value, a chain of 10^5, weights of 64 MB.

No run may take SECONDS; each takes a small part of it.
"""

import random
import sys
import time

import numpy as np
from onnx import helper, numpy_helper

from _maps import F, SECONDS, against_itself, file_of, info, make, node, pairs_of, timed, weight
from _tool import CHECK, expect, main, saved


def test_many_inputs_and_outputs(tool, folder):
    """Each input has a reader and an output of its own, in other orders in B, and with other names."""
    count = 10000
    inputs, outputs = ([info(f"{s}{i}") for i in range(count)] for s in "xy")
    nodes = [node("Relu", [f"x{i}"], [f"y{i}"]) for i in range(count)]
    a = saved(folder, make(nodes, inputs, outputs), "a.onnx")
    report = timed(tool, a, a, status=0)
    expect(
        all(p["a"] == p["b"] for p in report["pairs"]) and len(report["pairs"]) == count, "inputs are mixed"
    )
    rng = random.Random(1)
    turned = make(*(rng.sample(x, count) for x in (nodes, inputs, outputs)))
    report = timed(tool, a, saved(folder, turned, "b.onnx"), status=0)
    expect(
        all(p["a"] == p["b"] for p in report["pairs"]) and len(report["pairs"]) == count, "inputs are mixed"
    )
    other = make(
        [node("Relu", [f"i{i}"], [f"o{i}"]) for i in range(count)],
        [info(f"i{i}") for i in range(count)],
        [info(f"o{i}") for i in range(count)],
    )
    report = timed(tool, a, saved(folder, other, "b.onnx"), status=0)
    wanted = {f"y{i}": f"o{i}" for i in range(count)}
    expect(pairs_of(report) == wanted, "positions do not decide")


def test_one_operator_with_many_operands(tool, folder):
    count = 10000
    inputs = [info(f"x{i}", (1,)) for i in range(count)]
    nodes = [node("Concat", [f"x{i}" for i in range(count)], ["c"], axis=0), node("Relu", ["c"], ["y"])]
    against_itself(tool, folder, make(nodes, inputs, [info("y", (count,))]))


def test_equal_branches(tool, folder):
    """10^4 branches of three operators each that compute the same, and their sum."""
    count = 10000
    nodes = []
    for i in range(count):
        nodes += [
            node("Sin", ["x"], [f"a{i}"]),
            node("Cos", [f"a{i}"], [f"b{i}"]),
            node("Exp", [f"b{i}"], [f"c{i}"]),
        ]
    m = make([*nodes, node("Sum", [f"c{i}" for i in range(count)], ["y"])], [info("x")], [info("y")])
    a = saved(folder, m, "a.onnx")
    report = timed(tool, a, a, status=0)
    expect(report["summary"]["a"]["in_pairs"] > 0.99, report["summary"])
    ops = {n["name"]: n["op"] for n in report["a"]["nodes"]}
    expect(all(ops[p["a"]] == ops[p["b"]] for p in report["pairs"]), "a pair of unlike operators")


def test_branches_that_differ_by_weights(tool, folder):
    """2000 branches that only their weights tell apart, in another order in B."""
    count = 2000
    weights = [weight(f"w{i}", (4, 4)) for i in range(count)]
    nodes = [node("MatMul", ["x", f"w{i}"], [f"a{i}"]) for i in range(count)]
    m = make([*nodes, node("Sum", [f"a{i}" for i in range(count)], ["y"])], [info("x")], [info("y")], weights)
    rng = random.Random(1)
    order = rng.sample(range(count), count)
    turned = make(
        [*(nodes[i] for i in order), node("Sum", [f"a{i}" for i in order], ["y"])],
        [info("x")],
        [info("y")],
        rng.sample(weights, count),
    )
    a, b = saved(folder, m, "a.onnx"), saved(folder, turned, "b.onnx")
    for words in ([], ["--no-names"]):
        report = timed(tool, a, b, *words, status=0)
        expect(pairs_of(report) == {n: n for n in ["y", *(f"a{i}" for i in range(count))]}, words)
        # Without them nothing does.
    report = timed(tool, a, b, "--no-names", "--no-weights", status=0)
    expect(all(p["confidence"] <= 0.6 for p in report["pairs"] if p["a"] != "y"), "sure without a reason")


def test_a_value_with_many_readers(tool, folder):
    count = 100000
    ops = ["Sin", "Cos", "Exp", "Abs"]
    nodes = [node("Relu", ["x"], ["h"]), *(node(ops[i % 4], ["h"], [f"a{i}"]) for i in range(count))]
    a = saved(folder, make(nodes, [info("x")], [info("a0"), info("a99999")]), "a.onnx")
    report = timed(tool, a, a, status=0)
    expect(pairs_of(report)["h"] == "h" and len(report["pairs"]) <= count + 1, len(report["pairs"]))


def test_a_long_chain(tool, folder):
    count = 100000
    nodes = [node("Tanh" if i % 2 else "Sin", [f"v{i}"], [f"v{i + 1}"]) for i in range(count)]
    a = saved(folder, make(nodes, [info("v0")], [info(f"v{count}")]), "a.onnx")
    report = timed(tool, a, a, status=0)
    expect(all(p["a"] == p["b"] for p in report["pairs"]) and len(report["pairs"]) == count, "not the chain")
    # One operator more in the middle, which moves the rest by one, under other names.
    half = count // 2
    values = [f"u{i}" for i in range(count + 2)]
    ops = ["Tanh" if i % 2 else "Sin" for i in range(count)]
    ops.insert(half, "Erf")
    longer = [node(op, [values[i]], [values[i + 1]]) for i, op in enumerate(ops)]
    b = saved(folder, make(longer, [info("u0")], [info(values[-1])]), "b.onnx")
    report = timed(tool, a, b, "--no-names", status=0)
    pairs = pairs_of(report)
    right = sum(pairs.get(f"v{i + 1}") == f"u{i + 1 + (i >= half)}" for i in range(count))
    expect(right == len(pairs) >= 0.99 * count, right, "of", len(pairs))


def test_time_grows_with_the_model(tool, folder):
    """Ten times the operators, in a ladder with residuals: not a hundred times the time."""
    seconds = []
    for count in (1000, 10000):
        nodes = [node("Relu", ["x"], ["v0"])]
        for i in range(count // 3):
            nodes += [
                node("Sin", [f"v{i}"], [f"a{i}"]),
                node("Cos", [f"v{i}"], [f"b{i}"]),
                node("Add", [f"a{i}", f"b{i}"], [f"v{i + 1}"]),
            ]
        a = saved(folder, make(nodes, [info("x")], [info(f"v{count // 3}")]), "a.onnx")
        began = time.monotonic()
        expect(tool("map", a, a, "-q", "--no-names", timeout=SECONDS).returncode == 0)
        seconds.append(time.monotonic() - began)
    expect(tool.sanitized or seconds[1] < 40 * seconds[0] + 1, seconds)


def test_large_initializers(tool, folder):
    """Weights of 64 MB that are mapped, and one list of 10^5 initializers."""
    large = [numpy_helper.from_array(np.full((4, 2**21), i, np.float32), f"w{i}") for i in range(2)]
    nodes = [
        node("MatMul", ["x", "w0"], ["a"]),
        node("MatMul", ["x", "w1"], ["b"]),
        node("Sub", ["a", "b"], ["y"]),
    ]
    report = against_itself(tool, folder, make(nodes, [info("x")], [info("y", None)], large))
    expect(report["a"]["constants"] == 2, report["a"]["constants"])
    count = 100000
    scalars = [helper.make_tensor(f"s{i}", F, [], [float(i)]) for i in range(count)]
    nodes = [node("Relu", ["x"], ["a"]), node("Add", ["a", "s7"], ["y"])]
    report = against_itself(tool, folder, make(nodes, [info("x")], [info("y")], scalars))
    expect(report["a"]["constants"] == 1, "initializers that nobody reads are counted")


def test_very_unlike_sizes(tool, folder):
    one = file_of(folder, "one.onnx", "g (float[n] x) => (float[n] y) { y = Sin (x) }")
    nodes = [node("Sin" if i % 2 else "Cos", [f"v{i}"], [f"v{i + 1}"]) for i in range(20000)]
    many = saved(folder, make(nodes, [info("v0", ("n",))], [info("v20000", ("n",))]), "many.onnx")
    for pair in ((one, many), (many, one)):
        report = timed(tool, *pair, status=CHECK)
        expect(report["verdict"] == "not one model", report["verdict"])


def test_operators_that_do_nothing(tool, folder):
    """Chains of what is looked through, and of operators that the other model does not have."""
    for op in ("Identity", "Neg"):
        nodes = [node(op, [f"v{i}"], [f"v{i + 1}"]) for i in range(20000)]
        a = saved(folder, make(nodes, [info("v0")], [info("v20000")]), "a.onnx")
        report = timed(tool, a, a, "--no-names", status=0)
        expect(all(p["a"] == p["b"] for p in report["pairs"]) and len(report["pairs"]) == 20000, op)
        nodes = [node("Sin", ["v0"], ["a"]), node("Cos", ["a"], ["y"])]
        timed(tool, a, saved(folder, make(nodes, [info("v0")], [info("y")]), "b.onnx"), status=CHECK)


def test_many_outputs_below_a_trunk_without_counterpart(tool, folder):
    count = 3000
    paths = []
    for name, trunk, heads in (
        ("a.onnx", ("Sin", "Cos"), ("Exp", "Erf")),
        ("b.onnx", ("Tanh", "Cosh"), ("Abs", "Neg")),
    ):
        nodes = [node("Relu", ["x"], ["v0"])]
        nodes += [node(trunk[i % 2], [f"v{i}"], [f"v{i + 1}"]) for i in range(count)]
        nodes += [node(heads[i % 2], [f"v{count}"], [f"y{i}"]) for i in range(count)]
        m = make(nodes, [info("x")], [info(f"y{i}") for i in range(count)])
        paths.append(saved(folder, m, name))
    report = timed(tool, *paths, "--no-names")
    expect(len(report["a"]["nodes"]) == 2 * count + 1, len(report["a"]["nodes"]))


if __name__ == "__main__":
    sys.exit(main(globals()))
