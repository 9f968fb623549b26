#!/usr/bin/env python3
"""graphopt, a durable copy of the file, and other optimizers, in one run on a set of models.

  peers.py GRAPHOPT [FOLDER] [--peers NAME,...] [--python PYTHON] [--only NAME ...] [--runs N] [--latency S]
           [--starts N] [--work DIR] [--json FILE] [--update]

The models are those of tests/models, or the *.onnx of FOLDER. Printed per model and optimizer:

  s, cpu, MiB   of the whole process, start and imports included: medians of --runs (3) rounds, in each of
                which all take their turn; `copy` writes the file again and waits for the disk
  nodes, bytes  of the output, data files included
  diff          the largest relative difference of a result (tests/lib/compare.py), or what is wrong
  latency       median time of a run in ONNX Runtime, its optimizations on, one thread, over that of the
                original: sessions of all outputs are run in turns for --latency seconds (0: not measured)
  start         the same for making the session from the file; the least of --starts (20) counts

`right` in the summary means: the same results and interface. An output is plain if each operator is one of
the standard, at the version that the model imports, or stands in the original.

The others run in PYTHON (default: this one), which has benchmarks/peers-requirements.txt installed; a peer
that cannot be imported there is left out. --update writes what was measured to benchmarks/costs.json (with
--runs 0 the outputs are made once, and nothing of the processes is written), from which benchmarks/figures.py
takes it for the table of README.md. Seconds mean something only on a machine that does nothing else, and only
relative to each other.
"""

import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import onnx

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
import _pairs  # noqa: E402
from _peer import PEERS  # noqa: E402
from lib import compare, counting, inputs, models  # noqa: E402

STANDARD = ("", "ai.onnx", "ai.onnx.ml")
LIMIT = 600  # seconds for a process


def commands(a):
    """{name: the command for {in} and {out}}"""
    found = {
        "copy": ["dd", "if={in}", "of={out}", "bs=1M", "conv=fsync", "status=none"],
        "graphopt": [a.tool, "{in}", "-o", "{out}", "-q", *a.options.split()],
    }
    for name in [f.__name__ for f in PEERS]:
        if a.peers is None or name in a.peers.split(","):
            package = "onnxruntime" if name.startswith("ort") else name
            probe = subprocess.run([a.python, "-c", f"import {package}"], capture_output=True)
            if probe.returncode:
                print(f"peers: {name} is left out: {a.python} does not import {package}", file=sys.stderr)
            else:
                found[name] = [a.python, str(HERE / "_peer.py"), name, "{in}", "{out}"]
    return found


def process(command, source, target):
    words = [w.replace("{in}", source).replace("{out}", target) for w in command]
    done = subprocess.run(
        [sys.executable, "-S", "-E", str(HERE / "_process.py"), str(LIMIT), *words],
        capture_output=True,
        text=True,
    )
    return {**json.loads(done.stdout), "text": " ".join(done.stderr.split())[-200:]}


def written(folder, target):
    """The bytes of the output and of the data files beside it."""
    return sum(
        f.stat().st_size
        for f in pathlib.Path(folder).iterdir()
        if f.name.startswith(pathlib.Path(target).name)
    )


def is_plain(path, original):
    """Whether each operator is one of the standard, or stands in the original."""
    known = set(counting.operators(onnx.load(original, load_external_data=False)))
    model = onnx.load(path, load_external_data=False)
    versions = {o.domain: o.version for o in model.opset_import}

    def standard(name):
        domain, _, kind = name.rpartition("::")
        return domain in STANDARD and onnx.defs.has(kind, versions.get(domain, 0), domain)

    return all(name in known or standard(name) for name in counting.operators(model))


def optimize(todo, source, folder, runs):
    """{name: its row}: processes in turns, then what they wrote."""
    taken = {name: [] for name in todo}
    for _ in range(runs):
        for name, command in todo.items():
            if taken[name] and taken[name][-1]["status"]:
                continue
            place = pathlib.Path(folder, name)
            place.mkdir(exist_ok=True)
            for f in place.iterdir():
                f.unlink()
            taken[name].append(process(command, source, str(place / "out.onnx")))
    rows = {}
    for name, rounds in taken.items():
        rows[name] = {k: statistics.median(r[k] for r in rounds) for k in ("seconds", "cpu", "peak_mib")}
        if rounds[-1]["status"]:
            rows[name]["problem"] = f"failed: status {rounds[-1]['status']}: {rounds[-1]['text']}"
    return rows


def judge(row, source, target, record):
    """What the output is, and whether it computes the same."""
    row.update(nodes=counting.nodes(target), bytes=written(os.path.dirname(target), target))
    row["plain"] = is_plain(target, source)
    found = compare.compare(source, target, record)
    row["difference"] = found.rel_diff
    if found.problems:
        row["problem"] = found.verdict


def run_in_turns(paths, feeds, seconds, starts):
    """{name: (median seconds of a run, least seconds of making the session)}; the original is in `paths`."""
    least, sessions = {n: math.inf for n in paths}, {}
    for k in range(max(starts, 1)):
        for name, path in list(paths.items())[:: 1 if k % 2 else -1]:
            sessions.pop(name, None)
            begin = time.thread_time()
            sessions[name] = compare.session(path, True, 1)
            least[name] = min(least[name], time.thread_time() - begin)
    given = {
        n: {i.name: feeds[i.name] for i in s.get_inputs() if i.name in feeds} for n, s in sessions.items()
    }
    times, order, end = {n: [] for n in paths}, list(paths), time.perf_counter() + seconds
    for name in order:
        sessions[name].run(None, given[name])
    while len(times[order[0]]) < 10 or time.perf_counter() < end:
        for name in order:
            begin = time.thread_time()
            sessions[name].run(None, given[name])
            times[name].append(time.thread_time() - begin)
        order.append(order.pop(0))
    return {n: (statistics.median(times[n]), least[n]) for n in paths}


