"""Tests of what _record.py leaves behind when it is stopped at any write."""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import _mutant_tests as tests

RECORD = str(Path(__file__).with_name("_record.py"))


def self_test():
    """AssertionError when a call whose record is incomplete is read, or a complete one is not."""
    for most_bytes, complete in ((0, False), (60, False), (1 << 20, True)):
        with tempfile.TemporaryDirectory() as folder:

            def limit(most_bytes=most_bytes):
                resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

            subprocess.run(
                [sys.executable, "-I", "-S", RECORD, "/bin/true", "--word"],
                env={**os.environ, "GRAPHOPT_RECORDS": folder},
                preexec_fn=limit,
                capture_output=True,
            )
            assert len(os.listdir(folder)) == 1, "the call makes a folder of its own"
            calls = tests.read_calls(folder, "suite", "/bin/true", folder)
            assert [c.arguments for c in calls] == ([["--word"]] if complete else []), (most_bytes, calls)
