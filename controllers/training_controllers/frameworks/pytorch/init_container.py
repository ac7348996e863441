"""The init container that lets PyTorch workers wait for their master, from a template.

A template is the YAML text of a list of containers in which `{{.MasterAddr}}`, `{{.InitContainerImage}}` and
`{{.MaxTries}}` are replaced. Unlike v1 the values are inserted as they are, not escaped for HTML.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import yaml

BUILT_IN_TEMPLATE = """\
- name: init-pytorch
  image: {{.InitContainerImage}}
  imagePullPolicy: IfNotPresent
  resources:
    limits:
      cpu: 100m
      memory: 20Mi
    requests:
      cpu: 50m
      memory: 10Mi
  command: ['sh', '-c', 'err=1;for i in $(seq {{.MaxTries}}); do if nslookup {{.MasterAddr}}; then err=0 && break; fi;\
echo waiting for master; sleep 2; done; exit $err']
"""

_ADDRESS = "address-of-the-master-svc"
"""Stands for the address while a template is parsed, once and not once per job; a name like any other in YAML."""
_FIELD = re.compile(r"(?:\s*\{\{-\s+|\{\{\s*)\.(\w+)(?:\s+-\}\}\s*|\s*\}\})")


class BadTemplate(ValueError):
    """A template of init containers that cannot be used; the text is the reason."""


@lru_cache(maxsize=256)
def render_init_containers(
    template: str, *, master_address: str, image: str, max_tries: int
) -> tuple[Mapping[str, Any], ...]:
    """The containers that `template` describes; the same objects for all workers of a job. Raises `BadTemplate`."""
    return tuple(_addressed(each, master_address) for each in _parse(template, image, max_tries))


def _addressed(value: Any, address: str) -> Any:
    """`value` with the address of a job's master in every text that has the place for it."""
    match value:
        case str():
            return value.replace(_ADDRESS, address)
        case list():
            return [_addressed(each, address) for each in value]
        case dict():
            return {_addressed(key, address): _addressed(each, address) for key, each in value.items()}
    return value


@lru_cache(maxsize=8)
def _parse(template: str, image: str, max_tries: int) -> list[Mapping[str, Any]]:
    """The containers of every job, which differ in the address of the master only."""
    values = {"MasterAddr": _ADDRESS, "InitContainerImage": image, "MaxTries": str(max_tries)}

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            raise BadTemplate(f"init container template: unknown field .{match[1]}, known are: {_known(values)}")
        return values[match[1]]

    text = _FIELD.sub(value, template)
    if "{{" in text:
        raise BadTemplate(f"init container template: only the fields {_known(values)} can be filled in, no expressions")
    try:
        containers = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadTemplate(f"init container template: not valid YAML: {_one_line(error)}") from error
    if containers is None:
        return []
    if not isinstance(containers, list) or not all(isinstance(container, dict) for container in containers):
        raise BadTemplate("init container template: must be a YAML list of containers")
    return containers


def _known(values: Mapping[str, str]) -> str:
    return ", ".join(f"{{{{.{name}}}}}" for name in values)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
