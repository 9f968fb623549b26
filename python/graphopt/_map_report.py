"""What `graphopt map` found, typed (docs/mapping.md)."""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Tuple, Union


@dataclass(frozen=True)
class MapOperator:
    name: str
    """Of its first result that has one; in a body OWNER/ATTRIBUTE/RESULT."""
    op: str
    """"Conv", "com.microsoft::Attention"."""
    type: str
    """Of its first result: "float[batch,8]"; "" where it is not known."""
    depth: int
    """Operators before it on the longest way from the inputs of its graph."""


@dataclass(frozen=True)
class MapGraph:
    """A or B."""

    file: str
    """As given; "a" or "b" is a model that was given as bytes or as a ModelProto."""
    network: str
    """The "network.id" of a manifest of this model."""
    operators: int
    """Of the main graph."""
    constants: int
    """That these read."""
    nodes: List[MapOperator]
    """All operators, those of bodies too, in an order that depends on the graph alone."""


@dataclass(frozen=True)
class MapValue:
    """Results that correspond."""

    a: str
    b: str
    layout: Optional[List[int]]
    """Of A's dims, what turns them into B's: [0, 2, 3, 1]; None: they are the same."""


@dataclass(frozen=True)
class MapPair:
    """An operator of A and its counterpart in B, by their names."""

    a: str
    b: str
    values: List[MapValue]
    confidence: float
    """0 to 1."""
    why: str


@dataclass(frozen=True)
class MapGroup:
    """What operators of A became, where that is not one operator for one."""

    a: List[str]
    b: List[str]
    kind: str
    """"fused", "decomposed", "rewritten", "only_in_a" or "only_in_b"."""
    values: Optional[Tuple[str, str]]
    """The values of A and B that end it; None of operators of one graph alone."""
    why: str
    """Why these values correspond."""


@dataclass(frozen=True)
class MapAdvice:
    """What an operator of A without counterpart is most like."""

    a: str
    top: List[Tuple[str, float]]
    """Operators of B with their scores, 0 to 1, the best first."""


@dataclass(frozen=True)
class MapDivergence:
    """Operators whose results differ while all compared values above them agree."""

    a: str
    b: str
    region_a: List[str]
    """The operators since the last values that agree."""
    region_b: List[str]
    max_abs: Union[float, str]
    """A number, or "nan", "inf", "-inf"."""
    max_rel: Union[float, str]
    cosine: Union[float, str]
    problem: Optional[str]
    """What is more than a number: other extents, NaN in other places."""
    attributes: Dict[str, Tuple[Optional[str], Optional[str]]]
    """Those that differ, as texts of A and B: {"axis": ("-1", "2")}; None: it is not written there."""


@dataclass(frozen=True)
class MapNumeric:
    """The numbers of both graphs side by side."""

    runtime: str
    """"ONNX Runtime 1.32.0"."""
    compared: int
    """Pairs of values."""
    diverging: int
    first: List[MapDivergence]


@dataclass(frozen=True)
class Map:
    """Which operator of A became which operator of B."""

    verdict: str
    """"one model" or "not one model"."""
    method: str
    a: MapGraph
    b: MapGraph
    pairs: List[MapPair]
    """In the order of `a.nodes`."""
    groups: List[MapGroup]
    advice: List[MapAdvice]
    numeric: Optional[MapNumeric]
    """None without `numeric` and `bisect`, and where the graphs are not one model."""
    raw: Dict[str, Any]
    """All that the tool wrote."""
    log: str
    """Warnings that it printed."""

    @property
    def one_model(self) -> bool:
        """Whether enough of each graph has a counterpart in the other."""
        return self.verdict == "one model"


def _fields(kind: Any, raw: Dict[str, Any]) -> Any:
    # By name: a newer tool may write more.
    return kind(**{name: raw[name] for name in kind.__dataclass_fields__})


def _graph(raw: Dict[str, Any]) -> MapGraph:
    nodes = [_fields(MapOperator, one) for one in raw["nodes"]]
    return MapGraph(raw["file"], raw["network"], raw["operators"], raw["constants"], nodes)


def _pair(raw: Dict[str, Any]) -> MapPair:
    values = [MapValue(*one) for one in raw["values"]]
    return MapPair(raw["a"], raw["b"], values, raw["confidence"], raw["why"])


def _group(raw: Dict[str, Any]) -> MapGroup:
    values = tuple(raw["values"]) or None
    return MapGroup(raw["a"], raw["b"], raw["kind"], values, raw["why"])


def _divergence(raw: Dict[str, Any]) -> MapDivergence:
    return MapDivergence(
        a=raw["a"],
        b=raw["b"],
        region_a=raw["region"]["a"],
        region_b=raw["region"]["b"],
        max_abs=raw["max_abs"],
        max_rel=raw["max_rel"],
        cosine=raw["cosine"],
        problem=raw["problem"],
        attributes={name: (both[0], both[1]) for name, both in raw["attributes"].items()},
    )


def _numeric(raw: Dict[str, Any]) -> MapNumeric:
    first = [_divergence(one) for one in raw["first"]]
    return MapNumeric(raw["runtime"], raw["compared"], raw["diverging"], first)


def map_of(raw: Dict[str, Any], log: str) -> Map:
    """Types the answer of `graphopt map --json`."""
    return Map(
        verdict=raw["verdict"],
        method=raw["method"],
        a=_graph(raw["a"]),
        b=_graph(raw["b"]),
        pairs=[_pair(one) for one in raw["pairs"]],
        groups=[_group(one) for one in raw["groups"]],
        advice=[MapAdvice(one["a"], [(b, score) for b, score in one["top"]]) for one in raw["advice"]],
        numeric=_numeric(raw["numeric"]) if raw["numeric"] else None,
        raw=raw,
        log=log,
    )
