"""Shape arithmetic of random graphs (_nodes.py): integers that are known at every size, and the operators
that take them as shapes."""

import math

import numpy as np
from onnx import helper

from _values import F32, I32, I64, MAX_ELEMENTS, broadcast, each, small


class Shapes:
    def dims(self):
        """Shape, Size, and a dim taken out of a Shape in one of the forms that exporters use."""
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
                and v.fixed(0)  # a result of one rank
                and v.shapes[0][0] <= 4
                # Beside a 0 any extent has no elements, but numpy refuses some of these shapes.
                and all(all(0 <= n <= MAX_ELEMENTS for n in i) for i in v.ints)
                and all(math.prod(map(int, i)) <= MAX_ELEMENTS for i in v.ints)
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
