"""The tables of docs/architecture.md name the modules that there are."""

from __future__ import annotations

import re

import pytest
from e2e.support.paths import ROOT

PAGE = ROOT / "docs" / "architecture.md"
PACKAGES = {
    "training_controllers": "controllers",
    "training_operator": "operator",
    "training_local": "local",
    "training_console": "console",
}
NAMED_BY_FOLDER = ("apiserver/", "node/", "commands/", "verbs/", "execution/", "show/")


def table(package: str) -> str:
    """The lines between the heading of the package and the next one."""
    found = re.search(rf"^### `{package}`$(.*?)^##", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    assert found is not None
    return found[1]


def modules(package: str) -> set[str]:
    folder = ROOT / PACKAGES[package] / package
    names = {str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.py")}
    return {name for name in names if not name.endswith(("__init__", "__main__"))}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_module_is_in_the_table(package: str) -> None:
    named = {name.rpartition("/")[2] for name in re.findall(r"`([\w/]+)`", table(package))}
    left_out = {name for name in modules(package) if name.rpartition("/")[2] not in named}
    assert {name for name in left_out if package != "training_local" or not name.startswith(NAMED_BY_FOLDER)} == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_no_other_module_is_in_the_table(package: str) -> None:
    assert set(re.findall(r"`(\w+(?:/\w+)+)`", table(package))) - modules(package) == set()


def test_the_page_of_the_api_server_names_modules_that_there_are() -> None:
    page = (ROOT / "docs" / "local-api.md").read_text().partition("## Persistent state")[0]
    rows = re.findall(r"^\| (`[^|]*) \|", page, re.MULTILINE)
    named = {name.rstrip("/") for row in rows for name in re.findall(r"`([\w/]+)`", row)}
    folder = ROOT / "local" / "training_local" / "apiserver"
    assert named - {path.stem for path in folder.iterdir()} == set()
