"""Every job of a fleet examined: what becomes of it, how much there is to do, and what stands in the way."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from training_api.documents import Document
from training_migration.cluster import CLUSTER, clean
from training_migration.convert.conversion import Conversion, Options
from training_migration.embedded.held import Held, held, within
from training_migration.embedded.kustomization import is_kustomization, without_patches
from training_migration.findings import Finding, Severity, Verdict, verdict
from training_migration.judgement import judged
from training_migration.rules import found
from training_migration.v1_job import Invalid, V1Job, is_v1_job, not_converted, prefix_of, v1_job

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One job, or one document that is none because it is broken."""

    source: str
    line: int
    kind: str = ""
    namespace: str = ""
    name: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    verdict: Verdict | None = None
    """None for what is broken."""
    findings: tuple[Finding, ...] = ()
    rejected: str = ""
    """Why v2 would not take what comes of the conversion; empty if it would."""
    left: bool = False
    """Whether `convert` leaves it as it is."""
    error: str = ""
    """One sentence for what is broken."""
    conversion: Conversion | None = None
    """What is compared with the job, for those who want that."""

    @property
    def reason(self) -> str:
        """What stands in the way of the job, in one sentence; empty if nothing does."""
        if self.error or self.rejected:
            return self.error or self.rejected
        blocking = [each for each in self.open_findings if not each.rule.trains or each.level is Severity.ERROR]
        blocking.sort(key=lambda each: each.rule.trains)
        return blocking[0].message if blocking else ""

    @property
    def unlisted(self) -> bool:
        """Whether it is no object, but objects of a cluster that cannot be listed."""
        return self.source == CLUSTER and bool(self.error) and not self.kind

    @property
    def open_findings(self) -> tuple[Finding, ...]:
        """Those that the conversion has not fixed."""
        return tuple(each for each in self.findings if not each.fixed)


def rows(documents: Iterable[Document], options: Options, ignored: Counter[str]) -> Iterator[Row]:
    """One row for each job, each object that holds jobs, and each broken document.

    All other objects are counted in `ignored`, by version and kind.
    """
    for document in without_patches(documents):
        obj = document.object
        if obj is None:
            yield Row(document.source, document.line, error=document.error)
        elif is_v1_job(obj):
            yield _row(document, clean(obj), options)
        elif why := not_converted(obj):
            finding = found("MIG001", why, "kind", source=document.source, line=document.line)
            yield replace(_begun(document, obj), verdict=verdict([finding]), findings=(finding,), left=True)
        elif (holder := held(document, options)) is not None:
            yield _holding(document, holder)
        else:
            ignored[version_and_kind(document)] += 1


_UNKNOWN: Final = "without a kind"


def kind_of(document: Document) -> str:
    """The kind of an object; empty for one that has none. Kustomizations need not say theirs."""
    said = (document.object or {}).get("kind")
    return str(said) if said else "Kustomization" * is_kustomization(document)


def version_and_kind(document: Document) -> str:
    """As `kubectl api-resources` names them."""
    version = str((document.object or {}).get("apiVersion") or "")
    kind = kind_of(document)
    return f"{version} {kind}".strip() if kind else _UNKNOWN


def _holding(document: Document, holder: Held) -> Row:
    """The row of an object with jobs inside: what is to be said of it and of them, and whether it is converted."""
    findings = [holder.finding]
    for path, conversion in holder.converted.conversions if holder.converted else ():
        findings += [within(path, each) for each in conversion.findings]
    row = replace(_begun(document, document.object or {}), findings=tuple(findings))
    return replace(row, verdict=verdict(findings), left=holder.converted is None)


def _begun(document: Document, obj: Json) -> Row:
    """The row of a job of which nothing is known but its name."""
    metadata = obj.get("metadata")
    given = metadata if isinstance(metadata, dict) else {}
    namespace, name = (str(given.get(field) or "") for field in ("namespace", "name"))
    name = name or prefix_of(obj)
    given_labels = given.get("labels")
    labels = {str(key): str(value) for key, value in (given_labels if isinstance(given_labels, dict) else {}).items()}
    return Row(document.source, document.line, kind_of(document), namespace, name, labels)


def _row(document: Document, obj: Json, options: Options) -> Row:
    row = _begun(document, obj)
    try:
        job = v1_job(obj, document.source, document.line)
    except Invalid as invalid:
        return replace(row, error=f"v1 would reject it: {invalid}.")
    try:
        return examined(row, job, options)
    except Exception as error:
        return replace(row, error=our_mistake(error))


def our_mistake(error: Exception) -> str:
    """What is said of a job with which this program cannot cope; what is known of all others is said nevertheless."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(last.filename).name}:{last.lineno}"
    return f"It cannot be read: {type(error).__name__}: {error} ({place}). {REPORT_IT}"


REPORT_IT: Final = "That is a mistake of this program: please report it with the job."


def examined(row: Row, job: V1Job, options: Options) -> Row:
    """The row with what is found in the job, and what becomes of that when it is converted."""
    conversion = judged(job, options)
    found, rejected = conversion.findings, conversion.rejected
    return replace(row, verdict=conversion.verdict, findings=found, rejected=rejected, conversion=conversion)
