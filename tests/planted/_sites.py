"""Finds the places of C++ sources where a condition or an undo can be dropped, and puts switches there.

A site is one of
  and      an operand of a chain of &&; dropped, it counts as true whatever it is
  or       an operand of a chain of ||; dropped, it counts as false; not c.no(...), which is false in any case
  guard    `if (...)` in front of `return false`, `return {}`, `continue`, `break` and the like, without an
           else; dropped, it never leaves
  not      a `!`; dropped, the operand counts as it is
  call     a statement that calls something whose name says that it undoes, asserts, forgets or tells (CALLS)
  undo     any other statement of a function that undoes (UNDOING)
Conditions are still evaluated when they are dropped, only their result is not looked at: what they do beside
is not what is tried. The lexer knows the layout of tools/format: a binary && stands between white space, the
one of `T&&` does not. What is found in error does not compile, and such sites do not count. Conditions that
only the compiler evaluates are left alone.
"""

import bisect
import hashlib
import re
from dataclasses import dataclass

TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/                          # a comment
    |^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*                 # a line of the preprocessor
    |R"([^(\s]*)\(.*?\)\1"                          # a raw string
    |"(?:\\.|[^"\\\n])*"                            # a string
    |'(?:\\.|[^'\\\n])*'                            # a character
    |\d(?:'?[\w.])*|\w+                             # a number, a word
    |<<=|>>=|<=>|->\*|\.\.\.|&&|\|\||==|!=|<=|>=|->|::|\+\+|--|[-+*/%&|^]=
    |\S                                             # any other character by itself""",
    re.S | re.X | re.M,
)
CLOSING = {"(": ")", "[": "]", "{": "}"}
ASSIGNING = {"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="}
# What ends an operand of && or || to its left and right, beside brackets.
ENDS = {";", ",", "?", ":", "return", "co_return", "case", "else", "do"} | ASSIGNING

CALLS = re.compile(
    r"undo|roll_back|restore|reset|clear|forget|drop|erase|remove|pop|release|unlink|relink|invalidate"
    r"|assert|same|narrow|notify|touch|mark|log|see|update|refresh|changed|enqueue|renumber|truncate"
)
UNDOING = re.compile(r"undo|roll_back|relink|restore")
LEAVES = re.compile(
    r"(?:continue|break|return(?: (?:false|nullptr|\{ \}|std :: (?:nullopt|nullptr)|std :: unexpected .*"
    r"|(?:\w+ :: )*[A-Z]\w* (?:\{ \}|\( \))|(?:\w+ (?:\.|->|::) )*\w+ \(.*\)))?) ;"
)
NOT_FUNCTIONS = {"if", "for", "while", "switch", "catch", "return", "sizeof", "decltype", "alignas"}


@dataclass
class Site:
    file: str  # path below the repository's folder
    kind: str
    begin: int  # offsets in the source
    end: int
    line: int
    function: str
    text: str  # the tokens that are dropped, with one space between them
    key: str = ""  # FILE | FUNCTION | KIND | TEXT; a further one of the same text in the function has #2 ...
    number: int = 0  # of the site in its file


@dataclass
class Token:
    text: str
    begin: int
    end: int


