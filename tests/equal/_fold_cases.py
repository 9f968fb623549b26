"""Nodes for fold_against_ort.py, from a seed."""

import numpy as np
from _fold_networks import ACTIVATIONS, activations, convolutions, pooling, resizing, softmax
from _fold_numbers import (
    BF16,
    FLOATS,
    HIGH,
    INTS,
    LOW,
    MOVED,
    Case,
    broadcast_pair,
    i64,
    numbers,
    pick,
    shape_of,
)
from onnx import TensorProto, helper

TRANSCENDENTAL = {  # with the numbers of which the result is one
    "Exp": None,
    "Log": (0.1, None),
    "Tanh": None,
    "Sigmoid": None,
    "Erf": None,
    "Sin": None,
    "Cos": None,
    "Tan": None,
    "Asin": (-1, 1),
    "Acos": (-1, 1),
    "Atan": None,
    "Sinh": None,
    "Cosh": None,
    "Asinh": None,
    "Acosh": (1, None),
    "Atanh": (-1, 1),
}
SUMS = {"MatMul", "BatchNormalization", "Conv", "AveragePool", "GlobalAveragePool", "Softmax", "LogSoftmax"}
ONLY_ROUNDS = {*TRANSCENDENTAL, *ACTIVATIONS, *SUMS}
NO_RUNTIME = {"BitCast"}  # not in every version of ONNX Runtime


