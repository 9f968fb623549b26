#!/usr/bin/env python3
# LONG: --all --count 1000
"""The cost that reshape hoisting and aggregation reach must not rise.

  hoist_costs.py GRAPHOPT [--count N] [--all] [--only NAME ...] [--work DIR] [--record]

The cost of a graph is (C', F + D) as in docs/hoisting.md, compared in this order; the cost that
counts is the one after the last move, from --report, summed over a model's graphs. The number of nodes of the
result, which does not depend on the tool's own arithmetic, is compared, too. tests/vectors/hoist_costs has
the records:

  random.csv  the graphs that property/_hoist_graphs.py makes from seed 1 on; the first N (default 60)
  models.csv  the models of tests/models as filled; without --all, those of less than SHORT_BYTES

A cost or a number of nodes above the recorded one is an error, and so is a cost that is not reported any more
or a random graph that the generator makes with other nodes than at the time of the record. --all takes all
recorded graphs and models, --record writes what is found instead of comparing. property/hoist_graphs.py and
zoo.py check that the results are right.
"""

import argparse
import csv
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import onnx

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "property")]
import _hoist_graphs  # noqa: E402
from lib import counting, models, vectors  # noqa: E402

RECORD = vectors.FOLDER / "hoist_costs"
SHORT_BYTES = 16e6
RANDOM = ["seed", "nodes_before", "nodes", "compute", "free_and_deform"]
MODELS = ["model", *RANDOM[1:]]
REFERENCE = ["reference_before", "reference_after"]  # columns that this script never changes


class Failed(Exception):
    """The tool did not end with status 0; the text is its message."""


def nodes_of(path):
    """Nodes of a file, counted here: what the tool reports of itself proves nothing."""
    return counting.nodes(path)


def measure(tool, path, folder):
    """A row for the model at `path` without its name; the costs are None where no graph was searched."""
    report = pathlib.Path(folder, "report.json")
    command = [tool, path, "-o", f"{folder}/out.onnx", "-q", "--exact", "--report", str(report)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"exit status {done.returncode}: {done.stderr.strip()[-300:]}")
    report_data = json.loads(report.read_text(encoding="utf-8"))
    row = {"nodes_before": report_data["before"]["nodes"], "nodes": nodes_of(f"{folder}/out.onnx")}
    costs = [c["after"] for c in report_data["costs"]]
    row["compute"] = sum(c["compute"] for c in costs) if costs else None
    row["free_and_deform"] = sum(c["free"] + c["deform"] for c in costs) if costs else None
    return row


def cost(row):
    return None if row["compute"] is None else (row["compute"], row["free_and_deform"])


def show(row):
    return "no graph searched" if row["compute"] is None else f"{row['compute']}, {row['free_and_deform']}"


def problems_of(found, recorded):
    out = []
    if found["nodes_before"] != recorded["nodes_before"]:
        out.append(
            f"{found['nodes_before']} nodes before, recorded {recorded['nodes_before']}: another graph"
        )
    if found["nodes"] > recorded["nodes"]:
        out.append(f"{found['nodes']} nodes, recorded {recorded['nodes']}")
    if cost(recorded) is not None and (cost(found) is None or cost(found) > cost(recorded)):
        out.append(f"cost {show(found)}, recorded {show(recorded)}")
    return out


def read(name):
    path = RECORD / name
    if not path.exists():
        return []
    with open(path, encoding="utf-8") as f:
        return [
            {k: v if k in ("model", *REFERENCE) else int(v) if v else None for k, v in row.items()}
            for row in csv.DictReader(f)
        ]


def write(name, columns, rows):
    RECORD.mkdir(exist_ok=True)
    with open(RECORD / name, "w", encoding="utf-8", newline="") as f:
        w = csv.DictWriter(f, columns, restval="", lineterminator="\n")
        w.writeheader()
        w.writerows({k: "" if v is None else v for k, v in row.items()} for row in rows)


def random_graphs(a, temp):
    """How many graphs are worse than recorded."""
    rows = read("random.csv")
    seeds = range(1, a.count + 1) if a.record else [r["seed"] for r in rows][: None if a.all else a.count]
    found, bad = [], 0
    for seed in seeds:
        path = f"{temp}/in.onnx"
        onnx.save(_hoist_graphs.Graph(random.Random(seed)).model, path)
        found.append({"seed": seed, **measure(a.tool, path, temp)})
    if a.record:
        write("random.csv", RANDOM, found)
        rows = found
    for f, r in zip(found, rows):
        problems = problems_of(f, r)
        bad += bool(problems)
        for text in problems:
            print(f"seed {f['seed']}: {text}", flush=True)
    sums = [[sum(row[k] or 0 for row in table) for k in RANDOM[1:]] for table in (found, rows[: len(found)])]
    print(f"{len(found)} random graphs: {sums[0][0]} -> {sums[0][1]} nodes, cost {sums[0][2]}, {sums[0][3]}")
    print(f"  recorded: {sums[1][1]} nodes, cost {sums[1][2]}, {sums[1][3]}; {bad} worse", flush=True)
    return bad if found else 1


def real_models(a, work, temp):
    """How many models are worse than recorded."""
    recorded, bad = {r["model"]: r for r in read("models.csv")}, 0
    names = models.chosen(a.only, lambda r: a.all or a.record or r["filled_bytes"] < SHORT_BYTES)
    for name, path in models.filled(names, work).items():
        found, old = {"model": name, **measure(a.tool, path, temp)}, recorded.get(name)
        if a.record:
            recorded[name] = {**(old or {}), **found}
            problems = []
        else:
            problems = problems_of(found, old) if old else ["there is no record"]
        lower = old and cost(found) and cost(old) and cost(found) < cost(old)
        reference = f"   reference {old['reference_after']}" if old and old["reference_after"] else ""
        print(
            f"{name:28}{found['nodes_before']:>6} ->{found['nodes']:>5}{show(found):>20}"
            + reference
            + (f"   below the record of {show(old)}" if lower else ""),
            *problems,
            sep="\n    ",
            flush=True,
        )
        bad += bool(problems)
    if a.record:
        write("models.csv", MODELS + REFERENCE, [recorded[k] for k in sorted(recorded)])
    print(f"{len(names)} models, {bad} worse")
    return bad if names else 1


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--count", type=int, default=60, metavar="N", help="random graphs (default 60)")
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", nargs="+", default=[], metavar="NAME", help="of the models")
    p.add_argument("--work", metavar="DIR", help="filled models are kept there and used again")
    p.add_argument("--record", action="store_true", help="write what is found; N random graphs, all models")
    a = p.parse_args()
    with models.work_folder(a.work) as work, tempfile.TemporaryDirectory() as temp:
        bad = random_graphs(a, temp)
        bad += real_models(a, work, temp)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
