#!/usr/bin/env python3
# LONG: --all
"""Real models padded: the verdict for each of their symbols and for all together, and where it is safe,
padded runs against true ones in ONNX Runtime.

  bucket_models.py GRAPHOPT [FOLDER] [--all] [--only NAME ...] [--max-bytes N] [--floor N] [--jobs N]

FOLDER has filled models of tests/models (the file's name says which); without it they are filled into a
temporary folder. The short form takes models of at most SHORT_BYTES, --all takes every one; --max-bytes sets
another bound. Each symbol of a model's record that names a dim in the file is marked alone, the others
staying free, and then all are marked together. The range begins at the least extent of the record and is
WIDTH steps wide, of the record's multiple where it has one: the range promises more extents than the model
takes then, and just the multiples are run.

A refused configuration is asked about again with --bucket-require repair; what is safe then is "repaired",
and its repaired model runs padded against true runs of the model.

Data are those of the record (lib/inputs.py). Where a mask is assumed to dominate, runs count whose true
scores have an unmasked element in each row; if the record's masks leave rows without, they become all ones.
The table has the model, the marked symbols, the verdict, the comparisons, and for a refusal its first reason.
Fewer safe configurations than --floor are an error, and so is a safe one in which nothing was compared.
"""

import argparse
import contextlib
import copy
import multiprocessing as mp
import pathlib
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "property")]
import _pool  # noqa: E402
from lib import inputs, layouts, models, padding, repairs, verdicts  # noqa: E402
from lib.tool import executable  # noqa: E402

SHORT_BYTES = 3e6
WIDTH = 5  # steps of a range
LIMIT = 900  # seconds for one configuration
PAIRS = 4  # of extents that are drawn
# How much wider the tolerances are where values of 16 bits round within. ONNX Runtime's levels of
# optimization differ by 9.6e-4 of the largest element of fp16_bert.
HALF = 20


def configurations(record):
    """The sets of symbols to mark."""
    symbols = list(record["symbols"])
    return [[s] for s in symbols] + ([symbols] if len(symbols) > 1 else [])


def tasks_of(paths):
    """(name, path, symbols) of each configuration whose symbols the file names. `paths`: {name: path}."""
    records = models.records()
    return [
        (name, path, symbols)
        for name, path in paths.items()
        for symbols in configurations(records[name])
        if set(symbols) <= marked_names(path)
    ]


