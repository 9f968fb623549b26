#!/usr/bin/env python3
"""Mutants: does a test turn red when one condition or one undo of the sources is dropped?

  mutants.py BUILD_DIR [--work DIR] [--count N] [--seed S]   tries N mutants (100) of each place
  mutants.py BUILD_DIR --again RESULTS.json                  tries again what survived there
  mutants.py BUILD_DIR --place PLACE ...                     a sample of one place only (passes, infer, ...)
  mutants.py BUILD_DIR --only TEXT                           all mutants of the files whose path holds TEXT
  mutants.py BUILD_DIR --short                               few files, their golden cases; within a minute
  mutants.py BUILD_DIR --places                              the tool's own tests; builds nothing

The places are src/passes, src/draft, src/regions, src/hoist, the rules of src/infer and src/ops. _sites.py
says what is dropped.
Mutants are not built one by one: a copy of the sources gets a switch at every site (mutant.h), is built once,
and the number of a mutant in the environment turns its switch. A trace tells which tests meet a site such
that dropping it would matter: a condition of && was false, one of || was true, a statement was reached. A
mutant is tried on these only, unit tests and golden cases first, and the first red one ends it; without any
it survives at once. A crash and a time-out count as red. What does not compile does not count, nor what
equivalent_mutants.list names: mutants that change nothing, with the reason. The sample is the first N by a
hash of the seed and the site's text.

DIR (default: mutants in the build folder) keeps the build and the records; results.json there has a line for
each mutant. How many are killed is a figure, which ends the output; exit status 1 only when no mutant was
tried, or with --short when fewer are killed than these golden cases alone kill (SHORT_WANTED).
"""

import argparse
import collections
import hashlib
import json
import multiprocessing
import os
import pickle
import resource
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import _mutant_build
import _mutant_tests as tests
import _sites
from _rebuild import ROOT, BuildError

HERE = Path(__file__).resolve().parent
QUICK = 0.5  # seconds: unit tests up to this come before the golden cases
MEMORY = 12 << 30  # bytes that a mutant may use
FORK = multiprocessing.get_context("fork")  # the processes inherit the records
SHORT_FILES = ("src/passes/drop_noop.cpp", "src/passes/reduce_keepdims.cpp")
SHORT_WANTED = 0.55
SHORT_GOLDEN = ("drop-noop/", "reduce-keepdims/")


# --- mutants that change nothing ----------------------------------------------------------------------------


def read_equivalents():
    """{key: reason} of equivalent_mutants.list."""
    found, key = {}, ""
    for number, line in enumerate((HERE / "equivalent_mutants.list").read_text().splitlines(), 1):
        if line.startswith("#") or not line.strip():
            continue
        if not line.startswith(" "):
            key = line.strip()
            if key in found:
                raise BuildError(f"equivalent_mutants.list:{number}: a second time: {key}")
            found[key] = ""
        elif not key:
            raise BuildError(f"equivalent_mutants.list:{number}: a reason without a mutant")
        else:
            found[key] = (found[key] + " " + line.strip()).strip()
    return found


def check_equivalents(equivalents, sites):
    """What is wrong with the list, one text each: a mutant that is not there, one without a reason."""
    keys = {s.key for s in sites}
    return [f"equivalent_mutants.list: there is no such site: {k}" for k in equivalents if k not in keys] + [
        f"equivalent_mutants.list: no reason for: {k}"
        for k, reason in equivalents.items()
        if len(reason) < 20
    ]


# --- records ------------------------------------------------------------------------------------------------


