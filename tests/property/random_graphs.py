#!/usr/bin/env python3
# LONG: --count 10000 --seed 5000000
"""Random graphs before and after: the same bits in ONNX Runtime, at sizes with zeros and ones, with special
values.

  random_graphs.py GRAPHOPT [--count N] [--seed S] [--jobs N] [--keep DIR]

Graph number i of a run is made from seed S + i (tests/property/_graphs.py) and goes through the tool
  exactly (--exact), by default without the passes that may round, and with some of the exact passes in some
    order, all with --verify-each: the results have the bits of the original's, NaNs being equal; the default
    may differ by 1e-5 in a graph that has functions which fold in other bits
  by default: it runs, with results of the same types and extents
  twice: the second output has the first one's bytes
  with a dim fixed, where it has one: the same results at that size
  with -O0 --infer: every type, number and expression that is written holds in the runs
and it must not gain nodes. Each graph runs at five bindings of its symbols, without the runtime's own
optimizations; where the original does not run, nothing is compared. Where they differ and the original has
float16 values, ONNX Runtime may have left out one of them: the results may also be those of the original
with all values as outputs, or with its float16 values given, which makes it keep them; or the result's own
are the original's then. A failing graph is made small, written to DIR and printed with its seed.
"""

import argparse
import collections
import contextlib
import math
import multiprocessing as mp
import random
import re
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).resolve().parents[1])]
import _graphs  # noqa: E402
import _pool  # noqa: E402
import _shrink  # noqa: E402
from lib import counting  # noqa: E402
from lib.tool import exact_passes, rounding_passes  # noqa: E402


def session(model):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return ort.InferenceSession(
        model if isinstance(model, bytes) else model.SerializeToString(),
        options,
        providers=["CPUExecutionProvider"],
    )


def run(model, feeds):
    """Results by name for each feed; None for a feed that it refuses. A str when it does not load."""
    try:
        s = session(model)
    except Exception as e:  # noqa: BLE001
        return str(e)
    names, known, results = (
        [o.name for o in s.get_outputs()],
        {i.name for i in s.get_inputs() + s.get_overridable_initializers()},
        [],
    )
    for feed in feeds:
        try:
            results.append(dict(zip(names, s.run(None, {k: v for k, v in feed.items() if k in known}))))
        except Exception:  # noqa: BLE001
            results.append(None)
    return results


# ONNX Runtime computes float16 in float32 and leaves out the rounding between two operators that stand in one
# graph: its result changes when a branch is inlined (seed 12832), by as much as a rounding of each.
HALF = 2.0**-9


def same(a, b, rtol):
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind != "f":
        return np.array_equal(a, b)
    nan = np.isnan(a) & np.isnan(b)
    a, b = np.where(nan, 0, a), np.where(nan, 0, b)
    if a.tobytes() == b.tobytes():
        return True
    with np.errstate(all="ignore"):
        return rtol > 0 and np.allclose(a, b, rtol, rtol)


def passes_checker(model):
    """Whether onnx's checker takes the model, shapes included."""
    try:
        onnx.checker.check_model(model, full_check=True)
    except Exception:  # noqa: BLE001
        return False
    return True


def types_of(model):
    """Element types that the inputs, initializers and Casts of the main graph name."""
    g = model.graph
    return (
        {i.type.tensor_type.elem_type for i in g.input}
        | {i.data_type for i in g.initializer}
        | {a.i for n in g.node if n.op_type == "Cast" for a in n.attribute if a.name == "to"}
    )


class Failure(Exception):
    """kind: what went wrong, in a word; a shrunk graph must fail by the same kind."""

    def __init__(self, kind, text):
        super().__init__(f"{kind}: {text}")
        self.kind = kind


