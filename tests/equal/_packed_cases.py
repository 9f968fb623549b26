"""Nodes with data for tests/equal/packed_operands.py: each (label, node, {operand: array}).

Products, convolutions, recurrences and quantized operators in many shapes: one row and many, sizes above and
below the blocks of the kernels, odd ones, transposed operands. The kernels for a constant operand and for a
computed one differ in some of these shapes only.
"""

import numpy as np
from onnx import helper

ROWS, INNER, COLUMNS = (1, 2, 5, 17), (1, 7, 64, 130), (1, 3, 16, 33, 130)


def shapes(rng, count):
    """Triples (M, K, N): all with one row, and some drawn ones."""
    yield from ((1, k, n) for k in INNER for n in COLUMNS)
    for _ in range(count):
        yield int(rng.choice(ROWS)), int(rng.choice(INNER)), int(rng.choice(COLUMNS))


def real(rng, shape, dtype=np.float32):
    return rng.standard_normal(shape).astype(dtype)


def small(rng, shape, dtype):
    low, high = (-100, 100) if np.dtype(dtype).kind == "i" else (0, 200)
    return rng.integers(low, high, shape).astype(dtype)


def node(kind, names, results=("y",), domain="", **attributes):
    return helper.make_node(kind, list(names), list(results), domain=domain, **attributes)


def products(rng, count):
    for dtype in (np.float32, np.float64, np.float16, np.int32, np.uint64):
        for m, k, n in shapes(rng, count):
            draw = real if np.dtype(dtype).kind == "f" else small
            a, b = draw(rng, (m, k), dtype), draw(rng, (k, n), dtype)
            name = f"{np.dtype(dtype).name} {m}x{k}x{n}"
            yield f"MatMul {name}", node("MatMul", "ab"), dict(a=a, b=b)
            yield f"MatMul {name} batch", node("MatMul", "ab"), dict(a=np.stack([a, a]), b=b)
            yield f"MatMul {name} batch of b", node("MatMul", "ab"), dict(a=a, b=np.stack([b, b[::-1]]))
            if n == 1:
                yield f"MatMul {name} vector", node("MatMul", "ab"), dict(a=a, b=b[:, 0])
            yield f"Einsum {name}", node("Einsum", "ab", equation="ij,jk->ik"), dict(a=a, b=b)
            if dtype == np.float32:
                yield f"FusedMatMul {name}", node("FusedMatMul", "ab", domain="com.microsoft"), dict(a=a, b=b)
                turned = node("FusedMatMul", "ab", domain="com.microsoft", transB=1, alpha=0.5)
                yield f"FusedMatMul {name} transB", turned, dict(a=a, b=np.ascontiguousarray(b.T))
                fused = node("FusedGemm", "abc", domain="com.microsoft", activation="Relu")
                yield f"FusedGemm {name}", fused, dict(a=a, b=b, c=draw(rng, (n,), dtype))
            for turn in range(4):
                x, y = (a.T if turn & 1 else a), (b.T if turn & 2 else b)
                gemm = node("Gemm", "abc", transA=turn & 1, transB=turn >> 1)
                operands = dict(a=np.ascontiguousarray(x), b=np.ascontiguousarray(y))
                yield f"Gemm {name} {turn}", gemm, operands | dict(c=draw(rng, (n,), dtype))


