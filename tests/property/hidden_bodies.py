#!/usr/bin/env python3
# LONG: --count 4000 --seed 7
"""Bodies that never run, with a node that cannot run: what graphopt makes of the model has to load, too.

  hidden_bodies.py GRAPHOPT [--all] [--count N] [--seed S] [--only TEXT]

A branch that is not taken, a loop without iterations, nested ones and functions that they call hold a node
that cannot run with its operands (a MatMul of 3x2 by 3x2). ONNX Runtime does not see that while dims or
operands are computed; a fold, a bound number or a written type makes them known, and its inference refuses
the whole model. It refuses two things that run, too: operands without elements, which kernels take, and,
before opset 11, branches that give other shapes. Each operator of OPERATORS is put into bodies of each kind
and into the main graph, its operands hidden in each way of DIMS and NUMBERS, those of OLD also at opsets
without sequences, and optimized with each of OPTIONS. Where ONNX Runtime loads the original (without its
own optimizations, and with all), it has to load the result and to give the same bits, and a second run has to
give the same bytes. The short form takes some of the combinations, each operator at least once; --all all.
Numbers that make a node of the main graph fail are an error, status 2, that names the node.
"""

import argparse
import itertools
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import runs  # noqa: E402
from lib.tool import executable  # noqa: E402

LEVELS = (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL)
OPTIONS = (
    [],
    ["--exact"],
    ["-O1"],
    ["-O3"],
    ["--infer"],
    ["-O0", "--infer"],
    ["--exact", "--infer"],
    ["--verify-each"],
    ["--strip", "all"],
    ["--passes", "constant-folding"],
)
BOUND = (["--dim", "N=2"], ["--dim", "N=2", "--infer"], ["--shape", "x=2,3"], ["-O0", "--dim", "N=2"])

