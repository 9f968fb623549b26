"""Nodes with several results, for optional_results.py: from the backend cases, and made by hand for operators
and versions without such a case. ONNX Runtime runs each at every opset at which it accepts it."""

import dataclasses

import numpy as np
import onnx
from onnx import defs, helper, numpy_helper

from lib import backend_cases, runs

MICROSOFT = "com.microsoft"


@dataclasses.dataclass
class Case:
    name: str
    node: onnx.NodeProto
    feeds: dict  # by name of operand
    opset: int  # of the operator's domain; 17 for com.microsoft
    results: int  # how many the operator has at most

    def variants(self):
        """The feeds, and two more with special values among the floats of tensors."""
        yield self.feeds
        for seed in (0, 1):
            rng = np.random.default_rng(seed)
            yield {name: with_specials(value, rng) for name, value in self.feeds.items()}


def with_specials(value, rng):
    value = np.asarray(value)
    if value.dtype not in (np.float16, np.float32, np.float64) or not value.ndim:
        return value
    with np.errstate(over="ignore"):
        specials = np.array(runs.SPECIAL).astype(value.dtype)
    return np.where(rng.random(value.shape) < 0.25, rng.choice(specials, value.shape), value)


def most_results():
    """The greatest number of results, by (domain, operator) and version, of operators with two or more of a
    fixed number. com.microsoft is not in the onnx package; its numbers are ONNX Runtime's."""
    found = {}
    for s in defs.get_all_schemas_with_history():
        if 1 < s.max_output < 1000 and not s.deprecated:
            found.setdefault((s.domain, s.name), {})[s.since_version] = s.max_output
    for name, count in CONTRIB_RESULTS.items():
        found[MICROSOFT, name] = {1: count}
    found["", "SimplifiedLayerNormalization"] = {1: 2}
    return found


# Operators of com.microsoft that the fact table has with two or more results.
CONTRIB_RESULTS = {
    "Attention": 2,
    "BeamSearch": 3,
    "BiasDropout": 2,
    "DecoderMaskedMultiHeadAttention": 4,
    "DecoderMaskedSelfAttention": 2,
    "DynamicQuantizeLSTM": 3,
    "EmbedLayerNormalization": 3,
    "GroupQueryAttention": 4,
    "MultiHeadAttention": 4,
    "PagedAttention": 3,
    "QAttention": 2,
    "QEmbedLayerNormalization": 2,
    "RemovePadding": 4,
    "Sampling": 2,
    "SkipGroupNorm": 2,
    "SkipLayerNormalization": 4,
    "SkipSimplifiedLayerNormalization": 4,
    "SparseAttention": 3,
    "Unique": 3,
    "WhisperBeamSearch": 5,
}


def from_backend():
    """Backend cases of one node whose operator has several results. Cases of one operator that differ in
    nothing but values are taken once."""
    operators, seen = most_results(), set()
    for case in backend_cases.candidates(kinds=("node",), chosen=lambda name: "_expanded" not in name):
        graph = case.model.graph
        if len(graph.node) != 1 or case.model.functions:
            continue
        node = graph.node[0]
        domain = "" if node.domain == "ai.onnx" else node.domain
        versions = operators.get((domain, node.op_type))
        if versions is None:
            continue
        ins = backend_cases.inputs_of(graph)
        feeds = {v.name: backend_cases.parsed(x, v.type) for v, x in zip(ins, case.sets[0][0])}
        for t in graph.initializer:
            feeds[t.name] = numpy_helper.to_array(t)
        form = [(bool(n), getattr(feeds.get(n), "dtype", None), np.ndim(feeds.get(n))) for n in node.input]
        key = node.op_type, repr(form), repr(sorted(str(a) for a in node.attribute))
        if key in seen or not all(isinstance(x, (np.ndarray, np.generic)) for x in feeds.values()):
            continue
        seen.add(key)
        opset = next(o.version for o in case.model.opset_import if o.domain == node.domain)
        yield Case(case.name, node, feeds, opset, max(versions.values()))


