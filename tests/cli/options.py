"""The command line: wrong words are answered with near ones, and every option does what --help says."""

import json
import os
import pathlib
import re
import sys
import time

import onnx
from onnx import TensorProto, helper

from _tool import INPUT, OUTPUT, USAGE, dims, expect, main, refused, saved

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_wrong_words(tool, folder):
    path = saved(folder)
    out = folder / "o.onnx"
    for words, parts in [
        (["--fold-limt", "3"], ["unknown option '--fold-limt'", "did you mean '--fold-limit'?"]),
        (["--outptu=x"], ["'--outptu'", "'--output'"]),
        (["--passes", "constant-foldin"], ["'constant-foldin' is not a pass", "did you mean '"]),
        (["--passes", "zzzzzz"], ["passes: "]),
        (["--passes", ""], ["--passes"]),
        (["--disable-pass", "nonsense"], ["'nonsense' is not a pass"]),
        (["--print-after", "nonsense"], ["'nonsense' is not a pass"]),
        (["-O4"], ["'4'", "0, 1, 2"]),
        (["-O"], ["-O"]),
        (["--stop-after", "loda"], ["'loda'", "'load'"]),
        (["--external-data", "allways"], ["'always'"]),
        (["--color", "sometimes"], ["auto, always, never"]),
        (["--fold-limit", "3Q"], ["'3Q' is not a size"]),
        (["--fold-limit", "-1"], ["'-1' is not a size"]),
        (["--fold-limit", "99999999999G"], ["is not a size"]),
        (["--timeout", "0"], ["'0' is not a time"]),
        (["--timeout", "nan"], ["'nan' is not a time"]),
        (["--check=0"], ["'0'"]),
        (["--check=x"], ["'x'"]),
        (["--check-tolerance", "-1"], ["'-1'"]),
        (["--exact=perhaps"], ["--exact"]),
        (["--shape", "x"], ["NAME=N"]),
        (["--shape", "x=1,,3"], ["NAME=N"]),
        (["--shape", "x=1,-2"], ["NAME=N"]),
        (["--dim", "batch"], ["SYMBOL=N"]),
        (["--dim", "batch=5..2"], ["reversed", "2..5"]),
        (["--dim", "batch=5..x"], ["SYMBOL=N"]),
        (["--dim", "batch=-1"], ["SYMBOL=N"]),
        (["--dim", "batch=99999999999999999999"], ["SYMBOL=N"]),
        (["second.onnx"], ["'second.onnx' is a second model", f"graphopt {path} -o second.onnx"]),
        (["--overwrite-input-shape", "x:1,3"], ["'--overwrite-input-shape'", "--shape NAME=1,3,224,224"]),
        (["--input-shapes=x:1,3"], ["'--input-shapes'", "--dim SYMBOL=1"]),
        (["--save-as-external-data"], ["--external-data always"]),
        (["--skip-fuse-bn"], ["--disable-pass fold-affine"]),
        (["--model-check"], ["--check compares"]),
        (["--passes", "drop-noop, ,dead-code"], ["'' is not a pass"]),
        (["--report", "-", "-o", "-"], ["stdout"]),
        (["--dot", "-", "-o", "-"], ["stdout"]),
        (["--dot", "d", "--report", "d"], ["same file"]),
        (["--dot", path], ["--dot", "same file"]),
        (["--report", out, "-o", out], ["-o and --report", "same file"]),
        (["--regions", "function"], ["'function'", "'functions'"]),
    ]:
        refused(tool(path, *words, *([] if "-o" in words else ["-o", out])), USAGE, *parts)
        expect(not out.exists(), words, "wrote something")
    for word in ("--fold-limit", "-o", "-O", "--passes", "--shape", "--report"):
        refused(tool(path, word), USAGE, "its value is missing")
    refused(tool(), USAGE, "no model is named")
    refused(tool("inspct", "m"), USAGE, "unknown subcommand 'inspct'", "did you mean 'inspect'?")
    refused(tool("inspect"), USAGE, "no model is named")
    refused(tool("inspect", "check", path), USAGE, f"'{path}' is a second model")
    refused(tool("inspect", path, "--jsn"), USAGE, "'--json'")


