#!/usr/bin/env python3
# LONG: --all
"""Plans for devices: what rewriting for the devices and lowering win, and that they lose nothing.

  plans.py GRAPHOPT [--all] [--only NAME ...] [--profiles FOLDER] [--work DIR] [--check]

For each model of tests/models, each of the six profiles in tests/equal/profiles (or FOLDER), and with dims
open and bound: the plan without lowering (--lower never) and with it. With it

  - the host has no more nodes: what is lowered is on accelerators, whole;
  - subgraphs are not more where the host has as many nodes as before.

The short form takes the small models; --all takes all, and asks besides that no variant (-O0, or a pass
disabled) has fewer subgraphs and at most as many nodes on the host. --check also saves each lowered model and
compares it with the original in ONNX Runtime (graphopt --check=1). Ends with the sums by profile.
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
from lib import inputs, models  # noqa: E402

PROFILES = pathlib.Path(__file__).resolve().parent / "profiles"
SHORT_BYTES = 1.5e6
LEFT_OUT = {"hf_llama_deep"}  # 96 equal layers: takes minutes and shows what hf_llama does


class Plan:
    """Subgraphs, and nodes that the host has."""

    def __init__(self, report):
        partition = report["partition"]
        self.subgraphs = len(partition["subgraphs"])
        hosts = {d["id"] for d in partition["devices"] if d["host"]}
        self.host_nodes = sum(s["nodes"] for s in partition["subgraphs"] if s["device"] in hosts)
        self.lowered = sum(x["nodes"] for x in report["lowered"] or [])

    def __str__(self):
        return f"{self.subgraphs} subgraphs, {self.host_nodes} nodes on the host"


def plan(tool, source, profile, words, folder):
    with tempfile.NamedTemporaryFile(dir=folder, suffix=".json") as out:
        command = [tool, source, "-q", "--devices", str(profile), "--plan", "--report", out.name, *words]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(
                f"{' '.join(words)}: exit status {done.returncode}: {done.stderr.strip()[-300:]}"
            )
        return Plan(json.load(out))


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
    """(what is wrong, the plan without lowering, the one with it)"""
    tool, source, profile, words, variants, check, folder = task
    found = []
    before = plan(tool, source, profile, [*words, "--lower", "never"], folder)
    after = plan(tool, source, profile, words, folder)
    if after.host_nodes > before.host_nodes:
        found.append(f"lowered: {after}, not lowered: {before}")
    if after.subgraphs > before.subgraphs and after.host_nodes == before.host_nodes:
        found.append(f"more subgraphs for nothing: {after}, not lowered: {before}")
    for variant in variants:
        other = plan(tool, source, profile, [*words, *variant], folder)
        if other.subgraphs < after.subgraphs and other.host_nodes <= after.host_nodes:
            found.append(f"{' '.join(variant)} is better: {other}, not {after}")
    if check:
        with tempfile.TemporaryDirectory(dir=folder) as inner:
            target = os.path.join(inner, "out.onnx")
            command = [tool, source, "-q", "--devices", str(profile), "--parts", "never", "--check=1"]
            done = subprocess.run([*command, *words, "-o", target], capture_output=True, text=True)
            if done.returncode:
                found.append(f"--check: exit status {done.returncode}: {done.stderr.strip()[-300:]}")
    return found, before, after


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", nargs="+", default=[])
    p.add_argument("--profiles", type=pathlib.Path, default=PROFILES)
    p.add_argument("--check", action="store_true")
    p.add_argument("--work")
    a = p.parse_args()
    names = models.chosen(
        a.only, lambda r: r["name"] not in LEFT_OUT and (a.all or r["filled_bytes"] < SHORT_BYTES)
    )
    profiles = sorted(x for x in a.profiles.glob("*.json") if not json.loads(x.read_text()).get("host"))
    variants = [["-O0"], *(["--disable-pass", x] for x in pass_names(a.tool))] if a.all else []
    records, bad = models.records(), 0
    with models.work_folder(a.work) as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        paths = models.filled(names, folder)
        for bound in (False, True):
            total = {}
            tasks = []
            for name in names:
                words = shape_words(records[name]) if bound else []
                for profile in profiles:
                    tasks.append((a.tool, paths[name], profile, words, variants, a.check, folder))
            for task, (found, before, after) in zip(tasks, pool.map(examine, tasks), strict=True):
                where = f"{pathlib.Path(task[1]).stem} {task[2].stem}{' bound' if bound else ''}"
                for text in found:
                    print(f"BAD {where}: {text}", flush=True)
                bad += len(found)
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
    print(f"{len(names)} models, {len(profiles)} profiles, {bad} bad")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
