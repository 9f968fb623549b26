#!/usr/bin/env python3
# LONG: --all
"""Nodes that do not fit their operators: the tool refuses the model with status 2, or keeps what it cannot
understand and accepts its own output again. It never finds an error in itself and never crashes.

  operands.py GRAPHOPT [--all] [--count N] [--seed S] [--only TEXT] [--jobs N] [--keep DIR]

_operand_changes.py makes the models: backend cases and nodes from schemas, of which operands and results are
added, dropped, doubled, emptied or of other types and ranks. The short form draws N models; --all takes every
model once with every change and once with two changes. Options are drawn, too.
"""

import argparse
import collections
import contextlib
import multiprocessing as mp
import os
import pathlib
import random
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "property")]
import _operand_changes as changes  # noqa: E402
import _pool  # noqa: E402
from lib import backend_cases  # noqa: E402
from lib.tool import executable  # noqa: E402

SECONDS = 60  # for one run of the tool
LARGEST = 50_000  # bytes of a model: larger ones show nothing more
OPTIONS = [[], ["--verify-each"], ["-O3"], ["--exact"], ["--infer"], ["--regions", "functions"], ["-O1"]]
# Fewer models would be a silent success.
LEAST_MODELS = 3000


def models(only):
    """(name, model) of every model before the changes, in a fixed order."""
    rng = random.Random(0)
    found = [x for x in changes.generated(rng) if only in x[0]]
    for case in backend_cases.candidates(chosen=lambda name: only in name):
        found.append((case.name, case.model))
        if (fixed := backend_cases.with_initializers(case)) is not None:
            found.append((fixed.name, fixed.model))
    return [(name, m) for name, m in found if m.ByteSize() <= LARGEST]


def tasks(a, count):
    """(number of a model, changes, seed), by the seed alone."""
    rng = random.Random(a.seed)
    if a.all:
        for k in range(count):
            for kind in changes.CHANGES:
                yield k, [kind], rng.random()
            yield k, rng.choices(changes.CHANGES, k=2), rng.random()
        return
    order = list(range(count))
    rng.shuffle(order)
    for i in range(a.count):
        yield order[i % count], rng.choices(changes.CHANGES, k=rng.choice([1, 1, 2, 3])), rng.random()


def run(tool, source, target, options):
    """(exit status, message); "hang" where it does not end."""
    pathlib.Path(target).unlink(missing_ok=True)
    command = [tool, source, "-o", target, "-q", *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "hang", ""
    return done.returncode, done.stderr.strip()[:300]


@contextlib.contextmanager
def answering(tool, found, keep):
    with tempfile.TemporaryDirectory() as folder:
        source, first, second = (os.path.join(folder, f) for f in ("in.onnx", "out.onnx", "again.onnx"))

        def answer(task):
            number, kinds, seed = task
            rng = random.Random(seed)
            name, model = found[number]
            m = changes.changed(model, kinds, rng)
            if m is None:
                return "does not apply", ""
            options = rng.choice(OPTIONS)
            data = m.SerializeToString()
            pathlib.Path(source).write_bytes(data)
            status, message = run(tool, source, first, options)
            verdict, why = "refused", ""
            if status == 0:
                verdict = "kept"
                again, message = run(tool, first, second, options)
                if again != 0:
                    verdict, why = "bad", f"its own output: status {again}: {message}"
            elif status != 2 or not message.startswith("graphopt: error: "):
                verdict, why = "bad", f"status {status}: {message}"
            if verdict == "bad":
                path = pathlib.Path(keep, f"operands-{name.replace('/', '-')}-{'-'.join(kinds)}.onnx")
                path.write_bytes(data)
                why = (
                    f"{name}, {'+'.join(kinds)}, {' '.join(options) or 'no options'}: {why}\n  kept as {path}"
                )
            return verdict, why

        yield answer


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("--all", action="store_true")
    p.add_argument("--count", type=int, default=500, metavar="N")
    p.add_argument("--seed", type=int, default=1, metavar="S")
    p.add_argument("--only", default="", metavar="TEXT", help="models whose names contain it")
    p.add_argument("--jobs", type=int, default=2, metavar="N")
    p.add_argument("--keep", default=".", metavar="DIR", help="where models are written that show a defect")
    a = p.parse_args()
    found = models(a.only)
    counts = collections.Counter()
    for _, answer in _pool.answers(answering, (a.tool, found, a.keep), tasks(a, len(found)), a.jobs):
        verdict, why = ("bad", answer.text) if isinstance(answer, _pool.Crash) else answer
        counts[verdict] += 1
        if why:
            print(why, flush=True)
    total = counts.total()
    print(
        f"{len(found)} models, {total} changed: " + ", ".join(f"{n} {v}" for v, n in sorted(counts.items()))
    )
    if not a.only and len(found) < LEAST_MODELS:
        print(f"expected at least {LEAST_MODELS} models")
        return 1
    # Both answers must occur: a tool that refuses everything, or a sweep that damages nothing, must not pass.
    seen = counts["kept"] and counts["refused"]
    return 1 if counts["bad"] or not seen else 0


if __name__ == "__main__":
    mp.set_start_method("fork")
    sys.exit(main())
