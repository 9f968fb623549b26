"""Are two models the same graph up to names and the order of independent nodes?

`difference(a, b)` starts at the graph outputs, which have names, and pairs every node of `a` with one of `b`:
nodes are paired when they have the same operator, attributes and results, and then their operands must pair,
too. No node is paired twice, and none may be left over. So "no difference" means that a one-to-one mapping
was found; otherwise the text names the first two nodes that do not pair.

Compared as they stand: graph inputs and outputs (names, order, types), default values of inputs, the version
of the default operator set, functions, bodies (inputs and outputs by position), constants by type, shape and
bytes. Free: names of inner values and nodes, the order of nodes and initializers, value_info, doc strings,
metadata, initializers that nothing reads.

Unless `normalize` is False, different forms of the same computation count as one:

  Constant nodes and initializers
  Reshape, Squeeze, Unsqueeze, Flatten: one operator, given by the shape of its result
  Split: given by its axis and the lengths of its results
  attributes that are left out and have a default; a missing perm of Transpose
  negative axes in the attributes axis and axes
  the order of the operands of commutative operators
  leading ones in the shape of a constant operand that is broadcast

Shapes that contain symbols are compared by samples: the model is inferred twice, with other primes in the
place of its symbols, and shapes are equal when they are so both times. A node for which shape inference finds
no shape is compared as it stands.
"""

import collections
import hashlib

import numpy as np
import onnx
import onnx.defs
from onnx import AttributeProto, helper, numpy_helper

DEFORMATIONS = {"Reshape", "Squeeze", "Unsqueeze", "Flatten"}
# The operators whose operands the tool's operator table lets swap, bit for bit.
COMMUTATIVE = {"Add", "And", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Equal", "Mul", "Or", "Xor"}
BROADCASTING = COMMUTATIVE | set(
    """BitShift Div Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mod Pow PRelu Sub Sum
    Where""".split()
)
# Their axis does not count the dims of the first operand.
OTHER_AXIS = {"OneHot", "ConcatFromSequence"}
FIRST_PRIMES = (101, 211)  # of the samples


class Value:
    """An operand or result. kind: input, constant, result, or free (no definition in sight)."""

    __slots__ = ("kind", "key", "name", "owner", "index", "shapes", "label", "uses")

    def __init__(self, kind, key, name, owner=None, index=0, shapes=None):
        self.kind, self.key, self.name, self.owner, self.index = kind, key, name, owner, index
        self.shapes = shapes  # one tuple of extents for each sample, or None
        self.label = (hashed(kind, key), "")
        self.uses = []  # (node, operand number)


class Node:
    __slots__ = ("graph", "op", "attributes", "operands", "results", "bodies", "commutative", "label", "text")


class Graph:
    __slots__ = ("inputs", "outputs", "nodes")


def hashed(*parts):
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]


# ---- reading -----------------------------------------------------------------------------------------------


def tensor_key(tensor):
    """Element type, shape and a digest of the elements; for a tensor that cannot be read, of the message."""
    try:
        return array_key(numpy_helper.to_array(tensor), tensor.data_type)
    except Exception:  # noqa: BLE001
        plain = onnx.TensorProto()
        plain.CopyFrom(tensor)
        plain.name = plain.doc_string = ""
        return tensor.data_type, None, hashlib.sha256(plain.SerializeToString(deterministic=True)).hexdigest()


def array_key(array, data_type):
    content = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
    return data_type, array.shape, hashlib.sha256(content).hexdigest()


def without_leading_ones(key):
    data_type, shape, content = key
    while shape and shape[0] == 1:
        shape = shape[1:]
    return data_type, shape, content


def attribute_key(attribute):
    if attribute.ref_attr_name:
        return "reference", attribute.ref_attr_name
    if attribute.type == AttributeProto.TENSOR:
        return "tensor", tensor_key(attribute.t)
    if attribute.type == AttributeProto.INT:
        return "int", attribute.i
    if attribute.type == AttributeProto.INTS:
        return "ints", tuple(attribute.ints)
    plain = AttributeProto()
    plain.CopyFrom(attribute)
    plain.name = plain.doc_string = ""
    return "other", plain.SerializeToString(deterministic=True)


