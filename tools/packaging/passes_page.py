"""Writes docs/passes.md, the page of all passes, from what the sources say of each.

passes_page.py GRAPHOPT [--check]

--check writes nothing, and ends with status 1 when the page is not what would be written. A pass's part has
  its name, levels and line of help   from `graphopt --list-passes`
  its group and place in the order    from src/passes/registry.cpp
  what it does, why, what it assumes  from the head of its file in src/passes: the first sentence, "Problem:"
                                      and "Assumes:"
  what it may change                  from the table in docs/rounding.md
  an example                          from the case below tests/golden/<pass> with a line "# EXAMPLE: text"

It needs Python's onnx.
"""

import pathlib
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass

import onnx
import onnx.numpy_helper
import onnx.parser

TOP = pathlib.Path(__file__).resolve().parents[2]
PAGE = TOP / "docs" / "passes.md"
SECTIONS = ("Problem", "Method", "Exact", "Assumes", "Rounds", "Lowers", "Ends", "Left alone")
WIDTH = 110
MOST_ELEMENTS = 8  # longer constants are shown without their elements

INTRO = """\
# Passes

<!-- Written by tools/packaging/passes_page.py from the passes' sources and golden cases. Do not edit. -->

A pass looks for one kind of waste in a graph and removes it. This page shows all {count} passes, in the
order in which they run. They run again and again until none of them changes the model; the two searches
wait until the passes before them have nothing left to do.

- **Level**: a pass runs from this level on (`-O1`, `-O2`, `-O3`). `-O2` is the default.
- **Results**: exact means that every bit of every result stays, NaN and the sign of zeros included, for
  all inputs that the model accepts. Where floats may round differently, the bound is given: u is the
  rounding unit of the element type (float: 2^-24), n the number of terms in a sum.
  [Rounding](rounding.md) has the same bounds in one table, and two exceptions for all passes: float16 on
  some CPUs and, at `-O2`, operands that become constants.
- **Order**: why the pass runs where it does.
- **Example**: a model before and after the pass, from its tests, in ONNX's text syntax: first the inputs
  and outputs, then constants in angle brackets, then nodes. Not shown: constants that nothing reads, and
  the elements of long ones.

`--passes LIST` runs these passes alone, `--disable-pass NAME` leaves one out, `--explain PASS` says why
it left a node as it is. [Adding a pass](adding-a-pass.md) says how to write one.
"""


class SourceError(Exception):
    """A source does not say what the page needs."""


@dataclass(frozen=True)
class Pass:
    name: str
    level: str  # "-O1"
    rounds: str  # "-O2", or "never"
    summary: str

    @property
    def file(self):
        return TOP / "src" / "passes" / f"{self.name.replace('-', '_')}.cpp"


def listed(binary):
    """The passes in the order of --list-passes."""
    done = subprocess.run([binary, "--list-passes"], check=True, capture_output=True, text=True, timeout=60)
    lines = done.stdout.split("\n\n")[0].splitlines()[2:]  # below the head
    return [Pass(*line.split(maxsplit=3)) for line in lines]


def registered():
    """(group, [(name, place in the order, or "")]) of each group of src/passes/registry.cpp."""
    text = (TOP / "src" / "passes" / "registry.cpp").read_text(encoding="utf-8")
    groups = []
    for line in text.split("kPasses[] = {")[1].split("\n};")[0].splitlines():
        line = line.strip()
        if line.startswith("// Group: "):
            groups.append((line.removeprefix("// Group: "), []))
        elif entry := re.fullmatch(r"&(\w+),(?: +// (.*))?", line):
            if not groups:
                raise SourceError(f"registry.cpp: {entry[1]} has no group")
            groups[-1][1].append((entry[1].replace("_", "-"), entry[2] or ""))
        elif line.startswith("// "):
            if not groups or not groups[-1][1]:
                raise SourceError(f"registry.cpp: '{line}' belongs to no pass")
            name, place = groups[-1][1].pop()
            groups[-1][1].append((name, f"{place} {line[3:]}"))
    return groups


def head_of(one):
    """The parts of the comment at the top of a pass's file: "" the first sentence, then by section."""
    lines = []
    for line in one.file.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[2:].strip())
    pieces = re.split(rf"(?:^|(?<=\s))({'|'.join(SECTIONS)}): ", " ".join(lines))
    parts = {"": pieces[0].strip()}
    parts.update((name, " ".join(text.split())) for name, text in zip(pieces[1::2], pieces[2::2]))
    if not parts[""].startswith(f"{one.name}: ") or "Problem" not in parts:
        raise SourceError(f"{one.file.name}: the head does not begin with '{one.name}: ', then 'Problem: '")
    parts[""] = parts[""].removeprefix(f"{one.name}: ")
    if ("Strictness::Assuming" in one.file.read_text(encoding="utf-8")) != ("Assumes" in parts):
        raise SourceError(
            f"{one.file.name}: 'Assumes:' in the head, where a rule asks for Strictness::Assuming"
        )
    return parts


