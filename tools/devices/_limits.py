"""What the operator builders of ONNX Runtime's NNAPI and Core ML providers ask for beyond their tables.

Read in onnxruntime/core/providers/{nnapi/nnapi_builtin,coreml}/builders of microsoft/onnxruntime; FILES
names the files and commits. A function here gives, for one version of an operator, a list of sets of
conditions of which one must hold; an empty list means that the builder does not take the version.
"""

from _profile import alternatives

FLOAT = {"dtypes": ["FLOAT"]}
CONSTANT = {"constant": True}

NNAPI_FILES = [
    ("base_op_builder.cc, unary_op_builder.cc", "194144df, d930f6ec"),
    ("binary_op_builder.cc, cast_op_builder.cc, concat_op_builder.cc", "a7742283"),
    ("softmax_op_builder.cc, squeeze_op_builder.cc", "a7742283"),
    ("clip_op_builder.cc, gather_op_builder.cc, flatten_op_builder.cc", "31e67661, 32d19a81, 90948cdb"),
    ("gemm_op_builder.cc, transpose_op_builder.cc", "a0d18347"),
    ("minmax_op_builder.cc, pad_op_builder.cc", "0bd42bd5, f8b74ff7"),
    ("reduction_op_builder.cc, reshape_op_builder.cc", "eb94e8c5, d9664d91"),
    ("slice_op_builder.cc, split_op_builder.cc, unsqueeze_op_builder.cc", "d930f6ec, d018c978, 2944c6f4"),
]
COREML_FILES = [
    ("helper.cc (IsInputSupported)", "with pull request 17086"),
    ("impl/reshape_op_builder.cc, impl/squeeze_op_builder.cc", "0d112605, 62a1c39f"),
    ("impl/reduction_op_builder.cc", "4bd17315"),
]


def on(**inputs):
    """on(i0={...}, i1={...}): conditions on inputs by number."""
    return {"inputs": {int(k[1:]): v for k, v in inputs.items()}}


def names(schema):
    return [o.name for o in schema.inputs]


def constants(schema, *wanted):
    """The inputs of these names, where the version has them, are constants."""
    return {"inputs": {names(schema).index(n): dict(CONSTANT) for n in wanted if n in names(schema)}}


# The builders of Reshape and Unsqueeze look at the operand; nothing takes a result of more dims.
RESULT = {"outputs": {0: {"ranks": [0, 4]}}}
UNARY = {"Abs", "Exp", "Floor", "Log", "Neg", "Sin", "Sqrt", "Tanh"}


def nnapi(schema):
    op, since = schema.name, schema.since
    if schema.domain:
        return [{}]
    if op in UNARY:
        return [on(i0=FLOAT)] if since >= 6 else []
    if op == "Sigmoid":
        return [on(i0=FLOAT | {"ranks": [1, 4]})] if since >= 6 else []
    if op in ("Add", "Sub", "Mul", "Div", "Pow", "PRelu"):
        second = {"ranks": [0, 4]} | (FLOAT if op == "Pow" else {})
        return [on(i0=FLOAT | {"ranks": [0, 4]}, i1=second)] if since >= 7 or op == "PRelu" else []
    if op in ("Max", "Min"):
        two = {
            0: FLOAT | {"presence": "required"},
            1: {"presence": "required"},
            "rest": {"presence": "absent"},
        }
        return [{"inputs": two}] if since >= 6 else []
    if op == "Cast":
        return [on(i0=FLOAT) | {"attributes": {"to": {"enum": [1, 6]}}}] if since >= 6 else []
    if op == "Clip":
        return clip(schema)
    if op in ("Concat", "Transpose"):
        index = "rest" if op == "Concat" else 0
        return [{"inputs": {index: {"dtypes": ["FLOAT", "UINT8"], "ranks": [1, 4]}}}]
    if op in ("Flatten", "Squeeze"):
        return [on(i0=FLOAT | {"ranks": [1, 4]})]
    if op == "Unsqueeze":
        return [on(i0=FLOAT | {"ranks": [1, 4]}) | RESULT]
    if op == "Gather":
        return [on(i0=FLOAT | {"ranks": [1, 4]})]
    if op == "Gemm":
        form = {"transA": {"enum": [0]}, "alpha": {"enum": [1]}, "beta": {"enum": [1]}}
        return (
            [
                on(i0=FLOAT | {"ranks": [2, 2]}, i1={"ranks": [2, 2]}, i2={"ranks": [1, None]})
                | {"attributes": form}
            ]
            if since >= 7
            else []
        )
    if op == "MatMul":
        one = {"note": "the leading dims must be equal, which this rule cannot say"}
        batch = [on(i0=FLOAT | {"ranks": [r, r]}, i1={"ranks": [r, r]}) | one for r in (3, 4)]
        return [on(i0=FLOAT | {"ranks": [2, 2]}, i1={"ranks": [2, 2]} | CONSTANT), *batch]
    if op == "Pad":
        return [on(i0=FLOAT | {"ranks": [1, 4]})] if since >= 11 else []
    if op == "ReduceMean":
        noop = {"attributes": {"noop_with_empty_axes": {"enum": [0]}}} if since >= 18 else {}
        return alternatives([[on(i0=FLOAT | {"ranks": [1, 4]})], [constants(schema, "axes")], [noop]])
    if op == "Reshape":
        return [one | RESULT for one in reshape(schema, {"ranks": [1, 4]} | FLOAT)]
    if op == "Slice":
        found = constants(schema, "starts", "ends", "axes", "steps")
        return alternatives([[on(i0=FLOAT | {"ranks": [0, 4]})], [found]]) if since >= 10 else []
    if op == "Softmax":
        return [on(i0=FLOAT | ({"ranks": [0, 4]} if since >= 13 else {}))]
    return [{}]


def reshape(schema, data):
    """The target is a constant with an entry; with allowzero it has no 0."""
    if schema.since < 5:
        return []
    target = on(i0=data, i1=CONSTANT | {"value": {"length": [1, None]}})
    if "allowzero" not in schema.attributes:
        return [target]
    kept = target | {"attributes": {"allowzero": {"enum": [0]}}}
    return [kept]


def clip(schema):
    """Bounds 0 and 6, or -1 and 1."""
    out = []
    for low, high in ((0, 6), (-1, 1)):
        if "min" in names(schema):
            bounds = {
                i: {"presence": "required"} | CONSTANT | {"value": {"enum": [v]}}
                for i, v in ((1, low), (2, high))
            }
            out.append({"inputs": {0: FLOAT} | bounds})
        else:
            out.append(on(i0=FLOAT) | {"attributes": {"min": {"enum": [low]}, "max": {"enum": [high]}}})
    return out


def coreml(schema):
    if schema.domain:
        return [{}]
    if schema.name == "Reshape":
        return reshape(schema, {"ranks": [1, 5]})
    if schema.name in ("Squeeze", "Unsqueeze", "ReduceSum", "ReduceMean", "ReduceMax"):
        found = constants(schema, "axes")
        return [found] if found["inputs"] else [{}]
    return [{}]
