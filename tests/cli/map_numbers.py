"""graphopt map --numeric and --bisect: values that correspond are compared, and the operator that makes them
differ is named alone."""

import random
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

from _maps import EITHER, HEAD, file_of, maps, model_of, pairs_of, report_of
from _tool import CHECK, NOT_CHECKED, USAGE, dims, expect, main, refused
from check_runs import library

NOWHERE = {"GRAPHOPT_ORT": "/nonexistent"}

# Two blocks that end in one score; the weights are drawn.
NET = """g (float[N,8] x) => (float[N,4] y, float[N,8] z)
  <float[8,8] v, float[8,8] w, float[8] k, float[8] s, float[8,4] u> {
  a = MatMul (x, v)  b = Add (a, k)  c = LeakyRelu <alpha = 0.1> (b)
  d = MatMul (c, w)  e = Sigmoid (d)  f = Mul (d, e)  h = Sub (f, c)
  n = LayerNormalization <axis = -1, epsilon = 0.001> (h, s)
  z = Tanh (n)  o = MatMul (n, u)  y = Softmax <axis = -1> (o)
}"""
PIXELS = """g (float[1,3,8,6] x) => (float[1,5,8,6] y) <float[4,3,3,3] v, float[5,4,1,1] w> {
  a = Conv <pads = [1,1,1,1]> (x, v)  b = Relu (a)  c = Conv (b, w)  y = Sigmoid (c) }"""
PIXELS_LAST = """g (float[1,8,6,3] x) => (float[1,8,6,5] y) <float[4,3,3,3] v, float[5,4,1,1] w> {
  t = Transpose <perm = [0,3,1,2]> (x)  a = Conv <pads = [1,1,1,1]> (t, v)
  l = Transpose <perm = [0,2,3,1]> (a)
  b = Relu (l)  f = Transpose <perm = [0,3,1,2]> (b)  c = Conv (f, w)  m = Transpose <perm = [0,2,3,1]> (c)
  y = Sigmoid (m) }"""


def weighted(text, seed=0):
    """The model of a text, whose weights have dims alone there."""
    m = model_of(text)
    g = np.random.default_rng(seed)
    for v in m.graph.value_info:
        shape = dims(v)
        values = g.standard_normal(shape) / np.sqrt(shape[0])
        m.graph.initializer.append(numpy_helper.from_array(values.astype(np.float32), v.name))
    del m.graph.value_info[:]
    onnx.checker.check_model(m)
    return m


def copied(m, seed=1):
    return maps.renamed(m, random.Random(seed))


def numeric_of(tool, a, b, *words, status=0, **how):
    report = report_of(tool, a, b, "--ort", library(), *words, status=status, **how)
    expect(report["numeric"]["runtime"].startswith("ONNX Runtime "), report["numeric"])
    return report


def change(m, name, edit):
    """Calls edit with the node that makes `name`, of a copy; returns that."""
    out = onnx.ModelProto()
    out.CopyFrom(m)
    edit(next(n for n in out.graph.node if name in n.output))
    return out


def set_attribute(name, value):
    def edit(node):
        next(a for a in node.attribute if a.name == name).CopyFrom(helper.make_attribute(name, value))

    return edit


def swap(node):
    node.input[:] = reversed(node.input)


def with_weight(m, name, edit):
    out = onnx.ModelProto()
    out.CopyFrom(m)
    w = next(w for w in out.graph.initializer if w.name == name)
    values = numpy_helper.to_array(w)
    w.CopyFrom(numpy_helper.from_array(edit(values).astype(values.dtype), name))
    return out


def set_type(name):
    def edit(node):
        node.op_type = name
        del node.attribute[:]

    return edit


