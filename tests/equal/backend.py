#!/usr/bin/env python3
# LONG: --all
"""The ONNX backend tests: every case must give its recorded results after optimization.

  backend.py GRAPHOPT [--all] [--only TEXT] [--options '...'] [--jobs N] [--left-out]

lib/backend_cases.py makes the cases. One counts where ONNX Runtime (its own optimizations off) gives
the recorded results for the original; the others are left out (--left-out prints them). The short form takes
one case in four, by a hash of the name; --all takes all. What becomes of a case:

  ok         the recorded results, within the case's tolerance
  refused    the tool ended with a status from 1 to 125 but 70 and a message, and wrote nothing
  failed     it crashed, found an error in itself, did not end in time or wrote nothing
  broken     ONNX Runtime does not load the result, or crashes on it
  interface  names, types, order or the accepted shapes of inputs and outputs changed
  wrong      other results

All but ok and refused are bad. Also bad: -O0 changes a model in more than the order of its nodes; a second
run over the result gives other bytes; onnx.checker rejects the result but not the original.
"""

import argparse
import collections
import contextlib
import multiprocessing as mp
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zlib

import onnx
import onnxruntime

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "property")]
import _pool  # noqa: E402
from lib import backend_cases  # noqa: E402
from lib.tool import executable  # noqa: E402
from zoo import same_model  # noqa: E402

SECONDS = 60  # for one run of the tool
BAD = ("failed", "broken", "interface", "wrong", "changed by -O0", "unstable", "rejected by onnx.checker")
# How many cases --all must find, by the versions of onnx and ONNX Runtime: fewer would be a silent success.
EXPECTED = {("1.23.2", "1.32.0"): {True: 2872, False: 683}}  # with --all, and the short form
DEFECT = re.compile(r"terminate called|Assertion|AddressSanitizer|runtime error:|Traceback")


def optimize(tool, source, target, *options):
    """None, or (verdict, reason)."""
    pathlib.Path(target).unlink(missing_ok=True)
    command = [tool, source, "-o", target, "-q", *options]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "failed", f"no end within {SECONDS} s"
    message, wrote = done.stderr.strip(), os.path.exists(target)
    if done.returncode == 0:
        return None if wrote else ("failed", "exit status 0, but there is no output")
    clear = 1 <= done.returncode <= 125 and done.returncode != 70 and message and not wrote
    text = f"exit status {done.returncode}: {message[-300:]}"
    return ("refused" if clear and not DEFECT.search(message) else "failed"), text


def accepted(model):
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception:  # noqa: BLE001
        return False
    return True


def check(case, tool, options, folder):
    """(verdict, reason) of one case that counts."""
    source, target, other = (os.path.join(folder, f) for f in ("in.onnx", "out.onnx", "other.onnx"))
    pathlib.Path(source).write_bytes(case.model.SerializeToString())
    if why := optimize(tool, source, target, *options):
        return why
    found = backend_cases.verdict(case, target)
    if found[0] != "ok":
        return found
    if not accepted(target) and accepted(source):
        return "rejected by onnx.checker", ""
    if why := optimize(tool, source, other, "-O0"):
        return "changed by -O0", why[1]
    if not same_model(source, other):
        return "changed by -O0", "more than the order of nodes"
    if why := optimize(tool, target, other, *options):
        return "unstable", "second run: " + why[1]
    if pathlib.Path(target).read_bytes() != pathlib.Path(other).read_bytes():
        return "unstable", "a second run gives other bytes"
    return found


@contextlib.contextmanager
def answering(a, cases):
    """What each process does with a task, (number of a case, whether the tool is run): the list of (name,
    verdict, reason) of the case and its variant. "left out" and "counts" are about the original alone."""
    onnxruntime.set_default_logger_severity(4)

    def chosen(name):
        return a.only in name and (a.all or a.only or zlib.crc32(name.encode()) % 4 == 0)

    def answer(task):
        case, out = cases[task[0]], []
        while case:
            original, why = backend_cases.verdict(case, case.model.SerializeToString())
            if original != "ok":
                out.append((case.name, "left out", why))
                break
            if chosen(case.name):
                found = check(case, a.tool, a.options.split(), folder) if task[1] else ("counts", "")
                out.append((case.name, *found))
            case = None if case.name.endswith(".init") else backend_cases.with_initializers(case)
        return out

    with tempfile.TemporaryDirectory() as folder:
        yield answer


def results(a, cases):
    """(name, verdict, reason) of every case. ONNX Runtime may crash on one: then it is run once more without
    the tool, to see whether the original crashes it, too."""
    crashed = []
    for task, found in _pool.answers(answering, (a, cases), ((k, True) for k in range(len(cases))), a.jobs):
        if isinstance(found, _pool.Crash):
            crashed.append((task[0], False))
        else:
            yield from found
    for task, found in _pool.answers(answering, (a, cases), crashed, min(a.jobs, len(crashed))):
        name = cases[task[0]].name
        if isinstance(found, _pool.Crash):
            yield name, "left out", found.text
        else:
            yield name, "broken", "ONNX Runtime crashed on this case or its variant"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", default="", metavar="TEXT", help="cases whose names contain it")
    p.add_argument("--options", default="", help="of graphopt, one string")
    p.add_argument("--jobs", type=int, default=2, metavar="N")
    p.add_argument("--left-out", action="store_true", help="print the cases that do not count, and why")
    a = p.parse_args()
    counts = collections.Counter()
    for name, verdict, why in results(a, backend_cases.candidates()):
        counts[verdict] += 1
        if verdict not in ("ok", "left out") or (verdict == "left out" and a.left_out):
            print(f"{verdict:10} {name}: {why}", flush=True)
    left_out = counts.pop("left out", 0)
    cases, bad = counts.total(), sum(counts[v] for v in BAD)
    print(f"{left_out} left out: ONNX Runtime does not give the recorded results for the original")
    print(f"{cases} cases: " + ", ".join(f"{counts[v]} {v}" for v in ("ok", "refused", *BAD)))
    wanted = EXPECTED.get((onnx.__version__, onnxruntime.__version__))
    if not a.only and wanted and cases != wanted[a.all]:
        print(f"expected {wanted[a.all]} cases")
        return 1
    # No case has a reason to be refused: a tool that refuses everything must not pass.
    return 1 if bad or counts["refused"] or not cases else 0


if __name__ == "__main__":
    mp.set_start_method("fork")
    sys.exit(main())
