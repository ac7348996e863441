"""The console in front of the embedded API server, as a browser would find it."""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import aiohttp
import yaml
from e2e.support.embedded import embedded
from unit_tests.operator.cluster import job_types

from training_api.kinds import KindInfo
from training_api.registry import KINDS
from training_console.reading.cluster import over_http
from training_console.reading.viewers import Authenticator, KubeconfigUser
from training_console.security import Settings
from training_console.serving import serving
from training_operator.kube.config import ClusterConfig, trusting
from training_operator.kube.credentials import Fixed
from training_operator.kube.http import HttpTransport
from training_operator.kube.transport import MERGE_PATCH, Request

Json = dict[str, Any]


@dataclass
class Served:
    """A console, its API server, and a browser without scripts."""

    address: str
    browser: aiohttp.ClientSession
    cluster: HttpTransport

    async def get(self, path: str, **headers: str) -> tuple[int, str]:
        """Return status and body of a page, asked for again as long as it says so."""
        while True:
            async with self.browser.get(self.address + path, headers=headers, allow_redirects=False) as answer:
                if "Refresh" not in answer.headers:
                    return answer.status, await answer.text()

    async def text(self, path: str) -> str:
        """Return what a page says, without its tags and with one space between words."""
        status, body = await self.get(path)
        assert status == 200, body
        return " ".join(re.sub(r"<[^>]*>", " ", body).split())

    async def create(self, path: str, stored: Json, status: Json | None = None) -> Json:
        """Create an object and its status."""
        answer = await self.cluster.request(Request("POST", path, body=json.dumps(stored).encode()))
        assert answer.status == 201, answer.body
        if status is not None:
            await self.patch(f"{path}/{stored['metadata']['name']}/status", {"status": status})
        created: Json = json.loads(answer.body)
        return created

    async def patch(self, path: str, patch: Json) -> None:
        """Change an object."""
        request = Request("PATCH", path, body=json.dumps(patch).encode(), content_type=MERGE_PATCH)
        answer = await self.cluster.request(request)
        assert answer.status == 200, answer.body

    async def delete(self, path: str) -> None:
        """Delete an object."""
        answer = await self.cluster.request(Request("DELETE", path))
        assert answer.status == 200, answer.body

    async def job(self, name: str = "sim", kind: str = "JAXJob", status: Json | None = None, **metadata: Any) -> Json:
        """Create a job of two replicas of one type."""
        info = KINDS[kind]
        path = f"/apis/kubeflow.org/v1/namespaces/default/{info.plural}"
        return await self.create(path, job_object(info, name, metadata), status)

    async def pod(self, job: str, stored: Json, kind: str = "JAXJob", namespace: str = "default") -> None:
        """Create a pod of a job, as `unit_tests.local.pods` makes them."""
        labels = {
            **stored["metadata"]["labels"],
            "training.kubeflow.org/operator-name": KINDS[kind].controller_name,
            "training.kubeflow.org/job-name": job,
        }
        containers = [{**each, "image": "image"} for each in stored["spec"]["containers"]]
        pod = {"metadata": {"name": stored["metadata"]["name"], "labels": labels}, "spec": {"containers": containers}}
        await self.create(f"/api/v1/namespaces/{namespace}/pods", pod, stored["status"])

    @asynccontextmanager
    async def changes(self, path: str) -> AsyncIterator[Changes]:
        """Follow the changes of a page."""
        async with self.browser.get(self.address + path, headers={"Accept": "text/event-stream"}) as answer:
            yield Changes(answer)


class Changes:
    """The stream of one page."""

    def __init__(self, answer: aiohttp.ClientResponse) -> None:
        self._answer = answer

    async def next(self) -> Json:
        """Return the next message."""
        async with asyncio.timeout(20):
            async for line in self._answer.content:
                if line.startswith(b"data: "):
                    message: Json = json.loads(line.removeprefix(b"data: "))
                    return message
        raise AssertionError("the stream has ended")


def job_object(info: KindInfo, name: str, metadata: Mapping[str, Any]) -> Json:
    """A job of two replicas that ask for an accelerator each."""
    container = {"name": info.container, "image": "image", "resources": {"limits": {"nvidia.com/gpu": "1"}}}
    replicas = {"replicas": 2, "template": {"spec": {"containers": [container]}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": info.kind,
        "metadata": {"name": name, **metadata},
        "spec": {info.replica_field: {"Worker": replicas}},
    }


def condition(kind: str, message: str = "", status: str = "True", at: str = "2026-01-01T12:00:00Z") -> Json:
    """A condition of a job."""
    told = {"reason": f"JAXJob{kind}", "message": message, "lastTransitionTime": at, "lastUpdateTime": at}
    return {"type": kind, "status": status, **told}


def config_of(kubeconfig: Path) -> ClusterConfig:
    """What a kubeconfig of the embedded server says."""
    written = yaml.safe_load(kubeconfig.read_text())
    cluster, user = written["clusters"][0]["cluster"], written["users"][0]["user"]
    authority = base64.b64decode(cluster["certificate-authority-data"]).decode()
    return ClusterConfig(cluster["server"], Fixed(f"Bearer {user['token']}"), trusting(cadata=authority))


@asynccontextmanager
async def served(
    folder: Path,
    authenticator: Authenticator | None = None,
    settings: Settings | None = None,
    *,
    anonymous: bool = False,
) -> AsyncIterator[Served]:
    """Serve the console for the context."""
    async with embedded(folder, *(each for info in KINDS.values() for each in job_types(info.plural))) as (
        _,
        kubeconfig,
    ):
        own = config_of(kubeconfig)
        config = replace(own, credentials=Fixed()) if anonymous else own
        cluster = HttpTransport(own)
        shown = settings or Settings()
        async with (
            serving(over_http(config), authenticator or KubeconfigUser(), shown, "127.0.0.1", 0) as port,
            aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as browser,
        ):
            yield Served(f"http://127.0.0.1:{port}{shown.base_path}", browser, cluster)
        await cluster.close()
