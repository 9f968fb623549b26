#!/usr/bin/env python3
# LONG: --all
"""The ONNX backend's node cases with padded extents: no verdict may call safe what differs in ONNX Runtime.

  bucket_nodes.py GRAPHOPT [--all] [--floor N] [--jobs N] [--reasons] [FILTER]

Each axis of each input becomes the symbol s, and so does each set of axes with an extent of at least two in
common, over [n - 1, n + 3] where n is the recorded extent. Operands that are parameters (shapes, axes,
scales) become initializers. A case counts where ONNX Runtime runs the node at n, n + 1 and n + 3: the marks
promise that the model takes every extent. Its data are the recorded ones, cut at n and n - 1, padded to n + 3
and by one.

The short form takes a share of the node cases by a hash of the name, --all all of them; FILTER is a regular
expression on their names. The counts:

  safe               the verdict is proved or assumed, and every padded run gave the true results
  unsound            the verdict is proved or assumed, and one did not: bad
  repaired           refused, and safe by --bucket-require repair: its padded runs gave the true
                     results of the case, and it has no other results for true data
  refused-confirmed  refused, and padding by zeros changes results or is an error
  refused-same       refused, and padding by zeros changes nothing here (--reasons prints them)
  failed             the tool crashed or printed no verdict: bad

It also ends with status 1 when fewer cases are safe than --floor, or the number of cases is another one than
EXPECTED has for these versions of onnx and ONNX Runtime; without --floor and FILTER, the floor is that of
EXPECTED.
"""

import argparse
import collections
import contextlib
import multiprocessing as mp
import pathlib
import re
import sys
import tempfile
import zlib

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "property")]
import _pool  # noqa: E402
from lib import backend_cases, padding, repairs, runs, verdicts  # noqa: E402
from lib.tool import executable  # noqa: E402

SHARE = 12  # the short form takes one case in so many
CHOICES = 24  # at most so many sets of axes of one case
SYMBOL = "s"
# How many cases there are, and the fewest that must be safe: with --all, and in the short form.
EXPECTED = {("1.23.2", "1.32.0"): {True: (3549, 2561), False: (279, 189)}}

REDUCTIONS = "Max Min Sum Mean Prod L1 L2 LogSum LogSumExp SumSquare".split()
# Operands that decide extents or axes, by operator.
PARAMETERS = {
    **{f"Reduce{r}": {1} for r in REDUCTIONS},
    **dict.fromkeys(["Reshape", "Expand", "Tile", "Split", "Squeeze", "Unsqueeze", "Upsample", "TopK"], {1}),
    **dict.fromkeys(["OneHot", "Trilu", "CumSum"], {1}),
    **dict.fromkeys(["ConstantOfShape", "Shape", "Size"], {0}),
    "Range": {0, 1, 2},
    "Slice": {1, 2, 3, 4},
    "Resize": {1, 2, 3},
    "Pad": {1, 2, 3},
    "MatMulInteger": {2, 3},
    "ConvInteger": {2, 3},
    "QLinearConv": {1, 2, 4, 5, 6, 7},
    "QLinearMatMul": {1, 2, 4, 5, 6, 7},
}
# Those that are parameters where they have at most one axis: bounds, scales, zero points, biases.
SMALL_PARAMETERS = {"Clip", "Resize", "QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearMatMul"}
SMALL_PARAMETERS |= {"Upsample", "Gelu"}


def is_parameter(operator, index, array):
    small = operator in SMALL_PARAMETERS and index > 0 and array.ndim <= 1
    return small or index in PARAMETERS.get(operator, ())


def with_parameters(case, node, feeds):
    """A copy of the case's model with its parameters for initializers, and the other operands' data."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    del model.graph.value_info[:]
    fixed = {
        name: feeds[name]
        for k, name in enumerate(node.input)
        if name in feeds and is_parameter(node.op_type, k, feeds[name])
    }
    kept = [v for v in model.graph.input if v.name not in fixed]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    model.graph.initializer.extend(numpy_helper.from_array(v, name) for name, v in fixed.items())
    return model, {v.name: feeds[v.name] for v in kept}


def axes_to_mark(feeds):
    """Sets of (input, axis) that become the symbol: each one alone, and those of equal extents."""
    chosen = {}
    for name, data in feeds.items():
        for axis, n in enumerate(data.shape):
            chosen.setdefault((name, axis), []).append((name, axis))
            if n > 1:
                chosen.setdefault(("=", n), []).append((name, axis))
    sets = [frozenset(s) for s in list(chosen.values())[:CHOICES]]
    return list(dict.fromkeys(sets))


def marked(model, feeds, axes):
    """The model with the symbol in the place of these axes' extents."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    for v in copy.graph.input:
        shape = v.type.tensor_type.shape
        shape.Clear()
        for axis, n in enumerate(feeds[v.name].shape):
            dim = shape.dim.add()
            if (v.name, axis) in axes:
                dim.dim_param = SYMBOL
            else:
                dim.dim_value = n
    for o in copy.graph.output:
        o.type.tensor_type.ClearField("shape")
    return copy


