"""Proves that lib/compare.py and lib/counting.py can fail: pairs of models that are alike, and pairs that
are not, one difference each."""

import pathlib
import sys
import tempfile

import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import compare, counting  # noqa: E402

HEAD = '<ir_version: 9, opset_import: ["": 19]>\n'
SEVERAL = """g (float[batch, 4] x, float[batch, 4] z, int64[3] k)
  => (float[batch, 4] y, int64[3] n, bool[batch, 4] b)
<float[4] w = {1, -2, 0.5, 3}, int64[1] axes = {1}>
{ p = Sub (x, z)
  s = ReduceMax <keepdims = 1> (p, axes)
  q = Mul (p, w)
  y = Add (q, s)
  n = Neg (k)
  b = Greater (x, z) }"""
RANDOM = """g (float[batch, 4] x) => (float[batch, 4] y, float[batch, 4] z)
{ a = RandomNormalLike (x)
  b = RandomNormalLike (x)
  y = Add (a, x)
  z = Add (b, x) }"""
WITH_NAN = """g (float[batch, 4] x) => (float[batch, 4] y)
{ r = Relu (x)
  s = Sqrt (x)
  y = Mul (r, s) }"""

# (what is different, the first model, replacements that make the second one, whether they are the same)
CASES = [
    ("nothing", SEVERAL, {}, True),
    ("operands of Mul swapped", SEVERAL, {"Mul (p, w)": "Mul (w, p)"}, True),
    ("a constant within the tolerance", SEVERAL, {"0.5": "0.5000001"}, True),
    ("operands of Sub swapped", SEVERAL, {"Sub (x, z)": "Sub (z, x)"}, False),
    ("a constant", SEVERAL, {"0.5": "0.51"}, False),
    ("an axis", SEVERAL, {"axes = {1}": "axes = {0}"}, False),
    ("an operator", SEVERAL, {"ReduceMax": "ReduceMin"}, False),
    ("a node dropped", SEVERAL, {"y = Add (q, s)": "y = Identity (q)"}, False),
    ("an integer output", SEVERAL, {"n = Neg (k)": "n = Abs (k)"}, False),
    ("a Boolean output", SEVERAL, {"Greater": "Less"}, False),
    ("an output's type", SEVERAL, {"b = Greater": "b = Sub", "bool[": "float["}, False),
    ("an output's shape", SEVERAL, {"n = Neg (k)": "n = Concat <axis = 0> (k, k)", "[3] n": "[6] n"}, False),
    ("an output's name", SEVERAL, {"n = Neg (k)": "m = Neg (k)", "[3] n": "[3] m"}, False),
    ("wrong for all sizes but one row", SEVERAL, {"(p, axes)": "(p)"}, False),
    ("no model that loads", SEVERAL, {"Neg": "Nag"}, False),
    ("nothing, random", RANDOM, {}, True),
    (
        "another distribution of the same kind",
        RANDOM,
        {"b = RandomNormalLike": "b = RandomUniformLike"},
        True,
    ),
    ("one draw for two", RANDOM, {"b = RandomNormalLike (x)": "b = Identity (a)"}, False),
    ("a constant for a draw", RANDOM, {"b = RandomNormalLike (x)": "b = Identity (x)"}, False),
    ("nothing, NaN in the output", WITH_NAN, {}, True),
    ("a number for NaN", WITH_NAN, {"s = Sqrt (x)": "s = Sqrt (r)"}, False),
]

COUNTED = """<ir_version: 9, opset_import: ["": 19, "d": 1]>
g (float[2] x, bool c) => (float[2] y)
{ k = Constant <value_float = 2.0> ()
  i = If (c) <then_branch = t () => (float[2] p) { p = Add (x, k) },
              else_branch = e () => (float[2] q) { r = Mul (x, x)
                q = Neg (r) }>
  h = d.F (i)
  y = d.F (h) }
<domain: "d", opset_import: ["": 19]>
F (a) => (b) { s = Sin (a)
  b = Cos (s) }"""
COUNTS = {"Constant": 1, "If": 1, "Add": 1, "Mul": 1, "Neg": 1, "Sin": 2, "Cos": 2}


def main():
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        before, after = f"{folder}/before.onnx", f"{folder}/after.onnx"
        for what, first, changes, same in CASES:
            second = first
            for old, new in changes.items():
                assert old in second, f"{what}: {old} is not in the model"
                second = second.replace(old, new)
            for path, text in ((before, first), (after, second)):
                onnx.save(onnx.parser.parse_model(HEAD + text), path)
            found = compare.compare(before, after)
            if (found.verdict == "same") != same:
                bad.append(f"{what}: {found.verdict}")
    model = onnx.parser.parse_model(COUNTED)
    if counting.operators(model) != COUNTS or counting.nodes(model) != sum(COUNTS.values()) - 1:
        bad.append(f"counted {dict(counting.operators(model))}, {counting.nodes(model)} nodes")
    print("\n".join(bad) or f"{len(CASES)} pairs and the counts are as they should be")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
