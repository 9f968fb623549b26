#!/usr/bin/env python3
"""What do models per bucket cost, and what do they save? Latency in ONNX Runtime, size on disk, time to make.

  buckets.py GRAPHOPT [FOLDER] [--only NAME ...] [--lengths N] [--seconds S] [--runs N] [--threads N]
             [--work DIR] [--json FILE]

Models are those of MARKS, with the buckets that stand there; filled models lie in FOLDER (*.onnx) or are
filled into --work or a temporary folder.

Latency: --lengths requests are drawn within the ranges. Three runs of each take turns, for --seconds a
request and at least 10 times: OUT on the request as it is; the model of its bucket, with padding before and
cutting behind (examples/bucket_shapes.py); and the model of the bucket on inputs that are padded already.
Printed are the geometric means of the medians' ratios to OUT, and the greatest ones. All sessions have ONNX
Runtime's own optimizations. Not counted is what a runtime has to do when a shape is new.

Size: OUT and the models of the buckets without weights, the file of all weights, the manifest, and the file
that the model came in.

Time: the wall time of runs with all buckets, with one (the largest), and with none, that take turns --runs
times: medians, and the quarter of the paired ratios on either side.

The figures mean nothing unless the machine does nothing else; the load is printed with them.
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

import _pairs
import numpy as np
import onnxruntime as ort
from _pairs import models
from lib import compare, counting, inputs, manifests

MARKS = {
    "hf_bert": ["seq=8..64:pow2", "batch=1,2,4"],
    "hf_t5_encoder": ["seq=8..64:pow2", "batch=1,2,4"],
    "fp16_bert": ["seq=8..48:step=16", "batch=1,2,4"],
    "tv_resnet18": ["batch=1,2,4"],
}


def options_of(marks):
    return [word for mark in marks for word in ("--bucket", mark)]


def run(tool, source, out, marks):
    """Seconds of a run of the tool."""
    begin = time.perf_counter()
    subprocess.run([tool, source, "-q", "-o", out, *options_of(marks)], check=True, stderr=subprocess.DEVNULL)
    return time.perf_counter() - begin


# --- latency ------------------------------------------------------------------------------------------------


def medians(actions, seconds):
    """The median time of each action; they take turns, each first in its turn."""
    times, end, k = [[] for _ in actions], time.perf_counter() + seconds, 0
    for action in actions:
        action()
    while len(times[0]) < 10 or time.perf_counter() < end:
        for j in range(len(actions)):
            one = (j + k) % len(actions)
            begin = time.perf_counter()
            actions[one]()
            times[one].append(time.perf_counter() - begin)
        k += 1
    return [statistics.median(t) for t in times]


def drawn(buckets, rng, count):
    for _ in range(count):
        yield {
            s: int(rng.choice(buckets.sizes[s]) if s in buckets.fixed else rng.integers(low, high + 1))
            for s, (low, high) in buckets.ranges.items()
        }


def latency(manifest_path, record, a):
    """[{"true", "bucket", "dynamic", "padded", "bare"}], times in seconds."""
    manifest = json.loads(manifest_path.read_text(encoding="utf-8"))
    buckets, folder, rows = manifests.runner().Buckets(manifest), manifest_path.parent, []
    names = [v["name"] for v in manifest["network"]["outputs"]]
    whole = compare.session(str(folder / manifest["buckets"]["fallback"]), True, a.threads)
    sessions = {}
    for true in drawn(buckets, np.random.default_rng(1), a.lengths):
        feeds = inputs.make(record, {**inputs.sizes(record), **true}, 0)
        extents = buckets.extents(feeds)
        model = buckets.choose(extents)
        if model["file"] not in sessions:
            sessions[model["file"]] = compare.session(str(folder / model["file"]), True, a.threads)
        session, padded = sessions[model["file"]], {**extents, **model["at"]}
        ready = buckets.pad(feeds, extents, padded)

        def all_steps():
            results = session.run(names, buckets.pad(feeds, extents, padded))
            return buckets.cut(dict(zip(names, results)), extents, padded)

        times = medians(
            [lambda: whole.run(names, feeds), all_steps, lambda: session.run(names, ready)], a.seconds
        )
        rows.append(dict(zip(("dynamic", "padded", "bare"), times), true=true, bucket=model["at"]))
    return rows


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


# --- size and time ------------------------------------------------------------------------------------------


def sizes(manifest_path, source):
    manifest = json.loads(manifest_path.read_text(encoding="utf-8"))
    by_path = {f["path"]: f["bytes"] for f in manifest["files"]}
    section = manifest["buckets"]
    of_models = [by_path[m["file"]] for m in section["models"]]
    return {
        "own": os.path.getsize(source),
        "out": by_path[section["fallback"]],
        "buckets": sum(of_models),
        "largest_bucket": max(of_models),
        "data": by_path.get(section["data"], 0),
        "manifest": manifest_path.stat().st_size,
        "nodes_out": counting.nodes(str(manifest_path.parent / section["fallback"])),
        "nodes": sorted({m["nodes"] for m in section["models"]}),
        "count": len(of_models),
    }


def times_to_make(tool, source, folder, marks, runs):
    """{"all", "one", "none"}: seconds of each run, in turns."""
    manifest = json.loads((folder / "out.manifest.json").read_text(encoding="utf-8"))
    one = [f"{s}={n[-1]}" for s, n in manifest["buckets"]["symbols"].items()]
    kinds, times = {"all": marks, "one": one, "none": []}, {"all": [], "one": [], "none": []}
    for kind in kinds:  # a run without --bucket leaves no manifest, so each kind has a folder
        (folder / kind).mkdir()
        run(tool, source, folder / kind / "out.onnx", kinds[kind])
    for k in range(runs):
        for kind in list(kinds)[k % 3 :] + list(kinds)[: k % 3]:
            for old in (folder / kind).iterdir():
                old.unlink()
            times[kind].append(run(tool, source, folder / kind / "out.onnx", kinds[kind]))
    return times


def quarters(above, below):
    cuts = statistics.quantiles([x / y for x, y in zip(above, below)], n=4)
    return f"{cuts[1]:.2f} ({cuts[0]:.2f}..{cuts[2]:.2f})"


def kib(n):
    return f"{n / 1024:.0f} KiB"


def one_model(tool, name, source, a):
    record = models.records()[name]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        run(tool, source, folder / "out.onnx", MARKS[name])
        path = folder / "out.manifest.json"
        row = {"model": name, "marks": MARKS[name], **sizes(path, source)}
        row["latency"] = latency(path, record, a)
        row["seconds"] = times_to_make(tool, source, folder, MARKS[name], a.runs)
    return row


def show(row):
    rows, t = row["latency"], row["seconds"]
    print(f"{row['model']}: {row['count']} buckets ({' '.join(row['marks'])})")
    print(f"  {'nodes':24}{row['nodes_out']} in OUT, {'..'.join(map(str, row['nodes']))} in a bucket")
    extra = row["out"] + row["buckets"] + row["manifest"]
    print(
        f"  {'size':24}{kib(row['own'])} its own file; {kib(row['data'])} weights, "
        f"{kib(row['buckets'])} models ({kib(row['largest_bucket'])} each at most), "
        f"{kib(row['manifest'])} manifest, {kib(row['out'])} OUT: "
        f"{(extra + row['data']) / row['own']:.3f} of its own file"
    )
    for kind, text in (("padded", "pad, run, cut / OUT"), ("bare", "run / OUT")):
        ratios = [r[kind] / r["dynamic"] for r in rows]
        print(
            f"  {text:24}{mean(ratios):.3f}, {min(ratios):.3f} to {max(ratios):.3f}, {len(ratios)} requests"
        )
    for label, chosen in (("bucket just fits", True), ("padded", False)):
        some = [r["padded"] / r["dynamic"] for r in rows if (r["true"] == r["bucket"]) == chosen]
        if some:
            print(f"    {label:22}{mean(some):.3f}, {len(some)} requests")
    median = {kind: statistics.median(v) for kind, v in t.items()}
    print(
        f"  {'time to make':24}{median['all']:.3f} s all, {median['one']:.3f} s one, {median['none']:.3f} s "
        f"none; all / one {quarters(t['all'], t['one'])}"
    )
    sys.stdout.flush()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=os.path.abspath)
    p.add_argument("folder", nargs="?", metavar="FOLDER")
    p.add_argument("--only", nargs="+", default=list(MARKS), choices=list(MARKS), metavar="NAME")
    p.add_argument("--lengths", type=int, default=12, metavar="N")
    p.add_argument("--seconds", type=float, default=1, metavar="S", help="per request (default 1)")
    p.add_argument("--runs", type=int, default=7, metavar="N", help="of the tool, of each kind (default 7)")
    p.add_argument("--threads", type=int, default=1, metavar="N")
    p.add_argument("--work", metavar="DIR", help="filled models are kept there and used again")
    p.add_argument("--json", metavar="FILE", help="write the table there")
    a = p.parse_args()
    ort.set_default_logger_severity(4)
    load, table = os.getloadavg()[0], []
    print(f"load {load:.1f}" + (": the machine is busy, these are no figures" if load > 0.5 else ""))
    with models.work_folder(a.work) as work:
        if a.folder:
            sources = {name: os.path.join(a.folder, f"{name}.onnx") for name in a.only}
        else:
            sources = _pairs.sources([a.tool], a.only, work)
        for name, source in sources.items():
            table.append(one_model(a.tool, name, source, a))
            show(table[-1])
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump({"load": load, "models": table}, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
