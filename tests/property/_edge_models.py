"""Small models whose padding may stand at the edges of a type (bucket_edges.py): each operator with a rule
for padding in the types that it takes and with the attributes that matter, and random chains of them.

A model is a text, in which s and b are padded. Every floating value of a chain is [s, 4].
"""

import numpy as np

TYPES = {"float": 1, "float16": 10, "double": 11}
EIGHT = ("float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz")
OPSET = {"": 21, "com.microsoft": 1}
ALWAYS = ("narrowed", "large", "summed")  # what names of models begin with that the short form takes, too
# Operators that add or multiply values of which no bound is known: that this stays finite is assumed, so that
# their operands are no larger than "large" elements (lib/padding.py).
SUMS = """MatMul Gemm Einsum Conv ConvTranspose LayerNormalization InstanceNormalization
    GroupNormalization LRN RMSNormalization SimplifiedLayerNormalization SkipLayerNormalization
    SkipSimplifiedLayerNormalization EmbedLayerNormalization BatchNormalization
    MeanVarianceNormalization LpNormalization LSTM GRU RNN Attention RotaryEmbedding ReduceSum
    ReduceMean ReduceSumSquare ReduceL1 ReduceL2 ReduceProd ReduceLogSum ReduceLogSumExp CumSum
    CumProd GridSample Resize Upsample AveragePool LpPool GlobalAveragePool GlobalLpPool BiasGelu
    FastGelu ScatterElements ScatterND Scatter SoftmaxCrossEntropyLoss NegativeLogLikelihoodLoss
    MatMulNBits DFT Det Col2Im""".split()
# The same, unless all of their operands are padded or constant.
ARITHMETIC = "Add Sub Mul Div Sum Mean Pow PRelu Mod Min Max Clip".split()


def text(body, inputs, outputs="float[p,q] y", constants=(), opset=None):
    imports = ", ".join(f'"{d}": {v}' for d, v in {**OPSET, **({"": opset} if opset else {})}.items())
    given = f" <{', '.join(constants)}>" if constants else ""
    return f"<ir_version: 10, opset_import: [{imports}]>\ng ({inputs}) => ({outputs}){given} {{\n{body}\n}}"


def reals(name, values, kind="float", dims=None):
    """A constant; texts have the bits of a float16."""
    dims = [len(values)] if dims is None else dims
    if kind == "float16":
        values = np.array(values, np.float16).view(np.uint16)
    shape = f"[{','.join(map(str, dims))}]" if dims else ""
    return f"{kind}{shape} {name} = {{{', '.join(str(v) for v in values)}}}"


# ---- single nodes ------------------------------------------------------------------------------------------

UNARY = """Abs Neg Relu Sigmoid Tanh Exp Log Sqrt Reciprocal Erf Sin Cos Atan Asinh Sinh Cosh Softplus
    Softsign Floor Ceil Round Sign HardSwish Mish Celu Celu<alpha=-1.0> Celu<alpha=0.0> Celu<alpha=0.001> Elu
    Elu<alpha=-3.0> Selu Selu<gamma=-2.0> LeakyRelu LeakyRelu<alpha=-9.0> HardSigmoid HardSigmoid<alpha=-5.0>
    Gelu Gelu<approximate="tanh"> ThresholdedRelu ThresholdedRelu<alpha=-1.0> Shrink Shrink<bias=5.0>
    Identity Softmax LogSoftmax Hardmax""".split()
CONTRIB_UNARY = ("Gelu", "QuickGelu", "QuickGelu<alpha=-2.0>", "FastGelu")
POWERS = (-2.0, -0.5, 0.5, 1.5, 2.0, 3.0, 4.0, 5.0, 20.0)
NUMBERS = (0.0, 1.0, -1.0, 0.5, 2.0, -3.5, 1e-7, 100.0, 1e30, -3e38)


def operation(op, *operands):
    name, _, attributes = op.partition("<")
    return f"{name} {'<' + attributes if attributes else ''} ({', '.join(operands)})"


