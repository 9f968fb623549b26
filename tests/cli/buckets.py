#!/usr/bin/env python3
"""--bucket: a model for each bucket of shapes, the manifest that lists them, and what is refused."""

import json
import pathlib
import re
import sys

import numpy as np
import onnx
from _tool import ANSWER_IS_NO, CHECK, INPUT, OUTPUT, USAGE, expect, main, refused
from onnx import numpy_helper, parser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from lib import manifests  # noqa: E402
from lib.profiles import profile  # noqa: E402

HEAD = '<ir_version: 10, opset_import: ["" : 17]>\n'
# What a ConstantOfShape of a Shape makes is a constant in each bucket, and its Add goes.
STEPS = """g (float[batch,seq,64] x, int64[batch,seq] ids) => (float[batch,seq,64] y) {
  e = Gather (t, ids)  s = Add (x, e)  m = MatMul (s, w)
  n = Shape (s)  z = ConstantOfShape (n)  r = Relu (m)  q = Add (r, z)  y = Erf (q)
}"""
WEIGHTS = {"w": (64, 64), "t": (9, 64)}
WEIGHT_BYTES = 4 * 64 * (64 + 9)
# A mean over a padded axis has no pad element that keeps it.
MEAN = """g (float[batch,seq] x) => (float[batch,1] y, float[batch,seq] z) {
  [mean] y = ReduceMean <axes = [1]> (x)  z = Relu (x)
}"""
# Attention whose mask is a number: that it outweighs the scores is assumed.
MASKED = """g (float[batch,seq,4] q, float[batch,seq] keep) => (float[batch,seq,4] y)
  <float one = {1}, float low = {-10000}, int64[1] at = {1}> {
  k = Transpose <perm = [0, 2, 1]> (q)  s = MatMul (q, k)  n = Sub (one, keep)  b = Mul (n, low)
  u = Unsqueeze (b, at)  a = Add (s, u)  [attend] p = Softmax <axis = -1> (a)  y = MatMul (p, q)
}"""
SIZES = ("--bucket", "seq=4,8,16", "--bucket", "batch=1,2")


def source_of(folder, text=STEPS, name="m"):
    m = parser.parse_model(HEAD + text)
    rng = np.random.default_rng(0)
    for weight, shape in WEIGHTS.items() if text == STEPS else ():
        values = rng.standard_normal(shape).astype(np.float32)
        m.graph.initializer.append(numpy_helper.from_array(values, weight))
    path = folder / f"{name}.onnx"
    path.write_bytes(m.SerializeToString())
    return path


def made(tool, folder, *words, text=STEPS, out="out.onnx"):
    """(manifest, run) of a run that must succeed, its set checked by its schema and against its files."""
    done = tool(source_of(folder, text), *words, "-o", folder / out)
    expect(done.returncode == 0, done.stderr)
    path = folder / out.replace(".onnx", ".manifest.json")
    for problem in manifests.problems(path):
        expect(False, problem)
    return json.loads(path.read_text()), done


def files_in(folder):
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


def buckets_file(folder, **content):
    path = folder / "marks.json"
    path.write_text(json.dumps(content))
    return path


def group(symbol, *values, **more):
    return {"symbols": [symbol], "values": list(values), **more}


# --- what is written ----------------------------------------------------------------------------------------


def test_files(tool, folder):
    manifest, done = made(tool, folder, *SIZES)
    section = manifest["buckets"]
    expect(section["verdict"] == "proved" and section["fallback"] == "out.onnx", section)
    expect(section["symbols"] == {"seq": [4, 8, 16], "batch": [1, 2]}, section["symbols"])
    expect(section["ranges"] == {"seq": [1, 16], "batch": [1, 2]}, section["ranges"])
    at = [(m["at"]["seq"], m["at"]["batch"]) for m in section["models"]]
    expect(at == [(s, b) for s in (4, 8, 16) for b in (1, 2)], at)
    names = {m["file"] for m in section["models"]}
    for k, m in enumerate(section["models"]):
        expect(re.fullmatch(rf"out\.b00{k}\.[0-9a-f]{{32}}\.onnx", m["file"]), m["file"])
    expect(re.fullmatch(r"out\.onnx\.[0-9a-f]{32}\.data", section["data"]), section["data"])
    wanted = names | {"m.onnx", "out.onnx", "out.manifest.json", section["data"]}
    expect(set(files_in(folder)) == wanted, sorted(set(files_in(folder)) ^ wanted))
    expect(manifest["version"] == "1.2" and manifest["partition"]["algorithm"] == "none", manifest["version"])


