"""The roles of an installation, from the manifests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from e2e.support.documentation.table import code, table
from e2e.support.paths import ROOT

ROLES: Final = ("Role", "ClusterRole")


def permissions() -> str:
    """One table for each role, in the order of files: those of all installations, of components, of users."""
    deploy = ROOT / "deploy"
    files = [
        *sorted((deploy / "base").glob("permissions*.yaml"), key=lambda file: file.stem),
        *sorted((deploy / "components").glob("*/rbac.yaml")),
        *sorted((deploy / "overlays").glob("*/user-roles.yaml")),
    ]
    return "\n\n".join(part for file in files for part in _parts(file))


def _parts(file: Path) -> Iterator[str]:
    for manifest in yaml.safe_load_all(file.read_text()):
        if manifest["kind"] in ROLES:
            yield f"### {manifest['metadata']['name']}"
            yield f"{manifest['kind']}, in `{file.relative_to(ROOT)}`."
            if "aggregationRule" in manifest:
                labels = manifest["aggregationRule"]["clusterRoleSelectors"][0]["matchLabels"]
                yield f"Collects the roles with label {code(next(iter(labels)))}."
            else:
                yield table(("API group", "resources", "verbs"), map(_row, manifest["rules"]))


def _row(rule: Mapping[str, Any]) -> tuple[str, str, str]:
    names = f", only {_list(rule['resourceNames'])}" if "resourceNames" in rule else ""
    groups = ", ".join(code(group) if group else "core" for group in rule["apiGroups"])
    return groups, _list(rule["resources"]) + names, _list(rule["verbs"])


def _list(words: list[str]) -> str:
    return ", ".join(code(word) for word in words)
