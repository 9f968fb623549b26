"""Cases of lowered.py for elementwise operators."""

import numpy as np
from _lowered_case import UNIT, single
from onnx import helper

N = {"x": ("float", [3, "n", 16])}
SIZES = [{"n": 5}, {"n": 1}, {"n": 0}]


def magnitude(feed):
    return np.abs(feed["x"].astype(np.float64))


def relative(factor):
    """factor u |x|, and half of the least number."""
    return lambda feed, _, y: factor * UNIT * magnitude(feed) + 2.0**-149


def cases(data):
    node = helper.make_node

    def of(op, takes, expansion, opset, bound=None, inputs=N, **more):
        attributes = more.pop("attributes", {})
        operands = more.pop("operands", ["x"])
        domain = more.get("domains", [""])[0]
        return single(
            data,
            f"{op} {attributes or ''}",
            node(op, operands, ["y"], domain=domain, **attributes),
            inputs,
            takes,
            expansion,
            opset=opset,
            bound=bound,
            sizes=SIZES,
            **more,
        )

    for opset in (14, 22):
        yield of("HardSwish", ["HardSigmoid", "Mul"], "hard-swish", opset)
    for at in ({}, {"alpha": 1 / 6, "beta": 0.5}, {"alpha": 3.0, "beta": -2.0}, {"alpha": -0.5}):
        alpha, beta = at.get("alpha", 0.2), at.get("beta", 0.5)

        def hard(feed, _, y, alpha=alpha, beta=beta):
            return 4 * UNIT * (1 + np.abs(alpha * magnitude(feed)) + abs(beta))

        for opset in (7, 11, 13, 22):
            yield of("HardSigmoid", ["Mul", "Add", "Clip"], "hard-sigmoid", opset, hard, attributes=at)
    for how in ("none", "tanh"):
        takes = ["Mul", "Add", "Erf" if how == "none" else "Tanh"]
        yield of("Gelu", takes, "gelu", 20, relative(32), attributes={"approximate": how})
    for at in ({}, {"alpha": 1.702}, {"alpha": -0.5}):
        yield of("Swish", ["Mul", "Sigmoid"], "swish", 24, relative(32), attributes=at)
    for opset in (18, 22):
        yield of("Mish", ["Mul", "Softplus", "Tanh"], "mish", opset, relative(32))
        # A chain of two expansions.
        soft = ["Mul", "Tanh", "Abs", "Neg", "Exp", "Log", "Add", "Relu"]
        yield of("Mish", soft, "mish", opset, relative(32))

    def soft_bound(feed, _, y):
        return 8 * UNIT * (1 + magnitude(feed))

    for opset in (1, 7, 13, 22):
        takes = ["Abs", "Neg", "Exp", "Log", "Add", "Relu"]
        if opset > 6:
            yield of("Softplus", takes, "softplus", opset, soft_bound)
    for dtype in ("float", "double", "int32", "int64"):
        for opset in (7, 13):
            yield of("Neg", ["Mul"], "neg", opset, inputs={"x": (dtype, N["x"][1])})
    for dtype in ("float", "double"):
        for opset in (7, 13):
            yield of("Reciprocal", ["Div"], "reciprocal", opset, inputs={"x": (dtype, N["x"][1])})

    def zero_bound(feed, _, y):
        return np.zeros(())

    for low, high in ((-1.0, 1.0), (0.0, 6.0), (None, 2.5), (-2.5, None), (3.0, -3.0), (-0.0, 0.0)):
        bounds = {k: np.float32(v) for k, v in (("low", low), ("high", high)) if v is not None}
        operands = ["x", "low" if low is not None else "", *(["high"] if high is not None else [])]
        for opset in (11, 12, 13):
            yield of("Clip", ["Min", "Max"], "clip", opset, zero_bound, operands=operands, constants=bounds)

    # Each exponent of both signs with some fractions, and the specials.
    def erf_bound(feed, _, y):
        return np.full((), 8 * UNIT)

    takes = ["Mul", "Add", "Tanh"]
    for opset in (9, 13):
        yield of("Erf", takes, "erf-tanh", opset, erf_bound)
    case = of("Erf", takes, "erf-tanh", 13, erf_bound, inputs={"x": ("float", ["n"])})
    fractions = np.concatenate([np.arange(8), data.integers(0, 1 << 23, 56)]).astype(np.uint32)
    bits = (np.arange(512, dtype=np.uint32)[:, None] << 23) | fractions
    dense = np.linspace(-4.7, 4.7, 30000, dtype=np.float32)
    case.feeds = [{"x": bits.reshape(-1).view(np.float32)}, {"x": dense}]
    yield case
    # Within Gelu.
    yield of("Gelu", takes, "gelu", 20, relative(32), attributes={"approximate": "none"})

    ms = {"domains": ["com.microsoft"]}
    bias = {"b": data.standard_normal(16).astype(np.float32)}

    def biased(feed, _, y):
        return 32 * UNIT * (magnitude(feed) + np.abs(bias["b"])) + 2.0**-149

    for opset in (13, 20):
        for op, name, inner in (
            ("Gelu", "ms-gelu", ["Erf"]),
            ("BiasGelu", "bias-gelu", ["Erf"]),
            ("FastGelu", "fast-gelu", ["Tanh"]),
        ):
            takes = ["Mul", "Add", *inner]
            more = {"operands": ["x", "b"], "constants": bias} if op != "Gelu" else {}
            yield of(op, takes, name, opset, biased if more else relative(32), **ms, **more)
        yield of("FastGelu", ["Mul", "Add", "Tanh"], "fast-gelu", opset, relative(32), **ms)
    for at in ({}, {"alpha": 1.0}, {"alpha": -2.0}):
        yield of("QuickGelu", ["Mul", "Sigmoid"], "quick-gelu", 17, relative(32), attributes=at, **ms)

    # What stays.
    yield of("Erf", takes, None, 13, options=("--exact",))
    yield of("HardSigmoid", ["Mul", "Add", "Clip"], None, 6)
    yield of("Neg", ["Mul"], None, 6)
    half = {"x": ("float16", N["x"][1])}
    yield of("HardSwish", ["HardSigmoid", "Mul"], None, 14, inputs=half)
    yield of("Gelu", ["Mul", "Add", "Erf"], None, 20, inputs=half)
    yield of(
        "Clip", ["Min", "Max"], None, 13, operands=["x", "low"], constants={"low": np.float16(0)}, inputs=half
    )
    yield of("Clip", ["Min", "Max"], None, 13, operands=["x", "low"], constants={"low": np.float32("nan")})
    yield of("Clip", ["Min", "Max"], None, 10, attributes={"min": -0.5, "max": 0.5})
    yield of("Gelu", ["Mul", "Add"], None, 20)  # of which the device lacks one
    yield of("Gelu", ["Mul", "Add", "Erf"], None, 20, options=("--exact",))
    yield of("Softplus", ["Abs", "Neg", "Exp", "Log", "Add", "Relu"], None, 13, options=("-O1",))
    yield of("HardSwish", ["HardSigmoid", "Mul"], "hard-swish", 14, options=("-O1",))
    yield of("HardSwish", ["HardSigmoid", "Mul"], None, 14, options=("-O0",))
    yield of("HardSwish", ["HardSigmoid", "Mul"], None, 14, options=("--lower=never",))
