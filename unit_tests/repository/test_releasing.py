"""Names, version and changelog of a release fit together, and stand in one place each."""

import re
import subprocess
import tomllib

import yaml
from e2e.support.paths import ROOT

from training_operator import __version__

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


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
    """What follows `pip install` is a folder or file of a clone, or another package."""
    ours = re.compile(r"\b(?:pip|pipx|uv) (?:install|add) [^`\n#]*?(?<![\w./-])training-operator(?![\w/-])")
    assert ours.search("`pip install 'training-operator[local]'`")
    files = [file for file in occurrences("training-operator") if file != "unit_tests/repository/test_releasing.py"]
    assert [file for file in files if ours.search((ROOT / file).read_text())] == []
