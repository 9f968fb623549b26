#!/usr/bin/env python3
# TIER: nightly
# LONG: --all
# WHEN: src/infer/rules_ tools/requirements.txt
"""No extent that is stated is contradicted by a run, whatever is empty.

  extents.py GRAPHOPT [--all] [--only TEXT] [--seed N] [--mutants N] [--jobs N]

Every dim of every input of a backend case (and of a few models of our own) becomes a symbol; some operands
become constants; attributes and small constants are changed (_extent_models.py). Of each such model graphopt
states what it will:

  -O0 --infer   types of all values, with extents as numbers and expressions; ConstantOfShape of each input's
                extents and of Max(extents, 1, 2, 3) states ranges and equalities, too
  default       the model with Shape and Size of each result, Shape of each value, and Max(extents, 1, 2, 3)
                of each input as outputs, folded where facts allow

Each symbol is bound to 0 to 4, alone and with others, and the original is run by ONNX Runtime at four levels
of optimization, and by onnx's reference implementation where something is empty and ONNX Runtime runs. A
stated extent is evaluated and compared with each of these runs; the optimized model must give the integers
and shapes of the original at each level. Errors of the reference are data
(_extent_errors.py), each with a proof that needs no graphopt, which this test checks, too.

The short form takes some of the cases, by a hash of the name and the seed; --all takes all.
"""

import argparse
import collections
import contextlib
import functools
import multiprocessing as mp
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import tempfile
import warnings
import zlib

import numpy as np
import onnxruntime as ort
from onnx.reference import ReferenceEvaluator

import onnx
from onnx import TensorProto, helper, numpy_helper

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "property"), str(TESTS / "equal")]
import _extent_errors as errors
import _extent_facts as facts
import _extent_models as models
import _extent_own as own
import _pool
from lib import backend_cases
from lib.tool import executable

LEVELS = {
    "disabled": ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "basic": ort.GraphOptimizationLevel.ORT_ENABLE_BASIC,
    "extended": ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED,
    "all": ort.GraphOptimizationLevel.ORT_ENABLE_ALL,
}
BOUNDS = (1, 2, 3)  # of the probes max(extent, bound)
SECONDS = 60
SHORT = 40  # the short form takes one case in so many
RANDOM = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Multinomial"}
RANDOM |= {"Bernoulli", "Dropout"}


def session(model, level):
    options = ort.SessionOptions()
    options.graph_optimization_level = LEVELS[level]
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


# ---- the two models that graphopt reads --------------------------------------------------------------------


def int_constant(graph, name, values):
    graph.initializer.append(numpy_helper.from_array(np.array(values, np.int64), name))
    return name


def tensors_of(model):
    """Names of the tensors that nodes of the main graph make, results first."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model).graph.value_info
    except Exception:  # noqa: BLE001 - onnx raises errors of many types
        inferred = []
    values = [*model.graph.output, *inferred]
    made = {name for node in model.graph.node for name in node.output if name}
    names = [v.name for v in values if v.type.HasField("tensor_type") and v.name in made]
    return list(dict.fromkeys(names))


def with_probes(variant, folded):
    """The model with probes as outputs: those that are folded, or those whose shapes are stated."""
    m = onnx.ModelProto()
    m.CopyFrom(variant.model)
    graph = m.graph

    def output(name, dtype, node):
        graph.node.append(node)
        graph.output.append(helper.make_tensor_value_info(name, dtype, None))

    if folded:
        results = {v.name for v in variant.model.graph.output}
        for k, name in enumerate(tensors_of(variant.model)):
            probe = f"zz_shape_{k}"
            output(probe, TensorProto.INT64, helper.make_node("Shape", [name], [probe]))
            if name in results:
                probe = f"zz_size_{k}"
                output(probe, TensorProto.INT64, helper.make_node("Size", [name], [probe]))
    if models.opset(m) < 12:
        return m
    for bound in BOUNDS:
        int_constant(graph, f"zz_bound_{bound}", [bound])
    for k, v in enumerate(variant.model.graph.input):
        if v.name not in variant.feeds or not v.type.HasField("tensor_type"):
            continue
        if not len(v.type.tensor_type.shape.dim):
            continue
        graph.node.append(helper.make_node("Shape", [v.name], [f"zz_in_{k}"]))
        for bound in (0, *BOUNDS):
            source = f"zz_max_{k}_{bound}" if bound else f"zz_in_{k}"
            if bound:
                node = helper.make_node("Max", [f"zz_in_{k}", f"zz_bound_{bound}"], [source])
                if folded:
                    output(source, TensorProto.INT64, node)
                else:
                    graph.node.append(node)
            if not folded:
                probe = f"zz_filled_{k}_{bound}"
                output(probe, TensorProto.FLOAT, helper.make_node("ConstantOfShape", [source], [probe]))
    return m


def probe_shapes(variant, extents):
    """The shapes that the probes of ranges have."""
    found = {}
    for k, v in enumerate(variant.model.graph.input):
        if v.name in variant.feeds and v.type.HasField("tensor_type"):
            shape = [extents[d.dim_param] for d in v.type.tensor_type.shape.dim]
            for bound in (0, *BOUNDS):
                found[f"zz_filled_{k}_{bound}"] = tuple(max(n, bound) for n in shape)
    return found


# ---- one model ---------------------------------------------------------------------------------------------


class Failure(Exception):
    """The tool did not do what it was asked."""


def optimize(tool, model, folder, *options):
    """The optimized model as bytes; None when the tool refuses the model."""
    source, target = os.path.join(folder, "in.onnx"), os.path.join(folder, "out.onnx")
    pathlib.Path(source).write_bytes(model.SerializeToString())
    pathlib.Path(target).unlink(missing_ok=True)
    command = [tool, source, "-o", target, "-q", *options]
    done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False)
    if done.returncode == 2:
        return None
    if done.returncode:
        raise Failure(f"exit status {done.returncode}: {done.stderr[-200:]!r}")
    return pathlib.Path(target).read_bytes()


def ran(run):
    """The results, or None when it does not run."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return run()
    except Exception:  # noqa: BLE001 - the runtime's and numpy's errors have no common class
        return None


