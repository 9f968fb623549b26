"""Padded runs against true runs: is what a bucketability verdict claims so in ONNX Runtime?

A verdict (`graphopt inspect --bucketable --json`) says how each input may be padded from the true extents
to those of a bucket, and how the true results are cut out of the padded ones. `Check` draws nothing: for
given true extents, padded extents and feeds it runs both, and says what differs. `bindings` draws extents
that the verdict admits, `feeds_of` data.

Pad elements by their class: const has the verdict's value; finite is zero, and then garbage of the
magnitude of data; any is zero, garbage, and then NaN and infinities (integers: garbage). `edge_elements`
are those at the edges of a type.
"""

import collections
import dataclasses

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from lib import compare, layouts, runs, verdicts

# Of the largest element. A padded run sums in another order and by other kernels: what ONNX Runtime's levels
# of optimization show for that is 8.2e-6 in float32 (lib/compare.py), a twentieth of the tolerance. A single
# pad element that leaks into a mean of a hundred changes it by a hundredth. The type of 16 bits has a
# precision of 4.9e-4, and a result may be rounded at several nodes that the runtime computes in float32.
# Doubles are bounded by operators that the runtime evaluates by float approximations.
TOLERANCE = {"float16": 4e-3, "float32": 2e-4, "float64": 1e-6}
LEAST = 1e-3  # the largest element counts as that: what is nothing but rounding errors of cancelled terms
MASKS = 1e6  # elements from there on are masks; they must not set the scale of the others
NARROW = ("float16",)
# A mask of -1000 or less dominates scores within these bounds: what it is added to is below -500, and each
# row keeps a score above that.
SCORES = 500


# ---- extents -----------------------------------------------------------------------------------------------


def bindings(verdict, rng, count, free=None, legal=lambda extents: True):
    """Up to `count` pairs (true, padded) of extents that meet the verdict's conditions: the padded ones are
    of its lists, every third the largest. `free`: extents of symbols that no group has. `legal`: which true
    extents the model accepts beyond what its marks say."""
    for k in range(count):
        for _ in range(300):
            true = {
                s: int(rng.choice(verdict.lists[s]) if s in verdict.fixed else rng.integers(low, high + 1))
                for s, (low, high) in verdict.ranges.items()
            }
            padded = {}
            for s, n in true.items():
                larger = [n] if s in verdict.fixed else [b for b in verdict.lists[s] if b >= n]
                padded[s] = (max(larger) if k % 3 == 0 else int(rng.choice(larger))) if larger else n
            true, padded = ({**(free or {}), **e} for e in (true, padded))
            if legal(true) and verdict.admits(true) and verdict.admits(padded):
                yield true, padded
                break


def dims_of(value):
    """The extents that an input declares; a dim without a number or name is its place."""
    return [
        layouts.Extent(d.dim_value)
        if d.HasField("dim_value")
        else layouts.dim(d.dim_param or f"{value.name}[{k}]")
        for k, d in enumerate(value.type.tensor_type.shape.dim)
    ]


def inputs_of(model):
    given = {t.name for t in model.graph.initializer}
    return [v for v in model.graph.input if v.name not in given]


def related(extents, relations):
    """The extents, with those of symbols that `relations` ({symbol: expression}) give."""
    return {**extents, **{s: layouts.extent(e).value(extents) for s, e in (relations or {}).items()}}


# ---- data --------------------------------------------------------------------------------------------------


def feeds_of(model, extents, rng, ranges=None):
    """Data for a model's inputs: floats are normal, integers 0 or 1, or within `ranges` ({input: (low,
    high)}). What is called a mask keeps the first element of each row, as masks that dominate have to."""
    ranges, feeds = ranges or {}, {}
    for v in inputs_of(model):
        shape = [d.value(extents) for d in dims_of(v)]
        dtype = helper.tensor_dtype_to_np_dtype(v.type.tensor_type.elem_type)
        if dtype.kind == "f":
            values = rng.standard_normal(shape)
            if v.name in ranges:
                values = np.clip(values, *ranges[v.name])
        elif dtype.kind == "b":
            values = rng.integers(0, 2, shape)
        else:
            low, high = ranges.get(v.name, (0, 1))
            values = rng.integers(low, high + 1, shape)
        if "mask" in v.name and shape and shape[-1]:
            values[..., 0] = 1
        feeds[v.name] = np.asarray(values).astype(dtype)
    return feeds


