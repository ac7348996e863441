"""What a template has from v1 alone: names of its pods, their labels, ranks in host names, annotations of other tools.

Where v2 has the same under another name it is written in its place; else a note says what has to be done, at its line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from training_api.constants import LABEL_PREFIX
from training_migration.convert.compat import translated
from training_migration.convert.context import Context, Json
from training_migration.convert.host_names import RANK_OF_HOST, TAKEN, V1_HOST
from training_migration.convert.launchers import words
from training_migration.convert.plan import Group, Plan
from training_migration.diff.pairing import Place, pair_places
from training_migration.v2.names import INDEX_FIELD, INDEX_VARIABLE, JOBSET_LABEL

JOB_NAME: Final = f"{JOBSET_LABEL}jobset-name"
INDEX_OF_JOB: Final = f"{JOBSET_LABEL}job-index"
OWN_INDEX: Final = "NODE_INDEX"
_LABEL_FIELD: Final = re.compile(rf"metadata\.labels\['{re.escape(LABEL_PREFIX)}([\w-]+)'\]")
_OWN_ADDRESS: Final = re.compile(r"--local[-_]addr(?:=|\s+)[\"']?\$\{?(\w+)\}?")
V1_ONLY: Final[Mapping[str, str]] = {
    "sagemaker.amazonaws.com/enable-job-auto-resume": "HyperPod restarts jobs of v1 by it, and no TrainJobs",
    "sagemaker.amazonaws.com/job-max-retry-count": "HyperPod reads it of jobs of v1; TrainJobs have backoffLimit",
}
"""Annotations of jobs by which other tools act on kinds of v1 only."""


@dataclass(frozen=True, slots=True)
class _Pod:
    """A pod of v2, and which one it was."""

    before: Place
    number: int


def rewritten(context: Context, plan: Plan) -> Plan:
    """The plan with what v2 calls otherwise under its new name."""
    _note_annotations(context)
    pods = _pods(context, plan)
    types = {name.lower(): name for name in context.job.job.replicas}
    hosts = {
        context.v1_host(types[pod.before.role], pod.before.index): _host(context, group, pod.number)
        for group in plan.groups
        for pod in pods[group.name]
    }
    groups = []
    for group in plan.groups:
        of_group = pods[group.name]
        replica_type = types[of_group[0].before.role] if of_group else next(iter(types.values()))
        groups.append(_Rewriter(context, group, of_group, hosts, replica_type).group())
    return replace(plan, groups=groups)


def _pods(context: Context, plan: Plan) -> dict[str, list[_Pod]]:
    """By group, in the order of their numbers."""
    job = context.job.job
    before = [Place(name.lower(), index) for name in job.replicas for index in range(context.count(name))]
    after = [Place(group.name, number) for group in plan.groups for number in range(group.count)]
    found: dict[str, list[_Pod]] = {group.name: [] for group in plan.groups}
    for first, second in pair_places(job.info.kind, before, after):
        if first is not None and second is not None:
            found[second.role].append(_Pod(first, second.index))
    return {name: sorted(pods, key=lambda pod: pod.number) for name, pods in found.items()}


def _host(context: Context, group: Group, number: int) -> str:
    return context.host(group.name, number, in_one_job=group.in_one_job)


@dataclass(frozen=True, slots=True)
class _Rewriter:
    """One group of pods."""

    context: Context
    before: Group
    pods: Sequence[_Pod]
    hosts: Mapping[str, str]
    replica_type: str

    def group(self) -> Group:
        """The group with its template rewritten."""
        template = self._labels(self.before.template)
        pod = dict(template["spec"])
        for field in ("initContainers", "containers"):
            if pod.get(field):
                pod[field] = [self._container(each, field) for each in pod[field]]
        return replace(self.before, template={**template, "spec": pod})

    @property
    def _path(self) -> str:
        return self.context.path(self.replica_type, "template.spec")

    @property
    def _numbered_alike(self) -> bool:
        """Whether the pods are of one replica type and have the numbers that they had there."""
        return bool(self.pods) and all(
            pod.before.role == self.pods[0].before.role and pod.before.index == pod.number for pod in self.pods
        )

    def _container(self, container: Json, field: str) -> Json:
        name = str(container.get("name"))
        main = self.context.main_container(self.replica_type)
        path = f"{self._path}.{field}[{main if name == 'node' else name}]"
        changed = dict(container)
        for part in ("command", "args"):
            if container.get(part):
                changed[part] = [self._text(str(each), f"{path}.{part}") for each in container[part]]
        if container.get("env"):
            changed["env"] = [each for one in container["env"] for each in self._variable(one, changed, path)]
        return changed

    def _text(self, text: str, path: str) -> str:
        """A word of a command or a value with v2's names."""
        named = translated(text, self.hosts)
        if named != text:
            old = next(name for name in self.hosts if name in text)
            self.context.notes.add("MIG107", f"host {old} is {self.hosts[old]} now.", path, fixed=True)
        for pattern, taken in TAKEN:
            named = pattern.sub(lambda found, taken=taken: self._rank(found, taken, path), named)  # type: ignore[misc]  # mypy takes the default for a second argument
        if found := V1_HOST.search(named):
            text = f"a host name with -{found[1] or found[2]}: v2's hosts are called JOB-node-0-INDEX.JOB."
            self.context.notes.add("MIG107", text, path)
        if RANK_OF_HOST.search(named):
            text = f"a part of the host name is taken: v2's are called JOB-node-0-INDEX; the rank is ${INDEX_VARIABLE}."
            self.context.notes.add("MIG107", text, path)
        return named

    def _rank(self, found: re.Match[str], taken: Callable[[str, re.Match[str]], str], path: str) -> str:
        """v2's variable in place of an expression, if that gives every pod the number that it has."""
        by_pod = {
            pod.number: taken(self.context.v1_host(self.replica_type, pod.before.index), found) for pod in self.pods
        }
        if not self._numbered_alike or not self.before.in_one_job or any(str(k) != rank for k, rank in by_pod.items()):
            return found[0]
        self.context.notes.add("MIG107", f"{found[0]} is ${INDEX_VARIABLE} now.", path, fixed=True)
        return f"${INDEX_VARIABLE}"

    def _variable(self, variable: Json, container: Json, path: str) -> Iterator[Json]:
        """A variable, after what it needs."""
        name = str(variable.get("name"))
        if isinstance(variable.get("value"), str):
            yield {**variable, "value": self._text(variable["value"], f"{path}.env[{name}]")}
            return
        field = str(((variable.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath", ""))
        if (match := _LABEL_FIELD.fullmatch(field)) is not None:
            yield self._label_variable(name, match[1], f"{path}.env[{name}]") or variable
        elif field == "metadata.name" and name in _OWN_ADDRESS.findall(" ".join(words(container))):
            yield from self._own_address(name, variable, f"{path}.env[{name}]")
        else:
            yield variable

    def _own_address(self, name: str, variable: Json, path: str) -> Iterator[Json]:
        """The name under which others find the pod, where v1's pods were found by their own names."""
        if not self.before.in_one_job:
            self.context.notes.add("MIG107", "no pod of v2 is found by its name, only by its host name.", path)
            yield variable
            return
        yield {"name": OWN_INDEX, "valueFrom": {"fieldRef": {"fieldPath": INDEX_FIELD}}}
        host = _host(self.context, self.before, 0).replace("-0-0.", f"-0-$({OWN_INDEX}).")
        self.context.notes.add(
            "MIG107", f"{name} is the host name of the pod: its name is no address.", path, fixed=True
        )
        yield {"name": name, "value": host}

    def _label_variable(self, name: str, label: str, path: str) -> Json | None:
        """What v1's label said, from what v2 has; None where it has nothing that does."""
        source, value = self._of_label(label)
        if not source and value is None:
            return None
        text = f"label {LABEL_PREFIX}{label} became {source or repr(value)}."
        self.context.notes.add("MIG401", text, path, fixed=True)
        if source:
            return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": source}}}
        return {"name": name, "value": value}

    def _of_label(self, label: str) -> tuple[str, str | None]:
        """A field of the pod or a value; neither where v2 has no such thing."""
        roles = {pod.before.role for pod in self.pods}
        match label:
            case "job-name":
                return f"metadata.labels['{JOB_NAME}']", None
            case "replica-index" if self._numbered_alike:
                return INDEX_FIELD if self.before.in_one_job else f"metadata.labels['{INDEX_OF_JOB}']", None
            case "replica-type" if len(roles) == 1:
                return "", next(iter(roles))
        return "", None

    def _labels(self, template: Json) -> Json:
        """The template with v2's label of the job in selectors, and in files with labels."""
        changed: Json = _with_labels(template, {f"{LABEL_PREFIX}job-name": JOB_NAME})
        if changed != template:
            text = f"label {LABEL_PREFIX}job-name became {JOB_NAME}."
            self.context.notes.add("MIG401", text, f"{self._path}", fixed=True)
        return changed


def note_v1_labels(context: Context, plan: Plan) -> None:
    """Say which labels of v1 are left, that pods of v2 do not have."""
    for group in plan.groups:
        for path, label in _left(group.template, "template"):
            types = {name.lower(): name for name in context.job.job.replicas}
            replica_type = types.get(group.name, list(types.values())[-1])
            context.notes.add(
                "MIG401",
                f"{label} is no label of v2's pods.",
                context.path(replica_type, path.replace("[node]", f"[{context.main_container(replica_type)}]")),
            )


def _left(value: Any, path: str) -> Iterator[tuple[str, str]]:
    match value:
        case dict():
            for key, each in value.items():
                if str(key).startswith(LABEL_PREFIX):
                    yield path, str(key)
                yield from _left(each, f"{path}.{key}")
        case list():
            for position, each in enumerate(value):
                name = each.get("name", position) if isinstance(each, dict) else position
                yield from _left(each, f"{path}[{name}]")
        case str() if (found := re.search(rf"{re.escape(LABEL_PREFIX)}[\w-]+", value)) is not None:
            yield path, found[0]


def _with_labels(value: Any, names: Mapping[str, str]) -> Any:
    """A copy in which selectors and references to fields use other labels; labels that pods get themselves stay."""
    match value:
        case dict():
            return {
                key: (
                    {names.get(name, name): each for name, each in below.items()}
                    if key == "matchLabels" and isinstance(below, dict)
                    else names.get(below, below)
                    if key in ("key", "topologyKey") and isinstance(below, str)
                    else _with_labels(below, names)
                )
                for key, below in value.items()
            }
        case list():
            return [_with_labels(each, names) for each in value]
    return value


def _note_annotations(context: Context) -> None:
    for name in context.job.job.metadata.annotations:
        if name in V1_ONLY:
            context.notes.add("MIG314", f"{V1_ONLY[name]}.", f"metadata.annotations[{name}]")
