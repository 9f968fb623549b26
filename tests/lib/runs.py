"""Models in ONNX Runtime without its own optimizations: do two of them give the same bits?"""

import contextlib
import ctypes

import numpy as np
import onnxruntime as ort
from onnx import helper

SPECIAL = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-42, -1e-42, 3.4e38, -3.5, 1.0]

M_PERTURB, FILL = -6, 0x80  # of mallopt(3): what malloc gives out is filled with the complement


def session(model, fresh=False):
    """`model`: a path, bytes or ModelProto; `fresh`: memory is taken anew for each value. Raises what ONNX
    Runtime raises."""
    options = ort.SessionOptions()
    if fresh:
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    if not isinstance(model, (str, bytes)):
        model = model.SerializeToString()
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


@contextlib.contextmanager
def filled_memory():
    """In a fresh session, numbers that nobody wrote become large ones; nothing happens where the C library
    has no mallopt."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", lambda *_: 0)
    set_option(M_PERTURB, FILL)
    try:
        yield
    finally:
        set_option(M_PERTURB, 0)


def bit_difference(a, b):
    """None when two results of a run have the same bits (every NaN equals every other, -0 is not +0), else a
    text. Sequences and maps are compared element by element."""
    if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
        if type(a) is not type(b) or len(a) != len(b):
            return "sequences of other lengths"
        return next((d for d in map(bit_difference, a, b) if d), None)
    if isinstance(a, dict) or isinstance(b, dict):
        if not (isinstance(a, dict) and isinstance(b, dict)) or a.keys() != b.keys():
            return "other keys"
        return next((d for d in (bit_difference(a[k], b[k]) for k in a) if d), None)
    if a is None or b is None:
        return None if a is b else "an optional is empty on one side"
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype}{list(a.shape)} became {b.dtype}{list(b.shape)}"
    if a.dtype.kind == "f":
        word = np.dtype(f"u{a.itemsize}")
        wrong = (np.ascontiguousarray(a).view(word) != np.ascontiguousarray(b).view(word)) & ~(
            np.isnan(a) & np.isnan(b)
        )
    else:
        wrong = a != b
    if not np.any(wrong):
        return None
    k = int(np.flatnonzero(np.asarray(wrong).ravel())[0])
    return (
        f"{int(np.sum(wrong))} of {a.size} elements, first at {k}: {a.ravel()[k]!r} became {b.ravel()[k]!r}"
    )


def symbols_of(model):
    dims = (d for v in model.graph.input for d in v.type.tensor_type.shape.dim)
    return sorted({d.dim_param for d in dims if d.dim_param})


def feeds_for(model, extents, seed, fixed):
    """Values for the inputs that have no default. Odd seeds put special values among the floats."""
    rng = np.random.default_rng(seed)
    have, feeds = {t.name for t in model.graph.initializer}, {}
    for v in model.graph.input:
        if v.name in have:
            continue
        t = v.type.tensor_type
        shape = [d.dim_value if d.HasField("dim_value") else extents.get(d.dim_param, 2) for d in t.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(t.elem_type)
        if v.name in fixed:
            values = np.array(fixed[v.name])
        elif dtype == np.bool_:
            # A condition takes both of its values in the course of the seeds.
            values = rng.random(shape) < 0.5 if shape else np.array(seed % 2 == 0)
        elif dtype.kind in "iu":
            values = rng.integers(0, 4, shape)
        else:
            values = np.asarray(rng.standard_normal(shape) * 2)
            if seed % 2:
                values = np.where(rng.random(shape) < 0.3, rng.choice(SPECIAL, shape), values)
        with np.errstate(over="ignore"):
            feeds[v.name] = np.asarray(values).astype(dtype)
    return feeds


def extents_for(model, seed):
    """Extents of all symbols: 1 for seed 0, 0 for seed 1, from 1 to 5 for the others."""
    symbols = symbols_of(model)
    if seed < 2:
        return dict.fromkeys(symbols, 1 - seed)
    return {s: 1 + (7 * seed + 3 * k) % 5 for k, s in enumerate(symbols)}


def pair_difference(a, b, count=12, fixed=None, extents=None):
    """None when `b` gives the bits of `a` on `count` inputs, else a text. `fixed` gives values of inputs, and
    `extents` those of symbols, in every run; the others are drawn. A run with an extent of 0 that `a` refuses
    is left out; that `a` refuses any other is an error, too."""
    first, second, names = session(a), session(b), [v.name for v in a.graph.output]
    for seed in range(count):
        bound = extents_for(a, seed) | (extents or {})
        feeds = feeds_for(a, bound, seed, fixed or {})
        try:
            expected = first.run(names, feeds)
        except Exception as e:  # noqa: BLE001
            if 0 in bound.values():
                continue
            return f"the original does not run: {' '.join(str(e).split())[:200]}"
        try:
            found = second.run(names, feeds)
        except Exception as e:  # noqa: BLE001
            return f"the result does not run: {' '.join(str(e).split())[:200]}"
        for name, x, y in zip(names, expected, found):
            if d := bit_difference(x, y):
                return f"output {name}, seed {seed}, extents {bound}: {d}"
    return None
