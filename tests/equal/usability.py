#!/usr/bin/env python3
# LONG: --all
"""`devices check` for nnapi and coreml, and the usability checker of ONNX Runtime.

  usability.py GRAPHOPT [--work FOLDER] [--all] [--only NAME ...]

Both judge the same file, node by node: a model of tests/models with the shapes of its index, with the
types of all values written into it, so that both know the same shapes; and the same with open dims. The
checker says of itself that it looks at operators, ranks and open dims only, not at the caveats of its
tables. A difference is allowed for a reason of ALLOWED, and printed; any other is a problem. The last
figure is what `devices check` expects of fixed shapes.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys

import onnx
from onnxruntime.tools.mobile_helpers import usability_checker

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))
from lib import inputs, models  # noqa: E402
from lib.tool import executable  # noqa: E402

SHORT = ("tv_shufflenet_v2", "hf_vit", "qdq_resnet", "lstm_tagger", "sr_espcn", "rec_wide_deep", "rnn_loop")
CHECKERS = {
    "nnapi": lambda model: usability_checker.check_nnapi_partitions(model, True),
    "coreml": lambda model: usability_checker.check_coreml_partitions(
        model, True, "coreml_supported_mlprogram_ops.md"
    ),
}
# What a rule of the profile asks for and the checker does not look at.
CAVEATS = ("attribute", "constant", "dims", "dtype", "opset", "presence", "rank", "value")
# Operators whose caveat no rule can say, so that the profile has none.
UNSAID = {"nnapi": ["Split"], "coreml": ["Resize"]}
# The table writes the name otherwise than the standard, so that the checker does not find it.
MISSPELT = {"nnapi": [], "coreml": ["ArgMax"]}

ALLOWED = {
    "caveat": "refused: a caveat of the table or of a builder, which the checker does not look at",
    "result": "refused: a result has an open dim; the checker looks at operands only",
    "unsaid": "refused: the table has a caveat that no rule can say",
    "misspelt": "supported: the table misspells the operator",
    "absent": "supported: the checker takes an operand that is left out for one of unknown shape",
}


def run(words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def supported_by_checker(profile, model):
    """The results of the nodes that the checker takes."""
    info = CHECKERS[profile](model)
    return {node.output[0] for group in info.supported_groups for node in group}


def with_constants(model):
    """The model with the shapes of what Constant nodes make, which are initializers where the checker's own
    preparation (the runtime's basic optimizations) has run."""
    for node in model.graph.node:
        if node.op_type != "Constant":
            continue
        for a in node.attribute:
            if a.HasField("t"):
                kind, shape = a.t.data_type, a.t.dims
            else:  # value_int, value_floats, ...
                kind = onnx.TensorProto.INT64 if a.ints or a.HasField("i") else onnx.TensorProto.FLOAT
                shape = [len(a.ints) + len(a.floats)] if a.ints or a.floats else []
            model.graph.value_info.append(onnx.helper.make_tensor_value_info(node.output[0], kind, shape))
    return model


def reason(profile, node, said):
    """Why both differ about a node: a key of ALLOWED; None for no known reason. `said`: by the profile."""
    if said["supported"]:
        if node.op_type in MISSPELT[profile]:
            return "misspelt"
        return "absent" if "" in node.input else None
    if said["reason"] == "no_rule":
        return "unsaid" if node.op_type in UNSAID[profile] else None
    if said["reason"] == "dynamic_shape":
        return "result" if ": dim " in said["text"] and " of output " in said["text"] else None
    return "caveat" if said["reason"] in CAVEATS else None


def compare(binary, profile, path):
    """(nodes, by the checker, by the profile, expected of fixed shapes, differences by reason, problems)"""
    model = onnx.load(path, load_external_data=False)
    said = json.loads(run([binary, "devices", "check", profile, path, "--json"]))
    by_name = {n["name"]: n for n in said["listed"]}
    assert len(by_name) == len(said["listed"]), "two nodes of one name"
    theirs = supported_by_checker(profile, with_constants(model))
    nodes = [n for n in model.graph.node if n.op_type != "Constant"]
    counts, problems = collections.Counter(), []
    taken = 0
    for node in nodes:
        # A node without a name is listed by that of its first result.
        own = by_name[node.name or next(v for v in node.output if v)]
        found = node.output[0] in theirs
        taken += found
        if found == own["supported"]:
            continue
        why = reason(profile, node, own)
        if why is None:
            problems.append(f"{own['name']} ({own['op']}): checker {found}: {own.get('text', 'supported')}")
        else:
            counts[why] += 1
    return len(nodes), taken, said["supported"], said["supported_fixed"], counts, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("binary", type=executable)
    parser.add_argument("--work", help="keep the filled models here")
    parser.add_argument("--all", action="store_true", help="all models")
    parser.add_argument("--only", nargs="*", default=[])
    given = parser.parse_args()
    names = models.chosen(given.only or ([] if given.all else SHORT))
    bad, compared, total = [], 0, collections.Counter()
    print(
        f"{'model':28} {'profile':8} {'shapes':6} {'nodes':>6} {'checker':>8} {'profile':>8} {'expected':>8}"
        "  differences"
    )
    with models.work_folder(given.work) as work:
        for name, path in models.filled(names, work).items():
            record = models.records()[name]
            usual = inputs.sizes(record)
            shapes = []
            for one in record["inputs"]:
                dims = [str(inputs.number(d, usual)) for d in one["dims"]]
                shapes += ["--shape", f"{one['name']}={','.join(dims)}"] if dims else []
            for form, options in (("open", []), ("fixed", shapes)):
                out = pathlib.Path(work) / f"usability_{form}.onnx"
                run([given.binary, path, "-O0", "--infer", *options, "-o", out, "-q"])
                for profile in CHECKERS:
                    nodes, theirs, own, promised, counts, problems = compare(given.binary, profile, out)
                    listed = ", ".join(f"{k} {v}" for k, v in sorted(counts.items()))
                    print(
                        f"{name:28} {profile:8} {form:6} {nodes:6} {theirs:8} {own:8} {promised:8}  {listed}"
                    )
                    bad += [f"{profile} on {name} ({form}): {p}" for p in problems]
                    compared += nodes
                    total += counts
                out.unlink()
    for key, number in sorted(total.items()):
        print(f"{number:6} {ALLOWED[key]}")
    print("\n".join(bad))
    print(f"{compared} nodes compared, {len(bad)} problems")
    return 1 if bad or compared == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
