"""A partition with a fault is seen: cycles, wrong devices, nodes that are missing or there twice, pieces."""

import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib.cuts import Cut, Graph, contracted, problems, random_graph, random_order, units  # noqa: E402

# 0 -> 1 -> 3 and 0 -> 2 -> 3; only the host takes 2.
DIAMOND = Graph("diamond", [[], [0], [0], [1, 2]], [False, False, True, False])
HOST = (True, [2])
# {0, 1} and {2, 3, 4, 6} each keep their paths inside, and 0 -> 5 -> 6 and 2 -> 1 make a cycle of the two.
CROSSED = Graph("crossed", [[], [0, 2], [], [2, 4], [], [0], [4, 5]], [False] * 5 + [True, False])
CASES = [
    (DIAMOND, [(False, [0, 1]), HOST, (False, [3])], [], []),
    (DIAMOND, [(False, [0, 1]), (False, [3])], [], []),
    (DIAMOND, [(False, [0, 1, 3]), HOST], ["cycle"], ["cycle"]),
    (DIAMOND, [(False, [0, 1, 3])], ["cycle"], ["cycle"]),
    (DIAMOND, [(False, [0, 3]), (False, [1]), HOST], ["cycle"], ["pieces", "cycle"]),
    (DIAMOND, [(False, [0]), HOST, (False, [3])], ["node 1 is in no"], ["node 1 is in no"]),
    (DIAMOND, [(False, [0, 1]), (False, [1]), (False, [3])], ["in two"], ["in two"]),
    (DIAMOND, [(False, [0, 1, 2]), (False, [3])], ["another device"], ["another device"]),
    (CROSSED, [(False, [0, 1]), (False, [2, 3, 4, 6])], ["cycle"], ["cycle"]),
    (CROSSED, [(False, [0, 2, 1, 4, 3]), (True, [5]), (False, [6])], [], []),
    (CROSSED, [(False, [0, 4]), (False, [1, 2, 3]), (False, [6])], [], ["pieces"]),
]


def main():
    bad = []
    for graph, groups, plain, connected in CASES:
        for wanted, found in (
            (plain, list(problems(graph, Cut(groups, 0)))),
            (connected, list(problems(graph, Cut(groups, 0), connected=True))),
        ):
            if len(found) != len(wanted) or any(w not in f for w, f in zip(wanted, found)):
                bad.append(f"{graph.name} {groups}: {found}, not {wanted}")
    # 0 and 6 stay together, and so does 5, which is on a path between them.
    unit = units(Graph("crossed", CROSSED.producers, [False] * 7), [(0, 6)])
    if len(set(unit)) != 5 or not unit[0] == unit[5] == unit[6]:
        bad.append(f"units {unit}")
    whole = contracted(Graph("crossed", CROSSED.producers, [False] * 7), unit)
    wanted = sorted(map(sorted, ([], [], [unit[4]], [unit[0], unit[2]], [unit[2], unit[4]])))
    if sorted(whole.producers) != wanted or any(p >= i for i, row in enumerate(whole.producers) for p in row):
        bad.append(f"the graph of the units {unit} is {whole.producers}")
    rng = random.Random(1)
    for _ in range(100):
        graph = random_graph(rng, 1, 20)
        place = {node: at for at, node in enumerate(random_order(graph, rng))}
        if len(place) != len(graph.host) or any(
            place[p] > place[i] for i, row in enumerate(graph.producers) for p in row
        ):
            bad.append(f"no topological order: {graph}")
    print("\n".join(bad) or f"{len(CASES)} partitions are judged as they are")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
