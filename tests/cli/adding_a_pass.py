#!/usr/bin/env python3
# TIER: nightly
"""docs/adding-a-pass.md is true: its example compiles without a warning, its pass is listed, and its golden
cases and its planted defect do what the page says.

  adding_a_pass.py GRAPHOPT

The example is built beside the tree with the commands of the build folder that holds GRAPHOPT. Sanitizers
add nothing to what the page promises, and their builds take long: skipped there.
"""

import importlib.util
import os
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/planted"))
import _plants  # noqa: E402
import _rebuild  # noqa: E402

spec = importlib.util.spec_from_file_location("golden", ROOT / "tests/golden/run.py")
golden = importlib.util.module_from_spec(spec)
spec.loader.exec_module(golden)

PASS = "src/passes/cancel_unsqueeze.cpp"
REGISTRY = "src/passes/registry.cpp"
NEIGHBOUR = "src/passes/drop_identity.cpp"


def blocks():
    """The page's code blocks that name a file, by that name."""
    page = (ROOT / "docs/adding-a-pass.md").read_text()
    return {m[1]: m[2] for m in re.finditer(r"^```\w+ (\S+)\n(.*?)^```$", page, re.S | re.M)}


def once(text, old, new):
    assert text.count(old) == 1, f"{REGISTRY} holds {text.count(old)} times: {old}"
    return text.replace(old, new)


def registry(line):
    """registry.cpp with the example's declaration and its line of the list."""
    text = (ROOT / REGISTRY).read_text()
    text = once(text, "extern const PassInfo ", "extern const PassInfo cancel_unsqueeze, ")
    return once(text, "    &drop_noop,", line + "    &drop_noop,")


def run_cases(tool, cases, work):
    """The names of the cases that fail, with the reasons."""
    failed = {}
    for name, text in cases.items():
        path = work / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        wrong = golden.run_case(str(tool), golden.read_case(str(path)), str(work), False)
        if wrong:
            failed[name] = wrong
    return failed


def main():
    if os.environ.get("GRAPHOPT_SANITIZED") == "1":
        print("skipped: a build with sanitizers")
        return 77
    if not _rebuild.compiles_single_sources(Path(sys.argv[1]).resolve().parent):
        print("skipped: a build that compiles each layer as one source")
        return 77
    files, build = blocks(), Path(sys.argv[1]).resolve().parent
    cases = {name: text for name, text in files.items() if name.startswith("tests/golden/")}
    plants = [name for name in files if name.startswith("tests/planted/")]
    assert PASS in files and REGISTRY in files and len(cases) >= 4 and len(plants) == 1, list(files)
    long = [line for text in files.values() for line in text.splitlines() if len(line) > 110]
    assert not long, long

    def make(source, folder):
        texts = [(source, PASS, NEIGHBOUR), (registry(files[REGISTRY]), REGISTRY, REGISTRY)]
        return _rebuild.rebuild(build, folder, texts, warnings_are_errors=source == files[PASS])

    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as other:
        tool = make(files[PASS], Path(folder))
        listed = _rebuild.run([str(tool), "--list-passes"])
        assert re.search(r"^cancel-unsqueeze +-O1 +never +remove Squeezes", listed, re.M), listed
        failed = run_cases(tool, cases, Path(folder))
        assert not failed, failed

        path = Path(other) / Path(plants[0]).name
        path.write_text(files[plants[0]])
        plant = _plants.read(path)
        failed = run_cases(make(_plants.apply({plant: "true"}, files[PASS]), Path(other)), cases, Path(other))
        assert f"tests/golden/{plant.golden}.txt" in failed, f"the planted defect is not seen: {list(failed)}"
    print(f"the example compiles; {len(cases)} cases pass; {plant.name} is seen")
    return 0


if __name__ == "__main__":
    sys.exit(main())
