#!/usr/bin/env python3
"""Time and memory per node on regular graphs of growing size.

  scale.py GRAPHOPT [--kinds chain,fan,...] [--sizes 10000,100000,1000000] [--json FILE] [-- OPTIONS]

For each kind and size: seconds of the whole process (best of --runs), start-up subtracted (the same on a
graph of ten nodes), per node in microseconds; the ratio of the largest size to the better of the two before
it; peak memory beyond the file, per node in bytes. Nothing is asserted: machines are noisy.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import make_graph

KINDS = "chain,fan,ladder,ifs,loop,shapes,turns,powers,slices,training," + ",".join(make_graph.FANS)


def run(cmd):
    """(seconds, peak bytes) of one process"""
    start = time.monotonic()
    p = subprocess.Popen(cmd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    err = p.stderr.read()
    _, status, usage = os.wait4(p.pid, 0)
    seconds = time.monotonic() - start
    if status:
        sys.exit(
            f"scale: {' '.join(cmd)}: exit status {os.waitstatus_to_exitcode(status)}: {err.decode()[-500:]}"
        )
    return seconds, usage.ru_maxrss * 1024


def main():
    argv, options = sys.argv[1:], []
    if "--" in argv:
        argv, options = argv[: argv.index("--")], argv[argv.index("--") + 1 :]
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("--kinds", default=KINDS)
    p.add_argument("--sizes", default="10000,100000,1000000")
    p.add_argument("--runs", type=int, default=3)
    p.add_argument("--json")
    a = p.parse_args(argv)
    sizes, table = [int(s) for s in a.sizes.split(",")], []
    print(f"{'kind':8s}" + "".join(f"{n:>12d}" for n in sizes) + "   last/best   bytes/node beyond the file")
    with tempfile.TemporaryDirectory() as work:
        source, target = os.path.join(work, "in.onnx"), os.path.join(work, "out.onnx")
        for kind in a.kinds.split(","):
            per_node, memory = [], 0
            for n in [10, *sizes]:
                with open(source, "wb") as f:
                    f.write(make_graph.model(make_graph.build(kind, n)))
                runs = [run([a.tool, source, "-o", target, "-q", *options]) for _ in range(a.runs)]
                best = min(s for s, _ in runs)
                if n == 10:
                    base, base_memory = best, min(m for _, m in runs)
                    continue
                per_node.append((best - base) / n * 1e6)
                memory = (min(m for _, m in runs) - base_memory - os.path.getsize(source)) / n
            ratio = per_node[-1] / min(per_node[:-1]) if len(per_node) > 1 else 1.0
            table.append(
                {
                    "kind": kind,
                    "sizes": sizes,
                    "microseconds": per_node,
                    "ratio": ratio,
                    "bytes_per_node": memory,
                }
            )
            print(
                f"{kind:8s}" + "".join(f"{t:9.2f} us" for t in per_node) + f"{ratio:10.2f}{memory:12.0f}",
                flush=True,
            )
    if a.json:
        with open(a.json, "w") as f:
            json.dump(table, f, indent=1)


if __name__ == "__main__":
    main()
