"""The filler refuses weights that are not the recorded ones, and the numbers that inputs are made of stay the
same."""

import hashlib
import lzma
import pathlib
import sys

import onnx

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "models")]
import fill  # noqa: E402
from lib import inputs, models  # noqa: E402

NAME = "hf_gpt2_past"  # symbols, an expression of two, a mask, positions
INPUTS = "268597193ecc9a58"  # how the digest of the inputs at the largest sizes, seed 1, begins


def skeleton():
    packed = (models.FOLDER / f"{NAME}.onnx.xz").read_bytes()
    return onnx.ModelProto.FromString(lzma.decompress(packed))


def main():
    record, bad = models.records()[NAME], []

    def check(condition, what):
        if not condition:
            bad.append(what)

    model = skeleton()
    check(fill.fill(model, NAME) == record["weights_sha256"], "the digest of the weights")
    check(not any(t.doc_string.startswith(fill.MARK) for t in fill.tensors(model)), "a recipe is left")
    check(fill.fill(skeleton(), "another") != record["weights_sha256"], "the name has no effect")

    largest, drawn = inputs.sizes(record, "largest"), inputs.sizes(record, "drawn:1")
    check(largest == {"batch": 4, "past": 24, "seq": 16}, f"largest sizes {largest}")
    for symbol, s in record["symbols"].items():
        check(s["min"] <= drawn[symbol] <= s["max"], f"{symbol} is drawn as {drawn[symbol]}")
    feeds = inputs.make(record, largest, seed=1)
    mask = feeds["attention_mask"]
    check(mask.shape == (4, 40) and mask[0].all() and mask[:, -1].all(), "the mask is on the left")
    check((feeds["position_ids"] == range(24, 40)).all(), "positions go on from the past ones")
    digest = hashlib.sha256(b"".join(feeds[k].tobytes() for k in sorted(feeds))).hexdigest()
    check(digest.startswith(INPUTS), f"the digest of the inputs is {digest}")
    print("\n".join(bad) or f"{NAME}: weights and inputs are as recorded")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
