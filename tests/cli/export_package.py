#!/usr/bin/env python3
"""--emit ort-package: what ONNX Runtime opens, which variant it takes, and what a package cannot say."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime as ort
from _exports import FIG8, HEAD, emit, model_of, profile, sha256
from _tool import INPUT, OUTPUT, expect, main, refused
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.packages import CPU, OTHER, Package  # noqa: E402

FORM = "ort-package"
FEEDS = {"x": np.array([[1, -2, np.inf, -0.0]], np.float32), "z": np.full((1, 4), -3, np.float32)}
EP = {"name": OTHER, "options": {"a": "b"}}


def plain(path, feeds):
    return ort.InferenceSession(path, providers=[CPU]).run(None, feeds)


def equal(got, wanted):
    return len(got) == len(wanted) and all(
        np.array_equal(a, b, equal_nan=True) for a, b in zip(got, wanted, strict=True)
    )


def files(folder):
    return {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_package(tool, folder):
    """Each provider gets its variant, the CPU the host's; the folder can be moved without the rest."""
    npu = profile(folder, "Relu", "Add", ep=EP)
    gpu = profile(folder, "Sigmoid", name="fast", kind="gpu", ep={"name": "CUDAExecutionProvider"})
    done = emit(tool, folder, FORM, devices=f"{gpu},{npu}")
    expect("warning" not in done.stderr, done.stderr)
    wanted = plain(folder / "in.onnx", FEEDS)
    before = files(folder)
    emit(tool, folder, FORM, devices=f"{gpu},{npu}")
    expect(before == files(folder), "a second run differs")
    manifest = json.loads((folder / "m.manifest.json").read_text())
    marker = json.loads((folder / "m.ort-package/graphopt.json").read_text())
    told = {"path": "../m.manifest.json", "sha256": sha256(folder / "m.manifest.json")}
    expect(marker["manifest"] == told and marker["form"] == FORM, marker)
    moved = folder / "elsewhere"
    moved.mkdir()
    shutil.move(folder / "m.ort-package", moved / "p")
    for providers, variant in (((), "cpu"), ((CPU,), "cpu"), ((OTHER,), "npu"), ((OTHER, CPU), "npu")):
        package = Package(moved / "p", *providers)
        expect(package.names == ["model"], package.names)
        name, session = package.session()
        expect(name == variant, providers, name)
        expect(session.get_providers()[0] == (providers or (CPU,))[0], session.get_providers())
        expect(equal(session.run(None, FEEDS), wanted), "another result")
    of = {
        d["id"]: [s["id"] for s in manifest["subgraphs"] if s["device"] == d["id"]]
        for d in manifest["devices"]
    }
    rule = lambda kind, device: f"{kind}({','.join('=' + s for s in of[device])})"
    settings = {p: package.setting(p) for p in package.variants()}
    rules = {
        CPU: None,
        OTHER: f"{rule('npu', 'npu')}; {rule('cpu', 'cpu')}",
        "CUDAExecutionProvider": f"{rule('gpu', 'fast')}; {rule('cpu', 'cpu')}",
    }
    expect(settings == rules and all(of.values()), settings, rules)
    metadata = package.variants()[OTHER]["additional_metadata"]
    expect(metadata == {"devices": [{"id": "npu", "kind": "npu", "provider_options": {"a": "b"}}]}, metadata)
    expect(package.document["package_name"] == "m", package.document)
    network = package.document["additional_metadata"]["network"]
    expect(network == manifest["network"]["id"], network)