# "extreme": the greatest and least numbers of the type, among others; "large": those of which few sums and
# products stay finite, as the analysis may assume; "equal": one of these for all elements.
EDGE_FILLS = ("extreme", "large", "equal")
LARGE = {"float16": 10.0, "float32": 1e8, "float64": 1e70}


def edge_elements(dtype, kind, fill):
    """The elements at the edges of a type that a pad of this class may have."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        some = [info.min, info.max, 0, 1, 2, 7, 2**31 - 1, 2**31, -1, -2, -(2**31), info.max - 1]
        return np.array([v for v in some if info.min <= v <= info.max], dtype)
    info, large = np.finfo(dtype), LARGE[dtype.name]
    some = [0.0, -0.0, 1.0, -1.0, large, -large, info.tiny, -info.tiny, info.smallest_subnormal, 0.3, -2.5]
    if fill == "extreme":
        some += [info.max, info.min, info.max / 2, np.sqrt(info.max), -np.sqrt(info.max), 30.0, -30.0]
    if kind == "any":
        some += [np.nan, np.inf, -np.inf]
    return np.array(some).astype(dtype)


def filled(shape, dtype, pad, fill, rng, size=None):
    """An array of pad elements. Garbage has a magnitude of which sums and products stay finite, as the
    analysis may assume; `size` is another one."""
    dtype = np.dtype(dtype)
    if pad.kind == "const" or fill == "zero":
        value = pad.value if pad.kind == "const" else 0
        if dtype.kind == "O":
            return np.full(shape, "", dtype)
        if dtype.kind in "iub" and not np.isfinite(value):
            raise ValueError(f"pad {value} in an input of {dtype}")
        return np.full(shape, value, dtype)
    if dtype.kind == "O":
        return rng.choice(np.array(["", "pad", "?"], object), shape)
    if fill in EDGE_FILLS:
        some = edge_elements(dtype, pad.kind, fill)
        return np.full(shape, rng.choice(some)) if fill == "equal" else rng.choice(some, shape)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        low = 0 if dtype.kind == "u" else -120
        return rng.integers(low, 121, shape).astype(dtype)
    if fill == "nan" and pad.kind == "any":
        return rng.choice(np.array([np.nan, np.inf, -np.inf]), shape).astype(dtype)
    return (rng.standard_normal(shape) * (size or (4 if dtype.name in NARROW else 50))).astype(dtype)


def padded_feeds(feeds, pads, true, padded, fill, rng, size=None):
    """Raises ValueError where a pad's dims are not those of the data."""
    result = dict(feeds)
    for name, pad in pads.items():
        data = np.asarray(feeds[name])
        if (shape := [d.size(true) for d in pad.dims]) != list(data.shape):
            raise ValueError(f"input {name} has the extents {list(data.shape)}, its dims say {shape}")
        whole = filled([d.size(padded) for d in pad.dims], data.dtype, pad, fill, rng, size)
        if data.ndim:
            whole[np.ix_(*(d.positions(true, padded) for d in pad.dims))] = data
        result[name] = whole
    return result


def tolerance_of(dtype, factor=1):
    return TOLERANCE.get(np.dtype(dtype).name, 0) * factor


