"""One rule of nftables, over netlink: connections that leave the pods' network end at a port here instead."""

from __future__ import annotations

import socket
import struct

from training_local.node.sandbox.netlink import NLM_F_ACK, NLM_F_CREATE, attribute, check, message, text

_NETLINK_NETFILTER = 12
_BATCH_BEGIN, _BATCH_END = 16, 17
_NFTABLES = 10
_NEW_TABLE, _NEW_CHAIN, _NEW_RULE = (_NFTABLES << 8 | kind for kind in (0, 3, 6))
_NLM_F_APPEND = 0x800
_NESTED = 1 << 15

_TABLE, _CHAIN = "egress", "prerouting"
_PREROUTING, _BEFORE_LOCAL_NAT = 0, -100
_REGISTER = 1
_EQUAL, _UNEQUAL = 0, 1
_NETWORK_HEADER, _DESTINATION, _PREFIX_BYTES = 1, 16, 2
_META_L4PROTO = 16


def redirect_tcp(network: str, port: int) -> None:
    """Let each TCP connection from pods to an address outside of `network`, a /16, end at `port` of this namespace.

    Where it was to lead is what `SO_ORIGINAL_DST` of the accepted socket says. Raises `OSError`.
    """
    outside = _data(socket.inet_aton(network)[:_PREFIX_BYTES])
    rule = [
        ("meta", _number(2, _META_L4PROTO) + _number(1, _REGISTER)),
        ("cmp", _compare(_EQUAL, _data(bytes((socket.IPPROTO_TCP,))))),
        (
            "payload",
            _number(1, _REGISTER) + _number(2, _NETWORK_HEADER) + _number(3, _DESTINATION) + _number(4, _PREFIX_BYTES),
        ),
        ("cmp", _compare(_UNEQUAL, outside)),
        ("immediate", _number(1, _REGISTER) + _nested(2, _data(struct.pack(">H", port)))),
        ("redir", _number(1, _REGISTER)),
    ]
    expressions = b"".join(_nested(1, text(1, name) + _nested(2, data)) for name, data in rule)
    hook = _number(1, _PREROUTING) + attribute(2, struct.pack(">i", _BEFORE_LOCAL_NAT))
    chain = text(1, _TABLE) + text(3, _CHAIN) + _nested(4, hook) + text(7, "nat")
    _commit(
        (_NEW_TABLE, 0, text(1, _TABLE)),
        (_NEW_CHAIN, 0, chain),
        (_NEW_RULE, _NLM_F_APPEND, text(1, _TABLE) + text(2, _CHAIN) + _nested(4, expressions)),
    )


def _commit(*changes: tuple[int, int, bytes]) -> None:
    """Create all of these, or none."""
    batch = struct.pack("=BBH", socket.AF_UNSPEC, 0, socket.htons(_NFTABLES))
    messages = [message(_BATCH_BEGIN, 0, 0, batch)]
    for number, (kind, flags, attributes) in enumerate(changes, 1):
        header = struct.pack("=BBH", socket.AF_INET, 0, 0)
        messages.append(message(kind, NLM_F_ACK | NLM_F_CREATE | flags, number, header + attributes))
    messages.append(message(_BATCH_END, 0, len(changes) + 1, batch))
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_NETFILTER) as connection:
        connection.bind((0, 0))
        connection.send(b"".join(messages))
        for _ in changes:
            check(connection.recv(65536), "nftables")


def _compare(how: int, data: bytes) -> bytes:
    return _number(1, _REGISTER) + _number(2, how) + _nested(3, data)


def _data(value: bytes) -> bytes:
    return attribute(1, value)


def _nested(kind: int, value: bytes) -> bytes:
    return attribute(kind | _NESTED, value)


def _number(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack(">I", value))
