"""Build the operator's image twice, look at it, and run it as the installation does: `python -m e2e.tools.image`.

Prints a line per promise with what was seen, and ends with status 1 if one was not kept. As root, on Debian.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from e2e.harness.errors import told
from e2e.tools.image import architectures, content, running
from e2e.tools.image.base import make_base
from e2e.tools.image.builder import Builder, require
from e2e.tools.image.container import Bundle


def main() -> None:
    """Look at all promises; the exit status is 1 if one is not kept."""
    with told("image", 1):
        require()
        with tempfile.TemporaryDirectory(prefix="image-") as folder:
            look_at_image(Path(folder))


def look_at_image(folder: Path) -> None:
    """Build the image in `folder` and say what was seen; raises HarnessError at the first broken promise."""
    builder = Builder(folder)
    base = make_base(builder)
    image = builder.build(base)
    root = builder.unpack(image)
    configuration = content.configuration(builder, image)
    seen("configuration", content.is_configured(configuration))
    seen("size", content.is_small(root))
    seen("content", content.is_bare(root))
    seen("times", content.is_of_one_time(root))
    seen("description", content.is_described(builder, builder.build(base, "--target=sbom"), root))

    bundle = Bundle(folder, root, configuration)
    seen("answers", running.answers(bundle))
    seen("work", running.works(bundle, configuration["Healthcheck"]["Test"][1:]))

    again = builder.build(base)
    seen("again", content.is_reproduced(builder, image, again))

    wheels = folder / "wheels"
    wheels.mkdir()
    seen("other architecture", architectures.has_wheels(wheels))
    seen("emulated", architectures.starts(folder))


def seen(promise: str, what: str) -> None:
    """Tell what was seen of a promise."""
    print(f"{promise}: {what}", flush=True)


if __name__ == "__main__":
    main()
