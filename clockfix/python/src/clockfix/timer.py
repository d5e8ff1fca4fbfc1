# SPDX-License-Identifier: LGPL-2.1-or-later
"""Timers: functions that are called at their instants, by a thread of their own."""

import atexit
import contextlib
import dataclasses
import errno
import heapq
import itertools
import os
import select
import signal
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from enum import IntEnum
from types import TracebackType
from typing import Any, Self

from clockfix._errors import checked, nanoseconds
from clockfix._native import ffi, lib
from clockfix.options import Options
from clockfix.sleeper import hold_gil_until
from clockfix.stats import Capabilities, Stats, capabilities, read_stats

MAX_JOBS = 1_000_000
NEVER = 2**63 - 1
REHEARSAL = 20_000  # ns that must be left for it


class Missed(IntEnum):
    """What happens to instants of a periodic job that have passed before it could run."""

    SKIP = 0
    CATCH_UP = 1
    REPORT = 2


class ClosedError(ValueError):
    """The timer is closed."""


class Job:
    """A function that is pending. While it is called it finds here what the call is for."""

    instant = 0
    """When it was meant to be called, in nanoseconds of CLOCK_MONOTONIC."""
    started = 0
    """CLOCK_MONOTONIC when the thread had waited, and had the GIL; 0: this is a rehearsal."""
    index = 0
    """Of a periodic job: this call is for start + index * period."""
    missed = 0
    """Of a periodic job: instants passed over since the last call."""

    def __init__(self, worker: "_Worker", call: Callable[[], object], start: int, period: int,
                 runs: int, missed: Missed, rehearse: bool) -> None:
        self._worker = worker
        self._call = call
        self._due, self._period, self._runs, self._policy = start, period, runs, missed
        self._rehearse = rehearse
        self._next_index = 0
        self._skipped = 0
        self._order = 0  # of its entry in the queue; 0: it is not pending

    @property
    def pending(self) -> bool:
        """Whether it will be called (again)."""
        return self._order != 0

    def cancel(self, *, wait: bool = False) -> bool:
        """See to it that the function is not called (again).

        True: it was pending, and is not being called at this moment. With wait, a call in
        progress has ended when this returns.
        """
        worker = self._worker
        worker.check()
        if wait:
            worker.refuse()
        with worker.changed:
            idle = worker.current is not self
            pending = worker.remove(self)
            if wait:
                worker.changed.wait_for(lambda: worker.current is not self)
        return pending and idle

    def reschedule(self, instant: int) -> bool:
        """Move it to another instant, in one step; a periodic job counts its calls anew.

        False: it is over, or being called at this moment.
        """
        worker = self._worker
        worker.check()
        _check_instant(instant)
        with worker.changed:
            if worker.current is self or not self.pending:
                return False
            self._due, self._next_index = instant, 0
            worker.push(self)
        return True

    def adjust(self, shift: int = 0, seconds: float = 0) -> None:
        """Shift the next instant of a periodic job and all after it, by nanoseconds.

        For a function that follows an outer clock; to be called by itself. A duration in seconds
        becomes the new period.
        """
        worker = self._worker
        if (worker.current is not self or not self.started
                or threading.current_thread() is not worker.thread):
            checked(-errno.EPERM)
        if not self._period or seconds < 0:
            checked(-errno.EINVAL)
        _check_instant(self._due + shift)
        self._due += shift
        self._period = nanoseconds(seconds) or self._period

    def _advance(self, periods: int) -> None:
        self._due += periods * self._period
        self._next_index += periods

    def _begin(self, now: int) -> tuple[bool, int]:
        """Deal with instants that have passed: whether to call it now, and how many they were."""
        behind = (now - self._due) // self._period if self._period else 0
        if self._runs:
            behind = min(behind, self._runs - 1 - self._next_index)
        if behind > 0 and self._policy == Missed.CATCH_UP:
            behind = 1
        elif behind > 0:
            self._advance(behind)
            # of a period that is shorter than a call all would be skipped: not twice in a row
            skips = self._policy == Missed.SKIP and not self._skipped
            self._skipped += behind + skips
            if skips:
                return False, behind + 1
        self.instant, self.started, self.index = self._due, now, self._next_index
        self.missed, self._skipped = self._skipped, 0
        return True, behind


