"""graphopt run: requests from files, lists, draws and test data; modes; comparisons; every exit status."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import onnx
from onnx import numpy_helper, parser

from _tool import CHECK, INPUT, LIMIT, NOT_CHECKED, OUTPUT, USAGE, expect, main, refused

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "tests"))

from lib.profiles import profile  # noqa: E402

# Four parts: Sin and Cos are on the host.
MODEL = """<ir_version: 10, opset_import: ["" : 17]>
g (float[N,4] x, int64[N] k) => (float[N,4] y, int64[N] t) <float[4] b = {1, -2, 3.5, 0}> {
  a = Relu (x)  c = Sin (a)  d = Add (c, b)  e = Cos (d)  y = Mul (e, a)  t = Neg (k)
}"""


def cut(tool, folder, text=MODEL, *words):
    (folder / "m.onnx").write_bytes(parser.parse_model(text).SerializeToString())
    npu = profile(folder, "Relu", "Add", "Mul", "Neg")
    done = tool(folder / "m.onnx", "-o", folder / "out.onnx", "--devices", npu, "--lower", "never", *words)
    expect(done.returncode == 0, done.stderr)
    return folder / "out.manifest.json"


def arrays(seed, rows):
    rng = np.random.default_rng(seed)
    x = (rng.standard_normal((rows, 4)) * 3).astype(np.float32)
    if rows > 1:
        x[0] = [np.inf, -np.inf, np.nan, -3.4e38]
    return {"x": x, "k": rng.integers(-(2**63), 2**63, rows)}


def wanted(feeds):
    a = np.maximum(feeds["x"], np.float32(0))
    with np.errstate(all="ignore"):
        e = np.cos(np.sin(a) + np.array([1, -2, 3.5, 0], np.float32))
        return {"y": e * a, "t": np.negative(feeds["k"])}


def close(got, feeds):
    for name, value in wanted(feeds).items():
        expect(got[name].dtype == value.dtype and got[name].shape == value.shape, name, got[name])
        # Sin and Cos of numpy and of the runtime round apart.
        expect(np.allclose(got[name], value, rtol=1e-4, atol=1e-5, equal_nan=True), name, got[name], value)


def report_of(done):
    expect(done.returncode == 0, done.stderr)
    return json.loads(done.stdout)


def test_one_request(tool, folder):
    path = cut(tool, folder)
    feeds = arrays(1, 5)
    np.savez(folder / "all.npz", **feeds)
    np.save(folder / "k.npy", feeds["k"])
    (folder / "x.pb").write_bytes(numpy_helper.from_array(feeds["x"], "any").SerializeToString())
    given = (["--input", folder / "all.npz"], [f"--input=x={folder}/x.pb", "--input", f"k={folder}/k.npy"])
    for words in given:
        for mode in ("overlap", "async1", "sync"):
            report = report_of(tool("run", path, *words, "-o", folder / "y.npz", "--mode", mode, "--json"))
            expect(report["mode"] == mode and report["requests"]["done"] == 1, report)
            expect(report["requests"]["by_fallback"] == 0, report)
            (network,) = report["networks"]
            expect(sum(d["runs"] for d in network["devices"]) == len(network["subgraphs"]) >= 4, report)
            close(np.load(folder / "y.npz"), feeds)


def test_a_list(tool, folder):
    path = cut(tool, folder)
    lines, feeds = [], {}
    for i, rows in enumerate((3, 0, 1, 8)):
        feeds[f"r{i}"] = arrays(i, rows)
        np.savez(folder / f"in{i}.npz", **feeds[f"r{i}"])
        lines.append({"id": f"r{i}", "inputs": f"in{i}.npz"})
    lines.append({"id": "d", "draw": {"N": [1, 6]}, "seed": 3, "repeat": 20})
    (folder / "list.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    words = ["--requests", folder / "list.jsonl", "-o", folder / "results", "--inflight", "3", "--json"]
    report = report_of(tool("run", path, *words, "--check-sequential", "--check-whole"))
    expect(report["requests"]["done"] == 24 and len(report["files"]) == 24, report)
    expect(report["checks"]["sequential"] == {"compared": 24, "different": 0}, report["checks"])
    expect(report["checks"]["whole"] == {"compared": 24, "different": 0}, report["checks"])
    for name, f in feeds.items():
        close(np.load(folder / "results" / f"{name}.npz"), f)
    drawn = {p.name: p.read_bytes() for p in (folder / "results").glob("d.*.npz")}
    expect(len(drawn) == 20, drawn.keys())
    expect(not list((folder / "results").glob(".*")), "something is left")
    # The same draws give the same files, whatever runs at once.
    report_of(tool("run", path, *words[:3], folder / "again", "--mode", "sync", "--json"))
    expect(drawn == {p.name: p.read_bytes() for p in (folder / "again").glob("d.*.npz")}, "files differ")


def test_buckets(tool, folder):
    path = cut(tool, folder, MODEL, "--bucket", "N=2,4,8")
    lines, feeds = [], {}
    for i, rows in enumerate((1, 2, 3, 8, 9, 0)):
        feeds[f"r{i}"] = arrays(i, rows)
        np.savez(folder / f"in{i}.npz", **feeds[f"r{i}"])
        lines.append({"id": f"r{i}", "inputs": f"in{i}.npz"})
    (folder / "list.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    words = ["--requests", folder / "list.jsonl", "-o", folder / "results", "--json", "--check-sequential"]
    for mode in ("overlap", "async1", "sync"):
        report = report_of(tool("run", path, *words, "--mode", mode, "--check-whole"))
        # 9 rows and none are for OUT.
        models = report["networks"][0]["models"]
        expect([m["requests"] for m in models] == [2, 2, 1, 1], models)
        expect(models[0]["file"] == "out.onnx" and report["requests"]["by_fallback"] == 0, report)
        expect(report["checks"]["sequential"] == {"compared": 6, "different": 0}, report["checks"])
        expect(report["checks"]["whole"] == {"compared": 6, "different": 0}, report["checks"])
        for name, f in feeds.items():
            close(np.load(folder / "results" / f"{name}.npz"), f)
    for d in report["networks"][0]["devices"]:  # the last mode is sync: one request at a time
        expect(d["peak"] == d["planned_peak"] > 0, d)
    # In OUT as a whole where no part fits; tensors without rows do.
    report = report_of(tool("run", path, *words, "--budget", "npu=1"))
    expect(report["requests"]["by_fallback"] == 5, report["requests"])
    for name, f in feeds.items():
        close(np.load(folder / "results" / f"{name}.npz"), f)


def test_budgets(tool, folder):
    path = cut(tool, folder, MODEL.replace("float[N,4]", "float[16,4]").replace("int64[N]", "int64[16]"))
    words = ["--draw", "12", "--json", "--check-sequential", "--inflight", "4"]
    free = report_of(tool("run", path, *words))
    npu = next(d for d in free["networks"][0]["devices"] if d["id"] == "npu")
    expect(npu["planned_peak"] and npu["spills"] == 0, npu)
    tight = report_of(tool("run", path, *words, "--budget", "npu=768"))
    npu = next(d for d in tight["networks"][0]["devices"] if d["id"] == "npu")
    expect(npu["peak"] == 768 and tight["requests"]["by_fallback"] == 0, npu)
    expect(npu["waits"] == 0, npu)  # one worker: what is there leaves
    report = report_of(tool("run", path, *words, "--budget", "npu=100"))
    expect(report["requests"]["by_fallback"] == 12, report["requests"])
    refused(
        tool("run", path, *words[:2], "--budget", "npu=100", "--fallback", "none", "-q"),
        LIMIT,
        "draw.0",
        "budget",
    )


def test_retained_values(tool, folder):
    # Only the npu reads `a`, in its second part.
    text = """<ir_version: 10, opset_import: ["" : 17]>
