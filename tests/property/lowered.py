#!/usr/bin/env python3
# LONG: --all --count 8
"""Every expansion of src/lower: a small model before and after, on a device that takes what it writes.

  lowered.py GRAPHOPT [--only TEXT] [--all] [--count N] [--seed S]

Each case (_lowered_*.py) is a model of a node or two and a device that refuses it and takes just what the
expansion writes. The report has to name the expansion, the operator must be gone, and in ONNX Runtime, its
optimizations off, the results must be those of the original: bit for bit (every NaN equals every other), or
within the bound that the expansion states, with NaN and infinities where the original has them. Operands hold
NaN, infinities, zeros of both signs, denormals and the greatest numbers. Cases that must not apply have the
same device, and the node must be there still. The short form takes all cases that must not apply and up to
eight for each expansion; --all takes them all, and --count draws the operands N times.

Golden cases cannot say this: a device is a file that the command names, a bound there is one number for all
elements, and the result has the partition's metadata at each node.
"""

import argparse
import concurrent.futures
import importlib
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
from lib.profiles import profile  # noqa: E402
from lib.runs import bit_difference, session  # noqa: E402
from lib.tool import executable  # noqa: E402

FAMILIES = [
    "reshape",
    "movement",
    "activations",
    "norms",
    "products",
    "gathers",
    "reductions",
    "windows",
    "calls",
    "logic",
    "layouts",
    "arithmetic",
]


def lowered(tool, case, folder):
    """The result, and {expansion: nodes} of the report."""
    source, target, report = (folder / n for n in ("in.onnx", "out.onnx", "report.json"))
    source.write_bytes(case.model.SerializeToString())
    more = {} if case.rules is None else {"rules": case.rules}
    device = profile(folder, *case.takes, **more)
    words = ["--devices", device, "--parts", "never", "-o", target, "--report", report, "-q", "--verify-each"]
    done = subprocess.run([tool, source, *words, *case.options], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip()[-400:]}")
    told = json.loads(report.read_text())["lowered"] or []
    return onnx.load(target), {row["expansion"]: row["nodes"] for row in told}


def distance(case, feed, before, after):
    """None, or what is wrong."""
    for i, (a, b) in enumerate(zip(before, after, strict=True)):
        if case.bound is None or a.dtype.kind != "f":
            if text := bit_difference(a, b):
                return text
            continue
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{a.dtype}{list(a.shape)} became {b.dtype}{list(b.shape)}"
        wide, new = a.astype(np.float64), b.astype(np.float64)
        with np.errstate(all="ignore"):
            most = np.broadcast_to(case.bound(feed, i, wide), wide.shape)
            same = (np.isnan(wide) & np.isnan(new)) | (wide == new)
            near = np.isfinite(wide) & np.isfinite(new) & (np.abs(wide - new) <= most)
            wrong = ~(same | near)
        if wrong.any():
            at = tuple(np.argwhere(wrong)[0])
            x = next(iter(feed.values()))
            text = f", first operand {x[at]}" if x.shape == a.shape else ""
            return f"{int(wrong.sum())} of {a.size} differ, first {a[at]} and {b[at]}, bound {most[at]}{text}"
    return None


def check(tool, case):
    """Texts of what is wrong."""
    with tempfile.TemporaryDirectory() as name:
        try:
            model, told = lowered(tool, case, Path(name))
        except RuntimeError as e:
            return [str(e)]
    wrong = []
    if case.expansion is None and told:
        wrong.append(f"must stay as it is, but has {told}")
    if case.expansion is not None and case.expansion not in told:
        wrong.append(f"is not lowered by {case.expansion}; the report has {told}")
    op = case.name.split()[0]
    left = sum(n.op_type == op for n in model.graph.node)
    if left != case.kept:
        wrong.append(f"{left} nodes {op} are left, not {case.kept}: {[n.op_type for n in model.graph.node]}")
    try:
        old, new = session(case.model), session(model)
    except Exception as e:
        return [*wrong, f"ONNX Runtime refuses it: {str(e)[:300]}"]
    for feed in case.feeds:
        try:
            before = old.run(None, feed)
        except Exception as e:
            return [*wrong, f"the original fails: {str(e)[:200]}"]
        try:
            after = new.run(None, feed)
        except Exception as e:
            return [*wrong, f"the result fails: {str(e)[:200]}"]
        if text := distance(case, feed, before, after):
            shapes = {k: list(v.shape) for k, v in feed.items()}
            wrong.append(f"{shapes}: {text}")
            break
    return wrong


def declared():
    """Names of all expansions, from the sources."""
    folder, out = Path(__file__).resolve().parents[2] / "src" / "lower", set()
    for path in folder.glob("*.cpp"):
        for text in re.findall(r"name\(\) const override \{\s*return ([^;]+);", path.read_text()):
            out.update(re.findall(r'"([a-z0-9-]+)"', text))
    return out


def spread(cases, most=8):
    """Up to so many of each expansion, evenly spread, and all that must not apply."""
    groups = {}
    for case in cases:
        groups.setdefault(case.expansion, []).append(case)
    out = list(groups.pop(None, []))
    for group in groups.values():
        steps = np.linspace(0, len(group) - 1, min(most, len(group)))
        out += [group[i] for i in sorted({round(s) for s in steps})]
    return out


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", type=executable)
    p.add_argument("--only", default="", help="cases whose name has this text")
    p.add_argument("--all", action="store_true", help="every case, not up to eight for each expansion")
    p.add_argument("--count", type=int, default=1)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    cases = []
    for seed in range(a.seed, a.seed + a.count):
        for family in FAMILIES:
            drawn = importlib.import_module(f"_lowered_{family}").cases(np.random.default_rng(seed))
            cases += [c for c in drawn if a.only in f"{c.name} {c.expansion}"]
    if not a.all and not a.only:
        cases = spread(cases)
    bad = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for case, wrong in zip(cases, pool.map(lambda c: check(a.tool, c), cases), strict=True):
            for text in wrong:
                bad += 1
                print(f"{case.expansion or 'no expansion'}: {case.name}: {text}")
    if not a.only and (missing := declared() - {c.expansion for c in cases}):
        bad += 1
        print(f"no case for {', '.join(sorted(missing))}")
    applied = sum(c.expansion is not None for c in cases)
    print(
        f"{len(cases)} cases, {applied} to be lowered, by {len({c.expansion for c in cases} - {None})} "
        f"expansions; {bad} wrong"
    )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
