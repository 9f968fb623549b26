#!/usr/bin/env python3
# LONG: --count 4000 --seed 2
"""Random Reshape, Transpose, Reshape, before and after least-rank: equal bit for bit, and of the least rank.

  least_rank.py GRAPHOPT [--count N] [--seed S]

Axes of random extents (1, 0 and symbols among them) are split by a Reshape (or Flatten, Squeeze, Unsqueeze),
moved by a Transpose, and joined at random places; targets have copies, a -1 and allowzero. Sometimes another
node reads a value between, two Reshapes read the Transpose, or the chain is in a branch. Each model runs in
ONNX Runtime for several sizes, 0 and 1 among them; where the original runs, the result has to run and to
return the same bytes. It has no more nodes and, if it has as many, no higher rank. A second run writes the
same bytes. Where all extents are numbers above 0 and nothing else reads a value between, the rank is the
least one, which is counted here in another way than by the tool, from strides: two axes are joined if the
stride of the first is the extent of the second times its stride.
"""

import argparse
import itertools
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib.tool import executable, optimized  # noqa: E402

TYPES = {
    TensorProto.FLOAT: np.float32,
    TensorProto.FLOAT16: np.float16,
    TensorProto.DOUBLE: np.float64,
    TensorProto.INT64: np.int64,
    TensorProto.UINT8: np.uint8,
    TensorProto.BOOL: np.bool_,
    TensorProto.STRING: np.str_,
}
WORDS = [["--passes=least-rank"], ["--passes=least-rank"], [], ["-O1"], ["-O1", "--exact"], ["-O3"]]
DEFORM = {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}