class Checker:
    def __init__(self, tool, folder, passes):
        self.tool, self.folder, self.passes = tool, Path(folder), passes
        self.rounding = ",".join(rounding_passes(tool))
        self.source = self.folder / "in.onnx"

    def optimize(self, *options, source=None, target="out.onnx"):
        target = self.folder / target
        target.unlink(missing_ok=True)
        command = [self.tool, str(source or self.source), "-o", str(target), "-q", *options]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        except subprocess.TimeoutExpired:
            raise Failure("hang", " ".join(options)) from None
        if done.returncode != 0:
            raise Failure(f"status {done.returncode}", f"{' '.join(options)}: {done.stderr.strip()[:400]}")
        return target

    def with_halves(self, feeds, path):
        """Ways in which a model may compute with float16, each a list of results like run()'s: with all
        values of the main graph as outputs, and with its float16 values given. [] where it has no float16.

        ONNX Runtime computes what has no kernel in half precision in float32 between casts, and leaves out a
        Cast to float16 in front of them: infinity becomes an integer's own number (seed 70810)."""
        model = onnx.load(path)
        if onnx.TensorProto.FLOAT16 not in types_of(model):
            return []
        outputs = {o.name for o in model.graph.output}
        model.graph.output.extend(
            helper.make_empty_tensor_value_info(o)
            for n in model.graph.node
            for o in n.output
            if o and o not in outputs
        )
        results = run(model, feeds)
        return [] if isinstance(results, str) else [results, self.from_halves(model, feeds, results)]

    @staticmethod
    def from_halves(model, feeds, results):
        """Results where each float16 value of the main graph is given as it came out, not computed: as an
        output of a Cast it has been rounded, but its consumers may read what was not (seed 5015183)."""
        halves = {n for r in results if r for n, v in r.items() if v.dtype == np.float16}
        given = onnx.ModelProto()
        given.CopyFrom(model)
        g = given.graph
        kept = [n for n in g.node if not any(n.output) or not all(o in halves for o in n.output if o)]
        gone = {o for n in g.node if n not in kept for o in n.output if o}
        del g.node[:]
        g.node.extend(kept)
        outputs = [o for o in g.output if o.name not in gone]
        del g.output[:]
        g.output.extend(outputs)
        g.input.extend(helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT16, None) for n in sorted(gone))
        found = []
        for feed, result in zip(feeds, results):
            more = {n: result[n] for n in gone} if result else {}
            again = run(given, [{**feed, **more}]) if result else [None]
            found.append(None if isinstance(again, str) or again[0] is None else {**result, **again[0]})
        return [f or r for f, r in zip(found, results)]

    def compare(self, before, target, feeds, rtol, what):
        """rtol None: types and extents alone."""
        after, halves = run(target.read_bytes(), feeds), None
        if isinstance(after, str):
            raise Failure(f"{what}: not loaded", after[:300])
        for k, (a, b) in enumerate(zip(before, after)):
            if a is None:
                continue
            if b is None:
                raise Failure(f"{what}: does not run", f"size {k}")
            for name in a:
                if rtol is None and a[name].dtype == b[name].dtype and a[name].shape == b[name].shape:
                    continue
                half = a[name].dtype == np.float16
                tolerance = rtol if rtol is None else max(rtol, HALF) if half else rtol
                if rtol is None or not same(a[name], b[name], tolerance):
                    if rtol is not None and halves is None:
                        halves = [self.with_halves(feeds, path) for path in (self.source, target)]
                    if halves and any(
                        way[k] and same(way[k][name], other[name], tolerance)
                        for ways, other in zip(halves, (b, a))
                        for way in ways
                    ):
                        continue
                    raise Failure(
                        f"{what}: differs",
                        f"size {k}, output {name}: {a[name].dtype}{a[name].shape} {a[name].ravel()[:6]} -> "
                        f"{b[name].dtype}{b[name].shape} {b[name].ravel()[:6]}",
                    )

    def all(self, model, feeds, rounding, seed):
        """Raises Failure. Returns how many sizes ran."""
        self.source.write_bytes(model.SerializeToString())
        before = run(model, feeds)
        if isinstance(before, str):
            return before
        rng = random.Random(seed)
        exact = self.optimize("--exact", "--verify-each", target="exact.onnx")
        self.compare(before, exact, feeds, 0, "exact")
        default = self.optimize("--verify-each")
        data = default.read_bytes()
        if data != exact.read_bytes():
            # Without the passes that round; how far these may differ is held by tests of their own.
            bits = self.optimize("--verify-each", "--disable-pass", self.rounding, target="bits.onnx")
            self.compare(before, bits, feeds, 1e-5 if rounding else 0, "default")
            self.compare(before, default, feeds, None, "default")
        if counting.nodes(onnx.load_from_string(data)) > counting.nodes(model):
            raise Failure("more nodes", "")
        again = self.optimize(source=default, target="again.onnx")
        if again.read_bytes() != data:
            raise Failure("second run", "differs from the first")
        some = rng.sample(self.passes, rng.randint(1, 5))
        self.compare(
            before,
            self.optimize("--exact", "--verify-each", "--passes=" + ",".join(some), target="some.onnx"),
            feeds,
            0,
            "passes " + ",".join(some),
        )
        self.fixed(model, before, feeds, rng)
        self.claims(model, feeds)
        return sum(b is not None for b in before)

    def fixed(self, model, before, feeds, rng):
        """--dim: only the sizes that have the value are legal then."""
        places = [
            (i.name, axis, d.dim_param)
            for i in model.graph.input
            for axis, d in enumerate(i.type.tensor_type.shape.dim)
            if d.dim_param in ("a", "b", "c")
        ]
        legal = [k for k in range(len(feeds)) if before[k] is not None]
        if not places or not legal:
            return
        k = rng.choice(legal)
        name, axis, symbol = rng.choice(places)
        n = feeds[k][name].shape[axis]
        chosen = [j for j in legal if all(feeds[j][i].shape[x] == n for i, x, s in places if s == symbol)]
        target = self.optimize("--exact", f"--dim={symbol}={n}", target="fixed.onnx")
        self.compare([before[j] for j in chosen], target, [feeds[j] for j in chosen], 0, "--dim")

    def claims(self, model, feeds):
        """What --infer writes against what the runs show, for the values of the main graph."""
        written = onnx.load(self.optimize("-O0", "--infer", target="infer.onnx")).graph
        claims = {
            v.name: v.type for v in [*written.value_info, *written.output] if v.type.HasField("tensor_type")
        }
        wide = _shrink.copy(model)
        outputs = {o.name for o in model.graph.output}
        wide.graph.output.extend(
            helper.make_empty_tensor_value_info(o)
            for n in model.graph.node
            for o in n.output
            if o in claims and o not in outputs
        )
        results = run(wide, feeds)
        if isinstance(results, str):
            return
        for k, found in enumerate(results):
            symbols = {}
            for i in model.graph.input:
                for axis, d in enumerate(i.type.tensor_type.shape.dim):
                    if d.dim_param and i.name in feeds[k]:
                        symbols[d.dim_param] = feeds[k][i.name].shape[axis]
            known = dict(symbols)
            for name, value in (found or {}).items():
                self.claim(model, claims.get(name), name, value, known, k)

    @staticmethod
    def claim(model, claim, name, value, symbols, k):
        if claim is None:
            return

        def wrong(text):
            raise Failure("claim", f"'{name}' at size {k} is {value.dtype}{list(value.shape)}; {text}")

        t = claim.tensor_type
        if t.elem_type and t.elem_type != helper.np_dtype_to_tensor_dtype(value.dtype):
            wrong(f"elem_type {t.elem_type}")
        if not t.HasField("shape"):
            return
        if len(t.shape.dim) != value.ndim:
            wrong(f"rank {len(t.shape.dim)}")
        for d, n in zip(t.shape.dim, value.shape):
            if d.HasField("dim_value") and d.dim_value != n:
                wrong(f"dim {d.dim_value}")
            if d.dim_param:
                m = evaluate(d.dim_param, symbols)
                if (
                    m is None
                    and re.fullmatch(r"[^-+*/(), ]+", d.dim_param)
                    and not d.dim_param.startswith(name)
                ):
                    m = symbols.setdefault(d.dim_param, n)  # a fresh symbol is one number throughout a run
                if m is not None and m != n:
                    wrong(f"dim {d.dim_param} = {m}")


