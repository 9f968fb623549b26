"""Compares two models by running both in ONNX Runtime on the same inputs, its own optimizations off.

A model with symbols is run at its default sizes, its smallest ones and drawn ones, since a rewrite can be
right for one size alone. Every output of the first model has to come out of the second one, with its type and
shape:

  * integers, booleans and strings equal;
  * NaN and infinities at the same places, and every other number within the tolerance of its type, relative
    to the largest magnitude in the output; or within the rtol and atol that the model's record gives;
  * beyond that, a difference is excused by what the first model itself shows between ONNX Runtime without and
    with its optimizations, its noise: up to three times as much, for a noise of at most 0.05. Outputs that
    the record calls a selection (the rows of NonMaxSuppression or TopK, where a last bit decides a near tie)
    are excused by any noise;
  * an output that differs between two runs of the first model on the same inputs is random: type and shape
    count alone. The number of random operators that the outputs depend on must not fall, though: two draws
    that became one, or a constant, have another distribution.
"""

import dataclasses

import numpy as np
import onnx
import onnxruntime as ort

from lib import counting, inputs

# Of the largest magnitude of an output. ONNX Runtime's own levels of optimization differ by up to 8.2e-6 in
# float32 (3.0e-6 but for tv_lraspp; `drift` in the index of tests/models): rewrites that round reorder sums
# likewise, and a wrong one differs by far more (tests/lib/test_compare.py). The others lie as far from their
# type's precision.
TOLERANCE = {"float16": 1e-2, "float32": 1e-4, "float64": 1e-6}
MOST_NOISE, NOISE_FACTOR = 0.05, 3
SIZES = ("default", "smallest", "drawn:1")
RANDOM = {
    "Bernoulli",
    "Multinomial",
    "RandomNormal",
    "RandomNormalLike",
    "RandomUniform",
    "RandomUniformLike",
}


@dataclasses.dataclass
class Comparison:
    """What came out. The models are the same when no problem was found."""

    problems: list = dataclasses.field(default_factory=list)
    rel_diff: float = 0.0  # the largest relative difference of an output, excused ones among them
    runs: int = 0

    @property
    def verdict(self):
        if not self.problems:
            return "same"
        more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        return f"different: {self.problems[0]}{more}"


# --- running ------------------------------------------------------------------------------------------------


def session(model, optimized=False, threads=0):
    """An ONNX Runtime session of a path or serialized model, on the CPU; threads 0: as many as it likes."""
    options = ort.SessionOptions()
    levels = ort.GraphOptimizationLevel
    options.graph_optimization_level = levels.ORT_ENABLE_ALL if optimized else levels.ORT_DISABLE_ALL
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def results(runner, feeds):
    """{output: value}; inputs that the session does not have are left out of the feeds."""
    wanted = {i.name for i in runner.get_inputs()}
    values = runner.run(None, {k: v for k, v in feeds.items() if k in wanted})
    return dict(zip((o.name for o in runner.get_outputs()), values))


def attempt(action, *arguments):
    """(result, None), or (None, the text of the error that ONNX Runtime raised)."""
    try:
        return action(*arguments), None
    except Exception as e:  # noqa: BLE001 - ONNX Runtime has many kinds
        return None, " ".join(str(e).split())[:300]


# --- two values ---------------------------------------------------------------------------------------------


class Unlike(Exception):
    """Two values differ in more than numbers; the text is the difference."""


def difference(a, b):
    """The relative difference of two results: for floats the largest absolute one over the largest magnitude
    of `a`; for other elements the share that is unequal; the worst of the items of a sequence or map. Raises
    Unlike for another type or shape, or NaN and infinities at other places."""
    if isinstance(a, dict) and isinstance(b, dict):
        if a.keys() != b.keys():
            raise Unlike("the map has other keys")
        return max((difference(a[k], b[k]) for k in a), default=0.0)
    if isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            raise Unlike(f"a sequence of {len(a)} became one of {len(b)}")
        return max(map(difference, a, b), default=0.0)
    if a is None or b is None or isinstance(a, (dict, list)) or isinstance(b, (dict, list)):
        if a is not b:
            raise Unlike(f"{type(a).__name__} became {type(b).__name__}")
        return 0.0
    a, b = np.asarray(a), np.asarray(b)
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        raise Unlike(f"{a.dtype}{list(a.shape)} became {b.dtype}{list(b.shape)}")
    if a.dtype.kind != "f":
        return float(np.mean(a != b)) if a.size else 0.0
    a, b = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(a)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(b[finite]).all():
        raise Unlike("NaN or infinities stand at other places")
    far = np.abs(a[finite] - b[finite]).max(initial=0.0)
    return float(far / max(np.abs(a[finite]).max(initial=0.0), 1e-30))


def tolerance(value):
    """The largest relative difference that passes for a result; sequences and maps by their first item."""
    while isinstance(value, (list, dict)) and value:
        value = value[0] if isinstance(value, list) else next(iter(value.values()))
    if isinstance(value, float):
        return TOLERANCE["float32"]  # the values of a map come as numbers of Python
    return TOLERANCE.get(getattr(value, "dtype", np.dtype(bool)).name, 0.0)


