# SPDX-License-Identifier: LGPL-2.1-or-later
"""Timers: functions that are called at their instants, by a thread of their own."""

import atexit
import contextlib
import errno
import itertools
import os
import threading
import time
from collections.abc import Callable
from enum import IntEnum
from types import TracebackType
from typing import Any, Self

from clockfix._errors import checked, nanoseconds
from clockfix._native import ffi, lib
from clockfix.options import Options
from clockfix.stats import Capabilities, Stats, read_capabilities, read_stats


class Missed(IntEnum):
    """What happens to instants of a periodic job that have passed before it could run."""

    SKIP = 0
    CATCH_UP = 1
    REPORT = 2


class ClosedError(ValueError):
    """The timer is closed."""


_keys = itertools.count(1)
_jobs: dict[int, "Job"] = {}
"""All that are pending. The worker hands in a key: what is not found here is not called."""


class Job:
    """A function that is pending. While it is called it finds here what the call is for."""

    instant = 0
    """When it was meant to be called, in nanoseconds of CLOCK_MONOTONIC."""
    started = 0
    """CLOCK_MONOTONIC when waiting ended: before the GIL was asked for."""
    index = 0
    """Of a periodic job: this call is for start + index * period."""
    missed = 0
    """Of a periodic job: instants passed over since the last call."""

    def __init__(self, timer: "Timer", call: Callable[[], object], *, periodic: bool,
                 runs: int) -> None:
        self._timer = timer
        self._call = call
        self._periodic = periodic
        self._runs = runs
        self._handle = 0
        self._key = next(_keys)

    @property
    def pending(self) -> bool:
        """Whether it will be called (again)."""
        return self._key in _jobs

    def cancel(self, *, wait: bool = False) -> bool:
        """See to it that the function is not called (again).

        True: it was pending, and is not being called at this moment. With wait, a call in
        progress has ended when this returns.
        """
        timer = self._timer
        if wait:
            timer._refuse_worker()
        pending = timer._forget(self)
        idle = timer._current is not self
        with contextlib.suppress(ClosedError):
            timer._native_call(lib.clockfix_cancel_wait if wait else lib.clockfix_cancel,
                               self._handle)
        return pending and idle

    def reschedule(self, instant: int) -> bool:
        """Move it to another instant, in one step; a periodic job counts its calls anew.

        False: it is over, or being called at this moment.
        """
        timer = self._timer
        handle = ffi.new("clockfix_job *", self._handle)
        try:
            ret = timer._native_call(lib.clockfix_reschedule, handle,
                                     instant if instant < 0 else max(instant - timer._lead, 0))
        except OverflowError:
            ret = -errno.EINVAL
        if ret in (-errno.EINPROGRESS, -errno.ENOENT):
            return False
        checked(ret)
        self._handle = handle[0]
        if not self.pending:
            # cancelled meanwhile, by a handle that was no longer the job's
            timer._native_call(lib.clockfix_cancel, handle[0])
        return True

    def adjust(self, shift: int = 0, seconds: float = 0) -> None:
        """Shift the next instant of a periodic job and all after it, by nanoseconds.

        For a function that follows an outer clock; to be called by itself. A duration in seconds
        becomes the new period.
        """
        checked(self._timer._native_call(lib.clockfix_adjust, self._handle, shift,
                                         nanoseconds(seconds)))

    def _run(self, handle: int, instant: int, started: int, index: int, missed: int) -> None:
        timer = self._timer
        self._handle = handle
        # instants at the end may have been skipped
        if self._runs and index >= self._runs:
            self.cancel()
            return
        self.instant, self.started, self.index, self.missed = instant, started, index, missed
        timer._current = self
        # from now on cancel() says that it is being called
        if self.pending:
            try:
                self._call()
            except BaseException as error:
                timer._failed(error)
                self.cancel()
        timer._current = None
        if not self._periodic:
            timer._forget(self)
        elif index + 1 == self._runs:
            self.cancel()
        timer._check_drained()


