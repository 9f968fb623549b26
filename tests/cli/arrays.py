"""Arrays that are read and written (src/runtime: array_file, array_writer, stored_file) against NumPy's and
onnx's own: what NumPy saves comes back with the same elements, and what onnx stores arrives in an archive
that NumPy reads.
"""

import itertools
import pathlib
import subprocess
import sys
import zipfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _tool import expect, main

# As NumPy names them; each has 6 elements with the extremes of the type.
NUMBERS = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, -1.5]
# Types that NumPy lacks, and what the archive has of them.
BITS = {
    TensorProto.BFLOAT16: np.uint16,
    TensorProto.FLOAT8E4M3FN: np.uint8,
    TensorProto.FLOAT8E4M3FNUZ: np.uint8,
    TensorProto.FLOAT8E5M2: np.uint8,
    TensorProto.FLOAT8E5M2FNUZ: np.uint8,
    TensorProto.FLOAT8E8M0: np.uint8,
    TensorProto.UINT4: np.uint8,
    TensorProto.INT4: np.uint8,
    TensorProto.FLOAT4E2M1: np.uint8,
    TensorProto.UINT2: np.uint8,
    TensorProto.INT2: np.uint8,
    TensorProto.FLOAT6E2M3: np.uint8,
    TensorProto.FLOAT6E3M2: np.uint8,
}


def elements(name):
    dtype = np.dtype(name)
    if dtype.kind == "b":
        return np.array([0, 1, 1, 0, 0, 1], dtype)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([info.min, info.max, 0, 1, 2, info.max - 1], dtype)
    values = np.array(SPECIAL, dtype)
    if dtype.kind == "c":
        values.imag = SPECIAL[::-1]
    return values


def converted(tool, folder, *words):
    """The archive that the program writes, and the lines that it prints."""
    program = pathlib.Path(tool.binary).parent / "tests" / "graphopt_convert_arrays"
    out = folder / "out.npz"
    done = subprocess.run(
        [program, out, *map(str, words)], capture_output=True, text=True, timeout=100, check=False
    )
    expect(done.returncode == 0, words, done.stdout, done.stderr)
    return np.load(out, allow_pickle=False), done.stdout.split("\n")[:-1]


def expect_same(got, wanted, name):
    expect(got.dtype == wanted.dtype and got.shape == wanted.shape, name, got.dtype, got.shape, wanted.shape)
    expect(got.flags.c_contiguous and got.tobytes() == wanted.tobytes(order="C"), name, got, wanted)


def numpy_arrays():
    arrays = {}
    for name in NUMBERS:
        values = elements(name)
        arrays[f"{name}.line"] = values
        arrays[f"{name}.scalar"] = values[2:3].reshape(())
        arrays[f"{name}.none"] = np.zeros((2, 0, 3), values.dtype)
        arrays[f"{name}.c"] = values.reshape(2, 3)
        arrays[f"{name}.f"] = np.asfortranarray(values.reshape(3, 2))
        arrays[f"{name}.cube"] = np.asfortranarray(np.resize(values, (2, 3, 4)))
    arrays["texts/unicode"] = np.array([["a", "", "grüß"], ["€", "😀", "long text"]])
    arrays["texts/order"] = np.asfortranarray(arrays["texts/unicode"])
    arrays["texts/none"] = np.zeros((0, 2), "<U1")
    arrays["größe"] = np.arange(3)
    arrays["deep"] = np.zeros((1,) * 32, np.int8)
    return arrays


def test_what_numpy_saves_comes_back(tool, folder):
    arrays = numpy_arrays()
    np.savez(folder / "in.npz", **arrays)
    for words in ([], ["--zip64"]):
        got, lines = converted(tool, folder, *words, folder / "in.npz")
        expect(lines == [] and got.files == list(arrays), lines, got.files)
        for name, wanted in arrays.items():
            expect_same(got[name], wanted, name)
        # NumPy looks at the checksums itself; unzip and others also look at what else the format says.
        expect(zipfile.ZipFile(folder / "out.npz").testzip() is None, words)
    for name, wanted in itertools.islice(arrays.items(), 0, None, 5):
        np.save(folder / "one.npy", wanted)
        got, _ = converted(tool, folder, folder / "one.npy")
        expect_same(got["one"], wanted, name)


