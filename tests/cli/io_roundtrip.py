"""Loading and saving: `graphopt -O0 IN -o OUT` keeps everything that a model can hold, wherever its bytes
stand."""

import hashlib
import os
import resource
import signal
import stat
import subprocess
import sys
import time

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper

from _tool import expect, main, model

F = TensorProto.FLOAT


def varint(n):
    out = b""
    while n > 127:
        out += bytes([n & 127 | 128])
        n >>= 7
    return out + bytes([n])


def unknown(number=1000, content=b"from the future"):
    """A field that no version of ONNX has: of length type, and with a number and a group behind it."""
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


# --- models, each with something that must survive ----------------------------------------------------------


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
    first.value_info.extend([info("t"), info("ghost")])
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


def fields(data):
    return ModelProto.FromString(data).SerializeToString(deterministic=True)


def saved(folder, m, name="m.onnx"):
    path = folder / name
    path.write_bytes(m if isinstance(m, bytes) else m.SerializeToString())
    return path


def kept(tool, path, out, *words, **how):
    done = tool("-q", "-O0", path, "-o", out, *words, **how)
    expect(done.returncode == 0, path.name, done.returncode, done.stderr)
    return out.read_bytes()


def test_everything_survives(tool, folder):
    for make in SURVIVORS:
        m = make()
        path = saved(folder, m, f"{make.__name__}.onnx")
        data = kept(tool, path, folder / "out.onnx")
        expect(fields(data) == m.SerializeToString(deterministic=True), make.__name__, "differs")
        expect(
            kept(tool, folder / "out.onnx", folder / "again.onnx") == data,
            make.__name__,
            "the second run changes bytes",
        )


def test_unsorted(tool, folder):
    """Nodes in any order, captures included; the result has them in the order of the file where that is
    possible."""
    m = subgraphs()
    nodes = [
        m.graph.node[1],
        helper.make_node("Relu", ["y"], ["z"]),
        m.graph.node[0],
        helper.make_node("Abs", ["x"], ["free"]),
    ]
    del m.graph.node[:]
    m.graph.node.extend(nodes)
    data = kept(tool, saved(folder, m), folder / "out.onnx")
    expect([n.op_type for n in ModelProto.FromString(data).graph.node] == ["Relu", "If", "Relu", "Abs"], data)
    del m.graph.node[:]
    m.graph.node.extend([nodes[2], nodes[0], nodes[1], nodes[3]])
    expect(fields(data) == m.SerializeToString(deterministic=True), "more than the order differs")
    expect(kept(tool, folder / "out.onnx", folder / "again.onnx") == data, "the second run changes bytes")


def test_field_order_and_padding(tool, folder):
    """Fields in any order and numbers written longer than needed mean the same."""
    m = texts()
    parts = [
        varint(7 << 3 | 2)
        + (lambda b: varint(len(b))[:-1] + bytes([varint(len(b))[-1] | 0x80, 0]) + b)(
            m.graph.SerializeToString()
        )
    ]
    rest = ModelProto()
    rest.CopyFrom(m)
    rest.ClearField("graph")
    data = kept(tool, saved(folder, parts[0] + rest.SerializeToString()), folder / "out.onnx")
    expect(data == m.SerializeToString(deterministic=True), "not in the order of field numbers")


def test_streams_and_places(tool, folder):
    m = texts()
    path = saved(folder, m)
    data = path.read_bytes()
    done = tool("-q", "-O0", "-", "-o", "-", stdin=data)
    expect(done.returncode == 0 and fields(done.stdout) == fields(data), done.stderr)
    path.chmod(0o640)
    kept(tool, path, path)
    expect(
        fields(path.read_bytes()) == fields(data) and stat.S_IMODE(path.stat().st_mode) == 0o640, "in place"
    )
    link = folder / "link.onnx"
    link.symlink_to("m.onnx")
    kept(tool, path, link)
    expect(link.is_symlink() and fields(path.read_bytes()) == fields(data), "a link is followed")
    expect(tool("-q", "-O0", path, "-o", "/dev/null").returncode == 0, "/dev/null")
    done = tool("-q", "-O0", "m.onnx", "-o", "sub/../o.onnx", cwd=folder)
    expect(done.returncode == 4, "missing folder", done.stderr)
    expect(sorted(os.listdir(folder)) == ["link.onnx", "m.onnx"], "left behind:", os.listdir(folder))


def external(folder, tensors, **how):
    m = finish(
        [helper.make_node("Add", ["x", t.name], [f"y{i}"]) for i, t in enumerate(tensors)],
        [info("x", None)],
        [info(f"y{i}", None) for i in range(len(tensors))],
        tensors,
    )
    onnx.save_model(m, folder / "m.onnx", save_as_external_data=True, size_threshold=0, **how)
    return folder / "m.onnx"


def weights(count=4, size=3000):
    rng = np.random.default_rng(1)
    return [
        numpy_helper.from_array(rng.standard_normal(size + i).astype(np.float32), f"w{i}")
        for i in range(count)
    ]


