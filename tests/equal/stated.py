#!/usr/bin/env python3
# TIER: nightly
# WHEN: tests/vectors/stated/ tools/requirements.txt
"""The rows of tests/vectors/stated hold in ONNX Runtime: a run gives what inference and folding state.

  stated.py GRAPHOPT [--only TEXT] [-v]

tests/unit/stated_test.cpp wants graphopt to state what the rows say, and nothing else; here each row is run
with several extents of its symbols and several inputs, ONNX Runtime's optimizations off. Element types, ranks
and extents of all values of the main graph are compared with what is stated, elements too where they are
known, and folded tensors bit by bit ("~>": closely). Of a row whose model ONNX Runtime refuses, ranks and
numbers are compared with what onnx infers. How many rows have run, or have the other witness, is printed; the
first must not fall below SHARE.
"""

import argparse
import collections
import contextlib
import pathlib
import re
import sys

import numpy as np
import onnx.parser
import onnx.shape_inference
from onnx import helper

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "property")]
import _pool  # noqa: E402
from lib import runs  # noqa: E402

HEADER = "<ir_version: 10, opset_import: "
SEEDS = range(10)
SHARE = 0.3
CALLS = {"min": min, "max": max, "floor": int, "mod": lambda a, b: a % b}
TYPE = re.compile(r"(\w+)(?:\[(.*)\])?$")
TENSOR = re.compile(r"(\w+)\[([^\]]*)\]\{([^}]*)\}")
FRESH = re.compile(r"\?(\d+)(?:\{(-?\d+)\.\.(-?\d+)\})?$")
AS_BITS = {"float16": np.uint16, "bfloat16": np.uint16}


class Wrong(Exception):
    pass


def rows(path):
    """(number of the line, model, statements) of each row."""
    model, stated, first = "", "", 0
    for number, line in enumerate([*path.read_text().splitlines(), ""], 1):
        if line.startswith("#"):
            continue
        if line.startswith("> "):
            stated += line[2:] + " "
        elif line:
            first, model = first if model else number, model + line + " "
        elif model:
            yield first, model, [s for s in map(lambda s: s.strip(" ;"), stated.split("; ")) if s]
            model, stated = "", ""


def parts(text):
    """What commas part, outside of brackets."""
    found, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if c == "," and depth == 0:
            found.append(text[start:i])
            start = i + 1
    return [p.strip() for p in [*found, text[start:]] if p.strip()]


class Run:
    """What one run gives: compares it with statements."""

    def __init__(self, values, symbols):
        self.values, self.known = values, dict(symbols)

    def number(self, text, real):
        """Compares a stated number or expression with that of the run."""
        if text == "?":
            return
        if m := FRESH.match(text):
            if m[2] and not int(m[2]) <= real <= int(m[3]):
                raise Wrong(f"{real} is not between {m[2]} and {m[3]}")
            text = f"fresh_{m[1]}"
            self.known.setdefault(text, real)
        code = compile(text.replace(")/(", ")//("), text, "eval")
        if any(n not in self.known and n not in CALLS for n in code.co_names):
            return
        try:
            value = eval(code, {"__builtins__": {}}, CALLS | self.known)
        except ZeroDivisionError:
            return
        if value != real:
            raise Wrong(f"{text} = {value} is stated, {real} found")

    def type(self, text, value):
        for outer in ("seq", "optional"):
            if text.startswith(outer + "("):
                for element in value if isinstance(value, list) else [value]:
                    if element is not None:
                        self.type(text[len(outer) + 1 : -1], element)
                return
        if not isinstance(value, np.ndarray) or not (m := TYPE.match(text)):
            return
        name = {"bool": "bool", "float": "float32", "double": "float64"}.get(m[1], m[1])
        if value.dtype.name != name and value.dtype.kind in "fiub" and name in np.sctypeDict:
            raise Wrong(f"{m[1]} is stated, {value.dtype.name} found")
        if m[2] is None:
            return
        dims = parts(m[2])
        if len(dims) != value.ndim:
            raise Wrong(f"rank {len(dims)} is stated, {value.ndim} found")
        for d, real in zip(dims, value.shape):
            self.number(d, real)

    def statement(self, text):
        name, mark, what = re.match(r"(\S+?):? (->|~>|!>)? ?(.*)$", text).groups()
        if name not in self.values or what in ("bad operands", "too big", "not folded"):
            return
        value = self.values[name]
        if mark:
            if m := TENSOR.match(what):
                self.folded(m, value, mark == "->")
            return
        stated, _, elements = what.partition(" = ")
        self.type(stated.removesuffix(" ="), value)
        if isinstance(value, np.ndarray) and value.dtype.kind in "iubf":
            for e, real in zip(parts(elements), value.reshape(-1)):
                if np.isfinite(real):
                    self.number(e, int(real) if real == np.floor(real) else float(real))
                elif e != "?":
                    raise Wrong(f"{e} is stated, {real} found")

    def folded(self, m, value, exact):
        dims = tuple(int(d) for d in parts(m[2]))
        if value.shape != dims:
            raise Wrong(f"folded to {list(dims)}, {list(value.shape)} found")
        if m[1] == "string":  # of a tensor in the model: what it holds is not printed
            same = not m[3] or parts(m[3]) == [str(v) for v in value.reshape(-1)]
        elif value.dtype.kind in "fiub" or m[1] in AS_BITS:
            bits = value.view(AS_BITS[m[1]]) if m[1] in AS_BITS else value
            texts = parts(m[3])
            numbers = [float(t) if bits.dtype.kind == "f" else int(t) for t in texts]
            numbers = np.array(numbers, bits.dtype).reshape(dims)
            if exact:
                same = runs.bit_difference(numbers, bits) is None
            else:
                same = np.allclose(numbers, bits, rtol=1e-5, atol=1e-6, equal_nan=True)
        else:
            return
        if not same:
            raise Wrong(f"folded to {m[3]}, {value.reshape(-1).tolist()} found")


