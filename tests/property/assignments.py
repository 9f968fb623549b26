#!/usr/bin/env python3
# LONG: --count 2000 --seed 2
"""Random graphs whose nodes name devices: the parts give the bits of the original, and nothing is mixed.

  assignments.py GRAPHOPT [--count N] [--seed S]

Graph number i of a run is made from seed S + i (_graphs.py). Each node of the main graph gets layer_ann npu
or cpu, in runs of a few nodes, or none. The model goes through the tool with --exact --assignment given and
two devices, of which npu takes some operators only, and
  the manifest is right (lib/manifests.py), and the parts give the bits of the original at five sizes; types
    and shapes alone where float16 crosses a border, and where the parts of the model as it is differ as well
  a node that is still there runs on the device that it names, unless the tool says that it cannot
  with all nodes twice, for one device and for the other, both keep the same operators, and nothing crosses
  where each node names a device, no more values cross a border than did before
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import onnx
import onnxruntime as ort

import _graphs
from random_graphs import passes_checker, run, same

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import manifests  # noqa: E402
from lib.profiles import profile  # noqa: E402

DEVICES = ["npu", "cpu", None]
TAKEN = ("Add", "Mul", "Relu", "Reshape", "Transpose", "Concat", "Shape", "If")


def annotate(model, rng):
    """{node: device} for the nodes that name one."""
    told, device, left = {}, None, 0
    choices = DEVICES[: rng.choice([2, 3])]
    for i, n in enumerate(model.graph.node):
        if left == 0:
            device, left = rng.choice(choices), rng.randint(1, 6)
        left -= 1
        n.name = f"assigned{i}"  # nodes in bodies have names like n1
        if device:
            n.metadata_props.add(key="layer_ann", value=device)
            told[n.name] = device
    return told


def reads_of(node):
    """Names that the node and the nodes in its bodies read."""
    for name in node.input:
        yield name
    for a in node.attribute:
        for g in [a.g, *a.graphs]:
            for inner in g.node:
                yield from reads_of(inner)
            for v in g.output:
                yield v.name


def crossing(model, told):
    """Values of the main graph that a node reads whose device is not that of the value's node."""
    made = {v: n.name for n in model.graph.node for v in n.output if v}
    out = set()
    for n in model.graph.node:
        for v in reads_of(n):
            if v in made and told.get(made[v]) != told.get(n.name):
                out.add(v)
    return out


def renamed(node, names):
    """A copy that reads and makes other values, where `names` has them."""
    out = type(node)()
    out.CopyFrom(node)
    for field in (out.input, out.output):
        field[:] = [names.get(v, v) for v in field]
    for a in out.attribute:
        for g in [a.g, *a.graphs]:
            inner = [renamed(n, names) for n in g.node]
            del g.node[:]
            g.node.extend(inner)
            for v in g.output:
                v.name = names.get(v.name, v.name)
    return out


def twice(model):
    """The model with each node once for npu and once for cpu, and the outputs of both."""
    out = type(model)()
    out.CopyFrom(model)
    del out.graph.node[:], out.graph.output[:], out.graph.value_info[:]
    made = {v for n in model.graph.node for v in n.output if v}
    for device in ("npu", "cpu"):
        names = {v: f"{device}.{v}" for v in made}
        for i, n in enumerate(model.graph.node):
            copy = renamed(n, names)
            copy.name = f"{device}.{i}"
            copy.metadata_props.add(key="layer_ann", value=device)
            out.graph.node.append(copy)
        for v in model.graph.output:
            if v.name in made:
                out.graph.output.add().CopyFrom(v)
                out.graph.output[-1].name = names[v.name]
    return out


