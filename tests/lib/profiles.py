"""Device profiles for tests."""

import json


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
