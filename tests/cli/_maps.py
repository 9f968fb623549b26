"""What the tests of `graphopt map` share."""

import pathlib
import sys
import time

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

from _tool import CHECK, expect, saved

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from lib import maps  # noqa: E402

EITHER = (0, CHECK)  # statuses of a run that made a report
HEAD = '<ir_version: 10, opset_import: ["" : 18]>\n'


def model_of(text, head=HEAD):
    return parser.parse_model(head + text)


def file_of(folder, name, m):
    """The path of a file with a model, with the text of a graph, or with bytes."""
    return saved(folder, model_of(m) if isinstance(m, str) else m, name)


def report_of(tool, a, b, *words, status=0, top_k=3, **how):
    """The report of a run that ends with this status, in which everything holds that must hold of all."""
    done = tool("map", a, b, "--json", *words, **how)
    wanted = status if isinstance(status, tuple) else (status,)
    expect(done.returncode in wanted, "status", done.returncode, "not", status, words, done.stderr)
    report = maps.read(done.stdout)
    differs = report["numeric"] is not None and report["numeric"]["diverging"] > 0
    yes = report["verdict"] == "one model" and not differs
    expect(done.returncode == (0 if yes else CHECK), "status", done.returncode, report["verdict"])
    found = maps.problems(report, top_k)
    expect(not found, "\n".join(found[:5]))
    return report


def pairs_of(report):
    return {p["a"]: p["b"] for p in report["pairs"]}


def groups_of(report, kind=None):
    """[(operators of A, operators of B)] of the groups, or of those of one kind."""
    return [(g["a"], g["b"]) for g in report["groups"] if kind in (None, g["kind"])]


def least_confidence(report):
    return min((p["confidence"] for p in report["pairs"]), default=None)


F = TensorProto.FLOAT
SECONDS = 60  # the most that a run of a hostile model may take


def info(name, dims=("n", 4), kind=F):
    return helper.make_tensor_value_info(name, kind, dims)


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs, outputs, **attributes)


def make(nodes, inputs, outputs, initializers=(), ir=10, opset=21, domains=()):
    graph = helper.make_graph(list(nodes), "g", list(inputs), list(outputs), list(initializers))
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    return helper.make_model(graph, ir_version=ir, opset_imports=imports)


def weight(name, dims=(4,), seed=0):
    values = np.random.default_rng([seed, *name.encode()]).standard_normal(dims)
    return numpy_helper.from_array(values.astype(np.float32), name)


def timed(tool, a, b, *words, status=EITHER, **how):
    began = time.monotonic()
    report = report_of(tool, a, b, *words, status=status, timeout=SECONDS, **how)
    expect(tool.sanitized or time.monotonic() - began < SECONDS, "it takes too long")
    return report


def against_itself(tool, folder, m, *words, names=True):
    """The report of a model against itself, with and without names; what it must say is checked."""
    a = m if not isinstance(m, onnx.ModelProto) else saved(folder, m, "a.onnx")
    m = onnx.load(a)
    known, numbers = maps.operators(m), maps.numbers_of(m)
    for more in ([], ["--no-names"]):
        report = timed(tool, a, a, *words, *more, status=0)
        nodes = {n["name"] for n in report["a"]["nodes"]}
        if names:
            expect(nodes == set(known), sorted(nodes ^ set(known))[:10])
        expect(report["a"] == report["b"], "two sides of one file")
        pairs = pairs_of(report)
        lost = sorted(nodes - pairs.keys())
        expect(not lost, len(lost), "operators have no pair:", lost[:5])
        wrong = [(x, y) for x, y in pairs.items() if x != y and numbers.get(x, x) != numbers.get(y, y)]
        sure = [p for p in report["pairs"] if (p["a"], p["b"]) in wrong and p["confidence"] > 0.6]
        expect(not sure, len(sure), "wrong pairs:", sure[:5])
        expect(not wrong or more, "names do not help:", wrong[:5])
    return report
