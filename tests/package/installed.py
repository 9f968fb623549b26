#!/usr/bin/env python3
# TIER: nightly
# WHEN: tools/package python/
"""What tools/package --quick makes, installed with pip: the module, the command, the data beside them.

  installed.py GRAPHOPT              a wheel of this binary, in an empty prefix
  installed.py GRAPHOPT --installed  what `import graphopt` finds; GRAPHOPT is its command

Every test gets the module's command and an empty folder. `onnx` may be absent.
"""

import csv
import gzip
import hashlib
import io
import os
import pathlib
import pickle
import re
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests"))

from _expect import expect, raised  # noqa: E402
from lib.cases import run_cases  # noqa: E402

MODEL = TOP / "examples" / "model.onnxtxt"
wheel = tarball = None


def by_command(command, *words, stdin=None):
    done = subprocess.run([command, *map(str, words)], input=stdin, capture_output=True, timeout=120)
    expect(done.returncode == 0, done.stderr)
    return done.stdout


def test_the_same_bytes(command, folder):
    """A path, bytes and the command give the same result."""
    import graphopt

    wanted = by_command(command, "-q", MODEL, "-o", "-")
    path, report = graphopt.optimize(MODEL, folder / "out.onnx")
    expect(path == str(folder / "out.onnx") and (folder / "out.onnx").read_bytes() == wanted, "path")
    expect(report.after.bytes == len(wanted) and report.after.nodes < report.before.nodes, report.after)
    data, report = graphopt.optimize(MODEL.read_bytes())
    expect(data == wanted and report.output == "-" and report.input == "-", "bytes")
    expect(graphopt.optimize(memoryview(MODEL.read_bytes()), folder / "b.onnx")[0] == str(folder / "b.onnx"))
    expect((folder / "b.onnx").read_bytes() == wanted, "bytes to a path")
    path, report = graphopt.optimize(MODEL, f"{folder}/new/")
    expect(
        path == report.output == f"{folder}/new/model.onnx" and pathlib.Path(path).read_bytes() == wanted,
        path,
    )
    expect(graphopt.optimize(MODEL, folder / "new")[0] == path, "a folder that is there")
    raised(graphopt.UsageError, lambda: graphopt.optimize(MODEL.read_bytes(), folder / "new"), "has no name")
    nothing, report = graphopt.optimize(str(MODEL))
    expect(nothing is None and report.output == "" and report.changed, "a dry run")
    expect(report.raw["format_number"] == 2 and report.passes[0].runs > 0 and report.seconds < 60)


def test_model_proto(command, folder):
    try:
        import onnx
    except ImportError:
        print("  without onnx")
        return
    import graphopt
    from graphopt import _api

    data = by_command(command, "-q", "-O0", MODEL, "-o", "-")
    wanted = by_command(command, "-q", "-", "-o", "-", stdin=data)
    model = onnx.load_from_string(data)
    result, report = graphopt.optimize(model)
    expect(result == onnx.load_from_string(wanted) and isinstance(result, onnx.ModelProto), "another model")
    expect(model == onnx.load_from_string(data), "the model was changed")
    largest, _api._LARGEST_MESSAGE = _api._LARGEST_MESSAGE, 10  # the way of those over 2 GiB
    try:
        before = set(os.listdir(tempfile.gettempdir()))
        result, report = graphopt.optimize(model)
        expect(graphopt.inspect(model).figures == report.before, "inspect of a large one")
    finally:
        _api._LARGEST_MESSAGE = largest
    expect(
        [n.op_type for n in result.graph.node]
        == [n.op_type for n in onnx.load_from_string(wanted).graph.node]
    )
    expect(model == onnx.load_from_string(data), "the model was changed")
    left = [n for n in set(os.listdir(tempfile.gettempdir())) - before if n.startswith("graphopt-")]
    expect(not left, "a temporary folder is left:", left)


def test_every_option_is_a_keyword(command, folder):
    """The list of keywords is what the options of this tool make of it."""
    words = [sys.executable, "-B", TOP / "tools/packaging/python_keywords.py", command, "--check"]
    done = subprocess.run(words, capture_output=True, text=True)
    expect(done.returncode == 0, done.stderr)


