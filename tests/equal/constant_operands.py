#!/usr/bin/env python3
# TIER: nightly
# WHEN: src/ops/facts_constants tools/requirements.txt
"""Operands that ONNX Runtime refuses as constants when it loads a model, though it takes them computed.

  constant_operands.py GRAPHOPT [--all] [--only TEXT]

Inference functions read small operands (axes, lengths, pads) where these are constants, and some of them take
fewer types there than the operator's schema allows: Pad's function reads axes of int64 alone. A pass that
makes such an operand a constant makes a model that does not load. For each backend case of one operator, at
each of its versions, each operand in turn has each type that the schema allows for it alone, and the model is
loaded twice, with optimizations off: once with the operand behind an Identity, once as an initializer. Where
only the first loads, what graphopt makes of it has to load, too, at its default and with --exact. Each row of
the table in src/ops/facts_constants.cpp has to be found, so that none outlives its reason. The short form
takes one case of each operator's version and signature; --all all of them.
"""

import argparse
import collections
import re
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, defs, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import backend_cases  # noqa: E402
from lib.tool import executable, optimized  # noqa: E402

TABLE = Path(__file__).resolve().parents[2] / "src" / "ops" / "facts_constants.cpp"


def loads(model):
    """None, or what the runtime says."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as e:  # noqa: BLE001 - ONNX Runtime raises errors of many types
        return " ".join(str(e).split())
    return None


def types_alone(schema, slot):
    """The tensor types of operand `slot` that no other operand or result has to share."""
    formal = schema.inputs[min(slot, len(schema.inputs) - 1)]
    name = formal.type_str
    shared = sum(f.type_str == name for f in [*schema.inputs, *schema.outputs]) > 1
    if shared or formal.option == defs.OpSchema.FormalParameterOption.Variadic:
        return None
    for c in schema.type_constraints:
        if c.type_param_str == name:
            return sorted(re.sub(r"tensor\((\w+)\)", r"\1", t) for t in c.allowed_type_strs if "seq" not in t)
    return None


NUMPY = {"bool": np.bool_, "float": np.float32, "double": np.float64, "float16": np.float16}


def converted(value, name):
    kind = NUMPY.get(name) or getattr(np, name, None)
    if kind is None or not isinstance(value, np.ndarray) or value.dtype.kind not in "iufb":
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return value.astype(kind)


def model_with(case, feeds, version, slot, value, constant):
    (node,) = case.model.graph.node
    graph = onnx.GraphProto(name="g")
    copy = onnx.NodeProto.FromString(node.SerializeToString())
    name = node.input[slot]
    copy.input[slot] = "operand"
    for k, v in feeds.items():
        if k == name and list(node.input).count(k) == 1:
            continue
        given = next(i for i in case.model.graph.input if i.name == k)
        graph.input.append(given)
    graph.initializer.extend(t for t in case.model.graph.initializer if t.name != name)
    if constant:
        graph.initializer.append(numpy_helper.from_array(value, "operand"))
    else:
        graph.initializer.append(numpy_helper.from_array(value, "source"))
        graph.node.append(helper.make_node("Identity", ["source"], ["operand"]))
    graph.node.append(copy)
    graph.output.extend(case.model.graph.output)
    imports = {o.domain: o.version for o in case.model.opset_import} | {node.domain: version}
    opsets = [helper.make_opsetid(d, v) for d, v in imports.items()]
    return helper.make_model(graph, ir_version=8, opset_imports=opsets)


def operands_of(case):
    """Arrays by the name of the input; None where one is no tensor."""
    try:
        arrays = [numpy_helper.to_array(TensorProto.FromString(x)) for x in case.sets[0][0]]
    except Exception:  # noqa: BLE001 - a sequence or an optional
        return None
    return dict(zip([i.name for i in backend_cases.inputs_of(case.model.graph)], arrays))


def questions(only, every):
    """(case, operator, version, slot, type, model with the operand computed, the same with a constant)"""
    versions = collections.defaultdict(set)
    for schema in defs.get_all_schemas_with_history():
        versions[schema.domain, schema.name].add(schema.since_version)
    seen = set()
    for case in backend_cases.candidates():
        if len(case.model.graph.node) != 1 or only not in case.name or (feeds := operands_of(case)) is None:
            continue
        (node,) = case.model.graph.node
        given = {o.domain: o.version for o in case.model.opset_import}.get(node.domain, 1)
        for version in sorted(v for v in versions[node.domain, node.op_type] if v <= given):
            schema = defs.get_schema(node.op_type, version, node.domain)
            if schema.deprecated:
                continue
            for slot, name in enumerate(node.input):
                key = node.domain, node.op_type, version, slot, tuple(bool(i) for i in node.input)
                if name not in feeds or (not every and key in seen):
                    continue
                for t in types_alone(schema, slot) or [None]:
                    value = feeds[name] if t is None else converted(feeds[name], t)
                    if value is None or value.dtype == object:
                        continue
                    pair = [model_with(case, feeds, version, slot, value, c) for c in (False, True)]
                    if loads(pair[0]) is None:
                        seen.add(key)
                        yield case.name, node.op_type, version, slot, t or str(value.dtype), *pair


def main():
    p = argparse.ArgumentParser()
    p.add_argument("graphopt", type=executable)
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", default="")
    a = p.parse_args()
    asked, found, bad = 0, {}, []
    with tempfile.TemporaryDirectory() as folder:
        for name, operator, version, slot, kind, computed, constant in questions(a.only, a.all):
            asked += 1
            if (said := loads(constant)) is None:
                continue
            found.setdefault((operator, slot), []).append(f"{kind}@{version}")
            for options in ([], ["--exact"]):
                if problem := loads(optimized(a.graphopt, computed, folder, *options)):
                    bad.append(
                        f"{operator}@{version} {name}, operand {slot} of {kind} {options}: {problem[-200:]}"
                    )
                    bad.append(f"    as a constant: {said[-200:]}")
    for (operator, slot), kinds in sorted(found.items()):
        print(f"{operator}, operand {slot}: refused as a constant: {' '.join(sorted(set(kinds)))}")
    rows = re.findall(r"\{OpKind::(\w+), (\d+), DType", TABLE.read_text(encoding="utf-8"))
    if not a.only:
        bad.extend(
            f"{o}, operand {s}: in the table, and not found" for o, s in rows if (o, int(s)) not in found
        )
    for text in bad[:40]:
        print(text)
    print(f"{asked} operands asked, {len(bad)} problems")
    return 1 if bad or not asked else 0


if __name__ == "__main__":
    sys.exit(main())
