"""What tests know of a cluster, whoever provides it."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from e2e.harness.errors import HarnessError
from e2e.support.paths import ROOT

CRDS = ROOT / "crds"

ESTABLISHED = 30
"""Seconds for the API server to serve a new kind."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """An API server and the way to reach it with full rights."""

    provider: str
    kubeconfig: Path
    kubectl: str
    """The kubectl to use: path, or a name to be looked up in PATH."""

    def run_kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl and return what it prints; a failure is an error with its message."""
        command = [self.kubectl, f"--kubeconfig={self.kubeconfig}", *arguments]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=120)
        if done.returncode != 0:
            raise HarnessError(f"kubectl {' '.join(arguments)} ended with status {done.returncode}: {done.stderr}")
        return done.stdout

    def send(self, verb: str, *objects: Mapping[str, Any], options: Sequence[str] = ()) -> str:
        """Have kubectl create or apply objects, and return what it prints."""
        manifest = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        return self.run_kubectl(verb, *options, "-f", "-", stdin=manifest)

    def apply_crds(self, files: Path = CRDS) -> None:
        """Apply our CRDs, a folder or one file, and wait until their kinds are served."""
        self.run_kubectl("apply", "-f", str(files))
        self.wait_established("-f", str(files))

    def install(self, manifests: Sequence[Mapping[str, Any]]) -> None:
        """Create objects, and wait until the kinds that are defined among them are served."""
        self.send("create", *manifests)
        names = [each["metadata"]["name"] for each in manifests if each["kind"] == "CustomResourceDefinition"]
        self.wait_established("crd", *names)

    def wait_established(self, *definitions: str) -> None:
        """Wait until the kinds of these definitions are served; they are named as `kubectl wait` takes them."""
        deadline = time.monotonic() + ESTABLISHED
        while True:
            try:
                self.run_kubectl("wait", "--for=condition=Established", *definitions, f"--timeout={ESTABLISHED}s")
            except HarnessError as error:
                # It does not wait for a definition that has no conditions yet, but fails.
                if "accessor error" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return


def write_kubeconfig(path: Path, server: str, ca_file: Path, user: dict[str, Any]) -> Path:
    """Write a kubeconfig with one context, readable for its owner only; JSON is YAML, so JSON it is."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "e2e", "cluster": {"server": server, "certificate-authority": str(ca_file)}}],
        "users": [{"name": "e2e", "user": user}],
        "contexts": [{"name": "e2e", "context": {"cluster": "e2e", "user": "e2e"}}],
        "current-context": "e2e",
    }
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(content, file, indent=1)
    return path
