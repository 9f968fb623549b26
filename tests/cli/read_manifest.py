#!/usr/bin/env python3
"""Reading manifests: what the tool wrote is read and written again with the same bytes; each kind of mistake
is refused with its path in the document."""

import copy
import json
import pathlib
import random
import sys

from _tool import expect, main
from onnx import parser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib import manifests  # noqa: E402
from lib.profiles import profile  # noqa: E402

HEAD = '<ir_version: 10, opset_import: ["" : 17]>\n'
# Relu and Add run on the device: three subgraphs; r has two readers in one of them. With buckets the mean
# over a padded axis is repaired, which adds an input.
STEPS = """g (float[batch,seq] x, float[seq,batch] t) => (float[batch,1] y, float[batch,seq] z) {
  [first] r = Relu (x) [more] a = Add (r, r) [less] b = Add (a, r)
  [host] e = Erf (b)  [last] z = Relu (e)  [mean] y = ReduceMean <axes = [1]> (z)
}"""
MASKED = """g (float[batch,seq,4] q, float[batch,seq] keep) => (float[batch,seq,4] y)
  <float one = {1}, float low = {-10000}, int64[1] at = {1}> {
  k = Transpose <perm = [0, 2, 1]> (q)  s = MatMul (q, k)  n = Sub (one, keep)  b = Mul (n, low)
  u = Unsqueeze (b, at)  a = Add (s, u)  [attend] p = Softmax <axis = -1> (a)  y = MatMul (p, q)
}"""
JOINED = """g (float[past,4] p, float[seq,4] x) => (float[total,4] y, float[m] z) <int64[1] flat = {-1}> {
  y = Concat <axis = 0> (p, x)  z = Reshape (y, flat)
}"""
KINDS = """g (seq(float[N]) s, optional(seq(float)) o, float[N,M] x)
  => (seq(float[N]) t, float[N,M] y) {
  t = Identity (s)  y = Relu (x)
}"""
EMPTY = "g (float[N] x) => (float[N] x) {}"


def written(tool, folder, name, text, *words):
    """The path of the manifest of a run."""
    source = folder / f"{name}.onnx"
    source.write_bytes(parser.parse_model(HEAD + text).SerializeToString())
    out = folder / f"{name}.out.onnx"
    done = tool(source, "-o", out, *words)
    expect(done.returncode == 0, done.stderr)
    return folder / f"{name}.out.manifest.json"


def full(tool, folder):
    """A manifest with something below every key but `refused` and `assumptions`."""
    lengths = folder / "lengths.txt"
    lengths.write_text("3\n4\n7\n8\n8\n")
    marks = {
        "groups": [
            {"symbols": ["seq"], "method": {"hist": {"file": lengths.name, "buckets": 2}}, "range": [1, 8]},
            {"symbols": ["batch"], "values": [1, 2], "fixed": True},
        ],
        "where": "batch*seq <= 16",
        "require": "repair",
    }
    (folder / "marks.json").write_text(json.dumps(marks))
    device = profile(folder, "Relu", "Add")
    words = ("-O0", "--devices", device, "--buckets", folder / "marks.json")
    return written(tool, folder, "full", STEPS, *words)


def test_comes_back(tool, folder):
    device = profile(folder, "Relu", "Add")
    sizes = ("--bucket", "seq=4,8", "--bucket", "batch=1,2")
    paths = [
        full(tool, folder),
        written(tool, folder, "plain", STEPS, "--devices", device),
        written(tool, folder, "noparts", STEPS, "--devices", device, "--parts", "never"),
        written(tool, folder, "masked", MASKED, *sizes),
        written(tool, folder, "forced", STEPS, *sizes, "--bucket-require", "force"),
        written(tool, folder, "joined", JOINED, "--bucket", "seq=4,8", "--bucket", "past=2,4"),
        written(tool, folder, "kinds", KINDS, "--devices", device),
        written(tool, folder, "empty", EMPTY, "--devices", device),
    ]
    found = manifests.read_again(tool.binary, *paths)
    expect(not found, *found)
    all_words = {json.loads(p.read_text())["buckets"].get("verdict") for p in paths}
    expect(all_words == {None, "proved", "assumed", "refused"}, all_words)


