"""Extents and layouts as a bucketability verdict writes them, and where true elements stand in a padded axis.

An extent is an expression of src/ir/dim.h. A layout says how the true positions of an axis lie among the
padded ones: the parts of `b x s` are the digits of a row-major index, those of `past ++ seq` stand one after
another, and a part that is an extent has its padding at its end.

    layout := part { ' x ' part } | part { ' ++ ' part }      part := extent | '(' layout ')'

An expression has no two factors side by side and no '++', so a text has one reading, also with a symbol x.
"""

import dataclasses
import re

import numpy as np

TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+)|(?P<name>[^\W\d][\w.:]*#?)|'(?P<quoted>(?:[^'\\]|\\.)*)'(?P<slack>#?)"
    r"|(?P<sign>\+\+|//|==|<=|>=|[-+*/(),<>]))"
)
CALLS = ("floor", "min", "max", "mod")


class Unreadable(ValueError):
    """A text that the grammar does not have."""


@dataclasses.dataclass(frozen=True)
class Extent:
    """`tree`: a number, a name, or (operation, trees)."""

    tree: object

    def names(self):
        """The symbols; a slack symbol "s#" has its mark."""
        found, left = set(), [self.tree]
        while left:
            t = left.pop()
            if isinstance(t, str):
                spelled = spells(t)
                if spelled:
                    left.append(spelled)
                else:
                    found.add(t)
            elif isinstance(t, tuple):
                left.extend(t[1])
        return found

    def value(self, extents):
        """Raises KeyError for a symbol without an extent, ZeroDivisionError for a division by 0."""
        return evaluate(self.tree, extents)

    size = value

    def parts(self):
        return [self]

    def positions(self, true, padded):
        """The padded positions of the true elements, in order."""
        return np.arange(self.value(true))


@dataclasses.dataclass(frozen=True)
class Layout:
    kind: str  # "x" or "++"
    inner: tuple  # of Extent and Layout

    def names(self):
        return set().union(*(p.names() for p in self.inner))

    def size(self, extents):
        sizes = [p.size(extents) for p in self.inner]
        return int(np.prod(sizes)) if self.kind == "x" else sum(sizes)

    def parts(self):
        return [e for p in self.inner for e in p.parts()]

    def positions(self, true, padded):
        at = np.zeros(1 if self.kind == "x" else 0, np.int64)
        start = 0
        for p in self.inner:
            own, size = p.positions(true, padded), p.size(padded)
            if self.kind == "x":
                at = (at[:, None] * size + own[None]).ravel()
            else:
                at = np.concatenate([at, own + start])
                start += size
        return at


def spells(name):
    """The expression that a name is: "h//2" is one while the model has no dim h. None for a plain name."""
    if name.replace("#", "").isidentifier():
        return None
    found = dim(name).tree
    return None if found == name else found


def evaluate(tree, extents):
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return extents[tree] if tree in extents or not spells(tree) else evaluate(spells(tree), extents)
    operation, inner = tree
    values = [evaluate(t, extents) for t in inner]
    if operation == "+":
        return sum(values)
    if operation == "*":
        product = 1
        for v in values:
            product *= v
        return product
    if operation == "floor":
        return values[0] // values[1]
    if operation == "mod":
        return values[0] % values[1]
    return min(values) if operation == "min" else max(values)


