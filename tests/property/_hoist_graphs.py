"""Random graphs rich in what reshape hoisting looks for: elementwise operators, deformations, transpositions,
Concats, Splits and anchors, on several types, with symbolic dims, computed shapes, bodies of control flow.
Deterministic by seed.

A dim is a monomial: (coefficient, sorted symbols). So a graph is legal by construction at every binding of
its symbols at which ONNX Runtime takes its forms (-1 beside an extent of 0 is not); where the original does
not run, nothing is compared. Scenes (_hoist_scenes.py, _hoist_paths.py) put operators where moves apply, and
spoil one detail of some, so that refusals are met as often.
"""

import numpy as np
from onnx import helper, numpy_helper

from _hoist_dims import (
    BOOL,
    F16,
    F32,
    F64,
    I32,
    I64,
    ONE,
    SYMBOLS,
    Scope,
    Unwritable,
    Value,
    data,
    elements,
    extent,
    onnx_type,
    product,
    times,
)
from _hoist_scenes import Scenes

IR_OF = {11: 6, 13: 7, 17: 8, 18: 8, 21: 10}


class Graph(Scenes):
    """One model: .model, .feeds(rng, binding, profile), .symbols in use."""

    def __init__(self, rng):
        self.rng, self.count, self.inputs, self.defaults = rng, 0, [], []
        self.copies_by_surprise = False
        self.opset = rng.choice([11, 13, 17, 17, 18, 18, 21])
        self.main = self.scope = Scope()
        self.symbols = rng.sample(sorted(SYMBOLS), rng.choice([0, 0, 1, 1, 2, 3]))
        self.style = rng.choice(["v{}", "t.{}", "/m/op_{}_output_0", "{}"])
        self.base = self.some_shape()
        for _ in range(rng.randint(1, 2)):
            self.input(self.some_type(), self.base if rng.random() < 0.6 else self.some_shape())
        budget = rng.randint(5, 32)
        for _ in range(30):
            if len(self.main.nodes) >= budget:
                break
            self.scene()
        self.finish()

    # --- values ---------------------------------------------------------------------------------------------

    def some_type(self):
        return self.rng.choice([F32] * 9 + [F64, F64, F16, I32, I64, I64, BOOL])

    def some_shape(self):
        rng, out = self.rng, []
        for k in range(rng.choice([1, 2, 2, 3, 3, 3, 4])):
            if self.symbols and rng.random() < (0.45 if k == 0 else 0.2):
                out.append((1, (rng.choice(self.symbols),)))
            else:
                out.append((rng.choice([1, 2, 2, 3, 4, 4, 6] + ([0] if rng.random() < 0.02 else [])), ()))
        while elements(out) > 800:
            out.pop()
        return tuple(out)

    def name(self):
        self.count += 1
        return self.style.format(self.count) if not self.scope.depth else f"b{self.scope.depth}_{self.count}"

    def input(self, dtype, shape):
        v = Value(f"x{len(self.inputs)}", dtype, shape)
        self.inputs.append(v)
        self.main.values.append(v)
        return v

    def add(self, op, inputs, *results, **attrs):
        """A node; results: (dtype, shape) each, or None for one that is left out. Returns its values."""
        values = [Value(self.name(), *r, self.scope.depth) if r else None for r in results]
        names = [v.name if v else "" for v in inputs]
        while names and not names[-1]:
            names.pop()
        node = helper.make_node(
            op,
            names,
            [v.name if v else "" for v in values],
            name=f"{op}_{self.count}" if self.rng.random() < 0.5 else "",
        )
        node.attribute.extend(helper.make_attribute(k, a) for k, a in sorted(attrs.items()) if a is not None)
        self.scope.nodes.append(node)
        values = [v for v in values if v]
        self.scope.values += values
        return values[0] if len(values) == 1 else values

    def constant(self, array):
        """An initializer of this scope or, of the graph, or a Constant node."""
        array = np.asarray(array)
        v = Value(self.name(), array.dtype, [(n, ()) for n in array.shape], self.scope.depth)
        if self.rng.random() < 0.15:
            self.scope.nodes.append(
                helper.make_node("Constant", [], [v.name], value=numpy_helper.from_array(array))
            )
        else:
            (self.main if self.rng.random() < 0.7 else self.scope).initializers.append(
                numpy_helper.from_array(array, v.name)
            )
        return v

    def ints(self, *numbers):
        return self.constant(np.array(numbers, np.int64))

    def overridable(self, array):
        v = Value(f"d{len(self.defaults)}", array.dtype, [(n, ()) for n in array.shape])
        self.defaults.append(v)
        self.main.initializers.append(numpy_helper.from_array(array, v.name))
        return v

    def visible(self):
        out, scope = [], self.scope
        while scope:
            out = scope.values + out
            scope = scope.parent
        return out

    def pick(self, wanted=lambda v: True):
        """A visible value, a recent one by preference."""
        fitting = [v for v in self.visible() if wanted(v)]
        if not fitting:
            return None
        return fitting[-1 - min(len(fitting) - 1, int(self.rng.expovariate(0.4)))]

    # --- deformations ---------------------------------------------------------------------------------------

    def target(self, shape):
        """Another shape with as many elements at every binding: dims are merged, cut, or of extent 1."""
        rng, out = self.rng, list(shape)
        for _ in range(rng.randint(1, 3)):
            kind = rng.random()
            if kind < 0.35 and len(out) >= 2:
                k = rng.randrange(len(out) - 1)
                out[k : k + 2] = [times(out[k], out[k + 1])]
            elif kind < 0.75 and out:
                k = rng.randrange(len(out))
                c, symbols = out[k]
                if symbols and (c > 1 or len(symbols) > 1) and rng.random() < 0.6:
                    parts = [(c, symbols[1:]), (1, symbols[:1])]
                    rng.shuffle(parts)
                    out[k : k + 1] = parts
                else:
                    f = rng.choice([q for q in range(1, c + 1) if c % q == 0]) if c else 1
                    out[k : k + 1] = [(f, ()), (c // f, symbols)] if c else [(c, symbols)]
            elif kind < 0.9 and len(out) < 6:
                out.insert(rng.randint(0, len(out)), ONE)
            elif ONE in out:
                out.remove(ONE)
        return tuple(out) if len(out) <= 6 else tuple(shape)

    def deform(self, v, target=None):
        """v in another shape (a random one), by some operator and some way to write it."""
        rng = self.rng
        target = self.target(v.shape) if target is None else tuple(target)
        if [d for d in v.shape if d != ONE] == [d for d in target if d != ONE] and rng.random() < 0.6:
            out = self.units(v, target)
            if out:
                return out
        if len(target) == 2 and v.rank and rng.random() < 0.4:
            for axis in range(v.rank + 1):
                if (product(v.shape[:axis]), product(v.shape[axis:])) == target:
                    return self.add(
                        "Flatten",
                        [v],
                        (v.dtype, target),
                        axis=axis - v.rank if axis < v.rank and rng.random() < 0.3 else axis,
                    )
        if rng.random() < 0.1:  # twice in a row
            v = self.deform(v, [product(v.shape)])
        return self.reshape(v, target)

    def units(self, v, target):
        """Squeeze or Unsqueeze, where one of them is enough."""
        small, large = (v.shape, target) if v.rank < len(target) else (target, v.shape)
        axes, j = [], 0
        for k, d in enumerate(large):
            if j < len(small) and small[j] == d:
                j += 1
            elif d == ONE:
                axes.append(k)
            else:
                return None
        if not axes or j < len(small):
            return None
        op = "Unsqueeze" if v.rank < len(target) else "Squeeze"
        axes = [a - len(large) if self.rng.random() < 0.2 else a for a in axes]
        if self.opset < 13:
            return self.add(op, [v], (v.dtype, target), axes=axes)
        return self.add(op, [v, self.ints(*axes)], (v.dtype, target))

    def reshape(self, v, target):
        rng = self.rng
        zero = any(d[0] == 0 for d in target)
        symbolic = [k for k, d in enumerate(target) if d[1]]
        moved = [k for k in symbolic if not (k < v.rank and v.shape[k] == target[k])]
        literal = None
        if zero:
            copied = all(k < v.rank and v.shape[k] == d for k, d in enumerate(target) if d[0] == 0)
            if not symbolic and self.opset >= 14 and (rng.random() < 0.5 or not copied):
                return self.add(
                    "Reshape", [v, self.ints(*[d[0] for d in target])], (v.dtype, target), allowzero=1
                )
            if copied and not moved:
                literal = [0 if d[1] or d[0] == 0 else d[0] for d in target]
        elif not moved and rng.random() < 0.6:
            literal = [
                0 if d[1] or (k < v.rank and v.shape[k] == d and rng.random() < 0.3) else d[0]
                for k, d in enumerate(target)
            ]
            if rng.random() < 0.3 and target:  # any one dim may be left to the runtime
                literal[rng.randrange(len(target))] = -1
        elif len(symbolic) <= 1 or len(moved) == 1:
            literal = [
                -1 if d[1] and (len(symbolic) == 1 or k in moved) else 0 if d[1] else d[0]
                for k, d in enumerate(target)
            ]
            if not symbolic and target and rng.random() < 0.4:
                literal[rng.randrange(len(target))] = -1
        if literal is not None and (not symbolic or rng.random() < 0.75):
            zero_is_zero = self.opset >= 14 and 0 not in literal and rng.random() < 0.05
            return self.add(
                "Reshape", [v, self.ints(*literal)], (v.dtype, target), allowzero=1 if zero_is_zero else None
            )
        # A 0 in a target is a copy, so a computed dim of extent 0 becomes the source's dim at that place.
        # Inference takes targets at their word (docs/architecture.md), so such a graph is not run where a
        # symbol is 0.
        if not zero and any(k < v.rank and v.shape[k] != target[k] for k in symbolic):
            self.copies_by_surprise = True
        parts = [self.length(v, d) for d in target]
        if any(p is None for p in parts) or zero and self.opset < 14:
            raise Unwritable
        shape = (
            self.add("Concat", parts, (I64, [(len(target), ())]), axis=0)
            if target
            else self.constant(np.zeros(0, np.int64))
        )
        return self.add("Reshape", [v, shape], (v.dtype, target), allowzero=1 if zero else None)

    def length(self, v, dim):
        """A dim as a tensor [1], as exporters compute it: Shape, Gather, Mul, Unsqueeze."""
        rng, n = self.rng, None
        if not dim[1]:
            return self.ints(dim[0])
        sources = [(w, [dim]) for w in [v] if dim in w.shape]
        if not sources:
            for s in dim[1]:
                w = next((w for w in self.inputs if (1, (s,)) in w.shape), None)
                if w is None:
                    return None
                sources.append((w, [(1, (s,))]))
        for w, (d,) in sources:
            shape = self.add("Shape", [w], (I64, [(w.rank, ())]))
            one = self.add(
                "Gather", [shape, self.constant(np.array(w.shape.index(d), np.int64))], (I64, []), axis=0
            )
            if rng.random() < 0.2:
                one = self.add("Cast", [one], (I64, []), to=onnx_type(I64))
            n = one if n is None else self.add("Mul", [n, one], (I64, []))
        if sources[0][1] != [dim] and dim[0] != 1:
            n = self.add("Mul", [n, self.constant(np.array(dim[0], np.int64))], (I64, []))
        return (
            self.add("Unsqueeze", [n], (I64, [ONE]), axes=[0])
            if self.opset < 13
            else self.add("Unsqueeze", [n, self.ints(0)], (I64, [ONE]))
        )

    def transpose(self, v, perm=None):
        if perm is None:
            perm = list(range(v.rank))
            self.rng.shuffle(perm)
        if perm == list(range(v.rank))[::-1] and self.rng.random() < 0.3:
            return self.add("Transpose", [v], (v.dtype, [v.shape[k] for k in perm]))
        return self.add("Transpose", [v], (v.dtype, [v.shape[k] for k in perm]), perm=list(perm))

    # --- bodies ---------------------------------------------------------------------------------------------

    def round_trip(self, v):
        """Nodes of this scope that end in v's type and shape: chains, deformations, a Split joined again."""
        rng = self.rng
        for _ in range(rng.randint(1, 2)):
            axes = [k for k, d in enumerate(v.shape) if d[0] >= 2]
            parts = self.cut(v, rng.choice(axes)) if axes and rng.random() < 0.6 else None
            if parts:
                k = next(k for k in range(v.rank) if parts[0].shape[k] != v.shape[k])
                e = self.chain(v.dtype)
                outs = [e(self.deform(w) if rng.random() < 0.4 else w, j) for j, w in enumerate(parts)]
                outs = [
                    self.as_shape(o, w.shape) if product(o.shape) == product(w.shape) else w
                    for o, w in zip(outs, parts)
                ]
                v = self.concat(outs, k)
            else:
                w = self.chain(v.dtype)(self.deform(v), 0)
                v = (
                    self.as_shape(w, v.shape)
                    if product(w.shape) == product(v.shape)
                    else self.add("Identity", [v], (v.dtype, v.shape))
                )
        return self.add("Identity", [v], (v.dtype, v.shape)) if v.depth < self.scope.depth else v

    def body(self, name, scope, inputs, results):
        def info(v, dtype):
            return helper.make_tensor_value_info(v, onnx_type(np.dtype(dtype)), None)

        return helper.make_graph(
            scope.nodes,
            name,
            [
                info(n, t) if s is None else helper.make_tensor_value_info(n, onnx_type(np.dtype(t)), s)
                for n, t, s in inputs
            ],
            [info(r.name, r.dtype) for r in results],
            scope.initializers,
        )

    def bodies(self, v):
        """If whose branches work on captured values. Not of float16: ONNX Runtime (1.32) takes Cast (Cast
        (x)) away though a body reads it."""
        if v.dtype == F16:
            return
        flag = self.pick(lambda w: w.dtype == BOOL and w.rank == 0) or (
            self.input(BOOL, ()) if self.rng.random() < 0.7 else self.overridable(np.array(True))
        )
        graphs = {}
        for key in ("then_branch", "else_branch"):
            scope, result = self.inside(lambda: self.round_trip(v))
            graphs[key] = self.body(key, scope, [], [result])
        self.chain(v.dtype)(self.add("If", [flag], (v.dtype, v.shape), **graphs), 0)

    def loop(self, v):
        """Loop that carries one value; its body captures others as operands."""
        trips = self.constant(np.array(self.rng.choice([0, 1, 2, 3]), np.int64))

        def make():
            count, on, state = self.name(), self.name(), self.name()
            x = Value(state, v.dtype, v.shape, self.scope.depth)
            self.scope.values.append(x)
            go = self.add("Identity", [Value(on, BOOL, (), self.scope.depth)], (BOOL, ()))
            return (count, on, state), go, self.round_trip(x)

        scope, ((count, on, state), go, result) = self.inside(make)
        dims = [d[0] if not d[1] else d[1][0] if d[0] == 1 and len(d[1]) == 1 else None for d in v.shape]
        graph = self.body(
            "body", scope, [(count, I64, []), (on, BOOL, []), (state, v.dtype, dims)], [go, result]
        )
        self.add("Loop", [trips, None, v], (v.dtype, v.shape), body=graph)

    # --- the frame ------------------------------------------------------------------------------------------

    def inside(self, make):
        """Runs make() in a scope below this one: (scope, result)."""
        outer, self.scope = self.scope, Scope(self.scope)
        try:
            return self.scope, make()
        finally:
            self.scope = outer

    def info(self, v, sure=False):
        """value_info: dims as far as they are a number or one symbol; a graph output's other dims get a name
        of their own."""
        dims = [
            d[0]
            if not d[1]
            else d[1][0]
            if d[0] == 1 and len(d[1]) == 1
            else None
            if sure
            else f"{v.name}_{k}"
            for k, d in enumerate(v.shape)
        ]
        return helper.make_tensor_value_info(v.name, onnx_type(v.dtype), dims)

    def finish(self):
        rng, scope = self.rng, self.main
        made = {o for n in scope.nodes for o in n.output}
        used, stack = set(), list(scope.nodes)
        while stack:
            n = stack.pop()
            used |= set(n.input)
            for a in n.attribute:
                if a.HasField("g"):
                    stack += a.g.node
                    used |= {o.name for o in a.g.output}
        inner = [v for v in scope.values if v.name in made]
        outputs = [v for v in inner if v.name not in used] or inner[-1:]
        if len(outputs) > 6:
            outputs = rng.sample(outputs, 6)
        middle = [v for v in inner if v.name in used]
        if middle and rng.random() < 0.35:
            outputs += rng.sample(middle, min(len(middle), rng.randint(1, 2)))
        rng.shuffle(outputs)
        inputs = [
            self.info(v, True) for v in self.inputs
        ]  # an extent such as 2n is declared without a name: unknown
        inputs += [self.info(v) for v in self.defaults]
        graph = helper.make_graph(
            scope.nodes, "g", inputs, [self.info(v) for v in outputs], scope.initializers
        )
        if rng.random() < 0.4:
            graph.value_info.extend(
                self.info(v, True) for v in middle if v not in outputs and rng.random() < 0.7
            )
        self.outputs = outputs
        self.model = helper.make_model(
            graph, ir_version=IR_OF[self.opset], opset_imports=[helper.make_opsetid("", self.opset)]
        )

    def feeds(self, rng, binding, profile):
        if self.copies_by_surprise:
            binding = {s: max(1, n) for s, n in binding.items()}
        feed = {
            v.name: data(rng, v.dtype, [extent(d, binding) for d in v.shape], profile) for v in self.inputs
        }
        for v in self.defaults:
            if rng.random() < 0.5:
                feed[v.name] = data(rng, v.dtype, [d[0] for d in v.shape], profile)
        return feed
