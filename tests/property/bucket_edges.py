#!/usr/bin/env python3
# LONG: --all --count 2000 --seed 5000
"""Padding at the edges of its type: what is said of it holds, no kernel refuses it, and no true result
changes.

  bucket_edges.py GRAPHOPT [--all] [--count N] [--seed S] [--jobs N] [--values PROGRAM] [FILTER]

The models of _edge_models.py: operators with a rule for padding, in the types that they take and with
attributes at which they divide by 0, and N random chains of them; and, with --all, the node cases of the
onnx package's backend tests as bucket_nodes.py marks them. Without --all one model in SHARE is taken, and all
of those about integers beyond 2^53 and about casts to narrower types.

Inside: PROGRAM (graphopt_padding_values, beside the tool) says what the analysis claims of each value,
for inputs padded with 0, with 1, with anything finite, and with anything. The inputs are then padded with
elements from the edges of their types (lib/padding.py): greatest and least numbers, subnormal ones, NaN
and infinities, integers that are no length, index or divisor; and what the runtime gives is compared with
each claim, and with the true run. A padded run that fails is a problem where the results of the node that
fails are claimed.

Outside: where the tool calls the padding harmless, the model runs padded with such elements as `pad_class`
allows, and gives the true results.

Sums and products of finite elements are assumed to stay finite (docs/buckets.md). So where an operator of
SUMS reads them, elements are "large" at most; elsewhere they are as large as the type has. Masks that
outweigh scores are assumed to, so that scores of com.microsoft's Attention are those of data.
"""

import argparse
import collections
import contextlib
import json
import multiprocessing as mp
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time
import zlib

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "property"), str(TESTS / "equal")]
import _edge_models  # noqa: E402
import _pool  # noqa: E402
import bucket_nodes  # noqa: E402
from lib import backend_cases, layouts, padding, runs, verdicts  # noqa: E402
from lib.tool import executable  # noqa: E402

SHARE = 7  # the short form takes one of so many
RANGES = {"s": (2, 6), "b": (1, 3)}
TRUE, PADDED = {"s": 3, "b": 2}, {"s": 6, "b": 3}
PADS = (("const", 0), ("const", 1), ("finite", 0), ("any", 0))
NUMPY = "fiub"  # kinds of arrays that claims are about


class Subject:
    def __init__(self, name, model, data, marks, trials):
        self.name, self.model, self.data, self.marks, self.trials = name, model, data, marks, trials
        operators = {n.op_type for n in model.graph.node}
        given = {t.name for t in model.graph.initializer} | {o for n in model.graph.node for o in n.output}
        open_inputs = {v.name for v in padding.inputs_of(model) if not self.is_padded(v)}
        reads = {n.op_type for n in model.graph.node for i in n.input if i in open_inputs and i not in given}
        sums = operators & set(_edge_models.SUMS) or reads & set(_edge_models.ARITHMETIC)
        masks = any(n.domain == "com.microsoft" and n.op_type == "Attention" for n in model.graph.node)
        self.fills = ("garbage",) if masks else padding.EDGE_FILLS[1:] if sums else padding.EDGE_FILLS

    def is_padded(self, value):
        return any(d.names() & self.symbols() for d in padding.dims_of(value))

    def symbols(self):
        return {s for g in self.marks["groups"] for s in g["symbols"]}


def own_subject(name, text):
    model = onnx.parser.parse_model(text)
    used = {n for v in padding.inputs_of(model) for d in padding.dims_of(v) for n in d.names()}
    values = {}
    for v in padding.inputs_of(model):
        if v.type.tensor_type.elem_type in (onnx.TensorProto.INT64, onnx.TensorProto.INT32):
            values[v.name] = (1, 1) if v.name == "lengths" else (0, 1)
    marks = verdicts.marks([verdicts.each(s, *RANGES[s]) for s in sorted(used & set(RANGES))], values)
    rng = np.random.default_rng(zlib.crc32(name.encode()))

    def data(extents):
        feeds = padding.feeds_of(model, extents, rng, values)
        positive = {"Sqrt", "Log", "Pow"} & {n.op_type for n in model.graph.node}
        return {
            k: np.abs(v) + v.dtype.type(1) if v.dtype.kind == "f" and positive else v
            for k, v in feeds.items()
        }

    return Subject(name, model, data, marks, [(TRUE, PADDED), ({**TRUE, "s": 2}, PADDED)])


def backend_subjects(case, node, feeds):
    for marked in bucket_nodes.subjects(case, node, feeds):
        session = marked.admission()
        if isinstance(session, str):
            continue
        marks = verdicts.marks([verdicts.each(bucket_nodes.SYMBOL, *marked.range)], marked.values)
        trials = list(marked.trials(session))[:2]
        name = case.name + "".join(sorted(f" {i}.{axis}" for i, axis in marked.axes))
        yield Subject(name, marked.model, lambda e, m=marked: m.cut(e[bucket_nodes.SYMBOL]), marks, trials)


