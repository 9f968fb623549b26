"""Loading and saving: `graphopt -O0 IN -o OUT` keeps everything that a model can hold."""

import hashlib
import os
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import onnx
from onnx import ModelProto, helper, numpy_helper

from _models import SURVIVORS, subgraphs, texts, varint
from _tool import expect, fields, kept, main, model, saved


def test_everything_survives(tool, folder):
    for make in SURVIVORS:
        m = make()
        path = saved(folder, m, f"{make.__name__}.onnx")
        data = kept(tool, path, folder / "out.onnx")
        expect(fields(data) == m.SerializeToString(deterministic=True), make.__name__, "differs")
        expect(
            kept(tool, folder / "out.onnx", folder / "again.onnx") == data,
            make.__name__,
            "the second run changes bytes",
        )


def test_unsorted(tool, folder):
    """Nodes in any order, captures included; the result has them in the order of the file where that is
    possible."""
    m = subgraphs()
    nodes = [
        m.graph.node[1],
        helper.make_node("Relu", ["y"], ["z"]),
        m.graph.node[0],
        helper.make_node("Abs", ["x"], ["free"]),
    ]
    del m.graph.node[:]
    m.graph.node.extend(nodes)
    data = kept(tool, saved(folder, m), folder / "out.onnx")
    expect([n.op_type for n in ModelProto.FromString(data).graph.node] == ["Relu", "If", "Relu", "Abs"], data)
    del m.graph.node[:]
    m.graph.node.extend([nodes[2], nodes[0], nodes[1], nodes[3]])
    expect(fields(data) == m.SerializeToString(deterministic=True), "more than the order differs")
    expect(kept(tool, folder / "out.onnx", folder / "again.onnx") == data, "the second run changes bytes")


def test_field_order_and_padding(tool, folder):
    """Fields in any order and numbers written longer than needed mean the same."""
    m = texts()
    parts = [
        varint(7 << 3 | 2)
        + (lambda b: varint(len(b))[:-1] + bytes([varint(len(b))[-1] | 0x80, 0]) + b)(
            m.graph.SerializeToString()
        )
    ]
    rest = ModelProto()
    rest.CopyFrom(m)
    rest.ClearField("graph")
    data = kept(tool, saved(folder, parts[0] + rest.SerializeToString()), folder / "out.onnx")
    expect(data == m.SerializeToString(deterministic=True), "not in the order of field numbers")


def test_streams_and_places(tool, folder):
    m = texts()
    path = saved(folder, m)
    data = path.read_bytes()
    done = tool("-q", "-O0", "-", "-o", "-", stdin=data)
    expect(done.returncode == 0 and fields(done.stdout) == fields(data), done.stderr)
    path.chmod(0o640)
    kept(tool, path, path)
    expect(
        fields(path.read_bytes()) == fields(data) and stat.S_IMODE(path.stat().st_mode) == 0o640, "in place"
    )
    link = folder / "link.onnx"
    link.symlink_to("m.onnx")
    kept(tool, path, link)
    expect(link.is_symlink() and fields(path.read_bytes()) == fields(data), "a link is followed")
    expect(tool("-q", "-O0", path, "-o", "/dev/null").returncode == 0, "/dev/null")
    done = tool("-q", "-O0", "m.onnx", "-o", "sub/../o.onnx", cwd=folder)
    expect(done.returncode == 4, "missing folder", done.stderr)
    expect(sorted(os.listdir(folder)) == ["link.onnx", "m.onnx"], "left behind:", os.listdir(folder))


def test_text(tool, folder):
    text = b"""# a comment
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[n, 3] x) => (float[n, 3] y) <float[3] w = {1, 2, 3}> { t = Add (x, w)
      y = Relu (t) }"""
    data = kept(tool, saved(folder, text, "m.txt"), folder / "out.onnx")
    m = ModelProto.FromString(data)
    expect([n.op_type for n in m.graph.node] == ["Add", "Relu"] and m.ir_version == 10, m)
    onnx.checker.check_model(m, full_check=True)
    done = tool("-q", "-O0", "-", "-o", "-", stdin=text)
    expect(done.stdout == data, "the same through pipes")


def test_killed_while_writing(tool, folder):
    """Whatever the moment of a kill -9, OUT is the old or the new file."""
    old, new = model(), texts()
    for m in (old, new):
        m.graph.initializer.append(
            numpy_helper.from_array(np.ones(2**20, np.float32) * len(m.metadata_props), "ballast")
        )
    out = folder / "out.onnx"
    new_path = saved(folder, new, "new.onnx")
    old_data = old.SerializeToString()
    new_data = kept(tool, new_path, folder / "expected.onnx")
    start = time.monotonic()
    tool("-q", "-O0", new_path, "-o", folder / "expected.onnx")
    duration = time.monotonic() - start
    rng = np.random.default_rng(7)
    seen = set()
    for moment in rng.uniform(0, duration * 1.2, 40):
        out.write_bytes(old_data)
        process = subprocess.Popen([tool.binary, "-q", "-O0", str(new_path), "-o", str(out)])
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
        now = out.read_bytes()
        expect(now in (old_data, new_data), "OUT is neither the old nor the new file")
        seen.add(hashlib.sha256(now).hexdigest())
    print(f"  killed 40 times: {len(seen)} different states of OUT")


if __name__ == "__main__":
    sys.exit(main(globals()))
