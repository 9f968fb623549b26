#!/usr/bin/env python3
"""Does `graphopt map A B --bisect` name the operator that makes the results differ?

  mapping_faults.py GRAPHOPT [--faults N] [--pairs N] [--models NAME,...] [--changes NAME,...] [--seed N]
                    [--drawn] [--python PYTHON] [--work DIR] [--json FILE]

Takes pairs of graphs as benchmarks/mapping.py makes them (and keeps them in --work): --pairs (20) of them,
drawn, models in float16 and quantized ones always among them. --faults (200) are drawn in their B, each of
one operator whose result has float numbers:

  weight      a constant operand, of this operator alone, times 1.3 plus 0.05
  attribute   another axis, epsilon, alpha, mode ...
  order       the operands of an operator for which their order matters, swapped
  type        an operand goes through float16, bfloat16 or int32 and back
  missing     the operator is left out; what read its result reads its operand

A fault counts if B still runs and an output then differs by far more than before and than the types of the
model round. The tool gets the inputs on which that was seen; with --drawn it draws its own. A fault is named
if an entry of `first` has the operator (for `missing`: what reads in its stead, or what it was in A; for
`type`: the Casts too) as `b` or in its region, and named alone if there is no other entry. Printed per pair
and in all: faults, named, named alone, operators in the region (median, largest); and `alarm` where the pair
without a fault gives exit status 3. Exit status 1 when a fault is not named or there is an alarm.
"""

import argparse
import collections
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import _mapping_pairs as pairs
from _mapping_graph import Operators, attributes, first_result, is_own_opset
from _pairs import models
from lib import compare, inputs

CHANGES = ("rename", "decompose", "opset", "graphopt_o2", "graphopt_o3", "onnxslim", "float16")
ALWAYS = ("qdq_resnet", "q4_llama", "fp16_bert")
KINDS = ("weight", "attribute", "order", "type", "missing")
LARGEST = 40 << 20  # bytes of a model
LIMIT = 300  # seconds for the tool
TRIES = 60  # draws for one fault
PLAINLY, OF_COARSE = 3e-3, 5e-2  # differences of outputs that are no rounding, the latter of models with
COARSE = (np.float16, np.int8, np.uint8)
NUMBERS = {"epsilon": 1e4, "alpha": 1.7, "beta": 1.7, "gamma": 1.4, "scale": 1.6, "bias": 1.5, "lambd": 1.5}
SWAPPED = {"Sub", "Div", "Pow", "MatMul", "Less", "Greater", "PRelu", "Where", "Concat", "Gemm"}
BYPASSED = {
    *(
        "Relu",
        "Sigmoid",
        "Tanh",
        "Gelu",
        "Erf",
        "Clip",
        "Softmax",
        "Neg",
        "Sqrt",
        "Exp",
        "LeakyRelu",
        "HardSigmoid",
    ),
    *(
        "HardSwish",
        "LayerNormalization",
        "BatchNormalization",
        "InstanceNormalization",
        "Add",
        "Mul",
        "Sub",
        "Div",
    ),
    *(
        "Pow",
        "Reciprocal",
        "FastGelu",
        "QuickGelu",
        "Softplus",
        "LogSoftmax",
        "Elu",
        "Floor",
        "Round",
        "Sin",
        "Cos",
    ),
}


class Site:
    """An operator of B with what a fault needs to know."""

    def __init__(self, model, place, values, constants):
        self.model, self.place, self.values, self.constants = model, place, values, constants
        self.node = model.graph.node[place]
        self.name = first_result(self.node)

    def is_float(self, name):
        if name in self.constants and self.constants[name] is not None:
            return self.constants[name].data_type in (TensorProto.FLOAT, TensorProto.FLOAT16)
        v = self.values.get(name)
        return isinstance(v, np.ndarray) and v.dtype in (np.float32, np.float16)

    def shape(self, name):
        if self.constants.get(name) is not None:
            return tuple(self.constants[name].dims)
        v = self.values.get(name)
        return v.shape if isinstance(v, np.ndarray) else None


