#!/usr/bin/env python3
# LONG: --count 1000 --seed 2
"""Small graphs in which nodes require equal extents, in several orders of their nodes: one result.

  node_order.py GRAPHOPT [--count N] [--seed S] [--jobs N] [--keep DIR]

Graph number i is made from seed S + i. Its inputs have symbolic dims, of which some are equal in every run
only because a MatMul, Gemm or elementwise node requires it; such nodes stand before and after those that can
use the fact, some of them are dead, some in the branches of an If or in the body of a Loop, where they prove
nothing. Each graph goes through the tool in its own order and in two others, for each of OPTIONS: the results
are the same graph with the same types of outputs, up to the numbers in names of unknown dims; a second run
over a result gives its bytes (with --infer: the same up to these numbers). With numbers for its symbols at
which the original runs, the result gives the same bits, with and without ONNX Runtime's optimizations.
"""

import argparse
import collections
import contextlib
import multiprocessing as mp
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).resolve().parents[1])]
import _pool  # noqa: E402
from lib import graph_comparison, reordering, runs  # noqa: E402

OPTIONS = (("--exact",), (), ("--infer",), ("--regions", "functions"), ("-O0", "--infer"))
SYMBOLS = "ABCDEF"
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
LEVELS = (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL)


class Graph:
    """.model and .feeds: a model and inputs at which it is meant to run."""

    def __init__(self, rng):
        self.rng, self.nodes, self.count = rng, [], 0
        # Symbols of one class have one extent; a class may have a number that some dims state.
        self.extent = {s: rng.choice((0, 1, 2, 3, 3)) for s in SYMBOLS}
        self.inputs, self.constants, self.values = [], [], []
        for i in range(rng.randint(3, 6)):
            symbols = rng.sample(SYMBOLS, rng.randint(1, 2))
            dims = [s if rng.random() < 0.75 else self.extent[s] for s in symbols]
            self.inputs.append(helper.make_tensor_value_info(f"x{i}", FLOAT, dims))
            self.values.append((f"x{i}", tuple(self.extent[s] for s in symbols)))
        for _ in range(rng.randint(3, 10)):
            self.step()
        if self.count == 0:
            self.unary()
        made = [v for v in self.values if not v[0].startswith("x")]
        ends = rng.sample(made, min(len(made), rng.randint(1, 4)))
        self.shape_of(ends[0][0])
        outputs = [helper.make_empty_tensor_value_info(name) for name, _ in ends]
        outputs.append(helper.make_tensor_value_info(self.nodes[-1].output[0], INT64, [None]))
        rng.shuffle(outputs)
        for o, (name, shape) in ((o, e) for o in outputs for e in ends if o.name == e[0]):
            o.type.tensor_type.elem_type = FLOAT
            if rng.random() < 0.3:
                dims = [n if rng.random() < 0.5 else f"{name}_{k}" for k, n in enumerate(shape)]
                o.CopyFrom(helper.make_tensor_value_info(name, FLOAT, dims))
        graph = helper.make_graph(self.nodes, "g", self.inputs, outputs, self.constants)
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)

    def feeds(self, rng):
        shapes = dict(self.values)
        return {
            i.name: np.array(rng.choices((-2, -0.0, 0, 1, 3, np.inf), k=int(np.prod(shapes[i.name]))), "f4")
            .reshape(shapes[i.name])
            for i in self.inputs
        }  # fmt: skip

    def add(self, op, inputs, shape=None, **attributes):
        self.count += 1
        name = f"v{self.count}"
        self.nodes.append(helper.make_node(op, inputs, [name], **attributes))
        if shape is not None:
            self.values.append((name, tuple(shape)))
        return name

    def constant(self, ints):
        self.count += 1
        self.constants.append(numpy_helper.from_array(np.array(ints, np.int64), f"k{self.count}"))
        return self.constants[-1].name

    def shape_of(self, v):
        return self.add("Shape", [v])

    def step(self):
        rng = self.rng
        kinds = [self.elementwise, self.elementwise, self.matmul, self.matmul, self.weight, self.unary]
        kinds += [self.reshape, self.expand, self.squeeze, self.concat, self.slice, self.branch, self.loop]
        rng.choice(kinds)()

    def pick(self, chosen=lambda shape: True):
        fit = [v for v in self.values if chosen(v[1])]
        return self.rng.choice(fit) if fit else (None, None)

    def unary(self):
        v, shape = self.pick()
        self.add(self.rng.choice(("Relu", "Neg", "Identity")), [v], shape)

    def elementwise(self):
        a, s = self.pick()
        b, t = self.pick(
            lambda t: len(t) <= len(s) and all(m == n or 1 in (m, n) for m, n in zip(s[::-1], t[::-1]))
        )
        pairs = [(m, n) for m, n in zip(s[::-1], t[::-1])]
        low = [n if m == 1 else m for m, n in pairs][::-1]
        operands = [a, b]
        self.rng.shuffle(operands)
        self.add(self.rng.choice(("Add", "Mul")), operands, (*s[: len(s) - len(t)], *low))

    def matmul(self):
        a, s = self.pick(lambda s: len(s) == 2)
        if a is None:
            return
        # ONNX Runtime leaves the result of a sum of no products as the memory was.
        b, t = self.pick(lambda t: t[0] == s[1] > 0)
        if b is not None:
            self.add("MatMul", [a, b], (s[0], *t[1:]))

    def weight(self):
        """A constant weight tells a number."""
        a, s = self.pick(lambda s: len(s) == 2 and s[1] > 0)
        if a is None:
            return
        self.count += 1
        w = numpy_helper.from_array(np.full((s[1], 2), 0.5, "f4"), f"w{self.count}")
        self.constants.append(w)
        self.add("MatMul", [a, w.name], (s[0], 2))

    def reshape(self):
        """To the dims of another value, which may be its own."""
        a, s = self.pick()
        b, t = self.pick(lambda t: int(np.prod(s)) == int(np.prod(t)))
        self.add("Reshape", [a, self.shape_of(b)], t, allowzero=1)

    def expand(self):
        a, s = self.pick()
        b, t = self.pick(lambda t: len(t) == len(s) and all(m in (1, n) for m, n in zip(s, t)))
        self.add("Expand", [a, self.shape_of(b)], t)

    def squeeze(self):
        a, s = self.pick(lambda s: 1 in s and len(s) == 2)
        if a is None:
            return
        axis = s.index(1)
        r = self.add("Squeeze", [a, self.constant([axis])], (s[1 - axis],))
        if self.rng.random() < 0.5:
            self.add("Unsqueeze", [r, self.constant([axis])], s)

    def concat(self):
        a, s = self.pick()
        self.add("Concat", [a], s, axis=0)

    def slice(self):
        """From 0 to the extent of another value, which may be all."""
        a, s = self.pick()
        b, t = self.pick(lambda t: t[0] <= s[0])
        first = self.add("Slice", [self.shape_of(b), self.constant([0]), self.constant([1])])
        self.add("Slice", [a, self.constant([0]), first, self.constant([0])], (t[0], *s[1:]))

    def condition(self):
        """True in the runs, which no one can tell before."""
        a, _ = self.pick()
        size = self.add("Size", [a])
        self.count += 1
        self.constants.append(numpy_helper.from_array(np.array(-1, np.int64), f"k{self.count}"))
        return self.add("Greater", [size, f"k{self.count}"])

    def branch(self):
        """The branch that is not taken would require extents that differ."""
        a, s = self.pick(lambda s: len(s) == 2)
        b, _ = self.pick(lambda s: len(s) == 2)
        if a is None:
            return
        n = self.count + 100
        result = [helper.make_empty_tensor_value_info(f"b{n}_{k}") for k in range(2)]
        for r in result:
            r.type.tensor_type.elem_type = FLOAT
        taken = helper.make_graph([helper.make_node("Neg", [a], [f"b{n}_0"])], "then", [], result[:1])
        other = helper.make_graph([helper.make_node("MatMul", [a, b], [f"b{n}_1"])], "else", [], result[1:])
        self.add("If", [self.condition()], s, then_branch=taken, else_branch=other)

    def loop(self):
        """No trips, of a body that would require extents that differ."""
        a, s = self.pick(lambda s: len(s) == 2)
        b, _ = self.pick(lambda s: len(s) == 2)
        if a is None:
            return
        n = self.count + 100
        inputs = [
            helper.make_tensor_value_info(f"l{n}_i", INT64, []),
            helper.make_tensor_value_info(f"l{n}_c", TensorProto.BOOL, []),
            helper.make_tensor_value_info(f"l{n}_x", FLOAT, [None, None]),
        ]
        outputs = [
            helper.make_tensor_value_info(f"l{n}_d", TensorProto.BOOL, []),
            helper.make_tensor_value_info(f"l{n}_y", FLOAT, [None, None]),
        ]
        nodes = [
            helper.make_node("Identity", [f"l{n}_c"], [f"l{n}_d"]),
            helper.make_node("MatMul", [a, b], [f"l{n}_m"]),
            helper.make_node("Sub", [f"l{n}_x", f"l{n}_m"], [f"l{n}_y"]),
        ]
        body = helper.make_graph(nodes, "body", inputs, outputs)
        self.count += 1
        self.constants.append(numpy_helper.from_array(np.array(0, np.int64), f"k{self.count}"))
        none = f"k{self.count}"
        if self.rng.random() < 0.5:  # a number that no one can tell before
            condition = self.add("Not", [self.condition()])
            none = self.add("Cast", [condition], to=INT64)
        self.add("Loop", [none, "", a], s, body=body)


