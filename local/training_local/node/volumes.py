"""The volumes of a pod as folders of the node, and where containers see them."""

from __future__ import annotations

import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

import msgspec

from training_api import quantity
from training_local.node import environment
from training_local.node.environment import CONFIG_MAP, SECRET, Facts, Key
from training_local.node.podspec import Container, FieldRef, Pod, ResourceRef, Wire
from training_local.node.sandbox.messages import Mount


class VolumeError(Exception):
    """A volume cannot be mounted; the text says which and why."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of a volume that is made from API objects."""

    path: str
    content: bytes
    mode: int


@dataclass(frozen=True, slots=True)
class Volumes:
    """The prepared volumes of a pod."""

    paths: Mapping[str, Path]
    memory: Sequence[tuple[str, int]] = ()
    """Folders to be backed by memory: (path, bytes; 0 for no limit)."""
    readonly: frozenset[str] = field(default_factory=frozenset)
    of_objects: Sequence[Path] = ()
    """Folders whose files are made from API objects."""


_CHECKS: Mapping[str, tuple[str, Callable[[int], bool]]] = {
    "Directory": ("a directory", stat.S_ISDIR),
    "File": ("a file", stat.S_ISREG),
    "Socket": ("a socket", stat.S_ISSOCK),
    "CharDevice": ("a character device", stat.S_ISCHR),
    "BlockDevice": ("a block device", stat.S_ISBLK),
}
_MADE_OF_OBJECTS = ("configMap", "secret", "downwardAPI", "projected")


def referenced(pod: Pod) -> Iterator[Key]:
    """The config maps and secrets that a pod's volumes need."""
    for volume in pod.spec.volumes:
        for kind, source in _sources(volume):
            if kind == "configMap":
                yield CONFIG_MAP, source.get("name", "")
            if kind == "secret":
                yield SECRET, source.get("secretName") or source.get("name", "")


def claims(pod: Pod) -> Iterator[tuple[str, str]]:
    """The volume claims that a pod uses, as (namespace, name)."""
    for volume in pod.spec.volumes:
        if claim := volume.get("persistentVolumeClaim"):
            yield pod.metadata.namespace, claim["claimName"]


def _sources(volume: Wire) -> Iterator[tuple[str, Wire]]:
    """The objects a volume is made of: (`configMap`, `secret` or `downwardAPI`, its source)."""
    for kind, source in volume.items():
        if kind == "projected":
            for part in source.get("sources", ()):
                yield from part.items()
        elif kind in _MADE_OF_OBJECTS:
            yield kind, source


def check_private(pod: Pod, private: Sequence[Path]) -> None:
    """Raise `VolumeError` if the pod asks for a part of the cluster's own state by its path."""
    for volume in pod.spec.volumes:
        path = Path(str((volume.get("hostPath") or {}).get("path") or "/")).resolve()
        if any(path.is_relative_to(each.resolve()) for each in private):
            raise VolumeError(
                f"volume {volume['name']!r}: hostPath {path} belongs to the cluster itself and is not visible to pods"
            )


def _no_claims(namespace: str, name: str) -> Path:
    raise VolumeError(f'persistentvolumeclaim "{name}" not found')


def prepare(facts: Facts, folder: Path, claimed: Callable[[str, str], Path] = _no_claims) -> Volumes:
    """Make the folders of a pod's volumes below `folder`; raises `VolumeError`.

    `claimed` finds the folder of a volume claim by namespace and name.
    """
    paths: dict[str, Path] = {}
    memory: list[tuple[str, int]] = []
    readonly = set[str]()
    for volume in facts.pod.spec.volumes:
        name = volume["name"]
        kinds = [kind for kind in volume if kind != "name"] or ["emptyDir"]
        try:
            if kinds[0] == "hostPath":
                paths[name] = _host_path(volume["hostPath"])
                continue
            if claim := volume.get("persistentVolumeClaim"):
                paths[name] = claimed(facts.pod.metadata.namespace, claim["claimName"])
                readonly |= {name} if claim.get("readOnly") else set()
                continue
            paths[name] = folder / safe_name(name)
            paths[name].mkdir(mode=0o777, parents=True, exist_ok=True)
            if kinds[0] == "emptyDir":
                source = volume.get("emptyDir") or {}
                if source.get("medium") == "Memory":
                    memory.append((str(paths[name]), int(quantity.parse(str(source.get("sizeLimit", 0))))))
            elif kinds[0] in _MADE_OF_OBJECTS:
                readonly.add(name)
                _write(paths[name], _files(volume, facts))
            elif kinds[0] != "ephemeral":  # a folder that lives as long as the pod
                raise VolumeError(f"type {kinds[0]} is not available on the local node")
        except (VolumeError, ValueError, OSError, environment.ConfigError) as error:
            raise VolumeError(f"volume {name!r}: {error}") from error
    made = [paths[v["name"]] for v in facts.pod.spec.volumes if not v.keys().isdisjoint(_MADE_OF_OBJECTS)]
    return Volumes(paths, memory, frozenset(readonly), made)


