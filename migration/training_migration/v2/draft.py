"""A JobSet in the making: what is passed from step to step."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from training_api.quantity import Amount
from training_migration.targets import Features
from training_migration.v2.denied import Denied
from training_migration.v2.identity import owned_by
from training_migration.v2.names import ANCESTOR, NODE, TRAINER, TRAINER_API

Json = dict[str, Any]


@dataclass(slots=True)
class Role:
    """A replicated job of the template, and how many pods each of its Jobs gets."""

    replicated_job: Json
    count: int
    requests: Mapping[str, Amount]
    """What one pod requests, as the group of pods reckons it."""

    @property
    def name(self) -> str:
        """Of the replicated job."""
        name: str = self.replicated_job["name"]
        return name

    @property
    def ancestor(self) -> str:
        """The block of the TrainJob that it belongs to; empty for none."""
        return ancestor_of(self.replicated_job)

    @property
    def pod_spec(self) -> Json:
        """Of the pod template."""
        spec: Json = self.replicated_job["template"]["spec"]["template"]["spec"]
        return spec

    def container(self, name: str, *, also_init: bool = False) -> Json | None:
        """The container of this name."""
        lists = ("containers", "initContainers") if also_init else ("containers",)
        return next((each for kind in lists for each in self.pod_spec.get(kind, ()) if each["name"] == name), None)


@dataclass(slots=True)
class Draft:
    """A TrainJob and its runtime on the way to a JobSet; the steps change it in place."""

    name: str
    namespace: str
    spec: Json
    """Of the TrainJob, with the API's defaults."""
    runtime: Json
    ml_policy: Json | None
    """Of the runtime, with the API's defaults."""
    pod_group_policy: Json
    jobset: Json
    """Spec of the JobSet."""
    roles: list[Role]
    features: Features
    labels: dict[str, str]
    """Of the JobSet."""
    annotations: dict[str, str]
    fixed_keys: bool
    """Whether keys are always the same for the same name."""
    pod_labels: dict[str, str] = field(default_factory=dict)
    pod_annotations: dict[str, str] = field(default_factory=dict)

    @property
    def trainer(self) -> Json | None:
        """The TrainJob's block; an absent one is not the same as an empty one."""
        return self.spec.get("trainer")

    def policy(self, name: str) -> Json | None:
        """The runtime's policy of this name."""
        return (self.ml_policy or {}).get(name)

    @property
    def launcher_is_node(self) -> bool:
        """Whether the launcher of an MPI runtime trains as well."""
        return bool((self.policy("mpi") or {}).get("runLauncherAsNode"))

    @property
    def nodes_get_trainer(self) -> bool:
        """Whether the nodes of an MPI runtime get the trainer block's variables."""
        return self.launcher_is_node and self.features.nodes_get_trainer

    def role(self, name: str) -> Role | None:
        """The role of this name."""
        return next((each for each in self.roles if each.name == name), None)

    def training_role(self) -> Role | None:
        """The first role that is labelled for the trainer block."""
        return next((each for each in self.roles if each.ancestor == TRAINER), None)

    def training_container(self) -> Json | None:
        """The container that policies change; None also where the TrainJob has no trainer block."""
        role = self.training_role()
        return role.container(NODE) if role is not None and self.trainer is not None else None

    def count_nodes(self) -> int:
        """Take over the TrainJob's number of nodes, and return how many there are."""
        role = self.training_role()
        if role is None:
            return 1
        nodes = (self.trainer or {}).get("numNodes")
        if nodes is not None:
            role.count = nodes
        return role.count

    @property
    def subdomain(self) -> str:
        """Of the pods, and name of their Service."""
        return (self.jobset.get("network") or {}).get("subdomain") or self.name

    def endpoints(self, role: Role) -> Iterable[str]:
        """Host names of the role's pods within the namespace, in order."""
        for replica in range(role.replicated_job.get("replicas", 1)):
            for index in range(role.count):
                yield f"{self.name}-{role.name}-{replica}-{index}.{self.subdomain}"

    def owned(self, api_version: str, kind: str, name: str, **content: Any) -> Json:
        """An object that belongs to the TrainJob."""
        owner = owned_by(TRAINER_API, "TrainJob", self.namespace, self.name)
        metadata = {"name": name, "namespace": self.namespace, "ownerReferences": owner}
        return {"apiVersion": api_version, "kind": kind, "metadata": metadata, **content}

    def reject_variables(self, reserved: Iterable[str]) -> None:
        """Reject variables of the trainer block that a policy sets itself."""
        names = {each["name"] for each in (self.trainer or {}).get("env") or ()}
        if taken := sorted(names & set(reserved)):
            raise Denied("spec.trainer.env", f"{', '.join(taken)} is set by the runtime's policy and must not be given")


def ancestor_of(replicated_job: Json) -> str:
    """The value of the label of the Job's template."""
    metadata = replicated_job["template"].get("metadata") or {}
    return (metadata.get("labels") or {}).get(ANCESTOR) or ""


def put(items: list[Json], new: Iterable[Json], same: Callable[[Json, Json], bool]) -> None:
    """Replace the first item that is the same, or append, one after the other."""
    for item in new:
        for position, old in enumerate(items):
            if same(old, item):
                items[position] = item
                break
        else:
            items.append(item)


def put_variables(container: Json, variables: Iterable[Json]) -> None:
    """Set environment variables by name: known ones keep their place."""
    put(container.setdefault("env", []), variables, lambda old, new: bool(old["name"] == new["name"]))


def put_ports(container: Json, ports: Iterable[Json], features: Features) -> None:
    """Add ports; before kubeflow/trainer 3926 those of one number or name were the same, even without a name."""

    def same(old: Json, new: Json) -> bool:
        one_number, one_name = old["containerPort"] == new["containerPort"], old.get("name") == new.get("name")
        if features.ports_clash:
            return one_number or one_name
        one_protocol = old.get("protocol", "TCP") == new.get("protocol", "TCP")
        return (one_number and one_protocol) or (one_name and "name" in new)

    put(container.setdefault("ports", []), ports, same)
