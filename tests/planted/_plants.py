"""Reads planted defects and puts them, each behind a switch, into copies of the sources.

A plant is a file NAME.txt in this folder:

  # free text: what is wrong with the planted code
  # FILE: src/passes/drop_identity.cpp              the source that is changed
  # GOLDEN: drop-identity/keep_dropout_training     the golden case that must fail, or
  # UNIT: Execution.DrawnPlans                      the unit test that must
  # BISECT: drop-identity, node 'wrong'             optional: the pass and the place that --bisect must name
  === replace                                       any number of pairs
  return inference_mode(m, n) && can_skip(m, n);
  === by                                            PLANTED is true when the defect is wanted, else the code
  return (PLANTED || inference_mode(m, n)) && can_skip(m, n);                does what it did
  === model                                         with BISECT: a small model that the defect breaks
  ... ONNX text ...

The text to replace is compared with the source token by token: white space, line breaks and comments do not
count, so the layout of the source may change. It must be in the source exactly once, outside of the places
of other plants; keep it short.
"""

import re
from collections import defaultdict
from dataclasses import dataclass, field

from _rebuild import ROOT

HERE = ROOT / "tests/planted"
SWITCH = re.compile(r"\bPLANTED\b")

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/            # a comment
    |"(?:\\.|[^"\\\n])*"             # a string
    |'(?:\\.|[^'\\\n])*'             # a character
    |\d(?:'?\w)*|\w+                 # a number, a word
    |\S                              # any other character by itself""",
    re.S | re.X,
)


class PlantError(Exception):
    """A plant cannot be read or has no place in the source; the text names the plant and the file."""


@dataclass(eq=False)
class Plant:
    name: str
    file: str = ""
    golden: str = ""
    unit: str = ""
    bisect: tuple[str, str] | None = None  # (pass, place)
    edits: list[tuple[str, str]] = field(default_factory=list)
    model: str = ""


def tokens(text):
    """(token, begin, end) of each token of C++ source text; comments are left out."""
    return [(m[0], m.start(), m.end()) for m in TOKEN.finditer(text) if not m[0].startswith(("//", "/*"))]


def occurrences(source, wanted):
    """(begin, end) of each place of `source` whose tokens are those of `wanted`."""
    have, want = tokens(source), [t for t, _, _ in tokens(wanted)]
    texts = [t for t, _, _ in have]
    if not want:
        return []
    return [
        (have[i][1], have[i + len(want) - 1][2])
        for i in range(len(texts) - len(want) + 1)
        if texts[i] == want[0] and texts[i : i + len(want)] == want
    ]


