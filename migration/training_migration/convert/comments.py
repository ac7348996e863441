"""Comments in written YAML: those of the source at the lines that are kept, and notes at the lines they are about."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

import yaml

from training_api.yaml_text import nodes
from training_migration.convert.conversion import Conversion
from training_migration.findings import Finding, Severity
from training_migration.lint.lines import STEP, below, name_of

_BESIDE: Final = re.compile(r"[\s:,\]})]*\s(#.*)")
_TEMPLATE: Final = re.compile(r"spec\.\w+ReplicaSpecs\[(?P<type>\w+)\]\.template\.(?P<rest>.+)")
_PATCH: Final = "spec.runtimePatches[0].trainingRuntimeSpec.template"
_ELSEWHERE: Final = {
    "spec.elasticPolicy": "spec.trainer.numNodes",
    "spec.nprocPerNode": "spec.trainer.numProcPerNode",
    "spec.runPolicy.suspend": "spec.suspend",
    "spec.runPolicy.activeDeadlineSeconds": "spec.activeDeadlineSeconds",
}
_RENAMED: Final = {"resources": "resourcesPerNode"}
_WIDTH: Final = 110
_Pair = tuple[yaml.Node, yaml.Node]


def annotated(text: str, conversion: Conversion, source: str, *, notes: bool) -> tuple[str, set[Finding]]:
    """The YAML of a conversion with comments; also the findings that are in them.

    `source` is the text that the job is from; empty where it is not at hand.
    """
    open_ones = [each for each in conversion.findings if not each.fixed and each.level is not Severity.INFO]
    if not (notes and open_ones) and "#" not in source:
        return text, set()
    written = list(nodes(text))
    above: dict[int, list[str]] = defaultdict(list)
    beside: dict[int, str] = {}
    for line, (before, after) in _kept(conversion, source, written):
        above[line] += [each for each in before if each not in above[line]]
        beside.setdefault(line, after)
    noted = set()
    for finding in open_ones if notes else ():
        if (place := next(_lines_of(finding.path, conversion, written), None)) is not None:
            note = textwrap.wrap(f"# {finding.rule.id}: {finding.message}", _WIDTH, subsequent_indent="#   ")
            if note[0] not in above[place]:  # master and workers may have one container now
                above[place] += note
            noted.add(finding)
    return "\n".join(_with_comments(text.split("\n"), above, beside)), noted


def _with_comments(lines: list[str], above: dict[int, list[str]], beside: dict[int, str]) -> Iterator[str]:
    for number, line in enumerate(lines):
        indent = line[: len(line) - len(line.lstrip(" "))]
        yield from (f"{indent}{each}" for each in above.get(number, ()))
        after = beside.get(number, "")
        if after and line.rstrip().endswith(("|", "|-", "|+")):
            yield indent + after
            after = ""
        yield f"{line}  {after}" if after else line


def _lines_of(path: str, conversion: Conversion, written: list[yaml.Node]) -> Iterator[int]:
    """The lines in which a field of the job of v1 stands now, from 0."""
    if match := _TEMPLATE.fullmatch(path):
        rest = match["rest"].replace(f"[{conversion.job.job.main_container(match['type'])}]", "[node]")
        if (field := rest.removeprefix("spec.containers[node].")) != rest:
            head, dot, tail = field.partition(".")
            paths = [f"spec.trainer.{_RENAMED.get(head, head)}{dot}{tail}"]
        else:
            paths = []
        for group in ("node", match["type"].lower()):
            below = f"spec.replicatedJobs[{group}].template.spec.template.{rest}"
            paths += [f"spec.template.{below}", f"{_PATCH}.{below}"]
    else:
        paths = [_ELSEWHERE.get(path, path)]
    for one in paths if path else ():
        for root in reversed(written):
            if (found := _at(root, one)) is not None and found[0] > root.start_mark.line:
                yield found[0]


def _at(root: yaml.Node, path: str) -> tuple[int, yaml.Node] | None:
    """Line and value of a field."""
    line, node = root.start_mark.line, root
    for step in STEP.finditer(path):
        found = below(node, step[1] if step[1] is not None else step[0])
        if found is None:
            return None
        line, node = found
    return line, node


def _kept(conversion: Conversion, source: str, written: list[yaml.Node]) -> Iterator[tuple[int, tuple[list[str], str]]]:
    """The comments of the source with the lines in which what they are about stands now."""
    roots = [each for each in nodes(source) if each.start_mark.line + 1 >= conversion.job.line] if "#" in source else []
    if not roots:
        return
    comments = _comments(source, roots[0])
    for one, other in _pairs(conversion, roots[0], written):
        for line, new in _same(one, other, conversion):
            if line in comments:
                yield new, comments[line]


def _pairs(conversion: Conversion, root: yaml.Node, written: list[yaml.Node]) -> Iterator[_Pair]:
    """Parts of the job of v1 and what has become of them."""
    train_job = written[-1]
    yield from _both(_at(root, "metadata"), _at(train_job, "metadata"))
    info = conversion.job.job.info
    for name in conversion.job.job.replicas:
        template = _at(root, f"spec.{info.replica_field}.{name}.template")
        if template is None:
            continue
        main = _at(template[1], f"spec.containers[{conversion.job.job.main_container(name)}]")
        yield from _both(main, _at(train_job, "spec.trainer"))
        for group in ("node", name.lower()):
            below = f"spec.replicatedJobs[{group}].template.spec.template"
            yield from _both(template, _at(train_job, f"{_PATCH}.{below}"))
            for each in written[:-1]:
                yield from _both(template, _at(each, f"spec.template.{below}"))


def _both(one: tuple[int, yaml.Node] | None, other: tuple[int, yaml.Node] | None) -> Iterator[_Pair]:
    if one is not None and other is not None:
        yield one[1], other[1]


def _same(one: yaml.Node, other: yaml.Node, conversion: Conversion) -> Iterator[tuple[int, int]]:
    """Lines of two parts that say the same, from 0."""
    if isinstance(one, yaml.MappingNode) and isinstance(other, yaml.MappingNode):
        for key, value in one.value:
            found = below(other, _RENAMED.get(str(key.value), str(key.value))) or below(other, str(key.value))
            if found is not None:
                if not isinstance(value, yaml.ScalarNode) or value.value == found[1].value:
                    yield key.start_mark.line, found[0]
                yield from _same(value, found[1], conversion)
    elif isinstance(one, yaml.SequenceNode) and isinstance(other, yaml.SequenceNode) and not other.flow_style:
        main = {conversion.job.job.main_container(name) for name in conversion.job.job.replicas}
        for each in one.value:
            named = name_of(each)
            name = "node" if named in main else named
            fits = (
                entry
                for entry in other.value
                if (isinstance(each, yaml.ScalarNode) and entry.value == each.value)
                or (name and name_of(entry) == name)
            )
            if (entry := next(fits, None)) is not None:
                yield each.start_mark.line, entry.start_mark.line
                yield from _same(each, entry, conversion)


def _comments(source: str, root: yaml.Node) -> dict[int, tuple[list[str], str]]:
    """By the number of each line below the root: the comments above and next to it."""
    lines = source.split("\n")
    ends: dict[int, int] = {}
    text: set[int] = set()
    for node in _all(root):
        if isinstance(node, yaml.ScalarNode) or (isinstance(node, yaml.CollectionNode) and node.flow_style):
            ends[node.end_mark.line] = max(ends.get(node.end_mark.line, 0), node.end_mark.column)
            text.update(range(node.start_mark.line + 1, node.end_mark.line))
    found: dict[int, tuple[list[str], str]] = {}
    pending: list[str] = []
    for number in range(root.start_mark.line, min(root.end_mark.line + 1, len(lines))):
        stripped = lines[number].strip()
        if number in text or not stripped:
            pending = []
        elif stripped.startswith("#"):
            pending.append(stripped)
        else:
            match = _BESIDE.fullmatch(lines[number][ends[number] :]) if number in ends else None
            if pending or match:
                found[number] = (pending, match[1] if match else "")
            pending = []
    return found


def _all(node: yaml.Node) -> Iterator[yaml.Node]:
    yield node
    below: Iterable[yaml.Node] = ()
    if isinstance(node, yaml.MappingNode):
        below = [each for pair in node.value for each in pair]
    elif isinstance(node, yaml.SequenceNode):
        below = node.value
    for each in below:
        yield from _all(each)
