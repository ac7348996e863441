"""Rules on pod templates, the same for jobs of v1 and for runtimes of v2."""

from __future__ import annotations

from collections.abc import Iterator

from training_api.constants import LABEL_PREFIX
from training_migration.lint import pods
from training_migration.lint.checks import Spot
from training_migration.lint.v1.subject import V1, Subject
from training_migration.lint.v2.subject import RUNTIMES, Runtime


def host_network(of: Subject | Runtime) -> Iterator[Spot]:
    """The host's network with a policy whose port is fixed."""
    for each in of.templates if of.fixed_port else ():
        if each.pod.get("hostNetwork"):
            yield Spot("two such jobs on one machine both want port 29500.", f"{each.pod_path}.hostNetwork")


def unnamed_port(of: Subject | Runtime) -> Iterator[Spot]:
    """A port without a name in the container that trains."""
    for each in of.training if of.fixed_port and of.features.ports_clash else ():
        for at, number in pods.unnamed_ports(each.container):
            yield Spot(f"port {number} has no name: v2's port 29500 takes its place.", f"{each.main_path}.ports[{at}]")


def own_host_name(of: Subject | Runtime) -> Iterator[Spot]:
    """Names of hosts in a template."""
    for each in of.templates:
        for name in ("hostname", "subdomain", "setHostnameAsFQDN"):
            if each.pod.get(name):
                yield Spot(f"{name} conflicts with the host names that v2's pods need.", f"{each.pod_path}.{name}")


def lasting_sidecar(of: Subject | Runtime) -> Iterator[Spot]:
    """Sidecars that are ordinary containers."""
    for each in of.templates:
        for path, sidecar in each.sidecars if each.container else ():
            yield Spot(f"the pod has not finished before container {sidecar.get('name')} has ended.", path)


def clashing_ports(of: Subject | Runtime) -> Iterator[Spot]:
    """Ports that v2 writes over each other."""
    for each in of.templates if of.features.ports_clash else ():
        for field, what in pods.clashing_ports(each.pod):
            yield Spot(f"{what}: v2 writes one over the other, and no pod is made.", f"{each.pod_path}.{field}")


def own_labels(of: Subject | Runtime) -> Iterator[Spot]:
    """Pods that read v1's labels of themselves."""
    for each in of.templates:
        for path, field in pods.label_fields(each.pod):
            if LABEL_PREFIX in field:
                yield Spot(f"{field} is empty in v2's pods.", f"{each.pod_path}.{path}")


for rule, check in (
    ("MIG215", host_network),
    ("MIG216", unnamed_port),
    ("MIG218", own_host_name),
    ("MIG221", lasting_sidecar),
    ("MIG223", clashing_ports),
    ("MIG401", own_labels),
):
    V1.rule(rule)(check)
    RUNTIMES.rule(rule)(check)