def unary_models():
    for kind in TYPES:
        for op in UNARY:
            yield f"{op} {kind}", text(f"y = {operation(op, 'x')}", f"{kind}[s,4] x", f"{kind}[p,q] y")
        for e in POWERS:
            body, c = "y = Pow (x, e)", [f"float e = {{{e}}}"]
            yield f"Pow {e} {kind}", text(body, f"{kind}[s,4] x", f"{kind}[p,q] y", c)
        for op in ("Add", "Sub", "Mul", "Div", "Max", "Min", "Mean", "Sum"):
            body = f"y = {op} (x, z)"
            yield f"{op} {kind}", text(body, f"{kind}[s,4] x, {kind}[s,4] z", f"{kind}[p,q] y")
        body = "y = Clip (x, low, high)"
        inputs = f"{kind}[s,4] x, {kind} low, {kind} high"
        yield f"Clip {kind}", text(body, inputs, f"{kind}[p,q] y")
        c = [reals("slope", [-3, 0, 2, 100], kind)]
        yield f"PRelu {kind}", text("y = PRelu (x, slope)", f"{kind}[s,4] x", f"{kind}[p,q] y", c)
    for op in CONTRIB_UNARY:
        yield f"ms {op}", text(f"y = com.microsoft.{operation(op, 'x')}", "float[s,4] x")


def cast_models():
    """Casts in front of a cast to float, so that results of types that numpy lacks are seen, too."""
    numbers = [*TYPES, "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64"]
    codes = {"uint8": 2, "int8": 3, "int16": 5, "int32": 6, "int64": 7, "uint32": 12, "uint64": 13, **TYPES}
    for a in numbers:
        for b, code in codes.items():
            body = f"c = Cast <to = {code}> (x)\ny = Cast <to = 11> (c)"
            yield f"Cast {a} {b}", text(body, f"{a}[s,4] x", "double[p,q] y")
        if a in TYPES:
            for name, code in (("bfloat16", 16), *zip(EIGHT, (17, 18, 19, 20))):
                body = f"c = Cast <to = {code}> (x)\nd = Cast <to = 1> (c)\ny = Identity (d)"
                yield f"Cast {a} {name}", text(body, f"{a}[s,4] x")


def quantize_models():
    for scale in (0.5, 0.0, 1e-30, 3e38):
        for kind in (*EIGHT, "uint8", "int8", "uint16", "int16", "uint4", "int4"):
            for saturate in (0, 1) if kind in EIGHT else (1,):
                attribute = f"<saturate = {saturate}> " if kind in EIGHT else ""
                zero = 0 if kind in EIGHT else 3
                body = f"q = QuantizeLinear {attribute}(x, k, z)\nd = DequantizeLinear (q, k, z)"
                body += "\ny = Identity (d)"
                c = [f"float k = {{{scale}}}", f"{kind} z = {{{zero}}}"]
                yield f"QuantizeLinear {kind} {saturate} {scale}", text(body, "float[s,4] x", constants=c)
        for kind in ("uint8", "int8", "int16", "uint16", "int32"):
            for to in ("float", "float16"):
                if to == "float16" and not 1e-6 < scale < 6e4:
                    continue
                zero = [] if kind == "int32" else [f"{kind} z = {{3}}"]
                body = f"y = DequantizeLinear (x, k{', z' if zero else ''})"
                c = [reals("k", [scale], to, []), *zero]
                yield f"DequantizeLinear {kind} {to} {scale}", text(body, f"{kind}[s,4] x", f"{to}[p,q] y", c)


def integer_models():
    for kind in ("int8", "uint8", "int32", "int64", "uint64"):
        for op in ("Add", "Mul", "Sub", "Div", "Mod", "Max", 'BitShift<direction="LEFT">', "BitwiseXor"):
            if op.startswith("BitShift") and not kind.startswith("u"):
                continue
            body = f"y = {operation(op, 'x', 'z')}"
            yield f"{op} {kind}", text(body, f"{kind}[s,4] x, {kind}[s,4] z", f"{kind}[p,q] y")
            body, c = f"y = {operation(op, 'x', 'three')}", [f"{kind} three = {{3}}"]
            yield f"{op} 3 {kind}", text(body, f"{kind}[s,4] x", f"{kind}[p,q] y", c)
        for op in ("Abs", "Neg", "Sign"):
            if kind.startswith("u") and op == "Neg":
                continue
            yield f"{op} {kind}", text(f"y = {op} (x)", f"{kind}[s,4] x", f"{kind}[p,q] y")
    for e in ("int64", "float"):
        body = "y = Pow (x, e)"
        yield f"Pow int64 {e}", text(body, "int64[s,4] x", "int64[p,q] y", [f"{e} e = {{3}}"])


