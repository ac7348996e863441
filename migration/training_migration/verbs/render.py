"""`training-operator migrate render`: the objects and pods that v1's operator and v2's controllers make of jobs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training_api.documents import Document
from training_api.yaml_text import dump
from training_controllers.frameworks.registry import FrameworkOptions
from training_controllers.gang.schedulers import gang_scheduler
from training_migration.convert.conversion import Options
from training_migration.exits import Exit, Failure
from training_migration.findings import Severity
from training_migration.masking import masked
from training_migration.rendering import Rendering
from training_migration.runs.sides import with_runtime
from training_migration.runs.templates import is_train_job
from training_migration.targets import Target
from training_migration.v1_job import V1Job
from training_migration.v2.lookup import Runtimes
from training_migration.v2.process import command_line, environment
from training_migration.v2.stock import stock
from training_migration.verbs.loading import given, placed, where
from training_migration.verbs.output import write
from training_migration.verbs.predicted import converted, on_v1, on_v2

Json = dict[str, Any]

SCHEMA = "migrate.render/1"


@dataclass(frozen=True, slots=True)
class Rendered:
    """One job on one side."""

    side: str
    ref: Json
    rendering: Rendering


def render(
    *,
    paths: tuple[str, ...],
    target: Target,
    kubernetes: str,
    side: str,
    as_process: bool,
    gang_scheduler_name: str,
    cluster_domain: str,
    style: str,
    output: Path | None,
) -> Exit:
    """Render the objects and pods that the controllers create for the jobs in PATH (files, folders, - for stdin)."""
    framework = FrameworkOptions(cluster_domain=cluster_domain, gang=gang_scheduler(gang_scheduler_name))
    options = Options(target, kubernetes, gang_scheduler=gang_scheduler_name)
    read = given(paths)
    of_v1 = read.each(read.jobs, placed, lambda job: list(_of_v1(job, side, options, framework)))
    train_jobs = [each for each in read.others if side != "v1" and is_train_job(each.object or {})]
    runtimes = Runtimes(read.others, stock(target))
    of_v2 = read.each(
        train_jobs, lambda each: where(each.source, each.line), lambda each: _of_v2(each, runtimes, options)
    )
    found = [*(side for sides in of_v1 for side in sides), *of_v2]
    if found:
        shown = [_processes(each) if as_process else _objects(each) for each in found]
        write(_written(found, masked(shown), style, as_process=as_process), output)
    elif not read.failures:
        raise Failure(f"{', '.join(paths)}: there is no job of this side in it.", Exit.USAGE)
    return read.ended([], Severity.ERROR)


def _of_v1(job: V1Job, side: str, options: Options, framework: FrameworkOptions) -> Iterator[Rendered]:
    """A job of v1 on the wanted sides."""
    ref = _ref(job.source, job.line, job.object)
    if side != "v2":
        yield Rendered("v1", ref, on_v1(job, framework))
    if side in ("v2", "both"):
        yield Rendered("v2", ref, on_v2(converted(job, options), options.target, placed(job)))


def _of_v2(document: Document, runtimes: Runtimes, options: Options) -> Rendered:
    """A TrainJob with its runtime."""
    side = with_runtime(document, document.object or {}, runtimes)
    rendering = on_v2(side, options.target, where(document.source, document.line))
    return Rendered("v2", _ref(document.source, document.line, side.train_job), rendering)


def _ref(source: str, line: int, obj: Json) -> Json:
    metadata = obj["metadata"]
    names = {field: metadata.get(field) or "" for field in ("namespace", "name")}
    return {"kind": obj["kind"], **names, "source": source, "line": line}


def _objects(rendered: Rendered) -> Json:
    """All objects and pods."""
    pods = [
        {
            "role": each.role,
            "index": each.index,
            "container": each.container,
            "hostname": each.hostname,
            "pod": each.pod,
        }
        for each in rendered.rendering.pods
    ]
    return {"side": rendered.side, "job": rendered.ref, "objects": list(rendered.rendering.objects), "pods": pods}


def _processes(rendered: Rendered) -> Json:
    """The process that trains, of each pod."""
    processes = []
    for each in rendered.rendering.pods:
        command, arguments = command_line(each)
        pod = {"role": each.role, "index": each.index, "hostname": each.hostname}
        processes.append({**pod, "command": command, "args": arguments, "env": environment(each)})
    return {"side": rendered.side, "job": rendered.ref, "processes": processes}


def _written(found: Sequence[Rendered], shown: Sequence[Json], style: str, *, as_process: bool) -> str:
    if style == "json":
        return json.dumps({"schema": SCHEMA, "jobs": shown}, indent=2, ensure_ascii=False)
    if as_process:
        return dump(shown)
    return "---\n".join(f"# {_title(one)}\n{dump(_plain(each))}" for one, each in zip(found, shown, strict=True))


def _title(rendered: Rendered) -> str:
    ref = rendered.ref
    return f"{ref['kind']} {ref['name']} of {where(ref['source'], ref['line'])} on {rendered.side}"


def _plain(shown: Json) -> list[Json]:
    """The objects alone, as kubectl shows them."""
    return [*shown["objects"], *(each["pod"] for each in shown["pods"])]
