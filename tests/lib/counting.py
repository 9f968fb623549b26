"""Counts the nodes of a model by the rule of docs/report.md, "Figures", apart from the tool's own count.

Every node of the main graph and of every subgraph counts. A call of a model-local function counts as the
nodes of its body, once per call; the call itself does not. Constant nodes hold data and do not count.
"""

from collections import Counter

import onnx


def bodies(node):
    """The graphs in a node's attributes."""
    for a in node.attribute:
        if a.type == onnx.AttributeProto.GRAPH:
            yield a.g
        elif a.type == onnx.AttributeProto.GRAPHS:
            yield from a.graphs


def nested(nodes):
    """The nodes and all those in their subgraphs; functions are not entered."""
    for node in nodes:
        yield node
        for graph in bodies(node):
            yield from nested(graph.node)


def operators(model):
    """Counter of `Add`, `com.microsoft::Attention` ...; Constant among them."""
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}
    of_function = {}

    def of(nodes):
        total = Counter()
        for node in nested(nodes):
            key = (node.domain, node.op_type, node.overload)
            if key in functions:
                if key not in of_function:
                    of_function[key] = of(functions[key].node)
                total += of_function[key]
            else:
                total[node.op_type if node.domain in ("", "ai.onnx") else "::".join(key[:2])] += 1
        return total

    return of(model.graph.node)


def nodes(model):
    """The number of nodes, of a ModelProto or of the file at a path."""
    if not isinstance(model, onnx.ModelProto):
        model = onnx.load(model, load_external_data=False)
    found = operators(model)
    return found.total() - found["Constant"]
