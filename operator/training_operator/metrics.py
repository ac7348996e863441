"""What the operator measures, under the names that v1 and its libraries use.

Children of labelled metrics are made once and kept: looking one up costs four times as much as counting.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.metrics_core import CounterMetricFamily
from prometheus_client.registry import Collector

from training_api.kinds import KindInfo
from training_controllers.ports import ObjectCounter
from training_operator.controller import ResultLabel
from training_operator.job_metrics import JobCounters, JobSeries, JobStates

NEVER_COUNTED: Final = {
    "certwatcher_read_certificate_total": "Certificates read; always 0",
    "certwatcher_read_certificate_errors_total": "Certificates that could not be read; always 0",
    "leader_election_slowpath_total": "Renewals of the lease on a slow path; always 0",
}
"""Names that dashboards of v1 may ask for and that have nothing to count here."""
RECONCILE_SECONDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
QUEUE_SECONDS: Final = (1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100)

disable_created_metrics()  # type: ignore[no-untyped-call] # the library left this one function without types


class Metrics:
    """All metrics of one process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry: Final = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)
        GCCollector(registry=self.registry)
        self._jobs = JobSeries(self.registry)
        self._reconciles = self._counter(
            "controller_runtime_reconcile_total", "Reconciles by controller and result", "controller", "result"
        )
        self._errors = self._counter(
            "controller_runtime_reconcile_errors_total", "Reconciles that ended with an error", "controller"
        )
        # v1's dashboards read it; here every error is retried, so it stays 0.
        self._terminal = self._counter(
            "controller_runtime_terminal_reconcile_errors_total", "Errors that are not retried", "controller"
        )
        self._panics = self._counter("controller_runtime_reconcile_panics_total", "Unexpected errors", "controller")
        self._timeouts = self._counter(
            "controller_runtime_reconcile_timeouts_total", "Reconciles that timed out; always 0", "controller"
        )
        self._undecodable = self._counter(
            "training_operator_undecodable_objects_total", "Objects that cannot be decoded and are skipped", "resource"
        )
        self._seconds = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "Duration of a reconcile",
            ("controller",),
            registry=self.registry,
            buckets=RECONCILE_SECONDS,
        )
        self._most_workers = self._gauge(
            "controller_runtime_max_concurrent_reconciles", "Workers of a controller", "controller"
        )
        self._workers = self._gauge("controller_runtime_active_workers", "Workers at work", "controller")
        self._requests = collections.Counter[tuple[str, int]]()
        self.registry.register(_RequestCollector(self._requests))
        self._leader = self._gauge("leader_election_master_status", "Whether this process holds the lease", "name")
        self._queue = _QueueSeries(self.registry)
        for name, text in NEVER_COUNTED.items():
            self._counter(name, text)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, registry=self.registry)

    def count_request(self, method: str, code: int) -> None:
        """Count one attempt of a request; `code` is 0 if there was no answer."""
        self._requests[method, code] += 1

    def count_object(self, counter: ObjectCounter) -> None:
        """Count one pod or service."""
        self._jobs.objects[counter] += 1

    def count_disruption(self, info: KindInfo, namespace: str) -> None:
        """Count a pod that the cluster has ended."""
        self._jobs.disrupted.labels(namespace, info.metrics_label).inc()

    def job_counters(self, info: KindInfo) -> JobCounters:
        """Return the metrics of the jobs of one kind."""
        return self._jobs.of_kind(info.metrics_label)

    def jobs(self, info: KindInfo, job_states: JobStates) -> None:
        """Count the jobs of one kind by what `job_states` returns at each scrape."""
        self._jobs.job_states[info.metrics_label] = job_states

    def controller(self, name: str, workers: int) -> ControllerMetrics:
        """Return the metrics of one controller, present with value 0 from the start."""
        self._most_workers.labels(name).set(workers)
        self._timeouts.labels(name)
        self._terminal.labels(name)
        return ControllerMetrics(
            results={outcome: self._reconciles.labels(name, outcome.value) for outcome in ResultLabel},
            errors=self._errors.labels(name),
            panics=self._panics.labels(name),
            seconds=self._seconds.labels(name),
            workers=self._workers.labels(name),
            retries=self._queue.retries.labels(name, name),
        )

    def queue(self, name: str, queue: Callable[[], Measurable]) -> QueueMetrics:
        """Return the metrics of one work queue; `queue` returns it at each scrape."""
        return QueueMetrics(self._queue, name, queue)

    def undecodable(self, resource: str) -> Callable[[], None]:
        """Return what counts objects of `resource` that cannot be decoded."""
        return self._undecodable.labels(resource).inc

    def leader(self, lease: str) -> Callable[[bool], None]:
        """Return what notes whether this process holds the lease of this name."""
        child = self._leader.labels(lease)
        child.set(0)
        return lambda leading: child.set(1 if leading else 0)

    def exposition(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)


