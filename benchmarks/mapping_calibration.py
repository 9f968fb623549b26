#!/usr/bin/env python3
"""What the confidence of a pair should be, from the pairs that benchmarks/mapping.py judged.

  mapping_calibration.py ROWS.json [--out FILE]

ROWS.json is what mapping.py --json wrote. For each class of `why` the share of right pairs is fitted as a
rising step function of the tool's number (isotonic regression by pooling adjacent violators). Each step also
counts the tool's own number once, so that a step seen seldom stays near it.

Printed: per class the pairs, the share that is right and the mean confidence; then the expected calibration
error (ten bins of equal width) as the tool tells it, of the fit on every second model when it is applied to
the others, both ways, and of the fit on all. --out writes the fit on all as src/mapping/calibration.inc has
it, a line a step: class, greatest number of the tool for which the step counts, calibrated confidence. A
number above the last step's takes the last. "ambiguous" is left out: that it is right more often is due to
changes that keep the order of operands.
"""

import argparse
import collections
import json
import pathlib
import sys

import numpy as np

from _mapping_score import calibration_error

CONFIDENCE, WHY, RIGHT, RAW = 2, 3, 4, 5  # places in a judged row


def pooled(raw, right):
    """[(greatest raw number, share)] of the rising step function nearest to `right` in squares."""
    order = np.argsort(raw, kind="stable")
    values, starts = np.unique(raw[order], return_index=True)
    sums = np.add.reduceat(right[order].astype(float), starts)
    sizes = np.diff([*starts, len(raw)])
    blocks = []  # [greatest raw number, sum of right, sum of raw, number]
    for value, total, size in zip(values, sums, sizes):
        blocks.append([value, total, value * size, size])
        while len(blocks) > 1 and blocks[-2][1] * blocks[-1][3] >= blocks[-1][1] * blocks[-2][3]:
            last = blocks.pop()
            blocks[-1] = [last[0], *(x + y for x, y in zip(blocks[-1][1:], last[1:]))]
    shares = [(total + mass / size) / (size + 1) for _, total, mass, size in blocks]
    return [(b[0], s) for b, s in zip(blocks, np.maximum.accumulate(shares))]


def fit(rows):
    """{class: its steps}"""
    by = collections.defaultdict(list)
    for r in rows:
        by[r[WHY]].append((r[RAW], r[RIGHT]))
    return {why: pooled(*map(np.array, zip(*found))) for why, found in sorted(by.items())}


def applied(table, rows):
    """The calibrated confidences; a class that the table does not have keeps the tool's number."""
    found = []
    for r in rows:
        steps = table.get(r[WHY])
        if steps is None:
            found.append(r[RAW])
        else:
            k = int(np.searchsorted([s[0] for s in steps], r[RAW] - 1e-9))
            found.append(steps[min(k, len(steps) - 1)][1])
    return found


def error(confidences, rows):
    found = calibration_error(confidences, [r[RIGHT] for r in rows])
    sure = [r[RIGHT] for c, r in zip(confidences, rows) if c >= 0.9]
    return f"{found:.4f}   {np.mean(sure):.5f} of {len(sure)} with >= 0.9 right" if sure else f"{found:.4f}"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("rows", metavar="ROWS.json")
    p.add_argument("--out", metavar="FILE")
    a = p.parse_args()
    files = json.loads(pathlib.Path(a.rows).read_text(encoding="utf-8"))["rows"]
    files = [f for f in files if f.get("rows") and f["way"] != "literal"]
    names = sorted({f["model"] for f in files})
    halves = [[r for f in files if names.index(f["model"]) % 2 == k for r in f["rows"]] for k in (0, 1)]
    rows = halves[0] + halves[1]
    if not rows:
        sys.exit("mapping_calibration: there is no judged pair")
    table = fit(rows)
    print(f"{'class':44}{'pairs':>8}{'right':>9}{'told':>9}{'steps':>7}")
    for why, steps in table.items():
        of_class = [r for r in rows if r[WHY] == why]
        right, told = (np.mean([r[k] for r in of_class]) for k in (RIGHT, RAW))
        print(f"{why:44}{len(of_class):>8}{right:9.4f}{told:9.4f}{len(steps):>7}")
    print(f"\nas told                {error([r[CONFIDENCE] for r in rows], rows)}")
    for k in (0, 1):
        if halves[0] and halves[1]:
            print(
                f"fit on half {k + 1}, other   {error(applied(fit(halves[k]), halves[1 - k]), halves[1 - k])}"
            )
    print(f"fit on all, all        {error(applied(table, rows), rows)}")
    if a.out:
        table.pop("ambiguous", None)
        lines = [
            "// Written by benchmarks/mapping_calibration.py: reason, greatest number of its rule, share that"
            " is right.\n// clang-format off\n"
        ]
        for why, steps in table.items():
            lines += [f'{{"{why}", {raw:.4f}, {share:.4f}}},\n' for raw, share in steps]
        pathlib.Path(a.out).write_text("".join(lines), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
