"""A scene of _hoist_scenes.py: what exporters write for SiLU, GELU and hard-swish, on the results of a
Split."""

from _hoist_dims import BOOL, F16, F32, F64, ONE


class ByHand:
    def program(self, floats):
        """Steps (operator, what it reads): k is the value of step k - 1 (0: the branch's result of the
        Split), None a constant, "w" a value of the graph. All of them lead to the last one."""
        rng, steps = self.rng, []
        unary = ["Sigmoid", "Tanh", "Neg", "Abs", "Relu", "Sqrt", "Identity"] if floats else ["Neg", "Abs"]
        for k in range(rng.randint(1, 6)):
            a, b = (rng.choice([0, k, k, rng.randint(0, k)]) for _ in range(2))
            if rng.random() < 0.4:
                steps.append(("Log" if floats and rng.random() < 0.1 else rng.choice(unary), [a]))
            else:
                ins = [a, rng.choice([b, b, None, None, "w"])]
                steps.append((rng.choice(["Add", "Mul", "Sub"]), ins if rng.random() < 0.5 else ins[::-1]))
        read = {r for _, ins in steps for r in ins}
        for k in [k for k in range(len(steps)) if k not in read]:
            steps.append((rng.choice(["Add", "Mul"]), [len(steps), k]))
        return steps

    def vector(self, dtype, shape):
        """A constant that broadcasts to the shape."""
        return self.constant(
            self.array(dtype, [d[0] for d in self.masked(shape)][-len(shape) :] if shape else [])
        )

    def by_hand(self, v):
        """A small graph that reads each result of a Split several times; spoiled on one branch by a
        reader, an operator, an order of operands or a second sink that the others do not have, or by two
        sinks on all."""
        rng, dtype = self.rng, v.dtype
        axes = [k for k, d in enumerate(v.shape) if d[0] >= 2]
        # Integers that compute shapes may be known as equal: which one of two is kept depends on the order of
        # the file.
        wanted = dtype in (F32, F64) or dtype not in (F16, BOOL) and v in self.inputs
        parts = self.cut(v, rng.choice(axes)) if axes and wanted else None
        if parts is None:
            return self.split(v)
        steps = self.program(dtype in (F32, F64))
        spoil, odd, place = (
            rng.choice([None] * 5 + ["reader", "operator", "order", "end", "ends"]),
            rng.randrange(len(parts)),
            rng.randrange(len(steps)),
        )
        w = self.operand(parts[0], "runtime") if any("w" in ins for _, ins in steps) else None
        if w is not None and (
            w.rank > v.rank
            or any(d not in (ONE, e) for p in parts for d, e in zip(w.shape[::-1], p.shape[::-1]))
        ):
            w = self.constant(self.array(dtype, []))
        equal = len({p.shape for p in parts}) == 1
        style = [
            rng.choice(["scalar", "scalar", "vector" if equal else "scalar", "each", "each vector"])
            for _ in steps
        ]
        shared = [self.vector(dtype, parts[0].shape if s == "vector" else ()) for s in style]
        deformed = rng.random() < 0.2 and w is None and "vector" not in style
        outs = []
        for j, x in enumerate(parts):
            x = self.deform(x) if deformed and rng.random() < 0.8 else x
            values = [x]
            for k, (op, ins) in enumerate(steps):
                here = j == odd and k == place
                if here and spoil == "operator":
                    op = {"Add": "Mul", "Mul": "Sub", "Sub": "Add", "Neg": "Abs"}.get(op, "Neg")
                ins = ins[::-1] if here and spoil == "order" else ins
                own = (
                    self.vector(dtype, x.shape if style[k] == "each vector" else ())
                    if style[k].startswith("each") and None in ins
                    else shared[k]
                )
                values.append(
                    self.add(
                        op,
                        [w if r == "w" else own if r is None else values[r] for r in ins],
                        (dtype, x.shape),
                    )
                )
            if spoil == "ends" or spoil in ("reader", "end") and j == odd:
                extra = x if spoil == "reader" else values[place]
                if dtype == F32 and extra.rank and rng.random() < 0.5:
                    self.add("Softmax", [extra], (dtype, extra.shape), axis=extra.rank - 1)
                else:
                    self.add("Neg", [extra], (dtype, extra.shape))
            outs.append(values[-1])
        if rng.random() < 0.3:
            e = self.chain(dtype)
            outs = [e(y, j) for j, y in enumerate(outs)]
        if rng.random() < 0.3:
            self.anchor(outs[0])
