#!/usr/bin/env python3
# LONG: --all
"""Real exports mapped with `graphopt map`: on a copy with other names in another order, on what graphopt
makes of them, and on each other.

  map_zoo.py GRAPHOPT [--all] [--only NAME ...] [--work DIR]

The models are those of tests/models; the short form takes the ones of less than SHORT_BYTES, --all takes all.
Names, contents and order are known of the copy: each operator must have its counterpart, also without names,
and without weights only unsure pairs may be wrong. Of the -O2 result the verdict must be "one model", values
that keep their name must be in pairs of that name, but for a few, and most operators must have a counterpart.
Models of other kinds must be "not one model" in at least UNLIKE of all pairs.
"""

import argparse
import os
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np
import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import maps, models  # noqa: E402

SHORT_BYTES = 1.1e6
UNLIKE = 0.99
SAME_NAME = {"": 0.99, "--no-names": 0.95}  # of pairs of which both names are in both models
SAME_NAME_OF_ALL = 0.996
RELATED = [  # models of different kinds that share most of what they are
    {"hf_llama", "hf_llama_deep", "q4_llama"},
    {"tv_mobilenet_v3_small", "tv_ssdlite320", "tv_lraspp", "tv_fasterrcnn_mobilenet"},
    {"tv_resnet18", "qdq_resnet", "tv_retinanet_head"},
    {"hf_bert", "hf_bert_dynamo", "fp16_bert", "ort_bert_contrib"},
]
# Of the operators of the optimized model. In rec_feature_split a third of 15 was moved in front of a Split,
# and has no counterpart.
MAPPED = 0.65


class Failed(Exception):
    """A run did not end as it must; the text says how."""


def mapped(tool, a, b, *words, statuses=(0,)):
    done = subprocess.run([tool, "map", a, b, "--json", *words], capture_output=True)
    if done.returncode not in statuses:
        raise Failed(f"map {' '.join(words)}: exit status {done.returncode}: {done.stderr.decode()[-300:]}")
    report = maps.read(done.stdout)
    if found := maps.problems(report):
        raise Failed(f"map {' '.join(words)}: {'; '.join(found[:3])}")
    return report


def on_a_copy(tool, source, folder):
    """What is wrong with the map of a model and its renamed and reordered copy."""
    model = onnx.load(source)
    copy, truth = maps.renamed(model, random.Random(1))
    target = f"{folder}/copy.onnx"
    onnx.save(copy, target)
    numbers = maps.numbers_of(model)
    for words in ([], ["--no-names"], ["--no-weights"]):
        report = mapped(tool, source, target, *words)
        pairs = [p for p in report["pairs"] if p["a"] in truth]  # those of functions are not in it
        wrong = maps.wrong_pairs({"pairs": pairs}, truth, numbers)
        if words == ["--no-weights"]:
            sure = [p for p in pairs if p["confidence"] > 0.6]
            missing = {p["a"] for p in pairs}
            wrong = [w for w in maps.wrong_pairs({"pairs": sure}, truth, numbers) if "has no pair" not in w]
            wrong += [f"'{a}' has no pair" for a in truth if a not in missing]
        if wrong:
            yield f"copy {' '.join(words)}: {len(wrong)} of {len(truth)}: {'; '.join(wrong[:3])}"
        if report["verdict"] != "one model" or report["a"]["network"] != report["b"]["network"]:
            yield f"copy {' '.join(words)}: {report['verdict']}"


def on_the_result(tool, source, folder):
    """What is wrong with the map of a model and of what graphopt makes of it."""
    target = f"{folder}/out.onnx"
    done = subprocess.run([tool, source, "-O2", "-q", "-o", target], capture_output=True, text=True)
    if done.returncode:
        raise Failed(f"-O2: exit status {done.returncode}: {done.stderr[-300:]}")
    before, after = (set(maps.operators(onnx.load(f))) for f in (source, target))
    for words in ([], ["--no-names"]):
        report = mapped(tool, source, target, *words)
        known = [p for p in report["pairs"] if p["a"] in after and p["b"] in before]
        right = sum(p["a"] == p["b"] for p in known)
        share = 1 - report["summary"]["b"]["alone"]
        yield len(known), right, share, words


def examine(tool, source, folder, total):
    """(problems, figures) of one model; adds its pairs to the total."""
    problems, figures = [], ""
    try:
        problems += on_a_copy(tool, source, folder)
        for known, right, share, words in on_the_result(tool, source, folder):
            figures += f"   {right}/{known} by name, {share:.3f} mapped"
            total += [known, right]
            if right < SAME_NAME["".join(words)] * known:
                problems.append(f"-O2 {' '.join(words)}: {known - right} of {known} pairs have other names")
            if share < MAPPED:
                problems.append(f"-O2 {' '.join(words)}: {share:.3f} of the result is mapped")
    except Failed as e:
        problems.append(str(e))
    return problems, figures


def unlike(tool, paths):
    """(pairs of models of other kinds, texts about those that are said to be one model)."""
    records, count, bad = models.records(), 0, []
    for a in paths:
        for b in paths:
            alike = records[a]["kind"] == records[b]["kind"] or any({a, b} <= group for group in RELATED)
            if a == b or alike:
                continue
            count += 1
            verdict = mapped(tool, paths[a], paths[b], statuses=(0, 3))["verdict"]
            if verdict != "not one model":
                bad.append(f"{a} -> {b}")
    return count, bad


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT")
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    p.add_argument("--work", metavar="DIR", help="filled models are kept there and used again")
    a = p.parse_args()
    failed, total = [], np.zeros(2, int)
    with models.work_folder(a.work) as work, tempfile.TemporaryDirectory() as temp:
        names = models.chosen(a.only, lambda r: a.all or r["filled_bytes"] < SHORT_BYTES)
        paths = models.filled(names, work)
        for name, source in paths.items():
            problems, figures = examine(a.tool, source, temp, total)
            print("\n  ".join([f"{name:28}{figures}", *problems]), flush=True)
            failed += [name] if problems else []
            for f in os.listdir(temp):
                os.remove(os.path.join(temp, f))
        count, bad = unlike(a.tool, paths)
    print(f"one model, by mistake: {', '.join(bad) or 'none'}")
    good = len(bad) <= (1 - UNLIKE) * count and total[1] >= SAME_NAME_OF_ALL * total[0]
    print(f"{total[1]} of {total[0]} pairs with names that stay have the same name")
    print(
        f"{len(paths)} models, {len(failed)} bad {' '.join(failed)}; {count} unlike pairs, {len(bad)} wrong"
    )
    return 1 if failed or not good or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
