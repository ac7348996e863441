"""Server-side apply of custom resources: what their schemas say about lists and maps decides who owns what."""

from __future__ import annotations

from e2e.fidelity.kinds import GROUP, define, define_whole, definition, resource
from e2e.fidelity.owners import apply, define_jobs, job, job_status, show_owners, worker
from e2e.fidelity.player import MERGE, Player

MAIN = {"name": "main", "image": "busybox:1"}
_WIDGET = {"apiVersion": "fidelity.example.com/v1", "kind": "Widget", "metadata": {"name": "a"}}


async def creates(api: Player) -> None:
    jobs = await define_jobs(api)
    await apply(api, f"{jobs}/a", job(replicaSpecs={"Worker": worker(2, MAIN)}))
    await apply(api, f"{jobs}/a", job(replicaSpecs={"Worker": worker(2, MAIN)}))


async def created_by_post(api: Player) -> None:
    jobs = await define_jobs(api)
    await api.post(
        jobs, job(replicaSpecs={"Worker": worker(None, MAIN)}, tags=["a"], free={"x": [1]}), fieldManager="creator"
    )
    await show_owners(api, f"{jobs}/a")


async def replica_specs(api: Player) -> None:
    jobs = await define_jobs(api)
    await apply(api, f"{jobs}/a", job(replicaSpecs={"Worker": worker(2, MAIN), "Master": worker(1, MAIN)}))
    await apply(api, f"{jobs}/a", job(replicaSpecs={"Worker": {"replicas": 3}}), "two")
    await apply(api, f"{jobs}/a", job(replicaSpecs={"Worker": {"replicas": 3}}), "two", force="true")
    await apply(api, f"{jobs}/a", job(replicaSpecs={"Worker": worker(None, MAIN)}))
    await apply(api, f"{jobs}/a", job(replicaSpecs={}), "two")


async def containers_in_templates(api: Player) -> None:
    jobs = await define_jobs(api)
    port = {"containerPort": 23456, "name": "port"}
    main = {**MAIN, "ports": [port], "env": [{"name": "A", "value": "1"}], "resources": {"limits": {"cpu": 1}}}
    await apply(api, f"{jobs}/a", job(replicaSpecs={"Worker": worker(1, main)}))
    sidecar = {"name": "sidecar", "image": "busybox:2"}
    await apply(api, f"{jobs}/a", job(replicaSpecs={"Worker": worker(None, sidecar)}), "two")
    await apply(api, f"{jobs}/a", job(replicaSpecs={"Worker": worker(None, {**MAIN, "image": "busybox:3"})}), "two")
    await apply(api, f"{jobs}/a", job(replicaSpecs={"Worker": worker(1, MAIN)}))


async def sets_and_atomic_lists(api: Player) -> None:
    jobs = await define_jobs(api)
    await apply(api, f"{jobs}/a", job(tags=["a", "b"], args=["x", "y"]))
    await apply(api, f"{jobs}/a", job(tags=["b", "c"]), "two")
    await apply(api, f"{jobs}/a", job(args=["x", "z"]), "two")
    await apply(api, f"{jobs}/a", job(tags=["c"], args=["x", "z"]), "two", force="true")
    await apply(api, f"{jobs}/a", job(tags=["b"]))
    await apply(api, f"{jobs}/a", job(tags=["a", "a"]))


async def maps(api: Player) -> None:
    jobs = await define_jobs(api)
    await apply(api, f"{jobs}/a", job(selector={"a": "1"}, settings={"a": "1"}, free={"a": {"b": [1], "c": {}}}))
    await apply(api, f"{jobs}/a", job(selector={"b": "2"}), "two")
    await apply(api, f"{jobs}/a", job(settings={"b": "2"}, free={"a": {"d": 1}}), "two")
    await apply(api, f"{jobs}/a", job(settings={}, free={"a": {"c": {}}}))
    await apply(api, f"{jobs}/a", job(free={"a": [1]}), "two", force="true")


