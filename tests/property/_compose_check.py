"""What must hold of a composition and what graphopt makes of it, and the proofs that a difference is ONNX
Runtime's own."""

import contextlib
import ctypes
import dataclasses
import json
import math
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnx.inliner
import onnxruntime as ort
from onnx import helper, numpy_helper

import _shrink
import random_graphs
from lib import backend_cases, compare, counting, runs
from lib.counting import bodies

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
M_PERTURB, FILL = -6, 0x80  # of mallopt(3): what malloc gives out is filled with the complement
# What a result may move when the floats that go in move by a part in a million, times this, is rounding.
NOISE_FACTOR = 10
SMALL = 8  # elements


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
    if level is None:
        return runs.session(model)
    options = ort.SessionOptions()
    if level == FRESH:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    else:
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
            with filled_memory() if level == FRESH else contextlib.nullcontext():
                found.append(dict(zip(names, s.run(None, {k: v for k, v in feed.items() if k in known}))))
        except Exception as e:  # noqa: BLE001
            found.append(" ".join(str(e).split()))
    return found


@contextlib.contextmanager
def filled_memory():
    """Numbers that nobody wrote become large ones; nothing happens where the C library has no mallopt."""
    set_option = getattr(ctypes.CDLL(None), "mallopt", lambda *_: 0)
    set_option(M_PERTURB, FILL)
    try:
        yield
    finally:
        set_option(M_PERTURB, 0)


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


# ---- variants of a model that mean the same, made without graphopt -----------------------------------------


def with_identities(graph):
    """Puts an Identity after each node's results, in bodies too; constants stay what they are."""
    outputs, nodes, names = {o.name for o in graph.output}, [], {}
    for node in graph.node:
        node.input[:] = [names.get(i, i) for i in node.input]
        for g in bodies(node):
            renamed_uses(g, names)
            with_identities(g)
        nodes.append(node)
        if node.op_type == "Constant":
            continue
        for i, o in enumerate(node.output):
            if not o:
                continue
            inner = f"{o}__own"
            if o in outputs:
                node.output[i] = inner
                nodes.append(helper.make_node("Identity", [inner], [o]))
            else:
                names[o] = inner
                nodes.append(helper.make_node("Identity", [o], [inner]))
    _shrink.keep(graph.node, nodes)
    del graph.value_info[:]


def without_identities(graph):
    """Leaves out the Identity nodes whose results are no outputs, in bodies too."""
    outputs, nodes, names = {o.name for o in graph.output}, [], {}
    for node in graph.node:
        node.input[:] = [names.get(i, i) for i in node.input]
        for g in bodies(node):
            renamed_uses(g, names)
            without_identities(g)
        if node.op_type == "Identity" and node.output[0] not in outputs:
            names[node.output[0]] = node.input[0]
        else:
            nodes.append(node)
    _shrink.keep(graph.node, nodes)


def float16(model):
    """Does the model take, hold or cast to float16?"""
    g, half_type = model.graph, onnx.TensorProto.FLOAT16
    types = {v.type.tensor_type.elem_type for v in g.input} | {t.data_type for t in g.initializer}
    nodes = [n for part in (g, *model.functions) for n in counting.nested(part.node)]
    attributes = [a for n in nodes for a in n.attribute]
    types |= {a.i for a in attributes if a.name == "to"} | {a.t.data_type for a in attributes}
    return half_type in types


def with_branches(model):
    """The branch that runs in place of each If of the main graph with a constant condition; None when there
    is none."""
    m = _shrink.copy(model)
    fed = {v.name for v in m.graph.input}
    known = {t.name: t for t in m.graph.initializer if t.name not in fed}
    known |= {n.output[0]: a.t for n in m.graph.node for a in n.attribute if a.name == "value"}
    nodes, changed = [], False
    for node in m.graph.node:
        if node.op_type != "If" or node.input[0] not in known:
            nodes.append(node)
            continue
        wanted = "then_branch" if numpy_helper.to_array(known[node.input[0]]).any() else "else_branch"
        branch = next(a.g for a in node.attribute if a.name == wanted)
        m.graph.initializer.extend(branch.initializer)
        pairs = zip(branch.output, node.output)
        nodes += [*branch.node, *(helper.make_node("Identity", [o.name], [n]) for o, n in pairs if n)]
        changed = True
    _shrink.keep(m.graph.node, nodes)
    without_identities(m.graph)
    return m if changed else None


