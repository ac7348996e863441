"""A cluster that has TrainJobs: the local cluster with small definitions, and pods made as they are predicted.

No proof of how v2 behaves; it is there to try what talks to such a cluster.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

from training_migration.runs.api import Api
from training_migration.runs.job_ends import State
from training_migration.runs.jobset import COMPANIONS, JobSetPlay
from training_migration.runs.sightings import Sightings
from training_migration.targets import Target
from training_migration.v2.render import render_v2
from training_operator.kube.transport import MERGE_PATCH, Request, Transport

Json = dict[str, Any]

GROUP = "trainer.kubeflow.org"
VERSION = "v1alpha1"


def definition(kind: str) -> Json:
    """A definition that takes anything."""
    plural = f"{kind.lower()}s"
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}},
    }
    names = {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": [version]},
    }


class SmallTrainer:
    """Makes the pods of each TrainJob, and reports how it ended."""

    def __init__(self, transport: Transport) -> None:
        self._transport, self._api = transport, Api(transport)
        self._plays: set[asyncio.Task[None]] = set()

    async def run(self, namespace: str) -> None:
        """Work in one namespace until cancelled."""
        for kind in ("TrainJob", "TrainingRuntime"):
            await self._api.create(definition(kind))
        path = await self._api.collection(f"{GROUP}/{VERSION}", "TrainJob", namespace)
        played: set[str] = set()
        try:
            while True:
                async for gone, train_job in self._api.changes(path):
                    if not gone and train_job["metadata"]["uid"] not in played:
                        played.add(train_job["metadata"]["uid"])
                        self._plays.add(asyncio.create_task(self._play(path, train_job)))
        finally:
            for play in self._plays:
                play.cancel()

    async def _play(self, path: str, train_job: Json) -> None:
        metadata, name = train_job["metadata"], train_job["spec"]["runtimeRef"]["name"]
        runtime = await self._api.read(f"{GROUP}/{VERSION}", "TrainingRuntime", metadata["namespace"], name)
        assert runtime is not None
        rendering = render_v2(train_job, runtime, Target.V2_3)
        owner = {"apiVersion": train_job["apiVersion"], "kind": "TrainJob", "controller": False}
        owner |= {field: metadata[field] for field in ("name", "uid")}
        for each in rendering.objects:
            if each["kind"] in COMPANIONS:
                await self._api.create({**each, "metadata": {**each["metadata"], "ownerReferences": [owner]}})
        sightings = Sightings(self._api, metadata["namespace"])
        following = asyncio.create_task(sightings.run())
        try:
            end = await JobSetPlay(self._api, rendering, sightings).run()
        finally:
            following.cancel()
        kind = "Complete" if end.state is State.COMPLETE else "Failed"
        condition = {"type": kind, "status": "True", "reason": end.reason, "message": end.message}
        body = json.dumps({"status": {"conditions": [condition]}}).encode()
        request = Request("PATCH", f"{path}/{metadata['name']}/status", body=body, content_type=MERGE_PATCH)
        await self._transport.request(request)
        await self._remove_with(sightings, path, metadata["name"])

    async def _remove_with(self, sightings: Sightings, path: str, name: str) -> None:
        """Remove the pods when the TrainJob has gone, as the garbage collector does where JobSet owns them."""
        with contextlib.suppress(asyncio.CancelledError):
            # Others delete it; a look now and then is enough here.
            while (await self._transport.request(Request("GET", f"{path}/{name}"))).status != 404:  # noqa: ASYNC110
                await asyncio.sleep(0.2)
            for pod in sightings.present:
                await self._api.delete({"apiVersion": "v1", "kind": "Pod", **pod}, grace=0)
