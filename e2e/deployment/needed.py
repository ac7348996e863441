"""Each rule of the operator's roles taken away in turn, while it works."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import yaml
from e2e.deployment.installation import DEPLOY, LEASE
from e2e.harness.bare import AUDITED, audited
from e2e.harness.client import Api, eventually
from e2e.harness.cluster import Cluster
from e2e.harness.jobs import Namespace, elastic, job, typical

NAMESPACE = "kubeflow"
"""Of the installation."""
ASKING = {"elastic": ("PyTorchJob", 2), "mpi": ("MPIJob", 2)}
"""Jobs of `ask_for_everything` by the ends of their names: their kinds, and how many pods they are to have."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of a role."""

    role: str
    """Its path on the API server."""
    number: int
    content: dict[str, Any]

    def __str__(self) -> str:
        """The verbs and the first resource."""
        return f"{'-'.join(self.content['verbs'])}-{self.content['resources'][0].replace('/', '-')}"

    def is_named_by(self, rejection: str) -> bool:
        """Whether a request was rejected for want of this rule: for itself, to own something, or to grant something."""
        resources = self.content["resources"]
        if "can't set finalizers" in rejection:
            return any(resource.endswith("/finalizers") for resource in resources)
        if "not currently held" in rejection:
            return any(f'Resources:["{resource}"]' in rejection for resource in resources)
        return any(
            f'cannot {verb} resource "{resource}" in API group "{group}"' in rejection
            for group in self.content["apiGroups"]
            for resource in resources
            for verb in self.content["verbs"]
        )


def _rules() -> list[Rule]:
    found = []
    for file in sorted((DEPLOY / "base").glob("permissions*.yaml")):
        for each in yaml.safe_load_all(file.read_text()):
            where = f"namespaces/{NAMESPACE}/roles" if each["kind"] == "Role" else "clusterroles"
            role = f"/apis/rbac.authorization.k8s.io/v1/{where}/{each['metadata']['name']}"
            found += [Rule(role, number, content) for number, content in enumerate(each.get("rules", ()))]
    return found


RULES = _rules()


@asynccontextmanager
async def without(api: Api, rule: Rule) -> AsyncIterator[None]:
    """The rule is missing inside of the context."""
    rules = (await api.call("GET", rule.role))["rules"]
    await api.patch(rule.role, {"rules": [each for number, each in enumerate(rules) if number != rule.number]})
    try:
        await eventually(lambda: _is_missing(api, rule), f"the API server has taken {rule} away")
        yield
    finally:
        await api.patch(rule.role, {"rules": rules})


async def _is_missing(api: Api, rule: Rule) -> bool:
    """Whether the operator's account lacks the right."""
    resource, _, subresource = rule.content["resources"][0].partition("/")
    attributes = {"group": rule.content["apiGroups"][0], "resource": resource, "subresource": subresource}
    attributes |= {"verb": rule.content["verbs"][0], "namespace": NAMESPACE}
    attributes["name"] = next(iter(rule.content.get("resourceNames", ())), "")
    question = {"spec": {"user": AUDITED, "resourceAttributes": attributes}}
    answer = await api.create("/apis/authorization.k8s.io/v1/subjectaccessreviews", question)
    return not answer["status"]["allowed"]


async def begin(jobs: Namespace, name: str) -> None:
    """A job that runs, and goes as soon as it has ended."""
    body = job(name, "JAXJob", Worker=1)
    body["spec"]["runPolicy"]["ttlSecondsAfterFinished"] = 0
    await jobs.create(body)
    await jobs.pods_reach(name, 1)


async def ask_for_everything(jobs: Namespace, name: str) -> None:
    """Let the operator need each of its rules: to end the job that runs, for an elastic one, for MPI, and to lead."""
    await jobs.create(elastic(f"{name}-elastic"))
    await jobs.create(typical(f"{name}-mpi", "MPIJob"))
    await jobs.set_phase(name, "Succeeded")
    await jobs.api.delete(f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases/{LEASE}")


def rejections(cluster: Cluster) -> list[str]:
    """What the operator's account of a bare cluster was told where it was rejected something."""
    answers = (entry["responseStatus"] for entry in audited(cluster, AUDITED) if "responseStatus" in entry)
    return [answer.get("message", "") for answer in answers if answer["code"] == 403]
