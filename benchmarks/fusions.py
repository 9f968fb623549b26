#!/usr/bin/env python3
"""Does a rewrite cost ONNX Runtime its own fusions? Counts the operators that it makes of models before and
after.

  fusions.py GRAPHOPT [FOLDER] [--options '...'] [--only NAME ...] [--work DIR] [--json FILE]
  fusions.py BEFORE.onnx AFTER.onnx [BEFORE.onnx AFTER.onnx ...]

GRAPHOPT optimizes the models of tests/models, or the *.onnx of FOLDER, with the options given. Both models go
through ONNX Runtime with all optimizations on and `optimized_model_filepath`; in the graph that it writes,
the operators of its own domains (com.microsoft, com.ms.internal.nhwc, ai.onnx.contrib ...) and all nodes are
counted, bodies included. Where the model itself uses such operators, they count too: what matters is that
none becomes rarer. Exit status 1 when an operator kind has become rarer, or a model is not loaded any more.
Layout operators (ReorderInput, ReorderOutput) stand at the boundaries of fused regions and are no
fusions: fewer of them are a gain; they are shown, not judged.
"""

import argparse
import collections
import json
import os
import sys

import onnx
import onnxruntime as ort

import _pairs
from _pairs import models

LAYOUT = {"ReorderInput", "ReorderOutput"}
LARGER = {"Gelu": ["BiasGelu"]}  # a fusion that contains another one counts as both


def plain(n):
    """Whether a node is a FusedMatMul that multiplies by 1 and transposes nothing: it contains a no-op, which
    a rewrite may have removed before."""
    given = {a.name: a.f if a.type == onnx.AttributeProto.FLOAT else a.i for a in n.attribute}
    return n.op_type == "FusedMatMul" and given.pop("alpha", 1.0) == 1.0 and not any(given.values())


def kind(n):
    """(domain, operator). A Gelu of the standard runs in the time of the runtime's own, of which it counts as
    one: 64 x 128 x 384 floats took 2.4 ms in FastGelu and in its tanh form, 2.2 ms in both others."""
    if plain(n):
        return "", "MatMul"
    if (n.domain, n.op_type) == ("", "Gelu"):
        return "com.microsoft", "FastGelu" if any(a.s == b"tanh" for a in n.attribute) else "Gelu"
    return n.domain, n.op_type


def kinds(graph):
    count, stack = collections.Counter(), [graph]
    while stack:
        for n in stack.pop().node:
            count[kind(n)] += 1
            for a in n.attribute:
                stack += ([a.g] if a.HasField("g") else []) + list(a.graphs)
    return count


def of_runtime(path, work):
    """({operator: count} of the runtime's domains, nodes) of the graph that ONNX Runtime makes of a model."""
    target = os.path.join(work, "fused.onnx")
    o = ort.SessionOptions()
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
    o.optimized_model_filepath = target
    o.intra_op_num_threads, o.log_severity_level = 1, 4
    o.add_session_config_entry("session.optimized_model_external_initializers_file_name", "fused.data")
    ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])
    count = kinds(onnx.load(target, load_external_data=False).graph)
    for f in os.listdir(work):
        if f.startswith("fused."):
            os.remove(os.path.join(work, f))
    return {
        f"{domain}:{op}": n
        for (domain, op), n in count.items()
        if domain not in ("", "ai.onnx", "ai.onnx.ml")
    }, sum(count.values())


def compare(name, before, after, work):
    """A row of the table."""
    row = {"model": name, "rarer": {}, "why": ""}
    try:
        a, row["nodes_before"] = of_runtime(before, work)
    except Exception as e:  # noqa: BLE001
        return {**row, "skipped": " ".join(str(e).split())[:200]}
    try:
        b, row["nodes_after"] = of_runtime(after, work)
    except Exception as e:  # noqa: BLE001
        return {**row, "why": f"not loaded after: {' '.join(str(e).split())[:200]}"}
    row["before"], row["after"] = a, b

    def number(count, key):
        domain, op = key.split(":")
        return count.get(key, 0) + sum(count.get(f"{domain}:{x}", 0) for x in LARGER.get(op, []))

    row["rarer"] = {
        k: [n, b.get(k, 0)]
        for k, n in a.items()
        if number(b, k) < number(a, k) and k.split(":")[1] not in LAYOUT
    }
    return row


def show(row):
    if "skipped" in row:
        return f"{row['model']:28} not loaded before: {row['skipped']}"
    if "after" not in row:
        return f"{row['model']:28} {row['why']}"
    a, b = row["before"], row["after"]
    line = f"{row['model']:28}{sum(a.values()):7} ->{sum(b.values()):5}"
    line += f"{row['nodes_before']:9} ->{row['nodes_after']:5}"
    changed = [
        f"{k.split(':')[1]} {a.get(k, 0)}->{b.get(k, 0)}" for k in sorted(a | b) if a.get(k, 0) != b.get(k, 0)
    ]
    return line + (f"   {'RARER ' if row['rarer'] else ''}{', '.join(changed)}" if changed else "")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    _pairs.add_arguments(p)
    a = p.parse_args()
    table = []
    print(f"{'model':28}{'fused operators':>14}{'nodes in the runtime':>21}")
    with models.work_folder(a.work) as work:
        for name, before, after, why in _pairs.pairs(a, work):
            row = {"model": name, "rarer": {}, "why": why} if why else compare(name, before, after, work)
            table.append(row)
            print(show(row), flush=True)
    lost = [r["model"] for r in table if r["rarer"] or r["why"]]
    nodes = [sum(r.get(k, 0) for r in table if "after" in r) for k in ("nodes_before", "nodes_after")]
    print(
        f"{len(table)} models, {sum('after' in r for r in table)} compared, "
        f"{nodes[0]} -> {nodes[1]} nodes in the runtime; fusions lost in: {' '.join(lost) or 'none'}"
    )
    if a.json:
        json.dump(table, open(a.json, "w"), indent=1)
    return 1 if lost or not any("after" in r for r in table) else 0


if __name__ == "__main__":
    sys.exit(main())
