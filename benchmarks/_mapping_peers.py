"""Changes that optimizers make, for the mapping benchmarks. They say nothing of which operator became which;
the
truth comes of the names that survive, and of the numbers that the values have."""

import collections
import hashlib
import os
import pathlib
import subprocess

import numpy as np
import onnx

from _mapping_graph import MOVERS, RANDOM, Operators, family, reads, same_numbers

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 300  # seconds for an optimizer
LARGEST = 16  # operators a side of a group; larger ones are not scored
CLOSE = 1e-3  # of a value's largest magnitude: a name whose numbers differ by more stands for another value

PEERS = ("onnxsim", "onnxslim", "onnxoptimizer", "onnxscript", "ort_basic", "ort_extended")
LEVELS = {"graphopt_o2": "-O2", "graphopt_o3": "-O3"}
NAMES = ("opset", *PEERS, *LEVELS)


def run(name, source, target, tool, python):
    """Writes the model that `name` makes of the file `source`. Raises RuntimeError when it cannot."""
    if name == "opset":
        model = onnx.load(source)
        now = next(o.version for o in model.opset_import if o.domain in ("", "ai.onnx"))
        later = 22 if now < 21 else min(now + 2, onnx.defs.onnx_opset_version())
        onnx.save(onnx.version_converter.convert_version(model, later), target)
        return
    if name in LEVELS:
        command = [tool, source, "-o", target, "-q", LEVELS[name]]
    else:
        command = [python, str(HERE / "_peer.py"), name, source, target]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT)
    if done.returncode or not os.path.exists(target):
        raise RuntimeError(f"exit status {done.returncode}: {' '.join(done.stderr.split())[-200:]}")


