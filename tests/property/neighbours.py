#!/usr/bin/env python3
"""Neighbours of the golden cases: each model with one thing changed, which a rule's conditions must notice.

  neighbours.py GRAPHOPT [--count N] [--seed S] [--all] [--only TEXT] [--jobs N] [-v]

A golden case shows what a rule does, and the cases beside it what it must leave alone; a neighbour (the
changes are listed in _neighbours.py) is what its author did not think of: an operand is absent, an axis is
another one, a constant is off by one, a value is read once more, a rank is unknown. Each goes through the
tool with the case's options, and
  the tool must end with status 0, or 2 for a model that it cannot use, and must not find an error in itself;
  where ONNX Runtime (its optimizations off) runs the neighbour, it must run the result, too, and give the
    same: bit for bit if all passes of the case are exact, else closely, on finite values;
  a second run over the result must give the same bytes.
N neighbours (default 700) are drawn by a hash of seed, case and change; --all takes every one.
"""

import argparse
import collections
import contextlib
import hashlib
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.parser
import onnx.printer

import _neighbours
import _pool

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "golden")]
import run as golden  # noqa: E402
from lib import runs  # noqa: E402
from lib.tool import exact_passes  # noqa: E402

CLOSE = dict(rtol=1e-3, atol=1e-3)  # for passes that round; what is wrong is wrong by more
SEEDS = 3
MEMORY = 6 << 30  # bytes; a changed constant may ask the runtime for a tensor of any size


def is_exact(case, exact):
    options = case["options"]
    if case["rtol"] or case["atol"]:
        return False
    for i, o in enumerate(options):
        if o.startswith("--passes"):
            names = o.partition("=")[2] or options[i + 1]
            return set(names.split(",")) <= exact
    return "--exact" in options or "-O1" in options


def same(x, y, exact):
    if exact:
        return runs.bit_difference(x, y) is None
    if isinstance(x, list) or isinstance(y, list):
        return isinstance(y, list) and len(x) == len(y) and all(same(p, q, exact) for p, q in zip(x, y))
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    return np.allclose(x, y, equal_nan=True, **CLOSE) if x.dtype.kind == "f" else np.array_equal(x, y)


def difference(before, after, typed, exact):
    """(how the results differ or "", whether the original ran). `typed` has the types of the inputs."""
    try:
        first, shapes = runs.session(before), golden.session(typed)
    except Exception:  # noqa: BLE001  not a model that the runtime takes
        return "", False
    second, ran = None, False
    for seed in range(SEEDS if exact else 1):
        try:
            with np.errstate(all="ignore"):
                feeds = golden.feeds_for(shapes, seed, {})
            feeds = {i.name: feeds[i.name] for i in first.get_inputs() if i.name in feeds}
            expected, again = first.run(None, feeds), first.run(None, feeds)
        except Exception:  # noqa: BLE001  nor inputs
            continue
        if not all(same(p, q, True) for p, q in zip(expected, again)):
            continue  # random
        ran = True
        try:
            second = second or runs.session(after)
            got = second.run(None, feeds)
        except Exception as e:  # noqa: BLE001
            return f"the result does not run: {' '.join(str(e).split())[:200]}", True
        for o, p, q in zip(first.get_outputs(), expected, got):
            if not same(p, q, exact):
                return f"output {o.name} differs, seed {seed}: {p} became {q}"[:400], True
    return "", ran


def optimize(tool, source, target, options):
    command = [tool, source, "-o", target, "--verify-each", "-q", *options]
    with contextlib.suppress(FileNotFoundError):
        os.remove(target)
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
    except subprocess.TimeoutExpired:
        return None, "no end within 60 s"
    return done.returncode, done.stderr.strip()[-300:]


@contextlib.contextmanager
def checking(tool):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    tool = os.path.abspath(tool)
    exact = set(exact_passes(tool))
    cases = {}
    with tempfile.TemporaryDirectory() as folder:
        source, target, twice = (os.path.join(folder, f) for f in ("in.onnx", "out.onnx", "twice.onnx"))

        def answer(task):
            """(outcome, what is wrong or "", the model as text)"""
            path, number, *original_only = task
            if path not in cases:
                cases.clear()
                case = golden.read_case(path)
                base = onnx.parser.parse_model(case["before"])
                cases[path] = case, base, _neighbours.changes(base)
            case, base, found = cases[path]
            change, apply, as_before = found[number]
            model = _neighbours.changed(base, apply)
            if original_only:
                difference(model, model, base if as_before else model, True)
                return "crashed", f"{change}: the result crashes the runtime, the original does not", ""
            onnx.save(model, source)
            status, text = optimize(tool, source, target, case["options"])
            if status == 2:
                return "refused", "", ""
            if status != 0:
                return "failed", f"{change}: status {status}: {text}", onnx.printer.to_text(model)
            after = onnx.load(target)
            wrong, ran = difference(model, after, base if as_before else model, is_exact(case, exact))
            if not wrong and optimize(tool, target, twice, case["options"])[0] != 0:
                wrong = "a second run fails"
            if not wrong and pathlib.Path(target).read_bytes() != pathlib.Path(twice).read_bytes():
                wrong = "a second run changes the result"
            outcome = "wrong" if wrong else "compared" if ran else "not run"
            return outcome, wrong and f"{change}: {wrong}", wrong and onnx.printer.to_text(model)

        yield answer


def draw(a):
    """(path, number) of the neighbours that are tried, case by case."""
    found = []
    for path in sorted((TESTS / "golden").rglob("*.txt")):
        name = path.relative_to(TESTS / "golden").as_posix()
        if a.only in name:
            model = onnx.parser.parse_model(golden.read_case(str(path))["before"])
            for number, (change, *_) in enumerate(_neighbours.changes(model)):
                order = hashlib.sha256(f"{a.seed} {name} {change}".encode()).hexdigest()
                found.append((order, str(path), number))
    total = len(found)
    if not a.all:
        found = sorted(found)[: a.count]
    return sorted((path, number) for _, path, number in found), total


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--count", type=int, default=700, metavar="N")
    p.add_argument("--seed", type=int, default=1, metavar="S")
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", default="", metavar="TEXT", help="the cases whose path holds TEXT")
    p.add_argument("--jobs", type=int, default=2, metavar="N")
    p.add_argument("-v", action="store_true", help="print the models that fail")
    a = p.parse_args()
    tasks, total = draw(a)
    outcomes, bad = collections.Counter(), 0
    crashed = []

    def look(task, answer):
        nonlocal bad
        outcome, wrong, text = answer
        outcomes[outcome] += 1
        if wrong:
            bad += 1
            name = pathlib.Path(task[0]).relative_to(TESTS / "golden")
            print(f"FAILED {name} #{task[1]} {wrong}", flush=True)
            if a.v:
                print(text)

    for task, answer in _pool.answers(checking, (a.tool,), tasks, a.jobs):
        if isinstance(answer, _pool.Crash):
            crashed.append((*task, True))
        else:
            look(task, answer)
    for task, answer in _pool.answers(checking, (a.tool,), crashed, 1):
        own = isinstance(answer, _pool.Crash)
        look(task, ("crashes the runtime by itself", "", "") if own else answer)
    print(f"{len(tasks)} of {total} neighbours: " + ", ".join(f"{k} {n}" for k, n in outcomes.most_common()))
    return 1 if bad or not outcomes["compared"] else 0


if __name__ == "__main__":
    sys.exit(main())
