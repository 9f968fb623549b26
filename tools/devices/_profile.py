"""Rules from the conditions of each version of an operator, and the file of a profile: a rule per line."""

import json
import sys

OPEN = 1 << 30  # the last version: also those to come


def merged(a, b):
    """Both sets of conditions together; None when nothing can meet both."""
    out = dict(a)
    for key, value in b.items():
        if key not in out or out[key] == value:
            out[key] = value
        elif key in ("dtypes", "enum"):
            out[key] = [x for x in out[key] if x in value]
            if not out[key]:
                return None
        elif key in ("ranks", "range", "length", "opset", "extents"):
            low = [x for x in (out[key][0], value[0]) if x is not None]
            high = [x for x in (out[key][1], value[1]) if x is not None]
            out[key] = [max(low, default=None), min(high, default=None)]
            if out[key][1] is not None and out[key][0] is not None and out[key][0] > out[key][1]:
                return None
        elif isinstance(value, dict):
            out[key] = merged(out[key], value)
            if out[key] is None:
                return None
        else:
            return None
    # An attribute that is absent meets no other condition.
    return None if out.get("present") is False and len(out) > 1 else out


def holds(a, b):
    """Whether b has all conditions of a, so that what meets b meets a."""
    if isinstance(a, dict) and isinstance(b, dict):
        return all(k in b and holds(v, b[k]) for k, v in a.items())
    return a == b


def alternatives(several):
    """Each combination of one set of conditions out of each list."""
    out = [{}]
    for one in several:
        out = [m for a in out for b in one if (m := merged(a, b)) is not None]
    return [
        b
        for i, b in enumerate(out)
        if not any(holds(a, b) and (a != b or k < i) for k, a in enumerate(out) if k != i)
    ]


def operands(conditions):
    """{"rest" or index: conditions} -> a list for the file, by index."""

    def place(index):
        return OPEN if index == "rest" else index

    return [{"index": i, **ordered(c)} for i, c in sorted(conditions.items(), key=lambda kv: place(kv[0]))]


def ordered(condition):
    keys = ("presence", "dtypes", "ranks", "extents", "constant", "value", "dims", "bytes")
    return {k: condition[k] for k in keys if k in condition}


def rules_of(versions, conditions_of, note=""):
    """The rules of one operator. `versions`: its schemas that the table means, oldest first, and the version
    up to which it means the last one (OPEN: all); `conditions_of(schema)`: a list of sets of conditions, one
    of which must hold. Neighbouring versions with the same conditions share a rule."""
    schemas, last, history = versions
    runs = []  # [first, last, conditions]
    for i, schema in enumerate(schemas):
        found = conditions_of(schema)
        following = history[history.index(schema) + 1 :]
        end = last if i + 1 == len(schemas) else following[0].since - 1
        if runs and runs[-1][2] == found and runs[-1][1] + 1 == schema.since:
            runs[-1][1] = end
        else:
            runs.append([schema.since, end, found])
    out = []
    for first, end, found in runs:
        for one in found:
            rule = {"op": schemas[0].name}
            if schemas[0].domain:
                rule["domain"] = schemas[0].domain
            whole = first == history[0].since and end == OPEN
            if not whole:
                rule["opset"] = [first, None if end == OPEN else end]
            for key in ("inputs", "outputs"):
                if one.get(key):
                    rule[key] = operands(one[key])
            if one.get("attributes"):
                rule["attributes"] = dict(sorted(one["attributes"].items()))
            for key in ("shapes", "same_dtype", "qdq"):
                if key in one:
                    rule[key] = one[key]
            if one.get("note", note):
                rule["note"] = one.get("note", note)
            out.append(rule)
    return out


def write(path, head, rules, omitted=None):
    """The same bytes for the same rules: keys in the order given, rules by domain, operator and version.
    `omitted`: {(domain, operator): (by, note)}; None: the profile does not say what was left out."""

    def line(value):
        return json.dumps(value, ensure_ascii=False)

    rules = sorted(rules, key=lambda r: (r.get("domain", ""), r["op"], r.get("opset", [0])[0]))
    head = {"format": "graphopt.device", "version": "1.0", **head}
    parts = [f" {line(k)}: {line(v)}" for k, v in head.items()]
    parts.append(' "rules": [\n' + ",\n".join("  " + line(r) for r in rules) + "\n ]")
    if omitted is not None:
        entries = []
        for (domain, op), (by, note) in sorted(omitted.items()):
            entry = {"op": op, **({"domain": domain} if domain else {}), "by": by}
            entries.append(entry | ({"note": note} if note else {}))
        parts.append(' "omitted": [\n' + ",\n".join("  " + line(e) for e in entries) + "\n ]")
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        out.write("{\n" + ",\n".join(parts) + "\n}\n")


def say(*words):
    """What a table says and a profile does not, for people."""
    print(*words, file=sys.stderr)