# What is wrong with B, and the operator of A whose counterpart it is.
FAULTS = {
    "a weight of the first product": (lambda m: with_weight(m, "v", lambda w: w * 1.25), "a"),
    "a weight of the second product": (lambda m: with_weight(m, "w", lambda w: w + 0.5), "d"),
    "one element of a weight": (lambda m: with_weight(m, "u", lambda w: w + 3 * (w == w.max())), "o"),
    "a bias": (lambda m: with_weight(m, "k", lambda w: w - 1), "b"),
    "a slope": (lambda m: change(m, "c", set_attribute("alpha", 0.5)), "c"),
    "an axis": (lambda m: change(m, "y", set_attribute("axis", 0)), "y"),
    "an epsilon": (lambda m: change(m, "n", set_attribute("epsilon", 0.5)), "n"),
    "the order of operands": (lambda m: change(m, "h", swap), "h"),
    "another operator": (lambda m: change(m, "e", set_type("HardSigmoid")), "e"),
}


def test_no_difference_where_there_is_none(tool, folder):
    for text in (NET, PIXELS):
        m = weighted(text)
        a, b = file_of(folder, "a.onnx", m), file_of(folder, "b.onnx", copied(m)[0])
        for words in (["--numeric"], ["--bisect"], ["--numeric", "--seeds", "3"], ["--numeric", "--bisect"]):
            report = numeric_of(tool, a, b, *words)
            numbers = report["numeric"]
            expect(numbers["diverging"] == 0 and numbers["first"] == [], numbers)
            # Bisection of models that agree compares the outputs alone.
            count = len(m.graph.output) if words == ["--bisect"] else len(m.graph.node)
            expect(numbers["compared"] == count, words, numbers)
        done = tool("map", a, b, "--numeric", "--ort", library())
        expect(f"{count} pairs of values compared, 0 differ" in done.stdout.decode(), done.stdout)


def test_faults_are_named_alone(tool, folder):
    m = weighted(NET)
    a = file_of(folder, "a.onnx", m)
    for what, (make, name) in FAULTS.items():
        b, truth = copied(make(m))
        path = file_of(folder, "b.onnx", b)
        for words in (["--bisect"], ["--numeric"]):
            report = numeric_of(tool, a, path, *words, status=CHECK)
            first = report["numeric"]["first"]
            expect([f["a"] for f in first] == [name], what, words, [f["a"] for f in first])
            expect(first[0]["b"] == truth[name], what, first)
            expect(first[0]["region"] == {"a": [name], "b": [truth[name]]}, what, first[0]["region"])
            expect(first[0]["max_rel"] > 0.001 and first[0]["max_abs"] > 0, what, first)
            expect(report["numeric"]["diverging"] >= 1, what, report["numeric"])
        done = tool("map", a, path, "--bisect", "--ort", library())
        expect(done.returncode == CHECK and "first to differ" in done.stdout.decode(), what, done.stdout)
        expect(f"\n  {name} -> {truth[name]}: by " in done.stdout.decode(), what, done.stdout)


def test_attributes_that_differ_stand_side_by_side(tool, folder):
    m = weighted(NET)
    a = file_of(folder, "a.onnx", m)
    for name, attribute, value, texts in (
        ("y", "axis", 0, ["-1", "0"]),
        ("c", "alpha", 0.5, ["0.1", "0.5"]),
    ):
        b = file_of(folder, "b.onnx", change(m, name, set_attribute(attribute, value)))
        (first,) = numeric_of(tool, a, b, "--bisect", status=CHECK)["numeric"]["first"]
        expect(first["attributes"] == {attribute: texts}, first)

    def drop(node):
        del node.attribute[:]

    b = file_of(folder, "b.onnx", change(m, "c", drop))
    (first,) = numeric_of(tool, a, b, "--bisect", status=CHECK)["numeric"]["first"]
    expect(first["attributes"] == {"alpha": ["0.1", None]}, first)
    expect(b"alpha: 0.1 -> none" in tool("map", a, b, "--bisect", "--ort", library()).stdout, "not told")


