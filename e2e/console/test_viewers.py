"""Each viewer sees what the API server lets them see: the console as it is deployed, with its shipped roles."""

from __future__ import annotations

import re
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2e.console.gateway import STRANGER, USER_HEADER, gateway, page, serving
from e2e.console.pictures import look
from e2e.deployment.installation import DEPLOY, account_kubeconfig, combined
from e2e.harness.bare import CONSOLE, audited, bare
from e2e.harness.cluster import Cluster
from e2e.harness.operator import PROGRAM
from e2e.harness.processes import Child
from e2e.harness.startup import wait_until
from e2e.migration.page.pictures import NEEDED
from e2e.support import marks

pytestmark = marks.real  # impersonation is the real server's

NAMESPACE = "kubeflow"
COMPONENT = yaml.safe_load((DEPLOY / "components" / "console-proxy" / "kustomization.yaml").read_text())
PREFIX = "/training-console"
DASHBOARD_HOST = "kubeflow.example.com"
LINGER_SECONDS = 16
"""A watch ends so long after the last page has been closed."""
JOB = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "sim", "namespace": "team-a"},
    "spec": {
        "pytorchReplicaSpecs": {
            "Worker": {"template": {"spec": {"containers": [{"name": "pytorch", "image": "train", "command": ["x"]}]}}}
        }
    },
}


@dataclass(frozen=True, slots=True)
class Console:
    """A console that runs."""

    address: str
    child: Child

    def get(self, path: str, **headers: str) -> tuple[int, str]:
        """Status and text of a page."""
        request = urllib.request.Request(
            self.address + path, headers={k.replace("_", "-"): v for k, v in headers.items()}
        )
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """A control plane with the operator's installation, the console, and two viewers of namespace team-a."""
    with bare() as cluster:
        for namespace in (NAMESPACE, "team-a", "team-b"):
            cluster.run_kubectl("create", "namespace", namespace)
        cluster.send("apply", *combined(cluster, "kubeflow", ["console", "console-proxy"]))
        for role in ("kubeflow-training-view", "view"):
            binding = ("create", "rolebinding", f"ana-{role}", f"--clusterrole={role}", "--user=ana")
            cluster.run_kubectl(*binding, "--serviceaccount=team-a:viewer", "--namespace=team-a")
        cluster.run_kubectl("create", "serviceaccount", "viewer", "--namespace=team-a")
        cluster.send("apply", JOB)
        yield cluster


def running(cluster: Cluster, folder: Path, *flags: str) -> Iterator[Console]:
    kubeconfig = account_kubeconfig(cluster, NAMESPACE, folder, "training-console")
    child = Child([PROGRAM, "console", f"--kubeconfig={kubeconfig}", *flags], folder / "console.log")
    try:
        wait_until(lambda: "http://" in child.output(), "the console", [child])
        found = re.search(r"http://\S+(?=/\s)", child.output())
        assert found is not None
        yield Console(found[0], child)
    finally:
        assert child.stop() == 0, child.output()
        assert "Traceback" not in child.output()


