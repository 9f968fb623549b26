"""The tool's errors as exceptions.

The tool prints each problem as "graphopt: error: PLACE: WHAT" and "  help: REMEDY" (docs/exit-codes.md). A
place is a file, as it was given, and what is inside it. A file is recognized by its name, since WHAT may have
a colon too: the names that were on the command line are known, and those of files that exist.
"""

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Sequence, Tuple, Type

from graphopt._keywords import KEYWORDS

if TYPE_CHECKING:
    from graphopt._run import Run

_START = "graphopt: error: "
_HELP = "\n  help: "
# The parts of a place inside a file, each optional, in the order in which the tool writes them.
_GRAPH = re.compile(r"graph '(?P<graph>.*?)'(?:, |: )")
_NODE = re.compile(r"node (?:'(?P<name>.*?)'|(?P<number>#\d+))(?: \((?P<op>[^()]*)\))?(?:, |: )")
_SLOT = re.compile(r"(?P<slot>(?:input|output|attribute|initializer|value|function)\b[^:]*?): ")

# An option as the tool names it, and the word behind it, which may be its value.
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)(?: ([a-z][a-z-]*))?")
_KEYWORDS = {option: (name, form, words) for name, (option, form, words) in KEYWORDS.items()}
_KEYWORDS["--bucket"] = _KEYWORDS["--buckets"]


def in_keywords(text: str) -> str:
    """Returns a text with the tool's options as keywords: `--parts never` is `parts="never"`."""

    def keyword(match: "re.Match[str]") -> str:
        if "--" + match[1] not in _KEYWORDS:
            return match[0]
        name, form, words = _KEYWORDS["--" + match[1]]
        if match[2] in words:
            return f'{name}="{match[2]}"'
        return name + ("=True" if form == "flag" else "") + (f" {match[2]}" if match[2] else "")

    return _OPTION.sub(keyword, text)


@dataclass(frozen=True)
class Problem:
    """One problem of a run. Fields without content are ""."""

    what: str
    """The fact."""
    remedy: str = ""
    """What to do; "" only of a defect of graphopt."""
    file: str = ""
    """As it was given; "-" is a model that was given as bytes or as a ModelProto, of `map` "a" or "b"."""
    graph: str = ""
    """"main/loop_3.body" in a subgraph; "" in the main graph."""
    node: str = ""
    """Its name, or "#418" for the 419th node of its graph when it has none."""
    op: str = ""
    """"Conv", with its domain when that is not the default one."""
    slot: str = ""
    """"input 1 'w12'"."""
    text: str = ""
    """All of it, as the tool printed it."""


class GraphoptError(Exception):
    """A run of the tool that did not end with status 0. Its text is what the tool printed.

    `problems` has one to ten of them, in the order in which they were found; the first decides the class, and
    its fields `what`, `remedy`, `file`, `graph`, `node`, `op` and `slot` are those of the error, too. All but
    `Problem.text` name keywords where the tool names options.
    """

    status: int
    """The exit status; 128 + n when signal n ended the process."""
    run: "Optional[Run]"
    """Of `graphopt.run`: the other answers and the figures; None when no request ran."""

    def __init__(self, problems: Sequence[Problem], status: int) -> None:
        self.problems: Tuple[Problem, ...] = tuple(problems)
        self.status = status
        self.run = None
        first = self.problems[0]
        self.what = first.what
        self.remedy = first.remedy
        self.file = first.file
        self.graph = first.graph
        self.node = first.node
        self.op = first.op
        self.slot = first.slot
        super().__init__("\n".join(in_keywords(p.text or p.what) for p in self.problems))

    def __reduce__(self) -> Tuple[Any, ...]:
        return (type(self), (self.problems, self.status), {"run": self.run})  # a pool of processes pickles it


class UsageError(GraphoptError):
    """Status 1: an option, a name or a value that cannot be, or shapes that contradict the model."""


class InputError(GraphoptError):
    """Status 2: the model, its external data or a device profile is missing, damaged or hostile."""


class CheckFailed(GraphoptError):
    """Status 3: the optimized model does not compute the same, and nothing was written. Of `run`: answers
    differ."""


class OutputError(GraphoptError):
    """Status 4: the result could not be written. The file of that name is what it was."""


class LimitError(GraphoptError):
    """Status 5: `timeout` or `max_memory` was reached. Of `run`, too: a request took too long, or a budget
    does not hold it."""


class NotChecked(GraphoptError):
    """Status 6: nothing was compared: ONNX Runtime is absent, too old, or does not run the model (of `map`
    one of them). Of `run`, too: a request failed."""


class InternalError(GraphoptError):
    """Status 70, or the end by a signal: a defect of graphopt (or a process that somebody killed)."""


_CLASSES: Dict[int, Type[GraphoptError]] = {
    1: UsageError,
    2: InputError,
    3: CheckFailed,
    4: OutputError,
    5: LimitError,
    6: NotChecked,
}


def _split_file(text: str, files: Sequence[str]) -> Tuple[str, str]:
    """Returns the file that a message begins with, "" when it names none, and the rest."""
    for name in sorted(files, key=len, reverse=True):
        if name and text.startswith(name + ": "):
            return name, text[len(name) + 2 :]
    end = text.find(": ")
    if end > 0 and not text.startswith(("--", "node ", "graph ")) and os.path.exists(text[:end]):
        return text[:end], text[end + 2 :]
    return "", text


def parse_problem(text: str, files: Sequence[str]) -> Problem:
    """Reads one message. `files`: the names that the tool was given."""
    body, _, remedy = text[len(_START) :].partition(_HELP)
    file, rest = _split_file(body, files)
    graph = node = op = slot = ""
    if match := _GRAPH.match(rest):
        graph, rest = match["graph"], rest[match.end() :]
    if match := _NODE.match(rest):
        node, op, rest = match["name"] or match["number"], match["op"] or "", rest[match.end() :]
        if inside := _SLOT.match(rest):
            slot, rest = inside["slot"], rest[inside.end() :]
    return Problem(in_keywords(rest), in_keywords(remedy), file, graph, node, op, slot, text)


def parse_problems(stderr: str, files: Sequence[str]) -> List[Problem]:
    """Reads all messages of a run. Lines before the first one are not errors."""
    starts = [m.start() for m in re.finditer("^" + _START, stderr, re.M)]
    ends = starts[1:] + [len(stderr)]
    return [parse_problem(stderr[a:b].rstrip("\n"), files) for a, b in zip(starts, ends)]


def error_of(status: int, stderr: str, files: Sequence[str]) -> GraphoptError:
    """Returns the exception for a run that ended with `status` (negative: by that signal)."""
    problems = parse_problems(stderr, files)
    if status < 0:
        status = 128 - status
    if not problems:
        what = (
            f"the tool ended by signal {status - 128}" if status > 128 else f"it ended with status {status}"
        )
        problems = [Problem(what, text=f"{_START}{what}\n{stderr}".rstrip())]
    return _CLASSES.get(status, InternalError)(problems, status)
