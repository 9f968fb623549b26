#!/usr/bin/env python3
"""webnn.json and webgpu.json from the tables in docs/ of the npm package onnxruntime-web.

npm pack onnxruntime-web@1.24.3 && tar xzf onnxruntime-web-1.24.3.tgz
tools/devices/web.py --package package
"""

import json
import re

from _tables import Rules, arguments, opset_ranges, rows

PROFILES = [
    ("webnn", "webnn-operators.md", "other", {"name": "WebNNExecutionProvider"}),
    ("webgpu", "webgpu-operators.md", "gpu", {"name": "WebGpuExecutionProvider"}),
]
INTERNAL = "com.ms.internal.nhwc"  # what the runtime makes of nodes itself; copies between devices, too


def main():
    given = arguments(__doc__.splitlines()[0], package="the unpacked package")
    version = json.loads((given.package / "package.json").read_text())["version"]
    for name, document, kind, ep in PROFILES:
        rules = Rules(name)
        for operator, opsets, *rest in rows((given.package / "docs" / document).read_text(encoding="utf-8")):
            for domain, ranges in re.findall(r"([\w.]+)\(([^)]*)\)", opsets):
                if domain != INTERNAL and not operator.startswith("Memcpy"):
                    domain = "" if domain == "ai.onnx" else domain
                    rules.add(domain, operator, opset_ranges(ranges), rest[-1] if rest else "")
        source = {"document": f"docs/{document} of the npm package onnxruntime-web", "version": version}
        rules.write(given.out, {"kind": kind, "profile": {"version": "1", "source": [source]}, "ep": ep})


if __name__ == "__main__":
    main()
