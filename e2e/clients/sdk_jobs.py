"""What all sessions with the SDK `kubeflow-training` share: its models by kind, jobs made of them, namespaces."""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubeflow.training import TrainingClient, models
from kubernetes import client as k8s

POLL = 0.25
"""Seconds between two looks at something that is about to happen."""
AT_ONCE = 4
"""Topics in work at the same time; most of the time they wait."""
LIMIT = 240.0
"""Seconds after which it will not happen any more."""


@dataclass(frozen=True)
class Kind:
    """The names that the SDK has for one kind, and the replica types that its jobs have here."""

    model: str
    field: str
    container: str
    types: tuple[str, ...]
    """The first one's pod is the master."""

    @property
    def wire_field(self) -> str:
        """The field of the replicas as it is stored."""
        first, *words = self.field.split("_")
        return first + "".join(word.capitalize() for word in words)


_ALL = {
    "PyTorchJob": Kind("PyTorchJob", "pytorch_replica_specs", "pytorch", ("Master", "Worker")),
    "TFJob": Kind("TFJob", "tf_replica_specs", "tensorflow", ("Chief", "Worker")),
    "XGBoostJob": Kind("XGBoostJob", "xgb_replica_specs", "xgboost", ("Master", "Worker")),
    "MPIJob": Kind("MPIJob", "mpi_replica_specs", "mpi", ("Launcher", "Worker")),
    "PaddleJob": Kind("PaddleJob", "paddle_replica_specs", "paddle", ("Master", "Worker")),
    "JAXJob": Kind("JAXJob", "jax_replica_specs", "jax", ("Worker",)),
}
KINDS = {name: kind for name, kind in _ALL.items() if hasattr(models, f"KubeflowOrgV1{kind.model}")}
"""Those that the SDK knows: before 1.9 it had no JAXJob."""
SETTINGS = inspect.signature(TrainingClient.create_job).parameters
"""What `create_job` takes; before 1.9 no queue."""


def template(container: str, script: str, **pod: Any) -> k8s.V1PodTemplateSpec:
    """A pod that runs a shell script."""
    main = k8s.V1Container(
        name=container,
        image="example.com/train:1",
        command=["sh", "-c", script],
        volume_mounts=pod.pop("volume_mounts", None),
    )
    return k8s.V1PodTemplateSpec(spec=k8s.V1PodSpec(containers=[main], **pod))


def job(kind: str, name: str, script: str = "true", workers: int = 1, **policy: Any) -> Any:
    """A job of `kind` as a user of the SDK makes it: all replicas run a shell script."""
    known = KINDS[kind]
    replicas = {
        each: models.KubeflowOrgV1ReplicaSpec(
            replicas=workers if each == "Worker" else 1, template=template(known.container, script)
        )
        for each in known.types
    }
    spec = getattr(models, f"KubeflowOrgV1{known.model}Spec")
    return getattr(models, f"KubeflowOrgV1{known.model}")(
        api_version="kubeflow.org/v1",
        kind=kind,
        metadata=k8s.V1ObjectMeta(name=name),
        spec=spec(run_policy=models.KubeflowOrgV1RunPolicy(**policy), **{known.field: replicas}),
    )


def fine_tune(s: Session, name: str, **training: Any) -> None:
    """Call `train()` as its page shows it, with settings of the trainer."""
    sys.path.insert(0, str(Path(__file__).with_name("train_dependencies")))
    from kubeflow.storage_initializer.hugging_face import (  # noqa: PLC0415  # needs the line above
        HuggingFaceModelParams,
        HuggingFaceTrainerParams,
    )
    from kubeflow.storage_initializer.s3 import S3DatasetParams  # noqa: PLC0415  # likewise
    from peft import LoraConfig  # noqa: PLC0415  # likewise
    from transformers import (  # noqa: PLC0415  # likewise
        AutoModelForSequenceClassification,
        TrainingArguments,
    )

    s.client.train(
        name=name,
        num_workers=2,
        num_procs_per_worker=1,
        resources_per_worker={"cpu": "500m"},  # so that both, and the operator, fit on a node of two
        model_provider_parameters=HuggingFaceModelParams(
            model_uri="hf://example/model", transformer_type=AutoModelForSequenceClassification, num_labels=2
        ),
        dataset_provider_parameters=S3DatasetParams("https://s3.example.com", "bucket", "file"),
        trainer_parameters=HuggingFaceTrainerParams(
            training_parameters=TrainingArguments(**training),
            lora_config=LoraConfig(target_modules=frozenset({"q"})),
        ),
    )