class Case:
    """A model, the symbols of its operand, and how it was made."""

    def __init__(self, rng):
        self.rng = rng
        self.opset = rng.choice([9, 11, 13, 14, 17, 21])
        self.elem = rng.choice([TensorProto.FLOAT, *TYPES])
        self.words = rng.choice(WORDS)
        n = rng.choice([2, 3, 4, 4, 5, 6, 6])
        self.static = rng.random() < 0.5
        extents = [1, 1, 2, 2, 3, 4] if self.static else [1, 2, 3, 0, "N", "M", "K"]
        weights = None if self.static else [3, 4, 3, 0.3, 2, 1, 0.5]
        self.axes = rng.choices(extents, weights, k=n)
        self.perm = self.random_perm(n)
        self.nodes, self.inits = [], []
        self.operand = self.joined(self.axes)
        self.build()

    def random_perm(self, n):
        """A permutation of which neighbours often stay together."""
        cuts = sorted(self.rng.sample(range(1, n), self.rng.randint(0, min(3, n - 1))))
        parts = [list(range(a, b)) for a, b in itertools.pairwise([0, *cuts, n])]
        self.rng.shuffle(parts)
        perm = [axis for part in parts for axis in part]
        if self.rng.random() < 0.2:
            i, j = self.rng.sample(range(n), 2)
            perm[i], perm[j] = perm[j], perm[i]
        return perm

    def joined(self, axes):
        """Lists of axes, each of which is one axis, with axes of extent 1 at random places (empty lists)."""
        out = []
        for axis in axes:
            if out and self.rng.random() < 0.4:
                out[-1].append(axis)
            else:
                out.append([axis])
            if self.rng.random() < 0.12:
                out.insert(self.rng.randrange(len(out) + 1), [])
        return out

    def extent(self, group, sizes):
        return int(np.prod([sizes.get(a, a) for a in group], dtype=np.int64))

    def target(self, have, want):
        """(target, allowzero) of a Reshape between lists of groups, or None where none can be written."""
        numbers, opened, allow = [], False, False
        for i, group in enumerate(want):
            if all(isinstance(a, int) for a in group):
                number = self.extent(group, {})
                if number > 0 and not opened and self.rng.random() < 0.15:
                    opened, number = True, -1
                elif number == 0:
                    allow = True
                numbers.append(number)
            elif i < len(have) and sorted(map(str, have[i])) == sorted(map(str, group)):
                numbers.append(None)  # a copy
            elif not opened:
                opened = True
                numbers.append(-1)
            else:
                return None
        if allow and (None in numbers or -1 in numbers or self.opset < 14):
            return None
        return [0 if number is None else number for number in numbers], allow

    def reshape(self, x, y, have, want):
        """Adds a node that gives x, with the axes `have`, the axes `want`; returns whether it could."""
        flat = [a for g in have for a in g if a != 1]
        assert flat == [a for g in want for a in g if a != 1]
        attributes = self.opset < 13
        for k in range(len(have) + 1):
            if len(want) == 2 and want == [sum(have[:k], []), sum(have[k:], [])] and self.rng.random() < 0.5:
                self.nodes.append(helper.make_node("Flatten", [x], [y], axis=k))
                return True
        ones = [i for i, g in enumerate(have) if all(a == 1 for a in g)]
        if attributes and ones and [g for g in have if any(a != 1 for a in g)] == want:
            self.nodes.append(helper.make_node("Squeeze", [x], [y], axes=ones))
            return True
        ones = [i for i, g in enumerate(want) if all(a == 1 for a in g)]
        if attributes and ones and [g for g in want if any(a != 1 for a in g)] == have:
            self.nodes.append(helper.make_node("Unsqueeze", [x], [y], axes=ones))
            return True
        found = self.target(have, want)
        if found is None:
            return False
        numbers, allow = found
        self.inits.append(helper.make_tensor(f"{y}_to", TensorProto.INT64, [len(numbers)], numbers))
        self.nodes.append(
            helper.make_node("Reshape", [x, f"{y}_to"], [y], **({"allowzero": 1} if allow else {}))
        )
        return True

    def build(self):
        rng, axes = self.rng, [[a] for a in self.axes]
        moved = [self.axes[p] for p in self.perm]
        self.ok = self.reshape("x", "a", self.operand, axes)
        written = (
            {} if self.perm == list(range(len(axes)))[::-1] and rng.random() < 0.5 else {"perm": self.perm}
        )
        self.nodes.append(helper.make_node("Transpose", ["a"], ["b"], **written))
        outputs = {"y": self.joined(moved)}
        if rng.random() < 0.2:
            outputs["z"] = self.joined(moved)
        self.results = dict(outputs)
        for name, groups in outputs.items():
            self.ok = self.ok and self.reshape("b", name, [[a] for a in moved], groups)
        self.read = rng.random()
        if self.read < 0.1:
            self.nodes.append(helper.make_node("Identity", ["a"], ["p"]))
            outputs["p"] = axes
        elif self.read < 0.2:
            self.nodes.append(helper.make_node("Identity", ["b"], ["p"]))
            outputs["p"] = [[a] for a in moved]
        self.outputs = outputs
        if not self.ok:
            return
        given = [self.dim(g, i) for i, g in enumerate(self.operand)]
        values = [helper.make_tensor_value_info("x", self.elem, given)]
        results = [helper.make_tensor_value_info(o, self.elem, [None] * len(g)) for o, g in outputs.items()]
        self.branch = rng.random() < 0.1 and self.elem != TensorProto.STRING
        if self.branch:
            other = [
                helper.make_node("Cast", ["none"], [f"{o}_"], to=self.elem, name=f"c{o}") for o in outputs
            ]
            zero = [helper.make_tensor("none", TensorProto.FLOAT, [0], [])]
            empty = [helper.make_tensor_value_info(f"{o}_", self.elem, None) for o in outputs]
            branches = {
                "then_branch": helper.make_graph(self.nodes, "t", [], results, self.inits),
                "else_branch": helper.make_graph(other, "e", [], empty, zero),
            }
            names = [f"{o}__" for o in outputs]
            nodes = [helper.make_node("If", ["c"], names, **branches)]
            results = [helper.make_tensor_value_info(o, self.elem, None) for o in names]
            values.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
            graph = helper.make_graph(nodes, "g", values, results)
        else:
            graph = helper.make_graph(self.nodes, "g", values, results, self.inits)
        opsets = [helper.make_opsetid("", self.opset)]
        self.model = helper.make_model(graph, opset_imports=opsets, ir_version=8 if self.opset < 21 else 10)

    def dim(self, group, at):
        symbols = [a for a in group if isinstance(a, str)]
        if not symbols:
            return self.extent(group, {})
        return symbols[0] if group == symbols and len(group) == 1 else f"d{at}"

    def operands(self, sizes, data):
        shape = [self.extent(g, sizes) for g in self.operand]
        count = int(np.prod(shape, dtype=np.int64))
        kind = TYPES[self.elem]
        if kind is np.str_:
            x = np.array([f"s{i}" for i in range(count)], dtype=object).reshape(shape)
        elif np.dtype(kind).kind == "f":
            x = data.choice(np.array([0.0, -0.0, np.inf, np.nan, *range(1, 60)], kind), shape).astype(kind)
        else:
            x = np.arange(count).reshape(shape).astype(kind)
        return {"x": x, **({"c": np.array(True)} if self.branch else {})}

    def least_rank(self):
        """Of a Transpose between Reshapes, all extents numbers above 0: the axes that elements tell apart."""
        extents, perm = list(self.axes), list(self.perm)
        strides = [int(np.prod([extents[q] for q in perm[perm.index(a) + 1 :]])) for a in range(len(extents))]
        rank = 0
        last = None  # (extent, stride in the result) of the axis before, which may be joined
        for extent, stride in reversed(list(zip(extents, strides, strict=True))):
            if extent == 1:
                continue
            if last is None or stride != last[0] * last[1]:
                rank += 1
                last = (extent, stride)
            else:
                last = (last[0] * extent, last[1])
        return 0 if rank == 1 else rank


