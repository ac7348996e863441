"""Creating the objects of YAML files in the local cluster."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from training_api.constants import API_VERSION
from training_api.registry import KINDS
from training_local.follow import JobRef
from training_operator.kube.transport import Request, Transport


class BadInput(Exception):
    """What the user gave cannot be used; the message is one sentence for the user."""


def load_objects(files: Iterable[Path]) -> list[dict[str, Any]]:
    """Read all documents of `files`, unfolding lists; raises `BadInput` naming file and document."""
    objects: list[dict[str, Any]] = []
    for file in files:
        try:
            documents = list(yaml.safe_load_all(file.read_text()))
        except (OSError, UnicodeDecodeError) as error:
            raise BadInput(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
        except yaml.YAMLError as error:
            raise BadInput(f"{file}: is not YAML: {' '.join(str(error).split())}") from None
        for number, document in enumerate(documents, 1):
            if document is None:
                continue
            if not isinstance(document, dict):
                raise BadInput(f"{file}: document {number} is not an object with apiVersion and kind")
            items = document["items"] if document.get("kind") == "List" else [document]
            for item in items:
                _check(item, f"{file}: document {number}")
                objects.append(item)
    return objects


def _check(item: Any, where: str) -> None:
    if not isinstance(item, dict):
        raise BadInput(f"{where}: is not an object with apiVersion and kind")
    for field in ("apiVersion", "kind"):
        if not isinstance(item.get(field), str):
            raise BadInput(f"{where}: {field} is missing")
    metadata = item.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise BadInput(f"{where}: metadata.name is missing")


def only_job(objects: Sequence[dict[str, Any]]) -> JobRef:
    """Return the one training job among `objects`; raises `BadInput` if there is none or more than one."""
    jobs = [o for o in objects if o["apiVersion"] == API_VERSION and o["kind"] in KINDS]
    if len(jobs) != 1:
        found = ", ".join(f"{j['kind']} {j['metadata']['name']}" for j in jobs) or "none"
        raise BadInput(f"expected one training job ({', '.join(KINDS)}) in the files, found {found}")
    metadata = jobs[0]["metadata"]
    return JobRef(KINDS[jobs[0]["kind"]], metadata.get("namespace", "default"), metadata["name"])


async def create_objects(transport: Transport, objects: Sequence[dict[str, Any]]) -> list[str]:
    """Create `objects` in order, their namespaces first, and return the server's warnings.

    Raises `BadInput` with the server's words for the first one that is refused.
    """
    warnings: list[str] = []
    known = {"default"}
    for item in objects:
        namespace = item["metadata"].get("namespace", "default")
        if namespace not in known and item["kind"] != "Namespace":
            known.add(namespace)
            name = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
            await transport.request(Request("POST", "/api/v1/namespaces", body=json.dumps(name).encode()))
        path = await _collection(transport, item, namespace)
        query = {"fieldValidation": "Warn"}
        response = await transport.request(Request("POST", path, query, json.dumps(item).encode()))
        if response.status >= 400:
            reason = json.loads(response.body).get("message", response.body.decode(errors="replace"))
            raise BadInput(f"{item['kind']} {item['metadata']['name']} was refused: {reason}")
        if warning := response.headers.get("warning"):
            warnings.append(f"{item['kind']} {item['metadata']['name']}: {warning}")
    return warnings


async def _collection(transport: Transport, item: dict[str, Any], namespace: str) -> str:
    version = item["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    response = await transport.request(Request("GET", root))
    resources = json.loads(response.body).get("resources", ()) if response.status == 200 else ()
    for resource in resources:
        if resource["kind"] == item["kind"] and "/" not in resource["name"]:
            return (
                f"{root}/namespaces/{namespace}/{resource['name']}"
                if resource["namespaced"]
                else (f"{root}/{resource['name']}")
            )
    raise BadInput(
        f"{item['kind']} {item['metadata']['name']}: the local cluster does not know {version} {item['kind']}"
    )
