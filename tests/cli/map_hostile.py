"""graphopt map on pairs of hostile models: a right status in bounded time, each operator in one pair at most,
names that exist, and a model against itself maps each operator to itself or to one that computes the same.
Large ones are in map_large.py.
"""

import random
import subprocess
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper, parser

from _maps import (
    HEAD,
    SECONDS,
    against_itself,
    file_of,
    info,
    make,
    maps,
    model_of,
    node,
    pairs_of,
    timed,
    weight,
)
from _models import annotations, attributes, element_types, functions, sparse, types
from bad_input import nested_ifs
from _tool import CHECK, INPUT, expect, main, refused, saved


def rejected(tool, folder, m):
    path = saved(folder, m, "bad.onnx")
    good = file_of(folder, "good.onnx", "g (float[2] x) => (float[2] y) { y = Relu (x) }")
    refused(tool("map", path, good), INPUT, "bad.onnx")
    refused(tool("map", good, path), INPUT, "bad.onnx")


def test_graph_without_nodes(tool, folder):
    for m in (
        make([], [info("x")], [info("x")]),
        make([], [info("x")], []),
        make([], [], []),
        make([], [], [info("w", (4,))], [weight("w")]),
    ):
        report = against_itself(tool, folder, m)
        expect(report["verdict"] == "one model" and report["pairs"] == [], report)
        expect(report["summary"]["a"] == {"alone": 0, "in_groups": 0, "in_pairs": 0}, report["summary"])
        other = file_of(folder, "b.onnx", "g (float[2] x) => (float[2] y) { y = Relu (x) }")
        report = timed(tool, folder / "a.onnx", other, status=CHECK)
        expect(report["verdict"] == "not one model", report)


def test_graph_without_outputs(tool, folder):
    m = make([node("Relu", ["x"], ["a"]), node("Tanh", ["a"], ["b"])], [info("x")], [])
    against_itself(tool, folder, m)


def test_a_graph_of_constants(tool, folder):
    """Constant nodes and Identity of them are no operators; what reads constants alone is one."""
    nodes = [
        node("Constant", [], ["k"], value=weight("k")),
        node("Identity", ["k"], ["i"]),
        node("Identity", ["i"], ["j"]),
        node("Add", ["j", "k"], ["s"]),
        node("Mul", ["s", "s"], ["y"]),
    ]
    report = against_itself(tool, folder, make(nodes, [], [info("y", (4,)), info("j", (4,))]))
    expect([n["name"] for n in report["a"]["nodes"]] == ["j", "s", "y"], report["a"])
    empty = file_of(folder, "b.onnx", make(nodes[:1], [], [info("k", (4,))]))
    expect(timed(tool, empty, empty, status=0)["a"]["nodes"] == [], "constants are operators")


def test_equal_constants_everywhere(tool, folder):
    one = numpy_helper.from_array(np.ones((4, 4), np.float32), "one")
    nodes = [node("MatMul", [f"v{i}", "one"], [f"v{i + 1}"]) for i in range(200)]
    report = against_itself(tool, folder, make(nodes, [info("v0")], [info("v200")], [one]))
    expect(all(p["a"] == p["b"] for p in report["pairs"]), "the chain has one order")


def test_inputs_and_outputs_in_other_order(tool, folder):
    text = "g (%s) => (%s) { a = Sin (x)  b = Cos (z)  y = Tanh (a)  t = Tanh (b) }"
    parts = (
        ("float[2] x, float[2] z", "float[2] z, float[2] x"),
        ("float[2] y, float[2] t", "float[2] t, float[2] y"),
    )
    a = file_of(folder, "a.onnx", text % (parts[0][0], parts[1][0]))
    for i in parts[0]:
        for o in parts[1]:
            report = timed(tool, a, file_of(folder, "b.onnx", text % (i, o)), status=0)
            expect(pairs_of(report) == {n: n for n in "abyt"}, report["pairs"])


