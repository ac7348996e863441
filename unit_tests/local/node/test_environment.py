"""Environment, command lines and volumes of containers."""

from __future__ import annotations

import base64
import subprocess
from collections.abc import Mapping
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from e2e.support.at_most import at_most
from e2e.support.local_node import Cluster, cluster_in, entries, exists, pod

from training_local.node import environment, volumes
from training_local.node.environment import MAX_STRING, ArgumentListTooLong, ConfigError, Facts, expand
from training_local.node.pod_python import PythonChoice
from training_local.node.podspec import Container, parse_pod
from training_local.node.volumes import VolumeError


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("$(A)-$(B)", "1-2"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$(UNKNOWN) $(", "$(UNKNOWN) $("),
        ("$A 5$", "$A 5$"),
        ("$()", "$()"),
    ],
)
def test_references_are_replaced_as_by_a_kubelet(text: str, result: str) -> None:
    assert expand(text, {"A": "1", "B": "2"}) == result


def chain(levels: int, text: str = "x" * 100) -> list[dict[str, Any]]:
    """Each variable is twice the one before."""
    doubled = [{"name": f"A{level}", "value": f"$(A{level - 1})$(A{level - 1})"} for level in range(1, levels)]
    return [{"name": "A0", "value": text}, *doubled]


@pytest.mark.parametrize(
    "env",
    [
        chain(40),
        [{"name": "A", "value": "x" * 100_000}, {"name": "B", "value": "$(A)" * 25_000}],
        [{"name": f"A{number}", "value": "x" * 100_000} for number in range(30)],
        [{"name": "A", "value": "é" * 70_000}],
        [{"name": f"A{number}", "value": "x" * 100} for number in range(20_000)],
    ],
    ids=["a chain", "many references", "too much together", "bytes, not characters", "too many"],
)
def test_more_than_a_kernel_takes_is_rejected_before_it_is_made(env: list[dict[str, Any]]) -> None:
    known = facts(pod("me", "true", container={"env": env}))
    with at_most(3.0), pytest.raises(ArgumentListTooLong, match=r"^exec: argument list too long: "):
        environment.command_line(known.pod.spec.containers[0], {}, variables(env))


FULL = "x" * (MAX_STRING - 1)
NEARLY = [FULL] * 15 + [FULL[:-1000]]
"""With their ends and pointers some 900 bytes less than there may be."""


@pytest.mark.parametrize(
    ("arguments", "fits"), [([FULL], True), ([f"{FULL}x"], False), (NEARLY, True), ([*NEARLY, "x" * 2000], False)]
)
def test_the_limits_are_those_of_the_kernel(arguments: list[str], fits: bool) -> None:
    for take in (
        lambda: environment.check_size(["/bin/true", *arguments], {}),
        lambda: subprocess.run(["/bin/true", *arguments], env={}, check=True),
    ):
        with nullcontext() if fits else pytest.raises((ArgumentListTooLong, OSError), match="rgument list too long"):
            take()


async def test_a_pod_says_that_its_variables_are_too_long(cluster: Cluster) -> None:
    status = await cluster.run("long", "true", container={"env": chain(40)})
    ended = status["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (128, "StartError")
    assert ended["message"].startswith("exec: argument list too long: ")


Objects = Mapping[tuple[str, str], Mapping[str, bytes]]
"""Config maps and secrets by kind and name."""


def facts(body: dict[str, Any], objects: Objects | None = None) -> Facts:
    body["metadata"] |= {"namespace": "team", "uid": "u-1"}
    capacity = {"cpu": Fraction(8), "memory": Fraction(1 << 30)}
    return Facts(parse_pod(body), "local", "127.0.0.1", "10.244.0.9", capacity, objects or {})


def variables(env: list[dict[str, Any]], objects: Objects | None = None, **container: object) -> dict[str, str]:
    known = facts(pod("me", "true", container={"env": env, **container}), objects)
    return environment.build(known.pod.spec.containers[0], known, {"PATH": "/bin"})


def test_sources_of_variables() -> None:
    def of(**source: object) -> dict[str, Any]:
        return {"valueFrom": source}

    env = [
        {"name": "PLAIN", "value": "a"},
        {"name": "LATER", "value": "$(PLAIN)$(PATH)$(NONE)"},
        {"name": "POD", **of(fieldRef={"fieldPath": "metadata.name"})},
        {"name": "IP", **of(fieldRef={"fieldPath": "status.podIP"})},
        {"name": "LABEL", **of(fieldRef={"fieldPath": "metadata.labels['pod']"})},
        {"name": "CPUS", **of(resourceFieldRef={"resource": "limits.cpu"})},
        {"name": "MEMORY", **of(resourceFieldRef={"resource": "limits.memory", "divisor": "1Mi"})},
        {"name": "ASKED", **of(resourceFieldRef={"resource": "requests.cpu", "divisor": "1m"})},
        {"name": "SETTING", **of(configMapKeyRef={"name": "settings", "key": "rate"})},
        {"name": "PASSWORD", **of(secretKeyRef={"name": "login", "key": "word"})},
        {"name": "ABSENT", **of(secretKeyRef={"name": "none", "key": "word", "optional": True})},
    ]
    objects = {("configmap", "settings"): {"rate": b"0.1"}, ("secret", "login"): {"word": b"xyz"}}
    resources = {"limits": {"memory": "64Mi"}, "requests": {"cpu": "250m"}}
    assert variables(env, objects, resources=resources) == {
        "PATH": "/bin",
        "PLAIN": "a",
        "LATER": "a/bin$(NONE)",
        "POD": "me",
        "IP": "10.244.0.9",
        "LABEL": "me",
        "CPUS": "8",
        "MEMORY": "64",
        "ASKED": "250",
        "SETTING": "0.1",
        "PASSWORD": "xyz",
    }


def test_all_entries_with_a_prefix_give_way_to_single_ones() -> None:
    objects = {("configmap", "settings"): {"A": b"1", "B": b"2"}}
    source = [{"prefix": "X_", "configMapRef": {"name": "settings"}}]
    found = variables([{"name": "X_B", "value": "own $(X_A)"}], objects, envFrom=source)
    assert (found["X_A"], found["X_B"]) == ("1", "own 1")


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"configMapKeyRef": {"name": "none", "key": "k"}}, 'configmap "none" not found'),
        ({"secretKeyRef": {"name": "login", "key": "k"}}, "couldn't find key k in Secret team/login"),
        ({"fieldRef": {"fieldPath": "spec.secret"}}, "variable V of container 'main': field 'spec.secret'"),
        ({"resourceFieldRef": {"resource": "cpu"}}, "not of the form limits.cpu"),
        (
            {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "ten"}},
            "variable V of container 'main': quantities must",
        ),
        ({}, "names no supported source"),
    ],
)
def test_what_cannot_be_found_says_so(source: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as error:
        variables([{"name": "V", "valueFrom": source}], {("secret", "login"): {}})
    assert words in str(error.value)


async def test_a_container_starts_with_a_clean_environment(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    env = [{"name": "WHO", "value": "me"}, {"name": "GREETING", "value": "hello $(WHO)"}]
    await cluster.run("clean", "env", container={"env": env})
    names = dict(line.split("=", 1) for line in (await cluster.log("clean")).splitlines())
    assert names["GREETING"] == "hello me"
    assert names["HOSTNAME"] == "clean"
    allowed = {"PATH", "HOME", "TMPDIR", "HOSTNAME", "WHO", "GREETING", "LANG", "LC_ALL", "LC_CTYPE", "TZ"}
    assert names.keys() - allowed <= {"TRAINING_LOCAL_CONTAINER", "TRAINING_LOCAL_CLUSTER"}


async def test_arguments_and_working_directory(cluster: Cluster, tmp_path: Path) -> None:
    container = {"args": ["$(X) $$(X)"], "env": [{"name": "X", "value": "1"}], "workingDir": str(tmp_path)}
    status = await cluster.run("args", "sh", "-c", 'pwd; echo "$0"', container=container)
    assert status["phase"] == "Succeeded"
    assert (await cluster.log("args")).splitlines() == [str(tmp_path), "1 $(X)"]


async def test_a_missing_working_directory_is_named(cluster: Cluster) -> None:
    status = await cluster.run("lost", "true", container={"workingDir": "/no/such/place"})
    message = status["containerStatuses"][0]["state"]["terminated"]["message"]
    assert message == "working directory /no/such/place: No such file or directory"


async def test_a_late_config_map_lets_the_container_start(cluster: Cluster) -> None:
    env = [{"name": "RATE", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "rate"}}}]
    await cluster.api.create("pods", pod("patient", "sh", "-c", "echo $RATE", container={"env": env}))
    await cluster.api.until(lambda: any(e[3] == 'Error: configmap "settings" not found' for e in cluster.api.events))
    await cluster.api.create("configmaps", {"metadata": {"name": "settings"}, "data": {"rate": "0.5"}})
    assert (await cluster.api.ended("patient"))["phase"] == "Succeeded"
    assert await cluster.log("patient") == "0.5\n"


