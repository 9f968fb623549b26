"""Profiles with one mistake each: the message has the file, the path, what was found and what is allowed."""

import json
import sys

from _tool import INPUT, USAGE, expect, main, refused, saved

HEAD = (
    '"format": "graphopt.device", "version": "1.0", "id": "npu", "kind": "npu", '
    '"profile": {"version": "1", "source": [{"document": "d"}]}'
)


def whole(keys):
    return "{" + HEAD + ", " + keys + "}"


def rule(keys):
    return whole('"rules": [{"op": "Relu"}, {"op": "Conv", ' + keys + "}]")


KINDS = "cpu, gpu, npu, dsp, fpga, other"

# What is wrong: the text of the file, and the lines of the message after "graphopt: error: FILE: ".
WRONG = {
    "no JSON": ("{" + HEAD + ", 'rules': []}", ["line 1, column ", "syntax error", "write JSON"]),
    "a comma too many": (
        whole('"rules": [{"op": "Relu"},]'),
        ["there is a comma before ']'", "remove the comma"],
    ),
    "a comma too many in an object": (
        whole('"rules": [],'),
        ["there is a comma before '}'", "remove the comma"],
    ),
    "an empty file": ("", ["line 1, column 1", "unexpected end of input"]),
    "bytes that are no UTF-8": (
        whole('"rules": [{"op": "Re\xfflu"}]').encode("latin-1"),
        ["line 1, column ", "UTF-8"],
    ),
    "a number that is too large": (whole('"launch_ns": 1e999'), ["line 1, column ", "1e999"]),
    "a key twice": (
        rule('"opset": [1, 2], "opset": [1, 3]'),
        ["rules[1].opset: the key occurs twice in its object", "remove one of both"],
    ),
    "too deep": (whole('"rules": ' + "[" * 60 + "]" * 60), ["more than 32 objects and lists"]),
    "an operator that is left out and has a rule": (
        whole('"rules": [{"op": "Relu"}], "omitted": [{"op": "Relu", "domain": "ai.onnx", "by": "source"}]'),
        ['omitted[0]: "Relu" has a rule', "remove it here, or its rules"],
    ),
    "an operator that is left out twice": (
        whole('"omitted": [{"op": "Relu", "by": "source"}, {"op": "Relu", "by": "converter"}]'),
        ['omitted[1]: found "Relu" a second time', "name each operator once"],
    ),
    "nobody left it out": (
        whole('"omitted": [{"op": "Relu", "by": "me"}]'),
        ['omitted[0].by: found "me"', "allowed: source, converter"],
    ),
    "qdq that is no truth": (rule('"qdq": "inside"'), ['rules[1].qdq: found "inside"', "true or false"]),
    "an extent below 0": (
        rule('"inputs": [{"index": 0, "extents": [-1, 4]}]'),
        ["rules[1].inputs[0].extents[0]: found -1"],
    ),
    "a list in place of the whole": ("[1]", ["found a list of 1", "allowed: an object with the keys format"]),
    "a key that is missing": (
        '{"format": "graphopt.device", "version": "1.0", "id": "npu", "kind": "npu"}',
        ['the key "profile" is missing', "add it"],
    ),
    "a key that is missing inside": (
        whole('"rules": [{"domain": ""}]'),
        ['rules[0]: the key "op" is missing', "add it"],
    ),
    "a key that is misspelt": (
        rule('"inptus": []'),
        ["rules[1].inptus: there is no such key", "did you mean 'inputs'?", "allowed: op, domain, opset"],
    ),
    "a key that is no name": (
        whole('"a b": 1'),
        ['["a b"]: there is no such key', "allowed: format, version"],
    ),
    "another format": (
        "{" + HEAD.replace("graphopt.device", "graphopt.manifest") + "}",
        ['format: found "graphopt.manifest"', 'allowed: "graphopt.device"'],
    ),
    "a version to come": (
        "{" + HEAD.replace('"version": "1.0"', '"version": "2.0"') + "}",
        ['version: found "2.0"', 'allowed: "1.0"'],
    ),
    "an id with a blank": (
        "{" + HEAD.replace('"id": "npu"', '"id": "my npu"') + "}",
        ['id: found "my npu"', "allowed: 1 to 64 letters"],
    ),
    "a value that is misspelt": (
        "{" + HEAD.replace('"kind": "npu"', '"kind": "nup"') + "}",
        ['kind: found "nup"', f"did you mean 'npu'? allowed: {KINDS}"],
    ),
    "no source": (
        "{" + HEAD.replace('[{"document": "d"}]', "[]") + "}",
        ["profile.source: found a list of 0", "allowed: a list of objects, at least 1"],
    ),
    "a text in place of a number": (
        whole('"min_nodes": "2"'),
        ['min_nodes: found "2"', "allowed: a whole number of at least 1"],
    ),
    "a number that is too small": (
        whole('"max_subgraphs": 0'),
        ["max_subgraphs: found 0", "allowed: a whole number of at least 1, or null"],
    ),
    "a number with a fraction": (
        whole('"memory_bytes": 1.5'),
        ["memory_bytes: found 1.5", "allowed: a whole number of at least 0, or null"],
    ),
    "more than 64 bits": (
        whole('"launch_ns": 18446744073709551615'),
        ["launch_ns: found 18446744073709551615", "allowed: a whole number of at least 0"],
    ),
    "a number in place of true": (whole('"host": 1'), ["host: found 1", "allowed: true or false"]),
    "a range of one number": (
        rule('"opset": [7]'),
        ["rules[1].opset: found a list of 1", "allowed: [least, greatest]"],
    ),
    "a range that is empty": (
        rule('"opset": [13, 7]'),
        ["rules[1].opset: found [13, 7]: no number is in it", "give the least number first"],
    ),
    "a type that does not exist": (
        rule('"inputs": [{"index": 0, "dtypes": ["FLOAT", "FLOT16"]}]'),
        ['rules[1].inputs[0].dtypes[1]: found "FLOT16"', "did you mean 'FLOAT16'"],
    ),
    "a type twice": (
        whole('"dtypes": ["INT8", "INT8"]'),
        ['dtypes[1]: found "INT8" a second time', "name each type once"],
    ),
    "an operand without a number": (
        rule('"inputs": [{"index": "first"}]'),
        ['rules[1].inputs[0].index: found "first"', 'allowed: a whole number of at least 0, or "rest"'],
    ),
    "an operand twice": (
        rule('"outputs": [{"index": 0}, {"index": 0}]'),
        ["rules[1].outputs[1].index: found 0 a second time", "put both conditions into one object"],
    ),
    "a dim without an axis": (
        rule('"inputs": [{"index": 0, "dims": [{"multiple_of": 4}]}]'),
        ['rules[1].inputs[0].dims[0]: the key "axis" is missing', "add it"],
    ),
    "a multiple of nothing": (
        rule('"inputs": [{"index": 0, "dims": [{"axis": 0, "multiple_of": 0}]}]'),
        ["rules[1].inputs[0].dims[0].multiple_of: found 0", "allowed: a whole number of at least 1"],
    ),
    "a value of what is no constant": (
        rule('"inputs": [{"index": 1, "constant": false, "value": {"enum": [0]}}]'),
        ['rules[1].inputs[0]: "value" asks for a constant', "remove one of both"],
    ),
    "a condition without content": (
        rule('"attributes": {"group": {}}'),
        ["rules[1].attributes.group: found no condition", "allowed: enum, range, length, present"],
    ),
    "no choice": (
        rule('"attributes": {"group": {"enum": []}}'),
        [
            "rules[1].attributes.group.enum: found a list of 0",
            "allowed: a list of texts and numbers, at least 1",
        ],
    ),
    "a choice that is no value": (
        rule('"attributes": {"group": {"enum": [1, null]}}'),
        ["rules[1].attributes.group.enum[1]: found null", "allowed: a text or a number"],
    ),
    "absent, and with a value": (
        rule('"attributes": {"group": {"present": false, "range": [1, 1]}}'),
        ["rules[1].attributes.group: what is not present can meet no other condition", "write two rules"],
    ),
    "an atomic kind that does not exist": (
        whole('"atomic": [{"kind": "chian"}]'),
        ['atomic[0].kind: found "chian"', "did you mean 'chain'? allowed: qdq, state"],
    ),
    "a chain of one": (
        whole('"atomic": [{"kind": "chain", "ops": ["Conv"]}]'),
        ["atomic[0].ops: found a list of 1", "allowed: a list of operators, at least 2"],
    ),
    "a provider without a name": (
        whole('"ep": {"options": {}}'),
        ['ep: the key "name" is missing', "add it"],
    ),
    "an option that is no text": (
        whole('"ep": {"name": "X", "options": {"device": 0}}'),
        ["ep.options.device: found 0", "allowed: a text"],
    ),
    "a speed of no type": (
        whole('"cost": {"flops_per_s": {"FP16": 1}}'),
        ['cost.flops_per_s: found "FP16"', "element types"],
    ),
    "a table elsewhere": (
        whole('"cost": {"table": "/etc/passwd"}'),
        ['cost.table: found "/etc/passwd"', "allowed: a path relative to the profile"],
    ),
}