def test_models_are_static(tool, folder):
    """With all symbols marked no dim is open, and what computed shapes is gone; OUT is as without buckets."""
    manifest, done = made(tool, folder, *SIZES, "--infer")
    for m in manifest["buckets"]["models"]:
        model = onnx.load(folder / m["file"])
        expect(not manifests.open_dims(model), m["file"], manifests.open_dims(model))
        operators = [n.op_type for n in model.graph.node]
        expect(sorted(operators) == ["Add", "Erf", "Gather", "MatMul", "Relu"], operators)
        shape = [m["at"]["batch"], m["at"]["seq"], 64]
        expect(manifests.dims_of(model.graph.output[0].type.tensor_type) == shape, shape)
        # The largest moment is at s = x + e: three values of one size.
        expect(m["peak_bytes"] == 3 * 4 * 64 * m["at"]["batch"] * m["at"]["seq"], m["peak_bytes"])
    alone = folder / "alone.onnx"
    expect(tool(folder / "m.onnx", "-o", alone, "--infer").returncode == 0, "OUT alone")
    a, b = (onnx.load(p) for p in (alone, folder / "out.onnx"))
    expect([n.op_type for n in a.graph.node] == [n.op_type for n in b.graph.node], "OUT is another model")
    expect(manifests.network_id(a) == manifests.network_id(b) == manifest["network"]["id"], "another id")


def test_weights_stand_once(tool, folder):
    manifest, done = made(tool, folder, *SIZES)
    data = folder / manifest["buckets"]["data"]
    expect(WEIGHT_BYTES <= data.stat().st_size < WEIGHT_BYTES + 4096, data.stat().st_size)
    for file in manifest["files"]:
        if file["role"] == "model":
            expect(file["bytes"] < 2000, file)
    places = set()
    for file in manifest["files"]:
        if file["role"] != "model":
            continue
        for t in onnx.load(folder / file["path"], load_external_data=False).graph.initializer:
            if t.external_data:
                places.add((t.name, *(e.value for e in t.external_data if e.key in ("location", "offset"))))
    expect(len(places) == 2, places)


def test_a_second_run(tool, folder):
    """The same bytes; then other buckets, whose run removes the old files of the set and nothing else."""
    made(tool, folder, *SIZES)
    before = files_in(folder)
    made(tool, folder, *SIZES)
    expect(before == files_in(folder), "a second run differs")
    (folder / "out.b000.notes.onnx").write_bytes(b"mine")
    (folder / "out.b009.00112233445566778899aabbccddeeff.onnx").write_bytes(b"mine")
    manifest, done = made(tool, folder, "--bucket", "seq=5,10")
    names = {"m.onnx", "out.onnx", "out.manifest.json", manifest["buckets"]["data"]}
    names |= {m["file"] for m in manifest["buckets"]["models"]}
    names |= {"out.b000.notes.onnx", "out.b009.00112233445566778899aabbccddeeff.onnx"}
    expect(set(files_in(folder)) == names, sorted(set(files_in(folder)) ^ names))
    expect(len(manifest["buckets"]["models"]) == 2, manifest["buckets"]["models"])


def test_open_symbols_stay(tool, folder):
    manifest, done = made(tool, folder, "--bucket", "seq=4,8")
    expect(list(manifest["buckets"]["symbols"]) == ["seq"], manifest["buckets"]["symbols"])
    for m in manifest["buckets"]["models"]:
        model = onnx.load(folder / m["file"])
        dims = manifests.dims_of(model.graph.input[0].type.tensor_type)
        expect(dims == ["batch", m["at"]["seq"], 64] and m["peak_bytes"] is None, dims, m["peak_bytes"])


def test_in_place(tool, folder):
    path = source_of(folder)
    done = tool(path, *SIZES, "-o", path)
    expect(done.returncode == 0, done.stderr)
    found = list(manifests.problems(folder / "m.manifest.json"))
    expect(not found, found)


def test_results(tool, folder):
    """What the runner gives is what OUT gives, in a bucket, at its edge and outside."""
    manifest, done = made(tool, folder, *SIZES)
    deployed = manifests.runner().Deployed(folder / "out.manifest.json")
    whole = manifests.runner().session_of(folder / "out.onnx")
    rng = np.random.default_rng(1)
    wanted = {(1, 3): (1, 4), (2, 9): (2, 16), (2, 8): (2, 8), (3, 4): None, (1, 17): None}
    for (batch, seq), bucket in wanted.items():
        x = rng.standard_normal((batch, seq, 64)).astype(np.float32)
        feeds = {"x": x, "ids": rng.integers(0, 9, (batch, seq))}
        taken, true = deployed.bucket_of(feeds)
        found = taken and (taken["at"]["batch"], taken["at"]["seq"])
        expect(found == bucket and true == {"batch": batch, "seq": seq}, found, bucket, true)
        got, (y,) = deployed.run(feeds)["y"], whole.run(None, feeds)
        expect(got.shape == y.shape and np.allclose(got, y, 1e-5, 1e-5), batch, seq)


