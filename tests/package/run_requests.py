#!/usr/bin/env python3
"""graphopt.run of the module: arrays in and out equal the tool's own files; what fails, and what is left.

  run_requests.py GRAPHOPT

The module is that of the source tree. Every test gets the binary and an empty folder.
"""

import contextlib
import importlib.util
import json
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper, parser

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "python"), str(TOP / "tests")]

import graphopt  # noqa: E402
from graphopt import _run  # noqa: E402
from _expect import expect, raised, run_with_binary  # noqa: E402
from lib.profiles import profile  # noqa: E402

# Four parts: Sin and Cos are on the host.
MODEL = """<ir_version: 10, opset_import: ["" : 17]>
g (float[N,4] x, int64[N] k) => (float[N,4] y, int64[N] t) <float[4] b = {1, -2, 3.5, 0}> {
  a = Relu (x)  c = Sin (a)  d = Add (c, b)  e = Cos (d)  y = Mul (e, a)  t = Neg (k)
}"""
# The Reshape of the host works for an even number of elements only.
EVEN = """<ir_version: 10, opset_import: ["" : 17]>
g (float[N] x) => (float[2,M] y) <int64[2] s = {2, -1}> { a = Relu (x)  b = Reshape (a, s)  y = Neg (b) }"""
SCALAR = """<ir_version: 10, opset_import: ["" : 17]>
g (float x, float[N] v) => (float y, float[N] w) { a = Relu (x)  y = Sin (a)  w = Mul (v, a) }"""
COPIES = """<ir_version: 11, opset_import: ["" : 21]>
g (TYPE[N] x) => (TYPE[N] y) { a = Identity (x)  y = Identity (a) }"""
# The runtime has little else for integers of 4 bits.
FOUR_BITS = """<ir_version: 11, opset_import: ["" : 21]>
g (TYPE[N] x) => (TYPE[N] y) <float s = {1}, TYPE z = {0}> {
  a = DequantizeLinear (x, s)  b = Neg (a)  c = Neg (b)  y = QuantizeLinear (c, s, z)
}"""


def cut(folder, text=MODEL, name="m"):
    """A manifest."""
    npu = profile(folder, "Relu", "Add", "Mul", "Neg")
    graphopt.optimize(
        parser.parse_model(text), folder / f"{name}.onnx", devices=[npu], lower="never", parts="auto"
    )
    return folder / f"{name}.manifest.json"


def arrays(seed, rows):
    rng = np.random.default_rng(seed)
    return {
        "x": rng.standard_normal((rows, 4)).astype(np.float32),
        "k": rng.integers(-(2**63), 2**63, rows),
    }


def by_tool(binary, folder, path, requests):
    """The outputs that the tool itself writes for a list of archives."""
    lines = []
    for number, feeds in enumerate(requests):
        np.savez(folder / f"{number}.npz", **feeds)
        lines.append(json.dumps({"id": str(number), "inputs": f"{number}.npz"}))
    (folder / "list.jsonl").write_text("\n".join(lines))
    (folder / "results").mkdir(exist_ok=True)
    words = [binary, "run", path, "--requests", folder / "list.jsonl", "-o", folder / "results", "-q"]
    subprocess.run(list(map(str, words)), check=True, timeout=120)
    return [dict(np.load(folder / "results" / f"{number}.npz")) for number in range(len(requests))]


def same(got, wanted):
    expect(got.keys() == wanted.keys(), got.keys(), wanted.keys())
    for name, value in wanted.items():
        expect(got[name].dtype == value.dtype and got[name].shape == value.shape, name, got[name], value)
        expect(got[name].tobytes() == value.tobytes(), name, got[name], value)


@contextlib.contextmanager
def nothing_left(folder):
    """Temporary files are in a folder of their own, which is empty in the end."""
    before, own = tempfile.tempdir, folder / "temporary"
    own.mkdir()
    tempfile.tempdir = str(own)
    try:
        yield
    finally:
        tempfile.tempdir = before
    expect(not os.listdir(own), "files are left:", os.listdir(own))


