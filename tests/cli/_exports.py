"""What the tests of --emit share."""

import hashlib
import pathlib
import sys

from _tool import expect
from onnx import parser

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.profiles import profile  # noqa: E402

HEAD = '<ir_version: 10, opset_import: ["" : 17]>\n'
FIG8 = """g (float[N,4] x, float[N,4] z) => (float[N,4] y) <float[4] w = {1, 2, 3, 4}> {
  va = Relu (x)  vb = Erf (va)  vc = Mul (vb, w)  ve = Sigmoid (z)  y = Add (vc, ve)
}"""


def model_of(folder, text=FIG8, head=HEAD):
    source = folder / "in.onnx"
    source.write_bytes(
        (parser.parse_model(head + text) if isinstance(text, str) else text).SerializeToString()
    )
    return source


def emit(tool, folder, forms, text=FIG8, *words, devices=None, head=HEAD):
    """Cuts the model with -O0 into m.onnx, and gives what the run said."""
    devices = devices or profile(folder, "Relu", "Add", "Mul", "Sigmoid")
    source = model_of(folder, text, head)
    done = tool(source, "-O0", "--devices", devices, "-o", folder / "m.onnx", "--emit", forms, *words)
    expect(done.returncode == 0, done.stderr)
    return done


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
