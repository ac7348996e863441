"""All that happens to a job, for jobs that no user would write."""

from __future__ import annotations

import gc
import json
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from datetime import UTC, datetime
from random import Random
from typing import Any, Final

import msgspec
from e2e.support.any_job.jobs import ODD_TEXTS, Json, any_job, definition

from training_api.registry import KINDS
from training_controllers.decide.decide import decide
from training_controllers.frameworks.registry import frameworks
from training_controllers.model.plan import Plan, Snapshot
from training_controllers.model.pod_spec import CannotBuild
from training_controllers.model.records import JobRecord, Owner, PodRecord
from training_controllers.reconcile.builders import build_owned_object, build_pod, build_service
from training_controllers.reconcile.loader import Loader
from training_local.apiserver.crd import crd_types
from training_migration.convert import convert
from training_migration.convert.conversion import Options
from training_migration.lint import lint_v1
from training_migration.targets import Target
from training_migration.v1_job import Invalid, v1_job
from training_operator.kube import decoders

NOW: Final = datetime(2026, 3, 1, 12, tzinfo=UTC)
MADE: Final = 20
"""Pods and services of a plan that are built: each is as any other."""


def pods_of(job: Json, seed: object) -> Iterator[PodRecord]:
    """Some pods that say they are the job's."""
    random, info = Random(f"pods {seed}"), KINDS[job["kind"]]
    for number in range(random.choice((0, 0, 1, 2, 4))):
        yield PodRecord(
            namespace="ns",
            name=f"p{number}",
            uid=f"p{number}",
            version="1",
            owner=Owner(info.kind, "job", "u"),
            replica_type=random.choice([*info.replica_types, "", "x"]).lower(),
            index=random.choice((-1, 0, 0, 1, 2, 2**63 - 1)),
            phase=random.choice(["", "Pending", "Running", "Succeeded", "Failed", "x"]),
            ready=random.random() < 0.5,
            deleting=random.random() < 0.2,
            message=random.choice(ODD_TEXTS),
            restarts_before=random.choice((0, 1, 10**6)),
            backoff_level=random.choice((0, 1, 10**6)),
            attempt=random.choice((0, 1, 10**6)),
            created=NOW,
        )


@dataclass
class Seen:
    """What the stages have made of all jobs so far."""

    clock: Callable[[], float] = time.thread_time
    """What a stage takes is measured by: processor seconds, which other programs hardly change."""
    verdicts: Counter[str] = field(default_factory=Counter)
    """How often each stage was passed, or rejected with a named error."""
    slowest: dict[str, tuple[float, str]] = field(default_factory=dict)
    """What the slowest job of each stage took, and which one it was."""
    failures: list[str] = field(default_factory=list)

    @property
    def summary(self) -> str:
        """A line for each stage."""
        lines = []
        for stage, (seconds, which) in self.slowest.items():
            passed, rejected = (self.verdicts[f"{stage} {verdict}"] for verdict in ("passed", "rejected"))
            lines.append(f"{stage}: {passed} passed, {rejected} rejected; {seconds * 1000:.0f} ms at most, {which}")
        return "\n".join(lines)

    def run(self, stage: str, which: str, work: Callable[[], bool]) -> None:
        """Run one stage for one job; what it raises is a failure."""
        began = self.clock()
        try:
            passed = work()
        except Exception as error:
            self.failures.append(f"{stage} {which}: {_where(error)}")
            passed = False
        took = self.clock() - began
        self.verdicts[f"{stage} {'passed' if passed else 'rejected'}"] += 1
        self.slowest[stage] = max(self.slowest.get(stage, (0.0, "")), (took, which))


def _where(error: Exception) -> str:
    """The error with the place of ours where it was raised."""
    trace, places = error.__traceback__, []
    while trace is not None:
        code = trace.tb_frame.f_code
        if "training_" in code.co_filename:
            places.append(f"{code.co_filename.rpartition('training_')[2]}:{trace.tb_lineno} {code.co_name}")
        trace = trace.tb_next
    return f"{type(error).__name__}: {str(error)[:200]} in {places[-1] if places else '?'}"


class Stages:
    """All that happens to jobs of a kind, from the API server to Trainer v2."""

    def __init__(self, kind: str, seen: Seen) -> None:
        self._kind, self._seen = kind, seen
        [self._type] = crd_types(definition(kind))
        self._framework = frameworks()[kind]
        self._options = [Options(target) for target in Target]

    def play(self, seed: object, *, admit: bool = True) -> None:
        """Take one job through all stages; later ones also get what earlier ones have rejected."""
        job, which = any_job(self._kind, seed), f"{self._kind} {seed}"
        if admit:
            self._seen.run("crd", which, lambda: self._admitted(deepcopy(job)))
        self._seen.run("decide", which, lambda: self._decided(job, seed))
        self._seen.run("migrate", which, lambda: self._migrated(job))

    def _admitted(self, job: Json) -> bool:
        rules = self._type.rules
        return not rules.for_create(rules.decode(job).obj, None).causes  # type: ignore[arg-type]  # the rules of CRDs ask for no context

    def _decided(self, job: Json, seed: object) -> bool:
        """The path of a stored job: its record, decoding, defaults, validation, decision, the objects that it needs."""
        try:
            record: JobRecord = decoders.job(json.dumps(job).encode())
        except msgspec.MsgspecError:
            return False
        loaded = Loader(self._framework).load(record)
        if loaded.job is None or loaded.problem:
            return False
        snapshot = Snapshot(job=loaded.job, pods=tuple(pods_of(job, seed)), services=(), now=NOW)
        self._build(snapshot, decide(snapshot, self._framework))
        return True

    def _build(self, snapshot: Snapshot, plan: Plan) -> None:
        job, framework = snapshot.job, self._framework
        work: list[Callable[[], Mapping[str, Any]]] = [
            *(lambda new=new: build_pod(job, framework, new) for new in plan.create_pods[:MADE]),
            *(lambda slot=slot: build_service(job, framework, slot) for slot in plan.create_services[:MADE]),
            *(
                lambda owned=change.wanted: build_owned_object(job, owned, lambda number: b"x" * number)
                for change in plan.owned_changes
                if change.wanted is not None
            ),
        ]
        for build in work:
            try:
                json.dumps(build())
            except CannotBuild:
                continue

    def _migrated(self, job: Json) -> bool:
        try:
            found = v1_job(job)
        except Invalid:
            return False
        for options in self._options:
            convert(found, options)
        lint_v1(found, self._options[-1])
        return True


def growth(kind: str, seed: str, number: int) -> int:
    """Bytes of memory that are more in use after so many further jobs, once as many have been through the stages.

    Without the API server's: the evaluator of CEL keeps what functions of Kubernetes are called with, some 200 bytes
    a call, and numbers that do not fit into 64 bits.
    """
    stages, used = Stages(kind, Seen()), []
    tracemalloc.start()
    try:
        for half in range(2):
            for each in range(number):
                stages.play(f"memory/{seed}/{half}/{each}", admit=False)
            gc.collect()
            used.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    return used[1] - used[0]
