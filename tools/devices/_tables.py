"""What the scripts for tables in Markdown share: rows, versions of operators, and rules with their notes."""

import argparse
import pathlib
import re

from _notes import convert
from _profile import OPEN, alternatives, rules_of, say, write
from _schemas import spelling, versions

UNSAID = "its note in the table sets a condition that no rule can say"
SHIPPED = pathlib.Path(__file__).resolve().parents[2] / "share" / "graphopt" / "devices"


def rows(text):
    """The cells of each row of the tables in the text, without heads and rules."""
    for line in text.splitlines():
        if line.startswith("|") and not re.match(r"\|[\s:|-]+\|?\s*$", line):
            cells = [c.strip() for c in re.sub(r"\|$", "", line.strip())[1:].split("|")]
            if cells[0] not in ("Operator",):
                yield cells


def opset_ranges(text):
    """'7-12, 13+' -> [(7, 12), (13, OPEN)]"""
    for part in re.split(r",\s*", text):
        first, plus, last = re.fullmatch(r"(\d+)(\+?)(?:-(\d+))?", part.strip()).groups()
        yield int(first), OPEN if plus else int(last or first)


def meant(domain, name, ranges):
    """The versions of an operator that ranges of opsets mean, in runs without gaps: (schemas, last, history).
    A version is meant when it is in force in an opset of the range: 7-12 means Sigmoid of opset 6, too."""
    history = versions(domain, name)
    after = {s: h.since - 1 for s, h in zip(history, history[1:])}
    runs = []
    for low, high in sorted(ranges):
        if runs and runs[-1][1] + 1 >= low:
            runs[-1][1] = max(runs[-1][1], high)
        else:
            runs.append([low, high])
    for low, high in runs:
        schemas = [s for s in history if s.since <= high and after.get(s, OPEN) >= low]
        if schemas:
            yield schemas, high, history


class Rules:
    """The rules of a profile as they are found."""

    def __init__(self, name):
        self.name, self.all, self.omitted = name, [], {}

    def leave_out(self, domain, op, by, note=""):
        """No rule, and who decided so: "source" or "converter"."""
        self.omitted["" if domain == "ai.onnx" else domain, spelling(domain, op) or op] = (by, note)

    def add(self, domain, op, ranges, note, also=lambda schema: [{}], said=""):
        """The rules of one row. `also`: more conditions; where it gives none, the version has no rule.
        `said`: the note of its rules."""
        right = spelling(domain, op)
        other = "" if domain else "com.microsoft"
        if right is None and spelling(other, op):  # Inverse is one of ONNX Runtime's own, for example
            say(f"{self.name}: {domain}:{op}: taken for {other}:{op}")
            domain, right = other, spelling(other, op)
        if right is None:
            return say(f"{self.name}: {domain}:{op}: there is no such operator; left out")
        if right != op:
            say(f"{self.name}: {domain}:{op}: taken for {right}")
        misunderstood = set()

        def conditions(schema):
            found, sentence = convert(schema, note)
            if found is None:
                misunderstood.add(sentence)
                return []
            return alternatives([found, also(schema)])

        found = []
        for run in meant(domain, right, ranges):
            found += rules_of(run, conditions, said)
        for sentence in sorted(misunderstood):
            say(f"{self.name}: {op}: not taken, its note is no rule: {sentence}")
            if not found:
                self.leave_out(domain, right, "converter", UNSAID)
        self.all += found

    def write(self, out, head):
        write(out / f"{self.name}.json", {"id": self.name, **head}, self.all, self.omitted)
        say(
            f"{self.name}: {len({(r.get('domain', ''), r['op']) for r in self.all})} operators,"
            f" {len(self.all)} rules"
        )


def arguments(description, **files):
    """--out, and an option for each file."""
    parser = argparse.ArgumentParser(description=description)
    for name, help_text in files.items():
        parser.add_argument(f"--{name}", type=pathlib.Path, help=help_text)
    parser.add_argument(
        "--out", type=pathlib.Path, default=SHIPPED, help="folder (default: the shipped profiles')"
    )
    return parser.parse_args()
