"""How a case of lowered.py is written down: a model, a device, what its operands hold and what is due."""

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np
from onnx import TensorProto, helper, numpy_helper

UNIT = 2.0**-24
TYPES = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "string": np.object_,
    "bool": np.bool_,
    **{t: np.dtype(t) for t in ("int8", "uint8", "int32", "int64")},
}
F32 = np.finfo(np.float32)
SPECIAL = [
    *(np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 3.0, -3.0, 6.0, -6.0, 20.0, -20.0),
    *(F32.max, -F32.max, F32.tiny, -F32.tiny, 1e-42, -1e-42, 1e-45, 88.5, -88.5, 104.0, -104.0, 1e19, -1e19),
    *(1e-10, -1e-10, 1e-4, -1e-4, 0.999, -0.999, 5.9, -5.9, 9.2, -9.2, 1e30, -1e30),
]


@dataclasses.dataclass
class Case:
    name: str
    model: object
    takes: list  # operators of the device
    expansion: str | None  # that the report has to name; None: nothing is lowered
    feeds: list  # of dicts
    bound: Callable | None = None  # (feed, first result in float64) -> greatest distance; None: every bit
    options: tuple = ()
    # The number of nodes of the operator that are left.
    kept: int = 0
    rules: list | None = None  # of the device, in the place of `takes`


def values(data, dtype, shape, kind):
    """An array. kind: "special" puts numbers at the border of the type among others, "poisoned" a few
    infinities or NaN."""
    count = int(np.prod(shape))
    if dtype == np.object_:
        return data.choice(np.array(["", "a", "bc", "Ä"], np.object_), shape)
    if np.dtype(dtype).kind == "b":
        return data.integers(0, 2, shape).astype(bool)
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        some = np.array([info.min, info.max, 0, 1, info.max // 2], dtype)
        drawn = data.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        return np.where(data.random(shape) < 0.3, data.choice(some, shape), drawn).astype(dtype)
    drawn = data.standard_normal(count) * 3
    if kind == "poisoned" and count:  # a few infinities and NaN
        drawn[data.integers(0, count, 1 + count // 20)] = data.choice([np.inf, -np.inf, np.nan])
    if kind == "special" and count:
        with np.errstate(over="ignore"):
            pool = np.array(SPECIAL).astype(dtype)
        # As many of them as there is room for, in any order, and again with others between them.
        listed = np.array(list(itertools.islice(itertools.cycle(data.permutation(pool)), count)))
        drawn = np.where(data.random(count) < 0.7, listed, drawn.astype(dtype))
    return drawn.astype(dtype).reshape(shape)


def build(nodes, inputs, outputs, constants=None, opset=18, functions=(), domains=()):
    """inputs: {name: (type, dims)}; dims with symbols as texts. outputs: names, of types that are inferred
    where they are like the first operand's, or {name: type}. constants: {name: array}."""
    outputs = outputs if isinstance(outputs, dict) else dict.fromkeys(outputs, next(iter(inputs.values()))[0])
    elem = {k: getattr(TensorProto, k.upper()) for k in TYPES}

    def info(name, kind, dims):
        if dims is None:
            made = helper.make_tensor_value_info(name, elem[kind], None)
            return made
        return helper.make_tensor_value_info(name, elem[kind], dims)

    graph = helper.make_graph(
        nodes,
        "g",
        [info(k, *v) for k, v in inputs.items()],
        [info(k, v, None) for k, v in outputs.items()],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()],
    )
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    ir = 12 if opset >= 24 else 10 if opset >= 21 else 8 if opset >= 15 else 4
    return helper.make_model(graph, opset_imports=imports, ir_version=ir, functions=list(functions))


def feeds_of(data, inputs, sizes, kinds=("special", "finite")):
    """One feed for each {symbol: extent} and kind."""
    out = []
    for extents in sizes:
        for kind in kinds:
            feed = {}
            for name, (dtype, dims) in inputs.items():
                shape = [extents[d] if isinstance(d, str) else d for d in dims]
                feed[name] = values(data, TYPES[dtype], shape, kind)
            out.append(feed)
    return out


def single(
    data,
    name,
    node,
    inputs,
    takes,
    expansion,
    *,
    outputs=("y",),
    constants=None,
    opset=18,
    sizes=({},),
    kinds=("special", "finite"),
    bound=None,
    options=None,
    domains=(),
    kept=None,
    rules=None,
):
    """A case of one node. An exact one runs with --exact, where no pass rounds."""
    nodes = node if isinstance(node, list) else [node]
    model = build(nodes, inputs, outputs, constants, opset, domains=domains)
    if options is None:
        options = ("--exact",) if bound is None and expansion else ()
    left = kept if kept is not None else 0 if expansion else 1
    return Case(
        f"{name}, opset {opset}",
        model,
        takes,
        expansion,
        feeds_of(data, inputs, sizes, kinds),
        bound,
        tuple(options),
        left,
        rules,
    )
