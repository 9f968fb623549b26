#!/usr/bin/env python3
# LONG: --all
"""Real exports before and after: runs both in ONNX Runtime and compares the results, counts the nodes, and
runs the tool again on its output.

  zoo.py GRAPHOPT [--all] [--only NAME ...] [--options '...'] [--work DIR] [--table FILE.json]

The models are those of tests/models; the short form takes the ones of less than SHORT_BYTES, --all takes all.
Also checked: -O0 keeps a model the same (nodes in canonical order), a second run over the output gives the
same bytes, no model gains nodes. --work keeps the filled models for the next run; --table writes a row per
model, which benchmarks/figures.py reads.
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
from lib import compare, counting, models  # noqa: E402

SHORT_BYTES = 16e6


class Failed(Exception):
    """The tool did not end with status 0; the text has its message."""


def run(tool, *words):
    done = subprocess.run([tool, *words, "-q"], capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"{' '.join(words)}: exit status {done.returncode}: {done.stderr.strip()[-400:]}")


def same_model(x, y):
    """Field by field, nodes up to the order in which they stand (both orders are topological)."""
    a, b = (onnx.load(f, load_external_data=False) for f in (x, y))
    nodes = [sorted(n.SerializeToString(deterministic=True) for n in m.graph.node) for m in (a, b)]
    for m in (a, b):
        del m.graph.node[:]
    rest = [m.SerializeToString(deterministic=True) for m in (a, b)]
    return nodes[0] == nodes[1] and rest[0] == rest[1]


def examine(tool, options, source, folder):
    """A row of the table; "after" and "rel_diff" are missing when the tool failed."""
    row, target, again = {"problems": []}, f"{folder}/out.onnx", f"{folder}/again.onnx"
    try:
        run(tool, source, "-O0", "-o", target)
        if not same_model(source, target):
            row["problems"].append("-O0 changes the model")
        row["before"] = counting.nodes(source)
        run(tool, source, "-o", target, *options)
        found = compare.compare(source, target, models.records()[pathlib.Path(source).stem])
        row.update(after=counting.nodes(target), rel_diff=found.rel_diff)
        if row["after"] > row["before"]:
            row["problems"].append(f"{row['before']} nodes became {row['after']}")
        if found.problems:
            row["problems"].append(found.verdict)
        run(tool, target, "-o", again, *options)
        if pathlib.Path(again).read_bytes() != pathlib.Path(target).read_bytes():
            row["problems"].append("a second run changes the result")
    except Failed as e:
        row["problems"].append(str(e))
    return row


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    p.add_argument("--options", default="", help="of graphopt, one string")
    p.add_argument("--work", metavar="DIR", help="filled models are kept there and used again")
    p.add_argument("--table", metavar="FILE.json")
    a = p.parse_args()
    table = []
    with models.work_folder(a.work) as work, tempfile.TemporaryDirectory() as temp:
        names = models.chosen(a.only, lambda r: a.all or r["filled_bytes"] < SHORT_BYTES)
        for name, source in models.filled(names, work).items():
            row = {"model": name, **examine(a.tool, a.options.split(), source, temp)}
            table.append(row)
            line = f"{name:28}"
            if "after" in row:
                line += f"{row['before']:6} -> {row['after']:6}   relative difference {row['rel_diff']:.2g}"
            print("\n  ".join([line, *row["problems"]]), flush=True)
            for f in os.listdir(temp):
                os.remove(os.path.join(temp, f))
    bad = [r["model"] for r in table if r["problems"]]
    before, after = (sum(r.get(k, 0) for r in table) for k in ("before", "after"))
    print(f"{len(table)} models, {before} -> {after} nodes, {len(bad)} bad {' '.join(bad)}")
    if a.table:
        pathlib.Path(a.table).write_text(json.dumps(table, indent=1) + "\n")
    return 1 if bad or not table else 0


if __name__ == "__main__":
    sys.exit(main())
