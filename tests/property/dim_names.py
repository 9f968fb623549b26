#!/usr/bin/env python3
# LONG: --count 4000 --seed 2
"""Dims of inputs with nasty names: the text is a name, and no two different dims get one name.

  dim_names.py GRAPHOPT [--count N] [--seed S]

Random models whose inputs have dims named by random strings over names, digits, operators, quotes and the
names that graphopt makes itself. Extents: equal texts get equal ones; a text that can be read as an
expression over names that stand alone gets that expression's value, every other text an extent of its own, so
that a reading of "-1", "N-N" or "+N" as an expression shows. With --dim-names opaque every text gets its own.
Then
  - before and after give the same bits in ONNX Runtime, with its optimizations off and on;
  - the checker accepts the result, and inputs are as they were;
  - with --infer, what is written holds in that run: numbers are the extents, and dims whose extents differ
    have different names, over all values and inputs;
  - a second run gives the same bytes, a third with other options, too.
"""

import argparse
import ast
import itertools
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

MEMORY = 4 << 30  # bytes of address space
MOST_ELEMENTS = 1 << 24  # of an input
TOKENS = ["N", "M", "0", "1", "2", "7", "+", "-", "*", "/", "(", ")", ",", " ", "u1", "u2", "'", '"', "\\"]
TOKENS += [" + ", " - ", "//", "**", "%", ".", "min(", "max(", "Max(", "floor(", "mod(", "N", "M", "u3"]
WHOLE = ["-1", "N-N", "()", "+N", "--1", "N*0", "1", " 3", " ", "N ", "(N)", "N + 1", "2*N", "N*M", "N + M"]
WHOLE += [
    "N - 1",
    "u1",
    "u2",
    "u1 + 1",
    "u1*u2",
    "max(0, u1)",
    "floor((N)/(2))",
    "max(N, M)",
    "u01",
    "N*1",
    "?",
]
KNOWN = {"min": min, "max": max, "Max": max, "floor": lambda x: x.__floor__(), "mod": lambda a, b: a % b}
ALLOWED = (ast.Expression, ast.BinOp, ast.Call, ast.Name, ast.Constant, ast.Load, ast.Add, ast.Sub, ast.Mult)
ALLOWED += (ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.UnaryOp, ast.USub)


def random_name(rng):
    kind = rng.random()
    if kind < 0.35:
        return rng.choice(["N", "M", "u1", "u2", "u3"])
    if kind < 0.6:
        return rng.choice(WHOLE)
    return "".join(rng.choice(TOKENS) for _ in range(rng.randint(1, 6)))


def reading(text, alone):
    """The function of the extents that a text may be believed to be; None: it must be a name."""
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError):
        return None
    if text != text.strip() or not all(isinstance(n, ALLOWED) for n in ast.walk(tree)):
        return None
    calls = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in calls}
    if not names or not names <= alone or text in names or "." in text:
        return None
    code = compile(tree, "dim", "eval")

    def value(extents):
        from fractions import Fraction

        scope = {n: Fraction(extents[n]) for n in names}
        try:
            v = Fraction(eval(code, {"__builtins__": {}, **KNOWN}, scope))  # noqa: S307 (checked above)
        except (ZeroDivisionError, TypeError, OverflowError, ValueError):
            return None
        return int(v) if v.denominator == 1 and v >= 0 else None

    samples = [dict(zip(sorted(names), p)) for p in itertools.product([0, 1, 2, 3, 5, 8], repeat=len(names))]
    found = [value(s) for s in samples]
    if None in found or len(set(found)) == 1:
        return None
    if any(found == [s[n] for s in samples] for n in names):
        return None  # another name of the same dim is a name
    return value


def extents_of(inputs, rng, opaque):
    texts = sorted({d for dims in inputs.values() for d in dims if isinstance(d, str)})
    believed = {} if opaque else {t: reading(t, set(texts)) for t in texts}
    extents = {t: rng.randint(0, 6) for t in texts if not believed.get(t)}
    # Distinct ones show more.
    for t, n in zip(extents, rng.sample(range(1, 40), len(extents)) if len(extents) < 39 else []):
        extents[t] = n if rng.random() < 0.8 else rng.randint(0, 2)
    for t, value in believed.items():
        if value:
            extents[t] = value(extents)
    return extents


