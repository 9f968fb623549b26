"""graphopt map A B: exit statuses, the report, names of operators, and what counts as evidence."""

import collections
import json
import pathlib
import random
import sys

import numpy as np
import onnx
from onnx import helper, numpy_helper, parser

from _maps import EITHER, HEAD, file_of, groups_of, least_confidence, maps, model_of, pairs_of, report_of
from _tool import CHECK, INPUT, LIMIT, OUTPUT, USAGE, expect, long_model, main, refused, saved

VECTORS = pathlib.Path(__file__).resolve().parents[1] / "vectors/mapping"


def vector(number):
    return sorted(VECTORS.glob(f"{number:02}_*_[ab].onnxtxt"))


# Two blocks with weights of their own, and a residual.
BLOCKS = """g (float[2,4] x) => (float[2,4] y)
  <float[4,4] v = {1,2,3,4, 5,6,7,8, 9,1,2,3, 4,5,6,7}, float[4,4] w = {2,1,4,3, 6,5,8,7, 1,9,3,2, 5,4,7,6},
   float[4] k = {1,2,3,5}> {
  a = MatMul (x, v)  b = Add (a, k)  c = Relu (b)  d = MatMul (c, w)  e = Sigmoid (d)  f = Mul (d, e)
  y = Add (f, x)
}"""
# Two branches that only their weights tell apart.
TWINS = """g (float[2,4] x) => (float[2,4] y)
  <float[4,4] v = {1,2,3,4, 5,6,7,8, 9,1,2,3, 4,5,6,7}, float[4,4] w = {2,1,4,3, 6,5,8,7, 1,9,3,2, 5,4,7,6}> {
  p = MatMul (x, v)  q = MatMul (x, w)  y = Add (p, q)
}"""
BODIES = """g (float[2,3] x, int64 n, bool o, float[2,3] z) => (float[2,3] y, float[2,3] t, float[2,3] s) {
  c = Abs (z)
  y = Loop <body = b (int64 i, bool k, float[2,3] u) => (bool l, float[2,3] w) {
    l = Identity (k)
    h = Sin (u)
    m = If (k) <then_branch = tb () => (float[2,3] r) { j = Cos (h)  r = Mul (j, c) },
                else_branch = eb () => (float[2,3] r) { r = Sub (h, c) }>
    w = Tanh (m)
  }> (n, o, x)
  d = Neg (z)
  last, t = Scan <num_scan_inputs = 1, body = b (float[3] u, float[3] v) => (float[3] w, float[3] e) {
    f = Mul (u, v)  w = Add (f, u)  e = Exp (f)
  }> (first, d)
  k = Constant <value = int64[1] {0}> ()
  first = ReduceSum <keepdims = 0> (z, k)
  s = Neg (y)
}"""
FUNCTIONS = """<ir_version: 10, opset_import: ["" : 18, "my" : 1]>
g (float[2,4] x) => (float[2,4] y) { a = my.Act (x)  b = Relu (a)  y = my.Act (b) }
<domain: "my", opset_import: ["" : 18]> Act (u) => (v) { s = Sigmoid (u)  v = Mul (u, s) }"""


def bodies():
    """BODIES with its nodes in order."""
    m = model_of(BODIES)
    nodes = list(m.graph.node)
    del m.graph.node[:]
    m.graph.node.extend(sorted(nodes, key=lambda n: n.op_type == "Scan"))
    onnx.checker.check_model(m)
    return m


def test_a_change_of_spelling_is_one_model(tool, folder):
    a, b = vector(4)
    done = tool("map", a, b)
    expect(done.returncode == 0 and done.stderr == "", done.returncode, done.stderr)
    text = done.stdout.decode()
    expect(text.startswith("one model\n") and "decomposed" in text, text)
    report = report_of(tool, a, b)
    expect(pairs_of(report) == {"m": "u0", "e": "u10", "y": "y"}, report["pairs"])
    expect(groups_of(report) == [(["l"], [f"u{i}" for i in range(1, 10)])], report["groups"])
    (group,) = report["groups"]
    expect(group["kind"] == "decomposed" and group["values"] == ["l", "u9"], group)