def check(model, statements):
    """Whether the row has run; raises Wrong."""
    graph = model.graph
    made = {o for n in graph.node for o in n.output if o}
    names = [n for n in dict.fromkeys(re.match(r"(\S+?):? ", s + " ")[1] for s in statements) if n in made]
    del graph.output[:], graph.value_info[:]
    graph.output.extend(helper.make_empty_tensor_value_info(n) for n in names)
    if any(n.op_type == "Unknown" for n in graph.node):  # an operator that graphopt does not know
        body = helper.make_node("Identity", ["a"], ["b"])
        opset = [o for o in model.opset_import if o.domain == ""]
        model.functions.append(helper.make_function("nobody", "Unknown", ["a"], ["b"], [body], opset))
    try:
        session = runs.session(model)
    except Exception:  # noqa: BLE001  not a model that ONNX Runtime takes
        return False
    ran = False
    for seed in SEEDS:
        extents = runs.extents_for(model, seed)
        try:
            with np.errstate(all="ignore"):
                feeds = runs.feeds_for(model, extents, seed, {})
            found = session.run(names, feeds)
        except Exception:  # noqa: BLE001  nor inputs
            continue
        ran = True
        run = Run(dict(zip(names, found)), extents)
        for name, value in feeds.items():
            run.values[name] = value
        for s in statements:
            try:
                run.statement(s)
            except Wrong as e:
                raise Wrong(f"{s}: {e}; extents {extents}, seed {seed}") from None
    return ran


def split(statement):
    """(name, dims or None)"""
    name, stated = re.match(r"(\S+?):? (?:->|~>|!>)? ?(.*)$", statement).groups()
    m = TYPE.match(stated.partition(" = ")[0].removesuffix(" ="))
    return name, parts(m[2]) if m and m[2] is not None else None


def check_inferred(model, statements):
    """Whether onnx infers a rank of something that is stated; raises Wrong where it infers another one, or
    another number. For rows that ONNX Runtime does not run: the standard's rules are the other witness."""
    try:
        graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    except Exception:  # noqa: BLE001  a node that does not fit its operator
        return False
    types = {v.name: v.type.tensor_type for v in [*graph.value_info, *graph.output]}
    seen = False
    for s in statements:
        name, dims = split(s)
        t = types.get(name)
        if dims is None or t is None or not t.HasField("shape"):
            continue
        seen = True
        if len(dims) != len(t.shape.dim):
            raise Wrong(f"{s}: rank {len(dims)} is stated, onnx infers {len(t.shape.dim)}")
        for d, found in zip(dims, t.shape.dim):
            if d.isdigit() and found.HasField("dim_value") and int(d) != found.dim_value:
                raise Wrong(f"{s}: {d} is stated, onnx infers {found.dim_value}")
    return seen


@contextlib.contextmanager
def checking():
    def answer(task):
        """(what has been a witness of the row: "run", "onnx" or "", what is wrong or "")"""
        _, _, text, statements = task
        try:
            if check(onnx.parser.parse_model(HEADER + text), statements):
                return "run", ""
            inferred = check_inferred(onnx.parser.parse_model(HEADER + text), statements)
            return "onnx" if inferred else "", ""
        except Wrong as e:
            return "run", str(e)

    yield answer


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", nargs="?", help="not used: the rows say what it states")
    p.add_argument("--only", default="", metavar="TEXT", help="rows whose model holds TEXT")
    p.add_argument("-v", action="store_true", help="print the rows that ONNX Runtime does not run")
    a = p.parse_args()
    files = sorted((TESTS / "vectors/stated").glob("*.txt"))
    tasks = [(f.name, *row) for f in files for row in rows(f) if a.only in row[1]]
    witnesses, bad = collections.Counter(), 0
    for (name, line, text, statements), answer in _pool.answers(checking, (), tasks, 2):
        # ONNX Runtime divides by 0 here and there.
        witness, wrong = ("", "") if isinstance(answer, _pool.Crash) else answer
        witnesses[witness or ("nobody" if any(split(s)[1] for s in statements) else "states no dims")] += 1
        bad += bool(wrong)
        if wrong:
            print(f"FAILED {name}:{line}: {wrong}\n  {text}")
        elif a.v and witness != "run":
            print(f"not run: {name}:{line}: {text}\n  {statements}")
    print(f"{len(tasks)} rows, {bad} wrong; witnesses: {dict(witnesses)}")
    return 1 if bad or witnesses["run"] < SHARE * len(tasks) else 0


if __name__ == "__main__":
    sys.exit(main())
