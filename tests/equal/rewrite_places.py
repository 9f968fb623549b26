#!/usr/bin/env python3
"""Places in real exports where an anchor feeds a deformation and that feeds an elementwise node: each must be
decided.

  rewrite_places.py GRAPHOPT [--work DIR]

tests/vectors/rewrites/places.csv names them by model and by the results of the two nodes. Most stand in the
form that other tools leave behind, so the models are brought into it first: a MatMul with constant weights
and the Add of its bias become Reshape, Gemm and a Reshape back, whose target is computed from the shape of
the operand. After the run the elementwise node must not read the deformation any more, or --explain must give
a reason; `shape-unknown` and `not-writable` are no reasons, there a fact or a form is missing. Prints what
became of the places per model. --work keeps the filled models.
"""

import argparse
import collections
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

import onnx
from onnx import helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import graph_comparison, models, reordering, vectors  # noqa: E402
from lib.tool import HOIST  # noqa: E402

UNDECIDED = {"shape-unknown", "not-writable"}


def with_gemms(model, places):
    """Brings the model into the other form at the places where an Add gives the deformation's result."""
    graph = model.graph
    made = {o: n for n in graph.node for o in n.output}
    weights = {t.name: list(t.dims) for t in graph.initializer}
    uses = collections.Counter(i for n in graph.node for i in n.input)
    replaced, dropped = {}, set()
    for result in {deformation for deformation, _ in places}:
        add = made.get(result)
        if add is None or add.op_type != "Add":
            continue
        bias = next((i for i in add.input if len(weights.get(i, [])) == 1), None)
        product = made.get(next((i for i in add.input if i != bias), None))
        if bias is None or product is None or product.op_type != "MatMul" or uses[product.output[0]] > 1:
            continue
        if len(weights.get(product.input[1], [])) == 2:
            replaced[result] = gemm_nodes(graph, result, *product.input, bias, weights[product.input[1]])
            dropped.add(product.output[0])
    nodes = []
    for n in graph.node:
        if n.output[0] not in dropped:
            nodes += replaced.get(n.output[0], [n])
    reordering.replace(graph.node, nodes)
    return model


def gemm_nodes(graph, result, operand, weight, bias, dims):
    """Nodes that compute `result` = operand x weight + bias by a Gemm, and their constants in the graph."""

    def ints(name, *values):
        tensor = helper.make_tensor(f"{result}.{name}", onnx.TensorProto.INT64, [len(values)], values)
        graph.initializer.append(tensor)
        return tensor.name

    names = {k: f"{result}.{k}" for k in ("rows", "gemm", "shape", "batch", "target")}
    return [
        helper.make_node("Reshape", [operand, ints("flat", -1, dims[0])], [names["rows"]]),
        helper.make_node("Gemm", [names["rows"], weight, bias], [names["gemm"]]),
        helper.make_node("Shape", [operand], [names["shape"]]),
        helper.make_node("Slice", [names["shape"], ints("first", 0), ints("last", -1)], [names["batch"]]),
        helper.make_node("Concat", [names["batch"], ints("width", dims[1])], [names["target"]], axis=0),
        helper.make_node("Reshape", [names["gemm"], names["target"]], [result]),
    ]


def standing(model, places):
    """The places whose elementwise node reads the result of the deformation."""
    made = {o: n for n in model.graph.node for o in n.output}
    found = set()
    for deformation, elementwise in places:
        reader = made.get(elementwise)
        for v in (deformation, deformation + "_moved"):
            if reader and v in reader.input and v in made:
                if made[v].op_type in graph_comparison.DEFORMATIONS:
                    found.add((deformation, elementwise))
    return found


def reasons_of(tool, source, folder):
    """{value: reasons why a candidate there was refused}"""
    report = pathlib.Path(folder, "report.json")
    command = [tool, source, "-o", f"{folder}/out.onnx", "-q", "--report", str(report)]
    subprocess.run([*command, "--explain", ",".join(HOIST)], check=True, stdout=subprocess.DEVNULL)
    reasons = collections.defaultdict(set)
    for entry in json.loads(report.read_text(encoding="utf-8"))["explain"]:
        reasons[entry["value"]].add(entry["reason"])
    return reasons


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--work", metavar="DIR", help="filled models are kept there and used again")
    a = p.parse_args()
    by_model, bad = collections.defaultdict(list), 0
    with open(vectors.FOLDER / "rewrites" / "places.csv", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            by_model[row["model"]].append((row["deformation_output"], row["elementwise_output"]))
    with models.work_folder(a.work) as work, tempfile.TemporaryDirectory() as temp:
        for name, path in models.filled(sorted(by_model), work).items():
            places, source = by_model[name], f"{temp}/in.onnx"
            model = with_gemms(onnx.load(path), places)
            onnx.save(model, source)
            before, reasons = standing(model, places), reasons_of(a.tool, source, temp)
            after, count = standing(onnx.load(f"{temp}/out.onnx"), places), collections.Counter()
            for place in places:
                found = reasons[place[0]] | reasons[place[0] + "_moved"]
                what = ", ".join(sorted(found)) or "no reason"
                if place not in before:
                    what = "not in the model"
                elif place not in after:
                    what = "gone"
                count[what] += 1
                if place not in before or (place in after and (not found or found & UNDECIDED)):
                    bad += 1
                    print(f"  {name}: {place[0]} -> {place[1]}: {what}")
            print(f"{name:<24}{len(places):>4} places: {dict(count)}", flush=True)
    total = sum(map(len, by_model.values()))
    print(f"{total} places, {bad} undecided")
    return 1 if bad or not total else 0


if __name__ == "__main__":
    sys.exit(main())