class Source:
    """The tokens of a C++ source and what encloses what."""

    def __init__(self, text):
        self.text = text
        self.tokens = [
            Token(m[0], m.start(), m.end())
            for m in TOKEN.finditer(text)
            if not m[0].startswith(("//", "/*")) and not m[0].lstrip().startswith("#")
        ]
        self.words = [t.text for t in self.tokens]
        self.lines = [m.start() for m in re.finditer(r"^", text, re.M)]
        self.partner, self.parent, open_brackets = {}, [], []
        for i, w in enumerate(self.words):
            if w in CLOSING.values() and open_brackets and CLOSING[self.words[open_brackets[-1]]] == w:
                self.partner[i] = open_brackets.pop()
                self.partner[self.partner[i]] = i
            self.parent.append(open_brackets[-1] if open_brackets else -1)
            if w in CLOSING:
                open_brackets.append(i)
        self.names = {}  # of the function whose body an open brace begins

    def word(self, i):
        return self.words[i] if 0 <= i < len(self.words) else ""

    def line(self, offset):
        return bisect.bisect_right(self.lines, offset)

    def joined(self, first, last):
        return " ".join(self.words[first : last + 1])

    def function(self, i):
        """The name of the innermost function with a name around token i."""
        while (i := self.parent[i]) >= 0:
            if self.words[i] == "{" and (name := self.name_of_body(i)):
                return name
        return ""

    def name_of_body(self, brace):
        if brace not in self.names:
            i = brace - 1
            while self.word(i) in ("const", "noexcept", "override", "final", "mutable"):
                i -= 1
            name = ""
            if self.word(i) == ")" and i in self.partner:
                before = self.word(self.partner[i] - 1)
                if re.fullmatch(r"[A-Za-z_]\w*", before) and before not in NOT_FUNCTIONS:
                    name = before
            self.names[brace] = name
        return self.names[brace]

    def for_the_compiler(self, i):
        """Whether token i stands in a condition that is evaluated when the program is compiled."""
        while i >= 0:
            bracket = self.parent[i]
            if bracket >= 0 and self.words[bracket] == "(":
                before = self.words[max(0, bracket - 2) : bracket]
                if before[-1:] == ["static_assert"] or before == ["if", "constexpr"] or "noexcept" in before:
                    return True
                if before[-1:] in (["requires"], ["explicit"]):
                    return True
            i = bracket
        return False


def operand(source, i, step):
    """The last token from token i on, in the direction `step`, of an operand that begins there."""
    last = i - step
    while 0 <= i < len(source.words):
        w = source.words[i]
        if w in ENDS or w in ("&&", "||") and is_logical(source, i):
            break
        opens, closes = w in CLOSING, w in CLOSING.values()
        if opens if step < 0 else closes:
            break
        if (closes if step < 0 else opens) and i in source.partner:
            i = source.partner[i]
        last = i
        i += step
    return last


def is_logical(source, i):
    t = source.tokens[i]
    return source.text[t.begin - 1].isspace() and source.text[t.end : t.end + 1].isspace()


def chains(source):
    """(kind, first token, last token) of each operand of && and ||."""
    found = set()
    for i, w in enumerate(source.words):
        if w not in ("&&", "||") or not is_logical(source, i) or source.for_the_compiler(i):
            continue
        if "requires" in source.words[max(0, i - 12) : i]:
            continue
        for step in (-1, 1):
            first, last = sorted((i + step, operand(source, i + step, step)))
            if w == "||":  # an operand of || may be a chain of &&
                while source.word(first - 1) == "&&" and is_logical(source, first - 1):
                    first = operand(source, first - 2, -1)
                while source.word(last + 1) == "&&" and is_logical(source, last + 1):
                    last = operand(source, last + 2, 1)
            refusal = w == "||" and source.joined(first, first + 3) == "c . no ("
            if refusal and source.partner.get(first + 3) == last:
                continue  # it gives a reason and returns false, which dropping it does, too
            if first <= last:
                found.add(("and" if w == "&&" else "or", first, last))
    return found


def statement_end(source, i):
    """The semicolon that ends the statement from token i on; -1 where a bracket closes before."""
    while i < len(source.words) and source.words[i] != ";":
        if source.words[i] in CLOSING.values():
            return -1
        i = source.partner.get(i, i) + 1
    return i


def guards(source):
    """(first token, last token, whether it is a condition alone) of each early leave: the condition, or the
    whole `if` where the condition declares a name."""
    for i, w in enumerate(source.words):
        if w != "if" or source.word(i + 1) != "(" or i + 1 not in source.partner:
            continue
        close = source.partner[i + 1]
        braced = source.word(close + 1) == "{"
        first = close + 2 if braced else close + 1
        end = statement_end(source, first)
        if end < 0 or not LEAVES.fullmatch(source.joined(first, end)):
            continue
        if braced and source.word(end + 1) != "}" or source.word(end + 1 + braced) == "else":
            continue
        begin = i + 2
        for k in range(i + 2, close):
            if source.words[k] == ";" and source.parent[k] == i + 1:
                begin = k + 1
        if any(source.words[k] == "=" and source.parent[k] == i + 1 for k in range(begin, close)):
            if source.word(i - 1) in (";", "{", "}"):
                yield i, end + braced, False
        else:
            yield begin, close - 1, True


