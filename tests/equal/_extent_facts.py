"""What a model file states about extents, and whether a run contradicts it."""

import re

NAME = re.compile(r"[A-Za-z_]\w*")
CALLS = {"min": min, "max": max, "floor": int, "mod": lambda a, b: a % b}


class Facts:
    """The types that `--infer` wrote for the values of the main graph of a model."""

    def __init__(self, model, symbols):
        self.symbols, self.compiled = symbols, {}
        graph = model.graph
        self.types = {
            v.name: v.type for v in [*graph.value_info, *graph.output] if v.type.WhichOneof("value")
        }

    def contradictions(self, extents, shapes):
        """(value, text). `extents` gives numbers to the symbols of inputs; `shapes`: {value: shape or list of
        shapes of a sequence's elements}. A symbol that no input has stands for one number in all of it."""
        found, known, later = [], dict(extents), []
        for name, shape in shapes.items():
            if name not in self.types:
                continue
            for dims, real in self.pairs(self.types[name], shape):
                if len(dims) != len(real):
                    found.append((name, f"{name} has rank {len(real)}, {len(dims)} is stated"))
                    continue
                for axis, (d, n) in enumerate(zip(dims, real)):
                    if d.HasField("dim_value"):
                        if d.dim_value != n:
                            found.append((name, f"extent {axis} of {name} is {n}, {d.dim_value} is stated"))
                    elif d.dim_param in known or not NAME.fullmatch(d.dim_param):
                        if d.dim_param:
                            later.append((name, axis, d.dim_param, n))
                    else:
                        known[d.dim_param] = n
        for name, axis, text, n in later:
            value = self.value(text, known)
            if value is not None and value != n:
                found.append((name, f"extent {axis} of {name} is {n}, {text} = {value} is stated"))
        return found

    def pairs(self, type_proto, shape):
        """(dims, shape) of each tensor in a value; none where no rank is stated."""
        kind = type_proto.WhichOneof("value")
        if kind in ("sequence_type", "optional_type"):
            inner = getattr(type_proto, kind).elem_type
            for element in shape if isinstance(shape, list) else [shape]:
                if element is not None:
                    yield from self.pairs(inner, element)
        elif kind == "tensor_type" and type_proto.tensor_type.HasField("shape") and isinstance(shape, tuple):
            yield list(type_proto.tensor_type.shape.dim), shape

    def value(self, text, known):
        """The number that an expression stands for; None where a symbol has none, or it divides by 0."""
        if text not in self.compiled:
            self.compiled[text] = compile(text.replace(")/(", ")//("), text, "eval")
        code = self.compiled[text]
        if any(name not in known and name not in CALLS for name in code.co_names):
            return None
        try:
            return eval(code, {"__builtins__": {}}, CALLS | known)
        except ZeroDivisionError:
            return None


def shape_of(value):
    """The shape of a result: a tuple, a list for a sequence, None for an empty optional or a map."""
    if value is None or isinstance(value, dict):
        return None
    if isinstance(value, list):
        return [shape_of(v) for v in value]
    return tuple(getattr(value, "shape", ()))
