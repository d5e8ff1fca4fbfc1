# SPDX-License-Identifier: GPL-2.0-or-later
"""What a guest sends by its result port: a tar stream, whose members lab/init/init.c describes."""

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field

TIMED_OUT = -1
BLOCK = tarfile.BLOCKSIZE


class ProtocolError(Exception):
    """The stream is damaged: results of this guest cannot be trusted."""


class Decoder:
    """Turns bytes, as they arrive, into members of the stream."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[str, bytes]]:
        """Yield the names and contents that ``data`` completes."""
        self._buffer += data
        while len(self._buffer) >= BLOCK:
            try:
                header = tarfile.TarInfo.frombuf(self._buffer[:BLOCK], "utf-8", "replace")
            except tarfile.HeaderError as error:
                raise ProtocolError(f"damaged: {error}") from None
            end = BLOCK + header.size
            whole = end + -end % BLOCK
            if len(self._buffer) < whole:
                return
            content = bytes(self._buffer[BLOCK:end])
            del self._buffer[:whole]
            yield header.name, content


@dataclass
class Outcome:
    """How one command went."""

    line: str
    output: str = ""
    status: int | None = None
    """Exit status; negative: killed by that signal; ``None``: it never ended."""
    timed_out: bool = False
    taint: int = 0
    """The kernel's, if the command changed it."""
    files: dict[str, bytes] = field(default_factory=dict)


class Transcript:
    """A whole run of a guest, put together from what it sent."""

    def __init__(self) -> None:
        self.uname = ""
        self.outcomes: list[Outcome] = []
        self.ended = False
        self.log = ""
        self._taint = 0

    def add(self, name: str, content: bytes) -> None:
        """Take one member into account."""
        text = content.decode(errors="replace")
        what = name.partition("/")[2] or name
        if what == "uname":
            self.uname = text
        elif what == "log":
            self.log, self.ended = text, True
        elif what == "command":
            self.outcomes.append(Outcome(text))
        elif what == "output":
            self.outcomes[-1].output += text
        elif what == "taint":
            if (taint := int(text)) != self._taint:
                self._taint = self.outcomes[-1].taint = taint
        elif what == "status":
            self._end(self.outcomes[-1], int(text))
        else:
            self.outcomes[-1].files[what.removeprefix("files/")] = content

    def _end(self, outcome: Outcome, status: int) -> None:
        if status == TIMED_OUT:
            outcome.timed_out = True
        elif status & 0x7F:
            outcome.status = -(status & 0x7F)
        else:
            outcome.status = status >> 8 & 0xFF
