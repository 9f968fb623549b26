#!/usr/bin/env python3
"""Random graphs through reshape hoisting and elementwise aggregation: the same bits, always.

  hoist_graphs.py GRAPHOPT [SHARED] [--shared SHARED] [--count N] [--seed S] [--passes LIST] [--keep FOLDER]
  [--no-shuffle]

Graph number i is made from seed S + i (_hoist_graphs.py), optimized, and must
  give in ONNX Runtime (its optimizations off, one thread) the bits of the original at three bindings of the
  symbols (1 and 0 among
      them), every tenth graph at forty, with NaN, infinities, -0, denormals and values at the end of their
      type; a NaN may be another NaN, and where the original does not run nothing is compared
  keep its interface word for word, and be accepted by onnx.checker be the same, byte for byte, when optimized
  again, and (every tenth) when reasons are asked for be the same graph (SHARED's check.py: up to names and
  order) for a copy with its nodes in another legal order and all inner names
      replaced; needs SHARED
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
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx
import onnxruntime as ort

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "equal")]
import _hoist  # noqa: E402
import _hoist_graphs  # noqa: E402
import _pool  # noqa: E402
import _shrink  # noqa: E402
from random_graphs import Failure, count_nodes, run, values_of  # noqa: E402

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


# --- a copy in another order, with other names --------------------------------------------------------------


def outer_names(graph):
    """What a body reads from the graphs around it."""
    own = (
        {v.name for v in graph.input}
        | {t.name for t in graph.initializer}
        | {o for n in graph.node for o in n.output}
    )
    read = {o.name for o in graph.output} | {i for n in graph.node for i in n.input}
    for body in _shrink.subgraphs(graph):
        read |= outer_names(body)
    return read - own - {""}


def shuffle(graph, rng, names, kept):
    """Reorders and renames in place; names: what the graphs around this one call their values now."""
    names = dict(names)
    for v in [*graph.input, *graph.initializer]:
        if v.name not in kept:
            names[v.name] = (
                names.get(v.name)
                if v.name in names and v in graph.initializer
                else f"r{rng.getrandbits(48):x}"
            )
    for n in graph.node:
        for o in n.output:
            if o and o not in kept:
                names[o] = f"r{rng.getrandbits(48):x}"
    todo, ready, order = list(graph.node), set(), []
    needs = needs_of(todo)
    left = list(range(len(todo)))
    while left:
        k = rng.choice([k for k in left if needs[k] <= ready])
        left.remove(k)
        ready |= set(todo[k].output)
        copy = onnx.NodeProto()
        copy.CopyFrom(todo[k])
        copy.name = ""
        order.append(copy)
    del graph.node[:]
    graph.node.extend(order)
    for n in graph.node:
        n.input[:] = [names.get(i, i) for i in n.input]
        n.output[:] = [names.get(o, o) for o in n.output]
        for a in n.attribute:
            if a.HasField("g"):
                shuffle(a.g, rng, names, set())
    for v in [*graph.input, *graph.initializer, *graph.output, *graph.value_info]:
        v.name = names.get(v.name, v.name)
    _shrink.keep(graph.initializer, rng.sample(list(graph.initializer), len(graph.initializer)))


def needs_of(nodes):
    """What each reads of what the others make, its bodies included."""
    made = {o for n in nodes for o in n.output if o}
    return [
        {
            i
            for i in [*n.input, *(i for a in n.attribute if a.HasField("g") for i in outer_names(a.g))]
            if i in made
        }
        for n in nodes
    ]


def bodies_last(graph):
    """Nodes with bodies stand as late as they can: after them onnx's inference, of which the checker has its
    shapes, knows less."""
    nodes, needs, ready, order = list(graph.node), needs_of(graph.node), set(), []
    left = range(len(nodes))
    while left:
        can = [k for k in left if needs[k] <= ready]
        now = [k for k in can if not any(a.HasField("g") for a in nodes[k].attribute)] or can[:1]
        order += [nodes[k] for k in now]
        ready.update(o for k in now for o in nodes[k].output)
        left = [k for k in left if k not in now]
    _shrink.keep(graph.node, order)
    for n in graph.node:
        for a in n.attribute:
            if a.HasField("g"):
                bodies_last(a.g)


def by_position(graph, names=None, depth=0):
    """The inputs of bodies get names that tell their place: the checker compares them by name."""
    for n in graph.node:
        for a in n.attribute:
            if a.HasField("g"):
                inner = {**(names or {}), **{v.name: f"@{depth}.{k}" for k, v in enumerate(a.g.input)}}
                by_position(a.g, inner, depth + 1)
                for v in [*a.g.input, *a.g.output, *a.g.value_info]:
                    v.name = inner.get(v.name, v.name)
        if names:
            n.input[:] = [names.get(i, i) for i in n.input]


def shuffled(model, rng):
    m = _shrink.copy(model)
    shuffle(m.graph, rng, {}, {v.name for v in [*m.graph.input, *m.graph.output]})
    return m


# --- one graph ----------------------------------------------------------------------------------------------


class Checker:
    def __init__(self, tool, folder, check, report):
        self.tool, self.folder, self.check, self.moves, self.report = tool, Path(folder), check, {}, report
        if check:
            # Unknown extents, the checker's own and those of onnx's inference, are numbered in the order of
            # nodes; here all are one.
            number, check.fresh = check.D, lambda: (1, ("?",))
            check.D = lambda d: (1, ("?",)) if isinstance(d, str) and d.startswith("unk__") else number(d)

    def optimize(self, model, target, *more, tool=None):
        source = self.folder / "in.onnx"
        source.write_bytes(model if isinstance(model, bytes) else model.SerializeToString())
        why = (tool or self.tool).run(str(source), str(self.folder / target), "--exact", *more, timeout=60)
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
        data = self.optimize(model, "out.onnx", *(["--report", str(report)] if self.report else []))
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
                d = _hoist.difference(a[name], b[name])
                if d:
                    raise Failure("differs", f"feeds {k}, output {name}: {d}")
        if self.optimize(data, "again.onnx") != data:
            raise Failure("second run", "gives other bytes")
        asked = [] if self.tool.given else [p for p in _hoist.HOIST if p in self.tool.passes.split(",")]
        if (
            asked
            and seed is not None
            and seed % 10 == 1
            and self.optimize(model, "told.onnx", "--explain", ",".join(asked)) != data
        ):
            raise Failure("explain", "gives other bytes")
        if self.check and seed is not None:
            d = self.differ(
                *(
                    onnx.load_from_string(self.optimize(m, "shuffled.onnx"))
                    for m in (model, shuffled(model, random.Random(seed)))
                )
            )
            if d:
                raise Failure(
                    "order or names", f"a copy with other names and order gives another graph (B): {d}"
                )
        self.moves = moves_of(json.loads(report.read_text())) if self.report else {}
        return sum(a is not None for a in before), result

    def differ(self, a, b):
        """None, or how two models are more than renamed and reordered."""
        a, b = _shrink.copy(a), _shrink.copy(b)
        for m in (a, b):
            del m.graph.value_info[:]  # of equal nodes one stays, with or without what the file said of it
            bodies_last(m.graph)
            by_position(m.graph)
        return self.check.same(a, b)

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


def moves_of(report):
    """Kept moves by kind: the report's list "moves", where it has one."""
    return collections.Counter(m["kind"] for m in report.get("moves") or [])


