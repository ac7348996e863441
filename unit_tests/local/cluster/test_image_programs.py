"""What `--image-program` may be given."""

from __future__ import annotations

from pathlib import Path

import pytest

from training_local.cluster.image_programs import image_programs
from training_local.errors import BadInput


def test_pairs_and_a_file_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images/programs.yaml").write_text("host:5000/tune: torchrun ./tune.py '--name=a b'\n")
    monkeypatch.chdir(tmp_path)
    assert image_programs(["fetch:1=python ./fetch.py /data=here", "images/programs.yaml"]) == {
        "fetch:1": ["python", str(tmp_path / "fetch.py"), "/data=here"],
        "host:5000/tune": ["torchrun", str(tmp_path / "images/tune.py"), "--name=a b"],
    }


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("image=", "image=: is neither IMAGE=COMMAND nor a file"),
        ("=command", "=command: is neither IMAGE=COMMAND nor a file"),
        ("image=echo 'x", "image=echo 'x: No closing quotation"),
        ("nowhere.yaml", "nowhere.yaml: It cannot be read: No such file or directory"),
        ("list.yaml", "list.yaml, line 1: must have the form IMAGE: COMMAND"),
        ("words.yaml", "words.yaml: the command of image must be a string, written as in a shell"),
        ("broken.yaml", "broken.yaml, line 2: It is not YAML"),
    ],
)
def test_what_cannot_be_used(option: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "list.yaml").write_text("[image]")
    (tmp_path / "words.yaml").write_text("image: [python, x.py]")
    (tmp_path / "broken.yaml").write_text("image: [")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput) as refused:
        image_programs([option])
    assert str(refused.value).startswith(told)
