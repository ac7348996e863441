"""What GitHub runs: lines that their programs take, actions pinned by commit, and no permission without its need."""

import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2e.support.documentation.command_lines import Reader
from e2e.support.documentation.options import Wrong
from e2e.support.paths import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").iterdir())
OURS = re.compile(r"(?:\.venv/bin/)?(?:training-operator|python -m e2e|make)\b")
OTHERS = {"bash", "docker", "echo", "gh", "git", "go", "grep", "mv", "pip", "sudo", "tar"}
"""Programs of GitHub's machines; of these only the name is looked at."""
VARIABLES = {
    "TAG": "v0.1.0",
    "IMAGE": "ghcr.io/owner/training-operator",
    "GITHUB_REPOSITORY": "owner/training-operator",
}
NEEDS = {
    "packages": "docker buildx build .* --push",
    "id-token": r'"\$\(go env GOPATH\)/bin/cosign" sign|attest-build-provenance',
    "attestations": "attest-build-provenance",
    "contents": "gh release create",
}
"""What a job does that may write this."""


def jobs(file: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(file.read_text())["jobs"])


def lines(job: dict[str, Any]) -> Iterator[str]:
    """Each line that a job runs, for each value of its matrix."""
    matrix = job.get("strategy", {}).get("matrix", {})
    for values in itertools.product(*matrix.values()):
        for step in job["steps"]:
            text = step.get("run", "").replace("\\\n", " ")
            for name, value in zip(matrix, values, strict=True):
                text = text.replace(f"${{{{ matrix.{name} }}}}", str(value))
            for name, value in VARIABLES.items():
                text = text.replace(f'"${name}"', value)
            yield from filter(None, (line.strip() for line in text.splitlines()))


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_every_line_is_one_that_its_program_takes(file: Path) -> None:
    reader = Reader({"dist", "told"})
    for line in itertools.chain.from_iterable(map(lines, jobs(file).values())):
        for command in re.split(r" (?:&&|\|) ", line.removeprefix("! ")):
            program = command.split()[0]
            if OURS.match(command):
                try:
                    reader.read(command)
                except Wrong as error:
                    pytest.fail(f"{file.name}: {command}: {error}", pytrace=False)
            else:
                assert program in OTHERS or "/bin/cosign" in program or re.match(r"\w+=|\"\$\(go", program), command


def test_a_line_with_a_mistake_is_found() -> None:
    job = {"strategy": {"matrix": {"target": ["lint", "lnit"]}}, "steps": [{"run": "make ${{ matrix.target }}"}]}
    good, bad = lines(job)
    Reader().read(good)
    with pytest.raises(Wrong, match="lnit"):
        Reader().read(bad)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_every_action_is_pinned_by_commit_and_keeps_no_credentials(file: Path) -> None:
    text = file.read_text()
    assert re.findall(r"uses: (?!\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+\n).*", text) == []
    checkouts = [step for job in jobs(file).values() for step in job["steps"] if "checkout@" in step.get("uses", "")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: file.name)
def test_a_job_may_write_what_it_writes_and_nothing_else(file: Path) -> None:
    assert yaml.safe_load(file.read_text())["permissions"] == {"contents": "read"}
    for name, job in jobs(file).items():
        written = {what for what, right in job.get("permissions", {}).items() if right == "write"}
        text = yaml.safe_dump(job, width=1000)
        needed = {what for what, need in NEEDS.items() if re.search(need, text.replace("\\\n", " "), re.DOTALL)}
        assert written == needed, name
        assert "timeout-minutes" in job, name


def test_scripts_that_are_run_are_there() -> None:
    scripts = re.findall(r"bash (\.\S+)", "".join(file.read_text() for file in WORKFLOWS))
    assert scripts
    assert [script for script in scripts if not (ROOT / script).is_file()] == []
