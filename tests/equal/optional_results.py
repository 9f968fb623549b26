#!/usr/bin/env python3
# TIER: nightly
# LONG: --all
# WHEN: src/passes/drop_unused_outputs tools/requirements.txt
"""Which results of a node may be left out: the fact table against ONNX Runtime and onnx's checker.

  optional_results.py GRAPHOPT [--all] [--only TEXT] [--learn]

For each case (_optional_results.py) ONNX Runtime runs the node with every subset of its results, at every
opset at which it accepts it, with special values among the floats as well. Then graphopt's pass
drop-unused-outputs gets the node with every subset S of results that runs, and of S every subset that nothing
reads. Bad is a node that
  broken    does not load or run any more, or that onnx's checker rejects although it accepted it with S
  changed   gives another result that is read
  unproven  lost a result, and no case of the operator at this version runs
  withheld  kept a result that ONNX Runtime lets go without a change, and KEPT does not say why
The short form leaves out the opsets between the versions of an operator. --learn prints for each case which
sets of results run.
"""

import argparse
import collections
import contextlib
import multiprocessing as mp
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, defs, helper

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "equal"), str(TESTS / "property")]
import _optional_results as material  # noqa: E402
import _pool  # noqa: E402
from lib import runs  # noqa: E402
from lib.tool import executable  # noqa: E402

PASS = "--passes=drop-unused-outputs"


def loads(opset):
    node = helper.make_node("Neg", ["x"], ["y"])
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [1]) for n in "xy")
    imports = [helper.make_opsetid("", opset)]
    try:
        runs.session(
            helper.make_model(helper.make_graph([node], "g", [x], [y]), ir_version=8, opset_imports=imports)
        )
    except Exception:  # noqa: BLE001 - ONNX Runtime raises errors of many types
        return False
    return True


# The newest opset that ONNX Runtime loads; the onnx package may know newer ones.
NEWEST = next(o for o in range(defs.onnx_opset_version(), 0, -1) if loads(o))

# Results that stay although ONNX Runtime would let them go, and why.
KEPT = {
    ("", "Attention"): "the kernel rounds otherwise with the scores as a result",
    ("", "BatchNormalization"): "before opset 14 the number of results selects training",
    ("", "MaxPool"): "with its indices another kernel runs, which treats NaN in another way",
    ("com.microsoft", "Attention"): "it may share its cache with an operand",
    ("com.microsoft", "EmbedLayerNormalization"): "how many results it wants depends on mask_index_type",
    ("com.microsoft", "MultiHeadAttention"): "it may share its cache with an operand",
    ("com.microsoft", "QAttention"): "it may share its cache with an operand",
}


def model_of(case, kept_sets, opset, read=None):
    """A model with one copy of the node for each set of results in `kept_sets`. `read`: for each copy the
    results that are outputs of the model; all of its set by default."""
    graph = onnx.GraphProto(name="g")
    for name, value in case.feeds.items():
        kind = helper.np_dtype_to_tensor_dtype(np.asarray(value).dtype)
        graph.input.append(helper.make_tensor_value_info(name, kind, np.shape(value)))
    for k, (kept, outputs) in enumerate(zip(kept_sets, read or kept_sets)):
        node = graph.node.add()
        node.CopyFrom(case.node)
        node.name = f"copy{k}"
        node.output[:] = results_of(kept, k)
        graph.output.extend(onnx.ValueInfoProto(name=f"copy{k}_{i}") for i in sorted(outputs))
    opsets = {"": opset}
    if case.node.domain:
        opsets[case.node.domain] = opset if case.node.domain.startswith("ai.onnx") else 1
        if case.node.domain.startswith("ai.onnx"):
            opsets[""] = 17
    imports = [helper.make_opsetid(d, v) for d, v in opsets.items()]
    return helper.make_model(graph, ir_version=8, opset_imports=imports)


def results_of(kept, copy=0):
    return [f"copy{copy}_{i}" if i in kept else "" for i in range(max(kept) + 1)]


