"""Plays scripts of steps in front of an operator, and looks afterwards whether everything still holds."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from e2e.adversary import oracles
from e2e.adversary.steps import ANY, KIND_OF, NODE, PATHS, VERBS, Owner, Step
from e2e.adversary.tenants import (
    TENANT,
    Key,
    Object,
    accounts_of,
    all_rights,
    collection,
    make_namespace,
    objects,
    user,
)
from e2e.harness.client import MERGE_PATCH, Api, ApiError, eventually
from e2e.harness.jobs import PLURALS, Namespace, job, typical
from e2e.harness.operator import Operator
from e2e.harness.usage import memory_mb

OWNER: Final = "owner"
"""The namespace of an idle tenant, with jobs that run."""
CONTROL: Final = "control"
"""The namespace of the jobs that must be served."""
SERVED: Final = 1.0
"""Seconds within which a new job must have its pod."""
SETTLES: Final = 10.0
"""Seconds within which rights must follow pods that come and go."""
MEMORY_LIMIT: Final = 512
"""MiB, as the Deployment has it."""
TRIES: Final = 3
"""Jobs one of which must be served in time: a machine at work may hold up one."""


@dataclass
class Told:
    """What has been seen of all scripts so far."""

    steps: int = 0
    cells: Counter[str] = field(default_factory=Counter)
    """Verb, resource and answer."""
    lags: list[float] = field(default_factory=list)
    """Seconds until a control job had its pod."""
    memory: float = 0.0

    @property
    def never(self) -> set[str]:
        """Verbs with resources that no step was about."""
        asked = {cell.rpartition(" ")[0] for cell in self.cells}
        return {f"{verb} {resource}" for verb in VERBS for resource in PATHS} - asked

    def __str__(self) -> str:
        done = sum(number for cell, number in self.cells.items() if cell.rpartition(" ")[2].startswith("2"))
        lag = f"{sorted(self.lags)[len(self.lags) // 2]:.2f} s in the middle, {max(self.lags):.2f} s at most"
        return (
            f"{self.steps} steps, {done} of them let through; never tried: {', '.join(sorted(self.never)) or 'none'}; "
            f"control jobs served after {lag}; memory {self.memory:.0f} MiB at most"
        )


class World:
    """Two tenants, an idle one, and the operator between them."""

    def __init__(self, api: Api, operator: Operator) -> None:
        self.api = api
        self.operator = operator
        self.told = Told()
        self._numbers = itertools.count(1)
        self._kept: dict[Key, Object] = {}

    async def set_up(self) -> None:
        """Jobs of an idle tenant, with pods that run."""
        for name in (OWNER, CONTROL):
            await self.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
        await self.api.create(collection(OWNER, "serviceaccounts"), {"metadata": {"name": "own"}})
        jobs = Namespace(self.api, OWNER)
        for kind, name in (("PyTorchJob", "x"), ("MPIJob", "db")):
            body = typical(name, kind)
            await jobs.create(body)
            await jobs.pods_reach(name, 2)
            await jobs.set_phase(name, "Running")
            await jobs.condition(body, "Running")
        await asyncio.sleep(1)  # its last events and statuses
        self._kept = await objects(self.api, OWNER)

    async def play(self, script: Sequence[Step]) -> None:
        """Play a script in namespaces of its own; an assertion error says what no longer holds."""
        number = next(self._numbers)
        names = {"a": f"a-{number}", "b": f"b-{number}", "c": OWNER}
        tenants = [names["a"], names["b"]]
        await asyncio.gather(*(make_namespace(self.api, name) for name in tenants))
        accounts = [each for name in (*tenants, OWNER, "kubeflow") for each in await accounts_of(self.api, name)]
        places = [*tenants, OWNER, "kubeflow"]
        before = {name: await objects(self.api, name) for name in tenants}
        rights = await all_rights(self.api, accounts, places)
        touched: dict[str, set[Key]] = {name: set() for name in tenants}
        try:
            for step in script:
                await self._send(step, names, touched)
            await self._serves()
            await self._holds(tenants, before, touched)
            accounts = [*{*accounts, *[each for name in tenants for each in await accounts_of(self.api, name)]}]
            wider = [*oracles.widened(rights, await all_rights(self.api, accounts, places), tenants)]
            assert not wider, "\n".join(wider)
        finally:
            await asyncio.gather(*(self._remove(name) for name in tenants))

    async def _serves(self) -> None:
        """New jobs get their pods in time, and a pod that another tenant's job has lost is replaced."""
        self.operator.child.check_alive()
        lags: list[float] = []
        while len(lags) < TRIES and min(lags, default=SERVED) >= SERVED:
            lags.append(await self._lag())
        self.told.lags.append(lags[0])
        self.told.memory = memory_mb(self.operator.child.pid, "VmHWM")
        assert min(lags) < SERVED, f"control jobs waited for {lags} s"
        assert self.told.memory < MEMORY_LIMIT, f"the operator took {self.told.memory:.0f} MiB"
        assert "Traceback" not in self.operator.child.output(), self.operator.child.output()[-4000:]

    async def _lag(self) -> float:
        jobs = Namespace(self.api, CONTROL)
        name = f"control-{time.monotonic_ns()}"
        began = time.monotonic()
        await jobs.create(job(name, "JAXJob", Worker=1))
        await eventually(lambda: self.api.get(f"{collection(CONTROL, 'pods')}/{name}-worker-0"), "a pod", 30, poll=0.01)
        lag = time.monotonic() - began
        await self.api.delete(f"{jobs.jobs('JAXJob')}/{name}")
        return lag

    async def _holds(
        self, tenants: Sequence[str], before: dict[str, dict[Key, Object]], touched: dict[str, set[Key]]
    ) -> None:
        """Wait until nothing is wrong, because rights follow pods; say what is if that does not come."""
        deadline = time.monotonic() + SETTLES
        while wrong := [
            *oracles.changed(self._kept, await objects(self.api, OWNER), (), OWNER),
            *[text for name in tenants for text in await self._wrong(name, before[name], touched[name])],
        ]:
            assert time.monotonic() < deadline, "\n".join(wrong)
            await asyncio.sleep(0.2)

    async def _wrong(self, name: str, before: dict[Key, Object], touched: set[Key]) -> list[str]:
        now = await objects(self.api, name)
        return [
            *oracles.changed(before, now, touched, name),
            *oracles.granted(now, name),
            *oracles.mounted(now, before, touched, name),
        ]

    async def _send(self, step: Step, names: dict[str, str], touched: dict[str, set[Key]]) -> None:
        self.told.steps += 1
        if step.actor == NODE:
            await self._move_pod(step, names["a"])
            return
        namespace = names[step.actor]
        tenant = self.api.acting_as(user(namespace, TENANT))
        step, keys = await self._aimed(step, namespace)
        there = collection(namespace, step.resource)
        try:
            await self._request(tenant, step, there, names)
        except ApiError as error:
            self.told.cells[f"{step.verb} {step.resource} {error.status}"] += 1
            assert error.status < 500, f"{step}: {error}"
        else:
            self.told.cells[f"{step.verb} {step.resource} 200"] += 1
            touched[namespace] |= keys

    async def _aimed(self, step: Step, namespace: str) -> tuple[Step, set[Key]]:
        """The step with the object that its number means, and all the objects that it is about."""
        if not step.name.isdigit() and step.verb != "deletecollection":
            return step, {(step.resource, step.name)}
        found = sorted(await objects(self.api, namespace, PATHS if step.resource == ANY else [step.resource]))
        if step.verb == "deletecollection" or not found:
            return step, {*found}
        resource, name = found[int(step.name) % len(found)]
        return replace(step, resource=resource, name=name), {(resource, name)}

    async def _request(self, tenant: Api, step: Step, there: str, names: dict[str, str]) -> None:
        body = await self._body(step, names)
        match step.verb:
            case "create":
                await tenant.create(there, body)
            case "patch":
                await tenant.call("PATCH", f"{there}/{step.name}", body, MERGE_PATCH)
            case "update":
                found = await self.api.get(f"{there}/{step.name}") or {"metadata": {}}
                meta = {**found["metadata"], **body["metadata"]}
                await tenant.call("PUT", f"{there}/{step.name}", {**found, **body, "metadata": meta})
            case "delete":
                await tenant.call("DELETE", f"{there}/{step.name}", body)
            case "deletecollection":
                await tenant.call("DELETE", there)

    async def _body(self, step: Step, names: dict[str, str]) -> Object:
        if step.verb not in ("create", "patch", "update"):
            return step.body
        meta = {"name": step.name, **step.body["metadata"]}
        if step.owners is not None:
            meta["ownerReferences"] = await asyncio.gather(*(self._reference(each, names) for each in step.owners))
        body = {**step.body, "metadata": meta}
        if step.resource in KIND_OF:
            body |= {"apiVersion": "kubeflow.org/v1", "kind": KIND_OF[step.resource]}
        if step.resource == "events":
            body["involvedObject"] = {"kind": "PyTorchJob", "name": step.name, "namespace": names[step.actor]}
        return body

    async def _reference(self, owner: Owner, names: dict[str, str]) -> Object:
        """The reference that the owner's own objects have; with an arbitrary uid if there is no such job."""
        found = await self.api.get(f"{collection(names[owner.where], PLURALS[owner.kind])}/{owner.name}")
        uid = found["metadata"]["uid"] if found else "00000000-0000-0000-0000-000000000000"
        reference = {"apiVersion": "kubeflow.org/v1", "kind": owner.kind, "name": owner.name, "uid": uid}
        return {**reference, "controller": owner.controls}

    async def _move_pod(self, step: Step, namespace: str) -> None:
        pods = (await self.api.call("GET", collection(namespace, "pods")))["items"]
        mine = [pod["metadata"]["name"] for pod in pods if pod["metadata"]["name"] != "db-worker-0"]
        if not mine:
            return
        try:
            await self.api.patch(
                f"{collection(namespace, 'pods')}/{mine[int(step.name) % len(mine)]}/status", step.body
            )
        except ApiError as error:
            assert error.status in (404, 409, 422), error

    async def _remove(self, name: str) -> None:
        """Delete a namespace; what is held by finalizers of tenants is let go."""
        await self.api.delete(f"/api/v1/namespaces/{name}")
        for (resource, each), obj in (await objects(self.api, name)).items():
            if obj["metadata"].get("finalizers") or resource in PLURALS.values():
                path = f"{collection(name, resource)}/{each}"
                try:
                    await self.api.delete(path)
                    await self.api.patch(path, {"metadata": {"finalizers": None}})
                except ApiError as error:
                    assert error.status in (404, 409), error
