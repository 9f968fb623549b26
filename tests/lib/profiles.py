"""Device profiles for tests."""

import json
import pathlib

TESTS = pathlib.Path(__file__).resolve().parents[1]


def kept(name):
    """The profile of this name as it was (tests/equal/profiles), which takes open dims and so cuts a
    model in more ways; the name of the shipped one where there is none."""
    path = TESTS / "equal" / "profiles" / f"{name}.json"
    return str(path) if path.exists() else name


def profile(folder, *operators, name="npu", kind="npu", **more):
    """The path of a new profile that takes these operators."""
    text = {
        "format": "graphopt.device",
        "version": "1.0",
        "id": name,
        "kind": kind,
        "profile": {"version": "1", "source": [{"document": "a test"}]},
        "rules": [{"op": op} for op in operators],
        **more,
    }
    path = folder / f"{name}.json"
    path.write_text(json.dumps(text))
    return path


# What a device without int64 takes in int32: operators of which every operand and result counts, and those of
# which some operands are int64 by the schema.
INT32_ALONE = """Abs Add Clip Concat Div Equal Flatten Gather GatherElements Greater GreaterOrEqual Identity
Less LessOrEqual Max Min Mod Mul Neg Range Slice Sub Transpose Where""".split()  # fmt: skip
INT32_DATA = """CumSum Expand GatherND ReduceMax ReduceMin ReduceProd ReduceSum Reshape Split Squeeze Tile
Unsqueeze""".split()  # fmt: skip
NO_INT64 = ["FLOAT", "FLOAT16", "INT32", "BOOL", "UINT8", "INT8"]


def int32_profile(folder, *more, name="int32", **keys):
    """The path of a new profile that takes the integer operators in int32, and no int64 but in Casts, as
    shapes, and where a schema wants it; `more` are operators that it takes in any type."""
    types = [{"index": "rest", "dtypes": NO_INT64}]
    first = [{"index": 0, "dtypes": NO_INT64}]
    rules = [{"op": op, "inputs": types, "outputs": types} for op in INT32_ALONE]
    rules += [{"op": op, "inputs": first, "outputs": types} for op in INT32_DATA]
    rules += [{"op": "ConstantOfShape", "outputs": types}, {"op": "NonZero", "inputs": first}]
    rules += [{"op": op} for op in ("Cast", "Shape", *more)]
    return profile(folder, name=name, rules=rules, **keys)
