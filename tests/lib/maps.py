"""What every report of `graphopt map` must be, and which operator is which in a copy with other names."""

import collections
import itertools
import json
import pathlib

import onnx

from lib.json_schema import errors
from lib.reordering import shuffled

SCHEMA = json.loads(
    (pathlib.Path(__file__).resolve().parents[2] / "share/graphopt/schemas/map.schema.json").read_text()
)
MOST_VALIDATED = 3000  # operators; the validator takes a while for more


class _Unsorted(ValueError):
    pass


def _sorted_object(pairs):
    keys = [k for k, _ in pairs]
    if keys != sorted(set(keys)):
        raise _Unsorted(f"keys are not sorted, or are there twice: {keys[:12]}")
    return dict(pairs)


def read(data):
    """The report in these bytes. Raises ValueError where they are no JSON, or their keys are not sorted."""
    report = json.loads(data.decode(), object_pairs_hook=_sorted_object)
    if not data.endswith(b"}\n"):
        raise ValueError("no newline at the end")
    return report


def _twice(names):
    return [n for n, count in collections.Counter(names).items() if count > 1]


def _named(report):
    """(where, side, names) of all operators that the report names, but in its nodes."""
    for kind in ("pairs", "groups"):
        for i, entry in enumerate(report[kind]):
            for s in "ab":
                yield f"{kind}[{i}].{s}", s, entry[s] if kind == "groups" else [entry[s]]
    for i, entry in enumerate(report["advice"]):
        yield f"advice[{i}].a", "a", [entry["a"]]
        yield f"advice[{i}].top", "b", [name for name, _ in entry["top"]]
    for i, entry in enumerate((report["numeric"] or {"first": []})["first"]):
        for s in "ab":
            yield f"numeric.first[{i}].{s}", s, [entry[s]]
            yield f"numeric.first[{i}].region.{s}", s, entry["region"][s]


def _group_problems(i, g):
    sizes = min(len(g["a"]), 2), min(len(g["b"]), 2)
    kinds = {
        (2, 1): {"fused"},
        (1, 2): {"decomposed"},
        (2, 2): {"rewritten"},
        (1, 1): {"rewritten"},
        (1, 0): {"only_in_a"},
        (2, 0): {"only_in_a"},
        (0, 1): {"only_in_b"},
        (0, 2): {"only_in_b"},
        (0, 0): set(),
    }[sizes]
    if g["kind"] not in kinds:
        yield f"groups[{i}] is {g['kind']} with {len(g['a'])} and {len(g['b'])} operators"
    alone = g["kind"] in ("only_in_a", "only_in_b")
    if len(g["values"]) != (0 if alone else 2) or (g["why"] == "no counterpart") != alone:
        yield f"groups[{i}] is {g['kind']}, with the values {g['values']} and why '{g['why']}'"


def _shares(report, s):
    names = [n["name"] for n in report[s]["nodes"]]
    paired = {p[s] for p in report["pairs"]}
    grouped = {n for g in report["groups"] if g["a"] and g["b"] for n in g[s]} - paired
    count = len(names) or 1
    found = {"in_pairs": len(paired & set(names)), "in_groups": len(grouped & set(names))}
    found["alone"] = len(names) - sum(found.values())
    return {k: v / count for k, v in found.items()}


def problems(report, top_k=3):
    """What is wrong with a report, whatever its models; texts."""
    size = len(report["a"]["nodes"]) + len(report["b"]["nodes"])
    if size <= MOST_VALIDATED and (out := errors(report, SCHEMA)):
        return out
    out = []
    place = {}
    for s in "ab":
        names = [n["name"] for n in report[s]["nodes"]]
        place[s] = {n: i for i, n in enumerate(names)}
        out += [f"{s}.nodes: '{n}' is there twice" for n in _twice(names)]
        if report[s]["operators"] > len(names):
            out.append(f"{s}: {report[s]['operators']} operators, {len(names)} nodes")
        out += [f"'{n}' of {s} is in two pairs" for n in _twice(p[s] for p in report["pairs"])]
        shares = _shares(report, s)
        for k, share in shares.items():
            if abs(share - report["summary"][s][k]) > 1e-4:
                out.append(f"summary.{s}.{k} is {report['summary'][s][k]}, not {share}")
    for where, s, names in _named(report):
        out += [f"{where}: '{n}' is no operator of {s}" for n in names if n not in place[s]]
    if out:
        return out

    order = [place["a"][p["a"]] for p in report["pairs"]]
    if order != sorted(order):
        out.append("pairs are not in the order of a.nodes")
    values = [v for p in report["pairs"] for v in p["values"]]
    for s, i in (("a", 0), ("b", 1)):
        out += [f"the value '{v}' of {s} has two counterparts" for v in _twice(v[i] for v in values)]
        for k, g in enumerate(report["groups"]):
            if [place[s][n] for n in g[s]] != sorted(place[s][n] for n in g[s]):
                out.append(f"groups[{k}].{s} is not in the order of {s}.nodes")
    for a, b, layout in values:
        if layout is not None and sorted(layout) != list(range(len(layout))):
            out.append(f"the layout of '{a}' and '{b}' is no permutation: {layout}")
    for p in report["pairs"]:
        if p["why"] == "ambiguous" and p["confidence"] > 0.6:
            out.append(f"'{p['a']}' is ambiguous with confidence {p['confidence']}")
    if report["summary"]["why"] != dict(collections.Counter(p["why"] for p in report["pairs"])):
        out.append(f"summary.why: {report['summary']['why']}")
    for i, g in enumerate(report["groups"]):
        out += _group_problems(i, g)
    mapped = {p["a"] for p in report["pairs"]} | {n for g in report["groups"] if g["b"] for n in g["a"]}
    for i, entry in enumerate(report["advice"]):
        scores = [score for _, score in entry["top"]]
        if entry["a"] in mapped or scores != sorted(scores, reverse=True) or len(scores) > top_k:
            out.append(f"advice[{i}] is not what it should be: {entry}")
    if report["verdict"] == "not one model" and (report["groups"] or report["advice"] or report["numeric"]):
        out.append("groups, advice or numbers of graphs that are not one model")
    if report["numeric"] and report["numeric"]["diverging"] > report["numeric"]["compared"]:
        out.append("more values differ than were compared")
    return out


