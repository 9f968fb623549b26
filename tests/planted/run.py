#!/usr/bin/env python3
"""Planted defects: does a test turn red when a rule is wrong?

  run.py BUILD_DIR [--only TEXT]     builds the plants whose names hold TEXT and runs their tests
  run.py BUILD_DIR --places          checks that each plant has its place in the sources; compiles nothing
  run.py BUILD_DIR --list            prints the names

Each plant (a text file next to this script, see _plants.py) changes one source file, behind a switch. All
of them are in one build: the changed files are compiled, and tool and unit tests linked again, in a temporary
folder with the commands of BUILD_DIR; sources and build folder stay as they are. A number in the environment
turns the switch of one plant, as it does for mutants (mutant.h). For each plant
  golden   its golden case must fail, and pass with every switch off, or
  unit     its unit test must; one that does not end has failed;
  bisect   `graphopt --bisect` on the plant's model must name the planted pass and the place and write no
           file.
Exit status 1 when a defect is not seen or has no place. It takes a compile for each changed file, and a link.
"""

import argparse
import concurrent.futures
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import _plants
import _rebuild
from _plants import HERE, ROOT, PlantError
from _rebuild import BuildError

UNIT_TESTS = "tests/graphopt_unit_tests"
UNIT_SECONDS = 120  # a test that takes longer does not end
LEAST = 30  # a plant that goes missing would otherwise be a success


def find_places(plants):
    _plants.self_test()
    bad = []
    for file, planted in _plants.by_file(plants).items():
        try:
            _plants.check_places(file, planted)
        except PlantError as e:
            bad.append(f"FAILED {e}")
    print(*bad, f"{len(plants)} plants, {len(bad)} files without a place for one", sep="\n")
    return 1 if bad or not plants else 0


def build_programs(build, work, plants):
    """{target: path} of graphopt, and of the unit tests where they are asked for, with all plants. The
    switches are as in mutant.h, with the numbers of by_file()."""
    runtime = work / "mutant.o"
    _rebuild.run(["c++", "-O2", "-std=c++20", "-c", str(HERE / "mutant.cpp"), "-o", str(runtime)])
    texts = []
    for file, planted in _plants.by_file(plants).items():
        switches = {p: f"::graphopt_mutants::dropped({number})" for p, number in planted.items()}
        text = _plants.apply(switches, (ROOT / file).read_text())
        texts.append((f'#include "{HERE / "mutant.h"}"\n{text}', file, file))
    objects = [*_rebuild.compile_texts(build, work, texts), runtime]
    targets = ["graphopt"] + [UNIT_TESTS] * any(p.unit for p in plants)
    return {target: _rebuild.link(build, work, target, objects) for target in targets}


def golden_run(tool, number, golden):
    """What the runner of golden cases does with a case and the switch of this number."""
    return subprocess.run(
        [sys.executable, "-B", str(ROOT / "tests/golden/run.py"), str(tool), "--only", golden + ".txt"],
        capture_output=True,
        text=True,
        env=os.environ | {"GRAPHOPT_MUTANT": str(number)},
    )


def golden_fails(plant, number, tool):
    """(whether the plant's golden case fails, and passes without the defect; what happened)"""
    done = golden_run(tool, number, plant.golden)
    seen = done.returncode == 1 and f"FAILED {plant.golden}.txt" in done.stdout
    if seen and golden_run(tool, 0, plant.golden).returncode != 0:
        return False, f"golden {plant.golden}: RED WITHOUT THE DEFECT"
    return seen, f"golden {plant.golden}: {'red' if seen else 'NOT SEEN'}"


def unit_passes(test, number, program):
    command = [str(program), f"--gtest_filter={test}"]
    environment = os.environ | {"GRAPHOPT_MUTANT": str(number)}
    with contextlib.suppress(subprocess.TimeoutExpired):
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=UNIT_SECONDS)
        return done.returncode == 0
    return False


def unit_fails(plant, number, program):
    """(whether the plant's unit test fails, and passes without the defect; what happened)"""
    seen = not unit_passes(plant.unit, number, program)
    if seen and not unit_passes(plant.unit, 0, program):
        return False, f"unit {plant.unit}: RED WITHOUT THE DEFECT"
    return seen, f"unit {plant.unit}: {'red' if seen else 'NOT SEEN'}"


def bisect_names(plant, number, tool):
    """(whether --bisect names the pass and the place, what happened)"""
    import onnx
    import onnx.parser

    pass_name, place = plant.bisect
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.onnx", Path(folder) / "out.onnx"
        onnx.save(onnx.parser.parse_model(plant.model), source)
        command = [str(tool), str(source), "-o", str(target), "--check=3", "--bisect"]
        environment = os.environ | {"GRAPHOPT_MUTANT": str(number)}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        lines = [x.strip() for x in done.stderr.splitlines() if place in x]
        named = done.returncode == 3 and any(re.search(rf"\b{pass_name}\b", x) for x in lines)
        named = named and not target.exists()
    return named, f"bisect: {'named' if named else 'NOT NAMED'}: {(lines or [done.stderr.strip()[-300:]])[0]}"


def try_plant(programs, plant, number):
    """What was not seen of the plant."""
    if plant.unit:
        checks = [unit_fails(plant, number, programs[UNIT_TESTS])]
    else:
        checks = [golden_fails(plant, number, programs["graphopt"])]
    if plant.bisect:
        checks.append(bisect_names(plant, number, programs["graphopt"]))
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
    begin = time.time()
    with (
        tempfile.TemporaryDirectory() as folder,
        concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        try:
            programs = build_programs(a.build.resolve(), Path(folder), plants)
        except (PlantError, BuildError) as e:
            sys.exit(f"FAILED {e}")
        print(f"built in {time.time() - begin:.0f} s", flush=True)
        found = pool.map(lambda numbered: try_plant(programs, numbered[1], numbered[0]), enumerate(plants, 1))
        unseen = [text for texts in found for text in texts]
    print(f"{len(plants)} plants, {len(unseen)} not seen, {time.time() - begin:.0f} s", *unseen, sep="\n  ")
    return 1 if unseen or not plants else 0


if __name__ == "__main__":
    sys.exit(main())
