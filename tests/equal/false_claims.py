#!/usr/bin/env python3
"""Files that state wrong extents: a model that ONNX Runtime runs all the same still runs, with its results.

  false_claims.py GRAPHOPT [-v]

Exporters state extents that a trace had, and no other run has. ONNX Runtime warns, mostly; but before opset
11 the branches of an If must agree, and a model whose branches differ loads by what they declare alone. Each
row is a graph with a place <...> for the extents that a value states. They are stated rightly, wrongly and
not at all, at several opsets; each model that runs is optimized at -O0 and by default, with and without
--infer, and must give what it gave.
"""

import argparse
import itertools
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx.parser

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import runs  # noqa: E402
from lib.tool import executable, optimized  # noqa: E402

SLICES = {9: "Slice <axes = [1], starts = [%d], ends = [%d]> (x)", 10: "Slice (x, f%d, e%d, axes)"}
CONSTANTS = (
    "<int64[1] axes = {1}, int64[1] f0 = {0}, int64[1] f1 = {1}, int64[1] e2 = {2}, int64[1] e4 = {4}>"
)
# FIRST and SECOND slice two and three columns of x.
ROWS = {
    "branch": (
        "float[4,6] x, bool c",
        "float[N,M] y",
        "y = If (c) <then_branch = t () => (float[4,2] p) { p = FIRST },"
        "else_branch = e () => (float<> q) { r = SECOND q = Neg (r) }>",
    ),
    "rewritten_branch": (
        "float[4,6] x, bool c",
        "float<> y",
        "y = If (c) <then_branch = t () => (float<> p) { a = FIRST b = Neg (a) p = Neg (b) },"
        "else_branch = e () => (float<> q) { r = SECOND s = Abs (r) q = Abs (s) }>",
    ),
    "both_branches": (
        "float[4,6] x, bool c",
        "float<> y",
        "y = If (c) <then_branch = t () => (float<> p) { p = FIRST },"
        "else_branch = e () => (float<> q) { r = SECOND q = Neg (r) }>",
    ),
    "result_of_if": (
        "float[4,6] x, bool c",
        "float<> y",
        "y = If (c) <then_branch = t () => (float[N,M] p) { p = FIRST },"
        "else_branch = e () => (float[N,K] q) { q = SECOND }>",
    ),
    "output": ("float[4,6] x, bool c", "float<> y", "i = Identity (x) a = SECOND y = Neg (a)"),
    "copied_output": ("float[4,6] x, bool c", "float<> y", "a = SECOND b = Neg (a) y = Identity (b)"),
    "last_of_loop": (
        "float[4,6] x, bool c, int64 n",
        "float[N,M] y",
        "s = SECOND y = Loop (n, c, s) <body = b (int64 i, bool t, float<> u) => (bool v, float<> w)"
        "{ v = Identity (t) w = Relu (u) }>",
    ),
}
CLAIMS = {"right": "[4,3]", "wrong": "[4,2]", "rank": "[4]", "none": "[]", "names": "[N,M]"}
OPTIONS = [("-O0",), (), ("--infer",), ("-O0", "--infer")]


def models():
    """(name, model)"""
    for (row, (inputs, outputs, body)), (claim, dims), opset in itertools.product(
        ROWS.items(), CLAIMS.items(), (9, 10, 11, 13, 18)
    ):
        form = SLICES[9] if opset < 10 else SLICES[10]
        graph = f"g ({inputs}) => ({outputs}) {CONSTANTS} {{ {body} }}"
        graph = graph.replace("FIRST", form % (0, 2)).replace("SECOND", form % (1, 4)).replace("<>", dims)
        text = f'<ir_version: 8, opset_import: ["" : {opset}]> {graph}'
        yield f"{row}, {claim}, opset {opset}", onnx.parser.parse_model(text)


def results(model):
    """The results of some runs; None where ONNX Runtime refuses the model."""
    found = []
    try:
        session = runs.session(model)
        names = {i.name for i in session.get_inputs()}
        for chosen in (True, False):
            feeds = {
                "x": np.array([[-0.0, -1.5, np.nan, np.inf, -np.inf, 3e38]] * 4, np.float32),
                "c": np.array(chosen),
                "n": np.array(3, np.int64),
            }
            found += session.run(None, {k: v for k, v in feeds.items() if k in names})
    except Exception:  # noqa: BLE001 - ONNX Runtime raises errors of many types
        return None
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("-v", action="store_true", help="name what is refused, too")
    a = p.parse_args()
    warnings.simplefilter("ignore")
    ran = refused = bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, model in models():
            expected = results(model)
            if expected is None:
                refused += 1
                if a.v:
                    print(f"refused: {name}")
                continue
            for options in OPTIONS:
                ran += 1
                try:
                    got = results(optimized(a.tool, model, folder, *options))
                    wrong = "does not run" if got is None else ""
                    if got and any(runs.bit_difference(x, y) for x, y in zip(expected, got, strict=True)):
                        wrong = "other results"
                except RuntimeError as e:
                    wrong = str(e)
                if wrong:
                    bad += 1
                    print(f"FAILED {name}, {' '.join(options) or 'default'}: {wrong}")
    print(f"{ran} results compared, {refused} models refused by ONNX Runtime, {bad} bad")
    return 1 if bad or ran < 200 else 0


if __name__ == "__main__":
    sys.exit(main())
