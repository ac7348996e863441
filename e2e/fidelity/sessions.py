"""Sessions with kubectl: commands and what they print, equal on the real and the embedded API server.

Recordings are kept per minor version of kubectl, because its own words change between versions.
"""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from e2e.fidelity.objects import config_map, pod
from e2e.fidelity.plain import Plain
from e2e.fidelity.suite import RECORDED
from e2e.fidelity.widgets import widget
from e2e.harness.binaries import KUBERNETES, OLDEST_KUBECTL, cache_folder

Transcript = list[dict[str, Any]]

_POD = pod("web", meta={"labels": {"app": "web"}})
_FILE = yaml.safe_dump_all([_POD, config_map("settings")])
_CHANGED = yaml.safe_dump_all([_POD, config_map("settings", {"b": "2"})])
_WIDGET = yaml.safe_dump(widget("wheel", replicas=2))
_TYPO = yaml.safe_dump(widget("bad", colour="red"))
_BROKEN = yaml.safe_dump(widget("bad", size=99))
_AGE = re.compile(r"(?<=\s)(\d+(?:ms|s|m))+(?=\s|$)|<invalid>")
_VERSION = re.compile(r"(resourceVersion\"?: \"?|Resource Version: +)\d+")
_FILE_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+ \+0000")
_SPACES = re.compile(r"  +")

SESSIONS: Mapping[str, Sequence[tuple[str, str]]] = {
    "apply": (
        ("apply -f -", _FILE),
        ("apply -f -", _FILE),
        ("apply -f -", _CHANGED),
        ("get configmap settings -o jsonpath={.data}", ""),
        ("diff -f -", _FILE),
        ("apply -f - --dry-run=server", _FILE),
        ("delete -f -", _FILE),
        ("delete -f -", _FILE),
    ),
    "show": (
        ("apply -f -", _FILE),
        ("get pods", ""),
        ("get pods -o wide", ""),
        ("get pods -o name", ""),
        ("get pods --show-labels", ""),
        ("get pods -l app=web", ""),
        ("get pods -l app=other", ""),
        ("get pods --field-selector=status.phase=Running", ""),
        ("get pods,configmaps", ""),
        ("get all", ""),
        ("get pod web -o yaml", ""),
        ("get pods -o json", ""),
        ("get pods -o custom-columns=NAME:.metadata.name,PHASE:.status.phase", ""),
        ("describe pod web", ""),
        ("describe configmap settings", ""),
        ("get pod absent", ""),
        ("get surprises", ""),
        ("logs web", ""),
        ("get events", ""),
        ("events", ""),
    ),
    "change": (
        ("create -f -", _FILE),
        ("create -f -", _FILE),
        ("label pod web a=b", ""),
        ("label pod web a=c", ""),
        ("label pod web a=c --overwrite", ""),
        ("label pod web a-", ""),
        ("annotate pod web note=yes", ""),
        ('patch configmap settings -p {"data":{"c":"3"}}', ""),
        ('patch configmap settings --type=merge -p {"data":{"c":null}}', ""),
        ('patch configmap settings --type=json -p [{"op":"add","path":"/data/d","value":"4"}]', ""),
        ("get configmap settings -o jsonpath={.data}", ""),
        ("replace -f -", _CHANGED),
        ("get configmap settings -o jsonpath={.data}", ""),
        ("set image pod/web main=busybox:2", ""),
        ("wait --for=jsonpath={.status.phase}=Pending pod/web --timeout=5s", ""),
        ("delete pod web --wait=true", ""),
        ("wait --for=delete pod/web --timeout=5s", ""),
        ("delete pod web", ""),
        ("delete configmaps -l nothing=here", ""),
        ("delete configmap settings --cascade=foreground", ""),
    ),
    "create": (
        ("create configmap one --from-literal=a=b", ""),
        ("create secret generic two --from-literal=a=b", ""),
        ("create serviceaccount three", ""),
        ("create role four --verb=get,list --resource=pods", ""),
        ("create rolebinding five --role=four --serviceaccount=default:three", ""),
        ("create service clusterip six --tcp=80:8080 --clusterip=None", ""),
        ("create configmap one --from-literal=a=b", ""),
        ("create configmap Wrong --from-literal=a=b", ""),
        ("run seven --image=busybox:1 --port=80 --restart=Never -- sleep 5", ""),
        ("get secret two -o yaml", ""),
        ("get service six -o yaml", ""),
        ("get role four -o yaml", ""),
        ("get rolebindings -o wide", ""),
        ("get services", ""),
        ("get secrets", ""),
        ("describe role four", ""),
    ),
    "custom": (
        ("apply -f -", _WIDGET),
        ("get widgets", ""),
        ("get wd -o wide", ""),
        ("get widget wheel -o yaml", ""),
        ("describe widget wheel", ""),
        ("apply -f -", _TYPO),
        ("apply -f -", _BROKEN),
        ("apply -f - --validate=ignore", _TYPO),
        ("scale widget wheel --replicas=5", ""),
        ("get widget wheel -o jsonpath={.spec.replicas}", ""),
        ('patch widget wheel --subresource=status --type=merge -p {"status":{"phase":"Round"}}', ""),
        ("get wd -o wide", ""),
        ("wait --for=jsonpath={.status.phase}=Round widget/wheel --timeout=5s", ""),
        ("explain widget.spec", ""),
        ("explain widget.spec.size", ""),
        ("explain widget --recursive", ""),
        ("api-resources --api-group=fidelity.example.com", ""),
        ("delete widget wheel", ""),
        ("get widgets", ""),
    ),
}


