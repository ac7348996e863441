"""One side's rendering as the comparison asks for it: pods by place, objects by kind, host names, variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Final

from training_migration.diff.pairing import Place
from training_migration.rendering import RenderedPod, Rendering
from training_migration.v2.process import command_line, environment

Json = dict[str, Any]

OWN_ADDRESS: Final = "own-address"
"""Stands for the pod's IP address, which is not known before it runs."""
_AGENTS: Final = ("kubexec.sh", "ssh.sh")
_KNOWN: Final = {"status.podIP": OWN_ADDRESS}


@dataclass(frozen=True)
class RenderedSide:
    """All that one controller makes of the job."""

    name: str
    """`v1` or `v2`."""
    rendering: Rendering

    @cached_property
    def pods(self) -> Mapping[Place, RenderedPod]:
        """By place."""
        return {Place(pod.role, pod.index): pod for pod in self.rendering.pods}

    def objects(self, kind: str) -> Sequence[Json]:
        """All objects of a kind."""
        return [each for each in self.rendering.objects if each.get("kind") == kind]

    @cached_property
    def hosts(self) -> Mapping[str, Place]:
        """Every name under which a pod is reached from within its namespace, without what may follow it.

        A Service that selects one pod gives it its name; a headless one with the pods' subdomain gives each pod its
        host name below it (Kubernetes, DNS for Services and Pods).
        """
        return dict(self._hosts())

    def _hosts(self) -> Iterator[tuple[str, Place]]:
        labelled: dict[tuple[str, str], list[Place]] = {}
        for place, pod in self.pods.items():
            for label in (pod.pod["metadata"].get("labels") or {}).items():
                labelled.setdefault(label, []).append(place)
        for service in self.objects("Service"):
            name = service["metadata"]["name"]
            candidates = [labelled.get(label, []) for label in (service["spec"].get("selector") or {}).items()]
            fewest = min(candidates, key=len, default=[])
            selected = [place for place in fewest if _selects(service, self.pods[place].pod)]
            if len(selected) == 1:
                yield name, selected[0]
            for place in selected:
                spec = self.pods[place].pod["spec"]
                if spec.get("subdomain") == name and spec.get("hostname"):
                    yield f"{spec['hostname']}.{name}", place

    def place_of(self, host: str) -> Place | None:
        """Whose name it is, in its short form or with namespace and cluster domain; None where it is no pod's."""
        labels = host.rstrip(".").split(".")
        for length in (2, 1):
            place = self.hosts.get(".".join(labels[:length]))
            if place is not None and _is_rest(labels[length:], self.namespace):
                return place
        return None

    @cached_property
    def entered(self) -> Mapping[str, Place]:
        """Names of pods where mpirun enters them through an agent of v1, which needs no host names."""
        if all(self.file(agent) is None for agent in _AGENTS):
            return {}
        return {str(pod.pod["metadata"]["name"]): place for place, pod in self.pods.items()}

    @cached_property
    def namespace(self) -> str:
        """Of all pods."""
        return next((str(pod.pod["metadata"].get("namespace", "")) for pod in self.rendering.pods), "")

    def container(self, place: Place) -> Json:
        """The container that trains."""
        pod = self.pods[place]
        containers: list[Json] = pod.pod["spec"]["containers"]
        return next(each for each in containers if each["name"] == pod.container)

    def environment(self, place: Place) -> Mapping[str, str]:
        """Variables of the container that trains, references to each other resolved."""
        return self._environment(place)

    @cached_property
    def _environment(self) -> Callable[[Place], Mapping[str, str]]:
        return cache(lambda place: environment(self.pods[place], _KNOWN))

    def words(self, place: Place) -> tuple[list[str], list[str]]:
        """Command and arguments of the container that trains, references to variables resolved."""
        return command_line(self.pods[place], self.environment(place))

    def file(self, name: str) -> str | None:
        """Content of the first ConfigMap that has a file of this name."""
        return next(
            (each["data"][name] for each in self.objects("ConfigMap") if name in (each.get("data") or {})), None
        )


def _selects(service: Json, pod: Json) -> bool:
    selector = service["spec"].get("selector") or {}
    labels = pod["metadata"].get("labels") or {}
    return bool(selector) and all(labels.get(key) == value for key, value in selector.items())


def _is_rest(labels: Sequence[str], namespace: str) -> bool:
    """Whether these may follow the name of a Service: nothing, or the namespace, `svc` and any cluster domain."""
    if not labels:
        return True
    return labels[0] == namespace and (len(labels) == 1 or labels[1] == "svc")