async def test_an_entry_point_can_be_declared(tmp_path: Path) -> None:
    entry_points = {"greeter": ("echo", "hello"), "greeter:old": ("echo", "good day,")}
    said = {"greeter": "hello world", "greeter:1": "hello world", "greeter:old": "good day, world"}
    async with cluster_in(tmp_path / "state", "host", entry_points=entry_points) as cluster:
        for number, image in enumerate(said):
            await cluster.run(f"greeting-{number}", container={"image": image, "args": ["world"], "command": []})
            assert await cluster.log(f"greeting-{number}") == f"{said[image]}\n"


@pytest.mark.parametrize("tag", ["", ":1", "@sha256:0a", ":1@sha256:0a"])
def test_an_entry_point_is_found_without_tag_and_digest(tag: str) -> None:
    image = f"host:5000/team/greeter{tag}"
    container = Container(name="main", image=image, args=("$(WHO)",))
    line = environment.command_line(
        container, {"host:5000/team/greeter": ["echo"], "host": ["false"]}, {"WHO": "world"}
    )
    assert line == ["echo", "world"]


async def test_python_is_the_chosen_one(cluster: Cluster) -> None:
    script = "import msgspec, sys; print(sys.prefix != sys.base_prefix)"
    await cluster.run("chosen", "sh", "-c", f"python -c '{script}' && python3 -c '{script}'")
    assert await cluster.log("chosen") == "True\nTrue\n"


