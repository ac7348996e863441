"""A mutating webhook of pods, as Istio and Katib have, with what it adds said by a test."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from e2e.harness.client import Object
from e2e.harness.cluster import Cluster

from training_local.apiserver.certificates import server_identity
from training_local.apiserver.http import tls

LABEL = "inject"
"""Namespaces with this label, whatever its value, have their pods sent to the webhook of this value."""


@contextmanager
def installed(cluster: Cluster, name: str, change: Callable[[Object], list[Object]]) -> Iterator[None]:
    """Have a webhook called for pods of namespaces labelled `inject: <name>` while the context lasts.

    `change` gets a pod about to be created and answers a JSON patch, or raises `LookupError` to reject it.
    """
    with _serving(name, change) as configuration:
        cluster.send("create", configuration)
        try:
            yield
        finally:
            cluster.run_kubectl("delete", "mutatingwebhookconfiguration", name)


@contextmanager
def _serving(name: str, change: Callable[[Object], list[Object]]) -> Iterator[Object]:
    identity = server_identity(["127.0.0.1"])
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(change))
    server.socket = tls(identity).wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [
                {
                    "name": f"{name}.example.com",
                    "clientConfig": {
                        "url": f"https://127.0.0.1:{server.server_port}/",
                        "caBundle": base64.b64encode(identity.authority).decode(),
                    },
                    "rules": [
                        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
                    ],
                    "namespaceSelector": {"matchLabels": {LABEL: name}},
                    "admissionReviewVersions": ["v1"],
                    "sideEffects": "None",
                }
            ],
        }
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _review(request: Object, change: Callable[[Object], list[Object]]) -> Object:
    response: Object = {"uid": request["uid"], "allowed": True}
    try:
        patch = change(request["object"])
    except LookupError as error:
        return {**response, "allowed": False, "status": {"code": 500, "message": str(error)}}
    if not patch:
        return response
    return {**response, "patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}


def _handler(change: Callable[[Object], list[Object]]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            answer = json.dumps({**review, "response": _review(review["request"], change)}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    return Handler
