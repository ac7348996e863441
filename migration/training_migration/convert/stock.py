"""A job on a runtime that v2 ships, where a TrainJob can say all that the job's own runtime would."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from training_api.constants import EXTENSION_PREFIX
from training_migration.convert.context import NODE, Context, Json
from training_migration.convert.plan import Plan

MANAGER: Final = EXTENSION_PREFIX + "migration"
"""Who the patches of a TrainJob are from."""
PATCHES: Final = "runtimePatches"
DEFAULT_LIMIT: Final = 6
"""`backoffLimit` of a Job that does not say it."""
OF_TRAINER: Final = frozenset({"name", "image", "command", "args", "env", "resources"})
"""Fields of the main container that a TrainJob's `trainer` has."""
OF_PATCH: Final = frozenset({"volumeMounts", "securityContext"})
"""Those that a patch has."""
PATCHED: Final = frozenset(
    {
        "serviceAccountName",
        "volumes",
        "imagePullSecrets",
        "securityContext",
        "nodeSelector",
        "affinity",
        "tolerations",
        "schedulingGates",
    }
)
"""Fields of a pod that a patch has, and that the shipped runtimes leave open."""


def on_stock(context: Context, plan: Plan, runtime: Json, job: Json) -> Json | None:
    """The TrainJob for the shipped runtime, or None where something would be lost, which is told."""
    if lost := list(_lost(context, plan, runtime)):
        context.notes.add(
            "MIG008",
            f"the job has a runtime of its own, because a shipped one would lose {', '.join(lost)}.",
            fixed=True,
        )
        return None
    template = _template(runtime)
    pod = template["spec"]
    main = pod["containers"][0]
    trainer = dict(job["spec"]["trainer"])
    env = [*(main.get("env") or ()), *trainer.pop("env", ())]
    for field, name in (
        ("image", "image"),
        ("command", "command"),
        ("args", "args"),
        ("resources", "resourcesPerNode"),
    ):
        if main.get(field):
            trainer[name] = main[field]
    if env:
        trainer["env"] = env
    spec = {**job["spec"], "runtimeRef": {"kind": "ClusterTrainingRuntime", "name": plan.stock}, "trainer": trainer}
    if patch := _patch(template):
        replicated = [{"name": NODE, "template": {"spec": {"template": patch}}}]
        patched = {"template": {"spec": {"replicatedJobs": replicated}}}
        spec[PATCHES] = [{"manager": MANAGER, "trainingRuntimeSpec": patched}]
    return {**job, "spec": spec}


def _lost(context: Context, plan: Plan, runtime: Json) -> Iterator[str]:
    """What a shipped runtime cannot say."""
    policies = plan.policy or {}
    if not plan.stock or len(plan.groups) != 1 or not plan.stock.startswith(tuple(policies)):
        yield "what there is no shipped runtime for"
        return
    if context.features.overrides != PATCHES:
        yield f"what a TrainJob of {context.options.target} cannot change of it"
        return
    if "podGroupPolicy" in runtime["spec"]:
        yield "the pod group"
    job_set = runtime["spec"]["template"]["spec"]
    yield from sorted(job_set.keys() - {"replicatedJobs"})
    job = job_set["replicatedJobs"][0]["template"]["spec"]
    if job.get("backoffLimit", DEFAULT_LIMIT) != DEFAULT_LIMIT:
        yield f"the limit of {job['backoffLimit']} restarts"
    yield from sorted(job.keys() - {"backoffLimit", "template"})
    pod = _template(runtime)["spec"]
    if pod.get("restartPolicy") != "OnFailure":
        yield f"restart policy {pod.get('restartPolicy')}"
    yield from sorted(pod.keys() - PATCHED - {"restartPolicy", "containers"})
    if len(pod["containers"]) > 1:
        yield "further containers"
    fields = sorted(pod["containers"][0].keys() - OF_TRAINER - OF_PATCH)
    yield from (f"{name} of the container" for name in fields)


def _template(runtime: Json) -> Json:
    template: Json = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    return template


def _patch(template: Json) -> Json:
    """The part of the pod template that stands in a patch."""
    pod = template["spec"]
    spec = {name: value for name, value in pod.items() if name in PATCHED}
    main = pod["containers"][0]
    if container := {name: main[name] for name in OF_PATCH if name in main}:
        spec["containers"] = [{"name": NODE, **container}]
    metadata = template.get("metadata")
    return {**({"metadata": metadata} if metadata else {}), **({"spec": spec} if spec else {})}
