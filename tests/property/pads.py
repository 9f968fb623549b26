#!/usr/bin/env python3
# LONG: --count 3000 --seed 2
"""Random Pads in front of convolutions and pooling, before and after fold-pads.

  pads.py GRAPHOPT [--count N] [--seed S]

With --exact every bit must stay, on 1 and on 4 threads: the operands hold NaN, infinities, zeros of both
signs and denormals. At -O2 sums of a Conv may be rounded in another order, by at most 2 gamma sum |x||w| with
gamma = (n + 1) u / (1 - (n + 1) u), computed for each element in float64, and so may an AveragePool of all
that the Pad gives; of other pooling only the sign of a zero may change where no element is a NaN. A Pad that
--exact keeps must be one for which the head of fold_pads.cpp has a reason.
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

UNIT = 2.0**-24
WINDOWS = ["Conv", "Conv", "Conv", "ConvInteger", "QLinearConv", "AveragePool", "MaxPool"]


def elements(data, shape, dtype, kind):
    if np.dtype(dtype).kind != "f":
        info = np.iinfo(dtype)
        return data.integers(info.min, info.max + 1, shape).astype(dtype)
    if kind == "special":
        most = np.finfo(dtype).max
        tiny = np.finfo(dtype).tiny / 4
        some = [0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, most, -most, tiny]
        return data.choice(np.array(some, dtype), shape).astype(dtype)
    if kind == "zeros":
        return data.choice(np.array([0.0, -0.0, 1e-7, -1e-7], dtype), shape).astype(dtype)
    return data.standard_normal(shape).astype(dtype)


class Case:
    """One model, its operand, and what is known of it."""

    def __init__(self, rng, data):
        self.op = rng.choice(WINDOWS)
        pooling = self.op in ("AveragePool", "MaxPool")
        types = {
            "ConvInteger": [np.uint8],
            "QLinearConv": [np.uint8, np.int8],
            "MaxPool": [np.int8, np.float32],
        }
        dtype = rng.choice(types.get(self.op, [np.float32, np.float32, np.float16]))
        n = rng.choice([1, 2, 2, 3])
        sides = range(2 * n)
        kernel = rng.choice([[1] * n, [3] * n, [rng.randint(1, 5) for _ in range(n)]])
        at = {"strides": rng.choice([[1] * n, [rng.randint(1, 3) for _ in range(n)]])}
        if not pooling or self.op == "MaxPool":
            at["dilations"] = [1] * n if pooling or rng.random() < 0.7 else [2] * n
        automatic = (
            None if pooling or rng.random() < 0.75 else rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
        )
        if automatic:
            at.update(auto_pad=automatic, dilations=[1] * n)
        dilations = at.get("dilations", [1] * n)
        own = [rng.randint(0, 1) if not automatic and rng.random() < 0.4 else 0 for _ in sides]
        pads = [rng.randint(0, 2) for _ in sides]
        if pooling:
            kernel = [
                max(k, 1 + max(own[i] + pads[i], own[n + i] + pads[n + i])) for i, k in enumerate(kernel)
            ]
            # A window as large as what it reads is taken by another kernel.
            whole = self.op == "AveragePool" and rng.random() < 0.4
            if whole:
                kernel = [k + rng.randint(1, 6) for k in kernel]
            at["kernel_shape"] = kernel
        if self.op == "AveragePool":
            at["count_include_pad"] = 1
        reach = [d * (k - 1) + 1 for d, k in zip(dilations, kernel)]
        room = [own[i] + own[n + i] + pads[i] + pads[n + i] for i in range(n)]
        most = 1 if pooling and whole else 200 if n == 1 else 12
        extents = [max(1, reach[i] - room[i], rng.randint(1, most)) for i in range(n)]
        groups = 1 if pooling else rng.choice([1, 1, 1, 2, 5])
        inner, outer = rng.choice([1, 1, 2, 16, 140]), rng.choice([1, 2, 17])
        self.kind = rng.choice(["normal", "normal", "special", "zeros"])
        self.x = elements(data, [rng.randint(1, 2), groups * inner, *extents], dtype, self.kind)
        self.w = elements(data, [groups * outer, inner, *kernel], dtype, rng.choice(["normal", "zeros"]))
        self.terms = inner * int(np.prod(kernel))
        self.attributes, self.own, self.pads, self.groups = at, own, pads, groups
        value = 0.0
        inits, operands = [], ["p"]
        if not pooling:
            at["group"] = groups
            operands.append("w")
            inits.append(numpy_helper.from_array(self.w, "w"))
        if self.op == "MaxPool":
            value = -np.inf if np.dtype(dtype).kind == "f" else np.iinfo(dtype).min
        if self.op in ("ConvInteger", "QLinearConv"):
            value = int(data.integers(0, 100))
            inits += [numpy_helper.from_array(np.array(value, dtype), "z")]
            inits += [numpy_helper.from_array(np.array(0.03, np.float32), "s")]
            operands = ["p", "w", "z"] if self.op == "ConvInteger" else ["p", *"szwszsz"]
        inits.append(numpy_helper.from_array(np.array(value, dtype), "v"))
        full = [0, 0, *pads[:n], 0, 0, *pads[n:]]
        inits.append(numpy_helper.from_array(np.array(full, np.int64), "pads"))
        nodes = [
            helper.make_node("Pad", ["x", "pads", "v"], ["p"]),
            helper.make_node(self.op, operands, ["y"], **({} if "auto_pad" in at else {"pads": own}), **at),
        ]
        elem = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        result = onnx.TensorProto.INT32 if self.op == "ConvInteger" else elem
        same = at.get("auto_pad", "").startswith("SAME")
        dims = [f"d{i}" for i in range(n + 2)] if not pooling and not same else self.x.shape
        graph = helper.make_graph(
            nodes,
            "g",
            [helper.make_tensor_value_info("x", elem, dims)],
            [helper.make_tensor_value_info("y", result, [None] * (n + 2))],
            inits,
        )
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    def may_round(self):
        """Whether --exact has a reason to keep the Pad."""
        if self.op in ("AveragePool", "MaxPool"):
            return self.x.dtype.kind == "f"
        if self.op != "Conv" or any(self.own) or any(s != 1 for s in self.attributes["strides"]):
            return False
        kernel = self.w.shape[2:]
        return all(k == 1 for k in kernel) or (len(kernel) == 2 and self.w.shape[1] == 1)

    def is_global_mean(self):
        """Whether the window is all that the Pad gives, with no pads of its own."""
        n = len(self.own) // 2
        padded = [e + self.pads[i] + self.pads[n + i] for i, e in enumerate(self.x.shape[2:])]
        return self.op == "AveragePool" and not any(self.own) and padded == self.attributes["kernel_shape"]

    def bound(self, model):
        """How far an element may move: 2 gamma times the sum of all magnitudes, for a mean that of their
        shares. Of pooling only a mean of all that the Pad gives may."""
        if self.op != "Conv" and not self.is_global_mean():
            return 0.0
        sizes = onnx.ModelProto()
        sizes.CopyFrom(model)
        for t in sizes.graph.initializer:
            if t.name == "w":
                t.CopyFrom(numpy_helper.from_array(np.abs(self.w), "w"))
        k = (self.terms + 1) * UNIT
        total = session(sizes, 1).run(None, {"x": np.abs(self.x)})[0].astype(np.float64) * (1 + 2 * k)
        more = np.spacing(total.astype(self.x.dtype)).astype(np.float64) if self.x.dtype == np.float16 else 0
        return 2 * k / (1 - k) * total + more  # float16 is rounded at the end


def session(model, threads):
    o = ort.SessionOptions()
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    o.intra_op_num_threads, o.log_severity_level = threads, 4
    return ort.InferenceSession(model.SerializeToString(), o, providers=["CPUExecutionProvider"])


def same_bits(a, b):
    if a.dtype.kind != "f":
        return a.shape == b.shape and (a == b).all()
    both = np.isnan(a) & np.isnan(b)
    return a.shape == b.shape and (both | ((a == b) & (np.signbit(a) == np.signbit(b)))).all()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", type=executable)
    p.add_argument("--count", type=int, default=150)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    bad, folded, kept, rounded = 0, 0, 0, 0
    for seed in range(a.seed, a.seed + a.count):
        case, wrong = Case(random.Random(seed), np.random.default_rng(seed)), []
        if not any(case.pads):
            continue
        with tempfile.TemporaryDirectory() as folder:
            exact = optimized(a.tool, case.model, folder, "--passes=fold-pads", "--exact")
            loose = optimized(a.tool, case.model, folder, "--passes=fold-pads")
        for threads in (1, 4):
            before, after, moved = (
                session(m, threads).run(None, {"x": case.x})[0] for m in (case.model, exact, loose)
            )
            if not same_bits(before, after):
                wrong.append(f"--exact changes bits on {threads} threads")
            if case.kind == "normal":
                with np.errstate(all="ignore"):
                    d = np.abs(before.astype(np.float64) - moved.astype(np.float64))
                rounded += int((d > 0).any())
                if before.shape != moved.shape or (d > case.bound(case.model)).any():
                    wrong.append(f"-O2 is off by {d.max()} on {threads} threads")
        if any(n.op_type == "Pad" for n in loose.graph.node):
            wrong.append("-O2 keeps the Pad")
        if any(n.op_type == "Pad" for n in exact.graph.node):
            kept += 1
            if not case.may_round():
                wrong.append("--exact keeps the Pad")
        else:
            folded += 1
        for text in wrong:
            bad += 1
            print(f"seed {seed}, {case.op}, x {case.x.shape}, w {case.w.shape}, {case.attributes}: {text}")
    print(
        f"{folded} Pads folded with --exact, {kept} kept; {rounded} results at -O2 rounded otherwise; "
        f"{bad} wrong"
    )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
