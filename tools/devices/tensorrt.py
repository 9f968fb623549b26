#!/usr/bin/env python3
"""tensorrt.json from docs/operators.md of onnx/onnx-tensorrt.

tools/devices/tensorrt.py --table docs/operators.md
"""

import re

from _schemas import dtypes
from _tables import Rules, arguments, rows

# What the document says of types apart from its table: UINT8 is for inputs and outputs of a network, and
# the small types are for quantized tensors alone. FP8 and FP4 are names of no one format.
NOT_DATA = {"UINT8", "INT8", "INT4"}
NOTES = [
    "FP8 and FP4: left open, since the document does not say which formats it means; they are refused.",
    "DOUBLE: the document promises limited support, and no row has it; it is refused.",
    "Quantized types: their operators are DequantizeLinear and QuantizeLinear; what TensorRT computes in "
    "them inside "
    "of a QDQ group is left open.",
]
# Operands of these types alone are indices, shapes and conditions: the types of the table are those of data.
NO_DATA = {"INT32", "INT64", "BOOL"}
# The table gives the type of the first operand, which is not that of the others.
CONVERSIONS = {"QuantizeLinear", "DequantizeLinear"}
LOGIC = {"And", "Not", "Or", "Xor"}


def on_data(allowed):
    """The types of a row, on all operands that hold data."""

    def conditions(schema):
        out = {}
        for key, formal in (("inputs", schema.inputs), ("outputs", schema.outputs)):
            for i, operand in enumerate(formal):
                fixed = len(operand.types) < 2 and not (
                    schema.name in LOGIC or i == 0 and schema.name in CONVERSIONS
                )
                other = schema.name in CONVERSIONS and operand.type != schema.inputs[0].type
                if (operand.types <= NO_DATA and schema.name not in LOGIC) or fixed or other:
                    continue
                index = "rest" if operand.variadic else i
                out.setdefault(key, {})[index] = {"dtypes": allowed}
        return [out]

    return conditions


def main():
    given = arguments(__doc__.splitlines()[0], table="operators.md")
    text = given.table.read_text(encoding="utf-8")
    version, least, opset = re.search(
        r"TensorRT ([\d.]+) supports operators in the inclusive range of opset (\d+) to opset (\d+)", text
    ).groups()
    rules = Rules("tensorrt")
    for operator, supported, *rest in rows(text):
        if operator == "Constant":  # data, which needs no rule
            continue
        if not supported.startswith("Y"):
            rules.leave_out("", operator, "source")
            continue
        types, note = (rest + ["", ""])[:2]
        allowed = [t for t in dtypes(types.split(",")) if operator in CONVERSIONS or t not in NOT_DATA]
        opsets = [(int(least), int(opset))]
        rules.add("", operator, opsets, note, on_data(allowed))
    source = {
        "document": "onnx/onnx-tensorrt docs/operators.md",
        "version": f"TensorRT {version} (opsets {least} to {opset})",
    }
    rules.write(
        given.out,
        {
            "kind": "gpu",
            "profile": {"version": "2", "source": [source], "notes": NOTES},
            "control_flow": "whole",
            "ep": {"name": "TensorrtExecutionProvider"},
        },
    )


if __name__ == "__main__":
    main()
