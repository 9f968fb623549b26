"""What the section `buckets` of a manifest says about shapes (docs/manifest.md): which model a request takes,
how its inputs are padded, and how the outputs are cut.

    buckets = Buckets(manifest)
    true = buckets.extents(feeds)              # {"batch": 2, "seq": 13}; None where the shapes contradict
    model = true and buckets.choose(true)      # an entry of "models"; None: the fallback
    padded = {**true, **model["at"]}
    results = run(model, buckets.pad(feeds, true, padded))      # {output: array}
    results = buckets.cut(results, true, padded)

Extents are formulas over symbols. A layout says where the true elements of a padded axis stand:

    layout  := part { ' x ' part } | part { ' ++ ' part }      part := extent | '(' layout ')'
    extent  := term { ('+'|'-') term }                         term := factor { ('*'|'/'|'//'|'%') factor }
    factor  := number | symbol | '(' extent ')' | function '(' extent { ',' extent } ')' | '-' factor
    symbol  := letters, digits, '_', '.', ':'; any other text between quotes, with '\\' before a quote in it

The true elements of an extent are the first ones. `a x b` are merged axes: a rows of b entries, each row with
its own padding. `a ++ b` are joined axes, each part with its padding behind it.
"""

import fractions
import math
import operator
import re

import numpy as np

TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+)|(?P<symbol>[^\W\d][\w.:]*)|'(?P<quoted>(?:[^'\\]|\\.)*)'"
    r"|(?P<sign>\+\+|//|[-+*/%(),]))"
)
OPERATIONS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": fractions.Fraction,  # below floor or ceil, which make it an integer again
    "//": operator.floordiv,
    "%": operator.mod,
}
FUNCTIONS = {
    "floor": math.floor,
    "ceil": math.ceil,
    "ceiling": math.ceil,
    "min": min,
    "max": max,
    "mod": operator.mod,
}
RELATIONS = {"<=": operator.le, ">=": operator.ge, "==": operator.eq, "<": operator.lt, ">": operator.gt}


class Unreadable(ValueError):
    pass


class Extent:
    """`tree`: a number, the name of a symbol, or (function, trees of its operands)."""

    def __init__(self, tree):
        self.tree = tree

    def symbols(self):
        return symbols_in(self.tree)

    def size(self, extents):
        """Raises KeyError for a symbol that `extents` does not have."""
        return int(evaluate(self.tree, extents))

    def positions(self, true, padded):
        """The positions of the true elements in the padded axis, in order."""
        return np.arange(self.size(true))


class Layout:
    def __init__(self, parts):
        self.parts = parts

    def symbols(self):
        return set().union(*(p.symbols() for p in self.parts))


class Merged(Layout):  # a x b
    def size(self, extents):
        return math.prod(p.size(extents) for p in self.parts)

    def positions(self, true, padded):
        at = np.zeros(1, np.int64)
        for p in self.parts:
            at = (at[:, None] * p.size(padded) + p.positions(true, padded)).ravel()
        return at


class Joined(Layout):  # a ++ b
    def size(self, extents):
        return sum(p.size(extents) for p in self.parts)

    def positions(self, true, padded):
        begins = np.cumsum([0] + [p.size(padded) for p in self.parts])
        return np.concatenate([b + p.positions(true, padded) for b, p in zip(begins, self.parts)])


def evaluate(tree, extents):
    if isinstance(tree, int):
        return tree
    if isinstance(tree, str):
        return extents[tree]
    function, operands = tree
    return function(*(evaluate(t, extents) for t in operands))


def symbols_in(tree):
    if isinstance(tree, str):
        return {tree}
    return set().union(*map(symbols_in, tree[1])) if isinstance(tree, tuple) else set()


