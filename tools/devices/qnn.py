#!/usr/bin/env python3
"""qnn-htp.json from the page and the operator builders of the QNN execution provider.

    tools/devices/qnn.py --table QNN-ExecutionProvider.md --registry op_builder_factory.cc

Both are of onnxruntime/onnxruntime-qnn: docs/execution_providers, and
onnxruntime/core/providers/qnn/builder. The page says apart from its table that dynamic shapes, loops and
conditions are not taken. An operator needs a row in the page and a builder in the registry: the page
belongs to a release, the registry to a commit.
"""

import re

from _limits import constants
from _profile import OPEN, alternatives
from _tables import Rules, arguments, rows

REPOSITORY = "onnxruntime/onnxruntime-qnn "
BUILDERS = REPOSITORY + "onnxruntime/core/providers/qnn/builder/"
SOURCES = [
    (
        REPOSITORY + "docs/execution_providers/QNN-ExecutionProvider.md",
        "QNN EP 2.3.0, QAIRT 2.47.0 (commit 0131740f)",
    ),
    (BUILDERS + "op_builder_factory.cc", "commit 001cffc6"),
    (BUILDERS + "opbuilder/matmul_op_builder.cc", "commit 0131740f"),
    (BUILDERS + "opbuilder/reshape_op_builder.cc, gather_op_builder.cc", "commits 33868997, 060ad786"),
    (BUILDERS + "opbuilder/slice_op_builder.cc, expand_op_builder.cc", "commits 117b9738, 0adf6715"),
    (BUILDERS + "opbuilder/simple_op_builder.cc", "commit 047700bb"),
    (
        "pull requests 51, 65 and 70 of onnxruntime/onnxruntime-qnn, 26338 of microsoft/onnxruntime",
        "2025-10 to 2026-02",
    ),
]
NOTES = [
    "Element types of an operator: left open. The page refers to the QNN SDK's HtpOpDefSupplement, which "
    "is none of "
    "the sources; float32 runs as float16 unless the provider's option enable_htp_fp16_precision is 0.",
    "Ranks: at most 5, since the backend has no tensors of rank 6 (the pull requests); single operators "
    "may take less, "
    "which the sources leave open.",
    "Patterns that the provider fuses (Erf in the form of Gelu, Reshape, Transpose, Reshape of rank 6, "
    "DynamicQuantizeLinear with ConvInteger or MatMulInteger): no rule can say them.",
    "Graph inputs and outputs: the provider leaves their QuantizeLinear and DequantizeLinear to the host "
    "unless its "
    "option offload_graph_io_quantization is 0; no rule can say that.",
]
# Notes of the page that are about something else than the node, and what stands for them here.
MATMUL = (
    "the page lists pairs of quantized types (uint8 with uint8 or uint16), the builder takes others and "
    "float, "
    "and the SDK decides"
)
GATHER = (
    "positive indices: the builder makes negative constants positive, and those of other indices "
    "are not known"
)
FUSED = "runs as a part of a pattern only, which no rule can say"
UNLISTED = "op_builder_factory.cc has a builder, the page of 2.3.0 does not list it"
SAID = {"MatMul": MATMUL, "Gather": GATHER, "GatherElements": GATHER}


def limits(schema):
    """What the builders ask for."""
    op = schema.name
    if op == "Reshape" and "allowzero" in schema.attributes:
        return [{"attributes": {"allowzero": {"enum": [0]}}}]
    if op == "Slice":
        return [constants(schema, "starts", "ends", "axes", "steps")]
    if op == "Expand":
        return [constants(schema, "shape")]
    if op in ("Gather", "GatherElements"):
        return [constants(schema, "indices")]
    if op == "GridSample":
        return [{"attributes": {"mode": {"enum": ["bilinear", "linear", "nearest"]}}}]
    if op in ("Max", "Min", "Sum"):
        return [{"inputs": {1: {"presence": "required"}}}]
    if op == "Softplus":
        return [{"inputs": {0: {"ranks": [0, 4]}}}]
    if op == "MatMul":
        both = {i: {"dtypes": ["FLOAT", "FLOAT16"]} for i in (0, 1)}
        return [{"inputs": both}]
    return [{}]


def main():
    given = arguments(
        __doc__.splitlines()[0], table="QNN-ExecutionProvider.md", registry="op_builder_factory.cc"
    )
    built = re.findall(r'Create\w+OpBuilder\("(\w+)"', given.registry.read_text(encoding="utf-8"))
    rules, listed = Rules("qnn-htp"), set()
    for operator, *rest in rows(given.table.read_text(encoding="utf-8")):
        found = re.fullmatch(r"(ai\.onnx|com\.microsoft)[:.](\w+)", operator)
        if not found:
            continue
        domain, op = found.groups()
        domain = "" if domain == "ai.onnx" else domain
        listed.add(op)
        note = rest[0] if rest else ""
        if "exclusively" in note:
            rules.leave_out(domain, op, "converter", FUSED)
        elif op not in built:
            rules.leave_out(domain, op, "source", "op_builder_factory.cc has no builder")
        else:
            note = "" if op in SAID or note == "HTP backend only" else note
            rules.add(
                domain, op, [(1, OPEN)], note, lambda s: alternatives([limits(s)]), said=SAID.get(op, "")
            )
    for op in sorted(set(built) - listed):
        rules.leave_out("", op, "source", UNLISTED)
    rules.write(
        given.out,
        {
            "kind": "npu",
            "profile": {
                "version": "2",
                "source": [{"document": d, "version": v} for d, v in SOURCES],
                "notes": NOTES,
            },
            "shapes": "static",
            "ranks": [0, 5],
            "ep": {"name": "QNNExecutionProvider", "options": {"backend_type": "htp"}},
            "atomic": [{"kind": "qdq"}],
        },
    )


if __name__ == "__main__":
    main()
