#!/usr/bin/env python3
"""Writes the table of figures in README.md: nodes before and after on the models of tests/models, beside the
figures of other optimizers.

  figures.py GRAPHOPT [--check] [--work DIR] [--peers FILE.json]

Fills the models, runs tests/equal/zoo.py over all of them (it compares the results in ONNX Runtime, too)
and replaces what stands between the two marks in README.md; with --check it changes nothing, and the exit
status is 1 when README.md differs. Some twenty seconds. The other optimizers are not run: peers.json has
what they left of each model, with their versions, and costs.json what peers.py measured of all processes
and of sessions of what they wrote. --work keeps the filled models for the next run.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
BEGIN, END = "<!-- figures: begin (benchmarks/figures.py) -->\n", "<!-- figures: end -->\n"
SHOWN = ("onnxsim", "onnxslim", "onnxoptimizer", "onnxscript", "ort_basic")


def zoo(tool, work):
    """{model: its row of zoo.py's table}; ends the program when a model is bad."""
    with tempfile.TemporaryDirectory() as temp:
        table = os.path.join(temp, "table.json")
        command = [sys.executable, "-B", ROOT / "tests/equal/zoo.py", tool, "--all", "--table", table]
        done = subprocess.run([*command, *(["--work", work] if work else [])])
        if done.returncode:
            sys.exit("figures: zoo.py found something wrong; README.md is not changed")
        with open(table, encoding="utf-8") as f:
            return {row["model"]: row for row in json.load(f)}


def text(ours, peers, costs):
    """The lines between the marks."""
    before = {m: row["before"] for m, row in ours.items()}

    def row(name, after, peer):
        """`after` has the nodes of the models on which this optimizer is right."""
        mean = math.exp(math.fsum(math.log(n / before[m]) for m, n in after.items()) / len(after))
        total = f"{sum(after.values()):,}" if len(after) == len(before) else "-"
        c = costs[peer]
        spent = f"{c['start']:.3f} | {c['latency']:.3f} | {c['cpu_seconds']:.3f} | {c['peak_mib']:.0f}"
        return f"| {name} | {len(after)} of {len(before)} | {mean:.3f} | {total} | {spent} |"

    after = {m: row["after"] for m, row in ours.items()}
    lines = [
        "| | models right | nodes after / before (geometric mean over its right models) "
        f"| nodes in total, of {sum(before.values()):,} "
        "| session start, of the original's CPU time (geometric mean) "
        "| run, of the original's time (geometric mean) "
        "| CPU seconds of the optimizer (geometric mean) | its greatest memory, MiB |",
        "|---|---|---|---|---|---|---|---|",
        row("**graphopt**", after, "graphopt"),
    ]
    right = {m: {p: r for p, r in peers["models"][m].items() if r["verdict"] == "right"} for m in ours}
    for peer in SHOWN:
        nodes = {m: found[peer]["nodes"] for m, found in right.items() if peer in found}
        lines.append(row(peers["peers"][peer]["name"], nodes, peer))
    best = {m: min(r["nodes"] for r in found.values() if r["plain"]) for m, found in right.items()}
    fewer, same = sum(after[m] < best[m] for m in ours), sum(after[m] == best[m] for m in ours)
    lines += [
        "",
        "A result is right if it computes the same as the original; - means that not all results are right. "
        "Per model, compared with the right result of these peers that has the fewest nodes and adds no "
        f"operator outside the standard: graphopt leaves fewer nodes on {fewer}, as many on {same}, more on "
        f"{len(ours) - fewer - same} of {len(ours)} models.",
    ]
    return "\n".join(lines) + "\n"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--check", action="store_true")
    p.add_argument("--work", metavar="DIR")
    p.add_argument("--peers", metavar="FILE.json", default=ROOT / "benchmarks/peers.json")
    a = p.parse_args()
    with open(a.peers, encoding="utf-8") as f:
        peers = json.load(f)
    with open(ROOT / "benchmarks/costs.json", encoding="utf-8") as f:
        costs = json.load(f)
    readme = ROOT / "README.md"
    old = readme.read_text(encoding="utf-8")
    head, rest = old.split(BEGIN)
    new = head + BEGIN + text(zoo(a.tool, a.work), peers, costs) + END + rest.split(END)[1]
    if a.check:
        return 0 if new == old else "figures: README.md is not up to date"
    readme.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
