#!/usr/bin/env python3
"""ort-cpu.json: the kernels of the installed onnxruntime for its CPU provider, exactly.

ONNX Runtime takes a kernel whose first version is that of the operator, or whose range of versions has a last
one and holds it; each kernel lists types for each type variable of the operator, or for an operand by its
name.
"""

import onnxruntime
from onnxruntime.capi.onnxruntime_pybind11_state import get_all_opkernel_def

from _profile import operands, say, write
from _schemas import dtypes, versions
from _tables import arguments

LAST = (1 << 31) - 1  # a kernel's range without an end
DOMAINS = ("", "com.microsoft", "ai.onnx.ml")  # others are what the runtime makes of nodes itself


def schema_at(domain, name, version):
    """The operator's version that a kernel from this version on is for: the newest one up to it."""
    return next((s for s in reversed(versions(domain, name)) if s.since <= version), None)


def conditions(schema, types):
    """What a kernel asks of a node, by operand; None where a type variable belongs to no operand."""
    out, used = {}, set()
    for key, formal in (("inputs", schema.inputs), ("outputs", schema.outputs)):
        for i, operand in enumerate(formal):
            for variable in (operand.type, operand.name):
                if variable in types:
                    used.add(variable)
                    # Sequences, optional values and maps have no element type in a profile, and one that
                    # lists types refuses them: none are listed where the kernel has every tensor type.
                    tensors = dtypes(types[variable])
                    only_tensors = all(t.startswith("tensor(") for t in types[variable])
                    if tensors and (only_tensors or not operand.types <= set(tensors)):
                        index = "rest" if operand.variadic else i
                        out.setdefault(key, {})[index] = {"dtypes": tensors}
                    break
    return out, set(types) - used


def joined(kernels):
    """Kernels of one operator and range that differ in one variable's types become one."""
    kernels = [{k: set(v) for k, v in types.items()} for types in kernels]
    i = 0
    while i < len(kernels):
        for k in range(i + 1, len(kernels)):
            a, b = kernels[i], kernels[k]
            different = [v for v in a if a.get(v) != b.get(v)] if a.keys() == b.keys() else [0, 0]
            if len(different) <= 1:
                for v in different:
                    a[v] |= b[v]
                del kernels[k]
                i = -1
                break
        i += 1
    return [{k: sorted(v) for k, v in types.items()} for types in kernels]


def same_types(schema, types):
    """Inputs that share a type variable with more than one type."""
    for variable, allowed in types.items():
        shared = [i for i, o in enumerate(schema.inputs) if o.type == variable and not o.variadic]
        if len(shared) > 1 and len(allowed) > 1:
            return shared
    return []


def main():
    out = arguments(__doc__.splitlines()[0]).out
    kernels, rules = {}, []
    for k in get_all_opkernel_def():
        if k.provider == "CPUExecutionProvider" and k.domain in DOMAINS:
            kernels.setdefault((k.domain, k.op_name, *k.version_range), []).append(k.type_constraints)
    for (domain, name, first, last), found in sorted(kernels.items()):
        schema = schema_at(domain, name, first)
        if schema is None:
            say(f"ort-cpu: {domain}:{name}: the runtime shows no schema; left out")
            continue
        for types in joined(found):
            operand_conditions, unused = conditions(schema, types)
            if unused:
                say(f"ort-cpu: {domain}:{name} {first}: no operand has {', '.join(sorted(unused))}")
            rule = {"op": name, **({"domain": domain} if domain else {})}
            rule["opset"] = [first, first if last == LAST else last]
            for key, c in operand_conditions.items():
                rule[key] = operands(c)
            if same := same_types(schema, types):
                rule["same_dtype"] = same
            rules.append(rule)
    source = {
        "document": "get_all_opkernel_def() of the onnxruntime package",
        "version": onnxruntime.__version__,
    }
    head = {
        "id": "ort-cpu",
        "kind": "cpu",
        "profile": {"version": "1", "source": [source]},
        "control_flow": "whole",
        "ep": {"name": "CPUExecutionProvider"},
    }
    write(out / "ort-cpu.json", head, rules)
    say(f"ort-cpu: {len({(r.get('domain', ''), r['op']) for r in rules})} operators, {len(rules)} rules")


if __name__ == "__main__":
    main()