def test_devices(tool, folder):
    """An accelerator that wants static shapes gets nothing of OUT, and all but the Gather in a bucket."""
    npu = profile(folder, "Add", "MatMul", "Relu", "Erf", shapes="static")
    manifest, done = made(tool, folder, *SIZES, "--devices", npu)
    devices = [s["device"] for s in manifest["subgraphs"]]
    expect(devices == ["cpu"], devices)
    refusals = [u["reason"] for u in manifest["statistics"]["unsupported"] if u["operator"] == "MatMul"]
    expect(refusals == ["dynamic_shape"], refusals)
    for k, m in enumerate(manifest["buckets"]["models"]):
        expect([s["device"] for s in m["subgraphs"]] == ["cpu", "npu"], m["subgraphs"])
        expect(m["statistics"]["device_nodes"] == {"cpu": 1, "npu": 4}, m["statistics"])
        for s in m["subgraphs"]:
            name = rf"out\.b00{k}\.{s['id']}\.{s['device']}\.[0-9a-f]{{32}}\.onnx"
            expect(re.fullmatch(name, s["file"]), s["file"])
        size = 4 * 64 * m["at"]["batch"] * m["at"]["seq"]
        expect([b["size"] for b in m["borders"]] == [{"bytes": size}], m["borders"])
    expect("subgraphs" in done.stderr.split("bucket: ")[1].splitlines()[0], done.stderr)
    deployed = manifests.runner().Deployed(folder / "out.manifest.json")
    feeds = {"x": np.ones((1, 5, 64), np.float32), "ids": np.zeros((1, 5), np.int64)}
    expect(deployed.run(feeds)["y"].shape == (1, 5, 64), "another shape")
    manifest, done = made(tool, folder, *SIZES, "--devices", npu, "--parts", "never")
    expect(all(s["file"] is None for m in manifest["buckets"]["models"] for s in m["subgraphs"]), "parts")
    expect(not list(folder.glob("*.npu.*")), "a part was written")


def test_free_symbols_of_no_size(tool, folder):
    """Symbols without buckets are at least 1 in a bucket: what is empty runs as OUT does. So does what is
    outside of a range that --dim promised."""
    for words, wanted in (((), {0: None, 1: 4, 5: 4}), (("--dim", "batch=2..4"), {1: None, 2: 4, 5: None})):
        manifest, done = made(tool, folder, "--bucket", "seq=4,8", *words)
        deployed = manifests.runner().Deployed(folder / "out.manifest.json")
        for batch, size in wanted.items():
            feeds = {"x": np.ones((batch, 3, 64), np.float32), "ids": np.zeros((batch, 3), np.int64)}
            bucket, true = deployed.bucket_of(feeds)
            expect((bucket and bucket["at"]["seq"]) == size, words, true, bucket)
            expect(deployed.run(feeds)["y"].shape == (batch, 3, 64), batch)


def test_tolerance_goes_by_what_is_inside(tool, folder):
    text = """g (float[batch,seq] x) => (float[batch,seq] y) {
      h = Cast <to = %d> (x)  r = Exp (h)  y = Cast <to = 1> (r)
    }"""
    for element, tolerance in ((10, 4e-3), (16, 3e-2), (11, 2e-4)):
        made(tool, folder, "--bucket", "seq=4", text=text % element)
        found = manifests.runner().padded_tolerance(folder / "out.onnx")
        expect(found == tolerance, element, found)


def test_options_in_the_manifest(tool, folder):
    manifest, done = made(tool, folder, *SIZES, "--bucket-require", "proved")
    options = {k: v for k, v in manifest["tool"]["options"].items() if k.startswith("bucket")}
    wanted = {"bucket": "seq=4,8,16; batch=1,2", "bucket_require": "proved", "bucket_single": False}
    expect(options == wanted, options)
    path = buckets_file(folder, groups=[group("seq", 4, 8)], require="repair")
    manifest, done = made(tool, folder, "--buckets", path)
    options = {k: v for k, v in manifest["tool"]["options"].items() if k.startswith("bucket")}
    wanted = {"buckets": str(path), "bucket_require": "repair", "bucket_single": False}
    expect(options == wanted, options)
    alone = folder / "alone.onnx"
    done = tool(folder / "m.onnx", "--devices", profile(folder, "Relu"), "-o", alone)
    options = json.loads((folder / "alone.manifest.json").read_text())["tool"]["options"]
    expect(done.returncode == 0 and options["bucket_single"] is False and "bucket" not in options, options)


def test_a_manifest_elsewhere(tool, folder):
    (folder / "models").mkdir()
    path = folder / "list.json"
    words = ("--manifest", path, "-o", folder / "models/out.onnx")
    done = tool(source_of(folder), *SIZES, *words)
    expect(done.returncode == 0, done.stderr)
    found = list(manifests.problems(path))
    expect(not found, found)
    section = json.loads(path.read_text())["buckets"]
    expect(section["fallback"] == "models/out.onnx", section["fallback"])
    expect(all(m["file"].startswith("models/out.b0") for m in section["models"]), section["models"])
    expect(section["data"].startswith("models/"), section["data"])


def test_other_dims(tool, folder):
    """--dim and --shape give sizes to other symbols; a range of another symbol is a promise."""
    for words in (("--dim", "batch=2"), ("--shape", "x=2,-1,64")):
        manifest, done = made(tool, folder, "--bucket", "seq=4,8", *words)
        for m in manifest["buckets"]["models"]:
            expect(not manifests.open_dims(onnx.load(folder / m["file"])), m["file"])
            expect(list(m["at"]) == ["seq"], m["at"])
        for name in ("x", "ids"):
            dims = manifest["buckets"]["inputs"][name]["dims"]
            expect(dims[:2] == ["2", "seq"], dims)
    manifest, done = made(tool, folder, "--bucket", "seq=4,8", "--dim", "batch=2..4")
    expect(manifest["network"]["symbols"]["batch"] == {"min": 2, "max": 4}, manifest["network"]["symbols"])