def test_two_models_are_not_one(tool, folder):
    a, b = vector(12)
    report = report_of(tool, a, b, status=CHECK)
    expect(report["verdict"] == "not one model" and not report["groups"], report)
    done = tool("map", a, b, "--report", folder / "r.json")
    expect(done.returncode == CHECK and b"not one model" in done.stdout, done)
    expect(maps.read((folder / "r.json").read_bytes()) == report, "another report")
    expect(done.stderr == "", done.stderr)


def test_json_goes_to_stdout_and_the_report_to_its_file(tool, folder):
    a, b = vector(3)
    printed = tool("map", a, b, "--json").stdout
    for words in (["--json"], [], ["-q"]):
        done = tool("map", a, b, "--report", folder / "r.json", *words)
        expect(done.returncode == 0, done.stderr)
        expect((folder / "r.json").read_bytes() == printed, "the file has other bytes")
        expect((done.stdout == printed) == ("--json" in words), done.stdout)
    done = tool("map", a, b, "--report", "-", "-q")
    expect(done.returncode == 0 and done.stdout == printed, done.stdout)


def test_wrong_words(tool, folder):
    a, b = vector(3)
    for words, parts in (
        ([], ["two models are wanted", "graphopt map A B"]),
        ([a], ["two models are wanted"]),
        ([a, b, a], []),
        (["-", "-"], ["both models are stdin"]),
        ([a, b, "--no-such"], ["--no-such"]),
        ([a, b, "--method", "dense"], ["'dense'", "literal"]),
        ([a, b, "--rounds", "0"], ["--rounds", "'0'"]),
        ([a, b, "--top-k", "-1"], ["--top-k", "'-1'"]),
        ([a, b, "--top-k", "many"], ["--top-k", "'many'"]),
        ([a, b, "--numeric", "--tolerance", "-1"], ["--tolerance", "'-1'"]),
        ([a, b, "--numeric", "--tolerance", "nan"], ["--tolerance", "'nan'"]),
        ([a, b, "--numeric", "--seeds", "0"], ["--seeds", "'0'"]),
        ([a, b, "--numeric", "--input", "x"], ["--input", "'x'"]),
        ([a, b, "--tolerance", "0.1"], ["--numeric"]),
        ([a, b, "--input", "x=x.npy"], ["--numeric"]),
        ([a, b, "--seeds", "2"], ["--numeric"]),
        ([a, b, "--pair", "m"], ["--pair", "'m'"]),
        ([a, b, "--pair", "="], ["--pair", "'='"]),
    ):
        refused(tool("map", *words), USAGE, *parts)
    text = tool("map", "--help").stdout.decode()
    expect(text.startswith("Usage: graphopt map A B") and "--bisect" in text, text)


def test_what_is_no_model(tool, folder):
    a, b = vector(3)
    cycle = model_of("g (float[2] x) => (float[2] y) { a = Relu (x)  y = Add (a, x) }")
    cycle.graph.node[0].input[0] = "y"
    for name, data in (("text.onnx", b"no model"), ("empty.onnx", b""), ("cut.onnx", b"\x08\x09\x3a\xff")):
        refused(tool("map", saved(folder, data, name), b), INPUT, name)
        refused(tool("map", a, folder / name), INPUT, name)
    refused(tool("map", a, saved(folder, cycle, "cycle.onnx")), INPUT, "cycle.onnx")
    refused(tool("map", folder / "none.onnx", b), INPUT, "none.onnx", "no such file")
    refused(tool("map", a, folder), INPUT)
    refused(tool("map", "-", b, stdin=b"\xff" * 100), INPUT)
    (folder / "bad.onnxtxt").write_text("g (float x) => {")
    refused(tool("map", a, folder / "bad.onnxtxt"), INPUT, "bad.onnxtxt")


