#!/usr/bin/env python3
"""qnn-htp.json from QNN-ExecutionProvider.md of microsoft/onnxruntime (branch gh-pages, folder docs).

    tools/devices/qnn.py --table QNN-ExecutionProvider.md

The page says apart from the table that dynamic shapes, loops and conditions are not taken.
"""

from _profile import OPEN
from _tables import Rules, arguments, rows


def main():
    given = arguments(__doc__.splitlines()[0], table="QNN-ExecutionProvider.md")
    rules = Rules("qnn-htp")
    for operator, *rest in rows(given.table.read_text(encoding="utf-8")):
        domain, colon, op = operator.partition(":")
        if colon and domain in ("ai.onnx", "com.microsoft"):
            rules.add("" if domain == "ai.onnx" else domain, op, [(1, OPEN)], rest[0] if rest else "")
    source = {
        "document": "microsoft/onnxruntime docs/execution-providers/QNN-ExecutionProvider.md",
        "version": "QNN 2.22 (commit 019bde6f7220)",
    }
    rules.write(
        given.out,
        {
            "kind": "npu",
            "profile": {"version": "1", "source": [source]},
            "shapes": "static",
            "ep": {"name": "QNNExecutionProvider", "options": {"backend_type": "htp"}},
            "atomic": [{"kind": "qdq"}],
        },
    )


if __name__ == "__main__":
    main()
