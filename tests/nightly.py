#!/usr/bin/env python3
"""The nightly tier: everything that takes too long for each commit, one test after the other.

  nightly.py [--again] [--only REGEX] [--minutes N] [--list] [--table]

What there is: the tests that ctest labels nightly in the release build, and STEPS below, which build
something of their own or measure. A row of RESULTS tells of the last run of each: the round, ok, FAILED or
skipped, the seconds, the figure (the last line that the test prints), the commit, and the machine.

A round is one run of everything, in as many sittings as it takes: a run goes on with what has no row of this
round yet, so one that was stopped loses only the test that it was at; a new round begins when the last one is
whole, or with --again. Logs are in build/nightly. Ends with the table of the round; exit status 1 when
something failed in it.

  --only REGEX   the tests whose name holds it, whether they have a row or not
  --minutes N    begins no test after N minutes
  --list         prints the names and what each runs, and ends
  --table        prints the table, and ends
"""

import argparse
import collections
import datetime
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[1]
RESULTS = TOP / "tests" / "nightly.tsv"
LOGS = TOP / "build" / "nightly"
SKIPPED = 77
COLUMNS = ("round", "test", "verdict", "seconds", "figure", "commit", "machine")
HEAD = f"# The last run of each test of the nightly tier (tests/nightly.py): {', '.join(COLUMNS)}.\n"
WIDEST = 160  # characters of a figure
# Files are written to memory: the tool waits for the disk before it renames one, most of the time of a test
# that writes many. These tests are about the disk.
MEMORY, ON_DISK = pathlib.Path("/dev/shm"), re.compile(r"^campaign[.](kill|big)")

# name -> what the shell runs in the tree, beside the tests of the release build. @PYTHON@ is that of the
# tests.
STEPS = {
    # Every unit test, golden case and command line, watched by the address and undefined-behaviour
    # sanitizers.
    "sanitizers": "export ASAN_OPTIONS=exitcode=99:detect_stack_use_after_return=1"
    " UBSAN_OPTIONS=print_stacktrace=1 && cmake --preset fuzz && cmake --build --preset fuzz"
    " && ctest --preset fuzz -L '^(unit|golden|cli)$' -LE '^nightly$'",
    "fuzz": "cmake --preset fuzz -DGRAPHOPT_FUZZ_SECONDS=600"
    " && cmake --build --preset fuzz --target sanitized"
    " && ctest --preset fuzz -L '^fuzz$'",
    "threads": "cmake --preset thread"
    " && cmake --build --preset thread --target unit_threads_test unit_execution_pool_test"
    " && build/thread/tests/unit_threads_test"
    " && GRAPHOPT_POOL_PLANS=10000 build/thread/tests/unit_execution_pool_test",
    # The state machine of requests: a million drawn plans with errors, cancels, timeouts and budgets.
    "execution": "cmake --build --preset release --target unit_execution_test"
    " && GRAPHOPT_EXECUTION_PLANS=1000000 build/release/tests/unit_execution_test",
    # Types of one name that are not the same: g++ compares those of all layers when it joins their archives,
    # and -r ends before it generates code. Each layer is one source, in which a second type is refused.
    "odr": "cmake --preset odr && cmake --build --preset odr --target graphopt_command_line graphopt_commands"
    " && g++ -O0 -flto=auto -Wodr -Werror=odr -r -flinker-output=rel -o build/odr/all.o"
    " -Wl,--whole-archive $(find build/odr/src build/odr/tools -name '*.a')",
    # What users build: each source by itself. The tests build each layer as one source, where g++ inlines
    # other functions and warns of other things.
    "release": "cmake --preset release -B build/release-sources"
    " && cmake --build build/release-sources --target graphopt",
    "tidy": "tools/tidy --all",
    # Each test of the commit tier alone, so that its seconds are its own.
    "alone": "@PYTHON@ -B tests/alone.py build/release",
    "scale": "@PYTHON@ -B benchmarks/scale.py build/release/graphopt",
    "run_time": "@PYTHON@ -B benchmarks/run_time.py build/release/graphopt",
    "start_time": "@PYTHON@ -B benchmarks/start_time.py build/release/graphopt",
    "figures": "@PYTHON@ -B benchmarks/figures.py build/release/graphopt --check",
}

Test = collections.namedtuple("Test", "name command folder environment seconds")


class Row(collections.namedtuple("Row", COLUMNS)):
    def text(self):
        return "\t".join(map(str, self)) + "\n"


# --- what there is ------------------------------------------------------------------------------------------


def tests_of_ctest():
    """The tests of the release build that are labelled nightly."""
    command = ["ctest", "--preset", "release", "-L", "^nightly$", "--show-only=json-v1"]
    done = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True)
    for test in json.loads(done.stdout)["tests"]:
        properties = {p["name"]: p["value"] for p in test.get("properties", [])}
        yield Test(
            test["name"],
            test["command"],
            properties.get("WORKING_DIRECTORY", str(TOP)),
            dict(e.split("=", 1) for e in properties.get("ENVIRONMENT", [])),
            float(properties.get("TIMEOUT", 3600)),
        )


def all_tests():
    """Every test, short ones of a script before its long form, what takes hours last."""
    found = sorted(tests_of_ctest(), key=lambda t: (t.name.endswith(".long"), t.name))
    for name, command in STEPS.items():
        words = ["bash", "-c", command.replace("@PYTHON@", shlex.quote(sys.executable))]
        found.append(Test(name, words, str(TOP), {}, 10 * 3600))
    return found


