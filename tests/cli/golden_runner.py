#!/usr/bin/env python3
"""The golden runner itself (tests/golden/run.py): the head of a case is read strictly, and inputs keep to the
domain that it states.

  golden_runner.py GRAPHOPT
"""

import importlib.util
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx.parser

path = Path(__file__).resolve().parent.parent / "golden" / "run.py"
spec = importlib.util.spec_from_file_location("golden", path)
golden = importlib.util.module_from_spec(spec)
spec.loader.exec_module(golden)
golden.SANITIZED = False  # it is the runner that is tried, execution included

HEAD = '<ir_version: 8, opset_import: ["" : 17]>\n'
# Min (x, 1e30) is x for every x that is not greater: a rewrite to Identity holds on a domain alone.
BEFORE = HEAD + "g (float[N,7] x) => (float[N,7] y) <float k = {1e30}> { y = Min (x, k) }\n"
AFTER = HEAD + "g (float[N,7] x) => (float[N,7] y) { y = Identity (x) }\n"


def case(folder, head, before=BEFORE, after="=== unchanged\n"):
    file = Path(folder) / "case.txt"
    file.write_text("# RUN: graphopt -O0\n" + head + "=== before\n" + before + after)
    return golden.read_case(str(file))


def refused(folder, head, words):
    try:
        case(folder, head)
    except golden.CaseError as e:
        assert words in str(e), (head, str(e))
    else:
        raise AssertionError(f"accepted: {head}")


def check_heads(folder):
    c = case(
        folder, "# INPUTS: x range -1.5 2e3\n# INPUTS: z finite\n# SAME: rtol=1e-6 atol=0\n# Any: text\n"
    )
    assert c["domains"] == {"x": (-1.5, 2e3), "z": (-np.inf, np.inf)}, c["domains"]
    assert (c["rtol"], c["atol"]) == (1e-6, 0)
    refused(folder, "# INPUT: x finite\n", "unknown word 'INPUT'")
    refused(folder, "# STATS: a = 1\n", "unknown word 'STATS'")
    refused(folder, "# STAT: a is 1\n", "STAT")
    refused(folder, "# INPUTS: x positive\n", "INPUTS")
    refused(folder, "# INPUTS: x range 1\n", "INPUTS")
    refused(folder, "# INPUTS: x range one two\n", "two numbers")
    refused(folder, "# INPUTS: x range 2 1\n", "no range")
    refused(folder, "# INPUTS: x range 0 inf\n", "no range")
    refused(folder, "=== before\n", "two parts 'before'")
    refused(folder, "=== behind\n", "the parts are")


def feeds(text, domains, seeds=range(200)):
    """All values of input x over many seeds."""
    s = golden.session(onnx.parser.parse_model(HEAD + text))
    return np.concatenate([golden.feeds_for(s, k, {}, domains)["x"].ravel() for k in seeds])


def check_domains():
    everything, finite = {}, {"x": (-np.inf, np.inf)}
    for kind in ("float", "double", "float16"):
        text = f"g ({kind}[5,7] x) => ({kind}[5,7] y) {{ y = Neg (x) }}"
        v = feeds(text, everything)
        assert np.isnan(v).any() and np.isinf(v).any(), "without a domain the special values must occur"
        v = feeds(text, finite)
        assert np.isfinite(v).all() and np.abs(v).max() > 60000, (kind, v.min(), v.max())
        for low, high in ((-10, 10), (0.1, 0.3), (-7, -0.1), (2, 2)):
            v = feeds(text, {"x": (low, high)})
            wide = v.astype(np.float64)
            assert wide.min() >= low and wide.max() <= high, (kind, low, high, v.min(), v.max())
            assert wide.max() - wide.min() >= 0.99 * (high - low), "the whole range must occur"
        zeros = [z for z in feeds(text, {"x": (-10, 10)}) if z == 0]
        assert {bool(np.signbit(z)) for z in zeros} == {True, False}, "zeros of both signs must occur"
    text = "g (int8[5,7] x) => (int8[5,7] y) { y = Abs (x) }"
    assert feeds(text, everything).min() == -128
    v = feeds(text, {"x": (-3, 9)})
    assert set(v.tolist()) == set(range(-3, 10)), sorted(set(v.tolist()))
    for bad in ({"z": (0, 1)}, {"x": (-np.inf, np.inf)}, {"x": (-300, 0)}, {"x": (0.2, 0.8)}):
        try:
            feeds(text, bad)
        except golden.CaseError:
            continue
        raise AssertionError(f"accepted for an int8: {bad}")


def check_update(tool, folder):
    """An empty part 'after' fails, and --update writes it."""
    before = HEAD + "g (float[N] x) => (float[N] y) { i = Identity (x) y = Relu (i) }\n"
    c = case(folder, "", before, "=== after\n")
    c["options"] = ["--passes=drop-identity"]
    assert "is empty" in golden.run_case(tool, c, folder, False)[0]
    golden.run_case(tool, c, folder, True)
    after = golden.read_case(c["path"])["after"]
    assert "Relu (x)" in after and "Identity" not in after, after


def check_run(tool, folder):
    """A result that is right on the domain alone passes with the domain, and not without."""
    before, after = (onnx.parser.parse_model(t) for t in (BEFORE, AFTER))
    for head, fits in (("", False), ("# INPUTS: x finite\n", False), ("# INPUTS: x range -5 1e9\n", True)):
        why = golden.execute_both(before, after, case(folder, head))
        assert (why is None) == fits, (head, why)
    # The same through a whole run, which must also refuse a name that is no input.
    assert golden.run_case(tool, case(folder, "# INPUTS: x range -5 5\n"), folder, False) == []
    try:
        golden.run_case(tool, case(folder, "# INPUTS: k range -5 5\n"), folder, False)
    except golden.CaseError as e:
        assert "no input" in str(e)
    else:
        raise AssertionError("INPUTS named an initializer")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_heads(folder)
        check_domains()
        check_update(sys.argv[1], folder)
        check_run(sys.argv[1], folder)
    print("the golden runner reads heads strictly and keeps domains")


if __name__ == "__main__":
    main()
