#!/usr/bin/env python3
"""The backend tests themselves (lib/backend_cases.py, equal/backend.py): each kind of defect must be seen.

  test_backend_cases.py GRAPHOPT

Takes a few cases of the onnx package, changes their models in ways that a defective optimizer might, and
wants the verdict for each. Then shell scripts take the place of the tool: one crashes, one is silent, one
writes other bytes each time, and so on.
"""

import os
import pathlib
import sys
import tempfile

import onnx

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "equal")]
import backend  # noqa: E402
from lib import backend_cases  # noqa: E402

TAKEN = ["test_sub", "test_sub_bcast", "test_split_equal_parts_1d_opset18", "test_sequence_insert_at_front"]


def changes(model):
    """(verdict, what was done, bytes) of models in which one thing is wrong."""

    def changed(what):
        m = onnx.ModelProto()
        m.CopyFrom(model)
        what(m.graph)
        return m.SerializeToString()

    def swap(g):
        g.node[0].input[0], g.node[0].input[1] = g.node[0].input[1], g.node[0].input[0]

    def rename_output(g):
        g.node[0].output[0] = g.output[0].name = "renamed"

    def free_input(g):
        g.input[0].type.tensor_type.shape.dim[0].dim_param = "n"

    yield "ok", "nothing", changed(lambda g: None)
    yield "ok", "an input accepts more", changed(free_input)
    yield "wrong", "swapped operands", changed(swap)
    yield "wrong", "another operator", changed(lambda g: setattr(g.node[0], "op_type", "Add"))
    yield "broken", "an unknown operator", changed(lambda g: setattr(g.node[0], "op_type", "Subtract"))
    yield "broken", "half of the file", changed(lambda g: None)[:-20]
    yield "broken", "no node", changed(lambda g: g.ClearField("node"))
    yield "interface", "another name of an output", changed(rename_output)
    yield "interface", "inputs in another order", changed(lambda g: g.input.reverse())


# What stands in the place of the tool: its name, the verdict, the script; $out is the file to write. The
# bytes that the last one adds are an empty doc_string.
SCRIPTS = [
    ("the tool", "ok", '"$tool" "$@"'),
    ("refuses", "refused", "echo 'cannot read it' >&2; exit 2"),
    ("refuses in silence", "failed", "exit 2"),
    ("finds an error in itself", "failed", "echo internal error >&2; exit 70"),
    ("refuses, but writes", "failed", 'echo no >&2; cp "$1" "$out"; exit 2'),
    ("crashes", "failed", "kill -SEGV $$"),
    ("writes nothing", "failed", "exit 0"),
    ("writes no model", "broken", 'echo nothing > "$out"'),
    (
        "changes with -O0",
        "changed by -O0",
        '"$tool" "$@"; [ "$2" != -o ] || [ "$5" != -O0 ] || cp "$other" "$out"',
    ),
    ("gives other bytes", "unstable", '"$tool" "$@"; [ "$5" = -O0 ] || printf \'\\062\\000\' >> "$out"'),
]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    tool, wrong, count = os.path.abspath(sys.argv[1]), [], 0
    cases = backend_cases.candidates(("node",), TAKEN.__contains__)
    cases.sort(key=lambda c: TAKEN.index(c.name))
    for case in cases:
        for c in (case, backend_cases.with_initializers(case)):
            if c is not None:
                count += 1
                found = backend_cases.verdict(c, c.model.SerializeToString())
                if found[0] != "ok":
                    wrong.append(f"{c.name} as it stands: {found}")
    for expected, what, data in changes(cases[0].model):
        count += 1
        found = backend_cases.verdict(cases[0], data)
        if found[0] != expected:
            wrong.append(f"{what}: {found}, expected {expected}")
    free = onnx.ModelProto()
    free.CopyFrom(cases[0].model)
    for v in free.graph.input:
        v.type.tensor_type.shape.dim[0].dim_param = "n"
    if not backend_cases.interface_change(free.graph, cases[0].model.graph):
        wrong.append("an input that accepts less is not seen")
    if backend_cases.with_initializers(cases[2]) or not backend_cases.with_initializers(cases[0]):
        wrong.append("variants are made of cases with several inputs that are tensors, and of no others")
    with tempfile.TemporaryDirectory() as folder:
        other = os.path.join(folder, "other.onnx.input")
        onnx.save(cases[1].model, other)
        for what, expected, body in SCRIPTS:
            count += 1
            script = pathlib.Path(folder, "tool.sh")
            script.write_text(
                f"#!/bin/sh\ntool='{tool}'\nother='{other}'\nout=$3\n{body}\n", encoding="utf-8"
            )
            script.chmod(0o755)
            found = backend.check(cases[0], str(script), [], folder)
            if found[0] != expected:
                wrong.append(f"a tool that {what}: {found}, expected {expected}")
    print("\n".join(wrong), end="\n" if wrong else "")
    print(f"{count} verdicts, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