def _check_instant(instant: int) -> None:
    if not 0 <= instant < NEVER:
        raise ValueError("an instant is out of its range")


class _Worker:
    """The thread, and what it has to do. It does not know its timer, which may be collected."""

    def __init__(self, options: Options, lead: int) -> None:
        self.lead = lead
        self.options = options
        self.changed = threading.Condition()  # of what follows; a signal's handler may enter, too
        self.queue: list[tuple[int, int, Job]] = []
        self.pending = 0
        self.order = itertools.count(1)
        self.current: Job | None = None
        self.ending = self.ended = False
        self.error: BaseException | None = None
        self.cancelled = self.missed = self.longest = 0
        self.status: dict[str, Any] = {"timer_slack": "in force"}
        self.pid = os.getpid()
        result = ffi.new("struct clockfix_sleeper **")
        checked(lib.clockfix_sleeper_create(result, options.for_sleeper().native()))
        self.sleeper: Any = ffi.gc(result[0], lib.clockfix_sleeper_destroy)
        self.wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        weakref.finalize(self, os.close, self.wake).atexit = False
        ready: Future[None] = Future()
        self.thread = threading.Thread(target=self.serve, args=(ready,), daemon=True,
                                       name=options.name or "clockfix")
        self.thread.start()
        ready.result()
        _open.add(self)

    # ---- for all threads, holding the condition but where it says so -----------------------

    def check(self) -> None:
        """Not in a child: the thread is the parent's. Without the condition."""
        if os.getpid() != self.pid:
            checked(-errno.ECHILD)

    def refuse(self) -> None:
        """Not by the thread itself."""
        if threading.current_thread() is self.thread:
            raise RuntimeError("a function that the timer calls can't wait for its own timer")

    def push(self, job: Job) -> None:
        """Have it called when it is due."""
        self.pending += not job.pending
        job._order = next(self.order)
        heapq.heappush(self.queue, (job._due, job._order, job))
        if self.queue[0][2] is job and threading.current_thread() is not self.thread:
            os.eventfd_write(self.wake, 1)

    def remove(self, job: Job) -> bool:
        """Whether it was pending."""
        if not job.pending:
            return False
        job._order = 0
        self.pending -= 1
        self.cancelled += self.current is not job
        self.changed.notify_all()
        return True

    def end(self, *, drop: bool) -> None:
        """Take no more; have the thread end when nothing is pending. Without the condition."""
        with self.changed:
            self.ending = True
            for _due, order, job in self.queue:
                if order == job._order and (drop or job._period):
                    self.remove(job)
            if self.current and (drop or self.current._period):
                self.remove(self.current)
            os.eventfd_write(self.wake, 1)

    def earliest(self) -> Job | None:
        """Without what has been cancelled or moved."""
        while self.queue and self.queue[0][1] != self.queue[0][2]._order:
            heapq.heappop(self.queue)
        return self.queue[0][2] if self.queue else None

    # ---- the thread ------------------------------------------------------------------------

    def serve(self, ready: "Future[None]") -> None:
        """Wait for the earliest, call it, until the end."""
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            self.set_up()
        except OSError as error:
            ready.set_exception(error)
            return
        ready.set_result(None)
        poll = select.poll()
        poll.register(self.wake, select.POLLIN)
        descriptor = lib.clockfix_sleeper_fd(self.sleeper)
        poll.register(descriptor, select.POLLIN)
        while True:
            with self.changed:
                job = self.earliest()
                instant = job._due if job else NEVER - 1
                # it counts the last wait: before those that drain know that it is over
                lib.clockfix_sleeper_arm(self.sleeper, time.CLOCK_MONOTONIC,
                                         max(instant - self.lead, 0))
                self.ended = self.ending and not job
                self.changed.notify_all()
                if self.ended:
                    break
            events = [fd for fd, _ in poll.poll()]
            if self.wake in events:
                os.eventfd_read(self.wake)
            elif job:
                self.rehearse(job, instant)
                if not lib.clockfix_sleeper_finish(self.sleeper):
                    self.arrived(job, instant)
        _open.discard(self)

    def set_up(self) -> None:
        """What asks for privileges; what is refused is noted, or an error if options are strict."""
        options = self.options
        wanted: dict[str, tuple[object, Callable[[], object]]] = {
            "affinity": (options.cpu, lambda: os.sched_setaffinity(0, [options.cpu or 0])),
            "scheduling": (options.policy, lambda: os.sched_setscheduler(
                0, options.policy or 0, os.sched_param(options.priority or 0))),
            "cpu_latency": (options.cpu_latency_us, self.limit_latency),
        }
        with contextlib.suppress(OSError), open("/proc/thread-self/comm", "w",
                                                encoding="utf-8") as file:
            file.write(options.name or "clockfix")
        for what, (value, ask) in wanted.items():
            self.status[what] = "in force" if value is not None else "not asked"
            if value is None:
                continue
            try:
                ask()
            except OSError as error:
                self.status[what] = os.strerror(error.errno or 0)
                if options.strict:
                    raise

    def limit_latency(self) -> None:
        """The kernel drops the request when the file is closed."""
        file = os.open("/dev/cpu_dma_latency", os.O_WRONLY | os.O_CLOEXEC)
        weakref.finalize(self, os.close, file).atexit = False
        os.write(file, (self.options.cpu_latency_us or 0).to_bytes(4, sys.byteorder))

    def arrived(self, job: Job, instant: int) -> None:
        """Its instant, less the lead, has come: call it unless it was cancelled or moved."""
        if self.lead:
            hold_gil_until(instant)
        with self.changed:
            if self.earliest() is not job or job._due != instant:
                return
            heapq.heappop(self.queue)
            now = time.monotonic_ns()
            call, missed = job._begin(now)
            self.missed += missed
            if not call:
                self.passed(job)
                return
            self.current = job
        self.call(job, now)
        with self.changed:
            self.current = None
            self.passed(job)

    def passed(self, job: Job) -> None:
        """One of its instants has: wait for the next, if there is one. Holding the condition."""
        if not job.pending:
            return
        last = job._runs and job._next_index + 1 >= job._runs
        if job._period and not last and job._due + job._period < NEVER:
            job._advance(1)
            self.push(job)
        else:
            job._order = 0
            self.pending -= 1

    def rehearse(self, job: Job, instant: int) -> None:
        """Go once through what follows, with the call if it may be: it is in the caches then."""
        with self.changed:
            if (self.earliest() is not job or job._due != instant
                    or time.monotonic_ns() + REHEARSAL > instant):
                return
            if job._rehearse:
                job.instant, job.started, job.index = instant, 0, job._next_index
                self.current = job
        if self.current:
            self.call(job, time.monotonic_ns())
        with self.changed:
            self.current = None

    def call(self, job: Job, now: int) -> None:
        """What it raises ends it."""
        try:
            job._call()
        except BaseException as error:
            with self.changed:
                self.remove(job)
                first, self.error = self.error is None, self.error or error
            if not first:
                with contextlib.suppress(BaseException):  # or the hook's error ends the thread
                    threading.excepthook(threading.ExceptHookArgs(
                        (type(error), error, error.__traceback__, None)))
        self.longest = max(self.longest, time.monotonic_ns() - now)


