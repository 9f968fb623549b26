"""The models of tests/models: their records, and the filled files."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "models"


def records():
    """{name: record} of index.json, in its order; tests/models/README.md lists a record's fields."""
    with open(FOLDER / "index.json", encoding="utf-8") as f:
        return {r["name"]: r for r in json.load(f)["models"]}


def chosen(only, fits=lambda record: True):
    """The names in `only`, or all whose record fits when it is empty. A name that no model has ends the
    program."""
    known = records()
    if unknown := sorted(set(only) - known.keys()):
        sys.exit(f"no model in tests/models is called {', '.join(unknown)}")
    return [name for name, r in known.items() if (name in only if only else fits(r))]


def filled(names, folder):
    """{name: path} of the models, filled in `folder` unless they are there. Raises CalledProcessError when
    fill.py cannot write one or its weights differ from the recorded digest."""
    paths = {name: os.path.join(folder, f"{name}.onnx") for name in names}
    missing = [name for name, path in paths.items() if not os.path.exists(path)]
    if missing:
        fill = [sys.executable, "-B", str(FOLDER / "fill.py"), str(folder), "--only", *missing]
        subprocess.run(fill, check=True, stdout=subprocess.DEVNULL)
    return paths


@contextlib.contextmanager
def work_folder(given):
    """The folder that the caller named, made when it is not there, or a temporary one."""
    if given:
        os.makedirs(given, exist_ok=True)
        yield given
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield folder