def renamed_uses(graph, names):
    own = {v.name for v in [*graph.input, *graph.initializer]} | {o for n in graph.node for o in n.output}
    names = {a: b for a, b in names.items() if a not in own}
    for node in graph.node:
        node.input[:] = [names.get(i, i) for i in node.input]
        for g in bodies(node):
            renamed_uses(g, names)
    for o in graph.output:
        o.name = names.get(o.name, o.name)


def with_constants(model, feed):
    """The small results of the main graph at this feed, put in as constants; None where it does not run."""
    found = run(all_shown(model), [feed])
    if isinstance(found, str) or isinstance(found[0], str):
        return None
    m, names = _shrink.copy(model), {}
    for name in [o for n in model.graph.node if n.op_type != "Constant" for o in n.output if o]:
        value = found[0].get(name)
        if isinstance(value, np.ndarray) and value.size <= SMALL and value.dtype.kind in "iufb":
            names[name] = f"{name}__constant"
            m.graph.initializer.append(numpy_helper.from_array(value, names[name]))
    outputs = [o.name for o in m.graph.output]
    renamed_uses(m.graph, names)
    for o, name in zip(m.graph.output, outputs):
        o.name = name
    return m


def in_function(model):
    """All nodes of the main graph in a function that is called once; None where that cannot be written."""
    m = _shrink.copy(model)
    if m.functions or any(o.domain == "own" for o in m.opset_import):
        return None
    inputs = list(dict.fromkeys(v.name for v in [*m.graph.input, *m.graph.initializer]))
    results = list(dict.fromkeys(o.name for o in m.graph.output))
    made = {o for n in m.graph.node for o in n.output}
    if not made.issuperset(results):
        return None
    m.functions.append(helper.make_function("own", "All", inputs, results, m.graph.node, m.opset_import))
    _shrink.keep(m.graph.node, [helper.make_node("All", inputs, results, domain="own")])
    del m.graph.value_info[:]
    m.opset_import.append(helper.make_opsetid("own", 1))
    m.ir_version = max(m.ir_version, 8)
    return m


def unwrapped(model):
    """The model with one If in place of its branch, in turn; and with its functions inlined."""
    for i, node in enumerate(model.graph.node):
        if node.op_type != "If":
            continue
        for a in node.attribute:
            m = _shrink.copy(model)
            nodes = [*a.g.node]
            nodes += [helper.make_node("Identity", [o.name], [n]) for o, n in zip(a.g.output, node.output)]
            _shrink.keep(m.graph.node, [*model.graph.node[:i], *nodes, *model.graph.node[i + 1 :]])
            m.graph.initializer.extend(a.g.initializer)
            yield m
    if model.functions:
        with contextlib.suppress(Exception):
            yield onnx.inliner.inline_local_functions(model)


def undeclared(model):
    """Without value_info, and without the shapes of outputs and the dims of inputs."""
    m = _shrink.copy(model)
    del m.graph.value_info[:]
    for v in [*m.graph.input, *m.graph.output]:
        if v.type.HasField("tensor_type") and v.type.tensor_type.HasField("shape"):
            dims = len(v.type.tensor_type.shape.dim)
            del v.type.tensor_type.shape.dim[:]
            for _ in range(dims):
                v.type.tensor_type.shape.dim.add()
    for v in m.graph.output:
        v.type.tensor_type.ClearField("shape")
    return m


def all_shown(model):
    """With each result of the main graph as an output."""
    m = _shrink.copy(model)
    known = {o.name for o in m.graph.output}
    more = [o for n in m.graph.node if n.op_type != "Constant" for o in n.output if o and o not in known]
    m.graph.output.extend(onnx.ValueInfoProto(name=o) for o in more)
    return m


def variants(model):
    """(name, model, level)"""
    m = _shrink.copy(model)
    with_identities(m.graph)
    yield "with Identity", m, None
    m = _shrink.copy(model)
    without_identities(m.graph)
    yield "without Identity", m, None
    yield "all results are outputs", all_shown(model), None
    yield "no shapes declared", undeclared(model), None
    yield "memory filled", model, FRESH
    if float16(model) and (m := with_branches(model)):
        yield "float16 with branches in place", m, None
    for level in LEVELS:
        yield f"optimization {level}", model, level


def refusal(text):
    """The operator that a runtime or checker refuses, and why, without where it stands."""
    return re.sub(r".*(?=InferenceError\])", "", text)


