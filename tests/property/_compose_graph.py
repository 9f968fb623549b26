"""A model in the making.

Nodes are added step by step. Each step runs at once, so that the values are known at every binding, and a
step that ONNX Runtime refuses is taken back.
"""

import numpy as np
import onnx
from onnx import helper, numpy_helper

import _compose_values as values
from _compose_corpus import newest_opset
from lib import runs
from lib.counting import bodies

MOST_ELEMENTS = 4000


class Refused(Exception):
    """A step that cannot be made."""


class Value:
    """at[k]: a tensor, or a list of tensors for a sequence, at binding k; None where the model has ended to
    run."""

    def __init__(self, name, at):
        self.name, self.at = name, at

    @property
    def first(self):
        return self.at[0]

    @property
    def is_tensor(self):
        return isinstance(self.at[0], np.ndarray)


def renamed(nodes, names, fresh):
    """Copies of nodes with other names, in bodies too. names: {old: new}; a result that is not in it gets the
    name fresh(old) and is put there."""
    out = []
    for node in nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        rename(copy, names, fresh)
        out.append(copy)
    return out


def defined(names, name, fresh):
    if name and name not in names:
        names[name] = fresh(name)
    return names.get(name, name)


def open_dims(value_info):
    """Takes back what a body declares of extents: operands of other shapes would make it untrue."""
    for d in value_info.type.tensor_type.shape.dim:
        d.Clear()


def rename(node, names, fresh):
    node.name = ""
    node.input[:] = [names.get(i, i) for i in node.input]
    node.output[:] = [defined(names, o, fresh) for o in node.output]
    for a in node.attribute:
        for g in [a.g] if a.type == onnx.AttributeProto.GRAPH else a.graphs:
            del g.value_info[:]
            for v in [*g.input, *g.initializer]:
                v.name = defined(names, v.name, fresh)
            for inner in g.node:
                rename(inner, names, fresh)
            for v in g.output:
                v.name = names.get(v.name, v.name)
            for v in [*g.input, *g.output]:
                open_dims(v)


def free_names(nodes):
    """Names that the nodes read but do not define, in the order of the first use."""
    known, found = set(), {}
    for node in nodes:
        read = list(node.input)
        for g in bodies(node):
            own = {v.name for v in [*g.input, *g.initializer]} | {o for n in g.node for o in n.output}
            read += [n for n in [*free_names(g.node), *(o.name for o in g.output)] if n not in own]
        found |= {n: None for n in read if n and n not in known}
        known |= set(node.output)
    return [n for n in found if n not in known]


