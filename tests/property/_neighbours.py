"""All models that differ from a given one by one small change; see neighbours.py."""

import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

SIBLINGS = {
    "Add": "Sub",
    "Sub": "Add",
    "Mul": "Div",
    "Div": "Mul",
    "Max": "Min",
    "Min": "Max",
    "Relu": "Sqrt",
    "Sigmoid": "Exp",
    "Reshape": "Expand",
    "Squeeze": "Unsqueeze",
    "Unsqueeze": "Squeeze",
    "ReduceSum": "ReduceMax",
    "ReduceMax": "ReduceProd",
    "ReduceMean": "ReduceMin",
    "ArgMax": "ArgMin",
    "Gather": "GatherElements",
    "Concat": "Sum",
    "Equal": "Less",
    "And": "Or",
    "Cast": "Identity",
    "Identity": "Neg",
    "Shape": "Size",
    "DepthToSpace": "SpaceToDepth",
}
OPSETS = (9, 12, 14, 18, 22)
MOST_ELEMENTS = 8  # of an integer constant that is changed element by element


def copy(model):
    m = onnx.ModelProto()
    m.CopyFrom(model)
    return m


def graphs(graph):
    """The graph and the bodies within, in a fixed order."""
    yield graph
    for n in graph.node:
        for a in n.attribute:
            for g in [a.g] if a.type == AttributeProto.GRAPH else list(a.graphs):
                yield from graphs(g)


def bodies(model):
    yield from graphs(model.graph)


def nodes(model):
    return [(g, n) for g in bodies(model) for n in g.node]


def read_names(graph):
    found = {o.name for g in graphs(graph) for o in g.output}
    return found | {i for g in graphs(graph) for n in g.node for i in n.input}


# Each of the following yields (text, what changes a copy of the model); the text names the change.


def of_operands(n, k):
    for i, name in enumerate(n.input):
        if name and (i > 0 or n.op_type != "Loop"):  # without a number of iterations it might never end
            yield f"operand {i} is absent", lambda m, i=i: nodes(m)[k][1].input.__setitem__(i, "")
        if i and n.input[i - 1] != name:

            def swap(m, i=i):
                x = nodes(m)[k][1].input
                x[i - 1], x[i] = x[i], x[i - 1]

            yield f"operands {i - 1} and {i} change places", swap
    if n.input:
        yield "the last operand is dropped", lambda m: nodes(m)[k][1].input.pop()
        yield "operand 0 comes twice", lambda m: nodes(m)[k][1].input.append(n.input[0])

        def hide(m):
            g, node = nodes(m)[k]
            at = next(i for i, other in enumerate(g.node) if list(other.output) == list(node.output))
            unknown = helper.make_node("Unknown", [node.input[0]], ["unknown_0"], domain="nobody")
            node.input[0] = "unknown_0"
            after = [unknown, *g.node[at:]]
            copies = [type(x)() for x in after]
            for c, x in zip(copies, after):
                c.CopyFrom(x)
            del g.node[at:]
            g.node.extend(copies)
            m.opset_import.append(helper.make_opsetid("nobody", 1))

        yield "operand 0 is of unknown type", hide


def of_results(n, k, read):
    for i, name in enumerate(n.output):
        if name and name not in read:
            yield f"result {i} has no name", lambda m, i=i: nodes(m)[k][1].output.__setitem__(i, "")
    yield "one more result", lambda m: nodes(m)[k][1].output.append("result_too_many")


def of_attributes(n, k):
    def attribute(m, name):
        return next(a for a in nodes(m)[k][1].attribute if a.name == name)

    for a in n.attribute:
        if a.type == AttributeProto.INT:
            for v in sorted({a.i + 1, a.i - 1, -a.i, 0} - {a.i}):
                yield f"{a.name} = {v}", lambda m, a=a, v=v: setattr(attribute(m, a.name), "i", v)
        elif a.type == AttributeProto.INTS and a.ints:
            old = list(a.ints)
            for v in (old[::-1], old[:-1], [*old[:-1], old[-1] + 1], [old[0] - 1, *old[1:]], [*old, 0]):
                if v != old:

                    def set_ints(m, a=a, v=v):
                        attribute(m, a.name).ints[:] = v

                    yield f"{a.name} = {v}", set_ints
        elif a.type == AttributeProto.FLOAT:
            yield f"{a.name} = {a.f * 2 + 1}", lambda m, a=a: setattr(attribute(m, a.name), "f", a.f * 2 + 1)
        if a.type != AttributeProto.GRAPH:

            def drop(m, a=a):
                nodes(m)[k][1].attribute.remove(attribute(m, a.name))

            yield f"without {a.name}", drop

    def unknown(m):
        nodes(m)[k][1].attribute.append(helper.make_attribute("nobody_knows", 1))

    yield "an attribute that nobody knows", unknown


def of_node(model, n, k, read):
    yield from of_operands(n, k)
    yield from of_results(n, k, read)
    yield from of_attributes(n, k)
    if n.op_type in SIBLINGS:
        other = SIBLINGS[n.op_type]
        yield f"becomes {other}", lambda m: setattr(nodes(m)[k][1], "op_type", other)
    if n in model.graph.node:
        have = {o.name for o in model.graph.output}
        for name in n.output:
            if name and name not in have:

                def show(m, name=name):
                    m.graph.output.append(helper.make_empty_tensor_value_info(name))

                yield f"{name} is an output, too", show

                def read_again(m, name=name):
                    m.graph.node.append(helper.make_node("Identity", [name], ["read_again"]))
                    m.graph.output.append(helper.make_empty_tensor_value_info("read_again"))

                yield f"{name} is read once more", read_again