def test_rules(tool, folder):
    """Profiles of one provider share a variant. One of kind cpu has no rule, which would be the host's; one
    without nodes has none; and one without a provider, or with the CPU's, has no variant."""
    devices = [
        profile(folder, "Relu", name="a", ep={"name": "One"}),
        profile(folder, "Sigmoid", name="b", kind="gpu", ep={"name": "One", "options": {"k": "v"}}),
        profile(folder, "Erf", name="c", kind="cpu", ep={"name": "Two"}),
        profile(folder, "Conv", name="d", ep={"name": "Three"}),
        profile(folder, "Mul", name="e"),
        profile(folder, "Add", name="f", kind="cpu", ep={"name": CPU}),
        profile(folder, "Conv", name="g", ep={"name": ""}),
    ]
    done = emit(tool, folder, FORM, devices=",".join(map(str, devices)))
    warned = [line for line in done.stderr.splitlines() if "warning" in line]
    expect(len(warned) == 2 and "'e' names no" in warned[0] and "'g' names no" in warned[1], done.stderr)
    package = Package(folder / "m.ort-package")
    manifest = json.loads((folder / "m.manifest.json").read_text())
    of = {s["device"]: s["id"] for s in manifest["subgraphs"]}
    expect(sorted(of) == ["a", "b", "c", "e", "f"], of)
    settings = {p: package.setting(p) for p in package.variants()}
    one = f"npu(={of['a']}); gpu(={of['b']}); cpu(={of['f']})"
    expect(settings == {CPU: None, "One": one, "Two": None, "Three": None}, settings)
    told = [
        {"id": "a", "kind": "npu"},
        {"id": "b", "kind": "gpu", "provider_options": {"k": "v"}},
    ]
    expect(package.variants()["One"]["additional_metadata"]["devices"] == told, package.variants())
    expect(set(package.document["components"]["model"]["variants"]) == {"cpu", "a", "c", "d"}, "names")


def test_old_model(tool, folder):
    """Before IR version 10 nodes have no annotations: the package is of use, and the run says it."""
    done = emit(tool, folder, FORM, devices=profile(folder, "Relu", ep=EP), head=HEAD.replace("10", "9"))
    expect("IR version 10" in done.stderr, done.stderr)
    package = Package(folder / "m.ort-package", OTHER)
    expect(package.setting(OTHER) is None, package.variants())
    name, session = package.session()
    expect(name == "npu" and equal(session.run(None, FEEDS), plain(folder / "in.onnx", FEEDS)), name)


def weighty(columns):
    w = numpy_helper.from_array(np.arange(4096, dtype=np.float32).reshape(64, 64) / 512 - 4, "w")
    nodes = [("MatMul", ["x", "w"], "a"), ("Relu", ["a"], "b"), ("MatMul", ["b", "w"], "y")]
    ports = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [columns, 64]) for n in "xy"]
    graph = helper.make_graph(
        [helper.make_node(op, i, [o]) for op, i, o in nodes], "g", ports[:1], ports[1:], [w]
    )
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])