def test_an_output_that_is_there_twice(tool, folder):
    m = make([node("Relu", ["x"], ["y"])], [info("x")], [info("y"), info("y")])
    a = saved(folder, m, "a.onnx")
    done = tool("map", a, a, "--json")
    expect(done.returncode in (0, INPUT), done.returncode, done.stderr)
    if done.returncode == 0:
        against_itself(tool, folder, m)


def test_a_value_that_is_input_and_output(tool, folder):
    m = make([node("Relu", ["x"], ["y"])], [info("x"), info("z")], [info("x"), info("y"), info("z")])
    against_itself(tool, folder, m)


def test_nodes_without_named_results(tool, folder):
    """They have numbers for names; several of them must not share one."""
    nodes = [
        node("Dead", ["x"], ["", ""], domain="custom"),
        node("Dead", ["x"], [""], domain="custom"),
        node("Sink", ["x"], [], domain="custom"),
        node("Relu", ["x"], ["y"]),
        node("Split", ["x"], ["", "z"], axis=1, num_outputs=2),
    ]
    m = make(nodes, [info("x")], [info("y"), info("z", ("n", 2))], domains=["custom"])
    a = saved(folder, m, "a.onnx")
    report = timed(tool, a, a, status=0)
    names = [n["name"] for n in report["a"]["nodes"]]
    expect({"y", "z"} < set(names) and len(names) >= 2, names)
    # A result that looks like such a number.
    m.graph.node[3].output[0] = m.graph.output[0].name = "#0"
    m.graph.node[4].output[1] = m.graph.output[1].name = "#1"
    a = saved(folder, m, "a.onnx")
    report = timed(tool, a, a, status=0)
    expect(len(report["pairs"]) == len(report["a"]["nodes"]), report["pairs"])


STRANGE = (
    "a/b",
    "a=b",
    "=",
    "/",
    "//",
    "'",
    '"',
    "\\",
    "\n\t",
    "\x01\x7f",
    "ﬀ\u202e",
    " ",
    "y/body/x",
    "#1",
    "{}",
    "%s",
)


def chain_of(names):
    values = ["x", *names]
    ops = ["Sin", "Cos", "Tanh", "Exp"]
    nodes = [node(ops[i % 4], [values[i]], [values[i + 1]]) for i in range(len(names))]
    return make(nodes, [info("x")], [info(names[-1])])


def test_strange_names(tool, folder):
    m = chain_of(STRANGE)
    report = against_itself(tool, folder, m)
    expect([n["name"] for n in report["a"]["nodes"]] == list(STRANGE), report["a"]["nodes"])
    a = saved(folder, m, "a.onnx")
    for name in STRANGE:
        report = timed(tool, a, a, "--pair", f"{name}={name}", status=0)
        (given,) = [p for p in report["pairs"] if p["why"] == "given"]
        expect(given["a"] == given["b"], given)
    done = tool("map", a, file_of(folder, "b.onnx", "g (float[2] x) => (float[2] y) { y = Relu (x) }"), "-v")
    expect("\x01" not in done.stdout.decode() and "\u202e" not in done.stdout.decode(), done.stdout)


def replaced(data, old, new):
    """The bytes of a model with another name of the same length."""
    expect(len(old) == len(new) and old in data, old)
    return data.replace(old, new)


