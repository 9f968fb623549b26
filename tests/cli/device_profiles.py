"""The shipped profiles: they have the form that the schema says and are found, and their converters write
them again, byte by byte, from what is installed with the tests."""

import json
import pathlib
import random
import re
import subprocess
import sys

from _tool import INPUT, USAGE, expect, main, refused, saved
from onnx import parser

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests" / "lib"))
from json_schema import errors  # noqa: E402

SHARE = TOP / "share" / "graphopt"
SCHEMA = json.loads((SHARE / "schemas" / "device.schema.json").read_text())
EXAMPLE = TOP / "tests" / "vectors" / "devices" / "device.example.json"
PROFILES = sorted((SHARE / "devices").glob("*.json"))
UNNAMED = """<ir_version: 10, opset_import: ["" : 17]>
g (float[2] x) => (float[2] y) { a = Relu (x)  [named] b = Celu (a)  y = Relu (b) }"""
NAMES = ["coreml", "cpu", "nnapi", "ort-cpu", "qnn-htp", "tensorrt", "webgpu", "webnn"]


def test_form(tool, folder):
    expect([p.stem for p in PROFILES] == NAMES, PROFILES)
    for path in [*PROFILES, EXAMPLE]:
        profile = json.loads(path.read_text())
        expect(not errors(profile, SCHEMA), path.name, errors(profile, SCHEMA)[:3])
        expect(path.stat().st_size < 1 << 20, path, "is over 1 MiB")
    for path in PROFILES:
        profile = json.loads(path.read_text())
        expect(profile["id"] == path.stem, path)
        expect(profile.get("host", False) == (path.stem == "cpu"), path)
        source = profile["profile"]["source"][0]
        expect(path.stem == "cpu" or source["version"], path, "names no version")
        lines = path.read_text().splitlines()
        rules = [line for line in lines if line.startswith('  {"op": ')]
        count = len(profile.get("rules", [])) + len(profile.get("omitted", []))
        expect(len(rules) == count, path, "a rule a line")


def test_listed(tool, folder):
    done = tool("--list-devices", env={"XDG_CONFIG_HOME": str(folder)})
    expect(done.returncode == 0 and done.stderr == "", done.stderr)
    text = done.stdout.decode()
    for path in PROFILES:
        source = json.loads(path.read_text())["profile"]["source"][0]
        for part in (f"\n{path.stem} ", source["document"], source.get("version", ""), str(path)):
            expect(part in "\n" + text, part, "is not in", text)
    expect("host: takes every node" in text, text)


def test_own_folder(tool, folder):
    own = folder / "graphopt" / "devices"
    own.mkdir(parents=True)
    (own / "mine.json").write_bytes(EXAMPLE.read_bytes())
    (own / "coreml.json").write_text("not read: the shipped one comes first")
    (own / "broken.json").write_text("{")
    env = {"XDG_CONFIG_HOME": str(folder)}
    text = tool("--list-devices", env=env).stdout.decode()
    expect("mine " in text and "id npu-example" in text and str(own / "mine.json") in text, text)
    expect("broken               cannot be used: line 1, column " in text, text)
    expect(str(own / "coreml.json") not in text, text)
    done = tool("devices", "check", "mine", saved(folder), env=env)
    expect(done.returncode == 0 and b"npu-example (npu)" in done.stdout, done.stderr)
    home = folder / "home"
    (home / ".config").mkdir(parents=True)
    (folder / "graphopt").rename(home / ".config" / "graphopt")
    env = {"XDG_CONFIG_HOME": "", "HOME": str(home)}
    expect("mine " in tool("--list-devices", env=env).stdout.decode(), "~/.config is not searched")


def test_a_name_that_is_a_file_here(tool, folder):
    (folder / "near.json").write_bytes(EXAMPLE.read_bytes())
    done = tool("devices", "check", "near", saved(folder), cwd=folder)
    refused(done, USAGE, "no device profile 'near'", "did you mean the file './near.json'?")
    refused(tool("devices", "check", "nea", saved(folder), cwd=folder), USAGE, "device profiles: coreml")


def test_nodes_without_names(tool, folder):
    """They have the names of their first results, by which --explain finds them."""
    path = saved(folder, parser.parse_model(UNNAMED))
    done = tool("devices", "check", "coreml", path, "--json")
    found = [(n["name"], n["op"]) for n in json.loads(done.stdout)["listed"]]
    expect(sorted(found) == [("a", "Relu"), ("named", "Celu"), ("y", "Relu")], found)


