# LONG: --all
"""A second run with the same options writes the same bytes, for every option that changes what is written.

  second_runs.py GRAPHOPT [--count N] [--only TEXT] [--all]

The options are those of --help: one that has no entry here, and an entry that no option has, is an error. An
entry lists words to run with, or says why there is nothing to repeat. The models are those of the golden
cases: N for each entry (10), others for each; --all: every case with every entry. Each file of the output
counts, the data files and those of subgraphs, too."""

import argparse
import functools
import json
import pathlib
import re
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import onnx
import onnx.parser
from _tool import Tool

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(TESTS))

from golden import run as golden  # noqa: E402
from lib.profiles import profile  # noqa: E402

PER_ENTRY = 10
DEVICE = ("Relu", "Add", "Mul", "MatMul", "Reshape", "Transpose", "Concat")  # what the device runs
NOTHING = "it changes nothing of what is written"
ENDS = "it writes no model"


# --- words that depend on the model ------------------------------------------------------------------------


def symbols(model):
    dims = [d for v in model.graph.input for d in v.type.tensor_type.shape.dim]
    return list(dict.fromkeys(d.dim_param for d in dims if re.fullmatch(r"\w+", d.dim_param)))


def inner(model):
    """Values that nodes make and that are no outputs."""
    outputs = {v.name for v in model.graph.output}
    return [v for n in model.graph.node for v in n.output if v and v not in outputs]


def first(values, *words):
    """The words for a model with the first of these values in place of '{}'; None where there is none."""

    def of(model):
        found = values(model)
        return [w.replace("{}", found[0]) for w in words] if found else None

    return of


def shape(model):
    for v in model.graph.input:
        dims = v.type.tensor_type.shape.dim
        if any(d.dim_param for d in dims):
            return ["--shape", f"{v.name}={','.join(str(d.dim_value or 4) for d in dims)}"]
    return None


def both_cuts(model):
    made = inner(model)
    return ["--inputs", made[0], "--outputs", made[-1]] if len(made) > 1 else None


# --- entries ------------------------------------------------------------------------------------------------

