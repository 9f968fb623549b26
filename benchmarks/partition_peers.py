#!/usr/bin/env python3
"""graphopt's partitioner and those of other projects on the same graphs: two devices, the same map of
nodes to devices, no atomic groups.

  partition_peers.py GRAPHOPT random [--count N] [--nodes LEAST MOST] [--seed S] [--often K]
  partition_peers.py GRAPHOPT models [FOLDER] [--only NAME ...] [--seeds S ...] [--work DIR]
    [--peers NAME ...] [--slow-nodes N] [--limit S] [--keep DIR] [--json FILE]

`random`: seeded random graphs (20,000 of 4 to 9 nodes); each is a model that the tool cuts with -O0. Every
K-th (10) is given in two topological orders, and only these go to OpenVINO, which compiles each subgraph;
of the models it gets graphs of at most --slow-nodes (200) nodes.
`models`: those of tests/models, or the *.onnx of FOLDER, optimized: with each shipped profile, and for
each seed with 30 % of the operators on the host, and with 30 % of the nodes. Nodes and edges are those of
the main graph of OUT, captured values included, and the map is that of the manifest. Nodes that exchange a
value of unknown rank, a sequence or an optional are one node to the peers, which would let a border carry
it.

Run it with a Python that has benchmarks/peers-requirements.txt; a peer whose package is not there is left
out:

  capability     torch.fx CapabilityBasedPartitioner         counts subgraphs of the accelerator,
  vertical       the same with skip_horizontal_fusion        as all but the two below
  usability      the loop of ONNX Runtime's usability checker, which is the one of its providers
  splitter       torch.fx splitter_base                      counts all subgraphs
  hetero         OpenVINO's HETERO with given affinities     counts all subgraphs

vertical and hetero make connected subgraphs only and are compared with --connected, the others with the
default. Of each: the graphs that it was given; its subgraphs on the accelerator and in all; `more` and
`fewer`: on how many graphs graphopt has more, or fewer, in a count that the peer reports; `faulty`:
results with a cycle, another device for a node or several pieces, which count for neither; `changed`:
results that depend on the order in which the nodes are listed; seconds of the calls that partition, of
graphopt those of its stage. The exit status is 1 if graphopt has more anywhere; --keep writes such graphs
as partition problems.
"""

import argparse
import collections
import json
import pathlib
import random
import re
import signal
import sys
import tempfile
from dataclasses import dataclass

import onnx

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
import _partitioners  # noqa: E402
from lib import cuts, models  # noqa: E402
from lib.tool import executable  # noqa: E402


@dataclass
class Peer:
    name: str
    package: str
    partition: object
    connected: bool = False  # compared with --connected
    counts_all: bool = False
    names_nodes: bool = True
    slow: bool = False


PEERS = [
    Peer("capability", "torch", _partitioners.torch_capability),
    Peer("vertical", "torch", _partitioners.torch_vertical, connected=True),
    Peer("splitter", "torch", _partitioners.torch_splitter, counts_all=True),
    Peer("usability", "onnxruntime", cuts.usability_checker),
    Peer(
        "hetero",
        "openvino",
        _partitioners.openvino_hetero,
        connected=True,
        counts_all=True,
        names_nodes=False,
        slow=True,
    ),
]


@dataclass
class Case:
    graph: cuts.Graph
    ours: dict  # by whether it is --connected: a Cut
    again: dict  # the same for another listing; empty: nobody is asked twice
    orders: list  # one or two listings
    with_slow: bool = True


class TooLong(Exception):
    pass


def too_long(*_):
    raise TooLong("no end within the limit")


def limited(peer, graph, order, limit):
    signal.signal(signal.SIGALRM, too_long)
    signal.alarm(limit)
    try:
        return peer.partition(graph, order)
    finally:
        signal.alarm(0)


def counts(cut, all_of_them):
    return (cut.accelerated(), len(cut.groups)) if all_of_them else (cut.accelerated(),)


def problem_of(graph):
    """In the form of tests/vectors/partition, without what is expected."""
    nodes = [
        {
            "name": f"n{i}",
            "op": f"Op{i}",
            "inputs": [f"v{p}" for p in row] or ["x"],
            "outputs": [f"v{i}"],
            "devices": ["cpu"] if graph.host[i] else ["acc", "cpu"],
        }
        for i, row in enumerate(graph.producers)
    ]
    outputs = [f"v{i}" for i, row in enumerate(graph.readers) if not row]
    return {
        "name": graph.name,
        "devices": [{"id": "acc", "priority": 0}, {"id": "cpu", "priority": 1}],
        "graph": {"inputs": ["x"], "initializers": {}, "outputs": outputs, "nodes": nodes},
    }


