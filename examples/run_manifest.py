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

Inputs that the file does not have are random: floats from the normal distribution, integers 0 or 1. Open dims
without --dim are tried from small sizes on until the whole model takes them (draw_inputs.py).

Results are equal if no element differs by more than REL of the output's largest one. Without --tolerance REL
follows from the least precise floating type in the model, as in graphopt's --check: 1e-4 for float32, 1e-2
for float16. Of an output that differs between two equal runs of the whole, as random operators make it, only
type and shape are compared.

Exit status: 0 equal up to the tolerance, 1 different, 2 there is no result: the manifest or a file of it is
missing or has another content, or the whole model does not take the inputs.
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
from bucket_shapes import Buckets
from draw_inputs import candidates, random_feeds, sizes_for
from onnx import numpy_helper

# Of the largest element of an output, by the shortest floating type that is computed in: those of graphopt's
# --check (docs/check.md). Between parts a value is rounded that a runtime may keep in more bits inside the
# whole.
TOLERANCE = {"BFLOAT16": 5e-2, "FLOAT16": 1e-2, "FLOAT": 1e-4, "DOUBLE": 1e-6}
# The same, for requests that a bucket takes: sums then have more addends of zero, in another
# order and by the kernels of other shapes. That shows in the last bits of the shortest type that is computed
# in, as ONNX Runtime's own levels of optimization do; one pad element that leaks into a mean of a hundred
# changes it by a hundredth.
PADDED_TOLERANCE = {"BFLOAT16": 3e-2, "FLOAT16": 4e-3, "FLOAT": 2e-4, "DOUBLE": 1e-6}
DRAWN_REQUESTS = 4


class WrongFile(Exception):
    pass


def read_manifest(path):
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except OSError as e:
        raise WrongFile(f"{path} cannot be read: {e.strerror}") from e
    except ValueError as e:  # no UTF-8, or no JSON
        raise WrongFile(f"{path} is no JSON: {e}") from e
    if not isinstance(manifest, dict) or manifest.get("format") != "graphopt.manifest":
        raise WrongFile(f"{path} is no manifest of graphopt: give the file OUT.manifest.json that it wrote")
    if not str(manifest.get("version")).startswith("1."):
        raise WrongFile(f"{path} has version {manifest.get('version')}, and this program reads 1.x")
    return manifest


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
        self.manifest = read_manifest(pathlib.Path(manifest_path))
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


def tolerance_of(path, table):
    """What the shortest floating type of a model allows."""
    model = onnx.load(path, load_external_data=False)
    types = types_in(model.graph).union(*(types_of_nodes(f.node) for f in model.functions))
    names = {onnx.TensorProto.DataType.Name(t) for t in types}
    return max((far for name, far in table.items() if name in names), default=0.0)


def padded_tolerance(path):
    return tolerance_of(path, PADDED_TOLERANCE)


def compare(wanted, again, got, tolerance):
    """[(output, its difference, whether that is too much)]. `again`: a second run of what gave `wanted`."""
    rows = []
    for name, value in wanted.items():
        far = difference(value, got[name])
        if difference(value, again[name]) > 0:
            same = np.shape(value) == np.shape(got[name]) and type(value) is type(got[name])
            far = 0.0 if same else np.inf
        rows.append((name, far, not far <= tolerance))
    return rows


def run_quietly(session, feeds):
    """The results by name. Raises what the runtime raises, without its line on stderr."""
    options = ort.RunOptions()
    options.log_severity_level = 4
    return dict(zip((v.name for v in session.get_outputs()), session.run(None, feeds, options), strict=True))


def first_run(session, requests, given, buckets, rng):
    """(feeds, results) of the first request that the whole model takes; raises what it said of the first."""
    problem = None
    for extents in requests:
        feeds = random_feeds(session, given, sizes_for(extents, buckets), rng)
        try:
            return feeds, run_quietly(session, feeds)
        except Exception as e:  # the runtime has errors of its own
            problem = problem or e
    raise problem