# ---- claims ------------------------------------------------------------------------------------------------


def claims_of(program, subject, kind, number, folder):
    """What the analysis says of each value, and the pads of the inputs."""
    path, marks = f"{folder}/edges.onnx", f"{folder}/edges.json"
    pathlib.Path(path).write_bytes(subject.model.SerializeToString())
    content = json.loads(json.dumps(subject.marks))
    padded = [v.name for v in padding.inputs_of(subject.model) if subject.is_padded(v)]
    if kind == "const":
        for name in padded:
            content.setdefault("inputs", {}).setdefault(name, {})["pad"] = number
    pathlib.Path(marks).write_text(json.dumps(content), encoding="utf-8")
    words = [f"{name}={kind}" for name in padded if kind != "const"]
    done = subprocess.run([program, path, marks, *words], capture_output=True, text=True, timeout=60)
    if done.returncode:
        return None, None
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.strip()]
    claims = {c["value"]: c for c in lines if "value" in c}
    return claims, verdicts.read_inputs(next(c["inputs"] for c in lines if "inputs" in c))


def part(model, names):
    """The model that makes these values alone."""
    needed, kept = set(names), []
    for n in reversed(model.graph.node):
        if needed & set(n.output):
            kept.append(n)
            needed |= set(n.input)
    copy = padding.with_outputs(model, names)
    del copy.graph.node[:]
    copy.graph.node.extend(reversed(kept))
    return copy


def numeric(model, names):
    """Those values that the runtime gives as arrays of numpy's own types."""
    shown = {}
    for name in names:
        try:
            session = runs.session(part(model, {name}))
        except Exception:  # noqa: BLE001 - ONNX Runtime has many kinds
            continue
        kind = session.get_outputs()[0].type
        if re.fullmatch(r"tensor\((float16|float|double|bool|u?int(8|16|32|64))\)", kind):
            shown[name] = session
    return shown


def claim_problems(program, subject, folder, rng, counts):
    for kind, number in PADS:
        claims, pads = claims_of(program, subject, kind, number, folder)
        if not claims:
            continue
        sessions = numeric(subject.model, claims)
        fills = subject.fills if kind != "const" else ("zero",)
        for true, padded in subject.trials:
            feeds = subject.data(true)
            if any(bad_true(a) for a in feeds.values()):
                continue
            expected = {}
            for name, session in sessions.items():
                with contextlib.suppress(Exception):  # the true run does not count
                    expected[name] = run(session, feeds)
            if any(bad_true(a) for a in expected.values()):
                continue
            for fill in fills:
                try:
                    longer = padding.padded_feeds(feeds, pads, true, padded, fill, rng)
                except ValueError:  # a pad that the type of an input does not hold
                    continue
                for name, a in expected.items():
                    counts["claims"] += 1
                    why = claim_problem(sessions[name], claims[name], a, longer, true, padded)
                    if why:
                        yield f"{kind} {number} {fill} pads: value {name}: {why}"
                        return


def bad_true(a):
    return a.dtype.kind == "f" and not np.isfinite(a).all()


def run(session, feeds):
    names = {i.name for i in session.get_inputs()}
    return session.run(None, {k: v for k, v in feeds.items() if k in names})[0]


def claim_problem(session, claim, a, feeds, true, padded):
    """How one value contradicts what is claimed of it."""
    try:
        b = run(session, feeds)
    except Exception as e:  # noqa: BLE001
        return f"the padded run fails: {' '.join(str(e).split())[-160:]}"
    cut = [layouts.layout(t) for t in claim["layout"]]
    try:
        at = padding.cut_of(verdicts.Output(cut, cut), a.shape, b.shape, true, padded, {})
    except ValueError as e:
        return str(e)
    if why := padding.difference(a, b[np.ix_(*at)] if a.ndim else b, 2 * padding.tolerance_of(a.dtype)):
        return why
    return next(padding.region_problems(claim, b, at, true, padded), None)


# ---- verdicts ----------------------------------------------------------------------------------------------


