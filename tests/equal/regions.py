#!/usr/bin/env python3
"""Regions in the model: --regions functions, --regions metadata, --dot, on the rewrite vectors and on small
graphs made here.

  regions.py GRAPHOPT [--only PREFIX ...] [--models ZOO]

Every after graph of tests/vectors/rewrites goes through -O0 --regions functions, every before graph through
the passes, too. The functions must be as many calls as regions.json has regions, accepted by onnx.checker,
bit-equal in ONNX Runtime, undone by onnx.inliner and by a run without --regions, and written byte for byte
again by a second run. With --models, the same for every file of a folder of filled models, in ONNX Runtime at
one seed; models whose original does not run there are not compared.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.inliner
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import graph_comparison, runs, vectors  # noqa: E402
from lib.tool import exact_passes  # noqa: E402

DOMAIN = "graphopt.region"


class Failed(Exception):
    pass


def expect(holds, *what):
    if not holds:
        raise Failed(" ".join(map(str, what)))


class Runner:
    def __init__(self, binary, folder):
        self.binary, self.folder, self.count = binary, folder, 0

    def path(self, name):
        self.count += 1
        return os.path.join(self.folder, f"{self.count}.{name}")

    def __call__(self, source, *words, quiet=True):
        """The written file and the report."""
        out, report = self.path("onnx"), self.path("json")
        done = subprocess.run(
            [self.binary, source, "-o", out, "--report", report, *(["-q"] if quiet else []), *words],
            capture_output=True,
            text=True,
        )
        expect(done.returncode == 0, words, "ended with status", done.returncode, done.stderr.strip()[-500:])
        self.stderr = done.stderr
        return out, json.load(open(report))


def data(path):
    with open(path, "rb") as f:
        return f.read()


def calls(model):
    return [n for n in model.graph.node if n.domain == DOMAIN]


# --- the forms ----------------------------------------------------------------------------------------------


def check_functions(run, source, passes, compare, graphs=True):
    """`source` as functions and plain; how many calls and functions. compare(a, b): None when both compute
    the same bits. graphs: whether the plain graph must come back, too."""
    plain, _ = run(source, *passes)
    made, report = run(source, *passes, "--regions", "functions")
    model = onnx.load(made)
    onnx.checker.check_model(model if model.ByteSize() < 1 << 30 else made, full_check=True)
    found, bodies = calls(model), {f.name: f for f in model.functions if f.domain == DOMAIN}
    expect(
        sorted(c.op_type for c in found) == sorted(r["function"] for r in report["regions"]),
        "calls are not the report's regions",
    )
    expect({c.op_type for c in found} == set(bodies), "functions and calls differ")
    texts = [
        b"|".join(n.SerializeToString(deterministic=True) for n in f.node)
        + repr((f.input, f.output)).encode()
        for f in bodies.values()
    ]
    expect(len(set(texts)) == len(texts), "two functions have the same body")
    for f in bodies.values():
        expect(len(f.node) >= 2, f.name, "has", len(f.node), "nodes")
        expect(
            len(set(f.input)) == len(f.input)
            and set(f.input)
            == {i for n in f.node for i in n.input if i} - {o for n in f.node for o in n.output},
            f.name,
            "does not take what its nodes read",
        )
    if found:
        expect(
            [o.version for o in model.opset_import if o.domain == DOMAIN] == [1],
            "opset imports are",
            model.opset_import,
        )
        expect(model.ir_version >= 8, "IR version", model.ir_version)
    else:
        expect(data(made) == data(plain), "there are no regions, but the file is another")
    why = compare(plain, made)
    expect(why is None, "functions compute something else:", why)
    again, _ = run(made, *passes, "--regions", "functions")
    expect(data(again) == data(made), "a second run gives other bytes")
    if graphs:
        original = onnx.load(plain)
        why = graph_comparison.difference(onnx.inliner.inline_local_functions(model), original)
        expect(why is None, "inlined (A) it is another graph than without functions (B):", why)
        undone, _ = run(
            made, *(passes if passes != ["-O0"] else ["--passes=dead-code"])
        )  # -O0 only loads and saves
        undone = onnx.load(undone)
        expect(
            not undone.functions
            and not calls(undone)
            and all(o.domain != DOMAIN for o in undone.opset_import),
            "something is left of the functions",
        )
        why = graph_comparison.difference(undone, original)
        expect(why is None, "undone (A) it is another graph than without functions (B):", why)
    return len(found), len(bodies)


def check_metadata(run, source, passes):
    plain, _ = run(source, *passes)
    made, report = run(source, *passes, "--regions", "metadata")
    model = onnx.load(made)
    if model.ir_version < 10:
        expect(data(made) == data(plain), "below IR version 10 the model changed")
        expect(
            len(report["warnings"]) == 1 and "IR version 10" in report["warnings"][0],
            "warnings are",
            report["warnings"],
        )
        return
    by_output = {o: n for n in model.graph.node for o in n.output}
    wanted = {o: r["id"] for r in report["regions"] for o in r["members"]}
    for o, n in by_output.items():
        found = [p.value for p in n.metadata_props if p.key == "graphopt.region"]
        expect(
            found == ([wanted[o]] if o in wanted else []),
            "node of",
            o,
            "has",
            found,
            "and is in region",
            wanted.get(o),
        )
    again, _ = run(made, *passes, "--regions", "metadata")
    expect(data(again) == data(made), "a second run gives other bytes")
    for n in model.graph.node:
        kept = [p for p in n.metadata_props if p.key != "graphopt.region"]
        del n.metadata_props[:]
        n.metadata_props.extend(kept)
    expect(model == onnx.load(plain), "more than metadata changed")
    undone, _ = run(made, "--passes=dead-code")
    expect(b"graphopt.region" not in data(undone), "a run without --regions leaves metadata of an older one")


def check_drawing(run, source, passes):
    dot = run.path("dot")
    made, report = run(source, *passes, "--regions", "none", "--dot", dot)
    plain, _ = run(source, *passes)
    expect(data(made) == data(plain), "--dot changes the model")
    text, model = open(dot).read(), onnx.load(made)
    expect(len(re.findall(r"subgraph cluster_", text)) == len(report["regions"]), "boxes are not regions")
    nodes = sum(n.op_type != "Constant" for n in model.graph.node)
    expect(len(re.findall(r"^ +n\d+ \[", text, re.M)) == nodes, "the picture has not", nodes, "nodes")
    made_here = {o for n in model.graph.node for o in n.output}
    if passes == ["-O0"]:
        expect("fillcolor" not in text, "nothing was moved, and something is marked")
    if shutil.which("dot"):
        drawn = subprocess.run(["dot", "-Tsvg", dot], capture_output=True, text=True)
        expect(drawn.returncode == 0 and not drawn.stderr, "dot:", drawn.stderr[-300:])
        expect(drawn.stdout.count('class="cluster"') == len(report["regions"]), "dot draws other boxes")
    return made_here


# --- graphs made here ---------------------------------------------------------------------------------------


def info(name, dims, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, dims)


def make(nodes, outputs, initializers=(), ir=10, opset=18, **more):
    graph = helper.make_graph(
        nodes,
        "g",
        [info("x", ["B", 4]), info("z", ["B", 4])],
        [info(o, ["B", 4]) for o in outputs],
        [numpy_helper.from_array(a, k) for k, a in initializers],
    )
    return helper.make_model(graph, ir_version=ir, opset_imports=[helper.make_opsetid("", opset)], **more)


def weights(seed):
    return np.random.RandomState(seed).randn(4, 4).astype(np.float32)


def blocks(order):
    """Three times MatMul, Add, LeakyRelu with other weights, and once with another alpha: two functions.
    `order`: of the nodes."""
    nodes, init, at = [], [], "x"
    for k in range(4):
        init += [(f"w{k}", weights(k)), (f"b{k}", weights(k)[0])]
        # The bias comes first: bodies are equal by their wiring, not by the order of names.
        nodes += [
            helper.make_node("MatMul", [at, f"w{k}"], [f"m{k}"], name=f"matmul_{k}"),
            helper.make_node("Add", [f"b{k}", f"m{k}"], [f"a{k}"]),
            helper.make_node(
                "LeakyRelu", [f"a{k}"], [f"r{k}"], alpha=0.5 if k == 2 else 0.25, doc_string=f"block {k}"
            ),
            helper.make_node("Softmax", [f"r{k}"], [f"s{k}"], axis=-1),
        ]
        at = f"s{k}"
    return make([nodes[i] for i in order], [at], init)


def sharing(run):
    natural = list(range(16))
    made, report = run(save(run, blocks(natural)), "-O0", "--regions", "functions")
    model = onnx.load(made)
    names = [c.op_type for c in calls(model)]
    expect(
        len(names) == 4 and names[0] == names[1] == names[3] != names[2] and len(model.functions) == 2,
        "calls are",
        names,
    )
    expect(re.fullmatch(r"MatMul_Add_LeakyRelu_[0-9a-f]{16}", names[0]), names[0])
    expect(
        [list(c.input) for c in calls(model)][1] == ["s0", "w1", "b1"], "inputs are", calls(model)[1].input
    )
    expect(report["launches"] == 8, "launches:", report["launches"])  # 4 regions, 4 Softmax
    expect(
        [(r["anchor"], r["kind"]) for r in report["regions"]] == [(f"m{k}", "MatMul") for k in range(4)],
        report["regions"],
    )


def cycles(run):
    """N1 -> E2 and N2 -> E1: E1 may join N1 or E2 may join N2, not both. Each E reads both anchors'
    results."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["n1"]),
        helper.make_node("MatMul", ["z", "w"], ["n2"]),
        helper.make_node("Neg", ["n1"], ["p"]),
        helper.make_node("Neg", ["n2"], ["q"]),
        helper.make_node("Softmax", ["p"], ["sp"]),
        helper.make_node("Softmax", ["q"], ["sq"]),
        helper.make_node("Add", ["n1", "sq"], ["e1"]),
        helper.make_node("Add", ["n2", "sp"], ["e2"]),
    ]
    source = save(run, make(nodes, ["e1", "e2"], [("w", weights(1))]))
    check_functions(run, source, ["-O0"], lambda a, b: runs.pair_difference(onnx.load(a), onnx.load(b), 4))
    _, report = run(source, "--regions", "metadata", "-O0")
    groups = {o: r["id"] for r in report["regions"] for o in r["members"]}
    edges = {(groups.get(i, i), groups.get(o, o)) for n in nodes for i in n.input for o in n.output} - {
        (g, g) for g in groups.values()
    }
    while edges:  # leaves go; a cycle stays
        targets = {b for _, b in edges}
        rest = {(a, b) for a, b in edges if a in targets}
        expect(rest != edges, "regions form a cycle:", report["regions"])
        edges = rest


