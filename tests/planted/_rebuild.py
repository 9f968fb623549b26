"""Builds a graphopt from changed sources beside an existing build, which stays as it is."""

import concurrent.futures
import json
import os
import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent


class BuildError(Exception):
    """A command failed, or the build folder does not compile what is to be changed."""


def compiles_single_sources(build):
    """False for a build that compiles each layer as one source (GRAPHOPT_UNITY), which nothing here can
    change a file of."""
    return "/Unity/unity_" not in (Path(build) / "compile_commands.json").read_text()


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        raise BuildError(f"a command failed: {command}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def compile_source(build, work, source, like, warnings_are_errors):
    """The object file of `source`, compiled with the command of the repository's file `like`."""
    entries = json.loads((build / "compile_commands.json").read_text())
    path = os.path.realpath(ROOT / like)
    entry = next((e for e in entries if os.path.realpath(e["file"]) == path), None)
    if entry is None:
        raise BuildError(f"{like} is not compiled in {build}")
    words = [w for w in shlex.split(entry["command"]) if warnings_are_errors or w != "-Werror"]
    compiled = work / (source.stem + ".o")
    command = [
        str(compiled) if i > 0 and words[i - 1] == "-o" else str(source) if w == entry["file"] else w
        for i, w in enumerate(words)
    ]
    run(command, cwd=entry["directory"])
    return compiled


def compile_texts(build, work, texts, warnings_are_errors=False):
    """Object files in the folder `work` of other texts for some sources of BUILD.

    texts: (text, path of the file that it is instead of, file whose compile command is used). A file that is
    new takes the command of another file of its folder.
    """

    def compiled(text, path, like):
        source = work / path.replace("/", "_")
        source.write_text(text)
        return compile_source(build, work, source, like, warnings_are_errors)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda one: compiled(*one), texts))


def link(build, work, target, objects):
    """Path of a program in the folder `work`: the one of BUILD, as "tests/graphopt_unit_tests", with other
    objects for some of its own."""
    program = work / Path(target).name
    commands = run(["ninja", "-C", str(build), "-t", "commands", program.name]).splitlines()
    line = next(c for c in reversed(commands) if f" -o {target} " in c)
    # The objects come before the libraries on the command line, so the linker takes their symbols and leaves
    # the archive's members out.
    words = " ".join(shlex.quote(str(p)) for p in objects)
    run(line.replace(f" -o {target} ", f" {words} -o {shlex.quote(str(program))} ", 1), shell=True, cwd=build)
    return program


def rebuild(build, work, texts, warnings_are_errors=False):
    """Path of a graphopt in the folder `work`, built from BUILD with other texts for some sources."""
    return link(build, work, "graphopt", compile_texts(build, work, texts, warnings_are_errors))
