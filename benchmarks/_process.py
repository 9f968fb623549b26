"""What a whole process costs: _process.py LIMIT COMMAND ... prints one line of JSON with its exit status, its
seconds, CPU seconds and peak memory in MiB, those of its children included.

It is a process of its own, started with `python -S -E`, since Linux counts the memory of the process that
starts a command as memory of the command: with 9 MiB here, a smaller peak reads as 9.
"""

import json
import os
import signal
import sys
import time

limit, command = int(sys.argv[1]), sys.argv[2:]
begin = time.perf_counter()
child = os.fork()
if child == 0:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    try:
        os.execvp(command[0], command)
    finally:
        os._exit(127)
signal.signal(signal.SIGALRM, lambda *_: os.kill(child, signal.SIGKILL))
signal.alarm(limit)
_, status, used = os.wait4(child, 0)
seconds = time.perf_counter() - begin
print(
    json.dumps(
        {
            "status": os.waitstatus_to_exitcode(status),
            "seconds": seconds,
            "cpu": used.ru_utime + used.ru_stime,
            "peak_mib": used.ru_maxrss / 1024,
        }
    )
)
