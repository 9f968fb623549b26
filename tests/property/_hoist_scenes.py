"""Scenes of _hoist_graphs.py: what is built around a value so that a hoisting move applies, or just fails to.

A recipe is an elementwise operator with its operands, to be put on several branches: recipe(v, j) adds it to
branch j's value v. `spoil` changes one thing of one branch: another attribute or operator, a second use, an
operand where no move may put it.
"""

import itertools

import numpy as np
from onnx import helper

from _hoist_by_hand import ByHand
from _hoist_computed import Computed
from _hoist_dims import (
    BOOL,
    F16,
    F32,
    F64,
    I8,
    I32,
    I64,
    ONE,
    U8,
    Unwritable,
    data,
    elements,
    onnx_type,
    product,
)
from _hoist_ways import Ways

# float16: only operators that neither round nor choose. ONNX Runtime computes most in float32, leaves out the
# rounding to float16 between two of them when it finds no more than one node there, and then has other
# kernels work on that node (Max of +0 and -0 differs): its results depend on the graph around an operator.
UNARY = {
    "f": "Abs Acos Asin Atan Ceil Cos Cosh Elu Erf Exp Floor HardSigmoid LeakyRelu Log Neg Neg Reciprocal Relu Relu Round Selu Shrink Sigmoid "
    "Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh ThresholdedRelu Identity".split(),
    "d": "Abs Ceil Cos Exp Floor Log Neg Reciprocal Relu Round Sigmoid Sign Sin Sqrt Tanh".split(),
    "e": ["Abs", "Neg", "Neg"],
    "i": ["Abs", "Neg", "Sign"],
    "l": ["Abs", "Neg", "Sign"],
    "?": ["Not"],
}
ALPHA = {
    "LeakyRelu": [0.01, 0.2],
    "Elu": [1.0, 0.5],
    "HardSigmoid": [0.2, 0.3],
    "ThresholdedRelu": [1.0, 0.5],
    "Celu": [1.0, 0.5],
}
BINARY = {
    "f": ["Add", "Add", "Mul", "Mul", "Sub", "Div", "Max", "Min", "Pow", "PRelu", "Mod"],
    "i": ["Add", "Mul", "Sub", "Max", "Min"],
    "?": ["And", "Or", "Xor"],
}


