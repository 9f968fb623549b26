"""What the tests of the package expect."""


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
