"""Models that cannot be used: the documented status, a message that names file and remedy, and nothing
written."""

import bz2
import gzip
import io
import lzma
import os
import pathlib
import pickle
import resource
import subprocess
import sys
import tarfile
import zipfile

import numpy as np
import onnx
from onnx import AttributeProto, ModelProto, TensorProto, helper, numpy_helper

from _models import F, entry, finish, info, varint
from _tool import INPUT, OUTPUT, USAGE, expect, main, model, saved


def plain():
    return finish([helper.make_node("Relu", ["x"], ["y"], "relu")], [info("x")], [info("y")])


def with_tensor(**fields):
    m = plain()
    m.graph.initializer.append(TensorProto(name="w", **fields))
    return m


def with_nodes(*nodes, **how):
    return finish(nodes, [info("x")], [info("y")], **how)


def external(location, dims=(4,), **entries):
    t = TensorProto(name="w", data_type=F, dims=dims, data_location=TensorProto.EXTERNAL)
    if location is not None:
        t.external_data.append(entry("location", location))
    t.external_data.extend(entry(k, v) for k, v in entries.items())
    m = plain()
    m.graph.initializer.append(t)
    return m


def edited(m, **fields):
    for k, v in fields.items():
        setattr(m, k, v)
    return m


def without(m, field):
    m.ClearField(field)
    return m


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def nested_ifs(levels):
    """Deeper than protobuf would serialize; as bytes."""
    g = b""
    for _ in range(levels):
        attribute = field(1, b"then_branch") + field(6, g) + varint(20 << 3) + b"\x05"
        g = field(1, field(4, b"If") + field(5, attribute))
    return b"\x08\x0a" + field(7, g) + field(8, b"\x10\x15")


def function(
    name, *nodes, outputs=("b",), imports=(helper.make_opsetid("", 20), helper.make_opsetid("my", 1))
):
    return helper.make_function("my", name, ["a"], list(outputs), list(nodes), list(imports))


def calls(**bodies):
    """Functions by name, each calling the others named."""
    functions = [
        function(
            n,
            *[helper.make_node(c, ["a"], ["b" if i == 0 else f"t{i}"], domain="my") for i, c in enumerate(cs)]
            or [helper.make_node("Relu", ["a"], ["b"])],
        )
        for n, cs in bodies.items()
    ]
    return finish(
        [helper.make_node(next(iter(bodies)), ["x"], ["y"], domain="my")],
        [info("x")],
        [info("y")],
        domains=["my"],
        functions=functions,
    )


def deep_type():
    """An input that is a sequence of sequences of ..., as bytes: protobuf would not write it."""
    t = field(1, b"\x08\x01")
    for _ in range(60):
        t = field(4, field(1, t))
    g = field(11, field(1, b"x") + field(2, t)) + field(12, field(1, b"x"))
    return b"\x08\x0a" + field(7, g) + field(8, b"\x10\x15")


def wrong_tensor(name, *words, **fields):
    return name, with_tensor(**fields), words


def added(m, path, *messages, **fields):
    """m with one more entry in the repeated field at `path`."""
    *where, last = path.split(".")
    at = m
    for part in where:
        at = getattr(at, part) if not part.isdigit() else at[int(part)]
    getattr(at, last).add(**fields) if not messages else getattr(at, last).append(messages[0])
    return m


def cleared(m, path):
    *where, last = path.split(".")
    at = m
    for part in where:
        at = getattr(at, part) if not part.isdigit() else at[int(part)]
    at.ClearField(last)
    return m


