#!/usr/bin/env python3
"""Golden tests: ONNX text in, pipeline line, ONNX text out, compared up to names and the order of independent
nodes.

  run.py GRAPHOPT [--only TEXT] [--shard K/N] [--update] [--list]

A case is a file in a folder named after the pass that it is about, or in a folder within that one. Lines that
start with '#' come first; of these, '# WORD:' with a WORD that is not listed here is an error.

  # RUN: graphopt --passes=drop-identity    options; --verify-each is always added
  # STAT: drop-identity.identity = 1        a counter of the report (any number of lines)
  # SAME: rtol=0 atol=0                     how equal the outputs must be in ONNX Runtime (default: bit-equal;
                                            a NaN equals any NaN)
  # INPUTS: x finite                        the domain of an input, from which its values are taken in every
  # INPUTS: x range -10 10                  run (any number of lines; see below)
  # NORUN: reason                           ONNX Runtime cannot run this model
  # EXPLAIN: multi-use                      with --explain of the folder's pass, the report gives this reason
                                            for a refused candidate (any number of lines; a|b: one of these)
  # EXPLAIN: noop y: the dims differ        the same of a rule: its name, the first result of the node (or the
                                            initializer) that it refused, and the whole reason
  # EXAMPLE: two Transposes in a row        docs/passes.md shows this case, one of each pass, under this text
                                            (tools/packaging/passes_page.py)
  # free text: why the rule applies, or must not
  === before
  ... ONNX text ...
  === after            or:   === unchanged        (the rule must not apply)
  ... ONNX text ...

Each case is run three times: as it stands (compared with `after`, executed before and after, run again on its
own output, which must not change), with the dims of its inputs turned into symbols, and with its initializers
turned into inputs (both executed only: another result is right there). Where `after` states value_info, the
result must state it too: word for word that of values of which `before` states it, and for the others one of
that type (names are free, also those of symbols). --update rewrites the `after` parts that differ, and writes
one that is empty; look at the diff before you commit it. With GRAPHOPT_SANITIZED=1 the tool does the same
work, all cases in one process, but nothing is executed or run again: sanitizers watch the tool, and the
values are those of a build without them.

Inputs take small and special values: NaN, infinities, signed zeros, denormals and the greatest numbers of
their type. An exact rule must keep the bits for all of them. A rule that rounds may hold for fewer; then the
case states the domain beside the tolerance:
  finite        for floats: as without a domain, but neither NaN nor infinities
  range A B     for floats and integers: values from A to B, both included, and 0 if it lies between them
"""

import argparse
import json
import os
import re
import sys
import tempfile

import numpy as np
import onnx
import onnx.parser
import onnx.printer

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from lib import graph_comparison  # noqa: E402
from lib.command_lines import OneProcess, Processes  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
SANITIZED = os.environ.get("GRAPHOPT_SANITIZED") == "1"

# What follows each word of a case's head.
HEADERS = {
    "RUN": r"graphopt\s*(.*)",
    "STAT": r"(\S+) = (\d+)",
    "SAME": r"rtol=(\S+) atol=(\S+)",
    "INPUTS": r"(\S+) (finite|range (\S+) (\S+))",
    "NORUN": r"(.+)",
    "EXPLAIN": r"(\S+)|(\S+) (\S+): (.+)",
    "EXAMPLE": r"(.+)",
}


class CaseError(Exception):
    """A golden file is not written as this script's head says."""


def headers_of(head):
    """(word, match) of each line that sets something; CaseError for an unknown word or text."""
    for line in head:
        m = re.match(r"# ([A-Z][A-Z_]*):(.*)", line)
        if not m:
            continue
        if m[1] not in HEADERS:
            raise CaseError(f"unknown word '{m[1]}' in '{line.strip()}'; there are {', '.join(HEADERS)}")
        text = re.fullmatch(HEADERS[m[1]], m[2].strip())
        if not text:
            raise CaseError(f"'{line.strip()}' is not '# {m[1]}: {HEADERS[m[1]]}'")
        yield m[1], text


