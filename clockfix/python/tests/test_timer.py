# SPDX-License-Identifier: LGPL-2.1-or-later
"""Timers. None of this depends on how late the machine is."""

import gc
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path

import pytest

from clockfix import Job, Missed, Options, Timer, capabilities
from clockfix.timer import _jobs

MS = 1_000_000


def test_once_in_order_and_never_early() -> None:
    calls: list[tuple[int, int]] = []
    with Timer() as timer:
        start = timer.now() + 20 * MS
        for k in (3, 1, 2, 0):
            timer.at(start + k * MS, lambda k=k: calls.append((k, timer.now())))
        timer.drain()
    assert [k for k, _ in calls] == [0, 1, 2, 3]
    assert all(now >= start + k * MS for k, now in calls)


def test_arguments_and_the_past() -> None:
    calls: list[object] = []
    with Timer() as timer:
        timer.at(timer.now() - MS, calls.append, 1)
        timer.after(0.001, calls.extend, (2, 3))
    assert calls == [1, 2, 3]


def test_every_does_not_drift() -> None:
    seen: list[tuple[int, int, bool]] = []
    with Timer() as timer:
        start = timer.now() + 5 * MS
        job = timer.every(0.0005, lambda: seen.append(
            (job.index, job.instant, timer.now() >= job.instant)), start=start,
            runs=100, missed=Missed.CATCH_UP)
        timer.drain()
        assert not job.pending
    assert [index for index, _, _ in seen] == list(range(100))
    assert all(instant == start + k * 500_000 and late for k, instant, late in seen)


@pytest.mark.parametrize("missed", Missed)
def test_what_is_missed(missed: Missed) -> None:
    indices: list[int] = []
    told: list[int] = []

    def run() -> None:
        indices.append(job.index)
        told.append(job.missed)
        if len(indices) == 1:
            time.sleep(0.02)

    with Timer() as timer:
        job = timer.every(0.004, run, runs=50, missed=missed)
        timer.drain()
    if missed is Missed.CATCH_UP:
        assert indices == list(range(50))
    else:
        assert indices == sorted(set(indices))
        assert len(indices) <= 47
        assert sum(told) >= 3
    assert job.index < 50


def test_runs_of_which_the_last_are_missed() -> None:
    calls: list[int] = []

    def run() -> None:
        calls.append(job.index)
        time.sleep(0.02)

    with Timer() as timer:
        job = timer.every(0.002, run, runs=5)
        timer.drain()
        assert not job.pending
    # 0 and perhaps another; the machine may have been busy even before
    assert all(index < 5 for index in calls)
    assert len(calls) < 5


def test_cancel() -> None:
    calls: list[int] = []
    with Timer() as timer:
        job = timer.after(3600, calls.append, 1)
        assert [job.pending, job.cancel(), job.pending, job.cancel()] == [True, True, False, False]
        timer.drain()
    assert not calls
    assert not job.cancel()


def test_a_job_cancels_itself() -> None:
    calls: list[int] = []

    def run() -> None:
        calls.append(job.index)
        if len(calls) == 3:
            assert not job.cancel()

    with Timer() as timer:
        job = timer.every(0.001, run)
        timer.drain()
    assert len(calls) == 3


def test_cancel_waits_for_the_call_in_progress() -> None:
    begun, ended = threading.Event(), threading.Event()

    def run() -> None:
        begun.set()
        time.sleep(0.05)
        ended.set()

    with Timer() as timer:
        job = timer.every(0.001, run)
        begun.wait()
        assert not job.cancel(wait=True)
        assert ended.is_set()


def test_nothing_is_called_after_cancel() -> None:
    with Timer() as timer:
        for _ in range(300):
            cancelled: list[bool] = []
            late: list[bool] = []
            job = timer.after(0.0002, late.extend, cancelled)
            time.sleep(0.00019)
            # called now, or already, or never: but not later
            if job.cancel():
                cancelled.append(True)
            time.sleep(0.0001)
            assert not late


def test_reschedule() -> None:
    calls: list[int] = []
    with Timer() as timer:
        job = timer.after(3600, calls.append, 1)
        assert job.reschedule(timer.now() + MS)
        timer.drain()
        assert calls == [1]
        assert not job.reschedule(timer.now())
        every = timer.every(3600, lambda: calls.append(every.index), runs=1)
        assert every.reschedule(timer.now())
        timer.drain()
        with pytest.raises(ValueError, match="range"):
            timer.after(3600, int).reschedule(-1)
        with pytest.raises(ValueError, match="range"):
            timer.after(3600, int).reschedule(2**70)
        timer.close(drop=True)
    assert calls == [1, 0]


