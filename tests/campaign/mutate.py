#!/usr/bin/env python3
# TIER: nightly
# LONG: --count 20000 --in-process 200000 --seed 2
# WHEN: src/onnx/ src/support/
"""Mutated models: the tool refuses them in the documented way, or takes them; it never crashes, hangs or
leaves a half-written file.

  mutate.py GRAPHOPT [--count N] [--in-process N] [--seed S] [--first I] [--jobs N] [--replay PROGRAM]
            [--keep DIR]

The stream of mutations depends on the seed alone (_mutations.py). It is used twice:
  --count N        whole processes, by default options, by -O0, or by inspect, with at most 1 GiB of data and
                   10 seconds of the processor: the exit status is 0, 2 or 5; with 0 the output is a whole
                   model; otherwise nothing is written and the message names the file and a remedy. The
                   truncations of a small model at every byte come first.
  --in-process N   many in one process (tests/fuzz/passes.cpp as replay_passes, found beside the tool): load,
                   save, load, all passes verified one by one, save, load, all passes again. About a hundred
                   times faster.
What fails is written to DIR (default: the current folder).
"""

import argparse
import collections
import multiprocessing as mp
import os
import queue
import resource
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx

sys.path.insert(0, str(Path(__file__).parent))
import _mutations  # noqa: E402

SECONDS = 10
DATA = 1 << 30
SANITIZED = os.environ.get("GRAPHOPT_SANITIZED") == "1"


def limits():
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_DATA, (DATA, DATA))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def in_process_limits():  # the time is watched record by record
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_DATA, (DATA, DATA))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def processor_time(process):
    """Seconds; a machine that is busy with other things must not look like a hang."""
    try:
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0  # it is gone
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --- whole processes ----------------------------------------------------------------------------------------


def parses(data):
    try:
        onnx.ModelProto().ParseFromString(data)
    except Exception:  # noqa: BLE001 - any refusal
        return False
    return True


def run_one(tool, folder, i, data):
    """(exit status, problem or None)"""
    source, target = folder / "in.onnx", folder / "out.onnx"
    source.write_bytes(data)
    inspect = i % 7 == 0
    if inspect:
        words = [tool, "inspect", str(source)]
    else:
        words = [tool, str(source), "-o", str(target), *([], ["--verify-each"], ["-O0"])[i % 3]]
    try:
        done = subprocess.run(words, capture_output=True, timeout=SECONDS * 30, preexec_fn=limits)
    except subprocess.TimeoutExpired:
        return "hang", "did not end"
    message, status = done.stderr.decode(errors="replace"), done.returncode
    left = [n for n in os.listdir(folder) if n not in ("in.onnx", "out.onnx", "data.bin")]
    problem = None
    if status not in (0, 2, 5):
        problem = f"exit status {status}: {message[:500]}"
    elif left:
        problem = f"left {left}"
    elif status == 0 and not inspect:
        if parses(data) and not parses(
            target.read_bytes()
        ):  # what protobuf cannot read in a part that nobody reads is kept
            problem = "the output is not whole"
    elif status and target.exists():
        problem = f"wrote a file and ended with {status}"
    elif status and ("in.onnx" not in message or "help:" not in message):
        problem = f"status {status}, and the message does not name file and remedy: {message[:300]}"
    target.unlink(missing_ok=True)
    for name in left:
        os.unlink(folder / name)
    return status, problem


def whole(tool, tasks, results, seed):
    binaries, texts = _mutations.corpus()
    shortest = min(binaries, key=len)
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None) as name:
        folder = Path(name)
        (folder / "data.bin").write_bytes(bytes(16))
        for i in iter(tasks.get, None):
            kind, data = (
                ("truncation", shortest[:i])
                if i < len(shortest)
                else _mutations.mutation(seed, i, binaries, texts)
            )
            results.put((i, kind, data, *run_one(tool, folder, i, data)))


def whole_processes(a):
    counts, problems, begin = collections.Counter(), [], time.time()
    tasks, results = mp.Queue(), mp.Queue()
    workers = [
        mp.Process(target=whole, args=(a.tool, tasks, results, a.seed), daemon=True) for _ in range(a.jobs)
    ]
    for w in workers:
        w.start()
    for i in range(a.first, a.first + a.count):
        tasks.put(i)
    for _ in workers:
        tasks.put(None)
    for _ in range(a.count):
        i, kind, data, status, problem = results.get(timeout=300)
        counts[status] += 1
        if problem:
            problems.append(keep(a, i, kind, data, problem))
    seconds = time.time() - begin
    print(
        f"{a.count} whole processes, {seconds:.1f} s ({a.count / seconds:.0f}/s), by exit status: "
        f"{dict(sorted(counts.items(), key=str))}; {len(problems)} problems"
    )
    return problems