def made(name, op, operands, opset=17, domain="", **attributes):
    """`operands`: arrays, None for an empty slot."""
    node = helper.make_node(
        op,
        [f"x{k}" if x is not None else "" for k, x in enumerate(operands)],
        [],
        domain=domain,
        **attributes,
    )
    feeds = {f"x{k}": x for k, x in enumerate(operands) if x is not None}
    versions = most_results()[domain, op]
    return Case(name, node, feeds, opset, max(versions.values()))


def by_hand():
    rng = np.random.default_rng(0)

    def f(*shape):
        return rng.standard_normal(shape).astype(np.float32)

    x, c = f(2, 3, 4), [f(3) for _ in range(4)]
    c[3] = np.abs(c[3])
    yield made("batchnorm_old", "BatchNormalization", [x, *c], opset=9)
    for mode in (0, 1):
        yield made(f"batchnorm_{mode}", "BatchNormalization", [x, *c], opset=15, training_mode=mode)
    yield made("dropout_old", "Dropout", [x], opset=10, ratio=0.5)
    for train in (False, True):
        ratio = np.array(0.5, np.float32)
        yield made(f"dropout_{train}", "Dropout", [x, ratio, np.array(train)], opset=13, seed=3)
    yield made("dropout_without_ratio", "Dropout", [x, None, np.array(True)], opset=13, seed=3)
    yield made("maxpool", "MaxPool", [f(1, 2, 6)], opset=8, kernel_shape=[2])
    yield made("unique", "Unique", [np.array([3, 1, 3, 2], np.int64)], opset=11)
    yield made("unique_axis", "Unique", [np.array([[3, 1], [3, 1]], np.int64)], opset=11, axis=0)
    for axis in (-1, 1):
        yield made(f"layernorm_{axis}", "LayerNormalization", [x, f(4), f(4)], axis=axis)
    # recurrences: X (length, batch, input), W, R, B, sequence_lens, initial states
    lens = np.array([2, 1], np.int32)
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        for direction, n in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
            state = [f(n, 2, 5)] * (2 if op == "LSTM" else 1)
            base = [f(2, 2, 3), f(n, gates * 5, 3), f(n, gates * 5, 5)]
            full = [*base, f(n, gates * 10), lens, *state]
            for opset in (7, 14, 22):
                for form, operands in (("plain", base), ("full", full)):
                    yield made(
                        f"{op}_{direction}_{form}_{opset}",
                        op,
                        operands,
                        opset,
                        hidden_size=5,
                        direction=direction,
                    )
    yield made("simplified_norm", "SimplifiedLayerNormalization", [x, f(4)], opset=14, axis=-1)
    q = [f(1, 2, 3, 4) for _ in range(3)]
    past = [f(1, 2, 5, 4) for _ in range(2)]
    for opset in (23, 24):
        for mode in range(4):
            mask = f(3, 8)
            yield made(f"attention_{opset}_{mode}", "Attention", q, opset, qk_matmul_output_mode=mode)
            yield made(
                f"attention_past_{opset}_{mode}",
                "Attention",
                [*q, None, *past],
                opset,
                qk_matmul_output_mode=mode,
            )
            yield made(
                f"attention_mask_past_{opset}_{mode}",
                "Attention",
                [*q, mask, *past],
                opset,
                qk_matmul_output_mode=mode,
            )
    flat = [f(1, 3, 8) for _ in range(3)]
    heads = dict(q_num_heads=2, kv_num_heads=2)
    yield made("attention_flat", "Attention", flat, 23, **heads)
    yield made("attention_flat_past", "Attention", [*flat, None, *past], 23, **heads)
    scores, labels = f(3, 5), np.array([1, 2, 4])
    yield made("cross_entropy", "SoftmaxCrossEntropyLoss", [scores, labels], opset=13)
    yield from contrib(f)


