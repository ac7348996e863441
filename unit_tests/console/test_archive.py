"""A run that was kept is shown by the same pages, and as one file."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from click.testing import CliRunner
from unit_tests.console.served import condition, job_object
from unit_tests.local.pods import pod, terminated

from training_api.registry import KINDS
from training_console.cli import console
from training_console.reading.archive import ArchiveTransport, run_of
from training_console.reading.viewers import KubeconfigUser
from training_console.security import Settings
from training_console.serving import serving
from training_operator.kube.transport import Request

STAMP = "2026-01-01T12:00:0{}.000000000Z"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """What a run with one worker that failed leaves behind."""
    folder = tmp_path / "sim-20260101T120000Z"
    metadata = {"namespace": "default", "uid": "u", "creationTimestamp": "2026-01-01T12:00:00Z"}
    job = job_object(KINDS["JAXJob"], "sim", metadata)
    status = {"conditions": [condition("Created"), condition("Failed", "<b>it failed</b>")]}
    failed = pod("worker-0", terminated(1, "2026-01-01T12:00:05Z"), phase="Failed")
    of_job = {
        "training.kubeflow.org/operator-name": KINDS["JAXJob"].controller_name,
        "training.kubeflow.org/job-name": "sim",
    }
    failed["metadata"] |= {"namespace": "default", "labels": failed["metadata"]["labels"] | of_job}
    changes: list[tuple[str, dict[str, Any]]] = [
        ("ADDED", job),
        ("ADDED", {"kind": "Pod", **failed}),
        ("MODIFIED", {key: value for key, value in {**job, "status": status}.items() if key != "spec"}),
        ("DELETED", {"kind": "Pod", **{key: value for key, value in failed.items() if key != "spec"}}),
    ]
    logs = folder / "logs" / "default_sim-worker-0_uid-worker-0" / "jax"
    logs.mkdir(parents=True)
    record = {"version": 1, "startedAt": "2026-01-01T12:00:00Z", "command": [], "kind": "JAXJob"}
    (folder / "run.json").write_text(json.dumps({**record, "namespace": "default", "name": "sim"}))
    told = ({"time": "2026-01-01T12:00:00Z", "change": change, "object": stored} for change, stored in changes)
    (folder / "statuses.jsonl").write_text("\n".join(map(json.dumps, told)))
    (logs / "0.log").write_text("".join(f"{STAMP.format(n)} stdout F step {n} loss 0.{9 - n}\n" for n in range(6)))
    return folder


@pytest.fixture
async def pages(run: Path) -> AsyncIterator[str]:
    async with serving(lambda _: ArchiveTransport(run_of(run)), KubeconfigUser(), Settings(), "127.0.0.1", 0) as port:
        yield f"http://127.0.0.1:{port}"


async def test_the_pages_of_a_cluster_show_it(pages: str) -> None:
    job = "/jobs/default/jaxjobs/sim"
    expected = {
        "/": "<b>it failed</b>",
        job: "worker-0 (pod sim-worker-0, container jax) exited with code 1",
        f"{job}/logs?tail=200": "step 5 loss 0.4",
        f"{job}/curves": "loss 0.9 to 0.4",
        f"{job}/yaml": "replicas: 2",
        f"{job}/pods/sim-worker-0": "Container jax",
    }
    async with aiohttp.ClientSession() as browser:
        for path, text in expected.items():
            async with browser.get(pages + path) as answer:
                assert answer.status == 200, path
                shown = re.sub(r"<[^>]*>", " ", await answer.text()).replace("&lt;", "<").replace("&gt;", ">")
                assert text in " ".join(shown.split()), path


def test_it_is_written_as_one_file(run: Path, tmp_path: Path) -> None:
    file = tmp_path / "run.html"
    flags = ["--archive", str(run), "--export", str(file)]
    result = CliRunner().invoke(console, flags)
    assert result.exit_code == 0, result.output
    text = file.read_text()
    assert "exited with code 1" in text and "step 5 loss 0.4" in text and "&lt;b&gt;it failed" in text
    assert not re.search(r"<script|<link|https?://(?!www\.w3\.org)|(src|href)=\"/", text), "nothing is fetched"
    again = CliRunner().invoke(console, flags)
    assert again.exit_code == 1 and "it already exists" in again.output


@pytest.mark.parametrize("archive", ["nothing-of-that-name", "."])
def test_what_is_no_run_is_one_sentence(archive: str) -> None:
    result = CliRunner().invoke(console, ["--archive", archive])
    assert result.exit_code == 1
    assert "--archive" in result.output and "Traceback" not in result.output


@pytest.mark.parametrize(
    ("added", "links"),
    [(("Traceback (most recent call last):",) * 2, 1), (("\x1b[31m<script>alert(1)</script>\x07",), 0)],
)
async def test_logs_show_no_escapes_and_lead_to_the_first_traceback(
    run: Path, added: tuple[str, ...], links: int
) -> None:
    log = run / "logs" / "default_sim-worker-0_uid-worker-0" / "jax" / "0.log"
    with log.open("a") as file:
        file.writelines(f"{STAMP.format(9)} stdout F {line}\n" for line in added)
    async with (
        serving(lambda _: ArchiveTransport(run_of(run)), KubeconfigUser(), Settings(), "127.0.0.1", 0) as port,
        aiohttp.ClientSession() as browser,
        browser.get(f"http://127.0.0.1:{port}/jobs/default/jaxjobs/sim/logs?replica=worker-0") as answer,
    ):
        shown = await answer.text()
    assert "<script>alert" not in shown and not {"\x1b", "\x07"} & set(shown)
    assert shown.count('href="#traceback"') == shown.count('id="traceback"') == links


async def test_other_paths_are_not_there(run: Path) -> None:
    transport = ArchiveTransport(run_of(run))
    for path in ("/api/v1/secrets", "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods", "/api/v1/pods/../x"):
        assert (await transport.request(Request("GET", path))).status == 404
