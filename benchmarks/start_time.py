#!/usr/bin/env python3
"""Do sessions of optimized models start faster in ONNX Runtime? Processor times of interleaved starts.

  start_time.py GRAPHOPT [FOLDER] [--options '...'] [--only NAME ...] [--starts N]
                [--optimizations all|off] [--work DIR]
  start_time.py BEFORE.onnx AFTER.onnx [BEFORE.onnx AFTER.onnx ...]

GRAPHOPT optimizes the models of tests/models, or the *.onnx of FOLDER, with the options given. A session of
each model is made from its file --starts times in turns, with one thread; the least processor time of that
thread counts, which other load on the machine changes little. Printed are both, and their ratio after /
before. Where the ratio is above --limit (1.05), the first model is measured against itself, too, and the
model counts as slower when its ratio exceeds that as well. Exit status 1 when one did, or does not load any
more.
"""

import argparse
import json
import math
import sys
import time

import onnxruntime as ort

import _pairs
from _pairs import models
from lib import compare


def starts(paths, a):
    """The least processor time of a start of each path, in seconds."""
    best = [math.inf] * len(paths)
    for k in range(a.starts):
        for j in range(len(paths))[:: 1 if k % 2 else -1]:
            begin = time.thread_time()
            made = compare.session(paths[j], a.optimizations == "all", 1)
            best[j] = min(best[j], time.thread_time() - begin)
            del made
    return best


def one(name, before, after, a):
    """A row of the table."""
    try:
        starts([before], argparse.Namespace(**{**vars(a), "starts": 1}))
    except Exception as e:  # noqa: BLE001
        return {"model": name, "why": "", "skipped": " ".join(str(e).split())[:200]}
    try:
        x, y = starts([before, after], a)
    except Exception as e:  # noqa: BLE001
        return {"model": name, "why": f"does not load after: {' '.join(str(e).split())[:200]}"}
    row = {"model": name, "seconds_before": x, "seconds_after": y, "ratio": y / x, "why": ""}
    if row["ratio"] > a.limit:
        first, second = starts([before, before], a)
        row["itself"] = max(first, second) / min(first, second)
        if row["ratio"] > max(a.limit, row["itself"]):
            row["why"] = f"slower; against itself {row['itself']:.3f}"
    return row


def show(row):
    if "ratio" not in row:
        return f"{row['model']:28} {row['why'] or 'does not load before: ' + row['skipped']}"
    times = f"{row['seconds_before'] * 1e3:12.2f}{row['seconds_after'] * 1e3:12.2f}{row['ratio']:9.3f}"
    return f"{row['model']:28}{times}   {row['why']}".rstrip()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    _pairs.add_arguments(p)
    p.add_argument("--starts", type=int, default=20, metavar="N", help="of each model (default 20)")
    p.add_argument(
        "--optimizations", choices=["all", "off"], default="all", help="of ONNX Runtime (default all)"
    )
    p.add_argument("--limit", type=float, default=1.05, metavar="R")
    a = p.parse_args()
    ort.set_default_logger_severity(4)
    table = []
    print(f"ONNX Runtime {ort.__version__}, its optimizations {a.optimizations}")
    print(f"{'model':28}{'ms before':>12}{'ms after':>12}{'ratio':>9}")
    with models.work_folder(a.work) as work:
        for name, before, after, why in _pairs.pairs(a, work):
            table.append({"model": name, "why": why} if why else one(name, before, after, a))
            print(show(table[-1]), flush=True)
    ratios, bad = [r["ratio"] for r in table if "ratio" in r], [r["model"] for r in table if r["why"]]
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 0
    print(
        f"{len(table)} models, {len(ratios)} measured, geometric mean of the ratios {mean:.3f}; "
        f"slower or broken: {' '.join(bad) or 'none'}"
    )
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump(table, f, indent=1)
    return 1 if bad or not ratios else 0


if __name__ == "__main__":
    sys.exit(main())
