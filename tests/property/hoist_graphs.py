#!/usr/bin/env python3
# LONG: --count 4000 --seed 2 --jobs 2
"""Random graphs through reshape hoisting and elementwise aggregation: the same bits, always.

  hoist_graphs.py GRAPHOPT [--count N] [--seed S] [--passes LIST] [--keep FOLDER] [--no-shuffle]

Graph number i is made from seed S + i (_hoist_graphs.py), optimized with --verify-each, which compares drafts
after a roll-back and costs that are kept with fresh ones, and must
  give in ONNX Runtime (its optimizations off, one thread) the bits of the original at three bindings of the
    symbols (1 and 0 among them), every tenth graph at forty, with NaN, infinities, -0, denormals and values
    at the end of their type; a NaN may be another NaN, and where the original does not run nothing is
    compared
  keep its interface word for word, and be accepted by onnx.checker
  be the same, byte for byte, when optimized again, and (every tenth) when reasons are asked for
  have no more nodes than without hoist-reshape (every fifth graph), unless a move says in the report which
    launches it saves for them
  be the same graph (lib/graph_comparison.py) for a copy with its nodes in another legal order and all inner
    names replaced
So must, without that copy, the graph of which some inputs have lost their ranks or extents, and what
follows from these: a move that needs them must notice.
A failing graph is made small and printed as text with its seed. Each --jobs process is replaced when the
runtime crashes.
"""

import argparse
import collections
import contextlib
import itertools
import json
import multiprocessing as mp
import os
import random
import re
import sys
import tempfile
import time
from pathlib import Path

import onnx
import onnxruntime as ort

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import _hoist_graphs  # noqa: E402
import _pool  # noqa: E402
import _shrink  # noqa: E402
from lib import counting, graph_comparison, reordering, runs  # noqa: E402
from lib.tool import HOIST, Tool, exact_passes, operators  # noqa: E402
from random_graphs import Failure, run, values_of  # noqa: E402

PROFILES = ["plain", "special", "small", "special"]


def bindings(rng, count):
    """Extents for the symbols: others, 1, 0, then any mixture of 0, 1 and more."""
    names = sorted(_hoist_graphs.SYMBOLS)
    first = [
        dict(zip(names, rng.sample([2, 3, 4, 5], 3))),
        dict.fromkeys(names, 1),
        {n: rng.choice([0, 0, 2]) for n in names},
    ]
    return (first + [{n: rng.choice([0, 1, 1, 2, 3, 5, 8, 17]) for n in names} for _ in range(count - 3)])[
        :count
    ]


# --- one graph ----------------------------------------------------------------------------------------------


