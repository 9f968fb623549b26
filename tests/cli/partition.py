#!/usr/bin/env python3
"""--devices: subgraphs, files and manifest, on small models whose partition can be seen by eye."""

import json
import pathlib
import re
import sys

import numpy as np
import onnx
import onnxruntime as ort
from _tool import INPUT, OUTPUT, USAGE, expect, main, refused
from onnx import parser

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests"))

from lib import manifests  # noqa: E402
from lib.profiles import profile  # noqa: E402

HEAD = '<ir_version: 10, opset_import: ["" : 17]>\n'
FIG8 = """g (float[N,4] x, float[N,4] z) => (float[N,4] y) <float[4] w = {1, 2, 3, 4}> {
  va = Relu (x)  vb = Erf (va)  vc = Mul (vb, w)  ve = Sigmoid (z)  y = Add (vc, ve)
}"""


def cut(tool, folder, text, *words, devices=None, name="m", fails=None):
    """The manifest of a run with -O0, checked by its schema and against the files; parts ran one by one give
    what the whole gives."""
    source = folder / f"{name}.onnx"
    if isinstance(text, str):
        text = parser.parse_model(HEAD + text)
    source.write_bytes(text.SerializeToString())
    devices = devices or profile(folder, "Relu", "Add", "Mul", "Sigmoid")
    out = folder / f"{name}.out.onnx"
    done = tool(source, "-O0", "--devices", devices, "-o", out, *words)
    expect(done.returncode == 0, done.stderr)
    path = folder / f"{name}.out.manifest.json"
    manifest = json.loads(path.read_text())
    for problem in manifests.problems(path):
        expect(False, problem)
    return manifest, path


def shape_of(manifest):
    return [(s["device"], s["nodes"]) for s in manifest["subgraphs"]]


def test_figure(tool, folder):
    manifest, path = cut(tool, folder, FIG8)
    expect([d for d, _ in shape_of(manifest)] == ["npu", "cpu", "npu"], shape_of(manifest))
    expect([len(n) for _, n in shape_of(manifest)] == [1, 1, 3], shape_of(manifest))
    expect(
        manifest["partition"]["lower_bound"] == 3 and manifest["partition"]["proven"], manifest["partition"]
    )
    sizes = {b["value"]: b["size"] for b in manifest["borders"]}
    formula = {"bytes": None, "formula": "16*N"}
    expect(sizes == {"va": formula, "vb": formula}, sizes)
    refused_kinds = manifest["statistics"]["unsupported"]
    expect([(u["operator"], u["reason"]) for u in refused_kinds] == [("Erf", "operator")], refused_kinds)
    before = {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}
    cut(tool, folder, FIG8)
    expect(
        before == {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}, "a second run differs"
    )


def test_names_and_metadata(tool, folder):
    text = FIG8.replace("va = Relu", "[same] va = Relu").replace("ve = Sigmoid", "[same] ve = Sigmoid")
    manifest, path = cut(tool, folder, text)
    out = onnx.load(path.with_name("m.out.onnx"))
    names = [n.name for n in out.graph.node]
    expect(len(set(names)) == 5 and "" not in names, names)
    said = {n.name: {p.key: p.value for p in n.metadata_props} for n in out.graph.node}
    for s in manifest["subgraphs"]:
        for n in s["nodes"]:
            told = {"graphopt.subgraph": s["id"], "graphopt.device": s["device"], "layer_ann": s["id"]}
            expect(said[n] == told, n, said[n])


def test_older_models_have_no_metadata(tool, folder):
    m = parser.parse_model(HEAD.replace("10", "8") + FIG8)
    source = folder / "old.onnx"
    source.write_bytes(m.SerializeToString())
    done = tool(source, "-O0", "--devices", profile(folder, "Relu"), "-o", folder / "o.onnx")
    expect(done.returncode == 0 and "IR version 10" in done.stderr, done.stderr)
    expect("--ir-version 10" in done.stderr, done.stderr)
    expect(not list(manifests.problems(folder / "o.manifest.json")), "the manifest is wrong")


def test_raised_models_have_metadata(tool, folder):
    m = parser.parse_model(HEAD.replace("10", "8") + FIG8)
    source, out = folder / "old.onnx", folder / "o.onnx"
    source.write_bytes(m.SerializeToString())
    words = ["--devices", profile(folder, "Relu"), "-o", out, "--emit", "ort-annotations"]
    done = tool(source, "-O0", *words, "--ir-version", "10")
    expect(done.returncode == 0 and "warning" not in done.stderr, done.stderr)
    expect(not list(manifests.problems(folder / "o.manifest.json")), "the manifest is wrong")
    for path in [out, *folder.glob("o.*.onnx")]:
        expect(onnx.load(path).ir_version == 10, path)
    expect(all(n.metadata_props for n in onnx.load(out).graph.node), "a node has no metadata")