def verdict_problems(tool, subject, folder, rng, counts):
    verdict = verdicts.ask(tool, subject.model, subject.marks, folder)
    counts[verdict.name] += 1
    if not verdict.safe:
        return
    session = runs.session(subject.model)
    names = [o.name for o in session.get_outputs()]
    for true, padded in subject.trials:
        if not (verdict.admits(true) and verdict.admits(padded)):
            continue
        feeds = subject.data(true)
        try:
            expected = session.run(None, feeds)
        except Exception:  # noqa: BLE001 - the true run does not count
            continue
        if any(bad_true(a) for a in expected):
            continue
        for fill in subject.fills:
            longer = padding.padded_feeds(feeds, verdict.pads, true, padded, fill, rng)
            shown = {n: f"{p.kind} {p.value}" for n, p in verdict.pads.items()}
            where = f"{verdict.name}, pads {shown}, {fill}, {true} in {padded}"
            try:
                got = session.run(None, longer)
            except Exception as e:  # noqa: BLE001
                yield f"{where}: the padded run fails: {' '.join(str(e).split())[-160:]}"
                return
            known = {}
            for name, a, b in zip(names, expected, got):
                counts["comparisons"] += 1
                at = padding.cut_of(verdict.outputs[name], a.shape, b.shape, true, padded, known)
                cut = b[np.ix_(*at)] if a.ndim else b
                if why := padding.difference(a, cut, 5 * padding.tolerance_of(a.dtype)):
                    yield f"{where}: {name}: {why}"
                    return


# ---- the run -----------------------------------------------------------------------------------------------


def tasks_of(a):
    """What a process is given: a name and how the subjects of it are made."""
    for name, text in _edge_models.single_models():
        if (
            a.all
            or a.filter
            or name.startswith(_edge_models.ALWAYS)
            or zlib.crc32(name.encode()) % SHARE == 0
        ):
            yield ("own", name, text)
    for k in range(a.count):
        yield ("own", f"chain {a.seed + k}", _edge_models.Chain(random.Random(a.seed + k)).text())
    if a.all:
        for k, (case, _, _) in enumerate(backend_cases.nodes_alone()):
            yield ("backend", case.name, k)


@contextlib.contextmanager
def answering(tool, program, with_backend, verbose):
    ort.set_default_logger_severity(4)
    cases = list(backend_cases.nodes_alone()) if with_backend else []
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):

        def answer(task):
            kind, name, what = task
            counts, found = collections.Counter(), []
            for s in [own_subject(name, what)] if kind == "own" else backend_subjects(*cases[what]):
                rng = np.random.default_rng(zlib.crc32(s.name.encode()))
                counts["models"] += 1
                try:
                    runs.session(s.model)
                except Exception as e:  # noqa: BLE001
                    counts["refused by the runtime"] += 1
                    found += [f"note: {s.name}: {' '.join(str(e).split())[-120:]}"] if verbose else []
                    continue
                try:
                    # The marks promise more extents than these take.
                    promised = program and not name.startswith("extent")
                    problems = [*claim_problems(program, s, folder, rng, counts)] if promised else []
                    if kind == "own":
                        problems += verdict_problems(tool, s, folder, rng, counts)
                except (verdicts.ToolFailed, layouts.Unreadable, KeyError, ValueError) as e:
                    problems = [f"{type(e).__name__}: {e}"]
                counts["bad"] += bool(problems)
                found += [f"{s.name}: {p}" for p in problems]
                found += [what] if problems and s.name.startswith("chain") else []
            return counts, found

        yield answer


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("filter", nargs="?", default="", metavar="FILTER")
    p.add_argument("--all", action="store_true")
    p.add_argument("--count", type=int, default=60, metavar="N", help="random chains")
    p.add_argument("--seed", type=int, default=1, metavar="S")
    p.add_argument("--jobs", type=int, default=2, metavar="N")
    p.add_argument("--verbose", action="store_true", help="say which models the runtime refuses")
    p.add_argument("--values", type=executable, metavar="PROGRAM")
    a = p.parse_args()
    beside = pathlib.Path(a.tool).parent / "tests" / "graphopt_padding_values"
    if a.values is None and beside.exists():
        a.values = str(beside)
    begin, counts = time.monotonic(), collections.Counter()
    tasks = [t for t in tasks_of(a) if re.search(a.filter, t[1])]
    for task, answer in _pool.answers(answering, (a.tool, a.values, a.all, a.verbose), tasks, a.jobs):
        if isinstance(answer, _pool.Crash):
            counts["bad"] += 1
            print(f"{task[1]}: {answer.text}", flush=True)
            continue
        counts.update(answer[0])
        for line in answer[1]:
            print(line, flush=True)
    print(", ".join(f"{n} {what}" for what, n in sorted(counts.items())))
    print(f"{len(tasks)} tasks, {counts['bad']} bad, {time.monotonic() - begin:.0f} s")
    few = counts["refused by the runtime"] > 0.3 * counts["models"] or not (
        counts["comparisons"] or a.count == 0
    )
    if few:
        print("too few models were compared")
    return 1 if counts["bad"] or few else 0


if __name__ == "__main__":
    mp.set_start_method("fork")
    sys.exit(main())
