#!/usr/bin/env python3
"""Runs a partitioned model part by part, as its manifest says, and compares the result with the whole model.

  run_manifest.py MANIFEST [--inputs FILE.npz] [--dim SYMBOL=N ...] [--seed N] [--tolerance REL]

Each subgraph gets a session of ONNX Runtime with the execution provider of its device where this machine has
it, else on the CPU. Subgraphs of equal content share one session: they have the same form, so their inputs
and outputs correspond by position. A value is kept until the last subgraph that reads from its producer has
run.

Inputs that the file does not have are random: floats from the normal distribution, integers 0 or 1. Exit
status: 0 equal up to the tolerance, 1 different, 2 a file of the manifest is missing or has another content.
"""

import argparse
import hashlib
import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import numpy_helper


class WrongFile(Exception):
    pass


def sha256_of(path):
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def session_of(path, provider=None, optimize=False):
    options = ort.SessionOptions()
    if not optimize:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    providers = ["CPUExecutionProvider"]
    if provider and provider["name"] in ort.get_available_providers() and provider["name"] != providers[0]:
        providers.insert(0, (provider["name"], provider.get("options", {})))
    return ort.InferenceSession(str(path), options, providers=providers)


class Deployed:
    """A network that is ready for requests."""

    def __init__(self, manifest_path, optimize=False):
        self.folder = pathlib.Path(manifest_path).parent
        self.manifest = json.loads(pathlib.Path(manifest_path).read_text(encoding="utf-8"))
        self.optimize = optimize
        self.check_files()
        devices = {device["id"]: device for device in self.manifest["devices"]}
        self.subgraphs = {s["id"]: s for s in self.manifest["subgraphs"]}
        self.sessions, by_content = {}, {}
        for s in self.manifest["subgraphs"]:
            if s["file"] is None:
                raise WrongFile("the manifest has no files of parts (--parts never)")
            key = s.get("content", s["id"]), s["device"]
            if key not in by_content:
                provider = devices[s["device"]].get("ep")
                by_content[key] = session_of(self.folder / s["file"], provider, optimize), s
            self.sessions[s["id"]] = by_content[key]  # with the subgraph that it was made for

    def check_files(self):
        for file in self.manifest["files"]:
            path = self.folder / file["path"]
            if not path.is_file():
                raise WrongFile(f"{path} is not there")
            if path.stat().st_size != file["bytes"] or sha256_of(path) != file["sha256"]:
                raise WrongFile(f"{path} has another content than the manifest says")

    def whole_model(self):
        return self.folder / next(f["path"] for f in self.manifest["files"] if f["role"] == "model")

    def run(self, feeds):
        """{output: value}. `feeds` has every input of the network that is not optional."""
        network = self.manifest["network"]
        outputs = [v["name"] for v in network["outputs"]]
        missing = [v["name"] for v in network["inputs"] if not v.get("optional") and v["name"] not in feeds]
        if missing:
            raise KeyError(f"inputs are missing: {', '.join(missing)}")
        store, left = dict(feeds), {s: self.subgraphs[s]["reference_count"] for s in self.subgraphs}
        for name in self.manifest["partition"]["order"]:
            subgraph = self.subgraphs[name]
            self.run_one(subgraph, store)
            for producer in subgraph["depends"]:
                left[producer] -= 1
                if left[producer] == 0:
                    self.free(self.subgraphs[producer], store)
        self.copy_outputs(outputs, store)
        return {name: store[name] for name in outputs}

    def run_one(self, subgraph, store):
        if not subgraph["outputs"]:  # nothing needs its results
            return
        session, model = self.sessions[subgraph["id"]]
        # An optional input that nobody gave has its default in the part.
        ports = zip(model["inputs"], subgraph["inputs"], strict=True)
        feeds = {port["name"]: store[v["name"]] for port, v in ports if v["name"] in store}
        results = session.run([port["name"] for port in model["outputs"]], feeds)
        for v, result in zip(subgraph["outputs"], results, strict=True):
            store[v["name"]] = result

    @staticmethod
    def free(subgraph, store):
        for v in subgraph["outputs"]:
            if not v["network_output"]:
                store.pop(v["name"], None)

    def copy_outputs(self, outputs, store):
        """Outputs that no subgraph makes are inputs of the network, which are there, or constants."""
        missing = {name for name in outputs if name not in store}
        if not missing:
            return
        path = self.whole_model()
        graph = onnx.load(path).graph
        for tensor in graph.initializer:
            if tensor.name in missing:
                store[tensor.name] = numpy_helper.to_array(tensor, str(path.parent))
        for node in graph.node:  # before IR version 4
            if node.op_type == "Constant" and node.output[0] in missing:
                store[node.output[0]] = numpy_helper.to_array(node.attribute[0].t, str(path.parent))


