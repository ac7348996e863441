"""Jobs of v1 as they could be written, though none is: every field that a conversion looks at, by chance."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

from e2e.harness.jobs import CONTAINERS, REPLICAS

Object = dict[str, Any]
T = TypeVar("T")

TYPES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "PyTorchJob": (("Master",), ("Worker",)),
    "TFJob": (("Chief", "Evaluator"), ("Worker", "PS")),
    "XGBoostJob": (("Master",), ("Worker",)),
    "MPIJob": (("Launcher",), ("Worker",)),
    "PaddleJob": (("Master",), ("Worker",)),
    "JAXJob": ((), ("Worker",)),
}
"""Replica types of at most one replica, others."""
ALWAYS = {"XGBoostJob": ("Master",), "MPIJob": ("Launcher",)}
"""Replica types without which v1 rejects a job."""
COMMANDS: tuple[list[str], ...] = (
    ["python", "train.py"],
    ["torchrun", "--nproc-per-node=2", "train.py"],
    ["sh", "-c", "exec python train.py --rank=$RANK --peers=$(WORLD_SIZE)"],
    ["mpirun", "-np", "2", "python", "train.py"],
)


def jobs(seed: int, count: int) -> list[Object]:
    """So many jobs, always the same for one seed; each has a name of its own."""
    rng = Random(seed)
    kinds = list(TYPES)
    return [_Job(rng, kinds[number % len(kinds)], f"made-{number}").made() for number in range(count)]


class _Job:
    """One job in the making."""

    def __init__(self, rng: Random, kind: str, name: str) -> None:
        self._rng, self._kind, self._name = rng, kind, name
        self._single, self._many = TYPES[kind]

    def made(self) -> Object:
        """The job."""
        alike = self._chance(0.7)
        template = self._template()
        replicas: Object = {}
        for each in (*self._single, *self._many):
            if each in ALWAYS.get(self._kind, ()) or self._chance(0.8) or (each == "Worker" and not replicas):
                count = 1 if each in self._single else self._rng.randint(1, 3)
                pods = template if alike else self._template()
                replicas[each] = {"replicas": count, "template": pods} | self._maybe(
                    restartPolicy=["Always", "OnFailure", "Never", "ExitCode"]
                )
        spec: Object = {REPLICAS[self._kind]: replicas, "runPolicy": self._run_policy()}
        if self._kind == "PyTorchJob":
            spec |= self._maybe(nprocPerNode=["auto", "cpu", "gpu", "2"])
        if self._kind == "PyTorchJob" and "Master" not in replicas and self._chance(0.5):
            spec["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 4, "rdzvBackend": "c10d", "maxRestarts": 3}
        if self._kind == "MPIJob":
            spec |= self._maybe(slotsPerWorker=[1, 2, 4])
        if self._kind == "TFJob":
            spec |= self._maybe(successPolicy=["", "AllWorkers"], enableDynamicWorker=[True])
        metadata = {"name": self._name, "namespace": "team-a"} | self._maybe(labels=[{"team": "a"}])
        return {"apiVersion": "kubeflow.org/v1", "kind": self._kind, "metadata": metadata, "spec": spec}

    def _run_policy(self) -> Object:
        return self._maybe(
            backoffLimit=[0, 3],
            activeDeadlineSeconds=[600],
            ttlSecondsAfterFinished=[60],
            cleanPodPolicy=["None", "Running", "All"],
            schedulingPolicy=[{"queue": "gold"}, {"minAvailable": 2}, {"scheduleTimeoutSeconds": 30}],
        )

    def _template(self) -> Object:
        main = self._main()
        containers = [main]
        if self._chance(0.3):
            containers.insert(self._rng.randint(0, 1), {"name": "side", "image": "example.com/side:1", **self._part()})
        spec: Object = {"containers": containers}
        spec["volumes"] = [
            {
                "name": each["name"],
                **self._one([{"emptyDir": {}}, {"emptyDir": {"medium": "Memory", "sizeLimit": "1024Mi"}}]),
            }
            for container in containers
            for each in container.get("volumeMounts", [])
        ]
        if self._chance(0.3):
            spec["initContainers"] = [{"name": "first", "image": "example.com/first:1", **self._part()}]
            spec["initContainers"][0].pop("volumeMounts", None)
        spec |= self._maybe(
            nodeSelector=[{"disk": "fast"}],
            tolerations=[[{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}]],
            hostNetwork=[True],
            securityContext=[{"runAsUser": 1000, "fsGroup": 1000}],
            terminationGracePeriodSeconds=[5],
            serviceAccountName=["trainer"],
            schedulerName=["default-scheduler", "other"],
            priorityClassName=["system-node-critical"],
            imagePullSecrets=[[{"name": "registry"}]],
            affinity=[
                {
                    "podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "a"}}}
                        ]
                    }
                }
            ],
        )
        metadata = self._maybe(labels=[{"app": "a"}], annotations=[{"sidecar.istio.io/inject": "false"}])
        return {"metadata": metadata, "spec": spec} if metadata else {"spec": spec}

    def _main(self) -> Object:
        container = {"name": CONTAINERS[self._kind], "image": "example.com/train:1", **self._part()}
        container |= self._maybe(command=COMMANDS, args=[["--epochs=1"], ["$(LR)", "b c", "ü"]])
        container |= self._maybe(
            livenessProbe=[{"exec": {"command": ["true"]}}, {"httpGet": {"port": 8080}, "periodSeconds": 5}],
            lifecycle=[{"preStop": {"exec": {"command": ["sync"]}}}],
            workingDir=["/app"],
            imagePullPolicy=["Always"],
        )
        if self._chance(0.5):
            ports = [{"name": f"{self._kind.lower()}-port", "containerPort": 23457}, {"containerPort": 8080}]
            container["ports"] = self._rng.sample(ports, self._rng.randint(1, 2))
        return container

    def _part(self) -> Object:
        """What any container may have."""
        resources = [
            {"requests": {"cpu": "1500m", "memory": "1024Mi"}},
            {"limits": {"cpu": 2, "memory": "2G"}},
            {"limits": {"nvidia.com/gpu": 2}},
            {"requests": {"cpu": "0.5"}, "limits": {"cpu": "1", "nvidia.com/mig-1g.5gb": "1"}},
        ]
        env = [
            {"name": "LR", "value": "0.1"},
            {"name": "EMPTY", "value": ""},
            {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "MASTER_ADDR", "value": "elsewhere"},
            {"name": "CPUS", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "a", "optional": True}}},
        ]
        part = self._maybe(resources=resources, securityContext=[{"runAsNonRoot": True, "runAsUser": 1}])
        if self._chance(0.5):
            part["env"] = self._rng.sample(env, self._rng.randint(1, 4))
        if self._chance(0.3):
            name = f"v{self._rng.randint(0, 10**6)}"
            part["volumeMounts"] = [{"name": name, "mountPath": "/data"}]
        return part

    def _chance(self, share: float) -> bool:
        return self._rng.random() < share

    def _one(self, values: Sequence[T]) -> T:
        return values[self._rng.randrange(len(values))]

    def _maybe(self, **fields: Sequence[Any]) -> Object:
        """Some of the fields, each with one of its values."""
        return {name: self._one(values) for name, values in fields.items() if self._chance(0.35)}
