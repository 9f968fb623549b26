"""What the mapping benchmarks know of a graph: its operators by name, its constants, equal computations, the
numbers that its values have, and how to rename and reorder it without changing what it computes."""

import collections
import copy
import hashlib

import numpy as np
import onnx
from onnx import numpy_helper

from _pairs import models  # noqa: F401  (makes tests/lib importable)
from lib import compare

COMMUTATIVE = {
    "Add",
    "Mul",
    "And",
    "Or",
    "Xor",
    "Max",
    "Min",
    "Sum",
    "Mean",
    "Equal",
    "BitwiseAnd",
    "BitwiseOr",
}
RANDOM = compare.RANDOM | {"Dropout"}
SPELLINGS = {  # operator: what it is another spelling of
    **dict.fromkeys(
        ("Gemm", "FusedMatMul", "FusedGemm", "TransposeMatMul", "MatMulNBits", "GemmFastGelu"), "MatMul"
    ),
    **dict.fromkeys(("FusedConv", "NhwcFusedConv", "NhwcConv"), "Conv"),
    **dict.fromkeys(("Squeeze", "Unsqueeze", "Flatten"), "Reshape"),
    **dict.fromkeys(("QuickGelu", "BiasGelu", "FastGelu"), "Gelu"),
    **dict.fromkeys(("SkipLayerNormalization", "EmbedLayerNormalization"), "LayerNormalization"),
    **dict.fromkeys(("SkipSimplifiedLayerNormalization", "SimplifiedLayerNormalization"), "RMSNormalization"),
}
MOVERS = set(  # operators that move elements as they are, or compute sizes
    "Identity Cast CastLike Reshape Squeeze Unsqueeze Flatten Transpose Shape Size Slice Split Concat Gather "
    "GatherElements GatherND Expand Tile Pad Range ConstantOfShape SpaceToDepth DepthToSpace Compress "
    "NonZero ScatterND ScatterElements SequenceConstruct SequenceAt ConcatFromSequence SplitToSequence "
    "Dropout".split()
)


def family(kind):
    return SPELLINGS.get(kind, kind)


def is_own_opset(node):
    return node.domain in ("", "ai.onnx")


def first_result(node):
    return next((o for o in node.output if o), "")


def bodies_of(node):
    """(attribute, graph) of the graphs in a node's attributes."""
    for a in node.attribute:
        if a.type == onnx.AttributeProto.GRAPH:
            yield a.name, a.g
        elif a.type == onnx.AttributeProto.GRAPHS:
            yield from ((a.name, g) for g in a.graphs)


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def constant_of(node):
    """The tensor of a Constant node; None when it holds something else."""
    a = node.attribute[0]
    if a.ref_attr_name:
        return None
    if a.name == "value":
        return a.t
    if a.name in ("value_float", "value_floats", "value_int", "value_ints"):
        kind = np.float32 if "float" in a.name else np.int64
        return numpy_helper.from_array(np.asarray(onnx.helper.get_attribute_value(a), kind))
    return None


def constants_of(graph, outer=()):
    """{value: its tensor, or None} of initializers, Constant nodes and Identity of these; `outer` are those
    of
    the graphs around."""
    found = dict(outer)
    for t in getattr(graph, "initializer", ()):
        found[t.name] = t
    for n in graph.node:  # in topological order
        if n.op_type == "Constant" and is_own_opset(n):
            found[n.output[0]] = constant_of(n)
        elif n.op_type == "Identity" and is_own_opset(n) and n.input[0] in found:
            found[n.output[0]] = found[n.input[0]]
    return found


def reads(node):
    """The values that a node reads, those of its bodies from around it among them."""
    found = [x for x in node.input if x]
    for _, g in bodies_of(node):
        own = (
            {i.name for i in g.input}
            | {t.name for t in g.initializer}
            | {o for n in g.node for o in n.output}
        )
        inner = [x for n in g.node for x in reads(n)] + [o.name for o in g.output]
        found += [x for x in inner if x not in own]
    return found


