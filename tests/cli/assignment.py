#!/usr/bin/env python3
"""--assignment given: nodes run where the model says, and no rewrite mixes nodes of two devices."""

import json
import pathlib
import subprocess
import sys

import onnx
from _tool import INPUT, USAGE, expect, main, refused
from onnx import helper, parser

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests"))

from lib import manifests  # noqa: E402
from lib.profiles import profile  # noqa: E402

HEAD = '<ir_version: 11, opset_import: ["" : 17]>\n'
# Without borders: one Relu for two, x * w * w in one Mul, and no Transpose.
MIXED = """g (float[N,4] x) => (float[N,4] y, float[4,N] z) <float[4] w = {1, 2, 3, 4}> {
  a = Relu (x)  b = Relu (x)  c = Mul (a, w)  d = Mul (c, w)  e = Add (d, b)
  t = Transpose <perm = [1, 0]> (e)  y = Transpose <perm = [1, 0]> (t)  z = Neg (t)
}"""
MIXED_DEVICES = {
    "a": "npu",
    "b": "cpu",
    "c": "npu",
    "d": "cpu",
    "e": "cpu",
    "t": "npu",
    "y": "cpu",
    "z": "npu",
}


def model_of(text, layers=None, key="layer_ann"):
    """The model with each node named after its first result, and with the texts of `layers`."""
    model = parser.parse_model(HEAD + text)
    for n in model.graph.node:
        n.name = n.output[0]
        if n.name in (layers or {}):
            n.metadata_props.add(key=key, value=layers[n.name])
    return model


def cut(tool, folder, model, *words, devices=None, assignment="given", level="-O2"):
    """The manifest of a run, checked against its files, and what the tool said."""
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    devices = devices or profile(folder, "Relu", "Mul", "Transpose", "Neg", "Add", "Where", "Conv")
    options = ["--devices", devices, "--verify-each", level, "-o", folder / "out.onnx", "--check"]
    if assignment:
        options += ["--assignment", assignment]
    done = tool(folder / "m.onnx", *options, *words)
    expect(done.returncode == 0, done.stderr)
    path = folder / "out.manifest.json"
    for problem in manifests.problems(path):
        expect(False, problem)
    runner = TOP / "examples/run_manifest.py"
    ran = subprocess.run([sys.executable, runner, path], capture_output=True, text=True)
    expect(ran.returncode == 0, ran.stdout, ran.stderr)
    return json.loads(path.read_text()), done.stderr


def devices_of(manifest):
    return {n: s["device"] for s in manifest["subgraphs"] for n in s["nodes"]}


def test_rewrites_stay_on_one_device(tool, folder):
    manifest, _ = cut(tool, folder, model_of(MIXED, MIXED_DEVICES))
    expect(devices_of(manifest) == MIXED_DEVICES, devices_of(manifest))
    expect(manifest["tool"]["options"]["assignment"] == "given", manifest["tool"])
    manifest, _ = cut(tool, folder, model_of(MIXED, MIXED_DEVICES), assignment=None)
    expect(len(devices_of(manifest)) < 6, "without the option there is nothing to rewrite", manifest)


def test_rewrites_within_a_device_happen(tool, folder):
    """One assignment is no reason to rewrite less, and what passes make is where its operands are."""
    manifest, _ = cut(tool, folder, model_of(MIXED, dict.fromkeys(MIXED_DEVICES, "npu")))
    told = devices_of(manifest)
    expect(len(told) < 6 and set(told.values()) == {"npu"}, told)
    text = """g (float[1,2,8,8] x) => (float[1,3,8,8] y)
      <float[3,2,1,1] w = {1, 2, 3, 4, 5, 6}, float[3,1,1] s = {2, 4, 8},
      float[3,1,1] t = {1, 2, 3}> {
      a = Conv (x, w)  b = Mul (a, s)  c = Add (b, t)  d = Relu (c)  y = Mul (d, d)
    }"""
    layers = {"a": "npu", "b": "npu", "c": "npu", "d": "cpu", "y": "cpu"}
    manifest, _ = cut(tool, folder, model_of(text, layers))
    out = onnx.load(folder / "out.onnx")
    kinds = {n.op_type: devices_of(manifest)[n.name] for n in out.graph.node}
    expect(kinds == {"Conv": "npu", "Relu": "cpu", "Mul": "cpu"}, kinds)