def captured(run):
    """A value of a region that a body reads is a result of the region."""
    branch = lambda op: helper.make_graph([helper.make_node(op, ["a"], ["t"])], op, [], [info("t", ["B", 4])])
    nodes = [
        helper.make_node("Neg", ["x"], ["a"]),
        helper.make_node("Exp", ["a"], ["b"]),
        helper.make_node("If", ["c"], ["i"], then_branch=branch("Relu"), else_branch=branch("Abs")),
    ]
    source = save(run, make(nodes, ["b", "i"], [("c", np.array(True))]))
    made, _ = run(source, "-O0", "--regions", "functions")
    only = calls(onnx.load(made))
    expect(len(only) == 1 and sorted(only[0].output) == ["a", "b"] and list(only[0].input) == ["x"], only)
    why = runs.pair_difference(onnx.load(source), onnx.load(made), 4)
    expect(why is None, why)


def old_version(run):
    source = save(
        run,
        make(
            [helper.make_node("MatMul", ["x", "w"], ["n"]), helper.make_node("Relu", ["n"], ["y"])],
            ["y"],
            [("w", weights(2))],
            ir=7,
            opset=13,
        ),
    )
    made, report = run(source, "-O0", "--regions", "functions", quiet=False)
    expect(
        onnx.load(made).ir_version == 8
        and "raised from 7 to 8" in run.stderr
        and len(report["warnings"]) == 1,
        run.stderr,
    )
    made, _ = run(
        save(run, make([helper.make_node("Softmax", ["x"], ["y"])], ["y"], ir=7, opset=13)),
        "-O0",
        "--regions",
        "functions",
        quiet=False,
    )
    expect(
        onnx.load(made).ir_version == 7 and "raised" not in run.stderr,
        "nothing to raise the IR version for:",
        run.stderr,
    )


