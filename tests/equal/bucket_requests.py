#!/usr/bin/env python3
# LONG: --all
"""Requests in buckets of shapes: the runner of the library and examples/bucket_shapes.py agree on manifests.

  bucket_requests.py GRAPHOPT [FOLDER] [--all] [--only NAME ...] [--draws N]

The models are the small ones of bucket_single.py, some of which are written with --bucket-require repair, OWN
of this file, and models of tests/models with their symbols marked one by one and together (FOLDER holds them
filled; the short form takes those of at most SHORT_BYTES). graphopt writes OUT, the models of the buckets and
the manifest; nothing runs. Requests have extents inside of the ranges, at their ends, outside, 0, and shapes
that contradict each other. graphopt_bucket_requests (tests/programs), found beside the tool, and the example
must give the same extents, model, padded inputs, byte by byte, cut outputs, and sizes of the schedule's
values. Outputs of a bucket's model are drawn here, in the shape that its layouts have.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.parser

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "property"), str(TESTS / "equal"), str(TESTS.parent / "examples")]
import bucket_files  # noqa: E402
import bucket_shapes  # noqa: E402
import bucket_single  # noqa: E402
from bucket_models import tasks_of  # noqa: E402
from lib import models  # noqa: E402
from lib.tool import executable  # noqa: E402

SHORT_BYTES, DRAWS = 3e5, 24
CONTRADICTORY = 5  # each such request may contradict itself
# Types whose pads need an encoding of their own, merged and joined axes in each other, and a symbol alone.
OWN = {
    "small_floats": (
        21,
        "g (float8e4m3fn[b,s] x, float8e5m2[s] w, bfloat16[b,s] v) => (float8e4m3fn[s,b] y, float8e5m2[s] z, "
        "bfloat16[s,b] u) { y = Transpose (x)\n z = Identity (w)\n u = Transpose (v) }",
        {"s": "1..9:pow2", "b": "2,4"},
        {},
    ),
    "rows_of_sums": (
        17,
        "g (double[b,p,2] c, double[b,q,2] x) => (double[n] y, double[m,2] z) "
        "<int64[1] t = {-1}, int64[2] u = {-1, 2}> "
        "{ j = Concat <axis = 1> (c, x)\n y = Reshape (j, t)\n z = Reshape (j, u) }",
        {"b": "1..4:pow2", "p": "0..8:step=4", "q": "1..4:pow2"},
        {},
    ),
    "complex": (
        17,
        "g (complex64[s,2] x) => (complex64[2,s] y) { y = Transpose (x) }",
        {"s": "0..7:step=4"},
        {},
    ),
}


# ---- values ------------------------------------------------------------------------------------------------


def name_of(dtype):
    """A type as graphopt names it."""
    return onnx.TensorProto.DataType.Name(onnx.helper.np_dtype_to_tensor_dtype(dtype)).lower()


def drawn(shape, dtype, rng):
    """Any bits; texts; 0 and 1."""
    count = int(np.prod(shape, dtype=np.int64))
    if dtype == object:
        return np.array([f"{rng.integers(1000)}" for _ in range(count)], object).reshape(shape)
    if dtype == bool:
        return rng.integers(0, 2, shape).astype(bool)
    raw = rng.integers(0, 256, count * dtype.itemsize, dtype=np.uint8).tobytes()
    return np.frombuffer(raw, dtype).reshape(shape)


def as_json(values):
    return [
        {"name": name, "dtype": "string", "dims": list(v.shape), "strings": v.ravel().tolist()}
        if v.dtype == object
        else {"name": name, "dtype": name_of(v.dtype), "dims": list(v.shape), "hex": v.tobytes().hex()}
        for name, v in values.items()
    ]


# ---- requests ----------------------------------------------------------------------------------------------


def drawn_extents(buckets, others, k, rng):
    """Extents of all symbols: within the ranges, every third time at an end or just outside."""
    found = {}
    for s, (low, high) in buckets.ranges.items():
        near = [low - 1, low, high, high + 1, 0, *(n + d for n in buckets.sizes[s] for d in (0, 1))]
        inside = rng.choice(buckets.sizes[s]) if s in buckets.fixed else rng.integers(low, high + 1)
        found[s] = max(0, int(rng.choice(near) if k % 3 == 2 else inside))
    for s in others:
        found[s] = int(rng.integers(0 if k % 5 == 4 else 1, 4))
    return found


def shape_of(value, buckets, extents):
    """The shape of an input; a dim that the extents do not give is 3."""
    if value["name"] in buckets.dims:
        return [d.size(extents) if d.symbols() <= set(extents) else 3 for d in buckets.dims[value["name"]]]
    dims = value["type"]["shape"]
    return [d if isinstance(d, int) else max(extents.get(d, 3), 0) for d in dims]


def request(manifest, buckets, k, rng):
    """{input: array}; every fifth has an axis that contradicts the others, it may be."""
    values = [v for v in manifest["network"]["inputs"] if v["type"].get("shape") is not None]
    named = {n for v in values for n in symbols_of(v, buckets)}
    extents = drawn_extents(buckets, named - set(buckets.ranges), k, rng)
    feeds = {}
    for v in values:
        shape = shape_of(v, buckets, extents)
        dtype = np.dtype(
            onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.DataType.Value(v["type"]["dtype"]))
        )
        if not v.get("optional") or rng.integers(2):
            feeds[v["name"]] = shape, dtype
    if k % CONTRADICTORY == 3:
        shape, _ = feeds[list(feeds)[rng.integers(len(feeds))]]
        if shape:
            shape[rng.integers(len(shape))] += int(rng.integers(1, 3))
    return {name: drawn(shape, dtype, rng) for name, (shape, dtype) in feeds.items()}


def symbols_of(value, buckets):
    if value["name"] in buckets.dims:
        return set().union(*(d.symbols() for d in buckets.dims[value["name"]]))
    return {d for d in value["type"]["shape"] if isinstance(d, str)}


def outputs_of(manifest, buckets, true, padded, rng):
    """{output: array} of a bucket's model. An extent that data decide is drawn."""
    found, padded = {}, dict(padded)
    for v in manifest["network"]["outputs"]:
        if v["name"] not in buckets.outputs or v["type"].get("kind", "tensor") != "tensor":
            continue
        layouts = buckets.outputs[v["name"]][1]
        for s in sorted(set().union(*(d.symbols() for d in layouts)) - set(padded)):
            padded[s] = int(rng.integers(0, 5))
        dtype = np.dtype(
            onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.DataType.Value(v["type"]["dtype"]))
        )
        found[v["name"]] = drawn([d.size(padded) for d in layouts], dtype, rng)
    return found