node = helper.make_node
ONE = dict(data_type=F, dims=[1], float_data=[1])
CASES = [
    # what it is, the model (or its bytes), what the message must contain beside the file
    ("empty file", b"", ["is empty"]),
    ("a picture", b"\x89PNG\r\n\x1a\n" + bytes(100), ["not an ONNX model"]),
    ("zeros", bytes(64), ["not an ONNX model"]),
    (
        "text with an error",
        b'<ir_version: 10, opset_import: ["" : 21]>\ng (float[n] x) => (float[n] y) { y = Relu x) }',
        ["line: 2"],
    ),
    (
        "text with a huge number",
        b"<ir_version: 99999999999999999999999>\ng (float[n] x) => (float[n] y) { y = Relu (x) }",
        ["text"],
    ),
    ("text nested deep", b"g (" + b"seq(" * 100000, ["nested deeper"]),
    (
        "text with a tail",
        b'<ir_version: 10, opset_import: ["" : 21]>\ng (float[n] x) => (float[n] y) { y = Relu (x) } }',
        ["ONNX text"],
    ),
    ("no graph", without(plain(), "graph"), ["no graph"]),
    ("two graphs", plain().SerializeToString() * 2, ["two main graphs"]),
    ("a tensor file", numpy_helper.from_array(np.ones(3)).SerializeToString(), ["no graph"]),
    ("no IR version", without(plain(), "ir_version"), ["IR version"]),
    ("IR version 2", edited(plain(), ir_version=2), ["IR version 2", "3"]),
    ("IR version -1", edited(plain(), ir_version=-1), ["IR version -1"]),
    ("no opset", without(plain(), "opset_import"), ["ai.onnx", "not stated", "'relu' (Relu)"]),
    ("opset 0", finish([], [info("x")], [info("x")], opset=0), ["version of domain 'ai.onnx' is 0"]),
    ("two opsets", added(plain(), "opset_import", domain="", version=7), ["two opset versions, 21 and 7"]),
    (
        "ml operator without its opset",
        with_nodes(node("Binarizer", ["x"], ["y"], "b", domain="ai.onnx.ml")),
        ["ai.onnx.ml", "not stated"],
    ),
    ("node without operator", with_nodes(node("", ["x"], ["y"], "n")), ["'n'", "names no operator"]),
    (
        "undefined input",
        with_nodes(node("Add", ["x", "gone"], ["y"], "a")),
        ["'a' (Add), input 1 'gone'", "no node"],
    ),
    (
        "undefined input of a nameless node",
        with_nodes(node("Abs", ["x"], ["t"]), node("Add", ["x", "gone"], ["y"])),
        ["node #1 (Add)"],
    ),
    ("undefined output", with_nodes(node("Relu", ["x"], ["z"])), ["output 'y'"]),
    (
        "output without name",
        finish([node("Relu", ["x"], ["y"])], [info("x")], [onnx.ValueInfoProto()]),
        ["output ''"],
    ),
    (
        "input without name",
        finish([node("Relu", ["x"], ["y"])], [info("x"), onnx.ValueInfoProto()], [info("y")]),
        ["input without a name"],
    ),
    (
        "two inputs of one name",
        finish([node("Relu", ["x"], ["y"])], [info("x"), info("x")], [info("y")]),
        ["two values named 'x'"],
    ),
    (
        "two results of one name",
        with_nodes(node("Relu", ["x"], ["y"]), node("Abs", ["x"], ["y"], "abs")),
        ["'abs'", "'y'", "name of another"],
    ),
    (
        "a result with an input's name",
        with_nodes(node("Relu", ["x"], ["x"]), node("Abs", ["x"], ["y"])),
        ["'x'", "name of another"],
    ),
    (
        "a result with an initializer's name",
        added(with_tensor(**ONE), "graph.node", op_type="Relu", input=["x"], output=["w"]),
        ["'w'", "name of another"],
    ),
    (
        "two initializers of one name",
        added(with_tensor(**ONE), "graph.initializer", name="w", **ONE),
        ["two values named 'w'"],
    ),
    (
        "initializer without name",
        cleared(with_tensor(**ONE), "graph.initializer.0.name"),
        ["initializer without a name"],
    ),
    ("a cycle of one", with_nodes(node("Add", ["x", "y"], ["y"], "self")), ["'self'", "in a circle"]),
    (
        "a cycle of three",
        with_nodes(
            node("Add", ["x", "c"], ["a"], "n0"),
            node("Relu", ["a"], ["b"], "n1"),
            node("Abs", ["b"], ["c"], "n2"),
            node("Neg", ["c"], ["y"]),
        ),
        ["'n0' -> 'n1' -> 'n2' -> 'n0'"],
    ),
    (
        "a cycle through a subgraph",
        finish(
            [
                node(
                    "If",
                    ["c"],
                    ["y"],
                    "if",
                    then_branch=helper.make_graph([node("Relu", ["y"], ["t"])], "t", [], [info("t")]),
                    else_branch=helper.make_graph([node("Relu", ["x"], ["e"])], "e", [], [info("e")]),
                )
            ],
            [info("x"), info("c", (), TensorProto.BOOL)],
            [info("y")],
        ),
        ["'if'", "in a circle"],
    ),
    (
        "undefined name in a subgraph",
        finish(
            [
                node(
                    "If",
                    ["c"],
                    ["y"],
                    "if",
                    then_branch=helper.make_graph([node("Relu", ["gone"], ["t"], "r")], "t", [], [info("t")]),
                    else_branch=helper.make_graph([node("Relu", ["x"], ["e"])], "e", [], [info("e")]),
                )
            ],
            [info("x"), info("c", (), TensorProto.BOOL)],
            [info("y")],
        ),
        ["graph 'main/if.then_branch'", "'r' (Relu)", "'gone'"],
    ),
    (
        "a function reads the main graph",
        finish(
            [node("F", ["x"], ["y"], domain="my")],
            [info("x")],
            [info("y")],
            domains=["my"],
            functions=[function("F", node("Add", ["a", "x"], ["b"], "add"))],
        ),
        ["function my::F", "'x'"],
    ),
    (
        "a function without its output",
        finish(
            [node("F", ["x"], ["y"], domain="my")],
            [info("x")],
            [info("y")],
            domains=["my"],
            functions=[function("F", node("Relu", ["a"], ["c"]))],
        ),
        ["function my::F", "output 'b'"],
    ),
    ("a function that calls itself", calls(F=["F"]), ["function my::F", "calls itself"]),
    ("functions that call each other", calls(F=["G"], G=["H"], H=["F"]), ["circle"]),
    ("a function twice", added(calls(F=[]), "functions", calls(F=[]).functions[0]), ["two functions"]),
    ("a function without name", cleared(calls(F=[]), "functions.0.name"), ["function without a name"]),
    (
        "a function without opset",
        cleared(calls(F=[]), "functions.0.opset_import"),
        ["function my::F", "not stated"],
    ),
    wrong_tensor("no element type", "initializer 'w'", "no element type", dims=[1], raw_data=bytes(4)),
    wrong_tensor("negative dim", "negative dim -1", data_type=F, dims=[-1], raw_data=b""),
    wrong_tensor("overflowing dims", "does not fit", data_type=F, dims=[2**32, 2**32], raw_data=bytes(4)),
    wrong_tensor(
        "dims that fit, bytes that do not",
        "does not fit",
        data_type=TensorProto.DOUBLE,
        dims=[2**62],
        raw_data=bytes(4),
    ),
    wrong_tensor(
        "too few bytes", "need 16 bytes, but it holds 12 bytes", data_type=F, dims=[4], raw_data=bytes(12)
    ),
    wrong_tensor(
        "too many bytes", "need 16 bytes, but it holds 20 bytes", data_type=F, dims=[4], raw_data=bytes(20)
    ),
    wrong_tensor("no payload", "need 4 elements, but it holds 0", data_type=F, dims=[4]),
    wrong_tensor(
        "too few elements", "need 4 elements, but it holds 3", data_type=F, dims=[4], float_data=[1, 2, 3]
    ),
    wrong_tensor(
        "the wrong list",
        "need 2 elements, but it holds 0",
        data_type=TensorProto.INT64,
        dims=[2],
        int32_data=[1, 2],
    ),
    wrong_tensor(
        "4-bit elements one by one",
        "need 3 elements, but it holds 5",
        data_type=TensorProto.INT4,
        dims=[5],
        int32_data=[1] * 5,
    ),
    wrong_tensor("raw strings", "strings", data_type=TensorProto.STRING, dims=[1], raw_data=b"abcd"),
    wrong_tensor(
        "a bomb of dims",
        "more elements than any file holds",
        data_type=TensorProto.STRING,
        dims=[2**62],
        string_data=[b"a"],
    ),
    (
        "a Constant that lies",
        with_nodes(
            node("Constant", [], ["y"], "c", value=TensorProto(data_type=F, dims=[9], raw_data=bytes(4)))
        ),
        ["'c' (Constant), attribute 'value'", "36 bytes"],
    ),
    (
        "an attribute twice",
        added(
            with_nodes(node("LeakyRelu", ["x"], ["y"], "l", alpha=0.1)),
            "graph.node.0.attribute",
            name="alpha",
            f=0.1,
            type=AttributeProto.FLOAT,
        ),
        ["attribute 'alpha'", "twice"],
    ),
    (
        "an attribute without name",
        added(plain(), "graph.node.0.attribute", i=1, type=AttributeProto.INT),
        ["no name"],
    ),
    (
        "a graph attribute without graph",
        added(
            with_nodes(node("If", ["x"], ["y"], "if")),
            "graph.node.0.attribute",
            name="then_branch",
            type=AttributeProto.GRAPH,
        ),
        ["attribute 'then_branch'", "graph"],
    ),
    (
        "a tensor attribute without tensor",
        added(
            with_nodes(node("Constant", [], ["y"], "c")),
            "graph.node.0.attribute",
            name="value",
            type=AttributeProto.TENSOR,
        ),
        ["attribute 'value'", "tensor"],
    ),
    ("Ifs nested 40 deep", nested_ifs(40), ["nested deeper than the 100 levels"]),
    ("Ifs nested 3,000 deep", nested_ifs(3000), ["nested deeper than the 100 levels"]),
    ("types nested deep", deep_type(), ["input 'x'", "nested deeper than 100 levels"]),
    (
        "external data missing",
        external("det.bin"),
        [
            "'w'",
            "its weights are in 'det.bin', which is not there",
            "put 'det.bin' next to the model",
            "--external-root",
        ],
    ),
    ("external data without location", external(None), ["without a location"]),
    ("an absolute path", external("/etc/hostname"), ["'/etc/hostname'", "absolute", "--external-root"]),
    ("a way up", external("../outside.bin"), ["'../outside.bin'", "outside the model's folder"]),
    ("a hidden way up", external("sub/../../outside.bin"), ["outside the model's folder"]),
    ("a link that leads out", external("out.link"), ["leads out of the model's folder"]),
    ("a folder as data", external("sub"), ["not a regular file"]),
    ("a pipe as data", external("pipe"), ["not a regular file"]),
    ("data that are too short", external("short.bin"), ["only 10 bytes"]),
    ("an offset past the end", external("data.bin", offset="1000000"), ["only 1000 bytes"]),
    ("an offset that overflows", external("data.bin", offset="18446744073709551615"), ["only 1000 bytes"]),
    ("an offset that is no number", external("data.bin", offset="-1"), ["'-1'", "not a number"]),
    ("a length that lies", external("data.bin", length="12"), ["12 bytes", "need 16"]),
    ("a location with a zero byte", external("a\0b"), ["not a file name"]),
    ("dims larger than any data file", external("data.bin", dims=(2**40,)), ["only 1000 bytes"]),
]