def evaluate(text, symbols):
    """An expression of --infer at these symbols; None when it has others. A name that could be read as
    something else stands between quotes; a symbol that is the whole text does not."""
    if text in symbols:
        return symbols[text]
    names = {"floor": math.floor, "min": min, "max": max, "mod": lambda a, b: a % b}
    names.update({s: Fraction(n) for s, n in symbols.items() if s.isidentifier()})

    def known(quoted):
        name = re.sub(r"\\(.)", r"\1", quoted[0][1:-1])
        if name not in symbols:
            return "unknown_name"
        names[f"quoted_{len(names)}"] = Fraction(symbols[name])
        return f"quoted_{len(names) - 1}"

    text = re.sub(r"'(?:[^'\\]|\\.)*'", known, text)
    if not set(re.findall(r"[A-Za-z_]\w*", text)) <= set(names):
        return None
    try:
        return eval(text, {"__builtins__": {}}, names)  # noqa: S307 - names and numbers of our own graphs
    except (SyntaxError, TypeError):
        return None


def values_of(model, names, feeds):
    m = _shrink.copy(model)
    m.graph.output.extend(helper.make_empty_tensor_value_info(n) for n in names)
    got = run(m, feeds)
    if isinstance(got, str) or any(r is None for r in got):
        return None
    return [{n: r[n] for n in names} for r in got]


