#!/usr/bin/env python3
# LONG: --count 4000 --seed 900000
"""Random models with marked extents: what a verdict calls safe gives the same results padded, in ONNX
Runtime.

  bucket_graphs.py GRAPHOPT [--count N] [--seed S] [--jobs N] [--values PROGRAM] [--keep DIR]

Model number i of a run is made from seed S + i (_bucket_recipes.py). It counts where ONNX Runtime takes it at
all corners of its ranges and at some extents within: the marks promise that. Where the verdict is proved or
assumed, padded runs at drawn extents are compared with true ones (lib/padding.py), those left out in which a
value of the true run is NaN, or infinite without an infinite constant: the analysis assumes that there are
none.

Refused models are repaired (--bucket-require repair). What is safe then is compared with true runs, too.

PROGRAM (graphopt_padding_values beside the tool, if it is there) MODEL BUCKETS.json prints a line of JSON for
each value of the graph whose true elements it claims to be the true run's: {"value": name,
"layout": [texts], "regions": [{"axes": [0, 2], "low": number, text or "-inf", "high": ..., "nan": bool,
"inf": bool, "pinf": bool}]}, a region being the elements whose index is in the padding along just these axes,
"s#" in a bound what is padded onto s. All these values become outputs: their true elements are compared, and
what their regions hold with what is claimed. The pads are given in the file, drawn for each model; where a
line {"inputs": {...}} says that they may be weaker, garbage takes their place.
"""

import argparse
import collections
import contextlib
import itertools
import json
import multiprocessing as mp
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime as ort

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).resolve().parents[1])]
import _bucket_recipes  # noqa: E402
import _pool  # noqa: E402
from lib import layouts, padding, repairs, runs, verdicts  # noqa: E402
from lib.tool import executable  # noqa: E402

DRAWN = 5  # pairs of extents
PROBED = 4  # extents within the ranges at which a model has to run, beside the corners
# Ten operators in a row amplify what a sum in another order changes; a pad element that leaks in changes a
# result by far more than a thousandth of it.
FACTOR = 5
LEAST_COMPARED = 0.3  # of the models
LEAST_SAFE = 0.15  # of those that count
ENOUGH = 50  # models for these shares to mean something


class Subject:
    def __init__(self, seed):
        self.seed = seed
        self.recipe = _bucket_recipes.Recipe(random.Random(seed))
        self.model = self.recipe.model
        self.rng = np.random.default_rng(seed)

    def data(self, extents):
        r = self.recipe
        everything = padding.related({**r.free, **extents}, r.relations)
        return padding.feeds_of(self.model, everything, self.rng, r.values)

    def runs_everywhere(self):
        """Whether the runtime takes the model at the corners of its ranges and within."""
        try:
            session = runs.session(self.model)
        except Exception:  # noqa: BLE001 - ONNX Runtime has many kinds
            return False
        r = self.recipe.ranges
        corners = [dict(zip(r, c)) for c in itertools.product(*r.values())]
        drawn = [{s: int(self.rng.integers(a, b + 1)) for s, (a, b) in r.items()} for _ in range(PROBED)]
        for extents in corners + drawn:
            try:
                session.run(None, self.data(extents))
            except Exception:  # noqa: BLE001
                return False
        return True

    def check(self, model, verdict, finite, make=None):
        trials = padding.bindings(verdict, self.rng, DRAWN, self.recipe.free)
        options = {"factor": FACTOR, "excuse": True, "relations": self.recipe.relations, "make": make}
        return padding.check(model, verdict, trials, self.data, self.rng, finite, **options)

    def text(self):
        return onnx.printer.to_text(self.model)


