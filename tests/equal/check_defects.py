#!/usr/bin/env python3
# TIER: nightly
# LONG: --all
# WHEN: src/runtime/
"""Does --check see what a wrong rewrite would do? Defects are planted in real exports, and graphopt compare,
which shares everything with --check but the run of the passes, has to find each that changes results.

  check_defects.py GRAPHOPT [--all] [--only NAME ...] [--work DIR] [--list]

A defect is one change of one node or weight (DEFECTS); each model gets every kind that it has a place for, at
a place drawn by the model's name. Whether results change is decided apart from the tool: tests/lib/compare.py
runs both on inputs of its own, legal ones for these models. Found: status 3. Missed: status 0 although
results differ there by MARGIN times the tolerance. False: status 3 although no output differs by more than
NOTHING, which is what ONNX Runtime's own kernels leave. Not every kind changes results at every place: a Cast
that loses nothing may go.
"""

import argparse
import pathlib
import random
import subprocess
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import compare, models  # noqa: E402

SHORT = ("fn_blocks", "rnn_loop", "scan_filter", "sr_espcn")
NOTHING = 1e-7
SEEDS = "5"  # one draw leaves a tenth of one small table of many below the tolerance
MARGIN = 3  # times the tolerance for float32: both sides draw inputs of their own
FOUND, SAME = 3, 0


# --- defects: each takes (model, its nodes in all graphs, a random stream); returns what it did, or None ----


def graphs(graph):
    yield graph
    for node in graph.node:
        for a in node.attribute:
            for inner in [a.g] if a.type == onnx.AttributeProto.GRAPH else a.graphs:
                yield from graphs(inner)


def pick(draw, items):
    items = list(items)
    return draw.choice(items) if items else None


def of_kind(nodes, *kinds):
    return [n for n in nodes if n.op_type in kinds]


def changed_weight(m, nodes, draw, change, fits=lambda a: a.dtype == np.float32 and a.size > 1):
    """Changes a float weight that a node of the main graph reads."""
    read = {i for n in m.graph.node for i in n.input}
    w = pick(draw, (w for w in m.graph.initializer if w.name in read and fits(numpy_helper.to_array(w))))
    if w is None:
        return None
    array = numpy_helper.to_array(w).copy()
    w.CopyFrom(numpy_helper.from_array(change(array), w.name))
    return f"weight {w.name}"


def scaled(array):
    return (array * np.float32(1.1)).astype(array.dtype)


def negated(array):
    return -array


def turned(array):
    return np.ascontiguousarray(array[::-1])


def zeroed(array):
    return np.zeros_like(array)


def swapped(nodes, draw, *kinds):
    n = pick(draw, (n for n in of_kind(nodes, *kinds) if len(n.input) > 1 and n.input[0] != n.input[1]))
    if n is None:
        return None
    n.input[0], n.input[1] = n.input[1], n.input[0]
    return f"operands of {n.op_type} {n.output[0]}"


def renamed(nodes, draw, kinds):
    n = pick(draw, of_kind(nodes, *kinds))
    if n is None:
        return None
    was, n.op_type = n.op_type, kinds[n.op_type]
    return f"{was} {n.output[0]} became {n.op_type}"


def bypassed(nodes, draw, *kinds):
    n = pick(draw, of_kind(nodes, *kinds))
    if n is None:
        return None
    kept = [n.input[0]]
    del n.input[:], n.attribute[:]
    n.op_type, n.domain = "Identity", ""
    n.input.extend(kept)
    return f"{kinds[0]} {n.output[0]} left out"


def attribute(nodes, draw, kinds, name, change):
    places = [(n, a) for n in of_kind(nodes, *kinds) for a in n.attribute if a.name == name]
    place = pick(draw, places)
    if place is None:
        return None
    n, a = place
    value = helper.get_attribute_value(a)
    new = change(list(value) if isinstance(value, (list, tuple)) else value)
    if new == value:
        return None
    n.attribute.remove(a)
    n.attribute.append(helper.make_attribute(name, new))
    return f"{name} of {n.op_type} {n.output[0]}"


