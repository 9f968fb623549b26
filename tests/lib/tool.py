"""How tests call graphopt, and how they count nodes by operator."""

import argparse
import collections
import os
import pathlib
import re
import subprocess

import onnx

# The two passes that the tests of hoisting are about.
HOIST = ["aggregate-elementwise", "hoist-reshape"]


def executable(path):
    """The type of an argument of argparse that names the program under test: its absolute path."""
    if not os.access(path, os.X_OK) or os.path.isdir(path):
        raise argparse.ArgumentTypeError(f"{path} is no program that can be run")
    return os.path.abspath(path)


def exact_passes(binary):
    """The names of the passes that keep every bit at the level from which they run, in the order of
    --list-passes. Raises RuntimeError when it prints something else."""
    return [row[0] for row in listed_passes(binary) if row[2] != row[1]]


def rounding_passes(binary):
    """The names of all passes with a rule that rounds, as docs/rounding.md lists them: those that are nothing
    but such rules, and those that round at the default level. constant-folding is left out, which other
    passes build on. Raises RuntimeError when a pass that rounds is not in the page."""
    page = pathlib.Path(__file__).resolve().parents[2] / "docs" / "rounding.md"
    named = set(re.findall(r"^\| `([a-z-]+)` \|", page.read_text(encoding="utf-8"), re.MULTILINE))
    rows = listed_passes(binary)
    if missing := [row[0] for row in rows if row[2] != "never" and row[0] not in named]:
        raise RuntimeError(f"docs/rounding.md does not have {', '.join(missing)}")
    rounds = [row for row in rows if row[2] in (row[1], "-O2")]
    return [row[0] for row in rounds if row[0] != "constant-folding"]


def listed_passes(binary):
    """Rows "NAME -O<level> -O<level>|never TEXT": the levels from which the pass runs, and rounds."""
    done = subprocess.run([binary, "--list-passes"], capture_output=True, text=True, check=True)
    lines = done.stdout.split("\n\n")[0].splitlines()[2:]  # below the head; the levels follow
    if not lines or not all(re.match(r"\S+ +-O\d +(-O\d|never) +\S", line) for line in lines):
        raise RuntimeError(f"--list-passes prints something else:\n{done.stdout}")
    return [line.split() for line in lines]


def optimized(binary, model, folder, *options):
    """What graphopt makes of a model; its files stand in the folder. Raises RuntimeError where it fails."""
    source, target = os.path.join(folder, "in.onnx"), os.path.join(folder, "out.onnx")
    with open(source, "wb") as f:
        f.write(model.SerializeToString())
    done = subprocess.run([binary, source, "-o", target, "-q", *options], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip()[-300:]}")
    return onnx.load(target)


class Tool:
    """`passes`: names; without them, all that keep every bit."""

    def __init__(self, binary, passes=None):
        self.binary, self.passes = binary, passes or exact_passes(binary)

    def run(self, source, target, *options, timeout=600):
        """None, or why it failed."""
        if os.path.exists(target):
            os.remove(target)
        command = [self.binary, source, "-o", target, "-q", f"--passes={','.join(self.passes)}", *options]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
        except subprocess.TimeoutExpired:
            return f"no end within {timeout} s"
        if done.returncode:
            return f"exit status {done.returncode}: {done.stderr.strip()[-400:]}"
        return None if os.path.exists(target) else "exit status 0, but there is no output"


def operators(model):
    """How many nodes of each operator, bodies included."""
    count, stack = collections.Counter(), [model.graph]
    while stack:
        for n in stack.pop().node:
            count[n.op_type if n.domain in ("", "ai.onnx") else f"{n.domain}.{n.op_type}"] += 1
            for a in n.attribute:
                stack += ([a.g] if a.HasField("g") else []) + list(a.graphs)
    return count
