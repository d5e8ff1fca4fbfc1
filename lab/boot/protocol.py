# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest sends by its result port; lab/init/port.h defines the frames."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum

MAGIC = 0x4C425354
VERSION = 1
MAX_PAYLOAD = 4096
NO_COMMAND = 0xFFFF
TIMED_OUT = -1
_HEADER = struct.Struct("<IHHII")
_CRC = struct.Struct("<I")


class Type(IntEnum):
    """Kinds of frames."""

    HELLO = 1
    BEGIN = 2
    OUTPUT = 3
    EXIT = 4
    FILE = 5
    DATA = 6
    TAINT = 7
    END = 8
    LOG = 9


class ProtocolError(Exception):
    """The stream is damaged: results of this guest cannot be trusted."""


@dataclass(frozen=True)
class Frame:
    """One frame whose checksum was right."""

    type: Type
    command: int
    payload: bytes


def encode(kind: Type, command: int, sequence: int, payload: bytes) -> bytes:
    """A frame as the guest's init sends it."""
    header = _HEADER.pack(MAGIC, kind, command, sequence, len(payload))
    return header + _CRC.pack(zlib.crc32(payload, zlib.crc32(header))) + payload


class Decoder:
    """Turns bytes, as they arrive, into frames."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._sequence = 0

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Yield the frames that ``data`` completes."""
        self._buffer += data
        start = _HEADER.size + _CRC.size
        while len(self._buffer) >= start:
            magic, kind, command, sequence, length = _HEADER.unpack_from(self._buffer)
            if magic != MAGIC or length > MAX_PAYLOAD:
                raise ProtocolError(f"no frame where frame {self._sequence} should begin")
            if len(self._buffer) < start + length:
                return
            payload = bytes(self._buffer[start : start + length])
            (crc,) = _CRC.unpack_from(self._buffer, _HEADER.size)
            if zlib.crc32(payload, zlib.crc32(self._buffer[: _HEADER.size])) != crc:
                raise ProtocolError(f"frame {sequence}: wrong checksum")
            if sequence != self._sequence:
                raise ProtocolError(f"frame {sequence} where {self._sequence} was expected")
            self._sequence += 1
            del self._buffer[: start + length]
            yield Frame(Type(kind), command, payload)


@dataclass
class Outcome:
    """How one command went."""

    line: str
    output: str = ""
    status: int | None = None
    """Exit status; negative: killed by that signal; ``None``: it never ended."""
    timed_out: bool = False
    guest_ns: int = 0
    taint: int = 0
    files: dict[str, bytes] = field(default_factory=dict)


class Transcript:
    """A whole run of a guest, put together from its frames."""

    def __init__(self) -> None:
        self.uname = ""
        self.outcomes: list[Outcome] = []
        self.ended = False
        self.log = ""
        self._file: str | None = None

    def add(self, frame: Frame) -> None:
        """Take one frame into account."""
        if frame.type is Type.HELLO:
            version, _, self.uname = frame.payload.decode(errors="replace").partition(" ")
            if version != str(VERSION):
                raise ProtocolError(f"the guest speaks version {version}, not {VERSION}")
        elif frame.type is Type.END:
            self.ended = True
        elif frame.type is Type.LOG:
            self.log += frame.payload.decode(errors="replace")
        elif frame.type is Type.BEGIN:
            self.outcomes.append(Outcome(frame.payload.decode(errors="replace")))
        else:
            self._add_to(self.outcomes[frame.command], frame)

    def _add_to(self, outcome: Outcome, frame: Frame) -> None:
        if frame.type is Type.OUTPUT:
            outcome.output += frame.payload.decode(errors="replace")
        elif frame.type is Type.FILE:
            self._file = frame.payload.decode(errors="replace")
            outcome.files[self._file] = b""
        elif frame.type is Type.DATA and self._file is not None:
            outcome.files[self._file] += frame.payload
        elif frame.type is Type.TAINT:
            (outcome.taint,) = struct.unpack("<Q", frame.payload)
        elif frame.type is Type.EXIT:
            status, outcome.guest_ns = struct.unpack("<iQ", frame.payload)
            if status == TIMED_OUT:
                outcome.timed_out = True
            elif status & 0x7F:
                outcome.status = -(status & 0x7F)
            else:
                outcome.status = status >> 8 & 0xFF
