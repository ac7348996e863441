import base64
import json
import os
import ssl
import stat
import subprocess
import sys
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from unit_tests.operator.certificates import Authority, authority
from unit_tests.operator.peer import serving

from training_operator.kube import config
from training_operator.kube.config import ClusterConfig, ConfigError, from_kubeconfig, in_cluster, load
from training_operator.kube.credentials import Fixed, Renewed, TokenFile
from training_operator.kube.http import HttpTransport
from training_operator.kube.transport import Request


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def kubeconfig(folder: Path, user: Mapping[str, Any] | None, name: str = "config", **cluster: Any) -> str:
    path = folder / name
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:6443"} | cluster}],
        "users": [{"name": "u", "user": dict(user)}] if user is not None else [],
    }
    path.write_text(yaml.safe_dump(content))
    return str(path)


def plugin(folder: Path, status: Mapping[str, Any], *, code: int = 0) -> dict[str, Any]:
    """A credential plugin that counts its runs and prints `status` with `{n}` replaced by their number."""
    answer = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
    script = folder / "plugin.py"
    script.write_text(
        "import pathlib, sys\n"
        f"runs = pathlib.Path({str(folder / 'runs')!r})\n"
        "n = int(runs.read_text()) + 1 if runs.exists() else 1\n"
        "runs.write_text(str(n))\n"
        f"print({json.dumps(answer)!r}.replace('{{n}}', str(n)))\n"
        f"print('plugin is unwell', file=sys.stderr)\nsys.exit({code})\n"
    )
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(script)],
            "interactiveMode": "Never",
        }
    }


@pytest.mark.apart
async def test_everything_about_the_cluster_is_taken_over(tmp_path: Path) -> None:
    cluster = {
        "certificate-authority-data": encoded(authority().pem),
        "tls-server-name": "kube.example",
        "proxy-url": "http://127.0.0.1:3128",
    }
    loaded = await from_kubeconfig(kubeconfig(tmp_path, {"token": "secret"}, **cluster))
    assert (loaded.server, loaded.server_name, loaded.proxy) == (
        "https://127.0.0.1:6443",
        "kube.example",
        "http://127.0.0.1:3128",
    )
    assert isinstance(loaded.credentials, Fixed)
    assert await loaded.credentials.authorization() == "Bearer secret"
    assert loaded.tls is not None
    assert loaded.tls.verify_mode is ssl.CERT_REQUIRED
    assert len(loaded.tls.get_ca_certs()) == 1
    assert "config" in loaded.source
    assert "secret" not in loaded.source


async def test_a_proxy_of_another_protocol_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"its proxy-url must begin with http:// or https://$"):
        await from_kubeconfig(kubeconfig(tmp_path, {}, **{"proxy-url": "socks5://me:secret@127.0.0.1"}))


