#!/usr/bin/env python3
# LONG: --all
"""Models per bucket as they are written, padded and cut in ONNX Runtime, against true runs of the original.

  bucket_files.py GRAPHOPT [FOLDER] [--all] [--only NAME ...] [--max-bytes N] [--floor N] [--jobs N]

FOLDER has filled models of tests/models (the file's name says which); without it they are filled into a
temporary folder. The short form takes models of at most SHORT_BYTES, --all takes every one. Marks are those
of bucket_models.py with two sizes for each symbol, and those of tests/vectors/buckets (--only vectors).

  * OUT, the models and the manifest are what the manifest's schema and lib/manifests.py say. A refused model
    ends the run with status 2 and a message that names the node; with --bucket-require repair it
    may be written.
  * Runs of the bucket's file, padded in each way that its classes of pads allow, give the true run's results
    when cut (tolerances and data of bucket_models.py). examples/run_manifest.py, which reads the manifest by
    means of its own, chooses a bucket and gives them, too.
  * The model of a bucket has no more nodes than OUT, by the counting rule of docs/report.md, unless it is
    repaired.
  * Where all symbols of a transformer are marked, its buckets compute no shapes (SHAPES) and have no open
    dim, but for EXCEPTIONS. One that is refused is written with all symbols fixed.
  * With --devices PROFILE, for transformers and the shipped profiles with conditions on static shapes: the
    parts of a bucket, one after another, give what its whole model gives, bit by bit.

The table has nodes of OUT and of the buckets, what is left in buckets of operators that static shapes could
spare (LEFT), and comparisons; then, for devices, the share of nodes on the accelerator in OUT and in buckets.
"""

import argparse
import contextlib
import json
import multiprocessing as mp
import pathlib
import subprocess
import sys
import tempfile

import bucket_models
import bucket_vectors
import numpy as np
import onnx
import onnx.parser
import onnxruntime

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "property")]
import _pool  # noqa: E402
from lib import counting, inputs, layouts, manifests, models, padding, runs, vectors, verdicts  # noqa: E402
from lib.tool import executable  # noqa: E402

SHORT_BYTES = 1.2e6
PAIRS = 3  # of extents that are drawn
TRANSFORMERS = [
    "fp16_bert",
    "hf_bert",
    "hf_bert_dynamo",
    "hf_deberta",
    "hf_gpt2_op23",
    "hf_gpt2_past",
    "hf_llama",
    "hf_llama_deep",
    "hf_t5_decoder",
    "hf_t5_encoder",
    "hf_vit",
    "hf_whisper_decoder",
    "moe_block",
    "ort_bert_contrib",
    "q4_llama",
]
DEVICE_MODELS = ["fp16_bert", "hf_deberta", "ort_bert_contrib"]
SHAPES = ("Shape", "Size", "ConstantOfShape", "Range")
# Between parts a value of 16 bits is rounded that ONNX Runtime keeps in float32 inside the whole: at each
# border on the way, at dozens in some of these.
ROUNDED = padding.TOLERANCE["float16"]
LEFT = (*SHAPES, "Expand", "NonZero", "If", "Loop", "Scan")
# What a transformer's buckets keep of SHAPES, by model, and why.
EXCEPTIONS = {}


def write(tool, source, marks, folder, *options):
    """(manifest's path or None where the model is refused, what the tool said)"""
    spec, out = folder / "marks.json", folder / "out.onnx"
    spec.write_text(json.dumps(marks), encoding="utf-8")
    command = [tool, source, "--buckets", spec, "-o", out, "-q", "--infer", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=verdicts.SECONDS)
    if done.returncode not in (0, 2):
        raise verdicts.ToolFailed(f"exit status {done.returncode}: {done.stderr.strip()[-300:]}")
    return (folder / "out.manifest.json" if done.returncode == 0 else None), done.stderr


class FileCheck(padding.Check):
    """Padded runs are those of the file of the bucket that has these extents."""

    def __init__(self, model, verdict, folder=None, section=None, **options):
        super().__init__(model, verdict, **options)
        self.folder, self.section, self.sessions = folder, section, {}
        self.files = {tuple(sorted(m["at"].items())): m["file"] for m in section["models"]}

    def one(self, feeds, true, padded, rng, expected=None):
        self.true = true
        at = {s: n for s, n in padded.items() if s in self.section["symbols"]}
        self.file = self.files[tuple(sorted(at.items()))]
        return super().one(feeds, true, padded, rng, expected)

    def run_padded(self, feeds):
        if self.file not in self.sessions:
            self.sessions[self.file] = runs.session(str(self.folder / self.file))
        session = self.sessions[self.file]
        more = {e["name"]: np.full(e["shape"], self.true[e["symbol"]]) for e in self.section["extra_inputs"]}
        wanted = {v.name for v in session.get_inputs()}
        return session.run(self.names, {k: v for k, v in (feeds | more).items() if k in wanted})


