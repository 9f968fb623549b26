"""What the benchmarks of models before and after share: which models, and how they are optimized."""

import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests"))
from lib import models  # noqa: E402


def add_arguments(parser):
    parser.add_argument("files", nargs="+", metavar="FILE", help="GRAPHOPT [FOLDER], or pairs of models")
    parser.add_argument("--options", default="", help="of graphopt, one string")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME")
    parser.add_argument("--work", metavar="DIR", help="filled models are kept there and used again")
    parser.add_argument("--json", metavar="FILE", help="write the table there")


def sources(files, only, work):
    """{name: path}: the models of the folder that is named, or those of tests/models, filled in `work`."""
    if len(files) == 1:
        return models.filled(models.chosen(only), work)
    found = {f.stem: str(f) for f in sorted(pathlib.Path(files[1]).glob("*.onnx"))}
    return {name: path for name, path in found.items() if not only or name in only}


def pairs(a, work):
    """(name, before, after, why there is no after, or "") one by one, for the parsed arguments `a`. An
    optimized model lies in `work` and is removed when the next one is asked for."""
    if len(a.files) > 1 and not os.path.isdir(a.files[1]):
        if len(a.files) % 2:
            sys.exit("give GRAPHOPT, GRAPHOPT and a folder, or pairs of models")
        for before, after in zip(a.files[::2], a.files[1::2]):
            yield pathlib.Path(before).stem, before, after, ""
        return
    target = os.path.join(work, "after.onnx.tmp")
    for name, source in sources(a.files, a.only, work).items():
        command = [a.files[0], source, "-o", target, "-q", *a.options.split()]
        done = subprocess.run(command, capture_output=True, text=True)
        error = f"exit status {done.returncode}: {done.stderr.strip()[-200:]}" if done.returncode else ""
        yield name, source, target, error
        if os.path.exists(target):
            os.remove(target)
