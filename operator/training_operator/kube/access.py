"""What the program `kubeconfig` finds in a kubeconfig, and hands over to the operator."""

from __future__ import annotations

import msgspec


class Access(msgspec.Struct, omit_defaults=True):
    """What a kubeconfig's current context says."""

    server: str = ""
    ca: str = ""
    """Certificates to trust, PEM; empty for the system's."""
    certificate: str = ""
    key: str = ""
    """Client certificate and key, PEM."""
    insecure: bool = False
    server_name: str = ""
    """Name to expect in the server's certificate; empty for that of the address."""
    proxy: str = ""
    authorization: str = ""
    expires: float | None = None
    """When the authorization expires, in seconds since 1970."""
    renewable: bool = False
    """Whether reading the kubeconfig again may give another authorization."""
    token_file: str = ""
    """Where `authorization` was read from, if another client renews it there."""
    error: str = ""
    """Why the kubeconfig cannot be used; then nothing else is set."""