g (float[N] x) => (float[N] y) { a = Relu (x)  b = Neg (a)  c = Sin (b)  y = Add (c, a) }"""
    path = cut(tool, folder, text)
    words = ["run", path, "--draw", "4", "--json", "--check-sequential"]
    stored = [
        sum(d["stored_bytes"] for d in report_of(tool(*words, *more))["networks"][0]["devices"])
        for more in ((), ("--retain", "outputs"), ("--retain", "all"))
    ]
    expect(stored[0] == stored[1] < stored[2], stored)


def test_unordered_answers(tool, folder):
    path = cut(tool, folder)
    words = ["run", path, "--draw", "40", "--dim", "N=1..200", "--json", "--inflight", "4", "-o"]
    report_of(tool(*words, folder / "a"))
    report = report_of(tool(*words, folder / "b", "--unordered", "--check-sequential", "--check-whole"))
    expect(report["checks"]["sequential"] == {"compared": 40, "different": 0}, report["checks"])
    expect(sorted(report["files"]) == sorted(str(p) for p in (folder / "b").iterdir()), report["files"])
    for p in (folder / "a").iterdir():
        expect(p.read_bytes() == (folder / "b" / p.name).read_bytes(), p.name)


def test_a_folder_of_manifests(tool, folder):
    other = """<ir_version: 10, opset_import: ["" : 17]>