def test_equal_shapes_are_computed_on_each_device(tool, folder):
    """Inference knows that both Shape nodes give [N, 4]; one result for both would join the devices."""
    text = """g (float[N,4] x, float[N,4] z) => (int64[2] p, int64[2] q) <int64[1] one = {1}> {
      a = Relu (x)  s = Shape (a)  p = Mul (s, one)  b = Add (a, z)  t = Shape (b)  q = Add (t, one)
    }"""
    layers = {"a": "npu", "s": "npu", "p": "npu", "b": "npu", "t": "cpu", "q": "cpu"}
    manifest, _ = cut(
        tool, folder, model_of(text, layers), devices=profile(folder, "Relu", "Shape", "Mul", "Add")
    )
    out = onnx.load(folder / "out.onnx")
    told = devices_of(manifest)
    shapes = {told[n.name] for n in out.graph.node if n.op_type == "Shape"}
    expect("cpu" in shapes, told)
    crossing = {b["value"] for b in manifest["borders"]}
    expect(crossing <= {"a", "b", "x", "z"}, "what crosses is what crossed before", crossing)


def test_constants_belong_to_nobody(tool, folder):
    text = """g (float[4] x) => (float[4] y) <int64[1] k = {4}, float[4] w = {1, 2, 3, 4}> {
      c = ConstantOfShape (k)  d = Add (c, w)  a = Add (x, d)  y = Mul (a, d)
    }"""
    layers = {"c": "npu", "d": "npu", "a": "npu", "y": "cpu"}
    manifest, _ = cut(tool, folder, model_of(text, layers))
    expect(devices_of(manifest) == {"a": "npu", "y": "cpu"}, devices_of(manifest))


def test_bodies(tool, folder):
    """A node in a body counts as the node that holds it; a branch that is inlined stays where the If was."""
    text = """g (float[N] x, bool c) => (float[N] y) <bool yes = {1}> {
      a = Relu (x)
      b = If (c) <then_branch = t () => (float[N] p) { p0 = Relu (x) p = Neg (p0) },
                  else_branch = e () => (float[N] q) { q = Neg (a) }>
      d = If (yes) <then_branch = t2 () => (float[N] r) { r0 = Neg (b) r = Neg (r0) },
                    else_branch = e2 () => (float[N] s) { s = Erf (b) }>
      y = Neg (d)
    }"""
    layers = {"a": "npu", "b": "cpu", "d": "npu", "y": "cpu"}
    manifest, _ = cut(tool, folder, model_of(text, layers), devices=profile(folder, "Relu", "Neg"))
    told = devices_of(manifest)
    expect(told["a"] == "npu" and told["b"] == "cpu" and told["y"] == "cpu", told)


def test_an_output_that_is_the_input(tool, folder):
    """Both Identity nodes go, and with them all that kept the input's name from the output: one stays."""
    text = "g (float[N] x) => (float[N] y, float[N] z) { a = Identity (x)  y = Identity (a)  z = Neg (x) }"
    for layers in ({"a": "npu", "y": "cpu", "z": "npu"}, {"a": "cpu", "y": "cpu", "z": "npu"}):
        manifest, _ = cut(tool, folder, model_of(text, layers))
        kinds = sorted(n.op_type for n in onnx.load(folder / "out.onnx").graph.node)
        expect(kinds == ["Identity", "Neg"], kinds)


