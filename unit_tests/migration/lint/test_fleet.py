"""All inputs together: lines, suppression, baselines, what scripts and images show, and input of wrong shapes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from e2e.support.profiles import tries
from hypothesis import given, settings
from hypothesis import strategies as st
from unit_tests.migration.lint.jobs import OPTIONS, Json, alike, documents, job, node, pytorch, role, runtime, train_job

from training_api.documents import Document
from training_migration.findings import Finding
from training_migration.lint.entry_point import EntryPoint, of_configuration, of_dockerfile
from training_migration.lint.fleet import Fleet, LintResult, lint, placed
from training_migration.lint.lines import Lines
from training_migration.lint.suppression import UnknownBaseline, baseline, read_baseline, without

PYTHON = ["python3", "train.py"]


def looked_at(*objects: Json, **others: Any) -> LintResult:
    return lint(Fleet(documents(*objects), OPTIONS, **others))


def ids(found: list[Finding]) -> list[str]:
    return [each.rule.id for each in found]


def test_broken_and_rejected_input_is_reported_and_the_rest_is_looked_at() -> None:
    broken = Document("broken.yaml", 3, None, "It ends within a text.")
    invalid = Document("invalid.yaml", 1, pytorch(worker=role(0)))
    misshapen = Document("misshapen.yaml", 1, train_job({"env": {"A": "b"}}))
    other = Document("other.yaml", 1, {"kind": "Deployment", "metadata": {"labels": 3}})
    outcome = lint(Fleet([broken, invalid, misshapen, other, *documents(alike(command=PYTHON))], OPTIONS))
    assert outcome.problems == [
        "broken.yaml:3: It ends within a text.",
        "invalid.yaml:1: v1 would reject it: spec.pytorchReplicaSpecs[Worker].replicas: Forbidden: must be at least 1.",
        'misshapen.yaml:1: v2 would reject it: spec.trainer.env: Invalid value: {"A": "b"}: must be a list.',
    ]
    assert "MIG101" in ids(list(outcome.findings))
    assert (outcome.jobs, outcome.others) == (1, 1)


def test_scripts_of_config_maps_are_read_and_show_what_is_launched() -> None:
    mounted = {
        "kind": "ConfigMap",
        "metadata": {"name": "code"},
        "data": {"run.sh": "exec python train.py --rank $RANK"},
    }
    outcome = looked_at(alike(command=["bash", "/code/run.sh"]), mounted)
    assert "MIG101" in ids(list(outcome.findings))
    (needs,) = (each for each in outcome.findings if each.rule.id == "MIG117")
    assert (needs.source, needs.path) == ("1.yaml", "data[run.sh]")


def test_scripts_of_jobs_with_a_launcher_lack_nothing() -> None:
    script = ("train.py", 'import os\nos.environ["RANK"]')
    assert "MIG117" not in ids(list(looked_at(pytorch(), scripts=[script]).findings))
    assert "MIG117" in ids(list(looked_at(pytorch(), alike(command=PYTHON), scripts=[script]).findings))
    launched = train_job({"command": ["torchrun", "train.py"]}, runtimeRef={"name": "torch-distributed"})
    assert "MIG117" not in ids(list(looked_at(launched, scripts=[script]).findings))
    assert "MIG117" in ids(list(looked_at(scripts=[script]).findings))


def test_a_script_is_judged_by_the_jobs_that_run_it() -> None:
    script = ("src/train.py", 'import os\nos.environ["RANK"], os.environ["PROCESS_ID"]')
    jax = job("JAXJob", {"Worker": role(2, command=["python", "jax_train.py"])})
    assert "src/train.py" not in {each.source for each in looked_at(pytorch(), jax, scripts=[script]).findings}
    other = ("src/jax_train.py", script[1])
    (only,) = (
        each for each in looked_at(pytorch(), jax, scripts=[other]).findings if each.source == "src/jax_train.py"
    )
    assert only.message == "it needs PROCESS_ID, which v2 does not set."


def test_the_entry_point_of_an_image_is_combined_as_a_kubelet_does() -> None:
    image = of_dockerfile('FROM x\nENTRYPOINT ["python", \\\n "-u"]\nCMD ["train.py"]')
    assert image == EntryPoint(["python", "-u"], ["train.py"])
    assert image.of({"command": ["torchrun"], "args": ["a"]}) == (["torchrun"], ["a"])
    assert image.of({"args": ["other.py"]}) == (["python", "-u", "other.py"], None)
    assert image.of({}) == (["python", "-u", "train.py"], None)
    assert of_dockerfile("FROM x\nCMD python train.py").of({}) == (["/bin/sh", "-c", "python train.py"], None)
    assert of_configuration({"config": {"Entrypoint": ["a"], "Cmd": None}}) == EntryPoint(["a"], None)
    assert of_configuration([{"Config": {"Cmd": ["b"]}}]) == EntryPoint(None, ["b"])
    assert of_configuration([]) == of_configuration({}) == of_configuration("x") == EntryPoint()


TEXT = """\
# a comment
apiVersion: v1
kind: List
items:
- kind: A
  spec:
    tfReplicaSpecs:
      worker:
        template: {spec: {containers: [{name: one}, {name: two,
          image: x}]}}