def test_fixed(tool, folder):
    manifest, done = made(tool, folder, "--bucket", "seq=4,8,fixed", "--bucket", "batch=2,4")
    section = manifest["buckets"]
    expect(section["fixed"] == ["seq"] and section["ranges"]["seq"] == [4, 8], section)
    expect(section["inputs"]["x"]["dims"] == ["batch", "seq", "64"], section["inputs"])
    taken = manifests.runner().Buckets(manifest)
    for true, wanted in (({"seq": 4, "batch": 1}, {"seq": 4, "batch": 2}), ({"seq": 5, "batch": 1}, None)):
        found = taken.choose(true)
        expect((found and found["at"]) == wanted, true, found)


def test_a_filter(tool, folder):
    """`where` removes buckets, and requests for which it does not hold take the fallback."""
    groups = [group("seq", 4, 8, 16), group("batch", 1, 2)]
    marks = buckets_file(folder, groups=groups, where="seq <= 8")
    manifest, done = made(tool, folder, "--buckets", marks)
    section = manifest["buckets"]
    expect(len(section["models"]) == 4 and section["where"] == "seq <= 8", section["models"])
    taken = manifests.runner().Buckets(manifest)
    expect(taken.choose({"seq": 9, "batch": 1}) is None, "a bucket for what is filtered")


def test_a_filter_names_nothing_unknown(tool, folder):
    """A reader of the manifest knows the symbols of the buckets, and the grammar of extents."""
    text = """g (float[past] p, float[seq] x, float[total] m) => (float[all] y, float[total] z) {
      y = Concat <axis = 0> (p, x)  z = Relu (m)
    }"""
    groups = [group("past", 2, 4, fixed=True), group("seq", 2, 4, fixed=True)]
    marks = buckets_file(folder, groups=groups, dims={"total": "past + seq"}, where="total // 2 <= 3")
    manifest, done = made(tool, folder, "--buckets", marks, text=text)
    where = manifest["buckets"]["where"]
    expect("total" not in where and "//" not in where, where)
    taken = manifests.runner().Buckets(manifest)
    expect(taken.choose({"past": 2, "seq": 4})["at"] == {"past": 2, "seq": 4}, where)
    expect(taken.choose({"past": 4, "seq": 4}) is None, where)


def test_little_memory(tool, folder):
    """A thread for which there is no room is not started; the run ends with its status, or does it alone."""
    if tool.sanitized:  # whose shadow is larger than any limit
        return
    path = folder / "m.onnxtxt"
    path.write_text(
        '<ir_version: 10, opset_import: ["" : 21]>\ng (float[s] x) => (float[s] y) { y = Relu (x) }'
    )
    for limit in (4, 8, 12, 16, 24):
        done = tool(path, "--bucket", "s=2,4,8", "-q", "-o", folder / "o.onnx", "--max-memory", f"{limit}M")
        expect(done.returncode in (0, 5), limit, done.returncode, done.stderr)


def test_waste(tool, folder):
    """Ten lengths of 3, one of 9 and one of 16: two buckets at most are 3 and 16, so 9 costs 7 more."""
    (folder / "lengths.txt").write_text("3 10\n9\n16\n")
    manifest, done = made(tool, folder, "--bucket", f"seq=1..16:hist={folder}/lengths.txt:2")
    section = manifest["buckets"]
    expect(section["symbols"] == {"seq": [3, 16]}, section["symbols"])
    wanted = {"seq": {"observed": 12, "elements": 55, "padded_elements": 62}}
    expect(section["waste"] == wanted, section["waste"])
    expect(
        "padding of seq" in done.stderr and "+12.7%  on top of 12 observed lengths" in done.stderr,
        done.stderr,
    )
    rows = [line.split() for line in done.stderr.splitlines()]
    expect(["3", "83.3%"] in [[r[0], r[-1]] for r in rows if r], done.stderr)  # 10 of 12
    expect(["16", "16.7%"] in [[r[0], r[-1]] for r in rows if r], done.stderr)
    words = ("--bucket", f"seq=1..16:hist={folder}/lengths.txt:2", "--bucket", "batch=1,2")
    manifest, done = made(tool, folder, *words)
    rows = [line.split() for line in done.stderr.splitlines()]
    expect(["16,2", "16.7%"] in [[r[0], r[-1]] for r in rows if r], done.stderr)


def test_assumptions(tool, folder):
    manifest, done = made(tool, folder, *SIZES, text=MASKED)
    section = manifest["buckets"]
    expect(section["verdict"] == "assumed", section["verdict"])
    expect(
        [(a["node"], a["kind"]) for a in section["assumptions"]] == [("attend", "mask-dominates")], section
    )
    expect("graphopt: warning: " in done.stderr and "node 'attend'" in done.stderr, done.stderr)
    before = files_in(folder)
    words = (*SIZES, "--bucket-require", "proved", "-o", folder / "out.onnx")
    refused(tool(folder / "m.onnx", *words), INPUT, "node 'attend'", "--bucket-require assumed")
    expect(before == files_in(folder), "something was written")
    path = buckets_file(folder, groups=[group("seq", 4, 8)], require="proved")
    words = ("--buckets", path, "-o", folder / "out.onnx")
    refused(tool(folder / "m.onnx", *words), INPUT, "node 'attend'")
    done = tool(folder / "m.onnx", *words, "--bucket-require", "assumed")
    expect(done.returncode == 0, "the command line does not go before the file", done.stderr)