def constant_of(node):
    """The key of what a Constant node holds."""
    (a,) = node.attribute
    if a.name == "value":
        return tensor_key(a.t)
    if a.name == "sparse_value":
        return attribute_key(a)
    value = helper.get_attribute_value(a)
    if a.name == "value_string":
        return array_key(np.array(value.decode(), object), onnx.TensorProto.STRING)
    if a.name == "value_strings":
        return array_key(np.array([v.decode() for v in value], object), onnx.TensorProto.STRING)
    array = np.array(value, np.float32 if a.name.startswith("value_float") else np.int64)
    return array_key(array, helper.np_dtype_to_tensor_dtype(array.dtype))


def subgraphs(attribute):
    return [attribute.g] if attribute.type == AttributeProto.GRAPH else list(attribute.graphs)


def defaults(op_type, version):
    """{name: key} of the attributes that have a default."""
    try:
        schema = onnx.defs.get_schema(op_type, version, "")
    except Exception:  # noqa: BLE001 - no operator of this version
        return {}
    values = ((k, a.default_value) for k, a in schema.attributes.items())
    return {k: attribute_key(v) for k, v in values if v is not None and v.type}


class Reader:
    """Makes Graphs of one model."""

    def __init__(self, model, normalize):
        self.normalize = normalize
        versions = {o.domain: o.version for o in model.opset_import}
        self.version = versions.get("", versions.get("ai.onnx", 0))
        self.tables = [inferred_shapes(model, first) for first in FIRST_PRIMES] if normalize else []
        self.order = []  # every node; a body's before the node that owns it
        self.main = self.graph(model.graph, {}, ())
        self.functions = {
            (f.domain, f.name, f.overload): self.graph(as_graph(f), {}, None) for f in model.functions
        }

    def shapes(self, path, name):
        found = [t.get((path, name)) for t in self.tables] if path is not None else []
        return tuple(found) if found and None not in found else None

    def graph(self, proto, outer, path):
        """path: the numbers that lead to the body, () for the main graph; None: no shapes are known."""
        g, scope, nodes = Graph(), dict(outer), []
        tensors = {t.name: tensor_key(t) for t in proto.initializer}
        tensors |= {
            t.values.name: ("sparse", t.SerializeToString(deterministic=True))
            for t in proto.sparse_initializer
        }
        g.inputs = []
        for k, v in enumerate(proto.input):
            kind = v.type.SerializeToString(deterministic=True)
            key = (v.name, kind) if path == () else (k, b"")
            default = tensors.pop(v.name, None)
            scope[v.name] = Value("input", (*key, default), v.name, g, k, self.shapes(path, v.name))
            g.inputs.append(scope[v.name])
        for name, key in tensors.items():
            scope[name] = Value("constant", key, name)
        for number, n in enumerate(proto.node):
            if self.normalize and n.op_type == "Constant" and n.domain in ("", "ai.onnx"):
                if not any(a.ref_attr_name for a in n.attribute):
                    scope[n.output[0]] = Value("constant", constant_of(n), n.output[0])
                    continue
            node = Node()
            node.results = [
                Value("result", None, o, node, k, self.shapes(path, o)) if o else None
                for k, o in enumerate(n.output)
            ]
            scope.update((v.name, v) for v in node.results if v)
            nodes.append((number, n, node))
        g.nodes = [node for _, _, node in nodes]
        for number, n, node in nodes:
            self.fill(node, n, g, scope, None if path is None else (*path, number))
        g.outputs = [self.find(scope, v.name) for v in proto.output]
        return g

    @staticmethod
    def find(scope, name):
        return scope.get(name) or Value("free", name, name)

    def fill(self, node, proto, graph, scope, path):
        node.graph = graph
        node.op = ("" if proto.domain == "ai.onnx" else proto.domain, proto.op_type)
        if proto.overload:
            node.op += (proto.overload,)
        node.text = f"{', '.join(proto.output)} = {proto.op_type}({', '.join(proto.input)})"
        node.operands = [self.find(scope, v) if v else None for v in proto.input]
        node.attributes, node.bodies, node.commutative = {}, [], False
        for k, a in enumerate(proto.attribute):
            if a.type in (AttributeProto.GRAPH, AttributeProto.GRAPHS):
                inner = [
                    self.graph(g, scope, None if path is None else (*path, k, i))
                    for i, g in enumerate(subgraphs(a))
                ]
                node.bodies += [(a.name, i, g) for i, g in enumerate(inner)]
            else:
                node.attributes[a.name] = attribute_key(a)
        if self.normalize and node.op[0] == "":
            self.normal_form(node)
        for values in (node.operands, node.results):
            while values and values[-1] is None:
                values.pop()
        self.order.append(node)

    def normal_form(self, node):
        op, first = node.op[1], node.operands[0] if node.operands else None
        result = node.results[0] if node.results else None
        shapes = result.shapes if result else None
        given = first.shapes if first else None
        if first and first.kind == "constant":
            given = (first.key[1],) if isinstance(first.key[1], tuple) else None
        node.attributes = {**defaults(op, self.version), **node.attributes}
        if op in DEFORMATIONS and shapes:
            node.op, node.attributes, node.operands = ("", "deformation"), {"to": shapes}, [first]
            return
        if op == "Transpose" and "perm" not in node.attributes and given:
            node.attributes["perm"] = "ints", tuple(range(len(given[0])))[::-1]
        if op not in OTHER_AXIS and given:
            rank = len(given[0])
            kind, axis = node.attributes.get("axis", (None, None))
            if kind == "int":
                node.attributes["axis"] = kind, axis + rank if axis < 0 else axis
            kind, axes = node.attributes.get("axes", (None, None))
            if kind == "ints":
                node.attributes["axes"] = kind, tuple(x + rank if x < 0 else x for x in axes)
        if op == "Split" and given and all(r and r.shapes for r in node.results):
            axis = node.attributes["axis"][1]
            lengths = tuple(tuple(shape[axis] for shape in r.shapes) for r in node.results)
            node.attributes, node.operands = {"axis": axis, "lengths": lengths}, [first]
        if self.version < 7:  # older operators broadcast by attributes
            return
        node.commutative = op in COMMUTATIVE and len(node.operands) == 2
        if op in BROADCASTING:
            node.operands = [self.broadcast(v, node.operands) for v in node.operands]

    @staticmethod
    def broadcast(value, operands):
        """A constant whose leading ones do not add to the rank of the result: the same without them."""
        if value is None or value.kind != "constant" or not isinstance(value.key[1], tuple):
            return value
        ranks = [len(v.shapes[0]) for v in operands if v and v.shapes]
        if not ranks or max(ranks) < len(value.key[1]):
            return value
        return Value("constant", without_leading_ones(value.key), value.name)


