"""Small models for bucket_repairs.py: what is repaired, and what must stay refused."""

import dataclasses


@dataclasses.dataclass
class Case:
    name: str
    text: str
    buckets: dict  # of symbols, several with commas between, as --bucket takes them
    kinds: list = dataclasses.field(default_factory=list)  # of repairs, in their order
    refused: str = ""  # a part of the reason why the model is not repaired
    values: dict = dataclasses.field(default_factory=dict)


def model(body, opset=21, ir=10):
    return f'<ir_version: {ir}, opset_import: ["" : {opset}]>\n{body}'


def mean(dtype, opset, axes="axes", keep=1):
    """A mean over the second of three axes, and something behind it."""
    operand, attribute = (", a", "") if opset >= 18 else ("", f"{axes} = [1], ")
    return model(
        f"g ({dtype}[b,s,3] x) => ({dtype}[b,k,3] y) <int64[1] a = {{1}}> {{\n"
        f"  z = Mul (x, x)  m = ReduceMean <{attribute}keepdims = {keep}> (z{operand})  y = Neg (m)\n}}",
        opset,
    )


def extreme(op, dtype):
    """The largest or the least of rows whose padding nothing is known of."""
    graph = f"g ({dtype}[s,3] x) => ({dtype}[k,3] y) <int64[1] a = {{0}}>"
    return model(f"{graph} {{ z = Neg (x)  y = {op} (z, a) }}")


S = {"s": "2..12:pow2"}
SB = {"s": "2..12:pow2", "b": "1,2,4"}
HW = {"h": "6..16:step=5", "w": "6..16:step=5"}