def bounds():
    """(what may change, by at most what, what else) of each pass in docs/rounding.md."""
    page = (TOP / "docs" / "rounding.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([a-z-]+)` \| `-O\d`[^|]*\| (.*) \|$", page, re.MULTILINE)
    return {name: [cell.strip() for cell in re.split(r"(?<!\\) \| ", rest)] for name, rest in rows}


def sentence(text):
    """The text as a sentence of its own."""
    return (text[:1].upper() + text[1:]).rstrip(". ") + "."


def results_of(one, bound, head):
    """Lines: what happens to the bits of results."""
    if one.rounds == "never":
        yield "- Results: exact."
    else:
        change, most, more = (cell.replace("\\|", "|") for cell in bound[one.name])
        if one.level == one.rounds:
            yield "- Results: not exact; `--exact` leaves the pass out."
        else:
            yield f"- Results: exact below `{one.rounds}` and with `--exact`. Else:"
        yield f"  - may change: {change}"
        if most not in ("nothing", "0", "-"):
            yield f"  - by at most: {most}"
        if more != "-":
            yield f"  - besides: {more}"
    if "Assumes" in head:
        yield f"- Assumes: {head['Assumes']}"


# --- examples -----------------------------------------------------------------------------------------------


def type_text(t):
    kind = t.WhichOneof("value")
    if kind == "sequence_type":
        return f"seq({type_text(t.sequence_type.elem_type)})"
    if kind == "optional_type":
        return f"optional({type_text(t.optional_type.elem_type)})"
    name = onnx.TensorProto.DataType.Name(t.tensor_type.elem_type).lower()
    if not t.tensor_type.HasField("shape"):
        return name
    dims = [
        str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?" for d in t.tensor_type.shape.dim
    ]
    return f"{name}[{','.join(dims)}]" if dims else name


def number(x):
    return (
        str(x).lower()
        if str(x) in ("True", "False")
        else f"{x:.7g}"
        if "float" in type(x).__name__
        else str(x)
    )


def tensor_text(t, name=""):
    kind = onnx.TensorProto.DataType.Name(t.data_type).lower()
    dims = f"[{','.join(map(str, t.dims))}]" if t.dims else ""
    elements = onnx.numpy_helper.to_array(t).ravel().tolist()
    shown = ", ".join(map(number, elements)) if len(elements) <= MOST_ELEMENTS else "..."
    return f"{kind}{dims} {name + ' = ' if name else ''}{{{shown}}}"


def attribute_text(a):
    values = {
        onnx.AttributeProto.INT: lambda: str(a.i),
        onnx.AttributeProto.FLOAT: lambda: number(a.f),
        onnx.AttributeProto.STRING: lambda: f'"{a.s.decode()}"',
        onnx.AttributeProto.INTS: lambda: f"[{', '.join(map(str, a.ints))}]",
        onnx.AttributeProto.FLOATS: lambda: f"[{', '.join(map(number, a.floats))}]",
        onnx.AttributeProto.TENSOR: lambda: tensor_text(a.t),
    }
    if a.type not in values:
        raise SourceError(f"an attribute '{a.name}' of a type that the page does not show")
    return f"{a.name} = {values[a.type]()}"


def node_lines(node, indent):
    bodies = [a for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]
    plain = [a for a in node.attribute if a.type != onnx.AttributeProto.GRAPH]
    results, operands = (", ".join(v or '""' for v in side) for side in (node.output, node.input))
    name = f"{node.domain}.{node.op_type}" if node.domain else node.op_type
    attributes = f" <{', '.join(attribute_text(a) for a in plain)}>" if plain else ""
    yield f"{indent}{results} = {name}{attributes} ({operands})"
    for body in bodies:
        inputs = ", ".join(v.name for v in body.g.input)
        yield f"{indent}  {body.name}: ({inputs}) => ({', '.join(v.name for v in body.g.output)})"
        yield from graph_lines(body.g, indent + "    ")


def reads_of(graph):
    """The names that nodes and outputs of a graph and of its bodies read."""
    names = {v.name for v in graph.output}
    for node in graph.node:
        names.update(node.input)
        for a in node.attribute:
            names.update(reads_of(a.g) if a.type == onnx.AttributeProto.GRAPH else ())
    return names


