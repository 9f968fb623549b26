#!/usr/bin/env python3
"""To rewrite each operand of a node with many takes a constant time, in the main graph and in bodies, and so
does to name and to type each of the many results of an If for devices.

  wide_nodes.py GRAPHOPT [--operands 8000]

What is asked about a node when one of its operands is replaced may cost as much as it has operands, so all of
them would cost the square. Measured is the processor time of the whole process: eight times the operands may
take MOST_RATIO times as long (a square: 64 times). Times below NOISE count as NOISE."""

import argparse
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "benchmarks"))
import make_graph  # noqa: E402
from make_graph import attr_graph, attr_int, floats, graph, node, value  # noqa: E402

MOST_RATIO = 24
NOISE = 0.02  # seconds

# What becomes of each operand: its node, and whether it reads a constant of its own.
REWRITES = {
    "equal subexpressions": ("Neg", lambda i: ["x"]),
    "a node that does nothing": ("Identity", lambda i: ["x"]),
    "one that is folded": ("Neg", lambda i: ["k"]),
    "one that is folded, of its own": ("Add", lambda i: ["k", f"k{i}"]),
    "equal constants": (None, lambda i: [f"k{i}"]),
}


def model(rewrite, wide, in_body, count):
    operator, operands = REWRITES[rewrite]
    own = [f"k{i}" for i in range(count)] if f"k{0}" in operands(0) else []
    results = [f"a{i}" for i in range(count)] if operator else own
    nodes = [node(operator, operands(i), [results[i]]) for i in range(count)] if operator else []
    attributes = [attr_int("axis", 0)] if wide == "Concat" else []
    nodes.append(node(wide, [*results, "x"], ["y"], *attributes))
    equal = operator is None
    constants = [floats("k", [1.0, 2.0, 3.0, 5.0])]
    constants += [floats(name, [1.0 if equal else float(i), 2.0, 3.0, 4.0]) for i, name in enumerate(own)]
    x, y = value(11, "x", 1, [4]), value(12, "y", 1, [4 * (count + 1) if wide == "Concat" else 4])
    if not in_body:
        return make_graph.model(graph(nodes, [x], [y], constants))
    then = graph(nodes, [], [y], constants, name="then")
    other = graph([node("Neg", ["x"], ["z"])], [], [value(12, "z", 1, [4])], name="other")
    branches = [attr_graph("then_branch", then), attr_graph("else_branch", other)]
    result = value(12, "o", 1, ["n"])
    return make_graph.model(
        graph([node("If", ["c"], ["o"], *branches)], [x, value(11, "c", 9, [])], [result])
    )


def returned(count):
    """An If whose branches return all of their values, by nodes without names."""

    def branch(name, operator):
        nodes = [node(operator, ["x", f"k{i}"], [f"{name}{i}"]) for i in range(count)]
        return graph(nodes, [], [value(12, f"{name}{i}", 1, [4]) for i in range(count)], name=name)

    branches = [
        attr_graph("then_branch", branch("t", "Add")),
        attr_graph("else_branch", branch("e", "Mul")),
    ]
    results = [f"y{i}" for i in range(count)]
    constants = [floats(f"k{i}", [float(i), 2.0, 3.0, 4.0]) for i in range(count)]
    return make_graph.model(
        graph(
            [node("If", ["c"], results, *branches)],
            [value(11, "x", 1, [4]), value(11, "c", 9, [])],
            [value(12, name, 1, [4]) for name in results],
            constants,
        )
    )


def seconds(tool, folder, data, *more):
    source = folder / "in.onnx"
    source.write_bytes(data)
    words = [tool, str(source), "-o", str(folder / "out.onnx"), "-q", *more]
    _, status, used = os.wait4(os.posix_spawn(tool, words, os.environ), 0)
    if status != 0:
        sys.exit(f"exit status {os.waitstatus_to_exitcode(status)}: {' '.join(words)}")
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("--operands", type=int, default=8000)
    words = parser.parse_args()
    devices = ("--devices", "cpu", "--parts", "never")
    cases = [(r, w, b) for r in REWRITES for w in ("Sum", "Concat") for b in (False, True)]
    bad, largest = 0, 0.0
    with tempfile.TemporaryDirectory() as name:
        for case in [*cases, None]:
            few, many = (
                seconds(words.tool, pathlib.Path(name), model(*case, n))
                if case
                else seconds(words.tool, pathlib.Path(name), returned(2 * n), *devices)
                for n in (words.operands // 8, words.operands)
            )
            ratio = many / max(few, NOISE)
            largest = max(largest, ratio)
            if ratio > MOST_RATIO:
                bad += 1
                where = "a body" if case and case[2] else "the main graph"
                what = f"{case[1]} in {where}, {case[0]}" if case else "results of an If, for devices"
                print(f"{what}: {few:.3f} s become {many:.3f} s")
    print(f"{len(cases) + 1} kinds, 8 times the operands: at most {largest:.1f} times as long; {bad} bad")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
