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
# Nor of `run`: requests are an argument, and the figures and answers are returned.
NOT_OF_RUN = NOT_KEYWORDS | {"--input", "--requests", "--verbose"}
# Nor of `map`: the map is returned, whole.
NOT_OF_MAP = NOT_KEYWORDS | {"--verbose"}
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
# The same where `run` differs.
RUN_TYPES = {
    "--workers": "Mapping[str, int]",
    "--budget": "Mapping[str, Size]",
    "--device": 'Mapping[str, Literal["cpu"]]',
    "--check-sequential": "Union[bool, int]",
}
RUN_SENTENCES = {
    "--draw": "So many requests with random inputs, in place of requests; `dims` sets sizes.",
    "--test-data": "ONNX's test_data_set_* folders in place of requests; their outputs are compared.",
    "--dim": 'Sizes for `draw`: {"seq": 8}, or a range of them: {"seq": (8, 40)}.',
    "--workers": 'Threads of devices: {"npu": 2}; 1 without it.',
    "--budget": 'Bytes of devices for tensors, in place of the manifest\'s: {"npu": "64M"}.',
    "--device": 'Run the parts of a device on the CPU, whatever its profile names: {"npu": "cpu"}.',
    "--request-timeout": 'Seconds (or "1m") after which a request is given up.',
    "--check-sequential": 'Compare the bytes of so many requests (True: all) with mode="sync".',
}
# The same where `map` differs.
MAP_TYPES = {"--pair": "Mapping[str, str]", "--input": "Union[Path, Mapping[str, Path]]"}
MAP_SENTENCES = {
    "--rounds": 'Most rounds of method="literal" (10).',
    "--pair": 'Operators that are a pair, by the names of their results: {"h1": "/fc/Gemm_out"}.',
    "--input": 'Your own arrays for inputs: {"ids": "ids.npy"}, or one .npz file of several.',
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


def type_of(option, types):
    if option.name in types:
        return types[option.name]
    if option.form == "choice":
        return f"Literal[{', '.join(map(repr, option.choices))}]".replace("'", '"')
    return FORMS[option.form]


def sentence(option, sentences):
    """What the option does. It begins in lower case where its first word is a value."""
    if option.name in sentences:
        return sentences[option.name]
    text = option.text
    if text.split()[0] not in option.choices:
        text = text[0].upper() + text[1:]
    return text.replace("\\", "\\\\") + "."


def words_of(option):
    words = ", ".join(f'"{choice}"' for choice in option.choices)
    return f"({words}{',' if len(option.choices) == 1 else ''})"


def members(options, types=TYPES, sentences=SENTENCES):
    for option in options:
        yield f"    {keyword(option)}: {type_of(option, types)}"
        yield f'    """{sentence(option, sentences)}"""'


def text_of(binary):
    verbs = option_list.options_of(binary)
    options = [o for o in verbs[()] if o.name not in NOT_KEYWORDS and o.name != "--bucket"]
    by_name = {option.name: option for option in options}
    rest = [o for o in options if o.name not in COMMON + INSPECT]
    of_run = [o for o in verbs[("run",)] if o.name not in NOT_OF_RUN]
    of_map = [o for o in verbs[("map",)] if o.name not in NOT_OF_MAP]
    for verb, own in (("run", of_run), ("map", of_map)):  # one table holds all
        for o in own:
            if o.form != by_name.setdefault(o.name, o).form:
                sys.exit(f"{o.name} of `{verb}` has another form than elsewhere")
    own_of_map = [o for o in of_map if o.name not in COMMON + INSPECT]
    table = [f'    "{keyword(o)}": ("{o.name}", "{o.form}", {words_of(o)}),' for o in by_name.values()]
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
        "class RunOptions(TypedDict, total=False):",
        '    """Keyword arguments of `run`."""',
        "",
        *members(of_run, {**TYPES, **RUN_TYPES}, {**SENTENCES, **RUN_SENTENCES}),
        "",
        "",
        "class MapOptions(InspectOptions, total=False):",
        '    """Keyword arguments of `map`."""',
        "",
        *members(own_of_map, {**TYPES, **MAP_TYPES}, {**SENTENCES, **MAP_SENTENCES}),
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
