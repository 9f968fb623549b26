#!/usr/bin/env python3
"""Models that `--bucket-require repair` makes safe: padded runs of the repaired model against true runs of
the original, in ONNX Runtime.

  bucket_repairs.py GRAPHOPT [--only NAME ...]

The cases are the refused vectors of tests/vectors/buckets and the models of _repair_models.py. Of a vector
the same steps are required at the same nodes, the same inputs, and pads that ask for no more than the
recorded ones; BETTER names those that the reference implementation cannot repair. Of a model its kinds of
repair, or that it stays refused, and why. Then the repaired model runs padded at DRAWN extents with each fill
that its pads allow, and at the true extents, where it has to give the original's bits unless it says that it
rounds.
"""

import argparse
import json
import pathlib
import sys
import tempfile

import numpy as np
import onnx.checker
import onnx.parser

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).resolve().parents[1])]
import _repair_models  # noqa: E402
from lib import layouts, padding, repairs, vectors, verdicts  # noqa: E402
from lib.tool import executable  # noqa: E402

DRAWN = 12
FREE = 2  # extent of a symbol that is not bucketed
KINDS = {"mask": "mask", "maskop": "mask-product", "mean": "true-mean", "last-index": "last-index"}
BETTER = {"gru_final": ["lengths"]}
WEAKER = ("any", "finite")


def recorded_kinds(case):
    """(kinds, nodes) of the recorded steps: "mean at ReduceMean 'y'"."""
    steps = case["expect"]["repair"]["steps"]
    return [KINDS[s.split(" at ")[0]] for s in steps], [s.split("'")[1] for s in steps]


def unlike_recorded(case, verdict):
    recorded = case["expect"]["repair"]
    if case["id"] in BETTER:
        if [r["kind"] for r in verdict.repairs] != BETTER[case["id"]] or not verdict.safe:
            yield f"{verdict.name} with {verdict.repairs}"
        return
    if verdict.safe != recorded["possible"]:
        yield f"{verdict.name} after repairs: {verdict.refused}"
        return
    kinds, nodes = recorded_kinds(case)
    if [r["kind"] for r in verdict.repairs] != kinds or [r["node"] for r in verdict.repairs] != nodes:
        yield f"repairs {verdict.repairs}, recorded are {recorded['steps']}"
    if not verdict.safe:
        return
    if set(verdict.extra_inputs) != set(recorded["extra_inputs"]):
        yield f"inputs {sorted(verdict.extra_inputs)}, recorded are {recorded['extra_inputs']}"
    for name, pad in verdict.pads.items():
        wanted, rank = recorded["pad"].get(name), WEAKER.index(pad.kind) if pad.kind in WEAKER else 2
        if rank > (WEAKER.index(wanted) if wanted in WEAKER else 2):
            yield f"{name} must be padded by {pad.kind} {pad.value}, recorded is {wanted}"


def compared(tool, model, verdict, ranges, values, folder):
    """(comparisons, problems) of the repaired model."""
    repaired = repairs.make(tool, folder)
    onnx.checker.check_model(repaired)
    names = {n for v in padding.inputs_of(model) for d in padding.dims_of(v) for n in d.names()}
    free = dict.fromkeys(sorted(names - set(ranges)), FREE)
    rng = np.random.default_rng(3)

    def data(extents):
        return padding.feeds_of(model, {**free, **extents}, rng, values)

    trials = padding.bindings(verdict, rng, DRAWN, free)
    found = padding.check(model, verdict, trials, data, rng, make=repairs.checker(repaired))
    problems = found.problems[:3]
    return found.compared, problems if found.compared or problems else ["nothing was compared"]


def of_vector(tool, case, folder):
    source = (vectors.FOLDER / "buckets" / case["file"]).read_text(encoding="utf-8")
    model = onnx.parser.parse_model(source)
    groups = [verdicts.group(symbol, spec) for symbol, spec in case["buckets"].items()]
    verdict = verdicts.ask(tool, model, verdicts.marks(groups, case["values"]), folder, repair=True)
    problems = list(unlike_recorded(case, verdict))
    if problems or not verdict.safe:
        return verdict, 0, problems
    return verdict, *compared(tool, model, verdict, case["ranges"], case["values"], folder)


def of_model(tool, case, folder):
    model = onnx.parser.parse_model(case.text)
    groups = [verdicts.group(s.split(","), spec) for s, spec in case.buckets.items()]
    verdict = verdicts.ask(tool, model, verdicts.marks(groups, case.values), folder, repair=True)
    if case.refused:
        why = verdict.refused.get("unrepaired", "")
        said = not verdict.safe and case.refused in why
        return verdict, 0, [] if said else [f"{verdict.name}: {why}; expected is '{case.refused}'"]
    kinds = [r["kind"] for r in verdict.repairs]
    if not verdict.safe or kinds != case.kinds:
        return verdict, 0, [f"{verdict.name} with {kinds}, expected are {case.kinds}: {verdict.refused}"]
    return verdict, *compared(tool, model, verdict, verdict.ranges, case.values, folder)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    a = p.parse_args()
    recorded = json.loads((vectors.FOLDER / "buckets/cases.json").read_text(encoding="utf-8"))
    cases = [(c["id"], of_vector, c) for c in recorded if not c["expect"]["bucketable"]]
    cases += [(c.name, of_model, c) for c in _repair_models.CASES]
    chosen = [c for c in cases if not a.only or c[0] in a.only]
    bad = repaired = total = 0
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        for name, examine, case in chosen:
            try:
                verdict, count, problems = examine(a.tool, case, folder)
            except (verdicts.ToolFailed, layouts.Unreadable) as e:
                verdict, count, problems = None, 0, [str(e)]
            bad += bool(problems)
            repaired += bool(verdict and verdict.safe and verdict.repairs)
            total += count
            line = f"{name:28} {verdict.name if verdict else 'failed':8} {count:5} comparisons"
            print("\n  ".join([line, *problems]), flush=True)
    print(f"{len(chosen)} cases, {repaired} repaired, {total} comparisons, {bad} bad")
    return 1 if bad or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
