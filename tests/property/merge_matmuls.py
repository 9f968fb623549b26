#!/usr/bin/env python3
# LONG: --count 1000 --seed 2
"""Products of one value, before and after merge-matmuls: within what rounding can do, and not a bit beyond.

  merge_matmuls.py GRAPHOPT [--count N] [--seed S]

Random graphs of 2 to 5 MatMuls or Gemms of one value with constant weights: widths that are no multiple of a
vector, inner dims up to 600, every alpha, beta, transA and transB, biases of all forms, Adds that read the
products. Two ways to add up K products, each within gamma = K u / (1 - K u) of the true sum times sum |x||w|,
differ by 2 gamma sum |x||w| at most; alpha, the bias and an Add round once more each. The bound is computed
for each element in float64. Merged or not must be as expected, too.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, numpy_helper

UNIT = {np.float32: 2.0**-24, np.float64: 2.0**-53}  # of a rounding
MORE = 6  # roundings beside the sum: alpha, beta, bias and Add, on either side


def graph(rng, data):
    """(model, [(name, output, its bound from x as a function)])"""
    dtype = rng.choice([np.float32, np.float32, np.float64])
    kind, inner, n = rng.choice(["MatMul", "Gemm"]), rng.choice([1, 3, 16, 65, 600]), rng.randint(2, 5)
    rank = 2 if kind == "Gemm" else rng.choice([1, 2, 3])
    at = (
        {
            k: rng.choice(v)
            for k, v in {"alpha": [1.0, 0.3], "beta": [1.0, -2.0], "transA": [0, 1], "transB": [0, 1]}.items()
        }
        if kind == "Gemm"
        else {}
    )
    shape = (
        ([inner, "m"] if at.get("transA") else ["m", inner])
        if kind == "Gemm"
        else [2, "m", inner][3 - rank :]
    )
    biased, added = kind == "Gemm" and rng.random() < 0.5, rng.random() < 0.5
    inits, nodes, outs = [], [], []

    def constant(name, dims):
        a = data.standard_normal(dims).astype(dtype)
        inits.append(numpy_helper.from_array(a, name))
        return a.astype(np.float64)

    for i in range(n):
        columns = rng.choice([1, 2, 7, 16, 33, 130])
        w = constant(f"w{i}", [columns, inner] if at.get("transB") else [inner, columns])
        w = w.T if at.get("transB") else w
        operands, size = ["x", f"w{i}"], 0.0
        if biased:
            size = np.abs(
                at["beta"] * constant(f"b{i}", rng.choice([[], [1], [1, 1], [columns], [1, columns]]))
            )
            operands.append(f"b{i}")
        nodes.append(helper.make_node(kind, operands, [f"p{i}"], **at))
        if added:
            size = size + np.abs(constant(f"c{i}", [columns]))
            nodes.append(helper.make_node("Add", [f"p{i}", f"c{i}"], [f"y{i}"]))
        else:
            nodes.append(helper.make_node("Identity", [f"p{i}"], [f"y{i}"]))

        def bound(x, w=w, size=size):
            x = np.abs(x.astype(np.float64))
            total = abs(at.get("alpha", 1.0)) * ((x.T if at.get("transA") else x) @ np.abs(w)) + size
            k = (inner + MORE) * UNIT[dtype]
            return 2 * k / (1 - k) * total

        outs.append((f"y{i}", bound))
    elem = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    g = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", elem, shape)],
        [helper.make_tensor_value_info(o, elem, [None] * rank) for o, _ in outs],
        inits,
    )
    model = helper.make_model(
        g, opset_imports=[helper.make_opsetid("", rng.choice([11, 13, 17, 18]))], ir_version=8
    )
    return model, outs, shape, dtype


def session(model):
    o = ort.SessionOptions()
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    o.intra_op_num_threads, o.log_severity_level = 1, 4
    return ort.InferenceSession(model.SerializeToString(), o, providers=["CPUExecutionProvider"])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("--count", type=int, default=60)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    bad = differing = 0
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.onnx", Path(folder) / "out.onnx"
        for seed in range(a.seed, a.seed + a.count):
            data = np.random.default_rng(seed)
            model, outs, shape, dtype = graph(random.Random(seed), data)
            onnx.save(model, source)
            subprocess.run([a.tool, str(source), "-o", str(target), "-q", "-O3"], check=True)
            merged = onnx.load(target)
            onnx.checker.check_model(merged, full_check=True)
            products = sum(n.op_type in ("MatMul", "Gemm") for n in merged.graph.node)
            wrong = [] if products == 1 else [f"{products} products are left"]
            first, second = session(model), session(merged)
            for m in (1, 5, 0, 40):
                x = data.standard_normal([m if d == "m" else d for d in shape]).astype(dtype)
                for (name, bound), before, after in zip(
                    outs, first.run(None, {"x": x}), second.run(None, {"x": x})
                ):
                    if before.shape != after.shape:
                        wrong.append(f"{name}: {before.shape} became {after.shape}")
                        continue
                    d, most = np.abs(before.astype(np.float64) - after), bound(x)
                    differing += int((d > 0).any())
                    if d.size:
                        worst = max(worst, float((d / most).max()))
                    if (d > most).any():
                        wrong.append(f"{name}: off by {d.max()} with m = {m}")
            if wrong:
                bad += 1
                print(f"seed {seed}: {'; '.join(wrong)}\n{onnx.printer.to_text(model)[:1500]}")
    print(
        f"{a.count} graphs, {bad} wrong; {differing} results rounded otherwise, "
        f"by at most {worst:.2g} of the bound"
    )
    return 1 if bad or not a.count else 0


if __name__ == "__main__":
    sys.exit(main())
