"""Types, values and scopes of the graphs that _graphs.py makes, and what their operators do to shapes."""

import math

import numpy as np
from onnx import helper

F32, F64, I64, I32, BOOL, F16 = (
    np.dtype(t) for t in ("float32", "float64", "int64", "int32", "bool", "float16")
)
SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-42, -1e-40, 3.4e38, -3.4e38, 1.0, -1.0, 0.5, 65504.0, 6e-8]
MAX_ELEMENTS = 2000


class Value:
    def __init__(self, name, dtype, shapes, ints=None, free=False):
        self.name, self.dtype, self.shapes, self.ints, self.free = (
            name,
            dtype,
            [tuple(s) for s in shapes],
            ints,
            free,
        )

    @property
    def rank(self):
        return len(self.shapes[0])

    def fixed(self, axis):
        """Is the extent the same at all sizes?"""
        return len({s[axis] for s in self.shapes}) == 1

    def elements(self):
        return max(math.prod(s) for s in self.shapes)


class Scope:
    """A graph or subgraph in the making; sees the values of its parents."""

    def __init__(self, parent=None):
        self.parent, self.values, self.nodes, self.initializers = parent, [], [], []
        self.depth = parent.depth + 1 if parent else 0
        self.count = 0

    def visible(self):
        return (self.parent.visible() if self.parent else []) + self.values


def onnx_type(dtype):
    return helper.np_dtype_to_tensor_dtype(dtype)


def data(rng, dtype, shape, profile=None):
    """Values of a type: plain ones, special ones, or small integers."""
    profile = profile or rng.choice(["plain", "plain", "special", "small"])
    n = math.prod(shape)
    if dtype == BOOL:
        flat = [rng.random() < 0.5 for _ in range(n)]
    elif dtype.kind == "f":
        pick = {
            "plain": lambda: rng.gauss(0, 1),
            "special": lambda: rng.choice(SPECIAL) if rng.random() < 0.6 else rng.gauss(0, 3),
            "small": lambda: float(rng.randint(-3, 3)),
        }[profile]
        flat = [pick() for _ in range(n)]
    else:
        info = np.iinfo(dtype)
        extreme = [info.min, info.max, 0, 1, -1, info.max - 1]
        flat = [
            rng.choice(extreme) if profile == "special" and rng.random() < 0.6 else rng.randint(-5, 5)
            for _ in range(n)
        ]
    with np.errstate(all="ignore"):
        return np.array(flat, dtype=np.float64 if dtype.kind == "f" else dtype).astype(dtype).reshape(shape)


def broadcast(*values):
    """The shape at every size that values of these shapes have together; None where they do not fit."""
    try:
        return [np.broadcast_shapes(*shapes) for shapes in zip(*(v.shapes for v in values))]
    except ValueError:
        return None


def small(shapes):
    return max(math.prod(s) for s in shapes) <= MAX_ELEMENTS and all(len(s) <= 5 for s in shapes)


def each(f, *lists):
    """f at every size; None where an operand is not known or a result is no longer small."""
    if any(x is None for x in lists):
        return None
    with np.errstate(all="ignore"):
        out = [np.asarray(f(*x)) for x in zip(*lists)]
    return out if max(o.size for o in out) <= 64 else None
