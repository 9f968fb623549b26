"""The operators of ONNX and of ONNX Runtime, as the installed onnxruntime has them."""

import functools

from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

# ONNX Runtime's spelling of element types, and that of device profiles.
DTYPES = {
    "float": "FLOAT",
    "float32": "FLOAT",
    "fp32": "FLOAT",
    "float16": "FLOAT16",
    "fp16": "FLOAT16",
    "bfloat16": "BFLOAT16",
    "bf16": "BFLOAT16",
    "double": "DOUBLE",
    **{
        f"{sign}int{bits}": f"{sign}int{bits}".upper() for sign in ("", "u") for bits in (2, 4, 8, 16, 32, 64)
    },
    "bool": "BOOL",
    "string": "STRING",
    "complex64": "COMPLEX64",
    "complex128": "COMPLEX128",
    "float8e4m3fn": "FLOAT8E4M3FN",
    "float8e4m3fnuz": "FLOAT8E4M3FNUZ",
    "float8e5m2": "FLOAT8E5M2",
    "float8e5m2fnuz": "FLOAT8E5M2FNUZ",
    "float4e2m1": "FLOAT4E2M1",
    "float8e8m0": "FLOAT8E8M0",
}
ORDER = {name: i for i, name in enumerate(dict.fromkeys(DTYPES.values()))}

# Values that the standard lists for attributes, where a table names only those that are not supported.
KNOWN_VALUES = {
    ("Pad", "mode"): ["constant", "reflect", "edge", "wrap"],
    ("ConvTranspose", "auto_pad"): ["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"],
    ("DepthToSpace", "mode"): ["DCR", "CRD"],
    ("MaxPool", "storage_order"): [0, 1],
    ("Resize", "coordinate_transformation_mode"): [
        "half_pixel",
        "half_pixel_symmetric",
        "pytorch_half_pixel",
        "align_corners",
        "asymmetric",
        "tf_crop_and_resize",
        "tf_half_pixel_for_nn",
    ],
    ("GridSample", "align_corners"): [0, 1],
}


def dtype(text):
    """'tensor(float16)' or 'FP16' -> 'FLOAT16'; None for what is no tensor of a known type."""
    text = text.strip().lower()
    if text.startswith("tensor(") and text.endswith(")"):
        text = text[7:-1]
    return DTYPES.get(text)


def dtypes(texts):
    """The known element types among the texts, each once, in a fixed order."""
    return sorted({t for t in map(dtype, texts) if t}, key=ORDER.get)


class Schema:
    """One version of an operator."""

    def __init__(self, raw):
        self.name, self.domain, self.since = raw.name, raw.domain, raw.since_version
        self.inputs, self.outputs = list(map(Operand, raw.inputs)), list(map(Operand, raw.outputs))
        self.attributes = set(raw.attributes)

    def key(self):
        return (self.domain, self.name)


class Operand:
    def __init__(self, raw):
        self.name, self.type = raw.name, raw.typeStr
        self.types = {t for t in map(dtype, raw.types) if t}
        self.variadic = "Variadic" in str(raw.option)


@functools.cache
def _all():
    found = {}
    for raw in get_all_operator_schema():
        if not raw.deprecated:
            found.setdefault((raw.domain, raw.name), {})[raw.since_version] = Schema(raw)
    return {key: [by[v] for v in sorted(by)] for key, by in found.items()}


def versions(domain, name):
    """All versions of an operator, oldest first; none for an unknown one."""
    return _all().get(("" if domain == "ai.onnx" else domain, name), [])


def spelling(domain, name):
    """The operator's name as the standard writes it ('Prelu' is 'PRelu'); None when it has none such."""
    if versions(domain, name):
        return name
    domain = "" if domain == "ai.onnx" else domain
    near = [n for d, n in _all() if d == domain and n.lower() == name.lower()]
    return near[0] if len(near) == 1 else None