def two_sizes(subject):
    """Marks as those of the subject, with two sizes for each symbol."""
    marks = subject.marks()
    for g in marks["groups"]:
        low, high, step = subject.ranges[g["symbols"][0]]
        middle = low + (high - low) // step // 2 * step
        g.clear()
        g.update({"values": sorted({middle, high}), "min": low})
    for g, symbol in zip(marks["groups"], subject.ranges):
        g["symbols"] = [symbol]
    return marks


def example_problems(deployed, original, verdict, trials, feeds_for, factor, met):
    """How the results of examples/run_manifest.py differ from true ones; runs that the model refuses, and
    those that do not meet an assumption (`met`), are left out."""
    names = [v.name for v in original.get_outputs()]
    wanted = {v.name for v in original.get_inputs()}
    for true, _ in trials:
        feeds = {k: v for k, v in feeds_for(true).items() if k in wanted}
        try:
            expected = original.run(None, feeds)
        except Exception:  # noqa: BLE001 - ONNX Runtime has many kinds
            continue
        if not met(feeds):
            continue
        bucket, found = deployed.bucket_of(feeds)
        if bucket is None or any(found[s] != true[s] for s in verdict.lists):
            yield f"the example takes {bucket and bucket['at']} for {true}"
            continue
        least = min(
            (m["at"] for m in deployed.buckets.models if all(m["at"][s] >= true[s] for s in m["at"])),
            key=lambda at: int(np.prod(list(at.values()))),
        )
        if verdict.fixed == set() and np.prod(list(least.values())) != np.prod(list(bucket["at"].values())):
            yield f"the example takes {bucket['at']} for {true}, {least} is smaller"
        got = deployed.run(feeds)
        for name, a in zip(names, expected):
            why = padding.difference(a, got[name], padding.tolerance_of(a.dtype, factor))
            if why:
                yield f"the example: {name}: {why} ({true} in {bucket['at']})"


def compare(manifest_path, model, feeds_for, free, legal, factor, relations, excuse):
    """A padding.Found: the files of buckets and the example against true runs."""
    manifest = json.loads(manifest_path.read_text(encoding="utf-8"))
    section = manifest["buckets"]
    verdict, rng = verdicts.Verdict(section), np.random.default_rng(5)
    trials = list(padding.bindings(verdict, rng, PAIRS, free, legal))
    options = {"factor": factor, "relations": relations, "excuse": excuse}
    more = {"make": FileCheck, "folder": manifest_path.parent, "section": section}
    found = padding.check(model, verdict, trials, feeds_for, rng, **more, **options)
    subject = padding.Check(model, verdict, **options)
    deployed = manifests.runner().Deployed(manifest_path)

    def data(true):
        return feeds_for(padding.related(true, relations))

    def met(feeds):
        return subject.dominated(feeds, True)

    if not found.excused:
        args = deployed, subject.session, verdict, trials, data, factor, met
        found.problems.extend(example_problems(*args))
    return found, manifest


def graph_problems(name, manifest, folder, all_marked):
    """(nodes of OUT and of the buckets, and what is left of LEFT, as a text; problems)"""
    is_repaired = bool(manifest["buckets"].get("repairs"))
    out = onnx.load(folder / manifest["buckets"]["fallback"], load_external_data=False)
    whole, sizes, left, problems = counting.nodes(out), [], {}, []
    for m in manifest["buckets"]["models"]:
        model = onnx.load(folder / m["file"], load_external_data=False)
        count, operators = counting.nodes(model), counting.operators(model)
        sizes.append(count)
        left = {k: max(left.get(k, 0), operators[k]) for k in LEFT if operators[k] or left.get(k)}
        if count > whole and not is_repaired:
            problems.append(f"{m['file']} has {count} nodes, OUT {whole}")
        if name in TRANSFORMERS and all_marked:
            kept = {k for k in SHAPES if operators[k]} - set(EXCEPTIONS.get(name, ()))
            if kept:
                problems.append(f"{m['file']} has {', '.join(sorted(kept))}")
            if (opened := manifests.open_dims(model)) and name not in EXCEPTIONS:
                problems.append(f"{m['file']}: open dims: {dict(list(opened.items())[:3])}")
    nodes = str(min(sizes)) + (f"..{max(sizes)}" if max(sizes) != min(sizes) else "")
    return f"{whole:5} -> {nodes}  {' '.join(f'{k} {n}' for k, n in left.items())}", problems


