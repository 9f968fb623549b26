#!/usr/bin/env python3
"""What hoisting and aggregation take of the places that real exports offer, and why not the others.

  chances.py GRAPHOPT SHARED MODELS [--only NAME ...] [--work DIR] [--options '...'] [--why]

The models are those of the table in SHARED/methods/rewrites.md, part i, prepared as
tests/equal/hoist_costs.py does; MODELS has them filled. Places are counted before and after, bodies included,
nodes that only compute shapes left out:
  slices   values that two or more Slices read (part f, item 4; the table's column "sets")
  gathers  values that two or more Gathers of constant scalars read, on one axis (item 6; "sets", G: it counts
  other Gathers, too) concatE  Concats with two or more equal elementwise operators on their branches,
  deformations looked through (item 5; "Concat", first) concatD  Concats with two or more deformations on
  their branches (item 5; "Concat", D)
  splitD   Splits with two or more results read by a deformation (item 7; "Split", D)
  turns    Transposes that read another one through elementwise nodes (item 11; the table does not count them)
  mm       groups of two or more MatMuls or Gemms of one value with constant weights (item 3; "MM")
`before/table -> after` stands in each column; then come the moves that were kept. For each place that is
left, the reason: of
--explain, or of the Slices' own operands. With --why they are listed one by one. mm is empty below -O3 (--options=-O3).
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile

import onnx
from onnx import numpy_helper

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "tests", "equal"))
import _hoist  # noqa: E402
from hoist_costs import PREPARE, page_table  # noqa: E402

ITEMS = {
    "slices": ("tiles",),
    "gathers": ("tiles",),
    "concatE": ("merge",),
    "concatD": ("common-concat",),
    "splitD": ("common-split",),
    "turns": ("transpose",),
    "mm": (),
}
SHAPE_SLOTS = {
    "Reshape": {1},
    "Expand": {1},
    "Slice": {1, 2, 3, 4},
    "Unsqueeze": {1},
    "Squeeze": {1},
    "Tile": {1},
    "Split": {1},
    "Pad": {1, 3},
    "ConstantOfShape": {0},
    "Resize": {1, 2, 3},
    "Range": {0, 1, 2},
    "CenterCropPad": {1},
}


class Graph:
    """One graph of a model: constants, who makes and reads each value, and which nodes only compute
    shapes."""

    def __init__(self, graph, elementwise, deform):
        self.nodes, self.elementwise, self.deform = list(graph.node), elementwise, deform
        self.constants = {t.name: t for t in graph.initializer if t.name not in {i.name for i in graph.input}}
        self.constants |= {
            n.output[0]: a.t
            for n in self.nodes
            if n.op_type == "Constant"
            for a in n.attribute
            if a.name == "value"
        }
        self.made = {o: n for n in self.nodes for o in n.output if o}
        self.read = collections.defaultdict(list)
        outputs = {o.name for o in graph.output}
        for n in self.nodes:
            for k, v in enumerate(n.input):
                self.read[v].append((n, k))
            for v in captured(n):
                outputs.add(v)
        host = set()
        for n in reversed(self.nodes):
            uses = [self.read[o] for o in n.output if o]
            if all(
                u and all(k in SHAPE_SLOTS.get(m.op_type, ()) or id(m) in host for m, k in u) for u in uses
            ) and not outputs & set(n.output):
                host.add(id(n))
        self.nodes = [n for n in self.nodes if id(n) not in host and n.op_type != "Constant"]

    def numbers(self, v):
        return numpy_helper.to_array(self.constants[v]).ravel().tolist() if v in self.constants else None

    def is_e(self, n):
        return n is not None and n.op_type in self.elementwise

    def is_d(self, n):
        return n is not None and n.op_type in self.deform

    def behind(self, n):
        """What stands in front of the deformations that end in n."""
        while self.is_d(n):
            n = self.made.get(n.input[0])
        return n


def bodies(n):
    for a in n.attribute:
        yield from ([a.g] if a.HasField("g") else []) + list(a.graphs)


def captured(n):
    for g in bodies(n):
        for m in g.node:
            yield from m.input
            yield from captured(m)
        yield from (o.name for o in g.output)


def graphs(g):
    yield g
    for n in g.node:
        for b in bodies(n):
            yield from graphs(b)


def attribute(n, name, default):
    return next((a.i for a in n.attribute if a.name == name), default)


def slice_reason(g, nodes):
    """What the Slices' operands say themselves."""
    bounds = [[g.numbers(v) for v in n.input[1:] if v] for n in nodes]
    if any(b is None for bs in bounds for b in bs):
        return "bounds-at-run-time"
    steps = [(g.numbers(n.input[4]) if len(n.input) > 4 and n.input[4] else [1]) for n in nodes]
    return "steps" if any(s != 1 for ss in steps for s in ss) else "no-tiles"


