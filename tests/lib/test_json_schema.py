"""Each keyword of lib/json_schema.py, met and not met."""

import sys

from json_schema import errors

CASES = [
    ({"type": "integer"}, [1, 1.0, -3], [1.5, "1", True, None]),
    ({"type": ["number", "null"]}, [1.5, None], ["x", False]),
    ({"type": "object", "required": ["a"]}, [{"a": 1}], [{}, []]),
    ({"properties": {"a": {"type": "string"}}}, [{"a": ""}, {"b": 1}, 7], [{"a": 1}]),
    ({"properties": {"a": True}, "additionalProperties": False}, [{"a": 1}, {}], [{"b": 1}]),
    ({"additionalProperties": {"type": "string"}}, [{"x": ""}], [{"x": 1}]),
    ({"items": {"type": "string"}}, [[], ["a"], "a"], [["a", 1]]),
    ({"prefixItems": [{"type": "string"}], "items": False, "minItems": 1}, [["a"]], [[], [1], ["a", 2]]),
    ({"uniqueItems": True}, [[1, 2], [1, True], [0, False], ["a", "b"]], [[1, 1], [1, 1.0], ["a", "b", "a"]]),
    ({"enum": ["a", 1]}, ["a", 1, 1.0], ["b", True]),
    ({"const": "a"}, ["a"], ["b", 1]),
    ({"minimum": 2}, [2, "x"], [1]),
    ({"maximum": 2}, [2, "x"], [3]),
    ({"pattern": "^a+$"}, ["aa", 3], ["b", ""]),
    ({"minLength": 1}, ["a", 0], [""]),
    ({"maxItems": 1}, [[], [1]], [[1, 2]]),
    ({"minProperties": 1}, [{"a": 1}], [{}]),
    ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, [1, 2.5], [3, 1.5]),
    (
        {"$defs": {"d": {"type": "null"}}, "properties": {"a": {"$ref": "#/$defs/d"}}},
        [{"a": None}],
        [{"a": 1}],
    ),
]


def main():
    for schema, good, bad in CASES:
        for value in good:
            assert not errors(value, schema), (schema, value)
        for value in bad:
            assert errors(value, schema), (schema, value)
    try:
        errors(1, {"maxLenght": 1})
    except KeyError:
        pass
    else:
        raise AssertionError("an unknown keyword is met")
    print(f"{len(CASES)} keywords")
    return 0


if __name__ == "__main__":
    sys.exit(main())
