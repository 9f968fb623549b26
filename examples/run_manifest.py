#!/usr/bin/env python3
"""Runs a partitioned model part by part, as its manifest says, and compares the result with the whole model.

  run_manifest.py MANIFEST [--inputs FILE.npz] [--dim SYMBOL=N[,N...] ...] [--requests N] [--seed N]
                  [--tolerance REL]

Each subgraph gets a session of ONNX Runtime with the execution provider of its device where this machine has
it, else on the CPU. Subgraphs of equal content share one session: they have the same form, so their inputs
and outputs correspond by position. A value is kept until the last subgraph that reads from its producer has
run.

Where the manifest has buckets, the shapes of a request decide which model it takes: its inputs are padded to
the extents of the smallest bucket that holds them, and the outputs are cut (bucket_shapes.py). A request that
no bucket holds, such as a length below LOW of `--bucket seq=LOW..HIGH`, runs as the whole does. `--dim
seq=13,40` gives a request of each length; symbols of buckets without --dim are drawn, N times, within their
ranges and now and then outside.

Inputs that the file does not have are random: floats from the normal distribution, integers 0 or 1. What is
called a mask keeps the first entry of each row: a row without any has no result that padding could keep.

Exit status: 0 equal up to the tolerance, 1 different, 2 a file of the manifest is missing or has another
content.
"""

import argparse
import hashlib
import itertools
import json
import pathlib
import sys

import numpy as np
import onnx
import onnxruntime as ort
from bucket_shapes import Buckets, extent
from onnx import numpy_helper

# Of the largest element, for requests that a bucket takes: sums then have more addends of zero, in another
# order and by the kernels of other shapes. That shows in the last bits of the shortest type that is computed
# in, as ONNX Runtime's own levels of optimization do; one pad element that leaks into a mean of a hundred
# changes it by a hundredth.
PADDED_TOLERANCE = {"BFLOAT16": 3e-2, "FLOAT16": 4e-3, "FLOAT": 2e-4, "DOUBLE": 1e-6}
DRAWN_REQUESTS = 4


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


class Parts:
    """A model as its subgraphs: OUT, or the model of a bucket. `entry` has their keys of the manifest."""

    def __init__(self, entry, path, network, session_for):
        self.path, self.order, self.network = path, entry["partition"]["order"], network
        self.subgraphs = {s["id"]: s for s in entry["subgraphs"]}
        # By id: a session, and the subgraph that it was made for.
        self.sessions = {name: session_for(s) for name, s in self.subgraphs.items()}

    def run(self, feeds):
        outputs = [v["name"] for v in self.network["outputs"]]
        store, left = dict(feeds), {s: self.subgraphs[s]["reference_count"] for s in self.subgraphs}
        for name in self.order:
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
        graph = onnx.load(self.path).graph
        for tensor in graph.initializer:
            if tensor.name in missing:
                store[tensor.name] = numpy_helper.to_array(tensor, str(self.path.parent))
        for node in graph.node:  # before IR version 4
            if node.op_type == "Constant" and node.output[0] in missing:
                store[node.output[0]] = numpy_helper.to_array(node.attribute[0].t, str(self.path.parent))


class Whole:
    """A model of which no parts were written."""

    def __init__(self, path, optimize):
        self.session = session_of(path, optimize=optimize)
        self.sessions = {}

    def run(self, feeds):
        known = {v.name for v in self.session.get_inputs()}
        results = self.session.run(None, {name: v for name, v in feeds.items() if name in known})
        return dict(zip((v.name for v in self.session.get_outputs()), results, strict=True))