class Records:
    """What each test meets; kept in the work folder and made anew for tests and builds that changed."""

    def __init__(self, schemata, jobs, golden, scripts):
        self.schemata, self.jobs, self.work = schemata, jobs, schemata.work
        self.path = self.work / "records.pickle"
        self.kept = pickle.loads(self.path.read_bytes()) if self.path.exists() else {}
        self.folder = self.work / "calls"
        self.golden, self.scripts = golden, scripts
        self.units, self.calls, self.seconds = [], {}, {}

    def digest(self, *paths):
        h = hashlib.sha256()
        for p in paths:
            h.update(Path(p).read_bytes())
        return h.hexdigest()

    def make(self):
        tool, unit = self.schemata.tool, self.schemata.unit
        tool_digest, work = self.digest(tool), str(self.work)
        begin = time.time()
        if unit.exists():
            key = self.digest(unit)
            if self.kept.get("units", ("",))[0] != key:
                names = tests.list_units(str(unit))
                with ThreadPoolExecutor(self.jobs) as pool:
                    units = list(pool.map(lambda n: tests.record_unit(str(unit), n, work), names))
                self.kept["units"] = key, [u for u in units if u]
                self.kept["units left out"] = [n for n, u in zip(names, units) if not u]
            self.units = self.kept["units"][1]
            print(f"{len(self.units)} unit tests, {time.time() - begin:.0f} s", flush=True)
        begin = time.time()
        cases = [c for c in tests.golden_cases() if not self.golden or c.startswith(self.golden)]
        jobs = [(f"golden:{c}", self.digest(ROOT / "tests/golden" / c) + tool_digest) for c in cases]
        jobs += [
            (f"script:{s}", self.digest(ROOT / "tests" / s.split()[0]) + tool_digest) for s in self.scripts
        ]
        wanted = [j for j in jobs if self.kept.get(j[0], ("",))[0] != j[1]]
        recorder = tests.recorder(tool, self.work)
        left_out = []
        with FORK.Pool(self.jobs) as pool:
            tasks = [(suite, key, str(tool), recorder, str(self.folder), work) for suite, key in wanted]
            for suite, key, seconds, wrong, calls in pool.imap_unordered(record_suite, tasks):
                self.kept[suite] = key, seconds, wrong, calls
                if suite.startswith("script:") or len(self.kept) % 50 == 0:
                    self.path.write_bytes(pickle.dumps(self.kept))
                if suite.startswith("script:"):
                    replayed = sum(1 for c in calls if c.expected)
                    print(f"{suite}: {len(calls)} calls, {replayed} replayed, {seconds:.0f} s", flush=True)
        self.path.write_bytes(pickle.dumps(self.kept))
        for suite, _ in jobs:
            _, seconds, wrong, calls = self.kept[suite]
            if wrong:
                left_out.append(f"left out, fails without a mutant: {suite}: {wrong}")
            else:
                self.calls[suite], self.seconds[suite] = calls, seconds
        print(f"{len(self.calls)} golden cases and scripts, {time.time() - begin:.0f} s", flush=True)
        for name in self.kept.get("units left out", []):
            left_out.append(f"left out, fails or is skipped without a mutant: {name}")
        print(*left_out, sep="\n" if left_out else "", end="\n" if left_out else "", flush=True)

    def by_mutant(self):
        """{number: ([unit test], {suite: [call]})} of all numbers that are met."""
        found = collections.defaultdict(lambda: ([], collections.defaultdict(list)))
        for u in self.units:
            for number in u.met:
                found[number][0].append(u)
        for suite, calls in self.calls.items():
            for c in calls:
                for number in c.met:
                    found[number][1][suite].append(c)
        return found


def record_suite(task):
    """(suite, key, seconds, what fails without a mutant, calls)"""
    suite, key, tool, recorder, folder, work = task
    own = os.path.join(folder, hashlib.sha256(suite.encode()).hexdigest()[:16])
    os.system(f"rm -rf '{own}'")
    os.makedirs(own)
    kind, name = suite.split(":", 1)
    begin, wrong = time.time(), ""
    if kind == "golden":
        os.environ["GRAPHOPT_RECORDS"] = own
        wrong = "; ".join(tests.run_golden(golden(), name, recorder, work))[:200]
    else:
        status, _, text = tests.run_script(name, recorder, tests.environment(GRAPHOPT_RECORDS=own))
        wrong = f"status {status}: {text[-200:]}" if status else ""
    seconds = time.time() - begin
    return suite, key, seconds, wrong, [] if wrong else tests.read_calls(own, suite, tool, work)


RUNNER = []


def golden():
    if not RUNNER:
        RUNNER.append(tests.golden_runner())
    return RUNNER[0]


# --- trying -------------------------------------------------------------------------------------------------