- kind: B
---
kind: C
spec: {a: 1}
"""


@pytest.mark.parametrize(
    ("begin", "path", "line"),
    [
        (5, "spec.tfReplicaSpecs", 7),
        (5, "spec.tfReplicaSpecs[Worker]", 8),
        (5, "spec.tfReplicaSpecs[Worker].template.spec.containers[1].image", 10),
        (5, "spec.tfReplicaSpecs[Worker].template.spec.containers[two].image", 10),
        (5, "spec.tfReplicaSpecs[Worker].template.spec.containers[0].absent", 9),
        (5, "spec.runPolicy.backoffLimit", 6),
        (11, "metadata.name", 11),
        (12, "spec.a", 14),
        (99, "spec", 99),
    ],
)
def test_fields_have_lines(begin: int, path: str, line: int) -> None:
    assert Lines(TEXT).of(begin, path).start == line


def test_text_that_is_no_yaml_has_no_fields() -> None:
    assert Lines("a: [").of(1, "a") == range(1, 2)


def test_a_field_has_all_lines_of_its_value() -> None:
    text = "a:\n  b: |\n    one\n    two\n  c: [1,\n    2]\nd: &d\n- 1\ne: *d\nf: 3\n"
    lines = Lines(text)
    assert [list(lines.of(1, path)) for path in ("a.b", "a.c", "e", "f", "a.x")] == [[2, 3, 4], [5, 6], [9], [10], [1]]


def found_in(text: str) -> list[str]:
    obj = yaml.safe_load(text)
    outcome = lint(Fleet([Document("job.yaml", 1, obj)], OPTIONS))
    return ids(placed(outcome.findings, {"job.yaml": text}))


def test_comments_leave_findings_of_their_line_and_of_the_next_out() -> None:
    text = json.dumps(alike(command=PYTHON, args=["--port=23456"]), indent=2).replace('"--port=23456"', "--port=23456")
    assert found_in(text).count("MIG106") == 2
    assert found_in(text.replace("--port=23456", "--port=23456 # migrate: ignore=MIG106")).count("MIG106") == 0
    above = text.replace('"args":', '# migrate: ignore=MIG105, MIG106\n"args":', 1)
    assert found_in(above).count("MIG106") == 1
    assert found_in(text.replace("--port=23456", "--port=23456 # migrate: ignore=MIG107")).count("MIG106") == 2


def test_comments_in_scripts_do_so_too() -> None:
    lines = [
        "import os, torch",
        "port = 23456",
        "# migrate: ignore=MIG106",
        "port = 23456",
        "port = 23456  # migrate: ignore=MIG106",
    ]
    text = "\n".join(lines)
    outcome = lint(Fleet([], OPTIONS, scripts=[("train.py", text)]))
    assert [each.line for each in placed(outcome.findings, {"train.py": text})] == [2]


def test_annotations_leave_findings_of_their_object_out() -> None:
    annotation = {"extension.training.kubeflow.org/migration-ignore": "MIG101,MIG301"}
    given = alike(command=PYTHON)
    marked = given | {"metadata": {**given["metadata"], "annotations": annotation}}
    assert "MIG101" not in ids(list(looked_at(marked).findings))
    assert "MIG101" in ids(list(looked_at(marked, given).findings))


def test_a_baseline_leaves_out_what_it_has_as_often_as_it_has_it() -> None:
    found = list(looked_at(alike(command=PYTHON)).findings)
    text = baseline(found)
    assert baseline(reversed(found)) == text
    assert without(found, read_baseline(text)) == []
    assert without([*found, found[0]], read_baseline(text)) == [found[0]]
    new = list(looked_at(alike(command=PYTHON), pytorch()).findings)
    assert {each.source for each in without(new, read_baseline(text))} == {"1.yaml"}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"schema": "migrate.baseline/1"}', '{"schema": "x", "findings": []}']
)
def test_what_is_no_baseline_is_rejected(text: str) -> None:
    with pytest.raises(UnknownBaseline, match=r"^is "):
        read_baseline(text)


LABEL = {"name": "I", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a']"}}}
FULL: dict[str, Any] = {
    "env": [LABEL, {"name": "A", "value": "b"}],
    "ports": [{"containerPort": 1}],
    "resources": {"limits": {"nvidia.com/gpu": "2"}},
    "args": ["a"],
}
POD = {
    "containers": [{"name": "tb", "args": ["x"]}],
    "initContainers": [{"name": "i"}],
    "volumes": [
        {"name": "v", "projected": {"sources": [{"downwardAPI": {"items": [{"fieldRef": {"fieldPath": "x"}}]}}]}}
    ],
}
PATCH = {"trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [node()]}}}}
TRAINER = {
    "numNodes": 2,
    "numProcPerNode": 1,
    "command": PYTHON,
    "env": [{"name": "A", "value": "$(B)"}],
    "resourcesPerNode": {},
}
INJECTION = {"numNodes": 2, "torch": {"envInjection": {"targets": [{"jobName": "node", "containerNames": ["x"]}]}}}
GROUPS: list[list[Json]] = [
    [alike(pod=POD, **FULL)],
    [job("MPIJob", {"Launcher": role(**FULL), "Worker": role(2)}, slotsPerWorker=2)],
    [
        runtime(INJECTION, node(pod=POD, job_spec={"parallelism": 2}, **FULL)),
        train_job(TRAINER, runtimePatches=[PATCH]),
    ],
    [
        runtime({"mpi": {"numProcPerNode": 1}}, node(label=False, **FULL), node(name="launcher")),
        train_job({"numNodes": 1}),
    ],
    [{"kind": "Role", "metadata": {"name": "a"}, "rules": [{"apiGroups": ["kubeflow.org"], "verbs": ["create"]}]}],
    [
        {"kind": "ConfigMap", "metadata": {"name": "job-runtime-snapshot"}, "data": {"runtime": "{}", "a.py": "x"}},
        train_job({}),
    ],
    [{"kind": "HorizontalPodAutoscaler", "metadata": {"name": "a"}, "spec": {"scaleTargetRef": {"kind": "TFJob"}}}],
]
WRONG: list[Any] = [None, "x", 3, True, [], {}, ["x"], {"a": "b"}, [{}], [None], 1.5]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in entries:
        yield from places(each, (*path, key))


PLACES = [(group, number, path) for group in GROUPS for number, each in enumerate(group) for path in places(each)]


@settings(max_examples=tries(40))
@given(st.sampled_from(PLACES), st.sampled_from(WRONG))
def test_no_field_of_a_wrong_type_ends_in_a_crash(place: tuple[list[Json], int, tuple[Any, ...]], wrong: Any) -> None:
    group, number, path = place
    objects = copy.deepcopy(group)
    inner: Any = objects[number]
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = wrong
    looked_at(*objects)


@settings(max_examples=tries(20))
@given(
    st.text(alphabet="os.environ[\"'RANK]()=:${}#\\\n -if", max_size=60),
    st.sampled_from(["a.py", "a.sh", "a.ipynb", "x"]),
)
def test_no_text_ends_in_a_crash(text: str, name: str) -> None:
    lint(Fleet([], OPTIONS, scripts=[(name, text)], around=[(name, text)]))