g (float[N] x) => (float[N] y) { a = Relu (x)  b = Sin (a)  y = Neg (b) }"""
    ids = []
    for name, text in (("a", MODEL), ("b", other)):
        (folder / name).mkdir()
        path = cut(tool, folder / name, text)
        ids.append(json.loads(path.read_text())["network"]["id"])
    both = folder / "both"
    both.mkdir()
    for name in ("a", "b"):  # both have their own names of files
        done = tool(
            *(folder / name / "m.onnx", "-o", both / f"{name}.onnx", "--devices", folder / name / "npu.json"),
            *("--lower", "never"),
        )
        expect(done.returncode == 0, done.stderr)
    feeds = arrays(3, 4)
    np.savez(folder / "in.npz", **feeds)
    lines = [
        {"id": "a", "inputs": "in.npz", "network": ids[0]},
        {"id": "b", "draw": {"N": 3}, "repeat": 5, "network": ids[1].removeprefix("sha256:")[:12]},
    ]
    (folder / "list.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    words = ["--requests", folder / "list.jsonl", "-o", folder / "results", "--json"]
    for more in ((), ("--unordered",)):
        report = report_of(tool("run", both, *words, *more, "--check-sequential", "--check-whole"))
        expect([n["id"] for n in report["networks"]] == ids, report["networks"])
        expect([n["models"][0]["requests"] for n in report["networks"]] == [1, 5], report["networks"])
        close(np.load(folder / "results" / "a.npz"), feeds)
    report = report_of(tool("run", both, "--network", ids[1], "--draw", "2", "--json"))
    expect([n["id"] for n in report["networks"]] == ids[1:], report["networks"])
    refused(tool("run", both, "--draw", "2"), USAGE, "several networks", "--network")
    refused(tool("run", both, "--draw", "2", "--network", "sha256:"), USAGE, "several ids")
    refused(tool("run", both, "--draw", "2", "--network", "xyz"), USAGE, "no manifest of the folder")
    refused(tool("run", both, "--draw", "2", "--network", ids[1], "--workers", "gpu=2"), USAGE, "gpu")
    lines[1]["network"] = "xyz"
    (folder / "list.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
    refused(tool("run", both, *words), USAGE, "'b'", "xyz")
    (folder / "empty").mkdir()
    refused(tool("run", folder / "empty", "--draw", "2"), INPUT, "no *.manifest.json")
    lines = [{"id": "a", "inputs": "in.npz", "network": ids[1]}]
    (folder / "list.jsonl").write_text(json.dumps(lines[0]))
    one = folder / "a" / "out.manifest.json"
    refused(tool("run", one, "--requests", folder / "list.jsonl"), USAGE, "'a'", ids[0])
    # A copy of a manifest: the id does not say which.
    (both / "c.manifest.json").write_bytes((both / "a.manifest.json").read_bytes())
    refused(tool("run", both, "--draw", "2", "--network", ids[0]), USAGE, "a.manifest.json and ")


def test_a_trace(tool, folder):
    path = cut(tool, folder)
    words = ["run", path, "--draw", "6", "-q", "--trace", folder / "t.json"]
    done = tool(*words, "--workers", "npu=2", "--warm-up", "0")
    expect(done.returncode == 0, done.stderr)
    events = json.loads((folder / "t.json").read_text())["traceEvents"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    expect(list(names.values()) == ["npu", "cpu", "requests"], names)
    runs = [e for e in events if e.get("cat") == "run"]
    subgraphs = json.loads(path.read_text())["subgraphs"]
    expect(len(runs) == 6 * len(subgraphs), len(runs))
    for e in runs:
        expect(e["ph"] == "X" and e["dur"] >= 0 and e["ts"] >= 0 and e["args"]["model"] == "out.onnx", e)
        device = next(s["device"] for s in subgraphs if s["id"] == e["name"])
        expect(names[e["pid"]] == device and e["tid"] < (2 if device == "npu" else 1), e)
    # Slices of one thread do not overlap.
    for lane in {(e["pid"], e["tid"]) for e in events if e["ph"] == "X" and e["cat"] != "load"}:
        slices = [e for e in events if e["ph"] == "X" and (e["pid"], e["tid"]) == lane]
        slices.sort(key=lambda e: e["ts"])
        if slices[0]["cat"] in ("run", "request"):
            ends = [round(e["ts"] + e["dur"], 3) for e in slices]
            expect(all(a <= b["ts"] + 0.002 for a, b in zip(ends, slices[1:])), lane)
    expect(len([e for e in events if e.get("cat") == "request"]) == 6, events)
    refused(tool(*words[:-1], folder / "m.onnx"), USAGE, "--trace")
    refused(tool(*words, "--report", folder / "t.json"), USAGE, "same file")


def test_providers(tool, folder):
    (folder / "m.onnx").write_bytes(parser.parse_model(MODEL).SerializeToString())
    npu = profile(folder, "Relu", "Add", "Mul", "Neg", ep={"name": "QNNExecutionProvider", "options": {}})
    done = tool(folder / "m.onnx", "-o", folder / "out.onnx", "--devices", npu, "--lower", "never")
    expect(done.returncode == 0, done.stderr)
    words = ["run", folder / "out.manifest.json", "--draw", "3", "--check-whole", "-q"]
    done = tool(*words[:-1])
    expect(done.returncode == 0, done.stderr)
    said = "device 'npu' runs on the CPU: this ONNX Runtime has no QNNExecutionProvider"
    expect(done.stderr.count(said) == 1, done.stderr)
    done = tool(*words[:-1], "--device", "npu=cpu")
    expect(done.returncode == 0 and said not in done.stderr, done.stderr)
    refused(tool(*words, "--device", "npu=gpu"), USAGE, "--device", "npu=cpu")
    refused(tool(*words, "--device", "gpu=cpu"), USAGE, "gpu")
    refused(tool(*words, "--workers", "npu=2,npu=3"), USAGE, "twice")


def test_one_answer_in_a_folder(tool, folder):
    path = cut(tool, folder)
    np.savez(folder / "all.npz", **arrays(1, 2))
    words = ["run", path, "--input", folder / "all.npz", "-q", "-o"]
    (folder / "there").mkdir()
    for where in (str(folder / "there"), str(folder / "new") + "/"):
        done = tool(*words, where)
        expect(done.returncode == 0, done.stderr)
        close(np.load(pathlib.Path(where) / "input.npz"), arrays(1, 2))


def test_what_is_read_is_not_replaced(tool, folder):
    path = cut(tool, folder)
    np.savez(folder / "a.npz", **arrays(1, 2))
    np.save(folder / "k.npy", arrays(1, 2)["k"])
    (folder / "list.jsonl").write_text('{"id": "a", "inputs": "a.npz"}\n{"id": "b", "inputs": "a.npz"}\n')
    part = next(f["path"] for f in json.loads(path.read_text())["files"] if f["role"] == "subgraph")
    one = ["run", path, "--input", folder / "a.npz", "-q"]
    before = {p: p.read_bytes() for p in folder.iterdir()}
    for out in (path, folder / "out.onnx", folder / part, folder / "a.npz"):
        refused(tool(*one, "-o", out), USAGE, "-o")
    refused(tool("run", path, "-q", "--requests", folder / "list.jsonl", "-o", folder), USAGE, "a.npz")
    refused(tool(*one, "-o", folder / "y", "--trace", folder / "y"), USAGE, "same file")
    refused(tool(*one, "-o", folder / "y", "--report", folder / "y"), USAGE, "same file")
    refused(tool("run", folder, *one[2:], "--report", path), USAGE, "manifest")
    expect(before == {p: p.read_bytes() for p in folder.iterdir()}, "something was written")


def test_samples(tool, folder):
    path = cut(tool, folder)
    for wanted in (1, 3, 6, 9, 10, 11):
        report = report_of(tool("run", path, "--draw", "10", f"--check-sequential={wanted}", "--json"))
        expect(
            report["checks"]["sequential"] == {"compared": min(wanted, 10), "different": 0}, report["checks"]
        )
    # With nothing in parts nothing is compared, which is told.
    report = report_of(tool("run", path, "--draw", "4", "--check-sequential", "--budget", "npu=1", "--json"))
    expect(report["checks"]["sequential"] == {"compared": 0, "different": 0}, report["checks"])
    expect(report["requests"]["by_fallback"] == 4, report)


def test_a_part_in_the_middle_does_not_fit(tool, folder):
    # The second part of the npu needs more than the first.
    text = """<ir_version: 10, opset_import: ["" : 17]>