class Trial:
    """Tries mutants, in processes that inherit it."""

    def __init__(self, schemata, records):
        self.tool, self.unit, self.work = str(schemata.tool), str(schemata.unit), str(schemata.work)
        self.index, self.seconds = records.by_mutant(), records.seconds

    def suite_red(self, suite, number):
        """How the golden case or script fails with the mutant; "" when it passes."""
        kind, name = suite.split(":", 1)
        if kind == "golden":
            os.environ["GRAPHOPT_MUTANT"] = str(number)
            try:
                return "; ".join(tests.run_golden(golden(), name, self.tool, self.work))[:300]
            finally:
                del os.environ["GRAPHOPT_MUTANT"]
        limit = 60 + 5 * self.seconds[suite]
        status, _, text = tests.run_script(name, self.tool, tests.environment(number), limit)
        return "" if status == 0 else f"status {status}: {text[-250:]}" if status else "time limit"

    def judge(self, suite, calls, number):
        """(how the suite fails, whether a call gives something else)"""
        for c in sorted(calls, key=lambda c: c.seconds):
            if c.expected:
                got, status = tests.replay(c, self.tool, number, self.work, 5 + 20 * c.seconds)
                if status is None:
                    return "time limit", True
                if status < 0:
                    return f"signal {-status}", True
                if got == c.expected:
                    continue
            return self.suite_red(suite, number), True
        return "", False

    def __call__(self, number):
        """(killed, by what, suites that pass though a call gives something else)"""
        units, suites = self.index[number] if number in self.index else ([], {})
        green = []

        def try_units(some):
            name = tests.units_fail(self.unit, sorted(some, key=lambda u: u.seconds), number, self.work)
            return name and f"unit:{name}"

        if by := try_units([u for u in units if u.seconds <= QUICK]):
            return True, by, green
        for kind in ("golden:", "script:"):
            if kind == "script:" and (by := try_units([u for u in units if u.seconds > QUICK])):
                return True, by, green
            for suite in sorted((s for s in suites if s.startswith(kind)), key=lambda s: self.seconds[s]):
                red, other = self.judge(suite, suites[suite], number)
                if red:
                    return True, f"{suite} ({red})", green
                if other:
                    green.append(suite)
        return False, "", green


TRIAL = None


def prepare():
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def try_one(number):
    begin = time.time()
    return number, *TRIAL(number), time.time() - begin


def row(schemata, trial, number, killed, by, green, seconds):
    s = schemata.all_sites()[number]
    units, suites = trial.index[number] if number in trial.index else ([], {})
    return {
        "place": _mutant_build.place_of(s.file),
        "key": s.key,
        "file": s.file,
        "line": s.line,
        "kind": s.kind,
        "function": s.function,
        "text": s.text,
        "number": number,
        "result": "killed" if killed else "survived",
        "by": by,
        "met by": len(units) + len(suites),
        "green though other output": green,
        "seconds": round(seconds, 1),
    }


# --- the run ------------------------------------------------------------------------------------------------


def choose(schemata, a, equivalents):
    """The numbers that are tried."""
    sites = [s for s in schemata.all_sites().values() if s.key not in equivalents]
    if a.again:
        keys = {r["key"] for r in json.loads(Path(a.again).read_text()) if r["result"] == "survived"}
        return [schemata.number(s) for s in sites if s.key in keys]
    if a.only:
        return [schemata.number(s) for s in sites]
    chosen = []
    for place in [a.place] if a.place else _mutant_build.PLACES:
        here = [s for s in sites if _mutant_build.place_of(s.file) == place]
        here.sort(key=lambda s: _sites.order(s, a.seed))
        chosen += [schemata.number(s) for s in here[: a.count]]
    return chosen


