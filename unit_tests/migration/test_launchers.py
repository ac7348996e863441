"""What a command line starts."""

from __future__ import annotations

import pytest

from training_migration.convert.launchers import Launcher, launcher_of


@pytest.mark.parametrize(
    ("command", "args", "launcher"),
    [
        (None, None, Launcher.ABSENT),
        (None, ["--epochs=1"], Launcher.ABSENT),
        (None, ["python", "t.py"], Launcher.ABSENT),
        (None, ["torchrun", "t.py"], Launcher.TORCHRUN),
        (["torchrun"], ["--nnodes=2", "t.py"], Launcher.TORCHRUN),
        (["/opt/conda/bin/torchrun", "t.py"], None, Launcher.TORCHRUN),
        (["python", "-m", "torch.distributed.run", "t.py"], None, Launcher.TORCHRUN),
        (["python3.11", "-u", "-m", "torch.distributed.launch", "t.py"], None, Launcher.TORCHRUN),
        (["python", "-um", "torch.distributed.run"], None, Launcher.TORCHRUN),
        (["python", "-mtorch.distributed.run"], None, Launcher.TORCHRUN),
        (["python", "/usr/local/bin/torchrun", "t.py"], None, Launcher.TORCHRUN),
        (["tune", "run", "lora"], None, Launcher.TORCHRUN),
        (["python", "t.py"], None, Launcher.PYTHON),
        (["python", "-W", "ignore", "torchrun"], None, Launcher.TORCHRUN),
        (["python", "-c", "import torchrun"], None, Launcher.PYTHON),
        (["python"], ["-m", "train"], Launcher.PYTHON),
        (["accelerate", "launch", "t.py"], None, Launcher.ACCELERATE),
        (["python", "-m", "accelerate.commands.launch", "t.py"], None, Launcher.ACCELERATE),
        (["deepspeed", "--hostfile=h", "t.py"], None, Launcher.DEEPSPEED),
        (["horovodrun", "-np", "2", "python", "t.py"], None, Launcher.HOROVODRUN),
        (["mpirun", "-np", "2", "python", "t.py"], None, Launcher.MPIRUN),
        (["mpiexec"], None, Launcher.MPIRUN),
        (["colossalai", "run"], None, Launcher.COLOSSALAI),
        (["lightning", "run", "model"], None, Launcher.LIGHTNING),
        (["ray", "start"], None, Launcher.RAY),
        (["python", "-m", "paddle.distributed.launch", "t.py"], None, Launcher.PADDLE),
        (["sh", "-c", "torchrun t.py"], None, Launcher.TORCHRUN),
        (["bash", "-lc"], ["cd /app && exec torchrun t.py"], Launcher.TORCHRUN),
        (["sh", "-c", "pip install x; python t.py"], None, Launcher.PYTHON),
        (["bash", "-c", "python prepare.py && torchrun t.py"], None, Launcher.TORCHRUN),
        (["sh", "-c", "echo 'use torchrun'; python t.py"], None, Launcher.PYTHON),
        (["sh", "-c", "# torchrun\npython t.py"], None, Launcher.PYTHON),
        (["sh", "-c", "torchrun \\\n  --nnodes=2 t.py"], None, Launcher.TORCHRUN),
        (["sh", "-c", "A=1 OMP_NUM_THREADS=4 torchrun t.py"], None, Launcher.TORCHRUN),
        (["sh", "-c", "if [ -f x ]; then torchrun t.py; fi"], None, Launcher.TORCHRUN),
        (["sh", "-c", "(cd /app; timeout -k 5 60 torchrun t.py) | tee log"], None, Launcher.TORCHRUN),
        (["sh", "-c", 'exec "$@"', "sh", "torchrun", "t.py"], None, Launcher.TORCHRUN),
        (["sh", "-c", "echo 'unbalanced; torchrun t.py"], None, Launcher.TORCHRUN),
        (["bash", "-o", "pipefail", "-c", "torchrun t.py"], None, Launcher.TORCHRUN),
        (["env", "A=1", "nice", "-n", "5", "python", "t.py"], None, Launcher.PYTHON),
        (["tini", "--", "torchrun"], None, Launcher.TORCHRUN),
        (["sh", "-c", "sleep 1"], None, Launcher.UNKNOWN),
        (["/app/entry.sh"], None, Launcher.UNKNOWN),
        (["bash", "run.sh"], None, Launcher.UNKNOWN),
        ([], [], Launcher.ABSENT),
    ],
)
def test_launcher(command: list[str] | None, args: list[str] | None, launcher: Launcher) -> None:
    assert launcher_of(command, args) is launcher


def test_scripts_that_are_at_hand_are_read() -> None:
    scripts = [("docker/run.sh", "#!/bin/sh\n. ./env.sh\nexec torchrun train.py\n")]
    assert launcher_of(["bash", "/app/run.sh"], None, scripts) is Launcher.TORCHRUN
    assert launcher_of(["/app/run.sh"], None, scripts) is Launcher.TORCHRUN
    assert launcher_of(["sh", "-c", "cd /app && ./run.sh"], None, scripts) is Launcher.TORCHRUN


def test_a_script_that_calls_itself_is_read_once_or_twice() -> None:
    assert launcher_of(["run.sh"], None, [("run.sh", "./run.sh")]) is Launcher.UNKNOWN
