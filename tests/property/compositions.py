#!/usr/bin/env python3
# LONG: --count 10000 --seed 4000000
"""Compositions of backend cases before and after: the same results in ONNX Runtime.

  compositions.py GRAPHOPT [--count N] [--seed S] [--jobs N] [--keep DIR] [--options '...']

Composition number i of a run is made from seed S + i (_compose_model.py): cases of the onnx package's backend
tests joined by casts and shape operators, in part inside If, Loop, Scan and functions, with symbolic dims and
up to three bindings of them. It goes through the tool with some sets of options (_compose_check.py):
  status 0; inputs and outputs stay what they were; no more nodes that compute; a second run gives the
    same bytes;
  onnx.checker takes what it took before; the result loads and runs wherever the original does
  exact sets: the same bits without the runtime's own optimizations. Others: within the tolerance of
    lib/compare.py, or as far as the original itself moves when its inputs move by a part in a million
  no shape that the file declares is contradicted by a run
A difference that ONNX Runtime shows by itself, between the original and the original with Identity nodes
put in, with all results as outputs, without declared shapes, with sums of integers written otherwise or at
another level of its optimizations, is counted apart; runtime_inconsistencies.json keeps an example of each
kind, which each run proves anew. A failing composition is made small and printed with its seed.
"""

import argparse
import collections
import contextlib
import multiprocessing as mp
import random
import re
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnx.inliner
import onnxruntime as ort

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).resolve().parents[1])]
import _compose_check as check  # noqa: E402
import _compose_corpus as corpus  # noqa: E402
import _compose_own as proofs  # noqa: E402
import _pool  # noqa: E402
import _shrink  # noqa: E402
from _compose_model import Composition  # noqa: E402
from lib import runs  # noqa: E402
from lib.tool import executable  # noqa: E402


def values_of(model, names, feeds):
    m = _shrink.copy(model)
    m.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names)
    got = check.run(m, feeds)
    if isinstance(got, str) or any(isinstance(r, str) for r in got):
        return None
    if not all(isinstance(r[n], np.ndarray) for r in got for n in names):
        return None
    return [{n: r[n] for n in names} for r in got]


def shrunk(checker, model, feeds, failure):
    """(model, feeds, failure): small, and failing in the same way."""

    def again(m, f):
        try:
            base = check.run(m, f)
            if isinstance(base, str) or all(isinstance(b, str) for b in base):
                return None
            if isinstance(check.run(m, f[:1]), str):
                return None
            checker.check(m, f, failure.options, base, deep=bool(failure.level))
        except check.Failure as found:
            if (found.kind, found.level) != (failure.kind, failure.level):
                return None
            found.own = proofs.own(m, f, found, found.options in check.EXACT, checker.made)
            return found if bool(found.own) == bool(failure.own) else None
        except Exception:  # noqa: BLE001 - a model that nothing accepts any more
            return None
        return None

    for _ in range(4):
        model, feeds = _shrink.shrink(checker.tool, model, feeds, again, values_of, seconds=25)
        other = next((m for m in proofs.unwrapped(model) if again(m, feeds)), None)
        if other is None:
            break
        model = other
    return model, feeds, again(model, feeds) or failure


def signature(failure, model):
    """Kind, options and operators of a small failing model: equal for what has probably one cause."""
    operators = sorted({n.op_type for n in model.graph.node})
    return (
        f"{failure.kind} {failure.own and '(' + failure.own + ')'} [{failure.options}] {' '.join(operators)}"
    )


