# SPDX-License-Identifier: GPL-2.0-or-later
import io
import tarfile

import pytest

from lab.boot.protocol import Decoder, ProtocolError, Transcript

MEMBERS = [
    ("uname", b"Linux 6.12"),
    ("0/command", b"60 /bin/response"), ("0/output", b"hel"), ("0/output", b"lo\n"),
    ("0/files/jobs.csv", b"a,b\n1,2\n" * 200), ("taint", b"512\n"), ("0/status", b"768"),
    ("1/command", b"1 /bin/loops"), ("taint", b"512\n"), ("1/status", b"-1"),
    ("2/command", b"1 /bin/dies"), ("taint", b"512\n"), ("2/status", b"11"),
    ("log", b""),
]


def stream() -> bytes:
    """As Python writes it, without the blocks of zeros at its end."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in MEMBERS:
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        return out.getvalue()[:tar.offset]


@pytest.mark.parametrize("step", [1, 700, 1 << 20])
def test_transcript(step: int) -> None:
    decoder, transcript, data = Decoder(), Transcript(), stream()
    for i in range(0, len(data), step):
        for name, content in decoder.feed(data[i:i + step]):
            transcript.add(name, content)
    assert transcript.ended
    assert transcript.uname == "Linux 6.12"
    first, second, third = transcript.outcomes
    assert (first.status, first.output, first.taint) == (3, "hello\n", 512)
    assert first.files == {"jobs.csv": b"a,b\n1,2\n" * 200}
    assert (second.status, second.timed_out, second.taint) == (None, True, 0)
    assert third.status == -11


def test_a_damaged_header_is_noticed() -> None:
    data = bytearray(stream())
    data[3] ^= 0x10
    with pytest.raises(ProtocolError, match="damaged: bad checksum"):
        list(Decoder().feed(bytes(data)))
