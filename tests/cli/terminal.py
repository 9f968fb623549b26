"""Messages, color and the progress bar, on a terminal and off it."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import sys
import termios
import time

from onnx import helper

from _tool import OUTPUT, USAGE, expect, long_model, main, model, saved


def test_messages(tool, folder):
    path = saved(folder)
    done = tool(path, "--time-passes")
    expect(b"clean-up" in done.stdout and b"drop-identity" in done.stdout, done.stdout)
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
            expect(rest == b"", "the bar was left on the screen:", text)


def test_where_the_tables_go(tool, folder):
    """To stdout when nothing is written there, and else to stderr."""
    path, out = saved(folder), folder / "o.onnx"
    for words, on_stdout in [
        ([], True),
        (["--time-passes", "--explain", "all"], True),
        (["--report", folder / "r.json"], True),
        (["--report", "-"], False),
        (["--dot", "-"], False),
        (["-o", out], False),
        (["-o", "-"], False),
        (["--devices", "nnapi", "--plan", "--dim", "batch=2"], True),
        (["--devices", "nnapi", "--plan", "--report", "-"], False),
    ]:
        done = tool(path, *words)
        expect(done.returncode == 0, words, done.stderr)
        expect((b"graphopt: " in done.stdout) == on_stdout, words, done.stdout)
        expect(("graphopt: " in done.stderr) != on_stdout, words, done.stderr)
        quiet = tool(path, "-q", *words)
        expect(quiet.stderr == "", words, quiet.stderr)
        expect("--plan" in words or b"graphopt: " not in quiet.stdout, words, quiet.stdout)


def test_a_reader_that_goes_away(tool, folder):
    """What prints text then ends like other tools in a pipe: by SIGPIPE, without a word."""
    path, report = saved(folder, long_model(2000)), folder / "r.json"
    for words in (
        [path, "--explain", "all", "--time-passes", "--report", report],
        ["inspect", "-v", path],
        ["--help"],
        ["--list-passes"],
    ):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run([tool.binary, *map(str, words)], stdout=writer, stderr=subprocess.PIPE)
        os.close(writer)
        expect(done.returncode == -signal.SIGPIPE and done.stderr == b"", words, done)
    expect(report.exists(), "the report was given up with the tables")


def test_inspect_fits(tool, folder):
    """Long lists are cut, and on a terminal lines are, too."""
    many = [helper.make_node("Relu", ["y"], [f"z{i}"]) for i in range(40)]
    m = model(many)
    m.graph.output.extend(helper.make_tensor_value_info(f"z{i}", 1, ["batch", 3]) for i in range(40))
    m.graph.input[0].name = m.graph.node[0].input[0] = "ein sehr langer Name \u00fc " * 8
    path = saved(folder, m)
    text = tool("inspect", path).stdout.decode()
    expect("outputs (41)" in text and "... and 29 more (-v shows all)" in text and "z38" not in text, text)
    expect("regions" not in text, text)
    expect("z38" in tool("inspect", path, "-v").stdout.decode())
    expect("regions (" in tool("inspect", path, "--regions").stdout.decode())
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
    child = subprocess.Popen([tool.binary, "inspect", str(path)], stdout=slave, stderr=subprocess.PIPE)
    os.close(slave)
    shown = b""
    try:
        while chunk := os.read(master, 65536):
            shown += chunk
    except OSError:
        pass
    os.close(master)
    expect(child.wait(20) == 0)
    lines = shown.decode().splitlines()
    expect(max(map(len, lines)) == 70, max(map(len, lines)))
    expect(any(line.endswith("...") and "\u00fc" in line for line in lines), lines)


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