def print_of(value):
    """What is equal for equal values, coarsely; None for what many values are equal to."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or value.size < 8:
        return None
    numbers = value.astype(np.float64).ravel()
    if not np.isfinite(numbers).all() or numbers.min() == numbers.max():
        return None
    return value.dtype.name, value.shape


def unnamed(a, b, left_a, left_b):
    """(value before, value after) of those that no name joins and that alone have their numbers on either
    side."""
    by = collections.defaultdict(lambda: ([], []))
    for side, (left, values) in enumerate(((left_a, a), (left_b, b))):
        for x in left:
            if key := print_of(values.get(x)):
                by[key][side].append(x)
    for xs, ys in by.values():
        if len(xs) * len(ys) > 4000:
            continue
        like = [(x, y) for x in xs for y in ys if same_numbers(a[x], b[y], CLOSE)]
        count = collections.Counter(x for x, _ in like), collections.Counter(y for _, y in like)
        yield from ((x, y) for x, y in like if count[0][x] == 1 == count[1][y])


def of_draws(side):
    """The values that depend on a random operator."""
    found = set()
    for name, n in side.nodes.items():
        if name not in side.inner and (n.op_type in RANDOM or found.intersection(reads(n))):
            found.update(n.output)
    return found


def joined(before, after, a, b):
    """{value after: value before} of the values that are there on both sides, by name, else by numbers. a, b:
    Operators; the numbers of both are given."""
    same = {x: x for x in before.where if x in after.where and same_numbers(a.get(x), b.get(x), CLOSE)}
    drawn = of_draws(before)  # two models need not draw in one order
    left_a = [x for x in before.where if x not in same and x not in drawn]
    left_b = [y for y in after.where if y not in same]
    taken = set(same)
    known = {before.value_class.get(x) for x in same}
    for x, y in unnamed(a, b, left_a, left_b):
        if x not in taken and before.value_class.get(x) not in known:
            same[y] = x
    return same


def is_size(value):
    """Whether a value may be the sizes of something."""
    return value.dtype.kind in "iub" and value.size <= 64


def equal_values(runs):
    """{value before: what is equal for values with the same numbers in all runs}. Of floats the first run
    counts
    alone, and values of one number or few have nothing in common."""
    found = {}
    for name, value in runs[0].items():
        if not isinstance(value, np.ndarray):
            continue
        shown = [r[name] for r in runs if isinstance(r.get(name), np.ndarray)] if is_size(value) else [value]
        if is_size(value) or print_of(value):
            parts = [(v.dtype.name, v.shape, v.tobytes()) for v in shown]
            found[name] = hashlib.blake2b(repr(parts).encode(), digest_size=12).hexdigest()
    return found


def cone(side, value, cut):
    """The operators that make a value from those that `cut` accepts; None for more than LARGEST."""
    found, pending = [], [value]
    while pending:
        x = pending.pop()
        if x in side.where and (x == value or not cut(x)) and side.where[x] not in found:
            found.append(side.where[x])
            if len(found) > LARGEST:
                return None
            pending += reads(side.nodes[side.where[x]])
    return found


def is_mover(side, name, values):
    n = side.nodes[name]
    results = [values.get(o) for o in n.output if o]
    whole = all(isinstance(v, np.ndarray) and v.dtype.kind in "iub" for v in results)
    return n.op_type in MOVERS or whole


def is_idle(side, name, values):
    """Whether an operator that moves elements gives its first operand as it is."""
    n = side.nodes[name]
    x, y = (values.get(v) for v in (n.input[0] if n.input else "", n.output[0]))
    return n.op_type in MOVERS and y is not None and same_numbers(x, y, 0.0)


def group(before, after, xs, ys, a, b):
    """The truth of a group: what is asked for, and what stands beside it. Operators that move elements or
    compute
    sizes beside computing ones are neither asked for nor wrong, nor are those that do nothing; where one side
    only
    moves, so are those that compute on the other."""
    sides = ((before, xs, a), (after, ys, b))
    families = [{n: family(side.nodes[n].op_type) for n in names} for side, names, _ in sides]
    busy = []
    for (side, names, values), own, others in zip(sides, families, families[::-1]):
        idle = [n for n in names if is_idle(side, n, values)]
        at_work = {own[n] for n in names if n not in idle}
        alone = {n for n in idle if own[n] in at_work or own[n] not in others.values()}
        busy.append([n for n in names if n not in alone] or names)
    kinds = [[is_mover(side, n, values) for n in names] for (side, _, values), names in zip(sides, busy)]
    wanted = any(all(k) for k in kinds)
    kept, beside = [], []
    for whole, names, movers in zip((xs, ys), busy, kinds):
        asked = [n for n, m in zip(names, movers) if m == wanted]
        kept.append(names if all(movers) or not any(movers) else asked)
        beside.append([n for n in whole if n not in kept[-1]])
    return [*kept, *beside]


def truth(model, changed, runs, b):
    """[(operators before, after, beside before, beside after)] by the values that are on both sides; `runs`
    are
    the numbers of the values of the first model at several sizes, b of the second as in the first run."""
    before, after, a = Operators(model), Operators(changed), runs[0]
    same = joined(before, after, a, b)
    alive, equal = set(same.values()), equal_values(runs)

    def mark(x):
        """What values have in common that an optimizer may have merged."""
        return (equal[x], before.nodes[before.where[x]].op_type) if x in equal and x in before.where else None

    kept = {m: y for y, x in same.items() if (m := mark(x))}
    found, taken = [], set()
    for y, x in sorted(same.items()):

        def survives(v, own=equal.get(x)):
            return v in alive or own != equal.get(v) and mark(v) in kept

        xs, ys = cone(before, x, survives), cone(after, y, same.__contains__)
        if xs is None or ys is None or not xs or not ys:
            continue
        if (key := (tuple(xs), tuple(ys))) not in taken:
            taken.add(key)
            found.append(group(before, after, xs, ys, a, b))
    for x, name in before.where.items():  # merged with an equal one that kept its name
        y = kept.get(mark(x))
        if y and x not in alive and after.nodes[after.where[y]].op_type == before.nodes[name].op_type:
            found.append([[], [], [name], [after.where[y]]])
    found += bodies(before, after)
    return found


def bodies(before, after):
    """Operators in bodies whose names, kinds and attributes survived, in bodies of one name."""
    found = []
    for name in sorted(before.inner & after.inner):
        x, y = before.nodes[name], after.nodes[name]
        if (x.op_type, x.input, x.attribute) == (y.op_type, y.input, y.attribute):
            found.append([[name], [name], [], []])
    found += [[[], [], [x], [x]] for x in sorted(before.of_functions & after.of_functions)]
    return found