def run(model, feeds, level):
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feeds)


def numbered(model):
    """The names that graphopt gives to unknown dims, numbered by their first place in the outputs."""
    names = {}
    for o in model.graph.output:
        for d in o.type.tensor_type.shape.dim:
            if re.fullmatch(r"u\d+", d.dim_param):
                d.dim_param = names.setdefault(d.dim_param, f"u{len(names) + 1}")
    return model


class Failure(Exception):
    """What is wrong with a graph."""


class Checker:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, Path(folder)

    def optimize(self, data, options):
        source, target = self.folder / "in.onnx", self.folder / "out.onnx"
        source.write_bytes(data)
        target.unlink(missing_ok=True)
        command = [self.tool, str(source), "-o", str(target), "-q", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode:
            raise Failure(f"{' '.join(options)}: status {done.returncode}: {done.stderr[:300]}")
        return target.read_bytes()

    def all(self, model, feeds, rng):
        """Returns whether the original runs; raises Failure."""
        copies = [model, reordering.shuffled(model, rng), reordering.shuffled(model, rng)]
        inputs = [m.SerializeToString() for m in copies]
        try:
            want = [run(inputs[0], feeds, level) for level in LEVELS]
        except Exception:  # noqa: BLE001 - what ONNX Runtime raises has no common class
            return False
        for options in OPTIONS:
            what = " ".join(options)
            results = [self.optimize(data, options) for data in inputs]
            for data in results[1:]:
                d = self.difference(results[0], data)
                if d:
                    raise Failure(f"'{what}': another order gives another graph: {d}")
            for data in results:
                again = self.optimize(data, options)
                if again != data and ("--infer" not in options or self.difference(data, again)):
                    raise Failure(f"'{what}': a second run gives another result")
            for level, expected in zip(LEVELS, want):
                try:
                    got = run(results[0], feeds, level)
                except Exception as e:  # noqa: BLE001
                    # In a body that no run executes, extents may differ that must be equal there. ONNX
                    # Runtime refuses it as soon as both are stated, as every run has them.
                    if "--infer" in options and "Graph attribute inferencing failed" in str(e):
                        continue
                    raise Failure(f"'{what}': the result does not run: {str(e)[:300]}") from None
                for output, a, b in zip(model.graph.output, expected, got):
                    if d := runs.bit_difference(a, b):
                        raise Failure(f"'{what}', {level}: output {output.name}: {d}")
        return True

    @staticmethod
    def difference(a, b):
        x, y = (numbered(onnx.load_from_string(data)) for data in (a, b))
        for p, q in zip(x.graph.output, y.graph.output):
            if p.SerializeToString() != q.SerializeToString():
                return f"output {p.name} is {p.type} and {q.type}"
        return graph_comparison.difference(x, y)


def check_seed(checker, seed, keep):
    """(what to count it as, report or None)"""
    rng = random.Random(seed)
    graph = Graph(rng)
    try:
        return "compared" if checker.all(
            graph.model, graph.feeds(rng), rng
        ) else "refused by the runtime", None
    except Failure as e:
        if keep:
            Path(keep, f"seed{seed}.onnx").write_bytes(graph.model.SerializeToString())
        return "failed", f"seed {seed}: {e}\n{onnx.printer.to_text(graph.model)}"


@contextlib.contextmanager
def checking(tool, keep):
    ort.set_default_logger_severity(4)
    with tempfile.TemporaryDirectory() as folder:
        checker = Checker(tool, folder)
        yield lambda seed: check_seed(checker, seed, keep)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("--count", type=int, default=30)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--keep", help="folder for failing models")
    a = p.parse_args()
    if a.keep:
        Path(a.keep).mkdir(parents=True, exist_ok=True)
    begin, counts, failures = time.time(), collections.Counter(), 0
    seeds = range(a.seed, a.seed + a.count)
    for seed, answer in _pool.answers(checking, (a.tool, a.keep), seeds, min(a.jobs, a.count)):
        kind, report = (
            (answer.text, f"seed {seed}: {answer.text}") if isinstance(answer, _pool.Crash) else answer
        )
        counts[kind] += 1
        if report:
            failures += 1
            print(report, flush=True)
    print(", ".join(f"{n} {kind}" for kind, n in counts.most_common()), f"({time.time() - begin:.1f} s)")
    if counts["compared"] < a.count / 2 and not failures:
        print("too few graphs were compared: the generator makes what the runtime refuses")
        return 1
    return 1 if failures else 0


if __name__ == "__main__":
    mp.set_start_method("fork")
    sys.exit(main())
