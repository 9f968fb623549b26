"""Cases of lowered.py for products of matrices."""

import numpy as np
from _lowered_case import UNIT, single
from onnx import helper


def sums(feed, _, y):
    """2 k u times the sum of the magnitudes."""
    a, b = (np.abs(feed[k].astype(np.float64)) for k in ("a", "b"))
    return 2 * max(1, a.shape[-1]) * UNIT * (a @ b) + 2.0**-149


def around(data, turned, bias, expansion, opset):
    """A Gemm between two Reshapes, for a device without Reshape; a constant that is added has no part in the
    bound, since it is 0."""
    w = ("float", [3, 7] if turned else [7, 3])
    constants = {"flat": np.array([-1, 7]), "stack": np.array([2, -1, 3])}
    if bias is not None:
        constants["c"] = np.zeros(bias, np.float32)
    nodes = [
        helper.make_node("Reshape", ["a", "flat"], ["r"]),
        helper.make_node("Gemm", ["r", "b", *(["c"] if bias is not None else [])], ["g"], transB=turned),
        helper.make_node("Reshape", ["g", "stack"], ["y"]),
    ]

    def bound(feed, other, y):
        return sums({"a": feed["a"], "b": feed["b"].T if turned else feed["b"]}, other, y)

    return single(
        data,
        f"Gemm between Reshapes, transB {turned}, bias {bias}",
        nodes,
        {"a": ("float", [2, "n", 7]), "b": w},
        ["MatMul", "Gemm", "Add", "Transpose"],
        expansion,
        constants=constants,
        opset=opset,
        kinds=("finite",),
        sizes=[{"n": 4}, {"n": 1}],
        bound=bound,
        options=("--disable-pass=batch-products",),  # which does the same where nothing else reads the rows
        kept=0 if expansion else 1,
    )


def cases(data):
    def of(a, b, takes, expansion, opset=13, dtype="float", kinds=("finite",), sizes=({},), **more):
        node = helper.make_node("MatMul", ["a", "b"], ["y"])
        inputs = {"a": (dtype, a), "b": (dtype, b)}
        more.setdefault("bound", sums)
        return single(
            data,
            f"MatMul {a} {b} {dtype}",
            node,
            inputs,
            takes,
            expansion,
            opset=opset,
            kinds=kinds,
            sizes=sizes,
            **more,
        )

    sizes = [{"n": 5}, {"n": 1}, {"n": 0}]
    for opset in (9, 11, 13, 18):
        yield of(["n", 7], [7, 3], ["Gemm"], "matmul-gemm", opset, sizes=sizes)
        yield of([2, "n", 7], [7, 3], ["Gemm", "Flatten", "Reshape"], "matmul-gemm", opset, sizes=sizes)
        yield of([2, 3, 4, 70], [70, 3], ["Gemm", "Flatten", "Reshape"], "matmul-gemm", opset)
        yield of([2, 0], [0, 3], ["Gemm"], "matmul-gemm", opset)
    for opset in (13, 18):
        takes = ["Split", "Squeeze", "Unsqueeze", "Concat"]
        rules = [{"op": op} for op in takes] + [{"op": "MatMul", "ranks": [2, 2]}]
        rules[-1] = {"op": "MatMul", "inputs": [{"index": i, "ranks": [2, 2]} for i in (0, 1)]}
        for a, b, count in (
            ([3, "n", 4], [3, 4, 5], 3),
            ([2, 3, "n", 4], [2, 3, 4, "n"], 6),
            ([1, 4, 33], [1, 33, 2], 1),
        ):
            yield of(a, b, [], "matmul-parts", opset, sizes=sizes, rules=rules, kept=count)
        gemm = [*takes, "Gemm"]
        yield of([3, 2, 4], [3, 4, 5], gemm, "matmul-parts", opset)
        for a, b in (([1, 2, 4], [3, 4, 5]), ([17, 2, 4], [17, 4, 5]), (["n", 2, 4], ["n", 4, 5])):
            yield of(a, b, [], None, opset, sizes=sizes, rules=rules)
    yield of(["n", "m", 7], [7, 3], ["Gemm", "Flatten", "Reshape"], None, sizes=[{"n": 2, "m": 3}])
    for opset in (11, 13, 18):
        for turned, bias in ((0, None), (1, None), (0, [3]), (0, []), (0, [1, 3])):
            lowered = None if bias == [1, 3] else "gemm-matmul"
            yield around(data, turned, bias, lowered, opset)
    yield of([2, 7], [7, 3], ["Gemm"], None, 13, "float16", bound=None)
    yield of([2, 7], [7, 3], ["Gemm"], None, options=("--exact",))
    yield of([2, 7], [7, 3], ["Gemm"], None, options=("--lower=never",))
