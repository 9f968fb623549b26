#!/usr/bin/env python3
# LONG: --count 6000 --seed 100000
"""Bodies whose operands have other extents each time: the optimized model gives the original's results.

  changing_extents.py GRAPHOPT [--count N] [--seed S] [--save FOLDER]

A Loop carries a tensor that grows or shrinks from round to round, and a model-local function is called with
operands of several extents. What graphopt learns in the first round or of the first call is not true in the
others. The body computes with the tensor, counts what NonZero and Compress find, and compares Shape and Size
of what it has with small numbers (Min, Max, Div, Mod, Equal, Less ...), which a wrong bound would fold away;
so does the main graph with what the body returns. Floats are computed with --exact; every result must have
the bits and the shape of the original's in ONNX Runtime, its own optimizations off. A feed with which the
original fails does not count.
"""

import argparse
import random
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib.runs import bit_difference, session  # noqa: E402
from lib.tool import executable  # noqa: E402

NUMBERS = [-1, 0, 1, 2, 3, 4, 5, 8, 16, 100]
HEADER = '<ir_version: 10, opset_import: ["" : 18, "local" : 1]>'
FUNCTION = '<domain: "local", opset_import: ["" : 18]>'


class Body:
    """Lines of text that compute with `x`, a float tensor of a known rank."""

    def __init__(self, rng, rank):
        self.rng, self.lines, self.count, self.numbers = rng, [], 0, {}
        self.floats = [("x", rank)]
        self.probes = []  # int64 scalars

    def add(self, text):
        self.count += 1
        name = f"v{self.count}"
        self.lines.append(f"{name} = {text}")
        return name

    def number(self, *values):
        """A constant of the body: a function has no initializers."""
        if values not in self.numbers:
            values_text = ", ".join(map(str, values))
            self.numbers[values] = self.add(f"Constant <value_ints = [{values_text}]> ()")
        return self.numbers[values]

    def scalar(self, value):
        key = ("scalar", value)
        if key not in self.numbers:
            self.numbers[key] = self.add(f"Constant <value_int = {value}> ()")
        return self.numbers[key]

    def tensor_step(self):
        rng = self.rng
        t, r = rng.choice(self.floats[-4:] + self.floats[:1])
        axis = rng.randrange(r)
        kind = rng.randrange(16)
        if kind < 2:
            made, rank = self.add(f"{rng.choice(['Neg', 'Abs', 'Relu', 'Sign', 'Identity'])} ({t})"), r
        elif kind < 5:
            made, rank = self.add(f"Concat <axis = {axis}> ({', '.join([t] * rng.randint(2, 3))})"), r
        elif kind < 7:
            first = rng.choice([(0, 2), (1, 2**31 - 1), (-1, 2**31 - 1), (0, -1), (2, 5)])
            bounds = ", ".join(self.number(b) for b in (*first, axis))
            made, rank = self.add(f"Slice ({t}, {bounds})"), r
        elif kind == 7 and r > 1:
            order = rng.sample(range(r), r)
            made, rank = self.add(f"Transpose <perm = {order}> ({t})"), r
        elif kind == 8:
            target = rng.choice([(-1,), (0, -1), (1, -1)][: 1 + 2 * (r > 1)])
            made, rank = self.add(f"Reshape ({t}, {self.number(*target)})"), len(target)
        elif kind == 9 and r < 3:
            made, rank = self.add(f"Unsqueeze ({t}, {self.number(rng.randint(0, r))})"), r + 1
        elif kind == 10:
            indices = self.number(*[rng.choice([0, 0, -1, 1]) for _ in range(rng.randint(1, 3))])
            made, rank = self.add(f"Gather <axis = {axis}> ({t}, {indices})"), r
        elif kind == 11:
            made, rank = self.add(f"ReduceMax <keepdims = 1> ({t}, {self.number(axis)})"), r
        elif kind == 12:
            repeats = [1] * r
            repeats[axis] = rng.choice([0, 1, 2])
            made, rank = self.add(f"Tile ({t}, {self.number(*repeats)})"), r
        elif kind == 13:
            positive = self.add(f"Cast <to = 9> ({t})")
            flat = self.add(f"Reshape ({positive}, {self.number(-1)})")
            made, rank = self.add(f"Compress ({t}, {flat})"), 1
        elif kind == 14:
            found = self.add(f"NonZero ({t})")
            made, rank = self.add(f"Cast <to = 1> ({found})"), 2
        else:
            pads = [0] * (2 * r)
            pads[axis] = rng.randint(0, 2)
            made, rank = self.add(f"Pad ({t}, {self.number(*pads)})"), r
        self.floats.append((made, rank))

    def probe(self):
        rng = self.rng
        t, r = rng.choice(self.floats)
        if rng.random() < 0.2:
            k = self.add(f"Size ({t})")
        else:
            shape = self.add(f"Shape ({t})")
            k = self.add(f"Gather ({shape}, {self.scalar(rng.randrange(r))})")
        for _ in range(rng.randint(1, 2)):
            c = self.scalar(rng.choice(NUMBERS))
            if self.probes and rng.random() < 0.3:
                c = rng.choice(self.probes)
            op = rng.choice(["Min", "Max", "Min", "Max", "Add", "Sub", "Mul", "Equal", "Less", "Div", "Mod"])
            if op in ("Equal", "Less"):
                flag = self.add(f"{op} ({k}, {c})")
                k = self.add(f"Where ({flag}, {self.scalar(rng.choice(NUMBERS))}, {k})")
            elif op in ("Div", "Mod"):
                k = self.add(f"{op} ({k}, {self.scalar(rng.choice([1, 2, 3, 4]))})")
            else:
                k = self.add(f"{op} ({k}, {c})")
        self.probes.append(k)

    def grow(self):
        for _ in range(self.rng.randint(2, 9)):
            self.tensor_step() if self.rng.random() < 0.6 else self.probe()
        self.probe()

    def text(self):
        return "\n".join(f"  {line}" for line in self.lines)


