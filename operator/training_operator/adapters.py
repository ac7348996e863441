"""Adapters: the engine's ports, implemented by caches and the API client."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, TypeVar

from training_controllers.model.records import JobRecord, OwnedRecord, PodRecord, ServiceRecord
from training_controllers.ports import JobKey, NotFound
from training_operator.cache.store import Store
from training_operator.kube.client import KubeClient
from training_operator.kube.resources import Resource

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
        stored = await self._client.patch(
            self._resource, job.namespace, job.name, patch, subresource="status", urgent=True
        )
        self._store.put(stored)
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
        """Return the object as the API server has it now."""
        try:
            return await self._client.get(self._resource, namespace, name, flow=flow)
        except NotFound:
            return None

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

    async def delete(self, record: R, *, flow: str, force: bool = False) -> None:
        """Delete the object if it still is `record`."""
        try:
            left = await self._client.delete(
                self._resource, record.namespace, record.name, uid=record.uid, flow=flow, grace=0 if force else None
            )
        except NotFound as error:
            if error.name == record.name:  # else the resource is unknown, perhaps to one server only
                self._store.gone(record)
            raise
        if left is not None and left.deleting:
            self._store.put(left)
        else:  # some resources are answered with as they were
            self._store.gone(record)


class UnwatchedDependents(CachedDependents[R]):
    """Objects of a kind that is not watched: they are created, but neither read nor cached."""

    def __init__(self, client: KubeClient, resource: Resource[R]) -> None:
        super().__init__(client, resource, Store())

    async def create(self, namespace: str, body: Mapping[str, Any], *, flow: str) -> R:
        """Create the object; the answer is forgotten."""
        return await self._client.create(self._resource, namespace, body, flow=flow, readable=False)