# Operator: dims of h (a product of 6), the numbers of k (or None), what computes r of h, k, the float[2, 3] x
# and the constants of CONSTANTS.
OPERATORS = {
    "MatMul": ([3, 2], None, "r = MatMul (h, h)"),
    "Gemm": ([3, 2], None, "r = Gemm (h, h)"),
    "Concat": ([3, 2], None, "r = Concat <axis = 0> (h, x)"),
    "Concat_rank": ([1, 2, 3], None, "r = Concat <axis = 0> (h, x)"),
    "Add": ([3, 2], None, "r = Add (h, x)"),
    "Sub_3": ([1, 2, 3], None, "p = Transpose <perm = [2, 0, 1]> (h) r = Sub (p, x)"),
    "Where": ([3, 2], None, "c0 = Cast <to = 9> (h) r = Where (c0, x, x)"),
    "Equal": ([3, 2], None, "r = Equal (h, x)"),
    "Mod": ([3, 2], None, "r = Mod <fmod = 1> (h, x)"),
    "Max": ([3, 2], None, "r = Max (x, h, x)"),
    "Pow": ([3, 2], None, "r = Pow (h, x)"),
    "BatchNormalization": ([1, 6], None, "r = BatchNormalization (h, two, two, two, two)"),
    "InstanceNormalization": ([1, 3, 2], None, "r = InstanceNormalization (h, two, two)"),
    "LayerNormalization_axis": ([6], None, "r = LayerNormalization <axis = 2> (h, two)"),
    "Conv": ([1, 6, 1], None, "r = Conv (h, kernel)"),
    "Conv_rank": ([3, 2], None, "r = Conv (h, kernel)"),
    "ConvTranspose_rank": ([6], None, "r = ConvTranspose (h, kernel)"),
    "MaxPool_rank": ([6], None, "r = MaxPool <kernel_shape = [2]> (h)"),
    "AveragePool_rank": ([6, 1], None, "r = AveragePool <kernel_shape = [2]> (h)"),
    "DepthToSpace": ([1, 6, 1, 1], None, "r = DepthToSpace <blocksize = 2> (h)"),
    "SpaceToDepth_rank": ([3, 2], None, "r = SpaceToDepth <blocksize = 2> (h)"),
    "Transpose": ([1, 2, 3], None, "r = Transpose <perm = [1, 0]> (h)"),
    "Flatten": ([6], None, "r = Flatten <axis = 3> (h)"),
    "Softmax": ([6], None, "r = Softmax <axis = 2> (h)"),
    "ArgMax": ([6], None, "r = ArgMax <axis = 2> (h)"),
    "Hardmax": ([6], None, "r = Hardmax <axis = -3> (h)"),
    "CumSum": ([6], [2], "s0 = Squeeze (k) r = CumSum (h, s0)"),
    "Gather": ([6], None, "r = Gather <axis = 2> (h, zeros)"),
    "GatherElements": ([6], None, "r = GatherElements <axis = 3> (h, zeros)"),
    "GatherND": ([6], None, "r = GatherND (h, corner)"),
    "ScatterElements": ([6], None, "r = ScatterElements <axis = 2> (h, zeros, two)"),
    "Compress": ([6], None, "r = Compress <axis = 2> (h, yes)"),
    "OneHot": ([6], None, "c0 = Cast <to = 7> (h) r = OneHot <axis = 4> (c0, three, two)"),
    "Squeeze": ([3, 2], [0], "r = Squeeze (h, k)"),
    "Squeeze_all": ([3, 2], [5], "r = Squeeze (h, k)"),
    "Unsqueeze": ([3, 2], [0, 0], "r = Unsqueeze (h, k)"),
    "Unsqueeze_out": ([3, 2], [7], "r = Unsqueeze (h, k)"),
    "Expand": ([3, 2], [2, 3], "r = Expand (h, k)"),
    "Reshape": ([3, 2], [4, 2], "r = Reshape (h, k)"),
    "Reshape_twice": ([3, 2], [-1, -1], "r = Reshape (h, k)"),
    "Tile": ([3, 2], [2, 2, 2], "r = Tile (h, k)"),
    "Split": ([6], [1, 2], "r, r2 = Split (h, k)"),
    "Split_more": ([6], [2, 2, 2], "r, r2 = Split (h, k)"),
    "TopK": ([3, 2], [5], "r, r2 = TopK (h, k)"),
    "TopK_axis": ([6], [1], "r, r2 = TopK <axis = 2> (h, k)"),
    "Slice_step": ([3, 2], [0], "r = Slice (h, zeros, three, zeros, k)"),
    "Slice_axes": ([6], [3], "r = Slice (h, zeros, three, k)"),
    "Slice_lengths": ([3, 2], [0, 1], "r = Slice (h, k, three)"),
    "Pad": ([3, 2], [1, 1, 1], "r = Pad (h, k)"),
    "Pad_negative": ([3, 2], [-9, 0, 0, 0], "r = Pad (h, k)"),
    "ReduceSum": ([6], [2], "r = ReduceSum (h, k)"),
    "ReduceMean": ([6], None, "r = ReduceMean <axes = [2]> (h)"),
    "ConstantOfShape": ([6], [-3], "r = ConstantOfShape (k)"),
    "Range": ([6], [0], "s0 = Squeeze (k) r = Range (s0, s0, s0)"),
    "Resize": ([6], [2, 2], 'r = Resize (h, "", "", k)'),
    "DFT": ([3, 2], None, "r = DFT <axis = 5> (h)"),
    "DFT_last": ([1, 2, 3], None, "r = DFT <axis = 1> (h)"),
    "Einsum": ([1, 2, 3], None, 'r = Einsum <equation = "ij,jk->ik"> (h, x)'),
    "Einsum_dims": ([3, 2], None, 'r = Einsum <equation = "ij,ij->i"> (h, x)'),
    "LSTM": ([3, 2], None, "r = LSTM <hidden_size = 1> (h, gates, gates)"),
    "GRU": ([6], None, "r = GRU <hidden_size = 1> (h, gates, gates)"),
    "RNN": ([3, 2], None, "r = RNN <hidden_size = 1> (h, gates, gates)"),
    "Trilu": ([6], None, "r = Trilu (h)"),
    "Det": ([3, 2], None, "r = Det (h)"),
    "QuantizeLinear": ([3, 2], None, "r = QuantizeLinear <axis = 3> (h, two, bytes)"),
    "ReverseSequence": ([6], None, "r = ReverseSequence (h, lengths)"),
    "EyeLike": ([6], None, "r = EyeLike (h)"),
    "GlobalAveragePool": ([6], None, "r = GlobalAveragePool (h)"),
    "MatMulInteger": ([3, 2], None, "c0 = Cast <to = 3> (h) r = MatMulInteger (c0, c0)"),
    "NegativeLogLikelihoodLoss": ([6], None, "r = NegativeLogLikelihoodLoss (h, lengths)"),
    "chain": ([3, 2], None, "a0 = Relu (h) a1 = Neg (a0) a2 = MatMul (a1, h) r = Add (a2, x)"),
    "two": ([3, 2], None, "a0 = MatMul (h, h) a1 = Add (h, x) r = Concat <axis = 0> (a0, a1, h)"),
    "constants": ([3, 2], [2, 2, 2], "a0 = ConstantOfShape (k) r = MatMul (a0, h)"),
    "Relu": ([3, 2], None, "r = Relu (h)"),  # which works: see unequal()
    "Relu_row": ([6], None, "r = Relu (h)"),
    "Concat_empty": ([3, 2], None, "r = Concat <axis = 1> (none, h)"),  # which a kernel computes
    "Concat_empty_far": ([3, 2], None, "a0 = Relu (h) a1 = Neg (a0) r = Concat <axis = 1> (none, a1)"),
    "sequence": ([3, 2], None, "q = SequenceConstruct (h, h) a0 = SequenceAt (q, three) r = MatMul (a0, x)"),
}
# What works in the same form at opsets 9 and 10.
OLD = {
    *("MatMul", "Concat", "Concat_rank", "Add", "Sub_3", "Where", "Max", "Pow", "BatchNormalization"),
    *("InstanceNormalization", "Conv", "Conv_rank", "ConvTranspose_rank", "MaxPool_rank", "AveragePool_rank"),
    *("DepthToSpace", "SpaceToDepth_rank", "Transpose", "Flatten", "Softmax", "ArgMax", "Gather", "Compress"),
    *("Expand", "Reshape", "Reshape_twice", "Tile", "LSTM", "GRU", "RNN", "EyeLike", "ConstantOfShape"),
    *("GlobalAveragePool", "MatMulInteger", "ReduceMean", "Relu", "Relu_row", "Concat_empty"),
    *("Concat_empty_far", "chain", "two", "constants"),
}
OPSETS = {"ReduceMean": 17, "DFT": 17, "DFT_last": 17}
CONSTANTS = (
    "float[2] two = {1, 2}, float[1, 2, 1] kernel = {1, 2}, int64[1] zeros = {0}, bool[1] yes = {1}, "
    "int64 three = {3}, int64 nought = {0}, int64[1, 2] corner = {0, 0}, "
    "float[1, 4, 1] gates = {1, 2, 3, 4}, "
    "uint8[2] bytes = {0, 0}, int64[2] lengths = {1, 1}, float one = {1}, int64[1] first = {0}, "
    "int64[1] second = {1}, float[2, 0] none = {}, float[6, 6] big = {" + ", ".join(["1"] * 36) + "}"
)


