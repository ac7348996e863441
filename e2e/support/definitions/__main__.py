"""Write manifests of other projects in the smallest form: JSON, one line each, without descriptions.

python -m e2e.support.definitions e2e/support/definitions/trainer manifests/base/crds/*.yaml
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml


def smallest(value: Any) -> Any:
    """`value` without descriptions; a property that is called `description` is a schema, and stays."""
    if isinstance(value, dict):
        return {
            key: smallest(each) for key, each in value.items() if not (key == "description" and isinstance(each, str))
        }
    return [smallest(each) for each in value] if isinstance(value, list) else value


def main(folder: str, *files: str) -> None:
    for file in map(Path, files):
        manifest = smallest(yaml.load(file.read_text(), Loader=yaml.CSafeLoader))
        text = json.dumps(manifest, separators=(",", ":"))
        Path(folder, f"{manifest['metadata']['name']}.json").write_text(f"{text}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