def folder_for(folder):
    (folder / "sub").mkdir()
    (folder / "short.bin").write_bytes(bytes(10))
    (folder / "data.bin").write_bytes(bytes(1000))
    (folder / "out.link").symlink_to("/etc/hostname")
    os.mkfifo(folder / "pipe")
    (folder.parent / "outside.bin").touch()


def refused(done, name, words):
    expect(done.returncode == INPUT, name, "status", done.returncode, done.stderr)
    expect(
        done.stderr.startswith("graphopt: error: ") and "bad.onnx: " in done.stderr.splitlines()[0],
        name,
        "no file:",
        done.stderr,
    )
    expect("\n  help: " in done.stderr, name, "no remedy:", done.stderr)
    for word in words:
        expect(word in done.stderr, name, f"'{word}' is not in:", done.stderr)


def test_list(tool, folder):
    (folder / "in").mkdir()
    folder = folder / "in"
    folder_for(folder)
    wrong = []
    for name, m, words in CASES:
        path = saved(folder, m, "bad.onnx")
        before = sorted(os.listdir(folder))
        try:
            refused(tool("-q", path, "-o", folder / "out.onnx", timeout=30), name, words)
            expect(sorted(os.listdir(folder)) == before, name, "left something behind")
        except AssertionError as e:
            wrong.append(str(e))
    expect(not wrong, "\n".join(wrong))
    expect(len(CASES) >= 60, "only", len(CASES), "cases")


