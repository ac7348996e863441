"""Leader election by a Lease: one process of several acts (K-21).

The age of a lease is measured by how long *we* have seen it unchanged, on a clock that never goes back; the times that
are written in it are for users, because clocks of two machines differ.
"""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import structlog

from training_controllers.ports import AlreadyExists, ApiError, Conflict, NotFound
from training_operator.kube.client import KubeClient
from training_operator.kube.decoders import LeaseRecord
from training_operator.kube.permissions import missing_permission
from training_operator.kube.resources import LEASES
from training_operator.kube.transport import AGENT

LEASE_SECONDS: Final = 15
"""A lease that was not renewed for so long may be taken over."""
RENEW_SECONDS: Final = 10.0
"""A leader that could not renew for so long gives up; shorter than the lease, so that there are never two."""
RETRY_SECONDS: Final = 2.0
ATTEMPT_SECONDS: Final = 3.0
"""For one read of the lease and one write, so that a leader has several attempts before it gives up."""
LOOK_SECONDS: Final = 0.4
"""Between two reads by a process that waits for the lease; a released lease is taken with the next one."""
JITTER: Final = 0.2
FENCE_SECONDS: Final = 0.1
"""Between two checks by a write that waits for certainty."""
NEVER: Final = -math.inf


class LeadershipLost(Exception):
    """The lease could not be renewed in time, or another client holds it: the process must end at once."""


@dataclass(frozen=True, slots=True)
class LeaseName:
    """Where the lease is."""

    namespace: str
    name: str


