"""Jobs of a cluster as they were applied; nothing is ever written."""

from __future__ import annotations

import asyncio
import copy
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Final

from training_api.constants import GROUP, VERSION
from training_api.documents import Document, items
from training_api.kinds import KindInfo
from training_controllers.frameworks.plugins import kinds
from training_migration.exits import Exit, Failure
from training_migration.masking import LAST_APPLIED
from training_operator.kube.config import ConfigError, load
from training_operator.kube.http import HttpTransport
from training_operator.kube.transport import Request, Transport

Json = dict[str, Any]

CLUSTER: Final = "cluster"
"""Source of objects that come from one."""
QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
_KUEUE: Final = "/apis/kueue.x-k8s.io"
_PAGE: Final = 500
_USERS_METADATA: Final = ("name", "generateName", "namespace", "labels", "annotations")
_QUEUES_MARKS: Final = ("kueue.x-k8s.io/podset", "kueue.x-k8s.io/workload", "kueue.x-k8s.io/pod-index-offset")
_QUEUES_GATES: Final = ("kueue.x-k8s.io/topology", "kueue.x-k8s.io/elastic-job")


HOLDERS: Final = {
    "kubeflow.org": ("experiments", "scheduledworkflows"),
    "workload.codeflare.dev": ("appwrappers",),
    "argoproj.io": ("workflows", "cronworkflows", "workflowtemplates", "clusterworkflowtemplates"),
}
"""Kinds that contain v1 jobs, by group: of Katib, of Kubeflow Pipelines, AppWrappers, of Argo Workflows."""
_CLUSTER_SCOPED: Final = ("clusterworkflowtemplates",)
_OWNERS: Final = ("Trial", "AppWrapper", "Workflow", "CronWorkflow", "ScheduledWorkflow")
"""Kinds from which controllers create jobs, or workflows with jobs."""


@dataclass(frozen=True, slots=True)
class Holder:
    """A kind whose objects may contain v1 jobs."""

    path: str
    """Of its group and version."""
    plural: str
    name: str
    """As in messages of the API server."""


_CONFIG_MAPS: Final = Holder("/api/v1", "configmaps", "configmaps")


def read_cluster(
    kubeconfig: str,
    context: str,
    namespaces: Iterable[str] | None,
    ignored: Counter[str] | None = None,
    *,
    config_maps: bool = False,
) -> Iterator[Document]:
    """All v1 jobs of some namespaces (None: of all) as their users have written them, and what may contain such jobs.

    What is created from another object of these is counted in `ignored`. A kind that may contain jobs but cannot be
    listed is a document with an error. Raises Failure for a cluster that cannot be reached or does not let its jobs be
    listed.
    """
    yield from asyncio.run(
        _read(kubeconfig, context, namespaces, Counter() if ignored is None else ignored, config_maps)
    )


async def _read(
    kubeconfig: str, context: str, namespaces: Iterable[str] | None, ignored: Counter[str], config_maps: bool
) -> list[Document]:
    async with connected(kubeconfig, context) as transport:
        found: list[Document] = []
        holders = [_CONFIG_MAPS] if config_maps else []
        holders += [each async for each in _holders(transport)]
        for namespace in [""] if namespaces is None else sorted(set(namespaces)):
            listed = [job for info in kinds().values() for job in await _jobs(transport, info, namespace)]
            jobs = _without_owned(listed, ignored)
            workloads = await _workloads(transport, namespace) if any(map(is_queued, jobs)) else {}
            found += (Document(CLUSTER, 0, clean(job, workloads.get(job["metadata"].get("uid", "")))) for job in jobs)
            for holder in holders:
                if not (namespace and holder.plural in _CLUSTER_SCOPED):
                    found += await _held(transport, holder, namespace, ignored)
        return found


def _without_owned(objects: Iterable[Json], ignored: Counter[str]) -> list[Json]:
    """The objects without those that are made of another one, which is what moves."""
    own = []
    for each in objects:
        owners = each["metadata"].get("ownerReferences") or ()
        kinds_of_owners = [o["kind"] for o in owners if o.get("controller") and o["kind"] in _OWNERS]
        if kinds_of_owners:
            ignored[f"{each['kind']} of a {kinds_of_owners[0]}"] += 1
        else:
            own.append(each)
    return own


async def _holders(transport: Transport) -> AsyncIterator[Holder]:
    """Those that the cluster has of the kinds that contain jobs, each in its preferred version."""
    for group, plurals in HOLDERS.items():
        answer = await transport.request(Request("GET", f"/apis/{group}"))
        missing = set(plurals)
        for version in json.loads(answer.body)["versions"] if answer.status == 200 else ():
            path = f"/apis/{version['groupVersion']}"
            served = await transport.request(Request("GET", path))
            names = {each["name"] for each in json.loads(served.body)["resources"]} if served.status == 200 else set()
            for plural in sorted(missing & names):
                yield Holder(path, plural, f"{plural}.{group}")
            missing -= names


async def _held(transport: Transport, holder: Holder, namespace: str, ignored: Counter[str]) -> list[Document]:
    """The objects of a kind that may contain jobs; one document with the error where they cannot be listed."""
    where = holder.path + (f"/namespaces/{namespace}" if namespace else "")
    try:
        listed = await _listed(transport, f"{where}/{holder.plural}", holder.name)
    except Failure as failure:
        return [Document(CLUSTER, 0, None, f"{failure} v1 jobs inside of them are not counted.")]
    return [Document(CLUSTER, 0, clean(each)) for each in _without_owned(listed, ignored)]


