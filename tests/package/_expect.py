"""What the tests of the package expect."""

import os

from lib.cases import run_cases


def expect(condition, *what):
    if not condition:
        raise AssertionError(" ".join(map(str, what)))


def raised(kind, call, *parts):
    """The exception that a call raises; it is of this class, and its text has the parts."""
    try:
        call()
    except kind as error:
        for part in parts:
            expect(part in str(error), f"'{part}' is not in: {error}")
        return error
    raise AssertionError(f"no {kind.__name__}")


def run_with_binary(cases, binary):
    """run_cases, where the module calls this binary, and no runtime that the caller's environment names."""
    os.environ.pop("GRAPHOPT_ORT", None)
    os.environ["GRAPHOPT_BINARY"] = os.path.abspath(binary)
    return run_cases(cases, os.path.abspath(binary))