def movement(rng, add):
    t = pick(rng, MOVED)
    shape = shape_of(rng)
    rank = len(shape)
    x = numbers(rng, t, shape)
    add("Identity", pick(rng, [1, 13, 14]), [x])
    add("Transpose", pick(rng, [1, 13, 21]), [x])
    add("Transpose", 13, [x], perm=[int(p) for p in rng.permutation(rank)])
    add("Shape", pick(rng, [1, 13]), [x])
    add("Shape", pick(rng, [15, 19]), [x], start=int(rng.integers(-6, 6)), end=int(rng.integers(-6, 6)))
    add("Size", pick(rng, [1, 13]), [x])
    size = x.size
    add("Reshape", pick(rng, [5, 13]), [x, i64(-1)])
    add("Reshape", 14, [x, i64(*shape)], allowzero=1)
    add("Reshape", 13, [x, i64(1, *([0] if rank > 1 else []), -1)])
    add("Reshape", 13, [x, i64(*(pick(rng, [0, 1, -1, 2, 3]) for _ in range(3)))])
    add("Flatten", pick(rng, [1, 9, 11, 13]), [x], axis=int(rng.integers(0, rank + 1)))
    add("Flatten", 13, [x], axis=int(rng.integers(-rank - 1, rank + 2)))
    ones = tuple(1 if rng.integers(2) else d for d in shape)
    y = numbers(rng, t, ones)
    at = [d for d in range(rank) if ones[d] == 1]
    add("Squeeze", pick(rng, [1, 11]), [y], **({"axes": at} if at and rng.integers(2) else {}))
    add("Squeeze", 13, [y, i64(*[d - rank if rng.integers(2) else d for d in at])] if at else [y])
    add("Unsqueeze", pick(rng, [1, 11]), [x], axes=[0, rank + 1])
    add("Unsqueeze", 13, [x, i64(-1, int(rng.integers(-rank - 2, rank + 2)))])
    target = [d if d != 1 or rng.integers(2) else 3 for d in shape]
    add("Expand", pick(rng, [8, 13]), [x, i64(*([2] if rng.integers(2) else []), *target)])
    add("Expand", 13, [x, i64(*(1 for _ in range(int(rng.integers(0, 4)))))])
    add("Tile", pick(rng, [6, 13]), [x, rng.integers(0, 4, rank)])
    a, b = broadcast_pair(rng)
    add(
        "Where",
        pick(rng, [9, 16]),
        [numbers(rng, np.bool_, pick(rng, [a, b, (), (1,)])), numbers(rng, t, a), numbers(rng, t, b)],
    )
    if rank >= 2 and t != object:
        add("Trilu", 14, [x], upper=int(rng.integers(2)))
        add("Trilu", 14, [x, np.array(pick(rng, [-2, -1, 0, 1, 3, 100, -100]))], upper=int(rng.integers(2)))
    if rank:
        axis = int(rng.integers(rank))
        parts = []
        for _ in range(int(rng.integers(1, 4))):
            s = list(shape)
            s[axis] = int(rng.integers(0, 4))
            parts.append(numbers(rng, t, s))
        add("Concat", 4, parts, axis=axis)
        add("Concat", pick(rng, [11, 13]), parts, axis=axis - rank)
        lengths = [p.shape[axis] for p in parts]
        whole = np.concatenate(parts, axis)
        add("Split", pick(rng, [2, 11]), [whole], outputs=len(parts), axis=axis, split=lengths)
        add("Split", pick(rng, [13, 18]), [whole, i64(*lengths)], outputs=len(parts), axis=axis - rank)
        n = int(rng.integers(1, 4))
        add("Split", 18, [whole], outputs=n, axis=axis, num_outputs=n)
        add("Split", pick(rng, [2, 13]), [whole], outputs=n, axis=axis)
        kind = pick(rng, [np.int32, np.int64])
        bounds = lambda: np.array(
            [
                pick(
                    rng,
                    [
                        0,
                        1,
                        2,
                        3,
                        -1,
                        -2,
                        -9,
                        9,
                        np.iinfo(kind).min,  # noqa: E731
                        np.iinfo(kind).max,
                    ],
                )
                for _ in axes
            ],
            kind,
        )
        axes = [int(v) for v in rng.permutation(rank)[: int(rng.integers(1, rank + 1))]]
        starts, ends = bounds(), bounds()
        steps = np.array([pick(rng, [1, 1, 2, -1, -2, 3, np.iinfo(kind).max]) for _ in axes], kind)
        add("Slice", pick(rng, [10, 11, 13]), [x, starts, ends, np.array(axes, kind), steps])
        add("Slice", 13, [x, starts, ends, np.array([v - rank for v in axes], kind)])
        add(
            "Slice",
            pick(rng, [1, 9]),
            [x],
            starts=[int(v) for v in starts],
            ends=[int(v) for v in ends],
            axes=axes,
        )
        add("Slice", 13, [x, starts[:1], ends[:1]])
    if rank >= 2:
        batch = int(rng.integers(2))
        add(
            "ReverseSequence",
            10,
            [x, rng.integers(0, shape[1 - batch] + 1, shape[batch])],
            batch_axis=batch,
            time_axis=1 - batch,
        )
    if t != object:
        block = int(rng.integers(1, 4))
        c, h, w = (int(v) for v in rng.integers(1, 4, 3))
        deep = numbers(rng, t, (pick(rng, [1, 2]), c * block * block, h, w))
        add("DepthToSpace", pick(rng, [1, 13]), [deep], blocksize=block)
        add("DepthToSpace", pick(rng, [11, 13]), [deep], blocksize=block, mode=pick(rng, ["DCR", "CRD"]))
        add(
            "SpaceToDepth",
            pick(rng, [1, 13]),
            [numbers(rng, t, (2, c, h * block, w * block))],
            blocksize=block,
        )
        pads = [int(v) for v in rng.integers(-1, 3, 2 * rank)]
        mode = pick(rng, ["constant", "constant", "reflect", "edge", "wrap"])
        fill = [numbers(rng, t, ())] if rng.integers(2) else []
        opset = 19 if mode == "wrap" else pick(rng, [11, 13, 18])
        add("Pad", opset, [x, i64(*pads)] + fill, mode=mode)
        if rank:
            some = [int(v) for v in rng.permutation(rank)[: int(rng.integers(1, rank + 1))]]
            few = [abs(int(v)) for v in rng.integers(0, 3, 2 * len(some))]
            add("Pad", pick(rng, [18, 21]), [x, i64(*few), fill[0] if fill else None, i64(*some)])
    add(
        "Pad",
        2,
        [numbers(rng, np.float32, shape)],
        pads=[int(v) for v in rng.integers(0, 3, 2 * rank)],
        value=1.5,
    )
    if size == 1:
        add("ConstantOfShape", 9, [i64(2, 3)], value=helper.make_tensor("v", TensorProto.FLOAT, [1], [7.5]))


