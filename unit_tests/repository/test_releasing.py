"""Names, version and changelog of a release fit together, and stand in one place each."""

import re
import subprocess
import tomllib

import pytest
import yaml
from e2e.support.paths import ROOT
from e2e.tools.release import forgotten, main, notes

from training_operator import __version__

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CHANGELOG = """\
## [Unreleased]

## [1.2.0] - 2026-01-02

### Added

- One.

## [1.1.0] - 2026-01-01
"""


def occurrences(name: str, *places: str) -> list[str]:
    command = ["git", "grep", "--files-with-matches", "--fixed-strings", "--ignore-case", name, "--", *places]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def test_the_program_tells_the_version_of_the_project() -> None:
    assert __version__ == PROJECT["version"]


def test_the_image_is_named_in_one_place_with_the_version_as_its_tag() -> None:
    [image] = yaml.safe_load((ROOT / "deploy" / "base" / "kustomization.yaml").read_text())["images"]
    assert image["newTag"] == PROJECT["version"]
    assert occurrences(image["newName"], "*.yaml", "*.py", "*.toml", "Makefile") == ["deploy/base/kustomization.yaml"]
    assert image["newName"].partition("/")[0].endswith(".example.com"), "docs/releasing.md calls it a placeholder"


def test_nobody_is_told_to_install_a_name_that_nobody_has_registered() -> None:
    """What follows `pip install` is a folder or file of a clone, or somebody else's package."""
    ours = re.compile(r"\b(?:pip|pipx|uv) (?:install|add) [^`\n#]*?(?<![\w./-])training-operator(?![\w/-])")
    assert ours.search("`pip install 'training-operator[local]'`")
    files = [file for file in occurrences("training-operator") if file != "unit_tests/repository/test_releasing.py"]
    assert [file for file in files if ours.search((ROOT / file).read_text())] == []


def test_notes_are_the_section_of_a_version() -> None:
    assert notes("1.2.0", CHANGELOG) == "### Added\n\n- One."
    assert (notes("1.1.0", CHANGELOG), notes("1.3.0", CHANGELOG), notes("1.2", CHANGELOG)) == ("", "", "")


def test_what_does_not_fit_a_tag_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "v9.8.7", "--image", "ghcr.io/me/operator"]) == 1
    version, image, section = capsys.readouterr().out.splitlines()
    assert version == f"pyproject.toml has version {PROJECT['version']}, the tag is v9.8.7"
    assert image.endswith("the release pushes ghcr.io/me/operator:9.8.7")
    assert section == "CHANGELOG.md has no section `## [9.8.7] - YYYY-MM-DD` with text"
    assert len(forgotten(f"v{PROJECT['version']}", "registry.example.com/" + PROJECT["name"])) <= 1
