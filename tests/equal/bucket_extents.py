#!/usr/bin/env python3
"""Models whose constant operands fix an extent, and models whose outputs are the same for all shapes: what
buckets are written for loads, and gives what the model gives.

  bucket_extents.py GRAPHOPT [--only NAME ...]

Each model is given to --bucket, and to --bucket-single, with sizes that it takes, some of which it takes and
none. A refusal has status 2 and names a node or a reason. What is written loads in ONNX Runtime, and wherever
the original runs, the single model gives its results.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
from onnx import helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import runs  # noqa: E402
from lib.tool import executable  # noqa: E402

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
SIZES = ("S=4", "S=4,8", "S=8", "S=2,8", "S=5")
EXTENTS = (1, 2, 3, 4, 5, 8, 9)
FIXED = 4  # the extent at which each model of FIXING runs
FOUR = "float[4] c = {1, 2, 3, 4}"
# name: (inputs, outputs, constants, body). Each takes S = 4, and few other extents or none.
FIXING = {
    "Split": (
        "float[S] x",
        "float[2] y",
        "int64[2] l = {2, 2}",
        "a, b = Split <axis = 0> (x, l)\ny = Add (a, b)",
    ),
    "Split apart": (
        "float[S,3] x",
        "float[p,3] y, float[q,3] z",
        "int64[2] l = {1, 3}",
        "y, z = Split (x, l)",
    ),
    "Reshape": ("float[S] x", "float[2,2] y", "int64[2] t = {2, 2}", "y = Reshape (x, t)"),
    "Reshape same": ("float[S] x", "float[4] y", "int64[1] t = {4}", "y = Reshape (x, t)"),
    "Reshape open": ("float[S,3] x", "float[2,p] y", "int64[2] t = {2, -1}", "y = Reshape (x, t)"),
    "Expand": ("float[S] x", "float[p] y", "int64[1] t = {4}", "y = Expand (x, t)"),
    "Add": ("float[S] x", "float[p] y", FOUR, "y = Add (x, c)"),
    "Where": ("float[S] x", "float[p] y", FOUR, "m = Greater (x, c)\ny = Where (m, x, c)"),
    "Concat": (
        "float[S] x",
        "float[2,p] y",
        "float[1,4] c = {1, 2, 3, 4}, int64[1] a = {0}",
        "u = Unsqueeze (x, a)\ny = Concat <axis = 0> (u, c)",
    ),
    "MatMul": ("float[2,S] x", "float[2,1] y", "float[4,1] c = {1, 2, 3, 4}", "y = MatMul (x, c)"),
    "Gemm": ("float[2,S] x", "float[2,1] y", "float[4,1] c = {1, 2, 3, 4}", "y = Gemm (x, c)"),
    "Einsum": ("float[2,S] x", "float[2] y", FOUR, 'y = Einsum <equation = "ab,b->a"> (x, c)'),
    "Slice": (
        "float[S] x",
        "float[p] y",
        f"int64[1] s = {{0}}, int64[1] e = {{8}}, {FOUR}",
        "z = Slice (x, s, e)\ny = Add (z, c)",
    ),
    "Tile": (
        "float[S] x",
        "float[p] y",
        "int64[1] t = {2}, float[8] c = {1, 2, 3, 4, 5, 6, 7, 8}",
        "z = Tile (x, t)\ny = Add (z, c)",
    ),
    "Pad": (
        "float[S] x",
        "float[p] y",
        "int64[2] n = {0, 4}, float[8] c = {1, 2, 3, 4, 5, 6, 7, 8}",
        "z = Pad (x, n)\ny = Mul (z, c)",
    ),
    "Squeeze": (
        "float[S,3] x",
        "float[3] y",
        "int64[1] t = {-1}, int64[2] r = {4, 3}, int64[1] a = {0}",
        "z = Reshape (x, r)\ny = ReduceSum <keepdims = 0> (z, a)",
    ),
    "Conv": (
        "float[1,S,5] x",
        "float[1,2,p] y",
        "float[2,4,1] w = {1, 2, 3, 4, 5, 6, 7, 8}",
        "y = Conv (x, w)",
    ),
    "BatchNormalization": (
        "float[1,S,5] x",
        "float[1,S,5] y",
        FOUR,
        "y = BatchNormalization (x, c, c, c, c)",
    ),
    "InstanceNormalization": (
        "float[1,S,5] x",
        "float[1,S,5] y",
        FOUR,
        "y = InstanceNormalization (x, c, c)",
    ),
    "LayerNormalization": ("float[2,S] x", "float[2,S] y", FOUR, "y = LayerNormalization (x, c)"),
    "QuantizeLinear": (
        "float[2,S] x",
        "uint8[2,S] y",
        f"{FOUR}, uint8[4] z = {{0, 0, 0, 0}}",
        "y = QuantizeLinear <axis = 1> (x, c, z)",
    ),
    "MatMulInteger": (
        "uint8[2,S] x",
        "int32[3,S] y",
        "uint8[3,2] w = {1, 2, 3, 4, 5, 6}, uint8 o = {0}, uint8[4] z = {1, 2, 3, 4}",
        "y = MatMulInteger (w, x, o, z)",
    ),
    "DepthToSpace": ("float[1,S,2,2] x", "float[1,p,4,4] y", "", "y = DepthToSpace <blocksize = 2> (x)"),
    "TopK": ("float[S] x", "float[4] y, int64[4] i", "int64[1] k = {4}", "y, i = TopK (x, k)"),
    "If": (
        "float[S] x",
        "float[p] y",
        f"{FOUR}, float z = {{0}}",
        "s = ReduceMax <keepdims = 0> (x)\nk = Greater (s, z)\ny = If (k) "
        "<then_branch = t () => (float[4] a) { a = Add (x, c) },"
        " else_branch = e () => (float[4] b) { b = Identity (c) }>",
    ),
}
# Their outputs do not follow from data; they take every extent.
CONSTANT = {
    "rank": ("float[2,S] x", "int64 y", "int64 i = {0}", "r = Relu (x)\ns = Shape (r)\ny = Gather (s, i)"),
    "two": ("float[S] x", "int64[1] y, float[2] c", "float[2] c = {1, 2}", "s = Shape (x)\ny = Shape (s)"),
    "input": ("float[2] w, float[S] x", "float[2] w, int64[1] y", "", "s = Shape (x)\ny = Shape (s)"),
    "also one": ("float[S] x", "int64[1] y, float[S] z", "", "s = Shape (x)\ny = Shape (s)\nz = Relu (x)"),
    "size 0": ("float[0,S] x", "int64 y", "", "y = Size (x)"),
}


def model_of(parts):
    inputs, outputs, constants, body = parts
    given = f" <{constants}>" if constants else ""
    return onnx.parser.parse_model(f"{HEAD}g ({inputs}) => ({outputs}){given} {{\n{body}\n}}")


def results(session, model, extent):
    """None where the runtime refuses the extent."""
    feeds, rng = {}, np.random.default_rng(extent)
    for v in model.graph.input:
        shape = [d.dim_value if d.HasField("dim_value") else extent for d in v.type.tensor_type.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(v.type.tensor_type.elem_type)
        feeds[v.name] = np.asarray(rng.integers(1, 9, shape)).astype(dtype)
    wanted = {i.name for i in session.get_inputs()}
    try:
        return session.run(None, {k: v for k, v in feeds.items() if k in wanted})
    except Exception:  # noqa: BLE001 - ONNX Runtime has many kinds
        return None


def check(tool, model, sizes, single, folder):
    """(whether it was written, problems)"""
    source, target = f"{folder}/model.onnx", f"{folder}/out.onnx"
    onnx.save(model, source)
    command = [tool, source, "-o", target, "-q", "--bucket", sizes] + ["--bucket-single"] * single
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if done.returncode == 2:
        return False, [] if "help:" in done.stderr else [f"a refusal without help: {done.stderr.strip()}"]
    if done.returncode:
        return False, [f"status {done.returncode}: {done.stderr.strip()[-200:]}"]
    files = [target]
    if not single:
        manifest = json.loads(pathlib.Path(folder, "out.manifest.json").read_text(encoding="utf-8"))
        files += [f"{folder}/{m['file']}" for m in manifest["buckets"]["models"]]
    problems = []
    for file in files:
        try:
            session = runs.session(file)
        except Exception as e:  # noqa: BLE001
            problems.append(f"{pathlib.Path(file).name} does not load: {' '.join(str(e).split())[-160:]}")
    if single and not problems:
        original = runs.session(model)
        for extent in EXTENTS:
            want, got = results(original, model, extent), results(session, model, extent)
            if want is not None and (got is None or any(map(runs.bit_difference, want, got))):
                problems.append(f"other results for {extent}")
    return True, problems


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    a = p.parse_args()
    ort.set_default_logger_severity(4)
    bad = written = runs_made = 0
    for name, parts in {**FIXING, **CONSTANT}.items():
        if a.only and name not in a.only:
            continue
        model = model_of(parts)
        if results(runs.session(model), model, FIXED) is None:
            print(f"{name}: does not run for {FIXED}")
            bad += 1
        for sizes in SIZES:
            for single in (False, True):
                with tempfile.TemporaryDirectory() as folder:
                    made, problems = check(a.tool, model, sizes, single, folder)
                if name in CONSTANT and not made:
                    problems.append("it is refused")
                written, runs_made, bad = written + made, runs_made + 1, bad + bool(problems)
                for problem in problems:
                    print(f"{name}, {sizes}{', single' * single}: {problem}", flush=True)
    print(f"{runs_made} runs, {written} written, {bad} bad")
    return 1 if bad or not written else 0


if __name__ == "__main__":
    sys.exit(main())
