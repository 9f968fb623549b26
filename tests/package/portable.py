#!/usr/bin/env python3
# TIER: nightly
# WHEN: tools/packag
"""What tools/packaging/symbols.py says of binaries: the short form of the checks of a portable one.

portable.py GRAPHOPT   a release build
"""

import os
import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests"), str(TOP / "tools" / "packaging")]

from lib.cases import run_cases  # noqa: E402
from symbols import number, problems  # noqa: E402

ALL_IS_WELL = {"glibc": "99", "most_mib": 1000}


def stripped(binary, folder):
    out = folder / "stripped"
    subprocess.run(["strip", "-o", out, binary], check=True)
    return str(out)


def expect_problem(text, *given):
    found, figures = problems(*given)
    if [one for one in found if text in one] != found or not found:
        raise AssertionError(f"'{text}' is not what is found alone: {found} ({figures})")


def test_nothing_is_found(binary, folder):
    found, figures = problems(stripped(binary, folder), **ALL_IS_WELL)
    if found or "GLIBC" in figures or " glibc 2." not in figures:
        raise AssertionError(f"{found} ({figures})")


def test_each_promise_is_held(binary, folder):
    small = stripped(binary, folder)
    expect_problem("it asks for glibc 2.", small, "2.2", 1000)
    expect_problem("MiB, more than 1", small, "99", 1)
    expect_problem("it is not stripped", binary, "99", 1000)
    source, other = folder / "other.cpp", str(folder / "other")
    source.write_text('#include <iostream>\nint main() { std::cout << "text"; }\n')
    subprocess.run(["c++", "-s", "-o", other, source], check=True)
    expect_problem("it needs lib", other, "99", 1000)


def test_versions_are_numbers(binary, folder):
    if not number("2.4") < number("2.28") < number("2.28.1") < number("2.100"):
        raise AssertionError("2.4 is older than 2.28")


def test_the_tool_chain_has_a_name_for_each_target(binary, folder):
    names = [
        subprocess.run(
            [TOP / "tools/packaging/portable", "--arch", arch, "--name"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        for arch in ("x86_64", "aarch64")
    ]
    for name, arch in zip(names, ("x86_64", "aarch64")):
        if f"/portable-{arch}-" not in name:
            raise AssertionError(name)
    if names[0].rsplit("-", 1)[1] == names[1].rsplit("-", 1)[1]:
        raise AssertionError("two targets share a key")


if __name__ == "__main__":
    if os.environ.get("GRAPHOPT_SANITIZED") == "1":
        sys.exit(77)  # it has the sanitizers' libraries
    sys.exit(run_cases(globals(), sys.argv[1]))