def examine_model(tool, task, folder):
    name, path, symbols = task
    subject = bucket_models.Subject(name, path, symbols)
    marks, all_marked = two_sizes(subject), set(symbols) == set(subject.record["symbols"])
    manifest_path, said = write(tool, path, marks, folder)
    refusal = "" if manifest_path else said.split(": ", 3)[-1].split("\n")[0][:150]
    if manifest_path is None:
        if "error: " not in said or "\n  help: " not in said:
            return "failed", "", 0, [f"no message: {said[:200]}"]
        manifest_path, said = write(tool, path, marks, folder, "--bucket-require", "repair")
        if manifest_path is None and not (all_marked and name in TRANSFORMERS):
            return "refused", refusal, 0, []
    how = "repaired" if refusal and manifest_path else "fixed" if refusal else None
    if manifest_path is None:  # then static shapes alone are looked at
        for g in marks["groups"]:
            g["fixed"] = True
            del g["min"]
        manifest_path, said = write(tool, path, marks, folder)
        if manifest_path is None:
            return "failed", "", 0, [f"refused without padding: {said.strip()[:200]}"]
    factor = bucket_models.HALF if bucket_models.has_half(subject.model) else 1
    args = manifest_path, subject.model, subject.data, subject.free, subject.legal, factor, subject.relations
    found, manifest = compare(*args, True)
    if found.unmet and not found.compared:
        subject.full_masks = True
        found, manifest = compare(*args, True)
    problems = found.problems[:3] + examined(tool, manifest_path)
    text, wrong = graph_problems(name, manifest, folder, all_marked)
    if found.compared <= found.excused and not problems:
        problems.append("nothing was compared")
    return how or manifest["buckets"]["verdict"], text, found.compared, problems + wrong


def examined(tool, manifest_path):
    return [*manifests.problems(manifest_path), *manifests.read_again(tool, manifest_path)][:3]


def names_node(model, name, said):
    """Whether a message names the node; one without a name is recorded as its first result."""
    for k, n in enumerate(model.graph.node):
        if name in (n.name, *n.output[:1]):
            return (f"node '{n.name}' (" if n.name else f"node #{k} ({n.op_type})") in said
    return False


def examine_vector(tool, case, folder):
    source = (vectors.FOLDER / "buckets" / case["file"]).read_text(encoding="utf-8")
    model = onnx.parser.parse_model(source)
    path = folder / "case.onnx"
    path.write_bytes(model.SerializeToString())
    manifest_path, said = write(tool, path, bucket_vectors.marks_of(case), folder)
    safe = manifest_path is not None
    if safe != case["expect"]["bucketable"]:
        return "failed", "", 0, [f"recorded is the contrary: {said.strip()[:200]}"]
    if not safe:
        if not names_node(model, case["expect"]["node"], said):
            return "failed", "", 0, [f"the message does not name the node: {said.strip()[:200]}"]
        manifest_path, _ = write(
            tool, path, bucket_vectors.marks_of(case), folder, "--bucket-require", "repair"
        )
        if manifest_path is None:
            return "refused", "", 0, []
    named = {n for v in padding.inputs_of(model) for d in padding.dims_of(v) for n in d.names()}
    free = dict.fromkeys(sorted(named - set(case["ranges"])), bucket_vectors.FREE)
    rng = np.random.default_rng(3)

    def data(extents):
        return padding.feeds_of(model, {**free, **extents}, rng, case["values"])

    found, manifest = compare(manifest_path, model, data, free, lambda e: True, 1, None, False)
    text, wrong = graph_problems("", manifest, folder, False)
    problems = found.problems[:3] + examined(tool, manifest_path) + wrong
    if manifest["buckets"]["symbols"] != case["bucket_lists"]:
        problems.append(f"buckets {manifest['buckets']['symbols']}")
    if not found.compared:
        problems.append("nothing was compared")
    return manifest["buckets"]["verdict"] if safe else "repaired", text, found.compared, problems


def static_profiles():
    """The shipped profiles that ask for static shapes anywhere."""
    folder = TESTS.parent / "share/graphopt/devices"
    return sorted(p.stem for p in folder.glob("*.json") if '"static"' in p.read_text(encoding="utf-8"))


def share(entry, hosts):
    counts = entry["statistics"]["device_nodes"]
    total = sum(counts.values())
    return sum(n for d, n in counts.items() if d not in hosts) / total if total else 0


