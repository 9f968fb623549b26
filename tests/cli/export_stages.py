#!/usr/bin/env python3
"""--emit onnx-stages: OUT's model with the pipeline stages of the ONNX standard."""

import json
import sys

import numpy as np
import onnx
import onnxruntime as ort
from _exports import FIG8, HEAD, emit, model_of, profile
from _tool import OUTPUT, USAGE, expect, main, refused
from onnx import helper, numpy_helper

FORM = "onnx-stages"
LARGE = 4096  # floats: larger than what stays in the model


def weighty(ir_version=10, opset=17):
    """Two subgraphs that read one large weight."""
    w = numpy_helper.from_array(np.arange(LARGE, dtype=np.float32), "w")
    nodes = [
        helper.make_node("Mul", ["x", "w"], ["a"]),
        helper.make_node("Erf", ["a"], ["b"]),
        helper.make_node("Mul", ["b", "w"], ["y"]),
    ]
    ports = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [LARGE]) for n in "xyw"]
    inputs = ports[:1] if ir_version > 3 else [ports[0], ports[2]]
    graph = helper.make_graph(nodes, "g", inputs, ports[1:2], [w])
    return helper.make_model(graph, ir_version=ir_version, opset_imports=[helper.make_opsetid("", opset)])


def check(folder):
    """The configuration says what the manifest says; but for it the model is OUT."""
    manifest = json.loads((folder / "m.manifest.json").read_text())
    path = folder / "m.stages.onnx"
    onnx.checker.check_model(path, full_check=True)
    model, out = (
        onnx.load(path, load_external_data=False),
        onnx.load(folder / "m.onnx", load_external_data=False),
    )
    (configuration,) = model.configuration
    devices = [s["device"] for s in manifest["subgraphs"]]
    expect(configuration.name == "graphopt" and configuration.num_devices == len(devices), configuration)
    expect(list(configuration.device) == devices, configuration)
    stage = {n: int(s["id"][1:]) for s in manifest["subgraphs"] for n in s["nodes"]}
    for node in model.graph.node:
        if node.name not in stage:
            expect(node.op_type == "Constant", node)
            continue
        (entry,) = node.device_configurations
        expect(entry.configuration_id == "graphopt" and entry.HasField("pipeline_stage"), entry)
        expect(entry.pipeline_stage == stage[node.name], node.name, entry.pipeline_stage)
        node.ClearField("device_configurations")
    expect(model.ir_version == max(out.ir_version, 11), model.ir_version, out.ir_version)
    model.ClearField("configuration")
    model.ir_version = out.ir_version
    expect(model == out, "the models differ in more than the configuration")
    return path


def both(folder, feeds):
    results = [
        ort.InferenceSession(folder / name, providers=["CPUExecutionProvider"]).run(None, feeds)[0]
        for name in ("m.onnx", "m.stages.onnx")
    ]
    expect(np.array_equal(*results), results)


def test_stages(tool, folder):
    emit(tool, folder, FORM)
    check(folder)
    both(folder, {"x": np.array([[1, -2, 3, 4]], np.float32), "z": np.ones((1, 4), np.float32)})
    first = (folder / "m.stages.onnx").read_bytes()
    emit(tool, folder, FORM)
    expect(first == (folder / "m.stages.onnx").read_bytes(), "a second run differs")


def test_weights_are_shared(tool, folder):
    """Also where no part is written, and OUT would keep its weights otherwise."""
    for words in ((), ("--parts", "never")):
        emit(tool, folder, FORM, weighty(), *words)
        path = check(folder)
        (data,) = folder.glob("*.data")
        expect(data.name.startswith("m.onnx.") and data.stat().st_size == LARGE * 4, data)
        expect(
            path.stat().st_size < 2000 and data.name.encode() in path.read_bytes(), "weights are elsewhere"
        )
        both(folder, {"x": np.ones(LARGE, np.float32)})


def test_older_models(tool, folder):
    """IR version 11 has configurations; a model of a lower one gets it, initializers that are inputs too."""
    for version, opset in ((3, 8), (7, 13), (9, 17)):
        m = weighty(version, opset)
        if opset < 9:
            m.graph.node[1].op_type = "Exp"
        emit(tool, folder, FORM, m)
        check(folder)
        both(folder, {"x": np.ones(LARGE, np.float32)})


def test_other_configurations_stay(tool, folder):
    """Those of the user's do, those of an earlier run do not."""
    m = onnx.parser.parse_model(HEAD + FIG8)
    m.ir_version = 11
    for name, count in (("mine", 2), ("graphopt", 9)):
        configuration = m.configuration.add(name=name, num_devices=count)
        configuration.device.extend(["d"] * count)
    m.graph.node[0].device_configurations.add(configuration_id="mine", pipeline_stage=1)
    m.graph.node[0].device_configurations.add(configuration_id="graphopt", pipeline_stage=8)
    emit(tool, folder, FORM, m)
    model = onnx.load(folder / "m.stages.onnx")
    told = [(c.name, c.num_devices) for c in model.configuration]
    expect(told == [("mine", 2), ("graphopt", 3)], told)
    (node,) = (n for n in model.graph.node if n.op_type == "Relu")
    told = [(e.configuration_id, e.pipeline_stage) for e in node.device_configurations]
    expect(told == [("mine", 1), ("graphopt", 0)], told)


def test_no_nodes(tool, folder):
    emit(tool, folder, FORM, "g (float[N] x, float[N] z) => (float[N] x) { }")
    check(folder)


def test_it_goes(tool, folder):
    """A run that does not ask for it removes it, unless another wrote it or it is the model that is read."""
    npu = profile(folder, "Relu", "Mul")
    stages = folder / "m.stages.onnx"
    emit(tool, folder, FORM, weighty())
    words = ("--devices", npu, "-o", folder / "m.onnx")
    done = tool(folder / "in.onnx", *words)
    expect(done.returncode == 0 and not stages.exists(), done.stderr)
    stages.write_bytes(b"mine")
    refused(tool(folder / "in.onnx", *words, "--emit", FORM), OUTPUT, "m.stages.onnx", "--force")
    done = tool(folder / "in.onnx", *words)
    expect(done.returncode == 0 and stages.read_bytes() == b"mine", done.stderr)
    done = tool(folder / "in.onnx", *words, "--emit", FORM, "--force")
    expect(done.returncode == 0, done.stderr)
    refused(tool(stages, *words, "--emit", FORM), USAGE, "m.stages.onnx")
    done = tool(stages, *words)
    expect(done.returncode == 0 and stages.exists(), done.stderr)
    onnx.load(stages)  # with its weights


def test_all_or_nothing(tool, folder):
    """The list cannot be replaced: OUT and the form are what they were."""
    emit(tool, folder, FORM)
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    (folder / "m.manifest.json").write_text("[]")
    before["m.manifest.json"] = b"[]"
    model_of(folder, FIG8.replace("Erf", "Tanh"))
    before["in.onnx"] = (folder / "in.onnx").read_bytes()
    words = ("--devices", folder / "npu.json", "-o", folder / "m.onnx", "--emit", FORM)
    refused(tool(folder / "in.onnx", *words), OUTPUT, "m.manifest.json")
    expect(before == {p.name: p.read_bytes() for p in folder.iterdir()}, "something changed")


def test_refused(tool, folder):
    source, npu = model_of(folder), profile(folder, "Relu")
    words = ("--devices", npu, "-o", folder / "m.onnx", "--emit", FORM, "--parts", "never")
    refused(tool(source, *words, "--external-data", "never"), USAGE, "onnx-stages", "--external-data never")


if __name__ == "__main__":
    sys.exit(main(globals()))
