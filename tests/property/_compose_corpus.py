"""Pieces of compositions: the onnx package's backend cases that are small and draw no numbers.

A piece is a case's nodes and initializers, the recorded values of its inputs, and the versions of the
operators that it was written for. It may stand in a model of any opset in which its operators have those
versions.
"""

import dataclasses
import functools

import numpy as np
import onnx
import onnxruntime as ort

from lib import backend_cases, counting
from lib.compare import RANDOM

MOST_BYTES, MOST_NODES = 8000, 25
# Results of these depend on more than the inputs, or are drawn: no two runs need to agree.
LEFT_OUT = RANDOM | {"Dropout", "Multinomial"}
PLAIN = {np.dtype(t) for t in ("float32", "float64", "float16", "bool", "object", "int8", "int16", "int32")}
PLAIN |= {np.dtype(t) for t in ("int64", "uint8", "uint16", "uint32", "uint64")}


@dataclasses.dataclass
class Piece:
    name: str
    graph: onnx.GraphProto
    domains: dict  # of operators, with their versions; "" is that of the standard
    inputs: list  # of (name, TypeProto, value), in order, those with an initializer left out
    outputs: list  # names

    @property
    def operator(self):
        return self.graph.node[0].op_type if len(self.graph.node) == 1 else self.name


@functools.cache
def since(operator, version, domain):
    """The version of an operator that an opset has; None when it has none."""
    try:
        return onnx.defs.get_schema(operator, version, domain).since_version
    except onnx.defs.SchemaError:
        return None


def tensors(value):
    return value if isinstance(value, list) else [value]


def piece_of(case):
    """None for a case that no composition can use: it is large, draws numbers, calls functions of its own or
    takes what is no tensor or sequence of tensors of numpy's types."""
    m = case.model
    nodes = list(counting.nested(m.graph.node))
    if m.functions or len(nodes) > MOST_NODES or m.ByteSize() > 2 * MOST_BYTES or not case.sets or not nodes:
        return None
    if any(n.op_type in LEFT_OUT for n in nodes) or m.graph.sparse_initializer:
        return None
    ins, inputs = backend_cases.inputs_of(m.graph), []
    if len(ins) != len(case.sets[0][0]) or sum(map(len, case.sets[0][0])) > MOST_BYTES:
        return None
    for v, data in zip(ins, case.sets[0][0]):
        if v.type.WhichOneof("value") not in ("tensor_type", "sequence_type"):
            return None
        value = backend_cases.parsed(data, v.type)
        if not all(isinstance(x, np.ndarray) and x.dtype in PLAIN for x in tensors(value)):
            return None
        inputs.append((v.name, v.type, value))
    domains = {("" if o.domain == "ai.onnx" else o.domain): o.version for o in m.opset_import}
    if any(n.domain not in domains and not (n.domain == "ai.onnx" and "" in domains) for n in nodes):
        return None
    outputs = [o.name for o in m.graph.output]
    return Piece(case.name, m.graph, domains, inputs, outputs)


@functools.cache
def pieces():
    return [p for c in backend_cases.candidates() if (p := piece_of(c))]


@functools.cache
def newest_opset():
    """The newest opset that ONNX Runtime takes here."""
    for version in range(onnx.defs.onnx_opset_version(), 0, -1):
        x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
        y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])
        graph = onnx.helper.make_graph([onnx.helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
        opsets = [onnx.helper.make_opsetid("", version)]
        data = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()
        try:
            options = ort.SessionOptions()
            options.log_severity_level = 4
            ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
            return version
        except Exception:  # noqa: BLE001 - ONNX Runtime has many kinds
            continue
    raise RuntimeError("ONNX Runtime takes no opset")


@functools.cache
def by_operator(version):
    """{operator, or name for a case of several nodes: pieces that may stand in a model of this opset}"""
    found = {}
    for p in pieces():
        own = p.domains.get("", version)
        nodes = [n for n in counting.nested(p.graph.node) if n.domain in ("", "ai.onnx")]
        if all(since(n.op_type, own, "") == since(n.op_type, version, "") is not None for n in nodes):
            found.setdefault(p.operator, []).append(p)
    return found
