"""What a comparison of two renderings says: items by aspect, for pairs of pods and for the whole job."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from training_migration.diff.pairing import Place
from training_migration.findings import Severity


class Likeness(StrEnum):
    """How v2's value is to v1's."""

    SAME = "same"
    EQUIVALENT = "equivalent"
    """Another value of the same meaning."""
    DIFFERENT = "different"
    LOST = "lost"
    """Only v1 has it."""
    GAINED = "gained"
    """Only v2 has it."""


class Aspect(StrEnum):
    """What a value is about."""

    PROCESS = "process"
    ENVIRONMENT = "environment"
    NAMES = "names"
    NETWORK = "network"
    VOLUMES = "volumes"
    RESOURCES = "resources"
    SCHEDULING = "scheduling"
    LIFE_CYCLE = "life cycle"
    CONTAINERS = "containers"
    METADATA = "labels and annotations"
    OTHER = "other fields"


class Summary(StrEnum):
    """What becomes of the training, from the best to the worst."""

    EQUIVALENT = "equivalent"
    COMPAT = "equivalent with compat env"
    """Because v1's variables are written out on v2."""
    LIFE_CYCLE = "differs in life cycle only"
    """The same training; in some situation something else happens around it."""
    DIFFERENT = "trains differently"


@dataclass(frozen=True, slots=True)
class Item:
    """One value on both sides."""

    aspect: Aspect
    path: str
    """A field, a role of a variable, or a situation."""
    v1: str
    v2: str
    """Both for users; secrets are masked."""
    verdict: Likeness
    reason: str = ""
    """One sentence without a full stop, where there is more to say than the verdict."""
    severity: Severity | None = None
    """How bad it is; None: not at all."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Pods of v1 and those of v2 that do the same work and are compared with the same result."""

    v1: tuple[Place, ...]
    """Empty: only v2 has these pods. Else as long as v2's, or v2's is empty."""
    v2: tuple[Place, ...]
    items: tuple[Item, ...]


@dataclass(frozen=True, slots=True)
class NotCompared:
    """A value that says nothing about the training, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Difference:
    """Everything in which two renderings of one job differ or do not."""

    job: str
    """Kind, namespace and name."""
    launcher: str
    """What the container that trains starts, as far as its command shows."""
    training: tuple[str, str]
    """Who trains with whom on v1 and on v2, for users."""
    meets: tuple[Mapping[Place, frozenset[int]], Mapping[Place, frozenset[int]]]
    """Of each side which pods every pod that trains knows, by the number of the pod in this very order."""
    every_node_alone: bool
    """Whether v1's pods form groups and each of v2's trains alone."""
    compat: bool
    """Whether the training is the same only because v1's variables are written out on v2."""
    pairs: tuple[Pair, ...]
    whole: tuple[Item, ...]
    """What is about no single pod."""
    situations: tuple[Item, ...]
    """What happens when; the path is the situation."""
    not_compared: tuple[NotCompared, ...]

    def items(self) -> Iterator[Item]:
        """All of them."""
        for pair in self.pairs:
            yield from pair.items
        yield from self.whole
        yield from self.situations

    @property
    def worst(self) -> Severity | None:
        """How bad the worst item is."""
        found = {item.severity for item in self.items()}
        return next((each for each in Severity if each in found), None)

    @property
    def summary(self) -> Summary:
        """What becomes of the training."""
        if self.worst is Severity.ERROR:
            return Summary.DIFFERENT
        if self.worst is Severity.WARNING:
            return Summary.LIFE_CYCLE
        return Summary.COMPAT if self.compat else Summary.EQUIVALENT

    @property
    def headline(self) -> str:
        """One sentence for users."""
        match self.summary:
            case Summary.DIFFERENT if self.every_node_alone:
                return f"trains differently: every node trains alone (v1: {self.training[0]}; v2: {self.training[1]})"
            case Summary.DIFFERENT:
                reasons = _distinct(Severity.ERROR, self.items())
                return f"trains differently: {'; '.join(reasons)}"
            case Summary.LIFE_CYCLE:
                reasons = _distinct(Severity.WARNING, self.items())
                return f"{self.summary.value}: {'; '.join(reasons)}"
        return self.summary.value


def _distinct(severity: Severity, items: Iterator[Item]) -> list[str]:
    texts = [f"{item.path}: {item.reason or item.verdict.value}" for item in items if item.severity is severity]
    several = list(dict.fromkeys(texts))
    return several if len(several) <= 3 else [*several[:3], f"and {len(several) - 3} more"]
