"""Host mode: without a network of their own, pods get other addresses than on a cluster (no effects here)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from training_local.node.hosts import DOMAIN, Service

LOOPBACK = "127.0.0.1"

FreePort = Callable[[str, int], int]
"""Name of a service, or of a pod behind a headless one, and declared port -> the port that stands for it here."""

_ITSELF = r"localhost|127\.0\.0\.1|0\.0\.0\.0"
"""What means the pod itself, whose ports other pods have here as well."""

_PARTNERS = ("ADDR", "ADDRESS", "HOST", "HOSTNAME", "IP", "URI")


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What a container is started with instead, and in one sentence per change what differs from a cluster."""

    argv: list[str]
    env: dict[str, str]
    changes: tuple[str, ...]


def relocated(text: str, paths: Mapping[str, str]) -> str:
    """The text with other folders in the place of paths; `paths` says which stands for which."""
    return _paths(paths).sub(lambda found: paths[found[1]], text) if paths else text


def names(text: str, path: str) -> bool:
    """Whether the text names a path, or one below it."""
    return _paths([path]).search(text) is not None


def _paths(paths: Collection[str]) -> re.Pattern[str]:
    longest_first = "|".join(re.escape(path) for path in sorted(paths, key=len, reverse=True))
    return re.compile(rf"(?<![\w./-])({longest_first})(?![\w.-])")


class Rewriter:
    """Replaces the names of one namespace's services, and of pods behind them (`HOSTNAME.SERVICE`), by the loopback
    address, and their ports by free ones.
    """

    def __init__(self, services: Sequence[Service], own: str, ports: frozenset[int], free_port: FreePort) -> None:
        self._own = own
        self._ports = ports
        self._free_port = free_port
        names = sorted((re.escape(service.name) for service in services), key=len, reverse=True)
        headless = "|".join(re.escape(service.name) for service in services if service.headless)
        namespace = re.escape(services[0].namespace) if services else ""
        domain = re.escape(DOMAIN)
        pod = rf"[\w-]+\.(?=(?:{headless or '(?!)'})(?![\w-]))"
        name = rf"(?:{pod})?(?:{'|'.join(names) or '(?!)'})"
        self._pattern = re.compile(
            rf"(?<![\w.-])(?P<name>{name}|{_ITSELF})(?:\.{namespace}(?:\.svc(?:\.{domain})?)?)?"
            r"(?::(?P<port>\d+))?(?![\w-]|\.\w)"
        )

    def rewrite(
        self,
        argv: Sequence[str],
        env: Mapping[str, str],
        addressed: Collection[str],
        paths: Mapping[str, str],
        secrets: Collection[str] = (),
    ) -> Rewritten:
        """Rewrite a command line and those variables in which service names are addresses.

        `paths` says which folder stands for which mount path. Values of `secrets` are in no change.
        """
        changed = dict(env)
        for name in addressed:
            changed[name] = self._port(name, env[name], env) or self._text(env[name], paths)
        line = self.arguments(argv, paths)
        pairs = [(f"{name}=", env[name], value) for name, value in changed.items()]
        pairs += [("argument ", old, new) for old, new in zip(argv, line, strict=True)]
        changes = [
            f"{what}{old} became {new}" if not any(secret in old for secret in secrets if secret) else f"{what}(secret)"
            for what, old, new in pairs
            if old != new
        ]
        return Rewritten(line, changed, tuple(changes))

    def arguments(self, argv: Sequence[str], paths: Mapping[str, str]) -> list[str]:
        """Rewrite a command line."""
        return [self._text(part, paths) for part in argv]

    def own_port(self, port: int) -> int:
        """Return what stands for a port of the pod itself."""
        return self._replaced(self._own, port)

    def _text(self, text: str, paths: Mapping[str, str]) -> str:
        return relocated(self._pattern.sub(self._address, text), paths)

    def _address(self, found: re.Match[str]) -> str:
        itself = re.fullmatch(_ITSELF, found["name"])
        host = found["name"] if itself else LOOPBACK
        if not found["port"]:
            return host
        return f"{host}:{self._replaced(self._own if itself else found['name'], int(found['port']))}"

    def _replaced(self, service: str, port: int) -> int:
        return self._free_port(service, port) if port in self._ports else port

    def _port(self, name: str, value: str, env: Mapping[str, str]) -> str:
        """The port that replaces the value of a variable such as `MASTER_PORT`; empty if it is something else."""
        stem, _, last = name.rpartition("_")
        if last != "PORT" or not value.isdigit() or int(value) not in self._ports:
            return ""
        partners = [env[f"{stem}_{partner}"] for partner in _PARTNERS if f"{stem}_{partner}" in env]
        found = self._pattern.fullmatch(partners[0]) if partners else None
        named = found and not re.fullmatch(_ITSELF, found["name"])
        return str(self._free_port(found["name"] if found and named else self._own, int(value)))