def refused_ways(model, feed, failure):
    """Names of variants that are refused for the failure's reason though the model is not. Of a node that the
    standard forbids, ONNX Runtime runs the kernel, but refuses to load it where its inference sees more."""
    for name, m in (
        ("operands as constants", with_constants(model, feed)),
        ("in a function", in_function(model)),
    ):
        found = run(m, [feed]) if m else None
        if (
            isinstance(found, str)
            and refusal(found[:300]).split(")")[-1] == refusal(failure.text).split(")")[-1]
        ):
            yield name


def own_ways(model, feeds, failure, exact):
    """Names of the variants that differ from the model as the failure says, without graphopt. A rounding that
    only the runtime's own optimizations make is no proof against an exact run."""
    feeds = feeds[failure.at : failure.at + 1]
    if failure.kind == "checker":
        if any(rejected(m) for m in unwrapped(model)):
            yield "checker: a branch in place"
        return
    base = run(model, feeds)
    if isinstance(base, str) or isinstance(base[0], str):
        return
    if failure.kind == "not loaded":
        yield from refused_ways(model, feeds[0], failure)
    if failure.kind == "differs":
        again = run(model, feeds * 2)[1]
        if isinstance(again, str) or unlike(base[0][failure.output], again[failure.output], exact):
            yield "run again in one session"
    for name, m, level in variants(model):
        found = run(m, feeds, level)
        refused = isinstance(found, str) or isinstance(found[0], str)
        if failure.kind in ("not loaded", "does not run"):
            if refused:
                yield name
        elif failure.kind == "differs" and not refused:
            a, b = base[0][failure.output], found[0].get(failure.output)
            floats = isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and a.dtype.kind == "f"
            rounding = level in LEVELS and exact and floats and a.shape == b.shape
            if unlike(a, b, exact) and not rounding:
                yield name


def optimizer_breaks(made, feeds, failure):
    """Whether the optimizations break `made`, but not the same with an Identity after each node."""
    m = onnx.inliner.inline_local_functions(made) if made.functions else _shrink.copy(made)
    with_identities(m.graph)
    feeds = feeds[failure.at : failure.at + 1]
    plain, optimized = run(made, feeds), run(m, feeds, failure.level)
    if isinstance(plain, str) or isinstance(optimized, str) or isinstance(plain[0], str):
        return False
    if isinstance(optimized[0], str):
        return False
    return all(unlike(plain[0][k], optimized[0][k], False) is None for k in plain[0])


def own(model, feeds, failure, exact, made=None):
    """How ONNX Runtime shows the failure without graphopt, or "". `made` is what graphopt wrote: with float16
    it may be this model whose values the runtime does not round, which an Identity after each node shows."""
    way = next(own_ways(model, feeds or [{}], failure, exact), "")
    if not way and failure.level and made is not None and optimizer_breaks(made, feeds or [{}], failure):
        return "optimization of the result, not with Identity"
    if way or failure.kind != "differs" or failure.level or made is None or not float16(model):
        return way
    made = onnx.inliner.inline_local_functions(made) if made.functions else _shrink.copy(made)
    with_identities(made.graph)
    found, base = (run(m, feeds[failure.at : failure.at + 1]) for m in (made, model))
    if isinstance(found, str) or isinstance(found[0], str) or isinstance(base[0], str):
        return ""
    same = unlike(base[0][failure.output], found[0].get(failure.output), exact) is None
    return "float16 with Identity in the result" if same else ""


def unproven():
    """A text for each example of a known inconsistency that ONNX Runtime no longer shows. "shows" is the name
    of the variant that differs, "refused" says that this one does not load or run."""
    path = Path(__file__).with_name("runtime_inconsistencies.json")
    for entry in json.loads(path.read_text(encoding="utf-8"))["examples"]:
        model = onnx.parser.parse_model("\n".join(entry["model"]))
        feeds = {n: np.asarray(f["values"], f["type"]).reshape(f["shape"]) for n, f in entry["feeds"].items()}
        kind = "does not run" if entry["refused"] else "differs"
        failure = Failure(kind, "", entry["what"], output=model.graph.output[0].name)
        ways = list(own_ways(model, [feeds], failure, True))
        if entry["shows"] not in ways:
            yield f"{entry['what']}: not shown by {entry['shows']!r}, but by {ways}"


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


# ---- the checks --------------------------------------------------------------------------------------------


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
