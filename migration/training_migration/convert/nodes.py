"""One group of equal nodes for a policy of v2: what PyTorchJob, XGBoostJob, PaddleJob and JAXJob have in common."""

from __future__ import annotations

from collections.abc import Sequence

from training_controllers.model.plan import Slot
from training_migration.convert.compat import drop_overridden, give_sidecars, slots_of
from training_migration.convert.containers import for_node, with_sidecars
from training_migration.convert.context import Context, Json
from training_migration.convert.lifecycle import Decides, job_limits, with_restart_policy
from training_migration.convert.plan import Group
from training_migration.v2.names import NODE


def hosts_of(context: Context, replica_types: Sequence[str]) -> dict[Slot, str]:
    """The replicas of these types, in the order of their ranks -> the host names of the nodes that they become."""
    return {slot: context.host(NODE, index) for index, slot in enumerate(slots_of(context, *replica_types))}


def node_template(
    context: Context, replica_type: str, template: Json, variables: Sequence[Json], for_sidecars: Sequence[Json]
) -> Json:
    """The pod template of nodes: v1's `variables` neither doubled nor, in sidecars that read them, missing."""
    path = context.path(replica_type, "template.spec.containers")
    template = for_node(context, replica_type, template)
    drop_overridden(context, template, variables, path)
    give_sidecars(context, template, for_sidecars, path)
    template = with_sidecars(context, replica_type, template, NODE)
    return with_restart_policy(context, replica_type, template)


def node_group(
    context: Context, replica_type: str, template: Json, count: int, decides: Decides = Decides.ALL
) -> Group:
    """The group of all nodes; `replica_type` is the one whose restart policy applies."""
    return Group(NODE, template, job_limits(context, replica_type, decides=decides), count, trains=True)


def note_ranks(context: Context, master: str, worker: str) -> None:
    """Say which node each replica becomes, where that is not the same number."""
    if context.count(master) and context.count(worker):
        context.notes.add("MIG202", "worker i is node i + 1; the master is node 0.", context.path(worker))
