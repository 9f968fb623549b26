"""Sentences of support tables as conditions.

A sentence is a function of an operator's schema: it gives a list of sets of conditions, one of which must
hold. What no pattern knows, or what a profile cannot express, is None: then the operator gets no rule at all,
since a profile may be stricter than its table and never looser. A name that a version does not have (an input
that was an attribute before) makes no condition there; a name that no version has is None.
"""

import re

from _profile import alternatives
from _schemas import KNOWN_VALUES, dtypes, versions

SYNONYMS = {
    "weight": ["W", "w"],
    "weights": ["W", "w"],
    "bias": ["B"],
    "biases": ["B"],
    "splits": ["split"],
    "attn_mask": ["mask"],
}
NOTHING = [{}]


def find(operands, word):
    """The index of an operand by its name; None when there is none."""
    names = [o.name for o in operands]
    lower = [n.lower() for n in names]
    for candidate in [word, *SYNONYMS.get(word.lower(), [])]:
        if candidate in names:
            return names.index(candidate)
    return lower.index(word.lower()) if lower.count(word.lower()) == 1 else None


def known(schema, word):
    """Whether some version of the operator has an input, output or attribute of this name."""
    for other in versions(schema.domain, schema.name):
        if find(other.inputs, word) is not None or find(other.outputs, word) is not None:
            return True
        if word in other.attributes:
            return True
    return False


def on_inputs(schema, words, condition):
    found = {}
    for word in words:
        index = find(schema.inputs, word)
        if index is not None:
            found[index] = condition
        elif not known(schema, word):
            return None
    return [{"inputs": found}] if found else NOTHING


def on_outputs(schema, words, condition):
    found = {}
    for word in words:
        index = find(schema.outputs, word)
        if index is not None:
            found[index] = condition
        elif not known(schema, word):
            return None
    return [{"outputs": found}] if found else NOTHING


def on_attribute(schema, name, condition):
    if name in schema.attributes:
        return [{"attributes": {name: condition}}]
    return NOTHING


def names_in(text):
    """'a', 'b', and 'c'; `a`/`b`; a, b or c; a and c"""
    quoted = re.findall(r"['`\"]([\w.]+)['`\"]", text)
    return quoted or [w for w in re.split(r"[/,\s]+|\band\b|\bor\b", text) if w]


def scalar(text):
    text = text.strip("'`\" ")
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return int(float(text)) if float(text).is_integer() else float(text)
    except ValueError:
        return text


def others(schema, name, value):
    values = KNOWN_VALUES.get((schema.name, name))
    return values and [v for v in values if v != value]


def spatial(schema, ranks):
    """Conditions on the ranks of the data, and of the weights where there are some."""
    return [{"inputs": {0: {"ranks": ranks}}}]


def scales_and_zero_points(schema):
    found = {
        i: {"constant": True} for i, o in enumerate(schema.inputs) if re.search("scale|zero_point", o.name)
    }
    return [{"inputs": found}] if found else None


def ranks_of(dims):
    """'1D/2D' -> [3, 4]: batch and channel beside the spatial ones."""
    spatial_dims = [int(d) for d in re.findall(r"(\d)D", dims)]
    return [min(spatial_dims) + 2, max(spatial_dims) + 2]


def equals(schema, text):
    """transA == 0, alpha == 1.0 and beta == 1.0"""
    pairs = re.findall(r"['`]?(\w+)['`]? ?==? ?('\w+'|-?[\d.]+)", text)
    if not pairs:
        return None
    return alternatives(on_attribute(schema, n, {"enum": [scalar(v.rstrip("."))]}) for n, v in pairs)


def not_all(schema, text):
    """(a==x && b==y) is not supported: another value of one of them, as far as the values are known."""
    out = []
    for name, value in re.findall(r"(\w+) ?== ?(\w+)", text):
        rest = others(schema, name, scalar(value))
        if rest and name in schema.attributes:
            out.append({"attributes": {name: {"enum": rest}}})
    return out or None