class Tally:
    def __init__(self, peers, limit, keep):
        self.peers, self.limit, self.keep = peers, limit, keep
        self.rows = collections.defaultdict(collections.Counter)
        self.more, self.faults = [], collections.Counter()

    def add(self, case):
        for connected, cut in case.ours.items():
            row = self.rows["graphopt --connected" if connected else "graphopt"]
            row.update(graphs=1, accelerator=cut.accelerated(), all=len(cut.groups), seconds=cut.seconds)
            row.update(faulty=any(cuts.problems(case.graph, cut, connected)))
            if case.again:
                row.update(twice=1, changed=case.again[connected].key() != cut.key())
        for peer in self.peers:
            if case.with_slow or not peer.slow:
                self.compare(case, peer)

    def compare(self, case, peer):
        row, graph = self.rows[peer.name], case.graph
        try:
            found = [limited(peer, graph, order, self.limit) for order in case.orders]
        except Exception as e:
            row["failed"] += 1
            self.faults[f"{peer.name}: {type(e).__name__}: {first_line(e)}"] += 1
            return
        theirs, ours = found[0], case.ours[peer.connected]
        row.update(graphs=1, accelerator=theirs.accelerated(), seconds=theirs.seconds)
        row.update(all=len(theirs.groups) if peer.counts_all else 0)
        if len(found) > 1:
            row.update(twice=1, changed=found[0].key() != found[1].key())
        for cut in found:
            wrong = list(cuts.problems(graph, cut, peer.connected)) if peer.names_nodes else []
            if wrong:
                row["faulty"] += 1
                self.faults[f"{peer.name}: {re.sub('[0-9]+', 'N', wrong[0])}"] += 1
                continue
            mine, other = counts(ours, peer.counts_all), counts(cut, peer.counts_all)
            row["fewer"] += any(a < b for a, b in zip(mine, other, strict=True)) and cut is theirs
            if any(a > b for a, b in zip(mine, other, strict=True)):
                self.note(graph, peer, mine, other)
                break

    def note(self, graph, peer, mine, other):
        self.rows[peer.name]["more"] += 1
        self.more.append(f"{graph.name}: graphopt {slashed(mine)}, {peer.name} {slashed(other)}")
        print(self.more[-1], flush=True)
        if self.keep:
            path = pathlib.Path(self.keep, f"{graph.name}.{peer.name}.json".replace(" ", "-"))
            path.write_text(json.dumps(problem_of(graph), indent=1), encoding="utf-8")

    def table(self):
        head = ("graphs", "accelerator", "all", "more", "fewer", "faulty", "failed", "seconds")
        lines = [f"{'':21}" + "".join(f"{h:>12}" for h in head) + f"{'changed':>14}"]
        for name, row in self.rows.items():
            cells = [f"{row[h]:.1f}" if h == "seconds" else str(row[h]) for h in head]
            if not row["all"]:
                cells[2] = "-"
            if name.startswith("graphopt"):
                cells[3:5] = [""] * 2
            changed = f"{row['changed']} of {row['twice']}"
            lines.append(f"{name:21}" + "".join(f"{c:>12}" for c in cells) + f"{changed:>14}")
        return "\n".join(lines)


def first_line(error):
    return str(error).partition("\n")[0][:100]


def slashed(numbers):
    return "/".join(map(str, numbers))


def random_cases(a):
    rng = random.Random(a.seed)
    with tempfile.TemporaryDirectory() as folder:
        for k in range(a.count):
            graph = cuts.random_graph(rng, *a.nodes, name=f"random-{a.seed}-{k}")
            orders = [cuts.random_order(graph, rng) for _ in range(2)]
            twice = k % a.often == 0
            if not twice:
                orders.pop()
            found = [
                {
                    connected: cuts.cut_random(a.tool, graph, order, folder, *words)
                    for connected, words in ((False, ()), (True, ("--connected",)))
                }
                for order in orders
            ]
            yield Case(graph, found[0], found[1] if twice else {}, orders, with_slow=twice)


def operators_of(model):
    """Of all graphs of the model: (domain, operator)."""
    found, stack = set(), [model.graph]
    while stack:
        for n in stack.pop().node:
            found.add(("" if n.domain == "ai.onnx" else n.domain, n.op_type))
            for attribute in n.attribute:
                stack += ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs)
    return sorted(found)


def some_on_host(model, folder, seeds):
    """{what: path of a profile}: 30 % of the operators, or of the nodes, are refused."""
    operators, found = operators_of(model), {}
    names = [n.name for n in model.graph.node if n.name]
    for seed in seeds:
        rng = random.Random(seed)
        taken = [o for o in operators if rng.random() >= 0.3]
        rules = [{"domain": domain, "op": op} for domain, op in taken] or [{"op": "NoOperator"}]
        path = folder / f"operators-{seed}.json"
        found[f"operators {seed}"] = cuts.write_profile(path, rules=rules, control_flow="whole")
        rules = [{"domain": domain, "op": op} for domain, op in operators]
        denied = [n for n in names if rng.random() < 0.3]
        path = folder / f"nodes-{seed}.json"
        found[f"nodes {seed}"] = cuts.write_profile(
            path, rules=rules, control_flow="whole", deny_nodes=denied
        )
    return found


def shipped():
    profiles = {p.stem: p for p in (HERE.parent / "share/graphopt/devices").glob("*.json")}
    profiles |= {p.stem: p for p in (HERE.parent / "tests/equal/profiles").glob("*.json")}  # as they were
    return {
        n: p for n, p in sorted(profiles.items()) if not json.loads(p.read_text(encoding="utf-8")).get("host")
    }


