"""The operators of random graphs: each method adds one valid node, or a few, or does nothing when no operand
fits."""

import math

import numpy as np
from onnx import helper

F32, F64, I64, I32, BOOL, F16 = (
    np.dtype(t) for t in ("float32", "float64", "int64", "int32", "bool", "float16")
)
MAX_ELEMENTS = 2000


def broadcast(*values):
    try:
        return [np.broadcast_shapes(*shapes) for shapes in zip(*(v.shapes for v in values))]
    except ValueError:
        return None


def small(shapes):
    return max(math.prod(s) for s in shapes) <= MAX_ELEMENTS and all(len(s) <= 5 for s in shapes)


def each(f, *lists):
    """f at every size; None where an operand is not known or a result is no longer small."""
    if any(x is None for x in lists):
        return None
    with np.errstate(all="ignore"):
        out = [np.asarray(f(*x)) for x in zip(*lists)]
    return out if max(o.size for o in out) <= 64 else None


class Nodes:
    def random_node(self):
        table = [
            (self.unary, 5),
            (self.binary, 6),
            (self.compare, 3),
            (self.logic, 2),
            (self.where, 3),
            (self.cast, 3),
            (self.dims, 7),
            (self.integer, 5),
            (self.reshape, 6),
            (self.expand, 3),
            (self.fill, 2),
            (self.count, 2),
            (self.transpose, 4),
            (self.squeeze, 3),
            (self.slice, 5),
            (self.split, 2),
            (self.concat, 4),
            (self.gather, 3),
            (self.reduce, 4),
            (self.matmul, 2),
            (self.softmax, 1),
            (self.nothing, 4),
            (self.pad, 2),
            (self.tile, 1),
            (self.again, 3),
            (self.new_constant, 2),
            (self.clip, 2),
            (self.several, 1),
        ]
        if self.scope.depth < 3:
            table += [(self.branch, 2), (self.loop, 1), (self.scan, 1)]
        if self.scope.depth == 0 and self.ir >= 8:
            table += [(self.call, 3)]
        kinds, weights = zip(*table)
        for _ in range(8):
            if self.rng.choices(kinds, weights)[0]():
                return True
        return False

    # --- elementwise ----------------------------------------------------------------------------------------

    def may_round(self, *values):
        return self.rounding or not all(v.free for v in values)

    def unary(self):
        x = self.pick(lambda v: v.dtype.kind == "f")
        if not x:
            return None
        ops = [
            "Neg",
            "Abs",
            "Relu" if x.dtype == F32 else "Neg",
            "Sqrt",
            "LeakyRelu" if x.dtype == F32 else "Abs",
        ]
        if not self.rounding:
            ops += ["Floor", "Ceil"] if x.dtype == F32 else []
        if self.may_round(x):
            ops += ["Exp", "Sigmoid", "Tanh", "Reciprocal"] + (
                ["Elu", "Softplus", "HardSigmoid"] if x.dtype == F32 else []
            )
        return self.add(self.rng.choice(ops), [x], [(x.dtype, x.shapes)])

    def partner(self, x, fits=lambda v: True):
        """A value of x's type that broadcasts with it, or a constant."""
        if self.rng.random() < 0.7:
            y = self.pick(
                lambda v: v.dtype == x.dtype and fits(v) and broadcast(x, v) and small(broadcast(x, v))
            )
            if y:
                return y
        shape = () if self.rng.random() < 0.5 or not x.rank or not x.fixed(-1) else (x.shapes[0][-1],)
        from _graphs import data

        return self.constant(data(self.rng, x.dtype, shape), overridable=self.rng.random() < 0.2)

    def binary(self):
        x = self.pick(lambda v: v.dtype in (F32, F64, I64, I32))
        if not x:
            return None
        y = self.partner(x)
        shapes = broadcast(x, y)
        if shapes is None or not small(shapes):
            return None
        ops = ["Add", "Sub", "Mul"] + (["Div"] if x.dtype.kind == "f" else [])
        if x.dtype == F32 and self.opset >= 8 or self.opset >= 12:
            ops += ["Max", "Min"]
        op = self.rng.choice(ops)
        f = dict(Add=np.add, Sub=np.subtract, Mul=np.multiply, Max=np.maximum, Min=np.minimum).get(op)
        ints = each(f, x.ints, y.ints) if f and x.dtype.kind == "i" else None
        if op in ("Add", "Mul") and self.rng.random() < 0.3:
            x, y = y, x
        return self.add(op, [x, y], [(x.dtype, shapes, ints)])

    def compare(self):
        kinds = "i" if self.rounding else "fi"
        old = (F32, F64) if self.opset < 9 else None
        op = self.rng.choice(["Equal", "Less", "Greater"])
        x = self.pick(
            lambda v: (
                v.dtype.kind in kinds
                and (
                    v.dtype in (I64, I32)
                    if op == "Equal" and self.opset < 11
                    else old is None or v.dtype in old
                )
            )
        )
        if not x:
            return None
        y = self.partner(x)
        shapes = broadcast(x, y)
        if shapes is None or not small(shapes):
            return None
        f = dict(Equal=np.equal, Less=np.less, Greater=np.greater)[op]
        return self.add(op, [x, y], [(BOOL, shapes, each(f, x.ints, y.ints))])

    def logic(self):
        x = self.pick(lambda v: v.dtype == BOOL)
        if not x:
            return None
        if self.rng.random() < 0.4:
            return self.add("Not", [x], [(BOOL, x.shapes, each(np.logical_not, x.ints))])
        y = self.partner(x)
        shapes = broadcast(x, y)
        op = self.rng.choice(["And", "Or", "Xor"])
        f = dict(And=np.logical_and, Or=np.logical_or, Xor=np.logical_xor)[op]
        return shapes and self.add(op, [x, y], [(BOOL, shapes, each(f, x.ints, y.ints))])

    def where(self):
        c = self.pick(lambda v: v.dtype == BOOL)
        x = c and self.opset >= 9 and self.pick(lambda v: v.dtype in (F32, I64) and broadcast(c, v))
        if not x:
            return None
        y = self.partner(x)
        shapes = broadcast(c, x, y)
        if shapes is None or not small(shapes):
            return None
        ints = each(np.where, c.ints, x.ints, y.ints) if x.dtype == I64 else None
        return self.add("Where", [c, x, y], [(x.dtype, shapes, ints)])

    def cast(self):
        x = self.pick()
        targets = [F32, F64, I64, I32, BOOL, F16]
        if x.dtype.kind == "f" and self.rounding:
            targets = [F32, F64]
        to = self.rng.choice(targets)
        from _graphs import onnx_type

        ints = each(lambda i: i.astype(to), x.ints) if to.kind in "ib" else None
        return self.add("Cast", [x], [(to, x.shapes, ints)], to=onnx_type(to))

    def clip(self):
        x = self.pick(lambda v: v.dtype == F32)
        if not x:
            return None
        if self.opset < 11:
            return self.add("Clip", [x], [(F32, x.shapes)], min=-1.0, max=self.rng.choice([1.0, None]))
        low = self.constant(np.float32(-1.5)) if self.rng.random() < 0.4 else None
        high = (
            self.constant(np.float32(2), overridable=self.rng.random() < 0.3)
            if self.rng.random() < 0.6
            else None
        )
        inputs = [x, low, high]  # empty slots, also at the end
        return self.add(
            "Clip",
            inputs[: self.rng.choice([1 if not (low or high) else 3 if high else 2, 3])],
            [(F32, x.shapes)],
        )

    def several(self):
        x = self.pick(lambda v: v.dtype == F32)
        if not x or self.opset < 8:
            return None
        values = [x] + [self.partner(x) for _ in range(self.rng.randint(0, 2))]
        shapes = broadcast(*values)
        if shapes is None or not small(shapes) or not self.may_round(*values):
            return None
        return self.add(self.rng.choice(["Sum", "Mean", "Max"]), values, [(F32, shapes)])

    def nothing(self):
        """Nodes that copy."""
        x = self.pick()
        kind = self.rng.choice(["Identity", "Dropout", "Dropout", "Identity", "Cast", "Transpose", "Concat"])
        if kind == "Dropout" and x.dtype == F32:
            mask = (BOOL, x.shapes) if self.rng.random() < 0.3 and self.opset >= 10 else None
            if self.opset < 12:
                return self.add("Dropout", [x], [(F32, x.shapes), mask], ratio=0.3)
            inputs = [x]
            if self.rng.random() < 0.6:
                inputs += [self.constant(np.float32(0.5)) if self.rng.random() < 0.5 else None]
                if self.rng.random() < 0.5:
                    inputs += [self.constant(np.array(False))]
            return self.add("Dropout", inputs, [(F32, x.shapes), mask])
        if kind == "Cast":
            from _graphs import onnx_type

            return self.add("Cast", [x], [(x.dtype, x.shapes, x.ints)], to=onnx_type(x.dtype))
        if kind == "Transpose":
            return self.add("Transpose", [x], [(x.dtype, x.shapes, x.ints)], perm=list(range(x.rank)))
        if kind == "Concat" and x.rank:
            return self.add(
                "Concat", [x], [(x.dtype, x.shapes, x.ints)], axis=self.rng.randrange(-x.rank, x.rank)
            )
        return self.add("Identity", [x], [(x.dtype, x.shapes, x.ints)])

    def again(self):
        """The same node once more, sometimes with the first two operands swapped."""
        own = {v.name: v for v in self.scope.values}
        nodes = [
            n
            for n in self.scope.nodes
            if n.output
            and all(o in own for o in n.output if o)
            and not any(a.type in (5, 10) for a in n.attribute)
        ]
        if not nodes:
            return None
        node = self.rng.choice(nodes)
        visible = {v.name: v for v in self.scope.visible()}
        inputs = [visible[i] if i else None for i in node.input]
        if node.op_type in ("Add", "Mul", "Equal", "And") and self.rng.random() < 0.5:
            inputs.reverse()
        results = [(own[o].dtype, own[o].shapes, own[o].ints) if o else None for o in node.output]
        v = self.add(node.op_type, inputs, results, domain=node.domain)
        self.scope.nodes[-1].attribute.extend(node.attribute)
        return v

    def new_constant(self):
        from _graphs import data

        shape = self.rng.choice([(), (1,), (2,), (3,), (2, 3), (0,), (4, 1)])
        dtype = self.rng.choice([F32, F32, I64, BOOL])
        first = data(self.rng, dtype, shape)
        if self.rng.random() < 0.3:  # the same content twice
            self.constant(first)
        return self.constant(first, overridable=self.rng.random() < 0.3)

    # --- shape arithmetic -----------------------------------------------------------------------------------

    def dims(self):
        """Shape, Size, and a dim taken out of a Shape in one of the ways exporters use."""
        x = self.pick(lambda v: v.rank > 0)
        if not x:
            return None
        if self.rng.random() < 0.1:
            return self.add(
                "Size", [x], [(I64, [()] * len(x.shapes), [np.array(math.prod(s)) for s in x.shapes])]
            )
        start, end = 0, x.rank
        attrs = {}
        if self.opset >= 15 and self.rng.random() < 0.3:
            start, end = sorted((self.rng.randint(0, x.rank), self.rng.randint(0, x.rank)))
            attrs = {
                "start": start - (x.rank if self.rng.random() < 0.3 and start < x.rank else 0),
                "end": end,
            }
            if attrs["start"] < 0 and start == 0 and self.rng.random() < 0.5:
                attrs["start"] = -x.rank - 1
        known = [np.array(s[start:end], np.int64) for s in x.shapes]
        s = self.add("Shape", [x], [(I64, [(end - start,)] * len(known), known)], **attrs)
        if end > start and self.rng.random() < 0.7:
            return self.one_of(s)
        return s

    def one_of(self, s):
        i = self.rng.randrange(s.shapes[0][0])
        index = i - (s.shapes[0][0] if self.rng.random() < 0.3 else 0)
        form = self.rng.choice(["scalar", "vector", "slice"])
        if form == "slice":
            return self.cut(s, [(i, i + 1, 0, 1)])
        at = np.array(index if form == "scalar" else [index], np.int64)
        known = [np.take(v, at) for v in s.ints]
        return self.add("Gather", [s, self.constant(at)], [(I64, [at.shape] * len(known), known)], axis=0)

    def integer(self):
        """Arithmetic on integers that are known at every size."""
        x = self.pick(lambda v: v.ints is not None and v.dtype == I64 and v.rank <= 1)
        if not x:
            return None
        op = self.rng.choice(["Add", "Sub", "Mul", "Div", "Mod", "Cast", "Prod", "Sqrt", "Float"])
        if op == "Cast":
            narrow = self.add("Cast", [x], [(I32, x.shapes, each(lambda i: i.astype(I32), x.ints))], to=6)
            if self.rng.random() < 0.3:
                return narrow
            return self.add(
                "Cast", [narrow], [(I64, x.shapes, each(lambda i: i.astype(I32).astype(I64), x.ints))], to=7
            )
        if op == "Float" and self.opset >= 9:  # dims through floats and back, as scale factors do
            if max(int(np.abs(i).max(initial=0)) for i in x.ints) > 1000:
                return None
            f = self.add("Cast", [x], [(F32, x.shapes)], to=1)
            g = self.add("Mul", [f, self.constant(np.float32(2))], [(F32, x.shapes)])
            h = self.add("Floor", [g], [(F32, x.shapes)])
            return self.add("Cast", [h], [(I64, x.shapes, each(lambda i: i * 2, x.ints))], to=7)
        if op == "Prod" and x.rank == 1 and x.shapes[0][0] > 0:
            return self.add(
                "ReduceProd", [x], [(I64, [()] * len(x.shapes), each(np.prod, x.ints))], keepdims=0
            )
        if op in ("Div", "Mod"):
            if self.opset < 10 or min(int(i.min(initial=0)) for i in x.ints) < 0:
                return None
            d = self.rng.choice([1, 2, 3, 4])
            f = np.floor_divide if op == "Div" else np.mod
            return self.add(
                op,
                [x, self.constant(np.array(d, np.int64))],
                [(I64, x.shapes, each(lambda i: f(i, d), x.ints))],
            )
        if op in ("Add", "Sub", "Mul"):
            y = self.pick(lambda v: v.ints is not None and v.dtype == I64 and v.rank <= 1 and broadcast(x, v))
            if self.rng.random() < 0.4 or y is None:
                y = self.constant(np.array(self.rng.randint(-2, 4), np.int64))
            f = dict(Add=np.add, Sub=np.subtract, Mul=np.multiply)[op]
            return self.add(op, [x, y], [(I64, broadcast(x, y), each(f, x.ints, y.ints))])
        return None

    def as_vector(self, v):
        """A scalar as a tensor of one element."""
        known = [i.reshape(1) for i in v.ints]
        if self.rng.random() < 0.3:
            return self.add(
                "Reshape", [v, self.ints(self.rng.choice([1, -1]))], [(I64, [(1,)] * len(known), known)]
            )
        return self.put_axes("Unsqueeze", v, [0], [(1,)] * len(known), known)

    def vector(self, numbers):
        """A tensor with these integers at each size (a list per dim): from dims that are there, or constants;
        or None."""
        parts = []
        for n in numbers:
            if len(set(n)) == 1 and self.rng.random() < 0.7:
                parts.append(self.ints(n[0]))
                continue
            v = self.pick(
                lambda v: (
                    v.ints is not None
                    and v.dtype == I64
                    and v.rank <= 1
                    and all(i.size == 1 and int(i.reshape(())) == m for i, m in zip(v.ints, n))
                )
            )
            if v is None:
                v = self.dim(n)
            if v is None:
                return None
            parts.append(v if v.rank == 1 else self.as_vector(v))
        if not parts:
            return self.constant(np.zeros(0, np.int64))
        known = each(lambda *i: np.concatenate(i), *(p.ints for p in parts))
        return self.add("Concat", parts, [(I64, [(len(parts),)] * len(known), known)], axis=0)

    def dim(self, n):
        """Some value's dim that is n at each size."""
        x = self.pick(lambda v: any(all(s[i] == m for s, m in zip(v.shapes, n)) for i in range(v.rank)))
        if x is None:
            return None
        i = next(i for i in range(x.rank) if all(s[i] == m for s, m in zip(x.shapes, n)))
        known = [np.array(s, np.int64) for s in x.shapes]
        s = self.add("Shape", [x], [(I64, [(x.rank,)] * len(known), known)])
        return self.add(
            "Gather",
            [s, self.constant(np.array(i, np.int64))],
            [(I64, [()] * len(known), [k[i] for k in known])],
            axis=0,
        )

    def fill(self):
        """ConstantOfShape."""
        if self.opset < 9:
            return None
        s = self.pick(
            lambda v: (
                v.ints is not None
                and v.dtype == I64
                and v.rank == 1
                and v.shapes[0][0] <= 4
                and all((i >= 0).all() and math.prod(map(int, i)) <= MAX_ELEMENTS for i in v.ints)
            )
        )
        if not s:
            return None
        value = self.rng.choice(
            [
                np.array([1.5], np.float32),
                np.array([0], np.int64),
                np.array([7], np.int64),
                np.array([True]),
                None,
            ]
        )
        dtype = F32 if value is None else value.dtype
        shapes = [tuple(map(int, i)) for i in s.ints]
        known = each(lambda i: np.full(tuple(i), value[0]), s.ints) if dtype.kind in "ib" else None
        return self.add(
            "ConstantOfShape",
            [s],
            [(dtype, shapes, known)],
            value=None
            if value is None
            else helper.make_tensor("v", helper.np_dtype_to_tensor_dtype(dtype), [1], value),
        )

    def count(self):
        """Range."""
        if self.opset < 11:
            return None
        n = self.pick(
            lambda v: (
                v.ints is not None
                and v.dtype == I64
                and v.rank == 0
                and all(-50 <= int(i) <= 50 for i in v.ints)
            )
        )
        if not n:
            return None
        start, step = self.rng.choice([0, 0, 0, 1, -2, 5]), self.rng.choice([1, 1, 1, 2, -1])
        known = each(lambda i: np.arange(start, int(i), step, dtype=np.int64), n.ints)
        if known is None:
            return None
        return self.add(
            "Range",
            [self.constant(np.array(start, np.int64)), n, self.constant(np.array(step, np.int64))],
            [(I64, [k.shape for k in known], known)],
        )

    def expand(self):
        x = self.pick(lambda v: v.elements() <= 200 and v.rank <= 3)
        if not x or self.opset < 8:
            return None
        target = []
        for i in range(x.rank):
            extents = [s[i] for s in x.shapes]
            if set(extents) == {1} and self.rng.random() < 0.6:
                y = self.pick(lambda v: v.rank > 0 and v.elements() < 50)
                extents = [s[0] for s in y.shapes] if y else [2] * len(extents)
            target.append(self.rng.choice([extents, extents, [1] * len(extents)]))
        if self.rng.random() < 0.3:
            target.insert(0, [self.rng.randint(0, 2)] * len(x.shapes))
        if self.rng.random() < 0.2 and len(target) > 1 and len(target) == x.rank:
            target.pop(0)
        t = self.vector(target)
        if t is None:
            return None
        shapes = [np.broadcast_shapes(s, tuple(int(j) for j in i)) for s, i in zip(x.shapes, t.ints)]
        return (
            self.add(
                "Expand",
                [x, t],
                [
                    (
                        x.dtype,
                        shapes,
                        each(
                            lambda v, i: np.broadcast_to(v, np.broadcast_shapes(v.shape, tuple(i))),
                            x.ints,
                            t.ints,
                        ),
                    )
                ],
            )
            if small(shapes)
            else None
        )

    def reshape(self):
        x = self.pick()
        dims = [[s[i] for s in x.shapes] for i in range(x.rank)]
        target = list(dims)
        for _ in range(self.rng.randint(0, 2)):  # join neighbours, put ones in, split what is fixed
            i = self.rng.randint(0, len(target))
            if self.rng.random() < 0.5 and i + 1 < len(target):
                target[i : i + 2] = [[p * q for p, q in zip(target[i], target[i + 1])]]
            elif i < len(target) and len(set(target[i])) == 1 and target[i][0] in (4, 6, 12):
                target[i : i + 1] = [[2] * len(target[i]), [target[i][0] // 2] * len(target[i])]
            elif len(target) < 5:
                target.insert(i, [1] * len(x.shapes))
        written = list(target)
        for i in range(len(written)):
            if i < x.rank and dims[i] == target[i] and self.rng.random() < 0.5:
                written[i] = [0] * len(x.shapes)
        free = [
            i
            for i in range(len(written))
            if all(math.prod(s[k] for j, s in enumerate(target) if j != i) > 0 for k in range(len(x.shapes)))
        ]
        if free and self.rng.random() < 0.6:
            written[self.rng.choice(free)] = [-1] * len(x.shapes)
        attrs = {}
        if (
            self.opset >= 14
            and self.rng.random() < 0.2
            and not any(w == [0] * len(x.shapes) != t for w, t in zip(written, target))
        ):
            if not any(w == [-1] * len(x.shapes) for w in written):
                attrs = {"allowzero": 1}
        for w, d, t in zip(
            written, dims + [None] * 9, target
        ):  # a dim that is 0 at some size would be a copy
            if "allowzero" not in attrs and w == t and 0 in t and d != t:
                return None
        if x.rank == 0 and not target and self.rng.random() < 0.5:
            return None
        t = self.vector(written)
        shapes = [tuple(d[k] for d in target) for k in range(len(x.shapes))]
        if t is None:
            return None
        known = None if x.ints is None else [i.reshape(s) for i, s in zip(x.ints, shapes)]
        return self.add("Reshape", [x, t], [(x.dtype, shapes, known)], **attrs)

    # --- movement -------------------------------------------------------------------------------------------

    def transpose(self):
        x = self.pick(lambda v: v.rank > 1)
        if not x:
            return None
        perm = list(range(x.rank))
        self.rng.shuffle(perm)
        if self.rng.random() < 0.2:
            perm = perm[::-1] if perm != sorted(perm) else list(range(x.rank))[::-1]
        return self.add(
            "Transpose", [x], [(x.dtype, [tuple(s[i] for i in perm) for s in x.shapes])], perm=perm
        )

    def put_axes(self, op, x, axes, shapes, known=None):
        if self.opset < 13:
            return self.add(op, [x], [(x.dtype, shapes, known)], axes=axes)
        return self.add(op, [x, self.ints(*axes)], [(x.dtype, shapes, known)])

    def squeeze(self):
        x = self.pick(lambda v: v.rank < 5)
        if not x:
            return None
        ones = [i for i in range(x.rank) if all(s[i] == 1 for s in x.shapes)]
        if ones and self.rng.random() < 0.5:
            i = self.rng.choice(ones)
            shapes = [s[:i] + s[i + 1 :] for s in x.shapes]
            return self.put_axes(
                "Squeeze",
                x,
                [i - (x.rank if self.opset >= 11 and self.rng.random() < 0.3 else 0)],
                shapes,
                x.ints and [k.reshape(s) for k, s in zip(x.ints, shapes)],
            )
        i = self.rng.randint(0, x.rank)
        shapes = [s[:i] + (1,) + s[i:] for s in x.shapes]
        return self.put_axes(
            "Unsqueeze", x, [i], shapes, x.ints and [k.reshape(s) for k, s in zip(x.ints, shapes)]
        )

    def cut(self, x, pieces):
        """Slice; pieces: (start, end, axis, step)."""
        starts, ends, axes, steps = map(list, zip(*pieces))
        index = [slice(None)] * x.rank
        for start, end, axis, step in pieces:
            index[axis] = slice(start, None if step < 0 and end < -100 else end, step)
        shapes = [np.empty(s, bool)[tuple(index)].shape for s in x.shapes]
        known = each(lambda i: i[tuple(index)], x.ints)
        if self.opset < 10:
            if any(s != 1 for s in steps):
                return None
            return self.add("Slice", [x], [(x.dtype, shapes, known)], starts=starts, ends=ends, axes=axes)
        inputs = [x, self.ints(*starts), self.ints(*ends)]
        plain = all(s == 1 for s in steps)
        if axes != list(range(len(axes))) or not plain or self.rng.random() < 0.5:
            inputs.append(self.ints(*axes))
            if not plain or self.rng.random() < 0.5:
                inputs.append(self.ints(*steps))
        elif self.rng.random() < 0.2:
            inputs += [None, self.ints(*steps)]
        return self.add("Slice", inputs, [(x.dtype, shapes, known)])

    def slice(self):
        x = self.pick(lambda v: v.rank > 0)
        if not x:
            return None
        pieces = []
        for axis in self.rng.sample(range(x.rank), self.rng.randint(1, min(2, x.rank))):
            step = self.rng.choice([1, 1, 1, 1, 2, -1]) if self.opset >= 10 else 1
            last = self.rng.choice([2**63 - 1, 2**31 - 1, 1, 2, 3, -1, 100])
            pieces.append(
                (self.rng.choice([0, 0, 0, 1, -1, -2]), last, axis, step)
                if step > 0
                else (-1, -(2**31), axis, step)
            )
        return self.cut(x, pieces)

    def split(self):
        x = self.pick(lambda v: v.rank > 0 and any(v.fixed(i) and v.shapes[0][i] >= 2 for i in range(v.rank)))
        if not x:
            return None
        axis = self.rng.choice([i for i in range(x.rank) if x.fixed(i) and x.shapes[0][i] >= 2])
        n = x.shapes[0][axis]
        cut = self.rng.randint(0, n)
        sizes = [cut, n - cut] if self.rng.random() < 0.6 or n % 2 else None
        results = [
            (x.dtype, [s[:axis] + (p,) + s[axis + 1 :] for s in x.shapes]) for p in sizes or [n // 2] * 2
        ]
        if self.opset < 13:
            return self.add("Split", [x], results, axis=axis, split=sizes)
        inputs = [x] + ([self.ints(*sizes)] if sizes else [])
        return self.add(
            "Split", inputs, results, axis=axis, num_outputs=2 if self.opset >= 18 and not sizes else None
        )

    def concat(self):
        x = self.pick(lambda v: v.rank > 0 and v.elements() < 400)
        if not x:
            return None
        axis = self.rng.randrange(x.rank)

        def fits(v):
            return (
                v.dtype == x.dtype
                and v.rank == x.rank
                and all(
                    s[:axis] + s[axis + 1 :] == t[:axis] + t[axis + 1 :] for s, t in zip(v.shapes, x.shapes)
                )
            )

        values = [x] + [self.pick(fits) for _ in range(self.rng.randint(0, 2))]
        self.rng.shuffle(values)
        shapes = [
            s[:axis] + (sum(v.shapes[k][axis] for v in values),) + s[axis + 1 :]
            for k, s in enumerate(x.shapes)
        ]
        known = each(lambda *i: np.concatenate(i, axis), *(v.ints for v in values))
        return self.add("Concat", values, [(x.dtype, shapes, known)], axis=axis)

    def gather(self):
        x = self.pick(lambda v: v.rank > 0 and any(min(s[i] for s in v.shapes) >= 1 for i in range(v.rank)))
        if not x:
            return None
        axis = self.rng.choice([i for i in range(x.rank) if min(s[i] for s in x.shapes) >= 1])
        n = min(s[axis] for s in x.shapes)
        shape = self.rng.choice([(), (1,), (2,), (0,), (1, 2)])
        low = -n if self.opset >= 11 else 0
        at = np.array([self.rng.randrange(low, n) for _ in range(math.prod(shape))], np.int64).reshape(shape)
        shapes = [s[:axis] + shape + s[axis + 1 :] for s in x.shapes]
        known = each(lambda i: np.take(i, at, axis), x.ints)
        return small(shapes) and self.add(
            "Gather", [x, self.constant(at)], [(x.dtype, shapes, known)], axis=axis
        )

    def pad(self):
        x = self.pick(lambda v: v.dtype == F32 and v.rank > 0 and v.elements() < 300)
        if not x:
            return None
        pads = [self.rng.choice([0, 0, 0, 1, 2]) for _ in range(2 * x.rank)]
        if self.rng.random() < 0.3:
            pads = [0] * len(pads)
        shapes = [tuple(e + pads[i] + pads[i + x.rank] for i, e in enumerate(s)) for s in x.shapes]
        if not small(shapes):
            return None
        if self.opset < 11:
            return self.add("Pad", [x], [(F32, shapes)], pads=pads, value=0.5)
        return self.add(
            "Pad",
            [x, self.ints(*pads)] + ([self.constant(np.float32(0.5))] if self.rng.random() < 0.5 else []),
            [(F32, shapes)],
        )

    def tile(self):
        x = self.pick(lambda v: v.rank > 0 and v.elements() < 200)
        if not x:
            return None
        repeats = [self.rng.choice([1, 1, 2, 0]) for _ in range(x.rank)]
        shapes = [tuple(e * r for e, r in zip(s, repeats)) for s in x.shapes]
        return self.add("Tile", [x, self.ints(*repeats)], [(x.dtype, shapes)])

    # --- numbers --------------------------------------------------------------------------------------------

    def reduce(self):
        op = self.rng.choice(["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL2"])
        x = self.pick(
            lambda v: (
                v.dtype in (F32, I64)
                and v.rank > 0
                and (v.dtype == F32 or op not in ("ReduceMean", "ReduceL2"))
            )
        )
        if (
            not x
            or not (x.dtype == I64 or self.may_round(x))
            or (self.rounding and op in ("ReduceMax", "ReduceMin"))
        ):
            return None
        axes = sorted(self.rng.sample(range(x.rank), self.rng.randint(1, x.rank)))
        if op in ("ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd", "ReduceL2") and any(
            s[i] == 0 for s in x.shapes for i in axes
        ):
            return None
        keep = self.rng.choice([0, 1])
        shapes = [
            tuple(1 if i in axes else e for i, e in enumerate(s) if keep or i not in axes) for s in x.shapes
        ]
        if self.rng.random() < 0.3 and self.opset >= 11 and not any(0 in s for s in x.shapes):
            axes = [i - x.rank for i in axes]  # ONNX Runtime leaves negative ones of an empty tensor in place
        if self.opset >= (13 if op == "ReduceSum" else 18):
            return self.add(op, [x, self.ints(*axes)], [(x.dtype, shapes)], keepdims=keep)
        return self.add(op, [x], [(x.dtype, shapes)], axes=axes, keepdims=keep)

    def matmul(self):
        x = self.pick(lambda v: v.dtype == F32 and v.rank >= 1 and v.fixed(-1) and 0 < v.shapes[0][-1] <= 16)
        if not x:
            return None
        k, n = x.shapes[0][-1], self.rng.choice([1, 2, 5])
        from _graphs import data

        w = self.constant(data(self.rng, F32, (k, n), "plain"), overridable=self.rng.random() < 0.1)
        if not self.may_round(x, w):
            return None
        if x.rank == 2 and self.rng.random() < 0.4:
            c = self.constant(np.ones(n, np.float32)) if self.rng.random() < 0.5 or self.opset < 11 else None
            return self.add(
                "Gemm",
                [x, w] + ([c] if c or self.rng.random() < 0.5 else []),
                [(F32, [(s[0], n) for s in x.shapes])],
                alpha=0.5,
            )
        return self.add("MatMul", [x, w], [(F32, [s[:-1] + (n,) for s in x.shapes])])

    def softmax(self):
        x = self.pick(lambda v: v.dtype == F32 and v.rank > 0)
        if not x or not self.may_round(x):
            return None
        return self.add(
            self.rng.choice(["Softmax", "LogSoftmax"]),
            [x],
            [(F32, x.shapes)],
            axis=self.rng.randrange(x.rank),
        )
