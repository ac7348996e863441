"""The pair of SSH keys of an MPI job."""

from __future__ import annotations

from hashlib import sha512
from secrets import token_bytes
from typing import Final

_ORDER: Final = 2**520
"""Less than the number of points of the curve, so that every number below is a key."""


def ssh_keys(seed: str) -> tuple[str, str]:
    """Private and public key on the curve P-521, as files; always the same for one seed, by chance for an empty one."""
    from cryptography.hazmat.primitives.asymmetric import (  # noqa: PLC0415 - takes some 30 ms, for jobs that most never see
        ec,
    )
    from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - likewise
        Encoding,
        NoEncryption,
        PrivateFormat,
        PublicFormat,
    )

    if seed:
        number = int.from_bytes(sha512(seed.encode()).digest() + sha512(b"more " + seed.encode()).digest())
    else:
        number = int.from_bytes(token_bytes(128))
    key = ec.derive_private_key(number % _ORDER + 1, ec.SECP521R1())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    return private.decode(), f"{public.decode()}\n"
