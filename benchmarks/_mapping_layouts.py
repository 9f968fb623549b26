"""Changes of a graph for the mapping benchmarks that concern whole regions: another order of axes, products
that
became one, a recurrent operator written as a Scan, and another type."""

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from _mapping_changes import Writer, change
from _mapping_graph import attributes, bodies_of, first_result, reads

TO_LAST, TO_FIRST = [0, 2, 3, 1], [0, 3, 1, 2]
WINDOWS = {
    *("Conv", "ConvTranspose", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"),
    *("BatchNormalization", "InstanceNormalization", "LRN"),
}
ONE_BY_ONE = {  # operators that look at each element alone
    *(
        "Relu",
        "LeakyRelu",
        "Elu",
        "Selu",
        "Sigmoid",
        "HardSigmoid",
        "HardSwish",
        "Tanh",
        "Clip",
        "Erf",
        "Exp",
        "Log",
    ),
    *(
        "Sqrt",
        "Neg",
        "Abs",
        "Softplus",
        "Gelu",
        "Mish",
        "Reciprocal",
        "Add",
        "Sub",
        "Mul",
        "Div",
        "Max",
        "Min",
        "Sum",
    ),
}


class Layouts:
    """Values in both orders while a graph is rewritten: a value's other form is made where it is first asked
    for."""

    def __init__(self, writer):
        self.w, self.last, self.only_last = writer, {}, set()

    def as_last(self, x):
        if x not in self.last:
            self.last[x] = self.w.insert("Transpose", [x], perm=TO_LAST)
        return self.last[x]

    def as_first(self, x):
        if x in self.only_last:
            self.only_last.remove(x)
            self.w.insert("Transpose", [self.last[x]], x, perm=TO_FIRST)
        return x


@change
def channel_last(subject):
    """Regions of convolutions in the order NHWC: each convolution or pool stands between two Transpose, what
    looks at elements alone works in NHWC."""
    s, w = subject, Writer(subject)
    found = Layouts(w)

    def is_picture(x):
        return s.is_float(x) and s.rank(x) == 4

    # Transpose of the model's own stay alone: beside another one, nobody could tell the two apart
    moved = {x for n in s.model.graph.node if n.op_type == "Transpose" for x in [*n.input, *n.output]}

    for n in s.model.graph.node:
        o = first_result(n)
        one_result = len([x for x in n.output if x]) == 1 and is_picture(o)
        if one_result and n.op_type in WINDOWS and is_picture(n.input[0]):
            x = n.input[0]
            if x not in moved:
                x = w.insert("Transpose", [found.as_last(x)], perm=TO_FIRST)
            k = w.keep(n)
            k.input[0] = x
            if o not in moved:
                k.output[0] = w.name()
                w.truth[-1] = ((o,), (k.output[0],))
                found.last[o] = w.insert("Transpose", [k.output[0]], perm=TO_LAST)
                found.only_last.add(o)
        elif (
            one_result
            and n.op_type in ONE_BY_ONE
            and o not in moved
            and all(fits(s, x, found) for x in n.input)
        ):
            k = w.keep(n)
            k.output[0] = w.name()
            for slot, x in enumerate(n.input):
                if x in found.last:
                    k.input[slot] = found.last[x]
            w.truth[-1] = ((o,), (k.output[0],))
            found.last[o] = k.output[0]
            found.only_last.add(o)
        elif (
            one_result and n.op_type == "Concat" and o not in moved and all(x in found.last for x in n.input)
        ):
            k = w.keep(n)
            axis = attributes(n)["axis"] % 4
            del k.attribute[:]
            k.attribute.append(helper.make_attribute("axis", TO_LAST.index(axis)))
            k.output[0] = w.name()
            for slot, x in enumerate(n.input):
                k.input[slot] = found.last[x]
            w.truth[-1] = ((o,), (k.output[0],))
            found.last[o] = k.output[0]
            found.only_last.add(o)
        else:
            for x in reads(n):
                found.as_first(x)
            w.keep(n)
    if not found.last:
        return None
    for x in s.model.graph.output:
        found.as_first(x.name)
    return w.finish()


def fits(s, x, found):
    """Whether an operand is there in NHWC, or has one element."""
    return not x or x in found.last or x in s.constants and s.array(x).size == 1


@change
def merged_products(subject):
    """Products of one value with several constant matrices: one product and a Split."""
    s, w, groups = subject, Writer(subject), {}
    if s.opset < 2:
        return None
    for n in s.model.graph.node:
        given = attributes(n)
        if n.op_type not in ("MatMul", "Gemm") or not s.is_float(*n.input) or n.input[0] in s.constants:
            continue
        if (
            any(x not in s.constants for x in n.input[1:] if x)
            or s.rank(n.input[1]) != 2
            or given.get("transA", 0)
        ):
            continue
        if len(n.input) > 2 and n.input[2] and s.rank(n.input[2]) != 1:
            continue
        key = (n.op_type, n.input[0], len(n.input), s.array(n.input[1]).shape[given.get("transB", 0)])
        groups.setdefault((*key, *sorted((k, v) for k, v in given.items())), []).append(n)
    merged = {id(n): group for group in groups.values() if len(group) > 1 for n in group}
    done = set()
    for n in s.model.graph.node:
        group = merged.get(id(n)) or next((g for g in merged.values() if any(n is m for m in g)), None)
        if group is None:
            w.keep(n)
            continue
        if id(group) in done:
            continue
        done.add(id(group))
        merge(s, w, group)
    return w.finish() if done else None


def merge(s, w, group):
    """One product and one Split for those of a group."""
    n, given = group[0], attributes(group[0])
    along = 0 if given.get("transB", 0) else 1
    parts = [s.array(m.input[1]) for m in group]
    operands = [n.input[0], w.constant(np.concatenate(parts, along))]
    widths = [p.shape[along] for p in parts]
    if len(n.input) > 2 and n.input[2]:
        biases = [np.broadcast_to(s.array(m.input[2]), (c,)) for m, c in zip(group, widths)]
        operands.append(w.constant(np.concatenate(biases)))
    product = w.add(n.op_type, operands, **given)
    results = [m.output[0] for m in group]
    split = {"axis": (s.rank(results[0]) or 2) - 1}
    inputs = [product]
    if s.opset >= 13:
        inputs.append(w.constant(np.array(widths, np.int64)))
    else:
        split["split"] = widths
    w.nodes.append(helper.make_node("Split", inputs, results, **split))
    w.truth += [((m.output[0],), (product, results[0])) for m in group]


# --- recurrences --------------------------------------------------------------------------------------------

PLAIN = {"activations", "clip", "layout", "input_forget", "activation_alpha", "activation_beta"}


def cell(kind, name, r, b, hidden):
    """The body of a Scan: one step of a GRU (linear_before_reset 0) or LSTM from the product of the input
    with
    its weights, in the operators of the standard. States come first, then the step's result."""
    nodes, tensors = (
        [],
        [numpy_helper.from_array(r.T.copy(), f"{name}_r"), numpy_helper.from_array(b, f"{name}_b")],
    )

    def add(op, inputs, result=None, **given):
        result = result or f"{name}_{len(nodes)}"
        nodes.append(helper.make_node(op, inputs, [result], **given))
        return result

    def floats(x, shape):
        return helper.make_tensor_value_info(f"{name}_{x}", TensorProto.FLOAT, shape)

    gates = add("Add", [add("Add", [f"{name}_x", add("MatMul", [f"{name}_h", f"{name}_r"])]), f"{name}_b"])
    tensors.append(numpy_helper.from_array(np.array([hidden] * 4, np.int64), f"{name}_sizes"))
    parts = [f"{name}_{g}" for g in "iofc"]
    nodes.append(helper.make_node("Split", [gates, f"{name}_sizes"], parts, axis=1))
    i, o, f = (add("Sigmoid", [p]) for p in parts[:3])
    fresh = add("Mul", [i, add("Tanh", [parts[3]])])
    add("Add", [add("Mul", [f, f"{name}_c0"]), fresh], f"{name}_c1")
    add("Mul", [o, add("Tanh", [f"{name}_c1"])], f"{name}_h1")
    add("Identity", [f"{name}_h1"], f"{name}_y")
    shape = [None, hidden]
    given = [floats("h", shape), floats("c0", shape), floats("x", [None, 4 * hidden])]
    results = [floats("h1", shape), floats("c1", shape), floats("y", shape)]
    return helper.make_graph(nodes, name, given, results, tensors)


@change
def scanned(subject):
    """Each LSTM of one or two directions as products and a Scan a direction, with a cell of primitives."""
    s, w, done = subject, Writer(subject), 0
    for n in s.model.graph.node:
        constant = n.op_type == "LSTM" and all(x in s.constants for x in n.input[1:4])
        plain = constant and not PLAIN & attributes(n).keys() and not any(n.input[7:]) and s.opset >= 13
        if not plain or len(n.input) > 4 and n.input[4] or s.rank(n.input[0]) != 3:
            w.keep(n)
            continue
        begin = len(w.nodes)
        lstm(s, w, n)
        w.became(n, begin)
        done += 1
    return w.finish() if done else None


def lstm(s, w, n):
    given, x = attributes(n), n.input[0]
    hidden = given["hidden_size"]
    weights, states, biases = (s.array(v) for v in n.input[1:4])
    directions = weights.shape[0]
    results, last = [], {"h": [], "c": []}
    batch = w.add("Gather", [w.add("Shape", [x]), w.constant(np.array([1], np.int64))], axis=0)
    size = w.add("Concat", [batch, w.constant(np.array([hidden], np.int64))], axis=0)
    zero = numpy_helper.from_array(np.zeros(1, np.float32))
    for d in range(directions):
        first = {}
        for slot, state in ((5, "h"), (6, "c")):
            if len(n.input) > slot and n.input[slot]:
                index = w.constant(np.array(d, np.int64))
                first[state] = w.add("Gather", [n.input[slot], index], axis=0)
            else:
                first[state] = w.add("ConstantOfShape", [size], value=zero)
        product = w.add("MatMul", [x, w.constant(np.ascontiguousarray(weights[d].T))])
        bias = biases[d][: 4 * hidden] + biases[d][4 * hidden :]
        body = cell("LSTM", f"{n.output[0] or w.name()}_cell{d}", states[d], bias, hidden)
        backward = int(d == 1 or given.get("direction", b"forward") == b"reverse")
        made = [w.name() for _ in range(3)]
        direction = {"scan_input_directions": [backward], "scan_output_directions": [backward]}
        inputs = [first["h"], first["c"], product]
        w.nodes.append(helper.make_node("Scan", inputs, made, body=body, num_scan_inputs=1, **direction))
        last["h"].append(made[0])
        last["c"].append(made[1])
        results.append(made[2])

    def stacked(parts, axis, result):
        axes = w.constant(np.array([axis], np.int64))
        parts = [w.add("Unsqueeze", [p, axes]) for p in parts]
        w.add("Concat", parts, result, axis=axis)

    for k, (parts, axis) in enumerate(((results, 1), (last["h"], 0), (last["c"], 0))):
        if len(n.output) > k and n.output[k]:
            stacked(parts, axis, n.output[k])


# --- float16 ------------------------------------------------------------------------------------------------

NEEDS_FLOAT = {
    "NonMaxSuppression",
    "Range",
    "RoiAlign",
    "QuantizeLinear",
    "DequantizeLinear",
    "DynamicQuantizeLinear",
}
FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16


def half(t):
    if t.data_type == FLOAT:
        a = np.clip(numpy_helper.to_array(t), -65504, 65504).astype(np.float16)
        t.CopyFrom(numpy_helper.from_array(a, t.name))


def halve_attributes(n):
    """Makes the types that a node states float16."""
    for a in n.attribute:
        if a.name in ("to", "dtype") and a.i == FLOAT:
            a.i = HALF
        elif a.HasField("t"):
            half(a.t)
        elif n.op_type == "Constant" and a.name in ("value_float", "value_floats"):
            given = helper.get_attribute_value(a)
            a.CopyFrom(helper.make_attribute("value", numpy_helper.from_array(np.asarray(given, np.float16))))
    for _, g in bodies_of(n):
        for t in g.initializer:
            half(t)
        for x in [*g.input, *g.output]:
            if x.type.tensor_type.elem_type == FLOAT:
                x.type.tensor_type.elem_type = HALF
        del g.value_info[:]
        for inner in g.node:
            halve_attributes(inner)


@change
def float16(subject):
    """Weights and computation in float16, Cast at float ends and around what takes float32 alone."""
    s, w = subject, Writer(subject)
    if s.opset < 9 or any(n.domain not in ("", "ai.onnx") for n in s.model.graph.node):
        return None
    if any(t.data_type == HALF for t in s.model.graph.initializer):
        return None
    is_float = {x for x in s.shapes if s.dtype(x) == np.float32}
    instead = {}
    for i in s.model.graph.input:
        if i.type.tensor_type.elem_type == FLOAT:
            if i.name in s.constants:
                return None
            is_float.add(i.name)
            instead[i.name] = w.insert("Cast", [i.name], to=HALF)
    results = {o.name for o in s.model.graph.output if o.type.tensor_type.elem_type == FLOAT}
    if not is_float:
        return None
    for n in s.model.graph.node:
        k = w.keep(n)
        halve_attributes(k)
        given = []
        alone = n.op_type in NEEDS_FLOAT
        for slot, x in enumerate(n.input):
            by_rule = alone or n.op_type in ("Resize", "Upsample") and slot > 0
            if by_rule and x in is_float:
                if x in s.constants:
                    given.append(w.constant(s.array(x)))
                else:
                    kept = w.nodes.pop()
                    given.append(w.insert("Cast", [instead.get(x, x)], to=FLOAT))
                    w.nodes.append(kept)
            else:
                given.append(instead.get(x, x))
        for slot, o in enumerate(n.output):
            if alone and o in is_float and o in results:
                instead[o] = w.insert("Cast", [o], to=HALF)
            elif alone and o in is_float:
                k.output[slot] = w.name()
                w.insert("Cast", [k.output[slot]], o, to=HALF)
            elif o in results:
                k.output[slot] = instead[o] = w.name()
                w.insert("Cast", [instead[o]], o, to=FLOAT)
        del k.input[:]
        k.input.extend(given)
        if first_result(k) != first_result(n):
            w.truth = [
                t if t != ((first_result(n),),) * 2 else ((first_result(n),), (first_result(k),))
                for t in w.truth
            ]
    model, truth = w.finish()
    made = {t.name for t in w.tensors}
    for t in model.graph.initializer:
        if t.name not in made:
            half(t)
    for f in model.functions:
        for n in f.node:
            halve_attributes(n)
    return model, truth
