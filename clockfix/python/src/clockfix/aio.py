# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sleep in a coroutine of asyncio."""

import asyncio
import errno
import heapq
import itertools
import select
import time
from collections.abc import AsyncIterator
from typing import Self

from clockfix._errors import checked, nanoseconds
from clockfix._native import ffi, lib
from clockfix.options import Options
from clockfix.sleeper import instants

NEVER = 1 << 62


class AsyncTimer:
    """Lets coroutines go on at exactly an instant of CLOCK_MONOTONIC.

    The descriptor of a sleeper wakes the event loop before the instant, by as much as it took
    from there to the coroutine lately. The coroutine waits out the rest, and for that time holds
    up the loop, as any other code in it does; other threads run.

        async with AsyncTimer() as timer:
            async for index in timer.every(0.001):
                step()
    """

    def __init__(self, options: Options | None = None) -> None:
        self._options = options or Options()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = itertools.count()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._due: asyncio.Future[None] | None = None  # its coroutine waits out the rest
        self._armed = NEVER
        self._readable = select.poll()

    async def __aenter__(self) -> Self:
        result = ffi.new("struct clockfix_sleeper **")
        checked(lib.clockfix_sleeper_create(result, self._options.native()))
        self._native = ffi.gc(result[0], lib.clockfix_sleeper_destroy)
        self._fd = checked(lib.clockfix_sleeper_fd(self._native))
        self._loop = asyncio.get_running_loop()
        self._readable.register(self._fd, select.POLLIN)
        self._loop.add_reader(self._fd, self._wake)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._loop
        self._loop.remove_reader(self._fd)
        self._loop = None
        ffi.release(self._native)
        for _instant, _order, future in self._waiting:
            future.cancel()

    async def sleep_until(self, instant: int) -> None:
        """Go on when time.monotonic_ns() has reached the instant."""
        if self._loop is None:
            raise ValueError("use it in 'async with'")
        if instant <= time.monotonic_ns():
            # others have their turn, however late this one is
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = self._loop.create_future()
        heapq.heappush(self._waiting, (instant, next(self._order), future))
        try:
            self._arm()
            await future
            if self._loop is None:
                raise ValueError("left 'async with' while it was due")
            ret = lib.clockfix_sleeper_finish(self._native)
            while ret == -errno.EINTR:
                ret = lib.clockfix_sleep_until(self._native, time.CLOCK_MONOTONIC, instant)
            checked(ret)
            self._armed = NEVER
        finally:
            future.cancel()
            if self._due is future:
                self._due = None
                self._arm()

    async def sleep(self, seconds: float) -> None:
        """Go on that long after the call."""
        await self.sleep_until(time.monotonic_ns() + nanoseconds(seconds))

    async def every(self, seconds: float, *, start: int | None = None) -> AsyncIterator[int]:
        """At start + k * seconds, yield k; what has been missed is left out.

        The first instant is one period from now if no other is given.
        """
        for index, instant in instants(seconds, start):
            await self.sleep_until(instant)
            yield index

    def _prune(self) -> int:
        """Drop what was cancelled; the earliest instant."""
        while self._waiting and self._waiting[0][2].done():
            heapq.heappop(self._waiting)
        return self._waiting[0][0] if self._waiting else NEVER

    def _arm(self) -> None:
        earliest = self._prune()
        if self._due is None and self._loop and earliest != self._armed:
            checked(lib.clockfix_sleeper_arm(self._native, earliest))
            self._armed = earliest

    def _wake(self) -> None:
        # The loop may have seen it readable before the sleep that it was for ended.
        if self._due or not self._readable.poll(0):
            return
        if self._prune() != self._armed:
            self._arm()
            return
        self._due = heapq.heappop(self._waiting)[2]
        self._due.set_result(None)
        # it stays readable until its coroutine has waited, which may be cancelled before
        self._armed = -1
