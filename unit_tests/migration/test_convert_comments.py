"""Comments of the source stay at the lines that stay; notes stand at the lines that they are about."""

from __future__ import annotations

import re
from pathlib import Path

import yaml
from click.testing import CliRunner
from unit_tests.migration.conversions import pytorch

from training_migration.cli import migrate

JOB = """\
# Copyright somebody
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: mnist  # the name
  namespace: team-a
  annotations:
    # resume after hardware failures
    sagemaker.amazonaws.com/enable-job-auto-resume: "true"
spec:
  elasticPolicy: {minReplicas: 1, maxReplicas: 4, rdzvBackend: c10d}
  pytorchReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: OnFailure
      template:
        spec:
          # where the data is
          nodeSelector:
            zone: a  # same as the bucket
          containers:
          - name: pytorch
            image: example.com/mnist:1  # built nightly
            command:
            - bash
            - -c
            - |
              # not a comment of YAML
              torchrun --nproc_per_node=1 --node_rank=$(hostname | cut -d- -f2) train.py
            args:
            # which data
            - --dataset=a-very-long-name-of-a-data-set-that-does-not-fit-on-one-line-with-others
            - --epochs=10  # enough
            env:
            # for P5 FI_* should be commented out
            #- name: FI_PROVIDER
            #  value: efa
            - name: LOGLEVEL
              value: "DEBUG"  # loud
            resources:
              limits:
                nvidia.com/gpu: 8  # all of them
"""


def written(tmp_path: Path, *arguments: str, job: str = JOB) -> str:
    (tmp_path / "job.yaml").write_text(job)
    result = CliRunner().invoke(migrate, ["convert", str(tmp_path / "job.yaml"), "--target", "2.3", *arguments])
    assert result.stdout, result.output
    return result.stdout


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines()]


def before(text: str, line: str) -> str:
    found = lines(text)
    return found[found.index(line) - 1]


def test_comments_stay_with_the_lines_that_stay(tmp_path: Path) -> None:
    text = written(tmp_path, "--notes", "none")
    assert {
        "name: mnist  # the name",
        "image: example.com/mnist:1  # built nightly",
        "- --epochs=10  # enough",
        "value: DEBUG  # loud",
        "zone: a  # same as the bucket",
        "nvidia.com/gpu: 8  # all of them",
    } <= set(lines(text))
    assert before(text, "nodeSelector:") == "# where the data is"
    assert (
        before(text, "- --dataset=" + "a-very-long-name-of-a-data-set-that-does-not-fit-on-one-line-with-others")
        == "# which data"
    )
    assert before(text, "- name: LOGLEVEL") == "#  value: efa"
    assert lines(text).count("# not a comment of YAML") == 1, "it is a part of the script"


def test_a_comment_goes_where_the_line_has_gone(tmp_path: Path) -> None:
    text = written(tmp_path, "--notes", "none", "--share-runtimes")
    job = text.rpartition("kind: TrainJob")[2]
    assert "image: example.com/mnist:1  # built nightly" in lines(job)
    assert "nvidia.com/gpu: 8  # all of them" in lines(job)


def test_notes_stand_at_their_lines_and_the_head_is_short(tmp_path: Path) -> None:
    text = written(tmp_path)
    assert before(text, 'sagemaker.amazonaws.com/enable-job-auto-resume: "true"').startswith("# MIG314: HyperPod")
    assert "MIG107" in text.partition("command:")[0].splitlines()[-3] + text.partition("command:")[0].splitlines()[-2]
    head = re.match(r"(#.*\n)+", text)
    assert head is not None
    assert "needs-work" in head[0]
    assert "Done by the conversion: MIG116, MIG204, MIG301" in head[0]
    assert not {"MIG107", "MIG203", "MIG314"} & set(re.findall(r"MIG\d+", head[0])), "each is noted once"
    without = "\n".join(re.sub(r"\s+#.*", "", line) for line in text.splitlines() if not line.strip().startswith("#"))
    assert list(yaml.safe_load_all(without)) == list(yaml.safe_load_all(re.sub(r" +# not a comment.*\n", "", text)))


def test_each_job_of_a_file_has_its_own(tmp_path: Path) -> None:
    text = written(
        tmp_path, "--notes", "none", job=JOB + "---\n" + JOB.replace("mnist", "other").replace("nightly", "weekly")
    )
    assert "image: example.com/mnist:1  # built nightly" in lines(text)
    assert "image: example.com/other:1  # built weekly" in lines(text)


def test_a_note_on_a_variable_stands_at_it_wherever_it_is_now(tmp_path: Path) -> None:
    env = [{"name": "LEVEL", "value": "1"}, {"name": "FRIEND_PORT", "value": "23456"}]
    job = yaml.safe_dump(pytorch(1, command=["python", "train.py"], env=env))
    written_lines = lines(written(tmp_path, job=job))
    at = next(number for number, line in enumerate(written_lines) if line.startswith("# MIG106"))
    assert (written_lines[at - 1], written_lines[at + 1]) == ("- name: FRIEND_PORT", 'value: "23456"')
