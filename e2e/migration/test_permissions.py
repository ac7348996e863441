"""`migrate verify` with the rights that its page names, and without that to see Secrets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from e2e.harness.client import Object
from e2e.harness.cluster import Cluster, write_kubeconfig
from e2e.support import marks

from training_migration.cli import migrate

pytestmark = marks.bare  # Trainer v2 is installed into a cluster of its own

NAMESPACE = "rights"
USER = "verifier"
RULES = [
    {
        "apiGroups": ["trainer.kubeflow.org"],
        "resources": ["trainjobs", "trainingruntimes"],
        "verbs": ["create", "get", "delete"],
    },
    {"apiGroups": ["jobset.x-k8s.io"], "resources": ["jobsets"], "verbs": ["get"]},
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["list"]},
    {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get"]},
    {
        "apiGroups": [""],
        "resources": ["pods", "services", "configmaps", "persistentvolumeclaims", "events"],
        "verbs": ["list"],
    },
    {
        "apiGroups": ["scheduling.x-k8s.io", "scheduling.volcano.sh"],
        "resources": ["podgroups"],
        "verbs": ["list"],
    },
]
CLUSTER_RULES = [
    {"apiGroups": ["trainer.kubeflow.org"], "resources": ["clustertrainingruntimes"], "verbs": ["get"]},
]
MPI = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "hosts"},
    "spec": {"runtimeRef": {"name": "deepspeed-distributed"}, "trainer": {"command": ["mpirun", "hostname"]}},
}


@pytest.fixture
def kubeconfig(trainer: Cluster, tmp_path: Path) -> Path:
    """Of an account that has these rights only."""
    rbac = "rbac.authorization.k8s.io"
    subjects = [{"kind": "ServiceAccount", "name": USER, "namespace": NAMESPACE}]
    objects: list[Object] = [{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}]
    where = {"name": USER, "namespace": NAMESPACE}
    objects.append({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": where})
    for prefix, metadata, rules in (("", where, RULES), ("Cluster", {"name": USER}, CLUSTER_RULES)):
        role = {"apiGroup": rbac, "kind": f"{prefix}Role", "name": USER}
        head: Object = {"apiVersion": f"{rbac}/v1", "metadata": metadata}
        objects.append({**head, "kind": f"{prefix}Role", "rules": rules})
        objects.append({**head, "kind": f"{prefix}RoleBinding", "roleRef": role, "subjects": subjects})
    trainer.send("create", *objects)
    token = trainer.run_kubectl("create", "token", USER, f"--namespace={NAMESPACE}").strip()
    cluster = json.loads(trainer.kubeconfig.read_text())["clusters"][0]["cluster"]
    authority = Path(cluster["certificate-authority"])
    return write_kubeconfig(tmp_path / "kubeconfig", cluster["server"], authority, {"token": token})


def test_the_documented_rights_are_enough(kubeconfig: Path, tmp_path: Path) -> None:
    file = tmp_path / "job.yaml"
    file.write_text(yaml.safe_dump(MPI))
    options = [str(file), "--target=2.3", f"--namespace={NAMESPACE}", f"--kubeconfig={kubeconfig}"]
    done = CliRunner().invoke(migrate, ["verify", *options])
    assert done.exit_code == 0, done.output
    assert "equal    May not be listed, and is not compared: Secret." in done.stdout
