"""Cases of lowered.py for operators with windows."""

import numpy as np
from _lowered_case import UNIT, single
from onnx import helper


def cases(data):
    def of(
        dims, weight, expansion, opset=13, attributes=None, constant=True, bias=True, dtype="float", **more
    ):
        kind = np.float32 if dtype == "float" else np.float16
        constants = {}
        inputs = {"x": (dtype, dims)}
        if constant:
            constants["w"] = data.standard_normal(weight).astype(kind)
        else:
            inputs["w"] = (dtype, weight)
        if bias:
            constants["b"] = data.standard_normal(weight[0]).astype(kind)
        takes = ["Conv", "Unsqueeze", "Squeeze"]
        plane = {"op": "Conv", "inputs": [{"index": 0, "ranks": [4, 4]}, {"index": 1, "constant": constant}]}
        made = helper.make_node("Conv", ["x", "w"] + (["b"] if bias else []), ["y"], **(attributes or {}))

        def bound(feed, _, y):
            w = constants.get("w", feed.get("w"))
            terms = w.shape[1] * w.shape[2]
            most = np.abs(feed["x"]).max(initial=0) * np.abs(w).sum(axis=(1, 2)).max(initial=0)
            return 2 * (terms + 2) * UNIT * (most + np.abs(constants.get("b", np.zeros(1))).max())

        more.setdefault("sizes", [{"n": 9}, {"n": 12}])
        return single(
            data,
            f"Conv {dims} {weight} {attributes or ''} {dtype}",
            made,
            inputs,
            [],
            expansion,
            constants=constants,
            opset=opset,
            kinds=("finite",),
            bound=bound if expansion else None,
            rules=[{"op": t} for t in takes[1:]] + [plane],
            kept=1,
            **more,
        )

    for opset in (7, 11, 13, 22):
        for at in (
            {},
            {"pads": [2, 1]},
            {"strides": [2], "kernel_shape": [3]},
            {"dilations": [2], "pads": [0, 3], "strides": [3]},
        ):
            yield of([2, 4, "n"], [6, 4, 3], "conv-plane", opset, at)
            yield of([1, 4, "n"], [6, 2, 3], "conv-plane", opset, {**at, "group": 2}, bias=False)
            yield of([1, 4, "n"], [6, 4, 3], "conv-plane", opset, at, constant=False)
    yield of([2, 4, "n"], [6, 4, 3], None, 13, {"auto_pad": "SAME_UPPER"})
    yield of([2, 4, "n"], [6, 4, 3], None, 13, {}, options=("--exact",))
