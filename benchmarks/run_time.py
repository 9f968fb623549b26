#!/usr/bin/env python3
"""Do optimized models run faster in ONNX Runtime? Median times of interleaved runs, before and after.

  run_time.py GRAPHOPT [FOLDER] [--options '...'] [--only NAME ...] [--seconds S] [--threads N]
              [--optimizations all|off] [--work DIR]
  run_time.py BEFORE.onnx AFTER.onnx [BEFORE.onnx AFTER.onnx ...]

GRAPHOPT optimizes the models of tests/models, or the *.onnx of FOLDER, with the options given. Inputs are
those of tests/lib/inputs.py, the same for both models: legal values for the models of tests/models, any
numbers for others. The two sessions run in turns, first one, then the other first, for --seconds a model and
at least 20 times each: what else the machine does falls on both alike. Printed are both medians, their ratio
after / before, and the spread (the quarter of the ratios of neighbouring runs on either side). A ratio above
--limit (1.03) is measured again, twice, with new sessions in the other order; it counts when it persists.
Exit status 1 when one did, or a model does not run any more. The figures mean nothing unless the machine does
nothing else.
"""

import argparse
import json
import math
import os
import statistics
import sys
import time

import onnxruntime as ort

import _pairs
from _pairs import models
from lib import compare, inputs


def session(path, a):
    return compare.session(path, a.optimizations == "all", a.threads)


def turns(first, second, feeds, seconds):
    """Times in seconds of both, taken in turns."""
    sessions = (first, second)
    known = [{i.name for i in s.get_inputs()} for s in sessions]
    given = [{k: v for k, v in feeds.items() if k in names} for names in known]
    names = [o.name for o in first.get_outputs()]
    for s, f in zip(sessions, given):  # the first runs allocate
        for _ in range(3):
            s.run(names, f)
    times, end, k = ([], []), time.perf_counter() + seconds, 0
    while len(times[0]) < 20 or time.perf_counter() < end:
        for j in ((0, 1), (1, 0))[k % 2]:
            begin = time.perf_counter()
            sessions[j].run(names, given[j])
            times[j].append(time.perf_counter() - begin)
        k += 1
    return times


def measure(before, after, feeds, a, swapped=False):
    """(median before, median after, ratio, lower and upper quarter of the ratios, runs)"""
    # The place in memory that a session gets depends on what is there already.
    order = (after, before) if swapped else (before, after)
    sessions = {path: session(path, a) for path in order}
    x, y = turns(sessions[before], sessions[after], feeds, a.seconds)
    quarters = statistics.quantiles([q / p for p, q in zip(x, y)], n=4)
    mx, my = statistics.median(x), statistics.median(y)
    return mx, my, my / mx, quarters[0], quarters[2], len(x)


def one(name, before, after, a):
    """A row of the table."""
    row = {"model": name, "why": ""}
    try:
        record = inputs.record_of(before)
        feeds = inputs.make(record, inputs.sizes(record, a.size))
        compare.results(session(before, a), feeds)
    except Exception as e:  # noqa: BLE001
        return {**row, "skipped": " ".join(str(e).split())[:200]}
    try:
        row["seconds_before"], row["seconds_after"], row["ratio"], row["low"], row["high"], row["runs"] = (
            measure(before, after, feeds, a)
        )
        row["ratios"] = [row["ratio"]]
        while row["ratio"] > a.limit and len(row["ratios"]) < 3:
            row["ratios"].append(measure(before, after, feeds, a, len(row["ratios"]) % 2 == 1)[2])
            if row["ratios"][-1] <= a.limit:
                break
    except Exception as e:  # noqa: BLE001
        return {**row, "why": f"does not run after: {' '.join(str(e).split())[:200]}"}
    if min(row["ratios"]) > a.limit:
        row["why"] = "slower, " + " ".join(f"{r:.3f}" for r in row["ratios"])
    row["ratio"] = min(row["ratios"]) if len(row["ratios"]) > 1 else row["ratio"]
    return row


def show(row):
    if "skipped" in row:
        return f"{row['model']:28} does not run before: {row['skipped']}"
    if "ratio" not in row:
        return f"{row['model']:28} {row['why']}"
    again = (
        ""
        if row["why"] or len(row["ratios"]) == 1
        else "   first " + " ".join(f"{r:.3f}" for r in row["ratios"][:-1])
    )
    return (
        f"{row['model']:28}{row['seconds_before'] * 1e6:12.1f}{row['seconds_after'] * 1e6:12.1f}"
        f"{row['ratio']:9.3f}   {row['low']:.3f}..{row['high']:.3f}{row['runs']:7}{again}"
        f"{'   ' + row['why'] if row['why'] else ''}"
    )


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    _pairs.add_arguments(p)
    p.add_argument(
        "--seconds", type=float, default=3, metavar="S", help="per model and measurement (default 3)"
    )
    p.add_argument("--threads", type=int, default=1, metavar="N")
    p.add_argument(
        "--optimizations", choices=["all", "off"], default="all", help="of ONNX Runtime (default all)"
    )
    p.add_argument(
        "--size",
        default="default",
        metavar="SIZE",
        help="of the symbols: default, smallest, largest, drawn:N",
    )
    p.add_argument("--limit", type=float, default=1.03, metavar="R")
    a = p.parse_args()
    ort.set_default_logger_severity(4)
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"run_time: the machine is busy (load {load:.1f}): these are no figures", file=sys.stderr)
    table = []
    print(f"{'model':28}{'us before':>12}{'us after':>12}{'ratio':>9}   quarters      {'runs':>7}")
    with models.work_folder(a.work) as work:
        for name, before, after, why in _pairs.pairs(a, work):
            row = {"model": name, "why": why} if why else one(name, before, after, a)
            table.append(row)
            print(show(row), flush=True)
    ran, bad = [r for r in table if "ratio" in r], [r["model"] for r in table if r["why"]]
    mean = math.exp(sum(math.log(r["ratio"]) for r in ran) / len(ran)) if ran else 0
    print(
        f"{len(table)} models, {len(ran)} measured, geometric mean of the ratios {mean:.3f}; "
        f"slower or broken: {' '.join(bad) or 'none'}"
    )
    if a.json:
        json.dump(table, open(a.json, "w"), indent=1)
    return 1 if bad or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