def test_names_that_are_no_text(tool, folder):
    """NUL and bytes that are not UTF-8: the report is JSON, and two names that look alike there are two."""
    data = chain_of(["aXa", "bXb", "cXc", "dXd"]).SerializeToString()
    for old, new in (
        (b"aXa", b"a\0a"),
        (b"bXb", b"b\xffb"),
        (b"cXc", b"\xc3\x28c"),
        (b"dXd", b"\xed\xa0\x80"),
    ):
        data = replaced(data, old, new)
    a = folder / "a.onnx"
    a.write_bytes(data)
    done = tool("map", a, a, "--json")
    expect(done.returncode in (0, INPUT), done.returncode, done.stderr)
    if done.returncode == 0:
        report = timed(tool, a, a, status=0)
        expect(len(report["pairs"]) == 4, report["pairs"])
    # The same name once the wrong bytes are replaced.
    data = chain_of(["aXa", "aYa"]).SerializeToString()
    a.write_bytes(replaced(replaced(data, b"aXa", b"a\xffa"), b"aYa", b"a\xfea"))
    done = tool("map", a, a, "--json")
    expect(done.returncode in (0, INPUT), done.returncode, done.stderr)
    if done.returncode == 0:
        timed(tool, a, a, status=0)


def test_names_that_look_like_those_of_bodies(tool, folder):
    """A result of the main graph has the name that an operator of a body is given."""
    text = """g (bool c, float[2] x) => (float[2] y, float[2] z) {
      b = Sin (x)
      y = If (c) <then_branch = t () => (float[2] r) { q = Exp (b)  r = Tanh (q) },
                  else_branch = e () => (float[2] r) { q = Cos (b)  r = Neg (q) }>
      z = Cos (b) }"""
    m = model_of(text)
    for n in m.graph.node:
        n.output[:] = ["y/then_branch/q" if o == "b" else o for o in n.output]
        n.input[:] = ["y/then_branch/q" if i == "b" else i for i in n.input]
        for a in n.attribute:
            for inner in a.g.node:
                inner.input[:] = ["y/then_branch/q" if i == "b" else i for i in inner.input]
    a = saved(folder, m, "a.onnx")
    report = timed(tool, a, a, status=0)
    expect(len(report["a"]["nodes"]) == 7 and len(report["pairs"]) == 7, report["a"]["nodes"])


def nested(depth):
    body = None
    for i in reversed(range(depth)):
        nodes = [node("Sin", [f"v{i}" if i else "x"], [f"v{i + 1}"])]
        if body is None:
            nodes.append(node("Cos", [f"v{i + 1}"], [f"r{i}"]))
        else:
            nodes.append(node("If", ["c"], [f"r{i}"], then_branch=body, else_branch=body_of_constant(i)))
        body = helper.make_graph(nodes, f"b{i}", [], [info(f"r{i}", None)])
    m = make([], [info("x"), info("c", (), TensorProto.BOOL)], [])
    m.graph.node.extend(body.node)
    m.graph.output.extend(body.output)
    return m


def body_of_constant(i):
    return helper.make_graph([node("Tanh", [f"v{i + 1}"], [f"e{i}"])], f"e{i}", [], [info(f"e{i}", None)])


def test_bodies_in_bodies(tool, folder):
    report = against_itself(tool, folder, nested(20))
    expect(len(report["pairs"]) == 20 + 19 + 19 + 1, len(report["pairs"]))
    against_itself(tool, folder, nested(30))
    rejected(tool, folder, nested_ifs(3000))


def test_cycles_are_refused(tool, folder):
    nodes = [node("Add", ["x", "b"], ["a"]), node("Relu", ["a"], ["b"]), node("Relu", ["b"], ["y"])]
    rejected(tool, folder, make(nodes, [info("x")], [info("y")]))
    rejected(tool, folder, make([node("Add", ["x", "y"], ["y"])], [info("x")], [info("y")]))
    long = [node("Relu", [f"v{(i - 1) % 5000}"], [f"v{i}"]) for i in range(5000)]
    rejected(tool, folder, make(long, [info("x")], [info("v9")]))


def test_values_that_nobody_makes_are_refused(tool, folder):
    rejected(tool, folder, make([node("Relu", ["none"], ["y"])], [info("x")], [info("y")]))
    rejected(tool, folder, make([node("Relu", ["x"], ["y"])], [info("x")], [info("z")]))
    twice = [node("Relu", ["x"], ["y"]), node("Tanh", ["x"], ["y"])]
    rejected(tool, folder, make(twice, [info("x")], [info("y")]))


