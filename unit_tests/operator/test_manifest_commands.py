"""`training-operator crds` and `rbac`: what has to be applied for the kind of another package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from click.testing import CliRunner
from e2e.support.every_kind import EVERY_KIND, PACKAGE
from unit_tests.conftest import Install

from training_api.crd.build import build
from training_operator.manifest_commands import crds, rbac


def objects(command: click.Command, *arguments: str) -> list[dict[str, Any]]:
    done = CliRunner().invoke(command, arguments)
    assert done.exit_code == 0, done.output
    return [*yaml.load_all(done.stdout, yaml.CSafeLoader)]


def test_its_crd_is_written(install: Install, tmp_path: Path) -> None:
    install()
    assert objects(crds, "--with", PACKAGE) == [build(EVERY_KIND["DeepSpeedJob"])]
    assert objects(crds, "--with", PACKAGE, "--output", str(tmp_path / "new")) == []
    (file,) = (tmp_path / "new").iterdir()
    assert file.name == "kubeflow.org_deepspeedjobs.yaml"


@pytest.mark.parametrize(
    ("options", "kind", "placed"),
    [((), "ClusterRole", {}), (("--namespace", "team"), "Role", {"namespace": "team"})],
    ids=["all namespaces", "one namespace"],
)
def test_its_roles_are_written(install: Install, options: tuple[str, ...], kind: str, placed: dict[str, str]) -> None:
    install()
    with_package = ("--with", "Training_Operator.DeepSpeed", *options)
    role, binding = objects(rbac, *with_package, "--operator-namespace", "system")
    assert {(rule["resources"][0], *rule["verbs"]) for rule in role["rules"]} == {
        ("deepspeedjobs", "delete", "list", "watch"),
        ("deepspeedjobs/status", "patch"),
        ("deepspeedjobs/finalizers", "update"),
        ("configmaps", "create", "get", "list", "update", "watch"),
    }
    metadata = {"name": "training-operator-deepspeedjobs", **placed, "labels": {"app": "training-operator"}}
    assert (role["kind"], role["metadata"]) == (kind, metadata)
    assert (binding["kind"], binding["metadata"]) == (f"{kind}Binding", metadata)
    assert (binding["roleRef"]["kind"], binding["roleRef"]["name"]) == (kind, metadata["name"])
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "training-operator", "namespace": "system"}]


def test_a_package_without_a_framework_is_a_usage_error(install: Install) -> None:
    install()
    done = CliRunner().invoke(rbac, ["--with", "pydantic"])
    said = done.stderr.splitlines()[-1]
    assert said.startswith("Error: --with: pydantic is not an installed package with a framework; installed are: ")
    assert (done.exit_code, said.endswith(PACKAGE)) == (2, True)
