"""--help word for word, and how it must look. `help.py GRAPHOPT --update` writes the text anew."""

import pathlib
import re
import sys

from _tool import expect, main

GOLDEN = pathlib.Path(__file__).with_name("help.txt")


def test_golden(tool, folder):
    done = tool("--help")
    expect(done.returncode == 0 and done.stderr == "", done.stderr)
    expect(
        done.stdout.decode() == GOLDEN.read_text(),
        "--help changed; if that is meant, run this test with --update",
    )
    expect(tool("-h").stdout == done.stdout, "-h and --help differ")


def test_size(tool, folder):
    lines = tool("--help").stdout.decode().splitlines()
    expect(len(lines) <= 95, len(lines), "lines")
    for line in lines:
        expect(len(line) <= 100, "too long:", line)


def test_every_option_works_as_shown(tool, folder):
    """Each option of the text is one that the parser knows: with a missing model it must not be called
    unknown."""
    names = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", tool("--help").stdout.decode(), re.M)
    expect(len(names) > 25, names)
    for name in names:
        expect("unknown option" not in tool(name).stderr, name)


def test_one_truth_about_levels(tool, folder):
    """--help, --list-passes and the docs say the same about levels, and which passes round from which on."""
    page = (pathlib.Path(__file__).parents[2] / "docs" / "rounding.md").read_text()
    passes, levels = tool("--list-passes").stdout.decode().split("\n\n")
    expect(levels.strip() in tool("--help").stdout.decode(), levels)
    for option, text in re.findall(r"^  (\S+) +(.*)$", levels, re.M):
        expect(f"| `{option}` | {text} |" in page, option, text, "is not in docs/rounding.md")
    rounds = {}
    for line in passes.splitlines()[2:]:  # below the head
        name, _, rounds_from = line.split()[:3]
        if rounds_from != "never":
            rounds[name] = rounds_from
    told = dict(re.findall(r"^\| `([a-z-]+)` \| `(-O\d)`", page, re.M))
    expect(told.pop("runtime-folding") == "-O2")
    expect(told == rounds, sorted(set(told.items()) ^ set(rounds.items())))


def test_inspect_help(tool, folder):
    text = tool("inspect", "--help").stdout.decode()
    expect(text.startswith("Usage: graphopt inspect IN") and "--json" in text, text)


def test_devices_help(tool, folder):
    for words in (["devices", "--help"], ["devices", "check", "-h"]):
        text = tool(*words).stdout.decode()
        expect(text.startswith("Usage: graphopt devices check PROFILE IN") and "--verbose" in text, text)


if __name__ == "__main__":
    if "--update" in sys.argv:
        from _tool import Tool

        GOLDEN.write_bytes(Tool(sys.argv[1])("--help").stdout)
        sys.exit(0)
    sys.exit(main(globals()))
