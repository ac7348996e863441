"""Roles, ranks, hosts, ports and containers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from training_migration.convert.elasticity import size_of
from training_migration.convert.launchers import words
from training_migration.findings import Severity
from training_migration.lint import pods
from training_migration.lint.checks import Spot
from training_migration.lint.differences import differing
from training_migration.lint.v1.subject import V1, Role, Subject
from training_migration.lint.variables import TO_EVERY_CONTAINER, set_by_v1

_PAIRED: Final = frozenset({"PyTorchJob", "XGBoostJob"})
"""Kinds whose master and workers become nodes of one kind."""
_SMALL: Final = re.compile(
    r"(metadata\b|spec\.(volumes|(containers|initContainers)\[\d+\]\.(resources|volumeMounts|env))\b)"
)
"""Differences that the larger of both can stand for."""


def _pair(subject: Subject) -> tuple[Role, Role] | None:
    master, worker = subject.role("Master"), subject.role("Worker")
    return (master, worker) if subject.kind in _PAIRED and master and worker else None


@V1.rule("MIG201")
def asymmetric(subject: Subject) -> Iterator[Spot]:
    """Templates of master and workers that differ."""
    if (pair := _pair(subject)) is None:
        return
    master, worker = pair
    paths = list(differing(master.spec.template, worker.spec.template))
    if paths:
        small = all(_SMALL.match(path) for path in paths)
        shown = ", ".join(paths[:5]) + (f" and {len(paths) - 5} more" if len(paths) > 5 else "")
        yield Spot(
            f"the templates of Master and Worker differ in {shown}.",
            f"{worker.path}.template",
            severity=Severity.WARNING if small else None,
        )


@V1.rule("MIG202")
def moved_ranks(subject: Subject) -> Iterator[Spot]:
    """Workers next to a master."""
    if (pair := _pair(subject)) is not None:
        yield Spot("the master is node 0, worker i is node i + 1.", pair[1].path)


@V1.rule("MIG203")
def elastic(subject: Subject) -> Iterator[Spot]:
    """A number of workers that may change."""
    policy = getattr(subject.spec, "elastic_policy", None)
    if policy is None:
        return
    if subject.kind == "PyTorchJob" and (role := subject.role("Worker")) is not None:
        size = size_of(policy, role.count, role.container, subject.launcher(role))
        if not size.elastic and size.nodes in (None, subject.size):
            text = f"the bounds have no counterpart, and no effect either: {size.why}."
            yield Spot(text, "spec.elasticPolicy", severity=Severity.WARNING if policy.metrics else Severity.INFO)
            return
    metrics = bool(getattr(policy, "metrics", None))
    if policy.min_replicas != policy.max_replicas or metrics:
        bounds = f"between {policy.min_replicas} and {policy.max_replicas}"
        by_whom = ", set by an autoscaler" if metrics else ""
        yield Spot(f"the number of workers may be {bounds}{by_whom}; v2's is fixed.", "spec.elasticPolicy")


@V1.rule("MIG204")
def rendezvous(subject: Subject) -> Iterator[Spot]:
    """Settings of the rendezvous."""
    if subject.kind == "PyTorchJob" and subject.spec.elastic_policy is not None:
        message = "v1 makes PET_RDZV_* of it; v2 needs them in trainer.env."
        yield Spot(message, "spec.elasticPolicy")


@V1.rule("MIG205")
def dynamic_workers(subject: Subject) -> Iterator[Spot]:
    """Workers of TensorFlow that come and go."""
    if getattr(subject.spec, "enable_dynamic_worker", False):
        yield Spot("workers may come and go; v2's cluster specification is fixed.", "spec.enableDynamicWorker")


@V1.rule("MIG206")
def frozen_cluster(subject: Subject) -> Iterator[Spot]:
    """TensorFlow with more than one replica."""
    if subject.kind == "TFJob" and subject.size > 1:
        yield Spot("v2 makes no TF_CONFIG: it becomes part of a runtime for this job alone.", "spec.tfReplicaSpecs")


@V1.rule("MIG207")
def needs_ssh(subject: Subject) -> Iterator[Spot]:
    """Every MPI job."""
    if subject.kind == "MPIJob":
        image = next((role.container.get("image") for role in subject.roles if role.container), "")
        yield Spot(f"image {image} needs an SSH server and an SSH client.", "spec.mpiReplicaSpecs")


@V1.rule("MIG209")
def other_mpi(subject: Subject) -> Iterator[Spot]:
    """An image that is named after another MPI."""
    if subject.kind != "MPIJob":
        return
    for role in subject.roles:
        image = str(role.container.get("image") or "")
        if re.search(r"intel-?mpi|mpich|mvapich|open-?mpi[-_:]?v?5", image, re.IGNORECASE):
            yield Spot(f"image {image} seems to hold an MPI that v2 does not set up.", f"{role.main_path}.image")


def _launcher_trains(subject: Subject) -> bool:
    """Whether v1 lists the launcher as a host: it does so where the launcher has GPUs."""
    launcher = subject.role("Launcher")
    limits = (launcher.container.get("resources") or {}).get("limits") or {} if launcher else {}
    return subject.kind == "MPIJob" and any("gpu" in name for name in limits)


@V1.rule("MIG210")
def launcher_alone(subject: Subject) -> Iterator[Spot]:
    """A launcher that trains without workers."""
    if _launcher_trains(subject) and subject.role("Worker") is None:
        yield Spot(
            "the launcher trains alone; with runLauncherAsNode v2 adds a node.", "spec.mpiReplicaSpecs[Launcher]"
        )


@V1.rule("MIG212")
def moved_rank_0(subject: Subject) -> Iterator[Spot]:
    """A launcher that trains, and is listed behind the nodes."""
    if _launcher_trains(subject) and subject.features.nodes_first:
        yield Spot("rank 0 is the first node, no longer the launcher.", "spec.mpiReplicaSpecs[Launcher]")


@V1.rule("MIG213")
def several_gpus(subject: Subject) -> Iterator[Spot]:
    """XGBoost with several GPUs for each pod."""
    if subject.kind != "XGBoostJob":
        return
    for role in subject.roles:
        if (count := pods.gpus(role.container)) > 1:
            message = f"v2 counts {count} workers for each pod by its GPUs, but numbers pods."
            yield Spot(message, f"{role.main_path}.resources")


@V1.rule("MIG214")
def paddle_master(subject: Subject) -> Iterator[Spot]:
    """Paddle's collective training on several pods."""
    if subject.kind == "PaddleJob" and subject.size > 1 and not subject.has_master:
        yield Spot("rank 0 must get its own IP in PADDLE_MASTER, the others its name.", "spec.paddleReplicaSpecs")


