# TIER: nightly
# LONG: --seed 2
# WHEN: src/ops/fold tools/requirements.txt
"""Fold kernels against ONNX Runtime: nodes with constant operands, the same bits where graphopt says exact.

Usage: fold_against_ort.py GRAPHOPT [--rounds N] [--seed N] [--only OP] [-v]

Makes nodes for every operator that has a fold kernel, in several opsets, element types and layouts, from a
seed, with special values (NaN, Inf, -0, denormals, extreme integers, extents 0 and 1, negative axes). Each
node runs alone in ONNX Runtime without optimizations; all nodes of an opset make two models for `graphopt
--passes=constant-folding`, of those that run and of the others, once with --exact and once without. Then:
  exact     folded under --exact: the bits of ONNX Runtime, NaN payloads apart
  rounds    folded only without it: close (1e-5 relative, 4e-3 for 16-bit types); transcendental functions
            within the bounds of docs/rounding.md
  errors    what ONNX Runtime refuses, other than for want of a kernel for the type, must not be folded
  coverage  every operator of the list is folded at least once, and at least once exactly unless it only
  rounds
Ends with 0 when all of that holds.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
from onnx import AttributeProto, TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).parent))
import _fold_cases  # noqa: E402

ort.set_default_logger_severity(4)
NO_KERNEL = (
    "NOT_IMPLEMENTED",
    "Type Error",
    "Type parameter",
    "InsertedPrecisionFreeCast",
)  # the node itself may be right


def tensor(value, name):
    t = onnx.TensorProto()
    if isinstance(value, onnx.TensorProto):
        t.CopyFrom(value)
        t.name = name
    else:
        t = numpy_helper.from_array(np.asarray(value), name)
    return t


def node_of(case, prefix):
    inputs, initializers = [], []
    for i, value in enumerate(case.inputs):
        if value is None:
            inputs.append("")
            continue
        inputs.append(f"{prefix}i{i}")
        initializers.append(tensor(value, inputs[-1]))
    outputs = [f"{prefix}o{i}" for i in range(case.outputs)]
    node = helper.make_node(case.op, inputs, outputs, name=prefix + case.op)
    for key, value in case.attrs.items():  # all lists are of integers; an empty one does not say so itself
        kind = AttributeProto.INTS if isinstance(value, list) else None
        node.attribute.append(helper.make_attribute(key, value, attr_type=kind))
    return node, initializers


def model_of(nodes, initializers, outputs, opset):
    graph = helper.make_graph(
        nodes, "g", [], [helper.make_empty_tensor_value_info(o) for o in outputs], initializers
    )
    ir = 10 if opset <= 23 else helper.find_min_ir_version_for([helper.make_opsetid("", opset)], True)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir)


def run_alone(case):
    """The results in ONNX Runtime; 'static' when it cannot load the node, 'error' when running fails."""
    node, initializers = node_of(case, "")
    nodes, outputs = [node], list(node.output)
    if case.brain_results:  # no NumPy type on the way out: widened, which is exact
        outputs = [o + "_wide" for o in outputs]
        nodes += [
            helper.make_node("Cast", [a], [b], to=TensorProto.FLOAT) for a, b in zip(node.output, outputs)
        ]
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    data = model_of(nodes, initializers, outputs, case.opset).SerializeToString()
    try:
        session = ort.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    except Exception as e:  # noqa: BLE001 - any refusal of the runtime
        return "static", str(e)
    try:
        return "ok", session.run(None, {})
    except Exception as e:  # noqa: BLE001
        return "error", str(e)


def fold_all(graphopt, cases, opset, extra, folder):
    """For each case the folded results as arrays, or None."""
    nodes, initializers, outputs = [], [], []
    for number, case in enumerate(cases):
        node, tensors = node_of(case, f"c{number}_")
        nodes.append(node)
        initializers += tensors
        outputs += node.output
    source, target = Path(folder, "in.onnx"), Path(folder, "out.onnx")
    target.unlink(missing_ok=True)
    source.write_bytes(model_of(nodes, initializers, outputs, opset).SerializeToString())
    command = [
        graphopt,
        str(source),
        "-o",
        str(target),
        "--passes=constant-folding",
        "--fold-limit",
        "1000000",
        *extra,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"graphopt ended with {done.returncode} (opset {opset}): {done.stderr}")
    folded = {t.name: t for t in onnx.load(target).graph.initializer}
    return [
        [folded[o] for o in node.output] if all(o in folded for o in node.output) else None for node in nodes
    ]


def array(t):
    return numpy_helper.to_array(t)


def widened(a):
    return a.astype(np.float32) if a.dtype == ml_dtypes.bfloat16 else a


def same_bits(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype == object:
        text = lambda v: v if isinstance(v, str) else v.decode()  # noqa: E731
        return all(text(x) == text(y) for x, y in zip(a.ravel(), b.ravel()))
    if a.dtype.kind in "fc":
        nan = np.isnan(a) & np.isnan(b)
        a, b = np.where(nan, 0, a), np.where(nan, 0, b)
        return np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()
    return np.array_equal(a, b)


def close(a, b):
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    tolerance = 4e-3 if a.dtype == np.float16 else 1e-5
    with np.errstate(all="ignore"):
        return np.allclose(a.astype(np.float64), b.astype(np.float64), tolerance, tolerance, equal_nan=True)


# What docs/rounding.md promises: rounding units of the result's magnitude, of 1, and of the largest of 1, the
# operand and the attributes. Of Softmax n + 8 units, for vectors of n elements: all of the operand's at most;
# of Resize 16 n units of the largest element, for axes of at most n.
RELATIVE = {
    **{"Exp": 4, "Log": 4, "Erf": 4, "Pow": 4},
    **dict.fromkeys(["Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh"], 16),
}
ABSOLUTE = {"Tanh": 8, "Sigmoid": 8, "Sin": 8, "Cos": 8}
SCALED = dict.fromkeys(_fold_cases.ACTIVATIONS, 8)


def as_documented(case, a, b):
    op = case.op
    if a.dtype in (np.float32, np.float64) and op in ("Softmax", "LogSoftmax"):
        with np.errstate(all="ignore"):
            bound = np.finfo(a.dtype).eps / 2 * (a.size + 8) * (1 + (op == "LogSoftmax") * np.abs(b))
            return bool(np.all((np.abs(a - b) <= bound) | (a == b)))
    if a.dtype == np.float32 and op in ("Resize", "Upsample"):
        length = max(*a.shape, *case.inputs[0].shape, 1)
        bound = np.finfo(a.dtype).eps / 2 * 16 * length * np.max(np.abs(case.inputs[0]), initial=0)
        return bool(np.all(np.abs(a - b) <= bound))
    if a.dtype not in (np.float32, np.float64) or not (op in RELATIVE or op in ABSOLUTE or op in SCALED):
        return True
    numbers = np.finfo(a.dtype)
    with np.errstate(all="ignore"):
        bound = float(numbers.eps) / 2 * (RELATIVE.get(op) or ABSOLUTE.get(op) or SCALED[op])
        if op in RELATIVE:
            bound = bound * np.maximum(np.abs(b), numbers.tiny)
        elif op in SCALED:
            given = [abs(v) for v in case.attrs.values() if isinstance(v, float)]
            bound = bound * np.maximum(np.abs(case.inputs[0]), max([1.0, *given]))
        return bool(np.all((np.abs(a - b) <= bound) | (a == b) | (np.isnan(a) & np.isnan(b))))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("graphopt")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only")
    parser.add_argument("-v", action="store_true")
    args = parser.parse_args()

    cases = [c for c in _fold_cases.make(args.seed, args.rounds) if args.only in (None, c.op)]
    by_opset = defaultdict(list)
    for case in cases:
        by_opset[case.opset].append(case)

    problems, count = [], Counter()
    ops = defaultdict(Counter)
    with tempfile.TemporaryDirectory() as folder:
        for opset, every in sorted(by_opset.items()):
            alone = {id(case): run_alone(case) for case in every}
            # A model with a node that no runtime loads is left as it is, whatever else it holds: so such
            # nodes have models of their own.
            groups = [[c for c in every if (alone[id(c)][0] == "ok") == ok] for ok in (True, False)]
            exact = [r for g in groups for r in fold_all(args.graphopt, g, opset, ["--exact"], folder)]
            anyhow = [r for g in groups for r in fold_all(args.graphopt, g, opset, [], folder)]
            for case, a, b in zip([c for g in groups for c in g], exact, anyhow):
                state, expected = alone[id(case)]
                kind = "exact" if a else "rounds" if b else "kept"
                count[f"{kind}, {state}"] += 1
                ops[case.op][f"{kind}, {state}"] += 1
                if args.v:
                    print(case, kind, state, expected if state != "ok" else "")
                if kind == "kept" and case.must_fold:
                    problems.append(f"not folded: {case}")
                if kind == "kept" or (state == "static" and any(m in expected for m in NO_KERNEL)):
                    continue
                if state != "ok":
                    problems.append(f"folded, but ONNX Runtime says {expected[:200]}: {case}")
                    continue
                for ours, theirs in zip(map(array, a or b), expected):
                    theirs = np.asarray(theirs)
                    found = widened(ours) if case.brain_results else ours
                    if not (same_bits if a else close)(found, theirs) or not (
                        a or as_documented(case, found, theirs)
                    ):
                        problems.append(
                            f"{kind}, differs: {case}\n    graphopt {ours.ravel()[:12]} {ours.shape}\n"
                            f"    runtime  {theirs.ravel()[:12]} {theirs.shape}"
                        )
                        break
    if args.only is None:
        for op, seen in sorted(ops.items()):
            if op in _fold_cases.ONLY_ROUNDS:
                if not seen["rounds, ok"]:
                    problems.append(f"{op} was never folded and compared")
            elif not seen["exact, ok"] and op not in _fold_cases.NO_RUNTIME:
                problems.append(f"{op} was never folded exactly and compared: {dict(seen)}")
    print(
        f"{len(cases)} nodes, {len(ops)} operators: "
        + "; ".join(f"{k}: {v}" for k, v in sorted(count.items()))
    )
    for p in problems[:40]:
        print(p)
    if problems:
        print(f"{len(problems)} problems")
    return 1 if problems or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
