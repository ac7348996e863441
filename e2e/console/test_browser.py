"""The console of a local cluster in a real browser: at three widths, light and dark, with and without scripts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from e2e.console.pictures import PICTURES, bad, look, looked_at, mark
from e2e.harness.operator import PROGRAM
from e2e.harness.processes import Child
from e2e.harness.startup import wait_until
from e2e.migration.page.pictures import FOLDER, NEEDED, stamped
from e2e.support import marks

pytestmark = marks.local  # its pods run

# Only these tests need a browser, so it need not be installed; .ci/run does it.
needs_browser = pytest.mark.skipif(
    not all(Path(each).exists() for each in NEEDED), reason="chromium and chromium-driver are missing"
)
MANY = 4096
PHASES = ("Running", "Running", "Running", "Pending", "Failed", "Succeeded")


@pytest.mark.parametrize("name", PICTURES)
def test_the_pictures_show_the_pages_as_they_are_now(name: str) -> None:
    assert stamped(FOLDER / f"{name}.png") == mark(), "draw them anew: python -m e2e.console.pictures"


@needs_browser
def test_every_page_fits_can_be_read_aloud_and_complains_of_nothing(tmp_path: Path) -> None:
    with looked_at(tmp_path) as address:
        told = look(address, "-")
    assert bad(told) == {}
    assert told["keys"] == {"help": True, "rows": [0, 1, 0], "search": "text", "typed": "j/?", "opened": True}
    assert told["shared"] == {"shown": ["Failed"], "same": ["Failed"]}
    assert told["without scripts"] == 5


def kept_run(folder: Path, replicas: int) -> Path:
    """What a run with so many replicas would have left behind."""
    job = "wide"
    labels = {
        "training.kubeflow.org/operator-name": "jaxjob-controller",
        "training.kubeflow.org/job-name": job,
        "training.kubeflow.org/replica-type": "worker",
    }
    worker = {"replicas": replicas, "template": {"spec": {"containers": [{"name": "jax", "image": "train"}]}}}
    born = {"namespace": "default", "creationTimestamp": "2026-01-01T12:00:00Z"}
    objects: list[dict[str, Any]] = [
        {
            "kind": "JAXJob",
            "metadata": {**born, "name": job, "uid": "job"},
            "spec": {"jaxReplicaSpecs": {"Worker": worker}},
            "status": {
                "conditions": [
                    {"type": "Running", "status": "True", "message": "", "lastTransitionTime": "2026-01-01T12:00:09Z"}
                ]
            },
        }
    ]
    for index in range(replicas):
        numbered = {**labels, "training.kubeflow.org/replica-index": str(index)}
        metadata = {**born, "name": f"{job}-worker-{index}", "uid": f"u{index}", "labels": numbered}
        status = {"phase": PHASES[index % len(PHASES)]}
        objects.append({"kind": "Pod", "metadata": metadata, "spec": worker["template"]["spec"], "status": status})  # type: ignore[index] # a template
    run = folder / f"{job}-20260101T120000Z"
    run.mkdir()
    record = {"version": 1, "startedAt": "2026-01-01T12:00:00Z", "command": [], "kind": "JAXJob"}
    (run / "run.json").write_text(json.dumps({**record, "namespace": "default", "name": job}))
    changes = ({"time": "2026-01-01T12:00:00Z", "change": "ADDED", "object": each} for each in objects)
    (run / "statuses.jsonl").write_text("\n".join(map(json.dumps, changes)))
    return run


@pytest.mark.weekly  # a minute of Chromium
@needs_browser
def test_a_grid_holds_4096_replicas_at_a_glance(tmp_path: Path) -> None:
    command: list[str | Path] = [PROGRAM, "console", f"--archive={kept_run(tmp_path, MANY)}"]
    child = Child(command, tmp_path / "console.log")
    try:
        wait_until(lambda: "http://" in child.output(), "the console", [child])
        address = child.output().split()[0].rstrip("/")
        told = look(address, "-", ["/jobs/default/jaxjobs/wide"])
    finally:
        child.stop()
    assert bad(told) == {}
    sizes = {"narrow": 900, "wide": 860, "huge": 1400}
    for size, height in sizes.items():
        grid = told["pages"]["/jobs/default/jaxjobs/wide"][size]["grid"]
        assert grid["cells"] == MANY
        assert grid["height"] < height, f"all of it on one screen: {size}"
