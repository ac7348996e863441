"""A run that was kept, asked as if it were an API server: the same pages show it."""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from training_controllers.frameworks.plugins import kinds
from training_local.errors import BadInput
from training_local.run.archive import ArchivedRun, archived_runs, find_run
from training_operator.kube.transport import Request, Response, Stream

VERSION: Final = "1"
"""Of all lists: a run that has ended does not change."""
COLLECTION: Final = re.compile(
    r"/(?:api|apis/kubeflow\.org)/v1(?:/namespaces/(?P<namespace>[^/]+))?/(?P<plural>\w+)"
    r"(?:/(?P<name>[^/]+)(?:/(?P<subresource>log))?)?"
)
Json = dict[str, Any]


def run_of(path: Path) -> ArchivedRun:
    """Return the run in a folder, or the one of that name; raises `BadInput`."""
    if path.is_dir():
        found = [run for run in archived_runs(path.resolve().parent) if run.folder == path.resolve()]
        if not found:
            raise BadInput(f"--archive {path}: it has no readable run.json")
        return found[0]
    try:
        return find_run(str(path))
    except BadInput as error:
        raise BadInput(str(error).replace("--run", "--archive", 1)) from None


class ArchiveTransport:
    """Answers GETs for the job, the pods, the events and the logs of one run; everything else is not there."""

    def __init__(self, run: ArchivedRun) -> None:
        self._run = run
        self._objects = _objects(run)

    async def request(self, request: Request) -> Response:
        """Return an object, a list or a log."""
        found = COLLECTION.fullmatch(request.path)
        if found is None:
            return _status(404, f"run {self._run.id} has no {request.path}")
        if found["subresource"]:
            return Response(200, "".join(self._log(found["name"], request.query)).encode())
        objects = self._chosen(found["plural"], found["namespace"], request.query)
        if objects is None:
            return _status(404, f"run {self._run.id} has no {found['plural']}")
        if found["name"] is None:
            listed = {"metadata": {"resourceVersion": VERSION}, "items": objects}
            return Response(200, msgspec.json.encode(listed))
        named = [each for each in objects if each["metadata"]["name"] == found["name"]]
        return (
            Response(200, msgspec.json.encode(named[0])) if named else _status(404, f"{found['name']} was not recorded")
        )

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[Stream]:
        """Hand out a log line by line, or a watch in which nothing happens; initial events come as lists only."""
        if "sendInitialEvents" in request.query:
            rejection = _status(422, "lists need pagination")
            yield Stream(422, _nothing(), rejection.body)
            return
        answer = await self.request(request)
        if answer.status != 200:
            yield Stream(answer.status, _nothing(), answer.body)
        elif "watch" in request.query:
            yield Stream(200, _nothing(for_good=True))
        else:
            yield Stream(200, _each(answer.body.splitlines(), for_good="follow" in request.query))

    async def close(self) -> None:
        """Nothing is open."""

    def _chosen(self, plural: str, namespace: str | None, query: Mapping[str, str]) -> list[Json] | None:
        if plural not in self._objects:
            return None
        wanted = dict(each.partition("=")[::2] for each in query.get("labelSelector", "").split(",") if each)
        return [
            each
            for each in self._objects[plural]
            if namespace in (None, each["metadata"].get("namespace"))
            and wanted.items() <= (each["metadata"].get("labels") or {}).items()
        ]

    def _log(self, pod: str, query: Mapping[str, str]) -> Iterable[str]:
        """The lines of one attempt, by default the last one, each with its time."""
        logs = [log for log in self._run.logs() if log.replica.pod == pod]
        logs = [log for log in logs if query.get("container", log.container) == log.container]
        logs.sort(key=lambda log: log.attempt)
        chosen = logs[-2:-1] if "previous" in query else logs[-1:]
        lines = (f"{line.stamp} {line.text}\n" for log in chosen for line in log.lines())
        return deque(lines, int(query["tailLines"])) if "tailLines" in query else lines


def _objects(run: ArchivedRun) -> dict[str, list[Json]]:
    """The job and its pods as they were seen last, and its events, by plural."""
    last: dict[str, Json] = {}
    specs: dict[str, Any] = {}
    for change in run.statuses():
        stored, uid = change.object, change.object["metadata"]["uid"]
        specs.setdefault(uid, stored.get("spec") or {})
        if change.change != "DELETED" or uid not in last:
            last[uid] = {**stored, "spec": specs[uid]}
    info = kinds().get(run.record.kind)
    found: dict[str, list[Json]] = {each.plural: [] for each in kinds().values()}
    found |= {"pods": [], "events": list({each["metadata"]["uid"]: each for each in run.events()}.values())}
    for stored in last.values():
        plural = "pods" if stored.get("kind") == "Pod" else info.plural if info else ""
        stored["metadata"]["resourceVersion"] = VERSION
        found.setdefault(plural, []).append(stored)
    return found


def _status(code: int, message: str) -> Response:
    return Response(
        code, json.dumps({"kind": "Status", "code": code, "message": message, "reason": _REASONS[code]}).encode()
    )


_REASONS: Final = {404: "NotFound", 422: "Invalid"}


async def _nothing(*, for_good: bool = False) -> AsyncIterator[bytes]:
    if for_good:
        await asyncio.get_running_loop().create_future()
    for line in tuple[bytes, ...]():
        yield line


async def _each(lines: list[bytes], *, for_good: bool) -> AsyncIterator[bytes]:
    for line in lines:
        yield line
    if for_good:
        await asyncio.get_running_loop().create_future()
