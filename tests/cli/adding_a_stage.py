#!/usr/bin/env python3
# TIER: nightly
"""docs/adding-a-stage.md is true: its blocks fit the tree, compile without a warning, and the stage passes
the test that the page gives.

  adding_a_stage.py GRAPHOPT

The blocks are applied to a copy of the sources; what they change, and what includes a header that they
change, is compiled without optimization and linked before the libraries of the build folder that holds
GRAPHOPT.
Sanitizers add nothing to what the page promises, and their builds take long: skipped there.
"""

import json
import os
import re
import shlex
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/planted"))
import _rebuild  # noqa: E402

NEIGHBOUR = "src/driver/stages/save.cpp"  # whose compile command a new source takes
OWN_TEST = "tests/cli/thirds.py"


def blocks():
    """(language, file, text) of the page's code blocks that name a file."""
    page = (ROOT / "docs/adding-a-stage.md").read_text()
    return re.findall(r"^```(\w+) (\S+)\n(.*?)^```$", page, re.S | re.M)


def patched(name, text, diff):
    """The text with each hunk of a diff applied; its old lines stand there once."""
    for hunk in diff.split("@@\n"):
        lines = hunk.splitlines(keepends=True)
        old, new = ("".join(line[1:] for line in lines if line[0] in s).rstrip("\n") for s in (" -", " +"))
        assert text.count(old) == 1, f"{name} holds {text.count(old)} times:\n{old}"
        text = text.replace(old, new)
    return text


def apply(tree):
    """Applies the blocks to a copy of the tree. The names of the files that it changed or made."""
    changed = []
    for language, name, text in blocks():
        path = tree / name
        if language == "diff":
            text = patched(name, (path if path.exists() else ROOT / name).read_text(), text)
        else:
            assert not (ROOT / name).exists(), f"{name} is there already"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        long = [line for line in text.splitlines() if len(line) > 110]
        assert not long or name.startswith("docs/"), long
        changed.append(name)
    return changed


def dependents(build, changed):
    """{object: source} of the tool whose sources are, or include, one of the files."""
    entries = json.loads((build / "compile_commands.json").read_text())
    sources = {re.search(r" -o (\S+)", e["command"])[1]: e for e in entries}
    wanted = {os.path.realpath(ROOT / name) for name in changed}
    found = {}
    for part in _rebuild.run(["ninja", "-C", str(build), "-t", "deps"]).split("\n\n"):
        target, *lines = part.splitlines() or [""]
        target = target.split(":")[0]
        if not target.startswith(("src/", "tools/")) or target not in sources:
            continue
        if any(os.path.realpath(build / line.strip()) in wanted for line in lines):
            found[target] = sources[target]
    return found


def compile_one(tree, work, entry, source=None):
    """The object file of a source of the copy; `source`: a new one that takes the command of `entry`."""
    inside = {f"{ROOT}/{d}": f"{tree}/{d}" for d in ("src", "include", "tools")}

    def moved(word):
        for old, new in inside.items():
            word = word.replace(old, new)
        return word

    words = [moved(w) for w in shlex.split(entry["command"])]
    words = words[
        words[0].endswith("ccache") :
    ]  # it would preprocess first, and never find this folder again
    old = moved(entry["file"])
    new = str(source or old)
    compiled = work / (str(abs(hash(new))) + ".o")
    words = [new if w == old else w for w in words if w != "-MD"]
    for option in ("-MT", "-MF"):
        if option in words:
            del words[words.index(option) : words.index(option) + 2]
    words[words.index("-o") + 1] = str(compiled)
    _rebuild.run(words, cwd=entry["directory"])
    return compiled


def build_tool(build, tree, work, changed):
    """Path of the tool with the page's stage."""
    found = dependents(build, changed)
    like = next(e for e in found.values() if e["file"].endswith(NEIGHBOUR))
    new = [tree / n for n in changed if n.endswith(".cpp") and not (ROOT / n).exists()]
    with ThreadPoolExecutor(2) as pool:
        made = {o: pool.submit(compile_one, tree, work, e) for o, e in found.items()}
        extra = [pool.submit(compile_one, tree, work, like, s) for s in new]
    made = {o: str(f.result()) for o, f in made.items()}
    commands = _rebuild.run(["ninja", "-C", str(build), "-t", "commands", "graphopt"]).splitlines()
    link = next(c for c in reversed(commands) if " -o graphopt " in c)
    # Objects of libraries come before these, so that the linker leaves the archives' members out.
    first = [str(f.result()) for f in extra] + [p for o, p in made.items() if o not in link.split()]
    tool = work / "graphopt"
    for target, path in made.items():
        link = link.replace(f" {target} ", f" {path} ")
    words = " ".join(shlex.quote(p) for p in first)
    _rebuild.run(
        link.replace(" -o graphopt ", f" {words} -o {shlex.quote(str(tool))} ", 1), shell=True, cwd=build
    )
    return tool, len(found) + len(new)


def main():
    if os.environ.get("GRAPHOPT_SANITIZED") == "1":
        print("skipped: a build with sanitizers")
        return 77
    if not _rebuild.compiles_single_sources(Path(sys.argv[1]).resolve().parent):
        print("skipped: a build that compiles each layer as one source")
        return 77
    build = Path(sys.argv[1]).resolve().parent
    with tempfile.TemporaryDirectory() as folder:
        tree, work = Path(folder) / "tree", Path(folder) / "work"
        work.mkdir()
        for name in ("src", "include", "tools"):
            shutil.copytree(ROOT / name, tree / name)
        changed = apply(tree)
        tool, count = build_tool(build, tree, work, changed)
        added = {line for line in (tree / "tests/cli/help.txt").read_text().splitlines()}
        added -= set((ROOT / "tests/cli/help.txt").read_text().splitlines())
        shown = _rebuild.run([str(tool), "--help"]).splitlines()
        assert added and added <= set(shown), f"--help does not show: {added}"
        said = _rebuild.run([sys.executable, "-B", str(tree / OWN_TEST), str(tool)]).strip()
    print(f"{len(changed)} files changed, {count} sources compiled; {said}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
