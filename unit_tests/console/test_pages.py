"""Every page, from an API server over HTTPS to the HTML, and what is sent while it is open."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import ClassVar

import pytest
from unit_tests.console.served import Served, condition, config_of, served
from unit_tests.local.pods import pod, terminated, waiting

from training_console.model.events import events
from training_console.pages.html import Macros, environment
from training_console.pages.job import job_name, job_page
from training_console.reading.cluster import Reader
from training_operator.kube.http import HttpTransport
from training_operator.kube.transport import Request, Response

ATTACK = "<script>alert(1)</script>"
JOB = "/jobs/default/jaxjobs/sim"


@pytest.fixture
async def console(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as console:
        yield console


async def test_jobs_are_listed_with_state_replicas_and_reason(console: Served) -> None:
    waits = {"reason": "Quota", "message": "no GPUs left"}
    await console.job("sim", status={"conditions": [condition("Created")], "waiting": waits}, labels={"owner": "ana"})
    done = {"conditions": [condition("Succeeded")], "replicaStatuses": {"Worker": {"succeeded": 2}}}
    await console.job("done", kind="PyTorchJob", status=done)
    page = await console.text("/")
    assert "2 jobs. Created 1 Succeeded 1" in page
    assert "default/ sim ana JAXJob Created 0/2" in page
    assert "Quota: no GPUs left" in page
    assert page.index("sim ana") < page.index("default/ done"), "what waits comes first"
    assert "default/ done PyTorchJob Succeeded 2/2" in page


@pytest.mark.parametrize("query", ["kind=PyTorchJob", "state=Succeeded", "text=don", "owner=bea"])
async def test_filters_narrow_the_table(console: Served, query: str) -> None:
    await console.job("sim")
    done = {"conditions": [condition("Succeeded")]}
    await console.job("done", kind="PyTorchJob", status=done, labels={"owner": "bea"})
    page = await console.text(f"/?{query}")
    assert "1 job." in page
    assert "default/ done" in page and "default/ sim" not in page


async def test_an_open_table_is_told_what_changes(console: Served) -> None:
    created = await console.job("sim")
    _, body = await console.get("/")
    since = body.split('data-since="')[1].split('"')[0]
    async with console.changes(f"/?since={since}") as changes:
        await console.patch(
            "/apis/kubeflow.org/v1/namespaces/default/jaxjobs/sim/status",
            {"status": {"conditions": [condition("Running")]}},
        )
        message = await changes.next()
        told = {name: html for name, html, _ in message["set"]}
        assert "Running" in told[f"job-{created['metadata']['uid']}"]
        assert not message["gone"]
        other = await console.job("other")
        message = await changes.next()
        assert f"job-{other['metadata']['uid']}" in {name for name, _, _ in message["set"]}
        assert f"job-{created['metadata']['uid']}" not in {name for name, _, _ in message["set"]}


async def test_rows_are_added_to_a_table_that_is_open(console: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training_console.model.filters.ROWS", 2)
    for number in range(3):
        await console.job(f"sim-{number}")
    _, body = await console.get("/?sort=name&rows=2")
    assert body.count("<tr id=") == 2
    assert '<a href="?sort=name&amp;rows=4">1 more</a>' in body
    since = body.split('data-since="')[1].split('"')[0]
    async with console.changes(f"/?sort=name&rows=4&since={since}") as changes:
        message = await changes.next()
    rows = [(html, after) for name, html, after in message["set"] if name.startswith("job-")]
    [(html, after)] = rows
    assert "sim-2" in html
    assert after is not None and f'id="{after}"' in body, "it follows the last row"


async def test_a_failed_job_shows_its_first_cause(console: Served) -> None:
    status = {"conditions": [condition("Created"), condition("Failed", "two replicas failed")]}
    await console.job(status=status)
    later = terminated(1, "2026-01-01T12:00:09Z")
    await console.pod("sim", pod("worker-0", later, phase="Failed"))
    await console.pod("sim", pod("worker-1", terminated(137, "2026-01-01T12:00:01Z", "OOMKilled"), phase="Failed"))
    page = await console.text(JOB)
    assert "worker-1 (pod sim-worker-1, container jax) used more memory than its limit and was killed" in page
    assert "1 more failure followed it" in page
    assert "two replicas failed" in page
    assert "2 of 2 replicas have a pod" in page


async def test_replicas_that_do_not_start_say_why(console: Served) -> None:
    await console.job(status={"conditions": [condition("Created")]})
    unplaced = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes fit"}]
    await console.pod("sim", pod("worker-0", phase="Pending", conditions=unplaced))
    await console.pod("sim", pod("worker-1", waiting("ImagePullBackOff", "no such image"), phase="Pending"))
    page = await console.text(JOB)
    assert "Unschedulable: 0/3 nodes fit" in page
    assert "ImagePullBackOff: no such image" in page


async def test_text_of_others_is_never_html(console: Served) -> None:
    told = {"conditions": [condition("Failed", ATTACK)], "waiting": {"reason": "Quota", "message": "\x1b[31m\u202e"}}
    await console.job(status=told, labels={"owner": "x"}, annotations={"a": ATTACK})
    failed = terminated(1, message=f"{ATTACK} \x1b]0;title\x07")
    await console.pod("sim", pod("worker-0", failed, phase="Failed"))
    event = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "sim-worker-0", "uid": "u"},
        "type": "Warning",
        "reason": ATTACK,
        "message": ATTACK,
    }
    await console.create("/api/v1/namespaces/default/events", event)
    for path in (
        "/",
        JOB,
        f"{JOB}/yaml",
        f"{JOB}/ranks",
        f"{JOB}/pods/sim-worker-0",
        f"/?text={ATTACK}",
        f"/jobs/default/{ATTACK}/x",
    ):
        _, body = await console.get(path)
        assert "<script>alert" not in body, path
        assert not {"\x1b", "\x07", "\u202e"} & set(body), path
    assert "&lt;script&gt;" in (await console.get(JOB))[1]


async def test_an_open_page_of_a_job_asks_again_only_for_what_has_changed(tmp_path: Path) -> None:
    class Counting(HttpTransport):
        asked: ClassVar[list[str]] = []

        async def request(self, request: Request) -> Response:
            self.asked.append(request.path)
            return await super().request(request)

    async with served(tmp_path) as console:
        job = await console.job(status={"conditions": [condition("Created")]})
        await console.job("other")
        reader = Reader(Counting(config_of(tmp_path / "kubeconfig")))
        async with job_page(
            reader, job_name("default", "jaxjobs", "sim"), Macros(environment(""), "macros.html")
        ) as page:
            await page.fragments()
            async with reader.feeds.open(page.job.resource, "default", name="sim") as feed:
                assert [row.name for row in feed.store] == ["sim"], "the API server sends this one only"
            page.changed.clear()
            before = list(Counting.asked)

            async def told(name: str, uid: str) -> None:
                about = {"kind": "JAXJob", "namespace": "default", "name": name, "uid": uid}
                event = {"metadata": {"name": f"of-{name}"}, "involvedObject": about, "type": "Warning", "reason": "R"}
                await console.create("/api/v1/namespaces/default/events", {**event, "message": f"about {name}"})

            await told("other", "u")
            await told("sim", job["metadata"]["uid"])
            async with asyncio.timeout(20):
                while "about sim" not in (await page.fragments())["events"]:
                    await page.changed.wait()
                    page.changed.clear()
            assert "about other" not in (await page.fragments())["events"]
            assert Counting.asked == before, "one watch tells, nothing is listed again"
            page.changed.clear()
            heard = asyncio.Event()
            async with reader.feeds.open(events(), "default") as of_namespace:
                with of_namespace.listened(heard):
                    await told("third", "t")
                    async with asyncio.timeout(20):
                        await heard.wait()
            assert not page.changed.is_set(), "events of others draw nothing anew"
        await reader.close()


async def test_a_feed_with_patience_comes_before_its_objects_and_tells_when_they_are_there(tmp_path: Path) -> None:
    async with served(tmp_path) as console:
        await console.job()
        reader = Reader(HttpTransport(config_of(tmp_path / "kubeconfig")))
        jobs = job_name("default", "jaxjobs", "sim").resource
        async with reader.feeds.open(jobs, "default", patience=0.0) as feed:
            told = asyncio.Event()
            with feed.listened(told):
                assert (len(feed.store), feed.complaint) == (
                    0,
                    "The API server has not sent all jaxjobs.kubeflow.org yet.",
                )
                async with asyncio.timeout(20):
                    await told.wait()
            assert (len(feed.store), feed.complaint) == (1, "")
        await reader.close()


@pytest.mark.parametrize("path", ["/", "/fleet", "/fleet/migration"])
async def test_a_page_comes_before_a_slow_list_and_is_asked_for_again(
    console: Served, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    await console.job()
    with monkeypatch.context() as hurried:
        hurried.setattr("training_console.pages.jobs.PATIENCE_SECONDS", 0.0)
        async with console.browser.get(console.address + path) as answer:
            assert (answer.status, answer.headers["Refresh"]) == (200, "1")
            assert path == "/fleet/migration" or "has not sent all jaxjobs" in await answer.text()
    assert "sim" in await console.text(path) or path == "/fleet"
    assert "has not sent all" not in await console.text(path)


async def test_an_open_page_says_that_its_job_was_deleted(console: Served) -> None:
    await console.job()
    async with console.changes(JOB) as changes:
        await changes.next()
        await console.delete("/apis/kubeflow.org/v1/namespaces/default/jaxjobs/sim")
        message = await changes.next()
    assert "There is no JAXJob default/sim; it may have been deleted." in message["problem"]


async def test_a_table_without_jobs_says_why(console: Served) -> None:
    assert "There are no jobs." in await console.text("/")
    assert "There are no jobs in the namespace team." in await console.text("/?ns=team")
    await console.job()
    page = await console.text("/?text=nothing")
    assert "No job matches these filters; there are 1 in all." in page


async def test_a_feed_holds_so_many_objects_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("training_console.reading.feeds.MOST_OBJECTS", 2)
    async with served(tmp_path) as console:
        for name in ("a", "b", "c"):
            await console.job(name)
        page = await console.text("/")
        assert "There are more than 2 jaxjobs.kubeflow.org: the rest is not shown." in page
        assert "2 jobs." in page


async def test_ranks_are_told_before_any_pod_exists(console: Served) -> None:
    await console.job()
    page = await console.text(f"{JOB}/ranks")
    assert "COORDINATOR_ADDRESS sim-worker-0" in page
    assert "sim-worker-1 1" in page


async def test_defaults_are_marked_in_yaml(console: Served) -> None:
    await console.job()
    _, body = await console.get(f"{JOB}/yaml")
    assert "<mark>      restartPolicy: Never</mark>" in body
    assert "\n      replicas: 2\n" in body
    assert "managedFields" not in body


async def test_fleet_adds_up_by_namespace(console: Served) -> None:
    running = {"conditions": [condition("Running")], "startTime": "2026-01-01T12:00:00Z"}
    await console.job(status=running)
    page = await console.text("/fleet")
    assert "default 1 1 2" in page, "one job, which runs, with two accelerators"


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("/jobs/default/jaxjobs/none", "There is no JAXJob default/none"),
        ("/jobs/default/cronjobs/x", "There is no kind of job with the plural name cronjobs."),
        (f"{JOB}/pods/none", "There is no pod default/none"),
    ],
)
async def test_what_is_not_there_is_one_sentence(console: Served, path: str, sentence: str) -> None:
    status, body = await console.get(path)
    assert status == 404
    assert sentence in body
