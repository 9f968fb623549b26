"""Random numbers that are the same on every machine.

A stream is Philox4x64, keyed by the first 16 bytes of the SHA-256 of some strings. Its 64-bit words become
values by integer arithmetic and IEEE double operations that round once, so a value depends on no library's
choice of a method. The weights of tests/models are recorded by their digest: a change here changes them all.
"""

import hashlib

import numpy as np


class Stream:
    """The words and values that belong to a sequence of keys."""

    def __init__(self, *keys):
        digest = hashlib.sha256("\0".join(map(str, keys)).encode()).digest()
        self._philox = np.random.Philox(key=np.frombuffer(digest, "<u8", 2).astype(np.uint64), counter=0)

    def words(self, count):
        """The next `count` words, uint64."""
        return np.asarray(self._philox.random_raw(count), np.uint64).reshape(count)

    def uniform(self, count):
        """Doubles in [0, 1): the upper 53 bits of a word."""
        return (self.words(count) >> np.uint64(11)) * 2.0**-53

    def normal(self, count):
        """Doubles of mean 0 and deviation 1, within 3.47: the sum of a word's four quarters, centred.

        The sum of four uniform 16-bit numbers has the mean 131070 and the deviation 37837.22675.
        """
        words, total = self.words(count), np.zeros(count, np.uint64)
        for shift in (0, 16, 32, 48):
            total += (words >> np.uint64(shift)) & np.uint64(0xFFFF)
        return (total.astype(np.float64) - 131070.0) * (1.0 / 37837.22675)

    def integers(self, count, low, high):
        """int64 in [low, high), or `low` throughout when the range is empty."""
        return (self.words(count) % np.uint64(max(high - low, 1))).astype(np.int64) + low