def test_one_device_is_the_whole_model(tool, folder):
    manifest, path = cut(tool, folder, FIG8.replace("Erf", "Relu"))
    expect(len(manifest["subgraphs"]) == 1, shape_of(manifest))
    part = onnx.load(folder / manifest["subgraphs"][0]["file"])
    whole = onnx.load(folder / "m.out.onnx")
    expect([v.name for v in part.graph.input] == [v.name for v in whole.graph.input], "other inputs")
    expect([v.name for v in part.graph.output] == [v.name for v in whole.graph.output], "other outputs")
    expect(sorted(n.name for n in part.graph.node) == sorted(n.name for n in whole.graph.node), "other nodes")


def test_nothing_to_run(tool, folder):
    """Outputs that are an input and an initializer: no node, no subgraph; the runner copies them."""
    text = "g (float[N] x) => (float[N] x, float[1] c) <float[1] c = {2}> { }"
    m = parser.parse_model(HEAD + text)
    manifest, path = cut(tool, folder, m)
    expect(manifest["subgraphs"] == [], manifest["subgraphs"])


def test_a_body_reads_a_border(tool, folder):
    text = """g (float[N] x, bool c) => (float[N] y) {
      a = Relu (x)
      y = If (c) <then_branch = t () => (float[N] p) { p = Erf (a) },
                  else_branch = e () => (float[N] q) { q = Neg (a) }>
    }"""
    manifest, path = cut(tool, folder, text)
    expect([d for d, _ in shape_of(manifest)] == ["npu", "cpu"], shape_of(manifest))
    ports = {p["name"]: p for p in manifest["subgraphs"][1]["inputs"]}
    expect(ports["a"].get("capture") and ports["a"]["from"] == "s0", ports)
    expect(not ports["c"].get("capture"), ports)


def test_borders(tool, folder):
    """A value read twice by one subgraph is one transfer; a result in the middle can be an output of the
    network; two results of one node go to two devices; an empty optional input stays empty."""
    text = """g (float[N] x, int64[1] k) => (float[N] a, float[N] y, float[P] u, int64[P] w)
      <float lo = {0}> {
      a = Relu (x)  b = Erf (a)  y = Mul (a, b)
      t, i = TopK (x, k)  u = Relu (t)  j = Neg (i)  w = Clip (j, , i)
    }"""
    npu = profile(folder, "Relu", "Mul", "Clip")
    manifest, path = cut(tool, folder, text, devices=npu)
    seen = [(b["value"], b["from"], b["to"]) for b in manifest["borders"]]
    expect(len(seen) == len(set(seen)), seen)
    outputs = {p["name"]: p for s in manifest["subgraphs"] for p in s["outputs"]}
    expect(outputs["a"]["network_output"] and outputs["a"]["to"], outputs["a"])


def test_overridable_initializer(tool, folder):
    """It stays initializer and input of each part that reads it: a request may give it or not."""
    text = """g (float[N] x, float[1] k) => (float[N] y) <float[1] k = {3}> {
      a = Mul (x, k)  b = Erf (a)  y = Mul (b, k)
    }"""
    manifest, path = cut(tool, folder, text)
    optional = [v["name"] for v in manifest["network"]["inputs"] if v.get("optional")]
    expect(optional == ["k"], manifest["network"]["inputs"])
    for given in (None, np.array([5], np.float32)):
        feeds = {"x": np.array([-1, 2], np.float32)} | ({} if given is None else {"k": given})
        whole = ort.InferenceSession(str(folder / "m.out.onnx"), providers=["CPUExecutionProvider"])
        (wanted,) = whole.run(["y"], feeds)
        got = manifests.runner().Deployed(path).run(feeds)["y"]
        expect(np.array_equal(got, wanted), got, wanted)


def test_sequences_and_unknown_ranks_stay_on_one_device(tool, folder):
    text = """g (float[N] x, int64[K] s) => (float y, float[N] z) {
      a = Relu (x)  q = SequenceConstruct (a, x)  one = Constant <value_int = 1> ()
      z = SequenceAt (q, one)
      b = Reshape (a, s)  c = Relu (b)  y = ReduceSum <keepdims = 0> (c)
    }"""
    npu = profile(folder, "Relu", "SequenceAt", "Reshape")
    manifest, path = cut(tool, folder, text, devices=npu)
    crossing = {b["value"] for b in manifest["borders"]}
    expect("q" not in crossing and "b" not in crossing and "c" not in crossing, crossing)


