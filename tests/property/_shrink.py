"""Makes a failing model small: drops what can go while the same failure stays."""

import onnx
from onnx import helper


def trimmed(model):
    """Without nodes, initializers, value_info, functions and inputs' feeds that no output needs."""
    m = onnx.ModelProto()
    m.CopyFrom(model)
    g = m.graph
    while True:
        used = {o.name for o in g.output} | names_read(g)
        nodes = [n for n in g.node if any(o in used for o in n.output if o)]
        if len(nodes) == len(g.node):
            break
        keep(g.node, nodes)
    keep(g.initializer, [t for t in g.initializer if t.name in used])
    keep(g.value_info, [v for v in g.value_info if v.name in used])
    called = {n.op_type for n in g.node} | {n.op_type for f in m.functions for n in f.node} | subgraph_ops(g)
    keep(m.functions, [f for f in m.functions if f.name in called])
    return m


def subgraphs(g):
    return [a.g for n in g.node for a in n.attribute if a.type == onnx.AttributeProto.GRAPH]


def subgraph_ops(g):
    return {n.op_type for s in subgraphs(g) for n in s.node} | {
        op for s in subgraphs(g) for op in subgraph_ops(s)
    }


def names_read(g):
    out = {i for n in g.node for i in n.input}
    for s in subgraphs(g):
        out |= names_read(s) | {o.name for o in s.output}
    return out


def keep(field, entries):
    copies = []
    for e in entries:
        c = type(e)()
        c.CopyFrom(e)
        copies.append(c)
    del field[:]
    field.extend(copies)


def changes(model, feeds, values_of):
    """Smaller models with their feeds, boldest first. values_of(model, names, feeds) runs it: a list of
    dicts."""
    if len(feeds) > 1:
        for i in range(len(feeds)):
            yield model, [feeds[i]]
    g = model.graph
    for i in range(len(g.output)):
        if len(g.output) > 1:
            m = copy(model)
            keep(m.graph.output, [g.output[i]])
            yield m, feeds
    for node in g.node:  # an inner value as the only output
        for name in node.output:
            if name and [o.name for o in g.output] != [name]:
                m = copy(model)
                keep(m.graph.output, [])
                m.graph.output.append(helper.make_empty_tensor_value_info(name))
                yield m, feeds
    for node in list(g.node)[::-1]:  # a value that becomes an input
        if not any(node.output) or node.op_type == "Constant" or any(o.name in node.output for o in g.output):
            continue
        found = values_of(model, [o for o in node.output if o], feeds)
        if found is None:
            continue
        m = copy(model)
        keep(m.graph.node, [n for n in g.node if list(n.output) != list(node.output)])
        for name in found[0]:
            v = found[0][name]
            m.graph.input.append(
                helper.make_tensor_value_info(
                    name, helper.np_dtype_to_tensor_dtype(v.dtype), [f"{name}_{i}" for i in range(v.ndim)]
                )
            )
        yield m, [{**feed, **more} for feed, more in zip(feeds, found)]
    if g.value_info:
        m = copy(model)
        keep(m.graph.value_info, [])
        yield m, feeds
    for depth, s in enumerate(subgraphs(g)):  # nodes of a body that nothing reads
        for i, node in enumerate(s.node):
            if not any(o in names_read(s) or o in {x.name for x in s.output} for o in node.output):
                m = copy(model)
                del subgraphs(m.graph)[depth].node[i]
                yield m, feeds
    used = names_read(g) | {o.name for o in g.output}
    for value in g.input:
        if value.name not in used:
            m = copy(model)
            keep(m.graph.input, [v for v in g.input if v.name != value.name])
            yield m, [{k: v for k, v in feed.items() if k != value.name} for feed in feeds]


def copy(model):
    m = onnx.ModelProto()
    m.CopyFrom(model)
    return m


def shrink(model, feeds, fails, values_of, patience=150):
    """fails(model, feeds): does it still show the failure? Greedy; ends when no change keeps it, or after
    `patience` tries."""
    progress = True
    while progress and patience > 0:
        progress = False
        for m, f in changes(model, feeds, values_of):
            m = trimmed(m)
            patience -= 1
            if patience <= 0:
                break
            if fails(m, f):
                model, feeds, progress = m, f, True
                break
    return model, feeds