@pytest.fixture(scope="module")
def behind_proxy(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """As the component starts it, but for its address, and with the name by which browsers reach the dashboard."""
    [proxy] = (each for each in COMPONENT["patches"] if each["target"]["kind"] == "Deployment")
    [change] = yaml.safe_load(proxy["patch"])
    flags = [each for each in change["value"] if not each.startswith(("--host=", "--port="))]
    assert f"--base-path={PREFIX}" in flags and f"--user-header={USER_HEADER}" in flags
    folder = tmp_path_factory.mktemp("proxy")
    yield from running(cluster, folder, *flags, f"--allowed-host={DASHBOARD_HOST}")


@pytest.fixture(scope="module")
def with_tokens(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    yield from running(cluster, tmp_path_factory.mktemp("tokens"), "--auth=token")


PAGES = ("", "/logs", "/curves", "/ranks", "/yaml")


def test_a_viewer_sees_the_namespace_that_they_may_see(behind_proxy: Console) -> None:
    status, page = behind_proxy.get("/?ns=team-a", kubeflow_userid="ana")
    assert status == 200, page
    assert "/training-console/jobs/team-a/pytorchjobs/sim" in page
    assert "ana" in page
    for path in PAGES:
        status, page = behind_proxy.get(f"/jobs/team-a/pytorchjobs/sim{path}", kubeflow_userid="ana")
        assert status == 200, page


@pytest.mark.parametrize(
    ("path", "user"),
    [
        ("/", "ana"),
        ("/fleet", "ana"),
        ("/?ns=team-b", "ana"),
        ("/?ns=team-a", "bea"),
        *((f"/jobs/team-a/pytorchjobs/sim{path}", "bea") for path in PAGES),
    ],
)
def test_what_a_viewer_may_not_see_is_an_honest_page(behind_proxy: Console, path: str, user: str) -> None:
    status, page = behind_proxy.get(path, kubeflow_userid=user)
    assert status == 403
    assert re.search(rf"User &#34;{user}&#34; cannot (list|get|watch) resource", page), page
    assert "Namespace" in page, "another one can be asked for"


def test_headers_from_outside_steer_nothing(behind_proxy: Console) -> None:
    outside = {"Impersonate-User": "admin", "Impersonate-Group": "system:masters", "Authorization": "Bearer x"}
    assert behind_proxy.get("/?ns=team-a", kubeflow_userid="bea", **outside)[0] == 403
    assert behind_proxy.get("/?ns=team-a", **outside)[0] == 403
    assert behind_proxy.get("/?ns=team-a", kubeflow_userid="system:admin")[0] == 403


def test_a_token_is_what_its_viewer_sees_with(cluster: Cluster, with_tokens: Console) -> None:
    token = cluster.run_kubectl("create", "token", "viewer", "--namespace=team-a").strip()

    def sign_in(text: str) -> tuple[int, str]:
        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_: object) -> None:
                return None

        request = urllib.request.Request(
            f"{with_tokens.address}/sign-in", f"token={text}".encode(), {"Origin": with_tokens.address}
        )
        try:
            with urllib.request.build_opener(Stay()).open(request, timeout=60) as answer:
                return answer.status, ""
        except urllib.error.HTTPError as error:
            return error.code, (error.headers["Set-Cookie"] or "").partition(";")[0]

    assert sign_in("nonsense")[0] == 401
    status, cookie = sign_in(token)
    assert status == 303
    assert with_tokens.get("/?namespace=team-a", Cookie=cookie)[0] == 200
    assert with_tokens.get("/?namespace=team-b", Cookie=cookie)[0] == 403
    assert "Sign in" in with_tokens.get("/?namespace=team-a")[1]
    assert token not in with_tokens.child.output()


def test_the_headers_of_kubeflow_and_its_namespace_are_honoured(behind_proxy: Console) -> None:
    request = urllib.request.Request(f"{behind_proxy.address}/?ns=team-a")
    sent = {
        "Host": DASHBOARD_HOST,
        "X-Forwarded-Host": DASHBOARD_HOST,
        "X-Forwarded-Proto": "https",
        "X-Forwarded-For": "192.0.2.7",
        "Referer": f"https://{DASHBOARD_HOST}/_{PREFIX}/?ns=team-a",
        "Sec-Fetch-Dest": "iframe",
        "Sec-Fetch-Mode": "navigate",
        "Sec-Fetch-Site": "same-origin",
        USER_HEADER: "ana",
    }
    for name, value in sent.items():
        request.add_header(name, value)
    with urllib.request.urlopen(request, timeout=60) as answer:
        text = answer.read().decode()
        assert "frame-ancestors 'self'" in answer.headers["Content-Security-Policy"]
        assert answer.headers["X-Frame-Options"] is None
    assert "<option selected>team-a</option>" in text
    assert not re.search(rf'(href|src|action)="/(?!{PREFIX[1:]}/)', text), "every address is below the prefix"


@pytest.mark.weekly  # e2e/console/test_browser.py has a browser with every change
@pytest.mark.skipif(not all(Path(each).exists() for each in NEEDED), reason="chromium and chromium-driver are missing")
def test_the_dashboard_shows_it_in_a_frame_and_another_origin_gets_nothing(behind_proxy: Console) -> None:
    console = behind_proxy.address.removesuffix(PREFIX)
    with serving(gateway(console, PREFIX, "ana")) as dashboard:
        framed = f"{dashboard}{PREFIX}/?ns=team-a"
        strange = STRANGER.replace("ADDRESS", framed).replace("SCRIPT", f"{dashboard}{PREFIX}/static/console.js")
        with serving(page(strange)) as stranger:
            told = look(dashboard, stranger, ["team-a"], "frame")
    assert told["dashboard"] == {"rows": ["team-a/sim"], "job": "PyTorchJob team-a/sim"}
    assert told["stranger"] == {"fetch": False, "follow": False, "script": False, "frame": False}


def asked_by(cluster: Cluster, user: str) -> list[dict[str, Any]]:
    """What the console has asked for a user."""
    entries = audited(cluster, CONSOLE)
    return [each for each in entries if each.get("impersonatedUser", {}).get("username") == user]


def watches(cluster: Cluster, user: str) -> dict[str, list[str]]:
    """Stages of the watches of a user, by their id in the audit log, with what they watch."""
    found: dict[str, list[str]] = {}
    for entry in asked_by(cluster, user):
        if entry["verb"] == "watch":
            which = "one of " if "fieldSelector" in entry["requestURI"] else ""
            found.setdefault(f"{which}{entry['objectRef']['resource']} {entry['auditID']}", []).append(entry["stage"])
    return found


@pytest.mark.weekly  # unit_tests/console/test_security.py shares and ends watches without these seconds
def test_watches_are_shared_by_pages_and_end_when_nobody_looks(cluster: Cluster, behind_proxy: Console) -> None:
    cluster.run_kubectl(
        "create", "rolebinding", "carl", "--clusterrole=kubeflow-training-view", "--user=carl", "-nteam-a"
    )
    cluster.run_kubectl("create", "rolebinding", "carl-view", "--clusterrole=view", "--user=carl", "-nteam-a")
    job = "/jobs/team-a/pytorchjobs/sim"
    with ExitStack() as pages:
        for path in ("/?ns=team-a", "/?ns=team-a&sort=name", "/?ns=team-a", job, job):
            headers = {USER_HEADER: "carl", "Accept": "text/event-stream"}
            request = urllib.request.Request(behind_proxy.address + path, headers=headers)
            stream = pages.enter_context(urllib.request.urlopen(request, timeout=60))
            while not stream.readline().startswith(b"data: "):
                pass
        opened = [name.rpartition(" ")[0] for name, stages in watches(cluster, "carl").items() if len(stages) == 1]
        assert "pytorchjobs" in opened and "one of pytorchjobs" in opened and "pods" in opened and "events" in opened
        assert len(opened) == len(set(opened)), "one watch of each, however many pages"
    time.sleep(LINGER_SECONDS)
    wait_until(
        lambda: all("ResponseComplete" in stages for stages in watches(cluster, "carl").values()),
        "the ends of watches",
        [],
    )
    before = len(asked_by(cluster, "carl"))
    time.sleep(2.0)
    assert len(asked_by(cluster, "carl")) == before, "no page is open, nothing is asked"


def test_the_console_reads_only_and_has_no_permission_of_its_own(cluster: Cluster, behind_proxy: Console) -> None:
    behind_proxy.get("/?ns=team-a", kubeflow_userid="ana")
    ours = audited(cluster, CONSOLE)
    assert {entry["verb"] for entry in ours} <= {"get", "list", "watch"}
    assert {entry["impersonatedUser"]["username"] for entry in ours if "impersonatedUser" in entry} <= {
        "ana",
        "bea",
        "carl",
    }
    resources = {"/".join(filter(None, (e["objectRef"]["resource"], e["objectRef"].get("subresource")))) for e in ours}
    assert "pods" in resources and "secrets" not in resources
    listed = cluster.run_kubectl("auth", "can-i", "--list", f"--as={CONSOLE}")
    granted = [line.split() for line in listed.splitlines() if "impersonate" in line]
    assert len(granted) == 2
    assert not [line for line in listed.splitlines() if re.match(r"(pods|secrets|\S+jobs|\*)", line)]