def branches(nodes, draw):
    n = pick(draw, of_kind(nodes, "If"))
    if n is None:
        return None
    for a in n.attribute:
        a.name = {"then_branch": "else_branch", "else_branch": "then_branch"}[a.name]
    return f"branches of If {n.output[0]}"


def results(m, draw):
    n = pick(draw, (n for n in m.graph.node if len([o for o in n.output if o]) > 1 and n.op_type == "Split"))
    if n is None:
        return None
    n.output[0], n.output[1] = n.output[1], n.output[0]
    return f"results of {n.op_type} {n.output[0]}"


def shifted(m, nodes, draw):
    """Moves the start of a Slice by one."""
    names = {n.input[1] for n in of_kind(nodes, "Slice") if len(n.input) > 2}
    constants = {
        n.output[0]: a.t for n in nodes if n.op_type == "Constant" for a in n.attribute if a.name == "value"
    }
    constants.update({w.name: w for w in m.graph.initializer})
    t = pick(draw, (constants[name] for name in sorted(names & constants.keys())))
    if t is None:
        return None
    array = numpy_helper.to_array(t)
    t.CopyFrom(numpy_helper.from_array(np.where(array == 0, 1, array - 1).astype(array.dtype), t.name))
    return f"starts {t.name}"


BINARY = {"Add": "Sub", "Mul": "Add", "Sub": "Add", "Div": "Mul", "Max": "Min", "Min": "Max"}
UNARY = {
    "Relu": "Abs",
    "Tanh": "Sigmoid",
    "Sigmoid": "Tanh",
    "Sqrt": "Exp",
    "Exp": "Abs",
    "Erf": "Tanh",
    "Neg": "Abs",
}
BIASED = ("Conv", "Gemm", "Add")

