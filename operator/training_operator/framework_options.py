"""The options of the frameworks, from the settings."""

from __future__ import annotations

from pathlib import Path

from training_controllers.frameworks.mpi.framework import MPIOptions
from training_controllers.frameworks.pytorch.framework import PyTorchOptions
from training_controllers.frameworks.pytorch.init_container import BUILT_IN_TEMPLATE, BadTemplate
from training_controllers.frameworks.registry import FrameworkOptions
from training_controllers.gang.schedulers import gang_scheduler
from training_operator.settings import Settings


def framework_options(settings: Settings) -> FrameworkOptions:
    """Read the template file, if there is one; raises `BadTemplate` for one that cannot be used."""
    return FrameworkOptions(
        pytorch=PyTorchOptions(
            init_container_image=settings.pytorch_init_container_image,
            init_container_template=_template(Path(settings.pytorch_init_container_template_file)),
            init_container_max_tries=settings.pytorch_init_container_max_tries,
            init_container=settings.pytorch_init_container,
        ),
        mpi=MPIOptions(settings.mpi_kubectl_delivery_image),
        cluster_domain=settings.cluster_domain,
        gang=gang_scheduler(settings.gang_scheduler_name),
        max_replicas=settings.max_replicas,
    )


def _template(file: Path) -> str:
    try:
        return file.read_text() if file.is_file() else BUILT_IN_TEMPLATE
    except (OSError, UnicodeDecodeError) as error:
        raise BadTemplate(f"{file} cannot be read: {error}") from None
