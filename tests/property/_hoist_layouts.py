"""Scenes of _hoist_graphs.py that take tensors apart and put them together again, or compute along an axis:
heads, tiles, strides, shuffles, anchors.
"""

import itertools

import numpy as np

from _hoist_dims import BOOL, F16, F32, ONE


class Layouts:
    def heads(self, v):
        """A packed projection: MatMul, Split, and Reshape + Transpose on each part."""
        if v.dtype != F32 or v.rank < 2 or v.shape[-1][1] or not 1 <= v.shape[-1][0] <= 8:
            return self.cluster(v)
        m = self.add(
            "MatMul",
            [v, self.constant(self.array(F32, [v.shape[-1][0], 12], True))],
            (F32, v.shape[:-1] + ((12, ()),)),
        )
        m = self.add("Add", [m, self.constant(self.array(F32, [12], True))], (F32, m.shape))
        parts = self.add(
            "Split",
            [m] + ([self.ints(4, 4, 4)] if self.opset >= 13 else []),
            *[(F32, v.shape[:-1] + ((4, ()),))] * 3,
            axis=-1,
            split=[4, 4, 4] if self.opset < 13 else None,
        )
        for w in parts:
            w = self.deform(w, w.shape[:-1] + ((2, ()), (2, ())))
            if w.rank == v.rank + 1:
                self.transpose(w, list(range(v.rank - 2)) + [v.rank - 1, v.rank - 2, v.rank])

    def stack(self, v):
        rng = self.rng
        outs, axis = self.branches(v, rng.choice([2, 3])), rng.randint(0, v.rank)
        if v.rank > 4:
            return
        e, target = self.recipe(v.dtype), v.shape[:axis] + (ONE,) + v.shape[axis:]
        outs = [e(w, j) for j, w in enumerate(outs)]
        if all(w.shape == v.shape for w in outs):
            self.concat([self.units(w, target) for w in outs], axis)

    def scaled(self, v):
        """One value on all branches, beside constants that differ; mostly with nothing but ones before
        the Concat's axis."""
        rng = self.rng
        if not v.rank or v.dtype in (BOOL, F16):
            return
        axis = (
            next((k for k, d in enumerate(v.shape) if d != ONE), 0)
            if rng.random() < 0.8
            else rng.randrange(v.rank)
        )
        op, first, around = (
            rng.choice(["Add", "Mul", "Sub", "Div", "Max", "Min"]),
            rng.random() < 0.3,
            [rng.random() < 0.4 for _ in range(3)],
        )
        if self.opset < 12 and v.dtype != F32 and op in ("Max", "Min") or v.dtype.kind == "i" and op == "Div":
            op = "Mul"
        before, after, outs = self.recipe(v.dtype), self.recipe(v.dtype), []
        for j in range(rng.choice([2, 2, 3])):
            w = before(v, j) if around[0] else v
            shape = [d[0] for d in self.masked(w.shape)]
            c = self.constant(self.array(w.dtype, shape[max(0, len(shape) - w.rank) :]))
            w = self.add(op, [c, w] if first else [w, c], (w.dtype, w.shape)) if w.dtype == v.dtype else w
            w = after(w, j) if around[1] and w.dtype == v.dtype else w
            w = (
                self.add("Mul", [w, v], (w.dtype, w.shape))
                if around[2] and w.dtype == v.dtype and w.shape == v.shape
                else w
            )
            outs.append(w)
        if all(w.shape == v.shape and w.dtype == outs[0].dtype for w in outs):
            self.concat(outs, axis)

    def slice(self, v, axis, start, end, shape):
        far = self.rng.random() < 0.3 and end == v.shape[axis][0]
        end = (
            2**62
            if far
            else end - v.shape[axis][0]
            if end < v.shape[axis][0] and self.rng.random() < 0.2
            else end
        )
        ins = [v, self.ints(start), self.ints(end), self.ints(axis)] + (
            [self.ints(1)] if self.rng.random() < 0.5 else []
        )
        return self.add("Slice", ins, (v.dtype, shape))

    def tiles(self, v):
        """Slices that tile an axis, or leave a gap, or overlap."""
        rng = self.rng
        axes = [k for k, d in enumerate(v.shape) if not d[1] and d[0] >= 2]
        if not axes:
            return self.merge(v)
        axis = rng.choice(axes)
        n = v.shape[axis][0]
        cut = rng.randint(1, n - 1)
        bounds = [(0, cut), (cut + (rng.random() < 0.15), n)]
        if bounds[1][0] >= n:
            bounds[1] = (cut, n)
        rng.shuffle(bounds)
        e = self.chain(v.dtype, rng.random() < 0.2)
        for j, (b, x) in enumerate(bounds):
            e(self.slice(v, axis, b, x, v.shape[:axis] + ((x - b, ()),) + v.shape[axis + 1 :]), j)

    def strides(self, v):
        """Slices that take every k-th element of one or two axes: joined, or worked on apart and stacked;
        sometimes one is out of place."""
        rng = self.rng
        axes = [k for k, d in enumerate(v.shape) if not d[1] and d[0] in (2, 4, 6)]
        if not axes or v.rank > 4:
            return self.merge(v)
        axes = rng.sample(axes, rng.choice([1, 1, min(2, len(axes))]))
        phases = [list(p) for p in itertools.product(range(2), repeat=len(axes))]
        if rng.random() < 0.3:
            phases = [p[::-1] for p in phases]
        if rng.random() < 0.15:
            rng.shuffle(phases)
        if rng.random() < 0.1:
            phases[-1][0] = 0
        n = [v.shape[a][0] for a in axes]
        shape = tuple((d[0] // 2, ()) if k in axes else d for k, d in enumerate(v.shape))
        two, at = self.ints(*[2] * len(axes)), self.ints(*axes)
        parts = [
            self.add(
                "Slice",
                [v, self.ints(*p), self.ints(*[rng.choice([m, 2**62]) for m in n]), at, two],
                (v.dtype, shape),
            )
            for p in phases
        ]
        if rng.random() < 0.5:
            return self.concat(parts, rng.randrange(v.rank))
        e, axis = self.chain(v.dtype), rng.choice([axes[0] + 1, rng.randint(0, v.rank)])
        parts = [e(w, j) for j, w in enumerate(parts)]
        if all(w.shape == shape for w in parts):
            self.concat([self.units(w, shape[:axis] + (ONE,) + shape[axis:]) for w in parts], axis)

    def unbind(self, v):
        axes = [k for k, d in enumerate(v.shape) if not d[1] and 2 <= d[0] <= 4]
        if not axes:
            return self.tiles(v)
        axis = self.rng.choice(axes)
        n, rest = v.shape[axis][0], v.shape[:axis] + v.shape[axis + 1 :]
        e = self.chain(v.dtype)
        order = list(range(n))
        self.rng.shuffle(order)
        for j in order:
            k = j - n if self.rng.random() < 0.15 else j
            e(self.add("Gather", [v, self.constant(np.array(k, np.int64))], (v.dtype, rest), axis=axis), j)

    def shuffle(self, v):
        """DepthToSpace and SpaceToDepth, or channel shuffle by Reshape, Transpose, Reshape."""
        rng, s = self.rng, v.shape
        if v.rank == 4 and v.dtype == F32 and not s[1][1] and s[1][0] % 4 == 0 and s[1][0]:
            w = self.add(
                "DepthToSpace",
                [v],
                (F32, (s[0], (s[1][0] // 4, ()), (s[2][0] * 2, s[2][1]), (s[3][0] * 2, s[3][1]))),
                blocksize=2,
                mode=rng.choice(["DCR", "CRD"]),
            )
            w = self.recipe(F32)(w, 0)
            if w.rank == 4 and w.shape[2][0] % 2 == 0 and w.shape[3][0] % 2 == 0 and rng.random() < 0.7:
                self.add(
                    "SpaceToDepth",
                    [w],
                    (
                        F32,
                        (
                            w.shape[0],
                            (w.shape[1][0] * 4, w.shape[1][1]),
                            (w.shape[2][0] // 2, w.shape[2][1]),
                            (w.shape[3][0] // 2, w.shape[3][1]),
                        ),
                    ),
                    blocksize=2,
                )
            return
        axes = [k for k, d in enumerate(s) if d[0] in (4, 6)]
        if not axes or v.rank > 4:
            return self.turned(v)
        k = rng.choice(axes)
        w = self.deform(v, s[:k] + ((2, ()), (s[k][0] // 2, s[k][1])) + s[k + 1 :])
        if w.rank != v.rank + 1:
            return
        perm = list(range(w.rank))
        perm[k], perm[k + 1] = perm[k + 1], perm[k]
        w = self.transpose(w, perm)
        self.chain(w.dtype)(self.deform(w, s), 0)

    def anchor(self, v):
        """A node that nothing moves across; floats only. Its value, or None."""
        rng, s = self.rng, v.shape
        if v.dtype != F32 or not v.rank:
            return None
        last = s[-1]
        kind = rng.choice(
            ["matmul", "matmul", "conv", "norm", "softmax", "reduce", "gemm", "gather", "pad", "cumsum"]
        )
        if kind == "matmul" and not last[1] and last[0] and v.rank >= 2:
            k = rng.choice([2, 4, 6])
            return self.add(
                "MatMul", [v, self.constant(self.array(F32, [last[0], k], True))], (F32, s[:-1] + ((k, ()),))
            )
        if kind == "conv" and v.rank in (3, 4) and not s[1][1] and s[1][0]:
            k = rng.choice([2, 4])
            return self.add(
                "Conv",
                [v, self.constant(self.array(F32, [k, s[1][0]] + [1] * (v.rank - 2), True))],
                (F32, (s[0], (k, ()), *s[2:])),
            )
        if kind == "gemm" and v.rank == 2 and not last[1] and last[0]:
            return self.add(
                "Gemm",
                [
                    v,
                    self.constant(self.array(F32, [last[0], 4], True)),
                    self.constant(self.array(F32, [4], True)),
                ],
                (F32, (s[0], (4, ()))),
            )
        if kind == "norm" and self.opset >= 17 and not last[1] and last[0]:
            return self.add(
                "LayerNormalization",
                [
                    v,
                    self.constant(self.array(F32, [last[0]], True)),
                    self.constant(self.array(F32, [last[0]], True)),
                ],
                (F32, s),
                axis=-1,
            )
        if kind == "reduce":
            axis, keep = rng.randrange(v.rank), rng.randint(0, 1)
            op = rng.choice(["ReduceMax", "ReduceMean", "ReduceSum", "ReduceMin"])
            out = s[:axis] + ((ONE,) if keep else ()) + s[axis + 1 :]
            by_input = self.opset >= 18 or op == "ReduceSum" and self.opset >= 13
            return self.add(
                op,
                [v, self.ints(axis)] if by_input else [v],
                (F32, out),
                keepdims=keep,
                axes=None if by_input else [axis],
            )
        if kind == "gather" and not s[0][1] and s[0][0]:
            picks = [rng.randrange(s[0][0]) for _ in range(2)]
            return self.add("Gather", [v, self.ints(*picks)], (F32, ((2, ()), *s[1:])), axis=0)
        if kind == "cumsum":
            return self.add("CumSum", [v, self.constant(np.array(v.rank - 1, np.int64))], (F32, s))
        if kind == "pad" and not any(d[1] for d in s):
            pads = [0] * v.rank + [1] + [0] * (v.rank - 1)
            return self.add("Pad", [v, self.ints(*pads)], (F32, ((s[0][0] + 1, ()), *s[1:])))
        return self.add(
            rng.choice(["Softmax", "LogSoftmax"]),
            [v],
            (F32, s),
            axis=rng.choice([-1, v.rank - 1, 0]) if self.opset >= 13 else v.rank - 1,
        )