def test_hints_for_people_from_other_tools(tool, folder):
    """Each pass and option that a hint names is there."""
    text = (ROOT / "tools" / "graphopt" / "peer_options.cpp").read_text()
    options, passes = tool("--help").stdout.decode(), tool("--list-passes").stdout.decode()
    named = re.findall(r"(--[a-z0-9_-]+|-O\d)(?: (always|[a-z]+(?:-[a-z]+)+))?", text.split("kShape", 1)[1])
    own = [(o, value) for o, value in named if f'{{"{o}"' not in text]
    expect(len(own) > 10, own)
    for option, value in own:
        expect(option in options or option.startswith("-O"), option)
        expect(option != "--disable-pass" or not value or value in passes, value)


def test_slips(tool, folder):
    """What people type first, and the command that they are told."""
    saved(folder, name="in.onnx")
    for line, *parts in [
        ("in.onnx out.onnx", "graphopt in.onnx -o out.onnx"),
        ("optimize in.onnx", "unknown subcommand 'optimize'", "graphopt IN -o OUT"),
        ("simplify in.onnx out.onnx", "graphopt IN -o OUT"),
        ("info in.onnx", "graphopt inspect IN"),
        ("diff in.onnx in.onnx", "graphopt compare IN OUT"),
        ("check in.onnx", "graphopt IN --check"),
        ("version", "unknown subcommand 'version'", "graphopt --version"),
        ("list-passes", "unknown subcommand 'list-passes'", "graphopt --list-passes"),
        ("list-devices", "graphopt --list-devices"),
        ("help -q", "unknown subcommand 'help'", "graphopt --help"),
        ("help optimize", "help: unknown subcommand 'optimize'", "graphopt IN -o OUT"),
        ("help inspct", "help: unknown subcommand 'inspct'", "did you mean 'inspect'?"),
        ("inspct", "inspct: there is no such file", "did you mean 'inspect'?"),
        ("modle.onnx in.onnx", "'in.onnx' is a second model next to 'modle.onnx'"),
        ("-i in.onnx -o out.onnx", "unknown option '-i'", "graphopt IN -o OUT"),
        ("--input in.onnx", "graphopt IN -o OUT"),
        ("in.onnx --opt-level 2", "-O0 to -O3"),
        ("in.onnx -O4", "values: 0, 1, 2, 3"),
        ("in.onnx --fp16", "stay what they are"),
        ("in.onnx --dims batch=1", "did you mean '--dim'?"),
        ("in.onnx --dim batch:1", "did you mean --dim batch=1?"),
        ("in.onnx --shape x:1,3", "did you mean --shape x=1,3?"),
        ("in.onnx --shape x=1x3", "did you mean --shape x=1,3?"),
        ("in.onnx --shape 1,3", "as in --shape image=1,3,224,224"),
        ("in.onnx --check 5", "--check=5"),
        ("in.onnx --output", "write --output FILE"),
        ("in.onnx -O", "write -O0|1|2|3"),
        ("in.onn", "in.onnx"),
    ]:
        done = tool(*line.split(), cwd=folder)
        expect(done.returncode in (USAGE, INPUT) and "\n  help: " in done.stderr, line, done)
        for part in parts:
            expect(part in done.stderr, line, "lacks", part, done.stderr)
    saved(folder, name="check")  # a model of that name is a model
    expect(tool("check", cwd=folder).returncode == 0)


