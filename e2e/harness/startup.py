"""What everybody who starts a control plane of processes needs: keys, private files, waiting for an answer."""

from __future__ import annotations

import ssl
import time
import urllib.request
from collections.abc import Callable, Sequence
from pathlib import Path

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from e2e.harness.errors import HarnessError
from e2e.harness.processes import Child

START_LIMIT = 60.0
"""Seconds until a component must answer; usually all are up within four."""


def wait_until(ready: Callable[[], bool], what: str, children: Sequence[Child], limit: float = START_LIMIT) -> None:
    """Return once `ready`; raises `HarnessError` if one of `children` ends before, or nothing comes in time."""
    deadline = time.monotonic() + limit
    while not ready():
        for child in children:
            child.check_alive()
        if time.monotonic() > deadline:
            raise HarnessError(f"{what} did not answer within {limit:.0f} s:\n{children[-1].output()[-4000:]}")
        time.sleep(0.05)


def answers(url: str, token: str = "", ca_file: Path | None = None) -> bool:
    """Whether a GET succeeds; everything that goes wrong during the start means no."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        context = ssl.create_default_context(cafile=ca_file) if ca_file else None
        with urllib.request.urlopen(request, timeout=5, context=context):
            return True
    except OSError:
        return False


def service_account_keys(folder: Path) -> tuple[Path, Path]:
    """Files with a new private key and its public one, for the tokens of service accounts."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    public = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private_file(folder / "sa.key", private.decode()), private_file(folder / "sa.pub", public.decode())


def private_file(path: Path, content: str) -> Path:
    """Write a file that its owner alone can read."""
    path.touch(mode=0o600)
    path.write_text(content)
    return path
