#!/usr/bin/env python3
"""Planted defects: does a test turn red when a rule is wrong?

  run.py BUILD_DIR [--only TEXT]     compiles each plant whose name holds TEXT and runs its tests
  run.py BUILD_DIR --places          checks that each plant has its place in the sources; compiles nothing
  run.py BUILD_DIR --list            prints the names

Each plant (a text file beside this script, see _plants.py) changes one source file. The changed file is
compiled, and the tool linked again, in a temporary folder with the commands of BUILD_DIR; sources and build
folder stay as they are. Then
  golden   the plant's golden case must fail;
  bisect   `graphopt --bisect` on the plant's model must name the planted pass and the place and write no
           file.
Exit status 1 when a defect is not seen or has no place. A plant takes a compile and a link.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import _plants
import _rebuild
from _plants import ROOT, PlantError
from _rebuild import BuildError

LEAST = 21  # a plant that goes missing would otherwise be a success


def find_places(plants):
    _plants.self_test()
    bad = 0
    for plant in plants:
        try:
            _plants.check_place(plant)
        except PlantError as e:
            bad += 1
            print(f"FAILED {e}")
    print(f"{len(plants) - bad} plants have their places, {bad} do not")
    return 1 if bad or not plants else 0


def golden_fails(plant, tool):
    """(whether the plant's golden case fails, what happened)"""
    runner = ROOT / "tests/golden/run.py"
    done = subprocess.run(
        [sys.executable, "-B", str(runner), str(tool), "--only", plant.golden + ".txt"],
        capture_output=True,
        text=True,
    )
    seen = done.returncode == 1 and f"FAILED {plant.golden}.txt" in done.stdout
    return seen, f"golden {plant.golden}: {'red' if seen else 'NOT SEEN'}"


def bisect_names(plant, tool, work):
    """(whether --bisect names the pass and the place, what happened)"""
    import onnx
    import onnx.parser

    pass_name, place = plant.bisect
    source, target = work / "in.onnx", work / "out.onnx"
    onnx.save(onnx.parser.parse_model(plant.model), source)
    command = [str(tool), str(source), "-o", str(target), "--check=3", "--bisect"]
    done = subprocess.run(command, capture_output=True, text=True)
    lines = [x.strip() for x in done.stderr.splitlines() if place in x]
    named = done.returncode == 3 and any(re.search(rf"\b{pass_name}\b", x) for x in lines)
    named = named and not target.exists()
    return named, f"bisect: {'named' if named else 'NOT NAMED'}: {(lines or [done.stderr.strip()[-300:]])[0]}"


def try_plant(build, plant):
    """What was not seen of the plant."""
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        text = _plants.apply(plant, (ROOT / plant.file).read_text())
        tool = _rebuild.rebuild(build, work, [(text, plant.file, plant.file)])
        checks = [golden_fails(plant, tool)]
        if plant.bisect:
            checks.append(bisect_names(plant, tool, work))
    for _, text in checks:
        print(f"{plant.name}: {text}", flush=True)
    return [f"{plant.name} ({text.split(':')[0]})" for seen, text in checks if not seen]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build", metavar="BUILD_DIR", type=Path)
    p.add_argument("--only", default="", metavar="TEXT")
    p.add_argument("--list", action="store_true")
    p.add_argument("--places", action="store_true")
    a = p.parse_args()
    try:
        plants = _plants.read_all(a.only)
    except PlantError as e:
        sys.exit(f"FAILED {e}")
    if not a.only and len(plants) < LEAST:
        sys.exit(f"FAILED {len(plants)} plants are there, at least {LEAST} are expected")
    if a.list:
        print("\n".join(plant.name for plant in plants))
        return 0
    if a.places:
        return find_places(plants)
    begin, unseen = time.time(), []
    for plant in plants:
        try:
            unseen += try_plant(a.build.resolve(), plant)
        except (PlantError, BuildError) as e:
            print(f"{plant.name}: NOT BUILT: {e}", flush=True)
            unseen.append(f"{plant.name} (not built)")
    print(f"{len(plants)} plants, {len(unseen)} not seen, {time.time() - begin:.0f} s", *unseen, sep="\n  ")
    return 1 if unseen or not plants else 0


if __name__ == "__main__":
    sys.exit(main())
