#!/usr/bin/env python3
# LONG: --all
"""A model that dispatches between buckets gives what the dynamic model gives, for every shape.

  bucket_single.py GRAPHOPT [FOLDER] [--all] [--only NAME ...] [--draws N] [--jobs N]

graphopt_bucket_single (tests/programs), found beside the tool, makes the single model of each case: the safe
vectors of tests/vectors/buckets, models below that the vectors have nothing of, and models of tests/models
with the symbols of their records marked one by one and together (FOLDER holds them filled, as for
bucket_models.py). Each is checked by onnx (full_check), has each name once, so that no branch shadows
anything, and holds no weight twice. Then it runs beside the original in ONNX Runtime: on shapes within the
ranges, their ends included, on shapes outside, and on shapes in which two inputs contradict each other. The
runtime also tells which bucket was taken: it is the one with the least work that holds the shape, and none
for shapes that were not promised. Inputs that contradict each other, and shapes that the original refuses,
do what they do in the dynamic model that passes have cleaned up: passes rely on names of dims, too.

The short form takes the vectors, OWN and models of at most SHORT_BYTES, with fewer draws and without the
runtime's own optimizations.
"""

import argparse
import contextlib
import itertools
import json
import math
import multiprocessing as mp
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from onnx import TensorProto, helper

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "property"), str(TESTS / "equal")]
import _pool  # noqa: E402
from bucket_models import HALF, Subject, has_half, tasks_of  # noqa: E402
from lib import compare, layouts, models, padding, vectors, verdicts  # noqa: E402
from lib.tool import executable  # noqa: E402

SHORT_BYTES, SHORT_DRAWS, DRAWS = 1e6, 10, 50
LIMIT = 1200  # seconds for one case
SMALL = 128  # bytes of a constant that each branch may have for itself
FREE = 2  # extent of a symbol that is not bucketed
# What cannot be one model, and a part of the reason.
REFUSED = {
    "old_opset": "opset 10",
    "sequence": "no tensor",
    "strings_in_segments": "gather strings",
    "counted": "data decide",
}

STEPS = {"halved": 2}  # what is no multiple cannot be told from what is

