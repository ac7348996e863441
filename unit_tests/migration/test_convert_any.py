"""Jobs of all kinds, as hypothesis thinks them up, the cases of the conformance suite and v1's examples."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest
import yaml
from e2e.support.paths import ROOT
from e2e.support.profiles import tries
from e2e.support.v1_examples.expected import examples
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from training_migration.choices import Asymmetric, CompatEnv, Ttl
from training_migration.convert import convert
from training_migration.convert.conversion import Conversion, Options
from training_migration.convert.round_trip import round_trip
from training_migration.diff.model import Summary
from training_migration.findings import Verdict
from training_migration.targets import Target
from training_migration.v1_job import Invalid, v1_job
from training_migration.v2.process import environment
from training_migration.v2.render import render_v2
from training_migration.v2.stock import stock

Json = dict[str, Any]
KINDS = {
    "PyTorchJob": ("pytorchReplicaSpecs", "pytorch", ["Master", "Worker"]),
    "TFJob": ("tfReplicaSpecs", "tensorflow", ["Chief", "Worker", "PS", "Evaluator"]),
    "XGBoostJob": ("xgbReplicaSpecs", "xgboost", ["Master", "Worker"]),
    "MPIJob": ("mpiReplicaSpecs", "mpi", ["Launcher", "Worker"]),
    "PaddleJob": ("paddleReplicaSpecs", "paddle", ["Master", "Worker"]),
    "JAXJob": ("jaxReplicaSpecs", "jax", ["Worker"]),
}
COMMANDS = [
    None,
    ["python", "train.py"],
    ["torchrun", "train.py"],
    ["sh", "-c", "torchrun --node_rank=$RANK t.py"],
    ["mpirun", "-np", "2", "x"],
]
HOST = re.compile(r"(?<![a-z0-9.-])(any-job-[a-z]+-\d+-\d+)\.any-job\b")


def maybe(name: str, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Json]:
    return st.one_of(st.just({}), values.map(lambda value: {} if value is None else {name: value}))


def merged(*parts: st.SearchStrategy[Json]) -> st.SearchStrategy[Json]:
    return st.tuples(*parts).map(lambda found: {key: value for part in found for key, value in part.items()})


VARIABLES = st.lists(
    st.builds(
        lambda name, value: {"name": name, "value": value},
        st.sampled_from(["A", "RANK", "MASTER_ADDR", "PET_NNODES", "TF_CONFIG", "DMLC_TASK_ID", "PROCESS_ID"]),
        st.sampled_from(["", "1", "y", "1e3", "$(A)", "a\nb"]),
    ),
    max_size=3,
)
RESOURCES = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "nvidia.com/mig-1g.5gb"]),
    st.sampled_from(["1", 2, "500m"]),
    max_size=2,
).map(lambda limits: {"limits": limits})
PORTS = st.lists(
    st.sampled_from([{"containerPort": 8080}, {"containerPort": 80, "name": "web"}]), max_size=2, unique_by=str
)
CONTAINER = merged(
    st.just({"image": "example.com/train:1"}),
    maybe("command", st.sampled_from(COMMANDS)),
    maybe("args", st.just(["--lr", "$(RANK)"])),
    maybe("env", VARIABLES),
    maybe("resources", RESOURCES),
    maybe("ports", PORTS),
)
RUN_POLICY = merged(
    maybe("backoffLimit", st.integers(0, 9)),
    maybe("cleanPodPolicy", st.sampled_from(["None", "Running", "All"])),
    maybe("activeDeadlineSeconds", st.integers(1, 99)),
    maybe("ttlSecondsAfterFinished", st.integers(0, 99)),
    maybe("suspend", st.booleans()),
    maybe("schedulingPolicy", st.sampled_from([{}, {"queue": "q"}, {"minAvailable": 1, "scheduleTimeoutSeconds": 9}])),
)
OPTIONS = st.builds(
    Options,
    st.sampled_from(Target),
    kubernetes=st.sampled_from(["", "1.29", "1.34"]),
    compat_env=st.sampled_from(CompatEnv),
    ttl=st.sampled_from(Ttl),
    asymmetric=st.sampled_from(Asymmetric),
    native_sidecars=st.booleans(),
    stock=st.booleans(),
    gang_scheduler=st.sampled_from(["", "none", "volcano", "scheduler-plugins-scheduler"]),
)


@st.composite
def templates(draw: st.DrawFn, container: str) -> Json:
    containers = [{"name": container, **draw(CONTAINER)}]
    if draw(st.integers(0, 3)) == 0:
        containers.append({"name": draw(st.sampled_from(["side", "node"])), **draw(CONTAINER)})
    spec = {"containers": containers, **draw(maybe("initContainers", st.just([{"name": "prepare", "image": "x"}])))}
    return {"spec": {**spec, **draw(maybe("hostname", st.just("h")))}}


@st.composite
def jobs(draw: st.DrawFn) -> Json:
    kind = draw(st.sampled_from(sorted(KINDS)))
    field, container, types = KINDS[kind]
    common = draw(templates(container))
    replicas: Json = {}
    for name in draw(st.lists(st.sampled_from(types), min_size=1, unique=True)):
        own = draw(templates(container)) if draw(st.integers(0, 3)) == 0 else copy.deepcopy(common)
        policy = draw(maybe("restartPolicy", st.sampled_from(["Always", "OnFailure", "Never", "ExitCode"])))
        number = 1 if name in ("Master", "Chief", "Launcher") else draw(st.integers(0, 4))
        replicas[name] = {"replicas": number, "template": own, **policy}
    spec: Json = {field: replicas, **draw(maybe("runPolicy", RUN_POLICY))}
    if kind == "PyTorchJob":
        spec |= draw(maybe("nprocPerNode", st.sampled_from(["auto", "cpu", "gpu", "2"])))
        spec |= draw(maybe("elasticPolicy", st.sampled_from([{}, {"minReplicas": 1, "maxReplicas": 4}])))
    if kind == "TFJob":
        spec |= draw(maybe("enableDynamicWorker", st.booleans()))
    metadata = {"name": "any-job", **draw(maybe("namespace", st.just("team")))}
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": metadata, "spec": spec}


def check(conversion: Conversion) -> None:
    """What is not rejected makes as many pods as in v1, which only know names that exist."""
    if conversion.rejected:
        assert conversion.rejected.endswith(".")
        assert any(not each.fixed for each in conversion.findings)
        return
    target = conversion.options.target
    runtime = conversion.runtime or stock(target)[conversion.train_job["spec"]["runtimeRef"]["name"]]
    pods = render_v2(conversion.train_job, runtime, target).pods
    assert len(pods) == sum(each.replicas or 0 for each in conversion.job.job.replicas.values())
    hosts = {pod.hostname.split(".")[0] for pod in pods}
    for pod in pods:
        assert set(HOST.findall("\n".join(environment(pod).values()))) <= hosts


@settings(
    max_examples=tries(50),
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(jobs(), OPTIONS)
def test_every_job_of_v1_is_converted_or_rejected_always_alike(obj: Json, options: Options) -> None:
    try:
        job = v1_job(obj)
    except Invalid:
        assume(False)
        return
    conversion = convert(job, options)
    check(conversion)
    again = convert(v1_job(copy.deepcopy(obj)), options)
    assert json.dumps(conversion.objects) == json.dumps(again.objects)
    assert conversion.findings == again.findings


def known_jobs() -> Iterator[Any]:
    for path in sorted((ROOT / "e2e" / "conformance" / "cases").glob("*.yaml")):
        yield pytest.param(yaml.load(path.read_text(), yaml.CSafeLoader)["job"], id=path.stem)
    for example in examples(f"namespace-{number}" for number in count()):
        yield pytest.param(example.job, id=str(example))


KNOWN = list(known_jobs())


@pytest.mark.parametrize("obj", KNOWN)
def test_known_jobs_are_converted_or_rejected_with_a_reason(obj: Json) -> None:
    try:
        job = v1_job(obj)
    except Invalid as invalid:
        assert str(invalid)
        return
    conversion = convert(job, Options(Target.V2_3))
    check(conversion)
    assert not conversion.rejected
    trip = round_trip(conversion)
    assert trip.difference is not None
    if trip.difference.summary is Summary.DIFFERENT:
        assert conversion.verdict is Verdict.NEEDS_WORK, "what trains differently is noted by the conversion itself"


def test_the_examples_of_v1_are_all_there() -> None:
    assert len([each for each in KNOWN if "/" in str(each.id)]) == 28