def test_words_that_are_no_verbs(tool, folder):
    """A first word that is neither a verb nor a file is answered with all verbs."""
    saved(folder, name="in.onnx")
    listed = json.loads(tool("--help=json").stdout)["verbs"]
    verbs = "subcommands: " + ", ".join(verb["name"] for verb in listed if verb["name"])
    for words in (["lsit", "in.onnx"], ["foo", "in.onnx", "out.onnx"], ["foo", "in.onnx", "-o", "out.onnx"]):
        refused(tool(*words, cwd=folder), USAGE, f"'{words[0]}' is neither a subcommand nor a file", verbs)
    refused(tool("help", "foo", cwd=folder), USAGE, "help: unknown subcommand 'foo'", verbs)
    for words in (["foo"], ["foo", "-o", "out.onnx"]):
        refused(tool(*words, cwd=folder), INPUT, "foo: there is no such file", verbs)
    saved(folder, name="food")
    refused(tool("fod", cwd=folder), INPUT, "did you mean 'food'?", verbs)
    refused(tool("food", "in.onnx", cwd=folder), USAGE, "'in.onnx' is a second model next to 'food'")
    expect(tool("food", cwd=folder).returncode == 0)


def test_blanks_in_lists(tool, folder):
    done = tool(
        saved(folder), "--passes", " drop-identity , dead-code", "--explain", "drop-identity, all", "-q"
    )
    expect(done.returncode == 0, done.stderr)


def test_marks_of_buckets(tool, folder):
    path, ask = saved(folder), ["inspect", "--bucketable"]
    empty = folder / "empty.json"
    empty.write_text('{"groups": []}')
    for words, parts in [
        ([*ask, path], ["no sizes are given", "--bucket SYMBOL=SIZES"]),
        ([*ask, path, "--buckets", empty], ["empty.json", "no sizes are given"]),
        (["inspect", path, "--bucket", "n=1,2"], ["without --bucketable", "add --bucketable"]),
        (["inspect", path, "--bucket-require", "repair"], ["without --bucketable", "add --bucketable"]),
        ([*ask, path, "--buckets", folder / "none.json"], ["none.json", "no such file"]),
        ([*ask, path, "--bucket", "zzz=1,2"], ["no symbol 'zzz'"]),
        ([*ask, path, "--bucket", "n=8..4:pow2"], ["reversed", "4..8"]),
    ]:
        refused(tool(*words), USAGE, *parts)
    refused(tool(*ask, folder / "none.onnx", "--bucket", "n=1,2"), INPUT, "none.onnx")


def test_files_of_every_verb(tool, folder):
    """No verb writes its report over a model, neither the one that it reads nor the one that it writes."""
    path = saved(folder)
    source = path.read_bytes()
    for words in (
        ["inspect", path, "--report", path],
        ["compare", path, path, "--report", path],
        ["devices", "check", "nnapi", path, "--report", path],
        ["reduce", path, "--test", "true", "-o", folder / "s.onnx", "--report", path],
        ["reduce", path, "--test", "true", "-o", folder / "s.onnx", "--report", folder / "s.onnx"],
    ):
        refused(tool(*words), USAGE, "same file")
    refused(tool("inspect", path, "--json", "--report", "-"), USAGE, "--json and --report both want stdout")
    expect(path.read_bytes() == source and not (folder / "s.onnx").exists(), "a model was overwritten")


def test_shapes_must_fit(tool, folder):
    two = helper.make_graph(
        [helper.make_node("Add", ["a", "b"], ["y"])],
        "g",
        [
            helper.make_tensor_value_info("a", TensorProto.FLOAT, ["batch", 3]),
            helper.make_tensor_value_info("b", TensorProto.FLOAT, ["batch", 3]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 3])],
    )
    path = saved(folder, helper.make_model(two, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]))
    for words, parts in [
        (["--shape", "aa=1,3"], ["no input 'aa'", "inputs: a, b"]),
        (["--shape", "a=1,3,4"], ["rank 3", "float[batch,3]"]),
        (["--shape", "a=1,4"], ["contradicts the model", "dim 1"]),
        (["--dim", "btach=2"], ["no symbol 'btach'", "'batch'"]),
        (["--dim", "batch=2", "--dim", "batch=3"], ["'batch'", "2", "3"]),
        (["--dim", "batch=2", "--shape", "a=3,3"], ["'batch'"]),
        (["--dim", "batch=1..4", "--shape", "a=8,3"], ["'batch'", "1..4"]),
        (["--shape", "a=2,3", "--shape", "b=3,3"], ["'batch'"]),
        (["--shape", "a=2,3", "--shape", "a=3,3"], ["contradicts"]),
    ]:
        refused(tool(path, *words, "-o", folder / "o.onnx"), USAGE, str(path), *parts)
        expect(not (folder / "o.onnx").exists(), words)