def at(*path):
    """A function that gives the holder of the last key of a path, and that key."""

    def find(document):
        for key in path[:-1]:
            document = document[key]
        return document, path[-1]

    return find


def put(value, *path):
    def edit(document):
        holder, key = at(*path)(document)
        holder[key] = value

    return edit


def drop(*path):
    def edit(document):
        holder, key = at(*path)(document)
        del holder[key]

    return edit


def add(value, *path):
    """Appends to a list; a function makes the value of the list."""

    def edit(document):
        holder, key = at(*path)(document)
        holder[key].append(copy.deepcopy(value(holder[key]) if callable(value) else value))

    return edit


HASH = "sha256:" + "0" * 64
TYPE = {"kind": "tensor", "dtype": "FLOAT", "shape": [4]}
BUCKET = ("buckets", "models", 0)

# What is done to the full manifest, the path that is named, and words of the message. One of each kind.
MISTAKES = [
    # Forms of values.
    (put("onnx", "format"), "format", 'found "onnx"'),
    (put("2.0", "version"), "version", "version 1.x"),
    (put("1.", "version"), "version", "version 1.x"),
    (put([], "tool"), "tool", "an object with the keys"),
    (put("onnxsim", "tool", "name"), "tool.name", '"graphopt"'),
    (put(1.5, "tool", "options", "level"), "tool.options.level", "a whole number"),
    (put("0" * 64, "network", "id"), "network.id", "sha256:"),
    (put("sha256:" + "G" * 64, "network", "source_id"), "network.source_id", "in lower case"),
    (put(2, "network", "ir_version"), "network.ir_version", "at least 3"),
    (put(0, "network", "opset", 0, "version"), "network.opset[0].version", "at least 1"),
    (put("", "network", "inputs", 0, "name"), "network.inputs[0].name", "not empty"),
    (put("float", "network", "inputs", 0, "type", "dtype"), "network.inputs[0].type.dtype", "did you mean"),
    (put("list", "network", "inputs", 0, "type", "kind"), "network.inputs[0].type.kind", "allowed: tensor"),
    (put([-1], "network", "outputs", 0, "type", "shape"), "network.outputs[0].type.shape[0]", "at least 0"),
    (drop("network", "outputs", 0, "type", "shape"), "network.outputs[0].type", '"shape" is missing'),
    (put({"min": 3, "max": 2}, "network", "symbols", "seq"), "network.symbols.seq", "below"),
    (put("/m.onnx", "files", 0, "path"), "files[0].path", "from the manifest's folder"),
    (put("a/../../m.onnx", "files", 0, "path"), "files[0].path", "without '..'"),
    (put("c:m.onnx", "files", 0, "path"), "files[0].path", "forward slashes"),
    (put("weights", "files", 0, "role"), "files[0].role", "allowed: model, "),
    (put("ff", "files", 0, "sha256"), "files[0].sha256", "64 hexadecimal digits"),
    (put(-1, "files", 0, "bytes"), "files[0].bytes", "at least 0"),
    (put(True, "files", 0, "bytes"), "files[0].bytes", "at least 0"),
    (put("a b", "devices", 0, "id"), "devices[0].id", "1 to 64"),
    (put("tpu", "devices", 0, "kind"), "devices[0].kind", "allowed: cpu"),
    (put("yes", "devices", 0, "host"), "devices[0].host", "true or false"),
    (put({"name": "x", "options": {"a": 1}}, "devices", 0, "ep"), "devices[0].ep.options.a", "a text"),
    (put("best", "partition", "algorithm"), "partition.algorithm", "allowed: depth"),
    (put([[]], "subgraphs", 0, "nodes"), "subgraphs[0].nodes[0]", "a text that is not empty"),
    (put([], "subgraphs", 0, "nodes"), "subgraphs[0].nodes", "at least 1"),
    (put({"bytes": 1, "formula": "N"}, "borders", 0, "size"), "borders[0].size", "both"),
    (put({"bytes": None, "formula": "4*"}, "borders", 0, "size"), "borders[0].size.formula", "an expression"),
    (put("slow", "statistics", "unsupported", 0, "reason"), "statistics.unsupported[0].reason", "reasons"),
    (put(["r"], "groups", 0, "back"), "groups[0].back", "at least 2"),
    # Keys.
    (put(1, "subgraph"), "subgraph", "there is no such key"),
    (put(1, "subgraphs", 0, "devices"), "subgraphs[0].devices", "there is no such key"),
    (put(1, "network", "inputs", 0, "type", "elem"), "network.inputs[0].type.elem", "there is no such key"),
    (drop("devices"), "", 'the key "devices" is missing'),
    (drop("subgraphs", 0, "reference_count"), "subgraphs[0]", 'the key "reference_count" is missing'),
    (put([], "extensions"), "extensions", "an object"),
    # References.
    (put("tpu", "subgraphs", 0, "device"), "subgraphs[0].device", "allowed: npu, cpu"),
    (put("s9", "subgraphs", 1, "inputs", 0, "from"), "subgraphs[1].inputs[0].from", "subgraphs"),
    (put(["s9"], "subgraphs", 0, "outputs", 0, "to"), "subgraphs[0].outputs[0].to[0]", "subgraphs"),
    (put("s9", "borders", 0, "to"), "borders[0].to", "s0"),
    (put("s9", "partition", "order", 0), "partition.order[0]", "s0"),
    (put("s1", "partition", "order", 0), "partition.order[1]", "a second time"),
    (put("s1", "subgraphs", 0, "id"), "subgraphs[1].id", "a second time"),
    (put("cpu", "devices", 0, "id"), "devices[1].id", "a second time"),
    (put({"gpu": 1}, "statistics", "device_nodes"), "statistics.device_nodes.gpu", "cpu"),
    (put("s9", "groups", 0, "subgraph"), "groups[0].subgraph", "s0"),
    (add(lambda v: v[0], "network", "inputs"), "network.inputs[2].name", "a second time"),
    (add(lambda v: v[0], "files"), "path", "a second time"),
    # What two places say.
    (put(False, "devices", -1, "host"), "devices", "0 hosts"),
    (put(7, "subgraphs", 0, "reference_count"), "subgraphs[0].reference_count", "allowed: 1"),
    (put([], "subgraphs", 1, "depends"), "subgraphs[1].depends", "its inputs are from"),
    (put(["s1", "s0", "s2"], "partition", "order"), "partition.order", "does not come after"),
    (put([["s0", "s1"], ["s2"]], "partition", "stages"), "partition.stages", "does not come after"),
    (put([["s0"], ["s1"]], "partition", "stages"), "partition.stages", "is missing"),
    (put([["s0"], ["s1"], ["s2", "s0"]], "partition", "stages"), "partition.stages[2]", "a second time"),
    (add("host", "subgraphs", 0, "nodes"), "subgraphs[1].nodes[0]", "a second time"),
    (put("nothing", "subgraphs", 0, "inputs", 0, "name"), "subgraphs[0].inputs[0].name", "of the network"),
    (put([], "subgraphs", 0, "outputs", 0, "to"), "borders[0]", "has no output"),
    (put([], "borders"), "subgraphs[0].outputs[0].to", "is missing in borders"),
    (put("x", "subgraphs", 1, "inputs", 0, "name"), "subgraphs[0].outputs[0].to", "has no input"),
    (add(lambda v: v[0], "borders"), "borders[3]", "a second time"),
    (
        put(True, "subgraphs", 0, "outputs", 0, "network_output"),
        "subgraphs[0].outputs[0].network_output",
        "found true",
    ),
    (
        put("q", "subgraphs", 0, "outputs", 0, "state_of"),
        "subgraphs[0].outputs[0].state_of",
        "an input of the network",
    ),
    (put("m.onnx", "subgraphs", 0, "file"), "subgraphs[0].file", 'a path in "files"'),
    (put(3, "statistics", "nodes"), "statistics.nodes", "the number of nodes"),
    (put(1, "statistics", "accelerator_subgraphs"), "statistics.accelerator_subgraphs", "not on the host"),
    (put(3, "groups", 0, "reference_count"), "groups[0].reference_count", '"back"'),
    # Buckets.
    (put("maybe", "buckets", "verdict"), "buckets.verdict", "allowed: proved"),
    (put("assumed", "buckets", "verdict"), "buckets.verdict", "without an assumption"),
    (put("refused", "buckets", "verdict"), "buckets.verdict", '"refused" is missing'),
    (put("guess", "buckets", "repairs", 0, "kind"), "buckets.repairs[0].kind", "allowed: mask"),
    (put([8, 4], "buckets", "symbols", "seq"), "buckets.symbols.seq[1]", "ascending"),
    (put([4], "buckets", "symbols", "len"), "buckets.symbols.len", "symbols"),
    (drop("buckets", "symbols", "seq"), "buckets.symbols", '"seq" is missing'),
    (put([8, 1], "buckets", "ranges", "seq"), "buckets.ranges.seq", "no number is in it"),
    (put([1, None], "buckets", "ranges", "seq"), "buckets.ranges.seq[1]", "a whole number"),
    (put(["len"], "buckets", "fixed"), "buckets.fixed[0]", "allowed: seq"),
    (add(["seq"], "buckets", "groups"), "buckets.groups[2]", "a second time"),
    (put("seq", "buckets", "where"), "buckets.where", "a comparison"),
    (put(["(seq) mod 0 == 0"], "buckets", "constraints"), "buckets.constraints[0]", "a constraint"),
    (put("seq x", "buckets", "inputs", "x", "dims", 0), "buckets.inputs.x.dims[0]", "a layout"),
    (put("nan", "buckets", "inputs", "x", "pad"), "buckets.inputs.x.pad", '"inf"'),
    (drop("buckets", "inputs", "x", "pad"), "buckets.inputs.x", '"pad" is missing'),
    (put({"dims": [], "pad_class": "none"}, "buckets", "inputs", "q"), "buckets.inputs.q", "no such input"),
    (put("int32", "buckets", "extra_inputs", 0, "dtype"), "buckets.extra_inputs[0].dtype", "int64"),
    (put(["seq"], "buckets", "outputs", "z", "cut"), "buckets.outputs.z.cut", "2 layouts"),
    (put(["batch", "(("], "buckets", "outputs", "z", "dims"), "buckets.outputs.z.dims[1]", "an extent"),
    # Schedules.
    (drop("schedule", "groups"), "schedule", '"groups" is missing'),
    (put("s9", "schedule", "values", 0, "to", 0), "schedule.values[0].to[0]", "s0"),
    (put(7, "schedule", "values", 0, "last"), "schedule.values[0]", "does not follow from the subgraphs"),
    (put([], "schedule", "values"), "schedule.values", "found 0 entries"),
    (add(lambda v: v[0], "schedule", "values"), "schedule.values[5].value", "a second time"),
    (put(1, "schedule", "memory", 0, "weight_bytes"), "schedule.memory[0]", "does not follow"),
    (put([], "schedule", "memory", 0, "spills"), "schedule.memory[0]", "does not follow"),
    (put(3, *BUCKET, "schedule", "memory", 0, "peak"), "buckets.models[0].schedule.memory[0]", "not follow"),
    (put({"load_ns": {"gpu": 1}}, "schedule", "throughput"), "schedule.throughput.load_ns.gpu", "npu"),
    (put(5, *BUCKET, "at", "seq"), "buckets.models[0].at.seq", "a size of this symbol"),
    (add(lambda v: v[0], "buckets", "models"), "buckets.models[4].at", "do not come after"),
    (put("m.onnx", *BUCKET, "file"), "buckets.models[0].file", "whose role is model"),
    (put("m.onnx", "buckets", "fallback"), "buckets.fallback", "whose role is model"),
    (put("s9", *BUCKET, "partition", "order", 0), "buckets.models[0].partition.order[0]", "s0"),
    (put(9, *BUCKET, "statistics", "nodes"), "buckets.models[0].statistics.nodes", "nodes of the subgraphs"),
    (put({}, "buckets", "waste", "seq"), "buckets.waste.seq", '"observed" is missing'),
    (put([], "buckets"), "buckets", "an object"),
]


