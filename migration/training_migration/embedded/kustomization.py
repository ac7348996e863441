"""Kustomizations that patch jobs of v1: the patches become those that make the same of the converted job.

A patch of v1 says what differs from the job in the base. Both are converted, and what differs then is the patch for v2,
so that nothing is lost on the way.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from training_api.constants import API_VERSION, GROUP
from training_api.documents import Document, Unreadable, read_text
from training_api.registry import KINDS
from training_api.yaml_text import dump, parts
from training_migration.convert.conversion import Conversion
from training_migration.embedded.left import Left
from training_migration.embedded.merge import changes, merged

Json = dict[str, Any]

NAMES: Final = ("kustomization.yaml", "kustomization.yml")
NOTE: Final = (
    "its patches of v1's jobs are patches of their runtimes and TrainJobs now, inside of the kustomization; the files"
    " that it had for them have no use any more."
)
RENAMED: Final = (
    " {field} renames the runtime, but not `spec.runtimeRef.name`, nor the names of hosts in variables: convert what"
    " `kustomize build` prints instead."
)
_FIELDS: Final = ("patches", "patchesStrategicMerge", "patchesJson6902")
_DEPTH: Final = 20
"""Bases of bases; more of them refer to each other."""


@dataclass(frozen=True, slots=True)
class Patch:
    """One patch of a job of v1."""

    path: str
    """Field of the kustomization."""
    kind: str
    name: str
    content: Json | list[Any]
    """To be merged, or the operations of JSON Patch."""


def is_kustomization(document: Document) -> bool:
    """Whether this is the file that `kustomize build` reads."""
    return Path(document.source).name in NAMES and document.object is not None


def without_patches(documents: Iterable[Document]) -> list[Document]:
    """The documents without those of files that are patches to a kustomization among them."""
    found = list(documents)
    files = {file for each in found if is_kustomization(each) for file in _patch_files(each)}
    return [each for each in found if os.path.normpath(each.source) not in files] if files else found


def _patch_files(document: Document) -> Iterator[str]:
    for _, entry in _entries(document.object or {}):
        path = entry.get("path") if isinstance(entry, dict) else entry
        if isinstance(path, str) and "\n" not in path:
            yield _beside(document, path)


def _beside(document: Document, path: str) -> str:
    return os.path.normpath(Path(document.source).parent / path)


def _entries(kustomization: Json) -> Iterator[tuple[str, Any]]:
    for field in _FIELDS:
        listed = kustomization.get(field)
        for at, entry in enumerate(listed if isinstance(listed, list) else ()):
            yield f"{field}[{at}]", entry


def patches(document: Document) -> list[Patch]:
    """The patches of jobs of v1 in a kustomization; what cannot be read belongs to others."""
    return [patch for path, entry in _entries(document.object or {}) for patch in _patches(document, path, entry)]


def _patches(document: Document, path: str, entry: Any) -> Iterator[Patch]:
    given: Json = entry if isinstance(entry, dict) else {"patch" if "\n" in str(entry) else "path": str(entry)}
    stated = given.get("target")
    target: Json = stated if isinstance(stated, dict) else {}
    text = given.get("patch")
    if text is None and isinstance(given.get("path"), str):
        try:
            text = read_text(Path(_beside(document, given["path"])))
        except Unreadable:
            return
    for part in parts(str(text or "")):
        content = part.value
        if isinstance(content, dict) and content.get("apiVersion") == API_VERSION and content.get("kind") in KINDS:
            metadata = content.get("metadata")
            own = metadata.get("name") if isinstance(metadata, dict) else None
            yield Patch(path, str(content["kind"]), str(target.get("name") or own or ""), content)
        elif isinstance(content, list) and target.get("kind") in KINDS and target.get("group", GROUP) == GROUP:
            yield Patch(path, str(target["kind"]), str(target.get("name") or ""), content)


def converted(
    document: Document, found: Sequence[Patch], conversion_of: Callable[[Json], Conversion]
) -> tuple[list[Json], list[tuple[str, Conversion]]]:
    """The kustomization with patches for v2, and the conversions of the patched jobs; raises Left."""
    jobs = {(job["kind"], job["metadata"]["name"]): job for job in _base(document, 0)}
    result = copy.deepcopy(document.object or {})
    conversions: list[tuple[str, Conversion]] = []
    written: list[Json] = []
    for patch in found:
        job = jobs.get((patch.kind, patch.name))
        if job is None:
            raise Left(f"{patch.path} patches {patch.kind} {patch.name!r}, which is not among its local resources.")
        patched = merged(job, patch.content, patch.path)
        first, second = conversion_of(job), conversion_of(patched)
        conversions.append((patch.path, second))
        written += _for_v2(patch, first, second)
        jobs[patch.kind, patch.name] = patched
    gone = {patch.path for patch in found}
    for field in _FIELDS:
        if field in result:
            result[field] = [each for at, each in enumerate(result[field]) if f"{field}[{at}]" not in gone]
            if not result[field]:
                del result[field]
    if written:
        result["patches"] = [*(result.get("patches") or ()), *({"patch": dump([each])} for each in written)]
    return [result], conversions


def renamed(kustomization: Json) -> str:
    """What has to be said of names that Kustomize changes; empty where it does not."""
    field = next((each for each in ("namePrefix", "nameSuffix") if kustomization.get(each)), "")
    return RENAMED.format(field=field) if field else ""


def _for_v2(patch: Patch, first: Conversion, second: Conversion) -> Iterator[Json]:
    before, after = (
        {(each["kind"], each["metadata"]["name"]): each for each in side.objects} for side in (first, second)
    )
    if before.keys() != after.keys():
        raise Left(f"{patch.path} changes which objects v2 needs, and not only what they say.")
    for key, obj in after.items():
        if (change := changes(before[key], obj)) is not None:
            names = {"name": obj["metadata"]["name"], **(change.pop("metadata", None) or {})}
            yield {"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": names, **change}


def _base(document: Document, depth: int) -> Iterator[Json]:
    """The jobs of v1 among the local resources of a kustomization, with the patches of its bases."""
    obj = document.object or {}
    for entry in (*(obj.get("resources") or ()), *(obj.get("bases") or ())):
        place = Path(_beside(document, str(entry)))
        if place.is_dir() and depth < _DEPTH:
            for name in NAMES:
                for inner in _documents(place / name):
                    yield from _built(inner, depth + 1)
        else:
            yield from (each.object for each in _documents(place) if each.object and _is_job(each.object))


def _built(document: Document, depth: int) -> Iterator[Json]:
    own = patches(document)
    for job in _base(document, depth):
        for patch in own:
            if (patch.kind, patch.name) == (job["kind"], job["metadata"]["name"]):
                job = merged(job, patch.content, patch.path)  # noqa: PLW2901 - one patch after the other
        yield job


def _is_job(obj: Json) -> bool:
    metadata = obj.get("metadata")
    known = obj.get("apiVersion") == API_VERSION and obj.get("kind") in KINDS
    return known and isinstance(metadata, dict) and "name" in metadata


def _documents(file: Path) -> Iterator[Document]:
    try:
        text = read_text(file) if file.is_file() else ""
    except Unreadable:
        return
    for part in parts(text):
        if isinstance(part.value, dict):
            yield Document(str(file), part.line, part.value)