async def defaults(api: Player) -> None:
    jobs = await define_jobs(api)
    await apply(api, f"{jobs}/a", job(replicaSpecs={"Worker": {"restartPolicy": "Never"}}))
    await apply(api, f"{jobs}/a", job(replicaSpecs={"Worker": {"replicas": 2}}), "two")
    await apply(api, f"{jobs}/a", job(replicaSpecs={"Worker": {}}), "two")


async def nulls_and_empty_values(api: Player) -> None:
    jobs = await define_jobs(api)
    await apply(api, f"{jobs}/a", job(settings={}, args=[], tags=[], free={"a": None}, slots="auto"))
    await apply(api, f"{jobs}/a", job(settings=None, slots=2), "two", force="true")
    await apply(api, f"{jobs}/a", job())


async def status(api: Player) -> None:
    jobs = await define_jobs(api)
    await apply(api, f"{jobs}/a", job(replicas=1))
    told = {"conditions": [{"type": "Created", "status": "True"}], "replicaStatuses": {"Worker": {"active": 1}}}
    await apply(api, f"{jobs}/a/status", job_status(**told, keyed=[{"type": "A", "status": "True"}]), "operator")
    await apply(api, f"{jobs}/a/status", job_status(keyed=[{"type": "B", "status": "True"}]), "two")
    await apply(api, f"{jobs}/a/status", job_status(conditions=[]), "two")
    await apply(api, f"{jobs}/a/status", job_status(keyed=[{"type": "A", "status": "False"}]), "operator")
    await apply(api, f"{jobs}/a", {**job(replicas=2), "status": {"replicas": 5}})
    await apply(api, f"{jobs}/a/status", {**job_status(replicas=1), "spec": {"replicas": 7}}, "two")
    await apply(api, f"{jobs}/absent/status", job_status())


async def wrong_status(api: Player) -> None:
    jobs = await define_jobs(api)
    await api.post(jobs, job(), fieldManager="creator")
    await api.patch(f"{jobs}/a/status", {"status": {"replicas": "many"}}, MERGE)
    await api.patch(f"{jobs}/a/status", {"status": {"keyed": [{"status": "True"}]}}, MERGE)
    await api.patch(f"{jobs}/a/status", {"status": {"replicaStatuses": []}}, MERGE)
    await apply(api, f"{jobs}/a/status", job_status(replicaStatuses={"Worker": {"active": None}}))
    await api.patch(f"{jobs}/a/status", {"status": {"replicas": 1}}, MERGE)
    await apply(api, f"{jobs}/a/status", {**job_status(), "status": None}, force="true")


async def status_by_other_writes(api: Player) -> None:
    jobs = await define_jobs(api)
    created = await api.post(jobs, {**job(replicas=1), "status": {"replicas": 3}}, fieldManager="creator")
    await show_owners(api, f"{jobs}/a")
    whole = {**created.body, "status": {"conditions": [{"type": "A", "status": "True"}]}}
    await api.put(f"{jobs}/a/status", whole, fieldManager="operator")
    await show_owners(api, f"{jobs}/a")
    await api.patch(f"{jobs}/a/status", {"status": {"replicas": 2}}, MERGE, fieldManager="operator")
    await api.patch(f"{jobs}/a", {"metadata": {"labels": {"a": "b"}}}, MERGE, fieldManager="labeler")
    await show_owners(api, f"{jobs}/a")


async def scale(api: Player) -> None:
    jobs = await define_jobs(api)
    await apply(api, f"{jobs}/a", job(replicas=1))
    await api.patch(f"{jobs}/a/scale", {"spec": {"replicas": 4}}, MERGE, fieldManager="autoscaler")
    await show_owners(api, f"{jobs}/a")
    await apply(api, f"{jobs}/a", job(replicas=2))
    await apply(api, f"{jobs}/a", job(replicas=2), force="true")


async def scale_cannot_be_applied(api: Player) -> None:
    jobs = await define_jobs(api)
    wanted = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": 3}}
    await apply(api, f"{jobs}/a/scale", wanted)
    await api.post(jobs, job(replicas=1), fieldManager="creator")
    await apply(api, f"{jobs}/a/scale", wanted, force="true")
    await show_owners(api, f"{jobs}/a")


