"""What the controllers build of objects of Trainer v2; the test is the node."""

from __future__ import annotations

from collections.abc import Container, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from e2e.harness.client import Api, ApiError, Object, eventually

TRAINER = "/apis/trainer.kubeflow.org/v1alpha1"
JOBSET = "/apis/jobset.x-k8s.io/v1alpha2"
PLURALS = {
    "TrainJob": "trainjobs",
    "TrainingRuntime": "trainingruntimes",
    "ClusterTrainingRuntime": "clustertrainingruntimes",
}
COLLECTIONS = {
    "JobSet": (JOBSET, "jobsets"),
    "Service": ("/api/v1", "services"),
    "ConfigMap": ("/api/v1", "configmaps"),
    "Secret": ("/api/v1", "secrets"),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims"),
    "PodGroup": ("/apis/scheduling.x-k8s.io/v1alpha1", "podgroups"),
    "PodGroup of Volcano": ("/apis/scheduling.volcano.sh/v1beta1", "podgroups"),
    "Job": ("/apis/batch/v1", "jobs"),
    "Pod": ("/api/v1", "pods"),
}
"""Where the objects of a TrainJob are, in the order in which they come to be."""
NOT_BUILT = ("kube-root-ca.crt",)
"""Names of what every namespace has."""
COMPLAINTS = ("TrainJobResourcesCreationFailed", "JobCreationFailed")
"""Events of a TrainJob and of a JobSet."""
FINAL = ("denied the request", "is invalid", "duplicate entries")
"""Words of complaints that do not pass."""
LIMIT = 60.0


@dataclass(frozen=True, slots=True)
class Built:
    """What has come of some objects."""

    objects: list[Object] = field(default_factory=list)
    rejected: str = ""
    """What admission said."""
    stuck: str = ""
    """What an event said: the TrainJob is there, but nothing is made of it."""


async def built(api: Api, namespace: str, given: Sequence[Object]) -> Built:
    """Create the objects in a namespace of their own, the last one a TrainJob, and wait for all that is made of it."""
    for number, each in enumerate(given):
        if rejected := await created(api, namespace, each, patient=number > 0):
            return Built(rejected=rejected)
    name = given[-1]["metadata"]["name"]
    as_created: dict[str, Object] = {}

    async def found() -> Built | None:
        if stuck := await _complaint(api, namespace, name):
            return Built(stuck=stuck)
        return await _everything(api, namespace, name, as_created)

    return await eventually(found, f"all objects of the TrainJob of {namespace}", LIMIT, poll=0.3)


async def created(api: Api, namespace: str, given: Object, *, patient: bool) -> str:
    """Create an object, and say why if that is rejected; the webhook may learn of its runtime only after a moment."""
    obj = {**given, "metadata": {**given["metadata"], "namespace": namespace}}
    # As kubectl does: fields that are not known are rejected.
    path = f"{TRAINER}/namespaces/{namespace}/{PLURALS[given['kind']]}?fieldValidation=Strict"

    async def answer() -> tuple[str] | None:
        try:
            await api.create(path, obj)
        except ApiError as error:
            return None if patient and "must be created before" in error.message else (error.message,)
        return ("",)

    return (await eventually(answer, f"an answer to {given['kind']} of {namespace}"))[0]


async def _complaint(api: Api, namespace: str, name: str) -> str:
    listed = await api.call("GET", f"/apis/events.k8s.io/v1/namespaces/{namespace}/events")
    notes = [
        each["note"]
        for each in listed["items"]
        if each.get("reason") in COMPLAINTS and each["regarding"]["name"] == name
    ]
    # Others pass: a conflict, for example, is tried again at once.
    return next((note for note in notes if any(each in note for each in FINAL)), "")


async def _everything(api: Api, namespace: str, name: str, as_created: dict[str, Object]) -> Built | None:
    """All objects once they are complete, pods as they were at first; until then dependencies are met."""
    jobset = await api.get(f"{JOBSET}/namespaces/{namespace}/jobsets/{name}")
    if jobset is None:
        return None
    suspended = jobset["spec"].get("suspend", False)
    jobs, pods = await _items(api, namespace, "Job"), await _items(api, namespace, "Pod")
    for pod in pods:
        as_created.setdefault(pod["metadata"]["name"], pod)
    expected = [each for each in jobset["spec"]["replicatedJobs"] if not (suspended and each.get("dependsOn"))]
    if len(jobs) < sum(each["replicas"] for each in expected):
        await meet_dependencies(api, namespace, name, as_created)  # others are still to be seen as they are created
        return None
    if not suspended and len(pods) < sum(job["spec"]["parallelism"] for job in jobs):
        return None
    found = [await _items(api, namespace, kind) for kind in COLLECTIONS]
    return Built(objects=[as_created.get(each["metadata"]["name"], each) for items in found for each in items])


async def meet_dependencies(api: Api, namespace: str, jobset: str, among: Container[str] | None = None) -> None:
    """Let every pod of a JobSet be ready, and initializers end; only those of these names if there are any."""
    selector = f"labelSelector=jobset.sigs.k8s.io/jobset-name={jobset}"
    for pod in (await api.call("GET", f"/api/v1/namespaces/{namespace}/pods?{selector}"))["items"]:
        if pod["status"].get("phase") != "Pending" or not (among is None or pod["metadata"]["name"] in among):
            continue
        ends = pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"].endswith("initializer")
        status = {
            "phase": "Succeeded" if ends else "Running",
            "conditions": [{"type": "Ready", "status": "False" if ends else "True"}],
        }
        path = f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}/status"
        with suppress(ApiError):  # the pod may have been deleted meanwhile
            await api.patch(path, {"status": status})


async def _items(api: Api, namespace: str, kind: str) -> list[Object]:
    group, plural = COLLECTIONS[kind]
    listed = await api.call("GET", f"{group}/namespaces/{namespace}/{plural}")
    version = group.removeprefix("/apis/").removeprefix("/api/")
    items = [{"apiVersion": version, "kind": kind.split(maxsplit=1)[0], **each} for each in listed["items"]]
    return sorted((each for each in items if each["metadata"]["name"] not in NOT_BUILT), key=_order)


def _order(obj: Object) -> tuple[str, int, str]:
    """Pods by index instead of their random names."""
    index = obj["metadata"].get("annotations", {}).get("batch.kubernetes.io/job-completion-index", "0")
    return obj["metadata"].get("generateName", "").rstrip("0123456789-"), int(index), obj["metadata"]["name"]