def kubectls() -> dict[str, Path]:
    """The versions of kubectl that can be had without building or fetching any: minor version -> program."""
    built = cache_folder() / "bin"
    candidates = [built / OLDEST_KUBECTL.stamp / "kubectl-1.28", built / KUBERNETES.stamp / "kubectl"]
    if installed := shutil.which("kubectl"):
        candidates.append(Path(installed))
    return {minor: each for each in candidates if each.exists() and (minor := _minor(each))}


def _minor(kubectl: Path) -> str:
    done = subprocess.run([kubectl, "version", "--client", "-o", "json"], capture_output=True, check=False)
    return str(json.loads(done.stdout)["clientVersion"]["minor"]).rstrip("+") if done.returncode == 0 else ""


def recorded(minor: str) -> dict[str, Transcript]:
    """The recorded sessions of one version of kubectl."""
    path = RECORDED / f"kubectl-1.{minor}.json"
    sessions: dict[str, Transcript] = json.loads(path.read_text()) if path.exists() else {}
    return sessions


def write_recorded(minor: str, sessions: dict[str, Transcript]) -> None:
    """Keep the sessions of one version of kubectl."""
    text = json.dumps(sessions, indent=1, sort_keys=True, ensure_ascii=False)
    (RECORDED / f"kubectl-1.{minor}.json").write_text(text + "\n")


async def play_session(kubectl: Path, kubeconfig: Path, name: str, cache: Path) -> Transcript:
    """Run the commands of a session in a namespace of its own; `cache` is where kubectl may keep what it discovers."""
    namespace = f"session-{secrets.token_hex(4)}"
    base = [str(kubectl), f"--kubeconfig={kubeconfig}", f"--cache-dir={cache}"]
    plain, transcript = Plain(namespace), list[dict[str, Any]]()
    await _run([*base, "create", "-f", "-"], yaml.safe_dump(_namespace(namespace)))
    await _settled(base, namespace)
    for command, stdin in SESSIONS[name]:
        status, output, errors = await _run([*base, f"--namespace={namespace}", *_words(command)], stdin)
        said = {"command": command, "status": status, "output": _lines(output), "errors": _lines(errors)}
        transcript.append(plain(said))
    await _run([*base, "delete", "namespace", namespace, "--wait=false"], "")
    return transcript


def _words(command: str) -> list[str]:
    return command.split()


def _namespace(name: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def _settled(base: Sequence[str], namespace: str) -> None:
    """Wait until the namespace holds what every namespace holds."""
    for kind in ("serviceaccount/default", "configmap/kube-root-ca.crt"):
        await _run([*base, f"--namespace={namespace}", "wait", "--for=create", kind, "--timeout=20s"], "")


async def _run(command: Sequence[str], stdin: str) -> tuple[int | None, str, str]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
    output, errors = await process.communicate(stdin.encode())
    return process.returncode, output.decode(), errors.decode()


def _lines(text: str) -> list[str]:
    """The lines without ages, widths of columns, klog's stamps and names of temporary files."""
    found: list[str] = []
    for line in text.rstrip("\n").split("\n") if text else ():
        plain = _FILE_TIME.sub("<time>", _VERSION.sub(r"\1<version>", line))
        plain = _SPACES.sub("  ", _AGE.sub("<age>", plain)).rstrip()
        found.append(re.sub(r"/tmp/\S*?(LIVE|MERGED)-\d+", r"<\1>", plain))
    return found
