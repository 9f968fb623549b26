"""Models with something in them that loading and saving must keep, each made by a function of SURVIVORS."""

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper, numpy_helper

from _tool import model


F = TensorProto.FLOAT


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def unknown(number=1000, content=b"from the future"):
    """A field that no version of ONNX has: of length type, and with a number and a group after it."""
    group = varint(number + 1 << 3 | 3) + varint(5 << 3) + b"\x07" + varint(number + 1 << 3 | 4)
    return (
        varint(number << 3 | 2) + varint(len(content)) + content + varint(number + 2 << 3) + b"\x05" + group
    )


def with_unknown(message):
    return type(message).FromString(message.SerializeToString() + unknown())


def info(name, dims=("n", 3), elem=F, doc=""):
    return helper.make_tensor_value_info(name, elem, dims, doc)


def finish(
    nodes, inputs, outputs, initializers=(), ir=10, opset=21, domains=(), functions=(), **graph_fields
):
    g = helper.make_graph(list(nodes), "g", list(inputs), list(outputs), list(initializers), **graph_fields)
    imports = [helper.make_opsetid("", opset), *(helper.make_opsetid(d, 1) for d in domains)]
    return helper.make_model(g, ir_version=ir, opset_imports=imports, functions=list(functions))


def entry(key, value):
    return onnx.StringStringEntryProto(key=key, value=value)


def unknown_fields():
    m = model()
    m.graph.node[0].CopyFrom(with_unknown(m.graph.node[0]))
    attribute = with_unknown(helper.make_attribute("alpha", 0.25))
    m.graph.node.append(
        onnx.NodeProto(op_type="LeakyRelu", input=["x"], output=["leaky"], attribute=[attribute])
    )
    m.graph.initializer[0].CopyFrom(with_unknown(m.graph.initializer[0]))
    m.graph.input[0].type.CopyFrom(with_unknown(m.graph.input[0].type))
    m.graph.input[0].CopyFrom(with_unknown(m.graph.input[0]))
    m.graph.output[0].CopyFrom(with_unknown(m.graph.output[0]))
    m.graph.CopyFrom(with_unknown(m.graph))
    m.opset_import[0].CopyFrom(with_unknown(m.opset_import[0]))
    return with_unknown(m)


def texts():
    m = model()
    m.producer_name, m.producer_version, m.domain, m.model_version, m.doc_string = (
        "p",
        "1",
        "org.x",
        -7,
        "doc\n\0of model",
    )
    m.metadata_props.extend([entry("k", "v"), entry("k", "twice"), entry("", "")])
    m.graph.doc_string = "of graph"
    m.graph.metadata_props.append(entry("g", "h"))
    for i, node in enumerate(m.graph.node):
        node.doc_string = f"of node {i}"
        node.metadata_props.append(entry("layer", str(i)))
    m.graph.node[1].domain = "ai.onnx"
    m.graph.node[0].ClearField("name")
    m.graph.initializer[0].doc_string = "of tensor"
    m.graph.initializer[0].metadata_props.append(entry("t", "u"))
    m.graph.input[0].doc_string = "of input"
    m.graph.input[0].metadata_props.append(entry("i", "j"))
    m.graph.input[0].type.denotation = "IMAGE"
    m.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    m.graph.output[0].type.tensor_type.shape.dim[1].denotation = "DATA_CHANNEL"
    return m


def value_infos():
    m = model()
    # Of a value, of one that is not there, twice of one, of an output, of an initializer: in an order of
    # their own.
    m.graph.value_info.extend(
        [
            info("r"),
            info("nobody", ("a", "b")),
            info("i"),
            info("r", ("other", 3)),
            info("y"),
            info("w", (3,)),
            onnx.ValueInfoProto(name="c"),
        ]
    )
    return m


def sparse():
    values = numpy_helper.from_array(np.array([1.5, -2.5], np.float32), "s")
    indices = numpy_helper.from_array(np.array([1, 4], np.int64), "")
    m = finish([helper.make_node("Add", ["x", "s"], ["y"])], [info("x", (6,))], [info("y", (6,))])
    m.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, [6]))
    constant = helper.make_node(
        "Constant", [], ["c"], sparse_value=helper.make_sparse_tensor(values, indices, [6])
    )
    m.graph.node.insert(0, constant)
    return m


def training():
    m = model()
    step = helper.make_graph(
        [helper.make_node("Sub", ["w", "half"], ["w_next"])], "step", [], [info("w_next", (3,))]
    )
    t = m.training_info.add()
    t.algorithm.CopyFrom(step)
    t.update_binding.append(entry("w", "w_next"))
    t.initialization.CopyFrom(
        helper.make_graph(
            [helper.make_node("Constant", [], ["w0"], value_floats=[0.0, 1.0, 2.0])],
            "init",
            [],
            [info("w0", (3,))],
        )
    )
    t.initialization_binding.append(entry("w", "w0"))
    return m


