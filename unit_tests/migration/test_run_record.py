from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from training_migration.runs.record import (
    BadRecord,
    EndState,
    Event,
    LeftOver,
    Pod,
    Process,
    Ref,
    RunRecord,
    Series,
    Side,
    from_json,
    read_record,
    to_json,
)

REF = Ref(kind="TrainJob", namespace="team", name="mnist", source="v2/mnist.yaml")
FULL = RunRecord(
    side=Side.V2,
    ref=REF,
    end=EndState.SUCCEEDED,
    reasons=("AllJobsCompleted",),
    where="local",
    pods=(Pod(role="node", index=0, exit_code=0, restarts=0, environment={"RANK": "0"}),),
    processes=(Process(role="node", index=0, rank=0, world_size=1, local_rank=0, backend="gloo", peers=()),),
    metrics=(Series(name="loss", rank=0, points=((1, 0.5), (2, None))),),
    time_to_first_rank=1.25,
    duration=9.5,
    left_over=(LeftOver(role="node", index=0, phase="Succeeded"),),
    events=(Event(reason="Started", message="it began", about="Job/mnist", warning=True),),
)


def test_a_record_is_read_as_it_was_written() -> None:
    assert from_json(to_json(FULL), "run.json") == FULL


def test_the_json_says_what_it_is_first() -> None:
    bare = RunRecord(side=Side.V1, ref=REF, end=EndState.UNKNOWN)
    assert list(json.loads(to_json(bare))) == ["schema", "side", "ref", "end"]
    assert json.loads(to_json(bare))["schema"] == "migrate.run/1"
    assert to_json(bare).endswith(b"}\n")


@settings(max_examples=25)
@given(
    st.builds(
        RunRecord,
        side=st.sampled_from(Side),
        ref=st.just(REF),
        end=st.sampled_from(EndState),
        pods=st.lists(
            st.builds(Pod, role=st.text(max_size=3), index=st.integers(0, 9), exit_code=st.none() | st.integers(0, 255))
        ).map(tuple),
        processes=st.none()
        | st.lists(
            st.builds(
                Process,
                role=st.text(max_size=3),
                index=st.integers(0, 9),
                rank=st.none() | st.integers(0, 9),
                peers=st.none() | st.lists(st.integers(0, 9)).map(tuple),
            )
        ).map(tuple),
        metrics=st.none()
        | st.lists(
            st.builds(
                Series,
                name=st.text(max_size=3),
                rank=st.integers(0, 9),
                points=st.lists(
                    st.tuples(st.integers(0, 9), st.none() | st.floats(allow_nan=False, allow_infinity=False))
                ).map(tuple),
            )
        ).map(tuple),
        duration=st.none() | st.floats(0, 1e9),
    )
)
def test_any_record_survives(record: RunRecord) -> None:
    assert from_json(to_json(record), "x") == record


def changed(**fields: object) -> bytes:
    return json.dumps(json.loads(to_json(FULL)) | fields).encode()


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"{]", "run.json: not JSON: JSON is malformed: object keys must be strings (byte 1)"),
        (b"[]", "run.json: not the record of a run: Expected `object`, got `array`"),
        (b"{}", "run.json: the schema is '', and this version reads 'migrate.run/1'"),
        (
            changed(schema="migrate.run/9"),
            "run.json: the schema is 'migrate.run/9', and this version reads 'migrate.run/1'",
        ),
        (changed(side="v3"), "run.json: not the record of a run: Invalid enum value 'v3' - at `$.side`"),
        (changed(ends="well"), "run.json: not the record of a run: Object contains unknown field `ends`"),
        (
            changed(pods=[{"role": "node", "index": "0"}]),
            "run.json: not the record of a run: Expected `int`, got `str` - at `$.pods[0].index`",
        ),
    ],
)
def test_what_is_no_record_is_named_with_its_field(data: bytes, sentence: str) -> None:
    with pytest.raises(BadRecord) as caught:
        from_json(data, "run.json")
    assert str(caught.value) == sentence


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadRecord, match=r"none\.json: It cannot be read: No such file or directory"):
        read_record(tmp_path / "none.json")
    (tmp_path / "one.json").write_bytes(to_json(FULL))
    assert read_record(tmp_path / "one.json") == FULL