def outcome(case, kept, opset):
    """The results by number, each a list over the variants of the case; None where ONNX Runtime does not load
    or run the node with these results alone, with its optimizations off or on."""
    model = model_of(case, [kept], opset)
    found = []
    try:
        onnxruntime.InferenceSession(model.SerializeToString(), QUIET, providers=["CPUExecutionProvider"])
        session = runs.session(model)
        for feeds in case.variants():
            try:
                found.append(session.run(None, feeds))
            except Exception:  # noqa: BLE001 - special values may be refused, the case's own not
                if not found:
                    return None
                found.append([None] * len(kept))
    except Exception:  # noqa: BLE001 - ONNX Runtime raises errors of many types
        return None
    return {i: list(values) for i, values in zip(sorted(kept), zip(*found))}


QUIET = onnxruntime.SessionOptions()
QUIET.log_severity_level = 4
QUIET.intra_op_num_threads = 1


def accepted(case, kept, opset):
    """By onnx's checker, which knows the operators of onnx alone."""
    try:
        onnx.checker.check_model(model_of(case, [kept], opset))
    except onnx.checker.ValidationError:
        return False
    return True


def subsets(of):
    items = sorted(of)
    for bits in range(1 << len(items)):
        yield frozenset(x for k, x in enumerate(items) if bits >> k & 1)


def same(before, after, read):
    return all(runs.bit_difference(before[i], after[i]) is None for i in read)


class Table:
    """What graphopt leaves of nodes."""

    def __init__(self, tool, folder):
        self.tool, self.source, self.target = tool, f"{folder}/in.onnx", f"{folder}/out.onnx"

    def left(self, model):
        """For each copy of the node the numbers of the results that it still has."""
        pathlib.Path(self.source).write_bytes(model.SerializeToString())
        done = subprocess.run(
            [self.tool, self.source, "-o", self.target, "-q", PASS], capture_output=True, text=True
        )
        if done.returncode:
            raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip()[-300:]}")
        nodes = {n.name: n for n in onnx.load(self.target).graph.node}
        return [
            frozenset(i for i, o in enumerate(nodes[n.name].output) if o) if n.name in nodes else None
            for n in model.graph.node
        ]


def opsets_of(case, every):
    """The opsets at which a case is tried: its own, and the first and the last of each version."""
    domain = "" if case.node.domain in ("", "ai.onnx") else case.node.domain
    if domain == material.MICROSOFT:
        return [17]
    versions = sorted(material.most_results()[domain, case.node.op_type])
    if domain:
        return sorted({*versions, case.opset})
    if every:
        return range(versions[0], NEWEST + 1)
    last = {v - 1 for v in versions[1:]}
    return sorted({o for o in {case.opset, *versions, *last, NEWEST} if o <= NEWEST})


def examine(case, opset, outcomes, table):
    """(verdict, text) for each pair of sets that is bad. `outcomes`: by set of results."""
    checked = {s: accepted(case, s, opset) for s in outcomes}
    pairs = [(s, read) for s in outcomes for read in subsets(s) if read and read != s]
    if not pairs:
        return []
    found = []
    sets, reads = zip(*pairs)
    for s, read, left in zip(sets, reads, table.left(model_of(case, sets, opset, reads))):
        where = f"{case.name} at opset {opset}, results {sorted(s)} of which {sorted(read)} are read: "
        if left is None or not read <= left <= s:
            found.append(("broken", where + f"left {left}"))
        elif left not in outcomes:
            found.append(("broken", where + f"{sorted(left)} do not run"))
        elif checked[s] and not accepted(case, left, opset):
            found.append(("broken", where + f"onnx's checker rejects {sorted(left)}"))
        elif not same(outcomes[s], outcomes[left], read):
            found.append(("changed", where + f"with {sorted(left)} another result"))
        elif left != read and read in outcomes and same(outcomes[s], outcomes[read], read):
            if checked[s] <= accepted(case, read, opset) and not why_kept(case, left - read):
                found.append(("withheld", where + f"{sorted(left - read)} could go"))
    return found