class Builder:
    def __init__(self, rng):
        self.rng, self.nodes, self.outputs, self.count = rng, [], [], 0
        self.inputs = {}
        for i in range(rng.randint(2, 4)):
            rank = rng.choice([1, 1, 2])
            self.inputs[f"x{i}"] = [random_name(rng) if rng.random() < 0.9 else 3 for _ in range(rank)]
        # One input of each plain name, so that many expressions can be believed.
        for name in rng.sample(["N", "M"], rng.randint(0, 2)):
            self.inputs[f"x{len(self.inputs)}"] = [name]
        self.values = list(self.inputs)  # of floats

    def node(self, op, operands, n=1, **attributes):
        names = [f"v{self.count + i}" for i in range(n)]
        self.count += n
        self.nodes.append(helper.make_node(op, operands, names, **attributes))
        return names if n > 1 else names[0]

    def flat(self, x):
        return self.node("Reshape", [x, "minus_one"])

    def step(self):
        rng, x = self.rng, self.rng.choice(self.values)
        kind = rng.randint(0, 8)
        if kind == 0:
            self.outputs.append((self.node("Shape", [x]), TensorProto.INT64))
        elif kind == 1:
            self.values.append(
                self.node("Concat", [self.flat(x), self.flat(rng.choice(self.values))], axis=0)
            )
        elif kind in (2, 3):
            found = self.node("Cast", [self.node("NonZero", [self.flat(x)])], to=TensorProto.FLOAT)
            self.values.append(self.node("Cos", [found]))
        elif kind == 4:
            y = rng.choice(self.values)
            self.values.append(
                self.node(
                    "MatMul",
                    [
                        self.node("Unsqueeze", [self.flat(x), "one"]),
                        self.node("Unsqueeze", [self.flat(y), "zero"]),
                    ],
                )
            )
        elif kind == 5:
            branches = []
            for name in ("then_branch", "else_branch"):
                out = f"b{self.count}_{name}"
                body = helper.make_node("NonZero", [x], [out])
                info = helper.make_tensor_value_info(out, TensorProto.INT64, None)
                branches.append((name, helper.make_graph([body], out, [], [info])))
            y = self.node("If", [rng.choice(["yes", "c"])], **dict(branches))
            self.outputs.append((y, TensorProto.INT64))
        elif kind == 6:
            self.values.append(self.node("Tile", [self.flat(x), "two"]))
        else:
            for op in rng.sample(["Relu", "Neg", "Sin", "Exp", "Abs", "Identity"], 3):
                x = self.node(op, [x])
            self.values.append(x)

    def model(self):
        for _ in range(self.rng.randint(2, 7)):
            self.step()
        read = {o for n in self.nodes for o in n.input}
        for v in self.values:
            if v not in read and v not in self.inputs:
                self.outputs.append((v, TensorProto.FLOAT))
        if not self.outputs:
            self.outputs.append((self.node("Relu", ["x0"]), TensorProto.FLOAT))
        graph = helper.make_graph(
            self.nodes,
            "g",
            [helper.make_tensor_value_info(n, TensorProto.FLOAT, d) for n, d in self.inputs.items()]
            + [helper.make_tensor_value_info("c", TensorProto.BOOL, [])],
            [helper.make_tensor_value_info(n, t, None) for n, t in self.outputs],
            [
                numpy_helper.from_array(np.array([-1]), "minus_one"),
                numpy_helper.from_array(np.array([0]), "zero"),
                numpy_helper.from_array(np.array([1]), "one"),
                numpy_helper.from_array(np.array([2]), "two"),
                numpy_helper.from_array(np.array(True), "yes"),
            ],
        )
        return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 20)])


class NotRun(Exception):
    """The model wants more memory than this test may have."""


def run(model, feeds, level):
    try:
        return run_of(model, feeds, level)
    except Exception as e:  # what ONNX Runtime raises has no common class
        if isinstance(e, MemoryError) or "allocate memory" in str(e) or "bad_alloc" in str(e):
            raise NotRun from None
        raise


def run_of(model, feeds, level):
    options = ort.SessionOptions()
    options.graph_optimization_level, options.log_severity_level = level, 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def dims_of(value):
    t = value.type.tensor_type
    if not t.HasField("shape"):
        return None
    return [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in t.shape.dim]


