"""Keyword arguments and their options. Written by tools/packaging/python_keywords.py."""

import os
from typing import TYPE_CHECKING, Any, Dict, Mapping, Sequence, Tuple, Union

if TYPE_CHECKING:
    from typing import Literal, TypedDict

    Path = Union[str, "os.PathLike[str]"]
    Size = Union[int, str]
else:
    from typing import Literal, TypedDict

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

    dim_names: Literal["expressions", "opaque"]
    """Input dims named 'a + b' are expressions (default) or opaque (names)."""


class Options(InspectOptions, total=False):
    """Keyword arguments of `optimize` and `check`."""

    level: int
    """0 no passes, 1 bit-exact, 2 (default) may round, 3 rounds more."""
    exact: bool
    """Only bit-exact rewrites, at every -O level."""
    passes: Union[str, Sequence[str]]
    """Run only these passes, in this order, until nothing changes."""
    disable_pass: Union[str, Sequence[str]]
    """Do not run these passes."""
    inputs: Union[str, Sequence[str]]
    """Extract a submodel first: these values become its inputs."""
    outputs: Union[str, Sequence[str]]
    """These values become its outputs, in this order."""
    constant_defaults: bool
    """Turn inputs that have an initializer (a default) into constants."""
    ir_version: int
    """Raise the model's IR version to N, as in 10 for metadata of nodes."""
    stop_after: Literal["load", "infer", "clean-up"]
    """Stop after load, infer or clean-up (all passes), and save the model."""
    regions: Literal["none", "metadata", "functions"]
    """Write regions into the model: none (default), metadata, functions."""
    fold_limit: Size
    """Most bytes that one folded constant may add (default 64K)."""
    fold: Literal["native", "ort"]
    """native (default); ort: also by ONNX Runtime's kernels (may round)."""
    shapes: Mapping[str, Sequence[int]]
    """Shapes of inputs: {"image": [1, 3, 224, 224]}; -1 keeps a dim."""
    dims: Mapping[str, Union[int, str, Tuple[int, int]]]
    """Symbols: {"batch": 1} fixes one, {"batch": (1, 64)} promises a range."""
    infer: bool
    """Write the shapes that were found into value_info and outputs."""
    buckets: Union[Path, Mapping[str, Union[str, Sequence[int]]]]
    """A model per size: {"seq": [16, 32]}, {"seq": "16..512:pow2"}, or a JSON file."""
    bucket_require: Literal["proved", "assumed", "repair", "force"]
    """Accept padding that is: proved, assumed (default); or repair, force."""
    bucket_single: bool
    """One model that picks the bucket, pads and crops by itself."""
    devices: Union[str, Sequence[str]]
    """Partition the model for these device profiles (names or files)."""
    partition_algorithm: Literal["grow", "fewest", "depth"]
    """grow (default), fewest, or depth for comparison."""
    lower: Literal["auto", "never"]
    """auto (default): lower what no device takes to what one does; never."""
    assignment: str
    """Run nodes where the model says; RULES: 'npu(=s0,enc); cpu(=s1)'."""
    connected: bool
    """Put only connected nodes into one subgraph of an accelerator."""
    min_nodes: int
    """Least nodes of a subgraph, in place of the profiles' min_nodes."""
    min_gain: int
    """Time in ns that a subgraph must save, by the costs of the profiles."""
    order: Literal["file", "memory"]
    """Of subgraphs in the manifest: file (default); memory: a low peak."""
    budget: str
    """Bytes for a request, in place of the memory_bytes of profiles."""
    plan: bool
    """Only plan the subgraphs, and write nothing; the table is in `Report.log`."""
    parts: Literal["auto", "never"]
    """A file per subgraph: auto (default) writes them, never does not."""
    manifest: Path
    """Where the manifest goes (default: OUT with .manifest.json)."""
    parts_dir: Path
    """Put parts and weights there, in or below the manifest's folder."""
    emit: Union[str, Sequence[str]]
    """Also write files for: triton, ort-annotations, genai, ort-package."""
    external_data: Literal["auto", "always", "never"]
    """Weights in a file of their own: auto (default), always, never."""
    external_threshold: Size
    """From which size on a tensor goes there (default 1K)."""
    external_file: Path
    """Like --external-data always, with this file name next to OUT."""
    strip: Union[str, Sequence[str]]
    """Leave out doc, metadata, names (of inner values, nodes) or all."""
    force: bool
    """Write over a write-protected file, or to a terminal."""
    check: Union[bool, int]
    """Run before and after in ONNX Runtime and compare, with this many seeds (True: 1)."""
    check_tolerance: float
    """Allowed difference relative to an output's maximum (float32: 1e-4)."""
    check_inputs: Union[Path, Mapping[str, Path]]
    """Your own arrays for inputs: {"ids": "ids.npy"}, or one .npz file of several."""
    bisect: bool
    """Check; if results differ, name the pass and the rewrite that did it."""
    verify_each: bool
    """Check graphopt's internal data after every pass (for its debugging)."""
    keep_bad: Path
    """If the check fails, write the optimized model to FILE."""
    ort: Path
    """ONNX Runtime's library or Python package (default: searched for)."""
    explain: Union[str, Sequence[str]]
    """Why passes ("lower", or "all") left nodes as they are: in `Report.raw`, `Report.log`."""
    print_after: Union[str, Sequence[str]]
    """The model as text after these passes, in `Report.log`."""
    report: Path
    """Also write the report to this file."""
    dot: Path
    """Draw the optimized graph with its regions or subgraphs, for Graphviz."""
    time_passes: bool
    """The time of each stage and pass, in `Report.log`."""
    verbose: int
    """1 or 2: more in `Report.log`."""
    log_level: Literal["error", "warning", "info", "debug", "trace"]
    """Error, warning (default), info, debug or trace."""