def measure(name, source, todo, a, folder):
    """{optimizer: its row} of a model."""
    rows = optimize(todo, source, folder, max(a.runs, 1))
    record = models.records().get(name) or inputs.record_of(source)
    targets = {n: os.path.join(folder, n, "out.onnx") for n in rows if "problem" not in rows[n]}
    for n, target in targets.items():
        try:
            judge(rows[n], source, target, record)
        except Exception as e:  # noqa: BLE001: a peer's output may be anything
            rows[n]["problem"] = f"broken: {' '.join(str(e).split())[:200]}"
    if a.latency > 0:
        feeds = inputs.make(record, inputs.sizes(record, "default"))
        good = {n: t for n, t in targets.items() if "problem" not in rows[n] and n != "copy"}
        found = run_in_turns({"original": source, **good}, feeds, a.latency, a.starts)
        for n in good:
            rows[n]["latency"] = found[n][0] / found["original"][0]
            rows[n]["start"] = found[n][1] / found["original"][1]
    return rows


def mean(numbers):
    """The geometric mean; nothing of nothing."""
    numbers = list(numbers)
    return math.exp(math.fsum(map(math.log, numbers)) / len(numbers)) if numbers else None


def summary(table):
    """{optimizer: figures over all models}"""
    out = {}
    for name in next(iter(table.values())):
        rows = [rows[name] for rows in table.values()]
        right = [r for r in rows if "problem" not in r]
        out[name] = {
            "models": len(rows),
            "right": len(right),
            "seconds": mean(r["seconds"] for r in rows),
            "cpu_seconds": mean(r["cpu"] for r in rows),
            "peak_mib": max(r["peak_mib"] for r in rows),
            "compared": sum("latency" in r for r in right),
            "latency": mean(r["latency"] for r in right if "latency" in r),
            "start": mean(r["start"] for r in right if "start" in r),
        }
    return out


def update(total, a):
    """Writes what was measured of each optimizer to costs.json; the rest stays there as it is."""
    path = HERE / "costs.json"
    costs = json.loads(path.read_text(encoding="utf-8"))
    kinds = {"processes": a.runs > 0, "sessions": a.latency > 0}
    keys = {
        "processes": ("models", "seconds", "cpu_seconds", "peak_mib"),
        "sessions": ("compared", "latency", "start"),
    }
    for name, row in total.items():
        known = costs.setdefault(name, {})
        for key in (k for kind, is_measured in kinds.items() if is_measured for k in keys[kind]):
            if row[key] is not None:
                known[key] = round(row[key], 4)
    path.write_text(json.dumps(costs, indent=1) + "\n", encoding="utf-8")


def shown(number, digits):
    return "-" if number is None else f"{number:.{digits}f}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("folder", nargs="?", metavar="FOLDER")
    p.add_argument("--options", default="", help="of graphopt, one string")
    p.add_argument("--peers", metavar="NAME,...")
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    p.add_argument("--runs", type=int, default=3, metavar="N")
    p.add_argument("--starts", type=int, default=20, metavar="N")
    p.add_argument("--latency", type=float, default=0, metavar="S")
    p.add_argument("--work", metavar="DIR", help="filled models are kept there and used again")
    p.add_argument("--json", metavar="FILE", help="write all rows there")
    p.add_argument("--update", action="store_true")
    a = p.parse_args()
    todo, table = commands(a), {}
    with models.work_folder(a.work) as work, tempfile.TemporaryDirectory() as folder:
        files = [a.tool] + ([a.folder] if a.folder else [])
        for name, source in _pairs.sources(files, a.only, work).items():
            table[name] = measure(name, source, todo, a, folder)
            print(name)
            for n, r in table[name].items():
                print(
                    f"  {n:14}{r['seconds']:9.3f} s{r['cpu']:9.3f} cpu{r['peak_mib']:8.0f} MiB"
                    f"{r.get('nodes', '-'):>7} nodes{r.get('bytes', '-'):>12} bytes"
                    f"   diff {shown(r.get('difference'), 7)}   latency {shown(r.get('latency'), 3)}"
                    f"   start {shown(r.get('start'), 3)}"
                    f"{'' if r.get('plain', True) else '   not plain'}   {r.get('problem', '')}",
                    flush=True,
                )
    if not table:
        sys.exit("peers: there is no model")
    total = summary(table)
    print(f"\n{'':14}{'right':>10}{'s':>9}{'cpu':>9}{'peak MiB':>10}{'latency':>9}{'start':>9}")
    for n, r in total.items():
        print(
            f"{n:14}{r['right']:>4} of {r['models']:<3}{r['seconds']:9.3f}{r['cpu_seconds']:9.3f}"
            f"{r['peak_mib']:10.0f}{shown(r['latency'], 3):>9}{shown(r['start'], 3):>9}"
        )
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps(table, indent=1) + "\n")
    if a.update:
        update(total, a)
    return 1 if any("problem" in rows["graphopt"] for rows in table.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
