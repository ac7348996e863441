"""Every command line on a page is one that its program takes: options, choices, arguments, targets, types, files."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.support.documentation.command_lines import wrong
from e2e.support.documentation.commands import pages
from e2e.support.paths import ROOT


@pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
def test_page(page: Path) -> None:
    assert wrong(page.read_text()) == []


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("training-operator local rum --no-such-flag", "no command rum"),
        ("training-operator local up --detatch", "--detatch"),
        ("training-operator local demo --framework jaxx", "jaxx"),
        ("training-operator local run examples/jax/jaxjbo.yaml", "jaxjbo.yaml is neither"),
        ("training-operator local run examples/jax/jaxjob.yaml --python .cache/demo/jacks", "of no example"),
        ("training-operator migrate lint", "Missing argument"),
        (".venv/bin/training-operator run --leader-elekt", "--leader-elekt"),
        ('eval "$(.venv/bin/training-operator local upp)"', "no command upp"),
        ("kubectl aply -f crds/", "no verb aply"),
        ("kubectl apply -f crd/", "crd/ is neither"),
        ("kubectl apply --server-sid -f crds/", "no option --server-sid"),
        ("kubectl -n kubeflow get pod -o", "-o takes a value"),
        ("kubectl get pytorchjbos", "no type pytorchjbos"),
        ("kubectl describe pytorchjbo/hello", "no type pytorchjbo"),
        ("kubectl get pods -o widde", "-o is not widde"),
        ("kubectl logs -l training.kubeflow.org/jobname=a", "-l is not"),
        ("kubectl wait pod/a --for=conditions=Ready", "--for is not"),
        ("kubectl get", "needs more"),
        ("make dmeo", "dmeo"),
        ("make demo FRAMWORK=jax", "no variable FRAMWORK"),
        ("make demo FRAMEWORK=jaxx", "jaxx"),
        ("make e2e PROVIDER=bear", "bear"),
        ("make bench BENCH=money", "e2e.bench.money"),
        ("make e2e ARGS='--providr bare'", "--providr"),
        (".venv/bin/python -m e2e.hraness up", "no program e2e.hraness"),
        (".venv/bin/python -m e2e.harness upp", "upp"),
        (".venv/bin/python -m e2e.tools.prose words", "takes no arguments"),
        (".venv/bin/pytest e2e/test_nothing.py", "e2e/test_nothing.py/ is neither"),
        ("kubectl get pods | tale", "no program tale"),
    ],
)
def test_a_mistake_is_found(line: str, why: str) -> None:
    [found] = wrong(f"```console\n$ {line}\n```\n")
    assert why in found


def test_what_is_not_there_yet_may_be_made_before() -> None:
    commands = "$ training-operator migrate convert job.yaml --target 2.3 \\\n    -o out\n$ cat out\n"
    page = f"Of `job.yaml`:\n\n```console\n{commands}```\n"
    assert wrong(page) == []
    [found] = wrong(page.replace("job.yaml`", "jab.yaml`"))
    assert "job.yaml is neither in the repository nor made on the page before" in found


def test_a_command_in_a_sentence_may_lack_arguments_but_not_be_wrong() -> None:
    assert wrong("`kubectl apply -f`, `training-operator migrate convert`, `make` and `not a command`") == []
    assert len(wrong("`kubectl aply -f`, `training-operator migrate convrt`, `make dmeo`")) == 3