def test_a_report_that_cannot_be_written(tool, folder):
    a, b = vector(3)
    (folder / "file").write_text("")
    for path in ("/dev/full", folder / "none" / "r.json", folder / "file" / "r.json", folder):
        done = tool("map", a, b, "--report", path)
        expect(done.returncode == OUTPUT and "\n  help: " in done.stderr, path, done.returncode, done.stderr)
    # It is 4 where the graphs are not one model, too.
    done = tool("map", *vector(12), "--report", "/dev/full")
    expect(done.returncode == OUTPUT, done.returncode, done.stderr)
    expect(sorted(p.name for p in folder.iterdir()) == ["file"], "something was left")


def test_limits_of_time_and_memory(tool, folder):
    large = saved(folder, long_model(30000), "large.onnx")
    refused(tool("map", large, large, "--timeout", "0.01"), LIMIT, "--timeout")
    if not tool.sanitized:  # whose shadow is larger than any limit
        refused(tool("map", large, large, "--max-memory", "24M"), LIMIT, "--max-memory")
        done = tool("map", large, large, "--max-memory", "1G", "--timeout", "100", "-q")
        expect(done.returncode == 0, done.stderr)


def test_standard_input_and_text(tool, folder):
    a, b = vector(5)
    wanted = report_of(tool, a, b)
    stored = saved(folder, parser.parse_model(a.read_text()), "a.onnx")
    for words, how in (
        ([stored, b], {}),
        (["-", b], {"stdin": stored.read_bytes()}),
        (["-", b], {"stdin": a.read_bytes()}),
    ):
        report = report_of(tool, *words, **how)
        expect(report["a"]["file"] == str(words[0]), report["a"]["file"])
        report["a"]["file"] = wanted["a"]["file"]
        expect(report == wanted, "another report")
    back = report_of(tool, b, "-", stdin=stored.read_bytes())
    expect(back["b"]["file"] == "-" and pairs_of(back) == {v: k for k, v in pairs_of(wanted).items()}, back)


def test_the_same_bytes_over_twenty_runs(tool, folder):
    m = bodies()
    a = file_of(folder, "a.onnx", m)
    b = file_of(folder, "b.onnx", maps.renamed(m, random.Random(1))[0])
    runs = {tool("map", a, b, "--json", "--no-names", cwd=folder).stdout for _ in range(20)}
    expect(len(runs) == 1, len(runs), "reports")
    data = runs.pop()
    expect(maps.path_problems(data, folder) == [], "a path is in it")
    # Files with the same content under other names have the same map.
    (folder / "else").mkdir()
    (folder / "else/c.onnx").write_bytes(b.read_bytes())
    other = json.loads(tool("map", "a.onnx", "else/c.onnx", "--json", "--no-names", cwd=folder).stdout)
    expect(other["b"]["file"] == "else/c.onnx" and other["a"]["file"] == "a.onnx", other["a"]["file"])
    here = json.loads(data)
    for s in "ab":
        del here[s]["file"], other[s]["file"]
    expect(other == here, "another map")


def mapped_by_truth(tool, folder, m, *words):
    """A model is mapped on five copies with other names and orders: every pair must be right."""
    a = file_of(folder, "a.onnx", m)
    numbers = maps.numbers_of(m)
    for seed in range(5):
        copied, truth = maps.renamed(m, random.Random(seed))
        report = report_of(tool, a, file_of(folder, "b.onnx", copied), *words)
        wrong = maps.wrong_pairs(report, truth, numbers)
        expect(not wrong, seed, wrong)
        expect(report["verdict"] == "one model" and not report["groups"], report["groups"])
        expect(all(report["summary"][s]["in_pairs"] == 1 for s in "ab"), report["summary"])
        expect(report["a"]["network"] == report["b"]["network"], "one network has two ids")
    return report


def test_names_and_order_do_not_count(tool, folder):
    for m in (model_of(BLOCKS), model_of(TWINS), bodies()):
        expect(least_confidence(mapped_by_truth(tool, folder, m)) >= 0.9, "not sure")
    for number in (1, 3, 4, 5, 8, 10, 11):
        mapped_by_truth(tool, folder, parser.parse_model(vector(number)[0].read_text()))