def functions():
    def body(overload, op, **more):
        f = helper.make_function(
            "my",
            "Act",
            ["a"],
            ["b"],
            [helper.make_node(op, ["a"], ["t"]), helper.make_node("Identity", ["t"], ["b"])],
            [helper.make_opsetid("", 20)],
            **more,
        )
        f.overload = overload
        return f

    first = body("", "Relu", attributes=["unused"], attribute_protos=[helper.make_attribute("alpha", 0.5)])
    first.doc_string = "first"
    first.metadata_props.append(entry("a", "b"))
    first.value_info.extend([info("t"), info("b"), info("ghost"), info("a")])
    second = body("other", "Tanh")
    second.node[0].attribute.append(
        AttributeProto(name="later", type=AttributeProto.FLOAT, ref_attr_name="alpha")
    )
    call, other = (
        helper.make_node("Act", ["x"], ["h"], "call", domain="my"),
        helper.make_node("Act", ["h"], ["y"], domain="my"),
    )
    other.overload = "other"
    return finish(
        [call, other], [info("x")], [info("y")], domains=["my"], functions=[with_unknown(first), second]
    )


def devices():
    m = model()
    m.ir_version = 11
    m.configuration.append(onnx.DeviceConfigurationProto(name="two", num_devices=2, device=["a", "b"]))
    d = m.graph.node[3].device_configurations.add(configuration_id="two", pipeline_stage=0)
    s = d.sharding_spec.add(tensor_name="r", device=[0, 1])
    axis = s.sharded_dim.add(axis=0)
    axis.simple_sharding.add(dim_param="batch", num_shards=2)
    return m


def annotations():
    m = model()
    m.graph.quantization_annotation.append(
        onnx.TensorAnnotation(
            tensor_name="r",
            quant_parameter_tensor_names=[entry("SCALE_TENSOR", "half"), entry("ZERO_POINT_TENSOR", "w")],
        )
    )
    return m


