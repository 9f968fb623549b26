"""Nodes for fold_against_ort.py: activations, Softmax, pooling, Conv and Resize."""

import numpy as np
from _fold_numbers import FLOATS, broadcast_pair, i64, numbers, pick, shape_of

ACTIVATIONS = {  # the oldest opset, and names of parameters
    "Elu": (6, ["alpha"]),
    "Selu": (6, ["alpha", "gamma"]),
    "Celu": (12, ["alpha"]),
    "HardSigmoid": (6, ["alpha", "beta"]),
    "HardSwish": (14, []),
    "Softplus": (1, []),
    "Softsign": (1, []),
    "Mish": (18, []),
    "Gelu": (20, []),
    "Swish": (24, ["alpha"]),
}


def activations(rng, add):
    for t in FLOATS:
        shape = pick(rng, [shape_of(rng), (int(rng.integers(5, 70)),)])
        x = numbers(rng, t, shape)
        finite = np.clip(np.nan_to_num(x.astype(np.float64), nan=0.5), -300, 300).astype(t)
        opset = lambda since: max(since, pick(rng, [since, 13, 16, 18, 20, 22, 24]))  # noqa: E731
        parameter = lambda: float(pick(rng, [0.25, -0.5, 0.01, 0.0, 1.5, 3.0]))  # noqa: E731
        for op, (since, names) in ACTIVATIONS.items():
            attrs = {n: parameter() for n in names if rng.integers(3) == 0}
            if op == "Gelu" and rng.integers(2):
                attrs["approximate"] = "tanh"
            add(op, opset(since), [finite], **attrs)
            add(op, opset(since), [x], **attrs)
        add("LeakyRelu", opset(6), [x])
        add("LeakyRelu", opset(6), [x], alpha=parameter())
        add("ThresholdedRelu", opset(10), [x])
        add("ThresholdedRelu", opset(10), [x], alpha=pick(rng, [0.5, -2.0, 0.1, 0.0]))
        add("Shrink", opset(9), [x], bias=parameter(), lambd=parameter())
        add("Shrink", opset(9), [x])
        a, b = broadcast_pair(rng)
        add("PRelu", opset(7), [numbers(rng, t, a), numbers(rng, t, b)])
        add("PRelu", opset(7), [x, numbers(rng, t, pick(rng, [(1,), shape[-1:]]))])
        # Pow: exponents of any type; those for which kernels multiply
        base, exponent = numbers(rng, t, a), numbers(rng, t, b)
        add("Pow", opset(7), [base, exponent])
        add("Pow", opset(7), [np.abs(finite), (rng.standard_normal(shape[-1:]) * 3).astype(t)])
        add("Pow", opset(7), [x, t(pick(rng, [0, 1, 2, 3, 4, -1, -2, 0.5, 1 / 3, np.inf]))])
        other = pick(rng, [np.int32, np.int64, np.float32, np.float64])
        add("Pow", pick(rng, [12, 13, 15]), [base, (rng.integers(-8, 9, b) / 2).astype(other)])
        add("Pow", 13, [base, np.asarray(pick(rng, [2**53, 2**53 + 1, -7, 40]), np.int64)])
        add("Pow", 13, [base, np.asarray(0.1, other)])


def softmax(rng, add):
    for t in FLOATS:
        shape = shape_of(rng, int(rng.integers(0, 5))) if rng.integers(4) else (2, int(rng.integers(20, 300)))
        finite = np.clip(np.nan_to_num(numbers(rng, t, shape).astype(np.float64), nan=0.5), -1000, 1000)
        x = finite.astype(t)
        masked = np.where(rng.integers(0, 3, shape) == 0, -np.inf, finite).astype(t)
        for op in ("Softmax", "LogSoftmax"):
            axis = int(rng.integers(-len(shape), max(len(shape), 1)))
            add(op, pick(rng, [13, 18, 22]), [x], **({"axis": axis} if rng.integers(3) else {}))
            add(op, pick(rng, [1, 9, 11, 12]), [x], **({"axis": abs(axis)} if rng.integers(3) else {}))
            add(op, 11, [x], axis=axis)
            add(op, pick(rng, [9, 13]), [x], axis=int(rng.integers(-6, 6)))
            add(op, 13, [masked], axis=axis)
            add(op, 13, [numbers(rng, t, shape)], axis=axis)


