#!/usr/bin/env python3
"""Writes python/graphopt/_keywords.py, the keyword arguments of the Python package, from the options that the
tool lists (--help=json).

  python_keywords.py GRAPHOPT [--check]

  --check   changes nothing; status 1 if the file is not what would be written
"""

import pathlib
import sys

import option_list

FILE = pathlib.Path(__file__).resolve().parents[2] / "python" / "graphopt" / "_keywords.py"

# What a call cannot ask for: the result is returned, nothing is printed.
NOT_KEYWORDS = {
    "--output",
    "--list-passes",
    "--list-devices",
    "--json",
    "--quiet",
    "--progress",
    "--color",
    "--version",
    "--help",
}
COMMON = ("--external-root", "--max-memory", "--timeout")  # what every function takes
INSPECT = ("--dim-names",)
# Keywords that hold several of what an option has one of.
NAMES = {"-O": "level", "--dim": "dims", "--shape": "shapes", "--check-input": "check_inputs"}
# Where Python has another type, or another way to say it.
TYPES = {
    "-O": "int",
    "--shape": "Mapping[str, Sequence[int]]",
    "--dim": "Mapping[str, Union[int, str, Tuple[int, int]]]",
    "--buckets": "Union[Path, Mapping[str, Union[str, Sequence[int]]]]",
    "--check": "Union[bool, int]",
    "--check-input": "Union[Path, Mapping[str, Path]]",
    "--verbose": "int",
}
SENTENCES = {
    "--external-root": "External data may also be read from below this folder.",
    "--max-memory": 'Bytes of data that the process may use (or "2G"); LimitError when they do not suffice.',
    "--timeout": 'Seconds (or "5m"); LimitError after that.',
    "--shape": 'Shapes of inputs: {"image": [1, 3, 224, 224]}; -1 keeps a dim.',
    "--dim": 'Symbols: {"batch": 1} fixes one, {"batch": (1, 64)} promises a range.',
    "--buckets": 'A model per size: {"seq": [16, 32]}, {"seq": "16..512:pow2"}, or a JSON file.',
    "--check": "Run before and after in ONNX Runtime and compare, with this many seeds (True: 1).",
    "--check-input": 'Your own arrays for inputs: {"ids": "ids.npy"}, or one .npz file of several.',
    "--plan": "Only plan the subgraphs, and write nothing; the table is in `Report.log`.",
    "--report": "Also write the report to this file.",
    "--explain": 'Why passes ("lower", or "all") left nodes as they are: in `Report.raw`, `Report.log`.',
    "--print-after": "The model as text after these passes, in `Report.log`.",
    "--time-passes": "The time of each stage and pass, in `Report.log`.",
    "--verbose": "1 or 2: more in `Report.log`.",
}
FORMS = {
    "flag": "bool",
    "choices": "Union[str, Sequence[str]]",
    "text": "str",
    "count": "int",
    "number": "float",
    "bytes": "Size",
    "seconds": "Union[float, str]",
    "file": "Path",
    "folder": "Path",
    "names": "Union[str, Sequence[str]]",
    "passes": "Union[str, Sequence[str]]",
    "devices": "Union[str, Sequence[str]]",
}
HEAD = '''"""Keyword arguments and their options. Written by tools/packaging/python_keywords.py."""

import os
from typing import TYPE_CHECKING, Any, Dict, Mapping, Sequence, Tuple, Union

if TYPE_CHECKING:
    from typing import Literal, TypedDict

    Path = Union[str, "os.PathLike[str]"]
    Size = Union[int, str]
else:
    from typing import Literal, TypedDict

    Path, Size = Any, Any
'''


def keyword(option):
    return NAMES.get(option.name, option.key)


def type_of(option):
    if option.name in TYPES:
        return TYPES[option.name]
    if option.form == "choice":
        return f"Literal[{', '.join(map(repr, option.choices))}]".replace("'", '"')
    return FORMS[option.form]


def sentence(option):
    """What the option does. It begins in lower case where its first word is a value."""
    if option.name in SENTENCES:
        return SENTENCES[option.name]
    text = option.text
    if text.split()[0] not in option.choices:
        text = text[0].upper() + text[1:]
    return text.replace("\\", "\\\\") + "."


def words_of(option):
    words = ", ".join(f'"{choice}"' for choice in option.choices)
    return f"({words}{',' if len(option.choices) == 1 else ''})"


def members(options):
    for option in options:
        yield f"    {keyword(option)}: {type_of(option)}"
        yield f'    """{sentence(option)}"""'


def text_of(binary):
    verbs = option_list.options_of(binary)
    options = [o for o in verbs[()] if o.name not in NOT_KEYWORDS and o.name != "--bucket"]
    by_name = {option.name: option for option in options}
    rest = [o for o in options if o.name not in COMMON + INSPECT]
    table = [f'    "{keyword(o)}": ("{o.name}", "{o.form}", {words_of(o)}),' for o in options]
    words = ", ".join(f'"{verb[0]}"' for verb in verbs if verb)
    lines = [
        HEAD,
        "",
        "class Common(TypedDict, total=False):",
        '    """What every function takes."""',
        "",
        *members(by_name[name] for name in COMMON),
        "",
        "",
        "class InspectOptions(Common, total=False):",
        '    """Keyword arguments of `inspect`."""',
        "",
        *members(by_name[name] for name in INSPECT),
        "",
        "",
        "class Options(InspectOptions, total=False):",
        '    """Keyword arguments of `optimize` and `check`."""',
        "",
        *members(rest),
        "",
        "",
        "# Keyword: its option, the form of the value (docs/help.md), the words that it may be.",
        "KEYWORDS: Dict[str, Tuple[str, str, Tuple[str, ...]]] = {",
        *table,
        "}",
        "# Words that begin a command line with a verb.",
        f"VERBS = ({words})",
    ]
    return "\n".join(lines) + "\n"


def main():
    words = [word for word in sys.argv[1:] if word != "--check"]
    if len(words) != 1:
        sys.exit(__doc__)
    text = text_of(words[0])
    if "--check" not in sys.argv:
        FILE.write_text(text)
    elif FILE.read_text() != text:
        sys.exit(f"{FILE.name} is not what the options are: run tools/packaging/python_keywords.py")


if __name__ == "__main__":
    main()
