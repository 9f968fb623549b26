"""What ends a run from outside: closed pipes, full disks, signals, limits and files that change. Each ends in
the documented status and leaves nothing behind."""

import fcntl
import os
import resource
import signal
import subprocess
import sys
import time

import onnx

from _tool import INPUT, LIMIT, OUTPUT, expect, long_model, main, model, refused, saved


def test_closed_pipe(tool, folder):
    path = saved(folder)
    """A model that nobody reads is a failed write; texts end like other tools in a pipe (terminal.py)."""
    for words, status in [
        ([path, "-o", "-"], OUTPUT),
        ([path, "--report", "-"], -signal.SIGPIPE),
        (["inspect", "--json", path], -signal.SIGPIPE),
    ]:
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(
            [tool.binary, *map(str, words)], stdout=writer, stderr=subprocess.PIPE, text=True
        )
        os.close(writer)
        expect(done.returncode == status, words, done.returncode, done.stderr)
        expect(done.stderr.count("graphopt: error: ") == (status == OUTPUT), done.stderr)


def test_full_disk(tool, folder):
    path = saved(folder, long_model(20000))
    disk = folder / "disk"
    disk.mkdir()
    if (
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=64k", "none", disk], capture_output=True
        ).returncode
        != 0
    ):
        print("full disk: skipped, a tmpfs cannot be mounted here")
        limited = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))  # the nearest thing
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        done = subprocess.run(
            [tool.binary, path, "-o", disk / "o.onnx"], preexec_fn=limited, capture_output=True, text=True
        )
        expect(done.returncode == OUTPUT and list(disk.iterdir()) == [], done.returncode, done.stderr)
        return
    try:
        old = disk / "o.onnx"
        old.write_bytes(b"old")
        refused(tool(path, "-o", old), OUTPUT, "o.onnx")
        expect(
            [p.name for p in disk.iterdir()] == ["o.onnx"] and old.read_bytes() == b"old",
            "something was left behind",
        )
    finally:
        subprocess.run(["umount", disk], check=True)


def test_interrupts(tool, folder):
    """The run is held in the middle by a pipe that nobody writes to, or stopped while it writes to one nobody
    reads."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        child = subprocess.Popen(
            [tool.binary, "-", "-o", folder / "o.onnx"], stdin=subprocess.PIPE, stderr=subprocess.PIPE
        )
        child.stdin.write(model().SerializeToString()[:100])
        child.stdin.flush()
        time.sleep(0.2)
        child.send_signal(number)
        child.stdin.close()
        child.wait(20)
        expect(child.returncode == -number, number, child.returncode, child.stderr.read())
        expect(list(folder.iterdir()) == [], "left behind:", list(folder.iterdir()))
    path = saved(folder, long_model(30000))
    for delay in (0.02, 0.05, 0.1, 0.15, 0.2, 0.3):
        out = folder / "out"
        out.mkdir(exist_ok=True)
        child = subprocess.Popen([tool.binary, "-q", path, "-o", out / "o.onnx"], stderr=subprocess.PIPE)
        time.sleep(delay)
        child.send_signal(signal.SIGINT)
        child.wait(20)
        names = [p.name for p in out.iterdir()]
        expect(child.returncode in (0, -signal.SIGINT), child.returncode, child.stderr.read())
        expect(names in ([], ["o.onnx"]), names)
        if names:
            onnx.load(out / "o.onnx")
            (out / "o.onnx").unlink()
    child = subprocess.Popen(
        [tool.binary, "-q", path, "-o", "-"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    fcntl.fcntl(child.stdout, fcntl.F_SETPIPE_SZ, 4096)
    time.sleep(1)
    child.send_signal(signal.SIGTERM)
    child.wait(20)
    expect(child.returncode == -signal.SIGTERM, child.returncode)


def test_ignored_signals_stay_ignored(tool, folder):
    child = subprocess.Popen(
        ["nohup", tool.binary, "-", "-o", folder / "o.onnx"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    time.sleep(0.3)
    child.send_signal(signal.SIGHUP)
    child.stdin.write(model().SerializeToString())
    child.stdin.close()
    expect(child.wait(20) == 0, child.returncode)


def test_limits(tool, folder):
    path = saved(folder, long_model(60000))
    refused(
        tool(path, "--timeout", "0.001", "-o", folder / "o.onnx"), LIMIT, "--timeout", "nothing was written"
    )
    expect([p.name for p in folder.iterdir()] == ["m.onnx"], "something was written")
    expect(tool(path, "--timeout", "60", "-q", "-o", folder / "o.onnx").returncode == 0)
    if not tool.sanitized:  # whose shadow is larger than any limit
        refused(tool(path, "--max-memory", "8M", "-o", folder / "p.onnx"), LIMIT, "--max-memory")
        expect(not (folder / "p.onnx").exists(), "something was written")
        expect(tool(path, "--max-memory", "1G", "-q", "-o", folder / "p.onnx").returncode == 0)
    # Blocked in a read, where the library cannot look at the clock.
    child = subprocess.Popen(
        [tool.binary, "-", "--timeout", "0.2"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    expect(child.wait(20) == LIMIT and "--timeout" in child.stderr.read(), child.returncode)
    child.stdin.close()


def test_shrinking_file(tool, folder):
    """A mapped model that is cut short ends in status 2 (or, when it was read in time, in 0), not in a
    crash."""
    source = saved(folder, long_model(60000)).read_bytes()
    path = folder / "s.onnx"
    for delay in (0.0, 0.01, 0.02, 0.03, 0.05, 0.1):
        path.write_bytes(source)
        child = subprocess.Popen(
            [tool.binary, "-q", path, "-o", folder / "o.onnx"], stderr=subprocess.PIPE, text=True
        )
        time.sleep(delay)
        os.truncate(path, 4096)
        text = child.stderr.read()
        expect(child.wait(20) in (0, INPUT), delay, child.returncode, text)
        expect(child.returncode == 0 or "s.onnx" in text, text)


if __name__ == "__main__":
    sys.exit(main(globals()))
