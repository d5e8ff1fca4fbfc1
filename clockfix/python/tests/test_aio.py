# SPDX-License-Identifier: LGPL-2.1-or-later
"""asyncio."""

import asyncio
import time

import pytest

from clockfix import AsyncTimer

MS = 1_000_000


def test_never_early_and_the_loop_goes_on() -> None:
    async def sleeper(timer: AsyncTimer, length: int) -> None:
        for _ in range(20):
            instant = time.monotonic_ns() + length
            await timer.sleep_until(instant)
            assert time.monotonic_ns() >= instant

    async def main() -> None:
        async with AsyncTimer() as timer:
            await asyncio.gather(*(sleeper(timer, k * 300_000) for k in range(-1, 8)))

    asyncio.run(main())


def test_every() -> None:
    async def main() -> list[int]:
        seen: list[int] = []
        async with AsyncTimer() as timer:
            start = time.monotonic_ns() + MS
            async for index in timer.every(0.002, start=start):
                assert time.monotonic_ns() >= start + index * 2 * MS
                seen.append(index)
                if len(seen) == 3:
                    # blocks the loop: five are missed
                    time.sleep(0.01)
                if len(seen) == 10:
                    return seen
        raise AssertionError

    seen = asyncio.run(main())
    assert seen == sorted(set(seen))
    assert seen[3] >= seen[2] + 5


def test_cancelled() -> None:
    async def main() -> None:
        async with AsyncTimer() as timer:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(timer.sleep(3600), 0.02)
            start = time.monotonic()
            await timer.sleep(0.01)
            assert time.monotonic() - start >= 0.01

    asyncio.run(main())


async def due(timer: AsyncTimer) -> "asyncio.Task[None]":
    """A sleep that has ended, but whose task has not run since."""
    task = asyncio.ensure_future(timer.sleep(0.01))
    while not timer._due:
        await asyncio.sleep(0)
    return task


def test_cancelled_when_it_is_due() -> None:
    async def main() -> None:
        async with AsyncTimer() as timer:
            task = await due(timer)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            # an error in the loop's reader would go to its handler
            await asyncio.sleep(0.01)
            await timer.sleep(0.01)
        assert not errors

    errors: list[object] = []

    async def watched() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, error: errors.append(error))
        await main()

    asyncio.run(watched())


def test_closed_when_it_is_due() -> None:
    async def main() -> None:
        async with AsyncTimer() as timer:
            task = await due(timer)
        with pytest.raises(ValueError, match="async with"):
            await task

    asyncio.run(main())


def test_too_long_a_sleep_leaves_nothing() -> None:
    async def main() -> None:
        async with AsyncTimer() as timer:
            with pytest.raises((ValueError, OverflowError)):
                await timer.sleep(1e10)
            await timer.sleep(0.01)
            await asyncio.gather(timer.sleep(0.01), timer.sleep(0.02))

    asyncio.run(main())


def test_bad_arguments() -> None:
    async def main() -> None:
        timer = AsyncTimer()
        with pytest.raises(ValueError, match="async with"):
            await timer.sleep(0)
        async with timer:
            with pytest.raises(ValueError, match="period"):
                await anext(timer.every(0))

    asyncio.run(main())
