#!/usr/bin/env python3
# LONG: --all
"""Models cut in two: the parts, run one after the other in ONNX Runtime, give what the whole gives.

  parts.py GRAPHOPT [--all] [--only NAME ...] [--cuts N] [--seed S] [--work DIR]

graphopt_cut_model (tests/programs), found beside the tool, clones each model of tests/models, cuts it at a
random place and writes both parts. Both must load, and pass onnx.checker with its inference where the whole
does; without the runtime's optimizations
the results are the same bits, also for 16-bit models, whose borders stay 16 bits wide in the whole as well
where no operator is computed wider: there, and only there, the tolerance of lib/compare.py holds. Outputs of
random operators are compared in type and shape. The short form takes the models of less than SHORT_BYTES, two
cuts each; --all takes all, ten cuts each.
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

import onnx

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from lib import compare, counting, inputs, models, runs  # noqa: E402
from lib.tool import executable  # noqa: E402

SHORT_BYTES = 4e6
HALF = {onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}


def is_half(model):
    return any(t.data_type in HALF for t in model.graph.initializer) or any(
        v.type.tensor_type.elem_type in HALF for v in (*model.graph.input, *model.graph.value_info)
    )


def is_random(model):
    parts = [model.graph.node, *(f.node for f in model.functions)]
    return any(n.op_type in compare.RANDOM for part in parts for n in counting.nested(part))


def problem(a, b, half, random):
    """None, or how the result of the parts differs from that of the whole."""
    if random:
        return None if compare.layout(a) == compare.layout(b) else "another type or shape"
    found = runs.bit_difference(a, b)
    if not found or not half:
        return found
    try:
        return None if compare.difference(a, b) <= compare.TOLERANCE["float16"] else found
    except compare.Unlike as e:
        return str(e)


def check_fully(path):
    onnx.checker.check_model(path, full_check=True)


def check(whole, parts, record):
    """What is wrong with the parts, one text each."""
    model = onnx.load(whole, load_external_data=False)
    half, random = is_half(model), is_random(model)
    if compare.attempt(check_fully, whole)[1] is None:
        for path in parts:
            check_fully(path)
    first, second = (compare.session(p) for p in parts)
    before = compare.session(whole)
    feeds = inputs.make(record, inputs.sizes(record, "default"))
    wanted = compare.results(before, feeds)
    made = compare.results(first, feeds)
    made |= compare.results(second, feeds | made)
    constant = {t.name for t in model.graph.initializer} | {v.name for v in model.graph.input}
    for name, value in wanted.items():
        if name in constant:
            continue
        if name not in made:
            yield f"output {name} is missing"
        elif wrong := problem(value, made[name], half, random):
            yield f"output {name}: {wrong}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("tool", metavar="GRAPHOPT", type=executable)
    p.add_argument("--all", action="store_true")
    p.add_argument("--only", nargs="+", default=[], metavar="NAME")
    p.add_argument("--cuts", type=int, metavar="N", help="per model")
    p.add_argument("--seed", type=int, default=1, metavar="S")
    p.add_argument("--work", metavar="DIR", help="filled models are kept there and used again")
    a = p.parse_args()
    cut = pathlib.Path(a.tool).parent / "tests" / "graphopt_cut_model"
    ran, uncut, bad = 0, 0, 0
    with models.work_folder(a.work) as work, tempfile.TemporaryDirectory() as temp:
        names = models.chosen(a.only, lambda r: a.all or r["filled_bytes"] < SHORT_BYTES)
        for name, source in models.filled(names, work).items():
            for seed in range(a.seed, a.seed + (a.cuts or (10 if a.all or a.only else 2))):
                parts = [f"{temp}/{name}.{i}.onnx" for i in (0, 1)]
                done = subprocess.run([cut, source, *parts, str(seed)], capture_output=True, text=True)
                if done.returncode == 2:
                    uncut += 1
                    continue
                if done.returncode:
                    found = [f"exit status {done.returncode}: {done.stderr.strip()[-300:]}"]
                else:
                    found, error = compare.attempt(
                        lambda s=source, n=name, p=parts: list(check(s, p, models.records()[n]))
                    )
                    found = [error] if error else found
                ran += 1
                bad += bool(found)
                for text in found[:3]:
                    print(f"{name}, cut {seed} ({done.stdout.strip()}): {text}", flush=True)
                for file in pathlib.Path(temp).iterdir():
                    file.unlink()
    print(f"{len(names)} models, {ran} cuts, {uncut} without a place, {bad} bad")
    return 1 if bad or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
