"""What a node says of pods whose containers are in different states."""

from __future__ import annotations

from collections.abc import Mapping

from e2e.harness.client import Api, Object

STARTED = "2026-01-01T00:00:00Z"


def ended(code: int) -> Object:
    """State of a container that has ended."""
    return {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "finishedAt": STARTED}}


def running() -> Object:
    """State of a container that runs."""
    return {"running": {"startedAt": STARTED}}


async def tell(
    api: Api, pod: Object, states: Mapping[str, Object], phase: str = "Running", proxy_restarts: int = 0
) -> None:
    """Write the status of a pod: the state of each container by name, the others running."""
    spec, meta = pod["spec"], pod["metadata"]

    def statuses(containers: list[Object], restarts: int) -> list[Object]:
        common = {"imageID": "", "ready": True, "restartCount": restarts}
        return [
            {**common, "name": each["name"], "image": each["image"], "state": states.get(each["name"], running())}
            for each in containers
        ]

    status: Object = {"phase": phase, "containerStatuses": statuses(spec["containers"], 0)}
    proxies = [each for each in spec.get("initContainers", ()) if each.get("restartPolicy") == "Always"]
    if proxies:
        status["initContainerStatuses"] = statuses(proxies, proxy_restarts)
    await api.patch(f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status", {"status": status})
