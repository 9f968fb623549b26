#!/usr/bin/env python3
"""Every shipped device profile on the models of tests/models.

  device_profiles.py GRAPHOPT [--work FOLDER] [--only NAME ...]

The figures add up and refused nodes come first; the host takes every node; and the profile that is made of
ONNX Runtime's own kernels takes every node of a model that ONNX Runtime runs, since there it has a kernel for
each. Calls of a model's own functions are left out, since ONNX Runtime inlines them first, and so are nodes
in half precision.
"""

import argparse
import json
import pathlib
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))
from lib import models  # noqa: E402
from lib.tool import executable  # noqa: E402

PROFILES = sorted(p.stem for p in (TESTS.parent / "share" / "graphopt" / "devices").glob("*.json"))


def check(binary, profile, path):
    done = subprocess.run(
        [binary, "devices", "check", profile, path, "--json"], capture_output=True, text=True
    )
    assert done.returncode == 0 and not done.stderr, done.stderr
    return json.loads(done.stdout)


def problems(profile, said):
    nodes = said["listed"]
    refused = [n for n in nodes if not n["supported"]]
    if said["warnings"]:
        yield f"warnings: {said['warnings']}"
    if len(nodes) != said["nodes"] or len(nodes) - len(refused) != said["supported"]:
        yield "the figures are not those of the list"
    if sum(r["nodes"] for r in said["refused"]) != len(refused):
        yield "the groups do not have the refused nodes"
    if nodes[: len(refused)] != refused:
        yield "a supported node stands before a refused one"
    yield from (f"{n['name']}: no reason" for n in refused if not n["text"] or not n["reason"])
    if profile in ("cpu", "ort-cpu"):
        calls = [n for n in refused if n["reason"] == "no_rule" and n["op"].startswith("local.")]
        # Where the CPU has no kernel in half precision, ONNX Runtime computes in float32 between casts.
        half = [n for n in refused if n["reason"] == "dtype" and " is float16, allowed: " in n["text"]]
        wrong = refused if profile == "cpu" else [n for n in refused if n not in calls and n not in half]
        yield from (f"{n['name']}: {n['text']}" for n in wrong)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=executable)
    parser.add_argument("--work", help="keep the filled models here")
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    names, bad, runs = models.chosen(given.only), [], 0
    with models.work_folder(given.work) as work:
        for name, path in models.filled(names, work).items():
            for profile in PROFILES:
                runs += 1
                bad += [
                    f"{profile} on {name}: {p}" for p in problems(profile, check(given.binary, profile, path))
                ]
    print("\n".join(bad))
    print(f"{runs} checks, {len(bad)} problems")
    return 1 if bad or runs == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
