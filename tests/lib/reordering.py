"""Copies of a model with other names of inner values, in another legal order."""

import onnx


def subgraphs(graph):
    return [a.g for n in graph.node for a in n.attribute if a.HasField("g")]


def outer_names(graph):
    """What a body reads from the graphs around it."""
    own = {v.name for v in [*graph.input, *graph.initializer]} | {o for n in graph.node for o in n.output}
    read = {o.name for o in graph.output} | {i for n in graph.node for i in n.input}
    for body in subgraphs(graph):
        read |= outer_names(body)
    return read - own - {""}


def needs_of(nodes):
    """What each node reads of what the others make, its bodies included."""
    made = {o for n in nodes for o in n.output if o}
    bodies = ([a.g for a in n.attribute if a.HasField("g")] for n in nodes)
    return [(set(n.input).union(*map(outer_names, inner))) & made for n, inner in zip(nodes, bodies)]


def replace(field, entries):
    copies = [type(e).FromString(e.SerializeToString()) for e in entries]
    del field[:]
    field.extend(copies)


def shuffle(graph, rng, names, kept):
    """Reorders and renames in place; names: what the graphs around this one call their values now."""
    names = dict(names)
    for v in [*graph.input, *graph.initializer]:
        if v.name not in kept:
            names[v.name] = (
                names.get(v.name)
                if v.name in names and v in graph.initializer
                else f"r{rng.getrandbits(48):x}"
            )
    for n in graph.node:
        for o in n.output:
            if o and o not in kept:
                names[o] = f"r{rng.getrandbits(48):x}"
    nodes, ready, order = list(graph.node), set(), []
    needs, left = needs_of(nodes), list(range(len(nodes)))
    while left:
        k = rng.choice([k for k in left if needs[k] <= ready])
        left.remove(k)
        ready |= set(nodes[k].output)
        order.append(nodes[k])
    replace(graph.node, order)
    for n in graph.node:
        n.name = ""
        n.input[:] = [names.get(i, i) for i in n.input]
        n.output[:] = [names.get(o, o) for o in n.output]
        for body in (a.g for a in n.attribute if a.HasField("g")):
            shuffle(body, rng, names, set())
    for v in [*graph.input, *graph.initializer, *graph.output, *graph.value_info]:
        v.name = names.get(v.name, v.name)
    replace(graph.initializer, rng.sample(list(graph.initializer), len(graph.initializer)))


def shuffled(model, rng):
    """The names of graph inputs and outputs stay."""
    m = onnx.ModelProto()
    m.CopyFrom(model)
    shuffle(m.graph, rng, {}, {v.name for v in [*m.graph.input, *m.graph.output]})
    return m
