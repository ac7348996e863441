"""SPDY/3.1 as bytes: the frames that clients of Kubernetes send and expect; no effects.

Draft 3.1 of the protocol (chromium.org/spdy). Flow control, settings, priorities and pushed streams are left out, as in
the implementation that Kubernetes uses.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

_WORDS: Final = (
    "options|head|post|put|delete|trace|accept|accept-charset|accept-encoding|accept-language|accept-ranges|age|allow|"
    "authorization|cache-control|connection|content-base|content-encoding|content-language|content-length|"
    "content-location|content-md5|content-range|content-type|date|etag|expect|expires|from|host|if-match|"
    "if-modified-since|if-none-match|if-range|if-unmodified-since|last-modified|location|max-forwards|pragma|"
    "proxy-authenticate|proxy-authorization|range|referer|retry-after|server|te|trailer|transfer-encoding|upgrade|"
    "user-agent|vary|via|warning|www-authenticate|method|get|status|200 OK|version|HTTP/1.1|url|public|set-cookie|"
    "keep-alive|origin"
)
_PHRASES: Final = (
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505203 Non-Authoritative "
    "Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized403 Forbidden404 Not Found500 "
    "Internal Server Error501 Not Implemented503 Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec "
    "00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8"
    "charset=iso-8859-1,utf-,*,enq=0."
)
DICTIONARY: Final = b"".join(struct.pack(">I", len(w)) + w.encode() for w in _WORDS.split("|")) + _PHRASES.encode()
"""What both sides know before the first header is compressed."""

_CONTROL: Final = 0x8003
"""The bit of control frames, and the version."""
_FIN: Final = 1
_LONGEST_FRAME: Final = 1 << 20
_LONGEST_HEADERS: Final = 1 << 16
_NUMBER: Final = struct.Struct(">I")
_HEAD: Final = struct.Struct(">II")


class Type(IntEnum):
    """Types of control frames, and of one that carries data."""

    DATA = 0
    SYN_STREAM = 1
    SYN_REPLY = 2
    RST_STREAM = 3
    PING = 6
    GOAWAY = 7


class SpdyError(ConnectionError):
    """What the other side sends cannot be understood, so that its connection is of no more use."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A frame; `id` is that of its stream, or what a ping says."""

    type: Type
    id: int
    fin: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    data: bytes = b""
    status: int = 0


class Encoder:
    """Writes frames of one connection, in the order in which they are sent."""

    def __init__(self) -> None:
        self._zlib = zlib.compressobj(zdict=DICTIONARY)

    def encode(self, frame: Frame) -> bytes:
        """Return a frame as bytes."""
        flags = _FIN if frame.fin else 0
        if frame.type is Type.DATA:
            return _HEAD.pack(frame.id, flags << 24 | len(frame.data)) + frame.data
        body = _NUMBER.pack(frame.id)
        if frame.type is Type.SYN_STREAM:
            body += bytes(6) + self._compressed(frame.headers)
        elif frame.type is Type.SYN_REPLY:
            body += self._compressed(frame.headers)
        elif frame.type in (Type.RST_STREAM, Type.GOAWAY):
            body += _NUMBER.pack(frame.status)
        return _HEAD.pack(_CONTROL << 16 | frame.type, flags << 24 | len(body)) + body

    def _compressed(self, headers: Mapping[str, str]) -> bytes:
        texts = [text.encode() for pair in headers.items() for text in pair]
        block = _NUMBER.pack(len(headers)) + b"".join(_NUMBER.pack(len(text)) + text for text in texts)
        return self._zlib.compress(block) + self._zlib.flush(zlib.Z_SYNC_FLUSH)


class Decoder:
    """Reads frames of one connection from whatever pieces arrive."""

    def __init__(self) -> None:
        self._zlib = zlib.decompressobj(zdict=DICTIONARY)
        self._buffer = bytearray()

    def decode(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that are complete with `data`; raises `SpdyError`."""
        self._buffer += data
        while len(self._buffer) >= _HEAD.size:
            first, second = _HEAD.unpack_from(self._buffer)
            length, flags = second & 0xFFFFFF, second >> 24
            if length > _LONGEST_FRAME:
                raise SpdyError(f"a frame of {length} bytes: {_LONGEST_FRAME} is the most")
            end = _HEAD.size + length
            if len(self._buffer) < end:
                return
            body = bytes(self._buffer[_HEAD.size : end])
            del self._buffer[:end]
            if (frame := self._frame(first, flags, body)) is not None:
                yield frame

    def _frame(self, first: int, flags: int, body: bytes) -> Frame | None:
        """Return the frame; None for a type without a meaning here."""
        fin = bool(flags & _FIN)
        if not first >> 31:
            return Frame(Type.DATA, first, fin, data=body)
        if first >> 16 != _CONTROL:
            raise SpdyError(f"a control frame of version {first >> 16 & 0x7FFF}, not 3")
        try:
            kind = Type(first & 0xFFFF)
        except ValueError:
            return None
        try:
            return self._control_frame(kind, fin, body)
        except (struct.error, zlib.error, UnicodeDecodeError) as error:
            raise SpdyError(f"a frame of type {kind.name} that cannot be read: {error}") from None

    def _control_frame(self, kind: Type, fin: bool, body: bytes) -> Frame:
        (id,) = _NUMBER.unpack_from(body)
        match kind:
            case Type.SYN_STREAM:
                return Frame(kind, id & 0x7FFFFFFF, fin, self._headers(body[10:]))
            case Type.SYN_REPLY:
                return Frame(kind, id & 0x7FFFFFFF, fin, self._headers(body[4:]))
            case Type.RST_STREAM | Type.GOAWAY:
                return Frame(kind, id & 0x7FFFFFFF, status=_NUMBER.unpack_from(body, 4)[0])
        return Frame(kind, id)

    def _headers(self, block: bytes) -> dict[str, str]:
        text = self._zlib.decompress(block, _LONGEST_HEADERS)
        if self._zlib.unconsumed_tail:
            raise SpdyError(f"headers of more than {_LONGEST_HEADERS} bytes")
        (count,), at, parts = _NUMBER.unpack_from(text), 4, []
        for _ in range(2 * count):
            (length,) = _NUMBER.unpack_from(text, at)
            parts.append(text[at + 4 : at + 4 + length].decode())
            at += 4 + length
        return {name.lower(): value for name, value in zip(parts[::2], parts[1::2], strict=True)}
