"""Workers that take keys from a queue and reconcile them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from enum import StrEnum
from typing import Generic, Protocol, TypeVar

import structlog

from training_controllers.ports import ApiError, Conflict, Result
from training_operator.queue import MINOR, NORMAL, Backoff, WorkQueue

K_contra = TypeVar("K_contra", bound=Hashable, contravariant=True)
K = TypeVar("K", bound=Hashable)


class ResultLabel(StrEnum):
    """How a reconcile ended: the label `result` of `controller_runtime_reconcile_total`."""

    SUCCESS = "success"
    ERROR = "error"
    REQUEUE_AFTER = "requeue_after"


class Reconciler(Protocol[K_contra]):
    """Brings the cluster closer to the spec of the object of a key."""

    async def reconcile(self, key: K_contra) -> Result:
        """Reconcile the object once. What is raised is retried with the key's back-off."""
        ...


class ControllerMetrics(Protocol):
    """What a controller measures (the `controller_runtime_*` metrics)."""

    def began(self) -> None:
        """Note a reconcile that begins."""
        ...

    def ended(self, outcome: ResultLabel, seconds: float) -> None:
        """Note the end of a reconcile."""
        ...

    def crashed(self) -> None:
        """Note an unexpected error."""
        ...

    def retried(self) -> None:
        """Note a key that goes to its back-off."""
        ...


class Controller(Generic[K]):
    """Reconciles the keys of one queue, several at once but each by one worker; no error stops a worker."""

    def __init__(
        self,
        name: str,
        queue: WorkQueue[K],
        reconciler: Reconciler[K],
        metrics: ControllerMetrics,
        *,
        workers: int,
        clock: Callable[[], float],
        describe: Callable[[K], dict[str, str]] = lambda key: {"key": str(key)},
    ) -> None:
        self._queue = queue
        self._reconciler = reconciler
        self._metrics = metrics
        self._workers = workers
        self._clock = clock
        self._describe = describe
        self._backoff = Backoff[K]()
        self._log = structlog.get_logger().bind(controller=name)

    async def run(self) -> None:
        """Work until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key = await self._queue.get()
            try:
                await self._reconcile(key)
            finally:
                self._queue.done(key)
            # A reconcile may not have waited for anything: let watches, the lease and probes have their turn.
            await asyncio.sleep(0)

    async def _reconcile(self, key: K) -> None:
        started = self._clock()
        outcome = ResultLabel.ERROR
        self._metrics.began()
        try:
            outcome = self._settle(key, await self._reconciler.reconcile(key))
        except Conflict as error:
            # Another client was faster: what he wrote is on its way to the cache.
            self._log.debug("overtaken by another write", error=str(error), **self._describe(key))
            self._retry(key, None)
        except (ApiError, OSError) as error:
            self._log.warning("reconcile failed", error=str(error) or repr(error), **self._describe(key))
            self._retry(key, getattr(error, "retry_after", None))
        except Exception:
            self._metrics.crashed()
            self._log.exception("reconcile crashed", **self._describe(key))
            self._retry(key, None)
        finally:
            self._metrics.ended(outcome, self._clock() - started)

    def _settle(self, key: K, result: Result) -> ResultLabel:
        self._backoff.forget(key)
        if result.requeue_after is None:
            return ResultLabel.SUCCESS
        self._queue.add_after(key, result.requeue_after, priority=NORMAL if result.requeue_after > 0 else MINOR)
        return ResultLabel.REQUEUE_AFTER

    def _retry(self, key: K, retry_after: float | None) -> None:
        self._metrics.retried()
        delay = self._backoff.next(key)
        self._queue.add_after(key, delay if retry_after is None else retry_after)