class Operators:
    """The operators of a model by name: the first result, in bodies OWNER/ATTRIBUTE/RESULT, in functions that
    are
    called OWNER/FUNCTION/RESULT. `where` tells for each result of the main graph the operator that makes it;
    `inner` are those in bodies, `of_functions` those in functions."""

    def __init__(self, model):
        self.nodes, self.where, self.inner, self.of_functions = {}, {}, set(), set()
        self.functions = {(f.domain, f.name): f for f in model.functions}
        self.constants = constants_of(model.graph)
        self.results = {o for n in model.graph.node for o in n.output if o}
        self.value_class, self.op_class = {}, {}
        self._enter(model.graph, "", self.constants, {})
        self.copies = collections.defaultdict(set)
        for name, c in self.op_class.items():
            self.copies[c].add(name)

    def _enter(self, graph, prefix, constants, outer, in_function=False):
        """Takes in the operators of a graph. Each value gets a class: equal classes, equal computations."""
        classes = dict(outer)
        for k, i in enumerate(graph.input):
            classes[i if isinstance(i, str) else i.name] = _digest(prefix, "input", k)
        for name, t in constants.items():
            if t is not None:
                classes[name] = _digest("constant", content(t))
        for n in graph.node:
            if n.op_type == "Constant" and is_own_opset(n):
                classes.setdefault(n.output[0], _digest("constant", n.attribute[0].SerializeToString()))
                continue
            if n.output and n.output[0] in constants:
                continue
            name = prefix + first_result(n)
            self.nodes[name] = n
            if in_function:
                self.of_functions.add(name)
            elif prefix:
                self.inner.add(name)
            else:
                self.where.update((o, name) for o in n.output if o)
            if n.op_type == "Identity" and is_own_opset(n):
                own = c = classes.get(n.input[0], n.input[0])
                classes[n.output[0]] = c
                self.op_class[name] = _digest("Identity", c)
            else:
                own = self._class(n, name, classes)
                self.op_class[name] = own
                for k, o in enumerate(n.output):
                    classes[o] = _digest(own, k)
            for attribute, body in bodies_of(n):
                inner = constants_of(body, constants)
                self._enter(body, f"{name}/{attribute}/", inner, classes, in_function)
            if f := self.functions.get((n.domain, n.op_type)):
                self._enter(f, f"{name}/{f.name}/", constants_of(f), {}, True)
        if not prefix:
            self.value_class = classes

    def _class(self, n, name, classes):
        given = [classes.get(x, x) for x in n.input]
        if n.op_type in COMMUTATIVE:
            given.sort()
        parts = sorted(a.SerializeToString() for a in n.attribute)
        alone = name if n.op_type in RANDOM or any(True for _ in bodies_of(n)) else ""
        return _digest(n.domain, n.op_type, alone, len(n.output), *given, *parts)

    def like(self, names):
        """The operators that compute the same as one of those."""
        return {x for n in names if n in self.op_class for x in self.copies[self.op_class[n]]}


def _digest(*parts):
    return hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()


def content(tensor):
    """Type, shape and bytes of a tensor, however it stores them."""
    if tensor.data_type == onnx.TensorProto.STRING:
        return hashlib.blake2b(tensor.SerializeToString()).hexdigest()
    array = numpy_helper.to_array(tensor)
    return tensor.data_type, array.shape, hashlib.blake2b(np.ascontiguousarray(array).tobytes()).hexdigest()


# --- numbers ------------------------------------------------------------------------------------------------


