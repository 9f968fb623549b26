"""Stands for graphopt in a test script while mutants.py records: runs the tool with a trace of the sites met,
and keeps what a replay needs.

  python -I -S _record.py TOOL ARGUMENTS...

GRAPHOPT_RECORDS is the folder in which each call makes a folder of its own: call.json (arguments with {inK}
and {outK} for files, status, seconds), the inputs as they were, `met` (the numbers of the sites, 32 bit
each). Without call.json the record is incomplete.
Imports little, because it runs thousands of times.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from array import array

MOST_BYTES = 20_000_000  # of the inputs; a call with larger ones is not replayed


def main():
    tool, arguments = sys.argv[1], sys.argv[2:]
    folder = tempfile.mkdtemp(dir=os.environ["GRAPHOPT_RECORDS"])
    inputs, template, whole = [], [], True
    for a in arguments:
        name, sign, path = a.partition("=") if a.startswith("-") else ("", "", a)
        if path and os.path.isfile(path):
            whole = whole and os.path.getsize(path) <= MOST_BYTES
            if whole:
                shutil.copyfile(path, os.path.join(folder, f"in{len(inputs)}"))
            template.append(f"{name}{sign}{{in{len(inputs)}}}")
            inputs.append(path)
        else:
            template.append(a)
    given = sys.stdin.buffer.read() if "-" in arguments else None
    stamps = [os.stat(p).st_mtime_ns for p in inputs]
    trace = os.path.join(folder, "trace")
    begin = time.time()
    done = subprocess.run(
        [tool, *arguments],
        input=given,
        stdin=None if given is not None else subprocess.DEVNULL,
        capture_output=True,
        env={**os.environ, "GRAPHOPT_MUTANT_TRACE": trace},
    )
    seconds = time.time() - begin
    outputs = 0
    for i, a in enumerate(template):
        name, sign, path = a.partition("=") if a.startswith("-") else ("", "", a)
        m = re.fullmatch(r"\{in(\d+)\}", path)
        if (
            m
            and os.path.isfile(inputs[int(m[1])])
            and os.stat(inputs[int(m[1])]).st_mtime_ns != stamps[int(m[1])]
        ):
            # Written in place, or over a file that was there: the replay begins with a copy.
            template[i] = f"{name}{sign}{{io{m[1]}}}"
        elif path and not m and not path.startswith("-") and os.path.isfile(path):
            template[i] = f"{name}{sign}{{out{outputs}}}"
            outputs += 1
    met = array("I")
    if os.path.exists(trace):
        with open(trace, "rb") as f:
            met.extend(m.start() for m in re.finditer(b"\1", f.read()))
        os.remove(trace)
    with open(os.path.join(folder, "met"), "wb") as f:
        met.tofile(f)
    if given is not None:
        with open(os.path.join(folder, "stdin"), "wb") as f:
            f.write(given)
    # Under its name the file is complete: a test may end this process at any time, or not wait for it.
    part = os.path.join(folder, "part")
    with open(part, "w") as f:
        json.dump(
            {
                "arguments": template,
                "inputs": len(inputs),
                "status": done.returncode,
                "seconds": seconds,
                "whole": whole,
                "begin": begin,
            },
            f,
        )
    os.replace(part, os.path.join(folder, "call.json"))
    sys.stdout.buffer.write(done.stdout)
    sys.stderr.buffer.write(done.stderr)
    if done.returncode < 0:
        os.kill(os.getpid(), -done.returncode)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