def check_seed(tool, seed, folder, keep, passes):
    """(what to count it as, report or None)"""
    try:
        rng = random.Random(seed)
        graph = _graphs.Graph(rng)
        model, feeds = graph.model, graph.feeds(rng)
    except Exception as e:  # noqa: BLE001
        return "not made", f"seed {seed}: the generator failed: {type(e).__name__} {e}"
    checker = Checker(tool, folder, passes)
    try:
        ran = checker.all(model, feeds, graph.rounding, seed)
        if isinstance(ran, str):
            return "refused by the runtime: " + re.sub(r"'[^']*'|\d+|\([^)]*\)", "_", ran)[:90], None
        return f"ran at {ran} of {len(feeds)} sizes", None
    except Failure as failure:

        def fails(m, f):
            try:
                checker.all(m, f, graph.rounding, seed)
            except Failure as again:
                return again.kind == failure.kind
            return False

        first = str(failure)
        model, feeds = _shrink.shrink(tool, model, feeds, fails, values_of)
        try:
            checker.all(model, feeds, graph.rounding, seed)
        except Failure as again:
            first = str(again)
        text = f"seed {seed}: {first}"
        if keep:
            path = Path(keep, f"seed{seed}.onnx")
            path.write_bytes(model.SerializeToString())
            np.savez(
                path.with_suffix(".npz"), **{f"{i}:{k}": v for i, f in enumerate(feeds) for k, v in f.items()}
            )
            text += f"\n  written to {path}"
        return "failed", text + "\n" + onnx.printer.to_text(model)


@contextlib.contextmanager
def checking(tool, keep):
    ort.set_default_logger_severity(4)
    # A pass that rounds cannot be compared here: sums in another order overflow at other inputs, so no
    # tolerance fits values at the end of their type. merge_matmuls.py bounds what merge-matmuls rounds.
    passes = exact_passes(tool)
    with tempfile.TemporaryDirectory() as folder:
        yield lambda seed: check_seed(tool, seed, folder, keep, passes)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("--count", type=int, default=80)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--keep", help="folder for failing models")
    a = p.parse_args()
    if a.keep:
        Path(a.keep).mkdir(parents=True, exist_ok=True)
    begin, counts, failures = time.time(), collections.Counter(), []
    for seed, answer in _pool.answers(
        checking, (a.tool, a.keep), range(a.seed, a.seed + a.count), min(a.jobs, a.count)
    ):
        kind, report = (answer.text, None) if isinstance(answer, _pool.Crash) else answer
        counts[kind] += 1
        if isinstance(answer, _pool.Crash):
            print(f"seed {seed}: {kind}")
        if report:
            failures.append(report)
            print(report, flush=True)
    for kind, n in counts.most_common():
        print(f"{n:7} {kind}")
    compared = sum(
        n for kind, n in counts.items() if kind.startswith("ran at") and not kind.startswith("ran at 0")
    )
    print(
        f"{a.count} graphs from seed {a.seed}, {compared} compared, "
        f"{len(failures)} failures, {time.time() - begin:.1f} s"
    )
    if compared < a.count * 0.7 and not failures:
        print("too few graphs were compared: the generator makes what the runtime refuses")
        return 1
    return 1 if failures or not compared else 0


if __name__ == "__main__":
    mp.set_start_method("fork")
    sys.exit(main())
