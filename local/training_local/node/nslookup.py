"""A stand-in for `nslookup` inside pods, where names come from the hosts file instead of a DNS server.

Runs as a program of its own with the standard library only. Like a resolver that asks a slow server it does not give up
at once, so that the usual loops around `nslookup` go on as soon as the name exists.
"""

from __future__ import annotations

import socket
import sys
import time

PATIENCE = 2.0
PAUSE = 0.05


def main(arguments: list[str]) -> int:
    """Print the addresses of the first argument that is not an option; 1 if it has none, 2 if there is no name."""
    names = [argument for argument in arguments if not argument.startswith("-")]
    if not names:
        print("usage: nslookup NAME", file=sys.stderr)
        return 2
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            found = socket.getaddrinfo(names[0], None, socket.AF_INET, socket.SOCK_STREAM)
        except OSError:
            if time.monotonic() >= deadline:
                print(f"** server can't find {names[0]}: NXDOMAIN", file=sys.stderr)
                return 1
            time.sleep(PAUSE)
        else:
            for _, _, _, _, address in found:
                print(f"Name:\t{names[0]}\nAddress: {address[0]}")
            return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
