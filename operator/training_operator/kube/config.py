"""Where to connect, and as whom: the pod's service account or a kubeconfig."""

from __future__ import annotations

import asyncio
import os
import ssl
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import msgspec

from training_operator.kube.access import Access
from training_operator.kube.credentials import Credentials, Fixed, Renew, Renewed, TokenFile

SERVICE_ACCOUNT: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
READ_SECONDS: Final = 60.0
"""How long reading a kubeconfig may take, its exec plugin included."""


class ConfigError(Exception):
    """There is no usable configuration; the message is one sentence for the user."""


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """An API server, and how to connect to it."""

    server: str
    credentials: Credentials
    tls: ssl.SSLContext | None = None
    """None for plain HTTP."""
    server_name: str = ""
    """Name to expect in the server's certificate, if it is not that of `server`."""
    proxy: str = ""
    namespace: str = ""
    """The namespace of our own pod; empty outside of a cluster."""
    source: str = ""
    """Where all this comes from, for messages."""
    headers: tuple[tuple[str, str], ...] = ()
    """Sent with every request: whom to impersonate, for example."""


async def load(
    kubeconfig: str = "",
    environment: Mapping[str, str] = os.environ,
    *,
    context: str = "",
    anonymous: bool = False,
) -> ClusterConfig:
    """Return the configuration of `--kubeconfig`, KUBECONFIG, the cluster around us, or ~/.kube/config, in this order.

    With a `context`, which is one of a kubeconfig, the cluster around us is passed over. An `anonymous` configuration
    has no token and no client certificate.
    Raises `ConfigError` if the first of them that is there cannot be used, or if there is none.
    """
    if kubeconfig:
        return await from_kubeconfig(kubeconfig, context, anonymous=anonymous)
    if paths := environment.get("KUBECONFIG"):
        return await from_kubeconfig(paths, context, anonymous=anonymous)
    if not context and environment.get("KUBERNETES_SERVICE_HOST") and (SERVICE_ACCOUNT / "token").exists():
        around = in_cluster(environment)
        return replace(around, credentials=Fixed()) if anonymous else around
    default = Path(environment.get("HOME", "/")) / ".kube" / "config"
    if default.exists():
        return await from_kubeconfig(str(default), context, anonymous=anonymous)
    raise ConfigError(
        "no cluster to connect to: neither --kubeconfig nor KUBECONFIG is set, "
        f"this is not a pod with a service account, and {default} does not exist"
    )


def in_cluster(environment: Mapping[str, str], folder: Path = SERVICE_ACCOUNT) -> ClusterConfig:
    """Return the configuration that a kubelet gives to every pod."""
    host = environment["KUBERNETES_SERVICE_HOST"]
    port = environment.get("KUBERNETES_SERVICE_PORT", "443")
    namespace = folder / "namespace"
    try:
        tls = trusting(cafile=str(folder / "ca.crt"))
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"the pod's service account cannot be used: {folder / 'ca.crt'}: {error}") from None
    return ClusterConfig(
        server=f"https://{f'[{host}]' if ':' in host else host}:{port}",
        credentials=TokenFile(folder / "token"),
        tls=tls,
        namespace=namespace.read_text().strip() if namespace.exists() else "",
        source="the pod's service account",
    )


async def from_kubeconfig(paths: str, context: str = "", *, anonymous: bool = False) -> ClusterConfig:
    """Return what a context of a kubeconfig says, by default its current one; `anonymous`: without its user."""
    access = await _read(paths, context)
    if anonymous:
        server, ca, name = access.server, access.ca, access.server_name
        access = Access(server, ca, insecure=access.insecure, server_name=name, proxy=access.proxy)
    if not access.server:
        which = f"context {context!r}" if context else "its current context"
        raise ConfigError(f"kubeconfig {paths} cannot be used: the cluster of {which} has no server")
    if access.proxy and not access.proxy.startswith(("http://", "https://")):
        raise ConfigError(f"kubeconfig {paths} cannot be used: its proxy-url must begin with http:// or https://")
    tls = _tls_of(access, paths) if access.server.startswith("https://") else None

    async def renew() -> tuple[str, float | None]:
        try:
            fresh = await _read(paths, context)
        except ConfigError as error:
            raise ConnectionError(str(error)) from None
        if tls is not None and fresh.certificate:
            _present(tls, fresh, paths)
        return fresh.authorization, fresh.expires

    return ClusterConfig(
        server=access.server,
        credentials=_credentials(access, renew),
        tls=tls,
        server_name=access.server_name,
        proxy=access.proxy,
        source=f"kubeconfig {paths}",
    )


def _credentials(access: Access, renew: Renew) -> Credentials:
    if access.renewable:
        return Renewed(access.authorization, access.expires, renew)
    return TokenFile(Path(access.token_file)) if access.token_file else Fixed(access.authorization)


async def _read(paths: str, context: str) -> Access:
    try:
        access = msgspec.json.decode(await _read_apart(paths, context), type=Access)
    except msgspec.MsgspecError as error:
        raise ConfigError(f"kubeconfig {paths} cannot be read: {error}") from None
    if access.error:
        raise ConfigError(f"kubeconfig {paths} cannot be used: {access.error}")
    return access


async def _read_apart(paths: str, context: str) -> bytes:
    """Let a child process read the kubeconfig (see `kubeconfig`)."""
    command = (sys.executable, "-m", "training_operator.kube.kubeconfig", paths, context)
    child = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    try:
        async with asyncio.timeout(READ_SECONDS):
            output, _ = await child.communicate()
    except TimeoutError:
        raise ConfigError(f"kubeconfig {paths} cannot be used: its exec plugin did not respond in time") from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode:
        raise ConfigError(f"kubeconfig {paths} cannot be read: the reader ended with {child.returncode}")
    return output


def trusting(cafile: str | None = None, cadata: str | None = None) -> ssl.SSLContext:
    """Return a context that trusts these authorities, or the system's without any.

    Python 3.13 wants certificates to have every extension of RFC 5280; those of many clusters lack one (most often the
    authority key identifier), and no other client of theirs asks for it.
    """
    tls = ssl.create_default_context(cafile=cafile, cadata=cadata)
    tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
    return tls


def _tls_of(access: Access, paths: str) -> ssl.SSLContext:
    try:
        tls = trusting(cadata=access.ca or None)
    except ssl.SSLError as error:
        raise ConfigError(f"kubeconfig {paths} cannot be used: certificate-authority: {error}") from None
    if access.insecure:
        tls.check_hostname = False
        tls.verify_mode = ssl.CERT_NONE
    if access.certificate:
        _present(tls, access, paths)
    return tls


def _present(tls: ssl.SSLContext, access: Access, paths: str) -> None:
    """Make `tls` show the client certificate; new connections of a live context show a new one."""
    with tempfile.NamedTemporaryFile() as file:  # mode 0600; the ssl module reads certificates from files only
        file.write(f"{access.certificate}\n{access.key}".encode())
        file.flush()
        try:
            tls.load_cert_chain(file.name)
        except ssl.SSLError as error:
            raise ConfigError(f"kubeconfig {paths} cannot be used: client certificate and key: {error}") from None
