"""optimize, check, inspect: a call is one run of the tool."""

import json
import os
import shutil
import tempfile
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Tuple, Union, overload

from graphopt._keywords import VERBS
from graphopt._options import InspectOptions, Options, files_of, is_talkative, words_of
from graphopt._process import memory_file, run, write_all
from graphopt._report import Inspection, Report, inspection_of, report_of

if TYPE_CHECKING:
    from onnx import ModelProto
    from typing_extensions import Unpack

    Path = Union[str, "os.PathLike[str]"]
    Bytes = Union[bytes, bytearray, memoryview]
    Model = Union[Path, Bytes, ModelProto]

# Protobuf reads and writes no message of 2 GiB; a little less leaves room for what the result adds.
_LARGEST_MESSAGE = (2 << 30) - (16 << 20)


def _is_bytes(model: Any) -> bool:
    return isinstance(model, (bytes, bytearray, memoryview))


def _is_proto(model: Any) -> bool:
    # Told by its methods: a ModelProto's class need not come from the package onnx.
    return hasattr(model, "SerializeToString") and hasattr(model, "graph")


class _Input:
    """A model as the tool reads it: `word` is its argument, `stdin` what it reads."""

    def __init__(self, model: "Model", resources: ExitStack) -> None:
        self.stdin: Optional[IO[bytes]] = None
        self.folder = ""  # with a ModelProto that is too large for one message
        if isinstance(model, (str, os.PathLike)):
            word = os.fspath(model)
            if not isinstance(word, str):
                word = os.fsdecode(word)
            # Neither a subcommand nor an option: a file of that name is written with its folder.
            self.word = "./" + word if word in VERBS or word[:1] == "-" else word
            return
        self.word = "-"
        if _is_proto(model):
            if model.ByteSize() > _LARGEST_MESSAGE:  # type: ignore[union-attr]
                self._to_folder(model, resources)
                return
            data: Any = model.SerializeToString()  # type: ignore[union-attr]
        elif _is_bytes(model):
            data = model
        else:
            raise TypeError(
                f"a model is a path, bytes or an onnx.ModelProto, not {type(model).__module__}."
                f"{type(model).__qualname__}"
            )
        self.stdin = resources.enter_context(memory_file("model"))
        write_all(self.stdin, data)

    def _to_folder(self, model: Any, resources: ExitStack) -> None:
        import onnx

        self.folder = tempfile.mkdtemp(prefix="graphopt-")
        resources.callback(shutil.rmtree, self.folder, ignore_errors=True)
        self.word = os.path.join(self.folder, "in.onnx")
        copy = onnx.ModelProto()
        copy.CopyFrom(model)  # saving takes the weights out of the model
        onnx.save_model(copy, self.word, save_as_external_data=True, location="in.data")


def _with_runtime(words: List[str], options: Mapping[str, Any], always: bool = False) -> List[str]:
    """Adds the installed package's ONNX Runtime, when one is needed and none is named."""
    needed = always or options.get("check") or options.get("bisect") or options.get("fold") == "ort"
    if not needed or options.get("ort") is not None or os.environ.get("GRAPHOPT_ORT"):
        return words
    from importlib.util import find_spec

    spec = find_spec("onnxruntime")  # does not import it
    for folder in (spec.submodule_search_locations or []) if spec else []:
        capi = os.path.join(folder, "capi")
        if os.path.isdir(capi) and any(n.startswith("libonnxruntime.so") for n in os.listdir(capi)):
            return [*words, f"--ort={capi}"]
    return words


def _run(
    source: _Input, output: Optional[str], function: str, options: Mapping[str, Any]
) -> Tuple[bytes, Report]:
    words = _with_runtime(words_of(function, Options, options), options)
    if not is_talkative(options):
        words.append("-q")
    if output is not None:
        words.append(f"--output={output}")
    words += ["--color=never", "--progress=never"]
    own_report = options.get("report")
    files = [source.word, output or "", *files_of(options)]
    out, messages, told = run([source.word, *words], files, source.stdin, report=own_report is None)
    if own_report is not None:
        with open(own_report, "rb") as file:
            told = file.read()
    log = messages if is_talkative(options) else ""
    if output is None:  # the tables are what the run prints
        log += out.decode("utf-8", "replace")
    return out, report_of(json.loads(told), log)


