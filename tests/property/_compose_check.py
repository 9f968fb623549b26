"""What must hold of a composition and what graphopt makes of it."""

import contextlib
import dataclasses
import math
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

import _shrink
import random_graphs
from lib import backend_cases, compare, counting, runs

EXACT = [
    "-O0",
    "-O1",
    "--exact",
    "-O0 --infer",
    "-O1 --infer",
    "--exact --infer",
    "-O3 --exact",
    "-O1 --regions functions",
    "--exact --regions functions",
    "--exact --infer --regions functions",
    "--exact --regions metadata",
]
ROUNDING = [
    "",
    "-O3",
    "--infer",
    "-O3 --infer",
    "--regions functions",
    "-O3 --regions functions",
    "--infer --regions functions",
    "-O3 --infer --regions functions",
]
LEVELS = {
    name: getattr(ort.GraphOptimizationLevel, f"ORT_{name}")
    for name in ("ENABLE_BASIC", "ENABLE_EXTENDED", "ENABLE_ALL")
}
FRESH = "FRESH"
# What a result may move when the floats that go in move by a part in a million, times this, is rounding.
NOISE_FACTOR = 10


@dataclasses.dataclass
class Failure(Exception):
    """kind: what went wrong, in a word; `at`: the binding, `output`: the name of the result, `level`: of
    ONNX Runtime, where one differs; own: how ONNX Runtime itself shows the same, if it does."""

    kind: str
    options: str
    text: str
    at: int = 0
    output: str = ""
    level: str = ""
    own: str = ""

    def __str__(self):
        return f"{self.kind} [{self.options}]: {self.text}"


def session(model, level=None):
    """`level`: None for no optimizations, a key of LEVELS, or FRESH for no optimizations and memory that is
    taken anew for each value."""
    if level is None or level == FRESH:
        return runs.session(model, fresh=level == FRESH)
    options = ort.SessionOptions()
    options.graph_optimization_level = LEVELS[level]
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    data = model if isinstance(model, bytes) else model.SerializeToString()
    return ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def run(model, feeds, level=None):
    """Results by name for each feed, or the text of its error; a text alone when the model does not load."""
    try:
        s = session(model, level)
    except Exception as e:  # noqa: BLE001 - ONNX Runtime has many kinds
        return " ".join(str(e).split())
    names = [o.name for o in s.get_outputs()]
    known = {i.name for i in s.get_inputs() + s.get_overridable_initializers()}
    found = []
    for feed in feeds:
        try:
            with runs.filled_memory() if level == FRESH else contextlib.nullcontext():
                found.append(dict(zip(names, s.run(None, {k: v for k, v in feed.items() if k in known}))))
        except Exception as e:  # noqa: BLE001
            found.append(" ".join(str(e).split()))
    return found


