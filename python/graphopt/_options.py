"""Keyword arguments as words of the command line: each is the long option of the same name, "-" written "_".

Three are named for what they hold: `dims` (--dim), `shapes` (--shape), `check_inputs` (--check-input);
`level` is -O; `buckets` is --bucket for a mapping and --buckets for a file. `passes`, `disable_pass`,
`inputs`, `outputs`, `strip`, `devices`, `emit` and `explain` take a list.
"""

import difflib
import os
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Dict,
    Iterable,
    List,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    Union,
)

if TYPE_CHECKING:
    from typing import TypedDict

    Path = Union[str, "os.PathLike[str]"]
    Size = Union[int, str]
else:
    from typing import TypedDict

    Path, Size = Any, Any


class Common(TypedDict, total=False):
    """What every function takes."""

    external_root: Path
    """External data may also be read from below this folder."""
    max_memory: Size
    """Bytes of data that the process may use (or "2G"); LimitError when they do not suffice."""
    timeout: Union[float, str]
    """Seconds (or "5m"); LimitError after that."""


class InspectOptions(Common, total=False):
    """Keyword arguments of `inspect`."""

    dim_names: str
    """What dims named "a + b" on inputs mean: "expressions" (default) or "opaque"."""


class Options(InspectOptions, total=False):
    """Keyword arguments of `optimize` and `check`."""

    level: int
    """0: no passes; 1: bit-exact rewrites; 2 (default): may round; 3: rounds more."""
    exact: bool
    """Only bit-exact rewrites, at every level (docs/rounding.md)."""
    passes: Union[str, Sequence[str]]
    """These passes, in this order, until none changes anything."""
    disable_pass: Union[str, Sequence[str]]
    """Leave these passes out."""
    inputs: Union[str, Sequence[str]]
    """Cut the model first: these values are its inputs."""
    outputs: Union[str, Sequence[str]]
    """Cut the model first: these values are its outputs, in this order."""
    constant_defaults: bool
    """Turn inputs that have an initializer (a default) into constants."""
    stop_after: str
    """"load", "infer" or "clean-up"."""
    regions: str
    """Write regions into the model: "none" (default), "metadata" or "functions"."""
    fold_limit: Size
    """Bytes that one folded constant may add to the model (default "64K")."""
    fold: str
    """"native" (default), or "ort": what is left then in ONNX Runtime (rounds)."""
    shapes: Mapping[str, Sequence[int]]
    """Shapes of inputs: {"image": [1, 3, 224, 224]}; -1 keeps a dim."""
    dims: Mapping[str, Union[int, str, Tuple[int, int]]]
    """Symbols: {"batch": 1} fixes one, {"batch": (1, 64)} promises a range."""
    infer: bool
    """Write the shapes that were found into value_info and outputs."""
    buckets: Union[Path, Mapping[str, Union[str, Sequence[int]]]]
    """A model per size: {"seq": [16, 32]}, {"seq": "16..512:pow2"}, or a JSON file (docs/buckets.md)."""
    bucket_require: str
    """Padding is harmless: "proved", "assumed" (default) or by "repair"; or "force"."""
    bucket_repair: bool
    """The same as bucket_require="repair"."""
    bucket_single: bool
    """One model that chooses the bucket, pads and cuts inside."""
    devices: Union[str, Sequence[str]]
    """Cut the model for these profiles: names or files (docs/devices.md)."""
    partition_algorithm: str
    """"grow" (default), "fewest" or "depth"."""
    assignment: str
    """"given" or "given=RULES": nodes run where the model says."""
    connected: bool
    """No subgraph of an accelerator in several unconnected pieces."""
    plan: bool
    """Only plan the subgraphs, and write nothing; the table is in `Report.log`."""
    parts: str
    """A file for each subgraph: "auto" (default) or "never"."""
    manifest: Path
    """Where the manifest goes (default: the output with .manifest.json)."""
    emit: Union[str, Sequence[str]]
    """Also "triton", "ort-annotations", "genai", "onnx-stages" (docs/exports.md)."""
    external_data: str
    """Weights in a file of their own: "auto" (default), "always" or "never"."""
    external_threshold: Size
    """Bytes from which on a tensor goes there (default "1K")."""
    external_file: str
    """The weights' file beside the result has this name (docs/output-files.md)."""
    strip: Union[str, Sequence[str]]
    """Leave out "doc", "metadata", "names" (of inner values and nodes) or "all"."""
    force: bool
    """Write over a write-protected file."""
    check: Union[bool, int]
    """Run before and after in ONNX Runtime and compare, with this many seeds (True: 1): CheckFailed."""
    check_tolerance: float
    """Allowed difference relative to an output's maximum (float32: 1e-4); 0 wants equal values."""
    check_inputs: Union[Path, Mapping[str, Path]]
    """Your own arrays for inputs of the check: {"ids": "ids.npy"}, or one .npz file of several."""
    bisect: bool
    """Check; if results differ, name the pass and the rewrite that did it."""
    verify_each: bool
    """Check graphopt's internal data after every pass (for its debugging)."""
    keep_bad: Path
    """A model that does not compute the same is written here."""
    ort: Path
    """ONNX Runtime's library or Python package (default: $GRAPHOPT_ORT, the installed one, the system's)."""
    report: Path
    """Also write the report to this file."""
    dot: Path
    """Draw the optimized graph for Graphviz into this file."""
    explain: Union[str, Sequence[str]]
    """Why these passes (or "all") left nodes as they are: in `Report.raw["explain"]` and `Report.log`."""
    print_after: Union[str, Sequence[str]]
    """The model as text after these passes, in `Report.log`."""
    time_passes: bool
    """The time of each phase and pass, in `Report.log`."""
    verbose: int
    """1 or 2: more in `Report.log`."""
    log_level: str
    """"error", "warning" (default), "info", "debug" or "trace": what is in `Report.log`."""


