"""Verdicts of `migrate survey` as a column and as a page: the same function, computed once, when asked for."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from unit_tests.console.served import Served, served

from training_console.reading import verdicts
from training_migration.cluster import read_cluster
from training_migration.convert.conversion import Options
from training_migration.survey import rows
from training_migration.targets import NEWEST

LONG = "a-name-that-is-too-long-for-the-pods-of-trainer-two"


@pytest.fixture
async def console(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path) as console:
        await console.job("plain")
        await console.job(LONG)
        yield console


@pytest.fixture
def judgements(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the jobs that were judged."""
    names: list[str] = []
    judged = verdicts.judged

    def counted(stored: dict[str, Any], workload: dict[str, Any] | None) -> verdicts.Judged:
        names.append(stored["metadata"]["name"])
        return judged(stored, workload)

    monkeypatch.setattr(verdicts, "judged", counted)
    monkeypatch.setattr(verdicts, "PATIENCE_SECONDS", 20.0)
    return names


async def test_it_is_what_the_survey_of_the_cluster_says(
    console: Served, tmp_path: Path, judgements: list[str]
) -> None:
    def survey() -> dict[str, tuple[str, str]]:
        found = rows(read_cluster(str(tmp_path / "kubeconfig"), "", None), Options(NEWEST), Counter())
        return {row.name: (row.verdict.value if row.verdict else "broken", row.reason) for row in found}

    expected = await asyncio.to_thread(survey)
    assert len(set(expected.values())) == 2, "one that moves, and one in whose way something stands"
    page = await console.text("/fleet/migration")
    assert page.startswith("Migration") and "2 jobs." in page
    for name, (verdict, reason) in expected.items():
        assert f"{name} JAXJob {verdict} {reason}".strip().replace("'", "&#39;") in page
    assert page.index(LONG) < page.index("/ plain"), "what has the most to do comes first"


async def test_the_column_is_there_when_it_is_asked_for(console: Served, judgements: list[str]) -> None:
    assert "Migration Why" not in await console.text("/")
    assert not judgements, "not asked for yet"
    page = await console.text("/?migration=on")
    assert "Migration Why" in page and "needs-work" in page and "Not judged" not in page
    assert sorted(judgements) == sorted([LONG, "plain"])
    await console.text("/?migration=on")
    await console.text("/fleet/migration")
    assert len(judgements) == 2, "each is judged once"


async def test_a_job_is_judged_again_when_it_is_changed_and_not_when_its_status_is(
    console: Served, judgements: list[str]
) -> None:
    path = "/apis/kubeflow.org/v1/namespaces/default/jaxjobs/plain"
    await console.text("/?migration=on&text=plain")
    await console.patch(f"{path}/status", {"status": {"conditions": []}})
    await console.patch(path, {"metadata": {"annotations": {"migrate.training.kubeflow.org/ignore": "MIG000"}}})
    async with asyncio.timeout(20):
        while len(judgements) < 2:
            await console.text("/?migration=on&text=plain")
    assert judgements == ["plain", "plain"]


async def test_a_page_that_is_opened_again_goes_on_where_the_last_one_was_left(
    console: Served, judgements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without scripts a page is opened again and again, and each of them waits for a moment only."""
    judged, asked = verdicts.judged, list[str]()

    def first_only(stored: dict[str, Any], workload: dict[str, Any] | None) -> verdicts.Judged:
        asked.append(stored["metadata"]["name"])
        if len(asked) == 2:
            raise asyncio.CancelledError
        return judged(stored, workload)

    monkeypatch.setattr(verdicts, "judged", first_only)
    assert "2 jobs, 1 of them judged so far." in await console.text("/fleet/migration")
    assert "2 jobs. " in await console.text("/fleet/migration")
    assert len(asked) == 3 and asked[1] == asked[2]


async def test_a_page_does_not_wait_for_verdicts_and_is_told_of_them(
    console: Served, judgements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verdicts, "PATIENCE_SECONDS", 0.0)
    _, body = await console.get("/fleet/migration")
    assert "2 jobs, 0 of them judged so far." in " ".join(body.split())
    since = body.split('data-since="')[1].split('"')[0]
    async with console.changes(f"/fleet/migration?since={since}") as changes:
        names: set[str] = set()
        while len(names) < 3:
            names |= {name for name, _, _ in (await changes.next())["set"]}
    assert "verdicts" in names


async def test_a_page_shows_one_verdict(console: Served, judgements: list[str]) -> None:
    page = await console.text("/fleet/migration?verdict=needs-work")
    assert LONG in page and "/ plain" not in page