def check_twice(tool, folder, seed):
    """Two devices with the same nodes keep the same nodes: neither takes a result of the other."""
    try:
        model = _graphs.Graph(random.Random(seed)).model
    except Exception:  # noqa: BLE001
        return
    source, out = folder / "in.onnx", folder / "out.onnx"
    source.write_bytes(twice(model).SerializeToString())
    profile(folder, name="npu", allow_nodes=["*"])
    command = [tool, source, "-o", out, "--exact", "--devices", folder / "npu.json", "--parts", "never"]
    done = subprocess.run([*command, "--assignment", "given"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    manifest = json.loads((folder / "out.manifest.json").read_text())
    devices = {n: s["device"] for s in manifest["subgraphs"] for n in s["nodes"]}
    kinds, graph = {"npu": [], "cpu": []}, onnx.load(out).graph
    # What a pass makes of constants alone belongs to no device until a node reads it, so the first device's
    # may be folded or merged where the second's, which is then of another device, is not; or both read one.
    constants = {i.name for i in graph.initializer} | {""}
    for n in graph.node:
        if set(n.input) <= constants:
            constants.update(n.output)
        else:
            kinds[devices[n.name]].append(n.op_type)
    if "cannot run on the device" not in done.stderr:
        assert sorted(kinds["npu"]) == sorted(kinds["cpu"]), kinds
        assert {b["value"] for b in manifest["borders"]} <= constants, manifest["borders"]


def results(manifest_path, feeds):
    """What the parts give for each feed."""
    whole = manifests.runner().Deployed(manifest_path, optimize=False)
    known = {v["name"] for v in whole.manifest["network"]["inputs"]}
    return [whole.run({k: v for k, v in feed.items() if k in known}) for feed in feeds]


def check(tool, folder, seed):
    """Returns how many sizes were compared; raises AssertionError."""
    rng = random.Random(seed)
    try:
        graph = _graphs.Graph(rng)
        model, feeds = graph.model, graph.feeds(rng)
    except Exception:  # noqa: BLE001
        return 0  # the generator's, which random_graphs.py counts
    told = annotate(model, rng)
    if not told:
        return 0
    source, out = folder / "in.onnx", folder / "out.onnx"
    source.write_bytes(model.SerializeToString())
    before = run(model.SerializeToString(), feeds)
    if isinstance(before, str):
        return 0
    profile(folder, *TAKEN, control_flow="whole")
    command = [tool, source, "-o", out, "--exact", "--verify-each", "--devices", folder / "npu.json"]
    done = subprocess.run([*command, "--assignment", "given"], capture_output=True, text=True)
    if "no node names one" in done.stderr:
        return 0
    assert done.returncode == 0, done.stderr
    path = folder / "out.manifest.json"
    wrong = list(manifests.problems(path, check_models=passes_checker(model)))
    assert not wrong, wrong[:3]
    manifest = json.loads(path.read_text())
    devices = {n: s["device"] for s in manifest["subgraphs"] for n in s["nodes"]}
    if "cannot run on the device" not in done.stderr:
        moved = {n: d for n, d in told.items() if devices.get(n, d) != d}
        assert not moved, f"these nodes moved: {moved}"
        if len(told) == len(model.graph.node):
            constants = {v for n in onnx.load(out).graph.node if n.op_type == "Constant" for v in n.output}
            of = {s["id"]: s["device"] for s in manifest["subgraphs"]}
            now = {b["value"] for b in manifest["borders"] if of[b["from"]] != of[b["to"]]} - constants
            then = crossing(model, told)
            assert len(now) <= len(then), f"other values cross a border: {now - then}"
    ran = [(feed, expected) for feed, expected in zip(feeds, before) if expected is not None]
    # ONNX Runtime computes float16 in float32 and rounds at the end of a part, where the whole does not.
    types = {p["name"]: p["type"].get("dtype") for s in manifest["subgraphs"] for p in s["outputs"]}
    rounds = any(types[b["value"]] == "FLOAT16" for b in manifest["borders"])
    differ = []
    for (_, expected), got in zip(ran, results(path, [feed for feed, _ in ran])):
        for name, value in expected.items():
            alike = value.dtype == got[name].dtype and value.shape == got[name].shape
            if not alike or not (rounds or same(value, got[name], 0)):
                differ.append(name)
    if differ and not differs_unoptimized(command, folder, ran):
        raise AssertionError(f"these differ: {differ}")
    return len(ran)


def differs_unoptimized(command, folder, ran):
    """The runtime gives other bits for the parts of the model as it was, too."""
    subprocess.run([*command, "--assignment", "given", "-O0"], capture_output=True, check=True)
    for (_, expected), got in zip(ran, results(folder / "out.manifest.json", [feed for feed, _ in ran])):
        if any(not same(value, got[name], 0) for name, value in expected.items()):
            return True
    return False


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("--count", type=int, default=40)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    ort.set_default_logger_severity(4)
    compared = failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for seed in range(a.seed, a.seed + a.count):
            try:
                compared += check(a.tool, folder, seed) > 0
                check_twice(a.tool, folder, seed)
            except Exception as e:  # noqa: BLE001
                failures += 1
                print(f"seed {seed}: {type(e).__name__}: {str(e)[:600]}", flush=True)
    print(f"{a.count} graphs from seed {a.seed}, {compared} compared, {failures} failures")
    return 1 if failures or compared < a.count / 2 else 0


if __name__ == "__main__":
    sys.exit(main())
