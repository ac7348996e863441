"""What a user with `kubeflow-training-edit` asks for."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from e2e.harness.client import Api, ApiError, Object, eventually
from e2e.harness.jobs import Namespace, job

from training_api.constants import GROUP
from training_api.crd.build import build
from training_api.registry import KINDS

DEFINITION = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{KINDS['PyTorchJob'].plural}.{GROUP}"
NO_PODS: Object = {"metadata": {"name": "no-pods"}, "spec": {"hard": {"pods": "0"}}}


async def define(api: Api, namespace: Namespace, max_replicas: int | None) -> None:
    """Let the API server take jobs of so many replicas, and no more; None: of any number, as before the maximum."""
    wanted = build(KINDS["PyTorchJob"], max_replicas or 1)
    await api.patch(DEFINITION, {"spec": wanted["spec"] if max_replicas else _without_maximum(wanted["spec"])})
    most = max_replicas or 2**31 - 2

    async def taken(workers: int) -> bool:
        try:
            await api.create(f"{namespace.jobs('PyTorchJob')}?dryRun=All", job("try", Worker=workers))
        except ApiError as error:
            if error.status != 422:
                raise
            return False
        return True

    async def holds() -> bool:
        return await taken(most) and (max_replicas is None or not await taken(most + 1))

    await eventually(holds, "the definition holds")


def _without_maximum(schema: Any) -> Any:
    if isinstance(schema, Mapping):
        return {key: _without_maximum(value) for key, value in schema.items() if key != "maximum"}
    return [_without_maximum(each) for each in schema] if isinstance(schema, list) else schema


async def huge(_api: Api, namespace: Namespace, workers: int) -> None:
    """Create a job of so many workers."""
    await namespace.create(job(f"huge-{workers}", Worker=workers))


async def many_without_room(api: Api, namespace: Namespace, jobs: int, workers: int) -> None:
    """Create jobs of so many workers where there is no room for any pod."""
    quotas = f"/api/v1/namespaces/{namespace.name}/resourcequotas"
    if await api.get(f"{quotas}/{NO_PODS['metadata']['name']}") is None:
        await api.create(quotas, NO_PODS)

        async def counted() -> bool:
            return bool(((await api.get(f"{quotas}/no-pods")) or {}).get("status", {}).get("hard"))

        await eventually(counted, "the quota holds")
    await asyncio.gather(*(namespace.create(job(f"full-{number}", Worker=workers)) for number in range(jobs)))


async def rejections(api: Api, namespace: Namespace) -> list[str]:
    """The events by which the operator rejects jobs."""
    events = (await api.call("GET", f"/api/v1/namespaces/{namespace.name}/events"))["items"]
    return [each["message"] for each in events if each["reason"] == "PyTorchJobFailedValidation"]
