"""`training-operator console`: the jobs of a cluster in a browser."""

from __future__ import annotations

from pathlib import Path

import click

AUTHENTICATIONS = ("kubeconfig", "header", "token")


@click.command()
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Kubeconfig, whose current context is used. Default: as for the operator; in a pod its service account.",
)
@click.option("--cluster", help="Name of a cluster that `training-operator local up` has started.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port; 0 selects a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--auth",
    type=click.Choice(AUTHENTICATIONS),
    default=AUTHENTICATIONS[0],
    show_default=True,
    help="How viewers authenticate. kubeconfig: as the user of the kubeconfig, on loopback only; header: as "
    "the user whom an authenticating proxy names, by impersonation; token: with a bearer token that the viewer pastes.",
)
@click.option(
    "--user-header", default="kubeflow-userid", show_default=True, help="Header in which the proxy names the user."
)
@click.option(
    "--groups-header", default="", help="Header in which the proxy names the user's groups, separated by commas."
)
@click.option(
    "--trusted-proxy", multiple=True, metavar="NETWORK", help="Network whose headers are trusted, such as 10.0.0.0/8."
)
@click.option("--allowed-host", multiple=True, metavar="NAME", help="Host name under which browsers reach the console.")
@click.option("--base-path", default="", metavar="PATH", help="Prefix of all URLs behind a proxy, such as /training.")
@click.option(
    "--frame-ancestors", default="'none'", help="Pages that may embed the console in a frame, such as 'self'."
)
@click.option(
    "--archive",
    type=click.Path(path_type=Path),
    help="Show a recorded run instead of a cluster: its folder or its name (see `local runs`).",
)
@click.option("--export", type=click.Path(path_type=Path, dir_okay=False), help="Write that run into one HTML file.")
@click.option("--end-with-parent", is_flag=True, hidden=True, help="Exit when the program that started it exits.")
@click.option("--open", "open_browser", is_flag=True, help="Open it in the browser.")
def console(
    *,
    kubeconfig: Path | None,
    cluster: str | None,
    port: int,
    host: str,
    auth: str,
    user_header: str,
    groups_header: str,
    trusted_proxy: tuple[str, ...],
    allowed_host: tuple[str, ...],
    base_path: str,
    frame_ancestors: str,
    archive: Path | None,
    export: Path | None,
    end_with_parent: bool,
    open_browser: bool,
) -> None:
    """Show jobs, replicas, logs and reasons in a browser, read-only.

    It uses the permissions of the viewer, and sends requests only while a page is open.
    """
    from training_console.serving import Wanted, run  # noqa: PLC0415 - --help needs none of it

    run(
        Wanted(
            kubeconfig,
            cluster,
            host,
            port,
            auth,
            user_header,
            groups_header,
            trusted_proxy,
            allowed_host,
            base_path,
            frame_ancestors,
            open_browser,
            archive,
            export,
            end_with_parent,
        )
    )
