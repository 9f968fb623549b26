#!/usr/bin/env python3
"""The rewrite vectors of the hoisting method: is the result of each reached, bit for bit, and nothing touched
that must stay?

  rewrite_vectors.py GRAPHOPT SHARED [--passes LIST] [--only PREFIX ...] [--regions]

Every SHARED/vectors/rewrites/NN_name.before.onnxtxt goes through the tool; the result must be the after file
up to names, order and the form of its deformations (check.py there says what is normalized), accepted by
onnx.checker, bit-equal in ONNX Runtime, and a second run over it must give the same bytes. A vector marked
KEEP counts as unchanged, another one as reached. With
--regions, also the field "regions" of `GRAPHOPT inspect --json AFTER` against regions.json: the sets of members of every after
file, whatever their order. The default list has the clean-up passes in it: before files hold chains that
these already shorten.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import onnx

import _hoist

EXPECTED = {"reached": 36, "unchanged": 20}  # a vector that goes missing would otherwise be a success


def vector(check, tool, work, name, before, after):
    """What is wrong with one vector, as texts; and whether it is one that must stay."""
    source, expected = check.load_model(before), check.load_model(after)
    keep, fixed, dims = check.header(before)
    given, target, again = (os.path.join(work, f) for f in ("in.onnx", "out.onnx", "again.onnx"))
    onnx.save(source, given)
    why = tool.run(given, target)
    if why:
        return [why], keep
    problems, result = [], onnx.load(target)
    try:
        onnx.checker.check_model(result, full_check=True)
    except Exception as e:  # noqa: BLE001
        problems.append(f"onnx.checker: {' '.join(str(e).split())[:300]}")
    difference = check.same(result, expected)
    if difference:
        moved = check.same(result, source) is not None
        problems.append(
            ("changed" if keep else "changed, to another graph" if moved else "not changed")
            + " (A = result, B = expected): "
            + difference
        )
    try:
        why = check.run_pair(source, result, 12, fixed, dims)
    except Exception as e:  # noqa: BLE001
        why = f"the result does not run: {' '.join(str(e).split())[:300]}"
    if why:
        problems.append(why)
    why = tool.run(target, again)
    if why:
        problems.append("second run: " + why)
    elif open(target, "rb").read() != open(again, "rb").read():
        problems.append("a second run gives other bytes")
    return problems, keep


def region_problem(program, after, expected):
    """Compares what `inspect` says about one after file; None when it is right."""
    done = subprocess.run([program, "inspect", "--json", after], capture_output=True, text=True)
    if done.returncode:
        return f"inspect: exit status {done.returncode}: {done.stderr.strip()[-300:]}"
    found = json.loads(done.stdout)
    if "regions" not in found:
        return 'inspect --json has no field "regions"'
    found = sorted(sorted(r["members"]) for r in found["regions"])
    expected = sorted(sorted(r) for r in expected)
    return None if found == expected else f"regions are {found}, expected {expected}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", help="program, or a command with {in} and {out}")
    p.add_argument("shared", metavar="SHARED")
    p.add_argument("--passes", default=_hoist.PASSES, metavar="LIST")
    p.add_argument("--only", nargs="+", default=[], metavar="PREFIX", help="of the vectors' names")
    p.add_argument("--regions", action="store_true", help="compare the regions of all after files too")
    a = p.parse_args()
    there = _hoist.rewrites(a.shared)
    if there is None:
        print(f"skipped: {a.shared}/vectors/rewrites is not there")
        return 77
    folder, check, _ = there
    tool = _hoist.Tool(a.tool, a.passes)
    missing = tool.missing()
    if missing:
        print(f"skipped: {a.tool} has no pass {', '.join(missing)}")
        return 77
    vectors = [v for v in check.vectors() if not a.only or v[0].startswith(tuple(a.only))]
    counts, bad = {"reached": 0, "unchanged": 0, "failed": 0}, 0
    with tempfile.TemporaryDirectory() as work:
        for name, before, after in vectors:
            try:
                problems, keep = vector(check, tool, work, name, before, after)
            except Exception as e:  # noqa: BLE001
                problems, keep = [f"{type(e).__name__}: {str(e)[:300]}"], False
            verdict = "failed" if problems else "unchanged" if keep else "reached"
            counts[verdict] += 1
            print(f"{verdict:10s}{name}" + "".join(f"\n    {x}" for x in problems), flush=True)
    print(", ".join(f"{n} {k}" for k, n in counts.items()))
    if not a.only and counts["failed"] == 0 and any(counts[k] != n for k, n in EXPECTED.items()):
        print(f"expected {EXPECTED}")
        bad += 1
    if a.regions:
        regions = json.load(open(os.path.join(folder, "regions.json")))
        wrong = 0
        for name, before, after in vectors:
            why = (
                region_problem(a.tool, after, regions[name])
                if name in regions
                else "regions.json does not know it"
            )
            wrong += why is not None
            if why:
                print(f"regions   {name}: {why}", flush=True)
        print(f"regions of {len(vectors)} after files, {wrong} wrong")
        bad += wrong
    return 1 if bad or counts["failed"] or not vectors else 0


if __name__ == "__main__":
    sys.exit(main())