def test_names_and_order_do_not_matter(tool, folder):
    first, _ = cut(tool, folder, FIG8)
    m = parser.parse_model(HEAD + FIG8)
    for n in m.graph.node:
        for field in (n.input, n.output):
            for i, v in enumerate(field):
                field[i] = v if v in ("x", "z", "y", "w") else "k_" + v
    nodes = list(m.graph.node)
    del m.graph.node[:]
    m.graph.node.extend([nodes[3], *nodes[:3], nodes[4]])
    second, _ = cut(tool, folder, m, name="renamed")
    expect(first["network"]["id"] == second["network"]["id"], "another id")
    expect(first["network"]["source_id"] == second["network"]["source_id"], "another id of the source")
    expect(
        [s["content"] for s in first["subgraphs"]] == [s["content"] for s in second["subgraphs"]], "contents"
    )
    m.graph.node[0].op_type = "Tanh"
    third, _ = cut(tool, folder, m, name="other")
    expect(first["network"]["source_id"] != third["network"]["source_id"], "the same id")


def test_equal_parts_share_an_engine(tool, folder):
    text = """g (float[N] x) => (float[N] y) {
      a = Relu (x)  b = Mul (a, x)  c = Erf (b)  d = Relu (c)  e = Mul (d, c)  f = Erf (e)
      g = Relu (f)  h = Mul (g, f)  y = Erf (h)
    }"""
    manifest, path = cut(tool, folder, text)
    npu = [s for s in manifest["subgraphs"] if s["device"] == "npu"]
    expect(len(npu) == 3 and npu[1]["content"] == npu[2]["content"], [s["content"] for s in npu])


def test_annotated_only(tool, folder):
    source = folder / "m.onnx"
    source.write_bytes(parser.parse_model(HEAD + FIG8).SerializeToString())
    npu = profile(folder, "Relu", "Add", "Mul", "Sigmoid")
    done = tool(source, "--devices", npu, "--parts", "never", "-o", folder / "o.onnx")
    expect(done.returncode == 0, done.stderr)
    manifest = json.loads((folder / "o.manifest.json").read_text())
    expect([s["file"] for s in manifest["subgraphs"]] == [None] * 3, manifest["subgraphs"])
    expect([f["role"] for f in manifest["files"]] == ["model"], manifest["files"])
    expect(not list(folder.glob("*.s0.*")), "a part was written")


def test_plan(tool, folder):
    source = folder / "m.onnx"
    source.write_bytes(parser.parse_model(HEAD + FIG8).SerializeToString())
    npu = profile(folder, "Relu", "Add", "Mul", "Sigmoid")
    before = sorted(folder.iterdir())
    done = tool(source, "--devices", npu, "--plan")
    text = done.stdout.decode()
    expect(done.returncode == 0 and before == sorted(folder.iterdir()), done.stderr, "something was written")
    for part in ("s0", "s2", "npu: Erf", "80.0%"):
        expect(part in text, part, "is not in", text)


def run(path, feeds):
    return manifests.runner().Deployed(path).run(feeds)


def test_an_unread_default_stays(tool, folder):
    text = "g (float[N] x, float[1] w) => (float[N] y) <float[1] w = {3}> { y = Relu (x) }"
    manifest, path = cut(tool, folder, text)
    expect(np.array_equal(run(path, {"x": np.array([-1, 2], np.float32)})["y"], [0, 2]), "another result")
    text = "g (float[N] x, float[1] w) => (float[N] y, float[1] w) <float[1] w = {3}> { y = Relu (x) }"
    manifest, path = cut(tool, folder, text)
    got = run(path, {"x": np.array([-1, 2], np.float32)})
    expect(np.array_equal(got["y"], [0, 2]) and np.array_equal(got["w"], [3]), "another result", got)


def test_dead_nodes(tool, folder):
    """At -O0 they stay; a subgraph of such nodes has no outputs and need not run."""
    text = "g (float[N] x) => (float[N] y) { y = Relu (x)  d = Erf (y)  e = Neg (d) }"
    manifest, path = cut(tool, folder, text)
    expect([s["outputs"] == [] for s in manifest["subgraphs"]] == [False, True], manifest["subgraphs"])
    expect(np.array_equal(run(path, {"x": np.array([-1, 2], np.float32)})["y"], [0, 2]), "another result")


