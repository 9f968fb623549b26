"""--help word for word, and how it must look. `help.py GRAPHOPT --update` writes the text anew."""

import json
import pathlib
import re
import subprocess
import sys

from _tool import expect, main, saved

from lib.tool import listed_passes

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
    expect(len(lines) <= 103, len(lines), "lines")
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
    stated = dict(re.findall(r"^\| `([a-z-]+)` \| `(-O\d)`", page, re.M))
    expect(stated.pop("runtime-folding") == "-O2")
    expect(stated == rounds, sorted(set(stated.items()) ^ set(rounds.items())))


def test_json(tool, folder):
    """--help=json has the options of every --help, each with what it says there."""
    listed = json.loads(tool("--help=json").stdout)
    expect(listed["format_number"] == 1 and listed["version"], listed)
    expect(json.loads(tool("compare", "-h", "--help=json").stdout) == listed, "a verb says something else")
    for verb in listed["verbs"]:
        text = tool(*verb["name"].split(), "--help").stdout.decode()
        for option in verb["options"]:
            line = next((x for x in text.splitlines() if x.endswith(" " + option["help"])), "")
            expect(option["name"] in line and option["value"] in line, verb["name"], option)
            expect((option["form"] == "flag") == (option["value"] == ""), option)
            expect(f"\n{option['group']}:\n" in text, option)
    keys = [option["key"] for option in listed["verbs"][0]["options"]]
    expect(len(keys) == len(set(keys)), "a key is there twice")
    names = {option["name"] for option in listed["verbs"][0]["options"]}
    for option in listed["verbs"][0]["options"]:
        for other in [*option["needs"], *option["excludes"]]:
            expect(set(other["options"]) <= names and other["what"], option)


def test_python_keywords(tool, folder):
    """The keywords of the Python package are what the options make of them."""
    root = pathlib.Path(__file__).parents[2]
    words = [sys.executable, "-B", root / "tools/packaging/python_keywords.py", tool.binary, "--check"]
    done = subprocess.run(words, capture_output=True, text=True)
    expect(done.returncode == 0, done.stderr)


def test_what_changes_the_result(tool, folder):
    """An option that is said not to change the result does not, and one that changes it is said to."""
    values = {
        "check": "1",
        "check_tolerance": "1e-3",
        "passes": "dead-code",
        "number": "1",
        "bytes": "4G",
        "seconds": "60",
        "level": "0",
        "regions": "metadata",
        "external_data": "always",
        "log_level": "debug",
        "dim": "N=4",
    }
    source = folder / "m.onnxtxt"
    source.write_text(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[N, 2] x) => (float[N, 2] y)'
        "{ a = Relu (x)  b = Identity (a)  c = Relu (b)  y = Neg (c) }"
    )

    def result(*words):
        done = tool(source, *words, "-o", folder / "o.onnx", "-q")
        expect(done.returncode == 0, words, done.stderr)
        return (folder / "o.onnx").read_bytes()

    plain, changed = result(), 0
    for option in json.loads(tool("--help=json").stdout)["verbs"][0]["options"]:
        if option["form"] == "flag":
            value = [option["name"]]
        elif option["form"] in ("file", "folder"):
            value = [option["name"], str(folder / f"{option['key']}.file")]
        else:
            value = values.get(option["key"], values.get(option["form"]))
            value = value and [option["name"] + ("" if option["name"] == "-O" else "=") + value]
        ends = option["key"].startswith(("list", "version", "help"))
        if (
            not value
            or ends
            or option["needs"]
            or option["key"] in ("output", "ort", "buckets", "plan", "bisect")
        ):
            continue
        differs = result(*value) != plain
        changed += differs
        expect(not differs or option["changes_result"], option["name"], "changes the result")
    expect(changed >= 4, changed, "options changed the result")


def test_golden_cases_round_where_their_pass_may(tool, folder):
    """A case whose results may differ (SAME) runs a pass that rounds at the level of the case. At -O2 each
    pass may make an operand constant, which a runtime then packs (end of docs/rounding.md): such a case has
    that in its name."""
    level_of = lambda text: 9 if text == "never" else int(text[2:])
    rounds = {row[0]: level_of(row[2]) for row in listed_passes(tool.binary)}
    cases = pathlib.Path(__file__).parents[1] / "golden"
    seen = 0
    for path in sorted(cases.rglob("*.txt")):
        head = path.read_text().split("\n=== before")[0]
        same = re.search(r"^# SAME: rtol=(\S+) atol=(\S+)", head, re.M)
        passes = re.search(r"^# RUN: .*--passes[= ](\S+)", head, re.M)
        if not same or not passes or not float(same[1]) and not float(same[2]):
            continue
        if path.stem.startswith("packed_operand"):
            continue
        level = int((re.search(r"^# RUN: .*-O(\d)", head, re.M) or [0, 2])[1])
        may = [name for name in passes[1].split(",") if rounds[name] <= level]
        seen += 1
        expect(
            may and "--exact" not in head,
            path.relative_to(cases),
            "rounds, but no pass of it does by the list",
        )
    expect(seen > 50, seen)


def test_inspect_help(tool, folder):
    text = tool("inspect", "--help").stdout.decode()
    expect(text.startswith("Usage: graphopt inspect IN") and "--json" in text, text)


def test_help_as_a_word(tool, folder):
    """`help`, `help VERB` and `devices list` print what the options print; a model of such a name is one."""
    for words, options in [
        (["help"], ["--help"]),
        (["help", "inspect"], ["inspect", "--help"]),
        (["help", "devices"], ["devices", "check", "--help"]),
        (["help", "devices", "check"], ["devices", "check", "--help"]),
        (["devices", "list"], ["--list-devices"]),
    ]:
        done = tool(*words, cwd=folder)
        expect(done.returncode == 0 and done.stderr == "", words, done.stderr)
        expect(done.stdout == tool(*options).stdout != b"", words, "does not print what", options, "prints")
    saved(folder, name="help")
    done = tool("help", "-o", "-", cwd=folder)
    expect(done.returncode == 0 and done.stdout == tool("./help", "-o", "-", cwd=folder).stdout, done.stderr)


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
