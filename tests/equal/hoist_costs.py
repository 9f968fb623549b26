#!/usr/bin/env python3
"""Hoisting against the method's prototype: is the final cost as low, on its random graphs and on real
exports?

  hoist_costs.py GRAPHOPT SHARED [--random N SEED] [--models ZOO] [--only NAME ...] [--work DIR] [--passes
  LIST]

The cost is the method's own, (C', F + D), computed by proto.py's cost() from the file that the tool wrote;
smaller first numbers win, then smaller second ones. Whatever the cost, a result must be bit-equal in ONNX
Runtime (optimizations off) and valid.
  --random N SEED  the graphs of `proto.py --write DIR N SEED` (default 60 2024). In total not above the prototype's cost, and
                   below it from 1,000 graphs on; above it on at most --above graphs, which are listed with
                   what they consist of
  --models ZOO     the models of the table in methods/rewrites.md, part i, read from that page. ZOO has them filled; each is
                   prepared by onnxsim.simplify(model, check_n=0), and its cost must not be above the table's.
                   Also told: where the prepared model does not cost what the table says it did (another
                   version prepares other models)
Prepared models and written graphs are kept in DIR and used again; without it they are made anew.
"""

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile

import onnx

import _hoist

PREPARE = """
import sys, onnx, onnxsim
model = onnx.load(sys.argv[1])
simple, ok = onnxsim.simplify(model, check_n=0)
onnx.save(simple, sys.argv[2])
"""


def plus(costs):
    return tuple(map(sum, zip(*costs)))


def show(cost):
    return f"{cost[0]}, {cost[1]}"


def moved(before, after):
    """The operators whose number changed: 'Relu 4->1 Reshape 3->0'."""
    return (
        " ".join(f"{k} {before[k]}->{after[k]}" for k in sorted(before | after) if before[k] != after[k])
        or "no operator gained or lost"
    )


def written(folder, work, n, seed):
    """The folder with the prototype's first n graphs of a seed, and their rows of cost.csv."""
    target = os.path.join(work, f"random-{seed}")
    table = os.path.join(target, "cost.csv")
    if (
        not os.path.exists(table) or sum(1 for _ in open(table)) < n + 1
    ):  # a longer list begins with a shorter one
        subprocess.run(
            [sys.executable, "-B", os.path.join(folder, "proto.py"), "--write", target, str(n), str(seed)],
            check=True,
        )
    return target, list(csv.DictReader(open(table)))[:n]


def optimized(tool, check, source, target, again):
    """(model, problem): runs the tool twice."""
    why = tool.run(source, target, "--exact")
    if why:
        return None, why
    model = onnx.load(target)
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as e:  # noqa: BLE001
        return model, f"onnx.checker: {' '.join(str(e).split())[:300]}"
    why = tool.run(target, again, "--exact")
    if why or open(target, "rb").read() != open(again, "rb").read():
        return model, why or "a second run gives other bytes"
    return model, None


def random_graphs(a, there, tool, work, temp):
    folder, check, proto = there
    graphs, rows = written(folder, work, a.random[0], a.random[1])
    if len(rows) < a.random[0]:
        print(f"only {len(rows)} graphs were written")
        return 1
    wrong, above, costs = [], [], {"before": [], "prototype": [], "ours": []}
    for row in rows:
        path, target = os.path.join(graphs, row["file"]), os.path.join(temp, "out.onnx")
        before, theirs = (tuple(int(row[k + f]) for f in ("_c", "_fd")) for k in ("before", "after"))
        source = onnx.load(path)
        try:
            result, why = optimized(tool, check, path, target, os.path.join(temp, "again.onnx"))
            why = why or check.run_pair(source, result, 4)
            ours = proto.cost(proto.from_model(result)) if result else before
        except Exception as e:  # noqa: BLE001
            why, ours = f"{type(e).__name__}: {' '.join(str(e).split())[:300]}", before
        if why:
            wrong.append(row["file"])
            print(f"{row['file']}: {why}", flush=True)
            continue
        for k, c in zip(costs, (before, theirs, ours)):
            costs[k].append(c)
        if ours > theirs:
            above.append(row["file"])
            model, _ = proto.optimize_model(source)
            print(
                f"{row['file']}: cost {show(before)}, prototype {show(theirs)}, ours {show(ours)}\n"
                f"    prototype: {moved(_hoist.kinds(source), _hoist.kinds(model))}\n"
                f"    ours:      {moved(_hoist.kinds(source), _hoist.kinds(result))}",
                flush=True,
            )
    below = sum(o < t for o, t in zip(costs["ours"], costs["prototype"]))
    changed = sum(o < b for o, b in zip(costs["ours"], costs["before"]))
    totals = {k: plus(c) if c else (0, 0) for k, c in costs.items()}
    print(
        f"{len(rows)} random graphs: {changed} improved; total cost {show(totals['before'])}, prototype {show(totals['prototype'])}, "
        f"ours {show(totals['ours'])}; ours is below on {below} graphs and above on {len(above)}; {len(wrong)} wrong",
        flush=True,
    )
    limit = totals["prototype"]
    high = totals["ours"] >= limit if len(rows) >= 1000 else totals["ours"] > limit
    if high or len(above) > a.above:
        print(f"the cost must be below the prototype's in total and above it on at most {a.above} graphs")
    return int(bool(wrong) or high or len(above) > a.above)