class Timer:
    """A thread that calls functions at exactly their instants.

    A function holds the GIL like any other; gil_lead is how many seconds before its instant the
    thread asks for it. What a function raises ends its job, and is raised by the next drain() or
    close().
    """

    def __init__(self, options: Options | None = None, *, gil_lead: float = 0) -> None:
        if gil_lead < 0:
            raise ValueError("gil_lead is negative")
        self._worker = _Worker(options or Options(), nanoseconds(gil_lead))
        self._collected = weakref.finalize(self, _abandon, self._worker)
        self._collected.atexit = False

    # ---- jobs ----------------------------------------------------------------------------

    def at(self, instant: int, function: Callable[..., object], *args: object) -> Job:
        """Call it at an instant, in nanoseconds of CLOCK_MONOTONIC; at once if that passed."""
        return self._schedule(function, args, instant)

    def after(self, seconds: float, function: Callable[..., object], *args: object) -> Job:
        """Call it that long from now."""
        return self.at(self.now() + nanoseconds(seconds), function, *args)

    def every(self, seconds: float, function: Callable[..., object], *args: object,
              start: int | None = None, runs: int = 0, missed: Missed = Missed.SKIP,
              rehearse: bool = False) -> Job:
        """Call it at start + k * seconds, for ever or for that many k.

        The first instant is one period from now if no other is given. With rehearse it is called
        once more before each instant, if there is time, with job.started 0; it is to be brief then,
        and can't adjust itself.
        """
        period = nanoseconds(seconds)
        if period <= 0:
            raise ValueError("a period is a nanosecond at least")
        if runs < 0:
            raise ValueError("runs is negative")
        first = self.now() + period if start is None else start
        return self._schedule(function, args, first, period, runs, missed, rehearse)

    def _schedule(self, function: Callable[..., object], args: tuple[object, ...], start: int,
                  period: int = 0, runs: int = 0, missed: Missed = Missed.SKIP,
                  rehearse: bool = False) -> Job:
        worker = self._worker
        if not callable(function):
            raise TypeError(f"{function!r} can't be called")
        _check_instant(start)
        worker.check()
        job = Job(worker, (lambda: function(*args)) if args else function, start, period, runs,
                  Missed(missed), rehearse)
        with worker.changed:
            if worker.ending:
                # a function that is called until the end need not know that it has come
                if threading.current_thread() is worker.thread:
                    return job
                raise ClosedError("the timer is closed")
            if worker.pending >= (worker.options.max_jobs or MAX_JOBS):
                checked(-errno.ENOMEM)
            worker.push(job)
        return job

    # ---- the end -------------------------------------------------------------------------

    def _raise(self) -> None:
        with self._worker.changed:
            error, self._worker.error = self._worker.error, None
        if error is not None:
            raise error

    def drain(self) -> None:
        """Wait until no job is pending or running; raise what a function raised."""
        worker = self._worker
        worker.check()
        worker.refuse()
        with worker.changed:
            worker.changed.wait_for(
                lambda: worker.ended or not (worker.pending or worker.current))
        self._raise()

    def close(self, *, drop: bool = False) -> None:
        """End the thread: periodic jobs at once, others when they have run.

        With drop, what is pending is not called. From now on no job is taken. What a function
        raised is raised.
        """
        worker = self._worker
        self._collected.detach()
        if os.getpid() != worker.pid:
            worker.ending = True
            return
        worker.refuse()
        try:
            worker.end(drop=drop)
            with worker.changed:
                # a signal's handler may have interrupted who holds it, and join() does not let go
                worker.changed.wait_for(lambda: worker.ended)
            worker.thread.join()
        except BaseException:
            # interrupted: it must not wait for hours of jobs at the interpreter's exit
            worker.end(drop=True)
            raise
        self._raise()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close(drop=kind is not None)

    # ---- what there is to know -----------------------------------------------------------

    def now(self) -> int:
        """What CLOCK_MONOTONIC shows."""
        return time.monotonic_ns()

    def stats(self) -> Stats:
        """What happened so far; a call in progress is not counted yet."""
        worker = self._worker
        worker.check()
        with worker.changed:
            found = read_stats(lambda to: lib.sleeper_stats_copy(worker.sleeper, to) or 0)
            return dataclasses.replace(found, cancelled=worker.cancelled, missed=worker.missed,
                                       pending=worker.pending, longest_job=worker.longest)

    def capabilities(self) -> Capabilities:
        """What became of the options."""
        return dataclasses.replace(capabilities(), **self._worker.status)


_open: set[_Worker] = set()


def _abandon(worker: _Worker) -> None:
    """Its timer has been collected."""
    if os.getpid() == worker.pid:
        warnings.warn("a Timer was not closed", ResourceWarning, stacklevel=2)
        worker.end(drop=True)


@atexit.register
def _close_all() -> None:
    """A thread that runs on while the interpreter is taken down finds nothing that it needs."""
    for worker in list(_open):
        if os.getpid() == worker.pid:
            worker.end(drop=True)
            worker.thread.join()