def domain_of(m):
    """(least, greatest) value of an input, from a match of INPUTS; (-inf, inf) for all finite values."""
    if m[2] == "finite":
        return -np.inf, np.inf
    try:
        low, high = float(m[3]), float(m[4])
    except ValueError:
        raise CaseError(f"INPUTS: '{m[2]}' does not hold two numbers") from None
    if not (np.isfinite(low) and np.isfinite(high) and low <= high):
        raise CaseError(f"INPUTS: '{m[2]}' is no range")
    return low, high


def pass_of(path):
    """The pass that a case is about: the folder directly below golden/."""
    folders = os.path.dirname(os.path.abspath(path)).split(os.sep)
    below = len(folders) - folders[::-1].index("golden") if "golden" in folders else -1
    return folders[below]


def read_case(path):
    head, parts, name = [], {}, None
    for line in open(path):
        if line.startswith("=== "):
            name = line[4:].strip()
            if name in parts:
                raise CaseError(f"two parts '{name}'")
            parts[name] = []
        elif name is None:
            head.append(line)
        else:
            parts[name].append(line)
    case = {
        "path": path,
        "stats": [],
        "explain": [],
        "options": [],
        "rtol": 0.0,
        "atol": 0.0,
        "domains": {},
        "norun": None,
        "head": "".join(head),
    }
    for word, m in headers_of(head):
        if word == "RUN":
            case["options"] = m[1].split()
        elif word == "STAT":
            case["stats"].append((m[1], int(m[2])))
        elif word == "SAME":
            case["rtol"], case["atol"] = float(m[1]), float(m[2])
        elif word == "INPUTS":
            if m[1] in case["domains"]:
                raise CaseError(f"INPUTS: '{m[1]}' has two domains")
            case["domains"][m[1]] = domain_of(m)
        elif word == "NORUN":
            case["norun"] = m[1]
        elif word == "EXPLAIN":
            case["explain"].append(m[1] or (m[2], m[3], m[4]))
    case["pass"] = pass_of(path)
    if case["explain"]:
        case["options"] += ["--explain", case["pass"]]
    if list(parts) not in (["before", "after"], ["before", "unchanged"]):
        raise CaseError(f"the parts are {list(parts)}, not before and then after or unchanged")
    case["before"] = "".join(parts["before"])
    case["after"] = "".join(parts.get("after", parts["before"]))
    case["unchanged"] = "unchanged" in parts
    return case


# --- comparison up to names ---------------------------------------------------------------------------------


def type_pattern(v):
    t = v.type.tensor_type
    return t.elem_type, [
        d.dim_value if d.HasField("dim_value") else "symbol" if d.dim_param else None for d in t.shape.dim
    ]


def value_info_wrong(before, wanted, got):
    """What the result's value_info lacks of what the expected model's states."""
    old, have = ({v.name: v for v in m.graph.value_info} for m in (before, got))
    wrong = []
    for v in wanted.graph.value_info:
        if v.name in old:
            if v.name not in have or have[v.name].type != old[v.name].type:
                wrong.append(f"value_info of {v.name} is not kept word for word")
        elif not any(type_pattern(v) == type_pattern(h) for name, h in have.items() if name not in old):
            wrong.append(f"no new value has the value_info that {v.name} should have")
    return wrong


# --- execution ----------------------------------------------------------------------------------------------

SPECIAL = {"f": [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-42, -3.5, 3.4e38, 1.0, -1.0]}