def random_feeds(session, given, extents, seed):
    rng = np.random.default_rng(seed)
    feeds = {}
    for v in session.get_inputs():
        if v.name in given:
            feeds[v.name] = given[v.name]
            continue
        shape = [d if isinstance(d, int) else extents.get(d, 2) for d in v.shape]
        if not v.type.startswith("tensor("):
            sys.exit(f"run_manifest: '{v.name}' is a {v.type}: only tensors can be made here")
        element = v.type.removeprefix("tensor(").removesuffix(")").upper()
        dtype = onnx.helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, element))
        if dtype == object:
            feeds[v.name] = np.full(shape, "text", dtype=object)
        elif dtype.kind in "iub":
            feeds[v.name] = rng.integers(0, 2, shape).astype(dtype)
        else:
            feeds[v.name] = rng.standard_normal(shape).astype(dtype)
    return feeds


def difference(a, b):
    """The largest difference, relative to the largest element; inf where types, shapes or NaNs differ."""
    if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
        if type(a) is not type(b) or len(a) != len(b):
            return np.inf
        return max(map(difference, a, b), default=0.0)
    if a is None or b is None:
        return 0.0 if a is b else np.inf
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return np.inf
    if a.dtype.kind not in "fc" and a.dtype.name not in ("bfloat16",):
        return 0.0 if np.array_equal(a, b) else np.inf
    a, b = a.astype(np.float64), b.astype(np.float64)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    if np.all(same):
        return 0.0
    if not np.all(np.isfinite(a[~same]) & np.isfinite(b[~same])):
        return np.inf
    scale = max(np.max(np.abs(a[np.isfinite(a)]), initial=0.0), 1e-30)
    return float(np.max(np.abs(a[~same] - b[~same])) / scale)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("manifest", type=pathlib.Path)
    parser.add_argument("--inputs", type=pathlib.Path, help="values by name, of numpy.savez")
    parser.add_argument("--dim", action="append", default=[], metavar="SYMBOL=N", help="default: 2")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--tolerance", type=float, default=0.0, help="of the largest element (default: 0)")
    args = parser.parse_args()
    extents = {name: int(n) for name, n in (text.rsplit("=", 1) for text in args.dim)}
    try:
        deployed = Deployed(args.manifest)
    except WrongFile as e:
        print(f"run_manifest: {e}", file=sys.stderr)
        return 2
    whole = session_of(deployed.whole_model())
    given = dict(np.load(args.inputs)) if args.inputs else {}
    feeds = random_feeds(whole, given, extents, args.seed)
    try:
        results = whole.run(None, feeds)
    except Exception as e:  # the runtime has errors of its own
        print(f"run_manifest: the whole model does not take random inputs: {str(e)[:300]}", file=sys.stderr)
        print("  give open dims that fit together (--dim past=3 --dim total=5), or --inputs", file=sys.stderr)
        return 2
    wanted = dict(zip((v.name for v in whole.get_outputs()), results, strict=True))
    got = deployed.run(feeds)
    worst = 0.0
    for name, value in wanted.items():
        far = difference(value, got[name])
        worst = max(worst, far)
        print(f"{name}: {'equal' if far == 0 else f'differs by {far:.3g}'}")
    parts = len(deployed.sessions)
    engines = len({id(session) for session, _ in deployed.sessions.values()})
    verdict = "equal" if worst == 0 else f"largest difference {worst:.3g}"
    print(f"{parts} subgraphs in {engines} sessions, {verdict}")
    return 0 if worst <= args.tolerance else 1


if __name__ == "__main__":
    sys.exit(main())
