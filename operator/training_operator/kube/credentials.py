"""As whom requests are sent: what stands in their Authorization header, read again before it expires."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final, Protocol

REREAD_SECONDS: Final = 60.0
"""A kubelet replaces a token file long before the token in it expires."""

Renew = Callable[[], Awaitable[tuple[str, float | None]]]
"""Obtains a new value and when it expires, in seconds since 1970."""


class Credentials(Protocol):
    """The value of the Authorization header."""

    async def authorization(self) -> str:
        """Return the value; empty for requests without one (a client certificate, or anonymous)."""
        ...

    def rejected(self) -> bool:
        """Note that the server did not accept the last value; return whether the next one is a fresh one."""
        ...


class Fixed:
    """A value that never changes."""

    def __init__(self, value: str = "") -> None:
        self._value = value

    async def authorization(self) -> str:
        """Return the value."""
        return self._value

    def rejected(self) -> bool:
        """Return that there is no other value."""
        return False


class TokenFile:
    """A bearer token in a file that another client renews."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._clock = clock
        self._value = ""
        self._stale_at = 0.0

    async def authorization(self) -> str:
        """Return the token, read at most a minute ago."""
        if not self._value or self._clock() >= self._stale_at:
            self._value = f"Bearer {self._path.read_text().strip()}"
            self._stale_at = self._clock() + REREAD_SECONDS
        return self._value

    def rejected(self) -> bool:
        """Read the file again next time."""
        self._value = ""
        return True


class Renewed:
    """A value with a date of expiry that is obtained again, for example from an exec plugin."""

    def __init__(
        self,
        value: str,
        expires: float | None,
        renew: Renew,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._value = value
        self._expires = expires
        self._renew = renew
        self._now = now

    async def authorization(self) -> str:
        """Return the value, obtained again if it expires within a minute or was rejected."""
        if self._expires is not None and self._now() >= self._expires - REREAD_SECONDS:
            self._expires = None  # meanwhile others continue with the old value
            self._value, self._expires = await self._renew()
        return self._value

    def rejected(self) -> bool:
        """Obtain a new value next time."""
        self._expires = 0.0
        return True
