#!/usr/bin/env python3
"""Planted defects: does anything turn red when a rule is wrong?

  run.py BUILD_DIR [--only NAME] [--ort PATH]

Each plant replaces a piece of text in one source file. The file is compiled and the tool linked again outside
the tree and the build folder (with the commands of BUILD_DIR), then
  golden   the pass's golden cases must fail,
  bisect   `graphopt --bisect` on a small model must name the planted pass, the rule and the place.
Exit status 1 when a plant goes unseen. A plant takes a compile and a link.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

import onnx
import onnx.parser

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'

PLANTS = [
    dict(
        name="dropout-ignores-training",
        file="src/passes/drop_identity.cpp",
        bisect="drop-identity",
        place="node 'wrong'",
        old="return inference_mode(m, n) && can_skip(m, n);",
        new="return can_skip(m, n);",
        golden="drop-identity/keep_dropout_training",
        # The draw drops every element in training mode with ratio ~1: zeros, unlike the input.
        model="g (float[4,5] x) => (float[4,5] y) <float r = {0.999}, bool on = {1}> { a = Relu (x) [wrong] b = Dropout (a, r, on) c = Abs (b) y = Add (c, x) }",
    ),
    dict(
        name="transpose-by-dims",
        file="src/passes/drop_noop.cpp",
        bisect="drop-noop",
        place="node 'wrong'",
        old="if (std::ranges::is_sorted(*perm)) return true;",
        new="if (std::ranges::is_sorted(*perm) || c.infer.same_shape(in, out)) return true;",
        golden="drop-noop/keep_transpose_perm",
        model="g (float[3,3] x) => (float[3,3] y) { i = Cast <to = 1> (x) a = Relu (i) [wrong] b = Transpose <perm = [1, 0]> (a) y = Neg (b) }",
    ),
    dict(
        name="fold-overridable",
        file="src/passes/constant_folding.cpp",
        bisect="constant-folding",
        place="node 'wrong'",
        old="const TensorId t = v ? m.constant_of(v) : TensorId{};",
        new="const TensorId t = v ? m.value(v).tensor : TensorId{};",
        golden="constant-folding/keep_overridable",
        model="g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}, float[2] k = {3, 4}> { a = Neg (k) b = Add (x, a) [wrong] c = Exp (w) y = Add (b, c) }",
    ),
    dict(
        name="sub-commutes",
        file="src/passes/common_subexpressions.cpp",
        bisect="common-subexpressions",
        place="node 'wrong'",
        old="if (row.commutative && m.input_count(a) >= 2) {\n      if (ordered",
        new="if (m.input_count(a) >= 2) {\n      if (ordered",
        also=[
            (
                "if (row.commutative && m.input_count(n) >= 2) {\n      for",
                "if (m.input_count(n) >= 2) {\n      for",
            )
        ],
        golden="common-subexpressions/keep_swapped_sub",
        model="g (float[4] x, float[4] z) => (float[4] y) { p = Neg (x) q = Neg (x) a = Sub (p, z) [wrong] b = Sub (z, q) c = Mul (a, b) y = Add (c, q) }",
    ),
    dict(
        name="merge-ignores-type",
        file="src/passes/merge_initializers.cpp",
        bisect="merge-initializers",
        place="initializer 'wrong'",
        old="return p && q && (p->data() == q->data() ? p->size() == q->size() : m.content_hash(a) == m.content_hash(b) && *p == *q);",
        new="return p && q;",
        golden="merge-initializers/keep_other_type_dims_bits",
        also=[
            ("const std::uint64_t sample = sample_key(m, tensor);", "const std::uint64_t sample = 0;"),
            ("return by_content.find(m.content_hash(m.value(of).tensor).low,", "return by_content.find(0,"),
            (
                "by_content.insert(m.content_hash(m.value(*alike).tensor).low, *alike);",
                "by_content.insert(0, *alike);",
            ),
            ("by_content.insert(m.content_hash(tensor).low, v);", "by_content.insert(0, v);"),
        ],
        model="g (float[2] x) => (float[2] y) <float[2] a = {1, 2}, float[2] b = {1, 2}, float[2] wrong = {3, 4}> { s = Add (x, a) t = Mul (s, b) y = Sub (t, wrong) }",
    ),
    dict(
        name="copy-beside-open",
        file="src/passes/constant_shapes.cpp",
        golden="constant-shapes/keep_copy_beside_open",
        old="if (open < 0 || !copies_may_be_empty) return true;",
        new="return true;",
    ),
    dict(
        name="sweep-unknown",
        file="src/rewrite/dead.cpp",
        golden="dead-code/keep_unknown_domain",
        old="case Purity::Unknown: return false;",
        new="case Purity::Unknown: break;",
    ),
    dict(
        name="matmuls-any-attributes",
        file="src/passes/merge_matmuls.cpp",
        golden="merge-matmuls/keep_attributes",
        old=" && same_attributes(m, a.node, b.node);",
        new=";",
    ),
    dict(
        name="slice-any-step",
        file="src/passes/drop_noop.cpp",
        golden="drop-noop/keep_slice_reversed",
        old="case OpKind::Slice: return steps_are_one(m, n) && c.infer.same_shape(in, out);",
        new="case OpKind::Slice: return c.infer.same_shape(in, out);",
    ),
    dict(
        name="concat-any-axis",
        file="src/hoist/common_moves.cpp",
        bisect="hoist-reshape",
        place="node 'wrong'",
        old="if (product(d, s0, 0, b) != outer) continue;",
        new="",
        golden="hoist-reshape/keep_concat_axis_cut",
        model="g (float[6,4] x, float[6,4] z) => (float[2,6,4] y) <int64[3] s = {2, 3, 4}> "
        "{ p = Reshape (x, s) q = Reshape (z, s) [wrong] c = Concat <axis = 1> (p, q) y = Softmax (c) }",
    ),
    dict(
        name="operand-along-axis",
        file="src/hoist/merge_operands.cpp",
        bisect="aggregate-elementwise",
        place="node 'wrong'",
        old="if (one && flat_on_axis(d, mapped[0], branches[0].to, axis)) {",
        new="if (one) {",
        golden="aggregate-elementwise/keep_operand_along_axis",
        model="g (float[2,3] x, float[2,3] z, float[2,1] w) => (float[4,3] y) "
        "{ p = Mul (x, w) q = Mul (z, w) [wrong] c = Concat <axis = 0> (p, q) y = Softmax (c) }",
    ),
    dict(
        name="axis-by-extent",
        file="src/hoist/pass_through.cpp",
        bisect="hoist-reshape",
        place="node 'wrong'",
        old="if (k != a && (!shapes.is_one(b.back[k]) || holds(axes, k))) return false;",
        new=";",
        golden="hoist-reshape/keep_through_slice_turned_group",
        model="g (float[6,2] x) => (float[3,2] y) <int64[2] s = {2, 6}, int64[2] z = {3, 2}, int64[1] b = {1}, int64[1] e = {4}> "
        "{ t = Reshape (x, s) p = Slice (t, b, e, b) [wrong] q = Reshape (p, z) y = Softmax (q) }",
    ),
    dict(
        name="any-kernel",
        file="src/hoist/pass_through.cpp",
        golden="hoist-reshape/keep_through_reduce_float",
        old="if (!o.relaxed && !axis_work_keeps_bits(",
        new="if (false && !axis_work_keeps_bits(",
    ),
    dict(
        name="piece-or-operand",
        file="src/hoist/merge_split.cpp",
        golden="aggregate-elementwise/keep_split_square_and_product",
        old="if (v != pieces_[i].value) return false;",
        new="",
    ),
    dict(
        name="level-of-another",
        file="src/hoist/merge_split.cpp",
        golden="aggregate-elementwise/keep_split_dag_other_branch",
        old="if (!home(q) || !take(i, in.level, q)) return false;",
        new="if (home(q)) take(i, in.level, q);",
    ),
    dict(
        name="end-too-early",
        file="src/hoist/merge_split.cpp",
        golden="aggregate-elementwise/keep_split_dag_two_ends",
        old="if (open.empty()) return true;",
        new="if (open.size() <= 1) return true;",
    ),
    dict(
        name="anywhere",
        file="src/hoist/elements.cpp",
        golden="aggregate-elementwise/keep_cos",
        old="return !position_dependent(kind, type) || kind == OpKind::Max || kind == OpKind::Min;",
        new="return true;",
    ),
]


def node_names(text):
    """`[name]` before a node becomes the node's name (the parser knows no node names at this place)."""
    names, out = {}, []
    for part in re.split(r"(\[[a-z]+\] \w+ =)", text):
        if m := re.match(r"\[([a-z]+)\] (\w+) =", part):
            names[m[2]] = m[1]
            part = f"{m[2]} ="
        out.append(part)
    return "".join(out), names


