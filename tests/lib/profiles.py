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