def numbers(values):
    return "{" + ", ".join(map(str, values)) + "}"


# How the list `to` becomes known to graphopt and not to the runtime: (constants, nodes, nodes in the body).
def by_identity(to, values):
    return f"int64[{len(values)}] {to}_c = {numbers(values)}", f"{to} = Identity ({to}_c)", ""


def in_the_body(to, values):
    return f"int64[{len(values)}] {to}_c = {numbers(values)}", "", f"{to} = Identity ({to}_c)"


def by_pieces(to, values):
    constants = ", ".join(f"int64[1] {to}_{i} = {{{v}}}" for i, v in enumerate(values))
    nodes = " ".join(f"{to}_p{i} = Identity ({to}_{i})" for i in range(len(values)))
    pieces = ", ".join(f"{to}_p{i}" for i in range(len(values)))
    return constants, f"{nodes} {to} = Concat <axis = 0> ({pieces})", ""


def by_floats(to, values):  # which inference does not follow; folding does
    return (
        f"float[{len(values)}] {to}_c = {numbers(2 * v for v in values)}, float {to}_h = {{0.5}}",
        f"{to}_m = Mul ({to}_c, {to}_h) {to}_q = Sqrt ({to}_h) {to} = Cast <to = 7> ({to}_m)",
        "",
    )


def by_sums(to, values):
    return (
        f"int64[{len(values)}] {to}_c = {numbers(v + 7 for v in values)}, int64 {to}_7 = {{-7}}",
        "",
        f"{to}_n = Abs ({to}_c) {to} = Add ({to}_n, {to}_7)",
    )


