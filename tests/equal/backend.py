#!/usr/bin/env python3
"""The ONNX backend suite: every case must give the recorded outputs after optimization.

  backend.py GRAPHOPT SHARED [--all] [--corpus DIR] [--options '...']

SHARED is the folder with tools/; where it is missing the test says so and is skipped (exit status 77). The
short form takes one case in four (by a hash of the name); --all takes all 2,522. Also: -O0 keeps each case
the same, field by field and nodes in their order or another topological one; a second run over each output
changes nothing.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import zlib

import onnx

import zoo


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("shared")
    p.add_argument("--all", action="store_true")
    p.add_argument("--corpus")
    p.add_argument("--options", default="")
    a = p.parse_args()
    suite = os.path.join(a.shared, "tools", "backend_suite.py")
    if not os.path.exists(suite):
        print(f"skipped: {suite} is not there")
        return 77
    with tempfile.TemporaryDirectory() as temp:
        corpus = a.corpus or os.path.join(temp, "corpus")
        if not os.path.exists(os.path.join(corpus, "index.json")):
            subprocess.run([sys.executable, suite, "prepare", corpus], check=True)
        cases = [c["name"] for c in json.load(open(os.path.join(corpus, "index.json")))["cases"]]
        chosen = [c for c in cases if a.all or zlib.crc32(c.encode()) % 4 == 0]
        keep = os.path.join(temp, "out")
        picked = os.path.join(temp, "picked")
        os.makedirs(picked)
        index = json.load(open(os.path.join(corpus, "index.json")))
        index["cases"] = [c for c in index["cases"] if c["name"] in set(chosen)]
        json.dump(index, open(os.path.join(picked, "index.json"), "w"))
        os.symlink(os.path.abspath(os.path.join(corpus, "cases")), os.path.join(picked, "cases"))
        status = subprocess.run(
            [
                sys.executable,
                suite,
                "check",
                picked,
                "--keep",
                keep,
                "--show",
                "50",
                "--",
                os.path.abspath(a.tool),
                "{in}",
                "-o",
                "{out}",
                "-q",
                *a.options.split(),
            ]
        ).returncode
        unstable, changed = [], []
        for name in chosen:
            original, target = (
                os.path.join(corpus, "cases", name, "model.onnx"),
                os.path.join(temp, "o0.onnx"),
            )
            if subprocess.run(
                [a.tool, original, "-O0", "-o", target, "-q"], capture_output=True
            ).returncode or not zoo.same_model(onnx, original, target):
                changed.append(name)
            source, again = os.path.join(keep, name + ".onnx"), os.path.join(temp, "again.onnx")
            if os.path.exists(source):
                r = subprocess.run(
                    [a.tool, source, "-o", again, "-q", *a.options.split()], capture_output=True, text=True
                )
                if r.returncode or open(source, "rb").read() != open(again, "rb").read():
                    unstable.append(name)
        print(f"{len(chosen)} cases, {len(changed)} differ after -O0: {' '.join(changed[:10])}")
        print(f"{len(chosen)} cases, {len(unstable)} change in a second run: {' '.join(unstable[:10])}")
        return 1 if status or unstable or changed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