class Claims:
    """What PROGRAM says of the values inside, as a verdict on a model that has them for outputs."""

    def __init__(self, subject, program, folder):
        self.subject = subject
        rng, r = random.Random(subject.seed + 1), subject.recipe
        self.pads = {}
        for v in subject.model.graph.input:
            if r.is_padded(v):
                floating = v.type.tensor_type.elem_type == onnx.TensorProto.FLOAT
                low = r.values.get(v.name, (0, 1))[0]
                self.pads[v.name] = rng.choice([0, 0, 1, "-inf"] if floating else [low, low, max(low, 1)])
        model, marks = f"{folder}/values.onnx", f"{folder}/values.json"
        pathlib.Path(model).write_bytes(subject.model.SerializeToString())
        pathlib.Path(marks).write_text(json.dumps(r.marks(self.pads)), encoding="utf-8")
        done = subprocess.run(
            [program, model, marks], capture_output=True, text=True, timeout=verdicts.SECONDS
        )
        if done.returncode:
            raise verdicts.ToolFailed(f"exit status {done.returncode}: {done.stderr.strip()[-300:]}")
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.strip()]
        self.claims = {c["value"]: c for c in lines if "value" in c}
        self.given = next((c["inputs"] for c in lines if "inputs" in c), None)
        self.assumptions = next((c["assumptions"] for c in lines if "assumptions" in c), None)
        if self.assumptions is None:  # a mask may be assumed to dominate in any of them
            nodes = [n.name for n in subject.model.graph.node if n.op_type in ("Softmax", "LogSoftmax")]
            self.assumptions = [{"node": n, "kind": "mask-dominates"} for n in nodes]
        inputs = {v.name for v in subject.model.graph.input}
        self.claims = {name: c for name, c in self.claims.items() if name not in inputs}

    def verdict(self, base):
        """The claims as a verdict; `base`: one on the same marks, for lists, ranges and constraints."""
        inputs = self.given
        if inputs is None:
            inputs = {
                v.name: {"dims": self.dims(v, base), "pad": self.pads[v.name], "pad_class": "const"}
                for v in self.subject.model.graph.input
                if v.name in self.pads
            }
        outputs = {name: {"dims": [], "cut": []} for name in self.claims}
        kept = {
            k: base.data[k] for k in ("symbols", "fixed", "ranges", "constraints", "where") if k in base.data
        }
        kept |= {"assumptions": self.assumptions, "verdict": "assumed" if self.assumptions else "proved"}
        made = verdicts.Verdict({**kept, "inputs": inputs, "outputs": outputs})
        for name, claim in self.claims.items():
            cut = [layouts.layout(t) for t in claim["layout"]]
            made.outputs[name] = verdicts.Output(cut, cut)
        return made

    def dims(self, v, base):
        """The dims of an input as a verdict gives them: sums of padded extents in segments."""
        texts = []
        for d in v.type.tensor_type.shape.dim:
            text = self.subject.recipe.relations.get(d.dim_param, d.dim_param) or str(d.dim_value)
            parts = [p.strip() for p in text.split("+")]
            padded = sum(bool(layouts.dim(p).names() & base.padded) for p in parts)
            texts.append(" ++ ".join(parts) if padded > 1 else text)
        return texts


class ValueCheck(padding.Check):
    """Also compares what the regions of each result hold."""

    def __init__(self, *arguments, claims, **options):
        super().__init__(*arguments, **options)
        self.claims, self.regions = claims, 0

    def unlike(self, output, a, b, true, padded, known):
        name = next(n for n, o in self.verdict.outputs.items() if o is output)
        try:
            at = padding.cut_of(output, a.shape, b.shape, true, padded, known)
            t, p = {**true, **known}, {**padded, **known}
            if b.dtype.kind in "fiub":
                self.regions += len(self.claims[name]["regions"])
                if why := next(padding.region_problems(self.claims[name], b, at, t, p), None):
                    return why, False
        except (KeyError, ValueError, ZeroDivisionError) as e:
            return f"{e!r}", False
        return super().unlike(output, a, b, true, padded, known)


def check_values(subject, base, program, folder, finite, counts):
    """Problems of the values inside."""
    claims = Claims(subject, program, folder)
    if not claims.claims:
        return []
    verdict = claims.verdict(base)
    model = padding.with_outputs(subject.model, set(claims.claims))
    found = padding.Found()
    check = ValueCheck(
        model,
        verdict,
        claims=claims.claims,
        factor=FACTOR,
        excuse=True,
        relations=subject.recipe.relations,
    )
    for true, padded in padding.bindings(verdict, subject.rng, 3, subject.recipe.free):
        feeds = subject.data(true)
        if finite(feeds):
            found.add(check.one(feeds, true, padded, subject.rng))
    counts["values"] += len(claims.claims)
    counts["comparisons of values"] += found.compared
    counts["regions"] += check.regions
    counts["excused"] += found.excused
    return [
        f"value {p} (pads {claims.pads if claims.given is None else claims.given})" for p in found.problems
    ]


