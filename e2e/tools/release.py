"""What a tag needs to become a release: `check` says what was forgotten, `notes` prints the changelog's section."""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Sequence

import yaml
from e2e.support.paths import ROOT


def notes(version: str, changelog: str) -> str:
    """The section of a version; empty if there is none with a date."""
    heading = rf"^## \[{re.escape(version)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## \[|\Z)"
    found = re.search(heading, changelog, re.MULTILINE | re.DOTALL)
    return found[1].strip() if found else ""


def forgotten(tag: str, image: str) -> list[str]:
    """What does not fit the tag, each in a sentence."""
    version = tag.removeprefix("v")
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    [named] = yaml.safe_load((ROOT / "deploy" / "base" / "kustomization.yaml").read_text())["images"]
    found = []
    if version != ours:
        found.append(f"pyproject.toml has version {ours}, the tag is {tag}")
    if (image, version) != (named["newName"], named["newTag"]):
        found.append(f"deploy/base names {named['newName']}:{named['newTag']}, the release pushes {image}:{version}")
    if not notes(version, (ROOT / "CHANGELOG.md").read_text()):
        found.append(f"CHANGELOG.md has no section `## [{version}] - YYYY-MM-DD` with text")
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Return 1 if something was forgotten."""
    parser = argparse.ArgumentParser(prog="python -m e2e.tools.release", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    check = commands.add_parser("check", help="say what does not fit the tag")
    check.add_argument("tag")
    check.add_argument("--image", required=True, help="name without tag under which the image will be pushed")
    commands.add_parser("notes", help="print the section of CHANGELOG.md").add_argument("tag")
    chosen = parser.parse_args(arguments)
    if chosen.command == "notes":
        print(notes(chosen.tag.removeprefix("v"), (ROOT / "CHANGELOG.md").read_text()))
        return 0
    found = forgotten(chosen.tag, chosen.image)
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
