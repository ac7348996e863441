"""Resolver configuration for pods: names of the cluster come from the hosts file, and a misspelt one fails at once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

_RESOLV_CONF = Path("/etc/resolv.conf")
_NSSWITCH = Path("/etc/nsswitch.conf")


def resolver_files(folder: Path, server: str = "") -> Sequence[tuple[str, str]]:
    """Write the files into `folder`; return (file, place where pods see it) for those that this machine has.

    `server` is asked for what is not in the hosts file; no server is if it is empty.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    shown = []
    if _RESOLV_CONF.exists():
        # Without a server the resolver asks the pod's own loopback address, where no process listens.
        (folder / "resolv.conf").write_text(f"nameserver {server}\n" if server else "")
        shown.append((str(folder / "resolv.conf"), str(_RESOLV_CONF)))
    if _NSSWITCH.exists():
        # Some machines ask a service over a Unix socket, which would lead out of the sandbox.
        text = re.sub(r"(?m)^hosts:.*$", "hosts: files dns", _NSSWITCH.read_text())
        (folder / "nsswitch.conf").write_text(text)
        shown.append((str(folder / "nsswitch.conf"), str(_NSSWITCH)))
    return shown
