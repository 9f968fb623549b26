#!/usr/bin/env python3
# LONG: --only golden/ --count 30000 --per-model 40 --seed 77
"""Neighbours of known models: each with one thing changed, which a condition somewhere must notice.

  neighbours.py GRAPHOPT [--count N] [--seed S] [--only TEXT] [--change TEXT] [--per-model N] [--jobs N] [-v]

The known models, with the options they go through the tool with:
  golden/...  the golden cases, with their own options
  folded/...  the one-node cases of the backend tests, all operands constant: constant-folding, --exact
  shapes/...  the same with the first operand as an input and the Shape of each result as an output: -O1
They show what the code does, and what it must leave alone. A neighbour (the changes are listed in
_neighbours.py) is what their authors did not think of: an operand is absent, an axis is another one, a
constant is off by one, a value is read once more, a rank is unknown.
  The tool must end with status 0, or 2 for a model that it cannot use, and must not find an error in itself;
  where ONNX Runtime (its optimizations off) runs the neighbour, it must run the result, too, and give the
    same: bit for bit if nothing in the case rounds, else closely, on finite values; float16 closely, since
    the runtime leaves out its rounding between some nodes; what is random or never written does not count;
  a second run over the result must give the same bytes;
  a value that an annotation names must be there, with the same elements.
N neighbours (default 900) are drawn by a hash of the seed and their names.
"""

import argparse
import collections
import contextlib
import hashlib
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnx.parser
import onnx.printer
from onnx import helper

import _neighbours
import _pool

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "golden")]
import run as golden  # noqa: E402
from lib import backend_cases, compare, counting, runs  # noqa: E402
from lib.tool import exact_passes, rounding_passes  # noqa: E402

CLOSE = dict(rtol=1e-3, atol=1e-3)  # for passes that round; what is wrong is wrong by more
CLOSE_HALF = dict(rtol=1e-2, atol=1e-2)  # for numbers with a precision of 1e-3 that are rounded several times
DRAWS = 20  # runs of what may be random: few numbers, drawn twice, may be the same
SEEDS = 3
PER_MODEL = 6  # neighbours of a known model, by default
FORMS = (
    ("folded", 0, ["--passes=constant-folding", "--exact"]),
    ("shapes", 1, ["-O1", "--exact"]),
)
MEMORY = 6 << 30  # bytes; a changed constant may ask the runtime for a tensor of any size


def is_exact(case, exact):
    """`exact`: the passes that keep every bit at the default level."""
    options = case["options"]
    if case["rtol"] or case["atol"]:
        return False
    if "--exact" in options or "-O1" in options:
        return True
    for i, o in enumerate(options):
        if o.startswith("--passes"):
            names = o.partition("=")[2] or options[i + 1]
            return set(names.split(",")) <= exact
    return False


def same(x, y, exact):
    if exact:
        return runs.bit_difference(x, y) is None
    if isinstance(x, list) or isinstance(y, list):
        return isinstance(y, list) and len(x) == len(y) and all(same(p, q, exact) for p, q in zip(x, y))
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    close = CLOSE_HALF if x.dtype == np.float16 else CLOSE
    return np.allclose(x, y, equal_nan=True, **close) if x.dtype.kind == "f" else np.array_equal(x, y)


def has_halves(model):
    """Whether a value of the model may have a type of 16 bits."""
    return any(t in onnx.printer.to_text(model) for t in ("float16", f"to: int = {onnx.TensorProto.FLOAT16}"))


def is_defined(model, session, feeds, expected):
    """Whether the results are the same each time: they are not drawn, and all of them is written."""
    nodes = [n for part in (model.graph, *model.functions) for n in counting.nested(part.node)]
    draws = any(n.op_type in compare.RANDOM | {"Dropout"} for n in nodes)
    again = [session.run(None, feeds) for _ in range(DRAWS if draws else 1)]
    with runs.filled_memory():
        again.append(runs.session(model, fresh=True).run(None, feeds))
    return all(same(p, q, True) for results in again for p, q in zip(expected, results))


