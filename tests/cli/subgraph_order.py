"""--order, --budget, and the warning where one device has nearly all work: what the manifest then says, on
models whose figures can be worked out by hand."""

import json
import pathlib
import subprocess
import sys

from _tool import USAGE, expect, main, refused
from onnx import parser

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests"))

from lib import manifests  # noqa: E402
from lib.profiles import profile  # noqa: E402

# npu makes p of 512 bytes, which y needs at the end. In between it has a and h of 512 bytes, and makes c of
# them, of which only d is needed afterwards: 4 bytes. gpu has all that is between two subgraphs of npu.
TEXT = """<ir_version: 10, opset_import: ["" : 17]>
g (float[N] x1, float[N] x2) => (float[M] y) <int64[1] i = {0}, int64[1] k = {1}> {
  p = Concat <axis = 0> (x1, x1, x1, x1, x1, x1, x1, x1)
  s = Slice (p, i, k)
  e = Erf (s)
  a = Concat <axis = 0> (x2, x2, x2, x2, x2, x2, x2, x2)
  h = Erf (a)
  c = Add (a, h)
  d = Slice (c, i, k)
  f = Erf (d)
  j = Add (e, f)
  y = Add (p, j)
}"""
P, A, H, C = 512, 512, 512, 512  # bytes with 16 elements in x1 and x2
FILE_ORDER = ["p", "e", "a", "h", "d", "f", "y"]


def cut(tool, folder, *words, warns=""):
    """The manifest of a run with -O0, which is right and whose parts give what the whole gives."""
    source, out = folder / "m.onnx", folder / "o.onnx"
    source.write_bytes(parser.parse_model(TEXT).SerializeToString())
    npu = profile(folder, "Concat", "Add", "Slice")
    gpu = profile(folder, "Erf", name="gpu", kind="gpu")
    devices = ["--devices", f"{npu},{gpu}", "--connected"]
    done = tool(source, "-O0", *devices, "-o", out, *words)
    expect(done.returncode == 0, words, done.stderr)
    expect(warns in done.stderr if warns else "warning" not in done.stderr, words, done.stderr)
    path = folder / "o.manifest.json"
    for problem in manifests.problems(path):
        expect(False, problem)
    return json.loads(path.read_text())


def memory_of(manifest, device):
    return next(d for d in manifest["schedule"]["memory"] if d["device"] == device)


def values_in_order(manifest):
    """The first output of each subgraph, in the order."""
    first = {s["id"]: s["outputs"][0]["name"] for s in manifest["subgraphs"]}
    return [first[s] for s in manifest["partition"]["order"]]


def test_the_order_of_the_file(tool, folder):
    for words in ([], ["--order", "file"]):
        manifest = cut(tool, folder, "--dim", "N=16", *words)
        expect(manifest["tool"]["options"]["order"] == "file", manifest["tool"])
        expect(values_in_order(manifest) == FILE_ORDER, values_in_order(manifest))
        # While c is computed, p waits.
        expect(memory_of(manifest, "npu")["peak"] == P + A + H + C, memory_of(manifest, "npu"))


def test_an_order_with_little_memory(tool, folder):
    plain = cut(tool, folder, "--dim", "N=16")
    nodes = (folder / "o.onnx").read_bytes()
    manifest = cut(tool, folder, "--dim", "N=16", "--order", "memory")
    expect(manifest["tool"]["options"]["order"] == "memory", manifest["tool"])
    order = values_in_order(manifest)
    expect(sorted(order) == sorted(FILE_ORDER) and order.index("p") > order.index("d"), order)
    expect(memory_of(manifest, "npu")["peak"] == A + H + C, memory_of(manifest, "npu"))
    expect(memory_of(manifest, "gpu")["peak"] == A + H, memory_of(manifest, "gpu"))
    # Lifetimes are places of that order; what the files hold is the same.
    places = {v["value"]: (v["first"], v["last"]) for v in manifest["schedule"]["values"]}
    expect(places["p"] == (order.index("p"), order.index("y")), places)
    expect(manifest["subgraphs"] == plain["subgraphs"], "the subgraphs differ")
    expect(manifest["partition"]["stages"] == plain["partition"]["stages"], manifest["partition"])
    expect((folder / "o.onnx").read_bytes() == nodes, "OUT differs")
    done = subprocess.run(
        [sys.executable, TOP / "examples" / "run_manifest.py", folder / "o.manifest.json"],
        capture_output=True,
        text=True,
        check=False,
    )
    expect(done.returncode == 0, done.stdout, done.stderr)


