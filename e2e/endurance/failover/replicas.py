"""Replicas of the operator, each with an account, a network and a wall clock of its own."""

from __future__ import annotations

import itertools
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from e2e.endurance.faults.link import Link
from e2e.endurance.faults.stage import Stage
from e2e.harness.cluster import write_kubeconfig
from e2e.harness.operator import Operator

NAMESPACE = "replicas"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
SKEWS = (0, 3600, -3600)
"""By how many seconds the replicas' clocks are wrong, in turn."""


@dataclass(frozen=True)
class Replica:
    """One replica."""

    name: str
    operator: Operator
    link: Link


class Replicas:
    """Starts replicas on a stage."""

    def __init__(self, stage: Stage, stack: AsyncExitStack) -> None:
        self._stage, self._stack = stage, stack
        self._numbers = itertools.count()

    async def start(self) -> Replica:
        """Start one more; it need not be ready yet."""
        number = next(self._numbers)
        name, stage = f"replica-{number}", self._stage
        link = Link(stage.plane.port, stage.plane.certificates)
        await self._stack.enter_async_context(link.running())
        kubeconfig = write_kubeconfig(
            stage.folder / f"{name}.kubeconfig",
            f"https://127.0.0.1:{link.port}",
            stage.plane.certificates / "apiserver.crt",
            {"token": await self._account(name)},
        )
        offset = stage.folder / f"{name}.offset"
        offset.write_text(str(SKEWS[number % len(SKEWS)]))
        operator = Operator(
            kubeconfig,
            stage.folder / f"{name}.log",
            "--leader-elect",
            f"--operator-namespace={NAMESPACE}",
            program=(sys.executable, "-m", "e2e.endurance.faults.jumping_clock", offset),
        )
        stage.operators.append(operator)
        return Replica(name, operator, link)

    async def _account(self, name: str) -> str:
        """A token of a new account that may do everything."""
        accounts = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
        await self._stage.api.create(accounts, {"metadata": {"name": name}})
        request = await self._stage.api.create(f"{accounts}/{name}/token", {"spec": {}})
        token: str = request["status"]["token"]
        return token


@asynccontextmanager
async def replicas(stage: Stage) -> AsyncIterator[Replicas]:
    """Make what all replicas share; their networks end with the context."""
    await stage.api.create("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
    group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": f"system:serviceaccounts:{NAMESPACE}"}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"}
    binding = {"metadata": {"name": NAMESPACE}, "roleRef": role, "subjects": [group]}
    await stage.api.create(f"{RBAC}/clusterrolebindings", binding)
    async with AsyncExitStack() as stack:
        yield Replicas(stage, stack)