# ---- the comparison ----------------------------------------------------------------------------------------


def size_of(size, true):
    if size.get("bytes") is not None or "formula" not in size:
        return size.get("bytes")
    formula = bucket_shapes.extent(size["formula"])
    bytes_ = formula.size(true) if formula.symbols() <= set(true) else -1
    return bytes_ if bytes_ >= 0 else None  # below 0 where the model does not run on such extents


def expected(manifest, buckets, feeds, rng):
    """(what the example does, the outputs that were drawn for it)"""
    true = buckets.extents(feeds)
    if true is None:
        return {"extents": None, "model": None}, {}
    true = {s: int(n) for s, n in true.items()}
    model = buckets.choose(true)
    values = (manifest.get("schedule") or {}).get("values", [])
    answer = {"extents": true, "model": None, "sizes": [size_of(v["size"], true) for v in values]}
    if model is None:
        return answer, {}
    padded = {**true, **model["at"]}
    outputs = outputs_of(manifest, buckets, true, padded, rng)
    answer["model"] = buckets.models.index(model)
    answer["inputs"] = as_json({k: np.asarray(v) for k, v in buckets.pad(feeds, true, padded).items()})
    answer["outputs"] = as_json(buckets.cut(outputs, true, padded))
    return answer, outputs


def problems_of(program, path, draws, rng, counts):
    manifest = json.loads(path.read_text(encoding="utf-8"))
    buckets = bucket_shapes.Buckets(manifest)
    requests, wanted = [], []
    for k in range(draws):
        feeds = request(manifest, buckets, k, rng)
        answer, outputs = expected(manifest, buckets, feeds, rng)
        requests.append({"inputs": as_json(feeds), "outputs": as_json(outputs)})
        wanted.append(answer)
    file = path.with_name("requests.json")
    file.write_text(json.dumps(requests), encoding="utf-8")
    done = subprocess.run([program, path, file], capture_output=True, text=True)
    if done.returncode:
        yield f"exit status {done.returncode}: {done.stderr.strip()[:300]}"
        return
    for k, (r, a, b) in enumerate(zip(requests, wanted, json.loads(done.stdout), strict=True)):
        counts["requests"] += 1
        counts["bucket"] += a["model"] is not None
        counts["contradictory"] += a["extents"] is None
        shapes = {v["name"]: v["dims"] for v in r["inputs"]}
        for key, value in a.items():
            if b.get(key, []) != value:
                got = str(b.get(key))[:200]
                yield f"{shapes}: {key} {got}, the example has {str(value)[:200]}: {b.get('why')}"
                break
        if a["model"] is not None and k % CONTRADICTORY != 3 and b["problems"]:
            yield f"{shapes}: {b['problems'][0]}"
        if a["extents"] is None and not any("input '" in text for text in b.get("why") or []):
            yield f"{shapes}: no input is named: {b.get('why')}"


