#!/usr/bin/env python3
"""A script of cases ends with status 1 when one of them fails, also where its end forgets the status."""

import pathlib
import subprocess
import sys

TESTS = pathlib.Path(__file__).resolve().parents[1]
SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from lib.cases import run_cases

def test_one(folder):
    assert folder.is_dir()

def test_two(folder):
    assert WHAT

run_cases(globals())
"""


def status(what):
    words = [sys.executable, "-B", "-c", SCRIPT.replace("WHAT", what), TESTS]
    return subprocess.run(words, capture_output=True).returncode


def main():
    assert status("True") == 0, "two cases that pass"
    assert status("False") == 1, "one of two cases fails"
    print("a case that fails fails its script")


if __name__ == "__main__":
    main()