def difference(a, b, tolerance):
    """None, or how two arrays differ: integers by anything, floats by more than the tolerance times the
    largest element, masks among them (MASKS) by more than that of themselves."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype}{list(a.shape)} became {b.dtype}{list(b.shape)}"
    if a.dtype.kind != "f":
        return None if np.array_equal(a, b) else f"{int(np.sum(a != b))} of {a.size} elements differ"
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(a)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(b[finite]).all():
        return "NaN or infinities stand at other places"
    a, b = a[finite], b[finite]
    size, far = np.abs(a), np.abs(a - b)
    scale = np.where(size >= MASKS, size, max(np.max(size[size < MASKS], initial=0), LEAST))
    if (wrong := far > tolerance * scale).any():
        return f"{int(wrong.sum())} of {a.size} elements differ, by up to {far[wrong].max():.3g}"
    return None


# ---- the check ---------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Found:
    """What a check saw."""

    compared: int = 0
    excused: int = 0  # results that rounding in the inputs changes as much
    unmet: int = 0  # runs whose data do not meet an assumption
    problems: list = dataclasses.field(default_factory=list)

    def add(self, other):
        self.compared += other.compared
        self.excused += other.excused
        self.unmet += other.unmet
        self.problems.extend(other.problems)


def scores_of(model, verdict):
    """[(value, axis)] of the nodes whose masks are assumed to dominate, as far as the model has them by that
    name."""
    names = {a["node"] for a in verdict.assumptions if a["kind"] == "mask-dominates"}
    found = []
    for n in model.graph.node:
        if (n.name and n.name in names) or names & set(n.output):
            axis = next((a.i for a in n.attribute if a.name == "axis"), -1)
            found.append((n.input[0], axis))
    return found


class Check:
    """`factor` widens the tolerances. `excuse`: a result that differs is excused where noise of 2^-22 in the
    floating inputs changes the true result by as much; for models whose conditioning nobody knows."""

    def __init__(self, model, verdict, factor=1, excuse=False, relations=None):
        self.model, self.verdict, self.factor, self.excuse = model, verdict, factor, excuse
        self.relations = relations
        self.session = runs.session(model)
        self.names = [v.name for v in self.session.get_outputs()]
        self.wanted = {v.name for v in self.session.get_inputs()}
        self.scores, self.score_session = (
            scores_of(model, verdict) if not isinstance(model, str) else [],
            None,
        )
        if missing := set(self.names) ^ set(verdict.outputs):
            raise ValueError(f"the verdict is on other outputs: {sorted(missing)[:3]}")

    def run(self, feeds):
        return self.session.run(None, {k: v for k, v in feeds.items() if k in self.wanted})

    def run_padded(self, feeds):
        """The results; where the model as it stands fails, those of the model with these extents bound: a
        node of which only extents are read may trap on pad elements, and is not there in a bucket."""
        try:
            return self.run(feeds)
        except Exception:  # noqa: BLE001 - ONNX Runtime has many kinds
            if isinstance(self.model, str):
                raise
            bound = compare.session(with_extents(self.model, feeds).SerializeToString(), True, threads=1)
            return bound.run(None, {k: v for k, v in feeds.items() if k in self.wanted})

    def dominated(self, feeds, all_rows):
        """Whether masks dominate the scores of a run: none is larger than scores may be, and in each row (in
        a padded run, rows of padding may be masked throughout) there is one that is not masked."""
        if not self.scores:
            return True
        if self.score_session is None:
            self.score_session = runs.session(with_outputs(self.model, {v for v, _ in self.scores}))
        found = self.score_session.run(None, {k: v for k, v in feeds.items() if k in self.wanted})
        known = dict(zip((o.name for o in self.score_session.get_outputs()), found))
        for value, axis in self.scores:
            scores = known[value]
            if (scores > SCORES).any():
                return False
            if all_rows and scores.size and (scores.max(axis=axis) < -SCORES).any():
                return False
        return True

    def one(self, feeds, true, padded, rng, expected=None):
        """Compares the run at these extents with padded runs, one for each fill. Raises what ONNX Runtime
        raises for the true run."""
        found = Found()
        expected = self.run(feeds) if expected is None else expected
        if not self.dominated(feeds, True):
            found.unmet += 1
            return found
        true, padded = (related(e, self.relations) for e in (true, padded))
        moved = None
        for fill in self.verdict.fills():
            where = f"{fill} pads, {true} in {padded}"
            longer = padded_feeds(
                feeds, self.verdict.pads, true, padded, fill, rng, 1 if self.scores else None
            )
            try:
                if not self.dominated(longer, False):
                    found.unmet += 1
                    continue
                got = self.run_padded(longer)
            except Exception as e:  # noqa: BLE001 - ONNX Runtime has many kinds
                found.problems.append(f"the padded run fails ({where}): {' '.join(str(e).split())[:160]}")
                continue
            known = {}
            for name, a, b in zip(self.names, expected, got):
                found.compared += 1
                why, numbers = self.unlike(self.verdict.outputs[name], a, b, true, padded, known)
                if why and numbers and self.excuse:
                    moved = self.moves(feeds, expected) if moved is None else moved
                    if name in moved:
                        found.excused += 1
                        continue
                if why:
                    found.problems.append(f"{name}: {why} ({where})")
        return found

    def unlike(self, output, a, b, true, padded, known):
        """(None or how, whether the numbers alone differ) of a true result and a padded one."""
        if not isinstance(a, np.ndarray):
            return ("a result that is no tensor", False)
        try:
            at = cut_of(output, a.shape, b.shape, true, padded, known)
        except (KeyError, ValueError, ZeroDivisionError) as e:
            return f"{e}", False
        return difference(a, b[np.ix_(*at)] if a.ndim else b, tolerance_of(a.dtype, self.factor)), True

    def moves(self, feeds, expected):
        """The outputs that noise in the inputs changes by more than the tolerance."""
        rng, noisy = np.random.default_rng(7), dict(feeds)
        found = set()
        for _ in range(2):
            for name, v in feeds.items():
                if np.asarray(v).dtype.kind == "f":
                    noise = 1 + rng.uniform(-1, 1, v.shape) * (
                        2.0**-10 if v.dtype.itemsize == 2 else 2.0**-22
                    )
                    noisy[name] = (v * noise).astype(v.dtype)
            for name, a, b in zip(self.names, expected, self.run(noisy)):
                if difference(a, b, tolerance_of(a.dtype, self.factor)):
                    found.add(name)
        return found


def cut_of(output, shape, whole, true, padded, known):
    """The padded positions of a true result, axis by axis. `known`: extents of symbols that data decide,
    which are learned on the way and equal in both runs. Raises ValueError where an extent is not what its
    formula says."""
    if len(output.cut) != len(shape) or len(shape) != len(whole):
        raise ValueError(f"{len(output.cut)} dims for extents {list(shape)} and {list(whole)}")
    at = []
    for axis, (dim, part, n, big) in enumerate(zip(output.dims, output.cut, shape, whole)):
        open_names = (dim.names() | part.names()) - set(true) - set(known)
        if len(open_names) > 1:
            raise ValueError(f"axis {axis}: nothing says what {', '.join(sorted(open_names))} are")
        for symbol in open_names:
            fitting = (v for v in range(n + 1) if dim.size({**true, **known, symbol: v}) == n)
            if (value := next(fitting, None)) is None:
                raise ValueError(f"axis {axis}: no {symbol} makes it {n}")
            known[symbol] = value
        t, p = {**true, **known}, {**padded, **known}
        if dim.size(t) != n or part.size(t) != n:
            raise ValueError(
                f"axis {axis}: extent {n}, but the formula gives {dim.size(t)}, the cut {part.size(t)}"
            )
        if part.size(p) != big:
            raise ValueError(f"axis {axis}: padded extent {big}, but the formula gives {part.size(p)}")
        at.append(part.positions(t, p))
    return at


def check(model, verdict, trials, feeds_for, rng, accept=lambda feeds: True, make=None, **options):
    """A Found over `trials`, pairs of extents. `feeds_for(true)` gives data, `accept` says whether the true
    run counts; one that the model refuses does not. `make`: in place of Check."""
    try:
        subject = (make or Check)(model, verdict, **options)
    except Exception as e:  # noqa: BLE001
        return Found(problems=[f"{type(e).__name__}: {' '.join(str(e).split())[:200]}"])
    total = Found()
    for true, padded in trials:
        feeds = feeds_for(related(true, subject.relations))
        try:
            expected = subject.run(feeds)
        except Exception:  # noqa: BLE001
            continue
        if accept(feeds):
            try:
                total.add(subject.one(feeds, true, padded, rng, expected))
            except (ValueError, KeyError) as e:
                total.problems.append(f"{e} ({true} in {padded})")
    return total


def counterexample(model, marked, feeds_for, rng, relations=None, tries=8):
    """Why a model cannot be padded with zeros or with garbage and cut as a prefix: "raises", "shape" or
    "value"; None when `tries` runs show no difference. `marked`: {symbol: (low, high)}."""
    session = runs.session(model)
    pads = {}
    for v in inputs_of(model):
        dims = [segments(d, marked) for d in dims_of(v)]
        if any(d.names() & set(marked) for d in dims):
            pads[v.name] = dims
    high = {s: h for s, (_, h) in marked.items()}
    for _ in range(tries):
        low = {s: int(rng.integers(a, max(b, a + 1))) for s, (a, b) in marked.items()}
        feeds = feeds_for(related(low, relations))
        try:
            expected = session.run(None, feeds)
        except Exception:  # noqa: BLE001 - the model refuses these extents
            continue
        for kind, fill in (("const", "zero"), ("finite", "garbage")):
            true, padded = (defaulted(feeds, v) for v in (low, high))
            known = {name: verdicts.Pad(dims, 0, kind) for name, dims in pads.items()}
            try:
                got = session.run(None, padded_feeds(feeds, known, true, padded, fill, rng))
            except Exception:  # noqa: BLE001
                return "raises"
            if how := prefix_difference(expected, got):
                return how
    return None


def defaulted(feeds, extents):
    return collections.defaultdict(lambda: 1, extents)


def segments(dim, marked):
    """A sum of several padded extents is padded segment by segment."""
    tree = dim.tree
    if isinstance(tree, tuple) and tree[0] == "+":
        parts = [layouts.Extent(t) for t in tree[1]]
        if sum(bool(p.names() & set(marked)) for p in parts) > 1:
            return layouts.Layout("++", tuple(parts))
    return dim


def prefix_difference(expected, got):
    """None where each true result stands at the begin of the padded one, else how it differs."""
    for a, b in zip(expected, got):
        if a.ndim != b.ndim or any(i > j for i, j in zip(a.shape, b.shape)):
            return "shape"
        if difference(a, b[tuple(slice(0, n) for n in a.shape)], 5 * tolerance_of(a.dtype)):
            return "value"
    return None


# ---- values inside -----------------------------------------------------------------------------------------


def with_outputs(model, names):
    """The model with these values of its graph for outputs."""
    copy = type(model)()
    copy.CopyFrom(model)
    del copy.graph.output[:]
    copy.graph.output.extend(helper.make_empty_tensor_value_info(n) for n in sorted(names))
    return copy


def with_extents(model, feeds):
    """The model for inputs of just these extents."""
    copy = type(model)()
    copy.CopyFrom(model)
    for v in inputs_of(copy):
        for d, n in zip(v.type.tensor_type.shape.dim, np.shape(feeds[v.name])):
            d.dim_value = n
    return copy


def has_infinite_constants(model):
    floats = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.DOUBLE)
    tensors = [t for t in model.graph.initializer if t.data_type in floats]
    tensors += [
        a.t for n in model.graph.node for a in n.attribute if a.HasField("t") and a.t.data_type in floats
    ]
    return any(np.isinf(numpy_helper.to_array(t)).any() for t in tensors)


class Finite:
    """Whether no value of a true run is NaN, and none infinite unless constants are: what every verdict
    assumes. Callable with the feeds."""

    def __init__(self, model):
        names = {o for n in model.graph.node for o in n.output if o}
        self.session = runs.session(with_outputs(model, names))
        self.infinite = has_infinite_constants(model)

    def __call__(self, feeds):
        arrays = (
            v for v in self.session.run(None, feeds) if isinstance(v, np.ndarray) and v.dtype.kind == "f"
        )
        return all(not np.isnan(v).any() and (self.infinite or not np.isinf(v).any()) for v in arrays)


def number(bound, extents):
    """The value of a region's bound: a number, "-inf", "inf", or an expression with slack symbols."""
    if isinstance(bound, str):
        return float(bound) if bound.lstrip("-") == "inf" else layouts.extent(bound).value(extents)
    return bound