g (float[4] x, float[64,4] z) => (float[64,4] y) { a = Relu (x)  c = Sin (a)  y = Add (c, z) }"""
    path = cut(tool, folder, text)
    report = report_of(tool("run", path, "--draw", "4", "--budget", "npu=1000", "--json"))
    expect(report["requests"]["by_fallback"] == 4, report["requests"])
    words = ["--draw", "4", "--budget", "npu=1000", "--fallback", "none", "-q"]
    refused(tool("run", path, *words), LIMIT, "subgraph 's2'")


def test_defaults_of_old_models(tool, folder):
    # Below IR version 4 an initializer is an input, and ONNX Runtime takes it for a constant.
    text = """<ir_version: 3, opset_import: ["" : 8]>
g (float[N,4] x, float[4] c) => (float[N,4] y) <float[4] c = {1, 2, 3, 4}>
{ a = Relu (x)  b = Sin (a)  y = Add (b, c) }"""
    for more in ((), ("--parts", "never")):
        path = cut(tool, folder, text, *more)
        report = report_of(tool("run", path, "--draw", "3", "--check-whole", "--check-sequential", "--json"))
        expect(report["requests"]["done"] == 3 and report["requests"]["by_fallback"] == 0, report)
        np.savez(folder / "in.npz", x=np.ones((2, 4), np.float32), c=np.zeros(4, np.float32))
        done = tool("run", path, "--input", folder / "in.npz", "-q")
        refused(done, USAGE, "'c'", "--ir-version")


def test_sequences_with_a_name_of_a_dim(tool, folder):
    text = """<ir_version: 10, opset_import: ["" : 17]>