def loaded(model):
    found = {level: ran(lambda level=level: session(model, level)) for level in LEVELS}
    return {level: s for level, s in found.items() if s}


def exact_difference(name, a, b, values):
    """None, or how two results differ: in shape, or, if `values`, in integers."""
    if facts.shape_of(a) != facts.shape_of(b):
        return f"{name} has shape {facts.shape_of(b)}, not {facts.shape_of(a)}"
    if values and isinstance(a, np.ndarray) and a.dtype in (np.int64, np.bool_) and not np.array_equal(a, b):
        return f"{name} is {b.ravel()[:6]}, not {a.ravel()[:6]}"
    return None


class Check:
    """One variant: what graphopt states of it, and sessions of the original and of what graphopt made."""

    def __init__(self, variant, tool, folder):
        self.variant = variant
        asked = with_probes(variant, True)
        self.names = [v.name for v in asked.graph.output]
        self.before = loaded(asked.SerializeToString())
        self.usable = bool(self.before)
        if not self.usable:
            return
        stated = optimize(tool, with_probes(variant, False), folder, "-O0", "--infer")
        self.facts = facts.Facts(onnx.load_from_string(stated), variant.symbols) if stated else None
        self.written = optimize(tool, asked, folder)
        self.after = loaded(self.written) if self.written else {}
        self.operators = {n.op_type for n in variant.model.graph.node}
        self.shapes_of = {f"zz_shape_{k}": name for k, name in enumerate(tensors_of(variant.model))}
        made = (name for node in variant.model.graph.node for name in node.output)
        self.order = {name: k for k, name in enumerate(made)}
        self.reference = None

    def refer(self, feeds):
        if self.reference is None:
            self.reference = ran(lambda: ReferenceEvaluator(self.variant.model)) or False
        return ran(lambda: self.reference.run(None, feeds)) if self.reference else None

    def shapes(self, results):
        """{value: shape} of a run, intermediate values included."""
        found = dict(zip(self.names, map(facts.shape_of, results)))
        for name, result in zip(self.names, results):
            if name in self.shapes_of:
                found.setdefault(self.shapes_of[name], tuple(int(n) for n in result))
        return {name: shape for name, shape in found.items() if not name.startswith("zz_")}

    def first(self, contradictions):
        """The text of the one whose value is made first: others may follow from it."""
        found = sorted(contradictions, key=lambda c: self.order.get(c[0], len(self.order)))
        return found[0][1] if found else None

    def problems(self, extents, feeds):
        """(who contradicts, text); None when ONNX Runtime does not run it at any level."""
        runs = {level: ran(lambda s=s: s.run(None, feeds)) for level, s in self.before.items()}
        runs = {level: r for level, r in runs.items() if r is not None}
        if not runs:
            return None
        out, probes = [], probe_shapes(self.variant, extents)
        for level, results in runs.items():
            shapes = self.shapes(results) | probes
            found = self.facts.contradictions(extents, shapes) if self.facts else []
            out += [(f"stated, {level}", t) for t in [self.first(found)] if t]
        if 0 in extents.values() and self.facts:
            results = self.refer(feeds)
            if results is not None:
                outputs = [v.name for v in self.variant.model.graph.output]
                shapes = dict(zip(outputs, map(facts.shape_of, results)))
                found = self.facts.contradictions(extents, shapes)
                out += [("stated, reference", t) for t in [self.first(found)] if t]
        if out:
            return out
        values = not self.operators & RANDOM
        for level, expected in runs.items():
            if level not in self.after:
                if self.written:
                    out.append((f"folded, {level}", "the result does not load"))
                continue
            found = ran(lambda level=level: self.after[level].run(None, feeds))
            if found is None:
                out.append((f"folded, {level}", "the result does not run"))
                continue
            for name, a, b in zip(self.names, expected, found):
                if text := exact_difference(name, a, b, values):
                    out.append((f"folded, {level}", text))
                    break
        return out