def dims(rng, rank):
    return [rng.choice([0, 1, 2, 3, 4]) for _ in range(rank)]


def typed(name, extents):
    return f"float[{', '.join(map(str, extents))}] {name}"


def free(name, rank):
    return f"float[{', '.join(f'{name}_{i}' for i in range(rank))}] {name}"


def loop_model(rng):
    """(text, extents of x)"""
    rank = rng.randint(1, 3)
    body = Body(rng, rank)
    body.grow()
    extents = dims(rng, rank)
    last = rng.choice([name for name, r in body.floats if r == rank])
    probes = body.probes[-3:]
    after = Body(rng, rank)
    after.count = 1000
    after.grow()
    outputs = [f"q{i}" for i in range(len(probes))]
    results = ", ".join(f"int64 p{i}" for i in range(len(probes)))
    x = typed("x0", extents) if rng.random() < 0.7 else free("x0", rank)
    return (
        f"{HEADER}\ng ({x}, int64 trips) => ({', '.join(['x', *outputs, *after.probes])}) "
        "<bool go = {1}> {\n"
        f"  {', '.join(['x', *outputs])} = Loop (trips, go, x0) <body = step (int64 round, bool c, "
        f"{free('x', rank)}) => (bool d, float[] y, {results}) {{\n"
        f"{body.text()}\n  d = Identity (c)\n  y = Identity ({last})\n"
        + "".join(f"  p{i} = Identity ({p})\n" for i, p in enumerate(probes))
        + f"  }}>\n{after.text()}\n}}",
        {"x0": extents},
    )


