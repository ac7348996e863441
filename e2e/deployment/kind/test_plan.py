"""What holds of `python -m e2e.deployment.kind` without kind: commands, files, and whether the jobs are accepted."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from e2e.deployment.kind.__main__ import BUILT, LEFT_OUT, main, sleeping, use
from e2e.harness.cluster import Cluster
from e2e.harness.jobs import PLURALS
from e2e.support.every_kind import PLUGIN
from e2e.support.paths import ROOT

OF_SIX_KINDS = sorted(each for each in (ROOT / "examples").glob("*/*.yaml") if each.parent != PLUGIN)


def test_the_plan_names_files_that_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--print"])
    words = [line.removeprefix("$ ").split() for line in capsys.readouterr().out.splitlines()]
    assert (words[0][:3], words[-1][:3]) == (["kind", "create", "cluster"], ["kind", "delete", "cluster"])
    for flag in ("--file", "--config", "-k"):
        named = [line[line.index(flag) + 1] for line in words if flag in line]
        for path in named:
            assert (ROOT / path).exists() or "github.com" in path, path
    jobs = len(list((ROOT / "examples").glob("*/*.yaml"))) - len(LEFT_OUT)
    assert sum("--timeout=1200s" in line for line in words) == jobs


@pytest.mark.parametrize("kind", PLURALS)
def test_jobs_for_the_upgrade_are_accepted(cluster: Cluster, kind: str) -> None:
    cluster.send("apply", sleeping(kind), options=["--dry-run=server"])


@pytest.mark.parametrize("file", OF_SIX_KINDS, ids=lambda file: file.name)
def test_examples_are_accepted_with_the_images_built_for_them(cluster: Cluster, file: Path) -> None:
    objects = list(yaml.safe_load_all(file.read_text()))
    [job] = [each for each in objects if each["kind"] in PLURALS]
    use(job, BUILT.get(file.parent.name, "example.com/any:1"))
    cluster.send("apply", *objects, options=["--dry-run=server"])