def as_graph(function):
    g = onnx.GraphProto()
    g.node.extend(function.node)
    for field, names in ((g.input, function.input), (g.output, function.output)):
        for name in names:
            field.add(name=name)
    return g


# ---- shapes ------------------------------------------------------------------------------------------------


def primes(first):
    n = first
    while True:
        if all(n % k for k in range(2, int(n**0.5) + 1)):
            yield n
        n += 1


def inferred_shapes(model, first_prime):
    """{(path, name): extents} with primes from `first_prime` on as extents of what is symbolic."""
    m = onnx.ModelProto()
    m.CopyFrom(model)
    source = primes(first_prime)
    extents = collections.defaultdict(lambda: next(source))

    def concrete(type_proto, place):
        if type_proto.HasField("tensor_type"):
            for axis, d in enumerate(type_proto.tensor_type.shape.dim):
                if not d.HasField("dim_value"):
                    d.dim_value = extents[d.dim_param or (place, axis)]

    def prepare(g):
        """What a file declares of inner values and outputs is not used: the symbols there are only names."""
        del g.value_info[:]
        for v in g.input:
            concrete(v.type, v.name)
        for v in g.output:
            if v.type.HasField("tensor_type"):
                v.type.tensor_type.ClearField("shape")
        for n in g.node:
            for a in n.attribute:
                for body in subgraphs(a):
                    prepare(body)

    prepare(m.graph)
    try:
        m = onnx.shape_inference.infer_shapes(m, data_prop=True)
    except Exception:  # noqa: BLE001 - then nothing is known, and nodes are compared as they stand
        return {}
    table = {}

    def collect(g, path):
        for v in [*g.input, *g.value_info, *g.output]:
            t = v.type.tensor_type
            if v.type.HasField("tensor_type") and t.HasField("shape"):
                if all(d.HasField("dim_value") for d in t.shape.dim):
                    table[path, v.name] = tuple(d.dim_value for d in t.shape.dim)
        for number, n in enumerate(g.node):
            for k, a in enumerate(n.attribute):
                for i, body in enumerate(subgraphs(a)):
                    collect(body, (*path, number, k, i))

    collect(m.graph, ())
    return table