def weight(site, draw):
    slots = [
        k for k, x in enumerate(site.node.input) if site.constants.get(x) is not None and site.is_float(x)
    ]
    if not slots:
        return None
    slot = draw.choice(slots)
    array = numpy_helper.to_array(site.constants[site.node.input[slot]])
    name = "fault_weight"
    site.model.graph.initializer.append(
        numpy_helper.from_array((array * 1.3 + 0.05).astype(array.dtype), name)
    )
    site.node.input[slot] = name
    return {site.name}


def attribute(site, draw):
    n, given, fit = site.node, attributes(site.node), []
    for key, value in given.items():
        if key in NUMBERS and isinstance(value, float):
            fit.append((key, value * NUMBERS[key]))
    rank = len(site.shape(n.input[0]) or ()) if n.input else 0
    if n.op_type in ("Softmax", "LogSoftmax", "LayerNormalization", "CumSum") and rank > 1:
        fit.append(("axis", draw.randrange(rank)))
    if n.op_type in ("Softmax", "LogSoftmax") and rank > 1:
        fit.append(("axis", (given.get("axis", -1) % rank + rank - 1) % rank))
    if n.op_type == "Gemm":
        fit.append(("alpha", 1.5 * given.get("alpha", 1.0)))
    if n.op_type in ("LayerNormalization", "BatchNormalization", "InstanceNormalization"):
        fit.append(("epsilon", 0.3))
    if n.op_type == "Transpose" and rank > 1:
        perm = list(given.get("perm", range(rank)[::-1]))
        i, j = draw.sample(range(rank), 2)
        perm[i], perm[j] = perm[j], perm[i]
        fit.append(("perm", perm))
    if n.op_type == "Conv" and len(pads := list(given.get("pads", ()))) == 4 and pads[0] == pads[2] > 0:
        fit.append(("pads", [pads[0] - 1, pads[1], pads[2] + 1, pads[3]]))
    if n.op_type == "AveragePool":
        fit.append(("count_include_pad", 1 - given.get("count_include_pad", 0)))
    if n.op_type == "Resize":
        is_nearest = given.get("mode", b"nearest") == b"nearest"
        fit.append(("mode", "linear" if is_nearest else "nearest"))
    if n.op_type == "Gelu":
        fit.append(("approximate", "none" if given.get("approximate", b"none") == b"tanh" else "tanh"))
    if n.op_type == "Concat":
        fit.append(("axis", draw.randrange(-2, 2)))
    if not fit:
        return None
    key, value = draw.choice(fit)
    for k, a in enumerate(n.attribute):
        if a.name == key:
            del n.attribute[k]
            break
    n.attribute.append(helper.make_attribute(key, value))
    return {site.name}


def order(site, draw):
    n = site.node
    if (
        n.op_type not in SWAPPED
        or len(n.input) < 2
        or n.op_type in ("Gemm",)
        and attributes(n).get("transB", 0)
    ):
        return None
    i, j = (1, 2) if n.op_type == "Where" else (0, 1)
    if site.constants.get(n.input[j]) is None and n.input[i] == n.input[j]:
        return None
    n.input[i], n.input[j] = n.input[j], n.input[i]
    return {site.name}


def kind(site, draw):
    slots = [k for k, x in enumerate(site.node.input) if x and x not in site.constants and site.is_float(x)]
    if not slots:
        return None
    slot = draw.choice(slots)
    x = site.node.input[slot]
    own = TensorProto.FLOAT16 if site.values[x].dtype == np.float16 else TensorProto.FLOAT
    through = draw.choice(
        [TensorProto.BFLOAT16, TensorProto.INT32, *([TensorProto.FLOAT16] if own == 1 else [])]
    )
    there = helper.make_node("Cast", [x], ["fault_there"], to=through)
    back = helper.make_node("Cast", ["fault_there"], ["fault_back"], to=own)
    site.node.input[slot] = "fault_back"
    for added in (back, there):
        site.model.graph.node.insert(site.place, added)
    return {site.name, "fault_there", "fault_back"}


def missing(site, draw):
    n = site.node
    if n.op_type not in BYPASSED or site.name in {o.name for o in site.model.graph.output}:
        return None
    operands = [
        x for x in n.input if x and x not in site.constants and site.shape(x) == site.shape(site.name)
    ]
    if not operands:
        return None
    x, found = draw.choice(operands), set()
    for m in site.model.graph.node:
        for k, v in enumerate(m.input):
            if v == site.name:
                m.input[k] = x
                found.add(first_result(m))
    del site.model.graph.node[site.place]
    return found


