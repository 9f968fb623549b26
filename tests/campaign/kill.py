#!/usr/bin/env python3
# TIER: nightly
# LONG: --count 200
# WHEN: src/onnx/ src/support/file
"""kill -9 while OUT is rewritten in place: OUT is the old file or the new one, whole; what is left behind
does no harm.

  kill.py GRAPHOPT [--count N] [--seed S] [--megabytes M]

A model of M MiB is optimized in place (IN is OUT) and killed after a random part of the time that such a run
takes, again and again; half of the runs move the weights to external data, so that two files are written.
After each kill OUT is the old bytes or the new ones, and loads. Files without a name, which the tool writes
where the file system has them, vanish with the process. In the end a run that is not killed must succeed
beside whatever is left, and the number of such files is printed.
"""

import argparse
import hashlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def make(path, megabytes):
    w = numpy_helper.from_array(np.arange(megabytes * 2**18, dtype=np.float32), "w")
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["i"]), helper.make_node("Add", ["i", "w"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [w.dims[0]])],
        [w],
    )
    onnx.save(helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)]), path)


def digest(path):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()


def whole(path):
    """Does it load, with all of its external data?"""
    model = onnx.load(path)
    return numpy_helper.to_array(model.graph.initializer[0])[-1] != 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("--count", type=int, default=20)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--megabytes", type=int, default=16)
    a = p.parse_args()
    rng, seen, problems = random.Random(a.seed), Counter(), []
    with tempfile.TemporaryDirectory() as temp:
        original, folder = Path(temp, "original.onnx"), Path(temp, "work")
        make(original, a.megabytes)
        folder.mkdir()
        target = folder / "model.onnx"
        forms = {"inside": [], "external": ["--external-data", "always"]}
        after, seconds = {}, {}
        for form, options in forms.items():
            shutil.copy(original, target)
            begin = time.time()
            subprocess.run([a.tool, str(target), "-o", str(target), "-q", *options], check=True)
            seconds[form] = time.time() - begin
            after[form] = digest(target)
            for f in folder.iterdir():
                f.unlink()
        before, left = digest(original), Counter()
        for i in range(a.count):
            form = rng.choice(list(forms))
            shutil.copy(original, target)
            run = subprocess.Popen([a.tool, str(target), "-o", str(target), "-q", *forms[form]])
            time.sleep(rng.uniform(0, seconds[form] * 1.1))
            run.send_signal(signal.SIGKILL)
            status = run.wait()
            now = digest(target)
            state = "old" if now == before else "new" if now == after[form] else "broken"
            seen[state + (", ended before the kill" if status == 0 else "")] += 1
            if state == "broken" or not whole(target):
                problems.append(f"run {i} ({form}): OUT is {state}")
            left += Counter(
                "data file" if ".data" in f.name else "other" for f in folder.iterdir() if f != target
            )
            if i % 10 != 9:  # some runs find what earlier ones left
                continue
            shutil.copy(original, target)
            subprocess.run([a.tool, str(target), "-o", str(target), "-q", *forms[form]], check=True)
            if digest(target) != after[form] or not whole(target):
                problems.append(f"after run {i}: a run beside what is left gives something else")
            for f in folder.iterdir():
                f.unlink()
    print(
        f"{a.count} kills within {max(seconds.values()):.2f} s, {a.megabytes} MiB: {dict(seen)}; "
        f"files left, counted after each: {dict(left)}; {len(problems)} problems"
    )
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
