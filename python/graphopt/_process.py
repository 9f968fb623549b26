"""Finds the tool and runs it. Models and results pass through files in memory: nothing is copied in pieces,
and no end of a pipe has to be kept from filling up."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Any, Iterator, List, Optional, Sequence, Tuple

from graphopt._errors import error_of

_found: Optional[str] = None


def _places() -> Iterator[Path]:
    """Where the wheel's script may lie, the likeliest first."""
    package = Path(__file__).resolve().parent
    yield package.parents[3] / "bin" / "graphopt"  # PREFIX/lib/python3.N/site-packages/graphopt
    yield package.parent / "bin" / "graphopt"  # pip install --target
    import sysconfig

    yield Path(sysconfig.get_path("scripts")) / "graphopt"
    from importlib import metadata

    for file in metadata.files("graphopt") or []:
        if file.name == "graphopt" and file.parent.name == "bin":
            yield Path(str(file.locate()))


def binary() -> str:
    """Returns the path of the tool: $GRAPHOPT_BINARY, else the one that was installed with this module.

    FileNotFoundError when there is none.
    """
    global _found
    named = os.environ.get("GRAPHOPT_BINARY")
    if named:
        return named
    if _found is None:
        try:
            _found = next(str(p) for p in _places() if os.access(p, os.X_OK) and p.is_file())
        except (StopIteration, ImportError):
            raise FileNotFoundError(
                "the tool 'graphopt' is not where pip puts the scripts of this package; install it again, or "
                "name a binary in $GRAPHOPT_BINARY"
            ) from None
    return _found


def memory_file(name: str) -> IO[bytes]:
    """Returns an open, empty file without a name in any folder."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create(name), "w+b", buffering=0)
    return tempfile.TemporaryFile(buffering=0)  # type: ignore[return-value]


def write_all(file: IO[bytes], data: Any) -> None:
    """Writes all of `data` (one call of write takes 2 GiB at most), and goes back to the start."""
    view = memoryview(data).cast("B")
    while view:
        view = view[file.write(view) :]
    file.seek(0)


def content(file: IO[bytes]) -> bytes:
    """Returns all that is in the file."""
    size = os.fstat(file.fileno()).st_size
    file.seek(0)
    out = file.read(size)
    while len(out) < size:
        more = file.read(size - len(out))
        if not more:
            break
        out += more
    return out


def end_of(
    words: Sequence[str],
    stdin: Optional[IO[bytes]] = None,
    report: bool = False,
    keep: Sequence[IO[bytes]] = (),
) -> Tuple[int, bytes, str, bytes]:
    """Runs the tool and returns (its status, stdout, stderr, the report), whatever the status is.

    keep: files that it may open as /dev/fd/N. An exception in between (KeyboardInterrupt) ends the process,
    too.
    """
    with memory_file("stdout") as out, memory_file("stderr") as err, memory_file("report") as told:
        command: List[str] = [binary(), *words]
        kept = [file.fileno() for file in keep]
        if report:
            kept.append(told.fileno())
            command.append(f"--report=/dev/fd/{told.fileno()}")
        done = subprocess.run(
            command, stdin=stdin or subprocess.DEVNULL, stdout=out, stderr=err, pass_fds=kept
        )
        return done.returncode, content(out), content(err).decode("utf-8", "replace"), content(told)


def run(
    words: Sequence[str],
    files: Sequence[str],
    stdin: Optional[IO[bytes]] = None,
    report: bool = False,
) -> Tuple[bytes, str, bytes]:
    """Runs the tool and returns (stdout, stderr, the report).

    GraphoptError: it ended with a status that is not 0. `files`: names that its messages may begin with.
    """
    status, out, messages, told = end_of(words, stdin, report)
    if status != 0:
        raise error_of(status, messages, files)
    return out, messages, told


if sys.platform != "linux":
    raise ImportError("graphopt is for Linux")
