"""--strip: doc, metadata and names go, and nothing else."""

import sys

import numpy as np
import onnx
import onnx.parser
from google.protobuf.descriptor import FieldDescriptor
from onnx import ModelProto, TensorProto, helper, numpy_helper

from _models import SURVIVORS, annotations, entry, finish, info, subgraphs, texts
from _tool import USAGE, expect, kept, main, model, refused, saved
from check_runs import library


def messages(root):
    """A message and all that are in it, without training information."""
    todo = [root]
    while todo:
        m = todo.pop()
        yield m
        for field, value in m.ListFields():
            if field.type != FieldDescriptor.TYPE_MESSAGE or field.name == "training_info":
                continue
            todo.extend([value] if hasattr(value, "ListFields") else value)


def without(m, *fields):
    out = ModelProto.FromString(m.SerializeToString())
    for message in list(messages(out)):
        for field in fields:
            if field in message.DESCRIPTOR.fields_by_name:
                message.ClearField(field)
    return out


def everywhere():
    """Doc strings and metadata in every message that can have them."""
    m = texts()
    m.graph.value_info.append(info("r", doc="of an inner value"))
    m.graph.value_info.append(info("nobody", doc="of nothing"))
    m.graph.output[0].doc_string = "of an output"
    t = numpy_helper.from_array(np.ones(3, np.float32), "t")
    t.doc_string = "in an attribute"
    t.metadata_props.append(entry("a", "b"))
    body = helper.make_graph(
        [helper.make_node("Neg", ["x"], ["in"], doc_string="n")],
        "body",
        [],
        [info("in", doc="o")],
        [t],
        doc_string="of a body",
    )
    sparse = onnx.SparseTensorProto(
        values=TensorProto(name="sp", data_type=1, dims=[1], float_data=[2], doc_string="s"),
        indices=TensorProto(data_type=7, dims=[1], int64_data=[1], doc_string="i"),
        dims=[4],
    )
    m.graph.sparse_initializer.append(sparse)
    attribute = helper.make_attribute("value", t)
    attribute.doc_string = "of an attribute"
    plain = helper.make_attribute("alpha", 0.5)
    plain.doc_string = "of a number"
    then = helper.make_attribute("then_branch", body, doc_string="of a graph")
    several = onnx.AttributeProto(name="ts", type=onnx.AttributeProto.TENSORS, tensors=[t, t])
    some = onnx.AttributeProto(name="sps", type=onnx.AttributeProto.SPARSE_TENSORS, sparse_tensors=[sparse])
    m.graph.node.extend(
        [
            onnx.NodeProto(
                op_type="Constant", output=["k"], attribute=[attribute], metadata_props=[entry("x", "y")]
            ),
            onnx.NodeProto(op_type="LeakyRelu", input=["k"], output=["kk"], attribute=[plain]),
            onnx.NodeProto(
                op_type="If",
                input=["c0"],
                output=["if"],
                attribute=[then, helper.make_attribute("else_branch", body)],
            ),
            onnx.NodeProto(op_type="Zap", domain="f", input=["k"], output=["z"], attribute=[several, some]),
        ]
    )
    m.graph.input.append(info("c0", (), TensorProto.BOOL))
    f = helper.make_function(
        "f",
        "g",
        ["i"],
        ["o"],
        [helper.make_node("Neg", ["i"], ["o"], doc_string="d")],
        [helper.make_opsetid("", 21)],
        doc_string="of a function",
        attribute_protos=[plain],
    )
    f.metadata_props.append(entry("f", "g"))
    f.value_info.append(info("o", doc="of its value"))
    m.functions.append(f)
    m.opset_import.append(helper.make_opsetid("f", 1))
    return m


def test_texts_and_nothing_else(tool, folder):
    for make in [*SURVIVORS, everywhere]:
        m = make()
        path = saved(folder, m, f"{make.__name__}.onnx")
        for what, fields in [
            ("doc", ["doc_string"]),
            ("metadata", ["metadata_props"]),
            ("doc, metadata", ["doc_string", "metadata_props"]),
        ]:
            data = kept(tool, path, folder / "out.onnx", "--strip", what)
            wanted = without(m, *fields).SerializeToString(deterministic=True)
            got = ModelProto.FromString(data).SerializeToString(deterministic=True)
            expect(got == wanted, make.__name__, what, ModelProto.FromString(data))
            again = kept(tool, folder / "out.onnx", folder / "again.onnx", "--strip", what)
            expect(again == data, make.__name__, what, "the second run changes bytes")


def value_names(graph):
    found = [t.name for t in graph.initializer]
    for node in graph.node:
        found += [*node.output, node.name]
        for a in node.attribute:
            for g in [a.g] if a.HasField("g") else a.graphs:
                found += value_names(g)
    return found


