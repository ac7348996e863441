"""`training-operator migrate convert`: what it writes, what it says, how it ends."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from unit_tests.migration.conversions import Json, converted, jax, pytorch

from training_migration.choices import NoteStyle
from training_migration.cli import migrate
from training_migration.convert.files import write_whole
from training_migration.convert.writer import yaml_text


def run(*arguments: str, given: str | None = None) -> Result:
    return CliRunner().invoke(migrate, ["convert", *arguments, "--target", "2.3"], input=given)


def written(path: Path, *objects: Json) -> str:
    path.write_text(yaml.safe_dump_all(objects))
    return str(path)


def named(obj: Json, **metadata: Any) -> Json:
    return {**obj, "metadata": {**obj["metadata"], **metadata}}


def test_standard_input_to_standard_output(tmp_path: Path) -> None:
    result = run("-", given=json.dumps({"apiVersion": "v1", "kind": "List", "items": [jax(), pytorch()]}))
    assert result.exit_code == 0, result.output
    kinds = [each["kind"] for each in yaml.safe_load_all(result.stdout)]
    assert kinds == ["TrainingRuntime", "TrainingRuntime", "TrainJob", "TrainJob"]
    assert "JAXJob job: exact" in result.stderr


def test_a_folder_gets_a_file_per_job_in_its_namespace(tmp_path: Path) -> None:
    given = written(tmp_path / "jobs.yaml", jax(), pytorch(), {"apiVersion": "v1", "kind": "Secret"})
    result = run(given, "-o", str(tmp_path / "v2"))
    assert result.exit_code == 0
    files = sorted(str(each.relative_to(tmp_path / "v2")) for each in (tmp_path / "v2").rglob("*") if each.is_file())
    assert files == ["job.yaml", "team/job.yaml"]
    assert "Ignored: 1 v1 Secret." in result.stderr


def test_the_output_mirrors_the_folders_of_the_input(tmp_path: Path) -> None:
    for place in ("base/jobs.yaml", "overlays/prod/jobs.yaml"):
        (tmp_path / "in" / place).parent.mkdir(parents=True)
        written(tmp_path / "in" / place, jax(), pytorch())
    written(tmp_path / "in" / "base" / "other.json", named(jax(), name="other"))
    result = run(str(tmp_path / "in"), "-o", str(tmp_path / "v2"), "--notes", "file")
    assert result.exit_code == 0, result.output
    files = sorted(str(each.relative_to(tmp_path / "v2")) for each in (tmp_path / "v2").rglob("*.yaml"))
    own = ["base/jobs.yaml", "base/other.yaml", "overlays/prod/jobs.yaml"]
    assert files == [*own, "runtimes/jax-no-restart.yaml", "runtimes/torch.yaml"]
    kinds = [each["kind"] for each in yaml.safe_load_all((tmp_path / "v2" / files[2]).read_text())]
    assert kinds == ["TrainJob"] * 2
    assert "MIG101" in (tmp_path / "v2" / "base" / "jobs.notes.txt").read_text()


def test_jobs_of_two_kinds_and_one_name_in_two_files_are_still_one_too_many(tmp_path: Path) -> None:
    written(tmp_path / "a.yaml", named(jax(), namespace="team"))
    written(tmp_path / "b.yaml", pytorch())
    result = run(str(tmp_path), "-o", str(tmp_path / "v2"))
    assert result.exit_code == 4
    assert [each.name for each in (tmp_path / "v2").glob("*.yaml")] == ["a.yaml"]


def test_the_same_once_more_changes_nothing(tmp_path: Path) -> None:
    given, target = written(tmp_path / "jobs.yaml", jax()), tmp_path / "v2"
    run(given, "-o", str(target))
    before = (target / "job.yaml").stat()
    run(given, "-o", str(target))
    after = (target / "job.yaml").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_what_is_converted_is_left_alone_the_next_time(tmp_path: Path) -> None:
    run(written(tmp_path / "jobs.yaml", jax()), "-o", str(tmp_path / "v2"))
    result = run(str(tmp_path / "v2"), "-o", str(tmp_path / "v3"))
    assert result.exit_code == 2
    assert "there is no v1 job" in result.stderr
    assert not (tmp_path / "v3").exists()


def test_notes_in_a_file_of_their_own(tmp_path: Path) -> None:
    given = written(tmp_path / "jobs.yaml", pytorch())
    run(given, "-o", str(tmp_path), "--notes", "file")
    assert "MIG101" in (tmp_path / "team" / "job.notes.txt").read_text()
    assert not (tmp_path / "team" / "job.yaml").read_text().startswith("#")
    assert run(given, "--notes", "file").exit_code == 2


def test_a_job_that_v2_would_reject_is_not_written_but_the_others_are(tmp_path: Path) -> None:
    given = written(tmp_path / "jobs.yaml", named(jax(), name="j" * 50), jax())
    result = run(given, "-o", str(tmp_path / "v2"))
    assert result.exit_code == 4
    assert "at most 48 are possible" in result.stderr
    assert [each.name for each in (tmp_path / "v2").iterdir()] == ["job.yaml"]


def test_broken_input_is_reported_with_its_place_and_the_rest_is_converted(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: [")
    written(tmp_path / "b.yaml", jax(), named({**jax(), "spec": {}}, name="other"))
    result = run(str(tmp_path), "-o", str(tmp_path / "v2"))
    assert result.exit_code == 2
    assert "a.yaml:" in result.stderr
    assert "JAXJob other would be rejected by v1" in result.stderr
    assert (tmp_path / "v2" / "b.yaml").exists()


def test_two_jobs_cannot_become_one_train_job(tmp_path: Path) -> None:
    given = written(tmp_path / "jobs.yaml", named(jax(), namespace="team"), pytorch())
    result = run(given, "-o", str(tmp_path / "v2"))
    assert result.exit_code == 4
    assert "JAXJob team/job becomes the TrainJob job already" in result.stderr


def test_without_diffs_the_same_is_written_and_pods_are_not_compared(tmp_path: Path) -> None:
    given = written(tmp_path / "jobs.yaml", jax())
    compared, plain = run(given), run(given, "--no-diffs")
    assert plain.stdout == compared.stdout
    assert plain.stderr == compared.stderr.replace("pods: equivalent with compat env", "pods: not compared")
    assert plain.stderr != compared.stderr


def test_one_name_is_for_one_job(tmp_path: Path) -> None:
    given = written(tmp_path / "jobs.yaml", jax(), pytorch())
    assert run(given, "--name", "x").exit_code == 2


def elastic() -> Json:
    obj = pytorch(2, master=False, command=["torchrun", "t.py"])
    obj["spec"]["elasticPolicy"] = {"minReplicas": 1, "maxReplicas": 3}
    return obj


@pytest.mark.parametrize(
    ("obj", "arguments", "code"),
    [
        (elastic(), ["--strict"], 3),
        (elastic(), [], 1),
        (elastic(), ["--fail-on", "never"], 0),
        (pytorch(), ["--compat-env", "never"], 1),
        (pytorch(), ["--fail-on", "warning"], 0),
        (pytorch(policy={"ttlSecondsAfterFinished": 1}), ["--fail-on", "warning"], 1),
        (pytorch(policy={"ttlSecondsAfterFinished": 1}), ["--ttl", "keep"], 4),
    ],
)
def test_exit_codes(obj: Json, arguments: list[str], code: int, tmp_path: Path) -> None:
    result = run(written(tmp_path / "job.yaml", obj), *arguments)
    assert result.exit_code == code, result.output


def test_a_folder_that_cannot_be_written_is_an_error_and_nothing_more(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    result = run(written(tmp_path / "job.yaml", jax()), "-o", str(tmp_path / "file"))
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.yaml"
    assert write_whole(path, "one")
    assert not write_whole(path, "one")
    assert write_whole(path, "two")
    assert path.read_text() == "two"
    assert stat.S_IMODE(path.stat().st_mode) & 0o400
    assert [each.name for each in path.parent.iterdir()] == ["b.yaml"]


@pytest.mark.parametrize(
    "text", ["1e3", "y", "on", "0o14", "1_000", "null", "~", "2024-01-01", ".5", "=", "a\nb\n", "1:30"]
)
def test_texts_stay_texts(text: str) -> None:
    result = yaml_text(converted(jax(env=[{"name": "A", "value": text}])), NoteStyle.NONE)
    container = next(yaml.safe_load_all(result))["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"][
        "template"
    ]["spec"]["containers"][0]
    assert container["env"] == [{"name": "A", "value": text}]
    assert f'value: "{text}"' in result or "value: |" in result


def test_long_texts_stay_on_their_line() -> None:
    text = "python train.py " + " ".join(f"--option-{number}=1" for number in range(30))
    assert text in yaml_text(converted(jax(command=["sh", "-c", text])))


def test_the_order_of_keys_in_the_input_does_not_matter() -> None:
    obj = pytorch(env=[{"name": "A", "value": "b"}], resources={"limits": {"cpu": 1}})
    turned = json.loads(json.dumps(obj, sort_keys=True))
    back = json.loads(json.dumps(obj), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    assert yaml_text(converted(obj)) == yaml_text(converted(turned)) == yaml_text(converted(back))
