"""Namespaces for measurements, and emptying them, so that nothing of one disturbs the next."""

from __future__ import annotations

from e2e.harness.client import Api, eventually

LIMIT = 300.0
COLLECTIONS = (
    "/api/v1/namespaces/{}/pods",
    "/api/v1/namespaces/{}/services",
    "/apis/kubeflow.org/v1/namespaces/{}/pytorchjobs",
)
ENDPOINT_SLICES = "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices"
"""What the controller manager makes for services; it is busy until they are gone."""


async def new_namespace(api: Api, name: str) -> str:
    """Create a namespace."""
    await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    return name


async def empty(api: Api, namespace: str) -> None:
    """Delete everything and wait until it is gone."""
    for path in COLLECTIONS:
        await api.call("DELETE", path.format(namespace), {"propagationPolicy": "Background"})
    for path in (*COLLECTIONS, ENDPOINT_SLICES):

        async def gone(path: str = path.format(namespace)) -> bool:
            return not (await api.call("GET", f"{path}?limit=1"))["items"]

        await eventually(gone, f"nothing left at {path.format(namespace)}", LIMIT)
