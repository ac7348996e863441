"""What the elastic policies of PyTorchJob and PaddleJob have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import Field

from training_api.models.common import ApiModel, Int32, ReplicaCount, ReplicaSpecs

Metric = Annotated[dict[str, Any], Field(json_schema_extra={"upstream": "MetricSpec"})]
"""One metric of an autoscaler as stored."""


class ElasticPolicy(ApiModel):
    """Bounds for the number of workers."""

    min_replicas: ReplicaCount | None = None
    """Smallest number of workers. Absent means maxReplicas, or the number of workers if that is absent too."""
    max_replicas: ReplicaCount | None = None
    """Largest number of workers. Absent means minReplicas, or the number of workers if that is absent too."""
    max_restarts: Int32 | None = None
    """How often the launcher inside the pods may restart its processes."""
    metrics: tuple[Metric, ...] | None = None
    """Metrics by which the number of workers is to be chosen between the bounds."""

    @property
    def bounds(self) -> Mapping[str, int | None]:
        """Both bounds by their paths below `spec`."""
        return {
            "elasticPolicy.minReplicas": self.min_replicas,
            "elasticPolicy.maxReplicas": self.max_replicas,
        }

    def with_both_bounds(self, replicas: ReplicaSpecs) -> Self:
        """Fill an absent bound from the other one, or both from the number of workers, if there are workers."""
        workers = replicas["Worker"].replicas if "Worker" in replicas else None
        bounds = [bound for bound in (self.min_replicas, self.max_replicas, workers) if bound is not None]
        if not bounds:
            return self
        return self.model_copy(
            update={
                "min_replicas": bounds[0] if self.min_replicas is None else self.min_replicas,
                "max_replicas": bounds[0] if self.max_replicas is None else self.max_replicas,
            }
        )