def build_tool(build, plant, work):
    path = os.path.join(ROOT, plant["file"])
    text = open(path).read()
    for old, new in [(plant["old"], plant["new"]), *plant.get("also", [])]:
        if text.count(old) != 1:
            raise RuntimeError(f"{plant['file']} holds the text of this plant {text.count(old)} times: {old}")
        text = text.replace(old, new)
    source = os.path.join(work, os.path.basename(path))
    with open(source, "w") as f:
        f.write(text)
    entry = next(
        e
        for e in json.load(open(os.path.join(build, "compile_commands.json")))
        if os.path.samefile(e["file"], path)
    )
    command = [a for a in shlex.split(entry["command"]) if a != "-Werror"]
    compiled = os.path.join(work, "planted.o")
    command = [
        compiled if command[i - 1] == "-o" else source if a == entry["file"] else a
        for i, a in enumerate(command)
    ]
    subprocess.run(command, cwd=entry["directory"], check=True, capture_output=True)
    commands = subprocess.run(
        ["ninja", "-C", build, "-t", "commands", "graphopt"], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    link = next(c for c in reversed(commands) if " -o graphopt " in c)
    tool = os.path.join(work, "graphopt")
    # The planted object stands before the libraries, so that its symbols are taken and the archive's member
    # is not.
    link = link.replace(" -o graphopt ", f" {shlex.quote(compiled)} -o {shlex.quote(tool)} ", 1)
    subprocess.run(link, shell=True, cwd=build, check=True, capture_output=True)
    return tool


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build")
    p.add_argument("--only", default="")
    a = p.parse_args()
    build, unseen = os.path.abspath(a.build), []
    for plant in PLANTS:
        if a.only not in plant["name"]:
            continue
        with tempfile.TemporaryDirectory() as work:
            tool = build_tool(build, plant, work)
            r = subprocess.run(
                [sys.executable, os.path.join(ROOT, "tests/golden/run.py"), tool, "--only", plant["golden"]],
                capture_output=True,
                text=True,
            )
            seen = r.returncode != 0 and "FAILED " + plant["golden"] in r.stdout
            print(f"{plant['name']}: golden {plant['golden']}: {'red' if seen else 'NOT SEEN'}", flush=True)
            if not seen:
                unseen.append(plant["name"] + " (golden)")
            if "bisect" not in plant:
                continue
            text, names = node_names(plant["model"])
            model = onnx.parser.parse_model(HEAD + text)
            for n in model.graph.node:
                n.name = names.get(n.output[0], "")
            source, target = os.path.join(work, "in.onnx"), os.path.join(work, "out.onnx")
            onnx.save(model, source)
            r = subprocess.run(
                [tool, source, "-o", target, "--check=3", "--bisect"], capture_output=True, text=True
            )
            named = (
                r.returncode == 3
                and plant["bisect"] in r.stderr
                and plant["place"] in r.stderr
                and not os.path.exists(target)
            )
            line = next(
                (x.strip() for x in r.stderr.splitlines() if plant["place"] in x), r.stderr.strip()[-300:]
            )
            print(f"{plant['name']}: bisect: {'named' if named else 'NOT NAMED'}: {line}", flush=True)
            if not named:
                unseen.append(plant["name"] + " (bisect)")
    print(f"{len(unseen)} planted defects unseen {', '.join(unseen)}")
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main())