HEAD = '<ir_version: 8, opset_import: ["" : {}]>\n'
# name: (opset, graph, content of --buckets, {input: values})
OWN = {
    # Types that Pad does not take, or not in this opset.
    "bools": (11, "g (bool[b,s] x) => (bool[b,s] y) { y = Not (x) }", {"s": "2..9:pow2", "b": "1,3"}, {}),
    "strings": (
        13,
        "g (string[s,3] x) => (string[3,s] y) { y = Transpose (x) }",
        {"s": "1..6:pow2"},
        {},
    ),
    "halves": (
        13,
        "g (float16[b,s] x) => (float16[b,s] y) { y = Abs (x) }",
        {"s": "1..9:pow2", "b": "2,4"},
        {},
    ),
    "shorts": (
        17,
        "g (int16[b,s] x, uint16[s] w) => (int16[s,b] y, uint16[s] z) "
        "{ y = Transpose (x)\n z = Identity (w) }",
        {"s": "1..9:pow2"},
        {},
    ),
    "bytes_13": (
        13,
        "g (bool[s] x, uint8[s] w) => (bool[s] y, uint8[s] z) { y = Not (x)\n z = Identity (w) }",
        {"s": "1..9:pow2"},
        {},
    ),
    # A maximum needs minus infinity, a count of masks 0.
    "elements": (
        18,
        "g (float[b,s] x, bool[b,s] m) => (float[b] y, int64[b] n) <int64[1] a = {1}> "
        "{ y = ReduceMax <keepdims = 0> (x, a)\n c = Cast <to = 7> (m)\n "
        "n = ReduceSum <keepdims = 0> (c, a) }",
        {"s": "1..17:pow2", "b": "1,2,4"},
        {},
    ),
    # Symbols of which one has a size only, and one is nothing but a list.
    "fixed": (
        17,
        "g (float[b,c,s] x) => (float[b,c,s] y) { y = Exp (x) }",
        {"b": "1,2,4", "c": "3,5,8|fixed", "s": "7"},
        {},
    ),
    "filtered": (
        17,
        "g (float[b,s] x) => (float[b,s] y) { y = Neg (x) }",
        {"b": "1,2,4,8|fixed", "s": "4..32:pow2", "where": "b*s <= 64"},
        {},
    ),
    # A name of its own for a sum, and an axis in two segments.
    "total": (
        17,
        "g (float[b,past,2] c, float[b,seq,2] x, int64[b,total] m) => (float[b,t,2] y, int64[b,u] z) "
        "{ y = Concat <axis = 1> (c, x)\n z = Neg (m) }",
        {"past": "0..8:step=4", "seq": "1..4:pow2", "dims": {"total": "past + seq"}},
        {},
    ),
    "strings_to_segments": (
        17,
        "g (string[p,2] c, string[q,2] x, string[t] m) => (string[p,2] y, string[q,2] z) "
        "{ y = Identity (c)\n z = Identity (x) }",
        {"p": "1..8:step=4", "q": "1..4:pow2", "dims": {"t": "p + q"}},
        {},
    ),
    "strings_in_segments": (
        17,
        "g (string[p,2] c, string[q,2] x) => (string[u,2] y) { y = Concat <axis = 0> (c, x) }",
        {"p": "1..8:step=4", "q": "1..4:pow2"},
        {},
    ),
    # No input has the symbol itself.
    "halved": (
        17,
        'g (float["h//2",3] x) => (float[n,3] y) { y = Relu (x) }',
        {"h": "2..16:step=4"},
        {},
    ),
    "doubled": (
        17,
        'g (float["2*n"] x, float["n*m",m] w) => (float[a] y, float[m,k] z) '
        "{ y = Relu (x)\n z = Transpose (w) }",
        {"n": "1..6:step=2", "m": "1,2,3"},
        {},
    ),
    # Merged axes behind a free one, an output that is an input or a constant, one that comes twice.
    "merged": (
        17,
        "g (float[f,b,s] x) => (float[f,bs] y, float[n] z) <int64[2] t = {0, -1}, int64[1] u = {-1}> "
        "{ y = Reshape (x, t)\n z = Reshape (x, u) }",
        {"b": "1..4:pow2", "s": "2..9:step=4"},
        {},
    ),
    "plain_outputs": (
        17,
        "g (float[s] x, float[2] w) => (float[s] x, float[s] y, float[2] c, float[2] v) "
        "<float[2] c = {1, 2}> { y = Relu (x)\n v = Identity (c) }",
        {"s": "1..9:pow2"},
        {},
    ),
    # What another extent of the sum would be must not be read as a bucket.
    "even": (
        17,
        "g (float[s] x) => (float[h,2] y) <int64[2] t = {-1, 2}> { y = Reshape (x, t) }",
        {"s": "2..16:step=4"},
        {},
    ),
    "one_bucket": (17, "g (float[b,s] x) => (float[b,s] y) { y = Exp (x) }", {"s": "2..9:max"}, {}),
    "old_opset": (10, "g (float[s] x) => (float[s] y) { y = Relu (x) }", {"s": "1..9:pow2"}, {}),
    "sequence": (
        17,
        "g (float[s] x, float[2] w) => (float[s] y, seq(float[2]) z) "
        "{ y = Relu (x)\n z = SequenceConstruct (w) }",
        {"s": "1..9:pow2"},
        {},
    ),
    # How many entries are not zero is in the extent of an axis that is cut.
    "counted": (
        17,
        "g (float[s] x, float[n] w) => (float[k] z) <int64[1] t = {-1}, int64[1] a = {0}> "
        "{ i = NonZero (w)\n f = Cast <to = 1> (i)\n u = Reshape (f, t)\n c = Unsqueeze (u, t)\n "
        "r = Unsqueeze (x, a)\n p = Mul (c, r)\n z = Reshape (p, t) }",
        {"s": "1..9:pow2"},
        {},
    ),
}


# ---- the cases ---------------------------------------------------------------------------------------------


