# SPDX-License-Identifier: GPL-2.0-or-later
import struct

import pytest

from lab.boot.protocol import NO_COMMAND, Decoder, ProtocolError, Transcript, Type, encode


def stream() -> bytes:
    frames = [
        (Type.HELLO, NO_COMMAND, b"1 Linux 6.12"),
        (Type.BEGIN, 0, b"60 /bin/response"),
        (Type.OUTPUT, 0, b"hel"),
        (Type.OUTPUT, 0, b"lo\n"),
        (Type.FILE, 0, b"jobs.csv"),
        (Type.DATA, 0, b"a,b\n"),
        (Type.DATA, 0, b"1,2\n"),
        (Type.EXIT, 0, struct.pack("<iQ", 3 << 8, 1234)),
        (Type.TAINT, 0, struct.pack("<Q", 512)),
        (Type.BEGIN, 1, b"1 /bin/loops"),
        (Type.EXIT, 1, struct.pack("<iQ", -1, 10**9)),
        (Type.BEGIN, 2, b"1 /bin/dies"),
        (Type.EXIT, 2, struct.pack("<iQ", 11, 5)),
        (Type.END, NO_COMMAND, b""),
    ]
    return b"".join(encode(t, c, i, p) for i, (t, c, p) in enumerate(frames))


@pytest.mark.parametrize("step", [1, 7, 4096])
def test_transcript(step: int) -> None:
    decoder, transcript, data = Decoder(), Transcript(), stream()
    for i in range(0, len(data), step):
        for frame in decoder.feed(data[i : i + step]):
            transcript.add(frame)
    assert transcript.ended
    assert transcript.uname == "Linux 6.12"
    first, second, third = transcript.outcomes
    assert (first.status, first.output, first.guest_ns, first.taint) == (3, "hello\n", 1234, 512)
    assert first.files == {"jobs.csv": b"a,b\n1,2\n"}
    assert second.timed_out
    assert second.status is None
    assert third.status == -11


def test_every_damaged_byte_is_noticed() -> None:
    data = encode(Type.OUTPUT, 0, 0, b"payload") + encode(Type.END, 0, 1, b"")
    for i in range(len(data)):
        damaged = bytearray(data)
        damaged[i] ^= 0x10
        try:
            frames = list(Decoder().feed(bytes(damaged)))
        except ProtocolError:
            continue
        assert len(frames) < 2, f"byte {i}"


def test_lost_frame_is_noticed() -> None:
    decoder = Decoder()
    with pytest.raises(ProtocolError, match="expected"):
        list(decoder.feed(encode(Type.END, 0, 1, b"")))


def test_other_version_is_refused() -> None:
    (frame,) = Decoder().feed(encode(Type.HELLO, NO_COMMAND, 0, b"2 Linux"))
    with pytest.raises(ProtocolError, match="version 2"):
        Transcript().add(frame)