def test_dead_nodes_of_bodies(tool, folder):
    """The id of a network is that without nodes that no output needs, wherever these are and whatever they
    capture; it tells captures in another order apart."""

    def text(outer="", inner="", then="Add (q, p)"):
        return f"""g (bool c, float[N] x, float[N] z) => (float[N] y) {{
          p = Relu (x)  q = Erf (x)  {outer}
          y = If (c) <then_branch = t () => (float[N] a) {{ {inner} a = {then} }},
                      else_branch = e () => (float[N] b) {{ b = Abs (p) }}>
        }}"""

    nested = """r = Mul (p, q)  d = If (c) <then_branch = t2 () => (float[N] a2) { a2 = Sub (u, r) },
                                        else_branch = e2 () => (float[N] b2) { b2 = Neg (u) }>"""
    loop = """k = Constant <value = int64 {1}> ()  d, e = Loop (k, c, r)
              <body = l (int64 i, bool w, float[N] s) =>
              (bool w2, float[N] s2, float[N] o) { w2 = Not (w)  s2 = Mul (s, u)  o = Neg (q) }>
              """
    same = [
        text(),
        text("u = Sigmoid (z)", "d = Neg (u)"),
        text("", "d = Mul (p, q)"),
        text("u = Sigmoid (q)  v = Add (u, p)", "d = Mul (v, p)  f = Sub (d, u)"),
        text("u = Sigmoid (z)", nested),
        text("u = Sigmoid (q)", "r = Add (p, q) " + loop),
        text("u = Sigmoid (q)  w = If (c) <then_branch = t3 () => (float[N] a3) { a3 = Neg (u) }, "
             "else_branch = e3 () => (float[N] b3) { b3 = Neg (q) }>"),
    ]  # fmt: skip
    ids = [cut(tool, folder, t, name=f"m{i}")[0]["network"]["id"] for i, t in enumerate(same)]
    expect(len(set(ids)) == 1, ids)
    other = [text(then="Add (p, q)"), text("u = Sigmoid (q)", "r = Neg (u)", "Add (r, p)")]
    ids += [cut(tool, folder, t, name=f"o{i}")[0]["network"]["id"] for i, t in enumerate(other)]
    expect(len(set(ids)) == 3, ids)


def test_operator_that_a_function_is_called_after(tool, folder):
    """A compiler of the device may take it for either: it stays on the host, with its function. So does what
    reads
    its result, whose rank nobody knows."""
    text = """g (float[2] x) => (float[2] y) { a = Sigmoid (x)  b = Relu (a)  y = Mul (b, x) }
    <domain: "", opset_import: ["" : 17]> Relu (p) => (q) { q = Neg (p) }"""
    manifest, path = cut(tool, folder, text)
    expect([d for d, _ in shape_of(manifest)] == ["npu", "cpu"], shape_of(manifest))
    (host,) = (s for s in manifest["subgraphs"] if s["device"] == "cpu")
    expect([f.name for f in onnx.load(folder / host["file"]).functions] == ["Relu"], "the function is gone")
    got = run(path, {"x": np.array([2, -1], np.float32)})["y"]
    want = np.array([2, -1]) / (1 + np.exp([-2.0, 1.0]))
    expect(np.allclose(got, want), got, want)


def test_constants_of_old_models(tool, folder):
    """Before IR version 4 a constant that a pass makes is a node of the file."""
    text = """<ir_version: 3, opset_import: ["" : 9]>
    g (float[2] x) => (float[2] y, float[1] k) {
      a = Constant <value = float[1] {2}> ()  b = Constant <value = float[1] {3}> ()  k = Add (a, b)
      y = Mul (x, k)
    }"""
    source = folder / "old.onnx"
    source.write_bytes(parser.parse_model(text).SerializeToString())
    done = tool(source, "--devices", profile(folder, "Mul"), "-o", folder / "o.onnx")
    expect(done.returncode == 0, done.stderr)
    found = list(manifests.problems(folder / "o.manifest.json"))
    expect(not found, found)
    got = run(folder / "o.manifest.json", {"x": np.array([1, 2], np.float32)})
    expect(np.array_equal(got["y"], [5, 10]) and np.array_equal(got["k"], [5]), got)


def test_strings_that_are_no_text(tool, folder):
    """Two weights that differ in such bytes alone are two contents."""
    nodes = [onnx.helper.make_node("Equal", ["x", f"w{i}"], [f"b{i}"]) for i in range(2)]
    nodes += [onnx.helper.make_node("And", ["b0", "b1"], ["y"])]
    weights = [
        onnx.helper.make_tensor(f"w{i}", onnx.TensorProto.STRING, [1], [s]) for i, s in enumerate(STRINGS)
    ]
    x = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.STRING, [1])
    y = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.BOOL, [1])
    graph = onnx.helper.make_graph(nodes, "g", [x], [y], weights)
    m = onnx.helper.make_model(graph, ir_version=10, opset_imports=[onnx.helper.make_opsetid("", 19)])
    manifest, path = cut(tool, folder, m, "--connected", devices=profile(folder, "Equal"))
    contents = [s["content"] for s in manifest["subgraphs"] if s["device"] == "npu"]
    expect(len(contents) == 2 and len(set(contents)) == 2, contents)


STRINGS = [b"\xff", "\ufffd".encode()]


def test_names_that_are_no_text(tool, folder):
    """A manifest cannot name such a value; nodes get another name."""
    m = parser.parse_model(HEAD + FIG8)
    source = folder / "m.onnx"
    source.write_bytes(m.SerializeToString().replace(b"va", b"v\xff"))
    done = tool(source, "-O0", "--devices", profile(folder, "Relu"), "-o", folder / "o.onnx")
    refused(done, INPUT, "is not UTF-8")
    expect(not (folder / "o.onnx").exists(), "OUT was written")
    m.graph.node[0].name, m.graph.node[1].name = "node-a", "node-b"
    text = m.SerializeToString().replace(b"node-a", b"node-\xff").replace(b"node-b", b"node-\xfe")
    source.write_bytes(text)
    done = tool(source, "-O0", "--devices", profile(folder, "Relu"), "-o", folder / "o.onnx")
    expect(done.returncode == 0, done.stderr)
    found = list(manifests.problems(folder / "o.manifest.json"))
    expect(not found, found)


