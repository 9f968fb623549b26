#!/usr/bin/env python3
# TIER: nightly
# WHEN: src/batch/ tools/graphopt/batch tools/graphopt/workers
# LONG: --kills 200
"""kill -9 at drawn moments of a batch: run again, it ends as if nothing had happened.

  kill_batch.py GRAPHOPT [--kills N] [--seed S] [--models FOLDER]

A folder of models is done into an empty folder: a broken one, a pointer of Git LFS, one of 6 GiB, one with
data files and one with options of its own are among them, and those of --models. Each time the process that
leads, one of its workers, or all of them are killed, up to three times, and the same command runs to its end.
Then all files of the folder, records included, are those of an undisturbed run, byte by byte.
"""

import argparse
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
import onnx  # noqa: E402
from _tool import model  # noqa: E402
from _zoo import difference, make_zoo, tree  # noqa: E402

LARGE = 6 << 30


def add_large(path):
    """A model with a tensor of 6 GiB, a hole in its data file."""
    m = model()
    t = m.graph.initializer.add(name="huge", data_type=1, dims=[LARGE // 4], data_location=1)
    for key, value in (("location", "huge.bin"), ("offset", "0"), ("length", str(LARGE))):
        t.external_data.add(key=key, value=value)
    m.graph.node.append(onnx.helper.make_node("Gather", ["huge", "row"], ["picked"]))
    m.graph.initializer.append(onnx.numpy_helper.from_array(__import__("numpy").array([5]), "row"))
    m.graph.output.append(onnx.helper.make_tensor_value_info("picked", 1, [1]))
    path.parent.mkdir()
    path.write_bytes(m.SerializeToString())
    with open(path.with_name("huge.bin"), "wb") as f:
        f.truncate(LARGE)


def small_tree(folder):
    """The tree, of a file of many GiB its size alone."""
    large = {p for p in folder.rglob("*") if p.is_file() and p.stat().st_size > 1 << 28}
    sizes = {str(p.relative_to(folder)): p.stat().st_size for p in large}
    hidden = {p: p.with_name(p.name) for p in large}
    for p in hidden:
        p.unlink()
    return {**tree(folder), **sizes}


def children(pid):
    return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def kill_some(process, rng, delay):
    """Kills after the delay, what is drawn; returns what it was, or nothing if all had ended before."""
    time.sleep(delay)
    if process.poll() is not None:
        return None
    try:
        workers = children(process.pid)
    except OSError:
        return None
    what = rng.choice(["leader", "worker", "all"])
    victims = {"leader": [process.pid], "worker": workers[:1], "all": [process.pid, *workers]}[what]
    for pid in victims:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return what


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("graphopt")
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--models", type=pathlib.Path)
    a = parser.parse_args()
    rng = random.Random(a.seed)
    wrong, kinds = 0, {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        zoo = folder / "zoo"
        rules = make_zoo(zoo)
        add_large(zoo / "large" / "huge.onnx")
        for i, path in enumerate(sorted(a.models.glob("*.onnx")) if a.models else []):
            (zoo / f"given{i % 5}").mkdir(exist_ok=True)
            shutil.copy(path, zoo / f"given{i % 5}")
        for i in range(40):
            m = model()
            m.graph.doc_string = str(i)
            (zoo / f"more{i}.onnx").write_bytes(m.SerializeToString())

        def start(out):
            words = [a.graphopt, "batch", zoo, "-o", out, "--options", rules, "-q", "-j", "3"]
            return subprocess.Popen(list(map(str, words)), stderr=subprocess.DEVNULL)

        begin = time.monotonic()
        assert start(folder / "whole").wait() == 2
        seconds = time.monotonic() - begin
        whole = small_tree(folder / "whole")
        kills = 0
        while kills < a.kills:
            out = folder / f"out{kills}"
            for _ in range(rng.choice([1, 1, 2, 3])):
                process = start(out)
                what = kill_some(process, rng, rng.uniform(0, seconds))
                process.wait()
                kinds[what] = kinds.get(what, 0) + 1
                kills += what is not None
            status = start(out).wait()
            differs = difference(whole, small_tree(out))
            if status != 2 or differs:
                wrong += 1
                print(f"after {kills} kills: status {status}, differs: {differs[:5]}")
            subprocess.run(["rm", "-rf", str(out)], check=True)
    print(f"{kills} kills within {seconds:.2f} s, {kinds}: {wrong} wrong")
    return 1 if wrong else 0


sys.exit(main())