class Reader:
    def __init__(self, text):
        self.text, self.tokens, at = text, [], 0
        while text[at:].strip():
            m = TOKEN.match(text, at)
            if not m:
                raise Unreadable(f"'{text}' at {at}")
            at = m.end()
            if m["number"]:
                self.tokens.append(("number", int(m["number"])))
            elif m["name"]:
                self.tokens.append(("name", m["name"]))
            elif m["quoted"] is not None:
                self.tokens.append(("quoted", re.sub(r"\\(.)", r"\1", m["quoted"]) + m["slack"]))
            else:
                self.tokens.append(("sign", m["sign"]))
        self.tokens.append(("end", ""))
        self.at = 0

    def take(self, *wanted):
        """The next token's text when it is a sign of `wanted`, else None."""
        kind, value = self.tokens[self.at]
        if kind != "sign" or value not in wanted:
            return None
        self.at += 1
        return value

    def want(self, sign):
        if self.take(sign) is None:
            raise Unreadable(f"'{self.text}': '{sign}' is missing before token {self.at + 1}")

    def is_name(self, name):
        return self.tokens[self.at] == ("name", name)

    def ended(self):
        if self.tokens[self.at][0] != "end":
            raise Unreadable(f"'{self.text}': token {self.at + 1} does not belong there")

    def expression(self):
        terms = [("*", (-1, self.term()))] if self.take("-") else [self.term()]
        while sign := self.take("+", "-"):
            term = self.term()
            terms.append(term if sign == "+" else ("*", (-1, term)))
        return terms[0] if len(terms) == 1 else ("+", tuple(terms))

    def term(self):
        factors = [self.factor()]
        while self.take("*"):
            factors.append(self.factor())
        tree = factors[0] if len(factors) == 1 else ("*", tuple(factors))
        while self.take("//"):  # exporters write h//2 in a dim of an input
            tree = ("floor", (tree, self.factor()))
        return tree

    def factor(self):
        kind, value = self.tokens[self.at]
        if kind in ("number", "quoted"):
            self.at += 1
            return value
        if self.take("("):
            tree = self.expression()
            self.want(")")
            return tree
        if kind != "name":
            raise Unreadable(f"'{self.text}': token {self.at + 1} is no factor")
        self.at += 1
        if value not in CALLS or not self.take("("):
            return value
        if value == "floor":
            self.want("(")
            top = self.expression()
            for sign in (")", "/", "("):
                self.want(sign)
            bottom = self.expression()
            self.want(")")
        else:
            top = self.expression()
            self.want(",")
            bottom = self.expression()
        self.want(")")
        return value, (top, bottom)

    def layout(self):
        parts, kind = [self.part()], None
        while True:
            if self.is_name("x"):
                found = "x"
                self.at += 1
            elif self.take("++"):
                found = "++"
            else:
                break
            if kind not in (None, found):
                raise Unreadable(f"'{self.text}': x and ++ side by side")
            kind = found
            parts.append(self.part())
        return parts[0] if kind is None else Layout(kind, tuple(parts))

    def part(self):
        if self.take("("):
            inner = self.layout()
            self.want(")")
            return inner
        return Extent(self.expression())


def extent(text):
    """Raises Unreadable."""
    reader = Reader(str(text))
    found = Extent(reader.expression())
    reader.ended()
    return found


def layout(text):
    """Raises Unreadable."""
    reader = Reader(str(text))
    found = reader.layout()
    reader.ended()
    return found


def dim(text):
    """The extent that a dim of a model's input states: an expression, or a name that may be any text."""
    try:
        return extent(text)
    except Unreadable:
        return Extent(str(text))


COMPARE = {
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "==": lambda a, b: a == b,
}


def condition(text):
    """A function from extents to bool for `a <= b [and ...]`, or for `(a) mod n == 0`."""
    tests = []
    for piece in re.split(r"\s+and\s+|\s*&&\s*", text):
        if m := re.fullmatch(r"\s*\((.*)\)\s+mod\s+(\d+)\s*==\s*(\d+)\s*", piece):
            tests.append(("==", Extent(("mod", (extent(m[1]).tree, int(m[2])))), Extent(int(m[3]))))
        elif m := re.fullmatch(r"(.*?)(<=|>=|==|<|>)(.*)", piece):
            tests.append((m[2], extent(m[1]), extent(m[3])))
        else:
            raise Unreadable(f"'{text}' is no condition")
    return lambda extents: all(COMPARE[sign](a.value(extents), b.value(extents)) for sign, a, b in tests)