def test_rules(tool, folder):
    layers = {"a": "enc.0", "b": "enc.1", "c": "enc.10", "d": "dec", "e": "dec", "t": "enc.0", "y": "dec"}
    model = model_of(MIXED, layers)
    rules = "given= npu( =enc.1 , enc.0 ) ;cpu(=dec); cpu(enc) ;"
    manifest, said = cut(tool, folder, model, assignment=rules, level="-O0")
    # Patterns for beginnings come before whole texts: enc.1 goes to cpu by "enc"; z has no text.
    expected = dict.fromkeys("abcdety", "cpu") | {"a": "npu", "t": "npu", "z": "npu"}
    expect(devices_of(manifest) == expected, devices_of(manifest))
    expect("name" not in said, said)
    again = "given=npu(=enc.1); npu(enc.0); cpu(=dec); cpu(enc)"
    expect(manifest["tool"]["options"]["assignment"] == again, manifest["tool"])
    manifest, said = cut(tool, folder, model, assignment="given='cpu(=enc.0)'", level="-O0")
    expect("no rule matches 'enc.1' (and 2 more)" in said, said)
    expect(devices_of(manifest)["a"] == "cpu" and devices_of(manifest)["d"] == "npu", devices_of(manifest))


def test_stages(tool, folder):
    """Pipeline stages name a device of the configuration, or are mapped by their number."""
    model = model_of(MIXED)
    c = model.configuration.add(name="two", num_devices=2)
    c.device.extend(["cpu", "npu"])
    for n in model.graph.node:
        stage = 1 if MIXED_DEVICES[n.name] == "npu" else 0
        n.device_configurations.add(configuration_id="two", pipeline_stage=stage)
    manifest, _ = cut(tool, folder, model)
    expect(devices_of(manifest) == MIXED_DEVICES, devices_of(manifest))
    manifest, _ = cut(tool, folder, model, assignment="given=npu(=0); cpu(=1)", level="-O0")
    swapped = {n: {"npu": "cpu", "cpu": "npu"}[d] for n, d in MIXED_DEVICES.items()}
    expect(devices_of(manifest) == swapped, devices_of(manifest))


def test_what_a_former_run_wrote(tool, folder):
    """OUT of a run names subgraphs and devices: given again, all nodes stay where they were."""
    first, _ = cut(tool, folder, model_of(MIXED), assignment=None, level="-O0")
    other = profile(folder, "Relu", "Mul", "Transpose", "Neg", "Add")
    again = onnx.load(folder / "out.onnx")
    second, _ = cut(tool, folder, again, devices=other, level="-O0")
    expect(devices_of(first) == devices_of(second), devices_of(second))


def test_profiles_give_way(tool, folder):
    """A node stays where the model puts it: refused by the profile, in a group of the profile's with nodes of
    another device, below min_nodes. What no border can carry stays together all the same."""
    layers = dict.fromkeys(MIXED_DEVICES, "cpu") | {"c": "npu"}
    small = profile(folder, "Relu", min_nodes=3)
    manifest, said = cut(tool, folder, model_of(MIXED, layers), devices=small, level="-O0")
    expect(devices_of(manifest) == layers, devices_of(manifest))
    expect(
        "this node runs on npu, as the model says, though the profile refuses it (no rule for Mul)" in said,
        said,
    )
    chain = profile(folder, "Relu", "Mul", "Add", atomic=[{"kind": "chain", "ops": ["Mul", "Mul"]}])
    manifest, _ = cut(tool, folder, model_of(MIXED, layers), devices=chain, level="-O0")
    expect(devices_of(manifest) == layers, devices_of(manifest))
    text = """g (float[N] x) => (float[N] y) <int64 zero = {0}> {
      a = Relu (x)  s = SequenceConstruct (a, x)  b = SequenceAt (s, zero)  y = Relu (b)
    }"""
    layers = {"a": "npu", "s": "npu", "b": "cpu", "y": "npu"}
    manifest, said = cut(tool, folder, model_of(text, layers), level="-O0")
    told = devices_of(manifest)
    expect(told["s"] == told["b"] == "cpu" and told["y"] == "npu", told)
    expect("cannot run on the device" in said and "a sequence, an optional" in said, said)


