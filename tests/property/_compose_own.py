"""Proofs that a difference is ONNX Runtime's own: variants of a model that mean the same, made without
graphopt, which the runtime computes in another way, or refuses."""

import contextlib
import itertools
import json
from pathlib import Path

import numpy as np
import onnx
import onnx.inliner
from onnx import helper, numpy_helper

import _shrink
from _compose_check import FRESH, LEVELS, Failure, rejected, run, unlike
from lib import counting, runs
from lib.counting import bodies

SMALL = 8  # elements
WHOLE_SUMS = "whole sums of integers"
REDUCTIONS = ("ReduceSum", "ReduceMean", "ReduceProd")
WHOLE = {onnx.TensorProto.INT64: np.int64, onnx.TensorProto.INT32: np.int32}


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
    for node in m.graph.node:
        node.input[:] = [names.get(i, i) for i in node.input]
        for g in bodies(node):
            renamed_uses(g, names)
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


def declared_by_onnx(model):
    """With the shapes that onnx infers for all values."""
    with contextlib.suppress(Exception):  # onnx raises errors of many types
        return onnx.shape_inference.infer_shapes(model)
    return model


def declared_as_run(model, feed):
    """With the shapes that the results of the main graph have in this run; None where it does not run."""
    found = run(all_shown(model), [feed])
    if isinstance(found, str) or isinstance(found[0], str):
        return None
    m, outputs = _shrink.copy(model), {o.name for o in model.graph.output}
    shapes = {k: v for k, v in found[0].items() if isinstance(v, np.ndarray)}
    for o in m.graph.output:
        if o.name in shapes:
            o.type.tensor_type.shape.CopyFrom(declared(o.name, shapes[o.name]).type.tensor_type.shape)
    _shrink.keep(m.graph.value_info, [declared(k, v) for k, v in shapes.items() if k not in outputs])
    return m


def declared(name, value):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)


def all_shown(model):
    """With each result of the main graph as an output."""
    m = _shrink.copy(model)
    known = {o.name for o in m.graph.output}
    more = [o for n in m.graph.node if n.op_type != "Constant" for o in n.output if o and o not in known]
    m.graph.output.extend(onnx.ValueInfoProto(name=o) for o in more)
    return m


def element_types(model):
    """{name: element type} of the tensors in all graphs, as far as onnx's inference knows them and no two
    graphs differ about a name."""
    found = {}

    def look(graph):
        pairs = [
            (v.name, v.type.tensor_type.elem_type) for v in (*graph.input, *graph.value_info, *graph.output)
        ]
        for name, kind in [*pairs, *((t.name, t.data_type) for t in graph.initializer)]:
            found.setdefault(name, set()).add(kind)
        for node in graph.node:
            for g in bodies(node):
                look(g)

    look(declared_by_onnx(model).graph)
    return {name: min(kinds - {0}) for name, kinds in found.items() if len(kinds - {0}) == 1}