def window(rng, extents, opset, pads=True):
    """Attributes of windows over these axes that mostly fit, in any combination."""
    some = lambda low, high: [int(v) for v in rng.integers(low, high, len(extents))]  # noqa: E731
    attrs = {}
    if rng.integers(2):
        attrs["strides"] = some(1, 4)
    if opset >= 10 and rng.integers(3) == 0:
        attrs["dilations"] = some(1, 4)
    auto = pick(rng, ["", "", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
    if auto:
        attrs["auto_pad"] = auto
    if pads and auto in ("", "NOTSET") and rng.integers(3):
        attrs["pads"] = some(0, 3) + some(0, 3)
    return attrs


def pooling(rng, add):
    for t in (*FLOATS, np.int8, np.uint8):
        extents = [int(v) for v in rng.integers(2, 8, int(rng.integers(1, 4)))]
        shape = (int(rng.integers(1, 3)), int(rng.integers(1, 3)), *extents)
        plain = numbers(rng, t, shape, True)
        if np.dtype(t).kind == "f":  # equal elements, and none near 0 that sums cancel to
            plain = (np.round(plain.astype(np.float64) * 2) / 2 % 16 + 1).astype(t)
        x = pick(rng, [plain, plain, numbers(rng, t, shape)])
        for _ in range(4):
            opset = pick(rng, [8, 10, 11, 12, 19, 22])
            attrs = {"kernel_shape": [int(v) for v in rng.integers(1, 4, len(extents))]}
            attrs.update(window(rng, extents, opset))
            if opset >= 10 and rng.integers(3) == 0:
                attrs["ceil_mode"] = 1
            if rng.integers(3) == 0:
                add("MaxPool", opset, [x], outputs=2, storage_order=int(rng.integers(2)), **attrs)
            else:
                add("MaxPool", opset, [x], **attrs)
            if opset < 19:
                attrs.pop("dilations", None)
            if np.dtype(t).kind == "f":
                counted = {"count_include_pad": 1} if rng.integers(3) == 0 else {}
                add("AveragePool", opset, [x], **attrs, **counted)
        if np.dtype(t).kind == "f":
            add("GlobalMaxPool", pick(rng, [1, 13, 22]), [x])
            add("GlobalAveragePool", pick(rng, [1, 13, 22]), [x])
    add("MaxPool", 1, [numbers(rng, np.float32, (1, 1, 5), True)], kernel_shape=[2], strides=[2])


def convolutions(rng, add):
    for t in FLOATS:
        extents = [int(v) for v in rng.integers(2, 8, int(rng.integers(1, 4)))]
        group, channels, outputs = (int(v) for v in rng.integers(1, 4, 3))
        batch = int(rng.integers(1, 3))
        wrong = int(rng.integers(12) == 0)
        kernel = [int(v) for v in rng.integers(1, 4, len(extents))]
        x = rng.uniform(0.5, 1.5, (batch, group * channels + wrong, *extents)).astype(t)
        w = rng.uniform(-0.25, 1.5, (group * outputs, channels, *kernel)).astype(t)
        bias = rng.uniform(0, 1, (group * outputs,)).astype(t)
        for _ in range(3):
            opset = pick(rng, [1, 9, 11, 22])
            attrs = {"group": group, **window(rng, extents, 22)}
            if rng.integers(3) == 0:
                attrs["kernel_shape"] = kernel
            add("Conv", opset, [x, w, bias] if rng.integers(2) else [x, w], **attrs)
        infinite = x.copy()
        infinite[0, 0] = pick(rng, [np.inf, np.nan])
        add("Conv", 11, [infinite, w], group=group)


def resizing(rng, add):
    for t in (*FLOATS, np.int8, np.uint8, np.int32):
        rank = int(rng.integers(1, 6))
        x = numbers(rng, t, tuple(int(v) for v in rng.integers(1, 7, rank)), bool(rng.integers(3)))
        smooth = rng.uniform(0.5, 1.5, x.shape).astype(t)
        one = [int(v) for v in rng.permutation(rank)[: int(rng.integers(1, 3))]]
        scales = np.ones(rank, np.float32)
        scales[one] = [pick(rng, [0.5, 2, 3, 1.5, 0.4, 0.7, 1 / 3, 2.3, 1.7, 0.25, 4, 0.1, 1]) for _ in one]
        sizes = np.array(x.shape)
        sizes[one] = rng.integers(1, 13, len(one))
        empty = np.zeros(0, np.float32)
        for way in (
            "half_pixel",
            "pytorch_half_pixel",
            "align_corners",
            "asymmetric",
            "tf_half_pixel_for_nn",
        ):
            nearest = pick(rng, ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
            attrs = {"coordinate_transformation_mode": way}
            opset = pick(rng, [11, 13, 18, 19]) if way != "tf_half_pixel_for_nn" else 11
            how = pick(rng, [[x, empty, scales], [x, empty, empty, sizes]])
            add("Resize", opset, how, nearest_mode=nearest, **attrs)
            if np.dtype(t).kind == "f":
                add("Resize", opset, [smooth, *how[1:]], mode="linear", **attrs)
                more = {"exclude_outside": 1} if rng.integers(3) == 0 else {}
                add("Resize", opset, [smooth, *how[1:]], mode="cubic", cubic_coeff_a=-0.5, **attrs, **more)
        add("Resize", 19, how, coordinate_transformation_mode="half_pixel_symmetric", nearest_mode=nearest)
        add("Resize", 13, [x, None, scales])
        add("Resize", 13, [x, None, None, sizes])
        add("Resize", 10, [x, scales], mode=pick(rng, ["nearest", "linear"]))
        add("Upsample", 9, [x, np.maximum(scales, 1)], mode=pick(rng, ["nearest", "linear"]))
        wanted = [int(sizes[d]) for d in one]
        policy = pick(rng, ["stretch", "not_larger", "not_smaller"])
        add("Resize", 18, [x, None, None, i64(*wanted)], axes=one, keep_aspect_ratio_policy=policy)
        add("Resize", 18, [x, None, scales[one]], axes=[d - rank for d in one], nearest_mode=nearest)
    for _ in range(3):  # images, whose numbers of pixels are larger
        x = rng.uniform(0.5, 1.5, (1, 1, *(int(v) for v in rng.integers(1, 40, 2)))).astype(np.float32)
        how = [x, None, None, i64(1, 1, *rng.integers(1, 70, 2))]
        for mode in ("nearest", "linear", "cubic"):
            way = pick(rng, ["half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric"])
            nearest = pick(rng, ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
            add("Resize", 13, how, mode=mode, coordinate_transformation_mode=way, nearest_mode=nearest)
