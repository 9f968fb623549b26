"""What -o, --dot and the other options that name a file of a run make of names that are no file of theirs."""

import json
import sys

import numpy as np
import onnx
from onnx import numpy_helper

from _exports import FIG8, model_of
from _tool import INPUT, OUTPUT, USAGE, dims, expect, main, refused, saved

from lib.profiles import profile


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_a_folder(tool, folder):
    """-o FOLDER writes the file of the model's name into it, and makes it where it ends in a slash."""
    path = saved(folder)
    tool(path, "-o", folder / "plain")
    result = (folder / "plain").read_bytes()
    (folder / "there").mkdir()
    (folder / "link").symlink_to("there")
    for source, out, made in [
        ("m.onnx", "there", "there/m.onnx"),
        ("m.onnx", "there/", "there/m.onnx"),
        ("m.onnx", "link", "link/m.onnx"),
        ("m.onnx", "new/", "new/m.onnx"),
        ("m.onnx", "there/deep//", "there/deep/m.onnx"),
        ("m.onnx", str(folder / "absolute") + "/", str(folder / "absolute/m.onnx")),
        ("./there/../m.onnx", "there/", "there/m.onnx"),
        ("net.pb", "there/", "there/net.onnx"),
        ("net.onnxtxt", "there/", "there/net.onnx"),
        ("net-1.5", "there/", "there/net-1.5.onnx"),
        ("UPPER.ONNX", "there/", "there/UPPER.ONNX"),
    ]:
        if "m.onnx" not in source:
            (folder / source).write_bytes(path.read_bytes())
        done = tool(source, "-o", out, "--report", "r.json", cwd=folder)
        expect(done.returncode == 0 and f"-> {made}," in done.stderr, source, out, done.stderr)
        expect((folder / made).read_bytes() == result, source, out)
        report = json.loads((folder / "r.json").read_text())
        expect(report["output"] == made and report["files"][0]["path"] == made, report["output"])
        (folder / made).unlink()
    done = tool("m.onnx", "-o", ".", "-q", cwd=folder)
    expect(done.returncode == 0 and path.read_bytes() == result, "OUT is IN where the folder is IN's")


def test_what_follows_a_folder(tool, folder):
    """Manifest, parts, data and exports are those of the file in the folder."""
    source = model_of(folder, FIG8)
    words = ["-O0", "-q", "--devices", profile(folder, "Relu"), "--emit", "ort-annotations"]
    (folder / "a").mkdir()
    for out in (folder / "a" / "in.onnx", str(folder / "b") + "/"):
        expect(tool(source, *words, "-o", out).returncode == 0)
    expect(len(files(folder / "a")) > 4 and files(folder / "a") == files(folder / "b"), files(folder / "b"))
    done = tool(source, *words, "-o", str(folder / "b") + "/", "--report", folder / "b" / "in.manifest.json")
    refused(done, USAGE, "--report and --manifest name the same file")
    refused(tool(source, "-o", folder / "b", "--dot", folder / "b" / "in.onnx"), USAGE, "name the same file")
    heavy = onnx.load(source)
    heavy.graph.initializer.append(numpy_helper.from_array(np.ones(5000, np.float32), "heavy"))
    done = tool(saved(folder, heavy), "-O0", "-q", "--external-file", "w.bin", "-o", "c/", cwd=folder)
    expect(done.returncode == 0 and files(folder / "c") == ["m.onnx", "w.bin"], files(folder / "c"))
    done = tool("reduce", source, "--test", "true", "-o", folder / "b", "-q")
    expect(done.returncode == 0 and len(onnx.load(folder / "b" / "in.onnx").graph.node) == 0, done.stderr)


def test_folders_that_cannot_be(tool, folder):
    path = saved(folder)
    original = path.read_bytes()
    (folder / "there").mkdir()
    for words, status, parts in [
        (["-", "-o", "there"], USAGE, ["there: it is a folder", "-o there/NAME.onnx"]),
        (["-", "-o", "new/"], USAGE, ["new/: it is a folder", "-o new/NAME.onnx"]),
        (["/dev/stdin", "-o", "new/"], USAGE, ["has no name"]),
        (["m.onnx", "-o", "no/new/"], OUTPUT, ["the folder 'no' is not there", "mkdir -p 'no/new'"]),
        (["m.onnx", "-o", "m.onnx/"], OUTPUT, ["it is a file and no folder"]),
        (["none.onnx", "-o", "new/"], INPUT, ["none.onnx: there is no such file"]),
        (["m.onnx", "-o", "new/", "--dim", "x=3"], USAGE, ["no symbol 'x'"]),
        (["reduce", "none.onnx", "--test", "true", "-o", "new/"], INPUT, ["none.onnx"]),
    ]:
        refused(tool(*words, cwd=folder, stdin=original), status, *parts)
        expect(files(folder) == ["m.onnx"] and not (folder / "new").exists(), words, "left something behind")
    expect(path.read_bytes() == original)


