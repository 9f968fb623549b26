"""Puts the nodes of a step into If, Loop, Scan or a function of the model.

The construct has results of the same types; their values are what ONNX Runtime gives for it.
"""

import numpy as np
import onnx
from onnx import helper, numpy_helper

from _compose_graph import Refused, free_names, renamed


def open_info(name, value):
    """Of a parameter of a body: the element type alone, as exporters leave it."""
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), None)


class Wrap:
    def wrap(self, begin, results):
        """Nodes from `begin` on, which run as they stand, go into one construct or two. Raises Refused."""
        state = self.state()
        self.evaluate(begin)
        shown = {v.name: v.first for v in self.values[state[0][1] :]}
        del self.values[state[0][1] :]
        for _ in range(self.rng.choice([1, 1, 1, 2])):
            nodes = self.nodes[begin:]
            results = [r for r in results if shown.get(r) is not None and any(r in n.output for n in nodes)]
            if not results:
                raise Refused("no result")
            makers = [self.branch, self.branch, self.loop, self.scan, self.function, self.function]
            make = self.rng.choice(makers)
            if make == self.scan and self.version < 9 or make == self.function and self.ir < 8:
                make = self.branch
            if make in (self.loop, self.scan) and any(isinstance(shown[r], list) for r in results):
                make = self.branch
            del self.nodes[begin:]
            found = make(nodes, results, shown)
            shown.update({new: shown[old] for old, new in found.items()})
            results = list(found.values())

    def body(self, nodes, params, results):
        """A graph of these nodes; some of its constants go along."""
        inits = []
        for name in free_names(nodes):
            if name in self.constants and name not in self.overridable and self.rng.random() < 0.3:
                own = self.fresh()
                tensor = onnx.TensorProto()
                tensor.CopyFrom(self.constants[name])
                tensor.name = own
                inits.append(tensor)
                nodes = renamed(nodes, {name: own}, str)
        outputs = [onnx.ValueInfoProto(name=r) if isinstance(r, str) else r for r in results]
        return helper.make_graph(nodes, "body", params, outputs, inits)

    def typed(self, name, value):
        """An output of a body: with its element type, or with nothing."""
        if isinstance(value, list) or self.rng.random() < 0.3:
            return onnx.ValueInfoProto(name=name)
        return open_info(name, value)

    def copies(self, nodes, results, names=None):
        """The nodes with other names for what they define."""
        names = dict(names or {})
        again = renamed(nodes, names, self.fresh)
        return again, [names[r] for r in results]

    def branch(self, nodes, results, shown):
        rng, condition = self.rng, self.condition()
        if rng.random() < 0.5:
            other, names = self.copies(nodes, results)
        else:
            other, names = [], []
            for r in results:
                value = shown[r]
                found = self.pick(
                    lambda v: (
                        type(v.first) is type(value)
                        and (v.first.dtype == value.dtype if isinstance(value, np.ndarray) else v.is_tensor)
                    )
                )
                name = self.fresh()
                if found and rng.random() < 0.7:
                    other.append(helper.make_node("Identity", [found.name], [name]))
                elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
                    tensor = numpy_helper.from_array(value)
                    other.append(helper.make_node("Constant", [], [name], value=tensor))
                else:
                    raise Refused("no other value")
                names.append(name)
        graphs = [
            self.body(n, [], [self.typed(r, shown[old]) for r, old in zip(rs, results)])
            for n, rs in ((nodes, results), (other, names))
        ]
        if rng.random() < 0.5:
            graphs.reverse()
        found = self.node("If", [condition], len(results), then_branch=graphs[0], else_branch=graphs[1])
        return dict(zip(results, [found] if len(results) == 1 else found))

    def trips(self):
        rng, draw = self.rng, self.rng.random()
        if draw < 0.45:
            return self.constant(np.array(rng.randint(0, 2), np.int64))
        if draw < 0.7:
            name = self.input(np.array(1, np.int64), keep_shape=True)
            value = self.value(name)
            value.at = [np.array(rng.randint(0, 2), np.int64) for _ in value.at]
            for k, v in enumerate(value.at):
                self.feeds[k][name] = v
            return name
        if draw < 0.8:
            return self.default(np.array(rng.randint(0, 2), np.int64))
        if self.version < 13:
            return self.constant(np.array(1, np.int64))
        number = self.squeeze(self.number(), [0])
        low, high = (self.constant(np.array(n, np.int64)) for n in (0, 2))
        return self.node("Max", [self.node("Min", [number, high]), low])

    def captured(self, nodes):
        found = [self.value(n) for n in free_names(nodes) if n not in self.constants]
        return [v for v in found if v is not None and v.is_tensor]

    def loop(self, nodes, results, shown):
        rng = self.rng
        carried, left, names = [], list(results), {}
        for v in self.captured(nodes):
            fitting = [r for r in left if (shown[r].dtype, shown[r].shape) == (v.first.dtype, v.first.shape)]
            if fitting and rng.random() < 0.7:
                r = rng.choice(fitting)
                left.remove(r)
                carried.append((v, self.fresh(), r))
                if rng.random() < 0.8:
                    names[v.name] = carried[-1][1]
        nodes = renamed(nodes, names, str)
        count, before, after = self.fresh(), self.fresh(), self.fresh()
        nodes.append(helper.make_node("Identity", [before], [after]))
        if not carried or rng.random() < 0.2:  # a counter
            start = self.value(self.constant(np.array(rng.randint(0, 2), np.int64)))
            state, r = self.fresh(), self.fresh()
            nodes.append(helper.make_node("Add", [state, count], [r]))
            carried.append((start, state, r))
        params = [open_info(count, np.zeros((), np.int64)), open_info(before, np.zeros((), bool))]
        params += [open_info(name, v.first) for v, name, _ in carried]
        outputs = [open_info(after, np.zeros((), bool)), *(self.typed(r, v.first) for v, _, r in carried)]
        outputs += [self.typed(r, shown[r]) for r in left]
        body = self.body(nodes, params, outputs)
        go = "" if rng.random() < 0.5 else self.constant(np.array(True))
        operands = [self.trips(), go, *(v.name for v, _, _ in carried)]
        found = self.node("Loop", operands, len(carried) + len(left), body=body)
        found = [found] if isinstance(found, str) else found
        return dict(zip([r for _, _, r in carried if r in shown] + left, self.of(carried, shown, found)))

    @staticmethod
    def of(carried, shown, found):
        """The results of a Loop without those of counters."""
        kept = [n for n, (_, _, r) in zip(found, carried) if r in shown]
        return kept + found[len(carried) :]

    def scan(self, nodes, results, shown):
        rng = self.rng
        operands = self.captured(nodes)
        if not operands:
            raise Refused("nothing to scan")
        operands = rng.sample(operands, rng.randint(1, min(2, len(operands))))
        turns, stacked, names = rng.choice([1, 2, 2]), [], {}
        for v in operands:
            name = self.unsqueeze(v.name, [0])
            if turns == 2:
                name = self.node("Concat", [name, name], axis=0)
            if rng.random() < 0.1:
                name = self.slice(name, 0, 0, 1)
                if turns == 2:
                    name = self.node("Concat", [name, name], axis=0)
            stacked.append(name)
            names[v.name] = self.fresh()
        nodes = renamed(nodes, names, str)
        params = [open_info(names[v.name], v.first) for v in operands]
        outputs = [self.typed(r, shown[r]) for r in results]
        first = []
        if rng.random() < 0.4:  # a state
            v = operands[0]
            state, after = self.fresh(), self.fresh()
            nodes.append(helper.make_node("Identity", [names[v.name]], [after]))
            params.insert(0, open_info(state, v.first))
            outputs.insert(0, self.typed(after, v.first))
            first = [v.name]
        body = self.body(nodes, params, outputs)
        more = {"scan_input_directions": [rng.randint(0, 1) for _ in stacked]} if rng.random() < 0.3 else {}
        found = self.node(
            "Scan", first + stacked, len(outputs), body=body, num_scan_inputs=len(stacked), **more
        )
        found = [found] if isinstance(found, str) else found
        return dict(zip(results, found[len(first) :]))

    def function(self, nodes, results, shown):
        rng = self.rng
        free = free_names(nodes)
        kept = [n for n in free if n in self.constants and n not in self.overridable and rng.random() < 0.6]
        inside = [helper.make_node("Constant", [], [n], value=self.constants[n]) for n in kept]
        operands = [n for n in free if n not in kept]
        if any(self.value(n) is None for n in operands):
            raise Refused("a name without a value")
        names = {n: self.fresh() for n in operands}
        inside = renamed([*inside, *nodes], dict(names), str)
        kind, outputs = f"F{len(self.functions)}", list(results)
        opsets = [helper.make_opsetid(d, v) for d, v in self.domains.items()]
        if any(n.domain == "local" for n in inside) or self.functions:
            opsets.append(helper.make_opsetid("local", 1))
        proto = helper.make_function("local", kind, [names[n] for n in operands], outputs, inside, opsets)
        self.functions.append(proto)
        first = self.node(kind, operands, len(results), domain="local")
        again = list(operands)
        for i, n in enumerate(operands):
            v = self.value(n)
            if v.is_tensor and rng.random() < 0.3:
                other = self.tensor(
                    lambda w: (w.first.dtype, w.first.shape) == (v.first.dtype, v.first.shape)
                )
                again[i] = other.name if other else n
        if rng.random() < 0.7:
            self.node(kind, again, len(results), domain="local")
        return dict(zip(results, [first] if len(results) == 1 else first))