# --- one model for all shapes -------------------------------------------------------------------------------


def test_single_with_a_spelled_domain(tool, folder):
    """ONNX Runtime takes "ai.onnx" for the standard domain in the main graph, and in no branch."""
    text = "g (float[batch,seq] x) => (float[batch,seq] y) { r = Relu (x)  e = Erf (r)  y = Sigmoid (e) }"
    path = source_of(folder, text)
    model = onnx.load(path)
    for node in model.graph.node:
        node.domain = "ai.onnx"
    onnx.save(model, path)
    done = tool(path, "--bucket", "seq=4,8", "--bucket-single", "-o", folder / "s.onnx")
    expect(done.returncode == 0, done.stderr)
    single, whole = (manifests.runner().session_of(folder / name) for name in ("s.onnx", "m.onnx"))
    for seq in (3, 8, 9):
        x = np.arange(2 * seq, dtype=np.float32).reshape(2, seq)
        expect(np.array_equal(single.run(None, {"x": x})[0], whole.run(None, {"x": x})[0]), seq)


# --- --check ------------------------------------------------------------------------------------------------


def test_a_check_that_fails_in_buckets(tool, folder):
    """Sums over padding round otherwise, and OUT does not: neither OUT nor a pass is blamed."""
    text = "g (float[batch,seq] x) => (float[batch,1] y) <int64[1] a = {1}> { y = ReduceSum (x, a) }"
    path = source_of(folder, text)
    words = (path, "--bucket", "seq=32,64", "--check", "--check-tolerance", "0", "-o", folder / "out.onnx")
    other = "'--dim 'seq=32' --bisect' in place of the buckets"
    for more in ((), ("--bisect",), ("--bisect", "--bucket-single")):
        done = tool(*words, *more)
        refused(done, CHECK, "the models of the buckets do not compute the same: output 'y'", other)
        for wrong in ("optimized model", "--disable-pass", "broken by"):
            expect(wrong not in done.stderr, done.stderr)
        expect(("--bisect does not search here" in done.stderr) == bool(more), done.stderr)
    expect(set(files_in(folder)) == {"m.onnx"}, "something was written")


# --- refused models -----------------------------------------------------------------------------------------


def test_a_refused_model(tool, folder):
    """Node, axis and remedy are named, and nothing is written; marking the batch alone is well."""
    path = source_of(folder, MEAN)
    before = files_in(folder)
    done = tool(path, *SIZES, "-o", folder / "out.onnx")
    refused(done, INPUT, "node 'mean' (ReduceMean)", "padded inputs would change the results", "(seq)")
    expect(before == files_in(folder), "something was written")
    manifest, done = made(tool, folder, "--bucket", "batch=2,4", text=MEAN)
    expect(manifest["buckets"]["verdict"] == "proved", manifest["buckets"]["verdict"])
    manifest, done = made(tool, folder, "--bucket", "seq=4,8,fixed", text=MEAN)
    expect(manifest["buckets"]["verdict"] == "proved", manifest["buckets"]["verdict"])


def test_forced(tool, folder):
    manifest, done = made(tool, folder, "--bucket", "seq=4,8", "--bucket-require", "force", text=MEAN)
    section = manifest["buckets"]
    expect(section["verdict"] == "refused" and section["refused"]["node"] == "mean", section)
    expect("graphopt: warning: " in done.stderr and "force: padded inputs" in done.stderr, done.stderr)
    # A length of a bucket is not padded, so its model is right, forced or not.
    deployed = manifests.runner().Deployed(folder / "out.manifest.json")
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    got = deployed.run({"x": x})
    expect(np.allclose(got["y"], x.mean(1, keepdims=True)), got)


def test_a_verdict_says_what_helps(tool, folder):
    model = source_of(folder, MEAN)
    ask = ("inspect", "--bucketable", model, "--bucket")
    done = tool(*ask, "seq=4,8")
    told = done.stdout.decode()
    expect("verdict: refused" in told and "help: --bucket-require repair may mend" in told, told)
    expect(done.returncode == ANSWER_IS_NO and done.stderr == "", "status", done.returncode, done.stderr)
    done = tool(*ask, "seq=4,8", "--json", "--report", folder / "r.json")
    said = json.loads(done.stdout)
    expect(said["refused"]["remedy"].startswith("--bucket-require repair may mend"), said)
    expect(done.returncode == ANSWER_IS_NO and json.loads((folder / "r.json").read_text()) == said, done)
    expect(tool(*ask, "seq=4,8", "--report", folder / "no" / "r.json").returncode == OUTPUT, "no report")
    done = tool(*ask, "seq=4,8", "--bucket-require", "repair")
    expect(done.returncode == 0 and "verdict: refused" not in done.stdout.decode(), done)
    done = tool(*ask, "batch=2,4")
    proved = done.stdout.decode()
    expect("verdict: proved" in proved and "help:" not in proved and done.returncode == 0, proved)
    expect("7 where --bucketable" in tool("inspect", "--help").stdout.decode(), "--help")