def test_the_order_of_nodes_in_a_file_does_not_change_a_byte(tool, folder):
    """A legal order of the same nodes, with the same names."""
    m = bodies()
    a, b = file_of(folder, "a.onnx", m), folder / "b.onnx"
    seen = set()
    for order in (lambda n: 0, lambda n: n.op_type == "Loop", lambda n: n.op_type in ("Scan", "ReduceSum")):
        copied = onnx.ModelProto()
        copied.CopyFrom(m)
        nodes = sorted(copied.graph.node, key=order)
        nodes.sort(key=lambda n: (n.op_type == "Scan") + 2 * (n.output[0] == "s"))
        del copied.graph.node[:]
        copied.graph.node.extend(onnx.NodeProto.FromString(n.SerializeToString()) for n in nodes)
        onnx.checker.check_model(copied)
        b.write_bytes(copied.SerializeToString())
        seen |= {(tool("map", a, b, "--json").stdout, tool("map", b, a, "--json").stdout)}
    expect(len(seen) == 1, len(seen), "reports")


def test_operators_of_bodies_have_the_names_of_their_owners(tool, folder):
    m = bodies()
    a = file_of(folder, "a.onnx", m)
    copied, truth = maps.renamed(m, random.Random(3))
    report = report_of(tool, a, file_of(folder, "b.onnx", copied))
    names = [n["name"] for n in report["a"]["nodes"]]
    inner = {"h", "l", "m", "w", "m/then_branch/j", "m/then_branch/r", "m/else_branch/r"}
    wanted = {"c", "y", "d", "last", "first", "s"} | {f"y/body/{n}" for n in inner}
    expect(set(names) == wanted | {f"last/body/{n}" for n in "fwe"}, names)
    expect(report["a"]["operators"] == 6, report["a"]["operators"])
    expect(pairs_of(report) == truth, pairs_of(report), truth)
    # Bodies come after their owner, and values have the same words before them.
    expect(names.index("y/body/m") < names.index("y/body/m/then_branch/j"), names)
    (p,) = [p for p in report["pairs"] if p["a"] == "y/body/m/then_branch/j"]
    expect(p["values"] == [[p["a"], p["b"], None]], p)
    depth = {n["name"]: n["depth"] for n in report["a"]["nodes"]}
    # The loop's body reads what c makes.
    expect([depth[n] for n in ("c", "first", "y", "s", "y/body/h", "y/body/w")] == [0, 0, 1, 2, 0, 2], depth)


def test_bodies_of_owners_without_counterpart_are_not_listed(tool, folder):
    m = bodies()
    a = file_of(folder, "a.onnx", m)
    (scan,) = [n for n in m.graph.node if n.op_type == "Scan"]
    scan.CopyFrom(helper.make_node("Mul", ["first", "d"], ["t"]))
    del m.graph.value_info[:]
    report = report_of(tool, a, file_of(folder, "b.onnx", m))
    expect(not any(n["name"].startswith("last/") for n in report["a"]["nodes"]), report["a"]["nodes"])
    expect("last" not in pairs_of(report), report["pairs"])


def test_functions_of_the_model(tool, folder):
    m = parser.parse_model(FUNCTIONS)
    a = file_of(folder, "a.onnx", m)
    f = m.functions[0]
    f.name = "Swish"
    for n in m.graph.node:
        n.op_type = n.op_type.replace("Act", "Swish")
    f.node[0].output[0] = f.node[1].input[1] = "other"
    report = report_of(tool, a, file_of(folder, "b.onnx", m), "--no-names")
    names = [n["name"] for n in report["a"]["nodes"]]
    expect(len(names) == 5 and {"a", "b", "y"} < set(names), names)
    expect(pairs_of(report_of(tool, a, a)) == {n: n for n in names}, names)
    inner = sorted(set(names) - {"a", "b", "y"})
    expect(inner in (["a/Act/s", "a/Act/v"], ["y/Act/s", "y/Act/v"]), inner)


