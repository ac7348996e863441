"""The schemas of the builtin types, read from the data file that `python -m e2e.tools.kubernetes_schemas` generates."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

import msgspec

from training_local.apiserver.builtin.go_types import GoTypes
from training_local.apiserver.errors import Json


class _Data(msgspec.Struct, frozen=True):
    kubernetes: str
    schemas: dict[str, Json]
    go: dict[str, dict[str, str]]


@cache
def _data() -> _Data:
    text = resources.files(__package__).joinpath("kubernetes.json").read_bytes()
    return msgspec.json.decode(text, type=_Data)


def kubernetes_version() -> str:
    """Return the version of Kubernetes that the schemas are from, for example `v1.34.4`."""
    return _data().kubernetes


def component_schemas() -> Mapping[str, Json]:
    """Return the schemas by component name (`io.k8s.api.core.v1.Pod`); `$ref` holds a component name."""
    return _data().schemas


@cache
def go_types() -> GoTypes:
    """Return the decoders of the components."""
    return GoTypes(_data().schemas, _data().go)
