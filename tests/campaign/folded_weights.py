#!/usr/bin/env python3
"""Weights into which scales are folded count once: a model of convolutions with normalizations is
optimized with at most 1.2 times its file and 40 MiB resident, with its weights in the model or beside it."""

import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

LAYERS, CHANNELS = 8, 512  # 9 MiB a layer
# The memory of the process that starts a command counts as that of the command, so a small one starts it.
MEASURE = """import os, sys
_, status, used = os.wait4(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)
print(status, used.ru_maxrss)"""


def model():
    nodes, weights = [], []

    def constant(name, array):
        weights.append(numpy_helper.from_array(array.astype(np.float32), name))
        return name

    rng = np.random.default_rng(1)
    for i in range(LAYERS):
        w = constant(f"w{i}", rng.standard_normal((CHANNELS, CHANNELS, 3, 3)) / 64)
        parameters = [
            constant(f"{p}{i}", rng.random(CHANNELS) + 0.5) for p in ("scale", "bias", "mean", "var")
        ]
        nodes += [
            helper.make_node("Conv", [f"x{i}", w], [f"c{i}"], pads=[1, 1, 1, 1]),
            helper.make_node("BatchNormalization", [f"c{i}", *parameters], [f"n{i}"]),
            helper.make_node("Relu", [f"n{i}"], [f"x{i + 1}"]),
        ]
    dims = [1, CHANNELS, 4, 4]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, dims) for n in ("x0", f"x{LAYERS}"))
    graph = helper.make_graph(nodes, "g", [x], [y], weights)
    return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)])


def main():
    if os.environ.get("GRAPHOPT_SANITIZED") == "1":
        print("sanitizers need memory of their own")
        return 77
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        onnx.save(model(), folder / "inside.onnx")
        onnx.save(model(), folder / "beside.onnx", save_as_external_data=True, location="beside.data")
        for name in ("inside", "beside"):
            size = sum(p.stat().st_size for p in folder.glob(f"{name}.*"))
            words = [sys.argv[1], "-q", folder / f"{name}.onnx", "-o", folder / f"out.{name}.onnx"]
            run = subprocess.run([sys.executable, "-c", MEASURE, *words], stdout=subprocess.PIPE, text=True)
            status, peak = map(int, run.stdout.split())
            kinds = [
                n.op_type for n in onnx.load(folder / f"out.{name}.onnx", load_external_data=False).graph.node
            ]
            peak, bar = peak << 10, 1.2 * size + (40 << 20)
            right = status == 0 and kinds == ["Conv", "Relu"] * LAYERS and peak <= bar
            failed += not right
            print(
                f"{name}: {peak >> 20} of at most {int(bar) >> 20} MiB, status {status}, {len(kinds)} nodes"
            )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
