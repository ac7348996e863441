"""The life cycle as situations: if this happens, v1 does one thing and v2 another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from training_api.models.common import CleanPodPolicy, RestartPolicy
from training_migration.diff import v1_endings, v2_endings
from training_migration.diff.endings import FailureAction, Reaction
from training_migration.diff.model import Aspect, Item, Likeness
from training_migration.diff.pairing import Place
from training_migration.diff.side import RenderedSide
from training_migration.findings import Severity
from training_migration.v1_job import V1Job

Json = dict[str, Any]
Numbers = Mapping[Place, int]
_CODES: Final = (1, 137)
"""An error of the program, and the end by a signal, for example for want of memory."""

_TIDIED: Final = {"None": "all pods stay", "Running": "running pods are deleted", "All": "all pods are deleted"}
"""By clean-up policy."""


@dataclass(frozen=True, slots=True)
class Lives:
    """All that decides on the life of both sides' jobs."""

    job: V1Job
    v2: RenderedSide
    numbers: tuple[Numbers, Numbers]
    train_job: Json | None
    """None: it was not given."""

    def situations(self) -> Iterator[Item]:
        """All of them."""
        yield self._success()
        yield from self._failures()
        yield from self._deadline()
        yield self._clean_up()
        yield from self._time_to_live()
        yield self._deleted_pod()
        yield self._suspended()
        yield from self._manager()

    def _success(self) -> Item:
        first, second = v1_endings.success(self.job, self.numbers[0]), v2_endings.success(self.v2, self.numbers[1])
        texts = [
            answer.described({number: str(place) for place, number in known.items()}, len(known))
            for answer, known in ((first, self.numbers[0]), (second, self.numbers[1]))
        ]
        when = "for the job to succeed, these pods have to end with 0"
        lets_run_on = self.job.job.spec.run_policy.clean_pod_policy in (None, CleanPodPolicy.NONE)
        cut_off = len(second.pods) < len(self.numbers[1]) or second.any_of_them
        if first == second and not (lets_run_on and cut_off and self.job.job.info.kind != "MPIJob"):
            return _item(when, texts[0], texts[1], same=texts[0] == texts[1], reason="the same pods")
        if lets_run_on and first.pods <= second.pods and not cut_off:
            reason = "v2 waits for pods that v1 lets run on"
            return _item(when, texts[0], texts[1], severity=Severity.INFO, reason=reason)
        if lets_run_on and first.pods <= second.pods:
            reason = "pods that v1 lets run on are deleted"
            return _item(when, texts[0], texts[1], severity=Severity.WARNING, reason=reason)
        severity = Severity.WARNING
        return _item(when, texts[0], texts[1], severity=severity, reason="other pods decide on the end of the job")

    def _failures(self) -> Iterator[Item]:
        """One for each role of v1 and each exit code after which something else happens than after the one before."""
        partners = {number: place for place, number in self.numbers[1].items()}
        for role, members in _by_role(self.numbers[0]).items():
            first = members[0]
            partner = partners.get(self.numbers[0][first])
            if partner is None:
                continue
            container = self.v2.pods[partner].container
            answers = [
                (v1_endings.reaction(self.job, role, code), v2_endings.reaction(self.v2, partner.role, container, code))
                for code in _CODES
            ]
            name = str(first) if len(members) == 1 else f"a {role}"
            for code, pair in zip(_CODES, answers, strict=True):
                if code == _CODES[0] or pair != answers[0]:
                    yield _failure(f"if {name} ends with {code}", *pair)
            if self._starts_after_success(role):
                yield _item(
                    f"if {name} ends with 0",
                    "the container starts again",
                    "the pod has succeeded",
                    severity=Severity.WARNING,
                    reason="a Job never starts again what has ended well",
                )

    def _starts_after_success(self, role: str) -> bool:
        policies = {name.lower(): replica.restart_policy for name, replica in self.job.job.replicas.items()}
        return policies[role] is RestartPolicy.ALWAYS

    def _deadline(self) -> Iterator[Item]:
        first = self.job.job.spec.run_policy.active_deadline_seconds
        limits = [each["template"]["spec"] for each in v2_endings.jobset(self.v2).get("replicatedJobs") or ()]
        of_jobs = [spec["activeDeadlineSeconds"] for spec in limits if spec.get("activeDeadlineSeconds") is not None]
        own = self._train_job_field("activeDeadlineSeconds")
        second = min([*of_jobs, *([own] if own is not None else [])], default=None)
        if first is None and second is None:
            return
        texts = [f"fails after {seconds} s" if seconds is not None else "runs on" for seconds in (first, second)]
        when = "if the job is active for very long"
        if first == second:
            reason = "counted from its creation; then its pods are deleted, whatever the `cleanPodPolicy` says"
            yield _item(when, texts[0], texts[1], same=False, reason=reason)
        elif self.train_job is None and second is None:
            reason = "the TrainJob, which may have a deadline, was not given"
            yield _item(when, texts[0], "not known", severity=Severity.INFO, reason=reason)
        else:
            yield _item(when, *texts, severity=Severity.WARNING, reason="the deadline is another one")

    def _train_job_field(self, name: str) -> Any:
        return ((self.train_job or {}).get("spec") or {}).get(name)

    def _clean_up(self) -> Item:
        """JobSet deletes what still runs, and keeps what has ended, unless it has a time to live of its own."""
        policy = self.job.job.spec.run_policy.clean_pod_policy or "None"
        at_once = v2_endings.jobset(self.v2).get("ttlSecondsAfterFinished") == 0
        v1 = _TIDIED[str(policy)]
        v2 = _TIDIED["All" if at_once else "Running"]
        when = "when the job has ended"
        if v1 == v2:
            return _item(when, v1, v2)
        return _item(when, v1, v2, severity=Severity.INFO, reason="logs are there for as long as the pods are")

    def _time_to_live(self) -> Iterator[Item]:
        first = self.job.job.spec.run_policy.ttl_seconds_after_finished
        second = v2_endings.jobset(self.v2).get("ttlSecondsAfterFinished")
        if first is None and second is None:
            return
        texts = (
            "the job is deleted" if first is not None else "the job stays",
            "the TrainJob stays, its pods are deleted" if second is not None else "the TrainJob and its pods stay",
        )
        when = f"{first if first is not None else second} s after the end"
        yield _item(when, *texts, severity=Severity.INFO, reason="TrainJobs have to be deleted by other means")

    def _deleted_pod(self) -> Item:
        limits = [each["template"]["spec"] for each in v2_endings.jobset(self.v2).get("replicatedJobs") or ()]
        fails = any(spec.get("backoffLimit") == 0 and not spec.get("podFailurePolicy") for spec in limits)
        when, v1 = "if a running pod is deleted", "a new pod with the same name is created"
        if fails:
            v2, reason = (
                "the job fails, if that pod's Job allows no retry",
                "a Job counts a deleted pod as a failed one",
            )
            return _item(when, v1, v2, severity=Severity.INFO, reason=reason)
        reason = "its host name stays, the name of the pod is a new one"
        return _item(when, v1, "a new pod comes under a new name", same=False, reason=reason)

    def _suspended(self) -> Item:
        first, second = self.job.job.spec.run_policy.suspend, bool(v2_endings.jobset(self.v2).get("suspend"))
        texts = ["it waits until it is resumed" if each else "it starts" for each in (first, second)]
        if first == second:
            return _item("when the job is created", texts[0], texts[1])
        reason = "one side is suspended, the other is not"
        return _item("when the job is created", texts[0], texts[1], severity=Severity.WARNING, reason=reason)

    def _manager(self) -> Iterator[Item]:
        first = self.job.job.spec.run_policy.managed_by
        second = self._train_job_field("managedBy")
        external = [_external(each) for each in (first, second)]
        if any(external) and self.train_job is not None:
            texts = [f"{each} does" if each else "the controller of this cluster does" for each in external]
            same = external[0] == external[1]
            yield _item(
                "who runs the job",
                *texts,
                same=same,
                severity=None if same else Severity.WARNING,
                reason="" if same else "another controller is in charge",
            )


