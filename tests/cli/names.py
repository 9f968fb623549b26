"""Names of what passes make: unique, the same in a second run and for another order of the nodes."""

import json
import pathlib
import random
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _tool import expect, main, saved
from lib import models, reordering

# Small models with bodies, functions, layout moves, merged weights and copies.
ZOO = ["lstm_tagger", "rnn_loop", "scan_filter", "rand_vae", "moe_block", "tf_mobilenet", "tv_retinanet_head"]
ZOO += ["fn_blocks", "gnn_gat", "yolo_head"]
DEVICES = pathlib.Path(__file__).resolve().parents[2] / "share" / "graphopt" / "devices"
# What is equal in the file is one before the order changes: of equal nodes and constants the first one stays.
ONE_OF_EACH = "constants-to-initializers,merge-initializers,common-subexpressions,dead-code"
LONGEST = 100 + 40 + len("~/_12345")


def graphs_of(m):
    """The main graph, the functions, and all bodies."""
    todo = [m.graph, *m.functions]
    while todo:
        g = todo.pop()
        yield g
        for a in (a for n in g.node for a in n.attribute):
            todo.extend([*([a.g] if a.HasField("g") else []), *a.graphs])


def nodes_of(m):
    return [n for g in graphs_of(m) for n in g.node]


def names_of(m):
    return [n.name for n in nodes_of(m)]


def shuffled(m, seed):
    """A copy with another order of the nodes and initializers of all graphs; names stay."""
    rng, copy = random.Random(seed), onnx.ModelProto.FromString(m.SerializeToString())
    for g in graphs_of(copy):
        nodes, ready, order = list(g.node), set(), []
        needs, left = reordering.needs_of(nodes), list(range(len(nodes)))
        while left:
            k = rng.choice([k for k in left if needs[k] <= ready])
            left.remove(k)
            ready |= set(nodes[k].output)
            order.append(nodes[k])
        reordering.replace(g.node, order)
        if isinstance(g, onnx.GraphProto):
            reordering.replace(g.initializer, rng.sample(list(g.initializer), len(g.initializer)))
    return copy


def said(m):
    """What names say of the graph: (name, operator, operands, results) of each node."""
    return sorted((n.name, n.op_type, *n.input, "->", *n.output) for n in nodes_of(m))


def optimized(tool, path, out, *words):
    done = tool("-q", path, "-o", out, *words)
    expect(done.returncode == 0, path, words, done.stderr)
    return onnx.load(out, load_external_data=False)


def info(name, shape=(2, 3, 4), dtype=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, dtype, shape)


def of(nodes, inputs, outputs, constants=(), **more):
    tensors = [numpy_helper.from_array(np.array(v), k) for k, v in dict(constants).items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, tensors)
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)], **more)


def two_norms():
    """What raise-norms makes twice, with the names of an exporter, and once without any."""

    def norm(x, at, name):
        n = helper.make_node
        return [
            n("ReduceMean", [x, "axes"], [f"{at}m"], name and f"{name}mean"),
            n("Sub", [x, f"{at}m"], [f"{at}d"], name and f"{name}d"),
            n("Mul", [f"{at}d", f"{at}d"], [f"{at}s"], name and f"{name}s"),
            n("ReduceMean", [f"{at}s", "axes"], [f"{at}v"], name and f"{name}v"),
            n("Add", [f"{at}v", "eps"], [f"{at}e"], name and f"{name}e"),
            n("Sqrt", [f"{at}e"], [f"{at}q"], name and f"{name}q"),
            n("Div", [f"{at}d", f"{at}q"], [f"{at}Div_output_0"], name and f"{name}Div"),
        ]

    nodes = norm("x", "/a/", "/a/") + norm("/a/Div_output_0", "/b/", "")
    nodes.append(helper.make_node("Sigmoid", ["/b/Div_output_0"], ["y"]))
    constants = {"axes": np.array([-1]), "eps": np.float32(1e-5)}
    return of(nodes, [info("x")], [info("y")], constants)


def test_scheme(tool, folder):
    """A made node is named after its result, one of the file keeps its name or stays without."""
    m = optimized(tool, saved(folder, two_norms()), folder / "o.onnx")
    found = {n.op_type + ":" + n.output[0]: n.name for n in m.graph.node}
    expect(
        found
        == {
            "LayerNormalization:/a/Div_output_0": "/a/Div/LayerNormalization",
            "LayerNormalization:/b/Div_output_0": "/b/Div/LayerNormalization",
            "Sigmoid:y": "",
        },
        found,
    )
    parts = optimized(tool, folder / "m.onnx", folder / "p.onnx", "--devices", DEVICES / "cpu.json")
    expect([n.name for n in parts.graph.node][-1] == "y/Sigmoid", names_of(parts))