def rejected(call: Callable[[], Any]) -> str:
    """The sentence with which a call fails."""
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "it worked"


def until(check: Callable[[], Any], what: str) -> Any:
    """The first answer that counts as true; raises after LIMIT."""
    deadline = time.monotonic() + LIMIT
    while not (answer := check()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {LIMIT:.0f} s: {what}")
        time.sleep(POLL)
    return answer


class Session:
    """A client in a namespace of its own."""

    def __init__(self, topic: str) -> None:
        self.namespace = f"{Path(sys.argv[0]).stem}-{topic}".replace("_", "-")
        self.client = TrainingClient(namespace=self.namespace)
        self.core = self.client.core_api
        self.custom = self.client.custom_api
        self.core.create_namespace(k8s.V1Namespace(metadata=k8s.V1ObjectMeta(name=self.namespace)))

    def of(self, kind: str) -> Any:
        """The client for one kind: before 1.9 it forgot, on the way, which kind it was asked for."""
        self.client = TrainingClient(namespace=self.namespace, job_kind=kind)
        return self.client

    def wait(self, name: str, *conditions: str, kind: str = "PyTorchJob") -> Any:
        """Wait for any of the conditions as users do, only more impatiently; returns the job."""
        expected = set(conditions or ("Succeeded",))
        return self.client.wait_for_job_conditions(
            name, job_kind=kind, expected_conditions=expected, wait_timeout=int(LIMIT), polling_interval=POLL
        )

    def true_conditions(self, name: str, kind: str = "PyTorchJob") -> list[str]:
        """The types of all conditions that hold, in their order."""
        return [each.type for each in self.client.get_job_conditions(name, job_kind=kind) if each.status == "True"]

    def raw(self, kind: str, name: str) -> dict[str, Any]:
        """The stored object as the API server has it."""
        found: dict[str, Any] = self.custom.get_namespaced_custom_object(
            "kubeflow.org", "v1", self.namespace, f"{kind.lower()}s", name
        )
        return found

    def pods(self, name: str, count: int) -> list[Any]:
        """The pods of a job, once it has so many of them, by name."""

        def found() -> tuple[bool, list[Any]]:
            pods = [each for each in self.client.get_job_pods(name) if not each.metadata.deletion_timestamp]
            return len(pods) == count, sorted(pods, key=lambda pod: str(pod.metadata.name))

        return list(until(lambda: (answer := found())[0] and answer, f"{count} pods of {name}")[1])

    def all_end(self, name: str, *, except_type: str = "") -> None:
        """Wait until the pods of a job have ended: the job may be over before, as its master decides."""

        def ended(pod: Any) -> bool:
            spared = pod.metadata.labels["training.kubeflow.org/replica-type"] == except_type
            return bool(spared or pod.status.phase in ("Succeeded", "Failed"))

        until(lambda: all(map(ended, self.client.get_job_pods(name))), f"the end of the pods of {name}")

    def play(self, name: str, count: int, phase: str) -> None:
        """Move all pods of a job to a phase, where no node does it."""
        for pod in self.pods(name, count):
            self.core.patch_namespaced_pod_status(pod.metadata.name, self.namespace, {"status": {"phase": phase}})


def run(topics: Mapping[str, Callable[[Session], Any]]) -> None:
    """Do the topics named on the command line at the same time, else all; print what they saw as JSON by topic.

    A topic that fails has an `error` instead, so that the others can still be judged. The SDK's own words go to
    standard error.
    """

    def seen(topic: str) -> Any:
        try:
            session = Session(topic)
            try:
                return topics[topic](session)
            finally:
                session.core.delete_namespace(session.namespace)
        except Exception:
            return {"error": traceback.format_exc()}

    chosen = sys.argv[1:] or list(topics)
    with contextlib.redirect_stdout(sys.stderr), ThreadPoolExecutor(AT_ONCE) as pool:
        told = dict(zip(chosen, pool.map(seen, chosen), strict=True))
    print(json.dumps(told))