def feeds_for(session, seed, sizes, domains=None):
    """Values for the inputs of a session: plain ones for seed 0, with special ones for the others.

    sizes: extents of symbols, 2 where none is given. domains: (least, greatest) of the inputs that have a
    domain, by name; CaseError when there is no such input or it has no numbers.
    """
    rng, feeds = np.random.default_rng(seed), {}
    domains = domains or {}
    if missing := sorted(set(domains) - {i.name for i in session.get_inputs()}):
        raise CaseError(f"INPUTS names no input of the model: {', '.join(missing)}")
    for i in session.get_inputs():
        shape = [d if isinstance(d, int) else sizes.get(d, 2) for d in i.shape]
        kind = re.search(r"tensor\((\w+)\)", i.type)[1]
        dtype = {"float": "float32", "double": "float64", "bool": "bool", "string": "object"}.get(kind, kind)
        n = int(np.prod(shape))
        if dtype == "object":
            v = np.array([["a", "bb", ""][k % 3] for k in range(n)], object)
        elif dtype == "bool":
            v = rng.random(n) < 0.5
        elif dtype.startswith(("int", "uint")):
            info = np.iinfo(dtype)
            v = rng.integers(0, 3, n)
            if seed > 1 and n:
                v[rng.integers(0, n)] = [info.min, info.max, 0][seed % 3]
        else:
            v = rng.standard_normal(n)
            if seed > 0 and n:
                special = np.array(SPECIAL["f"])
                put = rng.random(n) < 0.3
                v[put] = special[rng.integers(0, len(special), put.sum())]
        with np.errstate(over="ignore"):
            v = np.asarray(v).astype(dtype)
            feeds[i.name] = (keep_within(v, domains[i.name], rng) if i.name in domains else v).reshape(shape)
    return feeds


def keep_within(v, domain, rng):
    """v with values of the domain in place of those outside of it; see domain_of."""
    low, high = domain
    if v.dtype.kind not in "iuf" or (v.dtype.kind in "iu" and not np.isfinite(low)):
        raise CaseError(f"INPUTS: an input of {v.dtype} cannot have this domain")
    if v.dtype.kind == "f" and not np.isfinite(low):
        most = np.finfo(v.dtype).max
        return np.clip(np.where(np.isnan(v), np.ones_like(v), v), -most, most)
    if v.dtype.kind in "iu":
        low, high = int(np.ceil(low)), int(np.floor(high))
        info = np.iinfo(v.dtype)
        if low > high or low < info.min or high > info.max:
            raise CaseError(f"INPUTS: {v.dtype} holds no range {low} {high}")
        drawn = rng.integers(low, high, v.shape, v.dtype, endpoint=True)
    else:
        drawn = rng.uniform(low, high, v.shape).astype(v.dtype)
        # Rounding to the type must not lead out of the range.
        low, high = (inside(x, toward, v.dtype) for x, toward in ((low, np.inf), (high, -np.inf)))
        drawn = np.clip(drawn, low, high)
    # Half of the values are drawn, so that the whole range occurs; the rest is what the input had, where that
    # is within: zeros of both signs, denormals. The ends occur where there is room.
    out = np.where((v >= low) & (v <= high) & (rng.random(v.shape) < 0.5), v, drawn)
    if out.size > 2:
        out[rng.choice(out.size, 2, replace=False)] = low, high
    return out


def inside(x, toward, dtype):
    """x rounded to the type, in the direction `toward`."""
    y = dtype.type(x)
    wrong = float(y) < x if toward > 0 else float(y) > x
    return np.nextafter(y, dtype.type(toward)) if wrong else y


def session(m):
    import onnxruntime as ort

    o = ort.SessionOptions()
    o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    o.log_severity_level = 4
    o.intra_op_num_threads = 1
    return ort.InferenceSession(m.SerializeToString(), o, providers=["CPUExecutionProvider"])


def equal(x, y, rtol, atol):
    if isinstance(x, list) or isinstance(y, list):
        return (
            isinstance(x, list)
            and isinstance(y, list)
            and len(x) == len(y)
            and all(equal(p, q, rtol, atol) for p, q in zip(x, y))
        )
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    if x.dtype == object:
        return (x == y).all()
    if x.dtype.kind == "f" and (rtol or atol):
        return np.allclose(x, y, rtol, atol, equal_nan=True)
    if x.dtype.kind == "f":
        nan = np.isnan(x) & np.isnan(y)
        bits = f"u{x.dtype.itemsize}"
        return bool(((x.view(bits) == y.view(bits)) | nan).all()) if x.size else True
    return np.array_equal(x, y)


