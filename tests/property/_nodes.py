"""The operators of random graphs: each method adds one valid node, or a few, or does nothing when no operand
fits. They stand in a class per subject; here are the choice among them and what computes along axes."""

import numpy as np

from _nodes_elementwise import Elementwise
from _nodes_movement import Movement
from _nodes_shapes import Shapes
from _values import F32, I64, data


class Nodes(Elementwise, Shapes, Movement):
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