@contextlib.contextmanager
def answering(cases):
    """ONNX Runtime may crash on a node, so other processes run it."""
    onnxruntime.set_default_logger_severity(4)
    yield lambda task: outcome(cases[task[0]], task[2], task[1])


def all_outcomes(cases, every):
    """(case, opset, {set of results: results by number}) where at least one set runs."""
    tasks = [
        (k, opset, s)
        for k, case in enumerate(cases)
        for opset in opsets_of(case, every)
        for s in subsets(range(case.results))
        if s
    ]
    found = {}
    for (k, opset, s), results in _pool.answers(answering, (cases,), tasks, 2):
        if isinstance(results, dict):
            found.setdefault((k, opset), {})[s] = results
    for (k, opset), outcomes in sorted(found.items()):
        yield cases[k], opset, outcomes


def why_kept(case, kept):
    """The reason for which results stay, or None."""
    if 0 in kept:
        return "some runtimes refuse a node without its first result"
    return KEPT.get((case.node.domain, case.node.op_type))


def unproven(table, proven):
    """Operators that lose results at a version at which no case runs."""
    found = []
    for (domain, name), versions in sorted(material.most_results().items()):
        for version, count in sorted(versions.items()):
            if (domain, name, version) in proven:
                continue
            node = helper.make_node(name, [], [f"copy0_{i}" for i in range(count)], "copy0", domain=domain)
            schema = defs.get_schema(name, version, domain) if defs.has(name, version, domain) else None
            least = schema.min_input if schema else LEAST_OPERANDS.get(name, 1)
            node.input.extend(f"x{k}" for k in range(least))
            infos = [helper.make_tensor_value_info(f"x{k}", TensorProto.FLOAT, None) for k in range(least)]
            outputs = [onnx.ValueInfoProto(name="copy0_0")]
            imports = {"": 17, domain: version}
            model = helper.make_model(
                helper.make_graph([node], "g", infos, outputs),
                opset_imports=[helper.make_opsetid(d, v) for d, v in imports.items()],
            )
            (left,) = table.left(model)
            if left != frozenset(range(count)):
                found.append(f"{domain or 'ai.onnx'}.{name}-{version}: {sorted(left)} are left of {count}")
    return found


# Operators of com.microsoft for which no case runs: the least number of operands.
LEAST_OPERANDS = {}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", default="", metavar="TEXT", help="cases whose names contain it")
    p.add_argument("--learn", action="store_true")
    a = p.parse_args()
    cases = [c for c in [*material.from_backend(), *material.by_hand()] if a.only in c.name]
    counts, proven, ran = collections.Counter(), set(), set()
    with tempfile.TemporaryDirectory() as folder:
        table = Table(a.tool, folder)
        for case, opset, outcomes in all_outcomes(cases, a.all):
            counts["cases"] += 1
            ran.add(case.name)
            domain = "" if case.node.domain == "ai.onnx" else case.node.domain
            versions = material.most_results()[domain, case.node.op_type]
            here = max((v for v in versions if v <= opset or domain == material.MICROSOFT), default=0)
            proven.add((domain, case.node.op_type, here))
            if a.learn:
                sets = " ".join("".join(map(str, sorted(s))) for s in sorted(outcomes, key=sorted))
                print(f"learnt    {case.node.op_type} {case.name}@{opset}: {sets}")
            for verdict, text in examine(case, opset, outcomes, table):
                counts[verdict] += 1
                print(f"{verdict:9} {text}", flush=True)
        if not a.only:
            for text in unproven(table, proven):
                counts["unproven"] += 1
                print(f"unproven  {text}")
    silent = [c.name for c in cases if c.name not in ran]
    if silent:
        print("not run by ONNX Runtime:", " ".join(silent))
    print(", ".join(f"{counts[v]} {v}" for v in ("cases", "broken", "changed", "unproven", "withheld")))
    return 0 if counts["cases"] and counts.total() == counts["cases"] else 1


if __name__ == "__main__":
    mp.set_start_method("fork")
    sys.exit(main())
