#!/usr/bin/env python3
"""The recipes of docs/batch.md for many machines: each command of the page runs here, and the shards together
equal one run.

  batch_recipes.py GRAPHOPT

What the machine lacks has a stand-in that does what the recipe relies on: sbatch begins a script once for
each index of its array, with the variables that Slurm sets; kubectl runs the container of an indexed Job for
each index, with what Kubernetes replaces in its words; the steps of the workflow run as a matrix. GNU
parallel is the real one, and its lines are left out where it is not installed.
"""

import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys

import yaml
from _tool import expect, main, model, saved

TOP = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = TOP / "examples" / "batch"
MODELS, MOST_SHARDS = 44, 16  # so many, that each of so many shards has one
PAGE = TOP / "docs" / "batch.md"


# --- stand-ins ----------------------------------------------------------------------------------------------


def sbatch(words):
    """Runs `sbatch [--array=1-N] SCRIPT WORDS`."""
    given = {}
    while words[0].startswith("--"):
        name, _, value = words.pop(0).partition("=")
        given[name] = value
    script = pathlib.Path(words[0])
    found = dict(re.findall(r"^#SBATCH (--[\w-]+)(?:=(.*))?$", script.read_text(), re.M)) | given
    first, last = map(int, found["--array"].split("-"))
    expect(found["--mem"][-1] == "G" and first == 1, found)
    environment = {
        "SLURM_ARRAY_TASK_COUNT": str(last - first + 1),
        "SLURM_CPUS_PER_TASK": found["--cpus-per-task"],
        "SLURM_MEM_PER_NODE": str(1024 * int(found["--mem"][:-1])),
    }
    for index in range(first, last + 1):
        environment["SLURM_ARRAY_TASK_ID"] = str(index)
        subprocess.run(["bash", *words], env={**os.environ, **environment}, check=True)


