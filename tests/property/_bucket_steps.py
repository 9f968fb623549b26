"""Steps of random models (_bucket_recipes.py) that work on floating values: elementwise, along an axis,
products and windows, movement.

Each makes nodes and returns the last value, or none where no value fits. Labels stay equal where extents do.
"""

import numpy as np
from onnx import TensorProto

FLOAT, INT, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
WIDTH = 4  # of the last axis of x
UNARY = "Relu Sigmoid Tanh Exp Abs Neg Sqrt Reciprocal Log Softplus Erf HardSwish Floor Sign Cos Identity"
REDUCE = (
    "ReduceSum ReduceMax ReduceMin ReduceMean ReduceL1 ReduceL2 ReduceSumSquare ReduceProd ReduceLogSumExp"
)


class Steps:
    # --- elementwise ----------------------------------------------------------------------------------------

    def step_unary(self):
        v = self.pick()
        return self.node(self.rng.choice(UNARY.split()), [v], FLOAT, v.dims)

    def step_binary(self):
        v = self.pick()
        w = self.pick(lambda w: self.like(v, w))
        operator = self.rng.choice(["Add", "Mul", "Sub", "Max", "Min", "Div"])
        return self.node(operator, [v, w], FLOAT, self.broadcast(v, w))

    def step_scalar(self):
        v = self.pick()
        c = self.constant(np.float32(self.rng.choice([0.0, 1.0, -1.0, 0.5, 2.0, -1e9])))
        return self.node(self.rng.choice(["Add", "Mul", "Sub", "Max", "Min"]), [v, c], FLOAT, v.dims)

    def step_masked(self):
        """A value where the mask is one, something else where it is not."""
        if not self.mask:
            return None
        m = self.float_mask()
        v = self.pick(lambda v: self.like(v, m))
        if not v:
            return None
        if self.rng.random() < 0.3:
            return self.node("Mul", [v, m], FLOAT, self.broadcast(v, m))
        c = self.node("Cast", [m], BOOL, m.dims, to=BOOL)
        other = self.constant(np.float32(self.rng.choice([0.0, 0.0, 1.0, -np.inf, np.inf, -1e9])))
        return self.node("Where", [c, v, other], FLOAT, self.broadcast(v, m))

    # --- along an axis --------------------------------------------------------------------------------------

    def step_reduce(self):
        v = self.pick(lambda v: v.dims)
        if not v:
            return None
        axis, keep, operator = self.axis_of(v), self.rng.randint(0, 1), self.rng.choice(REDUCE.split())
        dims = self.without(v, axis, keep)
        if operator == "ReduceSum":
            return self.node(operator, [v, self.constant([axis])], FLOAT, dims, keepdims=keep)
        return self.node(operator, [v], FLOAT, dims, axes=[axis], keepdims=keep)

    def step_softmax(self):
        v = self.pick(lambda v: v.dims)
        operator = self.rng.choice(["Softmax", "Softmax", "LogSoftmax", "Hardmax"])
        return v and self.node(operator, [v], FLOAT, v.dims, axis=self.axis_of(v))

    def step_cumsum(self):
        v = self.pick(lambda v: v.dims)
        flags = {"reverse": self.rng.randint(0, 1), "exclusive": self.rng.randint(0, 1)}
        return v and self.node("CumSum", [v, self.constant(self.axis_of(v))], FLOAT, v.dims, **flags)

    def step_arg(self):
        v = self.pick(lambda v: v.dims)
        if not v:
            return None
        axis, operator = self.axis_of(v), self.rng.choice(["ArgMax", "ArgMin"])
        i = self.node(operator, [v], INT, self.without(v, axis, True), axis=axis, keepdims=1)
        if self.rng.random() < 0.5:
            return self.node("GatherElements", [v, i], FLOAT, i.dims, axis=axis)
        return self.node("Cast", [i], FLOAT, i.dims, to=FLOAT)

    def step_topk(self):
        v = self.pick(lambda v: v.dims)
        if not v:
            return None
        axis, k = self.axis_of(v), self.rng.choice([1, 1, 2])
        dims = self.replaced(v, axis, k)
        inputs, largest = [v, self.constant([k])], self.rng.randint(0, 1)
        return self.node("TopK", inputs, FLOAT, dims, [(INT, dims)], axis=axis, largest=largest)

    def step_norm(self):
        v = self.pick(lambda v: v.dims and v.dims[-1] == WIDTH)
        if not v:
            return None
        ones = self.constant(np.ones(WIDTH, np.float32))
        return self.node("LayerNormalization", [v, ones], FLOAT, v.dims, axis=-1)

    # --- products and windows -------------------------------------------------------------------------------

    def step_project(self):
        v = self.pick(lambda v: len(v.dims) > 1 and v.dims[-1] == WIDTH)
        return v and self.node("MatMul", [v, self.normal(WIDTH, WIDTH)], FLOAT, v.dims)

    def swapped(self, v):
        return self.node("Transpose", [v], FLOAT, (v.dims[0], v.dims[2], v.dims[1]), perm=[0, 2, 1])

    def step_matmul(self):
        v = self.pick(lambda v: len(v.dims) == 3)
        w = v and self.pick(lambda w: len(w.dims) == 3 and w.dims[0] == v.dims[0] and w.dims[1] == v.dims[2])
        return w and self.node("MatMul", [v, w], FLOAT, (*v.dims[:2], w.dims[2]))

    def step_einsum(self):
        """Of extents that are never 0, at which ONNX Runtime's Einsum divides by zero."""
        known = {WIDTH, *self.free, *(s for s, (low, _) in self.ranges.items() if low)}
        v = self.pick(lambda v: len(v.dims) == 3 and known.issuperset(v.dims))
        w = v and self.pick(lambda w: len(w.dims) == 3 and (w.dims[0], w.dims[2]) == (v.dims[0], v.dims[2]))
        if not w or not known.issuperset(w.dims):
            return None
        return self.node("Einsum", [v, w], FLOAT, (*v.dims[:2], w.dims[1]), equation="bsd,btd->bst")

    def step_recurrent(self):
        """A GRU along the second axis, by lengths where there are some: all its states, or the last one."""
        v = self.pick(lambda v: v.dims == self.x.dims)
        if not v:
            return None
        turned = self.node("Transpose", [v], FLOAT, ("s", "b", WIDTH), perm=[1, 0, 2])
        inputs = [turned, self.normal(1, 3 * WIDTH, WIDTH), self.normal(1, 3 * WIDTH, WIDTH)]
        if lens := self.pick(lambda v: v.name == "lens", INT):
            short = self.node("Cast", [lens], TensorProto.INT32, ("b",), to=TensorProto.INT32)
            inputs += ["", short]
        last = (FLOAT, (1, "b", WIDTH))
        y = self.node("GRU", inputs, FLOAT, ("s", 1, "b", WIDTH), [last], hidden_size=WIDTH)
        if self.rng.random() < 0.4:
            return self.node("Tanh", [self.made[-1]], *last)
        y = self.node("Squeeze", [y, self.constant([1])], FLOAT, ("s", "b", WIDTH))
        return self.node("Transpose", [y], FLOAT, self.x.dims, perm=[1, 0, 2])

    def step_attention(self):
        """Softmax of masked scores, over a cache and the new elements where there is one."""
        wide = lambda v: len(v.dims) == 3 and v.dims[0] == "b" and v.dims[2] == WIDTH
        q, k = self.pick(lambda v: wide(v) and v.dims[1] == "s"), self.pick(wide)
        if self.cache and self.rng.random() < 0.7:
            k = self.pick(lambda v: wide(v) and v.dims[1] == "s")
            k = self.node("Concat", [self.cache, k], FLOAT, ("b", self.total, WIDTH), axis=1)
        if not q or not k:
            return None
        scores = self.node("MatMul", [q, self.swapped(k)], FLOAT, ("b", q.dims[1], k.dims[1]))
        masks = {"s": self.mask, self.total if self.cached else "": self.past_mask}
        m = masks.get(k.dims[1])
        if self.rng.random() < 0.3:
            scores = self.causal(scores, q, k)
        elif m and self.rng.random() < 0.8:
            f = self.node("Cast", [m], FLOAT, m.dims, to=FLOAT)
            f = self.node("Unsqueeze", [f, self.constant([1])], FLOAT, (m.dims[0], 1, m.dims[1]))
            if self.rng.random() < 0.5:
                f = self.node("Sub", [self.constant(np.float32(1)), f], FLOAT, f.dims)
                f = self.node(
                    "Mul", [f, self.constant(np.float32(self.rng.choice([-1e4, -1e9])))], FLOAT, f.dims
                )
                scores = self.node("Add", [scores, f], FLOAT, scores.dims)
            else:
                c = self.node("Cast", [f], BOOL, f.dims, to=BOOL)
                low = self.constant(np.float32(-np.inf))
                scores = self.node("Where", [c, scores, low], FLOAT, scores.dims)
        weights = self.node("Softmax", [scores], FLOAT, scores.dims, axis=2)
        return self.node("MatMul", [weights, k], FLOAT, q.dims)

    def causal(self, scores, q, k):
        rows, columns = self.range_of(q, 1), self.range_of(k, 1)
        rows = self.node("Unsqueeze", [rows, self.constant([1])], INT, (q.dims[1], 1))
        seen = self.node("LessOrEqual", [columns, rows], BOOL, (q.dims[1], k.dims[1]))
        low = self.constant(np.float32(self.rng.choice([-np.inf, -1e9])))
        return self.node("Where", [seen, scores, low], FLOAT, scores.dims)

    def least(self, label):
        """The least extent that a label is known to have. No window may exceed its axis: what that means is
        open, and runtimes differ."""
        if label in self.ranges:
            return self.ranges[label][0]
        return label if isinstance(label, int) else self.free.get(label, 1)

    def step_conv(self):
        v = self.pick(lambda v: len(v.dims) == 3 and v.dims[2] == WIDTH)
        if not v:
            return None
        pads, stride = self.rng.choice([[1, 1], [0, 0], [2, 0], [0, 1]]), self.rng.choice([1, 1, 2])
        if self.least(v.dims[1]) + sum(pads) < 3:
            return None
        label = v.dims[1] if pads == [1, 1] and stride == 1 else f"conv{pads}{stride}({v.dims[1]})"
        dims, weight = (v.dims[0], WIDTH, label), self.normal(WIDTH, WIDTH, 3)
        y = self.node("Conv", [self.swapped(v), weight], FLOAT, dims, pads=pads, strides=[stride])
        return self.swapped(y)

    def step_pool(self):
        v = self.pick(lambda v: len(v.dims) == 3 and v.dims[1] != 1)
        if not v:
            return None
        operator, k, stride = self.rng.choice(["MaxPool", "AveragePool"]), 2, self.rng.choice([1, 2])
        pads = self.rng.choice([[0, 0], [1, 1], [1, 0], [0, 1]])
        if self.least(v.dims[1]) + sum(pads) < k:
            return None
        dims = (v.dims[0], v.dims[2], f"pool{pads}{stride}({v.dims[1]})")
        y = self.node(operator, [self.swapped(v)], FLOAT, dims, kernel_shape=[k], strides=[stride], pads=pads)
        return self.swapped(y)

    # --- movement -------------------------------------------------------------------------------------------

    def step_transpose(self):
        v = self.pick(lambda v: len(v.dims) > 1)
        order = list(range(len(v.dims))) if v else []
        self.rng.shuffle(order)
        return v and self.node("Transpose", [v], FLOAT, [v.dims[k] for k in order], perm=order)

    def step_concat(self):
        v = self.pick(lambda v: v.dims)
        if not v:
            return None
        axis = self.axis_of(v)
        w = self.pick(lambda w: self.without(w, axis, 1) == self.without(v, axis, 1) if w.dims else False)
        if not w:
            return None
        label = f"({v.dims[axis]}, {w.dims[axis]})"
        if self.cached and (v.dims[axis], w.dims[axis]) == ("p", "s"):
            label = self.total
        return self.node("Concat", [v, w], FLOAT, self.replaced(v, axis, label), axis=axis)

    def step_split(self):
        v = self.pick(lambda v: v.dims and v.dims[-1] == WIDTH)
        if not v:
            return None
        dims = (*v.dims[:-1], 2)
        return self.node("Split", [v, self.constant([2, 2])], FLOAT, dims, [(FLOAT, dims)], axis=-1)

    def step_slice(self):
        v = self.pick(lambda v: v.dims)
        if not v:
            return None
        axis = self.axis_of(v)
        begin, end = self.rng.choice([0, 0, 1, -2, -1]), self.rng.choice([1, 2, -1, 2**31 - 1, 2**31 - 1])
        step = self.rng.choice([1, 1, 1, 2])
        ends = [self.constant([k]) for k in (begin, end, axis, step)]
        label = f"slice{begin},{end},{step}({v.dims[axis]})"
        return self.node("Slice", [v, *ends], FLOAT, self.replaced(v, axis, label))

    def step_pad(self):
        v = self.pick(lambda v: v.dims)
        if not v:
            return None
        axis, (a, b) = self.axis_of(v), self.rng.choice([(0, 1), (1, 0), (1, 1)])
        pads = [0] * (2 * len(v.dims))
        pads[axis], pads[axis + len(v.dims)] = a, b
        value = self.constant(np.float32(self.rng.choice([0.0, 1.0])))
        dims = self.replaced(v, axis, f"pad{a},{b}({v.dims[axis]})")
        return self.node("Pad", [v, self.constant(pads), value], FLOAT, dims)

    def step_gather(self):
        v = self.pick(lambda v: v.dims)
        if not v:
            return None
        axis, index = self.axis_of(v), self.rng.choice([[0], [0, 0], [-1, 0]])
        dims = self.replaced(v, axis, len(index))
        return self.node("Gather", [v, self.constant(index)], FLOAT, dims, axis=axis)

    def step_tile(self):
        v = self.pick(lambda v: v.dims)
        if not v:
            return None
        axis = self.axis_of(v)
        counts = [2 if k == axis else 1 for k in range(len(v.dims))]
        return self.node(
            "Tile", [v, self.constant(counts)], FLOAT, self.replaced(v, axis, f"2 x {v.dims[axis]}")
        )

    def step_merge(self):
        """Two leading axes become one, by a constant or by computed extents, and may be split again."""
        v = self.pick(lambda v: len(v.dims) == 3 and v.dims[2] == WIDTH)
        if not v:
            return None
        computed = self.rng.random() < 0.6
        a, b = (self.extent_of(v, k) for k in (0, 1)) if computed else (None, None)
        if computed:
            n = self.node("Mul", [a, b], INT, (1,))
            target = self.node("Concat", [n, self.constant([WIDTH])], INT, (2,), axis=0)
        else:
            target = self.constant([-1, WIDTH])
        y = self.node("Reshape", [v, target], FLOAT, (f"{v.dims[0]} x {v.dims[1]}", WIDTH))
        if self.rng.random() < 0.7:
            y = self.node("MatMul", [y, self.normal(WIDTH, WIDTH)], FLOAT, y.dims)
        if self.rng.random() < 0.3:
            return y
        if computed:
            target = self.node("Concat", [a, b, self.constant([WIDTH])], INT, (3,), axis=0)
            return self.node("Reshape", [y, target], FLOAT, v.dims)
        target = self.rng.choice([[2, -1, WIDTH], [-1, 2, 2], [1, -1, WIDTH]])
        dims = tuple(f"merged{y.dims[0]}{target}" if n == -1 else n for n in target)
        return self.node("Reshape", [y, self.constant(target)], FLOAT, dims)

    def step_heads(self):
        v = self.pick(lambda v: len(v.dims) == 3 and v.dims[2] == WIDTH)
        if not v:
            return None
        y = self.node("Reshape", [v, self.constant([0, 0, 2, 2])], FLOAT, (*v.dims[:2], 2, 2))
        y = self.node("Transpose", [y], FLOAT, (v.dims[0], 2, v.dims[1], 2), perm=[0, 2, 1, 3])
        y = self.node("Softmax", [y], FLOAT, y.dims, axis=3)
        y = self.node("Transpose", [y], FLOAT, (*v.dims[:2], 2, 2), perm=[0, 2, 1, 3])
        return self.node("Reshape", [y, self.constant([0, 0, WIDTH])], FLOAT, v.dims)

    def step_triangle(self):
        v = self.pick(lambda v: len(v.dims) > 1)
        return v and self.node("Trilu", [v], FLOAT, v.dims, upper=self.rng.randint(0, 1))