def ones(name, n, kind="float"):
    return reals(name, [1] * n, kind)


def norm_models():
    for e in (0.0, -1.0, 1e-12, 1e-5):
        at = f"<epsilon = {e}>"
        for kind in TYPES:
            c = [ones("k", 4, kind), ones("o", 4, kind)]
            ends = (f"{kind}[s,4] x", f"{kind}[p,q] y", c)
            yield f"LayerNormalization {e} {kind}", text(f"y = LayerNormalization {at} (x, k, o)", *ends)
            yield f"RMSNormalization {e} {kind}", text(f"y = RMSNormalization {at} (x, k)", *ends, opset=23)
            stash = f"<epsilon = {e}, stash_type = 10>"
            yield (
                f"RMSNormalization half {e} {kind}",
                text(f"y = RMSNormalization {stash} (x, k)", *ends, opset=23),
            )
        c = [ones("k", 4), ones("o", 4), "float[4] v = {0, 0, 1, 2}"]
        skip = "float[b,s,4] x, float[b,s,4] z"
        for op in ("SkipLayerNormalization", "SkipSimplifiedLayerNormalization"):
            body = f"y, , , t = com.microsoft.{op} {at} (x, z, k)"
            if "Simplified" not in op:
                body = f"y, , , t = com.microsoft.{op} {at} (x, z, k, o)"
            yield f"{op} {e}", text(body, skip, "float[p,q,r] y, float[p,q,r] t", c)
        body = f"y = SimplifiedLayerNormalization {at} (x, k)"
        yield f"SimplifiedLayerNormalization {e}", text(body, "float[s,4] x", constants=c)
        body = f"y = InstanceNormalization {at} (x, k, o)"
        yield f"InstanceNormalization {e}", text(body, "float[s,4,3] x", "float[p,q,r] y", c)
        body = f"y = GroupNormalization <epsilon = {e}, num_groups = 2> (x, k, o)"
        yield f"GroupNormalization {e}", text(body, "float[s,4,3] x", "float[p,q,r] y", c)
        body = f"y = BatchNormalization {at} (x, k, o, o, v)"
        yield f"BatchNormalization {e}", text(body, "float[s,4,3] x", "float[p,q,r] y", c)
        tables = [
            reals("t", [1, 2, 3, 5, 0, 0, 0, 0, 1, 1, 1, 1], dims=[3, 4]),
            reals("g", [0] * 32, dims=[8, 4]),
        ]
        body = f"y, n, e = com.microsoft.EmbedLayerNormalization {at} (w, , t, g, , k, o, m)"
        outputs = "float[p,q,r] y, int32[p] n, float[p,q,r] e"
        yield f"EmbedLayerNormalization {e}", text(body, "int32[b,s] w, int32[b,s] m", outputs, [*c, *tables])
    for alpha, beta, bias in (
        (1e-4, 0.75, 1.0),
        (1.0, 0.75, 1e-30),
        (1.0, 9.0, 1e-5),
        (-1.0, 0.75, 1.0),
        (1.0, -1.0, 1.0),
    ):
        body = f"y = LRN <size = 3, alpha = {alpha}, beta = {beta}, bias = {bias}> (x)"
        yield f"LRN {alpha} {beta} {bias}", text(body, "float[s,4,2,2] x", "float[p,q,r,t] y")
    for p in (1, 2):
        body = f"y = LpNormalization <p = {p}> (x)"
        yield f"LpNormalization {p}", text(body, "float[s,4] x")
    for p in (1, 2, 3, 9):
        for op in (f"LpPool <kernel_shape = [2], p = {p}>", f"GlobalLpPool <p = {p}>"):
            yield f"{op}", text(f"y = {op} (x)", "float[s,2,4] x", "float[p,q,r] y")
    for axis in ("MeanVarianceNormalization <axes = [1]>",):
        yield axis, text(f"y = {axis} (x)", "float[s,4] x")


