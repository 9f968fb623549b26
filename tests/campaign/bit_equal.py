#!/usr/bin/env python3
"""Models with real weights: where every bit is promised, every bit has to come out.

  bit_equal.py GRAPHOPT [FOLDER] [--rounds N] [--keep DIR]

Each model of the folder, *.onnx, is optimized with --exact, with -O3 --exact and with -O1, and runs in ONNX
Runtime, its optimizations off, before and after: results must have the same bits. With the default options
they must be within the tolerance of lib/compare.py. Without a folder the models of tests/models are taken
that are smaller than SHORT_BYTES; their weights are random, so models that somebody trained are worth a run
by hand. This script downloads nothing. Of the models of tests/models those in half precision are left out:
the runtime computes them in float32 between casts, and omits a pair of casts by what else reads the value, a
Shape, too. So their bits depend on nodes that no result depends on.

bit_equal.json gives extents of symbols and values of integer inputs for models that do not take just any: by
the file's stem, {name: number, or a list with a number for each round}. An unnamed dim is called INPUT.AXIS.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import compare, counting, inputs, models, runs  # noqa: E402

SHORT_BYTES = 4e6
EXACT = (["--exact"], ["-O3", "--exact"], ["-O1"])
KNOWN = json.loads(pathlib.Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


def given(path, name, number):
    """What bit_equal.json says of a name in a round; none when it says nothing."""
    value = KNOWN.get(path.stem, {}).get(name)
    return value[number % len(value)] if isinstance(value, list) else value


def feeds_of(path, record, number):
    """Inputs of a round: known models and those of tests/models at their sizes, others at any."""
    sizes = inputs.sizes(record, ("default", "smallest")[number] if number < 2 else f"drawn:{number}")
    for name in sizes:
        sizes[name] = given(path, name, number) or sizes[name]
    values = record | {"inputs": [i for i in record["inputs"] if given(path, i["name"], number) is None]}
    feeds = inputs.make(values, sizes, seed=number)
    for item in record["inputs"]:
        if (value := given(path, item["name"], number)) is not None:
            dtype = inputs.DTYPES[item["type"].removeprefix("tensor(").removesuffix(")")]
            feeds[item["name"]] = np.array(value, dtype)
    return feeds


def outputs(session, feeds):
    return dict(zip((o.name for o in session.get_outputs()), session.run(None, feeds)))


def optimized(tool, source, target, options):
    """None, or why there is no result."""
    done = subprocess.run([tool, source, "-o", target, "-q", *options], capture_output=True, text=True)
    return f"exit status {done.returncode}: {done.stderr.strip()[-300:]}" if done.returncode else None


def examine(tool, path, rounds, folder):
    """(a line of figures, problems)."""
    record = inputs.record_of(path)
    before, drawn, problems = runs.session(str(path)), [], []
    for number in range(rounds):
        feeds = feeds_of(path, record, number)
        drawn.append((feeds, outputs(before, feeds)))
        if any(runs.bit_difference(x, y) for x, y in zip(drawn[-1][1].values(), before.run(None, feeds))):
            return "draws random numbers: left out", []
    figures, worst = [f"{counting.nodes(str(path))} nodes"], 0.0
    for options in (*EXACT, []):
        target, label = f"{folder}/{path.stem}{''.join(options)}.onnx", " ".join(options) or "default"
        if why := optimized(tool, str(path), target, options):
            problems.append(f"{label}: {why}")
            continue
        figures.append(f"{counting.nodes(target)} with {label}")
        after = runs.session(target)
        for number, (feeds, expected) in enumerate(drawn):
            found = outputs(after, feeds)
            for name, value in expected.items():
                if options:
                    if d := runs.bit_difference(value, found[name]):
                        problems.append(f"{label}, round {number}, output {name}: {d}")
                    continue
                try:
                    far = compare.difference(value, found[name])
                    worst = max(worst, far)
                    unlike = f"relative difference {far:.3g}" if far > compare.tolerance(value) else None
                except compare.Unlike as e:
                    unlike = str(e)
                if unlike:
                    problems.append(f"{label}, round {number}, output {name}: {unlike}")
    return f"{', '.join(figures)}; default differs by {worst:.2g}", problems


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("folder", metavar="FOLDER", nargs="?")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--keep", metavar="DIR", help="results are written there")
    a = p.parse_args()
    bad = total = 0
    with models.work_folder(None) as work, models.work_folder(a.keep) as kept:
        if a.folder:
            paths = sorted(pathlib.Path(a.folder).glob("*.onnx"))
        else:
            names = models.chosen(
                [], lambda r: r["filled_bytes"] < SHORT_BYTES and "float16" not in r["traits"]
            )
            paths = [pathlib.Path(f) for f in models.filled(names, work).values()]
        for path in paths:
            line, problems = examine(a.tool, path, a.rounds, kept)
            print("\n  ".join([f"{path.stem:32} {line}", *problems]), flush=True)
            bad, total = bad + bool(problems), total + 1
    print(f"{total} models, {bad} bad")
    return 1 if bad or not total else 0


if __name__ == "__main__":
    sys.exit(main())