def runs_with(session, feeds):
    try:
        session.run(None, feeds)
    except Exception:  # noqa: BLE001 - ONNX Runtime has many kinds
        return False
    return True


class Marked:
    """One model with marked axes."""

    def __init__(self, model, feeds, axes):
        self.feeds, self.axes = feeds, axes
        name, axis = next(iter(axes))
        self.extent = feeds[name].shape[axis]
        self.model = marked(model, feeds, axes)
        self.range = max(1, self.extent - 1), self.extent + 3
        integers = {k: v for k, v in feeds.items() if v.dtype.kind in "iu" and v.size}
        self.values = {k: (int(v.min()), int(v.max())) for k, v in integers.items()}

    def cut(self, n):
        return {
            name: data[tuple(slice(n if (name, k) in self.axes else None) for k in range(data.ndim))]
            for name, data in self.feeds.items()
        }

    def repeated(self, n):
        """The data, begun anew at the end of the marked axes."""
        longer = {}
        for name, data in self.feeds.items():
            room = [(0, n - e if (name, k) in self.axes else 0) for k, e in enumerate(data.shape)]
            longer[name] = np.pad(data, room, mode="wrap")
        return longer

    def admission(self):
        """A session, or why the case does not count."""
        try:
            session = runs.session(self.model)
        except Exception:  # noqa: BLE001
            return "not loaded"
        if not runs_with(session, self.cut(self.extent)):
            return "not run"
        if not all(runs_with(session, self.repeated(self.extent + k)) for k in (1, 3)):
            return "one extent alone"
        return session

    def trials(self, session):
        for n in (self.extent, self.extent - 1):
            if n >= 1 and runs_with(session, self.cut(n)):
                yield {SYMBOL: n}, {SYMBOL: self.extent + 3}
                yield {SYMBOL: n}, {SYMBOL: n + 1}

    def verdict(self, tool, folder, repair=False):
        content = verdicts.marks([verdicts.each(SYMBOL, *self.range)], self.values)
        return verdicts.ask(tool, self.model, content, folder, repair=repair)

    def same_with_zeros(self, session, trials):
        """Whether zeros at the end change nothing: a refusal that a better rule might lift."""
        for true, padded in trials[:2]:
            feeds = self.cut(true[SYMBOL])
            room = padded[SYMBOL] - true[SYMBOL]
            longer = {
                name: np.pad(d, [(0, room if (name, k) in self.axes else 0) for k in range(d.ndim)])
                for name, d in feeds.items()
            }
            try:
                if padding.prefix_difference(session.run(None, feeds), session.run(None, longer)):
                    return False
            except Exception:  # noqa: BLE001
                return False
        return True


def examine(tool, subject, folder, rng):
    """(what became of it, comparisons, text)"""
    session = subject.admission()
    if isinstance(session, str):
        return session, 0, ""
    trials = list(subject.trials(session))
    make = None
    try:
        verdict = subject.verdict(tool, folder)
        if not verdict.safe:
            repaired = subject.verdict(tool, folder, repair=True)
            if repaired.safe:
                verdict, make = repaired, repairs.checker(repairs.make(tool, folder))
    except verdicts.ToolFailed as e:
        return "failed", 0, str(e)
    if not verdict.safe:
        same = subject.same_with_zeros(session, trials)
        r = verdict.refused
        return f"refused-{'same' if same else 'confirmed'}", 0, f"{r.get('operator')}: {r.get('reason')}"
    kept = [t for t in trials if all(map(verdict.admits, t))]
    if not kept:
        return "safe, but no extents to run", 0, ""

    def data(true):
        return subject.cut(true[SYMBOL])

    found = padding.check(subject.model, verdict, kept, data, rng, make=make)
    if found.problems:
        pads = {name: f"{p.kind} {p.value}" for name, p in verdict.pads.items()}
        how = [r["kind"] for r in verdict.repairs] or verdict.name
        return "unsound", found.compared, f"{how}, pads {pads}: {found.problems[0]}"
    if not found.compared:
        return "unsound", 0, "nothing was compared"
    return "repaired" if make else "safe", found.compared, verdict.name