def test_an_output_of_unknown_rank_that_is_a_border(tool, folder):
    m = parser.parse_model(HEAD + "g (float[N] x) => (float a, float[N] y) { a = Relu (x)  y = Erf (a) }")
    m.graph.output[0].type.tensor_type.ClearField("shape")
    manifest, path = cut(tool, folder, m)
    expect(manifest["subgraphs"][0]["outputs"][0]["type"]["shape"] == ["N"], manifest["subgraphs"])
    expect(manifest["network"]["outputs"][0]["type"]["shape"] is None, manifest["network"])


def test_options_in_the_manifest(tool, folder):
    words = ("--dim", "N=3", "--disable-pass", "drop-identity", "--fold-limit", "10", "--infer")
    options = cut(tool, folder, FIG8, *words)[0]["tool"]["options"]
    wanted = {"dim": "N=3", "disable_pass": "drop-identity", "fold_limit": 10, "infer": True, "level": 0}
    expect(wanted.items() <= options.items(), options)


def test_costs(tool, folder):
    """A node that takes 2 us on the accelerator and 5 us on the host, but a launch and two transfers: it goes
    to the host, and the manifest says why. Without costs it stays."""
    text = """g (float[1000] x) => (float[1000] y) { h = Erf (x)  a = Relu (h)  y = Erf (a) }"""
    cost = {"launch_ns": 20000, "to_device_bytes_per_s": 10**9, "from_device_bytes_per_s": 10**9}
    npu = profile(folder, "Relu", cost={"node_ns": 2000}, **cost)
    host = profile(folder, name="host", host=True, cost={"node_ns": 5000})
    manifest, path = cut(tool, folder, text, devices=f"{npu},{host}")
    expect(shape_of(manifest)[0][0] == "host" and len(manifest["subgraphs"]) == 1, shape_of(manifest))
    # 20 us launch, 2 us and two transfers of 4000 bytes, against 5 us.
    absorbed = [{"from": "npu", "to": "host", "nodes": 1, "reason": "cost", "saved_ns": 25000}]
    expect(manifest["partition"]["absorbed"] == absorbed, manifest["partition"]["absorbed"])
    reasons = [(u["device"], u["operator"], u["reason"]) for u in manifest["statistics"]["unsupported"]]
    expect(("npu", "Relu", "cost") in reasons, reasons)
    manifest, path = cut(tool, folder, text, devices=profile(folder, "Relu", **cost))
    expect(len(manifest["subgraphs"]) == 3, shape_of(manifest))


def times_of(tool, folder, text, speeds):
    """(nanoseconds on the host alone, the table) of a host that computes so many operations in a second."""
    source, report = folder / "m.onnx", folder / "r.json"
    source.write_bytes(parser.parse_model(HEAD + text).SerializeToString())
    npu = profile(folder, "Relu", cost={"node_ns": 1})
    host = profile(folder, name="host", host=True, cost={"flops_per_s": speeds})
    done = tool(source, "-O0", "--devices", f"{npu},{host}", "--plan", "--report", report)
    expect(done.returncode == 0, done.stderr)
    return json.loads(report.read_text())["partition"]["host_ns"], done.stdout.decode()


