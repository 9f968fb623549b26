#!/usr/bin/env python3
# LONG: --all
"""What --emit writes, run in ONNX Runtime, against the whole model.

  exports.py GRAPHOPT [--all] [--only NAME ...] [--devices NAME ...] [--forms NAME ...] [--work DIR]

The short form takes the small models of tests/models and one of the shipped profiles; --all takes all
models and profiles. For each: Triton would refuse nothing of OUT.triton (lib/triton.py), but for dims
that ONNX Runtime knows and graphopt does not, of which it warns, and its ensemble gives what OUT gives;
so does OUT with the session option of OUT.layers.json, and the pipeline of OUT.genai. OUT.ort-package is
opened by ONNX Runtime: its variant for the CPU, and that for another provider, give what OUT gives, and its
weights are there once; of some models the buckets, too, with inputs of their sizes. Models that a form
cannot say are refused with the reasons of REFUSED and no others.
Results are compared as in partitions.py.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import inputs, manifests, models, profiles  # noqa: E402
from lib.packages import CPU, OTHER, Package  # noqa: E402
from lib.triton import Repository  # noqa: E402
from parts import is_half  # noqa: E402
from partitions import ROUNDED, has_half_borders, shipped  # noqa: E402

SHORT_BYTES = 6e6
SHORT_DEVICES = ["nnapi"]
BUCKETS = {
    "ort_bert_contrib": ["seq"],
    "fp16_bert": ["batch", "seq"],
}  # and their symbols
DECODERS = {"hf_gpt2_past", "hf_gpt2_op23", "hf_llama", "hf_llama_deep", "q4_llama"}
OPTION = "session.layer_assignment_settings"
# Of a form: what is said of a model that it cannot say.
REFUSED = {
    "triton": [
        "has no inputs",
        "and an ensemble can only give",
        "Triton's ONNX Runtime backend does not have",
        "has a dim 0",
        "is a sequence",
    ],
    "ort-annotations": ["IR version 10"],
    "genai": ["no decoder that onnxruntime-genai can run"],
    "ort-package": [],
}


def session_of(path, **config):
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    for key, value in config.items():
        options.add_session_config_entry(key, value)
    return ort.InferenceSession(path, options, ["CPUExecutionProvider"])


def results(session, feeds):
    return dict(zip([v.name for v in session.get_outputs()], session.run(None, feeds), strict=True))


def run_triton(folder, feeds, said):
    repository = Repository(folder / "out.triton")
    if repository.open_dims and "where ONNX Runtime knows more" not in said:
        raise AssertionError(f"Triton would refuse: {repository.open_dims[:3]}")
    if repository.problems:
        raise AssertionError(f"Triton would refuse: {repository.problems[:3]}")
    given = {n: v.reshape(1) if np.shape(v) == () else v for n, v in feeds.items()}
    return repository.run(given)


def run_layers(folder, feeds, _said):
    setting = json.loads((folder / "out.layers.json").read_text())["session_options"][OPTION]
    return results(session_of(folder / "out.onnx", **{OPTION: setting}), feeds)


def run_genai(folder, feeds, _said):
    store, text = dict(feeds), (folder / "out.genai/genai_config.json").read_text()
    for group in json.loads(text)["model"]["decoder"]["pipeline"]:
        for one in group.values():
            session = session_of(folder / "out.genai" / one["filename"])
            given = {n: store[n] for n in one["inputs"]}
            store.update(zip(one["outputs"], session.run(one["outputs"], given), strict=True))
    return store


def run_package(folder, feeds, _said):
    """The variant of the profile is tried as if it were for a provider that is here, and takes no nodes; a
    profile of the CPU's own provider has that of the CPU."""
    path = folder / "out.ort-package"
    package = Package(path)
    devices = json.loads((folder / "out.manifest.json").read_text())["devices"]
    wanted = {CPU} | {d["ep"]["name"] for d in devices if "ep" in d}
    name, session = package.session(exact=True)
    if name != "cpu" or set(package.variants()) != wanted:
        raise AssertionError(f"the variant '{name}' of {set(package.variants())}, not of {wanted}")
    got = results(session, feeds)
    whole = sum(p.stat().st_size for p in folder.glob("out.onnx*"))
    size = sum(p.stat().st_size for p in path.rglob("*") if p.is_file())
    if size > 1.01 * whole + (1 << 16):
        raise AssertionError(f"it has {size} bytes, and OUT {whole}")
    if wanted == {CPU}:
        return got
    for ep, variant in package.variants().items():
        if ep != CPU:
            variant["ep"] = OTHER
    (path / "manifest.json").write_text(json.dumps(package.document))
    package = Package(path, OTHER)
    name, session = package.session()
    if name == "cpu" or session.get_providers()[0] != OTHER:
        raise AssertionError(f"the variant '{name}' with {session.get_providers()}")
    results(session, feeds)
    other = results(package.session(exact=True)[1], feeds)
    differ = [n for n in got if manifests.runner().difference(got[n], other[n])]
    again = results(package.session(exact=True)[1], feeds)
    if wrong := [n for n in differ if not manifests.runner().difference(other[n], again[n])]:
        raise AssertionError(f"the variant '{name}' gives other {wrong[:3]}")
    return got


