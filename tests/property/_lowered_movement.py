"""Cases of lowered.py for operators that choose, repeat or move elements."""

import numpy as np
from _lowered_case import single
from onnx import helper

SIZES = [{"n": 4}, {"n": 1}, {"n": 0}]
TYPES = ("float", "float16", "int64", "bool", "string", "double", "int8")


def cases(data):
    node = helper.make_node

    def of(op, dims, takes, expansion, opset=18, lists=(), attributes=None, outputs=("y",), **more):
        constants = {f"c{i}": np.array(v, np.int64) for i, v in enumerate(lists)}
        dtype = more.pop("dtype", "float")
        made = node(op, ["x", *constants], list(outputs), **(attributes or {}))
        label = f"{op} {dims} {list(lists)} {attributes or ''} {dtype}"
        more.setdefault("sizes", SIZES)
        more.setdefault("outputs", [o for o in outputs if o])
        return single(
            data,
            label,
            made,
            {"x": (dtype, dims)},
            takes,
            expansion,
            constants=constants,
            opset=opset,
            **more,
        )

    for opset in (11, 13, 18):
        for dtype in TYPES if opset == 13 else ("float",):
            for axis in (1, -1):
                at = {"axis": axis}
                lengths = [[2, 0, 3]] if opset >= 13 else []
                if opset < 13:
                    at["split"] = [2, 0, 3]
                yield of(
                    "Split",
                    ["n", 5],
                    ["Slice"],
                    "split-slices",
                    opset,
                    lengths,
                    at,
                    ("p", "q", "r"),
                    dtype=dtype,
                )
        even = {"num_outputs": 3} if opset >= 18 else {}
        length = 7 if opset >= 18 else 6
        yield of("Split", [length, "n"], ["Slice"], "split-slices", opset, [], even, ("p", "q", "r"))
    for opset in (11, 13):
        for dtype in TYPES if opset == 13 else ("float",):
            for positions in (2, -1, 0, [1], [-2], [1, 2, 3], [3, 1], [0, 0, 4], [-1, 0, 1]):
                takes = ["Slice", "Squeeze", "Concat"]
                some = {"outputs": ("y",), "dtype": dtype}
                yield of("Gather", ["n", 5], takes, "gather-slices", opset, [positions], {"axis": 1}, **some)
            # Of blocks of strings ONNX Runtime's Gather copies the first string alone.
            if dtype != "string":
                yield of("Gather", [5, "n"], ["Slice", "Squeeze"], "gather-slices", opset, [-5], dtype=dtype)
        long = [{"n": 3}, {"n": 5}]
        for positions in (0, -1, 2, [-3], [1, 2]):
            takes = ["Slice", "Squeeze"]
            yield of("Gather", [2, "n"], takes, "gather-slices", opset, [positions], {"axis": -1}, sizes=long)
    for opset in (8, 13):
        for dtype in ("float", "int64", "bool", "double"):
            some = {"dtype": dtype}
            yield of("Expand", ["n", 1], ["Tile"], "expand-tile", opset, [[1, 3]], **some)
            yield of("Expand", [1, "n", 1], ["Tile"], "expand-tile", opset, [[2, 1, 3]], **some)
            if opset == 13:
                yield of("Expand", [2], ["Tile", "Unsqueeze"], "expand-tile", opset, [[3, 4, 2]], **some)
                yield of("Expand", [1, 2], ["Concat"], "expand-tile", opset, [[3, 2]], **some)
    for opset in (6, 13):
        for dtype in TYPES if opset == 13 else ("float",):
            if dtype != "float16":
                yield of("Tile", ["n", 2], ["Concat"], "tile-concat", opset, [[1, 3]], dtype=dtype)
                yield of("Tile", ["n", 2, 1], ["Concat"], "tile-concat", opset, [[2, 1, 4]], dtype=dtype)
    # What stays.
    long = [{"n": 4}, {"n": 6}]
    yield of("Split", ["n", 2], ["Slice"], None, 13, [], {"axis": 0}, ("p", "q"), sizes=long)
    yield of("Gather", ["n", 5], ["Slice", "Squeeze", "Concat"], None, 13, [[-1, 0]], {"axis": 0}, sizes=long)
    yield of("Expand", ["n", "n"], ["Tile"], None, 13, [[5, 1, 1]])
    yield of("Tile", ["n", 2], ["Concat"], None, 13, [[0, 3]])
    yield of("Tile", ["n", 2], ["Concat"], None, 13, [[100, 1]])
    yield of("Expand", [1, 2], ["Tile"], None, 13, [[0, 2]])
    made = node("Gather", ["x", "i"], ["y"])
    case = single(
        data, "Gather of an operand", made, {"x": ("float", [5]), "i": ("int64", [2])}, ["Slice"], None
    )
    for feed in case.feeds:
        feed["i"] = np.array([3, -1], np.int64)
    yield case
    yield of("Tile", ["n", 2], ["Concat"], None, 13, [[1, 3]], options=("--lower", "never"))
    yield of(
        "Split", ["n", 5], ["Slice"], "split-slices", 13, [[2, 3]], {"axis": 1}, ("p", "q"), options=("-O1",)
    )
