"""Build the control plane's programs, and an old kubectl, from Go modules, once per version, into a cache folder."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from e2e.harness.errors import HarnessError
from e2e.support.paths import ROOT

MODULES = ROOT / "e2e" / "harness" / "modules"


@dataclass(frozen=True, slots=True)
class Module:
    """One `go.mod` under `e2e/harness/modules` and the programs that it pins."""

    name: str
    main: str
    """The Go module whose version counts."""
    programs: Mapping[str, str]
    """Go package by name of the program."""
    stamps: tuple[str, ...] = field(default=())
    """Linker variables that tell a program its version; `{major}`, `{minor}` and `{version}` are filled in."""
    data: Mapping[str, str] = field(default_factory=dict)
    """Folders of the Go module that are kept beside the programs, by the name under which they are kept."""

    @property
    def folder(self) -> Path:
        """Where go.mod and go.sum lie."""
        return MODULES / self.name

    @property
    def version(self) -> str:
        """The pinned version, for example `v1.34.4`."""
        found = re.search(rf"^\s*(?:require )?{re.escape(self.main)} (v\S+)", self._text("go.mod"), re.MULTILINE)
        if found is None:
            raise HarnessError(f"{self.folder / 'go.mod'} does not require {self.main}")
        return found[1]

    @property
    def stamp(self) -> str:
        """Name of the cache folder: it changes with everything that decides what is built."""
        own = [file.read_text() for file in sorted(self.folder.rglob("*.go"))]
        texts = [self._text("go.mod"), self._text("go.sum"), *self.programs.values(), *self.stamps, *own]
        recipe = "\0".join([*texts, *self.data.values()])
        return f"{self.name}-{self.version}-{hashlib.sha256(recipe.encode()).hexdigest()[:8]}"

    @property
    def linker_flags(self) -> str:
        """No symbol tables, and the version inside."""
        major, minor, _ = self.version.removeprefix("v").split(".", 2)
        stamps = (s.format(major=major, minor=minor, version=self.version) for s in self.stamps)
        return " ".join(["-s -w", *(f"-X {s}" for s in stamps)])

    def _text(self, name: str) -> str:
        return (self.folder / name).read_text()


ETCD = Module("etcd", "go.etcd.io/etcd/server/v3", {"etcd": "go.etcd.io/etcd/server/v3"})
# Without these every program calls itself v0.0.0-master.
_STAMPS = (
    "k8s.io/component-base/version.gitVersion={version}",
    "k8s.io/component-base/version.gitMajor={major}",
    "k8s.io/component-base/version.gitMinor={minor}",
    "k8s.io/client-go/pkg/version.gitVersion={version}",
)


def kubernetes(minor: str) -> Module:
    """What one minor version of Kubernetes consists of."""
    return Module(
        f"kubernetes-{minor}" if minor != NEWEST_COMPARED else "kubernetes",
        "k8s.io/kubernetes",
        {name: f"k8s.io/kubernetes/cmd/{name}" for name in ("kube-apiserver", "kube-controller-manager", "kubectl")},
        _STAMPS,
    )


NEWEST_COMPARED = "1.34"
"""The version of Kubernetes that everything is tried with."""
KUBERNETES = kubernetes(NEWEST_COMPARED)
SCHEDULER = Module(
    "kubernetes", "k8s.io/kubernetes", {"kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler"}, _STAMPS
)
"""A folder of its own in the cache, so that the large programs need not be built again for it."""
OLDEST_KUBECTL = Module(
    "kubernetes-1.30", "k8s.io/kubernetes", {"kubectl-1.30": "k8s.io/kubernetes/cmd/kubectl"}, _STAMPS
)
KUBECTLS = {
    module.version.split(".")[1]: name for module, name in ((OLDEST_KUBECTL, "kubectl-1.30"), (KUBERNETES, "kubectl"))
}
"""Each kubectl that is built with the control plane, by its minor version, the oldest first."""


CONTROL_PLANE = (ETCD, KUBERNETES, SCHEDULER, OLDEST_KUBECTL)

KUBERNETES_NODE = Module(
    "kubernetes-node",
    "k8s.io/kubernetes",
    {name: f"k8s.io/kubernetes/cmd/{name}" for name in ("kubelet", "kube-proxy")}
    | {name: f"./{name}" for name in ("pause", "nslookup")},
    _STAMPS,
)
"""A module of its own, so that the control plane need not be built again for it."""
COSCHEDULER = Module(
    "scheduler-plugins",
    "sigs.k8s.io/scheduler-plugins",
    {"coscheduler": "."},
    data={"coscheduler-crds": "config/crd/bases"},
)
"""A second scheduler, which places gangs, and the definition of its PodGroups."""
COREDNS = Module("coredns", "github.com/coredns/coredns", {"coredns": "."})
NODE = (KUBERNETES_NODE, COREDNS)
PROMETHEUS = Module(
    "prometheus",
    "github.com/prometheus/prometheus",
    {name: f"github.com/prometheus/prometheus/cmd/{name}" for name in ("prometheus", "promtool")},
)
"""What checks and runs deploy/monitoring."""
KUBE_SCORE = Module(
    "kube-score", "github.com/zegl/kube-score", {"kube-score": "github.com/zegl/kube-score/cmd/kube-score"}
)
"""What judges the manifests of deploy/ by good practice."""
KUSTOMIZE = Module(
    "kustomize", "sigs.k8s.io/kustomize/kustomize/v5", {"kustomize": "sigs.k8s.io/kustomize/kustomize/v5"}
)
"""What edits overlays; kubectl, which has the rest of it, cannot."""
ACTIONLINT = Module(
    "actionlint", "github.com/rhysd/actionlint", {"actionlint": "github.com/rhysd/actionlint/cmd/actionlint"}
)
"""What reads .github/workflows as GitHub does."""
KREW = Module("krew", "sigs.k8s.io/krew", {"validate-krew-manifest": "sigs.k8s.io/krew/cmd/validate-krew-manifest"})
"""What checks manifests of plugins as krew's index does."""
OSV_SCANNER = Module(
    "osv-scanner",
    "github.com/google/osv-scanner",
    {"osv-scanner": "github.com/google/osv-scanner/cmd/osv-scanner"},
)
"""What compares pins with known vulnerabilities, without a network."""
VALE = Module("vale", "github.com/errata-ai/vale/v2", {"vale": "github.com/errata-ai/vale/v2/cmd/vale"})
"""What holds pages and messages to a vocabulary, in a version that needs no C compiler."""

