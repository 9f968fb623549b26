#!/usr/bin/env python3
"""Does `graphopt run` answer requests for a long time, each of them and in the same memory?

  requests_for_long.py GRAPHOPT [--minutes N] [--model FILE --options '...'] [--seed S] [--work DIR]

The model has symbols, models for buckets and parts on two devices: a small one that is made here, or FILE,
written with --options ('--devices nnapi --bucket batch=1,2 --bucket seq=16,32'). Its buckets have neither
fixed symbols nor conditions.

Rounds, for a fifth of the time: a list of requests, as many with extents inside of the buckets as at their
ends and outside of them, drawn anew in each round; every third round with --check-whole. Each request has to
be answered, in the smallest model that holds it, and its file has to be there with the extents that were
asked for.

Then one process, for --minutes (30): requests of drawn extents at full load. Its memory (VmRSS) is sampled
all the time, and the median of the last quarter must not exceed that of the second one by more than a
fiftieth, at least 2 MiB: the runtime's arenas grow as long as a session meets larger requests than before,
with 30 sessions of a BERT for a minute or two.

The last line has the figures. Exit status 1 where something was lost, differs or grows.
"""

import argparse
import json
import math
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnx.parser

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
from lib.profiles import profile  # noqa: E402
from lib.tool import executable  # noqa: E402

MIB = 1 << 20
ROUND = 60  # requests
SAMPLES = 4  # of memory, a second
ROOM = 2 * MIB

MODEL = """<ir_version: 9, opset_import: ["" : 20]>
g (float[batch,seq,16] x) => (float[batch,seq,16] y, float[batch,16] z) <float[16,16] w, int64[1] axes = {1}>
{
  a = MatMul (x, w)
  b = Relu (a)
  c = Tanh (b)
  d = Add (c, x)
  e = Sigmoid (d)
  y = Mul (e, d)
  f = Abs (y)
  z = ReduceSum <keepdims = 0> (f, axes)
}"""


class Failed(Exception):
    """A command ended with another status than it should, or something was lost."""


def run(command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **options)
    if done.returncode:
        raise Failed(f"exit status {done.returncode} of {command}: {done.stderr.strip()[-500:]}")
    return done.stdout


def write_small_model(folder):
    """The path of the model, and the options that cut it and write its buckets."""
    model = onnx.parser.parse_model(MODEL)
    w = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(w, "w"))
    onnx.save(model, folder / "in.onnx")
    npu = profile(folder, "MatMul", "Relu", "Add", "Mul", "ReduceSum")
    cpu = profile(folder, name="cpu", kind="cpu", host=True, rules=[{"op": "*"}])
    buckets = ["--bucket", "batch=1,2,4", "--bucket", "seq=8,32"]
    return folder / "in.onnx", ["--devices", f"{npu},{cpu}", *buckets]