RUN = {"triton": run_triton, "ort-annotations": run_layers, "genai": run_genai, "ort-package": run_package}


def examine(tool, source, folder, device, record, forms):
    """{form: "equal", the reason of a refusal, or what is wrong}."""
    said, runner = {}, manifests.runner()
    for form in forms:
        run = RUN[form]
        command = [
            tool,
            source,
            "--devices",
            profiles.kept(device),
            "--force",
            "--emit",
            form,
            "-o",
            folder / "out.onnx",
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            reason = next((r for r in REFUSED[form] if r in done.stderr), None)
            said[form] = f"refused: {reason}" if reason else f"WRONG: {done.stderr.strip()[-300:]}"
            continue
        feeds = inputs.make(record, inputs.sizes(record, "default"), seed=1)
        whole = session_of(folder / "out.onnx")
        first, second = results(whole, feeds), results(whole, feeds)
        try:
            got = run(folder, feeds, done.stderr)
        except Exception as e:
            said[form] = f"WRONG: {type(e).__name__}: {str(e)[:300]}"
            continue
        limit = ROUNDED if has_half_borders(json.loads((folder / "out.manifest.json").read_text())) else 0
        said[form] = "equal"
        for name, wanted in first.items():
            value = got[name].reshape(np.shape(wanted)) if form == "triton" else got[name]
            if runner.difference(wanted, second[name]) == 0:
                if (far := runner.difference(wanted, value)) > limit:
                    said[form] = f"WRONG: {name} differs by {far:.3g}"
            elif np.shape(wanted) != np.shape(value):
                said[form] = f"WRONG: {name} has another shape"
    return said


def examine_buckets(tool, source, folder, device, record):
    """What is wrong with the components of buckets: each is run with inputs of its sizes, and compared with
    the set's file and with OUT."""
    extents = inputs.sizes(record, "default")
    symbols = BUCKETS[record["name"]]
    specs = [w for s in symbols for w in ("--bucket", f"{s}={extents[s]},{2 * extents[s]}")]
    words = ["--devices", profiles.kept(device), "--emit", "ort-package", "-o", folder / "out.onnx"]
    done = subprocess.run([tool, source, *words, *specs], capture_output=True, text=True)
    if done.returncode:
        return [f"buckets: {done.stderr.strip()[-300:]}"]
    package, runner, wrong = Package(folder / "out.ort-package"), manifests.runner(), []
    whole = sum(p.stat().st_size for p in folder.glob("out.onnx*"))
    size = sum(p.stat().st_size for p in package.folder.rglob("*") if p.is_file())
    out = session_of(folder / "out.onnx")
    manifest = json.loads((folder / "out.manifest.json").read_text())
    files = [folder / m["file"] for m in manifest["buckets"]["models"]]
    buckets = [n for n in package.names if n != "model"]
    for bucket, file in zip(buckets, files, strict=True):
        feeds = inputs.make(record, extents | package.sizes(bucket), seed=2)
        got = results(package.session(bucket, exact=True)[1], feeds)
        # Tolerances between OUT and buckets of models in halves, wherever these are, are bucket_files.py's.
        limits = [(session_of(file), 0)] + ([] if is_half(onnx.load(source)) else [(out, ROUNDED)])
        wrong += [
            f"{bucket}: {name} differs by {far:.3g}"
            for session, limit in limits
            for name, value in results(session, feeds).items()
            if (far := runner.difference(value, got[name])) > limit
        ]
    if len(buckets) != 2 ** len(symbols):
        wrong.append(f"buckets: {buckets}")
    print(f"{record['name']:26} {device:10} {len(buckets)} buckets, {size} bytes, OUT {whole}")
    return wrong


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=os.path.abspath)
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    p.add_argument("--devices", nargs="+", default=[], metavar="NAME")
    p.add_argument("--forms", nargs="+", default=list(RUN), choices=RUN, metavar="NAME")
    p.add_argument("--work", metavar="DIR", help="filled models are kept there and used again")
    a = p.parse_args()
    devices = a.devices or (shipped() if a.all else SHORT_DEVICES)
    bad = count = 0
    with models.work_folder(a.work) as work:
        names = models.chosen(a.only, lambda r: a.all or r["filled_bytes"] < SHORT_BYTES)
        for name, source in models.filled(names, work).items():
            for device in devices:
                with tempfile.TemporaryDirectory() as folder:
                    said = examine(
                        a.tool, source, pathlib.Path(folder), device, models.records()[name], a.forms
                    )
                    if "ort-package" in said and name in BUCKETS:
                        broken = examine_buckets(
                            a.tool, source, pathlib.Path(folder), device, models.records()[name]
                        )
                        if broken:
                            said["ort-package"] = f"WRONG: {broken[:3]}"
                if "genai" in said and (said["genai"] == "equal") != (name in DECODERS):
                    said["genai"] = f"WRONG: {said['genai']}"
                wrong = [f"{form}: {text}" for form, text in said.items() if text.startswith("WRONG")]
                count += 1
                bad += bool(wrong)
                line = ", ".join(f"{form} {re.sub('^WRONG.*', 'WRONG', text)}" for form, text in said.items())
                print("\n  ".join([f"{name:26} {device:10} {line}", *wrong]), flush=True)
    print(f"{count} partitions, {bad} bad")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