class Deployed:
    """A network that is ready for requests. Models of buckets are loaded when a request takes them."""

    def __init__(self, manifest_path, optimize=False):
        self.folder = pathlib.Path(manifest_path).parent
        self.manifest = json.loads(pathlib.Path(manifest_path).read_text(encoding="utf-8"))
        self.optimize = optimize
        self.check_files()
        self.devices = {device["id"]: device for device in self.manifest["devices"]}
        self.by_content, self.loaded = {}, {}
        self.buckets = Buckets(self.manifest) if self.manifest.get("buckets") else None
        if not self.buckets and any(s["file"] is None for s in self.manifest["subgraphs"]):
            raise WrongFile("the manifest has no files of parts (--parts never)")
        self.fallback = self.load(self.manifest, self.whole_model())
        self.sessions = self.fallback.sessions

    def load(self, entry, path):
        if any(s["file"] is None for s in entry["subgraphs"]):
            return Whole(path, self.optimize)
        return Parts(entry, path, self.manifest["network"], self.session_for)

    def session_for(self, subgraph):
        key = subgraph.get("content", subgraph["file"]), subgraph["device"]
        if key not in self.by_content:
            provider = self.devices[subgraph["device"]].get("ep")
            session = session_of(self.folder / subgraph["file"], provider, self.optimize)
            self.by_content[key] = session, subgraph
        return self.by_content[key]

    def check_files(self):
        for file in self.manifest["files"]:
            path = self.folder / file["path"]
            if not path.is_file():
                raise WrongFile(f"{path} is not there")
            if path.stat().st_size != file["bytes"] or sha256_of(path) != file["sha256"]:
                raise WrongFile(f"{path} has another content than the manifest says")

    def whole_model(self):
        return self.folder / next(f["path"] for f in self.manifest["files"] if f["role"] == "model")

    def bucket_of(self, feeds):
        """(the entry of the model that a request takes, the request's extents); (None, _): the fallback."""
        true = self.buckets.extents(feeds) if self.buckets else None
        return (self.buckets.choose(true) if true else None), true

    def run(self, feeds):
        """{output: value}. `feeds` has every input of the network that is not optional."""
        inputs = self.manifest["network"]["inputs"]
        missing = [v["name"] for v in inputs if not v.get("optional") and v["name"] not in feeds]
        if missing:
            raise KeyError(f"inputs are missing: {', '.join(missing)}")
        bucket, true = self.bucket_of(feeds)
        if bucket is None:
            return self.fallback.run(feeds)
        padded = {**true, **bucket["at"]}
        results = self.model_of(bucket).run(self.buckets.pad(feeds, true, padded))
        return self.buckets.cut(results, true, padded)

    def model_of(self, bucket):
        if bucket["file"] not in self.loaded:
            self.loaded[bucket["file"]] = self.load(bucket, self.folder / bucket["file"])
        return self.loaded[bucket["file"]]


def random_feeds(session, given, size_of, rng):
    """`size_of(input, axis, text)` is the extent of an open dim."""
    feeds = {}
    for v in session.get_inputs():
        if v.name in given:
            feeds[v.name] = given[v.name]
            continue
        shape = [d if isinstance(d, int) else size_of(v.name, k, d) for k, d in enumerate(v.shape)]
        if not v.type.startswith("tensor("):
            sys.exit(f"run_manifest: '{v.name}' is a {v.type}: only tensors can be made here")
        element = v.type.removeprefix("tensor(").removesuffix(")").upper()
        dtype = onnx.helper.tensor_dtype_to_np_dtype(getattr(onnx.TensorProto, element))
        if dtype == object:
            feeds[v.name] = np.full(shape, "text", dtype=object)
        elif dtype.kind in "iub":
            feeds[v.name] = rng.integers(0, 2, shape).astype(dtype)
            if "mask" in v.name and shape and shape[-1]:
                feeds[v.name][..., 0] = 1
        else:
            feeds[v.name] = rng.standard_normal(shape).astype(dtype)
    return feeds


def sizes_for(extents, buckets):
    """The function that random_feeds asks, for extents of symbols; 2 where there is none."""

    def size_of(name, axis, text):
        if text in extents:
            return extents[text]
        try:
            found = buckets.dims[name][axis] if buckets and name in buckets.dims else extent(text)
            return found.size({**dict.fromkeys(found.symbols(), 2), **extents})
        except ValueError:  # a name that is no expression
            return 2

    return size_of