def test_which_text_counts(tool, folder):
    """graphopt.device of a former run before a text that is its subgraph; without layer_ann, too. Of several
    configurations the one that names a device. A text in a body and a second one of a node are not kept."""
    model = model_of(MIXED, {n: "cpu" for n in MIXED_DEVICES})
    for n in model.graph.node:
        n.metadata_props.add(key="graphopt.subgraph", value="cpu")
        n.metadata_props.add(key="graphopt.device", value=MIXED_DEVICES[n.name])
    manifest, _ = cut(tool, folder, model, level="-O0")
    expect(devices_of(manifest) == MIXED_DEVICES, devices_of(manifest))
    model = model_of(MIXED, MIXED_DEVICES, key="graphopt.device")
    manifest, _ = cut(tool, folder, model, level="-O0")
    expect(devices_of(manifest) == MIXED_DEVICES, devices_of(manifest))
    model = model_of(MIXED)
    for name, devices in (("other", ["foo", "bar"]), ("mine", ["cpu", "npu"])):
        model.configuration.add(name=name, num_devices=2).device.extend(devices)
        for n in model.graph.node:
            stage = int(MIXED_DEVICES[n.name] == "npu")
            n.device_configurations.add(configuration_id=name, pipeline_stage=stage)
    manifest, _ = cut(tool, folder, model, level="-O0")
    expect(devices_of(manifest) == MIXED_DEVICES, devices_of(manifest))
    text = """g (float[N] x, bool c) => (float[N] y) {
      y = If (c) <then_branch = t () => (float[N] p) { p = Neg (x) },
                  else_branch = e () => (float[N] q) { q = Erf (x) }>
    }"""
    model = model_of(text, {"y": "cpu"})
    model.graph.node[0].metadata_props.add(key="layer_ann", value="s0")
    model.graph.node[0].attribute[0].g.node[0].metadata_props.add(key="layer_ann", value="npu")
    cut(tool, folder, model, assignment="given=cpu(s0)", level="-O0")
    node = onnx.load(folder / "out.onnx").graph.node[0]
    expect([p.value for p in node.metadata_props if p.key == "layer_ann"] == ["s0"], node.metadata_props)
    expect(not node.attribute[0].g.node[0].metadata_props, node.attribute[0].g.node[0])


def test_refused(tool, folder):
    devices = profile(folder, "Relu")
    model = folder / "m.onnx"
    model.write_bytes(model_of(MIXED).SerializeToString())
    given = ["--assignment", "given"]
    refused(tool(model, *given, "-o", folder / "o.onnx"), USAGE, "--assignment needs --devices")
    none = tool(model, "--devices", devices, *given, "--plan")
    refused(none, INPUT, "no node names one of the devices npu, cpu")
    model.write_bytes(model_of(MIXED, {"a": "gpu0"}).SerializeToString())
    refused(tool(model, "--devices", devices, *given, "--plan"), INPUT, "the first one names 'gpu0'")
    unknown = tool(model, "--devices", devices, "--assignment", "given=gpu(gpu0)", "--plan")
    refused(unknown, USAGE, "'gpu' is none of the devices of the run: npu, cpu")
    wrong = {
        "": "is not 'given'",
        "taken": "is not 'given'",
        "given=": "no rule follows '='",
        "given=npu": "'given=npu': no names in brackets follow the device in 'npu'",
        "given=npu()": "a name is empty in 'npu()'",
        "given=npu(a,)": "a name is empty",
        "given=npu(=)": "a name is empty",
        "given=(a)": "no device is before '('",
        "given=npu(a);;cpu(b)": "no device is before '(' in ';cpu(b)'",
        "given=npu(a) cpu(b)": "no ';' is between two rules in 'cpu(b)'",
        "given=npu(a))": "no ';' is between two rules in ')'",
    }
    for text, said in wrong.items():
        refused(tool(model, "--devices", devices, "--assignment", text, "--plan"), USAGE, said)


def test_regions_of_a_former_run(tool, folder):
    """Functions that a former run made are inlined; their nodes are where the calls were."""
    model = model_of(MIXED, MIXED_DEVICES)
    (folder / "m.onnx").write_bytes(model.SerializeToString())
    done = tool(folder / "m.onnx", "-O0", "--regions", "functions", "-o", folder / "r.onnx")
    expect(done.returncode == 0, done.stderr)
    made = onnx.load(folder / "r.onnx")
    for n in made.graph.node:
        if not n.metadata_props:
            n.metadata_props.add(key="layer_ann", value="npu")
    cut(tool, folder, made, level="-O0")


if __name__ == "__main__":
    sys.exit(main(globals()))
