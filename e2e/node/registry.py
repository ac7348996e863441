"""Images that the node pulls, from a registry of its own on its loopback, whatever registry their names have.

The kubelet always pulls what has the tag `latest`, and nothing here may reach a registry elsewhere.
"""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path
from typing import Final

from e2e.node.images import Image, configure, write_layer
from e2e.node.registry_server import MANIFEST

SERVER: Final = Path(__file__).with_name("registry_server.py")
PORT: Final = 5000
"""In the node's own network, where no other program has it."""
FOLDER: Final = "registry"
"""Below the folder of the node."""
CONFIGURATION: Final = "application/vnd.oci.image.config.v1+json"
LAYER: Final = "application/vnd.oci.image.layer.v1.tar"
HOSTS: Final = (
    f'server = "http://127.0.0.1:{PORT}"\n[host."http://127.0.0.1:{PORT}"]\n  capabilities = ["pull", "resolve"]\n'
)
"""What containerd reads about every registry."""


def publish(image: Image, node: Path) -> None:
    """Let the running node whose files are in the folder `node` find an image under its name."""
    repository, tag = repository_and_tag(image.name)
    folder = node / FOLDER / "v2" / repository
    blobs, manifests = folder / "blobs", folder / "manifests"
    for each in (blobs, manifests):
        each.mkdir(parents=True, exist_ok=True)
    with (blobs / "layer").open("w+b") as file:
        layer, size = write_layer(image, file), file.seek(0, io.SEEK_END)
    (blobs / "layer").rename(blobs / layer)
    configuration = configure(image, layer)
    (blobs / digest(configuration)).write_bytes(configuration)
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {"mediaType": CONFIGURATION, "digest": digest(configuration), "size": len(configuration)},
        "layers": [{"mediaType": LAYER, "digest": layer, "size": size}],
    }
    content = json.dumps(manifest).encode()
    for name in (digest(content), tag):
        (manifests / name).write_bytes(content)


def repository_and_tag(name: str) -> tuple[str, str]:
    """What a registry is asked for: of `docker.io/hello-world` it is `library/hello-world` and `latest`."""
    repository, _, tag = name.partition(":")
    registry, _, path = repository.partition("/")
    path = path if "." in registry else repository
    return path if "/" in path else f"library/{path}", tag or "latest"


def digest(content: bytes) -> str:
    """The name of a blob."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
