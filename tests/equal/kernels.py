#!/usr/bin/env python3
# TIER: nightly
# WHEN: src/ops/facts_kernels tools/requirements.txt
"""How ONNX Runtime's CPU provider computes operators: learnt, and compared with src/ops/facts_kernels.cpp.

  kernels.py GRAPHOPT [--only OPERATOR ...] [--print]

For each operator of the table, each opset that has it and each element type that its first result may have,
the runtime makes a session of one node, without optimizations, and writes what it made of it:

  kernel  the node alone
  casts   the node and Casts
  body    other nodes: ONNX's function body

A type of which it refuses the node counts as none of them. Equal answers of neighbouring opsets are one
row. Rows that differ from the table are printed; --print prints all rows as the table writes them. An
operator that a pass begins to ask about needs an entry in NODES and its rows in the table.
"""

import argparse
import pathlib
import re
import sys
import tempfile

import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.tool import executable  # noqa: E402

TABLE = pathlib.Path(__file__).resolve().parents[2] / "src" / "ops" / "facts_kernels.cpp"

# Operator: (its data operands, attributes). What differs by opset is in node().
NODES = {
    "Abs": (1, {}),
    "Add": (2, {}),
    "Attention": (3, {"q_num_heads": 1, "kv_num_heads": 1}),
    "Clip": (1, {}),
    "Concat": (2, {"axis": 0}),
    "ConstantOfShape": (0, {}),
    "CumSum": (1, {}),
    "DepthToSpace": (1, {"blocksize": 2}),
    "Div": (2, {}),
    "Equal": (2, {}),
    "Expand": (1, {}),
    "Flatten": (1, {}),
    "Gather": (1, {}),
    "GatherElements": (1, {}),
    "GatherND": (1, {}),
    "Gelu": (1, {}),
    "Gemm": (3, {}),
    "Greater": (2, {}),
    "GreaterOrEqual": (2, {}),
    "HardSigmoid": (1, {}),
    "HardSwish": (1, {}),
    "Identity": (1, {}),
    "LayerNormalization": (2, {}),
    "Less": (2, {}),
    "LessOrEqual": (2, {}),
    "MatMul": (2, {}),
    "Max": (2, {}),
    "Min": (2, {}),
    "Mish": (1, {}),
    "Mod": (2, {}),
    "Mul": (2, {}),
    "Neg": (1, {}),
    "NonZero": (1, {}),
    "RMSNormalization": (2, {}),
    "Range": (3, {}),
    "ReduceMax": (1, {}),
    "ReduceMin": (1, {}),
    "ReduceProd": (1, {}),
    "ReduceSum": (1, {}),
    "Relu": (1, {}),
    "Reshape": (1, {}),
    "Slice": (1, {}),
    "SpaceToDepth": (1, {"blocksize": 2}),
    "Split": (1, {"axis": 0}),
    "Squeeze": (1, {}),
    "Sub": (2, {}),
    "Tile": (1, {}),
    "Transpose": (1, {}),
    "Unsqueeze": (1, {}),
    "Where": (2, {}),
}
# Operators of which the types are those of the first data operand: the result has a type of its own.
BY_OPERAND = {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "NonZero"}
# Further operands: their types, in the order of the operands.
INTEGERS_AFTER = {
    "CumSum": [[]], "Expand": [[1]], "Gather": [[1]], "GatherElements": [[1]], "GatherND": [[1]],
    "Tile": [[1]],
}  # fmt: skip
# Element types by ONNX's name, and as C++ spells them.
NUMBERS = {name.lower(): number for name, number in TensorProto.DataType.items() if name != "UNDEFINED"}
SPELLED = {
    "bfloat16": "BFloat16", "bool": "Bool", "double": "Double", "float": "Float", "float16": "Float16",
    **{f"{u}int{b}": f"{u.upper()}Int{b}" for u in ("", "u") for b in (2, 4, 8, 16, 32, 64)},
    "string": "String", "complex64": "Complex64", "complex128": "Complex128",
    **{f"float{rest}": f"Float{rest.upper()}" for rest in (
        "8e4m3fn", "8e4m3fnuz", "8e5m2", "8e5m2fnuz", "8e8m0", "4e2m1", "6e2m3", "6e3m2")},
}  # fmt: skip
PLAIN = {"bool", "double", "float", "float16", *(f"{u}int{b}" for u in ("", "u") for b in (8, 16, 32, 64))}
WAYS = ("kernel", "casts", "body")


