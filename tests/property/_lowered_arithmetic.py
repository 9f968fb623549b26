"""Cases of lowered.py for elementwise arithmetic."""

import numpy as np
from _lowered_case import UNIT, single
from onnx import helper

SIZES = [{"n": 40}, {"n": 1}, {"n": 0}]


def cases(data):
    def of(op, count, takes, expansion, opset=13, bound=None, constants=None, dtype="float", **more):
        constants = constants or {}
        names = ["x", *"bcd"[: count - 1]]
        shapes = [[3, "n"], ["n"], [3, 1], [1]]
        inputs = {k: (dtype, s) for k, s in zip(names, shapes, strict=False) if k not in constants}
        more.setdefault("sizes", SIZES)
        label = f"{op} of {count} {[v.tolist() for v in constants.values()] or ''} {dtype}"
        made = helper.make_node(op, names, ["y"])
        return single(
            data, label, made, inputs, takes, expansion, opset=opset, bound=bound, constants=constants, **more
        )

    def sums(feed, _, y, mean=1):
        return 10 * UNIT * sum(np.abs(v.astype(np.float64)) for v in feed.values()) / mean

    def zeros(feed, _, y):
        return np.zeros(())

    for opset in (8, 13):
        for count in (3, 4):
            yield of("Sum", count, ["Add"], "pairs", opset, sums)
            yield of("Mean", count, ["Add", "Mul"], "pairs", opset, sums, kinds=("finite",))
            yield of(
                "Max",
                count,
                ["Max"],
                "pairs",
                opset,
                zeros,
                kept=count - 1,
                rules=[{"op": "Max", "inputs": [{"index": 2, "presence": "absent"}]}],
            )
            yield of(
                "Min",
                count,
                ["Min"],
                "pairs",
                opset,
                zeros,
                kept=count - 1,
                rules=[{"op": "Min", "inputs": [{"index": 2, "presence": "absent"}]}],
            )
        yield of("Sum", 2, ["Add"], "pairs", opset, sums)
        yield of("Relu", 1, ["Max"], "relu", opset, zeros)
        yield of("Abs", 1, ["Max", "Mul"], "absolute", opset, zeros)
        for dtype in ("float", "double"):
            yield of("Sub", 2, ["Add", "Mul"], "sub-add", opset, None, dtype=dtype)
        for slope in ([0.25], [[-1.5], [2.0], [1e-3]]):
            yield of(
                "PRelu",
                2,
                ["Max", "Min", "Mul", "Add"],
                "p-relu",
                opset,
                zeros,
                {"b": np.array(slope, np.float32)},
            )
        for exponent in (2.0, 3.0, -1.0):

            def bound(feed, i, y):
                return 8 * UNIT * np.abs(y) + 2.0**-120

            yield of(
                "Pow", 2, ["Mul", "Reciprocal"], "power", opset, bound, {"b": np.array(exponent, np.float32)}
            )
    for dtype, kind in (("int32", np.int32), ("int64", np.int64)):
        for low, high in ((-5, 7), (7, -5)):
            yield of(
                "Clip",
                3,
                ["Min", "Max"],
                "clip-integer",
                13,
                None,
                {"b": np.array(low, kind), "c": np.array(high, kind)},
                dtype,
            )
        yield of("Clip", 2, ["Min", "Max"], "clip-integer", 12, None, {"b": np.array(0, kind)}, dtype)
    # What stays.
    for exponent in (0.5, 4.0, [2.0, 3.0]):
        some = [{"n": 2}]
        yield of(
            "Pow",
            2,
            ["Mul", "Sqrt", "Reciprocal"],
            None,
            13,
            None,
            {"b": np.array(exponent, np.float32)},
            sizes=some,
        )
    for slope in (0.0, np.inf, np.nan):
        yield of(
            "PRelu", 2, ["Max", "Min", "Mul", "Add"], None, 13, None, {"b": np.array([slope], np.float32)}
        )
    yield of("PRelu", 2, ["Max", "Min", "Mul", "Add"], None, 13)
    yield of("Sum", 3, ["Add"], None, 13, None, options=("--exact",))
    yield of("Sub", 2, ["Add", "Mul"], None, 13, None, dtype="int64")
    yield of("Relu", 1, ["Max"], None, 13, None, dtype="float16")