def test_is_refused_at_its_path(tool, folder):
    whole = json.loads(full(tool, folder).read_text())
    paths = []
    for i, (edit, _, _) in enumerate(MISTAKES):
        document = copy.deepcopy(whole)
        edit(document)
        expect(document != whole, f"mistake {i} changes nothing")
        paths.append(folder / f"mistake{i}.json")
        paths[-1].write_text(json.dumps(document))
    lines = manifests.read_again(tool.binary, *paths)
    wrong = []
    for path, (_, where, words) in zip(paths, MISTAKES, strict=True):
        said = [n for n, line in enumerate(lines) if f"{path}: " in line]
        place = f"{path}: {where}: " if where else f"{path}: "
        # The place of a file in its list depends on how many files a run writes.
        named = [n for n in said if place in lines[n] or (where == "path" and "].path: " in lines[n])]
        text = " ".join(lines[n] + lines[n + 1] for n in named)
        if words not in text or not text:
            wrong.append(f"{path.name}: {where}: '{words}' is not in: {[lines[n] for n in said]}")
    expect(not wrong, *wrong)


def test_is_no_document(tool, folder):
    text = full(tool, folder).read_text()
    for name, broken, words in [
        ("cut", text[: len(text) // 2], "line"),
        ("nothing", "", "line"),
        ("number", "1", "an object with the keys"),
        ("twice", text.replace('"format"', '"files"', 1), "twice"),
        ("deep", text.replace('"extensions"', "") + "[" * 1000, "line"),
        ("types", nested(text), "inside each other"),
    ]:
        path = folder / f"{name}.json"
        path.write_text(broken)
        lines = manifests.read_again(tool.binary, path)
        expect(any(words in line for line in lines), name, *lines)


def nested(text):
    """With an input whose type nests deeper than any model's."""
    document = json.loads(text)
    kind = TYPE
    for _ in range(200):
        kind = {"kind": "sequence", "elem": kind}
    document["network"]["inputs"][0]["type"] = kind
    return json.dumps(document)


def places(document, path=()):
    """The path of each value."""
    for key in range(len(document)) if isinstance(document, list) else sorted(document):
        yield (*path, key)
        if isinstance(document[key], dict | list):
            yield from places(document[key], (*path, key))


def test_any_value_anywhere_is_taken_or_refused(tool, folder):
    whole = json.loads(full(tool, folder).read_text())
    rng = random.Random(7)
    values = [None, -1, 2**64 - 1, 1e300, "", "s1", "?", [], ["s0"], {}, True, [[[]]], {"": {}}]
    paths = []
    for i, where in enumerate(rng.sample(list(places(whole)), 300)):
        document = copy.deepcopy(whole)
        put(rng.choice(values), *where)(document)
        paths.append(folder / f"changed{i}.json")
        paths[-1].write_text(json.dumps(document))
    lines = manifests.read_again(tool.binary, *paths)  # raises where the program crashes
    silent = [p.name for p in paths if not any(f"{p}: " in line for line in lines)]
    expect(not silent, *silent)


def test_takes_later_versions(tool, folder):
    path = full(tool, folder)
    document = json.loads(path.read_text())
    document |= {"version": "1.7", "extensions": {"vendor": {"speed": 1}}}
    path.write_text(json.dumps(document))
    lines = manifests.read_again(tool.binary, path)
    expect(lines == [f"{path}: is written otherwise"], *lines)


if __name__ == "__main__":
    sys.exit(main(globals()))
