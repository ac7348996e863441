"""How containers that end and pods that fail decide on the whole job, in words that both sides share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from training_migration.index_lists import ranges


class FailureAction(StrEnum):
    """What becomes of the job."""

    FAILS = "the job fails"
    GOES_ON = "the job continues without the pod"
    RESTARTS = "starts again"
    RESTARTS_ALL = "all pods start again"


@dataclass(frozen=True, slots=True)
class Reaction:
    """To the failure of a container."""

    action: FailureAction
    limit: int | None = None
    """Number of restarts at which the job fails; None: there is no limit."""
    in_place: bool = False
    """Whether it is the container that starts again, or a new pod that comes."""
    counted: str = ""
    """Whose restarts are counted together."""

    def __str__(self) -> str:
        """For users."""
        action, _ = self.effective
        if action in (FailureAction.FAILS, FailureAction.GOES_ON):
            return action.value
        if self.action is FailureAction.RESTARTS_ALL:
            return f"all pods start again, at most {self.limit} times"
        what = "the container starts again" if self.in_place else "a new pod comes"
        if self.limit is None:
            return f"{what}, without limit"
        return f"{what}; the job fails at {self.limit} restarts{f' of {self.counted}' if self.counted else ''}"

    @property
    def effective(self) -> tuple[FailureAction, int | None]:
        """What matters for the end of the job: a limit of none is a failure at the first."""
        if self.action is FailureAction.RESTARTS and self.limit == 0:
            return FailureAction.FAILS, None
        return self.action, self.limit


@dataclass(frozen=True, slots=True)
class Success:
    """Which pods have to end well."""

    pods: frozenset[int]
    """By what they are called on both sides."""
    any_of_them: bool = False
    """Whether one of them is enough."""

    def described(self, names: dict[int, str], count: int) -> str:
        """For users; `names` are those of this side's pods."""
        if len(self.pods) == count and count > 1:
            return "one pod is enough" if self.any_of_them else "all pods have to"
        roles: dict[str, list[int]] = {}
        for pod in sorted(self.pods):
            role, _, index = names.get(pod, f"pod {pod}").rpartition(" ")
            roles.setdefault(role, []).append(int(index))
        listed = ", ".join(f"{role} {ranges(indexes)}" for role, indexes in roles.items())
        return f"one of {listed} is enough" if self.any_of_them and len(self.pods) > 1 else listed
