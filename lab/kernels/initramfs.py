# SPDX-License-Identifier: GPL-2.0-or-later
"""Initramfs images: a cpio archive ("newc") written so that the same content is the same file."""

_DIRECTORY = 0o040755
_PROGRAM = 0o100755


class Initramfs:
    """Collects files, then gives the archive."""

    def __init__(self) -> None:
        self._entries: dict[str, tuple[int, bytes]] = {}
        for name in ("bin", "dev", "lab", "proc", "sys", "tmp", "run", "etc"):
            self._entries[name] = (_DIRECTORY, b"")

    def add(self, name: str, data: bytes) -> None:
        """A file at ``/name``; its directories come by themselves."""
        parts = name.strip("/").split("/")
        for i in range(1, len(parts)):
            self._entries.setdefault("/".join(parts[:i]), (_DIRECTORY, b""))
        self._entries["/".join(parts)] = (_PROGRAM, data)

    def archive(self) -> bytes:
        """The archive."""
        parts = []
        inode = 1
        for name in sorted(self._entries):
            mode, data = self._entries[name]
            parts.append(_entry(name, mode, inode, data))
            inode += 1
        parts.append(_entry("TRAILER!!!", 0, 0, b""))
        return b"".join(parts)


def _entry(name: str, mode: int, inode: int, data: bytes) -> bytes:
    encoded = name.encode() + b"\0"
    fields = (inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(encoded), 0)
    header = b"070701" + b"".join(b"%08x" % f for f in fields)
    return _padded(header + encoded) + _padded(data)


def _padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 4)