def length_models():
    """Operators whose kernels check operands: lengths, positions, indices and classes."""
    for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        n = gates * 4
        for more in ("", ', activations = ["Relu"]' if op == "RNN" else ', direction = "reverse"'):
            c = [reals("w", [0.5] * n, dims=[1, gates * 2, 2]), reals("r", [0.9] * n, dims=[1, gates * 2, 2])]
            body = f"y, h = {op} <hidden_size = 2{more}> (x, w, r, , l)"
            inputs, outputs = "float[s,b,2] x, int32[b] l", "float[p,t,q,r] y, float[u,v,w] h"
            yield f"{op} lengths{more}", text(body, inputs, outputs, c)
    body = "y = ReverseSequence <time_axis = 1, batch_axis = 0> (x, l)"
    yield "ReverseSequence", text(body, "float[b,s] x, int64[b] l")
    weights = [reals("w", [0.1] * 48, dims=[4, 12]), reals("o", [0] * 12)]
    body = "y = com.microsoft.Attention <num_heads = 2> (x, w, o, lengths)"
    for rows, lengths in (("b,s", "b"), ("b,3", "b"), ("b,s", "b,s")):
        inputs = f"float[{rows},4] x, int32[{lengths}] lengths"
        yield f"ms Attention {inputs}", text(body, inputs, "float[p,q,r] y", weights)
    body = "y = Attention (q, k, v, , , , l)"
    inputs = "float[b,2,s,4] q, float[b,2,s,4] k, float[b,2,s,4] v, int64[b] l"
    yield "Attention lengths", text(body, inputs, "float[p,q,r,t] y", opset=24)
    body, inputs = "y = TensorScatter <axis = 1> (c, u, l)", "float[b,s,4] c, float[b,1,4] u, int64[b] l"
    yield "TensorScatter", text(body, inputs, "float[p,q,r] y", opset=24)
    body = "y = RotaryEmbedding (x, c, c, l)"
    c = [reals("c", [1] * 16, dims=[8, 2])]
    yield "RotaryEmbedding", text(body, "float[b,2,s,4] x, int64[b,s] l", "float[p,q,r,t] y", c, 23)
    table = [reals("t", [1, 2, 3, 4, 5, 6], dims=[3, 2])]
    yield "Gather", text("y = Gather (t, l)", "int64[b,s] l", "float[p,q,r] y", table)
    yield "Gather padded", text("y = Gather (x, l)", "float[s,2] x, int64[b] l", "float[p,q] y")
    yield "GatherElements", text("y = GatherElements (x, l)", "float[s,2] x, int64[b,2] l")
    yield "GatherND", text("y = GatherND (x, l)", "float[s,2] x, int64[b,1] l")
    yield "ScatterElements", text("y = ScatterElements (x, l, u)", "float[s,2] x, int64[b,2] l, float[b,2] u")
    one = ["int64 d = {4}", "float[2] v = {0, 1}"]
    for kind in ("int64", "int32", "float"):
        yield f"OneHot {kind}", text("y = OneHot (l, d, v)", f"{kind}[s] l", constants=one)
    for reduction in ("none", "mean", "sum"):
        body = f'y = SoftmaxCrossEntropyLoss <reduction = "{reduction}", ignore_index = -1> (x, l)'
        outputs = "float[p] y" if reduction == "none" else "float y"
        yield f"loss {reduction}", text(body, "float[b,4] x, int64[b] l", outputs)
    body = "y = NonZero (x)"
    yield "NonZero", text(body, "float[s] x", "int64[p,q] y")
    for mode in ("bilinear", "nearest"):
        mode = "linear" if mode == "bilinear" else mode
        body = f'y = GridSample <mode = "{mode}"> (x, g)'
        yield f"GridSample {mode}", text(body, "float[b,1,3,3] x, float[b,s,2,2] g", "float[p,q,r,t] y")


