"""Whatever tenants write, others keep their objects and rights, and the operator serves everybody (`matrix.py`)."""

from __future__ import annotations

import pytest
from e2e.adversary.matrix import play_all, shortest
from e2e.adversary.oracles import changed, granted, mounted, widened
from e2e.adversary.steps import PATHS, Step
from e2e.adversary.tenants import Account, Key, Object
from e2e.deployment.installation import DEPLOY, render
from e2e.deployment.installation import granted as rules_of
from e2e.harness.cluster import Cluster
from e2e.harness.operator import Operator
from e2e.support import marks

pytestmark = marks.bare  # tenants and operator have the rights of an installation of their own
STEPS = 300
"""With every change; `make weekly` plays thousands with a new seed (`python -m e2e.adversary`)."""


def test_others_keep_objects_and_rights_and_are_served(cluster: Cluster, operator: Operator) -> None:
    told = play_all(cluster, operator, STEPS, seed=1)
    print(told)
    assert told.steps == STEPS


def test_the_matrix_has_every_resource_of_the_operator_s_roles(cluster: Cluster) -> None:
    rules = rules_of(render(cluster, DEPLOY / "overlays" / "standalone"), "ClusterRole", "Role")
    assert {resource for _, resource, _ in rules if "/" not in resource} - PATHS.keys() == set()


def test_of_a_script_that_fails_only_what_it_needs_is_told() -> None:
    script = [Step("a", "delete", "pods", str(number)) for number in range(100)]
    needed = [script[13], script[77]]
    assert shortest(script, lambda steps: not {*map(str, needed)} <= {*map(str, steps)}) == needed


JOB = {"kind": "MPIJob", "name": "x", "uid": "1", "controller": True}
MINE = {"metadata": {"uid": "2", "ownerReferences": [JOB]}}
THEIRS = {"metadata": {"uid": "3"}}
ENTER = {"apiGroups": [""], "resources": ["pods/exec"], "resourceNames": ["w"], "verbs": ["create"]}


def test_what_is_wrong_is_found() -> None:
    key, here = ("configmaps", "c"), Account("a", "tenant")
    assert [*changed({key: THEIRS}, {}, (), "a")] == ["configmaps/c in a is gone"]
    assert "changed" in next(changed({key: THEIRS}, {key: {**THEIRS, "data": {}}}, (), "a"))
    assert [*changed({key: THEIRS}, {}, {key}, "a")] == []
    now: dict[Key, Object] = {("pods", "w"): THEIRS, ("roles", "x"): {**MINE, "rules": [ENTER]}}
    assert "enter pods of others" in next(granted(now, "a"))
    binding = {**MINE, "roleRef": {"kind": "Role", "name": "wide"}}
    assert "not its job's" in next(granted({("rolebindings", "x"): binding, ("roles", "wide"): THEIRS}, "a"))
    pod = {**MINE, "spec": {"volumes": [{"configMap": {"name": "c"}}]}}
    assert "another owner's config map" in next(mounted({("pods", "p"): pod}, {key: THEIRS}, (), "a"))
    wide = frozenset({("*", "*", "", "*")})
    assert "has gained in b" in next(widened({(here, "b"): frozenset()}, {(here, "b"): wide}, ["a", "b"]))
    assert "has lost in b" in next(widened({(here, "b"): wide}, {(here, "b"): frozenset()}, ["a", "b"]))


@pytest.mark.parametrize("resource", ["pods/exec", "pods"])
def test_launchers_may_see_pods_and_enter_some(resource: str) -> None:
    here = Account("a", "x-launcher")
    sees, enters = ("", "pods", "", "get,list,watch"), ("", "pods/exec", "w", "create")
    assert [*widened({(here, "a"): frozenset()}, {(here, "a"): frozenset({sees, enters})}, ["a"])] == []
    everything = frozenset({("", resource, "", "create")})
    assert [*widened({(here, "a"): frozenset()}, {(here, "a"): everything}, ["a"])] != []
