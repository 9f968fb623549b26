"""--check-input: arrays of the user's own in place of drawn ones, in the run and in compare."""

import json
import sys

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from _tool import CHECK, INPUT, NOT_CHECKED, USAGE, expect, main, refused, saved
from check_runs import library

RARE = 123456  # drawn inputs do not hold it


def ids(rare_becomes=None):
    """y = x + z, of int64[n]; with `rare_becomes`, RARE in x becomes that."""
    value = [helper.make_tensor_value_info(name, TensorProto.INT64, ["n"]) for name in "xzy"]
    nodes, weights = [helper.make_node("Add", ["x", "z"], ["y"])], []
    if rare_becomes is not None:
        nodes = [
            helper.make_node("Equal", ["x", "rare"], ["is_rare"]),
            helper.make_node("Where", ["is_rare", "other", "x"], ["u"]),
            helper.make_node("Add", ["u", "z"], ["y"]),
        ]
        weights = [
            numpy_helper.from_array(np.array(RARE), "rare"),
            numpy_helper.from_array(np.array(rare_becomes), "other"),
        ]
    graph = helper.make_graph(nodes, "g", value[:2], value[2:], weights)
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 20)])


def checked(tool, folder, *words):
    report = folder / "r.json"
    done = tool(saved(folder, ids()), "--check", "--ort", library(), "--report", report, *words)
    expect(done.returncode == 0, words, done.stderr)
    return json.loads(report.read_text())["check"]


def test_arrays_stand_in_every_run(tool, folder):
    np.save(folder / "x.npy", np.arange(5))
    np.savez(folder / "both.npz", x=np.arange(3), z=np.arange(3))
    drawn = checked(tool, folder)
    expect(drawn["runs"] > 1, drawn)
    # The size of z follows from that of x; nothing else varies.
    found = checked(tool, folder, "--check-input", f"x={folder / 'x.npy'}")
    expect((found["runs"], found["skipped"]) == (1, 0), found)
    found = checked(tool, folder, "--check-input", folder / "both.npz")
    expect((found["runs"], found["skipped"]) == (1, 0), found)
    found = checked(tool, folder, "--check-input", f"z={folder / 'both.npz'}")
    expect((found["runs"], found["skipped"]) == (1, 0), found)
    (folder / "x.pb").write_bytes(numpy_helper.from_array(np.arange(5)).SerializeToString())
    found = checked(tool, folder, "--check-input", f"x={folder / 'x.pb'}")
    expect((found["runs"], found["skipped"]) == (1, 0), found)


def test_they_find_what_drawn_ones_do_not(tool, folder):
    a, b = saved(folder, ids(), "a.onnx"), saved(folder, ids(7), "b.onnx")
    np.save(folder / "x.npy", np.array([1, RARE, 3]))
    done = tool("compare", a, b, "--ort", library())
    expect(done.returncode == 0, done.stdout, done.stderr)
    done = tool("compare", a, b, "--ort", library(), "--check-input", f"x={folder / 'x.npy'}")
    expect(done.returncode == CHECK and "check: different" in done.stdout.decode(), done.stdout, done.stderr)


def test_wrong_ones(tool, folder):
    path = saved(folder, ids())
    np.save(folder / "x.npy", np.arange(5))
    np.save(folder / "f.npy", np.arange(5, dtype=np.float32))
    np.save(folder / "two.npy", np.zeros((2, 5), np.int64))
    np.save(folder / "big.npy", np.arange(5, dtype=">i8"))
    np.savez_compressed(folder / "packed.npz", x=np.arange(5))
    np.savez(folder / "others.npz", p=np.arange(5), q=np.arange(5))
    (folder / "wrong.pb").write_bytes(b"no message")
    x = folder / "x.npy"
    for word, status, *parts in [
        (f"y={x}", USAGE, "no input 'y'"),
        (f"x={folder / 'f.npy'}", USAGE, "takes int64", "holds float", "astype"),
        (f"x={folder / 'two.npy'}", USAGE, "'x' takes [n], and the file holds [2,5]"),
        (x, USAGE, "names no input", "NAME=FILE.npy"),
        (f"x={folder / 'none.npy'}", INPUT, "none.npy"),
        (f"x={folder / 'wrong.pb'}", INPUT, "wrong.pb", "bytes are broken"),
        (f"x={path}", INPUT, "no array of NumPy"),
        (f"x={folder / 'big.npy'}", INPUT, "'>i8'"),
        (folder / "packed.npz", INPUT, "compressed", "numpy.savez"),
        (f"x={folder / 'others.npz'}", USAGE, "no array 'x'"),
    ]:
        refused(tool(path, "--check", "--ort", library(), "--check-input", word), status, *parts)
    refused(
        tool(path, "--check", "--ort", library(), "--check-input", f"x={x}", "--check-input", f"x={x}"),
        USAGE,
        "'x' is given twice",
    )
    for words in (["-o", x], ["-o", folder / "o.onnx", "--external-file", "x.npy"], ["--report", x]):
        done = tool(path, "--check", "--check-input", f"x={x}", *words)
        refused(done, USAGE, "an array of --check-input are the same file")
    refused(tool(path, "--check-input", f"x={x}"), USAGE, "--check-input: no check was asked for")
    # Sizes that contradict each other: the original does not run on them.
    np.save(folder / "z.npy", np.arange(4))
    refused(
        tool(
            path,
            "--check",
            "--ort",
            library(),
            "--check-input",
            f"x={x}",
            "--check-input",
            f"z={folder / 'z.npy'}",
        ),
        NOT_CHECKED,
        "on the given inputs",
    )


if __name__ == "__main__":
    sys.exit(main(globals()))