def test_page(tool, folder):
    """docs/devices.md: its recipe is a profile that takes what it says, and it explains every key."""
    page = (TOP / "docs" / "devices.md").read_text()
    path = folder / "edge.json"
    path.write_text(re.findall(r"```json\n(.*?)```", page, re.S)[0])
    text = """<ir_version: 10, opset_import: ["" : 21]>
      g (float16[1,2,8,8] x) => (float16[1,1,N,M] y, float16[1] z)
      <float16[1,2,1,1] w = {1, 1}, float16[1] one = {1}> {
        a = Conv (x, w)  b = Conv <strides = [2, 2]> (x, w)  c = Conv <strides = [3, 3]> (x, w)
        y = Relu (a)  z = Add (one, one)
      }"""
    (folder / "m.onnxtxt").write_text(text)
    done = tool("devices", "check", path, folder / "m.onnxtxt", "--json")
    expect(done.returncode == 0, done.stderr)
    nodes = {n["name"]: n for n in json.loads(done.stdout)["listed"]}
    refused = [n["text"] for n in nodes.values() if not n["supported"]]
    expect(refused == ["Conv rule 1: attribute 'strides' is [3, 3], which is not allowed"], refused)
    keys = set(SCHEMA["properties"]) | {k for d in SCHEMA["$defs"].values() for k in d.get("properties", {})}
    missing = [k for k in sorted(keys) if f"`{k}`" not in page and f"`{k}:" not in page]
    expect(not missing, "docs/devices.md does not explain", missing)
    for name in (p.stem for p in PROFILES):
        expect(f"`{name}`" in page, "docs/devices.md does not list", name)


QUANTIZED = """<ir_version: 10, opset_import: ["" : 21]>
  g (uint8[1,2,8,8] x, float[1,2,8,8] f) => (uint8[1,2,8,8] y, float[1,2,8,8] z, uint8[1,2,8,8] q)
  <uint8[2,2,1,1] w = {1, 2, 3, 4}, float[2,2,1,1] v = {1, 2, 3, 4}, float s = {0.5}, uint8 p = {0}> {
    a = DequantizeLinear (x, s, p)  b = DequantizeLinear (w, s, p)
    c = Conv (a, b)  r = Relu (c)  y = QuantizeLinear (r, s, p)
    z = Conv (f, v)
    d = Conv (a, v)  q = QuantizeLinear (d, s, p)
  }"""


TOO_WIDE = "Conv rule 2: input 0 'f' is float, allowed: float16 (and 1 more)"


def test_int8_recipe(tool, folder):
    """The page's int8 device takes the Conv of a QDQ group, no float one and none with float weights."""
    path = folder / "edge8.json"
    page = (TOP / "docs" / "devices.md").read_text()
    path.write_text(re.findall(r"```json\n(.*?)```", page, re.S)[1])
    expect(not errors(json.loads(path.read_text()), SCHEMA), path)
    (folder / "m.onnxtxt").write_text(QUANTIZED)
    done = tool("devices", "check", path, folder / "m.onnxtxt", "--json")
    expect(done.returncode == 0, done.stderr)
    nodes = json.loads(done.stdout)["listed"]
    taken = sorted(n["op"] for n in nodes if n["supported"])
    wanted = ["Conv", "DequantizeLinear", "DequantizeLinear", "QuantizeLinear", "QuantizeLinear", "Relu"]
    expect(taken == wanted, taken)
    refused = sorted(n["text"] for n in nodes if not n["supported"])
    float_weight = "Conv rule 1: outside of a QDQ group: float input 1 'v' is not made by DequantizeLinear"
    results = "its results do not all go to QuantizeLinear, and to nothing else"
    expect(refused == [float_weight, f"Conv rule 1: outside of a QDQ group: {results}"], refused)
    # With a rule for float16, too, a node that no quantized value reaches lacks that type.
    profile = json.loads(path.read_text())
    profile["rules"].append(json.loads(re.search(r"`(.*FLOAT16.*)`\.\n", page)[1]))
    path.write_text(json.dumps(profile))
    done = tool("devices", "check", path, folder / "m.onnxtxt", "--json")
    refused = sorted(n["text"] for n in json.loads(done.stdout)["listed"] if not n["supported"])
    expect(refused == [float_weight, TOO_WIDE], refused)


OPEN = """<ir_version: 8, opset_import: ["" : 13]>
  g (float[N,2,8,8] x) => (float[N,3] y)
  <float[3,2,1,1] w = {1, 2, 3, 4, 5, 6}, float[3] b = {1, 2, 3}, int64[2] s = {-1, 3}> {
    c = Conv (x, w, b)  r = Relu (c)  p = GlobalAveragePool (r)  f = Reshape (p, s)
    y = Softmax <axis = 1> (f)
  }"""
