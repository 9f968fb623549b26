#!/usr/bin/env python3
# LONG: --count 1500
"""Random graphs of integer arithmetic on a device without int64 (docs/lowering.md): the bits stay.

  narrowed.py GRAPHOPT [--count N] [--seed S] [--save FOLDER]

Each model computes in int64 with shapes, positions, masks, int32 inputs, floats and constants up to the ends
of int32 and int64, with operators that become int32 and such that do not, in bodies, functions and sequences,
too; many results overflow int32, or would in between. The device takes every operator in int32 and none in
int64, but Cast, Shape, and operands that are int64 by the schema. In ONNX Runtime, its optimizations off,
the result must give the bits of the original for inputs with the ends of int32, zeros and -1, and for several
extents, 0 included; a feed with which the original fails does not count. A second run on the result must make
nothing int32. A good part of the models must become int32 somewhere.
"""

import argparse
import concurrent.futures
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from lib.profiles import int32_profile  # noqa: E402
from lib.runs import bit_difference, session  # noqa: E402
from lib.tool import executable  # noqa: E402

LOW, HIGH = -(2**31), 2**31 - 1
CONSTANTS = [
    0,
    1,
    -1,
    2,
    3,
    -3,
    7,
    1000,
    HIGH,
    LOW,
    HIGH + 1,
    LOW - 1,
    HIGH - 1,
    2**40,
    -(2**40),
    2**16,
    46341,
]
DIVISORS = [1, 2, 3, -3, 7, HIGH, LOW, 2**31, 65536]
FLOATS = [0, -1.5, 2.5, np.nan, np.inf, -np.inf, 1e20, -1e20, 2147483648.0, 3e9, -2147483904.0, 7]
ENDS = [0, 1, -1, 2, HIGH, LOW, HIGH + 1, LOW - 1, 2**63 - 1, -(2**63) + 1]
TABLE = 5  # rows
OTHER_STEPS = """divide remainder position top nonzero size floats move spread split elements reduce body loop
function sequence target sparse scatter shape square""".split()


