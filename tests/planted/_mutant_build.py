"""Builds graphopt and the unit tests with a switch at every site of the given sources: one build for all
mutants. mutants.py describes the whole."""

import concurrent.futures
import json
import os
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import _sites
from _rebuild import ROOT, BuildError, run

HERE = Path(__file__).resolve().parent
PER_FILE = 512  # numbers for the sites of a file; those of other files stay when it changes

# The folders whose conditions are tried, and the files of them that count.
PLACES = {
    "passes": r"",
    "draft": r"",
    "regions": r"",
    "hoist": r"",
    "infer": r"/rules_|/known_facts|/context|/values|/state",
    "ops": r"",
}


def place_of(path):
    return Path(path).parts[1]


def sources(only="", files=()):
    """{path: number} of the C++ files of the four places; with `only`, those whose path holds it, with
    `files` these alone. The numbers are the same in any case."""
    found = []
    for place, wanted in PLACES.items():
        for p in sorted((ROOT / "src" / place).rglob("*")):
            path = p.relative_to(ROOT).as_posix()
            if p.suffix in (".cpp", ".h") and re.search(wanted, path):
                found.append(path)
    return {path: k for k, path in enumerate(found, 1) if only in path and (not files or path in files)}


def included(path, seen=None):
    """The headers of the repository that a source includes, itself or by another header, as paths."""
    seen = set() if seen is None else seen
    for name in re.findall(r'^#include "([^"]+)"', (ROOT / path).read_text(), re.M):
        for folder in ("src", "include", Path(path).parent):
            header = os.path.normpath(Path(folder) / name)
            if header not in seen and (ROOT / header).is_file():
                seen.add(header)
                included(header, seen)
    return seen


