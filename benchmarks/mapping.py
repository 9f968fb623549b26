#!/usr/bin/env python3
"""How well `graphopt map` finds which operator became which, on pairs of graphs whose truth is known.

  mapping.py GRAPHOPT [--models NAME,...] [--changes NAME,...] [--python PYTHON] [--work DIR] [--json FILE]
             [--no-weights] [--literal] [--rename-ends] [--unlike] [--update]

From each model of tests/models (A) each change makes another graph of it (B). Changes of our own record
which operator became which: rename, insert (Identity, Cast, Reshape that do nothing), decompose (into
primitives), fuse_bn, split_bn, weights (another checkpoint), respell, nested (Concat of Concat), float16,
channel_last, merged_products, scanned (LSTM as Scan). For those of others (opset: the version converter of
onnx; onnxsim, onnxslim, onnxoptimizer, onnxscript, ort_basic, ort_extended; graphopt_o2, graphopt_o3) the
names that survive and the numbers tell: a value that both graphs have under one name, or that alone has its
numbers on either side, is the same if both graphs, run with every value as an output and ONNX Runtime's
optimizations off, compute the same for it; what makes it from other such values corresponds (at most 16
operators a side). Then every value, node and constant of B gets a fresh name, its nodes another order, and
value_info is dropped. A pair counts if B computes what A does (not for weights; float16 with a wider
tolerance); the others are listed with the reason. Two exports of one model with equal weights are not among
the models.

Printed per change and in all:

  pairs        of operators whose B operator has a truth
  precision    the share of these that is right: some group of the truth has both
  due          of the groups with operators of one family on both sides, those that a right pair touches
  covered      of all groups with two sides, those that a right pair touches, or a group of the tool
  group P, R   all pairs, those within the tool's groups among them, against the truth's, copies of one
  computation
               counted once. In groups with several operators on both sides each operator with a partner
               counts
  >= 0.9       the share of right ones among the pairs of this confidence
  ECE          expected calibration error, ten bins of equal width

All are micro averages over operators, those of groups means over graphs. Copies of one computation are
interchangeable. Operators that move elements or compute sizes beside computing ones of a group are neither
asked for nor wrong.

--no-weights and --literal measure the tool with these options, too (literal up to 3,000 operators a side).
--rename-ends gives graph inputs and outputs of B fresh names, too. --unlike runs all ordered pairs of
different models: the tool should call each "not one model". The other optimizers run in PYTHON (default:
this one), which has benchmarks/peers-requirements.txt installed. Pairs are kept in --work; another run costs
the tool's time alone. --json writes the figures and all judged pairs (for mapping_calibration.py); --update
writes the tables to benchmarks/mapping.json. Exit status 1 when the tool fails, names an operator that is
none, or gives a wrong verdict.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import time

import onnx

import _mapping_pairs as pairs
import _mapping_score as score
from _mapping_graph import Operators
from _pairs import models

HERE = pathlib.Path(__file__).resolve().parent
LARGEST = 60 << 20  # bytes of a model; larger ones take long to run so often
LITERAL = 3000  # operators a side
LIMIT = 120  # seconds for the tool
HEAD = ("pairs", "precision", "due", "covered", "group P", "group R", ">= 0.9", "ECE", "wrong", "twice")
KEYS = (
    *("pairs", "precision", "due_recall", "covered", "group_precision", "group_recall", "sure_right"),
    *("calibration_error", "wrong", "twice"),
)


def mapped(tool, a, b, options=()):
    """(the tool's JSON, seconds); raises RuntimeError when there is none."""
    begin = time.perf_counter()
    command = [tool, "map", str(a), str(b), "--json", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    seconds = time.perf_counter() - begin
    if done.returncode not in (0, 3):
        raise RuntimeError(f"exit status {done.returncode}: {' '.join(done.stderr.split())[-200:]}")
    return json.loads(done.stdout), seconds


def ways(a):
    """{how the tool is run: its options}"""
    found = {"sparse": []}
    if a.no_weights:
        found["no weights"] = ["--no-weights"]
    if a.literal:
        found["literal"] = ["--method", "literal"]
    return found


def measure(a, folder, groups, way, options, sides):
    """The row of a pair of graphs, run in one way."""
    row = {"way": way, "a": len(sides[0].nodes), "b": len(sides[1].nodes)}
    try:
        found, row["seconds"] = mapped(a.tool, folder / "A.onnx", folder / "B.onnx", options)
    except Exception as e:  # noqa: BLE001 - whatever the tool does is a result
        return {**row, "problem": f"{type(e).__name__}: {e}"[:300]}
    truth = score.Truth(*sides, groups)
    counted, row["rows"], strange, row["apart"] = score.counts(truth, found)
    row["counts"] = dict(counted)
    row["verdict"] = found["verdict"]
    if strange:
        row["problem"] = f"names of no operators: {', '.join(strange[:3])} ({len(strange)})"
    elif found["verdict"] != "one model":
        row["problem"] = f"verdict: {found['verdict']}"
    told = [(x, y) for x, y, *_, right, _ in row["rows"] if not right]
    told += [pair for found in row["apart"].values() for pair in found]
    row["kinds"] = {f"{x} {y}": [s.nodes[z].op_type for s, z in zip(sides, (x, y))] for x, y in told}
    return row


def shown(number, digits=4):
    if number is None:
        return "-"
    return str(number) if isinstance(number, int) else f"{number:.{digits}f}"


def table(rows, way):
    """{change, or `all`: figures}"""
    by = collections.defaultdict(list)
    for r in rows:
        if r["way"] == way and "counts" in r:
            by[r["change"]].append(r)
            by["all"].append(r)
    found = {}
    for name in [*(n for n in pairs.NAMES if n in by), *(["all"] if by else [])]:
        found[name] = {"graphs": len(by[name]), **score.figures([(r["counts"], r["rows"]) for r in by[name]])}
    return found


def print_table(rows, way):
    print(f"\n{way:16}{'graphs':>7}" + "".join(f"{h:>10}" for h in HEAD))
    for name, f in table(rows, way).items():
        print(f"{name:16}{f['graphs']:>7}" + "".join(f"{shown(f[k]):>10}" for k in KEYS))


def print_wrong(rows, most=15, each=12):
    """The files with the most wrong pairs, and these; then those with the most wrong or lacking in groups."""
    rows = [r for r in rows if "counts" in r and r["way"] == "sparse"]

    def named(r, x, y):
        kinds = r["kinds"][f"{x} {y}"]
        return f"{x} ({kinds[0]})  {y} ({kinds[1]})"

    wrong = [(sum(not x[4] for x in r["rows"]), r) for r in rows]
    for n, r in sorted(wrong, key=lambda x: -x[0])[:most]:
        if n:
            print(f"\n{r['model']} {r['change']}: {n} of {len(r['rows'])} pairs wrong")
            for x, y, confidence, why, *_ in [x for x in r["rows"] if not x[4]][:each]:
                print(f"  {named(r, x, y)}  {confidence:.3f}  {why}")
    apart = [
        (c["relation"] - c["relation_right"] + c["wanted"] - c["met"], r) for r in rows if (c := r["counts"])
    ]
    for n, r in sorted(apart, key=lambda x: -x[0])[:most]:
        if n:
            c = r["counts"]
            print(
                f"\n{r['model']} {r['change']}: of {c['relation']} in groups "
                f"{c['relation'] - c['relation_right']} wrong, "
                f"of {c['wanted']} wanted {c['wanted'] - c['met']} lacking; "
                f"of {c['due']} due {c['due'] - c['due_hit']} missed"
            )
            for kind, found in r["apart"].items():
                for x, y in found[:each]:
                    print(f"  {kind:8}{named(r, x, y)}")


def unlike(a, found):
    """[pairs of different models that the tool takes for one model]"""
    wrong, count = [], 0
    for x, path in found.items():
        for y, other in found.items():
            if x != y:
                count += 1
                try:
                    verdict = mapped(a.tool, path, other)[0]["verdict"]
                except Exception as e:  # noqa: BLE001 - whatever the tool does is a result
                    verdict = f"{type(e).__name__}: {e}"[:200]
                if verdict != "not one model":
                    wrong.append(f"{x} {y}: {verdict}")
    print(f'\nunlike models: {count} pairs, {len(wrong)} without the verdict "not one model"')
    for text in wrong:
        print(f"  {text}")
    return {"pairs": count, "wrong": wrong}


def run(a, work):
    """(rows of the pairs of graphs, [(model, change, why there is none)])"""
    names = a.models.split(",") if a.models else []
    chosen = models.chosen(names, lambda r: r["filled_bytes"] <= LARGEST)
    changes = a.changes.split(",") if a.changes else list(pairs.NAMES)
    if wrong := sorted(set(changes) - set(pairs.NAMES)):
        sys.exit(f"mapping: no change is called {', '.join(wrong)}")
    rows, unfit, records = [], [], models.records()
    found = models.filled(chosen, work)
    for name in chosen:
        original, before = pairs.Original(name, found[name], records[name]), None
        for change in changes:
            folder, truth = pairs.pair(original, change, work, a.rename_ends, a.tool, a.python)
            if "unfit" in truth:
                if truth["unfit"]:
                    unfit.append((name, change, truth["unfit"]))
                continue
            before = before or Operators(original.model)
            after = Operators(onnx.load(folder / "B.onnx"))
            for way, options in ways(a).items():
                if way == "literal" and max(len(before.nodes), len(after.nodes)) > LITERAL:
                    continue
                row = measure(a, folder, truth["groups"], way, options, (before, after))
                row.update(model=name, change=change)
                rows.append(row)
                if way == "sparse":
                    f = score.figures([(row.get("counts", collections.Counter()), row.get("rows", []))])
                    print(
                        f"{name:24}{change:16}{row['a']:>6} ->{row['b']:>6}"
                        + "".join(f"{shown(f[k]):>9}" for k in KEYS[:7])
                        + f"{row.get('seconds', 0):8.3f} s  {row.get('problem', '')}",
                        flush=True,
                    )
    return rows, unfit, found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--models", metavar="NAME,...")
    p.add_argument("--changes", metavar="NAME,...")
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--work", metavar="DIR", help="models and pairs are kept there and used again")
    p.add_argument("--json", metavar="FILE", help="write all rows there")
    p.add_argument("--no-weights", action="store_true")
    p.add_argument("--literal", action="store_true")
    p.add_argument("--rename-ends", action="store_true")
    p.add_argument("--unlike", action="store_true")
    p.add_argument("--update", action="store_true")
    a = p.parse_args()
    a.tool = os.path.abspath(a.tool)
    with models.work_folder(a.work) as work:
        rows, unfit, found = run(a, work)
        apart = unlike(a, found) if a.unlike else None
    if not rows:
        sys.exit("mapping: there is no pair")
    tables = {way: table(rows, way) for way in ways(a)}
    print_wrong(rows)
    print(f"\nno pair, since B is wrong or cannot be made: {len(unfit)}")
    for name, change, why in unfit:
        print(f"  {name} {change}: {why}")
    for way in tables:
        print_table(rows, way)
    bad = [r for r in rows if "problem" in r and r["way"] != "literal"]
    print(f"\nproblems: {len(bad)}")
    for r in bad:
        print(f"  {r['model']} {r['change']} ({r['way']}): {r['problem']}")
    result = {"tables": tables, **({"unlike": apart} if apart else {})}
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps({**result, "rows": rows}) + "\n", encoding="utf-8")
    if a.update:
        text = json.dumps(result, indent=1)
        (HERE / "mapping.json").write_text(text + "\n", encoding="utf-8")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
