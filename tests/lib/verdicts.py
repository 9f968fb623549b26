"""Marks of extents to be padded, and what graphopt says of a model that has them.

`marks` makes the content of a --buckets file, `ask` runs `graphopt inspect --bucketable --json`, and a
Verdict is its answer with extents and layouts read (lib/layouts.py). A verdict that lacks a part, or
contradicts itself, is an error of the tool.
"""

import dataclasses
import json
import subprocess

import numpy as np

from lib import layouts

SECONDS = 300  # for one run of the tool
FILLS = ("zero", "garbage", "nan")  # of pads, by what their classes allow


class ToolFailed(Exception):
    """The tool crashed or printed no verdict."""


def group(symbols, spec):
    """A group of a --buckets file from the text that --bucket takes: '1,2,4' or '4..32:pow2,align=8'."""
    symbols = [symbols] if isinstance(symbols, str) else list(symbols)
    if ":" not in spec:
        return {"symbols": symbols, "values": [int(n) for n in spec.split(",")]}
    bounds, _, rest = spec.partition(":")
    method, *options = rest.split(",")
    name, _, value = method.partition("=")
    low, high = (int(n) for n in bounds.split(".."))
    number = {"step": int, "geo": float}.get(name, lambda text: {})(value)
    return {
        "symbols": symbols,
        "range": [low, high],
        "method": {name: number},
        **{k: int(v) for k, _, v in (o.partition("=") for o in options)},
    }


def each(symbols, low, high):
    """A group with every extent of a range."""
    return group(symbols, f"{low}..{high}:step=1")


def marks(groups, values=None, **more):
    """The content of a --buckets file. `values`: {input: (low, high)} of true data."""
    inputs = {name: {"values": list(v)} for name, v in (values or {}).items()}
    return {
        "groups": groups,
        "limit": {"count": 65536},
        **({"inputs": inputs} if inputs else {}),
        **more,
    }


def ask(tool, model, content, folder, stem="case", repair=False):
    """The verdict on a model, a path or ModelProto, or on what `repair` makes of it; files are written to the
    folder. Raises ToolFailed."""
    if not isinstance(model, str):
        path = f"{folder}/{stem}.onnx"
        with open(path, "wb") as f:
            f.write(model.SerializeToString())
        model = path
    spec = f"{folder}/{stem}.json"
    with open(spec, "w", encoding="utf-8") as f:
        json.dump(content, f)
    command = [tool, "inspect", "--bucketable", model, "--buckets", spec, "--json"]
    command += ["--bucket-require", "repair"] if repair else []
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise ToolFailed(f"no end within {SECONDS} s") from None
    try:
        verdict = Verdict(json.loads(done.stdout))
    except (ValueError, KeyError, TypeError, AttributeError) as e:
        text = f"exit status {done.returncode}, no verdict ({e!r:.120}): {done.stderr.strip()[-300:]}"
        raise ToolFailed(text) from None
    answer_is_no = 7
    if done.returncode != (0 if verdict.safe else answer_is_no):
        raise ToolFailed(f"{verdict.name}, exit status {done.returncode}: {done.stderr.strip()[-300:]}")
    return verdict


class Verdict:
    """Raises KeyError or ValueError for a verdict that lacks a part or has a text nobody can read."""

    def __init__(self, data):
        self.data = data
        self.name = data["verdict"]
        if self.name not in ("proved", "assumed", "refused"):
            raise ValueError(f"verdict {self.name}")
        self.safe = self.name != "refused"
        self.refused = data.get("refused") or {}
        self.lists = data.get("symbols", {})
        self.fixed = set(data.get("fixed") or [])
        self.ranges = {s: tuple(r) for s, r in data.get("ranges", {}).items()}
        self.padded = set(self.lists) - self.fixed
        self.constraints = list(data.get("constraints") or [])
        if data.get("where"):
            self.conditions = [layouts.condition(c) for c in [*self.constraints, data["where"]]]
        else:
            self.conditions = [layouts.condition(c) for c in self.constraints]
        self.assumptions = data.get("assumptions") or []
        self.repairs = data.get("repairs") or []
        # {name: symbol} of inputs that carry true extents
        self.extra_inputs = {i["name"]: i["symbol"] for i in data.get("extra_inputs") or []}
        if not self.safe:
            return
        for symbol in self.lists:
            self.ranges.setdefault(symbol, (1, max(self.lists[symbol])))
        self.pads = read_inputs(data.get("inputs") or {})
        self.outputs = {name: read_output(o) for name, o in data["outputs"].items()}
        if any(a["kind"] not in ("mask-dominates", "indices-not-negative") for a in self.assumptions):
            raise ValueError("an assumption of an unknown kind")
        if (self.name == "assumed") != bool(self.assumptions):
            raise ValueError(f"{self.name} with {len(self.assumptions)} assumptions")

    def admits(self, extents):
        return all(c(extents) for c in self.conditions)

    def fills(self):
        """The fills that differ from each other under the classes of these pads."""
        classes = {p.kind for p in self.pads.values()}
        return FILLS if "any" in classes else FILLS[:2] if "finite" in classes else FILLS[:1]


@dataclasses.dataclass
class Pad:
    dims: list  # of layouts
    value: float
    kind: str  # const, finite or any


@dataclasses.dataclass
class Output:
    dims: list  # of extents
    cut: list  # of layouts


def read_inputs(data):
    pads = {}
    for name, i in data.items():
        kind = i["pad_class"]
        if kind == "none":
            continue
        if kind not in ("const", "finite", "any") or i.get("side", "end") != "end":
            raise ValueError(f"input {name}: {kind}, {i.get('side')}")
        value = i.get("pad", 0)
        number = -np.inf if value == "-inf" else value
        if isinstance(number, str):
            raise ValueError(f"input {name}: pad {value}")
        pads[name] = Pad([layouts.layout(d) for d in i["dims"]], number, kind)
    return pads


def read_output(data):
    dims = [layouts.extent(d) for d in data["dims"]]
    cut = dims if data["cut"] == "prefix" else [layouts.layout(d) for d in data["cut"]]
    if len(cut) != len(dims):
        raise ValueError("dims and cut of an output have other lengths")
    return Output(dims, cut)