class RunOptions(TypedDict, total=False):
    """Keyword arguments of `run`."""

    draw: int
    """So many requests with random inputs, in place of requests; `dims` sets sizes."""
    seed: int
    """Other random inputs (0)."""
    test_data: Path
    """ONNX's test_data_set_* folders in place of requests; their outputs are compared."""
    network: str
    """With a folder of manifests: the beginning of "network.id"."""
    mode: Literal["overlap", "async1", "sync"]
    """overlap (default): several requests at once; async1: one; sync: one subgraph."""
    inflight: int
    """Requests at once (as many as keep devices busy)."""
    workers: Mapping[str, int]
    """Threads of devices: {"npu": 2}; 1 without it."""
    budget: Mapping[str, Size]
    """Bytes of devices for tensors, in place of the manifest's: {"npu": "64M"}."""
    request_timeout: Union[float, str]
    """Seconds (or "1m") after which a request is given up."""
    retries: int
    """Run a subgraph again so often after an error of its device (0)."""
    fallback: Literal["host", "none"]
    """host (default): where a part fails, OUT answers as a whole; none."""
    device: Mapping[str, Literal["cpu"]]
    """Run the parts of a device on the CPU, whatever its profile names: {"npu": "cpu"}."""
    retain: Literal["outputs", "all"]
    """outputs (default); all: each value is stored outside of its device, too."""
    unordered: bool
    """Compare and write answers as requests end."""
    warm_up: int
    """Runs of each model before requests begin (1)."""
    check_sequential: Union[bool, int]
    """Compare the bytes of so many requests (True: all) with mode="sync"."""
    check_whole: bool
    """Compare each request with OUT as a whole."""
    dims: Mapping[str, Union[int, str, Tuple[int, int]]]
    """Sizes for `draw`: {"seq": 8}, or a range of them: {"seq": (8, 40)}."""
    check_tolerance: float
    """Allowed difference relative to an output's maximum (float32: 1e-4)."""
    ort: Path
    """ONNX Runtime's library or Python package (default: searched for)."""
    max_memory: Size
    """Bytes of data that the process may use (or "2G"); LimitError when they do not suffice."""
    timeout: Union[float, str]
    """Seconds (or "5m"); LimitError after that."""
    report: Path
    """Also write the report to this file."""
    trace: Path
    """Write what ran when, in Chrome's trace format."""


class MapOptions(InspectOptions, total=False):
    """Keyword arguments of `map`."""

    method: Literal["sparse", "literal"]
    """sparse (default), or literal for comparison."""
    rounds: int
    """Most rounds of method="literal" (10)."""
    pair: Mapping[str, str]
    """Operators that are a pair, by the names of their results: {"h1": "/fc/Gemm_out"}."""
    no_names: bool
    """Names of results are no evidence."""
    no_weights: bool
    """Values of constants are no evidence, as for another checkpoint."""
    top_k: int
    """Most proposals for an operator without counterpart (3)."""
    numeric: bool
    """Run both in ONNX Runtime and compare all values that correspond."""
    bisect: bool
    """The same, but stop where the first values differ."""
    tolerance: float
    """Relative difference of values that agree (by their types and roundings)."""
    input: Union[Path, Mapping[str, Path]]
    """Your own arrays for inputs: {"ids": "ids.npy"}, or one .npz file of several."""
    seeds: int
    """Sets of inputs that are drawn (1)."""
    ort: Path
    """ONNX Runtime's library or Python package (default: searched for)."""
    report: Path
    """Also write the report to this file."""


