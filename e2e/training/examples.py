"""The jobs under `examples/`, as tests change them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import yaml
from e2e.harness.client import Object
from e2e.support.paths import ROOT

EXAMPLES = ROOT / "examples"
PINS = ("requirements.txt", "from-source.txt")
LIBRARIES = sorted(file.parent.name for name in PINS for file in (EXAMPLES / "libraries").glob(f"*/{name}"))
"""The libraries on top of frameworks that have an environment of their own."""


class Example:
    """One file of `examples/`: a job and the objects that it needs."""

    def __init__(self, file: str) -> None:
        # Anchors of YAML are one object in several places; a change must reach one place only.
        documents = [json.loads(json.dumps(each)) for each in yaml.safe_load_all((EXAMPLES / file).read_text())]
        [self.job] = [each for each in documents if each["apiVersion"] == "kubeflow.org/v1"]
        self.others = [each for each in documents if each is not self.job]

    @property
    def name(self) -> str:
        """The name of the job."""
        return str(self.job["metadata"]["name"])

    @property
    def replicas(self) -> Object:
        """The specifications of its replicas by type."""
        [found] = [value for field, value in self.job["spec"].items() if field.endswith("ReplicaSpecs")]
        return dict(found)

    def use_python(self, python: Path) -> None:
        """Let its pods find `python` as python."""
        self.job["metadata"].setdefault("annotations", {})["training-operator.local/python"] = str(python)

    def set(self, **variables: str) -> None:
        """Give every container these variables, as a user would; of a name that the operator sets, its value wins."""
        for container in self.containers():
            container.setdefault("env", []).extend({"name": name, "value": value} for name, value in variables.items())

    def override(self, *types: str, **variables: str) -> None:
        """Let the containers of these replica types, or of all, start with values that win against the operator's."""
        for container in self.containers(*types):
            container["command"] = ["env", *(f"{name}={value}" for name, value in variables.items())] + container[
                "command"
            ]

    def give_up(self, deadline_seconds: int) -> None:
        """End with the first failure of a pod, and after this time whatever happens; pods and their logs are kept."""
        limits = {"backoffLimit": 0, "activeDeadlineSeconds": deadline_seconds}
        self.job["spec"]["runPolicy"] = {**limits, "cleanPodPolicy": "None"}
        for replica in self.replicas.values():
            replica["restartPolicy"] = "Never"

    def containers(self, *types: str) -> Iterator[Object]:
        """The containers that train, of these replica types or of all."""
        for replica_type, replica in self.replicas.items():
            if not types or replica_type in types:
                for container in replica["template"]["spec"]["containers"]:
                    if "command" in container:
                        yield container
