"""OUT as text: read again it is the same model, or it is not written."""

import sys

import numpy as np
import onnx
import onnx.parser
from google.protobuf import text_format
from onnx import ModelProto, TensorProto, helper, numpy_helper

from _models import SURVIVORS, finish, functions, info, subgraphs, unknown_fields
from _tool import INPUT, OUTPUT, USAGE, expect, fields, kept, main, model, refused, saved

PROTO = (".textproto", ".txtpb", ".pbtxt", ".prototxt")
ONNX = (".onnxtxt", ".onnxtext")


def test_protobuf_text_keeps_everything(tool, folder):
    for make in SURVIVORS:
        path, out = saved(folder, make(), f"{make.__name__}.onnx"), folder / "out.textproto"
        out.unlink(missing_ok=True)
        done = tool("-q", "-O0", path, "-o", out)
        if make in (unknown_fields, functions):  # both have such fields
            refused(done, OUTPUT, "text cannot hold this model", "write .onnx")
            expect(not out.exists(), "wrote something")
            continue
        expect(done.returncode == 0, make.__name__, done.stderr)
        expect(text_format.Parse(out.read_text(), ModelProto()) == make(), make.__name__, "another reader")
        back = kept(tool, out, folder / "back.onnx")
        expect(fields(back) == make().SerializeToString(deterministic=True), make.__name__, "differs")


def special():
    """What printers get wrong: extreme floats, signs, large integers, texts with marks, no elements."""
    f = np.array([0.1, 1 / 3, 16777217, 1e-45, 3.4028235e38, -0.0, np.inf, -np.inf, np.nan], np.float32)
    d = np.array([0.1, 1 / 3, 5e-324, 1.7976931348623157e308, -0.0, np.inf, -np.inf, np.nan])
    i = np.array([2**63 - 1, -(2**63), 0], np.int64)
    tensors = [
        numpy_helper.from_array(f, "f"),
        numpy_helper.from_array(d, "d"),
        numpy_helper.from_array(i, "i"),
        numpy_helper.from_array(np.array([2**64 - 1], np.uint64), "u"),
        numpy_helper.from_array(np.array([1.5, -0.0, np.inf], np.float16), "h"),
        numpy_helper.from_array(np.array([True, False]), "b"),
        numpy_helper.from_array(np.zeros((0, 3), np.float32), "none"),
        numpy_helper.from_array(np.array(7, np.int32), "scalar"),
        helper.make_tensor("s", TensorProto.STRING, [3], [b'a"b', b"c\\d", b""]),
    ]
    nodes = [
        helper.make_node("Identity", [t.name], [t.name + "_out"], "node of " + t.name) for t in tensors
    ] + [
        helper.make_node("LeakyRelu", ["x"], ["y"], alpha=0.1),
        helper.make_node("Clip", ["x", "", "f0"], ["z"]),
        helper.make_node(
            "Zap",
            ["x"],
            ["w"],
            domain="my.domain",
            whole=2**62,
            many=[1, -1],
            fs=[0.1, 1e-45],
            text='q"q',
            texts=["a", 'b"c'],
            t=tensors[0],
        ),
    ]
    return finish(
        nodes,
        [info("x", ("batch size", None, 3)), info("f0", ())],
        [info("y", None), info("z", None), info("w", None)],
        tensors,
        domains=["my.domain"],
    )


def plain(m):
    """A model with payloads in one form, and without domains that are empty."""
    out = ModelProto.FromString(m.SerializeToString())
    for node in out.graph.node:
        if not node.domain:
            node.ClearField("domain")
    tensors = [*out.graph.initializer, *(a.t for n in out.graph.node for a in n.attribute if a.HasField("t"))]
    for t in tensors:
        if t.data_type != TensorProto.STRING:
            t.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(t), t.name))
    return out


def test_onnx_text(tool, folder):
    m = special()
    for ending in ONNX:
        out = folder / f"out{ending}"
        kept(tool, saved(folder, m), out)
        expect(plain(onnx.parser.parse_model(out.read_text())) == plain(m), out.read_text())
        back = kept(tool, out, folder / "back.onnx")
        expect(plain(ModelProto.FromString(back)) == plain(m), "read back")
    for ending in PROTO:
        out = folder / f"out{ending}"
        kept(tool, saved(folder, m), out)
        expect(text_format.Parse(out.read_text(), ModelProto()) == m, ending)