class Graph:
    def __init__(self, rng):
        self.rng = rng
        newest = newest_opset()
        old = rng.random() < 0.25
        self.version = rng.choice([7, 9, 10, 11, 12] if old else list(range(13, newest + 1)))
        self.ir = rng.choice([3, 3, 4, 6]) if self.version < 9 else rng.choice([7, 8, 9, 10, 10, 10, 11, 12])
        self.domains = {"": self.version}
        self.special = rng.random() < 0.3
        self.symbols, self.draw = values.Symbols(rng), values.Draw(rng, self.special)
        self.nodes, self.values, self.inputs, self.functions = [], [], [], []
        self.constants, self.overridable, self.feeds = {}, set(), [{} for _ in range(values.BINDINGS)]
        self.alive = [True] * values.BINDINGS
        self.count = 0

    # ---- names, constants, inputs --------------------------------------------------------------------------

    def fresh(self, old=""):
        self.count += 1
        return f"v{self.count}"

    def node(self, operator, inputs, outputs=1, domain="", **attributes):
        """Adds a node; returns the name of its result, or the names."""
        names = [self.fresh() for _ in range(outputs)]
        self.nodes.append(helper.make_node(operator, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value):
        """An initializer; returns its name."""
        name, value = self.fresh(), np.asarray(value)
        self.constants[name] = numpy_helper.from_array(value, name)
        self.values.append(Value(name, [value] * values.BINDINGS))
        return name

    def ints(self, numbers):
        return self.constant(np.array(numbers, np.int64))

    def input(self, value, keep_shape=False, type_proto=None):
        """A graph input with values like this one; returns its name."""
        name = self.fresh()
        if isinstance(value, list):
            self.inputs.append(helper.make_value_info(name, type_proto))
            at = [value] * values.BINDINGS
        else:
            dims = [(n, (n,) * values.BINDINGS) if keep_shape else self.symbols.dim(n) for n in value.shape]
            shapes = [[e[k] for _, e in dims] for k in range(values.BINDINGS)]
            if max(int(np.prod(s)) for s in shapes) > MOST_ELEMENTS:
                raise Refused("large")
            elem = helper.np_dtype_to_tensor_dtype(value.dtype)
            self.inputs.append(helper.make_value_info(name, values.shape_type(elem, [d for d, _ in dims])))
            at = [self.draw.like(value, s, k == 0 or keep_shape) for k, s in enumerate(shapes)]
            if not keep_shape:
                at = [self.draw.corners(v) for v in at]
        for k, v in enumerate(at):
            self.feeds[k][name] = v
        self.values.append(Value(name, at))
        return name

    def default(self, value):
        """An initializer that a caller may override; some bindings do."""
        name = self.constant(value)
        self.overridable.add(name)
        dims = list(np.asarray(value).shape)
        elem = helper.np_dtype_to_tensor_dtype(np.asarray(value).dtype)
        self.inputs.append(helper.make_value_info(name, values.shape_type(elem, dims)))
        if self.ir >= 4 and self.rng.random() < 0.3:
            for k in range(1, values.BINDINGS):
                other = self.draw.like(np.asarray(value), np.asarray(value).shape, False)
                self.feeds[k][name] = self.values[-1].at[k] = other
        return name

    def given(self, value, keep_shape=False):
        """A value as an initializer, an overridable one or a graph input."""
        draw = self.rng.random()
        if draw < 0.4:
            return self.constant(value)
        if draw < 0.52:
            return self.default(value)
        return self.input(value, keep_shape)

    def value(self, name):
        return next((v for v in self.values if v.name == name), None)

    def pick(self, fits=lambda v: True):
        """A value, late ones more often; None when none fits."""
        found = [v for v in self.values if v.at[0] is not None and fits(v)]
        if not found:
            return None
        return found[-1 - min(int(self.rng.expovariate(0.5)), len(found) - 1)]

    def tensor(self, fits=lambda v: True):
        return self.pick(lambda v: v.is_tensor and v.first.size <= MOST_ELEMENTS and fits(v))

    # ---- steps ---------------------------------------------------------------------------------------------

    def state(self):
        lengths = [len(x) for x in (self.nodes, self.values, self.inputs, self.functions)]
        kept = dict(self.constants), set(self.overridable), [dict(f) for f in self.feeds], list(self.alive)
        return (
            lengths, kept, dict(self.domains), dict(self.symbols.extents), set(self.symbols.alone)
        )  # fmt: skip

    def back(self, state):
        lengths, kept, self.domains, self.symbols.extents, self.symbols.alone = state
        for field, n in zip((self.nodes, self.values, self.inputs, self.functions), lengths):
            del field[n:]
        self.constants, self.overridable, self.feeds, self.alive = kept

    def step(self, make):
        """Whether make() was made: what it adds runs at the first binding. Otherwise all is as before."""
        state = self.state()
        try:
            make()
            self.evaluate(state[0][0])
            return True
        except Refused:
            self.back(state)
            return False

    def opsets(self):
        found = [helper.make_opsetid(d, v) for d, v in self.domains.items()]
        return found + ([helper.make_opsetid("local", 1)] if self.functions else [])

    def evaluate(self, begin):
        """Runs the nodes from `begin` on and appends their results to the values."""
        nodes = self.nodes[begin:]
        if not nodes:
            return
        names = [o for n in nodes for o in n.output if o]
        free = free_names(nodes)
        fed = [n for n in free if n not in self.constants or n in self.overridable]
        sources = {n: self.value(n) for n in fed}
        if any(v is None or v.first is None for v in sources.values()):
            raise Refused("a name without a value")
        try:
            inputs = [helper.make_value_info(n, values.open_type(v.first)) for n, v in sources.items()]
        except IndexError:
            raise Refused("an empty sequence") from None
        graph = helper.make_graph(
            nodes,
            "step",
            inputs,
            [onnx.ValueInfoProto(name=n) for n in names],
            [self.constants[n] for n in free if n in self.constants and n not in fed],
        )
        model = helper.make_model(
            graph, opset_imports=self.opsets(), ir_version=max(self.ir, 8), functions=self.functions
        )
        try:
            session = runs.session(model)
        except Exception as e:  # noqa: BLE001 - ONNX Runtime has many kinds
            raise Refused(str(e)) from None
        known = {i.name for i in session.get_inputs()}
        results = [None] * values.BINDINGS
        for k in range(values.BINDINGS):
            if not self.alive[k]:
                continue
            try:
                feed = {n: v.at[k] for n, v in sources.items() if n in known}
                results[k] = session.run(None, feed)
            except Exception as e:  # noqa: BLE001
                if k == 0 or self.rng.random() < 0.5:
                    raise Refused(str(e)) from None
                self.alive[k] = False
        for i, name in enumerate(names):
            at = [None if r is None else r[i] for r in results]
            sizes = [
                x.size for v in at for x in (v if isinstance(v, list) else [v]) if isinstance(x, np.ndarray)
            ]
            if sum(sizes) > 3 * MOST_ELEMENTS:
                raise Refused("large")
            self.values.append(Value(name, at))