def execute_both(a, b, case, sizes_list=({},)):
    """None, or how the two differ. What the original cannot run says nothing about the other."""
    if case["norun"] or SANITIZED:
        return None
    try:
        s = session(a)
    except Exception:
        return None
    try:
        t = session(b)
    except Exception as e:
        return f"ONNX Runtime does not load the result: {e}"
    for sizes in sizes_list:
        for seed in range(4):
            feeds = feeds_for(s, seed, sizes, case["domains"])
            try:
                x = s.run(None, feeds)
            except Exception:
                continue
            try:
                y = t.run(None, feeds)
            except Exception as e:
                return f"the result does not run: {e}"
            for o, p, q in zip(s.get_outputs(), x, y):
                if not equal(p, q, case["rtol"], case["atol"]):
                    return f"output {o.name} differs (seed {seed}, sizes {sizes}): {p} became {q}"
    return None


# --- variants -----------------------------------------------------------------------------------------------


def symbolic(m):
    v = onnx.ModelProto()
    v.CopyFrom(m)
    symbols = {}
    for i in v.graph.input:
        for d in i.type.tensor_type.shape.dim:
            if d.HasField("dim_value"):
                symbols.setdefault(f"d{d.dim_value}", d.dim_value)
                d.dim_param = f"d{d.dim_value}"
    for o in v.graph.output:
        if o.type.HasField("tensor_type"):
            for d in o.type.tensor_type.shape.dim:
                d.Clear()
    del v.graph.value_info[:]
    return v, [dict(symbols), {s: 1 for s in symbols}, {s: 0 for s in symbols}]


def overridable(m):
    if m.ir_version < 4 or not m.graph.initializer:
        return None
    v = onnx.ModelProto()
    v.CopyFrom(m)
    have = {i.name for i in v.graph.input}
    for t in v.graph.initializer:
        if t.name not in have:
            v.graph.input.append(onnx.helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)))
    return v


# --- the run ------------------------------------------------------------------------------------------------


def transform(tool, m, options, work):
    """(model, report, bytes) that the tool makes of a model."""
    source, target, report = (os.path.join(work, f) for f in ("in.onnx", "out.onnx", "report.json"))
    onnx.save(m, source)
    for path in (target, report):  # a result of the case before must not be taken for one of this
        if os.path.exists(path):
            os.remove(path)
    r = tool.run([source, "-o", target, "--report", report, "--verify-each", "-q", *options])
    if r.returncode:
        raise RuntimeError(f"exit status {r.returncode}: {r.stderr.strip()}")
    return onnx.load(target), json.load(open(report)), open(target, "rb").read()


def counters(report):
    out = {}
    for p in report["passes"]:
        out[p["name"] + ".rewrites"] = p["rewrites"]
        for k, v in p["counters"].items():
            out[f"{p['name']}.{k}"] = v
    return out


def accepted(m, full):
    try:
        onnx.checker.check_model(m, full_check=full)
    except onnx.checker.ValidationError:
        return False
    return True


