"""The tool's verbs and options, from its own --help=json: what the man page, the completions and the keywords
of Python are made of."""

import json
import subprocess
from dataclasses import dataclass


@dataclass(frozen=True)
class Option:
    group: str
    short: str  # "-o" or ""
    long: str  # "--output"; "" of -O alone
    value: str  # "FILE"; "" of a flag
    form: str  # docs/help.md lists them
    choices: tuple  # the words that the value may be
    repeats: bool
    bare: str  # what the name alone stands for: "1" of --check[=SEEDS]
    text: str
    key: str  # "external_data"

    @property
    def name(self) -> str:
        return self.long or self.short

    @property
    def optional(self) -> bool:
        return bool(self.bare)

    @property
    def is_list(self) -> bool:
        """Whether the value is several words between commas."""
        return self.form in ("choices", "passes", "devices")


def run(binary, *words):
    return subprocess.run([binary, *words], check=True, capture_output=True, text=True, timeout=60).stdout


def help_text(binary, verb=()):
    """What --help of a verb prints."""
    return run(binary, *verb, "--help")


def _option(of):
    long = of["name"] if of["name"].startswith("--") else ""
    return Option(
        of["group"],
        of["short"] if long else of["name"],
        long,
        of["value"],
        of["form"],
        tuple(of["choices"]),
        of["repeats"],
        of["bare"],
        of["help"],
        of["key"],
    )


def verbs_of(binary):
    """{words: (summary, options)} of every verb; the run has no words."""
    verbs = json.loads(run(binary, "--help=json"))["verbs"]
    return {tuple(v["name"].split()): (v["summary"], [_option(o) for o in v["options"]]) for v in verbs}


def options_of(binary):
    """The options of every verb."""
    return {verb: options for verb, (_, options) in verbs_of(binary).items()}


def names_listed(binary, option):
    """Returns the first words of what --list-passes or --list-devices prints; levels are no passes."""
    lines = run(binary, option).split("\nLevels")[0].splitlines()
    if option == "--list-passes":
        lines = lines[2:]  # below the head
    return [line.split()[0] for line in lines if line[:1].strip()]


def version_of(binary):
    return run(binary, "--version").split()[-1]
