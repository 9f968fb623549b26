# TIER: nightly
# LONG: --seed 2
# WHEN: src/ops/integer_arithmetic tools/requirements.txt
"""Integers at the limits of their types: what is folded and inferred is what ONNX Runtime computes.

Usage: extreme_integers.py GRAPHOPT [--graphs N] [--seed N]

Three kinds of models, each run in ONNX Runtime without optimizations before and after graphopt (default and
--exact), with the same bits in all results:
  chains   random operators on extreme numbers that stand in the model, on extents of inputs with symbolic
           dims (from 0 to 2^31 - 1; the inputs hold no elements), and on sums and products of these beyond
           what shapes can be
  slices   Slice of an axis, and of elements, with every pair of extreme starts and ends, and some steps
  ranges   the extents and elements of Range between extreme numbers
Models that the runtime refuses to run say nothing. Ends with 0 if no result differs, and if graphopt took
nodes away at all.
"""

import argparse
import itertools
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import runs  # noqa: E402

P = lambda n: 2**n  # noqa: E731
EXTREME = [0, 1, -1, 2, 3, 7, 1000, P(24) + 1, P(31) - 1, P(31), P(31) + 1, -P(31) - 1, -P(31), P(32) - 1]
EXTREME += [P(53) - 1, P(53), P(53) + 1, -P(53) - 1, P(62), P(63) - 2, P(63) - 1, -P(63), -P(63) + 1]
# No 0 and no -1: the smallest number divided by -1 ends the process of the runtime.
DIVISORS = [1, 2, 3, 7, -2, -3, 1000, P(31) - 1, P(31), -P(31), P(53) + 1, P(63) - 1]
EXTENTS = [0, 1, 2, 3, 5, 32768, 65536, P(31) - 2, P(31) - 1]
TYPES = {
    "i64": TensorProto.INT64,
    "i32": TensorProto.INT32,
    "f32": TensorProto.FLOAT,
    "f64": TensorProto.DOUBLE,
}
NUMPY = {"i64": np.int64, "i32": np.int32, "f32": np.float32, "f64": np.float64}
OPERATORS = (
    "Add Sub Mul Add Sub Mul Div Mod Pow Min Max Neg Abs Sign Relu Clip Less Where Cast ReduceSum ReduceProd "
    "ReduceMin ReduceMax ReduceMean CumSum Concat Gather"
).split()


class Builder:
    def __init__(self):
        self.nodes, self.tensors, self.outputs = [], [], []

    def constant(self, values, kind="i64"):
        name = f"k{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.array(values, NUMPY[kind]), name))
        return name

    def node(self, op, inputs, output=True, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], name=f"n{len(self.nodes)}", **attributes))
        if output:
            self.outputs.append(name)
        return name

    def model(self, inputs):
        outputs = [helper.make_empty_tensor_value_info(o) for o in self.outputs]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.tensors)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)


def extent_inputs(names):
    return [helper.make_tensor_value_info(n.lower(), TensorProto.INT8, [n, 0]) for n in names]


def feeds(names, extents):
    return {n.lower(): np.empty((e, 0), np.int8) for n, e in zip(names, extents)}


def pick(rng, items):
    return items[int(rng.integers(len(items)))]


def number(rng, kind):
    allowed = np.iinfo(NUMPY[kind]) if kind[0] == "i" else None
    while True:
        v = pick(rng, EXTREME)
        if allowed is None or allowed.min <= v <= allowed.max:
            return v