def movement_models():
    for k in ("2", "3"):
        for transform in ("half_pixel", "asymmetric", "pytorch_half_pixel", "align_corners"):
            for rounding in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
                attributes = f'nearest_mode = "{rounding}", coordinate_transformation_mode = "{transform}"'
                body, c = (
                    f'y = Resize <mode = "nearest", {attributes}> (x, , k)',
                    [f"float[2] k = {{1, {k}}}"],
                )
                yield f"Resize {k} {transform} {rounding}", text(body, "float[2,s] x", constants=c)
    for mode in ("linear", "cubic"):
        body, c = f'y = Resize <mode = "{mode}"> (x, , k)', ["float[4] k = {1, 1, 1, 2}"]
        yield f"Resize {mode}", text(body, "float[b,2,3,s] x", "float[p,q,r,t] y", c)
        yield f"Resize {mode} b", text(body, "float[b,s,3,5] x", "float[p,q,r,t] y", c)
    for kind in TYPES:
        for op in ("MaxPool <kernel_shape = [2]>", "AveragePool <kernel_shape = [2]>", "GlobalMaxPool"):
            yield f"{op} {kind}", text(f"y = {op} (x)", f"{kind}[b,2,s] x", f"{kind}[p,q,r] y")
        axis = ["int64[1] a = {1}"]
        for op in "Sum Mean Max Min Prod L1 L2 SumSquare LogSum LogSumExp".split():
            body = f"y = Reduce{op} (x, a)"
            yield f"Reduce{op} {kind}", text(body, f"{kind}[s,4] x", f"{kind}[p,q] y", axis)
        for op in ("ArgMax", "ArgMin"):
            yield f"{op} {kind}", text(f"y = {op} <axis = 1> (x)", f"{kind}[s,4] x", "int64[p,q] y")
        body, c = "y, i = TopK (x, k)", ["int64[1] k = {2}"]
        yield f"TopK {kind}", text(body, f"{kind}[s,4] x", f"{kind}[p,q] y, int64[p,q] i", c)
        body = "c, t = Split <num_outputs = 2, axis = 1> (x)\ny = Concat <axis = 1> (t, c)"
        yield f"Split {kind}", text(body, f"{kind}[s,4] x", f"{kind}[p,q] y")


def extent_models():
    """Constant operands that are as long as an axis: the model takes an extent of 3 alone, and no padding."""
    scale, ends = ["float[3] k = {1, 2, 3}"], ("float[s,4] x", "uint8[p,q] y")
    zero = [*scale, "uint8[3] z = {0, 0, 0}"]
    yield "extent QuantizeLinear", text("y = QuantizeLinear <axis = 0> (x, k, z)", *ends, zero)
    body = "y = DequantizeLinear <axis = 0> (x, k, z)"
    yield "extent DequantizeLinear", text(body, "uint8[s,4] x", "float[p,q] y", zero)
    body = "y = InstanceNormalization (x, k, k)"
    yield "extent InstanceNormalization", text(body, "float[2,s,5] x", "float[p,q,r] y", scale)
    c = ["uint8[2,4] w = {1, 2, 3, 4, 5, 6, 7, 8}", "uint8 o = {0}", "uint8[3] z = {1, 2, 3}"]
    yield "extent MatMulInteger", text("y = MatMulInteger (w, x, o, z)", "uint8[4,s] x", "int32[p,q] y", c)
    body, c = "y = Add (x, k)", scale
    yield "extent Add", text(body, "float[4,s] x", "float[p,q] y", c)
    body, c = "a, b = Split <axis = 0> (x, l)\ny = Concat <axis = 1> (a, b)", ["int64[2] l = {1, 2}"]
    yield "extent Split", text(body, "float[s,4] x", "float[p,q] y", c)
    body, c = "y = BatchNormalization (x, k, k, k, k)", scale
    yield "extent BatchNormalization", text(body, "float[2,s,5] x", "float[p,q,r] y", c)