class Schemata:
    """The sources with switches below `work`, and what is built of them."""

    def __init__(self, build, work, only="", files=()):
        self.build, self.work = Path(build).resolve(), Path(work).resolve()
        self.tool, self.unit = self.work / "graphopt", self.work / "graphopt_unit_tests"
        self.entries = {}
        for e in json.loads((self.build / "compile_commands.json").read_text()):
            if "/unit_" not in e["command"]:  # a unit test has a command for its own program, too
                self.entries[os.path.realpath(e["file"])] = e
        self.bases, self.texts, self.sites, self.dropped = {}, {}, {}, []
        for path, k in sources(only, files).items():
            text = (ROOT / path).read_text()
            sites = _sites.find(path, text)
            if len(sites) >= PER_FILE:
                raise BuildError(f"{path} has {len(sites)} sites, more than there are numbers for")
            if sites:
                self.bases[path], self.texts[path], self.sites[path] = k * PER_FILE, text, sites

    def number(self, site):
        return self.bases[site.file] + site.number

    def all_sites(self):
        return {self.number(s): s for sites in self.sites.values() for s in sites}

    def write(self, path):
        target = self.work / path
        text = _sites.instrument(self.texts[path], self.sites[path], self.bases[path])
        if not target.exists() or target.read_text() != text:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)

    def command(self, source, like, output):
        entry = self.entries[os.path.realpath(ROOT / like)]
        words = [w for w in shlex.split(entry["command"]) if not w.startswith("-W")]
        words = [
            str(output) if i > 0 and words[i - 1] == "-o" else str(source) if w == entry["file"] else w
            for i, w in enumerate(words)
        ]
        at = next(i for i, w in enumerate(words) if w.startswith("-I"))
        # The sources with switches come before the others of the same name. The library's assertions end a
        # mutant that reads an empty optional or beyond a vector, as the sanitizers' tests do.
        words[at:at] = ["-w", "-D_GLIBCXX_ASSERTIONS", "-include", str(HERE / "mutant.h")]
        words.insert(at, f"-I{self.work / 'src'}")
        launcher = shutil.which("ccache")
        return ([launcher] if launcher and "ccache" not in words[0] else []) + words, entry["directory"]

    def compile(self, path):
        """What the compiler says of the source; "" when it compiles."""
        output = self.work / "objects" / (path.replace("/", "_") + ".o")
        source = self.work / path if path in self.sites else ROOT / path
        words, folder = self.command(source, path, output)
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        return done.stderr if done.returncode else ""

    def blamed(self, text):
        """The sites on the lines that the compiler names."""
        found = []
        for m in re.finditer(r"([^\s:]+):(\d+):\d+: +(?:error|required|fatal)", text):
            # ccache makes paths relative to the folder in which the compiler runs.
            path = os.path.relpath(self.build / m[1], self.work)
            for s in self.sites.get(path, []):
                last = s.line + self.texts[path].count("\n", s.begin, s.end)
                if s.line <= int(m[2]) <= last:
                    found.append(s)
        return {id(s): s for s in found}.values()

    def make(self, jobs, say=print, units=True):
        """Compiles and links; sites that do not compile go to `dropped`."""
        run(["ninja", "-C", str(self.build), "graphopt", *(["graphopt_unit_tests"] if units else [])])
        (self.work / "objects").mkdir(parents=True, exist_ok=True)
        for path in self.sites:
            self.write(path)
        waiting = [p for p in self.sites if p.endswith(".cpp")]
        # Unit tests whose own copies of inline functions have no switches would not see those of headers.
        headers = {p for p in self.sites if p.endswith(".h")}
        if units and headers:
            found = (p.relative_to(ROOT).as_posix() for p in sorted((ROOT / "tests/unit").glob("*.cpp")))
            waiting += [p for p in found if included(p) & headers]
        compiled = list(waiting)
        with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
            for _ in range(12):
                answers = dict(zip(waiting, pool.map(self.compile, waiting)))
                waiting = [p for p, text in answers.items() if text]
                changed = set()
                for path in waiting:
                    blamed = self.blamed(answers[path])
                    if not blamed and not changed:
                        raise BuildError(f"{path} does not compile with switches:\n{answers[path][:3000]}")
                    for s in blamed:
                        if s in self.sites[s.file]:
                            self.sites[s.file].remove(s)
                            self.dropped.append(s)
                            changed.add(s.file)
                for path in changed:
                    self.write(path)
                say(f"{len(compiled) - len(waiting)} of {len(compiled)} sources compiled", flush=True)
                if not waiting:
                    break
        if waiting:
            raise BuildError(f"these do not compile with switches: {' '.join(waiting)}")
        self.link([p for p in compiled if not p.startswith("tests/")], [], "graphopt", self.tool)
        if units:
            own = [p for p in compiled if p.startswith("tests/")]
            self.link([p for p in compiled if p not in own], own, "graphopt_unit_tests", self.unit)

    def link(self, paths, instead, target, output):
        runtime = self.work / "objects/mutant.o"
        run(["c++", "-O2", "-std=c++20", "-c", str(HERE / "mutant.cpp"), "-o", str(runtime)])
        commands = run(["ninja", "-C", str(self.build), "-t", "commands", target]).splitlines()
        line = next(c for c in reversed(commands) if f" -o {target} " in c or f" -o tests/{target} " in c)
        words = shlex.split(line)
        for path in instead:  # objects that the command names itself
            place = f"{path.removeprefix('tests/')}.o"
            words = [
                str(self.work / "objects" / (path.replace("/", "_") + ".o")) if w.endswith(place) else w
                for w in words
            ]
        at = words.index("-o")
        words[at + 1] = str(output)
        # Before the archives and other objects: of several definitions the linker takes the first, which has
        # switches. An archive's member may still be linked for the sake of some inline function.
        begin = next(i for i, w in enumerate(words) if w.endswith("c++") or w.endswith("g++")) + 1
        objects = [str(self.work / "objects" / (p.replace("/", "_") + ".o")) for p in paths]
        words[begin:begin] = ["-Wl,--allow-multiple-definition", *objects, str(runtime)]
        words = [w for w in words if w not in (":", "&&")]
        run(words, cwd=self.build)