def said_of(far, wrong):
    if far == 0:
        return "equal"
    return f"differs by {far:.3g}" if wrong else f"equal up to {far:.3g}"


def amount(value):
    """Says so where there was nothing to compare, as where a detector finds nothing."""
    return " (it has no elements)" if isinstance(value, np.ndarray) and value.size == 0 else ""


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
        help="a size, or several: one request for each. Without it the smallest sizes that fit; random ones "
        "for symbols of buckets",
    )
    parser.add_argument("--requests", type=int, default=DRAWN_REQUESTS, metavar="N", help="to be drawn (4)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--tolerance",
        type=float,
        help="of the largest element (default by type: float32 1e-4, 2e-4 where inputs are padded)",
    )
    args = parser.parse_args()
    chosen = {}
    for text in args.dim:
        name, _, sizes = text.rpartition("=")
        if not name or not all(n.isdecimal() for n in sizes.split(",")):
            parser.error(f"--dim: '{text}' is not SYMBOL=N or SYMBOL=N,N")
        chosen[name] = [int(n) for n in sizes.split(",")]
    try:
        deployed = Deployed(args.manifest)
        given = dict(np.load(args.inputs)) if args.inputs else {}
    except (WrongFile, OSError, ValueError) as e:
        print(f"run_manifest: {e}", file=sys.stderr)
        return 2
    whole = session_of(deployed.whole_model())
    known = {d for v in whole.get_inputs() for d in v.shape if isinstance(d, str)}
    known |= set(deployed.manifest["network"]["symbols"])
    known |= set(deployed.buckets.ranges if deployed.buckets else ())
    if unknown := sorted(set(chosen) - known):
        text = f"no input has a dim named {unknown[0]}; there are {', '.join(sorted(known))}"
        print(f"run_manifest: --dim: {text}", file=sys.stderr)
        return 2
    padded = padded_tolerance(deployed.whole_model()) if deployed.buckets else 0.0
    plain = tolerance_of(deployed.whole_model(), TOLERANCE)
    least = {s: b["min"] for s, b in deployed.manifest["network"]["symbols"].items()}
    rng = np.random.default_rng(args.seed)
    worst, wrong, ran, in_buckets = 0.0, False, 0, 0
    if given:  # they have their shapes
        requests = [{s: sizes[0] for s, sizes in chosen.items()}]
    else:
        requests = list(requests_of(chosen, deployed.buckets, args.requests, rng))
    for extents in requests:
        # Symbols of buckets have their sizes; others are open.
        tries = [extents] if given or deployed.buckets else candidates(whole.get_inputs(), extents, least)
        try:
            feeds, wanted = first_run(whole, tries, given, deployed.buckets, rng)
        except Exception as e:  # the runtime has errors of its own
            where = f" at {text_of(extents)}" if extents else ""
            print(f"run_manifest: the whole model does not take random inputs{where}: {e}", file=sys.stderr)
            continue
        ran += 1
        bucket, true = deployed.bucket_of(feeds)
        allowed = args.tolerance
        if allowed is None:
            allowed = padded if bucket else plain
        rows = compare(wanted, run_quietly(whole, feeds), deployed.run(feeds), allowed)
        worst, wrong = max([worst, *(far for _, far, _ in rows)]), wrong or any(bad for *_, bad in rows)
        if not deployed.buckets:
            for name, far, bad in rows:
                print(f"{name}: {said_of(far, bad)}{amount(wanted[name])}")
            continue
        in_buckets += bucket is not None
        place = f"bucket {text_of(bucket['at'])}" if bucket else "the fallback"
        far = [f"{name} {said_of(far, bad)}" for name, far, bad in rows if far > 0]
        print(f"{text_of(true or extents)}: {place}: {', '.join(far) or 'equal'}", flush=True)
    if not ran:
        print("  give open dims that fit together (--dim past=3 --dim total=5), or --inputs", file=sys.stderr)
        return 2
    verdict = f"largest difference {worst:.3g}" if wrong else said_of(worst, wrong)
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