def narrowed_models():
    """Results of what padding of class `finite` holds, in front of a cast to a type that need not hold them.
    A mask of 0 in the padding, and a sum: what is infinite gives NaN."""
    bounds = [
        "float lo = {-9000}",
        "float hi = {9000}",
        "int64[1] ax1 = {1}",
        reals("w", [9] * 16, dims=[4, 4]),
    ]
    rows = "\nc = Concat <axis = 1> (r, r, r, r)"
    clipped = "b = Clip (x, lo, hi)\n"
    cases = {
        "BitwiseNot": ("int32", "c = BitwiseNot (x)", []),
        "BitwiseAnd": ("int32", "c = BitwiseAnd (x, k)", ["int32 k = {2147483647}"]),
        "BitwiseOr": ("int32", "c = BitwiseOr (x, k)", ["int32 k = {0}"]),
        "BitwiseXor": ("int64", "c = BitwiseXor (x, k)", ["int64 k = {1}"]),
        "BitShift": ("uint32", 'c = BitShift <direction = "RIGHT"> (x, k)', ["uint32 k = {0}"]),
        "Pow": ("int64", "c = Pow (x, k)", ["int64 k = {3}"]),
        "Mod": ("int64", "c = Mod (x, k)", ["int64 k = {1000000}"]),
        "QuantizeLinear": ("float", "c = QuantizeLinear (x, k, z)", ["float k = {1}", "uint16 z = {0}"]),
        "wrap": ("float", "a = Sqrt (x)\nb = Cast <to = 4> (a)\nc = Sub (b, k)", ["uint16 k = {1}"]),
        "wrap 64": ("float", "a = Sqrt (x)\nb = Cast <to = 13> (a)\nc = Sub (b, k)", ["uint64 k = {1}"]),
        "NaN": (
            "float",
            "a = Sub (x, k)\nb = Mul (a, z)\nc = Cast <to = 12> (b)",
            ["float k = {9000}", "float z = {0}"],
        ),
        "ReduceSumSquare": ("float", f"{clipped}r = ReduceSumSquare (b, ax1){rows}", bounds),
        "ReduceProd": ("float", f"{clipped}r = ReduceProd (b, ax1){rows}", bounds),
        "ReduceL1": ("float", f"{clipped}t = ReduceL1 (b, ax1)\nr = Mul (t, t){rows}", bounds),
        "MatMul": ("float", f"{clipped}c = MatMul (b, w)", bounds),
        "Gemm": ("float", f"{clipped}c = Gemm (b, w)", bounds),
        "Einsum": ("float", f'{clipped}c = Einsum <equation = "ij,ij->ij"> (b, b)', bounds),
        "CumSum": ("float", f"{clipped}t = Mul (b, b)\nc = CumSum (t, ax0)", [*bounds, "int64 ax0 = {1}"]),
        "Tanh MatMul": (
            "float",
            "a = Mul (x, k)\nb = Tanh (a)\nc = MatMul (b, w)",
            ["float k = {0.01}", reals("w", [9e4 * (i % 5 == 0) for i in range(16)], dims=[4, 4])],
        ),
        "Greater MatMul": (
            "float",
            "g = Greater (x, k)\nb = Cast <to = 1> (g)\nc = MatMul (b, w)",
            ["float k = {1000}", reals("w", [9e4] * 16, dims=[4, 4])],
        ),
        "Softmax MatMul": (
            "float",
            "b = Softmax (x)\nc = MatMul (b, w)",
            [reals("w", [9e4 * (i % 5 == 0) for i in range(16)], dims=[4, 4])],
        ),
    }
    for name, (kind, body, c) in cases.items():
        body += "\nf = Cast <to = 10> (c)\nk8 = Mul (f, m)\ny = ReduceSum <keepdims = 0> (k8, axis0)"
        inputs = f"{kind}[s,4] x, float16[s,4] m"
        yield f"narrowed {name}", text(body, inputs, "float16[p] y", [*c, "int64[1] axis0 = {0}"])