def test_two_faults_are_two_names(tool, folder):
    """Where neither is downstream of the other."""
    text = """g (float[2,8] x) => (float[2,8] y, float[2,8] z) <float[8,8] v, float[8,8] w> {
      a = MatMul (x, v)  b = Tanh (a)  y = Relu (b)  c = MatMul (x, w)  d = Sigmoid (c)  z = Sin (d) }"""
    m = weighted(text)
    b, _ = copied(with_weight(with_weight(m, "v", lambda w: w * 2), "w", lambda w: w * 2))
    report = numeric_of(
        tool, file_of(folder, "a.onnx", m), file_of(folder, "b.onnx", b), "--numeric", status=CHECK
    )
    expect([f["a"] for f in report["numeric"]["first"]] == ["a", "c"], report["numeric"])
    expect(report["numeric"]["diverging"] == 6, report["numeric"])


def test_a_fault_inside_a_group(tool, folder):
    """A normalization in primitives: the region has the operators between what agrees and what differs."""
    a = weighted(
        "g (float[2,8] x) => (float[2,8] y) <float[8] s> { a = Sin (x)  l = LayerNormalization (a, s)"
        "  b = Tanh (l)  y = Cos (b) }"
    )
    b = weighted("""g (float[2,8] x) => (float[2,8] y) <float[8] s, int64[1] i = {-1}, float e = {0.5}> {
      a = Sin (x)  m = ReduceMean (a, i)  d = Sub (a, m)  q = Mul (d, d)  v = ReduceMean (q, i)
      w = Add (v, e)  r = Sqrt (w)  n = Div (d, r)  l = Mul (n, s)  b = Tanh (l)  y = Cos (b) }""")
    next(w for w in b.graph.initializer if w.name == "s").CopyFrom(a.graph.initializer[0])
    right = with_weight(b, "e", lambda w: np.array(1e-5))
    paths = [file_of(folder, f"{i}.onnx", m) for i, m in enumerate((a, b, right))]
    for words in (["--no-names"], []):
        report = numeric_of(tool, paths[0], paths[1], "--bisect", *words, status=CHECK)
        (first,) = report["numeric"]["first"]
        expect(
            first["region"] == {"a": ["l"], "b": ["m", "d", "q", "v", "w", "r", "n", "l"]}, first["region"]
        )
        expect(numeric_of(tool, paths[0], paths[2], "--numeric", *words)["numeric"]["diverging"] == 0)


def to_half(m):
    out = onnx.ModelProto()
    out.CopyFrom(m)
    for w in out.graph.initializer:
        w.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(w).astype(np.float16), w.name))
    for v in [*out.graph.input, *out.graph.output]:
        v.type.tensor_type.elem_type = TensorProto.FLOAT16
    return out


def test_float16_agrees_up_to_its_rounding(tool, folder):
    for text in (NET, PIXELS):
        m = weighted(text)
        a, b = file_of(folder, "a.onnx", m), file_of(folder, "b.onnx", copied(to_half(m))[0])
        for x, y in ((a, b), (b, a)):
            numbers = numeric_of(tool, x, y, "--numeric")["numeric"]
            expect(numbers["diverging"] == 0 and numbers["compared"] == len(m.graph.node), numbers)
            numbers = numeric_of(tool, x, y, "--numeric", "--tolerance", "1e-7", status=CHECK)["numeric"]
            expect(numbers["diverging"] > 0, numbers)
    # A fault is above the rounding.
    m = weighted(NET)
    b, truth = copied(to_half(FAULTS["a weight of the second product"][0](m)))
    report = numeric_of(
        tool, file_of(folder, "a.onnx", m), file_of(folder, "b.onnx", b), "--bisect", status=CHECK
    )
    expect([f["b"] for f in report["numeric"]["first"]] == [truth["d"]], report["numeric"])


def last(m):
    out = weighted(PIXELS_LAST)
    for w in out.graph.initializer:
        w.CopyFrom(next(v for v in m.graph.initializer if v.name == w.name))
    return out


