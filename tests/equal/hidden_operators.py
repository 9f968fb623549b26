#!/usr/bin/env python3
"""Functions that have the names of operators.

  hidden_operators.py GRAPHOPT

used     Each operator that onnx or ONNX Runtime knows is also a function of the model, of another meaning,
         and is called, of a constant, too. ONNX Runtime runs its own operator. graphopt keeps every call and
         the function, whatever the opset, and a second run gives the same bytes; where ONNX Runtime takes the
         call, the results are the same.
unused   For each golden case and each operator that graphopt writes there, a function of this name stands in
         the file, unused. graphopt writes no node that the next run would read as a call of it, and a second
         run gives the same bytes.
runtime  The domains in which ONNX Runtime has operators are those that graphopt takes for a runtime's.
"""

import collections
import copy
import functools
import pathlib
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import onnx.defs
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(TESTS))

from golden import run as golden  # noqa: E402
from lib.command_lines import Processes  # noqa: E402

OPSETS = {"": 26, "ai.onnx.ml": 5}
OLD = {"": 13, "ai.onnx.ml": 1}  # many operators are newer


def known():
    """(domain, name) of all operators, with the least number of operands and results."""
    out = {}
    for schemas in (onnx.defs.get_all_schemas_with_history(), runtime.get_all_operator_schema()):
        for s in schemas:
            out[s.domain, s.name] = (max(s.min_input, 1), max(s.min_output, 1))
    return out


def function_of(domain, name, operands, results, opset):
    """What no operator does: the negative of its first operand, or its magnitude."""
    op = "Abs" if name == "Neg" else "Neg"
    ins, outs = [f"a{i}" for i in range(operands)], [f"b{i}" for i in range(results)]
    body = [helper.make_node(op, ins[:1], [o]) for o in outs]
    return helper.make_function(domain, name, ins, outs, body, [helper.make_opsetid("", opset)])


def calls(operators, opsets, operand):
    """A model that calls each of these functions of an input and of a constant."""
    kinds = {"x": TensorProto.FLOAT, "b": TensorProto.BOOL, "i": TensorProto.INT64}
    nodes, outputs, functions = [], [], []
    for number, ((domain, name), (operands, results)) in enumerate(operators.items()):
        functions.append(function_of(domain, name, operands, results, opsets[""]))
        for source in (operand, "k" + operand):
            out = [f"{source}{number}_{i}" for i in range(results)]
            nodes.append(helper.make_node(name, [source] * operands, out, domain=domain))
            outputs.extend(onnx.ValueInfoProto(name=v) for v in out)
    value = np.array([[-2, 3]]).astype(helper.tensor_dtype_to_np_dtype(kinds[operand]))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(operand, kinds[operand], [1, 2])],
        outputs,
        [numpy_helper.from_array(value, "k" + operand)],
    )
    domains = {"": opsets[""]} | {d: opsets.get(d, 1) for d, _ in operators}
    imports = [helper.make_opsetid(d, v) for d, v in domains.items()]
    return helper.make_model(graph, functions=functions, opset_imports=imports, ir_version=10)


def session(model):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def results(model):
    """What ONNX Runtime makes of the model; None where it does not take it."""
    try:
        s = session(model)
        (i,) = s.get_inputs()
        kinds = {"tensor(float)": np.float32, "tensor(bool)": bool, "tensor(int64)": np.int64}
        return s.run(None, {i.name: np.array([[5, -7]]).astype(kinds[i.type])})
    except Exception:  # what it raises has no common class
        return None


def same(a, b):
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    return np.array_equal(a, b, equal_nan=getattr(a, "dtype", np.dtype(int)).kind == "f")


class Twice:
    """The model that graphopt writes, and a second run on it."""

    def __init__(self, tool):
        self.tool = Processes(tool)

    def __call__(self, model, *options):
        """The result; AssertionError where a run fails, or the second one gives other bytes."""
        with tempfile.TemporaryDirectory() as folder:
            paths = [f"{folder}/{n}.onnx" for n in ("in", "out", "again")]
            pathlib.Path(paths[0]).write_bytes(model.SerializeToString())
            for a, b in zip(paths, paths[1:], strict=False):
                done = self.tool.run([a, "-o", b, "-q", *options])
                assert done.returncode == 0, (options, done.stderr)
            first, second = (pathlib.Path(p).read_bytes() for p in paths[1:])
            assert first == second, (options, "a second run gives other bytes")
            return onnx.ModelProto.FromString(first)


def nodes_of(model):
    """How often each operator of a graph, or of its bodies, occurs."""
    count, graphs = collections.Counter(), [model.graph]
    while graphs:
        for n in graphs.pop().node:
            count["" if n.domain == "ai.onnx" else n.domain, n.op_type] += 1
            for a in n.attribute:
                graphs.extend([a.g] if a.HasField("g") else a.graphs)
    return count


