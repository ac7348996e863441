"""What `crds` and `rbac` write."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from training_api.constants import GROUP
from training_api.crd.build import build
from training_api.crd.text import as_yaml
from training_operator.manifests import UnknownPackage, of_packages, roles


def crds(packages: tuple[str, ...], max_replicas: int, output: Path | None) -> None:
    """Write the definitions of the kinds to a folder or to standard output."""
    try:
        infos = [framework.info for framework in of_packages(packages)]
    except UnknownPackage as error:
        raise click.UsageError(f"--with: {error}") from None
    if output is None:
        _print(build(info, max_replicas) for info in infos)
        return
    output.mkdir(parents=True, exist_ok=True)
    for info in infos:
        (output / f"{GROUP}_{info.plural}.yaml").write_text(as_yaml(build(info, max_replicas)))


def rbac(packages: tuple[str, ...], namespace: str, operator_namespace: str) -> None:
    """Print the roles of the operator, and what binds them."""
    try:
        _print(roles(packages, operator_namespace, namespace))
    except UnknownPackage as error:
        raise click.UsageError(f"--with: {error}") from None


def _print(objects: Iterable[dict[str, Any]]) -> None:
    click.echo("---\n".join(map(as_yaml, objects)), nl=False)