def makers(rng, add):
    t = pick(rng, INTS + FLOATS + [np.bool_])
    one = numbers(rng, t, (1,))
    value = helper.make_tensor(
        "v", helper.np_dtype_to_tensor_dtype(np.dtype(t)), [1], one.tobytes(), raw=True
    )
    add("ConstantOfShape", pick(rng, [9, 20]), [i64(*shape_of(rng))], value=value)
    add("ConstantOfShape", 9, [i64(*shape_of(rng))])
    add(
        "EyeLike",
        9,
        [numbers(rng, pick(rng, [np.float32, np.int64]), shape_of(rng, 2, 1))],
        k=pick(rng, [0, 1, -1, 5, -5]),
        **pick(rng, [{}, {"dtype": TensorProto.DOUBLE}, {"dtype": TensorProto.INT32}]),
    )
    for t in (np.int16, np.int32, np.int64):
        add(
            "Range",
            11,
            [t(v) for v in (rng.integers(-50, 50), rng.integers(-50, 50), pick(rng, [1, 2, -1, -3, 7]))],
        )
    for t in (np.float32, np.float64):
        add(
            "Range",
            11,
            [t(v) for v in (rng.standard_normal(), 5 * rng.standard_normal(), rng.standard_normal() / 10)],
        )
        add("Range", 11, [t(0), t(1), t(pick(rng, [0.1, 0.3, 1e-3, -1, 3]))])
    add("BitCast", 26, [numbers(rng, np.float32, shape_of(rng))], to=TensorProto.INT32)


def gathers(rng, add):
    t = pick(rng, MOVED)
    x = numbers(rng, t, shape_of(rng, int(rng.integers(1, 4)), 1))
    axis = int(rng.integers(-x.ndim, x.ndim))
    extent = x.shape[axis]
    kind = pick(rng, [np.int32, np.int64])
    opset = pick(rng, [11, 13])
    add("Gather", opset, [x, rng.integers(-extent, extent, shape_of(rng)).astype(kind)], axis=axis)
    add("Gather", 1, [x, rng.integers(0, extent, shape_of(rng)).astype(kind)], axis=axis % x.ndim)
    add("Gather", 13, [x, np.array([pick(rng, [extent, -extent - 1, HIGH, LOW])])], axis=axis)
    s = [int(rng.integers(0, d + 1)) for d in x.shape]
    s[axis] = int(rng.integers(0, 5))
    picks = rng.integers(-extent, extent, s)
    add("GatherElements", opset, [x, picks.astype(kind)], axis=axis)
    s = [int(rng.integers(1, d + 1)) for d in x.shape]
    add(
        "ScatterElements",
        pick(rng, [11, 13, 16, 18]),
        [x, rng.integers(-extent, extent, s).astype(kind), numbers(rng, t, s)],
        axis=axis,
    )
    order = np.broadcast_to(
        rng.permutation(extent).reshape([-1 if d == axis % x.ndim else 1 for d in range(x.ndim)]), x.shape
    ).astype(kind)
    add("ScatterElements", pick(rng, [11, 18]), [x, order, numbers(rng, t, x.shape)], axis=axis)
    add("Scatter", 9, [x, order, numbers(rng, t, x.shape)], axis=axis % x.ndim)
    depth = int(rng.integers(1, x.ndim + 1))
    lead = shape_of(rng, int(rng.integers(1, 3)), 1)
    index = np.stack([rng.integers(-d, d, lead) for d in x.shape[:depth]], -1)
    add("GatherND", pick(rng, [11, 12, 13]), [x, index])
    if x.ndim > 1:
        inner = np.stack([rng.integers(-x.shape[1], x.shape[1], (x.shape[0], 2))], -1)
        add("GatherND", pick(rng, [12, 13]), [x, inner], batch_dims=1)
    add("ScatterND", pick(rng, [11, 13, 16, 18]), [x, index, numbers(rng, t, lead + x.shape[depth:])])
    few = rng.permutation(x.shape[0])[: int(rng.integers(1, x.shape[0] + 1))].reshape(-1, 1)
    add("ScatterND", pick(rng, [11, 18]), [x, few, numbers(rng, t, (len(few),) + x.shape[1:])])
    add("Compress", pick(rng, [9, 11]), [x, numbers(rng, np.bool_, (int(rng.integers(0, x.size + 1)),))])
    add("Compress", 11, [x, numbers(rng, np.bool_, (int(rng.integers(0, extent + 1)),))], axis=axis)
    n = numbers(rng, pick(rng, [np.float32, np.int64, np.int32, np.uint8, np.bool_]), shape_of(rng))
    add("NonZero", pick(rng, [9, 13]), [n])
    depth = int(rng.integers(1, 5))
    chosen = rng.integers(-depth - 1, depth + 2, shape_of(rng))
    add(
        "OneHot",
        11,
        [
            chosen.astype(kind),
            np.array(depth),
            numbers(rng, pick(rng, [np.float32, np.int64, np.int32]), (2,)),
        ],
        axis=int(rng.integers(-chosen.ndim - 1, chosen.ndim + 1)),
    )
    add("OneHot", 9, [abs(chosen), np.array(depth), numbers(rng, np.float32, (2,))])


