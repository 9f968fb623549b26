"""Pairs of graphs with known truth for the mapping benchmarks: made once, checked by running them, and kept
in a
folder as A.onnx, B.onnx and truth.json."""

import collections
import contextlib
import json
import os
import pathlib
import random
import shutil

import numpy as np
import onnx

import _mapping_layouts  # noqa: F401  (registers its changes)
import _mapping_peers as peers
from _mapping_changes import CHANGES, Subject
from _mapping_graph import Operators, Scrambler, executed, reads
from lib import compare, inputs

VERSION = 1  # of how pairs are made: another one makes all again
SIZES = ("default", "smallest", "drawn:1")
NAMES = (*CHANGES, *peers.NAMES)
# Half precision keeps 11 bits; through some tens of layers the outputs of the models that stay stable move by
# up
# to a few hundredths of their largest magnitude.
OF_HALF = 0.05


class Unfit(Exception):
    """There is no pair; the text tells why."""


class Original:
    """A model of tests/models and the numbers of its values at several sizes, run when first asked for."""

    def __init__(self, name, path, record):
        self.name, self.path, self.record = name, path, record
        self.model, self.feeds, self._runs = onnx.load(path), [], None

    @property
    def runs(self):
        if self._runs is None:
            self._runs, tried = [], []
            for which in SIZES:
                extents = inputs.sizes(self.record, which)
                if extents in tried:
                    continue
                tried.append(extents)
                feeds = inputs.make(self.record, extents)
                try:
                    values = executed(self.model, feeds)
                except Exception as e:  # noqa: BLE001 - ONNX Runtime has many kinds
                    if not self._runs:
                        raise Unfit(f"the model does not run: {' '.join(str(e).split())[:200]}") from e
                    continue
                self.feeds.append(feeds)
                self._runs.append(values if not self._runs else self._outlines(values))
        return self._runs

    def _outlines(self, values):
        """The numbers of the outputs and of sizes, and of the rest the shape alone."""
        outputs = {o.name for o in self.model.graph.output}
        outputs |= {k for k, v in values.items() if isinstance(v, np.ndarray) and peers.is_size(v)}
        return {
            k: np.broadcast_to(np.zeros((), v.dtype), v.shape)
            if isinstance(v, np.ndarray) and k not in outputs
            else v
            for k, v in values.items()
        }


def changed(original, change, tool, python, folder):
    """(model, truth with what stands beside) of a change."""
    draw = random.Random(f"{original.name} {change}")
    if change in CHANGES:
        subject = Subject(original.model, original.runs, draw)
        made = CHANGES[change](subject)
        if made is None:
            raise Unfit("")
        model, truth = made
        before, after = subject.operators, Operators(model)
        whole = [
            ([x for x in a if x in before.nodes], [y for y in b if y in after.nodes], [], [])
            for a, b in truth
        ]
        whole += [([x], [x], [], []) for x in sorted(before.inner & after.inner)]
        whole += [([], [], [x], [x]) for x in sorted(before.of_functions & after.of_functions)]
        beside = sorted(after.inner - before.inner)
        for a, b, _, aside in whole:
            aside += [y for y in beside if any(y.startswith(f"{x}/") for x in b)]
        if change in ("float16", "channel_last"):
            whole = beside_neighbours(whole, after)
        return model, [t for t in whole if any(t)]
    target = os.path.join(folder, "made.onnx")
    try:
        if not os.path.exists(target):
            peers.run(change, original.path, target, tool, python)
        model = onnx.load(target)
        numbers = executed(model, original_feeds(original))
    except Exception as e:  # noqa: BLE001 - an optimizer may fail in any way
        raise Unfit(f"{change}: {' '.join(str(e).split())[-200:]}") from e
    return model, peers.truth(original.model, model, original.runs, numbers)