def executed(model, feeds):
    """{value: array} of every value of the main graph, ONNX Runtime's optimizations off. Raises what it
    does."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    have = {o.name for o in model.graph.output}
    for n in model.graph.node:
        for o in n.output:
            if o and o not in have:
                have.add(o)
                model.graph.output.append(onnx.ValueInfoProto(name=o))
    return compare.results(compare.session(model.SerializeToString()), feeds)


def same_numbers(x, y, least):
    """Whether two results are one value: type and shape, and each number to `least` of the largest, or to
    what
    the type can hold."""
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
        return False
    try:
        return compare.difference(x, y) <= (max(least, compare.tolerance(x)) if x.dtype.kind == "f" else 0.0)
    except compare.Unlike:
        return False


# --- renaming -----------------------------------------------------------------------------------------------


class Scrambler:
    """Gives every value, node and constant a fresh name, draws an order of the nodes and drops what tells
    about the origin: value_info, texts, metadata. `names` tells what a value of the main graph is called
    now."""

    def __init__(self, model, draw, ends=False):
        self.draw, self.used = draw, set()
        self.model = model = onnx.ModelProto.FromString(model.SerializeToString())
        graph = model.graph
        kept = {} if ends else {x.name: x.name for x in [*graph.input, *graph.output]}
        self.paths = {}  # operator before: operator now
        self.calls = {(f.domain, f.name): [] for f in model.functions}
        self.names = self._graph(graph, kept, "", "")
        self.inside = {(f.domain, f.name): self._function(f) for f in model.functions}
        for key, calls in self.calls.items():
            for call in calls:
                self._called(*call, key)
        model.doc_string = ""
        model.graph.name = "g"
        del model.metadata_props[:]

    def fresh(self):
        while (name := f"v{self.draw.getrandbits(40):010x}") in self.used:
            pass
        self.used.add(name)
        return name

    def _graph(self, graph, known, before, now):
        """Renames a graph and what is in it; `known` are the names from around it. Returns all of them."""
        names = dict(known)
        own = [i.name for i in graph.input] + [t.name for t in graph.initializer]
        own += [t.values.name for t in graph.sparse_initializer] + [o for n in graph.node for o in n.output]
        for name in own:
            if name and not (name in known and not before):
                names[name] = self.fresh()
        names.setdefault("", "")
        self._nodes(graph.node, names, before, now)
        for t in graph.initializer:
            t.name = names[t.name]
            t.doc_string = ""
        for t in graph.sparse_initializer:
            t.values.name = names[t.values.name]
        for x in [*graph.input, *graph.output]:
            x.name = names.get(x.name, x.name)
            x.doc_string = ""
        del graph.value_info[:]
        del graph.quantization_annotation[:]
        del graph.metadata_props[:]
        graph.doc_string = ""
        self._order(graph.node)
        self._shuffle(graph.initializer)
        return names

    def _function(self, f):
        """Renames what is in a function; returns {operator before: operator now}, and the
        calls in it."""
        names, kept = {"": ""}, (self.paths, self.calls)
        self.paths, self.calls = {}, {key: [] for key in self.calls}
        for name in [*f.input, *(o for n in f.node for o in n.output)]:
            if name not in names:
                names[name] = self.fresh()
        self._nodes(f.node, names, "", "")
        for part in (f.input, f.output):
            renamed = [names[x] for x in part]
            del part[:]
            part.extend(renamed)
        del f.value_info[:]
        del f.metadata_props[:]
        f.doc_string = ""
        self._order(f.node)
        found = self.paths, self.calls
        self.paths, self.calls = kept
        return found

    def _called(self, before, now, key):
        """Adds the paths of what is in the function that an operator calls."""
        paths, calls = self.inside[key]
        for old, new in paths.items():
            self.paths[f"{before}/{key[1]}/{old}"] = f"{now}/{key[1]}/{new}"
        for inner, found in calls.items():
            for old, new in found:
                self._called(f"{before}/{key[1]}/{old}", f"{now}/{key[1]}/{new}", inner)

    def _nodes(self, nodes, names, before, now):
        for n in nodes:
            old = first_result(n)
            n.name, n.doc_string = "n" + self.fresh(), ""
            del n.metadata_props[:]
            for part in (n.input, n.output):
                renamed = [names.get(x, x) for x in part]
                del part[:]
                part.extend(renamed)
            self.paths[before + old] = now + first_result(n)
            if (key := (n.domain, n.op_type)) in self.calls:
                self.calls[key].append((before + old, now + first_result(n)))
            for attribute, body in bodies_of(n):
                body.name = "g"
                inner_before, inner_now = (
                    f"{before}{old}/{attribute}/",
                    f"{now}{first_result(n)}/{attribute}/",
                )
                self._graph(body, names, inner_before, inner_now)

    def _order(self, nodes):
        """One of the topological orders, drawn."""
        maker = {o: k for k, n in enumerate(nodes) for o in n.output if o}
        needs = [{maker[x] for x in reads(n) if x in maker} for n in nodes]
        users, open_needs = collections.defaultdict(list), [len(d) for d in needs]
        for k, d in enumerate(needs):
            for p in d:
                users[p].append(k)
        ready, order = [k for k, d in enumerate(needs) if not d], []
        while ready:
            at = self.draw.randrange(len(ready))
            ready[at], ready[-1] = ready[-1], ready[at]
            order.append(k := ready.pop())
            for u in users[k]:
                open_needs[u] -= 1
                if not open_needs[u]:
                    ready.append(u)
        if len(order) != len(nodes):
            raise ValueError("the nodes cannot be ordered")
        drawn = [copy.deepcopy(nodes[k]) for k in order]
        del nodes[:]
        nodes.extend(drawn)

    def _shuffle(self, tensors):
        drawn = list(tensors)
        self.draw.shuffle(drawn)
        drawn = [copy.deepcopy(t) for t in drawn]
        del tensors[:]
        tensors.extend(drawn)
