"""`python -m e2e.deployment.kind`: build, load, upgrade from v1, run all examples; `--print` shows the commands."""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from e2e.deployment.installation import RELEASED
from e2e.harness.errors import HarnessError, told
from e2e.harness.jobs import CONTAINERS, PLURALS, REPLICAS, typical
from e2e.harness.kind import require_kind
from e2e.support.every_kind import lead
from e2e.support.paths import ROOT

HERE: Final = Path(__file__).resolve().parent
NAME: Final = "training-operator"
V1: Final = "github.com/kubeflow/training-operator.git/manifests/overlays/standalone?ref=v1.9.2"
WEBHOOKS: Final = "validator.training-operator.kubeflow.org"
IN_OPERATOR: Final = "--namespace=kubeflow"
BUILT: Final = {"xgboost": "localhost/example-xgboost:1", "mpi": "localhost/example-mpi:1"}
"""Images of `Dockerfile` by the folder of the examples that run in them."""
LEFT_OUT: Final = {"deepspeedjob.yaml", "elastic.yaml"}
"""One needs a package beside the operator, one a volume that several nodes can write, which kind does not have."""
SLEEP: Final = ["sleep", "180"]
"""What replicas do that run while the operator is exchanged."""


class Runner:
    """Runs commands one after the other, or only prints them."""

    def __init__(self, only_print: bool, kubeconfig: Path) -> None:
        self.only_print = only_print
        self._kubeconfig = kubeconfig

    def run(self, *command: str | Path, stdin: str | None = None) -> str:
        """Run a command at the root of the repository and return what it prints; a failure is an error."""
        words = [str(word) for word in command]
        print(f"$ {shlex.join(words)}", flush=True)
        if self.only_print:
            return ""
        done = subprocess.run(words, cwd=ROOT, input=stdin, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            raise HarnessError(f"`{shlex.join(words)}` ended with status {done.returncode}; its message is above")
        return done.stdout

    def kubectl(self, *arguments: str | Path, stdin: str | None = None) -> str:
        """Run kubectl on the cluster."""
        return self.run("kubectl", f"--kubeconfig={self._kubeconfig}", *arguments, stdin=stdin)


def build(runner: Runner) -> None:
    """Build the images and bring them to the nodes."""
    runner.run("docker", "build", "--tag", RELEASED, ".")
    for folder, image in BUILT.items():
        context = ("--file", HERE / "Dockerfile", "--target", folder, f"examples/{folder}")
        runner.run("docker", "build", "--tag", image, *context)
    runner.run("kind", "load", "docker-image", "--name", NAME, RELEASED, *BUILT.values())


def sleeping(kind: str) -> dict[str, Any]:
    """A job whose replicas do nothing for long enough."""
    body = typical(f"over-{kind.lower()}", kind)
    for replica_type, spec in body["spec"][REPLICAS[kind]].items():
        container: dict[str, Any] = {"name": CONTAINERS[kind], "image": "busybox:1.36"}
        if kind != "MPIJob" or replica_type == lead(kind):
            container["command"] = SLEEP
        spec["template"] = {"spec": {"containers": [container]}}
    return body


def uids(runner: Runner) -> set[str]:
    """The pods that there are."""
    listed = runner.kubectl("get", "pods", "--output=json")
    return {pod["metadata"]["uid"] for pod in json.loads(listed or '{"items": []}')["items"]}


def upgrade(runner: Runner) -> None:
    """Install the Go operator, exchange it while jobs of all kinds run, and see them succeed with the same pods."""
    runner.kubectl("apply", "--server-side", "-k", V1)
    runner.kubectl(IN_OPERATOR, "rollout", "status", f"deployment/{NAME}", "--timeout=300s")
    jobs = {"apiVersion": "v1", "kind": "List", "items": [sleeping(kind) for kind in PLURALS]}
    runner.kubectl("apply", "-f", "-", stdin=json.dumps(jobs))
    names = [f"{PLURALS[kind]}/over-{kind.lower()}" for kind in PLURALS]
    runner.kubectl("wait", *names, "--for=condition=Running", "--timeout=300s")
    before = uids(runner)
    runner.kubectl(IN_OPERATOR, "scale", f"deployment/{NAME}", "--replicas=0")
    runner.kubectl("delete", "validatingwebhookconfiguration", WEBHOOKS)
    runner.kubectl("apply", "--server-side", "--force-conflicts", "-k", "deploy/overlays/standalone")
    runner.kubectl(IN_OPERATOR, "delete", "secret", "training-operator-webhook-cert")
    runner.kubectl(IN_OPERATOR, "rollout", "status", f"deployment/{NAME}", "--timeout=120s")
    runner.kubectl("wait", *names, "--for=condition=Succeeded", "--timeout=300s")
    if uids(runner) != before:
        raise HarnessError("the upgrade has cost pods")
    runner.kubectl("delete", *names)


def examples(runner: Runner) -> None:
    """Run every example until it has succeeded, one at a time: frameworks are large."""
    for file in sorted((ROOT / "examples").glob("*/*.yaml")):
        if file.name in LEFT_OUT:
            continue
        objects = list(yaml.safe_load_all(file.read_text()))
        [job] = [each for each in objects if each["kind"] in PLURALS]
        if image := BUILT.get(file.parent.name):
            use(job, image)
        text = yaml.safe_dump_all(objects)
        runner.kubectl("apply", "-f", "-", stdin=text)
        name = f"{PLURALS[job['kind']]}/{job['metadata']['name']}"
        runner.kubectl("wait", name, "--for=condition=Succeeded", "--timeout=1200s")
        runner.kubectl("delete", "-f", "-", stdin=text)


def use(job: dict[str, Any], image: str) -> None:
    """Let all containers of a job have this image."""
    for spec in job["spec"][REPLICAS[job["kind"]]].values():
        for container in spec["template"]["spec"]["containers"]:
            container["image"] = image


def play(runner: Runner, kubeconfig: Path, keep: bool) -> None:
    """Everything, on a cluster made for it."""
    cluster = ("--name", NAME, "--kubeconfig", kubeconfig)
    try:
        runner.run("kind", "create", "cluster", *cluster, "--config", HERE / "cluster.yaml", "--wait", "180s")
        build(runner)
        upgrade(runner)
        examples(runner)
        runner.kubectl("delete", "-k", "deploy/removal")
    finally:
        if not keep:
            runner.run("kind", "delete", "cluster", *cluster)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run it; the exit status is 1 if a command fails."""
    parser = argparse.ArgumentParser(prog="python -m e2e.deployment.kind", description=__doc__)
    parser.add_argument("--print", action="store_true", help="only show the commands")
    parser.add_argument("--keep", action="store_true", help="leave the cluster, to look into it")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="training-e2e-") as folder:
        kubeconfig = Path.home() / ".kube" / f"kind-{NAME}" if options.keep else Path(folder) / "kubeconfig"
        with told("e2e", 1):
            if not options.print:
                require_kind()
            play(Runner(options.print, kubeconfig), kubeconfig, options.keep)


if __name__ == "__main__":
    main()
