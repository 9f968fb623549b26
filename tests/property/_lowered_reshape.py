"""Cases of lowered.py for Reshape, Squeeze, Unsqueeze and Flatten."""

import numpy as np
from _lowered_case import single
from onnx import helper

SIZES = [{"n": 4}, {"n": 1}, {"n": 0}]
NUMBERS = [{"n": 4}, {"n": 1}]


def cases(data):
    def of(
        op, dims, takes, expansion, opset=18, target=None, attributes=None, axes=None, sizes=SIZES, **more
    ):
        constants, operands = more.pop("constants", {}), ["x"]
        attributes = dict(attributes or {})
        if target is not None:
            constants["t"] = np.array(target, np.int64)
            operands.append("t")
        if axes is not None and opset >= 13:
            constants["a"] = np.array(axes, np.int64)
            operands.append("a")
        elif axes is not None:
            attributes["axes"] = axes
        dtype = more.pop("dtype", "float")
        node = helper.make_node(op, operands, ["y"], **attributes)
        label = f"{op} {dims} {target or ''}{axes or ''}{attributes or ''} {dtype}"
        return single(
            data,
            label,
            node,
            {"x": (dtype, dims)},
            takes,
            expansion,
            constants=constants,
            opset=opset,
            sizes=sizes,
            **more,
        )

    types = ("float", "int64", "bool", "float16", "string")
    for opset in (5, 11, 13, 14, 19, 21):
        for dtype in types if opset == 13 else ["float"]:
            yield of("Squeeze", ["n", 1, 3], ["Reshape"], "as-reshape", opset, axes=[1], dtype=dtype)
            yield of("Unsqueeze", ["n", 3], ["Reshape"], "as-reshape", opset, axes=[1], dtype=dtype)
            if opset >= 11:
                yield of("Squeeze", [2, 3, 1], ["Reshape"], "as-reshape", opset, axes=[-1], dtype=dtype)
                yield of("Unsqueeze", [2, 3], ["Reshape"], "as-reshape", opset, axes=[-1, 0], dtype=dtype)
        if opset >= 9:
            for axis in (0, 1, 2, 3):
                yield of(
                    "Flatten",
                    [2, 3, 4],
                    ["Reshape"],
                    "as-reshape",
                    opset,
                    attributes={"axis": axis},
                    sizes=[{}],
                )
            yield of("Flatten", ["n", 3, 2], ["Reshape"], "as-reshape", opset)
        if opset >= 11:
            yield of("Flatten", [2, 3, 4], ["Reshape"], "as-reshape", opset, attributes={"axis": -1})
        yield of("Reshape", ["n", 1, 3], ["Squeeze"], "as-squeeze", opset, target=[-1, 3], sizes=NUMBERS)
        yield of("Reshape", [1, 4, 1, 3], ["Squeeze"], "as-squeeze", opset, target=[4, 3])
        yield of("Reshape", ["n", 3], ["Unsqueeze"], "as-unsqueeze", opset, target=[0, 1, 3], sizes=NUMBERS)
        yield of("Reshape", [2, 3], ["Unsqueeze"], "as-unsqueeze", opset, target=[1, 2, 1, 3])
        yield of(
            "Reshape", ["n", 3, 4], ["Flatten"], "as-flatten", max(opset, 9), target=[0, 12], sizes=NUMBERS
        )
        yield of("Reshape", [2, 3, 4], ["Flatten"], "as-flatten", max(opset, 9), target=[6, -1])
    for opset in (11, 13, 18):
        for dtype in ("float", "int64", "float16", "bool"):
            parts = ["Split", "Unsqueeze", "Concat"]
            yield of("Reshape", [3, "n", 8], parts, "split-axis", opset, target=[0, 0, 2, 4], dtype=dtype)
            yield of("Reshape", [6, 5], parts, "split-axis", opset, target=[3, 2, 5], dtype=dtype)
            parts = ["Split", "Squeeze", "Concat"]
            yield of("Reshape", [3, "n", 2, 4], parts, "join-axes", opset, target=[0, 0, 8], dtype=dtype)
            yield of("Reshape", [3, 2, 5, 1], parts, "join-axes", opset, target=[6, 5, 1], dtype=dtype)
            yield of("Reshape", [2, "n", 3, 2], parts, "join-axes", opset, target=[-1, 3, 2], dtype=dtype)
    # A target that is computed, or copies, as numbers.
    numbers = {"index": 1, "constant": True, "value": {"enum": [-1, *range(1, 13)]}}
    rules = [{"op": "Reshape", "inputs": [numbers]}]
    for opset in (5, 13, 14, 19):
        for target in ([0, 6], [0, 3, 2]):
            yield of(
                "Reshape",
                ["n", 2, 3],
                [],
                "reshape-numbers",
                opset,
                target=target,
                rules=rules,
                kept=1,
                sizes=NUMBERS,
            )
    node = helper.make_node
    nodes = [
        node("Identity", ["t"], ["u"]),
        node("Reshape", ["x", "u"], ["y"]),
    ]
    # A target that is an operand of the model says nothing.
    inputs = {"x": ("float", [2, 6]), "t": ("int64", [2])}
    case = single(data, "Reshape of an operand", nodes, inputs, [], None, rules=rules)
    for feed in case.feeds:
        feed["t"] = np.array([3, 4], np.int64)
    yield case
    # What stays: two dims that are not known, a dim 0, an operand of unknown axes.
    yield of(
        "Reshape", ["n", 6], ["Squeeze", "Unsqueeze", "Flatten"], None, 13, target=[3, -1], sizes=NUMBERS
    )
    yield of("Flatten", ["n", 3, "m"], ["Reshape"], None, 13, sizes=[{"n": 2, "m": 4}, {"n": 0, "m": 4}])
    yield of("Squeeze", ["n", 1, "m"], ["Reshape"], None, 13, axes=[1], sizes=[{"n": 2, "m": 0}])
    yield of("Squeeze", [0, 1, 3], ["Reshape"], None, 13, axes=[1])
    yield of("Reshape", [2, 200], ["Split", "Unsqueeze", "Concat"], None, 13, target=[2, 100, 2])
    yield of("Squeeze", ["n", 1, 3], ["Reshape"], None, 13, axes=[1], options=("-O0",))
    yield of("Squeeze", ["n", 1, 3], ["Reshape"], None, 13, axes=[1], options=("--lower", "never"))