# ---- labels ------------------------------------------------------------------------------------------------


def label(reader):
    """Gives each node and result a label of what it is computed from and of what reads it. Equal values have
    equal labels in both models; labels decide how the operands of commutative operators are paired."""
    for n in reader.order:
        operands = [v.label[0] if v else "" for v in n.operands]
        if n.commutative:
            operands.sort()
        bodies = [(name, i, [v.label[0] for v in g.outputs]) for name, i, g in n.bodies]
        n.label = hashed(n.op, sorted(n.attributes.items()), operands, bodies), ""
        for k, v in enumerate(n.results):
            if v:
                v.label = hashed(n.label[0], k), ""
        for k, v in enumerate(n.operands):
            if v:
                v.uses.append((n, -1 if n.commutative else k))
    outputs = collections.defaultdict(list)
    for k, v in enumerate(reader.main.outputs):
        outputs[id(v)].append(k)
    for n in reversed(reader.order):
        for v in n.results:
            if v:
                readers = sorted((user.label, k) for user, k in v.uses)
                v.label = v.label[0], hashed(readers, outputs[id(v)])
        n.label = n.label[0], hashed([v.label if v else "" for v in n.results])


# ---- pairing -----------------------------------------------------------------------------------------------


class Different(Exception):
    pass


class Pairing:
    def __init__(self):
        self.partner, self.taken, self.graphs, self.todo = {}, {}, {}, []

    def graph(self, x, y):
        self.graphs[id(x)] = y
        if len(x.inputs) != len(y.inputs) or len(x.outputs) != len(y.outputs):
            raise Different("graphs have other numbers of inputs or outputs")
        self.todo += zip(x.outputs, y.outputs)

    def run(self):
        while self.todo:
            self.values(*self.todo.pop())

    def values(self, x, y):
        if x is None or y is None:
            if x is not y:
                raise Different(f"an operand is left out: {text(x)} / {text(y)}")
        elif x.kind != y.kind:
            raise Different(f"{text(x)} / {text(y)}")
        elif x.kind == "result":
            if x.index != y.index:
                raise Different(f"another result is read: {text(x)} / {text(y)}")
            self.nodes(x.owner, y.owner)
        elif x.key != y.key:
            raise Different(f"{text(x)} / {text(y)}")
        elif x.kind == "input" and self.graphs.get(id(x.owner)) is not y.owner:
            raise Different(f"inputs of other graphs: {text(x)} / {text(y)}")

    def nodes(self, x, y):
        if self.partner.get(id(x)) is y:
            return
        where = f"{x.text} / {y.text}: "
        if id(x) in self.partner or id(y) in self.taken:
            pairs = (self.partner.get(id(x)), self.taken.get(id(y)))
            raise Different(where + "already paired with " + " / ".join(p.text if p else "-" for p in pairs))
        if x.op != y.op:
            raise Different(where + "other operators")
        if x.attributes != y.attributes:
            names = sorted(
                k
                for k in x.attributes.keys() | y.attributes.keys()
                if x.attributes.get(k) != y.attributes.get(k)
            )
            values = [(x.attributes.get(k), y.attributes.get(k)) for k in names]
            raise Different(where + f"other attributes {', '.join(names)}: {values}")
        if len(x.operands) != len(y.operands):
            raise Different(where + "other numbers of operands")
        if [v is None for v in x.results] != [v is None for v in y.results]:
            raise Different(where + "other results are used")
        if [b[:2] for b in x.bodies] != [b[:2] for b in y.bodies]:
            raise Different(where + "other bodies")
        if self.graphs.get(id(x.graph)) is not y.graph:
            raise Different(where + "in other graphs")
        self.partner[id(x)], self.taken[id(y)] = y, x
        for (_, _, g), (_, _, h) in zip(x.bodies, y.bodies):
            self.graph(g, h)
        operands = list(y.operands)
        if x.commutative and self.swapped(x.operands, operands):
            operands.reverse()
        self.todo += zip(x.operands, operands)

    def swapped(self, xs, ys):
        """Does the first of `xs` belong to the second of `ys`?"""
        for i, x in enumerate(xs):
            known = self.partner.get(id(x.owner)) if x.kind == "result" else None
            for j, y in enumerate(ys):
                if known is not None and y.kind == "result" and y.owner is known and y.index == x.index:
                    return i != j
        straight = xs[0].label == ys[0].label and xs[1].label == ys[1].label
        crossed = xs[0].label == ys[1].label and xs[1].label == ys[0].label
        if straight == crossed:  # no label fits: by what the operands are computed from
            straight, crossed = xs[0].label[0] == ys[0].label[0], xs[0].label[0] == ys[1].label[0]
        return crossed and not straight

    def may_pair(self, x, y):
        """Are their graphs paired, and their operands paired with each other or not at all?"""
        if self.graphs.get(id(x.graph)) is not y.graph:
            return False
        if x.commutative:
            return True
        pairs = [(v.owner, w.owner) for v, w in zip(x.operands, y.operands) if v and w and v.kind == "result"]
        return all(self.partner.get(id(v)) is (w if id(w) in self.taken else None) for v, w in pairs)

    def rest(self, xs, ys):
        """Nodes that no output needs."""
        left = [n for n in xs if id(n) not in self.partner], [n for n in ys if id(n) not in self.taken]
        while left[0] and left[1]:
            x = left[0][-1]
            fit = (n for n in reversed(left[1]) if n.label == x.label and self.may_pair(x, n))
            y = next(fit, None)
            if y is None:
                break
            self.nodes(x, y)
            self.run()
            left = (
                [n for n in left[0] if id(n) not in self.partner],
                [n for n in left[1] if id(n) not in self.taken],
            )
        if left[0] or left[1]:
            texts = ["; ".join(n.text for n in side[:10]) or "no node" for side in left]
            raise Different(f"nodes are left over: {texts[0]} / {texts[1]}")