def beside_neighbours(groups, after):
    """The groups where an inserted Cast or Transpose stands beside each operator that it touches, directly or
    through others of its kind: a tool may tell it with either."""
    inserted, near = {y for a, b, *_ in groups if not a for y in b}, collections.defaultdict(set)
    for name, n in after.nodes.items():
        if name not in after.inner:
            for x in reads(n):
                if maker := after.where.get(x):
                    near[name].add(maker)
                    near[maker].add(name)
    found = []
    for a, b, beside_a, beside_b in groups:
        if a:
            pending, seen = list(b), set()
            while pending:
                for y in near[pending.pop()] & inserted - seen:
                    seen.add(y)
                    pending.append(y)
            found.append([a, b, beside_a, [*beside_b, *sorted(seen)]])
    return found + [g for g in groups if not g[0]]


def original_feeds(original):
    return original.runs and original.feeds[0]


def difference(original, path, change):
    """The largest relative difference of an output; raises Unfit when the results are not the same. For
    `weights`
    types and shapes alone count, and for float16 the tolerance is OF_HALF."""
    try:
        session, worst = compare.session(path), 0.0
        for feeds, values in zip(original.feeds, original.runs):
            found = compare.results(session, feeds)
            for output in original.model.graph.output:
                a, b = values[output.name], found[output.name]
                if change == "weights":
                    if compare.layout(a)[0:1] != compare.layout(b)[0:1]:
                        raise Unfit(f"output {output.name} has another type")
                    continue
                far = compare.difference(a, b)
                worst = max(worst, far)
                is_float = getattr(a, "dtype", np.dtype(bool)).kind == "f"
                if far > (OF_HALF if change == "float16" and is_float else compare.tolerance(a)):
                    raise compare.Unlike(f"output {output.name} differs by {far:.3g}")
        return worst
    except compare.Unlike as e:
        why = str(e)
    except Unfit:
        raise
    except Exception as e:  # noqa: BLE001 - ONNX Runtime has many kinds
        raise Unfit(f"B does not run: {' '.join(str(e).split())[:200]}") from e
    if change == "float16":
        raise Unfit(f"in float16 {why}")
    found = compare.compare(original.path, path, original.record, ("default",))
    if found.problems:
        raise Unfit(found.verdict)
    return found.rel_diff


def make(original, change, folder, ends, tool, python):
    """Makes a pair in the folder and returns the text of truth.json."""
    os.makedirs(folder, exist_ok=True)
    model, truth = changed(original, change, tool, python, folder)
    draw = random.Random(f"{original.name} {change} names")
    hidden = Scrambler(model, draw)
    target = os.path.join(folder, "B.onnx")
    onnx.save(hidden.model, target)
    worst = difference(original, target, change)
    paths, renamed = hidden.paths, {}
    if ends:
        again = Scrambler(hidden.model, draw, ends=True)
        onnx.save(again.model, target)
        paths = {old: again.paths[new] for old, new in paths.items()}
        renamed = {x: again.names[x] for x in hidden.names if x and again.names.get(x)}
    source = os.path.join(folder, "A.onnx")
    with contextlib.suppress(FileNotFoundError):
        os.remove(source)
    os.symlink(os.path.abspath(original.path), source)

    def named(after):
        return [paths[y] for y in after if y in paths]

    groups = [[a, named(b), aside, named(beside)] for a, b, aside, beside in truth]
    return {"groups": groups, "difference": worst, "ends": renamed}


def pair(original, change, work, ends, tool, python):
    """(folder, content of truth.json) of a pair, made unless it is there. {"unfit": why} when there is
    none."""
    folder = pathlib.Path(work, "pairs", original.name, change + ("+ends" if ends else ""))
    record = folder / "truth.json"
    if record.exists():
        known = json.loads(record.read_text(encoding="utf-8"))
        if known["version"] == VERSION:
            return folder, known
    try:
        found = make(original, change, str(folder), ends, tool, python)
    except Unfit as e:
        shutil.rmtree(folder, ignore_errors=True)
        found = {"unfit": str(e)}
    folder.mkdir(parents=True, exist_ok=True)
    found["version"] = VERSION
    record.write_text(json.dumps(found) + "\n", encoding="utf-8")
    return folder, found