def test_the_same_as_files(binary, folder):
    """Arrays of any layout, none and many rows, from a list and from a generator."""
    path = cut(folder)
    requests = [arrays(i, rows) for i, rows in enumerate((3, 0, 1, 8, *[2] * 8))]
    wanted = by_tool(binary, folder, path, requests)
    with nothing_left(folder):
        done = graphopt.run(path, requests, check_sequential=True, check_whole=True)
    expect(len(done.outputs) == len(requests) and done.log == "", done.log)
    for got, want in zip(done.outputs, wanted):
        same(got, want)
    report = done.report
    expect(report.requests.all == report.requests.done == 12 and report.requests.failed == 0, report.requests)
    expect(report.sequential == graphopt.RunCheck(12, 0) == report.whole and not report.test_data, report)
    expect(report.latency.p50 <= report.latency.max and report.runtime == report.raw["runtime"], report)
    (network,) = report.networks
    expect(network.manifest == str(path) and [m.requests for m in network.models] == [12], network)
    expect([d.id for d in network.devices] == ["npu", "cpu"] and network.devices[0].peak > 0, network.devices)
    expect([s.runs for s in network.subgraphs] == [12] * len(network.subgraphs), network.subgraphs)
    laid_out = ({"x": np.asfortranarray(r["x"]), "k": r["k"].astype(">i8")} for r in requests)
    for got, want in zip(graphopt.run(str(path), laid_out, unordered=True, inflight=4).outputs, wanted):
        same(got, want)
    lists = graphopt.run(path, [{"x": requests[0]["x"][:, ::1], "k": requests[0]["k"].tolist()}])
    same(lists.outputs[0], wanted[0])
    expect(graphopt.run(path, requests, outputs=False).outputs == [], "outputs that nobody wants")


def test_scalars(binary, folder):
    path = cut(folder, SCALAR)
    v = np.arange(3, dtype=np.float32)
    requests = [{"x": np.float32(2), "v": v}, {"x": np.array(0.5, np.float32), "v": v[::-1]}]
    wanted = by_tool(binary, folder, path, requests)
    for got, want in zip(graphopt.run(path, requests).outputs, wanted):
        same(got, want)
        expect(got["y"].shape == (), got)


def test_draws_and_test_data(binary, folder):
    path = cut(folder)
    done = graphopt.run(path, draw=12, dims={"N": (0, 5)}, seed=3)
    words = [binary, "run", path, "--draw", 12, "--dim", "N=0..5", "--seed", 3, "-q", "-o", folder / "drawn"]
    subprocess.run(list(map(str, words)), check=True, timeout=120)
    expect(len(done.outputs) == 12, len(done.outputs))
    for number, got in enumerate(done.outputs):
        same(got, dict(np.load(folder / "drawn" / f"draw.{number}.npz")))
    wanted = []
    for number in (0, 2, 10):  # in the order of numbers, not of names
        sets = folder / "data" / f"test_data_set_{number}"
        sets.mkdir(parents=True)
        feeds = arrays(number, number + 1)
        wanted += by_tool(binary, folder, path, [feeds])
        for kind, values in (("input", feeds.values()), ("output", wanted[-1].values())):
            for i, value in enumerate(values):
                (sets / f"{kind}_{i}.pb").write_bytes(numpy_helper.from_array(value).SerializeToString())
    done = graphopt.run(path, test_data=folder / "data")
    expect(done.report.test_data == graphopt.RunCheck(3, 0), done.report.test_data)
    for got, want in zip(done.outputs, wanted):
        same(got, want)
    same(graphopt.run(path, test_data=f"{sets}/").outputs[0], wanted[-1])
    other = onnx.TensorProto.FromString((sets / "output_1.pb").read_bytes())
    changed = numpy_helper.to_array(other) + 1
    (sets / "output_1.pb").write_bytes(numpy_helper.from_array(changed).SerializeToString())
    error = raised(graphopt.CheckFailed, lambda: graphopt.run(path, test_data=folder / "data"), "'t'")
    expect(error.run.report.test_data == graphopt.RunCheck(3, 1), error.run.report.test_data)
    expect([p.request for p in error.run.report.problems] == ["test_data_set_10"], error.run.report.problems)
    same(error.run.outputs[2], wanted[2])


def test_wrong_requests(binary, folder):
    """Each is refused before anything runs, and says which request and which input it is."""
    path = cut(folder)
    good = arrays(1, 2)

    def refused(wrong, *parts):
        error = raised(graphopt.UsageError, lambda: graphopt.run(path, [good, wrong]), "request '1'", *parts)
        expect(error.run is None and error.file == "", error.run, error.file)
        expect(tempfile.gettempdir() not in str(error), error)

    with nothing_left(folder):
        refused({**good, "z": good["k"]}, "'z'", "x, k")
        refused({"x": good["x"]}, "'k'")
        refused({**good, "k": good["x"]}, "'k'", "int64")
        refused({**good, "x": good["x"].astype(np.float64)}, "'x'", "double")
        refused({**good, "x": good["x"][:, :3]}, "'x'", "[N,4]")
        refused({**good, "k": good["k"][:1]}, "'k'", "N")
        raised(graphopt.UsageError, lambda: graphopt.run(path, [{"": 1}]), "list.jsonl: line 1")
        # What is no array, or no request, is not asked of the tool.
        for value in (None, [object()], np.array(["a", 1], object), np.datetime64("2020-01-01")):
            raised(TypeError, lambda v=value: graphopt.run(path, [good, {"x": v}]), "request 1", "'x'")
        raised(TypeError, lambda: graphopt.run(path, good), "request 0 is a mapping")
        raised(TypeError, lambda: graphopt.run(path, [{1: good["x"]}]), "request 0", "1")
        raised(ValueError, lambda: graphopt.run(path, []), "no requests")
        text = np.array(["a\0"], object)
        raised(ValueError, lambda: graphopt.run(path, [{"x": text}]), "zero byte")
    raised(TypeError, lambda: graphopt.run(path), "requests, or draw, or test_data")
    raised(TypeError, lambda: graphopt.run(path, [good], draw=2), "requests, or draw, or test_data")


