#!/usr/bin/env python3
"""The tiers of the tests: what the heads of the scripts say (tests/CMakeLists.txt lists the words).

tiers.py --changed-since REV   prints, as a regular expression for `ctest -R`, the nightly tests that the
                               commit tier runs since a path of theirs differs from REV, uncommitted ones
                               included; nothing when there are none
tiers.py --check               every head is understood, and names paths that are there
"""

import argparse
import pathlib
import re
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
TOP = TESTS.parent
WORDS = ("TIER", "LONG", "WHEN", "SLOW")


def head(script):
    """{word: text} of the comments above a script's docstring. ValueError for a word that is there twice, has
    no text, or says what it must not."""
    found = {}
    for line in script.read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        if not (m := re.match(r"# ([A-Z]+):(.*)$", line)):
            continue
        word, text = m[1], m[2].strip()
        if word not in WORDS:
            raise ValueError(f"there is no '# {word}:', only {', '.join(WORDS)}")
        if word in found or not text:
            raise ValueError(f"'# {word}:' is there twice, or says nothing")
        found[word] = text
    if found.get("TIER", "nightly") != "nightly":
        raise ValueError(f"there is no tier '{found['TIER']}'")
    if "WHEN" in found and "TIER" not in found:
        raise ValueError("'# WHEN:' is for nightly tests: the others always run")
    if "SLOW" in found and "TIER" in found:
        raise ValueError("'# SLOW:' is for tests of the commit tier: a nightly one may take its time")
    return found


def scripts():
    """The scripts that are tests, by the names of their tests (tests/CMakeLists.txt gives them)."""
    found = {}
    for folder in ("cli", "equal", "property", "campaign", "package"):
        for script in sorted((TESTS / folder).glob("*.py")):
            if not script.stem.startswith(("_", "test_")):
                found[f"{folder}.{script.stem}"] = script
    for script in sorted(TESTS.glob("*/test_*.py")):
        found[f"{script.parent.name}.{script.stem.removeprefix('test_')}"] = script
    return found


def meets(paths, changed):
    """Whether one of the paths, a file or the beginning of some, has changed."""
    return any(file == path or file.startswith(path) for path in paths for file in changed)


def changed_files(rev):
    def git(*words):
        done = subprocess.run(["git", "-C", TOP, *words, "-z"], capture_output=True, text=True, check=True)
        return done.stdout.split("\0")

    return {*git("diff", "--name-only", rev), *git("ls-files", "--others", "--exclude-standard")} - {""}


def nightly_tests(changed):
    """The names of the nightly tests that the changed files concern; a test's own script does, too."""
    found = []
    for name, script in scripts().items():
        words = head(script)
        paths = [script.relative_to(TOP).as_posix(), *words.get("WHEN", "").split()]
        if "TIER" in words and meets(paths, changed):
            found.append(name)
    return found


def problems():
    """What is wrong with the heads, one text each."""
    found = []
    for name, script in scripts().items():
        where = script.relative_to(TOP).as_posix()
        try:
            words = head(script)
        except ValueError as e:
            found.append(f"{where}: {e}")
            continue
        for path in words.get("WHEN", "").split():
            folder, _, start = path.rpartition("/")
            if not any((TOP / folder).glob(start + "*")):
                found.append(f"{where}: WHEN: there is no '{path}'")
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--changed-since", metavar="REV")
    p.add_argument("--check", action="store_true")
    a = p.parse_args()
    if a.check:
        wrong = problems()
        print("\n".join(wrong) or f"{len(scripts())} heads are understood")
        return 1 if wrong else 0
    if a.changed_since and (names := nightly_tests(changed_files(a.changed_since))):
        print("^(" + "|".join(re.escape(n) for n in names) + ")$")
    return 0


if __name__ == "__main__":
    sys.exit(main())
