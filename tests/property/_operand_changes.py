"""Models of one operator or a few, and changes after which a node no longer fits its operator.

`generated()` makes a node for every version of every schema of the onnx package and, where the installed ONNX
Runtime tells them, of its own operators; the backend cases add nodes with attributes and bodies that fit
each other. `changed` adds, drops, doubles or empties operands and results, gives them other element types,
ranks and values, and damages attributes.
"""

import itertools

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, defs, helper, numpy_helper

TYPES = [1, 2, 3, 5, 6, 7, 8, 9, 10, 11, 13, 16, 17, 21, 22]
RANKS = [None, [], [0], [1], [3], ["n"], [2, 3], [2, 0], ["n", "m"], [1, 3, 4], [2, 3, 4, 4], [1, 2, 3, 4, 4]]
INTEGERS = [0, 1, -1, 2, 3, -3, 100, -100, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63)]


# ---- nodes from schemas ------------------------------------------------------------------------------------


def contrib_schemas():
    """ONNX Runtime's own schemas of com.microsoft; empty where the installed package does not tell them."""
    try:
        from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema
    except ImportError:
        return []
    return [s for s in get_all_operator_schema() if s.domain == "com.microsoft"]


def schemas():
    """(schema, greatest number of operands, of results), in a fixed order; a variadic number is given as one
    more than the formal parameters."""
    every = [*defs.get_all_schemas_with_history(), *contrib_schemas()]
    for s in sorted(every, key=lambda s: (s.domain, s.name, s.since_version)):
        most = [
            len(formal) + 1 if limit > 1000 else limit
            for formal, limit in ((s.inputs, s.max_input), (s.outputs, s.max_output))
        ]
        yield s, *most


def type_of(schema, formal):
    """A type that the formal parameter accepts: a tensor of floats where that is one."""
    texts = [formal.type_str] if hasattr(formal, "type_str") else [formal.typeStr]
    for c in schema.type_constraints:
        if c.type_param_str == texts[0]:
            texts = list(c.allowed_type_strs)
            break
    text = "tensor(float)" if "tensor(float)" in texts else sorted(texts)[0]
    return parsed_type(text)


def parsed_type(text):
    for name, make in (
        ("seq", helper.make_sequence_type_proto),
        ("optional", helper.make_optional_type_proto),
    ):
        if text.startswith(f"{name}("):
            return make(parsed_type(text[len(name) + 1 : -1]))
    if text.startswith("map("):
        key, value = text[4:-1].split(",", 1)
        t = onnx.TypeProto()
        t.map_type.key_type = TensorProto.DataType.Value(key.strip().upper())
        t.map_type.value_type.CopyFrom(parsed_type(value.strip()))
        return t
    inner = text[text.find("(") + 1 : -1].upper() if "(" in text else "FLOAT"
    return helper.make_tensor_type_proto(TensorProto.DataType.Value(inner), None)


def body_with(rng):
    """A body with some inputs and as many results or another number."""
    ins = [f"body_in{k}" for k in range(rng.randrange(4))]
    outs = [f"body_out{k}" for k in range(rng.randrange(4))]
    nodes = [helper.make_node("Identity", [rng.choice(ins or ["x0"])], [o]) for o in outs]
    infos = [[helper.make_tensor_value_info(n, rng.choice([1, 7, 9]), None) for n in k] for k in (ins, outs)]
    return helper.make_graph(nodes, "body", *infos)


def attribute_of(name, kind, rng):
    if kind == "GRAPH":
        return helper.make_attribute(name, body_with(rng))
    if kind == "TENSOR":
        return helper.make_attribute(name, numpy_helper.from_array(np.zeros([1], np.float32)))
    values = {"INT": rng.choice(INTEGERS), "FLOAT": 0.5, "STRING": rng.choice(["", "ij,jk->ik", "linear"])}
    lists = {
        "INTS": [rng.choice(INTEGERS) for _ in range(rng.randrange(4))],
        "FLOATS": [0.5],
        "STRINGS": ["a"],
    }
    value = values.get(kind, lists.get(kind))
    if value is None:
        return None
    return helper.make_attribute(name, value, attr_type=getattr(AttributeProto, kind))


def node_model(schema, operands, results, rng):
    """A model of one node of the schema. Its operands are inputs x0, x1, ..., its results outputs y0, ..."""
    attributes = []
    for name, a in sorted(schema.attributes.items()):
        if a.required or rng.random() < 0.3:
            kind = str(a.type).split(".")[-1].upper()
            attributes.append(attribute_of(name, kind, rng))
    node = helper.make_node(
        schema.name,
        [f"x{k}" for k in range(operands)],
        [f"y{k}" for k in range(results)],
        domain=schema.domain,
    )
    node.attribute.extend(a for a in attributes if a is not None)
    inputs = []
    for k in range(operands):
        t = type_of(schema, schema.inputs[min(k, len(schema.inputs) - 1)])
        shape = rng.choice(RANKS)
        if t.HasField("tensor_type") and shape is not None:
            t = helper.make_tensor_type_proto(t.tensor_type.elem_type, shape)
        inputs.append(helper.make_value_info(f"x{k}", t))
    if not operands:
        inputs.append(helper.make_tensor_value_info("x0", TensorProto.FLOAT, ["n"]))
    outputs = [onnx.ValueInfoProto(name=f"y{k}") for k in range(results)]
    domain = "" if schema.domain == "ai.onnx" else schema.domain
    opsets = {"": 17, domain: schema.since_version}
    return helper.make_model(
        helper.make_graph([node], "g", inputs, outputs),
        ir_version=10,
        opset_imports=[helper.make_opsetid(d, v) for d, v in opsets.items()],
    )


