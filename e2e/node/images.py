"""Images made on the spot, as archives that containerd imports; none is ever fetched."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final

PAUSE: Final = "localhost/pause:1"
HOST: Final = "localhost/host:1"
"""Nothing but folders: a pod that mounts the host's /usr has everything that is installed there."""
WAITING: Final = "localhost/waiting:1"
"""What the init container of PyTorch workers needs: a shell, and a nslookup that finds services."""
KUBECTL: Final = "localhost/kubectl-delivery:1"
"""Copies its kubectl to `$TARGET_DIR`, as the delivery image of v1 does."""

PASSWD: Final = b"root:x:0:0:root:/root:/bin/sh\n"
GROUP: Final = b"root:x:0:\n"
NAME_SERVICES: Final = b"hosts: files dns\n"
APPLETS: Final = ("cp", "seq", "sleep")
PATH: Final = "/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Image:
    """What is in an image; paths are relative to its root."""

    name: str
    """With a tag other than `latest`, which would be pulled; what a registry serves may have any."""
    command: Sequence[str]
    path: str = PATH
    folders: Sequence[str] = ()
    links: Mapping[str, str] = field(default_factory=dict)
    """Target by path."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    programs: Mapping[str, Path] = field(default_factory=dict)
    """Executable on this machine by path."""
    scripts: Mapping[str, bytes] = field(default_factory=dict)
    """Executable text by path."""
    copies: Mapping[str, Path] = field(default_factory=dict)
    """File of this machine by path; it keeps its time, by which Python knows whether byte code is current, and whether
    it can be run."""
    entrypoint: Sequence[str] = ()
    """What stays when a pod gives arguments alone."""
    variables: Mapping[str, str] = field(default_factory=dict)


def images(binaries: Mapping[str, Path]) -> list[Image]:
    """The images of a node; all programs in them are static."""
    applets = {f"bin/{applet}": "busybox" for applet in APPLETS}
    # The shell of Debian's busybox calls its own nslookup, whatever is in PATH.
    tools = {"bin/busybox": Path("/bin/busybox"), "bin/sh": Path("/bin/bash-static")}
    nslookup, kubectl = {"bin/nslookup": binaries["nslookup"]}, {"kubectl": binaries["kubectl"]}
    copy = 'cp /kubectl "$TARGET_DIR/kubectl"'
    usr = ("bin", "sbin", "lib", "lib64")
    return [
        Image(PAUSE, ["/pause"], programs={"pause": binaries["pause"]}),
        Image(
            HOST,
            ["/bin/sh"],
            folders=["usr", "etc", "proc", "sys", "dev", "root", "tmp"],
            links={folder: f"usr/{folder}" for folder in usr},
            files={"etc/passwd": PASSWD, "etc/group": GROUP, "etc/nsswitch.conf": NAME_SERVICES},
        ),
        Image(WAITING, ["sh"], "/bin", ["bin"], applets, programs=tools | nslookup),
        Image(KUBECTL, ["sh", "-c", copy], "/bin", ["bin"], applets, programs=tools | kubectl),
    ]


def write_archive(image: Image, target: Path) -> None:
    """Write `image` as a Docker archive with one plain layer."""
    with tempfile.TemporaryFile() as layer, tarfile.open(target, "w") as archive:
        configuration = configure(image, write_layer(image, layer))
        manifest = [{"Config": "config.json", "RepoTags": [image.name], "Layers": ["layer.tar"]}]
        _add(archive, "layer.tar", layer)
        _add(archive, "config.json", io.BytesIO(configuration))
        _add(archive, "manifest.json", io.BytesIO(json.dumps(manifest).encode()))


def write_layer(image: Image, target: IO[bytes]) -> str:
    """Write everything that is in `image` as one plain layer; its digest."""
    with tarfile.open(fileobj=target, mode="w") as content:
        _fill(content, image)
    target.seek(0)
    digest = hashlib.sha256()
    while piece := target.read(1 << 20):
        digest.update(piece)
    target.seek(0)
    return f"sha256:{digest.hexdigest()}"


def configure(image: Image, layer: str) -> bytes:
    """How containers of `image` start, with the digest of its layer."""
    variables = {"PATH": image.path, **image.variables}
    configuration = {
        "architecture": "amd64",
        "os": "linux",
        "rootfs": {"type": "layers", "diff_ids": [layer]},
        "config": {
            "Env": [f"{name}={value}" for name, value in variables.items()],
            "Entrypoint": list(image.entrypoint),
            "Cmd": list(image.command),
        },
    }
    return json.dumps(configuration).encode()


def _fill(content: tarfile.TarFile, image: Image) -> None:
    for folder in image.folders:
        entry = tarfile.TarInfo(folder)
        entry.type, entry.mode = tarfile.DIRTYPE, 0o1777 if folder == "tmp" else 0o755
        content.addfile(entry)
    for path, destination in image.links.items():
        entry = tarfile.TarInfo(path)
        entry.type, entry.linkname = tarfile.SYMTYPE, destination
        content.addfile(entry)
    for path, data in image.files.items():
        _add(content, path, io.BytesIO(data))
    for path, script in image.scripts.items():
        _add(content, path, io.BytesIO(script), mode=0o755)
    for path, program in image.programs.items():
        with program.open("rb") as file:
            _add(content, path, file, mode=0o755)
    for path, copied in image.copies.items():
        with copied.open("rb") as file:
            known = copied.stat()
            _add(content, path, file, 0o755 if known.st_mode & 0o100 else 0o644, int(known.st_mtime))


def _add(archive: tarfile.TarFile, path: str, file: IO[bytes], mode: int = 0o644, time: int = 0) -> None:
    entry = tarfile.TarInfo(path)
    entry.size, entry.mode, entry.mtime = file.seek(0, io.SEEK_END), mode, time
    file.seek(0)
    archive.addfile(entry, file)
