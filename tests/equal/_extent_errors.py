"""Known errors of onnx's reference implementation, for the sweep over extents.

Each has a proof that needs no graphopt: a small model, what it and ONNX Runtime give, and what the standard
says. `unproven()` runs them: an entry whose proof no longer holds has to go. `excused()` says whether a
contradiction is explained by an entry.
"""

import dataclasses
import warnings

import numpy as np
import onnxruntime as ort
from onnx.reference import ReferenceEvaluator

import onnx


@dataclasses.dataclass
class Error:
    operators: set
    says: str  # the standard, or what it does not say
    model: str
    feeds: list  # shapes of float inputs
    reference: tuple  # the shapes that the two give
    runtime: tuple


HEAD = '<ir_version: 10, opset_import: ["" : 21]> g '
ERRORS = [
    Error(
        {"MaxPool"},
        "MaxPool: output_spatial_shape[i] = floor((input_spatial_shape[i] + pad_shape[i] - dilation[i] * "
        "(kernel_shape[i] - 1) - 1) / strides[i] + 1), where pad_shape[i] is the sum of pads along axis i",
        HEAD + "(float[A,B,C] x) => (float[D,E,F] y){ y = MaxPool <kernel_shape = [2], pads = [1, 1]> (x) }",
        [(0, 1, 3)],
        (0, 1, 2),
        (0, 1, 4),
    ),
    Error(
        {"Loop"},
        "Loop, body: each scan_output is produced by concatenating the value of the specified output "
        "value at the end of each iteration of the loop (along a new leading axis)",
        HEAD + "(float[A,B] x) => (float[C,D,E] y) <int64 m = {1}, bool c = {1}>"
        "{ y = Loop (m, c) <body: graph = b (int64 i, bool t) => (bool u, float[F,G] o)"
        "{ u = Identity (t) o = Relu (x) }> }",
        [(0, 3)],
        (0, 3),
        (1, 0, 3),
    ),
]


def excused(operators, who):
    return "reference" in who and any(operators & e.operators for e in ERRORS)


# ONNX Runtime's convolutions do not return for operands without channels or with an empty window, unless the
# batch is empty, too.
ENDLESS = {"Conv", "FusedConv", "ConvInteger", "QLinearConv", "ConvTranspose"}


def endless(operators, extents):
    """Whether ONNX Runtime may not come to an end: another operand than the first is empty, or there are no
    channels."""
    if not operators & ENDLESS or extents.get("d0_0") == 0:
        return False
    return any(n == 0 and (s == "d0_1" or not s.startswith("d0_")) for s, n in extents.items())


def unproven():
    """Texts about the entries whose proof does not hold."""
    found = []
    for e in ERRORS:
        model = onnx.parser.parse_model(e.model)
        feeds = {v.name: np.zeros(s, np.float32) for v, s in zip(model.graph.input, e.feeds)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            shapes = ReferenceEvaluator(model).run(None, feeds)[0].shape, run(model, feeds)
        if shapes != (e.reference, e.runtime):
            found.append(f"the proof about {sorted(e.operators)} gives {shapes}")
    return found


def run(model, feeds):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)[0].shape
