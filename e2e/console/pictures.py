"""The console in a real browser; draws the pictures of docs/, each with a mark: `python -m e2e.console.pictures`."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import yaml
from e2e.harness.environment import environment
from e2e.harness.local_up import local_up
from e2e.harness.startup import wait_until
from e2e.migration.page.pictures import CONSTRAINTS, FOLDER, stamp
from e2e.support.paths import ROOT

JOBS: Final = Path(__file__).with_name("jobs.yaml")
RUNNING, FAILED, WIDE = (
    f"/jobs/default/{name}" for name in ("pytorchjobs/language-model", "jaxjobs/diverges", "pytorchjobs/wide")
)
LONG: Final = next(
    f"/jobs/{each['metadata']['namespace']}/jaxjobs/{each['metadata']['name']}"
    for each in yaml.safe_load_all(JOBS.read_text())
    if each["kind"] == "JAXJob" and len(each["metadata"]["name"]) > 50
)
PATHS: Final = (
    "/?namespace=default",
    RUNNING,
    FAILED,
    WIDE,
    f"{RUNNING}/logs",
    f"{RUNNING}/curves",
    f"{RUNNING}/ranks",
    f"{RUNNING}/yaml",
    "/fleet",
    "/fleet/migration",
    "/?migration=on",
    LONG,
    "/?text=nothing-has-this-name",
    "/jobs/default/jaxjobs/deleted",
)
PICTURES: Final = {
    "console-jobs": "0-wide",
    "console-job": "1-wide",
    "console-failure": "2-wide",
    "console-narrow": "0-narrow",
}
"""Name in the documentation -> page and size."""
SOURCES: Final = ROOT / "console" / "training_console"


def mark() -> str:
    """What the pages are made of."""
    found = hashlib.sha256()
    for folder in ("static", "templates"):
        for file in sorted((SOURCES / folder).iterdir()):
            found.update(file.name.encode() + file.read_bytes())
    return found.hexdigest()


@contextmanager
def looked_at(folder: Path) -> Iterator[str]:
    """Run the jobs on a local cluster until they are as the pages are to show them; yields its console's address."""
    with local_up(folder, "--name=looked-at", "--console", grace=60.0) as up:
        cluster = up.cluster
        cluster.run_kubectl("apply", "-f", str(JOBS))
        for job, condition in (("pytorchjob/language-model", "Running"), ("jaxjob/diverges", "Failed")):
            cluster.run_kubectl("wait", f"--for=condition={condition}", job, "--timeout=110s")
        wait_until(lambda: "http://" in up.child.output(), "the console", [up.child])
        found = re.search(r"http://\S+(?=/\s)", up.child.output())
        assert found is not None, up.child.output()
        yield found[0]


def look(address: str, folder: Path | str, paths: Sequence[str] = PATHS, program: str = "look") -> dict[str, Any]:
    """Open pages in a browser; pictures go to the folder unless it is `-`, what was seen comes back."""
    python = environment("browser", CONSTRAINTS) / "python"
    command = [str(python), "-m", f"e2e.console.{program}", address, str(folder), *paths]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=400.0)
    assert done.returncode == 0, done.stderr[-4000:]
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def bad(told: dict[str, Any]) -> dict[tuple[str, str], list[str]]:
    """What is wrong with the pages, by address and size: too wide, hard to read for some people, errors of scripts."""
    found = {}
    for path, sizes in told["pages"].items():
        for size, page in sizes.items():
            overflow = ["too wide"] if page["overflow"] else []
            if wrong := [*overflow, *page["findings"], *page["complaints"]]:
                found[path, size] = wrong
    return found


def main() -> None:
    """Draw the pictures of docs/, and print what is wrong with the pages."""
    with tempfile.TemporaryDirectory() as folder:
        with looked_at(Path(folder)) as address:
            print(bad(look(address, Path(folder))) or "nothing is wrong")
        for name, source in PICTURES.items():
            shutil.copyfile(Path(folder, f"{source}.png"), FOLDER / f"{name}.png")
            stamp(FOLDER / f"{name}.png", mark())


if __name__ == "__main__":
    main()