def subjects(case, node, feeds):
    """Those of a case of the backend, none where an operand or output is no tensor of numbers."""
    if any(a.dtype.kind not in "fiub" for a in feeds.values()):
        return
    if any(not v.type.HasField("tensor_type") for v in case.model.graph.output):
        return
    model, operands = with_parameters(case, node, feeds)
    for axes in axes_to_mark(operands):
        subject = Marked(model, operands, axes)
        if subject.extent >= 1:
            yield subject


@contextlib.contextmanager
def answering(tool, cases):
    """What each process does with a task, the number of a case: a list of (name, operator, found)."""
    onnxruntime.set_default_logger_severity(4)
    with tempfile.TemporaryDirectory() as folder:

        def answer(k):
            case, node, feeds = cases[k]
            rng = np.random.default_rng(zlib.crc32(case.name.encode()))
            answers = []
            with np.errstate(all="ignore"):
                for s in subjects(case, node, feeds):
                    name = case.name + "".join(sorted(f" {i}.{axis}" for i, axis in s.axes))
                    answers.append((name, node.op_type, examine(tool, s, folder, rng)))
            return answers

        yield answer


COUNTED = (
    "safe",
    "repaired",
    "refused-confirmed",
    "refused-same",
    "unsound",
    "failed",
    "safe, but no extents to run",
)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("filter", nargs="?", default="", metavar="FILTER")
    p.add_argument("--all", action="store_true")
    p.add_argument("--floor", type=int, metavar="N", help="the least number of safe cases")
    p.add_argument("--jobs", type=int, default=2, metavar="N")
    p.add_argument("--reasons", action="store_true", help="print the refusals that zeros do not confirm")
    a = p.parse_args()
    whole = a.all or bool(a.filter)
    cases = [
        c
        for c in backend_cases.nodes_alone()
        if re.search(a.filter, c[0].name) and (whole or zlib.crc32(c[0].name.encode()) % SHARE == 0)
    ]
    counts, operators, compared, crashed = collections.Counter(), collections.defaultdict(set), 0, 0
    for k, found in _pool.answers(answering, (a.tool, cases), range(len(cases)), a.jobs):
        if isinstance(found, _pool.Crash):
            crashed += 1
            print(f"crashed    {cases[k][0].name}: {found.text}", flush=True)
            continue
        for name, operator, (what, count, text) in found:
            counts[what] += 1
            compared += count
            operators["refused" if what.startswith("refused") else what].add(operator)
            if what in ("unsound", "failed") or (a.reasons and what == "refused-same"):
                print(f"{what:10} {name}: {text}", flush=True)
    total = sum(counts[c] for c in COUNTED)
    safe = counts["safe"] + counts["safe, but no extents to run"]
    line = [f"{counts[k]} {k}" for k in COUNTED[1:-1]]
    somewhere, never = operators["safe"], operators["refused"] - operators["safe"]
    print(
        f"{compared} comparisons; {len(somewhere)} operators safe somewhere, {len(never)} refused everywhere"
    )
    left = {k: n for k, n in counts.items() if k not in COUNTED}
    print(f"left out: {left}; {crashed} crashed")
    print(f"{total} cases: {safe} safe, {', '.join(line)}")
    bad = counts["unsound"] or counts["failed"] or crashed or not total
    floor = a.floor
    if not a.filter and (wanted := EXPECTED.get((onnx.__version__, onnxruntime.__version__))):
        cases_wanted, least = wanted[a.all]
        floor = least if floor is None else floor
        if total != cases_wanted:
            print(f"expected {cases_wanted} cases")
            bad = True
    if safe < (floor or 0):
        print(f"at least {floor} must be safe")
        bad = True
    return 1 if bad else 0


if __name__ == "__main__":
    mp.set_start_method("fork")
    sys.exit(main())
