"""How PyTorch workers wait for their master: in an image of the operator's choice, in their own, or not at all.

In their own image a worker waits with what is there: Python, which connects to the master's port, else getent or
nslookup, which can only see that the name exists. Names and numbers are arguments of the programs, never part of them.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:  # the help of flags needs the enumeration alone
    from training_controllers.model.pod_spec import Container

NAME: Final = "init-pytorch"
"""Name of the init container, also in v1's template."""


class MasterWait(StrEnum):
    """The values of the annotation `init-container` and of the flag `--pytorch-init-container`."""

    IMAGE = "image"
    WORKER_IMAGE = "worker-image"
    NONE = "none"


PYTHON_PROGRAM: Final = """\
import socket, sys, time
host, port, tries = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
for left in range(tries, 0, -1):
    try:
        if port:
            socket.create_connection((host, port), 2).close()
        else:
            socket.getaddrinfo(host, None)
        sys.exit(0)
    except (OSError, socket.error) as error:
        sys.stderr.write("waiting for master %s: %s\\n" % (host, error))
        sys.stderr.flush()
    if left > 1:
        time.sleep(2)
sys.exit(1)
"""
"""For every Python since 2.7; port 0 means that the name is enough."""

SHELL_PROGRAM: Final = """\
for python in python3 python; do
  if command -v "$python" >/dev/null 2>&1; then exec "$python" -BESs -c "$1" "$2" "$3" "$4"; fi
done
if command -v getent >/dev/null 2>&1; then look() { getent hosts "$1" >/dev/null 2>&1; }
elif command -v nslookup >/dev/null 2>&1; then look() { nslookup "$1" >/dev/null 2>&1; }
else echo "this image has none of python3, python, getent, nslookup to wait for $2 with" >&2; exit 1
fi
left=$4
until look "$2"; do
  left=$((left - 1))
  if [ "$left" -le 0 ]; then exit 1; fi
  echo "waiting for master $2" >&2
  sleep 2
done
"""
"""For every POSIX shell. Its arguments: the Python program, host, port, tries."""


def wait_in_own_image(main: Container, *, host: str, port: int, max_tries: int) -> dict[str, Any]:
    """The init container that waits in the image of the `main` container and with its security context.

    Waits until something listens on `port` of `host`, with port 0 until the name exists; some two seconds between
    tries. Its resources are those of v1's container, with memory enough for Python.
    """
    inherited = {key: main[key] for key in ("image", "imagePullPolicy", "securityContext") if key in main}
    arguments = [PYTHON_PROGRAM, host, str(port), str(max_tries)]
    return {
        "name": NAME,
        **inherited,
        "resources": {
            "limits": {"cpu": "100m", "memory": "64Mi"},
            "requests": {"cpu": "50m", "memory": "10Mi"},
        },
        "command": ["sh", "-c", SHELL_PROGRAM, NAME, *arguments],
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
