#!/usr/bin/env python3
"""coreml.json and nnapi.json from the tables inside of the onnxruntime wheel that is installed, the
limits that its usability checker asks for (usability_checker.py, beside them), and those of the
providers' operator builders."""

import pathlib

import _limits
import onnxruntime

from _profile import OPEN
from _tables import Rules, arguments, rows

TABLES = pathlib.Path(onnxruntime.__file__).parent / "tools" / "mobile_helpers"
BUILDERS = "microsoft/onnxruntime onnxruntime/core/providers/"
COREML = {
    "name": "coreml",
    "table": "coreml_supported_mlprogram_ops.md",
    "ep": {"name": "CoreMLExecutionProvider", "options": {"ModelFormat": "MLProgram"}},
    # The checker refuses nodes with open dims, a 0 among them, and inputs of more than 5 dims; helper.cc
    # refuses a dim of an input over 16384.
    "limits": {"shapes": "static", "ranks": [0, 5], "extents": [1, 16384]},
    "also": _limits.coreml,
    "builders": BUILDERS + "coreml/builders",
    "files": _limits.COREML_FILES,
    "notes": [
        "Element types: left open by the table, except where a rule has them.",
        "Ranks hold for results, too: the checker looks at inputs only, Core ML has no tensor of more "
        "than 5 dims.",
        "Static shapes: the checker asks for them; the provider itself may take open dims of a model.",
    ],
}
NNAPI = {
    "name": "nnapi",
    "table": "nnapi_supported_ops.md",
    "ep": {"name": "NnapiExecutionProvider"},
    "limits": {"shapes": "static", "extents": [1, None]},
    "also": _limits.nnapi,
    "builders": BUILDERS + "nnapi/nnapi_builtin/builders/impl",
    "files": _limits.NNAPI_FILES,
    "notes": [
        "Element types: float where a builder was read; left open of AveragePool, BatchNormalization, Conv, "
        "DepthToSpace, Elu, GlobalAveragePool, GlobalMaxPool, Identity, LRN, LeakyRelu, MaxPool, Relu, "
        "Resize and "
        "the quantized operators.",
        "The least Android API level of an operator is left open: rules suppose level 29 and newer.",
    ],
}


def main():
    out = arguments(__doc__).out
    for p in (COREML, NNAPI):
        rules = Rules(p["name"])
        for operator, note, *_ in rows((TABLES / p["table"]).read_text(encoding="utf-8")):
            domain, op = operator.split(":")
            rules.add("" if domain == "ai.onnx" else domain, op, [(1, OPEN)], note, p["also"])
        sources = [
            {"document": f"{p['table']} of the onnxruntime package", "version": onnxruntime.__version__},
            {
                "document": "usability_checker.py of the onnxruntime package",
                "version": onnxruntime.__version__,
            },
            {"document": p["builders"], "version": "the commits that a note lists"},
        ]
        read = "Builders that were read: " + "; ".join(
            f"{files} ({commits})" for files, commits in p["files"]
        )
        about = {"version": "2", "source": sources, "notes": [*p["notes"], read + "."]}
        rules.write(out, {"kind": "npu", "profile": about, **p["limits"], "ep": p["ep"]})


if __name__ == "__main__":
    main()