class Buckets:
    """What a manifest says of buckets, and which model answers a request."""

    def __init__(self, path):
        manifest = json.loads(path.read_text())
        section = manifest["buckets"]
        self.sizes = section["symbols"]
        self.ranges = {s: section["ranges"].get(s, [sizes[0], sizes[-1]]) for s, sizes in self.sizes.items()}
        self.models = [(m["file"], m["at"]) for m in section["models"]]
        self.out = manifest["files"][0]["path"]
        self.outputs = {
            v["name"]: v["type"].get("shape")
            for v in manifest["network"]["outputs"]
            if v["type"]["kind"] == "tensor"
        }

    def answers(self, extents):
        low = all(self.ranges[s][0] <= n <= self.ranges[s][1] for s, n in extents.items())
        fits = [m for m in self.models if low and all(m[1][s] >= n for s, n in extents.items())]
        return min(fits, key=lambda m: math.prod(m[1].values()))[0] if fits else self.out

    def drawn(self, rng, where):
        """Extents inside of the buckets, at their ends or outside."""
        extents = {}
        for s, sizes in self.sizes.items():
            low, high = self.ranges[s]
            ends = {low, high, *sizes, *(n + 1 for n in sizes if n < high)}
            extents[s] = rng.choice(sorted(ends)) if where == "ends" else rng.randint(low, high)
        if where == "outside":
            s = rng.choice(sorted(self.sizes))
            high = self.ranges[s][1]
            extents[s] = rng.randint(high + 1, high + max(2, high // 2))
        return extents


def write_list(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def play_round(a, manifest, buckets, rng, number, folder):
    """A round of drawn extents. Returns whether it compared with OUT as a whole."""
    extents = [buckets.drawn(rng, ("inside", "ends", "outside")[i % 3]) for i in range(ROUND)]
    write_list(
        folder / "list.jsonl",
        [{"id": f"r{i}", "draw": e, "seed": rng.randrange(1 << 32)} for i, e in enumerate(extents)],
    )
    answers, report = folder / "answers", folder / "report.json"
    shutil.rmtree(answers, ignore_errors=True)
    compares = number % 3 == 0
    options = ["--check-whole"] * compares
    run(
        [
            a.tool,
            "run",
            manifest,
            "--requests",
            folder / "list.jsonl",
            "-o",
            answers,
            "-q",
            "--report",
            report,
            *options,
        ]
    )
    figures = json.loads(report.read_text())
    requests = figures["requests"]
    if requests["all"] != ROUND or requests["done"] != ROUND or requests["by_fallback"]:
        raise Failed(f"round {number}: of {ROUND} requests {requests}")
    wanted = dict.fromkeys((m["file"] for m in figures["networks"][0]["models"]), 0)
    for e in extents:
        wanted[buckets.answers(e)] += 1
    found = {m["file"]: m["requests"] for m in figures["networks"][0]["models"]}
    if found != wanted:
        raise Failed(f"round {number}: models answered {found}, wanted {wanted}")
    files = {f.name for f in answers.iterdir()}
    if files != {f"r{i}.npz" for i in range(ROUND)}:
        raise Failed(f"round {number}: the files are {sorted(files)}")
    for i, e in enumerate(extents):
        with np.load(answers / f"r{i}.npz") as arrays:
            for name, shape in buckets.outputs.items():
                dims = arrays[name].shape
                if shape and any(
                    isinstance(d, int) and d != n or e.get(d, n) != n for d, n in zip(shape, dims)
                ):
                    raise Failed(f"round {number}: r{i} with {e} has an output {name} of {dims}")
    return compares


def resident(pid):
    """Bytes; None where the process has ended."""
    try:
        for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def one_list(a, manifest, buckets, requests, folder):
    """Runs so many requests in one process. Returns (seconds of them, samples of memory)."""
    # Each request has sizes of its own, some of them beyond the ranges.
    ranges = {s: [low, high + max(1, high // 4)] for s, (low, high) in buckets.ranges.items()}
    write_list(folder / "long.jsonl", [{"id": "long", "draw": ranges, "seed": a.seed, "repeat": requests}])
    report, samples = folder / "long.json", []
    command = [a.tool, "run", manifest, "--requests", folder / "long.jsonl", "-q", "--report", report]
    with subprocess.Popen(
        [str(w) for w in command], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as p:
        while p.poll() is None:
            if (bytes_now := resident(p.pid)) is not None:
                samples.append(bytes_now)
            time.sleep(1 / SAMPLES)
        if p.returncode:
            raise Failed(
                f"exit status {p.returncode} after {len(samples) / SAMPLES:.0f} s: {p.stderr.read()[-500:]}"
            )
    figures = json.loads(report.read_text())
    if figures["requests"]["all"] != requests or figures["requests"]["done"] != requests:
        raise Failed(f"of {requests} requests {figures['requests']}")
    if sum(m["requests"] for m in figures["networks"][0]["models"]) != requests:
        raise Failed(f"models answered {figures['models']} of {requests}")
    return figures["seconds"]["run"], samples


def judged(samples, requests):
    """(median of the second quarter, that of the last one), in MiB; raises Failed where memory grew."""
    quarter = len(samples) // 4
    if quarter < 8:
        raise Failed(f"{len(samples)} samples of memory are too few")
    before, after = statistics.median(samples[quarter : 2 * quarter]), statistics.median(samples[-quarter:])
    if after - before > max(ROOM, before / 50):
        raise Failed(f"memory grew from {before / MIB:.1f} to {after / MIB:.1f} MiB in {requests} requests")
    return before / MIB, after / MIB


def measure(a, folder):
    source, options = (a.model, a.options.split()) if a.model else write_small_model(folder)
    run([a.tool, source, "-o", folder / "out.onnx", "-q", *options])
    manifest = folder / "out.manifest.json"
    buckets, rng = Buckets(manifest), random.Random(a.seed)
    end, rounds, compared = time.monotonic() + 60 * a.minutes / 5, 0, 0
    while rounds < 3 or time.monotonic() < end:
        compared += play_round(a, manifest, buckets, rng, rounds, folder)
        rounds += 1
    # How many requests take the time: the first ones are slower.
    count, seconds = 100, 0.0
    while seconds < 2:
        count *= 2 if seconds > 1 else 4
        seconds, _ = one_list(a, manifest, buckets, count, folder)
    requests = int(count / seconds * 60 * a.minutes)
    seconds, samples = one_list(a, manifest, buckets, requests, folder)
    before, after = judged(samples, requests)
    return (
        f"{rounds} rounds of {ROUND} requests, {compared} compared with the whole model; {requests} requests "
        f"in {seconds:.0f} s of one process, {before:.1f} MiB and then {after:.1f} MiB"
    )


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", type=executable, metavar="GRAPHOPT")
    p.add_argument("--minutes", type=float, default=30)
    p.add_argument("--model", metavar="FILE")
    p.add_argument("--options", default="", help="of graphopt, one string; with --model")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--work", metavar="DIR", help="files stay there")
    a = p.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(a.work or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        try:
            print(measure(a, folder))
        except Failed as e:
            sys.exit(f"FAILED {e}")


if __name__ == "__main__":
    main()