class Checker:
    def __init__(self, tool, folder, shuffle):
        self.tool, self.folder, self.shuffle, self.moves = tool, Path(folder), shuffle, {}

    def optimize(self, model, target, *more):
        source = self.folder / "in.onnx"
        source.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
        why = self.tool.run(str(source), str(self.folder / target), "--exact", *more, timeout=60)
        if why:
            raise Failure("tool", why)
        return (self.folder / target).read_bytes()

    def all(self, model, feeds, seed):
        """Raises Failure. How many feeds ran, and whether the graph changed; a str where the runtime refuses
        the original."""
        before = run(model, feeds)
        if isinstance(before, str):
            return before, 0
        report = self.folder / "report.json"
        data = self.optimize(model, "out.onnx", "--report", str(report), "--verify-each")
        result = onnx.load_from_string(data)
        self.interface(model.graph, result.graph)
        why = refusal(result)
        if why and not refusal(model):  # a graph that is being made small may be refused before
            raise Failure("checker", why)
        after = run(result, feeds)
        if isinstance(after, str):
            raise Failure("not loaded", after[:400])
        for k, (a, b) in enumerate(zip(before, after)):
            if a is None:
                continue
            if b is None:
                raise Failure(
                    "does not run", f"feeds {k}, shapes { {n: list(v.shape) for n, v in feeds[k].items()} }"
                )
            for name in a:
                d = runs.bit_difference(a[name], b[name])
                if d:
                    raise Failure("differs", f"feeds {k}, output {name}: {d}")
        if self.optimize(data, "again.onnx") != data:
            raise Failure("second run", "gives other bytes")
        asked = [p for p in HOIST if p in self.tool.passes]
        if (
            asked
            and seed is not None
            and seed % 10 == 1
            and self.optimize(model, "told.onnx", "--explain", ",".join(asked)) != data
        ):
            raise Failure("explain", "gives other bytes")
        moves = json.loads(report.read_text())["moves"] or []
        if seed is not None and seed % 5 == 2 and "hoist-reshape" in self.tool.passes:
            flat = self.optimize(model, "flat.onnx", "--disable-pass", "hoist-reshape")
            more = counting.nodes(result) - counting.nodes(onnx.load_from_string(flat))
            if more > sum(nodes_that_pay(m) for m in moves):
                raise Failure("more nodes", f"{more} more than without hoist-reshape")
        if self.shuffle and seed is not None:
            copied = self.optimize(reordering.shuffled(model, random.Random(seed)), "shuffled.onnx")
            d = graph_comparison.difference(result, onnx.load_from_string(copied))
            if d:
                raise Failure(
                    "order or names", f"a copy with other names and order gives another graph (B): {d}"
                )
        self.moves = moves_of(moves)
        return sum(a is not None for a in before), result

    @staticmethod
    def interface(a, b):
        for what in ("input", "output"):
            x, y = ([v.SerializeToString(deterministic=True) for v in getattr(g, what)] for g in (a, b))
            if x != y:
                names = [[v.name for v in getattr(g, what)] for g in (a, b)]
                raise Failure("interface", f"{what}s were {names[0]}, are {names[1]}, or their types differ")


def refusal(model):
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as e:  # noqa: BLE001
        return " ".join(str(e).split())[:400]
    return None


def moves_of(moves):
    """Kept moves by kind."""
    return collections.Counter(m["kind"] for m in moves)


def nodes_that_pay(move):
    """How many more nodes a move leaves, where it lowers C' or brings two elementwise nodes for each of them
    to a Conv or product."""
    before, after = move["before"], move["after"]
    more = after["nodes"] - before["nodes"]
    pays = after["compute"] < before["compute"] or before["apart"] - after["apart"] >= 2 * more
    return more if more > 0 and pays else 0


def make(seed):
    rng = random.Random(seed)
    graph = _hoist_graphs.Graph(rng)
    count = 40 if seed % 10 == 0 else 3
    return graph.model, [graph.feeds(rng, b, PROFILES[k % 4]) for k, b in enumerate(bindings(rng, count))]


def forgetful(model, seed):
    """A copy that does not say the shapes of some inputs, or some of their extents, nor those of results."""
    rng, m = random.Random(f"forget {seed}"), onnx.ModelProto()
    m.CopyFrom(model)
    del m.graph.value_info[:]
    for v in [*m.graph.input, *m.graph.output]:
        t = v.type.tensor_type
        if v in m.graph.output or rng.random() < 0.3:
            t.ClearField("shape")
        for d in t.shape.dim:
            if rng.random() < 0.3:
                d.Clear()
    return m


def check_seed(checker, seed, keep):
    """(what to count it as, figures, report or None)"""
    outcome = check_graph(checker, seed, keep, lambda m: m, seed)
    if outcome[0] != "compared":
        return outcome
    kind, figures, report = check_graph(checker, seed, keep, lambda m: forgetful(m, seed), None)
    return ("compared", outcome[1], None) if report is None else (kind, figures, report)