def convolutions(rng, count):
    for dtype in (np.float32, np.float64, np.float16):
        for _ in range(count):
            group = int(rng.choice([1, 1, 2]))
            ins, outs, kernel = group * int(rng.choice([1, 3, 8])), group * int(rng.choice([1, 4, 9])), 3
            for rank in (1, 2):
                x = real(rng, (1, ins, *(9,) * rank), dtype)
                w, b = real(rng, (outs, ins // group, *(kernel,) * rank), dtype), real(rng, (outs,), dtype)
                name = f"{np.dtype(dtype).name} {ins} {outs} rank {rank} group {group}"
                yield f"Conv {name}", node("Conv", "xwb", group=group), dict(x=x, w=w, b=b)
                yield (
                    f"Conv {name} 1x1",
                    node("Conv", "xwb", group=group),
                    dict(x=x, w=w[..., :1, :1], b=b) if rank == 2 else dict(x=x, w=w[..., :1], b=b),
                )
                v = real(rng, (ins, outs // group, *(kernel,) * rank), dtype)
                yield f"ConvTranspose {name}", node("ConvTranspose", "xwb", group=group), dict(x=x, w=v, b=b)
                if rank == 2 and dtype == np.float32:
                    for kind in ("FusedConv", "NhwcFusedConv"):
                        fused = node(kind, "xwb", domain="com.microsoft", activation="Relu", group=group)
                        yield f"{kind} {name}", fused, dict(x=x, w=w, b=b)
                    o = real(rng, (1, 2 * kernel * kernel, 7, 7))
                    deform = node("DeformConv", "xwob", kernel_shape=[3, 3], group=group)
                    yield f"DeformConv {name}", deform, dict(x=x, w=w, o=o, b=b)


def recurrences(rng, count):
    for kind, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
        for dtype in (np.float32, np.float64):
            for case in range(count):
                steps, batch = int(rng.choice([1, 3])), int(rng.choice([1, 2, 5]))
                wide, hidden = int(rng.choice([1, 10, 64])), int(rng.choice([1, 16, 33]))
                both = case % 2
                d = 1 + both
                extra = {"linear_before_reset": case // 2 % 2} if kind == "GRU" else {}
                rnn = node(kind, "xwrb", hidden_size=hidden,
                           direction="bidirectional" if both else "forward", **extra)  # fmt: skip
                yield (
                    f"{kind} {np.dtype(dtype).name} {steps} {batch} {wide} {hidden}",
                    rnn,
                    dict(
                        x=real(rng, (steps, batch, wide), dtype),
                        w=real(rng, (d, gates * hidden, wide), dtype),
                        r=real(rng, (d, gates * hidden, hidden), dtype),
                        b=real(rng, (d, gates * hidden * 2), dtype),
                    ),
                )


def quantized(rng, count):
    scale, ms = np.float32(0.03), "com.microsoft"
    for m, k, n in list(shapes(rng, count))[::2]:
        for left in (np.uint8, np.int8):
            for right in (np.uint8, np.int8):
                name = f"{np.dtype(left).name} {np.dtype(right).name} {m}x{k}x{n}"
                a, b = small(rng, (m, k), left), small(rng, (k, n), right)
                za, zb, zy = small(rng, (), left), small(rng, (), right), small(rng, (), left)
                yield f"MatMulInteger {name}", node("MatMulInteger", "abcd"), dict(a=a, b=b, c=za, d=zb)
                yield f"QLinearMatMul {name}", node("QLinearMatMul", "abcdefgh"), dict(
                    a=a, b=scale, c=za, d=b, e=scale, f=zb, g=np.float32(k * 3 * 0.03), h=zy)  # fmt: skip
                float_result = node("MatMulIntegerToFloat", "abcdefg", domain=ms)
                yield f"MatMulIntegerToFloat {name}", float_result, dict(
                    a=a, b=b, c=scale, d=scale, e=za, f=zb, g=real(rng, (n,)))  # fmt: skip
                yield f"QGemm {name}", node("QGemm", "abcdefghi", domain=ms), dict(
                    a=a, b=scale, c=za, d=b, e=scale, f=zb, g=small(rng, (n,), np.int32),
                         h=np.float32(k * 3 * 0.03), i=zy)  # fmt: skip
                if left == np.uint8:
                    dynamic = node("DynamicQuantizeMatMul", "abcde", domain=ms)
                    yield f"DynamicQuantizeMatMul {name}", dynamic, dict(
                        a=real(rng, (m, k)), b=b, c=scale, d=zb, e=real(rng, (n,)))  # fmt: skip
                x, w = small(rng, (1, 4, 6, 6), left), small(rng, (8, 4, 3, 3), right)
                if m == 1 and k == 7:
                    yield f"ConvInteger {name}", node("ConvInteger", "xwcd"), dict(x=x, w=w, c=za, d=zb)
                    yield f"QLinearConv {name}", node("QLinearConv", "abcdefgh"), dict(
                        a=x, b=scale, c=za, d=w, e=scale, f=zb, g=np.float32(1), h=zy)  # fmt: skip
                    for kind in ("QLinearAdd", "QLinearMul"):
                        yield f"{kind} {name}", node(kind, "abcdefgh", domain=ms), dict(
                            a=x, b=scale, c=za, d=x[:, ::-1].copy(), e=scale, f=za,
                            g=scale, h=zy)  # fmt: skip
                    for kind in ("QLinearSigmoid", "QLinearLeakyRelu"):
                        yield f"{kind} {name}", node(kind, "abcde", domain=ms), dict(
                            a=x, b=scale, c=za, d=scale, e=zy)  # fmt: skip
                    softmax = node("QLinearSoftmax", "abcde", domain=ms, opset=13)
                    yield f"QLinearSoftmax {name}", softmax, dict(
                        a=x, b=scale, c=za, d=np.float32(0.004), e=zy)  # fmt: skip
    for m, k, n in ((1, 64, 16), (5, 64, 33), (2, 128, 7)):
        for bits in (2, 4, 8):
            for level in (0, 1, 4):
                for block in (16, 32):
                    blocks, bytes_ = -(-k // block), block * bits // 8
                    w = rng.integers(0, 255, (n, blocks, bytes_)).astype(np.uint8)
                    scales = (real(rng, (n, blocks)) * 0.1).astype(np.float32)
                    zero = rng.integers(0, 255, (n, -(-blocks * bits // 8))).astype(np.uint8)
                    attributes = dict(K=k, N=n, bits=bits, block_size=block, accuracy_level=level)
                    label = f"MatMulNBits {bits} bits, level {level}, block {block}, {m}x{k}x{n}"
                    a = real(rng, (m, k))
                    yield label, node("MatMulNBits", "abs", domain=ms, **attributes), dict(a=a, b=w, s=scales)
                    yield f"{label}, zero points", node("MatMulNBits", "absz", domain=ms, **attributes), dict(
                        a=a, b=w, s=scales, z=zero)  # fmt: skip
        for kind in (0, 1):
            total = n * k
            yield f"MatMulBnb4 {kind}", node("MatMulBnb4", "abm", domain=ms, K=k, N=n, block_size=16,
                                             quant_type=kind, training_mode=0), dict(
                a=real(rng, (m, k)), b=rng.integers(0, 255, (total + 1) // 2).astype(np.uint8),
                m=np.abs(real(rng, ((total + 15) // 16,))))  # fmt: skip
    for steps, batch, wide, hidden in ((1, 1, 8, 16), (3, 2, 10, 17)):
        for dtype in (np.uint8, np.int8):
            lstm = node("DynamicQuantizeLSTM", ["x", "w", "r", "b", "", "", "", "", "s", "z", "t", "o"],
                        domain=ms, hidden_size=hidden)  # fmt: skip
            yield "DynamicQuantizeLSTM", lstm, dict(
                x=real(rng, (steps, batch, wide)), w=small(rng, (1, wide, 4 * hidden), dtype),
                r=small(rng, (1, hidden, 4 * hidden), dtype), b=real(rng, (1, 8 * hidden)),
                s=np.full(1, 0.02, np.float32), z=small(rng, 1, dtype),
                t=np.full(1, 0.02, np.float32), o=small(rng, 1, dtype))  # fmt: skip


def normalizations(rng, count):
    ms = "com.microsoft"
    for dtype in (np.float32, np.float64, np.float16):
        for rows, n in ((1, 8), (3, 33), (5, 64)):
            x, s, b = real(rng, (1, rows, n), dtype), real(rng, (n,), dtype), real(rng, (n,), dtype)
            name = f"{np.dtype(dtype).name} {rows}x{n}"
            yield f"LayerNormalization {name}", node("LayerNormalization", "xsb"), dict(x=x, s=s, b=b)
            yield f"RMSNormalization {name}", node("RMSNormalization", "xs"), dict(x=x, s=s)
            simple = node("SimplifiedLayerNormalization", "xs")
            yield f"SimplifiedLayerNormalization {name}", simple, dict(x=x, s=s)
            skip = node("SkipLayerNormalization", "xtsbc", domain=ms)
            more = dict(x=x, t=real(rng, x.shape, dtype), s=s)
            yield f"SkipLayerNormalization {name}", skip, more | dict(b=b, c=real(rng, (n,), dtype))
            skip = node("SkipSimplifiedLayerNormalization", "xtsc", domain=ms)
            yield f"SkipSimplifiedLayerNormalization {name}", skip, more | dict(c=b)
            yield f"BiasGelu {name}", node("BiasGelu", "xb", domain=ms), dict(x=x, b=b)
            yield f"FastGelu {name}", node("FastGelu", "xb", domain=ms), dict(x=x, b=b)


def attentions(rng, count):
    ms = "com.microsoft"
    for batch, length, heads, size in ((1, 1, 2, 8), (2, 5, 4, 8), (1, 7, 2, 33)):
        hidden = heads * size
        x = real(rng, (batch, length, hidden))
        w, b = real(rng, (hidden, 3 * hidden)), real(rng, (3 * hidden,))
        attention = node("Attention", "xwb", domain=ms, num_heads=heads)
        yield f"ms.Attention {batch} {length} {hidden}", attention, dict(x=x, w=w, b=b)
        for dtype in (np.uint8, np.int8):
            quantized_ = node("QAttention", ["x", "w", "b", "s", "t", "", "u", "v"], domain=ms,
                              num_heads=heads)  # fmt: skip
            yield f"QAttention {batch} {length} {hidden}", quantized_, dict(
                x=small(rng, x.shape, np.uint8), w=small(rng, w.shape, dtype), b=b, s=np.float32(0.02),
                t=np.float32(0.02), u=np.array(3, np.uint8), v=np.array(4, dtype))  # fmt: skip
        multi = node("MultiHeadAttention", "xkvb", domain=ms, num_heads=heads)
        k, v = real(rng, x.shape), real(rng, x.shape)
        yield f"MultiHeadAttention {batch} {length} {hidden}", multi, dict(x=x, k=k, v=v, b=b)
        own = node("Attention", "xkv", q_num_heads=heads, kv_num_heads=heads)
        yield f"Attention {batch} {length} {hidden}", own, dict(x=x, k=k, v=v)


def sampling(rng, count):
    for mode in ("nearest", "linear", "cubic"):
        x = real(rng, (1, 2, 5, 7))
        for scales in ((1, 1, 2, 2), (1, 1, 0.6, 1.7), (1, 1, 1.3, 0.77)):
            s = np.array(scales, np.float32)
            resize = node("Resize", ["x", "", "s"], mode=mode)
            yield f"Resize {mode} scales", resize, dict(x=x, s=s)
            sizes = np.array([1, 2, int(5 * scales[2]), int(7 * scales[3])], np.int64)
            yield f"Resize {mode} sizes", node("Resize", ["x", "", "", "z"], mode=mode), dict(x=x, z=sizes)
            crop = node(
                "Resize", ["x", "r", "s"], mode=mode, coordinate_transformation_mode="tf_crop_and_resize"
            )
            roi = np.array([0, 0, 0.2, 0.1, 1, 1, 0.9, 0.8], np.float32)
            yield f"Resize {mode} roi", crop, dict(x=x, r=roi, s=s)


FAMILIES = (products, convolutions, recurrences, quantized, normalizations, attentions, sampling)


def cases(seed, count):
    """`count`: how many shapes are drawn beyond the fixed ones."""
    for family in FAMILIES:
        yield from family(np.random.default_rng(seed), count)
