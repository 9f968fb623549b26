"""What a binary asks of the system it runs on: exits with 1 when that is more than the promise.

symbols.py BINARY [--glibc 2.28] [--most-mib 11]

Reads `readelf` (binutils): versions of glibc's symbols, needed libraries (only glibc's own), and whether it
is stripped.
"""

import argparse
import os
import re
import subprocess
import sys

GLIBC = re.compile(r"(libc|libm|libdl|libpthread|librt)\.so\.\d|ld-linux[-\w]*\.so\.\d")


def readelf(binary, *words):
    return subprocess.run(
        ["readelf", "-W", *words, binary], check=True, capture_output=True, text=True
    ).stdout


def number(version):
    return tuple(map(int, version.split(".")))


def problems(binary, glibc, most_mib):
    """Returns (what is not as promised, a line of figures)."""
    found = []
    versions = set(re.findall(r"GLIBC_([\d.]+)", readelf(binary, "--dyn-syms", "--version-info")))
    newest = max(versions, key=number, default="0")
    if number(newest) > number(glibc):
        found.append(f"it asks for glibc {newest}, not {glibc}")
    needed = re.findall(r"NEEDED.*\[(.*)\]", readelf(binary, "--dynamic"))
    found += [f"it needs {name}" for name in needed if not GLIBC.fullmatch(name)]
    sections = readelf(binary, "--sections")
    if ".symtab" in sections or ".debug_info" in sections:
        found.append("it is not stripped")
    mib = os.path.getsize(binary) / 2**20
    if mib > most_mib:
        found.append(f"it has {mib:.2f} MiB, more than {most_mib}")
    return found, f"{mib:.2f} MiB, glibc {newest}, needs {' '.join(needed)}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("--glibc", default="2.28")
    parser.add_argument("--most-mib", type=float, default=11)
    given = parser.parse_args()
    bad, figures = problems(given.binary, given.glibc, given.most_mib)
    print(figures)
    for one in bad:
        print(f"{given.binary}: {one}", file=sys.stderr)
    sys.exit(1 if bad else 0)