def test_each_mistake_once(tool, folder):
    model = saved(folder)
    for name, (text, parts) in WRONG.items():
        path = folder / "p.json"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        done = tool("devices", "check", path, model)
        try:
            refused(done, INPUT, f"graphopt: error: {path}: ", *parts)
            expect(done.stderr.count("graphopt: error: ") == 1, "more than one message:", done.stderr)
        except AssertionError as e:
            raise AssertionError(f"{name}: {e}") from None


def test_ten_mistakes_at_once(tool, folder):
    path, model = folder / "p.json", saved(folder)
    path.write_text(whole('"rules": [' + ", ".join('{"op": 7}' for _ in range(30)) + "]"))
    done = tool("devices", "check", path, model)
    refused(done, INPUT, "rules[0].op: found 7", "rules[9].op: found 7", "allowed: a text that is not empty")
    expect(done.stderr.count("graphopt: error: ") == 10, done.stderr)
    twice = ", ".join('"min_nodes": 1' for _ in range(30))
    path.write_text(whole(twice))
    done = tool("devices", "check", path, model)
    refused(done, INPUT, "min_nodes: the key occurs twice")
    expect(done.stderr.count("graphopt: error: ") == 10, done.stderr)


def test_operators_that_are_not_there(tool, folder):
    """A rule of a misspelt operator takes nothing: `devices check` and a run warn of it."""
    path, model = folder / "p.json", saved(folder)
    path.write_text(whole('"rules": [{"op": "Relu"}, {"op": "Covn"}, {"op": "MyOwn"}]'))
    said = f"{path}: rules[1]: ai.onnx has no operator 'Covn'; did you mean 'Conv'?"
    expect(said in tool("devices", "check", path, model).stdout.decode(), "devices check")
    done = tool(model, "--devices", path, "--plan")
    expect(done.returncode == 0 and f"graphopt: warning: {said}\n" in done.stderr, done.stderr)
    expect("MyOwn" not in done.stderr, "it may be an operator of a later standard", done.stderr)