def test_shapes_are_written(tool, folder):
    path = saved(folder)
    out = folder / "o.onnx"
    for words, expected in [
        (["--dim", "batch=4"], [4, 3]),
        (["--shape", "x=5,3"], [5, 3]),
        (["--shape", "x=-1,3"], ["batch", 3]),
        (["--dim", "batch=0"], [0, 3]),
        (["--dim", "batch=2..8"], ["batch", 3]),
        ([], ["batch", 3]),
    ]:
        done = tool(path, *words, "-o", out)
        expect(done.returncode == 0, done.stderr)
        m = onnx.load(out)
        onnx.checker.check_model(m, full_check=True)
        expect(dims(m.graph.input[0]) == expected, words, dims(m.graph.input[0]))
        expect(dims(m.graph.output[0]) == expected, words, dims(m.graph.output[0]))


def test_infer_again_where_constants_are_nodes(tool, folder):
    """Up to IR version 3 an initializer has to be an input: a folded value becomes a Constant node, which
    says its type itself. The second run must not add an entry for it."""
    m = onnx.parser.parse_model(
        """<ir_version: 3, opset_import: ["" : 7]> g (float[N] x) => (float[N] y) {
          c = Constant <value = float[1] {2}> ()
          d = Neg (c)
          y = Mul (x, d)
        }"""
    )
    path, out, again = saved(folder, m), folder / "o.onnx", folder / "again.onnx"
    expect(tool(path, "-O1", "--infer", "-o", out).returncode == 0)
    made = onnx.load(out)
    expect([n.op_type for n in made.graph.node] == ["Constant", "Mul"], made)
    expect(not made.graph.value_info, made.graph.value_info)
    expect(tool(out, "-O1", "--infer", "-o", again).returncode == 0)
    expect(again.read_bytes() == out.read_bytes(), "the second run changes bytes")


def test_infer_writes_types(tool, folder):
    path = saved(folder)
    out = folder / "o.onnx"
    expect(tool(path, "-O0", "-o", out).returncode == 0)
    expect(len(onnx.load(out).graph.value_info) == 0, "-O0 wrote value_info without --infer")
    expect(tool(path, "-O0", "--infer", "-o", out).returncode == 0)
    found = {v.name: dims(v) for v in onnx.load(out).graph.value_info}
    expect(found == {"i": ["batch", 3], "r": ["batch", 3], "c": [3]}, found)


