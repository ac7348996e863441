"""The examples of v1 as jobs, and the objects that v1's rules make of them.

Each YAML file holds one framework: the field values of v1's jobs, and for each pod what the rules of the framework add
to its template, written down by hand. What all frameworks share (names, labels, owners, services) is spelled out here.
Nothing here asks the operator's code.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

Object = dict[str, Any]

FOLDER = Path(__file__).parent
LABEL: Final = "training.kubeflow.org/"
KINDS: Final = {
    "pytorch": ("PyTorchJob", "pytorchReplicaSpecs", "pytorch"),
    "tensorflow": ("TFJob", "tfReplicaSpecs", "tensorflow"),
    "xgboost": ("XGBoostJob", "xgbReplicaSpecs", "xgboost"),
    "mpi": ("MPIJob", "mpiReplicaSpecs", ""),
    "paddlepaddle": ("PaddleJob", "paddleReplicaSpecs", "paddle"),
    "jax": ("JAXJob", "jaxReplicaSpecs", "jax"),
}
"""Folder of the examples: kind, replica map, name of the main container."""
INIT_CONTAINERS: Final = {
    "wait-for-master": {
        "name": "init-pytorch",
        "image": "alpine:3.10",
        "imagePullPolicy": "IfNotPresent",
        "resources": {"limits": {"cpu": "100m", "memory": "20Mi"}, "requests": {"cpu": "50m", "memory": "10Mi"}},
        "command": ["sh", "-c", "(a script)"],
    },
    "kubectl-delivery": {
        "name": "kubectl-delivery",
        "image": "ghcr.io/kubeflow/training-v1/kubectl-delivery:latest",
        "imagePullPolicy": "IfNotPresent",
        "env": [{"name": "TARGET_DIR", "value": "/opt/kube"}, {"name": "NAMESPACE", "value": "<ns>"}],
        "volumeMounts": [
            {"name": "mpi-job-kubectl", "mountPath": "/opt/kube"},
            {"name": "mpi-job-config", "mountPath": "/etc/mpi"},
        ],
        "resources": {
            "limits": {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"},
            "requests": {"cpu": "100m", "memory": "512Mi", "ephemeral-storage": "5Gi"},
        },
    },
}


@dataclass(frozen=True)
class Example:
    """One job of v1's examples."""

    folder: str
    name: str
    namespace: str
    job: Object
    """As a user applies it."""
    _pods: Object
    _companions: Object

    def __str__(self) -> str:
        return f"{self.folder}/{self.name}"

    @property
    def collection(self) -> str:
        """The path of the jobs of its kind."""
        return f"/apis/kubeflow.org/v1/namespaces/{self.namespace}/{self.job['kind'].lower()}s"

    @property
    def job_name(self) -> str:
        """The name of the job."""
        return str(self.job["metadata"]["name"])

    def objects(self, uid: str) -> dict[str, list[Object]]:
        """All objects of the job with this uid, by path of their collection."""
        core, root = f"/api/v1/namespaces/{self.namespace}", f"/namespaces/{self.namespace}"
        found = {f"{core}/pods": [*self._made_pods(uid)], f"{core}/services": [*self._services(uid)]}
        paths = {
            "horizontalpodautoscalers": f"/apis/autoscaling/v2{root}/horizontalpodautoscalers",
            "configmaps": f"{core}/configmaps",
            "serviceaccounts": f"{core}/serviceaccounts",
            "roles": f"/apis/rbac.authorization.k8s.io/v1{root}/roles",
            "rolebindings": f"/apis/rbac.authorization.k8s.io/v1{root}/rolebindings",
        }
        labels = {"labels": {"app": self.job_name}} if self.job["kind"] == "MPIJob" else {}
        for sort, path in paths.items():
            found[path] = [
                {"metadata": {"name": name, **labels, "ownerReferences": self._owners(uid)}, **fields}
                for name, fields in self._companions.get(sort, {}).items()
            ]
        return found

    def _owners(self, uid: str) -> list[Object]:
        kind, name = self.job["kind"], self.job_name
        owner = {"apiVersion": "kubeflow.org/v1", "kind": kind, "name": name, "uid": uid}
        return [{**owner, "controller": True, "blockOwnerDeletion": True}]

    def _identity(self, suffix: str) -> Object:
        replica_type, _, index = suffix.partition("-")
        return {
            f"{LABEL}operator-name": f"{self.job['kind'].lower()}-controller",
            f"{LABEL}job-name": self.job_name,
            f"{LABEL}replica-type": replica_type,
            **({f"{LABEL}replica-index": index} if index else {}),
        }

    def _services(self, uid: str) -> Iterator[Object]:
        for suffix, added in self._pods.items() if self.job["kind"] != "MPIJob" else ():
            labels = self._identity(suffix)
            yield {
                "metadata": {
                    "name": f"{self.job_name}-{suffix}",
                    "labels": labels,
                    "ownerReferences": self._owners(uid),
                },
                "spec": {
                    "clusterIP": "None",
                    "selector": labels,
                    "ports": [{"name": name, "port": number} for name, number in added["ports"].items()],
                    "publishNotReadyAddresses": True,  # K-31
                },
            }

    def _made_pods(self, uid: str) -> Iterator[Object]:
        for suffix, added in self._pods.items():
            labels = self._identity(suffix) | ({f"{LABEL}job-role": added["role"]} if added.get("role") else {})
            template = self._template(suffix)
            meta = template.get("metadata", {})
            yield {
                "metadata": {
                    "name": f"{self.job_name}-{suffix}",
                    "labels": {**meta.get("labels", {}), **labels},
                    "annotations": meta.get("annotations", {}),
                    "ownerReferences": self._owners(uid),
                },
                "spec": self._completed(template["spec"], added),
            }

    def _template(self, suffix: str) -> Object:
        replicas = self.job["spec"][KINDS[self.folder][1]]
        by_name = {name.lower(): spec["template"] for name, spec in replicas.items()}
        return copy.deepcopy(by_name[suffix.partition("-")[0]])

    def _completed(self, spec: Object, added: Object) -> Object:
        (container,) = spec["containers"]
        container["env"] = [*container.get("env", ()), *map(_variable, added["env"])]
        declared = {port["name"] for port in container.get("ports", ())}
        ports = [{"name": name, "containerPort": number} for name, number in added.get("ports", {}).items()]
        container["ports"] = [*container.get("ports", ()), *(each for each in ports if each["name"] not in declared)]
        container["volumeMounts"] = [*container.get("volumeMounts", ()), *added.get("mounts", ())]
        container.update(added.get("command", {}))
        spec["volumes"] = [*spec.get("volumes", ()), *added.get("volumes", ())]
        spec["restartPolicy"] = added["restart"]
        if "init" in added:
            spec["initContainers"] = [_filled(INIT_CONTAINERS[added["init"]], {"<ns>": self.namespace})]
        if "service_account" in added:
            spec["serviceAccountName"] = added["service_account"]
        return spec


