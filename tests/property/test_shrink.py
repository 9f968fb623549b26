"""Proves that a failing graph of the random graphs is made small, with feeds that show the failure."""

import collections
import random
import sys

import numpy as np
import onnx

import _graphs
import _shrink
import random_graphs
from lib import counting


def grown(seed):
    """A random graph that runs, and its feeds."""
    for i in range(seed, seed + 50):
        rng = random.Random(i)
        graph = _graphs.Graph(rng)
        feeds = graph.feeds(rng)
        if isinstance(random_graphs.run(graph.model, feeds), list):
            return graph.model, feeds
    raise AssertionError("no graph runs")


def test_a_result_is_wrong(tool):
    """The failure: a node of the most frequent operator gives something."""
    model, feeds = grown(100)
    kinds = collections.Counter(n.op_type for n in model.graph.node if n.op_type != "Constant")
    kind = kinds.most_common(1)[0][0]

    def fails(m, f):
        results = [o for n in m.graph.node if n.op_type == kind for o in n.output if o]
        found = random_graphs.values_of(m, [r for r in results if r not in outputs(m)], f)
        return bool(results) and found is not None

    def outputs(m):
        return {o.name for o in m.graph.output}

    small, left = _shrink.shrink(tool, model, feeds, fails, random_graphs.values_of)
    assert counting.nodes(small) == 1, onnx.printer.to_text(small)
    assert small.graph.node[0].op_type == kind and len(left) == 1 and fails(small, left)
    names = {i.name for i in small.graph.input}
    assert names == set(left[0]) and all(isinstance(v, np.ndarray) for v in left[0].values())


def test_the_tool_fails(tool):
    """Where graphopt itself cannot reduce, the graph stays as it is."""
    model, feeds = grown(200)
    small, left = _shrink.shrink("/bin/false", model, feeds, lambda *_: True, random_graphs.values_of)
    assert small is model and len(left) == 1


def main():
    tests = [f for name, f in globals().items() if name.startswith("test_")]
    for test in tests:
        test(sys.argv[1])
    print(f"{len(tests)} passed")


if __name__ == "__main__":
    main()
