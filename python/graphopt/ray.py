"""`graphopt batch` on a cluster of Ray: each shard is a remote task.

    import graphopt.ray

    done = graphopt.ray.batch("zoo", "out", dims={"batch": 1}, shards=64)
    print(done.counts, done.status)

Ray places the tasks and repeats those whose machine or worker was lost. Results and records are in the folder
of the output, on a file system that all machines share; nothing but reports passes through Ray. A task does
no harm when it is killed, and one that is repeated skips what is up to date, so no state is kept here.

Needs Ray: pip install 'graphopt[ray]'. Every machine needs this package, in one version.
"""

import json
import os
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from graphopt._api import _with_runtime, version
from graphopt._errors import InternalError, Problem, error_of, in_keywords
from graphopt._options import Options, files_of, words_of
from graphopt._process import binary, content, memory_file
from graphopt._report import Report, report_of

try:
    import ray
except ModuleNotFoundError as error:
    if error.name != "ray":
        raise
    raise ImportError("graphopt.ray needs Ray: pip install 'graphopt[ray]'") from None

if TYPE_CHECKING:
    from typing_extensions import Unpack

    Path = Union[str, "os.PathLike[str]"]

__all__ = ["Batch", "Model", "Shard", "batch"]

# What decides the status of the whole, the first of these that there is (docs/batch.md).
_ORDER = (70, 5, 4, 3, 6, 2, 1)


@dataclass(frozen=True)
class Model:
    """What became of one model."""

    name: str
    """Of its output, below the folder."""
    input: str
    output: str
    state: str
    """"optimized", "up to date", "copied", "failed" or "not done"; with `dry_run` "up to date" or "to do"."""
    status: int
    """Of its run (docs/exit-codes.md); 0 with `dry_run`."""
    error: str
    """The first one of its run; "" when there was none."""
    report: Optional[Report]
    """Of its run; None when there was none, or when it failed before there were figures of the result."""
    raw: Dict[str, Any]
    """All that the tool wrote of it."""


@dataclass(frozen=True)
class Shard:
    """One task: `graphopt batch --shard index/count`."""

    index: int
    count: int
    status: int
    """Of the process; 70 when Ray lost the task more often than it repeats one."""
    seconds: float
    """Of the last try, on its machine."""
    node: str
    """The name of the machine of the last try; "" of a task that was lost."""
    log: str
    """What the tool printed on stderr; of a task that was lost, what Ray says of it."""


@dataclass(frozen=True)
class Batch:
    """What became of all models."""

    models: List[Model]
    """By name. Those of a shard that was lost are not in it: another call does what is left of them."""
    shards: List[Shard]
    status: int
    """0, or what happened, the first of 70, 5, 4, 3, 6, 2, 1."""
    seconds: float
    """Of the whole, with the time that tasks waited for a machine."""
    counts: Dict[str, int] = field(default_factory=dict)
    """How many models there are of each state."""


# What Ray says of a task whose worker, machine or result is gone, when it has repeated it often enough.
_RAY_LOST = tuple(
    getattr(ray.exceptions, name)
    for name in ("WorkerCrashedError", "NodeDiedError", "OutOfMemoryError", "ObjectLostError")
)


class _Lost(Exception):
    """The process of the tool was ended by a signal. Ray repeats the task."""


# Ray kills a worker when its driver ends or its machine has no memory left. The tool must end with it, or it
# would go on next to the second try; the kernel sees to that, whatever kills the worker. A small program asks
# for it and becomes the tool, since a process with as many threads as a worker must run no Python after fork.
_TIED = (
    "import ctypes, os, signal, sys; ctypes.CDLL(None).prctl(1, signal.SIGKILL); "
    "os.getppid() == int(sys.argv[1]) or sys.exit(); os.execv(sys.argv[2], sys.argv[2:])"
)


_NEVER = 10**9  # seconds


def _run_tied(words: Sequence[str], folder: str) -> Tuple[int, bytes, str]:
    """Runs the tool and returns (status, stdout, stderr). It ends with this thread."""
    own = [sys.executable, "-I", "-S", "-c", _TIED, str(os.getpid()), os.path.abspath(binary())]
    with memory_file("stdout") as out, memory_file("stderr") as err:
        files = {"stdin": subprocess.DEVNULL, "stdout": out, "stderr": err}
        # With a time it waits in small steps, between which Ray can interrupt this thread; it ends the tool
        # when anything is raised.
        done = subprocess.run([*own, *words], **files, cwd=folder, timeout=_NEVER)
        return done.returncode, content(out), content(err).decode("utf-8", "replace")


