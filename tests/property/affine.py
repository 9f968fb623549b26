#!/usr/bin/env python3
# LONG: --count 3000 --seed 2
"""Products with affine maps on both sides, before and after fold-affine: within what rounding can do.

  affine.py GRAPHOPT [--count N] [--seed S]

Random Conv, ConvTranspose, Gemm and MatMul nodes with groups, pads, dilations, strides, flags and biases,
with up to two of BatchNormalization, Mul, Div, Add and Sub upstream and downstream, some of which must not be
folded. Both models run in ONNX Runtime without its own rewrites, on finite inputs.

The bound is computed for each element by the same graph with every number replaced by its magnitude and every
difference by a sum: the size of all terms, without cancellation. Each of the two models rounds fewer than
K + MORE times per element, K being the terms of the product, so they differ by
2 (K + MORE) u / (1 - (K + MORE) u) times that size at most. With --exact and at -O1 not a bit may change.
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

UNIT = 2.0**-24  # of a rounding to float32
MORE = 24  # roundings of the maps and their constants, on either side
PRODUCTS = ("Conv", "ConvTranspose", "Gemm", "MatMul")


class Case:
    """A model in the making, and a second one with the magnitudes of its constants."""

    def __init__(self, seed):
        self.rng, self.data = random.Random(seed), np.random.default_rng(seed)
        self.opset = self.rng.choice([7, 9, 11, 13, 14, 15, 17, 19, 21])
        self.nodes, self.size_nodes, self.inits, self.sizes = [], [], [], []

    def constant(self, dims, least=0.0):
        a = self.data.standard_normal(dims)
        a = np.sign(a) * (np.abs(a) + least) if least else a
        return self.named(a)

    def named(self, a):
        name = f"k{len(self.inits)}"
        a = np.asarray(a, np.float32)
        self.inits.append(numpy_helper.from_array(a, name))
        self.sizes.append(numpy_helper.from_array(np.abs(a), name))
        return name

    def node(self, kind, operands, size=None, **attributes):
        y = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [y], **attributes))
        size_kind, size_operands = size or (kind, operands)
        self.size_nodes.append(
            helper.make_node(
                size_kind,
                size_operands,
                [y],
                **{k: abs(v) if k in ("alpha", "beta") else v for k, v in attributes.items()},
            )
        )
        return y

    def chain(self, x, rank, axis, channels):
        for _ in range(self.rng.choice([0, 1, 1, 2])):
            x = self.map(x, rank, axis, channels)
        return x

    def map(self, x, rank, axis, channels):
        rng = self.rng
        kind = rng.choice(["BatchNormalization"] * (axis == 1) + ["Mul", "Div", "Add", "Sub"])
        if kind == "BatchNormalization":
            return self.normalization(x, rank, channels)
        dims = [1] * rank
        if rng.random() < 0.8:
            dims[axis] = channels
        if rng.random() < 0.5:  # without leading ones
            while dims and dims[0] == 1:
                dims.pop(0)
        k = self.constant(dims, 0.25)
        if kind == "Div":
            one_over = f"{k}_size"
            self.sizes.append(numpy_helper.from_array(1 / numpy_helper.to_array(self.sizes[-1]), one_over))
            return self.node("Div", [x, k], ("Mul", [x, one_over]))
        operands = [x, k] if rng.random() < 0.6 else [k, x]
        return self.node(kind, operands, ("Add" if kind == "Sub" else kind, operands))

    def normalization(self, x, rank, channels):
        scale, bias, mean = (self.constant([channels]) for _ in range(3))
        var = self.named(np.abs(self.data.standard_normal(channels)) + 0.1)
        # In magnitudes: |x| |s| + (|mean| |s| + |bias|), with s = scale / root.
        s, b, m = (numpy_helper.to_array(t) for t in self.sizes[-4:-1])
        root = np.sqrt(numpy_helper.to_array(self.sizes[-1]))
        dims = [channels] + [1] * (rank - 2)
        name = f"{scale}_size"
        self.sizes.append(numpy_helper.from_array((s / root).reshape(dims).astype(np.float32), name))
        offset = (m * s / root + b).reshape(dims).astype(np.float32)
        self.sizes.append(numpy_helper.from_array(offset, name + "_offset"))
        y = f"v{len(self.nodes)}"
        extra = {"epsilon": self.rng.choice([1e-5, 1e-3])}
        self.nodes.append(helper.make_node("BatchNormalization", [x, scale, bias, mean, var], [y], **extra))
        self.size_nodes.append(helper.make_node("Mul", [x, name], [y + "_scaled"]))
        self.size_nodes.append(helper.make_node("Add", [y + "_scaled", name + "_offset"], [y]))
        return y

    def convolution(self, kind):
        rng = self.rng
        spatial, group = rng.choice([1, 2, 2, 3]), rng.choice([1, 1, 2, 3])
        ins, outs = group * rng.choice([1, 2, 4]), group * rng.choice([1, 2, 3])
        kernel = [rng.choice([1, 2, 3]) for _ in range(spatial)]
        x = self.chain("x", spatial + 2, 1, ins)
        dims = [outs, ins // group] if kind == "Conv" else [ins, outs // group]
        operands = [x, self.constant(dims + kernel)]
        if rng.random() < 0.5:
            operands.append(self.constant([outs]))
        at = {"group": group, "strides": [rng.choice([1, 2]) for _ in kernel]}
        at["dilations"] = [rng.choice([1, 2]) for _ in kernel]
        form = rng.choice(["none", "zero", "pads", "VALID"] + ["SAME_UPPER"] * (kind == "Conv"))
        if form == "pads":
            at["pads"] = [rng.choice([0, 1]) if k > 1 else 0 for k in kernel * 2]
        elif form == "zero":
            at["pads"] = [0] * 2 * spatial
        elif form != "none" and not (form == "VALID" and kind == "ConvTranspose"):
            at["auto_pad"] = form
        if form == "SAME_UPPER":
            at["dilations"] = [1] * spatial
        y = self.chain(self.node(kind, operands, **at), spatial + 2, 1, outs)
        terms = ins * int(np.prod(kernel))
        return y, [rng.choice([1, 2]), ins] + [rng.choice([5, 6, 9]) for _ in kernel], terms

    def product(self, kind):
        rng = self.rng
        rank = 2 if kind == "Gemm" else rng.choice([1, 2, 2, 3])
        inner, columns, rows = rng.choice([1, 3, 17]), rng.choice([1, 2, 3, 8]), rng.choice([1, 3, 4])
        if kind == "MatMul":
            x = self.chain("x", rank, rank - 1, inner)
            y = self.node("MatMul", [x, self.constant([inner, columns])])
            return self.chain(y, rank, rank - 1, columns), [2, rows, inner][3 - rank :], inner
        at = {k: rng.choice(v) for k, v in {"alpha": [1.0, 0.3], "beta": [1.0, -2.0]}.items()}
        at |= {"transA": rng.randint(0, 1), "transB": rng.randint(0, 1)}
        x = self.chain("x", 2, 1 - at["transA"], inner)
        operands = [x, self.constant([columns, inner] if at["transB"] else [inner, columns])]
        if self.opset < 11 or rng.random() < 0.7:
            operands.append(
                self.constant(rng.choice([[], [1], [columns], [1, columns], [rows, 1], [rows, columns]]))
            )
        y = self.chain(self.node("Gemm", operands, **at), 2, 1, columns)
        return y, [inner, rows] if at["transA"] else [rows, inner], inner

    def build(self):
        kind = self.rng.choice(PRODUCTS)
        y, shape, terms = self.convolution(kind) if "Conv" in kind else self.product(kind)
        dims = list(shape)
        if "Conv" in kind or kind == "MatMul" and len(shape) > 1:
            dims[0] = "N"
        rank = len(shape)

        def model(nodes, inits, opset):
            elem = onnx.TensorProto.FLOAT
            x = helper.make_tensor_value_info("x", elem, dims)
            out = helper.make_tensor_value_info(y, elem, [None] * rank)
            g = helper.make_graph(nodes, "g", [x], [out], inits)
            return helper.make_model(g, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)

        return (
            model(self.nodes, self.inits, self.opset),
            model(self.size_nodes, self.sizes, self.opset),
            shape,
            terms,
        )


def run(model, x):
    o = ort.SessionOptions()
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    o.intra_op_num_threads, o.log_severity_level = 1, 4
    return ort.InferenceSession(model.SerializeToString(), o, providers=["CPUExecutionProvider"]).run(
        None, {"x": x}
    )[0]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("--count", type=int, default=100)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    bad = folded = refused = 0
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.onnx", Path(folder) / "out.onnx"

        def optimized(*options):
            subprocess.run([a.tool, str(source), "-o", str(target), "-q", *options], check=True)
            return onnx.load(target)

        for seed in range(a.seed, a.seed + a.count):
            case = Case(seed)
            model, sizes, shape, terms = case.build()
            onnx.save(model, source)
            x = case.data.standard_normal(shape).astype(np.float32)
            try:
                before = run(model, x)
            except Exception:  # ONNX Runtime refuses this combination
                refused += 1
                continue
            wrong = []
            for option in ("--exact", "-O1"):
                if before.tobytes() != run(optimized(option), x).tobytes():
                    wrong.append(f"{option} changes bits")
            made = optimized("--passes=fold-affine,dead-code", "--verify-each")
            onnx.checker.check_model(made, full_check=True)
            folded += len(model.graph.node) - len(made.graph.node)
            after = run(made, x)
            size = run(sizes, np.abs(x)).astype(np.float64)
            k = (terms + MORE) * UNIT
            most = 2 * k / (1 - k) / (1 - k) * size  # the size is rounded, too
            if before.shape != after.shape or before.shape != size.shape:
                wrong.append(f"{before.shape} became {after.shape}, by magnitude {size.shape}")
            else:
                d = np.abs(before.astype(np.float64) - after)
                worst = max(worst, float((d / np.maximum(most, 1e-30)).max(initial=0)))
                if not (d <= most).all():
                    wrong.append(f"off by {np.nanmax(d)}")
            if wrong:
                bad += 1
                print(f"seed {seed}: {'; '.join(wrong)}\n{onnx.printer.to_text(model)[:2500]}")
    print(
        f"{a.count} graphs, {bad} wrong, {refused} that do not run; {folded} maps folded, "
        f"results off by at most {worst:.2g} of the bound"
    )
    return 1 if bad or not folded or refused > a.count // 2 else 0


if __name__ == "__main__":
    sys.exit(main())