@asynccontextmanager
async def connected(kubeconfig: str, context: str) -> AsyncIterator[Transport]:
    """A connection to the cluster of a kubeconfig, of its current context or another; raises Failure."""
    try:
        # Each log that is followed keeps a connection.
        transport = HttpTransport(await load(kubeconfig, context=context), connections=0)
    except ConfigError as error:
        raise Failure(f"{error}.", Exit.ENVIRONMENT) from None
    try:
        yield transport
    except OSError as error:
        why = str(error) or type(error).__name__
        raise Failure(f"The cluster cannot be reached: {why}.", Exit.ENVIRONMENT) from None
    finally:
        await transport.close()


async def _jobs(transport: Transport, info: KindInfo, namespace: str) -> list[Json]:
    """Jobs of one kind; none where the cluster does not have the kind."""
    where = f"/apis/{GROUP}/{VERSION}" + (f"/namespaces/{namespace}" if namespace else "")
    return await _listed(transport, f"{where}/{info.plural}", f"{info.plural}.{GROUP}")


async def _workloads(transport: Transport, namespace: str) -> dict[str, Json]:
    """What Kueue keeps of jobs, by the job's uid; nothing where it is not there or may not be read."""
    answer = await transport.request(Request("GET", _KUEUE))
    if answer.status != 200:
        return {}
    version = json.loads(answer.body)["preferredVersion"]["version"]
    where = f"{_KUEUE}/{version}" + (f"/namespaces/{namespace}" if namespace else "")
    try:
        found = await _listed(transport, f"{where}/workloads", "workloads.kueue.x-k8s.io")
    except Failure:
        return {}
    owners = ((owner.get("uid", ""), each) for each in found for owner in each["metadata"].get("ownerReferences") or ())
    return dict(owners)


async def _listed(transport: Transport, path: str, what: str) -> list[Json]:
    """All objects below a path, page by page."""
    found: list[Json] = []
    query = {"limit": str(_PAGE)}
    while True:
        answer = await transport.request(Request("GET", path, query, timeout=60.0))
        if answer.status == 404:
            return found
        if answer.status != 200:
            raise Failure(f"{what} cannot be listed: {_reason(answer.body, answer.status)}.", Exit.ENVIRONMENT)
        page = json.loads(answer.body)
        found += items(page)
        if not (token := (page.get("metadata") or {}).get("continue")):
            return found
        query = {"limit": str(_PAGE), "continue": token}


def _reason(body: bytes, status: int) -> str:
    try:
        return str(json.loads(body)["message"]).rstrip(".")
    except (ValueError, KeyError, TypeError):
        return f"the API server answers with status {status}"


def is_queued(obj: Json) -> bool:
    """Whether Kueue decides when this job runs."""
    return QUEUE_LABEL in _part(_part(obj, "metadata"), "labels")


def clean(obj: Json, workload: Json | None = None) -> Json:
    """The object without what a cluster has added: status, metadata of the server, what Kueue gives to admitted jobs.

    Kueue's `workload` has the templates as they were. Without it only what bears Kueue's name is removed: they cannot
    distinguish a node selector of a flavor from one of the user.
    """
    cleaned = copy.deepcopy({key: value for key, value in obj.items() if key != "status"})
    if isinstance(metadata := cleaned.get("metadata"), dict):
        cleaned["metadata"] = {key: value for key, value in metadata.items() if key in _USERS_METADATA}
        if _part(metadata, "annotations").pop(LAST_APPLIED, None) and not metadata["annotations"]:
            del cleaned["metadata"]["annotations"]
    if is_queued(cleaned):
        _release(cleaned, workload or {})
    return cleaned


def _release(job: Json, workload: Json) -> None:
    """Undo what Kueue does to a job: it holds it, and admits it with places for its pods."""
    spec = _part(job, "spec")
    _part(spec, "runPolicy").pop("suspend", None)
    kept = {each["name"]: each["template"] for each in _part(workload, "spec").get("podSets") or ()}
    info = kinds().get(str(job.get("kind")))
    replicas = _part(spec, info.replica_field) if info else {}
    for name in replicas:
        template = _part(_part(replicas, name), "template")
        if name.lower() in kept:
            _restore(template, kept[name.lower()])
        else:
            _strip(template)


def _restore(template: Json, before: Json) -> None:
    """Give back the fields that Kueue changes, as it does itself when it takes an admission back."""
    for part, fields in (
        ("metadata", ("labels", "annotations")),
        ("spec", ("nodeSelector", "tolerations", "schedulingGates")),
    ):
        now, known = _part(template, part), _part(before, part)
        restored = {key: value for key, value in now.items() if key not in fields}
        restored |= {key: known[key] for key in fields if known.get(key)}
        if restored or now:
            template[part] = restored


def _strip(template: Json) -> None:
    for field in ("labels", "annotations"):
        for mark in _QUEUES_MARKS:
            _part(_part(template, "metadata"), field).pop(mark, None)
    spec = _part(template, "spec")
    if isinstance(gates := spec.get("schedulingGates"), list):
        users = [gate for gate in gates if not isinstance(gate, dict) or gate.get("name") not in _QUEUES_GATES]
        spec["schedulingGates"] = users
        if not users:
            del spec["schedulingGates"]


def _part(mapping: Json, key: str) -> Json:
    """The object at a key; an empty one that is not part of it where there is none."""
    value = mapping.get(key)
    return value if isinstance(value, dict) else {}
