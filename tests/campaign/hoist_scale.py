#!/usr/bin/env python3
# TIER: nightly
# WHEN: src/hoist/ src/draft/
"""Large graphs through the search over moves: it ends, finds what is there, and its time grows with the
graph, not with its square.

  hoist_scale.py GRAPHOPT [--sizes 10000,100000] [--kinds reshapes,concat,...] [--runs N]

The kinds are those of benchmarks/make_graph.py. What must be left is counted by hand: a chain of elementwise
nodes without its Reshapes, Splits and Concats that undo each other, one Concat instead of a nest of them.
Measured is the time of the two passes. There is no bound on seconds: the time per node of the last size may
be at most MOST_RATIO times that of the first one, the best of some runs each, where the first is well above
the noise (a square would be 10 times as much for 10 times the nodes). The long form: --sizes 100000,1000000.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "benchmarks"))
import make_graph  # noqa: E402

LEFT = {
    "reshapes": lambda n: n // 2,  # every Reshape goes: the last one restores the shape of the input
    "concat": lambda n: max(2, n // 10) * 9 + 1,  # nothing goes, but Reshapes move
    "alike": lambda n: 10,  # one branch downstream of the Concat
    "splits": lambda n: n // 6 * 2,  # two nodes on the whole tensor instead of four on results of the Split
    "nested": lambda n: max(2, n // 100) * 99 + 1,  # one Concat
    "joins": lambda n: n // 4 * 2,  # both Reshapes of each rung
    "readers": lambda n: n,  # nothing goes
}
PASSES = ("aggregate-elementwise", "hoist-reshape")
MOST_RATIO = 5.0
NOISE = 0.02  # seconds


def run(tool, source, work):
    report = os.path.join(work, "report.json")
    made = subprocess.run(
        [tool, source, "-o", os.path.join(work, "out.onnx"), "-q", "--report", report],
        capture_output=True,
        text=True,
    )
    if made.returncode != 0:
        sys.exit(f"{source}: status {made.returncode}: {made.stderr}")
    with open(report, encoding="utf-8") as f:
        written = json.load(f)
    seconds = sum(p["seconds"] for p in written["passes"] if p["name"] in PASSES)
    return seconds, written["after"]["nodes"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("--sizes", default="10000,100000")
    p.add_argument("--kinds", default=",".join(LEFT))
    p.add_argument("--runs", type=int, default=2)
    a = p.parse_args()
    sizes, bad = [int(s) for s in a.sizes.split(",")], 0
    sanitized = os.environ.get("GRAPHOPT_SANITIZED") == "1"
    with tempfile.TemporaryDirectory() as work:
        source = os.path.join(work, "in.onnx")
        for kind in a.kinds.split(","):
            best = [float("inf")] * len(sizes)
            for _ in range(3):  # an excess must persist
                for i, n in enumerate(sizes):
                    with open(source, "wb") as f:
                        f.write(make_graph.model(make_graph.build(kind, n)))
                    runs = [run(a.tool, source, work) for _ in range(a.runs)]
                    best[i] = min([best[i], *(s for s, _ in runs)])
                    left = {nodes for _, nodes in runs}
                    if left != {LEFT[kind](n)}:
                        print(f"{kind}, {n} nodes: {sorted(left)} nodes are left, not {LEFT[kind](n)}")
                        bad += 1
                ratio = best[-1] / sizes[-1] / (best[0] / sizes[0]) if best[0] else 0.0
                if ratio <= MOST_RATIO:
                    break
            times = ", ".join(f"{n} nodes {s:.3f} s" for n, s in zip(sizes, best))
            print(f"{kind:9s} {times}; per node {ratio:.2f} times", flush=True)
            if best[0] > NOISE and ratio > MOST_RATIO and not sanitized:
                print(f"{kind}: more than {MOST_RATIO} times as long per node")
                bad += 1
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