class Reader:
    """A recursive descent over the grammar above."""

    def __init__(self, text):
        self.text, self.tokens, self.at = text, [], 0
        end = 0
        while text[end:].strip():
            found = TOKEN.match(text, end)
            if not found:
                raise Unreadable(f"'{text}', at {end}")
            self.tokens.append((found.lastgroup, found[found.lastgroup]))
            end = found.end()

    def next(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else (None, "the end")

    def take(self, *wanted):
        """The next token where it is one of these texts, else None."""
        kind, text = self.next()
        if kind not in ("sign", "symbol") or text not in wanted:
            return None
        self.at += 1
        return text

    def want(self, sign):
        if not self.take(sign):
            raise Unreadable(f"'{self.text}': {self.next()[1]} stands where '{sign}' should")

    def chain(self, signs, operand):
        tree = operand()
        while sign := self.take(*signs):
            tree = OPERATIONS[sign], (tree, operand())
        return tree

    def extent(self):
        return self.chain("+-", lambda: self.chain(("*", "/", "//", "%"), self.factor))

    def factor(self):
        kind, text = self.next()
        if self.take("-"):
            return operator.neg, (self.factor(),)
        if self.take("("):
            return self.closed(self.extent())
        self.at += 1
        if kind == "number":
            return int(text)
        if kind == "quoted":
            return re.sub(r"\\(.)", r"\1", text)
        if kind != "symbol":
            raise Unreadable(f"'{self.text}': {text} is no extent")
        if text in FUNCTIONS and self.take("("):
            operands = [self.extent()]
            while self.take(","):
                operands.append(self.extent())
            return self.closed((FUNCTIONS[text], tuple(operands)))
        return text

    def closed(self, inner):
        self.want(")")
        return inner

    def layout(self):
        parts = [self.part()]
        sign = self.take("x", "++")  # two factors never stand side by side, so this x is no symbol
        if not sign:
            return parts[0]
        parts.append(self.part())
        while self.take(sign):
            parts.append(self.part())
        return (Merged if sign == "x" else Joined)(parts)

    def part(self):
        """A parenthesis may belong to an extent or around a layout."""
        start = self.at
        if self.take("("):
            inner = self.layout()
            if isinstance(inner, Layout):
                return self.closed(inner)
        self.at = start
        return Extent(self.extent())


def read(text, what=Reader.layout):
    reader = Reader(str(text))
    found = what(reader)
    if reader.at < len(reader.tokens):
        raise Unreadable(f"'{text}': {reader.next()[1]} is too much")
    return found


def extent(text):
    return Extent(read(text, Reader.extent))


def condition(text):
    """A function from extents to bool: for `batch*seq <= 4096`, and for `(h) mod 2 == 0`."""
    sides = re.split("(<=|>=|==|<|>)", text)
    if len(sides) != 3:
        raise Unreadable(f"'{text}' is no condition")
    if rest := re.fullmatch(r"(.*) mod (\d+) ", sides[0]):
        sides[0] = f"mod({rest[1]}, {rest[2]})"
    left, right, holds = extent(sides[0]), extent(sides[2]), RELATIONS[sides[1]]
    return lambda extents: holds(left.size(extents), right.size(extents))


class Buckets:
    def __init__(self, manifest):
        section = manifest["buckets"]
        self.models, self.sizes, self.fixed = section["models"], section["symbols"], set(section["fixed"])
        self.ranges, self.extra = section["ranges"], section["extra_inputs"]
        # Other symbols are at least 1: an empty tensor is for the model that all shapes can use.
        self.others = {
            s: (max(b["min"], 1), math.inf if b["max"] is None else b["max"])
            for s, b in manifest["network"]["symbols"].items()
        }
        texts = [*section["constraints"], *([section["where"]] if section.get("where") else [])]
        self.conditions = [condition(t) for t in texts]
        self.inputs = section["inputs"]
        self.dims = {name: [read(d) for d in i["dims"]] for name, i in self.inputs.items()}
        self.outputs = {}  # {name: (true extents, layouts)}
        for name, o in section["outputs"].items():
            dims = [extent(d) for d in o["dims"]]
            self.outputs[name] = dims, dims if o["cut"] == "prefix" else [read(d) for d in o["cut"]]
        # Symbols without buckets may stand alone in other inputs. There a dim is a bare name.
        self.names = {
            v["name"]: v["type"]["shape"]
            for v in manifest["network"]["inputs"]
            if v["name"] not in self.dims and v["type"].get("shape")
        }

    def extents(self, feeds):
        """{symbol: extent}, from the shapes of the inputs; None where no extents give these shapes."""
        found, axes = {}, []
        for name, dims in self.names.items():
            for d, n in zip(dims, np.shape(feeds[name]) if name in feeds else ()):
                if isinstance(d, str) and found.setdefault(d, n) != n:
                    return None
        for name, dims in self.dims.items():
            if name in feeds:
                if len(shape := np.shape(feeds[name])) != len(dims):
                    return None
                axes.extend(zip(dims, shape))
        solved = True
        while solved:  # `past ++ seq` is known when one of its parts is
            solved = False
            for layout, n in axes:
                unknown = layout.symbols() - set(found)
                if len(unknown) == 1:
                    symbol = unknown.pop()
                    low, high = self.ranges.get(symbol, (0, n))
                    # The least extent will do: the model sees no more of it than its inputs show.
                    tries = (n,) if layout.symbols() == {symbol} == {getattr(layout, "tree", None)} else ()
                    value = solve(layout, symbol, n, found, tries or range(low, high + 1))
                    if value is None:
                        return None
                    found[symbol], solved = value, True
        for symbol, (low, high) in self.ranges.items():
            if low == high:  # its dims are numbers, which are compared below
                found.setdefault(symbol, low)
        known = [(layout, n) for layout, n in axes if layout.symbols() <= set(found)]
        return found if all(layout.size(found) == n for layout, n in known) else None

    def choose(self, true):
        """The model that a request of these extents takes; None: the fallback."""
        if not set(self.sizes) <= set(true) or not all(holds(true) for holds in self.conditions):
            return None
        ranges = {**dict.fromkeys(true, (1, math.inf)), **self.others, **self.ranges}
        if any(not low <= true.get(s, low) <= high for s, (low, high) in ranges.items()):
            return None

        def fits(at):
            return all(n == true[s] if s in self.fixed else n >= true[s] for s, n in at.items())

        fitting = [m for m in self.models if fits(m["at"])]
        return min(fitting, key=lambda m: math.prod(m["at"].values()), default=None)  # the first of equals

    def pad(self, feeds, true, padded):
        """The inputs of the bucket's model, which has inputs of its own where it was repaired."""
        result = dict(feeds)
        for name, dims in self.dims.items():
            if name not in feeds:
                continue
            data, mark = np.asarray(feeds[name]), self.inputs[name]
            shape = [d.size(padded) for d in dims]
            if list(data.shape) == shape:
                continue
            element = mark.get("pad", 0)  # where anything may stand, something has to
            if isinstance(element, str):
                element = float(element)  # "-inf"
            whole = np.full(shape, "" if data.dtype == object else element, data.dtype)
            whole[places(dims, true, padded)] = data
            result[name] = whole
        for own in self.extra:
            result[own["name"]] = np.full(own["shape"], true[own["symbol"]], np.int64)
        return result

    def cut(self, results, true, padded):
        cut = dict(results)
        for name, value in results.items():
            if not isinstance(value, np.ndarray) or name not in self.outputs:
                continue
            dims, layouts = self.outputs[name]
            # An extent that data decide has a symbol of its own, with one value in both runs.
            for layout, n in zip(layouts, value.shape):
                unknown = layout.symbols() - set(padded)
                if len(unknown) == 1:
                    symbol = unknown.pop()
                    n = solve(layout, symbol, n, padded, range(n + 1))
                    true, padded = {**true, symbol: n}, {**padded, symbol: n}
            if list(value.shape) != [d.size(true) for d in dims]:
                cut[name] = value[places(layouts, true, padded)]
        return cut


def solve(layout, symbol, n, known, candidates):
    """The first candidate for the symbol that makes the size n; None when there is none."""
    return next((v for v in candidates if layout.size({**known, symbol: v}) == n), None)


def places(layouts, true, padded):
    """The index of the true elements in an array with axes of these layouts."""
    if all(isinstance(layout, Extent) for layout in layouts):
        return tuple(slice(0, layout.size(true)) for layout in layouts)
    return np.ix_(*(layout.positions(true, padded) for layout in layouts))