def test_words(command, folder):
    """Keywords become the words that the tool documents."""
    from graphopt import _options

    def words(**options):
        return _options.words_of("optimize", _options.Options, options)

    expect(words(level=1, exact=True, infer=False) == ["-O1", "--exact"], words(level=1))
    expect(words(dims={"n": 1, "m": (1, 64), "k": "2..3"}) == ["--dim=n=1", "--dim=m=1..64", "--dim=k=2..3"])
    expect(words(shapes={"x": [1, -1]}) == ["--shape=x=1,-1"])
    expect(words(passes=["a", "b"], disable_pass="c") == ["--passes=a,b", "--disable-pass=c"])
    expect(words(buckets={"s": [1, 2], "t": "1..8:pow2"}) == ["--bucket=s=1,2", "--bucket=t=1..8:pow2"])
    expect(words(buckets=pathlib.Path("b.json")) == ["--buckets=b.json"])
    expect(words(check_inputs={"x": "x.npy"}) == ["--check-input=x=x.npy"])
    expect(words(check_inputs=pathlib.Path("all.npz")) == ["--check-input=all.npz"])
    expect(
        words(check=True) == ["--check=1"] and words(check=3) == ["--check=3"] and words(check=False) == []
    )
    expect(words(max_memory="2G", timeout=0.5, verbose=2) == ["--max-memory=2G", "--timeout=0.5", "-v", "-v"])
    expect(words(ort=None) == [])
    raised(TypeError, lambda: words(dims=[1]), "'dims' is a mapping")


def test_errors_name_keywords(command, folder):
    """A message names keywords where the tool names options."""
    from graphopt._errors import in_keywords

    for text, wanted in {
        "leave out --parts never": 'leave out parts="never"',
        "--devices cuts the model": "devices cuts the model",
        "--exact and -O2; --bucket seq=4": "exact=True and -O2; buckets seq=4",
        "no option: --no-such, a--dim, --": "no option: --no-such, a--dim, --",
    }.items():
        expect(in_keywords(text) == wanted, in_keywords(text))
    import graphopt

    done = raised(graphopt.UsageError, lambda: graphopt.optimize(MODEL, plan=True), "plan=True needs devices")
    expect("--plan" not in done.what + done.remedy, done.what, done.remedy)


def test_unknown_options(command, folder):
    import graphopt

    raised(TypeError, lambda: graphopt.optimize(MODEL, exct=True), "'exct'", "did you mean", "'exact'")
    raised(TypeError, lambda: graphopt.check(MODEL, dim={"a": 1}), "check()", "'dims'")
    raised(TypeError, lambda: graphopt.inspect(MODEL, exact=True), "inspect()")
    raised(TypeError, lambda: graphopt.optimize(7), "builtins.int")


def test_errors(command, folder):
    import graphopt

    e = raised(graphopt.InputError, lambda: graphopt.optimize(folder / "no: such.onnx"), "graphopt: error: ")
    expect((e.status, e.file, e.what) == (2, str(folder / "no: such.onnx"), "there is no such file"), vars(e))
    expect(e.remedy and isinstance(e, graphopt.GraphoptError), e)
    again = pickle.loads(pickle.dumps(e))
    expect(type(again) is type(e) and vars(again) == vars(e) and str(again) == str(e), "pickled")
    e = raised(graphopt.InputError, lambda: graphopt.inspect(b"\xff\xff"))
    expect(e.file == "-" and e.what, vars(e))
    e = raised(graphopt.UsageError, lambda: graphopt.optimize(MODEL, level=7), "-O")
    expect((e.status, e.file) == (1, "") and e.what.startswith("-O: '7'"), vars(e))
    e = raised(graphopt.UsageError, lambda: graphopt.optimize(MODEL, dims={"no": 1}))
    expect(e.file == str(MODEL) and e.what.startswith("dims: "), vars(e))
    e = raised(graphopt.OutputError, lambda: graphopt.optimize(MODEL, folder / "no" / "out.onnx"))
    expect(e.file == str(folder / "no" / "out.onnx"), vars(e))
    e = raised(graphopt.LimitError, lambda: graphopt.optimize(MODEL, max_memory=1 << 18))
    e = raised(graphopt.NotChecked, lambda: graphopt.check(MODEL, ort=folder / "none.so"), "1.21")
    expect(e.status == 6, vars(e))