# --- runs that write nothing --------------------------------------------------------------------------------


def test_dry_run(tool, folder):
    path = source_of(folder)
    before = files_in(folder)
    done = tool(path, *SIZES)
    expect(done.returncode == 0 and before == files_in(folder), done.stderr, "something was written")
    expect(b"6 buckets; padding is proved to be harmless" in done.stdout, done.stdout)
    done = tool(path, *SIZES, "--report", "-", "-q")
    report = json.loads(done.stdout)
    expect([m["file"] for m in report["specialize"]["models"]] == [None] * 6, report["specialize"])
    expect([m["bytes"] for m in report["specialize"]["models"]] == [0] * 6, report["specialize"])


def test_no_folder_for_files(tool, folder):
    path = source_of(folder)
    refused(tool(path, *SIZES, "-o", "-"), USAGE, "--bucket writes several files", "--bucket-single")
    never = ("-o", folder / "o.onnx", "--external-data", "never")
    refused(tool(path, *SIZES, *never), USAGE, "--external-data never")
    refused(tool(path, *SIZES, "-o", folder / "o.onnx", "--stop-after", "infer"), USAGE, "--stop-after")
    refused(tool(path, "-o", folder / "o.onnx", "--bucket-require", "force"), USAGE, "none are given")
    expect(set(files_in(folder)) == {"m.onnx"}, "something was written")


# --- wrong marks --------------------------------------------------------------------------------------------


def wrong(tool, folder, marks, *parts, status=USAGE):
    """The run is refused; `marks` is the text of --bucket or the content of a file. Nothing is written."""
    path = source_of(folder)
    before = set(files_in(folder)) | {"marks.json"}
    words = ["--buckets", buckets_file(folder, **marks)] if isinstance(marks, dict) else ["--bucket", marks]
    refused(tool(path, *words, "-o", folder / "out.onnx"), status, *parts)
    expect(set(files_in(folder)) <= before, "something was written")


def test_wrong_symbols(tool, folder):
    wrong(tool, folder, "sec=4,8", "no symbol 'sec'", "did you mean 'seq'?")
    wrong(tool, folder, "x[9]=4,8", "x[9]", "no such dim", "by its place, counted from 0")
    wrong(tool, folder, "x[2]=4,8", "x[2]", "always 64", "dims that the model leaves open")
    twice = [group("seq", 4, 8), group("seq", 16)]
    wrong(tool, folder, {"groups": twice}, "'seq' is in two groups", "leave it out of one")
    unknown = {"groups": [group("seq", 4)], "inputs": {"idz": {"pad": 0}}}
    wrong(tool, folder, unknown, "no input 'idz'", "did you mean 'ids'?")


def test_wrong_sizes(tool, folder):
    wrong(tool, folder, "seq=8..4:pow2", "8..4 is reversed", "write 4..8")
    wrong(tool, folder, "seq=", "there are no sizes after '='", "seq=16..512:pow2")
    wrong(tool, folder, "4,8", "no '='", "seq=16..512:pow2")
    for text, form in [  # as other tools write ranges and factors; the form that is named is right
        ("16:512", "16..512:pow2"),
        ("16-512", "16..512:pow2"),
        ("16...512", "16..512:pow2"),
        ("16 to 512", "16..512:pow2"),
        ("512-16", "16..512:pow2"),
        ("16:512:64", "16..512:step=64"),
        ("16-512:2x,align=8", "16..512:pow2"),
        ("16-512:geo=1.5", "16..512:geo=1.5"),
        ("16..512:2x", "16..512:pow2"),
        ("16..512:x2", "16..512:pow2"),
        ("16..512:64", "16..512:step=64"),
        ("16..512:+64", "16..512:step=64"),
        ("16..512:1.25", "16..512:geo=1.25"),
        ("16..512:3x", "16..512:geo=3"),
    ]:
        wrong(tool, folder, "seq=" + text, f"'seq={text}'", form, "geo=1.25")
        asked = tool("inspect", "--bucketable", folder / "m.onnx", "--bucket", "seq=" + form)
        expect("buckets (" in asked.stdout.decode(), form, asked.stderr)
    wrong(tool, folder, "seq=1..16", "no method", "1..16:pow2")
    wrong(tool, folder, "seq=1..16:pow3", "no method 'pow3'", "did you mean 'pow2'?")
    wrong(tool, folder, "seq=4.5", "'4.5' as a size", "whole number")
    wrong(tool, folder, "seq=1..16:geo=1", "geo=1", "above 1")
    wrong(tool, folder, "seq=1..16:max,align=0", "align=0", "from 1")
    wrong(tool, folder, "seq=1..16:max,alin=4", "alin=4", "align=8")
    wrong(tool, folder, "seq=4,8,fixed,fixed", "'fixed' is given twice", "give it once")
    wrong(tool, folder, "seq=3000000000", "too large", "2147483647")
    wrong(tool, folder, {"groups": []}, "no sizes are given", "--bucket SYMBOL=SIZES")
    wrong(tool, folder, {"groups": [group("seq", 4)], "wher": "seq < 4"}, "wher", "did you mean 'where'?")