def generated(rng):
    """(name, model) for the least and the greatest number of operands and results of each schema."""
    for s, most_in, most_out in schemas():
        counts = {(s.min_input, max(s.min_output, 1)), (most_in, max(most_out, 1))}
        for operands, results in sorted(counts):
            yield (
                f"{s.domain or 'ai.onnx'}.{s.name}-{s.since_version}/{operands}",
                node_model(s, operands, results, rng),
            )


# ---- changes -----------------------------------------------------------------------------------------------


def nodes_of(model):
    """Every node with the graph or function that contains it."""
    pending = [model.graph, *model.functions]
    while pending:
        where = pending.pop()
        for n in where.node:
            yield where, n
            for a in n.attribute:
                pending += ([a.g] if a.HasField("g") else []) + list(a.graphs)


class Change:
    """One model, and what a change of it needs. Every method is a change: it returns False where it does not
    apply."""

    def __init__(self, model, rng):
        self.model, self.rng = model, rng
        self.where, self.node = rng.choice(list(nodes_of(model)))
        self.fresh = (f"made{k}" for k in itertools.count())

    def operand(self):
        return self.rng.randrange(len(self.node.input)) if self.node.input else None

    def new_value(self):
        """The name of a new input of the model, or of a new constant."""
        name, kind, shape = next(self.fresh), self.rng.choice(TYPES), self.rng.choice(RANKS)
        if self.rng.random() < 0.5 and self.where is self.model.graph:
            self.model.graph.input.append(helper.make_tensor_value_info(name, kind, shape))
            return name
        shape = [d for d in shape or [] if isinstance(d, int)]
        dtype = self.rng.choice([np.float32, np.int64, np.int32, np.bool_, np.uint8, np.float64])
        values = [self.rng.choice(INTEGERS) for _ in range(int(np.prod(shape)))]
        with np.errstate(all="ignore"):
            tensor = numpy_helper.from_array(np.array(values, np.int64).astype(dtype).reshape(shape), name)
        if hasattr(self.where, "initializer"):
            self.where.initializer.append(tensor)
        else:
            self.where.node.insert(0, helper.make_node("Constant", [], [name], value=tensor))
        return name

    def add_operand(self):
        self.node.input.append(self.rng.choice([*self.node.input, self.new_value(), ""]))

    def insert_operand(self):
        self.node.input.insert(self.rng.randrange(len(self.node.input) + 1), self.new_value())

    def add_many_operands(self):
        self.node.input.extend([self.new_value()] * self.rng.choice([2, 5, 70, 300]))

    def drop_operand(self):
        if (k := self.operand()) is None:
            return False
        del self.node.input[k]

    def drop_operands(self):
        if not self.node.input:
            return False
        del self.node.input[self.rng.randrange(len(self.node.input)) :]

    def empty_operand(self):
        if (k := self.operand()) is None:
            return False
        self.node.input[k] = ""

    def empty_operands(self):
        for k in range(len(self.node.input)):
            self.node.input[k] = ""

    def same_operands(self):
        if len(self.node.input) < 2:
            return False
        self.node.input[self.operand()] = self.node.input[self.operand()]

    def swap_operands(self):
        if len(self.node.input) < 2:
            return False
        names = list(self.node.input)
        self.rng.shuffle(names)
        self.node.input[:] = names

    def other_operand(self):
        if (k := self.operand()) is None:
            return False
        self.node.input[k] = self.new_value()

    def other_type(self):
        tensors = [v for v in self.model.graph.input if v.type.HasField("tensor_type")]
        if not tensors:
            return False
        self.rng.choice(tensors).type.tensor_type.elem_type = self.rng.choice(TYPES)

    def other_kind(self):
        if not self.model.graph.input:
            return False
        v = self.rng.choice(self.model.graph.input)
        texts = [
            "seq(tensor(float))",
            "optional(tensor(float))",
            "map(int64,tensor(float))",
            "seq(tensor(int64))",
        ]
        v.type.CopyFrom(parsed_type(self.rng.choice(texts)))

    def other_rank(self):
        tensors = [v for v in self.model.graph.input if v.type.HasField("tensor_type")]
        if not tensors:
            return False
        v = self.rng.choice(tensors)
        v.type.CopyFrom(helper.make_tensor_type_proto(v.type.tensor_type.elem_type, self.rng.choice(RANKS)))

    def add_result(self):
        self.node.output.append(next(self.fresh))

    def add_many_results(self):
        self.node.output.extend(next(self.fresh) for _ in range(self.rng.choice([2, 5, 70, 300])))

    def add_empty_result(self):
        self.node.output.extend(["", next(self.fresh)])

    def insert_result(self):
        self.node.output.insert(0, next(self.fresh))

    def drop_result(self):
        """The result that is no longer there becomes an input where something reads it."""
        if not self.node.output:
            return False
        k = self.rng.randrange(len(self.node.output))
        self.orphan(self.node.output[k])
        del self.node.output[k]

    def empty_result(self):
        if not self.node.output:
            return False
        k = self.rng.randrange(len(self.node.output))
        self.orphan(self.node.output[k])
        self.node.output[k] = ""

    def double_result(self):
        if not self.node.output:
            return False
        self.node.output.append(self.rng.choice(self.node.output))

    def orphan(self, name):
        """Another node gives the value from here on."""
        if not name:
            return
        value = numpy_helper.from_array(np.ones([1], np.float32))
        self.where.node.insert(0, helper.make_node("Constant", [], [name], value=value))

    def no_attribute(self):
        if not self.node.attribute:
            return False
        del self.node.attribute[self.rng.randrange(len(self.node.attribute))]

    def other_attribute(self):
        if not self.node.attribute:
            return False
        a = self.rng.choice(self.node.attribute)
        if a.type == AttributeProto.INT and self.rng.random() < 0.7:
            a.i = self.rng.choice(INTEGERS)
        elif a.type == AttributeProto.INTS and self.rng.random() < 0.8:
            ints = list(a.ints)
            how = self.rng.randrange(4)
            if how == 0:
                ints.append(self.rng.choice(INTEGERS))
            elif ints and how == 1:
                ints.pop()
            elif ints and how == 2:
                ints[self.rng.randrange(len(ints))] = self.rng.choice(INTEGERS)
            else:
                ints = []
            a.ClearField("ints")
            a.ints.extend(ints)
        elif a.type == AttributeProto.GRAPH:
            self.damage_body(a.g)
        elif a.type == AttributeProto.STRING and self.rng.random() < 0.6:
            a.s = self.rng.choice([b"", b"->", b"ij,jk", b"...", b"\xff", a.s + b",i", a.s[:-1]])
        else:
            kind = self.rng.choice(["INT", "FLOAT", "STRING", "INTS", "FLOATS", "STRINGS", "TENSOR"])
            a.CopyFrom(attribute_of(a.name, kind, self.rng))

    def damage_body(self, body):
        how = self.rng.randrange(4)
        if how == 0:
            body.input.append(helper.make_tensor_value_info(next(self.fresh), 1, None))
        elif how == 1 and body.output:
            body.output.append(self.rng.choice(body.output))
        elif how == 2 and body.output:
            del body.output[self.rng.randrange(len(body.output))]
        elif body.output:
            self.rng.choice(body.output).type.CopyFrom(parsed_type("seq(tensor(float))"))

    def add_attribute(self):
        names = ["axis", "axes", "keepdims", "to", "perm", "shape", "value", "pads", "split", "kernel_shape"]
        names = [n for n in names if n not in {a.name for a in self.node.attribute}]
        kind = self.rng.choice(["INT", "FLOAT", "STRING", "INTS", "FLOATS", "TENSOR"])
        self.node.attribute.append(attribute_of(self.rng.choice(names), kind, self.rng))

    def other_opset(self):
        o = self.rng.choice(self.model.opset_import)
        o.version = self.rng.choice([1, 6, 7, 9, 10, 11, 12, 13, 15, 18, 21, 24, 27])

    def reader_added(self):
        """Another operator reads a result: rules meet what a damaged node states."""
        names = [n for n in self.node.output if n]
        if not names or self.where is not self.model.graph:
            return False
        made = next(self.fresh)
        op = self.rng.choice(["Relu", "Shape", "Cast", "Add", "Transpose", "Squeeze"])
        ins = [self.rng.choice(names)] * (2 if op == "Add" else 1)
        n = helper.make_node(op, ins, [made], **({"to": 1} if op == "Cast" else {}))
        self.model.graph.node.append(n)
        self.model.graph.output.append(onnx.ValueInfoProto(name=made))


CHANGES = sorted(n for n, f in vars(Change).items() if callable(f) and not n.startswith("_"))
CHANGES = [n for n in CHANGES if n not in ("operand", "new_value", "orphan", "damage_body")]


def changed(model, kinds, rng):
    """A copy with these changes, one after the other, each of a node that is drawn; None where one does not
    apply."""
    m = onnx.ModelProto()
    m.CopyFrom(model)
    for serial, kind in enumerate(kinds):
        c = Change(m, rng)
        c.fresh = (f"made{serial}_{k}" for k in itertools.count())
        if getattr(c, kind)() is False:
            return None
    return m
