"""A model repository of Triton Inference Server, read and run without a server.

What its documents and sources say of configurations is written down again here: docs/user_guide of server,
model_config_utils.cc and ensemble_utils.cc of core, onnxruntime.cc of onnxruntime_backend.
"""

import importlib.util
import pathlib

import numpy as np
import onnxruntime as ort
from google.protobuf import text_format


def model_config():
    """tritonclient's model_config_pb2, without the package around it, which needs grpc."""
    package = importlib.util.find_spec("tritonclient")
    path = pathlib.Path(next(iter(package.submodule_search_locations)), "grpc/model_config_pb2.py")
    spec = importlib.util.spec_from_file_location("model_config_pb2", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PB = model_config()
NUMPY = {
    "TYPE_BOOL": "bool",
    "TYPE_FP16": "float16",
    "TYPE_FP32": "float32",
    "TYPE_FP64": "float64",
    "TYPE_STRING": "object",
} | {f"TYPE_{s}INT{n}": f"{s.lower()}int{n}" for s in ("", "U") for n in (8, 16, 32, 64)}


def type_name(port):
    return PB.DataType.Name(port.data_type)


def fits(dims, shape):
    return len(dims) == len(shape) and all(d in (-1, s) for d, s in zip(dims, shape, strict=True))


class Repository:
    """`problems` is what Triton would refuse; run() gives what the ensemble does.

    `open_dims`: outputs of which ONNX Runtime knows a dim that the configuration leaves open. Triton refuses
    these, too; the tool warns of dims that it does not know.
    """

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.configs = {}
        for path in sorted(self.folder.glob("*/config.pbtxt")):
            config = text_format.Parse(path.read_text(encoding="utf-8"), PB.ModelConfig())
            self.configs[path.parent.name] = config
        (self.ensemble,) = (c for c in self.configs.values() if c.platform == "ensemble")
        self.sessions = {}
        for name, config in self.configs.items():
            if config is not self.ensemble:
                model = self.folder / name / "1/model.onnx"
                options = ort.SessionOptions()
                options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
                options.log_severity_level = 4
                self.sessions[name] = ort.InferenceSession(model, options, ["CPUExecutionProvider"])
        self.open_dims = []
        self.problems = [*self.check_names(), *self.check_ports(), *self.check_steps(), *self.check_parts()]

    def check_names(self):
        for name, config in self.configs.items():
            if config.name != name:
                yield f"{name}: the configuration has the name {config.name}"
            if config.max_batch_size != 0:
                yield f"{name}: batches"
            if not (self.folder / name / "1").is_dir():
                yield f"{name}: no version"
            kinds = [PB.ModelInstanceGroup.Kind.Name(g.kind) for g in config.instance_group]
            if config is self.ensemble and kinds:
                yield "the ensemble has instances"
            if config is not self.ensemble and (config.backend, len(kinds)) != ("onnxruntime", 1):
                yield f"{name}: backend {config.backend}, instances {kinds}"

    def check_ports(self):
        for name, config in self.configs.items():
            for port in [*config.input, *config.output]:
                if not port.name or type_name(port) not in NUMPY:
                    yield f"{name}: port '{port.name}' of {type_name(port)}"
                if not port.dims or any(d < 1 and d != -1 for d in port.dims) or port.HasField("reshape"):
                    yield f"{name}: dims of '{port.name}': {list(port.dims)}"

    def check_steps(self):
        """ValidateEnsembleSchedulingConfig and ValidateEnsembleConfig."""
        tensors = {p.name: p for p in self.ensemble.input}
        if any(p.optional for p in self.ensemble.input):
            yield "the ensemble has optional inputs"
        read = set()
        for step in self.ensemble.ensemble_scheduling.step:
            config = self.configs[step.model_name]
            if not step.input_map or not step.output_map:
                yield f"{step.model_name}: an empty map"
            inputs = {p.name: p for p in config.input}
            outputs = {p.name: p for p in config.output}
            mapped = {p.name for p in config.input if not p.optional}
            if set(step.input_map) != mapped or not set(step.output_map) <= set(outputs):
                yield f"{step.model_name}: the maps are not for its ports"
            for key, value in step.input_map.items():
                if value not in tensors:
                    yield f"{step.model_name}: '{value}' is not there yet"
                    continue
                if type_name(tensors[value]) != type_name(inputs[key]) or not self.agree(
                    tensors[value].dims, inputs[key].dims
                ):
                    yield f"{step.model_name}: '{value}' has another type"
                read.add(value)
            for key, value in step.output_map.items():
                if value in tensors:
                    yield f"{step.model_name}: '{value}' is made twice"
                tensors[value] = outputs[key]
        outputs = {p.name: p for p in self.ensemble.output}
        for name, port in outputs.items():
            if name not in tensors or name in {p.name for p in self.ensemble.input}:
                yield f"no step makes the output '{name}'"
            elif type_name(tensors[name]) != type_name(port) or not self.agree(tensors[name].dims, port.dims):
                yield f"the output '{name}' has another type"
        yield from (f"'{name}' is not read" for name in tensors.keys() - read - outputs.keys())

    @staticmethod
    def agree(a, b):
        return len(a) == len(b) and all(-1 in (x, y) or x == y for x, y in zip(a, b, strict=True))

    def check_parts(self):
        """ValidateInputs and ValidateOutputs of the backend."""
        for name, session in self.sessions.items():
            config = self.configs[name]
            needed = {v.name: v for v in session.get_inputs()}
            defaults = {v.name: v for v in session.get_overridable_initializers()}
            if {p.name for p in config.input if not p.optional} != set(needed):
                yield f"{name}: other inputs than the model's"
            made = {v.name: v for v in session.get_outputs()}
            for port, v in [(p, (needed | defaults).get(p.name)) for p in config.input] + [
                (p, made.get(p.name)) for p in config.output
            ]:
                if v is None:
                    yield f"{name}: the model has no '{port.name}'"
                    continue
                shape = [d if isinstance(d, int) else -1 for d in v.shape]
                if port in config.output and shape != list(port.dims) and fits(port.dims, shape):
                    self.open_dims.append(f"{name}: '{port.name}' {list(port.dims)}, {shape}")
                elif shape != list(port.dims) and (shape or list(port.dims) != [1]):
                    yield f"{name}: '{port.name}' has dims {list(port.dims)}, in the model {shape}"

    def run(self, feeds):
        """{output: value} of a request, by the maps of the ensemble."""
        store = {}
        for port in self.ensemble.input:
            value = self.wire(port, feeds[port.name])
            store[port.name] = value
        for step in self.ensemble.ensemble_scheduling.step:
            session, config = self.sessions[step.model_name], self.configs[step.model_name]
            ranks = {v.name: len(v.shape) for v in session.get_inputs()}
            given = {}
            for key, value in step.input_map.items():
                tensor = store[value]
                given[key] = tensor.reshape(()) if ranks[key] == 0 else tensor
            names = list(step.output_map)
            ports = {p.name: p for p in config.output}
            for name, result in zip(names, session.run(names, given), strict=True):
                store[step.output_map[name]] = self.wire(ports[name], np.asarray(result))
        return {p.name: store[p.name] for p in self.ensemble.output}

    @staticmethod
    def wire(port, value):
        """The value as Triton has it: a scalar has one dim."""
        value = value.reshape(1) if value.shape == () else value
        if not fits(port.dims, value.shape) or value.dtype != np.dtype(NUMPY[type_name(port)]):
            raise AssertionError(f"'{port.name}' is {value.dtype}{value.shape}: {port}")
        return value
