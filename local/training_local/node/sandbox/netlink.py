"""The few messages of rtnetlink that a pod network needs: a bridge, pairs of virtual cards, addresses."""

from __future__ import annotations

import os
import socket
import struct

_RTM_NEWLINK = 16
_RTM_NEWADDR = 20
_RTM_NEWROUTE = 24
_NLM_F_REQUEST = 0x1
NLM_F_ACK = 0x4
_NLM_F_EXCL = 0x200
NLM_F_CREATE = 0x400
_NLMSG_ERROR = 2

_IFF_UP = 1
_IFLA_IFNAME = 3
_IFLA_MASTER = 10
_IFLA_LINKINFO = 18
_IFLA_NET_NS_FD = 28
_IFLA_INFO_KIND = 1
_IFLA_INFO_DATA = 2
_VETH_INFO_PEER = 1
_IFA_ADDRESS = 1
_IFA_LOCAL = 2
_IFA_BROADCAST = 4
_RTA_OIF = 4
_RTA_GATEWAY = 5
_MAIN_TABLE = 254
_STATIC = 4
_UNICAST = 1


class Netlink:
    """A netlink socket of the network namespace in which it was opened; every request waits for its answer."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
        self._socket.bind((0, 0))
        self._sequence = 0

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def add_bridge(self, name: str) -> None:
        """Create a bridge that is up."""
        self._new_link(text(_IFLA_IFNAME, name) + _link_info("bridge"), flags=_IFF_UP)

    def add_pair(self, name: str, peer: str, peer_namespace: int, master: int) -> None:
        """Create two joined cards: `name` here, up, at the bridge with index `master`; `peer` in another namespace."""
        other = _link(0, 0) + text(_IFLA_IFNAME, peer) + _number(_IFLA_NET_NS_FD, peer_namespace)
        pair = _link_info("veth", attribute(_VETH_INFO_PEER, other))
        self._new_link(text(_IFLA_IFNAME, name) + _number(_IFLA_MASTER, master) + pair, flags=_IFF_UP)

    def up(self, index: int) -> None:
        """Switch the card with this index on."""
        self._request(_RTM_NEWLINK, 0, _link(index, _IFF_UP))

    def add_address(self, index: int, address: str, prefix: int) -> None:
        """Give the card with this index an IPv4 address."""
        packed = socket.inet_aton(address)
        host_bits = (1 << (32 - prefix)) - 1
        broadcast = struct.pack(">I", struct.unpack(">I", packed)[0] | host_bits)
        header = struct.pack("=BBBBI", socket.AF_INET, prefix, 0, 0, index)
        attributes = attribute(_IFA_LOCAL, packed) + attribute(_IFA_ADDRESS, packed)
        attributes += attribute(_IFA_BROADCAST, broadcast)
        self._request(_RTM_NEWADDR, NLM_F_CREATE | _NLM_F_EXCL, header + attributes)

    def add_default_route(self, index: int, gateway: str) -> None:
        """Let everything that no other route is for go by the card with this index to an IPv4 address."""
        header = struct.pack("=BBBBBBBBI", socket.AF_INET, 0, 0, 0, _MAIN_TABLE, _STATIC, 0, _UNICAST, 0)
        attributes = _number(_RTA_OIF, index) + attribute(_RTA_GATEWAY, socket.inet_aton(gateway))
        self._request(_RTM_NEWROUTE, NLM_F_CREATE | _NLM_F_EXCL, header + attributes)

    def _new_link(self, attributes: bytes, *, flags: int) -> None:
        self._request(_RTM_NEWLINK, NLM_F_CREATE | _NLM_F_EXCL, _link(0, flags) + attributes)

    def _request(self, kind: int, flags: int, payload: bytes) -> None:
        self._sequence += 1
        self._socket.send(message(kind, NLM_F_ACK | flags, self._sequence, payload))
        check(self._socket.recv(65536), f"netlink request {kind}")


def message(kind: int, flags: int, sequence: int, payload: bytes) -> bytes:
    """A request; with `NLM_F_ACK` it is answered."""
    return struct.pack("=IHHII", 16 + len(payload), kind, _NLM_F_REQUEST | flags, sequence, 0) + payload


def check(answer: bytes, request: str) -> None:
    """Raise `OSError` if a request was not carried out."""
    _, answered, _, _, _, error = struct.unpack_from("=IHHIIi", answer)
    if answered != _NLMSG_ERROR or error:
        raise OSError(-error, f"{request}: {os.strerror(-error)}")


def attribute(kind: int, value: bytes) -> bytes:
    """An attribute, filled up to a multiple of four bytes."""
    return struct.pack("=HH", 4 + len(value), kind) + value + b"\0" * (-len(value) % 4)


def text(kind: int, value: str) -> bytes:
    """An attribute with a text."""
    return attribute(kind, value.encode() + b"\0")


def _link(index: int, flags: int) -> bytes:
    return struct.pack("=BBHiII", 0, 0, 0, index, flags, flags)


def _number(kind: int, value: int) -> bytes:
    return attribute(kind, struct.pack("=I", value))


def _link_info(kind: str, data: bytes = b"") -> bytes:
    detail = attribute(_IFLA_INFO_DATA, data) if data else b""
    return attribute(_IFLA_LINKINFO, text(_IFLA_INFO_KIND, kind) + detail)
