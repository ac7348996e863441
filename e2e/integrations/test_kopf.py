"""An operator written with kopf works on the embedded API server as on a real one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from e2e.clients.environment import client_python
from e2e.harness.client import Api, Object, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.jobs import job
from e2e.harness.processes import Child
from e2e.support.paths import ROOT

OPERATOR = ROOT / "e2e" / "clients" / "kopf_operator.py"
MARK = "fidelity.example.com"


@pytest.fixture
def kopf(cluster: Cluster, namespace: str, tmp_path: Path) -> Iterator[Child]:
    """The operator, watching the test's namespace."""
    flags = ("--standalone", f"--namespace={namespace}")
    command: list[str | Path] = [client_python(), "-m", "kopf", "run", *flags, OPERATOR]
    child = Child(command, tmp_path / "kopf.log", env={"KUBECONFIG": str(cluster.kubeconfig)})
    yield child
    assert child.stop() == 0
    assert "Traceback" not in child.output()


async def _annotation(api: Api, path: str, name: str, value: str) -> Object:
    """The object, once an annotation of it has a value."""

    async def found() -> Object | None:
        obj = await api.get(path) or {}
        return obj if obj.get("metadata", {}).get("annotations", {}).get(f"{MARK}/{name}") == value else None

    return await eventually(found, f"{name}={value} at {path}")


async def _said(kopf: Child, words: str) -> None:
    async def said() -> bool:
        return words in kopf.output()

    await eventually(said, f"{words!r} from the operator")


async def test_handlers_of_a_job(api: Api, namespace: str, kopf: Child) -> None:
    jobs = f"/apis/kubeflow.org/v1/namespaces/{namespace}/pytorchjobs"
    await api.create(jobs, job("watched", Master=1))
    created = await _annotation(api, f"{jobs}/watched", "greeted", "yes")
    assert created["metadata"]["finalizers"] == [f"{MARK}/kopf"]

    async def status() -> bool:
        found = await api.get(f"{jobs}/watched") or {}
        return bool(found.get("status", {}).get("startTime") == "2026-01-02T03:04:05Z")

    await eventually(status, "the status that kopf writes")

    async def event() -> bool:
        events = (await api.get(f"/api/v1/namespaces/{namespace}/events") or {})["items"]
        return any(each["reason"] == "Greeted" and each["involvedObject"]["name"] == "watched" for each in events)

    await eventually(event, "the event that kopf posts")
    await api.patch(f"{jobs}/watched", {"spec": {"runPolicy": {"suspend": True}}})
    await _annotation(api, f"{jobs}/watched", "suspend", "False -> True")
    await api.delete(f"{jobs}/watched")
    await _said(kopf, "deleted watched")
    await api.gone(f"{jobs}/watched")


async def test_timers_daemons_and_retries(api: Api, namespace: str, kopf: Child) -> None:
    maps = f"/api/v1/namespaces/{namespace}/configmaps"
    await api.create(maps, {"metadata": {"name": "watched", "labels": {"kopf": "yes"}}})
    await _annotation(api, f"{maps}/watched", "attempts", "2")
    await _annotation(api, f"{maps}/watched", "ticks", "3")
    await _said(kopf, "attending watched")
    await api.delete(f"{maps}/watched")
    await _said(kopf, "left watched")
    await api.gone(f"{maps}/watched")
