#!/usr/bin/env python3
# TIER: nightly
# WHEN: src/exports/ src/onnx/set_writer
"""kill -9 while exports are written over older ones: each is the old or the new one, whole.

  kill_exports.py GRAPHOPT

graphopt_write_exports (tests/programs), found beside the tool, cuts a decoder and writes all exports over
those of another one. It is killed before each of its system calls that change names or sync files, once each;
so is a run that writes none of them, and removes them. After each kill OUT loads with
its weights, OUT.layers.json is the old or the new text, and the folders are file by file the old or the new
ones, or not there where they were to be removed. A run afterwards leaves what it leaves in an empty folder.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib.profiles import profile  # noqa: E402
from lib.tool import executable  # noqa: E402

ALL = "triton,ort-annotations,genai,ort-package"
NAMES = ("m.triton", "m.layers.json", "m.genai", "m.ort-package")


def decoder(op):
    """Whose weights are large enough for a file of their own."""
    table = onnx.helper.make_tensor("table", 1, [100, 8], [float(i) for i in range(800)])
    ports = {
        "input_ids": (7, ["B", "S"]),
        "past.0": (1, ["B", 2, "P", 4]),
        "logits": (1, ["B", "S", 8]),
        "present.0": (1, ["B", 2, "P", 4]),
    }
    inputs = [onnx.helper.make_tensor_value_info(n, *ports[n]) for n in ("input_ids", "past.0")]
    outputs = [onnx.helper.make_tensor_value_info(n, *ports[n]) for n in ("logits", "present.0")]
    nodes = [
        onnx.helper.make_node("Gather", ["table", "input_ids"], ["h"]),
        onnx.helper.make_node("Relu", ["h"], ["r"]),
        onnx.helper.make_node(op, ["r"], ["logits"]),
        onnx.helper.make_node("Relu", ["past.0"], ["present.0"]),
    ]
    graph = onnx.helper.make_graph(nodes, "g", inputs, outputs, [table])
    return onnx.helper.make_model(graph, ir_version=11, opset_imports=[onnx.helper.make_opsetid("", 17)])


def tree(path):
    """{name: bytes} of a folder, or of a file."""
    if not path.is_dir():
        return {"": path.read_bytes()} if path.exists() else None
    return {str(p.relative_to(path)): p.read_bytes() for p in path.rglob("*") if p.is_file()}


class Campaign:
    def __init__(self, program, temp):
        self.program, self.temp, self.folder = program, temp, temp / "run"
        self.device = profile(temp, "Relu", "Gather")
        self.seen, self.problems, self.states, self.kept = Counter(), [], {}, {}
        for name, op in (("old", "Erf"), ("new", "Tanh")):
            (temp / f"{name}.onnx").write_bytes(decoder(op).SerializeToString())
            for emit in (ALL, ""):
                self.start(None)
                self.run(name, emit)
                self.kept[name, emit] = temp / f"{name}.{'all' if emit else 'none'}.kept"
                shutil.copytree(self.folder, self.kept[name, emit])
            self.states[name] = {n: tree(self.kept[name, ALL] / n) for n in NAMES}

    def start(self, state):
        shutil.rmtree(self.folder, ignore_errors=True)
        if state:
            shutil.copytree(self.kept[state], self.folder)
        else:
            self.folder.mkdir()

    def run(self, name, emit, call=None):
        command = [self.program, self.temp / f"{name}.onnx", self.device, "m.onnx", emit]
        command += [] if call is None else [str(call)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if call is None and done.returncode:
            raise SystemExit(f"a run that nothing disturbed failed: {done.stderr}")
        return done

    def fault(self, may_go):
        if (self.folder / "m.onnx").exists():
            try:
                onnx.load(self.folder / "m.onnx")
            except Exception as e:  # whatever it is, the model cannot be used
                return f"m.onnx does not load: {e}"
        found = []
        for name in NAMES:
            now = tree(self.folder / name)
            if now is None and not may_go:
                return f"{name} is not there"
            states = (
                ["gone"] if now is None else [s for s, all_of in self.states.items() if all_of[name] == now]
            )
            if not states:
                return f"{name} is none of those that were written"
            found.append(states[0])
        self.seen[" ".join(found)] += 1
        return None

    def kill_everywhere(self, emit):
        self.start(("old", ALL))
        calls = int(self.run("new", emit).stdout)
        for call in range(1, calls + 1):
            self.start(("old", ALL))
            if self.run("new", emit, call).returncode != -9:
                self.problems.append(f"call {call}: the run was not killed")
            what = f"emit '{emit}', killed before call {call} of {calls}"
            if wrong := self.fault(may_go=not emit):
                self.problems.append(f"{what}: {wrong}")
            self.run("new", emit)
            for waiting in self.folder.glob(".graphopt-*.tmp"):  # as a model that is saved alone leaves
                waiting.unlink()
            wanted, left = tree(self.kept["new", emit]), tree(self.folder)
            if left != wanted or any(p.name.startswith(".") for p in self.folder.iterdir()):
                differ = sorted({n for n in left.keys() | wanted.keys() if left.get(n) != wanted.get(n)})
                self.problems.append(f"{what}: a run afterwards differs in {differ}")
        return calls


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("graphopt", type=executable)
    args = parser.parse_args()
    program = Path(args.graphopt).parent / "tests/graphopt_write_exports"
    with tempfile.TemporaryDirectory() as temp:
        campaign = Campaign(program, Path(temp))
        kills = [campaign.kill_everywhere(emit) for emit in (ALL, "")]
        for state, count in campaign.seen.most_common():
            print(f"{count:5} times: {state}")
        print(f"{sum(kills)} kills, {len(campaign.problems)} problems")
        for problem in campaign.problems[:20]:
            print(problem)
    return 1 if campaign.problems else 0


if __name__ == "__main__":
    sys.exit(main())
