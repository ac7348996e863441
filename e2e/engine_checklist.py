"""Which test proves which rule of the engine: `python -m e2e.engine_checklist` writes `e2e/coverage-of-engine.md`.

The rules are the items E-001 ... of v1's engine, and its known defects K-01 ... with what was decided on them. A test
names what it proves in its own name, its text or its case (`test_e034_...`, `test_e083_to_e085_...`, `(K-03)`). Where
tests say it without a number, `PROVED_BY` names them. An item that v1 is not to be followed in is amended by a defect.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache

from e2e.checklists import ROOT

PAGE = ROOT / "e2e" / "coverage-of-engine.md"
COUNTS = {"E": 150, "K": 67}
DIGITS = {"E": 3, "K": 2}

AMENDED = {
    "E-018": "K-63",
    "E-033": "K-08",
    "E-035": "K-12",
    "E-043": "K-09",
    "E-044": "K-35",
    "E-053": "K-37",
    "E-054": "K-37",
    "E-055": "K-37",
    "E-057": "K-37",
    "E-058": "K-37",
    "E-065": "K-35",
    "E-067": "K-06",
    "E-068": "K-06",
    "E-069": "K-06",
    "E-071": "K-23",
    "E-072": "K-06",
    "E-096": "K-03",
    "E-100": "K-02",
    "E-107": "K-16",
    "E-108": "K-05",
    "E-117": "K-19",
    "E-133": "K-49",
    "E-136": "K-52",
    "E-137": "K-20",
    "E-138": "K-20",
    "E-146": "K-60",
    "E-149": "K-20",
}
"""Items that we do not follow, each with the defect behind it."""

PROVED_BY = {
    "E-001": "unit_tests/api/test_defaults.py::test_worker_of_which_only_the_image_is_given",
    "E-002": "unit_tests/api/test_defaults.py::test_mpi_008_mpi_010_no_workers_unless_asked_for_and_no_port",
    "E-003": "unit_tests/api/test_defaults.py::test_worker_of_which_only_the_image_is_given",
    "E-004": "unit_tests/api/test_defaults.py::test_tf_002_replica_types_get_their_canonical_spelling_and_order",
    "E-005": "unit_tests/api/test_defaults.py::test_tf_003_a_port_of_another_name_does_not_count",
    "E-006": "unit_tests/api/test_defaults.py::test_port_goes_to_the_container_of_the_fixed_name_else_to_the_first",
    "E-007": "e2e/test_crds.py::test_stored_job_has_the_schema_defaults_and_nothing_else",
    "E-008": "e2e/test_admission.py::test_verdict",
    "E-009": "unit_tests/api/test_crds.py::test_columns",
    "E-015": "unit_tests/operator/test_store.py::test_what_is_older_than_known_says_nothing",
    "E-016": "unit_tests/engine/test_life_of_jobs.py::test_a_namesake_of_a_deleted_job_starts_afresh",
    "E-017": "unit_tests/operator/test_store.py::test_a_new_owner_moves_the_record",
    "E-019": "unit_tests/operator/test_queue.py::"
    "test_the_back_off_doubles_up_to_its_end_and_starts_anew_after_a_success",
    "E-020": "unit_tests/operator/test_controller.py::test_many_keys_at_once_each_by_one_worker",
    "E-025": "unit_tests/controllers/test_pytorch.py::test_pt045_the_role_of_the_master",
    "E-046": "unit_tests/engine/test_life_of_jobs.py::test_a_pytorch_job_runs_and_succeeds",
    "E-056": "unit_tests/operator/test_store.py::test_records_are_found_by_name_and_by_owner",
    "E-066": "unit_tests/engine/test_expectations.py::test_nothing_expected_is_satisfied",
    "E-070": "unit_tests/engine/test_expectations.py::test_withdrawn_is_no_longer_expected",
    "E-080": "unit_tests/engine/test_stored_status.py::"
    "test_after_a_conflict_nothing_else_is_done_and_no_one_is_alarmed",
    "E-101": "unit_tests/engine/test_deadlines.py::test_time_in_suspension_does_not_count",
    "E-118": "e2e/test_admission.py::test_verdict",
    "E-119": "e2e/test_admission.py::test_verdict",
    "E-134": "unit_tests/operator/test_cli.py::test_flags_in_go_s_syntax",
    "E-135": "unit_tests/operator/test_cli.py::test_the_defaults_are_v1_s_except_as_decided",
    "E-139": "unit_tests/engine/test_leadership.py::test_only_the_leader_writes",
    "E-140": "e2e/test_admission.py::test_verdict",
    "E-141": "e2e/test_admission.py::test_verdict",
    "E-142": "e2e/test_admission.py::test_verdict",
    "E-143": "unit_tests/engine/test_bad_jobs.py::test_a_broken_job_gets_an_event_and_stops_no_other",
    "E-144": "unit_tests/operator/test_metrics.py::test_job_counters_have_v1_s_names_and_labels",
    "E-150": "unit_tests/operator/test_flow.py::test_a_rate_is_kept_in_the_long_run",
    "K-20": "unit_tests/api/test_admission_table.py::test_the_rules_are_those_of_the_specification",
    "K-23": "unit_tests/engine/test_expectations.py::test_waits_no_longer_than_its_patience",
    "K-24": "unit_tests/engine/test_expectations.py::test_the_object_of_another_job_meets_nothing",
    "K-26": "unit_tests/controllers/test_decide_active.py::"
    "test_e011_e082_the_first_status_says_created_and_starts_the_clock",
    "K-32": "unit_tests/engine/test_life_of_jobs.py::test_services_are_there_before_pods",
    "K-44": "unit_tests/engine/test_gang.py::"
    "test_int072_a_refused_pod_group_is_tried_again_and_no_pod_is_created_meanwhile",
    "K-46": "unit_tests/engine/test_gang.py::"
    "test_int081_int083_scheduler_plugins_without_delay_and_without_touching_the_status",
    "K-51": "unit_tests/operator/test_process.py::test_a_signal_ends_it_in_good_order",
    "K-67": "unit_tests/operator/test_logs.py::test_json_off_a_terminal",
}
"""Tests that show a rule without its number."""

WITHOUT_TEST = {
    "E-147": "the deployment is not part of this yet; the definitions are tested in unit_tests/api/test_crds.py",
    "E-148": "as E-147",
    "K-22": "kept out by design: nothing is adopted (K-37), and services count by owner only",
    "K-52": "there are no webhooks and no certificates (K-20), so nothing waits for them",
    "K-53": "rights, user and resources of the deployment, which is not part of this yet",
    "K-58": "kept as in v1: no finalizers",
    "K-66": "documentation",
}
"""Rules that no test can show, and why."""

MOST_FILES = 2
"""Files given for a rule, so that the page does not change with every test."""

_NAMED = re.compile(r"(?<![a-z\d])(?:(e)[-_]?(\d{3})(?:_to_e(\d{3}))?|(k)[-_]?0?(\d{2})(?!\d))(?!\d)", re.IGNORECASE)


def items() -> list[str]:
    """Every rule, in order."""
    return [f"{sort}-{number:0{DIGITS[sort]}d}" for sort, count in COUNTS.items() for number in range(1, count + 1)]


@cache
def named() -> Mapping[str, set[str]]:
    """The files of tests that name a rule."""
    found: dict[str, set[str]] = defaultdict(set)
    for folder in ("unit_tests", "e2e"):
        for file in sorted((ROOT / folder).rglob("*")):
            if file.suffix == ".yaml" or file.name.startswith("test_"):
                for item in _items_in(file.read_text()):
                    found[item].add(str(file.relative_to(ROOT)))
    return found


def _items_in(text: str) -> Iterator[str]:
    for e, first, last, _, defect in _NAMED.findall(text):
        if e:
            yield from (f"E-{number:03d}" for number in range(int(first), int(last or first) + 1))
        else:
            yield f"K-{defect}"


def exists(test: str) -> bool:
    """Whether there is a test of this name, given as `file::name`."""
    file, _, name = test.partition("::")
    path = ROOT / file
    return path.is_file() and re.search(rf"def {name}\(", path.read_text()) is not None


def answer(item: str) -> str:
    """What proves the rule, or why nothing does; empty if nobody has thought of it."""
    found = sorted(named().get(item, ()))
    files = ", ".join(f"`{file}`" for file in found[:MOST_FILES]) + (" ..." if len(found) > MOST_FILES else "")
    if item in AMENDED:
        return f"amended by {AMENDED[item]}" + (f"; {files}" if files else "")
    proof = f"`{PROVED_BY[item]}`" if item in PROVED_BY else ""
    return "; ".join(part for part in (proof, files) if part) or WITHOUT_TEST.get(item, "")


def page() -> str:
    """The text of the page."""
    lines = [
        "# Coverage of the engine's rules",
        "",
        "Generated by `python -m e2e.engine_checklist`. E-001 ... are the items of v1's engine, K-01 ... its known",
        "defects, as mended, by number.",
        "",
        f"{len(items()) - len(AMENDED) - len(WITHOUT_TEST)} of {len(items())} are shown by tests, {len(AMENDED)} items "
        f"are amended by a defect, {len(WITHOUT_TEST)} say why there is no test.",
        "",
        "| rule | tests, or why there is none |",
        "|---|---|",
        *(f"| {item} | {answer(item) or '**missing**'} |" for item in items()),
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
