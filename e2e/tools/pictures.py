"""Draws docs/pictures/live-view.svg, what `local run` shows on a terminal: `python -m e2e.tools.pictures`.

The job is invented, the drawing is the real one; the same input always gives the same file.
"""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from e2e.support.paths import ROOT
from rich._export_format import CONSOLE_SVG_FORMAT  # there is no public name for it
from rich.console import Console
from rich.terminal_theme import MONOKAI

from training_api.registry import KINDS
from training_local.run.pod_logs import LogLine
from training_local.run.pod_metrics import Usage
from training_local.run.progress import JobProgress, JobRef, Replica, progress_of, replica_of
from training_local.show.picture import Scene, draw

FILE: Final = ROOT / "docs" / "pictures" / "live-view.svg"
WIDTH: Final = 100
HEIGHT: Final = 24
NOW: Final = datetime(2026, 1, 1, 12, 4, 30, tzinfo=UTC)
CREATED: Final = "2026-01-01T12:00:00Z"
WORKERS: Final = 31
INFO: Final = KINDS["PyTorchJob"]
JOB: Final = JobRef(INFO, "default", "llama-tune")
# The styles name fonts on other machines; a reader's own have to do.
FORMAT: Final = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)

Json = dict[str, Any]


def svg() -> str:
    """Return the picture."""
    console = Console(file=io.StringIO(), record=True, force_terminal=True, color_system="truecolor", width=WIDTH)
    console.print(draw(scene(), WIDTH, HEIGHT), soft_wrap=True)
    title = "training-operator local run llama-tune.yaml"
    drawn = console.export_svg(title=title, theme=MONOKAI, code_format=FORMAT, unique_id="live-view")
    return "\n".join(line.rstrip() for line in drawn.splitlines()) + "\n"


def scene() -> Scene:
    """Return a job in trouble: two workers of many need attention."""
    progress = _progress()
    running = [replica for replica in progress.replicas if replica.runs]
    return Scene(
        job=str(JOB),
        progress=progress,
        begun=NOW - timedelta(seconds=270),
        now=NOW,
        usage={r.pod: Usage(0.93 + 0.01 * (r.index % 7), (812 + 3 * r.index) << 20) for r in running},
        lines=[_line(replica, 400 + replica.index % 2) for replica in running[-6:]],
        steps=(400, 1000),
    )


def _progress() -> JobProgress:
    spec = {
        "runPolicy": {"backoffLimit": 6, "activeDeadlineSeconds": 3600},
        "pytorchReplicaSpecs": {"Master": {"replicas": 1}, "Worker": {"replicas": WORKERS}},
    }
    status = {
        "startTime": CREATED,
        "conditions": [
            {"type": "Created", "status": "True"},
            {"type": "Running", "status": "True", "message": f"{JOB} is running."},
        ],
        "replicaStatuses": {"Worker": {"restarts": 3}},
    }
    pods = [_pod("master", 0), *(_pod("worker", index) for index in range(WORKERS))]
    return progress_of(INFO, {"spec": spec, "status": status}, [replica_of(pod) for pod in pods])


def _pod(replica_type: str, index: int) -> Json:
    container: Json = {"state": {"running": {"startedAt": CREATED}}}
    phase, conditions = "Running", list[Json]()
    if (replica_type, index) == ("worker", 7):
        killed = {"exitCode": 137, "reason": "OOMKilled", "finishedAt": "2026-01-01T12:04:27Z"}
        waiting = {"reason": "CrashLoopBackOff", "message": "back-off 10s restarting failed container=pytorch"}
        container = {"restartCount": 3, "state": {"waiting": waiting}, "lastState": {"terminated": killed}}
    if (replica_type, index) == ("worker", 30):
        message = "0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
        container, phase = {}, "Pending"
        conditions = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]
    labels = {
        "training.kubeflow.org/replica-type": replica_type,
        "training.kubeflow.org/replica-index": str(index),
    }
    rank = str(index if replica_type == "master" else index + 1)
    return {
        "metadata": {"name": f"{JOB.name}-{replica_type}-{index}", "creationTimestamp": CREATED, "labels": labels},
        "spec": {"containers": [{"name": "pytorch", "env": [{"name": "RANK", "value": rank}]}]},
        "status": {"phase": phase, "conditions": conditions, "containerStatuses": [{"name": "pytorch", **container}]},
    }


def _line(replica: Replica, step: int) -> LogLine:
    return LogLine(replica, "", f"step {step}/1000 loss {3 - step / 200:.3f} tokens/s {8120 + replica.index}")


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(svg(), encoding="utf-8")