def written_dims(model, feeds):
    """[(value, dims as written, extents in this run)] of the main graph's inputs and of all its values."""
    infos = {v.name: v for v in [*model.graph.value_info, *model.graph.output]}
    exposed = onnx.ModelProto()
    exposed.CopyFrom(model)
    del exposed.graph.output[:], exposed.graph.value_info[:]
    for v in infos.values():
        out = exposed.graph.output.add(name=v.name)
        out.type.tensor_type.elem_type = v.type.tensor_type.elem_type
    results = run(exposed, feeds, ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    rows = [(n, dims_of(v), list(r.shape)) for (n, v), r in zip(infos.items(), results)]
    return rows + [(v.name, dims_of(v), list(feeds[v.name].shape)) for v in model.graph.input]


def wrong_names(model, feeds):
    extents = {}
    for name, dims, shape in written_dims(model, feeds):
        if dims is None:
            continue
        if len(dims) != len(shape):
            return f"'{name}' is written as {dims}, and is {shape}"
        for axis, (d, n) in enumerate(zip(dims, shape)):
            if isinstance(d, int) and d != n:
                return f"'{name}' is written as {dims}, and is {shape}"
            if isinstance(d, str):
                first = extents.setdefault(d, (n, name, axis))
                if first[0] != n:
                    return f"'{d}' is {first[0]} in '{first[1]}', axis {first[2]}, and {n} in '{name}'"
    return None


def inputs_of(inputs, extents, case_seed):
    """Random values of the inputs. NumPy has an error for each way in which a shape is too large, so the
    number of elements is looked at before an array is made."""
    data = np.random.default_rng(case_seed)
    shapes = {name: [extents.get(d, d) for d in dims] for name, dims in inputs.items()}
    # NumPy refuses large extents next to a 0, too.
    if any(math.prod(max(n, 1) for n in shape) > MOST_ELEMENTS for shape in shapes.values()):
        raise NotRun
    return {n: np.round(data.standard_normal(shape)).astype(np.float32) for n, shape in shapes.items()}


def check_limits():
    """AssertionError when inputs that are too large are anything but not run."""
    for shape in ([1 << 25], [1 << 40], [1 << 70], [1 << 40, 1 << 40], [0, 1 << 70]):
        try:
            inputs_of({"x": ["N"] + shape}, {"N": 1}, 1)
        except NotRun:
            continue
        raise AssertionError(f"an input of {shape} was made")
    assert inputs_of({"x": ["N", 0, 3]}, {"N": 2}, 1)["x"].shape == (2, 0, 3)


def check(tool, case_seed, folder):
    rng = random.Random(case_seed)
    opaque = rng.random() < 0.3
    builder = Builder(rng)
    model = builder.model()
    extents = extents_of(builder.inputs, rng, opaque)
    feeds = inputs_of(builder.inputs, extents, case_seed)
    feeds["c"] = np.array(rng.random() < 0.5)
    # Claims of any names about the outputs: the rank is what a run gives.
    for v, result in zip(model.graph.output, run(model, feeds, ort.GraphOptimizationLevel.ORT_DISABLE_ALL)):
        shape = v.type.tensor_type.shape
        shape.SetInParent()
        for _ in result.shape:
            shape.dim.add(dim_param=random_name(rng))
    paths = [folder / f"{i}.onnx" for i in range(4)]
    onnx.save(model, paths[0])
    infer = ["--infer"] if rng.random() < 0.8 else []
    level = rng.choice([[], [], ["-O1"], ["-O0"], ["--exact"], ["-O3"]])
    meaning = ["--dim-names", "opaque"] if opaque else []

    def optimize(source, target, *options):
        done = subprocess.run(
            [tool, source, "-o", target, "-q", *meaning, *options], capture_output=True, text=True, timeout=60
        )
        return f"exit status {done.returncode}: {done.stderr.strip()[-300:]}" if done.returncode else None

    if problem := optimize(paths[0], paths[1], *infer, *level):
        return problem
    after = onnx.load(paths[1])
    onnx.checker.check_model(after, full_check=True)
    if list(after.graph.input) != list(model.graph.input):
        return "the inputs are declared otherwise"
    for ort_level in (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
        want, got = run(model, feeds, ort_level), run(after, feeds, ort_level)
        for v, a, b in zip(model.graph.output, want, got):
            if a.shape != b.shape or a.tobytes() != b.tobytes():
                return f"'{v.name}' was {a.shape}, is {b.shape}"
    if infer and (problem := wrong_names(after, feeds)):
        return problem
    if problem := optimize(paths[1], paths[2], *infer, *level):
        return problem
    if paths[1].read_bytes() != paths[2].read_bytes():
        return "a second run gives other bytes"
    other = rng.choice([["-O0"], ["-O0", "--infer"], [*level], [*level, *infer, "--verify-each"]])
    if infer or "--infer" not in other:
        if problem := optimize(paths[1], paths[3], *other):
            return problem
        if paths[1].read_bytes() != paths[3].read_bytes():
            return f"a third run with {other} gives other bytes"
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("graphopt")
    p.add_argument("--count", type=int, default=150)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--keep", type=Path, help="write the failing models here")
    a = p.parse_args()
    if os.environ.get("GRAPHOPT_SANITIZED") != "1":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    check_limits()
    tool, bad, not_run = str(Path(a.graphopt).resolve()), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for i in range(a.count):
            seed = a.seed * 1_000_000 + i
            try:
                problem = check(tool, seed, Path(folder))
            except (NotRun, MemoryError):  # the latter of copies of results; the tool has an exit status
                not_run += 1
                continue
            except Exception as e:  # what onnx and ONNX Runtime raise has no common class
                problem = f"{type(e).__name__}: {str(e)[:300]}"
            if problem:
                bad += 1
                print(f"seed {seed}: {problem}")
                if a.keep:
                    a.keep.mkdir(parents=True, exist_ok=True)
                    (a.keep / f"{seed}.onnx").write_bytes((Path(folder) / "0.onnx").read_bytes())
    print(f"{bad} bad of {a.count}, {not_run} want too much memory")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
