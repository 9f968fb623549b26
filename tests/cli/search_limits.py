"""Limits of the search over moves: one that is met costs a rewrite and is named, in the report, with -v and
with --explain; below it nothing is said."""

import json
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _tool import expect, main


def strided(count):
    """Slices x[0::count] .. x[count-1::count], joined by one Concat. If count is at most 64 they become two
    Reshapes and a Transpose."""
    numbers = {f"n{k}": k for k in range(count)} | {"end": 2 * count, "axis": 0, "step": count}
    nodes = [
        helper.make_node("Slice", ["x", f"n{k}", "end", "axis", "step"], [f"s{k}"]) for k in range(count)
    ]
    nodes.append(helper.make_node("Concat", [f"s{k}" for k in range(count)], ["y"], axis=0))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2 * count])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2 * count])],
        [numpy_helper.from_array(np.array([v], np.int64), k) for k, v in numbers.items()],
    )
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def forked(consumers):
    """A Reshape with that many elementwise consumers, whose results are outputs."""
    nodes = [helper.make_node("Reshape", ["x", "shape"], ["r"])]
    nodes += [helper.make_node("Add", ["r", f"c{k}"], [f"y{k}"]) for k in range(consumers)]
    constants = [numpy_helper.from_array(np.array(k + 1, np.float32), f"c{k}") for k in range(consumers)]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 6])],
        [helper.make_tensor_value_info(f"y{k}", TensorProto.FLOAT, [24]) for k in range(consumers)],
        [numpy_helper.from_array(np.array([24], np.int64), "shape"), *constants],
    )
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def run(tool, folder, m, *words):
    path = folder / "m.onnx"
    onnx.save(m, path)
    done = tool(path, "-o", folder / "o.onnx", "--report", folder / "r.json", *words)
    expect(done.returncode == 0, done.stderr)
    return json.loads((folder / "r.json").read_text()), done.stderr


def test_a_limit_that_is_met_is_named(tool, folder):
    report, text = run(tool, folder, strided(65), "-v", "--explain", "hoist-reshape")
    expect([limit["name"] for limit in report["limits"]] == ["strided-slices"], report["limits"])
    expect(report["limits"][0]["times"] > 0, report["limits"])
    expect(report["after"]["nodes"] == report["before"]["nodes"], report["after"])
    expect("limits of the search that were met: strided-slices (" in text, text)
    stopped = [e for e in report["explain"] if e["reason"] == "limit"]
    expect(stopped and all(e["limit"] == "strided-slices" for e in stopped), report["explain"])
    expect(": strided-slices\n" in text, text)


def test_without_v_the_line_is_not_printed(tool, folder):
    _, text = run(tool, folder, strided(65))
    expect("limit" not in text, text)


def test_at_the_limit_nothing_is_met(tool, folder):
    report, text = run(tool, folder, strided(64), "-v", "--explain", "hoist-reshape")
    expect(report["limits"] == [], report["limits"])
    expect(report["after"]["nodes"] == 3, report["after"])
    expect("limits of the search" not in text, text)


def test_a_fork_of_too_many_is_named(tool, folder):
    for consumers, names in [(16, []), (17, ["fork-consumers"])]:
        report, _ = run(tool, folder, forked(consumers), "--explain", "hoist-reshape")
        expect([limit["name"] for limit in report["limits"]] == names, consumers, report["limits"])
        told = [e["limit"] for e in report["explain"] if e["reason"] == "limit"]
        expect(told == names, consumers, report["explain"])


if __name__ == "__main__":
    sys.exit(main(globals()))