def test_places(command, folder):
    """Each part of a place is found, whatever is in the names."""
    from graphopt._errors import error_of, parse_problems

    text = (
        "note: nothing\n"
        "graphopt: error: a: b.onnx: graph 'main/l.body', node 'c: d' (com.x::Conv), input 1 'w12': it: bad\n"
        "  help: do: this\n"
        "graphopt: error: a: b.onnx: node #418 (Conv): second\n  help: that\n"
        "graphopt: error: --check: '0' is not a number\n  help: give 1\n"
    )
    one, two, three = parse_problems(text, ["a: b.onnx"])
    expect((one.file, one.graph, one.node) == ("a: b.onnx", "main/l.body", "c: d"), one)
    expect(
        (one.op, one.slot, one.what, one.remedy) == ("com.x::Conv", "input 1 'w12'", "it: bad", "do: this"),
        one,
    )
    expect((two.node, two.op, two.what, two.graph) == ("#418", "Conv", "second", ""), two)
    expect((three.file, three.what) == ("", "check: '0' is not a number"), three)
    e = error_of(-9, "", [])
    expect(e.status == 137 and "signal 9" in str(e) and type(e).__name__ == "InternalError", e)


def test_log_and_files(command, folder):
    import graphopt

    _, report = graphopt.optimize(MODEL, time_passes=True, report=folder / "r.json", dot=folder / "d.dot")
    expect("clean-up" in report.log and (folder / "d.dot").read_text().startswith("digraph"), report.log)
    expect((folder / "r.json").stat().st_size > 100, "no report")
    expect(graphopt.optimize(MODEL)[1].log == "", "a log that nobody asked for")


def test_inspect(command, folder):
    import graphopt

    found = graphopt.inspect(MODEL.read_bytes())
    expect(found.format == "text" and found.figures.nodes > 0 and found.inputs[0].type, found)
    expect(graphopt.inspect(MODEL, timeout=60).symbols == found.symbols, found.symbols)
    expect(found.data_files == [], found.data_files)
    path, _ = graphopt.optimize(MODEL, folder / "m.onnx", external_data="always", external_threshold=1)
    files = graphopt.inspect(path).data_files
    expect(
        [f.path for f in files] == [f"{p.name}" for p in folder.iterdir() if p != folder / "m.onnx"], files
    )
    expect(len(files) == 1 and files[0].bytes == pathlib.Path(files[0].file).stat().st_size, files)
    expect(graphopt.version() == by_command(command, "--version").decode().split()[1], graphopt.version())


def test_names_like_options(command, folder):
    """Files that are called as a subcommand or an option are models, too."""
    import graphopt

    here = os.getcwd()
    os.chdir(folder)
    try:
        for name in ("inspect", "compare", "map", "reduce", "devices", "-q", "-"):
            pathlib.Path(name).write_bytes(MODEL.read_bytes())
            graphopt.inspect(name)
            path, _ = graphopt.optimize(name, name)
            expect(path == name and pathlib.Path(name).read_bytes() != MODEL.read_bytes(), name)
    finally:
        os.chdir(here)


def test_ray_is_an_extra(command, folder):
    """The module that runs shards on Ray says how Ray is installed; nothing else asks for it."""
    words = "import sys; sys.modules['ray'] = None; import graphopt; import graphopt.ray"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run(
        [sys.executable, "-B", "-c", words], env=environment, capture_output=True, text=True
    )
    expect(done.stderr.endswith("needs Ray: pip install 'graphopt[ray]'\n"), done.stderr)


def test_devices(command, folder):
    """The profiles that came along are found beside the command."""
    import graphopt

    names = {
        line.split()[0]
        for line in by_command(command, "--list-devices").decode().splitlines()
        if line[:1].strip()
    }
    expect({p.stem for p in (TOP / "share/graphopt/devices").glob("*.json")} <= names, names)
    _, report = graphopt.optimize(MODEL, devices=["nnapi"], plan=True)
    expect(report.raw["partition"]["devices"] and report.log, report.log)


def test_check(command, folder):
    import graphopt

    try:
        report = graphopt.check(MODEL, 2)
    except graphopt.NotChecked as error:
        expect("ONNX Runtime 1.21 or newer" in str(error), error)
        print("  check:", error.what)
        return
    expect(report.check and report.check.verdict == "same" and report.check.runs >= 2, report.check)
    expect(report.output == "" and all(one.ok for one in report.check.outputs), report.check)


