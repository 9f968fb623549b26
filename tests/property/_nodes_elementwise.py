"""Elementwise operators and constants of random graphs (_nodes.py), and nodes that copy or repeat others."""

import numpy as np

from _values import BOOL, F16, F32, F64, I32, I64, broadcast, data, each, onnx_type, small


class Elementwise:
    def may_round(self, *values):
        return self.rounding or not all(v.free for v in values)

    def unary(self):
        x = self.pick(lambda v: v.dtype.kind == "f")
        if not x:
            return None
        ops = [
            "Neg",
            "Abs",
            "Relu" if x.dtype == F32 else "Neg",
            "Sqrt",
            "LeakyRelu" if x.dtype == F32 else "Abs",
        ]
        if not self.rounding:
            ops += ["Floor", "Ceil"] if x.dtype == F32 else []
        if self.may_round(x):
            ops += ["Exp", "Sigmoid", "Tanh", "Reciprocal"] + (
                ["Elu", "Softplus", "HardSigmoid"] if x.dtype == F32 else []
            )
        return self.add(self.rng.choice(ops), [x], [(x.dtype, x.shapes)])

    def partner(self, x, fits=lambda v: True):
        """A value of x's type that broadcasts with it, or a constant."""
        if self.rng.random() < 0.7:
            y = self.pick(
                lambda v: v.dtype == x.dtype and fits(v) and broadcast(x, v) and small(broadcast(x, v))
            )
            if y:
                return y
        shape = () if self.rng.random() < 0.5 or not x.rank or not x.fixed(-1) else (x.shapes[0][-1],)
        return self.constant(data(self.rng, x.dtype, shape), overridable=self.rng.random() < 0.2)

    def binary(self):
        x = self.pick(lambda v: v.dtype in (F32, F64, I64, I32))
        if not x:
            return None
        y = self.partner(x)
        shapes = broadcast(x, y)
        if shapes is None or not small(shapes):
            return None
        ops = ["Add", "Sub", "Mul"] + (["Div"] if x.dtype.kind == "f" else [])
        if x.dtype == F32 and self.opset >= 8 or self.opset >= 12:
            ops += ["Max", "Min"]
        op = self.rng.choice(ops)
        f = dict(Add=np.add, Sub=np.subtract, Mul=np.multiply, Max=np.maximum, Min=np.minimum).get(op)
        ints = each(f, x.ints, y.ints) if f and x.dtype.kind == "i" else None
        if op in ("Add", "Mul") and self.rng.random() < 0.3:
            x, y = y, x
        return self.add(op, [x, y], [(x.dtype, shapes, ints)])

    def compare(self):
        kinds = "i" if self.rounding else "fi"
        old = (F32, F64) if self.opset < 9 else None
        op = self.rng.choice(["Equal", "Less", "Greater"])
        x = self.pick(
            lambda v: (
                v.dtype.kind in kinds
                and (
                    v.dtype in (I64, I32)
                    if op == "Equal" and self.opset < 11
                    else old is None or v.dtype in old
                )
            )
        )
        if not x:
            return None
        y = self.partner(x)
        shapes = broadcast(x, y)
        if shapes is None or not small(shapes):
            return None
        f = dict(Equal=np.equal, Less=np.less, Greater=np.greater)[op]
        return self.add(op, [x, y], [(BOOL, shapes, each(f, x.ints, y.ints))])

    def logic(self):
        x = self.pick(lambda v: v.dtype == BOOL)
        if not x:
            return None
        if self.rng.random() < 0.4:
            return self.add("Not", [x], [(BOOL, x.shapes, each(np.logical_not, x.ints))])
        y = self.partner(x)
        shapes = broadcast(x, y)
        op = self.rng.choice(["And", "Or", "Xor"])
        f = dict(And=np.logical_and, Or=np.logical_or, Xor=np.logical_xor)[op]
        return shapes and self.add(op, [x, y], [(BOOL, shapes, each(f, x.ints, y.ints))])

    def where(self):
        c = self.pick(lambda v: v.dtype == BOOL)
        x = c and self.opset >= 9 and self.pick(lambda v: v.dtype in (F32, I64) and broadcast(c, v))
        if not x:
            return None
        y = self.partner(x)
        shapes = broadcast(c, x, y)
        if shapes is None or not small(shapes):
            return None
        ints = each(np.where, c.ints, x.ints, y.ints) if x.dtype == I64 else None
        return self.add("Where", [c, x, y], [(x.dtype, shapes, ints)])

    def cast(self):
        x = self.pick()
        targets = [F32, F64, I64, I32, BOOL, F16]
        if x.dtype.kind == "f" and self.rounding:
            targets = [F32, F64]
        to = self.rng.choice(targets)
        ints = each(lambda i: i.astype(to), x.ints) if to.kind in "ib" else None
        return self.add("Cast", [x], [(to, x.shapes, ints)], to=onnx_type(to))

    def clip(self):
        x = self.pick(lambda v: v.dtype == F32)
        if not x:
            return None
        if self.opset < 11:
            return self.add("Clip", [x], [(F32, x.shapes)], min=-1.0, max=self.rng.choice([1.0, None]))
        low = self.constant(np.float32(-1.5)) if self.rng.random() < 0.4 else None
        high = (
            self.constant(np.float32(2), overridable=self.rng.random() < 0.3)
            if self.rng.random() < 0.6
            else None
        )
        inputs = [x, low, high]  # empty slots, also at the end
        return self.add(
            "Clip",
            inputs[: self.rng.choice([1 if not (low or high) else 3 if high else 2, 3])],
            [(F32, x.shapes)],
        )

    def several(self):
        x = self.pick(lambda v: v.dtype == F32)
        if not x or self.opset < 8:
            return None
        values = [x] + [self.partner(x) for _ in range(self.rng.randint(0, 2))]
        shapes = broadcast(*values)
        if shapes is None or not small(shapes) or not self.may_round(*values):
            return None
        return self.add(self.rng.choice(["Sum", "Mean", "Max"]), values, [(F32, shapes)])

    def nothing(self):
        """Nodes that copy."""
        x = self.pick()
        kind = self.rng.choice(["Identity", "Dropout", "Dropout", "Identity", "Cast", "Transpose", "Concat"])
        if kind == "Dropout" and x.dtype == F32:
            mask = (BOOL, x.shapes) if self.rng.random() < 0.3 and self.opset >= 10 else None
            if self.opset < 12:
                return self.add("Dropout", [x], [(F32, x.shapes), mask], ratio=0.3)
            inputs = [x]
            if self.rng.random() < 0.6:
                inputs += [self.constant(np.float32(0.5)) if self.rng.random() < 0.5 else None]
                if self.rng.random() < 0.5:
                    inputs += [self.constant(np.array(False))]
            return self.add("Dropout", inputs, [(F32, x.shapes), mask])
        if kind == "Cast":
            return self.add("Cast", [x], [(x.dtype, x.shapes, x.ints)], to=onnx_type(x.dtype))
        if kind == "Transpose":
            return self.add("Transpose", [x], [(x.dtype, x.shapes, x.ints)], perm=list(range(x.rank)))
        if kind == "Concat" and x.rank:
            return self.add(
                "Concat", [x], [(x.dtype, x.shapes, x.ints)], axis=self.rng.randrange(-x.rank, x.rank)
            )
        return self.add("Identity", [x], [(x.dtype, x.shapes, x.ints)])

    def again(self):
        """The same node once more, sometimes with the first two operands swapped."""
        own = {v.name: v for v in self.scope.values}
        nodes = [
            n
            for n in self.scope.nodes
            if n.output
            and all(o in own for o in n.output if o)
            and not any(a.type in (5, 10) for a in n.attribute)
        ]
        if not nodes:
            return None
        node = self.rng.choice(nodes)
        visible = {v.name: v for v in self.scope.visible()}
        inputs = [visible[i] if i else None for i in node.input]
        if node.op_type in ("Add", "Mul", "Equal", "And") and self.rng.random() < 0.5:
            inputs.reverse()
        results = [(own[o].dtype, own[o].shapes, own[o].ints) if o else None for o in node.output]
        v = self.add(node.op_type, inputs, results, domain=node.domain)
        self.scope.nodes[-1].attribute.extend(node.attribute)
        return v

    def new_constant(self):
        shape = self.rng.choice([(), (1,), (2,), (3,), (2, 3), (0,), (4, 1)])
        dtype = self.rng.choice([F32, F32, I64, BOOL])
        first = data(self.rng, dtype, shape)
        if self.rng.random() < 0.3:  # the same content twice
            self.constant(first)
        return self.constant(first, overridable=self.rng.random() < 0.3)
