#!/usr/bin/env python3
"""coreml.json and nnapi.json from the tables inside of the onnxruntime wheel that is installed."""

import pathlib

import onnxruntime

from _profile import OPEN
from _tables import Rules, arguments, rows

TABLES = pathlib.Path(onnxruntime.__file__).parent / "tools" / "mobile_helpers"
PROFILES = [
    (
        "coreml",
        "coreml_supported_mlprogram_ops.md",
        "npu",
        {"name": "CoreMLExecutionProvider", "options": {"ModelFormat": "MLProgram"}},
    ),
    ("nnapi", "nnapi_supported_ops.md", "npu", {"name": "NnapiExecutionProvider"}),
]


def main():
    out = arguments(__doc__).out
    for name, document, kind, ep in PROFILES:
        rules = Rules(name)
        for operator, note, *_ in rows((TABLES / document).read_text(encoding="utf-8")):
            domain, op = operator.split(":")
            rules.add("" if domain == "ai.onnx" else domain, op, [(1, OPEN)], note)
        source = {"document": f"{document} of the onnxruntime package", "version": onnxruntime.__version__}
        rules.write(out, {"kind": kind, "profile": {"version": "1", "source": [source]}, "ep": ep})


if __name__ == "__main__":
    main()
