"""How good a map of operators is against the known truth (the measures of benchmarks/mapping.py)."""

import collections

import numpy as np

from _mapping_graph import family

SURE = 0.9
COUNTS = (
    *("scored", "right", "sure", "sure_right", "two", "hit", "due", "due_hit", "covered", "relation"),
    *("relation_right", "wanted", "met", "twice"),
)


class Truth:
    """The groups of a pair with all copies of a computation taken in, and where each operator stands."""

    def __init__(self, before, after, groups):
        self.before, self.after, self.groups = before, after, []
        self.of_a, self.of_b = collections.defaultdict(set), collections.defaultdict(set)
        for k, (a, b, beside_a, beside_b) in enumerate(groups):
            a, b = before.like(a), after.like(b)
            whole_a, whole_b = a | before.like(beside_a), b | after.like(beside_b)
            self.groups.append((a, b, whole_a, whole_b))
            for x in whole_a:
                self.of_a[x].add(k)
            for y in whole_b:
                self.of_b[y].add(k)

    def both(self, x, y):
        """The groups that have both."""
        return self.of_a.get(x, set()) & self.of_b.get(y, set())

    def is_right(self, x, y):
        """Whether some group has both, as what is asked for or both beside that."""
        groups = (self.groups[k] for k in self.both(x, y))
        return any((x in g[0]) == (y in g[1]) for g in groups)

    def is_due(self, k):
        a, b = self.groups[k][:2]
        kinds = {family(self.before.nodes[x].op_type) for x in a}
        return any(family(self.after.nodes[y].op_type) in kinds for y in b)


def judged(truth, found):
    """[(a, b, confidence, why, whether it is right)] of the pairs whose B operator has a truth."""
    rows = []
    for p in found["pairs"]:
        a, b = p["a"], p["b"]
        if b in truth.of_b and a in truth.before.nodes:
            shown = p.get("raw_confidence", p["confidence"])
            rows.append((a, b, p["confidence"], p["why"], truth.is_right(a, b), shown))
    return rows


def counts(truth, found):
    """(Counter of COUNTS, rows of judged(), names that are no operators, {relations: some of them}) of the
    tool's
    JSON."""
    rows, c = judged(truth, found), collections.Counter(dict.fromkeys(COUNTS, 0))
    c["scored"] = len(rows)
    c["right"] = sum(r[4] for r in rows)
    c["sure"] = sum(r[2] >= SURE for r in rows)
    c["sure_right"] = sum(r[4] for r in rows if r[2] >= SURE)
    hit = {k for a, b, *_, right, _ in rows if right for k in truth.both(a, b)}
    two = [k for k, g in enumerate(truth.groups) if g[0] and g[1]]
    due = [k for k in two if truth.is_due(k)]
    c.update(two=len(two), hit=len(hit.intersection(two)), due=len(due), due_hit=len(hit.intersection(due)))
    a, b = truth.before, truth.after
    named = [(p["a"], p["b"]) for p in found["pairs"]]
    strange = {x for x, _ in named if x not in a.nodes} | {y for _, y in named if y not in b.nodes}
    for g in found.get("groups", ()):
        named += [(x, y) for x in g["a"] for y in g["b"]]
        strange |= {x for x in g["a"] if x not in a.nodes} | {y for y in g["b"] if y not in b.nodes}
    relation = {(x, y) for x, y in named if x in a.nodes and y in b.nodes}
    touching = collections.Counter()
    for x, y in relation:
        for k in truth.both(x, y):
            touching[k] += x in truth.groups[k][0] and y in truth.groups[k][1]
    c["covered"] = sum(touching[k] > 0 for k in two)
    for side in (0, 1):
        used = collections.Counter(r[side] for r in ((p["a"], p["b"]) for p in found["pairs"]))
        c["twice"] += sum(n > 1 for n in used.values())
    measured, apart = of_relation(truth, relation)
    missed = [truth.groups[k] for k in due if k not in hit]
    apart["missed"] = [(min(g[0]), min(g[1])) for g in missed[:20]]
    c.update(measured)
    return c, rows, sorted(strange), apart


def of_relation(truth, relation):
    """The relation of operators, copies counted once, against the truth's. In a group with several on both
    sides
    each operator with a partner in it counts, elsewhere each pair."""
    of_a, of_b = truth.before.op_class, truth.after.op_class
    known = {of_b[y] for y in truth.of_b}
    relation = {(of_a[x], of_b[y]) for x, y in relation if of_b[y] in known}
    allowed, strict, wanted, met = set(), set(), 0, 0
    for group in truth.groups:
        a, b, whole_a, whole_b = ({c[x] for x in part} for c, part in zip((of_a, of_b, of_a, of_b), group))
        allowed.update((x, y) for x in whole_a for y in whole_b)
        if not a or not b:
            continue
        if len(a) == 1 or len(b) == 1:
            strict.update((x, y) for x in a for y in b)
        else:
            wanted += len(a) + len(b)
            met += sum(any((x, y) in relation for y in whole_b) for x in a)
            met += sum(any((x, y) in relation for x in whole_a) for y in b)
    measured = {
        "relation": len(relation),
        "relation_right": len(relation & allowed),
        "wanted": len(strict) + wanted,
        "met": len(relation & strict) + met,
    }
    name_a, name_b = (
        {c: min(names) for c, names in side.copies.items()} for side in (truth.before, truth.after)
    )
    apart = {"extra": relation - allowed, "lacking": strict - relation}
    shown = {k: sorted((name_a[x], name_b[y]) for x, y in found)[:20] for k, found in apart.items()}
    return measured, shown


def share(part, whole):
    return part / whole if whole else None


def calibration_error(confidences, right):
    """The expected one, over ten bins of equal width."""
    if not len(confidences):
        return None
    confidences, right = np.asarray(confidences, float), np.asarray(right, float)
    bins = np.minimum((confidences * 10).astype(int), 9)
    gaps = [abs(confidences[bins == k].sum() - right[bins == k].sum()) for k in range(10)]
    return float(sum(gaps) / len(confidences))


def mean(numbers):
    numbers = [n for n in numbers if n is not None]
    return sum(numbers) / len(numbers) if numbers else None


def figures(files):
    """The measures over pairs of graphs, each given as (counts, judged rows): micro averages, but those of
    groups
    are means over the graphs."""
    c, rows = collections.Counter(), [r for _, found in files for r in found]
    for counted, _ in files:
        c.update(counted)
    return {
        "pairs": c["scored"],
        "wrong": c["scored"] - c["right"],
        "precision": share(c["right"], c["scored"]),
        "recall": share(c["hit"], c["two"]),
        "due_recall": share(c["due_hit"], c["due"]),
        "covered": share(c["covered"], c["two"]),
        "group_precision": mean(share(f["relation_right"], f["relation"]) for f, _ in files),
        "group_recall": mean(share(f["met"], f["wanted"]) for f, _ in files),
        "sure_right": share(c["sure_right"], c["sure"]),
        "calibration_error": calibration_error([r[2] for r in rows], [r[4] for r in rows]),
        "twice": c["twice"],
    }