def requests_of(chosen, buckets, count, rng):
    """Extents of symbols, a request each: all combinations of the chosen ones, and where symbols of buckets
    are open, `count` draws for each. Every fourth draw takes one of them out of its range."""
    open_symbols = [s for s in (buckets.ranges if buckets else {}) if s not in chosen]
    for combination in itertools.product(*chosen.values()):
        for k in range(count if open_symbols else 1):
            drawn = {
                s: int(rng.choice(buckets.sizes[s]) if s in buckets.fixed else rng.integers(low, high + 1))
                for s, (low, high) in ((s, buckets.ranges[s]) for s in open_symbols)
            }
            if k % 4 == 3:
                s = open_symbols[k // 4 % len(open_symbols)]
                drawn[s] = buckets.ranges[s][1] + int(rng.integers(1, 5))
            yield {**dict(zip(chosen, combination)), **drawn}


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


def types_in(graph):
    """The types of what a graph says the type of: inputs, outputs, weights, constants, Casts; bodies too."""
    types = {t.data_type for t in graph.initializer}
    for v in [*graph.input, *graph.output, *graph.value_info]:
        types.add(v.type.tensor_type.elem_type)
    return types | types_of_nodes(graph.node)


def types_of_nodes(nodes):
    types = set()
    for node in nodes:
        for a in node.attribute:
            types |= {t.data_type for t in [a.t, *a.tensors]}
            if node.op_type == "Cast" and a.name == "to":
                types.add(a.i)
            for body in [a.g, *a.graphs]:
                types |= types_in(body)
    return types


def padded_tolerance(path):
    """What the shortest floating type of a model allows."""
    model = onnx.load(path, load_external_data=False)
    types = types_in(model.graph).union(*(types_of_nodes(f.node) for f in model.functions))
    names = {onnx.TensorProto.DataType.Name(t) for t in types}
    return max((far for name, far in PADDED_TOLERANCE.items() if name in names), default=0.0)


def compare(wanted, got, tolerance):
    """[(output, its difference, whether that is too much)]"""
    rows = []
    for name, value in wanted.items():
        far = difference(value, got[name])
        rows.append((name, far, not far <= tolerance))
    return rows


def counted(n, what):
    return f"{n} {what}{'' if n == 1 else 's'}"


def text_of(extents):
    return ", ".join(f"{s}={n}" for s, n in extents.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("manifest", type=pathlib.Path)
    parser.add_argument("--inputs", type=pathlib.Path, help="values by name, of numpy.savez")
    parser.add_argument(
        "--dim",
        action="append",
        default=[],
        metavar="SYMBOL=N[,N...]",
        help="a size, or several: one request for each. Without it 2; random sizes for symbols of buckets",
    )
    parser.add_argument("--requests", type=int, default=DRAWN_REQUESTS, metavar="N", help="to be drawn (4)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--tolerance",
        type=float,
        help="of the largest element (default: 0; where inputs are padded by type: float 2e-4)",
    )
    args = parser.parse_args()
    chosen = {}
    for text in args.dim:
        name, _, sizes = text.rpartition("=")
        chosen[name] = [int(n) for n in sizes.split(",")]
    try:
        deployed = Deployed(args.manifest)
    except WrongFile as e:
        print(f"run_manifest: {e}", file=sys.stderr)
        return 2
    whole = session_of(deployed.whole_model())
    known = {d for v in whole.get_inputs() for d in v.shape if isinstance(d, str)}
    known |= set(deployed.buckets.ranges if deployed.buckets else ())
    if unknown := sorted(set(chosen) - known):
        text = f"no input has a dim named {unknown[0]}; there are {', '.join(sorted(known))}"
        print(f"run_manifest: --dim: {text}", file=sys.stderr)
        return 2
    padded = padded_tolerance(deployed.whole_model()) if deployed.buckets else 0.0
    outputs = [v.name for v in whole.get_outputs()]
    given = dict(np.load(args.inputs)) if args.inputs else {}
    rng = np.random.default_rng(args.seed)
    worst, wrong, ran, in_buckets = 0.0, False, 0, 0
    if given:  # they have their shapes
        requests = [{s: sizes[0] for s, sizes in chosen.items()}]
    else:
        requests = list(requests_of(chosen, deployed.buckets, args.requests, rng))
    for extents in requests:
        feeds = random_feeds(whole, given, sizes_for(extents, deployed.buckets), rng)
        try:
            results = whole.run(None, feeds)
        except Exception as e:  # the runtime has errors of its own
            where = f" at {text_of(extents)}" if extents else ""
            text = f"the whole model does not take random inputs{where}: {str(e)[:300]}"
            print(f"run_manifest: {text}", file=sys.stderr)
            continue
        ran += 1
        bucket, true = deployed.bucket_of(feeds)
        wanted = dict(zip(outputs, results, strict=True))
        allowed = args.tolerance
        if allowed is None:
            allowed = padded if bucket else 0.0
        rows = compare(wanted, deployed.run(feeds), allowed)
        worst, wrong = max([worst, *(far for _, far, _ in rows)]), wrong or any(bad for *_, bad in rows)
        if not deployed.buckets:
            for name, far, _ in rows:
                print(f"{name}: {'equal' if far == 0 else f'differs by {far:.3g}'}")
            continue
        in_buckets += bucket is not None
        place = f"bucket {text_of(bucket['at'])}" if bucket else "the fallback"
        far = [f"{name} differs by {far:.3g}" for name, far, _ in rows if far > 0]
        print(f"{text_of(true or extents)}: {place}: {', '.join(far) or 'equal'}", flush=True)
    if not ran:
        print("  give open dims that fit together (--dim past=3 --dim total=5), or --inputs", file=sys.stderr)
        return 2
    verdict = "equal" if worst == 0 else f"largest difference {worst:.3g}"
    if deployed.buckets:
        counts = counted(ran, "request"), counted(len(deployed.loaded), "bucket")
        print(f"{counts[0]}, {in_buckets} of them in {counts[1]}, {verdict}")
    else:
        parts = len(deployed.sessions)
        engines = len({id(session) for session, _ in deployed.sessions.values()})
        print(f"{counted(parts, 'subgraph')} in {counted(engines, 'session')}, {verdict}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
