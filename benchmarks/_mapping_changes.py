"""Changes of a graph that keep what it computes and record which operator became which; those that need no
other program. Each takes a Subject and gives (model, truth), or None where there is nothing to change; truth
is
a list of (operators before, operators after), an empty side for what came or went."""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from _mapping_graph import Operators, attributes, first_result, is_own_opset, reads

CHANGES = {}


def change(f):
    CHANGES[f.__name__] = f
    return f


class Subject:
    """A model to change. `runs` are the numbers of its values at several sizes (executed()), the first at the
    default ones; `draw` is a random.Random."""

    def __init__(self, model, runs, draw):
        self.model, self.values, self.draw = model, runs[0], draw
        self.operators = Operators(model)
        self.constants = {k: t for k, t in self.operators.constants.items() if t is not None}
        self.opset = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0)
        self.ends = {x.name for x in [*model.graph.input, *model.graph.output]}
        self.shapes = {}
        for name, v in self.values.items():
            if isinstance(v, np.ndarray):
                others = [r[name].shape for r in runs[1:] if isinstance(r.get(name), np.ndarray)]
                same_rank = all(len(s) == v.ndim for s in others)
                dims = (
                    [d if all(s[k] == d for s in others) else None for k, d in enumerate(v.shape)]
                    if same_rank
                    else None
                )
                self.shapes[name] = (v.dtype, dims)
        for name, t in self.constants.items():
            if t.data_type != TensorProto.STRING:
                self.shapes[name] = (helper.tensor_dtype_to_np_dtype(t.data_type), list(t.dims))
        self.uses = {}
        for n in model.graph.node:
            for x in reads(n):
                self.uses[x] = self.uses.get(x, 0) + 1

    def array(self, name):
        return numpy_helper.to_array(self.constants[name])

    def dtype(self, name):
        return self.shapes[name][0] if name in self.shapes else None

    def dims(self, name):
        """The extents of a value, None for one that varies; None when even their number is unknown."""
        return self.shapes[name][1] if name in self.shapes else None

    def rank(self, name):
        dims = self.dims(name)
        return None if dims is None else len(dims)

    def is_float(self, *names):
        return all(self.dtype(x) == np.float32 for x in names)


class Writer:
    """The changed model as it grows."""

    def __init__(self, subject):
        self.subject, self.nodes, self.tensors, self.truth, self.made = subject, [], [], [], 0

    def name(self):
        self.made += 1
        return f"made_{self.made}"

    def constant(self, array):
        self.tensors.append(numpy_helper.from_array(np.asarray(array), self.name()))
        return self.tensors[-1].name

    def keep(self, node):
        self.nodes.append(onnx.NodeProto.FromString(node.SerializeToString()))
        self.truth.append(((first_result(node),), (first_result(node),)))
        return self.nodes[-1]

    def add(self, kind, inputs, result=None, domain="", **given):
        self.nodes.append(helper.make_node(kind, inputs, [result or self.name()], domain=domain, **given))
        return self.nodes[-1].output[0]

    def insert(self, kind, inputs, result=None, **given):
        """Adds an operator that belongs to none of the operators before."""
        name = self.add(kind, inputs, result, **given)
        self.truth.append(((), (name,)))
        return name

    def became(self, node, begin):
        """The nodes from number `begin` on stand for `node`."""
        self.truth.append(((first_result(node),), tuple(first_result(n) for n in self.nodes[begin:])))

    def reduce(self, kind, value, axes, result=None):
        if self.subject.opset >= (13 if kind == "ReduceSum" else 18):
            return self.add(kind, [value, self.constant(np.array(axes, np.int64))], result, keepdims=1)
        return self.add(kind, [value], result, axes=list(axes), keepdims=1)

    def finish(self):
        model = onnx.ModelProto.FromString(self.subject.model.SerializeToString())
        del model.graph.node[:]
        model.graph.node.extend(self.nodes)
        model.graph.initializer.extend(self.tensors)
        del model.graph.value_info[:]
        return model, self.truth


