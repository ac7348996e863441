"""Each rule on files and objects around jobs finds what it is for, and does not find what is like it."""

from __future__ import annotations

import pytest
from unit_tests.migration.lint.jobs import Json, documents, pytorch, role, runtime, train_job

from training_migration.lint.around.files import FILES, lint_file
from training_migration.lint.around.objects import OBJECTS, lint_object
from training_migration.lint.around.together import TOGETHER, lint_together
from training_migration.targets import Target

FILE_CASES: dict[str, tuple[list[str], list[str]]] = {
    "MIG402": (
        [
            "kubectl get pods -l training.kubeflow.org/job-name=x",
            'sum(rate(log{container="pytorch"}[5m]))',
            '{"expr": "up{label_training_kubeflow_org_job_name=\\"x\\"}"}',
            '"expr": "sum(x{container=~\\"tensorflow\\"})"',
            "kubectl logs -n team x-worker-0",
        ],
        [
            "kubectl get pods -l jobset.sigs.k8s.io/jobset-name=x",
            'sum(rate(log{container="node"}[5m]))',
            "kubectl logs -n team x-node-0-0-abcde",
            "image: pytorch",
        ],
    ),
    "MIG403": (
        [
            "kubectl wait --for=condition=Succeeded pytorchjob/x",
            "kubectl -n a wait --for condition=running tfjob x",
            "kubectl get pytorchjob x -o json | jq .status.replicaStatuses",
            'client.wait_for_job_conditions("x")',
            "jq '.status.conditions[] | select(.type==\"Succeeded\")'",
            'successCondition: status.conditions.#(type=="Succeeded")#|#(status=="True")#',
        ],
        [
            "kubectl wait --for=condition=Complete trainjob/x",
            "kubectl wait --for=condition=Ready pod/x",
            "kubectl wait --for=condition=Succeeded workflow/x",
            "echo Succeeded",
        ],
    ),
    "MIG404": (
        ['"expr": "rate(training_operator_jobs_created_total[1h])"'],
        ['"expr": "rate(controller_runtime_reconcile_total[1h])"', "training_jobs_total"],
    ),
    "MIG405": (
        [
            "kubectl get events --field-selector involvedObject.kind=PyTorchJob",
            'if reason == "ExitedWithCode":',
            "TFJobRestarting",
        ],
        ["kubectl get events --field-selector involvedObject.kind=JobSet", 'reason == "SuccessfulCreate"'],
    ),
    "MIG406": (
        [
            "from kubeflow.training import TrainingClient",
            "from flytekitplugins.kfpytorch import PyTorch",
            "kubectl apply -f x.yaml && kubectl get pytorchjobs",
        ],
        ["from kubeflow.trainer import TrainerClient", "kubectl get trainjobs", "kubectl get pods"],
    ),
}


@pytest.mark.parametrize("rule", sorted(FILE_CASES))
def test_it_is_found_in_files_and_what_is_like_it_is_not(rule: str) -> None:
    yes, no = FILE_CASES[rule]
    for text in yes:
        assert (rule, 2) in {(each.rule.id, each.line) for each in lint_file("ci.txt", f"\n{text}\n")}, text
    for text in no:
        assert rule not in {each.rule.id for each in lint_file("ci.txt", text)}, text


def test_comments_of_yaml_and_scripts_are_not_read() -> None:
    text = "# kubectl wait --for=condition=Succeeded pytorchjob/x\n"
    assert lint_file("ci.yaml", text) == lint_file("ci.sh", text) == []


def test_every_rule_on_files_is_here() -> None:
    assert FILES.rules == FILE_CASES.keys()


def test_a_command_with_a_credential_is_not_repeated() -> None:
    (found,) = lint_file("ci.sh", "kubectl --token=geheim get pytorchjobs")
    assert "geheim" not in found.message


def role_for(group: str, *verbs: str) -> Json:
    return {
        "kind": "Role",
        "metadata": {"name": "r"},
        "rules": [{"apiGroups": [group], "resources": ["*"], "verbs": list(verbs)}],
    }


def policy(**selector: object) -> Json:
    return {"kind": "NetworkPolicy", "metadata": {"name": "p"}, "spec": {"podSelector": selector}}


def autoscaler(version: str, kind: str) -> Json:
    return {
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"},
        "spec": {"scaleTargetRef": {"apiVersion": version, "kind": kind, "name": "x"}},
    }


