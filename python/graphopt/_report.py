"""What a run did, typed. `raw` has everything that the tool wrote, also fields that newer versions add."""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Union


@dataclass(frozen=True)
class Figures:
    """Of a model: one counting rule for all (docs/report.md)."""

    nodes: int
    """Of the main graph, of every subgraph, and of a function once per call."""
    constants: int
    initializers: int
    subgraphs: int
    calls: int
    bytes: int
    """File and external data; 0 when nothing was written."""
    operators: Dict[str, int]
    """How many of each: {"Conv": 20, "com.microsoft::Attention": 1}."""


@dataclass(frozen=True)
class PassRun:
    """What one pass did."""

    name: str
    runs: int
    rewrites: int
    seconds: float
    counters: Dict[str, int]


@dataclass(frozen=True)
class CheckedOutput:
    """The largest difference of one output between the two models."""

    output: str
    max_abs: Union[float, str]
    """A number, or "nan", "inf", "-inf"."""
    max_rel: Union[float, str]
    noise: Union[float, str]
    """What the original itself differs by between equal runs."""
    unsteady: bool
    """The original differs from itself by more than 0.05; only differences up to that are accepted."""
    random: bool
    """Held to type and shape only."""
    ok: bool
    problem: str


@dataclass(frozen=True)
class Check:
    """The comparison of both models in ONNX Runtime. A difference is the exception CheckFailed instead."""

    verdict: str
    """"same": within the tolerance."""
    runtime: str
    """"ONNX Runtime 1.31.1"."""
    runs: int
    skipped: int
    """Sets of inputs that the original itself refuses."""
    outputs: List[CheckedOutput]


@dataclass(frozen=True)
class WrittenFile:
    path: str
    bytes: int


@dataclass(frozen=True)
class Report:
    """The figures of a run of `optimize` or `check` (docs/report.md)."""

    version: str
    input: str
    """As given; "-" is a model that was given as bytes or as a ModelProto."""
    output: str
    """"" in a dry run, "-" when the result was returned."""
    before: Figures
    after: Figures
    seconds: float
    """The run inside the tool."""
    rounds: int
    rewrites: int
    stopped: str
    passes: List[PassRun]
    check: Optional[Check]
    """None when no check was asked for."""
    files: List[WrittenFile]
    warnings: List[str]
    raw: Dict[str, Any]
    """The whole report."""
    log: str = ""
    """What `explain`, `print_after`, `time_passes`, `verbose` and `log_level` made the tool print."""

    @property
    def changed(self) -> bool:
        """Whether any pass changed the model."""
        return self.rewrites > 0


@dataclass(frozen=True)
class Value:
    """An input or an output of a model."""

    name: str
    type: str
    """"float[batch,3,224,224]"."""
    has_default: bool


@dataclass(frozen=True)
class DataFile:
    """A file of external data."""

    path: str
    """As the model says it: relative to the model, or to `external_root`."""
    file: str
    """Where it was found."""
    bytes: int


@dataclass(frozen=True)
class Inspection:
    """What is in a model."""

    file: str
    format: str
    """"protobuf" or "text"."""
    ir_version: int
    producer: str
    opsets: Dict[str, int]
    inputs: List[Value]
    outputs: List[Value]
    symbols: Dict[str, List[str]]
    """Dims that are bound at run time, and the inputs that have each."""
    figures: Figures
    model_bytes: int
    external_bytes: int
    data_files: List[DataFile]
    """Those that the model names."""
    weight_bytes: int
    parameters: int
    """Elements of all weights."""
    multiply_adds: Optional[str]
    """Multiplications with addition of one run, a formula over the symbols; None where there is none."""
    problems: List[str]
    raw: Dict[str, Any]


def _figures(raw: Dict[str, Any]) -> Figures:
    names = ("nodes", "constants", "initializers", "subgraphs", "calls", "bytes", "operators")
    return Figures(*(raw[name] for name in names))


def _check(raw: Dict[str, Any]) -> Check:
    names = ("output", "max_abs", "max_rel", "noise", "unsteady", "random", "ok", "problem")
    outputs = [CheckedOutput(*(one[name] for name in names)) for one in raw["outputs"]]
    return Check(raw["verdict"], raw["runtime"], raw["runs"], raw["skipped"], outputs)


def report_of(raw: Dict[str, Any], log: str = "") -> Report:
    """Types a report of `--report`."""
    passes = [
        PassRun(p["name"], p["runs"], p["rewrites"], p["seconds"], p["counters"]) for p in raw["passes"] or []
    ]
    return Report(
        version=raw["version"],
        input=raw["input"],
        output=raw["output"],
        before=_figures(raw["before"]),
        after=_figures(raw["after"]),
        seconds=raw["seconds"],
        rounds=raw["rounds"] or 0,
        rewrites=raw["rewrites"] or 0,
        stopped=raw["stopped"] or "",
        passes=passes,
        check=_check(raw["check"]) if raw["check"] else None,
        files=[WrittenFile(f["path"], f["bytes"]) for f in raw["files"] or []],
        warnings=raw["warnings"],
        raw=raw,
        log=log,
    )


def inspection_of(raw: Dict[str, Any]) -> Inspection:
    """Types the answer of `graphopt inspect --json`."""

    def values(name: str) -> List[Value]:
        return [Value(v["name"], v["type"], v["has_default"]) for v in raw[name]]

    return Inspection(
        file=raw["file"],
        format=raw["format"],
        ir_version=raw["ir_version"],
        producer=raw["producer"],
        opsets=raw["opsets"],
        inputs=values("inputs"),
        outputs=values("outputs"),
        symbols={s["name"]: s["inputs"] for s in raw["symbols"]},
        figures=_figures(raw["figures"]),
        model_bytes=raw["model_bytes"],
        external_bytes=raw["external_bytes"],
        data_files=[DataFile(f["path"], f["file"], f["bytes"]) for f in raw["data_files"]],
        weight_bytes=raw["weight_bytes"],
        parameters=raw["parameters"],
        multiply_adds=raw["multiply_adds"],
        problems=raw["problems"],
        raw=raw,
    )