def page_table(page):
    """{model: (before, after)} of the table in part i of the page."""
    found, column = {}, None
    for line in open(page):
        cells = [c.strip() for c in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if cells[:1] == ["model"]:
            column = next((k for k, c in enumerate(cells) if c.startswith("cost before")), None)
        elif not cells:
            column = None
        elif column is not None and column < len(cells):
            numbers = re.match(r"(\d+), (\d+) → (\d+), (\d+)\b", cells[column])
            if numbers:
                x = [int(n) for n in numbers.groups()]
                found[cells[0]] = (tuple(x[:2]), tuple(x[2:]))
    return found


def session(path):
    import onnxruntime as ort

    o = ort.SessionOptions()
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    o.intra_op_num_threads, o.log_severity_level = 1, 4
    return ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])


def exact(tools, source, target):
    """Runs two files at two bindings (two seeds where nothing is symbolic). (runs, problem)"""
    compare_models, model_inputs = tools
    name = os.path.basename(source).split(".")[0]
    first, second = session(source), session(target)
    entry = {**compare_models.input_entry(f"{name}.onnx", tools.models), "name": name}
    runs = 0
    for seed, mode in enumerate(("default", "random:1", "random:2", "min")):
        if runs == 2:
            break
        feeds = model_inputs.make_inputs(entry, model_inputs.bindings(entry, mode), seed)
        try:
            x = compare_models.execute(first, feeds)
        except Exception:  # noqa: BLE001
            continue  # not a legal binding after the preparation, which may have fixed what the export left open
        runs += 1
        try:
            y = compare_models.execute(second, feeds)
        except Exception as e:  # noqa: BLE001
            return runs, f"{mode}: the result does not run: {' '.join(str(e).split())[:300]}"
        for k in x:
            d = _hoist.difference(x[k], y[k]) if k in y else "is missing"
            if d:
                return runs, f"{mode}: output {k}: {d}"
    return runs, None if runs == 2 else f"the prepared model runs at {runs} bindings only"


class Tools(tuple):
    models = ""


def real_models(a, there, tool, work, temp):
    _, check, proto = there
    table = page_table(os.path.join(a.shared, "methods", "rewrites.md"))
    if len(table) < 30:
        print(f"the page's table has {len(table)} models that can be read")
        return 1
    sys.path.insert(0, os.path.join(a.shared, "tools"))
    import compare_models
    import model_inputs

    tools = Tools((compare_models, model_inputs))
    tools.models = os.path.join(a.shared, "models")
    bad, above = [], []
    print(f"{'model':26}{'nodes':>13}{'before':>12}{'prototype':>12}{'ours':>12}")
    for name in [n for n in table if not a.only or n in a.only]:
        before, theirs = table[name]
        filled, source, target = (
            os.path.join(a.models, name + ".onnx"),
            os.path.join(work, name + ".prepared.onnx"),
            os.path.join(temp, "out.onnx"),
        )
        if not os.path.exists(source):
            part = source + ".part.onnx"
            done = subprocess.run(
                [sys.executable, "-c", PREPARE, filled, part], capture_output=True, text=True
            )
            if done.returncode:
                bad.append(name)
                print(f"{name}: not prepared: {done.stderr.strip()[-300:]}", flush=True)
                continue
            os.replace(part, source)
        given = onnx.load(source)
        result, why = optimized(tool, check, source, target, os.path.join(temp, "again.onnx"))
        if result is None:
            bad.append(name)
            print(f"{name}: {why}", flush=True)
            continue
        found, ours = (proto.cost(proto.from_model(m)) for m in (given, result))
        nodes, kinds = (
            [sum(_hoist.kinds(m).values()) for m in (given, result)],
            [_hoist.kinds(m) for m in (given, result)],
        )
        try:
            why = why or exact(tools, source, target)[1]
        except Exception as e:  # noqa: BLE001
            why = f"{type(e).__name__}: {' '.join(str(e).split())[:300]}"
        notes = ([] if found == before else [f"the page has a cost of {show(before)} before"]) + (
            [why] if why else []
        )
        if ours > theirs:
            above.append(name)
            notes.append(f"above the prototype; {moved(*kinds)}")
        bad += [name] if why else []
        print(
            f"{name:26}{nodes[0]:>6} ->{nodes[1]:>4}{show(found):>12}{show(theirs):>12}{show(ours):>12}{'  below' if ours < theirs else ''}"
            + "".join(f"\n    {n}" for n in notes),
            flush=True,
        )
    print(
        f"{len(table)} models in the page's table; above it: {' '.join(above) or 'none'}; wrong: {' '.join(bad) or 'none'}"
    )
    return int(bool(bad or above))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", help="program, or a command with {in} and {out}")
    p.add_argument("shared", metavar="SHARED")
    p.add_argument("--passes", default=_hoist.PASSES, metavar="LIST")
    p.add_argument("--random", nargs=2, type=int, metavar=("N", "SEED"))
    p.add_argument(
        "--above", type=int, default=15, metavar="N", help="random graphs that may cost more (default 15)"
    )
    p.add_argument("--models", metavar="ZOO", help="folder with the filled models")
    p.add_argument("--only", nargs="+", default=[], metavar="NAME", help="of the models")
    p.add_argument("--work", metavar="DIR")
    a = p.parse_args()
    there = _hoist.rewrites(a.shared)
    if there is None:
        print(f"skipped: {a.shared}/vectors/rewrites is not there")
        return 77
    tool = _hoist.Tool(a.tool, a.passes)
    missing = tool.missing()
    if missing:
        print(f"skipped: {a.tool} has no pass {', '.join(missing)}")
        return 77
    if not a.random and not a.models:
        a.random = [60, 2024]
    status = 0
    with tempfile.TemporaryDirectory() as temp:
        work = a.work or os.path.join(temp, "work")
        os.makedirs(work, exist_ok=True)
        if a.random:
            status |= random_graphs(a, there, tool, work, temp)
        if a.models:
            status |= real_models(a, there, tool, work, temp)
    return status


if __name__ == "__main__":
    sys.exit(main())
