"""Ports of a pod on this machine: who connects to them here speaks with the pod."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from training_local.apiserver.portforward import MOST_CONNECTIONS
from training_local.errors import BadInput
from training_local.execution.forward import ForwardError, PodGone, PodPort
from training_local.relay import Service, TcpEnd

LOOPBACK: Final = "127.0.0.1"
LOOK_SECONDS: Final = 0.5
"""Between two looks whether something listens in the pod."""


@dataclass(frozen=True, slots=True)
class Ports:
    """A port of this machine, 0 for any free one, and the port of the pod to which it leads."""

    local: int
    remote: int

    @classmethod
    def parse(cls, text: str) -> Ports:
        """Read `PORT`, `LOCAL:REMOTE` or `:REMOTE`; raises `ValueError`."""
        local, colon, remote = text.rpartition(":")
        ports = cls(int(local or 0) if colon else int(remote), int(remote))
        if not (0 <= ports.local < 1 << 16 and 0 < ports.remote < 1 << 16):
            raise ValueError("a port is a number from 1 to 65535")
        return ports


class Forwarder:
    """Listens on the loopback interface of this machine."""

    def __init__(self, target: PodPort, say: Callable[[str], None]) -> None:
        """`say` is given each sentence about a connection that failed."""
        self._target, self._say = target, say
        self._service = Service(self._serve, MOST_CONNECTIONS)
        self._over: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def listen(self, port: int) -> asyncio.Server:
        """Begin to listen; raises `BadInput` if the port is taken."""
        try:
            return await asyncio.start_server(self._service.accept, LOOPBACK, port)
        except OSError as error:
            taken = (
                f"port {port} of this machine cannot be used ({error.strerror}); :{self._target.port} takes a free one"
            )
            raise BadInput(taken) from None

    async def until_over(self) -> str:
        """Wait until the pod cannot be reached any more, which may be never; return why."""
        return await self._over

    async def until_listening(self) -> None:
        """Wait until something listens in the pod; raises `PodGone`."""
        while True:
            if await self._target.listens():
                return
            await asyncio.sleep(LOOK_SECONDS)

    async def close(self) -> None:
        """End what is forwarded."""
        await self._service.close()

    async def _serve(self, local: TcpEnd) -> None:
        try:
            await self._target.forward(local)
        except PodGone as error:
            if not self._over.done():
                self._over.set_result(str(error))
        except (ForwardError, OSError) as error:
            self._say(str(error) or "the connection to the pod broke")
            await local.reset()