DEFECTS = {
    "weight-scaled": lambda m, n, d: changed_weight(m, n, d, scaled),
    "weight-negated": lambda m, n, d: changed_weight(m, n, d, negated),
    "weight-turned": lambda m, n, d: changed_weight(
        m, n, d, turned, lambda a: a.ndim > 1 and a.dtype == np.float32
    ),
    "vector-zeroed": lambda m, n, d: changed_weight(
        m, n, d, zeroed, lambda a: a.ndim == 1 and a.dtype == np.float32
    ),
    "operands-swapped": lambda m, n, d: swapped(n, d, "Sub", "Div", "Pow"),
    "where-swapped": lambda m, n, d: next(
        (
            f"values of Where {w.output[0]}"
            for w in [pick(d, of_kind(n, "Where"))]
            if w is not None and not w.input.__setitem__(slice(1, 3), [w.input[2], w.input[1]])
        ),
        None,
    ),
    "binary-other": lambda m, n, d: renamed(n, d, BINARY),
    "unary-other": lambda m, n, d: renamed(n, d, UNARY),
    "reduction-other": lambda m, n, d: renamed(n, d, {"ReduceMean": "ReduceMax", "ReduceMax": "ReduceMin"}),
    "pool-other": lambda m, n, d: renamed(
        n, d, {"GlobalAveragePool": "GlobalMaxPool", "MaxPool": "AveragePool"}
    ),
    "add-lost": lambda m, n, d: bypassed(n, d, "Mul"),
    "relu-lost": lambda m, n, d: bypassed(n, d, "Relu"),
    "softmax-lost": lambda m, n, d: bypassed(n, d, "Softmax"),
    "cast-other": lambda m, n, d: attribute(
        n, d, ["Cast"], "to", lambda v: {1: 10, 10: 1, 7: 6, 6: 7}.get(v, v)
    ),
    "axis-other": lambda m, n, d: attribute(
        n, d, ["Softmax", "Gather", "LayerNormalization"], "axis", lambda v: v - 1
    ),
    "concat-turned": lambda m, n, d: swapped(n, d, "Concat"),
    "perm-turned": lambda m, n, d: attribute(n, d, ["Transpose"], "perm", lambda v: v[:-2] + [v[-1], v[-2]]),
    "epsilon-other": lambda m, n, d: attribute(
        n, d, ["LayerNormalization", "BatchNormalization", "InstanceNormalization"], "epsilon", lambda v: 0.5
    ),
    "alpha-other": lambda m, n, d: attribute(
        n, d, ["LeakyRelu", "Elu", "HardSigmoid", "Gemm"], "alpha", lambda v: v * 1.5
    ),
    "pads-moved": lambda m, n, d: attribute(
        n,
        d,
        ["Conv", "MaxPool"],
        "pads",
        lambda v: (
            [x - 1 if x else x for x in v[: len(v) // 2]]
            + [x + 1 if y else x for x, y in zip(v[len(v) // 2 :], v[: len(v) // 2])]
        ),
    ),
    "branches-swapped": lambda m, n, d: branches(n, d),
    "results-swapped": lambda m, n, d: results(m, d),
    "starts-shifted": lambda m, n, d: shifted(m, n, d),
}


# --- trying them --------------------------------------------------------------------------------------------


def truth(before, after, record):
    """ "differs" (clearly), "same" (to the last bits), "near" (between), or why the defect cannot be run."""
    try:
        found = compare.compare(str(before), str(after), record)
    except Exception as e:  # noqa: BLE001  ONNX Runtime raises many types
        return f"not run: {str(e)[:80]}"
    if found.problems and not 0 < found.rel_diff < MARGIN * compare.TOLERANCE["float32"]:
        return "differs"
    return "same" if found.rel_diff <= NOTHING else f"near ({found.rel_diff:.1e})"


def examine(tool, name, source, folder):
    """[(defect, what it did, truth, status of graphopt)] of one model."""
    rows = []
    for defect, plant in DEFECTS.items():
        m = onnx.load(source)
        nodes = [
            n for f in [m.graph, *m.functions] for g in (graphs(f) if f is m.graph else [f]) for n in g.node
        ]
        did = plant(m, nodes, random.Random(f"{name} {defect}"))
        if did is None:
            continue
        bad = folder / "bad.onnx"
        bad.write_bytes(m.SerializeToString())
        done = subprocess.run(
            [tool, "compare", source, bad, f"--check={SEEDS}"], capture_output=True, text=True
        )
        rows.append((defect, did, truth(source, bad, models.records()[name]), done.returncode))
    return rows


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    p.add_argument("--work", metavar="DIR")
    p.add_argument("--list", action="store_true", help="print every defect")
    a = p.parse_args()
    only = a.only or ([] if a.all else list(SHORT))
    counts, kinds, bad = {"found": 0, "harmless": 0, "near": 0, "not run": 0}, set(), []
    with models.work_folder(a.work) as work, models.work_folder(None) as temp:
        for name in models.chosen(only):
            (source,) = models.filled([name], work).values()
            for defect, did, verdict, status in examine(a.tool, name, source, pathlib.Path(temp)):
                line = f"{name}: {defect} ({did}): results {verdict}, status {status}"
                if a.list:
                    print(line)
                if verdict.startswith("not run"):
                    counts["not run"] += 1
                    # ONNX Runtime refuses the model, or shapes differ: the tool has to say so, too
                    if status == SAME:
                        bad.append(line)
                elif verdict == "differs":
                    counts["found"] += status == FOUND
                    kinds.add(defect)
                    if status != FOUND:
                        bad.append(line)
                elif verdict == "same":
                    counts["harmless"] += 1
                    if status != SAME:
                        bad.append(line)
                else:
                    counts["near"] += 1
    for line in bad:
        print(f"WRONG {line}")
    print(
        ", ".join(f"{n} {what}" for what, n in counts.items())
        + f"; {len(kinds)} kinds found, {len(bad)} wrong"
    )
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
