"""Control flow and model-local functions of random graphs. Bodies are made by the same random_node()."""

import numpy as np
from onnx import AttributeProto, helper

from _values import BOOL, F32, I64, Scope, Value, data, onnx_type


class Control:
    """A result of If, Loop, Scan or a function counts as one that is computed from constants alone
    (Value.free) when a branch, an iteration or the call can have computed it so: an optimizer may compute it
    ahead."""

    def inside(self, make):
        """Runs make() with a new scope below this one; returns the scope and what make() returned."""
        outer, self.scope = self.scope, Scope(self.scope)
        try:
            return self.scope, make()
        finally:
            self.scope = outer

    def like(self, x):
        """A node of this scope with x's type and shape."""
        if x.dtype.kind in "fi" and self.rng.random() < 0.7:
            op = self.rng.choice(["Neg", "Abs"]) if x.dtype == F32 or self.opset >= 13 else "Abs"
            if self.rng.random() < 0.5:
                return self.add("Add", [x, self.constant(data(self.rng, x.dtype, ()))], [(x.dtype, x.shapes)])
            return self.add(op, [x], [(x.dtype, x.shapes)])
        return self.add("Identity", [x], [(x.dtype, x.shapes)])

    def some_nodes(self):
        for _ in range(self.rng.randint(0, 4)):
            self.random_node()

    def graph_of(self, name, scope, inputs, outputs):
        infos = [
            helper.make_tensor_value_info(v.name, onnx_type(v.dtype), None if v.rank else []) for v in inputs
        ]
        results = [helper.make_tensor_value_info(v.name, onnx_type(v.dtype), None) for v in outputs]
        return helper.make_graph(scope.nodes, name, infos, results, scope.initializers)

    def branch(self):
        """If; the condition depends on data, on dims, or on nothing."""
        kind = self.rng.random()
        c = self.pick(lambda v: v.dtype == BOOL and v.rank == 0)
        if kind < 0.25 or c is None:
            c = self.constant(np.array(self.rng.random() < 0.5), overridable=self.rng.random() < 0.4)
        elif kind < 0.5:
            n = self.pick(lambda v: v.ints is not None and v.dtype == I64 and v.rank == 0)
            if n:
                m = self.constant(np.array(self.rng.choice([1, int(n.ints[0])]), np.int64))
                c = self.add("Equal", [n, m], [(BOOL, n.shapes, [i == m.ints[0] for i in n.ints])])
        x = self.pick(lambda v: v.elements() < 300)
        y = self.pick(lambda v: v.elements() < 300) if self.rng.random() < 0.3 else None
        targets = [x] + ([y] if y else [])

        def body():
            self.some_nodes()
            return [self.like(t) for t in targets]

        attrs, both = {}, []
        for branch in ("then_branch", "else_branch"):
            scope, results = self.inside(body)
            both.append(results)
            attrs[branch] = self.graph_of(branch, scope, [], results)
        first = self.add("If", [c], [(t.dtype, t.shapes) for t in targets], **attrs)
        for v, results in zip(self.scope.values[-len(targets) :], zip(*both)):
            v.free = any(r.free for r in results)  # whatever the condition: branches may be equal
        return first

    def loop(self):
        x = self.pick(lambda v: v.elements() < 100 and v.dtype in (F32, I64))
        if not x:
            return None
        trips = self.pick(
            lambda v: (
                v.ints is not None
                and v.dtype == I64
                and v.rank == 0
                and all(0 <= int(i) <= 4 for i in v.ints)
            )
        )
        if trips is None or self.rng.random() < 0.4:
            trips = self.constant(np.array(self.rng.randint(0, 3), np.int64))
        go = self.constant(np.array(True)) if self.rng.random() < 0.5 else None

        def body():
            sizes = len(x.shapes)
            inputs = [
                Value(self.new_name(), I64, [()] * sizes, free=True),
                Value(self.new_name(), BOOL, [()] * sizes, free=True),
                Value(self.new_name(), x.dtype, x.shapes, free=x.free),
            ]
            self.scope.values += inputs
            self.some_nodes()
            # runtimes differ in the shape of what zero iterations pile up
            piled = (
                [v for v in self.scope.values[3:] if v.elements() <= 50 and v.rank < 4]
                if min(int(i) for i in trips.ints) > 0
                else []
            )
            cond = (
                self.add("Identity", [inputs[1]], [(BOOL, inputs[1].shapes)])
                if self.rng.random() < 0.6
                else None
            )
            if cond is None:
                cond = self.add("Identity", [self.constant(np.array(True))], [(BOOL, inputs[1].shapes)])
            results = [cond, self.like(inputs[2])]
            if piled:
                v = self.rng.choice(piled)
                results.append(self.add("Identity", [v], [(v.dtype, v.shapes)]))
            return inputs, results

        scope, (inputs, results) = self.inside(body)
        shapes = [(r.dtype, [(int(n), *s) for n, s in zip(trips.ints, r.shapes)]) for r in results[2:]]
        first = self.add(
            "Loop",
            [trips, go, x],
            [(x.dtype, x.shapes), *shapes],
            body=self.graph_of("body", scope, inputs, results),
        )
        for v, r in zip(self.scope.values[-1 - len(shapes) :], results[1:]):
            v.free = r.free or (v is first and x.free)
        return first

    def scan(self):
        x = self.opset >= 9 and self.pick(lambda v: v.elements() < 100 and v.dtype == F32)
        y = x and self.pick(lambda v: v.rank > 0 and v.elements() < 100 and min(s[0] for s in v.shapes) >= 1)
        if not y:
            return None

        def body():
            inputs = [
                Value(self.new_name(), F32, x.shapes, free=x.free),
                Value(self.new_name(), y.dtype, [s[1:] for s in y.shapes], free=y.free),
            ]
            self.scope.values += inputs
            self.some_nodes()
            return inputs, [self.like(inputs[0]), self.like(inputs[1])]

        scope, (inputs, results) = self.inside(body)
        first = self.add(
            "Scan",
            [x, y],
            [(F32, x.shapes), (y.dtype, y.shapes)],
            num_scan_inputs=1,
            body=self.graph_of("body", scope, inputs, results),
        )
        for v, r in zip(self.scope.values[-2:], results):
            v.free = r.free or (v is first and x.free)
        return first

    def call(self):
        """A call of a model-local function: of one that is there, or of a new one made of random nodes."""
        x = self.pick(lambda v: v.dtype == F32)
        if not x or self.opset < 9:  # Constant had floats alone
            return None
        fitting = (
            [f for f in self.functions.values() if (f.x.shapes, f.x.free) == (x.shapes, x.free)]
            if not self.in_function
            else []
        )
        f = self.rng.choice(fitting) if fitting and self.rng.random() < 0.7 else None
        if f is None:
            if self.in_function or len(self.functions) >= 4:
                return None
            f = self.new_function(x)
        slope = self.rng.choice([None, 0.5, 2.0]) if f.has_default else self.rng.choice([0.25, -1.0])
        first = self.add(
            f.name,
            [x],
            [(r.dtype, r.shapes) for r in f.results],
            domain="local",
            **({"slope": slope} if f.attribute else {}),
        )
        for v, r in zip(self.scope.values[-len(f.results) :], f.results):
            v.free |= r.free
        return first

    def new_function(self, x):
        outer, self.scope, self.in_function = self.scope, Scope(), True
        p = Value(f"F{len(self.functions)}_p", F32, x.shapes, free=x.free)
        self.scope.values.append(p)
        f = Function(f"F{len(self.functions)}", x)
        f.attribute = self.rng.random() < 0.6
        if f.attribute:
            self.add("LeakyRelu", [p], [(F32, p.shapes)])
            self.scope.nodes[-1].attribute.add(name="alpha", ref_attr_name="slope", type=AttributeProto.FLOAT)
        for _ in range(self.rng.randint(1, 6)):
            self.random_node()
        f.results = [
            self.like(self.pick(lambda v: v is not p or True)) for _ in range(self.rng.randint(1, 2))
        ]
        scope, self.scope, self.in_function = self.scope, outer, False
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("local", 1)]
        proto = helper.make_function(
            "local", f.name, [p.name], [r.name for r in f.results], scope.nodes, opsets
        )
        if f.attribute and self.rng.random() < 0.4:
            f.has_default = True
            proto.attribute_proto.append(helper.make_attribute("slope", 0.125))
        elif f.attribute:
            proto.attribute.append("slope")
        f.proto = proto
        self.functions[f.name] = f
        return f


class Function:
    def __init__(self, name, x):
        self.name, self.x, self.results, self.attribute, self.has_default, self.proto = (
            name,
            x,
            [],
            False,
            False,
            None,
        )