def with_whole_sums(model):
    """Reductions of integers without the runtime's detour over doubles, which do not hold all of int64 and
    do not wrap: a sum in two halves of its bits, a mean by that sum, a product of one factor as the largest.
    None where there is no such node. The halves are exact up to 2^21 terms."""
    m = onnx.inliner.inline_local_functions(model) if model.functions else _shrink.copy(model)
    types, count = element_types(m), 0
    opset = next((o.version for o in m.opset_import if not o.domain), 0)

    def whole(node, dtype):
        nonlocal count
        count += 1
        (x, *axes), (y,) = node.input, node.output
        nodes = []

        def add(op, inputs, output="", **attributes):
            output = output or f"{y}__whole{count}_{len(nodes)}"
            nodes.append(helper.make_node(op, inputs, [output], **attributes))
            return output

        def number(value, kind=dtype):
            return add("Constant", [], value=numpy_helper.from_array(np.array(value, kind)))

        def reduced(op, operand):
            attributes, operands = list(node.attribute), [operand, *axes]
            if op == "ReduceSum" and opset >= 13:  # a mean's axes are an attribute until opset 18
                given = [a for a in attributes if a.name == "axes"]
                attributes = [a for a in attributes if a.name != "axes"]
                operands += [number(list(a.ints), np.int64) for a in given]
            output = add(op, operands)
            nodes[-1].attribute.extend(attributes)
            return output

        def at_least_one(size):
            zero = add("Equal", [size, number(0, np.int64)])
            return add("Add", [size, add("Cast", [zero], to=onnx.TensorProto.INT64)])

        def terms(result):
            return add("Div", [add("Size", [x]), at_least_one(add("Size", [result]))])

        if node.op_type == "ReduceProd":
            product = reduced("ReduceProd", x)
            one = add("Equal", [terms(product), number(1, np.int64)])
            add("Where", [one, reduced("ReduceMax", x), product], y)
            return nodes
        half = number(1 << (4 * np.dtype(dtype).itemsize))
        high = add("Div", [x, half])
        low = add("Sub", [x, add("Mul", [high, half])])
        parts = [add("Mul", [reduced("ReduceSum", high), half]), reduced("ReduceSum", low)]
        if node.op_type == "ReduceSum":
            add("Add", parts, y)
        else:
            total = add("Add", parts)
            add("Div", [total, add("Cast", [at_least_one(terms(total))], to=types[x])], y)
        return nodes

    def rewrite(graph):
        nodes = []
        for node in graph.node:
            for g in bodies(node):
                rewrite(g)
            dtype = (
                WHOLE.get(types.get(node.input[0]))
                if node.op_type in REDUCTIONS and not node.domain
                else None
            )
            nodes += whole(node, dtype) if dtype else [node]
        _shrink.keep(graph.node, nodes)

    rewrite(m.graph)
    return m if count else None


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
    yield "onnx's shapes declared", declared_by_onnx(model), None
    yield "memory filled", model, FRESH
    if float16(model) and (m := with_branches(model)):
        yield "float16 with branches in place", m, None
    if m := with_whole_sums(model):
        yield WHOLE_SUMS, m, None
    for level in LEVELS:
        yield f"optimization {level}", model, level


def reason(text):
    """Why inference refuses a node, without where it stands; "" when the text is about something else."""
    return text.rpartition("InferenceError]")[2][:200]


def refused_ways(model, feed, failure):
    """Names of variants that are refused for the failure's reason though the model is not. Of a node that the
    standard forbids, ONNX Runtime runs the kernel, but refuses to load it where its inference sees more."""
    variants = {
        "operands as constants": with_constants(model, feed),
        "in a function": in_function(model),
    }
    for name, m in variants.items():
        found = run(m, [feed]) if m else None
        if isinstance(found, str) and reason(found) == reason(failure.text):
            yield name


def own_ways(model, feeds, failure, exact):
    """Names of the variants that differ from the model as the failure says, without graphopt. A rounding that
    only the runtime's own optimizations make is no proof against an exact run."""
    feeds = feeds[failure.at : failure.at + 1]
    if failure.kind == "checker":
        if any(rejected(m) for m in unwrapped(model)):
            yield "checker: a branch in place"
        elif (m := with_constants(model, feeds[0])) and rejected(m):
            yield "checker: operands as constants"
        return
    base = run(model, feeds)
    if isinstance(base, str) or isinstance(base[0], str):
        return
    if failure.kind == "not loaded":
        yield from refused_ways(model, feeds[0], failure)
    if failure.kind in ("not loaded", "does not run") and (m := declared_as_run(model, feeds[0])):
        found = run(m, feeds)
        if isinstance(found, str) or isinstance(found[0], str):
            yield "the run's shapes declared"
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
    """Whether it is the optimizations that break `made`, which runs without them: they make a model that the
    runtime refuses, or one that differs from the same with an Identity after each node."""
    feeds = feeds[failure.at : failure.at + 1]
    plain = run(made, feeds)
    if isinstance(plain, str) or isinstance(plain[0], str):
        return False
    if failure.kind != "differs":
        return True
    m = onnx.inliner.inline_local_functions(made) if made.functions else _shrink.copy(made)
    with_identities(m.graph)
    optimized = run(m, feeds, failure.level)
    if isinstance(optimized, str) or isinstance(optimized[0], str):
        return False
    return all(unlike(plain[0][k], optimized[0][k], False) is None for k in plain[0])