# Words, or a function of the model that gives them; DEVICE_FILE stands for a profile.
ENTRIES = {
    "-O": [["-O0"], ["-O1"], ["-O2"], ["-O3"]],
    "--exact": [["--exact"], ["-O3", "--exact"], ["--exact", "--infer"]],
    "--passes": [
        ["--passes", "dead-code"],
        ["--passes", "inline-functions,inline-if,unroll-loops"],
        ["--passes", "raise-gemm,raise-norms,raise-activations,compose"],
    ],
    "--disable-pass": [
        ["--disable-pass", "dead-code"],
        ["--disable-pass", "inline-functions,constant-folding"],
        ["--disable-pass", "compose,drop-noop,drop-identity"],
        ["--disable-pass", "merge-initializers,common-subexpressions", "--strip", "all"],
    ],
    "--inputs": [first(inner, "--inputs", "{}"), both_cuts],
    "--outputs": [first(inner, "--outputs", "{}"), first(inner, "--outputs", "{}", "--strip", "all")],
    "--constant-defaults": [["--constant-defaults"]],
    "--ir-version": [["--ir-version", "14"], ["--ir-version", "14", "--regions", "metadata"]],
    "--list-passes": ENDS,
    "--list-devices": ENDS,
    "--stop-after": [["--stop-after", "load"], ["--stop-after", "infer"], ["--stop-after", "clean-up"]],
    "--regions": [
        ["--regions", "none"],
        ["--regions", "metadata"],
        ["--regions", "functions"],
        ["--regions", "functions", "--strip", "all"],
        ["--regions", "metadata", "--infer", "--exact"],
    ],
    "--fold-limit": [["--fold-limit", "0"], ["--fold-limit", "8"], ["--fold-limit", "1G"]],
    "--fold": [["--fold", "native"], ["--fold", "ort"]],
    "--shape": [shape],
    "--dim": [
        first(symbols, "--dim", "{}=4"),
        first(symbols, "--dim", "{}=2..7"),
        first(symbols, "--dim", "{}=3", "--infer"),
        first(symbols, "--dim", "{}=4", "--strip", "all"),
    ],
    "--dim-names": [["--dim-names", "opaque"], ["--dim-names", "expressions", "--infer"]],
    "--infer": [["--infer"], ["-O0", "--infer"], ["-O3", "--infer"]],
    "--bucket": [first(symbols, "--bucket", "{}=4,8")],
    "--buckets": "the same as --bucket, from a file",
    "--bucket-require": [
        first(symbols, "--bucket", "{}=4,8", "--bucket-require", how)
        for how in ("proved", "assumed", "repair", "force")
    ],
    "--bucket-single": "the result is no model to be bucketed: it takes every size already",
    "--devices": [
        ["--devices", "DEVICE_FILE", *more]
        for more in (
            [],
            ["-O0"],
            ["--strip", "names"],
            ["--strip", "all", "-O0"],
            ["--regions", "functions"],
            ["--regions", "functions", "--strip", "all"],
            ["--disable-pass", "dead-code"],
            ["--disable-pass", "constants-to-initializers", "-O1"],
            ["--passes", "merge-initializers"],
            ["--infer"],
        )
    ],
    "--partition-algorithm": [
        ["--devices", "DEVICE_FILE", "--partition-algorithm", how] for how in ("grow", "fewest", "depth")
    ],
    "--lower": [["--devices", "DEVICE_FILE", "--lower", when] for when in ("auto", "never")],
    "--assignment": "the nodes of golden cases name no devices",
    "--connected": [["--devices", "DEVICE_FILE", "--connected"]],
    "--min-nodes": [["--devices", "DEVICE_FILE", "--min-nodes", "3"]],
    "--min-gain": [["--devices", "DEVICE_FILE", "--min-gain", "1000000"]],
    "--order": [["--devices", "DEVICE_FILE", "--order", order] for order in ("file", "memory")],
    "--budget": [["--devices", "DEVICE_FILE", "--budget", "npu=1K"]],
    "--plan": ENDS,
    "--parts": [["--devices", "DEVICE_FILE", "--parts", "never"]],
    "--parts-dir": [
        ["--devices", "DEVICE_FILE", "--parts-dir", "parts"],
        first(symbols, "--bucket", "{}=4,8", "--parts-dir", "a/b"),
    ],
    "--manifest": "it names a file",
    "--emit": [["--devices", "DEVICE_FILE", "--emit", "ort-annotations"]],
    "--output": [["-o", name] for name in ("out.onnxtxt", "out.textproto", "out.txtpb")],
    "--external-data": [["--external-data", when] for when in ("auto", "always", "never")],
    "--external-threshold": [["--external-data", "always", "--external-threshold", "1"]],
    "--external-file": [["--external-file", "weights"]],
    "--strip": [
        ["--strip", what, *more]
        for what in ("doc", "metadata", "names", "all")
        for more in ([], ["--infer"], ["--exact"], ["-O0"])
    ],
    "--external-root": NOTHING,
    "--force": NOTHING,
    "--check": NOTHING,
    "--check-tolerance": NOTHING,
    "--check-input": NOTHING,
    "--bisect": NOTHING,
    "--verify-each": NOTHING,
    "--keep-bad": NOTHING,
    "--ort": NOTHING,
    "--max-memory": NOTHING,
    "--timeout": NOTHING,
    "--json": NOTHING,
    "--report": NOTHING,
    "--dot": NOTHING,
    "--explain": NOTHING,
    "--print-after": NOTHING,
    "--time-passes": NOTHING,
    "--quiet": NOTHING,
    "--verbose": NOTHING,
    "--log-level": NOTHING,
    "--progress": NOTHING,
    "--color": NOTHING,
    "--version": ENDS,
    "--help": ENDS,
}


def options_of(help_text):
    """The long names of all options, or the short ones of those that have none."""
    out = set()
    for line in help_text.splitlines():
        # An option stands at the start of its line, as in "  -o, --output FILE   where".
        m = re.match(r"  (?:-\w, )?(--[a-z][a-z-]*)|  (-[A-Z])", line)
        if m and not line.startswith("  -O0   "):
            out.add(m[1] or m[2])
    return out


