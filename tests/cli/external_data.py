"""Loading and saving weights that stand in files of their own, wherever those are."""

import os
import resource
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime as ort
from onnx import ModelProto, TensorProto, helper, numpy_helper

from _models import F, entry, finish, info
from _tool import OUTPUT, expect, fields, kept, main, refused, saved


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
    duplicate = m.graph.initializer.add()
    duplicate.CopyFrom(m.graph.initializer[1])
    duplicate.name = "duplicate"
    path.write_bytes(m.SerializeToString())
    expect(fields(kept(tool, path, folder / "o.onnx")) == fields(path.read_bytes()), "beside")
    (folder / "to").mkdir()
    kept(tool, path, folder / "to" / "o.onnx")
    expect(contents(folder / "to" / "o.onnx") == {**before, "duplicate": before["w1"]}, "elsewhere")
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


def named(folder):
    return saved(
        folder,
        finish(
            [helper.make_node("Add", ["x", t.name], [f"y{i}"]) for i, t in enumerate(weights())],
            [info("x", None)],
            [info(f"y{i}", None) for i in range(4)],
            [*weights(), numpy_helper.from_array(np.ones(2, np.float32), "small")],
        ),
    )


def test_external_file(tool, folder):
    path, out = named(folder), folder / "out.onnx"
    kept(tool, path, out, "--external-data", "always")
    kept(tool, path, out, "--external-file", "w.bin")
    expect(data_files(folder) == ["w.bin"], "the file of the run before is gone", data_files(folder))
    expect(contents(out) == contents(path), "weights")
    m = ModelProto.FromString(out.read_bytes())
    expect([t.name for t in m.graph.initializer if t.external_data] == ["w0", "w1", "w2", "w3"], "threshold")
    expect(
        {e.value for t in m.graph.initializer for e in t.external_data if e.key == "location"} == {"w.bin"}, m
    )
    first = out.read_bytes(), (folder / "w.bin").read_bytes()
    kept(tool, path, out, "--external-file", "w.bin")
    expect((out.read_bytes(), (folder / "w.bin").read_bytes()) == first, "the second run differs")
    kept(tool, path, out, "--external-file", "w.bin", "--external-threshold", "12008")
    expect(contents(out) == contents(path), "the file was replaced")
    (folder / "to").mkdir()
    kept(tool, out, folder / "to" / "out.onnx", "--external-file", "v.bin")
    expect(
        data_files(folder / "to") == ["v.bin"] and contents(folder / "to" / "out.onnx") == contents(path),
        "moved",
    )
    kept(tool, out, folder / "again.onnx", "--external-file", "v.bin")
    m = ModelProto.FromString((folder / "again.onnx").read_bytes())
    expect(
        {e.value for t in m.graph.initializer for e in t.external_data if e.key == "location"} == {"v.bin"},
        "weights that stood beside it are in the new file",
    )
    data = kept(tool, path, folder / "tiny.onnx", "--external-file", "t.bin", "--external-threshold", "1G")
    expect(not (folder / "t.bin").exists() and fields(data) == fields(path.read_bytes()), "nothing is large")


def test_external_file_of_another_model(tool, folder):
    """A file that is there already is replaced as the weights of an earlier OUT alone."""
    path, out = external(folder, weights()), folder / "out.onnx"
    kept(tool, path, out, "--external-file", "w.bin")
    before = contents(out), (folder / "w.bin").read_bytes()
    refused(tool(path, "-o", folder / "p.onnx", "--external-file", "w.bin"), OUTPUT, "w.bin", "--force")
    (folder / "text.txt").write_text("notes")
    refused(tool(path, "-o", out, "--external-file", "text.txt"), OUTPUT, "text.txt", "is there already")
    expect((contents(out), (folder / "w.bin").read_bytes()) == before, "weights of another model")
    expect((folder / "text.txt").read_text() == "notes" and not (folder / "p.onnx").exists(), "replaced")
    kept(tool, path, out, "--external-file", "text.txt", "--force")
    expect(contents(out) == contents(path), "forced")


