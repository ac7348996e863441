"""What torchrun makes of its flags and of the variables `PET_*` (PyTorch documentation, "torchrun")."""

from __future__ import annotations

import re
import shlex
from collections.abc import Hashable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, Final

from training_migration.convert.devices import other_accelerators
from training_migration.diff.wiring import Fact, Reader, Role, View, Wiring, endpoint

_VARIABLES: Final = {
    "nnodes": "PET_NNODES",
    "nproc_per_node": "PET_NPROC_PER_NODE",
    "node_rank": "PET_NODE_RANK",
    "master_addr": "PET_MASTER_ADDR",
    "master_port": "PET_MASTER_PORT",
    "rdzv_endpoint": "PET_RDZV_ENDPOINT",
    "rdzv_backend": "PET_RDZV_BACKEND",
    "rdzv_id": "PET_RDZV_ID",
    "rdzv_conf": "PET_RDZV_CONF",
    "max_restarts": "PET_MAX_RESTARTS",
    "standalone": "PET_STANDALONE",
}
_DEFAULTS: Final = {
    "nnodes": "1:1",
    "nproc_per_node": "1",
    "node_rank": "0",
    "master_addr": "127.0.0.1",
    "master_port": "29500",
    "rdzv_backend": "static",
}
_SWITCHES: Final = frozenset({"standalone", "no_python", "run_path", "module", "m"})
_MODULES: Final = frozenset({"torch.distributed.run", "torch.distributed.launch"})


def flags(words: Sequence[str]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Flags of torchrun by name with underscores, and the words of the script behind them."""
    rest = list(_behind_torchrun(words))
    found: dict[str, str] = {}
    while rest and rest[0].startswith("-"):
        name, equals, value = rest.pop(0).lstrip("-").partition("=")
        name = name.replace("-", "_")
        if name in _SWITCHES:
            found[name] = "1"
        elif equals or not rest:
            found[name] = value
        else:
            found[name] = rest.pop(0)
    return found, tuple(rest)


def _behind_torchrun(words: Sequence[str]) -> Sequence[str]:
    for position, word in enumerate(words):
        if PurePosixPath(word).name == "torchrun" or word in _MODULES:
            return words[position + 1 :]
    return _in_text(words)


def _in_text(words: Sequence[str]) -> Sequence[str]:
    """The words behind torchrun in the text of a shell that does more than can be followed."""
    for text in words:
        if match := re.search(r"(?:\btorchrun\b|torch\.distributed\.(?:run|launch))([^;&|\n]*)", text):
            try:
                return shlex.split(match[1])
            except ValueError:
                return match[1].split()
    return ()


def read(view: View) -> Wiring:
    """What torchrun learns; flags count more than variables."""
    given, _ = flags(view.words)
    settings, names = dict(_DEFAULTS), dict(_VARIABLES)
    for name, variable in _VARIABLES.items():
        if name in given:
            settings[name], names[name] = _filled(given[name], view.environment), f"--{name.replace('_', '-')}"
        elif view.environment.get(variable):
            settings[name] = view.environment[variable]
    return _wiring(view, settings, names)


def _filled(text: str, variables: Mapping[str, str]) -> str:
    """A flag of a shell that cannot be followed, which would fill in variables."""
    return re.sub(r"\$\{?(\w+)\}?", lambda match: variables.get(match[1], ""), text)


def _wiring(view: View, settings: Mapping[str, str], names: Mapping[str, str]) -> Wiring:
    local = processes(settings["nproc_per_node"], view)
    fewest, _, nodes = settings["nnodes"].rpartition(":")
    elastic = bool(fewest) and fewest != nodes
    if elastic:
        nodes = str(len(view.numbers))  # as many as there are now
    facts: dict[Role, Fact] = {
        Role.LOCAL: Fact(settings["nproc_per_node"], local, (names["nproc_per_node"],)),
        Role.SIZE: Fact(f"{nodes} nodes", nodes, (names["nnodes"],)),
    }
    if elastic:
        text = f"{settings['nnodes'].replace(':', ' to ')} nodes"
        facts[Role.ELASTIC] = Fact(text, settings["nnodes"], (names["nnodes"],))
    if "standalone" in settings:
        facts[Role.HOST] = Fact("itself", view.who("localhost"), (names["standalone"],))
    elif settings.get("rdzv_endpoint"):
        facts |= endpoint(view, settings["rdzv_endpoint"], names["rdzv_endpoint"])
    else:
        address, port = settings["master_addr"], settings["master_port"]
        facts[Role.HOST] = Fact(address, view.who(address), (names["master_addr"],))
        facts[Role.PORT] = Fact(port, "given", (names["master_port"],))
    if settings["rdzv_backend"] == "static" and "standalone" not in settings:
        facts[Role.RANK] = Fact(settings["node_rank"], settings["node_rank"], (names["node_rank"],))
    itself = facts[Role.HOST].meaning == view.numbers.get(view.place) and settings["node_rank"] == "0"
    alone = "standalone" in settings or nodes == "1" or (settings["master_addr"] == "127.0.0.1" and itself)
    return Wiring(facts, alone=alone)


def processes(nproc: str, view: View) -> Hashable:
    """How many it starts; a text where only the machine decides."""
    if nproc.isdecimal():
        return int(nproc)
    container = view.side.container(view.place)
    count = gpus(container)
    if nproc == "auto" and not count:
        count = sum(other_accelerators(dict(container)).values())
    if nproc in ("auto", "gpu") and count:
        return count
    return "as many as the machine has CPUs" if nproc in ("auto", "cpu") else nproc


def gpus(container: Mapping[str, Any]) -> int:
    """That a container may use."""
    limits = (container.get("resources") or {}).get("limits") or {}
    return sum(int(count) for name, count in limits.items() if name.endswith("/gpu") and str(count).isdecimal())


_SETTINGS: Final = frozenset(_VARIABLES[name] for name in ("rdzv_backend", "rdzv_id", "rdzv_conf", "max_restarts"))
TORCHRUN: Final = Reader("torchrun", read, frozenset(_VARIABLES.values()) - _SETTINGS, _SETTINGS, native=True)