def by_shape(to, values):  # of x, so that a number bound to its symbol decides
    constants = f"int64[{len(values)}] {to}_c = {numbers(v - 2 for v in values)}"
    nodes = f"{to}_x = Shape (x) {to}_d = Gather ({to}_x, first) {to} = Add ({to}_c, {to}_d)"
    return constants, nodes, ""


def by_length(to, values):  # of which the runtime does not know the length either, and so no rank
    listed = numbers([*values, 1])
    constants = f"int64[{len(values) + 1}] {to}_c = {listed}, int64[1] {to}_e = {{{len(values)}}}"
    return constants, f"{to}_l = Identity ({to}_e) {to} = Slice ({to}_c, first, {to}_l)", ""


def by_length_inside(to, values):
    constants, nodes, _ = by_length(to, values)
    return constants, "", nodes


def in_sight(to, values):
    return f"int64[{len(values)}] {to} = {numbers(values)}", "", ""


NUMBERS = (
    *(by_identity, in_the_body, by_pieces, by_floats, by_sums, by_shape, by_length, by_length_inside),
    in_sight,
)


def reshaped(rank):
    return "h = Reshape (x, to)"


def expanded(rank):
    return "h = Expand (one, to)"


def filled(rank):
    return "h0 = ConstantOfShape (to) h = Cast <to = 1> (h0)"


def cut(rank):
    return "h_z = Sub (to, to) h = Slice (big, h_z, to)" if rank == 2 else None


def through_identity(rank):
    return "h_a = Reshape (x, to) h_b = Identity (h_a) h = Relu (h_b)"


# ONNX Runtime forgets the dims of what is in a sequence.
def from_sequence(rank):
    return "h_a = Reshape (x, to) h_q = SequenceConstruct (h_a, x) h = SequenceAt (h_q, nought)"


def joined(rank):
    return "h_a = Reshape (x, to) h_q = SequenceConstruct (h_a) h = ConcatFromSequence <axis = 0> (h_q)"


DIMS = (reshaped, expanded, filled, cut, through_identity, from_sequence, joined)


def is_tried(operator, shape, list_, body, old):
    if operator == "ReverseSequence" and body is main_graph:
        return False  # its kernel ends the process where an operand has too few dims
    by_sequence = shape in (from_sequence, joined)
    if old and (by_sequence or operator not in OLD):
        return False
    return by_sequence or list_ is not in_sight


# Bodies: the nodes of the main graph that hold `inner`, which gives u; (nodes, functions, inputs that the run
# is fed).
def branch(inner):
    return (
        f"y = If (c) <then_branch = a () => (float u) {{ {inner} }}, "
        "else_branch = b () => (float v) { v = ReduceSum <keepdims = 0> (x) }>",
        "",
    )


def other_branch(inner):
    return (
        "n = Not (c) y = If (n) <then_branch = b () => (float v) { v = ReduceSum <keepdims = 0> (x) }, "
        f"else_branch = a () => (float u) {{ {inner} }}>",
        "",
    )


def nested(inner):
    return (
        "y = If (c) <then_branch = a () => (float w) "
        f"{{ w = If (c) <then_branch = a2 () => (float u) {{ {inner} }}, "
        "else_branch = b2 () => (float w2) { w2 = Identity (one) }> }, "
        "else_branch = b () => (float v) { v = ReduceSum <keepdims = 0> (x) }>",
        "",
    )


def loop(inner):
    return (
        'zero = Sub (one, one) y = Loop (trips, "", zero) '
        "<body = b (int64 i, bool d, float s) => (bool d2, float e) "
        f"{{ {inner} d2 = Identity (d) e = Add (s, u) }}>",
        "",
    )


def loop_in_branch(inner):
    nodes, _ = loop(inner)
    return (
        f"y = If (c) <then_branch = a () => (float w) {{ {nodes.replace('y = Loop', 'w = Loop')} }}, "
        "else_branch = b0 () => (float v) { v = ReduceSum <keepdims = 0> (x) }>",
        "",
    )