def sharing_breaks(model, made, feeds, failure):
    """Whether `made`, without any shape that is declared, does not run as it is, but with each result as an
    output, so that no memory is shared, and then gives what the model gives: it is the runtime's own
    inference (of If) that states wrong shapes."""
    feeds, bare = feeds[failure.at : failure.at + 1], undeclared(made)
    inlined = onnx.inliner.inline_local_functions(bare) if bare.functions else bare
    base, found, apart = (run(m, feeds) for m in (model, bare, all_shown(inlined)))
    if isinstance(found, str) or not isinstance(found[0], str):
        return False
    if isinstance(apart, str) or isinstance(apart[0], str):
        return False
    return all(unlike(v, apart[0].get(k), True) is None for k, v in base[0].items())


def earlier_run_changes(model, made, feeds, failure, exact):
    """Whether the runtime gives the original's result for `made` when no other run precedes: it has written
    over a constant then. BatchNormalization in training mode does that with a mean and a variance, where
    nothing reads the new ones (and ends the process where they are left out)."""
    feeds = feeds[failure.at : failure.at + 1]
    base, found = run(model, feeds), run(made, feeds, failure.level or None)
    if any(isinstance(r, str) or isinstance(r[0], str) for r in (base, found)):
        return False
    return unlike(base[0][failure.output], found[0].get(failure.output), exact) is None


def sums_agree(model, made, feeds, failure, exact):
    """Whether `made` gives what the model gives where both have whole sums of integers."""
    feeds = feeds[failure.at : failure.at + 1]
    a, b = (run(with_whole_sums(m) or m, feeds) for m in (model, made))
    if any(isinstance(r, str) or isinstance(r[0], str) for r in (a, b)):
        return False
    return unlike(a[0].get(failure.output), b[0].get(failure.output), exact) is None


def own(model, feeds, failure, exact, made=None):
    """How ONNX Runtime shows the failure without graphopt, or "". `made` is what graphopt wrote: with float16
    it may be this model whose values the runtime does not round, which an Identity after each node shows."""
    ways = own_ways(model, feeds or [{}], failure, exact)
    if made is not None:
        ways = (w for w in ways if w != WHOLE_SUMS or sums_agree(model, made, feeds or [{}], failure, exact))
    way = next(ways, "")
    if not way and failure.kind == "does not run" and not failure.level and made is not None:
        way = "memory shared in the result" if sharing_breaks(model, made, feeds or [{}], failure) else ""
    if not way and failure.level and made is not None and optimizer_breaks(made, feeds or [{}], failure):
        return "optimization of the result"
    if not way and failure.kind == "differs" and failure.at and made is not None:
        if earlier_run_changes(model, made, feeds, failure, exact):
            return "an earlier run of the result"
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
        kind = "not loaded" if entry["refused"] else "differs"
        failure = Failure(kind, "", entry.get("reason", ""), output=model.graph.output[0].name)
        ways = list(own_ways(model, [feeds], failure, True))
        if entry["shows"] not in ways:
            yield f"{entry['what']}: not shown by {entry['shows']!r}, but by {ways}"


def changed_sums():
    """A text for each reduction to which whole sums give another result, where doubles hold all of it."""
    rng = np.random.default_rng(0)
    spaces = itertools.product(REDUCTIONS, WHOLE, (11, 13, 18), (0, 1), ([], [0], [1], [0, 1]))
    for operator, kind, opset, keepdims, axes in spaces:
        node = helper.make_node(operator, ["x"], ["y"], keepdims=keepdims)
        g = helper.make_graph([node], "g", [], [helper.make_tensor_value_info("y", kind, None)])
        g.input.append(helper.make_tensor_value_info("x", kind, ["A", "B"]))
        if axes and opset >= (13 if operator == "ReduceSum" else 18):
            node.input.append("axes")
            g.initializer.append(numpy_helper.from_array(np.array(axes), "axes"))
        elif axes:
            node.attribute.append(helper.make_attribute("axes", axes))
        _shrink.keep(g.node, [node])
        m = helper.make_model(g, ir_version=8, opset_imports=[helper.make_opsetid("", opset)])
        whole = with_whole_sums(m)
        feeds = [
            {"x": rng.integers(-50, 50, s).astype(WHOLE[kind])} for s in ((2, 3), (0, 3), (3, 1), (1, 1))
        ]
        for feed, a, b in zip(feeds, run(m, feeds), run(whole, feeds)):
            if not isinstance(a, str) and (isinstance(b, str) or runs.bit_difference(a["y"], b["y"])):
                x = feed["x"]
                yield f"{operator} of opset {opset}, axes {axes}, {x.dtype}{list(x.shape)}: {b}"