MAKERS = {"weight": weight, "attribute": attribute, "order": order, "type": kind, "missing": missing}


def outputs_of(model, feeds):
    return compare.results(compare.session(model.SerializeToString()), feeds)


def changes_outputs(before, after, usual):
    """Whether an output differs by more than is usual."""
    worst = 0.0
    for name, a in before.items():
        far = compare.difference(a, after[name])  # raises Unlike for another shape
        if isinstance(a, np.ndarray) and a.dtype.kind == "f":
            worst = max(worst, far)
    return worst > usual


class Bench:
    """A pair of graphs in which faults are drawn."""

    def __init__(self, name, path, change, folder, known):
        self.name, self.change, self.folder, self.known = name, change, folder, known
        record = models.records()[name]
        self.feeds = inputs.make(record, inputs.sizes(record, "default"))
        self.text = (folder / "B.onnx").read_bytes()
        model = onnx.ModelProto.FromString(self.text)
        self.values = pairs.executed(model, self.feeds)
        operators = Operators(model)
        self.constants = operators.constants
        coarse = any(isinstance(v, np.ndarray) and v.dtype in COARSE for v in self.values.values())
        self.usual = max(OF_COARSE if coarse else PLAINLY, 5 * known["difference"])
        self.results = {o.name: self.values[o.name] for o in model.graph.output}
        self.places = [
            k
            for k, n in enumerate(model.graph.node)
            if first_result(n) in operators.nodes
            and isinstance(v := self.values.get(first_result(n)), np.ndarray)
            and v.dtype.kind == "f"
            and (is_own_opset(n) or n.domain == "com.microsoft")
        ]

    def fault(self, sort, draw):
        """(model, names in B, names in A) of a fault; None when none was found."""
        for _ in range(TRIES):
            model = onnx.ModelProto.FromString(self.text)
            site = Site(model, draw.choice(self.places), self.values, self.constants)
            was = site.name
            names = MAKERS[sort](site, draw)
            if not names:
                continue
            try:
                changed = outputs_of(model, self.feeds)
                if changes_outputs(self.results, changed, self.usual):
                    in_a = {x for a, b, *_ in self.known["groups"] if was in b for x in a}
                    return model, names, in_a if sort == "missing" else set()
            except Exception:  # noqa: BLE001 - what does not run, or has other shapes, is no fault
                continue
        return None


def bisected(tool, a, b, feeds):
    """(exit status, the tool's `first`); feeds are {input: file}."""
    given = [word for name, path in feeds.items() for word in ("--input", f"{name}={path}")]
    done = subprocess.run(
        [tool, "map", str(a), str(b), "--bisect", "--json", *given], capture_output=True, timeout=LIMIT
    )
    if done.returncode not in (0, 3):
        raise RuntimeError(
            f"exit status {done.returncode}: {done.stderr.decode(errors='replace').strip()[-200:]}"
        )
    return done.returncode, json.loads(done.stdout).get("numeric", {}).get("first", [])


def judged(first, names, in_a):
    """(whether an entry names the fault, whether it is the only one, operators of its region)"""
    for entry in first:
        b = {entry["b"], *entry["region"]["b"]}
        a = {entry["a"], *entry["region"]["a"]}
        if b & names or a & in_a:
            return True, len(first) == 1, len(entry["region"]["b"])
    return False, False, 0


def benches(a, work):
    """The drawn pairs."""
    names = a.models.split(",") if a.models else []
    chosen = models.chosen(names, lambda r: r["filled_bytes"] <= LARGEST)
    draw, records, found = random.Random(a.seed), models.records(), models.filled(chosen, work)
    wanted = [(n, c) for n in chosen for c in a.changes.split(",")]
    draw.shuffle(wanted)
    seen = collections.Counter()
    first = [next((w for w in wanted if w[0] == n), None) for n in ALWAYS]
    wanted = [w for w in first if w] + [w for w in wanted if w not in first]
    made, originals = 0, {}
    for name, change in wanted:
        if made == a.pairs:
            return
        if seen[change] > a.pairs // len(CHANGES) + 1 and not a.models:
            continue
        originals.setdefault(name, pairs.Original(name, found[name], records[name]))
        folder, known = pairs.pair(originals[name], change, work, False, a.tool, a.python)
        if "unfit" in known:
            continue
        bench = Bench(name, found[name], change, folder, known)
        if len(bench.places) >= 5:
            made += 1
            seen[change] += 1
            yield bench