def statements(source):
    """(kind, first token, last token) of each statement that undoes or tells."""
    for i in range(1, len(source.words)):
        before = source.word(i - 1)
        if before == ")":
            starts = source.word(source.partner.get(i - 1, 0) - 1) in ("if", "for", "while")
        else:
            starts = before in (";", "{", "}", "else", ":")
        if not starts or not re.match(r"[A-Za-z_(*]", source.words[i]):
            continue
        end = statement_end(source, i)
        function = source.function(i) if end >= 0 else ""
        if not function or source.words[i] in NOT_FUNCTIONS | {
            "else",
            "do",
            "case",
            "break",
            "continue",
            "using",
            "default",
        }:
            continue
        parent = source.parent[i]
        if parent < 0 or source.words[parent] != "{":
            continue
        top = [k for k in range(i, end) if source.parent[k] == parent]
        undoing = UNDOING.match(function)
        if undoing and any(source.words[k] in ASSIGNING | {"++", "--"} for k in top):
            if not re.match(r"(const |auto |[A-Z]\w*(?: &)? \w+ =|constexpr )", source.joined(i, end)):
                yield "undo", i, end - 1
        elif source.words[end - 1] == ")" and not any(source.words[k] in ASSIGNING for k in top):
            callee = source.partner[end - 1] - 1
            access = callee == i or source.word(callee - 1) in (".", "->", "::")
            if access and (undoing or CALLS.match(source.words[callee])):
                yield "call", i, end - 1


def find(path, text):
    """The sites of a source, in the order of their begin, the outer of two first."""
    source, found = Source(text), []

    def add(kind, first, last):
        begin, end = source.tokens[first].begin, source.tokens[last].end
        found.append(
            Site(
                path, kind, begin, end, source.line(begin), source.function(first), source.joined(first, last)
            )
        )

    for kind, first, last in chains(source):
        add(kind, first, last)
    for first, last, alone in guards(source):
        add("guard" if alone else "leave", first, last)
    for kind, first, last in statements(source):
        add(kind, first, last)
    for i, w in enumerate(source.words):
        if w == "!" and source.word(i - 1) != "operator" and not source.for_the_compiler(i):
            last = operand(source, i + 1, 1)
            add("not", i, last)
            found[-1].end = source.tokens[i].end
    found.sort(key=lambda s: (s.begin, -s.end, s.kind))
    seen = {}
    for number, s in enumerate(found):
        s.number = number
        key = f"{path} | {s.function} | {'guard' if s.kind == 'leave' else s.kind} | {s.text}"
        seen[key] = seen.get(key, 0) + 1
        s.key = key if seen[key] == 1 else f"{key} #{seen[key]}"
    return found


def instrument(text, sites, base):
    """The text with a switch at each site: number base + site.number. The lines keep their numbers."""
    forms = {
        "and": ("::graphopt_mutants::all({0}, (", "))"),
        "or": ("::graphopt_mutants::any({0}, (", "))"),
        "guard": ("::graphopt_mutants::any({0}, (", "))"),
        "leave": ("if (::graphopt_mutants::done({0})) ", ""),
        "call": ("(::graphopt_mutants::done({0}) ? static_cast<void>(", ") : static_cast<void>(0))"),
        "undo": ("(::graphopt_mutants::done({0}) ? static_cast<void>(", ") : static_cast<void>(0))"),
    }
    inserts, dropped = [], []
    for s in sites:
        if s.kind == "not":
            inserts.append((s.begin, 1, -s.end, s.number, f"::graphopt_mutants::Not{{{base + s.number}}}->*"))
            dropped.append(s.begin)
            continue
        before, after = forms[s.kind]
        inserts.append((s.begin, 1, -s.end, s.number, before.format(base + s.number)))
        inserts.append((s.end, 0, -s.begin, -s.number, after))
    out, at = [], 0
    for offset, _, _, _, new in sorted(inserts):
        out += [text[at:offset], new]
        at = offset
        if dropped and offset in dropped and new.endswith("->*"):
            at += 1
    return "".join(out) + text[at:]


def order(site, seed):
    """Sorts the sites of a sample: by a hash of the seed and the key, so that a change of the sources
    elsewhere leaves a sample as it was."""
    return hashlib.sha256(f"{seed} {site.key}".encode()).hexdigest()