def summed_models():
    """Sums in float16 that the bounds of their terms do not keep finite, in front of a mask of 0."""
    ones = reals("w", [1] * 16, "float16", [4, 4])
    twos = reals("w", [2] + [0] * 15, "float16", [4, 4])
    axis, kernel = "int64[1] ax1 = {1}", reals("w", [1] * 4, "float16", [1, 4, 1])
    deep, flat = "u = Unsqueeze (b, two)\n", "\nc = Squeeze (d, two)"
    cases = {
        "MatMul": ("c = MatMul (b, w)", [ones]),
        "MatMul of one product": ("c = MatMul (b, w)", [twos]),
        "Gemm": ("c = Gemm (b, w)", [ones]),
        "Gemm alpha": ("c = Gemm <alpha = 2.0> (b, w)", [reals("w", [1] + [0] * 15, "float16", [4, 4])]),
        "Einsum": ('c = Einsum <equation = "ij,jk->ik"> (b, w)', [ones]),
        "Conv": (f"{deep}d = Conv (u, w){flat}", [kernel, "int64[1] two = {2}"]),
        "ConvTranspose": (
            f"{deep}d = ConvTranspose (u, w){flat}",
            [reals("w", [1] * 4, "float16", [4, 1, 1]), "int64[1] two = {2}"],
        ),
        "ReduceSum": ("c = ReduceSum (b, ax1)", [axis]),
        "ReduceL1": ("c = ReduceL1 (b, ax1)", [axis]),
        "ReduceSumSquare": ("c = ReduceSumSquare (b, ax1)", [axis]),
        "CumSum": ("c = CumSum (b, one)", ["int64 one = {1}"]),
    }
    for name, (body, c) in cases.items():
        body = f"a = Cast <to = 10> (x)\nb = Mul (a, a)\n{body}"
        body += "\nk8 = Mul (c, m)\ny = ReduceSum <keepdims = 0> (k8, axis0)"
        inputs = "uint8[s,4] x, float16[s,1] m"
        yield f"summed {name}", text(body, inputs, "float16[p] y", [*c, "int64[1] axis0 = {0}"])


def large_integer_models():
    """Integers that no double holds, and results of which it matters what they are exactly."""
    p = 2**53

    def model(body, c, inputs="int64[s,4] x", outputs="int64[p] y"):
        return text(body, inputs, outputs, [*c, "int64[1] axis0 = {0}"])

    total = "\ny = ReduceSum <keepdims = 0> (r, axis0)"
    a = [f"int64 a = {{{p}}}", "int64 one = {1}"]
    yield "large Add", model(f"b = Add (x, a)\nc = Add (b, one)\nr = Sub (c, a){total}", a)
    yield "large Sub", model(f"b = Sub (x, a)\nc = Sub (b, one)\nr = Add (c, a){total}", a)
    k = 94906267
    c = [f"int64 k = {{{k}}}", f"int64 o = {{{k * k - 1}}}"]
    yield "large Mul", model(f"b = Add (x, k)\nc = Mul (b, k)\nr = Sub (c, o){total}", c)
    c = [f"int64 k = {{{2**60}}}", "int64 two = {2}", f"int64 o = {{{2**59}}}"]
    body = f"b = Add (x, k)\ne = Add (b, two)\nc = Div (e, two)\nr = Sub (c, o){total}"
    yield "large Div", model(body, c)
    c = [*a, f"int64 b2 = {{{p + 2}}}"]
    body = "b = Add (x, a)\nc = Add (b, one)\nr = Sub (b2, c)\nd = Sub (r, one)\ny = Div (n, d)"
    yield "large divisor", model(body, c, "int64[s,4] x, int64[s,4] n", "int64[p,q] y")
    c = [f"int64 lo = {{{p}}}", f"int64 hi = {{{p + 1}}}"]
    yield "large Clip", model("b = Clip (x, lo, hi)\ny = ReduceMax <keepdims = 0> (b, axis0)", c)
    c = [f"int64 lo = {{{p}}}", f"int64 hi = {{{p + 1}}}", reals("t", [1])]
    yield (
        "large index",
        model("b = Clip (x, lo, hi)\ni = Sub (b, lo)\ny = Gather (t, i)", c, outputs="float[p,q] y"),
    )
    c = ["float lo = {0}", f"float hi = {{{2**63}}}", "int64 three = {3}", reals("t", [0, 1, 2, 3])]
    body = "a = Clip (x, lo, hi)\nb = Cast <to = 7> (a)\nd = Min (b, three)\ny = Gather (t, d)"
    yield "large Cast", model(body, c, "float[s,4] x", "float[p,q] y")