def test_channels_last_agree_through_layouts(tool, folder):
    m = weighted(PIXELS)
    b, truth = copied(last(m))
    pair = [file_of(folder, "a.onnx", m), file_of(folder, "b.onnx", b)]
    for x, y, layout in ((*pair, [0, 2, 3, 1]), (*reversed(pair), [0, 3, 1, 2])):
        report = numeric_of(tool, x, y, "--numeric")
        expect(report["numeric"]["diverging"] == 0 and report["numeric"]["compared"] >= 4, report["numeric"])
        layouts = [v[2] for p in report["pairs"] for v in p["values"]]
        expect(layouts.count(layout) == 2 and layouts.count(None) == 2, report["pairs"])
    wrong = with_weight(b, next(w.name for w in b.graph.initializer if w.dims[0] == 5), lambda w: w * 1.5)
    report = numeric_of(tool, pair[0], file_of(folder, "b.onnx", wrong), "--bisect", status=CHECK)
    (first,) = report["numeric"]["first"]
    # What corresponds is behind the permutation.
    expect(first["a"] == "c" and first["region"]["a"] == ["c"], first)
    expect(truth["c"] in first["region"]["b"] and len(first["region"]["b"]) <= 3, first)


def test_values_that_the_user_gives(tool, folder):
    """Slopes differ for negative numbers alone: which inputs are given decides."""
    m = model_of("g (float[N,3] x) => (float[N,3] y) { a = LeakyRelu <alpha = 0.1> (x)  y = Tanh (a) }")
    other, _ = copied(change(m, "a", set_attribute("alpha", 0.5)))
    other.graph.input[0].name = "ids"
    for n in other.graph.node:
        n.input[:] = ["ids" if i == "x" else i for i in n.input]
    a, b = file_of(folder, "a.onnx", m), file_of(folder, "b.onnx", other)
    np.save(folder / "right.npy", np.full((4, 3), 0.5, np.float32))
    np.save(folder / "wrong.npy", np.full((4, 3), -0.5, np.float32))
    numeric_of(tool, a, b, "--numeric", status=CHECK)
    for name in ("x", "ids"):
        numbers = numeric_of(tool, a, b, "--numeric", "--input", f"{name}={folder / 'right.npy'}")["numeric"]
        expect(numbers["compared"] == 2 and numbers["diverging"] == 0, numbers)
        report = numeric_of(tool, a, b, "--bisect", "--input", f"{name}={folder / 'wrong.npy'}", status=CHECK)
        (first,) = report["numeric"]["first"]
        expect(abs(first["max_abs"] - 0.2) < 1e-6 and abs(first["max_rel"] - 4) < 1e-6, first)


def test_inputs_in_another_layout(tool, folder):
    """What is given for an input of either graph has its layout."""
    m = weighted(PIXELS)
    a, b = file_of(folder, "a.onnx", m), last(m)
    b.graph.input[0].name = "image"
    b.graph.node[0].input[0] = "image"
    b = file_of(folder, "b.onnx", b)
    x = np.random.default_rng(3).standard_normal((1, 3, 8, 6)).astype(np.float32)
    np.save(folder / "first.npy", x)
    np.save(folder / "last.npy", x.transpose(0, 2, 3, 1))
    for given in (f"x={folder / 'first.npy'}", f"image={folder / 'last.npy'}"):
        expect(numeric_of(tool, a, b, "--numeric", "--input", given)["numeric"]["diverging"] == 0, given)
    for name, file in (("x", "last.npy"), ("image", "first.npy")):
        words = ["--numeric", "--ort", library(), "--input", f"{name}={folder / file}"]
        refused(tool("map", a, b, *words), USAGE, "--input", f"'{name}'")


def test_inputs_that_fit_neither_graph(tool, folder):
    m = weighted(NET)
    a = file_of(folder, "a.onnx", m)
    np.save(folder / "x.npy", np.zeros((2, 8), np.float32))
    np.save(folder / "wide.npy", np.zeros((2, 9), np.float32))
    np.save(folder / "whole.npy", np.zeros((2, 8), np.int64))
    for given, part in (("other=x.npy", "'other'"), ("x=wide.npy", "'x'"), ("x=whole.npy", "'x'")):
        name, file = given.split("=")
        words = ["--numeric", "--ort", library(), "--input", f"{name}={folder / file}"]
        done = tool("map", a, a, *words)
        refused(done, USAGE, "--input", part)
        expect("--check-input" not in done.stderr, done.stderr)
    done = tool("map", a, a, "--numeric", "--ort", library(), "--input", f"x={folder / 'none.npy'}")
    expect(done.returncode in (USAGE, 2) and "none.npy" in done.stderr, done)
    expect("--check-input" not in done.stderr, done.stderr)


