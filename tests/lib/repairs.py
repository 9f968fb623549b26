"""Models that `--bucket-require repair` repairs: their padded runs against true runs of the original.

`make` writes the repaired model (tests/programs/repair_model.cpp), `checker` gives what lib/padding.py's
`check` takes as `make`. Inputs that carry true extents get those of the true run in both runs.
"""

import pathlib
import subprocess

import numpy as np
import onnx

from lib import padding, runs, verdicts

# Kinds that compute a result in another way, which rounds. All others keep the bits of true runs.
ROUND = ("true-mean", "true-statistics")


def program_beside(tool):
    return str(pathlib.Path(tool).parent / "tests" / "graphopt_repair_model")


def make(tool, folder, stem="case", path=None):
    """The repaired model of `path`, else of FOLDER/STEM.onnx, under FOLDER/STEM.json: what verdicts.ask has
    written."""
    paths = [path or f"{folder}/{stem}.onnx", f"{folder}/{stem}.json", f"{folder}/{stem}.repaired.onnx"]
    done = subprocess.run(
        [program_beside(tool), *paths], capture_output=True, text=True, timeout=verdicts.SECONDS
    )
    if done.returncode:
        raise verdicts.ToolFailed(f"no repaired model: {done.stderr.strip()[-300:]}")
    return onnx.load(paths[2])


class Check(padding.Check):
    def __init__(self, model, verdict, repaired, **options):
        super().__init__(model, verdict, **options)
        self.repaired = repaired
        self.repaired_session = runs.session(repaired)
        self.given = {v.name for v in self.repaired_session.get_inputs()}
        self.lengths = {}
        self.rounds = any(r["kind"] in ROUND for r in verdict.repairs)

    def with_lengths(self, feeds):
        return {k: v for k, v in {**feeds, **self.lengths}.items() if k in self.given}

    def run_padded(self, feeds):
        feeds = self.with_lengths(feeds)
        try:
            return self.repaired_session.run(None, feeds)
        except Exception:  # noqa: BLE001 - ONNX Runtime has many kinds
            bound = runs.session(padding.with_extents(self.repaired, feeds))
            return bound.run(None, feeds)

    def one(self, feeds, true, padded, rng, expected=None):
        extents = padding.related(true, self.relations)
        self.lengths = {n: np.array(extents[s], np.int64) for n, s in self.verdict.extra_inputs.items()}
        expected = self.run(feeds) if expected is None else expected
        found = super().one(feeds, true, padded, rng, expected)
        same = self.repaired_session.run(None, self.with_lengths(feeds))
        for name, a, b in zip(self.names, expected, same):
            if self.rounds:
                why = padding.difference(a, b, padding.tolerance_of(a.dtype, self.factor))
            else:
                why = runs.bit_difference(one_zero(a), one_zero(b))
            if why and not (self.excuse and self.rounds):
                found.problems.append(f"{name}: the repaired model gives {why} for true data ({true})")
        return found


def one_zero(x):
    """With +0 for -0: masks are a Where, and ONNX Runtime's gives +0 for -0."""
    return x + x.dtype.type(0) if isinstance(x, np.ndarray) and x.dtype.kind == "f" else x


def checker(repaired):
    return lambda model, verdict, **options: Check(model, verdict, repaired, **options)
