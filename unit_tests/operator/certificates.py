"""Certificates for loopback peers, made with `cryptography`."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

KEYS = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, as PEM."""

    certificate: str
    key: str

    def write(self, folder: Path, name: str) -> tuple[Path, Path]:
        paths = folder / f"{name}.crt", folder / f"{name}.key"
        paths[0].write_text(self.certificate)
        paths[1].write_text(self.key)
        return paths


class Authority:
    """A certificate authority without key identifiers, as many clusters have; Python 3.13 minds by default."""

    def __init__(self, name: str = "test-ca") -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self._certificate = (
            self._builder(self._name, timedelta(days=1))
            .public_key(self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def _builder(self, subject: x509.Name, valid: timedelta) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=2))
            .not_valid_after(now + valid)
        )

    @property
    def pem(self) -> str:
        return self._certificate.public_bytes(serialization.Encoding.PEM).decode()

    def issue(self, common_name: str, *, valid: timedelta = timedelta(days=1)) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))] if common_name == "127.0.0.1" else []
        certificate = (
            self._builder(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)]), valid)
            .public_key(key.public_key())
            .add_extension(x509.SubjectAlternativeName([*names, x509.DNSName(common_name)]), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        pem = certificate.public_bytes(serialization.Encoding.PEM).decode()
        return Pair(pem, key.private_bytes(*KEYS).decode())


@cache
def authority() -> Authority:
    """Return one authority for all tests of a process."""
    return Authority()
