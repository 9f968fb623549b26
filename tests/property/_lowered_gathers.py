"""Cases of lowered.py for Gather and GatherND."""

import numpy as np
from _lowered_case import single
from onnx import helper

SIZES = [{"n": 4, "k": 3}, {"n": 1, "k": 1}, {"n": 0, "k": 2}, {"n": 2, "k": 0}]


def cases(data):
    def of(op, dims, shape, takes, expansion, opset=13, index="int64", dtype="float", most=5, **more):
        attributes = more.pop("attributes", {})
        constants = more.pop("constants", {})
        operands = {"x": (dtype, dims)} | ({} if constants else {"i": (index, shape)})
        more.setdefault("sizes", SIZES)
        more.setdefault("kinds", ("special",))
        made = helper.make_node(op, ["x", "i"], ["y"], **attributes)
        label = f"{op} {dims} {shape} {attributes or ''} {index} {dtype}"
        case = single(data, label, made, operands, takes, expansion, opset=opset, constants=constants, **more)
        for feed in case.feeds:
            if "i" in feed:
                feed["i"] = data.integers(-most, most, feed["i"].shape).astype(feed["i"].dtype)
        return case

    narrow = [{"op": "Cast"}, {"op": "Gather", "inputs": [{"index": 1, "dtypes": ["INT32"]}]}]
    for dtype in ("float", "int64", "bool", "float16"):
        for opset in (11, 13):
            for axis, dims in (
                (0, [5, "n"]),
                (1, ["n", 5]),
                (-1, ["n", 5]),
                (1, ["n", 5, 2]),
                (2, ["n", 2, 5, 3]),
            ):
                for shape in ([], ["k"], ["k", 2]):
                    some = {"attributes": {"axis": axis}, "dtype": dtype, "opset": opset}
                    yield of("Gather", dims, shape, [], "gather-narrow", rules=narrow, kept=1, **some)
                    takes = ["GatherND", "Unsqueeze", "Transpose", "Cast"]
                    index = "int32" if opset == 13 else "int64"
                    yield of("Gather", dims, shape, takes, "gather-nd", index=index, **some)
    for opset in (12, 13):
        for dtype in ("float", "int64", "bool"):
            for shape in ([1], ["k", 1], ["k", 2, 1]):
                some = {"opset": opset, "dtype": dtype}
                yield of("GatherND", [5, "n"], shape, ["Gather", "Squeeze"], "nd-gather", **some)
            for indices in ([[0, 1], [-1, 2], [4, -3]], [2, 1], [[[0, 0]], [[4, 2]]]):
                known = {"i": np.array(indices, np.int64)}
                takes = ["Gather", "Reshape"]
                yield of(
                    "GatherND", [5, 3, 2], [], takes, "nd-flat", constants=known, dtype=dtype, opset=opset
                )
                yield of("GatherND", [5, 3], [], takes, "nd-flat", constants=known, dtype=dtype, opset=opset)
    # What stays.
    long = [{"n": 4, "k": 3}]
    yield of("Gather", ["n", 5], ["k"], [], None, rules=narrow[1:], sizes=long, most=4)
    yield of("Gather", [5, "n"], ["k"], ["GatherND"], None, sizes=long)
    yield of("GatherND", [5, 3], ["k", 2], ["Gather", "Reshape", "Squeeze"], None, sizes=long, most=3)
    case = {"attributes": {"batch_dims": 1}, "sizes": long}
    yield of("GatherND", [4, 5], [4, 1], ["Gather", "Squeeze"], None, **case)
    yield of(
        "Gather", [5, "n"], ["k"], ["GatherND", "Unsqueeze"], None, options=("--lower=never",), sizes=long
    )