def graph_lines(graph, indent):
    reads = reads_of(graph)
    for t in graph.initializer:
        if t.name in reads:
            yield f"{indent}<{tensor_text(t, t.name)}>"
    for node in graph.node:
        yield from node_lines(node, indent)


def model_lines(model, title):
    values = [
        ", ".join(f"{type_text(v.type)} {v.name}" for v in side)
        for side in (model.graph.input, model.graph.output)
    ]
    yield f"{title} ({values[0]}) => ({values[1]})"
    yield from graph_lines(model.graph, "  ")
    for f in model.functions:
        yield f"  {f.domain}.{f.name}: ({', '.join(f.input)}) => ({', '.join(f.output)})"
        for node in f.node:
            yield from node_lines(node, "    ")


def example_of(one):
    """(what it is, path of the case, lines) of the pass's example."""
    folder = TOP / "tests" / "golden" / one.name
    found = []
    for path in sorted(folder.rglob("*.txt")):
        text = path.read_text(encoding="utf-8")
        if title := re.search(r"^# EXAMPLE: (.+)$", text.split("\n=== before")[0], re.MULTILINE):
            found.append((title[1], path, text))
    if len(found) != 1:
        raise SourceError(
            f"tests/golden/{one.name}: {len(found)} cases have a line '# EXAMPLE: text', not one"
        )
    title, path, text = found[0]
    parts = re.fullmatch(r".*?^=== before\n(.*)^=== after\n(.*)", text, re.MULTILINE | re.DOTALL)
    if not parts:
        raise SourceError(f"{path.relative_to(TOP)}: an example shows what changes, and has a part 'after'")
    models = [onnx.parser.parse_model(part) for part in parts.groups()]
    lines = [line for m, title in zip(models, ("before", "after ")) for line in model_lines(m, title)]
    return title, path, lines


# --- the page -----------------------------------------------------------------------------------------------


def wrapped(text):
    """The text in lines of at most WIDTH characters, if it is a paragraph or an entry of a list."""
    if text.startswith(("#", "```")):
        return text
    end = "\n" if text.endswith("\n") else ""
    indent = re.match(r" *(?:- )?", text)[0]
    lines = textwrap.wrap(
        text.strip(),
        WIDTH - len(indent),
        break_long_words=False,
        break_on_hyphens=False,
    )
    return indent.replace("- ", "") + ("\n" + " " * len(indent)).join(lines) + end


def part_of(one, place, bound):
    head = head_of(one)
    title, path, lines = example_of(one)
    case = path.relative_to(TOP)
    yield f"### `{one.name}`\n"
    yield f"{sentence(head[''])}\n"
    yield f"{sentence(head['Problem'])}\n"
    yield f"- Level: from `{one.level}` on."
    yield from results_of(one, bound, head)
    if place:
        yield f"- Order: it runs {place.rstrip('.')}."
    source = one.file.relative_to(TOP)
    yield f"- Source: [{one.file.name}](../{source}), [cases](../tests/golden/{one.name})\n"
    yield f"Example: {title} ([the case](../{case}))\n"
    yield "```text\n" + "\n".join(lines) + "\n```\n"


def page(binary):
    """Returns the page. SourceError: a source lacks something."""
    passes = {one.name: one for one in listed(binary)}
    groups = registered()
    if [name for _, part in groups for name, _ in part] != list(passes):
        raise SourceError("registry.cpp lists other passes than --list-passes; build the tool")
    bound = bounds()
    out = [INTRO.format(count=len(passes))]
    for group, part in groups:
        out.append(f"| {group} | from | rounds | |\n|---|---|---|---|")
        for one in (passes[name] for name, _ in part):
            rounds = one.rounds if one.rounds == "never" else f"from `{one.rounds}`"
            out.append(f"| [`{one.name}`](#{one.name}) | `{one.level}` | {rounds} | {one.summary} |")
        out.append("")
    for group, part in groups:
        out.append(f"## {group}\n")
        for name, place in part:
            out += map(wrapped, part_of(passes[name], place, bound))
    return "\n".join(out).rstrip() + "\n"


def main(words):
    if not words or words[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    try:
        text = page(words[0])
    except SourceError as e:
        sys.exit(f"passes_page.py: {e}")
    if words[1:]:
        if not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != text:
            sys.exit(f"passes_page.py: {PAGE.relative_to(TOP)} is stale; run this without --check")
        return
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