g (seq(float[N]) s, float[N] x) => (float[M] y) <int64 i = {0}> {
  a = Relu (x)  e = SequenceAt (s, i)  y = Concat <axis = 0> (e, a) }"""
    path = cut(tool, folder, text)
    report = report_of(tool("run", path, "--draw", "5", "--check-whole", "--json"))
    expect(report["requests"]["done"] == 5, report)


def test_workers_that_cannot_be(tool, folder):
    path = cut(tool, folder)
    words = ["run", path, "--draw", "2", "--workers", "npu=256,cpu=256", "--max-memory", "1G", "-q"]
    done = tool(*words)
    expect(done.returncode in (0, LIMIT), done.returncode, done.stderr)
    fifo = folder / "x.npy"
    os.mkfifo(fifo)
    refused(tool("run", path, "--input", f"x={fifo}", "-q"), USAGE, "no regular file")


def test_test_data(tool, folder):
    path = cut(tool, folder)
    for i in range(2):
        sets = folder / "data" / f"test_data_set_{i}"
        sets.mkdir(parents=True)
        feeds = arrays(i, 4)
        for kind, values in (("input", feeds), ("output", wanted(feeds))):
            for k, (name, value) in enumerate(values.items()):
                (sets / f"{kind}_{k}.pb").write_bytes(
                    numpy_helper.from_array(value, name).SerializeToString()
                )
    words = ["run", path, "--test-data", folder / "data"]
    report = report_of(tool(*words, "--check-tolerance", "1e-4", "--json"))
    expect(report["checks"]["test_data"] == {"compared": 2, "different": 0}, report)
    wrong = onnx.TensorProto.FromString((sets / "output_1.pb").read_bytes())
    array = numpy_helper.to_array(wrong).copy()
    array[0] += 1
    (sets / "output_1.pb").write_bytes(numpy_helper.from_array(array, "t").SerializeToString())
    refused(tool(*words, "-q"), CHECK, "test_data_set_1", "'t'")


def test_wrong_requests(tool, folder):
    path = cut(tool, folder)
    np.savez(folder / "all.npz", **arrays(1, 2))
    np.savez(folder / "few.npz", x=arrays(1, 2)["x"])
    np.savez(folder / "type.npz", x=arrays(1, 2)["x"].astype(np.float64), k=arrays(1, 2)["k"])
    np.savez(folder / "more.npz", **arrays(1, 2), z=np.zeros(2))
    (folder / "cut.npz").write_bytes((folder / "all.npz").read_bytes()[:60])
    run = ["run", path, "-q"]
    refused(tool(*run, "--input", folder / "few.npz"), USAGE, "k")
    refused(tool(*run, "--input", folder / "type.npz"), USAGE, "x")
    refused(tool(*run, "--input", folder / "more.npz"), USAGE, "z")
    refused(tool(*run, "--input", folder / "cut.npz"), INPUT, "cut.npz")
    refused(tool(*run), USAGE, "no requests")
    refused(tool(*run, "--draw", "2", "--input", folder / "all.npz"), USAGE, "two ways")
    refused(tool(*run, "--draw", "2", "--dim", "M=3"), USAGE, "M")
    refused(tool(*run, "--draw", "2", "--workers", "gpu=2"), USAGE, "gpu")
    refused(tool(*run, "--draw", "2", "--workers", "npu"), USAGE, "npu=4")
    refused(tool(*run, "--draw", "2", "--mode", "sync", "--inflight", "3"), USAGE, "--inflight")
    (folder / "list.jsonl").write_text('{"id": "a", "inputs": "all.npz"}\n{"id": "b", "inputs": "few.npz"}\n')
    done = tool(*run, "--requests", folder / "list.jsonl", "-o", folder / "results")
    refused(done, USAGE, "'b'")
    np.savez(folder / "rows.npz", x=arrays(1, 2)["x"], k=arrays(1, 3)["k"])
    refused(tool(*run, "--input", folder / "rows.npz", "-o", folder / "y.npz"), USAGE, "'k'", "N")
    expect(not (folder / "y.npz").exists(), "something was written")
    expect(not (folder / "results").exists(), "something was written")


def test_wrong_files(tool, folder):
    path = cut(tool, folder)
    run = ["--draw", "2", "-q"]
    refused(tool("run", folder / "none.json", *run), INPUT, "none.json")
    refused(tool("run", folder / "m.onnx", *run), INPUT)
    refused(tool("run", path, *run, "--ort", folder / "none.so"), NOT_CHECKED, "ONNX Runtime")
    (folder / "file").write_text("")
    refused(tool("run", path, *run, "-o", folder / "file"), OUTPUT, "it is a file")
    part = next(folder.glob("*.s1.*.onnx"), None) or next(p for p in folder.glob("out.*.onnx"))
    data = bytearray(part.read_bytes())
    data[20] ^= 1
    part.write_bytes(data)
    refused(tool("run", path, *run), INPUT, part.name)
    part.unlink()
    refused(tool("run", path, *run), INPUT, part.name)
    text = path.read_text()
    path.write_text(text.replace('"version": "1.', '"version": "2.', 1))
    refused(tool("run", path, *run), INPUT)


def test_a_request_that_fails(tool, folder):
    # The Reshape of the host works for an even number of elements only.
    text = """<ir_version: 10, opset_import: ["" : 17]>
