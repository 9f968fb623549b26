#!/usr/bin/env python3
"""The heads of the scripts are read as they are meant, and those of the tree are right (lib/tiers.py)."""

import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import tiers  # noqa: E402

NIGHTLY = "#!/usr/bin/env python3\n# TIER: nightly\n# LONG: --all --seed 7\n# WHEN: src/onnx/ src/ops/fold\n"


def head_of(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "test.py"
        path.write_text(text + '"""What it is."""\n# TIER: nightly\n')
        return tiers.head(path)


def refused(text):
    try:
        head_of(text)
    except ValueError:
        return
    raise AssertionError(f"accepted: {text}")


def main():
    assert head_of("") == {}, "what follows the docstring is not the head"
    words = {"TIER": "nightly", "LONG": "--all --seed 7", "WHEN": "src/onnx/ src/ops/fold"}
    assert head_of(NIGHTLY) == words
    assert head_of("# A comment: of another kind\n# SLOW: it runs ten models\n") == {
        "SLOW": "it runs ten models"
    }
    for text in (
        "# TIER: weekly\n",
        "# TIER: nightly\n# TIER: nightly\n",
        "# LONG:\n",
        "# WHEN: src/onnx/\n",
        "# TIER: nightly\n# SLOW: a reason\n",
        "# TEIR: nightly\n",
    ):
        refused(text)
    paths = words["WHEN"].split()
    for file, wanted in (
        ("src/onnx/reader.cpp", True),
        ("src/ops/fold_gather.cpp", True),
        ("src/ops/facts.cpp", False),
        ("docs/src/onnx/x", False),
    ):
        assert tiers.meets(paths, {file}) == wanted, file
    assert tiers.nightly_tests({"README.md"}) == []
    wrong = tiers.problems()
    print("\n".join(wrong) or "the heads of all scripts are understood")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