def _shard(
    words: List[str], options: Mapping[str, Any], folder: str, wanted: str
) -> Tuple[int, bytes, str, float, str]:
    """What a task does, on its machine: (status, lines of the report, stderr, seconds, machine)."""
    start, node = time.monotonic(), os.uname().nodename
    if version() != wanted:
        raise RuntimeError(f"{node} has graphopt {version()}, and the driver {wanted}: install one version")
    if not os.path.isdir(folder):
        raise RuntimeError(f"{node} has no folder {folder}: all machines must share the folders of a batch")
    status, lines, messages = _run_tied(_with_runtime(words, options), folder)
    if status < 0 or status > 128:
        number = -status if status < 0 else status - 128
        raise _Lost(f"signal {number} ended graphopt on {node}")
    return status, lines, messages, time.monotonic() - start, node


def _model(raw: Dict[str, Any]) -> Model:
    # Of a model that is up to date there are some figures, from its record, and no report.
    has_report = all("operators" in (raw.get(name) or {}) for name in ("before", "after"))
    errors = raw.get("errors") or []
    return Model(
        name=raw["name"],
        input=raw["input"],
        output=raw["output"],
        state=raw["state"],
        status=raw.get("status", 0),
        error=": ".join(filter(None, (errors[0]["place"], in_keywords(errors[0]["what"])))) if errors else "",
        report=report_of(raw) if has_report else None,
        raw=raw,
    )


def _status_of(found: Iterable[int]) -> int:
    have = set(found) - {0}
    return next((one for one in _ORDER if one in have), 70 if have else 0)


def _start(address: Optional[str]) -> bool:
    """Connects to Ray unless the caller has; whether it did."""
    if ray.is_initialized():
        if address is not None:
            raise ValueError("Ray is initialized already: leave out 'address'")
        return False
    ray.init(address=address, log_to_driver=False)
    return True


def _texts(values: "Union[Path, Sequence[Path]]") -> List[str]:
    """One path or pattern, or several, as text."""
    some = [values] if isinstance(values, (str, os.PathLike)) else list(values)
    return [os.fsdecode(one) for one in some]