OBJECT_CASES: dict[str, tuple[list[Json], list[Json]]] = {
    "MIG001": (
        [
            {"apiVersion": "kubeflow.org/v2beta1", "kind": "MPIJob"},
            {"apiVersion": "kubeflow.org/v1", "kind": "MXJob"},
        ],
        [
            {"apiVersion": "kubeflow.org/v1", "kind": "Notebook"},
            {"apiVersion": "batch/v1", "kind": "Job"},
            {"apiVersion": "kubeflow.org/v1beta1", "kind": "Experiment"},
        ],
    ),
    "MIG007": (
        [role_for("kubeflow.org", "get", "create")],
        [
            role_for("kubeflow.org", "get", "list"),
            role_for("apps", "create"),
            role_for("kubeflow.org", "create")
            | {
                "rules": [*role_for("kubeflow.org", "*")["rules"], *role_for("trainer.kubeflow.org", "create")["rules"]]
            },
        ],
    ),
    "MIG203": ([autoscaler("kubeflow.org/v1", "PyTorchJob")], [autoscaler("apps/v1", "Deployment")]),
    "MIG402": (
        [
            policy(matchLabels={"training.kubeflow.org/job-name": "x"}),
            policy(matchExpressions=[{"key": "training.kubeflow.org/replica-type", "operator": "Exists"}]),
        ],
        [policy(matchLabels={"app": "x"}), {"kind": "Deployment", "spec": {"training.kubeflow.org/job-name": "x"}}],
    ),
    "MIG406": (
        [
            {"kind": "Experiment", "spec": {"trialTemplate": {"trialSpec": pytorch()}}},
            {"kind": "Workflow", "spec": {"manifest": "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\n"}},
        ],
        [
            pytorch(),
            {"kind": "Experiment", "spec": {"trialTemplate": {"trialSpec": {"kind": "Job", "apiVersion": "batch/v1"}}}},
        ],
    ),
}


@pytest.mark.parametrize("rule", sorted(OBJECT_CASES))
def test_it_is_found_in_objects_and_what_is_like_it_is_not(rule: str) -> None:
    yes, no = OBJECT_CASES[rule]
    found = [rule in {each.rule.id for each in lint_object(document)} for document in documents(*yes, *no)]
    assert found == [True] * len(yes) + [False] * len(no)


def test_every_rule_on_objects_is_here() -> None:
    assert OBJECTS.rules == OBJECT_CASES.keys()


def service(name: str, namespace: str = "team", **labels: str) -> Json:
    return {"kind": "Service", "metadata": {"name": name, "namespace": namespace, "labels": labels}}


def snapshot(of: Json, name: str = "job") -> Json:
    import yaml

    return {
        "kind": "ConfigMap",
        "metadata": {"name": f"{name}-runtime-snapshot", "namespace": "team"},
        "data": {"runtime": yaml.safe_dump(of)},
    }


GANG = {**runtime({"torch": {}}), "spec": {"mlPolicy": {"torch": {}}, "podGroupPolicy": {"volcano": {}}}}
GANG_OF_V1 = pytorch(run={"schedulingPolicy": {"queue": "gold"}})
TOGETHER_CASES: dict[str, tuple[list[list[Json]], list[list[Json]]]] = {
    "MIG004": (
        [[train_job({}), service("job")], [service("job"), pytorch()]],
        [
            [train_job({}), service("other")],
            [train_job({}), service("job", "elsewhere")],
            [train_job({}), service("job", **{"jobset.sigs.k8s.io/jobset-name": "job"})],
            [service("runtime"), runtime({})],
        ],
    ),
    "MIG005": (
        [
            [GANG, train_job({}), GANG_OF_V1],
            [pytorch(master=role(pod={"schedulerName": "volcano"})), train_job({}), GANG],
        ],
        [
            [runtime({"torch": {}}), train_job({}), GANG_OF_V1],
            [GANG, train_job({}), pytorch()],
            [GANG, train_job({}, name="other"), GANG_OF_V1],
        ],
    ),
    "MIG506": (
        [[runtime({"torch": {}}), train_job({}), snapshot(runtime({"jax": {}}))]],
        [
            [runtime({"torch": {}}), train_job({}), snapshot(runtime({"torch": {}}))],
            [runtime({"torch": {}}), train_job({}), snapshot(runtime({"jax": {}}), "other")],
            [runtime({"torch": {}}), train_job({})],
        ],
    ),
}


@pytest.mark.parametrize("rule", sorted(TOGETHER_CASES))
def test_it_is_found_in_objects_together_and_what_is_like_it_is_not(rule: str) -> None:
    yes, no = TOGETHER_CASES[rule]
    found = [rule in {each.rule.id for each in lint_together(documents(*given), Target.V2_3)} for given in (*yes, *no)]
    assert found == [True] * len(yes) + [False] * len(no)


def test_every_rule_on_objects_together_is_here() -> None:
    assert TOGETHER.rules == TOGETHER_CASES.keys()


def test_older_releases_keep_no_copy_of_the_runtime() -> None:
    given = documents(runtime({"torch": {}}), train_job({}), snapshot(runtime({"jax": {}})))
    assert lint_together(given, Target.V2_2) == []