def foreign(run):
    """Functions of our domain that we would not have made stay: with a parameter, with another opset, of a
    user's own domain."""
    node = lambda **a: helper.make_node("LeakyRelu", ["i"], ["o"], **a)
    parameter = node()
    parameter.attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    opset = [helper.make_opsetid("", 18)]
    functions = [
        helper.make_function(
            DOMAIN,
            "with_parameter",
            ["i"],
            ["o"],
            [
                parameter,
            ],
            opset,
            ["slope"],
        ),
        helper.make_function(
            DOMAIN,
            "ours",
            ["i"],
            ["o"],
            [helper.make_node("Neg", ["i"], ["k"]), helper.make_node("Abs", ["k"], ["o"])],
            opset,
        ),
        helper.make_function("theirs", "f", ["i"], ["o"], [helper.make_node("Neg", ["i"], ["o"])], opset),
    ]
    nodes = [
        helper.make_node("with_parameter", ["x"], ["p"], domain=DOMAIN, slope=0.5),
        helper.make_node("ours", ["p"], ["q"], domain=DOMAIN),
        helper.make_node("f", ["q"], ["y"], domain="theirs"),
    ]
    m = make(nodes, ["y"], functions=functions)
    m.opset_import.extend([helper.make_opsetid(DOMAIN, 1), helper.make_opsetid("theirs", 1)])
    source = save(run, m)
    made, _ = run(source, "--passes=dead-code")
    left = onnx.load(made)
    expect(
        [n.op_type for n in left.graph.node] == ["with_parameter", "Neg", "Abs", "f"],
        [n.op_type for n in left.graph.node],
    )
    expect(
        [f.name for f in left.functions] == ["with_parameter", "f"]
        and any(o.domain == DOMAIN for o in left.opset_import),
        left,
    )
    untouched, _ = run(source, "-O0")
    expect(data(untouched) == data(source), "-O0 without --regions changes a model with region functions")
    why = runs.pair_difference(onnx.load(source), left, 3)
    expect(why is None, why)