class Timer:
    """A thread that calls functions at exactly their instants.

    A function holds the GIL like any other; gil_lead is how many seconds before its instant the
    thread asks for it. What a function raises ends its job, and is raised by the next drain() or
    close().
    """

    def __init__(self, options: Options | None = None, *, gil_lead: float = 0) -> None:
        if gil_lead < 0:
            raise ValueError("gil_lead is negative")
        self._native: Any = None
        self._users: set[object] = set()
        self._pid = os.getpid()
        self._lead = nanoseconds(gil_lead)
        self._pending: set[Job] = set()
        self._current: Job | None = None
        self._drains: list[threading.Event] = []
        self._error: BaseException | None = None
        self._worker = 0
        result = ffi.new("struct clockfix **")
        checked(lib.clockfix_create(result, (options or Options()).native()))
        self._native = result[0]
        with _attach_lock:
            checked(lib.native_begin(self._native, self._lead))
            self._worker = _attached
        _open.add(self)

    # ---- the library's functions -----------------------------------------------------------

    def _native_call(self, function: Callable[..., int], *args: object) -> int:
        """Call one; close() waits for its return."""
        token = object()
        self._users.add(token)
        try:
            if not self._native:
                raise ClosedError("the timer is closed")
            return function(self._native, *args)
        finally:
            self._users.discard(token)

    def _refuse_worker(self) -> None:
        if threading.get_ident() == self._worker and os.getpid() == self._pid:
            raise RuntimeError("a function that the timer calls can't wait for its own timer")

    # ---- jobs ----------------------------------------------------------------------------

    def at(self, instant: int, function: Callable[..., object], *args: object) -> Job:
        """Call it at an instant, in nanoseconds of CLOCK_MONOTONIC; at once if that passed."""
        return self._schedule(function, args, instant)

    def after(self, seconds: float, function: Callable[..., object], *args: object) -> Job:
        """Call it that long from now."""
        return self.at(self.now() + nanoseconds(seconds), function, *args)

    def every(self, seconds: float, function: Callable[..., object], *args: object,
              start: int | None = None, runs: int = 0, missed: Missed = Missed.SKIP) -> Job:
        """Call it at start + k * seconds, for ever or for that many k.

        The first instant is one period from now if no other is given.
        """
        period = nanoseconds(seconds)
        if period <= 0:
            raise ValueError("a period is a nanosecond at least")
        if runs < 0:
            raise ValueError("runs is negative")
        first = self.now() + period if start is None else start
        return self._schedule(function, args, first, period, runs, missed)

    def _schedule(self, function: Callable[..., object], args: tuple[object, ...], start: int,
                  period: int = 0, runs: int = 0, missed: Missed = Missed.SKIP) -> Job:
        if not callable(function):
            raise TypeError(f"{function!r} can't be called")
        job = Job(self, (lambda: function(*args)) if args else function,
                  periodic=bool(period), runs=runs)
        handle = ffi.new("clockfix_job *")
        _jobs[job._key] = job
        self._pending.add(job)
        try:
            checked(self._native_call(lib.native_schedule, start, period, missed,
                                      self._lead, job._key, handle))
        except OverflowError:
            self._forget(job)
            raise ValueError("an instant or a period is out of its range") from None
        except BaseException:
            self._forget(job)
            raise
        job._handle = handle[0]
        return job

    def _forget(self, job: Job) -> bool:
        """Whether it was pending."""
        found = _jobs.pop(job._key, None)
        self._pending.discard(job)
        self._check_drained()
        return found is not None

    def _failed(self, error: BaseException) -> None:
        if self._error is None:
            self._error = error
        else:
            threading.excepthook(threading.ExceptHookArgs(
                (type(error), error, error.__traceback__, None)))

    # ---- the end -------------------------------------------------------------------------

    def _check_drained(self) -> None:
        if self._drains and not self._pending and not self._current:
            for drained in self._drains:
                drained.set()

    def drain(self) -> None:
        """Wait until no job is pending or running; raise what a function raised."""
        self._refuse_worker()
        if os.getpid() != self._pid:
            checked(-errno.ECHILD)
        # an event's wait is interrupted by Ctrl-C; the library's would not be
        drained = threading.Event()
        self._drains.append(drained)
        try:
            self._check_drained()
            drained.wait()
        finally:
            self._drains.remove(drained)
        error, self._error = self._error, None
        if error is not None:
            raise error

    def close(self, *, drop: bool = False) -> None:
        """End the thread: periodic jobs at once, others when they have run.

        With drop, what is pending is not called. What a function raised is raised.
        """
        self._refuse_worker()
        if not self._native:
            return
        try:
            if os.getpid() == self._pid:
                self._wind_up(drop)
        finally:
            self._destroy()

    def _wind_up(self, drop: bool) -> None:
        for job in list(self._pending):
            if drop or job._periodic:
                job.cancel()
        self.drain()

    def _destroy(self) -> None:
        native, self._native = self._native, None
        _open.discard(self)
        for job in list(self._pending):
            self._forget(job)
        # in a child after a fork, users were the parent's threads
        while self._users and os.getpid() == self._pid:
            time.sleep(0.0005)
        if native:
            lib.clockfix_destroy(native, lib.CLOCKFIX_DROP_PENDING)

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
        """What happened so far."""
        return read_stats(lambda stats: self._native_call(lib.clockfix_stats_read, stats))

    def capabilities(self) -> Capabilities:
        """What became of the options."""
        return read_capabilities(
            lambda found: self._native_call(lib.clockfix_capabilities_read, found))


# ---- the worker's side ---------------------------------------------------------------------

_attach_lock = threading.Lock()
_attached = 0
"""The worker's thread that began last."""


@ffi.def_extern()  # type: ignore[misc]
def native_attach() -> None:
    """Called once by each worker, first of all."""
    global _attached
    _attached = threading.get_ident()


@ffi.def_extern()  # type: ignore[misc]
def native_run(key: int, handle: int, instant: int, started: int, index: int,
               missed: int) -> None:
    """Called for each run of a job."""
    job = _jobs.get(key)
    if job is not None:
        job._run(handle, instant, started, index, missed)


_open: set[Timer] = set()


@atexit.register
def _close_all() -> None:
    """A worker must not outlive the interpreter."""
    for timer in list(_open):
        with contextlib.suppress(BaseException):
            timer.close(drop=True)
