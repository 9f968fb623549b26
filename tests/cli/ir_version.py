"""--ir-version: the model gets that IR version, never a lower one, and nothing else of it changes."""

import sys

import onnx
from onnx import ModelProto, parser

from _tool import INPUT, USAGE, expect, kept, main, saved
from check_runs import library
from default_constants import names, weights_as_inputs

TEXT = """<ir_version: 8, opset_import: ["" : 17]>
g (float[N,4] x) => (float[N,4] y) <float[4] w = {1, -2, 3, 4}> { a = Relu (x)  y = Add (a, w) }"""


def test_nothing_else_changes(tool, folder):
    m = parser.parse_model(TEXT)
    for version in (8, 9, 10, 14):
        data = kept(tool, saved(folder, m), folder / "out.onnx", "--ir-version", str(version))
        wanted = ModelProto.FromString(m.SerializeToString())
        wanted.ir_version = version
        expect(ModelProto.FromString(data) == wanted, version, ModelProto.FromString(data))


def test_refused(tool, folder):
    path, out = saved(folder, parser.parse_model(TEXT)), folder / "out.onnx"
    for text in ("7", "3"):
        done = tool(path, "-o", out, "--ir-version", text)
        expect(
            done.returncode == INPUT and f"--ir-version {text}" in done.stderr, done.returncode, done.stderr
        )
        expect("IR version 8" in done.stderr and "help: " in done.stderr, done.stderr)
    for text in ("2", "15", "-1", "ten", "", "10.0", "99999999999999999999"):
        done = tool(path, "-o", out, "--ir-version", text)
        expect(done.returncode == USAGE and "3 to 14" in done.stderr, text, done.returncode, done.stderr)
    expect(not out.exists(), "OUT was written")


def test_defaults_stay_defaults(tool, folder):
    """From version 4 on they may be fed: they stay inputs, and a warning says that they may be fed now."""
    m = weights_as_inputs(weights=2)
    path, out = saved(folder, m), folder / "out.onnx"
    data = kept(tool, path, out, "--ir-version", "10")
    wanted = ModelProto.FromString(m.SerializeToString())
    wanted.ir_version = 10
    expect(ModelProto.FromString(data) == wanted, ModelProto.FromString(data))
    done = tool(path, "-o", out, "--ir-version", "10", "--check", "--ort", library())
    expect(done.returncode == 0 and done.stderr.count("warning") == 1, done.stderr)
    expect("--ir-version" in done.stderr and "--constant-defaults" in done.stderr, done.stderr)
    onnx.checker.check_model(onnx.load(out), full_check=True)
    expect(names(onnx.load(out).graph.input) == ["w0", "x", "w1"], onnx.load(out).graph.input)
    expect(sum(n.op_type == "Neg" for n in onnx.load(out).graph.node) == 2, "folded what may be fed")

    both = ("--ir-version", "10", "--constant-defaults")
    done = tool(path, "-o", out, *both, "--check", "--ort", library())
    expect(done.returncode == 0 and "warning" not in done.stderr, done.stderr)
    now = onnx.load(out)
    expect(now.ir_version == 10 and names(now.graph.input) == ["x"], now)
    expect(all(n.op_type != "Neg" for n in now.graph.node), now.graph.node)

    newer = saved(folder, weights_as_inputs(ir=8, opset=15, weights=2))
    done = tool(newer, "-o", out, "--ir-version", "10")
    expect(done.returncode == 0 and "warning" not in done.stderr, done.stderr)


def test_buckets_and_single(tool, folder):
    path, out = saved(folder, parser.parse_model(TEXT)), folder / "out.onnx"
    for more in ([], ["--bucket-single"]):
        done = tool(path, "-o", out, "--ir-version", "10", "--bucket", "N=4,8", *more)
        expect(done.returncode == 0, done.stderr)
        models = list(folder.glob("out*.onnx"))
        expect(len(models) >= 2 - len(more), models)
        for p in models:
            expect(onnx.load(p).ir_version == 10, p)
        for p in [*folder.glob("out*.json"), *models]:
            p.unlink()


if __name__ == "__main__":
    sys.exit(main(globals()))
