"""Templates that change while pods run: they keep the old ones, and one event says so (K-38)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from unit_tests.controllers.builders import World, texts, world

from training_controllers.decide.decide import decide
from training_controllers.decide.template_changes import changed_types, fingerprint_templates


def running() -> World:
    w = world("PyTorchJob", {"Master": 1, "Worker": 2}).settle().report("Running")
    return w


def change_image(w: World, *types: str) -> None:
    specs = json.loads(json.dumps(w.stored["spec"]["pytorchReplicaSpecs"]))
    for name in types:
        specs[name]["template"]["spec"]["containers"][0]["image"] = "example.com/train:2"
    w.patch(pytorchReplicaSpecs=specs)


def emitted(w: World, changed: frozenset[str] | None) -> list[str]:
    plan = decide(replace(w.snapshot(), changed_templates=changed), w.framework)
    return [text for text in texts(plan.events) if "Template" in text]


@pytest.mark.shows("K-38")
def test_the_types_are_named_of_which_pods_run() -> None:
    w = running()
    text = "has changed; pods that run keep the old one"
    assert emitted(w, frozenset({"Worker"})) == [f"Normal TemplateChanged The pod template of Worker {text}"]
    assert emitted(w, frozenset({"Worker", "Master"})) == [
        f"Normal TemplateChanged The pod template of Master, Worker {text}"
    ]
    assert emitted(w, frozenset()) == []
    w.report("Succeeded", "sim-worker-0", "sim-worker-1", exit_code=0)
    assert emitted(w, frozenset({"Worker"})) == []


@pytest.mark.shows("K-38")
def test_a_change_while_no_operator_ran_emits_an_event_that_says_so() -> None:
    w = running()
    assert emitted(w, None) == [
        "Normal TemplateChanged The spec has changed while no operator ran; "
        "pods that run keep the template they were created from"
    ]
    w.pods.clear()
    assert emitted(w, None) == []


@pytest.mark.shows("K-38")
@pytest.mark.parametrize("types", [("Worker",), ("Master", "Worker"), ()])
def test_what_has_changed_is_seen_from_one_look_to_the_next(types: tuple[str, ...]) -> None:
    w = running()
    seen = fingerprint_templates(w.snapshot().job, None)
    assert changed_types(w.snapshot().job, seen) == frozenset()
    change_image(w, *types)
    assert changed_types(w.snapshot().job, seen) == frozenset(types)
    assert changed_types(w.snapshot().job, fingerprint_templates(w.snapshot().job, seen)) == frozenset()


def test_neither_a_new_type_nor_another_order_of_fields_is_a_change() -> None:
    w = world("PyTorchJob", {"Worker": 1})
    seen = fingerprint_templates(w.snapshot().job, None)
    specs = w.stored["spec"]["pytorchReplicaSpecs"]
    [container] = specs["Worker"]["template"]["spec"]["containers"]
    specs["Worker"]["template"]["spec"]["containers"] = [dict(reversed(container.items()))]
    w.patch(pytorchReplicaSpecs={**specs, "Master": specs["Worker"]})
    assert changed_types(w.snapshot().job, seen) == frozenset()


@pytest.mark.shows("K-38")
def test_a_restarted_operator_knows_by_the_generation_whether_anything_has_changed() -> None:
    w = running()
    assert changed_types(w.snapshot().job, None) == frozenset()
    change_image(w, "Worker")
    assert changed_types(w.snapshot().job, None) is None
    w.settle()
    assert changed_types(w.snapshot().job, None) == frozenset()
    # Unknown under v1's CRDs.
    w.status = w.status.model_copy(update={"observed_generation": None})
    change_image(w)
    assert changed_types(w.snapshot().job, None) == frozenset()
