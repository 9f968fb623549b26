"""What --report and inspect print about a model, and how they count."""

import json
import pathlib
import re
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _tool import INPUT, OUTPUT, dims, expect, main, model, refused, saved


def test_report(tool, folder):
    path = saved(folder)
    report = folder / "r.json"
    expect(tool(path, "-o", folder / "o.onnx", "--report", report, "-q").returncode == 0)
    r = json.loads(report.read_text())
    expect((r["before"]["nodes"], r["after"]["nodes"]) == (4, 2), r["before"], r["after"])
    expect(r["before"]["operators"] == {"Add": 2, "Identity": 1, "Relu": 1}, r["before"])
    expect((r["before"]["initializers"], r["after"]["initializers"]) == (2, 1), r["after"])
    expect(
        r["before"]["bytes"] == path.stat().st_size
        and r["after"]["bytes"] == (folder / "o.onnx").stat().st_size
    )
    expect([s["name"] for s in r["stages"]] == ["load", "infer", "clean-up", "save"], r["stages"])
    expect(r["stopped"] == "fixed point" and r["rewrites"] >= 2, r["rewrites"])
    expect(sum(p["rewrites"] for p in r["passes"]) == r["rewrites"], r["passes"])
    expect(r["inference"]["inferred"] >= 4 and r["inference"]["again"] >= 0, r["inference"])
    expect([f["path"] for f in r["files"]] == [str(folder / "o.onnx")], r["files"])
    fields = (pathlib.Path(__file__).parents[2] / "docs" / "report.md").read_text()
    table = re.search(r"(?:^\|.*\n)+", fields, re.M)[0]
    rows = [line.split("|")[1] for line in table.splitlines()[2:]]
    expect([name for row in rows for name in re.findall(r"`(\w+)`", row)] == list(r), list(r))
    for field in [*r["before"], *r["passes"][0], *r["inference"]]:
        expect(f"`{field}`" in fields, field, "is not in docs/report.md")
    expect(r["check"] is None and r["false_claims"] == [] and r["warnings"] == [])
    done = tool(path, "--report", "-")
    expect(json.loads(done.stdout)["files"] == [] and json.loads(done.stdout)["after"]["bytes"] == 0)
    refused(tool(path, "-q", "--report", folder / "no" / "r.json"), OUTPUT, "r.json")


