"""lib/maps.py sees each way in which a report of `graphopt map` can be wrong."""

import copy
import json
import pathlib
import random
import sys

import onnx
from onnx import parser

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from lib import maps  # noqa: E402


def node(name, depth=0):
    return {"depth": depth, "name": name, "op": "Relu", "type": "float[n]"}


def graph(*names):
    return {
        "constants": 0,
        "file": "x.onnx",
        "network": "sha256:" + "0" * 64,
        "nodes": [node(n) for n in names],
        "operators": len(names),
    }


def pair(a, b, confidence=0.9, why="equal constants"):
    return {
        "a": a,
        "b": b,
        "confidence": confidence,
        "raw_confidence": confidence,
        "values": [[a, b, None]],
        "why": why,
    }


def group(a, b, kind, values, why="operands of pairs"):
    return {"a": a, "b": b, "kind": kind, "values": values, "why": why}


RIGHT = {
    "a": graph("p", "q", "r", "s"),
    "advice": [{"a": "s", "top": [["z", 0.4], ["w", 0.1]]}],
    "b": graph("u", "v", "w", "z"),
    "format": "graphopt.map",
    "groups": [
        group(["r"], ["w", "z"], "decomposed", ["r", "z"]),
        group(["s"], [], "only_in_a", [], "no counterpart"),
    ],
    "method": "sparse",
    "numeric": {
        "compared": 2,
        "diverging": 1,
        "first": [
            {
                "a": "q",
                "attributes": {"axis": ["0", None]},
                "b": "v",
                "cosine": 0.99,
                "max_abs": "inf",
                "max_rel": 0.3,
                "problem": None,
                "region": {"a": ["q"], "b": ["u", "v"]},
            }
        ],
        "runtime": "ONNX Runtime 1.0.0",
    },
    "pairs": [pair("p", "u"), pair("q", "v", 0.5, "ambiguous")],
    "summary": {
        "a": {"alone": 0.25, "in_groups": 0.25, "in_pairs": 0.5},
        "b": {"alone": 0.0, "in_groups": 0.5, "in_pairs": 0.5},
        "why": {"ambiguous": 1, "equal constants": 1},
    },
    "verdict": "one model",
    "version": "1.0",
}

# A path into the report, what stands there then, and a part of what is said.
WRONG = [
    (["format"], "graphopt.device", "is not 'graphopt.map'"),
    (["version"], "2.0", "does not match"),
    (["method"], "dense", "is none of"),
    (["verdict"], "same", "is none of"),
    (["extra"], 1, "is not allowed"),
    (["a", "network"], "sha256:12", "does not match"),
    (["a", "operators"], -1, "is below"),
    (["a", "operators"], 5, "5 operators, 4 nodes"),
    (["a", "nodes", 1, "name"], "p", "'p' is there twice"),
    (["a", "nodes", 1, "name"], "k", "'q' is no operator of a"),
    (["a", "nodes", 1, "depth"], None, "is no integer"),
    (["b", "nodes", 0, "op"], "", "is shorter"),
    (["pairs", 1, "a"], "p", "'p' of a is in two pairs"),
    (["pairs", 1, "b"], "u", "'u' of b is in two pairs"),
    (["pairs", 1, "b"], "q", "'q' is no operator of b"),
    (["pairs", 1, "confidence"], 0.7, "ambiguous with confidence 0.7"),
    (["pairs", 0, "confidence"], 1.1, "is above"),
    (["pairs", 0, "why"], "a guess", "is none of"),
    (["pairs", 0, "values", 0], ["p", "u"], "has fewer entries"),
    (["pairs", 0, "values", 0, 2], [0, 2, 3, 2], "occurs twice"),
    (["pairs", 0, "values", 0, 2], [0, 2, 3], "is no permutation"),
    (["pairs", 1, "values", 0, 0], "p", "the value 'p' of a has two counterparts"),
    (["pairs", 1, "values", 0, 1], "u", "the value 'u' of b has two counterparts"),
    (["pairs"], [pair("q", "v", 0.5, "ambiguous"), pair("p", "u")], "not in the order"),
    (["groups", 0, "kind"], "fused", "groups[0] is fused with 1 and 2 operators"),
    (["groups", 0, "b"], ["z", "w"], "groups[0].b is not in the order"),
    (["groups", 0, "values"], [], "with the values []"),
    (["groups", 1, "values"], ["s", "z"], "with the values ['s', 'z']"),
    (["groups", 1, "why"], "operands of pairs", "and why 'operands of pairs'"),
    (["groups", 0, "a"], ["nobody"], "'nobody' is no operator"),
    (["advice", 0, "a"], "p", "advice[0] is not"),
    (["advice", 0, "top"], [["z", 0.1], ["w", 0.4]], "advice[0] is not"),
    (["advice", 0, "top"], [["z", 0.1]] * 4, "advice[0] is not"),
    (["advice", 0, "top"], [["s", 0.1]], "'s' is no operator of b"),
    (["summary", "a", "alone"], 0.5, "summary.a.alone"),
    (["summary", "why"], {"ambiguous": 2}, "summary.why"),
    (["verdict"], "not one model", "of graphs that are not one model"),
    (["numeric", "diverging"], 3, "more values differ"),
    (["numeric", "first", 0, "region", "b"], ["t"], "'t' is no operator of b"),
    (["numeric", "first", 0, "max_abs"], -1, "fits 0 of the alternatives"),
    (["numeric", "first", 0, "problem"], 7, "fits 0 of the alternatives"),
]