def examples(namespaces: Iterator[str]) -> Iterator[Example]:
    """All examples, each in a namespace of its own: some have the same name."""
    for folder, (kind, _, _) in KINDS.items():
        for entry in yaml.load((FOLDER / f"{folder}.yaml").read_text(), yaml.CSafeLoader):
            namespace = next(namespaces)
            job = {"apiVersion": "kubeflow.org/v1", "kind": kind, **entry["job"]}
            values = {f"<{name}>": text for name, text in entry.get("values", {}).items()}
            values |= {"<job>": job["metadata"]["name"], "<ns>": namespace}
            pods, companions = (_filled(entry.get(part, {}), values) for part in ("pods", "companions"))
            yield Example(folder, entry["example"], namespace, job, pods, companions)


def _filled(value: Any, values: dict[str, str]) -> Any:
    """The value with its placeholders replaced; those of longer texts first, as they hold others."""
    if isinstance(value, dict):
        return {_filled(key, values): _filled(each, values) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled(each, values) for each in value]
    if isinstance(value, str):
        for placeholder, text in values.items():
            value = value.replace(placeholder, text)
    return value


def _variable(text: str) -> Object:
    """`NAME=value`, or `NAME<field` for a field of the pod."""
    name, equals, value = text.partition("=")
    if not equals:
        name, _, field = text.partition("<")
        return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": field}}}
    return {"name": name, "value": value}