def only_supports(schema, text):
    """A list after 'Only supports': each entry is a condition."""
    entries = []
    text = re.sub(
        r"input ((?:'\w+'(?:, | and )?)+) if present must be a constant", r"input-constant \1", text
    )
    for entry in re.split(r", (?=['\w-]+ (?:==|!=|value)|one output|\d-D|'linear'|input)", text):
        entry = entry.strip()
        if m := re.fullmatch(r"(\d)-D input", entry):
            found = [{"inputs": {0: {"ranks": [int(m[1])] * 2}}}]
        elif m := re.fullmatch(r"(\d)-D or (\d)-D input and '(\w+)' \(weight\)", entry):
            ranks = {"ranks": [int(m[1]), int(m[2])]}
            found = [{"inputs": {0: ranks, 1: ranks}}]
        elif m := re.fullmatch(r"(\d)-D '(\w+)'", entry):
            found = on_attribute(schema, m[2], {"length": [int(m[1])] * 2})
        elif m := re.fullmatch(r"'?(\w+)'? value is (-?[\d.]+)|'?(\w+)'? == (\S+)", entry):
            name, value = (m[1], m[2]) if m[1] else (m[3], m[4])
            found = on_attribute(schema, name, {"enum": [scalar(value)]})
        elif m := re.fullmatch(r"'?(\w+)'? != (\S+)", entry):
            rest = others(schema, m[1], scalar(m[2]))
            found = on_attribute(schema, m[1], {"enum": rest}) if rest else None
        elif entry == "one output":
            found = [{"outputs": {i: {"presence": "absent"} for i in range(1, len(schema.outputs))}}]
        elif m := re.fullmatch(r"('\w+' and '\w+') modes", entry):
            found = on_attribute(schema, "mode", {"enum": names_in(m[1])})
        elif m := re.fullmatch(r"input-constant (.*)", entry):
            found = on_inputs(schema, names_in(m[1]), {"constant": True})
        elif entry == "test mode":  # training_mode was an attribute first, and then is false by default
            found = on_inputs(schema, ["training_mode"], {"presence": "absent"})
        else:
            return None
        if found is None:
            return None
        entries.append(found)
    return alternatives(entries)


def absent_or(schema, name, condition):
    if name not in schema.attributes:
        return NOTHING
    return [{"attributes": {name: {"present": False}}}, {"attributes": {name: condition}}]


def constant(schema, words):
    return on_inputs(schema, words, {"constant": True})


def non_negative(schema, word):
    if word in schema.attributes:
        return on_attribute(schema, word, {"range": [0, None]})
    return on_inputs(schema, [word], {"value": {"range": [0, None]}})


def zero_point(schema, word):
    return on_inputs(schema, [word], {"value": {"enum": [0]}})


def activations(schema, text):
    """One of these. The two directions of a bidirectional operator must have the same ones, which a profile
    cannot say: absent, as all directions then have the same; or given, for one direction."""
    names = names_in(text)
    one_way = {"direction": {"enum": ["forward", "reverse"]}}
    return [
        {"attributes": {"activations": {"present": False}}},
        {"attributes": {"activations": {"enum": names}, **one_way}},
    ]


def one_direction(schema, _):
    return [
        {"attributes": {"activations": {"present": False}}},
        {"attributes": {"direction": {"enum": ["forward", "reverse"]}}},
    ]


def resize_modes(schema, which, text):
    name = {"transformation": "coordinate_transformation_mode", "nearest": "nearest_mode", "": "mode"}[which]
    return on_attribute(schema, name, {"enum": re.findall(r"`(\w+)`", text)})


NO_CONDITION = [
    r"`q_num_heads` and `kv_num_heads` attributes are supported via being specified as .*",
    r"(3D and 5D|\w+) support can be added if needed",
    r"Produced by ORT's .* pass",
    r"Decomposed into [^(]*",
    r"`\w+` may be a constant initializer or a runtime tensor \(MLProgram only\)",
    r"this ask for a `\w+` \(default [\w-]+\) where onnx don't provide",
    r"need perf optimization",
    r"need implementing activation",
    r"no GPU kernel",
    r"an ORT warning is generated - need to fix",
    r"`seed` value is ignored by TensorRT",
    r"(fp16|fp16, int32|3d) supported since [\d.]+",
    r"Provides 16-bit integer (de)?quantization support",
]