class Small:
    """A model as a proto with marks; data are drawn anew for each call. Extents are multiples of its step."""

    def __init__(self, name, model, marks, values):
        self.name, self.model, self.content, self.values = name, model, marks, values
        self.relations = marks.get("dims", {})
        self.free, self.full_masks, self.rng = {}, False, np.random.default_rng(11)

    def marks(self):
        return self.content

    def legal(self, extents):
        return all(n % STEPS.get(self.name, 1) == 0 for n in extents.values())

    def drawn_free(self, verdict):
        names = {n for v in padding.inputs_of(self.model) for d in padding.dims_of(v) for n in d.names()}
        self.free = dict.fromkeys(sorted(names - set(verdict.ranges) - set(self.relations)), FREE)

    def data(self, extents):
        known = padding.related({**self.free, **extents}, self.relations)
        return padding.feeds_of(self.model, known, self.rng, self.values)


class Real(Subject):
    """A model of tests/models, with few sizes for each symbol."""

    def marks(self):
        found = super().marks()
        for g in found["groups"]:
            _, _, step = self.ranges[g["symbols"][0]]
            g["method"] = {"step": 3 * step}
        return found

    def drawn_free(self, verdict):
        pass


def own_marks(buckets):
    groups, more = [], {}
    for key, spec in buckets.items():
        if key in ("where", "dims"):
            more[key] = spec
            continue
        spec, _, fixed = spec.partition("|")
        groups.append({**verdicts.group(key, spec), **({"fixed": True} if fixed else {})})
    return verdicts.marks(groups, **more)


def small_cases():
    found = {}
    for case in json.loads((vectors.FOLDER / "buckets/cases.json").read_text(encoding="utf-8")):
        if case["expect"]["bucketable"]:
            text = (vectors.FOLDER / "buckets" / case["file"]).read_text(encoding="utf-8")
            groups = [verdicts.group(s, spec) for s, spec in case["buckets"].items()]
            marks = verdicts.marks(groups, case["values"])
            found[case["id"]] = Small(case["id"], onnx.parser.parse_model(text), marks, case["values"])
    for name, (opset, graph, buckets, values) in OWN.items():
        model = onnx.parser.parse_model(HEAD.format(opset) + graph)
        found[name] = Small(name, model, own_marks(buckets), values)
    return found


# ---- the file ----------------------------------------------------------------------------------------------


def all_graphs(model):
    stack = [model.graph]
    while stack:
        g = stack.pop()
        yield g
        for n in g.node:
            for a in n.attribute:
                stack += ([a.g] if a.HasField("g") else []) + list(a.graphs)


def payload(tensor):
    array = onnx.numpy_helper.to_array(tensor)
    return (tensor.data_type, array.shape, array.tobytes() if array.dtype != object else str(array.tolist()))


def problems_of_file(model):
    seen, weights = set(), set()
    for g in all_graphs(model):
        names = [v.name for v in g.input] + [o for n in g.node for o in n.output if o]
        names += [t.name for t in g.initializer if t.name not in {v.name for v in g.input}]
        for name in names:
            if name in seen:
                yield f"the name {name} is there twice"
            seen.add(name)
        constants = [a.t for n in g.node if n.op_type == "Constant" for a in n.attribute if a.name == "value"]
        for t in [*g.initializer, *constants]:
            content = payload(t)
            if len(content[2]) > SMALL:
                if content in weights:
                    yield f"the constant {t.name}, {content[1]}, is there twice"
                weights.add(content)


def telling(model):
    """The model with whether the shape has a bucket, and which one, as further outputs."""
    told = onnx.ModelProto()
    told.CopyFrom(model)
    root = next(n for n in told.graph.node if n.op_type == "If")
    told.graph.output.append(helper.make_tensor_value_info(root.input[0], TensorProto.BOOL, []))
    names, branch = [root.input[0]], next(a.g for a in root.attribute if a.name == "then_branch")
    chosen = next((n.input[0] for n in branch.node if n.op_type == "Less" and "below" in n.output[0]), None)
    if chosen:
        told.graph.output.append(helper.make_tensor_value_info(chosen, TensorProto.INT64, []))
        names.append(chosen)
    return told, names


# ---- runs --------------------------------------------------------------------------------------------------


def bucket_list(verdict):
    found = [dict(zip(verdict.lists, sizes)) for sizes in itertools.product(*verdict.lists.values())]
    return [b for b in found if verdict.admits(b)]