def test_a_function_with_two_counterparts(tool, folder):
    """One function of A is called twice; B has two functions for the calls."""
    two = FUNCTIONS.replace("y = my.Act", "y = my.Other") + FUNCTIONS[FUNCTIONS.rindex("<") :].replace(
        "Act (u)", "Other (u)"
    ).replace("Sigmoid", "HardSigmoid")
    a = file_of(folder, "a.onnx", parser.parse_model(FUNCTIONS))
    b = file_of(folder, "b.onnx", parser.parse_model(two))
    for x, y in ((a, b), (b, a), (b, b)):
        report_of(tool, x, y)
        report_of(tool, x, y, "--no-names")


def test_equal_constants_everywhere(tool, folder):
    """Weights that are all the same say nothing; the graph still does."""
    m = model_of(BLOCKS)
    for w in m.graph.initializer:
        w.CopyFrom(numpy_helper.from_array(np.ones(w.dims, np.float32), w.name))
    mapped_by_truth(tool, folder, m)
    mapped_by_truth(tool, folder, m, "--no-names")


def test_only_weights_tell_branches_apart(tool, folder):
    m = model_of(TWINS)
    expect(least_confidence(mapped_by_truth(tool, folder, m, "--no-names")) >= 0.9, "not sure")
    a = file_of(folder, "a.onnx", m)
    copied, _ = maps.renamed(m, random.Random(1))
    other = onnx.ModelProto()
    other.CopyFrom(copied)
    for w in other.graph.initializer:
        w.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(w) * 1.25 + 0.5, w.name))
    # Without weights, and with those of another checkpoint, the order of operands is all that is left.
    for b, words in ((copied, ["--no-weights"]), (other, []), (other, ["--no-weights"])):
        report = report_of(tool, a, file_of(folder, "b.onnx", b), *words)
        found = {p["a"]: p for p in report["pairs"]}
        expect(found.keys() == {"p", "q", "y"} and found["y"]["confidence"] >= 0.9, report["pairs"])
        expect(all(found[n]["confidence"] <= 0.6 and found[n]["why"] == "ambiguous" for n in "pq"), found)
    done = tool("map", a, folder / "b.onnx", "--no-weights")
    expect(b"not sure (2)" in done.stdout, done.stdout)


def test_names_are_evidence_but_for_no_names(tool, folder):
    """Twins without weights that tell: their names do, and constants that contradict names win."""
    text = "g (float[2,4] x) => (float[2,4] y) { p = Relu (x)  q = Relu (x)  y = Add (a, b) }"
    named = model_of(
        text.replace("p = Relu (x)  q = Relu (x)", "a = Softmax (x)  b = Softmax <axis = 0> (x)")
    )
    report = report_of(tool, *[file_of(folder, n, named) for n in ("a.onnx", "b.onnx")])
    expect(pairs_of(report) == {n: n for n in "aby"}, report["pairs"])
    m = model_of(TWINS)
    for w in m.graph.initializer:
        w.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(w) * 1.25 + 0.5, w.name))
    add = m.graph.node[2]
    add.input[:] = ["q", "p"]
    a, b = file_of(folder, "a.onnx", TWINS), file_of(folder, "b.onnx", m)
    report = report_of(tool, a, b)
    expect(pairs_of(report) == {n: n for n in "pqy"}, report["pairs"])
    report = report_of(tool, a, b, "--no-names")
    expect(all(p["confidence"] <= 0.6 for p in report["pairs"] if p["a"] in "pq"), report["pairs"])
    # The names p and q change places, and the weights do not.
    m = model_of(TWINS)
    m.graph.node[0].output[0], m.graph.node[1].output[0] = "q", "p"
    m.graph.node[2].input[:] = ["q", "p"]
    report = report_of(tool, a, file_of(folder, "b.onnx", m))
    expect(pairs_of(report) == {"p": "q", "q": "p", "y": "y"}, report["pairs"])


