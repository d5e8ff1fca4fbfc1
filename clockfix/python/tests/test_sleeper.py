# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sleepers."""

import signal
import threading
import time

import pytest

from clockfix import Options, Sleeper, sleep_until

MS = 1_000_000


@pytest.mark.parametrize("clock", [time.CLOCK_MONOTONIC, time.CLOCK_REALTIME,
                                   time.CLOCK_BOOTTIME, time.CLOCK_TAI])
def test_never_early(clock: int) -> None:
    with Sleeper() as sleeper:
        for length in (-MS, 0, 10_000, 300_000, 2 * MS) * 10:
            instant = time.clock_gettime_ns(clock) + length
            sleeper.sleep_until(instant, clock)
            assert time.clock_gettime_ns(clock) >= instant
        assert sleeper.stats().jobs >= 50


def test_one_call() -> None:
    def sleeps() -> None:
        for clock in (time.CLOCK_MONOTONIC, time.CLOCK_TAI):
            for length in (0, 10_000, 300_000, 2 * MS):
                instant = time.clock_gettime_ns(clock) + length
                sleep_until(instant, clock)
                slept.append(time.clock_gettime_ns(clock) >= instant)

    slept: list[bool] = []
    threads = [threading.Thread(target=sleeps) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert slept == [True] * 32
    with pytest.raises(ValueError, match="range"):
        sleep_until(0, 4711)


def test_duration() -> None:
    start = time.monotonic()
    with Sleeper(Options(late_ppm=1000)) as sleeper:
        sleeper.sleep(0.01)
    assert time.monotonic() - start >= 0.01


def test_a_signal_does_not_end_it() -> None:
    caught: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: caught.append(number))
    try:
        with Sleeper() as sleeper:
            start = time.monotonic()
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            sleeper.sleep(0.1)
            assert time.monotonic() - start >= 0.1
    finally:
        signal.signal(signal.SIGALRM, before)
    assert caught


def test_closed() -> None:
    sleeper = Sleeper()
    sleeper.close()
    with pytest.raises(ValueError, match="closed"):
        sleeper.sleep(0)
    with pytest.raises(ValueError, match="range"):
        sleeper.stats()
    sleeper.close()


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="range"):
        Sleeper(Options(cpu_ppm=1_000_001))
    with Sleeper() as sleeper, pytest.raises(ValueError, match="range"):
        sleeper.sleep_until(0, 4711)


def test_every() -> None:
    start = time.monotonic_ns() + 1_000_000
    seen = []
    for index in Sleeper().every(0.001, start=start):
        assert time.monotonic_ns() >= start + index * 1_000_000
        seen.append(index)
        if len(seen) == 10:
            time.sleep(0.005)
        if index > 30:
            break
    assert seen == sorted(set(seen))
    assert len(seen) < seen[-1]
    with pytest.raises(ValueError, match="a period"):
        next(Sleeper().every(0))
