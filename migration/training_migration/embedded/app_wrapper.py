"""AppWrappers of CodeFlare: each component with a job of v1 becomes one with its runtime and one with its TrainJob."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from training_migration.convert.conversion import Conversion
from training_migration.embedded.find import Found
from training_migration.embedded.left import Left

Json = dict[str, Any]

NOTE: Final = (
    "the AppWrapper makes a TrainingRuntime and a TrainJob now: its controller needs the permission for both, and "
    "counts the pods by the runtime."
)
_POD_TEMPLATE: Final = "template.spec.template.spec.replicatedJobs[{at}].template.spec.template"


def converted(
    wrapper: Json, jobs: Sequence[Found], conversion_of: Callable[[Json], Conversion]
) -> tuple[list[Json], list[Conversion]]:
    """The AppWrapper with TrainJobs, and the conversions of its jobs."""
    result = copy.deepcopy(wrapper)
    result.pop("status", None)
    components, conversions = [], []
    for at, component in enumerate(result["spec"].get("components") or ()):
        if f"spec.components[{at}].template" not in {each.path for each in jobs}:
            components.append(component)
            continue
        conversion = conversion_of(component["template"])
        conversions.append(conversion)
        components += _components(component, conversion)
    if len(conversions) != len(jobs):
        raise Left("jobs of v1 stand elsewhere than in `spec.components[].template`.")
    result["spec"]["components"] = components
    return [result], conversions


def _components(component: Json, conversion: Conversion) -> Iterator[Json]:
    """The runtime with the pods that it leads to, so that quota is reckoned for them, and then the TrainJob."""
    kept = {key: value for key, value in component.items() if key not in ("template", "podSets", "podSetInfos")}
    yield from ({"template": each} for each in conversion.others)
    if conversion.runtime is not None:
        yield {"podSets": list(_pod_sets(conversion)), "template": conversion.runtime}
    yield {**kept, "template": conversion.train_job}


def _pod_sets(conversion: Conversion) -> Iterator[Json]:
    nodes = (conversion.train_job["spec"].get("trainer") or {}).get("numNodes")
    assert conversion.runtime is not None
    for at, job in enumerate(conversion.runtime["spec"]["template"]["spec"]["replicatedJobs"]):
        spec = job["template"]["spec"]
        pods = job.get("replicas", 1) * spec.get("parallelism", 1)
        count = nodes if job["name"] == "node" and nodes else pods
        yield {"replicas": count, "path": _POD_TEMPLATE.format(at=at)}
