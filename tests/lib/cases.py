"""Scripts of several tests: each is a function test_*, in the order of the script."""

import pathlib
import sys
import tempfile
import traceback


def run_cases(namespace, *given, folder=None):
    """Runs every function test_* of a script with what is given and a folder: this one, or a new one each.

    Returns 0. Where a test fails, the script ends here with status 1, whatever its caller does with a status.
    """
    tests = [(name, test) for name, test in namespace.items() if name.startswith("test_")]
    failed = 0
    for name, test in tests:
        with tempfile.TemporaryDirectory() as empty:
            try:
                test(*given, pathlib.Path(folder or empty))
            except Exception:
                failed += 1
                print(f"FAILED {name}\n{traceback.format_exc()}")
    print(f"{len(tests) - failed} of {len(tests)} passed")
    if failed:
        sys.exit(1)
    return 0
