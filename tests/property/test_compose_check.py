#!/usr/bin/env python3
"""The checks of compositions see what they are for: each defect that is put into a result is named, and a
copy passes. The examples of ONNX Runtime's own inconsistencies are proven, and a model that it computes in
one way alone has no such excuse."""

import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).resolve().parents[1])]
import _compose_check as check  # noqa: E402
import _compose_own as proofs  # noqa: E402

MODEL = """<ir_version: 10, opset_import: ["" : 18]>
g (float[N,3] x, float[3] w) => (float[N,3] y, int64[2] s) {
  a = Add (x, w)
  y = Neg (a)
  s = Shape (a)
}"""


def parsed(text):
    return onnx.parser.parse_model(text)


class Planted(check.Checker):
    """Gives texts in place of what the tool writes: of the first run, and of later ones."""

    def __init__(self, folder, *texts):
        super().__init__("", folder)
        self.texts = list(texts)

    def optimize(self, source, target, options):
        target = self.folder / target
        text = self.texts.pop(0) if len(self.texts) > 1 else self.texts[0]
        target.write_bytes(parsed(text).SerializeToString())
        return target


def kind(folder, *texts, options="--exact"):
    """What the check says of these results; "" when it passes."""
    rng = np.random.default_rng(1)
    feeds = [
        {"x": rng.standard_normal((n, 3)).astype(np.float32), "w": np.ones(3, np.float32)} for n in (2, 0)
    ]
    try:
        Planted(folder, *texts).check(parsed(MODEL), feeds, options)
    except check.Failure as failure:
        return failure.kind
    return ""


def main():
    with tempfile.TemporaryDirectory() as folder:
        wanted = [
            ("", [MODEL], "--exact"),
            ("differs", [MODEL.replace("Neg (a)", "Abs (a)")], "--exact"),
            ("differs", [MODEL.replace("Neg (a)", "Abs (a)")], ""),
            ("differs", [MODEL.replace("Shape (a)", "Shape (w)").replace("int64[2] s", "int64[?] s")], "-O3"),
            ("not loaded", [MODEL.replace("Neg (a)", "Neg (b)")], "--exact"),
            ("does not run", [MODEL.replace("Neg (a)", "Gather (a, s)")], "--exact"),
            ("interface", [MODEL.replace("float[N,3] x", "float[2,3] x")], "--exact"),
            ("interface", [MODEL.replace("w)", "v)")], "--exact"),
            ("more nodes", [MODEL.replace("Neg (a)", "Neg (b)  c = Neg (a)  b = Neg (c)")], "--exact"),
            ("second run", [MODEL, MODEL.replace("a = Add (x, w)", "a = Add (w, x)")], "--exact"),
            (
                "claim",
                [MODEL.replace("=> (float[N,3] y, int64[2] s)", "=> (float[3,3] y, int64[2] s)")],
                "-O1",
            ),
            ("claim", [MODEL.replace("s) {", "s) <float[N,N] a> {")], "-O0 --infer"),
        ]
        wrong = [
            f"{texts[0]}\n[{options}] is called {found!r}, not {name!r}"
            for name, texts, options in wanted
            if (found := kind(folder, *texts, options=options)) != name
        ]
    wrong += proofs.unproven()
    failure = check.Failure("differs", "--exact", "", output="y")
    feeds = [{"x": np.ones((2, 3), np.float32), "w": np.ones(3, np.float32)}]
    if ways := list(proofs.own_ways(parsed(MODEL), feeds, failure, True)):
        wrong.append(f"a model that ONNX Runtime computes in one way is excused by {ways}")
    for text in wrong:
        print(text)
    print(f"{len(wrong)} of {len(wanted) + 2} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