def test_too_many(tool, folder):
    """The product of the lists counts, and the remedy is a ratio that fits."""
    groups = [{"symbols": ["seq"], "range": [1, 40], "method": {"step": 1}}, group("batch", 1, 2)]
    wrong(tool, folder, {"groups": groups}, "80 buckets", "limit of 64", "geo=", '"limit"')
    words = ("--buckets", buckets_file(folder, groups=groups, limit={"count": 80}))
    expect(tool(folder / "m.onnx", *words).returncode == 0, "the limit was not raised")


def test_wrong_histograms(tool, folder):
    lengths = folder / "h.txt"
    spec = f"seq=1..16:hist={lengths}:3"
    for text, parts in (
        ("3 1\n4 x\n", ("line 2", "'x' as a count", "'128 40'")),
        ("3\n\nlong\n", ("line 3", "'long'", "'128 40'")),
        ("3 1\n400 2\n", ("line 2", "400 is outside the range 1..16", "1..400")),
        ("", ("has no length", "geo=1.25")),
    ):
        lengths.write_text(text)
        wrong(tool, folder, spec, str(lengths), *parts)
    lengths.unlink()
    wrong(tool, folder, spec, "there is no such file", spec)
    wrong(tool, folder, "seq=1..16:hist=h.txt", "hist=h.txt", "hist=lengths.txt:8")


def test_wrong_filters(tool, folder):
    """A filter that leaves a shape without a bucket is an error that names the shape."""
    groups = [group("seq", 4, 8), group("batch", 1, 2)]
    hole = {"groups": groups, "where": "batch*seq <= 10"}
    wrong(tool, folder, hole, "seq=5, batch=2 has no bucket", "add sizes")
    wrong(tool, folder, {"groups": groups, "where": "seq < 1"}, "no bucket is left", "widen 'where'")
    wrong(tool, folder, {"groups": groups, "where": "seq +"}, "no comparison", "batch*seq <= 4096")
    wrong(tool, folder, {"groups": groups, "where": "sec < 9"}, "'sec'", "symbols with buckets", "'seq'?")


def test_wrong_pads(tool, folder):
    groups = [group("seq", 4, 8)]
    outside = {"groups": groups, "inputs": {"ids": {"values": [1, 8], "pad": 0}}}
    wrong(tool, folder, outside, "pad value 0 of input 'ids'", "[1, 8]", "widen")
    # The table has 9 rows: an index of 99 in the padding would end the run.
    wrong(tool, folder, "seq=4,8,pad=99", "(Gather)", "holds 99", "0 .. 8", status=INPUT)


def test_one_symbol_twice(tool, folder):
    """A symbol with buckets has no other size."""
    path = source_of(folder)
    for words in (("--dim", "seq=4"), ("--dim", "seq=2..8"), ("--shape", "x=2,6,64")):
        done = tool(path, "--bucket", "seq=4,8", *words, "-o", folder / "out.onnx")
        refused(done, USAGE, "'seq'", "a size by --dim or --shape and sizes by --bucket", "leave one of them")


# --- people -------------------------------------------------------------------------------------------------


def test_report(tool, folder):
    (folder / "lengths.txt").write_text("3 10\n9\n16\n")
    words = ("--bucket", f"seq=1..16:hist={folder}/lengths.txt:2", "--bucket", "batch=2")
    manifest, done = made(tool, folder, *words, "--report", folder / "r.json")
    report = json.loads((folder / "r.json").read_text())
    told, section = report["buckets"], manifest["buckets"]
    for key in ("verdict", "symbols", "fixed", "groups", "ranges", "inputs", "outputs", "constraints"):
        expect(told[key] == section[key], key, told[key], section[key])
    made_of = report["specialize"]
    expect(made_of["waste"] == [{"symbol": "seq", **section["waste"]["seq"]}], made_of["waste"])
    sizes = {f["path"]: f["bytes"] for f in manifest["files"]}
    for m, entry in zip(made_of["models"], section["models"], strict=True):
        expect(m["at"] == entry["at"] and m["file"] == entry["file"], m, entry["file"])
        expect(m["nodes"] == entry["nodes"] and m["peak_bytes"] == entry["peak_bytes"], m)
        expect(m["bytes"] == sizes[m["file"]], m, sizes)
        expect(m["subgraphs"] == 1 and m["accelerator_subgraphs"] == 0 == m["accelerator_nodes"], m)
    written = {pathlib.Path(f["path"]).name: f["bytes"] for f in report["files"]}
    expect(sizes.items() <= written.items(), written, sizes)
    done = tool(folder / "m.onnx", "--report", "-", "-q")
    report = json.loads(done.stdout)
    expect(report["buckets"] is None and report["specialize"] is None, "buckets that nobody asked for")


