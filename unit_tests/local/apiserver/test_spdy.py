"""Frames of SPDY/3.1; `e2e/local/test_port_forward.py` has those of kubectl."""

from __future__ import annotations

import struct
import zlib

import pytest

from training_local.apiserver.spdy_frames import DICTIONARY, Decoder, Encoder, Frame, SpdyError, Type


def test_the_dictionary_is_that_of_the_protocol() -> None:
    assert len(DICTIONARY) == 1423


def test_frames_survive_in_pieces_of_any_size() -> None:
    frames = [
        Frame(Type.SYN_STREAM, 1, headers={"port": "80", "streamtype": "data"}),
        Frame(Type.SYN_REPLY, 1),
        Frame(Type.DATA, 1, data=b"hello"),
        Frame(Type.SYN_STREAM, 3, fin=True, headers={"port": "80", "streamtype": "error"}),
        Frame(Type.PING, 5),
        Frame(Type.RST_STREAM, 1, status=5),
        Frame(Type.DATA, 3, fin=True),
        Frame(Type.GOAWAY, 3, status=0),
    ]
    encoder = Encoder()
    sent = b"".join(encoder.encode(frame) for frame in frames)
    for size in (1, 7, len(sent)):
        decoder = Decoder()
        pieces = (sent[at : at + size] for at in range(0, len(sent), size))
        assert [frame for piece in pieces for frame in decoder.decode(piece)] == frames


def control(kind: int, body: bytes) -> bytes:
    return struct.pack(">HHI", 0x8003, kind, len(body)) + body


def compressed(block: bytes) -> bytes:
    packer = zlib.compressobj(zdict=DICTIONARY)
    return packer.compress(block) + packer.flush(zlib.Z_SYNC_FLUSH)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (b"\x00\x00\x00\x01\x00\xff\xff\xff", "a frame of 16777215 bytes"),
        (b"\x80\x02\x00\x01\x00\x00\x00\x00", "version 2"),
        (control(1, b""), "SYN_STREAM that cannot be read"),
        (control(1, bytes(10) + b"no zlib"), "SYN_STREAM that cannot be read"),
        (control(1, bytes(10) + compressed(b"\x00\x00\x00\x09")), "SYN_STREAM that cannot be read"),
        (control(2, bytes(4) + compressed(bytes(1 << 20))), "headers of more than 65536 bytes"),
    ],
)
def test_what_cannot_be_understood_is_said(sent: bytes, said: str) -> None:
    with pytest.raises(SpdyError, match=said):
        list(Decoder().decode(sent))


def test_frames_of_other_types_are_passed_over() -> None:
    window_update = control(9, bytes(8))
    assert list(Decoder().decode(window_update + Encoder().encode(Frame(Type.PING, 2)))) == [Frame(Type.PING, 2)]
