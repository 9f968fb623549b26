"""The figures of `graphopt run`, typed. Times are seconds, sizes bytes."""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional

from graphopt._errors import in_keywords


@dataclass(frozen=True)
class RunModel:
    """OUT in its parts, or the model of a bucket."""

    file: str
    requests: int
    """That it answered."""


@dataclass(frozen=True)
class RunDevice:
    id: str
    workers: int
    runs: int
    """Of subgraphs."""
    busy: float
    """Of its workers' time while requests ran, 0 to 1."""
    peak: Optional[int]
    """The most bytes of tensors at once; None where sizes are not known."""
    planned_peak: Optional[int]
    """Of the largest request by itself, by the manifest."""
    budget: Optional[int]
    loaded_bytes: int
    """From the memory outside of the device."""
    stored_bytes: int
    waits: int
    """Subgraphs that waited for memory."""
    spills: int
    failures: int


@dataclass(frozen=True)
class RunSubgraph:
    model: str
    """Its file."""
    id: str
    device: str
    runs: int
    mean: float
    max: float


@dataclass(frozen=True)
class RunNetwork:
    """A manifest that requests ran with."""

    manifest: str
    id: str
    """Its "network.id"."""
    in_flight: int
    sessions: int
    models: List[RunModel]
    devices: List[RunDevice]
    subgraphs: List[RunSubgraph]


@dataclass(frozen=True)
class RunRequests:
    """How many requests ended how."""

    all: int
    done: int
    by_fallback: int
    """Of those that are done."""
    failed: int
    timed_out: int
    retries: int
    """Of subgraphs."""
    interrupted: bool


@dataclass(frozen=True)
class RunLatency:
    """Of the requests that are done."""

    p50: float
    p90: float
    p99: float
    max: float


@dataclass(frozen=True)
class RunCheck:
    """A comparison, in requests."""

    compared: int
    different: int


@dataclass(frozen=True)
class RunProblem:
    """What went wrong with one request."""

    request: str
    """The number in `Run.outputs`; with `draw` "draw.0", with `test_data` the name of the folder."""
    status: int
    what: str
    remedy: str


@dataclass(frozen=True)
class RunReport:
    """The figures of a run."""

    runtime: str
    """The version of ONNX Runtime."""
    mode: str
    requests: RunRequests
    load_seconds: float
    """Until the first request could begin."""
    run_seconds: float
    latency: Optional[RunLatency]
    """None where no request is done."""
    networks: List[RunNetwork]
    sequential: Optional[RunCheck]
    """Of `check_sequential`; None without it, and so the others."""
    whole: Optional[RunCheck]
    test_data: Optional[RunCheck]
    problems: List[RunProblem]
    """The first ten of each status."""
    raw: Dict[str, Any]
    """All that the tool wrote. Its `files` were read into `Run.outputs`, and are gone."""


def _check(raw: Optional[Dict[str, Any]]) -> Optional[RunCheck]:
    return RunCheck(raw["compared"], raw["different"]) if raw else None


def _fields(kind: Any, raw: Dict[str, Any]) -> Any:
    # By name: a newer tool may write more.
    return kind(**{name: raw[name] for name in kind.__dataclass_fields__})


def _network(raw: Dict[str, Any]) -> RunNetwork:
    return RunNetwork(
        manifest=raw["manifest"],
        id=raw["id"],
        in_flight=raw["in_flight"],
        sessions=raw["sessions"],
        models=[_fields(RunModel, one) for one in raw["models"]],
        devices=[_fields(RunDevice, one) for one in raw["devices"]],
        subgraphs=[_fields(RunSubgraph, one) for one in raw["subgraphs"]],
    )


def run_report_of(raw: Dict[str, Any]) -> RunReport:
    """Types the answer of `graphopt run --json`."""
    checks = raw["checks"]
    return RunReport(
        runtime=raw["runtime"],
        mode=raw["mode"],
        requests=_fields(RunRequests, raw["requests"]),
        load_seconds=raw["seconds"]["load"],
        run_seconds=raw["seconds"]["run"],
        latency=_fields(RunLatency, raw["latency"]) if raw["latency"] else None,
        networks=[_network(one) for one in raw["networks"]],
        sequential=_check(checks["sequential"]),
        whole=_check(checks["whole"]),
        test_data=_check(checks["test_data"]),
        problems=[
            RunProblem(p["request"], p["status"], in_keywords(p["what"]), in_keywords(p["remedy"]))
            for p in raw["problems"]
        ],
        raw=raw,
    )
