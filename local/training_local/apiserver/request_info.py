"""What a request is about."""

from __future__ import annotations

from dataclasses import dataclass

from training_local.apiserver.resource_types import ResourceType


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """What a request is about: a type, and a namespace and name where the path has them."""

    type: ResourceType
    namespace: str = ""
    name: str = ""
    subresource: str = ""