def contents(path):
    m = onnx.load(path)
    return {t.name: numpy_helper.to_array(t).tobytes() for t in m.graph.initializer}


def state(path):
    s = path.stat()
    return (
        s.st_ino,
        s.st_size,
        s.st_mtime_ns,
        s.st_mode,
    )  # not the time of the last access: reading may change it


def data_files(folder):
    return sorted(p.name for p in folder.iterdir() if not p.name.endswith(".onnx"))


def test_external_beside(tool, folder):
    """OUT beside IN: the data file is referred to, and not touched."""
    path = external(folder, weights(), location="w.bin")
    before = state(folder / "w.bin")
    data = kept(tool, path, folder / "out.onnx")
    expect(fields(data) == fields(path.read_bytes()), "differs")
    expect(state(folder / "w.bin") == before and data_files(folder) == ["w.bin"], "the data file was touched")
    kept(tool, path, path)
    expect(path.read_bytes() == data and data_files(folder) == ["w.bin"], "in place")


def test_external_elsewhere(tool, folder):
    path = external(folder, weights(), location="w.bin")
    (folder / "to").mkdir()
    out = folder / "to" / "out.onnx"
    data = kept(tool, path, out)
    expect(contents(out) == contents(path), "weights differ")
    names = data_files(folder / "to")
    expect(len(names) == 1 and names[0].startswith("out.onnx.") and names[0].endswith(".data"), names)
    expect(kept(tool, path, out) == data and data_files(folder / "to") == names, "the second run differs")
    expect(
        kept(tool, out, out) == data and data_files(folder / "to") == names, "a run over the output differs"
    )
    done = tool("-q", "-O0", path, "-o", "-")
    expect(done.returncode == 0, done.stderr)
    inline = saved(folder / "to", done.stdout, "inline.onnx")
    expect(
        contents(inline) == contents(path)
        and not any(t.data_location for t in ModelProto.FromString(done.stdout).graph.initializer),
        "through a pipe the weights are inside",
    )


def test_external_policy(tool, folder):
    path = saved(
        folder,
        finish(
            [helper.make_node("Add", ["x", t.name], [f"y{i}"]) for i, t in enumerate(weights())],
            [info("x", None)],
            [info(f"y{i}", None) for i in range(4)],
            [*weights(), numpy_helper.from_array(np.ones(2, np.float32), "small")],
        ),
    )
    out = folder / "out.onnx"
    kept(tool, path, out, "--external-data", "always")
    first = data_files(folder)
    expect(contents(out) == contents(path) and len(first) == 1, "always")
    external_names = [
        t.name
        for t in ModelProto.FromString(out.read_bytes()).graph.initializer
        if t.data_location == TensorProto.EXTERNAL
    ]
    expect(external_names == ["w0", "w1", "w2", "w3"], external_names)
    kept(tool, path, out, "--external-data", "always", "--external-threshold", "12008")
    second = data_files(folder)
    expect(
        contents(out) == contents(path) and len(second) == 1 and second != first,
        "the old data file is removed",
        second,
    )
    done = kept(tool, path, out, "--external-data", "never")
    expect(
        fields(done) == fields(path.read_bytes()) and data_files(folder) == [], "never", data_files(folder)
    )
    kept(tool, path, out, "--external-data", "always")
    kept(tool, out, out, "--external-data", "never")
    expect(contents(out) == contents(path) and data_files(folder) == [], "back inside")


def test_external_shared_and_many(tool, folder):
    """Two tensors that are one range stay one; a file per tensor; links inside the folder and hard links."""
    a = weights(2)
    path = external(folder, a, all_tensors_to_one_file=False)
    expect(len(data_files(folder)) == 2, data_files(folder))
    before = contents(path)
    os.rename(folder / "w0", folder / "real.bin")
    (folder / "w0").symlink_to("real.bin")
    os.link(folder / "w1", folder / "hard.bin")
    m = ModelProto.FromString(path.read_bytes())
    twin = m.graph.initializer.add()
    twin.CopyFrom(m.graph.initializer[1])
    twin.name = "twin"
    path.write_bytes(m.SerializeToString())
    expect(fields(kept(tool, path, folder / "o.onnx")) == fields(path.read_bytes()), "beside")
    (folder / "to").mkdir()
    kept(tool, path, folder / "to" / "o.onnx")
    expect(contents(folder / "to" / "o.onnx") == {**before, "twin": before["w1"]}, "elsewhere")
    [data] = data_files(folder / "to")
    expect((folder / "to" / data).stat().st_size < 3 * 12000, "the shared range was written twice")


