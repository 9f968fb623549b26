"""The cases of the onnx package's backend tests: models of one operator or a few, with recorded results.

`candidates()` gives every case of the kinds node, simple, pytorch-converted, pytorch-operator and real for
which the package has data, and the small whole networks that come with it ("light"). `with_initializers`
makes of a case with several inputs a variant, NAME.init, in which all inputs but the first are initializers:
folding and the rules for constant operands have work there. A case counts where ONNX Runtime gives the
recorded results for the model as it stands; `verdict` decides that, for the original and for what an
optimizer made of it.
"""

import dataclasses
import pathlib
import warnings

import numpy as np
import onnx
from onnx import OptionalProto, SequenceProto, TensorProto, numpy_helper
from onnx.backend.test import loader
from onnx.backend.test.runner import Runner

from lib import runs

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
LIGHT = "onnx/backend/test/data/light/"


@dataclasses.dataclass
class Case:
    name: str
    rtol: float
    atol: float
    model: onnx.ModelProto
    sets: list  # of (inputs, outputs), serialized; inputs in the order of inputs_of()


def inputs_of(graph):
    """The inputs that a caller has to feed."""
    given = {t.name for t in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
    return [v for v in graph.input if v.name not in given]


# ---- values ------------------------------------------------------------------------------------------------


def serialized(value, type_proto):
    """Raises what onnx raises, or ValueError, for a value that no test data can hold."""
    if isinstance(value, (TensorProto, SequenceProto, OptionalProto)):
        proto = value
    elif type_proto.HasField("tensor_type"):
        proto = numpy_helper.from_array(value)
    elif type_proto.HasField("sequence_type"):
        proto = numpy_helper.from_list(value)
    elif type_proto.HasField("optional_type"):
        inner = type_proto.optional_type.elem_type
        kind = OptionalProto.SEQUENCE if inner.HasField("sequence_type") else OptionalProto.TENSOR
        proto = numpy_helper.from_optional(value, dtype=kind)
    else:
        raise ValueError("a map or a sparse tensor")
    return proto.SerializeToString()


def parsed(data, type_proto):
    if type_proto.HasField("sequence_type"):
        return numpy_helper.to_list(SequenceProto.FromString(data))
    if type_proto.HasField("optional_type"):
        return numpy_helper.to_optional(OptionalProto.FromString(data))
    return numpy_helper.to_array(TensorProto.FromString(data))


# ---- the cases ---------------------------------------------------------------------------------------------


def candidates(kinds=KINDS, chosen=lambda name: True):
    """Every case that has a model and data here; those of which only an address is known are left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some cases overflow on purpose
        tests = [
            t for kind in kinds for t in sorted(loader.load_model_tests(kind=kind), key=lambda t: t.name)
        ]
    return [c for t in tests if chosen(t.name) and (c := case_of(t))]


def nodes_alone(text=""):
    """(case, its node, its operands by name) of the node cases of one node whose operands are tensors, and
    whose name has the text."""
    for case in candidates(("node",), lambda name: text in name):
        pairs = list(zip(inputs_of(case.model.graph), case.sets[0][0]))
        if len(case.model.graph.node) == 1 and all(v.type.HasField("tensor_type") for v, _ in pairs):
            feeds = {v.name: numpy_helper.to_array(TensorProto.FromString(data)) for v, data in pairs}
            yield case, case.model.graph.node[0], feeds


def case_of(test):
    """None where there is no data, or a value that no test data can hold."""
    if test.model is not None:
        model = test.model
    elif test.model_dir:
        model = onnx.load(pathlib.Path(test.model_dir, "model.onnx"))
    elif test.url and test.url.startswith(LIGHT):
        model = onnx.load(light_path(test))
    else:
        return None
    ins, outs = inputs_of(model.graph), list(model.graph.output)
    try:
        if test.model is not None:
            sets = [
                (
                    [serialized(x, v.type) for x, v in zip(i, ins)],
                    [serialized(x, v.type) for x, v in zip(o, outs)],
                )
                for i, o in test.data_sets
            ]
        elif test.model_dir:
            folders = sorted(pathlib.Path(test.model_dir).glob("test_data_set_*"))
            sets = [(recorded(d, "input"), recorded(d, "output")) for d in folders]
        else:
            stem = str(light_path(test)).removesuffix(".onnx")
            results = [pathlib.Path(f"{stem}_output_{k}.pb").read_bytes() for k in range(len(outs))]
            dummies = [Runner.generate_dummy_data(v, name=test.name) for v in ins]
            sets = [([serialized(x, v.type) for x, v in zip(dummies, ins)], results)]
    except Exception:  # noqa: BLE001 - onnx raises errors of many types
        return None
    return Case(test.name, test.rtol, test.atol, model, sets)


def light_path(test):
    return pathlib.Path(onnx.__file__).resolve().parents[1] / test.url


def recorded(folder, what):
    count = len(list(folder.glob(f"{what}_*.pb")))
    return [(folder / f"{what}_{k}.pb").read_bytes() for k in range(count)]


def with_initializers(case):
    """The variant of a case with tensors for inputs, or None: the values of its first set of data become
    initializers, but for the first input's."""
    ins = inputs_of(case.model.graph)
    values, results = case.sets[0]
    if len(ins) < 2 or len(values) != len(ins) or not all(v.type.HasField("tensor_type") for v in ins[1:]):
        return None
    m = onnx.ModelProto()
    m.CopyFrom(case.model)
    for v, data in zip(ins[1:], values[1:]):
        tensor = TensorProto.FromString(data)
        tensor.name = v.name
        m.graph.initializer.append(tensor)
    fixed = {v.name for v in ins[1:]}
    kept = [v for v in case.model.graph.input if v.name not in fixed]
    del m.graph.input[:]
    m.graph.input.extend(kept)
    m.ir_version = max(m.ir_version, 4)  # an older model lists every initializer among its inputs
    return Case(f"{case.name}.init", case.rtol, case.atol, m, [(values[:1], results)])


# ---- verdicts ----------------------------------------------------------------------------------------------


def verdict(case, model):
    """(verdict, reason) of `model`, a path or bytes, in place of the case's model.

    ok; broken: ONNX Runtime does not load it; interface: a caller of the model would notice a change; wrong:
    it does not run or gives other results than recorded, by the tolerance of the case.
    """
    old = case.model.graph
    try:
        new = (onnx.load(model) if isinstance(model, str) else onnx.load_from_string(model)).graph
        session = runs.session(model)
    except Exception as e:  # noqa: BLE001
        return "broken", one_line(e)
    if why := interface_change(old, new):
        return "interface", why
    ins = inputs_of(old)
    try:
        for values, results in case.sets:
            feeds = {v.name: parsed(x, v.type) for v, x in zip(ins, values)}
            expected = [parsed(x, v.type) for v, x in zip(old.output, results)]
            with np.errstate(all="ignore"):
                found = session.run(None, feeds)
                Runner.assert_similar_outputs(expected, found, case.rtol, case.atol)
    except Exception as e:  # noqa: BLE001
        return "wrong", one_line(e) or type(e).__name__
    return "ok", ""


def one_line(error):
    return " ".join(str(error).split())[:300]


def interface_change(old, new):
    """None, or what a caller of the model would notice: another name, type or order, a shape that
    contradicts, or an input that accepts fewer shapes. An output may be described more exactly."""
    pairs = (("input", inputs_of(old), inputs_of(new)), ("output", list(old.output), list(new.output)))
    for what, before, after in pairs:
        names = [v.name for v in before], [v.name for v in after]
        if names[0] != names[1]:
            return f"{what}s {names[0]} became {names[1]}"
        for v, w in zip(before, after):
            if without_shapes(v.type) != without_shapes(w.type):
                return f"the type of {what} {v.name} changed"
            a, b = extents(v.type), extents(w.type)
            if a is not None and b is not None:
                if len(a) != len(b) or any(None not in (i, j) and i != j for i, j in zip(a, b)):
                    return f"the shape of {what} {v.name} was {a} and is {b}"
            fixed = b is not None and (a is None or any(i is None and j is not None for i, j in zip(a, b)))
            if what == "input" and fixed:
                return f"input {v.name} accepted {a} and accepts {b}"
    return None


def extents(type_proto):
    """The extents of a tensor, None in the place of a free one; None without a shape."""
    if not type_proto.HasField("tensor_type") or not type_proto.tensor_type.HasField("shape"):
        return None
    dims = type_proto.tensor_type.shape.dim
    return [d.dim_value if d.HasField("dim_value") else None for d in dims]


def forget_shapes(type_proto):
    """Removes the shapes from a type, at any depth. Returns the type and those within."""
    types = [type_proto]
    for t in types:  # grows on the way
        kind = t.WhichOneof("value")
        if kind in ("tensor_type", "sparse_tensor_type"):
            getattr(t, kind).ClearField("shape")
        elif kind in ("sequence_type", "optional_type"):
            types.append(getattr(t, kind).elem_type)
        elif kind == "map_type":
            types.append(t.map_type.value_type)
    return types


def without_shapes(type_proto):
    """The type as bytes, without shapes and denotations at any depth."""
    t = onnx.TypeProto()
    t.CopyFrom(type_proto)
    for inner in forget_shapes(t):
        inner.ClearField("denotation")
    return t.SerializeToString(deterministic=True)
