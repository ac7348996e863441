"""Converted jobs as YAML: the same job and options give the same bytes, keys stand as the API's documentation has them.

Every text that any reader of YAML might take for a number or a truth value is in quotes.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any, Final

import yaml

from training_migration.choices import NoteStyle
from training_migration.convert.comments import annotated
from training_migration.convert.conversion import Conversion
from training_migration.findings import Finding, Severity

KEYS: Final = (
    ("apiVersion", "kind", "metadata", "name", "namespace", "labels", "annotations"),
    ("runtimeRef", "suspend", "managedBy", "mlPolicy", "podGroupPolicy", "numNodes", "numProcPerNode"),
    ("network", "replicas", "dependsOn", "parallelism", "completions", "activeDeadlineSeconds", "backoffLimit"),
    ("successPolicy", "failurePolicy", "podFailurePolicy", "ttlSecondsAfterFinished", "replicatedJobs"),
    ("action", "operator", "restartPolicy", "schedulerName", "priorityClassName", "serviceAccountName"),
    ("initContainers", "containers"),
    ("image", "imagePullPolicy", "command", "args", "workingDir", "ports", "containerPort", "envFrom"),
    ("key", "value", "valueFrom", "env", "resources", "requests", "limits", "mountPath", "subPath", "volumeMounts"),
    ("livenessProbe", "readinessProbe", "startupProbe", "lifecycle", "securityContext", "volumes"),
    ("trainer", "runtimePatches", "template", "spec"),
)
"""Keys in the order in which they are written, in lines by subject; others follow in that of the alphabet."""
_PLACE: Final[Mapping[str, int]] = {key: place for place, key in enumerate(key for line in KEYS for key in line)}
_FREE: Final = frozenset(
    {"labels", "annotations", "limits", "requests", "matchLabels", "nodeSelector", "data", "stringData"}
)
"""Fields whose keys are the user's."""
_LIKE_A_VALUE: Final = re.compile(
    r"[-+.]?[0-9][0-9_,.]*([eE][-+]?[0-9]*)?|0[obx][0-9a-fA-F_]+|[yYnN]|~|<<|=|yes|no|on|off|true|false|null|\.nan"
    r"|[-+]?\.inf|[0-9][0-9T:. Z+-]*",
    re.IGNORECASE,
)
_WIDTH: Final = 110
"""Characters of a line of notes."""
_ENDLESS: Final = 1_000_000_000
"""Characters of a line of YAML."""
_SHORT: Final = 90
"""Characters of a list that stands on one line."""
_TITLES: Final = {
    Severity.ERROR: "Needs work",
    Severity.WARNING: "Differs from v1",
    Severity.INFO: "Worth knowing",
}


def yaml_text(conversion: Conversion, style: NoteStyle = NoteStyle.INLINE, source: str = "") -> str:
    """All objects of the conversion as one YAML stream, in the order in which they are to be applied.

    The comments of `source`, the text that the job is from, stay at lines that stay; a note stands at the line that it
    is about, or else at the head.
    """
    documents = [_dumped(ordered(each)) for each in conversion.objects]
    inline = style is NoteStyle.INLINE
    text, noted = annotated("---\n".join(documents), conversion, source, notes=inline)
    return "".join(f"# {line}".rstrip() + "\n" for line in _head(conversion, noted)) * inline + text


def objects_text(objects: Iterable[Mapping[str, Any]], notes: str = "") -> str:
    """Objects of other kinds as one YAML stream, their keys as they stand, below notes as comments."""
    head = "".join(f"# {line}".rstrip() + "\n" for line in notes.splitlines())
    return head + "---\n".join(map(_dumped, objects))


def _dumped(obj: Mapping[str, Any]) -> str:
    text: str = yaml.dump(obj, Dumper=_Dumper, sort_keys=False, width=_ENDLESS, allow_unicode=True)
    return _EXIT_CODES.sub(_folded, text)


_EXIT_CODES: Final = re.compile(rf"(onExitCodes:\n(?: +\w+: \S+\n)+)(( +)values: \[[\d, ]{{{_WIDTH},}}\])\n")


def _folded(match: re.Match[str]) -> str:
    """A list of exit codes in lines of ordinary width."""
    return f"{match[1]}{textwrap.fill(match[2], _WIDTH, subsequent_indent=f'{match[3]}  ')}\n"


def notes_text(conversion: Conversion) -> str:
    """What became of the job, and what is different, for users."""
    return "\n".join(_lines(conversion)) + "\n"


def note_text(finding: Finding) -> str:
    """One finding as a list has it."""
    place = f"{finding.path}: " if finding.path else ""
    lines = textwrap.wrap(
        f"{finding.rule.id} {place}{finding.message}",
        width=_WIDTH,
        initial_indent="- ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(lines)


def title(conversion: Conversion) -> str:
    """The job in one word or two."""
    metadata = conversion.job.job.metadata
    namespace = (conversion.job.object.get("metadata") or {}).get("namespace")
    return f"{conversion.job.job.info.kind} {f'{namespace}/' if namespace else ''}{metadata.name}"


def _lines(conversion: Conversion) -> Iterator[str]:
    yield f"{title(conversion)} for Trainer {conversion.options.target}: {conversion.verdict}"
    if conversion.rejected:
        yield "Not to be applied."
    open_ones = [each for each in conversion.findings if not each.fixed]
    for severity, heading in _TITLES.items():
        yield from _section(heading, [each for each in open_ones if each.level is severity])
    yield from _section("Done by the conversion", [each for each in conversion.findings if each.fixed])


def _head(conversion: Conversion, noted: Collection[Finding]) -> Iterator[str]:
    """In short: what no comment elsewhere in the file says."""
    yield f"{title(conversion)} for Trainer {conversion.options.target}: {conversion.verdict}"
    left = [each for each in conversion.findings if not each.fixed and each not in noted]
    for severity, heading in _TITLES.items():
        yield from _section(heading, [each for each in left if each.level is severity])
    if fixed := sorted({each.rule.id for each in conversion.findings if each.fixed}):
        yield ""
        yield f"Done by the conversion: {', '.join(fixed)}"


def _section(heading: str, findings: list[Finding]) -> Iterator[str]:
    if not findings:
        return
    yield ""
    yield f"{heading}:"
    for finding in findings:
        yield from note_text(finding).split("\n")


def ordered(value: Any, field: str = "") -> Any:
    """The value with its keys in the order of the API's documentation."""
    match value:
        case dict():
            keys = sorted(value, key=lambda key: (0 if field in _FREE else _PLACE.get(key, len(_PLACE)), key))
            return {key: ordered(value[key], key) for key in keys}
        case list():
            return [ordered(each) for each in value]
    return value


class _Dumper(yaml.CSafeDumper):
    """YAML without anchors, with long texts on one line, texts of several lines as such, short lists on one line."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def _text(dumper: _Dumper, text: str) -> yaml.Node:
    style = '"' if _LIKE_A_VALUE.fullmatch(text) else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _list(dumper: _Dumper, values: list[Any]) -> yaml.Node:
    scalars = all(isinstance(each, (str, int)) for each in values)
    texts = [each for each in values if isinstance(each, str)]
    short = sum(len(each) + 2 for each in texts) <= _SHORT and not any("\n" in each for each in texts)
    return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=bool(values) and scalars and short)


_Dumper.add_representer(str, _text)
_Dumper.add_representer(list, _list)
