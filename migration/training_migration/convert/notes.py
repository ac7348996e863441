"""What a conversion has to say, gathered while it is made."""

from __future__ import annotations

from training_migration.findings import Finding, Severity
from training_migration.rules import found


class Notes:
    """The findings of one conversion, each once, in the order in which they came."""

    def __init__(self, source: str = "", line: int = 0) -> None:
        self._source, self._line = source, line
        self._findings: dict[Finding, None] = {}
        self.rejections: list[str] = []
        """Why the result must not be applied, one sentence each."""

    def add(
        self, rule: str, message: str, path: str = "", *, fixed: bool = False, severity: Severity | None = None
    ) -> None:
        """Note what the rule with this id finds at this field of the v1 job."""
        finding = found(rule, message, path, source=self._source, line=self._line, severity=severity, fixed=fixed)
        self._findings[finding] = None

    def reject(self, rule: str, message: str, path: str = "") -> None:
        """Note something because of which the result must not be applied."""
        self.add(rule, message, path, severity=Severity.ERROR)
        self.rejections.append(message)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All of them."""
        return tuple(self._findings)
