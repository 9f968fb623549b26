"""Legal, reproducible inputs for a model.

`record_of(path)` finds a model of tests/models by its file name and takes its record there: the extents that
its symbols may have and a generator for the values of each input. For any other model it makes a record from
the declared inputs, which is good enough where any numbers will do.

    record = record_of("hf_bert.onnx")
    feeds = make(record, sizes(record, "smallest"), seed=1)

The same record, sizes and seed give the same bytes on every machine (lib/streams.py).
"""

import pathlib

import numpy as np

from lib import models
from lib.streams import Stream

DTYPES = {
    "float": np.float32,
    "double": np.float64,
    "string": np.object_,
    **{t: np.dtype(t) for t in ("float16", "int8", "uint8", "int16", "uint16", "int32", "uint32")},
    **{t: np.dtype(t) for t in ("int64", "uint64", "bool")},
}
UNKNOWN_EXTENT = 4  # of a symbol for which there is no record


def sizes(record, which="default"):
    """{symbol: extent}. `which` is default, smallest, largest, or drawn:N for the Nth random choice."""
    symbols = record["symbols"]
    if which.startswith("drawn:"):
        stream, found = Stream("bindings", record["name"], which.removeprefix("drawn:")), {}
        for symbol, s in symbols.items():
            step = s.get("multiple", 1)
            low, high = -(-s["min"] // step), s["max"] // step
            found[symbol] = int(stream.integers(1, low, high + 1)[0]) * step
        return found
    field = {"default": "default", "smallest": "min", "largest": "max"}[which]
    return {symbol: s[field] for symbol, s in symbols.items()}


def number(expression, extents):
    """The value of a number, a symbol, or an expression in symbols such as `past + seq` or `h//8`."""
    if not isinstance(expression, str):
        return expression
    if expression in extents:
        return extents[expression]
    return eval(expression, {"__builtins__": {}}, extents)


# --- generators: (stream, shape, generator, how to evaluate one of its fields) -> array of the shape --------


def normal(stream, shape, g, field):
    return stream.normal(int(np.prod(shape))).reshape(shape)


def uniform(stream, shape, g, field):
    return stream.uniform(int(np.prod(shape))).reshape(shape) * (g["high"] - g["low"]) + g["low"]


def picture(stream, shape, g, field):
    """A random value for each of 4 x 4 areas of the last two axes, and noise on it: like an image, not like
    white noise, so that pooling and detection have something to find."""
    cells, (height, width) = 4, shape[-2:]
    areas = stream.normal(int(np.prod(shape[:-2])) * cells * cells).reshape(-1, cells, cells)
    rows, columns = (np.arange(n) * cells // n for n in (height, width))
    coarse = areas[:, rows][:, :, columns].reshape(shape)
    noise = stream.normal(int(np.prod(shape))).reshape(shape)
    values = coarse * g.get("std", 1.0) + noise * g.get("noise", 0.3) + g.get("mean", 0.0)
    return np.clip(values, g["low"], g["high"]) if "low" in g else values


def integers(stream, shape, g, field):
    return stream.integers(int(np.prod(shape)), field("low", 0), field("high", 2)).reshape(shape)


def choice(stream, shape, g, field):
    names = np.array(g["values"], dtype=object)
    return names[stream.integers(int(np.prod(shape)), 0, len(names))].reshape(shape)


def positions(stream, shape, g, field):
    return np.broadcast_to(np.arange(shape[-1]) + field("start", 0), shape)


def mask(stream, shape, g, field):
    """Ones for the tokens of each row, zeros for its padding on the right, or on the left with side "left".
    The first row has no padding, any other at least `min` tokens and at least one."""
    last, rows = shape[-1], int(np.prod(shape[:-1]))
    tokens = stream.integers(rows, min(max(field("min", 1), 1), last), last + 1)
    tokens[:1] = last
    column, tokens = np.arange(last), tokens[:, None]
    kept = column >= last - tokens if g.get("side") == "left" else column < tokens
    return kept.reshape(shape)


GENERATORS = {
    "normal": normal,
    "uniform": uniform,
    "field": picture,
    "int": integers,
    "choice": choice,
    "arange": positions,
    "mask": mask,
}


def make(record, extents, seed=0):
    """{input: array} for every input of the record."""
    feeds = {}
    for item in record["inputs"]:
        dtype = DTYPES[item["type"].removeprefix("tensor(").removesuffix(")")]
        g = item.get("gen", {"kind": "normal"})
        shape = [int(number(d, extents)) for d in item["dims"]]
        stream = Stream("input", record["name"], item["name"], seed)

        def field(name, default):
            return int(number(g.get(name, default), extents))

        values = GENERATORS[g["kind"]](stream, shape, g, field)
        feeds[item["name"]] = np.ascontiguousarray(values, dtype).reshape(shape)
    return feeds


def record_of(path):
    """The record of a model; raises ValueError when it has inputs that are no tensors of a known type."""
    name = pathlib.Path(path).stem
    return models.records().get(name) or declared(path, name)


def declared(path, name):
    """A record from the model's inputs alone: symbols get one extent, floats are normal, other numbers 0 or
    1, strings "a" or "b". A dim without a symbol or a positive number is called INPUT.AXIS."""
    import onnx

    model = onnx.load(path, load_external_data=False)
    constants, symbols, inputs = {t.name for t in model.graph.initializer}, {}, []
    for value in model.graph.input:
        if value.name in constants:
            continue
        tensor = value.type.tensor_type
        kind = onnx.TensorProto.DataType.Name(tensor.elem_type).lower()
        if kind not in DTYPES or not tensor.HasField("shape"):
            raise ValueError(f"{path}: no inputs can be made for {value.name}")
        dims = [
            d.dim_param or (d.dim_value if d.dim_value > 0 else f"{value.name}.{axis}")
            for axis, d in enumerate(tensor.shape.dim)
        ]
        symbols |= {
            d: dict.fromkeys(("min", "max", "default"), UNKNOWN_EXTENT) for d in dims if isinstance(d, str)
        }
        floating, text = kind in ("float", "double", "float16"), kind == "string"
        g = {"kind": "normal" if floating else "choice" if text else "int", "values": ["a", "b"]}
        inputs.append({"name": value.name, "type": f"tensor({kind})", "dims": dims, "gen": g})
    outputs = [{"name": o.name, "compare": {}} for o in model.graph.output]
    return {"name": name, "symbols": symbols, "inputs": inputs, "outputs": outputs}
