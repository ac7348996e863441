"""What pages take from the code is current, and tables of names have all there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from e2e.support.documentation.__main__ import main
from e2e.support.documentation.environment import sample_job, samples, variables
from e2e.support.documentation.rules import FOLDER, linked
from e2e.support.documentation.sections import GENERATED, SECTIONS, UnknownSection, rendered
from e2e.support.every_kind import EVERY_KIND, every_framework
from e2e.support.paths import ROOT

from training_api import constants
from training_api.registry import KINDS
from training_api.validation import problems
from training_controllers.frameworks.registry import FrameworkOptions, frameworks
from training_controllers.gang.schedulers import gang_scheduler
from training_controllers.model.annotations import COMMON_ANNOTATIONS
from training_controllers.model.owned_objects import MPI_NETWORK_LABEL
from training_controllers.model.plan import NewPod
from training_controllers.reconcile.builders import build_pod

DOCS = ROOT / "docs"
SOURCES = ROOT / "controllers" / "training_controllers" / "frameworks"
FRAMEWORKS = (DOCS / "frameworks.md").read_text()
NAMES = (DOCS / "names.md").read_text()


def test_pages_are_current() -> None:
    assert main(["--check"]) == 0, "run `make pages`"


def test_everything_that_can_be_generated_is_on_a_page() -> None:
    names = [name for page in DOCS.rglob("*.md") for _, name, _ in GENERATED.findall(page.read_text())]
    assert sorted(names) == sorted(SECTIONS)


def test_check_names_what_is_not_current(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- generated: flags -->\nold\n<!-- end of generated -->\nafter\n")
    assert main(["--check"], tmp_path, {}) == 1
    assert capsys.readouterr().err == f"{page} is not current; run `make pages`\n"
    assert main([], tmp_path, {}) == 0
    assert main(["--check"], tmp_path, {}) == 0
    text = page.read_text()
    assert text.startswith("before\n") and text.endswith("after\n") and "--gang-scheduler-name" in text


def test_whole_pages_are_written_renewed_and_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / FOLDER
    folder.mkdir(parents=True)
    (folder / "MIG001.md").write_text("old")
    (folder / "MIG002.md").write_text("of a rule that is gone")
    whole = {f"{FOLDER}/MIG001.md": "new", f"{FOLDER}/MIG003.md": "first"}
    assert main(["--check"], tmp_path, whole) == 1
    assert capsys.readouterr().err.count("is not current") == 3
    assert main([], tmp_path, whole) == 0
    assert {page.name: page.read_text() for page in folder.iterdir()} == {"MIG001.md": "new", "MIG003.md": "first"}


def test_issues_and_addresses_of_references_become_links() -> None:
    assert linked("a/b#1, c/d#2; Pod: https://example.com/x#y; https://example.com; a/b, plugin") == (
        "[a/b#1](https://github.com/a/b/issues/1), [c/d#2](https://github.com/c/d/issues/2); "
        "[Pod](https://example.com/x#y); [https://example.com](https://example.com); a/b, plugin"
    )


def test_an_unknown_section_is_rejected() -> None:
    with pytest.raises(UnknownSection, match="'flag'"):
        rendered("<!-- generated: flag -->\n<!-- end of generated -->")


def test_the_samples_show_every_variable_that_a_framework_can_set() -> None:
    in_sources = {
        name
        for source in SOURCES.rglob("*.py")
        for name in re.findall(r'(?:env|env_from_field)\(\s*"(\w+)"|\{"name": "([A-Z]\w+)"\}', source.read_text())
    }
    shown = {
        name
        for kind in EVERY_KIND
        for sample in samples(kind)
        for slot in sample.shown
        for name in variables(kind, sample, slot)
    }
    # Of init containers, which no page lists; and one of two that an expression chooses from.
    known = {name for pair in in_sources for name in pair if name} - {"TARGET_DIR", "NAMESPACE"}
    assert len(known) > 30
    assert known - shown == set()
    assert shown == {name for framework in every_framework().values() for name in framework.variables}


@pytest.mark.parametrize("scheduler", ["", "volcano", "scheduler-plugins-scheduler"])
@pytest.mark.parametrize("kind", EVERY_KIND)
def test_every_label_and_annotation_of_pods_is_on_the_page(kind: str, scheduler: str) -> None:
    framework = every_framework(FrameworkOptions(gang=gang_scheduler(scheduler)))[kind]
    for sample in samples(kind):
        for slot in sample.shown:
            metadata = build_pod(sample_job(kind, sample), framework, NewPod(slot))["metadata"]
            keys = {*metadata["labels"], *metadata.get("annotations", {})}
            assert {key for key in keys if f"`{key}`" not in NAMES} == set()


def test_every_name_on_the_wire_is_on_the_page() -> None:
    names = {value for key, value in vars(constants).items() if key.endswith(("_LABEL", "_ANNOTATION"))}
    names |= {MPI_NETWORK_LABEL, *constants.MANAGERS}
    assert {name for name in names if f"`{name}`" not in NAMES} == set()


def test_every_annotation_of_jobs_is_on_the_page_with_its_values() -> None:
    section = NAMES.split("## Annotations that you may set on a job")[1]
    rows = dict(re.findall(r"^\| `(extension\.[^`]+)` \| (.*) \|$", section, re.M))
    known = [*COMMON_ANNOTATIONS, *(each for framework in frameworks().values() for each in framework.annotations)]
    assert {extension.annotation for extension in known} == rows.keys()
    for extension in known:
        assert re.findall(r"`\"?([\w-]+)\"?`", re.sub(r"\([^)]*\)", "", rows[extension.annotation])) == [
            *extension.values
        ]


def test_jobs_on_pages_are_accepted() -> None:
    jobs = [
        job
        for page in DOCS.rglob("*.md")
        for text in re.findall(r"^```yaml\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
        for job in yaml.safe_load_all(text)
        if job.get("apiVersion") == constants.API_VERSION
    ]
    assert jobs
    assert [problem for job in jobs for problem in problems(KINDS[job["kind"]], job)] == []


def test_the_table_of_kinds_says_what_is_declared() -> None:
    rows = {
        cells[0]: cells for cells in re.findall(r"^\| (\w+Job) \| (.*) \| (.*) \| (.*) \| .* \|$", FRAMEWORKS, re.M)
    }
    assert rows.keys() == KINDS.keys()
    for kind, info in KINDS.items():
        _, page, types, container = rows[kind]
        assert container == (f"`{info.container}`" if info.services else "the first one")
        assert set(types.split(", ")) <= set(info.replica_types)
        assert f"environment of {kind} " in (DOCS / re.findall(r"\((frameworks/\w+\.md)\)", page)[0]).read_text()
