"""The keys of an MPIJob over SSH: one pair with which its launcher logs in, and one that all its workers show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from training_controllers.model.owned_objects import RandomBytes

SEED_BYTES: Final = 32
PRIVATE_KEY: Final = "ssh-privatekey"
PUBLIC_KEY: Final = "ssh-publickey"
HOST_KEY: Final = "ssh-hostkey"
KNOWN_HOSTS: Final = "known_hosts"
HOST_ALIAS: Final = "worker"
"""What `known_hosts` calls every worker."""


def secret_fields(random_bytes: RandomBytes) -> Mapping[str, Any]:
    """Type and content of the Secret, with new Ed25519 keys in OpenSSH's format (RFC 8709)."""
    private, public = key_pair(random_bytes(SEED_BYTES))
    host_private, host_public = key_pair(random_bytes(SEED_BYTES))
    content = {
        PRIVATE_KEY: private,
        PUBLIC_KEY: f"{public}\n",
        HOST_KEY: host_private,
        KNOWN_HOSTS: f"{HOST_ALIAS} {host_public}\n",
    }
    return {"type": "kubernetes.io/ssh-auth", "immutable": True, "stringData": content}


def key_pair(seed: bytes) -> tuple[str, str]:
    """The private key of a seed as a file, and its public key as one line."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415 - takes some 30 ms, for jobs that most operators never see
        Ed25519PrivateKey,
    )
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - likewise
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    key = Ed25519PrivateKey.from_private_bytes(seed)
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return private.decode(), public.decode()
