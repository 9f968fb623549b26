#!/usr/bin/env python3
"""The rewrite vectors: is the after graph of each reached, bit for bit, and nothing touched that must stay?

  rewrite_vectors.py GRAPHOPT [--only PREFIX ...] [--regions]

Every before graph in tests/vectors/rewrites goes through the passes. The result must be the after graph
(lib/graph_comparison.py lists what is free), be accepted by onnx.checker, give the same bits in ONNX Runtime,
and a second run over it must give the same bytes. A vector marked KEEP counts as unchanged, another one as
reached. With --regions, also the field "regions" of `GRAPHOPT inspect --json AFTER` against regions.json: the
members of every region, in whatever order the regions stand.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import graph_comparison, runs, vectors  # noqa: E402
from lib.tool import Tool  # noqa: E402

EXPECTED = {"reached": 36, "unchanged": 20}  # a vector that goes missing would otherwise be a success


def one_line(error):
    return " ".join(str(error).split())[:300]


def problems_of(vector, tool, work):
    """What is wrong with one vector, as texts."""
    given, target, again = (os.path.join(work, f) for f in ("in.onnx", "out.onnx", "again.onnx"))
    onnx.save(vector.before, given)
    if why := tool.run(given, target):
        return [why]
    problems, result = [], onnx.load(target)
    try:
        onnx.checker.check_model(result, full_check=True)
    except Exception as e:  # noqa: BLE001
        problems.append(f"onnx.checker: {one_line(e)}")
    if d := graph_comparison.difference(result, vector.after):
        moved = graph_comparison.difference(result, vector.before) is not None
        what = "changed" if vector.keep else "changed, to another graph" if moved else "not changed"
        problems.append(f"{what} (result / expected): {d}")
    try:
        why = runs.pair_difference(vector.before, result, 12, vector.feeds, vector.extents)
    except Exception as e:  # noqa: BLE001
        why = f"not loaded: {one_line(e)}"
    problems += [why] if why else []
    if why := tool.run(target, again):
        problems.append("second run: " + why)
    elif open(target, "rb").read() != open(again, "rb").read():
        problems.append("a second run gives other bytes")
    return problems


def region_problem(binary, vector, expected, work):
    """Compares the regions that `inspect` lists for an after graph; None when it is right."""
    after = os.path.join(work, "after.onnx")
    onnx.save(vector.after, after)
    done = subprocess.run([binary, "inspect", "--json", after], capture_output=True, text=True)
    if done.returncode:
        return f"inspect: exit status {done.returncode}: {done.stderr.strip()[-300:]}"
    found = sorted(sorted(r["members"]) for r in json.loads(done.stdout)["regions"])
    expected = sorted(sorted(r) for r in expected)
    return None if found == expected else f"regions are {found}, expected {expected}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--only", nargs="+", default=[], metavar="PREFIX", help="of the vectors' names")
    p.add_argument("--regions", action="store_true", help="compare the regions of all after graphs, too")
    a = p.parse_args()
    tool, chosen = Tool(a.tool), vectors.rewrites(a.only)
    counts, bad = {"reached": 0, "unchanged": 0, "failed": 0}, 0
    with tempfile.TemporaryDirectory() as work:
        for v in chosen:
            try:
                problems = problems_of(v, tool, work)
            except Exception as e:  # noqa: BLE001
                problems = [f"{type(e).__name__}: {one_line(e)}"]
            verdict = "failed" if problems else "unchanged" if v.keep else "reached"
            counts[verdict] += 1
            print(f"{verdict:10s}{v.name}" + "".join(f"\n    {x}" for x in problems), flush=True)
        print(", ".join(f"{n} {k}" for k, n in counts.items()))
        if not a.only and counts["failed"] == 0 and any(counts[k] != n for k, n in EXPECTED.items()):
            print(f"expected {EXPECTED}")
            bad += 1
        if a.regions:
            expected = vectors.regions()
            wrong = {v.name: region_problem(a.tool, v, expected[v.name], work) for v in chosen}
            wrong = {name: why for name, why in wrong.items() if why}
            for name, why in wrong.items():
                print(f"regions   {name}: {why}", flush=True)
            print(f"regions of {len(chosen)} after graphs, {len(wrong)} wrong")
            bad += len(wrong)
    return 1 if bad or counts["failed"] or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