def rejected(model):
    """Why onnx.checker does not take the model with all its shapes; None when it does."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception as e:  # noqa: BLE001 - onnx raises errors of many types
        return " ".join(str(e).split())[:300]
    return None


def half(value):
    while isinstance(value, list) and value:
        value = value[0]
    return getattr(value, "dtype", None) == np.float16


def unlike(a, b, exact):
    """None when b may stand for a, else a text."""
    text = runs.bit_difference(a, b)
    if text is None or (exact and not half(a)):
        return text
    try:
        return None if compare.difference(a, b) <= compare.tolerance(a) else text
    except compare.Unlike:
        return text


# ---- the checks --------------------------------------------------------------------------------------------


def moved(feeds, rng):
    """Feeds whose floats differ by about a part in a million."""

    def one(v):
        if isinstance(v, list):
            return [one(x) for x in v]
        if v.dtype.kind != "f":
            return v
        step = 1e-6 if v.dtype.itemsize > 2 else 1e-3
        with np.errstate(all="ignore"):
            return (v * (1 + step * rng.uniform(-1, 1, v.shape))).astype(v.dtype)

    return {k: one(v) for k, v in feeds.items()}


class Checker:
    def __init__(self, tool, folder):
        self.tool, self.folder, self.made = tool, Path(folder), None

    def optimize(self, source, target, options):
        target = self.folder / target
        target.unlink(missing_ok=True)
        command = [self.tool, str(source), "-o", str(target), "-q", *options.split()]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
        except subprocess.TimeoutExpired:
            raise Failure("no end", options, "within 60 s") from None
        if done.returncode or not os.path.exists(target):
            text = done.stderr.strip()[-400:]
            raise Failure(f"status {done.returncode}", options, text)
        return target

    def check(self, model, feeds, options, base=None, deep=True):
        """Raises Failure. base: what run() gives for the model."""
        base = run(model, feeds) if base is None else base
        source = self.folder / "in.onnx"
        source.write_bytes(model.SerializeToString())
        target = self.optimize(source, "out.onnx", options)
        data = target.read_bytes()
        made = self.made = onnx.load_from_string(data)
        if why := backend_cases.interface_change(model.graph, made.graph):
            raise Failure("interface", options, why)
        exact = options in EXACT
        self.compare(model, data, feeds, base, options, exact)
        old, new = work(model), work(made)
        if new.total() > old.total():
            raise Failure("more nodes", options, f"more of {dict(new - old)}, less of {dict(old - new)}")
        again = self.optimize(target, "again.onnx", options)
        if again.read_bytes() != data:
            raise Failure("second run", options, first_change(made, onnx.load(again)))
        if (why := rejected(made)) and not rejected(model):
            raise Failure("checker", options, why)
        self.declarations(model, made, feeds, base, options)
        if deep:
            self.optimized(model, data, feeds, options)

    def compare(self, model, data, feeds, base, options, exact):
        after = run(data, feeds)
        if isinstance(after, str):
            raise Failure("not loaded", options, after[:300])
        for k, (a, b) in enumerate(zip(base, after)):
            if isinstance(a, str):
                continue
            if isinstance(b, str):
                raise Failure("does not run", options, f"binding {k}: {b[:300]}", k)
            for name in a:
                text = unlike(a[name], b[name], exact)
                if text and not (not exact and self.is_rounding(model, feeds[k], name, a[name], b[name])):
                    raise Failure("differs", options, f"binding {k}, output {name}: {text}", k, name)

    @staticmethod
    def is_rounding(model, feed, name, a, b):
        """Whether the result moves as much when the inputs or the runtime's rounding move a little."""
        rng = np.random.default_rng(1)
        found = run(model, [moved(feed, rng) for _ in range(6)])
        found += [r[0] for level in LEVELS if not isinstance(r := run(model, [feed], level), str)]
        try:
            far = compare.difference(a, b)
        except compare.Unlike:
            far = math.inf
        for r in found:
            if isinstance(r, str):
                continue
            try:
                if compare.difference(a, r[name]) * NOISE_FACTOR >= far:
                    return True
            except compare.Unlike:
                if runs_layout(a) == runs_layout(b):
                    return True
        return False

    def declarations(self, model, made, feeds, base, options):
        """What the file says of its values against a run that shows them."""
        claims = {v.name: v.type for v in [*made.graph.value_info, *made.graph.output]}
        shown = {o.name for o in made.graph.output}
        results = base
        more = [v.name for v in made.graph.value_info if v.name not in shown]
        own_names = {o for n in made.graph.node for o in n.output}
        more = [n for n in more if n in own_names]
        if more:
            wide = _shrink.copy(made)
            wide.graph.output.extend(onnx.ValueInfoProto(name=n) for n in more)
            results = run(wide, feeds)
            if isinstance(results, str):
                return
        for k, found in enumerate(results):
            if isinstance(found, str) or isinstance(base[k], str):
                continue
            symbols = {}
            for i in model.graph.input:
                for axis, d in enumerate(i.type.tensor_type.shape.dim):
                    if d.dim_param and isinstance(feeds[k].get(i.name), np.ndarray):
                        symbols[d.dim_param] = feeds[k][i.name].shape[axis]
            fresh = dict(symbols)
            for name, value in found.items():
                if isinstance(value, np.ndarray) and (
                    text := claim(claims.get(name), name, value, fresh, symbols)
                ):
                    raise Failure("claim", options, f"binding {k}, value {name}: {text}", k, name)

    def optimized(self, model, data, feeds, options):
        """With all optimizations of ONNX Runtime the result loads and runs as the original does."""
        before = run(model, feeds, "ENABLE_ALL")
        if isinstance(before, str):
            return
        after = run(data, feeds, "ENABLE_ALL")
        level = "ENABLE_ALL"
        if isinstance(after, str):
            raise Failure("not loaded", options, f"optimized: {after[:300]}", level=level)
        for k, (a, b) in enumerate(zip(before, after)):
            if isinstance(a, str):
                continue
            if isinstance(b, str):
                raise Failure("does not run", options, f"optimized, binding {k}: {b[:300]}", k, level=level)
            for name in a:
                if unlike(a[name], b[name], False) and not self.is_rounding(
                    model, feeds[k], name, a[name], b[name]
                ):
                    text = f"optimized, binding {k}, output {name}: {runs.bit_difference(a[name], b[name])}"
                    raise Failure("differs", options, text, k, name, level)


def work(model):
    """Nodes by operator, without constants and deformations: of these hoisting may add some."""
    found = counting.operators(model)
    for operator in ("Constant", "Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"):
        found.pop(operator, None)
    return found


def first_change(a, b):
    """The first line of two models' texts that differs."""
    for x, y in zip(*(onnx.printer.to_text(m).splitlines() for m in (a, b))):
        if x != y:
            begin = max(len(os.path.commonprefix([x, y])) - 40, 0)
            return f"{x[begin : begin + 150].strip()} became {y[begin : begin + 150].strip()}"
    return "bytes that are not in the text"


def runs_layout(value):
    return compare.layout(value) if isinstance(value, np.ndarray) else type(value)


def claim(type_proto, name, value, fresh, symbols):
    """None when the type holds for the value, else a text. fresh: {symbol: extent} of what has been seen."""
    if type_proto is None or not type_proto.HasField("tensor_type"):
        return None
    t, found = type_proto.tensor_type, f"is {value.dtype}{list(value.shape)}"
    if t.elem_type and t.elem_type != helper.np_dtype_to_tensor_dtype(value.dtype):
        return f"{found}; elem_type {t.elem_type}"
    if not t.HasField("shape"):
        return None
    if len(t.shape.dim) != value.ndim:
        return f"{found}; rank {len(t.shape.dim)}"
    for d, n in zip(t.shape.dim, value.shape):
        if d.HasField("dim_value") and d.dim_value != n:
            return f"{found}; dim {d.dim_value}"
        if d.dim_param:
            m = fresh.get(d.dim_param)
            if m is None:
                with contextlib.suppress(ArithmeticError):
                    m = random_graphs.evaluate(d.dim_param, symbols)
            if m is None and re.fullmatch(r"[^-+*/(), ]+", d.dim_param):
                m = fresh.setdefault(d.dim_param, n)
            if m is not None and m != n:
                return f"{found}; dim {d.dim_param} = {m}"
    return None