# The first pattern that matches the whole sentence, without its full stop.
PATTERNS = [
    (r"Antialiasing is not supported", lambda s, m: on_attribute(s, "antialias", {"enum": [0]})),
    (
        r"Both inputs must be (\w+)|Only supports cases when both inputs are (\w+)",
        lambda s, m: [{"inputs": {i: {"dtypes": dtypes([m[1] or m[2]])} for i in (0, 1)}}],
    ),
    (
        r"`(\w+)`/`(\w+)` branches must be (\w+) or (\w+)",
        lambda s, m: on_inputs(s, [m[1], m[2]], {"dtypes": dtypes([m[3], m[4]])}),
    ),
    (
        r"Only ((?:\dD/?)+) (?:Conv|Pool|Resize) is supported(?: currently)?",
        lambda s, m: spatial(s, ranks_of(m[1])),
    ),
    (r"(\dD) or (\dD) (?:\w+) only", lambda s, m: spatial(s, ranks_of(m[1] + m[2]))),
    (r"[Cc]onv(?:Transpose)?3d is not supported", lambda s, m: spatial(s, [0, 4])),
    (r"(\d)D input", lambda s, m: [{"inputs": {0: {"ranks": [int(m[1])] * 2}}}]),
    (r"Input rank up to (\d)", lambda s, m: [{"inputs": {0: {"ranks": [0, int(m[1])]}}}]),
    (
        r"Input rank must be >=(\d) & <=(\d)",
        lambda s, m: [{"inputs": {0: {"ranks": [int(m[1]), int(m[2])]}}}],
    ),
    (r"All quantization scales and zero points should be constant", lambda s, m: scales_and_zero_points(s)),
    (r"(\w+) and (\w+) (?:must|should) be constant", lambda s, m: constant(s, [m[1], m[2]])),
    (r"Input (\w+) and (\w+) should be constant", lambda s, m: constant(s, [m[1], m[2]])),
    (r"Input (\w+) (?:must|should) be constant(?: if provided)?", lambda s, m: constant(s, [m[1]])),
    (
        r"If provided, `(\w+)` must be constant|(\w+) if provided must be constant",
        lambda s, m: constant(s, [m[1] or m[2]]),
    ),
    (r"([\w/]+) must be constant initializers", lambda s, m: constant(s, m[1].split("/"))),
    (
        r"(?:Input )?'(\w+)'(?: input)?(?: \(option '\w+' for WebNN\))?(?: if present)?"
        r" (?:should|must) be a constant",
        lambda s, m: constant(s, [m[1]]),
    ),
    (
        r"Inputs? ((?:'\w+'(?:, and |, | and )?)+) if present must be a constant",
        lambda s, m: constant(s, names_in(m[1])),
    ),
    (r"`(\w+)` (?:input )?must be an? (?:initializer|constant tensor)", lambda s, m: constant(s, [m[1]])),
    (r"Scales `(\w+)` and biases `(\w+)` must be initializers", lambda s, m: constant(s, [m[1], m[2]])),
    (
        r"Input (\w+) should be constant if not (\w+) type",
        lambda s, m: constant(s, [m[1]]) + on_inputs(s, [m[1]], {"dtypes": dtypes([m[2]])}),
    ),
    (
        r"If input (\w+) is not constant, (\w+) should be (\d+)",
        lambda s, m: constant(s, [m[1]]) + on_attribute(s, m[2], {"enum": [int(m[3])]}),
    ),
    (r"Input (\w+) values should be non-negative", lambda s, m: non_negative(s, m[1])),
    (r"`(\w+_zero_point)` must be (?:zero|0)", lambda s, m: zero_point(s, m[1])),
    (
        r"Input '(\w+)' should be a constant, 0 dimension value in '\w+' is not supported",
        lambda s, m: on_inputs(s, [m[1]], {"value": {"range": [1, None]}}),
    ),
    (
        r"Only supports positive indices",
        lambda s, m: on_inputs(s, ["indices"], {"value": {"range": [0, None]}}),
    ),
    (
        r"padding_type of SAME_UPPER/SAME_LOWER is not supported",
        lambda s, m: on_attribute(s, "auto_pad", {"enum": ["NOTSET", "VALID"]}),
    ),
    (r"(\w+) must have default values", lambda s, m: on_attribute(s, m[1], {"present": False})),
    (
        r"'?(\w+)'? is not supported",
        lambda s, m: on_attribute(s, m[1], {"present": False}) if known(s, m[1]) else None,
    ),
    (r"`(\w+)` output tensor unsupported", lambda s, m: on_outputs(s, [m[1]], {"presence": "absent"})),
    (
        r"modes == '(\w+)' is not supported",
        lambda s, m: on_attribute(s, "mode", {"enum": others(s, "mode", m[1])}),
    ),
    (
        r"CoordinateTransformMode (\w+) is not supported with downsampling",
        lambda s, m: on_attribute(
            s, "coordinate_transformation_mode", {"enum": others(s, "coordinate_transformation_mode", m[1])}
        ),
    ),
    (r"Only (\w+) mode (?:\w+) is supported", lambda s, m: on_attribute(s, "mode", {"enum": [m[1]]})),
    (
        r"If '(\w+)' is '(\w+)' the input must have a fixed shape",
        lambda s, m: (
            [{"attributes": {m[1]: {"enum": others(s, m[1], m[2])}}}, {"shapes": "static"}]
            if m[1] in s.attributes
            else NOTHING
        ),
    ),
    (r"'(\w+)' of ('\w+' or '\w+')", lambda s, m: on_attribute(s, m[1], {"enum": names_in(m[2])})),
    (
        r"(\w+) must be (\d+)",
        lambda s, m: on_attribute(s, m[1], {"enum": [int(m[2])]}) if known(s, m[1]) else None,
    ),
    (r"\(((?:\w+==\w+(?: && )?)+)\) is not supported", lambda s, m: not_all(s, m[1])),
    (r"Only support for (.*) is currently implemented", lambda s, m: equals(s, m[1])),
    (r"(\w+ == \d+)", lambda s, m: equals(s, m[1])),
    (
        r"Decomposed into `\w+` \+ the fused activation \((.*)\)",
        lambda s, m: on_attribute(s, "activation", {"enum": names_in(m[1])}),
    ),
    (r"Only supports (.*)", lambda s, m: only_supports(s, m[1])),
    (r"The activation functions in 'activations' must be one of (.*)", lambda s, m: activations(s, m[1])),
    (r"Forward and backward activations must be the same if bidirectional", one_direction),
    (
        r"For bidirectional \w+, activation functions must be the same for both the forward and reverse pass",
        one_direction,
    ),
    (
        r"'(\w+)' if present should be constant with values equal to .*",
        lambda s, m: on_inputs(s, [m[1]], {"presence": "absent"}),
    ),
    (r"Does not support inputs ([\w, ]+)", lambda s, m: on_inputs(s, names_in(m[1]), {"presence": "absent"})),
    (r"Does not support output (\w+)", lambda s, m: on_outputs(s, [m[1]], {"presence": "absent"})),
    (
        r"Inputs '(\w+)' and '(\w+)' \(if present\) should be constants, input '(\w+)' is not supported,"
        r" only (\w+)=(\d+) is supported",
        lambda s, m: alternatives(
            [
                constant(s, [m[1], m[2]]),
                on_inputs(s, [m[3]], {"presence": "absent"}),
                on_attribute(s, m[4], {"enum": [int(m[5])]}),
            ]
        ),
    ),
    (
        r"need implementing mask and past/present",
        lambda s, m: alternatives(
            [
                [
                    {
                        "inputs": {
                            i: {"presence": "absent"}
                            for i, o in enumerate(s.inputs)
                            if re.search("mask|past", o.name)
                        }
                    }
                ],
                [
                    {
                        "outputs": {
                            i: {"presence": "absent"} for i, o in enumerate(s.outputs) if "present" in o.name
                        }
                    }
                ],
            ]
        ),
    ),
    (r"Supported resize ?(transformation|nearest|) ?modes: (.*)", lambda s, m: resize_modes(s, m[1], m[2])),
    (r"Supported (nearest) modes: (.*)", lambda s, m: resize_modes(s, m[1], m[2])),
    (
        r"((?:`\w+ ?`(?:, | and )?)+) must be (\d)D",
        lambda s, m: on_inputs(s, names_in(m[1].replace(" `", "`")), {"ranks": [int(m[2])] * 2}),
    ),
    (
        r"((?:`\w+`(?:, | and )?)+) inputs are unsupported",
        lambda s, m: on_inputs(s, names_in(m[1]), {"presence": "absent"}),
    ),
    (
        r"((?:`\w+`(?:, | and )?)+) outputs are unsupported",
        lambda s, m: on_outputs(s, names_in(m[1]), {"presence": "absent"}),
    ),
    (
        r"((?:`\w+`(?:, | and )?)+) attributes are unsupported",
        lambda s, m: alternatives(on_attribute(s, n, {"present": False}) for n in names_in(m[1])),
    ),
    (r"`(\w+)` must be empty or all ones", lambda s, m: absent_or(s, m[1], {"enum": [1]})),
    (
        r"`(\w+)` must be (?:a build-time constant|resolvable to a constant)",
        lambda s, m: constant(s, [m[1]]),
    ),
    (r"`(\w+)` and `(\w+)` must be an initializer", lambda s, m: constant(s, [m[1], m[2]])),
    (
        r"`is_training` must be an initializer and evaluate to False",
        lambda s, m: on_inputs(s, ["training_mode"], {"value": {"enum": [0]}}),
    ),
    (
        r"`\w+` must have static dimensions|`axis` dimension of input must be a build-time constant",
        lambda s, m: [{"shapes": "static"}],
    ),
    (r"Input must be (\d)D input", lambda s, m: [{"inputs": {0: {"ranks": [int(m[1])] * 2}}}]),
    (
        r"Only the first output `\w+` is supported",
        lambda s, m: [{"outputs": {i: {"presence": "absent"} for i in range(1, len(s.outputs))}}],
    ),
    (
        r"`(\w+)` (?:attribute )?must be (-?\d+)",
        lambda s, m: on_attribute(s, m[1], {"enum": [int(m[2])]}) if known(s, m[1]) else None,
    ),
    (r"`(\w+)` must be (INT\d+)", lambda s, m: on_inputs(s, [m[1]], {"dtypes": [m[2]]})),
    (
        r"Supported aspect ratio policy: `(\w+)`",
        lambda s, m: on_attribute(s, "keep_aspect_ratio_policy", {"enum": [m[1]]}),
    ),
    (
        r"When `scales` is a tensor input, `axes` must be an iota vector of length rank\(input\)",
        lambda s, m: on_attribute(s, "axes", {"present": False}),
    ),
    (r"Input must be real-valued", lambda s, m: [{"inputs": {0: {"dims": [{"axis": -1, "range": [1, 1]}]}}}]),
    (
        r"`(\w+)` other than `(\w+)` is not supported",
        lambda s, m: on_attribute(s, m[1], {"enum": [m[2]]}),
    ),
    (
        r"`(\w+)` input must be less than (\d+)",
        lambda s, m: on_inputs(s, [m[1]], {"value": {"range": [None, int(m[2]) - 1]}}),
    ),
    (r"Dynamic input shapes are unsupported", lambda s, m: [{"shapes": "static"}]),
]


def sentences(note):
    """The sentences of a note: at full stops, line breaks of HTML and semicolons."""
    note = re.sub(r"<br ?/?>", "\n", note)
    for part in re.split(r"\n|; |(?<=[\w)'\]`])\. (?=['`\w(])", note):
        part = part.strip().rstrip(".").strip()
        if part:
            yield part


def conditions(schema, sentence):
    """The conditions of one sentence for one version of an operator; None: not understood."""
    if any(re.fullmatch(p, sentence) for p in NO_CONDITION):
        return NOTHING
    for pattern, read in PATTERNS:
        if m := re.fullmatch(pattern, sentence):
            return read(schema, m)
    return None


def convert(schema, note):
    """(alternatives, None), or (None, the sentence that is not understood)."""
    lists = []
    for sentence in sentences(note):
        found = conditions(schema, sentence)
        if found is None:
            return None, sentence
        lists.append(found)
    out = alternatives(lists)
    return (out, None) if out else (None, note)
