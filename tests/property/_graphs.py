"""Random ONNX graphs from a seed, valid by construction.

Every value carries its dtype, its shape at each of SIZES (one binding of the symbols a, b, c per entry, zero
and one extents among them) and, where it does not depend on data, its integers at each of them. So a
generator of an operator knows whether the node is valid at all sizes before it makes it. `free` marks what
depends on no input's data: the optimizer may evaluate it.
"""

import numpy as np
from onnx import AttributeProto, helper, numpy_helper

from _control import Control
from _nodes import Nodes
from _values import BOOL, F32, F64, I32, I64, Scope, Value, data, onnx_type

SIZES = [
    dict(a=3, b=4, c=2),
    dict(a=1, b=1, c=1),
    dict(a=0, b=2, c=5),
    dict(a=2, b=0, c=1),
    dict(a=7, b=1, c=0),
]
K = len(SIZES)


class Graph(Nodes, Control):
    """One random model: .model, and .feeds(rng) for the inputs at each size."""

    def __init__(self, rng):
        self.rng = rng
        self.opset = rng.choice([7, 8, 9, 10, 11, 12, 13, 13, 14, 15, 16, 17, 17, 18, 18, 19, 20, 21, 21])
        self.ir = rng.randint(3, 10)
        self.rounding = (
            rng.random() < 0.2
        )  # functions that may be folded in other bits, and then nothing that jumps
        self.functions, self.inputs, self.defaults = {}, [], []
        self.in_function = False
        if rng.random() < 0.25:
            self.ir = max(self.ir, 8)
        self.scope = self.main = Scope()
        self.make_inputs()
        for _ in range(rng.randint(5, 40)):
            self.random_node()
        self.finish()

    # --- values ---------------------------------------------------------------------------------------------

    def new_name(self):
        s = self.scope
        s.count += 1
        base = self.rng.choice(["v", "v", "t.", "x_shape", "a/b:"])
        if self.in_function:  # the runtime inlines functions and is confused by names of its callers
            base = f"F{len(self.functions)}_{base}"
        return (
            f"{base}{s.count}" if s.depth == 0 else f"s{s.depth}_{base}{s.count}"
        )  # siblings use the same names

    def add(self, op, inputs, results, domain="", **attrs):
        """A node; results: (dtype, shapes[, ints]) or None for a result that is not wanted. Returns the first
        value."""
        free = all(v is None or v.free for v in inputs)
        values, names = [], []
        for r in results:
            if r is None:
                names.append("")
                continue
            dtype, shapes, ints = (*r, None)[:3]
            v = Value(
                self.new_name(),
                np.dtype(dtype),
                shapes,
                ints,
                free or ints is not None or op in ("Shape", "Size"),
            )
            values.append(v)
            names.append(v.name)
        while names and names[-1] == "":
            names.pop()
        label = self.rng.choice(["", "", f"n{len(self.scope.nodes)}", f"{op}.{len(self.scope.nodes)}"])
        node = helper.make_node(op, [v.name if v else "" for v in inputs], names, name=label, domain=domain)
        for key, value in attrs.items():
            if value is not None:
                node.attribute.append(
                    helper.make_attribute(
                        key,
                        value,
                        attr_type=AttributeProto.INTS if isinstance(value, list) and not value else None,
                    )
                )
        self.scope.nodes.append(node)
        self.scope.values += values
        return values[0]

    def constant(self, array, overridable=False):
        """A value as an initializer, a Constant node, or a default that a caller may override."""
        array = np.asarray(array)
        ints = [array] * K if array.dtype.kind in "ib" and array.size <= 64 else None
        how = self.rng.random()
        if self.scope is self.main and self.ir >= 4 and overridable:
            v = Value(self.new_name(), array.dtype, [array.shape] * K)
            self.defaults.append(v)
            self.main.initializers.append(numpy_helper.from_array(array, v.name))
            self.main.values.append(v)
            return v
        if how < 0.5 and not self.in_function and not (self.scope.depth and self.ir < 4):
            v = Value(self.new_name(), array.dtype, [array.shape] * K, ints, True)
            self.scope.initializers.append(numpy_helper.from_array(array, v.name))
            self.scope.values.append(v)
            return v
        attrs = {"value": numpy_helper.from_array(array)}
        if self.opset >= 12 and how > 0.75:
            if array.dtype == I64 and array.ndim == 0:
                attrs = {"value_int": int(array)}
            elif array.dtype == I64 and array.ndim == 1 and array.size:
                attrs = {"value_ints": [int(i) for i in array]}
            elif array.dtype == F32 and array.ndim == 0:
                attrs = {"value_float": float(array)}
        return self.add("Constant", [], [(array.dtype, [array.shape] * K, ints)], **attrs)

    def ints(self, *numbers):
        return self.constant(np.array(numbers, np.int64))

    def pick(self, wanted=lambda v: True):
        """A visible value; recent ones are more likely."""
        fitting = [v for v in self.scope.visible() if wanted(v)]
        if not fitting:
            return None
        return fitting[-1 - min(len(fitting) - 1, int(self.rng.expovariate(0.25)))]

    # --- the frame ------------------------------------------------------------------------------------------

    def make_inputs(self):
        rng = self.rng
        for i in range(rng.randint(1, 4)):
            dtype = F32 if i == 0 else rng.choice([F32, F32, F32, I64, BOOL, F64, I32])
            dims = [
                rng.choice(["a", "a", "b", "c", 1, 2, 3, 4, 0] if rng.random() < 0.9 else ["a", 4])
                for _ in range(rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]))
            ]
            shapes = [[s.get(d, d) for d in dims] for s in SIZES]
            self.inputs.append((f"in{i}", dtype, dims))
            self.main.values.append(Value(f"in{i}", dtype, shapes))

    def finish(self):
        rng, scope = self.rng, self.main
        produced = {n for node in scope.nodes for n in node.output}
        used = {n for node in scope.nodes for n in node.input}
        candidates = [v for v in scope.values if v.name in produced]
        leaves = [v for v in candidates if v.name not in used]
        outputs = rng.sample(candidates, min(len(candidates), rng.randint(1, 4)))
        outputs += [v for v in leaves if rng.random() < 0.7]
        if rng.random() < 0.15:  # inputs, initializers and Constants as outputs
            outputs.append(rng.choice(scope.values))
        outputs = list({v.name: v for v in outputs}.values())
        inputs = [helper.make_tensor_value_info(n, onnx_type(t), d) for n, t, d in self.inputs]
        inputs += [
            helper.make_tensor_value_info(v.name, onnx_type(v.dtype), v.shapes[0]) for v in self.defaults
        ]
        if self.ir < 4:
            inputs += [helper.make_tensor_value_info(t.name, t.data_type, t.dims) for t in scope.initializers]

        def info(v):
            dims = (
                None
                if rng.random() < 0.5
                else [
                    v.shapes[0][i] if v.fixed(i) and rng.random() < 0.5 else f"{v.name}_d{i}"
                    for i in range(v.rank)
                ]
            )
            return helper.make_tensor_value_info(v.name, onnx_type(v.dtype), dims)

        graph = helper.make_graph(scope.nodes, "g", inputs, [info(v) for v in outputs], scope.initializers)
        names = {o.name for o in outputs} | {i.name for i in inputs}
        for v in candidates:
            if rng.random() < 0.2 and v.name not in names:
                graph.value_info.append(info(v))
        opsets = [helper.make_opsetid("", self.opset)] + (
            [helper.make_opsetid("local", 1)] if self.functions else []
        )
        self.model = helper.make_model(
            graph,
            ir_version=self.ir,
            opset_imports=opsets,
            functions=[f.proto for f in self.functions.values()],
        )

    def feeds(self, rng):
        """Inputs for each size; overridable defaults are given in some."""
        out = []
        for k, size in enumerate(SIZES):
            feed = {n: data(rng, t, [size.get(d, d) for d in dims]) for n, t, dims in self.inputs}
            for v in self.defaults:
                if rng.random() < 0.5:
                    feed[v.name] = data(rng, v.dtype, v.shapes[k], "small")
            out.append(feed)
        return out


def make(seed):
    import random

    rng = random.Random(seed)
    graph = Graph(rng)
    return graph.model, graph.feeds(rng)