def expected_bucket(verdict, buckets, extents):
    """The number of the bucket of a promised shape."""
    fits = [
        (math.prod(b.values()), i)
        for i, b in enumerate(buckets)
        if all(b[s] == extents[s] if s in verdict.fixed else b[s] >= extents[s] for s in b)
    ]
    return min(fits)[1] if fits else None


def is_promised(verdict, extents):
    return verdict.admits(extents) and all(
        extents[s] in verdict.lists[s] if s in verdict.fixed else low <= extents[s] <= high
        for s, (low, high) in verdict.ranges.items()
    )


def drawn(verdict, subject, rng, count):
    """Extents: both ends, within, and every third outside in one symbol or more."""
    ranges = verdict.ranges
    yield {s: low for s, (low, _) in ranges.items()}
    yield {s: high for s, (_, high) in ranges.items()}
    for k in range(count - 2):
        for _ in range(300):
            found = {
                s: int(rng.choice(verdict.lists[s]) if s in verdict.fixed else rng.integers(low, high + 1))
                for s, (low, high) in ranges.items()
            }
            if k % 3 == 2:
                for s in rng.choice(list(ranges), rng.integers(1, len(ranges) + 1), replace=False):
                    low, high = ranges[s]
                    beyond = [max(low - 1, 0), high + 1, high + 3, 2 * high + 5, rng.integers(1, high + 1)]
                    found[s] = int(rng.choice(beyond))
            if subject.legal(found):
                yield found
                break


def contradicting(subject, feeds, extents, symbols, rng):
    """Feeds of which one input has another extent of a symbol that several inputs have; None where there are
    none."""
    having = {s: [] for s in symbols}
    for v in padding.inputs_of(subject.model):
        # Several extents have the same half: such a symbol may be found to have another one.
        if any("floor" in str(d.tree) for d in padding.dims_of(v)):
            return None
        names = {n for d in padding.dims_of(v) for n in related_names(d, subject.relations)}
        for s in names & set(symbols):
            having[s].append(v.name)
    several = sorted(s for s, names in having.items() if len(names) > 1)
    if not several:
        return None
    s = str(rng.choice(several))
    other = subject.data({**extents, s: extents[s] + int(rng.integers(1, 3))})
    name = str(rng.choice(having[s]))
    return {**feeds, name: other[name]} if other[name].shape != feeds[name].shape else None


def related_names(dim, relations):
    """The symbols of a dim, with those that its names stand for."""
    for name in dim.names():
        yield from layouts.extent(relations[name]).names() if name in relations else [name]


class Runs:
    def __init__(self, subject, verdict, single, dynamic, optimized):
        factor = HALF if has_half(subject.model) else 1
        self.check = padding.Check(subject.model, verdict, factor, True, subject.relations)
        if optimized:
            self.check.session = compare.session(subject.model.SerializeToString(), True, threads=1)
        self.verdict, self.buckets = verdict, bucket_list(verdict)
        told, self.extra = telling(single)
        self.session = compare.session(told.SerializeToString(), optimized, threads=1)
        self.dynamic = compare.session(dynamic, optimized, threads=1)
        self.count = {"bucket": 0, "dynamic": 0, "error": 0, "unmet": 0, "excused": 0}

    def one(self, feeds, promised, extents, contradicted=False):
        """What is wrong with a run, as texts."""
        expected, error = compare.attempt(self.check.run, feeds)
        if error or contradicted:
            known = {v.name for v in self.dynamic.get_inputs()}
            given = {k: v for k, v in feeds.items() if k in known}
            expected, error = compare.attempt(self.dynamic.run, self.check.names, given)
        known = {v.name for v in self.session.get_inputs()}
        given = {k: v for k, v in feeds.items() if k in known}
        got, failed = compare.attempt(self.session.run, [*self.check.names, *self.extra], given)
        if error or failed:
            self.count["error"] += 1
            # ONNX Runtime's optimizations can break the original at an extent of 0, and not the branches.
            if not (error and failed) and (failed or 0 not in extents.values()):
                yield f"the dynamic model {error or 'runs'}, the single model {failed or 'runs'}"
            return
        covered = bool(got[len(self.check.names)])
        if covered != promised:
            yield f"{'a' if covered else 'no'} bucket is taken"
            return
        if covered and len(self.extra) > 1:
            number = expected_bucket(self.verdict, self.buckets, extents)
            if number != got[-1]:
                yield f"bucket {got[-1]} is taken, not {number}"
        self.count["bucket" if covered else "dynamic"] += 1
        if covered and not self.check.dominated(feeds, True):
            self.count["unmet"] += 1
            return
        moved = None
        for name, a, b in zip(self.check.names, expected, got):
            a, b = np.asarray(a), np.asarray(b)
            if not (why := padding.difference(a, b, padding.tolerance_of(a.dtype, self.check.factor))):
                continue
            if moved is None and covered:
                moved = self.check.moves(feeds, expected)
            if a.shape == b.shape and name in (moved or ()):
                self.count["excused"] += 1
            else:
                yield f"{name}: {why}"