def measure(a, bench, count, draw, target):
    """The row of a pair."""
    row, files = {"model": bench.name, "change": bench.change, "faults": []}, {}
    if not a.drawn:
        for k, (name, array) in enumerate(bench.feeds.items()):
            files[name] = f"{target}.{k}.npy"
            np.save(files[name], array.astype(str) if array.dtype == object else array)  # texts
    try:
        status, first = bisected(a.tool, bench.folder / "A.onnx", bench.folder / "B.onnx", files)
        row["alarm"] = bool(status or first)
    except Exception as e:  # noqa: BLE001 - whatever the tool does is a result
        row["problem"] = f"{type(e).__name__}: {e}"[:300]
        row["alarm"] = True
    sorts = list(KINDS)
    draw.shuffle(sorts)
    for k in range(3 * count):
        if len(row["faults"]) == count:
            break
        sort = sorts[k % len(sorts)]
        found = bench.fault(sort, draw)
        if found is None:
            continue
        model, names, in_a = found
        onnx.save(model, target)
        entry = {"kind": sort, "b": sorted(names), "a": sorted(in_a)}
        try:
            _, first = bisected(a.tool, bench.folder / "A.onnx", target, files)
            entry["named"], entry["alone"], entry["region"] = judged(first, names, in_a)
            entry["first"] = [[f["a"], f["b"], len(f["region"]["b"])] for f in first[:5]]
        except Exception as e:  # noqa: BLE001
            entry.update(named=False, alone=False, region=0, problem=f"{type(e).__name__}: {e}"[:300])
        row["faults"].append(entry)
    return row


def print_row(name, faults, alarm):
    regions = [f["region"] for f in faults if f["named"]] or [0]
    print(
        f"{name:44}{len(faults):>7}{sum(f['named'] for f in faults):>7}{sum(f['alone'] for f in faults):>7}"
        f"{statistics.median(regions):>8g}{max(regions):>6}  {alarm}",
        flush=True,
    )


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--faults", type=int, default=200, metavar="N")
    p.add_argument("--pairs", type=int, default=20, metavar="N")
    p.add_argument("--models", metavar="NAME,...")
    p.add_argument("--changes", default=",".join(CHANGES), metavar="NAME,...")
    p.add_argument("--seed", type=int, default=1, metavar="N")
    p.add_argument("--drawn", action="store_true", help="the tool draws the inputs")
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--work", metavar="DIR", help="models and pairs are kept there and used again")
    p.add_argument("--json", metavar="FILE", help="write all rows there")
    a = p.parse_args()
    a.tool = os.path.abspath(a.tool)
    rows, draw = [], random.Random(a.seed)
    print(f"{'':44}{'faults':>7}{'named':>7}{'alone':>7}{'region':>8}{'most':>6}")
    with models.work_folder(a.work) as work:
        for bench in benches(a, work):
            count = -(-(a.faults - sum(len(r["faults"]) for r in rows)) // (a.pairs - len(rows)))
            row = measure(a, bench, count, draw, os.path.join(work, "faulty.onnx"))
            rows.append(row)
            alarm = row.get("problem", "alarm" if row["alarm"] else "")
            print_row(f"{row['model']} {row['change']}", row["faults"], alarm)
    if not rows:
        sys.exit("mapping_faults: there is no pair")
    print()
    faults = [f for r in rows for f in r["faults"]]
    for sort in KINDS:
        print_row(sort, [f for f in faults if f["kind"] == sort], "")
    alarms = sum(r["alarm"] for r in rows)
    print_row("all", faults, f"{alarms} alarms in {len(rows)} pairs without a fault")
    for r in rows:
        for f in r["faults"]:
            if not f["named"]:
                seen = f.get("problem") or f"first: {f['first']}"
                print(f"  not named: {r['model']} {r['change']} {f['kind']} {f['b']}: {seen}")
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 1 if alarms or not all(f["named"] for f in faults) else 0


if __name__ == "__main__":
    sys.exit(main())