def test_sizes_that_are_no_numbers(tool, folder):
    manifest = cut(tool, folder, "--order", "memory", warns="--order memory: sizes")
    expect(values_in_order(manifest) == FILE_ORDER, values_in_order(manifest))
    cut(tool, folder, "--order", "file")
    # Models of buckets have numbers, each an order of its own.
    bucket = ["--bucket", "N=16,32", "--bucket-require", "force"]
    models = cut(tool, folder, "--order", "memory", *bucket, warns="padding")["buckets"]["models"]
    expect(len(models) == 2, models)
    for model in models:
        order, scale = values_in_order(model), model["at"]["N"] // 16
        expect(order.index("p") > order.index("d"), order)
        expect(memory_of(model, "npu")["peak"] == scale * (A + H + C), memory_of(model, "npu"))


def test_a_budget(tool, folder):
    need = P + A + H + C
    for budget, spills in ((need, []), (need - 1, ["p"]), (A + H + C, ["p"]), (A + H + C - 1, None)):
        manifest = cut(tool, folder, "--dim", "N=16", "--budget", f"npu={budget}")
        expect(manifest["tool"]["options"]["budget"] == f"npu={budget}", manifest["tool"])
        found = memory_of(manifest, "npu")
        expect((found["peak"], found["budget"]) == (need, budget), found)
        left = None if found["spills"] is None else [s["value"] for s in found["spills"]]
        expect(left == spills, budget, found)
        expect(memory_of(manifest, "gpu")["budget"] is None, manifest["schedule"]["memory"])
    # With the other order nothing has to leave.
    manifest = cut(tool, folder, "--dim", "N=16", "--order", "memory", "--budget", "npu=1.5K, gpu=2M")
    expect(memory_of(manifest, "npu")["budget"] == 1536, manifest["schedule"]["memory"])
    expect(memory_of(manifest, "npu")["spills"] == [], manifest["schedule"]["memory"])
    expect(memory_of(manifest, "gpu")["budget"] == 2 << 20, manifest["schedule"]["memory"])
    expect(manifest["tool"]["options"]["budget"] == "npu=1536; gpu=2097152", manifest["tool"])


def test_wrong_words(tool, folder):
    cut(tool, folder)
    source, npu = folder / "m.onnx", folder / "npu.json"
    for words, *parts in (
        (["--budget", "npu"], "is not DEVICE=BYTES", "npu=4"),
        (["--budget", "=4M"], "is not DEVICE=BYTES"),
        (["--budget", "npu=much"], "--budget: 'much' is not a size"),
        (["--budget", ""], "is not DEVICE=BYTES"),
        (["--budget", "npu=1M,npu=2M"], "twice"),
        (["--budget", "npuu=1M"], "--budget: 'npuu' is none of the devices", "did you mean 'npu'"),
        (["--order", "speed"], "--order", "memory"),
    ):
        refused(tool(source, "--devices", npu, *words, "--plan"), USAGE, *parts)
    refused(tool(source, "--order", "memory"), USAGE, "--order memory needs --devices")
    refused(tool(source, "--budget", "npu=1M"), USAGE, "--budget needs --devices")


def test_little_overlap(tool, folder):
    """Nodes of 1 us each, all but one of them in a subgraph of one device: 12 of them in 11 us are 1.09."""
    for count, said in ((9, None), (10, None), (11, "at most 1.09 times"), (19, "at most 1.05 times")):
        chain = "".join(f"b{n} = Relu (b{n - 1}) " for n in range(1, count + 1))
        text = f"g (float[4] b0) => (float[4] y) {{ {chain} [erf] y = Erf (b{count}) }}"
        source = folder / "m.onnx"
        source.write_bytes(
            parser.parse_model('<ir_version: 10, opset_import: ["" : 17]>\n' + text).SerializeToString()
        )
        npu = profile(folder, "Relu", cost={"node_ns": 1000})
        (folder / "times.json").write_text('{"erf": 1000}')
        host = profile(folder, name="host", host=True, cost={"node_ns": 1000000, "table": "times.json"})
        done = tool(source, "-O0", "--devices", f"{npu},{host}", "--plan")
        expect(done.returncode == 0, done.stderr)
        share = f"s0 on npu has {100 * count // (count + 1)} % of the work"
        expect(said in done.stderr and share in done.stderr if said else not done.stderr, count, done.stderr)


if __name__ == "__main__":
    sys.exit(main(globals()))
