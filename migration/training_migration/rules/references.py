"""Pages that several rules refer to."""

from __future__ import annotations

from typing import Final

_KUBERNETES: Final = "https://kubernetes.io/docs"
JOB: Final = f"Kubernetes API, Job: {_KUBERNETES}/reference/kubernetes-api/workload-resources/job-v1/"
POD: Final = f"Kubernetes API, Pod: {_KUBERNETES}/reference/kubernetes-api/workload-resources/pod-v1/"
POD_FAILURE: Final = f"Kubernetes, pod failure policy: {_KUBERNETES}/tasks/job/pod-failure-policy/"
SUCCESS_POLICY: Final = f"Kubernetes, success policy: {_KUBERNETES}/concepts/workloads/controllers/job/#success-policy"
DEPENDENT_VARIABLES: Final = (
    f"Kubernetes, dependent variables: {_KUBERNETES}/tasks/inject-data-application/"
    "define-interdependent-environment-variables/"
)
NAMES: Final = f"Kubernetes, names: {_KUBERNETES}/concepts/overview/working-with-objects/names/"
DNS: Final = f"Kubernetes, DNS of pods: {_KUBERNETES}/concepts/services-networking/dns-pod-service/"
SIDECARS: Final = f"Kubernetes, sidecar containers: {_KUBERNETES}/concepts/workloads/pods/sidecar-containers/"
PRUNING: Final = (
    f"Kubernetes, pruning of fields: {_KUBERNETES}/tasks/extend-kubernetes/custom-resources/"
    "custom-resource-definitions/#field-pruning"
)
RBAC: Final = f"Kubernetes, RBAC: {_KUBERNETES}/reference/access-authn-authz/rbac/"
TORCHRUN: Final = "PyTorch, torchrun: https://docs.pytorch.org/docs/stable/elastic/run.html"
GUIDE: Final = "Kubeflow, migration guide: https://www.kubeflow.org/docs/components/trainer/operator-guides/migration/"
RUNTIMES: Final = "Kubeflow, runtimes: https://www.kubeflow.org/docs/components/trainer/operator-guides/runtime/"
JOBSET: Final = "JobSet, API: https://jobset.sigs.k8s.io/docs/reference/jobset.v1alpha2/"