def path_problems(data, folder):
    """Where the bytes of a report name a folder, but in the files that were typed."""
    report = json.loads(data)
    for s in "ab":
        del report[s]["file"]
    return [f"the report names '{folder}'"] if str(folder) in json.dumps(report) else []


def _name(node):
    return next((o for o in node.output if o), None)


def _is_constant(node, constants, outputs):
    """Identity of a constant is one, but where a graph hands it out."""
    identity = node.op_type == "Identity" and node.domain in ("", "ai.onnx") and node.output[0] not in outputs
    return node.op_type == "Constant" or (identity and set(node.input) <= constants)


def operators(model):
    """{name: node} of all operators of the main graph and of its bodies, by the names that a report gives;
    those of model functions are left out."""
    out, open_graphs = {}, [("", model.graph, frozenset())]
    while open_graphs:
        prefix, graph, around = open_graphs.pop()
        constants = set(around - {v.name for v in graph.input}) | {w.name for w in graph.initializer}
        constants |= {w.values.name for w in graph.sparse_initializer}
        outputs = {v.name for v in graph.output}
        for n in graph.node:
            if _is_constant(n, constants, outputs):
                constants |= set(n.output)
        for n in graph.node:
            if _is_constant(n, constants, outputs) or _name(n) is None:
                continue
            out[prefix + _name(n)] = n
            for a in n.attribute:
                for g in [a.g] if a.HasField("g") else a.graphs:
                    open_graphs.append((f"{prefix}{_name(n)}/{a.name}/", g, frozenset(constants)))
    return out


def renamed(model, rng):
    """A copy with other inner names and another order of nodes, and {name: name there} of its operators."""
    marked = onnx.ModelProto()
    marked.CopyFrom(model)
    for name, node in operators(marked).items():
        node.doc_string = name
    copy = shuffled(marked, rng)
    truth = {node.doc_string: name for name, node in operators(copy).items()}
    for node in operators(copy).values():
        node.doc_string = ""
    return copy, truth


def numbers_of(model):
    """{name: number} of the operators of the main graph and its bodies: equal numbers compute the same."""
    numbers, out, fresh = {}, {}, itertools.count()

    def number(key):
        return numbers.setdefault(key, len(numbers))

    def attribute(a):
        copy = onnx.AttributeProto()
        copy.CopyFrom(a)
        copy.doc_string = ""
        return copy.SerializeToString(deterministic=True)

    def content(tensor):
        if tensor.data_type == onnx.TensorProto.STRING:  # which need not be text
            data = tuple(tensor.string_data)
        else:
            data = onnx.numpy_helper.to_array(tensor).tobytes() if 0 not in tensor.dims else b""
        return number(("constant", tensor.data_type, tuple(tensor.dims), data))

    open_graphs = [("", model.graph, {})]
    while open_graphs:
        prefix, graph, around = open_graphs.pop()
        values = dict(around)
        for v in graph.input:
            values[v.name] = number(("input", prefix, v.name))
        for w in graph.initializer:
            values[w.name] = content(w)
        for w in graph.sparse_initializer:
            values[w.values.name] = number(("sparse", w.SerializeToString(deterministic=True)))
        for n in graph.node:
            bodies = [(a.name, g) for a in n.attribute for g in ([a.g] if a.HasField("g") else a.graphs)]
            value = next((a.t for a in n.attribute if a.name == "value" and a.HasField("t")), None)
            if n.op_type == "Constant" and value is not None:
                made = content(value)
            elif n.op_type == "Identity" and n.domain in ("", "ai.onnx"):
                made = values[n.input[0]]
            else:
                key = (
                    n.domain,
                    n.op_type,
                    tuple(values.get(i, -1) for i in n.input),
                    tuple(sorted(attribute(a) for a in n.attribute)),
                    next(fresh) if bodies or "Random" in n.op_type else None,
                )
                made = number(key)
            for i, o in enumerate(n.output):
                values[o] = made if i == 0 else number((made, i))
            if _name(n) is not None:
                out[prefix + _name(n)] = made
                for name, g in bodies:
                    open_graphs.append((f"{prefix}{_name(n)}/{name}/", g, values))
    return out


def wrong_pairs(report, truth, numbers):
    """Pairs that are not right, and operators without a pair. `truth`: of renamed(); `numbers`: of A."""
    back = {b: a for a, b in truth.items()}
    out = []
    for p in report["pairs"]:
        a, right = p["a"], back.get(p["b"])
        if a != right and (a not in numbers or numbers.get(a) != numbers.get(right)):
            out.append(f"'{a}' became '{truth.get(a)}', not '{p['b']}' ({p['why']}, {p['confidence']})")
    paired = {p["a"] for p in report["pairs"]}
    return out + [f"'{a}' has no pair" for a in truth if a not in paired]
