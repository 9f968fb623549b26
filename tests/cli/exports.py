#!/usr/bin/env python3
"""--emit: names, refusals, what goes and what stays, and m.layers.json."""

import json
import sys

import numpy as np
import onnxruntime as ort
from _exports import FIG8, HEAD, emit, model_of, profile, sha256
from _tool import INPUT, OUTPUT, USAGE, expect, main, refused
from onnx import parser

OPTION = "session.layer_assignment_settings"


def test_layers(tool, folder):
    """ONNX Runtime reads the option from 1.25 on, and refuses a text that is broken."""
    gpu = profile(folder, "Sigmoid", name="fast", kind="gpu", ep={"name": "CUDAExecutionProvider"})
    npu = profile(folder, "Relu", "Add", "Mul", ep={"name": "QNNExecutionProvider", "options": {"a": "b"}})
    emit(tool, folder, "ort-annotations", devices=f"{gpu},{npu}")
    document = json.loads((folder / "m.layers.json").read_text())
    manifest = json.loads((folder / "m.manifest.json").read_text())
    where = {d["id"]: [] for d in manifest["devices"]}
    for s in manifest["subgraphs"]:
        where[s["device"]].append(s["id"])
    wanted = [("fast", "gpu", "gpu"), ("npu", "npu", "npu"), ("cpu", "cpu", "cpu")]
    expect([(d["id"], d["kind"], d["designator"]) for d in document["devices"]] == wanted, document)
    expect({d["id"]: d["annotations"] for d in document["devices"]} == where, document, where)
    eps = [d.get("ep") for d in document["devices"]]
    cuda, qnn = {"name": "CUDAExecutionProvider"}, {"name": "QNNExecutionProvider", "options": {"a": "b"}}
    expect(eps[:2] == [cuda, qnn], eps)
    out = folder / "m.onnx"
    told = {"path": "m.onnx", "bytes": out.stat().st_size, "sha256": sha256(out)}
    expect(document["model"] == told, document["model"])
    expect(document["network"] == manifest["network"]["id"], document["network"])
    setting = document["session_options"][OPTION]
    names = {"fast": "gpu", "npu": "npu", "cpu": "cpu"}
    rules = [f"{names[d]}({','.join('=' + s for s in where[d])})" for d in names]
    expect(setting == "; ".join(rules), setting)
    feeds = {"x": np.array([[1, -2, 3, 4]], np.float32), "z": np.ones((1, 4), np.float32)}
    plain = ort.InferenceSession(out, providers=["CPUExecutionProvider"]).run(None, feeds)
    options = ort.SessionOptions()
    options.log_severity_level = 4  # the rules for devices that are not here
    options.add_session_config_entry(OPTION, setting)
    placed = ort.InferenceSession(out, options, providers=["CPUExecutionProvider"]).run(None, feeds)
    expect(np.array_equal(plain[0], placed[0]), plain, placed)
    options.add_session_config_entry(OPTION, setting.replace(")", "", 1))
    try:
        ort.InferenceSession(out, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        expect("layering config" in str(error), error)
    else:
        expect(False, "the option is not read")


def test_one_rule_for_devices_of_one_kind(tool, folder):
    """ONNX Runtime has one name for both, and none for a DSP. A device without subgraphs has no rule."""
    first = profile(folder, "Relu", name="first")
    second = profile(folder, "Mul", name="second")
    dsp = profile(folder, "Erf", name="dsp", kind="dsp")
    unused = profile(folder, "Conv", name="unused", kind="fpga")
    emit(tool, folder, "ort-annotations", devices=f"{first},{second},{dsp},{unused}")
    document = json.loads((folder / "m.layers.json").read_text())
    setting = document["session_options"][OPTION]
    manifest = json.loads((folder / "m.manifest.json").read_text())
    of = {s["id"]: s["device"] for s in manifest["subgraphs"]}
    rules = dict(rule.rstrip(")").split("(") for rule in setting.split("; "))
    expect(set(rules) == {"npu", "accelerator", "cpu"}, setting)
    got = {name: {of[a.removeprefix("=")] for a in text.split(",")} for name, text in rules.items()}
    expect(got == {"npu": {"first", "second"}, "accelerator": {"dsp"}, "cpu": {"cpu"}}, got)


def test_layers_need_annotations(tool, folder):
    m = parser.parse_model(HEAD.replace("10", "9") + FIG8)
    source = folder / "in.onnx"
    source.write_bytes(m.SerializeToString())
    npu = profile(folder, "Relu")
    done = tool(source, "--devices", npu, "-o", folder / "m.onnx", "--emit", "ort-annotations")
    expect(
        done.returncode == INPUT and "IR version 10" in done.stderr and "help: " in done.stderr, done.stderr
    )
    expect("give --ir-version 10" in done.stderr, done.stderr)
    expect(sorted(p.name for p in folder.iterdir()) == ["in.onnx", "npu.json"], list(folder.iterdir()))


def test_refused(tool, folder):
    source, npu = model_of(folder), profile(folder, "Relu")
    out = folder / "m.onnx"
    emits = ("--emit", "ort-annotations")
    refused(tool(source, "-o", out, *emits), USAGE, "--emit", "--devices")
    refused(tool(source, "--devices", npu, *emits), USAGE, "--emit", "-o")
    refused(tool(source, "--devices", npu, "--plan", *emits), USAGE, "--plan", "--emit")
    done = tool(source, "--devices", npu, "-o", out, "--emit", "ort-annotations,ort-anotation")
    refused(done, USAGE, "'ort-anotation'", "ort-annotations")
    refused(tool(source, "--devices", npu, "-o", out, "--emit", ""), USAGE, "''")
    report = ("--report", folder / "m.layers.json")
    refused(tool(source, "--devices", npu, "-o", out, *emits, *report), USAGE, "--emit", "--report")
    expect(not out.exists(), "OUT was written")


def test_what_stands_there(tool, folder):
    """A file of another's is refused unless --force, and left alone by a run that does not want the name."""
    source, npu = model_of(folder), profile(folder, "Relu")
    out, layers = folder / "m.onnx", folder / "m.layers.json"
    words = (source, "--devices", npu, "-o", out)
    for other in (b"mine", b'{"format": "mine"}', b"[1]"):
        layers.write_bytes(other)
        refused(tool(*words, "--emit", "ort-annotations"), OUTPUT, "m.layers.json", "--force")
        expect(not out.exists() and layers.read_bytes() == other, "something was written")
    done = tool(*words)
    expect(done.returncode == 0 and layers.read_bytes() == b"[1]", done.stderr)
    done = tool(*words, "--emit", "ort-annotations", "--force")
    expect(
        done.returncode == 0 and json.loads(layers.read_bytes())["format"] == "graphopt.layers", done.stderr
    )
    first = layers.read_bytes()
    done = tool(*words, "--emit", "ort-annotations", "-v")
    expect(done.returncode == 0 and layers.read_bytes() == first, "a second run differs", done.stderr)
    done = tool(*words)
    expect(done.returncode == 0 and not layers.exists(), "it is still there", done.stderr)


def test_places(tool, folder):
    """Exports stand beside OUT, whose name they have, wherever the manifest is; a link is followed."""
    below = folder / "below"
    below.mkdir()
    source, npu = model_of(folder), profile(folder, "Relu")
    words = (source, "--devices", npu, "--emit", "ort-annotations")
    done = tool(*words, "-o", below / "m.onnx", "--manifest", folder / "top.json")
    expect(done.returncode == 0 and (below / "m.layers.json").exists(), done.stderr)
    report = folder / "r.json"
    done = tool(*words, "-o", "below/m.onnx", "--report", report, cwd=folder)
    paths = [f["path"] for f in json.loads(report.read_text())["files"]]
    expect("below/m.layers.json" in paths, paths)
    (folder / "link.onnx").symlink_to("below/target.onnx")
    (below / "target.onnx").write_bytes(b"")
    done = tool(*words, "-o", folder / "link.onnx")
    expect(done.returncode == 0 and (below / "link.layers.json").exists(), done.stderr)


if __name__ == "__main__":
    sys.exit(main(globals()))
