"""Inputs for a model of which only the types are known: sizes for its open dims, and values.

    for extents in candidates(session.get_inputs(), {"batch": 3}, {"samples": 10}):
        feeds = random_feeds(session, {}, sizes_for(extents), rng)    # until the model takes them

Which sizes fit together, a type does not say: a mask may need past + seq entries, a picture a multiple of 32
pixels, a stack of convolutions some hundred samples. So sizes are candidates, tried from small ones on: 2 for
each symbol; some of them twice that, for sums of two; then larger ones. A symbol that is the first dim of an
input counts requests, as a rule, and stays 2.
"""

import itertools
import math
import sys

import numpy as np
import onnx
from bucket_shapes import extent

SMALL = 2
LARGER = (8, 16, 32, 64, 224, 512, 4096, 16384)
LARGEST_INPUT = 1 << 22  # elements
MOST_SUMS = 6  # symbols, of which each subset is tried


def symbols_of(text):
    """The symbols of an open dim: `past + seq` has two; a name that is no expression is one, None is none."""
    if not isinstance(text, str):
        return set()
    try:
        return extent(text).symbols()
    except ValueError:
        return {text}


def candidates(inputs, chosen, least):
    """Extents of the open symbols, with those that are chosen. `least`: {symbol: its least extent}."""
    dims = [(axis, text) for v in inputs for axis, text in enumerate(v.shape)]
    symbols = sorted(set().union(*(symbols_of(text) for _, text in dims)) - set(chosen))
    first = {s for axis, text in dims if axis == 0 for s in symbols_of(text)}
    growing = [s for s in symbols if s not in first]

    def sizes(n, special=(), batch=SMALL):
        grown = {s: (2 * n if s in special else batch if s in first else n) for s in symbols}
        return {**{s: max(size, least.get(s, 0)) for s, size in grown.items()}, **chosen}

    yield sizes(SMALL)
    if not symbols:
        return
    few = growing[:MOST_SUMS]
    for count in range(1, len(few)):
        for special in itertools.combinations(few, count):
            yield sizes(SMALL, special)
    for n in LARGER:
        for found in (sizes(n), sizes(n, batch=n)):
            size_of = sizes_for(found)
            shapes = [[d if isinstance(d, int) else size_of("", 0, d) for d in v.shape] for v in inputs]
            if all(math.prod(shape) <= LARGEST_INPUT for shape in shapes):
                yield found


def sizes_for(extents, buckets=None):
    """The function that random_feeds asks, for extents of symbols; 2 where there is none."""

    def size_of(name, axis, text):
        if text in extents:
            return extents[text]
        try:
            found = buckets.dims[name][axis] if buckets and name in buckets.dims else extent(text)
            return found.size({**dict.fromkeys(found.symbols(), SMALL), **extents})
        except (TypeError, ValueError):  # no name at all, or one that is no expression
            return SMALL

    return size_of


def random_feeds(session, given, size_of, rng):
    """`size_of(input, axis, text)` is the extent of an open dim."""
    feeds = {}
    for v in session.get_inputs():
        if v.name in given:
            feeds[v.name] = given[v.name]
            continue
        shape = [d if isinstance(d, int) else size_of(v.name, k, d) for k, d in enumerate(v.shape)]
        if not v.type.startswith("tensor("):
            sys.exit(f"run_manifest: '{v.name}' is a {v.type}: only tensors can be made here")
        element = v.type.removeprefix("tensor(").removesuffix(")").upper()
        dtype = onnx.helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, element))
        feeds[v.name] = random_values(v.name, shape, dtype, rng)
    return feeds


def random_values(name, shape, dtype, rng):
    """Integers are 0 or 1, which are positions in every table of two entries; what is called a length is 1,
    and what is called a mask keeps the first entry of each row: a row without any has no result that padding
    could keep."""
    if dtype == object:
        return np.full(shape, "text", dtype=object)
    if dtype.kind not in "iub":
        return rng.standard_normal(shape).astype(dtype)
    if "length" in name or name.endswith(("_len", "_lens")):
        return np.ones(shape, dtype)
    values = rng.integers(0, 2, shape).astype(dtype)
    if "mask" in name and shape and shape[-1]:
        values[..., 0] = 1
    return values
