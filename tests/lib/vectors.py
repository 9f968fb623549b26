"""The pairs of graphs in tests/vectors/rewrites; README.md there lists the marks."""

import ast
import dataclasses
import json
import pathlib

import onnx.parser

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "vectors"


@dataclasses.dataclass
class Vector:
    name: str
    keep: bool  # nothing may change
    feeds: dict  # values of some inputs in every run, by name
    extents: dict  # of some symbols in every run
    before: onnx.ModelProto
    after: onnx.ModelProto


def rewrites(only=()):
    """The vectors whose names start with one of `only`, or all. Raises ValueError for a mark that it does not
    know."""
    paths = sorted((FOLDER / "rewrites").glob("*.before.onnxtxt"))
    names = [p.name.removesuffix(".before.onnxtxt") for p in paths]
    return [read(p, n) for p, n in zip(paths, names) if not only or n.startswith(tuple(only))]


def read(path, name):
    content = path.read_text(encoding="utf-8")
    keep, feeds, extents = False, {}, {}
    for line in content.splitlines():
        if not line.startswith("#"):
            break
        mark, _, rest = line[1:].strip().partition(" ")
        if mark == "KEEP":
            keep = True
        elif mark in ("FEED", "DIM"):
            target, key = (feeds if mark == "FEED" else extents), rest.partition("=")[0]
            target[key] = ast.literal_eval(rest.partition("=")[2])
        elif mark.isupper() and len(mark) > 1:
            raise ValueError(f"{path.name}: unknown mark {mark}")
    after = path.with_name(f"{name}.after.onnxtxt").read_text(encoding="utf-8")
    parse = onnx.parser.parse_model
    return Vector(name, keep, feeds, extents, parse(content), parse(after))


def regions():
    """{name: regions of the after graph, each a list of names of results}"""
    return json.loads((FOLDER / "rewrites" / "regions.json").read_text(encoding="utf-8"))