def test_a_request_that_fails(binary, folder):
    """The answers of the others are in the exception, also when it is pickled."""
    path = cut(folder, EVEN)
    requests = [{"x": np.arange(4 + i % 3, dtype=np.float32)} for i in range(6)]
    with nothing_left(folder):
        error = raised(graphopt.NotChecked, lambda: graphopt.run(path, requests), "request '1'", "'4'")
    for run in (error.run, pickle.loads(pickle.dumps(error)).run):
        expect([i for i, one in enumerate(run.outputs) if one is None] == [1, 4], run.outputs)
        for i in (0, 2, 3, 5):
            same(run.outputs[i], {"y": -requests[i]["x"].reshape(2, -1)})
        expect((run.report.requests.done, run.report.requests.failed) == (4, 2), run.report.requests)
        expect([(p.request, p.status) for p in run.report.problems] == [("1", 6), ("4", 6)], run.report)
    late = raised(graphopt.LimitError, lambda: graphopt.run(path, requests[:1], request_timeout=1e-9))
    expect("request_timeout" in late.remedy and "--" not in late.remedy, late.remedy)
    expect(late.run.outputs == [None] and late.run.report.latency is None, late.run)
    expect(late.run.report.problems[0].remedy == late.remedy, late.run.report.problems)


def test_options(binary, folder):
    path = cut(folder)
    requests = [arrays(i, 16) for i in range(4)]
    done = graphopt.run(
        path,
        requests,
        mode="overlap",
        inflight=3,
        workers={"npu": 2, "cpu": 1},
        budget={"npu": "64M"},
        device={"npu": "cpu"},
        retries=1,
        retain="all",
        warm_up=0,
        check_sequential=2,
        check_whole=True,
        check_tolerance=1e-3,
        timeout=60,
        max_memory="4G",
        trace=folder / "t.json",
        report=folder / "r.json",
    )
    npu = done.report.networks[0].devices[0]
    expect((npu.workers, npu.budget) == (2, 64 << 20), npu)
    expect(done.report.networks[0].in_flight == 3 and done.report.sequential.compared == 2, done.report)
    expect(json.loads((folder / "r.json").read_text()) == done.report.raw, "another report")
    expect(json.loads((folder / "t.json").read_text())["traceEvents"], "no trace")
    small = graphopt.run(path, requests, budget={"npu": 100}, check_sequential=False)
    expect(small.report.requests.by_fallback == 4 and small.report.sequential is None, small.report.requests)
    error = raised(
        graphopt.LimitError, lambda: graphopt.run(path, requests, budget={"npu": 100}, fallback="none")
    )
    expect(error.run.outputs == [None] * 4, error.run.outputs)
    raised(graphopt.UsageError, lambda: graphopt.run(path, requests, workers={"gpu": 2}), "gpu")
    raised(graphopt.UsageError, lambda: graphopt.run(path, requests, inflight=0), "inflight: '0'")
    raised(graphopt.UsageError, lambda: graphopt.run(path, requests, dims={"N": 2}), "dims is for draw")
    raised(graphopt.NotChecked, lambda: graphopt.run(path, requests, ort=folder / "none.so"), "ONNX Runtime")
    error = raised(graphopt.InputError, lambda: graphopt.run(folder / "none.json", draw=1))
    expect(error.file == str(folder / "none.json") and error.run is None, vars(error))
    for wrong, near in (("inflght", "'inflight'"), ("dim", "'dims'"), ("exact", "run()")):
        raised(TypeError, lambda w=wrong: graphopt.run(path, requests, **{w: 1}), f"'{wrong}'", near)


def test_the_runtime_of_this_python(binary, folder):
    """The tool gets the installed package's ONNX Runtime, unless another one is named."""
    seen, end_of = [], _run.end_of
    _run.end_of = lambda words: seen.append(words) or end_of(words)
    try:
        graphopt.run(cut(folder), draw=1)
    finally:
        _run.end_of = end_of
    capi = pathlib.Path(importlib.util.find_spec("onnxruntime").origin).parent / "capi"
    expect(f"--ort={capi}" in seen[0], seen)


