"""Adapters: the engine's ports, implemented by caches and the API client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from training_api.conditions import TERMINAL
from training_api.constants import JOB_NAME_LABEL
from training_controllers.model.records import JobRecord, OwnedRecord, PodRecord, ServiceRecord
from training_controllers.ports import Forbidden, Invalid, JobKey, NotFound
from training_operator.cache.labelled import Labelled
from training_operator.cache.store import Store
from training_operator.kube.client import KubeClient
from training_operator.kube.errors import Gone
from training_operator.kube.flow import Lane
from training_operator.kube.resources import SERVICES, Resource

R = TypeVar("R", bound=PodRecord | ServiceRecord | OwnedRecord)


class CachedJobs:
    """The jobs of one kind (the port `Jobs`)."""

    def __init__(self, client: KubeClient, resource: Resource[JobRecord], store: Store[JobRecord]) -> None:
        self._client, self._resource, self._store = client, resource, store

    def get(self, key: JobKey) -> JobRecord | None:
        """Return the cached job."""
        return self._store.get(*key)

    async def patch_status(self, job: JobRecord, status: Mapping[str, Any]) -> JobRecord:
        """Send the status on condition that `job.version` is still stored; return what is stored now."""
        patch = {"metadata": {"resourceVersion": job.version}, "status": status}
        lane = Lane.FINAL if _ends_job(status) else Lane.STATUS
        stored = await self._client.patch(
            self._resource, job.namespace, job.name, patch, subresource="status", lane=lane
        )
        self._store.put(stored, expected=True)
        return stored

    async def delete(self, job: JobRecord) -> None:
        """Delete the job, and in the background what it owns, if it still is this one."""
        await self._client.delete(self._resource, job.namespace, job.name, uid=job.uid, flow=job.uid)


class CachedDependents(Generic[R]):
    """The objects of one kind that jobs own (the port `Dependents`)."""

    def __init__(
        self, client: KubeClient, resource: Resource[R], store: Store[R], absent: Callable[[], bool] = lambda: False
    ) -> None:
        self._client, self._resource, self._store, self._absent = client, resource, store, absent

    @property
    def absent(self) -> bool:
        """Return whether the API server does not have this resource."""
        return self._absent()

    def of_job(self, namespace: str, uid: str) -> Sequence[R]:
        """Return the cached objects that the job with this uid in this namespace controls."""
        return self._store.of_owner(namespace, uid)

    async def read(self, namespace: str, name: str, *, flow: str) -> R | None:
        """Return the object as the API server has it now, and cache it if it is the job's, as its creation would."""
        try:
            found = await self._client.get(self._resource, namespace, name, flow=flow)
        except NotFound:
            return None
        if found.owner is not None and found.owner.uid == flow and self._store.version:  # else it is not watched
            self._store.put(found)
        return found

    async def create(self, namespace: str, body: Mapping[str, Any], *, flow: str) -> R:
        """Create the object."""
        created = await self._client.create(self._resource, namespace, body, flow=flow)
        self._store.put(created)
        return created

    async def replace(self, record: R, body: Mapping[str, Any], *, flow: str) -> R:
        """Replace the object if it still is `record`."""
        metadata = {**body["metadata"], "uid": record.uid, "resourceVersion": record.version}
        replaced = await self._client.replace(
            self._resource, record.namespace, record.name, {**body, "metadata": metadata}, flow=flow
        )
        self._store.put(replaced)
        return replaced

    async def patch(self, record: R, patch: Mapping[str, Any], *, flow: str) -> R:
        """Send a merge patch if the object still is `record`."""
        metadata = {"uid": record.uid, "resourceVersion": record.version}
        patched = await self._client.patch(
            self._resource, record.namespace, record.name, {**patch, "metadata": metadata}, flow=flow
        )
        self._store.put(patched)
        return patched

    async def delete_together(self, records: Sequence[R], *, flow: str) -> bool:
        """Do not: they are deleted one by one."""
        return False

    async def delete(self, record: R, *, flow: str, force: bool = False, cleanup: bool = False) -> None:
        """Delete the object if it still is `record`."""
        try:
            left = await self._client.delete(
                self._resource,
                record.namespace,
                record.name,
                uid=record.uid,
                grace=0 if force else None,
                flow=flow,
                lane=Lane.CLEANUP if cleanup else Lane.WORK,
            )
        except NotFound as error:
            if error.name == record.name:  # else the resource is unknown, perhaps to one server only
                self._store.gone(record)
            raise
        if left is not None and left.deleting:
            self._store.put(left)
        else:  # some resources are answered with as they were
            self._store.gone(record)


class CachedServices(CachedDependents[ServiceRecord]):
    """The services of jobs, those of a finished job deleted by one request."""

    def __init__(self, client: KubeClient, store: Store[ServiceRecord], labelled: Labelled) -> None:
        """`labelled` counts the services in `store` by the labels that select them."""
        super().__init__(client, SERVICES, store)
        self._labelled = labelled
        self._possible = True

    async def delete_together(self, records: Sequence[ServiceRecord], *, flow: str) -> bool:
        """Delete what has the job's label, as it was at the version of the cache, where that is these and no others.

        A label can be forged, so it is not trusted: what gets it later is not on the list of that version, and if
        anything else had it by then, or one of these were newer, they would have to be deleted one by one. What is left
        is a name that another object takes in the milliseconds between the list and its deletion; whoever does that may
        delete services.
        """
        first, version = records[0], self._store.version
        if not self._possible or not self._are_all_of(first.namespace, first.job_label, records, version):
            return False
        selector = f"{JOB_NAME_LABEL}={first.job_label}"
        try:
            await self._client.delete_listed(SERVICES, first.namespace, selector=selector, version=version, flow=flow)
        except Gone:  # the version is too old to be listed
            return False
        except (Forbidden, Invalid):  # under the role of v1, or on a server that cannot do it: from now on one by one
            self._possible = False
            return False
        for record in records:
            self._store.gone(record)
        return True

    def _are_all_of(self, namespace: str, label: str, records: Sequence[ServiceRecord], version: str) -> bool:
        if not label or not version.isdecimal() or self._labelled.count(namespace, label) != len(records):
            return False
        return all(
            (each.namespace, each.job_label) == (namespace, label)
            and each.version.isdecimal()
            and int(each.version) <= int(version)
            for each in records
        )


class UnwatchedDependents(CachedDependents[R]):
    """Objects of a kind that is not watched: they are created, but neither read nor cached."""

    def __init__(self, client: KubeClient, resource: Resource[R]) -> None:
        super().__init__(client, resource, Store())

    async def create(self, namespace: str, body: Mapping[str, Any], *, flow: str) -> R:
        """Create the object; the answer is forgotten."""
        return await self._client.create(self._resource, namespace, body, flow=flow, readable=False)


def _ends_job(status: Mapping[str, Any]) -> bool:
    """Whether a patch of the status sets a terminal condition."""
    conditions = status.get("conditions") or ()
    return any(each["type"] in TERMINAL and each["status"] == "True" for each in conditions)
