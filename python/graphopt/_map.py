"""map: two models in one run of the tool. Those in memory go there as files that it opens as /dev/fd/N."""

import json
import os
import re
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Any, Dict, List

from graphopt._api import _Input, _with_runtime
from graphopt._errors import error_of
from graphopt._map_report import Map, map_of
from graphopt._options import MapOptions, files_of, words_of
from graphopt._process import end_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from graphopt._api import Model

_DIFFERENT = 3  # not one model, or other numbers: an answer like any other


def map(a: "Model", b: "Model", **options: "Unpack[MapOptions]") -> Map:
    """Finds for each operator of a model its counterpart in another one, and returns a Map.

    a, b: two forms of one model, from two exporters or before and after an optimizer: paths, bytes, or
    onnx.ModelProto. External data of those in memory is looked for below the current folder, or
    `external_root`.

    Options are those of `graphopt map` (class MapOptions says what each is). With `numeric` or `bisect` both
    run in ONNX Runtime, and `Map.numeric` has the operators whose results differ first. That the graphs are
    not one model, or that numbers differ, is no exception: `Map.one_model` and `Map.numeric` say so.

    UsageError: an option that cannot be, also a `pair` that constants contradict. InputError: `a` or `b`
    cannot be used. NotChecked: numbers are wanted, and there is no ONNX Runtime, or it does not run them.
    OutputError: `report` could not be written. LimitError: `timeout` or `max_memory` was reached.
    TypeError: an option that does not exist.
    """
    words = words_of("map", MapOptions, options)
    wants_numbers = bool(options.get("numeric") or options.get("bisect"))
    if wants_numbers:
        words = _with_runtime(words, options, always=True)
    with ExitStack() as resources:
        models: List[str] = []
        keep: List[IO[bytes]] = []
        names: Dict[str, str] = {}  # of files that are not the caller's
        for name, model in (("a", a), ("b", b)):
            source = _Input(model, resources)
            if source.stdin is not None:
                keep.append(source.stdin)
                source.word = f"/dev/fd/{source.stdin.fileno()}"
            if source.stdin is not None or source.folder:
                names[source.word] = name
            models.append(source.word)
        if names and options.get("external_root") is None:
            words.append(f"--external-root={os.getcwd()}")
        status, out, log, _ = end_of(["map", *models, "--json", *words], keep=keep)
        for file, name in names.items():
            log = re.sub(rf"{re.escape(file)}(?!\d)", name, log)
        if status not in (0, _DIFFERENT) or not out:
            known = [names.get(word, word) for word in models]
            raise error_of(status, log, [*known, *files_of(options)])
        raw = json.loads(out)
        for side in ("a", "b"):
            raw[side]["file"] = names.get(raw[side]["file"], raw[side]["file"])
        return map_of(raw, log)
