"""An image run by runc as Kubernetes would: as the image's user, root read-only, no capability, no new privileges."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from e2e.harness.errors import HarnessError
from e2e.harness.processes import Child

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where pods find their token."""


class Bundle:
    """A root file system with the configuration of containers that run in it, in the network of this machine."""

    def __init__(self, folder: Path, root: Path, configuration: Mapping[str, Any]) -> None:
        self._folder, self._root, self._image = folder, root, configuration

    def run(self, *arguments: str) -> str:
        """Run the image's entry point to its end; return what it prints."""
        return self._finished(self._command("once", arguments, {}, {}))

    @contextmanager
    def running(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str], folders: Mapping[str, Path]
    ) -> Iterator[Child]:
        """The image's entry point at work, with folders of this machine mounted by their paths in the container.

        At the end it must leave on SIGTERM with status 0.
        """
        child = Child(self._command(name, arguments, environment, folders), self._folder / f"{name}.log")
        try:
            yield child
            if (status := child.stop()) != 0:
                raise HarnessError(f"the container ended with status {status}:\n{child.output()[-4000:]}")
        finally:
            child.kill()
            # What it started would outlive a runc that was killed.
            self._finished([*self._runc(), "delete", "--force", name])

    def enter(self, name: str, *command: str) -> str:
        """Run a command in a running container; return what it prints."""
        return self._finished([*self._runc(), "exec", name, *command])

    def _runc(self) -> list[str]:
        return ["runc", f"--root={self._folder / 'runc'}"]

    def _finished(self, command: list[str]) -> str:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise HarnessError(f"`{' '.join(command)}` ended with status {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout

    def _command(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str], folders: Mapping[str, Path]
    ) -> list[str]:
        bundle = self._folder / name
        bundle.mkdir(exist_ok=True)
        content = self._configuration(name, arguments, environment, folders)
        (bundle / "config.json").write_text(json.dumps(content, indent=1))
        return [*self._runc(), "run", f"--bundle={bundle}", name]

    def _configuration(
        self, name: str, arguments: Sequence[str], environment: Mapping[str, str], folders: Mapping[str, Path]
    ) -> dict[str, Any]:
        """A container as the runtime specification of OCI has it."""
        user, _, group = self._image["User"].partition(":")
        variables = [*self._image["Env"], *(f"{key}={value}" for key, value in environment.items())]
        options = ["rbind", "ro", "nosuid", "nodev", "noexec"]
        return {
            "ociVersion": "1.0.2",
            "process": {
                "user": {"uid": int(user), "gid": int(group)},
                "args": [*self._image["Entrypoint"], *arguments],
                "env": variables,
                "cwd": self._image.get("WorkingDir") or "/",
                "capabilities": {},
                "noNewPrivileges": True,
            },
            "root": {"path": str(self._root), "readonly": True},
            "mounts": [
                {"destination": "/proc", "type": "proc", "source": "proc"},
                {"destination": "/dev", "type": "tmpfs", "source": "tmpfs", "options": ["nosuid", "size=64k"]},
                *(
                    {"destination": path, "type": "bind", "source": str(folder), "options": options}
                    for path, folder in folders.items()
                ),
            ],
            "linux": {
                "cgroupsPath": f"/{self._folder.name}-{name}",
                "namespaces": [{"type": kind} for kind in ("pid", "mount", "ipc", "uts")],
            },
        }
