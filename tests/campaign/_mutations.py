"""Mutations of small models from a seeded stream: of bytes, of the wire format's structure, and of text."""

import copy
import random
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

sys.path.insert(0, str(Path(__file__).parent.parent / "property"))
import _graphs  # noqa: E402

NUMBERS = [0, 1, 2, 127, 128, 255, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]


# --- what is mutated ----------------------------------------------------------------------------------------


def rich_model():
    """A model with one of everything for which the loader has code of its own."""
    node, info, opset = helper.make_node, helper.make_tensor_value_info, helper.make_opsetid
    F = TensorProto.FLOAT
    w = numpy_helper.from_array(np.arange(4, dtype=np.float32), "w")
    listed = helper.make_tensor("listed", F, [4], [1, 2, 3, 4])
    words = helper.make_tensor("words", TensorProto.STRING, [2], [b"a", b"b"])
    nibbles = TensorProto(name="nibbles", data_type=TensorProto.INT4, dims=[3], raw_data=b"\x21\x03")
    sparse = helper.make_sparse_tensor(
        helper.make_tensor("sp", F, [1], [5.0]), helper.make_tensor("spi", TensorProto.INT64, [1], [2]), [4]
    )
    then = helper.make_graph([node("Add", ["x", "w"], ["t"])], "then", [], [info("t", F, [4])])
    other = helper.make_graph(
        [node("Neg", ["inner"], ["e"])],
        "else",
        [],
        [info("e", F, [4])],
        [numpy_helper.from_array(np.ones(4, np.float32), "inner")],
    )
    body = helper.make_graph(
        [node("Identity", ["go"], ["go_on"]), node("Add", ["s", "w"], ["s_out"])],
        "body",
        [info("i", 7, []), info("go", 9, []), info("s", F, [4])],
        [info("go_on", 9, []), info("s_out", F, [4])],
    )
    f = helper.make_function(
        "my",
        "Twice",
        ["a"],
        ["b"],
        [node("Add", ["a", "a"], ["h"]), node("LeakyRelu", ["h"], ["b"])],
        [opset("", 17)],
        ["slope"],
    )
    f.node[1].attribute.add(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    nodes = [
        node("If", ["c"], ["p"], then_branch=then, else_branch=other),
        node("Loop", ["n", ""], ["q"], body=body),
        node("Shape", ["x"], ["sh"]),
        node("Reshape", ["q", "sh"], ["r"]),
        node("Twice", ["r"], ["u"], domain="my", slope=0.5),
        node("Sum", ["u", "p", "listed", "sp"], ["y"]),
        node("Identity", ["words"], ["z"]),
    ]
    nodes[1].input.append("p")
    value = info("p", F, [4])
    m = helper.make_model(
        helper.make_graph(
            nodes,
            "g",
            [info("x", F, ["batch"]), info("c", 9, []), info("w", F, [4])],
            [info("y", F, ["batch"]), info("z", 8, [2])],
            [w, listed, words, nibbles, numpy_helper.from_array(np.array(3), "n")],
            sparse_initializer=[sparse],
            value_info=[value],
            doc_string="doc",
        ),
        ir_version=9,
        opset_imports=[opset("", 17), opset("my", 1)],
        functions=[f],
    )
    helper.set_model_props(m, {"key": "value"})
    m.graph.quantization_annotation.add(tensor_name="w").quant_parameter_tensor_names.add(
        key="SCALE_TENSOR", value="w"
    )
    return m


def external_model():
    m = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 17]> g (float[4] x) => (float[4] y) { y = Add (x, w) }'
    )
    t = m.graph.initializer.add(name="w", data_type=1, dims=[4], data_location=TensorProto.EXTERNAL)
    for key, value in dict(location="data.bin", offset="0", length="16").items():
        t.external_data.add(key=key, value=value)
    return m