def scan_in_branch(inner):
    return (
        "y = If (c) <then_branch = a () => (float w) { w, ws = Scan <num_scan_inputs = 1, "
        "body = b (float s, float[6] row) => (float e, float e2)"
        f" {{ {inner} e = Add (s, u) e2 = Identity (u) }}> "
        "(one, big) }, else_branch = b0 () => (float v) { v = ReduceSum <keepdims = 0> (x) }>",
        "",
    )


def function(inner):
    """A function that a branch calls, with all that it reads as operands."""
    bare = re.sub(r"<[^>]*>", "", inner)
    made = set(re.findall(r"(\w+)(?:, \w+)* =", bare))
    read = [n for n in dict.fromkeys(re.findall(r"\b[a-z]\w*\b", bare)) if n in OUTSIDE and n not in made]
    call = f"u = local.F ({', '.join(read)})"
    nodes, _ = branch(call)
    return (
        nodes,
        f'<opset_import: ["" : OPSET], domain: "local">\nF ({", ".join(read)}) => (u) {{ {inner} }}\n',
    )


def unequal(inner):
    """A branch with the result of the operator, and another one, which is taken."""
    return (
        f"w = If (c) <then_branch = a () => (float[] u1) {{ {inner} u1 = Cast <to = 1> (r) }}, "
        "else_branch = b () => (float[] v) { v = Identity (two) }> yz = Size (w) y = Cast <to = 1> (yz)",
        "",
    )


def main_graph(inner):
    return f"{inner} y = Neg (u)", ""


BODIES = (branch, other_branch, nested, loop, loop_in_branch, scan_in_branch, function, unequal, main_graph)
OUTSIDE = {"x", "to", "k", *re.findall(r"(\w+) = {", CONSTANTS)}
OUTSIDE |= {f"{v}_{e}" for v in ("to", "k") for e in ("c", "h", "7", "e", "l", "0", "1", "2", "3")}


def model_of(operator, shape, list_, body, symbolic, old):
    dims, k, what = OPERATORS[operator]
    opset = OPSETS.get(operator, 17 if "ReduceMean" in what else 18)
    opset = old or opset
    if (make := shape(len(dims))) is None:
        return None
    constants, before, inside = list_("to", dims)
    parts = [CONSTANTS, constants]
    if k is not None:
        more, before2, inside2 = list_("k", k)
        parts.append(more)
        before, inside = f"{before} {before2}", f"{inside} {inside2}"
    inner = f"{inside} {make} {what} z = Size (r) u = Cast <to = 1> (z)"
    nodes, functions = body(inner)
    first = "N" if symbolic else "2"
    local = ', "local" : 1' if functions else ""
    functions = functions.replace("OPSET", str(opset))
    text = (
        f'<ir_version: 8, opset_import: ["" : {opset}{local}]>\n'
        f"g (float[{first}, 3] x, bool c, int64 trips, int64[1] trips1) => (float y) <{', '.join(parts)}>\n"
        f"{{ {before} {nodes} }}\n{functions}"
    )
    return onnx.parser.parse_model(text)


FEEDS = {
    "x": np.arange(6, dtype=np.float32).reshape(2, 3),
    "c": np.array(False),
    "trips": np.array(0),
    "trips1": np.array([0]),
}


def run(path, level):
    options = ort.SessionOptions()
    options.graph_optimization_level = level
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    fed = {i.name for i in session.get_inputs()}
    return session.run(None, {k: v for k, v in FEEDS.items() if k in fed})


def tried(path, level):
    try:
        return run(path, level), None
    except Exception as e:  # noqa: BLE001 - ONNX Runtime raises errors of many types
        return None, " ".join(str(e).split())


def optimize(tool, source, target, options):
    if os.path.exists(target):
        os.remove(target)
    done = subprocess.run([tool, source, "-o", target, "-q", *options], capture_output=True, text=True)
    return None if done.returncode == 0 else f"exit status {done.returncode}: {done.stderr.strip()[-300:]}"


