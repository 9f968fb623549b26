#!/usr/bin/env python3
# TIER: nightly
# LONG: --all
# WHEN: src/ops/facts_barrier tools/requirements.txt
"""Operands that ONNX Runtime's kernels overwrite: the fact table against the runtime.

  written_operands.py GRAPHOPT [--all] [--only TEXT]

Where a kernel gives a result the memory of an operand and writes it, as that of BatchNormalization does in
training with its running mean, an operand that is an initializer, or the caller's array, is another one in
the next run of the session. Such an operand must stay what it is: computed anew in each run. For each backend
case of one operator, with its operands fed, and no result as an output of the graph, ONNX Runtime runs three
times. Where an operand changes, graphopt gets the node with an Abs, Identity and Neg of an initializer in
place of each such operand; bad is an operand that is a constant then, or no longer the Neg's result. The
short form takes one case of each operator and set of attributes, --all all of them.
"""

import argparse
import sys
import tempfile
import warnings
from pathlib import Path

import onnx
import onnxruntime
from onnx import helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import backend_cases, runs  # noqa: E402
from lib.tool import executable, optimized  # noqa: E402

RUNS = 3
EXPECTED = {"BatchNormalization": {3, 4}}  # as a run of this test found them; others need a row of the table


def hidden_results(model):
    """The model with an Identity of each result in place of the result."""
    m = onnx.ModelProto.FromString(model.SerializeToString())
    names = [o.name for o in m.graph.output]
    del m.graph.output[:]
    for name in names:
        m.graph.node.append(helper.make_node("Identity", [name], [f"{name}__out"]))
        m.graph.output.append(onnx.ValueInfoProto(name=f"{name}__out"))
    return m


def overwritten(model, feeds):
    """The names of operands that differ after some runs."""
    given = {name: value.copy() for name, value in feeds.items()}
    try:
        session = runs.session(hidden_results(model))
        for _ in range(RUNS):
            session.run(None, given)
    except Exception:  # noqa: BLE001 - ONNX Runtime raises errors of many types
        return set()
    return {name for name in feeds if runs.bit_difference(feeds[name], given[name])}


def kept(tool, folder, model, feeds, names):
    """Texts: which of the operands `names`, computed from constants, graphopt turns into others."""
    m = hidden_results(model)
    (node,) = [n for n in m.graph.node if n.op_type != "Identity"]
    chains = []
    for name in sorted(names):
        chains += [
            helper.make_node("Abs", [name], [f"{name}__abs"]),
            helper.make_node("Identity", [f"{name}__abs"], [f"{name}__same"]),
            helper.make_node("Neg", [f"{name}__same"], [f"{name}__neg"]),
        ]
        node.input[:] = [f"{name}__neg" if i == name else i for i in node.input]
    rest = list(m.graph.node)
    del m.graph.node[:]
    m.graph.node.extend([*chains, *rest])
    fed = [v for v in m.graph.input if v.name not in names]
    del m.graph.input[:]
    m.graph.input.extend(fed)
    m.graph.initializer.extend(numpy_helper.from_array(feeds[name], name) for name in names)
    made = optimized(tool, m, folder, "-O3").graph
    maker = {o: n.op_type for n in made.node for o in n.output}
    for n in made.node:
        if n.op_type == node.op_type:
            for slot, (old, new) in enumerate(zip(node.input, n.input)):
                if old.endswith("__neg") and maker.get(new) != "Neg":
                    yield f"operand {slot} is the result of {maker.get(new, 'nothing: it is a constant')}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", default="", metavar="TEXT", help="cases whose name has this text")
    a = p.parse_args()
    warnings.simplefilter("ignore")
    onnxruntime.set_default_logger_severity(4)
    tried, bad, found = {}, 0, {}
    with tempfile.TemporaryDirectory() as folder:
        for case, node, feeds in backend_cases.nodes_alone(a.only):
            if not feeds:
                continue
            # Attributes with another value can select another kernel.
            key = (node.op_type, tuple(sorted(x.name for x in node.attribute)))
            if key in tried and not a.all:
                continue
            tried[key] = True
            names = overwritten(case.model, feeds)
            if not names:
                continue
            slots = {i for i, name in enumerate(node.input) if name in names}
            found.setdefault(node.op_type, set()).update(slots)
            wrong = list(kept(a.tool, folder, case.model, feeds, names))
            if slots != EXPECTED.get(node.op_type):
                wrong.append(f"operands {sorted(slots)} are overwritten, which is not known")
            bad += bool(wrong)
            print(*[f"{case.name}: {text}" for text in wrong], sep="\n", end="\n" if wrong else "")
    missing = set() if a.only else EXPECTED.keys() - found.keys()
    print(*[f"{name}: nothing is overwritten any more" for name in sorted(missing)], sep="\n", end="")
    print(f"{len(tried)} cases; overwritten: { ({k: sorted(v) for k, v in found.items()}) }; {bad} bad")
    return 1 if bad or missing else 0


if __name__ == "__main__":
    sys.exit(main())