# --- many in one process ------------------------------------------------------------------------------------


class Replay:
    def __init__(self, program):
        self.program, self.errors = program, tempfile.TemporaryFile()
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            [self.program, "--stream"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            preexec_fn=in_process_limits,
            bufsize=0,
        )

    def give(self, batch):
        """How many it took; fewer than the batch when one of them ended it."""
        data = b"".join(struct.pack("<I", len(d)) + d for _, _, d in batch)
        out, into = self.process.stdout.fileno(), self.process.stdin.fileno()
        os.set_blocking(into, False)
        sent = done = 0
        since = processor_time(self.process)
        while done < len(batch):
            readable, writable, _ = select.select([out], [into] if sent < len(data) else [], [], 1)
            if (
                not readable
                and self.process.poll() is None
                and processor_time(self.process) - since > SECONDS * (10 if SANITIZED else 1)
            ):
                self.process.kill()
                return done
            if writable:
                try:
                    sent += os.write(into, data[sent : sent + 65536])
                except (BrokenPipeError, BlockingIOError):
                    sent = len(data) if self.process.poll() is not None else sent
            if readable:
                got = os.read(out, 65536)
                done += len(got)
                since = processor_time(self.process)
                if not got:
                    return done
        return done

    def failure(self):
        status = self.process.wait()
        self.errors.seek(0)
        text = self.errors.read().decode(errors="replace")[-1500:]
        self.errors.truncate(0)
        self.start()
        how = "did not end" if status == -signal.SIGKILL else f"exit status {status}"
        return f"{how}: {text}"


def stream(a, numbers, results):
    binaries, texts = _mutations.corpus()
    replay, taken = Replay(a.replay), collections.Counter()
    for start in range(0, len(numbers), 200):
        batch = [(i, *_mutations.mutation(a.seed, i, binaries, texts)) for i in numbers[start : start + 200]]
        while batch:
            done = replay.give(batch)
            for _, kind, _ in batch[:done]:
                taken[kind] += 1
            if done == len(batch):
                break
            i, kind, data = batch[done]
            results.put((i, kind, data, replay.failure()))
            batch = batch[done + 1 :]
    results.put(taken)


def in_process(a):
    begin, problems, taken, results = time.time(), [], collections.Counter(), mp.Queue()
    first = a.first + a.count
    shares = [range(first + j, first + a.in_process, a.jobs) for j in range(a.jobs)]
    workers = [mp.Process(target=stream, args=(a, share, results)) for share in shares]
    for w in workers:
        w.start()
    left = len(workers)
    while left:
        try:
            got = results.get(timeout=60)
        except queue.Empty:
            if any(w.exitcode for w in workers):
                sys.exit("a worker failed")
            continue
        if isinstance(got, collections.Counter):
            taken += got
            left -= 1
        else:
            problems.append(keep(a, *got))
    for w in workers:
        w.join()
    seconds = time.time() - begin
    print(
        f"{sum(taken.values())} in process, {seconds:.1f} s ({sum(taken.values()) / seconds:.0f}/s), "
        f"by kind: {dict(taken)}; {len(problems)} problems"
    )
    return problems


def keep(a, i, kind, data, problem):
    path = Path(a.keep, f"mutation-{a.seed}-{i}.onnx")
    path.write_bytes(data)
    text = f"number {i} of seed {a.seed} ({kind}), in {path}: {problem}"
    print(text, flush=True)
    return text


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("--count", type=int, default=400 if SANITIZED else 2000)
    p.add_argument("--in-process", type=int, default=2000 if SANITIZED else 20000)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--replay")
    p.add_argument("--keep", default=".")
    a = p.parse_args()
    a.tool = os.path.realpath(a.tool)
    a.replay = a.replay or os.path.join(os.path.dirname(a.tool), "tests", "replay_passes")
    Path(a.keep).mkdir(parents=True, exist_ok=True)
    problems = whole_processes(a) if a.count else []
    if not os.path.exists(a.replay):
        print(f"{a.replay} is not there: nothing was run in process")
    elif a.in_process:
        problems += in_process(a)
    return 1 if problems else 0


if __name__ == "__main__":
    mp.set_start_method("fork")
    sys.exit(main())
