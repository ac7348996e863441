"""Names on the wire that all kinds share: labels, annotations, condition types, well-known values."""

from __future__ import annotations

from typing import Final

GROUP: Final = "kubeflow.org"
VERSION: Final = "v1"
API_VERSION: Final = f"{GROUP}/{VERSION}"

LABEL_PREFIX: Final = "training.kubeflow.org/"
OPERATOR_NAME_LABEL: Final = LABEL_PREFIX + "operator-name"
JOB_NAME_LABEL: Final = LABEL_PREFIX + "job-name"
REPLICA_TYPE_LABEL: Final = LABEL_PREFIX + "replica-type"
REPLICA_INDEX_LABEL: Final = LABEL_PREFIX + "replica-index"
JOB_ROLE_LABEL: Final = LABEL_PREFIX + "job-role"
MASTER_ROLE: Final = "master"

EXTENSION_PREFIX: Final = "extension.training.kubeflow.org/"
"""Prefix of the annotations that enable behaviour that v1 does not have."""

GANG_SCHEDULING_ANNOTATION: Final = EXTENSION_PREFIX + "gang-scheduling"
"""On jobs: `false` leaves the job out of gang scheduling (K-50)."""

RESTARTS_ANNOTATION: Final = EXTENSION_PREFIX + "restarts"
BACKOFF_LEVEL_ANNOTATION: Final = EXTENSION_PREFIX + "backoff-level"
"""On pods that replace others: what their slot has seen before (K-03)."""

ATTEMPT_ANNOTATION: Final = EXTENSION_PREFIX + "attempt"
"""On pods of jobs that restart as a whole: which attempt they belong to, from 0."""

MAX_REPLICAS: Final = 10_000
"""Most replicas of one type, unless whoever runs the operator allows another number."""
MOST_REPLICAS: Final = 150_000
"""Most that may be allowed: so many pods Kubernetes bears in one cluster ("Considerations for large clusters")."""
MOST_PROCESSES: Final = 10_000
"""Most processes per replica."""

MANAGED_BY_US: Final = "kubeflow.org/training-operator"
MANAGED_BY_MULTIKUEUE: Final = "kueue.x-k8s.io/multikueue"
MANAGERS: Final = (MANAGED_BY_US, MANAGED_BY_MULTIKUEUE)
"""The values that `spec.runPolicy.managedBy` may have."""
