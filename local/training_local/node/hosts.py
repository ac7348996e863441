"""The names that the pods of one scope know each other by, as a hosts file: what cluster DNS would answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from training_local.node.podspec import Pod, Wire

DOMAIN = "cluster.local"

_LOOPBACK = (
    "127.0.0.1\tlocalhost",
    "::1\tlocalhost ip6-localhost ip6-loopback",
    "fe00::0\tip6-localnet",
    "ff02::1\tip6-allnodes",
    "ff02::2\tip6-allrouters",
)


@dataclass(frozen=True, slots=True)
class Peer:
    """A pod with an address."""

    pod: Pod
    address: str
    ready: bool


@dataclass(frozen=True, slots=True)
class Service:
    """A service, reduced to the names it gives."""

    namespace: str
    name: str
    selector: Mapping[str, str]
    publish_unready: bool
    headless: bool
    ports: frozenset[int] = frozenset()
    version: int = 0
    """Of the cluster when the service was changed last."""

    @classmethod
    def parse(cls, stored: Wire) -> Service:
        """Read a stored service."""
        metadata, spec = stored["metadata"], stored.get("spec") or {}
        return cls(
            namespace=metadata["namespace"],
            name=metadata["name"],
            selector=spec.get("selector") or {},
            publish_unready=bool(spec.get("publishNotReadyAddresses")),
            headless=spec.get("clusterIP") == "None",
            ports=frozenset(port["port"] for port in spec.get("ports") or ()),
            version=int(metadata.get("resourceVersion", 0)),
        )

    def selects(self, pod: Pod) -> bool:
        """Whether the pod is behind this service; one without a selector has no pods."""
        mine = pod.metadata.namespace == self.namespace and bool(self.selector)
        return mine and self.selector.items() <= pod.metadata.labels.items()


class Services:
    """The services of one namespace, found by the labels of the pods behind them.

    A cluster can hold a thousand services and pods; asking each about each whenever one changes would take minutes.
    """

    def __init__(self) -> None:
        self._by_name: dict[str, Service] = {}
        self._by_label: dict[tuple[str, str], dict[str, Service]] = {}
        """Each service under one label of its selector, which all its pods must have."""
        self._labels: dict[str, tuple[str, str]] = {}
        self.complete_at = -1
        """The version of the cluster at which all of them were read last; later changes may be among them."""
        self.reading = asyncio.Lock()

    def __iter__(self) -> Iterator[Service]:
        return iter(self._by_name.values())

    def put(self, service: Service) -> None:
        """Add a service, or replace the one of that name."""
        self.remove(service.name)
        self._by_name[service.name] = service
        if service.selector:
            # The rarest label: "which job" finds ten services where "of which operator" finds all.
            label = min(service.selector.items(), key=lambda each: len(self._by_label.get(each, ())))
            self._by_label.setdefault(label, {})[service.name] = service
            self._labels[service.name] = label

    def get(self, name: str) -> Service | None:
        """Return the service of that name, if there is one."""
        return self._by_name.get(name)

    def remove(self, name: str) -> None:
        """Remove the service of that name, if there is one."""
        if label := self._labels.pop(name, None):
            del self._by_label[label][name]
            if not self._by_label[label]:
                del self._by_label[label]
        self._by_name.pop(name, None)

    def replace(self, services: Iterable[Service]) -> None:
        """Forget all services, and add these."""
        for name in tuple(self._by_name):
            self.remove(name)
        for service in services:
            self.put(service)

    def around(self, pods: Iterable[Pod]) -> list[Service]:
        """Every service that may have one of the pods behind it, by name."""
        labels = {label for pod in pods for label in pod.metadata.labels.items()}
        found = {name: service for label in labels for name, service in self._by_label.get(label, {}).items()}
        return [found[name] for name in sorted(found)]


def entries(peers: Sequence[Peer], services: Iterable[Service]) -> Iterator[tuple[str, str]]:
    """Every (address, name): one per name, so that no resolver prefers a longer alias of the same line."""
    for service in services:
        for peer in peers:
            if service.selects(peer.pod) and (peer.ready or service.publish_unready):
                for name in _names(service.name, service.namespace):
                    yield peer.address, name
                if (own := own_name(peer.pod, service)) != service.name:
                    for name in _names(own, service.namespace):
                        yield peer.address, name


def own_name(pod: Pod, service: Service) -> str:
    """The name by which a service leads to this pod: the service's, or one of the pod's own behind a headless one."""
    named = service.headless and service.name == pod.spec.subdomain and pod.spec.hostname
    return f"{pod.spec.hostname}.{service.name}" if named else service.name


def _names(name: str, namespace: str) -> tuple[str, ...]:
    return name, f"{name}.{namespace}", f"{name}.{namespace}.svc", f"{name}.{namespace}.svc.{DOMAIN}"


API_NAMES = _names("kubernetes", "default")
"""What pods call the API server."""


def names_of_all(known: Iterable[tuple[str, str]]) -> str:
    """The part of a hosts file that all pods of a scope share."""
    return "".join(f"{address}\t{name}\n::ffff:{address}\t{name}\n" for address, name in known)


def hosts_file(own: Peer, shared: str, *, machine_name: str = "") -> str:
    """The text of a pod's hosts file: its own lines and `shared`, which is `names_of_all`.

    `machine_name` is the machine's own host name where the pod could not be given another: it must lead to the pod,
    not to whatever the machine thinks of it. Each name is also given for the IPv4-mapped form of its address, which
    c10d looks up in reverse.
    """
    lines = [*_LOOPBACK]
    if own.pod.spec.subdomain and own.pod.spec.hostname:
        full = f"{own.pod.hostname}.{own.pod.spec.subdomain}.{own.pod.metadata.namespace}.svc.{DOMAIN}"
        lines.append(f"{own.address}\t{full}\t{own.pod.hostname}")
    else:
        lines += [f"{own.address}\t{own.pod.hostname}", f"::ffff:{own.address}\t{own.pod.hostname}"]
    if machine_name:
        lines.append(f"{own.address}\t{machine_name}")
    lines += [f"{alias.ip}\t{' '.join(alias.hostnames)}" for alias in own.pod.spec.host_aliases]
    return "\n".join(lines) + "\n" + shared
