#!/usr/bin/env python3
"""Writes the seeds of the fuzz targets, small models of many kinds: make_corpus.py FOLDER makes
FOLDER/<target>/<number>."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "campaign"))
import _mutations  # noqa: E402

binaries, texts = _mutations.corpus()
for target, seeds in {"load_binary": binaries, "load_text": texts, "passes": binaries + texts}.items():
    folder = Path(sys.argv[1], target)
    folder.mkdir(parents=True, exist_ok=True)
    for i, data in enumerate(seeds):
        (folder / str(i)).write_bytes(data)
