"""Models of the sweep over extents: backend cases and a few of our own, with every dim of every input made a
symbol, some operands made constants, some attributes and constants changed; and the sizes to try.

`variants(case, rng, mutants)` gives models with values for their inputs. `bindings(variant, rng, count)`
gives what to feed: all the sizes of one symbol from 0 to 4, of all symbols that were equal together, of all
symbols, of pairs, and values of parameters.
"""

import dataclasses
import itertools

import numpy as np
from lib import backend_cases

import onnx
from onnx import TensorProto, helper, numpy_helper

SIZES = range(5)
SMALL = (0, 1, -1, 2)  # what elements of attributes and constant operands are changed to
PARAMETER = 8  # at most so many elements has an operand whose elements are changed
TEXTS = {
    "auto_pad": ("NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"),
    "direction": ("forward", "reverse", "bidirectional"),
    "mode": ("constant", "reflect", "edge", "wrap", "nearest", "linear", "cubic", "DCR", "CRD"),
    "keep_aspect_ratio_policy": ("stretch", "not_larger", "not_smaller"),
    "coordinate_transformation_mode": ("asymmetric", "align_corners", "tf_crop_and_resize"),
    "reduction": ("none", "sum", "mean"),
}
INTEGERS = (TensorProto.INT64, TensorProto.INT32)


@dataclasses.dataclass
class Variant:
    name: str
    model: onnx.ModelProto
    feeds: dict  # the values of the case by input
    symbols: dict  # {symbol: its extent in the case}


@dataclasses.dataclass
class Own:
    """A case of our own, in the form of a backend case."""

    name: str
    model: onnx.ModelProto
    sets: list


def own_case(name, text, shapes):
    """`text` is a model in onnx's text form; `shapes`: for each input a shape, whose values are 0, 1, 2, ...,
    or a scalar itself. The shapes in the text mean nothing."""
    model = onnx.parser.parse_model(text)
    values, graphs = [], [model.graph]
    while graphs:
        graph = graphs.pop()
        for v in [*graph.input, *graph.output]:
            if len(v.type.tensor_type.shape.dim):
                backend_cases.forget_shapes(v.type)
        graphs += [a.g for n in graph.node for a in n.attribute if a.HasField("g")]
    for v, given in zip(model.graph.input, shapes):
        dtype = helper.tensor_dtype_to_np_dtype(v.type.tensor_type.elem_type)
        if not isinstance(given, tuple):
            array = np.asarray(given, dtype)
        else:
            array = (np.arange(int(np.prod(given))) % 5).reshape(given).astype(dtype)
        values.append(backend_cases.serialized(array, v.type))
    return Own(name, model, [(values, [])])


# ---- one model ---------------------------------------------------------------------------------------------


def opset(model):
    return next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)


def symbolic(case, name, fixed):
    """The case with a symbol for each dim of its inputs but for those in `fixed`, which become initializers.
    No output and no other value has a declared shape."""
    m = onnx.ModelProto()
    m.CopyFrom(case.model)
    del m.graph.value_info[:]
    for v in m.graph.output:
        backend_cases.forget_shapes(v.type)
    if not opset(m):
        m.opset_import.append(helper.make_opsetid("", 21))
    ins, values = backend_cases.inputs_of(case.model.graph), case.sets[0][0]
    feeds, symbols = {}, {}
    for k, (v, data) in enumerate(zip(ins, values)):
        if v.name in fixed:
            tensor = TensorProto.FromString(data)
            tensor.name = v.name
            m.graph.initializer.append(tensor)
            continue
        feeds[v.name] = backend_cases.parsed(data, v.type)
        if not v.type.HasField("tensor_type"):
            continue
        declared = next(w for w in m.graph.input if w.name == v.name)
        declared.type.tensor_type.ClearField("shape")
        declared.type.tensor_type.shape.SetInParent()
        for axis, extent in enumerate(np.shape(feeds[v.name])):
            symbol = f"d{k}_{axis}"
            declared.type.tensor_type.shape.dim.add().dim_param = symbol
            symbols[symbol] = int(extent)
    if fixed:
        kept = [v for v in m.graph.input if v.name not in fixed]
        del m.graph.input[:]
        m.graph.input.extend(kept)
        m.ir_version = max(m.ir_version, 4)
    return Variant(name, m, feeds, symbols)


def choices_of_constants(case):
    """Sets of inputs that are made constants: none, small integers behind the first, all but the first."""
    ins = backend_cases.inputs_of(case.model.graph)
    tensors = {v.name: v.type.tensor_type for v in ins if v.type.HasField("tensor_type")}
    ranks = {
        v.name: np.ndim(backend_cases.parsed(data, v.type))
        for v, data in zip(ins, case.sets[0][0])
        if v.name in tensors
    }
    small = [n for n, t in tensors.items() if t.elem_type in INTEGERS and ranks[n] <= 1]
    rest = [v.name for v in ins[1:] if v.name in tensors]
    found = []
    for chosen in (frozenset(), frozenset(n for n in small if n in rest), frozenset(rest)):
        if chosen not in found:
            found.append(chosen)
    return found


# ---- changes -----------------------------------------------------------------------------------------------