# --- runs ---------------------------------------------------------------------------------------------------


def files_of(folder):
    """The files of a folder; of a manifest all but the id of the file that was read."""
    out = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        data = path.read_bytes()
        if path.name.endswith(".manifest.json"):
            manifest = json.loads(data)
            manifest.get("network", {}).pop("source_id", None)
            data = json.dumps(manifest, sort_keys=True).encode()
        out[str(path.relative_to(folder))] = data
    return out


def written(tool, source, folder, words):
    """(the run, the path of its result)"""
    name = "out.onnx"
    if "-o" in words:
        name, words = (
            words[words.index("-o") + 1],
            [w for w in words if w != "-o" and not w.startswith("out.")],
        )
    folder.mkdir()
    return tool("-q", source, "-o", folder / name, *words), folder / name


def check(tool, device, entry, case):
    """None where the model cannot be written with the entry's words, else what is wrong: '' for nothing."""
    path, text = case
    model = onnx.parser.parse_model(text)
    words = entry(model) if callable(entry) else entry
    if words is None:
        return None
    words = [device if w == "DEVICE_FILE" else w for w in words]
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        source = folder / "in.onnx"
        source.write_bytes(model.SerializeToString())
        done, out = written(tool, source, folder / "a", words)
        if done.returncode != 0 or not out.exists():
            return None
        again, _ = written(tool, out, folder / "b", words)
        if again.returncode == 1 and words[0] in ("--dim", "--bucket"):  # the symbol is a number now
            shutil.rmtree(folder / "b")
            again, _ = written(tool, out, folder / "b", words[2:])
        said = f"{path} {' '.join(words)}: "
        if again.returncode != 0:
            return said + f"the second run ends with {again.returncode}: {again.stderr}"
        a, b = files_of(folder / "a"), files_of(folder / "b")
        if "--bucket" in words:  # their models call nodes by names that OUT gives, and the original did not
            a, b = ({out.name: files[out.name]} for files in (a, b))
        if set(a) != set(b):
            return said + f"the second run writes {sorted(b)}, not {sorted(a)}"
        other = [name for name in a if a[name] != b[name]]
        return said + f"the second run writes other bytes into {other}" if other else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tool")
    parser.add_argument("--count", type=int, default=PER_ENTRY)
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    words = parser.parse_args()
    tool, count, every = Tool(words.tool), words.count, words.all
    known = options_of(tool("--help").stdout.decode())
    assert len(known) > 50, known
    assert known == set(ENTRIES), f"no entry: {known - set(ENTRIES)}, no option: {set(ENTRIES) - known}"
    paths = sorted((TESTS / "golden").rglob("*.txt"))
    cases = [(p.relative_to(TESTS), golden.read_case(str(p))["before"]) for p in paths]
    failed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:
        device = str(profile(pathlib.Path(folder), *DEVICE))
        entries = [
            (option, e) for option, list_ in ENTRIES.items() if not isinstance(list_, str) for e in list_
        ]
        for number, (option, entry) in enumerate(entries):
            if words.only not in option:
                continue
            # Cases in an order of the entry's own: neighbours are much alike.
            start, stride = 7 * number, next(k for k in (641, 643) if len(cases) % k)
            chosen = cases if every else [cases[(start + stride * k) % len(cases)] for k in range(len(cases))]
            wrong, compared = [], 0
            for first_of in range(0, len(chosen), count):
                if compared >= count and not every:
                    break
                results = list(
                    pool.map(functools.partial(check, tool, device, entry), chosen[first_of:][:count])
                )
                compared += sum(r is not None for r in results)
                wrong += [r for r in results if r]
            name = f"{option} [{number}]" if callable(entry) else " ".join(entry)
            failed += len(wrong) + (compared == 0)
            for w in wrong:
                print(w)
            if compared == 0:
                print(f"{name}: no model was written")
            print(f"{len(wrong)} of {compared} differ: {name}", flush=True)
    print(f"{failed} wrong")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
