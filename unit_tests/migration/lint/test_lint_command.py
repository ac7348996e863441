"""`training-operator migrate lint` as it is typed: formats, exit codes, files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from click.testing import CliRunner, Result
from e2e.support.paths import ROOT
from unit_tests.migration.lint.jobs import Json, alike, pytorch, train_job

from training_migration.cli import migrate

ALONE = alike(command=["python3", "train.py"])
CLEAN = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}}


def run(*arguments: str | Path, stdin: str = "", manner: str = "--as-it-is") -> Result:
    return CliRunner().invoke(migrate, ["lint", "--target", "2.3", manner, *map(str, arguments)], input=stdin)


def write(path: Path, *objects: Json) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump_all(objects, sort_keys=False))
    return path


def test_text_names_file_line_rule_and_remedy(tmp_path: Path) -> None:
    file = write(tmp_path / "job.yaml", CLEAN, ALONE)
    result = run(file)
    assert result.exit_code == 1
    lines = result.stdout.splitlines()
    first = next(at for at, line in enumerate(lines) if "MIG101" in line)
    place, _, message = lines[first].partition(": ")
    line = int(place.removeprefix(f"{file}:"))
    assert file.read_text().splitlines()[line - 1].strip().startswith("command:")
    assert message.startswith("error MIG101: python reads rank and world size")
    assert lines[first + 1].strip().startswith("Start with `torchrun train.py`")
    assert lines[-1] == "2 errors, 1 warning, 2 infos"


def test_what_convert_fixes_is_reported_apart_from_what_is_left_to_people(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text('import os\nport = 23456\nos.environ["RANK"]\n')
    file = write(tmp_path / "job.yaml", ALONE)
    result = run(file, script, manner="--after-convert")
    assert result.exit_code == 0
    assert result.stdout == run(file, script, manner="--format=text").stdout, "that is the default"
    *shown, mended, of_script, total = result.stdout.splitlines()
    assert mended.startswith(f"{file}: fixed by `convert`: MIG101, ")
    assert of_script == f"{script}: fixed by `convert`: MIG117"
    assert total.startswith("0 errors, 1 warning, ")
    assert total.endswith(f"; {(mended + of_script).count('MIG')} more fixed by `convert`")
    assert not any("MIG101" in line for line in shown)
    assert any("train.py:2: warning MIG106" in line for line in shown)
    content = json.loads(run(file, "--format", "json", manner="--after-convert").stdout)
    assert {each["id"]: each["fixed"] for each in content["findings"]}["MIG101"] is True
    assert content["summary"]["error"] == 0
    assert "MIG101" not in run(file, "--format", "sarif", manner="--after-convert").stdout
    assert "MIG101" not in run(file, "--format", "junit", manner="--after-convert").stdout


def test_nothing_is_mended_in_a_job_that_is_not_converted(tmp_path: Path) -> None:
    long = {**ALONE, "metadata": {**ALONE["metadata"], "name": "j" * 50}}
    result = run(write(tmp_path / "job.yaml", long), manner="--after-convert")
    assert result.exit_code == 1
    assert "error MIG101" in result.stdout
    assert "error MIG003" in result.stdout


@pytest.mark.parametrize(("fail_on", "code"), [("error", 0), ("warning", 1), ("info", 1), ("never", 0)])
def test_the_exit_code_follows_fail_on(fail_on: str, code: int, tmp_path: Path) -> None:
    assert run(write(tmp_path / "job.yaml", pytorch()), "--fail-on", fail_on).exit_code == code


def test_the_naive_conversion_is_an_error(tmp_path: Path) -> None:
    trainer = {"numNodes": 2, "image": "example.com/mnist", "command": ["python3", "mnist.py"]}
    file = write(tmp_path / "v2.yaml", train_job(trainer, runtimeRef={"name": "torch-distributed"}))
    result = run(file, "--format", "json")
    assert result.exit_code == 1
    content = json.loads(result.stdout)
    assert content["schema"] == "migrate.lint/1"
    assert content["summary"] == {"error": 1, "warning": 0, "info": 0}
    (only,) = content["findings"]
    assert (only["id"], only["source"], only["path"], only["line"]) == ("MIG101", str(file), "spec.trainer.command", 12)
    assert set(only) == {
        "id",
        "severity",
        "source",
        "line",
        "path",
        "message",
        "remedy",
        "reference",
        "converted",
        "fixed",
    }


def test_the_page_shows_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs" / "migration" / "lint.md").read_text()
    (job,) = re.findall(r"```yaml\n(apiVersion: trainer.*?)```", page, re.DOTALL)
    (shown,) = re.findall(
        r"\$ training-operator migrate lint --target 2.3 mnist.yaml mnist.py\n(.*?)```", page, re.DOTALL
    )
    monkeypatch.chdir(tmp_path)
    Path("mnist.yaml").write_text(job)
    Path("mnist.py").write_text('import os\n\nimport torch\n\nWORLD_SIZE = int(os.environ.get("WORLD_SIZE", 1))\n')
    assert run("mnist.yaml", "mnist.py").stdout == shown


def test_sarif_has_rules_levels_and_lines(tmp_path: Path) -> None:
    result = run(write(tmp_path / "a job.yaml", ALONE), "--format", "sarif")
    content = json.loads(result.stdout)
    assert content["version"] == "2.1.0"
    (only,) = content["runs"]
    rules = only["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == sorted({each["ruleId"] for each in only["results"]})
    for each in only["results"]:
        assert rules[each["ruleIndex"]]["id"] == each["ruleId"]
        assert each["level"] in ("error", "warning", "note")
        location = each["locations"][0]["physicalLocation"]
        assert location["artifactLocation"]["uri"].endswith("/a%20job.yaml")
        assert location["region"]["startLine"] >= 1


def test_junit_has_a_failure_for_each_finding_that_is_more_than_worth_knowing(tmp_path: Path) -> None:
    result = run(write(tmp_path / "a&b.yaml", ALONE), "--format", "junit")
    suites = ElementTree.fromstring(result.stdout)
    (suite,) = suites
    assert suite.get("name") == str(tmp_path / "a&b.yaml")
    assert (suite.get("tests"), suite.get("failures")) == ("5", "3")
    assert len(suite.findall("testcase/failure")) == 3


def test_folders_standard_input_scripts_and_scans(tmp_path: Path) -> None:
    write(tmp_path / "jobs" / "a.yaml", ALONE)
    script = tmp_path / "train.py"
    script.write_text('import os, torch\nsize = os.environ.get("WORLD_SIZE", 1)\n')
    pipeline = tmp_path / "ci" / ".github" / "ci.yml"
    pipeline.parent.mkdir(parents=True)
    pipeline.write_text("steps:\n- run: kubectl wait --for=condition=Succeeded pytorchjob/x\n")
    result = run(tmp_path / "jobs", "-", script, "--scan", tmp_path / "ci", stdin=yaml.safe_dump(ALONE))
    assert result.exit_code == 1
    for place in (f"{tmp_path}/jobs/a.yaml:", "-:", f"{script}:2: error MIG102", f"{pipeline}:2: error MIG403"):
        assert any(line.startswith(place) for line in result.stdout.splitlines()), place


def test_the_folder_of_the_image_shows_what_it_starts(tmp_path: Path) -> None:
    job = write(tmp_path / "job.yaml", alike(command=None))
    assert "MIG112" in run(job).stdout
    (tmp_path / "image").mkdir()
    (tmp_path / "image" / "Dockerfile").write_text('FROM x\nENTRYPOINT ["python", "train.py"]\n')
    (tmp_path / "image" / "train.py").write_text('import os, torch\nos.environ["RANK"]\n')
    shown = run(job, "--context", tmp_path / "image").stdout
    assert "MIG112" not in shown and "MIG101" in shown and "train.py:2: error MIG117" in shown
    configuration = tmp_path / "image.json"
    configuration.write_text('{"config": {"Entrypoint": ["torchrun", "train.py"]}}')
    shown = run(job, "--image-config", configuration).stdout
    assert "MIG112" not in shown and "MIG101" not in shown


def test_a_baseline_hides_what_is_known_and_shows_what_is_new(tmp_path: Path) -> None:
    job, known = write(tmp_path / "job.yaml", ALONE), tmp_path / "baseline.json"
    assert run(job, "--write-baseline", known).exit_code == 1
    result = run(job, "--baseline", known)
    assert (result.exit_code, result.stdout) == (0, "0 errors, 0 warnings, 0 infos\n")
    write(job, CLEAN, ALONE, train_job(None, runtimeRef={"name": "torch-distributed"}))
    result = run(job, "--baseline", known)
    assert result.exit_code == 1
    assert "MIG501" in result.stdout and "MIG301" not in result.stdout


def test_input_that_cannot_be_used_ends_with_2_and_a_sentence(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [\n")
    result = run(broken, write(tmp_path / "job.yaml", ALONE))
    assert result.exit_code == 2
    assert result.stderr.startswith(f"{broken}:")
    assert "MIG101" in result.stdout
    assert run(tmp_path / "absent.yaml").exit_code == 2
    known = tmp_path / "known.json"
    known.write_text("{}")
    result = run(tmp_path / "job.yaml", "--baseline", known)
    assert (result.exit_code, result.stderr) == (2, f"Error: {known}: is no baseline: --write-baseline makes one.\n")
    config = tmp_path / "config.json"
    config.write_text("x")
    assert run(tmp_path / "job.yaml", "--image-config", config).stderr == f"Error: {config}: is not JSON.\n"


def test_nothing_to_look_at_is_said(tmp_path: Path) -> None:
    result = run(write(tmp_path / "x.yaml", CLEAN))
    assert (result.exit_code, result.stderr) == (0, "No job of v1, runtime or TrainJob among 1 objects.\n")


def test_values_of_variables_are_not_shown(tmp_path: Path) -> None:
    secret = alike(command=["python", "t.py"], env=[{"name": "TOKEN", "value": "geheim-worker-0:23456 host"}])
    for style in ("text", "json", "sarif", "junit"):
        assert "geheim" not in run(write(tmp_path / "x.yaml", secret), "--format", style).stdout
