"""Keyword arguments as words of the command line: each is the long option of the same name, "-" written "_".

Four are named for what they hold: `dims` (--dim), `shapes` (--shape), `check_inputs` (--check-input), and
`buckets`, --bucket for a mapping and --buckets for a file; `level` is -O. Those of several names take a list.
"""

import difflib
import os
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Type

from graphopt._keywords import KEYWORDS, InspectOptions, MapOptions, Options, RunOptions

__all__ = [
    "InspectOptions",
    "MapOptions",
    "Options",
    "RunOptions",
    "files_of",
    "flag_of",
    "is_talkative",
    "words_of",
]


def flag_of(name: str) -> str:
    """Returns the option of a keyword."""
    return KEYWORDS[name][0]


def _text(value: Any) -> str:
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def _one(name: str, value: Any) -> List[str]:
    # "=" joins them, so that a value that begins with "-" stays one.
    return [f"{flag_of(name)}={_text(value)}"]


def _flag(name: str, value: Any) -> List[str]:
    return [flag_of(name)] if value else []


def _list(name: str, value: Any) -> List[str]:
    names = [value] if isinstance(value, (str, os.PathLike)) else list(value)
    return _one(name, ",".join(map(_text, names))) if names else []


def _pairs(name: str, value: Any, text: Callable[[Any], str]) -> List[str]:
    if not isinstance(value, Mapping):
        raise TypeError(f"'{name}' is a mapping from names, not {type(value).__name__}")
    return [word for key, one in value.items() for word in _one(name, f"{key}={text(one)}")]


def _range(value: Any) -> str:
    return "..".join(map(str, value)) if isinstance(value, (tuple, list)) else str(value)


def _sizes(value: Any) -> str:
    return value if isinstance(value, str) else ",".join(map(str, value))


def _buckets(name: str, value: Any) -> List[str]:
    if isinstance(value, Mapping):
        return [f"--bucket={key}={_sizes(sizes)}" for key, sizes in value.items()]
    return _one(name, value)


def _pairs_or_one(name: str, value: Any) -> List[str]:
    return _pairs(name, value, _text) if isinstance(value, Mapping) else _one(name, value)


def _check(name: str, value: Any) -> List[str]:
    return [] if value is False else [f"--check={int(value)}"]


def _sequential(name: str, value: Any) -> List[str]:
    return _flag(name, value) if isinstance(value, bool) else _one(name, value)


def _verbose(name: str, value: Any) -> List[str]:
    return ["-v"] * min(int(value), 2)


_LISTS = ("choices", "names", "passes", "devices")
_SPECIAL: Dict[str, Callable[[str, Any], List[str]]] = {
    "level": lambda name, value: [f"-O{value}"],
    "shapes": lambda name, value: _pairs(name, value, _sizes),
    "dims": lambda name, value: _pairs(name, value, _range),
    "buckets": _buckets,
    "check": _check,
    "check_inputs": _pairs_or_one,
    "workers": _pairs_or_one,
    "budget": _pairs_or_one,
    "device": _pairs_or_one,
    "pair": lambda name, value: _pairs(name, value, _text),
    "input": _pairs_or_one,
    "check_sequential": _sequential,
    "verbose": _verbose,
}


def _words(name: str, value: Any) -> List[str]:
    if name in _SPECIAL:
        return _SPECIAL[name](name, value)
    form = KEYWORDS[name][1]
    return (_flag if form == "flag" else _list if form in _LISTS else _one)(name, value)


# What makes the tool print what the caller has asked for.
_TALKATIVE = frozenset(("explain", "print_after", "time_passes", "verbose", "log_level"))


def words_of(function: str, kind: Type[Any], options: Mapping[str, Any]) -> List[str]:
    """Returns the words for `options`. None leaves an option as it is. TypeError: no such keyword."""
    known = list(kind.__annotations__)
    out: List[str] = []
    for name, value in options.items():
        if name not in known:
            raise TypeError(_unknown(function, name, known))
        if value is not None:
            out += _words(name, value)
    return out


def is_talkative(options: Mapping[str, Any]) -> bool:
    """Whether the tool shall print more than errors."""
    return any(options.get(name) for name in _TALKATIVE)


def files_of(options: Mapping[str, Any]) -> List[str]:
    """Returns the values that may be files, as an error names them."""
    out: List[str] = []
    for name in ("report", "dot", "manifest", "keep_bad", "ort", "buckets", "devices", "trace", "test_data"):
        value: Optional[Any] = options.get(name)
        if isinstance(value, (str, os.PathLike)):
            out += [_text(value), *_text(value).split(",")]
        elif isinstance(value, Iterable) and not isinstance(value, Mapping):
            out += map(_text, value)
    for name in ("check_inputs", "input"):
        inputs = options.get(name)
        out += map(_text, inputs.values() if isinstance(inputs, Mapping) else [inputs] if inputs else [])
    return out


def _unknown(function: str, name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name.lower().replace("-", "_"), known, 3, 0.6)
    if not near:
        near = [one for one in known if name.rstrip("s") in one][:3]
    hint = f"; did you mean {' or '.join(repr(one) for one in near)}?" if near else ""
    return f"{function}() got an unexpected keyword argument '{name}'{hint}"