TEXTS = [
    """<ir_version: 8, opset_import: ["" : 17], producer_name: "p", metadata_props: ["k": "v"]>
g (float[batch,3] x, bool c) => (float[batch,3] y)
<float[3] w = {1, -2.5, 0.5}, int64[1] one = {1}>
{
  a = Constant <value = float[3] {3, 4, 5}> ()
  [named] b = If (c) < then_branch = t () => (float[batch,3] p) { p = Add (x, w) }, \
else_branch = e () => (float[batch,3] p) { p = Mul (x, a) } >
  s = Shape <start = 0, end = 2> (b)
  y = Reshape (b, s)
}
""",
    """<ir_version: 9, opset_import: ["" : 19, "local" : 1]>
agraph (seq(float[N]) s, optional(float[2]) o, int64[2] k) => (float[N] y, string[1] z)
{ i = Constant <value_int = 0> ()
  e = SequenceAt (s, i)
  y = local.f <alpha: float = 0.5> (e)
  z = Constant <value = string[1] {"text \\" with quotes"}> () }
<domain: "local", opset_import: ["" : 19]>
f <alpha> (x) => (r) { r = LeakyRelu <alpha: float = @alpha> (x) }
""",
]


def corpus():
    """(binary models, text models), all small."""
    models = [rich_model(), external_model()]
    for seed in (3, 8, 11, 13, 21, 34, 55, 89, 144):
        model, _ = _graphs.make(seed)
        models.append(model)
    binaries = [m.SerializeToString() for m in models]
    texts = [t.encode() for t in TEXTS]
    for m in models[2:5]:
        try:
            texts.append(onnx.printer.to_text(m).encode())
        except Exception:  # noqa: BLE001 - what the printer cannot print
            continue
    return [b for b in binaries if len(b) < 16000], texts


# --- the wire format as a tree ------------------------------------------------------------------------------


def read_varint(data, at):
    value = shift = 0
    while at < len(data) and shift < 70:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at
    return None, at


def varint(value):
    out = bytearray()
    while True:
        out.append(value & 127 | (128 if value > 127 else 0))
        value >>= 7
        if not value:
            return bytes(out)


def parse(data, depth=0):
    """[[key, payload or list of fields]], or None when the bytes are no message."""
    fields, at = [], 0
    while at < len(data):
        key, at = read_varint(data, at)
        if key is None or key >> 3 == 0 or key >> 3 > 100:
            return None
        kind = key & 7
        if kind == 0:
            start = at
            value, at = read_varint(data, at)
            if value is None:
                return None
            fields.append([key, data[start:at]])
        elif kind in (1, 5):
            n = 8 if kind == 1 else 4
            if at + n > len(data):
                return None
            fields.append([key, data[at : at + n]])
            at += n
        elif kind == 2:
            n, at = read_varint(data, at)
            if n is None or at + n > len(data):
                return None
            payload = data[at : at + n]
            at += n
            inner = parse(payload, depth + 1) if n > 1 and depth < 12 else None
            fields.append([key, inner if inner else payload])
        else:
            return None
    return fields


def write(fields):
    out = bytearray()
    for key, payload in fields:
        content = write(payload) if isinstance(payload, list) else payload
        out += varint(key)
        if key & 7 == 2:
            out += varint(len(content))
        out += content
    return bytes(out)


def lists(fields):
    out = [fields]
    for _, payload in fields:
        if isinstance(payload, list):
            out += lists(payload)
    return out


def restructured(rng, data, other):
    """Fields that go, come twice, change places, values, types, or come from another model; all lengths
    right."""
    tree, source = parse(data), parse(other)
    if not tree or not source:
        return data
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        fields = rng.choice(lists(tree))
        if not fields:
            continue
        i = rng.randrange(len(fields))
        key, payload = fields[i]
        what = rng.randrange(9)
        if what == 0:
            del fields[i]
        elif what == 1:
            fields.insert(rng.randint(0, len(fields)), copy.deepcopy([key, payload]))
        elif what == 2:
            j = rng.randrange(len(fields))
            fields[i], fields[j] = fields[j], fields[i]
        elif what == 3:
            fields[i] = [rng.randint(1, 30) << 3 | key & 7, payload]
        elif what == 4:
            same = [f for fs in lists(source) for f in fs if f[0] == key]
            if same:
                fields[i] = copy.deepcopy(rng.choice(same))
        elif what == 5:
            same = [f for fs in lists(tree) for f in fs if f[0] == key]
            fields[i] = copy.deepcopy(rng.choice(same))
        elif what == 6 and key & 7 == 0:
            fields[i] = [key, varint(rng.choice(NUMBERS) if rng.random() < 0.6 else rng.randrange(64))]
        elif what == 7 and key & 7 == 2 and isinstance(payload, bytes):
            fields[i] = [
                key,
                rng.choice(
                    [
                        b"",
                        payload + b"x",
                        payload[:-1],
                        payload * 2,
                        b"\xff\xfe",
                        varint(rng.choice(NUMBERS)),
                        bytes(rng.randrange(40)),
                    ]
                ),
            ]
        else:  # one more of a field that is there, or an unknown one
            fields.insert(
                i,
                rng.choice(
                    [
                        [120 << 3, b"\x01"],
                        [rng.randint(1, 25) << 3 | 2, b"v1"],
                        [rng.randint(1, 25) << 3, varint(rng.choice(NUMBERS))],
                    ]
                ),
            )
    return write(tree)


