"""What is deployed for lost nodes, and how it is documented."""

from __future__ import annotations

import yaml
from e2e.support.paths import ROOT

DEPLOY = ROOT / "deploy" / "components" / "lost-nodes"


def test_the_permission_that_is_deployed_can_only_read_nodes() -> None:
    rules = [
        rule
        for file in sorted(DEPLOY.glob("*.yaml"))
        for document in yaml.safe_load_all(file.read_text())
        for rule in document.get("rules", [])
    ]
    assert rules == [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "watch"]}]
    named = yaml.safe_load((DEPLOY / "kustomization.yaml").read_text())["resources"]
    assert sorted(named) == sorted(file.name for file in DEPLOY.glob("*.yaml") if file.name != "kustomization.yaml")
    assert "components/lost-nodes" in (ROOT / "docs" / "run-policy.md").read_text()
