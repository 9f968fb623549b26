"""Adapters: nodes that bring a value to the type and shape that an operand has in a backend case.

The shape is reached at the first binding of the symbols; at others it is what the operators make of it.
"""

import math

import numpy as np
from onnx import helper

from _compose_graph import Refused

INT64_MAX = 2**63 - 1


class Adapt:
    """Needs rng, version, node(), constant(), ints(), values of _compose_graph.Graph."""

    # ---- operators whose form depends on the opset ---------------------------------------------------------

    def numbers_of(self, numbers):
        """Numbers as an operand: an initializer, or a Constant node."""
        numbers = np.array(numbers, np.int64)
        if self.version >= 9 and self.rng.random() < 0.3:
            return self.node("Constant", [], value=helper.make_tensor("", 7, numbers.shape, numbers.ravel()))
        return self.constant(numbers)

    def reshape(self, x, dims):
        return self.node("Reshape", [x, self.numbers_of(dims)])

    def cast(self, x, dtype):
        return self.node("Cast", [x], to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))

    def unsqueeze(self, x, axes):
        if self.version < 13:
            return self.node("Unsqueeze", [x], axes=axes)
        return self.node("Unsqueeze", [x, self.numbers_of(axes)])

    def squeeze(self, x, axes):
        if self.version < 13:
            return self.node("Squeeze", [x], axes=axes)
        return self.node("Squeeze", [x, self.numbers_of(axes)])

    def slice(self, x, axis, start, end, ends=None):
        """ends: the name of a tensor of one element in place of `end`."""
        if self.version < 10:
            return self.node("Slice", [x], axes=[axis], starts=[start], ends=[min(end, 2**31 - 1)])
        more = [self.numbers_of([axis])] if axis or self.rng.random() < 0.7 else []
        if more and self.rng.random() < 0.3:
            more.append(self.numbers_of([1]))
        return self.node("Slice", [x, self.numbers_of([start]), ends or self.numbers_of([end]), *more])

    def pad(self, x, before, after):
        if self.version < 11:
            return self.node("Pad", [x], pads=[*before, *after])
        return self.node("Pad", [x, self.numbers_of([*before, *after])])

    # ---- shapes --------------------------------------------------------------------------------------------

    def fitted(self, value, dtype, shape):
        """The name of a value with this type and shape at the first binding. Raises Refused."""
        source, name = value.first, value.name
        if source.dtype != dtype:
            if "object" in (str(dtype), str(source.dtype)) and source.dtype.kind not in "iu":
                raise Refused("strings are not converted")
            name = self.cast(name, dtype)
        shape = tuple(shape)
        if source.shape == shape:
            return name
        if math.prod(shape) > 4000:
            raise Refused("large")
        if self.rng.random() < 0.25:
            return self.through_flat(name, source.size, shape)
        name, now = self.to_rank(name, source.shape, len(shape))
        for axis, n in enumerate(shape):
            name = self.to_extent(name, now, axis, n)
            now = (*now[:axis], n, *now[axis + 1 :])
        return name

    def through_flat(self, name, size, shape):
        want = math.prod(shape)
        name = self.reshape(name, [-1])
        name = self.to_extent(name, (size,), 0, want)
        if want == 0:
            if self.version < 14:
                raise Refused("no Reshape to an empty shape")
            return self.node("Reshape", [name, self.numbers_of(shape)], allowzero=1)
        dims = list(shape)
        if dims and self.rng.random() < 0.4:
            dims[self.rng.randrange(len(dims))] = -1
        return self.reshape(name, dims)

    def to_rank(self, name, now, rank):
        rng = self.rng
        if len(now) < rank:
            axes = sorted(rng.sample(range(rank), rank - len(now)))
            full, rest = [], list(now)
            for i in range(rank):
                full.append(1 if i in axes else rest.pop(0))
            if 0 not in now and rng.random() < 0.2 and self.version >= 5:
                return self.reshape(name, full), tuple(full)
            return self.unsqueeze(name, axes), tuple(full)
        now = tuple(now)
        while len(now) > rank:
            axis = rng.randrange(len(now))
            rest = (*now[:axis], *now[axis + 1 :])
            draw = rng.random()
            if now[axis] == 1 and draw < 0.6:
                name = self.squeeze(name, [axis])
            elif rank and draw < 0.8 and len(now) > 1 and 0 not in now:
                axis = rng.randrange(len(now) - 1)
                rest = (*now[:axis], now[axis] * now[axis + 1], *now[axis + 2 :])
                dims = list(rest)
                dims[axis] = -1
                if rng.random() < 0.5:
                    dims = [0 if i < axis else n for i, n in enumerate(dims)]
                name = self.reshape(name, dims)
            elif now[axis] == 0:
                raise Refused("nothing to gather")
            else:
                index = self.constant(np.array(rng.choice([0, now[axis] - 1]), np.int64))
                name = self.node("Gather", [name, index], axis=axis)
            now = rest
        return name, now

    def to_extent(self, name, now, axis, n):
        rng, have = self.rng, now[axis]
        if have == n:
            return name
        if have > n:
            draw = rng.random()
            if draw < 0.2 and have - n >= 1:
                return self.slice(name, axis, -n, INT64_MAX) if n else self.slice(name, axis, 0, 0)
            if draw < 0.35:
                return self.node("Gather", [name, self.numbers_of(list(range(n)))], axis=axis)
            if draw < 0.5 and n and have % n == 0:
                parts = have // n
                if self.version < 13:
                    return self.node("Split", [name], parts, axis=axis, split=[n] * parts)[0]
                return self.node("Split", [name, self.numbers_of([n] * parts)], parts, axis=axis)[0]
            if draw < 0.7 and self.version >= 10 and (ends := self.extent(n)):
                return self.slice(name, axis, 0, n, ends)
            return self.slice(name, axis, 0, n)
        draw, more = rng.random(), n - have
        if have == 1 and draw < 0.5 and self.version >= 8:
            return self.node("Expand", [name, self.numbers_of([n] + [1] * (len(now) - axis - 1))])
        if have and draw < 0.75:
            parts = [name] * (n // have)
            if n % have:
                parts.append(self.slice(name, axis, 0, n % have))
            return self.node("Concat", parts, axis=axis)
        if have and draw < 0.85 and n % have == 0:
            return self.node(
                "Tile", [name, self.numbers_of([n // have if i == axis else 1 for i in range(len(now))])]
            )
        before = [0] * len(now)
        after = list(before)
        before[axis] = rng.randint(0, more)
        after[axis] = more - before[axis]
        return self.pad(name, before, after)

    def extent(self, n):
        """The name of an extent of some value that is n at the first binding, as a tensor of one element;
        None when there is none."""
        found = [(v, i) for v in self.values if v.is_tensor for i, e in enumerate(v.first.shape) if e == n]
        return self.extent_of(*self.rng.choice(found)) if found else None

    def extent_of(self, value, axis):
        if self.version >= 15 and self.rng.random() < 0.4:
            return self.node("Shape", [value.name], start=axis, end=axis + 1)
        shape = self.node("Shape", [value.name])
        if self.rng.random() < 0.5:
            return self.slice(shape, 0, axis, axis + 1)
        return self.node("Gather", [shape, self.numbers_of([axis])], axis=0)