def copied(model):
    return onnx.ModelProto.FromString(model.SerializeToString())


def unchanged(subject):
    """The truth that every operator of the main graph became the one of its name."""
    return [((first_result(n),), (first_result(n),)) for n in subject.model.graph.node]


@change
def rename(subject):
    return copied(subject.model), unchanged(subject)


@change
def insert(subject, share=0.08):
    """Identity, Cast to the same type or Reshape to the same shape after a share of the results; none beside
    an
    operator of its own kind, where nobody could tell the two apart."""
    w, instead, beside = Writer(subject), {}, {}
    for n in subject.model.graph.node:
        for x in [*reads(n), *n.output]:
            beside.setdefault(x, set()).add(n.op_type)
    fit = [
        n.output[0]
        for n in subject.model.graph.node
        if len(n.output) == 1 and is_target(subject, n.output[0])
    ]
    if not fit:
        return None
    chosen = set(subject.draw.sample(fit, max(1, round(share * len(fit)))))
    for n in subject.model.graph.node:
        kept = w.keep(n)
        renamed = [instead.get(x, x) for x in kept.input]
        del kept.input[:]
        kept.input.extend(renamed)
        o = first_result(n)
        if o not in chosen:
            continue
        kinds = {"Identity", "Cast", "Reshape"} - beside[o]
        if not subject.dims(o):
            kinds.discard("Reshape")
        kind = subject.draw.choice(sorted(kinds) or ["none"])
        if kind == "Cast":
            instead[o] = w.insert(kind, [o], to=helper.np_dtype_to_tensor_dtype(subject.dtype(o)))
        elif kind == "Reshape":
            shape = w.constant(np.zeros(subject.rank(o), np.int64))  # 0: as it is
            instead[o] = w.insert(kind, [o, shape])
        elif kind == "Identity":
            instead[o] = w.insert(kind, [o])
    return w.finish()


def is_target(subject, name):
    dtype = subject.dtype(name)
    if name in subject.ends or name in subject.constants or dtype is None or subject.dims(name) is None:
        return False
    return dtype.kind in "fiub" and dtype.itemsize < 16


@change
def weights(subject):
    """Other numbers in every float tensor that looks learned: another checkpoint of the model."""
    model, rng, touched = copied(subject.model), np.random.default_rng(1), 0
    tensors = [*model.graph.initializer]
    tensors += [
        n.attribute[0].t for n in model.graph.node if n.op_type == "Constant" and n.attribute[0].HasField("t")
    ]
    for t in tensors:
        if t.data_type not in (TensorProto.FLOAT, TensorProto.FLOAT16) or np.prod(t.dims) < 16:
            continue
        a = numpy_helper.to_array(t)
        far = np.abs(a.astype(np.float64)).max()
        if 0 < far < 1e4 and np.isfinite(far):
            moved = a * (1 + 0.1 * rng.standard_normal(a.shape)) + 0.01 * far * rng.random(a.shape) * np.sign(
                a
            )
            t.CopyFrom(numpy_helper.from_array(moved.astype(a.dtype), t.name))
            touched += 1
    return (model, unchanged(subject)) if touched else None


# --- primitives ---------------------------------------------------------------------------------------------


def gemm(s, w, n, given):
    if given.get("alpha", 1) != 1 or given.get("beta", 1) != 1 or given.get("transA", 0):
        return False
    x, weight, result = n.input[0], n.input[1], n.output[0]
    if given.get("transB", 0):
        if weight in s.constants:
            weight = w.constant(np.ascontiguousarray(s.array(weight).T))
        else:
            weight = w.add("Transpose", [weight], perm=[1, 0])
    if len(n.input) > 2 and n.input[2]:
        w.add("Add", [w.add("MatMul", [x, weight]), n.input[2]], result)
    else:
        w.add("MatMul", [x, weight], result)
    return True


