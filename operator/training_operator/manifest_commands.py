"""`training-operator crds` and `rbac`: what to apply for the kinds, of this package or of another one, as YAML."""

from __future__ import annotations

from pathlib import Path

import click
import cloup

from training_api.constants import MAX_REPLICAS, MOST_REPLICAS
from training_operator.lazy_commands import carry_out

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
    help="Maximum replicas of one type, as for the operator's flag of this name.",
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
    carry_out("training_operator.written_manifests:crds", packages=packages, max_replicas=max_replicas, output=output)


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
    carry_out(
        "training_operator.written_manifests:rbac",
        packages=packages,
        namespace=namespace,
        operator_namespace=operator_namespace,
    )
