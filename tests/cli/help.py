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


def test_one_screen(tool, folder):
    lines = tool("--help").stdout.decode().splitlines()
    expect(len(lines) <= 80, len(lines), "lines")
    for line in lines:
        expect(len(line) <= 100, "too long:", line)


def test_every_option_works_as_shown(tool, folder):
    """Each option of the text is one that the parser knows: with a missing model it must not be called
    unknown."""
    names = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", tool("--help").stdout.decode(), re.M)
    expect(len(names) > 25, names)
    for name in names:
        expect("unknown option" not in tool(name).stderr, name)


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