def layout(value):
    """Type and shape of a tensor, the type alone of anything else."""
    return (value.dtype, value.shape) if isinstance(value, np.ndarray) else type(value)


def within(a, b, rule):
    """Whether a tensor is element by element within the tolerances of the record."""
    if rule.get("mode") != "close" or not isinstance(a, np.ndarray) or a.dtype.kind != "f":
        return False
    return np.allclose(b.astype(np.float64), a.astype(np.float64), rule["rtol"], rule["atol"], equal_nan=True)


# --- two models ---------------------------------------------------------------------------------------------


def draws(model):
    """How many random operators without a seed the outputs depend on, once per call of a function."""
    functions = {(f.domain, f.name, f.overload): f for f in model.functions}

    def inside(node):
        called = functions.get((node.domain, node.op_type, node.overload))
        own = node.op_type in RANDOM and all(a.name != "seed" for a in node.attribute)
        parts = [*(called.node if called else ()), *(n for g in counting.bodies(node) for n in g.node)]
        return own + sum(map(inside, parts))

    def reads(node):
        bodies = [g for n in counting.nested([node]) for g in counting.bodies(n)]
        return {
            *(v for n in counting.nested([node]) for v in n.input),
            *(o.name for g in bodies for o in g.output),
        }

    needed, total = {o.name for o in model.graph.output}, 0
    for node in reversed(model.graph.node):
        if needed.intersection(node.output):
            needed |= reads(node)
            total += inside(node)
    return total


class Pair:
    """The two models, loaded; run() compares them on one set of inputs."""

    def __init__(self, before, after, record, optimized):
        self.rules = {o["name"]: o.get("compare", {}) for o in record["outputs"]}
        self.path, self.optimized = before, optimized
        self.before, self.after = session(before, optimized), session(after, optimized)
        self.other, self.found = None, Comparison()
        models = [onnx.load(path, load_external_data=False) for path in (before, after)]
        parts = [models[0].graph.node, *(f.node for f in models[0].functions)]
        self.random = any(n.op_type in RANDOM | {"Dropout"} for part in parts for n in counting.nested(part))
        old, new = map(draws, models)
        if new < old:
            self.found.problems.append(f"{old} random operators became {new}")

    def noise(self, name, value, feeds):
        """What the first model shows for this output between the runtime's optimizations off and on; 0 when
        it does not run in the other setting."""
        if self.other is None:
            self.other = attempt(session, self.path, not self.optimized)[0] or False
        values = attempt(results, self.other, feeds)[0] if self.other else None
        try:
            return difference(value, values[name]) if values else 0.0
        except Unlike:
            return 1.0

    def is_random(self, name, value, feeds):
        try:
            return difference(value, results(self.before, feeds)[name]) > tolerance(value)
        except Unlike:
            return True

    def problem(self, name, a, b, feeds):
        """None when output `name` passes, else what is wrong with it."""
        rule = self.rules.get(name, {})
        try:
            far, unlike = difference(a, b), None
            self.found.rel_diff = max(self.found.rel_diff, far)
            if far <= tolerance(a) or within(a, b, rule):
                return None
        except Unlike as e:
            far, unlike = np.inf, str(e)
        if self.random and layout(a) == layout(b) and self.is_random(name, a, feeds):
            return None
        noise = self.noise(name, a, feeds)
        if noise and (rule.get("mode") == "selection" or noise <= MOST_NOISE and far <= NOISE_FACTOR * noise):
            return None
        return unlike or f"relative difference {far:.3g}, tolerance {tolerance(a):g}, noise {noise:.2g}"

    def run(self, feeds, place):
        a, error = attempt(results, self.before, feeds)
        if error:
            return  # inputs that the model itself refuses
        self.found.runs += 1
        b, error = attempt(results, self.after, feeds)
        if error:
            self.found.problems.append(f"{place}: the second model fails: {error}")
            return
        for name, value in a.items():
            wrong = self.problem(name, value, b[name], feeds) if name in b else "it is missing"
            if wrong:
                self.found.problems.append(f"{place}: output {name}: {wrong}")


def compare(before, after, record=None, which=SIZES, seeds=(0,), optimized=False):
    """The Comparison of two files. `record` is that of tests/models unless it is given; `which` are sizes as
    lib/inputs.py names them. A model that does not load, or no set of inputs that the first one takes, is a
    problem of the result, not an exception."""
    record = record or inputs.record_of(before)
    pair, error = attempt(Pair, before, after, record, optimized)
    if error:
        return Comparison([f"ONNX Runtime does not load a model: {error}"])
    tried = []
    for extents in (inputs.sizes(record, w) for w in which):
        if extents in tried:
            continue
        tried.append(extents)
        for seed in seeds:
            place = " ".join([*(f"{k}={v}" for k, v in extents.items()), f"seed {seed}"])
            pair.run(inputs.make(record, extents, seed), place)
    if not pair.found.runs:
        pair.found.problems.append("the first model takes none of the inputs")
    return pair.found
