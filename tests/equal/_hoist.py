"""What the tests of reshape hoisting and aggregation share: how the tool is called and where the vectors' checker stands.

A tool is a program, called as `TOOL IN -o OUT -q --passes=LIST`, or a command with {in} and {out} in it, such as
`python3 SHARED/vectors/rewrites/proto.py {in} {out}`: the tests can so be tried on the method's prototype.
"""
import os
import shlex
import subprocess
import sys

CLEAN_UP = ["constants-to-initializers", "drop-identity", "constant-folding", "inline-if", "drop-noop", "constant-shapes", "merge-initializers",
            "common-subexpressions", "drop-unused-outputs", "dead-code"]
HOIST = ["hoist-reshape", "aggregate-elementwise"]
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
        listed = subprocess.run([*self.words, "--list-passes"], capture_output=True, text=True, check=True).stdout
        have = {line.split()[0] for line in listed.splitlines() if line.strip()}
        return [p for p in self.passes.split(",") if p not in have]


def rewrites(shared):
    """SHARED/vectors/rewrites: the folder, its checker and its prototype as modules; None where it is not there."""
    folder = os.path.join(shared, "vectors", "rewrites")
    if not os.path.isfile(os.path.join(folder, "check.py")):
        return None
    sys.dont_write_bytecode = True
    sys.path.insert(0, folder)
    import check
    import proto
    return folder, check, proto
