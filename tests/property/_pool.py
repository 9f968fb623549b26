"""Processes that answer tasks, one task at a time each. The runtime may crash on a graph, or never come back:
the process is then replaced."""

import multiprocessing as mp
import multiprocessing.connection
import time

LIMIT = 150  # seconds that a task may take, many times what any needs


class Crash:
    """The answer to a task that ended its process."""

    def __init__(self, code):
        self.text = f"the runtime crashed ({code})"


def serve(pipe, prepare, arguments):
    with prepare(*arguments) as answer:
        while (task := pipe.recv()) is not None:
            pipe.send(answer(task))


class Worker:
    def __init__(self, *job):
        self.job, self.task = job, None
        self.start()

    def start(self):
        self.pipe, other = mp.Pipe()
        self.process = mp.Process(target=serve, args=(other, *self.job), daemon=True)
        self.process.start()
        other.close()

    def give(self, task):
        self.task, self.since = task, time.monotonic()
        self.pipe.send(task)

    def take(self):
        try:
            return self.pipe.recv()
        except EOFError:
            self.process.join()
            crash = Crash(self.process.exitcode)
            self.start()
            return crash


def answers(prepare, arguments, tasks, jobs, limit=LIMIT):
    """(task, answer or Crash) in the order of the answers. prepare(*arguments) is a context manager that
    gives each process the function from task to answer. A task is taken when a process is free for it, and
    ends as a Crash after `limit` seconds."""
    idle, busy, tasks = [Worker(prepare, arguments) for _ in range(jobs)], {}, iter(tasks)
    while True:
        while idle and (task := next(tasks, None)) is not None:
            w = idle.pop()
            w.give(task)
            busy[w.pipe] = w
        if not busy:
            break
        for w in busy.values():
            if time.monotonic() - w.since > limit:
                w.process.kill()  # its pipe ends
        for pipe in mp.connection.wait(list(busy), timeout=limit / 10):
            w = busy.pop(pipe)
            task, answer = w.task, w.take()
            yield task, answer
            idle.append(w)
    for w in idle:
        w.pipe.send(None)