def test_claims_that_are_wrong(tool, folder):
    """No dim of a declared type that inference refutes stays, also where the value is a constant now."""
    m = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["" : 17]>
        g (float[2,3] x) => (int64[3] s, int64[7,5] n) { s = Shape (x) n = NonZero (x) }"""
    )
    out = folder / "o.onnx"
    expect(tool(saved(folder, m), "-o", out).returncode == 0)
    made = onnx.load(out)
    found = [dims(v) for v in made.graph.output]
    expect(found[0] == [2] and found[1][0] == 2 and found[1][1] != 5, found)
    onnx.checker.check_model(made, full_check=True)


def test_names_of_dims(tool, folder):
    """A name that is an expression over dims of inputs is believed unless --dim-names says otherwise; any
    other name is a name, whatever it looks like, and options and messages take it as it is."""
    graph = helper.make_graph(
        [
            helper.make_node("Shape", ["w"], ["s"]),
            helper.make_node("Concat", ["w", "v"], ["c"], axis=0),
            helper.make_node("Relu", ["c"], ["y"]),
            helper.make_node("Relu", ["x"], ["r"]),
        ],
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N"]),
            helper.make_tensor_value_info("w", TensorProto.FLOAT, ["N+1"]),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, ["-1"]),
        ],
        [
            helper.make_tensor_value_info("s", TensorProto.INT64, [1]),
            helper.make_tensor_value_info("y", TensorProto.FLOAT, ["any"]),
            helper.make_tensor_value_info("r", TensorProto.FLOAT, ["N"]),
        ],
    )
    path = saved(folder, helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]))
    out = folder / "o.onnx"
    for words, inputs, y in [
        ([], ["N", "N+1", "-1"], "'-1' + N + 1"),
        (["--dim-names", "opaque"], ["N", "N+1", "-1"], "'-1' + 'N+1'"),
        (["--dim=-1=4"], ["N", "N+1", 4], "N + 5"),
        (["--dim", "N=3", "--dim=-1=4"], [3, 4, 4], 8),
        (["--dim", "N+1=7", "--dim-names=opaque"], ["N", 7, "-1"], "'-1' + 7"),
        (["--shape", "v=2", "--dim-names", "opaque"], ["N", "N+1", 2], "'N+1' + 2"),
    ]:
        done = tool(path, *words, "--infer", "-o", out)
        expect(done.returncode == 0, words, done.stderr)
        m = onnx.load(out)
        onnx.checker.check_model(m, full_check=True)
        expect([dims(i)[0] for i in m.graph.input] == inputs, words, m.graph.input)
        expect(dims(m.graph.output[1]) == [y], words, m.graph.output[1])
    refused(tool(path, "--dim", "N+1=7"), USAGE, "no symbol 'N+1'")
    shown = tool("inspect", path).stdout.decode()
    expect("float[N + 1]" in shown and "float['-1']" in shown, shown)
    expect("float['N+1']" in tool("inspect", path, "--dim-names", "opaque").stdout.decode())


def test_in_and_out(tool, folder):
    path = saved(folder)
    original = path.read_bytes()
    out = folder / "o.onnx"
    done = tool(path)
    expect(done.returncode == 0 and done.stderr == "", "dry run:", done.stderr)
    expect(b"no model is written" in done.stdout and b"Identity" in done.stdout, done.stdout)
    expect(
        path.read_bytes() == original and sorted(p.name for p in folder.iterdir()) == ["m.onnx"],
        "a dry run wrote",
    )
    expect(tool(path, "-o", out).returncode == 0)
    result = out.read_bytes()
    onnx.checker.check_model(onnx.load(out), full_check=True)
    expect([n.op_type for n in onnx.load(out).graph.node] == ["Relu", "Add"], "nodes")
    for words, stdin in [
        ((path, "-o", "-"), None),
        (("-", "-o", "-"), original),
        (("-o", "-", path), None),
        (("--output=-", "--", path), None),
    ]:
        done = tool(*words, stdin=stdin)
        expect(done.returncode == 0 and done.stdout == result, words, done.stderr)
    expect(tool(path, "-q", "-o", path).stderr == "", "-q is not quiet")
    expect(path.read_bytes() == result, "in place")
    expect(
        tool(path, "-o", path).returncode == 0 and path.read_bytes() == result,
        "a second run changed something",
    )
    named = folder / "inspect"
    named.write_bytes(original)
    expect(tool("./inspect", "-o", "-", cwd=folder).stdout == result)
    dashed = folder / "-m.onnx"
    dashed.write_bytes(original)
    expect(tool("-o", "-", "--", "-m.onnx", cwd=folder).stdout == result)
    refused(tool(folder / "none.onnx"), INPUT, "none.onnx")
    refused(tool(path, "-o", folder / "no" / "o.onnx"), OUTPUT, "o.onnx")
    refused(tool(folder), USAGE, "no folder is named")  # several models: a batch
    refused(tool("inspect", folder), INPUT, "is a folder")


def test_outputs_are_different_files(tool, folder):
    """No file of a run is written over by another one, whether it is there or not yet."""
    path = saved(folder)
    original = path.read_bytes()
    (folder / "sub").mkdir()
    (folder / "alias").symlink_to("sub")
    (folder / "link").symlink_to("later")  # to a file that is not there
    (folder / "own.onnx").symlink_to("m.onnx")
    os.link(path, folder / "hard.onnx")
    for words, said in [
        (["-o", "r", "--report", "r"], "-o and --report name the same file"),
        (["-o", "r", "--report", "./sub/../r"], "-o and --report name the same file"),
        (["-o", "sub/r", "--report", "alias/r"], "-o and --report name the same file"),
        (["-o", "later", "--report", "link"], "-o and --report name the same file"),
        (["--report", "sub/r", "--dot", folder / "sub/r"], "--report and --dot name the same file"),
        (["--report", "own.onnx"], "--report and the model that is read are the same file"),
        (["--dot", "hard.onnx"], "--dot and the model that is read are the same file"),
        (["--report", "-", "--dot", "-"], "--report and --dot both want stdout"),
    ]:
        before = sorted(p.name for p in folder.iterdir())
        refused(tool(path, *words, "--force", cwd=folder), USAGE, said)
        expect(sorted(p.name for p in folder.iterdir()) == before, words, "wrote something")
    expect(path.read_bytes() == original, "the model was changed")
    done = tool("m.onnx", "-o", "own.onnx", "--report", "r", "--dot", "alias/r", cwd=folder)
    expect(done.returncode == 0 and (folder / "sub/r").exists(), "OUT may be IN:", done.stderr)


def test_levels_and_stages(tool, folder):
    path = saved(folder)
    out = folder / "o.onnx"
    kinds = lambda: [n.op_type for n in onnx.load(out).graph.node]
    for words, expected in [
        (["-O0"], 4),
        (["-O1"], 2),
        (["-O2"], 2),
        (["-O0", "-O2"], 2),
        (["--exact"], 2),
        (["--stop-after", "load"], 4),
        (["--stop-after", "infer"], 4),
        (["--stop-after", "clean-up"], 2),
        (["--passes", "drop-identity"], 3),
        (["-O0", "--passes=drop-identity"], 3),
        (["--disable-pass", "drop-identity"], 3),
    ]:
        expect(tool(path, *words, "-o", out).returncode == 0)
        expect(len(kinds()) == expected, words, kinds())


def test_fold_limit(tool, folder):
    shape = helper.make_tensor("s", TensorProto.INT64, [1], [4096])
    graph = helper.make_graph(
        [helper.make_node("ConstantOfShape", ["s"], ["c"]), helper.make_node("Add", ["x", "c"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [4096])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [4096])],
        [shape],
    )
    path = saved(folder, helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]))
    for limit, nodes in [("16K", 1), ("15K", 2), ("0", 2), ("1M", 1)]:
        done = tool(path, "--fold-limit", limit, "-o", "-")
        m = onnx.load_from_string(done.stdout)
        expect(len(m.graph.node) == nodes, limit, [n.op_type for n in m.graph.node])


def test_print_only(tool, folder):
    expect(tool("--version").stdout.startswith(b"graphopt "))
    done = tool("--list-passes")
    expect(done.returncode == 0 and b"drop-identity" in done.stdout and done.stderr == "", done.stderr)
    for line in done.stdout.decode().splitlines():
        expect(len(line) <= 110, "too long:", line)


def test_start_up(tool, folder):
    """Generous: the figure that counts is in benchmarks/. Sanitizers and busy machines pass, a second of
    set-up does not."""

    def seconds():
        start = time.perf_counter()
        tool("--version")
        return time.perf_counter() - start

    expect(min(seconds() for _ in range(5)) < 0.5)


if __name__ == "__main__":
    sys.exit(main(globals()))