def table(rows, schemata, equivalents):
    """Prints the figures per place and the survivors."""
    dropped = collections.Counter(_mutant_build.place_of(s.file) for s in schemata.dropped)
    same = collections.Counter(_mutant_build.place_of(k) for k in equivalents)
    head = f"{'place':8} {'tried':>6} {'killed':>7} {'survive':>8} {'not met':>8}"
    print(f"{head}   do not compile, change nothing (of all sites)")
    for place in _mutant_build.PLACES:
        here = [r for r in rows if r["place"] == place]
        if not here:
            continue
        killed = sum(r["result"] == "killed" for r in here)
        unmet = sum(r["met by"] == 0 for r in here)
        figures = f"{place:8} {len(here):6} {killed:7} {len(here) - killed:8} {unmet:8}"
        print(f"{figures}   {dropped[place]}, {same[place]}")
    for r in sorted(rows, key=lambda r: (r["file"], r["line"])):
        if r["result"] != "killed":
            other = f"; other output, but green: {len(r['green though other output'])}"
            print(f"SURVIVED {r['file']}:{r['line']} {r['kind']}: {r['text']}  (met by {r['met by']}{other})")


def places():
    """The tool's own tests, and that the list of equivalent mutants fits the sources."""
    import _test_records
    import _test_sites

    _test_sites.self_test()
    _test_records.self_test()
    sites = [s for path in _mutant_build.sources() for s in _sites.find(path, (ROOT / path).read_text())]
    count = collections.Counter(_mutant_build.place_of(s.file) for s in sites)
    wrong = check_equivalents(read_equivalents(), sites)
    wrong += [f"src/{p} has {count[p]} sites, expected more" for p in _mutant_build.PLACES if count[p] < 200]
    print(*[f"FAILED {w}" for w in wrong], sep="\n", end="\n" if wrong else "")
    print(f"{len(sites)} sites: " + ", ".join(f"{p} {n}" for p, n in sorted(count.items())))
    return 1 if wrong else 0


def main():
    global TRIAL
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("build", metavar="BUILD_DIR", type=Path)
    p.add_argument("--work", metavar="DIR", type=Path)
    p.add_argument("--count", type=int, default=100, metavar="N")
    p.add_argument("--seed", type=int, default=1, metavar="S")
    p.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N")
    p.add_argument("--again", metavar="RESULTS.json")
    p.add_argument("--place", choices=list(_mutant_build.PLACES))
    p.add_argument("--only", default="", metavar="TEXT")
    p.add_argument("--scripts", metavar="A,B", help="only these test scripts (default all; '' for none)")
    p.add_argument("--golden", default="", metavar="A,B", help="only golden cases whose path begins so")
    p.add_argument("--short", action="store_true")
    p.add_argument("--places", action="store_true")
    a = p.parse_args()
    if a.places:
        return places()
    begin = time.time()
    work = a.work or a.build / "mutants"
    work.mkdir(parents=True, exist_ok=True)
    equivalents = read_equivalents()
    only = a.only or (f"src/{a.place}/" if a.place else "")
    schemata = _mutant_build.Schemata(a.build, work, only, SHORT_FILES if a.short else ())
    schemata.make(a.jobs, units=not a.short)
    print(f"built with {len(schemata.all_sites())} switches, {time.time() - begin:.0f} s", flush=True)
    for s in schemata.dropped:
        print(f"does not compile: {s.file}:{s.line} {s.kind}: {s.text}")
    golden = SHORT_GOLDEN if a.short else tuple(a.golden.split(","))
    scripts = [] if a.short else tests.scripts(a.scripts)
    records = Records(schemata, a.jobs, golden, scripts)
    records.make()
    TRIAL = Trial(schemata, records)
    chosen, rows, results = choose(schemata, a, equivalents), [], work / "results.json"
    with FORK.Pool(a.jobs, prepare) as pool:
        for done in pool.imap_unordered(try_one, chosen):
            rows.append(row(schemata, TRIAL, *done))
            r = rows[-1]
            if not a.short:
                place = f"{r['file']}:{r['line']} {r['kind']}"
                print(f"{len(rows)}/{len(chosen)} {r['result']} {place} {r['by'][:90]}", flush=True)
            results.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    table(rows, schemata, equivalents)
    killed = sum(r["result"] == "killed" for r in rows)
    print(f"all of them in {results}, {time.time() - begin:.0f} s")
    print(f"{killed} of {len(rows)} mutants killed")
    return 1 if not rows or (a.short and killed < SHORT_WANTED * len(rows)) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BuildError as e:
        sys.exit(f"FAILED {e}")