def of_constants(model):
    for j, t in enumerate(model.graph.initializer):
        values = numpy_helper.to_array(t)

        def put(m, new, j=j):
            name = m.graph.initializer[j].name
            m.graph.initializer[j].CopyFrom(numpy_helper.from_array(new, name))

        if values.dtype.kind in "iu" and values.size <= MOST_ELEMENTS:
            for e in range(values.size):
                for step in (1, -1):
                    new = values.copy()
                    bits = 8 * values.itemsize
                    new.view(f"u{values.itemsize}").flat[e] = (int(values.flat[e]) + step) % 2**bits
                    yield f"{t.name}[{e}] {step:+d}", lambda m, new=new, put=put: put(m, new)
        yield f"{t.name} has one more axis", lambda m, v=values, put=put: put(m, v[None])
        if values.ndim and values.size:
            yield f"{t.name} is shorter", lambda m, v=values, put=put: put(m, v[:-1])
        if model.ir_version >= 4 and t.name not in {i.name for i in model.graph.input}:

            def override(m, j=j):
                t = m.graph.initializer[j]
                m.graph.input.append(helper.make_tensor_value_info(t.name, t.data_type, t.dims))

            yield f"{t.name} is an input, too", override


def of_values(model):
    """A value that an annotation names has to stay under its name."""
    names = [o for n in model.graph.node for o in n.output if o]
    for name in dict.fromkeys(names + [t.name for t in model.graph.initializer]):

        def annotate(m, name=name):
            m.graph.quantization_annotation.add(tensor_name=name)

        yield f"{name} is annotated", annotate


def showing_annotated(model):
    """The model with the annotated values as further outputs; None where it does not have one of them."""
    m, have = copy(model), {o for n in model.graph.node for o in n.output}
    have |= {t.name for t in model.graph.initializer}
    outputs = {o.name for o in model.graph.output}
    for a in model.graph.quantization_annotation:
        if a.tensor_name not in have:
            return None
        if a.tensor_name not in outputs:
            m.graph.output.append(helper.make_empty_tensor_value_info(a.tensor_name))
    return m


def forget_claims(model):
    """What the model says of the dims of its results: another extent of an input makes it false."""
    for g in bodies(model):
        del g.value_info[:]
        for o in g.output:
            for d in o.type.tensor_type.shape.dim:
                d.Clear()


def of_inputs(model):
    """As above, and whether the inputs are drawn for the shapes of the model before the change."""
    for j, v in enumerate(model.graph.input):
        if not v.type.HasField("tensor_type") or not v.type.tensor_type.HasField("shape"):
            continue
        dims = v.type.tensor_type.shape.dim

        def forget(m, j=j):
            m.graph.input[j].type.tensor_type.ClearField("shape")

        yield f"the rank of {v.name} is unknown", forget, True
        for d, dim in enumerate(dims):

            def put(m, value, j=j, d=d):
                dim = m.graph.input[j].type.tensor_type.shape.dim[d]
                dim.Clear()
                if value is not None:
                    dim.dim_value = value
                    forget_claims(m)

            yield f"{v.name}'s dim {d} is unknown", lambda m, put=put: put(m, None), True
            if dim.HasField("dim_value"):
                for value in sorted({0, 1, dim.dim_value + 1} - {dim.dim_value}):
                    text = f"{v.name}'s dim {d} is {value}"
                    yield text, lambda m, put=put, value=value: put(m, value), False


def retyped(model, old, new):
    """Every tensor of one element type gets another."""

    def change(m):
        for g in bodies(m):
            for v in [*g.input, *g.output, *g.value_info]:
                if v.type.tensor_type.elem_type == old:
                    v.type.tensor_type.elem_type = new
            for t in g.initializer:
                if t.data_type == old:
                    wanted = helper.tensor_dtype_to_np_dtype(new)
                    t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t).astype(wanted), t.name))

    return change


def changes(model):
    """(text, change, whether inputs are drawn for the types before it) of each, always in the same order."""
    read = read_names(model.graph)
    found = []
    for k, (_, n) in enumerate(nodes(model)):
        found += [(f"node {k} ({n.op_type}): {text}", f, False) for text, f in of_node(model, n, k, read)]
    found += [(text, f, False) for text, f in [*of_constants(model), *of_values(model)]]
    found += of_inputs(model)
    for old, new, text in (
        (TensorProto.FLOAT, TensorProto.DOUBLE, "float becomes double"),
        (TensorProto.FLOAT, TensorProto.FLOAT16, "float becomes float16"),
        (TensorProto.FLOAT, TensorProto.INT32, "float becomes int32"),
        (TensorProto.INT64, TensorProto.INT32, "int64 becomes int32"),
    ):
        found.append((text, retyped(model, old, new), False))
    have = next((o.version for o in model.opset_import if o.domain == ""), 0)
    for version in OPSETS:
        if version != have and have:

            def set_opset(m, version=version):
                next(o for o in m.opset_import if o.domain == "").version = version

            found.append((f"opset {version}", set_opset, False))
    return found


def changed(model, change):
    """The model after one of its changes."""
    m = copy(model)
    change(m)
    return m
