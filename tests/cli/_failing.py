"""Models of many nodes, each with one place that a planted defect cannot stand, and the defects."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

WIDTH = 16


class Builder:
    """Blocks as exporters write them, one after the other."""

    def __init__(self, seed=1):
        self.rng = np.random.default_rng(seed)
        self.nodes, self.weights, self.count = [], [], 0
        self.weight("heads", np.array([0, 0, 4, 4], np.int64))
        self.weight("whole", np.array([0, 0, WIDTH], np.int64))
        self.weight("one", np.array(1, np.int64))

    def weight(self, name, array):
        self.weights.append(numpy_helper.from_array(array, name))
        return name

    def floats(self, *shape):
        self.count += 1
        return self.weight(f"w{self.count}", self.rng.normal(size=shape).astype(np.float32) / 4)

    def op(self, op_type, *inputs, **attributes):
        self.count += 1
        name = f"v{self.count}"
        self.nodes.append(helper.make_node(op_type, list(inputs), [name], f"n{self.count}", **attributes))
        return name

    def block(self, x, axis=-1):
        """Attention without queries, then two layers: 19 nodes."""
        mean = self.op("ReduceMean", x, keepdims=1)
        centred = self.op("Sub", x, mean)
        heads = self.op("Transpose", self.op("Reshape", centred, "heads"), perm=[0, 2, 1, 3])
        keys = self.op("Transpose", heads, perm=[0, 1, 3, 2])
        scores = self.op("Softmax", self.op("MatMul", heads, keys), axis=axis)
        mixed = self.op("Transpose", self.op("MatMul", scores, heads), perm=[0, 2, 1, 3])
        x = self.op("Add", x, self.op("Reshape", mixed, "whole"))
        h = self.op("Add", self.op("MatMul", x, self.floats(WIDTH, WIDTH)), self.floats(WIDTH))
        h = self.op("Mul", h, self.op("Sigmoid", h))
        length = self.op("Gather", self.op("Shape", x), "one")
        return self.op("Add", self.op("MatMul", h, self.floats(WIDTH, WIDTH)), self.op("Cast", length, to=1))

    def model(self, outputs, symbols=("batch", "length")):
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [*symbols, WIDTH])],
            [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs],
            self.weights,
        )
        for o in graph.output:  # of a rank that the checker wants to see
            o.CopyFrom(helper.make_tensor_value_info(o.name, TensorProto.FLOAT, [*symbols, WIDTH]))
        model = helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])
        model.doc_string = "a model that fails"
        return model


def graphs_of(graph):
    """The graph and all bodies in it."""
    yield graph
    for node in graph.node:
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                yield from graphs_of(a.g)


def count_nodes(model):
    return sum(len(g.node) for g in graphs_of(model.graph)) + sum(len(f.node) for f in model.functions)


def attribute(node, name, default):
    return next((helper.get_attribute_value(a) for a in node.attribute if a.name == name), default)


def makers(graph):
    return {o: n for n in graph.node for o in n.output if o}


# --- five models, and what fails on them --------------------------------------------------------------------


def wrong_attribute():
    """One Softmax of 30 has another axis."""
    b, x = Builder(), "x"
    for i in range(30):
        x = b.block(x, axis=2 if i == 17 else -1)
    return b.model([x])


def has_wrong_attribute(path):
    """Status 3 where MatMul is followed by a Softmax over axis 2: a wrong result."""
    graph = onnx.load(path).graph
    made = makers(graph)
    for n in graph.node:
        before = made.get(n.input[0]) if n.op_type == "Softmax" else None
        if before is not None and before.op_type == "MatMul" and attribute(n, "axis", -1) == 2:
            return 3
    return 0


def operator_in_branch():
    """Some of the blocks are in branches of an If; one of these has an Erf."""
    b, x = Builder(), "x"
    for i in range(24):
        x = b.block(x)
        if i % 6 != 2:
            continue
        flag = b.op("Greater", b.op("ReduceMax", x, keepdims=0), b.weight(f"limit{i}", np.float32(0)))
        outer, b.nodes = b.nodes, []
        then = b.op("Erf", b.block(x)) if i == 14 else b.block(x)
        then_nodes, b.nodes = b.nodes, []
        other = b.block(b.op("Neg", x))
        else_nodes, b.nodes = b.nodes, outer
        branches = [
            helper.make_graph(n, f"branch{i}", [], [helper.make_empty_tensor_value_info(o)])
            for n, o in ((then_nodes, then), (else_nodes, other))
        ]
        for g in branches:
            g.output[0].type.tensor_type.elem_type = TensorProto.FLOAT
        x = b.op("If", flag, then_branch=branches[0], else_branch=branches[1])
        x = b.op("Reshape", x, "whole")
    return b.model([x])


def crashes_on_operator(path):
    """Dies by a signal where a body has an Erf that reads a sum."""
    for g in list(graphs_of(onnx.load(path).graph))[1:]:
        made = makers(g)
        for n in g.node:
            if n.op_type == "Erf" and n.input[0] in made and made[n.input[0]].op_type == "Add":
                return "SEGV"
    return 0


def special_value():
    """One weight has the largest number of half precision among others."""
    b, x = Builder(), "x"
    for i in range(28):
        x = b.block(x)
    values = numpy_helper.to_array(b.weights[41]).copy()
    values.flat[5] = 65504
    b.weights[41].CopyFrom(numpy_helper.from_array(values, b.weights[41].name))
    return b.model([x])


def crashes_on_value(path):
    """Aborts where a constant operand of a MatMul or Add holds 65504."""
    graph = onnx.load(path).graph
    special = {t.name for t in graph.initializer if np.any(numpy_helper.to_array(t) == 65504)}
    found = any(n.op_type in ("MatMul", "Add") and special & set(n.input) for n in graph.node)
    return "ABRT" if found else 0


def far_apart():
    """A CumSum at the begin, a Tan at the end, and everything between them on the way."""
    b = Builder()
    x = b.op("CumSum", "x", "one")
    for i in range(28):
        x = b.block(x)
    x = b.op("Relu", b.op("Tan", x))
    return b.model([x])


def fails_far_apart(path):
    """Status 4 where a Tan is computed from a CumSum."""
    graph = onnx.load(path).graph
    after = set()
    for n in graph.node:
        if n.op_type == "CumSum" or after & set(n.input):
            after |= set(n.output)
        if n.op_type == "Tan" and after & set(n.input):
            return 4
    return 0


def odd_extent():
    """One pair of weights has a common extent of 77."""
    b, x = Builder(), "x"
    for i in range(28):
        x = b.block(x)
        if i == 9:
            x = b.op("MatMul", b.op("MatMul", x, b.floats(WIDTH, 77)), b.floats(77, WIDTH))
    return b.model([x], symbols=(2, 5))


def fails_at_extent(path):
    """Status 5 where a MatMul reads a matrix with more than 64 rows and an even number of columns."""
    model = onnx.shape_inference.infer_shapes(onnx.load(path))
    shapes = {t.name: list(t.dims) for t in model.graph.initializer}
    for v in [*model.graph.input, *model.graph.value_info, *model.graph.output]:
        shapes[v.name] = [d.dim_value for d in v.type.tensor_type.shape.dim]
    for n in model.graph.node:
        shape = shapes.get(n.input[1], []) if n.op_type == "MatMul" else []
        if len(shape) == 2 and shape[0] > 64 and shape[1] % 2 == 0:
            return 5
    return 0


DEFECTS = {
    "attribute": (wrong_attribute, has_wrong_attribute),
    "branch": (operator_in_branch, crashes_on_operator),
    "value": (special_value, crashes_on_value),
    "apart": (far_apart, fails_far_apart),
    "extent": (odd_extent, fails_at_extent),
}
