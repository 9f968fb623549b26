"""graphopt reduce with a Python function as its test.

The command that graphopt runs only passes the path on to this process and waits for the answer, so that a
test costs what the function costs, and no interpreter starts.
"""

import os
import pathlib
import shlex
import subprocess
import tempfile
import threading

import onnx


class Judge:
    """A shell command that ends as judge(path) says: with the number that it returns, or by the signal of
    that name ("SEGV"). To be used in a `with`."""

    def __init__(self, judge):
        self.judge = judge
        self.runs = 0

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.asked, self.answered = (os.path.join(self.folder.name, n) for n in ("asked", "answered"))
        os.mkfifo(self.asked)
        os.mkfifo(self.answered)
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        asked, answered = shlex.quote(self.asked), shlex.quote(self.answered)
        self.command = f'echo {{}} > {asked}; read -r answer < {answered}; eval "$answer"'
        return self

    def serve(self):
        while True:
            with open(self.asked) as f:
                path = f.read().rstrip("\n")
            if not path:
                return
            self.runs += 1
            answer = self.judge(path)
            with open(self.answered, "w") as f:
                f.write(f"kill -{answer} $$\n" if isinstance(answer, str) else f"exit {answer}\n")

    def __exit__(self, *_):
        with open(self.asked, "w") as f:
            f.write("\n")
        self.thread.join(10)
        self.folder.cleanup()


def reduced(tool, model, fails, seconds=60):
    """The smallest model for which fails(model) is true like for this one; the model itself where graphopt
    does not reduce it, which may be what is being tested."""
    with tempfile.TemporaryDirectory() as folder, Judge(lambda p: 3 if fails(onnx.load(p)) else 0) as judge:
        source, target = pathlib.Path(folder, "in.onnx"), pathlib.Path(folder, "out.onnx")
        source.write_bytes(model.SerializeToString())
        command = [tool, "reduce", source, "--test", judge.command, "-o", target, "-q"]
        done = subprocess.run(
            [*map(str, command), f"--seconds={seconds}", "--timeout=300"], capture_output=True, text=True
        )
        if done.returncode != 0 or not target.exists():
            return model
        return onnx.load(target)
