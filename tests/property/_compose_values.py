"""Graph inputs of compositions: symbols with their extents at each binding, and values at each binding."""

import numpy as np
from onnx import TypeProto, helper

from _values import SPECIAL

BINDINGS = 3  # the first has the extents of the backend cases, the others are drawn
# Names of dims that read like something else. Those that begin with a letter may stand for any number, too.
ODD_NAMES = [
    "-1",
    "N-N",
    "()",
    "+N",
    "u1",
    "u0",
    "s 0",
    "N*0",
    "unk__0",
    "q+1",
    "2*q",
    "N",
    "_d0",
    "0x2",
    "1e3",
]


def tensor_type(dtype, dims):
    return helper.make_tensor_type_proto(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), dims)


def open_type(value):
    """The type of a value of a run, dims open. Raises IndexError for an empty list, whose type no one
    knows."""
    if isinstance(value, list):
        inner = tensor_type(np.asarray(value[0]).dtype, None)
        return helper.make_sequence_type_proto(inner)
    return tensor_type(value.dtype, [None] * value.ndim)


class Symbols:
    """Dims of graph inputs."""

    def __init__(self, rng):
        self.rng, self.extents, self.alone = rng, {}, set()

    def name(self):
        if self.rng.random() < 0.06:
            return self.rng.choice(ODD_NAMES)
        return f"{self.rng.choice('NBTCH')}{len(self.extents)}"

    def dim(self, extent):
        """(name, number or None for a dim that is not declared; extents at each binding)"""
        rng, draw = self.rng, self.rng.random()
        if draw < 0.25:
            return extent, (extent,) * BINDINGS
        if draw < 0.32:
            return None, (extent, *(rng.randint(0, 5) for _ in range(BINDINGS - 1)))
        known = [s for s, e in self.extents.items() if e[0] == extent]
        if known and draw < 0.7:
            return (s := rng.choice(known)), self.extents[s]
        if draw < 0.76 and (found := self.expression(extent)):
            return found
        name = self.name()
        if name in self.extents:
            if self.extents[name][0] != extent:
                return extent, (extent,) * BINDINGS
        else:
            more = (extent if rng.random() < 0.3 else rng.randint(0, 5) for _ in range(BINDINGS - 1))
            self.extents[name] = (extent, *more)
        if name[0] in "NBTCH" and name[1:].isdigit():
            self.alone.add(name)
        return name, self.extents[name]

    def expression(self, extent):
        """A dim that exporters name by an expression over symbols that stand alone elsewhere; None when no
        symbol fits."""
        if not self.alone:
            return None
        s = self.rng.choice(sorted(self.alone))
        own, forms = self.extents[s], []
        if extent > own[0]:
            c = extent - own[0]
            forms.append((f"{s} + {c}", tuple(n + c for n in own)))
        if own[0] and extent % own[0] == 0:
            c = extent // own[0]
            forms.append((f"{c}*{s}", tuple(n * c for n in own)))
        forms += [
            (f"{s} + {t}", tuple(a + b for a, b in zip(own, self.extents[t])))
            for t in sorted(self.alone)
            if own[0] + self.extents[t][0] == extent
        ]
        if not forms:
            return None
        name, extents = self.rng.choice(forms)
        known = self.extents.setdefault(name, extents)
        return name, known


class Draw:
    """Values."""

    def __init__(self, rng, special):
        self.rng, self.special = rng, special
        self.numbers = np.random.default_rng(rng.getrandbits(64))

    def like(self, value, shape, keep):
        """Values of the type of `value`; its own where the shape is the same and `keep` is set."""
        if keep and value.shape == tuple(shape):
            return value
        if value.dtype.kind == "f":
            found = self.numbers.standard_normal(shape)
            if value.size and np.nanmin(value.astype(np.float64)) >= 0:
                found = np.abs(found)
        elif value.size:
            found = np.resize(value, shape)
        else:
            found = np.zeros(shape, value.dtype)
        with np.errstate(all="ignore"):
            return np.asarray(found).astype(value.dtype)

    def corners(self, value):
        """The value with special numbers at some places."""
        if not self.special or not value.size or self.rng.random() > 0.3:
            return value
        places = self.numbers.random(value.shape) < 0.3
        with np.errstate(all="ignore"):
            if value.dtype.kind == "f":
                found = self.numbers.choice(np.array(SPECIAL), value.shape).astype(value.dtype)
            elif value.dtype.kind in "iu":
                ends = np.iinfo(value.dtype)
                found = self.numbers.choice(np.array([ends.min, ends.max, 0, 1], value.dtype), value.shape)
            else:
                return value
        return np.where(places, found, value).astype(value.dtype)


def shape_type(elem, dims):
    t = TypeProto()
    t.tensor_type.elem_type = elem
    t.tensor_type.shape.SetInParent()
    for d in dims:
        dim = t.tensor_type.shape.dim.add()
        if isinstance(d, int):
            dim.dim_value = d
        elif d:
            dim.dim_param = d
    return t