def chain(rng, names):
    """A model over inputs [N, 0], [M, 0], ...: every value is a vector and an output."""
    b = Builder()
    pool = []  # (name, length, kind)
    extents = []
    for n in names:
        extents.append((b.node("Shape", [n.lower()], end=1), 1, "i64"))
    pool += extents
    for _ in range(4):
        length = pick(rng, [1, 1, 2, 3])
        kind = pick(rng, ["i64", "i64", "i64", "i32"])
        pool.append((b.constant([number(rng, kind) for _ in range(length)], kind), length, kind))
    pool.append((b.node("Concat", [e[0] for e in extents], axis=0), len(names), "i64"))
    for _ in range(14):
        name, length, kind = pick(rng, pool)
        same = [p for p in pool if p[2] == kind and (p[1] == length or 1 in (p[1], length))]
        other = pick(rng, same)
        wide = max(length, other[1])
        integer = kind[0] == "i"
        op = pick(rng, OPERATORS)
        if op in ("Div", "Mod"):
            if not integer:
                continue
            limits = np.iinfo(NUMPY[kind])
            by = b.constant([pick(rng, [d for d in DIVISORS if limits.min <= d <= limits.max])], kind)
            fmod = {"fmod": int(rng.integers(2))} if op == "Mod" else {}
            pool.append((b.node(op, [name, by], **fmod), length, kind))
        elif op == "Pow" and integer:
            e = b.constant([pick(rng, [0, 1, 2, 3, 5, 39])], kind)
            pool.append((b.node(op, [name, e]), length, kind))
        elif op in ("Add", "Sub", "Mul", "Min", "Max"):
            pool.append((b.node(op, [name, other[0]]), wide, kind))
        elif op in ("Neg", "Abs", "Sign", "Relu", "CumSum"):
            axis = [b.constant(0)] if op == "CumSum" else []
            pool.append((b.node(op, [name] + axis), length, kind))
        elif op == "Clip":
            low, high = sorted(number(rng, kind) for _ in range(2))
            pool.append((b.node(op, [name, b.constant(low, kind), b.constant(high, kind)]), length, kind))
        elif op == "Less":
            less = b.node(pick(rng, ["Less", "LessOrEqual", "Greater", "Equal"]), [name, other[0]])
            pool.append((b.node("Cast", [less], to=TensorProto.INT64), wide, "i64"))
        elif op == "Where":
            less = b.node("Less", [name, other[0]])
            pool.append((b.node("Where", [less, name, other[0]]), wide, kind))
        elif op == "Cast" and integer:
            to = pick(rng, ["i32", "i64", "f32", "f64"])
            pool.append((b.node("Cast", [name], to=TYPES[to]), length, to))
        elif op.startswith("Reduce"):
            pool.append((b.node(op, [name], keepdims=1), 1, kind))
        elif op == "Concat" and length + other[1] <= 4 and kind == other[2]:
            pool.append((b.node(op, [name, other[0]], axis=0), length + other[1], kind))
        elif op == "Gather":
            at = b.constant([int(rng.integers(-length, length))])
            pool.append((b.node(op, [name, at]), 1, kind))
    return b.model(extent_inputs(names))


SLICE_BOUNDS = [
    -P(63),
    -P(63) + 1,
    -P(31) - 1,
    -P(31),
    -7,
    -4,
    -3,
    -1,
    0,
    1,
    3,
    4,
    9,
    P(31) - 1,
    P(31),
    P(63) - 1,
]
SLICE_STEPS = [1, 2, P(31) - 1, P(63) - 1, -1, -2, -P(31), -P(63)]


def slices(step):
    """The extents of every Slice along a symbolic axis, and elements of Slices of an initializer."""
    b = Builder()
    for start, end in itertools.product(SLICE_BOUNDS, SLICE_BOUNDS):
        bounds = [b.constant([v]) for v in (start, end, 0, step)]
        b.node("Shape", [b.node("Slice", ["n"] + bounds, output=False)])
        b.node("Slice", [b.constant([5, 6, 7, 8])] + bounds)
        known = b.node("Concat", [b.node("Shape", ["n"], False), b.constant([3])], False, axis=0)
        b.node("Slice", [known] + bounds)  # elements that inference knows, not folding
    inputs = [helper.make_tensor_value_info("n", TensorProto.INT8, ["N", 0])]
    return b.model(inputs)


def symbolic_slices():
    """Ends that are extents, on axes that may be longer than any int32."""
    b = Builder()
    both = b.node("Concat", ["n", "n"], False, axis=0)
    size = b.node("Shape", ["n"], end=1)
    for data, start, step in itertools.product(["n", both], [0, 1, -1, -2, P(31) - 1], [1, 2, -1]):
        bounds = [b.constant([start]), size, b.constant([0]), b.constant([step])]
        b.node("Shape", [b.node("Slice", [data] + bounds, output=False)])
        bounds[:2] = [size, b.constant([start])]
        b.node("Shape", [b.node("Slice", [data] + bounds, output=False)])
    return b.model([helper.make_tensor_value_info("n", TensorProto.INT8, ["N", 0])])


