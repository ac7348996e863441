"""A small operator written with kopf; runs in the clients' environment: `python -m kopf run kopf_operator.py`.

It says what it sees in annotations, in a status, in events and output; `e2e/integrations/test_kopf.py` looks.
"""

from __future__ import annotations

from typing import Any

import kopf

JOBS = ("kubeflow.org", "v1", "pytorchjobs")
MARK = "fidelity.example.com"


@kopf.on.startup()
def configure(settings: kopf.OperatorSettings, **_: Any) -> None:
    """Keep progress in annotations, because the schema of jobs leaves no room for it in their status."""
    settings.persistence.progress_storage = kopf.AnnotationsProgressStorage(prefix=MARK)
    settings.persistence.diffbase_storage = kopf.AnnotationsDiffBaseStorage(prefix=MARK)
    settings.persistence.finalizer = f"{MARK}/kopf"
    settings.watching.server_timeout = 30


@kopf.on.create(*JOBS)
def created(body: kopf.Body, patch: kopf.Patch, **_: Any) -> None:
    """Note the creation in the metadata and in the status, and announce it."""
    patch.metadata.annotations[f"{MARK}/greeted"] = "yes"
    patch.status["startTime"] = "2026-01-02T03:04:05Z"
    kopf.event(body, type="Normal", reason="Greeted", message="hello from kopf")


@kopf.on.update(*JOBS, field="spec.runPolicy.suspend")
def updated(old: Any, new: Any, patch: kopf.Patch, **_: Any) -> None:
    """Note what a field was and is."""
    patch.metadata.annotations[f"{MARK}/suspend"] = f"{old} -> {new}"


@kopf.on.delete(*JOBS)
def deleted(name: str, **_: Any) -> None:
    """Say good-bye; the finalizer has kept the object for that."""
    print(f"deleted {name}", flush=True)


@kopf.on.create("", "v1", "configmaps", labels={"kopf": "yes"})
def retried(retry: int, patch: kopf.Patch, **_: Any) -> None:
    """Fail once; kopf keeps in the object that it has to come back."""
    if retry == 0:
        raise kopf.TemporaryError("not yet", delay=0.2)
    patch.metadata.annotations[f"{MARK}/attempts"] = str(retry + 1)


@kopf.timer("", "v1", "configmaps", labels={"kopf": "yes"}, interval=0.3)
def ticked(annotations: dict[str, str], patch: kopf.Patch, **_: Any) -> None:
    """Count up to three in an annotation."""
    if (count := int(annotations.get(f"{MARK}/ticks", "0"))) < 3:
        patch.metadata.annotations[f"{MARK}/ticks"] = str(count + 1)


@kopf.daemon("", "v1", "configmaps", labels={"kopf": "yes"}, cancellation_backoff=5)
async def attended(name: str, stopped: kopf.DaemonStopped, **_: Any) -> None:
    """Live as long as the object does."""
    print(f"attending {name}", flush=True)
    await stopped.wait()
    print(f"left {name}", flush=True)
