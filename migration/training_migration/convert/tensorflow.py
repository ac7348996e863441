"""TFJob: v2 has no policy for it; each role is a group of pods, and TF_CONFIG is written out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from training_api.models.tensorflow import TFJobSpec
from training_controllers.frameworks.tensorflow import ALL_WORKERS, CHIEFS, PS, WORKER
from training_controllers.model.pod_spec import container_named, env, env_from_field, port_of
from training_migration.convert.compat import drop_overridden
from training_migration.convert.containers import checked_template, for_node, main_of, with_sidecars
from training_migration.convert.context import Context, Json
from training_migration.convert.lifecycle import Decides, job_limits, succeeds_with, with_restart_policy
from training_migration.convert.plan import Group, Plan
from training_migration.v2.names import INDEX_FIELD, NODE

EVALUATOR: Final = "Evaluator"
INDEX: Final = "TF_TASK_INDEX"
"""The variable with a pod's index, of which TF_CONFIG is made."""
PLACE: Final = f"$({INDEX})"


def plan(context: Context) -> Plan:
    """The chief decides; without one worker 0, or all workers if the success policy says so."""
    types = [name for name in context.job.job.replicas if context.count(name)]
    decider = next((name for name in (*CHIEFS, WORKER) if name in types), types[0])
    groups = [_group(context, name, decides=name == decider) for name in types]
    if _is_distributed(context):
        context.notes.add(
            "MIG206",
            f"TF_CONFIG names the hosts of TrainJob {context.name!r}, so the runtime serves no other.",
            "metadata.name",
            fixed=True,
        )
    if context.spec(TFJobSpec).enable_dynamic_worker:
        context.notes.add(
            "MIG205",
            "the number of workers cannot change while the job runs; each still knows only itself and the servers."
            " To change it, convert again with another number and create the TrainJob again.",
            "spec.enableDynamicWorker",
        )
    return Plan(
        framework="plainml",
        groups=groups,
        policy={"numNodes": context.count(decider)},
        succeeds_with=_succeeds_with(context, decider, types),
    )


def _succeeds_with(context: Context, decider: str, types: Sequence[str]) -> list[str]:
    """The roles that decide: parameter servers never end, and an evaluator of its own need not."""
    if decider not in (*CHIEFS, WORKER):
        return []
    program = _program(context, decider)
    ends = {name: name != PS and (name != EVALUATOR or _program(context, name) == program) for name in types}
    return [name.lower() for name in succeeds_with(context, decider, ends)]


def _program(context: Context, replica_type: str) -> Json:
    """What the main container of a role runs."""
    main = container_named(context.replica(replica_type).template, context.main_container(replica_type)) or {}
    return {field: main.get(field) for field in ("image", "command", "args")}


def _group(context: Context, replica_type: str, *, decides: bool) -> Group:
    """The pods of one role; those that decide are what v2 takes for the training."""
    path = context.path(replica_type, "template.spec.containers")
    template = checked_template(context, replica_type)
    main = context.main_container(replica_type)
    if decides:
        template, main = for_node(context, replica_type, template), NODE
    if _is_distributed(context):
        variables = [env_from_field(INDEX, INDEX_FIELD), env("TF_CONFIG", tf_config(context, replica_type))]
        drop_overridden(context, template, variables, path, only=main)
        container = main_of(template, main)
        container["env"] = [*(container.get("env") or ()), *variables]
    template = with_sidecars(context, replica_type, template, main)
    return Group(
        replica_type.lower(),
        with_restart_policy(context, replica_type, template),
        job_limits(context, replica_type, main=main, decides=_decides(context, replica_type)),
        context.count(replica_type),
        trains=decides,
    )


def _decides(context: Context, replica_type: str) -> Decides:
    """Worker 0 is enough where there is no chief and the success policy is not AllWorkers."""
    chief = any(context.count(name) for name in CHIEFS)
    if (
        replica_type != WORKER
        or chief
        or context.spec(TFJobSpec).success_policy == ALL_WORKERS
        or context.count(WORKER) == 1
    ):
        return Decides.ALL
    return Decides.FIRST


def tf_config(context: Context, replica_type: str) -> str:
    """The value for the pods of a role, with a place for their index."""
    task = {"type": replica_type.lower(), "index": "INDEX"}
    if context.spec(TFJobSpec).enable_dynamic_worker:
        config: dict[str, Any] = {"cluster": _sparse_cluster(context, replica_type), "task": task}
    else:
        types = sorted(context.job.job.replicas, key=str.lower)
        cluster = {name.lower(): _endpoints(context, name) for name in types}
        config = {"cluster": cluster, "task": task, "environment": "cloud"}
    return json.dumps(config, separators=(",", ":")).replace('"INDEX"', PLACE)


def _sparse_cluster(context: Context, replica_type: str) -> Json:
    """What a pod of a job with dynamic workers knows: itself, and if it is a worker all parameter servers."""
    own = _endpoint(context, replica_type, PLACE)
    if replica_type == WORKER:
        return {"worker": {PLACE: own}, "ps": _endpoints(context, PS) if PS in context.job.job.replicas else None}
    return {"worker": {}, "ps": [own] if replica_type == PS else []}


def _endpoints(context: Context, replica_type: str) -> list[str]:
    template = _endpoint(context, replica_type, PLACE)
    return [template.replace(PLACE, str(index)) for index in range(context.count(replica_type))]


def _endpoint(context: Context, replica_type: str, index: object) -> str:
    """Host and port of a pod; the namespace is in it as in v1, where it is known."""
    info = context.job.job.info
    declared = port_of(context.job.job, replica_type)
    host = f"{context.name}-{replica_type.lower()}-0-{index}.{context.name}"
    service = f".{context.namespace}.svc" if context.namespace else ""
    return f"{host}{service}:{info.port if declared is None else declared}"


def _is_distributed(context: Context) -> bool:
    """Whether v1 sets TF_CONFIG."""
    return sum(context.count(name) for name in context.job.job.info.replica_types) != 1