def test_texts_that_are_bytes(tool, folder):
    np.save(folder / "ok.npy", np.array([b"a", b"", b"long"]))
    np.save(folder / "raw.npy", np.array([b"\xff\xfe", b"x"]))
    got, _ = converted(tool, folder, folder / "ok.npy", folder / "raw.npy")
    expect_same(got["ok"], np.array(["a", "", "long"]), "ok")  # all of it is UTF-8
    expect_same(got["raw"], np.array([b"\xff\xfe", b"x"]), "raw")


def test_what_onnx_stores_arrives(tool, folder):
    wanted, files, bits = {}, [], []
    for kind in TensorProto.DataType.values():
        if kind in (TensorProto.UNDEFINED, TensorProto.STRING):
            continue
        name = TensorProto.DataType.Name(kind).lower()
        try:
            dtype = helper.tensor_dtype_to_np_dtype(kind)
            tensor = helper.make_tensor(name, kind, [5], np.array([0, 1, 1, 0, 1]).astype(dtype))
            array = numpy_helper.to_array(tensor)
        except (ValueError, KeyError, TypeError):
            expect(kind not in BITS, name)
            continue
        for suffix, stored in (("", tensor), ("_raw", numpy_helper.from_array(array, name))):
            onnx.save_tensor(stored, folder / f"{name}{suffix}.pb")
            files.append(folder / f"{name}{suffix}.pb")
            wanted[name + suffix] = array.view(BITS[kind]) if kind in BITS else array
            if kind in BITS:
                bits.append(name + suffix)
    expect(len(files) >= 2 * (14 + len(BITS)), len(files))
    words = helper.make_tensor("words", TensorProto.STRING, [2, 1], [b"a", "grüß".encode()])
    onnx.save_tensor(words, folder / "words.pb")
    wanted["words"] = np.array([["a"], ["grüß"]])
    got, lines = converted(tool, folder, *files, folder / "words.pb")
    expect(lines == [f"bits {name}" for name in bits], lines)
    expect(got.files == list(wanted), got.files)
    for name, array in wanted.items():
        expect_same(got[name], array, name)


def test_the_bits_of_small_types(tool, folder):
    """By hand: what a stored -1 or 1.0 is."""
    for name, kind, values, result in [
        ("i4", TensorProto.INT4, [-1, 7, -8], [15, 7, 8]),
        ("i2", TensorProto.INT2, [-1, 1, -2, 0, 1], [3, 1, 2, 0, 1]),
        ("f4", TensorProto.FLOAT4E2M1, [1.0, -6.0, 0.5], [2, 15, 1]),
        ("f8", TensorProto.FLOAT8E4M3FN, [1.0, -1.0], [0x38, 0xB8]),
        ("bf", TensorProto.BFLOAT16, [1.0, -2.0], [0x3F80, 0xC000]),
    ]:
        array = np.array(values).astype(helper.tensor_dtype_to_np_dtype(kind))
        onnx.save_tensor(numpy_helper.from_array(array, name), folder / f"{name}.pb")
        got, lines = converted(tool, folder, folder / f"{name}.pb")
        expect(got[name].tolist() == result and lines == [f"bits {name}"], name, got[name], lines)


def test_sequences_and_optionals(tool, folder):
    arrays = [np.arange(3, dtype=np.float32), np.zeros((2, 0), np.float32)]
    sequence = numpy_helper.from_list(arrays, "s")
    (folder / "s.seq.pb").write_bytes(sequence.SerializeToString())
    (folder / "some.opt.pb").write_bytes(numpy_helper.from_optional(arrays[0], "some").SerializeToString())
    (folder / "list.opt.pb").write_bytes(numpy_helper.from_optional(arrays, "list").SerializeToString())
    nothing = numpy_helper.from_optional(None, "none", dtype=onnx.OptionalProto.TENSOR)
    (folder / "none.opt.pb").write_bytes(nothing.SerializeToString())
    names = ["s.seq.pb", "some.opt.pb", "list.opt.pb", "none.opt.pb"]
    got, lines = converted(tool, folder, *(folder / name for name in names))
    expect(got.files == ["s[0]", "s[1]", "some", "list[0]", "list[1]"], got.files)
    expect(lines == ["apart s", "apart list", "absent none"], lines)
    for name, wanted in zip(got.files, [*arrays, arrays[0], *arrays], strict=True):
        expect_same(got[name], wanted, name)


def test_more_arrays_than_the_old_field_counts(tool, folder):
    for count in (65534, 65535, 65536):
        got, _ = converted(tool, folder, "--many", count)
        expect(len(got.files) == count and got[f"x{count - 1}"] == ord("x"), count, len(got.files))


if __name__ == "__main__":
    sys.exit(main(globals()))