def test_without_a_runtime(tool, folder):
    a = file_of(folder, "a.onnx", weighted(NET))
    for word in ("--numeric", "--bisect"):
        refused(tool("map", a, a, word, env=NOWHERE), NOT_CHECKED, "ONNX Runtime")
        refused(
            tool("map", a, a, word, "--ort", "/nonexistent"), NOT_CHECKED, "ONNX Runtime cannot be opened"
        )
    expect(tool("map", a, a, env=NOWHERE).returncode == 0, "the map needs none")
    done = tool("map", a, a, "--numeric", "--report", folder / "r.json", env=NOWHERE)
    expect(done.returncode == NOT_CHECKED and not (folder / "r.json").exists(), done)


def test_what_the_runtime_does_not_run(tool, folder):
    text = "g (float[2] x) => (float[2] y) { a = Sin (x)  b = custom.Mystery (a)  y = Cos (b) }"
    m = parser.parse_model('<ir_version: 10, opset_import: ["" : 18, "custom" : 1]>\n' + text)
    a = file_of(folder, "a.onnx", m)
    for word in ("--numeric", "--bisect"):
        refused(tool("map", a, a, word, "--ort", library()), NOT_CHECKED, "a.onnx", "Mystery")
    expect(pairs_of(report_of(tool, a, a)) == {n: n for n in "aby"}, "it is mapped")


def test_inputs_that_do_not_correspond(tool, folder):
    text = "g (float[2,4] x) => (float[2,4] y) { a = Sin (x)  b = Cos (a)  y = Tanh (b) }"
    a = file_of(folder, "a.onnx", text)
    more = """g (float[2,4] x, int64 k) => (float[2,4] y) {
      a = Sin (x)  b = Cos (a)  c = Tanh (b)  f = Cast <to = 1> (k)  y = Add (c, f) }"""
    b = file_of(folder, "b.onnx", more)
    refused(tool("map", a, b, "--numeric", "--ort", library()), NOT_CHECKED, "b.onnx", "'k'")
    # A may have one more.
    report_of(tool, b, a, "--numeric", "--ort", library(), status=EITHER)


def test_models_that_are_not_one_are_not_compared(tool, folder):
    a = file_of(folder, "a.onnx", weighted(NET))
    b = file_of(folder, "b.onnx", "g (int64[3] i) => (int64[1,3] o) { o = NonZero (i) }")
    report = report_of(tool, a, b, "--numeric", "--ort", library(), status=CHECK)
    expect(report["verdict"] == "not one model" and report["numeric"] is None, report["verdict"])


def test_random_operators_are_no_difference(tool, folder):
    m = model_of("""g (float[2,64] x) => (float[2,64] y, float[2,64] z) {
      a = Sin (x)  r = RandomNormalLike (a)  y = Add (a, r)  z = Tanh (a) }""")
    a = file_of(folder, "a.onnx", m)
    report = numeric_of(tool, a, file_of(folder, "b.onnx", copied(m)[0]), "--numeric")
    expect(report["numeric"]["diverging"] == 0 and report["numeric"]["compared"] == 2, report["numeric"])
    expect(len(report["pairs"]) == 4, report["pairs"])


def test_tolerance(tool, folder):
    m = weighted(NET)
    a = file_of(folder, "a.onnx", m)
    b = file_of(folder, "b.onnx", with_weight(m, "u", lambda w: w * 1.01))
    for tolerance, status in (("0.001", CHECK), ("0.05", 0), ("0", CHECK)):
        numeric_of(tool, a, b, "--numeric", "--tolerance", tolerance, status=status)
    numeric_of(tool, a, a, "--numeric", "--tolerance", "0")