CASES = [
    # --- means ---
    *(Case(f"mean_{t}", mean(t, 18), S, ["true-mean"]) for t in ("float", "double", "float16")),
    Case("mean_opset_11", mean("float", 11), S, ["true-mean"]),
    Case("mean_opset_13_flat", mean("float", 13, keep=0).replace("[b,k,3] y", "[b,3] y"), S, ["true-mean"]),
    Case("mean_opset_10", mean("float", 10), S, refused="opset 10 has no Range"),
    Case("mean_of_integers", mean("int32", 18), S, refused="a mean of int32 rounds"),
    Case(
        "mean_of_all",
        model("g (float[b,s,3] x) => (float y) { z = Exp (x)  y = ReduceMean <keepdims = 0> (z) }", 13),
        SB,
        ["true-mean"],
    ),
    Case(  # the batch is open and has no buckets: its dim counts
        "mean_with_open_batch",
        model("g (float[b,s,3] x) => (float y) { z = Exp (x)  y = ReduceMean <keepdims = 0> (z) }", 13),
        S,
        ["true-mean"],
    ),
    Case(
        "mean_of_merged",
        model(
            """g (float[b,s,3] x) => (float[1,3] y) <int64[2] to = {-1, 3}, int64[1] a = {0}> {
  z = Exp (x)  flat = Reshape (z, to)  y = ReduceMean (flat, a)
}"""
        ),
        SB,
        ["true-mean"],
    ),
    Case(
        "mean_of_joined",
        model(
            """g (float[p,3] x, float[s,3] z) => (float[1,3] y) <int64[1] a = {0}> {
  all = Concat <axis = 0> (x, z)  e = Exp (all)  y = ReduceMean (e, a)
}"""
        ),
        {"p": "2..8:pow2", "s": "1..8:pow2"},
        ["true-mean"],
    ),
    Case(  # what is not padded counts, too: its extent comes from an input that has no padding
        "mean_of_joined_with_open_cache",
        model(
            """g (float[p,3] x, float[s,3] z) => (float[1,3] y) <int64[1] a = {0}> {
  all = Concat <axis = 0> (x, z)  e = Exp (all)  y = ReduceMean (e, a)
}"""
        ),
        {"s": "1..8:pow2"},
        ["true-mean"],
    ),
    Case(
        "mean_after_strides",
        model(
            """g (float[1,2,t] x) => (float[1,2] y)
  <float[2,2,3] w = {1,2,3,4,5,6,7,8,9,8,7,6}, int64[1] a = {2}> {
  c = Conv <strides = [2], pads = [1, 1]> (x, w)  e = Exp (c)  y = ReduceMean <keepdims = 0> (e, a)
}"""
        ),
        {"t": "4..20:step=4"},
        ["true-mean"],
    ),
    Case(
        "global_average",
        model("g (float[b,2,h,w] x) => (float[b,2,1,1] y) { z = Exp (x)  y = GlobalAveragePool (z) }", 11),
        HW,
        ["true-mean"],
    ),
    *(
        Case(
            f"average_border_{t}",
            model(
                f"""g ({t}[1,2,h,w] x) => ({t}[1,2,k,l] y) {{
  z = Mul (x, x)  y = AveragePool <kernel_shape = [3, 3], strides = [2, 1], pads = [1, 1, 1, 1]> (z)
}}"""
            ),
            HW,
            ["true-mean"],
        )
        for t in ("float", "float16")
    ),
    Case(
        "average_border_one_axis",
        model(
            """g (float[1,2,h,7] x) => (float[1,2,k,l] y) {
  y = AveragePool <kernel_shape = [3, 2], pads = [1, 0, 1, 1]> (x)
}"""
        ),
        {"h": "6..16:step=5"},
        ["true-mean"],
    ),
    Case(
        "average_ceil",
        model(
            """g (float[1,2,h,7] x) => (float[1,2,k,l] y) {
  y = AveragePool <kernel_shape = [3, 3], pads = [1, 0, 1, 0], ceil_mode = 1> (x)
}"""
        ),
        {"h": "6..16:step=5"},
        refused="no repair is known",
    ),
    # --- masks ---
    *(
        Case(
            f"max_{t}",
            extreme("ReduceMax", t),
            S,
            ["mask"],
        )
        for t in ("int32", "int64", "int8")
    ),
    *(
        Case(
            f"min_{t}",
            extreme("ReduceMin", t),
            S,
            refused=why,
            kinds=[] if why else ["mask"],
        )
        for t, why in (("int32", ""), ("int64", "no number of the type int64"))
    ),
    Case(
        "arg_max_of_cosines",
        model(
            """g (float[b,s] x) => (int64[b,1] y) {
  z = Cos (x)  y = ArgMax <axis = 1> (z)
}"""
        ),
        S,
        ["mask"],
    ),
    Case(
        "softmax_half",
        model("g (float16[b,s] x) => (float16[b,s] y) { z = Mul (x, x)  y = Softmax <axis = 1> (z) }", 12),
        S,
        ["mask"],
    ),
    Case(
        "reverse_sum_of_cosines",
        model(
            """g (float[2,s] x) => (float[2,s] y) <int64 a = {1}> {
  z = Cos (x)  y = CumSum <reverse = 1> (z, a)
}"""
        ),
        S,
        ["mask"],
    ),
    Case(
        "nonzero_of_bools",
        model(
            """g (float[s] x) => (int64[1,k] y) {
  f = Floor (x)  z = LessOrEqual (f, x)  n = NonZero (z)  y = Neg (n)
}"""
        ),
        S,
        ["mask"],
    ),
    Case(
        "attention_of_merged_keys",
        model(
            """g (float[4,8] q, float[b,s,8] k) => (float[4,8] y) <int64[2] to = {-1, 8}> {
  keys = Reshape (k, to)  turned = Transpose <perm = [1, 0]> (keys)  scores = MatMul (q, turned)
  p = Softmax <axis = -1> (scores)  y = MatMul (p, keys)
}"""
        ),
        SB,
        ["mask"],
    ),
    *(
        Case(
            f"attention_operator_{t}",
            model(
                f"""g (float[1,2,s,4] x, {t}[1,1,s,s] m) => (float[1,2,s,4] y) {{
  k = Cos (x)  {make}  y = Attention (x, k, k, mask)
}}""",
                23,
            ),
            S,
            ["mask"],
        )
        for t, make in (("bool", "mask = Equal (m, m)"), ("float", "mask = Cos (m)"))
    ),
    Case(  # a query that is padding has no key: what comes of it is not finite
        "attention_operator_twice",
        model(
            """g (float[1,2,s,4] x, bool[1,1,s,s] m) => (float[1,2,s,4] y) {
  a = Attention (x, x, x, m)  y = Attention (x, a, a, m)
}""",
            23,
        ),
        S,
        ["mask"],
    ),
    Case(  # with nothing in the cache, scores of padding alone are not defined: they are replaced, too
        "attention_to_a_cache_that_may_be_empty",
        model(
            """g (float[2,8] x, float[p,8] cache) => (float[2,8] y) {
  turned = Transpose <perm = [1, 0]> (cache)  scores = MatMul (x, turned)
  w = Softmax <axis = -1> (scores)  y = MatMul (w, cache)
}"""
        ),
        {"p": "0..8:step=4"},
        ["mask", "mask-product"],
    ),
    Case(
        "attention_to_a_cache",
        model(
            """g (float[s,8] x, float[p,8] cache) => (float[s,8] y) {
  keys = Concat <axis = 0> (cache, x)  turned = Transpose <perm = [1, 0]> (keys)
  scores = MatMul (x, turned)  w = Softmax <axis = -1> (scores)  y = MatMul (w, keys)
}"""
        ),
        {"p": "2..8:pow2", "s": "1..8:pow2"},
        ["mask"],
    ),
    Case(
        "products_of_cosines",
        model(
            """g (float[2,s] x, float[s,3] w) => (float[2,3] y) {
  a = Cos (x)  b = Cos (w)  y = MatMul (a, b)
}"""
        ),
        S,
        ["mask-product"],
    ),
    Case(
        "two_halos",
        model(
            """g (float[1,1,h,w] x) => (float[1,1,h,w] y)
  <float[1,1,3,3] k = {1,2,3,4,5,6,7,8,9}, float[1] bias = {0.5}> {
  a = Conv <pads = [1,1,1,1]> (x, k, bias)  c = Conv <pads = [1,1,1,1]> (a, k, bias)
  y = MaxPool <kernel_shape = [3, 3], pads = [1,1,1,1]> (c)
}"""
        ),
        HW,
        ["mask", "mask"],
    ),
    Case(
        "quantized_halo",
        model(
            """g (uint8[1,1,t] x) => (uint8[1,1,t] y)
  <float one = {0.5}, uint8 zero = {7}, uint8[1,1,3] k = {1,2,3}, uint8 kz = {1}, int32[1] bias = {9}> {
  a = QLinearConv <pads = [1, 1]> (x, one, zero, k, one, kz, one, zero, bias)
  y = QLinearConv <pads = [1, 1]> (a, one, zero, k, one, kz, one, zero, bias)
}"""
        ),
        {"t": "4..12:step=4"},
        ["mask", "mask"],  # the input is padded with 0 or 1, the zero point is 7
        values={"x": [0, 255]},
    ),
    Case(  # both read one selection
        "one_mask_for_two",
        model(
            """g (float[s,3] x) => (float[1,3] y, float[1,3] z) <int64[1] a = {0}> {
  e = Exp (x)  y = ReduceSum (e, a)  z = ReduceL2 (e, a)
}"""
        ),
        {"s": "2..12:pow2,pad=1"},
        ["mask", "mask"],
    ),
    # --- indices ---
    Case(
        "last_three",
        model(
            """g (float[b,s,2] x) => (float[b,3,2] y)
  <int64[2] f = {0, -3}, int64[2] t = {1, 9223372036854775807}> {
  y = Slice (x, f, t)
}""",
            11,
        ),
        {"s": "3..12:step=3"},
        ["last-index"],
    ),
    Case(
        "second_to_last_by_attributes",
        model(
            """g (float[b,s,2] x) => (float[b,1,2] y) {
  y = Slice <starts = [-2], ends = [-1], axes = [1]> (x)
}""",
            9,
        ),
        S,
        ["last-index"],
    ),
    Case(
        "last_two_rows",
        model(
            "g (float[s,2] x) => (float[2,2] y) <int32[2] i = {-1, -2}> { z = Exp (x)  y = Gather (z, i) }"
        ),
        S,
        ["last-index"],
    ),
    Case(
        "last_elements",
        model(
            """g (float[2,s] x) => (float[2,1] y) <int64[2,1] i = {-1, -2}> {
  y = GatherElements <axis = 1> (x, i)
}"""
        ),
        S,
        ["last-index"],
    ),
    Case(
        "first_and_last",
        model("g (float[s,2] x) => (float[2,2] y) <int64[2] i = {0, -1}> { y = Gather (x, i) }"),
        S,
        refused="others from the end",
    ),
    Case(
        "last_half",
        model(
            """g (float[s,2] x) => (float[k,2] y) <int64[1] two = {2}, int64[1] f = {9999}> {
  shape = Shape <start = 0, end = 1> (x)  half = Div (shape, two)  y = Slice (x, half, f)
}"""
        ),
        S,
        refused="must be the same in all runs",
    ),
    Case(  # a run of two elements has no third one from the end
        "perhaps_last_three",
        model(
            """g (float[s] x) => (float[k] y) <int64[1] f = {-3}, int64[1] t = {99999999999}> {
  y = Slice (x, f, t)
}"""
        ),
        S,
        refused="must be the same in all runs",
    ),
    # --- recurrences ---
    *(
        Case(
            f"{kind}_{direction}",
            model(
                f"""g (float[t,b,2] x, float[{n},{g},2] w, float[{n},{g},3] r)
  => (float[t,{n},b,3] y, float[{n},b,3] h) {{
  y, h = {op} <hidden_size = 3, direction = "{direction}"> (x, w, r)
}}""",
                opset,
            ),
            {"t": "3..12:step=3", "b": "1,2,4"},
            ["lengths"],
        )
        for kind, op, g, opset in (("lstm", "LSTM", 12, 14), ("gru", "GRU", 9, 11), ("rnn", "RNN", 3, 21))
        for direction, n in (("forward", 1), ("reverse", 1), ("bidirectional", 2))
    ),
    # --- normalizations ---
    *(
        Case(
            f"instance_norm_{t}",
            model(
                f"""g ({t}[b,2,s] x, {t}[2] scale, {t}[2] bias) => ({t}[b,2,s] y) {{
  z = Mul (x, x)  y = InstanceNormalization (z, scale, bias)
}}""",
                13,
            ),
            SB,
            ["true-statistics"],
        )
        for t in ("float", "float16")
    ),
    Case(
        "instance_norm_2d_then_halo",
        model(
            """g (float[1,2,h,w] x) => (float[1,1,h,w] y)
  <float[2] scale = {1.5, 2}, float[2] bias = {0.5, -1},
   float[1,2,3,3] k = {1,2,3,4,5,6,7,8,9,1,2,3,4,5,6,7,8,9}> {
  z = InstanceNormalization (x, scale, bias)  y = Conv <pads = [1,1,1,1]> (z, k)
}"""
        ),
        HW,
        ["true-statistics", "mask"],
    ),
    Case(
        "group_norm",
        model(
            """g (float[b,4,s] x) => (float[b,4,s] y)
  <float[4] scale = {1.5,2,3,4}, float[4] bias = {0.5,-1,2,0}> {
  y = GroupNormalization <num_groups = 2> (x, scale, bias)
}"""
        ),
        SB,
        ["true-statistics"],
    ),
    Case(
        "rms_norm_over_steps",
        model(
            """g (float[b,s,4] x, float[4] scale) => (float[b,s,4] y) {
  y = RMSNormalization <axis = 1> (x, scale)
}""",
            23,
        ),
        S,
        ["true-statistics"],
    ),
    Case(
        "layer_norm_over_steps",
        model(
            """g (float[b,s,4] x) => (float[b,s,4] y)
  <float[4] scale = {1.5,2,3,4}, float[4] bias = {0.5,-1,2,0}> {
  y = LayerNormalization <axis = 1> (x, scale, bias)
}""",
            17,
        ),
        S,
        ["true-statistics"],
    ),
    # --- what nothing repairs ---
    Case(
        "interpolation",
        model(
            """g (float[1,1,h,4] x) => (float[1,1,k,4] y) <float[4] scales = {1, 1, 2, 1}> {
  y = Resize <mode = "linear"> (x, , scales)
}"""
        ),
        {"h": "4..16:step=4"},
        refused="no repair is known",
    ),
    # --- names ---
    Case(
        "a_name_that_is_taken",
        model(
            """g (float[s] x, float[1] true_len_s) => (float[1] y) {
  m = ReduceMean (x)  y = Add (m, true_len_s)
}""",
            13,
        ),
        S,
        ["true-mean"],
    ),
]
