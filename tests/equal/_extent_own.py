"""Models of our own for the sweep over extents: operators of com.microsoft, which no backend case has, bodies
that run zero times, and windows over empty axes. The text is onnx's; shapes of inputs stand beside it."""

import _extent_models as models

HEAD = '<ir_version: 10, opset_import: ["" : 21, "com.microsoft" : 1]>'
CASES = {
    "conv_pads": (
        "(float[] x, float[] w) => (float[] y) { y = Conv <pads = [1, 1]> (x, w) }",
        [(2, 1, 3), (1, 1, 2)],
    ),
    "conv_stride": (
        "(float[] x, float[] w) => (float[] y) { y = Conv <pads = [1, 0], strides = [2]> (x, w) }",
        [(2, 2, 4), (3, 2, 3)],
    ),
    "conv_same": (
        '(float[] x, float[] w) => (float[] y) { y = Conv <auto_pad = "SAME_UPPER", strides = [2]> (x, w) }',
        [(1, 2, 4), (3, 2, 3)],
    ),
    "max_pool": ("(float[] x) => (float[] y) { y = MaxPool <kernel_shape = [1]> (x) }", [(2, 1, 3)]),
    "average_pool": (
        "(float[] x) => (float[] y) { y = AveragePool <kernel_shape = [2], strides = [2]> (x) }",
        [(2, 1, 4)],
    ),
    "zero_trips": (
        (
            "(int64 m, float[] x) => (float[] last, float[] all) <bool c = {1}>"
            "{ last, all = Loop (m, c, x) <body: graph = b (int64 i, bool t, float[] s)"
            "=> (bool u, float[] n, float[] o)"
            "{ u = Identity (t) n = Concat <axis = 0> (s, s) o = Relu (x) }> }"
        ),
        [2, (2, 3)],
    ),
    "fixed_trips": (
        (
            "(float[] x) => (float[] all) <bool c = {1}, int64 m = {0}>"
            "{ all = Loop (m, c) <body: graph = b (int64 i, bool t) => (bool u, float[] o)"
            "{ u = Identity (t) o = Relu (x) }> }"
        ),
        [(2, 3)],
    ),
    "scanned": (
        (
            "(float[] s, float[] x) => (float[] last, float[] all)"
            "{ last, all = Scan <num_scan_inputs = 1, body: graph = b (float[] a, float[] e)"
            "=> (float[] n, float[] o)"
            "{ n = Add (a, e) o = Relu (n) }> (s, x) }"
        ),
        [(3,), (2, 3)],
    ),
    "chosen": (
        (
            "(bool c, float[] x) => (float[] y) { y = If (c) "
            "<then_branch: graph = t () => (float[] a) { a = Relu (x) },"
            "else_branch: graph = e () => (float[] b) { b = Neg (x) }> }"
        ),
        [True, (2, 3)],
    ),
    "fused_matmul": (
        "(float[] a, float[] b) => (float[] y) { y = com.microsoft.FusedMatMul <transB = 1> (a, b) }",
        [(2, 3, 4), (2, 5, 4)],
    ),
    "reshape_of_rows": (
        "(float[] x, float[] w) => (float[] y)"
        "{ s = Shape <start = 0, end = -1> (x) k = Shape <start = 1> (w) t = Concat <axis = 0> (s, k)"
        " r = Flatten <axis = 2> (x) p = MatMul (r, w) q = Reshape (p, t) y = Relu (q) }",
        [(2, 3, 4), (4, 5)],
    ),
    "reshape_between_ones": (
        "(float[] x) => (float[] y) <int64[1] a = {1}, int64[1] m = {-1}>"
        "{ s = Shape <start = 0, end = 2> (x) t = Concat <axis = 0> (a, s, m) y = Reshape (x, t) }",
        [(2, 3, 4)],
    ),
    "reshape_swapped": (
        "(float[] x) => (float[] y, float[] z)"
        "{ a = Shape <start = 0, end = 1> (x) b = Shape <start = 1> (x) t = Concat <axis = 0> (b, a)"
        " y = Reshape (x, t) u = Reshape (y, b) v = Shape (x) z = Reshape (y, v) }",
        [(2, 1)],
    ),
    "bias_gelu": (
        "(float[] a, float[] b) => (float[] y) { y = com.microsoft.BiasGelu (a, b) }",
        [(2, 3, 4), (4,)],
    ),
    "fast_gelu": (
        "(float[] a, float[] b) => (float[] y) { y = com.microsoft.FastGelu (a, b) }",
        [(2, 3, 4), (4,)],
    ),
    "quick_gelu": ("(float[] a) => (float[] y) { y = com.microsoft.QuickGelu (a) }", [(2, 3, 4)]),
    "bias_softmax": (
        (
            "(float[] a, float[] b) => (float[] y)"
            "{ y = com.microsoft.BiasSoftmax <axis = 2, is_inner_broadcast = 0> (a, b) }"
        ),
        [(2, 3, 4), (2, 1, 4)],
    ),
    "skip_layer_norm": (
        "(float[] x, float[] s, float[] g) => (float[] y)"
        "{ y = com.microsoft.SkipLayerNormalization (x, s, g) }",
        [(2, 3, 4), (2, 3, 4), (4,)],
    ),
    "fused_gemm": (
        '(float[] a, float[] b) => (float[] y) { y = com.microsoft.FusedGemm <activation = "Relu"> (a, b) }',
        [(2, 3), (3, 4)],
    ),
    "fused_conv": (
        "(float[] x, float[] w) => (float[] y)"
        '{ y = com.microsoft.FusedConv <activation = "Relu", pads = [1, 1]> (x, w) }',
        [(2, 1, 3), (1, 1, 2)],
    ),
    "attention": (
        "(float[] x, float[] w, float[] b) => (float[] y)"
        "{ y = com.microsoft.Attention <num_heads = 2> (x, w, b) }",
        [(2, 3, 4), (4, 12), (12,)],
    ),
    "multi_head_attention": (
        (
            "(float[] q, float[] k, float[] v) => (float[] y)"
            "{ y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, k, v) }"
        ),
        [(2, 3, 4), (2, 5, 4), (2, 5, 4)],
    ),
}


def cases():
    found = []
    for name, (text, shapes) in CASES.items():
        text = f"{HEAD} {name} {text}".replace("float[]", "float[N]")
        found.append(models.own_case(f"own_{name}", text, shapes))
    return found