def test_pairs_that_the_user_gives(tool, folder):
    alike = "g (float[2] x) => (float[2] y) { p = Relu (x)  q = Relu (x)  y = Concat <axis = 0> (p, q) }"
    a = file_of(folder, "a.onnx", alike)
    for pair in ("p=q", "q=p", "p=p"):
        report = report_of(tool, a, a, "--pair", pair, "--no-names")
        (given,) = [p for p in report["pairs"] if p["why"] == "given"]
        expect([given["a"], given["b"]] == pair.split("="), given)
        expect(given["confidence"] == 1, given)
        expect(len(report["pairs"]) == 3, report["pairs"])
    report = report_of(tool, a, a, "--pair", "p=q", "--pair", "q=p")
    expect(report["summary"]["why"]["given"] == 2, report["summary"])
    for words, parts in (
        (["--pair", "p=none"], ["'p=none'"]),
        (["--pair", "none=p"], ["'none=p'"]),
        (["--pair", "x=x"], ["'x=x'"]),
        (["--pair", "p=p", "--pair", "p=q"], ["'p=q'", "another --pair"]),
        (["--pair", "p=q", "--pair", "q=q"], ["'q=q'", "another --pair"]),
        (["--pair", "p=q", "--pair", "p=q"], ["another --pair"]),
    ):
        refused(tool("map", a, a, *words), USAGE, "--pair", *parts)


def test_a_pair_that_constants_contradict(tool, folder):
    a = file_of(folder, "a.onnx", TWINS)
    refused(tool("map", a, a, "--pair", "p=q"), USAGE, "'p=q'", "the same constant", "--no-weights")
    expect(pairs_of(report_of(tool, a, a, "--pair", "p=p"))["q"] == "q", "q has another")
    report = report_of(tool, a, a, "--pair", "p=q", "--no-weights", "--no-names")
    expect(pairs_of(report) == {"p": "q", "q": "p", "y": "y"}, report["pairs"])
    # Nothing was written for a pair that is refused.
    done = tool("map", a, a, "--pair", "p=q", "--report", folder / "r.json")
    expect(done.returncode == USAGE and not (folder / "r.json").exists(), done)


def test_pairs_of_bodies(tool, folder):
    text = """g (bool c, float[2] x) => (float[2] y) {
      y = If (c) <then_branch = t () => (float[2] r) { p = Sin (x)  q = Sin (x)  r = Sub (p, q) },
                  else_branch = e () => (float[2] r) { r = Cos (x) }> }"""
    a = file_of(folder, "a.onnx", text)
    report = report_of(tool, a, a, "--pair", "y/then_branch/p=y/then_branch/q", "--no-names")
    found = {p["a"]: p for p in report["pairs"]}
    given = found["y/then_branch/p"]
    expect(given["b"] == "y/then_branch/q" and given["confidence"] == 1, given)
    expect(found["y/then_branch/q"]["b"] == "y/then_branch/p", found)
    for pair in ("p=q", "y/then_branch/p=y/else_branch/r", "y/then_branch/p=y", "y/then_branch/=y"):
        refused(tool("map", a, a, "--pair", pair), USAGE, f"'{pair}'")


def test_names_with_signs(tool, folder):
    """'=' and '/' in names: --pair takes the first place at which both sides are operators."""
    m = model_of(
        "g (float[2] x) => (float[2] y) { p = Relu (x)  q = Relu (x)  y = Concat <axis = 0> (p, q) }"
    )
    for old, new in (("p", "a=b/c"), ("q", "b/c=")):
        for n in m.graph.node:
            n.input[:] = [new if i == old else i for i in n.input]
            n.output[:] = [new if o == old else o for o in n.output]
    a = file_of(folder, "a.onnx", m)
    for x, y in (("a=b/c", "b/c="), ("b/c=", "a=b/c"), ("a=b/c", "a=b/c")):
        report = report_of(tool, a, a, "--pair", f"{x}={y}", "--no-names")
        (given,) = [p for p in report["pairs"] if p["why"] == "given"]
        expect((given["a"], given["b"]) == (x, y), given)


def test_no_weights_maps_another_checkpoint(tool, folder):
    m = model_of(BLOCKS)
    a = file_of(folder, "a.onnx", m)
    copied, truth = maps.renamed(m, random.Random(5))
    for i, w in enumerate(copied.graph.initializer):
        w.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(w) * (1 + i) + 0.125, w.name))
    b = file_of(folder, "b.onnx", copied)
    for words in ([], ["--no-weights"]):
        report = report_of(tool, a, b, *words)
        expect(pairs_of(report) == truth, words, report["pairs"])
    # Contents count for nothing: a constant that both have is no reason.
    same = report_of(tool, a, a, "--no-weights", "--no-names")
    expect("equal constants" not in same["summary"]["why"], same["summary"])


