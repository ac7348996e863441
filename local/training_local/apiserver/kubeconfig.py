"""The kubeconfig: where the server is, which authority to trust and which token to send."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Final

import yaml

FIRST_LINE: Final = "# Written by training-operator local, which replaces and removes it.\n"


def write_kubeconfig(path: Path, server: str, authority: bytes, token: str, name: str = "training-local") -> None:
    """Write a kubeconfig with one context called `name`, readable for its owner only, complete or not at all."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": name,
                "cluster": {"server": server, "certificate-authority-data": base64.b64encode(authority).decode()},
            }
        ],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(FIRST_LINE)
        yaml.safe_dump(content, file, sort_keys=False)
    unfinished.replace(path)
