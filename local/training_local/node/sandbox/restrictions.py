"""Why a machine denies user namespaces, read from its settings, and the command that permits them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_SETTINGS: Final = (
    # File below /proc, the value that denies them, whose rule it is, the command that changes it.
    (
        "sys/user/max_user_namespaces",
        "0",
        "user.max_user_namespaces is 0",
        "sudo sysctl -w user.max_user_namespaces=15000",
    ),
    (
        "sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor restricts unprivileged user namespaces (the default of Ubuntu since 23.10)",
        "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
    ),
    (
        "sys/kernel/unprivileged_userns_clone",
        "0",
        "kernel.unprivileged_userns_clone is 0",
        "sudo sysctl -w kernel.unprivileged_userns_clone=1",
    ),
)
_FILTERED: Final = "Seccomp:\t2"


def cause(proc: Path = Path("/proc")) -> str:
    """One sentence with the cause and the remedy; empty if no setting explains it."""
    for file, denying, rule, remedy in _SETTINGS:
        try:
            found = (proc / file).read_text().strip()
        except OSError:
            continue
        if found == denying:
            return f"{rule}; `{remedy}` lets pods be isolated."
    try:
        filtered = _FILTERED in (proc / "self/status").read_text()
    except OSError:
        return ""
    if filtered:
        return (
            "A seccomp filter holds this process, as in a container; there, "
            "`docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined` lets pods be isolated."
        )
    return ""
