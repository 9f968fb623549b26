#!/usr/bin/env python3
"""The nightly run goes on where it stopped, keeps a row of each test, and leaves none running when it is
ended (tests/nightly.py)."""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import nightly  # noqa: E402


def row(number, test, verdict="ok", figure="3 of 3"):
    return nightly.Row(number, test, verdict, 1.5, figure, "abc1234", "2 x some processor, 8 GiB")


def check_rounds():
    one = {n: row(1, n) for n in "ab"}
    assert nightly.current_round({}, ["a"], False) == 1
    assert nightly.current_round(one, ["a", "b", "c"], False) == 1, "c is left"
    assert nightly.current_round(one, ["a", "b"], False) == 2, "the round was whole"
    assert nightly.current_round(one, ["a", "b", "c"], True) == 2, "--again"
    assert nightly.current_round(one | {"a": row(2, "a")}, ["a", "b"], False) == 2, "b is of the round before"


def check_rows(folder):
    nightly.RESULTS = folder / "rows.tsv"
    assert nightly.read_rows() == {}
    rows = {"b": row(2, "b"), "a": row(1, "a", "FAILED", "1: two tabs")}
    nightly.write_rows(rows)
    assert nightly.read_rows() == rows
    assert os.listdir(folder) == ["rows.tsv"]
    log = folder / "log"
    log.write_text("first\nlast\tone \n\n")
    assert nightly.figure_of(log) == "last one"
    log.write_text("")
    assert nightly.figure_of(log) == ""


def check_verdicts(folder):
    nightly.LOGS = folder

    def ran(command, seconds=60):
        test = nightly.Test("t", ["bash", "-c", command], str(folder), {"WORD": "7"}, seconds)
        return nightly.run(test, 1)

    good = ran('echo "$WORD cases"')
    assert (good.verdict, good.figure) == ("ok", "7 cases"), good
    assert ran("echo no; exit 3").figure == "3: no"
    assert ran("exit 77").verdict == "skipped"
    late = ran("sleep 60", 0.2)
    assert late.verdict == "FAILED" and "no end" in late.figure, late


# Runs one test, which writes the number of its process and its folder, and then sleeps.
STOPPED = """
import pathlib, sys
sys.path.insert(0, sys.argv[1])
import nightly
nightly.LOGS = pathlib.Path(sys.argv[2])
nightly.end_tests_with_this()
words = 'echo $$ $TMPDIR > began.new; touch $TMPDIR/file; mv began.new began; exec sleep 60'
nightly.run(nightly.Test("t", ["bash", "-c", words], sys.argv[2], {}, 60), 1)
"""


def runs(number):
    """Whether the process is there and no zombie, which a container without an init keeps."""
    try:
        return pathlib.Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def check_signals(folder):
    """A test and its folder end with the run that is asked to end."""
    began = folder / "began"
    for number in (signal.SIGTERM, signal.SIGHUP):
        words = [sys.executable, "-B", "-c", STOPPED, os.path.dirname(nightly.__file__), folder]
        process = subprocess.Popen(words, preexec_fn=lambda n=number: signal.signal(n, signal.SIG_DFL))
        end = time.monotonic() + 30
        while not began.exists():
            assert process.poll() is None and time.monotonic() < end, "the test did not begin"
            time.sleep(0.01)
        test, own = began.read_text().split()
        assert runs(test) and os.listdir(own) == ["file"]
        process.send_signal(number)
        assert process.wait(30) == 128 + number, process.returncode
        assert not runs(test), f"the test outlives {number.name}"
        assert not os.path.exists(own), f"the folder outlives {number.name}"
        began.unlink()


def main():
    check_rounds()
    for check in (check_rows, check_verdicts, check_signals):
        with tempfile.TemporaryDirectory() as folder:
            check(pathlib.Path(folder))
    print("rounds, rows, verdicts and ends are as they should be")


if __name__ == "__main__":
    main()
