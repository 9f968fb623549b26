"""--explain: one pass, all passes, one node; in the table and in the report."""

import json
import re
import sys

from onnx import TensorProto, helper

from _tool import USAGE, expect, main, model, refused, saved
from lib.profiles import profile


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


def placed():
    """A Relu that the device takes, a HardSwish that is lowered, a Celu that nothing lowers, an Identity that
    goes, and a Floor, of which the device takes none with fewer than two nodes in its subgraph."""
    names = [
        ("Relu", "relu"),
        ("HardSwish", "swish"),
        ("Identity", "same"),
        ("Celu", "celu"),
        ("Floor", "floor"),
    ]
    nodes = [helper.make_node(op, [f"v{i}"], [f"v{i + 1}"], name) for i, (op, name) in enumerate(names)]
    values = [helper.make_tensor_value_info(v, TensorProto.FLOAT, [2, 4]) for v in ("v0", f"v{len(names)}")]
    graph = helper.make_graph(nodes, "g", values[:1], values[1:])
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def with_devices(tool, folder, item, *words):
    """(what is said of nodes, what the stage lower says, what is printed)"""
    npu = profile(folder, "Relu", "HardSigmoid", "Mul", "Floor", min_nodes=2)
    report = folder / "r.json"
    path = saved(folder, placed())
    done = tool(path, "--devices", npu, "--explain", item, "--report", report, *words)
    expect(done.returncode == 0, item, done.stderr)
    expect(("no node or result" in done.stderr) == (item == "all:nowhere"), item, done.stderr)
    said = json.loads(report.read_text())
    return (
        said["partition"]["explained"],
        [e for e in said["explain"] if e["pass"] == "lower"],
        (done.stdout.decode()),
    )


def test_where_a_node_is(tool, folder):
    """With devices: the device, and of each device before it the condition that fails."""
    (relu,), lower, text = with_devices(tool, folder, "all:relu")
    expect((relu["device"], relu["subgraph"], relu["refused"]) == ("npu", "s0", []), relu)
    expect(lower == [] and "    relu (Relu): on npu, subgraph s0\n" in text, lower, text)
    for name in ("celu", "v4"):  # the node, or its result
        (celu,), lower, text = with_devices(tool, folder, "all:" + name)
        expect((celu["node"], celu["op"], celu["device"]) == ("celu", "Celu", "cpu"), celu)
        reason = "no rule for Celu: it is not in the profile's sources"
        expect([(r["device"], r["reason"][:16]) for r in celu["refused"]] == [("npu", reason[:16])], celu)
        expect(f"      not on npu:  {celu['refused'][0]['reason']}" in text, text)
        expect([e["reason"] for e in lower] == ["there is no expansion of this operator"], lower)
    (floor,), lower, _ = with_devices(tool, folder, "all:floor")
    expect(floor["device"] == "cpu" and "min_nodes" in floor["refused"][0]["reason"], floor)
    expect(lower == [], "a device supports it", lower)


def test_what_became_of_a_node(tool, folder):
    """With devices: nodes that were lowered, or that passes removed."""
    (swish,), _, text = with_devices(tool, folder, "all:swish")
    expect((swish["op"], swish["device"], swish["lowered_for"]) == ("HardSwish", "", "npu"), swish)
    expect(len(swish["replaced_by"]) == 2 and swish["expansion"] in text, swish, text)
    for made in swish["replaced_by"]:
        (one,), _, text = with_devices(tool, folder, "all:" + made)
        expect((one["device"], one["expansion"]) == ("npu", swish["expansion"]), one)
        expect("part of what was lowered for npu" in text, text)
    (same,), _, text = with_devices(tool, folder, "all:same")
    expect((same["device"], same["replaced_by"], same["expansion"]) == ("", [], ""), same)
    expect("same (Identity): removed by the passes" in text, text)
    expect(with_devices(tool, folder, "all:nowhere")[0] == [], "a node that was never there")


def test_why_nothing_was_lowered(tool, folder):
    """lower, lower:NODE: each expansion, and what is in its way; a warning where nothing may be lowered."""
    nodes, lower, text = with_devices(tool, folder, "lower:swish", "--exact")
    expect(nodes == [] and lower == [] and "  no candidates\n" in text, "it was lowered", lower, text)
    _, lower, _ = with_devices(tool, folder, "lower")
    expect([(e["node"], e["kind"]) for e in lower] == [("celu", "expansion")], lower)
    m = placed()
    m.graph.node[3].op_type = "Gelu"
    report = folder / "r.json"
    words = [saved(folder, m), "--devices", profile(folder, "Relu", "Mul"), "--explain", "lower"]
    done = tool(*words, "--report", report, "--exact")
    found = {e["node"]: e["reason"] for e in json.loads(report.read_text())["explain"]}
    expect(done.returncode == 0 and {"swish", "celu", "floor"} <= set(found), done.stderr, found)
    expect(found["celu"] == "it rounds, which -O1 and --exact do not allow", found)
    expect("refuses what it writes: no rule for HardSigmoid" in found["swish"], found)
    expect("--explain: lower did not run" in tool(*words, "--lower", "never").stderr, "--lower never")
    expect("--explain: lower did not run" in tool(words[0], "--explain", "lower:swish").stderr, "no devices")


def test_the_same_result(tool, folder):
    npu = profile(folder, "Relu", "HardSigmoid", "Mul")
    for m, always in ((small(), []), (placed(), ["--devices", npu, "--parts", "never"])):
        outs = []
        for i, words in enumerate([[], ["--explain", "all,all:celu,lower"]]):
            out = folder / f"o{i}.onnx"
            done = tool("-q", saved(folder, m), "-o", out, *always, *words)
            expect(done.returncode == 0, done.stderr)
            outs.append(out.read_bytes())
        expect(outs[0] == outs[1], "--explain changes the result")


def test_wrong_words(tool, folder):
    path = saved(folder)
    for word, parts in [
        ("drop-identitty", ["'drop-identitty' is not a pass", "did you mean 'drop-identity'?"]),
        ("drop-identity,nonsense:y", ["'nonsense' is not a pass"]),
        ("al", ["'al' is not a pass", "'all'"]),
        ("/layer/Relu", ["'/layer/Relu' is not a pass", "all:NODE"]),
        ("drop-identity:", ["'drop-identity:' names no node"]),
        ("", ["--explain"]),
    ]:
        refused(tool(path, "--explain", word), USAGE, *parts)


if __name__ == "__main__":
    sys.exit(main(globals()))
