"""--explain: one pass, all passes, one node; in the table and in the report."""

import json
import re
import sys

from onnx import TensorProto, helper

from _tool import USAGE, expect, main, model, refused, saved


def small():
    """Two Identities that stay, and a Split of which only one result is read."""
    nodes = [
        helper.make_node("Identity", ["x"], ["y"], "first"),
        helper.make_node("Identity", ["w"], ["z"], "second"),
        helper.make_node("Split", ["x"], ["a", "b"], "cut", axis=1, num_outputs=2),
        helper.make_node("Relu", ["a"], ["r"], "relu"),
    ]

    def value(name, width=4):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, width])

    graph = helper.make_graph(nodes, "g", [value("x"), value("w")], [value("y"), value("z"), value("r", 2)])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def run(tool, folder, *words, m=None):
    """(what the report explains, what is printed)"""
    report = folder / "r.json"
    done = tool(saved(folder, m or small()), "--report", report, *words)
    expect(done.returncode == 0, words, done.stderr)
    return json.loads(report.read_text())["explain"], done.stdout.decode()


def listed(entries):
    return sorted((e["pass"], e["kind"], e["value"]) for e in entries)


IDENTITIES = [("drop-identity", "identity", "y"), ("drop-identity", "identity", "z")]
SPLIT = ("drop-unused-outputs", "unused-output", "a")


def test_one_pass(tool, folder):
    entries, text = run(tool, folder, "--explain", "drop-identity")
    expect(listed(entries) == IDENTITIES, entries)
    expect(set(entries[0]) == {"pass", "kind", "reason", "place", "node", "op", "value"}, entries[0])
    expect("'first' (Identity)" in entries[0]["place"], entries[0])
    expect((entries[0]["node"], entries[0]["op"]) == ("first", "Identity"), entries[0])
    lines = text[text.index("  drop-identity\n") :].splitlines()[1:3]
    cells = [re.split("  +", line.strip()) for line in lines]
    expect(cells[0] == ["refused", "operator", "node", "reason"], lines)
    reason = "the operand cannot take the place of the result"
    expect(cells[1] == ["identity", "Identity", "first", reason], lines)
    expect(lines[0].index("reason") == lines[1].index(reason), lines)
    entries, text = run(tool, folder, "--explain", "inline-if")
    expect(entries == [] and "  no candidates\n" in text, entries, text)
    entries, text = run(tool, folder)
    expect(entries == [] and "refused" not in text, entries, text)


def test_all_passes(tool, folder):
    entries, text = run(tool, folder, "--explain", "all")
    found = listed(entries)
    expect(set(IDENTITIES) < set(found) and SPLIT in found, found)
    expect(len(set(found)) == len(found), "a node counts once per rule:", found)
    expect(text.index("\n  drop-identity\n") < text.index("\n  drop-unused-outputs\n"), text)
    two, _ = run(tool, folder, "--explain", "drop-unused-outputs,drop-identity")
    expect(listed(two) == [*IDENTITIES, SPLIT], two)


def test_one_node(tool, folder):
    for item, wanted in [
        ("drop-identity:second", [IDENTITIES[1]]),
        ("drop-identity:z", [IDENTITIES[1]]),
        ("drop-identity:first,drop-identity:z", IDENTITIES),
        ("drop-unused-outputs:cut", [SPLIT]),
        ("drop-unused-outputs:b", [SPLIT]),
        ("drop-unused-outputs:first", []),
        ("drop-identity:nowhere", []),
    ]:
        entries, text = run(tool, folder, "--explain", item)
        expect(listed(entries) == wanted, item, entries)
        expect(wanted or "  no candidates\n" in text, item, text)
    path = folder / "m.onnx"
    done = tool(path, "--explain", "all:cub")
    expect("no node or result 'cub'; did you mean 'cut'" in done.stderr, done.stderr)
    for name in ("z", "main/#4.then_branch/z"):  # a node of a body, as the table writes it
        expect("no node" not in tool(path, "--explain", f"all:{name}").stderr, name)
    entries, _ = run(tool, folder, "--explain", "all:cut")
    found = listed(entries)
    expect(SPLIT in found and all(value == "a" for _, _, value in found), found)


def test_the_last_run_counts(tool, folder):
    # The first Identity is refused by nothing, and const is folded: neither is there in the end.
    entries, _ = run(tool, folder, "--explain", "all", m=model())
    expect(not {"i", "c"} & {e["value"] for e in entries}, entries)


def test_a_pass_that_did_not_run(tool, folder):
    """A pass that is named and left out is said, with the option that leaves it out."""
    path = saved(folder, small())
    for words, *parts in [
        (["--passes", "fold-affine", "-O1"], "--passes: pass 'fold-affine' did not run", "rounds", "-O1"),
        (["--passes", "fold-affine,compose", "--exact"], "'fold-affine' did not run", "--exact"),
        (["--explain", "merge-matmuls"], "--explain: pass 'merge-matmuls' did not run", "from -O3 on"),
        (["--explain", "compose:y", "--passes", "dead-code"], "'compose' did not run", "--passes"),
        (["--explain", "compose", "--disable-pass", "compose"], "'compose' did not run", "--disable-pass"),
    ]:
        done = tool(path, *words)
        expect(done.returncode == 0 and done.stderr.count("did not run") == 1, words, done.stderr)
        for part in parts:
            expect(part in done.stderr, part, done.stderr)
    for words in (["--explain", "all", "-O1"], ["--passes", "raise-shuffles,compose", "-O1"]):
        expect("did not run" not in tool(path, *words).stderr, words)


def test_the_same_result(tool, folder):
    outs = []
    for i, words in enumerate([[], ["--explain", "all"]]):
        out = folder / f"o{i}.onnx"
        done = tool("-q", saved(folder, small()), "-o", out, *words)
        expect(done.returncode == 0, done.stderr)
        outs.append(out.read_bytes())
    expect(outs[0] == outs[1], "--explain changes the result")


def test_wrong_words(tool, folder):
    path = saved(folder)
    for word, parts in [
        ("drop-identitty", ["'drop-identitty' is not a pass", "did you mean 'drop-identity'?"]),
        ("drop-identity,nonsense:y", ["'nonsense' is not a pass"]),
        ("al", ["'al' is not a pass", "'all'"]),
        ("drop-identity:", ["'drop-identity:' names no node"]),
        ("", ["--explain"]),
    ]:
        refused(tool(path, "--explain", word), USAGE, *parts)


if __name__ == "__main__":
    sys.exit(main(globals()))
