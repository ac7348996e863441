"""Reads a kubeconfig with kubernetes-asyncio and prints where to connect and as whom, as JSON.

A program of its own (`python -m training_operator.kube.kubeconfig PATHS CONTEXT`): importing kubernetes-asyncio costs
37 MB, which a process that lives for months need not carry, and whatever an exec plugin does stays outside of it too.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import ConfigException
from kubernetes_asyncio.config.kube_config import KubeConfigLoader, KubeConfigMerger

from training_operator.kube.access import Access


async def read(paths: str, context: str = "") -> Access:
    """Read the files at `paths` (separated by colons, the first one wins) and run what they ask for.

    Without the name of a `context` it is the current one.
    """
    merged = KubeConfigMerger(paths).config
    if merged is None:
        return Access(error="there is no such file")
    for section in (*([] if context else ["current-context"]), "contexts", "clusters"):
        if not merged.safe_get(section):
            return Access(error=f"{section} is missing or empty")
    try:
        loader = KubeConfigLoader(merged, config_base_path=None, active_context=context or None)
        if loader._user is None:
            name = (loader.current_context or {}).get("name", "")
            return Access(error=f"context {name!r} names no user that exists")
        configuration = Configuration()
        await loader.load_and_set(configuration)
    except ConfigException as error:
        return Access(error=str(error))
    user = loader._user
    base = loader._get_base_path(user.path)
    certificate = _text(configuration.cert_file)
    until = _end_of(certificate)
    if until is not None and until < datetime.now(UTC):
        return Access(error=f"its client certificate expired on {until:%Y-%m-%d %H:%M} UTC")
    renewable = "exec" in user or "auth-provider" in user
    expires = getattr(loader, "exec_plugin_expiry", until)
    return Access(
        server=getattr(loader, "host", ""),
        ca=_text(configuration.ssl_ca_cert),
        certificate=certificate,
        key=_text(configuration.key_file),
        insecure=not configuration.verify_ssl,
        server_name=configuration.tls_server_name or "",
        proxy=configuration.proxy or "",
        authorization=configuration.api_key.get("BearerToken", ""),
        expires=expires.timestamp() if renewable and expires else None,
        renewable=renewable,
        token_file=str(Path(base, str(user["tokenFile"]))) if "tokenFile" in user and "token" not in user else "",
    )


def _text(path: str | None) -> str:
    return Path(path).read_text() if path else ""


def _end_of(certificate: str) -> datetime | None:
    if not certificate:
        return None
    from cryptography import x509  # noqa: PLC0415 - only client certificates need it

    return x509.load_pem_x509_certificate(certificate.encode()).not_valid_after_utc


def _main(paths: str, context: str = "") -> Access:
    logging.disable()  # what matters is in the answer
    try:
        return asyncio.run(read(paths, context))
    except OSError as error:
        return Access(error=": ".join(str(part) for part in (error.strerror or error, error.filename) if part))
    except Exception as error:  # a program's broken answer, a file that is no YAML: the caller makes a sentence of it
        return Access(error=" ".join(str(error).split()) or type(error).__name__)


def _print(access: Access) -> None:
    answer = msgspec.json.encode(access)
    try:
        while answer:
            answer = answer[os.write(sys.stdout.fileno(), answer) :]
    except BrokenPipeError:
        pass  # who asked has ended meanwhile


if __name__ == "__main__":
    _print(_main(*sys.argv[1:]))
