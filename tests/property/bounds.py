#!/usr/bin/env python3
# LONG: --count 4000 --seed 2
"""Chains of Relu, Clip, Max and Min before and after merge-bounds, at every length from 1 to 40.

  bounds.py GRAPHOPT [--count N] [--seed S]

Each chain runs on vectors of all lengths up to 40, so that each element is computed by a vector loop and by
its tail, and on a matrix: NaN, infinities, zeros of both signs, the greatest and smallest numbers, the bounds
and their neighbours stand at random places. With --exact every bit must stay; at -O2 the sign of a zero may
change and nothing else. Bounds are of those numbers, too: absent, infinite, crossed, zeros, NaN.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib.tool import executable, optimized  # noqa: E402

LENGTHS = range(1, 41)
FLOATS = [np.float32, np.float32, np.float64, np.float16]
INTEGERS = [np.int8, np.uint8, np.int32, np.uint32, np.int64, np.uint64]


def numbers(dtype):
    if np.dtype(dtype).kind == "f":
        i = np.finfo(dtype)
        some = [0.0, -0.0, 1, -1, 6, -6, 0.5, np.inf, -np.inf, i.max, i.min, i.tiny / 4, -i.tiny / 4]
        return np.array(some, dtype)
    i = np.iinfo(dtype)
    return np.array([v for v in (0, 1, -1, 6, -6, 2, i.max, i.min, i.max - 1) if i.min <= v <= i.max], dtype)


def chain(rng, dtype, opset):
    """(nodes, initializers) of 2 to 4 limits."""
    bounds = numbers(dtype)
    kinds = ["Clip", "Clip", "Max", "Min"]
    if np.dtype(dtype).kind == "f" or (opset >= 14 and dtype in (np.int8, np.int32)):
        kinds += ["Relu", "Relu"]
    nodes, inits, value = [], [], "x"

    def constant(name, shape):
        number = np.nan if np.dtype(dtype).kind == "f" and rng.random() < 0.03 else rng.choice(bounds)
        inits.append(numpy_helper.from_array(np.full(shape, number, dtype), name))
        return name

    length = rng.randint(2, 4)
    for k in range(length):
        kind, result = rng.choice(kinds), f"v{k}" if k + 1 < length else "y"
        operands, attributes = [value], {}
        if kind == "Clip" and opset < 11:
            for name in ("min", "max"):
                if rng.random() < 0.8:
                    attributes[name] = float(rng.choice(bounds))
        elif kind == "Clip":
            operands += [constant(f"c{k}{i}", ()) if rng.random() < 0.85 else "" for i in range(2)]
        elif kind != "Relu":
            operands.append(constant(f"c{k}", rng.choice([(), (), (1,)])))
            rng.shuffle(operands)
        nodes.append(helper.make_node(kind, operands, [result], **attributes))
        value = result
    return nodes, inits


def model_of(rng, dtype, opset):
    nodes, inits = chain(rng, dtype, opset)
    elem = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    values = [helper.make_tensor_value_info(v, elem, ["n", "m"]) for v in ("x", "y")]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], inits)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def session(model):
    o = ort.SessionOptions()
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    o.intra_op_num_threads, o.log_severity_level = 1, 4
    return ort.InferenceSession(model.SerializeToString(), o, providers=["CPUExecutionProvider"])


def same(a, b, bits):
    if a.shape != b.shape:
        return False
    equal = a == b
    if a.dtype.kind == "f":
        if bits:
            equal &= np.signbit(a) == np.signbit(b)
        equal |= np.isnan(a) & np.isnan(b)
    return bool(equal.all())


def operands(rng, data, dtype):
    pool = numbers(dtype)
    if np.dtype(dtype).kind == "f":
        near = np.concatenate([np.nextafter(pool, dtype(1)), np.nextafter(pool, dtype(-1))])
        pool = np.concatenate([pool, near, np.array([np.nan, 0.0, -0.0, -0.0, 3, -3], dtype)])
    for n in LENGTHS:
        yield data.choice(pool, (1, n))
        yield np.full((1, n), rng.choice(pool), dtype)
    yield data.choice(pool, (7, 13))
    yield np.zeros((0, 3), dtype)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", type=executable)
    p.add_argument("--count", type=int, default=200)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    bad, shorter, runs = 0, 0, 0
    for seed in range(a.seed, a.seed + a.count):
        rng, data = random.Random(seed), np.random.default_rng(seed)
        dtype, opset = rng.choice(FLOATS + FLOATS + INTEGERS), rng.choice([8, 11, 12, 14, 18])
        model = model_of(rng, dtype, opset)
        try:
            before = session(model)
        except Exception:  # ONNX Runtime has not every operator for every type and opset
            continue
        with tempfile.TemporaryDirectory() as folder:
            exact = optimized(a.tool, model, folder, "--passes=merge-bounds", "--exact")
            loose = optimized(a.tool, model, folder, "--passes=merge-bounds")
        shorter += len(loose.graph.node) < len(model.graph.node)
        after, moved, wrong = session(exact), session(loose), set()
        for x in operands(rng, data, dtype):
            first = before.run(None, {"x": x})[0]
            runs += 1
            if not same(first, after.run(None, {"x": x})[0], bits=True):
                wrong.add("--exact changes bits")
            if not same(first, moved.run(None, {"x": x})[0], bits=False):
                wrong.add("-O2 changes numbers")
        for text in sorted(wrong):
            bad += 1
            print(f"seed {seed}: {text}\n{onnx.printer.to_text(model)}\n=> {onnx.printer.to_text(exact)}")
    print(f"{runs} runs; {shorter} chains became shorter; {bad} wrong")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