DEEP = """<ir_version: 8, opset_import: ["" : 13]>
  g (float[2,8,12,4] x) => (float[12,16,4] y) <int64[6] a = {2, 2, 4, 3, 4, 4}, int64[3] b = {-1, 16, 4}> {
    q = Relu (x)  r = Reshape (q, a)  t = Transpose <perm = [0, 1, 3, 2, 4, 5]> (r)  z = Reshape (t, b)
    y = Sigmoid (z)
  }"""


def test_limits_of_runtimes(tool, folder):
    """Both numbers of a model with open dims, the warning of a run, and ranks and extents."""
    path, deep = folder / "open.onnxtxt", folder / "deep.onnxtxt"
    path.write_text(OPEN)
    deep.write_text(DEEP)

    def check(name, *words):
        done = tool("devices", "check", name, *words, "--json")
        expect(done.returncode == 0, done.stderr)
        return json.loads(done.stdout)

    for name in ("nnapi", "coreml"):
        said = check(name, path)
        expect((said["supported"], said["supported_fixed"], said["nodes"]) == (0, 5, 5), name, said)
        expect(said["open"] == ["--dim 'N=SIZE'"], said["open"])
        expect({n["reason"] for n in said["listed"]} == {"dynamic_shape"}, said)
        text = tool("devices", "check", name, path).stdout.decode()
        expect("0 of 5 nodes are supported (0.0 %)\nwith fixed shapes: about 5 of 5 nodes" in text, text)
        expect("  open dims: --dim 'N=SIZE'\n" in text, text)
        said = check(name, path, "--shape", "x=1,2,8,8")
        expect((said["supported"], said["supported_fixed"], said["open"]) == (5, 5, []), name, said)
        expect("with fixed" not in tool("devices", "check", name, path, "--dim", "N=1").stdout.decode(), name)
        expect(check(name, deep)["supported"] == 2, name, "takes rank 6")
    # 16384 is the greatest extent of an input for Core ML; a result may have more.
    wide = folder / "wide.onnxtxt"
    wide.write_text("""<ir_version: 8, opset_import: ["" : 13]>
      g (float[128,129] x) => (float[1,16512] y) <int64[2] s = {1, -1}>
      { f = Reshape (x, s)  y = Relu (f) }""")
    refused = [n["text"] for n in check("coreml", wide)["listed"] if not n["supported"]]
    expect(refused == ["Relu rule 1: dim 1 of input 0 'f' is 16512, allowed: 1 to 16384"], refused)
    # A run says it once for all devices.
    done = tool(path, "--devices", "nnapi,coreml", "--plan")
    warnings = [line for line in done.stderr.splitlines() if "warning" in line]
    expect(len(warnings) == 1, warnings)
    expect(
        "nnapi takes about 5 more nodes, coreml takes about 5 more nodes (--dim 'N=SIZE')" in warnings[0],
        warnings,
    )
    for words in (["--dim", "N=1"], ["--bucket", "N=1,2"]):
        done = tool(path, "--devices", "nnapi,coreml", "-o", folder / "o.onnx", "--force", *words)
        expect(done.returncode == 0 and "dims of inputs are open" not in done.stderr, words, done.stderr)


def test_dims_that_are_open_in_buckets(tool, folder):
    """A bucket gives a size to one of two symbols; the warning names the option for the other one alone."""
    text = """<ir_version: 10, opset_import: ["" : 17]>
      g (float[N,M,4] x) => (float[N,M,4] y) { a = Relu (x)  b = Sigmoid (a)  y = Relu (b) }"""
    path = saved(folder, parser.parse_model(text))
    words = [path, "--devices", "nnapi", "--bucket", "N=1,2", "-o", folder / "o.onnx"]
    warnings = [line for line in tool(*words).stderr.splitlines() if "are open" in line]
    said = "open in the models of buckets; with numbers, in the first one nnapi takes about 3 more nodes"
    expect(len(warnings) == 1 and warnings[0].endswith(f"{said} (--dim 'M=SIZE')"), warnings)
    expect("are open" not in tool(*words, "--dim", "M=3", "--force").stderr, "every dim has a size")


