#!/usr/bin/env python3
"""Do optimized models run faster in ONNX Runtime? Median times of interleaved runs, before and after.

  run_time.py GRAPHOPT MODELS SHARED [--options '...'] [--only NAME ...] [--seconds S] [--threads N]
  [--optimizations all|off] run_time.py BEFORE.onnx AFTER.onnx SHARED

MODELS is a folder with *.onnx. Inputs are legal ones from SHARED/tools (SHARED/models/index.json, else by
heuristics), the same for both. The two sessions run in turns, first one, then the other first, for --seconds
a model and at least 20 times each: what else the machine does falls on both alike. Told: both medians, their
ratio after / before, and the spread (the quarter of the ratios of neighbouring runs on either side). A ratio
above --limit (1.03) is measured again, twice, with new sessions in the other order; it counts when it
persists. Exit status 1 when one did, or a model does not run any more. Alone on the machine, or it is no
figure.
"""

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

import onnxruntime as ort


def session(path, a):
    o = ort.SessionOptions()
    o.graph_optimization_level = (
        ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        if a.optimizations == "all"
        else ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    )
    o.intra_op_num_threads, o.inter_op_num_threads, o.log_severity_level = a.threads, 1, 4
    return ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])


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
    order = (
        (after, before) if swapped else (before, after)
    )  # the place in memory that a session gets depends on what is there
    sessions = {path: session(path, a) for path in order}
    x, y = turns(sessions[before], sessions[after], feeds, a.seconds)
    quarters = statistics.quantiles([q / p for p, q in zip(x, y)], n=4)
    mx, my = statistics.median(x), statistics.median(y)
    return mx, my, my / mx, quarters[0], quarters[2], len(x)


def one(name, before, after, tools, a):
    """A row of the table."""
    compare_models, model_inputs = tools
    entry = compare_models.input_entry(before, os.path.join(a.shared, "models"))
    feeds = model_inputs.make_inputs(entry, model_inputs.bindings(entry, a.size), 0)
    row = {"model": name, "why": ""}
    try:
        session(before, a).run(None, {k: v for k, v in feeds.items()})
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
        f"{row['model']:28}{row['seconds_before'] * 1e6:12.1f}{row['seconds_after'] * 1e6:12.1f}{row['ratio']:9.3f}"
        f"   {row['low']:.3f}..{row['high']:.3f}{row['runs']:7}{again}{'   ' + row['why'] if row['why'] else ''}"
    )


def models(a, work):
    if not os.path.isdir(a.second):
        yield os.path.basename(a.first).removesuffix(".onnx"), a.first, a.second, ""
        return
    for f in sorted(os.listdir(a.second)):
        name = f.removesuffix(".onnx")
        if f == name or a.only and name not in a.only:
            continue
        source, target = os.path.join(a.second, f), os.path.join(work, f"{name}.after.onnx")
        done = subprocess.run(
            [a.first, source, "-o", target, "-q", *a.options.split()], capture_output=True, text=True
        )
        yield (
            name,
            source,
            target,
            f"exit status {done.returncode}: {done.stderr.strip()[-200:]}" if done.returncode else "",
        )
        if os.path.exists(target):
            os.remove(target)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("first", metavar="GRAPHOPT", help="or a model before")
    p.add_argument("second", metavar="MODELS", help="or a model after")
    p.add_argument("shared", metavar="SHARED")
    p.add_argument("--options", default="", help="of graphopt, one string")
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    p.add_argument(
        "--seconds", type=float, default=3, metavar="S", help="per model and measurement (default 3)"
    )
    p.add_argument("--threads", type=int, default=1, metavar="N")
    p.add_argument(
        "--optimizations", choices=["all", "off"], default="all", help="of ONNX Runtime (default all)"
    )
    p.add_argument(
        "--size", default="default", metavar="SIZE", help="binding of symbols: default, min, max, random:N"
    )
    p.add_argument("--limit", type=float, default=1.03, metavar="R")
    p.add_argument("--json", metavar="FILE")
    a = p.parse_args()
    sys.path.insert(0, os.path.join(a.shared, "tools"))
    import compare_models
    import model_inputs

    ort.set_default_logger_severity(4)
    load = os.getloadavg()[0]
    if load > 0.5:
        print(f"run_time: the machine is busy (load {load:.1f}): these are no figures", file=sys.stderr)
    table = []
    print(f"{'model':28}{'us before':>12}{'us after':>12}{'ratio':>9}   quarters      {'runs':>7}")
    with tempfile.TemporaryDirectory() as work:
        for name, before, after, why in models(a, work):
            row = (
                {"model": name, "why": why}
                if why
                else one(name, before, after, (compare_models, model_inputs), a)
            )
            table.append(row)
            print(show(row), flush=True)
    ran, bad = [r for r in table if "ratio" in r], [r["model"] for r in table if r["why"]]
    mean = math.exp(sum(math.log(r["ratio"]) for r in ran) / len(ran)) if ran else 0
    print(
        f"{len(table)} models, {len(ran)} measured, geometric mean of the ratios {mean:.3f}; slower or broken: {' '.join(bad) or 'none'}"
    )
    if a.json:
        json.dump(table, open(a.json, "w"), indent=1)
    return 1 if bad or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
