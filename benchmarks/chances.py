#!/usr/bin/env python3
"""What hoisting and aggregation do with the places that real exports offer, and why the others are left.

  chances.py GRAPHOPT [FOLDER] [--only NAME ...] [--work DIR] [--options '...'] [--why]

The models are those of tests/models, or the *.onnx of FOLDER. Each is cleaned up first: by graphopt without
the passes of SEARCHES. Places are counted in that model and in the one that graphopt makes of it with all
passes; bodies are included, nodes that only compute shapes are not.
  slices   values that two or more Slices read
  gathers  values that two or more Gathers of constant scalars read, on one axis
  concatE  Concats with two or more equal elementwise operators on their branches, deformations between the
           two ignored
  concatD  Concats with two or more deformations on their branches
  splitD   Splits with two or more results that a deformation reads
  turns    Transposes downstream of another one, with nothing but elementwise nodes between the two
  mm       groups of two or more MatMuls or Gemms of one value with constant weights; merged at -O3 only
           (--options=-O3)
`before -> after` stands in each column; then come the moves that were kept. For each place that is left, the
last lines have the reason: that of --explain, or one found in the Slices' own operands. With --why they are
listed one by one. An operator counts as elementwise when src/ops/facts_elementwise.inc has a row for it;
deformations are Reshape, Squeeze, Unsqueeze and Flatten.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import onnx
from onnx import numpy_helper

import _pairs
from _pairs import models
from lib.counting import bodies, nested

# The passes that are left out when a model is prepared.
SEARCHES = "aggregate-elementwise,hoist-reshape,merge-matmuls"

# The kinds of candidates under which --explain lists a place.
ITEMS = {
    "slices": ("tiles",),
    "gathers": ("tiles",),
    "concatE": ("merge",),
    "concatD": ("common-concat",),
    "splitD": ("common-split",),
    "turns": ("transpose",),
    "mm": (),
}
FACTS = pathlib.Path(__file__).resolve().parents[1] / "src/ops/facts_elementwise.inc"
ELEMENTWISE = set(re.findall(r"ONNX\((\w+)\)", FACTS.read_text(encoding="utf-8")))
DEFORMATIONS = {"Reshape", "Squeeze", "Unsqueeze", "Flatten"}
SHAPE_OPERANDS = {
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


def is_elementwise(node):
    return node is not None and node.op_type in ELEMENTWISE


def is_deformation(node):
    return node is not None and node.op_type in DEFORMATIONS


class Graph:
    """One graph of a model: its constants, the producer and the readers of each value, and its nodes without
    those that only compute shapes."""

    def __init__(self, graph):
        overridable = {i.name for i in graph.input}
        self.constants = {t.name: t for t in graph.initializer if t.name not in overridable}
        for n in graph.node:
            if n.op_type == "Constant":
                self.constants |= {n.output[0]: a.t for a in n.attribute if a.name == "value"}
        self.producer = {o: n for n in graph.node for o in n.output if o}
        self.readers = collections.defaultdict(list)
        live_out = {o.name for o in graph.output}
        for n in graph.node:
            for k, v in enumerate(n.input):
                self.readers[v].append((n, k))
            live_out |= captured(n)
        shape_only = set()
        for n in reversed(graph.node):
            uses = [self.readers[o] for o in n.output if o]
            if not live_out.intersection(n.output) and all(
                u and all(k in SHAPE_OPERANDS.get(m.op_type, ()) or id(m) in shape_only for m, k in u)
                for u in uses
            ):
                shape_only.add(id(n))
        self.nodes = [n for n in graph.node if id(n) not in shape_only and n.op_type != "Constant"]

    def numbers(self, v):
        return numpy_helper.to_array(self.constants[v]).ravel().tolist() if v in self.constants else None

    def upstream(self, n):
        """The first node upstream of n, n included, that is no deformation."""
        while is_deformation(n):
            n = self.producer.get(n.input[0])
        return n


def captured(node):
    """The values of outer graphs that the bodies of a node may read."""
    graphs = [g for n in nested([node]) for g in bodies(n)]
    return {v for g in graphs for v in [*(i for n in g.node for i in n.input), *(o.name for o in g.output)]}


def attribute(n, name, default):
    return next((a.i for a in n.attribute if a.name == name), default)


def slice_reason(g, nodes):
    """Why Slices of one value are no tiles, as far as their operands show it."""
    bounds = [[g.numbers(v) for v in n.input[1:] if v] for n in nodes]
    if any(b is None for bs in bounds for b in bs):
        return "bounds-at-run-time"
    steps = [(g.numbers(n.input[4]) if len(n.input) > 4 and n.input[4] else [1]) for n in nodes]
    return "steps" if any(s != 1 for ss in steps for s in ss) else "no-tiles"


def reads_transpose(g, node):
    """The Transpose upstream of this one with nothing but elementwise nodes between the two, or None."""
    seen, pending = set(), [node.input[0]]
    while pending:
        v = pending.pop()
        m = g.producer.get(v)
        if m is None or v in seen:
            continue
        seen.add(v)
        if m.op_type == "Transpose":
            return m
        if is_elementwise(m):
            pending += m.input
    return None


def places(model):
    """{item: [(values under which --explain may list the place, a reason of its own or None)]}"""
    found = {item: [] for item in ITEMS}
    everything = [model.graph, *(b for n in nested(model.graph.node) for b in bodies(n))]
    for g in map(Graph, everything):
        slices, gathers, products = (collections.defaultdict(list) for _ in range(3))
        for n in g.nodes:
            if n.op_type == "Slice":
                slices[n.input[0]].append(n)
            elif n.op_type == "Gather" and n.input[1] in g.constants and not g.constants[n.input[1]].dims:
                gathers[n.input[0], attribute(n, "axis", 0)].append(n)
            elif n.op_type in ("MatMul", "Gemm") and n.input[1] in g.constants:
                products[n.input[0], n.op_type].append(n)
            elif n.op_type == "Concat":
                producers = [g.producer.get(v) for v in n.input]
                kinds = collections.Counter(
                    m.op_type for m in map(g.upstream, producers) if is_elementwise(m)
                )
                if max(kinds.values(), default=0) >= 2:
                    found["concatE"].append(([n.output[0]], None))
                if sum(map(is_deformation, producers)) >= 2:
                    found["concatD"].append(([n.output[0]], None))
            elif n.op_type == "Split":
                if sum(any(is_deformation(m) for m, _ in g.readers[o]) for o in n.output) >= 2:
                    found["splitD"].append((list(n.output), None))
            elif n.op_type == "Transpose" and (m := reads_transpose(g, n)):
                found["turns"].append(([n.output[0], m.output[0]], None))
        for item, groups in (("slices", slices), ("gathers", gathers), ("mm", products)):
            for nodes in groups.values():
                if len(nodes) >= 2:
                    reason = slice_reason(g, nodes) if item == "slices" else None
                    found[item].append(([o for n in nodes for o in n.output], reason))
    return found


def run(tool, source, target, *options):
    """Runs the tool; returns its report."""
    report = f"{target}.json"
    subprocess.run([tool, source, "-o", target, "-q", "--report", report, *options], check=True)
    with open(report, encoding="utf-8") as f:
        return json.load(f)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    _pairs.add_arguments(p)
    p.add_argument("--why", action="store_true", help="list the places that are left")
    a = p.parse_args()
    if len(a.files) > 2:
        p.error("give GRAPHOPT and a folder at most")
    tool, sums = a.files[0], collections.Counter()
    reasons, table = {item: collections.Counter() for item in ITEMS}, []

    def cells(counts):
        return "".join(f"{f'{x} -> {y}' if x or y else '':>12}" for x, y in counts)

    print(f"{'model':24}{''.join(f'{item:>12}' for item in ITEMS)}   moves kept")
    with models.work_folder(a.work) as work, tempfile.TemporaryDirectory() as temp:
        prepared, target = os.path.join(temp, "prepared.onnx"), os.path.join(temp, "out.onnx")
        for name, source in _pairs.sources(a.files, a.only, work).items():
            run(tool, source, prepared, f"--disable-pass={SEARCHES}")
            explained = "--explain=aggregate-elementwise,hoist-reshape"
            report = run(tool, prepared, target, explained, *a.options.split())
            before, after = (places(onnx.load(f)) for f in (prepared, target))
            refused = collections.defaultdict(set)
            for e in report["explain"]:
                refused[e["kind"], e["value"]].add(e["reason"])
            left = []
            for item, kinds in ITEMS.items():
                sums[item, "before"] += len(before[item])
                sums[item, "after"] += len(after[item])
                for values, own in after[item]:
                    given = {
                        r for k in kinds for v in values for r in refused[k, v] | refused[k, v + "_moved"]
                    }
                    why = ", ".join(sorted(given)) or own or "no-candidate"
                    reasons[item][why] += 1
                    left.append(f"    {item} {values[0]}: {why}")
            counts = {item: (len(before[item]), len(after[item])) for item in ITEMS}
            kept = collections.Counter(m["kind"] for m in report["moves"])
            table.append({"model": name, "places": counts, "moves": kept})
            moves = " ".join(f"{k} {n}" for k, n in sorted(kept.items()))
            print("\n".join([f"{name:24}{cells(counts.values())}   {moves}", *(left if a.why else [])]))
            sys.stdout.flush()
    print(f"{'all':24}{cells((sums[item, 'before'], sums[item, 'after']) for item in ITEMS)}")
    for item, count in reasons.items():
        print(f"{item:8} left: " + (", ".join(f"{why} {n}" for why, n in count.most_common()) or "none"))
    if a.json:
        with open(a.json, "w", encoding="utf-8") as f:
            json.dump(table, f, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
