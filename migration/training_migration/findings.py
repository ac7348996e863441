"""What is found in a job, a runtime or a script: which rule, where, and what would be right."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Severity(StrEnum):
    """How bad it is."""

    ERROR = "error"
    """It will not run, or will train something else."""
    WARNING = "warning"
    """It behaves differently in some situation."""
    INFO = "info"
    """Worth knowing."""


class Verdict(StrEnum):
    """What becomes of a job, from the best to the worst."""

    EXACT = "exact"
    """Nothing but names differs."""
    EQUIVALENT = "equivalent"
    """The same training happens; something around it differs."""
    NEEDS_WORK = "needs-work"
    """A person has to change something first."""
    IMPOSSIBLE = "impossible"
    """No TrainJob can do its training."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that is looked for; its page in the documentation is made from this."""

    id: str
    """`MIG` and three digits; never used for anything else, even after the rule no longer exists."""
    severity: Severity
    finds: str
    """What is found, as the title of its page."""
    why: str
    """Why it matters: what v1 did, what v2 does."""
    remedy: str
    """What to do about it."""
    reference: str
    """Where the fact is from: an issue of kubeflow/trainer, a page of its documentation, a Kubernetes API."""
    converted: bool = False
    """Whether `convert` fixes it."""
    counterpart: bool = True
    """Whether v2 has anything that does the same; a job may train without it nevertheless."""
    trains: bool = True
    """Whether a TrainJob can do the training of a job with this."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a rule applies."""

    rule: Rule
    message: str
    """One sentence: what is there, and what comes of it."""
    path: str = ""
    """Field of the object, for example `spec.pytorchReplicaSpecs[Worker].restartPolicy`."""
    source: str = ""
    """File, or `-`, or `cluster`."""
    line: int = 0
    """In the source, from 1; 0: none."""
    severity: Severity | None = None
    """Where it is not the rule's."""
    fixed: bool = False
    """Whether the conversion that it belongs to has fixed it."""

    @property
    def level(self) -> Severity:
        """The severity in this place."""
        return self.severity or self.rule.severity

    @property
    def lacks_counterpart(self) -> bool:
        """Whether v2 has nothing that does the same, and that is not fixed and matters."""
        return not self.rule.counterpart and not self.fixed and self.level is not Severity.INFO


def verdict(findings: Iterable[Finding]) -> Verdict:
    """What becomes of a job with these findings."""
    open_ones = [each for each in findings if not each.fixed]
    if any(not each.rule.trains for each in open_ones):
        return Verdict.IMPOSSIBLE
    if any(each.level is Severity.ERROR for each in open_ones):
        return Verdict.NEEDS_WORK
    if any(each.level is Severity.WARNING for each in open_ones):
        return Verdict.EQUIVALENT
    return Verdict.EXACT