def examine_device(tool, task, folder):
    """Parts of the buckets against their wholes, bit by bit; borders of 16 bits may round."""
    (name, path, symbols), device = task
    subject = bucket_models.Subject(name, path, symbols)
    manifest_path, said = write(tool, path, two_sizes(subject), folder, "--devices", device)
    if manifest_path is None:
        return "failed", "", 0, [f"refused: {said.strip()[:200]}"]
    runner = manifests.runner()
    deployed = runner.Deployed(manifest_path)
    manifest, compared = deployed.manifest, 0
    problems = examined(tool, manifest_path)
    hosts = {d["id"] for d in manifest["devices"] if d.get("host")}
    for m in manifest["buckets"]["models"]:
        feeds = inputs.make(subject.record, {**subject.free, **m["at"]}, 1)
        whole = runner.session_of(folder / m["file"])
        expected = whole.run(None, feeds)
        got = deployed.model_of(m).run(feeds)
        half = any(
            p["type"].get("dtype") in ("FLOAT16", "BFLOAT16") for s in m["subgraphs"] for p in s["outputs"]
        )
        for v, a in zip(whole.get_outputs(), expected):
            compared += 1
            if (far := runner.difference(a, got[v.name])) > (ROUNDED if half else 0):
                problems.append(f"{m['file']}: {v.name} differs by {far:.3g}")
    shares = [share(m, hosts) for m in manifest["buckets"]["models"]]
    parts = [len(m["subgraphs"]) for m in manifest["buckets"]["models"]]
    text = (
        f"{share(manifest, hosts):6.1%} in {len(manifest['subgraphs'])} subgraphs -> "
        f"{min(shares):6.1%} in {max(parts)}"
    )
    return manifest["buckets"]["verdict"], text, compared, problems


@contextlib.contextmanager
def answering(tool, tasks):
    onnxruntime.set_default_logger_severity(4)

    def answer(k):
        kind, _, task = tasks[k]
        with tempfile.TemporaryDirectory() as folder:
            try:
                return kind(tool, task, pathlib.Path(folder))
            except Exception as e:  # noqa: BLE001 - a table of all is worth more
                return "failed", "", 0, [f"{type(e).__name__}: {' '.join(str(e).split())[:300]}"]

    yield answer


def tasks_of(a, work):
    """[(function, name, its task)]"""
    bound = a.max_bytes or (float("inf") if a.all else SHORT_BYTES)
    records = models.records()
    only = [n for n in a.only if n != "vectors"]
    names = (
        []
        if a.only == ["vectors"]
        else models.chosen(only, lambda r: r["filled_bytes"] <= bound and r["symbols"])
    )
    names.sort(key=lambda n: records[n]["filled_bytes"])
    tasks = []
    if not a.only or "vectors" in a.only:
        cases = json.loads((vectors.FOLDER / "buckets/cases.json").read_text(encoding="utf-8"))
        tasks = [(examine_vector, case["id"], case) for case in cases]
    paths = models.filled(dict.fromkeys([*names, *(DEVICE_MODELS if not a.only else [])]), work)
    for task in bucket_models.tasks_of({name: paths[name] for name in names}):
        tasks.append((examine_model, f"{task[0]:24} {','.join(task[2])}", task))
    for name in [n for n in DEVICE_MODELS if n in paths]:
        for device in static_profiles():
            task = (name, paths[name], list(records[name]["symbols"])), device
            tasks.append((examine_device, f"{name:24} {device}", task))
    return tasks


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("folder", nargs="?", metavar="FOLDER")
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    p.add_argument("--max-bytes", type=float, metavar="N")
    p.add_argument("--floor", type=int, default=0, metavar="N", help="the least number that is written")
    p.add_argument("--jobs", type=int, default=2, metavar="N")
    a = p.parse_args()
    with models.work_folder(a.folder) as work:
        tasks = tasks_of(a, work)
        counts, bad, compared = {}, 0, 0
        limit = bucket_models.LIMIT
        for k, found in _pool.answers(answering, (a.tool, tasks), range(len(tasks)), a.jobs, limit):
            if isinstance(found, _pool.Crash):
                found = "failed", "", 0, [found.text]
            verdict, text, count, problems = found
            counts[verdict] = counts.get(verdict, 0) + 1
            bad += bool(problems)
            compared += count
            line = f"{tasks[k][1]:46} {verdict:8} {count:4}  {text}".rstrip()
            print("\n    ".join([line, *problems[:5]]), flush=True)
    written = sum(counts.get(v, 0) for v in ("proved", "assumed", "repaired", "fixed"))
    told = ", ".join(f"{n} {v}" for v, n in sorted(counts.items()))
    print(f"{len(tasks)} runs: {written} written ({told}), {compared} comparisons, {bad} bad")
    if written < a.floor:
        print(f"at least {a.floor} must be written")
    return 1 if bad or written < a.floor or not tasks else 0


if __name__ == "__main__":
    mp.set_start_method("fork")
    sys.exit(main())
