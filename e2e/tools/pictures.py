"""Draws docs/pictures/live-view.svg, what `local run` shows on a terminal: `python -m e2e.tools.pictures`.

It shows a moment of a real run, which is kept in `live_view.json`; `... record` runs the job again and keeps a new one.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import re
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import yaml
from e2e.harness.client import Api, connect, eventually
from e2e.harness.local_up import local_up
from e2e.harness.recordings import write
from e2e.support.paths import ROOT
from rich._export_format import CONSOLE_SVG_FORMAT  # there is no public name for it
from rich.console import Console
from rich.terminal_theme import MONOKAI

from training_api.registry import KINDS
from training_local.run.pod_logs import LogLine
from training_local.run.pod_metrics import usage_of
from training_local.run.progress import JobRef, progress_of, replica_of
from training_local.show.picture import Scene, draw

FILE: Final = ROOT / "docs" / "pictures" / "live-view.svg"
JOB_FILE: Final = Path(__file__).with_name("live_view.yaml")
RECORDING: Final = Path(__file__).with_name("live_view.json")
OBJECTS: Final = 2
"""Depth of the objects in the recording."""
WIDTH: Final = 130
HEIGHT: Final = 24
PROCESSORS: Final = 9
"""One less than the job has replicas."""
INFO: Final = KINDS["PyTorchJob"]
JOB: Final = JobRef(INFO, "default", "fit-line")
BROKEN: Final = "fit-line-worker-3"
CORE: Final = "/api/v1/namespaces/default"
# The styles name fonts on other machines; a reader's own have to do.
FORMAT: Final = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)

Json = dict[str, Any]


def svg() -> str:
    """Return the picture."""
    console = Console(file=io.StringIO(), record=True, force_terminal=True, color_system="truecolor", width=WIDTH)
    console.print(draw(scene(json.loads(RECORDING.read_text())), WIDTH, HEIGHT), soft_wrap=True)
    title = "training-operator local run e2e/tools/live_view.yaml"
    drawn = console.export_svg(title=title, theme=MONOKAI, code_format=FORMAT, unique_id="live-view")
    return "\n".join(line.rstrip() for line in drawn.splitlines()) + "\n"


def scene(seen: Json) -> Scene:
    """Return what was known at the moment that was recorded."""
    replicas = {pod["metadata"]["name"]: replica_of(pod) for pod in seen["pods"]}
    steps = [re.fullmatch(r"step (\d+)/(\d+) .*", line) for line in seen["lines"].values()]
    done = [(int(each[1]), int(each[2])) for each in steps if each]
    return Scene(
        job=str(JOB),
        progress=progress_of(INFO, seen["job"], list(replicas.values())),
        begun=datetime.fromisoformat(seen["job"]["metadata"]["creationTimestamp"]),
        now=datetime.fromisoformat(seen["now"]),
        usage=usage_of(seen["usage"]),
        lines=[LogLine(replicas[pod], "", line) for pod, line in seen["lines"].items()][-6:],
        steps=min(done),
    )


async def record() -> Json:
    """Run the job on the local cluster until one replica waits to start again, and return what was seen then."""
    with (
        tempfile.TemporaryDirectory(prefix="training-picture-") as folder,
        local_up(Path(folder), f"--cpus={PROCESSORS}") as cluster,
    ):
        async with connect(cluster.kubeconfig) as api:
            for each in yaml.safe_load_all(JOB_FILE.read_text()):
                await api.create(JOB.collection if each["kind"] == JOB.info.kind else f"{CORE}/configmaps", each)
            await eventually(lambda: _waits_again(api), "a second restart of the broken replica", 120)
            return await _seen(api)


async def _waits_again(api: Api) -> bool:
    pod = await api.get(f"{CORE}/pods/{BROKEN}")
    [status] = (pod or {}).get("status", {}).get("containerStatuses", [{}])
    return status.get("restartCount", 0) >= 2 and "waiting" in status.get("state", {})


async def _seen(api: Api) -> Json:
    pods = (await api.call("GET", f"{CORE}/pods"))["items"]
    job = await api.call("GET", f"{JOB.collection}/{JOB.name}")
    for each in (job, *pods):
        each["metadata"].pop("managedFields", None)
    names = {pod["metadata"]["name"] for pod in pods if pod["status"]["phase"] == "Running"} - {BROKEN}
    return {
        "now": datetime.now(UTC).isoformat(timespec="seconds"),
        "job": job,
        "pods": pods,
        "usage": await api.call("GET", "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods"),
        "lines": {name: line for name in sorted(names) if (line := await _last_line(api, name))},
    }


async def _last_line(api: Api, pod: str) -> str:
    return (await api.text(f"{CORE}/pods/{pod}/log?container=pytorch&tailLines=1")).strip()


def main() -> None:
    """Draw the picture, of a new recording if that is wanted."""
    parser = argparse.ArgumentParser(prog="python -m e2e.tools.pictures", description=__doc__)
    parser.add_argument("what", nargs="?", choices=("draw", "record"), default="draw")
    if parser.parse_args().what == "record":
        write(RECORDING, asyncio.run(record()), OBJECTS)
    FILE.write_text(svg(), encoding="utf-8")


if __name__ == "__main__":
    main()
