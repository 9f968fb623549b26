#!/usr/bin/env python3
"""Functions that call each other in a long chain: nothing recurses along it, so a small stack is
enough for every verb."""

import resource
import subprocess
import sys

from _tool import expect, main
from onnx import helper, parser

CALLS = 20_000
STACK = 1 << 20  # bytes; a frame for each call needs more
# The calls compute the list of the Reshape, in a version in which what they compute has to be foreseen.
MAIN = """<ir_version: 8, opset_import: ["" : 9, "local" : 1]>
g (float[N, 3] x, bool c) => (float y) <float[2] twice = {6, 4}> {
  f = local.F0 (twice)
  to = Cast <to = 7> (f)
  y = If (c) <
    then_branch = t () => (float u) {
      h = Reshape (x, to)  m = Concat <axis = 0> (h, x)  s = Size (m)  u = Cast <to = 1> (s) },
    else_branch = e () => (float v) { v = ReduceSum <keepdims = 0> (x) }>
}"""


def chain(last):
    model = parser.parse_model(MAIN)
    opsets = [helper.make_opsetid("", 9), helper.make_opsetid("local", 1)]
    for i in range(CALLS):
        called = (f"F{i + 1}", "local") if i + 1 < CALLS else (last, "")
        node = helper.make_node(called[0], ["a"], ["b"], domain=called[1])
        model.functions.append(helper.make_function("local", f"F{i}", ["a"], ["b"], [node], opsets))
    return model.SerializeToString()


def test_long_chains(tool, folder):
    path, out = folder / "m.onnx", folder / "o.onnx"
    limit = None if tool.sanitized else lambda: resource.setrlimit(resource.RLIMIT_STACK, (STACK, STACK))
    for last in ("Neg", "NoSuchOperator"):
        path.write_bytes(chain(last))
        for words in (
            [path, "-q", "-o", out],
            [path, "-q", "-o", out, "--regions", "functions", "--verify-each"],
            [path, "-q", "-o", out, "-O0", "--infer", "--strip", "all"],
            ["inspect", path],
            ["compare", path, path, "--figures-only", "-q"],
            ["reduce", path, "--test", "true", "-o", out, "--seconds", "0.2", "-q"],
        ):
            command = [tool.binary, *map(str, words)]
            done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
            expect(done.returncode in (0, 5), last, words, done.returncode, done.stderr)


if __name__ == "__main__":
    sys.exit(main(globals()))