_SPECIAL = {"level": "-O", "shapes": "--shape", "dims": "--dim", "check_inputs": "--check-input"}


def flag_of(name: str) -> str:
    """Returns the option of a keyword."""
    return _SPECIAL.get(name) or "--" + name.replace("_", "-")


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
        return _pairs("bucket", value, _sizes)
    return _one(name, value)


def _inputs(name: str, value: Any) -> List[str]:
    return _pairs(name, value, _text) if isinstance(value, Mapping) else _one(name, value)


def _check(name: str, value: Any) -> List[str]:
    return [] if value is False else [f"--check={int(value)}"]


def _verbose(name: str, value: Any) -> List[str]:
    return ["-v"] * min(int(value), 2)


_FLAGS = (
    "exact constant_defaults infer bucket_repair bucket_single connected plan force bisect verify_each"
    " time_passes"
).split()
_LISTS = (
    "passes",
    "disable_pass",
    "inputs",
    "outputs",
    "strip",
    "devices",
    "emit",
    "explain",
    "print_after",
)
_FORMS: Dict[str, Callable[[str, Any], List[str]]] = {
    **{name: _flag for name in _FLAGS},
    **{name: _list for name in _LISTS},
    "level": lambda name, value: [f"-O{value}"],
    "shapes": lambda name, value: _pairs(name, value, _sizes),
    "dims": lambda name, value: _pairs(name, value, _range),
    "buckets": _buckets,
    "check": _check,
    "check_inputs": _inputs,
    "verbose": _verbose,
}
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
            out += _FORMS.get(name, _one)(name, value)
    return out


def is_talkative(options: Mapping[str, Any]) -> bool:
    """Whether the tool shall print more than errors."""
    return any(options.get(name) for name in _TALKATIVE)


def files_of(options: Mapping[str, Any]) -> List[str]:
    """Returns the values that may be files, as an error names them."""
    out: List[str] = []
    for name in ("report", "dot", "manifest", "keep_bad", "ort", "buckets", "devices"):
        value: Optional[Any] = options.get(name)
        if isinstance(value, (str, os.PathLike)):
            out += [_text(value), *_text(value).split(",")]
        elif isinstance(value, Iterable) and not isinstance(value, Mapping):
            out += map(_text, value)
    inputs = options.get("check_inputs")
    out += map(_text, inputs.values() if isinstance(inputs, Mapping) else [inputs] if inputs else [])
    return out


def _unknown(function: str, name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name.lower().replace("-", "_"), known, 3, 0.6)
    if not near:
        near = [one for one in known if name.rstrip("s") in one][:3]
    hint = f"; did you mean {' or '.join(repr(one) for one in near)}?" if near else ""
    return f"{function}() got an unexpected keyword argument '{name}'{hint}"
