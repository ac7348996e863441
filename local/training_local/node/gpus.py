"""The GPUs of this machine, and which pod has which: exclusively, from its start until its processes have gone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from math import ceil
from pathlib import Path

from training_api import quantity
from training_local.node.podspec import Container, Pod

RESOURCE = "nvidia.com/gpu"
VISIBLE = "CUDA_VISIBLE_DEVICES"
_DEVICE = re.compile(r"nvidia\d+")
_NONE = ("none", "void")


class GpuError(Exception):
    """A pod cannot have the GPUs that it was placed for; the text says why."""


def detect(environment: Mapping[str, str], root: Path = Path("/")) -> tuple[str, ...]:
    """The GPUs that programs started with `environment` see, as entries for CUDA_VISIBLE_DEVICES.

    The driver lists them below /proc; in containers there may be device files only.
    """
    count = _entries(root / "proc/driver/nvidia/gpus") or _entries(root / "dev", _DEVICE)
    there = tuple(str(index) for index in range(count))
    if environment.get("NVIDIA_VISIBLE_DEVICES") in _NONE:
        return ()
    chosen = environment.get(VISIBLE)
    if chosen is None or not there:
        return there
    listed = [entry.strip() for entry in chosen.split(",")]
    # CUDA takes the entries up to the first that it does not know, such as -1.
    unknown = (i for i, entry in enumerate(listed) if not entry or (not entry[0].isalpha() and entry not in there))
    return tuple(listed[: next(unknown, len(listed))])


def offered(wanted: int | None, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The GPUs of the machine, or as many as wanted, real ones first: with others only the placing can be tried."""
    there = detect(environment)
    if wanted is None:
        return there
    others = (str(index) for index in range(wanted) if str(index) not in there)
    return (*there, *others)[:wanted]


def _entries(folder: Path, pattern: re.Pattern[str] = re.compile(".+")) -> int:
    with suppress(OSError):
        return sum(pattern.fullmatch(entry.name) is not None for entry in folder.iterdir())
    return 0


class GpuPool:
    """Who has which GPU."""

    def __init__(self, devices: Sequence[str]) -> None:
        self.devices = devices
        self._owners: dict[str, str] = {}

    def take(self, uid: str, count: int) -> Sequence[str]:
        """The pod's GPUs, the same at every call; raises `GpuError` if too few are free."""
        own = [device for device, owner in self._owners.items() if owner == uid]
        free = [device for device in self.devices if device not in self._owners]
        if not own and count > len(free):
            raise GpuError(f"{count} GPUs are assigned, but only {len(free)} of {len(self.devices)} are free")
        if not own:
            own = free[:count]
            self._owners.update(dict.fromkeys(own, uid))
        return own

    def free(self, uid: str) -> None:
        """Take the pod's GPUs back."""
        for device in [device for device, owner in self._owners.items() if owner == uid]:
            del self._owners[device]


def count(container: Container) -> int:
    """How many GPUs a container wants; limit and request of devices are always equal."""
    return ceil(quantity.parse(str(container.resources.limits.get(RESOURCE, 0))))


def shares(pod: Pod, devices: Sequence[str]) -> Mapping[str, Sequence[str]]:
    """Which of the pod's GPUs each container has.

    Containers and sidecars have their own; init containers, which have ended before containers start, borrow theirs.
    """
    found: dict[str, Sequence[str]] = {}
    first = 0
    for container in pod.containers:
        wanted = count(container)
        found[container.name] = devices[first : first + wanted]
        if container not in pod.spec.init_containers or container.restart_policy == "Always":
            first += wanted
    return found


def visible(assigned: Iterable[str], asked: str | None) -> str:
    """The value of CUDA_VISIBLE_DEVICES for a container; `asked` is the one it sets itself, in its own numbering."""
    own = list(assigned)
    if asked is None:
        return ",".join(own)
    wanted = [entry.strip() for entry in asked.split(",")]
    return ",".join(own[int(entry)] for entry in wanted if entry.isdigit() and int(entry) < len(own))
