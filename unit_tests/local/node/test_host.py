"""Host mode: the same pods without a sandbox."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from e2e.support.local_node import CLIENT, Cluster, cluster_in, pod, service

from training_local.node.sandbox import restrictions

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
    messages = [message for name, _, reason, message in api.events if (name, reason) == ("red-worker-0", "HostMode")]
    assert "MASTER_ADDR=red-master-0 became 127.0.0.1" in messages[0]


async def test_a_mount_path_in_arguments_leads_to_the_volume(on_host: Cluster) -> None:
    volumes = [{"name": "v", "emptyDir": {}}]
    container = {"volumeMounts": [{"name": "v", "mountPath": "/scratch"}]}
    body = pod("writer", "sh", "-c", "cat /scratch/file", container=container, volumes=volumes)
    fill = {"name": "fill", "command": ["sh", "-c", "echo x > /scratch/file"], **container}
    body["spec"]["initContainers"] = [fill]
    await on_host.api.create("pods", body)
    assert (await on_host.api.ended("writer"))["phase"] == "Succeeded"
    assert await on_host.log("writer") == "x\n"


def with_config(name: str, *command: str) -> dict[str, Any]:
    """A pod that has the config map `files` at /etc/cfg."""
    container = {"volumeMounts": [{"name": "cfg", "mountPath": "/etc/cfg"}]}
    return pod(name, *command, container=container, volumes=[{"name": "cfg", "configMap": {"name": "files"}}])


READS_BY_ITSELF = "open(''.join(['/etc', '/cfg', '/file'])).read()"


async def test_a_volume_to_which_nothing_leads_keeps_its_container_from_starting(on_host: Cluster) -> None:
    await on_host.api.create("configmaps", {"metadata": {"name": "files"}, "data": {"file": "x"}})
    await on_host.api.create("pods", with_config("blind", "python", "-c", READS_BY_ITSELF))

    def message() -> str:
        waiting = [status["state"].get("waiting", {}) for status in on_host.api.statuses("blind")]
        return next((w["message"] for w in waiting if w["reason"] == "CreateContainerConfigError"), "")

    assert await on_host.api.until(message) == (
        "host mode cannot show container 'main' its volumes at /etc/cfg: no other folder can stand for a path that its "
        "command, variables, probes and config maps do not name (--allow-missing-mounts runs it without)"
    )


async def test_it_starts_with_a_warning_if_missing_mounts_are_allowed(tmp_path: Path) -> None:
    async with cluster_in(tmp_path / "state", "host", allow_missing_mounts=True) as cluster:
        await cluster.api.create("configmaps", {"metadata": {"name": "files"}, "data": {"file": "x"}})
        await cluster.api.create("pods", with_config("blind", "true"))
        assert (await cluster.api.ended("blind"))["phase"] == "Succeeded"
        warned = await cluster.api.until(
            lambda: [e[3] for e in cluster.api.events if e[:3] == ("blind", "Warning", "HostMode")]
        )
    assert warned == [
        "host mode cannot show container 'main' its volumes at /etc/cfg: no other folder can stand for a path that its "
        "command, variables, probes and config maps do not name"
    ]


async def test_files_of_a_config_map_name_the_folders_that_stand_for_mounts(on_host: Cluster) -> None:
    files = {"script": "cat /etc/cfg/file /etc/cfg-2 2>/dev/null\necho done", "file": "x\n"}
    await on_host.api.create("configmaps", {"metadata": {"name": "files"}, "data": files})
    await on_host.api.create("pods", with_config("reader", "sh", "/etc/cfg/script"))
    assert (await on_host.api.ended("reader"))["phase"] == "Succeeded"
    assert await on_host.log("reader") == "x\ndone\n"


async def test_they_still_do_once_the_config_map_has_changed(on_host: Cluster) -> None:
    """And at no moment is there a script that is empty, or that names the old path."""
    ask = "until sh /etc/cfg/script; do [ $? = 7 ] || exit 1; sleep 0.01; done"
    await on_host.api.create("configmaps", {"metadata": {"name": "files"}, "data": {"file": "x\n", "script": "exit 7"}})
    await on_host.api.create("pods", with_config("asker", "sh", "-c", ask))
    await on_host.api.running("asker")
    files = {"file": "y\n", "script": "cat /etc/cfg/file"}  # files change one after the other
    await on_host.api.replace("configmaps", {"metadata": {"name": "files"}, "data": files})
    assert (await on_host.api.ended("asker"))["phase"] == "Succeeded"
    assert await on_host.log("asker") == "y\n"


async def test_what_a_pod_calls_its_own_port_is_what_the_others_call_it(on_host: Cluster) -> None:
    own = {"env": [{"name": "MASTER", "value": "127.0.0.1:23456"}], "ports": [{"containerPort": 23456}]}
    others = {"env": [{"name": "MASTER", "value": "red-master-0:23456"}]}
    await on_host.api.create("services", service("red-master-0"))
    await on_host.start("red-master-0", "sh", "-c", "echo $MASTER; exec sleep 60", job="red", container=own)
    await on_host.run("red-worker-0", "sh", "-c", "echo $MASTER", job="red", container=others)
    said = await on_host.log("red-master-0")
    assert said == await on_host.log("red-worker-0")
    assert said.startswith("127.0.0.1:")
    assert said != "127.0.0.1:23456\n"


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("sys/user/max_user_namespaces", "0\n", "sudo sysctl -w user.max_user_namespaces=15000"),
        ("sys/kernel/apparmor_restrict_unprivileged_userns", "1\n", "kernel.apparmor_restrict_unprivileged_userns=0"),
        ("sys/kernel/unprivileged_userns_clone", "0\n", "sudo sysctl -w kernel.unprivileged_userns_clone=1"),
        ("self/status", "Name:\tx\nSeccomp:\t2\n", "docker run --security-opt seccomp=unconfined"),
    ],
)
def test_the_cause_of_denied_user_namespaces_comes_with_its_remedy(
    tmp_path: Path, file: str, content: str, message: str
) -> None:
    assert restrictions.cause(tmp_path) == ""
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(content)
    said = restrictions.cause(tmp_path)
    assert message in said
    assert len(said.splitlines()) == 1