def run_case(tool, case, work, update):
    """What is wrong with the case, one text each. `tool`: a path, or what runs its command lines
    (lib/command_lines.py)."""
    if isinstance(tool, (str, os.PathLike)):
        tool = Processes(tool)
    if not case["after"].strip():
        if not update:
            return ["the part 'after' is empty; --update writes it"]
        case = {**case, "after": case["before"]}
    before = onnx.parser.parse_model(case["before"])
    got, report, data = transform(tool, before, case["options"], work)
    wrong = []
    if accepted(before, not case["norun"]):  # a case may be about a model that is wrong already
        onnx.checker.check_model(got, full_check=not case["norun"])
    difference = graph_comparison.difference(got, onnx.parser.parse_model(case["after"]), normalize=False)
    if difference:
        if update and not case["unchanged"]:
            text = (
                case["head"]
                + "=== before\n"
                + case["before"]
                + "=== after\n"
                + onnx.printer.to_text(got)
                + "\n"
            )
            open(case["path"], "w").write(text)
        else:
            wrong.append(f"result differs: {difference}; it is\n" + onnx.printer.to_text(got))
    after = onnx.parser.parse_model(case["after"])
    wrong += value_info_wrong(before, after, got)
    wrong += [
        f"output {o.name} does not have its type"
        for o, p in zip(got.graph.output, after.graph.output)
        if o != p
    ]
    found = {(e["kind"], e["value"], e["reason"]) for e in report["explain"] if e["pass"] == case["pass"]}
    reasons = {reason for _, _, reason in found}
    wrong += [
        f"--explain gives {sorted(found)}, not {wanted}"
        for wanted in case["explain"]
        if not (wanted in found if isinstance(wanted, tuple) else reasons & set(wanted.split("|")))
    ]
    have = counters(report)
    wrong += [f"{k} is {have.get(k)}, not {n}" for k, n in case["stats"] if have.get(k) != n]
    if why := execute_both(before, got, case):
        wrong.append(why)
    if case["norun"] is None and not SANITIZED:
        try:
            session(before)
        except Exception as e:
            wrong.append(f"the original does not load in ONNX Runtime (say NORUN and why): {e}")
    if not SANITIZED:
        _, _, again = transform(tool, got, case["options"], work)
        if again != data:
            wrong.append("a second run changes the result")
    variant, sizes = symbolic(before)
    changed, _, _ = transform(tool, variant, case["options"], work)
    if why := execute_both(variant, changed, case, sizes):
        wrong.append("with symbolic dims: " + why)
    variant = overridable(before)
    if variant is not None:
        changed, _, _ = transform(tool, variant, case["options"], work)
        if why := execute_both(variant, changed, case):
            wrong.append("with initializers as inputs: " + why)
    return wrong


def chosen_files(a):
    """The files of the cases that the arguments ask for, in order."""
    files = sorted(
        os.path.join(d, f)
        for d, _, fs in os.walk(HERE)
        for f in fs
        if f.endswith(".txt") and a.only in os.path.join(d, f)
    )
    k, n = a.shard
    return files[k - 1 :: n]


def shard(text):
    """(K, N) of K/N."""
    if (m := re.fullmatch(r"(\d+)/(\d+)", text)) and 1 <= int(m[1]) <= int(m[2]):
        return int(m[1]), int(m[2])
    raise argparse.ArgumentTypeError(f"'{text}' is not K/N with K from 1 to N")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--only", default="", metavar="TEXT", help="the cases whose path holds TEXT")
    p.add_argument("--shard", type=shard, default=(1, 1), metavar="K/N", help="every N-th case from the K-th")
    p.add_argument("--update", action="store_true", help="write the parts 'after' that differ")
    p.add_argument("--list", action="store_true", help="print the cases")
    a = p.parse_args()
    files = chosen_files(a)
    if a.list:
        print("\n".join(os.path.relpath(f, HERE) for f in files))
        return 0
    path = os.path.abspath(a.tool)
    tool = OneProcess(path) if SANITIZED else Processes(path)
    bad = 0
    with tempfile.TemporaryDirectory() as work:
        for f in files:
            try:
                wrong = run_case(tool, read_case(f), work, a.update)
            except Exception as e:
                wrong = [f"{type(e).__name__}: {e}"]
            if wrong:
                bad += 1
                print(
                    f"FAILED {os.path.relpath(f, HERE)}\n  "
                    + "\n  ".join(w.replace("\n", "\n    ") for w in wrong),
                    flush=True,
                )
    if lost := tool.close():
        print(f"FAILED {lost}")
    print(f"{len(files) - bad} passed, {bad} failed")
    return 1 if bad or lost or not files else 0


if __name__ == "__main__":
    sys.exit(main())
