"""What `--image-program` may be given."""

from __future__ import annotations

from pathlib import Path

import pytest

from training_local.cluster.image_programs import image_programs
from training_local.errors import BadInput


def test_pairs_and_a_file_of_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "images").mkdir()
    (tmp_path / "images/programs").write_text("# ours\n\nhost:5000/tune = torchrun ./tune.py '--name=a b'\n")
    monkeypatch.chdir(tmp_path)
    assert image_programs(["fetch:1=python ./fetch.py /data=here", "images/programs"]) == {
        "fetch:1": ["python", str(tmp_path / "fetch.py"), "/data=here"],
        "host:5000/tune": ["torchrun", str(tmp_path / "images/tune.py"), "--name=a b"],
    }


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("image=", "image=: is not IMAGE=COMMAND"),
        ("=command", "=command: is not IMAGE=COMMAND"),
        ("image=echo 'x", "image=echo 'x: No closing quotation"),
        ("nowhere", "nowhere: It cannot be read: No such file or directory"),
        ("words", "words:2: train.py: is not IMAGE=COMMAND"),
    ],
)
def test_what_cannot_be_used(option: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "words").write_text("image=python\ntrain.py\n")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput) as rejected:
        image_programs([option])
    assert str(rejected.value) == message
