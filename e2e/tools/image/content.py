"""What is in the image, and what is not."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from e2e.harness.errors import HarnessError
from e2e.tools.image.builder import SOURCE_DATE_EPOCH, Builder

MOST_BYTES: Final = 130_000_000
FORBIDDEN: Final = frozenset({"sh", "bash", "dash", "busybox", "apt", "apt-get", "dpkg", "perl", "pip", "pip3"})
"""Programs that are of use to intruders only."""


def configuration(builder: Builder, image: str) -> Mapping[str, Any]:
    """What the Dockerfile says of how the image is run."""
    described = json.loads(builder.run("inspect", "--type=image", image))
    found: Mapping[str, Any] = described["Docker"]["config"]
    return found


def is_configured(found: Mapping[str, Any]) -> str:
    """It starts /manager as a user that is not root, and can be asked for its health."""
    expect(found["Entrypoint"] == ["/manager"] and not found.get("Cmd"), f"entry point {found['Entrypoint']}")
    user, _, group = found["User"].partition(":")
    expect(user.isdecimal() and group.isdecimal() and int(user) > 0, f"user {found['User']!r} is not numeric")
    expect(bool(found["Healthcheck"]["Test"]), "no health check")
    return f"entry point /manager, user {found['User']}"


def is_small(root: Path) -> str:
    """All files together have less than 130 MB, uncompressed."""
    sizes = {path: path.lstat().st_size for path in files(root)}
    expect(sum(sizes.values()) < MOST_BYTES, f"{sum(sizes.values()) / 1e6:.1f} MB")
    return f"{sum(sizes.values()) / 1e6:.1f} MB in {len(sizes)} files"


def is_bare(root: Path) -> str:
    """No shell, no package manager, nothing with the rights of its owner, nothing that everybody may change."""
    for path in files(root):
        mode = path.lstat().st_mode
        expect(path.name not in FORBIDDEN or path.is_dir(), f"/{path.relative_to(root)} is in the image")
        expect(not mode & (stat.S_ISUID | stat.S_ISGID), f"/{path.relative_to(root)} has its owner's rights")
        expect(not mode & stat.S_IWOTH or stat.S_ISLNK(mode), f"/{path.relative_to(root)} can be changed by everybody")
    return "no shell, no package manager, no set-user-id, nothing writable for others"


def is_of_one_time(root: Path) -> str:
    """Every file is from SOURCE_DATE_EPOCH."""
    for path in files(root):
        expect(path.lstat().st_mtime == SOURCE_DATE_EPOCH, f"/{path.relative_to(root)} is of another time")
    return f"every file is of {SOURCE_DATE_EPOCH}"


def is_described(builder: Builder, description: str, root: Path) -> str:
    """The list of what is inside names exactly the packages that are inside."""
    listed = json.loads((builder.unpack(description) / "sbom.cdx.json").read_text())
    named = {f"{each['name'].lower().replace('_', '-')} {each['version']}" for each in listed["components"]}
    named.add(f"{listed['metadata']['component']['name']} {listed['metadata']['component']['version']}")
    installed = {
        " ".join(path.name.removesuffix(".dist-info").lower().replace("_", "-").rsplit("-", 1))
        for path in root.glob("venv/lib/*/site-packages/*.dist-info")
    }
    expect(named == installed, f"only listed or only installed: {sorted(named ^ installed)}")
    return f"{listed['bomFormat']} {listed['specVersion']} lists {len(named)} packages"


def is_reproduced(builder: Builder, image: str, again: str) -> str:
    """A second build has the same bytes in its layers, and is run in the same way.

    Ids of images in Docker's format never agree: they depend on the random name of the container that was built in.
    """
    ways = [{**configuration(builder, each), "Hostname": ""} for each in (image, again)]
    expect(ways[0] == ways[1], f"a second build is run in another way: {ways[1]} in place of {ways[0]}")
    first, second = (_layers(builder, each) for each in (image, again))
    if first != second:
        files = _differences(builder.unpack(image), builder.unpack(again))
        raise HarnessError(f"a second build gave {second} in place of {first}; files that differ: {', '.join(files)}")
    return f"a second build gave the same layers, {', '.join(first)}"


def _layers(builder: Builder, image: str) -> list[str]:
    found: list[str] = json.loads(builder.run("inspect", "--type=image", image))["Docker"]["rootfs"]["diff_ids"]
    return found


def _differences(first: Path, second: Path) -> list[str]:
    """The files in which two root file systems differ, in types or contents."""
    one, two = _contents(first), _contents(second)
    return sorted(str(path) for path in one.keys() | two.keys() if one.get(path) != two.get(path))


def _contents(root: Path) -> dict[Path, tuple[int, object]]:
    found: dict[Path, tuple[int, object]] = {}
    for path in files(root):
        mode = path.lstat().st_mode
        content = path.readlink() if stat.S_ISLNK(mode) else path.read_bytes() if stat.S_ISREG(mode) else None
        found[path.relative_to(root)] = (mode, content)
    return found


def files(root: Path) -> Iterator[Path]:
    """Everything in the image, folders too; no link is followed."""
    for folder, folders, names in os.walk(root):
        yield from (Path(folder, name) for name in (*folders, *names))


def expect(kept: bool, otherwise: str) -> None:
    """Raise HarnessError unless a promise is kept."""
    if not kept:
        raise HarnessError(otherwise)