def survives(run, feeds):
    """Whether a process survives a run of the original."""
    child = os.fork()
    if child == 0:
        compare.attempt(run.check.run, feeds)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


def examine(tool, subject, folder, draws):
    """(what is to be said, problems)"""
    given = subject.path if isinstance(subject, Real) else subject.model
    verdict = verdicts.ask(tool, given, subject.marks(), folder)
    if not verdict.safe:
        return "refused", [] if isinstance(subject, Real) else [str(verdict.refused)]
    subject.drawn_free(verdict)
    program = pathlib.Path(tool).parent / "tests" / "graphopt_bucket_single"
    source = subject.path if isinstance(subject, Real) else f"{folder}/case.onnx"
    target, dynamic = f"{folder}/single.onnx", f"{folder}/dynamic.onnx"
    command = [program, source, f"{folder}/case.json", target, dynamic]
    done = subprocess.run(command, capture_output=True, text=True)
    if (reason := REFUSED.get(subject.name)) is not None:
        return f"no single model: {reason}", [] if reason in done.stderr else [f"said: {done.stderr}"]
    if "branches per bucket need" in done.stderr and isinstance(subject, Real):
        return "no single model: its opset is too old", []
    if done.returncode:
        return "", [f"exit status {done.returncode}: {done.stderr.strip()[-300:]}"]
    single = onnx.load(target)
    with contextlib.suppress(AttributeError):
        onnx.checker.check_model(target, full_check=True)
    problems = list(problems_of_file(single))
    run = Runs(subject, verdict, single, dynamic, optimized=draws > SHORT_DRAWS)
    rng = np.random.default_rng(3)

    def run_all():
        for extents in drawn(verdict, subject, rng, draws):
            whole = {**subject.free, **extents}
            try:
                feeds = subject.data(whole)
            except (ValueError, IndexError, ZeroDivisionError):
                continue  # data for such extents cannot be drawn
            if 0 in extents.values() and not survives(run, feeds):
                continue  # a kernel of the original ends the process: LSTM with a batch of 0
            found = run.one(feeds, is_promised(verdict, whole), extents)
            problems.extend(f"{why} ({extents})" for why in found)
            if 0 in extents.values():
                continue  # kernels read what is not there, if another input has more
            if (bad := contradicting(subject, feeds, whole, sorted(whole), rng)) is not None:
                found = run.one(bad, False, extents, contradicted=True)
                problems.extend(f"{why} ({extents}, contradicted)" for why in found)

    run_all()
    if run.count["unmet"] and isinstance(subject, Real) and not subject.full_masks:
        subject.full_masks = True
        run_all()
    if run.count["bucket"] <= run.count["unmet"] + run.count["excused"]:
        problems.append("no bucket was compared")
    nodes = sum(len(g.node) for g in all_graphs(single))
    sizes = f"{os.path.getsize(source)} -> {os.path.getsize(target)} bytes"
    counts = ", ".join(f"{n} {k}" for k, n in run.count.items() if n)
    return f"{sizes}, {len(run.buckets)} buckets, {nodes} nodes; {counts}", problems


# A graph of a type that numpy lacks, between casts.
BRAIN = """<ir_version: 9, opset_import: ["" : 19]>
g (bfloat16[b,s,2] x) => (bfloat16[s,b,q] y) { y = Transpose <perm = [1, 0, 2]> (x) }"""


