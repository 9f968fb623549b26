"""Messages, color and the progress bar, on a terminal and off it."""

import os
import pty
import subprocess
import sys
import time

from _tool import OUTPUT, USAGE, expect, main, model, saved


def test_messages(tool, folder):
    path = saved(folder)
    done = tool(path, "--time-passes")
    expect("clean-up" in done.stderr and "drop-identity" in done.stderr, done.stderr)
    done = tool(path, "--print-after", "drop-identity")
    expect("# after drop-identity" in done.stderr and "Relu" in done.stderr, done.stderr)
    expect("debug:" in tool(path, "-vv").stderr and "debug:" not in tool(path, "-v").stderr)
    expect("debug:" in tool(path, "--log-level", "debug").stderr)
    hostile = model()
    hostile.graph.node[1].name = "a\x1b[31m\nb"
    hostile.graph.node[1].op_type = "No\x1b[0mSuch"
    done = tool("inspect", saved(folder, hostile, "h.onnx"))
    expect(
        b"\x1b" not in done.stdout and "\x1b" not in done.stderr,
        "control characters of a file reached the terminal",
    )


def test_color(tool, folder):
    expect("\x1b" not in tool(folder / "none.onnx").stderr, "color without a terminal")
    expect("\x1b[" in tool(folder / "none.onnx", "--color", "always").stderr)
    for env, words, color in [
        ({}, [], True),
        ({"NO_COLOR": "1"}, [], False),
        ({"NO_COLOR": ""}, [], True),
        ({"TERM": "dumb"}, [], False),
        ({}, ["--color=never"], False),
        ({"NO_COLOR": "1"}, ["--color=always"], True),
    ]:
        master, slave = pty.openpty()
        e = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | {"TERM": "xterm"} | env
        subprocess.run([tool.binary, str(folder / "none.onnx"), *words], stderr=slave, env=e)
        os.close(slave)
        text = os.read(master, 65536)
        os.close(master)
        expect((b"\x1b[1;31m" in text) == color, env, words, text)


def test_progress(tool, folder):
    """A phase that takes longer than a second (here: waiting for its input) draws a bar and takes it away
    again."""
    for words, shown in [([], True), (["--progress", "never"], False), (["-q"], False)]:
        master, slave = pty.openpty()
        child = subprocess.Popen([tool.binary, "-", *words], stdin=subprocess.PIPE, stderr=slave)
        os.close(slave)
        time.sleep(1.6)
        child.stdin.write(model().SerializeToString())
        child.stdin.close()
        expect(child.wait(20) == 0)
        text = b""
        try:
            while chunk := os.read(master, 65536):
                text += chunk
        except OSError:  # a terminal whose other side is closed raises this
            pass
        os.close(master)
        expect((b"\r\x1b[Kload     [" in text) == shown, words, text)
        if shown:
            bar, _, rest = text.rpartition(b"\r\x1b[K")
            expect(b"[" not in rest and b"graphopt: - -> " in rest, "the bar was left on the screen:", text)


def test_terminal_output(tool, folder):
    path = saved(folder)
    master, slave = pty.openpty()
    done = subprocess.run(
        [tool.binary, str(path), "-o", "-"], stdout=slave, stderr=subprocess.PIPE, text=True
    )
    os.close(slave)
    os.close(master)
    expect(done.returncode in (USAGE, OUTPUT) and "--force" in done.stderr, done.returncode, done.stderr)


if __name__ == "__main__":
    sys.exit(main(globals()))
