"""Dependencies point one way: reads every #include and compares it with the table below. And no two types of
the headers have one name: no compiler sees both. The types in the glossary of docs/architecture.md are where
it says.

The layers are static libraries, so a wrong include would often still link; and Debian's protobuf headers lie
in /usr/include, where no include path can hide them.
"""

import pathlib
import re
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]

# What each layer may include beside itself and the public headers (include/graphopt).
MAY_INCLUDE = {
    "support": [],
    "partition": ["support"],
    "schedule": ["support"],
    "execution": ["support", "schedule"],
    "ir": ["support"],
    "ops": ["support", "ir"],
    "infer": ["support", "ir", "ops"],
    "onnx": ["support", "ir", "ops"],
    "rewrite": ["support", "ir", "ops", "infer"],
    "shapes": ["support", "ir", "ops", "infer", "onnx"],
    "buckets": ["support", "ir", "ops", "infer", "onnx", "rewrite", "shapes"],
    "draft": ["support", "ir", "ops", "infer", "rewrite"],
    "regions": ["support", "ir", "ops", "infer", "rewrite", "draft"],
    "devices": ["support", "ir", "ops", "infer"],
    "mapping": ["support", "ir", "ops", "infer"],
    "hoist": ["support", "ir", "ops", "infer", "rewrite", "draft", "regions"],
    "passes": ["support", "ir", "ops", "infer", "rewrite", "draft", "regions", "hoist"],
    "runtime": ["support", "ir", "ops", "infer", "onnx", "rewrite"],
    "reduce": ["support", "ir", "ops", "infer", "onnx", "shapes"],
    "numeric": ["support", "ir", "ops", "infer", "onnx", "runtime", "mapping"],
    "placement": ["support", "ir", "ops", "infer", "onnx", "rewrite", "devices", "partition"],
    "lower": ["support", "ir", "ops", "infer", "rewrite", "passes", "devices", "placement"],
    "deploy": ["support", "ir", "ops", "infer", "onnx", "rewrite", "devices", "partition"]
    + ["placement", "schedule", "buckets", "regions"],
    "runner": ["support", "ir", "infer", "onnx", "buckets", "schedule", "execution", "deploy", "runtime"]
    + ["devices"],
    "options": ["support", "passes"],
    "folding": ["support", "ir", "ops", "infer", "onnx", "rewrite", "shapes", "passes", "runtime"],
    "exports": ["support", "ir", "infer", "onnx", "shapes", "deploy", "options"],
    "driver": ["support", "ir", "ops", "infer", "onnx", "shapes", "rewrite", "buckets", "draft"]
    + ["regions", "hoist", "passes", "options", "folding", "runtime", "partition", "placement"]
    + ["deploy", "exports", "devices", "lower"],
    "batch": ["support", "onnx", "options", "devices", "deploy", "exports", "driver"],
    "commands": ["support", "ir", "ops", "infer", "onnx", "shapes", "regions", "runtime", "reduce"]
    + ["devices", "deploy", "driver", "runner", "execution", "mapping", "numeric"],
}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
NAMESPACE = re.compile(r"namespace ([\w:]+) \{$")
TYPE = re.compile(r"(?:class|struct|union|enum class|enum) (\w+)(?: final)?(?: : [^{;]*)? \{")
# Layers in which nodes of the standard are made by one builder, and how they would make one by themselves.
USE_BUILDER = ("rewrite", "draft", "hoist", "buckets", "passes")
BUILDER = "src/rewrite/build.cpp"
NEW_NODE = re.compile(r"\.add_node(_like)?\(")
FOREIGN = re.compile(r"^(onnx/.*|google/protobuf/.*)$")


def sees_protobuf(path: pathlib.PurePath) -> bool:
    """The layers beside a file that may see the headers of onnx and protobuf."""
    return path.parts[:2] == ("src", "onnx") or (
        path.parts[:2] == ("src", "infer") and path.stem.startswith("onnx_")
    )


