"""The tables of docs/compatibility.md: what ran is a number, what did not is empty."""

from e2e.support.documentation.compatibility import compatibility, recorded

RUN = {"subject": "Kueue", "version": "0.18", "exact": "v0.18.2", "date": "2026-01-02", "passed": 4, "failed": 0}


def test_a_run_is_a_cell_and_the_rest_is_empty() -> None:
    other = {**RUN, "what": "more", "version": "0.17", "exact": "v0.17.5", "date": "2026-01-01", "failed": 2}
    lines = compatibility([{**RUN, "what": "queues"}, other]).splitlines()
    assert lines[0] == "| Kueue | exactly | queues | more | run on |"
    assert lines[2:4] == [
        "| 0.18 | v0.18.2 | 4 passed |  | 2026-01-02 |",
        "| 0.17 | v0.17.5 |  | **2 failed**, 4 passed | 2026-01-01 |",
    ]
    assert "| 3.14 |  |  |" in lines


def test_every_run_is_kept_once_with_all_that_the_tables_show() -> None:
    runs = recorded()
    assert len({(run["subject"], run["version"], run["what"]) for run in runs}) == len(runs)
    assert all(run.keys() == {*RUN, "what"} and run["passed"] + run["failed"] > 0 for run in runs)