def test_a_name_that_is_taken(tool, folder):
    """A node of the file has the name that a made one would get; a body's counts, too."""
    m = two_norms()
    m.graph.node[-1].name = "/b/Div/LayerNormalization"
    body = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["t"], "/a/Div/LayerNormalization")], "b", [], [info("t")]
    )
    other = helper.make_graph([helper.make_node("Abs", ["x"], ["t2"])], "b", [], [info("t2")])
    m.graph.node.append(helper.make_node("If", ["c"], ["z"], "choice", then_branch=body, else_branch=other))
    m.graph.input.append(info("c", (), TensorProto.BOOL))
    m.graph.output.append(info("z"))
    out = optimized(tool, saved(folder, m), folder / "o.onnx")
    found = {n.op_type + ":" + n.output[0]: n.name for n in nodes_of(out)}
    expect(found["LayerNormalization:/a/Div_output_0"] == "/a/Div/LayerNormalization_1", found)
    expect(found["LayerNormalization:/b/Div_output_0"] == "/b/Div/LayerNormalization_1", found)
    expect(found["Sigmoid:y"] == "/b/Div/LayerNormalization", found)
    expect(found["Neg:t"] == "/a/Div/LayerNormalization", found)


def test_long_names(tool, folder):
    """Names are bounded, and cut between characters."""
    m = two_norms()
    long = "/ä" * 400
    for n in m.graph.node:
        for field in (n.input, n.output):
            field[:] = [long + v if v.startswith("/a/Div") else v for v in field]
    out = optimized(tool, saved(folder, m), folder / "o.onnx")
    (name,) = [n.name for n in out.graph.node if n.output[0].startswith("/ä")]
    expect(name.startswith("~") and name.endswith("ä/a/Div/LayerNormalization"), name)
    expect(len(name.encode()) <= LONGEST, len(name.encode()))


def test_level_0(tool, folder):
    path = saved(folder, two_norms())
    optimized(tool, path, folder / "o.onnx", "-O0")
    expect((folder / "o.onnx").read_bytes() == path.read_bytes(), "-O0 changes the model")


def check_names(m, original, words):
    names = [n for n in names_of(m) if n]
    own = [n for n in names_of(original) if n]
    if len(set(own)) == len(own):
        twice = sorted({n for n in names if names.count(n) > 1})
        expect(not twice, words, "two nodes have one name:", twice[:5])
    made = [n for n in names if n not in set(own)]
    expect(all(len(n.encode()) <= max(LONGEST, *map(len, own), 0) + 8 for n in made), words, made)
    values = {o for n in nodes_of(original) for o in n.output}
    new = {o for n in nodes_of(m) for o in n.output} - values - {""}
    for v in new:
        expect(not v.endswith("_moved_moved") and "_moved_moved_" not in v, words, v)
    # Only what the file has without a name has none.
    unnamed = {o for n in nodes_of(original) if not n.name for o in n.output}
    bare = [n for n in nodes_of(m) if not n.name and n.op_type != "Constant"]
    expect(all(set(n.output) & (unnamed | new) for n in bare), words, [list(n.output) for n in bare])
    return len(made)


def test_models(tool, folder):
    """Names are right, and a second run changes nothing."""
    made = 0
    for name, path in models.filled(ZOO, folder).items():
        original, out, again = onnx.load(path), folder / "out.onnx", folder / "again.onnx"
        for words in ([], ["-O3"], ["--devices", DEVICES / "coreml.json", "--parts", "never"]):
            made += check_names(optimized(tool, path, out, *words), original, (name, *words))
            if not words:
                optimized(tool, out, again)
                expect(again.read_bytes() == out.read_bytes(), name, "a second run changes something")
    expect(made > 100, "too few nodes are made for a test:", made)


def test_order(tool, folder):
    """Another order of the nodes and initializers gives the same names, of values, too."""
    for name, path in models.filled(ZOO, folder).items():
        one, other = folder / "one.onnx", folder / "other.onnx"
        onnx.save(shuffled(optimized(tool, path, one, "--passes", ONE_OF_EACH), 7), other)
        for words in ([], ["--exact"]):
            a, b = (said(optimized(tool, p, folder / "out.onnx", *words)) for p in (one, other))
            only = [x for x in a if x not in b][:3], [x for x in b if x not in a][:3]
            expect(a == b, name, words, *only)


def test_plan(tool, folder):
    """Each subgraph has a first node with a name that says what it is."""
    paths = models.filled(["op9_alexnet", "rnn_loop", "gnn_gat"], folder)
    paths["two_norms"] = saved(folder, two_norms())
    for name, path in paths.items():
        report = folder / "r.json"
        done = tool(
            path, "--devices", f"{DEVICES}/coreml.json,{DEVICES}/nnapi.json", "--plan", "--report", report
        )
        expect(done.returncode == 0, name, done.stderr)
        subgraphs = json.loads(report.read_text())["partition"]["subgraphs"]
        firsts = [s["first"] for s in subgraphs]
        expect(all(firsts) and len(set(firsts)) == len(firsts), name, firsts)
        expect(not any(f.startswith(("#", "of '")) for f in firsts), name, firsts)
        table = done.stdout.decode()
        for s in subgraphs:
            row = next(line for line in table.splitlines() if line.split()[:1] == [s["id"]])
            expect(row.endswith("  " + s["first"]), name, row, s)


if __name__ == "__main__":
    sys.exit(main(globals()))
