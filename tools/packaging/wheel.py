"""Writes a wheel around a binary.

wheel.py --binary FILE --platform TAG --share FOLDER --licenses FOLDER --out FOLDER

The binary is a script of the wheel, which pip puts as it is beside python: no Python starts when it is run.
The device profiles, the man page and the completions are data, which pip puts into the prefix, so that the
binary finds ../share/graphopt/devices. The module is python/graphopt. The same input gives the same bytes.
"""

import argparse
import base64
import hashlib
import pathlib
import re
import zipfile

TOP = pathlib.Path(__file__).resolve().parents[2]

METADATA = """\
Metadata-Version: 2.4
Name: graphopt
Version: {version}
Summary: {summary}
License-Expression: Apache-2.0 AND Apache-2.0 WITH LLVM-exception AND BSD-2-Clause AND BSD-3-Clause AND MIT
{licenses}
Keywords: onnx,optimizer,graph,inference
Classifier: Development Status :: 4 - Beta
Classifier: Environment :: Console
Classifier: Operating System :: POSIX :: Linux
Classifier: Programming Language :: Python :: 3
Classifier: Topic :: Scientific/Engineering :: Artificial Intelligence
Classifier: Typing :: Typed
Requires-Python: >=3.9
Provides-Extra: onnx
Requires-Dist: onnx; extra == "onnx"
Provides-Extra: check
Requires-Dist: onnxruntime>=1.21; extra == "check"
Provides-Extra: run
Requires-Dist: numpy; extra == "run"
Requires-Dist: onnxruntime>=1.21; extra == "run"
Provides-Extra: ray
Requires-Dist: ray>=2.9; extra == "ray"
Description-Content-Type: text/markdown

{description}"""


def project():
    """Returns (version, summary) as CMakeLists.txt has them."""
    text = (TOP / "CMakeLists.txt").read_text()
    match = re.search(r'project\(graphopt VERSION ([\d.]+) DESCRIPTION "([^"]+)"', text)
    return match[1], match[2]


def files_below(folder):
    folder = pathlib.Path(folder)
    return sorted(p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)


def contents(binary, platform, share, licenses):
    """Returns {name in the wheel: (bytes, executable)}, without RECORD."""
    version, summary = project()
    info, data = f"graphopt-{version}.dist-info", f"graphopt-{version}.data"
    out = {}
    for path in files_below(TOP / "python" / "graphopt"):
        out[f"graphopt/{path.relative_to(TOP / 'python' / 'graphopt')}"] = (path.read_bytes(), False)
    out[f"{data}/scripts/graphopt"] = (pathlib.Path(binary).read_bytes(), True)
    for folder in (TOP / "share", pathlib.Path(share)):
        for path in files_below(folder):
            out[f"{data}/data/share/{path.relative_to(folder)}"] = (path.read_bytes(), False)
    texts = {"LICENSE": (TOP / "LICENSE").read_bytes()}
    for path in files_below(licenses):
        texts[f"third-party/{path.name}"] = path.read_bytes()
    for name, text in texts.items():
        out[f"{info}/licenses/{name}"] = (text, False)
    description = (TOP / "docs" / "python.md").read_text()
    license_lines = "\n".join(f"License-File: {name}" for name in texts)
    metadata = METADATA.format(
        version=version, summary=summary, licenses=license_lines, description=description
    )
    out[f"{info}/METADATA"] = (metadata.encode(), False)
    wheel = "Wheel-Version: 1.0\nGenerator: graphopt\nRoot-Is-Purelib: false\n"
    wheel += f"Tag: py3-none-{platform}\n"
    out[f"{info}/WHEEL"] = (wheel.encode(), False)
    return out


def write(binary, platform, share, licenses, out):
    """Writes the wheel and returns its path."""
    version, _ = project()
    path = pathlib.Path(out) / f"graphopt-{version}-py3-none-{platform}.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    record = f"graphopt-{version}.dist-info/RECORD"
    lines = []
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:

        def add(name, data, executable):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, data)

        for name, (data, executable) in contents(binary, platform, share, licenses).items():
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            lines.append(f"{name},sha256={digest},{len(data)}")
            add(name, data, executable)
        add(record, "\n".join([*lines, f"{record},,"]) + "\n", False)
    return path


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    for name in ("binary", "platform", "share", "licenses", "out"):
        parser.add_argument(f"--{name}", required=True)
    print(write(**vars(parser.parse_args())))
