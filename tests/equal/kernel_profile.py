#!/usr/bin/env python3
# TIER: nightly
# WHEN: share/graphopt/devices/ort-cpu.json tools/requirements.txt
"""ort-cpu against ONNX Runtime: a node is supported by the profile where the runtime has a kernel.

  kernel_profile.py GRAPHOPT [--opsets N ...] [--only OPERATOR ...]

For each operator whose node needs no attribute, each opset and each choice of element types that the
standard allows, the runtime makes a session of one node. "Could not find an implementation" must be a refusal
of the profile, and any other answer support, except where the runtime has a way without a kernel, a function
body, and where graphopt does not know a type. Half precision is left out: there the runtime puts casts around
nodes. Operands have no shape: only types count.
"""

import argparse
import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.tool import executable  # noqa: E402

TYPES = {
    "tensor(float)": TensorProto.FLOAT,
    "tensor(double)": TensorProto.DOUBLE,
    "tensor(bool)": TensorProto.BOOL,
    "tensor(string)": TensorProto.STRING,
    **{
        f"tensor({s}int{b})": TensorProto.DataType.Value(f"{s}int{b}".upper())
        for s in ("", "u")
        for b in (8, 16, 32, 64)
    },
}
MOST = 200  # choices of types for one operator and opset
NO_KERNEL = "Could not find an implementation"


def schemas(opset):
    """The operators of ai.onnx in force in this opset."""
    found = {}
    for s in onnx.defs.get_all_schemas_with_history():
        if s.domain == "" and s.since_version <= opset:
            if s.name not in found or found[s.name].since_version < s.since_version:
                found[s.name] = s
    return [s for _, s in sorted(found.items()) if not s.deprecated]


def cases(schema):
    """(input types, output types) of a node with all its operands, for every choice of the type variables."""
    formal = [*schema.inputs, *schema.outputs]
    if any(a.required for a in schema.attributes.values()) or not schema.inputs or not schema.outputs:
        return
    variables = sorted({f.type_str for f in formal})
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    choices = [[t for t in allowed.get(v, [v]) if t in TYPES] for v in variables]
    for chosen in itertools.islice(itertools.product(*choices), MOST):
        types = dict(zip(variables, chosen))
        yield (
            [TYPES[types[f.type_str]] for f in schema.inputs],
            [TYPES[types[f.type_str]] for f in schema.outputs],
        )


def value(name, dtype):
    return helper.make_tensor_value_info(name, dtype, None)


def model(schema, inputs, outputs, opset, index):
    ins = [f"i{index}_{k}" for k in range(len(inputs))]
    outs = [f"o{index}_{k}" for k in range(len(outputs))]
    node = helper.make_node(schema.name, ins, outs, f"{schema.name}_{index}")
    graph = helper.make_graph([node], "g", [*map(value, ins, inputs)], [*map(value, outs, outputs)])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", opset)])


def has_kernel(one):
    """False where the runtime says so; None where it refuses the node for something else."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    try:
        ort.InferenceSession(one.SerializeToString(), options, providers=["CPUExecutionProvider"])
    except Exception as e:  # the runtime's exceptions have no common base
        return False if NO_KERNEL in str(e) else None
    return True


def supported(binary, models, folder, opset):
    """{name of a node: its entry in the report} of all models in one."""
    graph = helper.make_graph(
        [n for m in models for n in m.graph.node],
        "g",
        [v for m in models for v in m.graph.input],
        [v for m in models for v in m.graph.output],
    )
    whole = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", opset)])
    path = pathlib.Path(folder) / "m.onnx"
    path.write_bytes(whole.SerializeToString())
    done = subprocess.run(
        [binary, "devices", "check", "ort-cpu", path, "--json"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return {n["name"]: n for n in json.loads(done.stdout)["listed"]}


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("binary", type=executable)
    p.add_argument("--opsets", type=int, nargs="+", default=[9, 13, 17, 21, 24, 28])
    p.add_argument("--only", nargs="*", default=[])
    a = p.parse_args()
    bad, yes, no, skipped = [], 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for opset in a.opsets:
            made = []
            for schema in schemas(opset):
                if not a.only or schema.name in a.only:
                    for inputs, outputs in cases(schema):
                        made.append((schema, model(schema, inputs, outputs, opset, len(made))))
            said = supported(a.binary, [m for _, m in made], folder, opset)
            for schema, one in made:
                entry, kernel = said[one.graph.node[0].name], has_kernel(one)
                unknown = " is not known" in entry.get("text", "")  # inference has no rule for the operator
                if kernel is None or (kernel and unknown):
                    skipped += 1
                elif kernel != entry["supported"] and not (
                    kernel and (schema.has_function or schema.has_context_dependent_function)
                ):
                    types = [v.type.tensor_type.elem_type for v in one.graph.input]
                    text = entry.get("text", "supported")
                    bad.append(f"opset {opset}: {schema.name} {types}: kernel {kernel}, {text}")
                yes, no = yes + (kernel is True), no + (kernel is False)
    print("\n".join(bad[:40]))
    print(f"{yes} with a kernel, {no} without, {skipped} refused for something else, {len(bad)} bad")
    return 1 if bad or not yes or not no else 0


if __name__ == "__main__":
    sys.exit(main())
