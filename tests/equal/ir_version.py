#!/usr/bin/env python3
# LONG: --all
"""--ir-version 10: a raised model means the same, and its nodes have the metadata that ort-annotations needs.

  ir_version.py GRAPHOPT [--all] [--only NAME ...] [--work DIR]

The short form takes small models of tests/models, of different IR versions; --all takes all. For each model:

- with -O0 nothing but the version changes, onnx's checker says of it what it says of the input, ONNX Runtime
  gives the same bits, and a second run writes the same bytes;
- optimized and partitioned for a shipped profile, OUT and all parts have the version, the checker accepts
  them, and OUT gives the same bits with the session options of OUT.layers.json as without.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from exports import OPTION, results, session_of  # noqa: E402
from lib import inputs, manifests, models, profiles  # noqa: E402

VERSION = 10
SHORT = ["op9_alexnet", "rnn_loop", "skl_pipeline", "fn_blocks"]  # of IR version 4, 7, 8 and 9
DEVICE = "nnapi"


def run(tool, *words):
    done = subprocess.run([tool, *map(str, words)], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{words[1:]}: {done.stderr.strip()[-300:]}")
    return done.stderr


def checked(path):
    """None or what onnx's checker says."""
    try:
        onnx.checker.check_model(str(path))
    except onnx.checker.ValidationError as e:
        return str(e)[:200]
    return None


def equal(first, second, wanted, got):
    """Raises where `got` differs from `wanted`; what differs between two runs of one model is left out."""
    far = manifests.runner().difference
    for name, value in wanted.items():
        assert np.shape(value) == np.shape(got[name]), f"{name} has another shape"
        if far(first[name], second[name]) == 0:
            assert far(value, got[name]) == 0, f"{name} differs by {far(value, got[name]):.3g}"


def examine(tool, source, folder, record):
    before = onnx.load(source, load_external_data=False)
    version = max(VERSION, before.ir_version)
    words = ["--ir-version", version]
    plain, out = folder / "plain.onnx", folder / "out.onnx"

    run(tool, source, "-O0", *words, "-o", plain)
    run(tool, plain, "-O0", *words, "-o", folder / "again.onnx")
    assert plain.read_bytes() == (folder / "again.onnx").read_bytes(), "a second run differs"
    after = onnx.load(plain, load_external_data=False)
    assert after.ir_version == version, f"-O0 wrote version {after.ir_version}"
    after.ir_version = before.ir_version
    assert after == before, "-O0 changed more than the version"
    assert checked(plain) == checked(source), f"the checker refuses it: {checked(plain)}"
    feeds = inputs.make(record, inputs.sizes(record, "default"), seed=1)
    old = session_of(source)
    first, second = results(old, feeds), results(old, feeds)
    equal(first, second, first, results(session_of(plain), feeds))

    cut = [*words, "--devices", profiles.kept(DEVICE), "--emit", "ort-annotations", "--force"]
    said = run(tool, source, *cut, "-o", out)
    assert "nodes have metadata from" not in said, said
    manifest = json.loads((folder / "out.manifest.json").read_text())
    assert manifest["network"]["ir_version"] == version, "the manifest has another version"
    for file in manifest["files"]:
        if file["role"] != "external_data":
            part = onnx.load(folder / file["path"], load_external_data=False)
            assert part.ir_version == version, f"{file['path']} has version {part.ir_version}"
            said = checked(source) or checked(folder / file["path"])
            assert said == checked(source), f"the checker refuses {file['path']}: {said}"
    setting = json.loads((folder / "out.layers.json").read_text())["session_options"][OPTION]
    whole = session_of(out)
    first, second = results(whole, feeds), results(whole, feeds)
    equal(first, second, first, results(session_of(out, **{OPTION: setting}), feeds))
    return before.ir_version, len(manifest["subgraphs"])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=os.path.abspath)
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    p.add_argument("--work", metavar="DIR", help="filled models are kept there and used again")
    a = p.parse_args()
    bad = count = 0
    names = models.chosen(a.only, lambda r: a.all or r["name"] in SHORT)
    with models.work_folder(a.work) as work:
        for name, source in models.filled(names, work).items():
            count += 1
            with tempfile.TemporaryDirectory() as folder:
                try:
                    version, parts = examine(a.tool, source, pathlib.Path(folder), models.records()[name])
                    print(f"{name:26} IR version {version}, {parts} subgraphs: equal", flush=True)
                except AssertionError as e:
                    bad += 1
                    print(f"{name:26} WRONG: {e}", flush=True)
    print(f"{count} models, {bad} bad")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