MODEL = """<ir_version: 10, opset_import: ["" : 21]>
g (float[2] x, bool c) => (float[2] y) <float[2] w = {1, 2}> {
  k = Constant <value = float[2] {1, 2}> ()
  i = Identity (w)
  p = Mul (x, w)
  q = Mul (x, k)
  r = If (c) <then_branch = t () => (float[2] m) { m = Add (p, i) },
              else_branch = e () => (float[2] n) { n = Sub (p, q) }>
  y = Relu (r)
}"""


def check_reports():
    assert maps.problems(RIGHT) == [], maps.problems(RIGHT)
    for path, value, part in WRONG:
        report = copy.deepcopy(RIGHT)
        at = report
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value
        found = maps.problems(report)
        assert any(part in text for text in found), (path, value, part, found)


def check_bytes():
    text = json.dumps(RIGHT, indent=2, sort_keys=True) + "\n"
    assert maps.read(text.encode()) == RIGHT
    turned = json.dumps({**RIGHT, "numeric": {"runtime": "", "first": []}}) + "\n"
    for wrong in (text.rstrip(), text.replace('"alone": 0.25', '"zone": 0.25'), turned, text[:-5] + "\n"):
        try:
            maps.read(wrong.encode())
        except ValueError:
            continue
        raise AssertionError(f"taken: {wrong[-80:]}")
    assert maps.path_problems(text.replace("x.onnx", "/some/k/x.onnx").encode(), "/some/k") == []
    assert maps.path_problems(text.replace("ONNX Runtime 1", "/some/k/libort").encode(), "/some/k")


def check_truth():
    model = parser.parse_model(MODEL)
    onnx.checker.check_model(model)
    names = list(maps.operators(model))
    assert sorted(names) == ["p", "q", "r", "r/else_branch/n", "r/then_branch/m", "y"], names
    numbers = maps.numbers_of(model)
    assert numbers["p"] == numbers["q"] and len({numbers[n] for n in names}) == 5, numbers

    copied, truth = maps.renamed(model, random.Random(1))
    onnx.checker.check_model(copied)
    there = maps.operators(copied)
    assert sorted(truth) == sorted(names) and sorted(truth.values()) == sorted(there), truth
    assert truth["y"] == "y" and truth["p"] != "p", truth
    assert {n.op_type for n in there.values()} == {"Mul", "If", "Add", "Sub", "Relu"}
    assert there[truth["r/then_branch/m"]].op_type == "Add"
    assert not any(n.doc_string for n in there.values())

    def report(*pairs):
        return {"pairs": [pair(a, truth[b]) for a, b in pairs]}

    def wrong(*pairs):
        return maps.wrong_pairs(report(*pairs), truth, numbers)

    assert wrong(*((n, n) for n in names)) == []
    # What computes the same may stand for each other.
    assert wrong(*((n, {"p": "q", "q": "p"}.get(n, n)) for n in names)) == []
    assert len(wrong(*((n, {"p": "y", "y": "p"}.get(n, n)) for n in names))) == 2
    assert wrong(*((n, n) for n in names if n != "r")) == ["'r' has no pair"]


if __name__ == "__main__":
    check_reports()
    check_bytes()
    check_truth()
    print(f"{len(WRONG)} wrong reports")
