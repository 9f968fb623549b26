"""A scene of _hoist_scenes.py: bounds and scales that the graph computes beside the value that reads them."""

import numpy as np
from _hoist_dims import F32, ONE, U8


class Computed:
    def element(self, v):
        """All of v as one element, every extent 1."""
        if self.opset >= 13:
            return self.add(
                "ReduceSum", [v, self.ints(*range(v.rank))], (v.dtype, [ONE] * v.rank), keepdims=1
            )
        return self.add("ReduceSum", [v], (v.dtype, [ONE] * v.rank), axes=list(range(v.rank)), keepdims=1)

    def computed(self, v):
        """Two single elements through deformations to scalars (vectors of one), the second a bound or the
        scale of the first one."""
        rng = self.rng
        if v.dtype != F32 or v.rank < 1 or self.opset < 11:
            return self.single(v)
        x, m = (
            self.element(v),
            self.element(self.add(rng.choice(["Neg", "Tanh", "Abs"]), [v], (v.dtype, v.shape))),
        )
        inner = [] if rng.random() < 0.7 else [ONE]

        def unary(w):
            return self.add(rng.choice(["Relu", "Sigmoid", "Tanh", "Abs"]), [w], (F32, w.shape))

        x, m = self.as_shape(x, inner), self.as_shape(m, inner if rng.random() < 0.8 else [])
        b = unary(m) if rng.random() < 0.8 else m
        x = self.add("Mul", [x, b], (F32, x.shape)) if b.shape == x.shape and rng.random() < 0.4 else unary(x)
        kind = rng.choice(["low", "high", "scale", "axis"])
        if kind in ("low", "high") and b.rank == 0:
            y = self.add("Clip", [x, b] if kind == "low" else [x, None, b], (F32, x.shape))
        elif self.opset >= 13 and x.rank == b.rank:
            s = self.add("Sigmoid", [b], (F32, b.shape)) if rng.random() < 0.5 else b
            axis = {} if x.rank == 0 else {"axis": rng.choice([0, -1])}
            zero = self.constant(np.array(3 if s.rank == 0 else [3], U8))
            y = self.add(
                "DequantizeLinear",
                [self.add("QuantizeLinear", [x, s, zero], (U8, x.shape), **axis), s, zero],
                (F32, x.shape),
                **axis,
            )
        else:
            y = self.add("Add", [x, b], (F32, x.shape if x.rank >= b.rank else b.shape))
        y = unary(y) if rng.random() < 0.7 else y
        return self.anchor(self.as_shape(y, [ONE] * rng.randint(0, 3)))
