"""What names Kubernetes takes where, for names that a kind declares and that would be rejected only much later."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class NameRule:
    """How one kind of names is written."""

    what: str
    """What a name must be, in words that follow `must be`."""
    longest: int
    """In characters."""
    pattern: re.Pattern[str]

    def broken_by(self, name: str) -> str:
        """Why the name is rejected, in words that follow the name; empty if it is fine."""
        if len(name) > self.longest:
            return f"has {len(name)} characters and must be at most {self.longest} long"
        return "" if self.pattern.fullmatch(name) else f"must be {self.what}"


PORT_NAME: Final = NameRule(
    "the name of a port (IANA_SVC_NAME): lower case letters, digits and single '-' between them, with at least one "
    "letter, for example 'torch-port'",
    15,
    re.compile(r"(?=.*[a-z])[a-z0-9]+(-[a-z0-9]+)*"),
)
CONTAINER_NAME: Final = NameRule(
    "a DNS-1123 label: lower case letters, digits and '-', with a letter or digit at both ends, for example 'torch'",
    63,
    re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"),
)
RESOURCE_NAME: Final = NameRule(
    "a DNS-1035 label: lower case letters, digits and '-', with a letter at the beginning and a letter or digit at the "
    "end, for example 'torchjobs'",
    63,
    re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?"),
)
KIND: Final = NameRule(
    "CamelCase: letters and digits with an upper case letter at the beginning, for example 'TorchJob'",
    63 - len("-controller"),  # the controller's name is the value of a label
    re.compile(r"[A-Z][A-Za-z0-9]*"),
)
REPLICA_TYPE: Final = NameRule(
    "CamelCase: letters and digits with an upper case letter at the beginning, for example 'Worker'",
    63,
    re.compile(r"[A-Z][A-Za-z0-9]*"),
)
FIELD: Final = NameRule(
    "camelCase: letters and digits with a lower case letter at the beginning, for example 'torchReplicaSpecs'",
    63,
    re.compile(r"[a-z][A-Za-z0-9]*"),
)
