"""Many finished jobs in no time: one real one is copied inside etcd, as the API server has stored it.

Names and uids are exchanged for others of the same length, so that also what is stored as protobuf stays valid. The way
is etcd's own JSON gateway (https://etcd.io/docs/latest/dev-guide/api_grpc_gateway/).
"""

from __future__ import annotations

import asyncio
import json
import re
import urllib.request
import uuid
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from typing import Any

BATCH = 100
"""Changes in one transaction; etcd's own limit is 128."""
_UID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Pair = tuple[bytes, bytes]


class Etcd:
    """The key-value store of a control plane."""

    def __init__(self, address: str) -> None:
        self._address = address

    def under(self, prefix: str) -> list[Pair]:
        """All keys below a prefix, with their values."""
        begin = prefix.encode()
        end = begin[:-1] + bytes([begin[-1] + 1])
        found = self._call("range", {"key": _text(begin), "range_end": _text(end)})
        return [(b64decode(each["key"]), b64decode(each["value"])) for each in found.get("kvs", ())]

    def put(self, pairs: Sequence[Pair]) -> None:
        """Store all pairs in one transaction."""
        puts = [{"request_put": {"key": _text(key), "value": _text(value)}} for key, value in pairs]
        self._call("txn", {"success": puts})

    def _call(self, verb: str, body: dict[str, Any]) -> dict[str, Any]:
        request = urllib.request.Request(f"{self._address}/v3/kv/{verb}", json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            decoded: dict[str, Any] = json.load(answer)
            return decoded


async def copy(etcd: Etcd, prefixes: Sequence[str], name: str, others: Sequence[str]) -> int:
    """Copy what belongs to the object `name` to each of the other names, which have its length; how many keys."""
    pairs = [pair for prefix in prefixes for pair in etcd.under(prefix) if name.encode() in pair[0]]
    made = [pair for other in others for pair in _copies(pairs, name.encode(), other.encode())]
    for begin in range(0, len(made), BATCH):
        await asyncio.to_thread(etcd.put, made[begin : begin + BATCH])
    return len(made)


def _copies(pairs: Sequence[Pair], old: bytes, new: bytes) -> Iterator[Pair]:
    assert len(old) == len(new), "protobuf states lengths"
    uids: dict[bytes, bytes] = {}

    def other(match: re.Match[bytes]) -> bytes:
        return uids.setdefault(match[0], str(uuid.uuid4()).encode())

    for key, value in pairs:
        yield key.replace(old, new), _UID.sub(other, value.replace(old, new))


def _text(data: bytes) -> str:
    return b64encode(data).decode()