def text(value):
    if value is None:
        return "nothing"
    if value.kind == "result":
        return f"result {value.index} of {value.owner.text}"
    return f"{value.kind} {value.name}" + (f" {value.key[:2]}" if value.kind == "constant" else "")


def difference(a, b, normalize=True):
    """None when the models are the same graph, else a text: what is in `a` / what is in `b`."""
    for what in ("input", "output"):
        x, y = (
            [(v.name, v.type.SerializeToString(deterministic=True)) for v in getattr(m.graph, what)]
            for m in (a, b)
        )
        if x != y:
            names = [n for n, _ in x], [n for n, _ in y]
            return f"{what}s differ: {names[0]} / {names[1]}, or their types"
    x, y = Reader(a, normalize), Reader(b, normalize)
    if x.version != y.version:
        return f"operator set {x.version} / {y.version}"
    if x.functions.keys() != y.functions.keys():
        return f"functions {sorted(x.functions)} / {sorted(y.functions)}"
    label(x)
    label(y)
    pairing = Pairing()
    try:
        for v, w in zip(x.main.inputs, y.main.inputs):
            if v.key != w.key:
                raise Different(f"default values of input {v.name} differ")
        for g, h in [(x.main, y.main), *((x.functions[k], y.functions[k]) for k in x.functions)]:
            pairing.graph(g, h)
        pairing.run()
        pairing.rest(x.order, y.order)
    except Different as e:
        return str(e)
    return None