def contrib(f):
    """Operators of com.microsoft."""
    x, skip, gamma = f(2, 3, 4), f(2, 3, 4), f(4)
    for form, rest in (("", []), ("_beta", [f(4)]), ("_bias", [f(4), f(4)]), ("_bias_alone", [None, f(4)])):
        operands = [x, skip, gamma, *rest]
        yield made(f"skip_norm{form}", "SkipLayerNormalization", operands, domain=MICROSOFT)
    for form, rest in (("", []), ("_bias", [f(4)])):
        operands = [x, skip, gamma, *rest]
        yield made(f"skip_rms{form}", "SkipSimplifiedLayerNormalization", operands, domain=MICROSOFT)
    ids = np.array([[1, 0]], np.int32)
    tables = [f(3, 4), f(2, 4), f(2, 4), f(4), f(4)]
    mask = np.array([[1, 0]], np.int32)
    places = np.array([[1, 0]], np.int32)
    bare = [ids, None, tables[0], tables[1], None, *tables[3:]]
    for form, operands in (
        ("", [ids, ids, *tables]),
        ("_mask", [ids, ids, *tables, mask]),
        ("_positions", [ids, ids, *tables, None, places]),
        ("_without_segments", bare),
        ("_without_segments_mask", [*bare, mask]),
    ):
        for kind in ({}, {"mask_index_type": 0}, {"mask_index_type": 1}):
            name = f"embed_norm{form}_{len(kind)}{sum(kind.values())}"
            yield made(name, "EmbedLayerNormalization", operands, domain=MICROSOFT, **kind)
    one, zero = np.array(0.1, np.float32), np.array(0, np.uint8)
    bytes_of = [np.arange(t.size, dtype=np.uint8).reshape(t.shape) for t in tables]
    operands = [ids, ids, *bytes_of, None, *[one] * 5, *[zero] * 5]
    yield made("quantized_embed_norm", "QEmbedLayerNormalization", operands, domain=MICROSOFT)
    weights = [np.arange(1 * 3 * 20, dtype=np.uint8).reshape(1, 3, 20)]
    weights += [np.arange(1 * 5 * 20, dtype=np.uint8).reshape(1, 5, 20)]
    scales = [np.array([0.01], np.float32), np.array([3], np.uint8)] * 2
    lstm = [f(2, 2, 3), *weights, None, None, None, None, None, *scales]
    yield made("quantized_lstm", "DynamicQuantizeLSTM", lstm, domain=MICROSOFT, hidden_size=5)
    yield made("unique_floats", "Unique", [f(5)], domain=MICROSOFT)
    wide = f(1, 2, 8), f(8, 24), f(24)
    past = f(2, 1, 2, 3, 4)
    for form, rest in (("", []), ("_past", [None, past])):
        yield made(f"ms_attention{form}", "Attention", [*wide, *rest], domain=MICROSOFT, num_heads=2)
    qkv = [f(1, 2, 8) for _ in range(3)]
    keys = [f(1, 2, 3, 4) for _ in range(2)]
    for form, rest in (("", []), ("_past", [None, None, None, *keys])):
        yield made(f"mha{form}", "MultiHeadAttention", [*qkv, *rest], domain=MICROSOFT, num_heads=2)
    lengths = [np.array([4], np.int32), np.array(5, np.int32)]
    yield made(
        "gqa", "GroupQueryAttention", [*qkv, *keys, *lengths], domain=MICROSOFT, num_heads=2, kv_num_heads=2
    )
    small = np.arange(8 * 24, dtype=np.uint8).reshape(8, 24)
    data = np.arange(16, dtype=np.uint8).reshape(1, 2, 8)
    operands = [data, small, f(24), np.array(0.1, np.float32), np.array(0.1, np.float32)]
    yield made("quantized_attention", "QAttention", operands, domain=MICROSOFT, num_heads=2)
