#!/usr/bin/env python3
"""Real exports before and after: run both in ONNX Runtime and compare, count nodes, run the tool again on its
output.

  zoo.py GRAPHOPT SHARED [--all] [--only NAME ...] [--options '...'] [--work DIR] [--table FILE.json]

SHARED is the folder with models/ and tools/; where it is missing the test says so and is skipped (exit status
77). The short form takes the models of less than SHORT_BYTES filled; --all takes all of them. Also checked:
-O0 keeps a model the same (nodes in canonical order), a second run over the output gives the same bytes, no
model gains nodes.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

SHORT_BYTES = 16e6


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool")
    p.add_argument("shared")
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", nargs="+", default=[])
    p.add_argument("--options", default="")
    p.add_argument("--work")
    p.add_argument("--table")
    a = p.parse_args()
    tools, models = os.path.join(a.shared, "tools"), os.path.join(a.shared, "models")
    if not os.path.isdir(models):
        print(f"skipped: {models} is not there")
        return 77
    sys.path.insert(0, tools)
    import onnx
    import compare_models
    import count_nodes

    index = json.load(open(os.path.join(models, "index.json")))["models"]
    names = [
        m["name"]
        for m in index
        if (not a.only or m["name"] in a.only) and (a.all or a.only or m["filled_bytes"] < SHORT_BYTES)
    ]
    bad, total_before, total_after, table = [], 0, 0, []
    with tempfile.TemporaryDirectory() as temp:
        work = a.work or temp
        missing = [n for n in names if not os.path.exists(os.path.join(work, n + ".onnx"))]
        if missing:
            subprocess.run(
                [sys.executable, os.path.join(tools, "fill_models.py"), models, work, "--only", *missing],
                check=True,
                stdout=subprocess.DEVNULL,
            )
        for name in names:
            source, target, again = (
                os.path.join(work, name + ".onnx"),
                os.path.join(temp, name + ".out.onnx"),
                os.path.join(temp, "again.onnx"),
            )
            why = []

            def run(*cmd):
                r = subprocess.run([a.tool, *cmd, "-q"], capture_output=True, text=True)
                if r.returncode:
                    why.append(f"{' '.join(cmd)}: exit status {r.returncode}: {r.stderr.strip()[-400:]}")
                return r.returncode == 0

            if run(source, "-O0", "-o", target) and not same_model(onnx, source, target):
                why.append("-O0 changes the model")
            if run(source, "-o", target, *a.options.split()):
                before, after = (
                    count_nodes.count(onnx.load(f, load_external_data=False))["nodes"]
                    for f in (source, target)
                )
                total_before, total_after = total_before + before, total_after + after
                if after > before:
                    why.append(f"{before} nodes became {after}")
                r = compare_models.compare_models(source, target, inputs=models)
                if r["verdict"] != "same":
                    why.append(f"{r['verdict']}: {r['why']}")
                if (
                    run(target, "-o", again, *a.options.split())
                    and open(again, "rb").read() != open(target, "rb").read()
                ):
                    why.append("a second run changes the result")
                table.append(
                    {
                        "model": name,
                        "before": before,
                        "after": after,
                        "rel_diff": r["rel_diff"],
                        "problems": why,
                    }
                )
                print(
                    f"{name:28s}{before:6d} -> {after:6d}   {r['verdict']}, relative difference {r['rel_diff']:.2g}"
                    + "".join(f"\n  {w}" for w in why),
                    flush=True,
                )
            else:
                print(f"{name}: " + "; ".join(why), flush=True)
            bad += [name] if why else []
            for f in (target, again):
                if os.path.exists(f):
                    os.remove(f)
    print(f"{len(names)} models, {total_before} -> {total_after} nodes, {len(bad)} bad {' '.join(bad)}")
    if a.table:
        json.dump(table, open(a.table, "w"), indent=1)
    return 1 if bad or not names else 0


def same_model(onnx, x, y):
    """Field by field, nodes up to the order in which they stand (both orders are topological)."""
    a, b = (onnx.load(f, load_external_data=False) for f in (x, y))
    nodes = [sorted(n.SerializeToString(deterministic=True) for n in m.graph.node) for m in (a, b)]
    for m in (a, b):
        del m.graph.node[:]
    return nodes[0] == nodes[1] and a.SerializeToString(deterministic=True) == b.SerializeToString(
        deterministic=True
    )


if __name__ == "__main__":
    sys.exit(main())
