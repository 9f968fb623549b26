#!/usr/bin/env python3
"""Places behind heavy anchors in real exports where a deformation stands in front of an elementwise node:
each is decided.

  rewrite_places.py GRAPHOPT SHARED

SHARED/vectors/rewrites/places.csv names them by model and by the deformation's result. After the run each is
gone, or --explain gives it a reason; `shape-unknown` and `not-writable` are no decisions: there a fact or a
form is missing. Prints the reasons per model. Where SHARED is missing the test says so and is skipped (exit
status 77).
"""

import collections
import csv
import json
import subprocess
import sys
import tempfile
from pathlib import Path

UNDECIDED = {"shape-unknown", "not-writable"}


def main():
    if len(sys.argv) < 3 or not (Path(sys.argv[2]) / "vectors/rewrites/places.csv").is_file():
        print("rewrite_places: the folder with the vectors is missing: skipped")
        return 77
    tool, shared = sys.argv[1], Path(sys.argv[2])
    places = collections.defaultdict(list)
    with open(shared / "vectors/rewrites/places.csv") as f:
        for row in csv.DictReader(f):
            places[row["model"]].append(row["deformation_output"])
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [
                sys.executable,
                str(shared / "tools/fill_models.py"),
                str(shared / "models"),
                folder,
                "--only",
                *sorted(places),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        for name, values in sorted(places.items()):
            report = Path(folder) / "report.json"
            subprocess.run(
                [
                    tool,
                    str(Path(folder) / f"{name}.onnx"),
                    "-o",
                    str(Path(folder) / "out.onnx"),
                    "-q",
                    "--report",
                    str(report),
                    "--explain",
                    "aggregate-elementwise,hoist-reshape",
                ],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            reasons = collections.defaultdict(set)
            for entry in json.loads(report.read_text())["explain"]:
                reasons[entry["value"]].add(entry["reason"])
            count = collections.Counter()
            for v in values:
                found = reasons[v] | reasons[v + "_moved"]
                count[", ".join(sorted(found)) or "kept or gone"] += 1
                if found & UNDECIDED:
                    bad += 1
                    print(f"  {name}: {v}: {', '.join(sorted(found))}")
            print(f"{name:<24}{len(values):>4} places: {dict(count)}")
    print(f"{sum(map(len, places.values()))} places, {bad} undecided")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
