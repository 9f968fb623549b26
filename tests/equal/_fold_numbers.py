"""What the nodes of _fold_cases.py are made of: element types, special numbers, shapes."""

from dataclasses import dataclass, field

import ml_dtypes
import numpy as np
from onnx import TensorProto, helper

BF16 = ml_dtypes.bfloat16
INTS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
FLOATS = [np.float32, np.float64, np.float16]
MOVED = INTS + FLOATS + [np.bool_, object]
LOW, HIGH = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@dataclass
class Case:
    op: str
    opset: int
    inputs: list
    attrs: dict = field(default_factory=dict)
    outputs: int = 1
    must_fold: bool = False

    @property
    def brain_results(self):
        return self.op in ("Cast", "CastLike") and (
            self.attrs.get("to") == TensorProto.BFLOAT16
            or (len(self.inputs) > 1 and self.inputs[1].dtype == BF16)
        )

    def __str__(self):
        def text(v):
            if v is None:
                return "-"
            a = np.asarray(v)
            return f"{a.dtype}{list(a.shape)} {a.ravel()[:8].tolist()}"

        return f"{self.op}-{self.opset} {self.attrs} outputs={self.outputs} " + "; ".join(
            map(text, self.inputs)
        )


def special(dtype):
    dtype = np.dtype(dtype)
    if dtype == object:
        return ["", "a", "b", "b\u00e9", "long text with spaces"]
    if dtype == np.bool_:
        return [False, True]
    if dtype.kind in "iu":
        i = np.iinfo(dtype)
        return [i.min, i.max, 0, 1, 2, 3, 7, i.max // 2] + ([-1, -2, -3] if i.min < 0 else [])
    tiny = {2: 6e-8, 4: 1e-42, 8: 5e-324}[dtype.itemsize] if dtype != BF16 else 1e-39
    return [
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        tiny,
        -tiny,
        0.5,
        1.5,
        2.5,
        -0.5,
        1.0,
        -1.0,
        3.3,
        65504.0,
        -7.25,
    ]


def numbers(rng, dtype, shape, plain=False):
    """Random elements, a third of them special unless plain."""
    n = int(np.prod(shape, dtype=np.int64))
    dtype = np.dtype(dtype)
    if dtype == object:
        a = np.array([str(v) for v in rng.integers(0, 100, n)], dtype=object)
    elif dtype == np.bool_:
        a = rng.integers(0, 2, n).astype(np.bool_)
    elif dtype.kind in "iu":
        i = np.iinfo(dtype)
        a = rng.integers(max(i.min, -20), 20, n, endpoint=True).astype(dtype)
    else:
        a = (rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4, n)).astype(dtype)
    if not plain and n:
        s = special(dtype)
        for k in range(n):
            if rng.integers(3) == 0:
                a[k] = s[rng.integers(len(s))]
    return a.reshape(shape)


def shape_of(rng, rank=None, low=0):
    rank = int(rng.integers(0, 5)) if rank is None else rank
    return tuple(int(d) for d in rng.choice([low, 1, 2, 3, 4, 5], rank, p=[0.05, 0.2, 0.25, 0.25, 0.15, 0.1]))


def broadcast_pair(rng, low=0):
    whole = shape_of(rng, low=low)

    def part():
        s = [d if rng.integers(3) else 1 for d in whole]
        return tuple(s[int(rng.integers(0, len(s) + 1)) :] if rng.integers(3) == 0 else s)

    return part(), part()


def i64(*v):
    return np.array(v, np.int64)


def pick(rng, items):
    return items[int(rng.integers(len(items)))]