def test_other_formats(tool, folder):
    """A name of another format is refused with the way to it; .pb is an old name of ONNX."""
    path = saved(folder)
    for out, parts in [
        (
            "o.ort",
            ["'o.ort' is ONNX Runtime's own format", "write o.onnx", "convert_onnx_models_to_ort o.onnx"],
        ),
        ("sub.onnx.ort", ["write sub.onnx, then"]),
        ("o.TFLITE", ["TensorFlow Lite", "write o.onnx"]),
        ("o.engine", ["TensorRT", "trtexec --onnx=o.onnx --saveEngine=o.engine"]),
        ("o.xml", ["OpenVINO", "ovc o.onnx"]),
        ("o.pt", ["PyTorch", "give o.onnx"]),
        ("o.json", ["is JSON", "o.textproto", "--report"]),
        ("o.txt", ["o.onnxtxt", "o.textproto"]),
        ("o.onnx.gz", ["-o - | gzip > o.onnx.gz"]),
        ("o.svg", ["is a picture", "--dot - | dot -Tsvg -o o.svg"]),
    ]:
        refused(tool(path, "-o", out, cwd=folder), USAGE, "-o: ", *parts)
        refused(tool("reduce", path, "--test", "true", "-o", out, cwd=folder), USAGE, "-o: ", *parts)
    for name, form in [("g.svg", "svg"), ("g.PNG", "png"), ("g.pdf", "pdf")]:
        done = tool(path, "--dot=" + name, cwd=folder)
        refused(done, USAGE, f"'{name}' is a picture", f"| dot -T{form} -o {name}")
    expect(files(folder) == ["m.onnx"], files(folder))
    expect(tool(path, "-o", "o.pb", "--dot", "g.gv", "-q", cwd=folder).returncode == 0)
    expect(len(onnx.load(folder / "o.pb", format="protobuf").graph.node) == 2)
    expect(tool("o.pb", "-q", cwd=folder).returncode == 0)
    (folder / "out.engine").mkdir()  # a folder may be called anything
    expect(tool(path, "-o", "out.engine", "-q", cwd=folder).returncode == 0)
    expect((folder / "out.engine" / "m.onnx").exists())


def test_a_file_that_is_named_twice(tool, folder):
    """A second -o would silently take the place of the first; so it is with all files that a run writes."""
    path = saved(folder)
    for option, *words in [
        ("-o",),
        ("--report",),
        ("--dot",),
        ("--keep-bad", "--check"),
        ("--external-file", "-o", "o.onnx"),
        ("--manifest", "-o", "o.onnx", "--devices", "cpu"),
    ]:
        done = tool(path, *words, option, "a", option, "b", cwd=folder)
        refused(done, USAGE, f"{option} is given twice: 'a' and 'b'", f"give {option} one file")
    refused(tool(path, "-o", "a", "--output=b", cwd=folder), USAGE, "-o is given twice")
    refused(tool("inspect", path, "--report", "a", "--report", "b", cwd=folder), USAGE, "is given twice")
    expect(files(folder) == ["m.onnx"], files(folder))
    expect(tool(path, "-O0", "-O2", "--fold-limit", "1", "--fold-limit", "2", "-q").returncode == 0)


def test_a_dim_of_0(tool, folder):
    """0 is a size; since it is mostly meant as "any", the run warns."""
    path = saved(folder)
    for words, dim, parts in [
        (["--dim", "batch=0"], 0, ["--dim batch=0: a dim is 0", "stays as it is"]),
        (["--shape", "x=0,3"], 0, ["--shape x=0,3: a dim is 0", "-1 keeps a dim"]),
        (["--dim", "batch=0..4"], "batch", []),
        (["--shape", "x=1,3"], 1, []),
    ]:
        done = tool(path, *words, "-o", folder / "o.onnx", "--report", folder / "r.json")
        expect(done.returncode == 0 and dims(onnx.load(folder / "o.onnx").graph.output[0])[0] == dim, done)
        warnings = json.loads((folder / "r.json").read_text())["warnings"]
        expect(
            len(warnings) == (1 if parts else 0) and ("is 0" in done.stderr) == bool(parts), words, warnings
        )
        for part in parts:
            expect(part in done.stderr and part in warnings[0], words, "lacks", part, done.stderr)
    told = tool("devices", "check", "cpu", path, "--dim", "batch=0").stdout.decode()
    expect("warning: --dim batch=0: a dim is 0" in told, told)


if __name__ == "__main__":
    sys.exit(main(globals()))
