"""Who sends a request: the owner of the cluster, or the service account of a pod, known by their tokens."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from training_local.apiserver.errors import unauthorized

AUTHENTICATED: Final = "system:authenticated"
MASTERS: Final = "system:masters"
_SCHEME: Final = "bearer"
"""In any case (RFC 9110, 11.1): the official Python client writes it small inside a pod."""


@dataclass(frozen=True, slots=True)
class User:
    """Name and groups, as roles are bound to them."""

    name: str
    groups: tuple[str, ...]


OWNER: Final = User("local", (MASTERS, AUTHENTICATED))
"""Whoever has started the cluster; may do everything."""


@dataclass(frozen=True, slots=True)
class ServiceAccount:
    """An object ServiceAccount; another one of the same name has another uid."""

    namespace: str
    name: str
    uid: str

    @property
    def user(self) -> User:
        """The user that its pods are (Kubernetes: "Service account users and groups")."""
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{self.namespace}", AUTHENTICATED)
        return User(f"system:serviceaccount:{self.namespace}:{self.name}", groups)


class Tokens:
    """The valid tokens, in memory only, each known by its digest: so the time of a comparison reveals nothing."""

    def __init__(self, owner: str, exists: Callable[[ServiceAccount], bool]) -> None:
        """`owner` is the owner's token; `exists` returns whether a service account still exists."""
        self.owner = owner
        self._owner = _digest(owner)
        self._exists = exists
        self._accounts: dict[bytes, ServiceAccount] = {}

    def issue(self, account: ServiceAccount) -> str:
        """Return a new token of a service account."""
        token = secrets.token_urlsafe(32)
        self._accounts[_digest(token)] = account
        return token

    def revoke(self, token: str) -> None:
        """Let a service account's token open nothing any more."""
        self._accounts.pop(_digest(token), None)

    def user(self, authorization: str) -> User:
        """Return whom the header `Authorization` proves; raises a 401."""
        return OWNER if _presented(authorization) == self._owner else self.account(authorization)

    def account(self, authorization: str) -> User:
        """Return which service account the header `Authorization` proves; raises a 401."""
        account = self._accounts.get(_presented(authorization))
        if account is None or not self._exists(account):
            raise unauthorized()
        return account.user


def _presented(authorization: str) -> bytes:
    scheme, _, token = authorization.partition(" ")
    if scheme.lower() != _SCHEME:
        raise unauthorized()
    return _digest(token)


def _digest(token: str) -> bytes:
    return sha256(token.encode(errors="surrogateescape")).digest()
