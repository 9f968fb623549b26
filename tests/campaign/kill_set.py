#!/usr/bin/env python3
"""kill -9 while a set of files replaces a set: who starts from the list finds the old or the new one, whole.

  kill_set.py GRAPHOPT [--count N] [--seed S] [--kibibytes K]

graphopt_write_set (tests/programs), found beside the tool, writes a set over another one, with a model at a
fixed name beside it. It is killed before each of its system calls that change names or sync files, once each,
and N times after a random part of the time that it takes. After each kill the list must name files that are
there and have the SHA-256 that it says, all of the old set or all of the new one, and the model beside the
set must be the old or the new one with its data. A run that finds what several killed runs left must
succeed and leave nothing but its own set. In the end two runs at a time write over one set again and again:
one of them wins whole.
"""

import argparse
import hashlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib.tool import executable  # noqa: E402

LIST, OUT = "net.list", "net.onnx"


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def fault(folder, states):
    """None, or what a reader that starts from the list, or from OUT, finds wrong; and which set it finds."""
    text = (folder / LIST).read_text()
    for line in text.splitlines():
        sha, name = line.split("  ")
        if not (folder / name).is_file():
            return f"{name} is not there", None
        if digest(folder / name) != sha:
            return f"{name} has another content", None
    found = [name for name, (listed, _) in states.items() if listed == text]
    if not found:
        return "the list is none of those that were written", None
    if digest(folder / OUT) not in [out for _, out in states.values()]:
        return "OUT is none of those that were written", None
    try:
        onnx.load(folder / OUT)
    except Exception as e:  # whatever it is, the model cannot be used
        return f"OUT does not load: {e}", None
    return None, found[0]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("--count", type=int, default=20)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--kibibytes", type=int, default=1024, help="of each of the four weights")
    a = p.parse_args()
    program = Path(executable(a.tool)).parent / "tests" / "graphopt_write_set"
    if not program.is_file():
        print(f"skipped: {program} is not built")
        return 77
    rng, seen, problems = random.Random(a.seed), Counter(), []
    with tempfile.TemporaryDirectory() as temp:
        folder, states, files = Path(temp, "work"), {}, {}

        def command(seed, *call):
            return [program, folder / LIST, folder / OUT, str(seed), str(a.kibibytes), *map(str, call)]

        def write(seed):
            return int(subprocess.run(command(seed), check=True, capture_output=True, text=True).stdout)

        def start_again():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            write(0)

        for name, seed in (("new", 1), ("old", 0)):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            write(seed)
            states[name] = ((folder / LIST).read_text(), digest(folder / OUT))
            files[name] = {f.name for f in folder.iterdir()}
        begin = time.monotonic()  # the old set is there
        calls = write(1)
        seconds = time.monotonic() - begin

        def look(what, status):
            wrong, state = fault(folder, states)
            if wrong:
                problems.append(f"{what}: {wrong}")
            else:
                seen[state + (", ended before the kill" if status == 0 else "")] += 1

        def clean_up(what):
            write(1)
            # What OUT waits in has a name for a moment, as when a model is saved alone.
            left = {f.name for f in folder.iterdir() if not f.name.startswith(".graphopt-")} ^ files["new"]
            if left:
                problems.append(f"{what}: a run afterwards leaves or lacks {sorted(left)}")
            look(f"after {what}", 0)
            seen["new, ended before the kill"] -= 1

        for call in range(1, calls + 1):
            start_again()
            status = subprocess.run(command(1, call), capture_output=True).returncode
            if status != -signal.SIGKILL:
                problems.append(f"call {call} of {calls} ended with status {status}")
            look(f"killed before call {call}", status)
            clean_up(f"call {call}")
        fixed = dict(+seen)
        seen.clear()
        for i in range(a.count):
            if i % 5 == 0:  # some runs find what earlier ones left
                start_again()
            run = subprocess.Popen(command(1 - i % 2), stdout=subprocess.DEVNULL)
            time.sleep(rng.uniform(0, seconds * 1.1))
            run.send_signal(signal.SIGKILL)
            look(f"random kill {i}", run.wait())
            if i % 5 == 4:
                clean_up(f"random kill {i}")
        start_again()
        for i in range(5):
            runs = [subprocess.Popen(command(seed), stdout=subprocess.DEVNULL) for seed in (0, 1)]
            if any([run.wait() for run in runs]):
                problems.append(f"two runs at a time, {i}: one of them failed")
            wrong, state = fault(folder, states)
            if wrong or {f.name for f in folder.iterdir() if not f.name.startswith(OUT)} != {
                name for name in files[state] if not name.startswith(OUT)
            }:
                problems.append(f"two runs at a time, {i}: {wrong or 'files of both are left'}")
    print(
        f"killed before each of {calls} calls: {fixed}; {a.count} random kills within {seconds:.2f} s: "
        f"{dict(+seen)}; {len(problems)} problems"
    )
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