def test_huge_but_damaged_initializers(tool, folder):
    """Dims of 2^62 elements without data are refused, whatever they would take."""
    huge = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2**31, 2**31])
    rejected(tool, folder, make([node("Add", ["x", "w"], ["y"])], [info("x")], [info("y", None)], [huge]))


def test_tensors_without_elements(tool, folder):
    empty = [numpy_helper.from_array(np.zeros(s, np.float32), n) for n, s in (("v", (0, 4)), ("w", (4, 0)))]
    nodes = [
        node("Concat", ["x", "v"], ["a"], axis=0),
        node("MatMul", ["a", "w"], ["b"]),
        node("ReduceSum", ["b"], ["y"]),
    ]
    against_itself(tool, folder, make(nodes, [info("x", (0, 4))], [info("y", None)], empty))


def test_missing_shapes(tool, folder):
    m = make([node("Sin", ["x"], ["a"]), node("Neg", ["a"], ["y"])], [info("x", None)], [info("y", None)])
    report = against_itself(tool, folder, m)
    typed = make(
        [node("Sin", ["x"], ["a"]), node("Neg", ["a"], ["y"])], [info("x", (2, 3))], [info("y", (2, 3))]
    )
    report = timed(tool, folder / "a.onnx", saved(folder, typed, "b.onnx"), "--no-names", status=0)
    expect(pairs_of(report) == {"a": "a", "y": "y"}, report["pairs"])
    expect(report["a"]["nodes"][0]["type"] != report["b"]["nodes"][0]["type"], report["a"]["nodes"])


def test_unknown_operators_and_domains(tool, folder):
    nodes = [
        node("Mystery", ["x"], ["a", "", "b"], domain="org.strange", level=3),
        node("NoSuchOperator", ["a"], ["c"]),
        node("Mystery", ["b", "", "c"], ["y"], domain="org.strange", level=4),
        node("Mystery", ["c"], ["z"], domain="", text="x"),
    ]
    m = make(nodes, [info("x", None)], [info("y", None), info("z", None)], domains=["org.strange"])
    a = saved(folder, m, "a.onnx")
    done = tool("map", a, a, "--json")
    expect(done.returncode in (0, INPUT), done.returncode, done.stderr)
    if done.returncode == 0:
        report = against_itself(tool, folder, m)
        ops = {n["name"]: n["op"] for n in report["a"]["nodes"]}
        expect(ops["a"] == "org.strange::Mystery" and ops["c"] == "NoSuchOperator", ops)


def test_domains_that_are_not_imported(tool, folder):
    m = make(
        [node("Gelu", ["x"], ["a"], domain="com.microsoft"), node("Relu", ["a"], ["y"])],
        [info("x")],
        [info("y")],
    )
    a = saved(folder, m, "a.onnx")
    done = tool("map", a, a, "--json")
    expect(done.returncode in (0, INPUT), done.returncode, done.stderr)


CALLS = """<ir_version: 10, opset_import: ["" : 18, "my" : 1]>
g (float[2,4] x) => (float[2,4] y) { a = my.F (x)  b = Relu (a)  y = my.H (b) }
<domain: "my", opset_import: ["" : 18, "my" : 1]> F (u) => (v) { s = my.H (u)  t = Sigmoid (s)  v = my.H (t) }
<domain: "my", opset_import: ["" : 18, "my" : 1]> H (u) => (v) { v = Sin (u) }"""


