"""Extents, layouts and cuts as texts say, and a verdict or a claim that is wrong is seen."""

import pathlib
import sys

import numpy as np
from onnx import parser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import layouts, padding, verdicts  # noqa: E402

AT = {"s": 7, "past": 3, "x": 2, "-1": 5, "a.b:c": 4, "s#": 1}
EXTENTS = [
    ("7", 7),
    ("s", 7),
    ("-s + 10", 3),
    ("2*s*past - 3*x + 1", 37),
    ("floor((s + 1)/(2)) - 1", 3),
    ("floor((floor((s)/(2)) - 5)/(2))", -1),
    ("min(s, past) + max(s, 9)", 12),
    ("mod(s - 9, 5)", 3),
    ("'-1' + a.b:c", 9),
    ("s + s#", 8),
    ("s//2", 3),
    ("(s + 1)*2", 16),
]
UNREADABLE = ["", "s +", "floor(s/2)", "s past", "min(s)", "s x", "2 $ 3", "s ++ ", "(s", "a x b ++ c"]
# Layout, true and padded extents, padded positions of the true elements.
LAYOUTS = [
    ("s", {"s": 2}, {"s": 4}, [0, 1]),
    ("b x s", {"b": 2, "s": 2}, {"b": 3, "s": 4}, [0, 1, 4, 5]),
    ("past ++ s", {"past": 1, "s": 2}, {"past": 3, "s": 4}, [0, 3, 4]),
    ("past ++ s", {"past": 0, "s": 1}, {"past": 2, "s": 1}, [2]),
    ("x x x", {"x": 2}, {"x": 3}, [0, 1, 3, 4]),
    ("b x (past ++ s)", {"b": 2, "past": 1, "s": 1}, {"b": 2, "past": 2, "s": 2}, [0, 2, 4, 6]),
    ("(2 x s) ++ 1", {"s": 1}, {"s": 2}, [0, 2, 4]),
    ("b x 3", {"b": 1}, {"b": 2}, [0, 1, 2]),
    ("s x 2", {"s": 0}, {"s": 2}, []),
]
CONDITIONS = [
    ("(s) mod 2 == 0", {"s": 4}, True),
    ("(s + 1) mod 2 == 0", {"s": 4}, False),
    ("b*s <= 16", {"b": 4, "s": 4}, True),
    ("b*s <= 16 and s > 4", {"b": 4, "s": 4}, False),
]
SUM = (
    '<ir_version: 9, opset_import: ["": 17]> g (float[s] x) => (float y) { y = ReduceSum <keepdims = 0> (x) }'
)
CUT = '<ir_version: 9, opset_import: ["": 17]> g (float[s] x) => (float[n] y) { y = Relu (x) }'


def verdict(pad, kind, dims, cut="prefix"):
    return verdicts.Verdict(
        {
            "verdict": "proved",
            "symbols": {"s": [2, 4]},
            "ranges": {"s": [1, 4]},
            "inputs": {"x": {"dims": ["s"], "pad": pad, "pad_class": kind}},
            "outputs": {"y": {"dims": dims, "cut": cut}},
        }
    )


def problems(text, *arguments):
    model, rng = parser.parse_model(text), np.random.default_rng(0)
    found = padding.check(
        model,
        v := verdict(*arguments),
        padding.bindings(v, rng, 6),
        lambda e: padding.feeds_of(model, e, rng),
        rng,
    )
    assert found.compared, found
    return found.problems


def check_texts():
    for text, value in EXTENTS:
        assert layouts.extent(text).value(AT) == value, text
    for text in UNREADABLE:
        try:
            layouts.layout(text)
        except layouts.Unreadable:
            continue
        raise AssertionError(f"'{text}' was read")
    for text, true, padded, wanted in LAYOUTS:
        found = layouts.layout(text)
        assert list(found.positions(true, padded)) == wanted, text
        assert found.size(true) == len(wanted), text
    for text, extents, wanted in CONDITIONS:
        assert layouts.condition(text)(extents) == wanted, text


def check_verdicts():
    assert not problems(SUM, 0, "const", [])
    assert problems(SUM, 1, "const", [])
    assert problems(SUM, 0, "finite", [])
    assert not problems(CUT, 0, "any", ["s"])
    assert "formula" in problems(CUT, 0, "any", ["s - 1"])[0]
    assert "formula" in problems(CUT, 0, "any", ["s"], ["s - 1"])[0]
    assert "dims" in problems(CUT, 0, "any", [])[0]
    for wrong in (
        {"verdict": "assumed"},
        {"verdict": "perhaps"},
        {"assumptions": [{"node": "n", "kind": "?"}]},
    ):
        try:
            verdicts.Verdict({**verdict(0, "any", ["s"]).data, **wrong})
        except ValueError:
            continue
        raise AssertionError(f"{wrong} is a verdict")


def check_comparisons():
    a = np.array([1, 100, -1e9], np.float32)
    for b, differ in (
        (a, False),
        (a + np.array([1e-2, 0, 0], np.float32), False),
        (a + np.array([5e-2, 0, 0], np.float32), True),
        (a * np.array([1, 1, 1.0001], np.float32), False),
        (a * np.array([1, 1, 1.001], np.float32), True),
        (a[:2], True),
        (np.array([1, np.nan, -1e9], np.float32), True),
    ):
        assert bool(padding.difference(a, b, 2e-4)) == differ, b
    assert padding.difference(np.array([1, 2]), np.array([1, 3]), 1)


def check_regions():
    """A padded value of four elements, two of them true."""
    at, true, padded = [np.arange(2)], {"s": 2}, {"s": 4}
    array = np.array([0, 1, 2, 3], np.int64)
    flags = {"nan": False, "inf": False, "pinf": False}

    def seen(low, high, values=array, axes=(0,), **more):
        region = {"axes": list(axes), "low": low, "high": high, **flags, **more}
        return list(padding.region_problems({"regions": [region]}, values, at, true, padded))

    assert not seen("s", "s + s# - 1") and not seen(0, "s - 1", axes=())
    assert seen("s", "s + s# - 2") and seen("s + 1", "inf") and seen(0, "s - 2", axes=())
    nan = np.array([0, 1, np.nan, np.inf])
    assert not seen("-inf", "inf", nan, nan=True, inf=True, pinf=True)
    assert seen("-inf", "inf", nan, inf=True, pinf=True)
    low = np.array([0, 1, -np.inf, -np.inf])
    assert not seen("-inf", "-inf", low, inf=True)
    assert seen("-inf", "-inf", low + np.array([0, 0, 0, np.inf]), inf=True)[0]
    assert seen("-inf", "inf", -low, inf=True) and seen("-inf", "inf", low)


def main():
    with np.errstate(invalid="ignore"):
        for check in (check_texts, check_verdicts, check_comparisons, check_regions):
            check()
    print(f"{len(EXTENTS)} extents, {len(LAYOUTS)} layouts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
