"""Recipes of _hoist_graphs.py: what is put on the branches of a scene.

A recipe is an elementwise operator with its operands, to be put on several branches: recipe(v, j) adds it to
branch j's value v. `spoil` changes one thing of one branch: another attribute or operator, a second use, an
operand where no move may put it.
"""

import numpy as np

from _hoist_dims import BOOL, F16, F32, F64, I8, I32, ONE, U8, data, onnx_type

# float16: only operators that neither round nor choose. ONNX Runtime computes most in float32, leaves out the
# rounding to float16 between two of them when it finds no more than one node there, and then has other
# kernels work on that node (Max of +0 and -0 differs): its results depend on the graph around an operator.
UNARY = {
    "f": "Abs Acos Asin Atan Ceil Cos Cosh Elu Erf Exp Floor HardSigmoid LeakyRelu Log Neg Neg Reciprocal "
    "Relu Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Tan Tanh ThresholdedRelu "
    "Identity".split(),
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


class Recipes:
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
