from __future__ import annotations

import subprocess

import pytest

from training_migration.diff.prologue import started

PADDLE = """if [ "$JOB_COMPLETION_INDEX" = 0 ]; then PADDLE_MASTER="$POD_IP:1"; else PADDLE_MASTER=pd-node-0-0.pd:1; fi
export PADDLE_MASTER
exec python -m paddle.distributed.launch /app/t.py
"""
LINES = """
if [ "$JOB_COMPLETION_INDEX" = "0" ]
then
  export WHERE="here and now" WHO=${NAME:-nobody}
else
  export WHERE=there
fi
export RANK=$((JOB_COMPLETION_INDEX + 3))
exec "$@"
"""


@pytest.mark.parametrize(
    ("words", "index", "program", "variables"),
    [
        (["sh", "-c", PADDLE], "0",
         "python -m paddle.distributed.launch /app/t.py", {"PADDLE_MASTER": "1.2.3.4:1"}),
        (["/bin/sh", "-c", PADDLE], "1", "python -m paddle.distributed.launch /app/t.py",
         {"PADDLE_MASTER": "pd-node-0-0.pd:1"}),
        (["sh", "-c", LINES, "name", "python", "a b.py"], "0", "python a b.py",
         {"WHERE": "here and now", "WHO": "nobody", "RANK": "3"}),
        (["sh", "-c", LINES, "name", "python"], "2", "python", {"WHERE": "there", "RANK": "5"}),
        (["sh", "-c", "torchrun --nnodes=$WORLD_SIZE t.py"], "0", "torchrun --nnodes= t.py", {}),
        (["python", "t.py"], "0", "python t.py", {}),
    ],
)  # fmt: skip
def test_shells_that_only_set_variables_are_followed(
    words: list[str], index: str, program: str, variables: dict[str, str]
) -> None:
    given = {"JOB_COMPLETION_INDEX": index, "POD_IP": "1.2.3.4"}
    found = started(words[:2], words[2:], given)
    assert " ".join(found.words) == program
    assert found.environment == given | variables


@pytest.mark.parametrize(
    "text",
    [
        "A=$(hostname); exec python",
        "test -f /x && exec python",
        "export A=`id`\nexec python",
        "for x in 1 2; do echo $x; done",
        "if [ -f /x ]; then A=1; fi\nexec python",
        "A='unfinished",
        "export A=1",
        "",
    ],
)
def test_anything_else_stays_a_shell(text: str) -> None:
    found = started(["sh", "-c", text], [], {"B": "1"})
    assert (found.words, found.environment) == (("sh", "-c", text), {"B": "1"})


@pytest.mark.parametrize("index", ["0", "1"])
def test_a_real_shell_sets_the_same(index: str) -> None:
    given = {"JOB_COMPLETION_INDEX": index, "PATH": "/usr/bin:/bin"}
    result = subprocess.run(
        ["sh", "-c", LINES, "name", "env"], env=given, capture_output=True, text=True, check=True
    ).stdout
    there = dict(line.split("=", 1) for line in result.splitlines())
    ours = started(["sh", "-c", LINES], ["name", "env"], given).environment
    assert {name: there.get(name) for name in ours} == ours