# Keyword: its option, the form of the value (docs/help.md), the words that it may be.
KEYWORDS: Dict[str, Tuple[str, str, Tuple[str, ...]]] = {
    "level": ("-O", "choice", ("0", "1", "2", "3")),
    "exact": ("--exact", "flag", ()),
    "passes": ("--passes", "passes", ()),
    "disable_pass": ("--disable-pass", "passes", ()),
    "inputs": ("--inputs", "names", ()),
    "outputs": ("--outputs", "names", ()),
    "constant_defaults": ("--constant-defaults", "flag", ()),
    "ir_version": ("--ir-version", "count", ()),
    "stop_after": ("--stop-after", "choice", ("load", "infer", "clean-up")),
    "regions": ("--regions", "choice", ("none", "metadata", "functions")),
    "fold_limit": ("--fold-limit", "bytes", ()),
    "fold": ("--fold", "choice", ("native", "ort")),
    "shapes": ("--shape", "pairs", ()),
    "dims": ("--dim", "pairs", ()),
    "dim_names": ("--dim-names", "choice", ("expressions", "opaque")),
    "infer": ("--infer", "flag", ()),
    "buckets": ("--buckets", "file", ()),
    "bucket_require": ("--bucket-require", "choice", ("proved", "assumed", "repair", "force")),
    "bucket_single": ("--bucket-single", "flag", ()),
    "devices": ("--devices", "devices", ()),
    "partition_algorithm": ("--partition-algorithm", "choice", ("grow", "fewest", "depth")),
    "lower": ("--lower", "choice", ("auto", "never")),
    "assignment": ("--assignment", "text", ("given",)),
    "connected": ("--connected", "flag", ()),
    "min_nodes": ("--min-nodes", "count", ()),
    "min_gain": ("--min-gain", "count", ()),
    "order": ("--order", "choice", ("file", "memory")),
    "budget": ("--budget", "text", ()),
    "plan": ("--plan", "flag", ()),
    "parts": ("--parts", "choice", ("auto", "never")),
    "manifest": ("--manifest", "file", ()),
    "parts_dir": ("--parts-dir", "folder", ()),
    "emit": ("--emit", "choices", ("triton", "ort-annotations", "genai", "ort-package")),
    "external_data": ("--external-data", "choice", ("auto", "always", "never")),
    "external_threshold": ("--external-threshold", "bytes", ()),
    "external_file": ("--external-file", "file", ()),
    "strip": ("--strip", "choices", ("doc", "metadata", "names", "all")),
    "external_root": ("--external-root", "folder", ()),
    "force": ("--force", "flag", ()),
    "check": ("--check", "count", ()),
    "check_tolerance": ("--check-tolerance", "number", ()),
    "check_inputs": ("--check-input", "pairs", ()),
    "bisect": ("--bisect", "flag", ()),
    "verify_each": ("--verify-each", "flag", ()),
    "keep_bad": ("--keep-bad", "file", ()),
    "ort": ("--ort", "file", ()),
    "explain": ("--explain", "passes", ()),
    "print_after": ("--print-after", "passes", ()),
    "max_memory": ("--max-memory", "bytes", ()),
    "timeout": ("--timeout", "seconds", ()),
    "report": ("--report", "file", ()),
    "dot": ("--dot", "file", ()),
    "time_passes": ("--time-passes", "flag", ()),
    "verbose": ("--verbose", "flag", ()),
    "log_level": ("--log-level", "choice", ("error", "warning", "info", "debug", "trace")),
    "draw": ("--draw", "count", ()),
    "seed": ("--seed", "count", ()),
    "test_data": ("--test-data", "file", ()),
    "network": ("--network", "text", ()),
    "mode": ("--mode", "choice", ("overlap", "async1", "sync")),
    "inflight": ("--inflight", "count", ()),
    "workers": ("--workers", "text", ()),
    "request_timeout": ("--request-timeout", "seconds", ()),
    "retries": ("--retries", "count", ()),
    "fallback": ("--fallback", "choice", ("host", "none")),
    "device": ("--device", "text", ()),
    "retain": ("--retain", "choice", ("outputs", "all")),
    "unordered": ("--unordered", "flag", ()),
    "warm_up": ("--warm-up", "count", ()),
    "check_sequential": ("--check-sequential", "count", ()),
    "check_whole": ("--check-whole", "flag", ()),
    "trace": ("--trace", "file", ()),
    "method": ("--method", "choice", ("sparse", "literal")),
    "rounds": ("--rounds", "count", ()),
    "pair": ("--pair", "text", ()),
    "no_names": ("--no-names", "flag", ()),
    "no_weights": ("--no-weights", "flag", ()),
    "top_k": ("--top-k", "count", ()),
    "numeric": ("--numeric", "flag", ()),
    "tolerance": ("--tolerance", "number", ()),
    "input": ("--input", "text", ()),
    "seeds": ("--seeds", "count", ()),
}
# Words that begin a command line with a verb.
VERBS = ("batch", "inspect", "compare", "map", "run", "reduce", "devices")
