"""Steps of a composition: a backend case, computations with extents, joins, doubled nodes, and nodes that
change nothing."""

import numpy as np
import onnx
from onnx import helper, numpy_helper

import _compose_corpus as corpus
from _compose_graph import Refused, renamed

BIG = [0, 1, -1, 2, 3, 2**31 - 1, 2**31, 2**40, 2**53 + 1, 2**62, -(2**63), 2**63 - 1]


def steers(value, position):
    """Does this operand of a case look like an axis, a shape, a count or a condition rather than data?"""
    if not isinstance(value, np.ndarray):
        return False
    few = value.size <= 8 and value.ndim <= 1
    return few and value.dtype.kind in "iub" and (position > 0 or value.ndim == 0)


class Steps:
    # ---- backend cases -------------------------------------------------------------------------------------

    def case(self):
        """The nodes of a case with operands of this graph, and perhaps a construct around them."""
        found = corpus.by_operator(self.version)
        piece = self.rng.choice(found[self.rng.choice(sorted(found))])
        for domain, version in piece.domains.items():
            if domain and self.domains.setdefault(domain, version) != version:
                raise Refused("two versions of a domain")
        begin = len(self.nodes)
        names = {}
        free = self.rng.random() < 0.15  # operands keep the shape that they have
        for k, (name, type_proto, value) in enumerate(piece.inputs):
            names[name] = self.operand(k, type_proto, value, free)
        inner = len(self.nodes)
        for tensor in piece.graph.initializer:
            names[tensor.name] = self.constant(numpy_helper.to_array(tensor))
        nodes = renamed(piece.graph.node, names, self.fresh)
        self.nodes += nodes
        results = [names[o] for o in piece.outputs if names.get(o)]
        if len(results) > 1 and self.rng.random() < 0.15:
            results = self.rng.sample(results, self.rng.randint(1, len(results) - 1))
        if self.rng.random() < 0.45:
            self.wrap(begin if self.rng.random() < 0.5 else inner, results)

    def operand(self, position, type_proto, value, free):
        rng = self.rng
        if isinstance(value, list):
            elem = onnx.helper.np_dtype_to_tensor_dtype(value[0].dtype) if value else None
            found = self.pick(
                lambda v: isinstance(v.first, list) and v.first and isinstance(v.first[0], np.ndarray)
                and helper.np_dtype_to_tensor_dtype(v.first[0].dtype) == elem
            )  # fmt: skip
            return found.name if found and rng.random() < 0.7 else self.input(value, type_proto=type_proto)
        control = steers(value, position)
        if control and rng.random() < 0.8:
            return self.given(value, keep_shape=rng.random() < 0.8)
        if rng.random() < (0.95 if position == 0 else 0.5):
            source = self.tensor(lambda v: v.first.dtype == value.dtype) if rng.random() < 0.6 else None
            source = source or self.tensor()
            if source:
                if free and source.first.dtype == value.dtype:
                    return source.name
                return self.fitted(source, value.dtype, value.shape)
        return self.given(value)

    # ---- extents that are computed with --------------------------------------------------------------------

    def number(self):
        """The name of an int64 tensor of one element, made of extents."""
        rng = self.rng
        v = self.tensor(lambda v: v.first.ndim > 0)
        if v is None:
            raise Refused("no tensor")
        if rng.random() < 0.25:
            name = self.unsqueeze(self.node("Size", [v.name]), [0])
        else:
            name = self.extent_of(v, rng.randrange(v.first.ndim))
        for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
            w = self.tensor(lambda v: v.first.ndim > 0)
            big = rng.random() < 0.15
            other = (
                self.extent_of(w, rng.randrange(w.first.ndim))
                if rng.random() < 0.5
                else self.numbers_of([rng.choice(BIG) if big else rng.randint(-3, 4)])
            )
            operator = rng.choice(["Add", "Sub", "Mul", "Div", "Mod", "Max", "Min"])
            if operator in ("Mod", "Max", "Min") and self.version < (10 if operator == "Mod" else 12):
                operator = "Add"
            operands = [name, other] if rng.random() < 0.7 else [other, name]
            if operator in ("Div", "Mod"):  # a divisor is never 0, which ends the process
                operands[1] = self.numbers_of([rng.choice([1, 2, 3, -2, -1, 5])])
            name = self.node(operator, operands)
        return name

    def extents(self):
        """A computation with extents and what depends on it."""
        rng = self.rng
        v = self.tensor()
        if v is None:
            raise Refused("no tensor")
        kind = rng.choice(
            ["size", "reshape", "expand", "fill", "slice", "range", "gather", "compare", "scale"]
        )
        if kind == "size":
            self.number()
        elif kind == "reshape":
            w = self.tensor(lambda w: w.first.size == v.first.size)
            if rng.random() < 0.5:
                self.node("Reshape", [v.name, self.node("Shape", [w.name])])
            else:
                parts = [self.extent_of(w, i) for i in range(w.first.ndim)]
                if not parts:
                    raise Refused("a scalar")
                if rng.random() < 0.6:
                    parts[rng.randrange(len(parts))] = self.numbers_of([-1])
                self.node("Reshape", [v.name, self.node("Concat", parts, axis=0)])
        elif kind == "expand" and self.version >= 8:
            w = self.tensor()
            self.node("Expand", [v.name, self.node("Shape", [w.name])])
        elif kind == "fill" and self.version >= 9:
            fill = numpy_helper.from_array(
                np.array([rng.choice([0, 1, 7])], rng.choice([np.float32, np.int64]))
            )
            count = rng.randint(1, 2)
            dims = [self.extent(rng.randint(1, 4)) or self.numbers_of([2]) for _ in range(count)]
            dims = dims[0] if count == 1 else self.node("Concat", dims, axis=0)
            self.node("ConstantOfShape", [dims], value=fill)
        elif kind == "slice" and v.first.ndim and self.version >= 10:
            axis = self.numbers_of([rng.randrange(-v.first.ndim, v.first.ndim)])
            self.node("Slice", [v.name, self.numbers_of([rng.choice([0, 1, -2])]), self.number(), axis])
        elif kind == "range" and self.version >= 11:
            end = self.node("Clip", [self.number(), *map(self.constant, np.array([0, 9], np.int64))])
            if self.version < 12:
                raise Refused("no Clip of int64")
            bounds = [self.constant(np.int64(rng.randint(0, 2))), self.squeeze(end, [0])]
            self.node("Range", [*bounds, self.constant(np.int64(rng.choice([1, 1, 2])))])
        elif kind == "gather" and v.first.ndim:
            index = self.node("Sub", [self.extent_of(v, 0), self.numbers_of([rng.choice([1, 1, 2])])])
            self.node("Gather", [v.name, index], axis=0)
        elif kind == "compare" and self.version >= 9:
            operator = rng.choice(["Less", "Greater", "Equal"])
            c = self.node(operator, [self.number(), self.number()])
            w = self.tensor(lambda w: w.first.dtype == v.first.dtype)
            if rng.random() < 0.7:
                self.node("Where", [c, v.name, w.name])
        elif kind == "scale" and v.first.dtype == np.float32:
            self.node(rng.choice(["Mul", "Add", "Div"]), [v.name, self.cast(self.number(), np.float32)])

    # ---- two values, one value -----------------------------------------------------------------------------

    def join(self):
        a = self.tensor()
        b = a and self.tensor(lambda v: v.first.dtype == a.first.dtype)
        if b is None:
            raise Refused("no tensor")
        rng, kind = self.rng, a.first.dtype.kind
        operators = ["Concat", "Where", "Equal", "Less"]
        operators += ["Add", "Mul", "Sub", "Min", "Max", "MatMul", "Sum"] if kind in "fiu" else []
        operators += ["And", "Or", "Xor"] if kind == "b" else []
        operators += ["Div", "Pow", "PRelu"] if kind == "f" else []
        operator = rng.choice(operators)
        second = b.name
        if rng.random() < 0.3:
            second = self.fitted(b, a.first.dtype, a.first.shape)
        if operator == "Concat":
            if not a.first.ndim:
                raise Refused("a scalar")
            parts = [a.name, second, *([a.name] if rng.random() < 0.3 else [])]
            self.node("Concat", parts, axis=rng.randrange(a.first.ndim))
        elif operator == "Where":
            self.node("Where", [self.condition(), a.name, second])
        else:
            self.node(operator, [a.name, second])

    def unary(self):
        v = self.tensor()
        if v is None:
            raise Refused("no tensor")
        rng, version = self.rng, self.version
        if v.first.dtype.kind == "f" and rng.random() < 0.5:
            operators = "Relu Sigmoid Exp Neg Abs Sqrt Tanh Softmax Floor LeakyRelu Elu Reciprocal IsNaN Sign"
            operator = rng.choice(operators.split())
            if operator in ("IsNaN", "Sign") and version < 9:
                raise Refused("not at this opset")
            self.node(operator, [v.name])
        elif rng.random() < 0.5 and v.first.ndim:
            operator = rng.choice(["ReduceSum", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd"])
            axes, keep = [rng.randrange(-v.first.ndim, v.first.ndim)], rng.randint(0, 1)
            as_operand = version >= (13 if operator == "ReduceSum" else 18)
            if rng.random() < 0.2:
                self.node(operator, [v.name], keepdims=keep)
            elif as_operand:
                self.node(operator, [v.name, self.numbers_of(axes)], keepdims=keep)
            else:
                self.node(operator, [v.name], axes=axes, keepdims=keep)
        elif v.first.ndim and rng.random() < 0.4:
            self.node("Flatten", [v.name], axis=rng.randint(0, v.first.ndim))
        elif v.first.ndim and rng.random() < 0.5:
            order = list(range(v.first.ndim))
            rng.shuffle(order)
            self.node("Transpose", [v.name], perm=order)
        elif v.first.ndim and version >= 9:
            self.node("NonZero", [v.name])
        else:
            self.cast(v.name, rng.choice([np.float32, np.int64, np.int32, np.float64, bool]))

    def same(self):
        """A node or two that give what they got."""
        v = self.tensor()
        if v is None:
            raise Refused("no tensor")
        rng, x, rank, version = self.rng, v.name, v.first.ndim, self.version
        kind = rng.choice(
            "identity reshape zeros turn turns cast unsqueeze slice concat pad tile max expand where".split()
        )
        if kind == "reshape":
            self.node("Reshape", [x, self.node("Shape", [x])])
        elif kind == "zeros" and rank:
            dims = [0] * rank
            dims[rng.randrange(rank)] = -1 if 0 not in v.first.shape else 0
            self.reshape(x, dims)
        elif kind == "turn" and rank:
            self.node("Transpose", [x], perm=list(range(rank)))
        elif kind == "turns" and rank > 1:
            order = list(range(rank))
            rng.shuffle(order)
            self.node("Transpose", [self.node("Transpose", [x], perm=order)], perm=list(np.argsort(order)))
        elif kind == "cast":
            self.cast(x, v.first.dtype)
        elif kind == "unsqueeze":
            axis = rng.randint(0, rank)
            self.squeeze(self.unsqueeze(x, [axis]), [axis])
        elif kind == "slice" and rank:
            self.slice(x, rng.randrange(rank), 0, 2**63 - 1)
        elif kind == "concat" and rank:
            self.node("Concat", [x], axis=rng.randrange(rank))
        elif kind == "pad" and rank:
            self.pad(x, [0] * rank, [0] * rank)
        elif kind == "tile" and rank:
            self.node("Tile", [x, self.numbers_of([1] * rank)])
        elif kind == "max" and version >= 8:
            self.node(rng.choice(["Max", "Min"]), [x, x])
        elif kind == "expand" and version >= 8:
            self.node("Expand", [x, self.numbers_of([1] * rng.randint(0, rank + 1))])
        elif kind == "where" and version >= 9:
            self.node("Where", [self.condition(), x, x])
        else:
            self.node("Identity", [x])

    def double(self):
        """A node once more, with the same operands."""
        if not self.nodes:
            raise Refused("no node")
        node = self.rng.choice(self.nodes[-8:])
        self.nodes += renamed([node], {}, self.fresh)

    def condition(self):
        """The name of a scalar boolean."""
        rng, draw = self.rng, self.rng.random()
        if draw < 0.3:
            value = np.array(rng.random() < 0.5)
            return self.default(value) if rng.random() < 0.4 else self.constant(value)
        if draw < 0.55:
            name = self.input(np.array(rng.random() < 0.5))
            value = self.value(name)
            value.at = [np.array(rng.random() < 0.5) for _ in value.at]
            for k, v in enumerate(value.at):
                self.feeds[k][name] = v
            return name
        if draw < 0.85 and self.version >= 9:
            number = self.squeeze(self.number(), [0])
            operands = [number, self.constant(np.array(rng.randint(0, 4), np.int64))]
            return self.node(rng.choice(["Less", "Greater", "Equal"]), operands)
        found = self.tensor(lambda v: v.first.dtype == bool and v.first.ndim == 0)
        return found.name if found else self.constant(np.array(True))

    # ---- the whole -----------------------------------------------------------------------------------------

    def grow(self):
        rng = self.rng
        kinds = [self.case] * 11 + [self.extents] * 4 + [self.join] * 2 + [self.unary] * 2
        kinds += [self.same] * 3 + [self.double]
        wanted, tries = rng.randint(2, 7), 0
        first = True
        while wanted and tries < 40:
            tries += 1
            if self.step(self.case if first else rng.choice(kinds)):
                wanted -= 1
                first = first and not self.nodes
        return bool(self.nodes)