def difference(before, after, typed, exact):
    """(how the results differ or "", whether the original ran). `typed` has the types of the inputs."""
    try:
        first, shapes = runs.session(before), golden.session(typed)
    except Exception:  # noqa: BLE001  not a model that the runtime takes
        return "", False
    second, ran = None, False
    for seed in range(SEEDS if exact else 1):
        try:
            with np.errstate(all="ignore"):
                feeds = golden.feeds_for(shapes, seed, {})
            feeds = {i.name: feeds[i.name] for i in first.get_inputs() if i.name in feeds}
            expected = first.run(None, feeds)
        except Exception:  # noqa: BLE001  nor inputs
            continue
        ran = True
        try:
            second = second or runs.session(after)
            got = second.run(None, feeds)
        except Exception as e:  # noqa: BLE001
            return f"the result does not run: {' '.join(str(e).split())[:200]}", True
        for o, p, q in zip(first.get_outputs(), expected, got):
            if not same(p, q, exact) and is_defined(before, first, feeds, expected):
                return f"output {o.name} differs, seed {seed}: {p} became {q}"[:400], True
    return "", ran


def optimize(tool, source, target, options):
    command = [tool, source, "-o", target, "--verify-each", "-q", *options]
    with contextlib.suppress(FileNotFoundError):
        os.remove(target)
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=60)
    except subprocess.TimeoutExpired:
        return None, "no end within 60 s"
    return done.returncode, done.stderr.strip()[-300:]


@contextlib.contextmanager
def checking(tool):
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    tool = os.path.abspath(tool)
    parsed = {}
    with tempfile.TemporaryDirectory() as folder:
        source, target, twice = (os.path.join(folder, f) for f in ("in.onnx", "out.onnx", "twice.onnx"))

        def answer(task):
            """(outcome, what is wrong or "", the model as text)"""
            _, data, number, options, exact, *original_only = task
            if data not in parsed:
                parsed.clear()
                base = onnx.load_from_string(data)
                parsed[data] = base, _neighbours.changes(base)
            base, found = parsed[data]
            change, apply, as_before = found[number]
            model = _neighbours.changed(base, apply)
            if original_only:
                difference(model, model, base if as_before else model, True)
                return "crashed", f"{change}: the result crashes the runtime, the original does not", ""
            onnx.save(model, source)
            status, text = optimize(tool, source, target, options)
            if status == 2 or (status == 1 and "the model's inputs have no symbol" in text):
                return "refused", "", ""
            if status != 0:
                return "failed", f"{change}: status {status}: {text}", onnx.printer.to_text(model)
            after = onnx.load(target)
            shown = [_neighbours.showing_annotated(m) for m in (model, after)]
            if None in shown:
                return "wrong", f"{change}: an annotated value is gone", onnx.printer.to_text(model)
            wrong, ran = difference(*shown, base if as_before else model, exact and not has_halves(model))
            if not wrong and optimize(tool, target, twice, options)[0] != 0:
                wrong = "a second run fails"
            if not wrong and pathlib.Path(target).read_bytes() != pathlib.Path(twice).read_bytes():
                wrong = "a second run changes the result"
            outcome = "wrong" if wrong else "compared" if ran else "not run"
            return outcome, wrong and f"{change}: {wrong}", wrong and onnx.printer.to_text(model)

        yield answer