def test_why_there_is_no_rule(tool, folder):
    """Whether the source or the converter left an operator out."""
    (folder / "m.onnxtxt").write_text("""<ir_version: 8, opset_import: ["" : 13]>
      g (float[2,4] x, int64[2] i) => (float[A,B] y, uint8[2,4] q, float[2,4] e) <int64[2] s = {2, 2}> {
        y, rest = Split <axis = 1> (x, s)  q, scale, zero = DynamicQuantizeLinear (x)  e = Erf (x)
      }""")

    def texts(name):
        done = tool("devices", "check", name, folder / "m.onnxtxt", "--json")
        return {n["op"]: n.get("text") for n in json.loads(done.stdout)["listed"]}

    said = texts("nnapi")
    expect(said["Split"].startswith("no rule for Split: the converter left it out ("), said)
    expect(said["Erf"] == "no rule for Erf: it is not in the profile's sources", said)
    expect(texts("tensorrt")["DynamicQuantizeLinear"].endswith(": the source refuses it"), texts("tensorrt"))
    for profile in map(json.loads, (p.read_text() for p in PROFILES)):
        rules = {(r.get("domain", ""), r["op"]) for r in profile.get("rules", [])}
        for entry in profile.get("omitted", []):
            expect((entry.get("domain", ""), entry["op"]) not in rules, profile["id"], entry)


def convert(script, folder):
    done = subprocess.run(
        [sys.executable, "-B", TOP / "tools" / "devices" / script, "--out", folder],
        capture_output=True,
        text=True,
    )
    expect(done.returncode == 0, script, done.stderr)


def test_converters_write_the_same(tool, folder):
    import onnxruntime

    written = json.loads((SHARE / "devices" / "ort-cpu.json").read_text())["profile"]["source"][0]["version"]
    expect(written == onnxruntime.__version__, "the profiles are of onnxruntime", written)
    convert("mobile.py", folder)
    convert("ort_kernels.py", folder)
    for name in ("coreml", "nnapi", "ort-cpu"):
        expect(
            (folder / f"{name}.json").read_bytes() == (SHARE / "devices" / f"{name}.json").read_bytes(), name
        )


def places(value, path=()):
    """The paths of all values inside."""
    yield path
    for key, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from places(inner, (*path, key))


def mutated(profile, rng):
    """The profile with one value replaced, removed or moved to another key."""
    profile = json.loads(json.dumps(profile))
    path = rng.choice([p for p in places(profile) if p])
    parent = profile
    for key in path[:-1]:
        parent = parent[key]
    key = path[-1]
    others = [None, True, 0, 1, -1, 1.5, 2.0, "", "x", "FLOAT", "any", [], [1, 2], [1, None], {}, 1 << 63]
    action = rng.randrange(4)
    if action == 0:
        parent[key] = rng.choice(others)
    elif action == 1:
        del parent[key]
    elif action == 2 and isinstance(parent, dict):
        parent[rng.choice(["op", "index", "domain", "range", "enum", "nonsense", "length", "shapes"])] = (
            parent.pop(key)
        )
    elif isinstance(parent, list):
        parent.append(parent[key])
    else:
        parent[key] = [parent[key]]
    return profile


# What the reader refuses and the schema cannot say.
MEANING = [
    "no number is in it",
    "has a rule",
    "a second time",
    "can meet no other condition",
    '"value" asks for a constant',
    "allowed: a path relative",
    "found 9223372036854775808",
    "not empty",
    "element types",
]


def test_the_reader_and_the_schema_agree(tool, folder):
    rng = random.Random(1)
    example = json.loads(EXAMPLE.read_text())
    example["extents"] = [0, 16384]
    example["profile"]["notes"] = ["what is left open"]
    example["omitted"] = [{"op": "Erf", "by": "converter", "note": "a reason"}, {"op": "If", "by": "source"}]
    example["rules"].append({"op": "Gemm", "qdq": True, "inputs": [{"index": 0, "extents": [1, None]}]})
    model, path = saved(folder), folder / "p.json"
    counts = {True: 0, False: 0}
    for _ in range(400):
        profile = mutated(example, rng)
        path.write_text(json.dumps(profile))
        done = tool("devices", "check", path, model)
        expect(done.returncode in (0, INPUT), done.returncode, done.stderr, profile)
        fits = not errors(profile, SCHEMA)
        counts[fits] += 1
        if fits and done.returncode != 0:
            expect(any(m in done.stderr for m in MEANING), "the schema takes what is refused:", done.stderr)
        expect(fits or done.returncode != 0, "taken against the schema:", errors(profile, SCHEMA), profile)
    expect(min(counts.values()) > 50, counts)


if __name__ == "__main__":
    sys.exit(main(globals()))
