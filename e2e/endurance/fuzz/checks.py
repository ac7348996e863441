"""What must hold for every answer, and for the storage after every request."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

from training_local.apiserver.server import ApiServer
from training_local.apiserver.storage import StoreKey
from training_operator.kube.transport import Request

PATIENCE = 5.0
"""Seconds after which an answer counts as a hang."""
_PAGES = (400, 404)
"""Refusals that may be text: what is no HTTP, and paths outside of every API."""


def check_answer(request: Request, status: int, content_type: str, body: bytes) -> None:
    """Raise AssertionError if an answer is not one that clients can understand."""
    assert 200 <= status < 600, f"{status} for {request}"
    if status < 400:
        return
    if not content_type.startswith("application/json"):
        assert status in _PAGES, f"{status} without a Status for {request}: {body[:500]!r}"
        return
    if request.method == "HEAD" and not body:
        return
    told: dict[str, Any] = json.loads(body)
    assert (told.get("kind"), told.get("status"), told.get("code")) == ("Status", "Failure", status), told
    assert isinstance(told["message"], str), told
    assert told["message"], told
    assert "see the server's log" not in told["message"], f"an exception for {request}"


def check_storage(server: ApiServer) -> None:
    """Raise AssertionError if the storage is not sound."""
    versions: set[int] = set()
    uids: dict[str, StoreKey] = {}
    storage = server.state.storage
    for key, collection in storage.collections.items():
        for entry in collection.entries():
            obj = entry.object()
            meta = obj["metadata"]
            assert meta["resourceVersion"] == str(entry.version), entry
            assert entry.version <= storage.version, entry
            assert (meta["name"], meta.get("namespace", "")) == (entry.name, entry.namespace), entry
            assert entry.name, entry
            assert "/" not in entry.name, entry
            assert isinstance(obj["kind"], str), entry
            assert isinstance(meta["creationTimestamp"], str), entry
            assert entry.version not in versions, entry
            assert uids.setdefault(meta["uid"], key) == key, entry
            assert collection.get(entry.namespace, entry.name) is entry, entry
            versions.add(entry.version)


def decoded(request: Request) -> Request:
    """The request as the HTTP front hands it on: escapes in the path resolved."""
    path = unquote(request.path)
    return Request(
        request.method,
        path,
        request.query,
        request.body,
        request.content_type,
        request.accept,
        request.user_agent,
    )