def casts(rng, add):
    types = INTS + FLOATS + [BF16, np.bool_]
    codes = {np.dtype(t): helper.np_dtype_to_tensor_dtype(np.dtype(t)) for t in types}
    for source in types:
        target = pick(rng, types)
        shape = shape_of(rng)
        x = numbers(rng, source, shape)
        if np.dtype(target).kind in "iu" and np.dtype(source).kind not in "iub" and rng.integers(2):
            x = np.abs(rng.standard_normal(shape) * 30).astype(source)
        add("Cast", pick(rng, [9, 13, 19]), [x], to=codes[np.dtype(target)])
        wide = (rng.integers(LOW, HIGH, 40) >> rng.integers(0, 60, 40)) | 1  # many digits: rounding matters
        if np.dtype(source).kind in "iu":
            add("Cast", 13, [wide.astype(source)], to=codes[np.dtype(pick(rng, FLOATS + [BF16]))])
        elif source in (np.float32, np.float64):
            add(
                "Cast",
                13,
                [(rng.standard_normal(40) * 2.0 ** rng.integers(-30, 18, 40)).astype(source)],
                to=codes[np.dtype(pick(rng, FLOATS + [BF16]))],
            )
        add("CastLike", pick(rng, [15, 19]), [x, numbers(rng, target, ())])
    ties = (1 + (2 * np.arange(64) + 1) * 2.0**-11) * 2.0 ** rng.integers(-26, 15, 64)
    add("Cast", 13, [ties.astype(np.float32)], to=TensorProto.FLOAT16)
    add("Cast", 13, [ties * (1 + 2.0**-40)], to=TensorProto.FLOAT16)
    add("Cast", 13, [((1 + (2 * np.arange(64) + 1) * 2.0**-8) * (1 + 2.0**-40))], to=TensorProto.BFLOAT16)


def divisors(x, y):
    """y without a -1 by which the smallest integer would be divided, which ends the process."""
    lowest = x.dtype.kind == "i" and (x == np.iinfo(x.dtype).min).any()
    return np.where(y == -1, 1, y).astype(y.dtype) if lowest else y