def kubectl(words):
    """Runs `kubectl apply -f MANIFEST`, with the folders zoo and out as the two volumes."""
    expect(words[:2] == ["apply", "-f"], words)
    job = yaml.safe_load(pathlib.Path(words[2]).read_text())
    spec, pod = job["spec"], job["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    claims = {v["name"]: v["persistentVolumeClaim"].get("readOnly", False) for v in pod["volumes"]}
    mounts = {m["mountPath"]: m["name"] for m in container["volumeMounts"]}
    own = {e["name"]: e["value"] for e in container["env"]}
    expect(
        job["kind"] == "Job" and spec["completionMode"] == "Indexed" and pod["restartPolicy"] == "Never", job
    )
    expect(claims[mounts[own["MODELS"]]] and not claims[mounts[own["OUT"]]], claims, mounts)
    rule = next(r["onExitCodes"] for r in spec["podFailurePolicy"]["rules"] if "onExitCodes" in r)
    expect(rule["containerName"] == container["name"] and rule["values"] == sorted(set(rule["values"])), rule)
    # $(NAME) is replaced where there is a variable of this name, and stays as it is elsewhere.
    command = [
        re.sub(r"\$\(([^)]*)\)", lambda m: own.get(m[1], m[0]), word).replace("$$", "$")
        for word in [*container["command"], *container["args"]]
    ]
    for index in range(spec["completions"]):
        environment = {**own, "MODELS": "zoo", "OUT": "out", "JOB_COMPLETION_INDEX": str(index)}
        subprocess.run(command, env={**os.environ, **environment}, check=True)


def steps_of(workflow):
    """[(environment, what its steps run)] of each job of the matrix."""
    jobs = yaml.safe_load(workflow.read_text())["jobs"]
    job = jobs["shard"]
    expect(jobs["union"]["needs"] == "shard" and job["strategy"]["fail-fast"] is False, jobs)
    shards = job["strategy"]["matrix"]["shard"]
    for shard in shards:
        values = {"matrix.shard": str(shard), "strategy.job-total": str(len(shards))}

        def text(value, values=values):
            return re.sub(r"\$\{\{ (.*?) \}\}", lambda m: values[m[1]], value)

        runs = [text(step["run"]) for step in job["steps"] if "run" in step]
        yield {name: text(value) for name, value in job["env"].items()}, runs


# --- tests --------------------------------------------------------------------------------------------------


def place(tool, folder):
    """A folder with models, the examples, and the commands of the recipes; and how they are found."""
    (folder / "zoo" / "a" / "b").mkdir(parents=True)
    for i in range(MODELS):
        saved(
            folder / "zoo", model(batch=i + 1), f"{'a/' if i % 2 else ''}{'b/' if i % 4 == 3 else ''}{i}.onnx"
        )
    (folder / "examples").symlink_to(TOP / "examples")
    (folder / "machines").write_text(":\n")  # this one, without ssh
    (folder / "bin").mkdir()
    (folder / "bin" / "graphopt").symlink_to(tool.binary)
    for name in ("sbatch", "kubectl"):
        script = folder / "bin" / name
        script.write_text(f"#!/bin/sh\nexec '{sys.executable}' -B '{__file__}' --{name} \"$@\"\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "HOME": str(folder)}


def shell(command, folder, environment):
    done = subprocess.run(
        ["bash", "-ec", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=100
    )
    expect(done.returncode == 0, command, done.returncode, done.stdout, done.stderr)


def content(folder):
    """{path below the folder: bytes} of all files."""
    return {p.relative_to(folder): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def commands():
    """The lines that the page gives to a shell, from the section about many machines."""
    text = PAGE.read_text(encoding="utf-8")
    section = re.split(r"^## ", text[text.index("## Many machines") :], flags=re.M)[1]
    return [line for block in re.findall(r"```bash\n(.*?)```", section, re.S) for line in block.splitlines()]


def test_each_shard_has_a_model(tool, folder):
    """A shard that a recipe forgets is missed in what follows."""
    place(tool, folder)
    for shard in range(1, MOST_SHARDS + 1):
        words = (
            "batch",
            "zoo",
            "-o",
            "out",
            "-q",
            "--dry-run",
            "--json",
            "--shard",
            f"{shard}/{MOST_SHARDS}",
        )
        expect(tool(*words, cwd=folder).stdout, shard, "is empty: more models are needed")


def test_commands_of_the_page(tool, folder):
    environment = place(tool, folder)
    shell("graphopt batch zoo -o out -q", folder, environment)
    wanted = content(folder / "out")
    expect(len([p for p in wanted if p.suffix == ".onnx"]) == MODELS, list(wanted))
    (folder / "out").rename(folder / "plain")
    found = commands()
    for word in ("parallel", "xargs", "sbatch", "kubectl"):
        expect(any(re.search(rf"\b{word}\b", c) for c in found), f"the page has no command with {word}")
    left = []
    for number, command in enumerate(found):
        if re.search(r"\bparallel\b", command) and not shutil.which("parallel"):
            left.append(command)
            continue
        shell(command, folder, environment)
        made = content(folder / "out")
        differ = [str(n) for n in {**wanted, **made} if wanted.get(n) != made.get(n)]
        expect(not differ, command, "makes other files:", differ)
        shell(command, folder, environment)  # again, as after a machine died
        expect(content(folder / "out") == wanted, command, "changes something when it runs again")
        (folder / "out").rename(folder / f"out{number}")
    for command in left:
        print("  GNU parallel is not installed; left out:", command)


def test_number_of_shards_of_slurm(tool, folder):
    """The array decides it; a single index is refused, since it would be another shard."""
    environment = place(tool, folder)
    shell("graphopt batch zoo -o out -q", folder, environment)
    wanted = content(folder / "out")
    (folder / "out").rename(folder / "plain")
    shell(f"bash -n {EXAMPLES / 'slurm.sh'}", folder, environment)
    shell("sbatch --array=1-3 examples/batch/slurm.sh zoo out --exact", folder, environment)
    names = [p for p in content(folder / "out") if p.suffix == ".onnx"]
    expect(names == [p for p in wanted if p.suffix == ".onnx"], names)
    alone = {"SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_COUNT": "1", "SLURM_CPUS_PER_TASK": "1"}
    words = [EXAMPLES / "slurm.sh", "zoo", "out"]
    done = subprocess.run(
        words,
        env={**environment, **alone, "SLURM_MEM_PER_NODE": "4096"},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    expect(done.returncode == 1 and "--shard" in done.stderr, done.returncode, done.stderr)


def test_shards_of_the_job(tool, folder):
    """The numbers of shards in the manifest are one."""
    job = yaml.safe_load((EXAMPLES / "job.yaml").read_text())["spec"]
    own = {e["name"]: e["value"] for e in job["template"]["spec"]["containers"][0]["env"]}
    expect(int(own["SHARDS"]) == job["completions"] >= job["parallelism"], own, job)


def test_workflow(tool, folder):
    """Each job has a checkout of its own, with new times, at one place; the union of what they leave is up to
    date in another one."""
    environment = place(tool, folder)
    (folder / "bin" / "pip").symlink_to("/bin/true")
    shell("graphopt batch zoo -o out -q", folder, environment)
    wanted = content(folder / "out")
    checkout, union = folder / "checkout", folder / "union"
    for number, (own, runs) in enumerate(steps_of(EXAMPLES / "workflow.yml")):
        shutil.copytree(folder / "zoo", checkout / "zoo", copy_function=shutil.copyfile)
        for _ in range(2):  # the second time with what the cache kept
            for run in runs:
                shell(run, checkout, {**environment, **own})
        shutil.copytree(checkout / "out", union, dirs_exist_ok=True)
        checkout.rename(folder / f"job{number}")
    shutil.copytree(folder / "zoo", checkout / "zoo", copy_function=shutil.copyfile)
    union.rename(checkout / "out")
    found = content(checkout / "out")
    expect(found.keys() == wanted.keys(), "other files:", *(found.keys() ^ wanted.keys()))
    expect(all(found[p] == wanted[p] for p in wanted if p.suffix == ".onnx"), "other models")
    done = tool("batch", "zoo", "-o", "out", "--dry-run", "--json", "-q", cwd=checkout)
    expect(done.returncode == 0 and done.stdout.count(b'"up to date"') == MODELS, done.stdout, done.stderr)


if __name__ == "__main__":
    if sys.argv[1] == "--sbatch":
        sys.exit(sbatch(sys.argv[2:]))
    if sys.argv[1] == "--kubectl":
        sys.exit(kubectl(sys.argv[2:]))
    sys.exit(main(globals()))
