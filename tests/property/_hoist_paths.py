"""Scenes of _hoist_graphs.py: paths from one deformation or Transpose (a boundary) to another, with operators
on them that work along axes.

The shape on a path is a list of items in the order of the dims after the boundary: [dims before it, dims
after it, place before it]. For a Transpose each item is one dim; for a deformation, a group of dims. An
operator acts on both sides of an item, so the shape that a boundary at the end of the path has to give is
known. Some operators act on a part of an item: then nothing cancels.
"""

import numpy as np

from _hoist_dims import BOOL, F16, F32, F64, I32, I64, ONE, elements, product

REDUCE = {
    "f": [
        "ReduceMax",
        "ReduceMean",
        "ReduceSum",
        "ReduceMin",
        "ReduceL2",
        "ReduceLogSumExp",
        "ReduceProd",
        "ReduceL1",
        "ReduceSumSquare",
    ],
    "i": ["ReduceMax", "ReduceMin", "ReduceSum", "ReduceProd"],
}


class Paths:
    def path(self, v):
        rng = self.rng
        if v.dtype == F16 or not v.rank or v.rank > 4:
            return self.single(v)
        turn = rng.random() < 0.5
        if rng.random() < 0.3:
            v = self.anchor(v) or v
            if not v.rank:
                return v
        if rng.random() < 0.3 and v.rank < 4:
            at = rng.randint(0, v.rank)
            v = self.units(v, v.shape[:at] + (ONE,) + v.shape[at:]) or v
        items = self.turned_items(v) if turn else self.grouped_items(v)
        back = [d for i in items for d in i[1]]
        w = self.transpose(v, [i[2] for i in items]) if turn else self.as_shape(v, back)
        if rng.random() < 0.2:
            self.chain(w.dtype)(w, 0)
        for _ in range(rng.choice([1, 1, 2, 2, 3, 4])):
            kind = rng.choice(
                [
                    self.on_slice,
                    self.on_gather,
                    self.on_pad,
                    self.on_expand,
                    self.on_softmax,
                    self.on_reduce,
                    self.on_norm,
                    None,
                    None,
                ]
            )
            if kind is None:
                x = self.recipe(w.dtype)(w, 0)
                if x.shape != w.shape:
                    return None
                w = x
            else:
                w = kind(w, items) or w
            if rng.random() < 0.08:
                self.chain(w.dtype)(w, 1)  # another reader
        if elements(w.shape) > 2000:
            return None
        if rng.random() < 0.1:
            return self.anchor(w)
        order = sorted(range(len(items)), key=lambda k: items[k][2])
        front = [d for k in order for d in items[k][0]]
        if turn and w.rank and len(order) == w.rank:
            out = self.transpose(w, order if rng.random() < 0.85 else None)
        elif not turn and product(front) == product(w.shape):
            out = self.as_shape(w, tuple(front) if rng.random() < 0.85 else self.target(w.shape))
        else:
            out = w
        return self.anchor(out) if rng.random() < 0.3 else out

    def paths_joined(self, v):
        """The same boundary on the branches of a Concat, with operators downstream of it on some."""
        rng = self.rng
        if v.dtype == F16 or not v.rank or v.rank > 4:
            return self.merge(v)
        turn = rng.random() < 0.5
        items = self.turned_items(v) if turn else self.grouped_items(v)
        back, outs = [d for i in items for d in i[1]], []
        axis = rng.randrange(len(back))
        for w in self.branches(v, rng.choice([2, 2, 3])):
            own = [[list(i[0]), list(i[1]), i[2]] for i in items]
            if turn and rng.random() < 0.05:
                rng.shuffle(own)
            w = self.transpose(w, [i[2] for i in own]) if turn else self.as_shape(w, back)
            for _ in range(rng.choice([0, 1, 1, 2])):
                kind = rng.choice([self.on_softmax, self.on_softmax, self.on_slice, self.on_pad, None])
                if kind is None:
                    x = self.recipe(w.dtype)(w, 0)
                    w = x if x.shape == w.shape else w
                else:
                    w = kind(w, own) or w
            outs.append(w)
        fitting = [
            w
            for w in outs
            if w.dtype == outs[0].dtype
            and w.rank == len(back)
            and all(d == e for k, (d, e) in enumerate(zip(w.shape, back)) if k != axis)
            and w.shape[axis][1] == back[axis][1]
        ]
        if len(fitting) < 2:
            return None
        out = self.concat(fitting, axis)
        return self.anchor(out) if rng.random() < 0.3 else out

    def turned_items(self, v):
        perm = list(range(v.rank))
        self.rng.shuffle(perm)
        return [[[v.shape[p]], [v.shape[p]], p] for p in perm]

    def grouped_items(self, v):
        rng, items, k = self.rng, [], 0
        while k < v.rank:
            n = rng.choice([1, 1, 2, 2, 3])
            dims = list(v.shape[k : k + n])
            k += n
            if len(dims) > 1:
                back = [product(dims)] if rng.random() < 0.8 else [dims[0], product(dims[1:])]
            elif not dims[0][1] and dims[0][0] in (4, 6) and rng.random() < 0.5:
                back = [(2, ()), (dims[0][0] // 2, ())]
            else:
                back = dims[:]
            if rng.random() < 0.1:
                back.insert(rng.randint(0, len(back)), ONE)
            items.append([dims, back, len(items)])
        return items

    # --- operators on the path: their value, or None where they do not fit ----------------------------------

    def own(self, items, wanted=lambda d: True):
        """(item, axis after the boundary) of one that is a single dim on both sides."""
        found, axis = [], 0
        for i in items:
            if len(i[0]) == len(i[1]) == 1 and wanted(i[1][0]):
                found.append((i, axis))
            axis += len(i[1])
        if not found:
            return None, None
        return self.rng.choice(found)

    def put(self, w, axis, dim):
        return w.shape[:axis] + ((dim,) if dim else ()) + w.shape[axis + 1 :]

    def signed(self, axis, rank):
        return axis - rank if self.rng.random() < 0.3 else axis

    def on_slice(self, w, items):
        rng = self.rng
        i, axis = self.own(items, lambda d: not d[1] and d[0] >= 2)
        if i is None:
            return None
        n, step = i[1][0][0], rng.choice([1, 1, 2, -1])
        begin, end = (n - 1, -n - 1) if step < 0 else sorted(rng.sample(range(n + 1), 2))
        size = len(range(n)[slice(begin, None if step < 0 else end, step)])
        out = (size, ())
        ins = [w, self.ints(begin), self.ints(end), self.ints(self.signed(axis, w.rank))]
        if step != 1 or rng.random() < 0.5:
            ins.append(self.ints(step))
        i[0], i[1] = [out], [out]
        return self.add("Slice", ins, (w.dtype, self.put(w, axis, out)))

    def on_gather(self, w, items):
        rng = self.rng
        i, axis = self.own(items, lambda d: not d[1] and d[0] >= 1)
        if i is None:
            return None
        n = i[1][0][0]
        scalar = rng.random() < 0.4 and w.rank > 1
        if scalar:
            index, out = self.constant(np.array(rng.randrange(-n, n), np.int64)), None
            items.remove(i)
        else:
            k = rng.randint(1, 3)
            index, out = self.ints(*[rng.randrange(-n, n) for _ in range(k)]), (k, ())
            i[0], i[1] = [out], [out]
        return self.add(
            "Gather", [w, index], (w.dtype, self.put(w, axis, out)), axis=self.signed(axis, w.rank)
        )

    def on_pad(self, w, items):
        rng = self.rng
        if w.dtype == BOOL and self.opset < 13:
            return None
        i, axis = self.own(items, lambda d: not d[1] and d[0] >= 3)
        if i is None:
            return None
        mode = rng.choice(["constant", "constant", "edge", "reflect"])
        if w.dtype == BOOL:
            mode = "constant"
        begin, end = rng.randint(0, 2), rng.randint(0, 2)
        if mode == "constant" and rng.random() < 0.3:
            begin = -1
        out = (i[1][0][0] + begin + end, ())
        i[0], i[1] = [out], [out]
        if self.opset >= 18 and rng.random() < 0.4:
            ins = [w, self.ints(begin, end), None, self.ints(self.signed(axis, w.rank))]
        else:
            pads = [0] * (2 * w.rank)
            pads[axis], pads[w.rank + axis] = begin, end
            ins = [w, self.ints(*pads)]
        return self.add("Pad", ins, (w.dtype, self.put(w, axis, out)), mode=mode)

    def on_expand(self, w, items):
        i, axis = self.own(items, lambda d: d == ONE)
        if i is None:
            return None
        k = (self.rng.choice([2, 3]), ())
        i[0], i[1] = [k], [k]
        target = [1 if d[1] or self.rng.random() < 0.5 else d[0] for d in w.shape]
        target[axis] = k[0]
        return self.add("Expand", [w, self.ints(*target)], (w.dtype, self.put(w, axis, k)))

    def on_softmax(self, w, items):
        if w.dtype not in (F32, F64) or self.opset < 13 and self.rng.random() < 0.7:
            return None
        i, axis = self.own(items)
        if i is None or self.rng.random() < 0.1:
            axis = self.rng.randrange(w.rank) if w.rank else None
        if axis is None:
            return None
        op = self.rng.choice(["Softmax", "Softmax", "LogSoftmax"] + (["Hardmax"] if w.dtype == F32 else []))
        return self.add(op, [w], (w.dtype, w.shape), axis=self.signed(axis, w.rank))

    def on_norm(self, w, items):
        if w.dtype != F32 or self.opset < 17 or not w.rank or w.shape[-1][1] or not w.shape[-1][0]:
            return None
        scale = self.constant(self.array(F32, [w.shape[-1][0]], True))
        return self.add(
            "LayerNormalization", [w, scale], (w.dtype, w.shape), axis=self.signed(w.rank - 1, w.rank)
        )

    def on_reduce(self, w, items):
        """Whole items; a part of one now and then, which nothing may pass."""
        rng = self.rng
        if w.dtype not in (F32, F64, I32, I64) or not items or not w.rank:
            return None
        keep = rng.randint(0, 1)
        chosen = rng.sample(items, rng.randint(1, max(1, len(items) - 1)))
        axes, at = [], 0
        for i in items:
            if any(i is c for c in chosen):
                axes += range(at, at + len(i[1]))
            at += len(i[1])
        if rng.random() < 0.1 and len(axes) > 1:
            axes.pop()
        shape = [ONE if k in axes else d for k, d in enumerate(w.shape) if keep or k not in axes]
        at = 0
        for i in list(items):
            gone = [k for k in range(at, at + len(i[1])) if k in axes]
            at += len(i[1])
            if not gone:
                continue
            if keep:
                i[0], i[1] = [ONE] * len(i[0]), [ONE] * len(i[1])
            else:
                items[:] = [x for x in items if x is not i]
        op = rng.choice(REDUCE["f" if w.dtype.kind == "f" else "i"])
        by_input = self.opset >= 18 or op == "ReduceSum" and self.opset >= 13
        # On an empty tensor ONNX Runtime does not reduce the axes that are counted from the end.
        written = [self.signed(a, w.rank) if all(d[0] and not d[1] for d in w.shape) else a for a in axes]
        rng.shuffle(written)
        whole = len(axes) == w.rank and rng.random() < 0.3
        ins = [w, self.ints(*written)] if by_input and not whole else [w]
        return self.add(op, ins, (w.dtype, shape), keepdims=keep, axes=None if by_input or whole else written)