def test_external_root(tool, folder):
    (folder / "model").mkdir()
    (folder / "data").mkdir()
    path = external(folder / "model", weights(1), location="w.bin")
    os.rename(folder / "model" / "w.bin", folder / "data" / "w.bin")
    done = tool("-q", "-O0", path, "-o", folder / "model" / "o.onnx")
    expect(done.returncode == 2 and "'w.bin', which is not there" in done.stderr, done.stderr)
    kept(tool, path, folder / "model" / "o.onnx", "--external-root", folder / "data")
    os.rename(folder / "data" / "w.bin", folder / "model" / "w.bin")
    expect(contents(folder / "model" / "o.onnx") == contents(path), "weights differ")


def test_text(tool, folder):
    text = b"""# a comment
    <ir_version: 10, opset_import: ["" : 21]>
    g (float[n, 3] x) => (float[n, 3] y) <float[3] w = {1, 2, 3}> { t = Add (x, w)
      y = Relu (t) }"""
    data = kept(tool, saved(folder, text, "m.txt"), folder / "out.onnx")
    m = ModelProto.FromString(data)
    expect([n.op_type for n in m.graph.node] == ["Add", "Relu"] and m.ir_version == 10, m)
    onnx.checker.check_model(m, full_check=True)
    done = tool("-q", "-O0", "-", "-o", "-", stdin=text)
    expect(done.stdout == data, "the same through pipes")


def test_large_external(tool, folder):
    """6 GiB of weights, in a sparse file, within 200 MiB of data."""
    size = 2**30
    tensors = []
    for i in range(6):
        t = TensorProto(name=f"w{i}", data_type=F, dims=[size // 4], data_location=TensorProto.EXTERNAL)
        t.external_data.extend(
            [entry("location", "big.bin"), entry("offset", str(i * size)), entry("length", str(size))]
        )
        tensors.append(t)
    m = finish(
        [helper.make_node("Add", ["x", t.name], [f"y{i}"]) for i, t in enumerate(tensors)],
        [info("x", None)],
        [info(f"y{i}", None) for i in range(6)],
        tensors,
    )
    path = saved(folder, m)
    with open(folder / "big.bin", "wb") as f:
        f.truncate(6 * size)
        for i in range(6):
            f.seek(i * size + 4096 * i)
            f.write(bytes([i + 1]) * 4096)
    sanitized = os.environ.get("GRAPHOPT_SANITIZED") == "1"  # shadow memory counts as data

    def limited(*words):
        return subprocess.run(
            [tool.binary, "-q", "-O0", *map(str, words)],
            capture_output=True,
            text=True,
            preexec_fn=None
            if sanitized
            else lambda: resource.setrlimit(resource.RLIMIT_DATA, (200 << 20, 200 << 20)),
        )

    done = limited(path, "-o", folder / "out.onnx")
    expect(
        done.returncode == 0 and fields((folder / "out.onnx").read_bytes()) == fields(path.read_bytes()),
        done.stderr,
    )
    (folder / "to").mkdir()
    done = limited(path, "-o", folder / "to" / "out.onnx")
    expect(done.returncode == 0, done.stderr)
    [name] = data_files(folder / "to")
    copy = folder / "to" / name
    expect(copy.stat().st_blocks * 512 < 2**24, "holes were filled")
    out = ModelProto.FromString((folder / "to" / "out.onnx").read_bytes())
    with open(copy, "rb") as f:
        for i, t in enumerate(out.graph.initializer):
            where = {e.key: e.value for e in t.external_data}
            f.seek(int(where["offset"]) + 4096 * i)
            expect(
                where["location"] == name and f.read(4096) == bytes([i + 1]) * 4096, "wrong bytes at", t.name
            )
    done = limited(path, "-o", folder / "one.onnx", "--external-data", "never")
    expect(
        done.returncode == 4 and "2147483647" in done.stderr and not (folder / "one.onnx").exists(),
        done.stderr,
    )


def test_killed_while_writing(tool, folder):
    """Whatever the moment of a kill -9, OUT is the old or the new file."""
    old, new = model(), texts()
    for m in (old, new):
        m.graph.initializer.append(
            numpy_helper.from_array(np.ones(2**20, np.float32) * len(m.metadata_props), "ballast")
        )
    out = folder / "out.onnx"
    new_path = saved(folder, new, "new.onnx")
    old_data = old.SerializeToString()
    new_data = kept(tool, new_path, folder / "expected.onnx")
    start = time.monotonic()
    tool("-q", "-O0", new_path, "-o", folder / "expected.onnx")
    duration = time.monotonic() - start
    rng = np.random.default_rng(7)
    seen = set()
    for moment in rng.uniform(0, duration * 1.2, 40):
        out.write_bytes(old_data)
        process = subprocess.Popen([tool.binary, "-q", "-O0", str(new_path), "-o", str(out)])
        time.sleep(moment)
        process.send_signal(signal.SIGKILL)
        process.wait()
        now = out.read_bytes()
        expect(now in (old_data, new_data), "OUT is neither the old nor the new file")
        seen.add(hashlib.sha256(now).hexdigest())
    print(f"  killed 40 times: {len(seen)} different states of OUT")


if __name__ == "__main__":
    sys.exit(main(globals()))