def layer_normalization(s, w, n, given):
    if len([o for o in n.output if o]) != 1 or s.rank(n.input[0]) is None:
        return False
    x, rank, axis = n.input[0], s.rank(n.input[0]), given.get("axis", -1)
    axes = list(range(axis % rank, rank))
    centred = w.add("Sub", [x, w.reduce("ReduceMean", x, axes)])
    variance = w.reduce("ReduceMean", w.add("Mul", [centred, centred]), axes)
    epsilon = w.constant(np.float32(given.get("epsilon", 1e-5)))
    scaled = w.add("Div", [centred, w.add("Sqrt", [w.add("Add", [variance, epsilon])])])
    if len(n.input) > 2 and n.input[2]:
        w.add("Add", [w.add("Mul", [scaled, n.input[1]]), n.input[2]], n.output[0])
    else:
        w.add("Mul", [scaled, n.input[1]], n.output[0])
    return True


def gelu(s, w, n, given):
    if given.get("approximate", b"none") != b"none":
        return False
    x = n.input[0]
    erf = w.add("Erf", [w.add("Div", [x, w.constant(np.float32(np.sqrt(2)))])])
    product = w.add("Mul", [x, w.add("Add", [erf, w.constant(np.float32(1))])])
    w.add("Mul", [product, w.constant(np.float32(0.5))], n.output[0])
    return True


def hard_swish(s, w, n, given):
    w.add("Mul", [n.input[0], w.add("HardSigmoid", [n.input[0]], alpha=1 / 6, beta=0.5)], n.output[0])
    return True


def scale_and_shift(s, n, given):
    """What a BatchNormalization with constant operands multiplies by and adds; None for another one."""
    if any(x not in s.constants for x in n.input[1:5]) or len([o for o in n.output if o]) != 1:
        return None
    scale, bias, mean, variance = (s.array(x).astype(np.float64) for x in n.input[1:5])
    factor = scale / np.sqrt(variance + given.get("epsilon", 1e-5))
    return factor, bias - mean * factor


def batch_normalization(s, w, n, given):
    found = scale_and_shift(s, n, given)
    if found is None or s.rank(n.input[0]) is None:
        return False
    shape = (-1,) + (1,) * (s.rank(n.input[0]) - 2)
    factor, shift = (w.constant(v.reshape(shape).astype(np.float32)) for v in found)
    w.add("Add", [w.add("Mul", [n.input[0], factor]), shift], n.output[0])
    return True


def softmax(s, w, n, given):
    x, rank = n.input[0], s.rank(n.input[0])
    if rank is None:
        return False
    axis = given.get("axis", -1 if s.opset >= 13 else 1)
    if s.opset < 13 and axis % rank != rank - 1:
        return False
    powers = w.add("Exp", [w.add("Sub", [x, w.reduce("ReduceMax", x, [axis % rank])])])
    w.add("Div", [powers, w.reduce("ReduceSum", powers, [axis % rank])], n.output[0])
    return True


def hard_sigmoid(s, w, n, given):
    alpha, beta = (w.constant(np.float32(given.get(k, d))) for k, d in (("alpha", 0.2), ("beta", 0.5)))
    line = w.add("Add", [w.add("Mul", [n.input[0], alpha]), beta])
    w.add("Min", [w.add("Relu", [line]), w.constant(np.float32(1))], n.output[0])
    return True


def instance_normalization(s, w, n, given):
    x, rank = n.input[0], s.rank(n.input[0])
    if rank is None or any(v not in s.constants for v in n.input[1:3]):
        return False
    axes, shape = list(range(2, rank)), (-1,) + (1,) * (rank - 2)
    centred = w.add("Sub", [x, w.reduce("ReduceMean", x, axes)])
    variance = w.reduce("ReduceMean", w.add("Mul", [centred, centred]), axes)
    root = w.add("Sqrt", [w.add("Add", [variance, w.constant(np.float32(given.get("epsilon", 1e-5)))])])
    scale, bias = (w.constant(s.array(v).reshape(shape)) for v in n.input[1:3])
    w.add("Add", [w.add("Mul", [w.add("Div", [centred, root]), scale]), bias], n.output[0])
    return True


