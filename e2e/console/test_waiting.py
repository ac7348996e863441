"""What waits, and why: a gang that Volcano has not let in, and jobs in a queue of the real Kueue, in a real browser."""

from __future__ import annotations

import asyncio
import html
import json
import re
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from e2e.console.pictures import bad, look
from e2e.harness.bare import bare
from e2e.harness.client import connect, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.operator import PROGRAM, running_operator
from e2e.harness.processes import Child
from e2e.harness.startup import wait_until
from e2e.integrations.kueue.controller import MPI_AS_V2BETA1, running_kueue
from e2e.integrations.kueue.queues import Queue
from e2e.integrations.test_gang import VOLCANO, VOLCANO_API, Stage, definition, job
from e2e.migration.page.pictures import NEEDED
from e2e.support import marks

pytestmark = [
    marks.bare,  # Volcano's definitions and Kueue's controller are put into the cluster
    pytest.mark.weekly,  # unit_tests/console shows what the pages say of such statuses
]

GANG = "/jobs/default/jaxjobs/gang"
QUEUED = "/jobs/queued/pytorchjobs/third"
PAGES = ("/", GANG, QUEUED)


async def rejected(queue: Queue, name: str) -> bool:
    """Whether Kueue has looked at a job and found no room for it now."""
    conditions = (await queue.workload(name)).get("status", {}).get("conditions", ())
    return any(each["type"] == "QuotaReserved" and "insufficient" in each["message"] for each in conditions)


async def make(cluster: Cluster) -> None:
    """A gang whose PodGroup is pending, and three jobs of 2 in a queue with room for one."""
    async with connect(cluster.kubeconfig) as api:
        stage = Stage(api, "default", VOLCANO_API)
        gang = job("JAXJob", "gang")
        await stage.create(gang)
        await stage.set_group("gang", "Pending")
        queue = Queue(api, "queued", "PyTorchJob")
        await queue.open(a=2)
        await queue.submit("first")
        await queue.workload_is("first", "Admitted")
        await queue.submit("second")
        await eventually(partial(rejected, queue, "second"), "Kueue says why the second job is not admitted", 60.0)
        await queue.submit("third")
        await queue.workload("third")
        await stage.waits(gang, "GangPending", "is Pending", 60.0)


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A console in front of them."""
    folder = tmp_path_factory.mktemp("waiting")
    with bare() as cluster:
        cluster.run_kubectl(
            "patch", "crd", "mpijobs.kubeflow.org", "--type=json", f"--patch={json.dumps(MPI_AS_V2BETA1)}"
        )
        cluster.send("apply", definition(VOLCANO))
        cluster.run_kubectl("wait", "--for=condition=Established", "crd/podgroups.scheduling.volcano.sh")
        flags = ("--gang-scheduler-name=volcano",)
        with running_kueue(cluster, folder), running_operator(cluster.kubeconfig, folder / "operator.log", *flags):
            asyncio.run(make(cluster))
            child = Child([PROGRAM, "console", f"--kubeconfig={cluster.kubeconfig}"], folder / "console.log")
            try:
                wait_until(lambda: "http://" in child.output(), "the console", [child])
                yield child.output().split()[0].rstrip("/")
            finally:
                child.stop()


def text(address: str, path: str) -> str:
    """What a page says, without its tags."""
    with urllib.request.urlopen(address + path, timeout=60) as answer:
        return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", answer.read().decode())).split())


def test_a_gang_says_what_it_waits_for(address: str) -> None:
    said = "GangPending: PodGroup gang is Pending: "
    assert said in text(address, "/")
    page = text(address, GANG)
    assert said in page and "0 of 3 replicas have a pod." in page


def test_a_queued_job_says_its_place_and_why_it_is_not_admitted(address: str) -> None:
    table = text(address, "/?namespace=queued&sort=name")
    assert "queue Admitted" in table
    assert table.index("queue Pending, 1 of 2") < table.index("queue Pending, 2 of 2"), "by age"
    assert "insufficient" in table
    page = text(address, "/jobs/queued/pytorchjobs/second")
    assert "queue: Pending, 1 of 2 in its queue, by priority and age of those that you may see" in page
    assert "insufficient" in page
    page = text(address, QUEUED)
    assert "queue: Pending, 2 of 2 in its queue" in page
    # Kueue leaves out what is like a job that it could not admit, unless something changes meanwhile.
    assert "Kueue has not tried to admit it yet." in page or "insufficient" in page


# As in e2e/console/test_browser.py.
@pytest.mark.skipif(not all(Path(each).exists() for each in NEEDED), reason="chromium and chromium-driver are missing")
def test_these_pages_fit_and_can_be_read_aloud(address: str) -> None:
    assert bad(look(address, "-", PAGES)) == {}