async def test_files_are_relative_to_the_kubeconfig(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text(authority().pem)
    (tmp_path / "token").write_text("from-file")
    path = kubeconfig(tmp_path, {"tokenFile": "token"}, **{"certificate-authority": "ca.crt"})
    loaded = await from_kubeconfig(path)
    assert loaded.tls is not None
    assert len(loaded.tls.get_ca_certs()) == 1
    assert isinstance(loaded.credentials, TokenFile)
    assert await loaded.credentials.authorization() == "Bearer from-file"


async def test_verification_can_be_switched_off(tmp_path: Path) -> None:
    loaded = await from_kubeconfig(kubeconfig(tmp_path, {"token": "x"}, **INSECURE))
    assert loaded.tls is not None
    assert loaded.tls.verify_mode is ssl.CERT_NONE


async def test_plain_http_has_no_tls(tmp_path: Path) -> None:
    loaded = await from_kubeconfig(
        kubeconfig(tmp_path, {"username": "a", "password": "b"}, server="http://127.0.0.1:1")
    )
    assert loaded.tls is None
    assert await loaded.credentials.authorization() == "Basic YTpi"


async def test_the_client_certificate_is_presented(tmp_path: Path) -> None:
    async def who(request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        certificate = request.transport.get_extra_info("peercert")
        return web.Response(text=str(certificate["subject"]))

    async with serving(who, tmp_path, clients=True) as peer:
        pair = authority().issue("operator")
        user = {"client-certificate-data": encoded(pair.certificate), "client-key-data": encoded(pair.key)}
        ca = {"certificate-authority-data": encoded(authority().pem)}
        loaded = await from_kubeconfig(kubeconfig(tmp_path, user, server=peer.url, **ca))
        transport = HttpTransport(loaded)
        assert b"'operator'" in (await transport.request(Request("GET", "/"))).body
        await transport.close()


async def test_a_plugin_is_run_again_when_its_token_expires_or_is_rejected(tmp_path: Path) -> None:
    until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    user = plugin(tmp_path, {"token": "token-{n}", "expirationTimestamp": until})
    loaded = await from_kubeconfig(kubeconfig(tmp_path, user))
    assert isinstance(loaded.credentials, Renewed)
    assert [await loaded.credentials.authorization() for _ in range(2)] == ["Bearer token-1"] * 2
    assert loaded.credentials.rejected()
    assert [await loaded.credentials.authorization() for _ in range(2)] == ["Bearer token-2"] * 2


async def test_a_renewal_that_fails_is_a_broken_connection(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, plugin(tmp_path, {"token": "a"}))
    loaded = await from_kubeconfig(path)
    loaded.credentials.rejected()
    Path(path).unlink()  # noqa: ASYNC240 - one small file
    with pytest.raises(ConnectionError, match="there is no such file"):
        await loaded.credentials.authorization()


async def test_a_plugin_may_give_a_certificate(tmp_path: Path) -> None:
    pair = authority().issue("from-plugin")
    user = plugin(tmp_path, {"clientCertificateData": pair.certificate, "clientKeyData": pair.key})
    loaded = await from_kubeconfig(kubeconfig(tmp_path, user))
    assert await loaded.credentials.authorization() == ""
    loaded.credentials.rejected()
    assert await loaded.credentials.authorization() == ""


INSECURE: dict[str, Any] = {"insecure-skip-tls-verify": True}
GARBAGE = {"certificate-authority-data": encoded("nonsense")}
OLD = authority().issue("old", valid=timedelta(days=-1))
EXPIRED = {"client-certificate-data": encoded(OLD.certificate), "client-key-data": encoded(OLD.key)}
FOREIGN = {
    "client-certificate-data": encoded(authority().issue("a").certificate),
    "client-key-data": encoded(Authority("x").issue("b").key),
}


@pytest.mark.parametrize(
    ("user", "cluster", "sentence"),
    [
        ({"token": "x"}, {"server": ""}, "has no server"),
        ({"token": "x"}, GARBAGE, "certificate-authority"),
        ({"token": "x"}, {"certificate-authority": "missing.crt"}, "missing.crt"),
        (None, {}, "names no user"),
        (EXPIRED, {}, "client certificate expired on"),
        (FOREIGN, {}, "client certificate and key"),
        ({"exec": {"apiVersion": "v1", "command": "/no/such/plugin"}}, {}, "/no/such/plugin"),
    ],
)
async def test_what_is_wrong_is_said_in_one_sentence(
    tmp_path: Path, user: dict[str, Any] | None, cluster: dict[str, Any], sentence: str
) -> None:
    path = kubeconfig(tmp_path, user, **cluster)
    with pytest.raises(ConfigError) as caught:
        await from_kubeconfig(path)
    message = str(caught.value)
    assert message.startswith(f"kubeconfig {path} cannot be used: ")
    assert sentence in message
    assert "\n" not in message


def test_the_reader_of_files_has_nothing_to_say_when_nobody_listens_any_more(tmp_path: Path) -> None:
    """As when the operator is killed while it starts."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "training_operator.kube.kubeconfig", str(tmp_path / "none")]
    ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (0, b"")


async def test_a_folder_is_no_kubeconfig(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        await from_kubeconfig(str(tmp_path))
    assert str(caught.value) == f"kubeconfig {tmp_path} cannot be used: Is a directory: {tmp_path}"


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(None, "there is no such file"), ("a: [", "parsing"), ("{}", "current-context is missing"), ("[]", "")],
)
async def test_a_file_that_is_no_kubeconfig(tmp_path: Path, content: str | None, sentence: str) -> None:
    path = tmp_path / "config"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ConfigError) as caught:
        await from_kubeconfig(str(path))
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


def with_another_context(path: Path) -> None:
    """Add a context `there` to a kubeconfig, and let none be the current one."""
    content = yaml.safe_load(path.read_text())
    content["contexts"].append({"name": "there", "context": {"cluster": "d", "user": "u"}})
    content["clusters"].append({"name": "d", "cluster": {"server": "http://127.0.0.1:8001"}})
    del content["current-context"]
    path.write_text(yaml.safe_dump(content))


async def test_another_context_than_the_current_one(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path, {"token": "x"})
    with_another_context(Path(path))
    assert (await load(path, context="there")).server == "http://127.0.0.1:8001"
    around_us = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBECONFIG": path}
    assert (await load("", around_us, context="there")).server == "http://127.0.0.1:8001"
    with pytest.raises(ConfigError, match="elsewhere"):
        await load(path, context="elsewhere")


async def test_a_plugin_that_fails_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="plugin is unwell"):
        await from_kubeconfig(kubeconfig(tmp_path, plugin(tmp_path, {}, code=3)))


@pytest.mark.apart
async def test_a_plugin_that_hangs_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "READ_SECONDS", 0.01)
    with pytest.raises(ConfigError, match="did not respond in time"):
        await from_kubeconfig(kubeconfig(tmp_path, {"token": "x"}))


@pytest.fixture
def service_account(tmp_path: Path) -> Path:
    for name, content in (("token", "t1\n"), ("ca.crt", authority().pem), ("namespace", "kubeflow\n")):
        (tmp_path / name).write_text(content)
    return tmp_path


POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "6443"}


async def test_the_service_account_of_a_pod(service_account: Path) -> None:
    loaded = in_cluster(POD, service_account)
    assert (loaded.server, loaded.namespace) == ("https://10.0.0.1:6443", "kubeflow")
    assert await loaded.credentials.authorization() == "Bearer t1"
    assert in_cluster({"KUBERNETES_SERVICE_HOST": "fd00::1"}, service_account).server == "https://[fd00::1]:443"


async def test_a_service_account_without_a_usable_certificate(service_account: Path) -> None:
    (service_account / "ca.crt").write_text("nonsense")
    with pytest.raises(ConfigError, match=r"ca\.crt"):
        in_cluster(POD, service_account)
    (service_account / "ca.crt").unlink()
    with pytest.raises(ConfigError, match=r"ca\.crt"):
        in_cluster(POD, service_account)


async def test_a_token_file_is_read_again_every_minute(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t1")
    now = 0.0
    credentials = TokenFile(tmp_path / "token", clock=lambda: now)
    assert await credentials.authorization() == "Bearer t1"
    (tmp_path / "token").write_text("t2")
    now = 59.0
    assert await credentials.authorization() == "Bearer t1"
    now = 60.0
    assert await credentials.authorization() == "Bearer t2"


async def test_who_goes_first(tmp_path: Path, service_account: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "SERVICE_ACCOUNT", service_account)
    monkeypatch.setattr(config.in_cluster, "__defaults__", (service_account,))
    home = tmp_path / "home"
    (home / ".kube").mkdir(parents=True)
    flag, env = kubeconfig(tmp_path, {"token": "x"}, "flag"), kubeconfig(tmp_path, {"token": "x"}, "env")
    default = kubeconfig(home / ".kube", {"token": "x"}, "config")
    environment = {"KUBECONFIG": env, "HOME": str(home)} | POD

    async def source(flag: str = "") -> str:
        loaded: ClusterConfig = await load(flag, environment)
        return loaded.source

    assert await source(flag) == f"kubeconfig {flag}"
    assert await source() == f"kubeconfig {env}"
    del environment["KUBECONFIG"]
    assert await source() == "the pod's service account"
    del environment["KUBERNETES_SERVICE_HOST"]
    assert await source() == f"kubeconfig {default}"
    environment["HOME"] = str(tmp_path)
    with pytest.raises(ConfigError, match="no cluster to connect to"):
        await source()


@pytest.mark.apart
async def test_nothing_is_left_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    pair = authority().issue("operator")
    user = {"client-certificate-data": encoded(pair.certificate), "client-key-data": encoded(pair.key)}
    modes = list[int]()
    original = ssl.SSLContext.load_cert_chain

    def watched(self: ssl.SSLContext, certfile: str, *rest: Any) -> None:
        modes.append(stat.S_IMODE(Path(certfile).stat().st_mode))
        original(self, certfile, *rest)

    monkeypatch.setattr(ssl.SSLContext, "load_cert_chain", watched)
    await from_kubeconfig(kubeconfig(tmp_path, user))
    assert modes == [0o600]
    assert list(temporary.iterdir()) == []