def test_overlap(tool, folder):
    (folder / "data.bin").write_bytes(bytes(1000))
    m = external("data.bin", offset="0")
    other = m.graph.initializer.add()
    other.CopyFrom(m.graph.initializer[0])
    other.name = "w2"
    path = saved(folder, m, "bad.onnx")
    expect(tool("-q", path, "-o", folder / "out.onnx").returncode == 0, "the same range twice is fine")
    other.external_data[1].value = "8"
    path.write_bytes(m.SerializeToString())
    refused(tool("-q", path, "-o", folder / "out.onnx"), "overlap", ["'w2'", "overlap", "'w'"])


def test_ten_problems_at_once(tool, folder):
    nodes = [helper.make_node("Relu", [f"gone{i}"], [f"t{i}"], f"n{i}") for i in range(30)]
    path = saved(folder, with_nodes(*nodes, helper.make_node("Relu", ["x"], ["y"])), "bad.onnx")
    done = tool("-q", path)
    refused(done, "thirty problems", ["'gone0'", "'gone9'"])
    expect(done.stderr.count("graphopt: error: ") == 10, done.stderr)


def test_no_such_files(tool, folder):
    path = saved(folder, plain(), "m.onnx")
    for words, status, parts in [
        ((folder / "no.onnx",), INPUT, ["no such file"]),
        ((folder,), USAGE, ["no folder is named for the results", "graphopt batch"]),
        ((path, "-o", folder / "no" / "o.onnx"), OUTPUT, ["mkdir -p"]),
        ((path, "-o", path / "o.onnx"), OUTPUT, ["folder"]),
        ((path, "-o", folder / ("n" * 300)), OUTPUT, ["too long"]),
    ]:
        done = tool("-q", *words)
        expect(done.returncode == status, words, done.returncode, done.stderr)
        expect("\n  help: " in done.stderr and all(p in done.stderr for p in parts), words, done.stderr)
    expect(os.listdir(folder) == ["m.onnx"], os.listdir(folder))