def arithmetic(rng, add):
    for t in INTS + FLOATS:
        a, b = broadcast_pair(rng)
        if rng.integers(4) == 0:
            a = b = (int(rng.integers(5, 70)),)  # long enough for vector loops and their tails
        x, y = numbers(rng, t, a), numbers(rng, t, b)
        for op in ("Add", "Sub", "Mul", "Div"):
            add(op, pick(rng, [7, 13, 14]), [x, divisors(x, y) if op == "Div" else y])
        if np.dtype(t).kind == "u" or np.dtype(t).kind == "i":
            safe = np.where(numbers(rng, t, b, True) == 0, 3, numbers(rng, t, b, True)).astype(t)
            safe = divisors(x, np.where(safe == 0, 2, safe).astype(t))
            add("Div", 14, [x, safe])
            add(
                "Mod",
                pick(rng, [10, 13]),
                [x, safe],
                fmod=int(rng.integers(2)),
            )
        else:
            add("Mod", pick(rng, [10, 13]), [x, y], fmod=1)
            add("Sum", pick(rng, [8, 13]), [x, y])
            add("Sum", 13, [x, y, numbers(rng, t, b)])
            add("Sum", 13, [x])
        for op in ("Min", "Max"):
            plain = [numbers(rng, t, s, bool(rng.integers(2))) for s in (a, b)]
            add(op, pick(rng, [8, 12, 13]), plain)
            add(op, 13, plain + [numbers(rng, t, a, True)])
    for t in (np.int32, np.int64):
        add("Pow", pick(rng, [12, 13, 15]), [numbers(rng, t, (5,), True), rng.integers(0, 5, (5,)).astype(t)])
        add("Pow", 13, [numbers(rng, t, (2, 3)), t(pick(rng, [0, 1, 2, 3]))])
    for t in (np.uint8, np.uint16, np.uint32, np.uint64):
        add(
            "BitShift",
            11,
            [numbers(rng, t, (9,)), rng.integers(0, 9, (9,)).astype(t)],
            direction=pick(rng, ["LEFT", "RIGHT"]),
        )
    for t in INTS:
        for op in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
            a, b = broadcast_pair(rng)
            add(op, 18, [numbers(rng, t, a), numbers(rng, t, b)])
        add("BitwiseNot", 18, [numbers(rng, t, shape_of(rng))])


def logic(rng, add):
    for t in INTS + FLOATS + [np.bool_, object]:
        a, b = broadcast_pair(rng)
        x, y = numbers(rng, t, a), numbers(rng, t, b)
        add("Equal", pick(rng, [11, 13, 19]), [x, y])
        if t not in (np.bool_, object):
            add(pick(rng, ["Less", "Greater"]), pick(rng, [9, 13]), [x, y])
            add(pick(rng, ["LessOrEqual", "GreaterOrEqual"]), pick(rng, [12, 16]), [x, y])
    for op in ("And", "Or", "Xor"):
        a, b = broadcast_pair(rng)
        add(op, 7, [numbers(rng, np.bool_, a), numbers(rng, np.bool_, b)])
    add("Not", 1, [numbers(rng, np.bool_, shape_of(rng))])
    for t in FLOATS:
        add("IsNaN", pick(rng, [9, 13, 20]), [numbers(rng, t, shape_of(rng))])
        add(
            "IsInf",
            pick(rng, [10, 20]),
            [numbers(rng, t, shape_of(rng))],
            detect_negative=int(rng.integers(2)),
            detect_positive=int(rng.integers(2)),
        )