def test_time(command, folder):
    """The command starts no Python, and a call costs little more than its process."""
    import graphopt

    def best(call, times=12):
        out = []
        for _ in range(times):
            start = time.perf_counter()
            call()
            out.append(time.perf_counter() - start)
        return min(out)

    started = best(lambda: subprocess.run([command, "--version"], stdout=subprocess.DEVNULL, check=True))
    words = [command, "-q", MODEL, "-o", folder / "a.onnx", "--report", folder / "r.json"]
    process = best(lambda: subprocess.run(words, check=True))
    call = best(lambda: graphopt.optimize(MODEL, folder / "b.onnx"))
    print(f"  --version {started * 1e3:.1f} ms; process {process * 1e3:.1f} ms, call {call * 1e3:.1f} ms")
    expect(started < 0.06, "--version took", started)


def test_wheel(command, folder):
    """Each file of the wheel is in its RECORD with its hash; names and modes are as pip wants them."""
    if wheel is None:
        return
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        record = next(n for n in names if n.endswith(".dist-info/RECORD"))
        rows = list(csv.reader(io.StringIO(archive.read(record).decode())))
        expect([row[0] for row in rows] == names, "RECORD and the archive differ")
        for name, digest, size in rows[:-1]:
            data = archive.read(name)
            hashed = (
                __import__("base64").urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            )
            expect(digest == f"sha256={hashed}" and int(size) == len(data), name)
        modes = {n: archive.getinfo(n).external_attr >> 16 & 0o111 for n in names}
        expect([n for n in names if modes[n]] == [n for n in names if n.endswith("/scripts/graphopt")], modes)
        metadata = archive.read(record.replace("RECORD", "METADATA")).decode()
        version = re.search(r"project\(graphopt VERSION ([\d.]+)", (TOP / "CMakeLists.txt").read_text())[1]
        expect(f"Version: {version}\n" in metadata and "Requires-Python: >=3.9" in metadata, metadata[:500])
        needs = re.findall(r"^Requires-Dist: (\w+).*; extra == \"(\w+)\"$", metadata, re.M)
        wanted = [("onnx", "onnx"), ("onnxruntime", "check"), ("numpy", "run"), ("onnxruntime", "run")]
        expect(needs == [*wanted, ("ray", "ray")], needs)
        expect(metadata.count("Requires-Dist: ") == len(needs), "a package is needed without being asked for")
        for name in re.findall(r"^License-File: (.*)$", metadata, re.M):
            expect(record.replace("RECORD", f"licenses/{name}") in names, name)
        for one in ("protobuf", "openssl", "onnx", "fmt", "spdlog", "cli11", "json", "xxhash"):
            expect(any(one in n for n in names if "third-party" in n), "no licence of", one)
        expect("graphopt/py.typed" in names and not any("__pycache__" in n for n in names), names)


def test_tarball(command, folder):
    if tarball is None:
        return
    expect(gzip.decompress(pathlib.Path(tarball).read_bytes())[:9] == b"graphopt-", "its folder")
    with tarfile.open(tarball) as archive:
        archive.extractall(folder)  # made by this test
    (root,) = folder.iterdir()
    text = by_command(root / "bin" / "graphopt", "--list-devices").decode()
    expect("nnapi" in text, text)
    for name in (
        *("share/man/man1/graphopt.1", "share/bash-completion/completions/graphopt"),
        *("share/zsh/site-functions/_graphopt", "share/fish/vendor_completions.d/graphopt.fish"),
        *("share/doc/graphopt/LICENSE", "share/doc/graphopt/third-party/protobuf.txt"),
    ):
        expect((root / name).stat().st_size > 100, name)


def prepare(binary, folder):
    """Makes the files, installs the wheel into an empty prefix, and returns its command."""
    global wheel, tarball
    done = subprocess.run(
        [TOP / "tools" / "package", "--quick", "--binary", binary, "--out", folder / "dist"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    wheel, tarball = done.stdout.split()
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--disable-pip-version-check",
        "--no-index",
        "--no-deps",
        "-q",
    ]
    subprocess.run([*pip, "--prefix", folder / "prefix", wheel], check=True)
    (site,) = (folder / "prefix").glob("lib/python*/site-packages")
    sys.path.insert(0, str(site))
    return str(folder / "prefix" / "bin" / "graphopt")


def main():
    installed = "--installed" in sys.argv
    os.environ.pop("GRAPHOPT_BINARY", None)
    with tempfile.TemporaryDirectory() as top:
        command = sys.argv[1] if installed else prepare(sys.argv[1], pathlib.Path(top))
        import graphopt

        expect(os.path.samefile(graphopt.binary(), command), graphopt.binary(), "is not", command)
        return run_cases(globals(), command)


if __name__ == "__main__":
    sys.exit(main())