def test_functions_that_call_each_other(tool, folder):
    against_itself(tool, folder, parser.parse_model(CALLS), names=False)
    loop = CALLS.replace("v = Sin (u)", "v = my.F (u)")
    rejected(tool, folder, parser.parse_model(loop).SerializeToString())
    # 2^40 calls, if each were followed.
    text = CALLS[: CALLS.index("g (")] + "g (float[4] x) => (float[4] y) { y = my.F40 (x) }"
    head = '\n<domain: "my", opset_import: ["" : 18, "my" : 1]> F%d (u) => (v) {'
    head += " s = my.F%d (u)  v = my.F%d (s) }"
    text += "".join(head % (i, i - 1, i - 1) for i in range(1, 41))
    text += '\n<domain: "my", opset_import: ["" : 18]> F0 (u) => (v) { v = Sin (u) }'
    a = saved(folder, parser.parse_model(text), "a.onnx")
    report = timed(tool, a, a, status=0)
    expect(len(report["a"]["nodes"]) == 1 + 2 * 40 + 1, len(report["a"]["nodes"]))
    expect(len(report["pairs"]) == len(report["a"]["nodes"]), len(report["pairs"]))


def test_functions_that_nobody_calls(tool, folder):
    m = parser.parse_model(CALLS)
    m.graph.node[2].op_type, m.graph.node[2].domain = "Cos", ""
    m.graph.node[0].op_type, m.graph.node[0].domain = "Exp", ""
    report = against_itself(tool, folder, m)
    expect(len(report["a"]["nodes"]) == 3, report["a"]["nodes"])


def test_values_that_bodies_capture(tool, folder):
    """Two loops with equal bodies that read different values of the graph around them."""
    body = "<body = b (int64 i, bool k, float[2] s) => (bool l, float[2] t) {"
    body += " l = Identity (k)  t = Add (s, %s) }>"
    text = "g (int64 n, bool o, float[2] x) => (float[2] y, float[2] z) { a = Sin (x)  b = Cos (x)  y = Loop "
    text += body % "a" + " (n, o, x)  z = Loop " + body % "b" + " (n, o, x) }"
    report = against_itself(tool, folder, model_of(text))
    expect(pairs_of(report) == {n["name"]: n["name"] for n in report["a"]["nodes"]}, report["pairs"])
    # The outputs change places, and so do the loops.
    turned = model_of(text)
    outputs = [v.name for v in turned.graph.output]
    copied = maps.renamed(turned, random.Random(2))[0]
    report = timed(tool, folder / "a.onnx", saved(folder, copied, "b.onnx"), "--no-names", status=0)
    expect([pairs_of(report)[o] for o in outputs] == outputs, report["pairs"])


def test_sequences_and_optionals(tool, folder):
    against_itself(tool, folder, types())
    m = model_of("""g (float[2] x, float[2] z) => (float[2] y, seq(float[2]) s) {
      s = SequenceConstruct (x, z)  e = SequenceEmpty ()  t = SequenceInsert (e, x)
      k = Constant <value = int64 {0}> ()  y = SequenceAt (t, k) }""")
    against_itself(tool, folder, m)


def test_strings(tool, folder):
    words = helper.make_tensor("words", TensorProto.STRING, [3], [b"a", b"\xff\0", b""])
    others = helper.make_tensor("others", TensorProto.STRING, [3], [b"a", b"\xfe\0", b""])
    nodes = [
        node("StringConcat", ["x", "words"], ["a"]),
        node("StringConcat", ["x", "others"], ["b"]),
        node("StringConcat", ["a", "b"], ["y"]),
    ]
    strings = [info(n, (3,), TensorProto.STRING) for n in "xy"]
    report = against_itself(tool, folder, make(nodes, strings[:1], strings[1:], [words, others]))
    expect(all(p["a"] == p["b"] for p in report["pairs"]), "strings are not contents")


def test_sparse_initializers(tool, folder):
    against_itself(tool, folder, sparse())


