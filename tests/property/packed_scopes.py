#!/usr/bin/env python3
# LONG: --count 4000 --seed 2
"""Products with weights in all scopes: does --exact keep every bit wherever a weight stands?

  packed_scopes.py GRAPHOPT [--count N] [--seed N]

ONNX Runtime packs a weight or not by how its reader sees it: as a constant of its own graph, of the one
around it, of one further out, through an Identity, as a parameter of a function (tests/equal/
packed_operands.py). Random graphs of products, nested in Ifs (some with a constant condition), Loops and
function calls up to DEPTH deep, read weights that stand at any level: initializers, Constant nodes, equal
ones, results of Identity, Transpose, Reshape, Squeeze and Concat, passed to a function or captured. They run
before and after, optimizations off: with --exact, with -O1, and with -O3 --exact.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import runs  # noqa: E402

SIZE, DEPTH = 48, 3  # with this size, the kernels for packed and for other weights give other bits
OPTIONS = (["--exact"], ["-O1"], ["-O3", "--exact"])


def info(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


class Scope:
    """A graph or function body under construction: nodes, initializers, and what is visible in it."""

    def __init__(self, weights, rows, conditions, is_function=False):
        self.nodes, self.initializers, self.is_function = [], [], is_function
        self.weights, self.rows, self.conditions = list(weights), list(rows), list(conditions)


class Builder:
    def __init__(self, seed):
        self.rng, self.names, self.functions = np.random.default_rng(seed), 0, []
        self.pool = [self.rng.standard_normal((SIZE, SIZE)).astype(np.float32) * 0.2 for _ in range(3)]

    def name(self, stem):
        self.names += 1
        return f"{stem}{self.names}"

    def pick(self, items):
        return items[int(self.rng.integers(len(items)))]

    def node(self, s, kind, operands, stem="v", **attributes):
        result = self.name(stem)
        s.nodes.append(helper.make_node(kind, operands, [result], **attributes))
        return result

    def constant(self, s, array, stem="w"):
        """An initializer, or a Constant node, which alone a function can have."""
        if not s.is_function and self.rng.random() < 0.7:
            s.initializers.append(numpy_helper.from_array(array, self.name(stem)))
            return s.initializers[-1].name
        result = self.name(stem)
        value = numpy_helper.from_array(array, result)
        s.nodes.append(helper.make_node("Constant", [], [result], value=value))
        return result

    def add_weight(self, s):
        kind = self.rng.integers(7)
        if kind < 2 or not s.weights:
            made = self.constant(s, self.pick(self.pool))
        elif kind == 2:
            made = self.node(s, "Identity", [self.pick(s.weights)], "w")
        elif kind == 3:
            made = self.node(s, "Transpose", [self.pick(s.weights)], "w", perm=[1, 0])
        elif kind == 4:
            shape = self.constant(s, np.array([SIZE, SIZE], np.int64), "shape")
            made = self.node(s, "Reshape", [self.pick(s.weights), shape], "w")
        elif kind == 5:
            axes = self.constant(s, np.array([0], np.int64), "axes")
            inner = self.node(s, "Unsqueeze", [self.pick(s.weights), axes], "w")
            made = self.node(s, "Squeeze", [inner, axes], "w")
        else:
            made = self.node(s, "Concat", [self.pick(s.weights)], "w", axis=0)
        s.weights.append(made)

    def add_product(self, s):
        row, weight = self.pick(s.rows), self.pick(s.weights)
        if self.rng.random() < 0.7:
            product = self.node(s, "MatMul", [row, weight], "p")
        else:
            product = self.node(s, "Gemm", [row, weight], "p", transB=int(self.rng.integers(2)))
        s.rows.append(self.node(s, "Tanh", [product], "r"))

    def body(self, s, depth, extra=()):
        """(scope, the name of its row) of a body inside s."""
        inner = Scope(s.weights, s.rows, s.conditions, s.is_function)
        inner.rows += extra
        self.fill(inner, depth + 1)
        return inner, self.node(inner, "Tanh", [inner.rows[-1]], "r")

    def graph(self, inner, inputs, results):
        initializers = inner.initializers
        return helper.make_graph(inner.nodes, self.name("body"), inputs, results, initializers)

    def add_if(self, s, depth):
        condition = self.pick(s.conditions)
        if self.rng.random() < 0.6:
            condition = self.constant(s, np.array(bool(self.rng.integers(2))), "on")
        graphs = []
        for _ in range(2):
            inner, row = self.body(s, depth)
            graphs.append(self.graph(inner, [], [info(row, [1, SIZE])]))
        s.rows.append(self.node(s, "If", [condition], "r", then_branch=graphs[0], else_branch=graphs[1]))

    def add_loop(self, s, depth):
        state, counter, going = self.name("s"), self.name("k"), self.name("go")
        inner, row = self.body(s, depth, [state])
        again = self.node(inner, "Identity", [going], "go")
        inputs = [
            info(counter, [], TensorProto.INT64),
            info(going, [], TensorProto.BOOL),
            info(state, [1, SIZE]),
        ]
        results = [info(again, [], TensorProto.BOOL), info(row, [1, SIZE])]
        trips = self.constant(s, np.array(int(self.rng.integers(0, 3))), "n")
        graph = self.graph(inner, inputs, results)
        s.rows.append(self.node(s, "Loop", [trips, "", self.pick(s.rows)], "r", body=graph))

    def add_call(self, s, depth):
        inner = Scope(["q"], ["p"], ["c"], is_function=True)
        self.fill(inner, depth + 1)
        self.functions.append(
            helper.make_function(
                "local",
                self.name("F"),
                ["p", "q", "c"],
                [inner.rows[-1]],
                inner.nodes,
                [helper.make_opsetid("", 17)],
            )
        )
        name = self.functions[-1].name
        for _ in range(int(self.rng.integers(1, 3))):
            operands = [self.pick(s.rows), self.pick(s.weights), self.pick(s.conditions)]
            s.rows.append(self.node(s, name, operands, "r", domain="local"))

    def fill(self, s, depth):
        for _ in range(int(self.rng.integers(0, 3))):
            self.add_weight(s)
        if not s.weights:
            self.add_weight(s)
        for _ in range(int(self.rng.integers(1, 3))):
            kind = self.rng.integers(8) if depth < DEPTH else 0
            if kind >= 5 and not (kind == 7 and s.is_function):
                (self.add_if, self.add_loop, self.add_call)[kind - 5](s, depth)
            else:
                self.add_product(s)

    def model(self):
        s = Scope([], ["x"], ["c"])
        inputs = [info("x", [1, SIZE]), info("c", [], TensorProto.BOOL)]
        if self.rng.random() < 0.5:
            inputs.append(info("free", [SIZE, SIZE]))
            s.weights.append("free")
        if self.rng.random() < 0.3:
            inputs.append(info("open", [SIZE, SIZE]))
            s.weights.append("open")
            s.initializers.append(numpy_helper.from_array(self.pool[0], "open"))
        self.add_weight(s)
        for _ in range(3):
            self.fill(s, 0)
        y = self.node(s, "Identity", [s.rows[-1]], "y")
        graph = helper.make_graph(s.nodes, "g", inputs, [info(y, [1, SIZE])], s.initializers)
        imports = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
        return helper.make_model(graph, opset_imports=imports, functions=self.functions, ir_version=9)

    def feeds(self, model, on):
        values = {"x": self.rng.standard_normal((1, SIZE)).astype(np.float32), "c": np.array(on)}
        if any(v.name == "free" for v in model.graph.input):
            values["free"] = self.pool[1]
        return values


def examine(tool, seed, folder):
    """None, or what went wrong."""
    builder = Builder(seed)
    model = builder.model()
    source, target = f"{folder}/in.onnx", f"{folder}/out.onnx"
    onnx.save(model, source)
    feeds = [builder.feeds(model, on) for on in (False, True)]
    before = runs.session(source)
    expected = [before.run(None, f) for f in feeds]
    for options in OPTIONS:
        command = [tool, source, "-o", target, "-q", "--verify-each", *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            return f"{' '.join(options)}: exit status {done.returncode}: {done.stderr.strip()[-300:]}"
        after = runs.session(target)
        for f, values in zip(feeds, expected):
            if d := runs.bit_difference(values, after.run(None, f)):
                return f"{' '.join(options)}: {d}"
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--count", type=int, default=80)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(a.seed, a.seed + a.count):
            if why := examine(a.tool, seed, folder):
                bad += 1
                print(f"seed {seed}: {why}", flush=True)
    print(f"{a.count} graphs, {bad} bad")
    return 1 if bad or not a.count else 0


if __name__ == "__main__":
    sys.exit(main())
