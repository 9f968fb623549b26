#!/usr/bin/env python3
# TIER: nightly
# LONG: --count 60
# WHEN: src/onnx/ src/support/file
"""kill -9 while a set of files replaces a set: who starts from the list finds the old or the new one, whole.

  kill_set.py GRAPHOPT [--count N] [--seed S] [--kibibytes K] [--form NAME]

graphopt_write_set (tests/programs), found beside the tool, writes a set over another one, with a model (OUT)
at a fixed name beside it. It is killed before each of its system calls that change names or sync files, once
each, and N times after a random part of the time that it takes. After each kill the list must name files that
are there and have the SHA-256 that it says, all of the old set or all of the new one, and OUT must be the old
or the new model, not older than the list, which onnx and ONNX Runtime load with its data and which adds up
what it should. A run that finds what several killed runs left must succeed and leave nothing but its own set.
In the end two runs at a time write over one set again and again: one of them wins whole.

OUT has a data file of its own (own), or its weights in the set's (shared), also with the list in the folder
above (below), with the set's files in a folder that the runs make (folder), and with another such folder for
each set, or none (moved); without --form each of them. Where it shares them, runs are also killed that find a
new OUT beside an old list, and runs whose input is the OUT that they replace. Folders that runs made are
there as long as they have files.
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

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib.tool import executable  # noqa: E402

LIST, OUTS = "net.list", {"own": "net.onnx", "shared": "net.onnx", "below": "sub/net.onnx"}
OUTS |= {"folder": "net.onnx", "moved": "net.onnx"}
OLD, NEW, READ, THIRD = 0, 1, 2, 3  # seeds of write_set; READ: its input is OUT
FOLDERS = {  # of the set's files, by seed
    "folder": ["parts"] * 4,
    "moved": ["parts", "new/parts", "parts", ""],
}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


class Campaign:
    def __init__(self, form, program, kibibytes, temp):
        self.form, self.program, self.kibibytes = form, program, kibibytes
        self.folder, self.kept = Path(temp, form), Path(temp, form + ".kept")
        self.list, self.out = self.folder / LIST, self.folder / OUTS[form]
        self.states = {}  # by name: the list's text, OUT's SHA-256 and result
        self.files = {}
        self.seen, self.problems = Counter(), []
        for name, seed in (("third", THIRD), ("new", NEW), ("old", OLD)):
            self.empty()
            self.calls = self.write(seed)
            self.learn(name)
        self.keep("old")
        begin = time.monotonic()
        self.calls = self.write(NEW)
        self.seconds = time.monotonic() - begin
        if form != "own":
            self.start("old")
            self.read_calls = self.write(READ)
            self.learn("read")
        self.start("old")

    def empty(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.out.parent.mkdir(parents=True)

    def keep(self, name):
        shutil.copytree(self.folder, self.kept / name)

    def start(self, name):
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.kept / name, self.folder)

    def learn(self, name):
        self.states[name] = (self.list.read_text(), digest(self.out), self.evaluate())
        self.files[name] = self.names()

    def names(self):
        """All files; what OUT waits in has a name for a moment, as when a model is saved alone."""
        every = (f.relative_to(self.folder) for f in self.folder.rglob("*"))
        return {str(f) for f in every if not f.name.startswith(".graphopt-")}

    def evaluate(self):
        """The SHA-256 of what OUT gives for zeros."""
        onnx.load(self.out)
        session = onnxruntime.InferenceSession(self.out, providers=["CPUExecutionProvider"])
        y = session.run(None, {"x": np.zeros(1, np.float32)})[0]
        return hashlib.sha256(y.tobytes()).hexdigest()

    def command(self, seed, *call):
        form = "own" if self.form == "own" else "shared"
        if folder := FOLDERS.get(self.form, [""] * 4)[seed]:
            form += f":{self.folder / folder}"
        return [self.program, self.list, self.out, str(seed), str(self.kibibytes), form, *map(str, call)]

    def write(self, seed):
        run = subprocess.run(self.command(seed), capture_output=True, text=True)
        if run.returncode:
            raise SystemExit(f"{self.form}: a run that nothing disturbed failed: {run.stderr}")
        return int(run.stdout)

    def fault(self):
        """None or what a reader of the list or of OUT finds wrong; and the states of both."""
        text = self.list.read_text()
        for line in text.splitlines():
            sha, name = line.split("  ")
            if not (self.folder / name).is_file():
                return f"{name} is not there", None, None
            if digest(self.folder / name) != sha:
                return f"{name} has another content", None, None
        listed = [name for name, (list_text, _, _) in self.states.items() if list_text == text]
        if not listed:
            return "the list is none of those that were written", None, None
        sha = digest(self.out)
        outs = [name for name, (_, out, _) in self.states.items() if out == sha]
        if not outs:
            return "OUT is none of those that were written", None, None
        try:
            if self.evaluate() != self.states[outs[0]][2]:
                return "OUT gives another result", None, None
        except Exception as e:  # whatever it is, the model cannot be used
            return f"OUT does not load: {e}", None, None
        return None, listed[0], outs[0]

    def look(self, what, status, after=None):
        """Notes what is there; `after`: the state that the run leaves, than which OUT may not be older."""
        wrong, listed, out = self.fault()
        if not wrong and after and listed == after != out:
            wrong = f"OUT ({out}) is older than the list ({listed})"
        if wrong:
            self.problems.append(f"{self.form}: {what}: {wrong}")
            return None
        ended = ", ended before the kill" if status == 0 else ""
        self.seen[(listed if listed == out else f"{listed} list, {out} OUT") + ended] += 1
        return listed, out

    def clean_up(self, what):
        self.write(NEW)
        if left := self.names() ^ self.files["new"]:
            self.problems.append(f"{self.form}: {what}: a run afterwards leaves or lacks {sorted(left)}")
        wrong, listed, out = self.fault()
        if wrong or listed != "new" or out != "new":
            self.problems.append(f"{self.form}: after {what}: {wrong or (listed, out)}")

    def before_each_call(self, start, seed, calls, after):
        """Returns the last call before which OUT was new and the list old."""
        mixed = None
        for call in range(1, calls + 1):
            self.start(start)
            run = subprocess.run(self.command(seed, call), capture_output=True, text=True)
            what = f"seed {seed} over {start}, killed before call {call}"
            if run.returncode != -signal.SIGKILL:
                self.problems.append(f"{self.form}: {what}: status {run.returncode} {run.stderr}")
            found = self.look(what, run.returncode, after)
            if found and found[1] == after != found[0]:
                mixed = call
            self.clean_up(what)
        return mixed

    def fixed(self):
        mixed = self.before_each_call("old", NEW, self.calls, "new")
        if self.form == "own":
            return
        self.before_each_call("old", READ, self.read_calls, "read")
        if mixed is None:
            self.problems.append(f"{self.form}: no kill left a new OUT beside an old list")
            return
        self.start("old")
        subprocess.run(self.command(NEW, mixed), capture_output=True)
        self.keep("mixed")
        calls = self.write(THIRD)
        self.before_each_call("mixed", THIRD, calls, "third")

    def random(self, rng, count):
        for i in range(count):
            if i % 5 == 0:  # some runs find what earlier ones left
                self.start("old")
            run = subprocess.Popen(self.command((NEW, OLD, THIRD)[i % 3]), stdout=subprocess.DEVNULL)
            time.sleep(rng.uniform(0, self.seconds * 1.1))
            run.send_signal(signal.SIGKILL)
            self.look(f"random kill {i}", run.wait())
            if i % 5 == 4:
                self.clean_up(f"random kill {i}")

    def two_at_a_time(self):
        self.start("old")

        def compared(names):  # OUT's own old data file goes after the lock of the set
            return {n for n in names if self.form != "own" or not n.startswith(OUTS["own"])}

        for i in range(5):
            runs = [subprocess.Popen(self.command(s), stdout=subprocess.DEVNULL) for s in (OLD, NEW)]
            if any([run.wait() for run in runs]):
                self.problems.append(f"{self.form}: two runs at a time, {i}: one of them failed")
            wrong, listed, out = self.fault()
            if not wrong and listed != out:
                wrong = f"the list is {listed}, OUT is {out}"
            if not wrong and compared(self.names()) != compared(self.files[listed]):
                wrong = "files of both are left"
            if wrong:
                self.problems.append(f"{self.form}: two runs at a time, {i}: {wrong}")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("--count", type=int, default=10, help="random kills of each form")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--kibibytes", type=int, default=1024, help="of each of the four weights")
    p.add_argument("--form", choices=OUTS)
    a = p.parse_args()
    program = Path(executable(a.tool)).parent / "tests" / "graphopt_write_set"
    if not program.is_file():
        print(f"skipped: {program} is not built")
        return 77
    rng, problems = random.Random(a.seed), []
    for form in [a.form] if a.form else OUTS:
        with tempfile.TemporaryDirectory() as temp:
            c = Campaign(form, program, a.kibibytes, temp)
            c.fixed()
            fixed, c.seen = c.seen, Counter()
            c.random(rng, a.count)
            c.two_at_a_time()
        print(
            f"{form}: killed {fixed.total()} times before a call: {dict(fixed)}; {a.count} random kills "
            f"within {c.seconds:.2f} s: {dict(c.seen)}; {len(c.problems)} problems"
        )
        problems += c.problems
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