def subjects(a, work):
    """Small and Real of bucket_single.py"""
    found = list(bucket_single.small_cases().values())
    for name, (opset, graph, buckets, values) in OWN.items():
        model = onnx.parser.parse_model(bucket_single.HEAD.format(opset) + graph)
        found.append(bucket_single.Small(name, model, bucket_single.own_marks(buckets), values))
    found = [s for s in found if not a.only or s.name in a.only]
    bound = float("inf") if a.all else SHORT_BYTES
    names = models.chosen([n for n in a.only if n in models.records()], lambda r: r["filled_bytes"] <= bound)
    if a.only and not set(a.only) & set(models.records()):
        names = []
    for task in tasks_of(models.filled([n for n in names if models.records()[n]["symbols"]], work)):
        found.append(bucket_single.Real(*task))
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("folder", nargs="?", metavar="FOLDER")
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    p.add_argument("--draws", type=int, default=DRAWS, metavar="N")
    a = p.parse_args()
    program = pathlib.Path(a.tool).parent / "tests" / "graphopt_bucket_requests"
    counts = {"models": 0, "refused": 0, "requests": 0, "bucket": 0, "contradictory": 0}
    bad = 0
    with models.work_folder(a.folder) as work:
        for subject in subjects(a, work):
            with tempfile.TemporaryDirectory() as folder:
                folder = pathlib.Path(folder)
                source = folder / "model.onnx"
                source.write_bytes(subject.model.SerializeToString())
                options = "--bucket-require", "repair"
                path, _ = bucket_files.write(a.tool, source, subject.marks(), folder, *options)
                if path is None:
                    counts["refused"] += 1
                    continue
                counts["models"] += 1
                found = list(problems_of(program, path, a.draws, np.random.default_rng(7), counts))
            bad += bool(found)
            if found:
                print("\n    ".join([f"{subject.name}: {len(found)} problems", *found[:3]]), flush=True)
    told = ", ".join(f"{n} {k}" for k, n in counts.items())
    print(f"{told}, {bad} bad")
    few = counts["bucket"] * 4 < counts["requests"] or not counts["contradictory"]
    if few and not a.only:
        print("too few requests have a bucket, or contradict each other")
    return 1 if bad or (few and not a.only) or not counts["models"] else 0


if __name__ == "__main__":
    sys.exit(main())