def unary(rng, add):
    for t in INTS + FLOATS:
        shape = pick(rng, [shape_of(rng), (int(rng.integers(5, 70)),)])
        x = numbers(rng, t, shape)
        for op in ("Neg", "Abs", "Sign"):
            add(op, 13, [x])
        add("Relu", pick(rng, [6, 13, 14]), [x])
        bounds = [numbers(rng, t, (), True) if rng.integers(3) else None for _ in range(2)]
        if bounds[0] is not None and bounds[1] is not None and bounds[0] > bounds[1]:
            bounds.reverse()
        add("Clip", pick(rng, [11, 12, 13]), [x] + bounds)
        if np.dtype(t).kind == "f":
            for op in ("Floor", "Ceil", "Sqrt", "Reciprocal"):
                add(op, pick(rng, [6, 13]), [x])
            add("Round", 11, [x])
            add("Clip", 12, [x, np.asarray(t(pick(rng, [0.0, -0.0, -1]))), np.asarray(t(1))])
            few = np.clip(np.nan_to_num(x.astype(np.float64), nan=0.5), -110, 110).astype(t)
            for op, domain in TRANSCENDENTAL.items():
                add(op, 13, [few if domain is None or rng.integers(4) == 0 else np.clip(few, *domain)])
    add("Clip", 6, [numbers(rng, np.float32, shape_of(rng))], min=-1.0, max=2.5)
    add("Clip", 6, [numbers(rng, np.float32, shape_of(rng))], max=2.5)


def reductions(rng, add):
    for op in (
        "ReduceSum",
        "ReduceProd",
        "ReduceMean",
        "ReduceMax",
        "ReduceMin",
        "ReduceSumSquare",
        "ReduceL1",
    ):
        for t in (np.int32, np.int64, np.int8, np.uint8, np.float32, np.float64):
            shape = shape_of(rng, int(rng.integers(1, 5)))
            x = numbers(rng, t, shape, np.dtype(t).kind == "f" or bool(rng.integers(2)))
            if np.dtype(t).kind == "i" and np.dtype(t).itemsize > 1 and rng.integers(3) == 0:
                x = (rng.integers(-(2**30), 2**30, shape) * (1 if t == np.int32 else 997)).astype(t)
            rank = len(shape)
            axes = [int(v) for v in rng.permutation(rank)[: int(rng.integers(0, rank + 1))]]
            if rng.integers(2):
                axes = [v - rank for v in axes]
            keep = int(rng.integers(2))
            operand = 13 if op == "ReduceSum" else 18
            add(
                op,
                pick(rng, [operand, 20 if operand == 18 else 13]),
                [x] + ([i64(*axes)] if rng.integers(4) else []),
                keepdims=keep,
                **({"noop_with_empty_axes": 1} if rng.integers(5) == 0 else {}),
            )
            add(op, 11, [x], keepdims=keep, **({"axes": axes} if axes else {}))
            add(op, 1, [x], keepdims=keep, **({"axes": [v % rank for v in axes]} if axes else {}))
    for t in (np.int32, np.int64, np.float32, np.float64, np.uint8, np.int8):
        x = numbers(rng, t, shape_of(rng, int(rng.integers(1, 4)), 1), bool(rng.integers(2)))
        x = np.where(rng.integers(0, 2, x.shape), x, numbers(rng, t, (), True)).astype(t)  # ties
        axis = int(rng.integers(-x.ndim, x.ndim))
        for op in ("ArgMax", "ArgMin"):
            add(
                op,
                pick(rng, [12, 13]),
                [x],
                axis=axis,
                keepdims=int(rng.integers(2)),
                select_last_index=int(rng.integers(2)),
            )
            add(op, 1, [x], axis=axis % x.ndim)
        k = int(rng.integers(0, x.shape[axis] + 2))
        add("TopK", 11, [x, i64(k)], outputs=2, axis=axis, largest=int(rng.integers(2)))
        add("TopK", 10, [x, i64(k)], outputs=2, axis=axis % x.ndim)
        add(
            "CumSum",
            pick(rng, [11, 14]),
            [x, np.array(axis)],
            exclusive=int(rng.integers(2)),
            reverse=int(rng.integers(2)),
        )