def check_repaired(tool, subject, folder, finite, counts):
    """Problems of what repairs make of a refused model."""
    verdict = verdicts.ask(tool, subject.model, subject.recipe.marks(), folder, repair=True)
    if not verdict.safe:
        counts["partly repaired"] += bool(verdict.repairs)
        return []
    make = repairs.checker(repairs.make(tool, folder))
    found = subject.check(subject.model, verdict, finite, make)
    counts["repaired"] += 1
    counts["comparisons"] += found.compared
    counts["excused"] += found.excused
    return [f"repaired by {[r['kind'] for r in verdict.repairs]}: {p}" for p in found.problems]


def examine(tool, program, seed, folder, keep):
    """(counts, report)"""
    subject, counts = Subject(seed), collections.Counter()
    if not subject.runs_everywhere():
        return collections.Counter({"refused by the runtime": 1}), None
    problems, finite = [], padding.Finite(subject.model)
    counts["models"] += 1
    try:
        verdict = verdicts.ask(tool, subject.model, subject.recipe.marks(), folder)
        counts[verdict.name] += 1
        if verdict.safe:
            found = subject.check(subject.model, verdict, finite)
            counts["comparisons"] += found.compared
            counts["excused"] += found.excused
            counts["unmet"] += found.unmet
            counts["compared"] += bool(found.compared)
            problems += found.problems
        else:
            problems += check_repaired(tool, subject, folder, finite, counts)
        if program:
            problems += check_values(subject, verdict, program, folder, finite, counts)
    except (verdicts.ToolFailed, layouts.Unreadable, ValueError, KeyError) as e:
        problems.append(f"{type(e).__name__}: {e}")
    if not problems:
        return counts, None
    counts["bad"] += 1
    text = "\n  ".join([f"seed {seed}: {len(problems)} problems", *problems[:3]])
    if keep:
        path = pathlib.Path(keep, f"seed{seed}.onnx")
        path.write_bytes(subject.model.SerializeToString())
        path.with_suffix(".json").write_text(json.dumps(subject.recipe.marks()), encoding="utf-8")
        text += f"\n  written to {path}"
    return counts, text + "\n" + subject.text()


@contextlib.contextmanager
def checking(tool, program, keep):
    ort.set_default_logger_severity(4)
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        yield lambda seed: examine(tool, program, seed, folder, keep)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("--count", type=int, default=120, metavar="N")
    p.add_argument("--seed", type=int, default=1, metavar="S")
    p.add_argument("--jobs", type=int, default=2, metavar="N")
    p.add_argument("--values", type=executable, metavar="PROGRAM")
    p.add_argument("--keep", metavar="DIR", help="folder for models that fail")
    a = p.parse_args()
    beside = pathlib.Path(a.tool).parent / "tests" / "graphopt_padding_values"
    if a.values is None and beside.exists():
        a.values = str(beside)
    if a.keep:
        pathlib.Path(a.keep).mkdir(parents=True, exist_ok=True)
    begin, counts = time.monotonic(), collections.Counter()
    seeds = range(a.seed, a.seed + a.count)
    for seed, answer in _pool.answers(checking, (a.tool, a.values, a.keep), seeds, min(a.jobs, a.count)):
        if isinstance(answer, _pool.Crash):
            counts["bad"] += 1
            print(f"seed {seed}: {answer.text}", flush=True)
            continue
        counts.update(answer[0])
        if answer[1]:
            print(answer[1], flush=True)
    safe = counts["proved"] + counts["assumed"]
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    print(
        f"{a.count} models from seed {a.seed}: {counts['models']} count, {safe} safe, "
        f"{counts['refused']} refused, {counts['comparisons']} comparisons, {counts['bad']} bad, "
        f"{time.monotonic() - begin:.0f} s"
    )
    few = counts["models"] < LEAST_COMPARED * a.count or counts["compared"] < LEAST_SAFE * counts["models"]
    few = few and a.count >= ENOUGH
    if few and not counts["bad"]:
        print("too few models were compared")
    much = counts["excused"] > 0.05 * (counts["comparisons"] + counts["comparisons of values"])
    if much:
        print("too many results were excused by noise")
    return 1 if counts["bad"] or few or much else 0


if __name__ == "__main__":
    mp.set_start_method("fork")
    sys.exit(main())