async def test_pods_of_jobs_have_the_python_of_their_kind(tmp_path: Path) -> None:
    def python_of_kind(kind: str) -> PythonChoice:
        python = tmp_path / (kind or "none")
        python.write_text(f"#!/bin/sh\necho the Python of {kind or 'no job'}\n")
        python.chmod(0o755)
        return PythonChoice(python, f"said of {kind}" if kind else "")

    async with cluster_in(tmp_path / "state", "host", python_of_kind=python_of_kind) as cluster:
        owner = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "name": "a", "uid": "1", "controller": True}
        of_job = pod("of-job", "python")
        of_job["metadata"]["ownerReferences"] = [owner]
        for each in (of_job, pod("of-none", "python")):
            await cluster.api.create("pods", each)
            await cluster.api.ended(each["metadata"]["name"])
        assert await cluster.log("of-job") == "the Python of PyTorchJob\n"
        assert await cluster.log("of-none") == "the Python of no job\n"
        said = [event for event in cluster.api.events if event[2] == "Python"]
        assert said == [("of-job", "Normal", "Python", "said of PyTorchJob")]


# Volumes.


def mounted(*mounts: dict[str, Any]) -> dict[str, Any]:
    return {"volumeMounts": list(mounts)}


async def test_volumes_made_of_objects(sandboxed: Cluster) -> None:
    await sandboxed.api.create(
        "configmaps", {"metadata": {"name": "settings"}, "data": {"a": "1", "b": "2"}, "binaryData": {"c": "MwA="}}
    )
    secret = base64.b64encode(b"xyz").decode()
    await sandboxed.api.create("secrets", {"metadata": {"name": "login"}, "data": {"word": secret}})
    made = [
        {
            "name": "settings",
            "configMap": {"name": "settings", "items": [{"key": "b", "path": "deep/er", "mode": 0o600}]},
        },
        {"name": "login", "secret": {"secretName": "login", "defaultMode": 0o400}},
        {"name": "me", "downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
        {"name": "all", "projected": {"sources": [{"configMap": {"name": "settings"}}, {"secret": {"name": "login"}}]}},
        {"name": "none", "configMap": {"name": "missing", "optional": True}},
    ]
    places = {"settings": "/etc/settings", "login": "/login", "me": "/me", "all": "/opt/x/all", "none": "/none"}
    script = (
        "cat /etc/settings/deep/er /login/word /me/name; echo; ls /opt/x/all /none; "
        "stat -c %a /etc/settings/deep/er /login/word; touch /login/new || echo readonly"
    )
    container = mounted(*({"name": name, "mountPath": path} for name, path in places.items()))
    status = await sandboxed.run("reading", "sh", "-c", script, container=container, volumes=made)
    assert status["phase"] == "Succeeded"
    said = [line for line in (await sandboxed.log("reading")).splitlines() if not line.startswith("touch:")]
    assert said == ["2xyzreading", "/none:", "", "/opt/x/all:", "a", "b", "c", "word", "600", "400", "readonly"]
    assert not exists("/etc/settings")
    assert not exists("/opt/x")


def test_volumes_that_wait_for_another_object_are_not_refreshed() -> None:
    body = pod("waiting", "true", volumes=[{"name": "all", "configMap": {"name": "settings"}}])
    before, now = (facts(body, {(environment.CONFIG_MAP, "settings"): {"a": text}}) for text in (b"old", b"new"))
    volumes.refresh(before, now, volumes.Volumes({}))


async def test_files_follow_their_config_map_while_the_pod_runs(sandboxed: Cluster) -> None:
    await sandboxed.api.create("configmaps", {"metadata": {"name": "settings"}, "data": {"a": "old", "b": "2"}})
    # Files change one after the other.
    wait = "until grep -q new /etc/settings/a && test -e /etc/settings/c; do sleep 0.05; done"
    script = f"{wait}; ls /etc/settings; cat /fixed; echo; stat -c %a /etc/settings/a"
    whole, part = {"name": "all", "mountPath": "/etc/settings"}, {"name": "all", "mountPath": "/fixed", "subPath": "a"}
    made = [{"name": "all", "configMap": {"name": "settings", "defaultMode": 0o555}}]
    await sandboxed.start("following", "sh", "-c", script, container=mounted(whole, part), volumes=made)
    await sandboxed.api.replace("configmaps", {"metadata": {"name": "settings"}, "data": {"a": "new\n", "c": "3"}})
    assert (await sandboxed.api.ended("following"))["phase"] == "Succeeded"
    assert (await sandboxed.log("following")).split() == ["a", "c", "old", "555"]


async def test_an_empty_dir_is_shared_in_a_pod_and_private_to_it(sandboxed: Cluster) -> None:
    for name in ("first", "second"):
        made = [{"name": "v", "emptyDir": {}}, {"name": "m", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}]
        places = mounted(
            {"name": "v", "mountPath": "/data/v"},
            {"name": "m", "mountPath": "/dev/shm"},
            {"name": "v", "mountPath": "/part", "subPath": "sub"},
        )
        body = pod(
            name, "sh", "-c", "until test -e /data/v/sub/done; do sleep 0.01; done; ls /data/v", container=places
        )
        fill = "df --output=size /dev/shm | tail -1; touch /data/v/mine; touch /part/done"
        body["spec"] |= {
            "volumes": made,
            "initContainers": [{"name": "fill", "command": ["sh", "-c", fill], **places}],
        }
        await sandboxed.api.create("pods", body)
        assert (await sandboxed.api.ended(name))["phase"] == "Succeeded"
        assert (await sandboxed.log(name)).split() == ["mine", "sub"]
        assert (await sandboxed.log(name, container="fill")).split() == ["1024"]


async def test_a_host_path_is_bound_where_the_pod_wants_it(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    made = [{"name": "source", "hostPath": {"path": str(tmp_path / "source"), "type": "Directory"}}]
    container = mounted({"name": "source", "mountPath": "/workspace"})
    status = await cluster.run("writer", "sh", "-c", "echo x > /workspace/file", container=container, volumes=made)
    assert status["phase"] == "Succeeded"
    assert (tmp_path / "source" / "file").read_text() == "x\n"
    assert not exists("/workspace")


async def test_a_volume_over_the_cluster_s_folder_leaves_the_root_to_run_in(sandboxed: Cluster, tmp_path: Path) -> None:
    (tmp_path / "home" / "project").mkdir(parents=True)
    made = [{"name": "data", "emptyDir": {}}]
    container = mounted({"name": "data", "mountPath": str(tmp_path / "home")})
    async with cluster_in(tmp_path / "other", "netns", working_directory=tmp_path / "home" / "project") as cluster:
        await cluster.run("covered", "pwd", container=container, volumes=made)
        await cluster.run("open", "pwd")
        assert await cluster.log("covered") == "/\n"
        assert await cluster.log("open") == f"{tmp_path}/home/project\n"


@pytest.mark.parametrize(
    ("volume", "words"),
    [
        ({"csi": {"driver": "x"}}, "type csi is not available"),
        ({"hostPath": {"path": "/no/such/place"}}, "/no/such/place does not exist"),
        ({"hostPath": {"path": "/etc/passwd", "type": "Directory"}}, "/etc/passwd is not a directory"),
        ({"configMap": {"name": "none"}}, 'configmap "none" not found'),
        ({"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}, "serviceAccountToken is not available"),
    ],
)
async def test_what_cannot_be_mounted_waits_and_says_why(cluster: Cluster, volume: dict[str, Any], words: str) -> None:
    container = mounted({"name": "v", "mountPath": "/v"})
    await cluster.api.create("pods", pod("rejected", "true", container=container, volumes=[{"name": "v", **volume}]))

    def waiting() -> dict[str, Any]:
        return next((c["state"].get("waiting", {}) for c in cluster.api.statuses("rejected")), {})

    await cluster.api.until(lambda: words in waiting().get("message", ""))
    assert waiting()["reason"] == "FailedMount"
    await cluster.api.until(lambda: any(e[1] == "Warning" and words in e[3] for e in cluster.api.events))
    await cluster.api.remove("rejected")


@pytest.mark.parametrize(
    ("volume", "mount", "words"),
    [
        ({"hostPath": {"path": "/etc/../root"}}, {}, "must not contain '..'"),
        ({"hostPath": {"path": "etc"}}, {}, "'etc' must be absolute"),
        ({"downwardAPI": {"items": [{"path": "../up", "fieldRef": {"fieldPath": "metadata.name"}}]}}, {}, "'../up'"),
        ({"configMap": {"name": "evil"}}, {}, "path '../up' must be relative"),
        ({"emptyDir": {}}, {"subPath": "../up"}, "'../up' must be relative"),
        ({"emptyDir": {}}, {"subPath": "/etc"}, "'/etc' must be relative"),
        ({"emptyDir": {}}, {"subPathExpr": "$(UP)"}, "'../up' must be relative"),
        ({"emptyDir": {}}, {"mountPath": "/a/../../b"}, "mountPath '/a/../../b'"),
        ({"emptyDir": {}}, {"mountPath": "/"}, "must be absolute, not /"),
        ({"emptyDir": {}}, {"name": "other"}, "but the pod has no such volume"),
        ({"name": "../v", "emptyDir": {}}, {}, "'../v' cannot be a file name"),
    ],
)
def test_paths_that_lead_elsewhere_are_rejected(
    tmp_path: Path, volume: dict[str, Any], mount: dict[str, Any], words: str
) -> None:
    container = mounted({"name": "v", "mountPath": "/v", **mount})
    body = pod("rejected", "true", container=container, volumes=[{"name": "v", **volume}])
    known = facts(body, {("configmap", "evil"): {"../up": b""}})
    with pytest.raises(VolumeError) as error:
        volumes.mounts(known.pod.spec.containers[0], volumes.prepare(known, tmp_path / "made"), {"UP": "../up"})
    assert words in str(error.value)
    assert entries(tmp_path) in ([], ["made"])


async def test_a_sub_path_cannot_leave_its_volume_by_a_link(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc")
    made = [{"name": "v", "hostPath": {"path": str(tmp_path)}}]
    container = mounted({"name": "v", "mountPath": "/v", "subPath": "link"})
    await cluster.api.create("pods", pod("sly", "true", container=container, volumes=made))
    await cluster.api.until(lambda: any("is outside of its volume" in event[3] for event in cluster.api.events))
