#!/usr/bin/env python3
# TIER: nightly
# WHEN: src/onnx/
"""A model with large external data, in a sparse file: optimized into another folder with at most 200 MiB of
data memory.

  big.py GRAPHOPT [--megabytes M]

M is 256 by default; 6144 is worth a run by hand. The data file has holes but for a few bytes in each
tensor, so it takes no room; the result must have the same bytes in the same places, and its files must take
little room too. Prints time and peak memory.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx
from onnx import TensorProto, helper

LIMIT = 200 << 20
TENSORS = 16


def make(folder, total):
    each = total // TENSORS
    with open(folder / "weights.bin", "wb") as f:
        for i in range(TENSORS):
            f.seek(i * each + each // 2)
            f.write(bytes([i + 1]) * 16)
        f.truncate(each * TENSORS)
    initializers, nodes = [], [helper.make_node("Identity", ["x"], ["v0"])]
    for i in range(TENSORS):
        t = TensorProto(
            name=f"w{i}", data_type=TensorProto.FLOAT, dims=[each // 4], data_location=TensorProto.EXTERNAL
        )
        for key, value in dict(location="weights.bin", offset=i * each, length=each).items():
            t.external_data.add(key=key, value=str(value))
        initializers.append(t)
        nodes.append(helper.make_node("Add", [f"v{i}", t.name], [f"v{i + 1}"]))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info(f"v{TENSORS}", TensorProto.FLOAT, [each // 4])],
        initializers,
    )
    (folder / "big.onnx").write_bytes(
        helper.make_model(
            graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]
        ).SerializeToString()
    )
    return each


def room(path):
    return path.stat().st_blocks * 512


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("--megabytes", type=int, default=256)
    a = p.parse_args()
    problems = []

    def limits():
        if os.environ.get("GRAPHOPT_SANITIZED") != "1":
            resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))

    with tempfile.TemporaryDirectory() as temp:
        source, result = Path(temp, "in"), Path(temp, "out")
        source.mkdir()
        result.mkdir()
        each = make(source, a.megabytes << 20)
        begin = time.time()
        done = subprocess.Popen(
            [a.tool, str(source / "big.onnx"), "-o", str(result / "big.onnx"), "--external-data", "always"],
            preexec_fn=limits,
            stderr=subprocess.PIPE,
        )
        message = done.stderr.read().decode()
        _, status, used = os.wait4(done.pid, 0)
        seconds = time.time() - begin
        if status:
            print(f"status {status}: {message}")
            return 1
        model = onnx.load(result / "big.onnx", load_external_data=False)
        if len(model.graph.node) != TENSORS or len(model.graph.initializer) != TENSORS:
            problems.append(f"{len(model.graph.node)} nodes, {len(model.graph.initializer)} initializers")
        for t in model.graph.initializer:
            where = {e.key: e.value for e in t.external_data}
            with open(result / where["location"], "rb") as f:
                f.seek(int(where["offset"]) + each // 2)
                if f.read(16) != bytes([int(t.name[1:]) + 1]) * 16 or int(where["length"]) != each:
                    problems.append(f"{t.name} is not what it was")
        written = sum(room(f) for f in result.iterdir())
        if written > a.megabytes * 2**20 / 4:
            given = room(source / "weights.bin")
            problems.append(f"the result takes {written >> 20} MiB of disk, the source {given >> 10} KiB")
        print(
            f"{a.megabytes} MiB: {seconds:.2f} s, {used.ru_maxrss >> 10} MiB resident at most, data limit "
            f"{LIMIT >> 20} MiB, {written >> 10} KiB on disk; {len(problems)} problems"
        )
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