def region_problems(claim, array, at, true, padded):
    """How the elements of a padded value contradict what is claimed of its regions. A region is the set of
    axes whose index lies in the padding."""
    extents = {**true, **{f"{s}#": padded[s] - n for s, n in true.items() if s in padded}}
    for region in claim["regions"]:
        axes = set(region["axes"])
        picked = [np.setdiff1d(np.arange(array.shape[k]), p) if k in axes else p for k, p in enumerate(at)]
        found = (array[np.ix_(*picked)] if array.ndim else array.reshape(1)).astype(np.float64)
        if not found.size:
            continue
        low, high = (number(region[k], extents) for k in ("low", "high"))
        text = f"region {sorted(axes)} in [{region['low']}, {region['high']}] = [{low}, {high}]"
        if axes and np.isnan(found).any() and not region["nan"]:
            yield f"{text} has NaN"
        if axes and np.isinf(found).any() and not (region["inf"] or region["nan"]):
            yield f"{text} has infinities"
        if axes and np.isposinf(found).any() and not (region["pinf"] or region["nan"]):
            yield f"{text} has +Inf"
        # Bounds are computed in double, the values in their own type.
        room = 0 if array.dtype.kind in "iub" else 1e-2 if array.dtype.itemsize == 2 else 1e-4
        room = max(room, region.get("rounding", 0) if array.dtype.kind == "f" else 0)
        kept = found[~np.isnan(found)] if low == high else found[np.isfinite(found)]
        with np.errstate(invalid="ignore"):
            under = kept < low - (room * (1 + abs(low)) if np.isfinite(low) else 0)
            over = kept > high + (room * (1 + abs(high)) if np.isfinite(high) else 0)
        if under.any() or over.any():
            yield f"{text} holds {kept[under | over][0]}"
