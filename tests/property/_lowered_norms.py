"""Cases of lowered.py for normalizations."""

import numpy as np
from _lowered_case import UNIT, single
from onnx import helper


def normalized(axes, epsilon, centers=True, scale="s", shape=None):
    """The bound of docs/rounding.md: 4 (n + 8) u (X / s) (1 + |y|) times the scale, 4 u times the offset."""

    def bound(feed, _, y):
        x = feed["x"].astype(np.float64)
        over = tuple(a % x.ndim for a in axes) if axes else ()
        over = tuple(range(axes[0] % x.ndim, x.ndim)) if len(axes) == 1 else over
        count = int(np.prod([x.shape[a] for a in over]))
        most = np.max(np.abs(x), axis=over, keepdims=True, initial=0)
        d = x - x.mean(axis=over, keepdims=True) if centers else x
        s = np.sqrt(np.mean(d * d, axis=over, keepdims=True) + epsilon)
        unit = d / s
        weight, offset = feed.get(scale, np.ones(())), feed.get("b", np.zeros(()))
        if shape:
            weight, offset = weight.reshape(shape), offset.reshape(shape)
        return 4 * (count + 8) * UNIT * (most / s) * (1 + np.abs(unit)) * np.abs(weight) + 4 * UNIT * np.abs(
            offset
        )

    return bound