def inseparable(manifest, whole):
    """Pairs of nodes between which no border can be: a value of unknown rank, a sequence, an optional."""
    place = {n for s in manifest["subgraphs"] for n in s["nodes"]}
    known = [*whole.graph.value_info, *whole.graph.output]
    plain = {v.name for v in known if v.type.HasField("tensor_type") and v.type.tensor_type.HasField("shape")}
    nodes = [n for n in whole.graph.node if n.name in place]
    made = {v: n.name for n in nodes for v in n.output if v and v not in plain}
    return {(made[v], n.name) for n in nodes for v in cuts.manifests.reads(n) if v in made}


def joined(graph, number, pairs, found):
    """The same with nodes that stay together as one node."""
    unit = cuts.units(graph, [(number[a], number[b]) for a, b in sorted(pairs)])
    ours = {}
    for connected, cut in found.items():
        groups = [(host, sorted({unit[i] for i in nodes})) for host, nodes in cut.groups]
        ours[connected] = cuts.Cut(groups, cut.seconds)
    return cuts.contracted(graph, unit), ours


def model_cases(a, work):
    if a.folder:
        sources = {f.stem: str(f) for f in sorted(pathlib.Path(a.folder).glob("*.onnx"))}
        sources = {n: p for n, p in sources.items() if not a.only or n in a.only}
    else:
        sources = models.filled(models.chosen(a.only), work)
    for name, source in sources.items():
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            base = folder / "base.onnx"
            nothing = cuts.write_profile(folder / "nothing.json", rules=[{"op": "NoOperator"}])
            cuts.run(a.tool, source, base, nothing, "--infer")
            optimized = onnx.load(base, load_external_data=False)
            for what, profile in {**shipped(), **some_on_host(optimized, folder, a.seeds)}.items():
                found = {}
                for connected in (False, True):
                    out = folder / "out.onnx"
                    words = ["-O0", "--infer", *(["--connected"] if connected else [])]
                    manifest, seconds = cuts.run(a.tool, base, out, profile, *words)
                    whole = onnx.load(out, load_external_data=False)
                    graph, number = cuts.read_graph(f"{name} {what}", manifest, whole)
                    found[connected] = cuts.read_cut(manifest, number, seconds)
                if not graph.host:
                    continue
                graph, found = joined(graph, number, inseparable(manifest, whole), found)
                orders = [cuts.random_order(graph, random.Random(k)) for k in range(2)]
                with_slow = len(graph.host) <= a.slow_nodes
                yield Case(graph, found, {}, orders, with_slow=with_slow)
        print(f"{name}: {len(graph.host)} nodes", file=sys.stderr, flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("graphs", choices=("random", "models"))
    p.add_argument("folder", nargs="?", metavar="FOLDER")
    p.add_argument("--count", type=int, default=20000, metavar="N")
    p.add_argument("--nodes", type=int, nargs=2, default=(4, 9), metavar=("LEAST", "MOST"))
    p.add_argument("--seed", type=int, default=1, metavar="S")
    p.add_argument("--often", type=int, default=10, metavar="K")
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    p.add_argument("--seeds", type=int, nargs="+", default=[1, 2], metavar="S")
    p.add_argument("--peers", nargs="+", default=[q.name for q in PEERS], metavar="NAME")
    p.add_argument("--slow-nodes", type=int, default=200, metavar="N")
    p.add_argument("--limit", type=int, default=120, metavar="S", help="seconds for one call of a peer")
    p.add_argument("--keep", metavar="DIR", help="write graphs on which graphopt has more there")
    p.add_argument("--work", metavar="DIR", help="filled models are kept there and used again")
    p.add_argument("--json", metavar="FILE", help="write the table there")
    a = p.parse_args()
    if unknown := sorted(set(a.peers) - {q.name for q in PEERS}):
        p.error(f"no peer is called {', '.join(unknown)}")
    peers = []
    for peer in PEERS:
        if peer.name not in a.peers:
            continue
        try:
            peer.partition(cuts.Graph("one", [[]], [False]), [0])  # the first call imports much
            peers.append(peer)
        except (ImportError, OSError, ValueError) as e:  # torch without its libraries is a ValueError
            why = f"{peer.package}: {first_line(e)}"
            print(f"partition_peers: {peer.name} is left out: {why}", file=sys.stderr)
    tally = Tally(peers, a.limit, a.keep)
    with models.work_folder(a.work) as work:
        for case in random_cases(a) if a.graphs == "random" else model_cases(a, work):
            tally.add(case)
    print(tally.table())
    for text, count in sorted(tally.faults.items()):
        print(f"{count:8}  {text}")
    if a.json:
        rows = {name: dict(row) for name, row in tally.rows.items()}
        pathlib.Path(a.json).write_text(json.dumps({"rows": rows, "more": tally.more}, indent=1) + "\n")
    return 1 if any(row["more"] for row in tally.rows.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