def test_near_names_of_a_file_that_is_not_there(tool, folder):
    saved(folder, plain(), "resnet50.onnx")
    for name, parts in [
        ("resnet5.onnx", [f"did you mean '{folder / 'resnet50.onnx'}'?"]),
        ("quite_another.bin", ["check the path"]),
        (pathlib.Path("no") / "resnet50.onnx", [f"there is no folder '{folder / 'no'}'"]),
    ]:
        done = tool("-q", folder / name)
        expect(done.returncode == INPUT and all(p in done.stderr for p in parts), name, done.stderr)
    done = tool("-q", "resnet5.onnx", cwd=folder)
    expect("did you mean 'resnet50.onnx'?" in done.stderr, "in the current folder", done.stderr)


def test_files_of_other_formats(tool, folder):
    """They are named as what they are, with the way to a model."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("m"), io.BytesIO())
    array = io.BytesIO()
    np.save(array, np.zeros(3))
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as z:
        z.writestr("archive/data.pkl", b"x")
    head = b"\x1c\0\0\0"
    for data, what, help_ in [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n", "Git LFS", "git lfs pull"),
        (archive.getvalue(), "PyTorch", "torch.onnx.export"),
        (pickle.dumps({"a": 1}, protocol=2), "pickle", "torch.onnx.export"),
        (array.getvalue(), "NumPy", "give the model"),
        (gzip.compress(plain().SerializeToString()), "gzip", "gunzip -c"),
        (lzma.compress(b"x"), "xz", "xz -dc"),
        (bz2.compress(b"x"), "bzip2", "bzip2 -dc"),
        (b"\x28\xb5\x2f\xfd\x24\0\0", "Zstandard", "zstd -dc"),
        (packed.getvalue(), "tar", "unpack"),
        (b"\n<!DOCTYPE html><html><body>404</body></html>", "web page", "raw content"),
        (b"<HTML>", "web page", "raw content"),
        (b"\x89HDF\r\n\x1a\n", "HDF5", "tf2onnx"),
        (head + b"TFL3" + b"\0" * 9, "TensorFlow Lite", "tf2onnx"),
        (head + b"ORTM" + b"\0" * 9, ".ort", "made of"),
        (b"GGUF\3\0\0\0", "GGUF", "ONNX format"),
        (b"\x40\0\0\0\0\0\0\0" + b'{"__metadata__":{}}', "safetensors", "ONNX format"),
        (b'{"ir_version": 8}', "JSON", "ONNX format"),
        (b"\xff\xff", "not an ONNX model", "binary or text"),
    ]:
        path = folder / "bad.onnx"
        path.write_bytes(data)
        refused(tool("-q", path), what, [what, help_])


def test_truncation(tool, folder):
    """Cut at every byte: a message, or a model whose rest happened to be whole."""
    m = model()
    m.graph.value_info.append(info("r"))
    data = m.SerializeToString()
    path = folder / "bad.onnx"
    statuses = set()
    for n in range(0, len(data)):
        path.write_bytes(data[:n])
        done = tool("-q", "-O0", path, "-o", folder / "out.onnx", timeout=30)
        statuses.add(done.returncode)
        expect(done.returncode in (0, INPUT), n, done.returncode, done.stderr)
        expect((folder / "out.onnx").exists() == (done.returncode == 0), n, "output and status disagree")
        if done.returncode:
            refused(done, f"cut at {n}", [])
        else:
            ModelProto.FromString(data[:n])
            (folder / "out.onnx").unlink()
    expect(INPUT in statuses, statuses)


def test_no_space(tool, folder):
    """A file system that is full, and a file-size limit."""
    m = plain()
    m.graph.initializer.append(numpy_helper.from_array(np.arange(2**19, dtype=np.float32), "w"))
    path = saved(folder, m, "m.onnx")
    out = folder / "out.onnx"
    out.write_bytes(b"old")
    done = subprocess.run(
        [tool.binary, "-q", "-O0", str(path), "-o", str(out)],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536)),
    )
    expect(
        done.returncode == OUTPUT
        and "would be larger than this system allows" in done.stderr
        and "ulimit -f" in done.stderr
        and out.read_bytes() == b"old"
        and sorted(os.listdir(folder)) == ["m.onnx", "out.onnx"],
        done.returncode,
        done.stderr,
        os.listdir(folder),
    )
    done = tool("-q", "-O0", path, "-o", "/dev/full")
    expect(
        done.returncode == OUTPUT and "no space" in done.stderr and "\n  help: " in done.stderr,
        done.returncode,
        done.stderr,
    )
    small = folder / "small"
    small.mkdir()
    if (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(small)], capture_output=True
        ).returncode
        == 0
    ):
        try:
            done = tool("-q", "-O0", path, "-o", small / "o.onnx")
            expect(
                done.returncode == OUTPUT and "no space" in done.stderr and os.listdir(small) == [],
                done.returncode,
                done.stderr,
            )
        finally:
            subprocess.run(["umount", str(small)], check=True)


def test_closed_pipe(tool, folder):
    m = plain()
    m.graph.initializer.append(numpy_helper.from_array(np.arange(2**19, dtype=np.float32), "w"))
    path = saved(folder, m, "m.onnx")
    process = subprocess.Popen(
        [tool.binary, "-q", "-O0", str(path), "-o", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.read(10)
    process.stdout.close()
    errors = process.stderr.read().decode()
    expect(
        process.wait() == OUTPUT and "has gone" in errors and "\n  help: " in errors,
        process.returncode,
        errors,
    )


def test_mutations(tool, folder):
    """Random bytes in a small model: status 0, 2 or 5, and never a signal. (The fuzz targets do this by the
    million.)"""
    rng = np.random.default_rng(11)
    seeds = [
        plain().SerializeToString(),
        model().SerializeToString(),
        calls(F=["G"], G=[]).SerializeToString(),
    ]
    path = folder / "bad.onnx"
    for _ in range(150):
        data = bytearray(seeds[rng.integers(len(seeds))])
        for _ in range(rng.integers(1, 4)):
            data[rng.integers(len(data))] = rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.integers(256)])
        path.write_bytes(bytes(data))
        done = tool("-q", "-O0", path, "-o", folder / "out.onnx", timeout=30)
        expect(done.returncode in (0, 2, 5), done.returncode, bytes(data), done.stderr)


if __name__ == "__main__":
    sys.exit(main(globals()))
