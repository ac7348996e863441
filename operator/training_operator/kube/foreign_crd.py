"""Whether the CRD of a job kind is this operator's, or another operator's of the same name."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from training_controllers.ports import NotFound
from training_operator.kube.client import KubeClient
from training_operator.kube.errors import Forbidden
from training_operator.kube.resources import Resource


async def why_foreign(client: KubeClient, resource: Resource[Any]) -> str:
    """Return why a CRD is another operator's; empty if it is ours, or if there is none of this name.

    Two operators can have CRDs of the same name: `mpijobs.kubeflow.org` is also the mpi-operator's, which stores
    v2beta1. The stored version decides whose the objects are, since the server shows them in every version that it
    serves. Discovery shows its hash (`storageVersionHash`: group, version and kind) without any permission.
    """
    try:
        return await _reason(client, resource)
    except Forbidden:
        return ""


async def _reason(client: KubeClient, resource: Resource[Any]) -> str:
    ours = await _discovered(client, resource, resource.version)
    stored = ours.get("storageVersionHash")
    if ours and stored in (None, "", _storage_hash(resource, resource.version)):
        return ""
    others = [version for version in await _versions(client, resource.group) if version != resource.version]
    if ours:
        known = (version for version in others if _storage_hash(resource, version) == stored)
        return f"{resource.qualified} is stored as {next(known, 'another version')}, not as {resource.version}"
    served = [version for version in others if await _discovered(client, resource, version)]
    return f"{resource.qualified} is served as {', '.join(served)}, not as {resource.version}" if served else ""


async def _discovered(client: KubeClient, resource: Resource[Any], version: str) -> dict[str, Any]:
    """Return what discovery says of the resource in one version; empty if it is not served."""
    try:
        listed = await client.get_json(f"/apis/{resource.group}/{version}")
    except NotFound:
        return {}
    return next((each for each in listed["resources"] if each["name"] == resource.plural), {})


async def _versions(client: KubeClient, group: str) -> list[str]:
    try:
        return [each["version"] for each in (await client.get_json(f"/apis/{group}"))["versions"]]
    except NotFound:
        return []


def _storage_hash(resource: Resource[Any], version: str) -> str:
    """Hash a stored version as the API server does."""
    digest = hashlib.sha256(f"{resource.group}/{version}/{resource.kind}".encode()).digest()
    return base64.b64encode(digest[:8]).decode()
