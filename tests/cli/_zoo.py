"""A folder of models for the tests of batches, and how two folders of results are compared."""

import json
import os
import pathlib

import numpy as np
import onnx
from onnx import numpy_helper

from _tool import expect, long_model, model

LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"
# Options that one model needs: without them it is not checked on the size that it is for.
RULES = [{"match": "sized/**", "options": {"dim": ["batch=4"], "exact": True}}]
FAILING = {"broken.onnx": 2, "pointer.onnx": 2}


def with_data(path, elements=2000):
    """Saves a model whose weights are in a file next to it."""
    m = model()
    big = numpy_helper.from_array(np.arange(elements, dtype=np.float32), "big")
    m.graph.initializer.append(big)
    m.graph.node.append(onnx.helper.make_node("ReduceSum", ["big"], ["total"], keepdims=0))
    m.graph.node.append(onnx.helper.make_node("Relu", ["big"], ["kept"]))
    m.graph.output.append(onnx.helper.make_tensor_value_info("total", 1, []))
    m.graph.output.append(onnx.helper.make_tensor_value_info("kept", 1, [elements]))
    onnx.save_model(m, path, save_as_external_data=True, location=path.name + ".data", size_threshold=100)


def make_zoo(folder):
    """Writes the models; returns the file with the options that some of them need."""
    for name in ("a", "vision/net", "text/net", "text/deep/er", "sized/one"):
        path = folder / f"{name}.onnx"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(model().SerializeToString())
    (folder / "text" / "long.onnx").write_bytes(long_model(50).SerializeToString())
    (folder / "data").mkdir()
    with_data(folder / "data" / "weights.onnx")
    (folder / "broken.onnx").write_bytes(b"\x08\x0a\x12\xff no model")
    (folder / "pointer.onnx").write_bytes(LFS)
    (folder / "notes.txt").write_text("no model\n")
    rules = folder.parent / "rules.json"
    rules.write_text(json.dumps(RULES))
    return rules


def tree(folder):
    """{path: bytes} of all files, with their folders."""
    folder = pathlib.Path(folder)
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))
    }


def difference(a, b):
    """The paths in which two trees differ."""
    return sorted(p for p in {*a, *b} if p not in a or p not in b or a[p] != b[p])


def times(folder):
    """{path: modification time} of all files."""
    return {str(p): os.stat(p).st_mtime_ns for p in sorted(pathlib.Path(folder).rglob("*")) if p.is_file()}


def zoo_of(folder):
    zoo = folder / "zoo"
    return zoo, make_zoo(zoo)


def lines_of(done):
    """The lines of JSON of --json: the models by name, and the whole."""
    lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
    return {line["name"]: line for line in lines[:-1]}, lines[-1]["batch"]


def plan(tool, *words):
    """What --dry-run would do: {name: why}, of what is not up to date."""
    done = tool("batch", *words, "--dry-run", "--json")
    expect(done.returncode == 0, done.stderr)
    lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
    return {line["name"]: line["why"] for line in lines if line["state"] != "up to date"}