def places(model, elementwise, deform):
    """{item: [(names by which --explain may call the place, reason of its own or None)]}"""
    found = {item: [] for item in ITEMS}
    for graph in graphs(model.graph):
        g = Graph(graph, elementwise, deform)
        slices, gathers, products = (collections.defaultdict(list) for _ in range(3))
        for n in g.nodes:
            if n.op_type == "Slice":
                slices[n.input[0]].append(n)
            elif n.op_type == "Gather" and n.input[1] in g.constants and not g.constants[n.input[1]].dims:
                gathers[n.input[0], attribute(n, "axis", 0)].append(n)
            elif n.op_type in ("MatMul", "Gemm") and n.input[1] in g.constants:
                products[n.input[0], n.op_type].append(n)
            elif n.op_type == "Concat":
                makers = [g.made.get(v) for v in n.input]
                kinds = collections.Counter(m.op_type for m in map(g.behind, makers) if g.is_e(m))
                if kinds and max(kinds.values()) >= 2:
                    found["concatE"].append(([n.output[0]], None))
                if sum(map(g.is_d, makers)) >= 2:
                    found["concatD"].append(([n.output[0]], None))
            elif n.op_type == "Split":
                if sum(any(g.is_d(m) for m, _ in g.read[o]) for o in n.output) >= 2:
                    found["splitD"].append((list(n.output), None))
            elif n.op_type == "Transpose":
                seen, stack = set(), [n.input[0]]
                while stack:
                    v = stack.pop()
                    m = g.made.get(v)
                    if m is None or v in seen:
                        continue
                    seen.add(v)
                    if m.op_type == "Transpose":
                        found["turns"].append(([n.output[0], m.output[0]], None))
                        break
                    if g.is_e(m):
                        stack += m.input
        found["slices"] += [
            ([o for n in s for o in n.output], slice_reason(g, s)) for s in slices.values() if len(s) >= 2
        ]
        found["gathers"] += [
            ([o for n in s for o in n.output], None) for s in gathers.values() if len(s) >= 2
        ]
        found["mm"] += [([n.output[0] for n in s], None) for s in products.values() if len(s) >= 2]
    return found


def page_columns(page):
    """{model: {item: places}} of the table in part i."""
    table, columns = {}, None
    for line in open(page):
        cells = [c.strip() for c in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if cells[:1] == ["model"]:
            columns = {
                k: next(i for i, c in enumerate(cells) if c.startswith(k))
                for k in ("Concat", "Split", "sets", "MM")
            }
        elif not cells:
            columns = None
        elif columns and not cells[0].startswith("-"):
            at = {k: cells[i] for k, i in columns.items()}
            row = dict.fromkeys(ITEMS, 0)
            if at["Concat"]:
                _, counts = at["Concat"].split(":")
                e, d = counts.split(";")
                row["concatE"], row["concatD"] = int(e.split("/")[0]), int(d)
            if at["Split"]:
                row["splitD"] = int(at["Split"].split(";")[1])
            for part in at["sets"].split(","):
                if words := part.split():
                    row["gathers" if words[0] == "G" else "slices"] = int(
                        words[1] if words[0] == "G" else words[0]
                    )
            row["mm"] = int(at["MM"] or 0)
            table[cells[0]] = row
    return table


def prepared(name, models, work):
    target = os.path.join(work, f"{name}.prepared.onnx")
    if not os.path.exists(target):
        part = target + ".part.onnx"
        subprocess.run(
            [sys.executable, "-c", PREPARE, os.path.join(models, f"{name}.onnx"), part],
            check=True,
            capture_output=True,
        )
        os.replace(part, target)
    return target


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("shared", metavar="SHARED")
    p.add_argument("models", metavar="MODELS")
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    p.add_argument("--work", metavar="DIR", help="prepared models are kept there and used again")
    p.add_argument("--options", default="", help="of graphopt, one string")
    p.add_argument("--why", action="store_true", help="list the places that are left")
    a = p.parse_args()
    _, _, proto = _hoist.rewrites(a.shared)
    page = os.path.join(a.shared, "methods", "rewrites.md")
    columns = page_columns(page)
    sums, reasons = collections.Counter(), {item: collections.Counter() for item in ITEMS}
    print(f"{'model':24}" + "".join(f"{item:>13}" for item in ITEMS) + "   moves kept; places left: reasons")
    with tempfile.TemporaryDirectory() as temp:
        work = a.work or temp
        os.makedirs(work, exist_ok=True)
        for name in [n for n in page_table(page) if not a.only or n in a.only]:
            source, target, report = (
                prepared(name, a.models, work),
                os.path.join(temp, "out.onnx"),
                os.path.join(temp, "report.json"),
            )
            subprocess.run(
                [
                    a.tool,
                    source,
                    "-o",
                    target,
                    "-q",
                    "--report",
                    report,
                    "--explain",
                    "aggregate-elementwise,hoist-reshape",
                    *a.options.split(),
                ],
                check=True,
            )
            before, after = (places(onnx.load(f), proto.ELEM, proto.DEFORM) for f in (source, target))
            told = json.load(open(report))
            said = collections.defaultdict(set)
            for e in told["explain"]:
                said[e["kind"], e["value"]].add(e["reason"])
            line, left = f"{name:24}", []
            for item, kinds in ITEMS.items():
                numbers = len(before[item]), columns[name][item], len(after[item])
                line += f"{'{}/{} -> {}'.format(*numbers) if any(numbers) else '':>13}"
                for k, n in zip(("before", "page", "after"), numbers):
                    sums[item, k] += n
                count = collections.Counter()
                for names, own in after[item]:
                    found = {
                        r for kind in kinds for v in names for r in said[kind, v] | said[kind, v + "_moved"]
                    }
                    why = ", ".join(sorted(found)) or own or "no-candidate"
                    count[why] += 1
                    if a.why:
                        left.append(f"    {item} {names[0]}: {why}")
                reasons[item] += count
            kept = collections.Counter(m["kind"] for m in told["moves"])
            print(line + "   " + " ".join(f"{k} {n}" for k, n in sorted(kept.items())))
            if left:
                print("\n".join(left))
            sys.stdout.flush()
    print(
        f"{'all':24}"
        + "".join(
            f"{'{}/{} -> {}'.format(*(sums[item, k] for k in ('before', 'page', 'after'))):>13}"
            for item in ITEMS
        )
    )
    for item, count in reasons.items():
        print(f"{item:8} left: " + (", ".join(f"{why} {n}" for why, n in count.most_common()) or "none"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