def check_graph(checker, seed, keep, change, whole):
    """(what to count it as, figures, report or None) of the changed graph; `whole`: the seed, None to leave
    out what the other graph has shown."""
    try:
        model, feeds = make(seed)
        model = change(model)
    except Exception as e:  # noqa: BLE001
        return "not made", {}, f"seed {seed}: the generator failed: {type(e).__name__} {e}"
    try:
        ran, result = checker.all(model, feeds, whole)
        if isinstance(ran, str):
            return "refused by the runtime: " + re.sub(r"'[^']*'|\d+|\([^)]*\)", "_", ran)[:90], {}, None
        kinds = [operators(m) for m in (model, result)]
        figures = {
            "feeds": len(feeds),
            "feeds that ran": ran,
            "nodes before": counting.nodes(model),
            "nodes after": counting.nodes(result),
            "changed": int(
                kinds[0] - collections.Counter(Constant=10**6)
                != kinds[1] - collections.Counter(Constant=10**6)
            ),
        }
        return "compared", {**figures, **{f"move {k}": n for k, n in checker.moves.items()}}, None
    except Failure as failure:
        text = f"seed {seed}: {failure}"
        model, feeds, last = smaller(checker, model, feeds, failure, whole)
        if keep:
            path = Path(keep, f"hoist{seed}.onnx")
            path.write_bytes(model.SerializeToString())
            text += f"\n  written to {path}"
        return "failed: " + failure.kind, {}, f"{text}\n  made small: {last}\n{onnx.printer.to_text(model)}"


def smaller(checker, model, feeds, failure, seed):
    last = failure

    def fails(m, f):
        nonlocal last
        try:
            checker.all(m, f, seed)
        except Failure as again:
            if again.kind == failure.kind:
                last = again
                return True
        except Exception:  # noqa: BLE001 - what is no model fails in other ways
            return False
        return False

    model, feeds = _shrink.shrink(checker.tool.binary, model, feeds, fails, values_of)
    return model, feeds, last


# --- many graphs --------------------------------------------------------------------------------------------


@contextlib.contextmanager
def checking(a):
    ort.set_default_logger_severity(4)
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(Tool(a.tool, a.passes), folder, not a.no_shuffle)
        yield lambda seed: check_seed(checker, seed, a.keep)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--count", type=int, default=80)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--passes", metavar="LIST", help="default: all that keep every bit")
    p.add_argument("--keep", metavar="FOLDER", help="for failing models")
    p.add_argument("--no-shuffle", action="store_true", help="do not compare with a shuffled copy")
    p.add_argument(
        "--limit", type=int, default=20, metavar="N", help="stop after so many failures (default 20)"
    )
    a = p.parse_args()
    a.passes = a.passes.split(",") if a.passes else exact_passes(a.tool)
    if a.keep:
        os.makedirs(a.keep, exist_ok=True)
    begin, outcomes, figures, failures = time.time(), collections.Counter(), collections.Counter(), 0
    seeds = itertools.takewhile(lambda _: failures < a.limit, range(a.seed, a.seed + a.count))
    for seed, answer in _pool.answers(checking, (a,), seeds, min(a.jobs, a.count)):
        kind, found, report = (answer.text, {}, None) if isinstance(answer, _pool.Crash) else answer
        outcomes[kind] += 1
        figures.update(found)
        if isinstance(answer, _pool.Crash):
            print(f"seed {seed}: {kind}", flush=True)
        if report:
            failures += 1
            print(report, flush=True)
    for kind, n in outcomes.most_common():
        print(f"{n:8} {kind}")
    for kind in sorted(figures):
        print(f"{figures[kind]:8} {kind}")
    total = sum(outcomes.values())
    print(
        f"{total} graphs from seed {a.seed}, {outcomes['compared']} compared, "
        f"{failures} failures, {time.time() - begin:.1f} s"
    )
    if failures >= a.limit:
        print(f"stopped after {failures} failures")
    if not failures and outcomes["compared"] < 0.9 * total:
        print("too few graphs were compared: the generator makes what the runtime refuses, or it crashes")
        return 1
    return 1 if failures or not total else 0


if __name__ == "__main__":
    mp.set_start_method("fork")
    sys.exit(main())
