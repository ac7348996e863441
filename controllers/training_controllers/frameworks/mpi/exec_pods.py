"""The pods of an MPIJob whose mpirun starts its processes through `kubectl exec`, as v1 has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from training_api.kinds import Job
from training_controllers.frameworks.mpi.objects import (
    CONFIG_VOLUME,
    DISCOVERY,
    EXECUTABLE,
    HOSTFILE,
    KUBEXEC,
    READABLE,
    config_path,
    config_volume,
    launcher_account,
    launcher_environment,
    mounted,
)
from training_controllers.model.pod_spec import PodSpec, env

KUBECTL_VOLUME: Final = {"name": "mpi-job-kubectl", "mountPath": "/opt/kube"}
DELIVERY_RESOURCES: Final = {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"}


def worker(job: Job, spec: PodSpec) -> PodSpec:
    """The worker as v1 makes it: only its first container is changed."""
    first = spec["containers"][0]
    waiting = {} if first.get("command") else {"command": ["sleep"], "args": ["365d"]}
    return {
        **spec,
        "containers": [{**first, **waiting, **mounted(first, CONFIG_VOLUME)}, *spec["containers"][1:]],
        "volumes": [*(spec.get("volumes") or ()), config_volume(job, {KUBEXEC: EXECUTABLE})],
    }


def launcher(job: Job, spec: PodSpec, delivery_image: str) -> PodSpec:
    """The launcher as v1 makes it."""
    first = spec["containers"][0]
    variables = launcher_environment(job, first, config_path(KUBEXEC))
    main = {
        **first,
        "env": [*(first.get("env") or ()), *variables],
        **mounted(first, KUBECTL_VOLUME, CONFIG_VOLUME),
    }
    files = {KUBEXEC: EXECUTABLE, HOSTFILE: READABLE, DISCOVERY: EXECUTABLE}
    return {
        **spec,
        "serviceAccountName": launcher_account(job),
        "initContainers": [*(spec.get("initContainers") or ()), _delivery(job, delivery_image)],
        "containers": [main, *spec["containers"][1:]],
        "volumes": [
            *(spec.get("volumes") or ()),
            {"name": KUBECTL_VOLUME["name"], "emptyDir": {}},
            config_volume(job, files),
        ],
    }


def _delivery(job: Job, image: str) -> Mapping[str, Any]:
    """The init container that brings kubectl into the launcher."""
    return {
        "name": "kubectl-delivery",
        "image": image,
        "imagePullPolicy": "IfNotPresent",
        "env": [env("TARGET_DIR", KUBECTL_VOLUME["mountPath"]), env("NAMESPACE", job.metadata.namespace)],
        "volumeMounts": [KUBECTL_VOLUME, CONFIG_VOLUME],
        "resources": {"limits": DELIVERY_RESOURCES, "requests": DELIVERY_RESOURCES},
    }
