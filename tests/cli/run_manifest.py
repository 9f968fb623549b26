"""examples/run_manifest.py: equal up to the rounding of the model's type, a wrong part, sizes that fit
together, and files that are missing or no manifest."""

import hashlib
import json
import pathlib
import subprocess
import sys

import numpy as np
import onnx
from onnx import numpy_helper, parser

from _tool import expect, main

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(TOP / "tests"))

from lib.profiles import profile  # noqa: E402

RUNNER = TOP / "examples/run_manifest.py"
HEAD = '<ir_version: 10, opset_import: ["" : 17]>\n'
# Erf, of which no device has a kernel in half precision here, is on the host between two parts of the npu.
CHAIN = """g (TYPE[N,64] x) => (TYPE[N,64] y) <TYPE[64,64] w, TYPE[64] k> {
  a = MatMul (x, w)  b = Erf (a)  c = Add (b, k)  d = Sigmoid (c)
  e = MatMul (d, w)  f = Erf (e)  y = Mul (f, d)
}"""


def run(path, *words):
    return subprocess.run([sys.executable, RUNNER, path, *words], capture_output=True, text=True)


def cut(tool, folder, model, *operators):
    source = folder / "in.onnx"
    source.write_bytes(model.SerializeToString())
    devices = profile(folder, *(operators or ("Relu", "Add", "Sigmoid", "MatMul", "Mul")))
    done = tool(source, "-O0", "--devices", devices, "-o", folder / "out.onnx")
    expect(done.returncode == 0, done.stderr)
    return folder / "out.manifest.json"


def chain(element, dtype):
    m = parser.parse_model(HEAD + CHAIN.replace("TYPE", element))
    g = np.random.default_rng(1)
    tensors = {"w": g.standard_normal((64, 64)) / 8, "k": g.standard_normal(64)}
    del m.graph.initializer[:]
    m.graph.initializer.extend(numpy_helper.from_array(v.astype(dtype), n) for n, v in tensors.items())
    return m


def test_rounding_of_the_type(tool, folder):
    path = cut(tool, folder, chain("float16", np.float16))
    expect(len(json.loads(path.read_text())["subgraphs"]) >= 3, "nothing was cut")
    done = run(path)
    expect(done.returncode == 0 and "y: equal up to " in done.stdout, done.stdout, done.stderr)
    done = run(path, "--tolerance", "0")
    expect(done.returncode == 1 and "y: differs by " in done.stdout, done.stdout, done.stderr)
    done = run(cut(tool, folder, chain("float", np.float32)), "--tolerance", "0")
    expect(done.returncode == 0 and "y: equal\n" in done.stdout, done.stdout, done.stderr)


def test_nothing_to_compare(tool, folder):
    """An output without elements is equal to any other, which the line says."""
    text = """g (float[2] x) => (float[n,k] y, float[2] z) {
      a = Relu (x)  b = Sub (a, a)  c = NonZero (b)  d = Cast <to = 1> (c)  e = Erf (d)  y = Relu (e)
      z = Erf (a) }"""
    done = run(cut(tool, folder, parser.parse_model(HEAD + text)))
    expect("y: equal (it has no elements)\n" in done.stdout, done.stdout, done.stderr)
    expect("z: equal\n" in done.stdout and done.returncode == 0, done.stdout, done.stderr)


def replace(path, file, model):
    """The part `file` becomes another model, of which the manifest has the SHA-256."""
    manifest, data = json.loads(path.read_text()), model.SerializeToString()
    (path.parent / file).write_bytes(data)
    entry = next(f for f in manifest["files"] if f["path"] == file)
    entry.update(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))
    path.write_text(json.dumps(manifest))


def test_wrong_part(tool, folder):
    for element, dtype, factor in (("float16", np.float16, 1.2), ("float", np.float32, 1.001)):
        path = cut(tool, folder, chain(element, dtype))
        file = json.loads(path.read_text())["subgraphs"][-1]["file"]
        part = onnx.load(folder / file)
        out = part.graph.output[0].name
        for node in part.graph.node:
            node.output[:] = [name.replace(out, "inner") for name in node.output]
        scale = numpy_helper.from_array(np.array(factor, dtype), "scale")
        part.graph.initializer.append(scale)
        part.graph.node.append(onnx.helper.make_node("Mul", ["inner", "scale"], [out]))
        replace(path, file, part)
        done = run(path)
        expect(done.returncode == 1 and "differs by" in done.stdout, element, done.stdout, done.stderr)