def products(rng, add):
    """Operands of one magnitude, so that sums of few terms cancel little; some are NaN or infinite."""

    def operand(t, shape):
        x = rng.standard_normal(shape).astype(t)
        return np.where(rng.integers(0, 30, shape) == 0, pick(rng, [np.nan, np.inf, -np.inf]), x).astype(t)

    for t in (np.float32, np.float64, np.float16):
        a, b = broadcast_pair(rng)
        rows, inner, columns = shape_of(rng, 3)
        left = (*a, rows, inner) if rng.integers(4) else (inner,)
        right = (*b, inner if rng.integers(8) else inner + 1, columns) if rng.integers(4) else (inner,)
        add("MatMul", pick(rng, [1, 9, 13]), [operand(t, left), operand(t, right)])
        shape = shape_of(rng, int(rng.integers(2, 5)))
        channels = shape[1] if rng.integers(8) else shape[1] + 1
        scale, bias, mean = (operand(t, (channels,)) for _ in range(3))
        variance = np.abs(operand(t, (channels,)))
        operands = [operand(t, shape), scale, bias, mean, variance]
        add("BatchNormalization", pick(rng, [9, 14, 15]), operands, epsilon=float(pick(rng, [1e-5, 0.1])))
        add("BatchNormalization", pick(rng, [14, 15]), operands, training_mode=1)  # it needs three results


def quantizations(rng, add):
    """Halves of steps, where rounding shows, and what is out of range."""
    for t in (np.int8, np.uint8, np.int16, np.uint16):
        shape = shape_of(rng)
        scales = [0.02, 1 / 3, 0.5, -0.1, 1e-30, 2e38, float(abs(rng.standard_normal())) + 1e-3]
        scale = np.float32(pick(rng, scales if rng.integers(8) else [0.0, np.inf, np.nan, 1e-42]))
        limits = np.iinfo(t)
        zero = t(pick(rng, [0, 1, limits.min, limits.max, 7]))
        halves = rng.integers(2 * limits.min - 9, 2 * limits.max + 9, shape) * np.float32(0.5)
        x = np.float32(halves) * scale if rng.integers(3) else numbers(rng, np.float32, shape)
        x = np.asarray(x, np.float32)
        opsets = [10, 13, 19, 21, 23] if limits.bits == 8 else [21, 23]
        add("QuantizeLinear", pick(rng, opsets), [x, scale, zero])
        if t == np.uint8:
            add("QuantizeLinear", pick(rng, opsets), [x, scale])
        if shape:
            axis = int(rng.integers(-len(shape), len(shape)))
            steps = np.float32(rng.uniform(0.01, 2, shape[axis]))
            zeros = rng.integers(limits.min, limits.max, shape[axis], endpoint=True).astype(t)
            add("QuantizeLinear", pick(rng, [v for v in opsets if v > 10]), [x, steps, zeros], axis=axis)


def window(rng, extents, opset, pads=True):
    """Attributes of windows over these axes that mostly fit, in any combination."""


FAMILIES = (
    movement,
    makers,
    gathers,
    casts,
    arithmetic,
    logic,
    unary,
    activations,
    softmax,
    reductions,
    pooling,
    resizing,
    convolutions,
    products,
    quantizations,
)
REPEATS = {
    movement: 24,
    makers: 8,
    gathers: 16,
    casts: 8,
    arithmetic: 6,
    logic: 6,
    unary: 6,
    activations: 6,
    softmax: 4,
    reductions: 4,
    pooling: 6,
    resizing: 4,
    convolutions: 8,
    products: 24,
    quantizations: 12,
}


def make(seed, rounds):
    rng = np.random.default_rng(seed)
    cases = []

    def add(op, opset, inputs, outputs=1, must_fold=False, **attrs):
        cases.append(
            Case(op, opset, [None if v is None else np.asarray(v) for v in inputs], attrs, outputs, must_fold)
        )

    with np.errstate(all="ignore"):
        for _ in range(rounds):
            for family in FAMILIES:
                for _ in range(REPEATS[family]):
                    family(rng, add)
    return cases