def test_values_say_which_twin_is_which(tool, folder):
    """Without names and weights the order of operands is all; a run takes wrong pairs back."""
    m = weighted("""g (float[2,8] x) => (float[2,8] y) <float[8,8] v, float[8,8] w> {
      p = MatMul (x, v)  q = MatMul (x, w)  y = Add (p, q) }""")
    turned = change(m, "y", swap)
    a, b = file_of(folder, "a.onnx", m), file_of(folder, "b.onnx", turned)
    words = ["--no-names", "--no-weights"]
    expect(pairs_of(report_of(tool, a, b, *words)) == {"p": "q", "q": "p", "y": "y"}, "not the first operand")
    report = numeric_of(tool, a, b, *words, "--numeric")
    expect(pairs_of(report) == {n: n for n in "pqy"}, report["pairs"])
    expect(report["numeric"]["diverging"] == 0 and report["numeric"]["compared"] == 3, report["numeric"])


def test_infinities_are_told(tool, folder):
    text = """g (float[2,4] x) => (float[2,4] y) <float[4] k = {1,2,3,4}> {
      a = Sin (x)  b = Div (a, k)  y = Exp (b) }"""
    m = model_of(text)
    a = file_of(folder, "a.onnx", m)
    b = file_of(folder, "b.onnx", with_weight(m, "k", lambda w: w * 0))
    report = numeric_of(tool, a, b, "--bisect", status=CHECK)
    (first,) = report["numeric"]["first"]
    expect(first["a"] == "b" and "infinities" in first["problem"], first)
    done = tool("map", a, b, "--bisect", "--ort", library())
    expect(b"NaN or infinities" in done.stdout, done.stdout)


def test_operators_of_bodies_are_blamed_by_their_owner(tool, folder):
    text = """g (bool c, float[2] x) => (float[2] y) { a = Sin (x)
      b = If (c) <then_branch = t () => (float[2] r) { r = LeakyRelu <alpha = %s> (a) },
                  else_branch = e () => (float[2] s) { s = Elu <alpha = %s> (a) }>
      y = Tanh (b) }"""
    a = file_of(folder, "a.onnx", text % ("0.1", "0.1"))
    b = file_of(folder, "b.onnx", text % ("0.9", "0.9"))
    report = numeric_of(tool, a, b, "--bisect", "--seeds", "4", status=CHECK)
    expect([f["a"] for f in report["numeric"]["first"]] == ["b"], report["numeric"])
    numeric_of(tool, a, a, "--numeric", "--seeds", "4")


def test_the_same_bytes_over_twenty_runs(tool, folder):
    m = weighted(NET)
    a = file_of(folder, "a.onnx", m)
    b = file_of(folder, "b.onnx", copied(FAULTS["an epsilon"][0](m))[0])
    words = ["map", a, b, "--json", "--numeric", "--ort", library()]
    runs = {tool(*words).stdout for _ in range(20)}
    expect(len(runs) == 1, len(runs), "reports")
    expect(maps.path_problems(runs.pop(), folder) == [], "a path is in it")
    expect(str(library()).encode() not in tool(*words).stdout, "the library's path is in it")


def test_types_that_are_no_numbers(tool, folder):
    """Strings and sequences are left alone, and values without elements are equal."""
    m = parser.parse_model(
        HEAD.replace("18", "21")
        + """
      g (float[N,4] x) => (seq(float[N,4]) s, float[K,4] y, string[N,4] t) <int64[2] e = {0, 4}> {
        a = Sin (x)  s = SequenceConstruct (a, x)  t = Cast <to = 8> (a)
        z = ConstantOfShape (e)  y = Cos (z)
      }"""
    )
    a = file_of(folder, "a.onnx", m)
    report = numeric_of(tool, a, file_of(folder, "b.onnx", copied(m)[0]), "--numeric")
    expect(report["numeric"]["diverging"] == 0, report["numeric"])


if __name__ == "__main__":
    sys.exit(main(globals()))
