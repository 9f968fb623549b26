#!/usr/bin/env python3
# TIER: nightly
# WHEN: tools/packag tests/cli/help.txt
"""The man page and the completions say what --help says: every option of every verb is in each of them.

shell_files.py GRAPHOPT
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tools" / "packaging"), str(TOP / "tests")]

import option_list  # noqa: E402
import shell_files  # noqa: E402
from _expect import expect  # noqa: E402
from lib.cases import run_cases  # noqa: E402

BASH = """
. share/bash-completion/completions/graphopt
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _graphopt
printf '%s\\n' "${COMPREPLY[@]}"
"""


def completed(folder, *words):
    """What bash offers for the last word of a command line."""
    done = subprocess.run(
        ["bash", "-c", BASH, "-", "graphopt", *words], cwd=folder, capture_output=True, text=True, check=True
    )
    expect(done.stderr == "", done.stderr)
    return done.stdout.split()


def test_options_are_read(binary, folder):
    """--help and --help=json of every verb name the same options, with the same texts."""
    for verb, options in option_list.options_of(binary).items():
        text = option_list.help_text(binary, verb).split("\nLevels")[0].split("\nExamples")[0]
        lines = [x for x in text.splitlines() if x.startswith("  -")]
        expect(len(lines) == len(options) > 5, verb, len(lines), len(options))
        by_name = {line.split()[0].rstrip(",").split("[")[0]: line for line in lines}
        for option in options:
            first = f"-O{option.value}" if option.name == "-O" else option.short or option.long
            expect(by_name[first].endswith(" " + option.text), by_name[first], option)


def test_man_page(binary, folder):
    text = (folder / "share/man/man1/graphopt.1").read_text()
    for verb, options in option_list.options_of(binary).items():
        for option in options:
            for name in (option.short, option.long):
                expect(
                    not name or f"\\fB{shell_files.roff(name)}\\fR" in text, "not in the page:", verb, option
                )
    for part in (
        ".SH NAME",
        ".SH SYNOPSIS",
        ".SH EXAMPLES",
        '.SH "EXIT STATUS"',
        "\\fB70\\fR\ninternal error",
    ):
        expect(part in text, part)
    if shutil.which("man"):
        env = {**os.environ, "MANROFFSEQ": "", "MANWIDTH": "100", "LC_ALL": "C"}
        done = subprocess.run(
            ["man", "--warnings", "-l", folder / "share/man/man1/graphopt.1"],
            capture_output=True,
            text=True,
            env=env,
        )
        expect(done.returncode == 0 and done.stderr == "", done.stderr)


def test_bash(binary, folder):
    for verb, options in option_list.options_of(binary).items():
        offered = completed(folder, *verb, *(["m.onnx"] if not verb else []), "-")
        expect(set(offered) == set(shell_files.words_of_options(options)), verb, offered)
    expect(completed(folder, "a.onnx", "--passes", "dead-code,drop-i") == ["dead-code,drop-identity"])
    expect(completed(folder, "a.onnx", "--fold", "=", "na") == ["native"])
    expect(completed(folder, "a.onnx", "--fold", "o") == ["ort"])
    expect("nnapi" in completed(folder, "a.onnx", "--devices", ""))
    expect(completed(folder, "insp") == ["inspect"])
    expect(completed(folder, "devices", "") == ["check"])
    expect(completed(folder, "devices", "check", "nna") == ["nnapi"])
    (folder / "some.onnx").touch()
    expect(completed(folder, "so") == ["some.onnx"] and completed(folder, "a", "-o", "so") == ["some.onnx"])


def test_zsh_and_fish(binary, folder):
    zsh = (folder / "share/zsh/site-functions/_graphopt").read_text()
    fish = (folder / "share/fish/vendor_completions.d/graphopt.fish").read_text()
    for options in option_list.options_of(binary).values():
        for option in options:
            end = "-[" if option.name == "-O" else "=-[" if option.optional else "=[" if option.value else "["
            expect(f"{option.name}{end}" in zsh, "not in zsh:", option)
            expect(
                f" -l {option.long[2:]} " in fish if option.long else " -s O " in fish, "not in fish:", option
            )
    for shell, words, file in (
        ("zsh", ["-n"], "share/zsh/site-functions/_graphopt"),
        ("fish", ["--no-execute"], "share/fish/vendor_completions.d/graphopt.fish"),
    ):
        if shutil.which(shell):
            done = subprocess.run([shell, *words, folder / file], capture_output=True, text=True)
            expect(done.returncode == 0 and done.stderr == "", shell, done.stderr)


def test_choices(binary, folder):
    """The tool takes each value that the completions offer."""
    for option in option_list.options_of(binary)[()]:
        for value in option.choices if option.name not in ("-O", "--help") else ():
            # Without a model the run fails; what counts is which words it refuses.
            done = subprocess.run([binary, f"{option.name}={value}"], capture_output=True, text=True)
            expect(
                "is not one of its values" not in done.stderr and "no model is named" in done.stderr,
                done.stderr,
            )
        if option.choices and option.name != "-O":
            done = subprocess.run([binary, f"{option.name}=nothing-like-it"], capture_output=True, text=True)
            expect("no model is named" not in done.stderr, option.name, "takes anything")


def main():
    with tempfile.TemporaryDirectory() as folder:
        shell_files.write(sys.argv[1], pathlib.Path(folder))
        return run_cases(globals(), sys.argv[1], folder=folder)


if __name__ == "__main__":
    sys.exit(main())
