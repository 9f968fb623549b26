"""Cases of lowered.py for comparisons, logic and choices."""

import numpy as np
from _lowered_case import single
from onnx import helper

SIZES = [{"n": 40}, {"n": 1}, {"n": 0}]


def cases(data):
    def of(op, types, takes, expansion, opset=13, result="bool", shapes=None, constants=None, **more):
        names = ["a", "b", "c"][: len(types)]
        shapes = shapes or [[3, "n"], ["n"], [3, 1]]
        constants = constants or {}
        inputs = {k: (t, s) for k, t, s in zip(names, types, shapes, strict=False) if k not in constants}
        more.setdefault("sizes", SIZES)
        more.setdefault("kinds", ("special",))
        label = f"{op} {types} {list(constants.values()) or ''}"
        made = helper.make_node(op, names, ["y"])
        case = single(
            data,
            label,
            made,
            inputs,
            takes,
            expansion,
            opset=opset,
            outputs={"y": result},
            constants=constants,
            **more,
        )
        for feed in case.feeds:  # some are equal
            if "a" in feed and "b" in feed and feed["a"].dtype == feed["b"].dtype:
                full = np.broadcast_to(feed["b"], feed["a"].shape)
                feed["a"] = np.where(data.random(full.shape) < 0.4, full, feed["a"])
        return case

    for opset in (9, 13):
        yield of("And", ["bool", "bool"], ["Cast", "Mul"], "and", opset)
        yield of("Or", ["bool", "bool"], ["Cast", "Add"], "or", opset)
        yield of("Xor", ["bool", "bool"], ["Cast", "Sub"], "xor", opset)
        yield of("Not", ["bool"], ["Cast", "Sub"], "not", opset)
    for opset in (13, 20):
        for dtype in ("float", "double"):
            yield of("IsNaN", [dtype], ["Equal", "Not"], "is-nan", opset)
    for opset in (12, 13, 16):
        for op, strict in (("GreaterOrEqual", "Greater"), ("LessOrEqual", "Less")):
            for dtype in ("float", "double", "int32", "int64"):
                yield of(op, [dtype] * 2, [strict, "Equal", "Or"], "or-equal", opset)
    for dtype in ("int32", "int64"):
        for opset in (12, 13):
            for op in ("Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"):
                yield of(op, [dtype] * 2, ["Max", "Sub", "Cast", "Not"], "compare-max", opset)
            yield of("Equal", [dtype] * 2, ["Sub", "Cast"], "compare-max", opset)
            yield of("Max", [dtype] * 2, ["Greater", "Where"], "max-where", opset, dtype)
            yield of("Min", [dtype] * 2, ["Less", "Where"], "max-where", opset, dtype)
            takes = ["Cast", "Sub", "Mul", "Add"]
            yield of("Where", ["bool", dtype, dtype], takes, "where-sum", opset, dtype)
            kind = np.int32 if dtype == "int32" else np.int64
            for zero in (np.array(0, kind), np.zeros((1, 1, 1), kind)):
                yield of(
                    "Where", ["bool", dtype, dtype], takes, "where-sum", opset, dtype, constants={"b": zero}
                )
    most = np.finfo(np.float32).max
    for a, b in (
        (0.0, -most),
        (most, -most),
        (1.0, 0.0),
        (1e-45, most),
        ([0, 1, 2], -1.0),
        ([[0.0], [3]], 1.0),
    ):
        known = {"b": np.array(a, np.float32), "c": np.array(b, np.float32)}
        shapes = [[2, "n", 3]]
        yield of(
            "Where",
            ["bool", "float", "float"],
            ["Cast", "Sub", "Mul", "Add"],
            "where-sum",
            13,
            "float",
            shapes,
            known,
            sizes=[{"n": 2}],
        )
    # What stays.
    takes = ["Cast", "Sub", "Mul", "Add"]
    for a, b in ((-0.0, 1.0), (np.inf, 1.0), (0.0, -np.inf), (np.nan, 0.0)):
        known = {"b": np.array(a, np.float32), "c": np.array(b, np.float32)}
        yield of("Where", ["bool", "float", "float"], takes, None, 13, "float", constants=known)
    yield of("Where", ["bool", "float", "float"], takes, None, 13, "float")
    yield of("Greater", ["float", "float"], ["Max", "Sub", "Cast", "Not"], None)
    yield of("Equal", ["float", "float"], ["Sub", "Cast", "Not"], None)
    yield of("Max", ["float", "float"], ["Greater", "Where"], None, 13, "float")
    yield of("And", ["bool", "bool"], ["Cast"], None)
    yield of("And", ["bool", "bool"], ["Cast", "Mul"], None, options=("--lower=never",))