def examine(variant, tool, folder, rng, count, only=None):
    """(runs, [(who, text, extents)]) of a variant; `only` is the number of the one binding to try."""
    check, runs, found = Check(variant, tool, folder), 0, []
    if not check.usable:
        return 0, []
    kinds = set()
    for k, (extents, feeds) in enumerate(models.bindings(variant, rng, count)):
        if only is not None and k != only:
            continue
        if errors.endless(check.operators, extents):
            continue
        problems = check.problems(extents, feeds)
        if problems is None:
            continue
        runs += 1
        for who, text in problems:
            key = who.split(",")[0]
            if key not in kinds and not errors.excused(check.operators, who):
                kinds.add(key)
                found.append((who, text, extents))
    return runs, found


def in_fork(answer):
    """What a forked process answers; None when it crashes or does not end."""
    reader, writer = os.pipe()
    if (pid := os.fork()) == 0:
        signal.alarm(5)
        with contextlib.suppress(BaseException):
            os.close(reader)
            with os.fdopen(writer, "wb") as f:
                f.write(pickle.dumps(answer()))
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as f:
        data = f.read()
    os.waitpid(pid, 0)
    return pickle.loads(data) if data else None


# ---- all of them -------------------------------------------------------------------------------------------


@contextlib.contextmanager
def answering(a, cases):
    """What a process does with (number of a case, whether each run gets a process of its own): (name of the
    variant, runs, problems) for each variant."""
    ort.set_default_logger_severity(4)

    def answer(task):
        at, careful = task
        case, out = cases[at], []
        seed = [a.seed, zlib.crc32(case.name.encode())]
        rng = np.random.default_rng(seed)
        for number, variant in enumerate(models.variants(case, rng, a.mutants)):
            draw = functools.partial(np.random.default_rng, [*seed, number])
            signal.alarm(0 if careful else SECONDS)
            try:
                if not careful:
                    out.append((variant.name, *examine(variant, a.tool, folder, draw(), a.bindings)))
                    continue
                count = sum(1 for _ in models.bindings(variant, draw(), a.bindings))
                runs, found = 0, []
                for k in range(count):
                    one = functools.partial(examine, variant, a.tool, folder, draw(), a.bindings, k)
                    if answered := in_fork(one):
                        runs, found = runs + answered[0], found + answered[1]
                out.append((variant.name, runs, found))
            except (Failure, subprocess.TimeoutExpired) as e:
                out.append((variant.name, 0, [("tool", str(e), {})]))
            finally:
                signal.alarm(0)
        return out

    with tempfile.TemporaryDirectory() as folder:
        yield answer


def results(a, cases):
    crashed, tasks = [], [(k, False) for k in range(len(cases))]
    for task, found in _pool.answers(answering, (a, cases), tasks, a.jobs):
        if isinstance(found, _pool.Crash):
            crashed.append((task[0], True))
        else:
            yield from found
    for task, found in _pool.answers(answering, (a, cases), crashed, min(a.jobs, len(crashed))):
        if isinstance(found, _pool.Crash):
            yield cases[task[0]].name, 0, [("tool", "a process of this test crashed", {})]
        else:
            yield from found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", default="", metavar="TEXT", help="cases whose names contain it")
    p.add_argument("--seed", type=int, default=1, metavar="N")
    p.add_argument("--mutants", type=int, default=2, metavar="N", help="changed models per symbolic one")
    p.add_argument("--bindings", type=int, default=40, metavar="N", help="about so many sizes per model")
    p.add_argument("--jobs", type=int, default=2, metavar="N")
    a = p.parse_args()

    def chosen(name):
        return a.only in name and (
            a.all or a.only or zlib.crc32(f"{a.seed} {name}".encode()) % SHORT == 0 or name.startswith("own")
        )

    wrong = errors.unproven()
    for text in wrong:
        print(text)
    cases = [
        c
        for c in backend_cases.candidates(("node", "simple", "pytorch-operator", "pytorch-converted"), chosen)
    ]
    cases += [c for c in own.cases() if chosen(c.name)]
    cases = [c for c in cases if "optional" not in c.name]  # a value that is not there has no type to feed
    variants, run, bad = 0, 0, collections.Counter()
    for name, runs, found in results(a, cases):
        variants += runs > 0
        run += runs
        for who, text, extents in found:
            bad[name] += 1
            print(f"{name}: {who}: {text} at {extents}", flush=True)
    print(f"{len(cases)} cases, {variants} models, {run} runs: {sum(bad.values())} contradictions")
    return 1 if bad or wrong or not run else 0


if __name__ == "__main__":
    mp.set_start_method("fork")
    sys.exit(main())
