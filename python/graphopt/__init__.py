"""Makes ONNX models smaller and faster.

    import graphopt

    path, report = graphopt.optimize("in.onnx", "out.onnx", dims={"batch": 1}, check=True)
    data, report = graphopt.optimize(data)       # bytes in, bytes out
    model, report = graphopt.optimize(model)     # an onnx.ModelProto in, a new one out
    print(report.before.nodes, "->", report.after.nodes)
    done = graphopt.run("out.manifest.json", [{"x": x}, {"x": y}])  # its parts, in ONNX Runtime
    print(done.outputs[0]["y"], done.report.latency)
    found = graphopt.map("old.onnx", "new.onnx", numeric=True)  # which operator became which
    print(found.verdict, found.numeric.first)

Every function runs the tool `graphopt` that is installed with this module, as a process of its own: a limit
or a damaged model never takes the caller along. Sizes are in bytes, times in seconds. What can go wrong is a
subclass of GraphoptError, one for each exit status of the tool.
"""

from graphopt._api import check, inspect, optimize, version
from graphopt._errors import (
    CheckFailed,
    GraphoptError,
    InputError,
    InternalError,
    LimitError,
    NotChecked,
    OutputError,
    Problem,
    UsageError,
)
from graphopt._map import map
from graphopt._map_report import (
    Map,
    MapAdvice,
    MapDivergence,
    MapGraph,
    MapGroup,
    MapNumeric,
    MapOperator,
    MapPair,
    MapValue,
)
from graphopt._options import InspectOptions, MapOptions, Options, RunOptions
from graphopt._process import binary
from graphopt._report import (
    Check,
    CheckedOutput,
    DataFile,
    Figures,
    Inspection,
    PassRun,
    Report,
    Value,
    WrittenFile,
)
from graphopt._run import Run, run
from graphopt._run_report import (
    RunCheck,
    RunDevice,
    RunLatency,
    RunModel,
    RunNetwork,
    RunProblem,
    RunReport,
    RunRequests,
    RunSubgraph,
)

__all__ = [
    "Check",
    "CheckFailed",
    "CheckedOutput",
    "DataFile",
    "Figures",
    "GraphoptError",
    "InputError",
    "InspectOptions",
    "Inspection",
    "InternalError",
    "LimitError",
    "Map",
    "MapAdvice",
    "MapDivergence",
    "MapGraph",
    "MapGroup",
    "MapNumeric",
    "MapOperator",
    "MapOptions",
    "MapPair",
    "MapValue",
    "NotChecked",
    "Options",
    "OutputError",
    "PassRun",
    "Problem",
    "Report",
    "Run",
    "RunCheck",
    "RunDevice",
    "RunLatency",
    "RunModel",
    "RunNetwork",
    "RunOptions",
    "RunProblem",
    "RunReport",
    "RunRequests",
    "RunSubgraph",
    "UsageError",
    "Value",
    "WrittenFile",
    "binary",
    "check",
    "inspect",
    "map",
    "optimize",
    "run",
    "version",
]
