#!/usr/bin/env python3
# LONG: --all
"""A clone that is bound, inferred and optimized is what graphopt makes of the file with --dim and --shape.

  bound_clones.py GRAPHOPT [--all] [--only NAME ...] [--work DIR]

graphopt_bound_clones (tests/programs), found beside the tool, loads each model of tests/models once and
clones it for every binding: each symbol of its inputs at 0, 1, 2, 7 and what the model's record gives as
default, at two ranges, all symbols together, and each input's shape. The last clone is not bound: what was
said of its siblings must not show. The saved bytes are those of the tool with the same options, and where one
of them refuses, so does the other, with the same message. The short form takes the models of less than
SHORT_BYTES, and fewer values.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import inputs, models  # noqa: E402
from lib.tool import executable  # noqa: E402

SHORT_BYTES = 4e6


def bindings(record, everything):
    """Lists of options, the first one empty."""
    found, usual = [[]], inputs.sizes(record, "default")
    for symbol, default in usual.items():
        values = [0, 1, 2, 7, default] if everything else [0, default]
        found += [["--dim", f"{symbol}={n}..{n}"] for n in dict.fromkeys(values)]
        ranges = ["0..3", f"1..{default + 5}"] if everything else [f"1..{default + 5}"]
        found += [["--dim", f"{symbol}={r}"] for r in ranges]
    if len(usual) > 1:
        for which in ("default", "smallest") if everything else ("default",):
            sizes = inputs.sizes(record, which)
            found.append([w for s, n in sizes.items() for w in ("--dim", f"{s}={n}..{n}")])
    for given in record["inputs"]:
        dims = [inputs.number(d, usual) for d in given["dims"]]
        found.append(["--shape", f"{given['name']}={','.join(map(str, dims))}"])
        if everything and dims:
            found.append(
                ["--shape", f"{given['name']}={','.join(map(str, [dims[0], *[-1] * (len(dims) - 1)]))}"]
            )
            found.append(["--shape", f"{given['name']}={','.join(map(str, [3, *dims[1:]]))}"])
    return found


def outcome(path, error):
    """(the bytes that were written, what was said instead)"""
    return (path.read_bytes() if path.exists() else None, error)


def check(tool, program, source, options, folder):
    """(how many of the bindings change the file, how many are refused, what is wrong)"""
    targets = [folder / f"{i}.onnx" for i in range(len(options))]
    # The model that is not bound comes last.
    groups = [w for t, o in [*zip(targets, options)][::-1] for w in ("--", str(t), *o)]
    subprocess.run([program, source, *groups], check=True)
    changed, refused, wrong, unbound = 0, 0, [], targets[0].read_bytes()
    for target, binding in zip(targets, options):
        said = pathlib.Path(f"{target}.error")
        clone = outcome(target, said.read_text() if said.exists() else "")
        loaded = folder / "loaded.onnx"
        loaded.unlink(missing_ok=True)
        done = subprocess.run([tool, source, "-o", loaded, "-q", *binding], capture_output=True, text=True)
        if clone != outcome(loaded, done.stderr):
            wrong.append(f"{' '.join(binding)}: {done.stderr or 'other bytes'} {clone[1]}")
        changed += clone[0] not in (None, unbound)
        refused += clone[0] is None
        target.unlink(missing_ok=True)
    return changed, refused, wrong


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    p.add_argument("--work", metavar="DIR", help="filled models are kept there and used again")
    a = p.parse_args()
    program = pathlib.Path(a.tool).parent / "tests" / "graphopt_bound_clones"
    tried, changed, refused, bad = 0, 0, 0, 0
    with models.work_folder(a.work) as work:
        names = models.chosen(a.only, lambda r: a.all or r["filled_bytes"] < SHORT_BYTES)
        for name, source in models.filled(names, work).items():
            options = bindings(models.records()[name], a.all)
            with tempfile.TemporaryDirectory() as folder:
                c, r, wrong = check(a.tool, program, source, options, pathlib.Path(folder))
            tried, changed, refused, bad = (
                tried + len(options) - 1,
                changed + c,
                refused + r,
                bad + len(wrong),
            )
            for text in wrong:
                print(f"{name} {text}", flush=True)
    print(
        f"{len(names)} models, {tried} bindings: {changed} change the file, {refused} are refused,",
        f"{bad} differ",
    )
    return 1 if bad or not changed else 0


if __name__ == "__main__":
    sys.exit(main())
