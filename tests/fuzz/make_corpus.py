#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets, small models of many kinds and inputs of runs: make_corpus.py FOLDER
makes FOLDER/<target>/<number>."""

import io
import sys
from pathlib import Path

import numpy as np
from onnx import numpy_helper

sys.path.insert(0, str(Path(__file__).parent.parent / "campaign"))
import _mutations  # noqa: E402

REQUESTS = b"""{"id": "a", "inputs": {"x": "x.npy"}}

{"draw": {"seq": [1, 3]}, "seed": 7, "repeat": 100, "network": "n"}
{"inputs": "all.npz"}
"""


def inputs():
    arrays = [
        np.arange(6, dtype=np.float32).reshape(2, 3),
        np.array(["a", "b\u20ac"]),
        np.asfortranarray(np.eye(2)),
    ]
    for array in arrays:
        file = io.BytesIO()
        np.save(file, array)
        yield file.getvalue()
        yield numpy_helper.from_array(array).SerializeToString()
    file = io.BytesIO()
    np.savez(file, *arrays)
    yield file.getvalue()
    yield numpy_helper.from_list(arrays[::2]).SerializeToString()
    yield numpy_helper.from_optional(arrays[0]).SerializeToString()
    yield REQUESTS


binaries, texts = _mutations.corpus()
targets = {
    "load_binary": binaries,
    "load_text": texts,
    "passes": binaries + texts,
    "read_inputs": list(inputs()),
}
for target, seeds in targets.items():
    folder = Path(sys.argv[1], target)
    folder.mkdir(parents=True, exist_ok=True)
    for i, data in enumerate(seeds):
        (folder / str(i)).write_bytes(data)