def test_advice_has_top_k_proposals(tool, folder):
    """Operators of A that nothing in B stands for, where B has some of their kind alone, too."""
    a, b = vector(10)
    for k in (0, 1, 2, 5):
        for pair in ((a, b), (b, a)):
            report = report_of(tool, *pair, "--top-k", k, top_k=k)
            expect(k > 0 or report["advice"] == [], report["advice"])
    counts = collections.Counter()
    for k in (0, 1, 3, 1000):
        for number in range(1, 12):
            words = ["--method", "literal", "--top-k", k]
            report = report_of(tool, *vector(number), *words, status=EITHER, top_k=k)
            counts[k] += sum(len(entry["top"]) for entry in report["advice"])
    expect(counts[0] == 0 < counts[1] < counts[3] <= counts[1000], counts)


def test_the_literal_method(tool, folder):
    a, b = vector(3)
    report = report_of(tool, a, b, "--method", "literal", "--rounds", "1")
    expect(report["method"] == "literal" and report["groups"] == [], report)
    expect(set(report["summary"]["why"]) == {"position in homogeneous partition"}, report["summary"])
    large, most = saved(folder, long_model(3001), "large.onnx"), saved(folder, long_model(3000), "most.onnx")
    refused(tool("map", large, a, "--method", "literal"), USAGE, "3000 operators", "MiB", "--method sparse")
    refused(tool("map", a, large, "--method", "literal"), USAGE, "3000 operators")
    expect(tool("map", large, large, "-q").returncode == 0, "sparse takes it")
    done = tool("map", most, a, "--method", "literal", "-q")
    expect(done.returncode == CHECK, done.returncode, done.stderr)


def test_tables_of_the_terminal_can_be_shortened(tool, folder):
    """Lists are 20 lines without --verbose, and names do not move the cursor."""
    nodes = " ".join(f"a{i + 1} = {'Sin' if i % 2 else 'Cos'} (a{i})" for i in range(60))
    extra = " ".join(f"b{i + 1} = {'Exp' if i % 2 else 'Erf'} ({f'b{i}' if i else 'x'})" for i in range(30))
    text = "g (float[2] x) => (float[2] y, float[2] b30) { a0 = Neg (x) " + nodes + " %s y = Abs (a60) }"
    a = file_of(folder, "a.onnx", (text % "").replace(", float[2] b30", ""))
    m = model_of(text % extra)
    for n in m.graph.node:
        for field in (n.input, n.output):
            field[:] = ["\x1b[2J" if name == "b7" else name for name in field]
    b = file_of(folder, "b.onnx", m)
    short, long = (tool("map", a, b, *words).stdout.decode() for words in ([], ["--verbose"]))
    expect("only in B (30)" in short and "and 10 more (--verbose shows all)" in short, short)
    expect("  b30\n" in long and "more" not in long, long)
    expect("\x1b" not in short + long, "a name reached the terminal")


def test_model_files_are_not_changed(tool, folder):
    a = file_of(folder, "a.onnx", BLOCKS)
    before = a.read_bytes(), sorted(folder.iterdir())
    report_of(tool, a, a)
    expect((a.read_bytes(), sorted(folder.iterdir())) == before, "something was written")


def test_opsets_and_versions_may_differ(tool, folder):
    text = "g (float[2,4] x) => (float[2,4] y) { a = Relu (x)  b = Softmax <axis = 1> (a)  y = Tanh (b) }"
    a = saved(folder, model_of(text, HEAD), "a.onnx")
    for version in (9, 13, 17, 21, 25):
        b = saved(folder, model_of(text, HEAD.replace("18", str(version))), "b.onnx")
        expect(pairs_of(report_of(tool, a, b)) == {n: n for n in "aby"}, version)


if __name__ == "__main__":
    sys.exit(main(globals()))