def refresh(before: Facts, now: Facts, volumes: Volumes, named: Callable[[bytes], bytes] | None = None) -> None:
    """Write those files that other objects make different now; raises `VolumeError` for what cannot be made any more.

    `named` is what becomes of their content. A `subPath` goes on showing what it has shown, as on a cluster.
    """
    for volume in now.pod.spec.volumes:
        folder = volumes.paths.get(volume["name"])
        if folder is None or volume.keys().isdisjoint(_MADE_OF_OBJECTS):  # what is not made yet is made as it is then
            continue
        old, new = ({file.path: file for file in _files(volume, facts)} for facts in (before, now))
        for path in old.keys() - new.keys():
            (folder / _inside(path)).unlink(missing_ok=True)
        changed = [file for file in new.values() if file != old.get(file.path)]
        _write(folder, (replace(file, content=named(file.content)) if named else file for file in changed))


def safe_name(name: str) -> str:
    """The name, if it can be an entry of a folder; raises `VolumeError`."""
    if name in ("", ".", "..") or "/" in name or "\0" in name:
        raise VolumeError(f"{name!r} cannot be a file name")
    return name


def _inside(path: str) -> PurePosixPath:
    """A relative path that stays below its folder; raises `VolumeError`."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\0" in path:
        raise VolumeError(f"path {path!r} must be relative and must not contain '..'")
    return pure


def _host_path(source: Wire) -> Path:
    path, kind = Path(source["path"]), source.get("type", "")
    if not path.is_absolute() or ".." in path.parts:
        raise VolumeError(f"hostPath {str(path)!r} must be absolute and must not contain '..'")
    if kind == "DirectoryOrCreate":
        path.mkdir(mode=0o755, parents=True, exist_ok=True)
    elif kind == "FileOrCreate":
        path.touch(mode=0o644)
    elif not path.exists():
        raise VolumeError(f"hostPath {path} does not exist on this machine")
    what, check = _CHECKS.get(kind.removesuffix("OrCreate"), ("", None))
    if check and not check(path.stat().st_mode):
        raise VolumeError(f"hostPath {path} is not {what}")
    return path


def _files(volume: Wire, facts: Facts) -> Iterator[File]:
    whole = (
        volume.get("projected") or volume.get("configMap") or volume.get("secret") or volume.get("downwardAPI") or {}
    )
    default_mode = whole.get("defaultMode", 0o644)
    for kind, source in _sources(volume):
        mode = source.get("defaultMode", default_mode)
        if kind == "downwardAPI":
            yield from _own_fields(source, facts, mode)
        elif kind in ("configMap", "secret"):
            yield from _entries(kind, source, facts, mode)
        else:
            raise VolumeError(f"source {kind} is not available on the local node")


def _entries(kind: str, source: Wire, facts: Facts, default_mode: int) -> Iterator[File]:
    key = (CONFIG_MAP, source.get("name", "")) if kind == "configMap" else (SECRET, "")
    if kind == "secret":
        key = (SECRET, source.get("secretName") or source.get("name", ""))
    optional, data = source.get("optional", False), facts.objects.get(key)
    if data is None:
        if optional:
            return
        raise VolumeError(f'{key[0]} "{key[1]}" not found')
    items = source.get("items") or [{"key": name, "path": name} for name in data]
    for item in items:
        if item["key"] in data:
            yield File(item["path"], data[item["key"]], item.get("mode", default_mode))
        elif not optional:
            raise VolumeError(f'{key[0]} "{key[1]}" has no key {item["key"]!r}')


def _own_fields(source: Wire, facts: Facts, default_mode: int) -> Iterator[File]:
    for item in source.get("items") or ():
        if "fieldRef" in item:
            text = environment.field(msgspec.convert(item["fieldRef"], FieldRef).field_path, facts)
        else:
            reference = msgspec.convert(item["resourceFieldRef"], ResourceRef)
            text = environment.resource_field(reference, facts.pod.spec.containers[0], facts)
        yield File(item["path"], text.encode(), item.get("mode", default_mode))


def _write(folder: Path, files: Iterator[File]) -> None:
    for file in files:
        target = folder / _inside(file.path)
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        # Whoever reads it meanwhile sees it whole, before or after.
        with tempfile.NamedTemporaryFile(dir=folder.parent, delete=False) as written:
            written.write(file.content)
        Path(written.name).chmod(file.mode)
        Path(written.name).rename(target)


def mounts(container: Container, volumes: Volumes, env: Mapping[str, str]) -> list[Mount]:
    """Where a container sees which folders; raises `VolumeError`."""
    found = []
    for mount in container.volume_mounts:
        path = PurePosixPath(mount.mount_path)
        if not path.is_absolute() or ".." in path.parts or str(path) == "/":
            raise VolumeError(f"mountPath {mount.mount_path!r} of container {container.name!r} must be absolute, not /")
        if mount.name not in volumes.paths:
            raise VolumeError(
                f"container {container.name!r} mounts volume {mount.name!r}, but the pod has no such volume"
            )
        source = _part(volumes.paths[mount.name], mount.sub_path or environment.expand(mount.sub_path_expr, env))
        found.append(Mount(str(source), str(path), mount.read_only or mount.name in volumes.readonly))
    return found


def _part(volume: Path, sub_path: str) -> Path:
    """A part of a volume, made as a folder if it is not there."""
    if not sub_path:
        return volume
    part = volume / _inside(sub_path)
    if not part.resolve().is_relative_to(volume.resolve()):
        raise VolumeError(f"subPath {sub_path!r} is outside of its volume")
    if not part.exists():
        part.mkdir(mode=0o755, parents=True)
    return part
