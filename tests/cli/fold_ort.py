"""--fold ort: what is the same in every run goes through ONNX Runtime, with the bits that a run gives."""

import json
import pathlib
import sys

import numpy as np
import onnx
import onnx.parser
import onnxruntime
from onnx import numpy_helper

from _tool import NOT_CHECKED, USAGE, expect, main, refused, saved

ALONE = ("--passes", "dead-code")  # other passes would take a loop or a call apart
HEAD = '<ir_version: 10, opset_import: ["" : 21]>\n'


def library():
    found = sorted((pathlib.Path(onnxruntime.__file__).parent / "capi").glob("libonnxruntime.so*"))
    expect(found, "no libonnxruntime in the tests' Python")
    return found[-1]


def parsed(text, **weights):
    """The model of a text, with these arrays in place of the initializers of their names."""
    m = onnx.parser.parse_model(HEAD + text)
    for tensor in m.graph.initializer:
        if tensor.name in weights:
            tensor.CopyFrom(numpy_helper.from_array(weights[tensor.name], tensor.name))
    return m


def results(path, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def bits(array):
    return array.tolist() if array.dtype == object else array.tobytes()


def fold(tool, folder, m, *words, feeds=None, same=True):
    """The operators of the result, its report, and what was printed; both models give the same bits."""
    path = m if isinstance(m, pathlib.Path) else saved(folder, m)
    out, report = folder / "out.onnx", folder / "report.json"
    done = tool(
        path,
        "-o",
        out,
        "--force",
        "--report",
        report,
        "--ort",
        library(),
        "--verify-each",
        "--fold",
        "ort",
        *words,
    )
    expect(done.returncode == 0, done.stderr)
    if same:
        before, after = (results(p, feeds or {}) for p in (path, out))
        for a, b in zip(before, after, strict=True):
            expect(a.dtype == b.dtype and a.shape == b.shape and bits(a) == bits(b), a, b)
    said = json.loads(report.read_text())
    return [n.op_type for n in onnx.load(out).graph.node], said, done.stderr


def x(*shape):
    return {"x": np.random.default_rng(1).standard_normal(shape).astype(np.float32)}


RESIZE = """g (float[N, 1, 4, 4] x) => (float[N, 1, 4, 4] y)
<float[1, 1, 2, 2] w = {0.1, 0.2, 0.3, 0.7}, float[4] scales = {1, 1, 2, 2}> {
  r = Resize <coordinate_transformation_mode = "half_pixel_symmetric", mode = "cubic"> (w, , scales)
  e = Mean (r, r)
  s = Sub (x, e)
  y = Relu (s)
}"""


def test_a_chain(tool, folder):
    operators, said, _ = fold(tool, folder, parsed(RESIZE), feeds=x(2, 1, 4, 4))
    expect(operators == ["Sub", "Relu"], operators)
    runtime = "ONNX Runtime " + onnxruntime.__version__
    expect(said["fold"] == {"runtime": runtime, "nodes": 2, "constants": 1, "refused": ""}, said["fold"])
    expect(not said["warnings"] and said["stopped"] == "fixed point", said["warnings"])
    figures = [p for p in said["passes"] if p["name"] == "runtime-folding"]
    names = [p["name"] for p in said["passes"]]
    expect(names.index("runtime-folding") < names.index("aggregate-elementwise"), "after a search", names)
    expect([p["rewrites"] for p in figures] == [1] and figures[0]["counters"] == {"folded": 2}, figures)
    # once more, there is nothing left; and the passes go on with what came of it
    operators, said, _ = fold(tool, folder, folder / "out.onnx", feeds=x(2, 1, 4, 4))
    expect(said["fold"]["nodes"] == 0 and said["rewrites"] == 0, said["fold"])


def test_nothing_without_the_option(tool, folder):
    for words in ([], ["--fold", "native"]):
        done = tool(
            saved(folder, parsed(RESIZE)), "-o", folder / "o.onnx", "--report", "-", "--force", *words
        )
        expect(json.loads(done.stdout)["fold"] is None, done.stdout)
        operators = [n.op_type for n in onnx.load(folder / "o.onnx").graph.node]
        expect(operators[:2] == ["Resize", "Mean"], operators)


def test_the_passes_go_on(tool, folder):
    """A zero that only the runtime finds is a zero for the passes after it."""
    m = parsed("""g (float[N, 2] x) => (float[N, 2] y)
      <float[2, 2] a = {1, 2, 3, 4}, float[2, 1] b = {2, -1}, float c = {0}> {
        p = MatMul (a, b)  q = Mul (p, c)  k = Abs (q)  d = Det (a)  e = Add (d, d)
        f = CastLike (e, k)  g1 = Greater (f, c)
        y = If (g1) <then_branch = t () => (float[N, 2] u) { u = Neg (x) },
                     else_branch = f () => (float[N, 2] v) { v = Abs (x) }>
      }""")
    operators, _, _ = fold(tool, folder, m, feeds=x(3, 2))
    expect(operators == ["Abs"], operators)


def test_control_flow(tool, folder):
    """A Loop of constants goes whole; not one that captures x, and not one that draws."""
    loop = """g (float[2] x) => (float[2] y) <int64 n = {3}, bool c = {1}, float[2] w = {1, 3}> {
      q = Mish (w)
      r = Loop (n, c, q) <body = b (int64 i, bool k, float[2] a) => (bool k2, float[2] a2) {
        k2 = Identity (k)  t = %s  a2 = Add (a, t)
      }>
      y = Add (x, r)
    }"""
    for inner, operators in [
        ("Mean (q, q)", ["Add"]),
        ("Mean (x, x)", ["Loop", "Add"]),
        ("RandomUniformLike (q)", ["Loop", "Add"]),
    ]:
        m, same = parsed(loop % inner), "Random" not in inner
        got, said, _ = fold(tool, folder, m, *ALONE, feeds=x(2), same=same)
        expect(got == operators, inner, got)
        # what only a body in the constant part reads is none of its results
        expect(said["fold"]["constants"] == 1, said["fold"])


def test_a_capture_that_a_body_returns(tool, folder):
    """ONNX Runtime refuses it, and nothing is tried: it is no constant."""
    m = parsed("""g (float[2] x) => (float[2] y) <int64 n = {3}, bool c = {1}, float[2] w = {1, 3}> {
      r = Loop (n, c, w) <body = b (int64 i, bool k, float[2] a) => (bool k, float[2] x) { }>
      y = Add (x, r)
    }""")
    operators, said, _ = fold(tool, folder, m, *ALONE, same=False)
    expect(operators == ["Loop", "Add"] and said["fold"]["refused"] == "", said["fold"])


def test_a_capture(tool, folder):
    """A value that only a body reads is read by the main graph's node; a result of both kinds, too."""
    m = parsed("""g (bool c, float[2] x) => (float[2] y) <float[2, 2] w = {1, 2, 3, 4}> {
      d = Det (w)  e = Mean (d, d)
      y = If (c) <then_branch = t () => (float[2] u) { u = Mul (x, e) },
                  else_branch = f () => (float[2] v) { v = Sub (x, e) }>
    }""")
    feeds = {"c": np.array(True), **x(2)}
    fold(tool, folder, m, feeds=feeds)
    top = onnx.load(folder / "out.onnx").graph
    expect([n.op_type for n in top.node] == ["If"] and len(top.initializer) == 1, top)


def test_what_varies_stays(tool, folder):
    """Random draws, overridable initializers, quantization, and whatever follows from them."""
    tail = "  e = Mean (d, d)  y = Add (x, e)\n}"
    for weights, inner, kept in [
        ("<float[2] w = {1, 2}>", "d = RandomNormalLike <seed = 1.0> (w)", "RandomNormalLike"),
        (
            "<int8[2] w = {1, 2}, float s = {0.5}, int8 z = {3}>",
            "d = DequantizeLinear (w, s, z)",
            "DequantizeLinear",
        ),
    ]:
        text = "g (float[2] x) => (float[2] y) " + weights + " {\n  " + inner + tail
        operators, said, _ = fold(tool, folder, parsed(text), feeds=x(2), same="Random" not in kept)
        expect(operators == [kept, "Mean", "Add"], operators)
        expect(said["fold"]["constants"] == 0 and not said["warnings"], said["fold"])
    text = "g (float[2] x, float[2] w = {1, 2}) => (float[2] y) {\n  d = Sin (w)" + tail
    m = parsed(text)
    operators, said, _ = fold(tool, folder, m, feeds=x(2))
    expect(operators == ["Sin", "Mean", "Add"], operators)


def test_what_a_kernel_overwrites(tool, folder):
    """A BatchNormalization in training mode changes its mean for the next run, in a body too."""
    m = parsed("""g (float[2, 1] x) => (float[2, 1] y)
      <int64 n = {2}, bool c = {1}, float[2, 1] w = {1, 3}, float[1] one = {1}> {
        r = Loop (n, c, w) <body = b (int64 i, bool k, float[2, 1] a) => (bool k2, float[2, 1] a2)
          <float[1] mean = {0}, float[1] var = {1}> {
            k2 = Identity (k)
            a2, m2, v2 = BatchNormalization <training_mode = 1> (a, one, one, mean, var)
          }>
        y = Add (x, r)
      }""")
    operators, said, _ = fold(tool, folder, m, *ALONE, feeds=x(2, 1))
    expect(operators == ["Loop", "Add"] and said["fold"]["nodes"] == 0, operators)


def test_results_that_are_no_constants(tool, folder):
    """A sequence stays with the node that makes it, and what that node reads becomes a constant."""
    m = parsed("""g (float[2] x) => (float[3, 2] y) <float[2, 2] w = {1, 2, 3, 4}> {
      e = Mean (w, w)  parts = SplitToSequence <axis = 0, keepdims = 0> (e)
      more = SequenceInsert (parts, x)  y = ConcatFromSequence <axis = 0, new_axis = 1> (more)
    }""")
    operators, said, _ = fold(tool, folder, m, feeds=x(2))
    expect(operators == ["SplitToSequence", "SequenceInsert", "ConcatFromSequence"], operators)
    expect(said["fold"]["constants"] == 1, said["fold"])
    # before opset 9 there were no Constant nodes of integers, and before IR version 4 no other constants
    m = onnx.parser.parse_model("""<ir_version: 3, opset_import: ["" : 8]>
      g (float[1] x) => (float[1] y, int64[1] i) {
        w = Constant <value = float[3] {1, 3, 2}> ()  v, i = TopK <k = 1> (w)
        e = Mean (v, v)  y = Add (x, e)
      }""")
    operators, _, _ = fold(tool, folder, m, feeds=x(1))
    expect(sorted(operators) == ["Add", "Constant", "Constant", "TopK"], operators)


def test_a_bomb(tool, folder):
    """What has too many elements is not computed, nor is what follows from it."""
    m = parsed("""g (float[2] x) => (float[2] y) <float w = {1}, int64[2] shape = {1073741824, 1073741824}> {
      e = Expand (w, shape)  d = Mean (e, e)  f = ReduceMax <keepdims = 0> (d)  y = Add (x, f)
    }""")
    operators, said, _ = fold(tool, folder, m, same=False)
    expect(operators == ["Expand", "Mean", "ReduceMax", "Add"], operators)
    expect(said["fold"]["refused"] == "", said["fold"])


def test_results_that_the_runtime_shapes(tool, folder):
    """Several results of one node, strings, a shape that only the run shows, a sequence that stays inside."""
    m = parsed("""g (float[N] x) => (float[N] y, float[2] v, int64[2] i, string[2] s, float[K] z)
      <float[4] w = {3, 1, 4, 2}, int64[1] k = {2}, string[3] words = {"b", "a", "b"}, int64 one = {1}> {
        e = Mean (w, w)
        v, i = TopK (e, k)
        s, a1, a2, a3 = Unique (words)
        parts = SplitToSequence <axis = 0> (e, one)
        z0 = SequenceAt (parts, one)
        q = NonZero (e)
        q1 = Cast <to = 1> (q)
        z = Squeeze (q1)
        m = Mean (z0, z0)
        y = Add (x, m)
      }""")
    operators, said, _ = fold(tool, folder, m, feeds=x(1))
    expect(operators == ["Add"], operators)
    expect(said["fold"]["constants"] == 5, said["fold"])


def test_the_limit(tool, folder):
    """What one node adds: its results less the constants that go with it. A node before it may still go."""
    m = parsed(
        """g (float[N, 1, 8, 8] x) => (float[N, 1, 8, 8] y)
      <float[1, 1, 4, 4] w = {0}, float[4] scales = {1, 1, 2, 2}> {
        e = Mean (w, w)
        r = Resize <coordinate_transformation_mode = "half_pixel_symmetric"> (e, , scales)
        y = Add (x, r)
      }""",
        w=np.random.default_rng(2).standard_normal((1, 1, 4, 4)).astype(np.float32),
    )
    freed = 64 + 16
    for limit, left in [(256 - freed, ["Add"]), (255 - freed, ["Resize", "Add"]), (0, ["Resize", "Add"])]:
        operators, _, stderr = fold(tool, folder, m, "--fold-limit", limit, feeds=x(2, 1, 8, 8))
        expect(operators == left, limit, operators)
        expect("warning" not in stderr, stderr)


def test_the_limit_shows_in_the_run(tool, folder):
    """Where only the run tells how large a result is, that result stays as well."""
    m = parsed("""g (float[N] x) => (float[K] q, float[N] y) <float[4] w = {3, 1, 3, 2}> {
      e = Mean (w, w)  q = Unique (e)  s = ReduceSum <keepdims = 0> (e)  f = Mean (s, s)  y = Add (x, f)
    }""")
    operators, said, _ = fold(tool, folder, m, "--fold-limit", "11", feeds=x(3))
    # what it reads became one in a second session, after the first had shown the size
    expect(operators == ["Unique", "Add"] and said["fold"]["nodes"] == 3, operators, said["fold"])
    operators, said, _ = fold(tool, folder, m, "--fold-limit", "12", feeds=x(3))
    expect(operators == ["Add"], operators)


def test_the_limit_counts(tool, folder):
    """What two readers need goes with none of them, and texts have bytes, too."""
    m = parsed("""g (float[4] x) => (float[4] y, int64[4] i) <float[4] w = {3, 1, 4, 2}, int64[1] k = {4}> {
      v, i = TopK (w, k)  e = Mean (v, v)  y = Add (x, e)
    }""")
    for limit, left in [(15, ["TopK", "Mean", "Add"]), (16, ["Add"])]:
        operators, _, _ = fold(tool, folder, m, "--fold-limit", limit, feeds=x(4))
        expect(operators == left, limit, operators)
    m = parsed("""g (float[N] x) => (string[K] s, float[N] y) <string[3] words = {"bb", "a", "bb"}> {
      s = Unique (words)  y = Relu (x)
    }""")
    for limit, left in [(2, ["Relu", "Unique"]), (3, ["Relu"])]:
        operators, _, _ = fold(tool, folder, m, "--fold-limit", limit, feeds=x(4))
        expect(sorted(operators) == left, limit, operators)


def test_constant_nodes(tool, folder):
    """With a list of passes, Constant nodes may be left: they come along."""
    m = parsed("""g (float[N, 2] x) => (float[N, 2] y) {
      w = Constant <value = float[2, 2] {1, 2, 3, 4}> ()  d = Det (w)  y = Add (x, d)
    }""")
    operators, said, _ = fold(tool, folder, m, "--passes", "drop-identity", feeds=x(3, 2))
    expect([o for o in operators if o != "Constant"] == ["Add"], operators)
    expect(said["fold"]["nodes"] == 1, said["fold"])


def test_calls_of_functions(tool, folder):
    """A call is what the function's body does, and that of the functions that this one calls."""
    text = """<ir_version: 10, opset_import: ["" : 21, "f" : 1]>
      g (float[2] x) => (float[2] y) <float[2] w = {1, 2}> { e = f.twice (w)  y = Add (x, e) }
      <domain: "f", opset_import: ["" : 21, "f" : 1]> twice (a) => (b) { c = f.once (a)  b = f.once (c) }
      <domain: "f", opset_import: ["" : 21]> once (a) => (b) { b = %s (a) }"""
    operators, said, _ = fold(tool, folder, onnx.parser.parse_model(text % "Selu"), *ALONE, feeds=x(2))
    expect(operators == ["Add"] and said["fold"]["nodes"] == 1, operators, said["fold"])
    m = onnx.parser.parse_model(text % "RandomNormalLike")
    operators, said, _ = fold(tool, folder, m, *ALONE, same=False)
    expect(operators == ["twice", "Add"] and said["fold"]["nodes"] == 0, operators, said["fold"])


def test_external_data(tool, folder):
    w = np.random.default_rng(3).standard_normal((64, 64)).astype(np.float32)
    m = parsed(
        """g (float[N, 64] x) => (float[N, 64] y) <float[64, 64] w = {0}> {
      p = Gemm (w, w)  q = Mean (p, p)  y = MatMul (x, q)
    }""",
        w=w,
    )
    path = folder / "m.onnx"
    onnx.save(m, path, save_as_external_data=True, location="m.data", size_threshold=0)
    fold(tool, folder, path, same=False)
    out = onnx.load(folder / "out.onnx")
    expect([n.op_type for n in out.graph.node] == ["MatMul"], out.graph.node)
    product = parsed(
        "g () => (float[64, 64] q) <float[64, 64] w = {0}> { p = Gemm (w, w)  q = Mean (p, p) }", w=w
    )
    found = numpy_helper.to_array(out.graph.initializer[0])
    expect(found.tobytes() == results(saved(folder, product, "p.onnx"), {})[0].tobytes(), found)


def test_a_refusal_is_a_warning(tool, folder):
    m = parsed("""g (float[2] x) => (float[2] y) <float[2] w = {1, 2}, int64[1] i = {7}> {
      e = Mean (w, w)  d = GatherND (e, i)  y = Add (x, d)
    }""")
    operators, said, stderr = fold(tool, folder, m, same=False)
    expect(operators == ["Mean", "GatherND", "Add"], operators)
    expect(said["fold"]["constants"] == 0 and said["fold"]["refused"] in said["warnings"][0], said["fold"])
    expect("warning: --fold ort: the constant part stays computed" in stderr, stderr)


def test_without_a_runtime(tool, folder):
    path, out = saved(folder), folder / "out.onnx"
    for words, env in [(["--ort", "/nonexistent"], {}), ([], {"GRAPHOPT_ORT": "/nonexistent"})]:
        done = tool(path, "-o", out, "--fold", "ort", *words, env=env)
        refused(done, NOT_CHECKED, "m.onnx: --fold ort: ", "ONNX Runtime cannot be opened", "GRAPHOPT_ORT")
        expect(not out.exists(), "something was written")
    done = tool(path, "-o", out, "--fold", "ort", "--passes", "dead-code", "--ort", "/nonexistent")
    refused(done, NOT_CHECKED, "ONNX Runtime")


def test_never_where_every_bit_is_kept(tool, folder):
    path, out = saved(folder, parsed(RESIZE)), folder / "out.onnx"
    for words in (["--exact"], ["-O3", "--exact"], ["-O1"], ["-O0"], ["-O1", "--passes", "dead-code"]):
        done = tool(path, "-o", out, "--fold", "ort", "--ort", library(), *words)
        refused(done, USAGE, "--fold ort", "--exact", "-O2")
        expect(not out.exists(), "something was written")


def test_check_and_bisect(tool, folder):
    for word in ("--check", "--bisect"):
        operators, said, _ = fold(tool, folder, parsed(RESIZE), word, feeds=x(2, 1, 4, 4))
        expect(operators == ["Sub", "Relu"] and said["check"]["verdict"] == "same", said["check"])


if __name__ == "__main__":
    sys.exit(main(globals()))
