"""Host mode: the same pods without a sandbox."""

from __future__ import annotations

from typing import Any

from e2e.support.local_node import CLIENT, Cluster, pod, service

SERVER = """
import os, socket
with socket.create_server((os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))) as server:
    print(os.environ["HOSTNAME"], os.environ["POD_NAME"], flush=True)
    with server.accept()[0] as connection:
        connection.sendall(os.environ["ANSWER"].encode())
"""


def job_env(job: str) -> list[dict[str, Any]]:
    return [
        {"name": "MASTER_ADDR", "value": f"{job}-master-0"},
        {"name": "MASTER_PORT", "value": "23456"},
        {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
        {"name": "ANSWER", "value": job.upper()},
    ]


async def test_two_jobs_use_the_same_port_at_once(on_host: Cluster) -> None:
    api = on_host.api
    client = "import os, sys; sys.argv[1:] = [os.environ['MASTER_ADDR'], os.environ['MASTER_PORT']];" + CLIENT
    for job in ("red", "blue"):
        container = {"env": job_env(job)}
        await api.create("services", service(f"{job}-master-0"))
        await api.create("pods", pod(f"{job}-master-0", "python", "-c", SERVER, job=job, container=container))
        await api.create("pods", pod(f"{job}-worker-0", "python", "-c", client, job=job, container=container))
    for job in ("red", "blue"):
        assert (await api.ended(f"{job}-worker-0"))["phase"] == "Succeeded"
        assert await on_host.log(f"{job}-worker-0") == f"{job.upper()}\n"
        await api.ended(f"{job}-master-0")
        assert await on_host.log(f"{job}-master-0") == f"{job}-master-0 {job}-master-0\n"
    told = [message for name, _, reason, message in api.events if (name, reason) == ("red-worker-0", "HostMode")]
    assert "MASTER_ADDR=red-master-0 became 127.0.0.1" in told[0]


async def test_a_mount_path_in_arguments_leads_to_the_volume(on_host: Cluster) -> None:
    volumes = [{"name": "v", "emptyDir": {}}]
    container = {"volumeMounts": [{"name": "v", "mountPath": "/scratch"}]}
    body = pod("writer", "sh", "-c", "cat /scratch/file", container=container, volumes=volumes)
    fill = {"name": "fill", "command": ["sh", "-c", "echo x > /scratch/file"], **container}
    body["spec"]["initContainers"] = [fill]
    await on_host.api.create("pods", body)
    assert (await on_host.api.ended("writer"))["phase"] == "Succeeded"
    assert await on_host.log("writer") == "x\n"
