#!/usr/bin/env python3
# TIER: nightly
# WHEN: python/graphopt/ray.py examples/batch/ tools/requirements-nightly.txt
"""graphopt.ray on a local Ray of two workers: a folder of results equals that of one `graphopt batch`,
records included, byte for byte, also when workers and tools are killed while they work. And what
examples/batch holds against the schemas of Kubernetes and of GitHub's workflows.

  on_ray.py GRAPHOPT

Runs in the Python of tools/requirements-nightly.txt what needs it; skipped where that is not installed
(tools/setup --for-nightly).
"""

import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import onnx
from onnx import TensorProto, helper

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests"))

from _expect import expect  # noqa: E402
from lib.cases import run_cases  # noqa: E402

MODELS, SHARDS = 60, 6
KILLS = 5
# Calls graphopt.ray.batch with each line of stdin, and answers in a line.
DRIVER = """
import json, os, sys
import ray
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=80 << 20,
         _temp_dir=sys.argv[1])
import graphopt
import graphopt.ray
print("ready", flush=True)
for line in sys.stdin:
    call = json.loads(line)
    number = call.pop("number")
    os.chdir(call.pop("folder"))
    try:
        done = graphopt.ray.batch(**call)
        answer = {
            "status": done.status,
            "counts": done.counts,
            "models": {
                m.name: [m.state, m.status, m.error, m.report and m.report.after.nodes] for m in done.models
            },
            "shards": [[s.index, s.count, s.status, s.node, s.log] for s in done.shards],
        }
    except Exception as error:
        answer = {"error": type(error).__name__, "text": str(error)}
    print(json.dumps({"number": number, **answer}), flush=True)
"""


def nightly_python():
    """The Python that has Ray, or none."""
    done = subprocess.run([TOP / "cmake" / "cache_paths"], capture_output=True, text=True, check=True)
    places = dict(line.split("=", 1) for line in done.stdout.splitlines())
    python = pathlib.Path(places["nightly_venv"]) / "bin" / "python3"
    with contextlib.suppress(OSError):
        if subprocess.run([python, "-c", "import ray"], capture_output=True).returncode == 0:
            return str(python)
    return None


