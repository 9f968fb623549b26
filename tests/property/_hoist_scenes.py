"""Scenes of _hoist_graphs.py: what is built around a value so that a hoisting move applies, or just fails to.
Here are the choice among them and those around a Concat or a Split; further ones stand in the other classes.
"""

import numpy as np

from _hoist_by_hand import ByHand
from _hoist_computed import Computed
from _hoist_dims import BOOL, F16, F32, I8, U8, Unwritable, elements, product
from _hoist_layouts import Layouts
from _hoist_recipes import Recipes
from _hoist_paths import Paths


class Scenes(Recipes, Layouts, ByHand, Computed, Paths):
    def scene(self):
        rng = self.rng
        kinds = [
            (self.merge, 5),
            (self.split, 5),
            (self.pairs, 4),
            (self.by_hand, 4),
            (self.cluster, 6),
            (self.common_concat, 3),
            (self.common_split, 3),
            (self.fork, 3),
            (self.join, 3),
            (self.tiles, 2),
            (self.strides, 2),
            (self.unbind, 1),
            (self.shuffle, 2),
            (self.anchor, 3),
            (self.single, 3),
            (self.turned, 3),
            (self.path, 6),
            (self.paths_joined, 2),
            (self.nested, 1),
            (self.heads, 1),
            (self.stack, 2),
            (self.scaled, 2),
            (self.computed, 2),
            (self.bodies, 1 if self.scope.depth == 0 else 0),
            (self.loop, 1 if self.scope.depth == 0 else 0),
        ]
        v = self.pick(self.small)
        if v is None:
            v = self.input(F32, self.base)
        try:
            rng.choices([k for k, _ in kinds], [w for _, w in kinds])[0](v)
        except Unwritable:
            pass

    def small(self, v):
        return elements(v.shape) <= 800 and v.dtype not in (U8, I8)

    def single(self, v):
        self.chain(v.dtype)(v, 0)

    def turned(self, v):
        """Transpose, elementwise operators, Transpose: a pair, or nearly one."""
        if v.rank < 2:
            return self.single(v)
        perm = list(range(v.rank))
        self.rng.shuffle(perm)
        out = self.chain(v.dtype)(self.transpose(v, perm), 0)
        if out.rank == len(perm):
            back = [perm.index(k) for k in range(len(perm))]
            self.transpose(out, back if self.rng.random() < 0.8 else None)

    def branches(self, v, n):
        """n values of v's type and shape, from v and others."""
        out = [v]
        for _ in range(n - 1):
            w = (
                self.pick(lambda w: w.dtype == v.dtype and product(w.shape) == product(v.shape))
                if self.rng.random() < 0.6
                else None
            )
            w = w or (self.input(v.dtype, v.shape) if len(self.inputs) < 5 else v)
            out.append(self.as_shape(w, v.shape))
        return out

    def merge(self, v):
        """E on the branches of a Concat, deformations at any depth; a constant or odd branch now and then."""
        rng, n = self.rng, self.rng.choice([2, 2, 3, 3, 4])
        axes = list(range(v.rank))
        if not axes:
            return self.stack(v)
        axis, spoil = rng.choice(axes), rng.random() < 0.3
        e, outs = self.chain(v.dtype, spoil), []
        for j, w in enumerate(self.branches(v, n)):
            if rng.random() < 0.35:
                w = self.deform(w)
            if rng.random() < 0.07 and not any(d[1] for d in v.shape):
                w = self.constant(self.array(v.dtype, [d[0] for d in v.shape]))
            else:
                w = e(w, j)
                if spoil and rng.random() < 0.3:
                    self.add("Neg" if w.dtype != BOOL else "Not", [w], (w.dtype, w.shape))  # a second use
            outs.append(w)
        if rng.random() < 0.05:
            outs.append(outs[0])  # one value in two slots
        shape = outs[0].shape if rng.random() < 0.5 else v.shape
        if product(shape) != product(v.shape) or len(shape) <= axis:
            shape = v.shape
        self.concat([self.as_shape(w, shape) for w in outs if product(w.shape) == product(shape)], axis)

    def concat(self, values, axis):
        d = values[0].shape[axis]
        total = (sum(w.shape[axis][0] for w in values), d[1])
        shape = values[0].shape[:axis] + (total,) + values[0].shape[axis + 1 :]
        return self.add(
            "Concat",
            values,
            (values[0].dtype, shape),
            axis=axis - (len(shape) if self.rng.random() < 0.2 else 0),
        )

    def cut(self, v, axis, even=None, sizes=None):
        """Split along an axis, written in one of its forms, into parts of these sizes or others; None where
        the extent cannot be cut."""
        rng, (c, symbols) = self.rng, v.shape[axis]
        if c < 2:
            return None
        n = rng.choice([q for q in (2, 3, 4) if c % q == 0] or [0])
        if sizes:
            pass
        elif symbols:
            if n < 2:
                return None
            sizes = [c // n] * n
        elif n and rng.random() < 0.6 or even:
            if not n:
                return None
            sizes = [c // n] * n
        else:
            n = rng.choice([2, 2, 3])
            sizes, left = [], c
            for k in range(n - 1):
                sizes.append(rng.randint(1, max(1, left - (n - 1 - k))))
                left -= sizes[-1]
            sizes.append(left)
            if left < 1:
                return None
        results = [(v.dtype, v.shape[:axis] + ((z, symbols),) + v.shape[axis + 1 :]) for z in sizes]
        attrs = {"axis": axis - (v.rank if rng.random() < 0.2 else 0)}
        equal = len(set(sizes)) == 1
        if equal and (symbols or rng.random() < 0.4):
            ins = [v]
            if self.opset >= 18:
                attrs["num_outputs"] = len(sizes)
        elif self.opset < 13:
            ins, attrs["split"] = [v], sizes
        else:
            ins = [v, self.ints(*sizes)]
        return self.add("Split", ins, *results, **attrs)

    def split(self, v):
        """E on all (or all but one) of the results of a Split; joined again sometimes."""
        rng = self.rng
        axes = [k for k, d in enumerate(v.shape) if d[0] >= 2]
        if not axes:
            return self.single(v)
        axis = rng.choice(axes)
        parts = self.cut(v, axis)
        if parts is None:
            return self.single(v)
        spoil = rng.random() < 0.3
        e, outs = self.chain(v.dtype, spoil), []
        for j, w in enumerate(parts):
            if spoil and rng.random() < 0.2:
                outs.append(w)
                continue
            x = self.deform(w) if rng.random() < 0.3 else w
            outs.append(e(x, j))
        if rng.random() < 0.4 and all(product(o.shape) == product(w.shape) for o, w in zip(outs, parts)):
            self.concat([self.as_shape(o, w.shape) for o, w in zip(outs, parts)], axis)

    def pairs(self, v):
        """Operators on the parts of two or three Splits, pair by pair, with an odd pair, other readers, other
        lengths or a Concat now and then."""
        rng = self.rng
        axes = [k for k, d in enumerate(v.shape) if d[0] >= 2]
        axis = rng.choice(axes) if axes else None
        parts = [self.cut(v, axis)] if axes else [None]
        if parts[0] is None or v.dtype == F16:
            return self.single(v)
        sizes = [w.shape[axis][0] for w in parts[0]]
        for w in self.branches(v, rng.choice([2, 2, 2, 3]))[1:]:
            if rng.random() < 0.3:
                w = self.as_shape(self.chain(v.dtype)(w, 0), v.shape) if w.shape == v.shape else w
            if w.shape == v.shape and w.dtype == v.dtype:
                same = sizes if rng.random() < 0.92 else rng.sample(sizes, len(sizes))
                parts.append(self.cut(w, axis, sizes=same))
        self.pair_up(parts, axis)

    def pair_up(self, parts, axis):
        rng = self.rng
        dtype = parts[0][0].dtype
        spoil = rng.random() < 0.25
        odd = rng.randrange(len(parts[0])) if spoil else -1
        for _ in range(rng.choice([1, 1, 1, 2])):
            e, outs = self.pair(dtype), []
            later = self.chain(dtype) if rng.random() < 0.5 else None
            for j, ws in enumerate(zip(*parts)):
                ws = list(ws)
                if any(w.shape != ws[0].shape for w in ws):
                    return
                if j == odd and rng.random() < 0.7:
                    outs.append(self.recipe(dtype)(ws[-1], j))
                    continue
                out = e(ws, j)
                outs.append(later(out, j) if later else out)
            fits = all(
                product(o.shape) == product(w.shape) and o.dtype == dtype for o, w in zip(outs, parts[0])
            )
            if fits and rng.random() < 0.4:
                self.concat([self.as_shape(o, w.shape) for o, w in zip(outs, parts[0])], axis)
            elif fits and rng.random() < 0.4 and all(o.shape == w.shape for o, w in zip(outs, parts[0])):
                parts = [outs, *parts[1:]]  # the next operator reads this one's results
        if rng.random() < 0.25:
            self.recipe(dtype)(rng.choice(rng.choice(parts)), 0)

    def pair(self, dtype):
        """An operator of two or more operands: a function of (the operands, the branch)."""
        rng = self.rng
        op = rng.choice(
            ["And", "Or", "Xor"]
            if dtype == BOOL
            else ["Add", "Add", "Mul", "Mul", "Sub", "Where", "Greater"]
            + (["Div", "Max", "Min", "Sum", "Mean", "Pow", "nested", "scaled"] if dtype == F32 else [])
        )
        turn = op in ("Add", "Mul", "And", "Or", "Xor") and rng.random() < 0.3
        k = rng.choice(["first", "each"])
        shared = {}

        def factor(w, j):
            if k == "each" or shared.get("for") != w.shape:
                shape = [d[0] for d in self.masked(w.shape)]
                shared.update({"for": w.shape, "k": self.constant(self.array(dtype, shape[-w.rank :]))})
            return shared["k"]

        def flag(w):
            if "flag" not in shared:
                one = self.constant(np.zeros([], dtype))
                shared["flag"] = one
            return self.add("Greater", [w, shared["flag"]], (BOOL, w.shape))

        def apply(ws, j):
            s, first, last = ws[0].shape, ws[0], ws[-1]
            if op == "Greater":
                c = self.add(op, [first, last], (BOOL, s))
                return self.add("Where", [c, last, first], (dtype, s))
            if op == "Where":
                return self.add("Where", [flag(first), first, last], (dtype, s))
            if op == "nested":
                return self.add("Add", [first, self.add("Sigmoid", [last], (dtype, s))], (dtype, s))
            if op == "scaled":
                return self.add(
                    "Sub", [self.add("Mul", [first, factor(first, j)], (dtype, s)), last], (dtype, s)
                )
            if op in ("Sum", "Mean", "Max", "Min") and rng.random() < 0.5:
                return self.add(op, [*ws, factor(first, j)], (dtype, s))
            ins = [last, first] if turn and j % 2 else [first, last]
            return self.add(op, ins, (dtype, s))

        return apply

    def nested(self, v):
        """Split of Split, Concat of Concat, on one axis or two."""
        axes = [k for k, d in enumerate(v.shape) if d[0] >= 4]
        if not axes:
            return self.merge(v)
        axis = self.rng.choice(axes)
        parts = self.cut(v, axis, True)
        if not parts:
            return self.split(v)
        e, flat = self.chain(v.dtype), []
        for j, w in enumerate(parts):
            inner = self.cut(w, axis, True) if self.rng.random() < 0.6 else None
            flat.append(
                self.concat(
                    [self.as_shape(e(x, j), x.shape) if self.product_kept(x) else x for x in inner], axis
                )
                if inner
                else w
            )
        self.concat(flat, axis)

    def product_kept(self, v):
        return self.rng.random() < 0.7 and v.rank > 0

    def cluster(self, v):
        """anchor, D, E..., D, anchor: chains to be based on another shape."""
        rng = self.rng
        if rng.random() < 0.5:
            v = self.anchor(v) or v
        e = [self.recipe(v.dtype) for _ in range(rng.randint(1, 3))]
        for k, step in enumerate(e):
            if rng.random() < (0.7 if k == 0 else 0.35):
                v = self.deform(v)
            elif rng.random() < 0.15 and v.rank > 1:
                v = self.transpose(v)
            v = step(v, 0)
        if rng.random() < 0.6:
            v = self.deform(v)
        if rng.random() < 0.5:
            self.anchor(v)

    def fork(self, v):
        """One elementwise value, read through a deformation by one and directly by another."""
        m = self.recipe(v.dtype)(v, 0)
        for k in range(self.rng.choice([2, 2, 3])):
            w = self.deform(m) if k or self.rng.random() < 0.3 else m
            w = self.chain(m.dtype)(w, 0)
            if self.rng.random() < 0.4:
                self.anchor(w)

    def join(self, v):
        """Two values that meet in an elementwise operator downstream of deformations."""
        a, b = self.branches(v, 2)
        x = self.target(v.shape)
        a, b = (self.anchor(a) or a if self.rng.random() < 0.2 else a), self.recipe(b.dtype)(b, 0)
        if product(a.shape) != product(x) or product(b.shape) != product(x):
            return
        a, b = self.as_shape(a, x), self.as_shape(b, x)
        if v.dtype == F16:
            return
        op = "And" if v.dtype == BOOL else self.rng.choice(["Add", "Mul", "Sub"])
        self.chain(v.dtype)(self.add(op, [a, b], (v.dtype, x)), 0)

    def common_concat(self, v):
        """The same deformation or Transpose on (most of) the operands of a Concat."""
        rng, n = self.rng, self.rng.choice([2, 3, 3, 4])
        outs = self.branches(v, n)
        if rng.random() < 0.4 and v.rank >= 2:
            perm = list(range(v.rank))
            rng.shuffle(perm)
            outs = [self.transpose(w, perm) for w in outs]
        else:
            target = self.target(v.shape)
            if not target:
                return
            kept = rng.random() < 0.6
            outs = [
                self.as_shape(w, target)
                if kept or rng.random() < 0.7
                else self.as_shape(
                    self.input(v.dtype, target)
                    if len(self.inputs) < 5
                    and all(len(d[1]) <= 1 and (not d[1] or d[0] == 1) for d in target)
                    else w,
                    target,
                )
                for w in outs
            ]
        if rng.random() < 0.3:
            e = self.recipe(v.dtype)
            outs = [e(w, j) for j, w in enumerate(outs)]
        if len({w.shape for w in outs}) == 1 and outs[0].rank:
            self.concat(outs, rng.randrange(outs[0].rank))

    def common_split(self, v):
        axes = [k for k, d in enumerate(v.shape) if d[0] >= 2]
        parts = self.cut(v, self.rng.choice(axes), True) if axes else None
        if not parts:
            return self.turned(v)
        target = None
        perm = list(range(v.rank))
        self.rng.shuffle(perm)
        turn = self.rng.random() < 0.4
        for w in parts:
            if turn:
                self.transpose(w, perm)
            else:
                target = target or self.target(w.shape)
                self.as_shape(w, target)
