#!/usr/bin/env python3
# LONG: --all
"""graphopt run on partitioned models: every mode gives the same bytes, and those are the whole model's.

  requests.py GRAPHOPT [--all] [--only NAME ...] [--devices NAME ...] [--work DIR]

Each model of tests/models is partitioned for each shipped profile, and where graphopt writes models of
buckets for its symbols (marks of bucket_files.py), once more with buckets. Requests have the data of the
model's record at several extents. Then

  * --mode overlap and async1 give the bytes of sync;
  * sync gives what OUT gives as a whole (--check-whole); with buckets, what examples/run_manifest.py gives on
    the same manifest, whose padded inputs and cut outputs are its own: that padded runs are right is
    bucket_files.py's to test;
  * with one request at a time the most bytes on a device are those that the manifest plans.

Of models with random operators types and shapes are compared. The short form takes the models of at most
SHORT_BYTES and SHORT_DEVICES, --all takes every one and each profile.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import bucket_files
import bucket_models
import numpy as np
import onnx
import parts

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "property")]
from lib import inputs, manifests, models, verdicts  # noqa: E402
from lib.tool import executable  # noqa: E402

SHORT_BYTES, SHORT_DEVICES = 1.2e6, ("coreml", "nnapi")
HOST = ("cpu", "ort-cpu")  # profiles of hosts: nothing is cut for them
EXTENTS = ("default", "smallest", "drawn:1", "drawn:2")
SECONDS = 600
MODES = (("sync",), ("async1",), ("overlap", "--inflight", "3"))


def graphopt(tool, *words):
    return subprocess.run(
        [str(w) for w in (tool, *words)], capture_output=True, text=True, timeout=SECONDS, check=False
    )


def requests_file(folder, feeds):
    """A list with a request for each feeds."""
    lines = []
    for i, arrays in enumerate(feeds):
        texts = {k: v.astype(str) for k, v in arrays.items() if v.dtype == object}
        np.savez(folder / f"in{i}.npz", **arrays | texts)
        lines.append(json.dumps({"id": f"r{i}", "inputs": f"in{i}.npz"}) + "\n")
    (folder / "list.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder / "list.jsonl"


def answers(folder):
    return {p.stem: dict(np.load(p)) for p in sorted(folder.glob("*.npz"))}


def same(a, b, random):
    """Whether answers have the same bytes; with random operators, types and shapes."""
    if a.keys() != b.keys():
        return False
    pairs = [(a[r], b[r]) for r in a]
    if any(list(x) != list(y) for x, y in pairs):
        return False
    values = [(x[k], y[k]) for x, y in pairs for k in x]
    return all(
        v.dtype == w.dtype and v.shape == w.shape and (random or v.tobytes() == w.tobytes())
        for v, w in values
    )


def run(tool, manifest, listed, folder, *words):
    """(report, answers) of the requests. Raises AssertionError where one has no answer."""
    done = graphopt(
        tool, "run", manifest, "--requests", listed, "-o", folder, "--fallback", "none", "--json", *words
    )
    assert done.returncode == 0, f"{' '.join(words)}: status {done.returncode}: {done.stderr[-300:]}"
    return json.loads(done.stdout), answers(folder)


def check(tool, manifest, feeds, folder, random, whole):
    """Raises AssertionError."""
    listed = requests_file(folder, feeds)
    found = {}
    for mode in MODES:
        report, found[mode[0]] = run(tool, manifest, listed, folder / mode[0], "--mode", *mode)
        assert len(found[mode[0]]) == len(feeds), f"{mode[0]}: {len(found[mode[0]])} answers"
        if mode[0] == "sync":
            for d in report["networks"][0]["devices"]:
                assert d["planned_peak"] is None or d["peak"] == d["planned_peak"], f"sync: {d}"
    for mode in ("async1", "overlap"):
        assert same(found["sync"], found[mode], random), f"{mode} has other bytes than sync"
    # As a whole, without the runtime's own optimizations.
    words = ("--mode", "sync", *(("--check-whole",) if whole and not random else ()))
    report, plain = run(tool, manifest, listed, folder / "plain", *words)
    return report, plain


def example_problems(manifest, feeds, plain, random):
    runner = manifests.runner()
    deployed = runner.Deployed(manifest, optimize=True)
    tolerance = runner.padded_tolerance(deployed.whole_model())
    for i, arrays in enumerate(feeds):
        got = plain[f"r{i}"]
        wanted = deployed.run(arrays)
        for name, value in wanted.items():
            a, b = np.asarray(value), got[name]
            if a.dtype.kind == "V" or a.dtype.name not in np.sctypeDict:  # bits, as the file has them
                a = a.view(b.dtype)
            if random:
                assert a.shape == b.shape, f"r{i}, {name}: {a.shape} by the example, {b.shape}"
            else:
                far = runner.difference(a, b)
                assert far <= tolerance, f"r{i}, {name}: differs by {far:.3g} from the example's"


def network_inputs(manifest):
    return {v["name"] for v in json.loads(manifest.read_text(encoding="utf-8"))["network"]["inputs"]}


def plain_check(tool, name, path, profile, folder):
    done = graphopt(tool, path, "-o", folder / "out.onnx", "--devices", profile, "-q")
    assert done.returncode == 0, f"status {done.returncode}: {done.stderr[-300:]}"
    record, manifest = models.records()[name], folder / "out.manifest.json"
    wanted = network_inputs(manifest)
    # Models without symbols get other values.
    made = [
        inputs.make(record, inputs.sizes(record, which), seed)
        for seed, which in enumerate(EXTENTS if record["symbols"] else EXTENTS[:2])
    ]
    feeds = [{k: v for k, v in arrays.items() if k in wanted} for arrays in made]
    check(tool, manifest, feeds, folder, parts.is_random(onnx.load(path, load_external_data=False)), True)
    return len(feeds)


def bucket_check(tool, name, path, symbols, profile, folder):
    """The number of requests; None where the model is refused."""
    subject = bucket_models.Subject(name, path, symbols)
    marks = bucket_files.two_sizes(subject)
    manifest, _ = bucket_files.write(tool, path, marks, folder, "--devices", profile)
    if manifest is None:
        return None
    rng, feeds, wanted = np.random.default_rng(3), [], network_inputs(manifest)
    for k in range(4):
        at = {}
        for s, (low, high, step) in subject.ranges.items():
            steps = [0, (high - low) // step, *rng.integers(0, (high - low) // step + 1, 2)]
            at[s] = low + int(steps[k]) * step
        feeds.append({n: v for n, v in subject.data({**subject.free, **at}).items() if n in wanted})
    random = parts.is_random(onnx.load(path, load_external_data=False))
    report, plain = check(tool, manifest, feeds, folder, random, False)
    in_buckets = sum(m["requests"] for m in report["networks"][0]["models"][1:])
    assert in_buckets == len(feeds), f"{in_buckets} of {len(feeds)} requests ran in buckets"
    example_problems(manifest, feeds, plain, random)
    return len(feeds)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    p.add_argument("--devices", nargs="+", default=[], metavar="NAME")
    p.add_argument("--work", metavar="DIR", help="filled models are kept there and used again")
    a = p.parse_args()
    shipped = sorted(f.stem for f in (TESTS.parent / "share/graphopt/devices").glob("*.json"))
    profiles = a.devices or [d for d in shipped if d not in HOST and (a.all or d in SHORT_DEVICES)]
    sets = requests = refused = bad = 0
    with models.work_folder(a.work) as work:
        names = models.chosen(a.only, lambda r: a.all or r["filled_bytes"] <= SHORT_BYTES)
        paths = models.filled(names, work)
        tasks = [(name, path, None) for name, path in paths.items()]
        # All symbols together: that is what people deploy.
        tasks += [
            t for t in bucket_models.tasks_of(paths) if len(t[2]) == len(models.records()[t[0]]["symbols"])
        ]
        for name, path, symbols in tasks:
            for profile in profiles:
                with tempfile.TemporaryDirectory() as temp:
                    try:
                        if symbols is None:
                            done = plain_check(a.tool, name, path, profile, pathlib.Path(temp))
                        else:
                            done = bucket_check(a.tool, name, path, symbols, profile, pathlib.Path(temp))
                    except (AssertionError, verdicts.ToolFailed, subprocess.TimeoutExpired) as e:
                        bad += 1
                        marked = "" if symbols is None else f", buckets of {', '.join(symbols)}"
                        print(f"{name} on {profile}{marked}: {str(e)[:400]}", flush=True)
                        continue
                refused += done is None
                sets += done is not None
                requests += done or 0
    print(f"{sets} manifests, {requests} requests, {refused} refused for buckets, {bad} bad")
    return 1 if bad or not sets else 0


if __name__ == "__main__":
    sys.exit(main())