def check(tool, folder, model, options):
    """None where the original does not load; else what is wrong, "" for nothing."""
    before, after, again = (os.path.join(folder, f"{n}.onnx") for n in ("before", "after", "again"))
    if options in BOUND:  # with the numbers on its inputs the model has to load
        bound = onnx.ModelProto()
        bound.CopyFrom(model)
        bound.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2
        onnx.save(bound, after)
    onnx.save(model, before)
    wanted = {level: tried(before, level)[0] for level in LEVELS}
    if options in BOUND:
        wanted = {level: result for level, result in wanted.items() if tried(after, level)[0] is not None}
    if wanted.get(LEVELS[0]) is None:
        return None
    if problem := optimize(tool, before, after, options):
        return problem
    for level, want in wanted.items():
        if want is None:
            continue
        got, problem = tried(after, level)
        if problem:
            return f"ONNX Runtime ({level}) refuses it: {problem[-300:]}"
        if problem := runs.bit_difference(want, got):
            return problem
    if "--dim" in options:  # the symbol is gone
        return ""
    if problem := optimize(tool, after, again, options):
        return f"again: {problem}"
    same = Path(after).read_bytes() == Path(again).read_bytes()
    return "" if same else "a second run gives other bytes"


def main_graph_fails(tool, folder):
    """What is wrong where a node of the main graph fails: errors that do not name it."""
    for what, name in (
        ("y = Squeeze (x, first)", "Squeeze"),
        ("t = Reshape (x, first_two) y = MatMul (x, x)", "MatMul"),
        ("k = Identity (lengths) y, y2 = Split (x, k)", "Split"),
    ):
        text = (
            '<ir_version: 8, opset_import: ["" : 17]> g (float[N, 3] x) => (float[] y) '
            "<int64[1] first = {0}, int64[2] first_two = {3, 2}, int64[2] lengths = {2, 2}>"
            f" {{ {what} }}"
        )
        model = onnx.parser.parse_model(text)
        before, after = os.path.join(folder, "before.onnx"), os.path.join(folder, "after.onnx")
        onnx.save(model, before)
        for options in (
            ["--dim", "N=2"],
            ["--dim", "N=2", "-O0"],
            ["--bucket", "N=2", "--pad-any-input"][:2],
        ):
            if os.path.exists(after):
                os.remove(after)
            done = subprocess.run([tool, before, "-o", after, "-q", *options], capture_output=True, text=True)
            loads = done.returncode == 0 and os.path.exists(after) and tried_loading(after) is None
            if done.returncode not in (0, 2) or (done.returncode == 0 and not loads):
                yield f"{name} {options}: status {done.returncode}, and the result does not load"
            if done.returncode == 2 and "--dim" in options and name not in done.stderr:
                yield f"{name} {options}: the error does not name the node: {done.stderr.strip()}"


def tried_loading(path):
    try:
        runs.session(path)
    except Exception as e:  # noqa: BLE001
        return str(e)
    return None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("graphopt", type=executable)
    p.add_argument("--all", action="store_true")
    p.add_argument("--count", type=int, default=600)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", default="")
    a = p.parse_args()
    rng = random.Random(a.seed)
    combinations = list(itertools.product(OPERATORS, DIMS, NUMBERS, BODIES, (False, True), (0, 9, 10)))
    combinations = [c for c in combinations if a.only in c[0] and is_tried(*c[:4], c[5])]
    rng.shuffle(combinations)
    if not a.all:
        seen = set()
        first = [c for c in combinations if not (c[0] in seen or seen.add(c[0]))]
        combinations = (first + combinations)[: a.count]
    asked, bad = 0, []
    with tempfile.TemporaryDirectory() as folder:
        bad.extend(main_graph_fails(a.graphopt, folder))
        for operator, shape, list_, body, symbolic, old in combinations:
            try:
                model = model_of(operator, shape, list_, body, symbolic, old)
            except onnx.parser.ParseError as e:
                bad.append(f"{operator}: {e}")
                continue
            if model is None:
                continue
            options = rng.choice(OPTIONS + (BOUND * 2 if symbolic else ()))
            problem = check(a.graphopt, folder, model, options)
            if old and body is function and "--dim" in options and problem and "it cannot run" in problem:
                problem = (
                    ""  # an error, though nothing calls the function in a run: nothing can be hidden there
                )
            asked += problem is not None
            if problem:
                names = f"{operator} {shape.__name__} {list_.__name__} {body.__name__}"
                names += f" opset {old}" if old else ""
                bad.append(f"{names}{' N' if symbolic else ''} {' '.join(options)}: {problem}")
    for text in bad[:40]:
        print(text)
    print(f"{asked} models that load, {len(bad)} problems")
    if not a.only and asked < min(a.count, len(combinations)) // 3:
        print("most models do not load: the test asks nothing")
        return 1
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