def test_report_of_moves(tool, folder):
    """MatMul, Reshape, Relu: the Relu moves to the MatMul, which absorbs it. C' falls by the Relu, F + D
    stay."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["m"]),
        helper.make_node("Reshape", ["m", "s"], ["r"]),
        helper.make_node("Relu", ["r"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "main",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 2, 5])],
        [
            numpy_helper.from_array(np.ones((3, 5), np.float32), "w"),
            numpy_helper.from_array(np.array([2, 2, 5]), "s"),
        ],
    )
    path = saved(folder, helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]))
    report = folder / "moves.json"
    expect(tool(path, "-o", folder / "o.onnx", "--report", report, "-q").returncode == 0)
    r = json.loads(report.read_text())
    before = {"compute": 2, "free": 1, "deform": 1, "apart": 1, "nodes": 3}
    after = {"compute": 1, "free": 0, "deform": 1, "apart": 0, "nodes": 3}
    expect(r["costs"] == [{"graph": "main", "before": before, "after": after}], r["costs"])
    expect(
        [(m["kind"], m["before"], m["after"]) for m in r["moves"]] == [("serial-backward", before, after)],
        r["moves"],
    )


def test_false_claims(tool, folder):
    m = model()
    m.graph.value_info.append(helper.make_tensor_value_info("r", TensorProto.FLOAT, ["batch", 7]))
    path = saved(folder, m)
    done = tool(path, "--report", "-", "-o", folder / "o.onnx")
    claims = json.loads(done.stdout)["false_claims"]
    expect([c["value"] for c in claims] == ["r"], claims)
    expect("warning" in done.stderr and "'r'" in done.stderr, done.stderr)
    found = {v.name: dims(v) for v in onnx.load(folder / "o.onnx").graph.value_info}
    expect(found["r"] == ["batch", 3], found)
    expect(tool(path, "-q", "-o", folder / "o.onnx").stderr == "", "-q is not quiet")


def test_written_files(tool, folder):
    """What was written and where weights stay; sizes of a column have one unit."""
    m = model()
    m.graph.initializer.append(numpy_helper.from_array(np.ones((300, 400), np.float32), "big"))
    m.graph.node.append(helper.make_node("Shape", ["big"], ["s"]))
    m.graph.output.append(helper.make_tensor_value_info("s", TensorProto.INT64, [2]))
    m.graph.node.append(helper.make_node("MatMul", ["p", "big"], ["q"]))
    m.graph.input.append(helper.make_tensor_value_info("p", TensorProto.FLOAT, ["n", 300]))
    m.graph.output.append(helper.make_tensor_value_info("q", TensorProto.FLOAT, ["n", 400]))
    path = folder / "m.onnx"
    onnx.save_model(m, path, save_as_external_data=True, location="m.data", size_threshold=1024)
    report = folder / "r.json"
    text = tool(path, "-o", folder / "o.onnx", "--report", report).stderr
    expect("468.8 KiB of weights stay in m.data: keep it next to the model" in text, text)
    kept = json.loads(report.read_text())["kept_data"]
    expect(kept == {"files": ["m.data"], "bytes": 480000}, kept)
    size = next(line for line in text.splitlines() if line.startswith("  size, "))
    expect(re.match(r"  size, KiB +\d+\.\d +\d+\.\d( +[-+]\d+(\.\d| B))?$", size), size)
    (folder / "other").mkdir()
    own = folder / "other" / "o.onnx"
    text = tool(path, "-o", own, "--external-data", "always", "--report", report).stderr
    expect("weights stay" not in text, text)
    r = json.loads(report.read_text())
    expect(r["kept_data"] == {"files": [], "bytes": 0}, r["kept_data"])
    expect(
        [f["bytes"] for f in r["files"]] == [pathlib.Path(f["path"]).stat().st_size for f in r["files"]], r
    )
    for f in r["files"]:
        expect(f["path"] in text, text)


def test_inspect(tool, folder):
    path = saved(folder)
    done = tool("inspect", path, "--json")
    expect(done.returncode == 0 and done.stderr == "", done.stderr)
    i = json.loads(done.stdout)
    expect(i["inputs"] == [{"name": "x", "type": "float[batch,3]", "has_default": False}], i["inputs"])
    expect(i["outputs"] == [{"name": "y", "type": "float[batch,3]", "has_default": False}], i["outputs"])
    expect(i["symbols"] == [{"name": "batch", "inputs": ["x"]}], i["symbols"])
    expect(i["opsets"] == {"ai.onnx": 21} and i["ir_version"] == 10 and i["format"] == "protobuf", i)
    expect(i["figures"]["nodes"] == 4 and i["figures"]["initializers"] == 2, i["figures"])
    expect(
        i["model_bytes"] == path.stat().st_size and i["external_bytes"] == 0 and i["weight_bytes"] == 24, i
    )
    expect(i["parameters"] == 6 and i["multiply_adds"] == "0" and i["uncounted_nodes"] == 0, i)
    expect(i["weight_types"] == [{"type": "float", "tensors": 2, "elements": 6, "bytes": 24}], i)
    expect(i["largest_weights"] == [{"name": n, "type": "float[3]", "bytes": 12} for n in ("w", "half")], i)
    expect(i["shapes"] == {"values": 4, "ranked": 4, "linked": 4}, i["shapes"])
    expect(i["problems"] == [] and i["unknown_operators"] == [] and i["functions"] == [], i)
    text = tool("inspect", path).stdout.decode()
    for part in ("float[batch,3]", "ai.onnx 21", "Identity", "symbols (1)", "problems: none"):
        expect(part in text, part, text)
    expect(
        json.loads(tool("inspect", "-", "--json", stdin=path.read_bytes()).stdout)["figures"]["nodes"] == 4
    )
    opaque = model([helper.make_node("Mystery", ["y"], ["z"], domain="com.example")])
    opaque.opset_import.append(helper.make_opsetid("com.example", 1))
    i = json.loads(tool("inspect", saved(folder, opaque, "o.onnx"), "--json").stdout)
    expect(i["unknown_operators"] == [{"name": "com.example::Mystery", "nodes": 1}], i["unknown_operators"])
    refused(tool("inspect", folder / "none.onnx"), INPUT, "none.onnx")


def test_data_files(tool, folder):
    """inspect names the files of external data: as the model says it, and where they were found."""
    big = numpy_helper.from_array(np.arange(4000, dtype=np.float32), "big")
    more = numpy_helper.from_array(np.arange(3000, dtype=np.float32), "more")
    m = model()
    m.graph.initializer.extend([big, more])
    (folder / "sub").mkdir()
    (folder / "root").mkdir()
    path = folder / "m.onnx"
    for location, stem in (("sub/b.bin", "big"), ("a.bin", "more")):
        tensor = next(t for t in m.graph.initializer if t.name == stem)
        (folder / location).write_bytes(tensor.raw_data + b"rest")
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", location), ("length", str(4 * tensor.dims[0]))):
            tensor.external_data.add(key=key, value=value)
    path.write_bytes(m.SerializeToString())
    inspect = lambda *words, **how: json.loads(tool("inspect", *words, "--json", **how).stdout)["data_files"]
    expected = [("a.bin", "./a.bin", 12004), ("sub/b.bin", "./sub/b.bin", 16004)]
    found = inspect("m.onnx", cwd=folder)
    expect(found == [dict(zip(("path", "file", "bytes"), e)) for e in expected], found)
    expect(inspect("-", stdin=path.read_bytes(), cwd=folder) == found, "from stdin")
    expect(inspect(path)[0]["file"] == str(folder / "a.bin"), inspect(path))
    text = tool("inspect", path, "-v").stdout.decode()
    expect("data files (2)" in text and "sub/b.bin" in text, text)
    expect("data files" not in tool("inspect", path).stdout.decode(), "without -v")
    (folder / "a.bin").rename(folder / "root" / "a.bin")
    moved = inspect(path, "--external-root", folder / "root")[0]
    expect(moved["path"] == "a.bin" and moved["file"] == str(folder / "root" / "a.bin"), moved)
    refused(tool("inspect", path, "--json"), INPUT, "its weights are in 'a.bin', which is not there")
    expect(inspect(saved(folder, name="plain.onnx")) == [])


def test_counting(tool, folder):
    """Subgraphs count, bodies of functions count once per call, Constant nodes apart."""
    body = lambda name, op: helper.make_graph(
        [
            helper.make_node("Constant", [], [name + "c"], value_float=1.0),
            helper.make_node(op, ["x", name + "c"], [name]),
        ],
        name,
        [],
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, None)],
    )
    f = helper.make_function(
        "d",
        "F",
        ["a"],
        ["b"],
        [helper.make_node("Abs", ["a"], ["t"]), helper.make_node("G", ["t"], ["b"], domain="d")],
        [helper.make_opsetid("", 21), helper.make_opsetid("d", 1)],
    )
    g = helper.make_function(
        "d", "G", ["a"], ["b"], [helper.make_node("Neg", ["a"], ["b"])], [helper.make_opsetid("", 21)]
    )
    graph = helper.make_graph(
        [
            helper.make_node("If", ["c"], ["i"], then_branch=body("t", "Add"), else_branch=body("e", "Mul")),
            helper.make_node("F", ["i"], ["p"], domain="d"),
            helper.make_node("F", ["p"], ["q"], domain="d"),
            helper.make_node("G", ["q"], ["y"], domain="d"),
        ],
        "g",
        [
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [2]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    m = helper.make_model(
        graph,
        functions=[f, g],
        ir_version=10,
        opset_imports=[helper.make_opsetid("", 21), helper.make_opsetid("d", 1)],
    )
    figures = json.loads(tool("inspect", saved(folder, m), "--json").stdout)["figures"]
    figures.pop("bytes")
    # Calls of F: 2, of G: 1 and 2 out of F. If, Add, Mul; 2 x Abs; 3 x Neg.
    expect(
        figures
        == {
            "nodes": 8,
            "constants": 2,
            "initializers": 0,
            "subgraphs": 2,
            "calls": 4,
            "operators": {"Abs": 2, "Add": 1, "If": 1, "Mul": 1, "Neg": 3},
        },
        figures,
    )


if __name__ == "__main__":
    sys.exit(main(globals()))
