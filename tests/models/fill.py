#!/usr/bin/env python3
"""Makes the skeletons in this folder runnable: gives every tensor that has a recipe its values.

  fill.py OUT_DIR [--only NAME ...] [--external]

Writes OUT_DIR/NAME.onnx, with --external the larger weights in NAME.onnx.data beside it. A model whose
weights do not have the digest that index.json records is not written, and the exit status is 1. README.md
describes the recipes.
"""

import argparse
import hashlib
import json
import lzma
import os
import pathlib
import sys

import numpy as np
import onnx
from onnx import TensorProto

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import models  # noqa: E402
from lib.streams import Stream  # noqa: E402

MARK = "fill:"
STORED = {
    TensorProto.FLOAT: "<f4",
    TensorProto.DOUBLE: "<f8",
    TensorProto.FLOAT16: "<f2",
    TensorProto.INT8: "i1",
    TensorProto.UINT8: "u1",
}


def tensors(model):
    """Every tensor in the order of the digest: a graph's initializers come before those in its nodes'
    attributes, a body where its node stands, functions after the main graph."""
    pending = [item for f in reversed(model.functions) for item in reversed(f.node)] + [model.graph]
    while pending:
        item = pending.pop()
        if isinstance(item, onnx.GraphProto):
            yield from item.initializer
            pending += reversed(item.node)
        elif isinstance(item, onnx.NodeProto):
            pending += reversed(item.attribute)
        else:
            if item.HasField("t"):
                yield item.t
            yield from item.tensors
            pending += reversed(([item.g] if item.HasField("g") else []) + list(item.graphs))


def values(model, recipe, count):
    """The doubles of a recipe, within its bounds."""
    if recipe["k"] == "const":
        return np.full(count, float(recipe["v"]))
    stream, low, high = Stream("fill", model, recipe["key"]), recipe["lo"], recipe["hi"]
    if recipe["k"] in ("normal", "int"):
        drawn = stream.normal(count) * recipe["s"] + recipe["m"]
        if recipe["k"] == "int":
            drawn = np.floor(drawn + 0.5)
    elif recipe["k"] in ("uniform", "pow"):
        base = stream.uniform(count)
        drawn = base
        for _ in range(1, recipe.get("p", 1)):
            drawn = drawn * base
        drawn = drawn * (high - low) + low
    else:
        sys.exit(f"fill: {model}: no recipe is called {recipe['k']}")
    return np.clip(drawn, low, high)


def stored(numbers, data_type):
    """The bytes of raw_data, rounded to the nearest number of the type, ties to even."""
    if data_type == TensorProto.BFLOAT16:
        bits = numbers.astype("<f4").view("<u4")
        return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2").tobytes()
    return numbers.astype(STORED[data_type]).tobytes()


def fill(model, name):
    """Gives every tensor with a recipe its values; returns the SHA-256 of all of them."""
    digest = hashlib.sha256()
    for tensor in tensors(model):
        if not tensor.doc_string.startswith(MARK):
            continue
        recipe = json.loads(tensor.doc_string.removeprefix(MARK))
        count = int(np.prod(tensor.dims, dtype=np.int64))
        tensor.raw_data = stored(values(name, recipe, count), tensor.data_type)
        digest.update(tensor.raw_data)
        tensor.ClearField("doc_string")
        if "d" in recipe:
            tensor.doc_string = recipe["d"]
    return digest.hexdigest()


def save(model, path, external):
    """The model under its name only when it is whole."""
    data = path.with_name(path.name + ".data")
    data.unlink(missing_ok=True)
    if external:
        onnx.save(
            model,
            path,
            save_as_external_data=True,
            location=data.name,
            size_threshold=1024,
            convert_attribute=False,
        )
        return
    part = path.with_name(path.name + ".part")
    part.write_bytes(model.SerializeToString())
    os.replace(part, path)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("folder", metavar="OUT_DIR", type=pathlib.Path)
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    p.add_argument("--external", action="store_true", help="weights in NAME.onnx.data")
    a = p.parse_args()
    a.folder.mkdir(parents=True, exist_ok=True)
    records, wrong = models.records(), []
    for name in models.chosen(a.only):
        model = onnx.ModelProto.FromString(lzma.decompress((models.FOLDER / f"{name}.onnx.xz").read_bytes()))
        if fill(model, name) != records[name]["weights_sha256"]:
            wrong.append(name)
            continue
        save(model, a.folder / f"{name}.onnx", a.external)
        print(name, flush=True)
    if wrong:
        print(f"fill: the weights differ from the recorded digest: {' '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