g (float[N] x) => (float[2,M] y) <int64[2] s = {2, -1}> { a = Relu (x)  b = Reshape (a, s)  y = Neg (b) }"""
    path = cut(tool, folder, text)
    lines = []
    for i in range(6):
        np.savez(folder / f"in{i}.npz", x=np.arange(4 + i % 3, dtype=np.float32))
        lines.append(json.dumps({"inputs": f"in{i}.npz"}))
    (folder / "list.jsonl").write_text("\n".join(lines))
    done = tool(
        "run",
        path,
        "--requests",
        folder / "list.jsonl",
        "-o",
        folder / "results",
        "--report",
        folder / "r.json",
    )
    expect(done.returncode == NOT_CHECKED and "request '2'" in done.stderr, done.stderr)
    report = json.loads((folder / "r.json").read_text())
    expect(report["requests"]["done"] == 4 and report["requests"]["failed"] == 2, report["requests"])
    names = sorted(p.name for p in (folder / "results").iterdir())
    expect(names == ["1.npz", "3.npz", "4.npz", "6.npz"], names)


def test_timeouts(tool, folder):
    path = cut(tool, folder)
    done = tool("run", path, "--draw", "3", "--request-timeout", "0.000000001", "-q")
    refused(done, LIMIT, "draw.0", "--request-timeout")


def test_the_time_of_a_run(tool, folder):
    path = cut(tool, folder)
    done = tool("run", path, "--draw", "100000000", "--timeout", "1", "-q", "-o", folder / "results")
    refused(done, LIMIT, "--timeout: the time is over; the files", "fewer requests")
    for f in list((folder / "results").iterdir())[:50]:
        expect(set(np.load(f).files) == {"y", "t"}, f)


def test_interrupts_leave_whole_files(tool, folder):
    path = cut(tool, folder)
    words = [tool.binary, "run", path, "--draw", "1000000", "-o", folder / "results", "-q"]
    process = subprocess.Popen(list(map(str, words)))
    for _ in range(400):
        if (folder / "results").exists() and any((folder / "results").iterdir()):
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    status = process.wait(60)
    expect(status == -signal.SIGINT, status)
    files = list((folder / "results").iterdir())
    expect(files and all(f.name.startswith("draw.") for f in files), files)
    for f in files:
        expect(set(np.load(f).files) == {"y", "t"}, f)


if __name__ == "__main__":
    sys.exit(main(globals()))
