#!/usr/bin/env python3
# TIER: nightly
# LONG: --all
# WHEN: src/ops/facts_packed src/rewrite/constancy tools/requirements.txt
"""Which operands give other bits when they are constants: learnt from ONNX Runtime, held against graphopt.

  packed_operands.py GRAPHOPT [--all] [--count N] [--seed N] [--only TEXT]

ONNX Runtime packs some operands when it loads a model, if they are initializers, and then runs another kernel
than for operands that are computed. Each operator of the backend tests and of _packed_cases.py runs with
every operand as an input of the graph, and again with one operand as an initializer, optimizations off. Where
the bits differ, the operand is packed.

Then graphopt gets the node with the operand computed from a constant, and must keep it computed with --exact
and with -O1; and with the operand as an initializer, which it must stay. So every operand that is seen to be
packed has to stand in the table of src/ops/facts_packed.cpp. (The table also has operands that are packed on
other processors, or for which the kernels happen to give the same bits here.)

scopes() has the forms in which a constant can reach an operand, and whether ONNX Runtime sees through them:
the rule of src/rewrite/constancy.h stands on this list.
"""

import argparse
import collections
import itertools
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from equal._packed_cases import cases  # noqa: E402
from lib import backend_cases, runs  # noqa: E402

MOST_EXAMPLES = 6  # cases of one packed operand that graphopt gets


def value_info(name, array):
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


def model_of(nodes, inputs, constants, results, imports, functions=(), ir_version=10):
    graph = helper.make_graph(
        nodes, "g", [value_info(k, v) for k, v in inputs.items()],
        [onnx.ValueInfoProto(name=r) for r in results],
        [numpy_helper.from_array(v, k) for k, v in constants.items()],
    )  # fmt: skip
    return helper.make_model(graph, opset_imports=imports, functions=functions, ir_version=ir_version)


IMPORTS = [helper.make_opsetid("", 22), helper.make_opsetid("com.microsoft", 1)]
NEWER = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]


def drawn(seed, count):
    """(label, node, {operand: array}, opset imports) of _packed_cases.py."""
    for label, n, data in cases(seed, count):
        data = {k: np.asarray(v) for k, v in data.items()}
        yield (
            label,
            n,
            data,
            NEWER if n.op_type in ("RMSNormalization", "Attention") and not n.domain else IMPORTS,
        )


def recorded():
    """The same for the cases of one node of the backend tests whose operands are tensors."""
    for case in backend_cases.candidates(("node",)):
        g = case.model.graph
        ins = backend_cases.inputs_of(g)
        if len(g.node) != 1 or g.initializer or not all(v.type.HasField("tensor_type") for v in ins):
            continue
        values = [backend_cases.parsed(d, v.type) for d, v in zip(case.sets[0][0], ins)]
        if len(values) != len(ins) or any(np.asarray(v).dtype.kind in "OUS" for v in values):
            continue
        try:
            data = {v.name: np.asarray(x) for v, x in zip(ins, values)}
            [value_info(k, v) for k, v in data.items()]
        except Exception:  # noqa: BLE001 - types that numpy does not have
            continue
        yield case.name, g.node[0], data, list(case.model.opset_import)


def run(model, feeds):
    """Results, or None where ONNX Runtime has no kernel or refuses the operands."""
    try:
        return runs.session(model).run(None, feeds)
    except Exception:  # noqa: BLE001
        return None


def without(data, name):
    return {k: v for k, v in data.items() if k != name}


def learn(label, n, data, imports, found, ran):
    """Adds (operator, slot, type) of the operands that are packed to `found`, with an example."""
    results = [r for r in n.output if r]
    expected = run(model_of([n], data, {}, results, imports), data)
    if expected is None:
        return
    ran[n.domain, n.op_type] += 1
    for name in data:
        if list(n.input).count(name) != 1:
            continue
        rest = without(data, name)
        got = run(model_of([n], rest, {name: data[name]}, results, imports), rest)
        d = "does not run" if got is None else runs.bit_difference(expected, got)
        if d:
            slot = list(n.input).index(name)
            key = n.domain, n.op_type, slot, data[name].dtype.name
            found.setdefault(key, []).append((label, n, data, imports, d))


# --- what ONNX Runtime takes for a constant -----------------------------------------------------------------


