#!/usr/bin/env python3
# LONG: --count 10000 --seed 2
"""On random graphs of two devices, graphopt has no more subgraphs of the accelerator than ONNX Runtime.

  partition_counts.py GRAPHOPT [--count N] [--seed S] [--options WORDS]

The short form of benchmarks/partition_peers.py, with the one partitioner that is installed with the tests:
the loop of ONNX Runtime's usability checker, which does not group the nodes of the host. N (240) graphs, most
of them of 4 to 9 nodes, every eighth of 30 to 60. For each graph
  - graphopt's partition is valid: each node once, on its device, no cycle; with --connected, one piece each;
  - it is the same when the nodes are listed in another topological order;
  - the default has no more subgraphs of the accelerator than the loop, whose result is valid as well;
  - the default has no more subgraphs of either kind than --connected.
--options are words for graphopt, to see the counts of another algorithm.
"""

import argparse
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib import cuts  # noqa: E402
from lib.tool import executable  # noqa: E402


def judge(tool, graph, rng, folder, words):
    """(subgraphs of the accelerator by graphopt and by the loop, what is wrong)"""
    orders, wrong, size = [cuts.random_order(graph, rng) for _ in range(2)], [], {}
    for connected in (False, True):
        options = [*words, *(["--connected"] if connected else [])]
        first, second = (cuts.cut_random(tool, graph, order, folder, *options) for order in orders)
        wrong.extend(cuts.problems(graph, first, connected))
        if first.key() != second.key():
            wrong.append(f"another partition when the nodes are listed otherwise ({' '.join(options)})")
        size[connected] = first.accelerated(), len(first.groups)
    other = cuts.usability_checker(graph, orders[0])
    wrong.extend(f"the loop: {text}" for text in cuts.problems(graph, other))
    if size[False][0] > other.accelerated():
        wrong.append(f"{size[False][0]} subgraphs of the accelerator, the loop has {other.accelerated()}")
    if size[False] > size[True]:
        wrong.append(f"{size[False]} subgraphs, with --connected {size[True]}")
    return size[False][0], other.accelerated(), wrong


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("--count", type=int, default=240, metavar="N")
    p.add_argument("--seed", type=int, default=1, metavar="S")
    p.add_argument("--options", default="", metavar="WORDS")
    a = p.parse_args()
    rng, bad, ours, theirs = random.Random(a.seed), 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for k in range(a.count):
            graph = cuts.random_graph(rng, *((30, 60) if k % 8 == 7 else (4, 9)), name=f"graph {k}")
            mine, other, wrong = judge(a.tool, graph, rng, folder, a.options.split())
            ours, theirs = ours + mine, theirs + other
            if wrong:
                bad += 1
                print(f"{graph.name}: {'; '.join(wrong)}\n  {graph.producers}\n  {graph.host}")
    print(f"{a.count} graphs, {bad} wrong; {ours} subgraphs of the accelerator, {theirs} by the loop")
    return 1 if bad or not theirs else 0


if __name__ == "__main__":
    sys.exit(main())
