#!/usr/bin/env python3
# LONG: --count 3000 --seed 2
"""Activations and normalizations in primitives, before and after they are raised: within the stated bounds.

  raised.py GRAPHOPT [--count N] [--seed S]

Random spellings (orders of operands and factors, Pow or Mul, Div or a reciprocal) over random shapes and
magnitudes, rows with means of up to 10^5 deviations and rows of one number among them. Both models run in
ONNX Runtime without its own rewrites. Each element must be within the bound that the head of
src/passes/raise_norms.cpp or raise_activations.cpp states; infinities and NaN in a row must give the same
ones. Every model must be raised, and with --exact and at -O1 not a bit may change.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import runs

U = 2.0**-24


class Builder:
    def __init__(self, rng):
        self.rng, self.nodes, self.constants = rng, [], []

    def constant(self, value, dtype=np.float32):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def node(self, kind, *operands, result=None, **attributes):
        names = [o if isinstance(o, str) else self.constant(o) for o in operands]
        if kind in ("Add", "Mul") and self.rng.random() < 0.5:
            names.reverse()
        result = result or f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, names, [result], **attributes))
        return result

    def product(self, a, b, c, result):
        """Of three factors, in any order."""
        factors = [a, b, c]
        self.rng.shuffle(factors)
        return self.node("Mul", self.node("Mul", *factors[:2]), factors[2], result=result)

    def square(self, x):
        return self.node("Pow", x, 2) if self.rng.random() < 0.5 else self.node("Mul", x, x)

    def model(self, dims, opset, parameters=()):
        names = [str(d) if self.rng.random() < 0.5 else f"N{i}" for i, d in enumerate(dims[:-1])]
        shape = [int(d) if d.isdigit() else d for d in names] + [dims[-1]]
        infos = [helper.make_tensor_value_info("x", 1, shape)]
        infos += [helper.make_tensor_value_info(p, 1, [dims[-1]]) for p in parameters]
        graph = helper.make_graph(
            self.nodes, "g", infos, [helper.make_tensor_value_info("y", 1, shape)], self.constants
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def gelu(b):
    if b.rng.random() < 0.5:
        inner = b.node("Div", "x", 2**0.5) if b.rng.random() < 0.5 else b.node("Mul", "x", 0.5**0.5)
        e = b.node("Erf", inner)
    elif b.rng.random() < 0.5:
        cube = b.node("Pow", "x", 3) if b.rng.random() < 0.5 else b.node("Mul", b.square("x"), "x")
        total = b.node("Add", "x", b.node("Mul", cube, 0.044715))
        e = b.node("Tanh", b.node("Mul", total, (2 / np.pi) ** 0.5))
    else:
        factor = b.node("Add", b.node("Mul", b.square("x"), 0.044715), 1)
        e = b.node("Tanh", b.product("x", factor, (2 / np.pi) ** 0.5, None))
    b.product("x", b.node("Add", e, 1), 0.5, "y")
    return 20, lambda x: 32 * U * np.abs(x)


def hard_sigmoid(b):
    d, c = b.rng.choice([(6.0, 3.0), (5.0, 2.5), (4.0, 1.0), (6.0, -2.0)])
    if b.rng.random() < 0.5:
        clipped = b.node("Clip", b.node("Add", "x", c), 0, d)
        _ = (
            b.node("Div", clipped, d, result="y")
            if b.rng.random() < 0.5
            else b.node("Mul", clipped, 1 / d, result="y")
        )
    else:
        scaled = b.node("Div", "x", d) if b.rng.random() < 0.5 else b.node("Mul", "x", 1 / d)
        b.node("Clip", b.node("Add", scaled, c / d), 0, 1, result="y")
    return 13, lambda x: 8 * U * (1 + abs(c / d)) + 0 * x


def hard_swish(b):
    clipped = b.node("Clip", b.node("Add", "x", 3), 0, 6)
    if b.rng.random() < 0.5:
        b.product("x", clipped, 1 / 6, "y")
    else:
        b.node("Div", b.node("Mul", "x", clipped), 6, result="y")
    return 14, lambda x: 8 * U * (1 + np.abs(x)) * 1.5


def mish(b):
    b.node("Mul", "x", b.node("Tanh", b.node("Softplus", "x")), result="y")
    return 18, lambda x: 8 * U * (1 + np.abs(x))


def normalization(b, rms):
    opset = b.rng.choice([23, 24] if rms else [17, 18, 20, 23])
    axes = b.constant([-1], np.int64)

    def mean(v):
        return b.node("ReduceMean", v, axes) if opset >= 18 else b.node("ReduceMean", v, axes=[-1])

    epsilon = b.rng.choice([1e-12, 1e-5, 1e-2])
    d = "x" if rms else b.node("Sub", "x", mean("x"))
    total = b.node("Add", mean(b.square(d)), epsilon)
    root = b.node("Sqrt", total) if b.rng.random() < 0.5 else b.node("Pow", total, 0.5)
    form = b.rng.randrange(3)
    if form == 0:
        quotient = b.node("Div", d, root)
    else:
        quotient = b.node("Mul", d, b.node("Reciprocal", root) if form == 1 else b.node("Div", 1, root))
    scaled = b.node("Mul", quotient, "s", result="y" if rms else None)
    if not rms:
        b.node("Add", scaled, "b", result="y")

    def bound(x, s=1, offset=0):
        x = x.astype(np.longdouble)
        n = x.shape[-1]
        centred = x if rms else x - x.mean(-1, keepdims=True)
        root = np.sqrt((centred * centred).mean(-1, keepdims=True) + epsilon)
        y = centred / root
        if rms:
            return 4 * (n + 8) * U * np.abs(y * s)
        ratio = np.abs(x).max(-1, keepdims=True) / root
        lost = (n + 8) * U * ratio
        return np.where(lost < 0.25, 4 * lost * (1 + np.abs(y)) * np.abs(s) + 4 * U * np.abs(offset), np.inf)

    return opset, bound


FAMILIES = {
    "gelu": gelu, "hard_sigmoid": hard_sigmoid, "hard_swish": hard_swish, "mish": mish,
    "layer_norm": lambda b: normalization(b, False), "rms_norm": lambda b: normalization(b, True),
}  # fmt: skip


def rows_of(data, dims):
    """Numbers of many magnitudes, with means that are larger; some rows are one number throughout."""
    x = data.standard_normal(dims) * 10.0 ** data.uniform(-3, 2, (*dims[:-1], 1))
    x += np.abs(x).max() * 10.0 ** data.uniform(-6, 5, (*dims[:-1], 1)) * data.integers(0, 2, (*dims[:-1], 1))
    x = np.where(data.random((*dims[:-1], 1)) < 0.1, x[..., :1], x)
    return x.astype(np.float32)


def check(tool, seed, folder):
    """A text when something is wrong."""
    rng, data = random.Random(seed), np.random.default_rng(seed)
    name = rng.choice(list(FAMILIES))
    b = Builder(rng)
    opset, bound = FAMILIES[name](b)
    norm = name.endswith("norm")
    dims = [rng.randrange(1, 5) for _ in range(rng.randrange(1, 3))] + [rng.choice([2, 3, 8, 33, 200])]
    parameters = {"layer_norm": ("s", "b"), "rms_norm": ("s",)}.get(name, ())
    model = b.model(dims, opset, parameters)
    source, target = f"{folder}/before.onnx", f"{folder}/after.onnx"
    onnx.save(model, source)
    for strict in (["-O1"], ["--exact"]):
        subprocess.run([tool, source, "-o", target, "-q", *strict], check=True)
        kinds = sorted(n.op_type for n in onnx.load(target).graph.node)
        if kinds != sorted(n.op_type for n in model.graph.node):
            return f"{name}: {strict} changes nodes"
    subprocess.run([tool, source, "-o", target, "-q"], check=True)
    left = [n.op_type for n in onnx.load(target).graph.node]
    if len(left) != 1:
        return f"{name}: is not raised: {left}"
    feeds = {"x": rows_of(data, dims)}
    if not norm:
        feeds["x"] = np.where(np.abs(feeds["x"]) > 1e3, feeds["x"] % 50, feeds["x"])
    for p in parameters:
        feeds[p] = data.uniform(-4, 4, dims[-1:]).astype(np.float32)
    sessions = [runs.session(f) for f in (source, target)]
    before, after = (s.run(None, feeds)[0].astype(np.longdouble) for s in sessions)
    limit = bound(feeds["x"], *(feeds[p] for p in parameters))
    wrong = ~(np.abs(before - after) <= limit)
    if wrong.any():
        k = int(np.flatnonzero(wrong)[0])
        allowed = np.broadcast_to(limit, before.shape).flat[k]
        return f"{name}: {before.flat[k]} became {after.flat[k]}, bound {allowed}"
    for special in (np.nan, np.inf, -np.inf):
        feeds["x"].flat[data.integers(feeds["x"].size)] = special
        before, after = (s.run(None, feeds)[0] for s in sessions)
        same = np.isfinite(before) == np.isfinite(after)
        same &= np.isfinite(before) | (np.isnan(before) & np.isnan(after)) | (before == after)
        if not same.all():
            return f"{name}: {special} gives other numbers that are not finite"
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--count", type=int, default=150)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(a.seed, a.seed + a.count):
            problem = check(a.tool, seed, folder)
            if problem:
                bad += 1
                print(f"seed {seed}: {problem}")
    print(f"{a.count} graphs, {bad} bad")
    return 1 if bad or a.count < 1 else 0


if __name__ == "__main__":
    sys.exit(main())
