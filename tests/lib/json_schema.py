"""JSON Schema as far as the schemas in share/graphopt/schemas use it: no package for it is installed with the
tests.

A keyword that is not known here is an error of the test, not silently met.
"""

import re

ANNOTATIONS = {"$schema", "$id", "$defs", "title", "description", "default", "examples"}
TYPES = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "integer": lambda v: (
        isinstance(v, (int, float)) and not isinstance(v, bool) and (isinstance(v, int) or v.is_integer())
    ),
}


def equal(a, b):
    """1 is 1.0 and not true."""
    return isinstance(a, bool) == isinstance(b, bool) and a == b


def errors(value, schema, root=None, path="$"):
    """What is wrong with a value, as a list of texts with paths."""
    root = root or schema
    if schema is True:
        return []
    if schema is False:
        return [f"{path}: is not allowed"]
    out = []
    for keyword, wanted in schema.items():
        if keyword in ANNOTATIONS:
            continue
        out += KEYWORDS[keyword](value, wanted, schema, root, path)
    return out


def reference(value, wanted, _, root, path):
    target = root
    for part in wanted.removeprefix("#/").split("/"):
        target = target[part]
    return errors(value, target, root, path)


def kind(value, wanted, *rest):
    names = [wanted] if isinstance(wanted, str) else wanted
    return [] if any(TYPES[n](value) for n in names) else [f"{rest[2]}: {value!r} is no {' or '.join(names)}"]


def properties(value, wanted, _, root, path):
    if not isinstance(value, dict):
        return []
    return [e for k, s in wanted.items() if k in value for e in errors(value[k], s, root, f"{path}.{k}")]


def additional(value, wanted, schema, root, path):
    if not isinstance(value, dict):
        return []
    names = [k for k in value if k not in schema.get("properties", {})]
    return [e for k in names for e in errors(value[k], wanted, root, f"{path}.{k}")]


def items(value, wanted, schema, root, path):
    if not isinstance(value, list):
        return []
    first = len(schema.get("prefixItems", []))
    return [e for i, v in enumerate(value) if i >= first for e in errors(v, wanted, root, f"{path}[{i}]")]


def prefix_items(value, wanted, _, root, path):
    if not isinstance(value, list):
        return []
    return [e for i, (v, s) in enumerate(zip(value, wanted)) for e in errors(v, s, root, f"{path}[{i}]")]


def one_of(value, wanted, _, root, path):
    fitting = sum(not errors(value, s, root, path) for s in wanted)
    return [] if fitting == 1 else [f"{path}: fits {fitting} of the alternatives"]


def unique(value, wanted, *rest):
    if not wanted or not isinstance(value, list):
        return []
    if all(isinstance(v, str) for v in value):
        return [f"{rest[2]}: an entry occurs twice"] if len(set(value)) < len(value) else []
    twice = any(equal(a, b) for i, a in enumerate(value) for b in value[:i])
    return [f"{rest[2]}: an entry occurs twice"] if twice else []


def check(test, text):
    """A keyword that asks one thing of values of one kind."""
    return lambda value, wanted, *rest: (
        [] if test(value, wanted) else [f"{rest[2]}: {value!r} {text} {wanted!r}"]
    )


KEYWORDS = {
    "$ref": reference,
    "type": kind,
    "properties": properties,
    "additionalProperties": additional,
    "items": items,
    "prefixItems": prefix_items,
    "oneOf": one_of,
    "uniqueItems": unique,
    "const": check(equal, "is not"),
    "enum": check(lambda v, w: any(equal(v, x) for x in w), "is none of"),
    "required": check(lambda v, w: not isinstance(v, dict) or all(k in v for k in w), "lacks one of"),
    "minimum": check(lambda v, w: not TYPES["number"](v) or v >= w, "is below"),
    "maximum": check(lambda v, w: not TYPES["number"](v) or v <= w, "is above"),
    "pattern": check(lambda v, w: not isinstance(v, str) or re.search(w, v) is not None, "does not match"),
    "minLength": check(lambda v, w: not isinstance(v, str) or len(v) >= w, "is shorter than"),
    "minItems": check(lambda v, w: not isinstance(v, list) or len(v) >= w, "has fewer entries than"),
    "maxItems": check(lambda v, w: not isinstance(v, list) or len(v) <= w, "has more entries than"),
    "minProperties": check(lambda v, w: not isinstance(v, dict) or len(v) >= w, "has fewer keys than"),
}
