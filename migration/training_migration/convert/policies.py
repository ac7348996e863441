"""The policy of a runtime, as far as the target has it."""

from __future__ import annotations

from training_migration.convert.context import Context, Json


def ml_policy(context: Context, name: str, nodes: int) -> Json:
    """`mlPolicy` with the policy of this name, or without one for a target that does not have it."""
    if name in context.features.policies:
        return {"numNodes": nodes, name: {}}
    context.notes.add(
        "MIG002",
        f"Trainer {context.options.target} has no policy {name}: a plain runtime with v1's variables does the same.",
        fixed=True,
    )
    return {"numNodes": nodes}