class Ray:
    """A process that has initialized Ray and waits for calls."""

    def __init__(self, python, binary, folder):
        self.python, self.binary, self.number = python, binary, 0
        self.log = folder / "ray.log"
        own = ("PATH", "LANG", "TMPDIR")
        self.environment = {name: os.environ[name] for name in own if name in os.environ} | {
            "HOME": str(folder),  # Ray writes a token there
            "GRAPHOPT_BINARY": binary,
            "PYTHONPATH": str(TOP / "python"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        # Ray's sockets have the folder in their names, which are at most 107 bytes.
        self.sockets = tempfile.TemporaryDirectory(prefix="ray", dir="/tmp")
        self.process = subprocess.Popen(
            [python, "-c", DRIVER, self.sockets.name],
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=open(self.log, "w"),
            text=True,
        )
        expect(self._line() == "ready\n", self.log.read_text())

    def _line(self):
        # Ray itself prints to the driver's stdout, too.
        while line := self.process.stdout.readline():
            if line.startswith(("ready", "{")):
                return line
        status = self.process.wait()
        raise AssertionError(f"the driver ended with {status}:\n{self.log.read_text()[-3000:]}")

    def begin(self, folder, **call):
        self.number += 1
        call = {"number": self.number, "folder": str(folder), **call}
        self.process.stdin.write(json.dumps(call) + "\n")
        self.process.stdin.flush()

    def end(self):
        while True:  # a test that failed may not have read its answer
            answer = json.loads(self._line())
            if answer["number"] == self.number:
                return answer

    def call(self, folder, **call):
        self.begin(folder, **call)
        return self.end()

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(60)
        finally:
            self.process.kill()
            self.sockets.cleanup()


def model(nodes):
    """A chain that no pass shortens, behind an Identity."""
    chain = [helper.make_node("Identity", ["x"], ["v0"])]
    chain += [
        helper.make_node("Tanh" if i % 2 else "Sigmoid", [f"v{i}"], [f"v{i + 1}"]) for i in range(nodes)
    ]
    graph = helper.make_graph(
        chain,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n"])],
        [helper.make_tensor_value_info(f"v{nodes}", TensorProto.FLOAT, ["n"])],
    )
    return helper.make_model(graph, ir_version=10, opset_imports=[helper.make_opsetid("", 21)])


def make_zoo(folder):
    for i in range(MODELS):
        path = folder / "zoo" / f"family{i % 4}" / f"m{i}.onnx"
        path.parent.mkdir(parents=True, exist_ok=True)
        onnx.save(model(3000 + i), path)


def content(folder):
    """{path below the folder: bytes} of all files."""
    return {p.relative_to(folder): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def plain(ray, folder, *words):
    """What one run of the command leaves in the folder out, which goes away again: (files, status)."""
    done = subprocess.run([ray.binary, "batch", "zoo", "-o", "out", "-q", *words], cwd=folder)
    found = content(folder / "out")
    (folder / "out").rename(folder / f"plain{time.monotonic_ns()}")
    return found, done.returncode


def differences(wanted, found):
    names = [str(n) for n in sorted(wanted.keys() | found.keys()) if wanted.get(n) != found.get(n)]
    return f"{len(names)} files differ: {', '.join(names[:5])}" if names else ""


def tools_of(ray):
    """{process of a shard: the worker of Ray that began it}"""
    found = {}
    for entry in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (entry / "cmdline").read_bytes().split(b"\0")
            if not any(w.startswith(b"--shard=") for w in words):
                continue
            # A worker has no words of its own left; what began it has.
            worker = parent_of(entry.name)
            begun_by = pathlib.Path(f"/proc/{parent_of(worker)}/cmdline").read_bytes()
            if ray.sockets.name.encode() in begun_by:
                found[int(entry.name)] = worker
    return found


def stat_of(process):
    """The fields behind the name."""
    return pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def parent_of(process):
    return int(stat_of(process)[1])


def name_of(process):
    with contextlib.suppress(OSError):
        return pathlib.Path(f"/proc/{process}/comm").read_text().strip()
    return ""


def is_running(process):
    try:
        return stat_of(process)[0] not in "ZX"
    except OSError:
        return False


def kill_at(ray, folder, records, which):
    """Kills a worker, or the tool that it began, when so many models are done; the tool. That of a killed
    worker is stopped before, so it ends only if something ends it."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if len(list((folder / "out").rglob("*.onnx"))) >= records and (found := tools_of(ray)):
            tool, worker = random.choice(sorted(found.items()))
            with contextlib.suppress(ProcessLookupError):
                if which == "worker":
                    os.kill(tool, signal.SIGSTOP)
                os.kill(worker if which == "worker" else tool, signal.SIGKILL)
                return tool
        time.sleep(0.005)
    raise AssertionError("no shard was seen at work")


def test_equals_one_run(ray, folder):
    make_zoo(folder)
    wanted, status = plain(ray, folder, "--dim=n=8")
    expect(status == 0 and len(wanted) >= 2 * MODELS, status, len(wanted))
    done = ray.call(
        folder, models="zoo", output="out", shards=SHARDS, dims={"n": 8}, report=str(folder / "lines")
    )
    expect(done.get("counts") == {"optimized": MODELS} and done["status"] == 0, done)
    expect([s[:3] for s in done["shards"]] == [[i + 1, SHARDS, 0] for i in range(SHARDS)], done["shards"])
    expect(all(m[3] >= 3000 for m in done["models"].values()), done["models"])
    expect(not differences(wanted, content(folder / "out")), differences(wanted, content(folder / "out")))
    lines = [json.loads(line) for line in (folder / "lines").read_text().splitlines()]
    expect([m["name"] for m in lines[:-1]] == sorted(done["models"]), "names in the report")
    expect(lines[-1]["batch"]["optimized"] == MODELS, lines[-1])
    done = ray.call(folder, models=["zoo"], output="out", dims={"n": 8})
    expect(done.get("counts") == {"up to date": MODELS} and len(done["shards"]) == 2, done)
    expect(content(folder / "out") == wanted, "the second run wrote something")
    done = ray.call(folder, models=["zoo"], output="out", dims={"n": 9}, dry_run=True)
    expect(done.get("counts") == {"to do": MODELS} and done["status"] == 0, done)
    expect(content(folder / "out") == wanted, "the dry run wrote something")


def test_killed_workers(ray, folder):
    """At drawn moments, a worker or the tool itself; the tool never outlives its worker."""
    make_zoo(folder)
    wanted, _ = plain(ray, folder, "--dim=n=8")
    seen = []
    for turn in range(KILLS):
        which = "tool" if turn == KILLS - 1 else "worker"
        ray.begin(folder, models="zoo", output="out", shards=SHARDS, dims={"n": 8})
        tool = kill_at(ray, folder, random.randrange(1, MODELS * 2 // 3), which)
        end = time.monotonic() + 5
        while is_running(tool) and time.monotonic() < end:
            time.sleep(0.01)
        if alone := is_running(tool):
            os.kill(tool, signal.SIGCONT)
        done = ray.end()
        expect(not alone, "the tool did not end with its worker")
        expect(done.get("status") == 0 and len(done["models"]) == MODELS, done)
        expect(not differences(wanted, content(folder / "out")), differences(wanted, content(folder / "out")))
        seen.append(done["counts"].get("up to date", 0))
        (folder / "out").rename(folder / f"out{turn}")
    print(f"  {KILLS} kills; models that the second try found up to date: {seen}")


def test_the_tool_ends_with_its_worker(ray, folder):
    """Also under a Ray that does not look after what its workers begin: here there is none."""
    worker = subprocess.Popen(
        [ray.python, "-c", "import graphopt.ray as r; r._run_tied(['1000'], '.')"],
        env={**ray.environment, "GRAPHOPT_BINARY": shutil.which("sleep")},
    )
    try:
        end, tools = time.monotonic() + 60, []
        while not tools and time.monotonic() < end:
            time.sleep(0.01)
            children = pathlib.Path(f"/proc/{worker.pid}/task/{worker.pid}/children").read_text().split()
            tools = [int(p) for p in children if name_of(p) == "sleep"]
    finally:
        worker.kill()
        worker.wait()
    expect(tools, "no tool was begun")
    end = time.monotonic() + 10
    while is_running(tools[0]) and time.monotonic() < end:
        time.sleep(0.01)
    if is_running(tools[0]):
        os.kill(tools[0], signal.SIGKILL)
        raise AssertionError("the tool went on without its worker")


def test_a_lost_shard(ray, folder):
    """Without another try the shard is lost, the others are done, and the next call does the rest."""
    make_zoo(folder)
    wanted, _ = plain(ray, folder)
    ray.begin(folder, models="zoo", output="out", shards=SHARDS, max_retries=0)
    kill_at(ray, folder, 5, "worker")
    done = ray.end()
    lost = [s for s in done["shards"] if s[2] != 0]
    expect(done["status"] == 70 and len(lost) == 1 and lost[0][4], done)
    expect(0 < len(done["models"]) < MODELS, len(done["models"]))
    done = ray.call(folder, models="zoo", output="out", shards=SHARDS)
    expect(done["status"] == 0 and set(done["counts"]) == {"optimized", "up to date"}, done["counts"])
    expect(not differences(wanted, content(folder / "out")), differences(wanted, content(folder / "out")))


def test_failed_models(ray, folder):
    make_zoo(folder)
    (folder / "zoo" / "broken.onnx").write_bytes(b"\xff\xff")
    wanted, status = plain(ray, folder)
    done = ray.call(folder, models="zoo", output="out")
    expect(done["status"] == status == 2 and done["counts"] == {"optimized": MODELS, "failed": 1}, done)
    broken = done["models"]["broken.onnx"]
    expect(broken[:2] == ["failed", 2] and "it is not an ONNX model" in broken[2], broken)
    expect(not differences(wanted, content(folder / "out")), differences(wanted, content(folder / "out")))


def test_errors(ray, folder):
    make_zoo(folder)
    done = ray.call(folder, models="zoo", output="out", level=7)
    expect(done.get("error") == "UsageError" and "-O" in done["text"], done)
    done = ray.call(folder, models="none", output="out")
    expect(done.get("error") == "InputError" and "none" in done["text"], done)
    done = ray.call(folder, models="zoo", output="out", exct=True)
    expect(done.get("error") == "TypeError" and "batch()" in done["text"] and "'exact'" in done["text"], done)
    done = ray.call(folder, models="zoo", output="out", address="auto")
    expect(done.get("error") == "ValueError" and "address" in done["text"], done)
    expect(not (folder / "out").exists(), "something was written")
    # Each model has its own word in this.
    done = ray.call(folder, models="zoo", output="out", dims={"none": 1})
    expect(done["status"] == 1 and done["counts"] == {"failed": MODELS}, done)
    expect(all("dims" in m[2] for m in done["models"].values()), done["models"])


def test_the_page(ray, folder):
    """The lines of Python of docs/batch.md, which start a Ray of their own."""
    (code,) = re.findall(r"```python\n(import graphopt.ray\n.*?)```", page(), re.S)
    (folder / "zoo").mkdir()
    onnx.save(model(3), folder / "zoo" / "m.onnx")
    with tempfile.TemporaryDirectory(prefix="ray", dir="/tmp") as sockets:
        done = subprocess.run(
            [ray.python, "-c", code.replace('{"batch": 1}', '{"n": 1}')],
            cwd=folder,
            env={**ray.environment, "RAY_TMPDIR": sockets},
            capture_output=True,
            text=True,
            timeout=120,
        )
    expect(done.returncode == 0 and "{'optimized': 1} 0\n" in done.stdout, done.stdout, done.stderr)


def test_manifest_of_kubernetes(ray, folder):
    """Against the schemas of several versions, in which no field is unknown; a wrong one is seen."""
    manifest = TOP / "examples" / "batch" / "job.yaml"
    wrong = folder / "job.yaml"
    wrong.write_text(manifest.read_text().replace("completionMode", "completionsMode"))
    tool = pathlib.Path(ray.python).with_name("kubernetes-validate")
    for version in ("1.33.0", "1.37.0"):
        for path, status in ((manifest, 0), (wrong, 1)):
            done = subprocess.run([tool, "--strict", "-k", version, path], capture_output=True, text=True)
            expect(done.returncode == status, version, path, done.stdout, done.stderr)


def test_workflow(ray, folder):
    workflow = TOP / "examples" / "batch" / "workflow.yml"
    wrong = folder / "workflow.yml"
    wrong.write_text(workflow.read_text().replace("fail-fast", "failfast"))
    tool = pathlib.Path(ray.python).with_name("check-jsonschema")
    for path, status in ((workflow, 0), (wrong, 1)):
        words = [tool, "--builtin-schema", "vendor.github-workflows", path]
        done = subprocess.run(words, capture_output=True, text=True)
        expect(done.returncode == status, path, done.stdout, done.stderr)


def page():
    return (TOP / "docs" / "batch.md").read_text(encoding="utf-8")


def main():
    python = nightly_python()
    if not python:
        print("skipped: Ray cannot be imported (tools/setup --for-nightly installs it)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        ray = Ray(python, os.path.abspath(sys.argv[1]), pathlib.Path(folder))
        try:
            return run_cases(globals(), ray)
        finally:
            ray.close()


if __name__ == "__main__":
    sys.exit(main())