def test_onnx_text_or_nothing(tool, folder):
    """Each model either comes back whole, or is refused with what would be lost."""
    done_with = {True: [], False: []}
    for make in SURVIVORS:
        path, out = saved(folder, make(), "m.onnx"), folder / "out.onnxtxt"
        done = tool("-q", "-O0", path, "-o", out)
        done_with[done.returncode == 0].append(make.__name__)
        if done.returncode == 0:
            kept(tool, out, folder / "back.onnx")
            kept(tool, path, folder / "same.onnx")
            done = tool("-q", "-O0", folder / "back.onnx", "-o", folder / "a.textproto")
            again = tool("-q", "-O0", out, "-o", folder / "b.textproto")
            expect(done.returncode == again.returncode == 0, done.stderr, again.stderr)
            expect(
                (folder / "a.textproto").read_bytes() == (folder / "b.textproto").read_bytes(), make.__name__
            )
            out.unlink()
        else:
            refused(done, OUTPUT, "ONNX text cannot hold this model: ", "write .textproto or .onnx")
            expect(not out.exists(), "wrote something")
    expect({"texts", "unknown_fields", "annotations"} <= set(done_with[False]), done_with)
    expect({"types", "value_infos", "old_ir"} <= set(done_with[True]), done_with)


def test_what_is_lost_is_named(tool, folder):
    m = model()
    m.graph.node[1].doc_string = "why"
    out = folder / "o.onnxtxt"
    refused(tool("-O0", saved(folder, m), "-o", out), OUTPUT, "graph.node[1].doc_string", "--strip doc")
    kept(tool, saved(folder, m), out, "--strip", "doc")
    refused(tool("-O0", saved(folder, subgraphs()), "-o", out), OUTPUT, "g.doc_string")
    kept(tool, saved(folder, subgraphs()), out, "--strip", "doc")
    onnx.checker.check_model(onnx.parser.parse_model(out.read_text()))


def test_optimized(tool, folder):
    out = folder / "o.onnxtxt"
    done = tool("-q", saved(folder), "-o", out)
    expect(done.returncode == 0, done.stderr)
    twice = folder / "t.onnxtxt"
    done = tool("-q", out, "-o", twice, "--report", folder / "r.json")
    expect(done.returncode == 0 and twice.read_bytes() == out.read_bytes(), done.stderr)
    expect(f'"bytes": {len(twice.read_bytes())}' in (folder / "r.json").read_text(), "the report's size")


def test_external_data_is_beside_the_text(tool, folder):
    m = model()
    m.graph.initializer.append(numpy_helper.from_array(np.ones((2, 3), np.float32), "table"))
    for ending in (".onnxtxt", ".textproto"):
        out = folder / f"o{ending}"
        kept(tool, saved(folder, m), out, "--external-data", "always", "--external-threshold", "1")
        data = [p for p in folder.iterdir() if p.name.startswith(out.name + ".")]
        expect(len(data) == 1 and data[0].name in out.read_text(), data)
        back = ModelProto.FromString(kept(tool, out, folder / "b.onnx", "--external-data", "never"))
        expect(
            [numpy_helper.to_array(t).tolist() for t in back.graph.initializer]
            == [numpy_helper.to_array(t).tolist() for t in m.graph.initializer],
            "weights",
        )


def test_broken_text(tool, folder):
    for text, part in [
        (b"ir_version: 10\ngraph { name: }", "line 2"),
        (b"# a model\nir_version: 10\nnonsense: 3", "nonsense"),
    ]:
        refused(
            tool(saved(folder, text, "m.textproto")), INPUT, "m.textproto", "protobuf's text format", part
        )
    refused(tool(saved(folder, b"graph {" * 300, "m.textproto")), INPUT, "nested deeper")


def test_sets_are_binary(tool, folder):
    m = finish([helper.make_node("Relu", ["x"], ["y"])], [info("x")], [info("y")])
    for words in (["--devices", "nnapi"], ["--bucket", "n=1,2"]):
        done = tool(saved(folder, m), "-o", folder / "o.onnxtxt", *words)
        refused(done, USAGE, "binary models", ".onnx")


if __name__ == "__main__":
    sys.exit(main(globals()))
