"""What the tests of reshape hoisting and aggregation share: how the tool is called and where the vectors'
checker stands.

A tool is a program, called as `TOOL IN -o OUT -q --passes=LIST`, or a command with {in} and {out} in it, such
as `python3 SHARED/vectors/rewrites/proto.py {in} {out}`: the tests can so be tried on the method's prototype.
"""

import os
import shlex
import subprocess
import sys

CLEAN_UP = [
    "constants-to-initializers",
    "drop-identity",
    "constant-folding",
    "inline-if",
    "drop-noop",
    "constant-shapes",
    "sequence-idioms",
    "merge-initializers",
    "merge-tables",
    "reduce-keepdims",
    "common-subexpressions",
    "drop-unused-outputs",
    "dead-code",
]
HOIST = ["aggregate-elementwise", "hoist-reshape"]
PASSES = ",".join(CLEAN_UP + HOIST)


class Tool:
    def __init__(self, tool, passes=PASSES):
        self.passes, self.given = passes, "{in}" in tool
        self.words = shlex.split(tool) if self.given else [tool]

    def command(self, source, target, *more):
        if self.given:
            return [w.replace("{in}", source).replace("{out}", target) for w in self.words]
        return [*self.words, source, "-o", target, "-q", f"--passes={self.passes}", *more]

    def run(self, source, target, *more, timeout=600):
        """None, or why it failed."""
        if os.path.exists(target):
            os.remove(target)
        command = self.command(source, target, *more)
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return f"no end within {timeout} s"
        if done.returncode:
            return f"exit status {done.returncode}: {done.stderr.strip()[-400:]}"
        return None if os.path.exists(target) else "exit status 0, but there is no output"

    def missing(self):
        """The passes of the list that the tool does not have; a given command has no list."""
        if self.given:
            return []
        listed = subprocess.run(
            [*self.words, "--list-passes"], capture_output=True, text=True, check=True
        ).stdout
        have = {line.split()[0] for line in listed.splitlines() if line.strip()}
        return [p for p in self.passes.split(",") if p not in have]


def rewrites(shared):
    """SHARED/vectors/rewrites: the folder, its checker and its prototype as modules; None where it is not
    there."""
    folder = os.path.join(shared, "vectors", "rewrites")
    if not os.path.isfile(os.path.join(folder, "check.py")):
        return None
    sys.dont_write_bytecode = True
    sys.path.insert(0, folder)
    import check
    import proto

    return folder, check, proto


def kinds(model):
    """How many nodes of each operator, bodies included."""
    import collections

    count, stack = collections.Counter(), [model.graph]
    while stack:
        for n in stack.pop().node:
            count[n.op_type if n.domain in ("", "ai.onnx") else f"{n.domain}.{n.op_type}"] += 1
            for a in n.attribute:
                stack += ([a.g] if a.HasField("g") else []) + list(a.graphs)
    return count


def difference(a, b):
    """None when two results of a run have the same bits (any NaN is a NaN, -0 is not +0), else a text.
    Sequences and maps too."""
    import numpy as np

    if isinstance(a, (list, tuple)) or isinstance(b, (list, tuple)):
        if type(a) is not type(b) or len(a) != len(b):
            return "sequences of other lengths"
        return next((d for d in map(difference, a, b) if d), None)
    if isinstance(a, dict) or isinstance(b, dict):
        if not (isinstance(a, dict) and isinstance(b, dict)) or a.keys() != b.keys():
            return "other keys"
        return next((d for d in (difference(a[k], b[k]) for k in a) if d), None)
    if a is None or b is None:
        return None if a is b else "an optional is empty on one side"
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return f"{a.dtype}{list(a.shape)} became {b.dtype}{list(b.shape)}"
    if a.dtype.kind == "f":
        word = np.dtype(f"u{a.itemsize}")
        wrong = (np.ascontiguousarray(a).view(word) != np.ascontiguousarray(b).view(word)) & ~(
            np.isnan(a) & np.isnan(b)
        )
    else:
        wrong = a != b
    if not np.any(wrong):
        return None
    k = int(np.flatnonzero(np.asarray(wrong).ravel())[0])
    return (
        f"{int(np.sum(wrong))} of {a.size} elements, first at {k}: {a.ravel()[k]!r} became {b.ravel()[k]!r}"
    )