def test_weights_and_buckets(tool, folder):
    """A component per bucket, with its sizes; weights are there once for all. The list is sha256sum's."""
    npu = profile(folder, "Relu", ep=EP)
    done = emit(tool, folder, FORM, weighty("n"), "--bucket", "n=2..8:pow2", devices=npu)
    package = Package(folder / "m.ort-package", OTHER)
    expect(package.names == ["b000", "b001", "b002", "model"], package.names, done.stderr)
    expect([package.sizes(b) for b in package.names[:3]] == [{"n": 2}, {"n": 4}, {"n": 8}], "sizes")
    total = sum(p.stat().st_size for p in (folder / "m.ort-package").rglob("*") if p.is_file())
    expect(4 * 4096 < total < 2 * 4 * 4096, total)
    for component in package.names:
        size = package.sizes(component)["n"] if component != "model" else 3
        feeds = {"x": np.linspace(-2, 2, size * 64, dtype=np.float32).reshape(size, 64)}
        name, session = package.session(component)
        shape = session.get_inputs()[0].shape
        expect(name == "npu" and shape == [size if component != "model" else "n", 64], shape)
        expect(equal(session.run(None, feeds), plain(folder / "in.onnx", feeds)), component)
        onnx.checker.check_model(package.file(component), full_check=True)
        expect(package.setting(OTHER, component).startswith("npu("), package.setting(OTHER, component))
    # The models are those of the set, which the manifest lists, but for the name of the data file.
    models = folder / "m.ort-package/models"
    done = subprocess.run(["sha256sum", "-c", "models.sha256"], cwd=models, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    expect(
        done.returncode == 0 and len(lines) == len(list(models.iterdir())) - 1 == 5, done.stdout, done.stderr
    )


def test_external_data(tool, folder):
    """Weights are in the files of the models where the user wants no data file; parts are not needed."""
    words = ("--external-data", "never", "--parts", "never")
    emit(tool, folder, FORM, weighty(2), *words, devices=profile(folder, "Relu", ep=EP))
    names = sorted(p.suffix for p in (folder / "m.ort-package/models").iterdir())
    expect(names == [".onnx", ".sha256"], names)
    feeds = {"x": np.ones((2, 64), np.float32)}
    _, session = Package(folder / "m.ort-package").session()
    expect(equal(session.run(None, feeds), plain(folder / "in.onnx", feeds)), "another result")


def test_names(tool, folder):
    """Any text: of values, of nodes, of a provider, of OUT."""
    odd = 'a "b"\\\n\x01\u00e9\u20ac7' + "l" * 3000
    m = onnx.parser.parse_model(HEAD + FIG8)
    for n in m.graph.node:
        n.name = odd + n.op_type
        for field in (n.input, n.output):
            for i, v in enumerate(field):
                field[i] = {"va": odd, "x": odd + "x"}.get(v, v)
    m.graph.input[0].name = odd + "x"
    source = model_of(folder, m)
    feeds = {odd + "x": FEEDS["x"], "z": FEEDS["z"]}
    npu = profile(folder, "Relu", "Add", ep={"name": odd, "options": {odd: odd}})
    for number, out in enumerate((os.fsencode('m " \u00e9\n'), b"l" * 150, b"manifest", b"models")):
        path = os.fsdecode(os.fsencode(folder) + b"/" + out)
        done = subprocess.run(
            [tool.binary, source, "--devices", npu, "--emit", FORM, "-O0", "-o", path + ".onnx"],
            capture_output=True,
        )
        expect(done.returncode == 0, out, done.stderr)
        moved = folder / str(number)
        shutil.move(path + ".ort-package", moved)
        package = Package(moved)
        expect(set(package.variants()) == {CPU, odd}, package.variants())
        name, session = package.session()
        expect(name == "cpu" and equal(session.run(None, feeds), plain(source, feeds)), out)
    expect(package.document["package_name"] == "models", package.document)


def test_bytes(tool, folder):
    """Names that are not UTF-8 are refused before anything is written: both manifests are JSON."""
    source, npu = model_of(folder), profile(folder, "Relu", "Add", ep=EP)
    bad = folder / "bad.onnx"
    bad.write_bytes(source.read_bytes().replace(b"va", b"\xff\xfe"))
    before = sorted(folder.iterdir())
    for model, out in ((bad, "m.onnx"), (source, os.fsdecode(b"\xff.onnx"))):
        refused(tool(model, "--devices", npu, "-o", folder / out, "--emit", FORM), INPUT, "not UTF-8")
        expect(sorted(folder.iterdir()) == before, list(folder.iterdir()))


def test_what_is_there(tool, folder):
    """A folder of another's is refused unless --force; a run without the export removes graphopt's."""
    source, npu = model_of(folder), profile(folder, "Relu", ep=EP)
    words = (source, "--devices", npu, "-o", folder / "m.onnx")
    there = folder / "m.ort-package"
    there.mkdir()
    (there / "manifest.json").write_text("{}")
    refused(tool(*words, "--emit", FORM), OUTPUT, "m.ort-package", "--force")
    (there / "graphopt.json").write_text('{"format": "graphopt.export", "form": "genai"}')  # another's form
    refused(tool(*words, "--emit", FORM), OUTPUT, "m.ort-package", "--force")
    expect(not (folder / "m.onnx").exists(), "OUT was written")
    expect(tool(*words).returncode == 0 and (there / "manifest.json").read_text() == "{}", "it was changed")
    expect(tool(*words, "--emit", FORM, "--force").returncode == 0, "--force")
    Package(there)
    (there / "mine.txt").write_text("")
    expect(tool(*words, "--emit", FORM).returncode == 0 and not (there / "mine.txt").exists(), "not replaced")
    done = tool(there / "models" / Package(there).file().name, *words[1:], "--emit", FORM)
    refused(done, OUTPUT, "m.ort-package", "-o")
    report = folder / "r.json"
    expect(tool(*words, "--emit", FORM, "--report", report).returncode == 0, "--report")
    told = {
        f["path"]: f["bytes"] for f in json.loads(report.read_text())["files"] if "ort-package" in f["path"]
    }
    found = {str(p): p.stat().st_size for p in there.rglob("*") if p.is_file()}
    expect(told == found, told, found)
    expect(tool(*words).returncode == 0 and not there.exists(), "it is still there")
    left = sorted(p.name for p in folder.iterdir() if p.name.startswith("."))
    expect(left == [], left)


if __name__ == "__main__":
    sys.exit(main(globals()))
