"""Dims, types and values of the graphs that _hoist_graphs.py makes. A dim is (coefficient, sorted
symbols)."""

import math

import numpy as np
from onnx import helper

F32, F64, F16, I32, I64, U8, I8, BOOL = (
    np.dtype(t) for t in ("float32", "float64", "float16", "int32", "int64", "uint8", "int8", "bool")
)
SYMBOLS = {"n": 7, "m": 5, "batch": 3}  # and the extents at which the size of a value is judged
LIMIT = 4000
ONE = (1, ())
SPECIAL = [
    np.nan,
    np.inf,
    -np.inf,
    -0.0,
    0.0,
    1e-42,
    -1e-40,
    3.4e38,
    -3.4e38,
    1.0,
    -1.0,
    0.5,
    65504.0,
    6e-8,
    1e10,
    -1e10,
]


def times(a, b):
    return (a[0] * b[0], tuple(sorted(a[1] + b[1])))


def product(dims):
    out = ONE
    for d in dims:
        out = times(out, d)
    return out


def extent(dim, binding):
    return dim[0] * math.prod(binding[s] for s in dim[1])


def elements(shape):
    return math.prod(extent(d, SYMBOLS) for d in shape)


def onnx_type(dtype):
    return helper.np_dtype_to_tensor_dtype(dtype)


def data(rng, dtype, shape, profile):
    """Values of a type: plain, small integers, or with special ones among them."""
    n = math.prod(shape)
    if dtype == BOOL:
        return np.array([rng.random() < 0.5 for _ in range(n)], bool).reshape(shape)
    if dtype.kind == "f":
        draw = {
            "plain": lambda: rng.gauss(0, 2),
            "small": lambda: float(rng.randint(-3, 3)) * rng.choice([1.0, 1.0, -0.0]),
            "special": lambda: rng.choice(SPECIAL) if rng.random() < 0.5 else rng.gauss(0, 3),
        }[profile]
        with np.errstate(all="ignore"):
            return np.array([draw() for _ in range(n)], np.float64).astype(dtype).reshape(shape)
    info = np.iinfo(dtype)
    extreme = [info.min, info.max, 0, 1, info.max - 1]
    draw = (
        (lambda: rng.choice(extreme))
        if profile == "special" and rng.random() < 0.7
        else (lambda: rng.randint(max(-4, info.min), 5))
    )
    return np.array([draw() for _ in range(n)], dtype).reshape(shape)


class Value:
    def __init__(self, name, dtype, shape, depth=0):
        self.name, self.dtype, self.shape, self.depth = name, np.dtype(dtype), tuple(shape), depth

    @property
    def rank(self):
        return len(self.shape)


class Scope:
    def __init__(self, parent=None):
        self.parent, self.nodes, self.values, self.initializers = parent, [], [], []
        self.depth = parent.depth + 1 if parent else 0


class Unwritable(Exception):
    """A shape that cannot be written at this opset: the scene ends here."""
