"""Who looks at a page, and how requests to the API server say so."""

from __future__ import annotations

import hashlib
import ipaddress
import secrets
import time
from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

from aiohttp import web

from training_operator.kube.config import ClusterConfig
from training_operator.kube.credentials import Fixed

SESSION_COOKIE: Final = "training-console"
SESSION_SECONDS: Final = 8 * 3600.0
MOST_SESSIONS: Final = 1_000
MOST_GROUPS: Final = 100
LONGEST_NAME: Final = 512
"""Characters of a user or group that a proxy names."""
RESERVED: Final = "system:"
"""Users and groups of the cluster itself: no proxy speaks for them."""


@dataclass(frozen=True, slots=True)
class Viewer:
    """A person, as the API server is to see them."""

    name: str
    """What the page shows; empty where each viewer is the user of the kubeconfig."""
    impersonated: tuple[tuple[str, str], ...] = ()
    """Headers that name a user and groups."""
    token: str = field(default="", repr=False)

    @property
    def key(self) -> str:
        """The same for two requests if the API server is to treat them alike; tells nothing of a token."""
        return hashlib.sha256(repr((self.impersonated, self.token)).encode()).hexdigest()

    def access(self, config: ClusterConfig) -> ClusterConfig:
        """Return how to speak with the cluster as this viewer."""
        if self.token:
            return replace(config, credentials=Fixed(f"Bearer {self.token}"))
        return replace(config, headers=self.impersonated)


class Forbidden(Exception):
    """A request whose sender is not known, or not believed; the message is one sentence for users."""


class Authenticator(Protocol):
    """Finds out who sends a request."""

    signs_in: bool
    """Whether users can sign in by pasting a token."""

    def viewer(self, request: web.BaseRequest) -> Viewer | None:
        """Return who looks, None before they have signed in; raises `Forbidden`."""
        ...


class KubeconfigUser:
    """Every viewer is the user of the kubeconfig: for the loopback of one person's machine."""

    signs_in = False

    def viewer(self, request: web.BaseRequest) -> Viewer | None:
        """Return the one viewer."""
        return Viewer("")


class TrustedProxy:
    """An authenticating proxy names the user in a header; whoever is not that proxy is rejected."""

    signs_in = False

    def __init__(self, user_header: str, groups_header: str, proxies: Iterable[str]) -> None:
        """Believe the headers of requests that come from `proxies`, networks such as `10.0.0.0/8`."""
        self._user_header, self._groups_header = user_header, groups_header
        self._proxies = [ipaddress.ip_network(each) for each in proxies]

    def viewer(self, request: web.BaseRequest) -> Viewer | None:
        """Return the user that the proxy names; raises `Forbidden` if none is named, or by another client."""
        peer = ipaddress.ip_address((request.remote or "0.0.0.0").partition("%")[0])
        if not any(peer in network for network in self._proxies):
            raise Forbidden("Open this console through its authenticating proxy.")
        users = request.headers.getall(self._user_header, [])
        if len(users) != 1:
            raise Forbidden(f"The proxy must name one user in the header {self._user_header}.")
        groups = [
            group.strip()
            for header in (request.headers.getall(self._groups_header, []) if self._groups_header else ())
            for group in header.split(",")
            if group.strip()
        ]
        for name in (users[0], *groups):
            _check_name(name)
        if len(groups) > MOST_GROUPS:
            raise Forbidden(f"The proxy names {len(groups)} groups; at most {MOST_GROUPS} are taken.")
        named = (("Impersonate-User", users[0]), *(("Impersonate-Group", each) for each in groups))
        return Viewer(users[0], named)


def _check_name(name: str) -> None:
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        raise Forbidden("The proxy names a user or group that is empty, too long, or not printable.")
    if name.startswith(RESERVED):
        raise Forbidden(f"The proxy names {name}: users and groups of the cluster itself are not impersonated.")


@dataclass(slots=True)
class _Session:
    token: str
    ends: float


class Sessions:
    """Users paste a bearer token, which this process remembers; their browser has nothing but a random name for it."""

    signs_in = True

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, _Session] = OrderedDict()

    def viewer(self, request: web.BaseRequest) -> Viewer | None:
        """Return who has signed in with this browser; None without one, or if that was too long ago."""
        self._forget_expired()
        session = self._sessions.get(request.cookies.get(SESSION_COOKIE, ""))
        return None if session is None else Viewer("signed in by token", token=session.token)

    def begin(self, token: str) -> str:
        """Remember a token; returns the name of the session."""
        name = secrets.token_urlsafe(32)
        self._sessions[name] = _Session(token, time.monotonic() + SESSION_SECONDS)
        while len(self._sessions) > MOST_SESSIONS:
            self._sessions.popitem(last=False)
        return name

    def _forget_expired(self) -> None:
        """Forget tokens whose time is over; the oldest come first."""
        while self._sessions and next(iter(self._sessions.values())).ends < time.monotonic():
            self._sessions.popitem(last=False)

    def end(self, request: web.BaseRequest) -> None:
        """Forget the token of a browser."""
        self._sessions.pop(request.cookies.get(SESSION_COOKIE, ""), None)
