"""Command lines of graphopt: each a process of its own, or many in one process where a process is slow to
start (tests/programs/command_lines.cpp)."""

import collections
import json
import os
import pathlib
import subprocess
import tempfile

Done = collections.namedtuple("Done", "returncode stderr")


class Processes:
    """Runs each command line as the users do."""

    def __init__(self, tool):
        self.tool = tool

    def run(self, words):
        done = subprocess.run([self.tool, *words], capture_output=True, text=True, errors="replace")
        return Done(done.returncode, done.stderr)

    def close(self):
        """None: nothing is left that could fail."""


class OneProcess:
    """Runs command lines in one process; one that ends it, as a finding of a sanitizer does, is answered with
    the status of the process, and the next one gets a new process."""

    def __init__(self, tool):
        self.program = pathlib.Path(tool).parent / "tests" / "graphopt_command_lines"
        if not os.access(self.program, os.X_OK):
            raise FileNotFoundError(f"{self.program} is not built")
        self.process = None

    def start(self):
        self.log = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen(
            [self.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log, text=True
        )
        self.read = 0

    def run(self, words):
        if self.process is None:
            self.start()
        answer = ""
        try:
            self.process.stdin.write(json.dumps(words) + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            pass
        status = int(answer) if answer else self.end()
        self.log.seek(self.read)
        said = self.log.read()
        self.read = self.log.tell()
        return Done(status, said)

    def end(self):
        process, self.process = self.process, None
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass
        status = process.wait()
        return status if status else -1

    def close(self):
        """None, or what the process found at its end: memory that was lost."""
        if self.process is None:
            return None
        process, self.process = self.process, None
        process.stdin.close()
        if status := process.wait():
            self.log.seek(self.read)
            return f"the process of all command lines ends with status {status}: {self.log.read()[-3000:]}"
        return None
