"""Jobs of all kinds, and a script for their replicas that says how the jobs end whatever happens meanwhile."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

from e2e.harness.client import Object
from e2e.harness.jobs import CONTAINERS, REPLICAS
from e2e.support.every_kind import lead, led

from training_api.registry import KINDS

Slot = tuple[str, str, int]
"""Name of the job, replica type in lower case, index."""
LONGEST_RUN = 0.6
"""Seconds for which an attempt of a replica runs at most."""
CPU = {"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}
RETRYABLE = (137, 143, 130)


@dataclass(frozen=True)
class Scripted:
    """A job, and the exit codes of its replicas' first attempts; what follows them succeeds."""

    body: Object
    exits: dict[Slot, list[int]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The job's name; unique, whatever the kind."""
        return str(self.body["metadata"]["name"])

    @property
    def kind(self) -> str:
        """The job's kind."""
        return str(self.body["kind"])

    @property
    def lead(self) -> Slot:
        """The replica whose success ends the job; it waits for the others."""
        return self.name, lead(self.kind).lower(), 0

    @property
    def slots(self) -> list[Slot]:
        """All replicas."""
        specs = self.body["spec"][REPLICAS[self.kind]]
        return [(self.name, type_.lower(), index) for type_, spec in specs.items() for index in range(spec["replicas"])]

    @property
    def awaited(self) -> list[Slot]:
        """The replicas for which the lead waits: all others, but those of an MPIJob, which run until it has ended."""
        return [] if self.kind == "MPIJob" else [slot for slot in self.slots if slot != self.lead]

    def restarts(self) -> dict[str, int]:
        """How often the replicas of each type have been restarted in the end."""
        counted: dict[str, int] = {}
        for type_ in self.body["spec"][REPLICAS[self.kind]]:
            codes = [codes for (_, of, _), codes in self.exits.items() if of == type_.lower()]
            counted[type_] = sum(map(len, codes))
        return counted


def draw(rng: random.Random, name: str, kind: str) -> Scripted:
    """One small job."""
    workers = rng.randint(1, 3)
    replicas = led(kind, workers)
    container = {"name": CONTAINERS[kind], "image": "example.com/train:1"}
    template = {"spec": {"schedulerName": "nobody", "containers": [container]}}
    specs = {
        type_: {"replicas": count, "restartPolicy": "ExitCode", "template": template}
        for type_, count in replicas.items()
    }
    policy = {"cleanPodPolicy": rng.choice(["All", "Running", "None"])}
    body: Object = {
        "apiVersion": "kubeflow.org/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {"runPolicy": policy, REPLICAS[kind]: specs},
    }
    if kind == "PyTorchJob" and rng.random() < 0.5:
        body["spec"]["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 3, "metrics": [CPU]}
    if kind == "MPIJob" and rng.random() < 0.5:
        body["metadata"]["annotations"] = {"extension.training.kubeflow.org/mpi-launch": "ssh"}
    job = Scripted(body)
    for slot in job.slots:
        # A second failure of the same replica would only mean waiting: it is replaced after ten seconds.
        if (kind != "MPIJob" or slot == job.lead) and rng.random() < 0.4:
            job.exits[slot] = [rng.choice(RETRYABLE)]
    return job


def draw_all(rng: random.Random, count: int) -> list[Scripted]:
    """So many jobs, the kinds in turn."""
    kinds = list(KINDS)
    return [draw(rng, f"job{number}", kinds[number % len(kinds)]) for number in range(count)]
