"""Makes a failing model small with graphopt reduce, and knows what to feed to the models on the way."""

import pathlib
import sys

import numpy as np
import onnx
import onnx.helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.reduction import reduced  # noqa: E402


def subgraphs(g):
    return [a.g for n in g.node for a in n.attribute if a.type == onnx.AttributeProto.GRAPH]


def keep(field, entries):
    copies = []
    for e in entries:
        c = type(e)()
        c.CopyFrom(e)
        copies.append(c)
    del field[:]
    field.extend(copies)


def copy(model):
    m = onnx.ModelProto()
    m.CopyFrom(model)
    return m


def with_inner_values(model, feeds, values_of):
    """The feeds with the value of each result of the main graph that the runtime tells: when a node is gone,
    its result is an input of that name."""
    made = [o for n in model.graph.node for o in n.output if o]
    wide = []
    for feed in feeds:
        found = values_of(model, made, [feed])
        if found is None:  # some of them are no tensors
            found = [{}]
            for name in made:
                found[0].update((values_of(model, [name], [feed]) or [{}])[0])
        wide.append({**found[0], **feed})
    return wide


def some_value(info):
    """Ones for an input of which nobody knows a value; None where its extents are open."""
    t = info.type.tensor_type
    dims = [d.dim_value if d.HasField("dim_value") else None for d in t.shape.dim]
    if None in dims or not t.elem_type or t.elem_type == onnx.TensorProto.STRING:
        return None
    return np.ones(dims, onnx.helper.tensor_dtype_to_np_dtype(t.elem_type))


def fed(model, wide):
    """The feeds of a smaller model; none where it has an input without a value."""
    constants, out = {t.name for t in model.graph.initializer}, []
    for w in wide:
        feed = {}
        for i in model.graph.input:
            value = w.get(i.name)
            if value is None and i.name not in constants:
                value = some_value(i)
            if value is not None:
                feed[i.name] = value
        if all(i.name in feed or i.name in constants for i in model.graph.input):
            out.append(feed)
    return out


def shrink(tool, model, feeds, fails, values_of, seconds=60):
    """fails(model, feeds): does it still show the failure? values_of(model, names, feeds) runs it: a list of
    dicts, None where it cannot. Returns the model and the feeds that are left."""
    feeds = next(([f] for f in feeds if len(feeds) > 1 and fails(model, [f])), feeds)
    wide = with_inner_values(model, feeds, values_of)

    def still_fails(m):
        some = fed(m, wide)
        return bool(some) and bool(fails(m, some))

    small = reduced(tool, model, still_fails, seconds)
    return (small, fed(small, wide)) if small is not model else (model, feeds)