def check_seed(tool, seed, use_tool, folder, a):
    """(what to count it as, report or None)"""
    rng = random.Random(seed)
    made = Composition(rng)
    if made.model is None:
        return "nothing that runs", None
    model, feeds = made.model, made.feeds
    base = check.run(model, feeds)
    if isinstance(base, str):
        return "refused by the runtime: " + re.sub(r"'[^']*'|\d+|\([^)]*\)", "_", base)[:90], None
    if isinstance(base[0], str):
        return "does not run as a whole", None
    once_more = check.run(model, feeds)
    if any(
        runs.bit_difference(x[n], y[n]) for x, y in zip(base, once_more) if not isinstance(x, str) for n in x
    ):
        return "random", None
    checker = check.Checker(tool, folder)
    if not use_tool:
        check.run(model, feeds, "ENABLE_ALL")
        return "ran", None
    rounding = [] if made.special else check.ROUNDING
    sets = [rng.choice(check.EXACT), rng.choice(check.EXACT + rounding), rng.choice(rounding or check.EXACT)]
    for options in [a.options] if a.options is not None else dict.fromkeys(sets):
        try:
            checker.check(model, feeds, options, base, deep=rng.random() < 0.3)
        except check.Failure as failure:
            failure.own = proofs.own(model, feeds, failure, options in check.EXACT, checker.made)
            if failure.own and not a.own:
                return f"the runtime's own: {failure.kind}: {failure.own}", None
            if a.shrink and failure.kind != "interface":  # made smaller, a model loses declarations
                model, feeds, failure = shrunk(checker, model, feeds, failure)
            return "failed", report(seed, model, feeds, failure, a.keep)
    ran = sum(not isinstance(b, str) for b in base)
    return f"ran at {ran} bindings", None


def report(seed, model, feeds, failure, keep):
    where = ""
    if keep:
        path = Path(keep, f"seed{seed}.onnx")
        path.write_bytes(model.SerializeToString())
        parts = {
            f"{i}:{k}": v for i, f in enumerate(feeds) for k, v in f.items() if isinstance(v, np.ndarray)
        }
        np.savez(path.with_suffix(".npz"), **parts)
        where = f"\n  written to {path}"
    names = {v.name for v in model.graph.input}
    fed = {
        k: f"{v.dtype}{list(v.shape)} {v.ravel()[:6]}" if isinstance(v, np.ndarray) else f"{len(v)} tensors"
        for k, v in feeds[min(failure.at, len(feeds) - 1)].items()
        if k in names
    }
    text = f"seed {seed}: {failure}" + (f" (the runtime's own: {failure.own})" if failure.own else "")
    return signature(failure, model), f"{text}{where}\n  fed: {fed}\n{onnx.printer.to_text(model)}"


@contextlib.contextmanager
def checking(a):
    ort.set_default_logger_severity(4)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        yield lambda task: check_seed(a.tool, *task, folder, a)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("--count", type=int, default=80)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--keep", metavar="DIR", help="folder for failing models")
    p.add_argument("--options", help="this set of options of graphopt alone, one string")
    p.add_argument("--own", action="store_true", help="also report what is the runtime's own")
    p.add_argument("--no-shrink", dest="shrink", action="store_false")
    a = p.parse_args()
    if a.keep:
        Path(a.keep).mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    corpus.pieces()
    corpus.newest_opset()
    stale = list(proofs.unproven())
    for text in stale:
        print(f"runtime_inconsistencies.json: {text}")
    changed = list(proofs.changed_sums())
    for text in changed:
        print(f"a variant that means something else: {text}")
    begin, counts, failures, crashed = time.time(), collections.Counter(), collections.Counter(), []
    tasks = ((seed, True) for seed in range(a.seed, a.seed + a.count))
    for task, answer in _pool.answers(checking, (a,), tasks, min(a.jobs, a.count)):
        if isinstance(answer, _pool.Crash):
            crashed.append((task[0], False))
            continue
        kind, text = answer
        counts[kind] += 1
        if text:
            failures[text[0]] += 1
            print(text[1], flush=True)
    for task, answer in _pool.answers(checking, (a,), crashed, min(a.jobs, len(crashed))):
        own = isinstance(answer, _pool.Crash)
        counts["the runtime crashes on the original" if own else "failed"] += 1
        if not own:
            failures["crash"] += 1
            print(f"seed {task[0]}: the runtime crashed on a result")
    for kind, n in counts.most_common():
        print(f"{n:7} {kind}")
    for text, n in failures.most_common():
        print(f"{n:7} {text}")
    compared = sum(n for kind, n in counts.items() if kind.startswith(("ran at", "failed", "the runtime's")))
    seconds = time.time() - begin
    print(
        f"{a.count} compositions from seed {a.seed}, {compared} compared, {failures.total()} failures, "
        f"{seconds:.1f} s"
    )
    if compared < a.count * 0.7:
        print("too few were compared: the generator makes what the runtime refuses")
        return 1
    return 1 if failures or stale or changed else 0


if __name__ == "__main__":
    mp.set_start_method("fork")
    sys.exit(main())
