"""What rules ask a container or a pod for, the same in v1's templates and v2's."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any, Final, Protocol

from training_migration.convert.launchers import words

Json = Mapping[str, Any]

_ACCELERATOR: Final = re.compile(r"(/mig-|tpu|gaudi|neuron|npu|/xpu|mlu|dcu|habana)", re.IGNORECASE)
"""Resources that train and are not called GPU; others with a domain are network cards and the like."""


def containers(pod: Json) -> list[dict[str, Any]]:
    """The ordinary containers of a pod's spec."""
    return list(pod.get("containers") or ())


def container(pod: Json, name: str) -> tuple[int, dict[str, Any]] | None:
    """Position and content of the ordinary container of this name."""
    return next(((at, each) for at, each in enumerate(containers(pod)) if each.get("name") == name), None)


class Template(Protocol):
    """The pods of one template as rules look at them: of a replica type of v1, or of a replicated job of a runtime."""

    @property
    def pod(self) -> Json:
        """The spec of its pods."""

    @property
    def pod_path(self) -> str:
        """Where that is."""

    @property
    def main(self) -> str:
        """Name of the container that trains."""

    @property
    def container(self) -> Json:
        """The container that trains; empty where there is none."""
        found = container(self.pod, self.main)
        return found[1] if found else {}

    @property
    def main_path(self) -> str:
        """Where that is."""
        found = container(self.pod, self.main)
        return f"{self.pod_path}.containers[{found[0] if found else 0}]"

    @property
    def sidecars(self) -> list[tuple[str, Json]]:
        """The other ordinary containers, each with its path."""
        numbered = enumerate(containers(self.pod))
        return [(f"{self.pod_path}.containers[{at}]", each) for at, each in numbered if each.get("name") != self.main]


def env_names(given: Json) -> list[str]:
    """Names of the variables that are written out, in their order."""
    return [str(each.get("name", "")) for each in given.get("env") or ()]


def command_field(given: Json) -> str:
    """The field that holds the end of the command line."""
    return "args" if given.get("args") else "command"


def runs(given: Json, path: str) -> bool:
    """Whether the command line of a container names a file like this one."""
    name = re.escape(PurePath(path).name)
    return any(re.search(rf"(?:^|[\s/'\"]){name}(?![\w.-])", word) for word in words(given))


def resources(given: Json) -> dict[str, str]:
    """What a container requests, by name; limits count where there is no request."""
    block = given.get("resources") or {}
    asked = {**(block.get("limits") or {}), **(block.get("requests") or {})}
    return {name: str(value) for name, value in asked.items()}


def gpus(given: Json) -> int:
    """How many GPUs v2 sees: the first resource with these letters in its name."""
    for name, value in resources(given).items():
        if "gpu" in name.lower():
            return int(value) if value.isdecimal() else 0
    return 0


def other_accelerators(given: Json) -> list[str]:
    """Names of accelerators that v2 does not see."""
    return [name for name in resources(given) if _ACCELERATOR.search(name) and "gpu" not in name.lower()]


def unnamed_ports(given: Json) -> list[tuple[int, Any]]:
    """Position and number of each port without a name."""
    ports = enumerate(given.get("ports") or ())
    return [(at, port.get("containerPort")) for at, port in ports if not port.get("name")]


def clashing_ports(pod: Json) -> Iterator[tuple[str, str]]:
    """Where v2 writes ports over each other: the list's field, and a sentence's beginning."""
    for group in ("initContainers", "containers"):
        for at, each in enumerate(pod.get(group) or ()):
            numbers = [port.get("containerPort") for port in each.get("ports") or ()]
            twice = next((number for number in numbers if numbers.count(number) > 1), None)
            if twice is not None:
                yield f"{group}[{at}].ports", f"port {twice} is there twice"
            elif len(unnamed_ports(each)) > 1:
                yield f"{group}[{at}].ports", f"{len(unnamed_ports(each))} ports have no name"


def env_value(given: Json, name: str) -> Any:
    """The literal value of a variable; None where it has none or comes from elsewhere."""
    return next((each.get("value") for each in given.get("env") or () if each.get("name") == name), None)


def label_fields(pod: Json) -> Iterator[tuple[str, str]]:
    """Where a pod reads its own labels, and which: variables and files of the downward API."""
    for group in ("initContainers", "containers"):
        for at, each in enumerate(pod.get(group) or ()):
            for number, variable in enumerate(each.get("env") or ()):
                field = ((variable.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath") or ""
                yield f"{group}[{at}].env[{number}]", str(field)
    for at, volume in enumerate(pod.get("volumes") or ()):
        sources = [volume, *((volume.get("projected") or {}).get("sources") or ())]
        for source in sources:
            for item in (source.get("downwardAPI") or {}).get("items") or ():
                yield f"volumes[{at}]", str((item.get("fieldRef") or {}).get("fieldPath") or "")