def single_models():
    yield from extent_models()
    yield from unary_models()
    yield from cast_models()
    yield from quantize_models()
    yield from integer_models()
    yield from norm_models()
    yield from length_models()
    yield from movement_models()
    yield from narrowed_models()
    yield from summed_models()
    yield from large_integer_models()


# ---- chains ------------------------------------------------------------------------------------------------


class Chain:
    """Steps that follow each other, and at the end a sum over the padded axis under a mask, which adds
    nothing where the chain is finite in the padding."""

    def __init__(self, rng):
        self.rng, self.lines, self.constants, self.n = rng, [], [], 0
        self.sums = rng.random() < 0.4
        kind = rng.choice([*TYPES, "float", "int64", "int32", "uint8"])
        self.inputs = f"{kind}[s,4] x"
        v = "x"
        if kind not in TYPES:
            v, kind = self.cast(v, rng.choice(list(TYPES)))
        for _ in range(rng.randint(1, 5)):
            v, kind = self.step(v, kind)
        v, kind = self.cast(v, "float")
        self.constants.append("int64[1] axis0 = {0}")
        self.lines += [f"masked = Mul ({v}, m)", "y = ReduceSum <keepdims = 0> (masked, axis0)"]
        self.inputs += ", float[s,4] m"

    def made(self, line):
        self.n += 1
        self.lines.append(f"v{self.n} = {line}")
        return f"v{self.n}"

    def constant(self, values, kind, dims=()):
        self.n += 1
        values = values if isinstance(values, list) else [values]
        self.constants.append(reals(f"c{self.n}", values, kind, dims))
        return f"c{self.n}"

    def cast(self, v, kind):
        return self.made(f"Cast <to = {TYPES[kind]}> ({v})"), kind

    def number(self, kind):
        most = 1e2 if self.sums else 6e4 if kind == "float16" else np.inf
        fitting = [n for n in NUMBERS if abs(n) < most]
        return self.constant(self.rng.choice(fitting), kind)

    def step(self, v, kind):
        rng = self.rng
        steps = "cast cast unary unary unary number number power eight integer where rows"
        step = rng.choice(f"{steps} product norm product".split() if self.sums else steps.split())
        if step == "cast":
            return self.cast(v, rng.choice(list(TYPES)))
        if step == "unary":
            return self.made(operation(rng.choice(UNARY), v)), kind
        if step == "number":
            op = rng.choice(["Add", "Sub", "Mul", "Div", "Min", "Max"])
            operands = [v, self.number(kind)]
            return self.made(f"{op} ({', '.join(operands if rng.random() < 0.7 else operands[::-1])})"), kind
        if step == "power":
            return self.made(f"Pow ({v}, {self.constant(rng.choice(POWERS), 'float')})"), kind
        if step == "where":
            number, other = self.number(kind), self.number(kind)
            c = self.made(f"Greater ({v}, {number})")
            return self.made(f"Where ({c}, {v}, {other})"), kind
        if step == "integer":
            i = self.made(f"Cast <to = {rng.choice([3, 6, 7, 2])}> ({v})")
            return self.cast(i, rng.choice(list(TYPES)))
        if step == "rows":
            op = rng.choice(["Softmax", "LogSoftmax", "Hardmax"])
            return self.made(f"{op} ({v})"), kind
        if step == "product":
            w = self.constant([0.5, -1, 2, 1] * 4, kind, (4, 4))
            return self.made(f"MatMul ({v}, {w})"), kind
        if step == "norm":
            w = self.constant([1, 2, -1, 0.5], kind, (4,))
            e = rng.choice([0.0, 1e-5, 1e-12])
            return self.made(f"LayerNormalization <epsilon = {e}> ({v}, {w})"), kind
        v, _ = self.cast(v, "float")
        z, k = rng.choice([*EIGHT, "int8", "uint8"]), self.constant(rng.choice([1, 0.1, 1e-6]), "float")
        saturate = f"<saturate = {rng.randint(0, 1)}> " if z in EIGHT else ""
        z = self.constant(0, z)
        q = self.made(f"QuantizeLinear {saturate}({v}, {k}, {z})")
        return self.made(f"DequantizeLinear ({q}, {k}, {z})"), "float"

    def text(self):
        return text("\n".join(self.lines), self.inputs, "float[p] y", self.constants)
