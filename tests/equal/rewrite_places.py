#!/usr/bin/env python3
"""Places in real exports where an anchor feeds a deformation and that feeds an elementwise node: each must be
decided.

  rewrite_places.py GRAPHOPT [--work DIR]

tests/vectors/rewrites/places.csv names them by model and by the deformation's result. After the run a
deformation is gone, or --explain gives a reason for it. `shape-unknown` and `not-writable` are no decisions:
there a fact or a form is missing. Prints the reasons per model. --work keeps the filled models.
"""

import argparse
import collections
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import models, vectors  # noqa: E402
from lib.tool import HOIST  # noqa: E402

UNDECIDED = {"shape-unknown", "not-writable"}


def reasons_of(tool, path, folder):
    """{value: reasons why a candidate there was refused}"""
    report = pathlib.Path(folder, "report.json")
    command = [tool, path, "-o", f"{folder}/out.onnx", "-q", "--report", str(report)]
    subprocess.run([*command, "--explain", ",".join(HOIST)], check=True, stdout=subprocess.DEVNULL)
    reasons = collections.defaultdict(set)
    for entry in json.loads(report.read_text(encoding="utf-8"))["explain"]:
        reasons[entry["value"]].add(entry["reason"])
    return reasons


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--work", metavar="DIR", help="filled models are kept there and used again")
    a = p.parse_args()
    places, undecided = collections.defaultdict(list), 0
    with open(vectors.FOLDER / "rewrites" / "places.csv", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            places[row["model"]].append(row["deformation_output"])
    with models.work_folder(a.work) as work, tempfile.TemporaryDirectory() as temp:
        for name, path in models.filled(sorted(places), work).items():
            reasons, count = reasons_of(a.tool, path, temp), collections.Counter()
            for v in places[name]:
                found = reasons[v] | reasons[v + "_moved"]
                count[", ".join(sorted(found)) or "kept or gone"] += 1
                if found & UNDECIDED:
                    undecided += 1
                    print(f"  {name}: {v}: {', '.join(sorted(found))}")
            print(f"{name:<24}{len(places[name]):>4} places: {dict(count)}")
    total = sum(map(len, places.values()))
    print(f"{total} places, {undecided} undecided")
    return 1 if undecided or not total else 0


if __name__ == "__main__":
    sys.exit(main())
