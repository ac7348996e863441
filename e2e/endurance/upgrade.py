"""`python -m e2e.endurance.upgrade [--from REVISION]`: from an older version to this one and back.

Both versions are wheels in environments of their own, built from this repository's history and from its HEAD.
The pods of two replicas are exchanged as a Deployment does it: a new one is ready before an old one is told to stop.
"""

from __future__ import annotations

import argparse
import asyncio
import subprocess
import sys
import sysconfig
import tempfile
import venv
from dataclasses import dataclass
from pathlib import Path

from e2e.endurance.failover.plays import load
from e2e.endurance.faults.conclusion import conclude
from e2e.endurance.faults.following import patiently
from e2e.endurance.faults.load import draw
from e2e.endurance.faults.operators import LEADING
from e2e.endurance.faults.stage import Stage, stage
from e2e.harness.client import eventually
from e2e.harness.jobs import PLURALS
from e2e.harness.operator import Operator
from e2e.support.paths import ROOT
from rich.console import Console
from rich.table import Table

BEFORE = "HEAD~80"
"""The older version, where none is named."""
LONG = "lasting"
"""What the names of jobs that never end begin with."""
Uids = dict[str, str]


@dataclass(frozen=True)
class Version:
    """An installed version: its program, and the definitions that belong to it."""

    revision: str
    """Hash, date and subject."""
    program: tuple[str | Path, ...]
    definitions: Path


@dataclass(frozen=True)
class Step:
    """What was seen of one exchange of both replicas."""

    title: str
    pods: int
    """Pods of lasting jobs, all of them the same as before."""
    jobs: int
    """Jobs that were created meanwhile, and have ended."""


def install(revision: str, folder: Path) -> Version:
    """Build the wheel of a revision and install it, without its dependencies: those of this environment serve both."""
    tree, environment = folder / "tree", folder / "environment"
    tree.mkdir(parents=True)
    described = git("log", "-1", "--format=%h of %cs, %s", revision).decode().strip()
    archive = git("archive", described.split()[0])
    subprocess.run(["tar", "-x", "-C", tree], input=archive, check=True)
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder], cwd=tree, check=True)
    (wheel,) = folder.glob("*.whl")
    venv.create(environment, with_pip=False)
    python = environment / "bin" / "python"
    pip: list[str | Path] = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-index", wheel], check=True)
    site = next(environment.glob("lib/python*/site-packages"))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    # -I: whatever PYTHONPATH says, this wheel is meant.
    return Version(described, (python, "-I", environment / "bin" / "training-operator"), tree / "crds")


def start(on: Stage, version: Version) -> Operator:
    """Start one more replica of a version."""
    flags = ("--leader-elect", f"--operator-namespace={on.namespace}")
    return on.start_operator(*flags, program=version.program)


async def uids(on: Stage) -> Uids:
    """The pods of lasting jobs that run, by name."""
    running = [pod for pod in await on.pods() if pod["status"].get("phase") == "Running"]
    names = ((pod["metadata"]["name"], pod["metadata"]["uid"]) for pod in running)
    return {name: uid for name, uid in names if name.startswith(LONG)}


async def begin_lasting(on: Stage) -> Uids:
    """Create a job of each kind that never ends; returns its pods once all run."""
    jobs = [draw(on.rng, f"{LONG}-{kind.lower()}", kind) for kind in PLURALS]
    on.lasting.update(job.name for job in jobs)
    for job in jobs:
        await on.patient_create(on.path(job.kind), job.body)
    wanted = sum(len(job.slots) for job in jobs)

    async def all_run() -> Uids | None:
        found = await uids(on)
        return found if len(found) == wanted else None

    return await eventually(all_run, f"{wanted} pods of lasting jobs", 60)


async def exchange(on: Stage, old: list[Operator], version: Version) -> list[Operator]:
    """Exchange replicas one by one; the leader is the last to go, so that it hands over to a new one."""
    new = []
    await asyncio.to_thread(on.plane.cluster.apply_crds, version.definitions)
    for replica in sorted(old, key=lambda each: LEADING in each.child.output()):
        new.append(start(on, version))
        await asyncio.to_thread(new[-1].wait_ready)
        await on.watcher.let_pass(10)
        if (status := await asyncio.to_thread(replica.child.stop)) != 0:
            on.complaints.append(f"an old replica ended with status {status}")

    async def leads() -> bool:
        return any(LEADING in each.child.output() for each in new)

    await eventually(leads, f"a replica of {version.revision} to lead", 60)
    return new


async def step(
    on: Stage, title: str, old: list[Operator], version: Version, before: Uids
) -> tuple[Step, list[Operator]]:
    """Exchange all replicas while jobs come and end; the pods of lasting jobs must be the same."""
    created = len(on.jobs)
    async with load(on, f"{title}-"):
        await on.progress()
        new = await exchange(on, old, version)
        await on.progress()
    await on.settled()
    after = await uids(on)
    if after != before:
        on.complaints.append(f"{title}: pods of lasting jobs were {before} and are {after}")
    return Step(title, len(after), len(on.jobs) - created), new


async def play(folder: Path, old: Version, new: Version) -> tuple[list[Step], list[str]]:
    """Upgrade and roll back; returns what was seen, and complaints."""
    steps: list[Step] = []
    async with stage(folder, 1, 10, 2) as made:
        try:
            await asyncio.to_thread(made.plane.cluster.apply_crds, old.definitions)
            replicas = [start(made, old), start(made, old)]
            before = await begin_lasting(made)
            for title, version in (("upgrade", new), ("rollback", old), ("again", new)):
                seen, replicas = await step(made, title, replicas, version, before)
                steps.append(seen)
            await end_lasting(made)
            await made.delete_all()
        except Exception as error:  # whatever it is, it belongs into the report
            made.complaints.append(f"the play ended with {error!r}")
    return steps, made.conclude()


async def end_lasting(on: Stage) -> None:
    """Delete the lasting jobs; their pods go with them."""
    for kind in PLURALS:
        await patiently(on.api.delete, f"{on.path(kind)}/{LONG}-{kind.lower()}")

    async def gone() -> list[str]:
        return list(await uids(on))

    await on.or_complain(gone, "pods of deleted jobs should go", 90)


def main() -> int:
    """Play; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--from", dest="before", default=BEFORE, metavar="REVISION")
    given = parser.parse_args()
    console, folder = Console(), Path(tempfile.mkdtemp(prefix="upgrade-"))
    old, new = install(given.before, folder / "old"), install("HEAD", folder / "new")
    steps, complaints = asyncio.run(play(folder, old, new))
    table = Table("STEP", "PODS THAT RAN ON", "JOBS MEANWHILE")
    for each in steps:
        table.add_row(each.title, str(each.pods), str(each.jobs))
    console.print(f"from {old.revision}\nto {new.revision}", highlight=False, markup=False)
    console.print(table)
    return conclude(console, complaints, folder)


def git(*arguments: str) -> bytes:
    """What git says of this repository."""
    return subprocess.run(["git", "-C", str(ROOT), *arguments], check=True, capture_output=True).stdout


if __name__ == "__main__":
    sys.exit(main())
