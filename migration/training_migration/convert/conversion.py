"""What a conversion is given, and what comes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from training_migration.choices import Asymmetric, CompatEnv, Ttl
from training_migration.findings import Finding, Verdict, verdict
from training_migration.targets import Target
from training_migration.v1_job import V1Job

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Options:
    """How to convert; the same options and job give the same bytes."""

    target: Target
    kubernetes: str = ""
    """Version of the cluster, for example `1.31`; empty: the oldest that the target supports."""
    compat_env: CompatEnv = CompatEnv.AUTO
    ttl: Ttl = Ttl.DROP
    asymmetric: Asymmetric = Asymmetric.MERGE_MAX
    native_sidecars: bool = False
    stock: bool = False
    """Refer to a ClusterTrainingRuntime that v2 ships where nothing is lost by it."""
    gang_scheduler: str = ""
    """The flag `--gang-scheduler-name` of v1's operator; empty: as the job looks."""
    name: str = ""
    """Of the TrainJob; empty: the job's."""
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Conversion:
    """One converted job."""

    job: V1Job
    options: Options
    runtime: Json | None
    """The TrainingRuntime; None where a stock one is referred to."""
    train_job: Json
    others: tuple[Json, ...]
    """What must be there before the TrainJob next to the runtime."""
    findings: tuple[Finding, ...]
    rejected: str = ""
    """Why the objects must not be applied, in sentences; empty: they may be."""
    runtime_is_shared: bool = False
    """Whether other jobs have the same runtime, so that it is none of the objects of this one."""

    @property
    def objects(self) -> tuple[Json, ...]:
        """In the order in which they are to be applied."""
        own = [] if self.runtime is None or self.runtime_is_shared else [self.runtime]
        return (*self.others, *own, self.train_job)

    @property
    def verdict(self) -> Verdict:
        """What becomes of the job; one that is rejected is not done."""
        found = verdict(self.findings)
        return Verdict.NEEDS_WORK if self.rejected and found in (Verdict.EXACT, Verdict.EQUIVALENT) else found