def call_model(rng):
    rank = rng.randint(1, 2)
    body = Body(rng, rank)
    body.grow()
    probes = body.probes[-2:]
    last, last_rank = rng.choice(body.floats)
    names, extents, lines, outputs = [], {}, [], []
    for i in range(rng.randint(2, 3)):
        name = f"in{i}"
        extents[name] = dims(rng, rank)
        names.append(typed(name, extents[name]) if rng.random() < 0.7 else free(name, rank))
        results = [f"y{i}", *(f"q{i}_{k}" for k in range(len(probes)))]
        lines.append(f"  {', '.join(results)} = local.step ({name})")
        after = Body(rng, last_rank)
        after.floats = [(f"y{i}", last_rank)]
        after.count = 1000 * (i + 1)
        after.probe()
        after.probe()
        lines.append(after.text())
        outputs += [*results, *after.probes]
    return (
        f"{HEADER}\ng ({', '.join(names)}) => ({', '.join(outputs)}) {{\n" + "\n".join(lines) + "\n}\n"
        f"{FUNCTION}\nstep (x) => (y, {', '.join(f'p{i}' for i in range(len(probes)))}) {{\n"
        f"{body.text()}\n  y = Identity ({last})\n"
        + "".join(f"  p{i} = Identity ({p})\n" for i, p in enumerate(probes))
        + "}",
        extents,
    )


def feeds(rng, model, extents):
    for _ in range(4):
        feed = {}
        for value in model.graph.input:
            if value.name == "trips":
                feed["trips"] = np.array(rng.choice([0, 1, 2, 3, 4]), np.int64)
                continue
            fixed = all(d.HasField("dim_value") for d in value.type.tensor_type.shape.dim)
            shape = extents[value.name] if fixed else dims(rng, len(extents[value.name]))
            numbers = [rng.choice([0.0, -1.0, 1.0, 2.0, -0.0, np.nan]) for _ in range(int(np.prod(shape)))]
            feed[value.name] = np.array(numbers, np.float32).reshape(shape)
        yield feed


def check(tool, seed, save):
    """(what is wrong or None, whether a node went, how many feeds count)"""
    rng = random.Random(seed)
    text, extents = (loop_model if rng.random() < 0.6 else call_model)(rng)
    model = onnx.parser.parse_model(text)
    if save:
        (save / f"{seed}.onnxtxt").write_text(text)
    try:
        old = session(model)
    except Exception:  # noqa: BLE001  the runtime's exceptions have no common base
        return None, False, 0
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.onnx", Path(folder) / "out.onnx"
        source.write_bytes(model.SerializeToString())
        words = [tool, source, "-o", target, "-q", "--exact", "--verify-each"]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode == 2 and "cannot" in done.stderr:
            fails = all(fails_with(old, feed) for feed in feeds(rng, model, extents))
            return (None if fails else f"refused, and it runs: {done.stderr[-300:]}"), False, 0
        if done.returncode:
            return f"exit status {done.returncode}: {done.stderr[-400:]}", False, 0
        changed = target.read_bytes() != source.read_bytes()
        try:
            new = session(str(target))
        except Exception as e:
            return f"ONNX Runtime refuses the result: {str(e)[:300]}", changed, 0
    count = 0
    for feed in feeds(rng, model, extents):
        try:
            before = old.run(None, feed)
        except Exception:  # noqa: BLE001
            continue
        count += 1
        try:
            after = new.run(None, feed)
        except Exception as e:
            return f"the result fails: {str(e)[:300]}", changed, count
        for output, a, b in zip(model.graph.output, before, after, strict=True):
            if text := bit_difference(a, b):
                return f"{output.name}: {text}", changed, count
    return None, changed, count


def fails_with(run, feed):
    try:
        run.run(None, feed)
    except Exception:  # noqa: BLE001
        return True
    return False


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", type=executable)
    p.add_argument("--count", type=int, default=150)
    p.add_argument("--seed", type=int, default=550)  # where old defects are found
    p.add_argument("--save", type=Path)
    a = p.parse_args()
    bad = counted = runs = changed = 0
    seeds = range(a.seed, a.seed + a.count)
    with ThreadPoolExecutor(2) as pool:
        for seed, (wrong, change, count) in zip(
            seeds, pool.map(lambda s: check(a.tool, s, a.save), seeds), strict=True
        ):
            counted, runs, changed = counted + (count > 0), runs + count, changed + change
            if wrong:
                bad += 1
                print(f"seed {seed}: {wrong}", flush=True)
    print(f"{a.count} models, {counted} run, {changed} change, {runs} runs; {bad} wrong")
    if counted < a.count // 3:
        print("too few models run")
        return 1
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
