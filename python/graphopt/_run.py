"""run: requests of arrays through the parts of a manifest, in one run of the tool.

Arrays go to the tool as files of a temporary folder, a .npy for each, and a list with a line for each
request; answers come back as archives (docs/running.md).
"""

import json
import os
import re
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from graphopt._api import _with_runtime
from graphopt._errors import error_of
from graphopt._options import RunOptions, files_of, words_of
from graphopt._process import end_of
from graphopt._run_report import RunReport, run_report_of

if TYPE_CHECKING:
    from numpy import ndarray
    from numpy.typing import ArrayLike
    from typing_extensions import Unpack

    Path = Union[str, "os.PathLike[str]"]
    Inputs = Mapping[str, ArrayLike]
    Request = Union[Inputs, Tuple[str, Inputs]]

# The types of elements that the tool reads (src/runtime/array_file.h), by NumPy's characters.
_READ = "?bBhHiIlLqQefdFDSU"


@dataclass(frozen=True, eq=False)
class Run:
    """What became of requests."""

    outputs: "List[Optional[Dict[str, ndarray[Any, Any]]]]"
    """A dict from names of outputs for each request, in their order; None for one without an answer. Where
    NumPy lacks a type, the unsigned integers of the bits: bfloat16 as uint16, smaller ones as uint8."""
    report: RunReport
    log: str
    """What the tool printed: warnings, and errors where there are some."""


def _numpy() -> Any:
    try:
        import numpy
    except ModuleNotFoundError as error:
        if error.name != "numpy":
            raise
        raise ImportError("graphopt.run needs NumPy: pip install 'graphopt[run]'") from None
    return numpy


def _texts(array: Any, where: str) -> Any:
    """Objects as an array of texts."""
    elements = array.ravel().tolist()
    for kind in (str, bytes):
        if all(isinstance(one, kind) for one in elements):
            if any(one[-1:] in ("\0", b"\0") for one in elements):
                raise ValueError(f"{where} has a text that ends in a zero byte, which NumPy drops")
            return array.astype(kind)
    raise TypeError(f"{where} is no array: its elements are neither numbers nor texts")


def _array(np: Any, value: Any, where: str) -> Any:
    """Returns a value as an array that the tool reads; the same one where it can be."""
    array = np.asarray(value)
    kind = array.dtype
    if kind.kind in "OT":  # T: NumPy's texts of any length
        return _texts(array.astype(object), where)
    if kind.type.__module__.partition(".")[0] == "ml_dtypes":
        array = array.view(f"u{kind.itemsize}")
        bits = int(re.search(r"\d+", kind.name)[0])  # type: ignore[index]
        # The rest of the byte is not a part of a smaller element, and may be anything.
        return array if bits >= 8 else array & np.uint8((1 << bits) - 1)
    if kind.char not in _READ:
        raise TypeError(f"{where} has elements of type {kind}, which no input takes")
    return array.astype(kind.newbyteorder("<"), copy=False)


def _write_requests(np: Any, requests: "Iterable[Request]", folder: str) -> None:
    """Writes the list and its arrays. Only one request is held at a time."""
    count = 0
    with open(os.path.join(folder, "list.jsonl"), "w", encoding="utf-8") as lines:
        for request in requests:
            network, inputs = request if isinstance(request, tuple) else ("", request)
            if not isinstance(inputs, Mapping):
                raise TypeError(
                    f"request {count} is a mapping from names of inputs, not {type(inputs).__name__}"
                )
            files = {}
            for number, (name, value) in enumerate(inputs.items()):
                if not isinstance(name, str):
                    raise TypeError(f"request {count}: the name of an input is a str, not {name!r}")
                files[name] = f"{count}.{number}.npy"
                array = _array(np, value, f"request {count}: input '{name}'")
                np.save(os.path.join(folder, files[name]), array, allow_pickle=False)
            line = {"id": str(count), "inputs": files, **({"network": network} if network else {})}
            lines.write(json.dumps(line) + "\n")
            count += 1
    if count == 0:
        raise ValueError("there are no requests")


def _ids(options: Mapping[str, Any], count: int) -> List[str]:
    """What the tool calls the requests, which are so many (docs/running.md)."""
    if options.get("draw") is not None:
        return [f"draw.{i}" for i in range(count)]
    folder = options.get("test_data")
    if folder is None:
        return [str(i) for i in range(count)]
    path = os.fsdecode(folder)
    found = (re.fullmatch(r"test_data_set_([0-9]+)", name) for name in os.listdir(path))
    sets = {int(match[1]): match[0] for match in found if match}
    return [sets[number] for number in sorted(sets)] or [os.path.basename(path.rstrip("/"))]


def _answer(np: Any, path: str) -> "Optional[Dict[str, ndarray[Any, Any]]]":
    if not os.path.exists(path):
        return None
    with np.load(path, allow_pickle=False) as archive:
        out = {name: archive[name] for name in archive.files}
    os.remove(path)  # where the temporary folder is in memory, nothing is there twice for long
    return out


def run(
    manifest: "Path",
    requests: "Optional[Iterable[Request]]" = None,
    *,
    outputs: bool = True,
    **options: "Unpack[RunOptions]",
) -> Run:
    """Runs requests on the parts of a partitioned model, and returns a Run: the outputs of each, and figures.

    manifest: a path, or a folder of manifests; `network` then says of which one requests are.
    requests: a mapping from names of inputs for each, to arrays or what numpy.asarray takes; also a pair
    (network, mapping). They are read once, and may come from a generator. An input with a default may be left
    out. Elements are not converted: the type has to be that of the input. Where NumPy lacks it, arrays of
    ml_dtypes are taken, and the unsigned integers of the bits.
    outputs: whether they are wanted; without them `Run.outputs` is empty.

    Options are those of `graphopt run` (class RunOptions says what each is). `draw` and `test_data` stand in
    place of requests. Arrays pass through files in a temporary folder ($TMPDIR).

    UsageError, InputError: an option, the manifest, or a request is wrong, and nothing ran. CheckFailed,
    LimitError, NotChecked, OutputError: something is wrong with some of the requests. The answers that there
    are, and the figures, are `run` of the error, which is None when no request ran.
    TypeError: an option that does not exist, or what is no array. ImportError: NumPy is not there.
    """
    words = words_of("run", RunOptions, options)
    given = [name for name in ("draw", "test_data") if options.get(name) is not None]
    if len(given) + (requests is not None) != 1:
        raise TypeError("run() takes either requests, or draw, or test_data")
    np = _numpy()
    name = os.fsdecode(manifest)
    with tempfile.TemporaryDirectory(prefix="graphopt-") as folder:
        if requests is not None:
            _write_requests(np, requests, folder)
            words.append(f"--requests={folder}/list.jsonl")
        if outputs:
            words.append(f"--output={folder}/out/")
        command = ["run", "./" + name if name[:1] == "-" else name, "--json", *words]
        status, figures, log, _ = end_of(_with_runtime(command, options, always=True))
        # An error names the request and the input; the file is not the caller's.
        log = re.sub(re.escape(folder) + r"/(?:\d+\.\d+\.npy: |(?=list\.jsonl))", "", log)
        done = None
        if figures:  # without them no request ran
            report = run_report_of(json.loads(figures))
            ids = _ids(options, report.requests.all) if outputs else []
            done = Run([_answer(np, f"{folder}/out/{one}.npz") for one in ids], report, log)
    if status == 0 and done is not None:
        return done
    error = error_of(status, log, [name, *files_of(options)])
    error.run = done
    raise error
