"""A TrainJob is created right after its runtime, which Trainer's webhook may not know yet."""

from __future__ import annotations

import asyncio
import json
from contextlib import AbstractAsyncContextManager

import pytest

from training_migration.runs.api import Api, Rejected
from training_operator.kube.transport import Request, Response, Stream

pytestmark = pytest.mark.virtual_time

TRAIN_JOB = {"apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainJob", "metadata": {"name": "new"}}
UNKNOWN = "denied the request: specified trainingRuntime must be created before the TrainJob is created"


class Webhook:
    """An API server whose webhook rejects TrainJobs for some seconds."""

    def __init__(self, seconds: float, message: str = UNKNOWN) -> None:
        self._seconds, self._message = seconds, message

    async def request(self, request: Request) -> Response:
        if request.method == "GET":
            kinds = [{"name": "trainjobs", "kind": "TrainJob", "namespaced": True}]
            return Response(200, json.dumps({"resources": kinds}).encode())
        if asyncio.get_running_loop().time() < self._seconds:
            return Response(403, json.dumps({"message": self._message}).encode())
        return Response(201, request.body or b"")

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError

    async def close(self) -> None:
        pass


async def test_a_train_job_waits_for_the_webhook_to_see_its_runtime() -> None:
    loop = asyncio.get_running_loop()
    assert await Api(Webhook(loop.time() + 5)).create_after_runtime(TRAIN_JOB) == TRAIN_JOB


async def test_a_runtime_that_is_never_seen_is_reported() -> None:
    with pytest.raises(Rejected, match="must be created before"):
        await Api(Webhook(float("inf"))).create_after_runtime(TRAIN_JOB)


async def test_what_a_webhook_rejects_for_another_reason_is_not_tried_again() -> None:
    begun = asyncio.get_running_loop().time()
    with pytest.raises(Rejected, match="forbidden"):
        await Api(Webhook(float("inf"), "forbidden")).create_after_runtime(TRAIN_JOB)
    assert asyncio.get_running_loop().time() == begun
