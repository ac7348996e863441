"""An object that holds jobs of v1, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from training_api.documents import Document
from training_migration.cluster import clean
from training_migration.convert.conversion import Conversion, Options
from training_migration.embedded import app_wrapper, experiment, kustomization
from training_migration.embedded.find import Found, jobs_in
from training_migration.embedded.left import Left
from training_migration.findings import Finding, Severity, Verdict, verdict
from training_migration.judgement import judged
from training_migration.rules import found
from training_migration.v1_job import Invalid, v1_job

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Converted:
    """What takes the place of an object."""

    objects: tuple[Json, ...]
    """In the order in which they are to be applied."""
    conversions: tuple[tuple[str, Conversion], ...]
    """Of the jobs, each with its field."""
    note: str
    """What those who run it have to know."""


@dataclass(frozen=True, slots=True)
class Held:
    """An object with jobs of v1 inside."""

    document: Document
    jobs: tuple[Found, ...]
    converted: Converted | None
    left: str = ""
    """Why it is left as it is, in one sentence; empty if it is converted."""

    @property
    def finding(self) -> Finding:
        """What is to be said of the object itself."""
        first = self.jobs[0]
        kinds = ", ".join(dict.fromkeys(each.kind for each in self.jobs))
        if self.converted is None:
            text, severity = f"contains a v1 job ({kinds}), not converted: {self.left}", Severity.ERROR
        else:
            text, severity = self.converted.note, Severity.WARNING
        place = self.document
        return found("MIG406", text, first.path, source=place.source, line=place.line, severity=severity)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """That, and what the conversions of its jobs have to say."""
        inside = self.converted.conversions if self.converted else ()
        return (self.finding, *(within(path, each) for path, conversion in inside for each in conversion.findings))

    @property
    def verdict(self) -> Verdict:
        """What becomes of the object."""
        return verdict(self.findings)


def within(path: str, finding: Finding) -> Finding:
    """A finding in a job as one in the object that holds it at a path."""
    return replace(finding, path=f"{path}.{finding.path}" if finding.path else path)


_Converter = Callable[[Json, Sequence[Found], Callable[[Json], Conversion]], tuple[list[Json], list[Conversion]]]
_CONVERTERS: Final[dict[tuple[str, str], tuple[_Converter, str]]] = {
    ("kubeflow.org", "Experiment"): (experiment.converted, experiment.NOTE),
    ("workload.codeflare.dev", "AppWrapper"): (app_wrapper.converted, app_wrapper.NOTE),
}
"""By group and kind: what converts such an object in place, and what has to be known of what comes of it."""
_PARAMETER: Final = (
    "a parameter of the trial is where a job has a number; write a number there, convert, and put the parameter"
    " into the TrainJob (the number of replicas is spec.trainer.numNodes)."
)
_IN_TEXT: Final = (
    "it is embedded as text, which cannot be replaced safely: copy the job to a file, convert that file, and change the"
    " text by hand."
)
_UNKNOWN: Final = "how {kind} holds TrainJobs is not known here; convert the job alone and change the rest by hand."


def held(document: Document, options: Options) -> Held | None:
    """The object of a document with what comes of it; None for one that holds no job of v1."""
    document = replace(document, object=clean(document.object or {}))
    obj = document.object or {}
    found = kustomization.patches(document) if kustomization.is_kustomization(document) else []
    jobs = tuple(Found(each.path, each.kind, None) for each in found) or tuple(jobs_in(obj))
    if not jobs:
        return None
    plain = replace(options, name="", stock=False)
    try:
        return Held(document, jobs, _patched(document, found, plain) if found else _converted(document, jobs, plain))
    except Left as left:
        return Held(document, jobs, None, str(left))
    except Invalid as invalid:
        why = _PARAMETER if "${trialParameters." in str(invalid) else f"v1 would reject the job: {invalid}."
        return Held(document, jobs, None, why)
    except (AttributeError, KeyError, TypeError, ValueError):
        return Held(document, jobs, None, f"its fields are not those of {_article(obj)}.")


def _article(obj: Json) -> str:
    kind = str(obj.get("kind") or "object without a kind")
    return f"an {kind}" if kind[:1] in "AEIOUaeiou" else f"a {kind}"


def _patched(document: Document, found: Sequence[kustomization.Patch], options: Options) -> Converted:
    objects, conversions = kustomization.converted(document, found, partial(_conversion, document, options))
    note = kustomization.NOTE + kustomization.renamed(document.object or {})
    return Converted(tuple(objects), tuple(conversions), note)


def _conversion(document: Document, options: Options, job: Json) -> Conversion:
    conversion = judged(v1_job(job, document.source, document.line), options)
    if conversion.rejected:
        raise Left(conversion.rejected)
    return conversion


def _converted(document: Document, jobs: Sequence[Found], options: Options) -> Converted:
    obj = document.object or {}
    group, kind = str(obj.get("apiVersion", "")).partition("/")[0], str(obj.get("kind"))
    if any(each.object is None for each in jobs):
        raise Left(_IN_TEXT)
    if (group, kind) not in _CONVERTERS:
        raise Left(_UNKNOWN.format(kind=_article(obj)))
    convert_in_place, note = _CONVERTERS[group, kind]
    objects, conversions = convert_in_place(obj, jobs, partial(_conversion, document, options))
    paths = [each.path for each in jobs]
    return Converted(tuple(objects), tuple(zip(paths, conversions, strict=True)), note)
