"""What the operator measures, under the names that v1 and its libraries use (engine.md 18).

Children of labelled metrics are made once and kept: looking one up costs four times as much as counting.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Final

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

from training_api.kinds import KindInfo
from training_controllers.engine.model import Counter as JobCounter
from training_controllers.ports import ObjectCounter
from training_operator.controller import Outcome

OBJECT_HELP: Final = {
    ObjectCounter.PODS_CREATED: "The total number of created pods",
    ObjectCounter.PODS_DELETED: "The total number of deleted pods",
    ObjectCounter.PODS_FAILED: "The total number of failed pods",
    ObjectCounter.SERVICES_CREATED: "The total number of succeeded service creation",
    ObjectCounter.SERVICES_FAILED: "The total number of failed service creation",
}
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
        job = ("job_namespace", "framework")
        self._jobs = {
            counter: self._counter(f"training_operator_jobs_{counter}_total", f"Counts number of jobs {counter}", *job)
            for counter in JobCounter
        }
        self._objects = {counter: self._counter(counter, OBJECT_HELP[counter]) for counter in ObjectCounter}
        self._reconciles = self._counter(
            "controller_runtime_reconcile_total", "Reconciles by controller and result", "controller", "result"
        )
        self._errors = self._counter(
            "controller_runtime_reconcile_errors_total", "Reconciles that ended with an error", "controller"
        )
        self._terminal = self._counter(
            "controller_runtime_terminal_reconcile_errors_total", "Errors that are not retried", "controller"
        )
        self._panics = self._counter(
            "controller_runtime_reconcile_panics_total", "Errors that nobody expected", "controller"
        )
        self._seconds = Histogram(
            "controller_runtime_reconcile_time_seconds",
            "Length of a reconcile",
            ("controller",),
            registry=self.registry,
            buckets=RECONCILE_SECONDS,
        )
        self._most_workers = self._gauge(
            "controller_runtime_max_concurrent_reconciles", "Workers of a controller", "controller"
        )
        self._workers = self._gauge("controller_runtime_active_workers", "Workers at work", "controller")
        self._requests = self._counter(
            "rest_client_requests_total", "Requests to the API server by method and status code", "code", "method"
        )
        self._leader = self._gauge("leader_election_master_status", "Whether this process holds the lease", "name")
        self._queue = _QueueSeries(self.registry)
        self._request = cache(lambda method, code: self._requests.labels(str(code or "<error>"), method))

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(name, text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(name, text, labels, registry=self.registry)

    def count_request(self, method: str, code: int) -> None:
        """Count one attempt of a request; `code` is 0 if there was no answer."""
        self._request(method, code).inc()

    def job_counters(self, info: KindInfo) -> JobCounters:
        """Return the counters of one kind."""
        return JobCounters(self._jobs, self._objects, info.metrics_label)

    def controller(self, name: str, workers: int) -> ControllerMetrics:
        """Return the metrics of one controller, present with value 0 from the start."""
        self._most_workers.labels(name).set(workers)
        return ControllerMetrics(
            results={outcome: self._reconciles.labels(name, outcome.value) for outcome in Outcome},
            errors=self._errors.labels(name),
            terminal=self._terminal.labels(name),
            panics=self._panics.labels(name),
            seconds=self._seconds.labels(name),
            workers=self._workers.labels(name),
            retries=self._queue.retries.labels(name),
        )

    def queue(self, name: str, depth: Callable[[], int]) -> QueueMetrics:
        """Return the metrics of one work queue; `depth` is asked whenever somebody scrapes."""
        return QueueMetrics(self._queue, name, depth)

    def leader(self, lease: str) -> Callable[[bool], None]:
        """Return what notes whether this process holds the lease of this name."""
        child = self._leader.labels(lease)
        child.set(0)
        return lambda leading: child.set(1 if leading else 0)

    def exposition(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)


class JobCounters:
    """The counters of one kind (the port `Counters` of the engine)."""

    def __init__(self, jobs: dict[JobCounter, Counter], objects: dict[ObjectCounter, Counter], framework: str) -> None:
        self._objects = objects
        self._child = cache(lambda counter, namespace: jobs[counter].labels(namespace, framework))

    def count_job(self, counter: JobCounter, namespace: str) -> None:
        """Count one job's transition."""
        self._child(counter, namespace).inc()

    def count_object(self, counter: ObjectCounter) -> None:
        """Count one pod or service."""
        self._objects[counter].inc()


class ControllerMetrics:
    """The `controller_runtime_*` metrics of one controller."""

    def __init__(
        self,
        *,
        results: dict[Outcome, Counter],
        errors: Counter,
        terminal: Counter,
        panics: Counter,
        seconds: Histogram,
        workers: Gauge,
        retries: Counter,
    ) -> None:
        self._results, self._errors, self._terminal, self._panics = results, errors, terminal, panics
        self._seconds, self._workers, self._retries = seconds, workers, retries

    def began(self) -> None:
        """Note a reconcile that begins."""
        self._workers.inc()

    def ended(self, outcome: Outcome, seconds: float) -> None:
        """Note the end of a reconcile."""
        self._workers.dec()
        self._seconds.observe(seconds)
        self._results[outcome].inc()
        if outcome is Outcome.ERROR:
            self._errors.inc()

    def failed_terminally(self) -> None:
        """Note an error that is not retried."""
        self._terminal.inc()

    def crashed(self) -> None:
        """Note an error that nobody expected (a panic, in the words of the metric)."""
        self._panics.inc()

    def retried(self) -> None:
        """Note a key that goes to its back-off."""
        self._retries.inc()


class _QueueSeries:
    """The `workqueue_*` metrics of all queues."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.depth = Gauge("workqueue_depth", "Keys that wait", ("name",), registry=registry)
        self.adds = Counter("workqueue_adds_total", "Keys that became ready", ("name",), registry=registry)
        self.retries = Counter("workqueue_retries_total", "Keys that failed and wait", ("name",), registry=registry)
        self.waited = Histogram(
            "workqueue_queue_duration_seconds",
            "How long keys wait",
            ("name",),
            registry=registry,
            buckets=QUEUE_SECONDS,
        )
        self.worked = Histogram(
            "workqueue_work_duration_seconds",
            "How long keys are worked on",
            ("name",),
            registry=registry,
            buckets=QUEUE_SECONDS,
        )


class QueueMetrics:
    """The `workqueue_*` metrics of one queue."""

    def __init__(self, series: _QueueSeries, name: str, depth: Callable[[], int]) -> None:
        series.depth.labels(name).set_function(depth)
        self._adds = series.adds.labels(name)
        self._waited, self._worked = series.waited.labels(name), series.worked.labels(name)

    def added(self) -> None:
        """Note a key that became ready."""
        self._adds.inc()

    def started(self, waited: float) -> None:
        """Note a key handed out after `waited` seconds."""
        self._waited.observe(waited)

    def finished(self, worked: float) -> None:
        """Note a key whose worker took `worked` seconds."""
        self._worked.observe(worked)