def fixed(case, keep):
    """A case of one node whose inputs, but for the first `keep`, are initializers; None where it has none, or
    large."""
    values, m = case.sets[0][0], onnx.ModelProto()
    m.CopyFrom(case.model)
    inputs = backend_cases.inputs_of(m.graph)
    if len(m.graph.node) != 1 or len(values) != len(inputs) or len(inputs) <= keep:
        return None
    if not all(v.type.HasField("tensor_type") for v in inputs) or sum(map(len, values)) > 4000:
        return None
    for v, data in list(zip(inputs, values))[keep:]:
        m.graph.initializer.append(onnx.TensorProto.FromString(data))
        m.graph.initializer[-1].name = v.name
        m.graph.input.remove(v)
    m.ir_version = max(m.ir_version, 4)
    if keep:
        for o in list(m.graph.output):
            if o.type.HasField("tensor_type"):
                m.graph.node.append(helper.make_node("Shape", [o.name], [f"{o.name}_shape"]))
                shape = helper.make_tensor_value_info(f"{o.name}_shape", onnx.TensorProto.INT64, [None])
                m.graph.output.append(shape)
    for o in m.graph.output:
        for d in o.type.tensor_type.shape.dim:
            d.Clear()
    return m


def known(tool, only=""):
    """(name, what makes the model, options, whether all passes are exact); perhaps without those whose name
    does not begin with `only`."""
    exact = set(exact_passes(tool)) - set(rounding_passes(tool))
    for path in sorted((TESTS / "golden").rglob("*.txt")):
        case = golden.read_case(str(path))
        name = path.relative_to(TESTS).as_posix()
        yield (
            name,
            lambda c=case: onnx.parser.parse_model(c["before"]),
            case["options"],
            is_exact(case, exact),
        )
    if only.startswith("golden"):
        return
    for case in backend_cases.candidates(("node",)):
        for folder, keep, options in FORMS:
            yield f"{folder}/{case.name}", lambda c=case, k=keep: fixed(c, k), options, True


def draw(a):
    """The tasks of checking(): some neighbours of as many known models as are needed, model by model."""
    found = []

    def order(name):
        return hashlib.sha256(f"{a.seed} {name}".encode()).hexdigest()

    for name, make, options, exact in sorted(known(a.tool, a.only), key=lambda k: order(k[0])):
        if a.only not in name or len(found) >= a.count or (model := make()) is None:
            continue
        data = model.SerializeToString()
        changes = enumerate(_neighbours.changes(model))
        changes = [(order(f"{name} {text}"), k) for k, (text, *_) in changes if a.change in text]
        some = sorted(changes)[: a.per_model]
        found += [(name, data, k, options, exact) for _, k in some]
    return found[: a.count]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--count", type=int, default=300, metavar="N")
    p.add_argument("--seed", type=int, default=1, metavar="S")
    p.add_argument("--only", default="", metavar="TEXT", help="of models whose name holds TEXT")
    p.add_argument("--change", default="", metavar="TEXT", help="of changes whose text holds TEXT")
    p.add_argument("--per-model", type=int, default=PER_MODEL, metavar="N")
    p.add_argument("--jobs", type=int, default=2, metavar="N")
    p.add_argument("-v", action="store_true", help="print the models that fail")
    a = p.parse_args()
    tasks = draw(a)
    outcomes, bad = collections.Counter(), 0
    crashed = []

    def look(task, answer):
        nonlocal bad
        outcome, wrong, text = answer
        outcomes[outcome] += 1
        if wrong:
            bad += 1
            print(f"FAILED {task[0]} #{task[2]} {wrong}", flush=True)
            if a.v:
                print(text)

    for task, answer in _pool.answers(checking, (a.tool,), tasks, a.jobs):
        if isinstance(answer, _pool.Crash):
            crashed.append((*task, True))
        else:
            look(task, answer)
    for task, answer in _pool.answers(checking, (a.tool,), crashed, 1):
        own = isinstance(answer, _pool.Crash)
        look(task, ("crashes the runtime by itself", "", "") if own else answer)
    print(f"{len(tasks)} neighbours: " + ", ".join(f"{k} {n}" for k, n in outcomes.most_common()))
    return 1 if bad or not outcomes["compared"] else 0


if __name__ == "__main__":
    sys.exit(main())