def _write_report(path: "Path", done: Batch) -> None:
    whole = {
        "models": len(done.models),
        **{state.replace(" ", "_"): number for state, number in done.counts.items()},
        "status": done.status,
        "seconds": done.seconds,
        "shards": [
            {"shard": f"{s.index}/{s.count}", "status": s.status, "node": s.node} for s in done.shards
        ],
    }
    lines = [json.dumps(one) for one in [*(m.raw for m in done.models), {"batch": whole}]]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def batch(
    models: "Union[Path, Sequence[Path]]",
    output: "Path",
    *,
    shards: Optional[int] = None,
    jobs: int = 1,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    rules: "Optional[Path]" = None,
    memory_budget: Optional[Union[int, str]] = None,
    on_error: Optional[str] = None,
    by_content: bool = False,
    force_all: bool = False,
    dry_run: bool = False,
    delete_stale: bool = False,
    address: Optional[str] = None,
    num_cpus: Optional[float] = None,
    memory: Optional[int] = None,
    max_retries: int = 3,
    resources: Optional[Dict[str, float]] = None,
    scheduling_strategy: Any = None,
    runtime_env: Optional[Dict[str, Any]] = None,
    **options: "Unpack[Options]",
) -> Batch:
    """Optimizes many models with `graphopt batch`, each shard as a remote task of Ray.

    models: files, folders, or "@LIST", one or several. output: a folder. Both must be the same on all
    machines; a relative path is below the current folder, which all machines must have, too.
    shards: how many tasks; by default as many as the cluster has processors. More of them are spread more
    evenly.
    jobs: how many models a task has in work at once. memory_budget: bytes for all of them, of each task.
    rules: the file of --options. include, exclude, on_error, by_content, force_all, dry_run, delete_stale are
    those of `graphopt batch`, and all other keywords are those of `optimize`, for each model; `timeout` is
    per model, and `report` a file for the lines of all shards.

    Ray that is initialized is used. Otherwise this call connects to `address` (by default as `ray.init`
    does, which starts a Ray of this machine alone where there is none) and disconnects at its end.
    num_cpus (default: jobs), memory, max_retries, resources, scheduling_strategy, runtime_env: of each task,
    as Ray's `options` takes them. A task is repeated when its worker, its machine, or the tool was killed.

    Returns what became of all models, also when some failed: see `Batch.status`. UsageError, InputError,
    OutputError, ...: a shard could not begin, for example since an option is wrong. TypeError: an option that
    does not exist. RuntimeError: a machine lacks the folder, or has another version.
    """
    start = time.monotonic()
    given: Dict[str, Any] = dict(options)
    report = given.pop("report", None)
    names = _texts(models)
    words = ["batch", *("./" + one if one[:1] == "-" else one for one in names)]
    words += [f"--output={os.fsdecode(output)}", f"--jobs={jobs}", "--json", "-q", "--color=never"]
    words += [f"--include={one}" for one in _texts(include)] + [f"--exclude={one}" for one in _texts(exclude)]
    for option, value in (("options", rules), ("memory-budget", memory_budget), ("on-error", on_error)):
        if value is not None:
            words.append(f"--{option}={os.fspath(value) if isinstance(value, os.PathLike) else value}")
    flags = {"by-content": by_content, "force-all": force_all, "dry-run": dry_run}
    flags["delete-stale"] = delete_stale
    words += [f"--{option}" for option, wanted in flags.items() if wanted]
    words += words_of("batch", Options, given)
    if shards is not None and shards < 1:
        raise ValueError(f"'shards' is 1 or more, not {shards}")
    files = [*names, os.fsdecode(output), *files_of(given), *_texts(rules or [])]

    own = _start(address)
    tasks: List[Any] = []
    try:
        count = shards or max(1, int(ray.cluster_resources().get("CPU", 1)))
        asked = {"memory": memory, "resources": resources, "scheduling_strategy": scheduling_strategy}
        asked["runtime_env"] = runtime_env
        task = ray.remote(_shard).options(
            name="graphopt batch",
            num_cpus=jobs if num_cpus is None else num_cpus,
            max_retries=max_retries,
            retry_exceptions=[_Lost],
            **{name: value for name, value in asked.items() if value is not None},
        )
        folder, own_version = os.getcwd(), version()
        tasks = [
            task.remote([*words, f"--shard={index}/{count}"], given, folder, own_version)
            for index in range(1, count + 1)
        ]
        done = _collect(tasks, files, dry_run)
        tasks = []
    finally:
        for one in tasks:  # the call was interrupted, or a shard shows that none can begin
            ray.cancel(one)  # interrupts its Python, which then ends the tool
        if own:
            ray.shutdown()
    ended, found = done
    result = Batch(
        models=sorted(ended, key=lambda model: model.name),
        shards=found,
        status=_status_of(shard.status for shard in found),
        seconds=time.monotonic() - start,
        counts=dict(Counter(model.state for model in ended)),
    )
    if report is not None:
        _write_report(report, result)
    return result


def _collect(tasks: List[Any], files: List[str], dry_run: bool) -> Tuple[List[Model], List[Shard]]:
    """Waits for all shards. GraphoptError: one of them could not begin."""
    models: List[Model] = []
    found: Dict[int, Shard] = {}
    index = {task: number for number, task in enumerate(tasks, 1)}
    waiting = list(tasks)
    while waiting:
        (task,), waiting = ray.wait(waiting)
        number = index[task]
        try:
            status, lines, messages, seconds, node = ray.get(task)
        except _RAY_LOST as error:
            found[number] = Shard(number, len(tasks), 70, 0.0, "", str(error))
            continue
        except ray.exceptions.RayTaskError as error:
            if not isinstance(error.cause, _Lost):
                raise error.as_instanceof_cause() from None
            found[number] = Shard(number, len(tasks), 70, 0.0, "", str(error.cause))
            continue
        objects = [json.loads(line) for line in lines.splitlines()]
        if not any("batch" in one for one in objects) and (status != 0 or not dry_run):
            if status == 0:
                what = "the tool wrote no last line in its report"
                raise InternalError([Problem(what, text=f"graphopt: error: {what}")], 70)
            raise error_of(status, messages, files)
        models += [_model(one) for one in objects if "batch" not in one]
        found[number] = Shard(number, len(tasks), status, seconds, node, messages)
    return models, [found[number] for number in sorted(found)]
