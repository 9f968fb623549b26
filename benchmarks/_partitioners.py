"""Partitioners of other projects on a cuts.Graph whose nodes are listed in a given order. Each returns a
cuts.Cut; the imports are inside, so that one whose package is not there can be left out. Seconds are those of
the call that partitions, without building the graph in the form that it wants.
"""

import contextlib
import io
import time
import xml.etree.ElementTree as ET

from lib.cuts import Cut


def first(*values):
    return values[0]


def traced(graph, order):
    """The graph for torch.fx, and what tells that the accelerator supports a node."""
    import torch
    from torch.fx.passes.operator_support import OperatorSupportBase

    class Support(OperatorSupportBase):
        def is_node_supported(self, modules, node):
            return "number" in node.meta and not graph.host[node.meta["number"]]

    text, made = torch.fx.Graph(), {}
    x = text.placeholder("x")
    for i in order:
        made[i] = text.call_function(first, tuple(made[p] for p in graph.producers[i]) or (x,))
        made[i].meta["number"] = i
    text.output(tuple(made[i] for i in order if not graph.readers[i]))
    return torch.fx.GraphModule(torch.nn.Module(), text), Support()


def numbers(nodes):
    return [n.meta["number"] for n in nodes]


def torch_capability(graph, order, vertical=False):
    from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner

    module, support = traced(graph, order)
    begin = time.perf_counter()
    found = CapabilityBasedPartitioner(
        module, support, allows_single_node_partition=True, skip_horizontal_fusion=vertical
    ).propose_partitions()
    seconds = time.perf_counter() - begin
    return Cut([(False, numbers(p.nodes)) for p in found], seconds)


def torch_vertical(graph, order):
    return torch_capability(graph, order, vertical=True)


def torch_splitter(graph, order):
    import torch
    from torch.fx.passes import splitter_base as package

    module, support = traced(graph, order)
    begin = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        settings = package._SplitterSettingBase(min_acc_module_size=1, allow_non_tensor=True)
        splitter = package._SplitterBase(module, (torch.zeros(2),), support, settings)
        found = splitter.put_nodes_into_subgraphs()
    seconds = time.perf_counter() - begin
    return Cut([(not s.is_acc, numbers(s.nodes)) for s in found], seconds)


_core = []


def openvino_hetero(graph, order):
    """HETERO with the devices CPU and AUTO, the only two of the wheel, and an affinity for each node. Of its
    subgraphs the device alone can be read, from the exported model; so their nodes are left out here.

    Every source has an input of its own, since a shared one would join its readers.
    """
    import numpy as np
    import openvino
    from openvino import opset13 as ops

    if not _core:
        _core.append(openvino.Core())
    devices, made, inputs, results = ("CPU", "AUTO"), {}, [], []

    def placed(node, i):
        node.get_rt_info()["affinity"] = devices[graph.host[i]]
        return node

    for i in order:
        operands = [made[p] for p in graph.producers[i]]
        if not operands:
            inputs.append(placed(ops.parameter(openvino.PartialShape([-1, 2]), np.float32), i))
            operands = inputs[-1:]
        made[i] = placed(ops.concat(operands, 0) if len(operands) > 1 else ops.relu(operands[0]), i)
    results = [placed(ops.result(made[i]), i) for i in order if not graph.readers[i]]
    model = openvino.Model(results, inputs, "m")
    begin = time.perf_counter()
    compiled = _core[0].compile_model(model, "HETERO:CPU,AUTO")
    seconds = time.perf_counter() - begin
    text = compiled.export_model()
    text = bytes(text.getvalue() if hasattr(text, "getvalue") else text)
    text = text[: text.index(b"</hetero>") + len(b"</hetero>")]
    found = [part.get("device") for part in ET.fromstring(text).find("compiled_submodels")]
    return Cut([(device == "AUTO", []) for device in found], seconds)
