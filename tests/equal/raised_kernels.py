#!/usr/bin/env python3
# TIER: nightly
# WHEN: src/passes/raise_ tools/requirements.txt
"""Where raising pays, by operator, opset and element type: learnt from ONNX Runtime, held against graphopt.

  raised_kernels.py GRAPHOPT [--only TEXT] [-v]

The passes raise-activations, raise-norms and raise-shuffles write one operator for a subgraph. Each subgraph
is made here in each floating type, those that move elements also of bytes, at several opsets. Then

  where graphopt raises it, ONNX Runtime must load and run the result with its optimizations on and off, give
    close results, and keep no more nodes than of the original: what it expands or casts counts;
  where graphopt does not, ONNX Runtime must refuse the operator, or keep as many nodes of it as of the
    original, or more; or there is another reason (KEPT). Otherwise src/passes/raise_rule.cpp is out of date.

Swish, which no rule writes, is in the list, too: a runtime that gets a kernel for it turns the second part
red.
"""

import argparse
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime as ort

import onnx
from onnx import TensorProto, helper

TYPES = {"float16": TensorProto.FLOAT16, "float": TensorProto.FLOAT, "double": TensorProto.DOUBLE}
BYTES = {"int8": TensorProto.INT8, "uint8": TensorProto.UINT8}  # for operators that move elements
NUMPY = {"float16": np.float16, "float": np.float32, "double": np.float64, "int8": np.int8, "uint8": np.uint8}
SHAPE = [2, 4, 8, 6]

# The standard computes normalizations in float, whatever the type is (stash_type): raising would lose digits
# of double. ONNX Runtime expands the others at opset 18, where it casts them at all other opsets.
KEPT = {
    ("LayerNormalization", "double"), ("RMSNormalization", "double"),
    ("HardSigmoid", "float16"), ("HardSwish", "float16"),
}  # fmt: skip


def gelu(root):
    return [
        ("Div", ["x", root], "d"), ("Erf", ["d"], "e"), ("Add", ["e", 1], "a"),
        ("Mul", ["x", "a"], "p"), ("Mul", ["p", 0.5], "y"),
    ]  # fmt: skip


GELU_TANH = [
    ("Pow", ["x", 3], "q"), ("Mul", ["q", 0.044715], "m"), ("Add", ["x", "m"], "s"),
    ("Mul", ["s", 0.7978845608028654], "i"), ("Tanh", ["i"], "t"), ("Add", ["t", 1], "a"),
    ("Mul", ["x", 0.5], "h"), ("Mul", ["h", "a"], "y"),
]  # fmt: skip
HARD = [("Add", ["x", 3], "a"), ("Clip", ["a", 0, 6], "c")]
ROOT = [("ReduceMean", ["q", [-1]], "v"), ("Add", ["v", 0.01], "w"), ("Sqrt", ["w"], "z")]
CENTRED = [("ReduceMean", ["x", [-1]], "m"), ("Sub", ["x", "m"], "d"), ("Mul", ["d", "d"], "q"), *ROOT]

# name: (operator, its first opset, its attributes, nodes of the subgraph)
FAMILIES = {
    "hard-sigmoid": ("HardSigmoid", 13, {"alpha": 1 / 6}, [*HARD, ("Div", ["c", 6], "y")]),
    "hard-swish": ("HardSwish", 14, {}, [*HARD, ("Mul", ["x", "c"], "p"), ("Div", ["p", 6], "y")]),
    "mish": ("Mish", 18, {}, [("Softplus", ["x"], "s"), ("Tanh", ["s"], "t"), ("Mul", ["x", "t"], "y")]),
    "swish": ("Swish", 24, {}, [("Sigmoid", ["x"], "s"), ("Mul", ["x", "s"], "y")]),
    "gelu": ("Gelu", 20, {}, gelu(2**0.5)),
    "gelu-tanh": ("Gelu", 20, {"approximate": "tanh"}, GELU_TANH),
    "depth-to-space": (
        "DepthToSpace", 13, {"blocksize": 2},
        [("Reshape", ["x", [2, 2, 2, 1, 8, 6]], "a"), ("Transpose", ["a"], "b", {"perm": [0, 3, 4, 1, 5, 2]}),
         ("Reshape", ["b", [2, 1, 16, 12]], "y")],
    ),
    "depth-to-space-crd": (
        "DepthToSpace", 13, {"blocksize": 2, "mode": "CRD"},
        [("Reshape", ["x", [2, 1, 2, 2, 8, 6]], "a"), ("Transpose", ["a"], "b", {"perm": [0, 1, 4, 2, 5, 3]}),
         ("Reshape", ["b", [2, 1, 16, 12]], "y")],
    ),
    "space-to-depth": (
        "SpaceToDepth", 13, {"blocksize": 2},
        [("Reshape", ["x", [2, 4, 4, 2, 3, 2]], "a"), ("Transpose", ["a"], "b", {"perm": [0, 3, 5, 1, 2, 4]}),
         ("Reshape", ["b", [2, 16, 4, 3]], "y")],
    ),
    "layer-norm": (
        "LayerNormalization", 17, {"epsilon": 0.01},
        [*CENTRED, ("Div", ["d", "z"], "r"), ("Mul", ["r", "scale"], "t"), ("Add", ["t", "scale"], "y")],
    ),
    "rms-norm": (
        "RMSNormalization", 23, {"epsilon": 0.01},
        [("Mul", ["x", "x"], "q"), *ROOT, ("Div", ["x", "z"], "r"), ("Mul", ["r", "scale"], "y")],
    ),
}  # fmt: skip
OPSETS = range(13, onnx.defs.onnx_opset_version() + 1)


