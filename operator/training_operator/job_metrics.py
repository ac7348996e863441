"""What the operator measures of jobs: v1's counters, and how long jobs take, what restarts, how many there are."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from training_controllers.decide.measures import JobPhase, Measures
from training_controllers.model.plan import Counter as JobCounter
from training_controllers.ports import ObjectCounter

OBJECT_HELP: Final = {
    ObjectCounter.PODS_CREATED: "The total number of created pods",
    ObjectCounter.PODS_DELETED: "The total number of deleted pods",
    ObjectCounter.PODS_FAILED: "The total number of failed pods",
    ObjectCounter.SERVICES_CREATED: "The total number of succeeded service creation",
    ObjectCounter.SERVICES_FAILED: "The total number of failed service creation",
    ObjectCounter.POD_GROUPS_CREATED: "The total number of created pod groups",
    ObjectCounter.POD_GROUPS_DELETED: "The total number of deleted pod groups",
}
JOB_LABELS: Final = ("job_namespace", "framework")
MINUTE, HOUR, DAY = 60, 3600, 86400
START_SECONDS: Final = (1, 2, 5, 10, 20, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR)
DURATION_SECONDS: Final = (
    *(10, 30, MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR),
    *(3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 3 * DAY, 7 * DAY),
)

JobStates = Callable[[], Iterable[tuple[str, JobPhase]]]
"""Returns namespace and phase of each job of a kind."""


class JobSeries:
    """The metrics of the jobs of all kinds, in one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.transitions = {
            each: Counter(
                f"training_operator_jobs_{each}_total", f"Counts number of jobs {each}", JOB_LABELS, registry=registry
            )
            for each in JobCounter
        }
        self.objects = dict.fromkeys(ObjectCounter, 0)
        self.start = Histogram(
            "training_operator_job_start_seconds",
            "Time from the creation of a job, or its resumption if it began suspended, until it ran",
            ("framework",),
            registry=registry,
            buckets=START_SECONDS,
        )
        self.duration = Histogram(
            "training_operator_job_duration_seconds",
            "Time from the start of a job, or its last resumption, until it ended",
            ("framework", "result"),
            registry=registry,
            buckets=DURATION_SECONDS,
        )
        self.restarts = Counter(
            "training_operator_restarts_total", "Restarts by cause", (*JOB_LABELS, "cause"), registry=registry
        )
        self.disrupted = Counter(
            "training_operator_pods_disrupted_total",
            "Pods that the cluster terminated: evicted, preempted, shut down or lost with their node",
            JOB_LABELS,
            registry=registry,
        )
        self.job_states: dict[str, JobStates] = {}
        registry.register(_JobCollector(self.job_states))
        registry.register(_ObjectCollector(self.objects))

    def of_kind(self, framework: str) -> JobCounters:
        """Return the metrics of one kind."""
        return JobCounters(self, framework)


class JobCounters:
    """The metrics of the jobs of one kind (the port `Counters` of the engine)."""

    def __init__(self, series: JobSeries, framework: str) -> None:
        self._objects = series.objects
        self._start = series.start.labels(framework)
        self._durations = {
            succeeded: series.duration.labels(framework, "succeeded" if succeeded else "failed")
            for succeeded in (True, False)
        }
        self._transition = cache(lambda counter, namespace: series.transitions[counter].labels(namespace, framework))
        self._restart = cache(lambda cause, namespace: series.restarts.labels(namespace, framework, cause))

    def count_job(self, counter: JobCounter, namespace: str) -> None:
        """Count one job's transition."""
        self._transition(counter, namespace).inc()

    def count_object(self, counter: ObjectCounter) -> None:
        """Count one pod or service."""
        self._objects[counter] += 1

    def measure(self, measures: Measures, namespace: str) -> None:
        """Record the measures of one stored status."""
        if measures.start is not None:
            self._start.observe(measures.start)
        if measures.duration is not None:
            self._durations[measures.succeeded].observe(measures.duration)
        for cause, count in measures.restarts.items():
            self._restart(cause.value, namespace).inc(count)


class _ObjectCollector(Collector):
    """Reads the counters of pods, services and pod groups at each scrape: counting one takes no lock then."""

    def __init__(self, objects: Mapping[ObjectCounter, int]) -> None:
        self._objects = objects

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Return each of them."""
        return (CounterMetricFamily(each, OBJECT_HELP[each], value=count) for each, count in self._objects.items())


class _JobCollector(Collector):
    """Counts the jobs at each scrape, so that no counter has to be kept in step with them."""

    def __init__(self, job_states: dict[str, JobStates]) -> None:
        self._job_states = job_states

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Return the number of jobs by state, and of those that wait by reason."""
        jobs = GaugeMetricFamily("training_operator_jobs", "Jobs by state", labels=(*JOB_LABELS, "state"))
        waiting = GaugeMetricFamily(
            "training_operator_jobs_waiting", "Jobs that wait, by reason", labels=(*JOB_LABELS, "reason")
        )
        for framework, job_states in self._job_states.items():
            phases = list(job_states())
            states = collections.Counter((namespace, each.state) for namespace, each in phases if each.state)
            reasons = collections.Counter((namespace, each.waiting) for namespace, each in phases if each.waiting)
            for family, counts in ((jobs, states), (waiting, reasons)):
                for (namespace, label), count in counts.items():
                    family.add_metric((namespace, framework, label), count)
        yield from (jobs, waiting)
