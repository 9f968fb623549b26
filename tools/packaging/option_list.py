"""The tool's options, read from its own --help: what the man page and the completions are made of."""

import re
import subprocess
from dataclasses import dataclass

VERBS = {
    (): "optimize a model",
    ("inspect",): "show what is in a model",
    ("compare",): "compare two models in figures and results",
    ("reduce",): "make a failing model small",
    ("devices", "check"): "what a device takes of a model, and why not all",
}

# Values that --help tells in its sentence. tests/package/shell_files.py asks the tool for each.
CHOICES = {
    "--stop-after": ["load", "infer", "clean-up"],
    "--regions": ["none", "metadata", "functions"],
    "--fold": ["native", "ort"],
    "--dim-names": ["expressions", "opaque"],
    "--bucket-require": ["proved", "assumed", "repair", "force"],
    "--partition-algorithm": ["grow", "fewest", "depth"],
    "--assignment": ["given"],
    "--parts": ["auto", "never"],
    "--emit": ["triton", "ort-annotations", "genai", "onnx-stages"],
    "--external-data": ["auto", "always", "never"],
    "--strip": ["doc", "metadata", "names", "all"],
    "--log-level": ["error", "warning", "info", "debug", "trace"],
    "--progress": ["auto", "never"],
    "--color": ["auto", "always", "never"],
}
PASSES = ("--passes", "--disable-pass", "--explain", "--print-after")
DEVICES = ("--devices",)
FILES = ("FILE", "PATH")
FOLDERS = ("DIR",)

_LINE = re.compile(
    r"^  (?:(?P<short>-\w)(?:, )?)?(?P<long>--[a-z-]+)?(?P<optional>\[=\w+\])?"
    r"(?P<value>[^ ]\S*| \S+(?: \S+)*?)?  +(?P<text>.+)$"
)
_TIGHT = re.compile(
    r"^  (?:(?P<short>-\w)(?:, )?)?(?P<long>--[a-z-]+)(?P<optional>)(?P<value>) (?P<text>.+)$"
)


@dataclass(frozen=True)
class Option:
    group: str
    short: str  # "-o" or ""
    long: str  # "--output"; "" of -O alone
    value: str  # "FILE"; "" of a flag
    optional: bool  # --check[=SEEDS]
    text: str

    @property
    def name(self) -> str:
        return self.long or self.short


def help_text(binary, verb=()):
    """What --help of a verb prints."""
    return subprocess.run(
        [binary, *verb, "--help"], check=True, capture_output=True, text=True, timeout=60
    ).stdout


def options_part(text):
    """Returns a --help without its end, which describes levels and examples."""
    return re.split(r"\n(?:Levels|Examples)\b", text)[0]


def parse(text):
    """Returns the options of a --help, in its order. ValueError: a line of a group is none."""
    out = []
    group = ""
    for line in options_part(text).splitlines():
        if re.fullmatch(r"[A-Z][A-Za-z ]*:", line):
            group = line[:-1]
        elif group and line.startswith("  -"):
            match = _LINE.match(line) or _TIGHT.match(line)
            if not match:
                raise ValueError(f"not read: {line!r}")
            value = (match["value"] or "").strip() or (match["optional"] or "").strip("[=]")
            long = match["long"] or ""
            out.append(
                Option(group, match["short"] or "", long, value, bool(match["optional"]), match["text"])
            )
        elif group and line.strip():
            raise ValueError(f"not read: {line!r}")
    return out


def options_of(binary):
    """Returns the options of every verb."""
    return {verb: parse(help_text(binary, verb)) for verb in VERBS}


def names_listed(binary, option):
    """Returns the first words of what --list-passes or --list-devices prints; levels are no passes."""
    done = subprocess.run([binary, option], check=True, capture_output=True, text=True, timeout=60)
    lines = done.stdout.split("\nLevels")[0].splitlines()
    if option == "--list-passes":
        lines = lines[2:]  # below the head
    return [line.split()[0] for line in lines if line[:1].strip()]


def version_of(binary):
    done = subprocess.run([binary, "--version"], check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.split()[-1]
