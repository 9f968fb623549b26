#!/usr/bin/env python3
"""The repository stands alone: no file in it sends its reader to something outside.

  standalone.py [GRAPHOPT]

Looks through every text file that git tracks for places that a clone does not have: folders beside the
checkout, pages of a method that are not in docs/, absolute paths of one machine. Also every relative link
of a Markdown page must lead to a file of the tree.
"""

import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]

OUTSIDE = {
    "a folder beside the checkout": re.compile(r"\.\./shared\b|\bshared/(vectors|models|tools|methods)\b"),
    "a page that is not in docs/": re.compile(
        r"\bmethods/\w+\.md|\bpart [a-i](?:,|\.|$| of the method)|\bproto\.py\b", re.I
    ),
    "a place on one machine": re.compile(r"(?<![\w.])/(?:work|root|home|tmp)/\w"),
}
# "b4" and the like: names of rules elsewhere. In code and in ONNX text they are names of values.
LABEL = re.compile(r"\bb[1-7]\b(?!\.)")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


# Paths of this tree that comments and pages name.
NAMED = re.compile(
    r"(?<![\w./-])(?:src|docs|tests|tools|include|cmake|benchmarks)/[\w./-]*\.(?:md|cpp|h|py|inc)\b"
)


# In paths of files that a reader makes: docs/adding-a-pass.md, docs/adding-a-stage.md.
EXAMPLES = ("NAME", "cancel_unsqueeze", "thirds")


def comment_of(name: str, line: str) -> str:
    """The part of a line in which words are prose, and not names of values in code or in ONNX text."""
    if name.endswith(".md"):
        return "" if line.startswith("    ") else line
    if name.endswith((".cpp", ".h", ".inc")):
        return line.partition("//")[2] or line.partition("/*")[2]
    return line if name.endswith(".py") and line.lstrip().startswith("#") else ""


def problems_of(name: str, text: str) -> list[str]:
    """What is wrong in one file, a line each."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        for what, pattern in OUTSIDE.items():
            if match := pattern.search(line):
                found.append(f"{name}:{number}: '{match[0]}' is {what}")
        comment = comment_of(name, line)
        if match := LABEL.search(comment):
            found.append(f"{name}:{number}: '{match[0]}' is a label of such a page")
        for path in NAMED.findall(comment):
            example = any(word in path for word in EXAMPLES)
            if not example and not (TOP / path).exists():
                found.append(f"{name}:{number}: there is no '{path}'")
        if name.endswith(".md"):
            for target in LINK.findall(line):
                if "://" not in target and not ((TOP / name).parent / target).exists():
                    found.append(f"{name}:{number}: there is no '{target}'")
    return found


def self_test() -> list[str]:
    """The search must find what it is for, and leave alone what only looks like it."""
    wrong = [
        "// see methods/rewrites.md",
        "// run ../shared/tools/x.py",
        "x();  // the rule of b4, for Concat",
        "/* the rule of b4 */",
        "// Part F, 6",
        "// see src/hoist/tidy.cpp",
    ]
    right = ["  b1 = Relu (x)", "y = Add (b2, c)", "[docs](README.md)", "a part of it"]
    return [f"not found: {t}" for t in wrong if not problems_of("x.cpp", t)] + [
        f"found, but right: {t}" for t in right if problems_of("x.cpp", t)
    ]


def main() -> int:
    if not (TOP / ".git").exists():
        print("skipped: not a git checkout, so nothing tells which files belong to it")
        return 77
    command = ["git", "-C", str(TOP), "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")[:-1]
    found, read = self_test(), 0
    for name in names:
        path = TOP / name
        if path == pathlib.Path(__file__).resolve() or not path.is_file():
            continue
        data = path.read_bytes()
        if b"\0" in data[:8000]:
            continue
        read += 1
        found += problems_of(name, data.decode("utf-8", "replace"))
    print("\n".join(found[:50]))
    print(f"{read} files, {len(found)} problems")
    return 1 if found or not read else 0


if __name__ == "__main__":
    sys.exit(main())