class LeaderElector:
    """Takes the lease when it is free, renews it while leading, gives it back at the end; the fence of all writes.

    Its client has a gate of its own: a renewal never waits behind the requests of jobs (K-21).
    """

    def __init__(
        self,
        client: KubeClient,
        lease: LeaseName,
        identity: str,
        *,
        clock: Callable[[], float],
        now: Callable[[], datetime],
        rng: random.Random,
        observe: Callable[[bool], None] = lambda leading: None,
    ) -> None:
        self._client, self._lease, self._identity = client, lease, identity
        self._clock, self._now, self._rng, self._observe = clock, now, rng, observe
        self._seen: LeaseRecord | None = None
        self._seen_at = NEVER
        self._renewed_at = NEVER
        self._last_error = ""
        self._log = structlog.get_logger().bind(lease=f"{lease.namespace}/{lease.name}", identity=identity)

    async def acquire(self) -> None:
        """Wait until this process leads."""
        waiting_for = None
        while not await self._try_to_take():
            holder = self._seen.spec.get("holderIdentity") if self._seen else None
            if self._seen and holder and holder != waiting_for:
                self._log_holder(holder, self._seen.taken_by)
            waiting_for = holder
            pause = RETRY_SECONDS if self._last_error else LOOK_SECONDS
            await asyncio.sleep(pause * (1 + JITTER * self._rng.random()))
        self._observe(True)
        self._log.info("leading")

    async def keep(self) -> None:
        """Renew indefinitely; raises `LeadershipLost` once it is not certain any more that this process leads."""
        try:
            while (left := self._left()) > 0:
                await asyncio.sleep(min(RETRY_SECONDS, left))
                await self._renew()
            raise LeadershipLost(f"the lease was not renewed for {RENEW_SECONDS:g} s")
        finally:
            self._observe(False)

    def certain(self) -> bool:
        """Whether no other process can lead yet: the last renewal began so recently that the lease has not run out."""
        return self._left() > 0

    async def opened(self) -> None:
        """Wait until it is certain that this process leads; one that is not leads no more, as a rule, and ends."""
        while not self.certain():  # noqa: ASYNC110 - what is waited for is the clock, too
            await asyncio.sleep(FENCE_SECONDS)

    async def release(self) -> None:
        """Give the lease back, so that another process need not wait for it to run out."""
        if self._seen is None or self._seen.spec.get("holderIdentity") != self._identity:
            return
        self._renewed_at = NEVER
        try:
            async with asyncio.timeout(RETRY_SECONDS):
                try:
                    await self._give_back(self._seen)
                except Conflict:  # a renewal whose answer was not waited for, or another process
                    lease = await self._read()
                    if lease is not None and lease.spec.get("holderIdentity") == self._identity:
                        await self._give_back(lease)
        except (ApiError, OSError) as error:
            self._log.warning("lease not released", error=str(error) or repr(error))

    async def _give_back(self, lease: LeaseRecord) -> None:
        await self._write({**lease.spec, "holderIdentity": "", "leaseDurationSeconds": 1})

    async def _renew(self) -> None:
        """Renew once; errors other than the loss of the lease are repeated by the next round."""
        assert self._seen is not None
        begun = self._clock()
        if not self.certain():
            return  # this process stood still: the lease may be another's
        try:
            async with asyncio.timeout(min(ATTEMPT_SECONDS, self._left())):
                try:
                    await self._write({**self._seen.spec, "renewTime": self._time()})
                except (Conflict, NotFound):
                    # Our own write whose answer was lost, or another process.
                    if not await self._take_if_free():
                        self._renewed_at = NEVER
                        raise LeadershipLost("another process holds the lease") from None
        except (ApiError, OSError) as error:
            self._log.warning("lease not renewed", error=str(error) or repr(error))
            return
        self._renewed_at = begun

    async def _try_to_take(self) -> bool:
        begun = self._clock()
        try:
            async with asyncio.timeout(ATTEMPT_SECONDS):
                taken = await self._take_if_free()
        except (ApiError, OSError) as error:
            message = str(error) or repr(error)
            if message != self._last_error and missing_permission(message) is None:  # logged by the client already
                self._log.warning("lease not reached: retrying", error=message)
            self._last_error = message
            return False
        self._last_error = ""
        if taken:
            self._renewed_at = begun
        return taken

    def _log_holder(self, holder: str, program: str) -> None:
        """Log whom this process waits for; by the names of programs, the Go operator is `manager`."""
        if program in ("", AGENT):
            self._log.info("waiting for the lease", holder=holder)
            return
        self._log.warning(
            "another operator holds the lease: this one is idle until the other one is scaled to 0",
            holder=holder,
            program=program,
        )

    def _left(self) -> float:
        """Seconds for which it is certain that no other process leads."""
        return self._renewed_at + RENEW_SECONDS - self._clock()

    async def _take_if_free(self) -> bool:
        """Take the lease if it is ours, has no holder, or has run out; return whether it is ours now."""
        lease = await self._read()
        if lease is not None and lease.spec.get("holderIdentity") not in (None, "", self._identity):
            age = self._clock() - self._seen_at
            if age < float(lease.spec.get("leaseDurationSeconds") or LEASE_SECONDS):
                return False
        try:
            await self._take(lease)
        except (AlreadyExists, Conflict):
            return False
        return True

    async def _read(self) -> LeaseRecord | None:
        try:
            lease = await self._client.get(LEASES, self._lease.namespace, self._lease.name)
        except NotFound:
            self._seen = None
            return None
        if self._seen is None or lease.version != self._seen.version:
            self._seen, self._seen_at = lease, self._clock()
        return lease

    async def _take(self, lease: LeaseRecord | None) -> None:
        time = self._time()
        spec = dict(lease.spec) if lease else {}
        if spec.get("holderIdentity") != self._identity:
            spec["acquireTime"] = time
            spec["leaseTransitions"] = int(spec.get("leaseTransitions") or 0) + (1 if lease else 0)
        spec |= {"holderIdentity": self._identity, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": time}
        if lease is not None:
            await self._write(spec)
            return
        body = self._body(spec)
        self._seen = await self._client.create(LEASES, self._lease.namespace, body)

    async def _write(self, spec: dict[str, Any]) -> None:
        assert self._seen is not None
        body = self._body(spec)
        body["metadata"]["resourceVersion"] = self._seen.version
        self._seen = await self._client.replace(LEASES, self._lease.namespace, self._lease.name, body)

    def _body(self, spec: dict[str, Any]) -> dict[str, Any]:
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self._lease.name, "namespace": self._lease.namespace},
            "spec": spec,
        }

    def _time(self) -> str:
        return self._now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
