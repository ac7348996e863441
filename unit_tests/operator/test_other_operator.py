"""An operator that takes no lease looks whether another one works in the cluster, and rejects to be the second."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
import structlog
from unit_tests.operator.scripted_api import answer, rejection

from training_operator.kube.transport import Request, Response
from training_operator.other_operator import AnotherOperator, detect
from training_operator.serve import reject_second
from training_operator.settings import Settings

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
LEASE = "1ca428e5.training-operator.kubeflow.org"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/kubeflow/leases/{LEASE}"
DEPLOYMENTS = "/apis/apps/v1/namespaces/kubeflow/deployments/training-operator"
WEBHOOKS = (
    "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/validator.training-operator.kubeflow.org"
)


class Objects:
    """A cluster with these objects; `forbidden` are the paths that may not be read."""

    def __init__(self, found: dict[str, Any], forbidden: tuple[str, ...] = ()) -> None:
        self.found, self.forbidden = found, forbidden
        self.paths: list[str] = []

    async def request(self, request: Request) -> Response:
        assert request.method == "GET"
        self.paths.append(request.path)
        if request.path in self.forbidden:
            return rejection(403, "Forbidden")
        return answer(200, self.found[request.path]) if request.path in self.found else rejection(404, "NotFound")

    def stream(self, request: Request) -> Any:
        raise AssertionError(request)

    async def close(self) -> None:
        pass


def held(renewed: str, holder: str = "manager-1") -> dict[str, Any]:
    return {"spec": {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15}}


@pytest.mark.parametrize(
    ("path", "found", "sign"),
    [
        (DEPLOYMENTS, {"spec": {"replicas": 1}}, "Deployment kubeflow/training-operator, with replicas: 1"),
        (DEPLOYMENTS, {"spec": {}}, "Deployment kubeflow/training-operator, with replicas: 1"),
        (DEPLOYMENTS, {"spec": {"replicas": 0}}, ""),
        (LEASES, held("2026-01-01T11:59:50.000000Z"), f"lease kubeflow/{LEASE}, held by manager-1"),
        (LEASES, held("2026-01-01T11:59:29.000000Z"), ""),
        (LEASES, held("2026-01-01T11:59:50.000000Z", ""), ""),
        (LEASES, held("no time"), ""),
        (LEASES, {"spec": None}, ""),
        (WEBHOOKS, {}, "webhook configuration validator.training-operator.kubeflow.org, which calls the Go operator"),
    ],
)
async def test_what_another_operator_leaves_in_a_cluster_is_seen(path: str, found: Any, sign: str) -> None:
    sight = await detect(Objects({path: found}), "kubeflow", LEASE, in_pod=False, now=NOW)
    assert (sight.signs, sight.unseen) == ((sign,) if sign else (), ())


async def test_a_pod_does_not_take_its_own_deployment_for_another_operator() -> None:
    objects = Objects({DEPLOYMENTS: {"spec": {"replicas": 1}}})
    assert (await detect(objects, "kubeflow", LEASE, in_pod=True, now=NOW)).signs == ()
    assert DEPLOYMENTS not in objects.paths


async def test_the_second_operator_is_rejected_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    objects = Objects({DEPLOYMENTS: {"spec": {"replicas": 2}}, WEBHOOKS: {}})
    with pytest.raises(AnotherOperator) as rejected:
        await reject_second(objects, Settings(), "kubeflow")
    sentence = str(rejected.value)
    assert "Deployment kubeflow/training-operator, with replicas: 2" in sentence
    assert "kubectl -n kubeflow scale deployment training-operator --replicas=0" in sentence
    assert "--force" in sentence


async def test_where_it_may_not_look_it_says_so_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with structlog.testing.capture_logs() as logs:
        await reject_second(Objects({}, (DEPLOYMENTS, WEBHOOKS)), Settings(), "kubeflow")
    [line] = logs
    assert line["log_level"] == "info"
    assert json.dumps(line["unseen"]).count("(no permission)") == 2


async def test_an_empty_cluster_needs_no_word() -> None:
    with structlog.testing.capture_logs() as logs:
        await reject_second(Objects({}), Settings(), "kubeflow")
    assert logs == []