def model_of(nodes, type_name, opset):
    constants, made = {}, []
    dtype = NUMPY[type_name]

    def constant(value):
        name = f"c{len(constants)}"
        array = np.array(value, np.int64) if isinstance(value, list) else np.array(value, dtype)
        constants[name] = onnx.numpy_helper.from_array(array, name)
        return name

    for op, operands, result, *attributes in nodes:
        given = dict(attributes[0]) if attributes else {}
        if op == "ReduceMean" and opset < 18:
            given["axes"] = operands[1]
            operands = operands[:1]
        names = [o if isinstance(o, str) else constant(o) for o in operands]
        made.append(helper.make_node(op, names, [result], **given))
    t = {**TYPES, **BYTES}[type_name]
    inputs = [helper.make_tensor_value_info("x", t, SHAPE)]
    if any("scale" in n.input for n in made):
        inputs.append(helper.make_tensor_value_info("scale", t, SHAPE[-1:]))
    graph = helper.make_graph(
        made, "g", inputs, [helper.make_tensor_value_info("y", t, None)], list(constants.values())
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def operator_of(operator, attributes, nodes, type_name, opset):
    scale = [o for n in nodes for o in n[1] if o == "scale"]
    return model_of([(operator, ["x", *scale], "y", attributes)], type_name, opset)


def run(model, folder, on):
    """(result, nodes that ONNX Runtime keeps); raises what it raises."""
    target = f"{folder}/kept.onnx"
    o = ort.SessionOptions()
    o.graph_optimization_level = (
        ort.GraphOptimizationLevel.ORT_ENABLE_ALL if on else ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    )
    o.optimized_model_filepath, o.log_severity_level, o.intra_op_num_threads = target, 4, 1
    session = ort.InferenceSession(model.SerializeToString(), o, providers=["CPUExecutionProvider"])
    kept = len(onnx.load(target).graph.node)
    rng, feeds = np.random.default_rng(1), {}
    for v in session.get_inputs():
        kind = NUMPY[v.type.removeprefix("tensor(").removesuffix(")")]
        feeds[v.name] = rng.uniform(0 if kind == np.uint8 else -4, 4, v.shape).astype(kind)
    return session.run(None, feeds)[0], kept


def tried(model, folder):
    """[(result, nodes) with optimizations off, on], or the text of the refusal."""
    try:
        return [run(model, folder, on) for on in (False, True)]
    except Exception as e:  # noqa: BLE001
        return " ".join(str(e).split())[:100]


def examine(tool, name, type_name, opset, folder):
    """(verdict, problem or None) of one subgraph."""
    operator, _, attributes, nodes = FAMILIES[name]
    original = model_of(nodes, type_name, opset)
    source, target = f"{folder}/source.onnx", f"{folder}/target.onnx"
    onnx.save(original, source)
    passes = "--passes=raise-activations,raise-norms,raise-shuffles"
    subprocess.run([tool, source, "-o", target, passes, "-q"], check=True)
    result = onnx.load(target)
    raised = any(n.op_type == operator for n in result.graph.node)
    before = tried(original, folder)
    if raised:
        if isinstance(before, str):
            return "raised; the original does not run", None
        after = tried(result, folder)
        if isinstance(after, str):
            return "raised", f"ONNX Runtime refuses the result: {after}"
        for (x, kept_before), (y, kept_after), level in zip(before, after, ("off", "on"), strict=True):
            if kept_after > kept_before:
                return "raised", f"{kept_before} nodes became {kept_after}, optimizations {level}"
            u = 0 if type_name in BYTES else np.finfo(x.dtype).eps
            if not np.allclose(x, y, rtol=64 * u, atol=64 * u):
                return "raised", f"the results differ by {np.max(np.abs(x - y))}, optimizations {level}"
        return f"raised, {before[1][1]} -> {after[1][1]} nodes", None
    if isinstance(before, str):
        return "the original does not run", None
    one = tried(operator_of(operator, attributes, nodes, type_name, opset), folder)
    if isinstance(one, str):
        return f"kept: {one}", None
    fewer = all(a[1] < b[1] for a, b in zip(one, before, strict=True))
    if not fewer or (operator, type_name) in KEPT:
        return f"kept, {before[1][1]} -> {one[1][1]} nodes", None
    return "kept", f"it would pay: {before[1][1]} nodes for {one[1][1]}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--only", default="", metavar="TEXT", help="of a family's name")
    p.add_argument("-v", action="store_true", help="all verdicts")
    a = p.parse_args()
    count = bad = raised = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, family in FAMILIES.items():
            for opset in (o for o in OPSETS if o >= family[1]) if a.only in name else ():
                moves = family[0] in ("DepthToSpace", "SpaceToDepth")
                for type_name in [*TYPES, *(BYTES if moves else ())]:
                    verdict, problem = examine(a.tool, name, type_name, opset, folder)
                    count, bad, raised = count + 1, bad + bool(problem), raised + verdict.startswith("raised")
                    if problem or a.v:
                        print(
                            f"{name:14} {opset:3} {type_name:8} {verdict}{problem and ': ' + problem or ''}"
                        )
    print(f"{count} subgraphs, {raised} raised, {bad} bad")
    return 1 if bad or not raised else 0


if __name__ == "__main__":
    sys.exit(main())