def checked(run):
    import onnxruntime

    folder = os.path.join(os.path.dirname(onnxruntime.__file__), "capi")
    library = sorted(f for f in os.listdir(folder) if f.startswith("libonnxruntime.so"))[-1]
    _, report = run(
        save(run, blocks(list(range(16)))),
        "--regions",
        "functions",
        "--check",
        "--ort",
        os.path.join(folder, library),
    )
    expect(report["check"]["verdict"] == "same", report["check"])


def save(run, model):
    onnx.checker.check_model(model, full_check=True)
    path = run.path("onnx")
    onnx.save(model, path)
    return path


# --- all ----------------------------------------------------------------------------------------------------


def run_zoo(path):
    """compare() for a large model: one seed, inputs by type, unknown dims 2."""

    def results(file):
        session = runs.session(file)
        rng, feeds = np.random.RandomState(1), {}
        for i in session.get_inputs():
            dims = [d if isinstance(d, int) else 2 for d in i.shape]
            kind = {
                "tensor(float)": np.float32,
                "tensor(double)": np.float64,
                "tensor(float16)": np.float16,
                "tensor(bool)": np.bool_,
            }.get(i.type)
            feeds[i.name] = (
                rng.randn(*dims).astype(kind)
                if kind
                else np.ones(
                    dims,
                    {"tensor(int64)": np.int64, "tensor(int32)": np.int32, "tensor(uint8)": np.uint8}[i.type],
                )
            )
        return session.run(None, feeds)

    def compare(a, b):
        try:
            expected, twice = results(a), results(a)
        except Exception:  # noqa: BLE001
            return None  # no legal inputs are known
        if any(map(runs.bit_difference, expected, twice)):
            return None  # random operators
        return next((d for d in map(runs.bit_difference, expected, results(b)) if d), None)

    return compare


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--only", nargs="+", default=[], metavar="PREFIX")
    p.add_argument("--models", metavar="ZOO")
    a = p.parse_args()
    expected, passes = vectors.regions(), "--passes=" + ",".join(exact_passes(a.tool))
    failed = total = bodies = 0
    with tempfile.TemporaryDirectory() as work:
        run = Runner(os.path.abspath(a.tool), work)

        def attempt(name, what):
            nonlocal failed
            try:
                return what()
            except Exception as e:  # noqa: BLE001
                failed += 1
                kind = "" if isinstance(e, Failed) else type(e).__name__ + ": "
                print(f"failed    {name}: {kind}{' '.join(str(e).split())[:600]}", flush=True)
                return None

        for v in vectors.rewrites(a.only) if a.only or not a.models else []:

            def compare(x, y):
                return runs.pair_difference(onnx.load(x), onnx.load(y), 6, v.feeds, v.extents)

            def one(model, options):
                source = save(run, model)
                found = check_functions(run, source, options, compare)
                count = len(expected[v.name])
                expect(found[0] == count, found[0], "calls, expected", count)
                newer = onnx.load(source)
                newer.ir_version = 10
                check_metadata(run, source, options)
                check_metadata(run, save(run, newer), options)
                check_drawing(run, source, options)
                return found

            if found := attempt(f"{v.name}, after", lambda: one(v.after, ["-O0"])):
                total, bodies = total + found[0], bodies + found[1]
            attempt(f"{v.name}, before", lambda: one(v.before, [passes]))
        if not a.only and not a.models:
            for case in (sharing, cycles, captured, old_version, foreign, checked):
                attempt(case.__name__, lambda: case(run))
            wanted = sum(map(len, expected.values()))
            if total != wanted:
                failed += 1
                print(f"failed    {total} calls in all after graphs, regions.json has {wanted} regions")
        for name in sorted(os.listdir(a.models)) if a.models else []:
            if name.endswith(".onnx"):
                path = os.path.join(a.models, name)
                found = attempt(name, lambda: check_functions(run, path, ["-O2"], run_zoo(path), False))
                print(f"{name}: {found}", flush=True)
                for f in os.listdir(work):
                    os.remove(os.path.join(work, f))
    print(f"{total} calls of {bodies} functions in the after graphs, {failed} failed")
    return 1 if failed or not (total or a.models) else 0


if __name__ == "__main__":
    sys.exit(main())
