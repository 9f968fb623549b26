"""Graphs as partitioners of two devices see them, what graphopt makes of them, and what a valid result is.

The accelerator takes some of the nodes and the host all others. A partition is a list of (is on the host,
nodes), in any order; peers that leave the nodes of the host alone list those of the accelerator only.
"""

import json
import pathlib
import subprocess
import time
from dataclasses import dataclass, field

from onnx import TensorProto, helper

from . import manifests

PROFILE = {
    "format": "graphopt.device",
    "version": "1.0",
    "id": "accelerator",
    "kind": "npu",
    "profile": {"version": "1", "source": [{"document": "a test"}]},
}


@dataclass
class Graph:
    name: str
    producers: list  # of each node: sorted numbers of the nodes that it reads, each once
    host: list  # of each node: does only the host take it?
    readers: list = field(init=False)

    def __post_init__(self):
        self.readers = [[] for _ in self.producers]
        for i, row in enumerate(self.producers):
            for p in row:
                self.readers[p].append(i)


@dataclass
class Cut:
    groups: list  # (is on the host, nodes)
    seconds: float

    def accelerated(self):
        return sum(not host for host, _ in self.groups)

    def key(self):
        """Equal for equal partitions."""
        return sorted((host, sorted(nodes)) for host, nodes in self.groups)


def random_graph(rng, least, most, name="random"):
    """Sparse or dense, of near or far edges, in runs of one device or without."""
    count = rng.randint(least, most)
    window, keep = rng.choice((2, 4, count)), rng.choice((0.3, 0.5, 0.7))
    producers, host = [], []
    for i in range(count):
        near = range(max(0, i - window), i)
        chosen = rng.sample(near, min(len(near), rng.choice((0, 1, 1, 1, 2, 2, 3))))
        producers.append(sorted(chosen))
        host.append(host[chosen[0]] if chosen and rng.random() < keep else rng.random() < 0.5)
    return Graph(name, producers, host)


def random_order(graph, rng):
    """The numbers of the nodes in a topological order."""
    missing = [len(row) for row in graph.producers]
    ready, order = [i for i, count in enumerate(missing) if count == 0], []
    while ready:
        i = ready.pop(rng.randrange(len(ready)))
        order.append(i)
        for r in graph.readers[i]:
            missing[r] -= 1
            if missing[r] == 0:
                ready.append(r)
    return order


def model_of(graph, order):
    """Node i is called `i` and is a Sum, or a Max where only the host takes it. Sources read x, and what no
    node reads is an output."""
    nodes = [
        helper.make_node(
            "Max" if graph.host[i] else "Sum",
            [f"v{p}" for p in graph.producers[i]] or ["x"],
            [f"v{i}"],
            name=str(i),
        )
        for i in order
    ]

    def value(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1])

    outputs = [value(f"v{i}") for i in sorted(order) if not graph.readers[i]]
    text = helper.make_graph(nodes, "g", [value("x")], outputs)
    return helper.make_model(text, ir_version=10, opset_imports=[helper.make_opsetid("", 17)])


def write_profile(path, **more):
    pathlib.Path(path).write_text(json.dumps({**PROFILE, **more}), encoding="utf-8")
    return path


def run(tool, source, out, devices, *options):
    """(manifest, seconds of the stage). Raises RuntimeError where graphopt fails."""
    out = pathlib.Path(out)
    report = out.with_suffix(".report.json")
    words = ["--devices", devices, "--parts", "never", "-o", out, "--report", report, "-q", "--force"]
    done = subprocess.run([tool, source, *words, *options], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip()[-300:]}")
    stages = json.loads(report.read_text(encoding="utf-8"))["stages"]
    manifest = json.loads(out.with_suffix(".manifest.json").read_text(encoding="utf-8"))
    return manifest, sum(s["seconds"] for s in stages if s["name"] == "partition")


def cut_random(tool, graph, order, folder, *options):
    """What graphopt makes of the graph when its nodes are listed in this order."""
    folder = pathlib.Path(folder)
    profile = folder / "accelerator.json"
    if not profile.exists():
        write_profile(profile, rules=[{"op": "Sum"}])
    source = folder / "graph.onnx"
    source.write_bytes(model_of(graph, order).SerializeToString())
    manifest, seconds = run(tool, source, folder / "out.onnx", profile, "-O0", *options)
    subgraphs = manifest["subgraphs"]
    return Cut([(s["device"] == "cpu", [int(n) for n in s["nodes"]]) for s in subgraphs], seconds)