def test_table(tool, folder):
    manifest, done = made(tool, folder, *SIZES)
    lines = done.stderr.splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("  bucket: "))
    written = next(line for line in lines[at:] if line.startswith("  written "))
    expect(lines[at - 1] == "graphopt: 6 buckets; padding is proved to be harmless", lines[at - 1])
    expect(
        lines[at].split() == ["bucket:", "seq,batch", "nodes", "file,", "B", "peak", "memory,", "B"],
        lines[at],
    )
    rows = [line.split() for line in lines[at + 1 : lines.index(written)]]
    expect([r[0] for r in rows] == ["4,1", "4,2", "8,1", "8,2", "16,1", "16,2"], rows)
    expect([r[1] for r in rows] == ["5"] * 6, rows)
    done = tool(folder / "m.onnx", "--bucket", "seq=1..20:step=1", "-o", folder / "out.onnx")
    expect("    and 4 more (-v shows all)" in done.stderr.splitlines(), done.stderr)


def test_wordings(tool, folder):
    """Numbers, names and remedies are those of the run."""
    path = source_of(folder)
    one = tool(path, "--bucket", "seq=4", "-o", folder / "out.onnx")
    expect("graphopt: 1 bucket; padding" in one.stderr, one.stderr)
    done = tool(path, "--bucket", "seq=4,8", "--dim", "seq=6", "-o", folder / "out.onnx")
    refused(done, USAGE, "--bucket seq=6 makes models of that size")
    alone = tool(path, "--bucket-require", "repair", "-o", folder / "out.onnx")
    refused(alone, USAGE, "--bucket-require is about buckets, and none are given")
    refused(tool(source_of(folder, MEAN), *SIZES), INPUT, "--bucket-require repair may mend such nodes")


def test_equal_assumptions_are_one_warning(tool, folder):
    body = MASKED[MASKED.index("k = Transpose") :]
    names = {"k": "k2", "s": "s2", "n": "n2", "b": "b2", "u": "u2", "a": "a2", "p": "p2", "y": "z"}
    second = re.sub(r"\b[a-z]\b", lambda m: names.get(m[0], m[0]), body).replace("attend", "again")
    text = MASKED.replace("=> (float[batch,seq,4] y)", "=> (float[batch,seq,4] y, float[batch,seq,4] z)")
    text = text[: text.rindex("}")] + second
    manifest, done = made(tool, folder, *SIZES, text=text)
    expect(
        [a["node"] for a in manifest["buckets"]["assumptions"]] == ["attend", "again"], manifest["buckets"]
    )
    lines = [line for line in done.stderr.splitlines() if "warning" in line]
    expect(len(lines) == 1 and "node 'attend' and 1 more: padding is harmless" in lines[0], lines)


def test_the_least_size_of_a_window(tool, folder):
    text = """g (float[1,1,h,8] x, float[1,1,5,1] w) => (float[1,1,k,8] y) {
      p = MaxPool <kernel_shape = [2, 1], strides = [2, 1]> (x)  [conv] y = Conv (p, w)
    }"""
    path = source_of(folder, text)
    refused(tool(path, "--bucket", "h=16,32"), INPUT, "(MaxPool)", "a window of 2", "'h=...,min=2'")
    refused(tool(path, "--bucket", "h=16,32,min=2"), INPUT, "'conv'", "a window of 5", "'h=...,min=10'")
    made(tool, folder, "--bucket", "h=16,32,min=10", text=text)


def test_a_model_that_takes_less(tool, folder):
    """Positions of a table that ends; the remedy speaks of the range."""
    text = """g (float[batch,seq] x) => (float[seq] y)
      <int64 zero = {0}, int64 one = {1}, int64[1] n = {6}> {
      t = ConstantOfShape (n)  s = Shape <start = 1> (x)  m = Squeeze (s)
      r = Range (zero, m, one)  [look] y = Gather (t, r)
    }"""
    path = source_of(folder, text)
    done = tool(path, "--bucket", "seq=4,8", "-o", folder / "out.onnx")
    refused(done, INPUT, "node 'look' (Gather)", "takes seq up to 6 only", "seq=8", "let the range end there")
    made(tool, folder, "--bucket", "seq=4,6", text=text)


def test_an_output_that_no_manifest_can_name(tool, folder):
    path = source_of(folder)
    out = bytes(folder / "o") + b"\xff.onnx"
    done = tool(path, *SIZES, "-o", out.decode(errors="surrogateescape"))
    refused(done, INPUT, "the name of the output file")
    expect("bucket seq" not in done.stderr, done.stderr)


def test_no_single_model_by_force(tool, folder):
    path = source_of(folder, MEAN)
    words = ("--bucket-require", "force", "--bucket-single", "-o", folder / "out.onnx")
    refused(tool(path, *SIZES, *words), USAGE, "leaves nothing proved", "leave out --bucket-single")
    expect(set(files_in(folder)) == {"m.onnx"}, "something was written")
    done = tool(path, "--bucket", "batch=1,2", *words)
    expect(done.returncode == 0, done.stderr)


if __name__ == "__main__":
    sys.exit(main(globals()))