class Scenes(ByHand, Computed, Ways):
    def scene(self):
        rng = self.rng
        kinds = [
            (self.merge, 5),
            (self.parted, 5),
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
            (self.way, 6),
            (self.ways_joined, 2),
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

    # --- operands and recipes -------------------------------------------------------------------------------

    def array(self, dtype, shape, plain=False):
        return data(
            self.rng,
            dtype,
            shape,
            "plain" if plain else self.rng.choice(["plain", "plain", "small", "special"]),
        )

    def masked(self, shape):
        """A shape that broadcasts to `shape`: some dims full, others 1, leading ones left out. Only static
        dims as numbers."""
        rng = self.rng
        keep = rng.choice([0.0, 0.3, 0.5, 1.0])
        out = [d if not d[1] and rng.random() < keep else ONE for d in shape]
        if rng.random() < 0.6:
            while out and out[0] == ONE:
                out.pop(0)
        if rng.random() < 0.05 and len(out) == len(shape) < 6:
            out.insert(0, ONE)  # more ones than the other operand has dims
        return out

    def operand(self, v, kind):
        """A second operand for v's shape: constant, overridable or at run time, of a partial form."""
        rng, dtype = self.rng, v.dtype
        if kind == "runtime":

            def fits(w):
                return (
                    w.dtype == dtype
                    and w.name != v.name
                    and w.rank <= v.rank
                    and all(a in (b, ONE) for a, b in zip(w.shape[::-1], v.shape[::-1]))
                )

            w = self.pick(fits) if rng.random() < 0.7 else None
            if w is not None:
                return w
            if len(self.inputs) < 5:
                return self.input(
                    dtype, [d if rng.random() < 0.6 else ONE for d in v.shape[rng.randint(0, v.rank) :]]
                )
        shape = [d[0] for d in self.masked(v.shape)]
        if kind == "default" and self.scope.depth == 0:
            return self.overridable(self.array(dtype, shape, True))
        return self.constant(self.array(dtype, shape))

    def unary(self, dtype):
        rng = self.rng
        ops = UNARY[dtype.char if dtype.char in "fde?" else "i" if dtype.kind == "i" else "?"]
        more = (
            (["HardSwish"] if self.opset >= 14 else [])
            + (["Celu"] if self.opset >= 12 else [])
            + (["Mish"] if self.opset >= 18 else [])
            + (["Gelu"] if self.opset >= 20 else [])
        )
        op = rng.choice(ops + (more if dtype == F32 else []))
        attrs = {}
        if op in ALPHA and rng.random() < 0.7:
            attrs["alpha"] = rng.choice(ALPHA[op])
        return op, attrs

    def recipe(self, dtype, spoil=False):
        """(function of (value, branch), whether it keeps the type)"""
        rng = self.rng
        odd = rng.randint(0, 2) if spoil else -1  # the branch that differs
        kind = rng.random()
        if dtype == BOOL or kind < 0.35:
            op, attrs = self.unary(dtype)
            other = self.unary(dtype)

            def plain(v, j):
                o, a = other if j == odd else (op, attrs)
                if j != odd and a and a["alpha"] == ALPHA[o][0] and rng.random() < 0.5:
                    a = {}  # a default left out on one branch is still the same attribute
                return self.add(o, [v], (dtype, v.shape), **a)

            return plain
        if kind < 0.65:
            return self.binary(dtype, odd)
        return self.composite(dtype, odd)

    def binary(self, dtype, odd):
        rng = self.rng
        if dtype == F16:
            return self.composite(dtype, odd)
        op = rng.choice(BINARY["f" if dtype.kind == "f" else "i"])
        if self.opset < 12 and dtype != F32 and op in ("Max", "Min"):
            op = "Mul"
        if dtype == F64 and op in ("PRelu", "Mod"):
            op = "Mul"
        style = rng.choice(["same", "same", "each", "each", "runtime", "runtime each", "default", "equal"])
        first = op not in ("PRelu", "Mod") and rng.random() < 0.3
        saved = {}

        def two(v, j):
            if op in ("PRelu", "Mod") or style == "each":
                shape = [d[0] for d in self.masked(v.shape)]
                shape = shape[max(0, len(shape) - v.rank) :]
                if style == "each" or "w" not in saved or saved["for"] != v.shape:
                    saved.update({"w": self.constant(self.array(dtype, shape)), "for": v.shape})
                w = saved["w"]
            elif style == "runtime each":
                w = self.operand(v, "runtime")
            else:
                if saved.get("for") != v.shape:
                    saved.update(
                        {
                            "w": self.operand(v, style if style in ("runtime", "default") else "constant"),
                            "for": v.shape,
                        }
                    )
                w = saved["w"]
                if style == "equal" and j:  # equal bytes, another value
                    if "bytes" not in saved or saved["bytes"][0] != v.shape:
                        saved["bytes"] = (v.shape, self.array(dtype, [d[0] for d in self.masked(v.shape)]))
                    w = self.constant(saved["bytes"][1])
            ins = [w, v] if first != (j == odd) and op not in ("PRelu", "Mod") else [v, w]
            long = v.shape if len(w.shape) <= v.rank else (ONE,) * (len(w.shape) - v.rank) + v.shape
            return self.add(op, ins, (dtype, long), fmod=1 if op == "Mod" else None)

        return two

    def composite(self, dtype, odd):
        """Recipes of several nodes, or with operands of their own kind."""
        rng, float32 = self.rng, dtype == F32
        half, low, high = (np.array(x, dtype) for x in (1 if dtype.kind in "iu" else 0.5, -1, 2))
        choice = rng.choice(
            [
                "silu",
                "gelu",
                "clip",
                "where",
                "cast",
                "compare",
                "zeros",
                "sum",
                "qdq",
                "qdq axis",
                "norm",
                "pow",
                "clip absent",
                "relu6",
                "bits",
                "test",
            ]
        )
        if dtype.kind != "f" or dtype == F16:
            choice = rng.choice(
                ["where", "cast", "compare", "bits", "zeros"] if dtype.kind != "f" else ["where", "cast"]
            )
        if not float32 and choice in ("gelu", "qdq", "qdq axis", "norm", "test"):
            choice = "silu"
        if (
            self.opset < 12 and not float32 and choice in ("clip", "clip absent", "relu6", "zeros")
        ):  # no kernels
            choice = "where"
        mixed = rng.random() < 0.5
        shared = {}

        def once(key, array):
            if key not in shared or mixed:
                shared[key] = self.constant(array)
            return shared[key]

        def out(op, ins, shape, result=dtype, **attrs):
            return self.add(op, ins, (result, shape), **attrs)

        def apply(v, j):
            s, odd_one = v.shape, j == odd
            if choice == "silu":
                g = out("Sigmoid", [v], s)
                return out("Mul", [g, v] if odd_one or mixed and j % 2 else [v, g], s)
            if choice == "gelu":
                e = out("Erf", [out("Div", [v, once("r", np.array(1.4142135, dtype))], s)], s)
                return out(
                    "Mul",
                    [out("Mul", [v, out("Add", [e, once("1", np.array(1, dtype))], s)], s), once("h", half)],
                    s,
                )
            if choice == "clip":
                return out(
                    "Clip", [v, once("l", low), once("u", high if not odd_one else np.array(1.5, dtype))], s
                )
            if choice == "clip absent":
                return out("Clip", [v, None, once("u", high)] if not odd_one else [v, once("l", low)], s)
            if choice == "relu6":
                return out(
                    "Div",
                    [
                        out(
                            "Mul",
                            [
                                v,
                                out(
                                    "Clip",
                                    [
                                        out("Add", [v, once("3", np.array(3, dtype))], s),
                                        once("0", np.array(0, dtype)),
                                        once("6", np.array(6, dtype)),
                                    ],
                                    s,
                                ),
                            ],
                            s,
                        ),
                        once("6b", np.array(6, dtype)),
                    ],
                    s,
                )
            if choice == "where":
                if shared.get("for") != s:
                    flags = self.pick(lambda w: w.dtype == BOOL and w.shape == s)
                    shared["for"], shared["c"] = (
                        s,
                        flags
                        or self.constant(
                            self.array(BOOL, [d[0] for d in self.masked(s)][-len(s) :] if s else [])
                        ),
                    )
                z = once("z", np.array(0, dtype))
                return out("Where", [shared["c"], z, v] if odd_one else [shared["c"], v, z], s)
            if choice == "cast":
                # An integer may be beyond float16: what comes back would have to be rounded.
                via = (
                    rng.choice([F64, I32, F32] if not mixed and dtype != F16 else [F64])
                    if dtype.kind == "f"
                    else F64
                    if mixed
                    else F32
                )
                via = shared.setdefault("via", via)
                return out("Cast", [out("Cast", [v], s, via, to=onnx_type(via))], s, to=onnx_type(dtype))
            if choice == "compare":
                op = shared.setdefault(
                    "op",
                    rng.choice(
                        ["Greater", "Less", "Equal"]
                        if self.opset < 12
                        else ["Greater", "Less", "Equal", "GreaterOrEqual", "LessOrEqual"]
                    ),
                )
                c = out(op, [v, once("t", half)] if not odd_one else [once("t2", half), v], s, BOOL)
                if rng.random() < 0.5:
                    c = out("Not", [c], s, BOOL)
                return (
                    out("Where", [c, v, once("n", np.array(2, dtype))], s)
                    if mixed
                    else out("Cast", [c], s, to=onnx_type(dtype))
                )
            if choice == "zeros":  # the sign of a zero tells operand order and place
                z = np.array(rng.choice([0.0, -0.0]) if dtype.kind == "f" else 0, dtype)
                op = shared.setdefault("op", rng.choice(["Max", "Min"]))
                return out(op, [v, once("z", z)] if not odd_one else [once("z2", z), v], s)
            if choice == "sum":
                w = self.operand(v, "runtime")
                op = shared.setdefault(
                    "op", rng.choice(["Sum", "Mean", "Max", "Min"] if float32 else ["Sum", "Max"])
                )
                if len(w.shape) > len(s):
                    return out("Neg", [v], s)
                return out(op, [v, w, once("c", half)] if not odd_one else [once("c", half), w, v], s)
            if choice == "qdq":
                scale, zero = once("s", np.array(0.05, F32)), once("p", np.array(3, U8))
                q = out("QuantizeLinear", [v, scale, zero], s, U8)
                return out(
                    "DequantizeLinear", [q, scale, once("p2", np.array(3 if not odd_one else 4, U8))], s
                )
            if choice == "qdq axis":
                axes = [k for k, d in enumerate(s) if not d[1] and d[0] > 1] if self.opset >= 13 else []
                if not axes:
                    return out("Abs", [v], s)
                axis = rng.choice(axes)
                n = s[axis][0]
                scale, zero = (
                    self.constant(np.linspace(0.05, 0.2, n).astype(F32)),
                    self.constant(np.arange(n).astype(I8)),
                )
                q = out("QuantizeLinear", [v, scale, zero], s, I8, axis=axis - (len(s) if mixed else 0))
                return out("DequantizeLinear", [q, scale, zero], s, axis=axis)
            if choice == "norm":
                if len(s) < 2 or s[1][1]:
                    return out("Neg", [v], s)
                n = s[1][0]
                pars = [self.constant(np.abs(self.array(F32, [n], True)) + 0.5) for _ in range(4)]
                return out("BatchNormalization", [v, *pars], s)
            if choice == "pow":
                return out("Pow", [v, once("e", np.array(rng.choice([2.0, 3.0, 0.5, -1.0]), dtype))], s)
            if choice == "bits":
                return out("Sub", [out("Mul", [v, v], s), once("b", half)], s)
            nan = out(shared.setdefault("op", rng.choice(["IsNaN", "IsInf"])), [v], s, BOOL)
            return out("Where", [nan, once("n", np.array(1, dtype)), v], s)

        return apply

    def chain(self, dtype, spoil=False):
        """One to three recipes in a row."""
        steps = [
            self.recipe(dtype, spoil and self.rng.random() < 0.6)
            for _ in range(self.rng.choice([1, 1, 2, 2, 3]))
        ]

        def apply(v, j):
            for s in steps:
                v = s(v, j)
                if self.rng.random() < 0.15:
                    v = self.deform(v)
            return v

        return apply

    def as_shape(self, v, shape):
        return v if tuple(v.shape) == tuple(shape) else self.deform(v, shape)

    # --- scenes ---------------------------------------------------------------------------------------------

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

    def cut(self, v, axis, even=None):
        """Split along an axis, written in one of its ways; None where the extent cannot be cut."""
        rng, (c, symbols) = self.rng, v.shape[axis]
        if c < 2:
            return None
        n = rng.choice([q for q in (2, 3, 4) if c % q == 0] or [0])
        if symbols:
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

    def parted(self, v):
        """E behind all (or all but one) of the outputs of a Split; joined again sometimes."""
        rng = self.rng
        axes = [k for k, d in enumerate(v.shape) if d[0] >= 2]
        if not axes:
            return self.single(v)
        axis = rng.choice(axes)
        pieces = self.cut(v, axis)
        if pieces is None:
            return self.single(v)
        spoil = rng.random() < 0.3
        e, outs = self.chain(v.dtype, spoil), []
        for j, w in enumerate(pieces):
            if spoil and rng.random() < 0.2:
                outs.append(w)
                continue
            x = self.deform(w) if rng.random() < 0.3 else w
            outs.append(e(x, j))
        if rng.random() < 0.4 and all(product(o.shape) == product(w.shape) for o, w in zip(outs, pieces)):
            self.concat([self.as_shape(o, w.shape) for o, w in zip(outs, pieces)], axis)

    def nested(self, v):
        """Split of Split, Concat of Concat, on one axis or two."""
        axes = [k for k, d in enumerate(v.shape) if d[0] >= 4]
        if not axes:
            return self.merge(v)
        axis = self.rng.choice(axes)
        pieces = self.cut(v, axis, True)
        if not pieces:
            return self.parted(v)
        e, flat = self.chain(v.dtype), []
        for j, w in enumerate(pieces):
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
        """Two values that meet in an elementwise operator behind deformations."""
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
        """The same D or T (on most) in front of a Concat."""
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
        pieces = self.cut(v, self.rng.choice(axes), True) if axes else None
        if not pieces:
            return self.turned(v)
        target = None
        perm = list(range(v.rank))
        self.rng.shuffle(perm)
        turn = self.rng.random() < 0.4
        for w in pieces:
            if turn:
                self.transpose(w, perm)
            else:
                target = target or self.target(w.shape)
                self.as_shape(w, target)

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
        """One value on all branches, beside constants that differ; mostly with nothing but ones in front of
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
        before, behind, outs = self.recipe(v.dtype), self.recipe(v.dtype), []
        for j in range(rng.choice([2, 2, 3])):
            w = before(v, j) if around[0] else v
            shape = [d[0] for d in self.masked(w.shape)]
            c = self.constant(self.array(w.dtype, shape[max(0, len(shape) - w.rank) :]))
            w = self.add(op, [c, w] if first else [w, c], (w.dtype, w.shape)) if w.dtype == v.dtype else w
            w = behind(w, j) if around[1] and w.dtype == v.dtype else w
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