def session(model):
    o = ort.SessionOptions()
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    o.intra_op_num_threads, o.log_severity_level = 1, 4
    return ort.InferenceSession(model.SerializeToString(), o, providers=["CPUExecutionProvider"])


def outcome(made, operands):
    try:
        return made.run(None, operands)
    except Exception:  # noqa: BLE001  what ONNX Runtime refuses
        return None


def same(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return bool((a == b).all()) if a.dtype == object else a.tobytes() == b.tobytes()


def body(model):
    """The nodes of the chain: those of the branch where there is one."""
    nodes = list(model.graph.node)
    for n in nodes:
        for a in n.attribute:
            if a.name == "then_branch":
                return list(a.g.node)
    return nodes


def rank_of(case, nodes):
    """The greatest rank of a Transpose; 0 without one."""
    ranks = [len(a.ints) for n in nodes if n.op_type == "Transpose" for a in n.attribute]
    plain = any(n.op_type == "Transpose" and not n.attribute for n in nodes)
    return max([*ranks, len(case.axes) if plain else 0], default=0)


def findings(case, model, again, tool_bytes, data):
    """What is wrong, and whether the original ran."""
    wrong, ran = [], 0
    before, after = body(case.model), body(model)
    least = rank_of(case, after)
    if len(after) > len(before):
        wrong.append(f"{len(before)} nodes became {len(after)}")
    if len(after) == len(before) and least > rank_of(case, before):
        wrong.append("the rank is higher")
    if again != tool_bytes:
        wrong.append("a second run writes other bytes")
    alone = case.read >= 0.2 and "z" not in case.results and not case.branch
    if (
        alone
        and case.static
        and 0 not in case.axes
        and len(after) == 3
        and all(n.op_type in DEFORM | {"Transpose"} for n in after)
    ):
        if least != case.least_rank():
            wrong.append(f"the rank is {least}, not {case.least_rank()}")
    first = session(case.model)
    try:
        second = session(model)
    except Exception as e:  # noqa: BLE001  what ONNX Runtime refuses
        return [*wrong, f"the result is refused: {e}"], 1
    symbols = sorted({a for a in case.axes if isinstance(a, str)})
    for sizes in [2, 3, 5], [1, 1, 1], [0, 2, 3], [2, 0, 3], [3, 2, 0], [1, 4, 1]:
        operands = case.operands(dict(zip(symbols, sizes, strict=False)), data)
        want = outcome(first, operands)
        if want is None:
            continue
        ran += 1
        got = outcome(second, operands)
        if got is None or not all(same(p, q) for p, q in zip(want, got, strict=True)):
            wrong.append(f"for {dict(zip(symbols, sizes, strict=False))} the result differs")
        if not symbols:
            break
    return wrong, ran


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", type=executable)
    p.add_argument("--count", type=int, default=250)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    bad = changed = runs = made = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(a.seed * 1_000_000, a.seed * 1_000_000 + a.count):
            case = Case(random.Random(seed))
            if not case.ok:
                continue
            try:
                session(case.model)
            except Exception:  # noqa: BLE001  a target that does not fit, or a type without a kernel
                continue
            made += 1
            options = [*case.words, "--verify-each"]
            model = optimized(a.tool, case.model, folder, *options)
            target, again = Path(folder) / "out.onnx", Path(folder) / "again.onnx"
            subprocess.run([a.tool, target, "-o", again, "-q", *options], check=True)
            wrong, ran = findings(
                case, model, again.read_bytes(), target.read_bytes(), np.random.default_rng(seed)
            )
            runs += ran
            before, after = body(case.model), body(model)
            changed += (len(before), rank_of(case, before)) != (len(after), rank_of(case, after))
            for text in wrong:
                bad += 1
                print(
                    f"seed {seed}, opset {case.opset}, {case.operand} to {case.axes}, perm {case.perm}, to "
                    f"{case.results}, {' '.join(case.words)}: {text}"
                )
    print(f"{made} models, {changed} of them changed, {runs} runs compared; {bad} wrong")
    return int(bad > 0 or changed * 4 < made)


if __name__ == "__main__":
    sys.exit(main())
