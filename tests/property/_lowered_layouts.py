"""Cases of lowered.py for DepthToSpace, SpaceToDepth, Pad and Einsum."""

import numpy as np
from _lowered_case import UNIT, single
from onnx import helper


def cases(data):
    def of(op, dims, takes, expansion, opset=13, attributes=None, constants=None, **more):
        dtype = more.pop("dtype", "float")
        operands = more.pop("operands", {})
        constants = constants or {}
        inputs = {"x": (dtype, dims)} | {k: (dtype, v) for k, v in operands.items()}
        more.setdefault("sizes", [{"n": 3}, {"n": 1}, {"n": 0}])
        made = helper.make_node(op, ["x", *operands, *constants], ["y"], **(attributes or {}))
        label = f"{op} {dims} {attributes or ''} {[v.tolist() for v in constants.values()] or ''} {dtype}"
        return single(data, label, made, inputs, takes, expansion, constants=constants, opset=opset, **more)

    blocks = ["Reshape", "Transpose"]
    for opset in (11, 13):
        for dtype in ("float", "double", "uint8") if opset == 13 else ("float",):
            for mode in ("DCR", "CRD"):
                for dims, b in ((["n", 8, 2, 3], 2), ([2, 9, 1, 2], 3), ([1, 4, 2, 2], 1)):
                    at = {"blocksize": b, "mode": mode}
                    if dtype != "uint8" or opset == 13:
                        yield of("DepthToSpace", dims, blocks, "blocks", opset, at, dtype=dtype)
        for dims, b in ((["n", 2, 4, 6], 2), ([2, 1, 3, 6], 3)):
            yield of("SpaceToDepth", dims, blocks, "blocks", opset, {"blocksize": b})

    parts = ["Slice", "Concat"]
    for opset in (11, 13, 18):
        for dtype in ("float", "int64") if opset == 13 else ("float",):
            for mode in ("edge", "reflect"):
                for dims, pads in (
                    (["n", 5], [0, 2, 0, 1]),
                    ([4, "n", 3], [1, 0, 2, 3, 0, 0]),
                    ([3, 3], [2, 2, 2, 2]),
                    ([2], [1, 0]),
                ):
                    known = {"p": np.array(pads, np.int64)}
                    some = [{"n": 3}, {"n": 1}]
                    yield of(
                        "Pad", dims, parts, "pad-parts", opset, {"mode": mode}, known, dtype=dtype, sizes=some
                    )

    for opset in (12, 13):
        for text, a, b in (
            ("ij,jk->ik", ["n", 5], [5, 4]),
            ("ij,kj->ik", ["n", 5], [4, 5]),
            ("ji,jk->ik", [5, "n"], [5, 4]),
            ("bij,bjk->bik", [2, "n", 5], [2, 5, 4]),
            ("bhid, bhjd -> bhij", [2, 3, "n", 5], [2, 3, 4, 5]),
        ):

            def bound(feed, i, y, text=text):
                sizes = (np.abs(v.astype(np.float64)) for v in feed.values())
                return 20 * UNIT * np.einsum(text.replace(" ", ""), *sizes) + 2.0**-149

            yield of(
                "Einsum",
                a,
                ["MatMul", "Transpose"],
                "einsum",
                opset,
                {"equation": text},
                bound=bound,
                kinds=("finite",),
                operands={"w": b},
            )
    # What stays.
    few = [{"n": 4}]
    for text, a, b in (
        ("ij,jk->ki", [3, 5], [5, 4]),
        ("ij,jk->ij", [3, 5], [5, 4]),
        ("bij,cjk->bik", [2, 3, 5], [1, 5, 4]),
        ("...ij,...jk->...ik", [2, 3, 5], [2, 5, 4]),
        ("ij,jk->ik", [3, 5], [1, 4]),
        ("bij,bjk->bik", [2, 3, 5], [1, 5, 4]),
    ):
        yield of(
            "Einsum",
            a,
            ["MatMul", "Transpose"],
            None,
            13,
            {"equation": text},
            operands={"w": b},
            kinds=("finite",),
        )
    yield of("Pad", [3, "n"], parts, None, 13, {"mode": "edge"}, {"p": np.array([0, 1, 0, 0])}, sizes=few)
    yield of("Pad", [5], parts, None, 13, {"mode": "reflect"}, {"p": np.array([1, -1])})
    yield of("Pad", [5], parts, None, 13, {"mode": "edge"}, {"p": np.array([100, 0])})
    yield of("Pad", [5], parts, None, 13, {"mode": "constant"}, {"p": np.array([1, 0])})
    yield of("DepthToSpace", [2, 8, "n", 3], blocks, None, 13, {"blocksize": 2})
    yield of("DepthToSpace", [2, 8, 0, 3], blocks, None, 13, {"blocksize": 2})