KUEUE = Module(
    "kueue",
    "sigs.k8s.io/kueue",
    {"kueue": "sigs.k8s.io/kueue/cmd/kueue"},
    ("sigs.k8s.io/kueue/pkg/version.GitVersion={version}",),
    {"kueue-config": "config"},
)
"""The queueing controller, and what its own manifests are made of."""
JOBSET = Module(
    "jobset",
    "sigs.k8s.io/jobset",
    {"jobset": "sigs.k8s.io/jobset"},
    ("sigs.k8s.io/jobset/pkg/version.GitVersion={version}",),
    {"jobset-config": "config"},
)
"""The controller that Trainer v2 has its Jobs made by, and what its own manifests are made of."""
TRAINER = Module(
    "trainer",
    "github.com/kubeflow/trainer/v2",
    {"trainer": "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager"},
    data={"trainer-manifests": "manifests"},
)
"""The controller of Trainer v2 that jobs are moved to, and its own manifests."""


TRAINER_JOBSETS = {"2.2": "0.11"}
"""The JobSet of each older Trainer that is pinned: the one that its go.mod requires."""


def of_minor(module: Module, minor: str | None) -> Module:
    """The same programs of another minor version, whose go.mod lies in a folder of its own; None for the usual one."""
    if minor is None or module.version.startswith(f"v{minor}."):
        return module
    return replace(module, name=f"{module.name}-{minor}")


def cache_folder() -> Path:
    """Where binaries are kept: `TRAINING_E2E_CACHE`, else the user's cache folder."""
    if chosen := os.environ.get("TRAINING_E2E_CACHE"):
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "training-operator"


def programs(modules: Sequence[Module] = CONTROL_PLANE) -> dict[str, Path]:
    """The programs and data of `modules` by name; builds what the cache lacks and says so on stderr."""
    found: dict[str, Path] = {}
    for module in modules:
        folder = cache_folder() / "bin" / module.stamp
        if not folder.is_dir():
            with locked(folder.with_name(f"{folder.name}.lock")):
                if not folder.is_dir():  # else another process has built it while this one waited
                    _build(module, folder)
        found |= {name: folder / name for name in (*module.programs, *module.data)}
    return found


def _build(module: Module, target: Path) -> None:
    if shutil.which("go") is None:
        raise HarnessError(
            f"{module.name} {module.version} is not in {target.parent} and Go is not installed to build it: install Go "
            "1.24 or newer, or use PROVIDER=existing KUBECONFIG=... or PROVIDER=kind"
        )
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    partial.mkdir()
    for name, package in module.programs.items():
        print(f"building {name} {module.version} from Go modules ...", file=sys.stderr, flush=True)
        start = time.monotonic()
        command = ["go", "build", "-trimpath", "-ldflags", module.linker_flags, "-o", str(partial / name), package]
        done = subprocess.run(command, cwd=module.folder, env={**os.environ, "CGO_ENABLED": "0"}, check=False)
        if done.returncode != 0:
            raise HarnessError(f"`go build {package}` failed; its message is above")
        print(f"built {name} in {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    for name, source in module.data.items():
        where = ["go", "list", "-m", "-f", "{{.Dir}}", module.main]
        module_folder = subprocess.run(where, cwd=module.folder, stdout=subprocess.PIPE, text=True, check=True).stdout
        # The Go module cache is read-only; a copy with its modes could not be removed.
        copy = ["cp", "--recursive", "--no-preserve=mode", f"{module_folder.strip()}/{source}", str(partial / name)]
        subprocess.run(copy, check=True)
    partial.rename(target)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Keep other processes out while the context lasts; `path` is the lock's file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