class Graph:
    """Values by length: of one element, of two, and of n (open)."""

    def __init__(self, rng):
        self.rng, self.nodes, self.constants = rng, [], []
        self.names = 0
        self.opset = rng.choice([13, 14, 16, 17, 17, 18, 21])
        self.inputs = [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "k"]),
            helper.make_tensor_value_info("i", TensorProto.INT32, ["n"]),
            helper.make_tensor_value_info("b", TensorProto.BOOL, ["n"]),
            helper.make_tensor_value_info("j", TensorProto.INT64, ["n"]),
        ]
        self.pool = {"one": [], "two": [], "n": []}
        self.bools = {"one": [], "two": [], "n": ["b"]}
        self.other = []  # outputs of other types
        table = np.arange(2 * TABLE, dtype=np.float32).reshape(TABLE, 2)
        self.constants.append(numpy_helper.from_array(table, "table"))
        shape = self.add("Shape", ["x"])
        self.pool["two"].append(shape)
        self.pool["n"] += [self.add("Cast", [name], to=TensorProto.INT64) for name in ("i", "b")]
        for at in (0, 1):
            self.pool["one"].append(self.add("Gather", [shape, self.constant([at])]))
        zero, one = self.constant(0), self.constant(rng.choice([1, 1, 2]))
        extent = self.add("Gather", [shape, self.constant(0)])
        steps = self.add("Range", [zero, self.add("Mul", [extent, one]), one])
        self.pool["n"].append(steps)

    def constant(self, values):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def fresh(self):
        self.names += 1
        return f"w{self.names}"

    def add(self, kind, operands, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, operands, [name], **attributes))
        return name

    def operand(self, length):
        """A value of this length or of one element, mostly no constant."""
        draw = self.rng.random()
        if draw < 0.25:
            return self.constant([self.rng.choice(CONSTANTS)])
        if draw < 0.4 and length != "one":
            return self.rng.choice(self.pool["one"])
        return self.rng.choice(self.pool[length])

    def step(self):
        rng, length = self.rng, self.rng.choice(["one", "two", "n", "n"])
        if rng.random() < 0.45:
            return self.other_step(rng.choice(OTHER_STEPS), length)
        kind = rng.choice(
            "Add Sub Mul Add Sub Mul Div Mod Neg Abs Min Max Where Compare Gather Slice Concat Turn Cast "
            "Clip CumSum Reduce Table Range Fill Table Slice".split()
        )
        values = self.pool[length]
        first = rng.choice(values)
        if kind in ("Add", "Sub", "Mul", "Min", "Max"):
            pair = [first, self.operand(length)]
            rng.shuffle(pair)
            values.append(self.add(kind, pair))
        elif kind in ("Div", "Mod"):
            more = {"fmod": 1} if kind == "Mod" and rng.random() < 0.3 else {}
            # The least int64 by -1 ends the process: -1 divides only what was int32 at the beginning.
            divisors = [*DIVISORS, -1, -1] if first in self.pool["n"][:2] else DIVISORS
            values.append(self.add(kind, [first, self.constant([rng.choice(divisors)])], **more))
        elif kind in ("Neg", "Abs"):
            values.append(self.add(kind, [first]))
        elif kind == "Clip":
            low, high = sorted(rng.choice(CONSTANTS) for _ in range(2))
            values.append(self.add(kind, [first, self.constant(low), self.constant(high)]))
        elif kind == "Where" and self.bools[length]:
            values.append(self.add(kind, [rng.choice(self.bools[length]), first, self.operand(length)]))
        elif kind == "Compare":
            kind = rng.choice(["Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"])
            self.bools[length].append(self.add(kind, [first, self.operand(length)]))
        elif kind == "Gather" and length == "two":
            self.pool["one"].append(self.add(kind, [first, self.constant([rng.choice([0, 1, -1, -2])])]))
        elif kind == "Concat":
            parts = [self.operand("one"), self.operand("one")]
            self.pool["two"].append(self.add(kind, parts, axis=0))
        elif kind == "Turn":
            turned = self.add("Unsqueeze", [first, self.constant([0])])
            turned = self.add("Transpose", [turned], perm=[1, 0])
            values.append(self.add("Reshape", [turned, self.constant([-1])]))
        elif kind == "Slice":
            starts, ends = self.constant([rng.choice(ENDS)]), self.constant([rng.choice(ENDS)])
            if rng.random() < 0.5:
                ends = rng.choice(self.pool["one"])
            step = rng.choice([1, 1, 2, -1])
            self.other.append(
                self.add(
                    kind, [rng.choice([first, "x"]), starts, ends, self.constant([0]), self.constant([step])]
                )
            )
        elif kind == "CumSum":
            axis = self.constant(0)
            more = {"exclusive": rng.randint(0, 1), "reverse": rng.randint(0, 1)}
            values.append(self.add(kind, [first, axis], **more))
        elif kind == "Reduce" and length == "two":
            kind = rng.choice(["ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum"])
            more = [self.constant([0])] if kind == "ReduceSum" else []
            if self.opset >= 18:
                more = [self.constant([0])]
            axes = {} if more else {"axes": [0]}
            self.pool["one"].append(self.add(kind, [first, *more], keepdims=1, **axes))
        elif kind == "Cast":
            to = rng.choice("FLOAT INT32 INT32 BOOL UINT8 INT8 INT16 UINT32 UINT64 DOUBLE FLOAT16".split())
            to = TensorProto.DataType.Value(to)
            self.other.append(self.add(kind, [first], to=to))
        elif kind == "Table":
            row = rng.choice(["j", self.add("Mod", [first, self.constant([TABLE])])])
            if rng.random() < 0.5:
                row = self.add("Unsqueeze", [row, self.constant([0])])
            self.other.append(self.add("Gather", ["table", row]))
        elif kind == "Fill":
            value = helper.make_tensor("value", TensorProto.INT64, [1], [rng.choice(CONSTANTS)])
            shape = self.add("Shape", [first])
            values.append(self.add("Add", [first, self.add("ConstantOfShape", [shape], value=value)]))
        elif kind == "Range":
            start, limit = self.operand("one"), self.constant([rng.choice(CONSTANTS)])
            near = self.add("Sub", [limit, self.constant([rng.choice([0, 1, 5, -3])])])
            ends = (
                [start, self.add("Add", [start, self.constant([4])])] if rng.random() < 0.5 else [near, limit]
            )
            flat = [self.add("Squeeze", [e, self.constant([0])]) for e in ends]
            self.other.append(self.add("Range", [*flat, self.constant(rng.choice([1, 2, -1]))]))

    def near(self, low, high):
        """A value of one element within bounds."""
        value = self.rng.choice(self.pool["one"])
        return self.add("Clip", [value, self.constant(low), self.constant(high)])

    def scalar(self, value):
        return self.add("Squeeze", [value, self.constant([0])])

    def other_step(self, kind, length):
        rng = self.rng
        values = self.pool[length]
        first = rng.choice(values)
        if kind in ("divide", "remainder"):
            low, high = rng.choice([(1, HIGH), (1, 2**40), (LOW, -2), (-7, -2), (1, 3)])
            more = {"fmod": rng.randint(0, 1)} if kind == "remainder" else {}
            op = "Mod" if kind == "remainder" else "Div"
            values.append(self.add(op, [first, self.near(low, high)], **more))
        elif kind == "position":
            op = rng.choice(["ArgMax", "ArgMin"])
            axis = rng.choice([1, 1, -1])
            self.pool["n"].append(self.add(op, ["x"], axis=axis, keepdims=0))
        elif kind == "top":
            count = self.add("Min", [self.constant([3]), self.add("Size", [first])])
            count = self.add("Reshape", [count, self.constant([1])])
            source = self.add("Cast", [first], to=TensorProto.FLOAT) if rng.random() < 0.5 else first
            name = self.fresh()
            self.nodes.append(helper.make_node("TopK", [source, count], [name, name + "i"], axis=0))
            self.other.append(self.add("Add", [name + "i", self.operand("one")]))
        elif kind == "nonzero":
            found = self.add("NonZero", [first])
            self.other.append(self.add(rng.choice(["Add", "Mul"]), [found, self.operand("one")]))
        elif kind == "size":
            size = self.add("Size", [rng.choice(["x", first])])
            self.pool["one"].append(self.add("Unsqueeze", [size, self.constant([0])]))
        elif kind == "floats":
            column = self.add("Gather", ["x", self.constant(0)], axis=1)
            self.pool["n"].append(self.add("Cast", [column], to=TensorProto.INT64))
        elif kind == "move":
            op = rng.choice(["Identity", "Flatten", "Tile", "Reshape"])
            if op == "Flatten":
                flat = self.add(op, [first], axis=0)
                values.append(self.add("Reshape", [flat, self.constant([-1])]))
            elif op == "Tile":
                more = self.add(op, [first, self.constant([2])])
                self.other.append(self.add("Sub", [more, self.operand("one")]))
            elif op == "Reshape":
                values.append(self.add(op, [first, self.add("Shape", [first])]))
            else:
                values.append(self.add(op, [first]))
        elif kind == "spread":
            one = rng.choice(self.pool["one"])
            values.append(self.add("Expand", [one, self.add("Shape", [first])]))
        elif kind == "split":
            name = self.fresh()
            two = rng.choice(self.pool["two"])
            split = [self.constant([1, 1])] if rng.random() < 0.5 or self.opset >= 18 else []
            self.nodes.append(helper.make_node("Split", [two, *split], [name, name + "b"], axis=0))
            self.pool["one"] += [name, name + "b"]
        elif kind == "elements":
            table = self.constant([rng.choice(CONSTANTS) for _ in range(TABLE)])
            at = rng.choice(["j", self.add("Mod", [first, self.constant([TABLE])])])
            into = values if at != "j" else self.pool["n"]
            op = rng.choice(["GatherElements", "GatherND", "Gather"])
            if op == "GatherND":
                at = self.add("Unsqueeze", [at, self.constant([1])])
            into.append(self.add(op, [table, at]))
            # What is beyond int32 may wrap where nobody reads more.
            if rng.random() < 0.5:
                self.other.append(self.add("Cast", [into[-1]], to=TensorProto.INT32))
        elif kind == "reduce":
            op = rng.choice(["ReduceMax", "ReduceMin", "ReduceProd", "ReduceSum"])
            kept = rng.randint(0, 1)
            if op == "ReduceSum" or self.opset >= 18:
                out = self.add(op, [first, self.constant([0])], keepdims=kept)
            else:
                out = self.add(op, [first], axes=[0], keepdims=kept)
            self.pool["one"].append(out if kept else self.add("Unsqueeze", [out, self.constant([0])]))
        elif kind == "body":
            name = self.fresh()
            inner = [helper.make_node("Add", [first, rng.choice(values)], [name + "t"])]
            other = [helper.make_node("Mul", [first, self.operand(length)], [name + "e"])]
            bodies = {}
            for key, nodes in (("then_branch", inner), ("else_branch", other)):
                out = onnx.ValueInfoProto(name=nodes[-1].output[0])
                out.type.tensor_type.elem_type = TensorProto.INT64
                bodies[key] = helper.make_graph(nodes, key, [], [out])
            flag = self.add("Less", [self.scalar(rng.choice(self.pool["one"])), self.constant(3)])
            self.nodes.append(helper.make_node("If", [flag], [name], **bodies))
            # Its length may not be known: it is moved like the value that it stands for.
            values.append(self.add("Reshape", [name, self.add("Shape", [first])]))
        elif kind == "loop":
            name = self.fresh()
            v = helper.make_tensor_value_info
            carried = onnx.ValueInfoProto(name=name + "c")
            carried.type.tensor_type.elem_type = TensorProto.INT64
            result = onnx.ValueInfoProto(name=name + "r")
            result.type.tensor_type.elem_type = TensorProto.INT64
            body = helper.make_graph(
                [
                    helper.make_node("Identity", [name + "k"], [name + "ko"]),
                    helper.make_node(rng.choice(["Add", "Mul"]), [name + "c", first], [name + "r"]),
                ],
                "loop",
                [v(name + "i", TensorProto.INT64, []), v(name + "k", TensorProto.BOOL, []), carried],
                [v(name + "ko", TensorProto.BOOL, []), result],
            )
            count = self.scalar(self.near(0, 3))
            self.nodes.append(helper.make_node("Loop", [count, "", first], [name], body=body))
            values.append(self.add("Reshape", [name, self.add("Shape", [first])]))
        elif kind == "function":
            name = self.fresh()
            self.nodes.append(helper.make_node("mix", [first, self.operand(length)], [name], domain="own"))
            values.append(name)
        elif kind == "sequence":
            both = self.add("SequenceConstruct", [first, rng.choice(values)])
            item = self.add("SequenceAt", [both, self.scalar(self.near(0, 1))])
            values.append(self.add("Reshape", [item, self.add("Shape", [first])]))
        elif kind == "target":
            rows = self.add("Size", [first])
            rows = self.add("Unsqueeze", [rows, self.constant([0])])
            target = self.add("Concat", [rows, self.constant([1])], axis=0)
            turned = self.add("Reshape", [first, target])
            self.other.append(self.add("Add", [turned, self.operand("one")]))
        elif kind == "sparse":
            depth = self.scalar(self.near(1, 4))
            self.other.append(self.add("OneHot", [first, depth, self.constant([0, rng.choice(CONSTANTS)])]))
        elif kind == "scatter":
            two = rng.choice(self.pool["two"])
            at = self.constant([rng.choice([0, 1, -1])])
            self.pool["two"].append(self.add("ScatterElements", [two, at, rng.choice(self.pool["one"])]))
        elif kind == "shape":
            shape = self.add("Shape", [rng.choice(["x", first])])
            self.pool["one"].append(self.add("Slice", [shape, self.constant([0]), self.constant([1])]))
        elif kind == "square":
            rows = self.add("Unsqueeze", [first, self.constant([1])])
            columns = self.add("Unsqueeze", [rng.choice(values), self.constant([0])])
            mixed = self.add(rng.choice(["Add", "Sub", "Mul", "Max", "Less"]), [rows, columns])
            self.other.append(mixed)

    def model(self):
        kept = [self.rng.choice(v) for v in self.pool.values()] + self.other[-3:]
        kept += [v for length in self.bools.values() for v in length[-1:] if v != "b"]
        outputs = [onnx.ValueInfoProto(name=name) for name in dict.fromkeys(kept)]
        graph = helper.make_graph(self.nodes, "g", self.inputs, outputs, self.constants)
        opsets = [helper.make_opsetid("", self.opset), helper.make_opsetid("own", 1)]
        mix = helper.make_function(
            "own",
            "mix",
            ["a", "b"],
            ["c"],
            [
                helper.make_node("Sub", ["a", "b"], ["d"]),
                helper.make_node("Min", ["d", "a"], ["c"]),
            ],
            [helper.make_opsetid("", self.opset)],
        )
        made = helper.make_model(graph, ir_version=8, opset_imports=opsets, functions=[mix])
        return onnx.shape_inference.infer_shapes(made)  # which gives the outputs their element types


