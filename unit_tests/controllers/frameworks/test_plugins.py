"""Frameworks of packages that are installed beside this one."""

from __future__ import annotations

import pytest
from e2e.support.every_kind import DEEPSPEED
from unit_tests.conftest import Install

from training_controllers.frameworks.plugins import kinds, plugins
from training_controllers.frameworks.registry import frameworks
from training_operator.kube.permissions import Permission

OTHER = """
from dataclasses import replace
from training_operator_deepspeed import DEEPSPEED
from training_controllers.model.owned_objects import CONFIG_MAP, OwnedKind
from training_controllers.frameworks.jax import jax

ONE_LABEL = replace(DEEPSPEED, info=replace(DEEPSPEED.info, kind="OtherJob", plural="otherjobs", short_names=("oj",)))
OF_ANOTHER_NAME = replace(ONE_LABEL, info=replace(ONE_LABEL.info, metrics_label="other"))
LEASE, JOB = OwnedKind("Lease", "coordination.k8s.io/v1"), OwnedKind("Job", "batch/v1")
LEASES = replace(OF_ANOTHER_NAME, owned_kinds=(LEASE, JOB))
BUILT_IN = jax()
NOTHING = 1
"""
TWO = "BAD = replace(DEEPSPEED.info, port_name='x--', port=0)"
HELPERS = "BAD = replace(DEEPSPEED, auxiliary_types=frozenset({'Helper'}))"
MIGRATES = "BAD = replace(DEEPSPEED, migration='nowhere')"
BAD = OTHER + 'BAD = replace(DEEPSPEED.info, port_name="deepspeedjob-port")'


def test_a_package_adds_its_kind(install: Install) -> None:
    before = [*kinds()]
    install()
    assert [*kinds()] == [*before, "DeepSpeedJob"] == [*frameworks()]
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
        ("one_label:ONE_LABEL", OTHER, "OtherJob has the metrics_label of another kind: deepspeed"),
        ("it_exits:X", "import sys; sys.exit('no GPU')", "SystemExit: no GPU"),
        ("helpers:BAD", OTHER + HELPERS, "DeepSpeedJob: auxiliary_types 'Helper' must be one of replica_types, Launc"),
        ("migrates:BAD", OTHER + MIGRATES, "DeepSpeedJob: migration 'nowhere' must be MODULE:NAME"),
        ("two_problems:BAD", OTHER + TWO, "DeepSpeedJob: port_name 'x--' must be the name of a port (IANA_SVC_NAME):"),
        ("strange:LEASES", OTHER, "OtherJob owns Lease, Job; it may own"),
    ],
)
def test_one_that_cannot_be_used_is_left_out_and_reported(
    install: Install, entry: str, module: str, problem: str
) -> None:
    install()
    before = [*kinds()]
    install("z-other", entry, module)
    (reported,) = plugins().problems
    assert reported.startswith(f"the framework {entry} of the package z-other is ignored: {problem}")
    assert "\n" not in reported
    assert [*kinds()] == before