async def managers_keep_names_that_are_scaled(api: Player) -> None:
    jobs = await define_jobs(api)
    await api.post(jobs, job(replicas=1), fieldManager="creator")
    read = await api.get(f"{jobs}/a/scale")
    await api.put(f"{jobs}/a/scale", {**read.body, "spec": {"replicas": 2}}, fieldManager="creator")
    await api.put(
        f"{jobs}/a/scale", {**read.body, "metadata": {"name": "a"}, "spec": {"replicas": 3}}, fieldManager="x"
    )
    await show_owners(api, f"{jobs}/a")


async def wrong_values(api: Player) -> None:
    jobs = await define_jobs(api)
    await apply(api, f"{jobs}/a", job(surprise=1))
    await apply(api, f"{jobs}/a", job(replicas="many"))
    await apply(api, f"{jobs}/a", job(replicaSpecs=[]))
    await apply(api, f"{jobs}/a", job(replicaSpecs={"Worker": worker(1, {"image": "x"})}))
    await apply(api, f"{jobs}/a", job(replicaSpecs={"Worker": worker(1, MAIN, MAIN)}))
    await apply(api, f"{jobs}/a", {**job(), "kind": "Other"})
    await apply(api, f"{jobs}/a", {**job(), "apiVersion": "schemas.fidelity.example.com/v2"})


async def refused_by_the_schema(api: Player) -> None:
    things = await define(
        api, "BoundedThing", {"type": "object", "properties": {"size": {"type": "integer", "maximum": 3}}}
    )
    await apply(api, f"{things}/a", resource("BoundedThing", size=5))
    await apply(api, f"{things}/a", resource("BoundedThing", size=2))
    await apply(api, f"{things}/a", resource("BoundedThing", size=7))
    await apply(api, f"{things}/a", {**resource("BoundedThing", size=2), "status": {"a": {"b": 1}, "c": [1]}})


async def without_a_schema(api: Player) -> None:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    things = await define(api, "LooseThing", anything)
    await apply(api, f"{things}/a", resource("LooseThing", a={"b": {"c": 1}}, items=[{"name": "x"}]))
    await apply(api, f"{things}/a", resource("LooseThing", a={"b": {"d": 2}}, items=[{"name": "y"}]), "two")
    await apply(api, f"{things}/a", resource("LooseThing", a={"b": {"d": 2}}), "two")
    await apply(api, f"{things}/a", resource("LooseThing"))


async def atomic_by_default(api: Player) -> None:
    await api.post("widgets", {**_WIDGET, "spec": {"size": 1}}, fieldManager="creator")
    await apply(api, "widgets/a", {**_WIDGET, "spec": {"size": 1, "parts": [{"name": "x"}]}})
    await apply(api, "widgets/a", {**_WIDGET, "spec": {"size": 2}})
    await apply(api, "widgets/a", _WIDGET)


async def versions(api: Player) -> None:
    spec = {"type": "object", "properties": {name: {"type": "string"} for name in ("x", "y", "z")}}
    whole = definition("TwoVersioned", spec)
    first = whole["spec"]["versions"][0]
    whole["spec"]["versions"] = [first, {**first, "name": "v2", "storage": False}]
    one = f"{await define_whole(api, whole)}/a"
    other = one.replace("/v1/", "/v2/")
    await api.until(other, lambda answer: answer.body["reason"] == "NotFound" and "details" in answer.body)
    second = {**resource("TwoVersioned", x="2", y="1"), "apiVersion": f"{GROUP}/v2"}
    await apply(api, one, resource("TwoVersioned", x="1", z="1"))
    await apply(api, other, second, "two")
    await apply(api, other, second, "two", force="true")
    await apply(api, other, {**second, "spec": {"z": "1"}})
    await api.patch(other, {"spec": {"z": "5"}}, MERGE, fieldManager="three")
    await show_owners(api, one)
    await apply(api, one, resource("TwoVersioned", z="6"))
    await apply(api, one, {**second, "spec": {"z": "1"}})
