"""When a container is asked how it is, and what follows from its answers, as a kubelet decides it; no effects.

Rules: Kubernetes documentation "Liveness, Readiness, and Startup Probes", and the kubelet's prober.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from training_local.node.podspec import Container, Wire


class Kind(StrEnum):
    """What a probe is for; the value is how events call it."""

    STARTUP = "Startup"
    LIVENESS = "Liveness"
    READINESS = "Readiness"


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """An answer, and what there is to say about it."""

    ok: bool
    text: str = ""


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe with the defaults of the API (seconds)."""

    kind: Kind
    action: Wire
    """Where `exec`, `httpGet` or `tcpSocket` stands."""
    initial_delay: float = 0.0
    period: float = 10.0
    timeout: float = 1.0
    successes: int = 1
    """Answers in a row that count as success."""
    failures: int = 3
    """Failures in a row that count as failure."""
    grace: float | None = None
    """Grace period of the container after a failure; None for the pod's."""


ACTIONS: Final = ("exec", "httpGet", "tcpSocket")
"""What probes can do here."""
HOOKS: Final = ("postStart", "preStop")
HOOK_ACTIONS: Final = ("exec", "httpGet", "sleep")
"""What hooks can do here."""


def probes(container: Container) -> Mapping[Kind, Probe]:
    """The probes of a container that can be run here."""
    given = {
        Kind.STARTUP: container.startup_probe,
        Kind.LIVENESS: container.liveness_probe,
        Kind.READINESS: container.readiness_probe,
    }
    return {kind: _parse(kind, spec) for kind, spec in given.items() if spec and any(a in spec for a in ACTIONS)}


def _parse(kind: Kind, spec: Wire) -> Probe:
    # A zero stands for the default, as the API server would have put it.
    return Probe(
        kind=kind,
        action=spec,
        initial_delay=spec.get("initialDelaySeconds") or 0.0,
        period=spec.get("periodSeconds") or 10.0,
        timeout=spec.get("timeoutSeconds") or 1.0,
        successes=spec.get("successThreshold") or 1,
        failures=spec.get("failureThreshold") or 3,
        grace=spec.get("terminationGracePeriodSeconds"),
    )


@dataclass(frozen=True, slots=True)
class Tally:
    """Equal answers in a row, and what they have last added up to."""

    ok: bool | None = None
    run: int = 0
    result: bool | None = None
    """None until a threshold has been reached."""

    def after(self, ok: bool, probe: Probe) -> Tally:
        """The tally after one more answer."""
        run = self.run + 1 if ok == self.ok else 1
        reached = run >= (probe.successes if ok else probe.failures)
        return Tally(ok, run, ok if reached else self.result)


@dataclass(frozen=True, slots=True)
class Health:
    """What is known of a running container."""

    started: bool = True
    ready: bool = True

    @classmethod
    def at_start(cls, container: Container) -> Health:
        """The health of a container that has just been started."""
        asked = probes(container)
        started = Kind.STARTUP not in asked
        return cls(started, started and Kind.READINESS not in asked)

    def after(self, kind: Kind, result: bool, asked: Mapping[Kind, Probe]) -> Health:
        """The health after a result, which is no failed startup or liveness: these end the container."""
        if kind is Kind.STARTUP:
            return Health(result, result and Kind.READINESS not in asked)
        return replace(self, ready=result) if kind is Kind.READINESS else self


def unhealthy(kind: Kind, outcome: ProbeResult) -> str:
    """The message of the event about a failed probe."""
    return f"{kind} probe failed: {outcome.text}"


def killing(container: str, kind: Kind, *, again: bool) -> str:
    """The message of the event about the end of a container that has failed a probe."""
    return f"Container {container} failed {kind.lower()} probe" + (", will be restarted" if again else "")
