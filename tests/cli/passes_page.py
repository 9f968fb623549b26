#!/usr/bin/env python3
"""docs/passes.md is what tools/packaging/passes_page.py makes of the sources, which say all that it needs.

passes_page.py GRAPHOPT
"""

import contextlib
import pathlib
import re
import shutil
import subprocess
import sys

from _tool import expect, main

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tools" / "packaging"))

import passes_page  # noqa: E402


def test_page_is_current(tool, folder):
    program = TOP / "tools" / "packaging" / "passes_page.py"
    done = subprocess.run([sys.executable, "-B", program, tool.binary, "--check"], capture_output=True)
    expect(done.returncode == 0, done.stderr.decode().strip())


def test_docs_lead_to_the_page(tool, folder):
    for name in ("README.md", "docs/architecture.md", "docs/adding-a-pass.md"):
        expect("passes.md" in (TOP / name).read_text(), name, "has no link to docs/passes.md")


def test_links(tool, folder):
    """Each link leads to a file, and each link within the page to a heading."""
    text = passes_page.PAGE.read_text()
    headings = set(re.findall(r"^### `([a-z-]+)`$", text, re.MULTILINE))
    links = re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", text.replace("\n", " "))
    expect(len(links) > 4 * len(headings) > 100, len(links), len(headings))
    for path, heading in links:
        expect(path or heading in headings, f"#{heading} leads nowhere")
        expect(not path or (passes_page.PAGE.parent / path.replace(" ", "")).exists(), path)


@contextlib.contextmanager
def tree(folder):
    """A copy of the sources of which the page is made, for the program to read."""
    before = passes_page.TOP, passes_page.PAGE
    for part in ("src/passes", "tests/golden"):
        shutil.copytree(TOP / part, folder / part)
    (folder / "docs").mkdir()
    for name in ("rounding.md", "passes.md"):
        shutil.copy(TOP / "docs" / name, folder / "docs")
    passes_page.TOP, passes_page.PAGE = folder, folder / "docs" / "passes.md"
    try:
        yield folder
    finally:
        passes_page.TOP, passes_page.PAGE = before


def test_defects_are_found(tool, folder):
    """Each change of one source ends --check with the words; without a change it passes."""
    case = "tests/golden/compose/transposes.txt"
    other = "tests/golden/compose/casts.txt"
    defects = [
        ("docs/passes.md", "two Transposes in a row", "two Transposes", "stale"),
        (case, "# EXAMPLE: two", "# EXAMPLE: some", "stale"),
        (case, "perm: ints = [2, 0, 1]", "perm: ints = [2, 1, 0]", "stale"),
        (case, "# EXAMPLE: ", "# An example: ", "0 cases"),
        (other, "=== before", "# EXAMPLE: two Casts\n=== before", "2 cases"),
        (case, "=== after", "=== unchanged", "part 'after'"),
        ("src/passes/compose.cpp", "// compose: makes", "// compose: writes", "stale"),
        ("src/passes/compose.cpp", "// Problem: ", "// Why: ", "Problem"),
        ("src/passes/merge_tables.cpp", "// Assumes: ", "// Supposes: ", "Assumes"),
        ("src/passes/registry.cpp", "// Group: Searches", "// Group: Search", "stale"),
        ("src/passes/registry.cpp", "    &compose,", "", "belongs to no pass"),
        ("src/passes/registry.cpp", "    &drop_unused_outputs,\n", "", "other passes"),
        ("docs/rounding.md", "nothing but the sign of a zero", "the sign of a zero", "stale"),
    ]
    with tree(folder) as top:
        try:
            passes_page.main([tool.binary, "--check"])
        except SystemExit as e:
            raise AssertionError(e.code) from None
        for name, before, after, words in defects:
            path = top / name
            text = path.read_text()
            expect(text.count(before) == 1, name, before, text.count(before))
            path.write_text(text.replace(before, after))
            try:
                passes_page.main([tool.binary, "--check"])
            except SystemExit as e:
                expect(words in str(e.code), name, before, e.code)
            else:
                raise AssertionError(f"{name}: '{after}' is not found")
            path.write_text(text)


if __name__ == "__main__":
    sys.exit(main(globals()))