def range_of(symbol):
    """(low, high, step) of a symbol of a record."""
    step = symbol.get("multiple", 1)
    low = -(-symbol["min"] // step) * step
    return low, max(low, min(symbol["max"] // step * step, low + WIDTH * step)), step


def value_range(item, extents):
    """The range of true elements of an integer input, from its generator."""
    g = item.get("gen", {})
    if g.get("kind") == "mask":
        return 0, 1
    if g.get("kind") == "int":
        low, high = (int(inputs.number(g.get(k, d), extents)) for k, d in (("low", 0), ("high", 2)))
        return low, max(low, high - 1)
    return None


def relations_of(model, record):
    """{name: expression} of dims to which the model gives a name and the record an expression."""
    stated, found = {i["name"]: i["dims"] for i in record["inputs"]}, {}
    for v in padding.inputs_of(model):
        for d, text in zip(v.type.tensor_type.shape.dim, stated[v.name]):
            if d.dim_param and isinstance(text, str) and layouts.dim(d.dim_param) != layouts.dim(text):
                found[d.dim_param] = text
    return found


def marked_names(path):
    """The symbols that a model's inputs name, also within expressions."""
    model = onnx.load(path, load_external_data=False)
    return {n for v in padding.inputs_of(model) for d in padding.dims_of(v) for n in d.names()}


def has_half(model):
    """Whether a value of 16 bits may round within, whatever the type of the outputs."""
    half = (onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)
    casts = (a.i for n in model.graph.node if n.op_type == "Cast" for a in n.attribute if a.name == "to")
    return any(t.data_type in half for t in model.graph.initializer) or any(c in half for c in casts)


class Subject:
    def __init__(self, name, path, symbols):
        self.name, self.path, self.symbols = name, path, symbols
        self.record = models.records()[name]
        ranges = {s: range_of(r) for s, r in self.record["symbols"].items()}
        self.ranges = {s: ranges[s] for s in symbols}
        self.free = {s: low for s, (low, _, _) in ranges.items() if s not in symbols}
        self.model = onnx.load(path)
        self.relations = relations_of(self.model, self.record)
        self.seed, self.full_masks = 0, False

    def marks(self):
        groups, values = [], {}
        for s, (low, high, step) in self.ranges.items():
            groups.append(verdicts.group(s, f"{low}..{high}:step={step}"))
        # Indices may be bounded by an extent: the least one holds for all.
        least = {**self.free, **{s: low for s, (low, _, _) in self.ranges.items()}}
        for item in self.record["inputs"]:
            if (found := value_range(item, least)) is not None:
                values[item["name"]] = found
        return verdicts.marks(groups, values, **({"dims": self.relations} if self.relations else {}))

    def legal(self, extents):
        return all((extents[s] - low) % step == 0 for s, (low, _, step) in self.ranges.items())

    def data(self, extents):
        self.seed += 1
        record = self.record
        if self.full_masks:
            record = copy.deepcopy(record)
            for item in record["inputs"]:
                if item.get("gen", {}).get("kind") == "mask":
                    item["gen"] = {"kind": "int", "low": 1, "high": 2}
        least = {**extents, **{s: low for s, (low, _, _) in self.ranges.items()}}
        feeds = inputs.make(record, extents, self.seed)
        for item in record["inputs"]:
            if item.get("gen", {}).get("kind") == "int" and not self.full_masks:
                high = value_range(item, least)[1]
                feeds[item["name"]] = np.minimum(feeds[item["name"]], high)
        return feeds


def examine(tool, subject, folder):
    """(verdict, comparisons, problems, notes)"""
    verdict = verdicts.ask(tool, subject.path, subject.marks(), folder)
    rng, notes, make = np.random.default_rng(5), [], None
    if not verdict.safe:
        repaired = verdicts.ask(tool, subject.path, subject.marks(), folder, repair=True)
        if not repaired.safe:
            r = repaired.refused
            if repaired.repairs:
                notes.append(f"after {len(repaired.repairs)} repairs, {r.get('node')}: {r.get('reason')}")
            notes.append(f"not repaired: {r.get('unrepaired')}")
            return verdict, 0, [], notes
        verdict = repaired
        verdict.name = "repaired"
        make = repairs.checker(repairs.make(tool, folder, path=subject.path))
        notes.append(f"{len(verdict.repairs)} repairs, inputs {', '.join(verdict.extra_inputs)}")
    factor = HALF if has_half(subject.model) else 1

    def check():
        trials = padding.bindings(verdict, rng, PAIRS, subject.free, subject.legal)
        options = {"excuse": True, "relations": subject.relations, "factor": factor, "make": make}
        return padding.check(subject.model, verdict, trials, subject.data, rng, **options)

    found = check()
    if found.unmet and any(i.get("gen", {}).get("kind") == "mask" for i in subject.record["inputs"]):
        subject.full_masks = True
        found.add(check())
    if found.unmet:
        notes.append(f"{found.unmet} runs do not meet the assumptions")
    if found.excused:
        notes.append(f"{found.excused} results are as far apart as noise makes them")
    problems = found.problems
    if found.compared <= found.excused and not problems:
        problems = ["nothing was compared"]
    return verdict, found.compared, problems, notes


@contextlib.contextmanager
def answering(tool, tasks):
    onnxruntime.set_default_logger_severity(4)
    with tempfile.TemporaryDirectory() as folder:

        def answer(k):
            name, path, symbols = tasks[k]
            try:
                verdict, count, problems, notes = examine(tool, Subject(name, path, symbols), folder)
            except (verdicts.ToolFailed, layouts.Unreadable, ValueError, KeyError) as e:
                return "failed", 0, [f"{type(e).__name__}: {e}"], [], ""
            r = verdict.refused
            why = f"{r.get('operator')} {r.get('node')}: {r.get('reason')}" if r else ""
            return verdict.name, count, problems, notes, why

        yield answer


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("folder", nargs="?", metavar="FOLDER")
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    p.add_argument("--max-bytes", type=float, metavar="N")
    p.add_argument(
        "--floor", type=int, default=0, metavar="N", help="the least number of safe configurations"
    )
    p.add_argument("--jobs", type=int, default=2, metavar="N")
    a = p.parse_args()
    bound = a.max_bytes or (float("inf") if a.all else SHORT_BYTES)
    with models.work_folder(a.folder) as work:
        records = models.records()
        names = models.chosen(a.only, lambda r: r["filled_bytes"] <= bound and r["symbols"])
        names.sort(key=lambda n: records[n]["filled_bytes"])
        tasks = tasks_of(models.filled(names, work))
        counts, bad, compared = {}, 0, 0
        for k, found in _pool.answers(answering, (a.tool, tasks), range(len(tasks)), a.jobs, LIMIT):
            if isinstance(found, _pool.Crash):
                found = "failed", 0, [found.text], [], ""
            verdict, count, problems, notes, why = found
            counts[verdict] = counts.get(verdict, 0) + 1
            bad += bool(problems)
            compared += count
            line = f"{tasks[k][0]:24} {','.join(tasks[k][2]):22} {verdict:8} {count:4}  {why[:150]}".rstrip()
            print("\n    ".join([line, *(f"note: {n}" for n in notes), *problems[:3]]), flush=True)
    safe = counts.get("proved", 0) + counts.get("assumed", 0)  # without repairs
    told = ", ".join(f"{n} {v}" for v, n in sorted(counts.items()))
    print(f"{len(tasks)} configurations: {safe} safe ({told}), {compared} comparisons, {bad} bad")
    if safe < a.floor:
        print(f"at least {a.floor} must be safe")
    return 1 if bad or safe < a.floor or not tasks else 0


if __name__ == "__main__":
    mp.set_start_method("fork")
    sys.exit(main())
