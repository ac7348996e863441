"""Promises of the repository that no single module can keep."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import pytest
from e2e.support.paths import ROOT
from packaging.requirements import Requirement

PACKAGES = {
    "training_api": ROOT / "api",
    "training_controllers": ROOT / "controllers",
    "training_operator": ROOT / "operator",
    "training_local": ROOT / "local",
    "training_migration": ROOT / "migration",
}
"""Source root of each package."""


@pytest.mark.parametrize("root", PACKAGES.values(), ids=lambda root: root.name)
def test_no_module_lies_directly_in_a_source_root(root: Path) -> None:
    """`operator/__init__.py` would shadow the standard library's module of that name."""
    assert [path.name for path in root.glob("*.py")] == []
    assert [path.name for path in root.iterdir() if path.is_dir() and path.name.isidentifier()] == [
        name for name, folder in PACKAGES.items() if folder == root
    ]


def test_the_standard_librarys_operator_is_found_from_here() -> None:
    command = [sys.executable, "-c", "import operator, sys; sys.exit(not operator.eq(1, 1))"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def test_test_folders_are_no_packages() -> None:
    assert list((ROOT / "unit_tests").rglob("__init__.py")) == []


def test_no_package_of_tests_hides_a_module_of_the_standard_library() -> None:
    """pytest imports `e2e/NAME/test_x.py` as `NAME.test_x`, and so replaces what Python calls NAME."""
    packages = {init.parent.name for init in (ROOT / "e2e").rglob("__init__.py")}
    assert packages & sys.stdlib_module_names == set()


def test_what_is_committed_is_text_or_a_picture() -> None:
    """A wheel or a program that a tool left behind is neither."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    binary = [name for name in listed.split("\0") if name and b"\0" in (ROOT / name).read_bytes()]
    assert [name for name in binary if not name.endswith(".png")] == []


def test_every_test_and_program_has_a_folder() -> None:
    assert {path.name for path in (ROOT / "e2e").iterdir() if path.is_file()} == {"README.md", "conftest.py"}
    assert {path.name for path in (ROOT / "unit_tests").iterdir() if path.is_file()} == {"conftest.py"}


def _declared() -> dict[str, set[str]]:
    """Names of required packages by what requires them: the runtime and each extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = {"runtime": project["project"]["dependencies"], **project["project"]["optional-dependencies"]}
    groups |= {name: project["dependency-groups"][name] for name in ("docs", "package", "mutation", "pins")}
    names = {group: {re.split(r"[^\w.-]", text)[0].lower() for text in texts} for group, texts in groups.items()}
    return {group: found - {"training-operator"} for group, found in names.items()}


def _pins(file: str) -> dict[str, set[str]]:
    """Pins with their environment markers, by name of the package."""
    found: dict[str, set[str]] = {}
    for name, rest in re.findall(r"^([a-z0-9.-]+)(?:\[.*\])?(==.*?) \\$", (ROOT / file).read_text(), re.MULTILINE):
        found.setdefault(name, set()).add(rest)
    return found


@pytest.mark.parametrize(
    ("file", "groups"),
    [
        ("constraints.txt", ("runtime", "local", "speed", "dev")),
        ("constraints-demo.txt", ("runtime", "local", "demo")),
        ("constraints-docs.txt", ("docs",)),
        ("constraints-image.txt", ("runtime", "speed")),
        ("constraints-package.txt", ("package",)),
        ("constraints-mutation.txt", ("runtime", "local", "speed", "dev", "mutation")),
        ("constraints-pins.txt", ("pins",)),
    ],
)
def test_every_dependency_is_pinned(file: str, groups: tuple[str, ...]) -> None:
    """`make constraints` has been run since pyproject.toml was changed."""
    wanted = set().union(*(_declared()[group] for group in groups))
    assert wanted - _pins(file).keys() == set()


PINNED = [
    "constraints.txt",
    "constraints-demo.txt",
    "constraints-docs.txt",
    "constraints-image.txt",
    "constraints-package.txt",
    "constraints-mutation.txt",
    "constraints-pins.txt",
    *(str(p.relative_to(ROOT)) for p in ROOT.glob("examples/**/req*.txt")),
]


@pytest.mark.parametrize("file", PINNED)
def test_every_pin_is_exact_and_has_hashes(file: str) -> None:
    blocks = re.split(r"^(?=[a-z0-9])", (ROOT / file).read_text(), flags=re.MULTILINE)[1:]
    assert all(re.match(r"[^=\n]+==\S+ .*\n    --hash=sha256:", block) for block in blocks)
    assert "://" not in "".join(blocks), "where packages come from is the business of pip's configuration"


def test_what_a_dependency_requires_with_extras_is_pinned_with_them() -> None:
    """Else pip first tries its newest version, which has no hash, and gives up."""
    pins = (ROOT / "constraints.txt").read_text()
    texts = {text for name in _pins("constraints.txt") for text in _required_by(name)}
    wanted = [each for each in map(Requirement, texts) if each.extras and not each.marker]
    assert wanted
    assert [each for each in wanted if f"\n{each.name}[{', '.join(sorted(each.extras))}]==" not in pins] == []


def _required_by(name: str) -> list[str]:
    try:
        return requires(name) or []
    except PackageNotFoundError:  # a pin of another platform
        return []


def test_what_writes_the_pins_is_pinned() -> None:
    makefile = (ROOT / "Makefile").read_text()
    installed = [line for line in makefile.splitlines() if line.startswith("\t") and " install " in line]
    assert len(installed) >= 5
    assert [each for each in installed if "--require-hashes" not in each and "--no-deps" not in each] == []


@pytest.mark.parametrize("file", [f"constraints-{name}.txt" for name in ("demo", "image", "package", "mutation")])
def test_constraint_files_agree(file: str) -> None:
    first, second = _versions("constraints.txt"), _versions(file)
    common = first.keys() & second.keys()
    assert {name: first[name] for name in common} == {name: second[name] for name in common}


def _versions(file: str) -> dict[str, set[str]]:
    return {name: {pin.partition(" ")[0] for pin in pins} for name, pins in _pins(file).items()}


def test_every_dependency_has_a_documented_reason() -> None:
    tables = re.findall(r"^\| ([^|]+) \|", (ROOT / "docs" / "dependencies.md").read_text(), re.MULTILINE)
    documented = {name.lower() for cell in tables for name in cell.split(", ")}
    assert set().union(*_declared().values()) - documented == set()


def test_every_target_of_the_makefile_is_explained() -> None:
    text = (ROOT / "Makefile").read_text()
    phony = re.search(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    assert phony is not None
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert set(re.findall(r"^  make ([a-z0-9-]+) +\S", shown, re.MULTILINE)) == set(phony[1].split())


def test_the_image_is_built_from_all_packages() -> None:
    """A new package is copied by the Dockerfile, and what that copies is not kept from it."""
    commands = re.findall(r"^COPY (?!--from)(.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    copied = {source for sources in commands for source in sources.split()}
    assert {root.name for root in PACKAGES.values()} <= copied
    let_in = re.findall(r"^!/(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert [path for path in copied if not any(Path(path).is_relative_to(each) for each in let_in)] == []


def test_nothing_is_read_from_beside_the_repository() -> None:
    """A folder that lies beside one clone is not there beside another."""
    folders = (ROOT / "unit_tests", ROOT / "e2e", *PACKAGES.values())
    files = [path for folder in folders for path in folder.rglob("*.py")]
    assert len(files) > 500
    outside = [
        f"{path.relative_to(ROOT)}: {climb[0]}"
        for path in files
        for climb in re.finditer(
            r"__file__\)(?:\.resolve\(\))?((?:\.parents\[\d\]|\.parent\b)+)|\bROOT\.parent\b", path.read_text()
        )
        if _height(climb[1]) > len(path.relative_to(ROOT).parts)
    ]
    assert outside == []


def _height(climb: str | None) -> int:
    """How many folders `.parent` and `.parents[1]` go up; from the root of the repository one is too many."""
    if climb is None:
        return sys.maxsize
    return sum(int(index or 0) + 1 for index in re.findall(r"\.parents?(?:\[(\d)\])?", climb))
