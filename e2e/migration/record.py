"""Record what the real controllers build: `python -m e2e.migration.record`.

Each file of `unit_tests/migration/v2/given` is a TrainJob, after its runtime where it has one of its own. What comes of
it is written to `unit_tests/migration/v2/recorded`: the objects that are built, or what admission or an event said.
A record that says the same as the one before is left as it is, since the controllers add variables in random order.
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml
from e2e.harness.client import Api, Object, connect
from e2e.harness.recordings import write
from e2e.migration.building import Built, built
from e2e.migration.controllers import trainer_cluster
from e2e.support.paths import ROOT

FOLDER = ROOT / "unit_tests" / "migration" / "v2"
GIVEN, RECORDED = FOLDER / "given", FOLDER / "recorded"
SERVERS_OWN = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "generation")
"""What of the metadata is the API server's."""
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
OBJECTS = 2
"""How deep the objects lie in a record, each of which has a line."""


def main() -> int:
    """Record every case that says something else than its record."""
    with tempfile.TemporaryDirectory(prefix="training-record-") as folder, trainer_cluster(Path(folder)) as cluster:
        records = asyncio.run(recorded(cluster.kubeconfig))
    for name in changed(records):
        print(f"{name}: {', '.join(records[name])}")
        write(RECORDED / f"{name}.json", records[name], OBJECTS)
    for file in RECORDED.glob("*.json"):
        if file.stem not in records:
            file.unlink()
    return 0


def changed(records: dict[str, Object]) -> list[str]:
    """Names of the cases whose record in the repository is absent or says something else."""
    kept = {file.stem: json.loads(file.read_text()) for file in RECORDED.glob("*.json")}
    return [name for name, each in records.items() if comparable(kept.get(name)) != comparable(each)]


async def recorded(kubeconfig: Path) -> dict[str, Object]:
    """The record of every case by its name."""
    async with connect(kubeconfig) as api:
        given = {file.stem: list(yaml.safe_load_all(file.read_text())) for file in sorted(GIVEN.glob("*.yaml"))}
        found = await asyncio.gather(*(_case(api, name, objects) for name, objects in given.items()))
    return dict(zip(given, found, strict=True))


async def _case(api: Api, name: str, given: list[Object]) -> Object:
    await api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    return _record(await built(api, name, given))


def _record(found: Built) -> Object:
    """What is kept of a case: nothing that is another the next time."""
    if found.rejected:
        return {"rejected": TIME.sub("<time>", found.rejected)}
    if found.stuck:
        return {"stuck": found.stuck}
    uids = {each["metadata"]["uid"] for each in found.objects}
    uids |= {owner["uid"] for each in found.objects for owner in each["metadata"].get("ownerReferences", [])}
    return {"built": [_scrubbed(_own(each), uids) for each in found.objects]}


def _own(obj: Object) -> Object:
    """An object without what the server adds, random names and secrets; the copy of a runtime is shown as an object."""
    metadata = {key: value for key, value in obj["metadata"].items() if key not in SERVERS_OWN}
    if prefix := metadata.get("generateName"):
        metadata["name"] = f"{prefix}?????"
    kept = {key: value for key, value in obj.items() if key not in ("status", "metadata")}
    if obj["kind"] == "Secret":
        kept["data"] = dict.fromkeys(obj["data"], "<generated>")
    if obj["kind"] == "ConfigMap" and "runtime" in obj["data"]:
        kept["data"] = {"runtime": _own(yaml.safe_load(obj["data"]["runtime"]))}
    return {**kept, "metadata": metadata}


def _scrubbed(value: Any, uids: set[str]) -> Any:
    match value:
        case dict():
            return {key: _scrubbed(each, uids) for key, each in value.items()}
        case list():
            return [_scrubbed(each, uids) for each in value]
        case str() if value in uids:
            return "<uid>"
    return value


def comparable(value: Any) -> Any:
    """A record with the lists of variables in order of their names."""
    match value:
        case dict():
            found = {key: comparable(each) for key, each in value.items()}
            if "env" in found:
                found["env"].sort(key=lambda each: str(each["name"]))
            return found
        case list():
            return [comparable(each) for each in value]
    return value


if __name__ == "__main__":
    sys.exit(main())
