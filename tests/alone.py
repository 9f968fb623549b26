#!/usr/bin/env python3
"""How long each script of the commit tier takes alone. One of over 20 seconds must give its reason in its
head (# SLOW:, lib/tiers.py); what has none is named. A figure for people: machines differ, so nothing fails
here.

  alone.py BUILD_DIR
"""

import json
import subprocess
import sys
import time

from lib import tiers

MOST = 20  # seconds


def main():
    build = sys.argv[1]
    words = ["ctest", "--test-dir", build, "-LE", "^(nightly|fuzz)$", "--show-only=json-v1"]
    listed = subprocess.run(words, capture_output=True, text=True, check=True)
    known = {t["name"] for t in json.loads(listed.stdout)["tests"]}
    reasons = {name: tiers.head(script).get("SLOW", "") for name, script in tiers.scripts().items()}
    reasons |= {name: "a quarter of all golden cases" for name in known if name.startswith("golden.")}
    seconds = {}
    for name in sorted(reasons.keys() & known):
        began = time.monotonic()
        subprocess.run(["ctest", "--test-dir", build, "-R", f"^{name}$"], capture_output=True)
        seconds[name] = time.monotonic() - began
    for name, s in sorted(seconds.items(), key=lambda x: -x[1]):
        print(f"{name:32} {s:7.1f} s  {reasons[name]}")
    slow = [name for name, s in seconds.items() if s > MOST and not reasons[name]]
    print(
        f"{len(seconds)} scripts, {sum(seconds.values()):.0f} s; over {MOST} s without a reason: "
        + (", ".join(slow) or "none")
    )


if __name__ == "__main__":
    main()
