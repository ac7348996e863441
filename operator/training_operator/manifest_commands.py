"""`training-operator crds` and `rbac`: what to apply for the kinds, of this package or of another one, as YAML."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import cloup

from training_api.constants import GROUP, MAX_REPLICAS, MOST_REPLICAS
from training_api.crd.build import build
from training_api.crd.text import as_yaml
from training_operator.manifests import UnknownPackage, of_packages, roles

_with = cloup.option(
    "--with",
    "packages",
    multiple=True,
    metavar="PACKAGE",
    show_default=False,
    help="An installed package that adds kinds; repeatable. Only its kinds are written. Default: the six kinds.",
)


@cloup.command()
@_with
@cloup.option(
    "--max-replicas",
    type=click.IntRange(1, MOST_REPLICAS),
    default=MAX_REPLICAS,
    show_default=True,
    help="Most replicas of one type; as the operator's flag of this name.",
)
@cloup.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder for one file per kind. Default: standard output.",
)
def crds(packages: tuple[str, ...], max_replicas: int, output: Path | None) -> None:
    """Write CustomResourceDefinitions, for `kubectl apply`."""
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


@cloup.command()
@_with
@cloup.option(
    "--namespace",
    "-n",
    default="",
    show_default=False,
    help="The operator's flag of this name: a Role of this namespace in place of a ClusterRole. Default: all.",
)
@cloup.option("--operator-namespace", default="kubeflow", help="Namespace of the operator's account.")
def rbac(packages: tuple[str, ...], namespace: str, operator_namespace: str) -> None:
    """Write the roles that let the operator serve kinds, bound to its account, for `kubectl apply`."""
    try:
        _print(roles(packages, operator_namespace, namespace))
    except UnknownPackage as error:
        raise click.UsageError(f"--with: {error}") from None


def _print(objects: Iterable[dict[str, Any]]) -> None:
    click.echo("---\n".join(map(as_yaml, objects)), nl=False)