def feeds(rng):
    for n, k in ((3, 2), (1, 4), (0, 2), (5, 1)):
        numbers = [rng.choice([0, 1, -1, 5, HIGH, LOW, HIGH - 1]) for _ in range(n)]
        yield {
            "x": np.array([rng.choice(FLOATS) for _ in range(n * k)], np.float32).reshape(n, k),
            "i": np.array(numbers, np.int32).reshape(n),
            "b": np.array([rng.random() < 0.5 for _ in range(n)], bool).reshape(n),
            "j": np.array([rng.randrange(-TABLE, TABLE) for _ in range(n)], np.int64).reshape(n),
        }


def run_tool(tool, source, target, folder, device):
    report = folder / "report.json"
    words = ["--devices", device, "--parts", "never", "-o", target, "--report", report, "-q", "--verify-each"]
    done = subprocess.run([tool, source, "--exact", *words], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"exit status {done.returncode}: {done.stderr.strip()[-600:]}")
    return json.loads(report.read_text())["narrowed"]


def check(tool, seed, save):
    """(what is wrong or None, how many values became int32, how many feeds counted)"""
    rng = random.Random(seed)
    graph = Graph(rng)
    for _ in range(rng.randint(4, 24)):
        graph.step()
    model = graph.model()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, target, again = (folder / n for n in ("in.onnx", "out.onnx", "again.onnx"))
        source.write_bytes(model.SerializeToString())
        if save:
            (save / f"{seed}.onnx").write_bytes(source.read_bytes())
        try:
            old = session(model)
        except Exception as e:
            return f"the original is no model: {str(e)[:300]}", 0, 0
        try:
            narrowed = run_tool(tool, source, target, folder, int32_profile(folder))
            second = run_tool(tool, target, again, folder, int32_profile(folder))
        except RuntimeError as e:
            return str(e), 0, 0
        if second:
            return f"the second run makes more int32: {second}", 0, 0
        result = onnx.load(target)
    values, count = sum(d["nodes"] for d in narrowed), 0
    try:
        new = session(result)
    except Exception as e:
        return f"ONNX Runtime refuses the result: {str(e)[:300]}", values, 0
    for feed in feeds(rng):
        try:
            before = old.run(None, feed)
        except Exception:  # noqa: BLE001  the runtime's exceptions have no common base
            continue
        count += 1
        try:
            after = new.run(None, feed)
        except Exception as e:
            return f"the result fails: {str(e)[:200]}", values, count
        for output, a, b in zip(model.graph.output, before, after, strict=True):
            if text := bit_difference(a, b):
                return f"{output.name} of {len(feed['i'])}: {text}", values, count
    return None, values, count


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", type=executable)
    p.add_argument("--count", type=int, default=40)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--save", type=Path)
    a = p.parse_args()
    bad = narrowed = runs = 0
    seeds = range(a.seed, a.seed + a.count)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for seed, (wrong, nodes, count) in zip(
            seeds, pool.map(lambda s: check(a.tool, s, a.save), seeds), strict=True
        ):
            narrowed += nodes > 0
            runs += count
            if wrong:
                bad += 1
                print(f"seed {seed}: {wrong}", flush=True)
    print(f"{a.count} models, {narrowed} with int32 in place of int64, {runs} runs; {bad} wrong")
    if narrowed < a.count // 3 or runs < a.count:
        print("too few models became int32, or too few runs count")
        return 1
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