def test_initializers_that_are_inputs(tool, folder):
    """IR version 3 lists initializers as inputs; later versions may leave them out."""
    nodes = [node("MatMul", ["x", "w"], ["a"]), node("Relu", ["a"], ["y"])]
    w = weight("w", (4, 4))
    old = make(nodes, [info("x"), info("w", (4, 4))], [info("y")], [w], ir=3, opset=9)
    against_itself(tool, folder, old)
    new = saved(folder, make(nodes, [info("x")], [info("y")], [w]), "b.onnx")
    for words in ([], ["--no-names"]):
        report = timed(tool, folder / "a.onnx", new, *words, status=0)
        expect(pairs_of(report) == {"a": "a", "y": "y"}, report["pairs"])
    # An initializer that is an input of a later version is a default.
    against_itself(tool, folder, make(nodes, [info("x"), info("w", (4, 4))], [info("y")], [w]))


def test_what_survivors_have(tool, folder):
    """Quantization annotations, every element type, every attribute type, functions with overloads."""
    against_itself(tool, folder, annotations())
    against_itself(tool, folder, element_types())
    against_itself(tool, folder, attributes(), names=False)
    against_itself(tool, folder, functions(), names=False)


def test_node_names_that_are_there_twice(tool, folder):
    nodes = [helper.make_node(op, [i], [o], "same") for op, i, o in (("Sin", "x", "a"), ("Cos", "a", "y"))]
    against_itself(tool, folder, make(nodes, [info("x")], [info("y")]))


def test_the_same_name_in_two_bodies(tool, folder):
    text = """g (bool c, float[2] x) => (float[2] y) {
      a = If (c) <then_branch = t () => (float[2] r) { r = Sin (x) },
                  else_branch = e () => (float[2] r) { r = Cos (x) }>
      y = If (c) <then_branch = t () => (float[2] r) { r = Exp (a) },
                  else_branch = e () => (float[2] r) { r = Neg (a) }> }"""
    report = against_itself(tool, folder, model_of(text))
    expect(len(report["pairs"]) == 6, report["pairs"])


def test_opsets(tool, folder):
    """7 to 25 against 18: Relu and Add are the same in all; of others the opset is part of the meaning."""
    text = """g (float[2,4] x) => (float[2,4] y) {
      a = Relu (x)  b = Softmax <axis = 1> (a)  c = Add (b, x)  y = Abs (c) }"""
    for version in (7, 8, 10, 11, 12, 14, 16, 19, 20, 22, 23, 24, 25):
        m = model_of(text, HEAD.replace("18", str(version)))
        against_itself(tool, folder, m)
        b = saved(folder, m, "b.onnx")
        report = timed(tool, file_of(folder, "a.onnx", text), b, status=0)
        expect(pairs_of(report) == {n: n for n in "abcy"}, version, report["pairs"])


def test_a_cross_of_everything(tool, folder):
    """Unlike hostile models against each other: a status, and a report that is right by itself."""
    made = {
        "empty": make([], [], []),
        "types": types(),
        "sparse": sparse(),
        "attributes": attributes(),
        "functions": functions(),
        "strange": chain_of(STRANGE),
        "nested": nested(5),
        "calls": parser.parse_model(CALLS),
    }
    paths = [saved(folder, m, f"{name}.onnx") for name, m in made.items()]
    for a in paths:
        for b in paths:
            timed(tool, a, b)
            timed(tool, a, b, "--method", "literal")


def test_a_pipe_that_closes(tool, folder):
    """The reader of the report ends before it is written."""
    nodes = [node("Sin" if i % 2 else "Cos", [f"v{i}"], [f"v{i + 1}"]) for i in range(5000)]
    a = saved(folder, make(nodes, [info("v0")], [info("v5000")]), "a.onnx")
    run = subprocess.Popen(
        [tool.binary, "map", a, a, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    run.stdout.close()
    errors = run.stderr.read().decode()
    expect(run.wait(timeout=SECONDS) in (4, 128 + 13, -13), run.returncode, errors)
    run.stderr.close()


if __name__ == "__main__":
    sys.exit(main(globals()))