def schema_of(node, version):
    try:
        return onnx.defs.get_schema(node.op_type, version, node.domain)
    except onnx.defs.SchemaError:
        return None


def changes(model):
    """Every small change of an attribute or of an element of a constant operand, as functions of a model."""

    def set_attribute(at, name, value):
        def change(m):
            node = m.graph.node[at]
            kept = [a for a in node.attribute if a.name != name]
            del node.attribute[:]
            node.attribute.extend([*kept, helper.make_attribute(name, value)])

        return change

    def set_element(at, index, value):
        def change(m):
            tensor = m.graph.initializer[at]
            array = numpy_helper.to_array(tensor).copy()
            array.ravel()[index] = value
            tensor.CopyFrom(numpy_helper.from_array(array.astype(array.dtype), tensor.name))

        return change

    found = []
    for at, node in enumerate(model.graph.node):
        schema = schema_of(node, opset(model))
        given = {a.name: a for a in node.attribute}
        kinds = {name: a.type for name, a in schema.attributes.items()} if schema else {}
        # Each attribute of a Constant would be a second value.
        for name in sorted(given if node.op_type == "Constant" else set(kinds) | set(given)):
            a = given.get(name)
            kind = a.type if a else int(getattr(kinds[name], "value", kinds[name]))
            # `saturate` of 2 makes ONNX Runtime start a Loop, or not, from one process to the next.
            if kind == onnx.AttributeProto.INT and name not in ("dtype", "to", "output_dtype", "saturate"):
                found += [set_attribute(at, name, value) for value in SMALL if not a or a.i != value]
            elif kind == onnx.AttributeProto.INTS and a:
                for k, value in itertools.product(range(min(len(a.ints), 4)), SMALL):
                    found.append(set_attribute(at, name, [*a.ints[:k], value, *a.ints[k + 1 :]]))
            elif kind == onnx.AttributeProto.STRING and name in TEXTS:
                found += [set_attribute(at, name, value) for value in TEXTS[name]]
    for at, tensor in enumerate(model.graph.initializer):
        count = int(np.prod(tensor.dims))
        if tensor.data_type in INTEGERS and count <= PARAMETER:
            found += [set_element(at, k, v) for k, v in itertools.product(range(count), SMALL)]
    return found


def variants(case, rng, mutants):
    """The symbolic forms of a case, and `mutants` changed ones of each."""
    for k, fixed in enumerate(choices_of_constants(case)):
        plain = symbolic(case, f"{case.name}/{k}", fixed)
        yield plain
        possible = changes(plain.model)
        for n, at in enumerate(rng.permutation(len(possible))[:mutants]):
            m = onnx.ModelProto()
            m.CopyFrom(plain.model)
            possible[at](m)
            yield Variant(f"{plain.name}.{n}", m, plain.feeds, plain.symbols)


# ---- what is fed -------------------------------------------------------------------------------------------


def resized(array, shape):
    """The array cut or repeated along each axis; zeros where there is nothing to repeat."""
    array = np.asarray(array)
    if array.shape == tuple(shape):
        return array
    if array.size == 0:
        return np.zeros(shape, array.dtype)
    for axis, extent in enumerate(shape):
        array = array.take(np.arange(extent) % array.shape[axis], axis)
    return array


def bindings(variant, rng, count):
    """(extents by symbol, feeds) to try, at most `count` after the extents of the case itself."""
    base, symbols = variant.symbols, sorted(variant.symbols)
    found = [{s: n} for s in symbols for n in SIZES if n != base[s]]
    for extent in sorted(set(base.values())):
        equal = [s for s in symbols if base[s] == extent]
        if len(equal) > 1:
            found += [dict.fromkeys(equal, n) for n in SIZES if n != extent]
    if len(symbols) > 1:
        found += [dict.fromkeys(symbols, n) for n in SIZES]
        for _ in range(count // 2):
            pair = rng.choice(symbols, 2, replace=False)
            found.append({s: int(rng.choice([0, 0, 0, 1, 2, 3])) for s in pair})
        for _ in range(count // 4):
            found.append({s: int(rng.choice([0, 1, 2, 3, 4, base[s]])) for s in symbols})
    if len(found) > count:
        found = [found[k] for k in sorted(rng.permutation(len(found))[:count])]
    for chosen in [{}, *found]:
        extents = base | chosen
        yield extents, fed(variant, extents, {})
    for name, value in variant.feeds.items():  # small integers are sizes, axes, counts
        if not isinstance(value, np.ndarray | np.generic):  # a sequence
            continue
        array = np.asarray(value)
        if array.dtype.kind in "iu" and array.ndim <= 1:
            for k, n in itertools.product(range(min(array.size, 3)), (0, 1, 3)):
                changed = array.copy()
                changed.ravel()[k] = n
                yield base, fed(variant, base, {name: changed})


def fed(variant, extents, changed):
    """The feeds of a variant at these extents."""
    out = {}
    for v in variant.model.graph.input:
        if v.name not in variant.feeds:
            continue
        value = changed.get(v.name, variant.feeds[v.name])
        if v.type.HasField("tensor_type"):
            dims = [extents[d.dim_param] for d in v.type.tensor_type.shape.dim]
            value = np.asarray(resized(value, dims), dtype=np.asarray(value).dtype)
        out[v.name] = value
    return out