# --- results ------------------------------------------------------------------------------------------------


def read_rows():
    """{test: row}"""
    if not RESULTS.exists():
        return {}
    lines = [x for x in RESULTS.read_text(encoding="utf-8").splitlines() if not x.startswith("#")]
    rows = [Row(*line.split("\t")) for line in lines]
    return {r.test: r._replace(round=int(r.round), seconds=float(r.seconds)) for r in rows}


def write_rows(rows):
    unfinished = RESULTS.with_suffix(".new")
    text = HEAD + "".join(rows[name].text() for name in sorted(rows))
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, RESULTS)


def current_round(rows, names, again):
    """The round to go on with: the last one, or the next where that is whole."""
    last = max((r.round for r in rows.values()), default=0)
    whole = all(name in rows and rows[name].round == last for name in names)
    return last + 1 if again or whole or last == 0 else last


def commit():
    def git(*words):
        return subprocess.run(["git", "-C", TOP, *words], capture_output=True, text=True, check=True).stdout

    changed = [x for x in git("status", "--porcelain").splitlines() if not x.endswith("tests/nightly.tsv")]
    return git("rev-parse", "--short", "HEAD").strip() + ("+" if changed else "")


def machine():
    """What the figures depend on: processors and memory."""
    names = re.findall(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} x {names[0] if names else 'unknown processor'}, {memory:.0f} GiB"


def figure_of(log):
    """The last line of a log that says something, without tabs; "" without one."""
    lines = [" ".join(x.split()) for x in log.read_text(encoding="utf-8", errors="replace").splitlines()]
    return next((x[:WIDEST] for x in reversed(lines) if x), "")


# --- the run ------------------------------------------------------------------------------------------------


def end_tests_with_this():
    """Turns the signals that ask this process to end into an exception, by which run() ends its test and
    deletes the test's folder: both would outlive this process, as the test has a session of its own. A signal
    that is ignored, as by nohup, stays so."""

    def end(number, _):
        sys.exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, end)


def run(test, number):
    """The row of one test; what it prints goes to its log."""
    log, began = LOGS / f"{test.name}.log", time.monotonic()
    in_memory = MEMORY.is_dir() and not ON_DISK.match(test.name)
    with (
        open(log, "w") as out,
        # What a test that was killed leaves behind may still write: that ends no round.
        tempfile.TemporaryDirectory(
            dir=MEMORY if in_memory else None, prefix="graphopt-test.", ignore_cleanup_errors=True
        ) as folder,
    ):
        os.chmod(folder, 0o711)  # tests without the rights of root look into it
        process = subprocess.Popen(
            test.command,
            cwd=test.folder,
            env={**os.environ, "TMPDIR": folder, **test.environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            status = process.wait(test.seconds)
        except BaseException as e:  # its own processes must end with it, also when this one is interrupted
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(e, subprocess.TimeoutExpired):
                raise
            status = f"no end within {test.seconds:.0f} s"
    verdict = "ok" if status == 0 else "skipped" if status == SKIPPED else "FAILED"
    seconds = round(time.monotonic() - began, 1)
    figure = figure_of(log) if verdict == "ok" else f"{status}: {figure_of(log)}"
    return Row(number, test.name, verdict, seconds, figure, commit(), machine())


def print_table(rows, names, number):
    known = [rows[n] for n in names if n in rows and rows[n].round == number]
    wide = max([4, *(len(n) for n in names)])
    for r in known:
        print(f"{r.test:{wide}} {r.verdict:8} {r.seconds:9.1f} s  {r.figure}")
    left = [n for n in names if n not in rows or rows[n].round != number]
    failed = [r.test for r in known if r.verdict == "FAILED"]
    hours = datetime.timedelta(seconds=round(sum(r.seconds for r in known)))
    print(f"nightly: round {number}, {len(known)} of {len(names)} tests, {len(failed)} failed, {hours}")
    if left:
        print(f"nightly: not yet run: {', '.join(left)}")
    return 1 if failed else 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--again", action="store_true")
    p.add_argument("--only", metavar="REGEX")
    p.add_argument("--minutes", type=float, metavar="N")
    p.add_argument("--list", action="store_true")
    p.add_argument("--table", action="store_true")
    a = p.parse_args()
    tests, rows = all_tests(), read_rows()
    names = [t.name for t in tests]
    if a.list:
        print("\n".join(f"{t.name}: {shlex.join(t.command)}" for t in tests))
        return 0
    last = max((r.round for r in rows.values()), default=0)
    if a.table:
        return print_table(rows, names, last)
    end_tests_with_this()
    number = max(last, 1) if a.only else current_round(rows, names, a.again)
    LOGS.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + 60 * a.minutes if a.minutes else float("inf")
    for test in tests:
        done = test.name in rows and rows[test.name].round == number
        if (not re.search(a.only, test.name) if a.only else done) or time.monotonic() > end:
            continue
        print(f"{test.name} ...", flush=True)
        row = rows[test.name] = run(test, number)
        write_rows(rows)
        print(f"{row.test}: {row.verdict}, {row.seconds} s: {row.figure}", flush=True)
    return print_table(rows, names, number)


if __name__ == "__main__":
    sys.exit(main())
