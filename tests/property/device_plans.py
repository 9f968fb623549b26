#!/usr/bin/env python3
# LONG: --count 20000 --seed 2
"""Random graphs for random devices: rewrites that know the devices and lowering keep the results, and win.

  device_plans.py GRAPHOPT [--count N] [--seed S]

Graph number i of a run is made from seed S + i (_graphs.py), with a profile that takes some of its operators
and some of those that expansions write; some profiles want fixed shapes, or give small subgraphs back.
  exactly (--exact --verify-each): OUT has the bits of the original, NaNs being equal; where float16 is
    computed, as random_graphs.py says, types and shapes alone
  by default: OUT runs where the original does, with results of the same types and shapes
  the manifest is right (lib/manifests.py), and a second run on OUT writes the same bytes
  the host has no more nodes than without lowering (--lower never) and, if it has as many, there are no more
    subgraphs
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import onnx
import onnxruntime as ort

import _graphs
from random_graphs import passes_checker, run, same, types_of

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import manifests  # noqa: E402
from lib.profiles import profile  # noqa: E402

WRITTEN = (
    "Abs Add Cast Clip Concat Div Erf Exp Flatten Gemm HardSigmoid Log MatMul Max Min Mul Neg ReduceMean Relu"
    " Reshape Sigmoid Slice Softplus Split Sqrt Squeeze Sub Tanh Tile Transpose Unsqueeze"
).split()
MORE = ({}, {}, {}, {"shapes": "static"}, {"min_nodes": 3}, {"control_flow": "whole"}, {"max_subgraphs": 2})


def device(rng, model, folder):
    own = {n.op_type for n in model.graph.node if n.domain == ""}
    taken = [op for op in sorted(own) if rng.random() < 0.5]
    taken += [op for op in WRITTEN if op not in taken and rng.random() < 0.6]
    return profile(folder, *taken, **rng.choice(MORE))


def optimize(tool, source, out, npu, *words):
    command = [tool, source, "-o", out, "-q", "--parts", "never", "--devices", npu, "--report", f"{out}.json"]
    done = subprocess.run([*command, *words], capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(words)}: status {done.returncode}: {done.stderr.strip()[-300:]}"
    return json.loads(pathlib.Path(f"{out}.json").read_text())


def plan(report):
    partition = report["partition"]
    hosts = {d["id"] for d in partition["devices"] if d["host"]}
    on_host = sum(s["nodes"] for s in partition["subgraphs"] if s["device"] in hosts)
    return on_host, len(partition["subgraphs"])


def check(tool, folder, seed):
    """(whether results were compared, how many nodes were lowered); raises AssertionError."""
    rng = random.Random(seed)
    try:
        graph = _graphs.Graph(rng)
        model, feeds = graph.model, graph.feeds(rng)
    except Exception:  # noqa: BLE001
        return False, 0  # the generator's, which random_graphs.py counts
    before = run(model.SerializeToString(), feeds)
    if isinstance(before, str):
        return False, 0
    source, out, again = folder / "in.onnx", folder / "out.onnx", folder / "again.onnx"
    source.write_bytes(model.SerializeToString())
    npu = device(rng, model, folder)
    half = onnx.TensorProto.FLOAT16 in types_of(model)
    lowered = 0
    for words in (["--exact", "--verify-each"], []):
        report = optimize(tool, source, out, npu, *words)
        lowered += sum(x["nodes"] for x in report["lowered"] or [])
        wrong = list(manifests.problems(folder / "out.manifest.json", check_models=passes_checker(model)))
        assert not wrong, wrong[:3]
        after = run(out.read_bytes(), feeds)
        assert not isinstance(after, str), f"{words}: OUT does not load: {after[:300]}"
        for expected, got in zip(before, after, strict=True):
            if expected is None:
                continue
            assert got is not None, f"{words}: OUT does not run where the original does"
            for name, value in expected.items():
                kept = value.dtype == got[name].dtype and value.shape == got[name].shape
                assert kept, f"{words}: {name} has another type or shape"
                assert not words or half or same(value, got[name], 0), f"{words}: {name} differs"
        optimize(tool, out, again, npu, *words)
        assert out.read_bytes() == again.read_bytes(), f"{words}: a second run writes other bytes"
        mine, other = plan(report), plan(optimize(tool, source, again, npu, *words, "--lower", "never"))
        assert mine <= other, f"{words}: (nodes on the host, subgraphs) {mine}, not lowered {other}"
    return True, lowered


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("--count", type=int, default=60)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    ort.set_default_logger_severity(4)
    compared = failures = lowered = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for seed in range(a.seed, a.seed + a.count):
            try:
                done, nodes = check(a.tool, folder, seed)
                compared += done
                lowered += nodes
            except Exception as e:  # noqa: BLE001
                failures += 1
                print(f"seed {seed}: {type(e).__name__}: {str(e)[:600]}", flush=True)
    print(f"{a.count} graphs from seed {a.seed}, {compared} compared, {lowered} lowered, {failures} failures")
    return 1 if failures or compared < a.count / 2 or lowered == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