def cases(data):
    node = helper.make_node
    sizes = [{"n": 4}, {"n": 1}, {"n": 0}]
    inner = ["ReduceMean", "Sub", "Mul", "Add", "Sqrt", "Div"]

    def of(op, dims, operands, takes, expansion, opset, bound, attributes=None, **more):
        inputs = {"x": (more.pop("dtype", "float"), dims)}
        constants = more.pop("constants", {})
        inputs.update({k: (inputs["x"][0], v) for k, v in operands.items() if k not in constants})
        outputs = more.pop("results", ["y"])
        label = f"{op} {dims} {attributes or ''}"
        more.setdefault("sizes", sizes)
        more.setdefault("kinds", ("finite", "poisoned") if expansion else ("finite",))
        names = ["x", *operands]
        domain = more.pop("domain", "")
        made = node(op, names, outputs, domain=domain, **(attributes or {}))
        outputs = [o for o in outputs if o]
        if domain:
            more["domains"] = [domain]
        return single(
            data,
            label,
            made,
            inputs,
            takes,
            expansion,
            opset=opset,
            bound=bound,
            constants=constants,
            outputs=outputs,
            **more,
        )

    for opset in (17, 18):
        for at, dims, tail in (
            ({}, [2, "n", 16], [16]),
            ({"axis": 1, "epsilon": 1e-3}, ["n", 3, 5], [3, 5]),
            ({"axis": -2}, ["n", 3, 5], [3, 5]),
            ({"axis": 0}, [3, 4], [3, 4]),
            ({}, [2, 3, 1], [1]),
            ({}, [2, "n", 200], [200]),
        ):
            bound = normalized([at.get("axis", -1)], at.get("epsilon", 1e-5))
            for operands in ({"s": tail, "b": tail}, {"s": tail}):
                yield of("LayerNormalization", dims, operands, inner, "layer-norm", opset, bound, at)
    for at, dims, tail in (({}, [2, "n", 16], [16]), ({"axis": 1, "epsilon": 1e-6}, ["n", 3, 5], [3, 5])):
        bound = normalized([at.get("axis", -1)], at.get("epsilon", 1e-5), centers=False)
        takes = ["ReduceMean", "Mul", "Add", "Sqrt", "Div"]
        yield of("RMSNormalization", dims, {"s": tail}, takes, "rms-norm", 23, bound, at)

    # float16, computed inside in float: 4 u of float16 more, and what the least denormal is.
    def half(feed, i, y, at, centers=True):
        wide = {k: v.astype(np.float32) for k, v in feed.items()}
        rough = np.abs(y) + np.abs(wide.get("b", np.zeros(())))
        return (
            normalized([at.get("axis", -1)], at.get("epsilon", 1e-5), centers)(wide, i, y)
            + 2.0**-9 * rough
            + 2.0**-24
        )

    casts = [*inner, "Cast"]
    for at, dims, tail in (({}, [2, "n", 16], [16]), ({"axis": 1, "epsilon": 1e-3}, ["n", 3, 5], [3, 5])):
        for operands in ({"s": tail, "b": tail}, {"s": tail}):
            yield of(
                "LayerNormalization",
                dims,
                operands,
                casts,
                "layer-norm",
                17,
                lambda f, i, y, at=at: half(f, i, y, at),
                at,
                dtype="float16",
            )
        yield of(
            "RMSNormalization",
            dims,
            {"s": tail},
            casts,
            "rms-norm",
            23,
            lambda f, i, y, at=at: half(f, i, y, at, False),
            at,
            dtype="float16",
        )

    # Those of ONNX Runtime.
    def sums(feed, i, y, centers):
        total = feed["x"].astype(np.float64) + feed["k"]
        total = total + feed.get("e", 0)
        magnitude = sum(np.abs(feed[k].astype(np.float64)) for k in "xke" if k in feed)
        if i == 3:
            return 4 * UNIT * magnitude
        plain = normalized([-1], 1e-12, centers, "s")({**feed, "x": total}, i, y)
        grown = 1 + np.max(magnitude, -1, keepdims=True) / np.max(
            np.abs(total), -1, keepdims=True, initial=1e-30
        )
        return plain * grown

    for op, name, centers in (
        ("SkipLayerNormalization", "skip-layer-norm", True),
        ("SkipSimplifiedLayerNormalization", "skip-rms-norm", False),
    ):
        shift = {"b": [8]} if centers else {}
        for more in ({}, {"e": [8]}):
            operands = {"k": [2, 5, 8], "s": [8], **shift, **more}
            for results in (["y"], ["y", "", "", "z"]):
                for opset in (13, 17) if centers else (17,):
                    takes = [*inner, "LayerNormalization"] if more else inner
                    yield of(
                        op,
                        [2, 5, 8],
                        operands,
                        takes,
                        name,
                        opset,
                        lambda f, i, y, centers=centers: sums(f, 3 if i else 0, y, centers),
                        {"epsilon": 1e-12},
                        results=results,
                        domain="com.microsoft",
                        sizes=[{}],
                    )
        yield of(
            op,
            [2, 5, 8],
            {"k": [2, 5, 8], "s": [8]},
            inner,
            None,
            17,
            None,
            {"epsilon": 1e-12},
            domain="com.microsoft",
            sizes=[{}],
            options=("--exact",),
        )
    yield of(
        "SimplifiedLayerNormalization",
        [2, "n", 8],
        {"s": [8]},
        inner,
        "simplified-norm",
        17,
        normalized([-1], 1e-5, False),
        {"axis": -1, "epsilon": 1e-5},
    )

    def numbers(*shape):
        return data.standard_normal(shape).astype(np.float32)

    for opset in (7, 13, 18):
        for dims in ([2, 3, "n"], [2, 3, 4, "n"]):
            known = {"s": numbers(3), "b": numbers(3)}
            wide = [3] + [1] * (len(dims) - 2)
            over = list(range(2, len(dims)))

            def bound(feed, i, y, known=known, wide=wide, over=over):
                plain = normalized([2], 1e-5, shape=wide)
                return plain({**feed, **known}, i, y)

            yield of(
                "InstanceNormalization",
                dims,
                {"s": [3], "b": [3]},
                inner,
                "instance-norm",
                opset,
                bound,
                constants=known,
                sizes=[{"n": 4}, {"n": 1}],
            )
    for opset in (9, 14, 15, 18):
        for dims in (["n", 3], ["n", 3, 4], [2, 3, "n", 4]):
            known = {"s": numbers(3), "b": numbers(3), "m": numbers(3), "v": np.abs(numbers(3))}
            wide = [3] + [1] * (len(dims) - 2)

            def bound(feed, i, y, known=known, wide=wide):
                s, b, m, v = (known[k].astype(np.float64).reshape(wide) for k in "sbmv")
                a = s / np.sqrt(v + 1e-5)
                return 8 * UNIT * (np.abs(feed["x"] * a) + np.abs(m * a) + np.abs(b))

            each = dict.fromkeys("sbmv", [3])
            for kinds in (("finite",), ("special",)):
                yield of(
                    "BatchNormalization",
                    dims,
                    each,
                    ["Mul", "Add"],
                    "batch-norm",
                    opset,
                    bound,
                    constants=known,
                    kinds=kinds,
                )
    for dims in ([2, 6, 5], [1, 6, 3, 4], [3, 4, 2, 2]):
        count, groups = dims[1], 2
        known = {"s": numbers(count), "b": numbers(count)}
        wide = [count] + [1] * (len(dims) - 2)

        def bound(feed, i, y, known=known, wide=wide, groups=groups):
            x = feed["x"]
            rows = x.reshape(x.shape[0], groups, -1)
            unit = normalized([2], 1e-5)({"x": rows}, i, y).reshape(x.shape)
            s, b = (np.abs(known[k].astype(np.float64)).reshape(wide) for k in "sb")
            return 2 * unit * s + 8 * UNIT * (b + np.abs(y))

        yield of(
            "GroupNormalization",
            dims,
            dict.fromkeys("sb", [count]),
            ["Reshape", "InstanceNormalization", "Mul", "Add"],
            "group-norm",
            21,
            bound,
            {"num_groups": groups},
            constants=known,
            sizes=[{}],
        )

    # What stays: training, results besides the first, operands that are no constants, 16 bits, --exact.
    known = {"s": numbers(3), "b": numbers(3), "m": numbers(3), "v": np.abs(numbers(3))}
    each, takes = dict.fromkeys("sbmv", [3]), ["Mul", "Add"]
    few = [{"n": 4}]
    yield of(
        "GroupNormalization",
        ["n", 4, "n"],
        dict.fromkeys("sb", [4]),
        ["Reshape", "InstanceNormalization", "Mul", "Add"],
        None,
        21,
        None,
        {"num_groups": 2},
        sizes=few,
        constants={"s": numbers(4), "b": numbers(4)},
    )
    yield of(
        "BatchNormalization",
        ["n", 3, 4],
        each,
        takes,
        None,
        15,
        lambda f, i, y: 1e-5 * (1 + np.abs(y)),
        {"training_mode": 1},
        results=["y", "p", "q"],
        constants=known,
        sizes=few,
    )
    yield of(
        "BatchNormalization",
        ["n", 3],
        each,
        takes,
        None,
        15,
        None,
        sizes=few,
        kinds=("finite",),
        constants={**known, "s": np.array([1, np.inf, 1], np.float32)},
    )
    yield of("InstanceNormalization", [2, 3, "n"], {"s": [3], "b": [3]}, inner, None, 13, None, sizes=few)
    yield of(
        "LayerNormalization", [2, 3], {"s": [3]}, inner, None, 17, None, results=["y", "mean"], sizes=few
    )
    yield of("LayerNormalization", [2, 3], {"s": [3]}, inner, None, 17, None, dtype="float16", sizes=few)
    yield of(
        "LayerNormalization",
        [2, 3],
        {"s": [3]},
        casts,
        None,
        17,
        None,
        {"stash_type": 10},
        dtype="float16",
        sizes=few,
    )
    yield of("LayerNormalization", [2, 3], {"s": [3]}, inner, None, 17, None, options=("--exact",), sizes=few)
    yield of("LayerNormalization", [2, 3], {"s": [3]}, inner, None, 17, None, options=("-O1",), sizes=few)
    yield of("LayerNormalization", [2, 3], {"s": [3]}, inner[:-1], None, 17, None, sizes=few)
