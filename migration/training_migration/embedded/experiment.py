"""Katib's Experiments: the job that trials are made of, with what Katib looks for in it.

A TrainJob needs a runtime, which all trials share; what trials differ in has to stand in the TrainJob, because Katib
fills in its parameters nowhere else.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from typing import Any, Final

from training_migration.convert.conversion import Conversion
from training_migration.embedded.find import Found
from training_migration.embedded.left import Left
from training_migration.v2.names import NODE

Json = dict[str, Any]

NOTE: Final = (
    "the Experiment makes TrainJobs now: before 0.19 Katib needs the flag"
    " `--trial-resources=TrainJob.v1alpha1.trainer.kubeflow.org` and the permission for them, and its collector of"
    " metrics in files may not end (kubeflow/katib#2616)."
)
SUCCEEDED: Final = 'status.conditions.#(type=="Complete")#|#(status=="True")#'
FAILED: Final = 'status.conditions.#(type=="Failed")#|#(status=="True")#'
INDEX_LABEL: Final = "batch.kubernetes.io/job-completion-index"
GROUP_LABEL: Final = "jobset.sigs.k8s.io/replicatedjob-name"
_V1_LABELS: Final = "training.kubeflow.org/"
_TRIAL_SPEC: Final = "spec.trialTemplate.trialSpec"
_PLACEHOLDER: Final = "${trial"
RANDOM: Final = "-00000000"
"""As long as what Katib puts behind the name of an experiment."""
_NAME_OF_TRIAL: Final = "${trialSpec.Name}"


def converted(
    experiment: Json, jobs: Sequence[Found], conversion_of: Callable[[Json], Conversion]
) -> tuple[list[Json], list[Conversion]]:
    """The runtime and the Experiment of TrainJobs, and the conversion of the job of a trial."""
    if [each.path for each in jobs] != [_TRIAL_SPEC]:
        raise Left(f"jobs of v1 stand elsewhere than in `{_TRIAL_SPEC}`.")
    result = copy.deepcopy(experiment)
    result.pop("status", None)
    trial = result["spec"]["trialTemplate"]
    names = {key: value for key in ("namespace",) if (value := (result.get("metadata") or {}).get(key))}
    name = str((result.get("metadata") or {}).get("name") or "experiment")
    marker = name + RANDOM
    job = trial["trialSpec"]
    conversion = conversion_of({**job, "metadata": {**(job.get("metadata") or {}), **names, "name": marker}})
    runtime = copy.deepcopy(conversion.runtime) or {}
    train_job = copy.deepcopy(conversion.train_job)
    _move(runtime, train_job)
    runtime["metadata"]["name"] = f"{name}-v1"
    train_job["spec"]["runtimeRef"]["name"] = f"{name}-v1"
    beside = json.dumps([runtime, *conversion.others])
    if _PLACEHOLDER in beside or marker in beside:
        what = "the trial's parameters" if _PLACEHOLDER in beside else "the trial's name"
        raise Left(f"the runtime, which all trials share, would have to hold {what}; Katib fills in only the TrainJob.")
    for given_by_katib in ("name", "namespace"):
        train_job["metadata"].pop(given_by_katib, None)
    if not train_job["metadata"]:
        del train_job["metadata"]
    trial["trialSpec"] = _with_name(train_job, marker, trial)
    trial["primaryPodLabels"] = _labels(trial.get("primaryPodLabels") or {}, conversion)
    trial["successCondition"], trial["failureCondition"] = SUCCEEDED, FAILED
    if trial.get("primaryContainerName") == _that_trains(conversion):
        trial["primaryContainerName"] = NODE
    return [*conversion.others, runtime, result], [conversion]


def _move(runtime: Json, train_job: Json) -> None:
    """Move what Katib fills in from the container of the runtime to the TrainJob."""
    trainer = train_job["spec"].setdefault("trainer", {})
    for group in runtime["spec"]["template"]["spec"]["replicatedJobs"]:
        if group["name"] not in (NODE, "launcher"):
            continue
        for container in group["template"]["spec"]["template"]["spec"]["containers"]:
            if container["name"] == NODE:
                _move_fields(container, trainer)
    if not trainer:
        del train_job["spec"]["trainer"]


def _move_fields(container: Json, trainer: Json) -> None:
    # Both together: with one of them from each object v2 would run something else.
    for fields in (("image",), ("command", "args")):
        if any(_PLACEHOLDER in json.dumps(container.get(field)) for field in fields):
            trainer |= {field: container.pop(field) for field in fields if field in container}
    if _PLACEHOLDER in json.dumps(container.get("resources")):
        trainer["resourcesPerNode"] = container.pop("resources")
    moved = [each for each in container.get("env") or () if _PLACEHOLDER in json.dumps(each)]
    if moved:
        container["env"] = [each for each in container["env"] if each not in moved]
        trainer["env"] = [*moved, *(trainer.get("env") or ())]


def _with_name(train_job: Json, marker: str, trial: Json) -> Json:
    """The TrainJob with Katib's parameter for the name of the trial, where it holds names of hosts."""
    text = json.dumps(train_job)
    if marker not in text:
        return train_job
    parameters = trial.setdefault("trialParameters", [])
    known = next((each["name"] for each in parameters if each.get("reference") == _NAME_OF_TRIAL), "")
    if not known:
        known = "trialName" if all(each["name"] != "trialName" for each in parameters) else "nameOfTrial"
        parameters.append({"name": known, "reference": _NAME_OF_TRIAL})
    named: Json = json.loads(text.replace(marker, f"${{trialParameters.{known}}}"))
    return named


def _that_trains(conversion: Conversion) -> str:
    """The container of v1 whose metrics count: that of the launcher, or of any replica, which have one name."""
    job = conversion.job.job
    return job.main_container("Launcher" if "Launcher" in job.replicas else next(iter(job.replicas)))


def _labels(labels: Json, conversion: Conversion) -> Json:
    """Labels of the pod whose metrics count: rank 0, unless v1's labels name another worker.

    Of the others those of templates are kept: the rest are of operators of v1, and no pod of v2 has them.
    """
    of_templates = {
        key
        for replica in conversion.job.job.replicas.values()
        for key in (replica.template.get("metadata") or {}).get("labels") or {}
    }
    kept = {key: value for key, value in labels.items() if key in of_templates}
    v1 = {str(key).removeprefix(_V1_LABELS): str(value) for key, value in labels.items()}
    masters = sum(1 for name in conversion.job.job.replicas if name in ("Master", "Chief"))
    worker = v1.get("replica-type", "").lower() == "worker"
    index = int(v1.get("replica-index", "0")) + (masters if worker else 0)
    launched = any(name == "Launcher" for name in conversion.job.job.replicas)
    return {**kept, GROUP_LABEL: "launcher" if launched else NODE, INDEX_LABEL: "0" if launched else str(index)}
