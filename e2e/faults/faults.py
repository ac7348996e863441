"""The faults: each one a play on a stage of its own."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any

import aiohttp
from e2e.faults.following import patiently
from e2e.faults.load import Scripted, draw, draw_all
from e2e.faults.node import path_of
from e2e.faults.stage import Stage
from e2e.faults.watcher import end_of, is_live
from e2e.harness.bare import API_SERVER, ETCD
from e2e.harness.client import ApiError, Object, eventually
from e2e.harness.cluster import CRDS
from e2e.harness.operator import Operator

LOST = '"event": "leadership lost"'
LEADING = '"event": "leading"'
Outcome = dict[str, Any]


async def api_server_killed(stage: Stage) -> None:
    """The API server is killed and comes back."""
    async with stage.operator():
        await stage.create_all()
        for _ in range(stage.rounds):
            await stage.progress()
            stage.plane.kill(API_SERVER)
            await asyncio.sleep(stage.rng.uniform(0, 3))
            await stage.restart_api_server()
        await stage.verify()


async def etcd_paused(stage: Stage) -> None:
    """etcd stands still for 20 s, its connections open."""
    async with stage.operator():
        await stage.create_all()
        for _ in range(stage.rounds):
            await stage.progress()
            stage.plane.pause(ETCD)
            await asyncio.sleep(20)
            stage.plane.go_on(ETCD)
            await asyncio.to_thread(stage.plane.wait_ready)
        await stage.verify()


async def network_cut(stage: Stage) -> None:
    """Between operator and API server nothing passes for a while (and arrives late), or connections are refused."""
    async with stage.operator():
        await stage.create_all()
        for number in range(stage.rounds):
            await stage.progress()
            if number % 2:
                await stage.link.refuse()
            else:
                stage.link.hold()
            await asyncio.sleep(stage.rng.uniform(1, 8))
            if stage.rng.random() < 0.5:
                await stage.link.reset()
            stage.link.open()
        await stage.verify()


async def operator_killed(stage: Stage) -> None:
    """The operator is killed again and again: after so many writes, or while it starts."""
    jobs = draw_all(stage.rng, stage.size)
    each = -(-len(jobs) // stage.rounds)
    for number in range(stage.rounds):
        await stage.create(jobs[number * each : (number + 1) * each])
        operator = stage.start_operator()
        if stage.rng.random() < 0.2:
            await asyncio.sleep(stage.rng.uniform(0, 1))
        else:
            await _written(stage, stage.rng.randint(1, 40))
        operator.child.kill()
        await stage.link.reset()
        stage.link.open()
    async with stage.operator():
        await stage.verify()


async def _written(stage: Stage, writes: int) -> None:
    """Return when the operator has written so often and waits for the answer, or has nothing to write."""
    stage.link.was_cut.clear()
    stage.link.cut_after = stage.link.writes + writes
    with suppress(TimeoutError):
        async with asyncio.timeout(8):
            await stage.link.was_cut.wait()
    stage.link.cut_after = None


async def leader_lost(stage: Stage) -> None:
    """Of two replicas the one that leads is killed, stops in good order, or stands still until its lease is over."""
    flags = ("--leader-elect", f"--operator-namespace={stage.namespace}")
    leader, standby = stage.start_operator(*flags), stage.start_operator(*flags)
    jobs = draw_all(stage.rng, stage.size)
    each = -(-len(jobs) // (stage.rounds + 1))
    for number in range(stage.rounds):
        await stage.create(jobs[number * each : (number + 1) * each])
        leader, standby = await _leader_first(leader, standby)
        await stage.progress()
        await (_killed, _stood_still, _stopped)[number % 3](stage, leader, standby)
        leader, standby = standby, stage.start_operator(*flags)
    await stage.create(jobs[stage.rounds * each :])
    await stage.verify()
    await _stop(stage, leader)
    await _stop(stage, standby)


async def _leads(operator: Operator) -> None:
    async def said() -> bool:
        return LEADING in operator.child.output()

    await eventually(said, "the other replica to lead", 60)


async def _leader_first(*operators: Operator) -> tuple[Operator, Operator]:
    async def found() -> tuple[Operator, Operator] | None:
        for one, other in (operators, operators[::-1]):
            if LEADING in one.child.output():
                return one, other
        return None

    return await eventually(found, "a leader", 60)


async def _killed(stage: Stage, leader: Operator, standby: Operator) -> None:
    leader.child.kill()
    await _leads(standby)


async def _stopped(stage: Stage, leader: Operator, standby: Operator) -> None:
    await _stop(stage, leader)
    await _leads(standby)


async def _stop(stage: Stage, operator: Operator) -> None:
    """End a replica in good order, unless a busy machine kept it from renewing its lease: then it has to go itself."""
    status = await asyncio.to_thread(operator.child.stop)
    if status != 0 and LOST not in operator.child.output():
        stage.complaints.append(f"a replica ended with status {status}")


async def _stood_still(stage: Stage, leader: Operator, standby: Operator) -> None:
    """It wakes up while another one leads, and has to go without doing anything."""
    leader.child.process.send_signal(signal.SIGSTOP)
    await _leads(standby)
    await stage.progress()
    leader.child.process.send_signal(signal.SIGCONT)
    if (status := await asyncio.to_thread(leader.child.process.wait, 30)) != 1:
        stage.complaints.append(f"the leader that was overtaken ended with status {status}")


async def clock_jumps(stage: Stage) -> None:
    """The operator's wall clock jumps by up to a month, forwards and backwards."""
    offset = stage.folder / "offset"
    program = (sys.executable, "-m", "e2e.faults.jumping_clock", offset)
    flags = ("--leader-elect", f"--operator-namespace={stage.namespace}")
    offset.write_text("0")
    jobs = draw_all(stage.rng, stage.size)
    each = -(-len(jobs) // stage.rounds)
    async with stage.operator(*flags, program=program):
        for number in range(stage.rounds):
            await stage.create(jobs[number * each : (number + 1) * each])
            await stage.progress()
            part = offset.with_suffix(".new")
            part.write_text(str(stage.rng.choice((-1, 1)) * stage.rng.choice((5, 600, 86_400, 2_592_000))))
            part.replace(offset)
        await stage.verify()


async def history_compacted(stage: Stage) -> None:
    """What the operator misses while it is cut off is compacted away, and the API server forgets it."""
    jobs = draw_all(stage.rng, stage.size)
    half = len(jobs) // 2
    async with stage.operator():
        await stage.create(jobs[:half])
        for _ in range(stage.rounds):
            await stage.progress()
            await stage.link.refuse()
            await stage.create(jobs[half : half + 2])
            half += 2
            await _delete_pods(stage, 0.3)
            await _compact(stage)
            stage.plane.kill(API_SERVER)
            await stage.restart_api_server()
            stage.link.open()
        await stage.create(jobs[half:])
        await stage.verify()
    if stage.link.expired == 0:
        stage.complaints.append("no watch of the operator was refused as too old: nothing was tried")


async def _compact(stage: Stage) -> None:
    """Drop the history of etcd up to now, through its JSON gateway."""
    async with aiohttp.ClientSession(stage.plane.etcd) as etcd:
        async with etcd.post("/v3/kv/range", json={"key": "AA=="}) as answer:
            revision = (await answer.json())["header"]["revision"]
        async with etcd.post("/v3/kv/compaction", json={"revision": revision, "physical": True}) as answer:
            answer.raise_for_status()


async def conflict_storm(stage: Stage) -> None:
    """Somebody else writes metadata and status of every job as fast as he can."""
    async with stage.operator(), _meanwhile(_storm(stage)):
        await stage.create_all()
        await stage.watcher.let_pass(100 * stage.size)
    async with stage.operator():
        await stage.verify()


async def _storm(stage: Stage) -> None:
    number = 0
    while True:
        number += 1
        for job in list(stage.jobs):
            path = f"{stage.path(job.kind)}/{job.name}"
            await patiently(stage.api.patch, path, {"metadata": {"labels": {"storm": str(number)}}})
            stored = await stage.job(job)
            foreign = {"type": "Watched", "status": "True", "reason": "Storm", "message": str(number)}
            status = stored.setdefault("status", {})
            status["conditions"] = [*(c for c in status.get("conditions", ()) if c["type"] != "Watched"), foreign]
            with suppress(ApiError):  # the operator was faster
                await patiently(stage.api.call, "PUT", f"{path}/status", stored)
        await asyncio.sleep(0)


@asynccontextmanager
async def _meanwhile(work: Awaitable[None]) -> AsyncIterator[None]:
    """Do something else while the context lasts."""
    task = asyncio.ensure_future(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.result()


async def pods_deleted(stage: Stage) -> None:
    """Somebody deletes pods, whatever they are doing."""
    async with stage.operator():
        await stage.create_all()
        for _ in range(stage.rounds):
            await stage.progress()
            await _delete_pods(stage, 0.4)
        await stage.verify()


async def _delete_pods(stage: Stage, share: float) -> None:
    """Delete some of the pods that run, unless they end at this moment: then nobody could know how they have ended."""
    for pod in await stage.pods():
        if is_live(pod) and stage.rng.random() < share:
            options: Object = {"preconditions": {"resourceVersion": pod["metadata"]["resourceVersion"]}}
            if stage.rng.random() < 0.3:
                options["gracePeriodSeconds"] = 0
            with suppress(ApiError):
                await patiently(stage.api.call, "DELETE", path_of(pod), options)


async def namespace_deleted(stage: Stage) -> None:
    """A namespace is deleted while jobs run in it; jobs of another one go on."""
    async with stage.operator():
        await stage.create_all()
        for number in range(stage.rounds):
            doomed = f"doomed-{number}"
            await patiently(stage.api.create, "/api/v1/namespaces", {"metadata": {"name": doomed}})
            kinds = [job.kind for job in stage.jobs[:6]]
            await stage.create([draw(stage.rng, f"{doomed}-{kind.lower()}", kind) for kind in kinds], doomed)
            await stage.progress()
            await patiently(stage.api.delete, f"/api/v1/namespaces/{doomed}")
            await gone(stage, f"/api/v1/namespaces/{doomed}")
        await stage.verify()


async def gone(stage: Stage, path: str) -> None:
    """Wait until the server has finished a deletion."""

    async def absent() -> bool:
        return await patiently(stage.api.get, path) is None

    await eventually(absent, f"the end of {path}", 90)


async def quota_exhausted(stage: Stage) -> None:
    """A quota leaves room for some pods only, which jobs say by events; then it is raised."""
    quotas = f"/api/v1/namespaces/{stage.namespace}/resourcequotas"
    quota: Object = {"metadata": {"name": "pods"}, "spec": {"hard": {"count/pods": "5"}}}
    await stage.api.create(quotas, quota)

    async def in_force() -> bool:
        found = await stage.api.get(f"{quotas}/pods") or {}
        return "count/pods" in found.get("status", {}).get("used", {})

    async def told() -> bool:
        events = (await stage.api.call("GET", f"/api/v1/namespaces/{stage.namespace}/events"))["items"]
        return any(e["reason"] == "FailedCreatePod" and "exceeded quota" in e["message"] for e in events)

    await eventually(in_force, "the quota to be in force")
    async with stage.operator():
        await stage.create_all()
        await eventually(told, "an event about the quota", 60)
        await stage.api.patch(f"{quotas}/pods", {"spec": {"hard": {"count/pods": "500"}}})
        await stage.verify()


async def definition_deleted(stage: Stage) -> None:
    """The definition of a kind is deleted with all its jobs, and made again; other kinds go on."""
    definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    crd = f"{definitions}/jaxjobs.kubeflow.org"
    async with stage.operator():
        await stage.create_all()
        for _ in range(stage.rounds):
            await stage.progress()
            await patiently(stage.api.delete, crd)
            lost = [job for job in stage.jobs if job.kind == "JAXJob"]
            stage.jobs = [job for job in stage.jobs if job not in lost]
            await gone(stage, crd)
            await stage.or_complain(lambda: _pods_of(stage, "JAXJob"), "no pods without their jobs", 90)
            await asyncio.to_thread(stage.plane.cluster.apply_crds, CRDS / "kubeflow.org_jaxjobs.yaml")
            for job in lost:
                stage.node.forget(job.name)
            await stage.create(lost)
        await stage.verify()


async def _pods_of(stage: Stage, kind: str) -> list[str]:
    owned = [(pod["metadata"]["name"], pod["metadata"].get("ownerReferences", ())) for pod in await stage.pods()]
    return [name for name, owners in owned if any(owner["kind"] == kind for owner in owners)]


async def crash_after_write(stage: Stage) -> None:
    """For a job of each kind: the operator ends after its n-th write; what comes of the jobs is as if it had not."""
    jobs = draw_all(stage.rng, 6)
    async with stage.operator():
        before = stage.link.writes
        await _play(stage, jobs)
        truth = await _outcome(stage)
        writes = stage.link.writes - before
        await stage.delete_all()
    for last in sorted(stage.rng.sample(range(1, writes), stage.rounds)):
        operator = stage.start_operator()
        playing = asyncio.create_task(_play(stage, jobs))
        await _written(stage, last)
        operator.child.kill()
        await stage.link.reset()
        stage.link.open()
        async with stage.operator():
            await playing
            await stage.or_complain(lambda: _differences(stage, truth), f"crash after write {last}", 30)
            await stage.delete_all()


async def _play(stage: Stage, jobs: list[Scripted]) -> None:
    """Let jobs of these names live, from the beginning to their end."""
    stage.jobs = []
    for job in jobs:
        stage.node.forget(job.name)
    await stage.create(jobs)
    await stage.settled()


async def _outcome(stage: Stage) -> Outcome:
    """What came of the jobs, as far as it does not depend on who was faster."""
    counted = ("active", "succeeded", "failed", "restarts", "completedIndexes")
    found: Outcome = {}
    for job in stage.jobs:
        status = (await stage.job(job)).get("status", {})
        replicas = status.get("replicaStatuses", {})
        found[job.name] = {
            "ends": [(c["type"], c["reason"], c["message"]) for c in end_of({"status": status})],
            "replicas": {type_: {key: each.get(key, 0) for key in counted} for type_, each in replicas.items()},
            "generation": status.get("observedGeneration"),
            "waiting": status.get("waiting"),
        }
    found["pods"] = sorted((pod["metadata"]["name"], pod["status"]["phase"]) for pod in await stage.pods())
    services = (await stage.api.call("GET", f"/api/v1/namespaces/{stage.namespace}/services"))["items"]
    found["services"] = sorted(service["metadata"]["name"] for service in services)
    return found


async def _differences(stage: Stage, truth: Outcome) -> list[str]:
    seen = await _outcome(stage)
    return [f"{key}: {seen[key]} should be {truth[key]}" for key in truth if seen[key] != truth[key]]


@dataclass(frozen=True)
class Fault:
    """A play, and how large it is: by hand or every week, and in the tests of every change."""

    play: Callable[[Stage], Awaitable[None]]
    jobs: int
    rounds: int
    short: tuple[int, int] | None = None
    """Jobs and rounds where it must be quick; None for one that cannot be."""

    @property
    def title(self) -> str:
        """What happens."""
        return (self.play.__doc__ or "").strip()


FAULTS = {
    "api-server-killed": Fault(api_server_killed, jobs=60, rounds=6, short=(12, 1)),
    "etcd-paused": Fault(etcd_paused, jobs=40, rounds=2),
    "network-cut": Fault(network_cut, jobs=60, rounds=8),
    "operator-killed": Fault(operator_killed, jobs=100, rounds=50, short=(8, 4)),
    "leader-lost": Fault(leader_lost, jobs=60, rounds=6),
    "clock-jumps": Fault(clock_jumps, jobs=40, rounds=10),
    "history-compacted": Fault(history_compacted, jobs=40, rounds=4),
    "conflict-storm": Fault(conflict_storm, jobs=30, rounds=1),
    "pods-deleted": Fault(pods_deleted, jobs=60, rounds=20, short=(12, 5)),
    "namespace-deleted": Fault(namespace_deleted, jobs=30, rounds=3),
    "quota-exhausted": Fault(quota_exhausted, jobs=30, rounds=1),
    "definition-deleted": Fault(definition_deleted, jobs=30, rounds=2),
    "crash-after-write": Fault(crash_after_write, jobs=6, rounds=12),
}
"""All plays by name."""
