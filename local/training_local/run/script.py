"""A script without any YAML: the job that runs it in several processes, made after the example of its framework."""

from __future__ import annotations

import ast
import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from training_local.errors import BadInput
from training_local.run.examples import DEMOS, example

Json = dict[str, Any]

_FOLDER: Final = "/etc/train/"
_MOST_BYTES: Final = 1 << 20
"""What a ConfigMap can hold."""
_AS: Final = "as `training-operator local run` ran it."
_HEADING: Final = f"""\
# {{script}} in {{workers}} processes, {_AS}
# On a cluster: put in an image that has what the script imports, then kubectl apply -f this file.
"""


@dataclass(frozen=True, slots=True)
class Script:
    """What a user wants to run."""

    path: Path
    framework: str | None
    """None for the one that it imports."""
    workers: int
    """In how many processes."""
    arguments: Sequence[str] = ()


def objects_of(asked: Script) -> list[Json]:
    """Return the objects of a job that runs a script; raises `BadInput` if it cannot be made."""
    script = asked.path
    try:
        texts = dict(_with_modules(script))
    except (OSError, UnicodeDecodeError, SyntaxError, ValueError) as error:
        raise BadInput(f"{script}: {error}") from None
    if sum(len(text.encode()) for text in texts.values()) > _MOST_BYTES:
        raise BadInput(f"{script}: with the modules in its folder larger than 1 MiB, the maximum size of a ConfigMap")
    chosen = asked.framework or _framework(script, ast.parse(texts[script.name]))
    # Anchors of YAML are one object in several places; a change must reach one place only.
    made = yaml.safe_load_all(example(DEMOS[chosen]).read_text(encoding="utf-8"))
    objects: list[Json] = json.loads(json.dumps(list(made)))
    name = re.sub(r"[^a-z0-9]+", "-", script.stem.lower()).strip("-")[:40].rstrip("-")
    name = name if name[:1].isalpha() else f"job-{name}".rstrip("-")
    for each in objects:
        if each["kind"] == "ConfigMap":
            each["data"] = texts
        else:
            _fill(each, name, [f"{_FOLDER}{script.name}", *asked.arguments], asked.workers)
        each["metadata"]["name"] = name
    return objects


def save_job(objects: Sequence[Json], file: Path, script: Script) -> None:
    """Write a job for a cluster; raises `BadInput` if that cannot be done."""
    yaml.add_representer(str, _text, Dumper=_Dumper)
    text = yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False)
    if file.exists() and _AS not in file.read_bytes().partition(b"\n")[0].decode(errors="replace"):
        raise BadInput(f"--save {file}: the file exists, and was not written by --save")
    try:
        file.write_text(_HEADING.format(script=script.path.name, workers=script.workers) + text, encoding="utf-8")
    except OSError as error:
        raise BadInput(f"--save {file}: {error.strerror}") from None


class _Dumper(yaml.SafeDumper):
    """Writes scripts as they are, line by line."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


def _with_modules(script: Path, known: frozenset[str] = frozenset()) -> Iterator[tuple[str, str]]:
    """Yield the script and the modules beside it that it imports, by name."""
    text = script.read_text(encoding="utf-8")
    yield script.name, text
    known |= {script.name}
    for module in sorted(set(_imports(ast.parse(text)))):
        beside = script.with_name(f"{module}.py")
        if beside.name not in known and beside.is_file():
            yield from _with_modules(beside, known)


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]


def _framework(script: Path, tree: ast.AST) -> str:
    imported = set(_imports(tree))
    found = [name for name, demo in DEMOS.items() if demo.module in imported]
    if len(found) == 1:
        return found[0]
    said = f"imports {' and '.join(found)}" if found else "imports none of the supported frameworks"
    raise BadInput(f"{script} {said}: name the framework with --framework {'|'.join(DEMOS)}")


def _fill(job: Json, name: str, command: list[str], workers: int) -> None:
    """Let the example's job run another command in another number of processes."""
    [replicas] = [value for field, value in job["spec"].items() if field.endswith("ReplicaSpecs")]
    replicas["Worker"]["replicas"] = workers - 1 if "Master" in replicas else workers
    if not replicas["Worker"]["replicas"]:
        del replicas["Worker"]
    for replica in replicas.values():
        pod = replica["template"]["spec"]
        for container in pod["containers"]:
            _run(container, command, workers)
        for volume in pod.get("volumes") or ():
            if "configMap" in volume:
                volume["configMap"]["name"] = name


def _run(container: Json, command: list[str], workers: int) -> None:
    before = container.get("command") or []
    at = next((index for index, part in enumerate(before) if part.endswith("/train.py")), None)
    if at is None:
        return
    if before[at] != f"{_FOLDER}train.py":  # of a shell that knows the folder as a variable
        own = shlex.join([command[0].removeprefix(_FOLDER), *command[1:]])
        command = [before[at].removesuffix("train.py") + own]
    container["command"] = before[:at] + command
    if "-np" in before:
        container["command"][before.index("-np") + 1] = str(workers)
    # The examples train on the processor, whatever the machine has.
    if kept := [each for each in container.pop("env", ()) if each["name"] != "JAX_PLATFORMS"]:
        container["env"] = kept
