# SPDX-License-Identifier: LGPL-2.1-or-later
"""The same in a coroutine, next to others."""

import asyncio
import time

from clockfix import AsyncTimer


async def steps() -> None:
    """What is to be done each millisecond."""
    late: list[int] = []
    async with AsyncTimer() as timer:
        start = time.monotonic_ns() + 1_000_000
        async for index in timer.every(0.001, start=start):
            late.append(time.monotonic_ns() - start - index * 1_000_000)
            if index >= 1000:
                break
    late.sort()
    print(f"{len(late)} steps, p50 {late[len(late) // 2]} ns late")


async def main() -> None:
    """Two things at a time."""
    others = asyncio.create_task(asyncio.sleep(0.5, "slept"))
    await steps()
    print(await others)


asyncio.run(main())