def between_casts(model):
    graph = model.graph
    first = [
        helper.make_node("Cast", [f"{v.name}_float"], [v.name], to=TensorProto.BFLOAT16) for v in graph.input
    ]
    last = [
        helper.make_node("Cast", [v.name], [f"{v.name}_float"], to=TensorProto.FLOAT) for v in graph.output
    ]
    nodes = [*first, *graph.node, *last]
    del graph.node[:]
    graph.node.extend(nodes)
    for v in [*graph.input, *graph.output]:
        v.name += "_float"
        v.type.tensor_type.elem_type = TensorProto.FLOAT
    return compare.session(model.SerializeToString(), False, threads=1)


def bfloat16_problems(tool):
    with tempfile.TemporaryDirectory() as folder:
        source, target = f"{folder}/brain.onnx", f"{folder}/single.onnx"
        model = onnx.parser.parse_model(BRAIN)
        pathlib.Path(source).write_bytes(model.SerializeToString())
        command = [
            tool,
            source,
            "-o",
            target,
            "-q",
            "--bucket-single",
            "--bucket",
            "s=2,4",
            "--bucket",
            "b=3",
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            return [f"exit status {done.returncode}: {done.stderr.strip()[-300:]}"]
        original = between_casts(model)
        single, failed = compare.attempt(between_casts, onnx.load(target))
        if failed:
            return [f"the single model is not loaded: {failed}"]
        problems = []
        for b, s in itertools.product(range(1, 5), range(1, 6)):
            x = np.arange(b * s * 2, dtype=np.float32).reshape(b, s, 2)
            want, got = (run.run(None, {"x_float": x})[0] for run in (original, single))
            problems += [] if np.array_equal(want, got) else [f"other results of b={b}, s={s}"]
        return problems


@contextlib.contextmanager
def answering(tool, tasks, draws):
    onnxruntime.set_default_logger_severity(4)
    small = small_cases()
    with tempfile.TemporaryDirectory() as folder:

        def answer(k):
            name, path, symbols = tasks[k]
            try:
                subject = Real(name, path, symbols) if path else small[name]
                return examine(tool, subject, folder, draws)
            except (verdicts.ToolFailed, layouts.Unreadable, ValueError, KeyError) as e:
                return "", [f"{type(e).__name__}: {e}"]

        yield answer


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("folder", nargs="?", metavar="FOLDER")
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    p.add_argument("--draws", type=int, metavar="N")
    p.add_argument("--jobs", type=int, default=2, metavar="N")
    a = p.parse_args()
    draws = a.draws or (DRAWS if a.all else SHORT_DRAWS)
    bound = float("inf") if a.all else SHORT_BYTES
    with models.work_folder(a.folder) as work:
        small, records = list(small_cases()), models.records()
        tasks = [(name, None, None) for name in small if not a.only or name in a.only]
        real = [n for n in a.only if n not in small and n != "bfloat16"]
        if real or not a.only:
            real = models.chosen(real, lambda r: r["filled_bytes"] <= bound and r["symbols"])
        real.sort(key=lambda n: records[n]["filled_bytes"])
        tasks += tasks_of(models.filled(real, work))
        bad = safe = 0
        if not a.only or "bfloat16" in a.only:
            problems = bfloat16_problems(a.tool)
            bad += bool(problems)
            safe += not problems
            print("\n    ".join(["bfloat16", *problems[:4]]), flush=True)
        for k, found in _pool.answers(answering, (a.tool, tasks, draws), range(len(tasks)), a.jobs, LIMIT):
            said, problems = ("", [found.text]) if isinstance(found, _pool.Crash) else found
            bad += bool(problems)
            safe += said not in ("refused", "")
            line = f"{tasks[k][0]:20} {','.join(tasks[k][2] or []):18} {said}".rstrip()
            print("\n    ".join([line, *problems[:4]]), flush=True)
    print(f"{len(tasks)} cases, {safe} made, {bad} bad")
    return 1 if bad or not safe else 0


if __name__ == "__main__":
    mp.set_start_method("fork")
    sys.exit(main())