def test_names(tool, folder):
    m = model()
    m.graph.value_info.append(info("r"))
    data = kept(tool, saved(folder, m), folder / "out.onnx", "--strip", "names")
    now = ModelProto.FromString(data)
    onnx.checker.check_model(now, full_check=True)
    expect([t.name for t in now.graph.initializer] == ["v0", "v1"], now.graph.initializer)
    expect(
        [(n.name, *n.output) for n in now.graph.node]
        == [("n0", "v2"), ("n1", "v3"), ("n2", "v4"), ("n3", "y")],
        now.graph.node,
    )
    expect([list(n.input) for n in now.graph.node] == [["x"], ["v2"], ["v0", "v1"], ["v3", "v4"]], now)
    expect(not now.graph.value_info, now.graph.value_info)
    expect(now.graph.input == m.graph.input and now.graph.output == m.graph.output, "the interface")
    expect([n.op_type for n in now.graph.node] == [n.op_type for n in m.graph.node], "nodes")


def test_names_of_every_model(tool, folder):
    for make in [*SURVIVORS, everywhere]:
        path = saved(folder, make(), f"{make.__name__}.onnx")
        data = kept(tool, path, folder / "out.onnx", "--strip", "names")
        again = kept(tool, folder / "out.onnx", folder / "again.onnx", "--strip", "names")
        expect(again == data, make.__name__, "the second run changes bytes")
        now, before = ModelProto.FromString(data), make()
        expect([v.name for v in now.graph.input] == [v.name for v in before.graph.input], make.__name__)
        expect([v.name for v in now.graph.output] == [v.name for v in before.graph.output], make.__name__)


def test_values_that_are_made_anew_get_no_place_by_chance(tool, folder):
    """A second run removes the sequence that hides a type, and makes it again: its values come in the list of
    types where they came in the first run."""
    text = """<ir_version: 8, opset_import: ["" : 16]>
    g (bool c, float[1,2,3] x) => (float[n] y) <int64[2] wrong = {-1, 2}, int64[1] zero = {0}> {
      y = If (c) <then_branch = t () => (float[m] size) {
        i = Identity (wrong) v = Expand (x, i) n = Mul (zero, zero) u = Expand (v, n)
        s = Shape (u) size = Cast <to = 1> (s)
      }, else_branch = e () => (float[1] kept) { kept = Constant <value_floats = [1.0]> () }>
    }"""
    source, words = saved(folder, onnx.parser.parse_model(text)), ("-q", "--strip", "names", "--infer", "-o")
    once, twice = folder / "once.onnx", folder / "twice.onnx"
    for path, out in ((source, once), (once, twice)):
        done = tool(path, *words, out)
        expect(done.returncode == 0, done.stderr)
    expect(b"SequenceAt" in once.read_bytes(), "nothing is hidden")
    expect(once.read_bytes() == twice.read_bytes(), "the second run writes other bytes")


def test_names_that_others_use_stay(tool, folder):
    """An input that is called v0, and what an annotation is about."""
    m = annotations()
    m.graph.input.append(info("v0"))
    now = ModelProto.FromString(kept(tool, saved(folder, m), folder / "out.onnx", "--strip", "names"))
    expect({"r", "half", "w"} <= set(value_names(now.graph)), now)
    expect("v0" not in value_names(now.graph) and "v1" in value_names(now.graph), now)
    expect(now.graph.quantization_annotation == m.graph.quantization_annotation, now)


def test_bodies(tool, folder):
    """Captured values are renamed where they are read, and no name hides another."""
    m = subgraphs()
    now = ModelProto.FromString(kept(tool, saved(folder, m), folder / "out.onnx", "--strip", "names"))
    inner = [n for n in value_names(now.graph) if n]
    expect(any(n.startswith("v") for n in inner), inner)
    onnx.checker.check_model(now, full_check=True)


def test_what_the_run_writes_stays(tool, folder):
    m = model()
    m.metadata_props.append(entry("k", "v"))
    for node in m.graph.node:
        node.metadata_props.append(entry("mine", "1"))
    out = folder / "out.onnx"
    done = tool(
        saved(folder, m),
        "-o",
        out,
        "--strip",
        "all",
        "--regions",
        "metadata",
        "--check",
        "--bisect",
        "--ort",
        library(),
    )
    expect(done.returncode == 0, done.stderr)
    now = onnx.load(out)
    keys = {p.key for n in now.graph.node for p in n.metadata_props}
    expect(keys == {"graphopt.region"} and not now.metadata_props, now)
    expect(all(n.name in ("", f"n{i}") for i, n in enumerate(now.graph.node)), now.graph.node)


def test_types_that_only_the_file_knows_stay(tool, folder):
    m = finish(
        [
            helper.make_node("Zap", ["x"], ["long_name"], domain="my"),
            helper.make_node("Neg", ["long_name"], ["y"]),
        ],
        [info("x")],
        [info("y")],
        domains=["my"],
    )
    m.graph.value_info.append(info("long_name", ("n", 5)))
    now = ModelProto.FromString(kept(tool, saved(folder, m), folder / "out.onnx", "--strip", "names"))
    expect(now.graph.value_info == [info("v0", ("n", 5))], now)


def test_wrong_words(tool, folder):
    refused(
        tool(saved(folder), "--strip", "docs"), USAGE, "'docs' is not one of its values", "did you mean 'doc'"
    )
    refused(tool(saved(folder), "--strip", ""), USAGE, "--strip")


if __name__ == "__main__":
    sys.exit(main(globals()))