def names_of(functions):
    return sorted((f.domain, f.name) for f in functions)


# --- used ---------------------------------------------------------------------------------------------------


def used(twice):
    operators = known()
    assert len(operators) > 300, len(operators)
    ran = set()
    for opsets in (OPSETS, OLD):
        for options in (["--exact"], [], ["-O3", "--infer"]):
            made = calls(operators, opsets, "x")
            out = twice(made, *options)
            kept = {k: n for k, n in nodes_of(made).items() if nodes_of(out)[k] != n}
            assert not kept, (options, "not all calls are there", kept)
            assert names_of(out.functions) == names_of(made.functions), (options, "functions")
    # All functions in one model hide the others: each that ONNX Runtime runs alone, too.
    for key, counts in operators.items():
        for operand in "xbi":
            made = calls({key: counts}, OPSETS, operand)
            made.graph.node.extend(
                [helper.make_node("Identity", [operand], ["same"]), helper.make_node("Not", ["kb"], ["n"])]
            )
            made.graph.initializer.append(numpy_helper.from_array(np.array([True]), "kb"))
            if operand == "b":
                del made.graph.initializer[0]
            for name in ("same", "n"):
                made.graph.output.append(onnx.ValueInfoProto(name=name))
            want = results(made)
            if want is None or key[1].startswith(("Random", "Bernoulli", "Multinomial")):
                continue
            ran.add(key)
            for options in (["--exact"], []):
                got = results(twice(made, *options))
                assert got is not None, (key, options, "ONNX Runtime refuses the result")
                for a, b in zip(want, got, strict=True):
                    assert same(a, b), (key, options, a, b)
            break
    assert len(ran) > 60, len(ran)
    print(f"used: {len(operators)} operators, of which ONNX Runtime runs {len(ran)} so")


# --- unused -------------------------------------------------------------------------------------------------


def written_in(case):
    """The model of a golden case, and the operators of which graphopt writes nodes there."""
    model, out = (onnx.parser.parse_model(case[part]) for part in ("before", "after"))
    before, after = nodes_of(model), nodes_of(out)
    # Calls of region functions come with the functions.
    own = [k for k in after if is_function(model, k) or is_function(out, k)]
    return model, [k for k in after if after[k] > before[k] and k not in own]


def is_function(model, key):
    return any((f.domain, f.name) == key for f in model.functions)


def check_unused(twice, case):
    """The number of functions that were tried; AssertionError for one of which a node was written."""
    model, operators = written_in(case)
    for domain, name in operators:
        hidden = copy.deepcopy(model)
        opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 1)
        hidden.functions.append(function_of(domain, name, 1, 1, opset))
        hidden.ir_version = max(hidden.ir_version, 8)
        for words in (case["options"], []):
            out = twice(hidden, "--verify-each", *words)
            more = nodes_of(out)[domain, name] - nodes_of(hidden)[domain, name]
            assert more <= 0, (case["path"], words, f"{more} nodes of {name} more")
            assert is_function(out, (domain, name)), (case["path"], words, "the function is gone")
    return len(operators)


def unused(twice):
    cases = [golden.read_case(str(p)) for p in sorted((TESTS / "golden").rglob("*.txt"))]
    cases = [c for c in cases if not c["unchanged"]]
    with ThreadPoolExecutor(2) as pool:
        tried = sum(pool.map(functools.partial(check_unused, twice), cases))
    assert tried > len(cases) // 10, tried
    print(f"unused: {tried} functions in {len(cases)} golden cases")


# --- runtime ------------------------------------------------------------------------------------------------


def domains(twice):
    """A function is called, and inlined, in a domain of the model's own alone."""
    for domain in sorted({d for d, _ in known()} | {"com.microsoft.experimental", "ai.onnx.contrib"}):
        for name, opsets in (("NoSuchOperator", OPSETS), ("NoSuchOperator", OLD)):
            out = twice(calls({(domain, name): (1, 1)}, opsets, "x"))
            assert nodes_of(out)[domain, name] == 2, (domain, "was inlined")
    for domain in ("own", "com.microsoftware", "ai.onnxish", "com.msc"):
        out = twice(calls({(domain, "Relu"): (1, 1)}, OPSETS, "x"))
        assert nodes_of(out)[domain, "Relu"] == 0, (domain, "was not inlined")
    print("domains: as they are in ONNX Runtime")


def main():
    twice = Twice(sys.argv[1])
    used(twice)
    domains(twice)
    unused(twice)


if __name__ == "__main__":
    main()
