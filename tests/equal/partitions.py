#!/usr/bin/env python3
# LONG: --all
"""Partitioned models, run part by part in ONNX Runtime, against the whole model.

  partitions.py GRAPHOPT [--all] [--only NAME ...] [--devices NAME ...] [--algorithms NAME ...] [--work DIR]

The short form takes the small models of tests/models, two of the shipped profiles and the default algorithm;
--all takes all models, all profiles, grow and fewest. For each: the manifest is what its schema, OUT and the
parts say (lib/manifests.py), a second run writes the same bytes, and the parts give the whole's results, bit
by bit. Two exceptions: an output that differs between two runs of the whole is random, and its type and shape
count; where a border has a type of 16 bits, ONNX Runtime goes on in float32 inside the whole and cannot
across the border, so the results may differ by ROUNDED of the largest element.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import inputs, manifests, models, profiles  # noqa: E402

TOP = pathlib.Path(__file__).resolve().parents[2]
SHORT_BYTES = 6e6
SHORT_DEVICES = ["nnapi", "tensorrt"]
ROUNDED = 1.2e-3
HALF = ("FLOAT16", "BFLOAT16")


def shipped():
    folder = TOP / "share/graphopt/devices"
    return sorted(p.stem for p in folder.glob("*.json") if not json.loads(p.read_text()).get("host"))


def cut(tool, source, folder, device, algorithm):
    """The path of the manifest, and of its bytes."""
    out = folder / "out.onnx"
    command = [tool, source, "-q", "--devices", profiles.kept(device), "--force"]
    command += ["--partition-algorithm", algorithm]
    done = subprocess.run([*command, "-o", out], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip()[-400:]}")
    return folder / "out.manifest.json"


def has_half_borders(manifest):
    crossing = {b["value"] for b in manifest["borders"]}
    ports = [p for s in manifest["subgraphs"] for p in s["outputs"] if p["name"] in crossing]
    return any(p["type"].get("dtype") in HALF for p in ports)


def compare(path, record, which):
    """What differs between the parts and the whole."""
    runner = manifests.runner()
    deployed = runner.Deployed(path)
    whole = runner.session_of(deployed.whole_model())
    feeds = inputs.make(record, inputs.sizes(record, which), seed=1)
    names = [v.name for v in whole.get_outputs()]
    first, second = whole.run(None, feeds), whole.run(None, feeds)
    got = deployed.run(feeds)
    limit = ROUNDED if has_half_borders(deployed.manifest) else 0
    for name, a, b in zip(names, first, second, strict=True):
        if runner.difference(a, b) > 0:
            if getattr(a, "dtype", None) != getattr(got[name], "dtype", None) or a.shape != got[name].shape:
                yield f"{which}: {name} has another type or shape"
        elif (far := runner.difference(a, got[name])) > limit:
            yield f"{which}: {name} differs by {far:.3g}"


def examine(tool, source, folder, device, algorithm, record):
    path = cut(tool, source, folder, device, algorithm)
    manifest = json.loads(path.read_text())
    found = [*manifests.problems(path), *manifests.read_again(tool, path)]
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    cut(tool, source, folder, device, algorithm)
    if before != {p.name: p.read_bytes() for p in folder.iterdir()}:
        found.append("a second run writes other bytes")
    found.extend(compare(path, record, "default"))
    return len(manifest["subgraphs"]), found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=os.path.abspath)
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    p.add_argument("--devices", nargs="+", default=[], metavar="NAME")
    p.add_argument("--algorithms", nargs="+", default=[], metavar="NAME")
    p.add_argument("--work", metavar="DIR", help="filled models are kept there and used again")
    a = p.parse_args()
    devices = a.devices or (shipped() if a.all else SHORT_DEVICES)
    algorithms = a.algorithms or (["grow", "fewest"] if a.all else ["grow"])
    bad = count = 0
    with models.work_folder(a.work) as work:
        names = models.chosen(a.only, lambda r: a.all or r["filled_bytes"] < SHORT_BYTES)
        for name, source in models.filled(names, work).items():
            record = models.records()[name]
            for device in devices:
                for algorithm in algorithms:
                    with tempfile.TemporaryDirectory() as folder:
                        try:
                            subgraphs, found = examine(
                                a.tool, source, pathlib.Path(folder), device, algorithm, record
                            )
                        except Exception as e:
                            subgraphs, found = 0, [f"{type(e).__name__}: {str(e)[:300]}"]
                    count += 1
                    bad += bool(found)
                    line = f"{name:26} {device:10} {algorithm:7} {subgraphs:5} subgraphs"
                    print("\n  ".join([line, *found[:5]]), flush=True)
    print(f"{count} partitions, {bad} bad")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