class _RequestCollector(Collector):
    """Reads how many requests there were at each scrape: counting one takes no lock then."""

    def __init__(self, requests: collections.Counter[tuple[str, int]]) -> None:
        self._requests = requests

    def collect(self) -> Iterator[CounterMetricFamily]:
        """Return the number of requests by status code and method."""
        text = "Requests to the API server by method and status code"
        family = CounterMetricFamily("rest_client_requests", text, labels=("code", "method"))
        for (method, code), count in self._requests.items():
            family.add_metric((str(code or "<error>"), method), count)
        yield family


class ControllerMetrics:
    """The `controller_runtime_*` metrics of one controller."""

    def __init__(
        self,
        *,
        results: dict[ResultLabel, Counter],
        errors: Counter,
        panics: Counter,
        seconds: Histogram,
        workers: Gauge,
        retries: Counter,
    ) -> None:
        self._results, self._errors, self._panics = results, errors, panics
        self._seconds, self._workers, self._retries = seconds, workers, retries

    def began(self) -> None:
        """Note a reconcile that begins."""
        self._workers.inc()

    def ended(self, outcome: ResultLabel, seconds: float) -> None:
        """Note the end of a reconcile."""
        self._workers.dec()
        self._seconds.observe(seconds)
        self._results[outcome].inc()
        if outcome is ResultLabel.ERROR:
            self._errors.inc()

    def crashed(self) -> None:
        """Note an unexpected error (a panic, in the words of the metric)."""
        self._panics.inc()

    def retried(self) -> None:
        """Note a key that goes to its back-off."""
        self._retries.inc()


class Measurable(Protocol):
    """What a scrape asks of a work queue."""

    def __len__(self) -> int:
        """Return the number of keys that wait."""
        ...

    def working(self) -> list[float]:
        """For how many seconds each key has been worked on that is out now."""
        ...


class _QueueSeries:
    """The `workqueue_*` metrics of all queues."""

    def __init__(self, registry: CollectorRegistry) -> None:
        labels = ("name", "controller")
        self.depth = Gauge("workqueue_depth", "Keys that wait", labels, registry=registry)
        self.adds = Counter("workqueue_adds_total", "Keys added to the queue", labels, registry=registry)
        self.retries = Counter("workqueue_retries_total", "Keys requeued after an error", labels, registry=registry)
        self.unfinished = Gauge(
            "workqueue_unfinished_work_seconds", "Time spent so far on unfinished keys", labels, registry=registry
        )
        self.longest = Gauge(
            "workqueue_longest_running_processor_seconds",
            "Time spent so far on the longest of them",
            labels,
            registry=registry,
        )
        self.waited = Histogram(
            "workqueue_queue_duration_seconds",
            "Time that keys wait in the queue",
            labels,
            registry=registry,
            buckets=QUEUE_SECONDS,
        )
        self.worked = Histogram(
            "workqueue_work_duration_seconds",
            "Time that workers take for a key",
            labels,
            registry=registry,
            buckets=QUEUE_SECONDS,
        )


class QueueMetrics:
    """The `workqueue_*` metrics of one queue."""

    def __init__(self, series: _QueueSeries, name: str, queue: Callable[[], Measurable]) -> None:
        series.depth.labels(name, name).set_function(lambda: len(queue()))
        series.unfinished.labels(name, name).set_function(lambda: sum(queue().working()))
        series.longest.labels(name, name).set_function(lambda: max(queue().working(), default=0.0))
        self._adds = series.adds.labels(name, name)
        self._waited, self._worked = series.waited.labels(name, name), series.worked.labels(name, name)

    def added(self) -> None:
        """Note a key that became ready."""
        self._adds.inc()

    def started(self, waited: float) -> None:
        """Note a key handed out after `waited` seconds."""
        self._waited.observe(waited)

    def finished(self, worked: float) -> None:
        """Note a key whose worker took `worked` seconds."""
        self._worked.observe(worked)
