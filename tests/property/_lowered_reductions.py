"""Cases of lowered.py for reductions."""

import numpy as np
from _lowered_case import UNIT, single
from onnx import helper


def sums(op, axes, keeps):
    def bound(feed, _, y):
        x = np.abs(feed["x"].astype(np.float64))
        over = tuple(axes) if axes else tuple(range(x.ndim))
        count = int(np.prod([x.shape[a] for a in over]))
        mean = {"ReduceMean": np.mean, "ReduceSum": np.sum, "ReduceL1": np.sum}.get(op if y.size else None)
        part = np.abs(y) if mean is None else mean(x, axis=over, keepdims=keeps)
        return 2 * (count + 2) * UNIT * part + 2.0**-149

    return bound


def cases(data):
    def of(op, dims, axes, takes, expansion, opset, keeps=1, **more):
        attributes, constants = {"keepdims": keeps}, {}
        old = opset < (13 if op == "ReduceSum" else 18)
        if axes is not None and old:
            attributes["axes"] = axes
        elif axes is not None:
            constants["a"] = np.array(axes, np.int64)
        more.setdefault("sizes", [{"n": 4}, {"n": 1}, {"n": 0}])
        more.setdefault("kinds", ("finite",))
        dtype = more.pop("dtype", "float")
        inputs = {"x": (dtype, dims)}
        made = helper.make_node(op, ["x", *constants], ["y"], **attributes)
        more.setdefault("bound", sums(op, axes, bool(keeps)))
        label = f"{op} {dims} {axes} keepdims={keeps} {dtype}"
        return single(data, label, made, inputs, takes, expansion, constants=constants, opset=opset, **more)

    for opset in (11, 13, 18, 20):
        for keeps in (0, 1):
            for axes, dims in (([2, 3], ["n", 3, 4, 5]), ([-1, -2], ["n", 3, 4, 5]), ([2], ["n", 3, 7])):
                yield of(
                    "ReduceMean", dims, axes, ["GlobalAveragePool", "Squeeze"], "mean-pool", opset, keeps
                )
            for op, name in (("ReduceMean", "mean-product"), ("ReduceSum", "sum-product")):
                for axes, dims in (([-1], [2, "n", 7]), ([1], ["n", 200]), ([0], [9]), ([2], ["n", 3, 5])):
                    yield of(op, dims, axes, ["MatMul", "Squeeze"], name, opset, keeps)
            for axes, dims in (([-1], [2, "n", 7]), ([0, 2], [3, "n", 5]), (None, [3, 4])):
                yield of("ReduceMean", dims, axes, ["ReduceSum", "Mul", "Squeeze"], "mean-sum", opset, keeps)
                yield of("ReduceSum", dims, axes, ["ReduceMean", "Mul", "Squeeze"], "sum-mean", opset, keeps)
            for axes, dims in (([-1], [2, "n", 7]), ([0, 1], [3, "n", 5]), (None, [3, "n"])):
                takes = ["ReduceSum", "Abs", "Mul", "Sqrt", "Log", "ReduceMax", "Neg"]
                yield of("ReduceL1", dims, axes, takes, "reduce-l1", opset, keeps)
                yield of("ReduceL2", dims, axes, takes, "reduce-l2", opset, keeps)
                yield of("ReduceSumSquare", dims, axes, takes, "reduce-square", opset, keeps)
                some = [{"n": 4}, {"n": 1}]
                yield of(
                    "ReduceMin",
                    dims,
                    axes,
                    takes,
                    "min-max",
                    opset,
                    keeps,
                    sizes=some,
                    bound=lambda feed, i, y: np.zeros(()),
                    kinds=("finite", "special"),
                )
            case = of(
                "ReduceLogSum",
                [2, "n", 7],
                [-1],
                ["ReduceSum", "Log"],
                "reduce-log",
                opset,
                keeps,
                bound=lambda feed, i, y: 20 * UNIT * (1 + np.abs(y)),
            )
            for feed in case.feeds:
                feed["x"] = np.abs(feed["x"])
            yield case
    # What stays.
    yield of(
        "ReduceMean", ["n", 3, 4, "n"], [2, 3], ["GlobalAveragePool", "Squeeze"], None, 18, sizes=[{"n": 4}]
    )
    yield of("ReduceSum", [2, "n"], [1], ["MatMul", "Squeeze", "ReduceMean", "Mul"], None, 18)
    yield of("ReduceMean", [2, 0], [1], ["MatMul", "Squeeze", "ReduceSum", "Mul"], None, 18)
    yield of("ReduceSum", [2, 3], [1], ["MatMul", "Squeeze"], None, 18, dtype="int64", bound=None)
    yield of("ReduceMin", [2, 3], [1], ["ReduceMax", "Neg"], None, 18, dtype="int32", bound=None)
    yield of("ReduceMean", [2, 3], [1], ["MatMul", "Squeeze"], None, 18, options=("--exact",))
    yield of("ReduceMean", [2, 3], [1], ["MatMul", "Squeeze"], None, 18, options=("--lower=never",))
