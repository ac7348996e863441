"""One operator process in virtual time: it can be stopped in good order, and it can be killed."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from datetime import datetime
from unittest.mock import patch

from e2e.support.simulation.faults import FaultyTransport

import training_operator.app
from training_controllers.frameworks.base import Framework
from training_controllers.ports import ApiError, Compute, JobKey, Ports, Result, compute_here
from training_controllers.reconcile.memory import JobMemory
from training_controllers.reconcile.reconciler import JobReconciler
from training_operator.app import App
from training_operator.leader import LeadershipLost
from training_operator.settings import Settings
from training_operator.triggers import BATCH_SECONDS

SETTINGS = Settings(
    metrics_bind_address="0",
    health_probe_bind_address="0",
    operator_namespace="default",
    controller_threads=4,  # more than there are jobs only cost time
)


EFFECTS = ("status", "delete_pods", "delete_services", "create_services", "create_pods", "delete_job")
"""What a plan may ask for, but owned objects: these may exist without being cached yet."""


class Process:
    """The operator as it is shipped, on a transport of its own."""

    def __init__(
        self,
        transport: FaultyTransport,
        now: Callable[[], datetime],
        *,
        seed: int = 0,
        identity: str = "operator",
        settings: Settings = SETTINGS,
        compute: Compute = compute_here,
    ) -> None:
        self.transport = transport
        self.identity = identity
        self.reconcilers: list[WatchedReconciler] = []
        self.complaints: list[str] = []

        def make(framework: Framework, world: Ports) -> WatchedReconciler:
            kind = framework.info.kind

            def ready_in(key: JobKey) -> float | None:
                """Seconds until the key is ready for a worker; None if nothing asks for it."""
                queue = self.app._kinds[kind].queue  # is made after its reconciler
                if key in queue._dirty:
                    return 0.0
                timers = queue._timers.get(key, {}).values()
                now = asyncio.get_running_loop().time()
                return min((timer.when() - now for timer in timers), default=None)

            self.reconcilers.append(WatchedReconciler(framework, world, self.complaints, ready_in))
            return self.reconcilers[-1]

        keys = random.Random(f"keys {seed}")
        with patch.object(training_operator.app, "JobReconciler", make):
            self.app = App(
                settings,
                transport,
                rng=random.Random(seed),
                now=now,
                random_bytes=keys.randbytes,
                identity=identity,
                compute=compute,
            )
        self._stop = asyncio.Event()
        self._task = asyncio.create_task(self.app.run(self._stop))

    async def over(self) -> None:
        """Wait until the process has ended by itself or has died."""
        died = asyncio.create_task(self.transport.died.wait())
        await asyncio.wait([self._task, died], return_when=asyncio.FIRST_COMPLETED)
        died.cancel()

    @property
    def alive(self) -> bool:
        return not self._task.done() and not self.transport.died.is_set()

    @property
    def remembered(self) -> int:
        """Number of jobs of which anything is remembered."""
        return sum(len(reconciler.memory) for reconciler in self.reconcilers)

    async def stop(self) -> None:
        """SIGTERM."""
        self._stop.set()
        await self.ended()

    async def kill(self) -> None:
        """Power off: nothing that the process would still like to do reaches anybody."""
        self.transport.died.set()
        self._task.cancel()
        await self.ended()

    async def ended(self) -> None:
        """Wait for the end of the process; losing the lease is one."""
        await asyncio.wait([self._task])  # a cancelled caller ends, too
        error = None if self._task.cancelled() else self._task.exception()
        if isinstance(error, BaseExceptionGroup):
            error = error.split(LeadershipLost)[1]
        if error is not None and not isinstance(error, LeadershipLost):
            raise error


class WatchedReconciler(JobReconciler):
    """The reconciler, with a look at what should never happen."""

    def __init__(
        self,
        framework: Framework,
        world: Ports,
        complaints: list[str],
        ready_in: Callable[[JobKey], float | None],
    ) -> None:
        super().__init__(framework, world)
        self.complaints = complaints
        self._ready_in = ready_in
        self._running: Counter[JobKey] = Counter()

    async def reconcile(self, key: JobKey) -> Result:
        self._running[key] += 1
        if self._running[key] > 1:
            self.complaints.append(f"{key} is reconciled twice at once")
        try:
            result = await super().reconcile(key)
        except (ApiError, OSError):
            raise
        except Exception as error:
            self.complaints.append(f"{key} crashed with {error!r}")
            raise
        finally:
            self._running -= Counter([key])
        self._complain_of_what_is_left(key, result)
        return result

    def _complain_of_what_is_left(self, key: JobKey, result: Result) -> None:
        """A reconcile whose own writes cause no other one has to leave nothing to do, unless it is queued."""
        coming = self._ready_in(key)
        if result.requeue_after == 0 or (coming is not None and coming < 2 * BATCH_SECONDS):
            return
        context = self._load(key)
        if context is None or context.memory.wait(self._ports.monotonic()):
            return
        snapshot, plan = self._decide(self._snapshot(context))
        if not self._throttled(context, snapshot, plan):
            self.complaints += [f"{key} is left with {name}" for name in EFFECTS if getattr(plan, name)]

    @property
    def memory(self) -> dict[JobKey, JobMemory]:
        return dict(self._memory)
