#!/usr/bin/env python3
# TIER: nightly
# LONG: --all
# WHEN: src/shapes/dim_names tools/requirements.txt
"""Names of extents that graphopt writes, and what onnx's inference makes of them: no run may contradict it.

  inferred_names.py GRAPHOPT [--all] [--only TEXT]

ONNX Runtime lets values share memory whose extents it takes for equal, and takes those for equal that onnx's
inference gives one name. Where an inference function carries a name to an extent that may be another one
(Slice of opset 10 does), a name that graphopt writes breaks the run. For each backend case of one
operator, at each of its versions, the node stands in a function, where no type of its results is declared,
and reads Reshape (x, Shape (x)) in place of each operand x that is no constant; --infer names the extents of
these. Bad is an extent of the node's results to which onnx.shape_inference gives, once the function is
inlined, a name that stands for another number, or another number, in the case's run. The short form takes
one case of each operator's version; --all all of them.
"""

import argparse
import collections
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import onnx
import onnx.inliner
import onnxruntime
from onnx import defs, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import backend_cases, runs  # noqa: E402
from lib.tool import executable, optimized  # noqa: E402

SMALL = 8  # elements of an integer operand that becomes a constant
# What onnx states without any name, and a run contradicts: nothing that graphopt writes makes it so.
KNOWN = {("", "Attention"): "its third result has an extent of 0 where the number of keys is unknown"}


def versions():
    found = collections.defaultdict(set)
    for schema in defs.get_all_schemas_with_history():
        found[schema.domain, schema.name].add(schema.since_version)
    return found


def model_at(case, feeds, version, constants):
    """(model, what it is fed): the node reads Reshapes of its operands, of which no extent is declared."""
    (node,) = case.model.graph.node
    first, graph, fed, names = [], onnx.GraphProto(name="g"), {}, {}
    for k, (name, value) in enumerate(feeds.items()):
        if constants and k > 0 and value.dtype.kind in "iu" and value.size <= SMALL:
            graph.initializer.append(numpy_helper.from_array(value, name))
            continue
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        graph.input.append(helper.make_tensor_value_info(name, kind, [None] * value.ndim))
        names[name], fed[name] = f"{name}__same", value
        first.append(helper.make_node("Shape", [name], [f"{name}__shape"]))
        first.append(helper.make_node("Reshape", [name, f"{name}__shape"], [names[name]]))
    copy = onnx.NodeProto.FromString(node.SerializeToString())
    operands = list(dict.fromkeys(i for i in node.input if i))
    copy.output[:] = [o and f"{o}__inner" for o in node.output]
    results = [o for o in node.output if o]
    identities = [helper.make_node("Identity", [f"{o}__inner"], [o]) for o in results]
    call = helper.make_node("F", [names.get(i, i) for i in operands], results, domain="local")
    graph.node.extend([*first, call])
    graph.initializer.extend(case.model.graph.initializer)
    graph.output.extend(onnx.ValueInfoProto(name=o) for o in results)
    graph.output.extend(onnx.ValueInfoProto(name=n) for n in names.values())
    imports = {o.domain: o.version for o in case.model.opset_import} | {node.domain: version}
    opsets = [helper.make_opsetid(d, v) for d, v in imports.items()]
    function = helper.make_function("local", "F", operands, results, [copy, *identities], opsets)
    opsets.append(helper.make_opsetid("local", 1))
    return helper.make_model(graph, ir_version=8, opset_imports=opsets, functions=[function]), fed


def contradicted(model, results):
    """Texts: extents of outputs to which inference gives a name or number that the run contradicts."""
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True, data_prop=True)
    types = {o.name: o.type.tensor_type for o in inferred.graph.output if o.type.HasField("tensor_type")}
    known = {}
    order = sorted(results, key=lambda name: not name.endswith("__same"))
    for name in order:
        value, t = results[name], types.get(name)
        if t is None or not isinstance(value, np.ndarray) or not t.HasField("shape"):
            continue
        if len(t.shape.dim) != value.ndim:
            yield f"{name} has rank {value.ndim}, not {len(t.shape.dim)}"
            continue
        for axis, (d, n) in enumerate(zip(t.shape.dim, value.shape)):
            said = d.dim_value if d.HasField("dim_value") else n
            if d.dim_param:
                said = known.setdefault(d.dim_param, n)
            if said != n:
                yield f"extent {axis} of {name} is {n}, but {d.dim_param or 'the number'} is {said}"


def inlined(model):
    """The model with its function in place, and the node's results as outputs."""
    made = onnx.inliner.inline_local_functions(model)
    identities = [n for n in made.graph.node if n.op_type == "Identity"]
    made.graph.output.extend(onnx.ValueInfoProto(name=n.input[0]) for n in identities)
    return made


def run(model, fed):
    session = runs.session(model)
    return dict(zip([o.name for o in session.get_outputs()], session.run(None, fed)))


def with_types(model, results):
    """The model with the types that operands have in a run."""
    for o in model.graph.output:
        if o.name.endswith("__same"):
            value = results[o.name]
            kind = helper.np_dtype_to_tensor_dtype(value.dtype)
            o.CopyFrom(helper.make_tensor_value_info(o.name, kind, value.shape))
    return model


def check(tool, folder, model, fed):
    """None where onnx or the runtime does not take the model; else what is wrong, "" for nothing. The runtime
    may take one that the standard forbids as long as it does not know the ranks: a Flatten of opset 9 with a
    negative axis. That is not judged."""
    try:
        onnx.shape_inference.infer_shapes(inlined(model), strict_mode=True, data_prop=True)
        run(with_types(inlined(model), run(inlined(model), fed)), fed)
    except Exception:  # noqa: BLE001 - ONNX Runtime and onnx raise errors of many types
        return None
    try:
        made = inlined(optimized(tool, model, folder, "-O0", "--infer"))
        results = run(made, fed)
    except Exception as e:  # noqa: BLE001
        return " ".join(str(e).split())[:300]
    return "; ".join(contradicted(made, results))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", default="", metavar="TEXT", help="cases whose name has this text")
    a = p.parse_args()
    warnings.simplefilter("ignore")
    onnxruntime.set_default_logger_severity(4)
    every, done, bad, counts = versions(), set(), 0, collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for case, node, feeds in backend_cases.nodes_alone(a.only):
            operator = node.domain, node.op_type
            for version in sorted(every[operator]):
                for constants in (False, True):
                    key = *operator, version, constants
                    if operator in KNOWN or (key in done and not a.all):
                        continue
                    model, fed = model_at(case, feeds, version, constants)
                    wrong = check(a.tool, folder, model, fed)
                    if wrong is None:
                        continue
                    done.add(key)
                    counts["models"] += 1
                    if wrong:
                        bad += 1
                        print(f"{case.name}, version {version}: {wrong}")
    print(f"{counts['models']} models, {len(done)} operators, versions and kinds of operands, {bad} bad")
    return 1 if bad or (not a.only and len(done) < 400) else 0


if __name__ == "__main__":
    sys.exit(main())