@overload
def optimize(model: "Path", output: "Path", **options: "Unpack[Options]") -> Tuple[str, Report]: ...
@overload
def optimize(model: "Path", output: None = None, **options: "Unpack[Options]") -> Tuple[None, Report]: ...
@overload
def optimize(model: "Bytes", output: None = None, **options: "Unpack[Options]") -> Tuple[bytes, Report]: ...
@overload
def optimize(
    model: "ModelProto", output: None = None, **options: "Unpack[Options]"
) -> "Tuple[ModelProto, Report]": ...
@overload
def optimize(
    model: "Union[Bytes, ModelProto]", output: "Path", **options: "Unpack[Options]"
) -> Tuple[str, Report]: ...
def optimize(model: Any, output: Any = None, **options: Any) -> Tuple[Any, Report]:
    """Optimizes a model, and returns (the result, a Report).

    model: a path, bytes (binary or text format), or an onnx.ModelProto, which stays as it is.
    output: a path for the result; it may be that of the model. The result is then this path. A folder (one
    that is there, or a path that ends in "/") gets a file with the name of the model; the result is then the
    path of that file.
    Without `output` the result is of the model's kind, bytes or a new ModelProto; with a path as the model
    nothing is written, and the result is None: a dry run.

    Options are those of the tool (class Options says what each is). A path costs least: weights are mapped,
    and models of any size pass. Bytes are copied twice. A ModelProto of 2 GiB or more passes through a
    temporary folder, and needs three times its size in memory.

    UsageError: an option or a value that cannot be. InputError: the model cannot be used. CheckFailed,
    NotChecked: with `check`. OutputError: the result could not be written. LimitError: `timeout` or
    `max_memory` was reached.
    TypeError: an option that does not exist. FileNotFoundError: the tool itself is not there.
    """
    with ExitStack() as resources:
        source = _Input(model, resources)
        if output is not None:
            path = os.fspath(output)
            # A name, also "-": only bytes that are asked for come through stdout.
            _, report = _run(source, "./-" if path == "-" else path, "optimize", options)
            if os.path.isdir(path):  # the result is in it, under the name of the model
                path = os.path.join(path, os.path.basename(report.output))
            return path, report
        if options.get("plan") or not (_is_bytes(model) or _is_proto(model)):
            _, report = _run(source, None, "optimize", options)
            return None, report
        if not _is_proto(model):
            return _run(source, "-", "optimize", options)
        import onnx

        if source.folder:
            path = os.path.join(source.folder, "out.onnx")
            _, report = _run(source, path, "optimize", options)
            return onnx.load(path), report
        data, report = _run(source, "-", "optimize", options)
        result = type(model)()
        result.ParseFromString(data)
        return result, report


def check(model: "Model", seeds: int = 1, **options: "Unpack[Options]") -> Report:
    """Optimizes a model, compares the result with it in ONNX Runtime, and writes nothing.

    seeds: how many sets of random inputs, 1 to 1000. The comparison is in `Report.check`.

    CheckFailed: they differ. NotChecked: there is no ONNX Runtime, an older one than the tool asks for (its
    text says which), or one that does not run the model. Else as `optimize`.
    """
    given: Dict[str, Any] = dict(options)
    given.setdefault("check", seeds)
    with ExitStack() as resources:
        _, report = _run(_Input(model, resources), None, "check", given)
        return report


def inspect(model: "Model", **options: "Unpack[InspectOptions]") -> Inspection:
    """Returns what is in a model: inputs, outputs, symbols, operators, sizes in bytes, problems.

    InputError: the model cannot be used. LimitError: `timeout` or `max_memory` was reached.
    """
    with ExitStack() as resources:
        source = _Input(model, resources)
        words = words_of("inspect", InspectOptions, options)
        out, _, _ = run(["inspect", source.word, "--json", *words], [source.word], source.stdin)
        return inspection_of(json.loads(out))


def version() -> str:
    """Returns the tool's version: "0.2.0"."""
    out, _, _ = run(["--version"], [])
    return out.decode().split()[-1]
