"""The resource metrics API of a cluster, `metrics.k8s.io`, with figures that a test sets."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from e2e.harness.client import Object

from training_local.apiserver.certificates import server_identity
from training_local.apiserver.http import tls

GROUP = "metrics.k8s.io/v1beta1"
API = f"/apis/{GROUP}"


class MetricsServer:
    """An aggregated API server that says of every pod it is told of how much CPU it uses."""

    def __init__(self) -> None:
        self.usage: Mapping[str, str] = {}
        """CPU by name of the pod, for example `250m`."""
        self.port = 0

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Answer on a port of loopback while the context lasts."""
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.port = server.server_port
        server.socket = tls(server_identity(["127.0.0.1"])).wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def registration(self) -> list[Object]:
        """The objects by which the API server learns of it: a name for loopback, and the group behind that name."""
        where = {"name": "metrics", "namespace": "kube-system", "port": self.port}
        version, group = GROUP.rpartition("/")[2], GROUP.partition("/")[0]
        spec = {"group": group, "version": version, "service": where, "insecureSkipTLSVerify": True}
        return [
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": "metrics", "namespace": "kube-system"},
                "spec": {"type": "ExternalName", "externalName": "localhost"},
            },
            {
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {"name": f"{version}.{group}"},
                "spec": {**spec, "groupPriorityMinimum": 100, "versionPriority": 100},
            },
        ]

    def answer(self, path: str) -> Object | None:
        """The object at a path, None if there is none."""
        if path == API:
            pods = {
                "name": "pods",
                "singularName": "",
                "namespaced": True,
                "kind": "PodMetrics",
                "verbs": ["get", "list"],
            }
            return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": GROUP, "resources": [pods]}
        if path.startswith(f"{API}/namespaces/") and path.endswith("/pods"):
            namespace = path.split("/")[5]
            items = [_pod_metrics(namespace, name, cpu) for name, cpu in self.usage.items()]
            return {"kind": "PodMetricsList", "apiVersion": GROUP, "metadata": {}, "items": items}
        return None


def _pod_metrics(namespace: str, name: str, cpu: str) -> Object:
    return {
        "metadata": {"name": name, "namespace": namespace},
        "timestamp": datetime.fromtimestamp(int(time.time()), UTC).isoformat().replace("+00:00", "Z"),
        "window": "15s",
        "containers": [{"name": "main", "usage": {"cpu": cpu, "memory": "1Mi"}}],
    }


def _handler(server: MetricsServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = server.answer(self.path.partition("?")[0])
            body = json.dumps(found or {}).encode()
            self.send_response(200 if found else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing of each request."""

    return Handler