def model_of(operator, opset, dtype):
    count, attributes = NODES[operator]
    attributes, names = dict(attributes), [f"x{i}" for i in range(count)]
    inputs = [helper.make_tensor_value_info(n, dtype, None) for n in names]
    constants, results = [], ["y"]

    def integers(name, values, in_operand):
        if in_operand:
            constants.append(helper.make_tensor(name, TensorProto.INT64, [len(values)], values))
            names.append(name)
        else:
            attributes[name] = values

    for i, dims in enumerate(INTEGERS_AFTER.get(operator, ())):
        names.append(f"i{i}")
        inputs.append(helper.make_tensor_value_info(names[-1], TensorProto.INT64, dims or None))
    result = dtype
    if operator in BY_OPERAND:
        result = TensorProto.INT64 if operator == "NonZero" else TensorProto.BOOL
    if operator == "Where":
        names.insert(0, "c")
        inputs.append(helper.make_tensor_value_info("c", TensorProto.BOOL, None))
    if operator == "Slice":
        integers("starts", [0], opset >= 10)
        integers("ends", [1], opset >= 10)
    if operator == "Reshape":
        integers("shape", [-1], opset >= 5)
    elif operator in ("Squeeze", "Unsqueeze"):
        integers("axes", [0], opset >= 13)
    elif operator == "Split":
        results = ["y", "z"]
        if opset >= 18:
            attributes["num_outputs"] = 2
    elif operator == "ConstantOfShape":
        names.append("shape")
        inputs.append(helper.make_tensor_value_info("shape", TensorProto.INT64, [1]))
        attributes["value"] = helper.make_tensor("value", dtype, [1], [0])
    graph = helper.make_graph(
        [helper.make_node(operator, names, results, **attributes)],
        "g",
        inputs,
        [helper.make_tensor_value_info(r, result, None) for r in results],
        constants,
    )
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", opset)])


def way(operator, opset, dtype, folder):
    """One of WAYS, or None where the runtime refuses the node."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.optimized_model_filepath = f"{folder}/made.onnx"
    try:
        model = model_of(operator, opset, dtype).SerializeToString()
        ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception:  # noqa: BLE001  the runtime's exceptions have no common base
        return None
    made = [n.op_type for n in onnx.load(options.optimized_model_filepath).graph.node]
    if made == [operator]:
        return "kernel"
    return "casts" if sorted({*made}) == sorted({"Cast", operator}) else "body"


def types_of(schema):
    """ONNX's names of the element types that the first result may have."""
    slots = schema.inputs if schema.name in BY_OPERAND else schema.outputs
    variable = slots[0].type_str
    allowed = {c.type_param_str: c.allowed_type_strs for c in schema.type_constraints}
    found = (re.fullmatch(r"tensor\((\w+)\)", t) for t in allowed.get(variable, [variable]))
    return sorted(m[1] for m in found if m)


def learn(operator, folder):
    """[(opset, {way: types})], where the answer changes."""
    rows = []
    for opset in range(1, onnx.defs.onnx_opset_version() + 1):
        try:
            schema = onnx.defs.get_schema(operator, opset, "")
        except onnx.defs.SchemaError:
            continue
        found = {w: set() for w in WAYS}
        for t in types_of(schema):
            if w := way(operator, opset, NUMBERS[t], folder):
                found[w].add(t)
        if not rows and not any(found.values()):
            continue  # before the first kernel
        if not rows or rows[-1][1] != found:
            rows.append((opset, found))
    return rows


def written(types):
    plain = types >= PLAIN
    named = ", ".join(SPELLED[t] for t in sorted(types - PLAIN if plain else types))
    return " | ".join(
        [*(["kTypesOfOld"] if plain else []), *([f"types_in({named})"] if named or not plain else [])]
    )


def line(operator, since, found):
    return f"{{OpKind::{operator}, {since}, {', '.join(written(found[w]) for w in WAYS)}}},"


def read_table():
    """{operator: [(opset, {way: types})]} of the source."""
    text = TABLE.read_text(encoding="utf-8")
    body = re.search(r"kMeasured\[\] = \{(.*?)\n\};", text, re.DOTALL)[1]
    names, rows = {v: k for k, v in SPELLED.items()}, {}
    for row in re.finditer(r"\{OpKind::(\w+),\s*(\d+),([^{}]*)\}", body):
        sets = re.findall(
            r"(kTypesOfOld)?(?:\s*\|\s*)?(?:types_in\(([^()]*)\))?\s*(?:,|$)", row[3].strip() + ","
        )
        sets = sets[: len(WAYS)]
        found = {
            w: {*(PLAIN if plain else ()), *(names[t] for t in re.findall(r"\w+", listed))}
            for w, (plain, listed) in zip(WAYS, sets, strict=True)
        }
        rows.setdefault(row[1], []).append((int(row[2]), found))
    return rows


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("binary", type=executable, metavar="GRAPHOPT", help="not run: the table is a source")
    p.add_argument("--only", nargs="*", default=[])
    p.add_argument("--print", action="store_true")
    a = p.parse_args()
    table, bad, rows, asked = read_table(), [], 0, a.only or [*NODES]
    if not a.only and table.keys() != NODES.keys():
        bad.append(f"in the table or in NODES alone: {sorted(table.keys() ^ NODES.keys())}")
    with tempfile.TemporaryDirectory() as folder:
        for operator in asked:
            learnt = learn(operator, folder)
            rows += len(learnt)
            if a.print:
                print("\n".join(f"    {line(operator, *row)}" for row in learnt))
            for row in learnt:
                if row not in table.get(operator, []):
                    bad.append(f"learnt:    {line(operator, *row)}")
            for row in table.get(operator, []):
                if row not in learnt:
                    bad.append(f"not true:  {line(operator, *row)}")
    if not a.print:
        print("\n".join(bad))
    print(f"{len(asked)} operators, {rows} rows learnt, {len(bad)} bad", file=sys.stderr)
    return 1 if bad or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
