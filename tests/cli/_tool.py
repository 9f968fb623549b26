"""What the tests of the command line share: running the tool, the exit statuses, and small models."""

import os
import pathlib
import subprocess
import sys

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))

from lib.cases import run_cases  # noqa: E402

USAGE, INPUT, CHECK, OUTPUT, LIMIT, NOT_CHECKED, ANSWER_IS_NO = 1, 2, 3, 4, 5, 6, 7


class Tool:
    def __init__(self, binary):
        self.binary = str(pathlib.Path(binary).resolve())
        self.sanitized = b"__asan_init" in pathlib.Path(binary).read_bytes()

    def __call__(self, *words, stdin=None, env=None, cwd=None, timeout=120):
        """Runs graphopt; the answer has .returncode, .stdout (bytes) and .stderr (text)."""
        e = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
        e.update(env or {})
        done = subprocess.run(
            [self.binary, *map(str, words)], input=stdin, capture_output=True, env=e, cwd=cwd, timeout=timeout
        )
        done.stderr = done.stderr.decode(errors="replace")
        return done


def model(extra_nodes=(), batch="batch"):
    """y = Relu(Identity(x)) + w, with a symbol, an Identity to remove and a subexpression to fold."""
    w = numpy_helper.from_array(np.arange(3, dtype=np.float32), "w")
    half = numpy_helper.from_array(np.full(3, 0.5, np.float32), "half")
    nodes = [
        helper.make_node("Identity", ["x"], ["i"], "id"),
        helper.make_node("Relu", ["i"], ["r"], "relu"),
        helper.make_node("Add", ["w", "half"], ["c"], "const"),
        helper.make_node("Add", ["r", "c"], ["y"], "add"),
        *extra_nodes,
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [batch, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [batch, 3])],
        [w, half],
    )
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def long_model(nodes):
    """A chain that no pass shortens."""
    chain = [helper.make_node("Tanh" if i % 2 else "Sigmoid", [f"v{i}"], [f"v{i + 1}"]) for i in range(nodes)]
    graph = helper.make_graph(
        chain,
        "g",
        [helper.make_tensor_value_info("v0", TensorProto.FLOAT, ["n"])],
        [helper.make_tensor_value_info(f"v{nodes}", TensorProto.FLOAT, ["n"])],
    )
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def expect(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


def saved(folder, m=None, name="m.onnx"):
    """The path of a new file with a model, model() by default, or with bytes."""
    path = folder / name
    path.write_bytes(m if isinstance(m, bytes) else (m or model()).SerializeToString())
    return path


def refused(done, status, *parts):
    """The run ended with this status, and its message has a remedy and all the parts."""
    expect(done.returncode == status, "status", done.returncode, "not", status, done.stderr)
    expect(done.stderr.startswith("graphopt: error: "), done.stderr)
    expect("\n  help: " in done.stderr, "no remedy:", done.stderr)
    for part in parts:
        expect(part in done.stderr, f"'{part}' is not in:", done.stderr)
    expect(done.stdout == b"", "something went to stdout")


def dims(value):
    """The extents and symbols of a ValueInfoProto."""
    return [d.dim_value if d.HasField("dim_value") else d.dim_param for d in value.type.tensor_type.shape.dim]


def fields(data):
    """The bytes of a model with its fields in canonical order."""
    return ModelProto.FromString(data).SerializeToString(deterministic=True)


def kept(tool, path, out, *words, **how):
    """The bytes that -O0 writes; the run must succeed."""
    done = tool("-q", "-O0", path, "-o", out, *words, **how)
    expect(done.returncode == 0, path.name, done.returncode, done.stderr)
    return out.read_bytes()


def main(namespace):
    """Runs every function test_* of a script with (tool, an empty folder)."""
    return run_cases(namespace, Tool(sys.argv[1]))
