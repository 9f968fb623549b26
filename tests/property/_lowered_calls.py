"""Cases of lowered.py for calls of the model's own functions."""

from _lowered_case import Case, build, feeds_of
from onnx import TensorProto, helper

node = helper.make_node


def function(name, inputs, outputs, nodes, opset, attributes=(), defaults=()):
    imports = [helper.make_opsetid("", opset), helper.make_opsetid("own", 1)]
    return helper.make_function(
        "own", name, inputs, outputs, nodes, imports, list(attributes), list(defaults)
    )


def cases(data):
    two = helper.make_tensor("v", TensorProto.FLOAT, [], [2.0])
    inputs = {"x": ("float", ["n", 4])}
    sizes = [{"n": 3}, {"n": 0}]

    def of(name, functions, takes, expansion, kept, calls=2, opset=17, options=("--exact",), attributes=None):
        nodes = [
            node(
                name,
                ["x" if i == 0 else f"h{i}"],
                [f"h{i + 1}" if i + 1 < calls else "y"],
                domain="own",
                **(attributes or {}),
            )
            for i in range(calls)
        ]
        model = build(nodes, inputs, ["y"], {}, opset, functions, ["own"])
        feeds = feeds_of(data, inputs, sizes)
        return Case(
            f"{name} called {calls} times, opset {opset}", model, takes, expansion, feeds, None, options, kept
        )

    def twice(opset):
        return function(
            "Twice",
            ["a"],
            ["b"],
            [
                node("Constant", [], ["c"], value=two),
                node("Mul", ["a", "c"], ["m"]),
                node("Abs", ["m"], ["b"]),
            ],
            opset,
        )

    def outer(opset):
        return function(
            "Outer",
            ["a"],
            ["b"],
            [
                node("Twice", ["a"], ["t"], domain="own"),
                node("Relu", ["t"], ["r"]),
                node("Twice", ["r"], ["b"], domain="own"),
            ],
            opset,
        )

    slope = node("LeakyRelu", ["a"], ["l"])
    slope.attribute.append(onnx_reference("alpha", "slope"))

    def leaky(opset, defaults):
        return function(
            "Leaky",
            ["a"],
            ["b"],
            [slope, node("Abs", ["l"], ["b"])],
            opset,
            [] if defaults else ["slope"],
            [helper.make_attribute("slope", 0.25)] if defaults else [],
        )

    for opset in (13, 17):
        takes = ["Mul", "Abs", "Relu", "LeakyRelu"]
        yield of("Twice", [twice(opset)], takes, "call", 0, opset=opset)
        yield of("Outer", [twice(opset), outer(opset)], takes, "call", 0, opset=opset)
        yield of("Leaky", [leaky(opset, True)], takes, "call", 0, opset=opset)
        yield of("Leaky", [leaky(opset, False)], takes, "call", 0, opset=opset, attributes={"slope": 0.5})
    # What stays: a device that lacks a part of it.
    yield of("Twice", [twice(17)], ["Mul"], None, 2)
    yield of("Outer", [twice(17), outer(17)], ["Mul", "Abs"], None, 2)
    yield of("Twice", [twice(17)], ["Mul", "Abs"], None, 2, options=("--lower=never",))
    yield of("Twice", [twice(17)], ["Mul", "Abs"], None, 2, options=("-O0",))


def onnx_reference(name, to):
    made = helper.make_attribute(name, 1.0)
    made.ClearField("f")
    made.ref_attr_name = to
    return made
