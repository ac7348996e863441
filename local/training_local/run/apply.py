"""Creating the objects of YAML files in the local cluster."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from training_api.constants import API_VERSION
from training_api.documents import place, read
from training_controllers.frameworks.plugins import kinds
from training_local.cluster.connection import DEFAULT_NAMESPACE
from training_local.errors import BadInput
from training_local.run.checks import Severity, check_object
from training_local.run.known_kinds import meant
from training_local.run.progress import JobRef
from training_operator.kube.transport import Request, Response, Transport

_WARNING: Final = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Created:
    """What the API server made of the files: the one job, and its warnings."""

    job: JobRef
    warnings: tuple[str, ...]


def load_objects(files: Iterable[Path], namespace: str | None = None) -> list[dict[str, Any]]:
    """Read all objects of `files` (`-` is standard input, of folders all YAML and JSON), unfolding lists.

    Objects without a namespace get `namespace`. Raises `BadInput` that names the file and the line.
    """
    paths = [str(file) for file in files]
    objects = []
    for document in read(paths, sys.stdin):
        where = place(document)
        if document.object is None:
            raise BadInput(f"{where}: {document.error.rstrip('.')}")
        _check(document.object, where, namespace)
        objects.append(document.object)
    if not objects:
        raise BadInput(f"{', '.join(paths) or 'no file'}: no object found")
    return objects


def _check(item: dict[str, Any], where: str, namespace: str | None) -> None:
    """Make sure that it is an object with a name, and give it its namespace if it has none."""
    for field in ("apiVersion", "kind"):
        if not isinstance(item.get(field), str):
            raise BadInput(f"{where}: {field} is missing")
    metadata = item.get("metadata")
    if not isinstance(metadata, dict) or not (_named(metadata, "name") or _named(metadata, "generateName")):
        raise BadInput(f"{where}: metadata.name is missing")
    own = metadata.get("namespace")
    if own is not None and not isinstance(own, str):
        raise BadInput(f"{where}: metadata.namespace must be a string")
    if own and namespace and own != namespace:
        raise BadInput(f"{where}: metadata.namespace is {own}, but --namespace says {namespace}")
    metadata["namespace"] = own or namespace or DEFAULT_NAMESPACE


def _named(metadata: dict[str, Any], field: str) -> bool:
    return isinstance(metadata.get(field), str) and metadata[field] != ""


def job_of(objects: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the one training job among `objects`; raises `BadInput` that says what was found instead."""
    jobs = [o for o in objects if _is_job(o)]
    if len(jobs) != 1:
        others = [f"{_title(o)}: {why}" for o in objects if (why := meant(o["apiVersion"], o["kind"]))]
        found = ", ".join(_title(job) for job in jobs) or ", but ".join(["none", *others[:1]])
        raise BadInput(f"expected one training job ({', '.join(kinds())}) in the files, found {found}")
    return jobs[0]


def validate(objects: Sequence[dict[str, Any]]) -> None:
    """Raise `BadInput` unless there is one job among `objects`, and all of them can be created and run."""
    job_of(objects)
    for item in objects:
        errors = [text for severity, text in check_object(item) if severity is Severity.ERROR]
        if errors:
            raise BadInput(f"{_title(item)} is invalid: {'; '.join(errors)}")


def _is_job(item: dict[str, Any]) -> bool:
    return item["apiVersion"] == API_VERSION and item["kind"] in kinds()


def _title(item: dict[str, Any]) -> str:
    metadata = item["metadata"]
    return f"{item['kind']} {metadata.get('name') or metadata['generateName']}"


async def create_objects(transport: Transport, objects: Sequence[dict[str, Any]]) -> Created:
    """Create `objects`: namespaces first, the one job last, so that all that its pods need is there.

    Namespaces that the files do not have are created. Raises `BadInput` with the server's words for the first object
    that is rejected.
    """
    warnings: list[str] = []
    job_of(objects)
    await _create_namespaces(transport, objects)
    stored: dict[str, Any] = {}
    for item in sorted(objects, key=_turn):
        path = await _collection(transport, item)
        response = await transport.request(
            Request("POST", path, {"fieldValidation": "Strict"}, json.dumps(item).encode())
        )
        if response.status >= 400:
            reason = json.loads(response.body).get("message", response.body.decode(errors="replace"))
            raise BadInput(f"{_title(item)} was rejected: {reason}")
        warnings += [f"{_title(item)}: {text}" for text in warnings_of(response)]
        stored = json.loads(response.body)
    metadata = stored["metadata"]
    return Created(JobRef(kinds()[stored["kind"]], metadata["namespace"], metadata["name"]), tuple(warnings))


def warnings_of(response: Response) -> list[str]:
    """Return the sentences of the warnings in an answer (RFC 7234: `299 - "..."`, separated by commas)."""
    return [re.sub(r"\\(.)", r"\1", text) for text in _WARNING.findall(response.headers.get("warning", ""))]


def _turn(item: dict[str, Any]) -> int:
    return 2 if _is_job(item) else 0 if item["kind"] == "Namespace" else 1


async def _create_namespaces(transport: Transport, objects: Sequence[dict[str, Any]]) -> None:
    given = {item["metadata"].get("name") for item in objects if item["kind"] == "Namespace"}
    wanted = {item["metadata"]["namespace"] for item in objects} - given - {DEFAULT_NAMESPACE}
    for name in sorted(wanted):
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        response = await transport.request(Request("POST", "/api/v1/namespaces", body=json.dumps(body).encode()))
        if response.status >= 400 and response.status != 409:
            reason = json.loads(response.body).get("message", "")
            raise BadInput(f"namespace {name} was rejected: {reason}")


async def _collection(transport: Transport, item: dict[str, Any]) -> str:
    version = item["apiVersion"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    response = await transport.request(Request("GET", root))
    resources = json.loads(response.body).get("resources", ()) if response.status == 200 else ()
    for resource in resources:
        if resource["kind"] == item["kind"] and "/" not in resource["name"]:
            if resource["namespaced"]:
                return f"{root}/namespaces/{item['metadata']['namespace']}/{resource['name']}"
            item["metadata"].pop("namespace")
            return f"{root}/{resource['name']}"
    why = meant(version, item["kind"])
    raise BadInput(f"{_title(item)}: the local cluster does not know {version} {item['kind']}{why and f'; {why}'}")