def _external(manager: str | None) -> str:
    """The manager, where it is neither v1's operator nor Trainer itself."""
    own = ("kubeflow.org/training-operator", "trainer.kubeflow.org/trainjob-controller")
    return "" if manager in (None, *own) else str(manager)


def _by_role(numbers: Numbers) -> dict[str, list[Place]]:
    roles: dict[str, list[Place]] = {}
    for place in numbers:
        roles.setdefault(place.role, []).append(place)
    return roles


def _failure(when: str, v1: Reaction, v2: Reaction) -> Item:
    if v1.effective != v2.effective:
        return _item(when, str(v1), str(v2), severity=Severity.WARNING, reason="the job ends at another point")
    if v1.in_place != v2.in_place and v1.effective[0] is FailureAction.RESTARTS:
        return _item(when, str(v1), str(v2), severity=Severity.INFO, reason="what the container has written is lost")
    if str(v1) == str(v2):
        return _item(when, str(v1), str(v2))
    return _item(when, str(v1), str(v2), severity=Severity.INFO, reason="restarts are counted for each role on its own")


def _item(
    when: str, v1: str, v2: str, *, same: bool = True, severity: Severity | None = None, reason: str = ""
) -> Item:
    if severity is not None:
        return Item(Aspect.LIFE_CYCLE, when, v1, v2, Likeness.DIFFERENT, reason, severity)
    verdict = Likeness.SAME if same else Likeness.EQUIVALENT
    return Item(Aspect.LIFE_CYCLE, when, v1, v2, verdict, "" if same else reason)