def test_reschedule_beside_cancel() -> None:
    with Timer() as timer:
        for _ in range(200):
            job = timer.every(3600, int)
            thread = threading.Thread(target=job.cancel)
            thread.start()
            job.reschedule(timer.now() + 3600 * 1000 * MS)
            thread.join()
        assert timer.stats().pending == 0


def test_adjust() -> None:
    instants: list[int] = []

    def run() -> None:
        instants.append(job.instant)
        if len(instants) == 1:
            job.adjust(MS // 2)
        elif len(instants) == 2:
            job.adjust(seconds=0.003)

    with Timer() as timer:
        job = timer.every(0.002, run, runs=4, missed=Missed.CATCH_UP)
        timer.drain()
        with pytest.raises(PermissionError):
            job.adjust(1)
    assert [after - before for before, after in itertools.pairwise(instants)] == [
        2 * MS + MS // 2, 3 * MS, 3 * MS]


def test_name() -> None:
    with Timer(Options(name="my timer")) as timer:
        assert "my timer\n" in [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
        assert timer.capabilities().scheduling == "not asked"
    with pytest.raises(ValueError, match="15 bytes"):
        Options(name="much too long a name").native()


def test_jobs_submit_jobs() -> None:
    calls: list[int] = []

    with Timer() as timer:
        def run(left: int) -> None:
            calls.append(left)
            if left:
                timer.after(0.0001, run, left - 1)

        timer.after(0, run, 100)
        timer.drain()
    assert calls == list(range(100, -1, -1))


def test_close_runs_what_is_pending_once() -> None:
    calls: list[str] = []
    with Timer() as timer:
        timer.after(0.05, calls.append, "once")
        timer.every(0.01, calls.append, "every", start=timer.now() + 10**12)
    assert calls == ["once"]


def test_close_drops_when_the_block_raises() -> None:
    calls: list[int] = []
    timer = Timer()
    timer.after(3600, calls.append, 1)

    def block() -> None:
        with timer:
            raise KeyError

    with pytest.raises(KeyError):
        block()
    timer.close()
    assert not calls


def test_what_a_function_raises(monkeypatch: pytest.MonkeyPatch) -> None:
    hooked: list[object] = []
    monkeypatch.setattr(threading, "excepthook", lambda args: hooked.append(args.exc_type))
    with Timer() as timer:
        job = timer.every(0.001, lambda: 1 // 0, missed=Missed.CATCH_UP)
        with pytest.raises(ZeroDivisionError):
            timer.drain()
        assert not job.pending
        assert job.index == 0
        timer.after(0, int, "x")
        timer.after(0.001, [].remove, 1)
        with pytest.raises(ValueError, match="invalid literal"):
            timer.drain()
        # one is raised, others go where those of threads go
        assert hooked == [ValueError]
        timer.drain()
        timer.after(0, sys.exit, 3)
        with pytest.raises(SystemExit):
            timer.close()


def test_the_worker_can_not_wait_for_itself() -> None:
    errors: list[str] = []

    def run() -> None:
        for wait in (timer.drain, timer.close, lambda: job.cancel(wait=True)):
            try:
                wait()
            except RuntimeError as error:
                errors.append(str(error))

    with Timer() as timer:
        job = timer.after(0.01, run)
        timer.drain()
    assert len(errors) == 3


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match="CLOCK_TAI"):
        Timer(clock=time.CLOCK_PROCESS_CPUTIME_ID)
    with pytest.raises(ValueError, match="negative"):
        Timer(gil_lead=-1)
    with pytest.raises(ValueError, match="range"):
        Timer(Options(poll_share=101))
    with pytest.raises(ValueError, match="range"):
        Timer(Options(effort=1001))
    with pytest.raises(ValueError, match="range"):
        Timer(Options(cpu=2**40))
    with Timer() as timer:
        for period in (0, -1):
            with pytest.raises(ValueError, match="period"):
                timer.every(period, print)
        with pytest.raises(ValueError, match="runs"):
            timer.every(1, print, runs=-1)
        for instant in (-1, 2**63 - 1, 2**80):
            with pytest.raises(ValueError, match="range"):
                timer.at(instant, print)
        with pytest.raises(TypeError, match="called"):
            timer.at(0, None)  # type: ignore[arg-type]
        assert not timer._pending
    assert not _jobs
    with pytest.raises(ValueError, match="closed"):
        timer.after(0, print)
    with pytest.raises(ValueError, match="closed"):
        timer.stats()


def test_too_many_jobs() -> None:
    with Timer(Options(max_jobs=16)) as timer:
        jobs = [timer.after(3600, print) for _ in range(16)]
        with pytest.raises(MemoryError):
            jobs += [timer.after(3600, print) for _ in range(1000)]
        for job in list(timer._pending):
            job.cancel()
        assert len(jobs) == 16
    assert not _jobs


def test_by_tai() -> None:
    seen: list[int] = []
    with Timer(clock=time.CLOCK_TAI, gil_lead=0.0001) as timer:
        instant = time.clock_gettime_ns(time.CLOCK_TAI) + 5 * MS
        job = timer.at(instant, lambda: seen.append(time.clock_gettime_ns(time.CLOCK_TAI)))
        timer.drain()
        assert job.instant == instant
    assert seen[0] >= instant


def test_gil_lead_is_never_early() -> None:
    early: list[int] = []

    def run() -> None:
        if time.monotonic_ns() < job.instant:
            early.append(job.index)

    with Timer(gil_lead=0.0002) as timer:
        start = timer.now() + MS
        job = timer.every(0.001, run, start=start, runs=300)
        timer.drain()
        assert (job.instant - start) % MS == 0
    assert not early


def test_stats_and_capabilities() -> None:
    with Timer(Options(poll_share=50, effort=300)) as timer:
        timer.every(0.001, int, runs=20, missed=Missed.CATCH_UP)
        timer.drain()
        # a call is counted after its end; one more job set the thread up
        while (stats := timer.stats()).jobs < 21:
            time.sleep(0.001)
        assert stats.jobs == 21
        assert stats.lateness.count == stats.jobs
        assert 0 <= stats.lateness.quantile(0.5) <= stats.lateness.quantile(1)
        assert timer.capabilities().timer_slack == "in force"
        assert timer.capabilities().affinity == "not asked"
    assert capabilities().counter in ("in force", os.strerror(95))


def test_many_threads_submit_and_cancel() -> None:
    calls: list[int] = []
    with Timer() as timer:
        def submit() -> None:
            for k in range(300):
                job = timer.after(0.0001 * (k % 7), calls.append, 1)
                if k % 3 == 0:
                    job.cancel(wait=k % 2 == 0)

        threads = [threading.Thread(target=submit) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        timer.drain()
    assert 800 <= len(calls) <= 1200
    assert not _jobs


def test_close_beside_users() -> None:
    for _ in range(20):
        timer = Timer()

        def submit(timer: Timer = timer) -> None:
            while True:
                try:
                    timer.after(0, int).cancel()
                    timer.stats()
                except ValueError:
                    return

        threads = [threading.Thread(target=submit) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(0.005)
        timer.close(drop=True)
        for thread in threads:
            thread.join()
    assert not _jobs


def test_no_leak() -> None:
    class Canary:
        def __call__(self) -> None:
            pass

    canary = Canary()
    died = weakref.ref(canary)
    with Timer() as timer:
        jobs: list[Job] = [timer.after(0, canary), timer.every(0.001, canary, runs=3),
                           timer.after(3600, canary)]
        jobs[2].cancel()
        timer.drain()
        del jobs, canary
        gc.collect()
        # its last frame may still be unwinding
        deadline = time.monotonic() + 5
        while died() and time.monotonic() < deadline:
            time.sleep(0.001)
        assert died() is None
    assert not _jobs


def test_fork() -> None:
    with Timer() as timer:
        timer.every(0.001, int)
        child = os.fork()
        if not child:
            status = 1
            try:
                timer.after(0, int)
            except OSError:
                timer.close()
                with Timer() as own:
                    own.after(0, int)
                status = 0
            finally:
                os._exit(status)
        assert os.waitpid(child, 0)[1] == 0


def run_script(script: str) -> subprocess.CompletedProcess[str]:
    """In a Python of its own."""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                          timeout=60, check=False)


def test_exit_with_an_open_timer() -> None:
    done = run_script("import clockfix, time; t = clockfix.Timer();"
                      "t.every(0.0005, int); time.sleep(0.05)")
    assert (done.returncode, done.stderr) == (0, "")


def test_interrupt() -> None:
    # a shell starts what runs in the background with SIGINT ignored
    script = ("import clockfix, signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
              "with clockfix.Timer() as t:\n    t.after(3600, int)\n    ")
    for wait in ("t.drain()", "print(flush=True); pass"):
        child = subprocess.Popen([sys.executable, "-c", script + "print(flush=True); " + wait],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert child.stdout
        child.stdout.readline()
        time.sleep(0.3)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=30)
        assert "KeyboardInterrupt" in errors