def info(name, shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


K, N = 64, 16
WEIGHT = np.random.default_rng(1).standard_normal((K, N)).astype(np.float32)
ROW = np.random.default_rng(2).standard_normal((1, K)).astype(np.float32)
PRODUCT = helper.make_node("MatMul", ["a", "w"], ["y"])
COPY = helper.make_node("Identity", ["v"], ["w"])


def tensor(name="w"):
    return numpy_helper.from_array(WEIGHT, name)


def constant(name="w"):
    return helper.make_node("Constant", [], [name], value=tensor(name))


def scope(nodes, inputs=(), initializers=(), functions=(), ir_version=10):
    graph = helper.make_graph(
        nodes, "g", [info("a", [1, K]), *inputs], [info("y", [1, N])], list(initializers)
    )
    imports = [helper.make_opsetid("", 18), helper.make_opsetid("f", 1)]
    return helper.make_model(graph, opset_imports=imports, functions=list(functions), ir_version=ir_version)


def branches(nodes, result, initializers=()):
    """An If both branches of which are these nodes."""
    bodies = (helper.make_graph(nodes, b, [], [info(result, [1, N])], list(initializers)) for b in "te")
    return helper.make_node("If", ["c"], [result], **dict(zip(("then_branch", "else_branch"), bodies)))


def nested(depth, initializers=()):
    """The product inside `depth` bodies, the innermost one with these initializers."""
    nodes = [PRODUCT]
    for level in range(depth):
        nodes = [branches(nodes, "y", initializers if level == 0 else ())]
    return nodes


def call(body, operands):
    function = helper.make_function("f", "F", ["p", "q"][: len(operands)], ["r"], body,
                                    [helper.make_opsetid("", 18)])  # fmt: skip
    return [helper.make_node("F", operands, ["y"], domain="f")], [function]


def loop(carried):
    """The product in the body of a Loop of one trip; the weight is a state of it, or captured."""
    names = ("a", "s" if carried else "w")
    body = [helper.make_node("MatMul", names, ["z"]), helper.make_node("Identity", ["i"], ["o"])]
    inputs = [info("k", [], TensorProto.INT64), info("i", [], TensorProto.BOOL)]
    results = [info("o", [], TensorProto.BOOL)]
    if carried:
        body.append(helper.make_node("Identity", ["s"], ["t"]))
        inputs.append(info("s", [K, N]))
        results.append(info("t", [K, N]))
    results.append(info("z", [1, N]))
    states, outs = (["w"], ["last", "ys"]) if carried else ([], ["ys"])
    graph = helper.make_graph(body, "body", inputs, results)
    return [helper.make_node("Loop", ["n", "", *states], outs, body=graph),
            helper.make_node("Squeeze", ["ys", "axis"], ["y"])]  # fmt: skip


ONE = [numpy_helper.from_array(np.array(1), "n"), numpy_helper.from_array(np.array([0]), "axis")]
CONDITION, OPEN = info("c", [], TensorProto.BOOL), info("w", [K, N])
IN_FUNCTION = [helper.make_node("MatMul", ["p", "q"], ["r"])]
COPIED = [helper.make_node("Identity", ["q"], ["s"]), helper.make_node("MatMul", ["p", "s"], ["r"])]


def scopes():
    """(name, model, whether the weight is a constant to ONNX Runtime)."""
    yield "an input", scope([PRODUCT], [OPEN]), False
    yield "an initializer", scope([PRODUCT], initializers=[tensor()]), True
    yield "a Constant node", scope([constant(), PRODUCT]), True
    yield "an overridable initializer", scope([PRODUCT], [OPEN], [tensor()]), False
    yield "one in IR version 3", scope([PRODUCT], [OPEN], [tensor()], ir_version=3), True
    yield "an Identity of an initializer", scope([COPY, PRODUCT], initializers=[tensor("v")]), False
    yield "a body's own initializer", scope(nested(1, [tensor()]), [CONDITION]), True
    yield "an initializer of the graph around", scope(nested(1), [CONDITION], [tensor()]), True
    yield "a Constant node of the graph around", scope([constant(), *nested(1)], [CONDITION]), True
    yield "an Identity in the graph around", scope([COPY, *nested(1)], [CONDITION], [tensor("v")]), False
    yield "an overridable one around", scope(nested(1), [CONDITION, OPEN], [tensor()]), False
    yield "an initializer two graphs out", scope(nested(2), [CONDITION], [tensor()]), False
    yield "an initializer three graphs out", scope(nested(3), [CONDITION], [tensor()]), False
    yield "a state of a Loop", scope(loop(True), initializers=[tensor(), *ONE]), False
    yield "captured by a Loop", scope(loop(False), initializers=[tensor(), *ONE]), True
    nodes, functions = call(IN_FUNCTION, ["a", "w"])
    yield "passed to a function", scope(nodes, initializers=[tensor()], functions=functions), True
    yield "an input passed to a function", scope(nodes, [OPEN], functions=functions), False
    nodes, functions = call(COPIED, ["a", "w"])
    yield "copied in a function", scope(nodes, initializers=[tensor()], functions=functions), False
    nodes, functions = call([constant("q"), *IN_FUNCTION], ["a"])
    yield "a function's Constant node", scope(nodes, functions=functions), True


def check_scopes():
    """Problems: where ONNX Runtime sees a constant and the rule says none, or the reverse."""
    packed, computed = (
        runs.session(m).run(None, f)[0]
        for m, f in (
            (scope([PRODUCT], initializers=[tensor()]), {"a": ROW}),
            (scope([PRODUCT], [OPEN]), {"a": ROW, "w": WEIGHT}),
        )
    )
    if not runs.bit_difference(packed, computed):
        return ["MatMul of one row gives the same bits for a constant weight here: nothing to learn from"]
    problems = []
    for name, model, expected in scopes():
        feeds = {"a": ROW, "w": WEIGHT, "c": np.array(True)}
        session = runs.session(model)
        got = session.run(None, {i.name: feeds[i.name] for i in session.get_inputs()})[0]
        if runs.bit_difference(got, packed if expected else computed):
            problems.append(f"{name}: ONNX Runtime takes it for {'no' if expected else 'a'} constant")
    return problems


# --- what graphopt makes of it ------------------------------------------------------------------------------


def optimized(tool, model, options, folder):
    source, target = f"{folder}/in.onnx", f"{folder}/out.onnx"
    onnx.save(model, source)
    done = subprocess.run([tool, source, "-o", target, "-q", "--verify-each", *options],
                          capture_output=True, text=True)  # fmt: skip
    return target if done.returncode == 0 else None


def keeps(tool, example, name, folder):
    """None, or in which form graphopt changes the bits."""
    label, n, data, imports, _ = example
    results, rest, given = [r for r in n.output if r], without(data, name), data[name]
    copy = helper.make_node("Identity", ["source"], [name])
    turned = helper.make_node("Transpose", ["source"], [name], perm=list(range(given.ndim))[::-1])
    flat = helper.make_node("Reshape", ["source", "target"], [name])
    target = {"target": np.array(given.shape, np.int64)}
    forms = {
        "an initializer": ([n], {name: given}),
        "an Identity": ([copy, n], {"source": given}),
        "a Reshape": ([flat, n], {"source": given.ravel(), **target}),
        "a Transpose": ([turned, n], {"source": np.ascontiguousarray(given.T)}),
    }
    for form, (nodes, constants) in forms.items():
        model = model_of(nodes, rest, constants, results, imports)
        before = run(model, rest)
        for options in (["--exact"], ["-O3", "--exact"], ["-O1"]):
            path = optimized(tool, model, options, folder)
            after = run(path, rest) if path else None
            if before is None:
                break
            d = "no result" if after is None else runs.bit_difference(before, after)
            if d:
                return f"{label}, operand {name} from {form}, {' '.join(options)}: {d}"
    return None


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--all", action="store_true", help="the backend tests, too, and 20 times as many shapes")
    p.add_argument("--count", type=int, default=8, help="shapes drawn for each operator")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", default="", metavar="TEXT", help="cases whose label has it")
    a = p.parse_args()
    found, ran, problems = {}, collections.Counter(), check_scopes()
    count = a.count * 20 if a.all else a.count
    for case in itertools.chain(drawn(a.seed, count), recorded() if a.all else ()):
        if a.only in case[0]:
            learn(*case, found, ran)
    with tempfile.TemporaryDirectory() as folder:
        for (domain, kind, slot, type_), examples in sorted(found.items()):
            label = f"{domain + '.' if domain else ''}{kind}, operand {slot}, {type_}"
            print(f"{label}: other bits when constant in {len(examples)} cases, as {examples[0][0]}")
            for example in examples[:: max(1, len(examples) // MOST_EXAMPLES)]:
                if why := keeps(a.tool, example, example[1].input[slot], folder):
                    problems.append(why)
                    break
    print(f"{sum(ran.values())} cases of {len(ran)} operators, {len(found)} packed operands")
    for problem in problems:
        print(f"  {problem}")
    print(f"{len(problems)} bad")
    return 1 if problems or not found else 0


if __name__ == "__main__":
    sys.exit(main())