def problems_of(path: pathlib.PurePath, text: str) -> list[str]:
    """What is wrong with the includes of one file; its path is relative to the tree."""
    found = []
    layer = path.parts[1] if path.parts[0] == "src" else None
    for number, line in enumerate(text.splitlines(), 1):
        if layer in USE_BUILDER and str(path) != BUILDER and NEW_NODE.search(line):
            found.append(f"{path}:{number}: makes a node by itself: rewrite/build.h has functions for that")
        match = INCLUDE.match(line)
        if not match:
            continue
        kind, name = match.groups()
        where = f"{path}:{number}: includes '{name}'"
        first = name.split("/")[0]
        # "onnx/x.h" is our layer when src/onnx has x.h; onnx's own headers are included with <>.
        ours = kind == '"' and (first in MAY_INCLUDE and (TOP / "src" / name).is_file())
        if FOREIGN.match(name) and not ours:
            if not sees_protobuf(path):
                found.append(f"{where}: only src/onnx and src/infer/onnx_* see onnx and protobuf")
            elif kind == '"':
                found.append(f"{where}: headers of others are included with <>")
        elif ours and layer is None:
            found.append(f"{where}: only headers of include/graphopt are public")
        elif ours and name == "ir/reader_access.h" and layer not in ("ir", "onnx"):
            found.append(f"{where}: a model that is read is changed by its mutators alone")
        elif ours and first != layer and first not in MAY_INCLUDE[layer]:
            found.append(f"{where}: {layer} may use {', '.join(MAY_INCLUDE[layer]) or 'no other layer'}")
        elif path.parts[0] == "include" and kind == '"' and first != "graphopt":
            found.append(f"{where}: a public header needs public headers only")
    return found


def types_of(text: str) -> list[str]:
    """The types that a header defines in a namespace, with its name."""
    text = re.sub(r"//[^\n]*", "", text)
    found, namespaces = [], []
    for line in text.splitlines():
        if match := NAMESPACE.match(line):
            namespaces.append(match[1])
        elif match := TYPE.match(line):
            found.append("::".join([*namespaces, match[1]]))
        elif line.startswith("}  "):
            namespaces = namespaces[:-1]
    return found


def same_names(types: dict[str, set[str]]) -> list[str]:
    """Types that more than one header defines; `types` has the headers of each."""
    return [f"{name} is defined in {' and '.join(sorted(at))}" for name, at in types.items() if len(at) > 1]


# A type in the glossary of docs/architecture.md: `Type`, `the end of its header's path`.
TERM = re.compile(r"`(\w+)`, `([\w/]+\.h)`")


def unknown_terms(page: str, types: dict[str, set[str]]) -> list[str]:
    """Types in the glossary that no header of that path defines; `types` has the headers of each."""
    glossary = page.split("\n## Glossary\n")[1].split("\n## ")[0]
    found = []
    rows = [row for row in glossary.splitlines() if row.startswith("| **")]
    for row in rows:
        terms = TERM.findall(row.split(" | ")[-1])
        if not terms:
            found.append(f"docs/architecture.md: no type in '{row[:40]}...'")
        for name, path in terms:
            headers = [at for known, ats in types.items() if known.split("::")[-1] == name for at in ats]
            if not any(at.endswith("/" + path) for at in headers):
                found.append(f"docs/architecture.md: {path} defines no type {name}")
    return found if rows else ["docs/architecture.md: no glossary"]


