"""The comparison sees every change of a recording, and only that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from e2e.conformance.__main__ import merged
from e2e.conformance.case import pod_status
from e2e.conformance.compare import ABSENT, Deviations, Difference, Rule, differences
from e2e.conformance.snapshot import scrub

HERE = Path(__file__).parent


def golden(name: str = "pt-simple-success") -> dict[str, Any]:
    content: dict[str, Any] = json.loads((HERE / "golden" / f"{name}.json").read_text())
    return content


def test_a_changed_leaf_is_found_by_the_name_of_its_object() -> None:
    ours = golden()
    pod = next(p for p in ours["snapshots"][0]["state"]["pods"] if p["metadata"]["name"].endswith("master-0"))
    variable = next(v for v in pod["spec"]["containers"][0]["env"] if v["name"] == "RANK")
    variable["value"] = "7"
    found = differences(golden(), ours)
    name = pod["metadata"]["name"]
    path = f"pods/{name}/spec/containers/pytorch/env/RANK/value"
    assert found == [Difference("created", path, "0", "7")]


def test_order_matters_for_conditions_and_not_for_names() -> None:
    ours = golden()
    state = ours["snapshots"][-1]["state"]
    state["pods"].reverse()
    state["services"].reverse()
    assert differences(golden(), ours) == []
    state["job"]["status"]["conditions"].reverse()
    assert [d.path for d in differences(golden(), ours)] == ["job/status/conditions#order"]


def test_missing_additional_and_empty_values_differ() -> None:
    ours = golden()
    state = ours["snapshots"][0]["state"]
    lost = state["events"].pop()
    state["pods"] = []
    del state["job"]["status"]["startTime"]
    state["job"]["status"]["waiting"] = {}
    found = {d.path: (d.golden, d.ours) for d in differences(golden(), ours) if not d.path.startswith("pods/")}
    assert found == {
        f"events/{' | '.join(lost)}": (True, ABSENT),
        "pods": (ABSENT, []),
        "job/status/startTime": ("<time>", ABSENT),
        "job/status/waiting": (ABSENT, {}),
    }


def test_volatile_leaves_are_not_compared() -> None:
    wanted, ours = golden(), golden()
    ours["snapshots"][0]["state"]["job"]["status"]["startTime"] = "never"
    assert len(differences(wanted, ours)) == 1
    wanted["volatile"] = [["created", "job/status/startTime"]]
    assert differences(wanted, ours) == []


def test_leaves_in_which_runs_of_one_operator_differ_are_volatile() -> None:
    other = golden()
    other["snapshots"][0]["state"]["job"]["status"]["startTime"] = "never"
    record = merged([golden(), golden(), other])
    assert record == golden() | {"volatile": [["created", "job/status/startTime"]]}
    assert differences(record, other) == []


def test_lost_snapshots_and_verdicts_are_found() -> None:
    ours = golden() | {"snapshots": [], "rejected": True}
    paths = {d.path for d in differences(golden(), ours)}
    assert {"rejected", "steps"} <= paths


def test_a_rule_explains_its_value_only() -> None:
    seen = Difference("2 done", "job/status/waiting/reason", ABSENT, "Quota")
    gone = Difference("2 done", "job/status/startTime", "<time>", ABSENT)

    def explained(difference: Difference, **rule: Any) -> bool:
        deviations = Deviations([Rule.parse({"case": "pt-*", "why": "K-30", "path": "job/status/*", **rule})])
        open_ = deviations.unexplained("pt-ttl", [difference])
        assert (deviations.unused() == []) == (open_ == [])
        return open_ == []

    assert explained(seen)
    assert explained(seen, ours="Quota", step="2 *")
    assert explained(gone, absent=True)
    assert not explained(seen, ours="ImagePull")
    assert not explained(seen, step="1 *")
    assert not explained(seen, absent=True)
    assert not explained(gone, ours="<time>")
    assert not explained(seen, case="jax-*")
    assert not explained(seen, path="job/spec/*")


@pytest.mark.parametrize("raw", [{"case": "*", "path": "*"}, {"case": "*", "path": "*", "why": "K-30", "hours": 1}])
def test_a_rule_with_wrong_keys_is_rejected(raw: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="keys"):
        Rule.parse(raw)


def test_scrubbing_replaces_what_differs_from_run_to_run() -> None:
    raw = {
        "metadata": {"uid": "1-2", "resourceVersion": "5", "name": "x-ns-1", "managedFields": []},
        "spec": {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]},
        "at": "2026-01-01T00:00:00.123Z",
        "host": "x.ns-1.svc",
    }
    assert scrub(raw, "ns-1") == {
        "metadata": {"uid": "<uid>", "name": "x-<ns>"},
        "spec": {},
        "at": "<time>",
        "host": "x.<ns>.svc",
    }
    assert scrub({"clusterIP": "None"}, "ns-1") == {"clusterIP": "None"}


def test_pod_status_of_a_failed_pod_blames_the_first_container() -> None:
    pod = {"spec": {"containers": [{"name": "main", "image": "a:1"}, {"name": "sidecar", "image": "b:1"}]}}
    status = pod_status(pod, {"phase": "Failed", "exitCode": 137, "reason": "OOMKilled", "restartCount": 2})
    ends = {c["name"]: c["state"]["terminated"] for c in status["containerStatuses"]}
    assert (ends["main"]["exitCode"], ends["main"]["reason"]) == (137, "OOMKilled")
    assert (ends["sidecar"]["exitCode"], ends["sidecar"]["reason"]) == (0, "OOMKilled")
    assert {c["restartCount"] for c in status["containerStatuses"]} == {2}
