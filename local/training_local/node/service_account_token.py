"""What a container gets to speak with the API server: a token of its pod's service account, and where the server is."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from training_local.apiserver.in_cluster import InClusterEndpoint
from training_local.node.api import TransportApi
from training_local.node.podspec import Container, Pod
from training_local.node.sandbox.messages import Mount

FOLDER: Final = "/var/run/secrets/kubernetes.io/serviceaccount"


class ServiceAccountToken:
    """The service account of a pod: its token and the folder in which containers find it.

    The pod's object does not show the folder, unlike in a cluster with admission by the plugin ServiceAccount.
    """

    def __init__(self, pod: Pod, api: TransportApi, endpoint: InClusterEndpoint | None) -> None:
        self._pod, self._api, self._endpoint = pod, api, endpoint
        self._token = ""
        self._folder = ""

    async def prepare(self, folder: Path) -> str:
        """Fill `folder` if the pod is to have a token; return what is wrong, empty if nothing is."""
        wanted, namespace = self._pod.spec.automount_service_account_token, self._pod.metadata.namespace
        if self._endpoint is None or self._token or wanted is False:
            return ""
        name = self._pod.account
        try:
            stored = await self._api.get("serviceaccounts", namespace, name)
        except OSError as error:
            return f"the service account {name!r} cannot be read, so the pod gets no token: {error}"
        if stored is None:
            return f'the pod gets no token: serviceaccount "{name}" not found'
        if wanted is None and stored.get("automountServiceAccountToken") is False:
            return ""
        self._token = self._endpoint.issue(namespace, name, stored["metadata"]["uid"])
        self._folder = str(folder)
        _fill(folder, token=self._token.encode(), authority=self._endpoint.authority, namespace=namespace.encode())
        return ""

    def kubeconfig(self, at: tuple[str, int] | None) -> Mapping[str, str]:
        """Write a kubeconfig with the token, for pods that do not see the folder at its place; the variable for it."""
        if not self._token or self._endpoint is None or at is None:
            return {}
        host, port = at
        authority = base64.b64encode(self._endpoint.authority).decode()
        cluster = {"server": f"https://{host}:{port}", "certificate-authority-data": authority}
        context = {"cluster": "local", "user": "pod", "namespace": self._pod.metadata.namespace}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "local", "cluster": cluster}],
            "users": [{"name": "pod", "user": {"token": self._token}}],
            "contexts": [{"name": "pod", "context": context}],
            "current-context": "pod",
        }
        file = Path(self._folder, "kubeconfig")
        file.touch(mode=0o600)
        file.write_text(json.dumps(config))
        return {"KUBECONFIG": str(file)}

    def revoke(self) -> None:
        """Let the token open nothing any more."""
        if self._endpoint and self._token:
            self._endpoint.revoke(self._token)
            self._token = ""

    def mounts(self, container: Container) -> Sequence[Mount]:
        """Where a container sees the folder, unless it has something of its own there."""
        taken = any(mount.mount_path.rstrip("/") == FOLDER for mount in container.volume_mounts)
        return [Mount(self._folder, FOLDER, readonly=True)] if self._folder and not taken else []


def _fill(folder: Path, *, token: bytes, authority: bytes, namespace: bytes) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, content in (("token", token), ("ca.crt", authority), ("namespace", namespace)):
        (folder / name).touch(mode=0o600)
        (folder / name).write_bytes(content)


def api_variables(at: tuple[str, int] | None) -> Mapping[str, str]:
    """The variables by which clients inside a pod find the API server; none if it cannot be reached."""
    if at is None:
        return {}
    host, port = at
    return {
        "KUBERNETES_SERVICE_HOST": host,
        "KUBERNETES_SERVICE_PORT": str(port),
        "KUBERNETES_SERVICE_PORT_HTTPS": str(port),
    }