def test_files(tool, folder):
    path = cut(tool, folder, chain("float", np.float32))
    manifest = json.loads(path.read_text())

    def refused(what, *texts):
        done = run(what)
        expect(done.returncode == 2 and "Traceback" not in done.stderr, done.returncode, done.stderr)
        for text in (str(what), *texts):
            expect(text in done.stderr, text, done.stderr)

    refused(folder / "absent.json", "No such file")
    refused(folder, "directory")
    bad = folder / "bad.json"
    for data, text in (
        (b"{", "is no JSON"),
        (b"\xff\xfe\x00", "is no JSON"),
        (b"[]", "is no manifest"),
        (b'{"format": "other"}', "is no manifest"),
        (json.dumps({**manifest, "version": "2.0"}).encode(), "version 2.0"),
    ):
        bad.write_bytes(data)
        refused(bad, text)
    part = folder / manifest["subgraphs"][0]["file"]
    data = part.read_bytes()
    part.write_bytes(data + b"\0")
    done = run(path)
    expect(done.returncode == 2 and "another content" in done.stderr, done.stderr)
    part.unlink()
    done = run(path)
    expect(done.returncode == 2 and f"{part} is not there" in done.stderr, done.stderr)


def test_sizes_that_fit(tool, folder):
    """Sizes of which one is a sum of two others, a multiple of 32, and above a kernel."""
    sums = """g (float[N,past,4] p, float[N,seq,4] x, float[N,total,4] m) => (float[N,t,4] y) {
      c = Concat <axis = 1> (p, x)  a = Relu (c)  y = Sub (a, m) }"""
    multiple = """g (float[N,h,w] x) => (float[N,k,32] y) <int64[3] s = {0, -1, 32}> {
      a = Relu (x)  b = Identity (a)  y = Reshape (b, s) }"""
    kernel = """g (float[N,1,samples] x) => (float[N,1,k] y) <float[1,1,300] w> {
      a = Relu (x)  y = Conv (a, w) }"""
    for text in (sums, multiple, kernel):
        m = parser.parse_model(HEAD + text)
        if "w> {" in text:
            del m.graph.initializer[:]
            m.graph.initializer.append(numpy_helper.from_array(np.ones((1, 1, 300), np.float32), "w"))
        done = run(cut(tool, folder, m, "Relu"))
        expect(done.returncode == 0 and done.stderr == "", done.stdout, done.stderr)
    # A model that takes nothing that is drawn: a chosen size does not fit.
    done = run(
        cut(tool, folder, parser.parse_model(HEAD + sums), "Relu"), "--dim", "total=3", "--dim", "seq=9"
    )
    expect(done.returncode == 2 and "does not take" in done.stderr, done.stdout, done.stderr)
    done = run(folder / "out.manifest.json", "--dim", "total=12", "--dim", "seq=9", "--dim", "past=3")
    expect(done.returncode == 0, done.stdout, done.stderr)
    for words in (("--dim", "total"), ("--dim", "total=x"), ("--dim", "other=3")):
        done = run(folder / "out.manifest.json", *words)
        expect(done.returncode == 2 and "Traceback" not in done.stderr, words, done.stderr)


def test_random_operators(tool, folder):
    """Two runs differ, and so does a run of the parts: of such an output type and shape are compared."""
    text = """g (float[N,4] x) => (float[N,4] y, float[N,4] z) {
      a = Relu (x)  r = RandomNormalLike (a)  y = Add (a, r)  z = Neg (a) }"""
    done = run(cut(tool, folder, parser.parse_model(HEAD + text), "Relu"))
    expect(done.returncode == 0, done.stdout, done.stderr)


if __name__ == "__main__":
    sys.exit(main(globals()))