def read_graph(name, manifest, whole):
    """The graph of the nodes that the manifest lists, read from OUT; captured values are inputs as others
    are. Also (the numbers of its nodes by name)."""
    hosts = {d["id"] for d in manifest["devices"] if d.get("host")}
    on_host = {n: s["device"] in hosts for s in manifest["subgraphs"] for n in s["nodes"]}
    nodes = [n for n in whole.graph.node if n.name in on_host]
    number = {n.name: i for i, n in enumerate(nodes)}
    made = {v: i for i, n in enumerate(nodes) for v in n.output if v}
    producers = [sorted({made[v] for v in manifests.reads(n) if v in made}) for n in nodes]
    return Graph(name, producers, [on_host[n.name] for n in nodes]), number


def read_cut(manifest, number, seconds):
    hosts = {d["id"] for d in manifest["devices"] if d.get("host")}
    groups = [(s["device"] in hosts, [number[n] for n in s["nodes"]]) for s in manifest["subgraphs"]]
    return Cut(groups, seconds)


def problems(graph, cut, connected=False):
    """What is wrong with a partition, a text each. Nodes of the host that it leaves out stand alone."""
    home = {}
    for k, (host, nodes) in enumerate(cut.groups):
        for i in nodes:
            if i in home:
                yield f"node {i} is in two subgraphs"
            if graph.host[i] != host:
                yield f"node {i} is on another device"
            home[i] = k
        if connected and not host and not is_connected(graph, nodes):
            yield f"the subgraph of node {min(nodes)} is in several pieces"
    for i, host in enumerate(graph.host):
        if i not in home and not host:
            yield f"node {i} is in no subgraph"
        home.setdefault(i, -1 - i)
    if has_cycle(graph, home):
        yield "the subgraphs are in a cycle"


def is_connected(graph, nodes):
    left, stack = set(nodes), [nodes[0]]
    left.discard(nodes[0])
    while stack:
        i = stack.pop()
        for near in (*graph.producers[i], *graph.readers[i]):
            if near in left:
                left.discard(near)
                stack.append(near)
    return not left


def has_cycle(graph, home):
    after = {k: set() for k in home.values()}
    for i, row in enumerate(graph.producers):
        for p in row:
            if home[p] != home[i]:
                after[home[p]].add(home[i])
    missing = dict.fromkeys(after, 0)
    for readers in after.values():
        for k in readers:
            missing[k] += 1
    ready, done = [k for k, count in missing.items() if count == 0], 0
    while ready:
        done += 1
        for k in after[ready.pop()]:
            missing[k] -= 1
            if missing[k] == 0:
                ready.append(k)
    return done < len(after)


def units(graph, pairs):
    """The number of the unit of each node: nodes of a pair share one, and so do all nodes on a cycle of
    units. Units are numbered in a topological order."""
    count = len(graph.host)
    after = [list(row) for row in graph.readers]
    for a, b in pairs:
        after[a].append(b)
        after[b].append(a)
    before = [[] for _ in range(count)]
    for i, row in enumerate(after):
        for r in row:
            before[r].append(i)
    # Strongly connected components (Kosaraju): in the reverse order in which a walk along edges leaves nodes,
    # walks against the edges each reach one component.
    left, seen = [], [False] * count
    for root in range(count):
        stack = [(root, False)]
        while stack:
            i, leaves = stack.pop()
            if leaves:
                left.append(i)
            elif not seen[i]:
                seen[i] = True
                stack.append((i, True))
                stack.extend((r, False) for r in after[i] if not seen[r])
    unit, last = [None] * count, -1
    for root in reversed(left):
        if unit[root] is None:
            last += 1
            stack = [root]
            while stack:
                i = stack.pop()
                if unit[i] is None:
                    unit[i] = last
                    stack.extend(before[i])
    return unit


def contracted(graph, unit):
    """The graph of the units. Precondition: the nodes of a unit are on one device."""
    producers = [set() for _ in range(max(unit, default=-1) + 1)]
    host = [None] * len(producers)
    for i, row in enumerate(graph.producers):
        if host[unit[i]] not in (None, graph.host[i]):
            raise ValueError(f"{graph.name}: node {i} is not on the device of its unit")
        host[unit[i]] = graph.host[i]
        producers[unit[i]].update(unit[p] for p in row if unit[p] != unit[i])
    return Graph(graph.name, [sorted(row) for row in producers], host)


def usability_checker(graph, order):
    """The loop of ONNX Runtime's usability checker, that of its providers: subgraphs of the accelerator."""
    from onnxruntime.tools.mobile_helpers import usability_checker as checker
    from onnxruntime.tools.onnx_model_utils import get_producer_consumer_maps

    class Support:
        def is_op_supported(self, node):
            return not graph.host[int(node.name)]

    text = model_of(graph, order).graph
    nodes = list(text.node)  # the maps go by the identity of these objects
    before, after = get_producer_consumer_maps(text)
    begin = time.perf_counter()
    found = checker._check_partitioning_for_graph(text, before, after, Support(), set(), False, {})
    seconds = time.perf_counter() - begin
    del nodes
    return Cut([(False, [int(n.name) for n in group]) for group in found.supported_groups], seconds)