def test_shapes_stay_inside(tool, folder):
    """ONNX Runtime infers shapes from small vectors, and takes none from a data file."""
    m = finish(
        [
            helper.make_node("MatMul", ["x", "w"], ["a"]),
            helper.make_node("Split", ["a", "parts"], ["b", "c"], axis=1),
            helper.make_node("Reshape", ["c", "target"], ["y"]),
        ],
        [info("x", (2, 3))],
        [info("b", (2, 1)), info("y", (3, 2))],
        [
            numpy_helper.from_array(np.ones((3, 4), np.float32), "w"),
            numpy_helper.from_array(np.array([1, 3]), "parts"),
            numpy_helper.from_array(np.array([3, 2]), "target"),
        ],
    )
    path, out = saved(folder, m), folder / "out.onnx"
    for words in (["--external-data", "always"], ["--external-file", "w.bin"]):
        kept(tool, path, out, *words, "--external-threshold", "1")
        kinds = {t.name: t.data_location for t in ModelProto.FromString(out.read_bytes()).graph.initializer}
        expect(kinds == {"w": TensorProto.EXTERNAL, "parts": 0, "target": 0}, kinds)
        ort.InferenceSession(str(out), providers=["CPUExecutionProvider"])


def test_external_file_refused(tool, folder):
    path, out = named(folder), folder / "out.onnx"
    before = sorted(os.listdir(folder))
    for words, status, parts in [
        (["--external-file", "a/b"], 1, ["'a/b' is not the name of a file"]),
        (["--external-file", ".."], 1, ["'..' is not the name of a file"]),
        (["--external-file", ""], 1, ["is not a file"]),
        (["--external-file", "out.onnx"], 1, ["-o and --external-file name the same file"]),
        (["--external-file", "m.onnx"], 1, ["--external-file and the model that is read are the same file"]),
        (["--external-file", "r", "--report", folder / "r"], 1, ["same file"]),
        (["--external-file", "w", "--external-data", "never"], 1, ["never forbids"]),
        (["--external-file", "w", "--devices", "nnapi"], 1, ["share a file"]),
    ]:
        refused(tool(path, "-o", out, *words), status, *parts)
    refused(tool(path, "-o", "-", "--external-file", "w"), 1, "no folder")
    refused(tool(path, "--external-file", "w"), 1, "without -o")
    expect(sorted(os.listdir(folder)) == before, os.listdir(folder))
    kept(tool, path, out, "--external-file", "w.bin")
    for to in (out, folder / "other.onnx"):
        state_before = state(folder / "w.bin")
        refused(tool(out, "-o", to, "--external-file", "w.bin"), 4, "w.bin", "this file is being read")
        expect(state(folder / "w.bin") == state_before and contents(out) == contents(path), "it was touched")


def test_external_file_killed(tool, folder):
    """Whenever it is killed, OUT is whole with its weights, or not there: never with those of another run."""

    def model_of(value):
        w = numpy_helper.from_array(np.full(2**19, value, np.float32), "w")
        return finish(
            [helper.make_node("Add", ["x", "w"], ["y"])],
            [info("x", None)],
            [info("y", None)],
            [w, numpy_helper.from_array(np.array([value], np.float32), "value")],
        )

    paths = [saved(folder, model_of(v), f"in{v}.onnx") for v in (1, 2)]
    out = folder / "out.onnx"
    rng = np.random.default_rng(3)
    states = set()
    for moment in rng.uniform(0, 0.06, 40):
        for path in paths:
            process = subprocess.Popen(
                [tool.binary, "-q", "-O0", str(path), "-o", str(out), "--external-file", "w.bin"]
            )
            try:
                process.wait(timeout=moment)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            states.add(out.exists())
            if out.exists():
                m = {t.name: numpy_helper.to_array(t) for t in onnx.load(out).graph.initializer}
                expect((m["w"] == m["value"][0]).all(), "the weights of another model")
    print(f"  killed up to 80 times: {states}")


if __name__ == "__main__":
    sys.exit(main(globals()))