def test_hostile_files(tool, folder):
    path, model = folder / "p.json", saved(folder)
    path.write_text("[" * 2_000_000)
    refused(tool("devices", "check", path, model), INPUT, "more than 32 objects and lists")
    path.write_text(" " * (9 << 20))
    refused(tool("devices", "check", path, model), INPUT, "is no device profile", "at most")
    path.write_text(whole('"id": "' + "x" * 100_000 + '"'))
    done = tool("devices", "check", path, model)
    refused(done, INPUT, "the key occurs twice")
    path.write_text("{" + HEAD.replace('"id": "npu"', json.dumps({"id": "\x1b[2J" * 1000})[1:-1]) + "}")
    done = tool("devices", "check", path, model)
    refused(done, INPUT, "id: found ")
    expect(
        "\x1b" not in done.stderr and len(done.stderr) < 1000, "the terminal is driven:", done.stderr[:500]
    )
    refused(tool("devices", "check", folder / "none.json", model), INPUT, "none.json")
    refused(tool("devices", "check", str(folder) + "/", model), INPUT, str(folder))


def test_names(tool, folder):
    model = saved(folder)
    refused(tool("devices", "check", "tensort", model), USAGE, "no device profile 'tensort'", "'tensorrt'")
    refused(tool("devices", "check", "zzzzzzzz", model), USAGE, "device profiles: ", "coreml")
    refused(tool("devices"), USAGE, "no subcommand is named")
    refused(tool("devices", "chekc", "cpu", model), USAGE, "unknown subcommand 'chekc'")
    refused(tool("devices", "check"), USAGE, "no profile is named")
    refused(tool("devices", "check", "cpu"), USAGE, "no model is named")
    refused(tool("devices", "check", "cpu", model, "second"), USAGE, "second")
    refused(tool("devices", "check", "cpu", model, "--jsn"), USAGE, "'--json'")
    refused(tool("devices", "check", "cpu", folder / "none.onnx"), INPUT, "none.onnx")
    refused(tool("devices", "check", "cpu", model, "--dim", "btach=1"), USAGE, "no symbol 'btach'", "'batch'")


if __name__ == "__main__":
    sys.exit(main(globals()))
