"""The tests that mutants are tried on: what each of them met, and whether a mutant turns it red.

A suite is one unit test, one golden case, or one test script. A script calls graphopt many times; each call
is recorded once with its input and the sites it met (_record.py). A mutant is then tried on the calls that
meet its site: where status, output and files are those of the original, the script would have seen nothing
new, and need not run. Only a call that gives something else leads to a run of the golden case or of the
script, whose verdict counts.
"""

import contextlib
import hashlib
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from array import array
from dataclasses import dataclass, field
from pathlib import Path

from _rebuild import ROOT

HERE = Path(__file__).resolve().parent
PYTHON = [sys.executable, "-B"]

# Scripts with their options: short forms with fixed seeds. Those of equal/ and property/ that are not named
# here are run as ctest runs them.
OPTIONS = {
    "equal/backend.py": ["--jobs", "1"],
    "equal/hoist_costs.py": ["--count", "300"],
    "property/random_graphs.py": ["--count", "120", "--jobs", "1"],
    "property/hoist_graphs.py": ["--count", "300"],
    "property/neighbours.py": ["--jobs", "1"],
}
NEIGHBOURS = "property/neighbours.py"
# Scripts that call no tool, look at a terminal or signals, or whose models are too large to keep.
NOT_USED = {"equal/zoo.py"}
CLI = ["bad_input", "check_runs", "external_data", "figures", "io_roundtrip", "options", "search_limits"]


@dataclass
class Call:
    folder: str
    suite: str
    arguments: list
    inputs: int
    seconds: float
    expected: (
        str  # digest of what the original does; "" where a replay does not do what the recorded call did
    )
    met: array = field(repr=False, default=None)


@dataclass
class Unit:
    name: str
    seconds: float
    met: array = field(repr=False, default=None)


def environment(number=0, **more):
    env = {k: v for k, v in os.environ.items() if not k.startswith("GRAPHOPT_MUTANT")}
    if number:
        env["GRAPHOPT_MUTANT"] = str(number)
    return {**env, **more}


def met_in(trace):
    with open(trace, "rb") as f:
        return array("I", (m.start() for m in re.finditer(b"\1", f.read())))


# --- unit tests ---------------------------------------------------------------------------------------------


def list_units(binary):
    listed = subprocess.run([binary, "--gtest_list_tests"], capture_output=True, text=True, check=True)
    names, suite = [], ""
    for line in listed.stdout.splitlines():
        line = line.split("#")[0].rstrip()
        if line.startswith(" "):
            names.append(suite + line.strip())
        elif line.endswith("."):
            suite = line
    return names


def record_unit(binary, name, work):
    """The unit test with what it meets; None when it fails or is skipped without any switch."""
    with tempfile.TemporaryDirectory(dir=work) as folder:
        trace, begin = os.path.join(folder, "trace"), time.time()
        done = subprocess.run(
            [binary, f"--gtest_filter={name}"],
            capture_output=True,
            text=True,
            errors="replace",
            env=environment(GRAPHOPT_MUTANT_TRACE=trace),
            cwd=folder,
        )
        if done.returncode or "[  PASSED  ] 1 test" not in done.stdout:
            return None
        return Unit(name, time.time() - begin, met_in(trace))


def units_fail(binary, units, number, work):
    """The name of a unit test that the mutant fails, "" when it passes all."""
    if not units:
        return ""
    limit = 20 + 10 * sum(u.seconds for u in units)
    with tempfile.TemporaryDirectory(dir=work) as folder:
        try:
            done = subprocess.run(
                [binary, "--gtest_filter=" + ":".join(u.name for u in units), "--gtest_fail_fast"],
                capture_output=True,
                text=True,
                errors="replace",
                env=environment(number),
                cwd=folder,
                timeout=limit,
            )
        except subprocess.TimeoutExpired as e:
            begun = re.findall(r"\[ RUN      \] (\S+)", (e.stdout or b"").decode(errors="replace"))
            return f"{begun[-1] if begun else units[0].name} (time limit)"
    if done.returncode == 0:
        return ""
    failed = re.findall(r"\[  FAILED  \] (\w[\w/]*\.[\w/]+)", done.stdout)
    failed = failed or re.findall(r"\[ RUN      \] (\S+)", done.stdout)
    return (failed[-1] if failed else "?") + (f" (signal {-done.returncode})" if done.returncode < 0 else "")


# --- calls of the tool --------------------------------------------------------------------------------------


def without_times(text):
    """JSON without figures of time and memory; any other text without numbers that have a unit."""
    with contextlib.suppress(ValueError):
        data = json.loads(text)

        def plain(x):
            if isinstance(x, dict):
                return {k: plain(v) for k, v in x.items() if not re.search("second|memory|peak", k)}
            return [plain(v) for v in x] if isinstance(x, list) else x

        return json.dumps(plain(data))
    return re.sub(r"\d[\d.,]*(e-?\d+)? ?(ns|us|µs|ms|s|min|[KMG]i?B|MB|GB)\b", "N", text)


