"""What has to fit a tag, and what its notes are."""

from __future__ import annotations

import pytest
from e2e.support import marks
from e2e.tools.release import main, notes

from training_operator import __version__

pytestmark = marks.local  # no cluster at all; once is enough
CHANGELOG = """\
## [Unreleased]

## [1.2.0] - 2026-01-02

### Added

- One.

## [1.1.0] - 2026-01-01
"""


def test_notes_are_the_section_of_a_version() -> None:
    assert notes("1.2.0", CHANGELOG) == "### Added\n\n- One."
    assert (notes("1.1.0", CHANGELOG), notes("1.3.0", CHANGELOG), notes("1.2", CHANGELOG)) == ("", "", "")


def test_what_does_not_fit_a_tag_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "v9.8.7", "--image", "ghcr.io/me/operator"]) == 1
    version, image, section = capsys.readouterr().out.splitlines()
    assert version == f"pyproject.toml has version {__version__}, the tag is v9.8.7"
    assert image.endswith("the release pushes ghcr.io/me/operator:9.8.7")
    assert section == "CHANGELOG.md has no section `## [9.8.7] - YYYY-MM-DD` with text"