def test_times_of_nodes(tool, folder):
    """Two operations per multiply-add: 128*3*3 results of 64*3*3 each, although the kernel is as wide as the
    result. The type of a QDQ group is that of the quantized operand."""
    conv = """g (float[1,64,5,5] x, float[128,64,3,3] w) => (float[1,128,3,3] y) { y = Conv (x, w) }"""
    operations = 2 * 128 * 3 * 3 * 64 * 3 * 3
    host, table = times_of(tool, folder, conv, {"*": 10**9})
    expect(host == operations, host, operations)
    expect(re.search(r"estimated time of a run +1.33 ms  1.33 ms on the host alone\n", table), table)
    quantized = """g (int8[1,64,5,5] x, int8[128,64,3,3] w) => (int8[1,128,3,3] y) <float s = {0.5}> {
      a = DequantizeLinear (x, s)  b = DequantizeLinear (w, s)  c = Conv (a, b)
      z = Constant <value: tensor = int8 {0}> ()  y = QuantizeLinear (c, s, z) }"""
    of_floats = 64 * 5 * 5 + 128 * 64 * 3 * 3  # the results of DequantizeLinear
    of_bytes = operations + 128 * 3 * 3
    for speeds, wanted in (
        ({"INT8": 4 * 10**9, "*": 10**9}, of_floats + of_bytes // 4),
        ({"FLOAT": 2 * 10**9, "*": 10**9}, (of_floats + operations) // 2 + 128 * 3 * 3),
    ):
        host, _ = times_of(tool, folder, quantized, speeds)
        expect(host == wanted, speeds, host, wanted)


def test_least_gain(tool, folder):
    """--min-gain gives back what a device does faster, but by less: here by 50 us less 30 us. Without costs
    nothing is given back, and a warning says so."""
    text = """g (float[1000] x) => (float[1000] y) { h = Erf (x)  a = Relu (h)  y = Erf (a) }"""
    npu = profile(folder, "Relu", cost={"node_ns": 2000}, launch_ns=28000)
    host = profile(folder, name="host", host=True, cost={"node_ns": 50000})
    for gain, parts in (("0", 3), ("20000", 3), ("20001", 1)):
        manifest, path = cut(tool, folder, text, "--min-gain", gain, devices=f"{npu},{host}")
        expect(len(manifest["subgraphs"]) == parts, gain, shape_of(manifest))
    absorbed = [{"from": "npu", "to": "host", "nodes": 1, "reason": "min_gain", "saved_ns": -20000}]
    expect(manifest["partition"]["absorbed"] == absorbed, manifest["partition"]["absorbed"])
    source = folder / "m.onnx"
    for devices in (profile(folder, "Relu"), f"{npu}"):
        done = tool(source, "--devices", devices, "--plan", "--min-gain", "1000000")
        expect(done.returncode == 0 and "state no costs" in done.stderr, done.stderr)
        expect("3 subgraphs" in done.stdout.decode(), done)
    for wrong in ("-1", "x", "1.5", ""):
        refused(tool(source, "--devices", npu, "--min-gain", wrong), USAGE, "whole number of nanoseconds")
    given = ["--assignment", "given", "--min-gain", "5"]
    refused(tool(source, "--devices", npu, *given), USAGE, "--min-gain", "--assignment given")


def test_least_nodes(tool, folder):
    """--min-nodes stands in place of the profiles' min_nodes, in both directions."""
    source = folder / "m.onnx"
    source.write_bytes(parser.parse_model(HEAD + FIG8).SerializeToString())
    ops = ("Relu", "Add", "Mul", "Sigmoid")

    def moved(devices, *words):
        report = folder / "r.json"
        done = tool(source, "-O0", "-q", "--devices", devices, "--plan", "--report", report, *words)
        expect(done.returncode == 0, done.stderr)
        found = json.loads(report.read_text())["partition"]["moved"]
        return [(m["from"], m["to"], m["reason"], m["count"]) for m in found]

    small = profile(folder, *ops, min_nodes=3)
    one = [("npu", "cpu", "min_nodes", 1)]
    expect(moved(small) == one, moved(small))
    expect(moved(small, "--min-nodes", "1") == [], "1")
    plain = profile(folder, *ops)
    expect(moved(plain) == [], "plain")
    expect(moved(plain, "--min-nodes", "3") == one, "3")
    every = moved(plain, "--min-nodes", "4294967295")
    expect(sum(m[3] for m in every) == 4 and {m[2] for m in every} == {"min_nodes"}, every)
    for wrong in ("0", "-3", "4294967296", "9" * 30, "x", ""):
        refused(tool(source, "--devices", plain, "--min-nodes", wrong), USAGE, "--min-nodes", "whole number")
    given = ["--assignment", "given", "--min-nodes", "5"]
    refused(tool(source, "--devices", plain, *given), USAGE, "--min-nodes", "--assignment given")


def test_what_moved_is_told(tool, folder):
    """--plan says how many nodes left a device that takes them, and why."""
    source = folder / "m.onnx"
    source.write_bytes(parser.parse_model(HEAD + FIG8).SerializeToString())

    def plan(devices, *words):
        done = tool(source, "-O0", "--devices", devices, "--plan", *words)
        expect(done.returncode == 0, done.stderr)
        return " ".join(done.stdout.decode().split()), done.stderr

    said, _ = plan(profile(folder, "Relu", "Add", "Mul", "Sigmoid", min_nodes=3))
    expect("npu -> cpu 1 min_nodes" in said, said)
    # What the sizes of values are at least: 16 bytes for each of N.
    small = profile(folder, "Relu", "Add", "Mul", "Sigmoid", memory_bytes=100)
    said, warned = plan(small)
    expect("npu -> cpu" not in said and "5 values is not known" in warned, said, warned)
    said, warned = plan(small, "--dim", "N=7..9")
    expect("npu -> cpu 4 memory" in said and not warned, said, warned)
    said, warned = plan(small, "--dim", "N=7")
    expect("npu -> cpu 4 memory" in said and not warned, said, warned)


def test_schedule(tool, folder):
    """What a request occupies by the profiles' costs, and what leaves a device with little memory."""
    text = """g (float[8,4] x, float[8,4] z) => (float[8,4] y) {
      a = Relu (x)  b = Erf (a)  c = Sigmoid (z)  y = Add (b, c)
    }"""
    npu = profile(folder, "Relu", "Sigmoid", "Add", cost={"node_ns": 2000}, launch_ns=1000)
    host = profile(folder, name="host", host=True, cost={"node_ns": 100000})
    manifest, _ = cut(tool, folder, text, devices=f"{npu},{host}")
    expect([s["device"] for s in manifest["subgraphs"]] == ["npu", "host", "npu"], shape_of(manifest))
    wanted = {
        "load_ns": {"npu": 1000 + 2000 + 1000 + 2 * 2000, "host": 100000},
        "critical_path_ns": 108000,
        "bottleneck": "host",
        "limit_percent": 108,
        "window": 3,
    }
    expect(manifest["schedule"]["throughput"] == wanted, manifest["schedule"]["throughput"])
    # 16 bytes of a are not needed while r is made of e, 64 bytes each.
    text = """g (float[4] x) => (float[4] y) <int64[1] i = {0}, int64[1] k = {4}> {
      a = Relu (x)  b = Erf (a)  e = Concat <axis = 0> (b, b, b, b)  r = Relu (e)
      s = Slice (r, i, k)  t = Erf (s)  y = Add (t, a)
    }"""
    for memory, spills in ((143, ["a"]), (144, [])):
        small = profile(folder, "Relu", "Add", memory_bytes=memory)
        manifest, path = cut(tool, folder, text, devices=small)
        found = next(d for d in manifest["schedule"]["memory"] if d["device"] == "npu")
        middle = next(s["id"] for s in manifest["subgraphs"] if s["outputs"][0]["name"] == "r")
        expect((found["peak"], found["peak_at"], found["budget"]) == (144, middle, memory), found)
        expect(found["spills"] == [{"value": v, "at": middle} for v in spills], found)
        expect(not list(manifests.problems(path)), *manifests.problems(path))


def test_devices_that_get_nothing(tool, folder):
    """Behind the host; and where functions of regions hide the operators."""
    source = folder / "m.onnx"
    source.write_bytes(parser.parse_model(HEAD + FIG8).SerializeToString())
    npu = profile(folder, "Relu", "Add", "Mul", "Sigmoid")
    host = profile(folder, name="host", host=True)
    for list_of, words, said in (
        (f"{host},{npu}", [], "npu is after the host host"),
        (f"{npu},{host}", [], None),
        (npu, ["--regions", "functions"], "profiles refuse"),
        (npu, ["--regions", "metadata"], None),
    ):
        done = tool(source, "--devices", list_of, "--plan", *words)
        expect(done.returncode == 0, done.stderr)
        expect(said in done.stderr if said else not done.stderr, said, done.stderr)


def test_measured_times(tool, folder):
    """The table's time takes the place of the estimate, by the node's name: 1 us where 5 us stood."""
    text = """g (float[1000] x) => (float[1000] y) { h = Erf (x)  [r] a = Relu (h)  y = Erf (a) }"""
    npu = profile(folder, "Relu", cost={"node_ns": 0}, launch_ns=1000)
    host = profile(folder, name="host", host=True, cost={"node_ns": 5000, "table": "times/host.json"})
    (folder / "times").mkdir(exist_ok=True)
    table = folder / "times/host.json"
    for times, device in (({"r": 999, "other": 1}, "host"), ({"r": 1000}, "npu"), ({}, "npu")):
        table.write_text(json.dumps(times))
        manifest, path = cut(tool, folder, text, devices=f"{npu},{host}")
        expect(device in [d for d, n in shape_of(manifest) if "r" in n], times, shape_of(manifest))
    devices = ["--devices", f"{npu},{host}", "--plan"]
    for wrong, said in (
        ('{"r": -1}', "r: found -1"),
        ('{"r": 1.5}', "r: found 1.5"),
        ("[1]", "found a list"),
        ("{", ""),
    ):
        table.write_text(wrong)
        refused(tool(folder / "m.onnx", *devices), INPUT, f"{table}: ", said)
    table.unlink()
    refused(tool(folder / "m.onnx", *devices), INPUT, "host.json", "cost.table of")


def test_drawing(tool, folder):
    """Up to a hundred nodes a box per subgraph, then a node per subgraph; borders with their bytes."""
    source = folder / "m.onnx"
    source.write_bytes(
        parser.parse_model(HEAD + FIG8.replace("float[N,4]", "float[2,4]")).SerializeToString()
    )
    npu = profile(folder, "Relu", "Add", "Mul", "Sigmoid")
    done = tool(source, "-O0", "--devices", npu, "--dot", "-")
    text = done.stdout.decode()
    expect(done.returncode == 0, done.stderr)
    expect(text.count("subgraph cluster_") == 3 and text.count("32 B") == 2, text)
    expect(text.count("fillcolor") == 5 and text.count("#e4e4e4") == 1, text)
    chain = "".join(f"b{i} = {'Erf' if i == 60 else 'Relu'} (b{i - 1}) " for i in range(1, 121))
    source.write_bytes(
        parser.parse_model(HEAD + f"g (float[3] b0) => (float[3] b120) {{ {chain} }}").SerializeToString()
    )
    text = tool(source, "-O0", "--devices", npu, "--dot", "-").stdout.decode()
    for line in ("s0: npu\\n59 nodes", "s1: cpu\\n1 node", "s0 -> s1", "1, 12 B"):
        expect(line in text, line, "is not in", text)


def test_many_subgraphs(tool, folder):
    steps = "".join(f"a{i} = Relu (b{i - 1})  b{i} = Erf (a{i}) " for i in range(1, 502))
    text = f"g (float[N] b0) => (float[N] b501) {{ {steps} }}"
    source = folder / "m.onnx"
    source.write_bytes(parser.parse_model(HEAD + text).SerializeToString())
    npu = profile(folder, "Relu")
    done = tool(source, "-O0", "--devices", npu, "-o", folder / "o.onnx")
    refused(done, USAGE, "1002 subgraphs", "--parts never")
    done = tool(source, "-O0", "--devices", npu, "-o", folder / "o.onnx", "--force")
    expect(done.returncode == 0, done.stderr)
    expect(not list(manifests.problems(folder / "o.manifest.json")), "the manifest is wrong")


def test_a_second_run_finds_what_the_first_one_wrote(tool, folder):
    """Constants that leave their nodes when the graph is cut, and dims that only --infer names at borders."""
    cases = [
        # d equals c, which no pass makes an initializer, since nothing reads it, or since that pass is off.
        (
            "g (float[N,2] x) => (float[N,2] y) <float[2] d = {1, 2}> {"
            "  c = Constant <value = float[2] {1, 2}> ()  y = Mul (x, d) }",
            ["--disable-pass", "dead-code"],
        ),
        (
            "g (float[N,2] x) => (float[N,2] y) <float[2] d = {1, 2}> {"
            "  c = Constant <value = float[2] {1, 2}> ()  r = Erf (x)  s = Mul (r, c)  y = Sub (s, d) }",
            ["--disable-pass", "constants-to-initializers", "-O1"],
        ),
        (
            "g (float[N,2] x) => (float[K,L] y) {"
            "  n = NonZero (x)  f = Cast <to = 1> (n)  r = Relu (f)  e = Erf (r)  y = Relu (e) }",
            ["--infer"],
        ),
    ]
    npu = profile(folder, "Relu", "Mul")
    for number, (text, words) in enumerate(cases):
        written = []
        source = folder / "in.onnx"
        source.write_bytes(parser.parse_model(HEAD + text).SerializeToString())
        for run_number in range(2):
            out = folder / f"{number}.{run_number}"
            out.mkdir()
            done = tool("-q", source, "--devices", npu, "-o", out / "o.onnx", *words)
            expect(done.returncode == 0, done.stderr)
            written.append({p.name: p.read_bytes() for p in out.glob("*.onnx")})
            source = out / "o.onnx"
        expect(written[0] == written[1], words)


def test_refused(tool, folder):
    source = folder / "m.onnx"
    source.write_bytes(parser.parse_model(HEAD + FIG8).SerializeToString())
    npu = profile(folder, "Relu")
    refused(tool(source, "--plan"), USAGE, "--plan", "--devices")
    refused(tool(source, "--connected"), USAGE, "--connected")
    refused(tool(source, "--parts", "never"), USAGE, "--parts never")
    refused(tool(source, "--devices", npu, "--plan", "-o", folder / "o.onnx"), USAGE, "--plan")
    refused(tool(source, "--devices", npu, "-o", "-"), USAGE, "-o -")
    never = ("--external-data", "never")
    refused(tool(source, "--devices", npu, "-o", folder / "o.onnx", *never), USAGE, "never")
    refused(tool(source, "--devices", "nosuch", "-o", folder / "o.onnx"), USAGE, "nosuch")
    refused(tool(source, "--devices", npu, "--stop-after", "infer"), USAGE, "--stop-after")
    refused(tool(source, "--devices", npu, "--manifest", folder / "m.json"), USAGE, "--manifest")
    report = ("--report", folder / "o.manifest.json")
    refused(tool(source, "--devices", npu, "-o", folder / "o.onnx", *report), USAGE, "--manifest")
    (folder / "o.manifest.json").write_text("{}")
    done = tool(source, "--devices", npu, "-o", folder / "o.onnx")
    refused(done, OUTPUT, "o.manifest.json")
    expect(not (folder / "o.onnx").exists(), "OUT was written")


if __name__ == "__main__":
    sys.exit(main(globals()))
