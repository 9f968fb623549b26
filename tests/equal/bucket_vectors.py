#!/usr/bin/env python3
"""The vectors of bucketability: verdicts, formulas and buckets as recorded, and runs in ONNX Runtime that
show that they hold.

  bucket_vectors.py GRAPHOPT [--only NAME ...]

tests/vectors/README.md says what a case of tests/vectors/buckets records. Required are the same verdict, the
same node in a refusal, the same formulas, cuts, constraints and bucket lists, and pads that ask for no more
than the recorded ones; what asks for less is printed, and so is a formula that is equal but written in
another way. Then each model runs padded against its true run at DRAWN extents of its range, with each fill
that its pads allow (lib/padding.py); a refused model must show a difference with zeros or garbage, unless it
is one of UNCONFIRMED.
"""

import argparse
import itertools
import json
import pathlib
import sys
import tempfile

import numpy as np
import onnx.parser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import layouts, padding, vectors, verdicts  # noqa: E402
from lib.tool import executable  # noqa: E402

DRAWN = 12
CASES = 38
# The model accepts no two different extents, so no run can show what padding would change.
UNCONFIRMED = {"two_symbols"}
FREE = 2  # extent of a symbol that is not bucketed
WEAKER = ("any", "finite")


def marks_of(case):
    groups = [verdicts.group(symbol, spec) for symbol, spec in case["buckets"].items()]
    return verdicts.marks(groups, case["values"])


def pad_of(pad):
    """A pad as cases.json writes it."""
    return pad.kind if pad.kind != "const" else "-inf" if pad.value == -np.inf else pad.value


def cut_text(text):
    """A recorded layout in the notation of a verdict."""
    return layouts.layout(text.replace("<", "").replace(">", ""))


def same_everywhere(a, b, ranges):
    """Whether two extents are equal at all values of the symbols; those of no range are one symbol each."""
    names = sorted(a.names() | b.names())
    values = [range(*(np.array(ranges.get(n, (0, 5))) + (0, 1))) for n in names]
    return all(a.value(e) == b.value(e) for e in (dict(zip(names, v)) for v in itertools.product(*values)))


def compare_outputs(case, verdict, notes):
    recorded = case["expect"]["outputs"]
    if set(recorded) != set(verdict.outputs):
        yield f"outputs {sorted(verdict.outputs)}"
        return
    for name, wanted in recorded.items():
        found, texts = verdict.outputs[name], verdict.data["outputs"][name]
        dims = [layouts.extent(d) for d in wanted["dims"]]
        if len(dims) != len(found.dims):
            yield f"{name}: {len(found.dims)} dims"
            continue
        for a, b, text in zip(dims, found.dims, texts["dims"]):
            if not same_everywhere(a, b, verdict.ranges):
                yield f"{name}: extent {text}, recorded are {wanted['dims']}"
        if texts["dims"] != wanted["dims"]:
            notes.append(f"{name}: {texts['dims']} for {wanted['dims']}")
        cut = dims if wanted["cut"] == "prefix" else [cut_text(t) for t in wanted["cut"]]
        if cut != found.cut and texts["cut"] != wanted["cut"]:
            yield f"{name}: cut {texts['cut']}, recorded is {wanted['cut']}"


def compare_safe(case, verdict, notes):
    wanted = case["expect"]
    if set(wanted["pad"]) != set(verdict.pads):
        yield f"pads of {sorted(verdict.pads)}, recorded are {sorted(wanted['pad'])}"
    for name in sorted(set(wanted["pad"]) & set(verdict.pads)):
        a, b = wanted["pad"][name], pad_of(verdict.pads[name])
        if a == b:
            continue
        ranks = [WEAKER.index(p) if p in WEAKER else len(WEAKER) for p in (a, b)]
        if ranks[1] < ranks[0]:
            notes.append(f"{name} may be padded by {b}, recorded is {a}")
        else:
            yield f"{name} must be padded by {b}, recorded is {a}"
    yield from compare_outputs(case, verdict, notes)
    if set(verdict.constraints) != set(wanted.get("bucket_constraints", [])):
        yield f"constraints {verdict.constraints}"
    assumed = {a["node"] for a in verdict.assumptions}
    recorded = {text.split("'")[1] for text in wanted.get("assumptions", [])}
    if assumed - recorded:
        yield f"assumptions on {sorted(assumed)}, recorded are {sorted(recorded)}"
    elif assumed != recorded:
        notes.append(f"needs no assumption on {sorted(recorded - assumed)}")


def examine(tool, case, folder):
    """(verdict, notes, problems, comparisons, whether a refusal was confirmed)"""
    source = (vectors.FOLDER / "buckets" / case["file"]).read_text(encoding="utf-8")
    model, notes, problems = onnx.parser.parse_model(source), [], []
    verdict = verdicts.ask(tool, model, marks_of(case), folder)
    if verdict.lists != case["bucket_lists"]:
        problems.append(f"buckets {verdict.lists}, recorded are {case['bucket_lists']}")
    ranges = {s: tuple(r) for s, r in case["ranges"].items()}
    named = {n for v in padding.inputs_of(model) for d in padding.dims_of(v) for n in d.names()}
    free = dict.fromkeys(sorted(named - set(ranges)), FREE)
    rng, values = np.random.default_rng(3), case["values"]

    def data(extents):
        return padding.feeds_of(model, {**free, **extents}, rng, values)

    recorded_safe = case["expect"]["bucketable"]
    if verdict.safe != recorded_safe:
        why = verdict.refused.get("reason", "")
        problems.append(f"{verdict.name}, recorded is {'safe' if recorded_safe else 'refused'}: {why}")
    elif verdict.safe:
        problems.extend(compare_safe(case, verdict, notes))
    elif verdict.refused.get("node") != case["expect"]["node"]:
        problems.append(f"refused at {verdict.refused.get('node')}, recorded is {case['expect']['node']}")
    if not verdict.safe:
        how = padding.counterexample(model, ranges, data, rng)
        if not how and case["id"] not in UNCONFIRMED:
            problems.append("refused, but zeros and garbage change nothing")
        return verdict, notes, problems, 0, bool(how)
    found = padding.check(model, verdict, padding.bindings(verdict, rng, DRAWN, free), data, rng)
    if not found.compared:
        problems.append("nothing was compared")
    return verdict, notes, problems + found.problems[:3], found.compared, False


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    a = p.parse_args()
    cases = json.loads((vectors.FOLDER / "buckets/cases.json").read_text(encoding="utf-8"))
    chosen = [c for c in cases if not a.only or c["id"] in a.only]
    bad = safe = compared = confirmed = 0
    with tempfile.TemporaryDirectory() as folder:
        for case in chosen:
            try:
                verdict, notes, problems, count, seen = examine(a.tool, case, folder)
            except (verdicts.ToolFailed, layouts.Unreadable) as e:
                verdict, notes, problems, count, seen = None, [], [str(e)], 0, False
            bad += bool(problems)
            safe += bool(verdict and verdict.safe)
            compared += count
            confirmed += seen
            line = f"{case['id']:20} {verdict.name if verdict else 'failed':8} {count:5} comparisons"
            print("\n  ".join([line, *(f"note: {n}" for n in notes), *problems]), flush=True)
    print(
        f"{len(chosen)} cases, {safe} safe, {len(chosen) - safe} refused, {confirmed} of these confirmed, "
        f"{compared} comparisons, {bad} bad"
    )
    if not a.only and len(cases) != CASES:
        print(f"expected {CASES} cases")
        return 1
    return 1 if bad or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