PRIMITIVES = {
    "Gemm": gemm,
    "LayerNormalization": layer_normalization,
    "Gelu": gelu,
    "HardSwish": hard_swish,
    "BatchNormalization": batch_normalization,
    "Softmax": softmax,
    "HardSigmoid": hard_sigmoid,
    "InstanceNormalization": instance_normalization,
}


def rewritten(subject, rules, share=1.0):
    """The model after rules {operator: rule(subject, writer, node, attributes)}; a rule adds what stands for
    the node and gives whether it did. None when no rule fits anywhere."""
    w, done = Writer(subject), 0
    for n in subject.model.graph.node:
        rule = rules.get(n.op_type) if is_own_opset(n) or n.op_type == "Gelu" else None
        begin, fits = len(w.nodes), False
        if rule and first_result(n) in subject.operators.nodes and subject.draw.random() <= share:
            fits = rule(subject, w, n, attributes(n))
        if fits:
            w.became(n, begin)
            done += 1
        else:
            w.keep(n)
    return w.finish() if done else None


@change
def decompose(subject):
    """Operators with a meaning of their own into primitives."""
    floats = {
        k: lambda s, w, n, a, f=f: s.is_float(n.input[0]) and f(s, w, n, a) for k, f in PRIMITIVES.items()
    }
    return rewritten(subject, floats)


@change
def fuse_bn(subject):
    """Conv and BatchNormalization into a Conv with other weights."""
    s, w, nodes = subject, Writer(subject), subject.model.graph.node
    maker, fused = {o: n for n in nodes for o in n.output}, {}
    for n in nodes:
        conv = maker.get(n.input[0]) if n.op_type == "BatchNormalization" else None
        if conv is None or conv.op_type != "Conv" or s.uses[conv.output[0]] != 1 or conv.output[0] in s.ends:
            continue
        if all(x in s.constants for x in conv.input[1:] if x) and (
            found := scale_and_shift(s, n, attributes(n))
        ):
            fused[conv.output[0]] = found
    for n in nodes:
        if first_result(n) in fused:
            continue
        if n.op_type != "BatchNormalization" or n.input[0] not in fused:
            w.keep(n)
            continue
        conv, (factor, shift) = maker[n.input[0]], fused[n.input[0]]
        weight = s.array(conv.input[1])
        bias = s.array(conv.input[2]) if len(conv.input) > 2 and conv.input[2] else 0.0
        scaled = weight * factor.reshape((-1,) + (1,) * (weight.ndim - 1))
        made = onnx.NodeProto.FromString(conv.SerializeToString())
        del made.input[1:]
        made.input.extend(w.constant(v.astype(np.float32)) for v in (scaled, bias * factor + shift))
        made.output[0] = n.output[0]
        w.nodes.append(made)
        w.truth.append(((conv.output[0], n.output[0]), (n.output[0],)))
    return w.finish() if fused else None


@change
def split_bn(subject):
    """The other direction: Conv with a bias into a Conv without and a BatchNormalization with drawn
    statistics."""
    s, rng = subject, np.random.default_rng(2)

    def conv(s, w, n, given):
        constant = len(n.input) > 2 and all(x in s.constants for x in n.input[1:])
        if not constant or not s.is_float(*n.input):
            return False
        weight, bias = s.array(n.input[1]), s.array(n.input[2])
        scale, mean = (rng.uniform(0.5, 1.5, bias.shape) for _ in range(2))
        variance = rng.uniform(0.5, 2, bias.shape)
        factor = scale / np.sqrt(variance + 1e-5)
        raw = weight / factor.reshape((-1,) + (1,) * (weight.ndim - 1))
        x = w.add("Conv", [n.input[0], w.constant(raw.astype(np.float32))], **given)
        statistics = [w.constant(v.astype(np.float32)) for v in (scale, bias + mean * factor, mean, variance)]
        w.add("BatchNormalization", [x, *statistics], n.output[0], epsilon=1e-5)
        return True

    return rewritten(s, {"Conv": conv})


# --- other spellings ----------------------------------------------------------------------------------------


