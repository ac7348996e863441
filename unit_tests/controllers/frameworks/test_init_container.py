"""The init container of PyTorch workers."""

from __future__ import annotations

from typing import Any

import pytest
from unit_tests.controllers.builders import load, make_job, stored_job

from training_api.kinds import Job
from training_controllers.frameworks.pytorch.framework import PyTorchOptions
from training_controllers.frameworks.pytorch.init_container import BadTemplate, render_init_containers
from training_controllers.frameworks.registry import FrameworkOptions, frameworks
from training_controllers.model.plan import NewPod, Slot
from training_controllers.reconcile.builders import build_pod


def init_containers(job: Job, replica_type: str = "Worker", options: PyTorchOptions | None = None) -> Any:
    framework = frameworks(FrameworkOptions(options or PyTorchOptions()))["PyTorchJob"]
    return build_pod(job, framework, NewPod(Slot(replica_type, 0)))["spec"].get("initContainers", [])


BOTH = {"Master": 1, "Worker": 1}


@pytest.mark.shows("PT-029")
def test_the_built_in_one() -> None:
    (container,) = init_containers(make_job("PyTorchJob", BOTH))
    assert container == {
        "name": "init-pytorch",
        "image": "alpine:3.10",
        "imagePullPolicy": "IfNotPresent",
        "resources": {"limits": {"cpu": "100m", "memory": "20Mi"}, "requests": {"cpu": "50m", "memory": "10Mi"}},
        "command": [
            "sh",
            "-c",
            "err=1;for i in $(seq 100); do if nslookup sim-master-0; then err=0 && break; fi;"
            "echo waiting for master; sleep 2; done; exit $err",
        ],
    }


@pytest.mark.shows("PT-028")
def test_it_follows_the_users_and_only_workers_with_a_master_have_it() -> None:
    stored = stored_job("PyTorchJob", BOTH)
    spec = stored["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]
    spec["initContainers"] = [{"name": "a", "image": "b"}]
    assert [c["name"] for c in init_containers(load("PyTorchJob", stored))] == ["a", "init-pytorch"]
    assert [c["name"] for c in init_containers(load("PyTorchJob", stored), "Master")] == ["a"]
    assert init_containers(make_job("PyTorchJob", {"Worker": 1})) == []
    assert init_containers(make_job("PyTorchJob", {"Worker": 1}, elasticPolicy={})) == []


@pytest.mark.shows("PT-029")
def test_image_and_tries_can_be_set() -> None:
    options = PyTorchOptions(init_container_image="example.com/wait:1+build&<x>", init_container_max_tries=7)
    (container,) = init_containers(make_job("PyTorchJob", BOTH), options=options)
    assert container["image"] == "example.com/wait:1+build&<x>"  # v1 makes HTML entities of them
    assert "seq 7" in container["command"][2]


@pytest.mark.shows("PT-030")
def test_a_template_replaces_it() -> None:
    template = """
    - name: one
      image: {{.InitContainerImage}}
      args: ["{{ .MasterAddr }}", '{{- .MaxTries -}}']
    - {name: two, image: x}
    """
    options = PyTorchOptions(init_container_template=template)
    one, two = init_containers(make_job("PyTorchJob", BOTH), options=options)
    assert one == {"name": "one", "image": "alpine:3.10", "args": ["sim-master-0", "100"]}
    assert two == {"name": "two", "image": "x"}


@pytest.mark.shows("PT-030")
@pytest.mark.parametrize("template", ["", "[]", "# nothing"])
def test_a_template_may_be_empty(template: str) -> None:
    assert init_containers(make_job("PyTorchJob", BOTH), options=PyTorchOptions(init_container_template=template)) == []


@pytest.mark.parametrize(
    ("template", "problem"),
    [
        ("- name: {{.No}}", "unknown field .No, known are: {{.MasterAddr}}, {{.InitContainerImage}}, {{.MaxTries}}"),
        ("{{range .Items}}x{{end}}", "no expressions"),
        ("- {{ if .MasterAddr }}", "no expressions"),
        ("a: [", "not valid YAML"),
        ("name: x", "must be a YAML list of containers"),
        ("- text", "must be a YAML list of containers"),
        ("!!python/object/apply:os.system ['true']", "not valid YAML"),
    ],
)
def test_a_bad_template_is_rejected_when_the_operator_starts(template: str, problem: str) -> None:
    with pytest.raises(BadTemplate) as error:
        PyTorchOptions(init_container_template=template)
    assert problem in str(error.value)
    assert "\n" not in str(error.value)


def test_all_workers_of_a_job_share_what_was_rendered() -> None:
    options = PyTorchOptions()
    assert options.init_containers("a-master-0") is options.init_containers("a-master-0")
    other = render_init_containers("- {name: {{.MasterAddr}}}", master_address="b", image="", max_tries=1)
    assert other == ({"name": "b"},)