def replay(call, tool, number, work, limit):
    """(digest, status) of the call: status, output and files. A time-out gives the status None."""
    with tempfile.TemporaryDirectory(dir=work) as folder:
        arguments = []
        for a in call.arguments:
            if m := re.search(r"\{io(\d+)\}", a):
                copy = os.path.join(folder, f"io{m[1]}")
                if not os.path.exists(copy):
                    shutil.copyfile(os.path.join(call.folder, f"in{m[1]}"), copy)
            a = re.sub(r"\{io(\d+)\}", lambda m: os.path.join(folder, f"io{m[1]}"), a)
            a = re.sub(r"\{in(\d+)\}", lambda m: os.path.join(call.folder, f"in{m[1]}"), a)
            arguments.append(re.sub(r"\{out(\d+)\}", lambda m: os.path.join(folder, f"out{m[1]}"), a))
        given = os.path.join(call.folder, "stdin")
        with open(given if os.path.exists(given) else os.devnull, "rb") as f:
            try:
                done = subprocess.run(
                    [tool, *arguments], stdin=f, capture_output=True, env=environment(number), timeout=limit
                )
            except subprocess.TimeoutExpired:
                return "", None
        digest = hashlib.sha256(str(done.returncode).encode())
        for text in (done.stdout, done.stderr):
            text = text.replace(folder.encode(), b"FOLDER")
            if text[:1] in (b"", b"{") or text.isascii():
                text = without_times(text.decode(errors="replace")).encode()
            digest.update(text + b"\0")
        for path in sorted(p for p in Path(folder).rglob("*") if p.is_file()):
            name, data = str(path.relative_to(folder)), path.read_bytes()
            if data[:1] == b"{":
                text = data.decode(errors="replace").replace(folder, "FOLDER")
                data = without_times(text).encode()
            digest.update(name.encode() + b"\0" + data)
    return digest.hexdigest(), done.returncode


def recorder(tool, work):
    """A program that stands for `tool` and records its calls."""
    path = Path(work) / "recorder"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "{HERE}/_record.py" "{tool}" "$@"\n')
    path.chmod(0o755)
    return str(path)


def read_calls(folder, suite, tool, work):
    """The calls recorded in a folder, each different one once, with what a replay gives."""
    found = [(json.loads(p.read_text()), p.parent) for p in Path(folder).glob("*/call.json")]
    calls, seen = [], set()
    for data, inside in sorted(found, key=lambda c: c[0]["begin"]):
        met = array("I")
        met.frombytes((inside / "met").read_bytes())
        key = hashlib.sha256(repr(data["arguments"]).encode())
        for f in sorted([*inside.glob("in*"), *inside.glob("stdin")]):
            key.update(f.name.encode() + f.read_bytes())
        if key.digest() in seen:
            continue
        seen.add(key.digest())
        call = Call(str(inside), suite, data["arguments"], data["inputs"], data["seconds"], "", met)
        if data["whole"]:
            limit = 30 + 10 * call.seconds
            (first, status), (second, _) = (replay(call, tool, 0, work, limit) for _ in range(2))
            call.expected = first if status == data["status"] and first == second else ""
        calls.append(call)
    return calls


# --- golden cases and scripts -------------------------------------------------------------------------------


def golden_runner():
    spec = importlib.util.spec_from_file_location("golden_run", ROOT / "tests/golden/run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def golden_cases():
    return sorted(
        p.relative_to(ROOT / "tests/golden").as_posix() for p in (ROOT / "tests/golden").rglob("*.txt")
    )


def run_golden(runner, case, tool, work):
    """What is wrong with a golden case, one text each."""
    with tempfile.TemporaryDirectory(dir=work) as folder:
        try:
            return runner.run_case(tool, runner.read_case(str(ROOT / "tests/golden" / case)), folder, False)
        except Exception as e:  # noqa: BLE001  as run.py does: a tool that fails is a failed case
            return [f"{type(e).__name__}: {e}"]


def scripts(only=None):
    """The test scripts, as paths below tests/; with `only`, those named there, with commas between."""
    found = [f"cli/{name}.py" for name in CLI]
    for folder in ("equal", "property"):
        found += [
            f"{folder}/{p.name}"
            for p in sorted((ROOT / "tests" / folder).glob("*.py"))
            if not p.name.startswith(("_", "test_"))
        ]
    # One suite for each pass, as a script ends at its end, not at the first red.
    folders = sorted(p.name for p in (ROOT / "tests/golden").iterdir() if p.is_dir())
    found = [s for s in found if s != NEIGHBOURS]
    found += [f"{NEIGHBOURS} --only golden/{f}/ --count 400 --per-model 12" for f in folders]
    found += [f"{NEIGHBOURS} --only golden/ --change annotated --count 1000 --per-model 12"]
    for folder in ("folded", "shapes"):
        found += [f"{NEIGHBOURS} --only {folder}/ --count 400 --seed {seed}" for seed in range(1, 5)]
    chosen = None if only is None else [s for s in only.split(",") if s]
    return [s for s in found if s not in NOT_USED and (chosen is None or s.split()[0] in chosen)]


def run_script(script, tool, env, limit=None):
    """(status, seconds, end of the output) of a test script; the status None when it does not end."""
    begin = time.time()
    path, *more = script.split()
    command = [*PYTHON, str(ROOT / "tests" / path), str(tool), *OPTIONS.get(path, []), *more]
    with tempfile.TemporaryFile() as out:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, env=env, start_new_session=True
        )
        try:
            status = process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            status = None
            os.killpg(process.pid, 9)  # the script and the tools that it started
            process.wait()
        out.seek(0)
        return status, time.time() - begin, out.read().decode(errors="replace")[-600:]