def ranges():
    b = Builder()
    for kind, numbers in (("i64", EXTREME), ("i32", [-P(31), -5, 0, 7, P(31) - 4, P(31) - 1])):
        deltas = [v for v in (1, 2, 3, P(31) - 1, P(61), P(62), P(63) - 1, -1, -3, -P(31), -P(62), -P(63))]
        for start, limit, delta in itertools.product(numbers, numbers, deltas):
            if kind == "i32" and not -P(31) <= delta < P(31):
                continue
            if abs((limit - start) // delta) > 50:
                continue
            b.node("Range", [b.constant(v, kind) for v in (start, limit, delta)])
    size = b.node("Squeeze", [b.node("Shape", ["n"], end=1)])
    for far in EXTREME:  # from the extent on and to it
        for delta in (P(62), -P(62)):
            b.node("Range", [size, b.constant(far), b.constant(delta)])
            b.node("Range", [b.constant(far), size, b.constant(delta)])
    rng = np.random.default_rng(1)
    for _ in range(200):  # floats: the runtime subtracts in doubles
        start, step = (np.float32(rng.standard_normal() * 10.0 ** rng.integers(-2, 6)) for _ in range(2))
        limit = np.float32(start + step * np.float32(rng.integers(0, 30)))
        if abs((float(limit) - float(start)) / float(step)) < 60:
            b.node("Range", [b.constant(v, "f32") for v in (start, limit, step)])
    return b.model([helper.make_tensor_value_info("n", TensorProto.INT8, ["N", 0])])


def optimize(tool, model, options, folder):
    source, target = f"{folder}/in.onnx", f"{folder}/out.onnx"
    onnx.save(model, source)
    done = subprocess.run([tool, source, "-o", target, "-q", *options], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"graphopt ended with {done.returncode}: {done.stderr}")
    return onnx.load(target)


def results(session, given):
    try:
        return session.run(None, given)
    except Exception:  # noqa: BLE001 - what the runtime refuses
        return None


def examine(tool, label, model, all_feeds, folder):
    """Problems, the number of nodes that vanished, the number of runs that were compared."""
    problems, gone, compared = [], 0, 0
    original = runs.session(model)
    wanted = [(given, results(original, given)) for given in all_feeds]
    for options in ([], ["--exact"]):
        after = optimize(tool, model, options, folder)
        gone += len(model.graph.node) - len(after.graph.node)
        session = runs.session(after)
        for given, expected in wanted:
            if expected is None:
                continue
            compared += 1
            got = results(session, given)
            for k, name in enumerate(o.name for o in model.graph.output):
                wrong = "no result" if got is None else runs.bit_difference(expected[k], got[k])
                if wrong and not any(p.startswith(f"{label} {options}:") for p in problems):
                    node = next(n for n in model.graph.node if name in n.output)
                    extents = {n: list(v.shape) for n, v in given.items()}
                    problems.append(f"{label} {options}: {name} ({node.op_type}) for {extents}: {wrong}")
                    break
    return problems, gone, compared


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("graphopt")
    parser.add_argument("--graphs", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="folder for the models with problems")
    args = parser.parse_args()

    rng = np.random.default_rng(args.seed)
    names = ["N", "M", "K", "L"]
    small = [{"n": np.empty((e, 0), np.int8)} for e in (0, 1, 3, 4, 5)]
    large = small + [{"n": np.empty((P(31) - k, 0), np.int8)} for k in (1, 2)]
    work = [(f"slices, step {step}", slices(step), small) for step in SLICE_STEPS]
    work += [("symbolic slices", symbolic_slices(), large), ("ranges", ranges(), small)]
    for k in range(args.graphs):
        sizes = [[pick(rng, EXTENTS) for _ in names] for _ in range(4)]
        work.append((f"chain {k}", chain(rng, names), [feeds(names, s) for s in sizes]))

    problems, gone, compared = [], 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for label, model, all_feeds in work:
            found, vanished, runs_done = examine(args.graphopt, label, model, all_feeds, folder)
            if found and args.keep:
                onnx.save(model, pathlib.Path(args.keep, label.replace(" ", "_") + ".onnx"))
            problems += found
            gone += vanished
            compared += runs_done
    print(f"{len(work)} models, {compared} runs compared, {gone} nodes gone, {len(problems)} differ")
    for p in problems[:20]:
        print(p)
    return 1 if problems or gone == 0 or compared < len(work) else 0


if __name__ == "__main__":
    sys.exit(main())
