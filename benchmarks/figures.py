#!/usr/bin/env python3
"""Writes the table of figures in README.md: nodes before and after, beside the peers' figures.

  figures.py TABLE.json SHARED [--check]

TABLE.json comes from `tests/equal/zoo.py GRAPHOPT SHARED --all --table TABLE.json`; the peers' figures from
SHARED/models/peers.csv (measured there; which versions: SHARED/tools/requirements.txt). --check: exit status
1 when README differs.
"""

import csv
import json
import math
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BEGIN, END = "<!-- figures: begin (benchmarks/figures.py) -->\n", "<!-- figures: end -->\n"
PEERS = [
    ("onnxsim", "onnxsim 0.8.1"),
    ("onnxslim", "onnxslim 0.1.98"),
    ("onnxoptimizer", "onnxoptimizer 0.4.2"),
    ("onnxscript", "onnxscript 0.7.2"),
    ("ort_basic", "ONNX Runtime 1.31.1, basic"),
]


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    ours = {r["model"]: r for r in json.load(open(sys.argv[1]))}
    theirs, best = {}, {}
    for r in csv.DictReader(open(os.path.join(sys.argv[2], "models", "peers.csv"))):
        if r["peer"] == "original":
            best[r["model"]] = int(r["best_plain"])
        elif r["status"] == "ok":
            theirs[r["model"], r["peer"]] = int(r["nodes"])
    models = sorted(ours)
    lines = [
        "| | models right | nodes after / before (geometric mean over its right models) | nodes in total, of "
        f"{sum(ours[m]['before'] for m in models):,} |",
        "|---|---|---|---|",
    ]

    def row(name, after):
        right = [m for m in models if m in after]
        mean = math.exp(sum(math.log(after[m] / ours[m]["before"]) for m in right) / len(right))
        total = f"{sum(after.values()):,}" if len(right) == len(models) else "-"
        lines.append(f"| {name} | {len(right)} of {len(models)} | {mean:.3f} | {total} |")

    row("**graphopt**", {m: ours[m]["after"] for m in models if not ours[m]["problems"]})
    for key, name in PEERS:
        row(name, {m: theirs[m, key] for m in models if (m, key) in theirs})
    fewer = sum(ours[m]["after"] < best[m] for m in models)
    equal = sum(ours[m]["after"] == best[m] for m in models)
    lines.append(
        f"\nAgainst the best of these peers on each model that is right and adds no operator outside the standard: fewer nodes on {fewer}, "
        f"as many on {equal}, more on {len(models) - fewer - equal} of {len(models)} models."
    )
    table = BEGIN + "\n".join(lines) + "\n" + END
    path = os.path.join(ROOT, "README.md")
    text = open(path).read()
    new = text[: text.index(BEGIN)] + table + text[text.index(END) + len(END) :]
    if "--check" in sys.argv:
        return 0 if new == text else "figures: README.md is not up to date"
    open(path, "w").write(new)


if __name__ == "__main__":
    sys.exit(main())