def make(seed):
    rng = random.Random(seed)
    graph = _hoist_graphs.Graph(rng)
    count = 40 if seed % 10 == 0 else 3
    return graph.model, [graph.feeds(rng, b, PROFILES[k % 4]) for k, b in enumerate(bindings(rng, count))]


def check_seed(checker, seed, keep):
    """(what to count it as, figures, report or None)"""
    try:
        model, feeds = make(seed)
    except Exception as e:  # noqa: BLE001
        return "not made", {}, f"seed {seed}: the generator failed: {type(e).__name__} {e}"
    try:
        ran, result = checker.all(model, feeds, seed)
        if isinstance(ran, str):
            return "refused by the runtime: " + re.sub(r"'[^']*'|\d+|\([^)]*\)", "_", ran)[:90], {}, None
        kinds = [_hoist.kinds(m) for m in (model, result)]
        figures = {
            "feeds": len(feeds),
            "feeds that ran": ran,
            "nodes before": count_nodes(model.graph),
            "nodes after": count_nodes(result.graph),
            "changed": int(
                kinds[0] - collections.Counter(Constant=10**6)
                != kinds[1] - collections.Counter(Constant=10**6)
            ),
        }
        return "compared", {**figures, **{f"move {k}": n for k, n in checker.moves.items()}}, None
    except Failure as failure:
        text = f"seed {seed}: {failure}"
        model, feeds, last = smaller(checker, model, feeds, failure, seed)
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

    model, feeds = _shrink.shrink(model, feeds, fails, values_of, patience=250)
    return model, feeds, last


# --- many graphs --------------------------------------------------------------------------------------------


@contextlib.contextmanager
def checking(a):
    ort.set_default_logger_severity(4)
    there = _hoist.rewrites(a.shared) if a.shared and not a.no_shuffle else None
    tool = _hoist.Tool(a.tool, a.passes)
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(tool, folder, there and there[1], not tool.given)
        yield lambda seed: check_seed(checker, seed, a.keep)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", help="program, or a command with {in} and {out}")
    p.add_argument("folder", nargs="?", metavar="SHARED")
    p.add_argument("--shared", metavar="SHARED")
    p.add_argument("--count", type=int, default=500)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--passes", default=_hoist.PASSES, metavar="LIST")
    p.add_argument("--keep", metavar="FOLDER", help="for failing models")
    p.add_argument("--no-shuffle", action="store_true", help="do not compare with a shuffled copy")
    p.add_argument(
        "--limit", type=int, default=20, metavar="N", help="stop after so many failures (default 20)"
    )
    a = p.parse_args()
    a.shared = a.shared or a.folder
    try:
        missing = _hoist.Tool(a.tool, a.passes).missing()
    except (OSError, subprocess.CalledProcessError) as e:
        sys.exit(f"hoist_graphs: {e}")
    if missing:
        print(f"skipped: {a.tool} has no pass {', '.join(missing)}")
        return 77
    if a.keep:
        os.makedirs(a.keep, exist_ok=True)
    if not a.no_shuffle and (
        not a.shared or not os.path.isdir(os.path.join(a.shared, "vectors", "rewrites"))
    ):
        print("without SHARED: shuffled copies are not compared")
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
    return 1 if failures else 0


if __name__ == "__main__":
    mp.set_start_method("fork")
    sys.exit(main())