def self_test() -> None:
    """The rules above, each broken once."""
    header = "namespace graphopt {{\nenum class {} : std::uint8_t {{ None }};\n}}\n"
    two = {name: {"a.h", "b.h"} for name in types_of(header.format("Refusal"))}
    assert same_names(two) == ["graphopt::Refusal is defined in a.h and b.h"], two
    assert not types_of("namespace graphopt {\nclass Model;\nstruct Model::State {\n};\n}\n")
    term = "\n## Glossary\n\n| **part** | nodes | {} |\n\n## Next\n"
    known = {"graphopt::ModelPart": {"src/ir/part.h"}}
    assert not unknown_terms(term.format("`ModelPart`, `ir/part.h`"), known)
    for wrong in ("`Part`, `ir/part.h`", "`ModelPart`, `ir/parts.h`", "none"):
        assert unknown_terms(term.format(wrong), known), f"not noticed: {wrong}"
    any_of = {
        layer: next((f"{layer}/{h.name}" for h in sorted((TOP / "src" / layer).glob("*.h"))), None)
        for layer in MAY_INCLUDE
    }
    bad = [
        ("src/support/x.cpp", "#include <google/protobuf/message.h>"),
        ("src/infer/rules.cpp", "#include <onnx/defs/schema.h>"),
        ("src/ops/x.h", '#include "onnx/onnx_pb.h"'),
        ("src/onnx/x.cpp", '#include "onnx/onnx_pb.h"'),
        ("src/passes/x.cpp", '#include "ir/reader_access.h"'),
        ("src/passes/x.cpp", "  const NodeId n = m.add_node(g, op, operands, results, before);"),
        ("src/draft/x.cpp", "  return m_.add_node_like(g, standard_op(m_, OpKind::Neg), in, 1, base);"),
    ]
    good = [
        ("src/onnx/x.cpp", "#include <onnx/onnx_pb.h>"),
        ("src/infer/onnx_context.h", "#include <onnx/defs/schema.h>"),
        ("tools/graphopt/main.cpp", '#include "graphopt/version.h"'),
        ("src/ir/x.cpp", "// #include <onnx/onnx_pb.h>"),
        ("src/onnx/x.cpp", '#include "ir/reader_access.h"'),
        (BUILDER, "  const NodeId n = m.add_node(g, op, operands, results, before);"),
        ("src/passes/x.cpp", "  m.add_node_as(like, g, operands, results, before);"),
        ("src/reduce/x.cpp", "  m.add_node(g, op, operands, results, before);"),
    ]
    for layer, header in any_of.items():
        if header:
            bad.append(("tools/graphopt/main.cpp", f'#include "{header}"'))
            for user, allowed in MAY_INCLUDE.items():
                fine = user == layer or layer in allowed
                (good if fine else bad).append((f"src/{user}/x.cpp", f'#include "{header}"'))
    for path, line in bad:
        assert problems_of(pathlib.PurePath(path), line), f"not noticed: {path}: {line}"
    for path, line in good:
        assert not problems_of(pathlib.PurePath(path), line), f"wrongly refused: {path}: {line}"


def main() -> int:
    self_test()
    problems, count, types = [], 0, {}
    most = 600  # lines of a file (CONTRIBUTING.md)
    for folder in ("src", "include", "tools"):
        for path in sorted((TOP / folder).rglob("*")):
            if path.suffix in (".h", ".cpp", ".inc"):
                count += 1
                problems += problems_of(path.relative_to(TOP), path.read_text())
                if (lines := len(path.read_text().splitlines())) > most:
                    problems.append(f"{path.relative_to(TOP)}: {lines} lines, at most {most}")
            if path.suffix == ".h" and folder != "tools":
                for name in types_of(path.read_text()):
                    types.setdefault(name, set()).add(str(path.relative_to(TOP)))
    problems += same_names(types)
    problems += unknown_terms((TOP / "docs" / "architecture.md").read_text(), types)
    for folder in sorted(p.name for p in (TOP / "src").iterdir() if p.is_dir()):
        if folder not in MAY_INCLUDE:
            problems.append(f"src/{folder}: a layer without a line in {pathlib.Path(__file__).name}")
    print("\n".join(problems) or f"{count} files: every include points the right way; {len(types)} types")
    return 1 if problems or count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