def test_types_that_numpy_lacks(binary, folder):
    try:
        import ml_dtypes
    except ImportError:
        print("  without ml_dtypes")
        return
    for text, name, element, given in (
        (COPIES, "bfloat16", ml_dtypes.bfloat16, [-1, 1.5, 2]),
        (COPIES, "float8e4m3fn", ml_dtypes.float8_e4m3fn, [-1, 1.5, 2]),
        (FOUR_BITS, "int4", ml_dtypes.int4, [-1, 5, -8]),
        (FOUR_BITS, "uint4", ml_dtypes.uint4, [1, 5, 15]),
    ):
        path = cut(folder, text.replace("TYPE", name), name)
        values = np.array(given).astype(element)
        bits = values.view(f"u{values.itemsize}")
        if text is FOUR_BITS:
            bits = bits & np.uint8(15)
        done = graphopt.run(path, [{"x": values}, {"x": bits}, {"x": values[:0]}])
        same(done.outputs[0], {"y": bits})
        same(done.outputs[1], {"y": bits})
        expect(done.outputs[2]["y"].shape == (0,), done.outputs[2])
    dirty = np.array([0xFF, 0xF1], np.uint8).view(ml_dtypes.int4)  # bits above the fourth do not count
    same(graphopt.run(folder / "int4.manifest.json", [{"x": dirty}]).outputs[0], {"y": np.uint8([15, 1])})
    large = np.array([16], np.uint8)
    raised(graphopt.UsageError, lambda: graphopt.run(path, [{"x": large}]), "'x'")


def test_texts(binary, folder):
    path = cut(folder, COPIES.replace("TYPE", "string"))
    given = ["one", "", "dr\u00fcben \U0001f600", "x" * 40]
    forms = [given, np.array(given), np.array(given, object), np.array([], object)]
    if hasattr(np.dtypes, "StringDType"):
        forms.append(np.array(given, np.dtypes.StringDType()))
    for form, got in zip(forms, graphopt.run(path, [{"x": f} for f in forms]).outputs):
        expect(got["y"].dtype.kind == "U" and got["y"].tolist() == list(form), got, form)
    raw = np.array([b"\xff\xfe", b"a"], object)
    expect(graphopt.run(path, [{"x": raw}]).outputs[0]["y"].tolist() == raw.tolist(), "bytes")


def test_a_folder_of_manifests(binary, folder):
    ids = []
    for name, text in (("a", MODEL), ("b", EVEN)):
        path = cut(folder, text, name)
        ids.append(json.loads(path.read_text())["network"]["id"])
    one, two = arrays(1, 3), {"x": np.arange(4, dtype=np.float32)}
    (wanted,) = by_tool(binary, folder, folder / "a.manifest.json", [one])
    same(graphopt.run(folder, [one], network=ids[0]).outputs[0], wanted)
    done = graphopt.run(folder, [one, (ids[1], two), (ids[0], one)], network=ids[0])
    same(done.outputs[0], wanted)
    same(done.outputs[1], {"y": -two["x"].reshape(2, 2)})
    same(done.outputs[2], wanted)
    expect([n.id for n in done.report.networks] == ids, done.report.networks)
    raised(graphopt.UsageError, lambda: graphopt.run(folder, [one]), "several networks")
    raised(graphopt.UsageError, lambda: graphopt.run(folder, [one], network="xyz"), "no manifest")


def test_a_path_like_an_option(binary, folder):
    cut(folder).rename(folder / "-m.json")
    here = os.getcwd()
    os.chdir(folder)
    try:
        expect(len(graphopt.run("-m.json", draw=2).outputs) == 2, "other outputs")
    finally:
        os.chdir(here)


def test_numpy_is_asked_for(binary, folder):
    """The module does without NumPy until `run` is called."""
    words = "import sys; sys.modules['numpy'] = None; import graphopt; graphopt.run('m.json', draw=1)"
    environment = {**os.environ, "PYTHONPATH": str(TOP / "python")}
    done = subprocess.run(
        [sys.executable, "-B", "-c", words], env=environment, capture_output=True, text=True
    )
    expect(done.stderr.endswith("needs NumPy: pip install 'graphopt[run]'\n"), done.stderr)


def test_the_page(binary, folder):
    """The example of docs/python.md."""
    page = (TOP / "docs" / "python.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"```python\n(import numpy as np\n.*?)```", page, re.S)
    npu = profile(folder, "Relu", "Add", "Mul", "Neg")
    graphopt.optimize(parser.parse_model(MODEL), folder / "out.onnx", devices=[npu], lower="never")
    environment = {**os.environ, "PYTHONPATH": str(TOP / "python")}
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=folder, env=environment, capture_output=True, text=True
    )
    expect(done.returncode == 0, done.stderr)
    expect(done.stdout.startswith("(2, 4) "), done.stdout)


if __name__ == "__main__":
    sys.exit(run_with_binary(globals(), sys.argv[1]))
