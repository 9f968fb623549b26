"""Compositions: random chains of backend cases as models, with values for inputs at several bindings."""

import numpy as np
from onnx import helper

import _compose_values as values
from _compose_adapt import Adapt
from _compose_graph import Graph, free_names
from _compose_steps import Steps
from _compose_wrap import Wrap
from lib.counting import bodies


class Composition(Graph, Adapt, Steps, Wrap):
    """model, and feeds: one for each binding at which the parts of it ran. model is None when nothing was
    found that runs."""

    def __init__(self, rng):
        super().__init__(rng)
        self.model = self.finish() if self.grow() else None
        self.feeds = [f for f, alive in zip(self.feeds, self.alive) if alive]

    def finish(self):
        rng = self.rng
        outputs = self.outputs()
        if not outputs:
            return None
        read = set(free_names(self.nodes)) | {v.name for v in outputs}
        nodes, inits = list(self.nodes), []
        for name, tensor in self.constants.items():
            if name in self.overridable or (name in read and rng.random() > 0.15) or rng.random() < 0.02:
                inits.append(tensor)
            elif name in read:
                nodes.insert(0, helper.make_node("Constant", [], [name], value=tensor))
        if rng.random() < 0.3:
            nodes = self.other_order(nodes)
        inputs = list(self.inputs)
        if self.ir < 4:
            known = {v.name for v in inputs}
            more = [t for t in inits if t.name not in known]
            inputs += [helper.make_tensor_value_info(t.name, t.data_type, list(t.dims)) for t in more]
        graph = helper.make_graph(nodes, "composition", inputs, [self.info(v) for v in outputs], inits)
        if rng.random() < 0.15:
            own = {o for n in nodes for o in n.output} - {v.name for v in outputs}
            some = [v for v in self.values if v.name in own and v.is_tensor and rng.random() < 0.5]
            graph.value_info.extend(self.info(v) for v in some)
        used = {n.domain for n in self.every_node()} | {""}
        opsets = [helper.make_opsetid(d, v) for d, v in self.domains.items() if d in used]
        opsets += [helper.make_opsetid("local", 1)] if self.functions else []
        return helper.make_model(graph, opset_imports=opsets, ir_version=self.ir, functions=self.functions)

    def every_node(self):
        pending = [*self.nodes, *(n for f in self.functions for n in f.node)]
        while pending:
            node = pending.pop()
            yield node
            pending += [n for g in bodies(node) for n in g.node]

    def outputs(self):
        """Most results that nothing reads, and some of the others."""
        read = set(free_names(self.nodes)) | {i for n in self.nodes for i in n.input}
        own = {o for n in self.nodes for o in n.output if o}
        found = [
            v
            for v in self.values
            if v.name in own
            and v.first is not None
            and (
                v.is_tensor or (isinstance(v.first, list) and v.first and isinstance(v.first[0], np.ndarray))
            )
            and self.rng.random() < (0.15 if v.name in read else 0.8)
        ]
        return found[-8:]

    def info(self, v):
        """A true declaration: open, or with the numbers and symbols that hold at all bindings."""
        rng = self.rng
        if not v.is_tensor:
            return helper.make_value_info(v.name, values.open_type(v.first))
        elem = helper.np_dtype_to_tensor_dtype(v.first.dtype)
        shapes = [x.shape for x, alive in zip(v.at, self.alive) if alive]
        if rng.random() < 0.05:
            return helper.make_tensor_value_info(v.name, elem, None)
        if len({len(s) for s in shapes}) > 1:
            return helper.make_tensor_value_info(v.name, elem, None)
        dims = [None] * v.first.ndim
        if rng.random() < 0.5:
            for axis in range(v.first.ndim):
                extents = tuple(s[axis] for s in shapes)
                equal = [
                    s for s, e in self.symbols.extents.items()
                    if tuple(n for n, alive in zip(e, self.alive) if alive) == extents
                ]  # fmt: skip
                if len(set(extents)) > 1 and equal:
                    dims[axis] = rng.choice(equal)
        return helper.make_value_info(v.name, values.shape_type(elem, dims))

    def other_order(self, nodes):
        """The nodes in another order in which each still comes after those that it reads."""
        left, done, found = list(nodes), set(), []
        made = {o for n in nodes for o in n.output}
        while left:
            ready = [n for n in left if all(i in done or i not in made for i in free_names([n]))]
            node = self.rng.choice(ready)
            left.remove(node)
            found.append(node)
            done |= set(node.output)
        return found
