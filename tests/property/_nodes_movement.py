"""Operators of random graphs (_nodes.py) that move elements without computing."""

import math

import numpy as np

from _values import F32, each, small


class Movement:
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