@V1.rule("MIG219")
def second_node(subject: Subject) -> Iterator[Spot]:
    """Another container that is called `node`."""
    if subject.kind == "TFJob":
        return
    for role in subject.roles:
        for group in ("initContainers", "containers"):
            for at, each in enumerate(role.pod.get(group) or ()):
                if each.get("name") == "node" != role.main:
                    yield Spot("the container that trains must be called node in v2.", f"{role.pod_path}.{group}[{at}]")


@V1.rule("MIG220")
def sidecar_variables(subject: Subject) -> Iterator[Spot]:
    """Sidecars that v1 gave the variables of the training."""
    if subject.kind not in TO_EVERY_CONTAINER:
        return
    names = set_by_v1(subject.kind)
    for role in subject.roles:
        for path, each in role.sidecars:
            used = [name for name in sorted(names) if _mentions(each, name)]
            if used:
                yield Spot(f"container {each.get('name')} uses {', '.join(used)}, which v2 gives to node only.", path)
            else:
                message = f"container {each.get('name')} has no variables of the training in v2."
                yield Spot(message, path, severity=Severity.INFO)


def _mentions(container: Any, name: str) -> bool:
    values = [str(each.get("value") or "") for each in container.get("env") or ()]
    return any(re.search(rf"\b{name}\b", text) for text in (*words(container), *values))


@V1.rule("MIG222")
def no_replicas(subject: Subject) -> Iterator[Spot]:
    """A job that runs nothing."""
    if not subject.roles:
        yield Spot("it has no replicas; a TrainJob has one node at least.", f"spec.{subject.info.replica_field}")