def element_types():
    """Each type in raw form and in its typed list, where it has one."""
    tensors = []
    for name, number in TensorProto.DataType.items():
        if name in ("UNDEFINED", "STRING"):
            continue
        bits = {
            "INT4": 4,
            "UINT4": 4,
            "FLOAT4E2M1": 4,
            "INT2": 2,
            "UINT2": 2,
            "FLOAT6E2M3": 6,
            "FLOAT6E3M2": 6,
        }.get(name)
        count = 5
        size = (bits * count + 7) // 8 if bits else helper.tensor_dtype_to_np_dtype(number).itemsize * count
        tensors.append(
            TensorProto(name=f"raw_{name}", data_type=number, dims=[count], raw_data=bytes([1] * size))
        )
        typed = TensorProto(name=f"typed_{name}", data_type=number, dims=[count])
        entries = (
            -(-count * bits // 8) if bits in (2, 4) else count * 2 if name.startswith("COMPLEX") else count
        )
        if name in ("FLOAT", "COMPLEX64"):
            typed.float_data.extend([float("nan"), -0.0, 1e-45, float("inf"), 3.5] * (entries // 5))
        elif name in ("DOUBLE", "COMPLEX128"):
            typed.double_data.extend([float("nan"), -0.0, 5e-324, float("-inf"), 3.5] * (entries // 5))
        elif name == "INT64":
            typed.int64_data.extend([-(2**63), 2**63 - 1, -1, 0, 1])
        elif name in ("UINT32", "UINT64"):
            typed.uint64_data.extend([0, 1, 2**32 - 1, 7, 300])
        else:
            typed.int32_data.extend([1, 2, 3, 0, 1][:entries])
        tensors.append(typed)
    tensors += [
        TensorProto(name="text", data_type=TensorProto.STRING, dims=[2, 1], string_data=[b"", b"\xff\0x"]),
        TensorProto(name="empty", data_type=F, dims=[0, 2**40]),
        TensorProto(name="scalar", data_type=F, float_data=[2.0]),
        TensorProto(name="huge_but_empty", data_type=F, dims=[2**40, 2**40, 0]),
    ]
    return finish(
        [helper.make_node("Identity", ["x"], ["y"])], [info("x")], [info("y")], tensors, ir=13, opset=26
    )


def attributes():
    graph = helper.make_graph([helper.make_node("Add", ["x", "x"], ["inner"])], "b", [], [info("inner")])
    node = helper.make_node(
        "Custom",
        ["x", "", "x"],
        ["y", "", "z"],
        "n",
        domain="org.x",
        i=-1,
        f=0.1,
        s=b"\xff",
        ints=[1, -1],
        floats=[0.5, float("inf")],
        strings=["a", ""],
        t=numpy_helper.from_array(np.ones(2, np.float32), "name"),
        g=graph,
        gs=[graph, graph],
    )
    more = [
        helper.make_attribute("tp", info("x").type),
        AttributeProto(name="tps", type=AttributeProto.TYPE_PROTOS, type_protos=[info("x").type] * 2),
        AttributeProto(
            name="ts", type=AttributeProto.TENSORS, tensors=[numpy_helper.from_array(np.ones(2, np.int8))] * 2
        ),
        AttributeProto(name="none", type=AttributeProto.INTS),
        AttributeProto(name="new", type=AttributeProto.INT, i=0, doc_string="d"),
    ]
    node.attribute.extend(more)
    return finish([node], [info("x")], [info("y"), info("z")], domains=["org.x"])


def types():
    seq = helper.make_tensor_sequence_value_info("s", F, ["a", None])
    opt = helper.make_value_info(
        "o",
        helper.make_optional_type_proto(
            helper.make_sequence_type_proto(helper.make_tensor_type_proto(TensorProto.STRING, None))
        ),
    )
    dictionary = helper.make_value_info(
        "m",
        onnx.TypeProto(
            map_type=onnx.TypeProto.Map(
                key_type=TensorProto.STRING, value_type=helper.make_tensor_type_proto(F, [])
            )
        ),
    )
    opaque = helper.make_value_info(
        "p", onnx.TypeProto(opaque_type=onnx.TypeProto.Opaque(domain="d", name="n"))
    )
    odd = info("q", (0, -1, "", "a + 1", "2*a", 2**62, None))
    names = ["s", "o", "m", "p", "q", "u"]
    outputs = [helper.make_empty_tensor_value_info(f"{n}_out") for n in names]
    return finish(
        [helper.make_node("Identity", [n], [f"{n}_out"]) for n in names],
        [seq, opt, dictionary, opaque, odd, onnx.ValueInfoProto(name="u")],
        outputs,
    )


def subgraphs():
    """Captures from two levels up, shadowing-free names used in both branches, and initializers inside."""
    w = numpy_helper.from_array(np.ones(3, np.float32), "w_in")
    inner = [
        helper.make_graph([helper.make_node("Mul", ["r", k], [f"o{k}"])], f"in_{k}", [], [info(f"o{k}")])
        for k in ("w", "x")
    ]
    then = helper.make_graph(
        [helper.make_node("If", ["c2"], ["t"], then_branch=inner[0], else_branch=inner[1])],
        "then",
        [],
        [info("t")],
        value_info=[info("nobody")],
    )
    other = helper.make_graph(
        [helper.make_node("Add", ["r", "w_in"], ["e"])], "else", [], [info("e")], [w], doc_string="d"
    )
    m = finish(
        [
            helper.make_node("Relu", ["x"], ["r"]),
            helper.make_node("If", ["c"], ["y"], then_branch=then, else_branch=other),
        ],
        [info("x"), info("c", (), TensorProto.BOOL), info("c2", (), TensorProto.BOOL)],
        [info("y")],
        [numpy_helper.from_array(np.ones(3, np.float32), "w")],
    )
    return m


def inputs_and_outputs():
    """An overridable default, an input that nothing uses, one that is an output, an output given twice, a
    constant output."""
    w = numpy_helper.from_array(np.ones(3, np.float32), "w")
    k = numpy_helper.from_array(np.ones(1, np.float32), "k")
    as_output = info("x", ("n", 3), doc="as output")
    return finish(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        [info("x"), info("w", (3,)), info("unused", ("q",))],
        [info("y"), as_output, info("y", (None, 3)), info("k", (1,))],
        [w, k],
    )


def old_ir():
    w = numpy_helper.from_array(np.ones(3, np.float32), "w")
    return finish(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        [info("x"), info("w", (3,))],
        [info("y")],
        [w],
        ir=3,
        opset=8,
    )


def unusual_domains():
    m = finish(
        [
            helper.make_node("Zap", ["x"], ["a"], domain="no.import"),
            helper.make_node("Zap", ["a"], ["y"], domain="my"),
        ],
        [info("x")],
        [info("y")],
        domains=["my"],
    )
    return m


SURVIVORS = [
    unknown_fields,
    texts,
    value_infos,
    sparse,
    training,
    functions,
    devices,
    annotations,
    element_types,
    attributes,
    types,
    subgraphs,
    inputs_and_outputs,
    old_ir,
    unusual_domains,
]
