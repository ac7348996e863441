"""Jobs with everything that the Go operator had made for them, put into a namespace as they were recorded."""

from __future__ import annotations

import json
from typing import Any, Final

import yaml
from e2e.conformance.case import FOLDER, START
from e2e.harness.client import Api, Object
from e2e.harness.jobs import PLURALS

GOLDEN: Final = FOLDER.parent / "golden"
RBAC: Final = "/apis/rbac.authorization.k8s.io/v1"
MADE: Final = {
    "configmaps": "/api/v1",
    "serviceaccounts": "/api/v1",
    "roles": RBAC,
    "rolebindings": RBAC,
    "services": "/api/v1",
    "pods": "/api/v1",
}
"""Collections of a recording, and where they are served."""
SET_BY_THE_SERVER: Final = ("uid", "creationTimestamp")
RUNNING: Final = {
    "pt-simple-success": "2 all running",
    "tf-chief-ps-worker-eval": "1 all running",
    "xgb-success": "1 all running",
    "mpi-success": "2 launcher runs",
    "pd-master-workers": "1 all running",
    "jax-success": "1 all running",
}
"""Recorded step at which the pods of a case run, for one case of each kind."""


async def restore(api: Api, namespace: str, case: str) -> None:
    """Create the job of a case with its status, pods and all else as at the step of `RUNNING`."""
    recording = json.loads((GOLDEN / f"{case}.json").read_text())
    [state] = [each["state"] for each in recording["snapshots"] if each["step"] == RUNNING[case]]
    written: Object = yaml.safe_load((FOLDER / f"{case}.yaml").read_text())["job"]
    jobs = f"/apis/kubeflow.org/v1/namespaces/{namespace}/{PLURALS[written['kind']]}"
    job = await api.create(jobs, {**written, "spec": state["job"]["spec"]})
    uid = job["metadata"]["uid"]
    await api.patch(
        f"{jobs}/{job['metadata']['name']}/status", {"status": _filled(state["job"]["status"], namespace, uid)}
    )
    for plural, version in MADE.items():
        for recorded in state[plural]:
            await _restore(api, f"{version}/namespaces/{namespace}/{plural}", _filled(recorded, namespace, uid))


async def _restore(api: Api, collection: str, body: Object) -> None:
    for key in SET_BY_THE_SERVER:
        body["metadata"].pop(key, None)
    await api.create(collection, body)
    if "phase" in body.get("status", {}):
        await api.patch(f"{collection}/{body['metadata']['name']}/status", {"status": body["status"]})


def _filled(value: Any, namespace: str, uid: str) -> Any:
    """`value` with the placeholders of recordings replaced: the only uid that objects refer to is the job's."""
    match value:
        case dict():
            return {key: _filled(each, namespace, uid) for key, each in value.items()}
        case list():
            return [_filled(each, namespace, uid) for each in value]
        case str():
            return value.replace("<ns>", namespace).replace("<uid>", uid).replace("<time>", START)
    return value