def read(path):
    plant, sections = Plant(path.stem), []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if m := re.fullmatch(r"=== (replace|by|model)", line):
            sections.append((m[1], []))
        elif line.startswith("==="):
            raise PlantError(f"{path.name}:{number}: unknown section '{line}'")
        elif sections:
            sections[-1][1].append(line)
        elif m := re.match(r"# ([A-Z]+): (.*)", line):
            if m[1] == "BISECT":
                plant.bisect = tuple(part.strip() for part in m[2].split(",", 1))
            elif m[1] in ("FILE", "GOLDEN", "UNIT"):
                setattr(plant, m[1].lower(), m[2].strip())
            else:
                raise PlantError(f"{path.name}:{number}: unknown header '{m[1]}'")
    texts = [(kind, "\n".join(lines)) for kind, lines in sections]
    if texts and texts[-1][0] == "model":
        plant.model = texts.pop()[1]
    if not texts or [kind for kind, _ in texts] != ["replace", "by"] * (len(texts) // 2):
        raise PlantError(f"{path.name}: wants pairs of '=== replace' and '=== by', then perhaps '=== model'")
    plant.edits = [(texts[i][1], texts[i + 1][1]) for i in range(0, len(texts), 2)]
    if not all(SWITCH.search(new) for _, new in plant.edits):
        raise PlantError(f"{path.name}: each '=== by' asks PLANTED whether the defect is wanted")
    if not plant.file or bool(plant.golden) == bool(plant.unit):
        raise PlantError(f"{path.name}: wants FILE, and GOLDEN or UNIT")
    if (plant.bisect is None) != (not plant.model) or (plant.bisect and len(plant.bisect) != 2):
        raise PlantError(f"{path.name}: 'BISECT: PASS, PLACE' and '=== model' go together")
    return plant


def read_all(only=""):
    return [read(p) for p in sorted(HERE.glob("*.txt")) if only in p.stem]


def places_of(plant, source, switch):
    """(begin, end, new text, plant) of each edit; PlantError when a place is gone or not the only one."""
    for old, new in plant.edits:
        found = occurrences(source, old)
        if len(found) != 1:
            raise PlantError(f"plant {plant.name}: {plant.file} holds this code {len(found)} times:\n{old}")
        yield *found[0], SWITCH.sub(lambda _: switch, new), plant


def apply(plants, source):
    """The source text with the defects of {plant: the expression of its switch}."""
    places = sorted(
        (place for plant, switch in plants.items() for place in places_of(plant, source, switch)),
        key=lambda place: place[0],
        reverse=True,
    )
    after = len(source)
    for begin, end, new, plant in places:
        if end > after:
            raise PlantError(f"plant {plant.name}: another one has a part of its place in {plant.file}")
        source, after = source[:begin] + new + source[end:], begin
    return source


def by_file(plants):
    """{file: {plant: its number}}, from 1 on."""
    found = defaultdict(dict)
    for number, plant in enumerate(plants, 1):
        found[plant.file][plant] = number
    return found


def has_unit_test(name):
    suite, test = name.split(".")
    written = re.compile(rf"^TEST(_F)?\({suite}, {test}\)", re.M)
    return any(written.search(p.read_text()) for p in (ROOT / "tests/unit").glob("*.cpp"))


def check_places(file, plants):
    """PlantError unless the source of some plants, their places in it and their tests exist."""
    path = ROOT / file
    for plant in plants:
        if not path.is_file():
            raise PlantError(f"plant {plant.name}: there is no file {file}")
        if plant.unit and not has_unit_test(plant.unit):
            raise PlantError(f"plant {plant.name}: there is no unit test {plant.unit}")
        if plant.golden and not (ROOT / "tests/golden" / f"{plant.golden}.txt").is_file():
            raise PlantError(f"plant {plant.name}: there is no golden case {plant.golden}")
    apply(dict.fromkeys(plants, "true"), path.read_text())


def self_test():
    """Checks the matching itself on texts whose answer is known; AssertionError when it is wrong."""
    source = "if (a ||\n    b)  // why\n  return true;\nint aa = 1'000; char c = '\\''; f(\"if (a)\");\n"

    def count(text):
        return len(occurrences(source, text))

    assert count("if (a || b) return true;") == 1, "layout and comments must not count"
    assert count("if(a||b)return true;") == 1
    assert count("a") == 1, "a word is a token: neither a part of a word nor of a string"
    assert count("why") == 0, "comments must not match"
    assert count("1000") == 0 and count("1'000") == 1
    assert count("if (a && b)") == 0 and count("") == 0
    assert count(";") == 4
    first = Plant("q", "f.cpp", edits=[("int aa = 1'000;", ""), ("b", "PLANTED ? 'p' : b")])
    second = Plant("r", "f.cpp", edits=[("char c", "char PLANTED_")])
    planted = apply({first: "on(1)", second: "on(2)"}, source)
    wanted = source.replace("int aa = 1'000;", "").replace("    b)", "    on(1) ? 'p' : b)")
    assert planted == wanted.replace("char c", "char PLANTED_"), planted
    for bad in ("gone", ";", "return true; int", "1'000;"):
        try:
            apply({first: "true", Plant("p", "f.cpp", edits=[(bad, "")]): "true"}, source)
        except PlantError as e:
            assert "plant " in str(e) and "f.cpp" in str(e)
        else:
            raise AssertionError(f"{bad!r} must be refused")
