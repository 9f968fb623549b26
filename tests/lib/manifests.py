"""Checks of a manifest and its files by means of their own: nothing here is taken from graphopt's sources."""

import hashlib
import importlib.util
import json
import pathlib
import subprocess
import sys

import jsonschema
import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, numpy_helper

TOP = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((TOP / "share/graphopt/schemas/manifest.schema.json").read_text())
DTYPES = {number: name for name, number in TensorProto.DataType.items()}


def runner():
    """examples/run_manifest.py as a module."""
    if str(TOP / "examples") not in sys.path:  # for what it imports
        sys.path.append(str(TOP / "examples"))
    spec = importlib.util.spec_from_file_location("run_manifest", TOP / "examples/run_manifest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def problems(path, check_models=True):
    """What is wrong with a manifest, its files and their relation, a text each."""
    text = pathlib.Path(path).read_bytes().decode("utf-8")
    manifest = json.loads(text)
    for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(manifest):
        yield f"{error.json_path}: {error.message}"
    plain = json.dumps(manifest, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if text != plain:
        yield "the text is not in the canonical form"
    folder = pathlib.Path(path).parent
    for file in manifest["files"]:
        data = (folder / file["path"]).read_bytes()
        if len(data) != file["bytes"] or hashlib.sha256(data).hexdigest() != file["sha256"]:
            yield f"{file['path']}: another size or SHA-256"
    whole_path = folder / next(f["path"] for f in manifest["files"] if f["role"] == "model")
    whole = onnx.load(whole_path)
    if network_id(whole) != manifest["network"]["id"]:
        yield "the id of the network is not that of OUT"
    yield from structure(manifest, whole)
    yield from statistics(manifest)
    yield from schedule(manifest)
    if check_models:
        wholes = {f["path"] for f in manifest["files"] if f["role"] == "model"}
        yield from files_of_parts(manifest, folder, whole, wholes)
    if manifest.get("buckets"):
        yield from bucket_problems(manifest, folder, check_models)


def read_again(tool, *paths):
    """What graphopt's own reader says of manifests, by lines: nothing where it reads each and writes it with
    the same bytes."""
    program = pathlib.Path(tool).parent / "tests" / "graphopt_read_manifest"
    done = subprocess.run([program, *paths], capture_output=True, text=True)
    if done.returncode not in (0, 1) or bool(done.stdout) != bool(done.returncode):
        raise RuntimeError(f"{program} ends with {done.returncode}: {done.stderr}")
    return done.stdout.splitlines()


def bucket_problems(manifest, folder, check_models):
    """What is wrong with the models of buckets, each of which has the keys of a manifest for itself."""
    section = manifest["buckets"]
    symbols = section["symbols"]
    sizes = [[m["at"][s] for group in section["groups"] for s in group] for m in section["models"]]
    if sizes != sorted(sizes) or any(a == b for a, b in zip(sizes, sizes[1:])):
        yield "the models are not in the order of their sizes"
    if any(n != sorted(set(n)) for n in symbols.values()):
        yield "sizes are not ascending"
    listed = {f["path"]: f["role"] for f in manifest["files"]}
    named = {m["file"] for m in section["models"]} | {section["fallback"]}
    if {p for p, role in listed.items() if role == "model"} != named:
        yield "files of role model are not OUT and those of the buckets"
    if section["data"] != next((p for p, role in listed.items() if role == "external_data"), None):
        yield "data is not the file of the weights"
    for m in section["models"]:
        here = f"{m['file']}: "
        if m["at"].keys() != symbols.keys() or any(n not in symbols[s] for s, n in m["at"].items()):
            yield here + f"is for {m['at']}"
        whole = onnx.load(folder / m["file"])
        if m["nodes"] != sum(n.op_type != "Constant" for n in whole.graph.node):
            yield here + f"has not {m['nodes']} nodes"
        extra = [v["name"] for v in section["extra_inputs"]]
        for kind, values in (("inputs", whole.graph.input), ("outputs", whole.graph.output)):
            wanted = [v["name"] for v in manifest["network"][kind]]
            if [v.name for v in values if v.name not in extra] != wanted:
                yield here + f"has other {kind}"
        own = {**m, "devices": manifest["devices"], "tool": manifest["tool"]}
        for found in (structure(own, whole), statistics(own), schedule(own)):
            yield from (here + text for text in found)
        if check_models:
            yield from (here + text for text in files_of_parts(own, folder, whole, named))


def open_dims(model):
    """The values of a model that have a dim without a number, or no known rank: {name: dims}."""
    found = {}
    for v in [*model.graph.input, *model.graph.output, *model.graph.value_info]:
        tensor = v.type.tensor_type
        dims = dims_of(tensor) if v.type.HasField("tensor_type") else None
        if dims is None or not all(isinstance(d, int) for d in dims):
            found[v.name] = dims
    return found


def structure(manifest, whole):
    """Each node in one subgraph, edges forward, borders and reference counts as the model has them."""
    place = {n: s["id"] for s in manifest["subgraphs"] for n in s["nodes"]}
    # Before IR version 4 constants that passes made are nodes without a name.
    unnamed = [n for n in whole.graph.node if not n.name]
    if whole.ir_version >= 4 and unnamed:
        yield "nodes of OUT have no names"
    if any(n.op_type != "Constant" for n in unnamed):
        yield "nodes of OUT that are no constants have no names"
    for n in unnamed:
        whole.graph.node.remove(n)
    names = [n.name for n in whole.graph.node]
    if sorted(n for s in manifest["subgraphs"] for n in s["nodes"]) != sorted(names):
        yield "the subgraphs do not have each node once"
        return
    order = {s: i for i, s in enumerate(manifest["partition"]["order"])}
    ids = [s["id"] for s in manifest["subgraphs"]]
    least_memory = manifest["tool"]["options"].get("order") == "memory"
    if (sorted(order) != sorted(ids)) if least_memory else (list(order) != ids):
        yield "order is not that of the subgraphs"
    producer = {v: n.name for n in whole.graph.node for v in n.output if v}
    outputs = {v.name for v in whole.graph.output}
    readers, direct = {}, {}
    for n in whole.graph.node:
        for v in reads(n):
            readers.setdefault(v, set()).add(place[n.name])
        for v in n.input:
            direct.setdefault(v, set()).add(place[n.name])
    depends = {s["id"]: set() for s in manifest["subgraphs"]}
    borders = set()
    for v, n in producer.items():
        for s in readers.get(v, set()) - {place[n]}:
            borders.add((v, place[n], s))
            depends[s].add(place[n])
            if order[place[n]] >= order[s]:
                yield f"{v} is read before it is made"
    if borders != {(b["value"], b["from"], b["to"]) for b in manifest["borders"]}:
        yield "borders are not those of the model"
    if len(borders) != len(manifest["borders"]):
        yield "a border stands twice"
    stage = {s: i for i, stage in enumerate(manifest["partition"]["stages"]) for s in stage}
    given = {v.name for v in whole.graph.input}
    for s in manifest["subgraphs"]:
        here = s["id"]
        if set(s["depends"]) != depends[here] or any(stage[d] >= stage[here] for d in s["depends"]):
            yield f"{here}: depends or stages are wrong"
        if s["reference_count"] != sum(here in d for d in depends.values()):
            yield f"{here}: reference_count is wrong"
        wanted = {v for v in readers if here in readers[v] and v in producer and place[producer[v]] != here}
        wanted |= {v for v in given if here in readers.get(v, set())}
        ports = {p["name"] for p in s["inputs"]}
        if ports != wanted and not (len(manifest["subgraphs"]) == 1 and ports == given):
            yield f"{here}: inputs {ports} are not {wanted}"
        made = {v for v in producer if place[producer[v]] == here}
        wanted = {v for v in made if v in outputs or any(b[0] == v for b in borders)}
        if {p["name"] for p in s["outputs"]} != wanted:
            yield f"{here}: outputs are not {wanted}"
        for p in s["inputs"]:
            captured = here in readers.get(p["name"], set()) and here not in direct.get(p["name"], set())
            if p.get("capture", False) != captured:
                yield f"{here}: capture of {p['name']} is wrong"
            if p["from"] != (place[producer[p["name"]]] if p["name"] in producer else None):
                yield f"{here}: from of {p['name']} is wrong"
        for p in s["outputs"]:
            if p["network_output"] != (p["name"] in outputs):
                yield f"{here}: network_output of {p['name']} is wrong"
            if set(p["to"]) != {b[2] for b in borders if b[0] == p["name"]}:
                yield f"{here}: to of {p['name']} is wrong"


def statistics(manifest):
    s = manifest["statistics"]
    host = next(d["id"] for d in manifest["devices"] if d.get("host"))
    counts = dict.fromkeys((d["id"] for d in manifest["devices"]), 0)
    for subgraph in manifest["subgraphs"]:
        counts[subgraph["device"]] += len(subgraph["nodes"])
    accelerated = [x for x in manifest["subgraphs"] if x["device"] != host]
    wanted = {
        "nodes": sum(counts.values()),
        "subgraphs": len(manifest["subgraphs"]),
        "accelerator_subgraphs": len(accelerated),
        "device_nodes": counts,
        "border_values": len(manifest["borders"]),
        "largest_accelerator_subgraph_nodes": max((len(x["nodes"]) for x in accelerated), default=0),
    }
    for key, value in wanted.items():
        if s[key] != value:
            yield f"statistics.{key} is {s[key]}, not {value}"
    sizes = [b["size"]["bytes"] for b in manifest["borders"]]
    if None not in sizes and s["border"]["bytes"] != sum(sizes):
        yield "statistics.border is not the sum"


def schedule(manifest):
    """What the subgraphs and their order say of groups, values and memory."""
    found, subgraphs = manifest["schedule"], {s["id"]: s for s in manifest["subgraphs"]}
    order = manifest["partition"]["order"]
    place = {s: i for i, s in enumerate(order)}
    needs = {}  # all that a subgraph needs
    for s in order:
        needs[s] = {d for direct in subgraphs[s]["depends"] for d in {direct, *needs[direct]}}
    groups = []
    for front in order:
        back = [s for s in subgraphs if front in subgraphs[s]["depends"]]
        if len(back) > 1:
            parallel = [s for s in back if not needs[s] & set(back)]
            groups.append({"front": front, "back": back, "reference_count": len(back), "parallel": parallel})
    if found["groups"] != groups:
        yield "schedule.groups are not those of the subgraphs"
    values = {}
    for s in subgraphs.values():
        for p in s["inputs"]:
            if p["from"] is None:
                values.setdefault(p["name"], {"from": None, "to": [], "out": False})["to"].append(s["id"])
    for s in subgraphs.values():
        for p in s["outputs"]:
            values[p["name"]] = {"from": s["id"], "to": p["to"], "out": p["network_output"]}
    if [v["value"] for v in found["values"]] != list(values):
        yield "schedule.values are not those of the subgraphs"
        return
    sizes = {}
    for v in found["values"]:
        w = values[v["value"]]
        first = place.get(w["from"], -1)
        last = len(order) if w["out"] else max((place[s] for s in w["to"]), default=first)
        if (v["from"], v["to"]) != (w["from"], w["to"]) or v["reference_count"] != len(w["to"]) + w["out"]:
            yield f"schedule.values: {v['value']} has other readers"
        if (v["first"], v["last"]) != (first, last):
            yield f"schedule.values: {v['value']} lives from {first} to {last}"
        sizes[v["value"]] = v["size"]["bytes"]
    for b in manifest["borders"]:
        if b["size"]["bytes"] != sizes[b["value"]]:
            yield f"schedule.values: {b['value']} has another size than its border"
    for device in found["memory"]:
        yield from memory(device, subgraphs, place, values, sizes)
    used = [d["id"] for d in manifest["devices"] if any(s["device"] == d["id"] for s in subgraphs.values())]
    if [d["device"] for d in found["memory"]] != used:
        yield "schedule.memory does not have each device that is used"
    if t := found.get("throughput"):
        most = t["load_ns"][t["bottleneck"]]
        if (
            most != max(t["load_ns"].values())
            or t["limit_percent"] != sum(t["load_ns"].values()) * 100 // most
        ):
            yield "schedule.throughput: the limit is not that of the loads"
        if (
            not most <= t["critical_path_ns"] * len(order)
            or t["window"] != -(-t["critical_path_ns"] // most) + 1
        ):
            yield "schedule.throughput: the window is not that of the critical path"


def memory(found, subgraphs, place, values, sizes):
    """The sum of what is on one device at each of its subgraphs, from the values' spans alone."""
    here = f"schedule.memory of {found['device']}: "
    own = {place[s["id"]]: s for s in subgraphs.values() if s["device"] == found["device"]}
    if found["weight_bytes"] != sum(s["weight_bytes"] for s in own.values()):
        yield here + "other weights"
    reads = {v: sorted(i for i in own if own[i]["id"] in w["to"]) for v, w in values.items()}
    made = {v: place[w["from"]] for v, w in values.items() if w["from"] and place[w["from"]] in own}
    spans = {
        v: (made.get(v, min(reads[v], default=None)), max(reads[v], default=made.get(v))) for v in values
    }
    spans = {v: span for v, span in spans.items() if span[0] is not None}
    if any(sizes[v] is None for v in spans):
        if found["peak"] is not None or found["spills"] is not None:
            yield here + "a peak of sizes that are not known"
        return

    def workspace(s):
        ports = [p["name"] for p in s["inputs"] + s["outputs"]]
        return max((s["peak_bytes"]["bytes"] or 0) - sum(sizes[v] for v in ports), 0)

    def gone(v, i):
        """Whether it left for a subgraph and has not been read since."""
        left = [place[s["at"]] for s in found["spills"] or [] if s["value"] == v and place[s["at"]] <= i]
        return bool(left) and not any(left[-1] <= r <= i for r in reads[v])

    def total(i, spilled):
        there = [v for v, (a, b) in spans.items() if a <= i <= b and not (spilled and gone(v, i))]
        return sum(sizes[v] for v in there) + workspace(own[i])

    peaks = {i: total(i, False) for i in own}
    if found["peak"] != max(peaks.values()):
        yield here + f"the peak is {max(peaks.values())}"
    elif place[found["peak_at"]] != min(i for i in peaks if peaks[i] == found["peak"]) and found["peak"]:
        yield here + "the peak is at another subgraph"
    if found["spills"] is None:
        alone = {
            i: sum(sizes[p["name"]] for p in s["inputs"] + s["outputs"]) + workspace(s)
            for i, s in own.items()
        }
        if found["budget"] is None or max(alone.values()) <= found["budget"]:
            yield here + "each subgraph fits, and there is no plan"
    elif found["budget"] is not None and any(total(i, True) > found["budget"] for i in own):
        yield here + "the plan exceeds the budget"
    elif found["spills"] and found["peak"] <= (found["budget"] or found["peak"]):
        yield here + "values leave without need"


def files_of_parts(manifest, folder, whole, wholes):
    """`wholes`: the files of role model."""
    returned = {v.name for v in whole.graph.output}
    for s in manifest["subgraphs"]:
        if s["file"] is None:
            continue
        path = folder / s["file"]
        part = onnx.load(path)
        if [v.name for v in part.graph.input] != [p["name"] for p in s["inputs"]]:
            yield f"{s['id']}: the part has other inputs"
        if [v.name for v in part.graph.output] != [p["name"] for p in s["outputs"]]:
            yield f"{s['id']}: the part has other outputs"
        names, listed = [n.name for n in part.graph.node if n.name], s["nodes"]
        if s["file"] in wholes:  # a file of the whole, whose nodes are in an order of their own
            names, listed = sorted(names), sorted(listed)
        if names != listed:
            yield f"{s['id']}: the part has other nodes"
        for v, p in zip([*part.graph.input, *part.graph.output], [*s["inputs"], *s["outputs"]], strict=True):
            if type_json(v.type) != p["type"]:
                yield f"{s['id']}: {v.name} is {type_json(v.type)}, not {p['type']}"
        if content_id(part) != s["content"]:
            yield f"{s['id']}: the content is not that of the file"
        # An output of the network may have no rank in the whole model either, and the checker wants one.
        unranked = {v.name for v in part.graph.output if not has_rank(v.type)} & returned
        if unranked:
            continue
        try:
            onnx.checker.check_model(str(path), full_check=True)
        except Exception as e:
            yield f"{s['id']}: the checker refuses it: {str(e).splitlines()[0]}"


def has_rank(t):
    return t.WhichOneof("value") != "tensor_type" or t.tensor_type.HasField("shape")


def type_json(t):
    kind = t.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        return {"kind": kind.removesuffix("_type"), "elem": type_json(getattr(t, kind).elem_type)}
    if kind == "map_type":
        key = DTYPES[t.map_type.key_type]
        return {"kind": "map", "key": key, "elem": type_json(t.map_type.value_type)}
    tensor = getattr(t, kind)
    shape = dims_of(tensor)
    return {"kind": kind.removesuffix("_type"), "dtype": DTYPES[tensor.elem_type], "shape": shape}


def dims_of(tensor):
    if not tensor.HasField("shape"):
        return None
    return [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in tensor.shape.dim]


# --- the id of a network, as docs/manifest.md has it --------------------------------------------------------


def compact(value):
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def network_id(model):
    return compact(described(model, names=True))


def content_id(model):
    return compact(described(model, names=False))


def described(model, names):
    domains, calls = set(), []
    whole = with_initializers(model.graph) if model.ir_version < 4 else model.graph
    graph = graph_text(whole, lambda v: None, names, domains, calls, top=True)
    used = {domain_of(o): o.version for o in model.opset_import}
    out = {"v": 1, "graph": graph, "opset": sorted([d, v] for d, v in used.items() if d in domains)}
    functions = {(domain_of(f), f.name, f.overload): f for f in model.functions}
    known, local = list(dict.fromkeys(c for c in calls if c in functions)), []
    for key in known:
        f, inner = functions[key], []
        body = graph_text(
            with_initializers(function_graph(f)), lambda v: None, False, set(), inner, top=False, typed=False
        )
        known.extend(c for c in dict.fromkeys(inner) if c in functions and c not in known)
        defaults = [attribute_text(a, None, None, None) for a in f.attribute_proto]
        imports = sorted([domain_of(o), o.version] for o in f.opset_import)
        local.append([*key, list(f.attribute), defaults, imports, body])
    return out | ({"local": local} if local else {})


def domain_of(x):
    return "" if x.domain == "ai.onnx" else x.domain


def function_graph(f):
    g = onnx.GraphProto(name=f.name, node=f.node)
    for field, values in ((g.input, f.input), (g.output, f.output)):
        field.extend(onnx.ValueInfoProto(name=v) for v in values)
    return g


def bodies_of(node):
    ordered = sorted(node.attribute, key=lambda a: a.name)
    return [b for a in ordered for b in ([a.g] if a.type == AttributeProto.GRAPH else a.graphs)]


def captured(graph, dead=True):
    """The values of outer graphs that a graph reads, in the order of a depth-first walk from its outputs.
    `dead`: also those that only nodes read which no output needs."""
    own = {v.name for v in graph.input} | {t.name for t in graph.initializer}
    producer = {v: n for n in graph.node for v in n.output if v}
    found, seen = [], set()

    def visit(v):
        if v in producer:
            if id(producer[v]) not in seen:
                seen.add(id(producer[v]))
                for w in reads(producer[v], dead):
                    visit(w)
        elif v not in own:
            found.append(v)

    for v in graph.output:
        visit(v.name)
    for n in graph.node if dead else []:
        for v in reads(n):
            visit(v)
    return list(dict.fromkeys(v for v in found if v))


def reads(node, dead=True):
    """What a node reads: its operands, then what its bodies capture, by the names of their attributes."""
    return [v for v in [*node.input, *(v for b in bodies_of(node) for v in captured(b, dead))] if v]


def constant_tensor(node):
    """The value of a Constant node as a TensorProto; None for one that is sparse or the caller's."""
    if node.op_type != "Constant" or domain_of(node) or len(node.attribute) != 1:
        return None
    (a,) = node.attribute
    if a.ref_attr_name or a.name == "sparse_value":
        return None
    if a.name == "value":
        return a.t
    value = onnx.helper.get_attribute_value(a)
    kind = {"float": TensorProto.FLOAT, "int": TensorProto.INT64, "string": TensorProto.STRING}
    is_list = a.name.endswith("s")
    return onnx.helper.make_tensor(
        "c",
        kind[a.name.removeprefix("value_").removesuffix("s")],
        [len(value)] if is_list else [],
        list(value) if is_list else [value],
    )


def with_initializers(graph):
    """The graph with its Constant nodes as initializers, in bodies, too."""
    out = onnx.GraphProto()
    out.CopyFrom(graph)
    del out.node[:]
    for node in graph.node:
        tensor = constant_tensor(node)
        if tensor is not None:
            out.initializer.add().CopyFrom(tensor)
            out.initializer[-1].name = node.output[0]
            continue
        copy = out.node.add()
        copy.CopyFrom(node)
        for a in copy.attribute:
            for body in [a.g] if a.type == AttributeProto.GRAPH else a.graphs:
                body.CopyFrom(with_initializers(body))
    return out


def walk(graph, outer):
    producer = {v: (n, k) for n in graph.node for k, v in enumerate(n.output) if v}
    number, order = {}, []
    for output in graph.output:
        stack = [output.name]
        while stack:
            v = stack.pop()
            if v in producer and id(producer[v][0]) not in number:
                n = producer[v][0]
                number[id(n)] = len(number)
                order.append(n)
                stack.extend(reversed(reads(n, dead=False)))
    return order, (producer, number)


def graph_text(graph, outer, names, domains, calls, top, typed=True):
    order, (producer, number) = walk(graph, outer)
    inputs = {v.name: i for i, v in enumerate(graph.input)}
    weights = {t.name: t for t in graph.initializer}
    sparse = {t.values.name: t for t in graph.sparse_initializer}

    def reference(v):
        if not v:
            return None
        if v in producer:
            n, k = producer[v]
            return ["n", number[id(n)], k]
        if v in inputs:
            return ["i", inputs[v]]
        if v in weights:
            return ["w", tensor_text(weights[v])]
        if v in sparse:
            return ["s", hashlib.sha256(sparse[v].SerializeToString()).hexdigest()]
        return ["o", outer(v)]

    ins = []
    for v in graph.input:
        entry = ([v.name] if names else []) + [type_text(v.type) if typed else None]
        ins.append(entry + ([tensor_text(weights[v.name])] if v.name in weights else []))
    outs = [([v.name] if names else []) + [reference(v.name)] for v in graph.output]
    nodes = []
    for n in order:
        domains.add(domain_of(n))
        calls.append((domain_of(n), n.op_type, n.overload))
        attributes = [
            attribute_text(a, reference, domains, calls) for a in sorted(n.attribute, key=lambda a: a.name)
        ]
        operands = list(n.input)
        while operands and not operands[-1]:
            operands.pop()
        nodes.append(
            [domain_of(n), n.op_type, n.overload, attributes, [reference(v) for v in operands], len(n.output)]
        )
    return {"inputs": ins, "nodes": nodes, "outputs": outs}


def type_text(t):
    kind = t.WhichOneof("value")
    if kind in ("tensor_type", "sparse_tensor_type"):
        tensor = getattr(t, kind)
        return [kind, DTYPES[tensor.elem_type], dims_of(tensor)]
    if kind in ("sequence_type", "optional_type"):
        return [kind, type_text(getattr(t, kind).elem_type)]
    if kind == "map_type":
        return [kind, DTYPES[t.map_type.key_type], type_text(t.map_type.value_type)]
    return None


def tensor_text(t):
    if t.data_type == TensorProto.STRING:
        raw = json.dumps([string_text(s) for s in t.string_data]).encode()
    else:
        array = numpy_helper.to_array(t)
        raw = t.raw_data or np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
    head = json.dumps([DTYPES[t.data_type], list(t.dims)]).encode()
    return hashlib.sha256(head + b"\0" + raw).hexdigest()


def string_text(s):
    try:
        return s.decode()
    except UnicodeDecodeError:
        return [s.hex()]


def attribute_text(a, outer, domains, calls):
    if a.ref_attr_name:
        return [a.name, "ref", a.ref_attr_name]
    if a.type == AttributeProto.TENSOR:
        return [a.name, "tensor", tensor_text(a.t)]
    if a.type == AttributeProto.GRAPH:
        return [a.name, "graph", graph_text(a.g, outer, False, domains, calls, top=False)]
    if a.type == AttributeProto.FLOAT:
        return [a.name, "float", np.float32(a.f).tobytes().hex()]
    if a.type == AttributeProto.FLOATS:
        return [a.name, "floats", np.array(a.floats, np.float32).tobytes().hex()]
    value = onnx.helper.get_attribute_value(a)
    if isinstance(value, bytes):
        value = value.hex()
    elif isinstance(value, list):
        value = [x.hex() if isinstance(x, bytes) else x for x in value]
    return [a.name, str(a.type), value]
