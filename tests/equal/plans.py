#!/usr/bin/env python3
# LONG: --all
"""Plans for devices: what rewriting for the devices and lowering win, and that they lose nothing.

  plans.py GRAPHOPT [--all] [--only NAME ...] [--profiles FOLDER] [--work DIR] [--check] [--variants]

For each model of tests/models, each of the six profiles in tests/equal/profiles (or FOLDER), and with dims
open and bound: the plan without lowering (--lower never) and with it. With it

  - the host has no more nodes, and no more multiply-adds at the usual sizes of the model's symbols: what is
    lowered is on accelerators, whole;
  - subgraphs are not more where the host has as many nodes as before.

The short form takes the small models; --all takes all. --check also saves each lowered model and compares it
with the original in ONNX Runtime (graphopt --check=1). --variants asks besides whether a variant (-O0, or one
pass disabled) has fewer subgraphs and no more on the host: that is a figure, of how much of a plan is left to
luck, and no failure. Ends with the sums by profile.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import inputs, layouts, models  # noqa: E402

PROFILES = pathlib.Path(__file__).resolve().parent / "profiles"
SHORT_BYTES = 1.5e6
LEFT_OUT = {"hf_llama_deep"}  # 96 equal layers: takes minutes and shows what hf_llama does


class Plan:
    """Subgraphs, and nodes and multiply-adds that the host has."""

    def __init__(self, report, sizes):
        partition = report["partition"]
        self.subgraphs = len(partition["subgraphs"])
        hosts = {d["id"] for d in partition["devices"] if d["host"]}
        self.host_nodes = sum(s["nodes"] for s in partition["subgraphs"] if s["device"] in hosts)
        self.host_work = sum(multiply_adds(d, sizes) for d in partition["devices"] if d["host"])
        self.lowered = sum(x["nodes"] for x in report["lowered"] or [])

    def __str__(self):
        host = f"{self.host_nodes} nodes and {self.host_work} multiply-adds"
        return f"{self.subgraphs} subgraphs, {host} on the host"

    def keeps_more_on_the_host(self, other):
        return self.host_nodes > other.host_nodes or self.host_work > other.host_work


def multiply_adds(device, sizes):
    """At the usual sizes; 0 where a size depends on data, or the report has no formula."""
    try:
        return layouts.extent(device["multiply_adds"]).value(sizes) if device["multiply_adds"] else 0
    except KeyError:
        return 0


def plan(tool, source, profile, words, folder):
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".json") as out:
        command = [tool, source, "-q", "--devices", str(profile), "--plan", "--report", out.name, *words]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(
                f"{' '.join(words)}: exit status {done.returncode}: {done.stderr.strip()[-300:]}"
            )
        return Plan(json.load(out), inputs.sizes(inputs.record_of(source)))


def shape_words(record):
    """Options that give every input the shape of the record's usual sizes."""
    usual, words = inputs.sizes(record), []
    for given in record["inputs"]:
        dims = [inputs.number(d, usual) for d in given["dims"]]
        words += ["--shape", f"{given['name']}={','.join(map(str, dims))}"] if dims else []
    return words


def pass_names(tool):
    listed = subprocess.run([tool, "--list-passes"], capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [row[0] for row in rows if len(row) > 2 and row[1].startswith("-O")]


def examine(task):
    """(what is wrong, which variants are better, the plan without lowering, the one with it)"""
    tool, source, profile, words, variants, check, folder = task
    found, better = [], []
    before = plan(tool, source, profile, [*words, "--lower", "never"], folder)
    after = plan(tool, source, profile, words, folder)
    if after.keeps_more_on_the_host(before):
        found.append(f"lowered: {after}, not lowered: {before}")
    if after.subgraphs > before.subgraphs and after.host_nodes == before.host_nodes:
        found.append(f"more subgraphs for nothing: {after}, not lowered: {before}")
    for variant in variants:
        other = plan(tool, source, profile, [*words, *variant], folder)
        if other.subgraphs < after.subgraphs and not other.keeps_more_on_the_host(after):
            better.append(f"{' '.join(variant)} is better: {other}, not {after}")
    if check:
        with tempfile.TemporaryDirectory(dir=folder) as inner:
            target = os.path.join(inner, "out.onnx")
            command = [tool, source, "-q", "--devices", str(profile), "--parts", "never", "--check=1"]
            done = subprocess.run([*command, *words, "-o", target], capture_output=True, text=True)
            if done.returncode:
                found.append(f"--check: exit status {done.returncode}: {done.stderr.strip()[-300:]}")
    return found, better, before, after


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", nargs="+", default=[])
    p.add_argument("--profiles", type=pathlib.Path, default=PROFILES)
    p.add_argument("--check", action="store_true")
    p.add_argument("--variants", action="store_true")
    p.add_argument("--work")
    a = p.parse_args()
    names = models.chosen(
        a.only, lambda r: r["name"] not in LEFT_OUT and (a.all or r["filled_bytes"] < SHORT_BYTES)
    )
    profiles = sorted(x for x in a.profiles.glob("*.json") if not json.loads(x.read_text()).get("host"))
    variants = [["-O0"], *(["--disable-pass", x] for x in pass_names(a.tool))] if a.variants else []
    records, bad, lucky = models.records(), 0, 0
    with models.work_folder(a.work) as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        paths = models.filled(names, folder)
        for bound in (False, True):
            total = {}
            tasks = []
            for name in names:
                words = shape_words(records[name]) if bound else []
                for profile in profiles:
                    tasks.append((a.tool, paths[name], profile, words, variants, a.check, folder))
            for task, (found, better, before, after) in zip(tasks, pool.map(examine, tasks), strict=True):
                where = f"{pathlib.Path(task[1]).stem} {task[2].stem}{' bound' if bound else ''}"
                for text in found:
                    print(f"BAD {where}: {text}", flush=True)
                for text in better:
                    print(f"better {where}: {text}", flush=True)
                bad, lucky = bad + len(found), lucky + len(better)
                row = total.setdefault(task[2].stem, [0, 0, 0, 0, 0])
                for i, n in enumerate(
                    (before.subgraphs, after.subgraphs, before.host_nodes, after.host_nodes, after.lowered)
                ):
                    row[i] += n
            dims = "bound" if bound else "open"
            for device, row in [*total.items(), ("all", [sum(c) for c in zip(*total.values(), strict=True)])]:
                print(
                    f"{dims:5} {device:10} subgraphs {row[0]:5} -> {row[1]:5}   nodes on the host {row[2]:6}"
                    f" -> {row[3]:6}   lowered {row[4]:5}"
                )
    count = 2 * len(names) * len(profiles) * len(variants)
    asked = f", {lucky} of {count} variants better" if variants else ""
    print(f"{len(names)} models, {len(profiles)} profiles, {bad} bad{asked}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
