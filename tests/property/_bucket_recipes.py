"""Random models with extents to be padded, from a random.Random.

A value carries a label per axis: a number, a symbol, or a text for what an operator made of them. Equal
labels are equal extents, so most models are valid at all extents; those that are not, the runtime refuses.
Inputs are x[b, s, 4], a mask[b, s], ids[b, s] into a table, a cache[b, p, 4] beside it with a mask over past
and new elements, and lengths[b]. The steps are what exporters write: masks from inputs, from lengths and from
Range, extents computed by Shape, Gather and Concat for Reshape, Expand and ConstantOfShape, attention over a
cache, indices, and some control flow.
"""

import dataclasses

import numpy as np
from onnx import helper, numpy_helper

from _bucket_steps import BOOL, FLOAT, INT, WIDTH, Steps
from lib import layouts, verdicts

TABLE, LONGEST = 6, 40
OFTEN = dict(unary=5, binary=5, scalar=3, masked=4, reduce=3, attention=3, project=3, integers=2)
SUM_PADS = ["p + s", "s + p", "total"]  # how the axis over past and new elements is named


@dataclasses.dataclass(frozen=True)
class Value:
    name: str
    kind: int
    dims: tuple  # labels


class Recipe(Steps):
    """.model; .ranges of its marked symbols, .free extents of the others, .relations ({symbol: expression});
    .values ({input: (low, high)}) of true data."""

    def __init__(self, rng):
        self.rng, self.nodes, self.constants, self.inputs = rng, [], [], []
        self.made, self.values, self.relations = [], {}, {}
        self.draw_symbols()
        self.draw_inputs()
        steps = [getattr(self, n) for n in dir(self) if n.startswith("step_")]
        weights = [OFTEN.get(s.__name__.removeprefix("step_"), 1) for s in steps]
        wanted, tries = rng.randint(2, 10), 0
        while wanted and tries < 60:
            tries += 1
            wanted -= bool(rng.choices(steps, weights)[0]())
        self.finish()

    # --- the frame ------------------------------------------------------------------------------------------

    def draw_symbols(self):
        rng = self.rng
        self.cached = rng.random() < 0.4
        s = rng.choice([1, 2, 3])
        self.ranges = {"b": (1, rng.randint(2, 3)), "s": (s, s + rng.randint(2, 5))}
        if self.cached:
            self.ranges["p"] = (rng.choice([0, 1, 1, 2]), rng.randint(3, 5))
            self.total = rng.choice(SUM_PADS)
            if self.total == "total":
                self.relations["total"] = "p + s"
        self.free = {"b": 2} if rng.random() < 0.1 else {}
        self.groups = []
        for symbol in self.free:
            del self.ranges[symbol]
        for symbol, (low, high) in self.ranges.items():
            if low and rng.random() < 0.25:
                g = verdicts.group(symbol, f"{low}..{high}:pow2")
            else:
                g = verdicts.each(symbol, low, high)
            self.groups.append({**g, "fixed": True} if rng.random() < 0.08 else g)

    def marks(self, pads=None):
        """The content of a --buckets file; `pads`: {input: element}, for which nothing is searched."""
        dims = {"dims": self.relations} if self.relations else {}
        content = verdicts.marks(self.groups, self.values, **dims)
        for name, pad in (pads or {}).items():
            content.setdefault("inputs", {}).setdefault(name, {})["pad"] = pad
        return content

    def is_padded(self, value):
        """Whether an input has an axis whose symbols are marked and not fixed."""
        padded = {s for g in self.groups for s in g["symbols"] if not g.get("fixed")}
        texts = [d.dim_param for d in value.type.tensor_type.shape.dim if d.dim_param]
        texts = [self.relations.get(t, t) for t in texts]
        return any(padded & layouts.dim(t).names() for t in texts)

    def input(self, name, kind, dims):
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(dims)))
        self.made.append(Value(name, kind, tuple(dims)))
        return self.made[-1]

    def draw_inputs(self):
        rng = self.rng
        self.x = self.input("x", FLOAT, ["b", "s", WIDTH])
        if rng.random() < 0.7:
            self.mask = self.input("mask", INT, ["b", "s"])
            self.values["mask"] = (0, 1)
        else:
            self.mask = None
        if rng.random() < 0.3:
            self.input("ids", INT, ["b", "s"])
            self.values["ids"] = (0, TABLE - 1)
        if rng.random() < 0.2:
            self.input("lens", INT, ["b"])
            self.values["lens"] = (1, max(1, self.ranges["s"][0]))
        self.cache = self.past_mask = None
        if self.cached:
            self.cache = self.input("cache", FLOAT, ["b", "p", WIDTH])
            self.past_mask = self.input("past_mask", INT, ["b", self.total])
            self.values["past_mask"] = (0, 1)

    def finish(self):
        used = {n for node in self.nodes for n in node.input}
        last = [v for v in self.made if v.name not in used and v.name not in {i.name for i in self.inputs}]
        if not last:
            last = [self.node("Identity", [self.x], FLOAT, self.x.dims)]
        last.sort(key=lambda v: len(self.upstream([v])))
        outputs = last[-1:] + (last[-2:-1] if self.rng.random() < 0.3 else [])
        infos = [helper.make_tensor_value_info(v.name, v.kind, None) for v in outputs]
        # A verdict is on what the outputs need. A node beside that may trap on pad elements.
        nodes = self.upstream(outputs)
        read = {n for node in nodes for n in self.operands(node)}
        constants = [c for c in self.constants if c.name in read]
        graph = helper.make_graph(nodes, "g", self.inputs, infos, constants)
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

    @staticmethod
    def operands(node):
        return set(node.input) | {n for a in node.attribute for i in a.g.node for n in i.input}

    def upstream(self, values):
        """The nodes that the values need, in order."""
        nodes, wanted = [], {v.name for v in values}
        for node in reversed(self.nodes):
            if wanted & set(node.output):
                nodes.append(node)
                wanted |= self.operands(node)
        return nodes[::-1]

    # --- values ---------------------------------------------------------------------------------------------

    def constant(self, data, kind=None):
        a = np.asarray(data)
        if kind is None:
            kind = np.int64 if a.dtype.kind == "i" else np.float32 if a.dtype.kind == "f" else a.dtype
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(a, kind), name))
        return Value(name, FLOAT if np.asarray(a).dtype.kind == "f" else INT, tuple(a.shape))

    def normal(self, *shape):
        rng = np.random.default_rng(self.rng.getrandbits(32))
        return self.constant(rng.standard_normal(shape).astype(np.float32))

    def node(self, operator, inputs, kind, dims, more=(), **attributes):
        """A node; `more` are the (kind, dims) of its further results. Returns the first one."""
        names = [f"v{len(self.nodes)}"] + [f"v{len(self.nodes)}_{k + 1}" for k in range(len(more))]
        names_in = [v.name if isinstance(v, Value) else v for v in inputs]
        self.nodes.append(helper.make_node(operator, names_in, names, f"n{len(self.nodes)}", **attributes))
        results = [Value(names[0], kind, tuple(dims))]
        results += [Value(n, k, tuple(d)) for n, (k, d) in zip(names[1:], more)]
        self.made.extend(results)
        return results[0]

    def pick(self, fits=lambda v: True, kind=FLOAT):
        """A value of the kind, recent ones more often, or None."""
        found = [v for v in self.made if v.kind == kind and fits(v)]
        return self.rng.choice(found + found[-2:] * 9) if found else None

    def axis_of(self, v):
        return self.rng.randrange(len(v.dims))

    def like(self, v, other):
        """Whether two values broadcast, by their labels."""
        pairs = zip(reversed(v.dims), reversed(other.dims))
        return all(a == b or 1 in (a, b) for a, b in pairs)

    @staticmethod
    def broadcast(*values):
        rank = max(len(v.dims) for v in values)
        rows = [(1,) * (rank - len(v.dims)) + v.dims for v in values]
        return tuple(next((d for d in column if d != 1), 1) for column in zip(*rows))

    def without(self, v, axis, keep):
        return tuple(1 if k == axis else d for k, d in enumerate(v.dims) if keep or k != axis)

    def replaced(self, v, axis, label):
        return tuple(label if k == axis else d for k, d in enumerate(v.dims))

    def float_mask(self):
        """A 0-1 mask that broadcasts with [b, s, 4], and its labels."""
        m = self.node("Cast", [self.mask], FLOAT, self.mask.dims, to=FLOAT)
        return self.node("Unsqueeze", [m, self.constant([2])], FLOAT, (*m.dims, 1))

    def extent_of(self, v, axis):
        """A tensor of one element with the extent."""
        shape = self.node("Shape", [v], INT, (len(v.dims),))
        if self.rng.random() < 0.5:
            return self.node("Gather", [shape, self.constant([axis])], INT, (1,))
        ends = [self.constant([axis]), self.constant([axis + 1])]
        return self.node("Slice", [shape, *ends], INT, (1,))

    def scalar(self, v):
        return self.node("Squeeze", [v, self.constant([0])], v.kind, ())

    def range_of(self, v, axis):
        """0, 1, ... up to the extent of an axis."""
        n = self.scalar(self.extent_of(v, axis))
        return self.node("Range", [self.constant(0), n, self.constant(1)], INT, (v.dims[axis],))

    def added(self, a, b):
        """Numbers of one element each."""
        return self.node("Add", [a, b], INT, a.dims)

    # --- extents as data ------------------------------------------------------------------------------------

    def step_filled(self):
        """A tensor of computed extents, by ConstantOfShape or Expand, added to the value that they are of."""
        v = self.pick(lambda v: len(v.dims) > 1)
        if not v:
            return None
        target = self.node(
            "Concat", [self.extent_of(v, k) for k in range(len(v.dims))], INT, (len(v.dims),), axis=0
        )
        fill = np.array([self.rng.choice([0.0, 1.0, -2.5])], np.float32)
        if self.rng.random() < 0.5:
            y = self.node("ConstantOfShape", [target], FLOAT, v.dims, value=numpy_helper.from_array(fill))
        else:
            y = self.node("Expand", [self.constant(fill), target], FLOAT, v.dims)
        return self.node(self.rng.choice(["Add", "Mul"]), [v, y], FLOAT, v.dims)

    def step_positions(self):
        """A table by position, from 0 or from the length of the cache."""
        start = self.scalar(self.extent_of(self.cache, 1)) if self.cache and self.rng.random() < 0.3 else None
        n = self.scalar(self.extent_of(self.x, 1))
        end = self.added(start, n) if start else n
        i = self.node("Range", [start or self.constant(0), end, self.constant(1)], INT, ("s",))
        y = self.node("Gather", [self.normal(LONGEST, WIDTH), i], FLOAT, ("s", WIDTH))
        v = self.pick(lambda v: v.dims[-2:] == ("s", WIDTH))
        return self.node("Add", [v, y], FLOAT, v.dims)

    def step_true_mean(self):
        """A sum divided by the extent, or by the sum of the mask."""
        if self.mask and self.rng.random() < 0.6:
            m = self.float_mask()
            v = self.node("Mul", [self.x, m], FLOAT, self.x.dims)
            n = self.node("ReduceSum", [m, self.constant([1])], FLOAT, ("b", 1, 1), keepdims=1)
        else:
            v = self.pick(lambda v: v.dims == self.x.dims)
            n = self.node("Cast", [self.extent_of(v, 1)], FLOAT, (1,), to=FLOAT)
        total = self.node("ReduceSum", [v, self.constant([1])], FLOAT, ("b", 1, WIDTH), keepdims=1)
        return self.node("Div", [total, n], FLOAT, total.dims)

    def step_within_lengths(self):
        """A mask that is true before each row's length."""
        lens = self.pick(lambda v: v.name == "lens", INT)
        v = self.pick(lambda v: v.dims[:2] == ("b", "s"))
        if not lens or not v:
            return None
        i, n = self.range_of(self.x, 1), self.node("Unsqueeze", [lens, self.constant([1])], INT, ("b", 1))
        m = self.node("Less", [i, n], BOOL, ("b", "s"))
        if len(v.dims) > 2:
            axes = list(range(2, len(v.dims)))
            m = self.node("Unsqueeze", [m, self.constant(axes)], BOOL, ("b", "s") + (1,) * len(axes))
        other = self.constant(np.float32(self.rng.choice([0.0, -np.inf])))
        return self.node("Where", [m, v, other], FLOAT, v.dims)

    # --- integers -------------------------------------------------------------------------------------------

    def step_integers(self):
        """Arithmetic; a true divisor is never 0, at which the runtime would end."""
        v = self.pick(lambda v: v.dims and v.name != "lens", INT)
        if not v:
            return None
        operator = self.rng.choice(["Add", "Mul", "Sub", "Div", "Mod", "Max", "Min"])
        w = self.constant(self.rng.choice([1, 2, 3]))
        if self.rng.random() < 0.3:
            w = self.pick(lambda w: w.dims == v.dims, INT)
            lens = self.pick(lambda w: w.name == "lens", INT)
            if operator in ("Div", "Mod"):
                if lens and v.dims[0] == "b" and len(v.dims) == 2 and self.rng.random() < 0.6:
                    w = self.node("Unsqueeze", [lens, self.constant([1])], INT, ("b", 1))
                else:
                    w = self.node("Max", [w, self.constant(1)], INT, w.dims)
        return self.node(operator, [v, w], INT, v.dims)

    def step_integer_sum(self):
        v = self.pick(lambda v: len(v.dims) > 1, INT)
        if not v:
            return None
        axis = self.axis_of(v)
        if self.rng.random() < 0.5:
            return self.node("CumSum", [v, self.constant(axis)], INT, v.dims)
        dims = self.without(v, axis, True)
        return self.node("ReduceSum", [v, self.constant([axis])], INT, dims, keepdims=1)

    def step_lookup(self):
        v = self.pick(lambda v: len(v.dims) == 2, INT)
        if not v:
            return None
        if v.name not in ("ids", "mask", "past_mask"):
            v = self.node("Mod", [v, self.constant(TABLE)], INT, v.dims)
        return self.node("Gather", [self.normal(TABLE, WIDTH), v], FLOAT, (*v.dims, WIDTH))

    def step_compare(self):
        v = self.pick(lambda v: v.dims, self.rng.choice([INT, FLOAT]))
        if not v:
            return None
        operator = self.rng.choice(["Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"])
        zero = self.constant(1) if v.kind == INT else self.constant(np.float32(0.25))
        y = self.node(operator, [v, zero], BOOL, v.dims)
        if self.rng.random() < 0.3:
            y = self.node("Not", [y], BOOL, v.dims)
        kind = self.rng.choice([INT, FLOAT])
        return self.node("Cast", [y], kind, v.dims, to=kind)

    def step_one_hot(self):
        v = self.pick(lambda v: v.name == "ids", INT)
        ends = v and self.constant(np.array([0, 1], np.float32))
        return v and self.node("OneHot", [v, self.constant(TABLE), ends], FLOAT, (*v.dims, TABLE), axis=-1)

    def step_to_float(self):
        v = self.pick(lambda v: v.dims, INT)
        return v and self.node("Cast", [v], FLOAT, v.dims, to=FLOAT)

    def step_nonzero(self):
        if not self.mask or self.rng.random() < 0.7:
            return None
        return self.node("NonZero", [self.mask], INT, (2, f"nonzero{len(self.nodes)}"))

    # --- control flow ---------------------------------------------------------------------------------------

    def inner(self, name, v, operator):
        kind = helper.make_tensor_value_info(name, FLOAT, None)
        return helper.make_graph([helper.make_node(operator, [v.name], [name])], name, [], [kind])

    def step_if(self):
        """On a constant, on an extent, or on data."""
        v = self.pick()
        if self.rng.random() < 0.5:
            return None
        choice = self.rng.random()
        if choice < 0.3:
            c = self.constant(np.array(True))
        elif choice < 0.8:
            edge = self.constant([self.rng.choice([0, 0, 100, self.ranges["s"][1]])])
            c = self.scalar(self.node("Greater", [self.extent_of(self.x, 1), edge], BOOL, (1,)))
        else:
            total = self.node("ReduceSum", [self.x], FLOAT, (), keepdims=0)
            c = self.node("Greater", [total, self.constant(np.float32(0))], BOOL, ())
        k = len(self.nodes)
        branches = self.inner(f"t{k}", v, self.rng.choice(["Neg", "Relu"])), self.inner(f"e{k}", v, "Abs")
        return self.node("If", [c], FLOAT, v.dims, then_branch=branches[0], else_branch=branches[1])

    def step_loop(self):
        """A value carried through a Loop of a constant number of turns, or of as many as an axis is long."""
        v = self.pick(lambda v: v.dims)
        if self.rng.random() < 0.5 or not v:
            return None
        turns = self.constant(2)
        if self.rng.random() < 0.5:
            turns = self.scalar(self.extent_of(v, self.axis_of(v)))
        k = len(self.nodes)
        info = helper.make_tensor_value_info
        nodes = [
            helper.make_node("Identity", [f"on{k}"], [f"still{k}"]),
            helper.make_node("Tanh", [f"state{k}"], [f"squashed{k}"]),
            helper.make_node("Add", [f"squashed{k}", f"state{k}"], [f"next{k}"]),
        ]
        body = helper.make_graph(
            nodes,
            f"loop{k}",
            [info(f"i{k}", INT, []), info(f"on{k}", BOOL, []), info(f"state{k}", FLOAT, None)],
            [info(f"still{k}", BOOL, []), info(f"next{k}", FLOAT, None)],
        )
        return self.node("Loop", [turns, self.constant(np.array(True)), v], FLOAT, v.dims, body=body)

    def step_scan(self):
        """A running sum along the second axis."""
        v = self.pick(lambda v: v.dims == self.x.dims)
        if self.rng.random() < 0.5:
            return None
        k, info = len(self.nodes), helper.make_tensor_value_info
        nodes = [
            helper.make_node("Add", [f"sum{k}", f"row{k}"], [f"next{k}"]),
            helper.make_node("Relu", [f"next{k}"], [f"out{k}"]),
        ]
        body = helper.make_graph(
            nodes,
            f"scan{k}",
            [info(f"sum{k}", FLOAT, None), info(f"row{k}", FLOAT, None)],
            [info(f"next{k}", FLOAT, None), info(f"out{k}", FLOAT, None)],
        )
        start = self.node("ReduceMin", [v], FLOAT, ("b", WIDTH), axes=[1], keepdims=0)
        start = self.node("Mul", [start, self.constant(np.float32(0))], FLOAT, start.dims)
        flags = {"num_scan_inputs": 1, "scan_input_axes": [1], "scan_output_axes": [1]}
        return self.node("Scan", [start, v], FLOAT, start.dims, [(FLOAT, v.dims)], body=body, **flags)