# --- bytes and text -----------------------------------------------------------------------------------------


def bytes_changed(rng, data, other):
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 8])):
        if not data:
            return b""
        at = rng.randrange(len(data))
        what = rng.randrange(9)
        if what <= 1:
            data[at] ^= 1 << rng.randrange(8)
        elif what == 2:
            data[at] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        elif what == 3:
            data[at:at] = bytes(rng.randrange(256) for _ in range(rng.choice([1, 1, 2, 8])))
        elif what == 4:
            del data[at : at + rng.choice([1, 1, 2, 8, 64])]
        elif what == 5:  # a varint that grows
            data[at] |= 128
            data[at + 1 : at + 1] = rng.choice(
                [b"\x00", b"\x01", b"\x7f", b"\xff\xff\xff\xff\xff\xff\xff\xff\x01", b"\x80" * 9 + b"\x00"]
            )
        elif what == 6:  # a length that lies
            data[at] = (data[at] + rng.choice([1, -1, 2, 16, 64])) & 255
        elif what == 7:  # some bytes twice
            end = at + rng.choice([2, 8, 32, 128])
            data[at:at] = data[at:end]
        else:  # some bytes of another model
            start = rng.randrange(len(other))
            data[at : at + rng.choice([0, 8, 64])] = other[start : start + rng.choice([4, 16, 64, 256])]
    return bytes(data)


def text_changed(rng, data, other):
    text = bytearray(data)
    tokens = [
        b"(",
        b")",
        b"{",
        b"}",
        b"<",
        b">",
        b"[",
        b"]",
        b",",
        b"=",
        b"=>",
        b"@",
        b'"',
        b":",
        b"999999999999999999999",
        b"-1",
        b"1e999",
        b"float",
        b"int64",
        b"Constant",
        b"\x00",
        b"\xff",
        b"%",
        b"//",
        b"seq(",
        b"optional(",
        b"map(int64, ",
        b"string",
        b"If",
        b"x",
        b"y",
        b"w",
    ]
    for _ in range(rng.choice([1, 1, 2, 3])):
        if not text:
            return b""
        at = rng.randrange(len(text))
        what = rng.randrange(7)
        if what == 0:
            del text[at : at + rng.choice([1, 2, 5, 30])]
        elif what == 1:
            text[at:at] = rng.choice(tokens)
        elif what == 2:
            text[at : at + 1] = rng.choice(tokens)
        elif what == 3:
            end = at + rng.choice([3, 10, 80])
            text[at:at] = text[at:end]
        elif what == 4:
            start = rng.randrange(len(other))
            text[at:at] = other[start : start + rng.choice([5, 40])]
        elif what == 5:
            del text[at:]
        else:
            text[at:at] = rng.choice(tokens) * rng.choice([3, 50, 2000])
    return bytes(text)


def mutation(seed, i, binaries, texts):
    """Number i of the stream: (what kind, bytes). It depends on nothing but seed and i."""
    rng = random.Random(f"{seed}/{i}")
    if rng.random() < 0.2:
        return "text", text_changed(rng, rng.choice(texts), rng.choice(texts))
    data, other = rng.choice(binaries), rng.choice(binaries)
    what = rng.random()
    if what < 0.45:
        return "structure", restructured(rng, data, other)
    if what < 0.9:
        return "bytes", bytes_changed(rng, data, other)
    if what < 0.95:
        cut = rng.randrange(len(other))
        return "splice", data[: rng.randrange(len(data))] + other[cut:]
    return "truncation", data[: rng.randrange(len(data))]