def as_reshape(s, w, n, given):
    """Reshape to what is known of the result; one extent at most may vary."""
    dims = s.dims(n.output[0])
    if dims is None or sum(d is None for d in dims) > 1 or 0 in dims:
        return False
    shape = np.array([-1 if d is None else d for d in dims], np.int64)
    w.add("Reshape", [n.input[0], w.constant(shape)], n.output[0])
    return True


def sub(s, w, n, given):
    a, b = n.input
    if not s.is_float(a, b):
        return False
    w.add("Add", [a, w.constant(-s.array(b)) if b in s.constants else w.add("Neg", [b])], n.output[0])
    return True


def div(s, w, n, given):
    a, b = n.input
    if not s.is_float(a, b):
        return False
    if b in s.constants:
        if not np.all(s.array(b)):
            return False
        w.add("Mul", [a, w.constant((1 / s.array(b)).astype(np.float32))], n.output[0])
    else:
        w.add("Mul", [a, w.add("Reciprocal", [b])], n.output[0])
    return True


def clip(s, w, n, given):
    low, high = given.get("min"), given.get("max")
    bounds = [x for x in n.input[1:]] + ["", ""]
    if s.opset >= 11:
        if any(x and x not in s.constants for x in bounds):
            return False
        low, high = (s.array(x) if x else None for x in bounds[:2])
    if not s.is_float(n.input[0]) or low is None or high is None:
        return False
    raised = w.add("Max", [n.input[0], w.constant(np.float32(low))])
    w.add("Min", [raised, w.constant(np.float32(high))], n.output[0])
    return True


def relu(s, w, n, given):
    if not s.is_float(n.input[0]):
        return False
    w.add("Max", [n.input[0], w.constant(np.float32(0))], n.output[0])
    return True


def power(s, w, n, given):
    if (
        not s.is_float(*n.input)
        or n.input[1] not in s.constants
        or s.array(n.input[1]).ravel().tolist() != [2.0]
    ):
        return False
    if s.array(n.input[1]).ndim > (s.rank(n.input[0]) or 0):
        return False
    w.add("Mul", [n.input[0], n.input[0]], n.output[0])
    return True


def global_pool(s, w, n, given):
    if not s.is_float(n.input[0]) or s.rank(n.input[0]) is None:
        return False
    w.reduce("ReduceMean", n.input[0], list(range(2, s.rank(n.input[0]))), n.output[0])
    return True


def as_gemm(s, w, n, given):
    if (
        not s.is_float(*n.input)
        or s.rank(n.input[0]) != 2
        or n.input[1] not in s.constants
        or s.rank(n.input[1]) != 2
    ):
        return False
    w.add(
        "Gemm", [n.input[0], w.constant(np.ascontiguousarray(s.array(n.input[1]).T))], n.output[0], transB=1
    )
    return True


def concat(s, w, n, given):
    if len(n.input) < 3:
        return False
    w.add(
        "Concat",
        [w.add("Concat", n.input[:2], axis=given["axis"]), *n.input[2:]],
        n.output[0],
        axis=given["axis"],
    )
    return True


def sigmoid_product(s, w, n, given):
    """1 / (1 + exp(-x))"""
    if not s.is_float(n.input[0]):
        return False
    powers = w.add("Exp", [w.add("Neg", [n.input[0]])])
    w.add("Reciprocal", [w.add("Add", [powers, w.constant(np.float32(1))])], n.output[0])
    return True


SPELLINGS_OF = {
    **dict.fromkeys(("Squeeze", "Unsqueeze", "Flatten"), as_reshape),
    "Sub": sub,
    "Div": div,
    "Clip": clip,
    "Relu": relu,
    "Pow": power,
    "GlobalAveragePool": global_pool,
    "MatMul": as_gemm,
    "Sigmoid": sigmoid_product,
}


@change
def respell(subject):
    """Three in four of the operators that have another spelling get it."""
    return rewritten(subject, SPELLINGS_OF, 0.75)


@change
def nested(subject):
    """Concat of three and more operands as one of two Concat, so that operands move to other slots."""
    return rewritten(subject, {"Concat": concat}, 0.75)
