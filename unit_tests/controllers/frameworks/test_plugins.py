"""Frameworks of packages that are installed beside this one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from e2e.support.every_kind import DEEPSPEED

from training_api.registry import KINDS
from training_controllers.frameworks.plugins import GROUP, kinds, plugins
from training_controllers.frameworks.registry import frameworks
from training_operator.kube.permissions import Permission

OTHER = """
from dataclasses import replace
from training_operator_deepspeed import DEEPSPEED
from training_controllers.model.owned_objects import CONFIG_MAP, OwnedKind
from training_controllers.frameworks.jax import jax

OF_ANOTHER_NAME = replace(
    DEEPSPEED, info=replace(DEEPSPEED.info, kind="OtherJob", plural="otherjobs", short_names=("oj",))
)
LEASES = replace(OF_ANOTHER_NAME, owned_kinds=(OwnedKind("Lease", "coordination.k8s.io/v1"),))
BUILT_IN = jax()
NOTHING = 1
"""
BAD = OTHER + 'BAD = replace(DEEPSPEED.info, port_name="deepspeedjob-port")'
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Makes a package with one entry point, as pip would leave it."""

    def installed(package: str, entry: str, module: str = "") -> None:
        folder = tmp_path / package
        information = folder / f"{package.replace('-', '_')}-1.dist-info"
        information.mkdir(parents=True)
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        (information / "entry_points.txt").write_text(f"[{GROUP}]\nit = {entry}\n")
        if module:
            (folder / f"{entry.partition(':')[0]}.py").write_text(module)
        monkeypatch.syspath_prepend(folder)
        plugins.cache_clear()

    yield installed
    monkeypatch.undo()
    plugins.cache_clear()


def test_a_package_adds_its_kind(install: Install) -> None:
    assert [*kinds()] == [*KINDS]
    install("training-operator-deepspeed", "training_operator_deepspeed:DEEPSPEED")
    assert [*kinds()] == [*KINDS, "DeepSpeedJob"] == [*frameworks()]
    assert kinds()["DeepSpeedJob"] is DEEPSPEED.info
    assert plugins().problems == ()
    permission = Permission("list", "deepspeedjobs/status", "kubeflow.org")
    assert permission.manifest == "the output of `training-operator rbac --with training-operator-deepspeed`"
    assert Permission("list", "jaxjobs", "kubeflow.org").manifest == "deploy/base/permissions.yaml"


@pytest.mark.parametrize(
    ("entry", "module", "problem"),
    [
        ("no_such_module:X", "", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("bad_syntax:X", "x = (", "SyntaxError: '(' was never closed"),
        ("wrong_name:X", OTHER, "AttributeError: module 'wrong_name' has no attribute 'X'"),
        ("wrong_object:NOTHING", OTHER, "it must be a Framework, not int"),
        ("bad_kind:BAD", BAD, "DeepSpeedJob: port_name 'deepspeedjob-port' has 17 characters and must be at"),
        ("built_in:BUILT_IN", OTHER, "JAXJob has names that another kind has: JAXJob, jaxj, jaxjob,"),
        (
            "one_plural:OF_ANOTHER_NAME",
            OTHER.replace("otherjobs", "tfjobs"),
            "OtherJob has names that another kind has: tfjobs",
        ),
        (
            "one_short:OF_ANOTHER_NAME",
            OTHER.replace("oj", "dsj"),
            "OtherJob has names that another kind has: dsj",
        ),
        ("strange:LEASES", OTHER, "OtherJob owns Lease; it may own"),
    ],
)
def test_one_that_cannot_be_used_is_left_out_and_reported(
    install: Install, entry: str, module: str, problem: str
) -> None:
    install("training-operator-deepspeed", "training_operator_deepspeed:DEEPSPEED")
    install("z-other", entry, module)
    (told,) = plugins().problems
    assert told.startswith(f"the framework {entry} of the package z-other is left out: {problem}")
    assert [*kinds()] == [*KINDS, "DeepSpeedJob"]
